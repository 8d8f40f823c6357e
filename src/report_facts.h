/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * What the text and the JSON report both have to say of a violation.
 */
#ifndef ACLGUARD_REPORT_FACTS_H
#define ACLGUARD_REPORT_FACTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "records.h"

#define REPORT_REMEDY_MAX 512 /* bytes that hold every remedy */
#define REPORT_HANDLE_MAX 64  /* bytes that hold a handle in words */
#define REPORT_SPAN_MAX 32

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

/* Whether the judged call is one that gives memory back. */
bool report__is_release(const struct acl_violation *v);

/* A signed time for people: "-35.2 us", "1.204 s". */
const char *report__span(char buf[REPORT_SPAN_MAX], int64_t ns);

/* "0x...", or "NULL" */
const char *report__hex(char buf[REPORT_HANDLE_MAX], uint64_t val);

#endif /* ACLGUARD_REPORT_FACTS_H */
