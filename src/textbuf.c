/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Text that grows, in memory of its own from the kernel. */
#define _GNU_SOURCE
#include "textbuf.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#define FIRST (64U << 10)

void textbuf__init(struct textbuf *b, size_t max)
{
	*b = (struct textbuf){ .max = max };
}

void textbuf__free(struct textbuf *b)
{
	if (b->data)
		munmap(b->data, b->cap);
	textbuf__init(b, b->max);
}

static void *enlarge(void *old, size_t from, size_t to)
{
	if (old)
		return mremap(old, from, to, MREMAP_MAYMOVE);
	return mmap(NULL, to, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

/* Room for n more bytes; false with the error kept. */
static bool reserve(struct textbuf *b, size_t n)
{
	size_t cap = b->cap ? b->cap : FIRST;
	void *data;

	if (b->err)
		return false;
	if (n > b->max - b->len) {
		b->err = -EFBIG;
		return false;
	}
	while (cap - b->len < n)
		cap *= 2;
	if (cap == b->cap)
		return true;
	data = enlarge(b->data, b->cap, cap);
	if (data == MAP_FAILED) {
		b->err = -ENOMEM;
		return false;
	}
	b->data = data;
	b->cap = cap;
	return true;
}

void textbuf__add(struct textbuf *b, const void *data, size_t len)
{
	if (len == 0 || !reserve(b, len))
		return;
	memcpy(b->data + b->len, data, len);
	b->len += len;
}

void textbuf__str(struct textbuf *b, const char *s)
{
	textbuf__add(b, s, strlen(s));
}

void textbuf__printf(struct textbuf *b, const char *fmt, ...)
{
	size_t room = b->cap - b->len;
	va_list args;
	int n;

	va_start(args, fmt);
	n = vsnprintf(b->data ? b->data + b->len : NULL, room, fmt, args);
	va_end(args);
	if (n < 0 && !b->err)
		b->err = -EINVAL;
	if (n < 0 || !reserve(b, (size_t)n + 1)) /* the NUL needs room, too */
		return;
	if ((size_t)n >= room) {
		va_start(args, fmt);
		vsnprintf(b->data + b->len, (size_t)n + 1, fmt, args);
		va_end(args);
	}
	b->len += (size_t)n;
}
