/* SPDX-License-Identifier: MIT */
/*
 * Names of native functions. An input is two bytes with the length of an answer, the answer of a
 * process that has read files and belongs to their maker by now, and the records of a chunk, which
 * is sealed here.
 */
#include <stdlib.h>
#include <string.h>

#include "format/chunk.h"
#include "fuzz.h"
#include "os/confined.h"
#include "read/symbolize.h"
#include "read/visit.h"

static const uint8_t *answered;
static size_t n_answered;

static void check(int good)
{
	if (!good)
		abort();
}

/* In place of the one that starts a process. */
int dnp_confined_run(const struct dnp_confined_work *work, struct dnp_file_bytes *answer)
{
	uint8_t *bytes = malloc(n_answered + 1);

	(void)work;
	check(bytes != NULL);
	memcpy(bytes, answered, n_answered);
	*answer = (struct dnp_file_bytes){.p = bytes, .n = n_answered};
	return 0;
}

static int count(void *arg, const struct dnp_rec_symbol *rec, uint64_t time_ns)
{
	(void)rec;
	(void)time_ns;
	++*(size_t *)arg;
	return 0;
}

/* What is written can be read again, all of it. */
static void read_again(const struct dnp_sink_memory *names, size_t found)
{
	static const struct dnp_visitor visitor = {.symbol = count};
	struct dnp_input again;
	uint64_t damaged = 0;
	size_t n = 0;

	dnp_input_init(&again);
	check(!found == !names->bytes.n);
	if (found) {
		check(!dnp_input_add_bytes(&again, "names", names->bytes.p, names->bytes.n, NULL));
		check(!dnp_input_finish(&again, NULL));
		check(!dnp_recording_visit(&again.recordings.p[0], &visitor, &n, &damaged));
		check(n == found && !damaged);
	}
	dnp_input_done(&again);
}

static void name_all(const void *file, size_t n)
{
	struct dnp_sink_memory names;
	struct dnp_input input;
	size_t found;

	dnp_sink_memory_init(&names);
	dnp_input_init(&input);
	if (!dnp_input_add_bytes(&input, "fuzz", file, n, NULL)) {
		check(!dnp_input_finish(&input, NULL));
		check(!dnp_symbolize_in(&input.recordings.p[0], "/nowhere", &names.sink, &found));
		read_again(&names, found);
	}
	dnp_input_done(&input);
	dnp_vec_done(&names.bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct dnp_chunk_header header;
	uint8_t *file;

	if (n < 2 || n > DNP_CHUNK_MAX)
		return 0;
	n_answered = (size_t)data[0] | (size_t)data[1] << 8;
	if (n_answered > n - 2)
		n_answered = n - 2;
	answered = data + 2;
	data += 2 + n_answered;
	n -= 2 + n_answered;
	file = malloc(sizeof(header) + n);
	check(file != NULL);
	dnp_chunk_seal(&header, DNP_CHUNK_RECORDS, 1, 0, data, (uint32_t)n);
	memcpy(file, &header, sizeof(header));
	memcpy(file + sizeof(header), data, n);
	name_all(file, sizeof(header) + n);
	free(file);
	return 0;
}
