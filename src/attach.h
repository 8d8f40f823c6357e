/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Putting the probes into one file, and taking them out.  By uprobe_multi a
 * library needs two links: one for all entries, which a cookie tells apart, and
 * one for all returns.  Without it, each function needs one or two of its own.
 */
#ifndef ACLGUARD_ATTACH_H
#define ACLGUARD_ATTACH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct aclguard_bpf;
struct bpf_link;
struct elffile_func;

enum attach_how {
	ATTACH_SINGLY,	/* a perf event a probe */
	ATTACH_MULTI,	/* uprobe_multi */
	ATTACH_ENTRIES, /* the same without returns, see deferred_entry() in aclguard.bpf.c */
};

/* Links that belong together.  Zero-initialise. */
struct attached {
	struct bpf_link **links;
	size_t n;
};

/*
 * Probes the calls of the table that were found in the file; `f` has ACL_C_MAX
 * entries in the order of enum acl_call.  Returns 0, or -errno with nothing left
 * attached.  `pid`: in that process only; -1: in all.
 */
int attach__runtime(struct aclguard_bpf *skel, enum attach_how how, pid_t pid, const char *path,
		    const struct elffile_func *f, struct attached *out);
/* The hook of a dynamic loader, at an offset in the file. */
int attach__loader(struct aclguard_bpf *skel, enum attach_how how, const char *path,
		   uint64_t offset, struct attached *out);

/* As reports name it. */
const char *attach__name(enum attach_how how);

/* Whether a function can be probed: a chooser of functions runs once, and not as the call. */
bool attach__is_usable(const struct elffile_func *f);

/* Takes out; many at once, since the kernel waits tens of milliseconds for each. */
void attach__detach(struct attached *a);
/* Appends what `from` has, and leaves it empty.  Returns 0 or -ENOMEM. */
int attach__join(struct attached *to, struct attached *from);

#endif /* ACLGUARD_ATTACH_H */
