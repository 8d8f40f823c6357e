/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Copies of the simulated runtime.  The bytes really move.  Which side is host
 * and which is device is told by the table of ranges; the kind only has to
 * agree with it.  A copy with pageable memory returns after it is done, one
 * between device and page-locked memory is asynchronous and holds references.
 */
#include <stdlib.h>
#include <string.h>

#include "sim.h"

#define DESC_MAGIC 0x6373654479706d43ULL

/* What aclrtSetMemcpyDesc leaves in the program's device memory. */
struct desc {
	uint64_t magic;
	void *dst;
	void *src;
	uint64_t count;
	uint64_t kind;
};

enum side {
	SIDE_HOST,
	SIDE_DEVICE,
	SIDE_ANY,
};

static const struct {
	enum side src, dst;
} kinds[] = {
	[ACL_MEMCPY_HOST_TO_HOST] = { SIDE_HOST, SIDE_HOST },
	[ACL_MEMCPY_HOST_TO_DEVICE] = { SIDE_HOST, SIDE_DEVICE },
	[ACL_MEMCPY_DEVICE_TO_HOST] = { SIDE_DEVICE, SIDE_HOST },
	[ACL_MEMCPY_DEVICE_TO_DEVICE] = { SIDE_DEVICE, SIDE_DEVICE },
	[ACL_MEMCPY_DEFAULT] = { SIDE_ANY, SIDE_ANY },
	[ACL_MEMCPY_HOST_TO_BUF_TO_DEVICE] = { SIDE_HOST, SIDE_DEVICE },
	[ACL_MEMCPY_INNER_DEVICE_TO_DEVICE] = { SIDE_DEVICE, SIDE_DEVICE },
	[ACL_MEMCPY_INTER_DEVICE_TO_DEVICE] = { SIDE_DEVICE, SIDE_DEVICE },
};

static size_t task__span(const struct task *t, size_t pitch)
{
	return pitch * (t->height - 1) + t->width;
}

/* Is [addr, addr + size) what the kind says?  Sets *pageable if no range holds it. */
static bool side__ok(const void *addr, size_t size, enum side want, bool *pageable)
{
	struct range *r = range__find(addr, 1);

	if (!r) {
		*pageable = true;
		return want != SIDE_DEVICE;
	}
	if (!range__find(addr, size))
		return false;
	return want == SIDE_ANY || (want == SIDE_DEVICE) == (r->kind == RANGE_DEVICE);
}

/* Check the addresses of copy @t against @kind. */
static aclError copy__check(struct task *t, aclrtMemcpyKind kind)
{
	bool pageable = false;

	if ((unsigned int)kind >= sizeof(kinds) / sizeof(kinds[0]))
		return sim_error(ACL_ERROR_RT_PARAM_INVALID, "memcpy: kind %d", (int)kind);
	if (!side__ok(t->dst, task__span(t, t->dpitch), kinds[kind].dst, &pageable) ||
	    !side__ok(t->src, task__span(t, t->spitch), kinds[kind].src, &pageable))
		return sim_error(ACL_ERROR_RT_PARAM_INVALID,
				 "memcpy: kind %d does not fit dst=%p src=%p", (int)kind,
				 (void *)t->dst, (const void *)t->src);
	t->pinned = !pageable;
	return ACL_SUCCESS;
}

static struct task *copy__new(void *dst, const void *src, size_t count)
{
	struct task *t = sim_alloc(sizeof(*t));

	t->type = TASK_COPY;
	t->dst = dst;
	t->src = src;
	t->width = t->dpitch = t->spitch = count;
	t->height = 1;
	return t;
}

/* At submission: hold on to the memory that the task is about to use. */
void task__resolve(struct stream *s, struct task *t)
{
	const void *addrs[2] = { t->dst, t->type == TASK_COPY ? t->src : NULL };

	for (int i = 0; i < 2; i++) {
		struct range *r = addrs[i] ? range__find(addrs[i], 1) : NULL;

		if (!r)
			continue;
		if (r->kind == RANGE_DEVICE) {
			r->inflight++;
			t->dev[i] = r;
		} else {
			ref__add(r, &s->refs, t, i);
		}
	}
}

