/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The session: everything that is held while processes are watched, and the
 * loop over what wakes us: the two rings, processes that end, and whatever
 * the caller waits for.  Nothing is polled.
 */
#define _GNU_SOURCE
#include "session.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "records.h"
#include "aclguard.skel.h"

#include "alive.h"
#include "ancestors.h"
#include "backlog.h"
#include "canary.h"
#include "counters.h"
#include "control.h"
#include "discover.h"
#include "dumps.h"
#include "elffile.h"
#include "enforcer.h"
#include "exits.h"
#include "json.h"
#include "kernel.h"
#include "leaks.h"
#include "load.h"
#include "maps.h"
#include "privileges.h"
#include "probes.h"
#include "procinfo.h"
#include "procstatus.h"
#include "report_text.h"
#include "record.h"
#include "scope.h"
#include "sites.h"
#include "stacks.h"
#include "start.h"
#include "story.h"
#include "summary.h"
#include "suppress_file.h"
#include "sweep.h"
#include "symbols.h"
#include "unwind.h"

struct session {
	const struct options *opts;
	const struct session_listener *listener; /* NULL: nobody */
	struct kernel kernel;
	struct load load;
	struct aclguard_bpf *skel; /* of load */
	struct probes *probes;
	struct backlog *violations;
	struct ring_buffer *life;
	struct symbolizer *sym;
	struct sites *sites;
	struct suppressions *suppress; /* NULL: there are none */
	struct report_cfg report;
	struct stories *stories;
	struct sweep *sweep;
	struct ancestors ancestors;
	struct enforcer *enforcer;
	struct control *control; /* NULL: nobody asked for one */
	struct leaks *leaks;
	struct stacks kept;
	struct record *record; /* NULL: calls are not kept */
	struct summary summary;
	FILE *output;
	struct scope *scope;
	struct procs *procs;
	bool canary_done;
	int interrupt;		   /* readable when the caller's signal has come; -1: never */
	struct discover *discover; /* NULL: not all processes are watched */
	int epoll;
	uint64_t started;
	uint64_t record_due; /* ns until calls are to be taken again */
};

/* ---- processes in scope -------------------------------------------------- */

/* What its addresses will be told by. */
static void look_up(struct session *s, pid_t pid)
{
	if (symbolizer__snapshot(s->sym, pid) == 0 && s->opts->stacks)
		symbolizer__warm(s->sym, pid);
}

int session__add(struct session *s, pid_t pid, bool ours)
{
	const struct acl_target t = {
		.complete = ours ? 0 : ~0ULL,
		.late = !ours,
		.stop = ours,
	};
	int err = scope__add(s->scope, pid);

	if (!err && !ours)
		look_up(s, pid);
	return err ? err : scope__set_target(s->scope, pid, &t);
}

int session__complete(struct session *s, pid_t pid)
{
	struct acl_target t;

	if (scope__get_target(s->scope, pid, &t)) {
		if (!s->opts->all)
			return -ESRCH;
		t = (struct acl_target){ .late = 1 };
	}
	t.complete = report__now();
	t.late = 1;
	record__complete(s->record, pid, t.complete);
	return scope__set_target(s->scope, pid, &t);
}

/* ---- what processes map -------------------------------------------------- */

struct scan {
	struct session *s;
	pid_t pid;
	int found;
	int err;
};

static int scan_mapping(const struct map_entry *m, void *arg)
{
	struct scan *scan = arg;
	struct probes_place at;
	char path[PROBES_PATH_MAX];
	int err, what;

	if (!m->exec || !map_entry__is_file(m))
		return 0;
	err = probes_place__open(&at, scan->pid, m, path, sizeof(path));
	/* not "it has no such library" where we may not look */
	if ((err == -EACCES || err == -EPERM) && probes__is_runtime_name(m->path))
		scan->err = err;
	if (err)
		return 0;
	what = probes__file(scan->s->probes, &at);
	if (what < 0)
		scan->err = what;
	else
		scan->found |= what;
	return 0;
}

/*
 * Before a process that runs under a seccomp filter returns from a probed call on
 * a kernel where that kills it.
 */
static void mind_seccomp(struct session *s, pid_t pid)
{
	if (!s->kernel.seccomp_risk || probes__how(s->probes) == ATTACH_ENTRIES ||
	    procstatus__seccomp_of_threads(pid) <= SECCOMP_NONE)
		return;
	say("process %d runs under a seccomp filter, and on this kernel a return probe would kill "
	    "it:\nfrom now on only entries are probed, and what is said is suspected",
	    pid);
	probes__without_returns(s->probes);
}

