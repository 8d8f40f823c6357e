// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Makes calls of the simulated runtime as it is told, for live.py.
 *
 *	actor start PATH	waits for processes to start
 *	actor process PATH	is one; what `exec` makes of a process
 *
 * PATH is a Unix socket at which the test listens.  Every thread connects to it
 * by itself, says who it is, and takes commands, one a line:
 *
 *	spawn PATH NAME=VALUE...   fork a process that connects to PATH, with
 *	                           settings of the simulated runtime
 *	call NAME FAIL PARK PAD PAUSE SLOT ARGUMENT...
 *	plan N                     N such lines follow, which are kept
 *	TIME TICK                  make the calls of the plan: the n-th one not
 *	                           before TIME + n * TICK
 *	memory                     device memory and notifies, by calls that are
 *	                           not traced
 *	thread, fork, exec, die, exit
 *
 * A call with PARK stops at the end of its body and says "body" and the times
 * before the call, at the body's beginning and at its end; what it is told then
 * decides: "go" on, "jump" out of the call, "die" inside it.  FAIL, if not 0, is
 * what the call returns in place of doing anything.  PAD is how many bytes
 * further down the stack it is made.  ARGUMENT is a number, or sN+NUMBER: what
 * an earlier call of any thread with the SLOT N has filled in, or the address of
 * memory that is nothing special if none has; SLOT 0 is none.
 * All times are CLOCK_MONOTONIC in nanoseconds.
 */
#define _GNU_SOURCE
#include <inttypes.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "acl/acl.h"
#include "aclsim.h"
#include "calls.h"

#define ARGS_MAX 32
#define SLOTS 4096
#define BATCH_MAX 8
#define PAGEABLE 0x580000000000 /* memory of the program at fixed places, as generate.py has it */
#define REGISTERED 0x600000000000
#define UNFILLED (PAGEABLE + 0x200000) /* in place of what was not filled in: harmless */
#define AREA 0x400000
#define DEVICE_SIZE 0x20000

enum call_nr {
#define ENUM(name, role, args) C_##name,
	ACL_CALLS(ENUM) C_MAX,
};

static const char *const names[] = {
#define NAME(name, role, args) #name,
	ACL_CALLS(NAME)
};

struct argument {
	uint64_t value;
	unsigned int slot;
};

struct call {
	enum call_nr nr;
	int fail;
	bool park;
	unsigned int pad, pause, slot;
	unsigned int nargs;
	struct argument args[ARGS_MAX];
	/* what came of it */
	uint64_t a[ARGS_MAX];
	uint64_t before, begin, end, on, after;
	int ret;
	uint64_t out;
};

struct channel {
	int fd;
	size_t used, len;
	char buf[4096];
};

static const char *program, *path;
static _Atomic uint64_t slots[SLOTS];
static aclrtIpcEventHandle exported;
static aclmdlRI model;
static aclrtNotify notify;
static aclrtCntNotify cnt_notify;
static void *device_memory;

static _Thread_local struct channel chan;
static _Thread_local struct call *now; /* the call in progress, if it is a commanded one */
static _Thread_local jmp_buf outside;
static _Thread_local bool jumping;

static uint64_t clock_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

static void spin_until(uint64_t time)
{
	while (clock_now() < time)
		;
}

/* --- the connection ----------------------------------------------------------- */

static void say(const char *text)
{
	size_t len = strlen(text);

	if (write(chan.fd, text, len) != (ssize_t)len)
		_exit(1);
}

/* The next line, without its end; the process ends with the test. */
static void hear(char *line, size_t size)
{
	size_t n = 0;

	for (;;) {
		ssize_t got;

		while (chan.used < chan.len) {
			char c = chan.buf[chan.used++];

			if (c == '\n') {
				line[n] = '\0';
				return;
			}
			if (n + 1 < size)
				line[n++] = c;
		}
		got = read(chan.fd, chan.buf, sizeof(chan.buf));
		if (got <= 0)
			_exit(0);
		chan.used = 0;
		chan.len = (size_t)got;
	}
}

static void connect_as(const char *role)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	char text[64];

	chan.used = chan.len = 0;
	chan.fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	strncpy(addr.sun_path, path, sizeof(addr.sun_path) - 1);
	if (chan.fd < 0 || connect(chan.fd, (struct sockaddr *)&addr, sizeof(addr))) {
		perror(path);
		_exit(1);
	}
	snprintf(text, sizeof(text), "%s %d %ld\n", role, (int)getpid(), syscall(SYS_gettid));
	say(text);
}

