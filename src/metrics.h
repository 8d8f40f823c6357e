/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The metrics that are counted here: what programs did, and how long things took.
 *
 * A series has the labels of a program: its name, and of its container the pod's
 * namespace, the pod's and the container's name.  At most `max_series` of them are kept;
 * a program that finds no room is counted under "other", in all four labels.
 * Programs without a live process are forgotten after METRICS_EXPIRE_NS: their series
 * vanish, and begin at 0 should they come back.  What is under "other" stays.
 *
 * One thread tells what happened, any other may render or bring numbers of live
 * processes.  No lock is held longer than it takes to copy the numbers.
 *
 * Memory: METRICS_SERIES_BYTES a series and METRICS_PROGRAM_BYTES a program, which
 * counts for METRICS_PROGRAM_SERIES series, and while it is rendered the text and as much
 * again for the copy.
 */
#ifndef ACLGUARD_METRICS_H
#define ACLGUARD_METRICS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "exposition.h"
#include "records.h"

#define METRICS_EXPIRE_NS (3600ULL * 1000000000)
#define METRICS_SERIES_DEFAULT 10000
#define METRICS_PROGRAM_SERIES 11 /* as many families have nothing but ACL_WHO */
#define METRICS_SERIES_BYTES 64
#define METRICS_PROGRAM_BYTES 1024

/* What names a program; "" where something is not known.  Any bytes. */
struct metrics_who {
	const char *program;
	const char *name_space;
	const char *pod;
	const char *container;
};

struct metrics;

/* `expire_ns`: METRICS_EXPIRE_NS, but for tests.  NULL if there is no memory. */
struct metrics *metrics__new(size_t max_series, uint64_t expire_ns);
void metrics__free(struct metrics *m); /* NULL is allowed */

/* A process has called for the first time since it began; `p` as it was then. */
void metrics__began(struct metrics *m, const struct acl_proc *p, const struct metrics_who *who);
/* It is over; `p` has its last numbers.  `now` is monotonic. */
void metrics__over(struct metrics *m, const struct acl_proc *p, uint64_t now);
/* Its numbers now; of one that has not begun or is over, nothing happens.  Any thread. */
void metrics__numbers(struct metrics *m, const struct acl_proc *p);

/*
 * Adds to a counter of a program: that of the incarnation `inc`, if that is known and
 * lives, otherwise `who`.  `labels` are those before ACL_WHO, in order; they are
 * kept, so they must be static.
 */
void metrics__count(struct metrics *m, enum metric metric, uint64_t inc,
		    const struct metrics_who *who, const char *const *labels, uint64_t n);
/* Sets a gauge of a program, likewise. */
void metrics__set_seconds(struct metrics *m, enum metric metric, uint64_t inc,
			  const struct metrics_who *who, const char *const *labels, uint64_t ns);

enum metrics_outcome {
	METRICS_OK,
	METRICS_FAILED,
	METRICS_OUTCOME_MAX,
};

/* Histograms; the outcome matters for METRIC_RELEASE_TIME only. */
void metrics__observe(struct metrics *m, enum metric metric, enum metrics_outcome outcome,
		      uint64_t ns);

/* Series that are kept now, and processes that are alive.  Any thread. */
size_t metrics__series(struct metrics *m);
size_t metrics__live(struct metrics *m);

/* Forgets whoever has been gone for long enough.  Any thread. */
void metrics__expire(struct metrics *m, uint64_t now);

/*
 * The families of a program, the histograms, and what is to be told of the series
 * themselves, in the table's order.  Any thread, but one at a time.
 */
void metrics__render(struct metrics *m, struct exposition *x);

/*
 * Calls back for each series of a family that is not of every program, with the values of
 * all labels in order.
 */
void metrics__each(struct metrics *m, enum metric metric,
		   void (*fn)(void *arg, const char *const *labels, uint64_t val), void *arg);

#endif /* ACLGUARD_METRICS_H */
