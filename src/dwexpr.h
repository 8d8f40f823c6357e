/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * DWARF expressions as they occur in call frame information: a little stack machine on
 * registers and memory.  Bounded in steps and in depth, for an expression can loop.
 */
#ifndef ACLGUARD_DWEXPR_H
#define ACLGUARD_DWEXPR_H

#include <stddef.h>
#include <stdint.h>

#define DWEXPR_STEPS_MAX 512
#define DWEXPR_DEPTH_MAX 32

struct dwexpr_machine {
	const uint64_t *regs; /* by DWARF's numbers */
	uint64_t known;	      /* mask of those that have a value */
	/* n bytes of the thread's memory (1 to 8), or -errno */
	int (*read)(void *arg, uint64_t addr, void *buf, size_t n);
	void *arg;
};

/*
 * The value of an expression.  *first is what is on the stack when it begins, NULL:
 * nothing.  -EINVAL: it makes no sense, or uses what frames have no need of;
 * -ENODATA: it needs a register that is not known; or what `read` returned.
 */
int dwexpr__eval(const uint8_t *expr, size_t len, const struct dwexpr_machine *m,
		 const uint64_t *first, uint64_t *val);

#endif /* ACLGUARD_DWEXPR_H */