/* --- one call ----------------------------------------------------------------- */

/* Others are made by the way and have nothing to do with the history. */
static bool is_told(const char *name)
{
	return now && !strcmp(name, names[now->nr]);
}

static int on_begin(const char *name)
{
	if (!is_told(name))
		return 0;
	now->begin = clock_now();
	return now->fail;
}

static void on_end(const char *name)
{
	char text[128];

	if (!is_told(name))
		return;
	now->end = clock_now();
	now->on = now->end;
	if (!now->park)
		return;
	snprintf(text, sizeof(text), "body %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", now->before,
		 now->begin, now->end);
	say(text);
	hear(text, sizeof(text));
	now->on = clock_now();
	if (!strcmp(text, "jump")) {
		jumping = true;
		longjmp(outside, 1);
	}
	if (!strcmp(text, "die"))
		syscall(SYS_exit, 0);
}

static void on_host(void *arg)
{
	(void)arg;
}

static int copy_batch(const struct call *c)
{
	size_t n = c->nargs > 1 ? (c->nargs - 1) / 3 : 0, index = 0, failed;
	size_t sizes[BATCH_MAX];
	void *dsts[BATCH_MAX], *srcs[BATCH_MAX];
	aclrtMemcpyBatchAttr attr = { 0 };

	for (size_t i = 0; i < n && i < BATCH_MAX; i++) {
		dsts[i] = (void *)c->a[1 + 3 * i];
		srcs[i] = (void *)c->a[2 + 3 * i];
		sizes[i] = c->a[3 + 3 * i];
	}
	if (c->nr == C_aclrtMemcpyBatchAsyncV2)
		return aclrtMemcpyBatchAsyncV2(dsts, sizes, srcs, sizes, n, &attr, &index, 1,
					       (void *)c->a[0]);
	return aclrtMemcpyBatchAsync(dsts, sizes, srcs, sizes, n, &attr, &index, 1, &failed,
				     (void *)c->a[0]);
}

static int launch_callback(void *stream)
{
	aclrtSubscribeReport((uint64_t)pthread_self(), stream);
	return aclrtLaunchCallback(on_host, NULL, ACL_CALLBACK_NO_BLOCK, stream);
}

/* Copies whose addresses stand in cells: aclguard counts them, and that is all. */
static int copy_offset(void *stream)
{
	static char cells[2][64];
	void *dst = cells[0];
	const void *src = cells[1];

	return aclrtMemcpyAsyncWithOffset(&dst, 64, 0, &src, 64, 0, ACL_MEMCPY_DEFAULT, stream);
}

#define P(i) ((void *)c->a[i])
#define N(i) (c->a[i])
#define I(i) ((int32_t)c->a[i])
#define U(i) ((uint32_t)c->a[i])
#define OUT ((void **)&c->out)
#define STATUS ((void *)&c->out)

static int make_copy(struct call *c)
{
	aclmdlRICaptureMode mode = ACL_MODEL_RI_CAPTURE_MODE_RELAXED;
	int ret;

	switch (c->nr) {
	case C_aclrtMemcpyAsync:
		return aclrtMemcpyAsync(P(0), N(2), P(1), N(2), I(3), P(4));
	case C_aclrtMemcpyAsyncWithCondition:
		return aclrtMemcpyAsyncWithCondition(P(0), N(2), P(1), N(2), I(3), P(4));
	case C_aclrtMemcpy2dAsync:
		return aclrtMemcpy2dAsync(P(0), N(1), P(2), N(3), N(4), N(5), I(6), P(7));
	case C_aclrtMemcpyBatchAsync:
	case C_aclrtMemcpyBatchAsyncV2:
		return copy_batch(c);
	case C_aclrtSetMemcpyDesc:
		return aclrtSetMemcpyDesc(P(0), I(1), P(2), P(3), N(4), NULL);
	case C_aclrtMemcpyAsyncWithDesc:
		return aclrtMemcpyAsyncWithDesc(P(0), I(1), P(2));
	case C_aclrtMemcpyAsyncWithOffset:
		return copy_offset(P(0));
	case C_aclmdlRICaptureBegin:
		return aclmdlRICaptureBegin(P(0), mode);
	case C_aclmdlRICaptureToModelRIBegin:
		return aclmdlRICaptureToModelRIBegin(P(0), model, mode);
	case C_aclmdlRICaptureEnd:
		ret = aclmdlRICaptureEnd(P(0), OUT);
		if (!ret)
			model = (aclmdlRI)c->out;
		return ret;
	case C_aclrtRecordNotify:
		return aclrtRecordNotify(notify, P(0));
	case C_aclrtCntNotifyRecord: {
		aclrtCntNotifyRecordInfo info = { ACL_RT_CNT_NOTIFY_RECORD_ADD_MODE, 1 };

		return aclrtCntNotifyRecord(cnt_notify, P(0), &info);
	}
	case C_aclrtLaunchCallback:
		return launch_callback(P(0));
	case C_aclrtLaunchHostFunc:
		return aclrtLaunchHostFunc(P(0), on_host, NULL);
	case C_aclrtValueWrite:
		return aclrtValueWrite(device_memory, 1, 0, P(0));
	default:
		fprintf(stderr, "no such call: %d\n", (int)c->nr);
		_exit(2);
	}
}

