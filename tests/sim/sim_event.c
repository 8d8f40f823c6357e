/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Events of the simulated runtime.  A record is a point in a stream's queue; an
 * event points to its latest one.  Where an event was ever seen complete it
 * remembers, per stream, how far: that is what its destruction reclaims.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sim.h"

#define IPC_MAGIC 0x5450435645435049ULL

/* What stands in an exported handle.  Only the same process can open it. */
struct ipc {
	uint64_t magic;
	uint64_t pid;
	uint64_t core;
};

void record__put(struct record *rec)
{
	if (!--rec->users)
		free(rec);
}

void core__put(struct event_core *core)
{
	if (--core->users)
		return;
	uid__del(core->uid);
	if (core->rec)
		record__put(core->rec);
	free(core->seen);
	free(core);
}

static void core__unrecord(struct event_core *core)
{
	if (core->rec)
		record__put(core->rec);
	core->rec = NULL;
	core->captured = false;
}

/* The current record was seen complete. */
static void core__note(struct event_core *core)
{
	struct record *rec = core->rec;
	size_t n = 0;

	if (rec->noted)
		return;
	rec->noted = true;
	/* Streams that are gone have nothing left to reclaim: forget them. */
	for (size_t i = 0; i < core->nseen; i++) {
		if (core->seen[i].stream != rec->stream && obj__by_uid(core->seen[i].stream))
			core->seen[n++] = core->seen[i];
	}
	core->seen = realloc(core->seen, (n + 1) * sizeof(*core->seen));
	if (!core->seen)
		abort();
	core->seen[n] = (struct seen){ rec->stream, rec->seq };
	core->nseen = n + 1;
}

static struct event *event__get(aclrtEvent handle, aclError *rc)
{
	struct event *e = handle ? obj__get(handle, SIM_T_EVENT) : NULL;

	if (e)
		*rc = ACL_SUCCESS;
	else if (!handle)
		*rc = sim_error(ACL_ERROR_INVALID_PARAM, "event: null pointer");
	else
		*rc = sim_error(ACL_ERROR_RT_INVALID_HANDLE, "event=%p", handle);
	return e;
}

static aclrtEvent event__new(struct event_core *core)
{
	struct event *e = sim_alloc(sizeof(*e));

	obj__add(&e->o, SIM_T_EVENT);
	e->core = core;
	core->users++;
	return e;
}

static aclError event__create(aclrtEvent *event, uint32_t flags, bool ex)
{
	struct event_core *core;

	if (!event)
		return sim_error(ACL_ERROR_INVALID_PARAM, "create event: null pointer");
	core = sim_alloc(sizeof(*core));
	core->flags = flags;
	core->ex = ex;
	sim_lock();
	core->uid = sim.next_uid++;
	uid__add(core->uid, core);
	*event = event__new(core);
	return sim_unlock(ACL_SUCCESS);
}

SIM_API(aclrtCreateEvent)(aclrtEvent *event)
{
	SIM_ENTER(aclrtCreateEvent);
	return event__create(event, ACL_EVENT_SYNC | ACL_EVENT_TIME_LINE, false);
}

SIM_API(aclrtCreateEventWithFlag)(aclrtEvent *event, uint32_t flag)
{
	SIM_ENTER(aclrtCreateEventWithFlag);
	return event__create(event, flag, false);
}

SIM_API(aclrtCreateEventExWithFlag)(aclrtEvent *event, uint32_t flag)
{
	SIM_ENTER(aclrtCreateEventExWithFlag);
	return event__create(event, flag, true);
}

/* Never waits: a record that is still queued keeps what it needs. */
SIM_API(aclrtDestroyEvent)(aclrtEvent event)
{
	struct event_core *core;
	struct event *e;
	aclError rc;

	SIM_ENTER(aclrtDestroyEvent);
	sim_lock();
	e = event__get(event, &rc);
	if (!e)
		return sim_unlock(rc);
	core = e->core;
	if (sim_set.destroy_reclaim) {
		for (size_t i = 0; i < core->nseen; i++)
			stream__reclaim(core->seen[i].stream, core->seen[i].seq);
		if (core->rec && core->rec->done)
			stream__reclaim(core->rec->stream, core->rec->seq);
	}
	obj__del(&e->o);
	core__put(core);
	free(e);
	return sim_unlock(ACL_SUCCESS);
}

