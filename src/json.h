/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * A writer of JSON lines: one object a line, each line written at once.
 *
 *	json__begin(j);
 *	json__str(j, "rule", "free-before-destroy");
 *	json__hex(j, "addr", addr);
 *	json__begin_array(j, "stack");
 *	json__begin_object(j, NULL);
 *	json__strn(j, "function", name, len);
 *	json__end_object(j);
 *	json__end_array(j);
 *	err = json__end(j);
 *
 * The line is composed in memory and handed to the kernel in one write, so that
 * lines of several writers to one pipe or append-only file do not mix (as far
 * as the kernel takes it whole).
 *
 * In an object each value has a key, in an array the key is NULL.  Keys are the
 * program's own and plain; values may hold any bytes and give valid JSON.
 * A value out of place is a mistake in the program: an assertion, and with
 * NDEBUG the line is dropped and json__end() returns -EINVAL.
 *
 * Errors are kept until json__end(), which reports the first one of the line.
 */
#ifndef ACLGUARD_JSON_H
#define ACLGUARD_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define JSON_DEPTH_MAX 32 /* levels of nesting, the line's object included */

struct json;

/* out remains the caller's and must outlive the writer.  NULL if there is no memory. */
struct json *json__new(FILE *out);
void json__free(struct json *j); /* drops an unfinished line; NULL is allowed */

/* Begin the object that is the line. */
void json__begin(struct json *j);
/*
 * End it and write it.  Returns 0 or -errno: -ENOMEM, -EINVAL (nothing was
 * written), or what the write gave.  After a partial write the next line
 * begins on a line of its own.
 */
int json__end(struct json *j);

void json__begin_object(struct json *j, const char *key);
void json__end_object(struct json *j);
void json__begin_array(struct json *j, const char *key);
void json__end_array(struct json *j);

/* Hostile bytes; see escape__json().  NULL gives null. */
void json__str(struct json *j, const char *key, const char *val);
void json__strn(struct json *j, const char *key, const void *val, size_t len);

/* A number.  Readers that use doubles lose digits beyond 2^53: addresses go through json__hex(). */
void json__u64(struct json *j, const char *key, uint64_t val);
void json__s64(struct json *j, const char *key, int64_t val);
/* A string "0x..." */
void json__hex(struct json *j, const char *key, uint64_t val);
/* decimals: 0 ... 17; what is no finite number gives null.  The locale has no say. */
void json__double(struct json *j, const char *key, double val, unsigned int decimals);
void json__bool(struct json *j, const char *key, bool val);
void json__null(struct json *j, const char *key);

#endif /* ACLGUARD_JSON_H */