static int make_stream_call(struct call *c)
{
	switch (c->nr) {
	case C_aclrtCreateStream:
		return aclrtCreateStream(OUT);
	case C_aclrtCreateStreamV2:
		return aclrtCreateStreamV2(OUT, NULL);
	case C_aclrtCreateStreamWithConfig:
		return aclrtCreateStreamWithConfig(OUT, 0, 0);
	case C_aclrtDestroyStream:
		return aclrtDestroyStream(P(0));
	case C_aclrtDestroyStreamForce:
		return aclrtDestroyStreamForce(P(0));
	case C_aclrtSynchronizeStream:
		return aclrtSynchronizeStream(P(0));
	case C_aclrtSynchronizeStreamWithTimeout:
		return aclrtSynchronizeStreamWithTimeout(P(0), I(1));
	case C_aclrtStreamQuery:
		return aclrtStreamQuery(P(0), STATUS);
	case C_aclrtStreamAbort:
		return aclrtStreamAbort(P(0));
	case C_aclrtCtxGetCurrentDefaultStream:
		return aclrtCtxGetCurrentDefaultStream(OUT);
	case C_aclrtSetDevice:
		return aclrtSetDevice(I(0));
	case C_aclrtResetDevice:
		return aclrtResetDevice(I(0));
	case C_aclrtResetDeviceForce:
		return aclrtResetDeviceForce(I(0));
	case C_aclrtSynchronizeDevice:
		return aclrtSynchronizeDevice();
	case C_aclrtSynchronizeDeviceWithTimeout:
		return aclrtSynchronizeDeviceWithTimeout(I(0));
	case C_aclrtCreateContext:
		return aclrtCreateContext(OUT, I(0));
	case C_aclrtDestroyContext:
		return aclrtDestroyContext(P(0));
	case C_aclrtSetCurrentContext:
		return aclrtSetCurrentContext(P(0));
	case C_aclrtGetCurrentContext:
		return aclrtGetCurrentContext(OUT);
	case C_aclFinalize:
		return aclFinalize();
	case C_aclFinalizeReference:
		return aclFinalizeReference(NULL);
	default:
		return make_copy(c);
	}
}

