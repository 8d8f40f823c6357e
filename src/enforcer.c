/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Decisions, holds, and the switch. */
#define _GNU_SOURCE
#include "enforcer.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "records.h"
#include "aclguard.skel.h"

#include "ancestors.h"
#include "exits.h"
#include "minder.h"
#include "options.h"
#include "privileges.h"
#include "procstatus.h"
#include "report_text.h"

#define DECIDED_MAX 64
#define NUMBERS_TRIED 4096

/* So long a process waits for a decision at most; and how often that is looked after. */
#define DECIDE_NS 2000000000ULL
#define LOOK_MS 250

/*
 * A stop reaches all threads of a process at once, but for one that is in the kernel at
 * that moment: who has run so long after was continued.  The other is counted from the
 * signal, where it is not known when it took effect.
 */
#define STOPPED_NS 50000000ULL
#define STOPPING_NS 1000000000ULL

/* Where a thread is stopped: once it is elsewhere, somebody has continued it. */
struct place {
	uint64_t sp, pc;
};

struct held {
	struct acl_stopped_key key;
	struct place at;
	uint64_t since; /* at the latest; monotonic ns */
};

/* A thread that waits, stopped, and is to go on. */
struct decided {
	struct acl_stopped_key key;
	uint64_t inc;
	uint64_t time; /* of the stop, or shortly before */
	bool waits;    /* still: the minder has not let it go on */
};

struct enforcer {
	struct aclguard_bpf *skel;
	const struct options *opts;
	struct enforce_counts counts;
	struct enforcement last;
	struct decided decided[DECIDED_MAX];
	unsigned int n;
	struct held held[ACL_CAP_STOPPED]; /* as far as it is known */
	size_t n_held;
	struct minder minder;
	pid_t adopted; /* process that has a short stop of ours beside its own */
	bool on;
};

void enforcer__configure(struct aclguard_bpf *skel, const struct options *opts,
			 uint32_t suppressible)
{
	const struct enforce_options *o = &opts->enforce;

	if (!o->on)
		return;
	skel->rodata->enforce_cfg = o->cfg;
	skel->rodata->enforce_cfg.ask |= suppressible;
	bpf_map__set_max_entries(skel->maps.actions, ACL_CAP_ACTIONS);
	bpf_map__set_max_entries(skel->maps.stopped, ACL_CAP_STOPPED);
}

struct enforcer *enforcer__new(const struct options *opts)
{
	struct enforcer *e = calloc(1, sizeof(*e));

	if (!e)
		return NULL;
	e->opts = opts;
	for (int rule = 0; rule < ACL_RULE_MAX; rule++)
		e->counts.sig[rule] = opts->enforce.cfg.sig[rule];
	return e;
}

void enforcer__end(struct enforcer *e)
{
	if (e->on)
		e->skel->bss->observe_only = 1;
}

/* ---- the table of stops ----------------------------------------------------- */

/* Calls back for each until that returns not 0, which is returned. */
static int each_stop(const struct enforcer *e,
		     int (*fn)(void *arg, const struct acl_stopped_key *key,
			       const struct acl_stopped *stop),
		     void *arg)
{
	struct bpf_map *map = e->skel->maps.stopped;
	struct acl_stopped_key keys[2], *prev = NULL, *cur = &keys[0];
	struct acl_stopped stop;
	int ret = 0;

	while (e->on && !ret && !bpf_map__get_next_key(map, prev, cur, sizeof(*cur))) {
		if (!bpf_map__lookup_elem(map, cur, sizeof(*cur), &stop, sizeof(stop), 0))
			ret = fn(arg, cur, &stop);
		prev = cur;
		cur = prev == &keys[0] ? &keys[1] : &keys[0];
	}
	return ret;
}

/* Of a thread that does not run now. */
static bool read_place(const struct acl_stopped_key *key, struct place *at)
{
	char path[64];
	bool known;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%u/task/%u/syscall", key->tgid, key->tid);
	privileges__raise();
	f = fopen(path, "re");
	known = f && fscanf(f, "-1 %" SCNx64 " %" SCNx64, &at->sp, &at->pc) == 2;
	if (f)
		fclose(f);
	privileges__lower();
	return known;
}

