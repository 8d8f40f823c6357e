/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The verdict on a release: which copy decides, and the report that says so. */
#ifndef ACLGUARD_MACHINE_JUDGE_H
#define ACLGUARD_MACHINE_JUDGE_H

/* The least known copy of a buffer, and what there is to say about it. */
struct acl_worst {
	__u64 pos;
	__u32 rank; /* enum acl_know and whether it has an unfollowed way */
	__u32 nr;   /* of the slot */
	__u32 unsettled;
	__u32 sync; /* the release synchronises the thread's device first */
};

/* Does synchronising the thread's device settle the stream? */
ACL_FN int acl_stream__on_device(const struct acl_stream *s, const struct acl_thread *th)
{
	return !s || s->dev < 0 || !th->ctx || th->dev < 0 || s->dev == th->dev;
}

ACL_OUTLINE void acl_worst__weigh(struct acl_env *env, struct acl_worst *w,
				  const struct acl_copy *c, __u32 nr)
{
	const struct acl_stream *s;
	enum acl_know know;
	__u32 rank;

	if (!c->stream)
		return;
	s = acl_stream__get(env, c->stream);
	if (w->sync && acl_stream__on_device(s, env->th))
		return; /* the call will settle it first */
	know = acl_copy__known(c, s, s ? acl_proc__settled(env, s->dev) : 0);
	if (know == ACL_K_SETTLED)
		return;
	w->unsettled++;
	rank = 2 * know;
	if (know == ACL_K_NOTHING && s && s->way >= c->pos)
		rank++;
	if (rank > w->rank || (rank == w->rank && c->pos <= w->pos))
		return;
	w->rank = rank;
	w->pos = c->pos;
	w->nr = nr;
}

ACL_FN void acl_violation__buf(struct acl_violation *v, const struct acl_buf *b)
{
	v->buf.id = b->id;
	v->buf.base = b->base;
	v->buf.size = b->size;
	v->buf.born = b->born;
	v->buf.site = b->site;
	v->buf.stack = b->stack;
	v->buf.tid = b->tid;
	v->buf.call = b->call;
}

/* What is known of the polled event. */
ACL_FN void acl_violation__event(struct acl_violation *v, struct acl_event *e)
{
	v->has_event = 1;
	v->event.born = e->born;
	v->event.site = e->site;
	v->event.stack = e->stack;
	v->event.rec_pos = e->rec.pos;
	v->event.rec_tid = e->rec_tid;
	v->event.rec_stack = e->rec_stack;
	v->event.rec_call = e->rec_call;
	v->event.records = e->records;
	v->event.flags = e->flags;
	v->event.tid = e->tid;
	v->event.call = e->call;
	/* so that its destroy is told to whoever prints this */
	e->verdict = v->id;
}

ACL_FN __u32 acl_suspects__of(struct acl_env *env, const struct acl_buf *b)
{
	__u32 mask = acl_suspect__mask(env->proc->suspect) & ~(1U << ACL_S_CONTEXT);

	/* an unseen context only hides what a default stream is, see acl_buf__judge() */
	mask |= acl_suspect__mask(b->suspect);
	if (b->born < acl_complete(env))
		mask |= 1U << ACL_S_LATE;
	return mask;
}

ACL_FN int acl_rule__wanted(struct acl_env *env, enum acl_rule rule, enum acl_level level)
{
	const volatile struct acl_cfg *cfg = acl_cfg(env);

	if (level == ACL_LEVEL_NOTE && !cfg->strict)
		return 0;
	return !!(cfg->rules & ACL_RULE_BIT(rule));
}

/*
 * Counts the verdict on a call, and starts its report.  NULL where that finds no room:
 * then it is lost, and counted as that, too.
 */
ACL_FN struct acl_violation *acl_report__begin(struct acl_env *env, const struct acl_frame *f,
					       const struct acl_verdict *said)
{
	struct acl_violation *v;

	acl_verdict__count(env, said->rule, said->level, said->evidence, 0);
	v = acl_violation__begin(env);
	if (!v)
		return 0;
	v->h.type = ACL_REC_VIOLATION;
	v->h.tgid = env->tgid;
	v->h.tid = env->tid;
	v->h.inc = env->inc;
	v->h.time = f->pos;
	v->id = acl_new_id(env);
	v->rule = said->rule;
	v->level = said->level;
	v->evidence = said->evidence;
	v->hazard = said->hazard;
	v->suspects = said->suspects;
	v->call = f->call;
	v->ptr = f->args[0];
	return v;
}

/* For the return of the call. */
ACL_FN void acl_frame__note(struct acl_frame *f, const struct acl_verdict *said)
{
	f->rule = said->rule;
	f->level = said->level;
	f->evidence = said->evidence;
}

/* What is said of a release whose polled event is `e`, NULL where it is gone by now. */
ACL_FN void acl_verdict__polled(struct acl_env *env, const struct acl_frame *f,
				const struct acl_poll *poll, const struct acl_event *e,
				struct acl_verdict *said)
{
	int pooled = poll->records > 1 || (e && e->records > 1);
	int time_line = e && e->call != ACL_C_MAX ? !!(e->flags & ACL_EVENT_TIME_LINE) : -1;

	if (e)
		said->suspects |= acl_suspect__mask(e->suspect);
	said->level =
		acl_verdict__level(said->rule, pooled, f->pos - poll->pos, acl_cfg(env)->window, 0);
	said->hazard = acl_verdict__hazard(said->rule, time_line);
}

