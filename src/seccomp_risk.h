/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Return probes and seccomp on x86-64.  Since 6.11 the kernel returns from a
 * probed function by a system call of its own, uretprobe.  Until the fix of
 * early 2025 it showed that call to the seccomp filters of the process, and a
 * filter that does not know it kills the process, or makes the call fail,
 * which sends the process to a wild address.
 */
#ifndef ACLGUARD_SECCOMP_RISK_H
#define ACLGUARD_SECCOMP_RISK_H

#include <stdbool.h>

#include "procstatus.h"

/* Of the kernel that runs. */
enum seccomp_kernel {
	SECCOMP_KERNEL_UNKNOWN, /* it could not be tried */
	SECCOMP_KERNEL_NO_CALL, /* returns from probed functions without a system call */
	SECCOMP_KERNEL_PASSES,	/* has the call, and shows it to no filter */
	SECCOMP_KERNEL_FILTERS, /* has the call, and filters decide on it */
};

enum seccomp_risk {
	SECCOMP_RISK_NONE,    /* no filter, or a kernel on which it makes no difference */
	SECCOMP_RISK_UNKNOWN, /* a filter, and a kernel that could not be tried */
	SECCOMP_RISK_KILL,    /* a return probe may kill the process */
};

enum seccomp_risk seccomp__risk(enum seccomp_mode mode, enum seccomp_kernel kernel);

/*
 * Finds out without a probe: a child of ours makes the system call from a
 * place where the kernel does not take it, once without a filter and once with
 * one, and the way in which it is refused tells who refused it.  Needs no
 * privileges.
 */
enum seccomp_kernel seccomp__try_call(void);

/*
 * From now on this process may end itself with exit_group, and anything else
 * kills it.  Returns 0 or -errno.
 */
int seccomp__seal(void);

const char *seccomp_mode__name(enum seccomp_mode mode);	      /* "none", ... */
const char *seccomp_kernel__name(enum seccomp_kernel kernel); /* JSON keys */
const char *seccomp_risk__name(enum seccomp_risk risk);

#endif /* ACLGUARD_SECCOMP_RISK_H */
