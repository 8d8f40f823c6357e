/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Memory of the simulated runtime: page-locked host buffers, registered host
 * memory, device memory (a heap block that only the table makes a device's),
 * and the references that copies hold on host memory.
 */
#include <search.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sim.h"

#define DEVICE_ALIGN 512

/* Ranges in the tree never overlap, so "overlaps" may serve as "equal". */
static int range__cmp(const void *pa, const void *pb)
{
	const struct range *a = pa, *b = pb;

	if (a->base + a->size <= b->base)
		return -1;
	return a->base >= b->base + b->size;
}

static struct range *range__touching(const void *addr, size_t size)
{
	struct range key = { .base = (uintptr_t)addr, .size = size ? size : 1 };
	struct range **node = tfind(&key, &sim.ranges, range__cmp);

	return node ? *node : NULL;
}

/* The range that contains all of [addr, addr + size). */
struct range *range__find(const void *addr, size_t size)
{
	struct range *r = range__touching(addr, 1);

	return r && size <= r->size && (uintptr_t)addr - r->base <= r->size - size ? r : NULL;
}

static void range__del(struct range *r)
{
	tdelete(r, &sim.ranges, range__cmp);
}

/* The program gave registered memory back to the heap without a word: forget it. */
static void range__evict(struct range *r)
{
	while (r->refs && r->refs->done)
		ref__drop(r->refs);
	range__del(r);
	if (!r->refs)
		free(r);
}

static void range__add(void *addr, size_t size, enum range_kind kind)
{
	struct range *r = sim_alloc(sizeof(*r)), *stale;

	while ((stale = range__touching(addr, size)))
		range__evict(stale);
	r->kind = kind;
	r->base = (uintptr_t)addr;
	r->size = size;
	if (!tsearch(r, &sim.ranges, range__cmp))
		abort();
}

/* A task is done with device memory @r. */
void range__put(struct range *r)
{
	if (--r->inflight || !r->dead)
		return;
	free((void *)r->base);
	free(r);
}

/* --- references --- */

void ref__add(struct range *r, struct ref_list *list, struct task *t, int i)
{
	struct ref *ref = sim_alloc(sizeof(*ref));

	ref->seq = t->seq;
	ref->range = r;
	ref->range_next = r->refs;
	if (r->refs)
		r->refs->range_prev = ref;
	r->refs = ref;
	ref->list = list;
	ref->list_prev = list->tail;
	if (list->tail)
		list->tail->list_next = ref;
	else
		list->head = ref;
	list->tail = ref;
	t->refs[i] = ref;
}

void ref__drop(struct ref *ref)
{
	if (ref->range_prev)
		ref->range_prev->range_next = ref->range_next;
	else
		ref->range->refs = ref->range_next;
	if (ref->range_next)
		ref->range_next->range_prev = ref->range_prev;

	if (ref->list_prev)
		ref->list_prev->list_next = ref->list_next;
	else
		ref->list->head = ref->list_next;
	if (ref->list_next)
		ref->list_next->list_prev = ref->list_prev;
	else
		ref->list->tail = ref->list_prev;
	free(ref);
}

/* The host side is told of everything that the device has done up to @upto. */
void refs__reclaim(struct ref_list *list, uint64_t upto)
{
	while (list->head && list->head->done && list->head->seq <= upto)
		ref__drop(list->head);
}

/* The host side is told of what is due by now. */
void refs__expire(struct ref_list *list)
{
	uint64_t now = list->head ? sim_now() : 0;

	while (list->head && list->head->done && list->head->due <= now)
		ref__drop(list->head);
}

/* Of streams that go: their positions mean nothing any more. */
void refs__move(struct ref_list *from, struct ref_list *to)
{
	struct ref *ref;

	for (ref = from->head; ref; ref = ref->list_next) {
		ref->list = to;
		ref->seq = 0;
	}
	if (!from->head)
		return;
	from->head->list_prev = to->tail;
	if (to->tail)
		to->tail->list_next = from->head;
	else
		to->head = from->head;
	to->tail = from->tail;
	from->head = from->tail = NULL;
}

/* May the host memory @r go, or has the host side not been told of some copy yet? */
static bool range__busy(struct range *r)
{
	struct ref *ref, *next;
	uint64_t now = r->refs ? sim_now() : 0;

	for (ref = r->refs; ref; ref = next) {
		next = ref->range_next;
		if (ref->done && ref->due <= now)
			ref__drop(ref);
	}
	return r->refs != NULL;
}

/* --- page-locked host memory --- */

static aclError host__alloc(void **ptr, uint64_t size)
{
	void *p;

	if (!ptr || !size)
		return sim_error(ACL_ERROR_INVALID_PARAM, "malloc host memory: bad argument");
	if (size > SIZE_MAX / 2)
		return sim_error(ACL_ERROR_RT_MEMORY_ALLOCATION, "malloc host memory failed");
	sim_lock();
	p = arena__alloc(size);
	if (!p)
		return sim_unlock(
			sim_error(ACL_ERROR_RT_MEMORY_ALLOCATION, "malloc host memory failed"));
	range__add(p, size, RANGE_HOST);
	*ptr = p;
	return sim_unlock(ACL_SUCCESS);
}

SIM_API(aclrtMallocHost)(void **hostPtr, size_t size)
{
	SIM_ENTER(aclrtMallocHost);
	return host__alloc(hostPtr, size);
}

SIM_API(aclrtMallocHostWithCfg)(void **ptr, uint64_t size, aclrtMallocConfig *cfg)
{
	SIM_ENTER(aclrtMallocHostWithCfg);
	(void)cfg;
	return host__alloc(ptr, size);
}

/* Takes the lock itself. */
static aclError host__free(void *ptr)
{
	struct range *r;

	if (!ptr)
		return sim_error(ACL_ERROR_INVALID_PARAM, "free host memory: null pointer");
	sim_lock();
	r = range__touching(ptr, 1);
	if (!r || r->base != (uintptr_t)ptr || r->kind != RANGE_HOST)
		return sim_unlock(sim_error(ACL_ERROR_RT_PARAM_INVALID,
					    "free host memory failed, va=%p is not allocated",
					    ptr));
	if (range__busy(r))
		return sim_unlock(sim_error(ACL_ERROR_RT_DRV_INTERNAL_ERROR,
					    "[drv api] halMemFree failed: drvRetCode=17! "
					    "free host memory failed, va=%p size=%zu",
					    ptr, r->size));
	range__del(r);
	arena__free(ptr, r->size);
	free(r);
	return sim_unlock(ACL_SUCCESS);
}

SIM_API(aclrtFreeHost)(void *hostPtr)
{
	SIM_ENTER(aclrtFreeHost);
	return host__free(hostPtr);
}

SIM_API(aclrtFreeHostWithDevSync)(void *hostPtr)
{
	struct context *ctx;
	aclError rc;

	SIM_ENTER(aclrtFreeHostWithDevSync);
	sim_lock();
	ctx = context__current(&rc);
	if (ctx)
		rc = sim_sync_device(ctx->device, SIM_NEVER);
	sim_unlock(0);
	return rc ? rc : host__free(hostPtr);
}

/* --- registered host memory --- */

static aclError host__register(void *ptr, uint64_t size)
{
	struct range *r;

	if (!ptr || !size)
		return sim_error(ACL_ERROR_INVALID_PARAM, "register host memory: bad argument");
	if ((uintptr_t)ptr % (uintptr_t)sysconf(_SC_PAGESIZE))
		return sim_error(ACL_ERROR_RT_DRV_INTERNAL_ERROR,
				 "register host memory failed, va=%p is not page aligned", ptr);
	sim_lock();
	r = range__find(ptr, size);
	if (r && r->kind == RANGE_HOST) {
		r->registered++;
		return sim_unlock(ACL_SUCCESS);
	}
	if (range__touching(ptr, size))
		return sim_unlock(sim_error(ACL_ERROR_RT_PARAM_INVALID,
					    "register host memory failed, va=%p is known", ptr));
	range__add(ptr, size, RANGE_REGISTERED);
	return sim_unlock(ACL_SUCCESS);
}

SIM_API(aclrtHostRegister)(void *ptr, uint64_t size, aclrtHostRegisterType type, void **devPtr)
{
	aclError rc;

	SIM_ENTER(aclrtHostRegister);
	(void)type;
	if (!devPtr)
		return sim_error(ACL_ERROR_INVALID_PARAM, "register host memory: bad argument");
	rc = host__register(ptr, size);
	if (!rc)
		*devPtr = ptr;
	return rc;
}

SIM_API(aclrtHostRegisterV2)(void *ptr, uint64_t size, uint32_t flag)
{
	SIM_ENTER(aclrtHostRegisterV2);
	(void)flag;
	return host__register(ptr, size);
}

SIM_API(aclrtHostUnregister)(void *ptr)
{
	struct range *r;

	SIM_ENTER(aclrtHostUnregister);
	sim_lock();
	r = ptr ? range__touching(ptr, 1) : NULL;
	if (r && r->kind == RANGE_HOST && r->registered) {
		r->registered--;
		return sim_unlock(ACL_SUCCESS);
	}
	if (!r || r->kind != RANGE_REGISTERED || r->base != (uintptr_t)ptr)
		return sim_unlock(sim_error(ACL_ERROR_RT_PARAM_INVALID,
					    "unregister host memory failed, va=%p", ptr));
	if (range__busy(r))
		return sim_unlock(sim_error(ACL_ERROR_RT_DRV_INTERNAL_ERROR,
					    "unregister host memory failed, va=%p is in use", ptr));
	range__del(r);
	free(r);
	return sim_unlock(ACL_SUCCESS);
}

SIM_API(aclrtHostGetDevicePointer)(void *pHost, void **pDevice, uint32_t flag)
{
	struct range *r;

	SIM_ENTER(aclrtHostGetDevicePointer);
	(void)flag;
	if (!pHost || !pDevice)
		return sim_error(ACL_ERROR_INVALID_PARAM, "get device pointer: bad argument");
	sim_lock();
	r = range__find(pHost, 1);
	if (!r || r->kind == RANGE_DEVICE || (r->kind == RANGE_HOST && !r->registered))
		return sim_unlock(ACL_ERROR_RT_PARAM_INVALID);
	*pDevice = pHost;
	return sim_unlock(ACL_SUCCESS);
}

/* --- device memory --- */

SIM_API(aclrtMalloc)(void **devPtr, size_t size, aclrtMemMallocPolicy policy)
{
	struct context *ctx;
	aclError rc;
	void *p;

	SIM_ENTER(aclrtMalloc);
	(void)policy;
	if (!devPtr || !size)
		return sim_error(ACL_ERROR_INVALID_PARAM, "malloc device memory: bad argument");
	if (size > SIZE_MAX / 2)
		return ACL_ERROR_RT_MEMORY_ALLOCATION;
	p = aligned_alloc(DEVICE_ALIGN, (size + DEVICE_ALIGN - 1) & ~(size_t)(DEVICE_ALIGN - 1));
	if (!p)
		return ACL_ERROR_RT_MEMORY_ALLOCATION;
	sim_lock();
	ctx = context__current(&rc);
	if (!ctx) {
		free(p);
		return sim_unlock(rc);
	}
	range__add(p, size, RANGE_DEVICE);
	*devPtr = p;
	return sim_unlock(ACL_SUCCESS);
}

SIM_API(aclrtFree)(void *devPtr)
{
	struct range *r;

	SIM_ENTER(aclrtFree);
	if (!devPtr)
		return sim_error(ACL_ERROR_INVALID_PARAM, "free device memory: null pointer");
	sim_lock();
	r = range__touching(devPtr, 1);
	if (!r || r->base != (uintptr_t)devPtr || r->kind != RANGE_DEVICE)
		return sim_unlock(sim_error(ACL_ERROR_RT_PARAM_INVALID,
					    "free device memory failed, va=%p", devPtr));
	range__del(r);
	/* Tasks may still run: the memory goes with the last of them. */
	r->dead = true;
	r->inflight++;
	range__put(r);
	return sim_unlock(ACL_SUCCESS);
}
