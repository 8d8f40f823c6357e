/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Events of mappings, the walk of /proc, and the filters. */
#define _GNU_SOURCE
#include "discover.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "records.h"
#include "aclguard.skel.h"

#include "escape.h"
#include "exits.h"
#include "maps.h"
#include "mmaps.h"
#include "privileges.h"
#include "probes.h"
#include "procinfo.h"
#include "report_text.h"
#include "scope.h"
#include "summary.h"

#define SCAN_INTERVAL 1000000000ULL /* ns; /proc is never walked more often */
#define FILES_MAX 65536		    /* remembered from events */
#define NEVER (~0ULL)

/* A file as the events name it. */
struct file {
	struct mmaps_file id;
	bool runtime;
};

struct discover {
	struct discover_cfg cfg;
	struct mmaps *mmaps; /* NULL: the kernel does not tell */
	void *files;	     /* tsearch() of struct file */
	size_t nfiles;
	uint64_t scanned; /* time of the last walk */
	uint64_t attached; /* a library was probed then, and events from before may be on their way */
	bool rescan;
	pid_t self;
	int users; /* found by the walk */
	int failed;
};

struct discover *discover__new(const struct discover_cfg *cfg)
{
	struct discover *d = calloc(1, sizeof(*d));
	int err;

	if (!d)
		return NULL;
	d->cfg = *cfg;
	d->self = getpid();
	err = mmaps__open(&d->mmaps);
	if (err)
		say("the kernel does not tell what processes map (%s): looking into /proc once a "
		    "second instead",
		    strerror(-err));
	return d;
}

void discover__free(struct discover *d)
{
	if (!d)
		return;
	mmaps__close(d->mmaps);
	tdestroy(d->files, free);
	free(d);
}

int discover__fd(const struct discover *d)
{
	return d->mmaps ? mmaps__fd(d->mmaps) : -1;
}

/* ---- filters ------------------------------------------------------------- */

/* The group itself, or one below it. */
static bool below(const char *cgroup, const char *wanted)
{
	static const char mount[] = "/sys/fs/cgroup";
	size_t n;

	if (!strncmp(wanted, mount, sizeof(mount) - 1) && wanted[sizeof(mount) - 1] == '/')
		wanted += sizeof(mount) - 1;
	while (*wanted == '/')
		wanted++;
	while (*cgroup == '/')
		cgroup++;
	n = strlen(wanted);
	while (n && wanted[n - 1] == '/')
		n--;
	return !strncmp(cgroup, wanted, n) && (!n || !cgroup[n] || cgroup[n] == '/');
}

static bool has_filter(const struct options *o)
{
	return o->comm || o->container || o->cgroup || o->uid_given;
}

enum wants {
	WANTS,
	WANTS_NOT,
	WANTS_UNKNOWN, /* it is gone, or may not be looked at */
};

static enum wants wants(struct discover *d, pid_t pid)
{
	const struct options *o = d->cfg.opts;
	const struct procinfo *info;

	if (!has_filter(o))
		return WANTS;
	info = procs__get(d->cfg.procs, pid);
	if (!info || ((o->container || o->cgroup) && !info->cgroup))
		return WANTS_UNKNOWN;
	if ((o->comm && fnmatch(o->comm, info->comm, 0)) || (o->uid_given && info->uid != o->uid) ||
	    (o->container && strncmp(info->container, o->container, strlen(o->container)) != 0) ||
	    (o->cgroup && !below(info->cgroup, o->cgroup)))
		return WANTS_NOT;
	return WANTS;
}

bool discover__wants(struct discover *d, pid_t pid)
{
	return wants(d, pid) == WANTS;
}

void discover__note(struct discover *d, pid_t pid, uid_t uid, const char *comm)
{
	procs__note(d->cfg.procs, pid, uid, comm, strnlen(comm, ACL_COMM_LEN));
}

static bool called(struct discover *d, const struct acl_proc *p)
{
	struct acl_target t = { .out = 1 };
	pid_t pid = (pid_t)p->tgid;
	enum wants w;

	scope__add(d->cfg.scope, pid); /* its end is to be heard of, wanted or not */
	/* it may have executed something since; or be gone, and this be all there is */
	procs__refresh(d->cfg.procs, pid);
	discover__note(d, pid, p->uid, p->comm);
	w = wants(d, pid);
	d->cfg.summary->unlooked += w == WANTS_UNKNOWN;
	if (w != WANTS) {
		if (scope__has(d->cfg.scope, pid))
			scope__set_target(d->cfg.scope, pid, &t);
		return false;
	}
	/* it ran before us, or was forked by one that did */
	if (scope__has(d->cfg.scope, pid) && scope__get_target(d->cfg.scope, pid, &t))
		d->cfg.complete(d->cfg.arg, pid);
	return true;
}

