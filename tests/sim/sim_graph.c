/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Graph capture of the simulated runtime: between Begin and End what a stream
 * is given goes into a model and is not executed.  A replay submits it all, in
 * the order in which it was captured, to one stream; that order keeps every
 * dependency there was.
 */
#include <stdlib.h>

#include "sim.h"

/* Takes over @t. */
void capture__add(struct model *m, struct task *t)
{
	t->next = NULL;
	*m->tail = t;
	m->tail = &t->next;
}

static struct model *model__new(void)
{
	struct model *m = sim_alloc(sizeof(*m));

	obj__add(&m->o, SIM_T_MODEL);
	m->tail = &m->head;
	return m;
}

static void model__open(struct model *m, struct stream *s)
{
	m->open = true;
	m->origin = s->o.uid;
	s->capture = m;
}

SIM_API(aclmdlRICaptureBegin)(aclrtStream stream, aclmdlRICaptureMode mode)
{
	struct stream *s;
	aclError rc;

	SIM_ENTER(aclmdlRICaptureBegin);
	(void)mode;
	sim_lock();
	s = stream__get(stream, &rc);
	if (s && s->capture)
		rc = sim_error(ACL_ERROR_RT_STREAM_CAPTURED, "stream=%p", stream);
	if (!rc)
		model__open(model__new(), s);
	return sim_unlock(rc);
}

SIM_API(aclmdlRICaptureToModelRIBegin)
(aclrtStream stream, aclmdlRI modelRI, aclmdlRICaptureMode mode)
{
	struct stream *s;
	struct model *m;
	aclError rc;

	SIM_ENTER(aclmdlRICaptureToModelRIBegin);
	(void)mode;
	sim_lock();
	s = stream__get(stream, &rc);
	m = modelRI ? obj__get(modelRI, SIM_T_MODEL) : NULL;
	if (s && (!m || m->open))
		rc = sim_error(ACL_ERROR_RT_PARAM_INVALID, "model=%p", modelRI);
	else if (s && s->capture)
		rc = sim_error(ACL_ERROR_RT_STREAM_CAPTURED, "stream=%p", stream);
	if (!rc)
		model__open(m, s);
	return sim_unlock(rc);
}

SIM_API(aclmdlRICaptureEnd)(aclrtStream stream, aclmdlRI *modelRI)
{
	struct stream *s;
	struct model *m;
	aclError rc;

	SIM_ENTER(aclmdlRICaptureEnd);
	if (!modelRI)
		return sim_error(ACL_ERROR_INVALID_PARAM, "end capture: null pointer");
	sim_lock();
	s = stream__get(stream, &rc);
	if (s && (!s->capture || s->capture->origin != s->o.uid))
		rc = sim_error(ACL_ERROR_RT_PARAM_INVALID, "stream=%p began no capture", stream);
	if (rc)
		return sim_unlock(rc);
	m = s->capture;
	m->open = false;
	for (s = sim.streams; s; s = s->next) {
		if (s->capture == m)
			s->capture = NULL;
	}
	*modelRI = m;
	return sim_unlock(ACL_SUCCESS);
}

/* Is the page-locked memory of captured task @t still there? */
static bool task__alive(const struct task *t)
{
	if (t->type != TASK_COPY && t->type != TASK_SET && t->type != TASK_VALUE)
		return true;
	return !t->pinned || (range__find(t->dst, 1) && (!t->src || range__find(t->src, 1)));
}

static struct task *task__clone(const struct task *t)
{
	struct task *c = sim_alloc(sizeof(*c));

	*c = *t;
	if (c->notify)
		c->notify->users++;
	return c;
}

SIM_API(aclmdlRIExecuteAsync)(aclmdlRI modelRI, aclrtStream stream)
{
	struct stream *s;
	struct model *m;
	aclError rc;

	SIM_ENTER(aclmdlRIExecuteAsync);
	sim_lock();
	s = stream__get(stream, &rc);
	m = modelRI ? obj__get(modelRI, SIM_T_MODEL) : NULL;
	if (s && (!m || m->open || s->capture))
		rc = sim_error(ACL_ERROR_RT_PARAM_INVALID, "model=%p", modelRI);
	for (struct task *t = rc ? NULL : m->head; t && !rc; t = t->next) {
		if (!task__alive(t))
			rc = sim_error(ACL_ERROR_RT_PARAM_INVALID, "model=%p: memory is gone",
				       modelRI);
	}
	for (struct task *t = rc ? NULL : m->head; t && !rc; t = t->next)
		rc = stream__submit(s, task__clone(t));
	return sim_unlock(rc);
}

SIM_API(aclmdlRIDestroy)(aclmdlRI modelRI)
{
	struct model *m;
	struct task *t;

	SIM_ENTER(aclmdlRIDestroy);
	sim_lock();
	m = modelRI ? obj__get(modelRI, SIM_T_MODEL) : NULL;
	if (!m || m->open)
		return sim_unlock(sim_error(ACL_ERROR_RT_PARAM_INVALID, "model=%p", modelRI));
	obj__del(&m->o);
	while ((t = m->head)) {
		m->head = t->next;
		task__free(t);
	}
	free(m);
	return sim_unlock(ACL_SUCCESS);
}
