/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Loading files in a thread, see loader.h. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* pthread_timedjoin_np */
#endif
#include "loader.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "debuginfod.h"
#include "privileges.h"

#define SERVER_GRACE 1 /* seconds */

enum state { WAITING, LOADING, READY };

struct job {
	struct loader_key key;
	enum state state;
	int fd;
	char *path;
	int err;
	struct loaded loaded;
};

struct loader {
	const struct loader_cfg *cfg;
	bool started;
	atomic_bool stop;
	pthread_t thread;
	pthread_mutex_t lock; /* of all that follows */
	pthread_cond_t changed;
	size_t n;
	struct job *jobs[LOADER_FILES_MAX]; /* in the order in which they came */
};

/* ---- one file ---- */

int loaded__open(const struct loader_cfg *cfg, int fd, const char *path, struct loaded *out)
{
	*out = (struct loaded){};
	return symfile__open(fd, path, &cfg->dirs, &out->file);
}

/* A debug file of a server.  NULL: it has none, or another one. */
static struct elffile *fetch(const struct loader_cfg *cfg, const uint8_t *id, unsigned int id_len,
			     const atomic_bool *stop)
{
	struct elffile *ef = NULL;
	int fd;

	if (!stop || !cfg->debuginfod || !id_len)
		return NULL;
	fd = debuginfod__find(cfg->debuginfod, id, id_len, stop);
	if (fd < 0)
		return NULL;
	if (elffile__open_fd(fd, &ef))
		ef = NULL;
	close(fd);
	return ef ? debugfile__take_if_same(ef, id, id_len) : NULL;
}

static struct lines *open_lines(const struct loader_cfg *cfg, struct elffile *ef,
				const atomic_bool *stop)
{
	uint8_t id[ELFFILE_BUILD_ID_MAX];
	unsigned int id_len;
	struct elffile *alt = debugfile__find_alt(&cfg->dirs, ef, id, &id_len);
	struct lines *ls;

	if (!alt)
		alt = fetch(cfg, id, id_len, stop);
	ls = lines__open(ef, alt);
	elffile__close(alt);
	return ls;
}

static void load_lines(const struct loader_cfg *cfg, struct loaded *l, const atomic_bool *stop)
{
	struct symfile *f = l->file;

	l->lines_tried = true;
	if (cfg->no_lines)
		return;
	l->lines = open_lines(cfg, f->ef, stop);
	if (!l->lines && !f->debug)
		f->debug = fetch(cfg, f->build_id, f->build_id_len, stop);
	if (!l->lines && f->debug)
		l->lines = open_lines(cfg, f->debug, stop);
}

struct lines *loaded__lines(const struct loader_cfg *cfg, struct loaded *l)
{
	if (!l->lines_tried)
		load_lines(cfg, l, NULL);
	return l->lines;
}

void loaded__close(struct loaded *l)
{
	lines__close(l->lines);
	symfile__close(l->file);
	*l = (struct loaded){};
}

/* ---- jobs ---- */

static void job__free(struct job *j)
{
	if (j->fd >= 0)
		close(j->fd);
	free(j->path);
	loaded__close(&j->loaded);
	free(j);
}

static struct job *find_job(const struct loader *ld, const struct loader_key *key, size_t *at)
{
	for (size_t i = 0; i < ld->n; i++) {
		const struct loader_key *k = &ld->jobs[i]->key;

		if (k->inode == key->inode && k->dev_major == key->dev_major &&
		    k->dev_minor == key->dev_minor) {
			*at = i;
			return ld->jobs[i];
		}
	}
	return NULL;
}

static void remove_job(struct loader *ld, size_t at)
{
	ld->n--;
	for (; at < ld->n; at++)
		ld->jobs[at] = ld->jobs[at + 1];
}

static struct job *next_job(const struct loader *ld)
{
	for (size_t i = 0; i < ld->n; i++)
		if (ld->jobs[i]->state == WAITING)
			return ld->jobs[i];
	return NULL;
}

static void load(const struct loader *ld, struct job *j)
{
	j->err = loaded__open(ld->cfg, j->fd, j->path, &j->loaded);
	if (!j->err)
		load_lines(ld->cfg, &j->loaded, &ld->stop);
	if (!j->err)
		symfile__load(j->loaded.file);
	if (j->loaded.lines)
		lines__prepare(j->loaded.lines);
}

