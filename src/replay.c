/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * aclguard replay: the verdicts of a recording, by the same state machine that
 * gave them in the kernel, on the store of user space.  What the recording
 * lacks makes suspected what is said after the gap, and is told at the end.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define HASH_NONFATAL_OOM 1
#include <uthash.h>

#include "calllist.h"
#include "commands.h"
#include "escape.h"
#include "exits.h"
#include "json.h"
#include "leaks.h"
#include "names.h"
#include "options.h"
#include "recording.h"
#include "reorder.h"
#include "report_text.h"
#include "sites.h"
#include "store.h"
#include "story.h"
#include "summary.h"
#include "suppress_file.h"

#define PREFIX "==aclguard== "

/* What only the recorder can lose; all else the store finds again for itself. */
static const enum acl_loss of_recorder[] = { ACL_L_PROC_FULL, ACL_L_THREAD_FULL, ACL_L_LOG_FULL };

struct process {
	UT_hash_handle hh;
	uint32_t tgid;
	bool lost; /* records of it are missing */
	uint64_t inc;
	char comm[ACL_COMM_LEN];
};

struct thread {
	UT_hash_handle hh;
	uint64_t id; /* tgid, tid */
	uint64_t inc;
	uint32_t seq; /* expected next */
	uint32_t n;   /* copies of a batch that await its return */
	struct acl_enter *copies;
};

struct replay {
	const struct options *opts;
	struct reader *reader;
	struct reorder *order;
	struct store *store;
	struct stories *stories;
	struct sites *sites;
	struct suppressions *suppress;
	struct calllist *list; /* NULL: not asked for */
	struct leaks *leaks;
	struct report_cfg report;
	struct summary summary;
	struct process *processes; /* by tgid */
	struct thread *threads;
	struct thread *returning; /* whose LEAVE is being handled */
	struct recorded lost;	  /* the last LOST */
	uint64_t gaps;		  /* entries and returns that seq tells are missing */
	uint64_t late;		  /* records that came too late to be put in order */
	uint64_t first, last;	  /* times */
	FILE *output;
	int err;
};

/* ---- what is missing ----------------------------------------------------- */

static void suspect(struct replay *rp, struct process *p)
{
	p->lost = true;
	store__suspect(rp->store, p->tgid, ACL_S_LOST);
}

static void suspect_all(struct replay *rp)
{
	struct process *p;

	for (p = rp->processes; p; p = p->hh.next)
		suspect(rp, p);
	if (rp->list)
		calllist__gap(rp->list, NULL, 0);
}

/*
 * Something unreadable: anything that had not yet gone out may be missing, and
 * a process that is still to come may have its beginning there.
 */
static int damaged(struct replay *rp)
{
	struct recorded mark = { .type = RECORDING_LOST };
	int err;

	mark.lost.since = reorder__oldest(rp->order);
	err = reorder__add(rp->order, &mark);
	mark.lost.since = reorder__youngest(rp->order);
	return err ? err : reorder__add(rp->order, &mark);
}

/* ---- processes and threads ----------------------------------------------- */

static struct process *process__find(struct replay *rp, uint32_t tgid)
{
	struct process *p;

	HASH_FIND(hh, rp->processes, &tgid, sizeof(tgid), p);
	return p;
}

static struct process *process__add(struct replay *rp, uint32_t tgid)
{
	struct process *p = process__find(rp, tgid);

	if (p)
		return p;
	p = calloc(1, sizeof(*p));
	if (!p)
		return NULL;
	p->tgid = tgid;
	HASH_ADD(hh, rp->processes, tgid, sizeof(p->tgid), p);
	if (!p->hh.tbl) {
		free(p);
		return NULL;
	}
	return p;
}

static int process__begin(struct replay *rp, const struct recorded *r, uint64_t complete, bool late)
{
	const struct acl_target t = { .complete = complete, .late = late };
	struct process *p = process__find(rp, r->tgid);

	if (p && p->inc != r->inc) /* its end was lost */
		store__exit(rp->store, r->tgid, r->time);
	p = process__add(rp, r->tgid);
	if (!p || store__target(rp->store, r->tgid, &t))
		return -ENOMEM;
	p->lost = false;
	p->inc = r->inc;
	p->comm[0] = '\0';
	return 0;
}

