/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The writer and the reader of recordings.  Both go field by field, so that
 * neither the padding nor the byte order of a machine gets into a file.
 */
#include "recording.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "names.h"

#define BYTE_ORDER_MARK 0x0a0b0c0dU
#define BUFFER_SIZE (4 * (RECORDING_FRAME + RECORDING_PAYLOAD_MAX))
#define WRITE_AT (BUFFER_SIZE / 2) /* more than one record must still fit behind it */
#define ARGS_MAX 6

static const uint8_t magic[8] = { 0x89, 'A', 'C', 'L', 'R', 'E', 'C', '\n' };

static uint64_t get_le(const uint8_t *p, unsigned int width)
{
	uint64_t val = 0;

	for (unsigned int i = 0; i < width; i++)
		val |= (uint64_t)p[i] << (8 * i);
	return val;
}

static void put_le(uint8_t *p, uint64_t val, unsigned int width)
{
	for (unsigned int i = 0; i < width; i++)
		p[i] = (uint8_t)(val >> (8 * i));
}

static uint32_t frame_crc(const uint8_t *frame, size_t len)
{
	uint32_t crc = (uint32_t)crc32(0, frame, 8);

	return (uint32_t)crc32(crc, frame + RECORDING_FRAME, (uInt)len);
}

/* ---- writing ------------------------------------------------------------- */

struct recorder {
	int fd;
	int err;
	uint64_t bytes; /* that the kernel took */
	uint64_t n[RECORDING_TYPES];
	size_t start; /* of the record being put together */
	size_t len;
	uint8_t buf[BUFFER_SIZE];
};

static void put(struct recorder *rec, uint64_t val, unsigned int width)
{
	put_le(rec->buf + rec->len, val, width);
	rec->len += width;
}

static void put_str(struct recorder *rec, const char *str, size_t max)
{
	size_t n = strnlen(str, max < RECORDING_STR_MAX ? max : RECORDING_STR_MAX);

	put(rec, n, 1);
	memcpy(rec->buf + rec->len, str, n);
	rec->len += n;
}

static void write_all(struct recorder *rec)
{
	size_t done = 0;
	ssize_t n;

	while (!rec->err && done < rec->len) {
		n = write(rec->fd, rec->buf + done, rec->len - done);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			rec->err = n ? -errno : -EIO;
		else
			done += (size_t)n;
	}
	rec->bytes += done;
	rec->len = 0;
}

static void begin_record(struct recorder *rec, enum recording_type type)
{
	rec->start = rec->len;
	put(rec, 0, 4);
	put(rec, type, 2);
	put(rec, 0, 2);
	put(rec, 0, 4);
	rec->n[type]++;
}

static void end_record(struct recorder *rec)
{
	uint8_t *frame = rec->buf + rec->start;
	size_t len = rec->len - rec->start - RECORDING_FRAME;

	put_le(frame, len, 4);
	put_le(frame + 8, frame_crc(frame, len), 4);
	if (rec->len >= WRITE_AT)
		write_all(rec);
}

static void put_header(struct recorder *rec, const struct recording_header *h)
{
	begin_record(rec, RECORDING_HEADER);
	put(rec, h->start, 8);
	put(rec, (uint64_t)h->wall_offset, 8);
	put(rec, h->window, 8);
	put(rec, h->rules, 4);
	put(rec, h->page_size, 4);
	put(rec, h->strict, 4);
	put_str(rec, h->arch, sizeof(h->arch));
	put_str(rec, h->host, sizeof(h->host));
	put_str(rec, h->kernel, sizeof(h->kernel));
	put_str(rec, h->version, sizeof(h->version));
	put(rec, ACL_C_MAX, 2);
	for (int i = 0; i < ACL_C_MAX; i++)
		put_str(rec, acl_call__name(i), RECORDING_STR_MAX);
	put(rec, ACL_RULE_MAX, 2);
	for (int i = 0; i < ACL_RULE_MAX; i++)
		put_str(rec, i ? acl_rule__name(i) : "", RECORDING_STR_MAX);
	put(rec, ACL_L_MAX, 2);
	for (int i = 0; i < ACL_L_MAX; i++)
		put_str(rec, acl_loss__name(i), RECORDING_STR_MAX);
	end_record(rec);
}

