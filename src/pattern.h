/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Patterns for names that a traced process chose.  `*` stands for any bytes, `?`
 * for any one; all else is itself.  The time to match is bounded by the product
 * of both lengths whatever they hold, and by what the caller grants.
 */
#ifndef ACLGUARD_PATTERN_H
#define ACLGUARD_PATTERN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PATTERN_MAX 1024	/* units of a pattern, once its escapes are undone */
#define PATTERN_NAME_MAX 4096UL /* bytes of a name that are looked at */

struct pattern;

/*
 * As written: what escape__text() makes of a byte or a character (\xNN, \u{N}, \\)
 * is that byte or character, and \ before any other sign takes its meaning away
 * (\*, \?).  Returns 0, -EINVAL where an escape is wrong or it is empty, -E2BIG, -ENOMEM.
 */
int pattern__new(const char *text, size_t len, struct pattern **out);
void pattern__free(struct pattern *p); /* NULL is allowed */

/* Whether it is a mere star. */
bool pattern__is_any(const struct pattern *p);

/*
 * 1: it matches, 0: it does not, -EBUSY: *steps ran out.  Each comparison takes one
 * of *steps.
 */
int pattern__match(const struct pattern *p, const char *name, size_t len, uint64_t *steps);

/*
 * The pattern that matches just this name, or, where that would be too long, what
 * begins as it does.  At most PATTERN_TEXT_MAX bytes with the NUL, one line.
 */
#define PATTERN_TEXT_MAX (PATTERN_MAX * 4 + 2)
size_t pattern__of(char *buf, size_t n, const char *name, size_t len);

#endif /* ACLGUARD_PATTERN_H */
