/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The journal's native protocol: NAME=value and a newline, or for any bytes NAME, a
 * newline, the value's length in 64 bits, little-endian, the value, and a newline.
 * The latter serves for all.
 */
#include "journal.h"

#include <endian.h>
#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "unixgram.h"

void journal__begin(struct journal_entry *e)
{
	e->len = 0;
	e->err = 0;
}

void journal__field(struct journal_entry *e, const char *name, const char *fmt, ...)
{
	size_t head = strlen(name) + 1 + sizeof(uint64_t), room;
	char *at = e->data + e->len;
	uint64_t size;
	va_list args;
	int n;

	if (e->err)
		return;
	room = sizeof(e->data) - e->len;
	if (room <= head + 1) {
		e->err = -EMSGSIZE;
		return;
	}
	va_start(args, fmt);
	n = vsnprintf(at + head, room - head, fmt, args);
	va_end(args);
	if (n < 0 || (size_t)n >= room - head) {
		e->err = -EMSGSIZE;
		return;
	}
	size = htole64((uint64_t)n);
	memcpy(at, name, head - sizeof(size) - 1);
	at[head - sizeof(size) - 1] = '\n';
	memcpy(at + head - sizeof(size), &size, sizeof(size));
	at[head + (size_t)n] = '\n';
	e->len += head + (size_t)n + 1;
}

int journal__send(const struct journal_entry *e, const char *path)
{
	if (e->err)
		return e->err;
	return unixgram__send(path ? path : JOURNAL_SOCKET, e->data, e->len);
}
