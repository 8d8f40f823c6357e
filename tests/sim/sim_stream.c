/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Streams of the simulated runtime: a thread and a queue each.  `submitted` and
 * `done` are positions in the queue; what is between them is with the device.
 */
#include <limits.h>
#include <stdlib.h>

#include "sim.h"

/* Shorter device times are spun away: a timed wait would take longer. */
#define SPIN_NS 100000

void stream__put(struct stream *s)
{
	if (--s->users)
		return;
	pthread_cond_destroy(&s->work);
	free(s);
}

struct stream *stream__new(struct context *ctx, bool is_default)
{
	struct stream *s = sim_alloc(sizeof(*s));

	obj__add(&s->o, SIM_T_STREAM);
	s->users = 1;
	s->id = sim.next_stream_id++;
	s->device = ctx->device;
	s->ctx = ctx->o.uid;
	s->is_default = is_default;
	s->tail = &s->head;
	sim_cond_init(&s->work);
	s->next = sim.streams;
	s->pprev = &sim.streams;
	if (s->next)
		s->next->pprev = &s->next;
	sim.streams = s;
	return s;
}

/* The stream that @handle means to the calling thread. */
struct stream *stream__get(aclrtStream handle, aclError *rc)
{
	struct context *ctx;
	struct stream *s;

	if (!handle) {
		ctx = context__current(rc);
		return ctx ? ctx->stream : NULL;
	}
	s = obj__get(handle, SIM_T_STREAM);
	*rc = s ? ACL_SUCCESS : sim_error(ACL_ERROR_RT_INVALID_HANDLE, "stream=%p", handle);
	return s;
}

/* --- the device side: what the thread of a stream does --- */

/* Let the device time of one task pass. */
static void stream__spend(struct stream *s)
{
	uint64_t ns = sim_jitter(sim_set.device_ns), end = sim_now() + ns;

	if (ns >= SPIN_NS) {
		while (!s->cut && sim_wait(&s->work, end))
			;
		return;
	}
	sim_unlock(0);
	while (sim_now() < end)
		;
	sim_lock();
}

static uint64_t task__deadline(const struct task *t)
{
	return t->timeout_ms ? sim_now() + t->timeout_ms * 1000000 : SIM_NEVER;
}

static void task__await_record(struct stream *s, struct task *t)
{
	uint64_t deadline = task__deadline(t);

	while (!t->rec->done && !s->cut) {
		if (!sim_wait(&sim_done, deadline)) {
			s->error = ACL_ERROR_RT_TASK_TIMEOUT;
			return;
		}
	}
}

static void task__await_notify(struct stream *s, struct task *t)
{
	uint64_t deadline = task__deadline(t);

	while (!notify__try(t) && !s->cut) {
		if (!sim_wait(&sim_done, deadline)) {
			s->error = ACL_ERROR_RT_TASK_TIMEOUT;
			return;
		}
	}
}

static void task__execute(struct stream *s, struct task *t)
{
	if (s->cut)
		return;
	switch (t->type) {
	case TASK_COPY:
	case TASK_SET:
	case TASK_VALUE:
		stream__spend(s);
		if (s->cut)
			return;
		sim_unlock(0);
		task__move(t);
		sim_lock();
		break;
	case TASK_WAIT:
		task__await_record(s, t);
		break;
	case TASK_NOTIFY:
	case TASK_CNT_RECORD:
		notify__apply(t);
		break;
	case TASK_NOTIFY_WAIT:
	case TASK_CNT_WAIT:
		task__await_notify(s, t);
		break;
	case TASK_HOST_FUNC:
		sim_unlock(0);
		t->fn(t->arg);
		sim_lock();
		break;
	case TASK_CALLBACK:
		callback__run(s, t);
		break;
	case TASK_NOP:
	case TASK_RECORD:
		break;
	}
}

/* Drop what a task holds that is of the device side. */
void task__free(struct task *t)
{
	for (int i = 0; i < 2; i++) {
		if (t->dev[i])
			range__put(t->dev[i]);
	}
	if (t->rec)
		record__put(t->rec);
	if (t->core)
		core__put(t->core);
	if (t->notify)
		notify__put(t->notify);
	free(t);
}

/* The device has done @t; the host side hears of its references a lag later. */
static void task__complete(struct stream *s, struct task *t)
{
	uint64_t lag = sim_jitter(sim_set.lag_ns);
	uint64_t due = lag == SIM_NEVER ? SIM_NEVER : sim_now() + lag;

	if (due < s->last_due)
		due = s->last_due;
	s->last_due = due;
	for (int i = 0; i < 2; i++) {
		if (!t->refs[i])
			continue;
		t->refs[i]->done = true;
		t->refs[i]->due = due;
	}
	if (sim_set.lag_ns == 0)
		refs__reclaim(&s->refs, t->seq);
	else
		refs__expire(&s->refs);
	if (t->type == TASK_RECORD) {
		t->rec->done = true;
		t->rec->when_ns = sim_now();
	} else if (t->type == TASK_WAIT) {
		t->core->waits--;
	}
	s->done = t->seq;
	s->queued--;
	task__free(t);
	pthread_cond_broadcast(&sim_done);
}

