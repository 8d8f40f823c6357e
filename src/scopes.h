/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The functions around an address in one compilation unit: the one that has the
 * code, and those that the compiler put into it.  libdw has this too, but walks
 * whatever the file says, however deep and however long.
 */
#ifndef ACLGUARD_SCOPES_H
#define ACLGUARD_SCOPES_H

#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stdint.h>

#include "lines.h"

struct scopes {
	bool found;
	Dwarf_Die function; /* the one that has the code */
	/* Outermost first. */
	Dwarf_Die inlined[LINES_INLINED_MAX];
	unsigned int n_inlined;
	bool cut; /* there were more, further out */
};

/* Every entry and every range that is looked at takes one of *budget; at 0 it ends. */
void scopes__find(Dwarf_Die *cu, uint64_t addr, unsigned int *budget, struct scopes *out);

/* Whether the entry covers the address. */
bool scopes__covers(Dwarf_Die *die, uint64_t addr, unsigned int *budget);

/* The name of a function as linked, or else as written; in memory of libdw.  NULL: none. */
const char *scopes__name(Dwarf_Die *die);

#endif /* ACLGUARD_SCOPES_H */
