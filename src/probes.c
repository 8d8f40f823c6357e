/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Attaching.  By uprobe_multi a library needs two links: one for all entries,
 * which a cookie tells apart, and one for all returns.  Without it, each
 * function needs one or two of its own, and taking one out makes the kernel
 * wait tens of milliseconds, so that is done by many threads at once.
 */
#define _GNU_SOURCE
#include "probes.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <pthread.h>
#include <search.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "records.h" /* for the skeleton */
#include "aclguard.skel.h"
#include "calls.h"
#include "elffile.h"
#include "escape.h"
#include "exits.h"
#include "kernel.h"

#define DETACH_THREADS 32
#define LOADER_HOOK "_dl_debug_state" /* what debuggers stop at, in every libc */
#define LOADER_STATE "_r_debug"	      /* what they look at then */

/* A file that was looked at: by what it is, not by its name. */
struct seen {
	dev_t dev;
	ino_t ino;
	off_t size;
	struct timespec mtime;
	int what; /* mask of enum probes_file */
};

struct library {
	char *path; /* as the process that brought it in calls it */
	unsigned int calls;
};

struct probes {
	struct aclguard_bpf *skel;
	bool multi;
	void *files; /* tsearch() tree of struct seen */
	struct bpf_link **links;
	size_t nlinks;
	struct bpf_link *loaders[64]; /* those that stop who they are hit by */
	size_t nloaders;
	struct library *libraries;
	size_t nlibraries;
};

static const char *const call_names[ACL_C_MAX] = {
#define CALL_NAME(name, role, args) [ACL_C_##name] = #name,
	ACL_CALLS(CALL_NAME)
};

static struct bpf_program *entry_program(struct probes *p, int call)
{
	switch (call) {
#define CALL_PROGRAM(name, role, args) \
	case ACL_C_##name:             \
		return p->skel->progs.e_##name;
		ACL_CALLS(CALL_PROGRAM)
	default:
		return NULL;
	}
}

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

struct probes *probes__new(struct aclguard_bpf *skel, bool multi)
{
	struct probes *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->skel = skel;
	p->multi = multi;
	return p;
}

/* ---- taking them out ---------------------------------------------------- */

struct detach {
	struct probes *p;
	size_t next; /* atomically */
};

static void *detach_some(void *arg)
{
	struct detach *d = arg;
	size_t i;

	while ((i = __atomic_fetch_add(&d->next, 1, __ATOMIC_RELAXED)) < d->p->nlinks)
		bpf_link__destroy(d->p->links[i]);
	return NULL;
}

static void detach_all(struct probes *p)
{
	struct detach d = { .p = p };
	pthread_t threads[DETACH_THREADS];
	size_t n = 0;

	while (n < DETACH_THREADS && n + 1 < p->nlinks)
		if (pthread_create(&threads[n], NULL, detach_some, &d))
			break;
		else
			n++;
	detach_some(&d);
	while (n)
		pthread_join(threads[--n], NULL);
}

void probes__free(struct probes *p)
{
	if (!p)
		return;
	probes__free_loaders(p);
	detach_all(p);
	tdestroy(p->files, free);
	for (size_t i = 0; i < p->nlibraries; i++)
		free(p->libraries[i].path);
	free(p->libraries);
	free(p->links);
	free(p);
}

/* A chooser of functions runs once, and not as the call. */
static bool usable(const struct elffile_func *f)
{
	return f->found && !f->ifunc;
}

/* ---- putting them in ---------------------------------------------------- */

static int keep_link(struct probes *p, struct bpf_link *link)
{
	struct bpf_link **links;

	if (!link)
		return -errno;
	links = reallocarray(p->links, p->nlinks + 1, sizeof(struct bpf_link *));
	if (!links) {
		bpf_link__destroy(link);
		return -ENOMEM;
	}
	p->links = links;
	links[p->nlinks++] = link;
	return 0;
}

static int keep_library(struct probes *p, const char *name, const struct elffile_func *f)
{
	struct library *libraries, *lib;

	libraries = reallocarray(p->libraries, p->nlibraries + 1, sizeof(*libraries));
	if (!libraries)
		return -ENOMEM;
	p->libraries = libraries;
	lib = &libraries[p->nlibraries];
	lib->path = strdup(name);
	if (!lib->path)
		return -ENOMEM;
	lib->calls = 0;
	for (int i = 0; i < ACL_C_MAX; i++)
		lib->calls += usable(&f[i]);
	p->nlibraries++;
	return 0;
}

static int attach_multi(struct probes *p, struct bpf_program *prog, const char *path,
			const unsigned long *offsets, const __u64 *cookies, size_t n,
			bool is_return)
{
	LIBBPF_OPTS(bpf_uprobe_multi_opts, opts, .offsets = offsets, .cookies = cookies, .cnt = n,
		    .retprobe = is_return);

	return keep_link(p, bpf_program__attach_uprobe_multi(prog, -1, path, NULL, &opts));
}

static int attach_one(struct probes *p, struct bpf_program *prog, const char *path, uint64_t offset,
		      bool is_return)
{
	LIBBPF_OPTS(bpf_uprobe_opts, opts, .retprobe = is_return);

	return keep_link(p, bpf_program__attach_uprobe_opts(prog, -1, path, offset, &opts));
}