static void *stream__run(void *arg)
{
	struct stream *s = arg;
	struct task *t;

	sim_lock();
	for (;;) {
		while (!s->head && !s->quit)
			sim_wait(&s->work, SIM_NEVER);
		t = s->head;
		if (!t)
			break;
		s->head = t->next;
		if (!s->head)
			s->tail = &s->head;
		task__execute(s, t);
		task__complete(s, t);
	}
	stream__put(s);
	sim_unlock(0);
	return NULL;
}

/* --- the host side --- */

static aclError stream__start(struct stream *s)
{
	if (s->started)
		return ACL_SUCCESS;
	if (pthread_create(&s->thread, NULL, stream__run, s))
		return sim_error(ACL_ERROR_RT_NO_STREAM_RESOURCE, "no thread for stream %d", s->id);
	s->started = true;
	s->users++;
	return ACL_SUCCESS;
}

/* Takes over @t.  In a capture it becomes part of the model and is not executed. */
aclError stream__submit(struct stream *s, struct task *t)
{
	aclError rc;

	if (s->capture) {
		capture__add(s->capture, t);
		return ACL_SUCCESS;
	}
	rc = stream__start(s);
	s->users++;
	while (!rc && s->queued >= SIM_QUEUE_DEPTH && !s->quit)
		sim_wait(&sim_done, SIM_NEVER);
	if (!rc && s->quit)
		rc = ACL_ERROR_RT_INVALID_HANDLE;
	if (rc) {
		task__free(t);
		stream__put(s);
		return rc;
	}
	t->seq = ++s->submitted;
	if (t->type == TASK_RECORD) {
		t->rec->stream = s->o.uid;
		t->rec->seq = t->seq;
	}
	task__resolve(s, t);
	t->next = NULL;
	*s->tail = t;
	s->tail = &t->next;
	s->queued++;
	pthread_cond_signal(&s->work);
	stream__put(s);
	return ACL_SUCCESS;
}

/* Wait until the device has done all up to @seq. */
aclError stream__wait(struct stream *s, uint64_t seq, uint64_t deadline)
{
	aclError rc = ACL_SUCCESS;

	s->users++;
	while (s->done < seq) {
		if (!sim_wait(&sim_done, deadline) && s->done < seq) {
			rc = sim_error(ACL_ERROR_RT_STREAM_SYNC_TIMEOUT, "stream %d", s->id);
			break;
		}
	}
	stream__put(s);
	return rc;
}

/* @uid may be that of a stream long gone: then there is nothing left to tell. */
void stream__reclaim(uint64_t uid, uint64_t upto)
{
	struct stream *s = obj__by_uid(uid);

	if (s)
		refs__reclaim(&s->refs, upto);
}

/*
 * End a stream.  @cut: what is queued is thrown away, else it is waited for.
 * @reclaim: the host side is told, else the references stay with the device
 * until they are due.
 */
void stream__close(struct stream *s, bool cut, bool reclaim)
{
	pthread_t thread = s->thread;
	bool started = s->started;

	obj__del(&s->o);
	*s->pprev = s->next;
	if (s->next)
		s->next->pprev = s->pprev;
	s->cut = cut;
	s->quit = true;
	s->capture = NULL;
	pthread_cond_broadcast(&s->work);
	pthread_cond_broadcast(&sim_done);
	if (started) {
		sim_unlock(0);
		pthread_join(thread, NULL);
		sim_lock();
	}
	if (reclaim)
		refs__reclaim(&s->refs, UINT64_MAX);
	refs__move(&s->refs, &sim.devices[s->device].orphans);
	stream__put(s);
}

/* --- calls --- */

static aclError stream__create(aclrtStream *stream)
{
	struct context *ctx;
	aclError rc;

	if (!stream)
		return sim_error(ACL_ERROR_INVALID_PARAM, "create stream: null pointer");
	sim_lock();
	ctx = context__current(&rc);
	if (ctx)
		*stream = stream__new(ctx, false);
	return sim_unlock(rc);
}

SIM_API(aclrtCreateStream)(aclrtStream *stream)
{
	SIM_ENTER(aclrtCreateStream);
	return stream__create(stream);
}

SIM_API(aclrtCreateStreamV2)(aclrtStream *stream, const aclrtStreamConfigHandle *handle)
{
	SIM_ENTER(aclrtCreateStreamV2);
	(void)handle;
	return stream__create(stream);
}