struct recorder *recorder__new(int fd, const struct recording_header *h)
{
	struct recorder *rec = malloc(sizeof(*rec));

	if (!rec)
		return NULL;
	memset(rec, 0, offsetof(struct recorder, buf));
	rec->fd = fd;
	memcpy(rec->buf, magic, sizeof(magic));
	rec->len = 8;
	put(rec, BYTE_ORDER_MARK, 4);
	put(rec, RECORDING_VERSION, 4);
	put_header(rec, h);
	return rec;
}

static void put_enter(struct recorder *rec, const struct acl_enter *in)
{
	unsigned int n = ARGS_MAX;

	while (n && !in->args[n - 1])
		n--;
	put(rec, in->seq, 4);
	put(rec, in->call, 2);
	put(rec, n, 2);
	put(rec, in->sp, 8);
	for (unsigned int i = 0; i < n; i++)
		put(rec, in->args[i], 8);
}

static void put_leave(struct recorder *rec, const struct acl_leave *out)
{
	put(rec, out->seq, 4);
	put(rec, (uint32_t)out->ret, 4);
	put(rec, out->sp, 8);
	put(rec, out->out, 8);
	put(rec, out->site, 8);
	put(rec, out->out_ok, 1);
}

static void put_counts(struct recorder *rec, const uint64_t *counts, unsigned int n)
{
	uint16_t used = 0;

	for (unsigned int i = 0; i < n; i++)
		used += counts[i] != 0;
	put(rec, used, 2);
	for (unsigned int i = 0; i < n; i++) {
		if (!counts[i])
			continue;
		put(rec, i, 2);
		put(rec, counts[i], 8);
	}
}

static void put_payload(struct recorder *rec, const struct recorded *r)
{
	put(rec, r->time, 8);
	if (r->type == RECORDING_ROUND)
		return;
	if (r->type == RECORDING_LOST) {
		put(rec, r->lost.since, 8);
		put_counts(rec, r->lost.n, ACL_L_MAX);
		return;
	}
	if (r->type == RECORDING_END) {
		rec->n[RECORDING_END]--; /* what stands above */
		put_counts(rec, rec->n, RECORDING_TYPES);
		return;
	}
	put(rec, r->inc, 8);
	if (r->type == RECORDING_PROC || r->type == RECORDING_COMPLETE)
		put(rec, r->proc.complete, 8);
	put(rec, r->tgid, 4);
	put(rec, r->tid, 4);
	if (r->type == RECORDING_ENTER || r->type == RECORDING_BATCH)
		put_enter(rec, &r->enter);
	else if (r->type == RECORDING_LEAVE)
		put_leave(rec, &r->leave);
	else if (r->type == RECORDING_FORK)
		put(rec, r->child, 4);
	if (r->type == RECORDING_PROC) {
		put(rec, r->proc.late, 1);
		put_str(rec, r->proc.comm, sizeof(r->proc.comm));
	}
}

void recorder__write(struct recorder *rec, const struct recorded *r)
{
	if (rec->err)
		return;
	begin_record(rec, r->type);
	put_payload(rec, r);
	end_record(rec);
}

int recorder__flush(struct recorder *rec)
{
	if (!rec->err)
		write_all(rec);
	return rec->err;
}

uint64_t recorder__bytes(const struct recorder *rec)
{
	return rec->bytes;
}

void recorder__free(struct recorder *rec)
{
	if (!rec)
		return;
	close(rec->fd);
	free(rec);
}

/* ---- reading: bytes ------------------------------------------------------ */

/* Where in our numbering a name of the file's tables is; -1: nowhere. */
struct name_map {
	unsigned int n;
	int16_t *ours;
};