bool discover__called(struct discover *d, const struct acl_proc *p)
{
	bool wanted;

	privileges__raise();
	wanted = called(d, p);
	privileges__lower();
	return wanted;
}

/* ---- attaching ----------------------------------------------------------- */

/* What is to be said of a library that was probed after it was mapped. */
static void say_late(struct discover *d, const struct probes_place *at, uint64_t mapped)
{
	const struct procinfo *info = procs__get(d->cfg.procs, at->pid);
	char name[512], comm[64], span[REPORT_SPAN_MAX];
	uint64_t gap = mapped && d->attached > mapped ? d->attached - mapped : 0;

	escape__str(name, sizeof(name), at->name);
	escape__str(comm, sizeof(comm), info ? info->comm : "?");
	if (!mapped) {
		say("%s is probed, as process %d (%s) has it", name, at->pid, comm);
		return;
	}
	say("process %d (%s) mapped %s: probed %s later", at->pid, comm, name,
	    report__span(span, (int64_t)gap));
}

/*
 * A library that is new: until who has it mapped by then is known to the kernel
 * side, nothing is certain.  `mapped`: when, 0 if that is not known.
 */
static int probe(struct discover *d, const struct probes_place *at, uint64_t mapped)
{
	const struct acl_target late = { .complete = NEVER, .late = 1 };
	size_t before = probes__libraries(d->cfg.probes);
	int what;

	d->cfg.skel->data->complete_since = NEVER;
	scope__set_target(d->cfg.scope, at->pid, &late);
	what = probes__file(d->cfg.probes, at);
	d->attached = report__now();
	if (what > 0 && probes__libraries(d->cfg.probes) > before)
		say_late(d, at, mapped);
	return what;
}

/* It had the library before that was probed: what it did until then is not known. */
static void late(struct discover *d, pid_t pid, uint64_t mapped, uint64_t since)
{
	struct summary *s = d->cfg.summary;

	d->cfg.complete(d->cfg.arg, pid);
	if (!mapped || since <= mapped)
		return;
	s->late_attaches++;
	if (since - mapped > s->late_gap)
		s->late_gap = since - mapped;
}

/* The process has a library of the runtime, since `mapped` if that is not 0. */
static void found(struct discover *d, const struct probes_place *at, uint64_t mapped)
{
	const struct acl_target fresh = { .complete = 0 };
	struct acl_target t;
	bool known = !scope__get_target(d->cfg.scope, at->pid, &t);
	uint64_t since;

	if (d->failed)
		return;
	scope__add(d->cfg.scope, at->pid);
	procs__get(d->cfg.procs, at->pid); /* it may be gone when there is something to tell */
	d->failed = d->cfg.mind(d->cfg.arg, at->pid);
	if (d->failed)
		return;
	if (probes__look(d->cfg.probes, at) & PROBES_NEW) {
		if (probe(d, at, mapped) < 0) { /* already said; it cannot be probed */
			d->cfg.summary->unlooked++;
			scope__drop_target(d->cfg.scope, at->pid);
			return;
		}
		late(d, at->pid, mapped, d->attached);
	} else {
		since = probes__since(d->cfg.probes, at);
		if (mapped ? mapped < since : !known || !d->scanned || d->attached)
			late(d, at->pid, mapped, since);
		else if (!known)
			scope__set_target(d->cfg.scope, at->pid, &fresh);
	}
	if (!scope__has(d->cfg.scope, at->pid)) /* it is gone */
		scope__drop_target(d->cfg.scope, at->pid);
}

/* ---- events -------------------------------------------------------------- */

static int compare_files(const void *a, const void *b)
{
	return memcmp(&((const struct file *)a)->id, &((const struct file *)b)->id,
		      sizeof(struct mmaps_file));
}

static struct file *file__add(struct discover *d, const struct mmaps_file *id, bool runtime)
{
	struct file *f;