/*
 * Judges the release of a buffer that is entered now.  Returns the id of the
 * verdict, 0 where there is nothing to say.
 */
ACL_FN __u64 acl_buf__judge(struct acl_env *env, struct acl_frame *f, struct acl_buf *b, int sync)
{
	struct acl_worst w = { .rank = 2 * ACL_K_SETTLED, .sync = sync };
	struct acl_verdict said = { .suspects = 0 };
	const struct acl_copies *m;
	const struct acl_stream *s;
	const struct acl_copy *c;
	struct acl_event *e = 0;
	struct acl_violation *v;
	__u64 id;

	for (__u32 i = 0; i < ACL_COPIES_INLINE; i++)
		acl_worst__weigh(env, &w, &b->c[i], i);
	m = b->more ? acl_copies__get(env, b->id) : 0;
	if (m)
		for (__u32 i = 0; i < ACL_COPIES_MORE; i++)
			acl_worst__weigh(env, &w, &m->c[i], ACL_COPIES_INLINE + i);
	said.rule = acl_verdict__rule(w.rank / 2);
	if (said.rule == ACL_RULE_NONE)
		return 0;
	if (!acl_rule__wanted(env, said.rule,
			      said.rule == ACL_RULE_FREE_AFTER_EVENT_SYNC ? ACL_LEVEL_NOTE
									  : ACL_LEVEL_ERROR))
		return 0;
	c = acl_buf__nth(env, b, w.nr);
	s = c ? acl_stream__get(env, c->stream) : 0;
	if (!s)
		return 0;
	said.suspects = acl_suspects__of(env, b) | acl_suspect__mask(s->suspect);
	if (s->is_default && env->proc->suspect[ACL_S_CONTEXT])
		said.suspects |= 1U << ACL_S_CONTEXT;
	if (w.rank & 1)
		said.suspects |= 1U << ACL_S_WAY;
	if (said.rule == ACL_RULE_FREE_BEFORE_DESTROY) {
		e = acl_event__same(env, s->poll.handle, s->poll.event);
		acl_verdict__polled(env, f, &s->poll, e, &said);
	} else {
		said.level = acl_verdict__level(said.rule, 0, 0, 0, w.rank & 1);
		said.hazard = acl_verdict__hazard(said.rule, 1);
	}
	if (said.level == ACL_LEVEL_ERROR && said.suspects & 1U << ACL_S_RETURNS)
		said.level = ACL_LEVEL_WARNING; /* a poll of another thread may be seen too late */
	said.evidence = acl_verdict__evidence(said.suspects);
	acl_frame__note(f, &said);
	v = acl_report__begin(env, f, &said);
	if (!v)
		return 0;
	v->unsettled = w.unsettled;
	acl_violation__buf(v, b);
	v->copy = *c;
	v->stream.id = s->id;
	v->stream.handle = s->handle;
	v->stream.dev = s->dev;
	v->stream.is_default = s->is_default;
	v->stream.query_pos = s->query_pos;
	v->stream.query_tid = s->query_tid;
	v->stream.query_stack = s->query_stack;
	v->poll = s->poll;
	if (e)
		acl_violation__event(v, e);
	id = v->id;
	acl_violation__end(env, v);
	return id;
}

/*
 * On late attach the buffer is not known; the one thing that speaks is that
 * the thread's latest event call was a COMPLETE poll a moment ago.
 */
ACL_FN __u64 acl_unknown__judge(struct acl_env *env, struct acl_frame *f)
{
	struct acl_verdict said = {
		.rule = ACL_RULE_FREE_BEFORE_DESTROY,
		.level = ACL_LEVEL_WARNING,
		.evidence = ACL_EV_SUSPECTED,
		.hazard = ACL_HZ_DOCUMENTED,
	};
	struct acl_violation *v;
	struct acl_event *e;
	__u64 id, poll = env->th->poll_pos;

	if (!env->proc->late || !poll || !f->args[0] || f->pos - poll > acl_cfg(env)->window)
		return 0;
	if (!acl_rule__wanted(env, said.rule, ACL_LEVEL_ERROR))
		return 0;
	e = acl_event__get(env, env->th->poll_event);
	/* one that is being destroyed is no more, and one never recorded said nothing */
	if (e && (e->dying || (e->call != ACL_C_MAX && !e->rec.stream)))
		return 0;
	/* destroyed since, by another thread: the right order */
	if (!e && acl_dead__of(env, ACL_GRAVE_EVENT, env->th->poll_event))
		return 0;
	if (!e) /* taken in, so that its destroy can be told */
		e = acl_event__make(env, env->th->poll_event, poll, ACL_C_MAX, 0);
	said.suspects = 1U << (env->proc->suspect[ACL_S_RETURNS] ? ACL_S_RETURNS : ACL_S_LATE);
	if (e)
		said.suspects |= acl_suspect__mask(e->suspect);
	acl_frame__note(f, &said);
	v = acl_report__begin(env, f, &said);
	if (!v)
		return 0;
	v->poll.pos = poll;
	v->poll.handle = env->th->poll_event;
	v->poll.tid = env->tid;
	v->poll.stack = env->th->poll_stack;
	if (e) {
		v->poll.event = e->id;
		acl_violation__event(v, e);
	}
	id = v->id;
	acl_violation__end(env, v);
	return id;
}

#endif /* ACLGUARD_MACHINE_JUDGE_H */
