/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * What is kept of processes, so that their addresses can still be told after they
 * exited: their mappings, and ways to the files behind those.
 *
 * A process is held by a descriptor of its /proc directory: as long as that is
 * open, what is read through it is of this process or fails, also when the pid
 * has been given to another one.  A descriptor of its root directory still
 * leads to its files after it exited, and one of its mount namespace keeps the
 * file systems of a container in place until then.
 *
 * Bounded; what was used longest ago goes first.  Not thread-safe.
 */
#ifndef ACLGUARD_SNAPSHOTS_H
#define ACLGUARD_SNAPSHOTS_H

#include <stdint.h>
#include <sys/types.h>

#include "maps.h"

struct perfmap;

#define SNAPSHOTS_MAX 128		     /* each holds up to four descriptors */
#define SNAPSHOTS_PERFMAP_BYTES (64UL << 20) /* names of generated code, of all together */

struct snapshot {
	pid_t pid;
	int proc_fd;  /* /proc/PID */
	int root_fd;  /* its root directory, or -1 */
	int mnt_fd;   /* its mount namespace, or -1: held, never entered */
	pid_t ns_pid; /* in the innermost pid namespace */
	uid_t uid;    /* effective */
	struct maps maps;
	/* private */
	uint64_t used;
	struct perfmap *perfmap;
};

struct snapshots;

/* NULL if there is no memory. */
struct snapshots *snapshots__new(void);
void snapshots__free(struct snapshots *ss); /* NULL is allowed */

/* As symbolizer__snapshot() and symbolizer__forget(). */
int snapshots__take(struct snapshots *ss, pid_t pid);
void snapshots__forget(struct snapshots *ss, pid_t pid);

/* NULL: there is none.  Valid until another one is taken or this one forgotten. */
struct snapshot *snapshots__find(struct snapshots *ss, pid_t pid);

/*
 * The mapping of an address, or NULL.  Takes a snapshot if there is none, and
 * another one if it has no code at the address, or if the process has another file
 * there by now.  Of a process that is gone, only code is told.  *out is the snapshot (NULL: there is none); both are valid
 * until the next call.
 */
const struct map_entry *snapshots__find_mapping(struct snapshots *ss, pid_t pid, uint64_t addr,
						struct snapshot **out);

/*
 * The file behind a mapping of it: the mapped one itself, whatever became of its
 * name, or else what has the name now, if that has the inode number of the
 * mapping.  Returns a descriptor or -errno; -ESTALE: another file is there now.
 */
int snapshot__open_mapped(const struct snapshot *s, const struct map_entry *e);

/*
 * What the process says of the code that it made (see perfmap.h), up to date:
 * /tmp/perf-PID.map in its own root, by its own number of itself, if that is a
 * regular file of its user or of root.  NULL: there is none.  Valid until the
 * next call of this or of snapshots__find_mapping().
 */
struct perfmap *snapshots__perfmap(struct snapshots *ss, struct snapshot *s);

/* n bytes of its memory.  0 or -errno; -ESRCH: it is gone. */
int snapshot__read(const struct snapshot *s, uint64_t addr, void *buf, size_t n);

#endif /* ACLGUARD_SNAPSHOTS_H */
