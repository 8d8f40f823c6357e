/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Devices, contexts and the process of the simulated runtime.  aclrtSetDevice
 * counts, makes the device's primary context and makes that the thread's
 * current one; each context has a default stream, which NULL stands for.
 */
#include <stdlib.h>

#include "sim.h"

static unsigned int init_count;

static struct context *context__new(int32_t device, bool primary)
{
	struct context *ctx = sim_alloc(sizeof(*ctx));

	obj__add(&ctx->o, SIM_T_CONTEXT);
	ctx->device = device;
	ctx->primary = primary;
	ctx->stream = stream__new(ctx, true);
	return ctx;
}

/* The context may have been destroyed by another thread: the uid tells. */
struct context *context__current(aclError *rc)
{
	struct context *ctx = obj__by_uid(sim_ctx);

	*rc = ctx ? ACL_SUCCESS : sim_error(ACL_ERROR_RT_CONTEXT_NULL, "no current context");
	return ctx;
}

static bool device__ok(int32_t id)
{
	if (id >= 0 && id < sim_set.devices)
		return true;
	sim_error(ACL_ERROR_RT_INVALID_DEVICEID, "device %d", (int)id);
	return false;
}

/* Close every stream of @ctx. */
static void context__close(struct context *ctx, bool cut, bool reclaim)
{
	struct stream *s = sim.streams;
	uint64_t uid = ctx->o.uid;

	obj__del(&ctx->o);
	/* Closing lets go of the lock, so begin again after each. */
	while (s) {
		if (s->ctx == uid) {
			stream__close(s, cut, reclaim);
			s = sim.streams;
		} else {
			s = s->next;
		}
	}
	free(ctx);
}

/* Wait for everything that was submitted to the device by now and tell the host side. */
aclError sim_sync_device(int32_t device, uint64_t deadline)
{
	struct seen *goals;
	size_t n = 0, i = 0;
	aclError rc = ACL_SUCCESS;

	for (struct stream *s = sim.streams; s; s = s->next)
		n += s->device == device;
	goals = sim_alloc((n + 1) * sizeof(*goals));
	for (struct stream *s = sim.streams; s; s = s->next) {
		if (s->device == device)
			goals[i++] = (struct seen){ s->o.uid, s->submitted };
	}
	for (i = 0; !rc && i < n; i++) {
		struct stream *s = obj__by_uid(goals[i].stream);

		if (s)
			rc = stream__wait(s, goals[i].seq, deadline);
	}
	for (i = 0; !rc && i < n; i++)
		stream__reclaim(goals[i].stream, goals[i].seq);
	if (!rc)
		refs__reclaim(&sim.devices[device].orphans, UINT64_MAX);
	free(goals);
	return rc;
}

/* --- devices --- */

SIM_API(aclrtSetDevice)(int32_t deviceId)
{
	struct device *d;

	SIM_ENTER(aclrtSetDevice);
	if (!device__ok(deviceId))
		return ACL_ERROR_RT_INVALID_DEVICEID;
	sim_lock();
	d = &sim.devices[deviceId];
	d->users++;
	if (!d->primary)
		d->primary = context__new(deviceId, true);
	sim_ctx = d->primary->o.uid;
	return sim_unlock(ACL_SUCCESS);
}

static void device__down(int32_t id, bool cut)
{
	struct device *d = &sim.devices[id];
	struct context *ctx = d->primary;

	d->primary = NULL;
	if (ctx)
		context__close(ctx, cut, true);
	if (cut) {
		/* Contexts made by the program stay, but nothing of the device is owed. */
		for (struct stream *s = sim.streams; s; s = s->next) {
			if (s->device == id)
				refs__reclaim(&s->refs, s->done);
		}
	} else {
		sim_sync_device(id, SIM_NEVER);
	}
	refs__reclaim(&d->orphans, UINT64_MAX);
}

SIM_API(aclrtResetDevice)(int32_t deviceId)
{
	SIM_ENTER(aclrtResetDevice);
	if (!device__ok(deviceId))
		return ACL_ERROR_RT_INVALID_DEVICEID;
	sim_lock();
	if (!sim.devices[deviceId].users)
		return sim_unlock(sim_error(ACL_ERROR_RT_CONTEXT_NULL, "reset device: not set"));
	if (!--sim.devices[deviceId].users)
		device__down(deviceId, false);
	return sim_unlock(ACL_SUCCESS);
}

SIM_API(aclrtResetDeviceForce)(int32_t deviceId)
{
	SIM_ENTER(aclrtResetDeviceForce);
	if (!device__ok(deviceId))
		return ACL_ERROR_RT_INVALID_DEVICEID;
	sim_lock();
	sim.devices[deviceId].users = 0;
	device__down(deviceId, true);
	return sim_unlock(ACL_SUCCESS);
}

