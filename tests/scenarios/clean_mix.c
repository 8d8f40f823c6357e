/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * A longer program that does everything right: every documented order, every
 * kind of copy, several streams, contexts, devices and graph capture.
 *
 * Expected: nothing, whatever the race, and every free succeeds.
 */
#include "scenario.h"

static void done(struct buffer *b)
{
	OK(release_buffer(b));
	check_device(b);
}

static void start_plain(struct buffer *b, aclrtStream stream, unsigned char seed)
{
	memset(b, 0, sizeof(*b));
	allocate_buffer(b, SC_SIZE, seed);
	copy_to_device(b, stream);
}

SITE void by_stream_sync(aclrtStream stream)
{
	struct buffer b;

	start_copy(&b, stream, 1);
	OK(aclrtSynchronizeStreamWithTimeout(stream, 20000));
	done(&b);
	destroy_event(&b);
}

SITE void by_destroy(aclrtStream stream)
{
	struct buffer b;

	start_copy(&b, stream, 2);
	poll_event(b.event);
	destroy_event(&b);
	done(&b);
}

/* What was seen complete before the event was recorded anew counts at its destruction. */
SITE void by_destroy_of_rerecorded(aclrtStream stream)
{
	struct buffer a, b;

	start_copy(&a, stream, 3);
	poll_event(a.event);
	start_plain(&b, stream, 4);
	OK(aclrtRecordEvent(a.event, stream));
	destroy_event(&a);
	done(&a);
	OK(aclrtSynchronizeStream(stream));
	done(&b);
}

SITE void by_old_query(aclrtStream stream)
{
	aclrtEventStatus status = ACL_EVENT_STATUS_NOT_READY;
	struct buffer b;

	start_copy(&b, stream, 5);
	while (status != ACL_EVENT_STATUS_COMPLETE)
		OK(aclrtQueryEvent(b.event, &status));
	done(&b);
	destroy_event(&b);
}

SITE void by_device_sync(aclrtStream stream)
{
	struct buffer b;

	start_plain(&b, stream, 6);
	OK(aclrtSynchronizeDevice());
	done(&b);
}

SITE void by_free_with_sync(aclrtStream stream)
{
	struct buffer b;

	start_plain(&b, stream, 7);
	OK(aclrtFreeHostWithDevSync(b.base));
	check_device(&b);
}

SITE void by_stream_destroy(void)
{
	aclrtStream stream;
	struct buffer b;

	OK(aclrtCreateStreamWithConfig(&stream, 0, ACL_STREAM_FAST_LAUNCH | ACL_STREAM_FAST_SYNC));
	start_plain(&b, stream, 8);
	OK(aclrtDestroyStream(stream));
	done(&b);
}

/* NULL, and the other name of the same stream. */
SITE void by_default_stream(void)
{
	aclrtStream stream;
	struct buffer b;

	OK(aclrtCtxGetCurrentDefaultStream(&stream));
	start_plain(&b, NULL, 9);
	OK(aclrtSynchronizeStream(stream));
	done(&b);
	start_plain(&b, stream, 10);
	OK(aclrtSynchronizeStream(NULL));
	done(&b);
}

/* A poll settles nothing, but the stream's own synchronisation does. */
SITE void by_sync_of_both(aclrtStream stream, aclrtStream other)
{
	struct buffer b;

	start_copy(&b, stream, 11);
	OK(aclrtStreamWaitEvent(other, b.event));
	OK(aclrtSynchronizeStream(other));
	poll_event(b.event);
	OK(aclrtSynchronizeStream(stream));
	done(&b);
	OK(aclrtResetEvent(b.event, other));
	destroy_event(&b);
}

SITE void by_pooled_event(aclrtStream stream)
{
	struct buffer b = { 0 };

	OK(aclrtCreateEventExWithFlag(&b.event, ACL_EVENT_CAPTURE_STREAM_PROGRESS));
	for (int i = 0; i < 4; i++) {
		b.dev = NULL;
		allocate_buffer(&b, SC_SIZE, (unsigned char)(12 + i));
		copy_to_device(&b, stream);
		record_event(&b);
		poll_event(b.event);
		OK(aclrtSynchronizeStream(stream));
		done(&b);
	}
	destroy_event(&b);
}

SITE void registered(aclrtStream stream)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	struct buffer b = { .seed = 16, .length = SC_SIZE };
	void *p, *mem = aligned_alloc(page, 2 * page);

	OK(aclrtMalloc(&p, SC_SIZE, ACL_MEM_MALLOC_HUGE_FIRST));
	b.dev = p;
	b.host = (char *)mem + 128;
	OK(aclrtHostRegisterV2(mem, 2 * page, ACL_HOST_REG_MAPPED));
	copy_to_device(&b, stream);
	OK(aclrtSynchronizeStream(stream));
	OK(aclrtHostUnregister(mem));
	check_device(&b);
	free(mem);
}