/* Without the lock: move the bytes. */
void task__move(struct task *t)
{
	switch (t->type) {
	case TASK_SET:
		memset(t->dst, (int)t->value, t->width);
		break;
	case TASK_VALUE:
		memcpy(t->dst, &t->value, sizeof(t->value));
		break;
	default:
		for (size_t i = 0; i < t->height; i++)
			memmove(t->dst + i * t->dpitch, t->src + i * t->spitch, t->width);
	}
}

/* Takes over @t; gives the lock back. */
static aclError copy__submit(struct task *t, aclrtMemcpyKind kind, aclrtStream stream)
{
	struct stream *s;
	bool wait;
	aclError rc;

	s = stream__get(stream, &rc);
	if (s)
		rc = copy__check(t, kind);
	if (rc) {
		free(t);
		return sim_unlock(rc);
	}
	wait = !t->pinned && !s->capture;
	s->users++;
	rc = stream__submit(s, t);
	if (!rc && wait)
		rc = stream__wait(s, s->submitted, SIM_NEVER);
	stream__put(s);
	return sim_unlock(rc);
}

static aclError copy__async(void *dst, size_t max, const void *src, size_t count,
			    aclrtMemcpyKind kind, aclrtStream stream)
{
	if (!dst || !src)
		return sim_error(ACL_ERROR_INVALID_PARAM, "memcpy async: null pointer");
	if (count > max)
		return sim_error(ACL_ERROR_RT_PARAM_INVALID, "memcpy async: %zu into %zu bytes",
				 count, max);
	if (!count)
		return ACL_SUCCESS;
	sim_lock();
	return copy__submit(copy__new(dst, src, count), kind, stream);
}

SIM_API(aclrtMemcpyAsync)
(void *dst, size_t destMax, const void *src, size_t count, aclrtMemcpyKind kind, aclrtStream stream)
{
	SIM_ENTER(aclrtMemcpyAsync);
	return copy__async(dst, destMax, src, count, kind, stream);
}

SIM_API(aclrtMemcpyAsyncWithCondition)
(void *dst, size_t destMax, const void *src, size_t count, aclrtMemcpyKind kind, aclrtStream stream)
{
	SIM_ENTER(aclrtMemcpyAsyncWithCondition);
	return copy__async(dst, destMax, src, count, kind, stream);
}

static struct task *copy__new_2d(void *dst, size_t dpitch, const void *src, size_t spitch,
				 size_t width, size_t height)
{
	struct task *t = copy__new(dst, src, width);

	t->dpitch = dpitch;
	t->spitch = spitch;
	t->height = height;
	return t;
}

SIM_API(aclrtMemcpy2dAsync)
(void *dst, size_t dpitch, const void *src, size_t spitch, size_t width, size_t height,
 aclrtMemcpyKind kind, aclrtStream stream)
{
	SIM_ENTER(aclrtMemcpy2dAsync);
	if (!dst || !src || width > dpitch || width > spitch)
		return sim_error(ACL_ERROR_INVALID_PARAM, "memcpy2d async: bad argument");
	if (!width || !height)
		return ACL_SUCCESS;
	sim_lock();
	return copy__submit(copy__new_2d(dst, dpitch, src, spitch, width, height), kind, stream);
}

/* The addresses stand in cells, here always in memory that the process can read. */
SIM_API(aclrtMemcpyAsyncWithOffset)
(void **dst, size_t destMax, size_t dstDataOffset, const void **src, size_t count,
 size_t srcDataOffset, aclrtMemcpyKind kind, aclrtStream stream)
{
	SIM_ENTER(aclrtMemcpyAsyncWithOffset);
	if (!dst || !src || !*dst || !*src)
		return sim_error(ACL_ERROR_INVALID_PARAM, "memcpy with offset: null pointer");
	return copy__async((char *)*dst + dstDataOffset, destMax,
			   (const char *)*src + srcDataOffset, count, kind, stream);
}

/* --- copies by descriptor --- */

SIM_API(aclrtGetMemcpyDescSize)(aclrtMemcpyKind kind, size_t *descSize)
{
	SIM_ENTER(aclrtGetMemcpyDescSize);
	(void)kind;
	if (!descSize)
		return sim_error(ACL_ERROR_INVALID_PARAM, "memcpy desc size: null pointer");
	*descSize = sizeof(struct desc);
	return ACL_SUCCESS;
}