int session__scan(struct session *s, pid_t pid)
{
	struct scan scan = { .s = s, .pid = pid };
	int err;

	privileges__raise();
	mind_seccomp(s, pid);
	scan.pid = maps__task(pid);
	err = maps__walk(scan.pid, scan_mapping, &scan, NULL);
	privileges__lower();
	if (!err)
		err = scan.err;
	return err ? err : scan.found;
}

/* A file that no process is known to have mapped yet. */
static int probe_program(struct session *s, const char *path, const char *name)
{
	const struct probes_place at = { .path = path, .name = name };
	int what;

	privileges__raise();
	what = probes__file(s->probes, &at);
	privileges__lower();
	return what < 0 ? what : 0;
}

int session__probe_loader_of(struct session *s, const char *program)
{
	char interp[PATH_MAX];
	int err = elffile__interp(program, interp, sizeof(interp));

	if (err == -ENOEXEC) /* a script without "#!", which execvp() gives to the shell */
		err = elffile__interp("/bin/sh", interp, sizeof(interp));
	if (err)
		return err == -ENOENT ? 0 : err; /* static: what it starts need not be */
	return probe_program(s, interp, interp);
}

void session__probe_usual_loaders(struct session *s)
{
	/* where each ABI wants them; a file of another machine is not probed */
	static const char *const usual[] = {
		"/lib64/ld-linux-x86-64.so.2",
		"/lib/ld-linux-aarch64.so.1",
		"/lib/ld-musl-x86_64.so.1",
		"/lib/ld-musl-aarch64.so.1",
	};

	for (size_t i = 0; i < sizeof(usual) / sizeof(usual[0]); i++)
		probe_program(s, usual[i], usual[i]);
}

/* ---- records ------------------------------------------------------------- */

/*
 * It may have called before it was known to be out of scope.  It may also be gone
 * by now: then the record is all that the filters can be asked with.
 */
static bool is_wanted(struct session *s, const struct acl_violation *v, size_t size)
{
	if (v->h.type == ACL_REC_VIOLATION && size >= sizeof(*v))
		discover__note(s->discover, (pid_t)v->h.tgid, v->uid, v->comm);
	return discover__wants(s->discover, (pid_t)v->h.tgid);
}

static void dismiss(struct session *s, const struct acl_violation *v)
{
	enforcer__dismiss(s->enforcer, v);
	if (v->rule < ACL_RULE_MAX)
		s->summary.unwanted[v->rule]++;
}

static void on_violation(void *arg, const void *data, size_t size)
{
	struct session *s = arg;
	const struct acl_head *h = data;

	if (size < sizeof(*h))
		return;
	if (h->type == ACL_REC_RELEASED && size >= sizeof(struct acl_sequel))
		enforcer__returned(s->enforcer, data);
	if (s->discover && !is_wanted(s, data, size)) {
		if (h->type == ACL_REC_VIOLATION && size >= sizeof(struct acl_violation))
			dismiss(s, data);
		return;
	}
	if (h->type == ACL_REC_VIOLATION)
		stories__violation(s->stories, data, size);
	else
		stories__sequel(s->stories, data, size);
}

/* What it leaves behind; a table of all objects is walked only if there are any. */
static void note_leaks(struct session *s, const struct acl_proc *p, uint64_t time)
{
	const struct leaks_of of = {
		.inc = p->inc,
		.pid = (pid_t)p->tgid,
		.comm = p->comm,
		.now = time,
	};

	if (p->bufs_made != p->bufs_gone || p->events_made != p->events_gone)
		alive__collect(s->skel, s->leaks, &of);
}

/* An incarnation is over: its last numbers, and its state in the maps. */
static void incarnation__over(struct session *s, const struct acl_proc *p, uint64_t time)
{
	note_leaks(s, p, time);
	summary__add(&s->summary, p);
	backlog__drain(s->violations);
	stories__process_gone(s->stories, p->inc);
	sweep__add(s->sweep, p->inc);
	if (s->listener && s->listener->over)
		s->listener->over(s->listener->arg, p, time);
}

static void on_gone(struct session *s, const struct acl_gone *g)
{
	if (g->h.inc)
		incarnation__over(s, &g->proc, g->h.time);
	enforcer__gone(s->enforcer, (pid_t)g->h.tgid);
	symbolizer__forget(s->sym, (pid_t)g->h.tgid);
	procs__forget(s->procs, (pid_t)g->h.tgid);
}