/* --- recording and waiting on a stream --- */

static aclError event__record(aclrtEvent event, aclrtStream stream)
{
	struct stream *s = NULL;
	struct record *rec;
	struct event *e;
	struct task *t;
	aclError rc;

	sim_lock();
	e = event__get(event, &rc);
	if (e)
		s = stream__get(stream, &rc);
	if (!s)
		return sim_unlock(rc);
	core__unrecord(e->core);
	if (s->capture) {
		e->core->captured = true;
		e->core->capture = s->capture->o.uid;
		return sim_unlock(ACL_SUCCESS);
	}
	rec = sim_alloc(sizeof(*rec));
	rec->users = 2;
	e->core->rec = rec;
	t = sim_alloc(sizeof(*t));
	t->type = TASK_RECORD;
	t->rec = rec;
	return sim_unlock(stream__submit(s, t));
}

SIM_API(aclrtRecordEvent)(aclrtEvent event, aclrtStream stream)
{
	SIM_ENTER(aclrtRecordEvent);
	return event__record(event, stream);
}

SIM_API(aclrtRecordEventWithFlag)(aclrtEvent event, aclrtStream stream, uint32_t flag)
{
	SIM_ENTER(aclrtRecordEventWithFlag);
	(void)flag;
	return event__record(event, stream);
}

SIM_API(aclrtResetEvent)(aclrtEvent event, aclrtStream stream)
{
	struct stream *s = NULL;
	struct event *e;
	struct task *t;
	aclError rc;

	SIM_ENTER(aclrtResetEvent);
	sim_lock();
	e = event__get(event, &rc);
	if (e)
		s = stream__get(stream, &rc);
	if (!s)
		return sim_unlock(rc);
	if (e->core->ex)
		return sim_unlock(sim_error(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "reset event"));
	core__unrecord(e->core);
	t = sim_alloc(sizeof(*t));
	t->type = TASK_NOP;
	return sim_unlock(stream__submit(s, t));
}

static aclError event__wait(aclrtStream stream, aclrtEvent event, uint64_t timeout_ms)
{
	struct stream *s = NULL;
	struct model *m;
	struct event *e;
	struct task *t;
	aclError rc;

	sim_lock();
	e = event__get(event, &rc);
	if (e)
		s = stream__get(stream, &rc);
	if (!s)
		return sim_unlock(rc);
	if (e->core->captured) {
		/* Whoever waits for something in a capture joins the capture. */
		m = obj__by_uid(e->core->capture);
		if (!m || !m->open || (s->capture && s->capture != m))
			return sim_unlock(ACL_ERROR_RT_EVENT_CAPTURED);
		s->capture = m;
		return sim_unlock(ACL_SUCCESS);
	}
	/* What was never recorded, or stands outside the capture, holds up nothing. */
	if (!e->core->rec || s->capture)
		return sim_unlock(ACL_SUCCESS);
	t = sim_alloc(sizeof(*t));
	t->type = TASK_WAIT;
	t->timeout_ms = timeout_ms;
	t->rec = e->core->rec;
	t->rec->users++;
	t->core = e->core;
	t->core->users++;
	t->core->waits++;
	return sim_unlock(stream__submit(s, t));
}

SIM_API(aclrtStreamWaitEvent)(aclrtStream stream, aclrtEvent event)
{
	SIM_ENTER(aclrtStreamWaitEvent);
	return event__wait(stream, event, 0);
}

SIM_API(aclrtStreamWaitEventWithTimeout)(aclrtStream stream, aclrtEvent event, int32_t timeout)
{
	SIM_ENTER(aclrtStreamWaitEventWithTimeout);
	if (timeout < 0)
		return ACL_ERROR_RT_PARAM_INVALID;
	return event__wait(stream, event, (uint64_t)timeout);
}

