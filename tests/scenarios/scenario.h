/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * What the scenario programs share.  Each is a small program on the Ascend
 * runtime that does one order of calls for N rounds (first argument), checks
 * that its own data arrived, and prints one line of JSON:
 *
 *  {"scenario": NAME, "pid": P, "rounds": N, "free_ok": A, "free_failed": B,
 *   "frees": [{"buffer": BASE, "size": S, "host": COPIED, "length": L, "event": E,
 *              "stream": S, "tid": T, "ns": ENTERED, "ret": R}, ...], ...}
 *
 * Addresses and handles are "0x" strings; `frees` holds the first SC_FACTS.  A
 * scenario may add members of its own at the end.
 * The exit status is 0 if the program's own results are right, whatever the
 * frees returned.  The functions that make the calls that matter have names of
 * their own and are not inlined, so that stacks can be checked.
 */
#ifndef SCENARIO_H
#define SCENARIO_H

#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "acl/acl.h"

/* A function that a stack is checked for. */
#ifdef __clang__
#define SITE __attribute__((noinline)) static
#else
#define SITE __attribute__((noinline, noclone)) static
#endif
#define UNUSED __attribute__((unused))

#define SC_FACTS 64
#define SC_ALIGN 256
#define SC_SIZE 4096
#define SC_PATIENCE_NS 20000000000ULL

/* One host buffer on its way to or from the device. */
struct buffer {
	char *base; /* what aclrtMallocHost gave */
	size_t size;
	char *host; /* what is copied: inside the buffer */
	size_t length;
	char *dev;
	aclrtEvent event;
	aclrtStream stream;
	unsigned char seed;
};

struct fact {
	struct buffer b;
	int tid;
	uint64_t ns;
	int ret;
};

static struct {
	const char *name;
	long rounds;
	pthread_mutex_t lock;
	struct fact *facts;
	size_t nfacts, max;
	long ok, failed;
} sc UNUSED = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* The program cannot go on. */
#define DIE(...)                                                     \
	do {                                                         \
		fprintf(stderr, "%s: line %d: ", sc.name, __LINE__); \
		fprintf(stderr, __VA_ARGS__);                        \
		fputc('\n', stderr);                                 \
		exit(1);                                             \
	} while (0)

