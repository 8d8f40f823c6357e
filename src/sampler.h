/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The numbers that the kernel side keeps, read when somebody asks, in a thread of its own:
 * the one that handles events does not wait for it, and who asks needs no
 * capability to read maps.
 */
#ifndef ACLGUARD_SAMPLER_H
#define ACLGUARD_SAMPLER_H

#include <stddef.h>
#include <stdint.h>

#include "records.h"

#define SAMPLE_TABLES_MAX 40
#define SAMPLE_NAME_MAX 64
#define SAMPLE_PROGRAMS_MAX (ACL_C_MAX + 32)

struct aclguard_bpf;
struct metrics;
struct sampler;

struct sample {
	struct acl_calls calls[ACL_C_MAX]; /* summed over CPUs */
	uint64_t losses[ACL_L_MAX];
	struct {
		uint64_t n;
		uint32_t call;
		int32_t ret;
	} errors[ACL_CAP_ERRORS];
	size_t n_errors;
	/* with names of their own: the BPF object may be closed when they are shown */
	struct sample_table {
		char name[SAMPLE_NAME_MAX];
		uint64_t entries, capacity;
	} tables[SAMPLE_TABLES_MAX];
	size_t n_tables;
	struct sample_program {
		char name[SAMPLE_NAME_MAX];
		uint64_t runs, run_ns, missed;
	} programs[SAMPLE_PROGRAMS_MAX];
	size_t n_programs;
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
