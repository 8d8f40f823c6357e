/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Streams: what a handle means, what the host learned of each, and what they
 * inherit from one another by waits.
 */
#ifndef ACLGUARD_MACHINE_STREAM_H
#define ACLGUARD_MACHINE_STREAM_H

ACL_OUTLINE struct acl_stream *acl_stream__make(struct acl_env *env, __u64 name, __u64 handle,
						__s32 dev)
{
	struct acl_stream *s = &env->th->scratch.stream;
	__u64 id = acl_new_id(env);

	__builtin_memset(s, 0, sizeof(*s));
	s->id = id;
	s->born = env->pos;
	s->handle = handle;
	s->dev = dev;
	s->tid = env->tid;
	s->is_default = !handle;
	if (name == ACL_TOKEN_UNKNOWN)
		s->suspect[ACL_S_CONTEXT] = 1;
	if (acl_stream__put(env, id, s)) {
		acl_loss(env, ACL_L_STREAM_FULL);
		env->proc->suspect[ACL_S_FULL] = 1;
		return 0;
	}
	if (acl_name__put(env, name, &id)) {
		acl_loss(env, ACL_L_STREAM_FULL);
		env->proc->suspect[ACL_S_FULL] = 1;
		acl_stream__drop(env, id);
		return 0;
	}
	acl_proc__count(&env->proc->streams_made, 1);
	return acl_stream__get(env, id);
}

/* The stream that a handle, or NULL, means to the calling thread. */
ACL_OUTLINE struct acl_stream *acl_stream__of(struct acl_env *env, __u64 handle)
{
	__u64 name = handle;
	struct acl_stream *s;
	__u64 *id;

	if (!name)
		name = env->th->ctx ? env->th->ctx : ACL_TOKEN_UNKNOWN;
	id = acl_name__get(env, name);
	if (id) {
		s = acl_stream__get(env, *id);
		if (s)
			return s;
	}
	/* Default streams are never created by a call; others were, unseen. */
	if (!handle)
		return acl_stream__make(env, name, 0, env->th->dev);
	acl_loss(env, ACL_L_MISSED_CREATE);
	return acl_stream__make(env, name, handle, -1);
}

enum acl_learn {
	ACL_LEARN_QUERIED,
	ACL_LEARN_POLLED,
	ACL_LEARN_WAITED,
	ACL_LEARN_SETTLED,
};

/*
 * The host learned that the stream is done up to a position.  `poll` is what
 * a POLLED advance is remembered by.  A stream that is gone was settled.
 */
ACL_OUTLINE void acl_stream__learn(struct acl_env *env, __u64 id, __u64 pos, enum acl_learn kind,
				   const struct acl_poll *poll)
{
	struct acl_stream *s = acl_stream__get(env, id);

	if (!s)
		return;
	if (acl_lock(env, id)) {
		acl_loss(env, ACL_L_CONTENDED);
		s->suspect[ACL_S_RACED] = 1;
		return;
	}
	if (kind == ACL_LEARN_SETTLED) {
		acl_raise(s->settled, pos);
	} else if (kind == ACL_LEARN_WAITED) {
		acl_raise(s->waited, pos);
	} else if (kind == ACL_LEARN_QUERIED) {
		if (s->queried < pos) {
			s->queried = pos;
			s->query_pos = env->asked;
			s->query_tid = env->tid;
			s->query_stack = env->th->stack;
		}
	} else if (s->polled < pos) {
		s->polled = pos;
		if (poll)
			s->poll = *poll;
	}
	acl_unlock(env, id);
}

ACL_FN int acl_stream__known(struct acl_env *env, const struct acl_stream *s, __u64 pos)
{
	return pos <= s->polled || pos <= s->queried || pos <= s->waited || pos <= s->settled ||
	       pos <= acl_proc__settled(env, s->dev);
}

/* Is what is submitted to the stream now taken into a graph instead of run? */
ACL_FN int acl_stream__capturing(struct acl_env *env, const struct acl_stream *s)
{
	const struct acl_stream *origin = s;

	if (!s->capture_stream)
		return 0;
	if (s->capture_stream != s->id)
		origin = acl_stream__get(env, s->capture_stream);
	return origin && origin->capturing && origin->captures == s->capture_seq;
}

ACL_FN void acl_stream__suspect(struct acl_env *env, __u64 id, enum acl_suspect why)
{
	struct acl_stream *s = acl_stream__get(env, id);

	if (s)
		s->suspect[why] = 1;
}

/* What `n` covers speak of has been given up on: nobody's order is sure. */
ACL_OUTLINE void acl_covers__suspect(struct acl_env *env, const struct acl_cover *c, int n,
				     enum acl_suspect why)
{
	for (int i = 0; i < n; i++)
		if (c[i].stream)
			acl_stream__suspect(env, c[i].stream, why);
}

/* ---- what streams and records inherit ---------------------------------- */

/* The inherits filed under `id`, made if there are none yet. */
ACL_FN struct acl_inherits *acl_inherits__of(struct acl_env *env, __u64 id)
{
	struct acl_inherits *in = acl_inherits__get(env, id);

	if (in)
		return in;
	__builtin_memset(&env->th->scratch.inherits, 0, sizeof(env->th->scratch.inherits));
	if (acl_inherits__put(env, id, &env->th->scratch.inherits)) {
		acl_loss(env, ACL_L_OTHER_FULL);
		return 0;
	}
	return acl_inherits__get(env, id);
}

/* Streams that are gone are settled: nothing more is to be learned of them. */
ACL_OUTLINE int acl_inherits__make_room(struct acl_env *env, struct acl_inherits *in)
{
	int room = 0;

	for (int i = 0; i < ACL_INHERITS_MAX; i++) {
		if (acl_stream__get(env, in->c[i].stream))
			continue;
		in->c[i].stream = 0;
		in->c[i].pos = 0;
		room = 1;
	}
	return room;
}

/* Stream `t` inherits one cover; where it cannot, both sides are suspected. */
ACL_OUTLINE void acl_inherits__take(struct acl_env *env, struct acl_inherits *in,
				    struct acl_stream *t, __u64 stream, __u64 pos)
{
	if (!stream || stream == t->id)
		return;
	if (in && !acl_covers__merge(in->c, ACL_INHERITS_MAX, stream, pos))
		return;
	if (in && acl_inherits__make_room(env, in) &&
	    !acl_covers__merge(in->c, ACL_INHERITS_MAX, stream, pos))
		return;
	acl_loss(env, ACL_L_OVERFLOW);
	t->suspect[ACL_S_OVERFLOW] = 1;
	acl_stream__suspect(env, stream, ACL_S_OVERFLOW);
}

/* Puts a stream's or record's inherits into the frame, after what is there. */
ACL_FN void acl_undo__inherits(struct acl_env *env, struct acl_undo *u, __u64 id)
{
	const struct acl_inherits *in = acl_inherits__get(env, id);

	if (!in)
		return;
	for (int i = 0; i < ACL_INHERITS_MAX; i++)
		u->c[1 + i] = in->c[i];
	u->n = ACL_COVERS_MAX;
}

#endif /* ACLGUARD_MACHINE_STREAM_H */
