/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Looking after the parents of a process that was stopped for a moment. */
#include "ancestors.h"
#include "privileges.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define WATCH_NS 1000000000ULL /* how long after our stop a parent may follow it */
#define LOOK_NS 20000000ULL

/* State and parent of a process; the name before them may hold anything. */
static int read_stat(pid_t pid, char *state, pid_t *parent)
{
	char path[64], buf[512];
	const char *end;
	size_t n;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	f = fopen(path, "re");
	if (!f)
		return -1;
	n = fread(buf, 1, sizeof(buf) - 1, f);
	fclose(f);
	buf[n] = '\0';
	end = strrchr(buf, ')');
	return end && sscanf(end + 1, " %c %d", state, parent) == 2 ? 0 : -1;
}

static void add(struct ancestors *a, pid_t pid)
{
	for (unsigned int i = 0; i < a->n; i++)
		if (a->pids[i] == pid)
			return;
	if (a->n < ANCESTORS_MAX)
		a->pids[a->n++] = pid;
}

void ancestors__note(struct ancestors *a, pid_t pid, uint64_t now)
{
	pid_t parent, self = getpid();
	char state;

	for (int i = 0; i < ANCESTORS_MAX; i++) {
		if (read_stat(pid, &state, &parent) || parent <= 1 || parent == self)
			break;
		add(a, parent);
		pid = parent;
	}
	a->until = now + WATCH_NS;
}

static void cont(pid_t pid)
{
	privileges__raise();
	kill(pid, SIGCONT);
	privileges__lower();
}

uint64_t ancestors__run(struct ancestors *a, uint64_t now, ancestors_leave leave, void *arg)
{
	pid_t parent;
	char state;

	if (!a->n)
		return UINT64_MAX;
	for (unsigned int i = 0; i < a->n; i++)
		if (!read_stat(a->pids[i], &state, &parent) && state == 'T' &&
		    !leave(arg, a->pids[i]))
			cont(a->pids[i]);
	if (now < a->until)
		return LOOK_NS;
	a->n = 0;
	return UINT64_MAX;
}

bool ancestors__has(pid_t pid, pid_t ancestor)
{
	char state;

	for (int i = 0; i < ANCESTORS_MAX; i++) {
		if (read_stat(pid, &state, &pid) || pid <= 1)
			return false;
		if (pid == ancestor)
			return true;
	}
	return false;
}

bool ancestors__is_stopped(pid_t pid)
{
	pid_t parent;
	char state;

	return !read_stat(pid, &state, &parent) && (state == 'T' || state == 't');
}
