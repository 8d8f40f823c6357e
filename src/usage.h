/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Refusing a command line: as argp_error(3), with what it may quote of it made harmless. */
#ifndef ACLGUARD_USAGE_H
#define ACLGUARD_USAGE_H

struct argp_state;

/* Does not return. */
void usage__error(struct argp_state *state, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

#endif /* ACLGUARD_USAGE_H */
