/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Text that grows, as pages of the web server do: bounded, and with memory that
 * goes back to the kernel as soon as it is freed.
 *
 * Errors are kept: what is added after the first one is dropped, and the text is
 * of no use then.
 */
#ifndef ACLGUARD_TEXTBUF_H
#define ACLGUARD_TEXTBUF_H

#include <stddef.h>

struct textbuf {
	char *data; /* not NUL-terminated; NULL while empty */
	size_t len; /* bytes */
	size_t cap; /* bytes, whole pages */
	size_t max; /* bytes that it may grow to */
	int err;    /* 0, -ENOMEM, -EFBIG (more than max) or -EINVAL (a format that cannot be) */
};

void textbuf__init(struct textbuf *b, size_t max);
void textbuf__free(struct textbuf *b); /* leaves it as if initialised anew */

void textbuf__add(struct textbuf *b, const void *data, size_t len);
void textbuf__str(struct textbuf *b, const char *s);
void textbuf__printf(struct textbuf *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif /* ACLGUARD_TEXTBUF_H */