static void *run(void *arg)
{
	struct loader *ld = arg;
	struct job *j;

	(void)privileges__none(); /* what it opens is the system's, or came by a descriptor */
	pthread_mutex_lock(&ld->lock);
	while (!atomic_load(&ld->stop)) {
		j = next_job(ld);
		if (!j) {
			pthread_cond_wait(&ld->changed, &ld->lock);
			continue;
		}
		j->state = LOADING;
		pthread_mutex_unlock(&ld->lock);
		load(ld, j);
		pthread_mutex_lock(&ld->lock);
		j->state = READY;
		pthread_cond_broadcast(&ld->changed);
	}
	pthread_mutex_unlock(&ld->lock);
	return NULL;
}

/* ---- the loader ---- */

struct loader *loader__new(const struct loader_cfg *cfg)
{
	struct loader *ld = calloc(1, sizeof(*ld));
	pthread_condattr_t attr;

	if (!ld)
		return NULL;
	ld->cfg = cfg;
	pthread_mutex_init(&ld->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&ld->changed, &attr);
	pthread_condattr_destroy(&attr);
	return ld;
}

/* Within a second or so, or not: a server is waited for, and nothing interrupts that. */
static bool end_thread(struct loader *ld)
{
	struct timespec until;

	pthread_mutex_lock(&ld->lock);
	atomic_store(&ld->stop, true);
	pthread_cond_broadcast(&ld->changed);
	pthread_mutex_unlock(&ld->lock);
	if (!ld->cfg->debuginfod)
		return pthread_join(ld->thread, NULL) == 0;
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += SERVER_GRACE;
	return pthread_timedjoin_np(ld->thread, NULL, &until) == 0;
}

bool loader__free(struct loader *ld)
{
	if (!ld)
		return true;
	if (ld->started && !end_thread(ld))
		return false;
	for (size_t i = 0; i < ld->n; i++)
		job__free(ld->jobs[i]);
	pthread_cond_destroy(&ld->changed);
	pthread_mutex_destroy(&ld->lock);
	free(ld);
	return true;
}

/* Signals are for the main thread. */
static int start(struct loader *ld)
{
	sigset_t all, old;
	int err;

	if (ld->started)
		return 0;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	err = pthread_create(&ld->thread, NULL, run, ld);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	ld->started = !err;
	return -err;
}

static struct job *job__new(const struct loader_key *key, int fd, const char *path)
{
	struct job *j = calloc(1, sizeof(*j));

	if (!j)
		return NULL;
	j->key = *key;
	j->fd = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	j->path = strdup(path);
	if (j->fd >= 0 && j->path)
		return j;
	job__free(j);
	return NULL;
}

/* Somebody has begun what nobody wanted in the end. */
static void make_room(struct loader *ld)
{
	for (size_t i = 0; i < ld->n && ld->n == LOADER_FILES_MAX; i++) {
		if (ld->jobs[i]->state == READY) {
			job__free(ld->jobs[i]);
			remove_job(ld, i);
		}
	}
}

int loader__begin(struct loader *ld, const struct loader_key *key, int fd, const char *path)
{
	struct job *j;
	int err = start(ld);
	size_t at;

	if (err)
		return err;
	pthread_mutex_lock(&ld->lock);
	if (!find_job(ld, key, &at)) {
		make_room(ld);
		err = ld->n == LOADER_FILES_MAX ? -E2BIG : 0;
		j = err ? NULL : job__new(key, fd, path);
		if (!err && !j)
			err = -ENOMEM;
		if (j)
			ld->jobs[ld->n++] = j;
		pthread_cond_broadcast(&ld->changed);
	}
	pthread_mutex_unlock(&ld->lock);
	return err;
}

static struct timespec in_ms(int ms)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	t.tv_sec += ms / 1000;
	t.tv_nsec += ms % 1000 * 1000000L;
	if (t.tv_nsec >= 1000000000) {
		t.tv_sec++;
		t.tv_nsec -= 1000000000;
	}
	return t;
}

int loader__take(struct loader *ld, const struct loader_key *key, int ms, struct loaded *out)
{
	struct timespec until = in_ms(ms);
	struct job *j;
	int err = 0;
	size_t at;

	if (!ld->started)
		return -ENOENT;
	pthread_mutex_lock(&ld->lock);
	while ((j = find_job(ld, key, &at)) && j->state != READY && !err &&
	       (j->state == LOADING || ld->cfg->debuginfod))
		err = -pthread_cond_timedwait(&ld->changed, &ld->lock, &until);
	if (!j) {
		err = -ENOENT;
	} else if (j->state == READY || (j->state == WAITING && !ld->cfg->debuginfod)) {
		err = j->state == READY ? j->err : -ENOENT;
		*out = j->loaded;
		j->loaded = (struct loaded){};
		remove_job(ld, at);
		job__free(j);
	} else {
		err = -EAGAIN;
	}
	pthread_mutex_unlock(&ld->lock);
	return err;
}
