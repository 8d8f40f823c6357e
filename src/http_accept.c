/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The headers Accept and Accept-Encoding, one part between commas after the other. */
#include "http_accept.h"

#include <string.h>
#include <strings.h>

#define Q_MAX 1000U /* weights are in thousandths */

struct slice {
	const char *p;
	size_t n;
};

/* type/subtype;version=...;q=..., or a mere coding;q=... */
struct range {
	struct slice type;
	struct slice subtype;
	struct slice version;
	unsigned int q;
};

static bool equal(struct slice a, struct slice b)
{
	return a.n == b.n && strncasecmp(a.p, b.p, a.n) == 0;
}

static bool is(struct slice a, const char *name)
{
	return equal(a, (struct slice){ name, strlen(name) });
}

/* ---- scanning ------------------------------------------------------------ */

static void skip_blanks(const char **p)
{
	*p += strspn(*p, " \t");
}

static bool is_token_char(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	       (c && strchr("!#$%&'*+-.^_`|~", c));
}

static bool token(const char **p, struct slice *s)
{
	s->p = *p;
	while (is_token_char(**p))
		++*p;
	s->n = (size_t)(*p - s->p);
	return s->n > 0;
}

/* Behind the closing quote; NULL if there is none.  What is escaped is not unescaped. */
static const char *quoted_end(const char *p)
{
	for (p++; *p && *p != '"'; p++)
		if (*p == '\\' && p[1])
			p++;
	return *p ? p + 1 : NULL;
}

static bool value(const char **p, struct slice *s)
{
	const char *end;

	if (**p != '"')
		return token(p, s);
	end = quoted_end(*p);
	if (!end)
		return false;
	*s = (struct slice){ *p + 1, (size_t)(end - *p) - 2 };
	*p = end;
	return true;
}

/* 0 to 1 with up to three digits behind the point. */
static bool weight(struct slice s, unsigned int *q)
{
	unsigned int worth = 100;

	if (s.n == 0 || s.n > 5 || (s.p[0] != '0' && s.p[0] != '1') || (s.n > 1 && s.p[1] != '.'))
		return false;
	*q = (unsigned int)(s.p[0] - '0') * Q_MAX;
	for (size_t i = 2; i < s.n; i++, worth /= 10) {
		if (s.p[i] < '0' || s.p[i] > '9')
			return false;
		*q += (unsigned int)(s.p[i] - '0') * worth;
	}
	return *q <= Q_MAX;
}

static bool parameter(const char **p, struct range *r)
{
	struct slice name, val;

	skip_blanks(p);
	if (**p == ';' || **p == ',' || !**p)
		return true; /* an empty one is allowed */
	if (!token(p, &name) || **p != '=')
		return false;
	++*p;
	if (!value(p, &val))
		return false;
	if (is(name, "version"))
		r->version = val;
	return !is(name, "q") || weight(val, &r->q);
}

static bool range(const char **p, struct range *r)
{
	*r = (struct range){ .q = Q_MAX };
	skip_blanks(p);
	if (!token(p, &r->type))
		return false;
	if (**p == '/' && (++*p, !token(p, &r->subtype)))
		return false;
	for (skip_blanks(p); **p == ';'; skip_blanks(p)) {
		++*p;
		if (!parameter(p, r))
			return false;
	}
	return **p == ',' || !**p;
}

/* To behind the comma that ends this part. */
static void skip_part(const char **p)
{
	while (**p && **p != ',') {
		const char *end = **p == '"' ? quoted_end(*p) : NULL;

		*p = end ? end : *p + 1;
	}
	if (**p)
		++*p;
}

/* The next part that is right; false at the end. */
static bool next(const char **p, struct range *r)
{
	while (**p) {
		bool right = range(p, r);

		/* also of a name that broke off before the end of the part */
		skip_part(p);
		if (right)
			return true;
	}
	return false;
}

/* ---- choosing ------------------------------------------------------------ */

/* How closely a range names a type: 0 not at all, 4 with its version. */
static int match(const struct range *r, const struct range *offer)
{
	if (is(r->type, "*"))
		return is(r->subtype, "*") ? 1 : 0;
	if (!equal(r->type, offer->type))
		return 0;
	if (is(r->subtype, "*"))
		return 2;
	if (!equal(r->subtype, offer->subtype))
		return 0;
	if (!r->version.p)
		return 3;
	return offer->version.p && equal(r->version, offer->version) ? 4 : 0;
}

/* The weight of a type is that of the range that names it most closely. */
static unsigned int weight_of(const char *accept, const char *type)
{
	unsigned int q = 0;
	struct range offer, r;
	int best = 0;

	if (!next(&type, &offer))
		return 0;
	while (next(&accept, &r)) {
		int m = match(&r, &offer);

		if (m > best || (m && m == best && r.q > q)) {
			best = m;
			q = r.q;
		}
	}
	return q;
}

size_t http_accept__type(const char *accept, const char *const *types)
{
	unsigned int best_q = 0;
	size_t best = 0;

	for (size_t i = 0; accept && types[i]; i++) {
		unsigned int q = weight_of(accept, types[i]);

		if (q > best_q) {
			best_q = q;
			best = i;
		}
	}
	return best;
}

bool http_accept__coding(const char *accept_encoding, const char *coding)
{
	unsigned int q = 0, any = 0, identity = 0;
	bool named = false, identity_named = false;
	struct range r;

	while (accept_encoding && next(&accept_encoding, &r)) {
		if (r.subtype.p)
			continue;
		if (is(r.type, coding)) {
			named = true;
			q = r.q > q ? r.q : q;
		} else if (is(r.type, "*")) {
			any = r.q;
		} else if (is(r.type, "identity")) {
			identity_named = true;
			identity = r.q;
		}
	}
	if (!named)
		q = any;
	return q > 0 && (!identity_named || q >= identity);
}
