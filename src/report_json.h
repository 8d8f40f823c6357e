/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * A violation and its follow-ups as JSON, one object a line.  Every key is always
 * there; null where nothing is known.  Addresses and handles are strings "0x...",
 * times are microseconds unless the key says otherwise.
 */
#ifndef ACLGUARD_REPORT_JSON_H
#define ACLGUARD_REPORT_JSON_H

#include <sys/types.h>

#include "story.h"

struct backtrace;
struct sym_result;

/* A code address and what is known of it; `key` is NULL in an array. */
void report_json__frame(struct json *j, const char *key, const struct sym_result *res);
/* The same in an array, after one frame for each function that was compiled into it there. */
void report_json__frames(struct json *j, const struct sym_result *res);

/* What is known of a process beyond its number: ns_pid and container. */
void report_json__place(struct json *j, struct procs *procs, pid_t pid);

/* Member "time": monotonic time as RFC 3339, UTC, with microseconds. */
void report_json__time(struct json *j, const struct report_cfg *cfg, uint64_t mono);

/* `site` is an id, NULL: not known.  *printed is the time right after the write.  Returns 0 or -errno from writing. */
int report_json__violation(const struct report_cfg *cfg, uint64_t nr, const struct acl_violation *v,
			   struct backtrace *bt, const char *site, uint64_t *printed);
int report_json__followup(const struct report_cfg *cfg, const struct story *s, enum followup why);

#endif /* ACLGUARD_REPORT_JSON_H */
