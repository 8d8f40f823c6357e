/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * A stack: its addresses, and what they are called where somebody asks.  The text
 * and the JSON report, sites and suppressions all see the same one, and each name
 * is looked up once.
 *
 *	backtrace__take(cfg, v, &bt);	cheap, unless the stack is to be unwound
 *	...				the headline goes out
 *	backtrace__name(cfg, pid, &bt);	as often as wanted, does it once
 *	backtrace__clear(&bt);		always, also where it was never named
 */
#ifndef ACLGUARD_BACKTRACE_H
#define ACLGUARD_BACKTRACE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "records.h"
#include "symbols.h"
#include "unwind.h"

/* The instruction and the return address may come on top of what was walked. */
#define BACKTRACE_MAX (ACL_STACK_MAX + 2)

struct report_cfg;

struct backtrace_frame {
	uint64_t addr;
	bool is_return;	       /* the call is one byte before */
	struct sym_result sym; /* kind SYM_UNKNOWN before it is looked up */
};

struct backtrace {
	unsigned int n;
	bool at_return; /* frame 0 is a return address, too: the call was over */
	bool named;
	int err;	     /* -errno of the kernel's walk; what is known without it is in f */
	bool unwound;	     /* in user space; otherwise by frame pointers, in the kernel */
	enum unwind_end end; /* of one that was to be unwound: why it is not longer */
	char *end_module;    /* the file that it ended at, raw; NULL: none, or not known */
	struct backtrace_frame f[BACKTRACE_MAX]; /* innermost first; only n of them are set */
};

/*
 * The stack of the judged call.  At a function's first instruction the kernel's
 * walk lacks the caller, so the return address is put in where it is missing.
 */
void backtrace__take(const struct report_cfg *cfg, const struct acl_violation *v,
		     struct backtrace *bt);

/* For people, why a stack that was to be unwound is not longer; NULL where it is whole. */
const char *backtrace__end_words(const struct backtrace *bt);

/* A stack that was kept when its call returned (see stacks.h); empty if it was not. */
void backtrace__kept(const struct report_cfg *cfg, uint32_t nr, struct backtrace *bt);

/* Only the modules and offsets of the first n frames, which is quick. */
void backtrace__place(const struct report_cfg *cfg, pid_t pid, struct backtrace *bt,
		      unsigned int n);
/* Without a symbolizer (NULL), or memory for it, the addresses are still worth having. */
void backtrace__name(const struct report_cfg *cfg, pid_t pid, struct backtrace *bt);

/* Releases the names, and leaves it empty. */
void backtrace__clear(struct backtrace *bt);

/* Whether a verdict of this rule fell when the call was over. */
bool backtrace__is_at_return(unsigned int rule);

#endif /* ACLGUARD_BACKTRACE_H */
