/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * A heap of what waits.  A record's place in it is its time, but never before
 * that of an earlier record of the same thread: what a thread did stays in
 * order whatever the clock or the file says.
 */
#include "reorder.h"

#include <errno.h>
#include <stdlib.h>

#define HASH_NONFATAL_OOM 1
#include <uthash.h>

/* The place of the last record of a thread. */
struct lane {
	UT_hash_handle hh;
	uint64_t thread; /* tgid, tid */
	uint64_t last;
};

struct waiting {
	uint64_t time;
	uint64_t nr; /* in the order of the file */
	uint8_t rank;
	uint32_t slot;
};

struct reorder {
	reorder_fn fn;
	void *arg;
	struct lane *lanes;
	struct waiting *heap;
	struct recorded *slots;
	uint32_t *unused; /* slots */
	size_t n, cap;
	uint64_t nr;
	uint64_t out;	   /* time of what went out last */
	uint64_t youngest; /* that came in */
};

struct reorder *reorder__new(reorder_fn fn, void *arg)
{
	struct reorder *ro = calloc(1, sizeof(*ro));

	if (!ro)
		return NULL;
	ro->fn = fn;
	ro->arg = arg;
	return ro;
}

void reorder__free(struct reorder *ro)
{
	struct lane *l, *next;

	if (!ro)
		return;
	l = ro->lanes;
	HASH_CLEAR(hh, ro->lanes); /* leaves the entries */
	for (; l; l = next) {
		next = l->hh.next;
		free(l);
	}
	free(ro->heap);
	free(ro->slots);
	free(ro->unused);
	free(ro);
}

/* ---- the heap ------------------------------------------------------------ */

static bool before(const struct waiting *a, const struct waiting *b)
{
	if (a->time != b->time)
		return a->time < b->time;
	if (a->rank != b->rank)
		return a->rank < b->rank;
	return a->nr < b->nr;
}

static int grow(struct reorder *ro)
{
	size_t cap = ro->cap ? 2 * ro->cap : 256;
	struct recorded *slots;
	struct waiting *heap;
	uint32_t *unused;

	heap = reallocarray(ro->heap, cap, sizeof(*heap));
	if (heap)
		ro->heap = heap;
	slots = reallocarray(ro->slots, cap, sizeof(*slots));
	if (slots)
		ro->slots = slots;
	unused = reallocarray(ro->unused, cap, sizeof(*unused));
	if (unused)
		ro->unused = unused;
	if (!heap || !slots || !unused)
		return -ENOMEM;
	/* slot i is free while unused[n..cap) names it */
	for (size_t i = ro->cap; i < cap; i++)
		unused[i] = (uint32_t)i;
	ro->cap = cap;
	return 0;
}

static int push(struct reorder *ro, struct waiting w, const struct recorded *r)
{
	size_t i = ro->n;

	if (ro->n == ro->cap && grow(ro))
		return -ENOMEM;
	w.slot = ro->unused[ro->n++];
	ro->slots[w.slot] = *r;
	for (; i && before(&w, &ro->heap[(i - 1) / 2]); i = (i - 1) / 2)
		ro->heap[i] = ro->heap[(i - 1) / 2];
	ro->heap[i] = w;
	return 0;
}

static void pop(struct reorder *ro)
{
	struct waiting top = ro->heap[0], last = ro->heap[--ro->n];
	size_t i = 0, child;

	for (; (child = 2 * i + 1) < ro->n; i = child) {
		if (child + 1 < ro->n && before(&ro->heap[child + 1], &ro->heap[child]))
			child++;
		if (!before(&ro->heap[child], &last))
			break;
		ro->heap[i] = ro->heap[child];
	}
	ro->heap[i] = last;
	ro->unused[ro->n] = top.slot;
	ro->out = top.time;
	ro->fn(ro->arg, &ro->slots[top.slot], top.time, false);
}

/* ---- places -------------------------------------------------------------- */

static uint8_t rank_of(enum recording_type type)
{
	switch (type) {
	case RECORDING_PROC:
	case RECORDING_COMPLETE:
	case RECORDING_FORK:
	case RECORDING_LOST:
		return 0;
	case RECORDING_EXEC:
	case RECORDING_EXIT:
		return 2;
	default:
		return 1;
	}
}

static bool is_of_thread(enum recording_type type)
{
	return type == RECORDING_ENTER || type == RECORDING_LEAVE || type == RECORDING_BATCH ||
	       type == RECORDING_THREAD_EXIT;
}

static int lane__pass(struct reorder *ro, const struct recorded *r, uint64_t *time)
{
	uint64_t thread = (uint64_t)r->tgid << 32 | r->tid;
	struct lane *l;

	HASH_FIND(hh, ro->lanes, &thread, sizeof(thread), l);
	if (!l) {
		l = calloc(1, sizeof(*l));
		if (!l)
			return -ENOMEM;
		l->thread = thread;
		HASH_ADD(hh, ro->lanes, thread, sizeof(l->thread), l);
		if (!l->hh.tbl) {
			free(l);
			return -ENOMEM;
		}
	}
	if (l->last > *time)
		*time = l->last;
	l->last = *time;
	if (r->type == RECORDING_THREAD_EXIT) {
		HASH_DEL(ro->lanes, l);
		free(l);
	}
	return 0;
}

static void ripe(struct reorder *ro, uint64_t time)
{
	while (ro->n && ro->heap[0].time <= time)
		pop(ro);
}

int reorder__add(struct reorder *ro, const struct recorded *r)
{
	struct waiting w = { .time = r->time, .nr = ro->nr++, .rank = rank_of(r->type) };
	int err;

	if (r->type == RECORDING_ROUND) {
		if (r->time > REORDER_SLACK_NS)
			ripe(ro, r->time - REORDER_SLACK_NS);
		return 0;
	}
	if (r->type == RECORDING_LOST)
		w.time = r->lost.since;
	if (is_of_thread(r->type) && lane__pass(ro, r, &w.time))
		return -ENOMEM;
	if (w.time > ro->youngest)
		ro->youngest = w.time;
	if (w.time < ro->out) {
		/* the copies of a batch carry the time of its entry, and wait for its return */
		ro->fn(ro->arg, r, ro->out, is_of_thread(r->type) && r->type != RECORDING_BATCH);
		return 0;
	}
	err = push(ro, w, r);
	if (ro->n > REORDER_MAX)
		pop(ro);
	return err;
}

void reorder__flush(struct reorder *ro)
{
	while (ro->n)
		pop(ro);
}

uint64_t reorder__oldest(const struct reorder *ro)
{
	return ro->out;
}

uint64_t reorder__youngest(const struct reorder *ro)
{
	return ro->youngest;
}
