/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Names for code addresses: from the address to the file, and from there to its names. */
#include "symbols.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "debuginfod.h"
#include "lines.h"
#include "loader.h"
#include "maps.h"
#include "perfmap.h"
#include "snapshots.h"
#include "symfile.h"

#define VDSO_MAX (256UL << 10) /* real ones have 8 KiB */

/*
 * For how long all that comes from servers is waited for: so many milliseconds,
 * which come back at a tenth of the time that goes by.
 */
#define PATIENCE_MS 2000

struct module {
	struct loader_key key;
	uint64_t used;
	size_t bytes; /* as accounted for */
	bool pending; /* the loader has it as well, and may find out more */
	struct loaded loaded;
};

struct symbolizer {
	struct loader_cfg cfg;
	struct loader *loader;
	int patience; /* ms */
	uint64_t patience_at;
	uint64_t clock; /* counts uses, for finding the oldest */
	size_t bytes;	/* kept by all modules */
	struct snapshots *snapshots;
	struct vdso {
		void *image; /* as it was in the memory of some process */
		size_t size;
		struct symfile *file;
	} vdso;
	size_t module_count;
	struct module *modules[SYMBOLIZER_MODULES_MAX];
};

/* ---- modules ---- */

static void drop_module(struct symbolizer *sym, size_t i)
{
	struct module *m = sym->modules[i];

	sym->bytes -= m->bytes;
	loaded__close(&m->loaded);
	free(m);
	sym->modules[i] = sym->modules[--sym->module_count];
}

/* Of all but one, which is in use, or NULL.  False: there is none. */
static bool drop_oldest_module(struct symbolizer *sym, const struct module *keep)
{
	size_t i, oldest = SYMBOLIZER_MODULES_MAX;

	for (i = 0; i < sym->module_count; i++) {
		if (sym->modules[i] != keep && (oldest == SYMBOLIZER_MODULES_MAX ||
						sym->modules[i]->used < sym->modules[oldest]->used))
			oldest = i;
	}
	if (oldest == SYMBOLIZER_MODULES_MAX)
		return false;
	drop_module(sym, oldest);
	return true;
}

/* Again whenever the module may have grown. */
static void account(struct symbolizer *sym, struct module *m)
{
	const struct loaded *l = &m->loaded;
	size_t bytes = sizeof(*m) + l->file->bytes + (l->lines ? lines__bytes(l->lines) : 0);

	sym->bytes += bytes - m->bytes;
	m->bytes = bytes;
	while (sym->bytes > SYMBOLIZER_BYTES_MAX && drop_oldest_module(sym, m))
		;
}

static struct loader_key key_of(const struct map_entry *e)
{
	return (struct loader_key){ e->inode, e->dev_major, e->dev_minor };
}

static bool is_same(const struct loader_key *a, const struct loader_key *b)
{
	return a->inode == b->inode && a->dev_major == b->dev_major && a->dev_minor == b->dev_minor;
}

static struct module *find_module(struct symbolizer *sym, const struct loader_key *key)
{
	size_t i;

	for (i = 0; i < sym->module_count; i++) {
		struct module *m = sym->modules[i];

		if (!is_same(&m->key, key))
			continue;
		if (symfile__is_current(m->loaded.file))
			return m;
		drop_module(sym, i);
		return NULL;
	}
	return NULL;
}

static uint64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

/* What the loader has of a file, or will have soon; as loader__take(). */
static int take_loaded(struct symbolizer *sym, const struct loader_key *key, struct loaded *out)
{
	uint64_t began = now_ms(), gained = (began - sym->patience_at) / 10, took;
	int err;

	/* Without a server it takes no longer than doing it here. */
	if (!sym->cfg.debuginfod)
		return loader__take(sym->loader, key, INT_MAX / 2, out);
	if (gained < PATIENCE_MS - (uint64_t)sym->patience)
		sym->patience += (int)gained;
	else
		sym->patience = PATIENCE_MS;
	err = loader__take(sym->loader, key, sym->patience, out);
	sym->patience_at = now_ms();
	took = sym->patience_at - began;
	sym->patience = took < (uint64_t)sym->patience ? sym->patience - (int)took : 0;
	return err;
}

