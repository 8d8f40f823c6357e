/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The stacks that the kernel keeps of the calls that lead to a report, each one once:
 * a number in an object stands for all of it.
 */
#ifndef ACLGUARD_STACKS_H
#define ACLGUARD_STACKS_H

#include <stdint.h>

#include "records.h"

struct stacks {
	int fd; /* of the map; not owned */
};

/*
 * `nr` is that of an object (see struct acl_leave).  Return addresses, innermost
 * first: the call was over when they were taken.  Returns how many were put into
 * addr; 0 where none is kept.  NULL keeps none.
 */
unsigned int stacks__get(const struct stacks *st, uint32_t nr, uint64_t addr[ACL_KEPT_MAX]);

#endif /* ACLGUARD_STACKS_H */
