/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The names of what rules.h and calls.h number, and of the runtime's error
 * codes: the one way from a number to the words of reports, JSON, metrics and
 * the command line, and back.
 *
 * A number out of range (a damaged recording, a newer kernel half) gives
 * "unknown", never a read out of bounds.  All strings are static and plain
 * ASCII; nothing here needs to be escaped.
 */
#ifndef ACLGUARD_NAMES_H
#define ACLGUARD_NAMES_H

#include <stdint.h>

#include "calls.h"
#include "rules.h"

const char *acl_call__name(unsigned int call);
/* The letters of calls.h that tell what the arguments are; "" if unknown. */
const char *acl_call__args(unsigned int call);
enum acl_role acl_call__role(unsigned int call);

const char *acl_rule__name(unsigned int rule);
const char *acl_rule__headline(unsigned int rule);

const char *acl_level__name(unsigned int level);       /* "note", "warning", "error" */
const char *acl_evidence__name(unsigned int evidence); /* "suspected", ... */
const char *acl_evidence__words(unsigned int evidence);
const char *acl_hazard__name(unsigned int hazard); /* "unknown", "mechanism", "documented" */
const char *acl_hazard__words(unsigned int hazard);
const char *acl_suspect__name(unsigned int suspect);
const char *acl_suspect__words(unsigned int suspect);
const char *acl_loss__name(unsigned int loss);
const char *acl_loss__words(unsigned int loss);

/* "host-to-device", "device-to-host"; "unknown" if the call did not tell. */
const char *acl_dir__name(unsigned int dir);

/* Of what a call of the runtime returned; NULL for a code that has no known name. */
const char *acl_error__name(int32_t code);
unsigned int acl_error__count(void); /* codes that have one */

/* The number of a name, exactly as written; -ENOENT if there is none such. */
int acl_call__find(const char *name);
int acl_rule__find(const char *name);
int acl_level__find(const char *name);

#endif /* ACLGUARD_NAMES_H */