static struct held *find_held(const struct enforcer *e, const struct acl_stopped_key *key)
{
	for (size_t i = 0; i < e->n_held; i++)
		if (e->held[i].key.tgid == key->tgid && e->held[i].key.tid == key->tid)
			return (struct held *)&e->held[i];
	return NULL;
}

/* The signal is on its way when we hear of it, and the stop at most moments away. */
static void note_held(struct enforcer *e, const struct acl_stopped_key *key)
{
	const struct acl_stopped stop = { .time = report__now() };
	struct held *h = find_held(e, key);
	struct place at;
	int tries = 20;

	/* should it have been taken for an earlier one, and forgotten */
	bpf_map__update_elem(e->skel->maps.stopped, key, sizeof(*key), &stop, sizeof(stop),
			     BPF_NOEXIST);
	while (!read_place(key, &at))
		if (!tries-- || usleep(200))
			return;
	if (!h && e->n_held == ACL_CAP_STOPPED)
		return;
	if (!h)
		h = &e->held[e->n_held++];
	*h = (struct held){ .key = *key, .at = at, .since = report__now() };
}

/* Whether it still is where it was stopped.  A thread of the process ran at `ran`; 0: not known. */
static bool is_held(const struct enforcer *e, const struct acl_stopped_key *key, uint64_t stopped,
		    uint64_t ran)
{
	const struct held *h = find_held(e, key);
	struct place at;

	if (!h)
		return ran < stopped + STOPPING_NS;
	return ran < h->since + STOPPED_NS && read_place(key, &at) && at.sp == h->at.sp &&
	       at.pc == h->at.pc;
}

/* Returns whether it was there still: of us and the minder, only one finds it so. */
static bool forget_stop(struct enforcer *e, const struct acl_stopped_key *key)
{
	struct held *h = find_held(e, key);

	if (h)
		*h = e->held[--e->n_held];
	return !bpf_map__delete_elem(e->skel->maps.stopped, key, sizeof(*key), 0);
}

struct find {
	const struct enforcer *e;
	pid_t pid;
	uint64_t ran;
	bool below;
};

static int find_stop(void *arg, const struct acl_stopped_key *key, const struct acl_stopped *stop)
{
	const struct find *f = arg;
	pid_t tgid = (pid_t)key->tgid;

	if (tgid != f->pid && !(f->below && ancestors__has(tgid, f->pid)))
		return 0;
	return stop->ask || is_held(f->e, key, stop->time, f->ran);
}

bool enforcer__keeps(const struct enforcer *e, pid_t pid, uint64_t ran, bool below)
{
	struct find f = { .e = e, .pid = pid, .ran = ran, .below = below };

	return each_stop(e, find_stop, &f);
}

void enforcer__adopt_stop(struct enforcer *e, pid_t pid)
{
	e->adopted = pid;
}

void enforcer__returned(struct enforcer *e, const struct acl_sequel *q)
{
	const struct acl_stopped_key key = { .tgid = q->h.tgid, .tid = q->h.tid };
	struct acl_stopped stop;

	/* it may have been stopped again by now */
	if (e->on &&
	    !bpf_map__lookup_elem(e->skel->maps.stopped, &key, sizeof(key), &stop, sizeof(stop),
				  0) &&
	    stop.time < q->end)
		forget_stop(e, &key);
}

struct list {
	pid_t pid; /* 0: all */
	bool asks; /* only those */
	size_t n;
	struct acl_stopped_key keys[ACL_CAP_STOPPED];
	uint64_t times[ACL_CAP_STOPPED];
};

static int list_stop(void *arg, const struct acl_stopped_key *key, const struct acl_stopped *stop)
{
	struct list *l = arg;

	if ((l->pid && l->pid != (pid_t)key->tgid) || (l->asks && !stop->ask))
		return 0;
	l->times[l->n] = stop->time;
	l->keys[l->n++] = *key;
	return l->n == ACL_CAP_STOPPED;
}

