/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Names of pods, from the kubelet's logs and from environments. */
#define _GNU_SOURCE
#include "podinfo.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "procinfo.h"

#define ENTRIES_MAX 65536 /* of a folder that are looked at */
#define ENVIRON_MAX (256U << 10)
#define ENVIRON_WAIT_MS 100
#define ID_SHOWN 12 /* as engines print it */
#define UID_MIN 32  /* hex digits, without hyphens of a pod that a file on the node describes */
#define UID_MAX 36

struct uid {
	char text[UID_MAX + 1];
};

/* ---- names --------------------------------------------------------------- */

/* Lower case, digits, hyphens, and in names of pods points; as in RFC 1123. */
static bool is_name(const char *s, size_t len, size_t max, bool points)
{
	if (!len || len > max || s[0] == '-' || s[len - 1] == '-' || s[0] == '.' ||
	    s[len - 1] == '.')
		return false;
	for (size_t i = 0; i < len; i++)
		if (!islower((unsigned char)s[i]) && !isdigit((unsigned char)s[i]) && s[i] != '-' &&
		    !(points && s[i] == '.'))
			return false;
	return true;
}

static bool take_label(char out[PODINFO_LABEL_MAX + 1], const char *s, size_t len)
{
	if (!is_name(s, len, PODINFO_LABEL_MAX, false))
		return false;
	memcpy(out, s, len);
	out[len] = '\0';
	return true;
}

static bool take_pod(char out[PODINFO_NAME_MAX + 1], const char *s, size_t len)
{
	if (!is_name(s, len, PODINFO_NAME_MAX, true))
		return false;
	memcpy(out, s, len);
	out[len] = '\0';
	return true;
}

/* "...pod6f1c_..._.slice/..." or ".../pod6f1c-.../...": the uid, with hyphens. */
static bool find_uid(const char *cgroup, struct uid *uid)
{
	for (const char *at = strstr(cgroup, "pod"); at; at = strstr(at + 1, "pod")) {
		size_t n = strspn(at + 3, "0123456789abcdef-_");

		if (n != UID_MIN && n != UID_MAX)
			continue;
		for (size_t i = 0; i < n; i++)
			uid->text[i] = at[3 + i] == '_' ? '-' : at[3 + i];
		uid->text[n] = '\0';
		return true;
	}
	return false;
}

/* ---- the kubelet's logs -------------------------------------------------- */

static DIR *open_dir(const struct podinfo_roots *roots, const char *path)
{
	char full[PATH_MAX];
	const char *host = roots->host ? roots->host : "";

	if (snprintf(full, sizeof(full), "%s%s", host, path) >= (int)sizeof(full))
		return NULL;
	return opendir(full);
}

/* POD_NAMESPACE_CONTAINER-ID.log */
static bool parse_link(const char *name, const char *id, struct podinfo *out)
{
	size_t len = strlen(name), id_len = strlen(id);
	const char *end = name + len - 4 - id_len - 1, *ns, *container;
	struct podinfo found;

	if (len < id_len + 5 + 5 || strcmp(name + len - 4, ".log") != 0 || *end != '-' ||
	    strncmp(end + 1, id, id_len) != 0)
		return false;
	ns = strchr(name, '_');
	container = ns ? strchr(ns + 1, '_') : NULL;
	if (!container || container > end || !take_pod(found.pod, name, ns - name) ||
	    !take_label(found.name_space, ns + 1, container - ns - 1) ||
	    !take_label(found.container, container + 1, end - container - 1))
		return false;
	*out = found;
	return true;
}

static bool by_links(const struct podinfo_roots *roots, const char *id, struct podinfo *out)
{
	DIR *dir = open_dir(roots, "/var/log/containers");
	bool found = false;
	struct dirent *e;

	for (int n = 0; dir && !found && n < ENTRIES_MAX && (e = readdir(dir)); n++)
		found = parse_link(e->d_name, id, out);
	if (dir)
		closedir(dir);
	return found;
}

/* The only container of a pod; of several it cannot be told which. */
static void only_container(int dir, const char *name, struct podinfo *out)
{
	int fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *pod = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *e;
	int n = 0;

	if (!pod) {
		if (fd >= 0)
			close(fd);
		return;
	}
	while (n < 2 && (e = readdir(pod)))
		if (e->d_name[0] != '.' && take_label(out->container, e->d_name, strlen(e->d_name)))
			n++;
	if (n != 1)
		out->container[0] = '\0';
	closedir(pod);
}

/* NAMESPACE_POD_UID */
static bool parse_pod(const char *name, const struct uid *uid, struct podinfo *out)
{
	const char *pod = strchr(name, '_'), *end = pod ? strchr(pod + 1, '_') : NULL;
	struct podinfo found = { .container = "" };

	if (!end || strcmp(end + 1, uid->text) != 0 ||
	    !take_label(found.name_space, name, pod - name) ||
	    !take_pod(found.pod, pod + 1, end - pod - 1))
		return false;
	*out = found;
	return true;
}

static bool by_pods(const struct podinfo_roots *roots, const struct uid *uid, struct podinfo *out)
{
	DIR *dir = open_dir(roots, "/var/log/pods");
	bool found = false;
	struct dirent *e;

	for (int n = 0; dir && !found && n < ENTRIES_MAX && (e = readdir(dir)); n++) {
		found = parse_pod(e->d_name, uid, out);
		if (found)
			only_container(dirfd(dir), e->d_name, out);
	}
	if (dir)
		closedir(dir);
	return found;
}

