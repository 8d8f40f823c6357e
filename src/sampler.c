/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Reading the kernel's numbers on demand. */
#define _GNU_SOURCE
#include "sampler.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "counters.h"
#include "metrics.h"

struct sampler {
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t wanted, done;
	uint64_t asked, answered; /* how often */
	bool stop;
	struct sample last;
	/* of the thread alone */
	struct metrics *metrics;
	const struct aclguard_bpf *skel;
	struct sample next;
};

/* ---- reading ------------------------------------------------------------- */

static void tell_metrics(void *arg, const struct acl_proc *p)
{
	metrics__numbers(arg, p);
}

/* What cannot be read now stays as it was. */
static void read_all(struct sampler *s)
{
	struct sample next;

	if (!counters__calls(s->skel, next.calls))
		memcpy(s->next.calls, next.calls, sizeof(next.calls));
	if (!counters__losses(s->skel, next.losses))
		memcpy(s->next.losses, next.losses, sizeof(next.losses));
	counters__each_proc(s->skel, tell_metrics, s->metrics);
}

static void *run(void *arg)
{
	struct sampler *s = arg;
	uint64_t asked;

	pthread_setname_np(pthread_self(), "sampler");
	pthread_mutex_lock(&s->lock);
	while (!s->stop) {
		if (s->answered == s->asked) {
			pthread_cond_wait(&s->wanted, &s->lock);
			continue;
		}
		asked = s->asked;
		pthread_mutex_unlock(&s->lock);
		read_all(s);
		pthread_mutex_lock(&s->lock);
		s->last = s->next;
		s->answered = asked;
		pthread_cond_broadcast(&s->done);
	}
	pthread_mutex_unlock(&s->lock);
	return NULL;
}

/* ---- asking -------------------------------------------------------------- */

static struct timespec deadline(unsigned int ms)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	ts.tv_sec += ms / 1000;
	ts.tv_nsec += (long)(ms % 1000) * 1000000;
	ts.tv_sec += ts.tv_nsec / 1000000000;
	ts.tv_nsec %= 1000000000;
	return ts;
}

void sampler__get(struct sampler *s, unsigned int wait_ms, struct sample *out)
{
	struct timespec until = deadline(wait_ms);
	uint64_t mine;

	pthread_mutex_lock(&s->lock);
	mine = ++s->asked;
	pthread_cond_signal(&s->wanted);
	while (s->answered < mine && !pthread_cond_timedwait(&s->done, &s->lock, &until))
		;
	*out = s->last;
	pthread_mutex_unlock(&s->lock);
}

static void sampler__free(struct sampler *s)
{
	pthread_cond_destroy(&s->wanted);
	pthread_cond_destroy(&s->done);
	pthread_mutex_destroy(&s->lock);
	free(s);
}

int sampler__start(const struct aclguard_bpf *skel, struct metrics *metrics, struct sampler **out)
{
	struct sampler *s = calloc(1, sizeof(*s));
	pthread_condattr_t attr;
	int err;

	if (!s)
		return -ENOMEM;
	pthread_mutex_init(&s->lock, NULL);
	pthread_cond_init(&s->wanted, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&s->done, &attr);
	pthread_condattr_destroy(&attr);
	s->metrics = metrics;
	s->skel = skel;
	err = pthread_create(&s->thread, NULL, run, s);
	if (err) {
		sampler__free(s);
		return -err;
	}
	*out = s;
	return 0;
}

void sampler__stop(struct sampler *s)
{
	if (!s)
		return;
	pthread_mutex_lock(&s->lock);
	s->stop = true;
	pthread_cond_signal(&s->wanted);
	pthread_mutex_unlock(&s->lock);
	pthread_join(s->thread, NULL);
	sampler__free(s);
}
