/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * What a uprobe on the first instruction of a function costs: the kernel
 * emulates some instructions in the trap, and single-steps all others out of
 * line, which takes about four times as long.
 */
#ifndef ACLGUARD_PROLOGUE_H
#define ACLGUARD_PROLOGUE_H

#include <stddef.h>
#include <stdint.h>

#define PROLOGUE_BYTES 16 /* enough to tell */

/* PROLOGUE(id, JSON key, words) */
#define PROLOGUES(PROLOGUE)                                                              \
	PROLOGUE(EMULATED, "emulated", "emulated by the kernel")                         \
	PROLOGUE(NOP, "nop", "a nop, which newer kernels make cheaper still")            \
	PROLOGUE(LANDING, "landing_pad",                                                 \
		 "a landing pad (endbr64, bti) before an emulated one, single-stepped")  \
	PROLOGUE(STEPPED, "single_stepped", "single-stepped, about four times the cost") \
	PROLOGUE(UNKNOWN, "unknown", "not readable")

enum prologue {
#define PROLOGUE_ENUM(id, key, words) PROLOGUE_##id,
	PROLOGUES(PROLOGUE_ENUM)
#undef PROLOGUE_ENUM
		PROLOGUE_MAX,
};

/* Of code for this e_machine; what is too short to tell, or of another machine, is UNKNOWN. */
enum prologue prologue__classify(uint16_t machine, const uint8_t *code, size_t n);

#endif /* ACLGUARD_PROLOGUE_H */
