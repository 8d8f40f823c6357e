/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Checks that the simulated runtime behaves as the real one is documented to:
 * what reclaims and what does not, error codes, timeouts, capture, notifies,
 * host functions; and that every call of the traced table was made at least
 * once on the way.  Runs with ACLSIM_RACE=certain, in every shape.
 */
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "acl/acl.h"
#include "aclsim.h"
#include "calls.h"

#define LEN 1000

static int failures;

#define IS(call, want)                                                               \
	do {                                                                         \
		long got_ = (long)(call);                                            \
		if (got_ != (long)(want)) {                                          \
			printf("line %d: %s: %ld, not %ld\n", __LINE__, #call, got_, \
			       (long)(want));                                        \
			failures++;                                                  \
		}                                                                    \
	} while (0)
#define OK(call) IS(call, ACL_SUCCESS)

static aclrtStream s1, s2;
static char *dev;

/* A page-locked buffer with a copy from it on @stream; freeing it needs a reclaim. */
static char *copied(aclrtStream stream)
{
	void *p = NULL;

	OK(aclrtMallocHost(&p, LEN));
	IS((uintptr_t)p % 64, 0);
	memset(p, 1, LEN);
	OK(aclrtMemcpyAsync(dev, LEN, (char *)p + 10, 100, ACL_MEMCPY_HOST_TO_DEVICE, stream));
	return p;
}

static void idle(aclrtStream stream)
{
	aclrtStreamStatus st = ACL_STREAM_STATUS_NOT_READY;

	while (st != ACL_STREAM_STATUS_COMPLETE) {
		OK(aclrtStreamQuery(stream, &st));
		sched_yield();
	}
}

static void complete(aclrtEvent e)
{
	aclrtEventRecordedStatus st = ACL_EVENT_RECORDED_STATUS_NOT_READY;

	while (st != ACL_EVENT_RECORDED_STATUS_COMPLETE) {
		OK(aclrtQueryEventStatus(e, &st));
		sched_yield();
	}
}

#define BUSY(p) IS(aclrtFreeHost(p), ACL_ERROR_RT_DRV_INTERNAL_ERROR)

static void check_what_reclaims(void)
{
	aclrtEventStatus st;
	aclrtEvent e, f;
	aclrtStream s;
	char *p, *q;

	p = copied(s1);
	BUSY(p);
	idle(s1);
	BUSY(p);
	OK(aclrtSynchronizeStream(s2));
	BUSY(p);
	OK(aclrtSynchronizeStream(s1));
	OK(aclrtFreeHost(p));

	OK(aclrtCreateEvent(&e));
	p = copied(s1);
	OK(aclrtRecordEvent(e, s1));
	complete(e);
	BUSY(p);
	OK(aclrtSynchronizeEvent(e));
	OK(aclrtSynchronizeEventWithTimeout(e, 1000));
	BUSY(p);
	OK(aclrtQueryEvent(e, &st));
	IS(st, ACL_EVENT_STATUS_COMPLETE);
	OK(aclrtFreeHost(p));

	/* Destruction: up to where it was seen complete, not up to a later record. */
	OK(aclrtCreateEventWithFlag(&f, ACL_EVENT_SYNC));
	p = copied(s1);
	OK(aclrtRecordEventWithFlag(f, s1, 0));
	complete(f);
	q = copied(s2);
	OK(aclrtStreamWaitEventWithFlag(s2, e, 0, 0));
	OK(aclrtRecordEvent(e, s2));
	OK(aclrtDestroyEvent(f));
	OK(aclrtFreeHost(p));
	BUSY(q);
	complete(e);
	OK(aclrtResetEvent(e, s2));
	OK(aclrtDestroyEvent(e));
	OK(aclrtFreeHost(q));

	p = copied(s1);
	q = copied(NULL);
	OK(aclrtSynchronizeDeviceWithTimeout(10000));
	OK(aclrtFreeHost(p));
	OK(aclrtFreeHost(q));
	OK(aclrtFreeHostWithDevSync(copied(s1)));

	OK(aclrtCreateStreamV2(&s, NULL));
	p = copied(s);
	OK(aclrtDestroyStream(s));
	OK(aclrtFreeHost(p));
	OK(aclrtCreateStreamWithConfig(&s, 0, 0));
	p = copied(s);
	OK(aclrtDestroyStreamForce(s));
	BUSY(p);
	OK(aclrtSynchronizeDevice());
	OK(aclrtFreeHost(p));
}