/* What the loader has, which may be more than can be opened by now.  0 or -errno. */
static int take_current(struct symbolizer *sym, const struct loader_key *key, struct loaded *out)
{
	int err = take_loaded(sym, key, out);

	if (!err && !symfile__is_current(out->file)) {
		loaded__close(out);
		err = -ENOENT;
	}
	return err;
}

static int load(struct symbolizer *sym, struct module *m, const struct snapshot *s,
		const struct map_entry *e)
{
	int fd, err = take_current(sym, &m->key, &m->loaded);

	if (err != -ENOENT && err != -EAGAIN)
		return err;
	fd = snapshot__open_mapped(s, e);
	if (fd < 0)
		return fd;
	if (err == -ENOENT && sym->cfg.debuginfod &&
	    loader__begin(sym->loader, &m->key, fd, e->path) == 0)
		err = take_current(sym, &m->key, &m->loaded);
	m->pending = err == -EAGAIN;
	if (err)
		err = loaded__open(&sym->cfg, fd, e->path, &m->loaded);
	close(fd);
	return err;
}

/* NULL: no memory, or the file is unreadable or no ELF file. */
static struct module *module__new(struct symbolizer *sym, const struct loader_key *key,
				  const struct snapshot *s, const struct map_entry *e)
{
	struct module *m = calloc(1, sizeof(*m));

	if (!m)
		return NULL;
	m->key = *key;
	if (load(sym, m, s, e)) {
		free(m);
		return NULL;
	}
	return m;
}

/* What has come from a server since. */
static void update_module(struct symbolizer *sym, struct module *m)
{
	struct loaded fresh;
	int err;

	if (!m->pending)
		return;
	err = loader__take(sym->loader, &m->key, 0, &fresh);
	m->pending = err == -EAGAIN;
	if (err)
		return;
	if (symfile__is_current(fresh.file)) {
		loaded__close(&m->loaded);
		m->loaded = fresh;
	} else {
		loaded__close(&fresh);
	}
}

static struct module *get_module(struct symbolizer *sym, const struct snapshot *s,
				 const struct map_entry *e)
{
	struct loader_key key = key_of(e);
	struct module *m = find_module(sym, &key);

	if (m) {
		update_module(sym, m);
	} else {
		m = module__new(sym, &key, s, e);
		if (!m)
			return NULL;
		if (sym->module_count == SYMBOLIZER_MODULES_MAX)
			drop_oldest_module(sym, NULL);
		sym->modules[sym->module_count++] = m;
		account(sym, m);
	}
	m->used = ++sym->clock;
	return m;
}

/* ---- what will be needed soon ---- */

/* In most stacks: the C library at the end, the runtime at the top. */
static bool is_usual(const char *path)
{
	const char *base = strrchr(path, '/');

	base = base ? base + 1 : path;
	return strncmp(base, "libc.so", 7) == 0 || strncmp(base, "libascendcl", 11) == 0 ||
	       strncmp(base, "libacl", 6) == 0;
}

static void warm_file(struct symbolizer *sym, const struct snapshot *s, const struct map_entry *e)
{
	struct loader_key key = key_of(e);
	int fd;

	if (find_module(sym, &key))
		return;
	fd = snapshot__open_mapped(s, e);
	if (fd < 0)
		return;
	(void)loader__begin(sym->loader, &key, fd, e->path);
	close(fd);
}

void symbolizer__warm(struct symbolizer *sym, pid_t pid)
{
	const struct snapshot *s = snapshots__find(sym->snapshots, pid);
	bool first = true; /* the program itself */

	for (size_t i = 0; s && i < s->maps.count; i++) {
		const struct map_entry *e = &s->maps.entries[i];

		if (!e->exec || !map_entry__is_file(e))
			continue;
		if (first || is_usual(e->path))
			warm_file(sym, s, e);
		first = false;
	}
}

/* ---- the vdso ---- */

static void drop_vdso(struct vdso *v)
{
	symfile__close(v->file);
	free(v->image);
	*v = (struct vdso){};
}

/* As the process has it; all have the same, most of the time. */
static struct symfile *get_vdso(struct symbolizer *sym, const struct snapshot *s,
				const struct map_entry *e)
{
	size_t size = e->end - e->start;
	struct vdso *v = &sym->vdso;
	void *image;

	if (size > VDSO_MAX)
		return NULL;
	image = malloc(size);
	if (!image || snapshot__read(s, e->start, image, size)) {
		free(image);
		return NULL;
	}
	if (v->size == size && memcmp(v->image, image, size) == 0) {
		free(image);
		return v->file;
	}
	drop_vdso(v);
	*v = (struct vdso){ .image = image, .size = size };
	if (symfile__open_mem(image, size, &v->file))
		v->file = NULL;
	return v->file;
}

