/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * A violation and its follow-ups as text for a terminal or a log.
 */
#ifndef ACLGUARD_REPORT_TEXT_H
#define ACLGUARD_REPORT_TEXT_H

#include "report_facts.h"
#include "report_out.h"
#include "story.h"

struct backtrace;

/*
 * Headline and history go out in one write, before the names in the stack are looked
 * up; *printed is the time right after it.  `site` is an id, NULL: not known.  Returns
 * 0 or -errno from writing.
 */
int report_text__violation(const struct report_cfg *cfg, uint64_t nr, const struct acl_violation *v,
			   struct backtrace *bt, const char *site, uint64_t *printed);
int report_text__followup(const struct report_cfg *cfg, const struct story *s, enum followup why);
/* The events of n stories that were followed up before were never destroyed. */
int report_text__never_destroyed(const struct report_cfg *cfg, uint32_t tgid, const uint64_t *nrs,
				 size_t n, enum followup why);

#endif /* ACLGUARD_REPORT_TEXT_H */