/* Copies between @desc, which must be device memory, and @host. */
static aclError desc__access(void *desc, struct desc *host, bool write)
{
	struct range *r;

	sim_lock();
	r = desc ? range__find(desc, sizeof(*host)) : NULL;
	if (!r || r->kind != RANGE_DEVICE)
		return sim_unlock(sim_error(ACL_ERROR_RT_PARAM_INVALID, "memcpy desc=%p", desc));
	if (write)
		memcpy(desc, host, sizeof(*host));
	else
		memcpy(host, desc, sizeof(*host));
	return sim_unlock(ACL_SUCCESS);
}

SIM_API(aclrtSetMemcpyDesc)
(void *desc, aclrtMemcpyKind kind, void *srcAddr, void *dstAddr, size_t count, void *config)
{
	struct desc d = { DESC_MAGIC, dstAddr, srcAddr, count, kind };

	SIM_ENTER(aclrtSetMemcpyDesc);
	(void)config;
	if (!desc || !srcAddr || !dstAddr)
		return sim_error(ACL_ERROR_INVALID_PARAM, "set memcpy desc: null pointer");
	return desc__access(desc, &d, true);
}

SIM_API(aclrtMemcpyAsyncWithDesc)(void *desc, aclrtMemcpyKind kind, aclrtStream stream)
{
	struct desc d;
	aclError rc;

	SIM_ENTER(aclrtMemcpyAsyncWithDesc);
	rc = desc__access(desc, &d, false);
	if (rc)
		return rc;
	if (d.magic != DESC_MAGIC || d.kind != (uint64_t)kind)
		return sim_error(ACL_ERROR_RT_PARAM_INVALID, "memcpy desc=%p is not set", desc);
	return copy__async(d.dst, d.count, d.src, d.count, kind, stream);
}

/* --- batches --- */

struct batch {
	void **dsts;
	size_t *maxs;
	void **srcs;
	size_t *sizes;
	size_t n;
};

/* A batch is submitted whole or not at all; *fail names the first bad copy. */
static aclError batch__submit(const struct batch *b, size_t *fail, aclrtStream stream)
{
	struct stream *s;
	bool pageable = false;
	aclError rc;

	sim_lock();
	s = stream__get(stream, &rc);
	for (size_t i = 0; s && !rc && i < b->n; i++) {
		struct task t = {
			.dst = b->dsts[i], .src = b->srcs[i], .height = 1, .width = b->sizes[i]
		};

		*fail = i;
		if (!t.dst || !t.src || !t.width || t.width > b->maxs[i])
			rc = sim_error(ACL_ERROR_RT_PARAM_INVALID, "memcpy batch: copy %zu", i);
		else
			rc = copy__check(&t, ACL_MEMCPY_DEFAULT);
		pageable |= !t.pinned;
	}
	if (rc)
		return sim_unlock(rc);
	s->users++;
	for (size_t i = 0; !rc && i < b->n; i++)
		rc = stream__submit(s, copy__new(b->dsts[i], b->srcs[i], b->sizes[i]));
	if (!rc && pageable && !s->capture)
		rc = stream__wait(s, s->submitted, SIM_NEVER);
	stream__put(s);
	return sim_unlock(rc);
}

static bool batch__ok(const struct batch *b)
{
	return b->dsts && b->maxs && b->srcs && b->sizes && b->n;
}

SIM_API(aclrtMemcpyBatchAsync)
(void **dsts, size_t *destMaxs, void **srcs, size_t *sizes, size_t numBatches,
 aclrtMemcpyBatchAttr *attrs, size_t *attrsIndexes, size_t numAttrs, size_t *failIndex,
 aclrtStream stream)
{
	struct batch b = { dsts, destMaxs, srcs, sizes, numBatches };
	size_t fail = SIZE_MAX;
	aclError rc;

	SIM_ENTER(aclrtMemcpyBatchAsync);
	if (!batch__ok(&b) || !attrs || !attrsIndexes || !numAttrs || !failIndex)
		return sim_error(ACL_ERROR_INVALID_PARAM, "memcpy batch: bad argument");
	rc = batch__submit(&b, &fail, stream);
	*failIndex = rc ? fail : SIZE_MAX;
	return rc;
}

