/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Snapshots of processes, see snapshots.h. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* O_PATH */
#endif
#include "snapshots.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "elffile.h"
#include "perfmap.h"
#include "privileges.h"
#include "procstatus.h"

struct snapshots {
	uint64_t clock; /* counts uses, for finding the oldest */
	size_t count;
	struct snapshot *all[SNAPSHOTS_MAX];
};

struct snapshots *snapshots__new(void)
{
	return calloc(1, sizeof(struct snapshots));
}

static void snapshot__free(struct snapshot *s)
{
	if (s->proc_fd >= 0)
		close(s->proc_fd);
	if (s->root_fd >= 0)
		close(s->root_fd);
	if (s->mnt_fd >= 0)
		close(s->mnt_fd);
	maps__free(&s->maps);
	perfmap__free(s->perfmap);
	free(s);
}

static void drop_snapshot(struct snapshots *ss, size_t i)
{
	snapshot__free(ss->all[i]);
	ss->all[i] = ss->all[--ss->count];
}

void snapshots__free(struct snapshots *ss)
{
	if (!ss)
		return;
	while (ss->count > 0)
		drop_snapshot(ss, ss->count - 1);
	free(ss);
}

static int snapshot__refresh(struct snapshot *s)
{
	struct maps fresh = {}; /* what an exiting process shows is empty, and not to replace ours */
	struct procstatus st;
	int fd, err;

	fd = openat(s->proc_fd, "maps", O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT ? -ESRCH : -errno;
	err = maps__read_fd(fd, &fresh);
	close(fd);
	if (!err && fresh.count == 0)
		err = -ESRCH;
	if (err) {
		maps__free(&fresh);
		return err;
	}
	maps__free(&s->maps);
	s->maps = fresh;
	if (procstatus__read(s->pid, &st) == 0) {
		s->uid = st.uid;
		s->ns_pid = st.n_ns_pids ? st.ns_pids[st.n_ns_pids - 1] : s->pid;
	}
	return 0;
}

static int open_proc(pid_t pid)
{
	char path[32];
	int fd;

	if (pid <= 0)
		return -EINVAL;
	snprintf(path, sizeof(path), "/proc/%d", maps__task(pid));
	fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd >= 0)
		return fd;
	return errno == ENOENT ? -ESRCH : -errno;
}

static int snapshot__new(pid_t pid, struct snapshot **out)
{
	int err, fd = open_proc(pid);
	struct snapshot *s;

	if (fd < 0)
		return fd;
	s = calloc(1, sizeof(*s));
	if (!s) {
		close(fd);
		return -ENOMEM;
	}
	s->pid = pid;
	s->proc_fd = fd;
	s->root_fd = openat(fd, "root", O_PATH | O_DIRECTORY | O_CLOEXEC);
	s->mnt_fd = openat(fd, "ns/mnt", O_RDONLY | O_CLOEXEC);
	err = snapshot__refresh(s);
	if (err) {
		snapshot__free(s);
		return err;
	}
	*out = s;
	return 0;
}

struct snapshot *snapshots__find(struct snapshots *ss, pid_t pid)
{
	size_t i;

	for (i = 0; i < ss->count; i++) {
		if (ss->all[i]->pid == pid) {
			ss->all[i]->used = ++ss->clock;
			return ss->all[i];
		}
	}
	return NULL;
}

static void add_snapshot(struct snapshots *ss, struct snapshot *s)
{
	size_t i, oldest = 0;

	if (ss->count == SNAPSHOTS_MAX) {
		for (i = 1; i < ss->count; i++) {
			if (ss->all[i]->used < ss->all[oldest]->used)
				oldest = i;
		}
		drop_snapshot(ss, oldest);
	}
	s->used = ++ss->clock;
	ss->all[ss->count++] = s;
}

static int take_snapshot(struct snapshots *ss, pid_t pid)
{
	struct snapshot *s = snapshots__find(ss, pid);
	int err, fd;

	if (!s) {
		err = snapshot__new(pid, &s);
		if (!err)
			add_snapshot(ss, s);
		return err;
	}
	err = snapshot__refresh(s);
	if (err != -ESRCH)
		return err;
	/* Ours is gone; is there one of this number nevertheless, with memory of its own? */
	fd = open_proc(pid);
	if (fd < 0)
		return -ESRCH;
	err = faccessat(s->proc_fd, "maps", F_OK, 0) ? -ESTALE : -ESRCH;
	close(fd);
	return err;
}

int snapshots__take(struct snapshots *ss, pid_t pid)
{
	int err;

	privileges__raise();
	err = take_snapshot(ss, pid);
	privileges__lower();
	return err;
}

void snapshots__forget(struct snapshots *ss, pid_t pid)
{
	size_t i;

	for (i = 0; i < ss->count; i++) {
		if (ss->all[i]->pid == pid) {
			drop_snapshot(ss, i);
			return;
		}
	}
}

static void map_files_name(const struct map_entry *e, char name[64])
{
	snprintf(name, 64, "map_files/%" PRIx64 "-%" PRIx64, e->start, e->end);
}

