/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Unwinding by files and stacks that belong to a hostile process: the first 8 bytes are
 * an address, the next ones registers and stack, and the file follows.  What the file says
 * of the address is worked out on that stack; then a walk begins from it, in this
 * very process, by files that are sound.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cfi.h"
#include "dwexpr.h"
#include "symbols.h"
#include "unwind.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define STACK_LEN 256

static struct acl_dump *dump;
static struct unwinder *uw;
static struct cfi_row row;

static int read_any(void *arg, uint64_t addr, void *buf, size_t n)
{
	if (n < 1 || n > 8)
		abort();
	memcpy(buf, (const uint8_t *)arg + addr % (STACK_LEN - 8), n);
	return 0;
}

static void try_rule(const struct cfi_rule *rule, const struct dwexpr_machine *m)
{
	uint64_t first = 8, val;

	if (rule->how == CFI_IS_EXPRESSION || rule->how == CFI_AT_EXPRESSION)
		dwexpr__eval(rule->expr, rule->len, m, &first, &val);
}

static void try_file(const uint8_t *data, size_t size, uint64_t addr)
{
	uint64_t regs[64];
	const struct dwexpr_machine m = {
		.regs = regs,
		.known = addr | 0xff,
		.read = read_any,
		.arg = dump->stack,
	};
	struct elffile *ef;

	memcpy(regs, dump->stack, sizeof(regs) < STACK_LEN ? sizeof(regs) : STACK_LEN);
	if (elffile__open_mem(data, size, &ef))
		return;
	if (!cfi__find(ef, addr, &row)) {
		if (addr < row.start || addr >= row.end || row.ra >= CFI_REGS)
			abort();
		try_rule(&row.rules.cfa, &m);
		for (int i = 0; i < CFI_REGS; i++)
			try_rule(&row.rules.reg[i], &m);
	}
	elffile__close(ef);
}

/* Return addresses on the stack lead into our own code and libc's. */
static void try_walk(uint64_t addr)
{
	struct unwind out;
	uint64_t word;

	memcpy(dump->words, dump->stack, sizeof(dump->words));
	dump->words[ACL_DUMP_SP] = 0x7f0000000000 + addr % ACL_DUMP_PIECE;
	for (size_t i = 0; i + 16 <= STACK_LEN; i += 16) {
		memcpy(&word, dump->stack + i, sizeof(word));
		word = (i % 32 ? (uint64_t)&LLVMFuzzerTestOneInput : (uint64_t)&qsort) +
		       word % 4096;
		memcpy(dump->stack + i, &word, sizeof(word));
		word = dump->words[ACL_DUMP_SP] + dump->stack[i + 8];
		memcpy(dump->stack + i + 8, &word, sizeof(word));
	}
	dump->words[ACL_DUMP_PC] = (uint64_t)&qsort + addr % 4096;
	unwinder__walk(uw, dump, addr & 1, ACL_STACK_MAX, &out);
	if (!out.n || out.n > ACL_STACK_MAX || out.end >= UNWIND_END_MAX)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint64_t addr;

	if (!dump) {
		dump = calloc(1, sizeof(*dump) + ACL_DUMP_PIECE);
		uw = unwinder__new(symbolizer__new(0));
		dump->h.tgid = (uint32_t)getpid();
		dump->pieces = 1;
	}
	if (size < sizeof(addr) + STACK_LEN)
		return 0;
	memcpy(&addr, data, sizeof(addr));
	for (size_t i = 0; i < ACL_DUMP_PIECE; i += STACK_LEN)
		memcpy(dump->stack + i, data + sizeof(addr), STACK_LEN);
	try_file(data + sizeof(addr) + STACK_LEN, size - sizeof(addr) - STACK_LEN, addr);
	if (addr & 2) /* slow: it often asks /proc again */
		try_walk(addr);
	return 0;
}
