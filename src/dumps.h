/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The copies of registers and stack that the kernel sends along with violations, on
 * their way to whoever unwinds them.  They have a ring of their own, in which that of
 * a violation is complete before the violation itself; here it waits until it is asked
 * for.  Bounded: what finds no room is counted, and its violation shown by frame pointers.
 */
#ifndef ACLGUARD_DUMPS_H
#define ACLGUARD_DUMPS_H

#include <stddef.h>
#include <stdint.h>

#include "records.h"

#define DUMPS_BYTES_MIN 1024U
#define DUMPS_BYTES_MAX 65536U
#define DUMPS_BYTES_DEFAULT 16384U
#define DUMPS_WAITING_MAX 64 /* copies */

struct dumps;

/* For so many bytes of stack: pieces to copy, and bytes of the ring. */
uint8_t dumps__pieces(uint32_t bytes);
uint32_t dumps__ring(uint32_t bytes);

/* NULL if there is no memory. */
struct dumps *dumps__new(void);
/* map_fd: the ring.  Returns 0, or -errno with errno set, too. */
int dumps__attach(struct dumps *ds, int map_fd);
void dumps__free(struct dumps *ds); /* NULL is allowed */

/*
 * That of a violation, which says of itself that one was sent.  Valid until the next
 * call.  NULL: it had to give way, or what was sent makes no sense.
 */
const struct acl_dump *dumps__find(struct dumps *ds, uint64_t id);

/* How often that was so.  NULL: none were sent. */
uint64_t dumps__lost(const struct dumps *ds);

#endif /* ACLGUARD_DUMPS_H */
