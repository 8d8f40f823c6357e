/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Which instructions the kernel emulates: on x86-64 branches, calls, push of a
 * register and the one-byte nop (kernels since 4.17); on arm64 branches and
 * addresses relative to the program counter.
 */
#include "prologue.h"

#include <elf.h>
#include <stdbool.h>
#include <string.h>

static bool is_endbr(const uint8_t *code, size_t n)
{
	static const uint8_t endbr64[] = { 0xf3, 0x0f, 0x1e, 0xfa };

	return n >= sizeof(endbr64) && !memcmp(code, endbr64, sizeof(endbr64));
}

static enum prologue classify_x86(const uint8_t *code, size_t n)
{
	static const uint8_t nop5[] = { 0x0f, 0x1f, 0x44, 0x00, 0x00 };
	uint8_t second = n > 1 ? code[1] : 0;

	if (n >= sizeof(nop5) && !memcmp(code, nop5, sizeof(nop5)))
		return PROLOGUE_NOP;
	switch (code[0]) {
	case 0x50 ... 0x57: /* push */
	case 0x70 ... 0x7f: /* jcc, short */
	case 0x90:	    /* nop */
	case 0xe8:	    /* call */
	case 0xe9:	    /* jmp */
	case 0xeb:	    /* jmp, short */
		return PROLOGUE_EMULATED;
	case 0x41: /* push of r8 to r15 */
		return second >= 0x50 && second <= 0x57 ? PROLOGUE_EMULATED : PROLOGUE_STEPPED;
	case 0x0f: /* jcc */
		return second >= 0x80 && second <= 0x8f ? PROLOGUE_EMULATED : PROLOGUE_STEPPED;
	default:
		return PROLOGUE_STEPPED;
	}
}

static enum prologue classify_arm64(uint32_t insn)
{
	static const struct {
		uint32_t mask, value;
	} simulated[] = {
		{ 0x7c000000, 0x14000000 }, /* b, bl */
		{ 0xff000010, 0x54000000 }, /* b.cond */
		{ 0x7e000000, 0x34000000 }, /* cbz, cbnz */
		{ 0x7e000000, 0x36000000 }, /* tbz, tbnz */
		{ 0xffbffc1f, 0xd61f0000 }, /* br, ret */
		{ 0xfffffc1f, 0xd63f0000 }, /* blr */
		{ 0x1f000000, 0x10000000 }, /* adr, adrp */
		{ 0xbf000000, 0x18000000 }, /* ldr, literal */
		{ 0xff000000, 0x98000000 }, /* ldrsw, literal */
	};

	if (insn == 0xd503201f)
		return PROLOGUE_NOP;
	for (size_t i = 0; i < sizeof(simulated) / sizeof(simulated[0]); i++)
		if ((insn & simulated[i].mask) == simulated[i].value)
			return PROLOGUE_EMULATED;
	return PROLOGUE_STEPPED;
}

/* bti, bti c, bti j, bti jc */
static bool is_bti(uint32_t insn)
{
	return (insn & 0xffffff3f) == 0xd503241f;
}

static enum prologue classify_words(const uint8_t *code, size_t n)
{
	uint32_t first, second;
	enum prologue next;

	memcpy(&first, code, sizeof(first));
	if (!is_bti(first))
		return classify_arm64(first);
	if (n < 2 * sizeof(second))
		return PROLOGUE_STEPPED;
	memcpy(&second, code + sizeof(first), sizeof(second));
	next = classify_arm64(second);
	return next == PROLOGUE_STEPPED ? PROLOGUE_STEPPED : PROLOGUE_LANDING;
}

enum prologue prologue__classify(uint16_t machine, const uint8_t *code, size_t n)
{
	if (machine == EM_AARCH64 && n >= sizeof(uint32_t))
		return classify_words(code, n);
	if (machine != EM_X86_64 || n == 0)
		return PROLOGUE_UNKNOWN;
	if (!is_endbr(code, n))
		return classify_x86(code, n);
	if (n <= 4 || classify_x86(code + 4, n - 4) == PROLOGUE_STEPPED)
		return PROLOGUE_STEPPED;
	return PROLOGUE_LANDING;
}
