/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The probes in the files that define the runtime's calls, and in dynamic
 * loaders.  A file is probed once, for all processes that map it now or
 * later, and all probes go when they are freed or when we die.
 */
#ifndef ACLGUARD_PROBES_H
#define ACLGUARD_PROBES_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "attach.h"

struct aclguard_bpf;
struct probes;

/* Why a file is of interest; a file may be both. */
enum probes_file {
	PROBES_NOTHING = 0,
	PROBES_RUNTIME = 1, /* defines calls of the table: probed now */
	PROBES_LOADER = 2,  /* a dynamic loader: probed now */
	PROBES_EMPTY = 4,   /* named like the runtime, but defines none of its calls */
	PROBES_NEW = 8,	    /* was not known before */
};

/*
 * A file, and where a process has it.  `path` is what it is opened by; `name` is
 * what the process calls it, for messages and for its base name.
 */
struct probes_place {
	const char *path;
	const char *name;
	pid_t pid;	/* 0: no process has it mapped, as far as is known */
	uint64_t start; /* of the executable mapping */
	uint64_t end;
	uint64_t offset; /* of its start in the file */
};

struct map_entry;

#define PROBES_PATH_MAX (PATH_MAX + 64)

/*
 * The way to a file that a process has mapped: through the mapping, whatever became
 * of its name and wherever it is mounted; without the privilege for that by its
 * name; and by the same name here, where the process is gone and it is the same file.
 * *at holds `path` and the mapping's name.  Returns 0, -ENAMETOOLONG, or the reason
 * why none is open, such as -EACCES.
 */
int probes_place__open(struct probes_place *at, pid_t pid, const struct map_entry *m, char *path,
		       size_t size);

/*
 * `loaders`: probe dynamic loaders, too.  The skeleton is not owned.  NULL if
 * there is no memory.
 */
struct probes *probes__new(struct aclguard_bpf *skel, enum attach_how how, bool loaders);

/*
 * From now on without return probes: those that are in are taken out.  Returns 0,
 * or -errno where a library could not be probed again (already said).
 */
int probes__without_returns(struct probes *p);
enum attach_how probes__how(const struct probes *p);

/* Takes all probes out again; in parallel, since the kernel waits for each. */
void probes__free(struct probes *p);
/* How many dynamic loaders are probed. */
size_t probes__loaders(const struct probes *p);
/* Takes out what notices that a process maps something. */
void probes__free_loaders(struct probes *p);

/*
 * Looks at a file and probes it if it is of interest and not probed yet; the
 * same file on another path (containers that share a layer) is probed once.
 * Returns a mask of enum probes_file, or -errno where attaching failed
 * (already said).  A file that cannot be read is PROBES_NOTHING.
 */
int probes__file(struct probes *p, const struct probes_place *at);
/*
 * Probes the file in the process that has it mapped, and in no other, if it is of
 * the runtime.  The links are the caller's.  Returns 0 or -errno.
 */
int probes__try(struct probes *p, const struct probes_place *at, struct attached *out);
/* What probes__file() would find; nothing is attached. */
int probes__look(struct probes *p, const struct probes_place *at);

/* Since when the library is probed, in monotonic ns; 0: it is not. */
uint64_t probes__since(struct probes *p, const struct probes_place *at);

/*
 * Readable when a library that is probed is to be written to in place; -1: that cannot
 * be noticed.  Where a lease can be had, the writer waits until the probes are out.  probes__changes() then takes the probes out, since their places are
 * of what the file was, and says so.  Returns whether a library is whole again, so
 * that who maps it has to be looked at once more.
 */
int probes__fd(const struct probes *p);
bool probes__changes(struct probes *p);

/* Whether the file is named like the runtime's libraries are. */
bool probes__is_runtime_name(const char *name);

/* Libraries probed; the path of one, and how many calls of the table it defines. */
size_t probes__libraries(const struct probes *p);
const char *probes__library(const struct probes *p, size_t i, unsigned int *calls);

#endif /* ACLGUARD_PROBES_H */
