/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * A violation and its follow-ups as text for a terminal or a log, and the words
 * and frames that the text and the JSON report share.
 */
#ifndef ACLGUARD_REPORT_TEXT_H
#define ACLGUARD_REPORT_TEXT_H

#include "story.h"

#define REPORT_FRAMES_MAX (ACL_STACK_MAX + 2)
#define REPORT_REMEDY_MAX 512 /* bytes that hold every remedy */

struct report_frames {
	uint64_t addr[REPORT_FRAMES_MAX];
	unsigned int n;
	bool at_return; /* frame 0 is a return address, too: the call was over */
	int err;	/* -errno of the kernel's walk; what is known without it is in addr */
};

/*
 * The stack of the judged call.  At a function's first instruction the kernel's
 * walk lacks the caller, so the return address is put in where it is missing.
 */
void report__frames(const struct acl_violation *v, struct report_frames *fr);

/* What to do about it, naming the handles.  Plain text without a newline. */
void report__remedy(const struct acl_violation *v, char *buf, size_t n);

/* Handle of the event that the violation is about; 0: none. */
uint64_t report__event(const struct acl_violation *v);

/* CLOCK_MONOTONIC in ns. */
uint64_t report__now(void);

/*
 * Headline and history go out in one write, before the stack is looked at;
 * *printed is the time right after it.  Returns 0 or -errno from writing.
 */
int report_text__violation(const struct report_cfg *cfg, uint64_t nr, const struct acl_violation *v,
			   uint64_t *printed);
int report_text__followup(const struct report_cfg *cfg, const struct story *s, enum followup why);
/* The events of n stories that were followed up before were never destroyed. */
int report_text__never_destroyed(const struct report_cfg *cfg, uint32_t tgid, const uint64_t *nrs,
				 size_t n, enum followup why);

#endif /* ACLGUARD_REPORT_TEXT_H */
