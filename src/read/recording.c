/* SPDX-License-Identifier: MIT */
#include "read/recording.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "format/chunk.h"
#include "os/file.h"

int dnp_recording_problem(struct dnp_recording *recording, const char *format, ...)
{
	char *text;
	va_list args;
	int n;

	va_start(args, format);
	n = vasprintf(&text, format, args);
	va_end(args);
	if (n < 0)
		return -ENOMEM;
	if (dnp_vec_push(&recording->problems, text)) {
		free(text);
		return -ENOMEM;
	}
	return 0;
}

/* And a little more: a page that is read brings its neighbours with it. All are clean. */
void dnp_mapped_drop(
	const uint8_t *mapped, const uint8_t *mapped_end, const uint8_t *from, const uint8_t *to)
{
	uintptr_t around = 65536;
	uintptr_t low = (uintptr_t)from / around * around;
	uintptr_t high = ((uintptr_t)to / around + 1) * around;

	if (low < (uintptr_t)mapped)
		low = (uintptr_t)mapped;
	if (high > (uintptr_t)mapped_end)
		high = (uintptr_t)mapped_end;
	dnp_file_drop((const uint8_t *)low, high - low);
}

void dnp_chunks_drop(const struct dnp_chunk *chunks, size_t n)
{
	for (size_t i = 0, next; i < n; i = next) {
		const uint8_t *end = chunks[i].payload + chunks[i].length;

		/* Those that stand one behind the other in the file go together. */
		for (next = i + 1;
			next < n && chunks[next].payload == end + sizeof(struct dnp_chunk_header);
			next++)
			end = chunks[next].payload + chunks[next].length;
		if (chunks[i].mapped)
			dnp_mapped_drop(
				chunks[i].mapped, chunks[i].mapped_end, chunks[i].payload, end);
	}
}

int dnp_recording_each_chunk(const struct dnp_recording *recording,
	int (*look)(void *arg, const struct dnp_chunk *chunk), void *arg)
{
	int status = 0;

	for (size_t i = 0, kept = 0, bytes = 0; i < recording->n && !status; i++) {
		const struct dnp_chunk *chunk = &recording->chunks[i];

		if (chunk->kind == DNP_CHUNK_RECORDS)
			status = look(arg, chunk);
		bytes += chunk->length;
		if (bytes > DNP_DROP_BYTES || i + 1 == recording->n) {
			dnp_chunks_drop(recording->chunks + kept, i + 1 - kept);
			kept = i + 1;
			bytes = 0;
		}
	}
	return status;
}
