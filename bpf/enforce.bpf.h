/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Acting upon a violation: whether, and by which signal to the current task.  The
 * signal is taken when the task returns to user space, which is at the judged
 * call's first instruction: before the call does its work.
 *
 * Where a suppression may apply, user space decides: the process is stopped for the
 * moment.  Every stop is noted before it is sent, so that user space never takes
 * it for one of the short stops that it ends itself.
 */
#ifndef ACLGUARD_ENFORCE_BPF_H
#define ACLGUARD_ENFORCE_BPF_H

#include "enforce.h"

/* Set by the loader before it loads. */
const volatile struct acl_enforce_cfg enforce_cfg = {};

/* Switched by user space at any time: nothing is done any more, only told. */
volatile __u32 observe_only;

/* aclguard has ended without taking its probes out; the kernel will, in a while. */
static volatile __u32 watcher_gone;

ACL_MAP(actions, struct acl_key, __u64, 1);
ACL_MAP(stopped, struct acl_stopped_key, struct acl_stopped, 1);

/* By rule and outcome. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, ACL_RULE_MAX *ACL_ACT_MAX);
	__type(key, __u32);
	__type(value, __u64);
} acts SEC(".maps");

/* What goes to and comes from the maps: in one place, as stack is scarce here. */
union acl_enforce_scratch {
	struct {
		struct acl_key key;
		__u64 val;
	} action;
	struct {
		struct acl_stopped_key key;
		struct acl_stopped val;
	} stop;
	__u32 count;
};

ACL_FN __u64 acl_actions__get(union acl_enforce_scratch *s, __u64 id)
{
	const __u64 *val;

	s->action.key.id = id;
	val = bpf_map_lookup_elem(&actions, &s->action.key);
	return val ? *val : 0;
}

/* Whether the action of that number, if there was one, is less than a minute ago. */
ACL_FN int acl_actions__is_young(union acl_enforce_scratch *s, __u64 nr)
{
	__u64 at = acl_actions__get(s, nr);

	return at && bpf_ktime_get_ns() - at < ACL_ENFORCE_MINUTE;
}

/*
 * Takes the number of the next action of a process; 0 where as many as are allowed
 * have been taken within the last minute.  Who inserts a number has it, so that no
 * two threads do; the note of the next one may lag behind, and is only where to begin.
 * Without `take`, only says whether there is one to be had.
 */
ACL_FN int acl_actions__take(union acl_enforce_scratch *s, __u64 inc, int take)
{
	__u64 nr;
	long err;

	s->action.key.inc = inc;
	nr = acl_actions__get(s, ACL_ACTIONS_NEXT);
	if (!nr)
		nr = ACL_ACTIONS_FIRST;
	for (int i = 0; i < ACL_LOCK_TRIES; i++) {
		if (acl_actions__is_young(s, nr - enforce_cfg.limit))
			return 0;
		if (!take)
			return 1;
		s->action.key.id = nr;
		s->action.val = bpf_ktime_get_ns();
		err = bpf_map_update_elem(&actions, &s->action.key, &s->action.val, BPF_NOEXIST);
		if (!err)
			break;
		if (err != -17 /* EEXIST */)
			return 0;
		nr++;
	}
	s->action.key.id = nr - enforce_cfg.limit;
	bpf_map_delete_elem(&actions, &s->action.key);
	s->action.key.id = ACL_ACTIONS_NEXT;
	s->action.val = nr + 1;
	bpf_map_update_elem(&actions, &s->action.key, &s->action.val, BPF_ANY);
	return 1;
}

ACL_FN int acl_actions__is_wanted(union acl_enforce_scratch *s, __u64 inc)
{
	s->action.key.inc = inc;
	return !enforce_cfg.confirm || acl_actions__get(s, ACL_ACTIONS_WANTED);
}

/* Of a failure: the outcome, with the errno in the second byte. */
#define ACL_ACT_ERR(err) (ACL_ACT_FAILED | ((int)(err)&0xff) << 8)