/* A program that starts with another loader than those probed so far. */
static void on_exec(struct session *s, pid_t pid)
{
	char exe[64], interp[PATH_MAX], path[2 * PATH_MAX];
	int err;

	snprintf(exe, sizeof(exe), "/proc/%d/exe", pid);
	privileges__raise();
	err = elffile__interp(exe, interp, sizeof(interp));
	privileges__lower();
	/* gone already: if its loader is a known one, that has told what it mapped */
	if (err && !probes__loaders(s->probes) && access(exe, F_OK))
		s->summary.unlooked++;
	if (err)
		return;
	snprintf(path, sizeof(path), "/proc/%d/root%s", pid, interp);
	probe_program(s, path, interp);
}

/* The kernel stopped it for us to look; a stop that is to stay is not ended by that. */
static void end_loader_stop(struct session *s, pid_t pid, uint64_t time)
{
	if (enforcer__keeps(s->enforcer, pid, time, false)) {
		enforcer__adopt_stop(s->enforcer, pid);
		return;
	}
	ancestors__note(&s->ancestors, pid, report__now());
	scope__signal(s->scope, pid, SIGCONT);
	/* it came in between: this one is late, the other way is not to stop at all */
	if (enforcer__keeps(s->enforcer, pid, time, false))
		scope__signal(s->scope, pid, SIGSTOP);
}

static void on_loader(struct session *s, const struct acl_head *h)
{
	pid_t pid = (pid_t)h->tgid;
	bool more = h->more;

	size_t before = probes__libraries(s->probes);
	struct acl_target t;
	int found;

	if (scope__get_target(s->scope, pid, &t))
		return;
	found = session__scan(s, pid);
	if (found == -ESRCH && !more)
		return; /* gone, and what it had was looked at when it came in */
	if (found < 0)	/* or not to be probed: what it called was not seen */
		s->summary.unlooked++;
	else if (found & PROBES_RUNTIME)
		look_up(s, pid); /* it may not live long */
	if (found > 0 && found & PROBES_EMPTY && found & PROBES_NEW && !(found & PROBES_RUNTIME))
		say("process %d mapped a library that is named like the Ascend runtime but defines "
		    "none of its calls; nothing can be seen in it",
		    pid);
	if (t.stop) {
		end_loader_stop(s, pid, h->time);
	} else if (probes__libraries(s->probes) > before) {
		/* it may have called between mapping and now */
		session__complete(s, pid);
		say("process %d has loaded the Ascend runtime: attached", pid);
	} else if (t.complete == ~0ULL && found > 0 && found & PROBES_RUNTIME) {
		session__complete(s, pid);
	}
}

static void tell_began(struct session *s, const struct acl_proc *p)
{
	const struct procinfo *info = procs__get(s->procs, (pid_t)p->tgid);

	if (!s->listener || !s->listener->began)
		return;
	privileges__raise();
	s->listener->began(s->listener->arg, p, info);
	privileges__lower();
}

/* What the kernel has of a process that is gone, and had no room to tell of. */
static void take_remains(struct session *s, pid_t pid)
{
	uint32_t key = (uint32_t)pid;
	struct acl_proc p;

	if (bpf_map__lookup_elem(s->skel->maps.procs, &key, sizeof(key), &p, sizeof(p), 0))
		return;
	bpf_map__delete_elem(s->skel->maps.procs, &key, sizeof(key), 0);
	record__exit(s->record, &p, report__now());
	incarnation__over(s, &p, report__now());
}

/* Nothing will tell of the end of who was gone before there was a pidfd of it. */
static void mind_gone(struct session *s, pid_t pid)
{
	if (!scope__has(s->scope, pid) && kill(pid, 0) && errno == ESRCH)
		take_remains(s, pid);
}

/* A process has called for the first time since it began. */
static void on_proc(struct session *s, const struct acl_gone *g)
{
	uint32_t key = g->h.tgid;

	if (s->discover && !discover__called(s->discover, &g->proc)) {
		bpf_map__delete_elem(s->skel->maps.procs, &key, sizeof(key), 0);
		sweep__add(s->sweep, g->h.inc);
		return;
	}
	enforcer__confirm(s->enforcer, g->h.inc);
	s->summary.processes++;
	tell_began(s, &g->proc);
	look_up(s, (pid_t)key);
	mind_gone(s, (pid_t)key);
}