static int make_call(struct call *c)
{
	switch (c->nr) {
	case C_aclrtMallocHost:
		return aclrtMallocHost(OUT, N(0));
	case C_aclrtMallocHostWithCfg:
		return aclrtMallocHostWithCfg(OUT, N(0), NULL);
	case C_aclrtFreeHost:
		return aclrtFreeHost(P(0));
	case C_aclrtFreeHostWithDevSync:
		return aclrtFreeHostWithDevSync(P(0));
	case C_aclrtHostRegister: {
		void *device;

		return aclrtHostRegister(P(0), N(1), ACL_HOST_REGISTER_MAPPED, &device);
	}
	case C_aclrtHostRegisterV2:
		return aclrtHostRegisterV2(P(0), N(1), ACL_HOST_REG_MAPPED);
	case C_aclrtHostUnregister:
		return aclrtHostUnregister(P(0));
	case C_aclrtCreateEvent:
		return aclrtCreateEvent(OUT);
	case C_aclrtCreateEventWithFlag:
		return aclrtCreateEventWithFlag(OUT, U(0));
	case C_aclrtCreateEventExWithFlag:
		return aclrtCreateEventExWithFlag(OUT, U(0));
	case C_aclrtIpcGetEventHandle:
		return aclrtIpcGetEventHandle(P(0), &exported);
	case C_aclrtIpcOpenEventHandle:
		return aclrtIpcOpenEventHandle(exported, OUT);
	case C_aclrtDestroyEvent:
		return aclrtDestroyEvent(P(0));
	case C_aclrtRecordEvent:
		return aclrtRecordEvent(P(0), P(1));
	case C_aclrtRecordEventWithFlag:
		return aclrtRecordEventWithFlag(P(0), P(1), U(2));
	case C_aclrtResetEvent:
		return aclrtResetEvent(P(0), P(1));
	case C_aclrtQueryEventStatus:
		return aclrtQueryEventStatus(P(0), STATUS);
	case C_aclrtQueryEvent:
		return aclrtQueryEvent(P(0), STATUS);
	case C_aclrtSynchronizeEvent:
		return aclrtSynchronizeEvent(P(0));
	case C_aclrtSynchronizeEventWithTimeout:
		return aclrtSynchronizeEventWithTimeout(P(0), I(1));
	case C_aclrtStreamWaitEvent:
		return aclrtStreamWaitEvent(P(0), P(1));
	case C_aclrtStreamWaitEventWithTimeout:
		return aclrtStreamWaitEventWithTimeout(P(0), P(1), 0);
	case C_aclrtStreamWaitEventWithFlag:
		return aclrtStreamWaitEventWithFlag(P(0), P(1), 0, 0);
	default:
		return make_stream_call(c);
	}
}

/* `pad` bytes further down the stack. */
__attribute__((noinline)) static void make_call_below(struct call *c)
{
	volatile char room[c->pad + 16];

	room[0] = 1;
	c->before = clock_now();
	c->ret = make_call(c);
	c->after = clock_now();
	(void)room[0];
}

/* False: the thread jumped out of it. */
static bool perform(struct call *c)
{
	for (unsigned int i = 0; i < c->nargs; i++) {
		c->a[i] = c->args[i].value;
		if (c->args[i].slot)
			c->a[i] += slots[c->args[i].slot % SLOTS] ?: UNFILLED;
	}
	c->out = 0;
	jumping = false;
	if (!setjmp(outside)) {
		now = c;
		make_call_below(c);
	}
	now = NULL;
	if (jumping)
		return false;
	if (c->slot && !c->ret && c->out)
		slots[c->slot % SLOTS] = c->out;
	return true;
}

/* --- commands ----------------------------------------------------------------- */

static void parse_call(struct call *c, char *text)
{
	char *save = NULL, *word = strtok_r(text, " ", &save);
	unsigned int head[5] = { 0 };

	memset(c, 0, sizeof(*c));
	c->nr = C_MAX;
	for (int i = 0; word && i < C_MAX; i++)
		if (!strcmp(word, names[i]))
			c->nr = (enum call_nr)i;
	for (int i = 0; i < 5; i++) {
		word = strtok_r(NULL, " ", &save);
		head[i] = word ? (unsigned int)strtoul(word, NULL, 0) : 0;
	}
	c->fail = (int)head[0];
	c->park = head[1];
	c->pad = head[2];
	c->pause = head[3];
	c->slot = head[4];
	while ((word = strtok_r(NULL, " ", &save)) && c->nargs < ARGS_MAX) {
		struct argument *a = &c->args[c->nargs++];

		if (*word == 's')
			a->slot = (unsigned int)strtoul(word + 1, &word, 10);
		a->value = strtoull(word, NULL, 0);
	}
}

static void command_call(char *text)
{
	struct call c;
	char answer[128];

	parse_call(&c, text);
	if (!perform(&c)) {
		say("jumped\n");
		return;
	}
	snprintf(answer, sizeof(answer), "done %d %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", c.ret,
		 c.out, c.on, c.after);
	say(answer);
}

static void tell_call(const struct call *c)
{
	char text[1024];
	int n;

	n = snprintf(text, sizeof(text),
		     "made %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %d %" PRIu64, c->before,
		     c->begin, c->end, c->after, c->ret, c->out);
	for (unsigned int i = 0; i < c->nargs; i++)
		n += snprintf(text + n, sizeof(text) - (size_t)n, " %" PRIu64, c->a[i]);
	snprintf(text + n, sizeof(text) - (size_t)n, "\n");
	say(text);
}

