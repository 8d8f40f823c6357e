/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Unwinding, see unwind.h: from frame to frame, by the table of cfi.h or else by the
 * frame pointer.
 *
 * libdw's own unwinder (libdwfl) is not used: it looks for debuginfod servers as soon as
 * the program starts, which a static program cannot even do, opens files by the names
 * that the target's files contain, and takes what they say at its word (see cfi.h).
 */
#include "unwind.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "cfi.h"
#include "dwexpr.h"
#include "symbols.h"

/* By DWARF's numbers; RET is where the return address is expected without a table. */
#if defined(__aarch64__)
#define REG_FP 29
#define REG_RET 30
#define REGS_KEPT 0x7ff80000U /* x19 to x30: a function hands them back as they were */
#else
#define REG_FP 6
#define REG_RET 16
#define REGS_KEPT 0xf048U /* rbx, rbp, r12 to r15 */
#endif
#define REG_SP UNWIND_SP

/* Linux gives user space no more, unless it asks; above are signatures and tags. */
#define ADDRESS_BITS 48

#if defined(__aarch64__)
const uint8_t unwind_words[UNWIND_REGS] = { 0,	1,  2,	3,  4,	5,  6,	7,  8,	9,  10,
					    11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21,
					    22, 23, 24, 25, 26, 27, 28, 29, 30, 31 };
#else
const uint8_t unwind_words[UNWIND_REGS] = { 10, 12, 11, 5, 13, 14, 4, 19, 9, 8, 7, 6, 3, 2, 1, 0 };
#endif

struct unwinder {
	struct symbolizer *sym;
	struct elffile *vdso; /* our own, which is everybody's; NULL: there is none */
	uint64_t vdso_size;   /* as mapped */
	struct cfi_row row;
};

struct walk {
	struct unwinder *uw;
	const struct acl_dump *d;
	uint64_t pc;
	uint64_t regs[CFI_REGS];
	uint64_t known; /* mask of regs */
	bool is_return; /* pc is a return address */
	struct unwind *out;
};

/* ---- the copy ------------------------------------------------------------- */

/* Bytes of the stack; -EFAULT: they are not in the copy. */
static int read_stack(void *arg, uint64_t addr, void *buf, size_t n)
{
	const struct acl_dump *d = ((struct walk *)arg)->d;
	uint64_t base = d->words[ACL_DUMP_SP] & ~(ACL_DUMP_PIECE - 1ULL);
	uint64_t from = addr - base, size = d->pieces * (uint64_t)ACL_DUMP_PIECE;

	if (from >= size || n > size - from)
		return -EFAULT;
	for (uint64_t i = from / ACL_DUMP_PIECE; i <= (from + n - 1) / ACL_DUMP_PIECE; i++)
		if (d->err[i])
			return -EFAULT;
	memcpy(buf, d->stack + from, n);
	return 0;
}

static bool knows(const struct walk *w, unsigned int reg)
{
	return w->known & 1ULL << reg;
}

static void set(struct walk *w, unsigned int reg, uint64_t val)
{
	w->regs[reg] = val;
	w->known |= 1ULL << reg;
}

/* Without what arm64's pointer authentication puts into the upper bits. */
static uint64_t plain(uint64_t addr)
{
#if defined(__aarch64__)
	addr &= (1ULL << ADDRESS_BITS) - 1;
#endif
	return addr;
}

/* ---- one step ------------------------------------------------------------- */

static int end(struct walk *w, enum unwind_end why)
{
	w->out->end = why;
	return 1;
}

/* What reading or working out a value has come to. */
static int end_by(struct walk *w, int err)
{
	return end(w, err == -EFAULT ? UNWIND_COPY : UNWIND_BAD_CFI);
}

/*
 * To the caller, whose stack pointer is sp.  It has to be further up, but for a function
 * without a stack of its own (arm64), and for a signal handler, which may have been on
 * another stack.
 */
static int go_up(struct walk *w, uint64_t pc, uint64_t sp, bool signal)
{
	uint64_t old = w->regs[REG_SP];

	pc = plain(pc);
	if (!pc)
		return end(w, UNWIND_WHOLE);
	if (!signal && (sp < old || (sp == old && w->is_return)))
		return end(w, UNWIND_BAD_CFI);
	set(w, REG_SP, sp);
	w->pc = pc;
	w->is_return = !signal;
	return 0;
}

