/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* A tree of pidfds, and the map of targets. */
#define _GNU_SOURCE
#include "scope.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <search.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "aclguard.skel.h"
#include "privileges.h"

struct watched {
	pid_t pid;
	int pidfd;
};

struct scope {
	struct aclguard_bpf *skel;
	int epoll;
	void *tree; /* tsearch() of struct watched */
	size_t n;
};

struct scope *scope__new(struct aclguard_bpf *skel, int epoll)
{
	struct scope *sc = calloc(1, sizeof(*sc));

	if (!sc)
		return NULL;
	sc->skel = skel;
	sc->epoll = epoll;
	return sc;
}

static void watched__free(void *arg)
{
	struct watched *w = arg;

	close(w->pidfd);
	free(w);
}

void scope__free(struct scope *sc)
{
	if (!sc)
		return;
	tdestroy(sc->tree, watched__free);
	free(sc);
}

static int compare(const void *a, const void *b)
{
	const struct watched *x = a, *y = b;

	return (x->pid > y->pid) - (x->pid < y->pid);
}

static struct watched *find(const struct scope *sc, pid_t pid)
{
	const struct watched key = { .pid = pid };
	struct watched **found = tfind(&key, &sc->tree, compare);

	return found ? *found : NULL;
}

int scope__add(struct scope *sc, pid_t pid)
{
	struct epoll_event ev = { .events = EPOLLIN, .data.u64 = (uint64_t)(uint32_t)pid };
	struct watched *w;
	int err;

	if (find(sc, pid))
		return 0;
	w = calloc(1, sizeof(*w));
	if (!w)
		return -ENOMEM;
	w->pid = pid;
	w->pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (w->pidfd < 0) {
		err = errno == EINVAL || errno == ENOENT ? -ESRCH : -errno;
		free(w);
		return err;
	}
	if (epoll_ctl(sc->epoll, EPOLL_CTL_ADD, w->pidfd, &ev) || !tsearch(w, &sc->tree, compare)) {
		err = -errno;
		watched__free(w);
		return err;
	}
	sc->n++;
	return 0;
}

bool scope__has(const struct scope *sc, pid_t pid)
{
	return find(sc, pid) != NULL;
}

void scope__remove(struct scope *sc, pid_t pid)
{
	struct watched *w = find(sc, pid);

	if (!w)
		return;
	tdelete(w, &sc->tree, compare);
	watched__free(w);
	sc->n--;
}

size_t scope__count(const struct scope *sc)
{
	return sc->n;
}

struct each {
	void (*fn)(void *arg, pid_t pid);
	void *arg;
};

static void visit(const void *node, VISIT which, void *arg)
{
	const struct each *each = arg;

	if (which == postorder || which == leaf)
		each->fn(each->arg, (*(struct watched *const *)node)->pid);
}

void scope__each(const struct scope *sc, void (*fn)(void *arg, pid_t pid), void *arg)
{
	struct each each = { .fn = fn, .arg = arg };

	twalk_r(sc->tree, visit, &each);
}

int scope__set_target(struct scope *sc, pid_t pid, const struct acl_target *t)
{
	uint32_t key = (uint32_t)pid;

	return bpf_map__update_elem(sc->skel->maps.targets, &key, sizeof(key), t, sizeof(*t),
				    BPF_ANY);
}

int scope__get_target(const struct scope *sc, pid_t pid, struct acl_target *t)
{
	uint32_t key = (uint32_t)pid;

	return bpf_map__lookup_elem(sc->skel->maps.targets, &key, sizeof(key), t, sizeof(*t), 0);
}

void scope__drop_target(struct scope *sc, pid_t pid)
{
	uint32_t key = (uint32_t)pid;

	bpf_map__delete_elem(sc->skel->maps.targets, &key, sizeof(key), 0);
}

int scope__pidfd(const struct scope *sc, pid_t pid)
{
	const struct watched *w = find(sc, pid);

	return w ? w->pidfd : -1;
}

void scope__signal(const struct scope *sc, pid_t pid, int sig)
{
	struct watched *w = find(sc, pid);

	privileges__raise();
	if (w)
		syscall(SYS_pidfd_send_signal, w->pidfd, sig, NULL, 0);
	else
		kill(pid, sig);
	privileges__lower();
}
