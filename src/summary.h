/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The end of a watch in a few lines: what was found, what was seen, and what
 * was not.
 */
#ifndef ACLGUARD_SUMMARY_H
#define ACLGUARD_SUMMARY_H

#include <stdbool.h>

#include "story.h"

struct enforce_counts;

struct summary_library {
	const char *path;	/* as found; escaped when printed */
	const char *how;	/* how it was attached: "uprobe_multi", "perf" ...; NULL: unknown */
	unsigned int functions; /* traced functions that it defines */
};

struct summary_objects {
	uint64_t made;
	uint64_t gone; /* alive at the end: made - gone */
};

/* Zero is a valid value of every member. */
struct summary {
	uint64_t duration_ns;
	uint64_t processes;		   /* incarnations that called the runtime */
	uint64_t late;			   /* of those, how many ran before their probes were in */
	struct acl_calls calls[ACL_C_MAX]; /* summed over CPUs */
	uint64_t losses[ACL_L_MAX];
	/* Violations as the kernel has counted them; of them, those that a filter does not want. */
	uint64_t made[ACL_RULE_MAX], unwanted[ACL_RULE_MAX];
	uint64_t late_attaches;	  /* libraries that were probed after a process had mapped them, */
	uint64_t late_gap;	  /* and how long after, at most, in ns */
	uint64_t lost_mappings;	  /* records of mappings that the kernel dropped */
	uint64_t unlooked;	  /* times that what a process had loaded could not be looked at */
	bool incomplete;	  /* replay: the recording lacks something; already said */
	uint64_t unknown_records; /* of a ring, of a type that user space does not know */
	struct summary_objects bufs, bytes, events, streams;
	const struct summary_library *libs;
	size_t n_libs;
	const struct story_counts *counts;     /* NULL: none */
	const struct enforce_counts *enforced; /* NULL: nothing was to be done */
};

/* The last numbers of an incarnation. */
void summary__add(struct summary *s, const struct acl_proc *p);

/* Returns 0, or -errno from writing. */
int summary__print(const struct report_cfg *cfg, const struct summary *s);

#endif /* ACLGUARD_SUMMARY_H */
