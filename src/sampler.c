/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Reading the kernel's numbers on demand. */
#define _GNU_SOURCE
#include "sampler.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "aclguard.skel.h"
#include "metrics.h"

#define BATCH 64

struct sampler {
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t wanted, done;
	uint64_t asked, answered; /* how often */
	bool stop;
	struct sample last;
	/* of the thread alone */
	struct metrics *metrics;
	int calls, losses, procs; /* maps */
	int cpus;
	void *per_cpu; /* a value for each of them */
	struct sample next;
	uint32_t keys[BATCH];
	struct acl_proc values[BATCH];
};

/* ---- reading ------------------------------------------------------------- */

static void read_calls(struct sampler *s)
{
	const struct acl_calls *per_cpu = s->per_cpu;

	for (uint32_t call = 0; call < ACL_C_MAX; call++) {
		struct acl_calls *sum = &s->next.calls[call];

		if (bpf_map_lookup_elem(s->calls, &call, s->per_cpu))
			continue;
		memset(sum, 0, sizeof(*sum));
		for (int i = 0; i < s->cpus; i++) {
			sum->entered += per_cpu[i].entered;
			sum->returned += per_cpu[i].returned;
			sum->failed += per_cpu[i].failed;
			sum->folded += per_cpu[i].folded;
		}
	}
}

static void read_losses(struct sampler *s)
{
	const uint64_t *per_cpu = s->per_cpu;

	for (uint32_t cause = 0; cause < ACL_L_MAX; cause++) {
		if (bpf_map_lookup_elem(s->losses, &cause, s->per_cpu))
			continue;
		s->next.losses[cause] = 0;
		for (int i = 0; i < s->cpus; i++)
			s->next.losses[cause] += per_cpu[i];
	}
}

static void read_procs(struct sampler *s)
{
	uint32_t batch, n;
	void *in = NULL;
	int err;

	do {
		n = BATCH;
		err = bpf_map_lookup_batch(s->procs, in, &batch, s->keys, s->values, &n, NULL);
		if (err && err != -ENOENT)
			return;
		for (uint32_t i = 0; i < n; i++)
			metrics__numbers(s->metrics, &s->values[i]);
		in = &batch;
	} while (!err);
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
		read_calls(s);
		read_losses(s);
		read_procs(s);
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
	free(s->per_cpu);
	free(s);
}

int sampler__start(struct aclguard_bpf *skel, struct metrics *metrics, struct sampler **out)
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
	s->calls = bpf_map__fd(skel->maps.calls);
	s->losses = bpf_map__fd(skel->maps.losses);
	s->procs = bpf_map__fd(skel->maps.procs);
	s->cpus = libbpf_num_possible_cpus();
	s->per_cpu = s->cpus > 0 ? calloc((size_t)s->cpus, sizeof(struct acl_calls)) : NULL;
	err = s->per_cpu ? pthread_create(&s->thread, NULL, run, s) : ENOMEM;
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
