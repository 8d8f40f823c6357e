/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * TLS as the web configuration asks for it, by GnuTLS.  Each connection is served with
 * what was configured when it began; so the objects are counted, and the last one who
 * lets go of one frees it.  Not for several threads at a time.
 */
#ifndef ACLGUARD_WEB_TLS_H
#define ACLGUARD_WEB_TLS_H

#include <stddef.h>

#include <gnutls/gnutls.h>

#include "web_config.h"

struct web_tls;

/*
 * Makes it from the certificates and settings of c, which is not needed afterwards.
 * `path` is the name of the configuration, for messages.  Returns 0 or -errno with the
 * reason in why.
 */
int web_tls__new(const struct web_config *c, const char *path, struct web_tls **out,
		 char why[WEB_CONFIG_WHY]);
struct web_tls *web_tls__get(struct web_tls *t); /* one more user */
void web_tls__put(struct web_tls *t);		 /* NULL is allowed */

/*
 * Lets a session that has not begun be one of these; they outlive it.  Returns 0 or
 * -EINVAL, and the session must not be used then.
 */
int web_tls__apply(struct web_tls *t, gnutls_session_t session);

/*
 * The priority string of GnuTLS for the versions, cipher suites and curves of c.  Returns 0
 * or -EINVAL with the reason: a name that GnuTLS has nothing for, or a set of suites that
 * its way of choosing them cannot express.
 */
int web_tls__priority(const struct web_config *c, const char *path, char *out, size_t size,
		      char why[WEB_CONFIG_WHY]);

#endif /* ACLGUARD_WEB_TLS_H */