/* Keeps the calls that follow, and makes them when it is told to, without a word between. */
static void command_plan(unsigned int count)
{
	struct call *calls = calloc(count + 1, sizeof(*calls));
	uint64_t begin, tick;
	char line[1024], *rest;

	for (unsigned int i = 0; calls && i < count; i++) {
		hear(line, sizeof(line));
		parse_call(&calls[i], line);
	}
	say("ready\n");
	hear(line, sizeof(line));
	begin = strtoull(line, &rest, 10);
	tick = strtoull(rest, NULL, 10);
	for (unsigned int i = 0; calls && i < count; i++) {
		spin_until(begin + i * tick);
		spin_until(clock_now() + calls[i].pause);
		perform(&calls[i]);
	}
	for (unsigned int i = 0; calls && i < count; i++)
		tell_call(&calls[i]);
	free(calls);
}

static void command_memory(void)
{
	char text[64];
	int err = aclrtMalloc(&device_memory, DEVICE_SIZE, ACL_MEM_MALLOC_HUGE_FIRST);

	err = err ?: aclrtCreateNotify(&notify, 0);
	err = err ?: aclrtCntNotifyCreate(&cnt_notify, 0);
	snprintf(text, sizeof(text), "memory %d %" PRIu64 "\n", err,
		 (uint64_t)(uintptr_t)device_memory);
	say(text);
}

static void serve(void);

static void *thread_main(void *role)
{
	connect_as(role);
	serve();
	return NULL;
}

static void start_thread(char *role)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, thread_main, role)) {
		perror("thread");
		_exit(1);
	}
}

/* The main thread works as others do; a control thread takes what concerns the process. */
static void process_main(void)
{
	now = NULL;
	start_thread("control");
	connect_as("worker");
	serve();
}

static void command_fork(void)
{
	char text[64];
	pid_t child = fork();

	if (!child) {
		/* the connections of the parent's threads */
		syscall(SYS_close_range, 3U, ~0U, 0);
		process_main();
	}
	snprintf(text, sizeof(text), "forked %d\n", (int)child);
	say(text);
}

static void command_spawn(char *text)
{
	static char where[108];
	char *save = NULL, *word = strtok_r(text, " ", &save);

	snprintf(where, sizeof(where), "%s", word ?: "");
	path = where;
	while ((word = strtok_r(NULL, " ", &save))) {
		char *value = strchr(word, '=');

		if (!value)
			continue;
		*value++ = '\0';
		setenv(word, value, 1);
	}
	command_fork();
}

static void command_exec(void)
{
	execl(program, program, "process", path, (char *)NULL);
	perror("exec");
	_exit(1);
}

static void serve(void)
{
	char line[1024];

	for (;;) {
		char *rest;

		hear(line, sizeof(line));
		rest = strchr(line, ' ');
		if (rest)
			*rest++ = '\0';
		else
			rest = line + strlen(line);
		if (!strcmp(line, "call"))
			command_call(rest);
		else if (!strcmp(line, "plan"))
			command_plan((unsigned int)strtoul(rest, NULL, 10));
		else if (!strcmp(line, "memory"))
			command_memory();
		else if (!strcmp(line, "thread"))
			start_thread("worker");
		else if (!strcmp(line, "spawn"))
			command_spawn(rest);
		else if (!strcmp(line, "fork"))
			command_fork();
		else if (!strcmp(line, "exec"))
			command_exec();
		else if (!strcmp(line, "die"))
			syscall(SYS_exit, 0);
		else if (!strcmp(line, "exit"))
			_exit(0);
		else
			fprintf(stderr, "actor: what is this: %s\n", line);
	}
}

static void map_at(uintptr_t place)
{
	void *p = mmap((void *)place, AREA, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE | MAP_NORESERVE, -1, 0);

	if (p != (void *)place) {
		perror("mmap");
		_exit(1);
	}
}

int main(int argc, char **argv)
{
	if (argc != 3) {
		fprintf(stderr, "usage: actor start|process PATH\n");
		return 64;
	}
	program = argv[0]; /* /proc/self/exe is gone when the main thread is */
	path = argv[2];
	signal(SIGCHLD, SIG_IGN);
	map_at(PAGEABLE);
	map_at(REGISTERED);
	aclsimHook(on_begin, on_end);
	if (!strcmp(argv[1], "process"))
		process_main();
	connect_as("start");
	serve();
	return 0;
}
