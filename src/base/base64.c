/* SPDX-License-Identifier: MIT */
#include "base/base64.h"

static void encode(const uint8_t in[3], char out[4])
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	uint32_t bits = (uint32_t)in[0] << 16 | (uint32_t)in[1] << 8 | in[2];

	for (unsigned i = 0; i < 4; i++)
		out[i] = digits[bits >> (18 - 6 * i) & 63];
}

static int base64_write(struct dnp_sink *sink, const void *bytes, size_t n)
{
	struct dnp_sink_base64 *base64 = (struct dnp_sink_base64 *)sink;
	const uint8_t *in = bytes;
	char out[4096];
	size_t used = 0;

	for (size_t i = 0; i < n; i++) {
		base64->held[base64->n++] = in[i];
		if (base64->n < 3)
			continue;
		encode(base64->held, out + used);
		base64->n = 0;
		used += 4;
		if (used == sizeof(out)) {
			dnp_sink_write(base64->to, out, used);
			used = 0;
		}
	}
	dnp_sink_write(base64->to, out, used);
	return base64->to->error;
}

void dnp_sink_base64_init(struct dnp_sink_base64 *base64, struct dnp_sink *to)
{
	*base64 = (struct dnp_sink_base64){.sink = {.write = base64_write}, .to = to};
}

int dnp_sink_base64_finish(struct dnp_sink_base64 *base64)
{
	char out[4];

	if (base64->n) {
		memset(base64->held + base64->n, 0, 3 - base64->n);
		encode(base64->held, out);
		memset(out + base64->n + 1, '=', 3 - base64->n);
		base64->n = 0;
		dnp_sink_write(base64->to, out, sizeof(out));
	}
	return base64->sink.error ? base64->sink.error : base64->to->error;
}