static aclError device__synchronize(uint64_t deadline)
{
	struct context *ctx;
	aclError rc;

	sim_lock();
	ctx = context__current(&rc);
	if (ctx)
		rc = sim_sync_device(ctx->device, deadline);
	return sim_unlock(rc);
}

SIM_API(aclrtSynchronizeDevice)(void)
{
	SIM_ENTER(aclrtSynchronizeDevice);
	return device__synchronize(SIM_NEVER);
}

SIM_API(aclrtSynchronizeDeviceWithTimeout)(int32_t timeout)
{
	SIM_ENTER(aclrtSynchronizeDeviceWithTimeout);
	if (timeout < -1)
		return ACL_ERROR_RT_PARAM_INVALID;
	return device__synchronize(sim_deadline(timeout));
}

SIM_API(aclrtGetDevice)(int32_t *deviceId)
{
	struct context *ctx;
	aclError rc;

	SIM_ENTER(aclrtGetDevice);
	if (!deviceId)
		return sim_error(ACL_ERROR_INVALID_PARAM, "get device: null pointer");
	sim_lock();
	ctx = context__current(&rc);
	if (ctx)
		*deviceId = ctx->device;
	return sim_unlock(rc);
}

SIM_API(aclrtGetDeviceCount)(uint32_t *count)
{
	SIM_ENTER(aclrtGetDeviceCount);
	if (!count)
		return sim_error(ACL_ERROR_INVALID_PARAM, "get device count: null pointer");
	*count = (uint32_t)sim_set.devices;
	return ACL_SUCCESS;
}

SIM_API(aclrtGetRunMode)(aclrtRunMode *runMode)
{
	SIM_ENTER(aclrtGetRunMode);
	if (!runMode)
		return sim_error(ACL_ERROR_INVALID_PARAM, "get run mode: null pointer");
	*runMode = ACL_HOST;
	return ACL_SUCCESS;
}

/* --- contexts --- */

SIM_API(aclrtCreateContext)(aclrtContext *context, int32_t deviceId)
{
	struct context *ctx;

	SIM_ENTER(aclrtCreateContext);
	if (!context)
		return sim_error(ACL_ERROR_INVALID_PARAM, "create context: null pointer");
	if (!device__ok(deviceId))
		return ACL_ERROR_RT_INVALID_DEVICEID;
	sim_lock();
	ctx = context__new(deviceId, false);
	sim_ctx = ctx->o.uid;
	*context = ctx;
	return sim_unlock(ACL_SUCCESS);
}

/* Waits for the context's streams; their references stay until they are due. */
SIM_API(aclrtDestroyContext)(aclrtContext context)
{
	struct context *ctx;

	SIM_ENTER(aclrtDestroyContext);
	sim_lock();
	ctx = context ? obj__get(context, SIM_T_CONTEXT) : NULL;
	if (!ctx || ctx->primary)
		return sim_unlock(sim_error(ACL_ERROR_RT_INVALID_HANDLE, "ctx=%p", context));
	context__close(ctx, false, false);
	return sim_unlock(ACL_SUCCESS);
}

SIM_API(aclrtSetCurrentContext)(aclrtContext context)
{
	struct context *ctx;

	SIM_ENTER(aclrtSetCurrentContext);
	sim_lock();
	ctx = context ? obj__get(context, SIM_T_CONTEXT) : NULL;
	if (!ctx)
		return sim_unlock(sim_error(ACL_ERROR_RT_INVALID_HANDLE, "ctx=%p", context));
	sim_ctx = ctx->o.uid;
	return sim_unlock(ACL_SUCCESS);
}

SIM_API(aclrtGetCurrentContext)(aclrtContext *context)
{
	struct context *ctx;
	aclError rc;

	SIM_ENTER(aclrtGetCurrentContext);
	if (!context)
		return sim_error(ACL_ERROR_INVALID_PARAM, "get context: null pointer");
	sim_lock();
	ctx = context__current(&rc);
	if (ctx)
		*context = ctx;
	return sim_unlock(rc);
}

/* --- the process --- */

SIM_API(aclInit)(const char *configPath)
{
	SIM_ENTER(aclInit);
	(void)configPath;
	sim_lock();
	init_count++;
	return sim_unlock(ACL_SUCCESS);
}

/* Settles nothing: what is queued runs on. */
SIM_API(aclFinalize)(void)
{
	SIM_ENTER(aclFinalize);
	sim_lock();
	init_count = 0;
	return sim_unlock(ACL_SUCCESS);
}

SIM_API(aclFinalizeReference)(uint64_t *refCount)
{
	SIM_ENTER(aclFinalizeReference);
	sim_lock();
	if (init_count)
		init_count--;
	if (refCount)
		*refCount = init_count;
	return sim_unlock(ACL_SUCCESS);
}
