/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The backlog.  All records go through it, also when nobody was slow: a record must
 * not be handled where it lies in the ring, because the thread would find it there
 * again.  It is filled from its beginning, and begun anew when it is empty.
 */
#include "backlog.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#define ROUND_NS 2000000	 /* between two looks at the ring */
#define KEPT_BYTES (256UL << 10) /* not given back */
#define ALIGN 8

struct backlog {
	struct ring_buffer *ring;
	void (*handle)(void *arg, const void *data, size_t size);
	void *arg;
	pthread_t thread;
	pthread_mutex_t lock; /* of all that follows, and of the ring */
	pthread_cond_t wake;
	bool slow, stop;
	bool started; /* the thread is there */
	bool full;
	char *buf; /* records, each after its size */
	size_t from, to;
};

static size_t rounded(size_t n)
{
	return (n + ALIGN - 1) & ~(size_t)(ALIGN - 1);
}

/* Of the ring: what does not fit any more stops it, and the next round goes on with it. */
static int keep(void *arg, void *data, size_t size)
{
	struct backlog *b = arg;

	memcpy(b->buf + b->to, &size, sizeof(size));
	memcpy(b->buf + b->to + ALIGN, data, size);
	b->to += ALIGN + rounded(size);
	/* a record that was handed over is gone from the ring: there is room for the next one */
	b->full = BACKLOG_BYTES - b->to < BACKLOG_BYTES / 64;
	return b->full ? -ENOBUFS : 0;
}

static void take_in(struct backlog *b)
{
	if (!b->full)
		ring_buffer__consume(b->ring);
}

static void *relieve(void *arg)
{
	struct backlog *b = arg;
	struct timespec at;

	pthread_mutex_lock(&b->lock);
	while (!b->stop) {
		if (!b->slow || b->full) {
			pthread_cond_wait(&b->wake, &b->lock);
			continue;
		}
		take_in(b);
		clock_gettime(CLOCK_MONOTONIC, &at);
		at.tv_nsec += ROUND_NS;
		at.tv_sec += at.tv_nsec / 1000000000;
		at.tv_nsec %= 1000000000;
		pthread_cond_timedwait(&b->wake, &b->lock, &at);
	}
	pthread_mutex_unlock(&b->lock);
	return NULL;
}

/*
 * When it is first wanted: then it has the few privileges that are left by then.  It
 * gets no signals, which are for the thread that waits for them.  Without it, what comes
 * meanwhile has the ring only.
 */
static void start(struct backlog *b)
{
	sigset_t all, old;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	b->started = !pthread_create(&b->thread, NULL, relieve, b);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
}

static void init_locks(struct backlog *b)
{
	pthread_condattr_t attr;

	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_mutex_init(&b->lock, NULL);
	pthread_cond_init(&b->wake, &attr);
	pthread_condattr_destroy(&attr);
}

struct backlog *backlog__new(int map_fd, void (*handle)(void *arg, const void *data, size_t size),
			     void *arg)
{
	struct backlog *b = calloc(1, sizeof(*b));
	int err;

	if (!b)
		return NULL;
	b->handle = handle;
	b->arg = arg;
	b->buf = mmap(NULL, BACKLOG_BYTES, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	b->ring = b->buf == MAP_FAILED ? NULL : ring_buffer__new(map_fd, keep, b, NULL);
	if (b->ring) {
		init_locks(b);
		return b;
	}
	err = errno;
	if (b->buf != MAP_FAILED)
		munmap(b->buf, BACKLOG_BYTES);
	free(b);
	errno = err;
	return NULL;
}

void backlog__free(struct backlog *b)
{
	if (!b)
		return;
	pthread_mutex_lock(&b->lock);
	b->stop = true;
	pthread_cond_signal(&b->wake);
	pthread_mutex_unlock(&b->lock);
	if (b->started)
		pthread_join(b->thread, NULL);
	pthread_cond_destroy(&b->wake);
	pthread_mutex_destroy(&b->lock);
	ring_buffer__free(b->ring);
	munmap(b->buf, BACKLOG_BYTES);
	free(b);
}

int backlog__fd(const struct backlog *b)
{
	return ring_buffer__epoll_fd(b->ring);
}

struct ring_buffer *backlog__ring(const struct backlog *b)
{
	return b->ring;
}

/* Empty: from its beginning again. */
static void begin_anew(struct backlog *b)
{
	if (b->to > KEPT_BYTES)
		madvise(b->buf + KEPT_BYTES, BACKLOG_BYTES - KEPT_BYTES, MADV_DONTNEED);
	b->from = b->to = 0;
	b->full = false;
}

/* The next record, which stays where it is until the backlog is begun anew; NULL: none. */
static const void *next(struct backlog *b, size_t *size)
{
	const void *data = NULL;

	pthread_mutex_lock(&b->lock);
	if (b->from == b->to) {
		begin_anew(b);
		take_in(b);
	}
	if (b->from < b->to) {
		memcpy(size, b->buf + b->from, sizeof(*size));
		data = b->buf + b->from + ALIGN;
		b->from += ALIGN + rounded(*size);
	}
	pthread_mutex_unlock(&b->lock);
	return data;
}

void backlog__drain(struct backlog *b)
{
	const void *data;
	size_t size;

	while ((data = next(b, &size)))
		b->handle(b->arg, data, size);
}

void backlog__slow(struct backlog *b, bool slow)
{
	if (!b)
		return;
	if (!b->started)
		start(b);
	pthread_mutex_lock(&b->lock);
	b->slow = slow;
	if (slow)
		pthread_cond_signal(&b->wake);
	pthread_mutex_unlock(&b->lock);
}
