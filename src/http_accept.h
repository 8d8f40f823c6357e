/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * What a client would like to get: the headers Accept and Accept-Encoding of HTTP
 * (RFC 9110, 12.5), which name types or codings with weights.
 *
 * A part that is not as it should be counts as if it were not there.
 */
#ifndef ACLGUARD_HTTP_ACCEPT_H
#define ACLGUARD_HTTP_ACCEPT_H

#include <stdbool.h>
#include <stddef.h>

/*
 * The type that the client likes best, an index of types[], which has at least one and
 * ends in NULL; of those it likes equally, the first.  The first, too, where it
 * accepts none of them or accept is NULL: an answer of another type tells more than none.
 *
 * Of the parameters, `version` makes a difference: a range with a version is for that
 * version only.
 */
size_t http_accept__type(const char *accept, const char *const *types);

/* Whether the client takes this coding and does not like `identity` better; NULL: no. */
bool http_accept__coding(const char *accept_encoding, const char *coding);

#endif /* ACLGUARD_HTTP_ACCEPT_H */
