/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * aclguard record: run or watch, and keep every call.
 *
 * Calls come through a ring of their own, which wakes nobody until it has
 * filled a little; it is looked at every few milliseconds instead, and what was
 * found goes to the file at once, so that little is lost if we are killed.
 */
#define _GNU_SOURCE
#include "record.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "aclguard.skel.h"

#include "commands.h"
#include "exits.h"
#include "options.h"
#include "recording.h"
#include "start.h"

#define ROUND_NS 10000000ULL
#define ROUND_CALLS 16384 /* in a round, so that violations need not wait for long */
#define LAST_ROUNDS 256
#define LOSSES_NS 1000000000ULL
#define STOP_ROUND (-ECANCELED)

struct record {
	const char *path;
	struct recorder *file;
	struct bpf_map *losses_map;
	struct ring_buffer *trace;
	uint64_t *per_cpu; /* one loss */
	int cpus;
	bool created; /* rather than found, as a pipe is */
	bool failed;
	bool calls;		/* there were any */
	bool dirty;		/* something was written since the last ROUND */
	unsigned int left;	/* calls that this round may still take */
	uint64_t losses_at;	/* when the calls lost were looked at last */
	uint64_t all_losses_at; /* and all losses */
	uint64_t losses[ACL_L_MAX];
};

/* Those by which calls are missing from the recording. */
static const enum acl_loss of_calls[] = { ACL_L_LOG_FULL, ACL_L_THREAD_FULL, ACL_L_PROC_FULL };

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

/* ---- the file ------------------------------------------------------------ */

static void check_written(struct record *r)
{
	int err = recorder__flush(r->file);

	if (!err || r->failed)
		return;
	r->failed = true;
	say("cannot write %s: %s; the recording ends after %" PRIu64 " bytes, the watch goes on",
	    r->path, strerror(-err), recorder__bytes(r->file));
}

static void write_record(struct record *r, const struct recorded *rec)
{
	if (r->failed)
		return;
	recorder__write(r->file, rec);
	r->dirty = true;
}

static void describe(struct recording_header *h, const struct options *opts)
{
	struct utsname uts;

	memset(h, 0, sizeof(*h));
	h->start = clock_ns(CLOCK_MONOTONIC);
	h->wall_offset = (int64_t)(clock_ns(CLOCK_REALTIME) - h->start);
	h->window = opts->window;
	h->rules = opts->rules;
	h->strict = opts->strict;
	h->page_size = (uint32_t)sysconf(_SC_PAGESIZE);
	strcpy(h->version, ACLGUARD_VERSION);
	if (uname(&uts))
		return;
	snprintf(h->arch, sizeof(h->arch), "%s", uts.machine);
	snprintf(h->host, sizeof(h->host), "%s", uts.nodename);
	snprintf(h->kernel, sizeof(h->kernel), "%s", uts.release);
}

/*
 * An existing file is left alone.  What is no file, such as a pipe, may exist.
 * The addresses in it are the owner's business only.
 */
static int create(const char *path, bool *created)
{
	struct stat st;
	int flags = O_WRONLY | O_APPEND | O_CLOEXEC;

	*created = stat(path, &st) || S_ISREG(st.st_mode);
	if (*created)
		flags |= O_CREAT | O_EXCL;
	return open(path, flags, 0600);
}

int record__open(const struct options *opts, struct record **out)
{
	struct record *r = calloc(1, sizeof(*r));
	struct recording_header h;
	int fd, err;

	if (!r)
		return refuse(ACL_EXIT_FAILED, "%s", strerror(ENOMEM));
	r->path = opts->recording;
	fd = create(r->path, &r->created);
	if (fd < 0) {
		err = errno;
		free(r);
		if (err == EEXIST)
			return refuse(ACL_EXIT_OUTPUT,
				      "%s exists, and a recording is never overwritten.\n"
				      "Remove it, or give another name to -o.",
				      opts->recording);
		return refuse(ACL_EXIT_OUTPUT, "cannot create %s: %s", opts->recording,
			      strerror(err));
	}
	describe(&h, opts);
	if (r->created)
		start__made(r->path);
	r->file = recorder__new(fd, &h);
	if (!r->file) {
		close(fd);
		free(r);
		return refuse(ACL_EXIT_FAILED, "%s", strerror(ENOMEM));
	}
	check_written(r);
	*out = r;
	return 0;
}

