/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Recordings: what is written is read, whatever became of the file is noticed, and replayed. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "commands.h"
#include "exits.h"
#include "names.h"
#include "options.h"
#include "recording.h"
#include "reorder.h"

#define TGID 100
#define INC 77
#define BUF 0x120043200000ULL
#define EVENT 0x7f0000003000ULL
#define STREAM 0x7f0000001000ULL
#define SP 0x7ffc00001000ULL
#define START 1000000000ULL
#define US 1000ULL

static const struct recording_header header = {
	.start = START,
	.wall_offset = 1700000000000000000LL,
	.window = 1000000000,
	.rules = ACL_RULES_ALL,
	.page_size = 65536,
	.strict = true,
	.arch = "aarch64",
	.host = "node-17",
	.kernel = "5.10.0",
	.version = "0.1.0",
};

/* ---- a recording being made ---------------------------------------------- */

struct tape {
	struct recorder *rec;
	int fd; /* another one to the same file */
	uint64_t now;
	uint32_t seq;
	uint32_t drop; /* the record with this seq is not written; ~0: none */
	uint8_t *data;
	size_t size;
};

static void tape__begin(struct tape *t)
{
	*t = (struct tape){ .now = START, .drop = UINT32_MAX };
	t->fd = memfd_create("recording", 0);
	assert_true(t->fd >= 0);
	t->rec = recorder__new(dup(t->fd), &header);
	assert_non_null(t->rec);
}

static void tape__end(struct tape *t, bool with_end)
{
	const struct recorded end = { .type = RECORDING_END, .time = t->now };
	struct stat st;

	if (with_end)
		recorder__write(t->rec, &end);
	assert_int_equal(recorder__flush(t->rec), 0);
	assert_int_equal(fstat(t->fd, &st), 0);
	assert_int_equal(recorder__bytes(t->rec), st.st_size);
	recorder__free(t->rec);
	t->size = (size_t)st.st_size;
	t->data = malloc(t->size);
	assert_int_equal(pread(t->fd, t->data, t->size, 0), (ssize_t)t->size);
}

static void tape__free(struct tape *t)
{
	free(t->data);
	close(t->fd);
}

static struct recorded blank(struct tape *t, enum recording_type type)
{
	return (struct recorded){
		.type = type,
		.tgid = TGID,
		.tid = TGID,
		.time = t->now += US,
		.inc = INC,
	};
}

static void write_proc(struct tape *t, uint64_t complete)
{
	struct recorded r = blank(t, RECORDING_PROC);

	r.proc.complete = complete;
	memcpy(r.proc.comm, "train\033[31m", 10);
	recorder__write(t->rec, &r);
}

static void write_simple(struct tape *t, enum recording_type type)
{
	struct recorded r = blank(t, type);

	recorder__write(t->rec, &r);
}

static void write_enter(struct tape *t, enum acl_call call, const uint64_t args[6])
{
	struct recorded r = blank(t, RECORDING_ENTER);

	r.enter.call = call;
	r.enter.sp = SP;
	r.enter.seq = t->seq++;
	for (int i = 0; i < 6; i++)
		r.enter.args[i] = args[i];
	if (r.enter.seq != t->drop)
		recorder__write(t->rec, &r);
}

static void write_leave(struct tape *t, int32_t ret, uint64_t out, bool out_ok)
{
	struct recorded r = blank(t, RECORDING_LEAVE);

	r.leave.sp = SP;
	r.leave.seq = t->seq++;
	r.leave.ret = ret;
	r.leave.out = out;
	r.leave.out_ok = out_ok;
	if (r.leave.seq != t->drop)
		recorder__write(t->rec, &r);
}