static int on_proc(struct replay *rp, const struct recorded *r)
{
	struct process *p;
	int err = process__begin(rp, r, r->proc.complete, r->proc.late);

	if (err)
		return err;
	p = process__find(rp, r->tgid);
	memcpy(p->comm, r->proc.comm, sizeof(p->comm));
	return 0;
}

static int on_complete(struct replay *rp, const struct recorded *r)
{
	const struct acl_proc *p = store__proc(rp->store, r->tgid);
	const struct acl_target t = { .complete = r->proc.complete, .late = p ? p->late : 1 };

	/* of one that has not called yet, PROC will say it */
	return store__target(rp->store, r->tgid, &t) ? -ENOMEM : 0;
}

/* Of an incarnation before the present one, it says nothing of this. */
static void on_end(struct replay *rp, const struct recorded *r)
{
	struct process *p = process__find(rp, r->tgid);

	if (p && r->inc && p->inc != r->inc)
		return;
	if (r->type == RECORDING_EXEC)
		store__exec(rp->store, r->tgid, r->time);
	else
		store__exit(rp->store, r->tgid, r->time);
	if (p) {
		HASH_DEL(rp->processes, p);
		free(p);
	}
}

static void thread__drop(struct replay *rp, struct thread *th)
{
	HASH_DEL(rp->threads, th);
	free(th->copies);
	free(th);
}

static struct thread *thread__find(struct replay *rp, const struct recorded *r)
{
	uint64_t id = (uint64_t)r->tgid << 32 | r->tid;
	struct thread *th;

	HASH_FIND(hh, rp->threads, &id, sizeof(id), th);
	return th;
}

static struct thread *thread__add(struct replay *rp, const struct recorded *r)
{
	struct thread *th = calloc(1, sizeof(*th));

	if (!th)
		return NULL;
	th->id = (uint64_t)r->tgid << 32 | r->tid;
	th->inc = r->inc;
	HASH_ADD(hh, rp->threads, id, sizeof(th->id), th);
	if (!th->hh.tbl) {
		free(th);
		return NULL;
	}
	return th;
}

/* ---- calls --------------------------------------------------------------- */

/* Who calls.  Where its PROC is missing, all of it is suspected. */
static struct process *caller(struct replay *rp, const struct recorded *r)
{
	struct process *p = process__find(rp, r->tgid);

	if (p && p->inc == r->inc)
		return p;
	if (process__begin(rp, r, 0, false))
		return NULL;
	p = process__find(rp, r->tgid);
	p->lost = true;
	return p;
}

/* Compares with the number expected.  Returns NULL where there is no memory. */
static struct thread *count_seq(struct replay *rp, struct process *p, const struct recorded *r,
				uint32_t seq)
{
	struct thread *th = thread__find(rp, r);
	uint32_t gap;

	if (th && (th->inc != r->inc || (!seq && th->seq))) {
		/* the number of a thread whose end was lost, or of another process */
		store__thread_exit(rp->store, r->tgid, r->tid, r->time);
		thread__drop(rp, th);
		th = NULL;
	}
	if (!th)
		th = thread__add(rp, r);
	if (!th)
		return NULL;
	gap = seq - th->seq;
	if (gap) {
		/* backwards: the file was tampered with, at least this one is out of place */
		gap = gap > UINT32_MAX / 2 ? 1 : gap;
		rp->gaps += gap;
		suspect(rp, p);
		if (rp->list)
			calllist__gap(rp->list, r, gap);
	}
	th->seq = seq + 1;
	return th;
}

static int on_enter(struct replay *rp, const struct recorded *r)
{
	struct process *p = caller(rp, r);
	struct thread *th = p ? count_seq(rp, p, r, r->enter.seq) : NULL;

	if (!th)
		return -ENOMEM;
	th->n = 0;
	store__enter(rp->store, &r->enter);
	return rp->list ? calllist__enter(rp->list, r) : 0;
}

static int on_batch(struct replay *rp, const struct recorded *r)
{
	struct process *p = caller(rp, r);
	struct thread *th = p ? count_seq(rp, p, r, r->enter.seq) : NULL;

	if (th && !th->copies)
		th->copies = calloc(ACL_BATCH_MAX, sizeof(*th->copies));
	if (!th || !th->copies)
		return -ENOMEM;
	if (th->n < ACL_BATCH_MAX)
		th->copies[th->n++] = r->enter;
	return 0;
}

