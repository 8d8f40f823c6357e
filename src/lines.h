/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Source lines of a file, and the functions that the compiler put into others,
 * from its DWARF, by libdw.
 *
 * libdw's own machinery for modules (libdwfl) is not used: it opens files by the
 * names that the target's files contain, and asks debuginfod servers.
 *
 * What a file contains may be made up to cost time or memory: the sections, the
 * rows of one line table, the entries that one address looks at, and how deep
 * they are nested are bounded, and beyond a bound there are no lines.
 */
#ifndef ACLGUARD_LINES_H
#define ACLGUARD_LINES_H

#include <stddef.h>
#include <stdint.h>

#include "elffile.h"

#define LINES_INLINED_MAX 16 /* further out ones are left out */

/* A function that was compiled into another one, and the place in it. */
struct sym_inline {
	char *function; /* as linked (C++ mangled) if it has such a name; NULL: unknown */
	char *file;	/* NULL: unknown */
	unsigned int line;
};

/* Where in the source an address is.  To be cleared. */
struct line_place {
	/* In the function that was called: where the address is, or what it was compiled into. */
	char *file; /* NULL: unknown */
	unsigned int line;
	char *function; /* as linked; NULL: unknown */
	uint64_t start; /* of the function; only if that is known */
	/* Innermost first.  The place in each is that of the address, or of the one before. */
	struct sym_inline *inlined;
	unsigned int n_inlined;
};

struct lines;

/*
 * Of an open file.  alt: the file of what it shares with others (dwz), or NULL.
 * Returns NULL if it has no lines, or such as are not read (too many, or parts
 * of them in other files).
 */
struct lines *lines__open(struct elffile *ef, struct elffile *alt);
void lines__close(struct lines *ls); /* NULL is allowed */
size_t lines__bytes(const struct lines *ls);

/* Does now what the first address would have to wait for. */
void lines__prepare(struct lines *ls);

/* The place of an address as linked; what is unknown is left empty. */
void lines__find(struct lines *ls, uint64_t addr, struct line_place *out);
void line_place__clear(struct line_place *p);
void sym_inline__free(struct sym_inline *list, unsigned int n);

#endif /* ACLGUARD_LINES_H */