ACL_FN int acl_enforce__stop(union acl_enforce_scratch *s, __u64 ask)
{
	__u64 id = bpf_get_current_pid_tgid();
	long err;

	s->stop.key.tgid = id >> 32;
	s->stop.key.tid = (__u32)id;
	s->stop.val.time = bpf_ktime_get_ns();
	s->stop.val.ask = ask;
	err = bpf_map_update_elem(&stopped, &s->stop.key, &s->stop.val, BPF_ANY);
	if (err)
		return ACL_ACT_ERR(-err);
	err = bpf_send_signal(ACL_SIGSTOP);
	if (!err)
		return ask ? ACL_ACT_ASKED : ACL_ACT_SENT;
	bpf_map_delete_elem(&stopped, &s->stop.key);
	return ACL_ACT_ERR(-err);
}

ACL_FN int acl_enforce__send(union acl_enforce_scratch *s, __u32 sig)
{
	long err;

	if (sig == ACL_SIGSTOP)
		return acl_enforce__stop(s, 0);
	err = acl_signal__is_for_thread(sig) ? bpf_send_signal_thread(sig) : bpf_send_signal(sig);
	return err ? ACL_ACT_ERR(-err) : ACL_ACT_SENT;
}

/* Whether user space decides, as a suppression may apply. */
ACL_FN int acl_enforce__asks(__u32 rule)
{
	return enforce_cfg.ask >> rule & 1;
}

/* What is done where rule, level and evidence call for it. */
ACL_FN int acl_enforce__act(union acl_enforce_scratch *s, __u64 inc, __u32 rule)
{
	if (observe_only || watcher_gone)
		return ACL_ACT_OBSERVING;
	if (!acl_actions__is_wanted(s, inc))
		return ACL_ACT_SCOPE;
	/* of who is not suppressed, user space takes the number */
	if (!acl_actions__take(s, inc, !acl_enforce__asks(rule)))
		return ACL_ACT_LIMITED;
	if (enforce_cfg.dry_run)
		return ACL_ACT_DRY_RUN;
	acl_opaque(rule); /* looked up again: stack is scarce */
	if (acl_enforce__asks(rule))
		return acl_enforce__stop(s, 1);
	return acl_enforce__send(s, enforce_cfg.sig[rule & 15]);
}

ACL_FN void acl_enforce__count(union acl_enforce_scratch *s, __u32 rule, int act)
{
	__u64 *n;

	s->count = rule * ACL_ACT_MAX + act;
	n = bpf_map_lookup_elem(&acts, &s->count);
	if (n)
		__sync_fetch_and_add(n, 1);
}

/* Not static: the verifier looks at such a function once, not at each call. */
__attribute__((noinline)) int acl_enforce__decide(__u64 inc, __u32 rule, __u32 level,
						  __u32 evidence)
{
	union acl_enforce_scratch s = {};
	int res;

	acl_opaque(rule);
	rule &= 15;
	if (!enforce_cfg.sig[rule])
		return ACL_ACT_NONE;
	if (level < enforce_cfg.level)
		res = ACL_ACT_LEVEL;
	else if (evidence == ACL_EV_SUSPECTED && !enforce_cfg.suspected)
		res = ACL_ACT_UNSURE;
	else
		res = acl_enforce__act(&s, inc, rule);
	acl_enforce__count(&s, rule, res & 0xff);
	return res;
}

ACL_FN void acl_enforce(struct acl_env *env, struct acl_violation *v)
{
	int res = acl_enforce__decide(env->inc, v->rule, v->level, v->evidence);

	v->enforced.act = res & 0xff;
	v->enforced.err = res >> 8 & 0xff;
	if (res)
		v->enforced.sig = enforce_cfg.sig[v->rule & 15];
}

#endif /* ACLGUARD_ENFORCE_BPF_H */
