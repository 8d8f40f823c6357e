/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Notifies, counting notifies and value writes of the simulated runtime: the
 * ways by which one stream wakes another, or the host learns of completion,
 * that are not events.
 */
#include <stdlib.h>

#include "sim.h"

void notify__put(struct notify *n)
{
	if (!--n->users)
		free(n);
}

static aclError notify__create(void **handle, enum sim_type type)
{
	struct notify *n;

	if (!handle)
		return sim_error(ACL_ERROR_INVALID_PARAM, "create notify: null pointer");
	n = sim_alloc(sizeof(*n));
	n->users = 1;
	sim_lock();
	obj__add(&n->o, type);
	*handle = n;
	return sim_unlock(ACL_SUCCESS);
}

static aclError notify__destroy(void *handle, enum sim_type type)
{
	struct notify *n;

	sim_lock();
	n = handle ? obj__get(handle, type) : NULL;
	if (!n)
		return sim_unlock(sim_error(ACL_ERROR_RT_INVALID_HANDLE, "notify=%p", handle));
	obj__del(&n->o);
	notify__put(n);
	return sim_unlock(ACL_SUCCESS);
}

/* Submit @tmpl for notify @handle. */
static aclError notify__submit(void *handle, enum sim_type type, aclrtStream stream,
			       const struct task *tmpl)
{
	struct stream *s;
	struct notify *n;
	struct task *t;
	aclError rc;

	sim_lock();
	n = handle ? obj__get(handle, type) : NULL;
	if (!n)
		return sim_unlock(sim_error(ACL_ERROR_RT_INVALID_HANDLE, "notify=%p", handle));
	s = stream__get(stream, &rc);
	if (!s)
		return sim_unlock(rc);
	t = sim_alloc(sizeof(*t));
	*t = *tmpl;
	t->notify = n;
	n->users++;
	return sim_unlock(stream__submit(s, t));
}

/* On the device: may the wait @t go on?  If so, take what it waited for. */
bool notify__try(struct task *t)
{
	const aclrtCntNotifyWaitInfo *w = &t->cnt_wait;
	uint32_t have = t->notify->value;
	bool ok = false;

	if (t->type == TASK_NOTIFY_WAIT) {
		ok = have != 0;
		t->notify->value = 0;
		return ok;
	}
	switch (w->mode) {
	case ACL_RT_CNT_NOTIFY_WAIT_LESS_MODE:
		ok = have < w->value;
		break;
	case ACL_RT_CNT_NOTIFY_WAIT_EQUAL_MODE:
		ok = have == w->value;
		break;
	case ACL_RT_CNT_NOTIFY_WAIT_BIGGER_MODE:
		ok = have > w->value;
		break;
	case ACL_RT_CNT_NOTIFY_WAIT_BIGGER_OR_EQUAL_MODE:
		ok = have >= w->value;
		break;
	case ACL_RT_CNT_NOTIFY_WAIT_EQUAL_WITH_BITMASK_MODE:
		ok = (have & w->value) == w->value;
		break;
	}
	if (ok && w->isClear)
		t->notify->value = 0;
	return ok;
}

/* On the device: record @t. */
void notify__apply(struct task *t)
{
	uint32_t v = t->cnt_record.value;

	if (t->type == TASK_NOTIFY) {
		t->notify->value = 1;
		return;
	}
	switch (t->cnt_record.mode) {
	case ACL_RT_CNT_NOTIFY_RECORD_SET_VALUE_MODE:
		t->notify->value = v;
		break;
	case ACL_RT_CNT_NOTIFY_RECORD_ADD_MODE:
		t->notify->value += v;
		break;
	case ACL_RT_CNT_NOTIFY_RECORD_BIT_OR_MODE:
		t->notify->value |= v;
		break;
	case ACL_RT_CNT_NOTIFY_RECORD_BIT_AND_MODE:
		t->notify->value &= v;
		break;
	}
}