SIM_API(aclrtStreamWaitEventWithFlag)
(aclrtStream stream, aclrtEvent event, uint32_t timeout, uint32_t flag)
{
	SIM_ENTER(aclrtStreamWaitEventWithFlag);
	(void)flag;
	return event__wait(stream, event, timeout);
}

/* --- asking --- */

/* Reads the device side only; on TIME_LINE events newer runtimes reclaim here. */
SIM_API(aclrtQueryEventStatus)(aclrtEvent event, aclrtEventRecordedStatus *status)
{
	struct event_core *core;
	struct event *e;
	aclError rc;

	SIM_ENTER(aclrtQueryEventStatus);
	if (!status)
		return sim_error(ACL_ERROR_INVALID_PARAM, "query event: null pointer");
	sim_lock();
	e = event__get(event, &rc);
	if (!e)
		return sim_unlock(rc);
	core = e->core;
	if (core->captured)
		return sim_unlock(ACL_ERROR_RT_EVENT_CAPTURED);
	*status = ACL_EVENT_RECORDED_STATUS_NOT_READY;
	if (!core->rec) {
		/* Documented: complete before the first record, for these events only. */
		if (core->ex)
			*status = ACL_EVENT_RECORDED_STATUS_COMPLETE;
	} else if (core->rec->done) {
		*status = ACL_EVENT_RECORDED_STATUS_COMPLETE;
		core__note(core);
		if (sim_set.timeline_reclaim && core->flags & ACL_EVENT_TIME_LINE)
			stream__reclaim(core->rec->stream, core->rec->seq);
	}
	return sim_unlock(ACL_SUCCESS);
}

/* The old call: it tells the host side, too. */
SIM_API(aclrtQueryEvent)(aclrtEvent event, aclrtEventStatus *status)
{
	struct event *e;
	aclError rc;

	SIM_ENTER(aclrtQueryEvent);
	if (!status)
		return sim_error(ACL_ERROR_INVALID_PARAM, "query event: null pointer");
	sim_lock();
	e = event__get(event, &rc);
	if (!e)
		return sim_unlock(rc);
	if (e->core->ex)
		return sim_unlock(sim_error(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "query event"));
	if (e->core->captured)
		return sim_unlock(ACL_ERROR_RT_EVENT_CAPTURED);
	*status = ACL_EVENT_STATUS_NOT_READY;
	if (e->core->rec && e->core->rec->done) {
		*status = ACL_EVENT_STATUS_COMPLETE;
		core__note(e->core);
		stream__reclaim(e->core->rec->stream, e->core->rec->seq);
	}
	return sim_unlock(ACL_SUCCESS);
}

SIM_API(aclrtQueryEventWaitStatus)(aclrtEvent event, aclrtEventWaitStatus *status)
{
	struct event *e;
	aclError rc;

	SIM_ENTER(aclrtQueryEventWaitStatus);
	if (!status)
		return sim_error(ACL_ERROR_INVALID_PARAM, "query event wait: null pointer");
	sim_lock();
	e = event__get(event, &rc);
	if (!e)
		return sim_unlock(rc);
	if (e->core->ex)
		return sim_unlock(sim_error(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "query wait"));
	*status = e->core->waits ? ACL_EVENT_WAIT_STATUS_NOT_READY : ACL_EVENT_WAIT_STATUS_COMPLETE;
	return sim_unlock(ACL_SUCCESS);
}

/* Waits for the device; the host side is not told unless so set. */
static aclError event__synchronize(aclrtEvent event, uint64_t deadline)
{
	struct event_core *core;
	struct record *rec;
	struct event *e;
	aclError rc;

	sim_lock();
	e = event__get(event, &rc);
	if (!e)
		return sim_unlock(rc);
	core = e->core;
	rec = core->rec;
	if (core->captured)
		return sim_unlock(ACL_ERROR_RT_EVENT_CAPTURED);
	if (!rec)
		return sim_unlock(ACL_SUCCESS);
	rec->users++;
	core->users++;
	while (!rec->done) {
		if (!sim_wait(&sim_done, deadline) && !rec->done) {
			rc = sim_error(ACL_ERROR_RT_EVENT_SYNC_TIMEOUT, "event=%p", event);
			break;
		}
	}
	if (!rc && core->rec == rec)
		core__note(core);
	if (!rc && sim_set.eventsync_reclaim)
		stream__reclaim(rec->stream, rec->seq);
	record__put(rec);
	core__put(core);
	return sim_unlock(rc);
}