/* ---- environments -------------------------------------------------------- */

/*
 * A process can keep who reads its memory waiting for as long as it likes.  So that is
 * done by a thread that nobody has to wait for; if one ever was waited for in vain,
 * no other is made.
 */
struct reading {
	pthread_mutex_t lock;
	pthread_cond_t done;
	bool over, forsaken;
	char path[PATH_MAX];
	size_t len;
	char env[ENVIRON_MAX];
};

static atomic_bool hangs; /* such a thread is left */

static void reading__free(struct reading *r)
{
	pthread_cond_destroy(&r->done);
	pthread_mutex_destroy(&r->lock);
	free(r);
}

static void *read_environ(void *arg)
{
	struct reading *r = arg;
	int fd = open(r->path, O_RDONLY | O_CLOEXEC);
	ssize_t n = 0;
	size_t len = 0;
	bool forsaken;

	while (fd >= 0 && len < sizeof(r->env) &&
	       (n = read(fd, r->env + len, sizeof(r->env) - len)) > 0)
		len += (size_t)n;
	if (fd >= 0)
		close(fd);
	pthread_mutex_lock(&r->lock);
	r->len = len;
	r->over = true;
	forsaken = r->forsaken;
	pthread_cond_signal(&r->done);
	pthread_mutex_unlock(&r->lock);
	if (forsaken) {
		reading__free(r);
		atomic_store(&hangs, false);
	}
	return NULL;
}

static struct reading *reading__new(const struct podinfo_roots *roots, pid_t pid)
{
	struct reading *r = malloc(sizeof(*r));
	pthread_condattr_t attr;

	if (!r)
		return NULL;
	r->over = r->forsaken = false;
	r->len = 0;
	snprintf(r->path, sizeof(r->path), "%s/%d/environ", roots->proc ? roots->proc : "/proc",
		 pid);
	pthread_mutex_init(&r->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&r->done, &attr);
	pthread_condattr_destroy(&attr);
	return r;
}

/* Returns whether it is over; if not, it is the thread's from now on. */
static bool reading__wait(struct reading *r)
{
	struct timespec until;
	bool over;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_nsec += ENVIRON_WAIT_MS * 1000000L;
	until.tv_sec += until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	pthread_mutex_lock(&r->lock);
	while (!r->over && !pthread_cond_timedwait(&r->done, &r->lock, &until))
		;
	over = r->over;
	if (!over) {
		r->forsaken = true;
		atomic_store(&hangs, true);
	}
	pthread_mutex_unlock(&r->lock);
	return over;
}

/* The environment; reading__free() it.  NULL: there is none to be had. */
static struct reading *get_environ(const struct podinfo_roots *roots, pid_t pid)
{
	struct reading *r = atomic_load(&hangs) ? NULL : reading__new(roots, pid);
	pthread_t thread;

	if (!r)
		return NULL;
	if (pthread_create(&thread, NULL, read_environ, r)) {
		reading__free(r);
		return NULL;
	}
	pthread_detach(thread);
	return reading__wait(r) ? r : NULL;
}

/* The value of a variable, up to its NUL, *len bytes; NULL if there is none. */
static const char *get_variable(const struct reading *r, const char *name, size_t *len)
{
	size_t n = strlen(name), room;
	const char *at = r->env, *end = r->env + r->len;

	for (; at < end; at += room + 1) {
		room = strnlen(at, end - at);
		if (room > n && at[n] == '=' && !memcmp(at, name, n)) {
			*len = room - n - 1;
			return at + n + 1;
		}
	}
	return NULL;
}

static void by_environ(const struct podinfo_roots *roots, pid_t pid, struct podinfo *out)
{
	struct reading *r = get_environ(roots, pid);
	const char *val;
	size_t len;

	if (!r)
		return;
	val = get_variable(r, "POD_NAMESPACE", &len);
	if (val)
		take_label(out->name_space, val, len);
	val = get_variable(r, "POD_NAME", &len);
	/* elsewhere, the host's name is the container's id */
	if (!val && get_variable(r, "KUBERNETES_SERVICE_HOST", &len))
		val = get_variable(r, "HOSTNAME", &len);
	if (val)
		take_pod(out->pod, val, len);
	reading__free(r);
}

/* ---- all together -------------------------------------------------------- */

void podinfo__find(const struct podinfo_roots *roots, pid_t pid, const struct procinfo *info,
		   struct podinfo *out)
{
	struct uid uid = { "" };
	bool in_pod;

	memset(out, 0, sizeof(*out));
	if (!info || !info->container[0])
		return;
	in_pod = info->cgroup && find_uid(info->cgroup, &uid);
	if (by_links(roots, info->container, out) || (in_pod && by_pods(roots, &uid, out)))
		in_pod = false;
	else
		by_environ(roots, pid, out);
	if (!out->pod[0] && in_pod)
		memcpy(out->pod, uid.text, sizeof(uid.text));
	if (!out->container[0])
		snprintf(out->container, sizeof(out->container), "%.*s", ID_SHOWN, info->container);
}
