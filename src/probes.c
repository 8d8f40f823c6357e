/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Which files are probed.  A file that was looked at is remembered by what it
 * is, not by its name.  Where one lies on an overlay, each container gives it a
 * device number of its own: whether it is one that is probed already is seen in
 * the memory of who maps it, where the probes are.
 */
#define _GNU_SOURCE
#include "probes.h"

#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <search.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/inotify.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "records.h" /* for the skeleton */
#include "aclguard.skel.h"
#include "attach.h"
#include "calls.h"
#include "elffile.h"
#include "escape.h"
#include "exits.h"
#include "maps.h"
#include "report_text.h"
#include "signals.h"

#define LOADER_HOOK "_dl_debug_state" /* what debuggers stop at, in every libc */
#define LOADER_STATE "_r_debug"	      /* what they look at then */
#define CODE_COMPARED 4		      /* bytes that a probe changes at least one of */
#define SHOWN_MAX 512
#define FILES_MAX 65536 /* remembered; beyond it, those of no interest go */

/* What tells files apart that differ; on overlays not by device and inode alone. */
struct identity {
	off_t size;
	struct timespec mtime;
	uint8_t build_id[ELFFILE_BUILD_ID_MAX];
	int build_id_len;
};

struct library {
	char *path; /* as the process that brought it in calls it */
	unsigned int calls;
	struct identity id;
	uint64_t since; /* monotonic ns: it has been probed since then */
	int fd; /* the file, to be probed in another way, and with a lease on it; -1: none */
	uint64_t probed; /* offset of one of its probes in the file */
	struct attached links;
	int watch;    /* of inotify; -1: none */
	bool leased;  /* who wants to write to it waits until its probes are out */
	bool changed; /* written to: its probes are out */
};

/* A file that was looked at. */
struct seen {
	dev_t dev;
	ino_t ino;
	off_t size;
	struct timespec mtime;
	int what;	     /* mask of enum probes_file */
	struct library *lib; /* where it is the runtime */
};

struct probes {
	struct aclguard_bpf *skel;
	enum attach_how how;
	bool loaders;
	void *files; /* tsearch() tree of struct seen */
	size_t nfiles;
	struct attached loader_links[64];
	size_t nloaders;
	struct library **libraries;
	size_t nlibraries;
	int inotify, leases, epoll;
};

static const char *const call_names[ACL_C_MAX] = {
#define CALL_NAME(name, role, args) [ACL_C_##name] = #name,
	ACL_CALLS(CALL_NAME)
};

static int compare_seen(const void *a, const void *b)
{
	const struct seen *x = a, *y = b;

#define COMPARE(field)                                       \
	do {                                                 \
		if (x->field != y->field)                    \
			return x->field < y->field ? -1 : 1; \
	} while (0)
	COMPARE(dev);
	COMPARE(ino);
	COMPARE(size);
	COMPARE(mtime.tv_sec);
	COMPARE(mtime.tv_nsec);
#undef COMPARE
	return 0;
}

/* The kernel's word that somebody wants to write to a file that is leased. */
static int open_leases(void)
{
	static const int word = SIGIO;

	return signals__open(&word, 1, NULL);
}

struct probes *probes__new(struct aclguard_bpf *skel, enum attach_how how, bool loaders)
{
	struct epoll_event in = { .events = EPOLLIN };
	struct probes *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->skel = skel;
	p->how = how;
	p->loaders = loaders;
	p->inotify = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	p->leases = open_leases();
	p->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (p->epoll >= 0 && p->inotify >= 0)
		epoll_ctl(p->epoll, EPOLL_CTL_ADD, p->inotify, &in);
	if (p->epoll >= 0 && p->leases >= 0)
		epoll_ctl(p->epoll, EPOLL_CTL_ADD, p->leases, &in);
	return p;
}

static void library__free(struct library *lib)
{
	if (lib->fd >= 0)
		close(lib->fd);
	free(lib->links.links);
	free(lib->path);
	free(lib);
}

void probes__free(struct probes *p)
{
	struct attached all = { .n = 0 };

	if (!p)
		return;
	probes__free_loaders(p);
	for (size_t i = 0; i < p->nlibraries; i++)
		if (attach__join(&all, &p->libraries[i]->links))
			attach__detach(&p->libraries[i]->links);
	attach__detach(&all);
	tdestroy(p->files, free);
	for (size_t i = 0; i < p->nlibraries; i++)
		library__free(p->libraries[i]);
	free(p->libraries);
	if (p->inotify >= 0)
		close(p->inotify);
	if (p->leases >= 0)
		close(p->leases);
	if (p->epoll >= 0)
		close(p->epoll);
	free(p);
}