static void on_fork(struct session *s, pid_t child)
{
	scope__add(s->scope, child);
	mind_gone(s, child);
}

/* As acl_complete() in the kernel has it. */
static uint64_t complete_of(struct session *s, pid_t pid)
{
	uint64_t since = s->skel->data->complete_since;
	struct acl_target t;

	if (scope__get_target(s->scope, pid, &t))
		return s->opts->all ? ~0ULL : since;
	return t.complete > since ? t.complete : since;
}

static int on_life(void *arg, void *data, size_t size)
{
	const struct acl_head *h = data;
	struct session *s = arg;

	if (size < sizeof(*h))
		return 0;
	if (s->record)
		record__life(s->record, h, size, complete_of(s, (pid_t)h->tgid));
	switch (h->type) {
	case ACL_REC_PROC:
		if (size >= sizeof(struct acl_gone))
			on_proc(s, data);
		break;
	case ACL_REC_EXEC:
	case ACL_REC_EXIT:
		if (size >= sizeof(struct acl_gone))
			on_gone(s, data);
		if (h->type == ACL_REC_EXEC)
			on_exec(s, (pid_t)h->tgid);
		break;
	case ACL_REC_FORK:
		if (size >= sizeof(struct acl_fork))
			on_fork(s, (pid_t)((const struct acl_fork *)data)->child);
		break;
	case ACL_REC_LOADER:
		on_loader(s, h);
		break;
	default:
		s->summary.unknown_records++;
		break;
	}
	return 0;
}

/*
 * A process in scope has ended.  Where the kernel's exit tracepoint does not
 * tell which thread is the last one, this is where its state ends.
 */
static void on_pidfd(struct session *s, pid_t pid)
{
	if (!scope__has(s->scope, pid))
		return;
	ring_buffer__consume(s->life);
	take_remains(s, pid);
	enforcer__gone(s->enforcer, pid);
	scope__drop_target(s->scope, pid);
	symbolizer__forget(s->sym, pid);
	procs__forget(s->procs, pid);
	scope__remove(s->scope, pid);
}

/* ---- the loop ------------------------------------------------------------ */

enum {
	WAKE_VIOLATIONS = 1ULL << 32, /* beyond any pid */
	WAKE_LIFE,
	WAKE_TRACE,
	WAKE_MAPPINGS,
	WAKE_FILES,
	WAKE_CALLER,
	WAKE_CONTROL,
};

static int watch_fd(struct session *s, int fd, uint64_t tag)
{
	struct epoll_event ev = { .events = EPOLLIN, .data.u64 = tag };

	if (fd < 0)
		return 0;
	return epoll_ctl(s->epoll, EPOLL_CTL_ADD, fd, &ev) ? -errno : 0;
}

static bool leave_stopped(void *arg, pid_t pid)
{
	struct session *s = arg;

	return enforcer__keeps(s->enforcer, pid, 0, true);
}

/* ms until something is due, rounded up; -1: nothing is */
static int next_timeout(struct session *s)
{
	uint64_t now = report__now(), due, other;

	due = stories__timeout(s->stories, now);
	other = sweep__run(s->sweep, now);
	if (other < due)
		due = other;
	other = ancestors__run(&s->ancestors, now, leave_stopped, s);
	if (other < due)
		due = other;
	if (s->discover) {
		other = discover__run(s->discover, now);
		if (other < due)
			due = other;
	}
	if (s->record_due < due)
		due = s->record_due;
	if (due == UINT64_MAX)
		return -1;
	if (!due)
		return 0;
	return due / 1000000 > 60000 ? 60000 : (int)(due / 1000000) + 1;
}

static void look_again(void *arg, pid_t pid)
{
	struct session *s = arg;
	int found = session__scan(s, pid);

	if (found > 0 && found & PROBES_RUNTIME)
		session__complete(s, pid);
}

/* A library has been written to: who maps it has other code from then on. */
static void on_files(struct session *s)
{
	if (!probes__changes(s->probes))
		return;
	if (s->discover)
		discover__again(s->discover);
	else
		scope__each(s->scope, look_again, s);
}

