/* SPDX-License-Identifier: MIT */
/*
 * What the samples of an event are about, added up: types that were allocated, say. It stands as a
 * frame of kind label on the leaf of their stacks.
 *
 * A sample that has a value stands for weight / value happenings like it: it was chosen, with the
 * probability value / weight, independently of others. So sums are estimates, and how far they may
 * be off is known from the samples alone (Horvitz and Thompson 1952).
 */
#ifndef DNP_AGGREGATE_LABELS_H
#define DNP_AGGREGATE_LABELS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"

struct dnp_label_sum {
	uint64_t samples, weight;
	double count;    /* happenings that they stand for */
	double variance; /* of the weight; 0: nothing was left to chance */
	/* Of both, what is of samples that stand for twice as much as they are, or more. */
	double rare, rare_variance;
	double rare_most;    /* what one of these weighs, at most */
	double seen;         /* of the weight, what was there for certain */
	uint64_t greatest;   /* of what they are known to be themselves, in the unit of weights */
	uint64_t unfinished; /* where all are counted: begun besides, without an end */
};

struct dnp_label {
	uint32_t name; /* string */
	struct dnp_label_sum sum;
	struct dnp_thrown *thrown; /* owned; of a type of exceptions, NULL: nothing more is known */
};

/* The same of one stack: node 0 is none. */
struct dnp_made {
	uint32_t node;
	struct dnp_label_sum sum;
};

struct dnp_range {
	double low, high;
};

void dnp_label_sum_add(struct dnp_label_sum *to, const struct dnp_label_sum *more);

/* A sample of that weight and value (0: it has none). */
void dnp_label_sum_sample(struct dnp_label_sum *to, uint64_t weight, uint64_t value);

/* Of so many happenings, all of which were counted. */
void dnp_label_sum_exact(struct dnp_label_sum *to, uint64_t weight, uint64_t count);

/*
 * Where the true weight is, in at least 95 of 100 recordings. `lot`: for how much weight one of
 * the smallest happenings is kept at most (0: not known; moments in
 * which rings ran short left out), which tells how much there may be of
 * which none was, or too few.
 */
struct dnp_range dnp_label_range(const struct dnp_label_sum *sum, uint64_t lot);

struct dnp_load;
struct dnp_rec_sample;
struct dnp_raw_event;
struct dnp_row;
struct dnp_join;
struct dnp_event;

/* While a recording is read: of each thread and node; those without a label are left out. */
struct dnp_raw_label {
	uint32_t thread, node; /* places */
	struct dnp_label_sum sum;
};

struct dnp_raw_labels {
	struct dnp_vec_of(struct dnp_raw_label) all;
	struct dnp_map place_of; /* thread and node → place in all */
};

/*
 * Where the program counted all there was, of which samples are only some: of each thread, the
 * newest of each number.
 */
struct dnp_raw_counted {
	uint32_t thread, frame; /* places */
	uint32_t number;
	struct dnp_label_sum sum;
};

struct dnp_raw_counts {
	struct dnp_vec_of(struct dnp_raw_counted) all;
	struct dnp_map place_of; /* thread and number → place in all */
};

/* 0 or -ENOMEM, as the next. */
int dnp_raw_counts_set(struct dnp_raw_counts *counts, const struct dnp_raw_counted *counted);
void dnp_raw_counts_done(struct dnp_raw_counts *counts);

/* 0 or -ENOMEM, as the next. */
int dnp_raw_labels_add(struct dnp_load *load, struct dnp_raw_event *event,
	const struct dnp_row *row, const struct dnp_rec_sample *rec);
void dnp_raw_labels_done(struct dnp_raw_labels *labels);

/*
 * Those that the filter wants go to the profile. Counts know of threads alone: of a part of the
 * time, or of stacks, samples tell.
 */
int dnp_join_labels(
	struct dnp_join *join, const struct dnp_raw_event *raw, struct dnp_event *event);
/* Whether there are counts, and they are of what the filter wants. */
bool dnp_join_counts(const struct dnp_join *join, const struct dnp_raw_event *raw);

/* The greatest weight first. */
void dnp_labels_sort(struct dnp_event *event);

#endif