static void check_errors(void)
{
	aclrtEventRecordedStatus rs;
	aclrtEventStatus st;
	aclrtEvent e;
	aclrtStream s;
	void *p, *q;

	OK(aclrtMallocHostWithCfg(&p, LEN, NULL));
	IS(aclrtFreeHost((char *)p + 64), ACL_ERROR_RT_PARAM_INVALID);
	IS(aclrtMemcpyAsync(dev, 10, p, 11, ACL_MEMCPY_HOST_TO_DEVICE, s1),
	   ACL_ERROR_RT_PARAM_INVALID);
	IS(aclrtMemcpyAsync(p, 10, dev, 10, ACL_MEMCPY_HOST_TO_DEVICE, s1),
	   ACL_ERROR_RT_PARAM_INVALID);
	IS(aclrtMemcpyAsync(dev, LEN + 1, p, LEN + 1, ACL_MEMCPY_HOST_TO_DEVICE, s1),
	   ACL_ERROR_RT_PARAM_INVALID);
	OK(aclrtFreeHost(p));
	IS(aclrtFreeHost(p), ACL_ERROR_RT_PARAM_INVALID);
	IS(aclrtFreeHost(NULL), ACL_ERROR_INVALID_PARAM);
	IS(aclGetRecentErrMsg() != NULL, 1);
	IS(aclrtMallocHost(&p, 0), ACL_ERROR_INVALID_PARAM);
	IS(aclrtHostRegister(dev + 1, 10, ACL_HOST_REGISTER_MAPPED, &q),
	   ACL_ERROR_RT_DRV_INTERNAL_ERROR);

	OK(aclrtCreateEvent(&e));
	OK(aclrtQueryEventStatus(e, &rs));
	IS(rs, ACL_EVENT_RECORDED_STATUS_NOT_READY);
	OK(aclrtDestroyEvent(e));
	IS(aclrtDestroyEvent(e), ACL_ERROR_RT_INVALID_HANDLE);
	IS(aclrtRecordEvent(e, s1), ACL_ERROR_RT_INVALID_HANDLE);
	IS(aclrtQueryEventStatus(e, &rs), ACL_ERROR_RT_INVALID_HANDLE);
	IS(aclrtRecordEvent(&e, s1), ACL_ERROR_RT_INVALID_HANDLE);
	IS(aclrtRecordEvent((aclrtEvent)1, s1), ACL_ERROR_RT_INVALID_HANDLE);
	OK(aclrtCreateEventExWithFlag(&e, 0));
	OK(aclrtQueryEventStatus(e, &rs));
	IS(rs, ACL_EVENT_RECORDED_STATUS_COMPLETE);
	IS(aclrtQueryEvent(e, &st), ACL_ERROR_RT_FEATURE_NOT_SUPPORT);
	OK(aclrtDestroyEvent(e));

	OK(aclrtCreateStream(&s));
	OK(aclrtDestroyStream(s));
	IS(aclrtSynchronizeStream(s), ACL_ERROR_RT_INVALID_HANDLE);
	IS(aclrtDestroyStream(s), ACL_ERROR_RT_INVALID_HANDLE);
	OK(aclrtCtxGetCurrentDefaultStream(&s));
	IS(aclrtDestroyStream(s), ACL_ERROR_RT_INVALID_HANDLE);
	IS(aclrtSetDevice(99), ACL_ERROR_RT_INVALID_DEVICEID);
}

