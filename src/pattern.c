/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Patterns.  Of the stars only the last one met has to be gone back to, so there is
 * no recursion: fnmatch() takes exponential time on what a program may call itself.
 */
#include "pattern.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "escape.h"

enum {
	UNIT_ONE = 256, /* beyond any byte */
	UNIT_ANY,
};

struct pattern {
	size_t n;
	uint16_t unit[];
};

/* ---- reading ------------------------------------------------------------ */

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c = (char)tolower((unsigned char)c);
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static void add_code_point(struct pattern *p, uint32_t cp)
{
	if (cp < 0x80) {
		p->unit[p->n++] = (uint16_t)cp;
		return;
	}
	if (cp < 0x800) {
		p->unit[p->n++] = (uint16_t)(0xc0 | cp >> 6);
	} else if (cp < 0x10000) {
		p->unit[p->n++] = (uint16_t)(0xe0 | cp >> 12);
		p->unit[p->n++] = (uint16_t)(0x80 | (cp >> 6 & 0x3f));
	} else {
		p->unit[p->n++] = (uint16_t)(0xf0 | cp >> 18);
		p->unit[p->n++] = (uint16_t)(0x80 | (cp >> 12 & 0x3f));
		p->unit[p->n++] = (uint16_t)(0x80 | (cp >> 6 & 0x3f));
	}
	p->unit[p->n++] = (uint16_t)(0x80 | (cp & 0x3f));
}

/* What follows "\u".  Returns how much that was, or 0. */
static size_t add_braced(struct pattern *p, const char *s, size_t len)
{
	uint32_t cp = 0;
	size_t i = 1;

	if (len < 3 || s[0] != '{')
		return 0;
	for (; i < len && i < 8 && hex_digit(s[i]) >= 0; i++)
		cp = cp << 4 | (uint32_t)hex_digit(s[i]);
	if (i == 1 || i >= len || s[i] != '}' || cp > 0x10ffff || (cp >= 0xd800 && cp < 0xe000))
		return 0;
	add_code_point(p, cp);
	return i + 1;
}

/* What follows a backslash.  Returns how much that was, or 0. */
static size_t add_escape(struct pattern *p, const char *s, size_t len)
{
	size_t n;

	if (!len)
		return 0;
	if (s[0] == 'x') {
		int high = len < 3 ? -1 : hex_digit(s[1]), low = len < 3 ? -1 : hex_digit(s[2]);

		if (high < 0 || low < 0)
			return 0;
		p->unit[p->n++] = (uint16_t)(high * 16 + low);
		return 3;
	}
	if (s[0] == 'u') {
		n = add_braced(p, s + 1, len - 1);
		return n ? n + 1 : 0;
	}
	if (isalnum((unsigned char)s[0]))
		return 0; /* kept for later meanings */
	p->unit[p->n++] = (unsigned char)s[0];
	return 1;
}

static int parse(struct pattern *p, const char *text, size_t len)
{
	size_t i = 0, n;

	while (i < len) {
		char c = text[i++];

		if (p->n + 4 > PATTERN_MAX)
			return -E2BIG;
		if (c == '\\') {
			n = add_escape(p, text + i, len - i);
			if (!n)
				return -EINVAL;
			i += n;
		} else if (c == '*') {
			if (!p->n || p->unit[p->n - 1] != UNIT_ANY)
				p->unit[p->n++] = UNIT_ANY;
		} else {
			p->unit[p->n++] = c == '?' ? UNIT_ONE : (unsigned char)c;
		}
	}
	return p->n ? 0 : -EINVAL;
}

int pattern__new(const char *text, size_t len, struct pattern **out)
{
	struct pattern *p = malloc(sizeof(*p) + PATTERN_MAX * sizeof(p->unit[0])), *shrunk;
	int err;

	if (!p)
		return -ENOMEM;
	p->n = 0;
	err = parse(p, text, len);
	if (err) {
		free(p);
		return err;
	}
	shrunk = realloc(p, sizeof(*p) + p->n * sizeof(p->unit[0]));
	*out = shrunk ? shrunk : p;
	return 0;
}

void pattern__free(struct pattern *p)
{
	free(p);
}

bool pattern__is_any(const struct pattern *p)
{
	return p->n == 1 && p->unit[0] == UNIT_ANY;
}

/* ---- matching ------------------------------------------------------------ */

int pattern__match(const struct pattern *p, const char *name, size_t len, uint64_t *steps)
{
	size_t i = 0, k = 0, star = SIZE_MAX, from = 0;

	if (len > PATTERN_NAME_MAX)
		len = PATTERN_NAME_MAX;
	while (k < len) {
		if (!*steps)
			return -EBUSY;
		--*steps;
		if (i < p->n && p->unit[i] == UNIT_ANY) {
			star = i++;
			from = k;
		} else if (i < p->n &&
			   (p->unit[i] == UNIT_ONE || p->unit[i] == (unsigned char)name[k])) {
			i++;
			k++;
		} else if (star != SIZE_MAX) {
			i = star + 1; /* that star takes one more */
			k = ++from;
		} else {
			return 0;
		}
	}
	while (i < p->n && p->unit[i] == UNIT_ANY)
		i++;
	return i == p->n;
}

/* ---- writing ------------------------------------------------------------- */

size_t pattern__of(char *buf, size_t n, const char *name, size_t len)
{
	size_t out = 0, units = 0;

	for (size_t i = 0; i < len;) {
		char sign[4 * ESCAPE_TEXT_EXPAND + 1];
		uint32_t cp;
		size_t used = escape__decode(name + i, len - i, &cp), add;

		if (!used)
			used = 1;
		if (name[i] == '*' || name[i] == '?')
			add = (size_t)sprintf(sign, "\\%c", name[i]);
		else if (name[i] == ' ' && (i == 0 || i + 1 == len))
			add = (size_t)sprintf(sign, "\\x20");
		else
			add = escape__text(sign, sizeof(sign), name + i, used);
		/* room for the star, and what parse() wants */
		if (out + add + 2 > n || units + used + 8 > PATTERN_MAX ||
		    (i + used > PATTERN_NAME_MAX)) {
			out += (size_t)snprintf(buf + out, n - out, "*");
			return out;
		}
		memcpy(buf + out, sign, add);
		out += add;
		units += used;
		i += used;
	}
	if (n)
		buf[out] = '\0';
	return out;
}
