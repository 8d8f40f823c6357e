/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The newest violations as JSON, for who asks by the web.  One thread puts them in,
 * any other may read.  At most `max` of them, and RECENT_BYTES_MAX bytes in all.
 */
#ifndef ACLGUARD_RECENT_H
#define ACLGUARD_RECENT_H

#include <stddef.h>
#include <stdint.h>

#include "textbuf.h"

#define RECENT_DEFAULT 100
#define RECENT_BYTES_MAX (2U << 20)

struct recent;

/* NULL if there is no memory. */
struct recent *recent__new(size_t max);
void recent__free(struct recent *r); /* NULL is allowed */

/* A violation, numbered upwards, and what came after it: an object each, in one line. */
void recent__violation(struct recent *r, uint64_t nr, const char *json, size_t len);
void recent__followup(struct recent *r, uint64_t nr, const char *json, size_t len);

/* At most `n` of them, the newest first, each with "followup": an object or null. */
void recent__render(struct recent *r, size_t n, struct textbuf *out);

#endif /* ACLGUARD_RECENT_H */