/* What is kept of one process, or of all, is taken out only once all of it is known. */
static struct list *list_stops(const struct enforcer *e, pid_t pid, bool asks)
{
	struct list *l = e->on ? calloc(1, sizeof(*l)) : NULL;

	if (!l)
		return NULL;
	l->pid = pid;
	l->asks = asks;
	each_stop(e, list_stop, l);
	return l;
}

void enforcer__gone(struct enforcer *e, pid_t tgid)
{
	struct list *l = list_stops(e, tgid, false);

	for (size_t i = 0; l && i < l->n; i++)
		forget_stop(e, &l->keys[i]);
	free(l);
}

unsigned int enforcer__held(const struct enforcer *e)
{
	struct list *l = list_stops(e, 0, false);
	unsigned int n = 0;

	for (size_t i = 0; l && i < l->n; i++) {
		size_t before = 0;

		while (l->keys[before].tgid != l->keys[i].tgid)
			before++;
		n += before == i && ancestors__is_stopped((pid_t)l->keys[i].tgid) &&
		     is_held(e, &l->keys[i], l->times[i], 0);
	}
	free(l);
	return n;
}

/* ---- signals ------------------------------------------------------------------ */

/* Of that very incarnation; -errno. */
static int open_pidfd(const struct enforcer *e, uint32_t tgid, uint64_t inc)
{
	int fd = (int)syscall(SYS_pidfd_open, tgid, 0);
	struct acl_proc p;

	if (fd < 0)
		return -errno;
	/* its entry goes with it, so it was still there when the descriptor was made */
	if (!bpf_map__lookup_elem(e->skel->maps.procs, &tgid, sizeof(tgid), &p, sizeof(p), 0) &&
	    p.inc == inc)
		return fd;
	close(fd);
	return -ESRCH;
}

/* To the process or, as the kernel side would do it, to its thread.  0 or -errno. */
static int send_signal(const struct enforcer *e, const struct acl_violation *v, int sig)
{
	int fd, err;

	fd = open_pidfd(e, v->h.tgid, v->h.inc);
	if (fd < 0)
		return fd;
	privileges__raise();
	/* stopped as it is, the thread cannot have gone and another taken its number */
	err = acl_signal__is_for_thread((uint32_t)sig)
		      ? (int)syscall(SYS_tgkill, v->h.tgid, v->h.tid, sig)
		      : (int)syscall(SYS_pidfd_send_signal, fd, sig, NULL, 0);
	err = err ? -errno : 0;
	privileges__lower();
	close(fd);
	return err;
}

#define MASK(sig) (1ULL << ((sig)-1))

/* Whether another stop has come meanwhile, which is not ours to end. */
static bool is_stopped_otherwise(pid_t pid, bool own)
{
	struct procstatus st;
	uint64_t stops = MASK(SIGTSTP) | MASK(SIGTTIN) | MASK(SIGTTOU);

	if (procstatus__read(pid, &st))
		return false;
	/* stopped by one, another waits */
	if (st.state == 'T' && !own)
		stops |= MASK(SIGSTOP);
	return (st.sig_pending | st.sig_shared) & stops;
}

static void go_on(const struct enforcer *e, const struct decided *d, bool own)
{
	int fd;

	if (is_stopped_otherwise((pid_t)d->key.tgid, own))
		return;
	fd = open_pidfd(e, d->key.tgid, d->inc);
	if (fd < 0)
		return;
	privileges__raise();
	syscall(SYS_pidfd_send_signal, fd, SIGCONT, NULL, 0);
	privileges__lower();
	close(fd);
}

