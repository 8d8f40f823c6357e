/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Looking at the files that a process has mapped.  Everything in them is its choice. */
#define _GNU_SOURCE
#include "modules.h"

#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "maps.h"
#include "names.h"
#include "probes.h"

static const char *const call_names[ACL_C_MAX] = {
#define CALL_NAME(name, role, args) [ACL_C_##name] = #name,
	ACL_CALLS(CALL_NAME)
};

static const char *const lower_names[LOWER_MAX] = {
#define LOWER_NAME(name) #name,
	LOWER_CALLS(LOWER_NAME)
};

const char *lower_call__name(enum lower_call call)
{
	return lower_names[call];
}

/* ---- one file -------------------------------------------------------------- */

static void read_build_id(struct module *m, struct elffile *ef)
{
	uint8_t id[ELFFILE_BUILD_ID_MAX];
	int n = elffile__build_id(ef, id);

	for (int i = 0; i < n; i++)
		snprintf(m->build_id + 2 * i, 3, "%02x", id[i]);
}

/* As probes.c chooses: a stub is never probed, and a chooser of functions runs once. */
static int read_calls(struct module *m, struct elffile *ef)
{
	struct elffile_func funcs[ACL_C_MAX];
	uint8_t code[PROLOGUE_BYTES];
	int n = elffile__find_functions(ef, call_names, ACL_C_MAX, funcs);

	for (int i = 0; n > 0 && i < ACL_C_MAX; i++) {
		ssize_t len;

		if (!funcs[i].found || funcs[i].ifunc)
			continue;
		m->calls++;
		m->defines[i] = true;
		m->others += funcs[i].others;
		len = elffile__read_code(ef, funcs[i].offset, code, sizeof(code));
		m->prologues[prologue__classify(elffile__machine(ef), code,
						len > 0 ? (size_t)len : 0)]++;
	}
	m->runtime = m->calls && !m->stub && elffile__defines_acl(ef) == 1;
	return n < 0 ? n : 0;
}

static int read_lower(struct module *m, struct elffile *ef)
{
	const char *const hook = "_dl_debug_state"; /* what debuggers stop at */
	struct elffile_func funcs[LOWER_MAX];
	int n = elffile__find_functions(ef, lower_names, LOWER_MAX, funcs);

	m->lower = n > 0;
	m->loader = elffile__find_functions(ef, &hook, 1, funcs) > 0;
	if (n >= 0)
		n = elffile__find_imports(ef, lower_names, LOWER_MAX, m->uses);
	m->n_uses = n > 0 ? (unsigned int)n : 0;
	return n < 0 ? n : 0;
}

static void read_file(struct module *m, int fd)
{
	struct elffile *ef;
	int err = elffile__open_fd(fd, &ef);

	if (err == -ENOEXEC || err == -ENOTSUP) /* code, but no library: a program's own cache */
		err = m->runtime_name ? err : 0;
	else if (!err) {
		read_build_id(m, ef);
		err = read_calls(m, ef);
		if (!err)
			err = read_lower(m, ef);
		elffile__close(ef);
	}
	m->err = err;
}

/* ---- all of them ----------------------------------------------------------- */

/* What makes two mappings mappings of the same file. */
struct file_key {
	uint64_t inode;
	uint32_t major, minor;
};

struct walk {
	pid_t pid;
	int root; /* of the process, or -errno */
	struct modules *mods;
	void *seen; /* tsearch() tree of struct file_key */
};

static int compare_key(const void *a, const void *b)
{
	const struct file_key *x = a, *y = b;

	if (x->inode != y->inode)
		return x->inode < y->inode ? -1 : 1;
	if (x->major != y->major)
		return x->major < y->major ? -1 : 1;
	return (x->minor > y->minor) - (x->minor < y->minor);
}

/* 1: it is new. */
static int note_file(struct walk *w, const struct map_entry *e)
{
	struct file_key *key = malloc(sizeof(*key)), **found;

	if (!key)
		return -ENOMEM;
	*key = (struct file_key){ e->inode, e->dev_major, e->dev_minor };
	found = tsearch(key, &w->seen, compare_key);
	if (found && *found == key)
		return 1;
	free(key);
	return found ? 0 : -ENOMEM;
}