/* Waits that end in time, and waits that do not. */
static void check_notifies(void)
{
	aclrtCntNotifyRecordInfo rec = { ACL_RT_CNT_NOTIFY_RECORD_ADD_MODE, 2 };
	aclrtCntNotifyWaitInfo wait = { .mode = ACL_RT_CNT_NOTIFY_WAIT_BIGGER_OR_EQUAL_MODE,
					.value = 4,
					.isClear = 1 };
	aclrtEventWaitStatus ws;
	aclrtCntNotify cnt;
	aclrtNotify n;
	aclrtEvent e, f;
	char *p;

	OK(aclrtCreateNotify(&n, 0));
	OK(aclrtCreateEvent(&e));
	OK(aclrtCreateEvent(&f));
	OK(aclrtWaitAndResetNotify(n, s1, 0));
	p = copied(s1);
	OK(aclrtRecordEvent(e, s1));
	OK(aclrtStreamWaitEvent(s2, e));
	OK(aclrtStreamWaitEventWithTimeout(s2, e, 0));
	OK(aclrtRecordEvent(f, s2));
	OK(aclrtQueryEventWaitStatus(e, &ws));
	IS(ws, ACL_EVENT_WAIT_STATUS_NOT_READY);
	IS(aclrtSynchronizeStreamWithTimeout(s1, 20), ACL_ERROR_RT_STREAM_SYNC_TIMEOUT);
	IS(aclrtSynchronizeEventWithTimeout(f, 20), ACL_ERROR_RT_EVENT_SYNC_TIMEOUT);
	BUSY(p);
	OK(aclrtRecordNotify(n, NULL));
	complete(f);
	OK(aclrtQueryEventWaitStatus(e, &ws));
	IS(ws, ACL_EVENT_WAIT_STATUS_COMPLETE);
	OK(aclrtSynchronizeStream(s2));
	BUSY(p);
	OK(aclrtSynchronizeStream(s1));
	OK(aclrtFreeHost(p));
	OK(aclrtDestroyNotify(n));
	OK(aclrtDestroyEvent(e));
	OK(aclrtDestroyEvent(f));

	OK(aclrtCntNotifyCreate(&cnt, 0));
	OK(aclrtCntNotifyWaitWithTimeout(cnt, s1, &wait));
	OK(aclrtCntNotifyRecord(cnt, s2, &rec));
	OK(aclrtSynchronizeStream(s2));
	IS(aclrtSynchronizeStreamWithTimeout(s1, 20), ACL_ERROR_RT_STREAM_SYNC_TIMEOUT);
	OK(aclrtCntNotifyRecord(cnt, s2, &rec));
	OK(aclrtSynchronizeStream(s1));

	/* A stream that would wait for ever can be aborted and used again. */
	OK(aclrtCntNotifyWaitWithTimeout(cnt, s1, &wait));
	p = copied(s1);
	OK(aclrtStreamAbort(s1));
	OK(aclrtSynchronizeStream(s1));
	OK(aclrtFreeHost(p));
	OK(aclrtCntNotifyDestroy(cnt));
}

static int told;

static void tell(void *arg)
{
	__atomic_fetch_add((int *)arg, 1, __ATOMIC_SEQ_CST);
}

static void check_host_functions(void)
{
	uint64_t *value = (uint64_t *)dev;

	OK(aclrtLaunchHostFunc(s1, tell, &told));
	OK(aclrtSynchronizeStream(s1));
	IS(told, 1);
	IS(aclrtLaunchCallback(tell, &told, ACL_CALLBACK_BLOCK, s1), ACL_ERROR_RT_STREAM_NO_CB_REG);
	OK(aclrtSubscribeReport((uint64_t)pthread_self(), s1));
	OK(aclrtLaunchCallback(tell, &told, ACL_CALLBACK_BLOCK, s1));
	OK(aclrtLaunchCallback(tell, &told, ACL_CALLBACK_NO_BLOCK, s1));
	while (told < 3)
		OK(aclrtProcessReport(10000));
	IS(aclrtProcessReport(1), ACL_ERROR_RT_WAIT_TIMEOUT);
	OK(aclrtSynchronizeStream(s1));
	OK(aclrtUnSubscribeReport((uint64_t)pthread_self(), s1));

	OK(aclrtMemsetAsync(dev, LEN, 0, LEN, s1));
	OK(aclrtValueWrite(value, 42, 0, s1));
	OK(aclrtSynchronizeStream(s1));
	IS(*value, 42);
	OK(aclrtMemset(dev, LEN, 0, LEN));
	IS(*value, 0);
}

