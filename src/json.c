/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * A writer of JSON lines.  The line grows in memory; what decides whether a
 * comma or a key is due is the kind of the innermost container and whether it
 * has members yet, one bit each a level.
 */
#include "json.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "escape.h"

#define DECIMALS_MAX 17

struct json {
	FILE *out;
	char *line;
	size_t len;
	size_t cap;
	int err;	      /* the first of this line */
	bool torn;	      /* the line before was written in part */
	unsigned int depth;   /* open containers */
	uint32_t is_array;    /* a bit a level */
	uint32_t has_members; /* a bit a level */
};

_Static_assert(JSON_DEPTH_MAX <= 32, "a bit a level");

struct json *json__new(FILE *out)
{
	struct json *j = calloc(1, sizeof(*j));

	if (j)
		j->out = out;
	return j;
}

void json__free(struct json *j)
{
	if (!j)
		return;
	free(j->line);
	free(j);
}

static void fail(struct json *j, int err)
{
	if (!j->err)
		j->err = err;
}

/*
 * A mistake of the caller: loud when developing, a dropped line otherwise.
 * Lack of memory is none: nesting is followed all the same.
 */
static bool require(struct json *j, bool ok)
{
	assert(ok);
	if (!ok)
		fail(j, -EINVAL);
	return ok;
}

static bool reserve(struct json *j, size_t n)
{
	size_t cap = j->cap ? j->cap : 1024;
	char *line;

	while (cap - j->len < n)
		cap *= 2;
	if (cap == j->cap)
		return true;
	line = realloc(j->line, cap);
	if (!line) {
		fail(j, -ENOMEM);
		return false;
	}
	j->line = line;
	j->cap = cap;
	return true;
}

static void put(struct json *j, const char *s, size_t n)
{
	if (j->err || !reserve(j, n))
		return;
	memcpy(j->line + j->len, s, n);
	j->len += n;
}

static void put_escaped(struct json *j, const void *val, size_t len)
{
	const char *p = val;
	size_t used;

	put(j, "\"", 1);
	/* In pieces, so that a long string does not reserve six times its length. */
	while (len > 0 && !j->err && reserve(j, 512)) {
		j->len += escape__json(j->line + j->len, j->cap - j->len, p, len, &used);
		p += used;
		len -= used;
	}
	put(j, "\"", 1);
}

static uint32_t level_bit(const struct json *j)
{
	return 1U << (j->depth - 1);
}

/* What stands before each value: a comma where one is due, and the key. */
static bool begin_value(struct json *j, const char *key)
{
	uint32_t bit;

	if (!require(j, j->depth > 0))
		return false;
	bit = level_bit(j);
	if (!require(j, !key == !!(j->is_array & bit)))
		return false;
	if (j->has_members & bit)
		put(j, ",", 1);
	j->has_members |= bit;
	if (key) {
		put_escaped(j, key, strlen(key));
		put(j, ":", 1);
	}
	return true;
}

static void open_container(struct json *j, bool array)
{
	if (!require(j, j->depth < JSON_DEPTH_MAX))
		return;
	j->depth++;
	j->has_members &= ~level_bit(j);
	if (array)
		j->is_array |= level_bit(j);
	else
		j->is_array &= ~level_bit(j);
	put(j, array ? "[" : "{", 1);
}

static void close_container(struct json *j, bool array)
{
	if (!require(j, j->depth > 0 && array == !!(j->is_array & level_bit(j))))
		return;
	put(j, array ? "]" : "}", 1);
	j->depth--;
}

void json__begin(struct json *j)
{
	/* An unfinished line is dropped whole: half of one helps nobody. */
	assert(j->depth == 0);
	j->len = 0;
	j->err = 0;
	j->depth = 0;
	open_container(j, false);
}

/* Wait, should the other end be a pipe that does not block. */
static bool wait_writable(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLOUT };

	return poll(&p, 1, -1) >= 0 || errno == EINTR;
}