static int wait_once(struct session *s)
{
	struct epoll_event evs[64];
	bool caller = false;
	uint64_t now;
	int n;

	n = epoll_wait(s->epoll, evs, 64, next_timeout(s));
	if (n < 0)
		return errno == EINTR ? 0 : -errno;
	/*
	 * Violations first; but where a filter has to be asked, who is new before: of one
	 * that is gone by now, its violations are taken before its end is.
	 */
	now = report__now();
	if (s->discover) {
		discover__run(s->discover, now);
		ring_buffer__consume(s->life);
	}
	backlog__drain(s->violations);
	ring_buffer__consume(s->life);
	enforcer__settle(s->enforcer);
	s->record_due = record__round(s->record, now);
	for (int i = 0; i < n; i++) {
		if (evs[i].data.u64 == WAKE_CALLER)
			caller = true;
		else if (evs[i].data.u64 == WAKE_FILES)
			on_files(s);
		else if (evs[i].data.u64 == WAKE_CONTROL)
			control__run(s->control);
		else if (evs[i].data.u64 < WAKE_VIOLATIONS)
			on_pidfd(s, (pid_t)evs[i].data.u64);
	}
	if (s->listener && s->listener->turn)
		s->listener->turn(s->listener->arg);
	return caller;
}

int session__wait(struct session *s, int fd, int fd2)
{
	int err = watch_fd(s, fd, WAKE_CALLER);

	if (!err)
		err = watch_fd(s, fd2, WAKE_CALLER);
	while (!err && (s->discover || scope__count(s->scope))) {
		err = wait_once(s);
		if (!err && s->discover)
			err = discover__failed(s->discover);
	}
	if (fd >= 0)
		epoll_ctl(s->epoll, EPOLL_CTL_DEL, fd, NULL);
	if (fd2 >= 0)
		epoll_ctl(s->epoll, EPOLL_CTL_DEL, fd2, NULL);
	return err;
}

/* ---- opening ------------------------------------------------------------- */

static void on_slow(void *arg, bool slow)
{
	struct session *s = arg;

	backlog__slow(s->violations, slow);
}

static int open_output(struct session *s)
{
	const struct options *opts = s->opts;

	s->output = s->listener && s->listener->reports ? s->listener->reports : stderr;
	if (opts->output && s->output == stderr) {
		s->output = fopen(opts->output, "ae");
		if (!s->output)
			return refuse(ACL_EXIT_OUTPUT, "cannot write reports to %s: %s",
				      opts->output, strerror(errno));
	}
	s->report.rules = opts->rules;
	s->report.stacks = opts->stacks;
	s->report.stack_depth = opts->stack_depth;
	s->report.strict = opts->strict;
	s->report.verbose = opts->verbose;
	s->report.window_ns = opts->window;
	s->report.sym = s->sym;
	s->report.sites = s->sites;
	s->report.slow = on_slow;
	s->report.slow_arg = s;
	s->report.fold = opts->fold;
	s->report.suppress = s->suppress;
	s->report.gen_suppressions = opts->gen_suppressions;
	if (s->listener)
		s->report.sink = &s->listener->sink;
	if (opts->json)
		s->report.json = json__new(s->output);
	else
		s->report.text = s->output;
	s->report.procs = s->procs;
	s->report.enforce = enforcer__decide;
	s->report.enforce_arg = s->enforcer;
	if (opts->history_stacks)
		s->report.kept = &s->kept;
	if (opts->dwarf) {
		s->report.unwinder = unwinder__new(s->sym);
		s->report.dumps = dumps__new();
		if (!s->report.unwinder || !s->report.dumps)
			return refuse(ACL_EXIT_FAILED, "%s", strerror(ENOMEM));
	}
	s->stories = opts->json && !s->report.json ? NULL : stories__new(&s->report);
	return s->stories ? 0 : refuse(ACL_EXIT_FAILED, "%s", strerror(ENOMEM));
}

/* Only woken when much waits; what is less is looked for by time. */
static int open_trace(struct session *s)
{
	struct epoll_event ev = { .events = EPOLLIN | EPOLLET, .data.u64 = WAKE_TRACE };
	int err = record__attach(s->record, s->skel);

	s->record_due = 0;
	if (!err && epoll_ctl(s->epoll, EPOLL_CTL_ADD, bpf_map__fd(s->skel->maps.trace), &ev))
		err = -errno;
	return err;
}

static enum attach_how how_to_attach(const struct session *s)
{
	if (s->opts->assume_seccomp_risk)
		return ATTACH_ENTRIES;
	return s->kernel.uprobe_multi ? ATTACH_MULTI : ATTACH_SINGLY;
}