SIM_API(aclrtMemcpyBatchAsyncV2)
(void **dsts, size_t *destMaxs, void **srcs, size_t *sizes, size_t numBatches,
 aclrtMemcpyBatchAttr *attrs, size_t *attrsIndexes, size_t numAttrs, aclrtStream stream)
{
	struct batch b = { dsts, destMaxs, srcs, sizes, numBatches };
	size_t fail;

	SIM_ENTER(aclrtMemcpyBatchAsyncV2);
	if (!batch__ok(&b) || !attrs || !attrsIndexes || !numAttrs)
		return sim_error(ACL_ERROR_INVALID_PARAM, "memcpy batch: bad argument");
	return batch__submit(&b, &fail, stream);
}

/* --- synchronous ones, and setting memory --- */

/* Takes over @t and the lock. */
static aclError copy__now(struct task *t, aclrtMemcpyKind kind)
{
	struct ref_list none = { NULL, NULL };
	struct stream fake = { .refs = none };
	aclError rc;

	sim_lock();
	rc = copy__check(t, kind);
	if (rc) {
		free(t);
		return sim_unlock(rc);
	}
	task__resolve(&fake, t);
	sim_unlock(0);
	task__move(t);
	sim_lock();
	for (int i = 0; i < 2; i++) {
		if (t->refs[i])
			ref__drop(t->refs[i]);
	}
	task__free(t);
	return sim_unlock(ACL_SUCCESS);
}

SIM_API(aclrtMemcpy)(void *dst, size_t destMax, const void *src, size_t count, aclrtMemcpyKind kind)
{
	SIM_ENTER(aclrtMemcpy);
	if (!dst || !src)
		return sim_error(ACL_ERROR_INVALID_PARAM, "memcpy: null pointer");
	if (count > destMax)
		return sim_error(ACL_ERROR_RT_PARAM_INVALID, "memcpy: %zu into %zu bytes", count,
				 destMax);
	return count ? copy__now(copy__new(dst, src, count), kind) : ACL_SUCCESS;
}

SIM_API(aclrtMemcpy2d)
(void *dst, size_t dpitch, const void *src, size_t spitch, size_t width, size_t height,
 aclrtMemcpyKind kind)
{
	SIM_ENTER(aclrtMemcpy2d);
	if (!dst || !src || width > dpitch || width > spitch)
		return sim_error(ACL_ERROR_INVALID_PARAM, "memcpy2d: bad argument");
	if (!width || !height)
		return ACL_SUCCESS;
	return copy__now(copy__new_2d(dst, dpitch, src, spitch, width, height), kind);
}

static aclError set__check(const void *p, size_t max, size_t count)
{
	if (!p)
		return sim_error(ACL_ERROR_INVALID_PARAM, "memset: null pointer");
	if (count > max || !range__find(p, count))
		return sim_error(ACL_ERROR_RT_PARAM_INVALID, "memset: ptr=%p count=%zu", p, count);
	return ACL_SUCCESS;
}

SIM_API(aclrtMemset)(void *devPtr, size_t maxCount, int32_t value, size_t count)
{
	aclError rc;

	SIM_ENTER(aclrtMemset);
	sim_lock();
	rc = set__check(devPtr, maxCount, count);
	if (!rc)
		memset(devPtr, value, count);
	return sim_unlock(rc);
}

SIM_API(aclrtMemsetAsync)
(void *devPtr, size_t maxCount, int32_t value, size_t count, aclrtStream stream)
{
	struct stream *s;
	struct task *t;
	aclError rc;

	SIM_ENTER(aclrtMemsetAsync);
	sim_lock();
	rc = set__check(devPtr, maxCount, count);
	s = rc ? NULL : stream__get(stream, &rc);
	if (!s)
		return sim_unlock(rc);
	t = copy__new(devPtr, NULL, count);
	t->type = TASK_SET;
	t->value = (uint64_t)(uint32_t)value;
	t->pinned = true;
	return sim_unlock(stream__submit(s, t));
}