struct reader {
	int fd; /* -1: all there is stands at p */
	bool eof;
	int err;
	const uint8_t *p; /* not read yet */
	size_t avail;
	uint8_t *buf; /* for a file: what p points into */
	struct recording_header header;
	struct name_map calls, rules, losses;
	char (*call_names)[64]; /* as in the file */
	struct recording_gaps gaps;
	bool ended; /* an END was read */
	bool done;
	uint64_t end[RECORDING_TYPES]; /* what END counted */
};

static void refill(struct reader *rd)
{
	ssize_t n;

	memmove(rd->buf, rd->p, rd->avail);
	rd->p = rd->buf;
	do
		n = read(rd->fd, rd->buf + rd->avail, BUFFER_SIZE - rd->avail);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		rd->err = -errno;
	if (n <= 0)
		rd->eof = true;
	else
		rd->avail += (size_t)n;
}

/* Whether there are n more bytes; at most BUFFER_SIZE can be asked for. */
static bool have(struct reader *rd, size_t n)
{
	while (rd->avail < n && !rd->eof)
		refill(rd);
	return rd->avail >= n;
}

static void skip(struct reader *rd, size_t n)
{
	rd->p += n;
	rd->avail -= n;
}

/* How many bytes there are to the end, all of them dropped. */
static uint64_t drain(struct reader *rd)
{
	uint64_t n = 0;

	while (have(rd, 1)) {
		n += rd->avail;
		skip(rd, rd->avail);
	}
	return n;
}

/* A payload, or what is left of it.  Reading beyond its end gives zeros, and is noted. */
struct cursor {
	const uint8_t *p, *end;
	bool overrun;
};

static uint64_t get(struct cursor *c, unsigned int width)
{
	uint64_t val;

	if ((size_t)(c->end - c->p) < width) {
		c->overrun = true;
		c->p = c->end;
		return 0;
	}
	val = get_le(c->p, width);
	c->p += width;
	return val;
}

/* Cut to what fits; the bytes are as the file has them, a NUL ends them. */
static void get_str(struct cursor *c, char *out, size_t size)
{
	size_t n = get(c, 1), keep;

	if ((size_t)(c->end - c->p) < n) {
		c->overrun = true;
		n = 0;
	}
	keep = n < size ? n : size - 1;
	memcpy(out, c->p, keep);
	out[keep] = '\0';
	c->p += n;
}

/* ---- reading: the beginning ---------------------------------------------- */

static int find_loss(const char *name)
{
	for (int i = 0; i < ACL_L_MAX; i++)
		if (!strcmp(name, acl_loss__name(i)))
			return i;
	return -ENOENT;
}

/* Names, if not NULL, takes the file's own spelling. */
static int get_table(struct cursor *c, struct name_map *map, int (*find)(const char *),
		     char (**names)[64])
{
	char name[RECORDING_STR_MAX + 1];

	map->n = (unsigned int)get(c, 2);
	map->ours = calloc(map->n + 1, sizeof(*map->ours));
	if (names)
		*names = calloc(map->n + 1, sizeof(**names));
	if (!map->ours || (names && !*names))
		return -ENOMEM;
	for (unsigned int i = 0; i < map->n && !c->overrun; i++) {
		get_str(c, name, sizeof(name));
		map->ours[i] = (int16_t)find(name);
		if (names)
			memcpy((*names)[i], name, strnlen(name, sizeof(**names) - 1));
	}
	return 0;
}

static uint32_t map_rules(const struct reader *rd, uint32_t theirs)
{
	uint32_t ours = 0;

	for (unsigned int i = 1; i < rd->rules.n && i < 32; i++)
		if (theirs & 1U << i && rd->rules.ours[i] > 0)
			ours |= ACL_RULE_BIT((unsigned int)rd->rules.ours[i]);
	return ours;
}

