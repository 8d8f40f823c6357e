/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Reading /tmp/perf-PID.map, see perfmap.h. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "perfmap.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define CHUNK (64UL << 10)
#define HEX_MAX 16 /* digits */

struct code {
	uint64_t start;
	uint64_t end;
	uint32_t line; /* where it begins in the file; also tells what came later */
};

struct perfmap {
	int fd;
	off_t read; /* up to the end of the last whole line */
	struct code *all;
	size_t count, room;
	bool sorted;
	uint64_t *reach; /* the highest end up to and with each one, once sorted */
	size_t malformed;
};

int perfmap__open(int fd, struct perfmap **out)
{
	struct perfmap *pm = calloc(1, sizeof(*pm));

	if (!pm)
		return -ENOMEM;
	pm->fd = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	if (pm->fd < 0) {
		free(pm);
		return -errno;
	}
	*out = pm;
	return 0;
}

void perfmap__free(struct perfmap *pm)
{
	if (!pm)
		return;
	close(pm->fd);
	free(pm->all);
	free(pm->reach);
	free(pm);
}

size_t perfmap__bytes(const struct perfmap *pm)
{
	return sizeof(*pm) + pm->room * (sizeof(*pm->all) + sizeof(*pm->reach));
}

size_t perfmap__malformed(const struct perfmap *pm)
{
	return pm->malformed;
}

/* ---- reading ---- */

/* A number and the blank after it. */
static bool take_hex(const char **at, const char *end, uint64_t *out)
{
	const char *p = *at;
	uint64_t val = 0;
	int n;

	/* JITs disagree about "0x" */
	if (end - p > 2 && p[0] == '0' && (p[1] == 'x' || p[1] == 'X'))
		p += 2;
	for (n = 0; p < end; n++, p++) {
		char c = *p | 0x20;

		if (*p >= '0' && *p <= '9')
			val = val << 4 | (uint64_t)(*p - '0');
		else if (c >= 'a' && c <= 'f')
			val = val << 4 | (uint64_t)(c - 'a' + 10);
		else
			break;
	}
	if (n == 0 || n > HEX_MAX || p == end || *p != ' ')
		return false;
	*at = p + 1;
	*out = val;
	return true;
}

/* One line without its newline, which begins at `pos` in the file; the rest of it is the name. */
static bool parse_line(const char *line, const char *end, off_t pos, struct code *out,
		       const char **name)
{
	const char *at = line;
	uint64_t size;

	if (!take_hex(&at, end, &out->start) || !take_hex(&at, end, &size))
		return false;
	if (at == end || size == 0 || size > UINT64_MAX - out->start)
		return false;
	out->end = out->start + size;
	out->line = (uint32_t)pos;
	*name = at;
	return true;
}

static int add_code(struct perfmap *pm, const struct code *c)
{
	if (pm->count == PERFMAP_ENTRIES_MAX)
		return -E2BIG;
	if (pm->count == pm->room) {
		size_t room = pm->room ? 2 * pm->room : 256;
		struct code *grown = reallocarray(pm->all, room, sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		pm->all = grown;
		pm->room = room;
	}
	pm->all[pm->count++] = *c;
	pm->sorted = false;
	return 0;
}

/* The whole lines of a piece; *used is how much they are. */
static int parse(struct perfmap *pm, const char *buf, size_t len, size_t *used)
{
	const char *line = buf, *nl, *name;
	struct code c;
	int err = 0;

	while (!err && (nl = memchr(line, '\n', len - (line - buf)))) {
		if (parse_line(line, nl, pm->read + (line - buf), &c, &name))
			err = add_code(pm, &c);
		else
			pm->malformed++;
		line = nl + 1;
	}
	*used = line - buf;
	return err;
}

/* Up to the end of the file, or to what is enough. */
static int read_lines(struct perfmap *pm, char *buf)
{
	bool skipping = false; /* a line longer than the buffer */

	while ((size_t)pm->read < PERFMAP_BYTES_MAX) {
		ssize_t n = pread(pm->fd, buf, CHUNK, pm->read);
		size_t used;
		int err;

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n ? -errno : 0;
		if (skipping) {
			const char *nl = memchr(buf, '\n', n);

			skipping = !nl;
			pm->read += nl ? nl - buf + 1 : n;
			continue;
		}
		err = parse(pm, buf, n, &used);
		if (err)
			return err;
		if (used == 0 && (size_t)n < CHUNK)
			return 0; /* the rest of this line is yet to come */
		if (used == 0) {
			pm->malformed++;
			skipping = true;
			used = n;
		}
		pm->read += (off_t)used;
	}
	return -E2BIG;
}

int perfmap__update(struct perfmap *pm)
{
	struct stat st;
	char *buf;
	int err;

	if (fstat(pm->fd, &st))
		return -errno;
	if (st.st_size < pm->read || st.st_nlink == 0)
		return -ESTALE;
	if (st.st_size == pm->read)
		return 0;
	buf = malloc(CHUNK);
	if (!buf)
		return -ENOMEM;
	err = read_lines(pm, buf);
	free(buf);
	return err;
}

/* ---- finding ---- */

static int by_start(const void *a, const void *b)
{
	const struct code *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return x->line < y->line ? -1 : x->line > y->line;
}

static bool sort(struct perfmap *pm)
{
	uint64_t reach = 0, *grown;

	if (pm->sorted)
		return true;
	grown = reallocarray(pm->reach, pm->room, sizeof(*grown));
	if (!grown)
		return false;
	pm->reach = grown;
	qsort(pm->all, pm->count, sizeof(*pm->all), by_start);
	for (size_t i = 0; i < pm->count; i++) {
		if (pm->all[i].end > reach)
			reach = pm->all[i].end;
		pm->reach[i] = reach;
	}
	pm->sorted = true;
	return true;
}

static const struct code *find_code(const struct perfmap *pm, uint64_t addr)
{
	const struct code *best = NULL;
	size_t lo = 0, hi = pm->count;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (pm->all[mid].start <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	/* What covers it begins no later; back to where nothing reaches it any more. */
	while (lo > 0 && pm->reach[lo - 1] > addr) {
		const struct code *c = &pm->all[--lo];

		if (c->end > addr && (!best || c->line > best->line))
			best = c;
	}
	return best;
}

/* The line at a place in the file, up to `max` bytes of it, in allocated memory.  NULL: none. */
static char *read_line(const struct perfmap *pm, off_t at, size_t max, size_t *len)
{
	size_t done = 0, step = 256;
	char *line = NULL;

	while (done < max) {
		char *grown = realloc(line, done + step), *nl;
		ssize_t n;

		if (!grown)
			break;
		line = grown;
		n = pread(pm->fd, line + done, step, at + (off_t)done);
		if (n <= 0) /* it was cut since */
			break;
		nl = memchr(line + done, '\n', n);
		done += n;
		if (nl || done >= max) {
			*len = nl ? (size_t)(nl - line) : max;
			return line;
		}
		step = done;
	}
	free(line);
	return NULL;
}

char *perfmap__find(struct perfmap *pm, uint64_t addr, uint64_t *start)
{
	const struct code *c = pm->count && sort(pm) ? find_code(pm, addr) : NULL;
	const char *name;
	struct code again;
	char *line, *out = NULL;
	size_t len;

	line = c ? read_line(pm, (off_t)c->line, PERFMAP_NAME_MAX, &len) : NULL;
	/* It may have been written over since. */
	if (line && parse_line(line, line + len, (off_t)c->line, &again, &name) &&
	    again.start == c->start && again.end == c->end) {
		*start = c->start;
		out = strndup(name, len - (name - line));
	}
	free(line);
	return out;
}