static void check_copies(void)
{
	aclrtMemcpyBatchAttr attr = { .dstLoc = { 0, ACL_MEM_LOCATION_TYPE_DEVICE } };
	void *desc, *reg, *dsts[2], *srcs[2];
	size_t size, first = 0, fail = 0, sizes[2] = { 50, 50 }, maxs[2] = { 50, 49 };
	const void *cell;
	char *p, back[LEN];
	void *d;

	p = copied(s1);
	OK(aclrtSynchronizeStream(s1));
	for (int i = 0; i < LEN; i++)
		p[i] = (char)i;
	OK(aclrtMemcpyAsyncWithCondition(dev, LEN, p + 1, 5, ACL_MEMCPY_DEFAULT, s1));
	OK(aclrtMemcpy2dAsync(dev + 5, 10, p + 6, 20, 10, 3, ACL_MEMCPY_HOST_TO_DEVICE, s1));
	OK(aclrtMemcpyAsync(back, LEN, dev, 35, ACL_MEMCPY_DEVICE_TO_HOST, s1));
	IS(back[4], 5);
	IS(back[5], 6);
	IS(back[15], 26);
	IS(back[34], 55);
	OK(aclrtMemcpy2d(back, 2, dev, 5, 2, 3, ACL_MEMCPY_DEVICE_TO_HOST));
	IS(back[2], dev[5]);

	dsts[0] = dev;
	dsts[1] = dev + 50;
	srcs[0] = p + 100;
	srcs[1] = p + 150;
	IS(aclrtMemcpyBatchAsync(dsts, maxs, srcs, sizes, 2, &attr, &first, 1, &fail, s1),
	   ACL_ERROR_RT_PARAM_INVALID);
	IS(fail, 1);
	OK(aclrtMemcpyBatchAsync(dsts, sizes, srcs, sizes, 2, &attr, &first, 1, &fail, s1));
	OK(aclrtMemcpyBatchAsyncV2(dsts, sizes, srcs, sizes, 2, &attr, &first, 1, s1));
	OK(aclrtMemcpy(back, LEN, p, LEN, ACL_MEMCPY_HOST_TO_HOST));
	idle(s1);
	IS(dev[99], p[199]);

	OK(aclrtGetMemcpyDescSize(ACL_MEMCPY_HOST_TO_DEVICE, &size));
	OK(aclrtMalloc(&desc, size, ACL_MEM_MALLOC_HUGE_FIRST));
	IS(aclrtMemcpyAsyncWithDesc(p, ACL_MEMCPY_HOST_TO_DEVICE, s1), ACL_ERROR_RT_PARAM_INVALID);
	OK(aclrtSetMemcpyDesc(desc, ACL_MEMCPY_HOST_TO_DEVICE, p + 7, dev, 10, NULL));
	OK(aclrtMemcpyAsyncWithDesc(desc, ACL_MEMCPY_HOST_TO_DEVICE, s1));
	cell = p;
	d = dev;
	OK(aclrtMemcpyAsyncWithOffset(&d, 90, 10, &cell, 90, 17, ACL_MEMCPY_HOST_TO_DEVICE, s1));
	idle(s1);
	IS(dev[0], 7);
	IS(dev[10], 17);
	BUSY(p);
	OK(aclrtSynchronizeStream(s1));
	OK(aclrtFree(desc));

	/* Registration inside a page-locked buffer makes no second one. */
	OK(aclrtMallocHost(&reg, 3 * 65536));
	d = (void *)(((uintptr_t)reg + 65535) & ~(uintptr_t)65535);
	OK(aclrtHostRegisterV2(d, 65536, ACL_HOST_REG_MAPPED));
	OK(aclrtHostGetDevicePointer(d, &d, 0));
	OK(aclrtHostUnregister(d));
	IS(aclrtHostUnregister(d), ACL_ERROR_RT_PARAM_INVALID);
	OK(aclrtFreeHost(reg));
	reg = aligned_alloc(65536, 65536);
	OK(aclrtHostRegister(reg, 65536, ACL_HOST_REGISTER_MAPPED, &d));
	OK(aclrtMemcpyAsync(dev, LEN, reg, LEN, ACL_MEMCPY_HOST_TO_DEVICE, s1));
	IS(aclrtHostUnregister(reg), ACL_ERROR_RT_DRV_INTERNAL_ERROR);
	OK(aclrtSynchronizeStream(s1));
	OK(aclrtHostUnregister(reg));
	free(reg);
	OK(aclrtFreeHost(p));
}

