/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * What processes leave behind: events never destroyed and host buffers never
 * released, by the place that created them.
 */
#ifndef ACLGUARD_LEAKS_H
#define ACLGUARD_LEAKS_H

#include <stdint.h>
#include <sys/types.h>

struct aclguard_bpf;
struct report_cfg;
struct leaks;

/* *cfg must outlive what is made.  NULL if there is no memory. */
struct leaks *leaks__new(struct aclguard_bpf *skel, const struct report_cfg *cfg);
void leaks__free(struct leaks *lk); /* NULL is allowed */

/*
 * Takes down what an incarnation has alive at `now` (monotonic ns), before
 * its state is swept.  `comm` is raw.
 */
void leaks__collect(struct leaks *lk, uint64_t inc, pid_t pid, const char *comm, uint64_t now);

/* Prints all that was taken down.  Returns 0, or -errno from writing. */
int leaks__print(const struct leaks *lk);

#endif /* ACLGUARD_LEAKS_H */
