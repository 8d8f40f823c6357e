/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The records of a recording in the order of their times.  They were written as
 * they lay in the rings: those of one thread in order, those of several nearly
 * so, because a probe takes the time first and a place in the ring a moment
 * later, and because calls and processes come through different rings.
 *
 * A ROUND says that both rings had been emptied up to its time, so what is
 * older by REORDER_SLACK_NS is complete and goes out.  Where too much waits for
 * one, the oldest go out without.  At equal times processes begin first and end
 * last, and calls keep the order of the file, which is that of the ring.
 */
#ifndef ACLGUARD_REORDER_H
#define ACLGUARD_REORDER_H

#include <stdbool.h>

#include "recording.h"

#define REORDER_SLACK_NS 100000000ULL /* from taking the time to being in the ring */
#define REORDER_MAX 131072	      /* records that wait at most */

struct reorder;

/*
 * `time` never goes back.  `late`: a younger record went out before this one,
 * which should have come first.
 */
typedef void (*reorder_fn)(void *arg, const struct recorded *r, uint64_t time, bool late);

struct reorder *reorder__new(reorder_fn fn, void *arg); /* NULL: no memory */
void reorder__free(struct reorder *ro);

/* Takes a record; what is ripe goes out.  0 or -ENOMEM. */
int reorder__add(struct reorder *ro, const struct recorded *r);
/* All that waits goes out. */
void reorder__flush(struct reorder *ro);

/* The youngest time that went out, and the youngest that came in. */
uint64_t reorder__oldest(const struct reorder *ro);
uint64_t reorder__youngest(const struct reorder *ro);

#endif /* ACLGUARD_REORDER_H */