static void check_capture(void)
{
	aclrtEventRecordedStatus rs;
	aclrtEvent e;
	aclmdlRI m, same;
	char *p;

	memset(dev, 0, LEN);
	OK(aclrtCreateEvent(&e));
	OK(aclmdlRICaptureBegin(s1, ACL_MODEL_RI_CAPTURE_MODE_RELAXED));
	IS(aclrtDestroyStream(s1), ACL_ERROR_RT_STREAM_CAPTURED);
	IS(aclmdlRICaptureBegin(s1, ACL_MODEL_RI_CAPTURE_MODE_RELAXED),
	   ACL_ERROR_RT_STREAM_CAPTURED);
	OK(aclrtRecordEvent(e, s1));
	OK(aclrtStreamWaitEvent(s2, e));
	IS(aclrtQueryEventStatus(e, &rs), ACL_ERROR_RT_EVENT_CAPTURED);
	IS(aclrtSynchronizeStream(s2), ACL_ERROR_RT_STREAM_CAPTURED);
	p = copied(s2);
	IS(aclmdlRICaptureEnd(s2, &m), ACL_ERROR_RT_PARAM_INVALID);
	OK(aclmdlRICaptureEnd(s1, &m));
	OK(aclrtSynchronizeStream(s2));
	IS(dev[0], 0);
	OK(aclmdlRIExecuteAsync(m, s1));
	idle(s1);
	IS(dev[0], 1);
	BUSY(p);
	OK(aclrtSynchronizeStream(s1));
	OK(aclrtFreeHost(p));
	IS(aclmdlRIExecuteAsync(m, s1), ACL_ERROR_RT_PARAM_INVALID);
	OK(aclmdlRICaptureToModelRIBegin(s1, m, ACL_MODEL_RI_CAPTURE_MODE_RELAXED));
	OK(aclmdlRICaptureEnd(s1, &same));
	IS(same == m, 1);
	OK(aclmdlRIDestroy(m));
	IS(aclmdlRIDestroy(m), ACL_ERROR_RT_PARAM_INVALID);
	OK(aclrtDestroyEvent(e));
}

static void check_events(void)
{
	aclrtIpcEventHandle h;
	aclrtEvent e, twin, end;
	uint64_t us;
	float ms = -1;
	int32_t id;

	OK(aclrtCreateEventWithFlag(&e, ACL_EVENT_IPC | ACL_EVENT_TIME_LINE));
	OK(aclrtCreateEvent(&end));
	OK(aclrtIpcGetEventHandle(e, &h));
	OK(aclrtIpcOpenEventHandle(h, &twin));
	IS(aclrtEventElapsedTime(&ms, e, end), ACL_ERROR_RT_EVENT_TIMESTAMP_INVALID);
	OK(aclrtRecordEvent(twin, s1));
	OK(aclrtDestroyEvent(twin));
	OK(aclrtRecordEvent(end, s1));
	complete(e);
	complete(end);
	OK(aclrtEventElapsedTime(&ms, e, end));
	IS(ms >= 0 && ms < 10000, 1);
	OK(aclrtEventGetTimestamp(e, &us));
	OK(aclrtDestroyEvent(e));
	OK(aclrtDestroyEvent(end));
	IS(aclrtIpcOpenEventHandle(h, &twin), ACL_ERROR_RT_PARAM_INVALID);
	OK(aclrtStreamGetId(s1, &id));
}

static void *without_context(void *arg)
{
	aclrtStream s;

	IS(aclrtCreateStream(&s), ACL_ERROR_RT_CONTEXT_NULL);
	IS(aclrtSynchronizeDevice(), ACL_ERROR_RT_CONTEXT_NULL);
	IS(aclrtSynchronizeStream(NULL), ACL_ERROR_RT_CONTEXT_NULL);
	return arg;
}

