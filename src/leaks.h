/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * What processes leave behind: events never destroyed and host buffers never
 * released, by the place that created them.
 */
#ifndef ACLGUARD_LEAKS_H
#define ACLGUARD_LEAKS_H

#include <stdint.h>
#include <sys/types.h>

struct acl_buf;
struct acl_event;
struct report_cfg;
struct leaks;

/* Whose they are. */
struct leaks_of {
	uint64_t inc;
	pid_t pid;
	const char *comm; /* raw */
	uint64_t now;	  /* monotonic ns */
};

/* *cfg must outlive what is made.  NULL if there is no memory. */
struct leaks *leaks__new(const struct report_cfg *cfg);
void leaks__free(struct leaks *lk); /* NULL is allowed */

/* Takes down what is alive when its process ends, or the watch does. */
void leaks__buf(struct leaks *lk, const struct leaks_of *of, const struct acl_buf *b);
void leaks__event(struct leaks *lk, const struct leaks_of *of, const struct acl_event *e);

/* Prints all that was taken down.  Returns 0, or -errno from writing. */
int leaks__print(const struct leaks *lk);

#endif /* ACLGUARD_LEAKS_H */