static int open_rings(struct session *s)
{
	s->violations = backlog__new(bpf_map__fd(s->skel->maps.violations), on_violation, s);
	s->life = ring_buffer__new(bpf_map__fd(s->skel->maps.life), on_life, s, NULL);
	if (s->report.dumps && dumps__attach(s->report.dumps, bpf_map__fd(s->skel->maps.dumps)))
		return refuse(ACL_EXIT_FAILED, "cannot set up the rings: %s", strerror(errno));
	s->sweep = sweep__new(s->skel);
	s->scope = scope__new(s->skel, s->epoll);
	s->leaks = leaks__new(&s->report);
	s->probes = probes__new(s->skel, how_to_attach(s), !s->opts->all);
	if (!s->violations || !s->life || !s->sweep || !s->scope || !s->leaks || !s->probes ||
	    watch_fd(s, backlog__fd(s->violations), WAKE_VIOLATIONS) ||
	    watch_fd(s, ring_buffer__epoll_fd(s->life), WAKE_LIFE) ||
	    watch_fd(s, probes__fd(s->probes), WAKE_FILES) || (s->record && open_trace(s)))
		return refuse(ACL_EXIT_FAILED, "cannot set up the rings: %s", strerror(errno));
	return 0;
}

static int assume_risk(struct session *s)
{
	if (!s->kernel.uprobe_multi)
		return refuse(
			ACL_EXIT_KERNEL,
			"--assume-seccomp-risk needs uprobe_multi, which this kernel has not.\n"
			"Kernels without it have no such risk either.");
	if (s->opts->recording)
		return refuse(ACL_EXIT_FAILED,
			      "without return probes nothing can be recorded: what calls returned "
			      "would be missing");
	s->kernel.seccomp_risk = true;
	return 0;
}

static void observe(struct session *s, bool off, const char *by)
{
	if (enforcer__observe(s->enforcer, off))
		enforcement__switched(&s->report, off, by);
}

bool session__take_signal(struct session *s, uint32_t sig)
{
	if (sig != SIGUSR1 && sig != SIGUSR2)
		return false;
	observe(s, sig == SIGUSR1, sig == SIGUSR1 ? "SIGUSR1" : "SIGUSR2");
	return true;
}

bool session__enforces(const struct session *s)
{
	return s->opts->enforce.on;
}

unsigned int session__held(const struct session *s)
{
	return enforcer__held(s->enforcer);
}

static void on_command(void *arg, const char *command, char *answer, size_t n)
{
	struct session *s = arg;
	bool off = !strcmp(command, "observe");

	if (off || !strcmp(command, "enforce")) {
		if (!session__enforces(s)) {
			snprintf(answer, n, "error nothing is enforced: there was no --enforce");
			return;
		}
		observe(s, off, "the control socket");
	} else if (strcmp(command, "status") != 0) {
		snprintf(answer, n, "error unknown command; there are observe, enforce, status");
		return;
	}
	enforce_counts__status(enforcer__counts(s->enforcer), enforcer__held(s->enforcer), answer,
			       n);
}

static int open_control(struct session *s)
{
	int err = control__new(s->opts->enforce.control, on_command, s, &s->control);

	if (!err && watch_fd(s, control__fd(s->control), WAKE_CONTROL))
		err = refuse(ACL_EXIT_FAILED, "%s", strerror(errno));
	return err;
}

/* What takes long, and can be given up at any moment. */
static int open_programs(struct session *s)
{
	int err;

	err = suppress_file__read_all(s->opts->suppressions, s->opts->nsuppressions, &s->suppress);
	if (!err)
		err = kernel__probe(&s->kernel);
	if (!err && s->opts->assume_seccomp_risk)
		err = assume_risk(s);
	if (err)
		return err;
	s->epoll = epoll_create1(EPOLL_CLOEXEC);
	s->sym = symbolizer__new(s->opts->no_lines ? SYMBOLIZER_NO_LINES : 0);
	s->procs = procs__new();
	s->sites = sites__new();
	s->enforcer = enforcer__new(s->opts);
	if (libbpf_num_possible_cpus() < 0) /* the counts of each are summed up in the end */
		return refuse(ACL_EXIT_FAILED,
			      "cannot read how many CPUs there are: is /sys mounted?");
	if (s->epoll < 0 || !s->sym || !s->procs || !s->enforcer || !s->sites)
		return refuse(ACL_EXIT_FAILED, "%s", strerror(errno));
	err = options_symbols__apply(&s->opts->symbols, s->sym);
	if (!err)
		err = open_output(s);
	if (!err && s->opts->recording)
		err = record__open(s->opts, &s->record);
	if (!err)
		err = load__open(s->opts, s->suppress ? s->suppress->rules : 0, &s->kernel,
				 &s->load);
	s->skel = s->load.skel;
	return err;
}