/* 0, -EBADMSG where the payload is no header, -ENOMEM. */
static int get_header(struct reader *rd, struct cursor *c)
{
	struct recording_header *h = &rd->header;
	uint32_t rules;

	h->start = get(c, 8);
	h->wall_offset = (int64_t)get(c, 8);
	h->window = get(c, 8);
	rules = (uint32_t)get(c, 4);
	h->page_size = (uint32_t)get(c, 4);
	h->strict = get(c, 1);
	get(c, 3);
	get_str(c, h->arch, sizeof(h->arch));
	get_str(c, h->host, sizeof(h->host));
	get_str(c, h->kernel, sizeof(h->kernel));
	get_str(c, h->version, sizeof(h->version));
	if (get_table(c, &rd->calls, acl_call__find, &rd->call_names) ||
	    get_table(c, &rd->rules, acl_rule__find, NULL) ||
	    get_table(c, &rd->losses, find_loss, NULL))
		return -ENOMEM;
	h->rules = map_rules(rd, rules);
	return c->overrun ? -EBADMSG : 0;
}

static enum recording_status open_prologue(struct reader *rd, uint32_t *version)
{
	if (!have(rd, 8))
		return rd->err ? RECORDING_CANNOT_READ : RECORDING_NOT_ONE;
	if (memcmp(rd->p, magic, sizeof(magic)) != 0)
		return RECORDING_NOT_ONE;
	if (!have(rd, RECORDING_PROLOGUE))
		return RECORDING_BAD_HEADER;
	if (get_le(rd->p + 8, 4) == __builtin_bswap32(BYTE_ORDER_MARK))
		return RECORDING_TURNED_AROUND;
	if (get_le(rd->p + 8, 4) != BYTE_ORDER_MARK)
		return RECORDING_NOT_ONE;
	*version = (uint32_t)get_le(rd->p + 12, 4);
	if (*version != RECORDING_VERSION)
		return RECORDING_OTHER_VERSION;
	skip(rd, RECORDING_PROLOGUE);
	return RECORDING_OK;
}

/* ---- reading: records ---------------------------------------------------- */

enum frame {
	FRAME_GOOD,
	FRAME_BAD,
	FRAME_CUT,  /* the file ends within it, or seems to */
	FRAME_NONE, /* the file ends before it */
};

/* The record that begins `at` bytes from here; *len is its payload's length. */
static enum frame look_at_frame(struct reader *rd, size_t at, size_t *len)
{
	const uint8_t *f;

	*len = 0;
	if (!have(rd, at + 1))
		return FRAME_NONE;
	if (!have(rd, at + RECORDING_FRAME))
		return FRAME_CUT;
	*len = get_le(rd->p + at, 4);
	if (*len > RECORDING_PAYLOAD_MAX) {
		*len = 0;
		return FRAME_BAD;
	}
	if (!have(rd, at + RECORDING_FRAME + *len))
		return FRAME_CUT;
	f = rd->p + at;
	return get_le(f + 8, 4) == frame_crc(f, *len) ? FRAME_GOOD : FRAME_BAD;
}

static enum recording_status open_header(struct reader *rd)
{
	struct cursor c;
	size_t len;
	int err;

	if (look_at_frame(rd, 0, &len) != FRAME_GOOD || get_le(rd->p + 4, 2) != RECORDING_HEADER)
		return rd->err ? RECORDING_CANNOT_READ : RECORDING_BAD_HEADER;
	c = (struct cursor){ .p = rd->p + RECORDING_FRAME, .end = rd->p + RECORDING_FRAME + len };
	err = get_header(rd, &c);
	if (err) {
		errno = -err;
		return err == -ENOMEM ? RECORDING_CANNOT_READ : RECORDING_BAD_HEADER;
	}
	skip(rd, RECORDING_FRAME + len);
	rd->gaps.n[RECORDING_HEADER] = 1;
	return RECORDING_OK;
}

static enum recording_status reader__open(struct reader *rd, struct reader **out, uint32_t *version)
{
	enum recording_status status = open_prologue(rd, version);

	if (status == RECORDING_OK)
		status = open_header(rd);
	if (status == RECORDING_OK) {
		*out = rd;
		return status;
	}
	if (rd->err)
		errno = -rd->err;
	reader__free(rd);
	return status;
}

