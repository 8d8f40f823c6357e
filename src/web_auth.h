/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Basic authentication of HTTP against the bcrypt hashes of the web configuration.
 *
 * A hash takes some 50 ms or more to check on purpose, so that is done by a thread of its
 * own, one at a time: whoever tries passwords costs one CPU at most, and does not keep
 * those waiting whose password was right before; those are remembered, as a digest, for
 * up to WEB_AUTH_REMEMBERED pairs.  A name that is not known costs as much as a wrong
 * password.
 *
 * All functions are for one thread, the web server's.
 */
#ifndef ACLGUARD_WEB_AUTH_H
#define ACLGUARD_WEB_AUTH_H

#include <stdbool.h>
#include <stddef.h>

#include "web_config.h"

#define WEB_AUTH_REMEMBERED 32
#define WEB_AUTH_WAITING 16 /* checks that may be due at a time */

struct web_auth;

enum web_auth_answer {
	WEB_AUTH_NO,
	WEB_AUTH_YES,
	WEB_AUTH_LATER, /* web_auth__next() will tell */
	WEB_AUTH_BUSY,	/* too many checks are due: ask again in a while */
};

struct web_auth *web_auth__new(void); /* NULL if there is no memory */
/* Waits for the check that is under way; the others are given up.  NULL is allowed. */
void web_auth__free(struct web_auth *a);

/*
 * Whether the value of a header Authorization, NULL for none, is right for c's users.  With
 * WEB_AUTH_LATER the answer comes with `cookie`, exactly once; c may change until then.
 */
enum web_auth_answer web_auth__check(struct web_auth *a, const struct web_config *c,
				     const char *header, void *cookie);

/* Readable when there are answers. */
int web_auth__fd(const struct web_auth *a);
/* The next answer, if there is one; those are taken until there is none. */
bool web_auth__next(struct web_auth *a, void **cookie, bool *ok);

#endif /* ACLGUARD_WEB_AUTH_H */