SITE void pageable(aclrtStream stream)
{
	struct buffer b = { .seed = 17, .length = SC_SIZE };
	void *p;

	OK(aclrtMalloc(&p, SC_SIZE, ACL_MEM_MALLOC_HUGE_FIRST));
	b.dev = p;
	b.host = malloc(SC_SIZE);
	copy_to_device(&b, stream);
	free(b.host);
	check_device(&b);
}

SITE void in_two_dimensions(aclrtStream stream)
{
	struct buffer b = { .stream = stream };

	allocate_buffer(&b, SC_SIZE, 18);
	sc_fill(b.host, b.length, b.seed);
	OK(aclrtMemcpy2dAsync(b.dev, SC_SIZE / 16, b.host, SC_SIZE / 16, SC_SIZE / 16, 16,
			      ACL_MEMCPY_HOST_TO_DEVICE, stream));
	OK(aclrtSynchronizeStream(stream));
	done(&b);
}

SITE void in_a_batch(aclrtStream stream, bool v2)
{
	aclrtMemcpyBatchAttr attr = { .dstLoc = { 0, ACL_MEM_LOCATION_TYPE_DEVICE },
				      .srcLoc = { 0, ACL_MEM_LOCATION_TYPE_HOST } };
	struct buffer b = { .stream = stream };
	void *dsts[4], *srcs[4];
	size_t sizes[4], first = 0, fail;

	allocate_buffer(&b, SC_SIZE, 19);
	sc_fill(b.host, b.length, b.seed);
	for (int i = 0; i < 4; i++) {
		dsts[i] = b.dev + i * SC_SIZE / 4;
		srcs[i] = b.host + i * SC_SIZE / 4;
		sizes[i] = SC_SIZE / 4;
	}
	if (v2)
		OK(aclrtMemcpyBatchAsyncV2(dsts, sizes, srcs, sizes, 4, &attr, &first, 1, stream));
	else
		OK(aclrtMemcpyBatchAsync(dsts, sizes, srcs, sizes, 4, &attr, &first, 1, &fail,
					 stream));
	OK(aclrtSynchronizeStream(stream));
	done(&b);
}

SITE void by_descriptor(aclrtStream stream)
{
	struct buffer b = { .stream = stream };
	size_t size;
	void *desc;

	allocate_buffer(&b, SC_SIZE, 20);
	sc_fill(b.host, b.length, b.seed);
	OK(aclrtGetMemcpyDescSize(ACL_MEMCPY_HOST_TO_DEVICE, &size));
	OK(aclrtMalloc(&desc, size, ACL_MEM_MALLOC_HUGE_FIRST));
	OK(aclrtSetMemcpyDesc(desc, ACL_MEMCPY_HOST_TO_DEVICE, b.host, b.dev, b.length, NULL));
	OK(aclrtMemcpyAsyncWithDesc(desc, ACL_MEMCPY_HOST_TO_DEVICE, stream));
	OK(aclrtSynchronizeStream(stream));
	OK(aclrtFree(desc));
	done(&b);
}

SITE void with_offset(aclrtStream stream)
{
	struct buffer b = { .stream = stream };
	void *dst;
	const void *src;

	allocate_buffer(&b, SC_SIZE, 21);
	sc_fill(b.host, b.length, b.seed);
	dst = b.dev;
	src = b.base;
	OK(aclrtMemcpyAsyncWithOffset(&dst, b.length, 0, &src, b.length, (size_t)(b.host - b.base),
				      ACL_MEMCPY_HOST_TO_DEVICE, stream));
	OK(aclrtSynchronizeStream(stream));
	done(&b);
}

/* A captured copy is no copy yet: the first buffer goes without ever being used. */
SITE void captured(aclrtStream stream, aclrtStream other)
{
	struct buffer a = { 0 }, b = { 0 };
	aclrtEvent joined;
	aclmdlRI model;

	allocate_buffer(&a, SC_SIZE, 22);
	OK(aclmdlRICaptureBegin(stream, ACL_MODEL_RI_CAPTURE_MODE_RELAXED));
	copy_to_device(&a, stream);
	OK(aclmdlRICaptureEnd(stream, &model));
	OK(release_buffer(&a));
	OK(aclrtFree(a.dev));
	OK(aclmdlRIDestroy(model));

	allocate_buffer(&b, SC_SIZE, 23);
	OK(aclrtCreateEventExWithFlag(&joined, 0));
	OK(aclmdlRICaptureBegin(stream, ACL_MODEL_RI_CAPTURE_MODE_RELAXED));
	OK(aclrtRecordEvent(joined, stream));
	OK(aclrtStreamWaitEvent(other, joined));
	copy_to_device(&b, other);
	OK(aclrtRecordEvent(joined, other));
	OK(aclrtStreamWaitEvent(stream, joined));
	OK(aclmdlRICaptureEnd(stream, &model));
	OK(aclmdlRIExecuteAsync(model, stream));
	OK(aclrtSynchronizeDevice());
	OK(aclmdlRIDestroy(model));
	OK(aclrtDestroyEvent(joined));
	done(&b);
}

