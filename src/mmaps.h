/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * What processes map, told by the kernel as it happens: of every executable
 * mapping of a file, on every CPU, a record comes through a perf event that
 * counts nothing.  Processes pay for it next to nothing, and nobody is polled.
 */
#ifndef ACLGUARD_MMAPS_H
#define ACLGUARD_MMAPS_H

#include <stdint.h>
#include <sys/types.h>

/* A file, by what it is. */
struct mmaps_file {
	uint32_t dev_major, dev_minor;
	uint64_t inode, generation;
};

struct mmaps_event {
	pid_t pid;
	uint64_t time; /* monotonic ns */
	uint64_t start, end;
	uint64_t offset; /* of start in the file */
	struct mmaps_file file;
	const char *name; /* raw, as the process has it; until the callback returns */
};

struct mmaps;

/* Returns 0 or -errno: -EACCES where perf_event_paranoid forbids it, -ENOSYS ... */
int mmaps__open(struct mmaps **out);
void mmaps__close(struct mmaps *mm); /* NULL is allowed */

/* Readable when there is something; not owned. */
int mmaps__fd(const struct mmaps *mm);

/*
 * Hands on what has come in, oldest first a CPU; those of several CPUs are not
 * in order.  Returns how many records the kernel had to drop since the last time.
 */
uint64_t mmaps__read(struct mmaps *mm, void (*fn)(void *arg, const struct mmaps_event *ev),
		     void *arg);

#endif /* ACLGUARD_MMAPS_H */