static int open_all(struct session *s)
{
	int err;

	start__begin();
	err = open_programs(s);
	start__end();
	if (!err) {
		s->kept.fd = bpf_map__fd(s->skel->maps.stacks);
		err = enforcer__begin(s->enforcer, s->skel);
		if (err)
			return refuse(ACL_EXIT_FAILED, "cannot fork: %s", strerror(-err));
		err = open_rings(s);
	}
	if (!err && s->opts->enforce.control)
		err = open_control(s);
	return err;
}

static void free_all(struct session *s)
{
	discover__free(s->discover);
	probes__free(s->probes);
	enforcer__free(s->enforcer);
	control__free(s->control);
	backlog__free(s->violations);
	ring_buffer__free(s->life);
	record__abandon(s->record);
	sweep__free(s->sweep);
	leaks__free(s->leaks);
	load__close(&s->load);
	stories__free(s->stories);
	json__free(s->report.json);
	dumps__free(s->report.dumps);
	unwinder__free(s->report.unwinder);
	symbolizer__free(s->sym);
	sites__free(s->sites);
	suppressions__free(s->suppress);
	scope__free(s->scope);
	procs__free(s->procs);
	if (s->output && s->output != stderr && !(s->listener && s->listener->reports))
		fclose(s->output);
	if (s->epoll >= 0)
		close(s->epoll);
	free(s);
}

/* The older kind of uprobe takes two descriptors a function. */
static void raise_nofile(void)
{
	struct rlimit lim;

	if (getrlimit(RLIMIT_NOFILE, &lim) || lim.rlim_cur == lim.rlim_max)
		return;
	lim.rlim_cur = lim.rlim_max;
	setrlimit(RLIMIT_NOFILE, &lim);
}

int session__open(const struct options *opts, const struct session_listener *listener,
		  struct session **out)
{
	struct session *s = calloc(1, sizeof(*s));
	int err;

	if (!s)
		return refuse(ACL_EXIT_FAILED, "%s", strerror(ENOMEM));
	s->opts = opts;
	s->listener = listener;
	/* a report that cannot be written is an error of ours, and no end */
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
	raise_nofile();
	s->epoll = -1;
	s->interrupt = -1;
	s->record_due = UINT64_MAX;
	s->started = report__now();
	err = open_all(s);
	if (err)
		free_all(s);
	else
		*out = s;
	return err;
}

/* ---- the canary ---------------------------------------------------------- */

int session__canary(struct session *s, pid_t pid, int interrupt)
{
	if (!s->opts->canary || s->canary_done)
		return 0;
	s->canary_done = true;
	privileges__raise();
	mind_seccomp(s, pid);
	privileges__lower();
	return canary__watch(s->probes, pid, scope__pidfd(s->scope, pid), s->opts->canary,
			     interrupt);
}

static int complete(void *arg, pid_t pid)
{
	return session__complete(arg, pid);
}

static int mind(void *arg, pid_t pid)
{
	struct session *s = arg;

	mind_seccomp(s, pid);
	return session__canary(s, pid, s->interrupt);
}

int session__watch_all(struct session *s, int interrupt)
{
	const struct discover_cfg cfg = {
		.opts = s->opts,
		.skel = s->skel,
		.probes = s->probes,
		.procs = s->procs,
		.scope = s->scope,
		.summary = &s->summary,
		.arg = s,
		.complete = complete,
		.mind = mind,
	};
	int found;

	s->discover = discover__new(&cfg);
	if (!s->discover || watch_fd(s, discover__fd(s->discover), WAKE_MAPPINGS))
		return -ENOMEM;
	s->interrupt = interrupt;
	found = discover__scan(s->discover);
	discover__run(s->discover, report__now());
	return discover__failed(s->discover) ? discover__failed(s->discover) : found;
}

/* ---- for listeners ------------------------------------------------------- */

