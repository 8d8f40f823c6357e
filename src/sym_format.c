/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Showing a resolved address as a line of text. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "escape.h"
#include "symbols.h"

#define BUILD_ID_SHORT 6 /* bytes */

struct line {
	char *buf;
	size_t n;
	size_t pos;
};

__attribute__((format(printf, 2, 3))) static void add(struct line *l, const char *fmt, ...)
{
	va_list ap;
	int len;

	va_start(ap, fmt);
	len = vsnprintf(l->buf + l->pos, l->n - l->pos, fmt, ap);
	va_end(ap);
	if (len < 0)
		return;
	/* vsnprintf says how long it would have been. */
	l->pos = (size_t)len < l->n - l->pos ? l->pos + len : l->n - 1;
}

static void add_escaped(struct line *l, const char *s, size_t most)
{
	size_t room = l->n - l->pos;

	l->pos += escape__str(l->buf + l->pos, room < most ? room : most, s);
}

/* A share of the line for one name; short lines are for those who do not mind cuts. */
static size_t share(size_t n, size_t least)
{
	return n > least ? n : least;
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

/* Enough of it to tell builds apart; JSON has all. */
static void add_build_id(struct line *l, const struct sym_result *res)
{
	unsigned int len = res->build_id_len < BUILD_ID_SHORT ? res->build_id_len : BUILD_ID_SHORT;

	if (len)
		add(l, ", build-id ");
	for (unsigned int i = 0; i < len; i++)
		add(l, "%02x", res->build_id[i]);
}

static void add_place(struct line *l, const char *file, unsigned int nr)
{
	if (!file)
		return;
	add(l, " ");
	add_escaped(l, base_name(file), share(l->n / 8, 32));
	add(l, ":%u", nr);
}

size_t sym_format(char *buf, size_t n, unsigned int frame, const struct sym_result *res)
{
	struct line l = { buf, n, 0 };

	if (n == 0)
		return 0;
	buf[0] = '\0';
	add(&l, "#%u 0x%" PRIx64, frame, res->addr);
	if (res->function) {
		add(&l, " ");
		add_escaped(&l, res->function, share(n * 3 / 8, 64));
		add(&l, "+0x%" PRIx64, res->function_offset);
	}
	if (res->kind == SYM_UNKNOWN) {
		add(&l, " (unknown)");
		return l.pos;
	}
	add(&l, " (");
	add_escaped(&l, res->kind == SYM_FILE ? base_name(res->module) : res->module,
		    share(n / 8, 32));
	add(&l, "+0x%" PRIx64 "%s", res->module_offset, res->deleted ? ", deleted" : "");
	if (!res->function && !res->file)
		add_build_id(&l, res);
	add(&l, ")");
	add_place(&l, res->file, res->line);
	return l.pos;
}

size_t sym_format_line(char *buf, size_t n, unsigned int frame, const struct sym_result *res,
		       unsigned int which)
{
	struct line l = { buf, n, 0 };
	const struct sym_inline *in;

	if (which >= res->n_inlined)
		return sym_format(buf, n, frame, res);
	if (n == 0)
		return 0;
	in = &res->inlined[which];
	buf[0] = '\0';
	add(&l, "#%u 0x%" PRIx64 " ", frame, res->addr);
	if (in->function)
		add_escaped(&l, in->function, share(n * 3 / 8, 64));
	else
		add(&l, "(unknown)");
	add_place(&l, in->file, in->line);
	add(&l, " (inlined)");
	return l.pos;
}