#define call(t, name, ret, out, out_ok, ...)                                      \
	do {                                                                      \
		write_enter(t, ACL_C_##name, (const uint64_t[6]){ __VA_ARGS__ }); \
		write_leave(t, ret, out, out_ok);                                 \
	} while (0)

/* The release after a mere poll. */
static void tell_history(struct tape *t)
{
	write_proc(t, 0);
	call(t, aclrtSetDevice, 0, 0, false, 0);
	call(t, aclrtCreateStream, 0, STREAM, true, 0x1000);
	call(t, aclrtMallocHost, 0, BUF, true, 0x1008, 4096);
	call(t, aclrtCreateEvent, 0, EVENT, true, 0x1010, 8);
	call(t, aclrtMemcpyAsync, 0, 0, false, 0x12c000000000, 100, BUF + 64, 100, 1, STREAM);
	call(t, aclrtRecordEvent, 0, 0, false, EVENT, STREAM);
	call(t, aclrtQueryEventStatus, 0, 1, true, EVENT, 0x1018);
	call(t, aclrtFreeHost, 507899, 0, false, BUF);
	call(t, aclrtDestroyEvent, 0, 0, false, EVENT);
	write_simple(t, RECORDING_ROUND);
	write_simple(t, RECORDING_THREAD_EXIT);
	write_simple(t, RECORDING_EXIT);
}

#define HISTORY_CALLS 9

/* ---- reading ------------------------------------------------------------- */

/* Reads all of it; returns what is missing. */
static enum recording_status read_all(const void *data, size_t size, struct recording_gaps *gaps,
				      uint64_t *records)
{
	struct reader *rd = NULL;
	struct recorded r;
	uint32_t version = 0;
	enum recording_status status;
	enum reader_next next;

	status = reader__open_mem(data, size, &rd, &version);
	*records = 0;
	memset(gaps, 0, sizeof(*gaps));
	if (status != RECORDING_OK)
		return status;
	while ((next = reader__next(rd, &r)) != READER_DONE)
		*records += next == READER_RECORD;
	assert_int_equal(reader__next(rd, &r), READER_DONE);
	*gaps = *reader__gaps(rd);
	reader__free(rd);
	return status;
}

static bool complete(const struct recording_gaps *g)
{
	return !g->no_end && !g->tail && !g->damaged && !g->unread && !g->after_end &&
	       !g->missing && !g->unknown && !g->unknown_calls;
}

static uint32_t le32(const uint8_t *p)
{
	return p[0] | p[1] << 8 | p[2] << 16 | (uint32_t)p[3] << 24;
}

static void set_le32(uint8_t *p, uint32_t val)
{
	for (int i = 0; i < 4; i++)
		p[i] = (uint8_t)(val >> (8 * i));
}

static size_t frame_size(const uint8_t *frame)
{
	return RECORDING_FRAME + le32(frame);
}

/* After something in it was changed on purpose. */
static void sign(uint8_t *frame)
{
	uint32_t crc = (uint32_t)crc32(0, frame, 8);

	set_le32(frame + 8, (uint32_t)crc32(crc, frame + RECORDING_FRAME, le32(frame)));
}

static struct reader *open_good(const void *data, size_t size)
{
	struct reader *rd = NULL;
	uint32_t version = 0;

	assert_int_equal(reader__open_mem(data, size, &rd, &version), RECORDING_OK);
	assert_int_equal(version, RECORDING_VERSION);
	return rd;
}

static void next_is(struct reader *rd, struct recorded *r, enum recording_type type)
{
	assert_int_equal(reader__next(rd, r), READER_RECORD);
	assert_int_equal(r->type, type);
}

static void header_is_read_as_written(void **state)
{
	const struct recording_header *h;
	struct reader *rd;
	struct tape t;

	(void)state;
	tape__begin(&t);
	tape__end(&t, true);
	rd = open_good(t.data, t.size);
	h = reader__header(rd);
	assert_int_equal(h->start, header.start);
	assert_int_equal(h->wall_offset, header.wall_offset);
	assert_int_equal(h->window, header.window);
	assert_int_equal(h->rules, header.rules);
	assert_int_equal(h->page_size, header.page_size);
	assert_true(h->strict);
	assert_string_equal(h->arch, header.arch);
	assert_string_equal(h->host, header.host);
	assert_string_equal(h->kernel, header.kernel);
	assert_string_equal(h->version, header.version);
	reader__free(rd);
	tape__free(&t);
}

static void calls_are_read_as_written(void **state)
{
	static const uint64_t args[6] = { 1, UINT64_MAX, 3, 0x123456789abcdef0, 0, 6 };
	struct reader *rd;
	struct recorded r;
	struct tape t;

	(void)state;
	tape__begin(&t);
	write_enter(&t, ACL_C_aclrtMemcpyAsync, args);
	write_leave(&t, -7, 0x8877665544332211, true);
	tape__end(&t, true);
	rd = open_good(t.data, t.size);
	next_is(rd, &r, RECORDING_ENTER);
	assert_memory_equal(r.enter.args, args, sizeof(args));
	assert_int_equal(r.enter.call, ACL_C_aclrtMemcpyAsync);
	assert_int_equal(r.enter.pos, START + US);
	assert_int_equal(r.enter.sp, SP);
	assert_int_equal(r.enter.seq, 0);
	assert_int_equal(r.enter.tgid, TGID);
	next_is(rd, &r, RECORDING_LEAVE);
	assert_int_equal(r.leave.ret, -7);
	assert_int_equal(r.leave.out, 0x8877665544332211);
	assert_int_equal(r.leave.out_ok, 1);
	assert_int_equal(r.leave.seq, 1);
	assert_int_equal(r.inc, INC);
	next_is(rd, &r, RECORDING_END);
	assert_int_equal(reader__next(rd, &r), READER_DONE);
	assert_true(complete(reader__gaps(rd)));
	reader__free(rd);
	tape__free(&t);
}

static void processes_and_losses_are_read_as_written(void **state)
{
	struct reader *rd;
	struct recorded r;
	struct tape t;

	(void)state;
	tape__begin(&t);
	write_proc(&t, ~0ULL);
	r = blank(&t, RECORDING_FORK);
	r.child = 4711;
	recorder__write(t.rec, &r);
	r = blank(&t, RECORDING_LOST);
	r.lost.since = 42;
	r.lost.n[ACL_L_LOG_FULL] = UINT64_MAX;
	recorder__write(t.rec, &r);
	tape__end(&t, true);
	rd = open_good(t.data, t.size);
	next_is(rd, &r, RECORDING_PROC);
	assert_int_equal(r.proc.complete, ~0ULL);
	assert_string_equal(r.proc.comm, "train\033[31m");
	next_is(rd, &r, RECORDING_FORK);
	assert_int_equal(r.child, 4711);
	next_is(rd, &r, RECORDING_LOST);
	assert_int_equal(r.lost.since, 42);
	assert_int_equal(r.lost.n[ACL_L_LOG_FULL], UINT64_MAX);
	assert_int_equal(r.lost.n[ACL_L_FAULT], 0);
	reader__free(rd);
	tape__free(&t);
}

/* Longer than any buffer, and through a pipe that gives a little at a time. */
static void much_is_read_from_a_file(void **state)
{
	uint64_t n = 0, calls = 20000;
	struct recorded r;
	struct reader *rd;
	uint32_t version;
	struct tape t;

	(void)state;
	tape__begin(&t);
	for (uint64_t i = 0; i < calls; i++)
		write_enter(&t, ACL_C_aclrtFreeHost, (const uint64_t[6]){ i });
	tape__end(&t, true);
	assert_true(t.size > 1000000);
	assert_int_equal(lseek(t.fd, 0, SEEK_SET), 0);
	assert_int_equal(reader__open_fd(t.fd, &rd, &version), RECORDING_OK);
	while (reader__next(rd, &r) == READER_RECORD)
		if (r.type == RECORDING_ENTER)
			assert_int_equal(r.enter.args[0], n++);
	assert_int_equal(n, calls);
	assert_true(complete(reader__gaps(rd)));
	reader__free(rd);
	tape__free(&t);
}

/* ---- what became of it --------------------------------------------------- */

static void cut_anywhere_it_tells_how_much_is_missing(void **state)
{
	size_t first, whole;
	struct recording_gaps g;
	uint64_t records, all;
	struct tape t;
	uint8_t *copy;

	(void)state;
	tape__begin(&t);
	tell_history(&t);
	tape__end(&t, true);
	assert_int_equal(read_all(t.data, t.size, &g, &all), RECORDING_OK);
	assert_true(complete(&g));
	first = RECORDING_PROLOGUE + frame_size(t.data + RECORDING_PROLOGUE);
	whole = first;
	for (size_t n = 0; n < t.size; n++) {
		/* of its own, so that a read beyond it is found */
		copy = malloc(n ? n : 1);
		memcpy(copy, t.data, n);
		if (n < first) {
			assert_int_equal(read_all(copy, n, &g, &records),
					 n < 8 ? RECORDING_NOT_ONE : RECORDING_BAD_HEADER);
		} else {
			assert_int_equal(read_all(copy, n, &g, &records), RECORDING_OK);
			if (n == whole + frame_size(t.data + whole))
				whole = n;
			assert_true(g.no_end);
			assert_int_equal(g.tail, n - whole);
			assert_false(g.damaged || g.unread || g.missing);
			assert_true(records < all);
		}
		free(copy);
	}
	tape__free(&t);
}

static void every_flipped_bit_is_noticed(void **state)
{
	struct recording_gaps g;
	uint64_t records;
	struct tape t;

	(void)state;
	tape__begin(&t);
	tell_history(&t);
	tape__end(&t, true);
	for (size_t i = 0; i < 8 * t.size; i++) {
		t.data[i / 8] ^= (uint8_t)(1U << i % 8);
		if (read_all(t.data, t.size, &g, &records) == RECORDING_OK && complete(&g))
			fail_msg("bit %zu of byte %zu", i % 8, i / 8);
		t.data[i / 8] ^= (uint8_t)(1U << i % 8);
	}
	tape__free(&t);
}

static void one_damaged_record_is_skipped(void **state)
{
	struct recording_gaps g;
	uint64_t records, all;
	struct tape t;
	size_t at;

	(void)state;
	tape__begin(&t);
	tell_history(&t);
	tape__end(&t, true);
	read_all(t.data, t.size, &g, &all);
	at = RECORDING_PROLOGUE + frame_size(t.data + RECORDING_PROLOGUE);
	t.data[at + RECORDING_FRAME + 2] ^= 1;
	assert_int_equal(read_all(t.data, t.size, &g, &records), RECORDING_OK);
	assert_int_equal(records, all - 1);
	assert_int_equal(g.damaged, 1);
	assert_int_equal(g.missing, 1);
	assert_false(g.unread || g.no_end);
	/* its length: nothing tells where the next one begins */
	t.data[at] ^= 1;
	read_all(t.data, t.size, &g, &records);
	assert_int_equal(records, 0);
	assert_int_equal(g.unread, t.size - at);
	tape__free(&t);
}

static void zeros_at_the_end_are_no_records(void **state)
{
	struct recording_gaps g;
	uint64_t records, all;
	struct tape t;

	(void)state;
	tape__begin(&t);
	tell_history(&t);
	tape__end(&t, false);
	read_all(t.data, t.size, &g, &all);
	t.data = realloc(t.data, t.size + 4096);
	memset(t.data + t.size, 0, 4096);
	read_all(t.data, t.size + 4096, &g, &records);
	assert_int_equal(records, all);
	assert_true(g.no_end && g.unread == 4096);
	tape__free(&t);
}

static void lengths_never_lead_out_of_the_file(void **state)
{
	static const uint32_t lengths[] = { 0, 1, 11, 12, 65535, 65536, 0x7fffffff, 0xffffffff };
	struct recording_gaps g;
	uint64_t records;
	struct tape t;
	size_t at;

	(void)state;
	tape__begin(&t);
	write_proc(&t, 0);
	tape__end(&t, true);
	at = RECORDING_PROLOGUE + frame_size(t.data + RECORDING_PROLOGUE);
	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		set_le32(t.data + at, lengths[i]);
		read_all(t.data, t.size, &g, &records);
		assert_false(complete(&g));
		set_le32(t.data + RECORDING_PROLOGUE, lengths[i]);
		assert_int_equal(read_all(t.data, t.size, &g, &records), RECORDING_BAD_HEADER);
		set_le32(t.data + RECORDING_PROLOGUE,
			 (uint32_t)(at - RECORDING_PROLOGUE - RECORDING_FRAME));
	}
	tape__free(&t);
}

