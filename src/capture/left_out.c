/* SPDX-License-Identifier: MIT */
#include "capture/left_out.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

/* Memory that is not needed is not touched. */
#define BYTES_MAX  (256u << 10)
#define NAME_BYTES 511

/* Names behind one another: two bytes of length, then they. Nothing is ever taken back. */
static char names[BYTES_MAX];
static _Atomic uint32_t used;
static uint32_t written;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void dnp_left_out_note(struct dnp_str name)
{
	uint16_t n = (uint16_t)(name.n < NAME_BYTES ? name.n : NAME_BYTES);
	uint32_t at;

	pthread_mutex_lock(&lock);
	at = atomic_load_explicit(&used, memory_order_relaxed);
	if (n && at + sizeof(n) + n <= BYTES_MAX) {
		memcpy(names + at, &n, sizeof(n));
		memcpy(names + at + sizeof(n), name.p, n);
		/* Pairs with dnp_left_out_write. */
		atomic_store_explicit(&used, at + (uint32_t)sizeof(n) + n, memory_order_release);
	}
	pthread_mutex_unlock(&lock);
}

void dnp_left_out_write(struct dnp_writer *writer, unsigned event)
{
	uint32_t end = atomic_load_explicit(&used, memory_order_acquire);

	while (written < end) {
		struct dnp_rec_left_out record = {.event = event};
		uint16_t n;

		memcpy(&n, names + written, sizeof(n));
		record.name = (struct dnp_str){names + written + sizeof(n), n};
		dnp_write_left_out(writer, &record);
		written += (uint32_t)sizeof(n) + n;
	}
}

void dnp_left_out_reset(void)
{
	atomic_store(&used, 0);
	written = 0;
}