SIM_API(aclrtCreateStreamWithConfig)(aclrtStream *stream, uint32_t priority, uint32_t flag)
{
	SIM_ENTER(aclrtCreateStreamWithConfig);
	(void)priority;
	(void)flag;
	return stream__create(stream);
}

static aclError stream__destroy(aclrtStream stream, bool force)
{
	struct stream *s;

	if (!stream)
		return sim_error(ACL_ERROR_INVALID_PARAM, "destroy stream: null pointer");
	sim_lock();
	s = obj__get(stream, SIM_T_STREAM);
	if (!s || s->is_default)
		return sim_unlock(sim_error(ACL_ERROR_RT_INVALID_HANDLE, "stream=%p", stream));
	if (s->capture)
		return sim_unlock(sim_error(ACL_ERROR_RT_STREAM_CAPTURED, "stream=%p", stream));
	stream__close(s, force, !force);
	return sim_unlock(ACL_SUCCESS);
}

SIM_API(aclrtDestroyStream)(aclrtStream stream)
{
	SIM_ENTER(aclrtDestroyStream);
	return stream__destroy(stream, false);
}

SIM_API(aclrtDestroyStreamForce)(aclrtStream stream)
{
	SIM_ENTER(aclrtDestroyStreamForce);
	return stream__destroy(stream, true);
}

static aclError stream__synchronize(aclrtStream stream, uint64_t deadline)
{
	struct stream *s;
	uint64_t seq;
	aclError rc;

	sim_lock();
	s = stream__get(stream, &rc);
	if (!s)
		return sim_unlock(rc);
	if (s->capture)
		return sim_unlock(ACL_ERROR_RT_STREAM_CAPTURED);
	seq = s->submitted;
	s->users++;
	rc = stream__wait(s, seq, deadline);
	if (!rc) {
		refs__reclaim(&s->refs, seq);
		rc = s->error;
		s->error = ACL_SUCCESS;
	}
	stream__put(s);
	return sim_unlock(rc);
}

SIM_API(aclrtSynchronizeStream)(aclrtStream stream)
{
	SIM_ENTER(aclrtSynchronizeStream);
	return stream__synchronize(stream, SIM_NEVER);
}

SIM_API(aclrtSynchronizeStreamWithTimeout)(aclrtStream stream, int32_t timeout)
{
	SIM_ENTER(aclrtSynchronizeStreamWithTimeout);
	if (timeout < -1)
		return ACL_ERROR_RT_PARAM_INVALID;
	return stream__synchronize(stream, sim_deadline(timeout));
}

/* Reads the device side only. */
SIM_API(aclrtStreamQuery)(aclrtStream stream, aclrtStreamStatus *status)
{
	struct stream *s;
	aclError rc;

	SIM_ENTER(aclrtStreamQuery);
	if (!status)
		return sim_error(ACL_ERROR_INVALID_PARAM, "query stream: null pointer");
	sim_lock();
	s = stream__get(stream, &rc);
	if (s && s->capture)
		rc = ACL_ERROR_RT_STREAM_CAPTURED;
	else if (s)
		*status = s->done == s->submitted ? ACL_STREAM_STATUS_COMPLETE
						  : ACL_STREAM_STATUS_NOT_READY;
	return sim_unlock(rc);
}

/* Throws away what is queued; the stream can be used again. */
SIM_API(aclrtStreamAbort)(aclrtStream stream)
{
	struct stream *s;
	aclError rc;

	SIM_ENTER(aclrtStreamAbort);
	sim_lock();
	s = stream__get(stream, &rc);
	if (!s)
		return sim_unlock(rc);
	s->users++;
	s->cut = true;
	pthread_cond_broadcast(&s->work);
	pthread_cond_broadcast(&sim_done);
	rc = stream__wait(s, s->submitted, SIM_NEVER);
	s->cut = s->quit && s->cut;
	stream__put(s);
	return sim_unlock(rc);
}

SIM_API(aclrtStreamGetId)(aclrtStream stream, int32_t *streamId)
{
	struct stream *s;
	aclError rc;

	SIM_ENTER(aclrtStreamGetId);
	if (!streamId)
		return sim_error(ACL_ERROR_INVALID_PARAM, "get stream id: null pointer");
	sim_lock();
	s = stream__get(stream, &rc);
	if (s)
		*streamId = s->id;
	return sim_unlock(rc);
}

SIM_API(aclrtCtxGetCurrentDefaultStream)(aclrtStream *stream)
{
	struct context *ctx;
	aclError rc;

	SIM_ENTER(aclrtCtxGetCurrentDefaultStream);
	if (!stream)
		return sim_error(ACL_ERROR_INVALID_PARAM, "get default stream: null pointer");
	sim_lock();
	ctx = context__current(&rc);
	if (ctx)
		*stream = ctx->stream;
	return sim_unlock(rc);
}