static void a_short_payload_is_damage_and_a_long_one_is_not(void **state)
{
	struct recording_gaps g;
	uint64_t records;
	struct tape t;
	uint8_t *data;
	size_t at, n;

	(void)state;
	tape__begin(&t);
	write_proc(&t, 0);
	tape__end(&t, false);
	at = RECORDING_PROLOGUE + frame_size(t.data + RECORDING_PROLOGUE);
	n = t.size - at - RECORDING_FRAME;
	for (size_t len = 0; len < n + 8; len++) {
		data = calloc(1, at + RECORDING_FRAME + len);
		memcpy(data, t.data, len < n ? at + RECORDING_FRAME + len : t.size);
		set_le32(data + at, (uint32_t)len);
		sign(data + at);
		read_all(data, at + RECORDING_FRAME + len, &g, &records);
		assert_int_equal(records, len >= n);
		assert_int_equal(g.damaged, len < n);
		free(data);
	}
	tape__free(&t);
}

static void what_is_no_recording_is_refused(void **state)
{
	struct recording_gaps g;
	uint64_t records;
	struct tape t;
	uint8_t save;

	(void)state;
	assert_int_equal(read_all("", 0, &g, &records), RECORDING_NOT_ONE);
	assert_int_equal(read_all("\177ELF and more of that", 20, &g, &records), RECORDING_NOT_ONE);
	tape__begin(&t);
	tape__end(&t, true);
	save = t.data[12];
	t.data[12] = RECORDING_VERSION + 1;
	assert_int_equal(read_all(t.data, t.size, &g, &records), RECORDING_OTHER_VERSION);
	t.data[12] = save;
	memcpy(t.data + 8, "\x0a\x0b\x0c\x0d", 4);
	assert_int_equal(read_all(t.data, t.size, &g, &records), RECORDING_TURNED_AROUND);
	memcpy(t.data + 8, "\x0d\x0c\x0b\x0a", 4);
	assert_int_equal(read_all(t.data, t.size, &g, &records), RECORDING_OK);
	/* what a transfer as text makes of it */
	t.data[7] = '\r';
	assert_int_equal(read_all(t.data, t.size, &g, &records), RECORDING_NOT_ONE);
	tape__free(&t);
}

