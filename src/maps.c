/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * A parser of /proc/PID/maps.  The text is cut into lines as it arrives, and
 * each line is taken apart in place, by length and never by terminator; only
 * the path is copied.  A line that is not understood is counted and skipped:
 * one odd mapping must not blind us to the others.
 */
#include "maps.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "procstatus.h"

#define READ_CHUNK (64UL << 10)

/* What is left of a line. */
struct cursor {
	const char *p;
	const char *end;
};

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return -1;
}

static bool take_number(struct cursor *c, unsigned int base, uint64_t *out)
{
	const char *start = c->p;
	uint64_t v = 0;

	for (; c->p < c->end; c->p++) {
		int digit = hex_digit(*c->p);

		if (digit < 0 || digit >= (int)base)
			break;
		if (__builtin_mul_overflow(v, (uint64_t)base, &v) ||
		    __builtin_add_overflow(v, (uint64_t)digit, &v))
			return false;
	}
	*out = v;
	return c->p > start;
}

static bool take_hex32(struct cursor *c, uint32_t *out)
{
	uint64_t v;

	if (!take_number(c, 16, &v) || v > UINT32_MAX)
		return false;
	*out = (uint32_t)v;
	return true;
}

static bool take_char(struct cursor *c, char want)
{
	if (c->p == c->end || *c->p != want)
		return false;
	c->p++;
	return true;
}

static bool take_flag(struct cursor *c, char set, char clear, bool *out)
{
	if (c->p == c->end || (*c->p != set && *c->p != clear))
		return false;
	*out = *c->p++ == set;
	return true;
}

static bool strip_suffix(const char *s, size_t *len, const char *suffix)
{
	size_t n = strlen(suffix);

	if (*len <= n || memcmp(s + *len - n, suffix, n) != 0)
		return false;
	*len -= n;
	return true;
}

/* The kernel escapes the newline here and nothing else: other sequences are real bytes. */
static size_t decode_newlines(char *dst, const char *src, size_t len)
{
	size_t in = 0, out = 0;

	while (in < len) {
		if (len - in >= 4 && memcmp(src + in, "\\012", 4) == 0) {
			dst[out++] = '\n';
			in += 4;
		} else {
			dst[out++] = src[in++];
		}
	}
	return out;
}

/* 0, -ENOMEM, or -EINVAL for what is no line of the kernel's. */
static int parse_path(struct cursor *c, struct map_entry *e)
{
	size_t len;

	e->path = NULL;
	e->deleted = false;
	/* The kernel pads to a column; a path never begins with a space. */
	while (c->p < c->end && *c->p == ' ')
		c->p++;
	len = c->end - c->p;
	if (len == 0)
		return 0;
	if (memchr(c->p, '\0', len))
		return -EINVAL;
	e->deleted = strip_suffix(c->p, &len, " (deleted)");
	e->path = malloc(len + 1);
	if (!e->path)
		return -ENOMEM;
	len = decode_newlines(e->path, c->p, len);
	e->path[len] = '\0';
	return 0;
}

/* "7f0c1d000000-7f0c1d021000 r-xp 00001000 fd:01 1234    /usr/lib/libfoo.so" */
static int parse_line(const char *line, size_t len, struct map_entry *e)
{
	struct cursor c = { line, line + len };

	if (!take_number(&c, 16, &e->start) || !take_char(&c, '-') ||
	    !take_number(&c, 16, &e->end) || !take_char(&c, ' ') ||
	    !take_flag(&c, 'r', '-', &e->read) || !take_flag(&c, 'w', '-', &e->write) ||
	    !take_flag(&c, 'x', '-', &e->exec) || !take_flag(&c, 's', 'p', &e->shared) ||
	    !take_char(&c, ' ') || !take_number(&c, 16, &e->offset) || !take_char(&c, ' ') ||
	    !take_hex32(&c, &e->dev_major) || !take_char(&c, ':') ||
	    !take_hex32(&c, &e->dev_minor) || !take_char(&c, ' ') ||
	    !take_number(&c, 10, &e->inode))
		return -EINVAL;
	if (e->start >= e->end || (c.p < c.end && *c.p != ' '))
		return -EINVAL;
	return parse_path(&c, e);
}

/* Feeds lines to the callback, and keeps them in ascending order. */
struct walk {
	maps_fn fn;
	void *ctx;
	uint64_t last_end;
	size_t malformed;
};

static int walk_line(struct walk *w, const char *line, size_t len)
{
	struct map_entry e;
	int err;

	err = len > MAPS_LINE_MAX ? -EINVAL : parse_line(line, len, &e);
	if (err == -EINVAL) {
		w->malformed++;
		return 0;
	}
	if (err)
		return err;
	if (e.start < w->last_end) {
		w->malformed++;
	} else {
		w->last_end = e.end;
		err = w->fn(&e, w->ctx);
	}
	free(e.path);
	return err;
}

/* A text that arrives in pieces; holds one line and what came with it. */
struct text {
	char *buf;
	size_t len;
	size_t cap;
	bool skipping; /* within a line that was too long */
};

/* Hand over all whole lines, and move the rest to the front. */
static int text_lines(struct text *t, size_t fresh, struct walk *w)
{
	size_t pos = 0, scan = t->len - fresh;
	int err = 0;

	while (!err && scan < t->len) {
		char *nl = memchr(t->buf + scan, '\n', t->len - scan);

		if (!nl)
			break;
		if (!t->skipping)
			err = walk_line(w, t->buf + pos, nl - (t->buf + pos));
		t->skipping = false;
		pos = scan = nl - t->buf + 1;
	}
	memmove(t->buf, t->buf + pos, t->len - pos);
	t->len -= pos;
	if (t->len > MAPS_LINE_MAX || t->skipping) {
		w->malformed += !t->skipping;
		t->skipping = true;
		t->len = 0;
	}
	return err;
}

