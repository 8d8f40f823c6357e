/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Reading what /proc has of a process, and keeping it. */
#define _GNU_SOURCE
#include "procinfo.h"

#include <ctype.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "procstatus.h"

#define LINE_MAX_BYTES (1UL << 16)
#define ID_MIN 64 /* hex digits, in every engine; shorter ones stand for other things */

struct procs {
	void *tree; /* tsearch() of struct procinfo */
};

static int compare(const void *a, const void *b)
{
	const struct procinfo *x = a, *y = b;

	return (x->pid > y->pid) - (x->pid < y->pid);
}

struct procs *procs__new(void)
{
	return calloc(1, sizeof(struct procs));
}

static void procinfo__free(void *arg)
{
	struct procinfo *p = arg;

	free(p->cgroup);
	free(p);
}

void procs__free(struct procs *ps)
{
	if (!ps)
		return;
	tdestroy(ps->tree, procinfo__free);
	free(ps);
}

/* ---- reading ------------------------------------------------------------- */

void procinfo__container_of(const char *cgroup, char id[PROCINFO_CONTAINER_MAX + 1])
{
	const char *at = cgroup, *best = NULL;
	size_t len = 0;

	/* the last one: containers in containers */
	while (*at) {
		size_t n = strspn(at, "0123456789abcdef");

		if (n >= ID_MIN && n <= PROCINFO_CONTAINER_MAX &&
		    (at == cgroup || !isalnum((unsigned char)at[-1])) &&
		    !isalnum((unsigned char)at[n])) {
			best = at;
			len = n;
		}
		at += n ? n : 1;
	}
	if (best)
		memcpy(id, best, len);
	id[len] = '\0';
}

/* The line without its newline, or NULL at the end; what is longer is skipped. */
static char *next_line(FILE *f, char **line, size_t *room)
{
	ssize_t n;

	while ((n = getline(line, room, f)) > 0) {
		if ((size_t)n > LINE_MAX_BYTES)
			continue;
		if ((*line)[n - 1] == '\n')
			(*line)[n - 1] = '\0';
		return *line;
	}
	return NULL;
}

static FILE *open_proc(pid_t pid, const char *name)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/%s", pid, name);
	return fopen(path, "re");
}

static int read_status(struct procinfo *p)
{
	struct procstatus st;

	if (procstatus__read(p->pid, &st))
		return -1;
	p->uid = st.uid;
	p->ns_pid = st.n_ns_pids ? st.ns_pids[st.n_ns_pids - 1] : p->pid;
	return 0;
}

static int read_comm(struct procinfo *p)
{
	FILE *f = open_proc(p->pid, "comm");
	size_t n;

	if (!f)
		return -1;
	n = fread(p->comm, 1, sizeof(p->comm) - 1, f);
	while (n && (p->comm[n - 1] == '\n' || !p->comm[n - 1]))
		n--;
	p->comm[n] = '\0';
	fclose(f);
	return n ? 0 : -1; /* it is gone by now; an empty name is as good as none */
}

/*
 * Lines are ID:CONTROLLERS:PATH.  The unified hierarchy has no controllers; of
 * the older ones the longest path says most.
 */
static void read_cgroup(struct procinfo *p)
{
	FILE *f = open_proc(p->pid, "cgroup");
	char *line = NULL, *path, *best = NULL;
	size_t room = 0;

	while (f && next_line(f, &line, &room)) {
		path = strchr(line, ':');
		path = path ? strchr(path + 1, ':') : NULL;
		if (!path || (best && strlen(path + 1) <= strlen(best)))
			continue;
		free(best);
		best = strdup(path + 1);
	}
	free(line);
	if (f)
		fclose(f);
	p->cgroup = best;
	if (p->cgroup)
		procinfo__container_of(p->cgroup, p->container);
}

static struct procinfo *procinfo__read(pid_t pid)
{
	struct procinfo *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->pid = pid;
	if (read_status(p) || read_comm(p)) {
		procinfo__free(p);
		return NULL;
	}
	read_cgroup(p);
	return p;
}

static struct procinfo *procs__add(struct procs *ps, struct procinfo *p)
{
	if (p && !tsearch(p, &ps->tree, compare)) {
		procinfo__free(p);
		p = NULL;
	}
	return p;
}

const struct procinfo *procs__get(struct procs *ps, pid_t pid)
{
	const struct procinfo key = { .pid = pid };
	struct procinfo **found;

	if (!ps)
		return NULL;
	found = tfind(&key, &ps->tree, compare);
	return found ? *found : procs__add(ps, procinfo__read(pid));
}

void procs__refresh(struct procs *ps, pid_t pid)
{
	struct procinfo *p = procinfo__read(pid);

	if (!p)
		return;
	procs__forget(ps, pid);
	procs__add(ps, p);
}

void procs__note(struct procs *ps, pid_t pid, uid_t uid, const char *comm, size_t len)
{
	struct procinfo *p;

	if (procs__get(ps, pid))
		return;
	p = calloc(1, sizeof(*p));
	if (!p)
		return;
	p->pid = p->ns_pid = pid;
	p->uid = uid;
	memcpy(p->comm, comm, len < sizeof(p->comm) ? len : sizeof(p->comm) - 1);
	procs__add(ps, p);
}

void procs__forget(struct procs *ps, pid_t pid)
{
	const struct procinfo key = { .pid = pid };
	struct procinfo **found = tfind(&key, &ps->tree, compare), *p;

	if (!found)
		return;
	p = *found;
	tdelete(p, &ps->tree, compare);
	procinfo__free(p);
}