static int on_leave(struct replay *rp, const struct recorded *r)
{
	struct process *p = caller(rp, r);
	struct thread *th = p ? count_seq(rp, p, r, r->leave.seq) : NULL;

	if (!th)
		return -ENOMEM;
	rp->returning = th;
	store__leave(rp->store, &r->leave);
	rp->returning = NULL;
	if (rp->list)
		calllist__leave(rp->list, r, th->copies, th->n);
	th->n = 0;
	return 0;
}

static void on_thread_exit(struct replay *rp, const struct recorded *r)
{
	struct thread *th = thread__find(rp, r);

	store__thread_exit(rp->store, r->tgid, r->tid, r->time);
	if (rp->list)
		calllist__thread_exit(rp->list, r->tgid, r->tid);
	if (th)
		thread__drop(rp, th);
}

static void on_late(struct replay *rp, const struct recorded *r)
{
	rp->late++;
	store__suspect(rp->store, r->tgid, ACL_S_RACED);
}

static int replay__record(struct replay *rp, const struct recorded *r)
{
	switch (r->type) {
	case RECORDING_ENTER:
		return on_enter(rp, r);
	case RECORDING_LEAVE:
		return on_leave(rp, r);
	case RECORDING_BATCH:
		return on_batch(rp, r);
	case RECORDING_THREAD_EXIT:
		on_thread_exit(rp, r);
		return 0;
	case RECORDING_PROC:
		return on_proc(rp, r);
	case RECORDING_COMPLETE:
		return on_complete(rp, r);
	case RECORDING_EXEC:
	case RECORDING_EXIT:
		on_end(rp, r);
		return 0;
	case RECORDING_FORK:
		store__fork(rp->store, r->tgid, r->child, r->time);
		return 0;
	case RECORDING_LOST:
		suspect_all(rp);
		return 0;
	default:
		return 0;
	}
}

/* A record in its place. */
static void on_record(void *arg, const struct recorded *r, uint64_t time, bool late)
{
	struct replay *rp = arg;
	int err;

	if (late)
		on_late(rp, r);
	stories__timeout(rp->stories, time);
	err = replay__record(rp, r);
	if (err && !rp->err)
		rp->err = err;
}

/* ---- what the store says ------------------------------------------------- */

static void on_violation(void *arg, const struct acl_violation *v)
{
	struct replay *rp = arg;
	const struct process *p = process__find(rp, v->h.tgid);
	struct acl_violation named = *v;

	if (p)
		memcpy(named.comm, p->comm, sizeof(named.comm));
	stories__violation(rp->stories, &named, sizeof(named));
}

static void on_sequel(void *arg, const struct acl_sequel *s)
{
	struct replay *rp = arg;

	stories__sequel(rp->stories, s, sizeof(*s));
}

static int on_copy(void *arg, const struct acl_frame *f, __u32 i, struct acl_enter *one)
{
	const struct thread *th = ((struct replay *)arg)->returning;

	(void)f;
	if (!th || i >= th->n)
		return -EFAULT; /* it could not be read, or was lost */
	*one = th->copies[i];
	return 0;
}

struct alive {
	struct leaks *leaks;
	struct leaks_of of;
};

static void on_alive_buf(void *arg, const struct acl_buf *b)
{
	const struct alive *al = arg;

	leaks__buf(al->leaks, &al->of, b);
}

static void on_alive_event(void *arg, const struct acl_event *e)
{
	const struct alive *al = arg;

	leaks__event(al->leaks, &al->of, e);
}

/* Its end, or that of the recording: the last numbers, and what it has left. */
static void process__over(struct replay *rp, const struct acl_proc *proc, uint64_t time)
{
	const struct process *p = process__find(rp, proc->tgid);
	struct alive al = {
		.leaks = rp->leaks,
		.of = {
			.inc = proc->inc,
			.pid = (pid_t)proc->tgid,
			.comm = p ? p->comm : "",
			.now = time,
		},
	};

	summary__add(&rp->summary, proc);
	store__alive(rp->store, proc->tgid, &al, on_alive_buf, on_alive_event);
}