SITE void in_other_context(void)
{
	aclrtContext before, ctx;
	struct buffer b;

	OK(aclrtGetCurrentContext(&before));
	OK(aclrtCreateContext(&ctx, 1));
	start_plain(&b, NULL, 24);
	OK(aclrtSynchronizeStream(NULL));
	done(&b);
	OK(aclrtDestroyContext(ctx));
	OK(aclrtSetCurrentContext(before));
}

/* The last aclrtResetDevice of a device waits for it. */
SITE void on_other_device(void)
{
	struct buffer b;

	OK(aclrtSetDevice(2));
	start_plain(&b, NULL, 25);
	OK(aclrtResetDevice(2));
	OK(aclrtSetDevice(0));
	done(&b);
	OK(aclrtResetDevice(0));
}

/* An event of another process, so to speak: what it tells is not followed, the stream's wait is. */
SITE void with_shared_event(aclrtStream stream, aclrtStream other)
{
	aclrtIpcEventHandle handle;
	aclrtEvent event, twin;
	struct buffer b;

	OK(aclrtCreateEventExWithFlag(&event, ACL_EVENT_IPC));
	OK(aclrtIpcGetEventHandle(event, &handle));
	OK(aclrtIpcOpenEventHandle(handle, &twin));
	start_plain(&b, stream, 26);
	OK(aclrtRecordEvent(event, stream));
	OK(aclrtStreamWaitEvent(other, twin));
	OK(aclrtSynchronizeStream(other));
	OK(aclrtDestroyEvent(twin));
	OK(aclrtSynchronizeStream(stream));
	done(&b);
	OK(aclrtDestroyEvent(event));
}

static void nothing(void *arg)
{
	(void)arg;
}

/* Ways that are not followed, and the stream's synchronisation behind them. */
SITE void with_ways(aclrtStream stream, aclrtStream other)
{
	aclrtNotify notify;
	struct buffer b;

	OK(aclrtCreateNotify(&notify, 0));
	start_plain(&b, stream, 27);
	OK(aclrtRecordNotify(notify, stream));
	OK(aclrtWaitAndResetNotify(notify, other, 0));
	OK(aclrtLaunchHostFunc(stream, nothing, NULL));
	OK(aclrtSynchronizeStream(other));
	OK(aclrtSynchronizeStream(stream));
	done(&b);
	OK(aclrtDestroyNotify(notify));
}

/* A destroy need not wait for completion, and tells nothing then; the stream does. */
SITE void by_destroy_before_completion(aclrtStream stream)
{
	struct buffer b;

	start_copy(&b, stream, 28);
	destroy_event(&b);
	OK(aclrtSynchronizeStream(stream));
	done(&b);
}

/* A pool of blocks that is emptied at last, as torch_npu's allocator should be. */
SITE void pooled_blocks(aclrtStream stream, aclrtStream other)
{
	struct buffer pool[4];

	for (unsigned char i = 0; i < 4; i++)
		start_copy(&pool[i], i & 1 ? other : stream, (unsigned char)(29 + i));
	for (int i = 0; i < 4; i++)
		poll_event(pool[i].event);
	OK(aclrtSynchronizeStream(stream));
	OK(aclrtSynchronizeStream(other));
	for (int i = 0; i < 4; i++)
		done(&pool[i]);
	for (int i = 0; i < 4; i++)
		destroy_event(&pool[i]);
}

/* One that is destroyed where others still wait for it, on a stream that is waited for. */
SITE void by_wait_of_other_stream(aclrtStream stream, aclrtStream other)
{
	struct buffer b;

	start_copy(&b, stream, 33);
	OK(aclrtStreamWaitEventWithTimeout(other, b.event, 20000));
	destroy_event(&b);
	OK(aclrtSynchronizeDeviceWithTimeout(20000));
	done(&b);
}

static void mix(aclrtStream stream, aclrtStream other)
{
	by_stream_sync(stream);
	by_destroy(stream);
	by_destroy_of_rerecorded(stream);
	by_old_query(stream);
	by_device_sync(stream);
	by_free_with_sync(stream);
	by_stream_destroy();
	by_default_stream();
	by_sync_of_both(stream, other);
	by_pooled_event(stream);
	registered(stream);
	pageable(stream);
	in_two_dimensions(stream);
	in_a_batch(stream, false);
	in_a_batch(stream, true);
	by_descriptor(stream);
	with_offset(stream);
	captured(stream, other);
	in_other_context();
	on_other_device();
	with_shared_event(stream, other);
	with_ways(stream, other);
	by_destroy_before_completion(stream);
	pooled_blocks(stream, other);
	by_wait_of_other_stream(stream, other);
}

int main(int argc, char **argv)
{
	aclrtStream stream, other;

	sc_begin("clean_mix", argc, argv, 3);
	sc_open_device();
	OK(aclrtCreateStream(&stream));
	OK(aclrtCreateStream(&other));
	for (long i = 0; i < sc.rounds; i++)
		mix(stream, other);
	sc_report(NULL);
	OK(aclrtDestroyStream(stream));
	OK(aclrtDestroyStream(other));
	sc_close_device();
	return 0;
}