/* Who has asked, and would not be answered any more. */
static void release(struct enforcer *e, const struct acl_stopped_key *key, uint64_t time)
{
	struct decided d = { .key = *key, .time = time };
	struct acl_proc p;

	if (!forget_stop(e, key))
		return;
	if (bpf_map__lookup_elem(e->skel->maps.procs, &key->tgid, sizeof(key->tgid), &p, sizeof(p),
				 0))
		return;
	d.inc = p.inc;
	if (!enforcer__keeps(e, (pid_t)key->tgid, time, false))
		go_on(e, &d, true);
}

/* ---- decisions ------------------------------------------------------------------ */

static bool action__is_young(const struct enforcer *e, struct acl_key *key, uint64_t now)
{
	uint64_t at;

	return !bpf_map__lookup_elem(e->skel->maps.actions, key, sizeof(*key), &at, sizeof(at),
				     0) &&
	       now - at < ACL_ENFORCE_MINUTE;
}

/* As acl_actions__take() in the kernel has it. */
static bool take_action(struct enforcer *e, uint64_t inc)
{
	struct acl_key next = { .inc = inc, .id = ACL_ACTIONS_NEXT }, key = { .inc = inc };
	struct bpf_map *map = e->skel->maps.actions;
	uint64_t now = report__now(), nr = ACL_ACTIONS_FIRST, limit = e->opts->enforce.cfg.limit;

	bpf_map__lookup_elem(map, &next, sizeof(next), &nr, sizeof(nr), 0);
	for (int i = 0; i < NUMBERS_TRIED; i++, nr++) {
		key.id = nr - limit;
		if (action__is_young(e, &key, now))
			return false;
		key.id = nr;
		if (!bpf_map__update_elem(map, &key, sizeof(key), &now, sizeof(now), BPF_NOEXIST)) {
			key.id = nr - limit;
			bpf_map__delete_elem(map, &key, sizeof(key), 0);
			nr++;
			bpf_map__update_elem(map, &next, sizeof(next), &nr, sizeof(nr), BPF_ANY);
			return true;
		}
	}
	return false;
}

static struct acl_stopped_key key_of(const struct acl_violation *v)
{
	return (struct acl_stopped_key){ .tgid = v->h.tgid, .tid = v->h.tid };
}

/* No thread has such a number. */
static struct acl_stopped_key claim_of(const struct acl_violation *v)
{
	return (struct acl_stopped_key){ .tgid = v->h.tgid, .tid = v->h.tid | 1U << 31 };
}

/* The thread may ask anew already, if it was let go on in between. */
static bool still_asks(const struct enforcer *e, const struct acl_violation *v)
{
	const struct acl_stopped_key key = key_of(v);
	struct acl_stopped stop;

	return !bpf_map__lookup_elem(e->skel->maps.stopped, &key, sizeof(key), &stop, sizeof(stop),
				     0) &&
	       stop.ask && stop.time - v->h.time < DECIDE_NS / 2;
}

static int put_stop(struct enforcer *e, struct acl_stopped_key key, struct acl_stopped stop)
{
	return bpf_map__update_elem(e->skel->maps.stopped, &key, sizeof(key), &stop, sizeof(stop),
				    BPF_ANY);
}

/*
 * Takes the decision from the minder, which otherwise lets the process go on after a
 * while.  The claim stands in for what the thread has asked, and is as old as now: so the
 * minder still lets it go on should we be held up, or killed, in the middle.  False:
 * it has gone on.
 */
static bool claim(struct enforcer *e, const struct acl_violation *v)
{
	const struct acl_stopped_key key = key_of(v), mine = claim_of(v);
	int err;

	if (!still_asks(e, v))
		return false;
	err = put_stop(e, mine, (struct acl_stopped){ .time = report__now(), .ask = 1 });
	if (err) { /* no room */
		release(e, &key, v->h.time);
		return false;
	}
	if (forget_stop(e, &key))
		return true;
	forget_stop(e, &mine);
	return false;
}