static void on_life(void *arg, const struct acl_gone *g)
{
	struct replay *rp = arg;
	const struct process *p;

	if (g->h.type == ACL_REC_PROC) {
		rp->summary.processes++;
		p = process__find(rp, g->h.tgid);
		if (p && p->lost)
			store__suspect(rp->store, g->h.tgid, ACL_S_LOST);
		return;
	}
	process__over(rp, &g->proc, g->h.time);
	stories__process_gone(rp->stories, g->h.inc);
}

/* ---- the end ------------------------------------------------------------- */

/* What keeps the replay from being all that happened.  X(key, number, words) */
#define GAPS(X)                                                                                  \
	X("incomplete_tail_bytes", g->tail, "bytes of an incomplete record at its end")          \
	X("damaged_records", g->damaged, "damaged records, skipped")                             \
	X("unread_bytes", g->unread, "bytes not read, as what stands before them is damaged")    \
	X("bytes_after_end", g->after_end, "bytes behind its end, not read")                     \
	X("missing_records", g->missing, "records that its end counts and that are not there")   \
	X("unknown_records", g->unknown, "records of a type that this version does not know")    \
	X("unknown_calls", g->unknown_calls, "entries of calls that this version does not know") \
	X("lost_calls", rp->gaps, "entries and returns that were lost, by their numbers")        \
	X("late_records", rp->late, "records that came too late to be put in order")

static bool has_gaps(const struct replay *rp)
{
	const struct recording_gaps *g = reader__gaps(rp->reader);
	bool any = g->no_end;

#define ANY(key, n, words) any |= (n) > 0;
	GAPS(ANY)
#undef ANY
	return any;
}

static void summarize(struct replay *rp)
{
	const struct acl_proc *proc;
	struct process *p;

	for (p = rp->processes; p; p = p->hh.next) {
		proc = store__proc(rp->store, p->tgid);
		if (proc)
			process__over(rp, proc, rp->last);
	}
	memcpy(rp->summary.calls, store__calls(rp->store), sizeof(rp->summary.calls));
	memcpy(rp->summary.losses, store__losses(rp->store), sizeof(rp->summary.losses));
	for (size_t i = 0; i < sizeof(of_recorder) / sizeof(of_recorder[0]); i++)
		rp->summary.losses[of_recorder[i]] += rp->lost.lost.n[of_recorder[i]];
	rp->summary.unknown_records = reader__gaps(rp->reader)->unknown;
	rp->summary.incomplete = has_gaps(rp);
	rp->summary.duration_ns = rp->last > rp->first ? rp->last - rp->first : 0;
	rp->summary.counts = stories__counts(rp->stories);
}

static int print_gaps(const struct replay *rp)
{
	const struct recording_header *h = reader__header(rp->reader);
	const struct recording_gaps *g = reader__gaps(rp->reader);
	char host[4 * RECORDING_STR_MAX + 1], kernel[4 * RECORDING_STR_MAX + 1];
	char arch[4 * RECORDING_STR_MAX + 1];
	struct report_out o;

	report_out__init(&o, rp->list ? stderr : rp->output); /* a list is of calls only */
	escape__str(host, sizeof(host), h->host);
	escape__str(kernel, sizeof(kernel), h->kernel);
	escape__str(arch, sizeof(arch), h->arch);
	report_out__printf(&o, PREFIX "recorded on %s (%s, Linux %s)\n", host, arch, kernel);
	if (g->no_end)
		report_out__printf(&o, PREFIX "the recording was cut off: it has no end\n");
#define PRINT(key, n, words)                                                                       \
	if (n)                                                                                     \
		report_out__printf(&o, PREFIX "the recording has %" PRIu64 " %s\n", (uint64_t)(n), \
				   words);
	GAPS(PRINT)
#undef PRINT
	return report_out__flush(&o);
}

