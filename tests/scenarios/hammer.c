/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Load: T threads (first argument, 4) make at least N calls each (second,
 * 10000) as fast as they can: queries above all, copies with their records,
 * allocations with their frees.  A third argument "query" leaves only queries.
 * Prints what it called how often, so that calls made can be held against calls
 * seen, and a checksum of what arrived on the device.
 *
 * Expected: nothing: what is freed was never copied, or is synchronised before.
 */
#include "scenario.h"

#define THREADS_MAX 256

/* The calls that are made, in the order in which they are printed. */
#define HAMMER_CALLS(X)           \
	X(aclrtSetDevice)         \
	X(aclrtResetDevice)       \
	X(aclrtCreateStream)      \
	X(aclrtDestroyStream)     \
	X(aclrtSynchronizeStream) \
	X(aclrtCreateEvent)       \
	X(aclrtDestroyEvent)      \
	X(aclrtRecordEvent)       \
	X(aclrtQueryEventStatus)  \
	X(aclrtMallocHost)        \
	X(aclrtFreeHost)          \
	X(aclrtMemcpyAsync)

enum {
#define HAMMER_ENUM(name) N_##name,
	HAMMER_CALLS(HAMMER_ENUM) N_MAX,
};

struct worker {
	pthread_t thread;
	unsigned int id;
	long calls; /* wanted */
	bool query_only;
	unsigned long made[N_MAX];
	unsigned long total;
	uint64_t rng;
	uint64_t checksum;
	struct buffer b;
};

#define CALL(w, name, ...)             \
	do {                           \
		(w)->made[N_##name]++; \
		(w)->total++;          \
		OK(name(__VA_ARGS__)); \
	} while (0)

static uint64_t next_random(struct worker *w)
{
	w->rng ^= w->rng << 13;
	w->rng ^= w->rng >> 7;
	w->rng ^= w->rng << 17;
	return w->rng;
}

SITE void hammer_memory(struct worker *w)
{
	void *p;

	CALL(w, aclrtMallocHost, &p, 64 + next_random(w) % 4096);
	CALL(w, aclrtFreeHost, p);
}

SITE void hammer_copy(struct worker *w)
{
	CALL(w, aclrtMemcpyAsync, w->b.dev, w->b.length, w->b.host, w->b.length,
	     ACL_MEMCPY_HOST_TO_DEVICE, w->b.stream);
	CALL(w, aclrtRecordEvent, w->b.event, w->b.stream);
}

SITE void hammer_query(struct worker *w)
{
	aclrtEventRecordedStatus status;

	CALL(w, aclrtQueryEventStatus, w->b.event, &status);
}

static void hammer(struct worker *w)
{
	while (w->total < (unsigned long)w->calls) {
		uint64_t r = w->query_only ? 9 : next_random(w) % 10;

		if (r == 0)
			hammer_copy(w);
		else if (r < 3)
			hammer_memory(w);
		else
			hammer_query(w);
	}
}

static void set_up(struct worker *w)
{
	void *p;

	CALL(w, aclrtSetDevice, 0);
	CALL(w, aclrtCreateStream, &w->b.stream);
	CALL(w, aclrtCreateEvent, &w->b.event);
	w->b.length = SC_SIZE;
	w->b.size = SC_SIZE;
	CALL(w, aclrtMallocHost, &p, w->b.size);
	w->b.base = w->b.host = p;
	OK(aclrtMalloc(&p, SC_SIZE, ACL_MEM_MALLOC_HUGE_FIRST));
	w->b.dev = p;
	w->b.seed = (unsigned char)w->id;
	sc_fill(w->b.host, w->b.length, w->b.seed);
	hammer_copy(w);
}

static void tear_down(struct worker *w)
{
	CALL(w, aclrtSynchronizeStream, w->b.stream);
	for (size_t i = 0; i < w->b.length; i++)
		w->checksum += (unsigned char)w->b.dev[i] * (i + 1);
	sc_verify(w->b.dev, w->b.length, w->b.seed);
	CALL(w, aclrtDestroyEvent, w->b.event);
	CALL(w, aclrtFreeHost, w->b.base);
	CALL(w, aclrtDestroyStream, w->b.stream);
	OK(aclrtFree(w->b.dev));
	CALL(w, aclrtResetDevice, 0);
}

static void *worker_main(void *arg)
{
	struct worker *w = arg;

	w->rng = w->id * 0x9e3779b97f4a7c15ULL + 1;
	set_up(w);
	hammer(w);
	tear_down(w);
	return NULL;
}

static void report(struct worker *workers, long n, uint64_t ns)
{
	static const char *const names[] = {
#define HAMMER_NAME(name) #name,
		HAMMER_CALLS(HAMMER_NAME)
	};
	unsigned long made[N_MAX] = { 0 }, total = 0;
	uint64_t checksum = 0;

	for (long t = 0; t < n; t++) {
		for (int i = 0; i < N_MAX; i++)
			made[i] += workers[t].made[i];
		total += workers[t].total;
		checksum += workers[t].checksum;
	}
	printf("{\"scenario\": \"hammer\", \"pid\": %d, \"threads\": %ld, \"ns\": %llu, "
	       "\"checksum\": \"0x%llx\", \"total\": %lu, \"calls\": {",
	       (int)getpid(), n, (unsigned long long)ns, (unsigned long long)checksum, total);
	for (int i = 0; i < N_MAX; i++)
		printf("%s\"%s\": %lu", i ? ", " : "", names[i], made[i]);
	puts("}}");
}

int main(int argc, char **argv)
{
	static struct worker workers[THREADS_MAX];
	long n = sc_arg(argc, argv, 1, 4);
	uint64_t begin;

	sc_begin("hammer", argc, argv, 4);
	if (n < 1 || n > THREADS_MAX)
		DIE("1 to %d threads", THREADS_MAX);
	OK(aclInit(NULL));
	begin = sc_now();
	for (long i = 0; i < n; i++) {
		workers[i].id = (unsigned int)i + 1;
		workers[i].calls = sc_arg(argc, argv, 2, 10000);
		workers[i].query_only = argc > 3 && !strcmp(argv[3], "query");
		OK(pthread_create(&workers[i].thread, NULL, worker_main, &workers[i]));
	}
	for (long i = 0; i < n; i++)
		pthread_join(workers[i].thread, NULL);
	report(workers, n, sc_now() - begin);
	OK(aclFinalize());
	return 0;
}