/* ---- the symbolizer ---- */

struct symbolizer *symbolizer__new(unsigned int flags)
{
	struct symbolizer *sym = calloc(1, sizeof(*sym));

	if (!sym)
		return NULL;
	sym->cfg.no_lines = flags & SYMBOLIZER_NO_LINES;
	sym->patience = PATIENCE_MS;
	sym->patience_at = now_ms();
	sym->snapshots = snapshots__new();
	sym->loader = loader__new(&sym->cfg);
	if (!sym->snapshots || !sym->loader) {
		snapshots__free(sym->snapshots);
		(void)loader__free(sym->loader);
		free(sym);
		return NULL;
	}
	(void)debug_dirs__add(&sym->cfg.dirs, DEBUGFILE_DIR); /* not everybody has it */
	return sym;
}

void symbolizer__trim(struct symbolizer *sym)
{
	while (sym->module_count > 0)
		drop_module(sym, sym->module_count - 1);
}

void symbolizer__free(struct symbolizer *sym)
{
	if (!sym)
		return;
	symbolizer__trim(sym);
	drop_vdso(&sym->vdso);
	snapshots__free(sym->snapshots);
	if (!loader__free(sym->loader))
		return; /* its thread has it */
	debuginfod__free(sym->cfg.debuginfod);
	debug_dirs__close(&sym->cfg.dirs);
	free(sym);
}

int symbolizer__snapshot(struct symbolizer *sym, pid_t pid)
{
	return snapshots__take(sym->snapshots, pid);
}

void symbolizer__forget(struct symbolizer *sym, pid_t pid)
{
	snapshots__forget(sym->snapshots, pid);
}

int symbolizer__debug_dir(struct symbolizer *sym, const char *dir)
{
	return debug_dirs__add(&sym->cfg.dirs, dir);
}

int symbolizer__use_debuginfod(struct symbolizer *sym)
{
	return sym->cfg.debuginfod ? 0 : debuginfod__new(&sym->cfg.debuginfod);
}

/* ---- resolving ---- */

static enum sym_kind kind_of(const struct map_entry *e)
{
	if (map_entry__is_file(e))
		return SYM_FILE;
	if (e->path && (strcmp(e->path, "[vdso]") == 0 || strcmp(e->path, "[vsyscall]") == 0))
		return SYM_VDSO;
	return SYM_ANON;
}

/* Takes over what the place has. */
static void take_place(struct sym_result *res, struct line_place *p, uint64_t addr)
{
	res->file = p->file;
	res->line = p->line;
	res->inlined = p->inlined;
	res->n_inlined = p->n_inlined;
	p->file = NULL;
	p->inlined = NULL;
	p->n_inlined = 0;
	if (!res->function && p->function) {
		res->function = p->function;
		res->function_offset = addr - p->start;
		p->function = NULL;
	}
	line_place__clear(p);
}

/*
 * What is asked for: the instruction at addr, or with back the one before it.
 * map, snapshot: where it is.
 */
struct query {
	struct symbolizer *sym;
	uint64_t addr;
	unsigned int back;
	bool places; /* no names */
	struct snapshot *snapshot;
	const struct map_entry *map;
};

static void take_build_id(struct sym_result *res, const struct symfile *f)
{
	memcpy(res->build_id, f->build_id, f->build_id_len);
	res->build_id_len = f->build_id_len;
}

static void take_function(struct sym_result *res, const struct query *q, struct symfile *f,
			  uint64_t addr)
{
	uint64_t start;

	res->module_addr = addr + q->back;
	res->function = symfile__function(f, addr, &start);
	if (res->function)
		res->function_offset = addr + q->back - start;
}

/* False: it cannot be read, or is no such file. */
static bool resolve_in_file(const struct query *q, struct sym_result *res)
{
	struct module *m = get_module(q->sym, q->snapshot, q->map);
	struct line_place place;
	struct lines *ls;
	uint64_t addr;

	if (!m)
		return false;
	take_build_id(res, m->loaded.file);
	if (q->places ||
	    elffile__offset_to_addr(m->loaded.file->ef, res->module_offset - q->back, &addr))
		return true;
	take_function(res, q, m->loaded.file, addr);
	ls = loaded__lines(&q->sym->cfg, &m->loaded);
	if (ls) {
		lines__find(ls, addr, &place);
		take_place(res, &place, addr + q->back);
	}
	account(q->sym, m);
	return true;
}

