/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The stack of a thread from a copy of its registers and of the upper part of its stack,
 * by what the files say of their frames (.eh_frame): exact where code has no frame
 * pointers.  Where nothing is said of code, as of what is generated at run time, the
 * frame pointer is tried for that step.
 *
 * The memory is that of the moment of the copy, and nothing else is read of the process:
 * the thread goes on meanwhile.  So it works, too, when the process is gone, as far as
 * its files are known (see symbols.h).  What follows from a copy that may hold anything,
 * and from files that may say anything, is bounded.
 */
#ifndef ACLGUARD_UNWIND_H
#define ACLGUARD_UNWIND_H

#include <stdbool.h>
#include <stdint.h>

#include "records.h"

/* Why a stack is not longer. */
enum unwind_end {
	UNWIND_WHOLE,	 /* it ends here */
	UNWIND_DEPTH,	 /* as many frames as were asked for */
	UNWIND_COPY,	 /* the copy of the stack ends here */
	UNWIND_NO_CFI,	 /* the module says nothing of its frames, and has no frame pointer */
	UNWIND_BAD_CFI,	 /* what it says makes no sense */
	UNWIND_NO_CODE,	 /* an address at which nothing is mapped */
	UNWIND_RETPROBE, /* a return probe has put itself in place of the caller */
	UNWIND_LOST, /* the copy itself: it was sent, and did not arrive, or found its ring full */
	UNWIND_END_MAX,
};

struct unwind {
	unsigned int n;
	uint64_t addr[ACL_STACK_MAX +
		      2]; /* innermost first; all but the first are return addresses */
	enum unwind_end end;
	uint64_t end_addr; /* that of the frame at which it ended */
};

/* Registers by the numbers that DWARF gives them: their places in acl_dump.words. */
#if defined(__aarch64__)
#define UNWIND_REGS 32 /* x0 to x30, sp */
#define UNWIND_SP 31
#else
#define UNWIND_REGS 16 /* rax rdx rcx rbx rsi rdi rbp rsp r8 to r15 */
#define UNWIND_SP 7
#endif
extern const uint8_t unwind_words[UNWIND_REGS];

struct symbolizer;
struct unwinder;

/* The symbolizer knows the files; it must outlive the unwinder.  NULL if there is no memory. */
struct unwinder *unwinder__new(struct symbolizer *sym);
void unwinder__free(struct unwinder *uw); /* NULL is allowed */

/*
 * At most max frames.  at_return: the thread has just returned to d->pc; otherwise it
 * is at the first instruction of a function.
 */
void unwinder__walk(struct unwinder *uw, const struct acl_dump *d, bool at_return, unsigned int max,
		    struct unwind *out);

/* For programs: "no-unwind-information". */
const char *unwind_end__name(enum unwind_end end);

#endif /* ACLGUARD_UNWIND_H */
