/* SPDX-License-Identifier: MIT */
#include <pthread.h>
#include <stdatomic.h>

#include "clr/codemap.h"
#include "clr/r2r.h"
#include "os/clock.h"
#include "os/mem.h"
#include "unwind/managed.h"
#include "walker/walker.h"

/*
 * Who gathers is counted under the parity of the era that it began in. An era ends when nobody of
 * the one before is left, so those of an era that has ended drain, whatever comes after.
 */
static _Atomic unsigned era;
static _Atomic unsigned gathering[2];
static pthread_mutex_t settling = PTHREAD_MUTEX_INITIALIZER;

unsigned dnp_gather_begin(void)
{
	for (;;) {
		unsigned ticket = atomic_load(&era) & 1;

		atomic_fetch_add(&gathering[ticket], 1);
		/* Counted in the era that runs: whoever ends it from here on waits for us. */
		if ((atomic_load(&era) & 1) == ticket)
			return ticket;
		atomic_fetch_sub(&gathering[ticket], 1);
	}
}

/* Pairs with wait_for: what was read of the maps was read before. */
void dnp_gather_end(unsigned ticket)
{
	atomic_fetch_sub_explicit(&gathering[ticket], 1, memory_order_release);
}

#define LOOK_AGAIN_NS UINT64_C(20000)

static void wait_for(unsigned parity)
{
	while (atomic_load(&gathering[parity]))
		dnp_sleep_until_ns(dnp_now_ns() + LOOK_AGAIN_NS);
}

uint64_t dnp_gather_settle(void)
{
	uint64_t before_ns;
	unsigned parity;

	pthread_mutex_lock(&settling);
	parity = atomic_load(&era) & 1;
	wait_for(!parity);
	before_ns = dnp_now_ns();
	atomic_fetch_add(&era, 1);
	wait_for(parity);
	dnp_codemap_reclaim(dnp_walk_codemap(), before_ns);
	dnp_r2r_reclaim(before_ns);
	pthread_mutex_unlock(&settling);
	return before_ns;
}

/* Kept for the next walk, so that most take no memory of the system. */
#define KEPT_MAX 8

static pthread_mutex_t keeping = PTHREAD_MUTEX_INITIALIZER;
static struct dnp_gathered kept[KEPT_MAX];
static size_t n_kept;

static bool take_kept(struct dnp_gathered *gathered, size_t max)
{
	bool found = false;

	pthread_mutex_lock(&keeping);
	if (n_kept && kept[n_kept - 1].max == max) {
		*gathered = kept[--n_kept];
		gathered->n = 0;
		found = true;
	}
	pthread_mutex_unlock(&keeping);
	return found;
}

HRESULT dnp_gathered_open(struct dnp_gathered *gathered, size_t max)
{
	size_t frames = max * sizeof(gathered->frames[0]);
	size_t registers = max * sizeof(gathered->registers[0]);
	size_t bytes = frames + registers + max * sizeof(gathered->functions[0]);
	uint8_t *pages;

	if (take_kept(gathered, max))
		return S_OK;
	pages = dnp_mem_map(bytes);
	if (!pages)
		return E_OUTOFMEMORY;
	*gathered = (struct dnp_gathered){
		.frames = (dnp_frame_word *)(void *)pages,
		.registers = (struct dnp_regs *)(void *)(pages + frames),
		.functions = (FunctionID *)(void *)(pages + frames + registers),
		.max = max,
		.bytes = bytes,
	};
	return S_OK;
}

void dnp_gathered_free(struct dnp_gathered *gathered)
{
	if (gathered->frames)
		dnp_mem_unmap(gathered->frames, gathered->bytes);
	gathered->frames = NULL;
}

void dnp_gathered_close(struct dnp_gathered *gathered)
{
	pthread_mutex_lock(&keeping);
	if (n_kept < KEPT_MAX) {
		kept[n_kept++] = *gathered;
		gathered->frames = NULL;
	}
	pthread_mutex_unlock(&keeping);
	dnp_gathered_free(gathered);
}

void dnp_gathered_done(void)
{
	while (n_kept)
		dnp_gathered_free(&kept[--n_kept]);
}