enum recording_status reader__open_mem(const void *data, size_t size, struct reader **out,
				       uint32_t *version)
{
	struct reader *rd = calloc(1, sizeof(*rd));

	if (!rd)
		return RECORDING_CANNOT_READ;
	rd->fd = -1;
	rd->eof = true;
	rd->p = data;
	rd->avail = size;
	return reader__open(rd, out, version);
}

enum recording_status reader__open_fd(int fd, struct reader **out, uint32_t *version)
{
	struct reader *rd = calloc(1, sizeof(*rd));

	if (!rd)
		return RECORDING_CANNOT_READ;
	rd->fd = fd;
	rd->buf = malloc(BUFFER_SIZE);
	if (!rd->buf) {
		free(rd);
		return RECORDING_CANNOT_READ;
	}
	rd->p = rd->buf;
	return reader__open(rd, out, version);
}

void reader__free(struct reader *rd)
{
	int err = errno;

	if (!rd)
		return;
	free(rd->calls.ours);
	free(rd->rules.ours);
	free(rd->losses.ours);
	free(rd->call_names);
	free(rd->buf);
	free(rd);
	errno = err;
}

static void get_enter(struct cursor *c, struct recorded *r)
{
	struct acl_enter *in = &r->enter;
	unsigned int n;

	in->pos = r->time;
	in->tgid = r->tgid;
	in->tid = r->tid;
	in->seq = (uint32_t)get(c, 4);
	in->call = (uint16_t)get(c, 2);
	n = (unsigned int)get(c, 2);
	in->sp = get(c, 8);
	if (n > ARGS_MAX)
		c->overrun = true;
	for (unsigned int i = 0; i < n && i < ARGS_MAX; i++)
		in->args[i] = get(c, 8);
}

static void get_leave(struct cursor *c, struct recorded *r)
{
	struct acl_leave *out = &r->leave;

	out->pos = r->time;
	out->tgid = r->tgid;
	out->tid = r->tid;
	out->seq = (uint32_t)get(c, 4);
	out->ret = (int32_t)get(c, 4);
	out->sp = get(c, 8);
	out->out = get(c, 8);
	out->site = get(c, 8);
	out->out_ok = !!get(c, 1);
}

static void get_lost(const struct reader *rd, struct cursor *c, struct recorded *r)
{
	unsigned int n, cause;
	uint64_t count;

	r->lost.since = get(c, 8);
	n = (unsigned int)get(c, 2);
	for (unsigned int i = 0; i < n && !c->overrun; i++) {
		cause = (unsigned int)get(c, 2);
		count = get(c, 8);
		if (cause < rd->losses.n && rd->losses.ours[cause] >= 0)
			r->lost.n[rd->losses.ours[cause]] = count;
		else
			r->lost.unknown += count;
	}
}

static void get_end(struct cursor *c, struct recorded *r)
{
	unsigned int n = (unsigned int)get(c, 2), type;

	for (unsigned int i = 0; i < n && !c->overrun; i++) {
		type = (unsigned int)get(c, 2);
		/* of types that we do not know, together */
		r->end[type < RECORDING_TYPES ? type : 0] += get(c, 8);
	}
}

static void get_payload(const struct reader *rd, struct cursor *c, struct recorded *r)
{
	r->time = get(c, 8);
	if (r->type == RECORDING_ROUND)
		return;
	if (r->type == RECORDING_LOST) {
		get_lost(rd, c, r);
		return;
	}
	if (r->type == RECORDING_END) {
		get_end(c, r);
		return;
	}
	r->inc = get(c, 8);
	if (r->type == RECORDING_PROC || r->type == RECORDING_COMPLETE)
		r->proc.complete = get(c, 8);
	r->tgid = (uint32_t)get(c, 4);
	r->tid = (uint32_t)get(c, 4);
	if (r->type == RECORDING_ENTER || r->type == RECORDING_BATCH)
		get_enter(c, r);
	else if (r->type == RECORDING_LEAVE)
		get_leave(c, r);
	else if (r->type == RECORDING_FORK)
		r->child = (uint32_t)get(c, 4);
	if (r->type == RECORDING_PROC) {
		r->proc.late = get(c, 1);
		get_str(c, r->proc.comm, sizeof(r->proc.comm));
	}
}

