/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Text on its way to a FILE, so that what belongs together is one write.
 */
#ifndef ACLGUARD_REPORT_OUT_H
#define ACLGUARD_REPORT_OUT_H

#include <stddef.h>
#include <stdio.h>

/* Goes out when full and at report_out__flush(), which returns the first error. */
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
/* Returns 0 or -errno. */
int report_out__flush(struct report_out *o);

#endif /* ACLGUARD_REPORT_OUT_H */
