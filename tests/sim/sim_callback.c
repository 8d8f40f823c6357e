/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Host functions in a stream of the simulated runtime.  aclrtLaunchHostFunc
 * runs in a thread of the runtime; aclrtLaunchCallback in the thread that
 * subscribed to the stream and sits in aclrtProcessReport.
 */
#include <stdlib.h>

#include "sim.h"

struct pending {
	struct callback cb;
	uint64_t thread;
};

static uint64_t thread__id(void)
{
	return (uint64_t)pthread_self();
}

/* On the device: hand the callback to its thread; a blocking one holds up the stream. */
void callback__run(struct stream *s, struct task *t)
{
	struct pending *p = sim_alloc(sizeof(*p));
	struct callback **tail = &sim.callbacks;

	p->cb.fn = t->fn;
	p->cb.arg = t->arg;
	p->cb.orphan = !t->block;
	p->thread = s->subscriber;
	while (*tail)
		tail = &(*tail)->next;
	*tail = &p->cb;
	pthread_cond_broadcast(&sim_done);
	if (!t->block)
		return;
	while (!p->cb.ran && !s->cut)
		sim_wait(&sim_done, SIM_NEVER);
	if (p->cb.ran)
		free(p);
	else
		p->cb.orphan = true;
}

/* Take the oldest callback for @thread out of the list. */
static struct callback *callback__take(uint64_t thread)
{
	struct callback **pcb, *cb;

	for (pcb = &sim.callbacks; (cb = *pcb); pcb = &cb->next) {
		if (((struct pending *)cb)->thread == thread) {
			*pcb = cb->next;
			return cb;
		}
	}
	return NULL;
}

SIM_API(aclrtProcessReport)(int32_t timeout)
{
	uint64_t deadline = sim_deadline(timeout);
	struct callback *cb;

	SIM_ENTER(aclrtProcessReport);
	sim_lock();
	while (!(cb = callback__take(thread__id()))) {
		if (!sim_wait(&sim_done, deadline))
			return sim_unlock(ACL_ERROR_RT_WAIT_TIMEOUT);
	}
	do {
		sim_unlock(0);
		cb->fn(cb->arg);
		sim_lock();
		cb->ran = true;
		if (cb->orphan)
			free(cb);
		pthread_cond_broadcast(&sim_done);
	} while ((cb = callback__take(thread__id())));
	return sim_unlock(ACL_SUCCESS);
}

static aclError stream__subscribe(uint64_t thread, aclrtStream stream, bool on)
{
	struct stream *s;
	aclError rc;

	sim_lock();
	s = stream__get(stream, &rc);
	if (!s)
		return sim_unlock(rc);
	if (on ? s->subscriber != 0 : s->subscriber != thread)
		return sim_unlock(sim_error(ACL_ERROR_RT_STREAM_SUBSCRIBE, "stream=%p", stream));
	s->subscriber = on ? thread : 0;
	return sim_unlock(ACL_SUCCESS);
}

SIM_API(aclrtSubscribeReport)(uint64_t threadId, aclrtStream stream)
{
	SIM_ENTER(aclrtSubscribeReport);
	return stream__subscribe(threadId, stream, true);
}

SIM_API(aclrtUnSubscribeReport)(uint64_t threadId, aclrtStream stream)
{
	SIM_ENTER(aclrtUnSubscribeReport);
	return stream__subscribe(threadId, stream, false);
}

static aclError func__submit(const struct task *tmpl, aclrtStream stream)
{
	struct stream *s;
	struct task *t;
	aclError rc;

	if (!tmpl->fn)
		return sim_error(ACL_ERROR_INVALID_PARAM, "launch host function: null pointer");
	sim_lock();
	s = stream__get(stream, &rc);
	if (s && tmpl->type == TASK_CALLBACK && !s->subscriber)
		rc = sim_error(ACL_ERROR_RT_STREAM_NO_CB_REG, "stream=%p", stream);
	if (rc)
		return sim_unlock(rc);
	t = sim_alloc(sizeof(*t));
	*t = *tmpl;
	return sim_unlock(stream__submit(s, t));
}

SIM_API(aclrtLaunchCallback)
(aclrtCallback fn, void *userData, aclrtCallbackBlockType blockType, aclrtStream stream)
{
	struct task t = { .type = TASK_CALLBACK, .fn = fn, .arg = userData };

	SIM_ENTER(aclrtLaunchCallback);
	t.block = blockType == ACL_CALLBACK_BLOCK;
	return func__submit(&t, stream);
}

SIM_API(aclrtLaunchHostFunc)(aclrtStream stream, aclrtHostFunc fn, void *args)
{
	struct task t = { .type = TASK_HOST_FUNC, .fn = fn, .arg = args };

	SIM_ENTER(aclrtLaunchHostFunc);
	return func__submit(&t, stream);
}
