/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Debug files from servers, see debuginfod.h. */
#include "debuginfod.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* As <elfutils/debuginfod.h> has it: an interface that has not changed since the first one. */
typedef struct debuginfod_client client;
typedef int (*progress_fn)(client *c, long a, long b);

#define LIBRARY "libdebuginfod.so.1"
#define CACHE_PARENT "/var/cache/aclguard"
#define CACHE CACHE_PARENT "/debuginfod"
/* Where the environment does not say otherwise, for one file: seconds, and bytes. */
#define TIME_MAX "60"
#define SIZE_MAX_BYTES "536870912"

struct debuginfod {
	void *lib;
	client *client;
	void (*end)(client *c);
	int (*find)(client *c, const unsigned char *id, int len, char **path);
	void (*set_progress)(client *c, progress_fn fn);
	void (*set_data)(client *c, void *data);
	void *(*get_data)(client *c);
};

const char *debuginfod__strerror(int err)
{
	switch (err) {
	case -ENOSYS:
		return "this aclguard is a static one, which cannot open libdebuginfod: use another "
		       "build, or leave --debuginfod out";
	case -ENOENT:
		return "cannot open " LIBRARY ": install libdebuginfod1 (Debian) or "
		       "elfutils-debuginfod-client (Fedora, openEuler), or leave --debuginfod out";
	case -EDESTADDRREQ:
		return "--debuginfod: DEBUGINFOD_URLS is not set, so there is no server to ask "
		       "(sudo passes it on with --preserve-env=DEBUGINFOD_URLS)";
	case -EACCES:
		return "--debuginfod: " CACHE " is not a directory that only root can write to; "
		       "mend it, or set DEBUGINFOD_CACHE_PATH";
	default:
		return strerror(-err);
	}
}

#ifdef ACLGUARD_STATIC
int debuginfod__new(struct debuginfod **out)
{
	(void)out;
	return -ENOSYS;
}

void debuginfod__free(struct debuginfod *d)
{
	(void)d;
}

int debuginfod__find(struct debuginfod *d, const uint8_t *id, unsigned int id_len,
		     const atomic_bool *stop)
{
	(void)d;
	(void)id;
	(void)id_len;
	(void)stop;
	return -ENOSYS;
}
#else
/* The library's functions have no context but that of the client. */
static struct debuginfod *current;

/* The library's functions have no context but that of the client. */
static struct debuginfod *current;

/* The library's functions have no context but that of the client. */
static struct debuginfod *current;

static bool is_safe(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0 && S_ISDIR(st.st_mode) && st.st_uid == 0 &&
	       !(st.st_mode & (S_IWGRP | S_IWOTH));
}

/*
 * The library's own choice is $HOME, which is not always that of the user as whom
 * it runs (sudo), or not there (a service).
 */
static int choose_cache(void)
{
	if (geteuid() != 0 || getenv("DEBUGINFOD_CACHE_PATH"))
		return 0;
	mkdir(CACHE_PARENT, 0755);
	mkdir(CACHE, 0700);
	if (!is_safe(CACHE_PARENT) || !is_safe(CACHE))
		return -EACCES;
	return setenv("DEBUGINFOD_CACHE_PATH", CACHE, 1) ? -errno : 0;
}

static void *symbol(struct debuginfod *d, const char *name)
{
	return d->lib ? dlsym(d->lib, name) : NULL;
}

static int open_library(struct debuginfod *d)
{
	client *(*begin)(void);

	d->lib = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
	begin = symbol(d, "debuginfod_begin");
	d->end = symbol(d, "debuginfod_end");
	d->find = symbol(d, "debuginfod_find_debuginfo");
	d->set_progress = symbol(d, "debuginfod_set_progressfn");
	d->set_data = symbol(d, "debuginfod_set_user_data");
	d->get_data = symbol(d, "debuginfod_get_user_data");
	if (!begin || !d->end || !d->find || !d->set_progress || !d->set_data || !d->get_data)
		return -ENOENT;
	d->client = begin();
	return d->client ? 0 : -ENOMEM;
}

int debuginfod__new(struct debuginfod **out)
{
	const char *urls = getenv("DEBUGINFOD_URLS");
	struct debuginfod *d;
	int err;

	if (!urls || !urls[strspn(urls, " ")])
		return -EDESTADDRREQ;
	err = choose_cache();
	if (err)
		return err;
	setenv("DEBUGINFOD_MAXTIME", TIME_MAX, 0);
	setenv("DEBUGINFOD_MAXSIZE", SIZE_MAX_BYTES, 0);
	d = calloc(1, sizeof(*d));
	if (!d)
		return -ENOMEM;
	err = open_library(d);
	if (err) {
		debuginfod__free(d);
		return err;
	}
	*out = d;
	return 0;
}

/* The library stays open: what it uses has threads and handlers of its own. */
void debuginfod__free(struct debuginfod *d)
{
	if (!d)
		return;
	if (d->client)
		d->end(d->client);
	free(d);
}

static int may_go_on(client *c, long a, long b)
{
	const atomic_bool *stop = current->get_data(c);

	(void)a;
	(void)b;
	return atomic_load(stop);
}

int debuginfod__find(struct debuginfod *d, const uint8_t *id, unsigned int id_len,
		     const atomic_bool *stop)
{
	char *path = NULL;
	int fd;

	current = d;
	d->set_data(d->client, (void *)stop);
	d->set_progress(d->client, may_go_on);
	fd = d->find(d->client, id, (int)id_len, &path);
	free(path);
	return fd;
}
#endif
