/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Calls as a list, one a line, in the way of strace:
 *
 *	   0.001234 812/815 aclrtMemcpyAsync(0x12c0c0013000, 4096, 0x7f1280001000, 4096, H2D,
 *					     0x5581f00d) = 0 <12.3 us>
 *
 * which are seconds since the first call, process/thread, the call as it
 * was recorded, what it returned, and how long it took.  A line comes when its
 * call has returned, so calls that overlap stand in the order of their returns;
 * the time is that of the entry.  What a call filled in stands in brackets for
 * the address it was given; what is not recorded of the arguments is "?".
 *
 * As JSON, an object a line with the same parts.
 */
#ifndef ACLGUARD_CALLLIST_H
#define ACLGUARD_CALLLIST_H

#include <stddef.h>
#include <stdint.h>

#include "recording.h"

struct calllist;
struct report_cfg;

/* Goes where reports go.  NULL: no memory. */
struct calllist *calllist__new(const struct report_cfg *cfg);
void calllist__free(struct calllist *cl); /* NULL is allowed */

/* An entry, of a call or of a second definition on its way.  0 or -ENOMEM. */
int calllist__enter(struct calllist *cl, const struct recorded *r);
/* A return; `copies` are those of a batch. */
void calllist__leave(struct calllist *cl, const struct recorded *r, const struct acl_enter *copies,
		     size_t n);
/* What the thread had in progress will not return. */
void calllist__thread_exit(struct calllist *cl, uint32_t tgid, uint32_t tid);
/* Before this record, n of its thread are missing; r NULL: nobody knows whose. */
void calllist__gap(struct calllist *cl, const struct recorded *r, uint32_t n);
/* What is in progress, of all threads; then everything is written out. */
void calllist__finish(struct calllist *cl);

/* The first error of writing, as -errno. */
int calllist__error(const struct calllist *cl);

#endif /* ACLGUARD_CALLLIST_H */
