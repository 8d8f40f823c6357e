/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The names of code that a process made at run time, as far as it tells them in
 * /tmp/perf-PID.map, which is also what perf reads (Python's -X perf, Node.js'
 * --perf-basic-prof, Java agents):
 *
 *	START SIZE NAME		both in hexadecimal; one a line, and the file grows
 *
 * Later lines are right where lines contradict each other: code comes and goes.
 * The process writes the file and may put anything into it.  Only whole lines
 * that are exactly so are taken; names are read from the file when one is shown.
 */
#ifndef ACLGUARD_PERFMAP_H
#define ACLGUARD_PERFMAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* What lies beyond is not read. */
#define PERFMAP_BYTES_MAX (64UL << 20)
#define PERFMAP_ENTRIES_MAX (1UL << 20)
#define PERFMAP_NAME_MAX (64UL << 10) /* a longer name is cut, in bytes */

struct perfmap;

/* From a file, which may grow; duplicates fd.  Returns 0 or -errno. */
int perfmap__open(int fd, struct perfmap **out);
void perfmap__free(struct perfmap *pm); /* NULL is allowed */

/*
 * Reads what has come since.  -ESTALE: the file was cut, or has no name any more,
 * and another one may have it.
 */
int perfmap__update(struct perfmap *pm);

/*
 * The name of the code at an address, in memory that the caller frees, with
 * *start its first address.  NULL: there is none.
 */
char *perfmap__find(struct perfmap *pm, uint64_t addr, uint64_t *start);

size_t perfmap__bytes(const struct perfmap *pm);     /* of memory */
size_t perfmap__malformed(const struct perfmap *pm); /* lines not understood */

#endif /* ACLGUARD_PERFMAP_H */