/* ---- calls --------------------------------------------------------------- */

static void take_enter(struct record *r, const struct acl_trace_enter *t)
{
	struct recorded rec = {
		.type = t->h.type == ACL_REC_BATCH ? RECORDING_BATCH : RECORDING_ENTER,
		.tgid = t->h.tgid,
		.tid = t->h.tid,
		.time = t->h.time,
		.inc = t->h.inc,
		.enter = t->in,
	};

	r->calls = true;
	write_record(r, &rec);
}

static void take_leave(struct record *r, const struct acl_trace_leave *t)
{
	struct recorded rec = {
		.type = RECORDING_LEAVE,
		.tgid = t->h.tgid,
		.tid = t->h.tid,
		.time = t->h.time,
		.inc = t->h.inc,
		.leave = t->out,
	};

	write_record(r, &rec);
}

static void take_head(struct record *r, const struct acl_head *h, enum recording_type type)
{
	struct recorded rec = {
		.type = type,
		.tgid = h->tgid,
		.tid = h->tid,
		.time = h->time,
		.inc = h->inc,
	};

	write_record(r, &rec);
}

static int on_trace(void *arg, void *data, size_t size)
{
	const struct acl_head *h = data;
	struct record *r = arg;

	if (size < sizeof(*h))
		return 0;
	if ((h->type == ACL_REC_ENTER || h->type == ACL_REC_BATCH) &&
	    size >= sizeof(struct acl_trace_enter))
		take_enter(r, data);
	else if (h->type == ACL_REC_LEAVE && size >= sizeof(struct acl_trace_leave))
		take_leave(r, data);
	else if (h->type == ACL_REC_THREAD_EXIT)
		take_head(r, h, RECORDING_THREAD_EXIT);
	return --r->left ? 0 : STOP_ROUND;
}

int record__attach(struct record *r, struct aclguard_bpf *skel)
{
	r->losses_map = skel->maps.losses;
	r->cpus = libbpf_num_possible_cpus();
	r->per_cpu = r->cpus > 0 ? calloc((size_t)r->cpus, sizeof(*r->per_cpu)) : NULL;
	r->trace = ring_buffer__new(bpf_map__fd(skel->maps.trace), on_trace, r, NULL);
	r->losses_at = clock_ns(CLOCK_MONOTONIC);
	return r->per_cpu && r->trace ? 0 : -errno;
}

/* ---- processes ----------------------------------------------------------- */

static void take_proc(struct record *r, const struct acl_gone *g, uint64_t complete)
{
	struct recorded rec = {
		.type = RECORDING_PROC,
		.tgid = g->h.tgid,
		.tid = g->h.tid,
		.time = g->h.time,
		.inc = g->h.inc,
		.proc = { .complete = complete, .late = g->proc.late },
	};

	memcpy(rec.proc.comm, g->proc.comm, sizeof(rec.proc.comm));
	write_record(r, &rec);
}

static void take_fork(struct record *r, const struct acl_fork *f)
{
	struct recorded rec = {
		.type = RECORDING_FORK,
		.tgid = f->h.tgid,
		.tid = f->h.tid,
		.time = f->h.time,
		.child = f->child,
	};

	write_record(r, &rec);
}

void record__life(struct record *r, const struct acl_head *h, size_t size, uint64_t complete)
{
	if (!r)
		return;
	if (h->type == ACL_REC_PROC && size >= sizeof(struct acl_gone))
		take_proc(r, (const struct acl_gone *)h, complete);
	else if (h->type == ACL_REC_EXEC)
		take_head(r, h, RECORDING_EXEC);
	else if (h->type == ACL_REC_EXIT)
		take_head(r, h, RECORDING_EXIT);
	else if (h->type == ACL_REC_FORK && size >= sizeof(struct acl_fork))
		take_fork(r, (const struct acl_fork *)h);
}

