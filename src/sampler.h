/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The numbers that the kernel side keeps, read when somebody asks, in a thread of its own:
 * the one that handles events does not wait for it, and who asks needs no
 * capability to read maps.
 */
#ifndef ACLGUARD_SAMPLER_H
#define ACLGUARD_SAMPLER_H

#include <stdint.h>

#include "records.h"

struct aclguard_bpf;
struct metrics;
struct sampler;

struct sample {
	struct acl_calls calls[ACL_C_MAX]; /* summed over CPUs */
	uint64_t losses[ACL_L_MAX];
};

/*
 * Starts the thread, with the capabilities of the caller's.  Neither the maps nor the
 * metrics are owned: the numbers of live processes go to the latter.  Returns 0 or
 * -errno.
 */
int sampler__start(const struct aclguard_bpf *skel, struct metrics *metrics, struct sampler **out);
void sampler__stop(struct sampler *s); /* NULL is allowed */

/*
 * What is read after this was called; where that takes longer than `wait_ms`, what was
 * read last.  Any thread.
 */
void sampler__get(struct sampler *s, unsigned int wait_ms, struct sample *out);

#endif /* ACLGUARD_SAMPLER_H */