SIM_API(aclrtSynchronizeEvent)(aclrtEvent event)
{
	SIM_ENTER(aclrtSynchronizeEvent);
	return event__synchronize(event, SIM_NEVER);
}

SIM_API(aclrtSynchronizeEventWithTimeout)(aclrtEvent event, int32_t timeout)
{
	SIM_ENTER(aclrtSynchronizeEventWithTimeout);
	if (timeout < -1)
		return ACL_ERROR_RT_PARAM_INVALID;
	return event__synchronize(event, sim_deadline(timeout));
}

/* When the event's record was done, in CLOCK_MONOTONIC ns. */
static aclError event__when(aclrtEvent event, uint64_t *ns)
{
	struct event *e;
	aclError rc;

	e = event__get(event, &rc);
	if (!e)
		return rc;
	if (!e->core->rec || !e->core->rec->done)
		return sim_error(ACL_ERROR_RT_EVENT_TIMESTAMP_INVALID, "event=%p", event);
	*ns = e->core->rec->when_ns;
	return ACL_SUCCESS;
}

SIM_API(aclrtEventElapsedTime)(float *ms, aclrtEvent startEvent, aclrtEvent endEvent)
{
	uint64_t from, to;
	aclError rc;

	SIM_ENTER(aclrtEventElapsedTime);
	if (!ms)
		return sim_error(ACL_ERROR_INVALID_PARAM, "elapsed time: null pointer");
	sim_lock();
	rc = event__when(startEvent, &from);
	if (!rc)
		rc = event__when(endEvent, &to);
	if (!rc)
		*ms = (float)((double)(int64_t)(to - from) / 1e6);
	return sim_unlock(rc);
}

SIM_API(aclrtEventGetTimestamp)(aclrtEvent event, uint64_t *timestamp)
{
	uint64_t ns;
	aclError rc;

	SIM_ENTER(aclrtEventGetTimestamp);
	if (!timestamp)
		return sim_error(ACL_ERROR_INVALID_PARAM, "event timestamp: null pointer");
	sim_lock();
	rc = event__when(event, &ns);
	if (!rc)
		*timestamp = ns / 1000;
	return sim_unlock(rc);
}

/* --- events of other processes --- */

SIM_API(aclrtIpcGetEventHandle)(aclrtEvent event, aclrtIpcEventHandle *handle)
{
	struct ipc ipc = { .magic = IPC_MAGIC, .pid = (uint64_t)getpid() };
	struct event *e;
	aclError rc;

	SIM_ENTER(aclrtIpcGetEventHandle);
	if (!handle)
		return sim_error(ACL_ERROR_INVALID_PARAM, "ipc event: null pointer");
	sim_lock();
	e = event__get(event, &rc);
	if (!e)
		return sim_unlock(rc);
	ipc.core = e->core->uid;
	memset(handle, 0, sizeof(*handle));
	memcpy(handle, &ipc, sizeof(ipc));
	return sim_unlock(ACL_SUCCESS);
}

SIM_API(aclrtIpcOpenEventHandle)(aclrtIpcEventHandle handle, aclrtEvent *event)
{
	struct event_core *core;
	struct ipc ipc;

	SIM_ENTER(aclrtIpcOpenEventHandle);
	if (!event)
		return sim_error(ACL_ERROR_INVALID_PARAM, "ipc event: null pointer");
	memcpy(&ipc, &handle, sizeof(ipc));
	if (ipc.magic != IPC_MAGIC || ipc.pid != (uint64_t)getpid())
		return sim_error(ACL_ERROR_RT_PARAM_INVALID, "ipc event: unknown handle");
	sim_lock();
	core = obj__by_uid(ipc.core);
	if (!core)
		return sim_unlock(sim_error(ACL_ERROR_RT_PARAM_INVALID, "ipc event: destroyed"));
	*event = event__new(core);
	return sim_unlock(ACL_SUCCESS);
}
