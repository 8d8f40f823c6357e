/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Text, and its way out. */
#include "report_out.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <unistd.h>

void report_out__init(struct report_out *o, FILE *f)
{
	o->f = f;
	o->err = 0;
	o->len = 0;
}

/* Past stdio's buffer, so that it is one write whatever the buffer's size. */
static int write_fd(int fd, const char *p, size_t n)
{
	while (n > 0) {
		ssize_t w = write(fd, p, n);
		struct pollfd pfd = { .fd = fd, .events = POLLOUT };

		if (w >= 0) {
			p += w;
			n -= w;
		} else if (errno == EAGAIN) {
			/* The target may have made the terminal it shares with us so. */
			if (poll(&pfd, 1, -1) < 0 && errno != EINTR)
				return -errno;
		} else if (errno != EINTR) {
			return -errno;
		}
	}
	return 0;
}

static int write_out(FILE *f, const char *p, size_t n)
{
	int fd = fileno(f);

	errno = 0;
	if (fflush(f))
		return errno ? -errno : -EIO;
	if (fd >= 0)
		return write_fd(fd, p, n);
	errno = 0;
	if (fwrite(p, 1, n, f) < n || fflush(f))
		return errno ? -errno : -EIO;
	return 0;
}

int report_out__flush(struct report_out *o)
{
	if (o->len && !o->err)
		o->err = write_out(o->f, o->buf, o->len);
	o->len = 0;
	return o->err;
}

void report_out__printf(struct report_out *o, const char *fmt, ...)
{
	for (int try = 0; try < 2; try++) {
		size_t room = sizeof(o->buf) - o->len;
		va_list ap;
		int n;

		va_start(ap, fmt);
		n = vsnprintf(o->buf + o->len, room, fmt, ap);
		va_end(ap);
		if (n < 0)
			return;
		if ((size_t)n < room || o->len == 0) {
			o->len += (size_t)n < room ? (size_t)n : room - 1;
			return;
		}
		report_out__flush(o);
	}
}