/* It is to stay stopped.  False: it has gone on. */
static bool keep(struct enforcer *e, const struct acl_violation *v)
{
	const struct acl_stopped_key key = key_of(v), mine = claim_of(v);
	const struct acl_stopped kept = { .time = v->h.time };
	int err = put_stop(e, key, kept);

	if (!forget_stop(e, &mine)) {
		forget_stop(e, &key);
		return false;
	}
	if (err)
		put_stop(e, key, kept);
	return true;
}

/* What has been claimed. */
static void let_go(struct enforcer *e, const struct acl_violation *v)
{
	if (e->n == DECIDED_MAX)
		enforcer__settle(e);
	e->decided[e->n++] = (struct decided){
		.key = claim_of(v),
		.inc = v->h.inc,
		.time = v->h.time,
	};
}

/* A dry run decides the same, and only then does something else. */
static enum acl_act choose(struct enforcer *e, const struct acl_violation *v, bool suppressed)
{
	if (suppressed)
		return ACL_ACT_SUPPRESSED;
	if (e->counts.observing)
		return ACL_ACT_OBSERVING;
	return take_action(e, v->h.inc) ? ACL_ACT_SENT : ACL_ACT_LIMITED;
}

/* It waits for what is decided here. */
static void answer(struct enforcer *e, const struct acl_violation *v, bool suppressed)
{
	struct enforcement *now = &e->last;
	int err;

	if (!claim(e, v)) {
		now->act = suppressed ? ACL_ACT_SUPPRESSED : ACL_ACT_UNDECIDED;
		return;
	}
	now->act = choose(e, v, suppressed);
	if (now->act == ACL_ACT_SENT && now->sig == SIGSTOP) {
		if (!keep(e, v))
			now->act = ACL_ACT_UNDECIDED;
		return;
	}
	if (now->act == ACL_ACT_SENT) {
		err = send_signal(e, v, now->sig);
		if (err) {
			now->act = ACL_ACT_FAILED;
			now->err = -err;
		}
	}
	let_go(e, v);
}

/* What may come between the signal and its effect. */
static void look(struct enforcer *e, const struct acl_violation *v)
{
	struct procstatus st;

	if (procstatus__read_thread((pid_t)v->h.tgid, (pid_t)v->h.tid, &st))
		return; /* gone: that was the effect */
	e->last.tracer = st.tracer;
	e->last.evasion = enforcement__evasion(&st, e->last.sig);
}

/* Nothing waits for it, but it is counted as if something did. */
static enum acl_act choose_dry(struct enforcer *e, const struct acl_violation *v, bool suppressed)
{
	enum acl_act act = choose(e, v, suppressed);

	return act == ACL_ACT_SENT ? ACL_ACT_DRY_RUN : act;
}

static bool is_left_to_us(const struct enforcer *e, unsigned int rule)
{
	return e->on && e->skel->rodata->enforce_cfg.ask & ACL_RULE_BIT(rule);
}

const struct enforcement *enforcer__decide(void *arg, const struct acl_violation *v,
					   bool suppressed)
{
	const struct acl_stopped_key key = key_of(v);
	struct enforcer *e = arg;

	e->last = (struct enforcement){
		.act = v->enforced.act < ACL_ACT_MAX ? v->enforced.act : ACL_ACT_NONE,
		.sig = v->enforced.sig,
		.err = v->enforced.err,
	};
	if (e->last.act == ACL_ACT_ASKED)
		answer(e, v, suppressed);
	else if (e->last.act == ACL_ACT_DRY_RUN && is_left_to_us(e, v->rule))
		e->last.act = choose_dry(e, v, suppressed);
	else if (suppressed && e->last.act != ACL_ACT_SENT && e->last.act != ACL_ACT_NONE)
		e->last.act = ACL_ACT_SUPPRESSED;
	if (e->last.act == ACL_ACT_SENT)
		look(e, v);
	if (e->last.act == ACL_ACT_SENT && e->last.sig == SIGSTOP)
		note_held(e, &key);
	e->counts.n[v->rule][e->last.act]++;
	if (e->last.act == ACL_ACT_SENT && e->last.sig == SIGSTOP &&
	    (e->opts->json || e->opts->output))
		say("process %u is stopped in thread %u and waits: look with `gdb -p %u', go on "
		    "with `kill -CONT %u'",
		    v->h.tgid, v->h.tid, v->h.tgid, v->h.tgid);
	return &e->last;
}

