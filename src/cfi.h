/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Call frame information (.eh_frame): for an address of the code of a file, where the
 * caller's registers are.  One row of the table is worked out at a time, from the few
 * bytes of the file that describe its function; nothing is kept.
 *
 * libdw has a reader of the same, which takes the file at its word: a register number
 * in .eh_frame is the size of what it allocates, so that 140 bytes of a hostile
 * file cost it 2 GiB and seconds, and it has the whole section in memory.  The rows that
 * both find are compared in tests/unit/test_cfi.c.
 *
 * Errors as in elffile.h; -ENOENT: nothing is said of the address.
 */
#ifndef ACLGUARD_CFI_H
#define ACLGUARD_CFI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "elffile.h"

#define CFI_REGS 33		     /* by DWARF's numbers; others (vectors) are left out */
#define CFI_CIE_MAX 1024	     /* bytes; the largest one seen has 28 */
#define CFI_FDE_MAX (128 << 10)	     /* 20,064 */
#define CFI_SECTION_MAX (16UL << 20) /* of a file without a table to search in */
#define CFI_NEST_MAX 16		     /* states remembered */

enum cfi_how {
	CFI_UNSPECIFIED, /* as the machine's calling convention has it */
	CFI_UNDEFINED,	 /* lost; of the return address: there is no caller */
	CFI_SAME,
	CFI_AT,		    /* saved at CFA + n */
	CFI_IS,		    /* its value is CFA + n */
	CFI_REGISTER,	    /* in register n */
	CFI_AT_EXPRESSION,  /* saved at what the expression gives */
	CFI_IS_EXPRESSION,  /* its value is what the expression gives */
	CFI_REGISTER_PLUS_N /* the CFA only: register + n */
};

struct cfi_rule {
	uint8_t how;
	uint16_t reg;
	uint32_t len; /* of the expression, in bytes */
	int64_t n;
	const uint8_t *expr; /* in the row */
};

struct cfi_rules {
	struct cfi_rule cfa;
	struct cfi_rule reg[CFI_REGS];
	bool ra_signed; /* arm64: the return address carries a signature */
};

/* Large: not for the stack. */
struct cfi_row {
	uint64_t start, end; /* of the function (or part of one), as linked */
	bool signal;	     /* it is what a signal handler returns to */
	unsigned int ra;     /* number of the register that stands for the return address */
	struct cfi_rules rules;
	/* private */
	struct cfi_rules initial, remembered[CFI_NEST_MAX];
	uint8_t cie[CFI_CIE_MAX], fde[CFI_FDE_MAX];
};

int cfi__find(struct elffile *ef, uint64_t addr, struct cfi_row *row);

#endif /* ACLGUARD_CFI_H */
