/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * What this kernel and our privileges allow, found by trying.  No version is
 * ever compared: distributions carry features back, and policies take them
 * away.
 */
#ifndef ACLGUARD_KERNEL_H
#define ACLGUARD_KERNEL_H

#include <stdbool.h>

/* BPF_TRACE_UPROBE_MULTI and _SESSION of linux/bpf.h; Debian 12's header is older. */
#define KERNEL_UPROBE_MULTI 48
#define KERNEL_UPROBE_SESSION 57

struct kernel {
	bool uprobe_multi; /* one link for many places, told apart by a cookie */
	bool uprobe_perf;  /* the perf_event kind of uprobe is there */
	bool seccomp_risk; /* a return probe kills who runs under a seccomp filter */
};

/*
 * Finds out.  Returns 0, or an exit status after having said what is missing
 * and what to do.
 */
int kernel__probe(struct kernel *f);

/*
 * Why the kernel refuses an operation with `err` (positive errno) although
 * kernel__probe() found it allowed: says so, returns the exit status.
 */
int kernel__explain(const char *what, int err);

#endif /* ACLGUARD_KERNEL_H */