static void say_by_name(void)
{
	static bool said;

	if (!said)
		say("not allowed to follow /proc/PID/map_files (CAP_CHECKPOINT_RESTORE or "
		    "CAP_SYS_ADMIN is missing):\nfiles are opened by name, and those deleted or "
		    "replaced since are not found");
	said = true;
}

int probes_place__open(struct probes_place *at, pid_t pid, const struct map_entry *m, char *path,
		       size_t size)
{
	struct stat st;
	int n, refused, err;

	*at = (struct probes_place){
		.path = path,
		.name = m->path,
		.pid = pid,
		.start = m->start,
		.end = m->end,
		.offset = m->offset,
	};
	snprintf(path, size, "/proc/%d/map_files/%" PRIx64 "-%" PRIx64, pid, m->start, m->end);
	if (!faccessat(AT_FDCWD, path, R_OK, AT_EACCESS))
		return 0;
	refused = errno == EACCES || errno == EPERM;
	n = snprintf(path, size, "/proc/%d/root%s", pid, m->path);
	if (n < 0 || (size_t)n >= size)
		return -ENAMETOOLONG;
	if (!faccessat(AT_FDCWD, path, R_OK, AT_EACCESS)) {
		if (refused)
			say_by_name();
		return 0;
	}
	err = refused ? -EACCES : -errno; /* a deleted one has no name */
	at->path = m->path;
	return !stat(m->path, &st) && st.st_ino == m->inode ? 0 : err;
}

/* ---- libraries ---------------------------------------------------------- */

static void identify(struct elffile *ef, const struct stat *st, struct identity *id)
{
	memset(id, 0, sizeof(*id));
	id->size = st->st_size;
	id->mtime = st->st_mtim;
	id->build_id_len = elffile__build_id(ef, id->build_id);
	if (id->build_id_len < 0)
		id->build_id_len = 0;
}

static bool same_identity(const struct identity *a, const struct identity *b)
{
	return a->size == b->size && a->mtime.tv_sec == b->mtime.tv_sec &&
	       a->mtime.tv_nsec == b->mtime.tv_nsec && a->build_id_len == b->build_id_len &&
	       !memcmp(a->build_id, b->build_id, sizeof(a->build_id));
}

