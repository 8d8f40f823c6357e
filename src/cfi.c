/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Reading .eh_frame, see cfi.h.  The table of .eh_frame_hdr leads to the entry (FDE) of
 * an address; that names the entry (CIE) of what it shares with others.  Both hold little
 * programs, which are run up to the address.
 */
#include "cfi.h"

#include <dwarf.h>
#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bytes.h"

/* Not all versions of <dwarf.h> have it; the number was SPARC's before. */
#define CFA_NEGATE_RA_STATE 0x2d

/* What a CIE says. */
struct cie {
	uint64_t code_align;
	int64_t data_align;
	uint8_t pointer; /* encoding of addresses in FDEs, DW_EH_PE_* */
	bool sized;	 /* FDEs say how much comes before their program */
	struct bytes program;
};

/* An entry as it was read: its bytes after the length, and where those are. */
struct entry {
	struct bytes b;
	uint64_t addr; /* of the first of them */
	const uint8_t *start;
};

/* ---- entries -------------------------------------------------------------- */

static uint64_t entry__here(const struct entry *e)
{
	return e->addr + (uint64_t)(e->b.p - e->start);
}

static int entry__read(struct elffile *ef, uint64_t addr, uint8_t *buf, size_t room,
		       struct entry *e)
{
	uint32_t len;
	int err = elffile__read_addr(ef, addr, &len, sizeof(len));

	if (err)
		return err;
	if (!len) /* the end of all; what has a 64-bit length is nowhere to be found */
		return -ENOENT;
	if (len > room)
		return -E2BIG;
	err = elffile__read_addr(ef, addr + sizeof(len), buf, len);
	*e = (struct entry){ { buf, buf + len, false }, addr + sizeof(len), buf };
	return err;
}

/* How many bytes an encoded pointer takes; 0: none that we know. */
static unsigned int pointer_size(uint8_t encoding)
{
	switch (encoding & 7) {
	case DW_EH_PE_absptr:
	case DW_EH_PE_udata8:
		return 8;
	case DW_EH_PE_udata4:
		return 4;
	case DW_EH_PE_udata2:
		return 2;
	default:
		return 0;
	}
}

static uint64_t entry__pointer(struct entry *e, uint8_t encoding)
{
	unsigned int size = pointer_size(encoding);
	uint64_t here = entry__here(e), val;

	if (!size || (encoding & ~0xf && (encoding & ~0xf) != DW_EH_PE_pcrel)) {
		e->b.bad = true;
		return 0;
	}
	val = encoding & DW_EH_PE_signed ? (uint64_t)bytes__signed(&e->b, size)
					 : bytes__unsigned(&e->b, size);
	return encoding & DW_EH_PE_pcrel ? val + here : val;
}

/* The letters after "z", and what each of them brings along. */
static void cie__augment(struct cie *c, struct entry *e, const char *letters, struct cfi_row *row)
{
	struct bytes rest;
	uint64_t size = bytes__uleb(&e->b);
	uint8_t encoding;

	rest = e->b;
	bytes__take(&e->b, size);
	rest.end = e->b.p;
	for (; *letters; letters++) {
		switch (*letters) {
		case 'R':
			c->pointer = (uint8_t)bytes__unsigned(&rest, 1);
			break;
		case 'L':
			bytes__unsigned(&rest, 1);
			break;
		case 'P':
			encoding = (uint8_t)bytes__unsigned(&rest, 1);
			if (!pointer_size(encoding) || encoding == DW_EH_PE_aligned)
				e->b.bad = true;
			bytes__take(&rest, pointer_size(encoding));
			break;
		case 'S':
			row->signal = true;
			break;
		case 'B': /* arm64: signed with another key, */
		case 'G': /* and tagged memory */
			break;
		default: /* the rest has a meaning that we do not know */
			return;
		}
	}
	e->b.bad |= rest.bad;
}

static int cie__parse(struct cie *c, struct entry *e, struct cfi_row *row)
{
	const char *letters;
	uint64_t version;

	*c = (struct cie){ .pointer = DW_EH_PE_absptr };
	row->signal = false;
	if (bytes__unsigned(&e->b, 4)) /* its id */
		return -ENOEXEC;
	version = bytes__unsigned(&e->b, 1);
	letters = (const char *)e->b.p;
	if (!memchr(letters, '\0', bytes__left(&e->b)))
		return -ENOEXEC;
	bytes__take(&e->b, strlen(letters) + 1);
	if (version == 4) /* sizes of an address and of a segment's number */
		e->b.bad |= bytes__unsigned(&e->b, 2) != 8;
	else if (version != 1 && version != 3)
		return -ENOTSUP;
	c->code_align = bytes__uleb(&e->b);
	c->data_align = bytes__sleb(&e->b);
	row->ra = (unsigned int)(version == 1 ? bytes__unsigned(&e->b, 1) : bytes__uleb(&e->b));
	c->sized = letters[0] == 'z';
	if (c->sized)
		cie__augment(c, e, letters + 1, row);
	else if (letters[0])
		return -ENOTSUP;
	c->program = e->b;
	return e->b.bad || row->ra >= CFI_REGS ? -ENOEXEC : 0;
}

