/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Runs histories through the state machine on its user-space store, one store a
 * history, for check.py.  Lines of words on stdin, numbers in decimal:
 *
 *   H WINDOW COMPLETE LATE     a history begins; process 1 is in scope
 *   N PID TID                  the thread's next batch copy has these entries:
 *   B PID TID DST SRC COUNT
 *   E POS PID TID SP CALL A0 A1 A2 A3 A4 A5
 *   L POS PID TID SP RET OUT OUT_OK
 *   X POS PID                  exit
 *   C POS PID                  exec
 *   T POS PID TID              thread exit
 *   F POS PID CHILD            fork
 *   .                          the history ends
 *
 * and on stdout:
 *
 *   V POS PID TID CALL RULE LEVEL EVIDENCE SUSPECTS RET ID PTR BASE ENDED STREAM COPY POLL HANDLE
 *   S ID RET                   what a judged release returned
 *   P POS PID BUFFERS EVENTS   a process ended, with so many of each alive
 *   O NUMBER                   of bounds that were exceeded
 *   .
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store.h"

#define BATCHES 16
#define PIDS 8
#define TIDS 1024

struct batch {
	__u32 nr;
	__u64 dst[BATCHES], src[BATCHES], count[BATCHES];
};

static struct batch batches[PIDS][TIDS];
static __u32 now_pid, now_tid;

static void on_violation(void *arg, const struct acl_violation *v)
{
	(void)arg;
	printf("V %llu %u %u %u %u %u %u %u %d %llu %llu %llu %llu %llu %llu %llu %llu\n",
	       v->h.time, v->h.tgid, v->h.tid, v->call, v->rule, v->level, v->evidence, v->suspects,
	       v->ret, v->id, v->ptr, v->buf.base, v->ended.base, v->stream.handle, v->copy.pos,
	       v->rule == ACL_RULE_FREE_AFTER_STREAM_QUERY ? v->stream.query_pos : v->poll.pos,
	       v->poll.handle);
}

static void on_sequel(void *arg, const struct acl_sequel *s)
{
	(void)arg;
	if (s->h.type == ACL_REC_RELEASED)
		printf("S %llu %d\n", s->id, s->ret);
}

static void on_proc(void *arg, const struct acl_gone *g)
{
	(void)arg;
	if (g->h.type != ACL_REC_PROC)
		printf("P %llu %u %llu %llu\n", g->h.time, g->h.tgid,
		       g->proc.bufs_made - g->proc.bufs_gone,
		       g->proc.events_made - g->proc.events_gone);
}

static struct batch *batch__of(__u32 pid, __u32 tid)
{
	if (pid >= PIDS || tid >= TIDS) {
		fprintf(stderr, "process %u or thread %u out of range\n", pid, tid);
		exit(2);
	}
	return &batches[pid][tid];
}

static int on_batch(void *arg, const struct acl_frame *f, __u32 i, struct acl_enter *one)
{
	const struct batch *b = batch__of(now_pid, now_tid);

	(void)arg;
	(void)f;
	if (i >= b->nr)
		return -EFAULT;
	one->args[0] = b->dst[i];
	one->args[2] = b->src[i];
	one->args[3] = b->count[i];
	return 0;
}

static struct store *begin(__u64 window, __u64 complete, __u64 late)
{
	struct store_cfg cfg = {
		.acl = { .window = window, .rules = ACL_RULES_ALL, .strict = 1, .follow = 1 },
		.violation = on_violation,
		.sequel = on_sequel,
		.batch = on_batch,
		.proc = on_proc,
	};
	struct acl_target target = { .complete = complete, .late = late };
	struct store *st = store__new(&cfg);

	if (!st || store__target(st, 1, &target)) {
		fprintf(stderr, "out of memory\n");
		exit(2);
	}
	memset(batches, 0, sizeof(batches));
	return st;
}

static void enter(struct store *st, const __u64 *n)
{
	struct acl_enter in = { .pos = n[0], .tgid = n[1], .tid = n[2], .sp = n[3], .call = n[4] };

	memcpy(in.args, n + 5, sizeof(in.args));
	store__enter(st, &in);
}

static void leave(struct store *st, const __u64 *n)
{
	struct acl_leave out = {
		.pos = n[0],
		.tgid = n[1],
		.tid = n[2],
		.sp = n[3],
		.ret = (__s32)n[4],
		.out = n[5],
		.out_ok = n[6],
	};

	now_pid = n[1];
	now_tid = n[2];
	store__leave(st, &out);
}

static void add_batch(const __u64 *n)
{
	struct batch *b = batch__of(n[0], n[1]);

	if (b->nr >= BATCHES) {
		fprintf(stderr, "batch too long\n");
		exit(2);
	}
	b->dst[b->nr] = n[2];
	b->src[b->nr] = n[3];
	b->count[b->nr++] = n[4];
}

int main(void)
{
	struct store *st = NULL;
	char line[512];

	while (fgets(line, sizeof(line), stdin)) {
		__u64 n[12] = { 0 };
		char *at = line + 1, *end;

		for (int i = 0; i < 12; i++, at = end) {
			n[i] = strtoull(at, &end, 10);
			if (end == at)
				break;
		}
		if (line[0] == 'H') {
			st = begin(n[0], n[1], n[2]);
			continue;
		}
		if (!st) {
			fprintf(stderr, "no history begun: %s", line);
			return 2;
		}
		switch (line[0]) {
		case 'N':
			batch__of(n[0], n[1])->nr = 0;
			break;
		case 'B':
			add_batch(n);
			break;
		case 'E':
			enter(st, n);
			break;
		case 'L':
			leave(st, n);
			break;
		case 'X':
			store__exit(st, n[1], n[0]);
			break;
		case 'C':
			store__exec(st, n[1], n[0]);
			break;
		case 'T':
			store__thread_exit(st, n[1], n[2], n[0]);
			break;
		case 'F':
			store__fork(st, n[1], n[2], n[0]);
			break;
		case '.':
			printf("O %llu\n.\n", store__losses(st)[ACL_L_OVERFLOW]);
			fflush(stdout);
			store__free(st);
			st = NULL;
			break;
		default:
			fprintf(stderr, "what is this: %s", line);
			return 2;
		}
	}
	return 0;
}
