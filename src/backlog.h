/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The violations' ring, and a place for what comes while one is being told.  Looking up
 * names for the first time, or writing to a slow terminal, takes much longer than the
 * kernel's ring lasts against a program that makes its mistake in a loop; meanwhile a
 * thread empties it into memory.  It sleeps at all other times.
 *
 * Bounded: what finds no place stays in the ring, and what finds no place there is
 * counted by the kernel.
 */
#ifndef ACLGUARD_BACKLOG_H
#define ACLGUARD_BACKLOG_H

#include <stdbool.h>
#include <stddef.h>

#define BACKLOG_BYTES (32UL << 20) /* of memory at most, given back when it was needed */

struct backlog;
struct ring_buffer;

/*
 * map_fd: of the ring.  `handle` is called by backlog__drain() for each record, in
 * order, and must not call it.  NULL with errno set.
 */
struct backlog *backlog__new(int map_fd, void (*handle)(void *arg, const void *data, size_t size),
			     void *arg);
void backlog__free(struct backlog *b); /* NULL is allowed */

/* Readable when there are records. */
int backlog__fd(const struct backlog *b);

/* The ring, for who asks how full it is; it is not to be read. */
struct ring_buffer *backlog__ring(const struct backlog *b);

/* Handles all there is. */
void backlog__drain(struct backlog *b);

/* What takes long begins, or is over; not to be nested.  NULL is allowed. */
void backlog__slow(struct backlog *b, bool slow);

#endif /* ACLGUARD_BACKLOG_H */