void record__complete(struct record *r, pid_t pid, uint64_t time)
{
	struct recorded rec = {
		.type = RECORDING_COMPLETE,
		.tgid = (uint32_t)pid,
		.time = time,
		.proc.complete = time,
	};

	if (r)
		write_record(r, &rec);
}

void record__exit(struct record *r, const struct acl_proc *p, uint64_t time)
{
	struct recorded rec = {
		.type = RECORDING_EXIT,
		.tgid = p->tgid,
		.tid = p->tgid,
		.time = time,
		.inc = p->inc,
	};

	if (r)
		write_record(r, &rec);
}

/* ---- rounds -------------------------------------------------------------- */

static uint64_t read_loss(struct record *r, enum acl_loss cause)
{
	uint32_t key = cause;
	uint64_t sum = 0;

	if (bpf_map__lookup_elem(r->losses_map, &key, sizeof(key), r->per_cpu,
				 (size_t)r->cpus * sizeof(*r->per_cpu), 0))
		return r->losses[cause];
	for (int i = 0; i < r->cpus; i++)
		sum += r->per_cpu[i];
	return sum;
}

static bool has_changed(struct record *r, uint64_t now)
{
	uint64_t n;
	bool changed = false;

	for (size_t i = 0; i < sizeof(of_calls) / sizeof(of_calls[0]); i++)
		changed |= read_loss(r, of_calls[i]) != r->losses[of_calls[i]];
	if (!changed && now < r->all_losses_at + LOSSES_NS)
		return false;
	for (int i = 0; i < ACL_L_MAX; i++) {
		n = read_loss(r, (enum acl_loss)i);
		changed |= n != r->losses[i];
		r->losses[i] = n;
	}
	r->all_losses_at = now;
	return changed;
}

/* Losses of calls are told together with the time in which they fell. */
static void note_losses(struct record *r, uint64_t now)
{
	struct recorded rec = {
		.type = RECORDING_LOST,
		.time = now,
		.lost.since = r->losses_at,
	};

	if (has_changed(r, now)) {
		memcpy(rec.lost.n, r->losses, sizeof(rec.lost.n));
		write_record(r, &rec);
	}
	r->losses_at = now;
}

uint64_t record__round(struct record *r, uint64_t now)
{
	const struct recorded rec = { .type = RECORDING_ROUND, .time = now };
	int n;

	if (!r)
		return UINT64_MAX;
	note_losses(r, now);
	r->left = ROUND_CALLS;
	n = ring_buffer__consume(r->trace);
	if (n == STOP_ROUND) {
		check_written(r);
		return 0;
	}
	if (r->dirty)
		write_record(r, &rec);
	r->dirty = false;
	check_written(r);
	return ROUND_NS;
}

static void record__free(struct record *r)
{
	ring_buffer__free(r->trace);
	recorder__free(r->file);
	free(r->per_cpu);
	free(r);
}

int record__close(struct record *r)
{
	const struct recorded end = { .type = RECORDING_END, .time = clock_ns(CLOCK_MONOTONIC) };
	int status;

	if (!r)
		return 0;
	r->all_losses_at = 0;
	/* what goes on calling must not keep us for ever */
	for (int i = 0; i < LAST_ROUNDS; i++)
		if (record__round(r, clock_ns(CLOCK_MONOTONIC)))
			break;
	write_record(r, &end);
	check_written(r);
	status = r->failed ? ACL_EXIT_OUTPUT : 0;
	record__free(r);
	return status;
}

void record__abandon(struct record *r)
{
	if (!r)
		return;
	if (r->calls) {
		record__close(r);
		return;
	}
	if (r->created)
		unlink(r->path);
	record__free(r);
}

/* ---- the command --------------------------------------------------------- */

int command_record(const struct options *opts)
{
	return opts->program ? command_run(opts) : command_watch(opts);
}