void enforcer__dismiss(struct enforcer *e, const struct acl_violation *v)
{
	if (v->enforced.act == ACL_ACT_ASKED && claim(e, v))
		let_go(e, v);
}

static bool is_decided_again(const struct enforcer *e, unsigned int nr)
{
	for (unsigned int i = 0; i < e->n; i++)
		if (i != nr && e->decided[i].key.tgid == e->decided[nr].key.tgid)
			return true;
	return false;
}

void enforcer__settle(struct enforcer *e)
{
	for (unsigned int i = 0; i < e->n; i++)
		e->decided[i].waits = forget_stop(e, &e->decided[i].key);
	for (unsigned int i = 0; i < e->n; i++) {
		const struct decided *d = &e->decided[i];
		pid_t pid = (pid_t)d->key.tgid;
		bool own = e->adopted == pid || is_decided_again(e, i);

		/* another thread of it may have been stopped to stay so, or still wait */
		if (d->waits && !enforcer__keeps(e, pid, d->time, false))
			go_on(e, d, own);
	}
	e->n = 0;
	e->adopted = 0;
}

void enforcer__confirm(struct enforcer *e, uint64_t inc)
{
	const struct acl_key key = { .inc = inc, .id = ACL_ACTIONS_WANTED };
	const uint64_t yes = 1;

	if (e->on && e->opts->enforce.cfg.confirm)
		bpf_map__update_elem(e->skel->maps.actions, &key, sizeof(key), &yes, sizeof(yes),
				     BPF_ANY);
}

/* ---- the switch and the end ------------------------------------------------------ */

bool enforcer__observe(struct enforcer *e, bool observe)
{
	if (!e->on || e->counts.observing == observe)
		return false;
	e->skel->bss->observe_only = observe;
	e->counts.observing = observe;
	return true;
}

const struct enforce_counts *enforcer__counts(const struct enforcer *e)
{
	return &e->counts;
}

/* Who was stopped before that time. */
static void release_before(struct enforcer *e, uint64_t time)
{
	struct list *l = list_stops(e, 0, true);

	for (size_t i = 0; l && i < l->n; i++)
		if (l->times[i] < time)
			release(e, &l->keys[i], l->times[i]);
	free(l);
}

static void release_all(struct enforcer *e)
{
	release_before(e, UINT64_MAX);
}

/* In the minder, while we live: we may be stopped ourselves, or starved. */
static void look_after(void *arg)
{
	release_before(arg, report__now() - DECIDE_NS);
}

/* In the minder, when we are gone: who was asking just then is waited for as well. */
static void outlive(void *arg)
{
	static const unsigned int pauses_ms[] = { 0, 50, 1000, 3000 };

	for (size_t i = 0; i < sizeof(pauses_ms) / sizeof(pauses_ms[0]); i++) {
		usleep(pauses_ms[i] * 1000);
		release_all(arg);
	}
}

int enforcer__begin(struct enforcer *e, struct aclguard_bpf *skel)
{
	const int files[] = {
		bpf_map__fd(skel->maps.stopped),
		bpf_map__fd(skel->maps.procs),
	};

	const struct minder_fns fns = {
		.look = look_after,
		.look_ms = LOOK_MS,
		.outlive = outlive,
		.arg = e,
	};

	e->skel = skel;
	e->on = e->opts->enforce.on;
	if (!e->on || !skel->rodata->enforce_cfg.ask || e->opts->enforce.cfg.dry_run)
		return 0;
	return minder__start(&e->minder, files, sizeof(files) / sizeof(files[0]), &fns);
}

void enforcer__free(struct enforcer *e)
{
	if (!e)
		return;
	enforcer__settle(e);
	if (e->on)
		release_all(e);
	minder__end(&e->minder);
	free(e);
}
