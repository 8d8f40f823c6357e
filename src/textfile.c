/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Writing files of metrics. */
#define _GNU_SOURCE
#include "textfile.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "exits.h"
#include "fileio.h"
#include "npufile.h"
#include "options.h"

struct textfile {
	struct exporter *exporter;
	unsigned int interval; /* seconds */
	char prom[PATH_MAX];   /* "": not wanted */
	char npu[PATH_MAX];
	bool failing; /* already said */
	bool stop;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t wake;
};

/* ---- a file -------------------------------------------------------------- */

int textfile__write(const char *path, const void *data, size_t len)
{
	char temporary[PATH_MAX];
	int fd, err;

	/* not ending in .prom: it is not read */
	if (snprintf(temporary, sizeof(temporary), "%s.%d", path, (int)getpid()) >=
	    (int)sizeof(temporary))
		return -ENAMETOOLONG;
	unlink(temporary); /* of one that had our number and was killed */
	fd = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
	if (fd < 0)
		return -errno;
	err = fchmod(fd, 0644) ? -errno : fileio__write(fd, data, len);
	if (close(fd) && !err)
		err = -errno;
	if (!err && rename(temporary, path))
		err = -errno;
	if (err)
		unlink(temporary);
	return err;
}

/* ---- all of them --------------------------------------------------------- */

static int write_prom(struct textfile *t)
{
	struct textbuf out;
	int err;

	textbuf__init(&out, EXPORTER_PAGE_MAX);
	err = exporter__metrics(t->exporter, EXPOSITION_TEXT, &out);
	if (!err)
		err = textfile__write(t->prom, out.data, out.len);
	textbuf__free(&out);
	return err;
}

static int write_npu(struct textfile *t)
{
	struct textbuf out;
	int err;

	textbuf__init(&out, NPUFILE_BYTES_MAX);
	err = exporter__npu_file(t->exporter, &out);
	if (!err)
		err = textfile__write(t->npu, out.data, out.len);
	textbuf__free(&out);
	return err;
}

/* Returns 0, or -errno with the file that could not be written in *path. */
static int write_files(struct textfile *t, const char **path)
{
	int err = 0;

	*path = t->prom;
	if (t->prom[0])
		err = write_prom(t);
	if (err || !t->npu[0])
		return err;
	*path = t->npu;
	return write_npu(t);
}

static void write_again(struct textfile *t)
{
	const char *path;
	int err = write_files(t, &path);

	if (!err) {
		t->failing = false;
		return;
	}
	exporter__file_failed(t->exporter);
	if (!t->failing)
		say("cannot write %s: %s; trying again every %u s", path, strerror(-err),
		    t->interval);
	t->failing = true;
}

/* Returns whether to stop. */
static bool wait_interval(struct textfile *t)
{
	struct timespec until;
	bool stop;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += t->interval;
	pthread_mutex_lock(&t->lock);
	while (!t->stop && !pthread_cond_timedwait(&t->wake, &t->lock, &until))
		;
	stop = t->stop;
	pthread_mutex_unlock(&t->lock);
	return stop;
}

static void *run(void *arg)
{
	struct textfile *t = arg;

	pthread_setname_np(pthread_self(), "textfile");
	while (!wait_interval(t))
		write_again(t);
	return NULL;
}

/* ---- starting and stopping ----------------------------------------------- */

static void textfile__free(struct textfile *t)
{
	pthread_cond_destroy(&t->wake);
	pthread_mutex_destroy(&t->lock);
	free(t);
}

static struct textfile *textfile__new(const struct export_options *o, struct exporter *ex)
{
	struct textfile *t = calloc(1, sizeof(*t));
	pthread_condattr_t attr;

	if (!t)
		return NULL;
	t->exporter = ex;
	t->interval = o->interval;
	if (o->textfile)
		snprintf(t->prom, sizeof(t->prom), "%s/%s", o->textfile, TEXTFILE_NAME);
	if (o->npu_file)
		snprintf(t->npu, sizeof(t->npu), "%s", o->npu_file);
	pthread_mutex_init(&t->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&t->wake, &attr);
	pthread_condattr_destroy(&attr);
	return t;
}

int textfile__start(const struct options *opts, struct exporter *ex, struct textfile **out)
{
	const struct export_options *o = &opts->export;
	struct textfile *t;
	const char *path;
	int err;

	*out = NULL;
	if (!o->textfile && !o->npu_file)
		return 0;
	t = textfile__new(o, ex);
	if (!t)
		return refuse(ACL_EXIT_FAILED, "%s", strerror(ENOMEM));
	err = write_files(t, &path);
	if (err) {
		refuse(ACL_EXIT_OUTPUT, "cannot write %s: %s", path, strerror(-err));
		textfile__free(t);
		return ACL_EXIT_OUTPUT;
	}
	err = pthread_create(&t->thread, NULL, run, t);
	if (err) {
		textfile__free(t);
		return refuse(ACL_EXIT_FAILED, "%s", strerror(err));
	}
	*out = t;
	return 0;
}

void textfile__stop(struct textfile *t)
{
	if (!t)
		return;
	pthread_mutex_lock(&t->lock);
	t->stop = true;
	pthread_cond_signal(&t->wake);
	pthread_mutex_unlock(&t->lock);
	pthread_join(t->thread, NULL);
	write_again(t);
	textfile__free(t);
}
