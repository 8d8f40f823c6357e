/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Functions around an address, see scopes.h. */
#include "scopes.h"

#include <dwarf.h>
#include <stddef.h>

#define DEPTH_MAX 64  /* entries within each other, of namespaces and of code */
#define ORIGINS_MAX 8 /* from a copy to what it is a copy of, and to its declaration */

bool scopes__covers(Dwarf_Die *die, uint64_t addr, unsigned int *budget)
{
	Dwarf_Addr base, start, end;
	ptrdiff_t at = 0;

	while ((at = dwarf_ranges(die, at, &base, &start, &end)) > 0) {
		if (!*budget)
			return false;
		--*budget;
		if (start <= addr && addr < end)
			return true;
	}
	return false;
}

enum role { OTHER, SPACE, FUNCTION, INLINED, BLOCK };

static enum role role_of(Dwarf_Die *die)
{
	switch (dwarf_tag(die)) {
	case DW_TAG_namespace:
	case DW_TAG_module:
	case DW_TAG_class_type:
	case DW_TAG_structure_type:
	case DW_TAG_union_type:
		return SPACE;
	case DW_TAG_subprogram:
		return FUNCTION;
	case DW_TAG_inlined_subroutine:
		return INLINED;
	case DW_TAG_lexical_block:
	case DW_TAG_try_block:
	case DW_TAG_catch_block:
	case DW_TAG_with_stmt:
		return BLOCK;
	default:
		return OTHER;
	}
}

static void take(struct scopes *out, enum role role, const Dwarf_Die *die)
{
	if (role == FUNCTION) {
		/* One within another (a nested or local one) is no caller of it. */
		out->found = true;
		out->function = *die;
		out->n_inlined = 0;
		out->cut = false;
	} else if (role == INLINED) {
		/* The innermost ones are kept. */
		if (out->n_inlined == LINES_INLINED_MAX) {
			for (unsigned int i = 1; i < LINES_INLINED_MAX; i++)
				out->inlined[i - 1] = out->inlined[i];
			out->n_inlined--;
			out->cut = true;
		}
		out->inlined[out->n_inlined++] = *die;
	}
}

void scopes__find(Dwarf_Die *cu, uint64_t addr, unsigned int *budget, struct scopes *out)
{
	Dwarf_Die path[DEPTH_MAX]; /* path[d] is looked at, within path[d - 1] */
	unsigned int d = 0;
	bool in_code = false;

	*out = (struct scopes){};
	if (dwarf_child(cu, &path[0]))
		return;
	while (*budget) {
		enum role role = role_of(&path[d]);
		bool enter = role == SPACE && !in_code;

		--*budget;
		if (role > SPACE && scopes__covers(&path[d], addr, budget)) {
			take(out, role, &path[d]);
			in_code = enter = true;
		}
		if (enter && d + 1 < DEPTH_MAX && dwarf_child(&path[d], &path[d + 1]) == 0) {
			d++;
			continue;
		}
		/* What covers the address has no sibling that does. */
		while (dwarf_siblingof(&path[d], &path[d]) != 0) {
			if (d == 0 || in_code)
				return;
			d--;
		}
	}
}

/* What this is a copy, or the definition, of. */
static bool follow(Dwarf_Die *die)
{
	Dwarf_Attribute attr;
	Dwarf_Die next;

	if (!dwarf_attr(die, DW_AT_abstract_origin, &attr) &&
	    !dwarf_attr(die, DW_AT_specification, &attr))
		return false;
	if (!dwarf_formref_die(&attr, &next))
		return false;
	*die = next;
	return true;
}

static const char *string_of(Dwarf_Die *die, unsigned int name)
{
	Dwarf_Attribute attr;

	return dwarf_attr(die, name, &attr) ? dwarf_formstring(&attr) : NULL;
}

const char *scopes__name(Dwarf_Die *die)
{
	const char *plain = NULL, *s;
	Dwarf_Die at = *die;

	for (int i = 0; i < ORIGINS_MAX; i++) {
		s = string_of(&at, DW_AT_linkage_name);
		if (!s)
			s = string_of(&at, DW_AT_MIPS_linkage_name);
		if (s && *s)
			return s;
		if (!plain)
			plain = string_of(&at, DW_AT_name);
		if (!follow(&at))
			break;
	}
	return plain && *plain ? plain : NULL;
}