static void resolve_in_vdso(const struct query *q, struct sym_result *res)
{
	struct symfile *f = get_vdso(q->sym, q->snapshot, q->map);
	uint64_t addr;

	if (!f)
		return;
	take_build_id(res, f);
	if (elffile__offset_to_addr(f->ef, res->module_offset - q->back, &addr) == 0)
		take_function(res, q, f, addr);
}

static void resolve_generated(const struct query *q, struct sym_result *res)
{
	struct perfmap *pm = snapshots__perfmap(q->sym->snapshots, q->snapshot);
	uint64_t start;

	res->function = pm ? perfmap__find(pm, q->addr - q->back, &start) : NULL;
	if (res->function)
		res->function_offset = q->addr - start;
}

/* Files that hold generated code have no name, or never had one. */
static bool may_be_generated(const struct map_entry *e)
{
	return e->deleted || (e->path && strncmp(e->path, "/memfd:", 7) == 0);
}

static void resolve_in(const struct query *q, struct sym_result *res)
{
	if (q->places && res->kind != SYM_FILE)
		return;
	if (res->kind == SYM_VDSO)
		resolve_in_vdso(q, res);
	else if (res->kind == SYM_ANON)
		resolve_generated(q, res);
	else if (!resolve_in_file(q, res) && !q->places && may_be_generated(q->map))
		resolve_generated(q, res);
}

static int resolve(struct symbolizer *sym, pid_t pid, uint64_t addr, unsigned int back, bool places,
		   struct sym_result *out)
{
	struct sym_result res = { .kind = SYM_UNKNOWN, .addr = addr };
	struct query q = { .sym = sym, .addr = addr, .back = addr ? back : 0, .places = places };
	const struct map_entry *e;

	if (pid <= 0)
		return -EINVAL;
	q.map = e = snapshots__find_mapping(sym->snapshots, pid, addr - q.back, &q.snapshot);
	if (e) {
		res.kind = kind_of(e);
		res.deleted = e->deleted;
		res.module = strdup(e->path ? e->path : "[anon]");
		if (!res.module)
			return -ENOMEM;
		res.module_offset = addr - e->start + (res.kind == SYM_FILE ? e->offset : 0);
		resolve_in(&q, &res);
	} else if (q.snapshot) { /* mapped after the last look, by one that is gone */
		resolve_generated(&q, &res);
	}
	*out = res;
	return 0;
}

int symbolizer__resolve(struct symbolizer *sym, pid_t pid, uint64_t addr, struct sym_result *out)
{
	return resolve(sym, pid, addr, 0, false, out);
}

int symbolizer__resolve_return(struct symbolizer *sym, pid_t pid, uint64_t addr,
			       struct sym_result *out)
{
	return resolve(sym, pid, addr, 1, false, out);
}

int symbolizer__resolve_module(struct symbolizer *sym, pid_t pid, uint64_t addr, bool is_return,
			       struct sym_result *out)
{
	return resolve(sym, pid, addr, is_return, true, out);
}

void symbolizer__place(struct symbolizer *sym, pid_t pid, uint64_t addr, struct sym_place *out)
{
	const struct map_entry *e;
	struct module *m = NULL;
	struct snapshot *s;

	*out = (struct sym_place){ .kind = SYM_UNKNOWN };
	e = pid > 0 ? snapshots__find_mapping(sym->snapshots, pid, addr, &s) : NULL;
	if (!e)
		return;
	out->kind = kind_of(e);
	out->exec = e->exec;
	out->module = e->path;
	out->size = e->end - e->start;
	out->addr = addr - e->start;
	if (out->kind == SYM_FILE)
		m = get_module(sym, s, e);
	if (m && !elffile__offset_to_addr(m->loaded.file->ef, e->offset + out->addr, &out->addr))
		out->file = m->loaded.file->ef;
}

void sym_result__clear(struct sym_result *res)
{
	free(res->function);
	free(res->module);
	free(res->file);
	sym_inline__free(res->inlined, res->n_inlined);
	*res = (struct sym_result){};
}