/* ---- other versions ------------------------------------------------------ */

static uint8_t *find_name(const struct tape *t, const char *name)
{
	uint8_t *p = memmem(t->data, t->size, name, strlen(name));

	while (p && p[-1] != strlen(name)) /* a part of a longer one */
		p = memmem(p + 1, t->size - (size_t)(p + 1 - t->data), name, strlen(name));
	assert_non_null(p);
	return p;
}

static void calls_are_found_by_name(void **state)
{
	struct recording_gaps g;
	struct recorded r;
	struct reader *rd;
	uint64_t records;
	struct tape t;

	(void)state;
	tape__begin(&t);
	write_enter(&t, ACL_C_aclrtCreateEvent, (const uint64_t[6]){ 1 });
	tape__end(&t, true);
	/* a version that numbers them the other way round */
	memcpy(find_name(&t, "aclrtRecordEvent"), "aclrtXxxxxxEvent", 16);
	memcpy(find_name(&t, "aclrtCreateEvent"), "aclrtRecordEvent", 16);
	memcpy(find_name(&t, "aclrtXxxxxxEvent"), "aclrtCreateEvent", 16);
	sign(t.data + RECORDING_PROLOGUE);
	rd = open_good(t.data, t.size);
	next_is(rd, &r, RECORDING_ENTER);
	assert_int_equal(r.enter.call, ACL_C_aclrtRecordEvent);
	reader__free(rd);
	/* one that we have not */
	memcpy(find_name(&t, "aclrtRecordEvent"), "aclrtFutureEvent", 16);
	sign(t.data + RECORDING_PROLOGUE);
	assert_int_equal(read_all(t.data, t.size, &g, &records), RECORDING_OK);
	assert_int_equal(g.unknown_calls, 1);
	assert_string_equal(g.unknown_call, "aclrtFutureEvent");
	tape__free(&t);
}