/* The caller of a function at its first instruction. */
static int leave_entry(struct walk *w)
{
#if defined(__aarch64__)
	return go_up(w, w->regs[REG_RET], w->regs[REG_SP], false);
#else
	uint64_t ret, sp = w->regs[REG_SP];

	if (read_stack(w, sp, &ret, sizeof(ret)))
		return end(w, UNWIND_COPY);
	return go_up(w, ret, sp + sizeof(ret), false);
#endif
}

/*
 * By the frame pointer, if there is one: it leads up the stack, and what lies beside
 * it is an address of code.  why: what it means if there is none.
 */
static int leave_by_fp(struct walk *w, enum unwind_end why)
{
	uint64_t fp = w->regs[REG_FP], frame[2];
	struct sym_place at;

	if (!knows(w, REG_FP) || fp % 8 || fp < w->regs[REG_SP] ||
	    read_stack(w, fp, frame, sizeof(frame)))
		return end(w, why);
	symbolizer__place(w->uw->sym, (pid_t)w->d->h.tgid, plain(frame[1]) - 1, &at);
	if (frame[1] && !at.exec)
		return end(w, why);
	/* what else the function keeps, and where, is not known */
	w->known = 0;
	set(w, REG_FP, frame[0]);
	w->regs[REG_SP] = fp;
	return go_up(w, frame[1], fp + sizeof(frame), false);
}

static int value_of(struct walk *w, const struct cfi_rule *rule, uint64_t cfa, uint64_t *val)
{
	const struct dwexpr_machine m = {
		.regs = w->regs,
		.known = w->known,
		.read = read_stack,
		.arg = w,
	};
	int err = 0;

	switch (rule->how) {
	case CFI_REGISTER_PLUS_N:
		if (!knows(w, rule->reg))
			return -ENODATA;
		*val = w->regs[rule->reg] + (uint64_t)rule->n;
		return 0;
	case CFI_REGISTER:
		if (rule->reg >= CFI_REGS || !knows(w, rule->reg))
			return -ENODATA;
		*val = w->regs[rule->reg];
		return 0;
	case CFI_IS:
	case CFI_AT:
		*val = cfa + (uint64_t)rule->n;
		break;
	case CFI_IS_EXPRESSION:
	case CFI_AT_EXPRESSION:
		err = dwexpr__eval(rule->expr, rule->len, &m, cfa ? &cfa : NULL, val);
		break;
	default:
		return -EINVAL;
	}
	if (!err && (rule->how == CFI_AT || rule->how == CFI_AT_EXPRESSION))
		err = read_stack(w, *val, val, sizeof(*val));
	return err;
}

/* The registers of the caller.  One that cannot be had is not known; only some are needed. */
static void restore_registers(struct walk *w, const struct cfi_rules *rules, uint64_t cfa)
{
	uint64_t regs[CFI_REGS] = {}, known = 0;

	for (unsigned int i = 0; i < CFI_REGS; i++) {
		const struct cfi_rule *rule = &rules->reg[i];
		bool same = rule->how == CFI_SAME ||
			    (rule->how == CFI_UNSPECIFIED && i < 32 && REGS_KEPT & 1U << i);

		if (same) {
			regs[i] = w->regs[i];
			known |= w->known & 1ULL << i;
		} else if (rule->how > CFI_SAME && !value_of(w, rule, cfa, &regs[i])) {
			known |= 1ULL << i;
		}
	}
	memcpy(w->regs, regs, sizeof(regs));
	w->known = known;
}

static int leave_by_cfi(struct walk *w, const struct cfi_row *row)
{
	const struct cfi_rule *ra = &row->rules.reg[row->ra];
	uint64_t cfa = 0, ret, sp = w->regs[REG_SP];
	int err = value_of(w, &row->rules.cfa, 0, &cfa);

	if (err)
		return end_by(w, err);
	if (ra->how == CFI_UNDEFINED)
		return end(w, UNWIND_WHOLE);
	if (ra->how == CFI_UNSPECIFIED || ra->how == CFI_SAME) {
		err = knows(w, row->ra) ? 0 : -ENODATA;
		ret = w->regs[row->ra];
	} else {
		err = value_of(w, ra, cfa, &ret);
	}
	if (err)
		return end_by(w, err);
	restore_registers(w, &row->rules, cfa);
	/* a signal's frame says where the stack was; other frames end at their CFA */
	if (row->signal && knows(w, REG_SP))
		cfa = w->regs[REG_SP];
	w->regs[REG_SP] = sp;
	return go_up(w, ret, cfa, row->signal);
}