/* A call that we do not know gets the number ACL_C_MAX, which nothing is done about. */
static void map_call(struct reader *rd, struct recorded *r)
{
	unsigned int theirs = r->enter.call;

	if (theirs < rd->calls.n && rd->calls.ours[theirs] >= 0) {
		r->enter.call = (uint16_t)rd->calls.ours[theirs];
		return;
	}
	if (!rd->gaps.unknown_calls++ && theirs < rd->calls.n)
		memcpy(rd->gaps.unknown_call, rd->call_names[theirs],
		       sizeof(rd->gaps.unknown_call));
	r->enter.call = ACL_C_MAX;
}

/* What ENDs counted and we have not read. */
static uint64_t count_missing(const struct reader *rd)
{
	uint64_t missing = 0, read;

	for (int i = 0; i < RECORDING_TYPES; i++) {
		read = i ? rd->gaps.n[i] : rd->gaps.unknown;
		if (rd->end[i] > read)
			missing += rd->end[i] - read;
	}
	return missing;
}

static enum reader_next finish(struct reader *rd)
{
	rd->done = true;
	rd->gaps.no_end = !rd->ended;
	if (rd->ended)
		rd->gaps.missing = count_missing(rd);
	return READER_DONE;
}

/*
 * Its checksum is wrong.  If another record begins where it says that it ends,
 * only this one is lost; otherwise nothing tells where one begins.
 */
static enum reader_next skip_bad(struct reader *rd, size_t len)
{
	size_t at = RECORDING_FRAME + len, next;
	enum frame f = FRAME_BAD;

	if (len || !get_le(rd->p, 4))
		f = look_at_frame(rd, at, &next);
	if (f == FRAME_GOOD || f == FRAME_NONE) {
		skip(rd, at);
		rd->gaps.damaged++;
		return READER_DAMAGED;
	}
	rd->gaps.unread = drain(rd);
	return finish(rd);
}

static enum reader_next parse(struct reader *rd, size_t len, struct recorded *out)
{
	const uint8_t *p = rd->p + RECORDING_FRAME;
	struct cursor c = { .p = p, .end = p + len };
	unsigned int type = (unsigned int)get_le(rd->p + 4, 2);

	memset(out, 0, sizeof(*out));
	if (!type || type >= RECORDING_TYPES) {
		rd->gaps.unknown++;
		skip(rd, RECORDING_FRAME + len);
		return READER_DONE; /* of this one: the caller goes on */
	}
	out->type = type;
	if (type != RECORDING_HEADER)
		get_payload(rd, &c, out);
	skip(rd, RECORDING_FRAME + len);
	if (c.overrun || type == RECORDING_HEADER) {
		rd->gaps.damaged++;
		return READER_DAMAGED;
	}
	rd->gaps.n[type]++;
	if (type == RECORDING_ENTER || type == RECORDING_BATCH)
		map_call(rd, out);
	if (type == RECORDING_END) {
		rd->ended = true;
		memcpy(rd->end, out->end, sizeof(rd->end));
	}
	return READER_RECORD;
}

enum reader_next reader__next(struct reader *rd, struct recorded *out)
{
	enum reader_next next;
	size_t len;

	while (!rd->done) {
		if (rd->ended) {
			rd->gaps.after_end = drain(rd);
			return finish(rd);
		}
		switch (look_at_frame(rd, 0, &len)) {
		case FRAME_GOOD:
			next = parse(rd, len, out);
			if (next != READER_DONE)
				return next;
			break;
		case FRAME_BAD:
			return skip_bad(rd, len);
		case FRAME_CUT:
			rd->gaps.tail = drain(rd);
			return finish(rd);
		case FRAME_NONE:
			return finish(rd);
		}
	}
	return READER_DONE;
}

const struct recording_header *reader__header(const struct reader *rd)
{
	return &rd->header;
}

const struct recording_gaps *reader__gaps(const struct reader *rd)
{
	return &rd->gaps;
}

int reader__error(const struct reader *rd)
{
	return rd->err;
}
