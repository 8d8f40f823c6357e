/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The BPF side as a whole: opened, told what is asked for, loaded, and
 * following processes.  Files are probed by probes.c.
 */
#ifndef ACLGUARD_LOAD_H
#define ACLGUARD_LOAD_H

#include <stdint.h>

struct aclguard_bpf;
struct bpf_link;
struct kernel;
struct options;

/* Zero is closed. */
struct load {
	struct aclguard_bpf *skel;
	struct bpf_link *links[3]; /* to what processes do: exec, fork, exit */
};

/*
 * `suppressible`: mask of ACL_RULE_BIT() for which there is a suppression, so that who
 * acts upon a violation has to ask first.
 * Returns 0, or an exit status after having said why not.  In either case
 * load__close() it.
 */
int load__open(const struct options *opts, uint32_t suppressible, const struct kernel *k,
	       struct load *ld);
void load__close(struct load *ld);

#endif /* ACLGUARD_LOAD_H */
