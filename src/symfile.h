/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The functions of one file that a process maps, by address.
 *
 * Only their addresses and sizes are kept, sorted; the names are read from the
 * file when one is shown.  The file stays open, so that its inode number cannot
 * be given to another file while somebody remembers it.
 */
#ifndef ACLGUARD_SYMFILE_H
#define ACLGUARD_SYMFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#include "debugfile.h"
#include "elffile.h"

#define SYMFILE_NAME_MAX (64UL << 10) /* a longer function name is cut, in bytes */

struct symfile {
	struct elffile *ef;    /* as mapped */
	struct elffile *debug; /* its separate debug file, or NULL */
	uint8_t build_id[ELFFILE_BUILD_ID_MAX];
	unsigned int build_id_len; /* bytes; 0: none */
	size_t bytes;		   /* of memory, by now */
	/* private: when it was opened; and the functions, once they were asked for */
	struct timespec mtime;
	off_t size;
	struct symfile_funcs *funcs;
};

/* Duplicates fd.  path: as the process has it.  Returns 0 or -errno, see elffile.h. */
int symfile__open(int fd, const char *path, const struct debug_dirs *dirs, struct symfile **out);
/* From memory, which must outlive it; it has no separate debug file. */
int symfile__open_mem(const void *data, size_t size, struct symfile **out);
void symfile__close(struct symfile *f); /* NULL is allowed */

/* Reads the functions now, instead of when one is asked for. */
void symfile__load(struct symfile *f);

/* False: the file was written to since, and what is kept of it may be wrong. */
bool symfile__is_current(const struct symfile *f);

/*
 * The function whose symbol covers an address as linked, in memory that the
 * caller frees, with *start its first address.  Of several names of one place,
 * the one that people call it by.  NULL: there is none.
 */
char *symfile__function(struct symfile *f, uint64_t addr, uint64_t *start);

#endif /* ACLGUARD_SYMFILE_H */