static void unknown_records_are_skipped_and_counted(void **state)
{
	struct recording_gaps g;
	uint64_t records;
	struct tape t;
	size_t at;

	(void)state;
	tape__begin(&t);
	write_proc(&t, 0);
	write_simple(&t, RECORDING_EXIT);
	tape__end(&t, true);
	at = RECORDING_PROLOGUE + frame_size(t.data + RECORDING_PROLOGUE);
	t.data[at + 4] = 200;
	sign(t.data + at);
	assert_int_equal(read_all(t.data, t.size, &g, &records), RECORDING_OK);
	assert_int_equal(records, 2);
	assert_int_equal(g.unknown, 1);
	tape__free(&t);
}

static void a_full_disk_is_told(void **state)
{
	const struct recorded r = { .type = RECORDING_ROUND };
	int fd = open("/dev/full", O_WRONLY);
	struct recorder *rec;

	(void)state;
	if (fd < 0)
		skip();
	rec = recorder__new(fd, &header);
	recorder__write(rec, &r);
	assert_int_equal(recorder__flush(rec), -ENOSPC);
	recorder__write(rec, &r);
	assert_int_equal(recorder__flush(rec), -ENOSPC);
	assert_int_equal(recorder__bytes(rec), 0);
	recorder__free(rec);
}

