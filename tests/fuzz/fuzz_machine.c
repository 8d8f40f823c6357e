/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The state machine driven by random operations, with what has to hold
 * whatever a program does: counts are conserved, nothing is more released
 * than it was made, and tables empty when the process goes.  Few handles,
 * addresses and threads are used, so that they meet.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "store.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define THREADS 3
#define TGID 100

struct world {
	struct store *st;
	uint64_t pos;
	struct {
		uint64_t sp[8];
		unsigned int depth;
	} threads[THREADS];
	uint64_t violations;
};

static void on_violation(void *arg, const struct acl_violation *v)
{
	struct world *w = arg;

	if (!v->rule || v->rule >= ACL_RULE_MAX || v->level >= ACL_LEVEL_MAX ||
	    v->evidence >= ACL_EV_MAX || v->hazard >= ACL_HZ_MAX)
		abort();
	if (v->h.time > w->pos || v->copy.pos > v->h.time || v->poll.pos > v->h.time)
		abort();
	if (v->evidence == ACL_EV_CERTAIN && v->suspects)
		abort();
	w->violations++;
}

/* An argument that is likely to be one that was used before. */
static uint64_t pick(uint8_t byte)
{
	static const uint64_t values[] = { 0,	   1,	   2,	    0x1000,  0x1040, 0x2000, 0x2100,
					   0x3000, 0x4000, 0x10000, 0x10040, 4096,   100,    ~0ULL };

	return values[byte % (sizeof(values) / sizeof(values[0]))];
}

static void enter(struct world *w, unsigned int t, const uint8_t *op)
{
	struct acl_enter in = {
		.pos = w->pos,
		.tgid = TGID,
		.tid = TGID + t,
		.call = op[1] % ACL_C_MAX,
	};

	if (w->threads[t].depth >= 8)
		return;
	in.sp = 0x7000 - 0x100 * w->threads[t].depth - (op[2] & 0x80 ? 0 : 0x40);
	for (int i = 0; i < 6; i++)
		in.args[i] = pick(op[2 + i]);
	w->threads[t].sp[w->threads[t].depth++] = in.sp;
	store__enter(w->st, &in);
}

static void leave(struct world *w, unsigned int t, const uint8_t *op)
{
	struct acl_leave out = {
		.pos = w->pos,
		.tgid = TGID,
		.tid = TGID + t,
		.out = pick(op[2]),
		.out_ok = op[3] % 8 != 0,
		.ret = op[4] % 4 == 0 ? 507899 : 0,
	};

	if (!w->threads[t].depth)
		return;
	/* now and then several are left at once, as by longjmp */
	w->threads[t].depth -= op[5] % 16 == 0 ? w->threads[t].depth : 1;
	out.sp = w->threads[t].sp[w->threads[t].depth];
	store__leave(w->st, &out);
}

static void check(struct world *w)
{
	const struct acl_proc *p = store__proc(w->st, TGID);
	const struct acl_calls *calls = store__calls(w->st);

	if (!p)
		return;
	if (p->bufs_gone > p->bufs_made || p->bytes_gone > p->bytes_made ||
	    p->events_gone > p->events_made || p->streams_gone > p->streams_made)
		abort();
	if (store__used(w->st, STORE_BUFS) != p->bufs_made - p->bufs_gone ||
	    store__used(w->st, STORE_EVENTS) != p->events_made - p->events_gone)
		abort();
	for (int i = 0; i < ACL_C_MAX; i++)
		if (calls[i].returned > calls[i].entered)
			abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct world w = { .pos = 1000 };
	struct store_cfg cfg = {
		.acl = { .window = 1000, .rules = ACL_RULES_ALL, .strict = 1, .all = 1 },
		.arg = &w,
		.violation = on_violation,
	};

	w.st = store__new(&cfg);
	for (; w.st && size >= 8; data += 8, size -= 8) {
		unsigned int t = data[0] % THREADS;

		w.pos += data[0] / 16; /* now and then equal positions */
		if (data[0] & 8)
			leave(&w, t, data);
		else if (data[1] == 255)
			store__thread_exit(w.st, TGID, TGID + t, w.pos);
		else
			enter(&w, t, data);
		check(&w);
	}
	if (w.st) {
		store__exit(w.st, TGID, w.pos);
		if (store__used(w.st, STORE_BUFS) || store__used(w.st, STORE_EVENTS))
			abort();
	}
	store__free(w.st);
	return 0;
}