static int text_reserve(struct text *t)
{
	size_t cap = t->cap ? t->cap * 2 : 2 * READ_CHUNK;
	char *buf;

	if (t->cap - t->len >= READ_CHUNK)
		return 0;
	buf = realloc(t->buf, cap);
	if (!buf)
		return -ENOMEM;
	t->buf = buf;
	t->cap = cap;
	return 0;
}

static int walk_text(int fd, struct walk *w)
{
	struct text t = {};
	ssize_t n;
	int err;

	for (;;) {
		err = text_reserve(&t);
		if (err)
			break;
		n = read(fd, t.buf + t.len, READ_CHUNK);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			err = -errno;
		if (n <= 0)
			break;
		t.len += n;
		err = text_lines(&t, n, w);
		if (err)
			break;
	}
	/* The kernel ends each line; text from elsewhere may not. */
	if (!err && t.len > 0)
		err = walk_line(w, t.buf, t.len);
	free(t.buf);
	return err;
}

int maps__walk_fd(int fd, maps_fn fn, void *ctx, size_t *malformed)
{
	struct walk w = { .fn = fn, .ctx = ctx };
	int err = walk_text(fd, &w);

	if (malformed)
		*malformed += w.malformed;
	return err;
}

static int open_maps(pid_t pid)
{
	char path[32];
	int fd;

	if (pid <= 0)
		return -EINVAL;
	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0)
		return fd;
	return errno == ENOENT ? -ESRCH : -errno;
}

struct counting {
	maps_fn fn;
	void *ctx;
	size_t count;
};

static int count_entry(const struct map_entry *e, void *ctx)
{
	struct counting *c = ctx;

	c->count++;
	return c->fn(e, c->ctx);
}

pid_t maps__task(pid_t pid)
{
	struct procstatus st;
	pid_t found = pid;
	struct dirent *e;
	char path[64];
	DIR *dir;

	if (procstatus__read(pid, &st) || st.state != 'Z')
		return pid;
	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	dir = opendir(path);
	while (dir && found == pid && (e = readdir(dir))) {
		pid_t tid = atoi(e->d_name);

		if (tid > 0 && tid != pid && !procstatus__read(tid, &st) && st.state != 'Z' &&
		    st.state != 'X')
			found = tid;
	}
	if (dir)
		closedir(dir);
	return found;
}

int maps__walk(pid_t pid, maps_fn fn, void *ctx, size_t *malformed)
{
	struct counting c = { .fn = fn, .ctx = ctx };
	size_t bad = 0;
	int fd, err;

	fd = open_maps(pid);
	if (fd < 0)
		return fd;
	err = maps__walk_fd(fd, count_entry, &c, &bad);
	close(fd);
	if (malformed)
		*malformed += bad;
	/* No address space: a zombie, or a kernel thread. */
	if (!err && c.count + bad == 0)
		return -ESRCH;
	return err;
}

static int append_entry(const struct map_entry *e, void *ctx)
{
	struct maps *m = ctx;
	struct map_entry *slot;

	if (m->count == m->capacity) {
		size_t cap = m->capacity ? m->capacity * 2 : 64;
		struct map_entry *grown;

		if (cap > MAPS_ENTRIES_MAX)
			return -E2BIG;
		grown = realloc(m->entries, cap * sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		m->entries = grown;
		m->capacity = cap;
	}
	slot = &m->entries[m->count];
	*slot = *e;
	if (e->path) {
		m->path_bytes += strlen(e->path) + 1;
		if (m->path_bytes > MAPS_PATHS_MAX)
			return -E2BIG;
		slot->path = strdup(e->path);
		if (!slot->path)
			return -ENOMEM;
	}
	m->count++;
	return 0;
}

/* Replace the old content on success only. */
static int adopt(struct maps *maps, struct maps *fresh, int err)
{
	if (err) {
		maps__free(fresh);
		return err;
	}
	maps__free(maps);
	*maps = *fresh;
	return 0;
}

int maps__read(pid_t pid, struct maps *maps)
{
	struct maps fresh = {};
	int err = maps__walk(pid, append_entry, &fresh, &fresh.malformed);

	return adopt(maps, &fresh, err);
}

int maps__read_fd(int fd, struct maps *maps)
{
	struct maps fresh = {};
	int err = maps__walk_fd(fd, append_entry, &fresh, &fresh.malformed);

	return adopt(maps, &fresh, err);
}

int maps__parse(const char *buf, size_t len, struct maps *maps)
{
	struct maps fresh = {};
	struct walk w = { .fn = append_entry, .ctx = &fresh };
	size_t pos = 0;
	int err = 0;

	while (!err && pos < len) {
		const char *line = buf + pos;
		const char *nl = memchr(line, '\n', len - pos);
		size_t n = nl ? (size_t)(nl - line) : len - pos;

		err = walk_line(&w, line, n);
		pos += n + 1;
	}
	fresh.malformed = w.malformed;
	return adopt(maps, &fresh, err);
}

void maps__free(struct maps *maps)
{
	size_t i;

	if (!maps)
		return;
	for (i = 0; i < maps->count; i++)
		free(maps->entries[i].path);
	free(maps->entries);
	*maps = (struct maps){};
}

const struct map_entry *maps__find(const struct maps *maps, uint64_t addr)
{
	size_t lo = 0, hi = maps->count;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		const struct map_entry *e = &maps->entries[mid];

		if (addr < e->start)
			hi = mid;
		else if (addr >= e->end)
			lo = mid + 1;
		else
			return e;
	}
	return NULL;
}

bool map_entry__is_file(const struct map_entry *entry)
{
	return entry->inode != 0 && entry->path && entry->path[0] == '/';
}