/* ---- order --------------------------------------------------------------- */

struct sorted {
	uint64_t times[64];
	uint32_t seqs[64];
	enum recording_type types[64];
	unsigned int n, late;
};

static void note_sorted(void *arg, const struct recorded *r, uint64_t time, bool late)
{
	struct sorted *s = arg;

	assert_true(s->n < 64);
	assert_true(!s->n || s->times[s->n - 1] <= time);
	s->times[s->n] = time;
	s->types[s->n] = r->type;
	s->seqs[s->n++] = r->enter.seq;
	s->late += late;
}

static void add(struct reorder *ro, enum recording_type type, uint64_t time, uint32_t tid,
		uint32_t seq)
{
	struct recorded r = { .type = type, .time = time, .tgid = TGID, .tid = tid };

	if (type == RECORDING_ENTER || type == RECORDING_LEAVE || type == RECORDING_BATCH)
		r.enter.seq = seq;
	assert_int_equal(reorder__add(ro, &r), 0);
}

static void seqs_are(const struct sorted *s, unsigned int n, const uint32_t *seqs)
{
	assert_int_equal(s->n, n);
	for (unsigned int i = 0; i < n; i++)
		assert_int_equal(s->seqs[i], seqs[i]);
}

static void records_come_in_the_order_of_their_times(void **state)
{
	struct sorted s = { .n = 0 };
	struct reorder *ro = reorder__new(note_sorted, &s);

	(void)state;
	add(ro, RECORDING_ENTER, 50, 2, 3);
	add(ro, RECORDING_ENTER, 20, 3, 1);
	add(ro, RECORDING_EXIT, 20, 3, 0);
	add(ro, RECORDING_ENTER, 30, 1, 2);
	add(ro, RECORDING_PROC, 20, 3, 0);
	assert_int_equal(s.n, 0);
	reorder__flush(ro);
	seqs_are(&s, 5, (const uint32_t[]){ 0, 1, 0, 2, 3 });
	assert_int_equal(s.types[0], RECORDING_PROC);
	assert_int_equal(s.types[2], RECORDING_EXIT);
	assert_int_equal(s.late, 0);
	reorder__free(ro);
}

static void a_thread_keeps_its_order(void **state)
{
	struct sorted s = { .n = 0 };
	struct reorder *ro = reorder__new(note_sorted, &s);

	(void)state;
	/* at one time, and even where the clock goes back */
	add(ro, RECORDING_ENTER, 20, 1, 0);
	add(ro, RECORDING_LEAVE, 20, 1, 1);
	add(ro, RECORDING_ENTER, 20, 2, 10);
	add(ro, RECORDING_ENTER, 10, 1, 2);
	add(ro, RECORDING_LEAVE, 20, 2, 11);
	reorder__flush(ro);
	seqs_are(&s, 5, (const uint32_t[]){ 0, 1, 10, 2, 11 });
	reorder__free(ro);
}