void session__numbers(const struct session *s, struct session_numbers *n)
{
	const struct story_counts *c = stories__counts(s->stories);

	*n = (struct session_numbers){
		.unlooked = s->summary.unlooked,
		.lost_mappings = s->summary.lost_mappings,
		.unknown_records = s->summary.unknown_records,
		.damaged_records = c->malformed,
		.orphaned_followups = c->orphans,
		.unfinished_reports = c->evicted,
		.lost_dumps = dumps__lost(s->report.dumps),
		.late_attaches = s->summary.late_attaches,
		.late_gap = s->summary.late_gap,
		.libraries = probes__libraries(s->probes),
		.how = attach__name(probes__how(s->probes)),
	};
}

struct aclguard_bpf *session__maps(const struct session *s)
{
	return s->skel;
}

struct ring_buffer *session__ring(const struct session *s, unsigned int i, const char **name)
{
	*name = i ? "life" : "violations";
	return i ? s->life : backlog__ring(s->violations);
}

const struct report_cfg *session__report_cfg(const struct session *s)
{
	return &s->report;
}

/* ---- closing ------------------------------------------------------------- */

/* Before what is left in the ring is taken, so that nothing is called lost that is there. */
static void sum_verdicts(struct session *s)
{
	struct acl_verdicts n[ACL_VERDICTS_MAX];

	if (counters__verdicts(s->skel, n))
		return;
	for (unsigned int nr = 0; nr < ACL_VERDICTS_MAX; nr++)
		s->summary.made[nr / ACL_EV_MAX / ACL_LEVEL_MAX] += n[nr].made;
}

static void sum_counters(struct session *s)
{
	int err = counters__calls(s->skel, s->summary.calls);

	if (!err)
		err = counters__losses(s->skel, s->summary.losses);
	s->summary.losses[ACL_L_DUMP] += dumps__lost(s->report.dumps);
	if (err)
		say("cannot read what was counted of calls and losses: %s", strerror(-err));
}

/* Processes that still run when we leave them. */
static void sum_live(struct session *s)
{
	uint32_t *prev = NULL, key;
	struct acl_proc p;

	while (!bpf_map__get_next_key(s->skel->maps.procs, prev, &key, sizeof(key))) {
		if (!bpf_map__lookup_elem(s->skel->maps.procs, &key, sizeof(key), &p, sizeof(p),
					  0)) {
			note_leaks(s, &p, report__now());
			summary__add(&s->summary, &p);
			stories__process_gone(s->stories, p.inc);
		}
		prev = &key;
	}
}

static struct summary_library *list_libraries(struct session *s)
{
	size_t n = probes__libraries(s->probes);
	struct summary_library *libs = calloc(n + 1, sizeof(*libs));

	for (size_t i = 0; libs && i < n; i++) {
		libs[i].path = probes__library(s->probes, i, &libs[i].functions);
		libs[i].how = attach__name(probes__how(s->probes));
	}
	s->summary.libs = libs;
	s->summary.n_libs = libs ? n : 0;
	return libs;
}

/* Returns 0, or -errno where any report of the session could not be written. */
static int summarize(struct session *s)
{
	struct summary_library *libs = list_libraries(s);
	int err;

	sum_counters(s);
	sum_live(s);
	stories__finish(s->stories);
	s->summary.duration_ns = report__now() - s->started;
	s->summary.counts = stories__counts(s->stories);
	s->summary.enforced = enforcer__counts(s->enforcer);
	err = leaks__print(s->leaks);
	if (!err)
		err = summary__print(&s->report, &s->summary);
	free(libs);
	return err ? err : stories__write_error(s->stories);
}

void session__abandon(struct session *s)
{
	free_all(s);
}

int session__close(struct session *s)
{
	int err, recorded, status = 0;

	/* from here on nobody is stopped; who has been for us to look, goes on */
	enforcer__end(s->enforcer);
	probes__free_loaders(s->probes);
	bpf_link__destroy(s->load.links[0]);
	s->load.links[0] = NULL;
	backlog__drain(s->violations);
	ring_buffer__consume(s->life);
	recorded = record__close(s->record);
	s->record = NULL;
	/* what is in the recording is reported, too */
	sum_verdicts(s);
	backlog__drain(s->violations);
	ring_buffer__consume(s->life);
	enforcer__settle(s->enforcer);
	err = summarize(s);
	if (s->opts->error_exitcode >= 0 && stories__count(s->stories, ACL_LEVEL_ERROR))
		status = s->opts->error_exitcode;
	if (err)
		status = refuse(ACL_EXIT_OUTPUT, "some reports could not be written: %s",
				strerror(-err));
	free_all(s);
	return recorded ? recorded : status;
}