/* By the same name as the process, where that is the same file to us. */
static int open_here(const struct map_entry *e, int otherwise)
{
	int fd = elffile__open_regular(AT_FDCWD, e->path);
	struct stat st;

	if (fd < 0)
		return otherwise;
	if (!fstat(fd, &st) && st.st_ino == e->inode)
		return fd;
	close(fd);
	return otherwise;
}

/*
 * The file as the process has it, whatever became of its name and wherever it
 * is mounted; without the privilege for that, by its name in the process' root,
 * or in ours.  The ways are those of probes_place__open().
 */
static int open_mapped(struct walk *w, const struct map_entry *e, struct module *m)
{
	char path[96];
	int fd, err;

	snprintf(path, sizeof(path), "/proc/%d/map_files/%" PRIx64 "-%" PRIx64, w->pid, e->start,
		 e->end);
	fd = elffile__open_regular(AT_FDCWD, path);
	if (fd >= 0)
		return fd;
	err = fd;
	m->by_name = true;
	if (e->deleted)
		return err;
	if (w->root >= 0) {
		fd = elffile__open_in_root(w->root, e->path);
		if (fd >= 0)
			return fd;
	}
	return open_here(e, err);
}

static int add_module(const struct map_entry *e, void *arg)
{
	struct walk *w = arg;
	struct module *m, *list;
	int fd, err;

	if (!e->exec || !map_entry__is_file(e))
		return 0;
	err = note_file(w, e);
	if (err <= 0)
		return err;
	if (w->mods->count == MODULES_MAX) {
		w->mods->left_out++;
		return 0;
	}
	list = reallocarray(w->mods->list, w->mods->count + 1, sizeof(*list));
	if (!list)
		return -ENOMEM;
	w->mods->list = list;
	m = &list[w->mods->count];
	*m = (struct module){ .path = strdup(e->path), .deleted = e->deleted };
	if (!m->path)
		return -ENOMEM;
	w->mods->count++;
	m->runtime_name = probes__is_runtime_name(e->path);
	m->stub = elffile__is_stub_path(e->path);
	fd = open_mapped(w, e, m);
	if (fd < 0) {
		m->err = fd;
	} else {
		read_file(m, fd);
		close(fd);
	}
	return 0;
}

static size_t folder_len(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? (size_t)(slash - path) : 0;
}

static bool same_folder(const char *a, const char *b)
{
	size_t n = folder_len(a);

	return n == folder_len(b) && !memcmp(a, b, n);
}

static void sum_up(struct modules *mods)
{
	for (size_t i = 0; i < mods->count; i++) {
		struct module *m = &mods->list[i];

		mods->unreadable += m->err != 0;
		mods->lower |= m->lower;
		mods->loader |= m->loader;
		for (size_t k = 0; m->n_uses && k < mods->count && !m->beside_runtime; k++)
			m->beside_runtime = module__is_runtime_part(&mods->list[k]) &&
					    same_folder(m->path, mods->list[k].path);
	}
}

int modules__read(pid_t pid, struct modules *out)
{
	struct walk w = { .pid = pid, .mods = out };
	char path[32];
	int err;

	*out = (struct modules){};
	snprintf(path, sizeof(path), "/proc/%d/root", pid);
	w.root = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (w.root < 0)
		w.root = -errno;
	err = maps__walk(pid, add_module, &w, NULL);
	if (w.root >= 0)
		close(w.root);
	tdestroy(w.seen, free);
	if (err)
		modules__free(out);
	else
		sum_up(out);
	return err;
}

void modules__free(struct modules *mods)
{
	for (size_t i = 0; i < mods->count; i++)
		free(mods->list[i].path);
	free(mods->list);
	*mods = (struct modules){};
}

bool modules__have_runtime(const struct modules *mods)
{
	for (size_t i = 0; i < mods->count; i++)
		if (mods->list[i].runtime)
			return true;
	return false;
}

bool module__is_runtime_part(const struct module *m)
{
	const char *base = strrchr(m->path, '/');

	base = base ? base + 1 : m->path;
	return m->runtime || m->lower || m->runtime_name || !fnmatch("libruntime*.so*", base, 0) ||
	       !fnmatch("libacl_rt*.so*", base, 0) || !fnmatch("libascendcl*.so*", base, 0);
}
