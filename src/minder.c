/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The process that outlives us for a moment. */
#define _GNU_SOURCE
#include "minder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static bool is_kept(const int *files, size_t n, int fd)
{
	for (size_t i = 0; i < n; i++)
		if (files[i] == fd)
			return true;
	return false;
}

/* Links to probes among them, which the kernel takes out with their last descriptor. */
static void close_others(const int *files, size_t n)
{
	DIR *dir = opendir("/proc/self/fd");
	struct dirent *e;
	int fd;

	if (!dir)
		_exit(1);
	while ((e = readdir(dir))) {
		fd = atoi(e->d_name);
		if (e->d_name[0] != '.' && fd != dirfd(dir) && !is_kept(files, n, fd))
			close(fd);
	}
	closedir(dir);
}

/* Returns whether we have said that nothing is to be done any more. */
static bool wait_for_end(int alive, const struct minder_fns *fns)
{
	struct pollfd p = { .fd = alive, .events = POLLIN };
	ssize_t done;
	char byte;
	int ready;

	do {
		ready = poll(&p, 1, fns->look_ms);
		if (!ready)
			fns->look(fns->arg);
	} while (!ready || (ready < 0 && errno == EINTR));
	do
		done = read(alive, &byte, 1);
	while (done < 0 && errno == EINTR);
	return done == 1;
}

static void mind(const int *files, size_t n, int alive, const struct minder_fns *fns)
{
	sigset_t all;

	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	setsid();
	prctl(PR_SET_NAME, "aclguard-minder");
	close_others(files, n);
	if (!wait_for_end(alive, fns))
		fns->outlive(fns->arg);
	_exit(0);
}

int minder__start(struct minder *m, const int *files, size_t n, const struct minder_fns *fns)
{
	int keep[MINDER_FILES_MAX + 1], ends[2];
	pid_t pid;

	if (n > MINDER_FILES_MAX)
		return -E2BIG;
	if (pipe2(ends, O_CLOEXEC))
		return -errno;
	for (size_t i = 0; i < n; i++)
		keep[i] = files[i];
	keep[n] = ends[0];
	pid = fork();
	if (!pid)
		mind(keep, n + 1, ends[0], fns);
	close(ends[0]);
	if (pid < 0) {
		close(ends[1]);
		return -errno;
	}
	m->pid = pid;
	m->alive = ends[1];
	return 0;
}

void minder__end(struct minder *m)
{
	if (!m->pid)
		return;
	if (write(m->alive, "", 1) != 1)
		kill(m->pid, SIGKILL);
	close(m->alive);
	while (waitpid(m->pid, NULL, 0) < 0 && errno == EINTR)
		;
	m->pid = 0;
}
