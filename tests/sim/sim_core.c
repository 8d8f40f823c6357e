/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * What every call of the simulated runtime shares: settings, counters, planned
 * failures, error lines, time, and what a fork means.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "sim.h"

/* One cache line a counter: threads that make different calls do not disturb each other. */
struct counter {
	char name[56];
	_Atomic uint64_t count;
} __attribute__((aligned(64)));

struct planned {
	enum sim_call call;
	uint64_t nth;
	aclError code;
};

#define PLANNED_MAX 64

struct sim sim;
struct settings sim_set;
pthread_mutex_t sim_mutex = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t sim_done;
_Thread_local uint64_t sim_ctx;
bool sim_hooked;

static struct {
	aclsimBegin begin;
	aclsimEnd end;
} hooks;

static const char *const names[] = {
#define NAME_TRACED(name, role, args) #name,
#define NAME_SUPPORT(name) #name,
	ACL_CALLS(NAME_TRACED) SIM_SUPPORT(NAME_SUPPORT)
};

static struct counter own_counters[SIM_C_MAX];
static struct counter *counters = own_counters;
static struct planned planned[PLANNED_MAX];
static size_t nplanned;
static _Atomic bool has_planned[SIM_C_MAX];
static _Atomic uint64_t planned_calls[SIM_C_MAX];
static _Thread_local char recent[256];

aclError sim_enter(enum sim_call call)
{
	aclError rc;
	uint64_t nth;

	atomic_fetch_add_explicit(&counters[call].count, 1, memory_order_relaxed);
	if (sim_hooked) {
		rc = hooks.begin(names[call]);
		if (rc)
			return sim_error(rc, "%s: failed as the hook wants it", names[call]);
	}
	if (!atomic_load_explicit(&has_planned[call], memory_order_relaxed))
		return ACL_SUCCESS;
	/* Counted apart: the counters may be shared with other processes. */
	nth = atomic_fetch_add(&planned_calls[call], 1) + 1;
	for (size_t i = 0; i < nplanned; i++) {
		if (planned[i].call == call && planned[i].nth == nth)
			return sim_error(planned[i].code, "%s: failed as planned", names[call]);
	}
	return ACL_SUCCESS;
}

void sim_call_end_hook(enum sim_call call)
{
	hooks.end(names[call]);
}

extern __typeof__(aclsimHook) SIM_NAME(aclsimHook);
SIM_EXPORT void SIM_NAME(aclsimHook)(aclsimBegin begin, aclsimEnd end)
{
	hooks.begin = begin;
	hooks.end = end;
	sim_hooked = true;
}

static enum sim_call call__by_name(const char *name)
{
	enum sim_call call = 0;

	while (call < SIM_C_MAX && strcmp(names[call], name))
		call++;
	return call;
}

extern __typeof__(aclsimCalls) SIM_NAME(aclsimCalls);
SIM_EXPORT uint64_t SIM_NAME(aclsimCalls)(const char *name)
{
	enum sim_call call = name ? call__by_name(name) : SIM_C_MAX;

	return call < SIM_C_MAX ? atomic_load(&counters[call].count) : 0;
}

SIM_API_(const char *, aclGetRecentErrMsg)(void)
{
	atomic_fetch_add(&counters[SIM_C_aclGetRecentErrMsg].count, 1);
	return recent[0] ? recent : NULL;
}

aclError sim_error(aclError code, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(recent, sizeof(recent), fmt, ap);
	va_end(ap);
	if (sim_set.log)
		fprintf(stderr, "[ERROR] ASCENDCL(%d,aclsim): %s, runtime result = %d\n",
			(int)getpid(), recent, code);
	return code;
}

uint64_t sim_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

/* Evenly between half and one and a half times @ns, if times are to vary. */
uint64_t sim_jitter(uint64_t ns)
{
	if (!sim_set.random || !ns || ns == SIM_NEVER)
		return ns;
	sim.rng ^= sim.rng << 13;
	sim.rng ^= sim.rng >> 7;
	sim.rng ^= sim.rng << 17;
	return ns / 2 + sim.rng % (ns + 1);
}

void *sim_alloc(size_t size)
{
	void *p = calloc(1, size);

	if (!p) {
		fputs("aclsim: out of memory\n", stderr);
		abort();
	}
	return p;
}

void sim_cond_init(pthread_cond_t *cond)
{
	pthread_condattr_t attr;

	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(cond, &attr);
	pthread_condattr_destroy(&attr);
}

bool sim_wait(pthread_cond_t *cond, uint64_t deadline)
{
	struct timespec ts;

	if (deadline == SIM_NEVER) {
		pthread_cond_wait(cond, &sim_mutex);
		return true;
	}
	ts.tv_sec = (time_t)(deadline / 1000000000);
	ts.tv_nsec = (long)(deadline % 1000000000);
	return pthread_cond_timedwait(cond, &sim_mutex, &ts) != ETIMEDOUT;
}

uint64_t sim_deadline(int32_t timeout_ms)
{
	return timeout_ms < 0 ? SIM_NEVER : sim_now() + (uint64_t)timeout_ms * 1000000;
}

/* --- settings --- */

static uint64_t env__number(const char *name, uint64_t dflt)
{
	const char *v = getenv(name);

	return v && *v ? strtoull(v, NULL, 0) : dflt;
}