static void check_devices(void)
{
	aclrtContext ctx, now, first;
	aclrtRunMode mode;
	pthread_t t;
	uint32_t n;
	int32_t id;
	char *p, *q;

	pthread_create(&t, NULL, without_context, NULL);
	pthread_join(t, NULL);
	OK(aclrtGetDeviceCount(&n));
	IS(n, 8);
	OK(aclrtGetRunMode(&mode));
	OK(aclrtGetCurrentContext(&first));
	OK(aclrtCreateContext(&ctx, 1));
	OK(aclrtGetCurrentContext(&now));
	IS(now == ctx, 1);
	OK(aclrtGetDevice(&id));
	IS(id, 1);
	p = copied(NULL);
	idle(NULL);
	OK(aclrtDestroyContext(ctx));
	IS(aclrtSetCurrentContext(ctx), ACL_ERROR_RT_INVALID_HANDLE);
	BUSY(p);
	OK(aclrtSetDevice(1));
	OK(aclrtSynchronizeDevice());
	OK(aclrtFreeHost(p));

	/* One reference of two: nothing is settled. */
	OK(aclrtSetDevice(1));
	p = copied(NULL);
	idle(NULL);
	OK(aclrtResetDevice(1));
	BUSY(p);
	OK(aclrtResetDevice(1));
	OK(aclrtFreeHost(p));
	IS(aclrtResetDevice(1), ACL_ERROR_RT_CONTEXT_NULL);
	OK(aclrtSetDevice(1));
	OK(aclrtSetDevice(1));
	q = copied(NULL);
	OK(aclrtResetDeviceForce(1));
	OK(aclrtFreeHost(q));
	OK(aclrtSetCurrentContext(first));
}

static const char *began, *ended;
static int refusal;

static int on_begin(const char *name)
{
	began = name;
	return refusal;
}

static void on_end(const char *name)
{
	ended = name;
}

/* The hooks of a test: both run, and the first one may make a call fail. */
static void check_hooks(void)
{
	void *p = NULL;

	aclsimHook(on_begin, on_end);
	refusal = ACL_ERROR_RT_STREAM_SYNC_TIMEOUT;
	IS(aclrtMallocHost(&p, LEN), refusal);
	IS(p != NULL, 0);
	IS(strcmp(began, "aclrtMallocHost"), 0);
	IS(strcmp(ended, "aclrtMallocHost"), 0);
	refusal = 0;
	OK(aclrtMallocHost(&p, LEN));
	OK(aclrtFreeHost(p));
	IS(strcmp(ended, "aclrtFreeHost"), 0);
}

/* A child begins with nothing of its parent's. */
static void check_fork(void)
{
	int status = -1;
	pid_t child = fork();

	if (!child) {
		aclrtStream s;

		failures = 0;
		IS(aclsimCalls("aclrtFreeHost"), 0);
		IS(aclrtSynchronizeStream(s1), ACL_ERROR_RT_INVALID_HANDLE);
		OK(aclrtSetDevice(0));
		OK(aclrtCreateStream(&s));
		OK(aclrtSynchronizeStream(s));
		_exit(failures != 0);
	}
	IS(waitpid(child, &status, 0), child);
	IS(status, 0);
}

static void check_coverage(void)
{
	IS(aclsimCalls("nonsense"), 0);
#define COVERED(name, role, args) IS(aclsimCalls(#name) > 0, 1);
	ACL_CALLS(COVERED)
}

int main(void)
{
	uint64_t refs;
	void *p;

	setvbuf(stdout, NULL, _IONBF, 0);
	OK(aclInit(NULL));
	OK(aclrtSetDevice(0));
	OK(aclrtCreateStream(&s1));
	OK(aclrtCreateStream(&s2));
	OK(aclrtMalloc(&p, LEN, ACL_MEM_MALLOC_HUGE_FIRST));
	dev = p;
	check_what_reclaims();
	check_errors();
	check_notifies();
	check_host_functions();
	check_copies();
	check_capture();
	check_events();
	check_devices();
	check_hooks();
	check_fork();
	OK(aclrtDestroyStream(s1));
	OK(aclrtDestroyStream(s2));
	OK(aclrtFree(dev));
	OK(aclrtResetDevice(0));
	OK(aclFinalizeReference(&refs));
	OK(aclFinalize());
	check_coverage();
	printf("%s\n", failures ? "FAILED" : "ok");
	return failures != 0;
}