/* Whether the process' copy of the code has a probe at this offset of the file. */
static bool is_patched(const struct probes_place *at, struct elffile *ef, uint64_t offset)
{
	unsigned char file[CODE_COMPARED], memory[CODE_COMPARED];
	char path[64];
	ssize_t n;
	int fd;

	if (!at->pid || offset < at->offset || offset - at->offset >= at->end - at->start ||
	    elffile__read_code(ef, offset, file, sizeof(file)) != sizeof(file))
		return false;
	snprintf(path, sizeof(path), "/proc/%d/mem", at->pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	n = pread(fd, memory, sizeof(memory), (off_t)(at->start + (offset - at->offset)));
	close(fd);
	return n == sizeof(memory) && memcmp(file, memory, sizeof(file)) != 0;
}

/* The library that this file is, if it is probed already. */
static struct library *find_probed(struct probes *p, const struct probes_place *at,
				   struct elffile *ef, const struct identity *id)
{
	for (size_t i = 0; i < p->nlibraries; i++) {
		struct library *lib = p->libraries[i];

		if (!lib->changed && same_identity(&lib->id, id) && is_patched(at, ef, lib->probed))
			return lib;
	}
	return NULL;
}

static struct library *library__new(struct probes *p, const char *name,
				    const struct elffile_func *f)
{
	struct library **libraries, *lib = calloc(1, sizeof(*lib));

	libraries = reallocarray(p->libraries, p->nlibraries + 1, sizeof(struct library *));
	if (libraries)
		p->libraries = libraries;
	if (lib) {
		lib->fd = lib->watch = -1;
		lib->path = strdup(name);
	}
	if (!lib || !lib->path || !libraries) {
		if (lib)
			library__free(lib);
		return NULL;
	}
	for (int i = 0; i < ACL_C_MAX; i++) {
		if (!attach__is_usable(&f[i]))
			continue;
		lib->calls++;
		lib->probed = f[i].offset;
	}
	return lib;
}

static int cannot_probe(const struct probes_place *at, int err)
{
	char shown[SHOWN_MAX];

	if (faccessat(AT_FDCWD, at->path, F_OK, AT_EACCESS))
		return -ESRCH; /* the process is gone, and its way to the file with it */
	escape__str(shown, sizeof(shown), at->name);
	say("cannot probe %s: %s%s", shown, strerror(-err),
	    err == -EMFILE ? "; raise `ulimit -n'" : "");
	return err;
}

/* A way to an open file that does not depend on who had it. */
static void own_path(int fd, char path[64])
{
	snprintf(path, 64, "/proc/self/fd/%d", fd);
}

static int attach_runtime(struct probes *p, const struct probes_place *at, struct elffile *ef,
			  const struct elffile_func *f, const struct identity *id,
			  struct library **out)
{
	struct library *lib = library__new(p, at->name, f);
	char path[64];
	int err;

	if (!lib)
		return -ENOMEM;
	lib->fd = fcntl(elffile__fd(ef), F_DUPFD_CLOEXEC, 0);
	own_path(lib->fd, path);
	/* first, so that nobody writes to it in between */
	lib->leased = lib->fd >= 0 && !fcntl(lib->fd, F_SETLEASE, F_RDLCK);
	err = lib->fd < 0 ? -errno : attach__runtime(p->skel, p->how, -1, path, f, &lib->links);
	if (err) {
		library__free(lib);
		return cannot_probe(at, err);
	}
	lib->id = *id;
	lib->since = report__now();
	if (p->inotify >= 0)
		lib->watch = inotify_add_watch(p->inotify, path, IN_MODIFY | IN_CLOSE_WRITE);
	p->libraries[p->nlibraries++] = lib;
	*out = lib;
	return 0;
}

static int probe_again(struct probes *p, struct library *lib)
{
	struct elffile_func funcs[ACL_C_MAX];
	struct elffile *ef;
	char path[64];
	int err = elffile__open_fd(lib->fd, &ef);

	if (err)
		return err;
	own_path(lib->fd, path);
	err = elffile__find_functions(ef, call_names, ACL_C_MAX, funcs) > 0
		      ? attach__runtime(p->skel, p->how, -1, path, funcs, &lib->links)
		      : -ENOENT;
	elffile__close(ef);
	return err;
}

int probes__without_returns(struct probes *p)
{
	int err = 0, one;

	if (p->how == ATTACH_ENTRIES)
		return 0;
	p->how = ATTACH_ENTRIES;
	for (size_t i = 0; i < p->nlibraries; i++) {
		struct library *lib = p->libraries[i];
		const struct probes_place at = { .path = "/proc/self/exe", .name = lib->path };

		if (lib->changed)
			continue;
		attach__detach(&lib->links); /* at once: who returns is in danger */
		one = probe_again(p, lib);
		if (one)
			err = cannot_probe(&at, one);
	}
	return err;
}

enum attach_how probes__how(const struct probes *p)
{
	return p->how;
}

/* ---- loaders ------------------------------------------------------------ */

/*
 * How far the loader's state lies from its hook: the same in every process, so
 * that the kernel side can look there (see loader() in aclguard.bpf.c).  A
 * loader without it, or one too many, stops whoever it is hit by.
 */
static void keep_loader_delta(struct probes *p, struct elffile *ef, const struct elffile_func *hook)
{
	uint64_t state;

	if (elffile__find_object(ef, LOADER_STATE, &state))
		return;
	for (size_t i = 0; i < ACL_LOADERS_MAX; i++) {
		if (!p->skel->bss->loader_deltas[i])
			p->skel->bss->loader_deltas[i] = state - hook->addr;
		if (p->skel->bss->loader_deltas[i] == state - hook->addr)
			return;
	}
}

static int attach_loader(struct probes *p, const char *path, uint64_t offset)
{
	int err;

	if (p->nloaders == sizeof(p->loader_links) / sizeof(p->loader_links[0]))
		return -ENOSPC;
	err = attach__loader(p->skel, p->how, path, offset, &p->loader_links[p->nloaders]);
	if (!err)
		p->nloaders++;
	return err;
}

size_t probes__loaders(const struct probes *p)
{
	return p->nloaders;
}

void probes__free_loaders(struct probes *p)
{
	while (p->nloaders)
		attach__detach(&p->loader_links[--p->nloaders]);
}

/* ---- looking at files --------------------------------------------------- */

bool probes__is_runtime_name(const char *name)
{
	const char *base = strrchr(name, '/');

	base = base ? base + 1 : name;
	return !fnmatch("libascendcl.so*", base, 0) || !fnmatch("libacl_rt.so*", base, 0);
}

/* What the file is; the functions that are to be probed, and the hook of a loader. */
static int classify(struct elffile *ef, const char *name, struct elffile_func *funcs,
		    struct elffile_func *hook)
{
	const char *const hook_name = LOADER_HOOK;
	int what = PROBES_NOTHING;

	hook->found = false;
	if (elffile__is_stub_path(name))
		return PROBES_NOTHING;
	if (elffile__find_functions(ef, &hook_name, 1, hook) > 0)
		what |= PROBES_LOADER;
	if (elffile__defines_acl(ef) == 1) {
		if (elffile__find_functions(ef, call_names, ACL_C_MAX, funcs) > 0)
			what |= PROBES_RUNTIME;
	} else if (probes__is_runtime_name(name)) {
		what |= PROBES_EMPTY;
	}
	return what;
}

/* Probes what is of interest.  Returns what the file is, or -errno. */
static int probe_file(struct probes *p, const struct probes_place *at, struct elffile *ef,
		      const struct stat *st, struct library **lib)
{
	struct elffile_func funcs[ACL_C_MAX], hook;
	int err, what = classify(ef, at->name, funcs, &hook);
	struct identity id;
	char path[64];

	if (what & PROBES_LOADER && p->loaders) {
		keep_loader_delta(p, ef, &hook);
		own_path(elffile__fd(ef), path);
		err = attach_loader(p, path, hook.offset);
		if (err)
			return err;
	}
	if (what & PROBES_RUNTIME) {
		identify(ef, st, &id);
		*lib = find_probed(p, at, ef, &id);
		err = *lib ? 0 : attach_runtime(p, at, ef, funcs, &id, lib);
		if (err)
			return err;
	}
	return what;
}

static struct seen *seen__find(struct probes *p, const char *path, struct stat *st)
{
	struct seen key, **found, *seen;

	if (stat(path, st) || !S_ISREG(st->st_mode))
		return NULL;
	key.dev = st->st_dev;
	key.ino = st->st_ino;
	key.size = st->st_size;
	key.mtime = st->st_mtim;
	found = tfind(&key, &p->files, compare_seen);
	if (!found)
		return NULL;
	seen = *found;
	if (!seen->lib || !seen->lib->changed)
		return seen;
	tdelete(seen, &p->files, compare_seen); /* what was known of it is over */
	free(seen);
	p->nfiles--;
	return NULL;
}

static void seen__free_dull(void *arg)
{
	struct seen *seen = arg;

	if (!seen->lib)
		free(seen);
}

struct kept {
	struct seen **some;
	size_t n;
};

static void seen__count(const void *node, VISIT which, void *arg)
{
	struct seen *seen = *(struct seen *const *)node;
	struct kept *kept = arg;

	if ((which != postorder && which != leaf) || !seen->lib)
		return;
	if (kept->some)
		kept->some[kept->n] = seen;
	kept->n++;
}

/* Forgets the files of no interest; they will be looked at again. */
static int seen__trim(struct probes *p)
{
	struct kept kept = { .n = 0 };

	twalk_r(p->files, seen__count, &kept);
	kept.some = calloc(kept.n + 1, sizeof(struct seen *));
	if (!kept.some)
		return -ENOMEM;
	kept.n = 0;
	twalk_r(p->files, seen__count, &kept);
	tdestroy(p->files, seen__free_dull);
	p->files = NULL;
	p->nfiles = 0;
	for (size_t i = 0; i < kept.n; i++) {
		if (tsearch(kept.some[i], &p->files, compare_seen))
			p->nfiles++;
		else
			free(kept.some[i]);
	}
	free(kept.some);
	return 0;
}

static int seen__add(struct probes *p, const struct stat *st, int what, struct library *lib)
{
	struct seen *seen;

	if (p->nfiles >= FILES_MAX && seen__trim(p))
		return -ENOMEM;
	seen = malloc(sizeof(*seen));
	if (!seen)
		return -ENOMEM;
	*seen = (struct seen){
		.dev = st->st_dev,
		.ino = st->st_ino,
		.size = st->st_size,
		.mtime = st->st_mtim,
		.what = what,
		.lib = lib,
	};
	if (!tsearch(seen, &p->files, compare_seen)) {
		free(seen);
		return -ENOMEM;
	}
	p->nfiles++;
	return 0;
}

int probes__file(struct probes *p, const struct probes_place *at)
{
	struct stat st = { .st_mode = 0 };
	struct seen *seen = seen__find(p, at->path, &st);
	struct library *lib = NULL;
	struct elffile *ef;
	int err, what = PROBES_NOTHING;

	if (seen)
		return seen->what;
	if (!S_ISREG(st.st_mode))
		return PROBES_NOTHING;
	err = elffile__open(at->path, &ef);
	if (!err) {
		what = probe_file(p, at, ef, &st, &lib);
		elffile__close(ef);
		if (what < 0)
			return what;
	} else if (probes__is_runtime_name(at->name)) {
		what = PROBES_EMPTY;
	}
	err = seen__add(p, &st, what, lib);
	return err ? err : what | PROBES_NEW;
}

int probes__look(struct probes *p, const struct probes_place *at)
{
	struct elffile_func funcs[ACL_C_MAX], hook;
	struct stat st = { .st_mode = 0 };
	struct seen *seen = seen__find(p, at->path, &st);
	int what = PROBES_NOTHING;
	struct elffile *ef;

	if (seen)
		return seen->what;
	if (!S_ISREG(st.st_mode) || elffile__open(at->path, &ef))
		return PROBES_NOTHING;
	what = classify(ef, at->name, funcs, &hook);
	elffile__close(ef);
	if (!(what & PROBES_RUNTIME) && !(what & PROBES_LOADER && p->loaders))
		seen__add(p, &st, what, NULL); /* without memory it is looked at again */
	return what | PROBES_NEW;
}

int probes__try(struct probes *p, const struct probes_place *at, struct attached *out)
{
	struct elffile_func funcs[ACL_C_MAX], hook;
	struct attached links = { .n = 0 };
	struct elffile *ef;
	int err = elffile__open(at->path, &ef);

	if (err)
		return err;
	if (classify(ef, at->name, funcs, &hook) & PROBES_RUNTIME)
		err = attach__runtime(p->skel, p->how, at->pid, at->path, funcs, &links);
	elffile__close(ef);
	if (!err)
		err = attach__join(out, &links);
	if (err)
		attach__detach(&links);
	return err;
}

uint64_t probes__since(struct probes *p, const struct probes_place *at)
{
	struct stat st;
	const struct seen *seen = seen__find(p, at->path, &st);

	return seen && seen->lib ? seen->lib->since : 0;
}

/* ---- files that change -------------------------------------------------- */

int probes__fd(const struct probes *p)
{
	return p->epoll;
}

static void library__changed(struct library *lib)
{
	char shown[SHOWN_MAX];

	if (lib->changed)
		return;
	lib->changed = true;
	attach__detach(&lib->links);
	escape__str(shown, sizeof(shown), lib->path);
	say("%s is about to be written to: its probes are taken out", shown);
	/* the lease goes with it, and whoever waited may write */
	if (lib->fd >= 0)
		close(lib->fd);
	lib->fd = -1;
	lib->leased = false;
}

/* Somebody wants to write, and waits for us. */
static void broken_leases(struct probes *p)
{
	struct signalfd_siginfo si;

	if (read(p->leases, &si, sizeof(si)) < 0)
		return;
	for (size_t i = 0; i < p->nlibraries; i++) {
		struct library *lib = p->libraries[i];

		if (lib->leased && fcntl(lib->fd, F_GETLEASE) != F_RDLCK)
			library__changed(lib);
	}
}

bool probes__changes(struct probes *p)
{
	_Alignas(struct inotify_event) char buf[4096];
	bool whole = false;
	ssize_t n;

	broken_leases(p);
	while ((n = read(p->inotify, buf, sizeof(buf))) > 0) {
		const struct inotify_event *ev;

		for (char *at = buf; at < buf + n; at += sizeof(*ev) + ev->len) {
			ev = (const struct inotify_event *)at;
			for (size_t i = 0; i < p->nlibraries; i++) {
				struct library *lib = p->libraries[i];

				if (lib->watch != ev->wd)
					continue;
				if (ev->mask & IN_MODIFY)
					library__changed(lib);
				else if (ev->mask & IN_CLOSE_WRITE && lib->changed)
					whole = true;
			}
		}
	}
	return whole;
}

size_t probes__libraries(const struct probes *p)
{
	return p->nlibraries;
}

const char *probes__library(const struct probes *p, size_t i, unsigned int *calls)
{
	*calls = p->libraries[i]->calls;
	return p->libraries[i]->path;
}