static int put_gaps(const struct replay *rp)
{
	const struct recording_header *h = reader__header(rp->reader);
	const struct recording_gaps *g = reader__gaps(rp->reader);
	struct json *j = rp->report.json;
	uint64_t records = 0;

	for (int i = 0; i < RECORDING_TYPES; i++)
		records += g->n[i];
	json__begin(j);
	json__str(j, "type", "recording");
	json__str(j, "host", h->host);
	json__str(j, "architecture", h->arch);
	json__str(j, "kernel", h->kernel);
	json__str(j, "version", h->version);
	json__u64(j, "page_size", h->page_size);
	json__u64(j, "start_ns", h->start);
	json__s64(j, "wall_offset_ns", h->wall_offset);
	json__u64(j, "records", records);
	json__bool(j, "cut_off", g->no_end);
#define PUT(key, n, words) json__u64(j, key, n);
	GAPS(PUT)
#undef PUT
	json__str(j, "unknown_call", g->unknown_calls ? g->unknown_call : NULL);
	json__begin_object(j, "lost_while_recording");
	for (int i = 0; i < ACL_L_MAX; i++)
		json__u64(j, acl_loss__name(i), rp->lost.lost.n[i]);
	json__end_object(j);
	return json__end(j);
}

static int replay__finish(struct replay *rp)
{
	int err;

	stories__finish(rp->stories);
	summarize(rp);
	if (rp->list)
		calllist__finish(rp->list);
	err = rp->report.json ? put_gaps(rp) : print_gaps(rp);
	if (!err && !rp->list)
		err = leaks__print(rp->leaks);
	if (!err && !rp->list)
		err = summary__print(&rp->report, &rp->summary);
	if (!err)
		err = stories__write_error(rp->stories);
	if (!err && rp->list)
		err = calllist__error(rp->list);
	return err;
}

/* ---- opening ------------------------------------------------------------- */

static int open_store(struct replay *rp)
{
	const struct recording_header *h = reader__header(rp->reader);
	const struct store_cfg cfg = {
		.acl = {
			.window = rp->report.window_ns,
			.rules = rp->list ? 0 : rp->report.rules,
			.strict = rp->report.strict,
			.follow = 1,
		},
		.arg = rp,
		.violation = on_violation,
		.sequel = on_sequel,
		.batch = on_copy,
		.proc = on_life,
	};

	rp->first = rp->last = h->start;
	rp->store = store__new(&cfg);
	rp->order = reorder__new(on_record, rp);
	return rp->store && rp->order ? 0 : -ENOMEM;
}

static int open_report(struct replay *rp)
{
	const struct recording_header *h = reader__header(rp->reader);
	const struct options *opts = rp->opts;
	struct report_cfg *cfg = &rp->report;

	cfg->rules = opts->rules_given ? opts->rules : h->rules;
	cfg->window_ns = opts->window_given ? opts->window : h->window;
	cfg->strict = opts->strict || h->strict;
	cfg->verbose = opts->verbose;
	cfg->fold = opts->fold;
	cfg->gen_suppressions = opts->gen_suppressions;
	cfg->suppress = rp->suppress;
	cfg->sites = rp->sites = sites__new();
	if (!cfg->sites)
		return -ENOMEM;
	cfg->wall_offset_ns = h->wall_offset ? h->wall_offset : 1; /* 0 would be here and now */
	if (opts->json)
		cfg->json = json__new(rp->output);
	else
		cfg->text = rp->output;
	if (opts->json && !cfg->json)
		return -ENOMEM;
	rp->stories = stories__new(cfg);
	rp->leaks = leaks__new(cfg);
	if (opts->calls)
		rp->list = calllist__new(cfg);
	if (!rp->stories || !rp->leaks || (opts->calls && !rp->list))
		return -ENOMEM;
	return open_store(rp);
}

static int cannot_open(const char *path, enum recording_status status, uint32_t version)
{
	switch (status) {
	case RECORDING_CANNOT_READ:
		return refuse(ACL_EXIT_RECORDING, "cannot read %s: %s", path, strerror(errno));
	case RECORDING_TURNED_AROUND:
		return refuse(ACL_EXIT_RECORDING,
			      "%s is a recording whose bytes were swapped; copy it again as it is",
			      path);
	case RECORDING_OTHER_VERSION:
		return refuse(ACL_EXIT_RECORDING,
			      "%s is a recording of format %" PRIu32
			      ", and this aclguard reads %d.\n"
			      "Replay it with the version of aclguard that made it.",
			      path, version, RECORDING_VERSION);
	case RECORDING_BAD_HEADER:
		return refuse(
			ACL_EXIT_RECORDING,
			"%s is a recording that was cut off or damaged at its very beginning: "
			"nothing in it can be read",
			path);
	default:
		return refuse(ACL_EXIT_RECORDING, "%s is no recording of aclguard", path);
	}
}

