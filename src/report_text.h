/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * A violation and its follow-ups as text for a terminal or a log, and the words
 * that the text and the JSON report share.
 */
#ifndef ACLGUARD_REPORT_TEXT_H
#define ACLGUARD_REPORT_TEXT_H

#include "story.h"

#define REPORT_REMEDY_MAX 512 /* bytes that hold every remedy */

/*
 * Text on its way to a FILE, so that what belongs together is one write.  Goes
 * out when full and at report_out__flush(), which returns the first error.
 */
struct report_out {
	FILE *f;
	int err;
	size_t len;
	char buf[8192];
};

void report_out__init(struct report_out *o, FILE *f);
/* What is longer than the buffer is cut. */
__attribute__((format(printf, 2, 3))) void report_out__printf(struct report_out *o, const char *fmt,
							      ...);
int report_out__flush(struct report_out *o);

/* What to do about it, naming the handles.  Plain text without a newline. */
void report__remedy(const struct acl_violation *v, char *buf, size_t n);

/* Handle of the event that the violation is about; 0: none. */
uint64_t report__event(const struct acl_violation *v);

/* The buffer that it is about, alive or released before; *size 0: not known. */
void report__range(const struct acl_violation *v, uint64_t *base, uint64_t *size);

/* CLOCK_MONOTONIC in ns. */
uint64_t report__now(void);

/* Whether the stream query is what told that the copy is done. */
bool report__is_stream_query(const struct acl_violation *v);

/* A signed time for people: "-35.2 us", "1.204 s". */
#define REPORT_SPAN_MAX 32
const char *report__span(char buf[REPORT_SPAN_MAX], int64_t ns);

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
