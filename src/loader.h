/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Reading what files say of their functions and lines, in a thread of its own: it
 * takes tenths of a second where debug information is compressed, and minutes
 * where it comes from a server, and the one who waits has reports to print.
 *
 * What is loaded belongs to one thread at a time: the loader's until it is taken.
 */
#ifndef ACLGUARD_LOADER_H
#define ACLGUARD_LOADER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "debugfile.h"
#include "lines.h"
#include "symfile.h"

#define LOADER_FILES_MAX 16 /* waiting or ready; each holds a descriptor or more */

struct debuginfod;

/* How a file is loaded. */
struct loader_cfg {
	struct debug_dirs dirs;
	bool no_lines;
	struct debuginfod *debuginfod; /* NULL: none; else of the loader's thread */
};

/* One file, loaded. */
struct loaded {
	struct symfile *file;
	struct lines *lines; /* NULL: it has none, or they were not asked for yet */
	bool lines_tried;
};

/* Which file. */
struct loader_key {
	uint64_t inode;
	uint32_t dev_major, dev_minor;
};

/*
 * In the calling thread, asking no server: the file, and its lines once they are
 * wanted.  Returns 0 or -errno: what is unreadable or no ELF file.
 */
int loaded__open(const struct loader_cfg *cfg, int fd, const char *path, struct loaded *out);
struct lines *loaded__lines(const struct loader_cfg *cfg, struct loaded *l);
void loaded__close(struct loaded *l);

struct loader;

/* cfg is the caller's and does not change.  The thread comes with the first file. */
struct loader *loader__new(const struct loader_cfg *cfg);
/*
 * Ends the thread.  False: it is with a server, and keeps what it has and what cfg
 * points to until the program ends.  NULL is allowed.
 */
bool loader__free(struct loader *ld);

/* Begins to load a file, unless that is done already; duplicates fd.  0 or -errno; -E2BIG: enough. */
int loader__begin(struct loader *ld, const struct loader_key *key, int fd, const char *path);

/*
 * What became of it, waiting for up to `ms` milliseconds if it is being loaded.
 * 0: *out is it, and the caller's.  -ENOENT: it is not being loaded; without a
 * server to ask, what was not begun yet is given up, because the caller is as
 * fast.  -EAGAIN: not yet.  Other -errno: what loading it gave.
 */
int loader__take(struct loader *ld, const struct loader_key *key, int ms, struct loaded *out);

#endif /* ACLGUARD_LOADER_H */