static void a_round_lets_out_what_is_complete(void **state)
{
	const uint64_t slack = REORDER_SLACK_NS;
	struct sorted s = { .n = 0 };
	struct reorder *ro = reorder__new(note_sorted, &s);

	(void)state;
	add(ro, RECORDING_ENTER, slack, 1, 1);
	add(ro, RECORDING_ENTER, 3 * slack, 2, 3);
	add(ro, RECORDING_ROUND, 3 * slack, 0, 0);
	assert_int_equal(s.n, 1);
	add(ro, RECORDING_ENTER, 2 * slack, 3, 2);
	add(ro, RECORDING_ROUND, 4 * slack, 0, 0);
	seqs_are(&s, 3, (const uint32_t[]){ 1, 2, 3 });
	/* too late for its place: at once, and told; a batch's copies have an old time */
	add(ro, RECORDING_BATCH, slack, 4, 4);
	assert_int_equal(s.late, 0);
	add(ro, RECORDING_ENTER, slack, 5, 5);
	assert_int_equal(s.late, 1);
	assert_int_equal(s.n, 5);
	reorder__free(ro);
}

static void count_sorted(void *arg, const struct recorded *r, uint64_t time, bool late)
{
	uint64_t *last = arg;

	(void)r;
	assert_true(time >= *last);
	assert_false(late);
	*last = time;
}

static void without_rounds_the_room_is_bounded(void **state)
{
	uint64_t last = 0;
	struct reorder *ro = reorder__new(count_sorted, &last);

	(void)state;
	for (uint64_t i = 0; i < 3ULL * REORDER_MAX; i++) {
		/* blocks of 1000 the wrong way round */
		add(ro, RECORDING_ENTER, (i / 1000 * 1000 + 999 - i % 1000) * 10, 1 + i % 1000, 0);
		assert_true(i <= REORDER_MAX || last > 0);
	}
	reorder__free(ro);
}

/* ---- replay -------------------------------------------------------------- */

/* Replays as the command does; returns what it printed, with its status. */
static char *replay(const struct tape *t, bool calls, bool json, int *status)
{
	char in[64], out[] = "/tmp/replayXXXXXX", *text;
	int fd = mkstemp(out);
	struct options opts = {
		.command = COMMAND_REPLAY,
		.recording = in,
		.output = out,
		.json = json,
		.calls = calls,
		.error_exitcode = -1,
	};
	struct stat st;

	assert_true(fd >= 0);
	snprintf(in, sizeof(in), "/proc/self/fd/%d", t->fd);
	*status = command_replay(&opts);
	assert_int_equal(fstat(fd, &st), 0);
	text = calloc(1, (size_t)st.st_size + 1);
	assert_int_equal(read(fd, text, (size_t)st.st_size), st.st_size);
	close(fd);
	unlink(out);
	return text;
}

static void has(const char *text, const char *part)
{
	if (!strstr(text, part))
		fail_msg("no %s in: %s", part, text);
}

static void lacks(const char *text, const char *part)
{
	if (strstr(text, part))
		fail_msg("%s in: %s", part, text);
}

static void a_history_gives_its_verdict(void **state)
{
	struct tape t;
	char *text;
	int status;

	(void)state;
	tape__begin(&t);
	tell_history(&t);
	tape__end(&t, true);
	text = replay(&t, false, true, &status);
	assert_int_equal(status, 0);
	has(text, "\"rule\":\"free-before-destroy\",\"level\":\"error\",\"evidence\":\"certain\"");
	has(text, "\"evidence\":\"confirmed\""); /* the follow-up */
	has(text, "\"program\":\"train\\u001b[31m\"");
	has(text, "\"host\":\"node-17\"");
	has(text, "\"cut_off\":false");
	has(text, "2023-11-14T22:13:21"); /* by the clock of where it was recorded */
	free(text);
	tape__free(&t);
}

static void a_missing_number_makes_suspected(void **state)
{
	struct tape t;
	char *text;
	int status;

	(void)state;
	for (uint32_t drop = 0; drop < 2 * HISTORY_CALLS; drop++) {
		tape__begin(&t);
		t.drop = drop;
		tell_history(&t);
		tape__end(&t, true);
		text = replay(&t, false, true, &status);
		assert_int_equal(status, 0);
		/* before the release is judged; after it, it stays as sure as it was */
		if (drop <= 14)
			lacks(text, "\"evidence\":\"certain\",\"suspects\":[]");
		/* the last one is missed by nobody */
		has(text, drop == 2 * HISTORY_CALLS - 1 ? "\"lost_calls\":0" : "\"lost_calls\":1");
		free(text);
		tape__free(&t);
	}
}