/* An FDE up to its program. */
static int fde__parse(const struct cie *c, struct entry *e, struct cfi_row *row)
{
	row->start = entry__pointer(e, c->pointer);
	row->end = row->start + entry__pointer(e, c->pointer & 0xf);
	if (c->sized)
		bytes__take(&e->b, bytes__uleb(&e->b));
	return e->b.bad || row->end < row->start ? -ENOEXEC : 0;
}

/* ---- finding the entry ---------------------------------------------------- */

/* The header of .eh_frame_hdr, with the encodings that all linkers use, and a pair of its table. */
struct hdr {
	uint8_t version, frame_encoding, count_encoding, table_encoding;
	int32_t frame;
	uint32_t count;
};

struct hdr_pair {
	int32_t start, fde; /* from the start of the header */
};

/* The address of the FDE that may cover addr.  -ENOTSUP: there is no table to look in. */
static int search_table(struct elffile *ef, uint64_t addr, uint64_t *fde)
{
	struct elffile_part part;
	struct hdr_pair pair;
	struct hdr hdr;
	uint64_t lo = 0, hi;
	int err;

	if (elffile__segment(ef, PT_GNU_EH_FRAME, &part) ||
	    elffile__read_addr(ef, part.addr, &hdr, sizeof(hdr)) || hdr.version != 1 ||
	    pointer_size(hdr.frame_encoding) != 4 || hdr.count_encoding != DW_EH_PE_udata4 ||
	    hdr.table_encoding != (DW_EH_PE_datarel | DW_EH_PE_sdata4))
		return -ENOTSUP;
	hi = hdr.count;
	/* the first pair behind addr */
	while (lo < hi) {
		uint64_t mid = lo + (hi - lo) / 2;

		err = elffile__read_addr(ef, part.addr + sizeof(hdr) + mid * sizeof(pair), &pair,
					 sizeof(pair));
		if (err)
			return err;
		if (part.addr + (uint64_t)(int64_t)pair.start <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (!lo)
		return -ENOENT;
	err = elffile__read_addr(ef, part.addr + sizeof(hdr) + (lo - 1) * sizeof(pair), &pair,
				 sizeof(pair));
	*fde = part.addr + (uint64_t)(int64_t)pair.fde;
	return err;
}

/* An entry in a section that was read as a whole; false: there is none there. */
static bool entry__at(const struct elffile_part *part, const uint8_t *section, uint64_t at,
		      struct entry *e)
{
	uint32_t len;

	if (at >= part->size || part->size - at < sizeof(len))
		return false;
	memcpy(&len, section + at, sizeof(len));
	at += sizeof(len);
	if (!len || len > part->size - at)
		return false;
	*e = (struct entry){ { section + at, section + at + len, false },
			     part->addr + at,
			     section + at };
	return true;
}

static int walk_section(const struct elffile_part *part, const uint8_t *section, uint64_t addr,
			struct cfi_row *row, uint64_t *fde)
{
	uint64_t at, cie_at = ~0ULL;
	struct entry e, of_cie;
	struct cie cie = {};

	for (at = 0; entry__at(part, section, at, &e); at += 4 + (uint64_t)(e.b.end - e.start)) {
		uint64_t back = bytes__unsigned(&e.b, 4), id_at = at + 4;

		if (e.b.bad || !back || back > id_at) /* a CIE, or nonsense */
			continue;
		if (cie_at != id_at - back) {
			cie_at = id_at - back;
			if (!entry__at(part, section, cie_at, &of_cie) ||
			    cie__parse(&cie, &of_cie, row)) {
				cie_at = ~0ULL;
				continue;
			}
		}
		if (fde__parse(&cie, &e, row) || addr < row->start || addr >= row->end)
			continue;
		*fde = part->addr + at;
		return 0;
	}
	return -ENOENT;
}

static int search_section(struct elffile *ef, uint64_t addr, struct cfi_row *row, uint64_t *fde)
{
	struct elffile_part part;
	uint8_t *section;
	int err = elffile__section(ef, ".eh_frame", &part);

	if (err)
		return err;
	if (part.size > CFI_SECTION_MAX)
		return -E2BIG;
	section = malloc(part.size + 1);
	if (!section)
		return -ENOMEM;
	err = elffile__read_addr(ef, part.addr, section, part.size);
	if (!err)
		err = walk_section(&part, section, addr, row, fde);
	free(section);
	return err;
}

/* ---- programs ------------------------------------------------------------- */

struct run {
	struct cfi_row *row;
	const struct cie *cie;
	struct bytes b;
	uint64_t loc, until;
	bool initial; /* the CIE's own program */
	unsigned int depth;
};

/* A rule that is written to, also where the register is none of ours. */
static struct cfi_rule *rule_of(struct run *r, uint64_t reg)
{
	static _Thread_local struct cfi_rule other;

	return reg < CFI_REGS ? &r->row->rules.reg[reg] : &other;
}

static void set_n(struct run *r, uint64_t reg, enum cfi_how how, int64_t n)
{
	*rule_of(r, reg) = (struct cfi_rule){ .how = (uint8_t)how, .n = n };
}

static void set_expr(struct run *r, struct cfi_rule *rule, enum cfi_how how)
{
	uint64_t len = bytes__uleb(&r->b);
	const uint8_t *expr = bytes__take(&r->b, len);

	*rule = (struct cfi_rule){ .how = (uint8_t)how, .len = (uint32_t)len, .expr = expr };
}

static void set_cfa(struct run *r, uint64_t reg, int64_t n)
{
	if (reg >= CFI_REGS)
		r->b.bad = true;
	r->row->rules.cfa =
		(struct cfi_rule){ .how = CFI_REGISTER_PLUS_N, .reg = (uint16_t)reg, .n = n };
}

/* Offsets multiply without care for what a hostile file wants them to be. */
static int64_t factored(const struct run *r, int64_t n)
{
	return (int64_t)((uint64_t)n * (uint64_t)r->cie->data_align);
}

static void restore(struct run *r, uint64_t reg)
{
	if (r->initial)
		r->b.bad = true;
	else if (reg < CFI_REGS)
		r->row->rules.reg[reg] = r->row->initial.reg[reg];
}

static void remember(struct run *r)
{
	if (r->depth == CFI_NEST_MAX)
		r->b.bad = true;
	else
		r->row->remembered[r->depth++] = r->row->rules;
}

static void recall(struct run *r)
{
	if (!r->depth)
		r->b.bad = true;
	else
		r->row->rules = r->row->remembered[--r->depth];
}

/* A step in the code; true: what has been said so far is what holds at the address. */
static bool advance(struct run *r, uint64_t steps)
{
	if (r->initial)
		r->b.bad = true;
	r->loc += steps * r->cie->code_align;
	return r->loc > r->until;
}

static void define_cfa(struct run *r, uint8_t op)
{
	struct cfi_rule *cfa = &r->row->rules.cfa;
	uint64_t reg;

	switch (op) {
	case DW_CFA_def_cfa:
		reg = bytes__uleb(&r->b);
		set_cfa(r, reg, (int64_t)bytes__uleb(&r->b));
		return;
	case DW_CFA_def_cfa_sf:
		reg = bytes__uleb(&r->b);
		set_cfa(r, reg, factored(r, bytes__sleb(&r->b)));
		return;
	case DW_CFA_def_cfa_expression:
		set_expr(r, cfa, CFI_IS_EXPRESSION);
		return;
	default:
		break;
	}
	/* the others change a part of what there has to be */
	if (cfa->how != CFI_REGISTER_PLUS_N)
		r->b.bad = true;
	else if (op == DW_CFA_def_cfa_register)
		set_cfa(r, bytes__uleb(&r->b), cfa->n);
	else if (op == DW_CFA_def_cfa_offset)
		cfa->n = (int64_t)bytes__uleb(&r->b);
	else
		cfa->n = factored(r, bytes__sleb(&r->b));
}

static void define_register(struct run *r, uint8_t op)
{
	uint64_t reg = bytes__uleb(&r->b), other;

	switch (op) {
	case DW_CFA_undefined:
		set_n(r, reg, CFI_UNDEFINED, 0);
		break;
	case DW_CFA_same_value:
		set_n(r, reg, CFI_SAME, 0);
		break;
	case DW_CFA_restore_extended:
		restore(r, reg);
		break;
	case DW_CFA_offset_extended:
		set_n(r, reg, CFI_AT, factored(r, (int64_t)bytes__uleb(&r->b)));
		break;
	case DW_CFA_offset_extended_sf:
		set_n(r, reg, CFI_AT, factored(r, bytes__sleb(&r->b)));
		break;
	case DW_CFA_GNU_negative_offset_extended:
		set_n(r, reg, CFI_AT, factored(r, (int64_t)(0 - bytes__uleb(&r->b))));
		break;
	case DW_CFA_val_offset:
		set_n(r, reg, CFI_IS, factored(r, (int64_t)bytes__uleb(&r->b)));
		break;
	case DW_CFA_val_offset_sf:
		set_n(r, reg, CFI_IS, factored(r, bytes__sleb(&r->b)));
		break;
	case DW_CFA_register:
		other = bytes__uleb(&r->b);
		*rule_of(r, reg) =
			(struct cfi_rule){ .how = CFI_REGISTER,
					   .reg = other < CFI_REGS ? (uint16_t)other : CFI_REGS };
		break;
	case DW_CFA_expression:
		set_expr(r, rule_of(r, reg), CFI_AT_EXPRESSION);
		break;
	default:
		set_expr(r, rule_of(r, reg), CFI_IS_EXPRESSION);
	}
}

/* One instruction; true ends the program. */
static bool step(struct run *r)
{
	uint8_t op = (uint8_t)bytes__unsigned(&r->b, 1), low = op & 0x3f;

	switch (op & 0xc0) {
	case DW_CFA_advance_loc:
		return advance(r, low);
	case DW_CFA_offset:
		set_n(r, low, CFI_AT, factored(r, (int64_t)bytes__uleb(&r->b)));
		return false;
	case DW_CFA_restore:
		restore(r, low);
		return false;
	default:
		break;
	}
	switch (op) {
	case DW_CFA_nop:
		break;
	case DW_CFA_advance_loc1:
		return advance(r, bytes__unsigned(&r->b, 1));
	case DW_CFA_advance_loc2:
		return advance(r, bytes__unsigned(&r->b, 2));
	case DW_CFA_advance_loc4:
		return advance(r, bytes__unsigned(&r->b, 4));
	case DW_CFA_remember_state:
		remember(r);
		break;
	case DW_CFA_restore_state:
		recall(r);
		break;
	case DW_CFA_def_cfa:
	case DW_CFA_def_cfa_sf:
	case DW_CFA_def_cfa_expression:
	case DW_CFA_def_cfa_register:
	case DW_CFA_def_cfa_offset:
	case DW_CFA_def_cfa_offset_sf:
		define_cfa(r, op);
		break;
	case DW_CFA_undefined:
	case DW_CFA_same_value:
	case DW_CFA_restore_extended:
	case DW_CFA_offset_extended:
	case DW_CFA_offset_extended_sf:
	case DW_CFA_GNU_negative_offset_extended:
	case DW_CFA_val_offset:
	case DW_CFA_val_offset_sf:
	case DW_CFA_register:
	case DW_CFA_expression:
	case DW_CFA_val_expression:
		define_register(r, op);
		break;
	case DW_CFA_GNU_args_size:
		bytes__uleb(&r->b);
		break;
	case CFA_NEGATE_RA_STATE:
		r->row->rules.ra_signed = !r->row->rules.ra_signed;
		break;
	default: /* DW_CFA_set_loc among them, which no compiler makes */
		r->b.bad = true;
	}
	return false;
}

static int run(struct cfi_row *row, const struct cie *cie, struct bytes program, bool initial,
	       uint64_t until)
{
	struct run r = {
		.row = row,
		.cie = cie,
		.b = program,
		.loc = row->start,
		.until = until,
		.initial = initial,
	};

	while (bytes__left(&r.b) && !r.b.bad)
		if (step(&r))
			break;
	return r.b.bad ? -ENOEXEC : 0;
}

/* ---- all of it ------------------------------------------------------------ */

int cfi__find(struct elffile *ef, uint64_t addr, struct cfi_row *row)
{
	struct entry fde, of_cie;
	uint64_t at = 0, back, id_at;
	struct cie cie;
	int err = search_table(ef, addr, &at);

	if (err == -ENOTSUP)
		err = search_section(ef, addr, row, &at);
	if (!err)
		err = entry__read(ef, at, row->fde, sizeof(row->fde), &fde);
	if (err)
		return err;
	id_at = entry__here(&fde);
	back = bytes__unsigned(&fde.b, 4);
	if (fde.b.bad || !back)
		return -ENOEXEC;
	err = entry__read(ef, id_at - back, row->cie, sizeof(row->cie), &of_cie);
	if (!err)
		err = cie__parse(&cie, &of_cie, row);
	if (!err)
		err = fde__parse(&cie, &fde, row);
	if (err)
		return err;
	if (addr < row->start || addr >= row->end)
		return -ENOENT;
	memset(&row->rules, 0, sizeof(row->rules));
	err = run(row, &cie, cie.program, true, addr);
	row->initial = row->rules;
	return err ? err : run(row, &cie, fde.b, false, addr);
}
