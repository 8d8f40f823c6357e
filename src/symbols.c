/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Names for code addresses: from the address to the file, and from there to its names. */
#include "symbols.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lines.h"
#include "maps.h"
#include "perfmap.h"
#include "snapshots.h"
#include "symfile.h"

#define VDSO_MAX (256UL << 10) /* real ones have 8 KiB */

struct module {
	uint32_t dev_major;
	uint32_t dev_minor;
	uint64_t inode;
	uint64_t used;
	size_t bytes; /* as accounted for */
	struct symfile *file;
	struct lines *lines;
	bool lines_tried;
};

struct symbolizer {
	unsigned int flags;
	struct debug_dirs dirs;
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
	lines__close(m->lines);
	symfile__close(m->file);
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
	size_t bytes = sizeof(*m) + m->file->bytes + (m->lines ? lines__bytes(m->lines) : 0);

	sym->bytes += bytes - m->bytes;
	m->bytes = bytes;
	while (sym->bytes > SYMBOLIZER_BYTES_MAX && drop_oldest_module(sym, m))
		;
}

static struct module *find_module(struct symbolizer *sym, const struct map_entry *e)
{
	size_t i;

	for (i = 0; i < sym->module_count; i++) {
		struct module *m = sym->modules[i];

		if (m->inode != e->inode || m->dev_major != e->dev_major ||
		    m->dev_minor != e->dev_minor)
			continue;
		if (symfile__is_current(m->file))
			return m;
		drop_module(sym, i);
		return NULL;
	}
	return NULL;
}

/* Takes fd over. */
static struct module *module__new(const struct symbolizer *sym, int fd, const struct map_entry *e)
{
	struct module *m = calloc(1, sizeof(*m));

	if (m && symfile__open(fd, e->path, &sym->dirs, &m->file)) {
		free(m);
		m = NULL;
	}
	close(fd);
	if (!m)
		return NULL;
	m->dev_major = e->dev_major;
	m->dev_minor = e->dev_minor;
	m->inode = e->inode;
	return m;
}

static struct module *get_module(struct symbolizer *sym, const struct snapshot *s,
				 const struct map_entry *e)
{
	struct module *m = find_module(sym, e);
	int fd;

	if (!m) {
		fd = snapshot__open_mapped(s, e);
		m = fd < 0 ? NULL : module__new(sym, fd, e);
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

static struct lines *open_lines(const struct symbolizer *sym, struct elffile *ef)
{
	uint8_t id[ELFFILE_BUILD_ID_MAX];
	unsigned int id_len;
	struct elffile *alt = debugfile__find_alt(&sym->dirs, ef, id, &id_len);
	struct lines *ls = lines__open(ef, alt);

	elffile__close(alt);
	return ls;
}

static struct lines *get_lines(const struct symbolizer *sym, struct module *m)
{
	if (m->lines_tried || sym->flags & SYMBOLIZER_NO_LINES)
		return m->lines;
	m->lines_tried = true;
	m->lines = open_lines(sym, m->file->ef);
	if (!m->lines && m->file->debug)
		m->lines = open_lines(sym, m->file->debug);
	return m->lines;
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
	sym->flags = flags;
	sym->snapshots = snapshots__new();
	if (!sym->snapshots) {
		free(sym);
		return NULL;
	}
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
	if (sym->dirs.n == DEBUGFILE_DIRS_MAX)
		return -E2BIG;
	sym->dirs.dir[sym->dirs.n++] = dir;
	return 0;
}

struct snapshots *symbolizer__snapshots(struct symbolizer *sym)
{
	return sym->snapshots;
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
	take_build_id(res, m->file);
	if (elffile__offset_to_addr(m->file->ef, res->module_offset - q->back, &addr))
		return true;
	take_function(res, q, m->file, addr);
	ls = get_lines(q->sym, m);
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
	return e->deleted || strncmp(e->path, "/memfd:", 7) == 0;
}

static void resolve_in(const struct query *q, struct sym_result *res)
{
	if (res->kind == SYM_VDSO)
		resolve_in_vdso(q, res);
	else if (res->kind == SYM_ANON)
		resolve_generated(q, res);
	else if (!resolve_in_file(q, res) && may_be_generated(q->map))
		resolve_generated(q, res);
}

static int resolve(struct symbolizer *sym, pid_t pid, uint64_t addr, unsigned int back,
		   struct sym_result *out)
{
	struct sym_result res = { .kind = SYM_UNKNOWN, .addr = addr };
	struct query q = { .sym = sym, .addr = addr, .back = addr ? back : 0 };
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
	}
	*out = res;
	return 0;
}

int symbolizer__resolve(struct symbolizer *sym, pid_t pid, uint64_t addr, struct sym_result *out)
{
	return resolve(sym, pid, addr, 0, out);
}

int symbolizer__resolve_return(struct symbolizer *sym, pid_t pid, uint64_t addr,
			       struct sym_result *out)
{
	return resolve(sym, pid, addr, 1, out);
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
	if (m && !elffile__offset_to_addr(m->file->ef, e->offset + out->addr, &out->addr))
		out->file = m->file->ef;
}

void sym_result__clear(struct sym_result *res)
{
	free(res->function);
	free(res->module);
	free(res->file);
	sym_inline__free(res->inlined, res->n_inlined);
	*res = (struct sym_result){};
}