static void calls_are_listed(void **state)
{
	unsigned int lines = 0;
	struct tape t;
	char *text;
	int status;

	(void)state;
	tape__begin(&t);
	tell_history(&t);
	tape__end(&t, true);
	text = replay(&t, true, false, &status);
	assert_int_equal(status, 0);
	for (const char *p = text; *p; p++)
		lines += *p == '\n';
	assert_int_equal(lines, HISTORY_CALLS);
	has(text, "   0.000008 100/100 aclrtMemcpyAsync(0x12c000000000, 100, 0x120043200040, 100, "
		  "H2D, 0x7f0000001000) = 0 <1.0 us>\n");
	has(text, "aclrtMallocHost([0x120043200000], 4096) = 0");
	has(text, "aclrtQueryEventStatus(0x7f0000003000, [COMPLETE]) = 0");
	has(text, "aclrtFreeHost(0x120043200000) = 507899 (ACL_ERROR_RT_DRV_INTERNAL_ERROR)");
	free(text);
	tape__free(&t);
}

/* Cut anywhere and with any byte changed, the command ends in one of its statuses. */
static void nothing_upsets_the_command(void **state)
{
	struct tape t, part;
	size_t first, step;
	int status;

	(void)state;
	tape__begin(&t);
	tell_history(&t);
	tape__end(&t, true);
	first = RECORDING_PROLOGUE + frame_size(t.data + RECORDING_PROLOGUE);
	for (size_t n = first; n < 2 * t.size - first; n++) {
		part.fd = memfd_create("part", 0);
		step = n < t.size ? n : t.size;
		if (n >= t.size) /* change one, and sign it so that it is believed */
			t.data[n - t.size + first] ^= 0x81;
		for (size_t at = first; at + RECORDING_FRAME <= t.size && n >= t.size;
		     at += frame_size(t.data + at))
			if (frame_size(t.data + at) <= t.size - at)
				sign(t.data + at);
			else
				break;
		assert_int_equal(pwrite(part.fd, t.data, step, 0), (ssize_t)step);
		free(replay(&part, n % 2, n % 3, &status));
		assert_true(status == 0 || status == ACL_EXIT_RECORDING);
		if (n >= t.size)
			assert_int_equal(pread(t.fd, t.data, t.size, 0), (ssize_t)t.size);
		close(part.fd);
	}
	tape__free(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(header_is_read_as_written),
		cmocka_unit_test(calls_are_read_as_written),
		cmocka_unit_test(processes_and_losses_are_read_as_written),
		cmocka_unit_test(much_is_read_from_a_file),
		cmocka_unit_test(cut_anywhere_it_tells_how_much_is_missing),
		cmocka_unit_test(every_flipped_bit_is_noticed),
		cmocka_unit_test(one_damaged_record_is_skipped),
		cmocka_unit_test(zeros_at_the_end_are_no_records),
		cmocka_unit_test(lengths_never_lead_out_of_the_file),
		cmocka_unit_test(a_short_payload_is_damage_and_a_long_one_is_not),
		cmocka_unit_test(what_is_no_recording_is_refused),
		cmocka_unit_test(calls_are_found_by_name),
		cmocka_unit_test(unknown_records_are_skipped_and_counted),
		cmocka_unit_test(a_full_disk_is_told),
		cmocka_unit_test(records_come_in_the_order_of_their_times),
		cmocka_unit_test(a_thread_keeps_its_order),
		cmocka_unit_test(a_round_lets_out_what_is_complete),
		cmocka_unit_test(without_rounds_the_room_is_bounded),
		cmocka_unit_test(a_history_gives_its_verdict),
		cmocka_unit_test(a_missing_number_makes_suspected),
		cmocka_unit_test(calls_are_listed),
		cmocka_unit_test(nothing_upsets_the_command),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