/* Returns first: a return whose entry was not seen does no harm. */
static int attach_runtime_multi(struct probes *p, const char *path, const struct elffile_func *f)
{
	unsigned long places[ACL_C_MAX];
	__u64 cookies[ACL_C_MAX];
	size_t n = 0;
	int err;

	for (int i = 0; i < ACL_C_MAX; i++) {
		if (!usable(&f[i]))
			continue;
		cookies[n] = (__u64)i;
		places[n++] = f[i].offset;
	}
	err = attach_multi(p, p->skel->progs.call_return, path, places, NULL, n, true);
	return err ? err
		   : attach_multi(p, p->skel->progs.multi_entry, path, places, cookies, n, false);
}

static int attach_runtime_singly(struct probes *p, const char *path, const struct elffile_func *f)
{
	int err = 0;

	for (int i = 0; !err && i < ACL_C_MAX; i++) {
		if (!usable(&f[i]))
			continue;
		err = attach_one(p, p->skel->progs.call_return, path, f[i].offset, true);
		if (!err)
			err = attach_one(p, entry_program(p, i), path, f[i].offset, false);
	}
	return err;
}

static int attach_runtime(struct probes *p, const char *path, const char *name,
			  const struct elffile_func *f)
{
	char shown[512];
	size_t before = p->nlinks;
	int err;

	err = p->multi ? attach_runtime_multi(p, path, f) : attach_runtime_singly(p, path, f);
	if (!err)
		err = keep_library(p, name, f);
	while (err && p->nlinks > before) /* half of the calls would tell half of the story */
		bpf_link__destroy(p->links[--p->nlinks]);
	if (err && access(path, F_OK))
		return -ESRCH; /* the process is gone, and its way to the file with it */
	if (err) {
		escape__str(shown, sizeof(shown), name);
		say("cannot probe %s: %s%s", shown, strerror(-err),
		    err == -EMFILE ? "; raise `ulimit -n'" : "");
	}
	return err;
}

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
	const unsigned long at = offset;
	int err;

	if (p->nloaders == sizeof(p->loaders) / sizeof(p->loaders[0]))
		return -ENOSPC;
	if (p->multi)
		err = attach_multi(p, p->skel->progs.loader, path, &at, NULL, 1, false);
	else
		err = attach_one(p, p->skel->progs.loader, path, offset, false);
	if (!err)
		p->loaders[p->nloaders++] = p->links[--p->nlinks];
	return err;
}

void probes__free_loaders(struct probes *p)
{
	while (p->nloaders)
		bpf_link__destroy(p->loaders[--p->nloaders]);
}

/* ---- looking at files --------------------------------------------------- */

bool probes__is_runtime_name(const char *name)
{
	const char *base = strrchr(name, '/');

	base = base ? base + 1 : name;
	return !fnmatch("libascendcl.so*", base, 0) || !fnmatch("libacl_rt.so*", base, 0);
}

/* What the file is, and probes in it as far as it is of interest. */
static int probe_file(struct probes *p, struct elffile *ef, const char *path, const char *name)
{
	struct elffile_func funcs[ACL_C_MAX], hook = { .found = false };
	const char *const hook_name = LOADER_HOOK;
	int err, what = PROBES_NOTHING;

	if (elffile__is_stub_path(name))
		return PROBES_NOTHING;
	if (elffile__find_functions(ef, &hook_name, 1, &hook) > 0) {
		keep_loader_delta(p, ef, &hook);
		err = attach_loader(p, path, hook.offset);
		if (err)
			return err;
		what |= PROBES_LOADER;
	}
	if (elffile__defines_acl(ef) == 1) {
		if (elffile__find_functions(ef, call_names, ACL_C_MAX, funcs) > 0) {
			err = attach_runtime(p, path, name, funcs);
			if (err)
				return err;
			what |= PROBES_RUNTIME;
		}
	} else if (probes__is_runtime_name(name)) {
		what |= PROBES_EMPTY;
	}
	return what;
}

int probes__file(struct probes *p, const char *path, const char *name)
{
	struct seen key = { .what = PROBES_NOTHING }, *seen, **found;
	struct elffile *ef;
	struct stat st;
	int err;

	if (stat(path, &st) || !S_ISREG(st.st_mode))
		return PROBES_NOTHING;
	key.dev = st.st_dev;
	key.ino = st.st_ino;
	key.size = st.st_size;
	key.mtime = st.st_mtim;
	found = tfind(&key, &p->files, compare_seen);
	if (found)
		return (*found)->what;
	err = elffile__open(path, &ef);
	if (!err) {
		err = probe_file(p, ef, path, name);
		elffile__close(ef);
		if (err < 0)
			return err;
		key.what = err;
	} else if (probes__is_runtime_name(name)) {
		key.what = PROBES_EMPTY;
	}
	seen = malloc(sizeof(*seen));
	if (!seen)
		return -ENOMEM;
	*seen = key;
	if (!tsearch(seen, &p->files, compare_seen)) {
		free(seen);
		return -ENOMEM;
	}
	return key.what | PROBES_NEW;
}

size_t probes__libraries(const struct probes *p)
{
	return p->nlibraries;
}

const char *probes__library(const struct probes *p, size_t i, unsigned int *calls)
{
	*calls = p->libraries[i].calls;
	return p->libraries[i].path;
}
