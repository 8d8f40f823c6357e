/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Reading the kernel's numbers on demand. */
#define _GNU_SOURCE
#include "sampler.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
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
	struct sample next, read;
};

/* ---- reading ------------------------------------------------------------- */

static void tell_metrics(void *arg, const struct acl_proc *p)
{
	metrics__numbers(arg, p);
}

static void take_error(void *arg, unsigned int call, int32_t ret, uint64_t count)
{
	struct sample *s = arg;

	if (s->n_errors == ACL_CAP_ERRORS)
		return;
	s->errors[s->n_errors].call = call;
	s->errors[s->n_errors].ret = ret;
	s->errors[s->n_errors++].n = count;
}

static void take_table(void *arg, const struct counters_table *t)
{
	struct sample *s = arg;

	struct sample_table *to = &s->tables[s->n_tables];

	if (s->n_tables == SAMPLE_TABLES_MAX)
		return;
	snprintf(to->name, sizeof(to->name), "%s", t->name);
	to->entries = t->entries;
	to->capacity = t->capacity;
	s->n_tables++;
}

static void take_program(void *arg, const struct counters_program *p)
{
	struct sample *s = arg;

	struct sample_program *to = &s->programs[s->n_programs];

	if (s->n_programs == SAMPLE_PROGRAMS_MAX)
		return;
	snprintf(to->name, sizeof(to->name), "%s", p->name);
	to->runs = p->runs;
	to->run_ns = p->run_ns;
	to->missed = p->missed;
	s->n_programs++;
}

/* What cannot be read now stays as it was, so that no counter falls. */
static void read_all(struct sampler *s)
{
	struct sample *next = &s->read;

	next->n_errors = next->n_programs = 0;
	if (counters__calls(s->skel, next->calls))
		memcpy(next->calls, s->next.calls, sizeof(next->calls));
	if (counters__losses(s->skel, next->losses))
		memcpy(next->losses, s->next.losses, sizeof(next->losses));
	if (counters__each_error(s->skel, take_error, next)) {
		memcpy(next->errors, s->next.errors, sizeof(next->errors));
		next->n_errors = s->next.n_errors;
	}
	if (counters__each_program(s->skel, take_program, next)) {
		memcpy(next->programs, s->next.programs, sizeof(next->programs));
		next->n_programs = s->next.n_programs;
	}
	counters__each_proc(s->skel, tell_metrics, s->metrics);
	memcpy(next->tables, s->next.tables, sizeof(next->tables));
	next->n_tables = s->next.n_tables;
	s->next = *next;
}

/*
 * To count the entries of tables takes milliseconds, and who asks does not wait for that:
 * it is done after the answer, for the next one.
 */
static void count_tables(struct sampler *s)
{
	s->next.n_tables = 0;
	counters__each_table(s->skel, take_table, &s->next);
}

static void *run(void *arg)
{
	struct sampler *s = arg;
	uint64_t asked;

	pthread_setname_np(pthread_self(), "sampler");
	count_tables(s);
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
		pthread_mutex_unlock(&s->lock);
		count_tables(s);
		pthread_mutex_lock(&s->lock);
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
