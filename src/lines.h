/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Source lines of a file, from its DWARF, by libdw.
 *
 * libdw's own machinery for modules (libdwfl) is not used: it opens files by the
 * names that the target's files contain, and asks debuginfod servers.
 */
#ifndef ACLGUARD_LINES_H
#define ACLGUARD_LINES_H

#include <stddef.h>
#include <stdint.h>

#include "elffile.h"

struct lines;

/*
 * Of an open file.  NULL: it has no lines, or such as are not read (too many,
 * or parts of them in other files).
 */
struct lines *lines__open(struct elffile *ef);
void lines__close(struct lines *ls); /* NULL is allowed */
size_t lines__bytes(const struct lines *ls);

/*
 * The source file and line of an address as linked, the file in memory that
 * the caller frees.  NULL: unknown.
 */
char *lines__find(struct lines *ls, uint64_t addr, unsigned int *line);

#endif /* ACLGUARD_LINES_H */