static void settings__read_race(void)
{
	const char *race = getenv("ACLSIM_RACE");
	const char *lag = getenv("ACLSIM_LAG_US");

	sim_set.lag_ns = 200 * 1000;
	sim_set.random = getenv("ACLSIM_SEED") != NULL;
	if (race && !strcmp(race, "certain"))
		sim_set.lag_ns = SIM_NEVER;
	else if (race && !strcmp(race, "impossible"))
		sim_set.lag_ns = 0;
	else if (race && !strcmp(race, "random"))
		sim_set.random = true;
	else if (race && *race)
		fprintf(stderr, "aclsim: ACLSIM_RACE=%s: certain, impossible or random\n", race);
	if (lag && *lag)
		sim_set.lag_ns = strcmp(lag, "never") ? strtoull(lag, NULL, 0) * 1000 : SIM_NEVER;
}

static void settings__read_failures(void)
{
	char *spec = getenv("ACLSIM_FAIL"), *copy, *save = NULL;

	nplanned = 0;
	for (size_t i = 0; i < SIM_C_MAX; i++)
		atomic_store(&has_planned[i], false);
	if (!spec || !*spec)
		return;
	copy = strdup(spec);
	for (char *w = strtok_r(copy, ",", &save); w; w = strtok_r(NULL, ",", &save)) {
		char name[64];
		unsigned long long nth;
		int code;
		enum sim_call call = SIM_C_MAX;

		if (sscanf(w, "%63[^:]:%llu:%d", name, &nth, &code) == 3)
			call = call__by_name(name);
		if (call == SIM_C_MAX || nplanned == PLANNED_MAX) {
			fprintf(stderr, "aclsim: ACLSIM_FAIL: cannot use '%s'\n", w);
			continue;
		}
		planned[nplanned++] = (struct planned){ call, nth, code };
		atomic_store(&has_planned[call], true);
	}
	free(copy);
}

static void settings__read(void)
{
	sim_set.device_ns = env__number("ACLSIM_DEVICE_US", 20) * 1000;
	sim_set.timeline_reclaim = env__number("ACLSIM_TIMELINE_RECLAIM", 0);
	sim_set.eventsync_reclaim = env__number("ACLSIM_EVENTSYNC_RECLAIM", 0);
	sim_set.destroy_reclaim = env__number("ACLSIM_DESTROY_RECLAIM", 1);
	sim_set.log = env__number("ACLSIM_LOG", 0);
	sim_set.devices = (int32_t)env__number("ACLSIM_DEVICES", 8);
	if (sim_set.devices > SIM_DEVICES_MAX)
		sim_set.devices = SIM_DEVICES_MAX;
	settings__read_race();
	settings__read_failures();
}

/* --- counters in files --- */

/* The file name in the environment variable @env with %p filled in; false: not set. */
static bool counts__path(const char *env, char *path, size_t size)
{
	const char *v = getenv(env), *p;

	if (!v || !*v)
		return false;
	p = strstr(v, "%p");
	if (p)
		snprintf(path, size, "%.*s%d%s", (int)(p - v), v, (int)getpid(), p + 2);
	else
		snprintf(path, size, "%s", v);
	return true;
}

static void counts__map_live(void)
{
	char path[4096];
	void *map = MAP_FAILED;
	int fd;

	if (!counts__path("ACLSIM_COUNTS_LIVE", path, sizeof(path)))
		return;
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
	if (fd >= 0 && !ftruncate(fd, sizeof(own_counters)))
		map = mmap(NULL, sizeof(own_counters), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (fd >= 0)
		close(fd);
	if (map == MAP_FAILED) {
		perror(path);
		return;
	}
	counters = map;
	for (size_t i = 0; i < SIM_C_MAX; i++)
		memcpy(counters[i].name, names[i], strlen(names[i]));
}

__attribute__((destructor)) static void counts__write(void)
{
	char path[4096];
	FILE *f;

	if (!counts__path("ACLSIM_COUNTS", path, sizeof(path)))
		return;
	f = fopen(path, "we");
	if (!f) {
		perror(path);
		return;
	}
	for (size_t i = 0; i < SIM_C_MAX; i++)
		fprintf(f, "%s %llu\n", names[i],
			(unsigned long long)atomic_load(&counters[i].count));
	fclose(f);
}

/* --- the process --- */

static void sim__reset(void)
{
	memset(&sim, 0, sizeof(sim));
	sim.next_uid = 1;
	sim.rng = env__number("ACLSIM_SEED", 1) * 2 + 1;
	sim_cond_init(&sim_done);
}

static void fork__prepare(void)
{
	sim_lock();
}

static void fork__parent(void)
{
	sim_unlock(0);
}

/*
 * The threads of the streams did not come along, so nothing of the parent's can
 * be used: the child begins with an empty runtime.  The old state stays
 * reachable, for the leak checker's sake.
 */
static void fork__child(void)
{
	struct sim *old = sim_alloc(sizeof(*old));

	*old = sim;
	sim__reset();
	sim.inherited = old;
	sim_ctx = 0;
	memset(planned_calls, 0, sizeof(planned_calls));
	settings__read();
	if (counters == own_counters)
		memset(own_counters, 0, sizeof(own_counters));
	else if (strstr(getenv("ACLSIM_COUNTS_LIVE") ?: "", "%p"))
		counts__map_live();
	sim_unlock(0);
}

__attribute__((constructor)) static void sim__init(void)
{
	settings__read();
	sim__reset();
	counts__map_live();
	pthread_atfork(fork__prepare, fork__parent, fork__child);
}