static int open_mapped(const struct snapshot *s, const struct map_entry *e)
{
	char link[64];
	struct stat st;
	int fd;

	/* This is the mapped file itself, whatever became of its name. */
	map_files_name(e, link);
	fd = elffile__open_regular(s->proc_fd, link);
	if (fd >= 0 || s->root_fd < 0)
		return fd;
	fd = elffile__open_in_root(s->root_fd, e->path);
	if (fd < 0)
		return fd;
	/*
	 * This is what has the name now.  The device is not compared: overlay
	 * file systems and btrfs show another one in stat() than in maps.
	 */
	if (fstat(fd, &st) == 0 && st.st_ino == e->inode)
		return fd;
	close(fd);
	return -ESTALE;
}

int snapshot__open_mapped(const struct snapshot *s, const struct map_entry *e)
{
	int fd;

	privileges__raise();
	fd = open_mapped(s, e);
	privileges__lower();
	return fd;
}

/*
 * Whether the process has something else now where the snapshot has this file:
 * it may have closed one library and opened another.  One readlink tells, and
 * what it cannot tell (a process that is gone, a very long path) is no change.
 */
static bool has_changed(const struct snapshot *s, const struct map_entry *e)
{
	char name[64], target[PATH_MAX];
	size_t len = strlen(e->path);
	ssize_t n;

	map_files_name(e, name);
	n = readlinkat(s->proc_fd, name, target, sizeof(target));
	if (n < 0)
		return errno == ENOENT;
	if ((size_t)n == sizeof(target))
		return false;
	/* " (deleted)" may follow. */
	return (size_t)n < len || memcmp(target, e->path, len) != 0;
}

/*
 * The mapping of an address, asking the process again where ours is missing or out
 * of date.  Where there is no code, there was none when the snapshot was taken.
 */
static const struct map_entry *look_for_mapping(struct snapshots *ss, pid_t pid, uint64_t addr,
						struct snapshot **out)
{
	struct snapshot *s = snapshots__find(ss, pid);
	const struct map_entry *e = s ? maps__find(&s->maps, addr) : NULL;
	bool fresh;

	*out = s;
	if (e && e->exec && (!map_entry__is_file(e) || !has_changed(s, e)))
		return e;
	fresh = snapshots__take(ss, pid) == 0;
	/* Otherwise the old one remains; then it is the best that there will ever be. */
	*out = s = snapshots__find(ss, pid);
	e = s ? maps__find(&s->maps, addr) : NULL;
	return e && (fresh || e->exec) ? e : NULL;
}

const struct map_entry *snapshots__find_mapping(struct snapshots *ss, pid_t pid, uint64_t addr,
						struct snapshot **out)
{
	const struct map_entry *e;

	privileges__raise();
	e = look_for_mapping(ss, pid, addr, out);
	privileges__lower();
	return e;
}

/* ---- generated code ---- */

static struct perfmap *open_perfmap(const struct snapshot *s)
{
	struct perfmap *pm = NULL;
	struct stat st;
	char path[64];
	int fd;

	if (s->root_fd < 0 || s->ns_pid <= 0)
		return NULL;
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", s->ns_pid);
	fd = elffile__open_in_root_nofollow(s->root_fd, path);
	if (fd < 0)
		return NULL;
	if (fstat(fd, &st) || (st.st_uid != s->uid && st.st_uid != 0) || perfmap__open(fd, &pm))
		pm = NULL;
	close(fd);
	return pm;
}

/* Of the other snapshots', until the limit is kept. */
static void limit_perfmaps(struct snapshots *ss, const struct snapshot *keep)
{
	size_t bytes = 0;

	for (size_t i = 0; i < ss->count; i++)
		if (ss->all[i]->perfmap)
			bytes += perfmap__bytes(ss->all[i]->perfmap);
	for (size_t i = 0; i < ss->count && bytes > SNAPSHOTS_PERFMAP_BYTES; i++) {
		struct snapshot *s = ss->all[i];

		if (s == keep || !s->perfmap)
			continue;
		bytes -= perfmap__bytes(s->perfmap);
		perfmap__free(s->perfmap);
		s->perfmap = NULL;
	}
}

struct perfmap *snapshots__perfmap(struct snapshots *ss, struct snapshot *s)
{
	privileges__raise();
	if (s->perfmap && perfmap__update(s->perfmap) == -ESTALE) {
		perfmap__free(s->perfmap);
		s->perfmap = NULL;
	}
	if (!s->perfmap) {
		s->perfmap = open_perfmap(s);
		/* What cannot be read further still has what was read. */
		if (s->perfmap)
			(void)perfmap__update(s->perfmap);
	}
	privileges__lower();
	limit_perfmaps(ss, s);
	return s->perfmap;
}

int snapshot__read(const struct snapshot *s, uint64_t addr, void *buf, size_t n)
{
	ssize_t got;
	int fd;

	privileges__raise();
	fd = openat(s->proc_fd, "mem", O_RDONLY | O_CLOEXEC);
	privileges__lower();
	if (fd < 0)
		return errno == ENOENT ? -ESRCH : -errno;
	got = pread(fd, buf, n, (off_t)addr);
	if (got < 0)
		got = -errno;
	close(fd);
	if (got < 0)
		return (int)got;
	return (size_t)got == n ? 0 : -ESRCH; /* its memory is gone, or never was so much */
}
