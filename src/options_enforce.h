/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The options of enforcement: what is to be done about which rule, and the socket by
 * which it is switched off and on again.
 */
#ifndef ACLGUARD_OPTIONS_ENFORCE_H
#define ACLGUARD_OPTIONS_ENFORCE_H

#include <stdbool.h>
#include <stdint.h>

#include "enforce.h"

#define ENFORCE_LIMIT_DEFAULT 10
#define ENFORCE_LIMIT_MAX 1000

struct argp;

struct enforce_options {
	bool on;		    /* there is a rule with a signal */
	struct acl_enforce_cfg cfg; /* `ask` and `confirm` come later */
	bool all;		    /* --enforce-all */
	uint32_t named;		    /* mask of ACL_RULE_BIT() */
	const char *needs;	    /* an option that does nothing by itself; NULL: none */
	const char *control;	    /* path of a socket; NULL: none */
};

void options_enforce__init(struct enforce_options *e);

/* Children of the parsers of commands; the input is a struct options. */
extern const struct argp options_enforce_argp;
/* For a command that has nothing to act on: refuses them, and says why. */
extern const struct argp options_enforce_refusal_argp;

/* The number of a signal by its name or number, as in kill(1); -1: there is none. */
int options_enforce__signal(const char *name);

#endif /* ACLGUARD_OPTIONS_ENFORCE_H */
