/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * For the benchmark of scale: the same calls with few and with many objects
 * alive (second argument, default 1,000 buffers and as many events), over and
 * over.  The output has the CPU time of the calling thread for one call, in ns,
 * for each round: "few" and "many" by function.
 *
 * Expected: nothing is reported but what is left at the end of a buffer pool.
 */
#include "scenario.h"

#define FEW 10
#define CALLS 2000 /* of each function in a round */
#define SIZE 4096

struct pool {
	void **bufs;
	aclrtEvent *events;
	long n;
};

enum { QUERY, COPY, RECORD, MALLOC, FREE, SYNC, FUNCTIONS };

static const char *const names[FUNCTIONS] = {
	"aclrtQueryEventStatus", "aclrtMemcpyAsync", "aclrtRecordEvent",
	"aclrtMallocHost",	 "aclrtFreeHost",    "aclrtSynchronizeStream",
};

static uint64_t cpu_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

static void pool__resize(struct pool *p, long n)
{
	while (p->n < n) {
		OK(aclrtMallocHost(&p->bufs[p->n], SIZE));
		OK(aclrtCreateEvent(&p->events[p->n]));
		p->n++;
	}
	while (p->n > n) {
		p->n--;
		OK(aclrtDestroyEvent(p->events[p->n]));
		OK(aclrtFreeHost(p->bufs[p->n]));
	}
}

/* Adds the CPU time of CALLS calls of each function to `sum`. */
static void measure(struct pool *p, aclrtStream stream, void *dev, uint64_t sum[FUNCTIONS])
{
	aclrtEventRecordedStatus status;
	uint64_t t[FUNCTIONS + 1];
	void *b;

	for (int i = 0; i < CALLS; i++) {
		/* a stride that visits objects all over the pool */
		long at = (i * 7919L) % p->n;

		t[0] = cpu_ns();
		OK(aclrtQueryEventStatus(p->events[at], &status));
		t[1] = cpu_ns();
		OK(aclrtMemcpyAsync(dev, 64, (char *)p->bufs[at] + 128, 64,
				    ACL_MEMCPY_HOST_TO_DEVICE, stream));
		t[2] = cpu_ns();
		OK(aclrtRecordEvent(p->events[at], stream));
		t[3] = cpu_ns();
		OK(aclrtMallocHost(&b, SIZE));
		t[4] = cpu_ns();
		OK(aclrtFreeHost(b));
		t[5] = cpu_ns();
		OK(aclrtSynchronizeStream(stream));
		t[6] = cpu_ns();
		for (int f = 0; f < FUNCTIONS; f++)
			sum[f] += t[f + 1] - t[f];
	}
}

static void print(const char *key, const uint64_t sum[FUNCTIONS])
{
	printf("\"%s\": {", key);
	for (int f = 0; f < FUNCTIONS; f++)
		printf("%s\"%s\": %.1f", f ? ", " : "", names[f], (double)sum[f] / CALLS);
	printf("}");
}

int main(int argc, char **argv)
{
	long many = sc_arg(argc, argv, 2, 1000);
	struct pool p = {
		.bufs = calloc((size_t)many, sizeof(void *)),
		.events = calloc((size_t)many, sizeof(aclrtEvent)),
	};
	aclrtStream stream;
	void *dev;

	sc_begin("scale", argc, argv, 3);
	sc_open_device();
	OK(aclrtCreateStream(&stream));
	OK(aclrtMalloc(&dev, 64, ACL_MEM_MALLOC_HUGE_FIRST));
	printf("{\"scenario\": \"scale\", \"rounds\": [");
	for (long i = 0; i < sc.rounds; i++) {
		uint64_t sums[2][FUNCTIONS] = { { 0 } };

		pool__resize(&p, FEW);
		measure(&p, stream, dev, sums[0]);
		pool__resize(&p, many);
		measure(&p, stream, dev, sums[1]);
		printf("%s{", i ? ", " : "");
		print("few", sums[0]);
		printf(", ");
		print("many", sums[1]);
		printf("}");
	}
	printf("]}\n");
	pool__resize(&p, 0);
	OK(aclrtFree(dev));
	OK(aclrtDestroyStream(stream));
	sc_close_device();
	free(p.bufs);
	free(p.events);
	return 0;
}
