/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The memory mappings of a process: a parser of /proc/PID/maps.
 *
 * The text is chosen in large part by the process that is looked at (paths,
 * their length, the number of mappings), so nothing here has a fixed size, and
 * everything has a bound.
 *
 * Two things cannot be told from the text, because the kernel does not escape
 * its own escapes: a name that holds the four characters \012 looks like one
 * that holds a newline, and a name that really ends in " (deleted)" looks like
 * a deleted file.  Who opens a path compares the inode number afterwards.
 *
 * All functions return 0 (or a count) or -errno.
 */
#ifndef ACLGUARD_MAPS_H
#define ACLGUARD_MAPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* A longer line is skipped and counted as malformed.  Paths deeper than PATH_MAX do exist. */
#define MAPS_LINE_MAX (1UL << 20)
/* More mappings than that (the kernel's default limit is 65,530) are -E2BIG. */
#define MAPS_ENTRIES_MAX (1UL << 20)
/* All paths of one process together, in bytes; beyond it -E2BIG. */
#define MAPS_PATHS_MAX (64UL << 20)

struct map_entry {
	uint64_t start;	 /* first address */
	uint64_t end;	 /* first address after it; always > start */
	uint64_t offset; /* of start in the file, in bytes */
	uint64_t inode;	 /* 0: no file behind it */
	uint32_t dev_major;
	uint32_t dev_minor;
	bool read;
	bool write;
	bool exec;
	bool shared;
	bool deleted; /* the file had no name any more when the text was made */
	/*
	 * Raw bytes, NUL-terminated, escape before showing; NULL for anonymous
	 * memory.  Either a path as the process' own root sees it, or a name in
	 * the kernel's brackets: [heap], [stack], [vdso], [anon:NAME] ...
	 */
	char *path;
};

/* Sorted by address, without overlaps.  Zero-initialise: `struct maps m = {}`. */
struct maps {
	struct map_entry *entries;
	size_t count;
	size_t malformed;  /* lines skipped: not understood, too long, or out of order */
	size_t capacity;   /* private */
	size_t path_bytes; /* private */
};

/*
 * Called for each mapping, in order.  The entry and its path belong to the
 * caller of the callback; copy what is to be kept.  Non-zero ends the walk and
 * is what the walk returns.
 */
typedef int (*maps_fn)(const struct map_entry *entry, void *ctx);

/*
 * Read from fd (left open, at its end) and call fn for each mapping, with one
 * line at a time in memory.  If malformed is not NULL, the number of skipped
 * lines is added to it.
 */
int maps__walk_fd(int fd, maps_fn fn, void *ctx, size_t *malformed);

/*
 * Under which number /proc has the memory of a process: its own, or, where its main
 * thread has exited and others go on, that of one of those.
 */
pid_t maps__task(pid_t pid);

/* The same for /proc/PID/maps; errors as in maps__read(). */
int maps__walk(pid_t pid, maps_fn fn, void *ctx, size_t *malformed);

/*
 * The mappings of a process (or of one thread of it).  On success the old
 * content of *maps is released and replaced; on failure *maps is untouched.
 * -ESRCH: the process is gone, is a zombie, or is a kernel thread.
 * -EACCES, -EPERM: not ours to look at.
 */
int maps__read(pid_t pid, struct maps *maps);

/* The same, from an open file and from text in memory (which may hold anything). */
int maps__read_fd(int fd, struct maps *maps);
int maps__parse(const char *buf, size_t len, struct maps *maps);

/* Release everything, and leave *maps empty and usable.  NULL is allowed. */
void maps__free(struct maps *maps);

/* The mapping that contains addr, or NULL.  It belongs to *maps. */
const struct map_entry *maps__find(const struct maps *maps, uint64_t addr);

/* Whether the mapping is of a file that has, or had, a path. */
bool map_entry__is_file(const struct map_entry *entry);

#endif /* ACLGUARD_MAPS_H */