SIM_API(aclrtCreateNotify)(aclrtNotify *notify, uint64_t flag)
{
	SIM_ENTER(aclrtCreateNotify);
	(void)flag;
	return notify__create(notify, SIM_T_NOTIFY);
}

SIM_API(aclrtDestroyNotify)(aclrtNotify notify)
{
	SIM_ENTER(aclrtDestroyNotify);
	return notify__destroy(notify, SIM_T_NOTIFY);
}

SIM_API(aclrtRecordNotify)(aclrtNotify notify, aclrtStream stream)
{
	struct task t = { .type = TASK_NOTIFY };

	SIM_ENTER(aclrtRecordNotify);
	return notify__submit(notify, SIM_T_NOTIFY, stream, &t);
}

SIM_API(aclrtWaitAndResetNotify)(aclrtNotify notify, aclrtStream stream, uint32_t timeout)
{
	struct task t = { .type = TASK_NOTIFY_WAIT, .timeout_ms = (uint64_t)timeout * 1000 };

	SIM_ENTER(aclrtWaitAndResetNotify);
	return notify__submit(notify, SIM_T_NOTIFY, stream, &t);
}

SIM_API(aclrtCntNotifyCreate)(aclrtCntNotify *cntNotify, uint64_t flag)
{
	SIM_ENTER(aclrtCntNotifyCreate);
	(void)flag;
	return notify__create(cntNotify, SIM_T_CNT_NOTIFY);
}

SIM_API(aclrtCntNotifyDestroy)(aclrtCntNotify cntNotify)
{
	SIM_ENTER(aclrtCntNotifyDestroy);
	return notify__destroy(cntNotify, SIM_T_CNT_NOTIFY);
}

SIM_API(aclrtCntNotifyRecord)
(aclrtCntNotify cntNotify, aclrtStream stream, aclrtCntNotifyRecordInfo *info)
{
	struct task t = { .type = TASK_CNT_RECORD };

	SIM_ENTER(aclrtCntNotifyRecord);
	if (!info)
		return sim_error(ACL_ERROR_INVALID_PARAM, "record notify: null pointer");
	t.cnt_record = *info;
	return notify__submit(cntNotify, SIM_T_CNT_NOTIFY, stream, &t);
}

SIM_API(aclrtCntNotifyWaitWithTimeout)
(aclrtCntNotify cntNotify, aclrtStream stream, aclrtCntNotifyWaitInfo *info)
{
	struct task t = { .type = TASK_CNT_WAIT };

	SIM_ENTER(aclrtCntNotifyWaitWithTimeout);
	if (!info)
		return sim_error(ACL_ERROR_INVALID_PARAM, "wait for notify: null pointer");
	t.cnt_wait = *info;
	t.timeout_ms = (uint64_t)info->timeout * 1000;
	return notify__submit(cntNotify, SIM_T_CNT_NOTIFY, stream, &t);
}

SIM_API(aclrtValueWrite)(void *devAddr, uint64_t value, uint32_t flag, aclrtStream stream)
{
	struct stream *s = NULL;
	struct range *r;
	struct task *t;
	aclError rc;

	SIM_ENTER(aclrtValueWrite);
	(void)flag;
	if (!devAddr || (uintptr_t)devAddr % sizeof(value))
		return sim_error(ACL_ERROR_INVALID_PARAM, "value write: addr=%p", devAddr);
	sim_lock();
	r = range__find(devAddr, sizeof(value));
	if (!r)
		rc = sim_error(ACL_ERROR_RT_PARAM_INVALID, "value write: addr=%p", devAddr);
	else
		s = stream__get(stream, &rc);
	if (!s)
		return sim_unlock(rc);
	t = sim_alloc(sizeof(*t));
	t->type = TASK_VALUE;
	t->dst = devAddr;
	t->value = value;
	t->width = sizeof(value);
	t->height = 1;
	t->pinned = true;
	return sim_unlock(stream__submit(s, t));
}