static int write_fd(int fd, const char *p, size_t n, size_t *done)
{
	while (*done < n) {
		ssize_t w = write(fd, p + *done, n - *done);

		if (w >= 0)
			*done += w;
		else if (errno == EAGAIN ? !wait_writable(fd) : errno != EINTR)
			return -errno;
	}
	return 0;
}

static int write_stream(FILE *out, const char *p, size_t n, size_t *done)
{
	errno = 0;
	*done = fwrite(p, 1, n, out);
	if (*done < n || fflush(out))
		return errno ? -errno : -EIO;
	return 0;
}

static int write_line(struct json *j)
{
	int err = 0, fd = fileno(j->out);
	size_t done = 0;

	flockfile(j->out);
	if (fd < 0) {
		err = write_stream(j->out, j->line, j->len, &done);
	} else {
		/* stdio would cut a long line at its buffer's size. */
		if (fflush(j->out))
			err = -errno;
		if (!err)
			err = write_fd(fd, j->line, j->len, &done);
	}
	funlockfile(j->out);
	j->torn = done > 0 ? done < j->len : j->torn;
	return err;
}

int json__end(struct json *j)
{
	if (require(j, j->depth == 1))
		close_container(j, false);
	j->depth = 0;
	put(j, "\n", 1);
	/* The rest of a torn line must not swallow this one. */
	if (j->torn && !j->err && reserve(j, 1)) {
		memmove(j->line + 1, j->line, j->len++);
		j->line[0] = '\n';
	}
	return j->err ? j->err : write_line(j);
}

void json__begin_object(struct json *j, const char *key)
{
	if (begin_value(j, key))
		open_container(j, false);
}

void json__end_object(struct json *j)
{
	/* The outermost object is json__end()'s. */
	if (require(j, j->depth > 1))
		close_container(j, false);
}

void json__begin_array(struct json *j, const char *key)
{
	if (begin_value(j, key))
		open_container(j, true);
}

void json__end_array(struct json *j)
{
	close_container(j, true);
}

void json__strn(struct json *j, const char *key, const void *val, size_t len)
{
	if (!val)
		json__null(j, key);
	else if (begin_value(j, key))
		put_escaped(j, val, len);
}

void json__str(struct json *j, const char *key, const char *val)
{
	json__strn(j, key, val, val ? strlen(val) : 0);
}

void json__u64(struct json *j, const char *key, uint64_t val)
{
	char buf[32];

	if (begin_value(j, key))
		put(j, buf, snprintf(buf, sizeof(buf), "%" PRIu64, val));
}

void json__s64(struct json *j, const char *key, int64_t val)
{
	char buf[32];

	if (begin_value(j, key))
		put(j, buf, snprintf(buf, sizeof(buf), "%" PRId64, val));
}

void json__hex(struct json *j, const char *key, uint64_t val)
{
	char buf[32];

	if (begin_value(j, key))
		put(j, buf, snprintf(buf, sizeof(buf), "\"0x%" PRIx64 "\"", val));
}

/* Whatever the locale puts between the digits of a number, JSON has a point there. */
static size_t fix_point(char *buf, size_t n)
{
	size_t in, out = 0;
	bool in_point = false;

	for (in = 0; in < n; in++) {
		bool point = buf[in] != '-' && (buf[in] < '0' || buf[in] > '9');

		if (!point)
			buf[out++] = buf[in];
		else if (!in_point)
			buf[out++] = '.';
		in_point = point;
	}
	return out;
}

void json__double(struct json *j, const char *key, double val, unsigned int decimals)
{
	char buf[384]; /* the largest double has 309 digits before the point */
	int n;

	if (!isfinite(val)) {
		json__null(j, key);
		return;
	}
	if (!begin_value(j, key))
		return;
	n = snprintf(buf, sizeof(buf), "%.*f",
		     (int)(decimals < DECIMALS_MAX ? decimals : DECIMALS_MAX), val);
	put(j, buf, fix_point(buf, n));
}

void json__bool(struct json *j, const char *key, bool val)
{
	if (begin_value(j, key))
		put(j, val ? "true" : "false", val ? 4 : 5);
}

void json__null(struct json *j, const char *key)
{
	if (begin_value(j, key))
		put(j, "null", 4);
}