	if (d->nfiles >= FILES_MAX) { /* they will be looked at again */
		tdestroy(d->files, free);
		d->files = NULL;
		d->nfiles = 0;
	}
	f = calloc(1, sizeof(*f));
	if (!f)
		return NULL;
	f->id = *id;
	f->runtime = runtime;
	if (!tsearch(f, &d->files, compare_files)) {
		free(f);
		return NULL;
	}
	d->nfiles++;
	return f;
}

static void on_event(void *arg, const struct mmaps_event *ev)
{
	const struct file key = { .id = ev->file };
	struct discover *d = arg;
	struct file **known, *f;
	const struct map_entry m = {
		.start = ev->start,
		.end = ev->end,
		.offset = ev->offset,
		.inode = ev->file.inode,
		.path = (char *)ev->name,
	};
	char path[PROBES_PATH_MAX];
	struct probes_place at;
	int what;

	if (ev->pid == d->self)
		return;
	known = tfind(&key, &d->files, compare_files);
	f = known ? *known : NULL;
	/* a file system without generations may give the number to another file */
	if (f && !f->runtime && ev->file.generation)
		return;
	if (probes_place__open(&at, ev->pid, &m, path, sizeof(path))) {
		d->cfg.summary->unlooked += probes__is_runtime_name(ev->name);
		return;
	}
	what = probes__look(d->cfg.probes, &at);
	if (!f)
		f = file__add(d, &ev->file, what & PROBES_RUNTIME);
	if (!(what & PROBES_RUNTIME))
		return;
	if (f)
		f->runtime = true;
	/* where it is gone, others who map the library may be wanted */
	if (wants(d, ev->pid) != WANTS_NOT)
		found(d, &at, ev->time);
}

/* ---- the walk of /proc --------------------------------------------------- */

struct walk {
	struct discover *d;
	pid_t pid, task;
	bool uses;
};

static int on_mapping(const struct map_entry *m, void *arg)
{
	struct walk *w = arg;
	char path[PROBES_PATH_MAX];
	struct probes_place at;

	if (!m->exec || !map_entry__is_file(m) ||
	    probes_place__open(&at, w->task, m, path, sizeof(path)))
		return 0;
	at.pid = w->pid;
	if (probes__look(w->d->cfg.probes, &at) & PROBES_RUNTIME && discover__wants(w->d, w->pid)) {
		found(w->d, &at, 0);
		w->uses = true;
	}
	return 0;
}

int discover__scan(struct discover *d)
{
	DIR *dir = opendir("/proc");
	struct dirent *e;

	if (!dir)
		return -errno;
	d->users = 0;
	while ((e = readdir(dir))) {
		struct walk w = { .d = d, .pid = atoi(e->d_name) };

		if (!isdigit((unsigned char)e->d_name[0]) || w.pid == d->self)
			continue;
		w.task = maps__task(w.pid);
		maps__walk(w.task, on_mapping, &w, NULL); /* it may be gone */
		d->users += w.uses;
	}
	closedir(dir);
	d->scanned = report__now();
	d->rescan = false;
	return d->users;
}

void discover__again(struct discover *d)
{
	d->rescan = true;
	d->scanned = 0;
}

int discover__failed(const struct discover *d)
{
	return d->failed;
}

/* ---- what is due --------------------------------------------------------- */

/* All events of who mapped a library before it was probed have been seen. */
static void settle(struct discover *d)
{
	if (!d->attached)
		return;
	d->attached = 0;
	d->cfg.skel->data->complete_since = 0;
}

static void read_events(struct discover *d)
{
	uint64_t lost = 0, began;

	do {
		began = report__now();
		lost += mmaps__read(d->mmaps, on_event, d);
	} while (d->attached > began);
	settle(d);
	if (!lost)
		return;
	d->rescan = true;
	d->cfg.summary->lost_mappings += lost;
}

static uint64_t run(struct discover *d, uint64_t now)
{
	if (d->mmaps)
		read_events(d);
	else
		d->rescan = true;
	if (d->rescan && now - d->scanned >= SCAN_INTERVAL) {
		discover__scan(d);
		settle(d);
		d->rescan = !d->mmaps;
		now = report__now();
	}
	if (!d->rescan)
		return UINT64_MAX;
	return d->scanned + SCAN_INTERVAL > now ? d->scanned + SCAN_INTERVAL - now : 0;
}

uint64_t discover__run(struct discover *d, uint64_t now)
{
	uint64_t due;

	privileges__raise();
	due = run(d, now);
	privileges__lower();
	return due;
}