static struct elffile *file_of(struct unwinder *uw, const struct sym_place *at)
{
	if (at->kind == SYM_VDSO && uw->vdso && at->size == uw->vdso_size)
		return uw->vdso;
	return at->file;
}

static bool is_retprobe(const struct sym_place *at)
{
	return at->module && !strcmp(at->module, "[uprobes]");
}

static int step(struct walk *w, bool entry)
{
	struct unwinder *uw = w->uw;
	struct sym_place at;
	struct elffile *ef;
	int err;

	if (entry)
		return leave_entry(w);
	symbolizer__place(uw->sym, (pid_t)w->d->h.tgid, w->pc - w->is_return, &at);
	if (at.kind == SYM_UNKNOWN)
		return end(w, UNWIND_NO_CODE);
	if (is_retprobe(&at))
		return leave_by_fp(w, UNWIND_RETPROBE);
	ef = file_of(uw, &at);
	err = ef ? cfi__find(ef, at.addr, &uw->row) : -ENOENT;
	if (!err)
		return leave_by_cfi(w, &uw->row);
	return leave_by_fp(w, err == -ENOENT ? UNWIND_NO_CFI : UNWIND_BAD_CFI);
}

/* ---- all of it ------------------------------------------------------------ */

void unwinder__walk(struct unwinder *uw, const struct acl_dump *d, bool at_return, unsigned int max,
		    struct unwind *out)
{
	struct walk w = {
		.uw = uw,
		.d = d,
		.pc = d->words[ACL_DUMP_PC],
		.is_return = at_return,
		.known = (1ULL << UNWIND_REGS) - 1,
		.out = out,
	};
	unsigned int room = sizeof(out->addr) / sizeof(out->addr[0]);

	for (unsigned int i = 0; i < UNWIND_REGS; i++)
		w.regs[i] = d->words[unwind_words[i]];
	out->n = 0;
	if (max > room)
		max = room;
	do {
		if (out->n == max) {
			out->end = UNWIND_DEPTH;
			return;
		}
		out->addr[out->n++] = w.pc;
		out->end_addr = w.pc;
	} while (!step(&w, out->n == 1 && !at_return));
}

/* The kernel maps one image into all processes; sections are the last thing in it. */
static void open_vdso(struct unwinder *uw)
{
	const Elf64_Ehdr *eh = (const Elf64_Ehdr *)getauxval(AT_SYSINFO_EHDR);
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);

	if (!eh)
		return;
	uw->vdso_size = eh->e_shoff + (uint64_t)eh->e_shnum * eh->e_shentsize;
	uw->vdso_size = (uw->vdso_size + page - 1) / page * page;
	if (elffile__open_mem(eh, uw->vdso_size, &uw->vdso))
		uw->vdso = NULL;
}

struct unwinder *unwinder__new(struct symbolizer *sym)
{
	struct unwinder *uw = calloc(1, sizeof(*uw));

	if (!uw)
		return NULL;
	uw->sym = sym;
	open_vdso(uw);
	return uw;
}

void unwinder__free(struct unwinder *uw)
{
	if (!uw)
		return;
	elffile__close(uw->vdso);
	free(uw);
}

const char *unwind_end__name(enum unwind_end end)
{
	static const char *const names[UNWIND_END_MAX] = {
		[UNWIND_WHOLE] = "whole",
		[UNWIND_DEPTH] = "depth",
		[UNWIND_COPY] = "copy",
		[UNWIND_NO_CFI] = "no-unwind-information",
		[UNWIND_BAD_CFI] = "bad-unwind-information",
		[UNWIND_NO_CODE] = "no-code",
		[UNWIND_RETPROBE] = "return-probe",
		[UNWIND_LOST] = "lost",
	};

	return end < UNWIND_END_MAX ? names[end] : "unknown";
}
