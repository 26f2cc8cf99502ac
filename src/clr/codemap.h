/* SPDX-License-Identifier: MIT */
/*
 * Which method's code is at an address: code compiled at run time and dynamic code, with what is
 * needed to leave its frames.
 *
 * Entries are in buckets of one page; a sorted array of buckets (the directory) is on top.
 * Invariants: live entries never overlap; all entries of bucket i begin at or above its key and
 * below the next one's; directories are never changed except for the pointer in a slot, and buckets
 * never except that an entry is appended. Everything else is copied, changed, published, and the
 * old copy waits until dnp_codemap_reclaim. So handlers search without a lock.
 *
 * Writers lock among themselves; they are not for handlers. A NULL map is an empty one that nothing
 * can be added to.
 */
#ifndef DNP_CLR_CODEMAP_H
#define DNP_CLR_CODEMAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/clean.h"
#include "os/x86_64/rule.h"

enum dnp_code_flag {
	DNP_CODE_DYNAMIC = 1, /* a dynamic method or a stub with IL */
	DNP_CODE_FUNCLET = 2, /* a handler of the method, compiled as a function of its own */
	DNP_CODE_CATCH = 4, /* a funclet of a catch clause: `rule` leaves the method's own frame */
	DNP_CODE_OSR = 8,   /* entered in the middle of a loop, on top of the tier-0 frame */
};

struct dnp_code {
	uintptr_t begin;
	uint32_t bytes;
	uint32_t method; /* the agent's id */
	uint64_t born_ns;
	uintptr_t unwind_info; /* of the runtime, readable while the code lives; 0: not known */
	struct dnp_rule rule;  /* of the body */
	uint16_t prolog_bytes;
	uint8_t flags; /* enum dnp_code_flag */
};

struct dnp_codemap;

struct dnp_codemap_stats {
	uint32_t live, retired; /* entries: of live code, and of code that samples may still need */
	uint64_t added;
	uint64_t searched; /* buckets that were looked through for code that dies */
	size_t bytes;      /* of memory, all told */
};

/* NULL without memory. */
struct dnp_codemap *dnp_codemap_new(void);
/* No handler may run any more. */
void dnp_codemap_free(struct dnp_codemap *map);

/* Live code at an address, or NULL. Valid as long as the calling walk runs. */
SIGSAFE const struct dnp_code *dnp_codemap_find(const struct dnp_codemap *map, uintptr_t pc);

/*
 * The code that was at an address at a time: what lives there since before then, else what died
 * after then and is not reclaimed, else what lives there now. False: none.
 */
bool dnp_codemap_find_at(
	struct dnp_codemap *map, uintptr_t pc, uint64_t time_ns, struct dnp_code *out);

/*
 * Adds the parts of one method's code. Whatever was known in their ranges has died by then and is
 * retired. 0 or -ENOMEM (the map stays as it is, but for what was retired).
 */
int dnp_codemap_add(struct dnp_codemap *map, const struct dnp_code *parts, size_t n);

/* Code in [begin, end) dies; returns how many entries. To be called before it is freed. */
size_t dnp_codemap_retire(struct dnp_codemap *map, uintptr_t begin, uintptr_t end, uint64_t now_ns);

/* The same for all code of one method, wherever it is; what that takes does not grow with the map.
 */
size_t dnp_codemap_retire_method(struct dnp_codemap *map, uint32_t method, uint64_t now_ns);

/*
 * Frees what is unused since before `before_ns` (dnp_now_ns): the caller read the clock first, and
 * then saw each thread outside of a walk, or in a later one; and every sample taken before then is
 * stored. A walk announces itself with a sequentially consistent write before it reads the map.
 */
void dnp_codemap_reclaim(struct dnp_codemap *map, uint64_t before_ns);

void dnp_codemap_stats(struct dnp_codemap *map, struct dnp_codemap_stats *stats);

#endif