/* A call that has to succeed. */
#define OK(call)                                            \
	do {                                                \
		int rc_ = (call);                           \
		if (rc_)                                    \
			DIE("%s: returned %d", #call, rc_); \
	} while (0)

static inline uint64_t sc_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

static inline void sc_sleep_us(long us)
{
	struct timespec ts = { us / 1000000, us % 1000000 * 1000 };

	nanosleep(&ts, NULL);
}

/* The number in argument @i, or @dflt. */
static inline long sc_arg(int argc, char **argv, int i, long dflt)
{
	return argc > i ? strtol(argv[i], NULL, 0) : dflt;
}

static inline void sc_begin(const char *name, int argc, char **argv, long rounds)
{
	sc.name = name;
	sc.rounds = sc_arg(argc, argv, 1, rounds);
	if (!sc.max)
		sc.max = SC_FACTS;
	sc.facts = calloc(sc.max, sizeof(*sc.facts));
	if (!sc.facts)
		DIE("out of memory");
}

/* As every program does first. */
static inline void sc_open_device(void)
{
	OK(aclInit(NULL));
	OK(aclrtSetDevice(0));
}

static inline void sc_close_device(void)
{
	OK(aclrtResetDevice(0));
	OK(aclFinalize());
}

static inline void sc_fact(const struct buffer *b, uint64_t ns, int ret)
{
	pthread_mutex_lock(&sc.lock);
	if (sc.nfacts < sc.max)
		sc.facts[sc.nfacts++] = (struct fact){ *b, (int)syscall(SYS_gettid), ns, ret };
	if (ret)
		sc.failed++;
	else
		sc.ok++;
	pthread_mutex_unlock(&sc.lock);
}

static inline void sc_print_fact(const struct fact *f)
{
	printf("{\"buffer\": \"0x%lx\", \"size\": %zu, \"host\": \"0x%lx\", \"length\": %zu, "
	       "\"event\": \"0x%lx\", \"stream\": \"0x%lx\", \"tid\": %d, \"ns\": %llu, "
	       "\"ret\": %d}",
	       (unsigned long)f->b.base, f->b.size, (unsigned long)f->b.host, f->b.length,
	       (unsigned long)f->b.event, (unsigned long)f->b.stream, f->tid,
	       (unsigned long long)f->ns, f->ret);
}

/* The line of JSON; @extra, if any, is a format of further members. */
static inline void __attribute__((format(printf, 1, 2))) sc_report(const char *extra, ...)
{
	va_list ap;

	printf("{\"scenario\": \"%s\", \"pid\": %d, \"rounds\": %ld, \"free_ok\": %ld, "
	       "\"free_failed\": %ld, \"frees\": [",
	       sc.name, (int)getpid(), sc.rounds, sc.ok, sc.failed);
	for (size_t i = 0; i < sc.nfacts; i++) {
		if (i)
			printf(", ");
		sc_print_fact(&sc.facts[i]);
	}
	putchar(']');
	if (extra) {
		printf(", ");
		va_start(ap, extra);
		vprintf(extra, ap);
		va_end(ap);
	}
	puts("}");
	fflush(stdout);
}

/* --- steps that most scenarios have in common --- */

static inline void sc_fill(char *p, size_t n, unsigned char seed)
{
	for (size_t i = 0; i < n; i++)
		p[i] = (char)(seed + i * 7);
}

static inline void sc_verify(const char *p, size_t n, unsigned char seed)
{
	for (size_t i = 0; i < n; i++) {
		if (p[i] != (char)(seed + i * 7))
			DIE("wrong data at byte %zu", i);
	}
}

/*
 * Page-locked memory with what is copied in the middle of it: over-allocated
 * and aligned up, as PaddleCustomDevice does, so that the copied address is
 * never the one that is freed.
 */
SITE UNUSED void allocate_buffer(struct buffer *b, size_t length, unsigned char seed)
{
	void *p = NULL;

	b->length = length;
	b->size = length + SC_ALIGN;
	OK(aclrtMallocHost(&p, b->size));
	b->base = p;
	b->host = b->base + SC_ALIGN - ((uintptr_t)b->base & (SC_ALIGN - 1));
	if (!b->dev) {
		OK(aclrtMalloc(&p, length, ACL_MEM_MALLOC_HUGE_FIRST));
		b->dev = p;
	}
	b->seed = seed;
}

SITE UNUSED void copy_to_device(struct buffer *b, aclrtStream stream)
{
	b->stream = stream;
	sc_fill(b->host, b->length, b->seed);
	OK(aclrtMemcpyAsync(b->dev, b->length, b->host, b->length, ACL_MEMCPY_HOST_TO_DEVICE,
			    stream));
}

SITE UNUSED void record_event(struct buffer *b)
{
	OK(aclrtRecordEvent(b->event, b->stream));
}

/* Ask until the device has it. */
SITE UNUSED void poll_event(aclrtEvent event)
{
	aclrtEventRecordedStatus status = ACL_EVENT_RECORDED_STATUS_NOT_READY;
	uint64_t begin = sc_now();

	for (;;) {
		OK(aclrtQueryEventStatus(event, &status));
		if (status == ACL_EVENT_RECORDED_STATUS_COMPLETE)
			return;
		if (sc_now() - begin > SC_PATIENCE_NS)
			DIE("the event does not complete");
		sched_yield();
	}
}

/* The call that is judged. */
SITE UNUSED int release_buffer(struct buffer *b)
{
	uint64_t ns = sc_now();
	int ret = aclrtFreeHost(b->base);

	sc_fact(b, ns, ret);
	return ret;
}

SITE UNUSED void destroy_event(struct buffer *b)
{
	OK(aclrtDestroyEvent(b->event));
}

/* All that comes before the wait: a new buffer, a new event, the copy, the record. */
SITE UNUSED void start_copy(struct buffer *b, aclrtStream stream, unsigned char seed)
{
	memset(b, 0, sizeof(*b));
	allocate_buffer(b, SC_SIZE, seed);
	OK(aclrtCreateEvent(&b->event));
	copy_to_device(b, stream);
	record_event(b);
}

/* Read the device memory back, through pageable memory, and let it go. */
SITE UNUSED void check_device(struct buffer *b)
{
	char *back = malloc(b->length);

	OK(aclrtMemcpy(back, b->length, b->dev, b->length, ACL_MEMCPY_DEVICE_TO_HOST));
	sc_verify(back, b->length, b->seed);
	free(back);
	OK(aclrtFree(b->dev));
	b->dev = NULL;
}

#endif /* SCENARIO_H */