static int open_recording(struct replay *rp, int *fd)
{
	const char *path = rp->opts->recording;
	enum recording_status status = RECORDING_CANNOT_READ;
	uint32_t version = 0;

	*fd = strcmp(path, "-") ? open(path, O_RDONLY | O_CLOEXEC) : dup(STDIN_FILENO);
	if (*fd >= 0)
		status = reader__open_fd(*fd, &rp->reader, &version);
	return status == RECORDING_OK ? 0 : cannot_open(path, status, version);
}

static int open_output(struct replay *rp)
{
	rp->output = rp->opts->output ? fopen(rp->opts->output, "ae") : stdout;
	return rp->output ? 0
			  : refuse(ACL_EXIT_OUTPUT, "cannot write reports to %s: %s",
				   rp->opts->output, strerror(errno));
}

/* ---- the command --------------------------------------------------------- */

/* Returns whether calls were lost since the last such record. */
static bool take_losses(struct replay *rp, const struct recorded *r)
{
	bool grown = false;

	for (size_t i = 0; i < sizeof(of_recorder) / sizeof(of_recorder[0]); i++)
		grown |= r->lost.n[of_recorder[i]] != rp->lost.lost.n[of_recorder[i]];
	rp->lost = *r;
	return grown;
}

static int take(struct replay *rp, const struct recorded *r)
{
	if (r->time > rp->last)
		rp->last = r->time;
	if (r->type == RECORDING_END || (r->type == RECORDING_LOST && !take_losses(rp, r)))
		return 0;
	return reorder__add(rp->order, r);
}

static int replay__run(struct replay *rp)
{
	enum reader_next next;
	struct recorded r;
	int err = 0;

	while (!err && !rp->err && (next = reader__next(rp->reader, &r)) != READER_DONE)
		err = next == READER_DAMAGED ? damaged(rp) : take(rp, &r);
	if (!err)
		err = rp->err ? rp->err : reader__error(rp->reader);
	reorder__flush(rp->order);
	return err ? err : rp->err;
}

static void replay__clear(struct replay *rp)
{
	struct thread *th, *next_th;
	struct process *p, *next;

	th = rp->threads;
	HASH_CLEAR(hh, rp->threads); /* leaves the entries */
	for (; th; th = next_th) {
		next_th = th->hh.next;
		free(th->copies);
		free(th);
	}
	p = rp->processes;
	HASH_CLEAR(hh, rp->processes);
	for (; p; p = next) {
		next = p->hh.next;
		free(p);
	}
	calllist__free(rp->list);
	leaks__free(rp->leaks);
	stories__free(rp->stories);
	sites__free(rp->sites);
	suppressions__free(rp->suppress);
	json__free(rp->report.json);
	reorder__free(rp->order);
	store__free(rp->store);
	reader__free(rp->reader);
	if (rp->output && rp->output != stdout)
		fclose(rp->output);
}

static int replay__all(struct replay *rp)
{
	int err = open_report(rp), written;

	if (err)
		return refuse(ACL_EXIT_FAILED, "%s", strerror(-err));
	err = replay__run(rp);
	if (err)
		say("%s is not replayed to its end: %s", rp->opts->recording, strerror(-err));
	written = replay__finish(rp);
	if (written)
		return refuse(ACL_EXIT_OUTPUT, "some reports could not be written: %s",
			      strerror(-written));
	if (err)
		return err == -ENOMEM ? ACL_EXIT_FAILED : ACL_EXIT_RECORDING;
	if (rp->opts->error_exitcode >= 0 && stories__count(rp->stories, ACL_LEVEL_ERROR))
		return rp->opts->error_exitcode;
	return 0;
}

int command_replay(const struct options *opts)
{
	struct replay rp = { .opts = opts };
	int fd = -1, status;

	status = suppress_file__read_all(opts->suppressions, opts->nsuppressions, &rp.suppress);
	if (!status)
		status = open_recording(&rp, &fd);
	if (!status)
		status = open_output(&rp);
	if (!status)
		status = replay__all(&rp);
	replay__clear(&rp);
	if (fd >= 0)
		close(fd);
	return status;
}
