/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Random histories: whatever is called in whatever order, with returns lost,
 * locks refused and tables full, nothing breaks and nothing is left behind.
 * What the verdicts are worth, other tests say.
 */
#include "world.h"

#include <stdlib.h>

#define HISTORIES 400
#define CALLS 300
#define THREADS 3

/* Small sets, so that handles and addresses meet again. */
#define BUFS 6
#define EVENTS 6
#define STREAMS 6

struct random {
	struct store *store;
	__u64 seed;
	__u64 now;
	__u32 depth[THREADS];
	int whole; /* every call returns, no lock is refused, no table is full */
};

static __u64 draw(struct random *r, __u64 n)
{
	r->seed = r->seed * 6364136223846793005 + 1442695040888963407;
	return (r->seed >> 33) % n;
}

static __u64 a_buf(struct random *r)
{
	return 0x120000000000 + draw(r, BUFS) * 0x1000;
}

static __u64 an_event(struct random *r)
{
	return 0x7f0000100000 + draw(r, EVENTS) * 64;
}

static __u64 a_stream(struct random *r)
{
	__u64 nr = draw(r, STREAMS + 1);

	return nr ? 0x7f0000200000 + nr * 64 : 0;
}

static __u64 an_argument(struct random *r, char letter)
{
	switch (letter) {
	case 'O': /* where it is filled in does not matter */
		return 0;
	case 'p':
		return a_buf(r) + (draw(r, 4) ? 0 : draw(r, 64) * 64);
	case 'e':
		return an_event(r);
	case 's':
		return a_stream(r);
	case 'c':
		return 0x7f0000300000 + draw(r, 3) * 64;
	case 'k':
		return draw(r, 6);
	case 'z':
		return draw(r, 0x1800);
	case 'i':
		return draw(r, 3);
	default:
		return draw(r, 4);
	}
}

static const char *const letters[ACL_C_MAX] = {
#define LETTERS_OF(name, role, args) [ACL_C_##name] = args,
	ACL_CALLS(LETTERS_OF)
#undef LETTERS_OF
};

static const __u8 roles[ACL_C_MAX] = {
#define ROLE_OF(name, role, args) [ACL_C_##name] = ACL_R_##role,
	ACL_CALLS(ROLE_OF)
#undef ROLE_OF
};

/* Which of a copy's arguments stand where does not follow from the letters. */
static void arguments(struct random *r, struct acl_enter *in)
{
	const char *l = letters[in->call];

	for (int i = 0; l[i] && i < 6; i++)
		in->args[i] = an_argument(r, l[i]);
	if (roles[in->call] == ACL_R_COPY || roles[in->call] == ACL_R_COPY_2D) {
		in->args[4] = draw(r, 6);
		in->args[5] = a_stream(r);
	} else if (roles[in->call] == ACL_R_WAY) {
		in->args[0] = a_stream(r);
	} else if (roles[in->call] == ACL_R_MALLOC || roles[in->call] == ACL_R_REGISTER) {
		/* live ones do not reach into each other */
		in->args[1] = 1 + draw(r, 0x1000 - (in->args[0] & 0xfff));
	}
}

static __u64 an_output(struct random *r, enum acl_role role)
{
	switch (role) {
	case ACL_R_MALLOC:
		return a_buf(r);
	case ACL_R_EV_CREATE:
	case ACL_R_EV_IPC_OPEN:
		return an_event(r);
	case ACL_R_ST_CREATE:
	case ACL_R_ST_DEFAULT:
		return 0x7f0000200000 + (1 + draw(r, STREAMS)) * 64;
	case ACL_R_CTX_CREATE:
	case ACL_R_CTX_GET:
		return an_argument(r, 'c');
	default:
		return draw(r, 2);
	}
}

static void enter(struct random *r, __u32 thread, enum acl_call call)
{
	struct acl_enter in = {
		.pos = r->now += draw(r, 3),
		.tgid = TGID,
		.tid = TGID + thread,
		.call = call,
	};

	arguments(r, &in);
	r->depth[thread]++;
	in.sp = 0x7fff00000000 - thread * 0x100000 - r->depth[thread] * 64;
	store__enter(r->store, &in);
}

static void leave(struct random *r, __u32 thread, enum acl_call call)
{
	struct acl_leave out = {
		.pos = r->now += draw(r, 3),
		.sp = 0x7fff00000000 - thread * 0x100000 - r->depth[thread] * 64,
		.out = an_output(r, roles[call]),
		.ret = draw(r, 5)   ? 0
		       : draw(r, 2) ? 507899
				    : 107000,
		.tgid = TGID,
		.tid = TGID + thread,
		.out_ok = 1,
	};

	r->depth[thread]--;
	store__leave(r->store, &out);
}

/* One step of a thread: enters a call, or lets the one it is in return. */
static void step(struct random *r, enum acl_call *in_call)
{
	__u32 thread = draw(r, THREADS);

	if (!r->whole && !draw(r, 50))
		store__contend(r->store, draw(r, 4), 1 + draw(r, 2));
	if (!r->whole && !draw(r, 200)) {
		r->depth[thread] = 0;
		store__thread_exit(r->store, TGID, TGID + thread, r->now);
	} else if (!r->depth[thread]) {
		in_call[thread] = draw(r, ACL_C_MAX);
		enter(r, thread, in_call[thread]);
		if (draw(r, 2)) /* with others in between, or not */
			leave(r, thread, in_call[thread]);
	} else if (r->whole || draw(r, 20)) {
		leave(r, thread, in_call[thread]);
	} else {
		r->depth[thread] = 0; /* by longjmp, or the return was lost */
	}
}

static void one_call(struct random *r, enum acl_call call, __u64 arg)
{
	const struct acl_enter in = {
		.pos = ++r->now,
		.sp = 0x7fff00000000,
		.args = { arg },
		.tgid = TGID,
		.tid = TGID + THREADS,
		.call = call,
	};
	const struct acl_leave out = {
		.pos = ++r->now,
		.sp = in.sp,
		.tgid = in.tgid,
		.tid = in.tid,
	};

	store__enter(r->store, &in);
	store__leave(r->store, &out);
}

/* The program puts everything in order before it ends. */
static void release_all(struct random *r)
{
	store__contend(r->store, 0, 0);
	for (int i = 0; i < BUFS; i++)
		for (int at = 0; at < 0x1000; at += 64) /* where registered ones may begin */
			one_call(r, at ? ACL_C_aclrtHostUnregister : ACL_C_aclrtFreeHost,
				 0x120000000000 + i * 0x1000 + at);
	for (int i = 0; i < EVENTS; i++)
		one_call(r, ACL_C_aclrtDestroyEvent, 0x7f0000100000 + i * 64);
}

static void history(struct random *r, __u64 seed)
{
	const struct store_cfg cfg = {
		.acl = { .window = WINDOW, .rules = ACL_RULES_ALL, .strict = 1, .all = 1 },
	};
	enum acl_call in_call[THREADS];

	store__free(r->store);
	r->seed = seed;
	r->now = SEC;
	r->store = store__new(&cfg);
	assert_non_null(r->store);
	for (int i = 0; i < THREADS; i++)
		r->depth[i] = 0;
	for (int i = 0; !r->whole && i < STORE_REPORTS; i++)
		if (!draw(r, 8))
			store__limit(r->store, i, draw(r, 5));
	for (int i = 0; i < CALLS; i++)
		step(r, in_call);
	for (int i = 0; i < THREADS; i++) {
		if (r->whole && r->depth[i])
			leave(r, i, in_call[i]);
		store__thread_exit(r->store, TGID, TGID + i, r->now);
	}
	for (int i = 0; i < STORE_REPORTS; i++)
		store__limit(r->store, i, 100000);
	release_all(r);
}

static void check(const struct random *r)
{
	const struct acl_proc *p = store__proc(r->store, TGID);

	assert_non_null(p);
	assert_int_equal(store__used(r->store, STORE_BUFS), 0);
	assert_int_equal(store__used(r->store, STORE_COPIES), 0);
	assert_int_equal(store__used(r->store, STORE_EVENTS), 0);
	assert_int_equal(store__used(r->store, STORE_SEENS), 0);
	assert_in_range(store__used(r->store, STORE_INHERITS), 0,
			store__used(r->store, STORE_STREAMS));
	assert_int_equal(p->bufs_made, p->bufs_gone);
	assert_int_equal(p->bytes_made, p->bytes_gone);
	assert_int_equal(p->events_made, p->events_gone);
}

static int setup(void **state)
{
	*state = calloc(1, sizeof(struct random));
	return *state ? 0 : -1;
}

static int teardown(void **state)
{
	struct random *r = *state;

	store__free(r->store);
	free(r);
	return 0;
}

static void whole_histories_leave_nothing_behind(void **state)
{
	struct random *r = *state;

	r->whole = 1;
	for (__u64 seed = 1; seed <= HISTORIES; seed++) {
		history(r, seed);
		check(r);
	}
}

static void histories_with_losses_leave_nothing_behind(void **state)
{
	struct random *r = *state;

	for (__u64 seed = 1; seed <= HISTORIES; seed++) {
		history(r, seed);
		check(r);
	}
}

static void the_end_of_the_process_frees_everything(void **state)
{
	struct random *r = *state;

	for (__u64 seed = 1; seed <= HISTORIES / 10; seed++) {
		history(r, seed);
		store__exit(r->store, TGID, r->now);
		for (int i = 0; i < STORE_REPORTS; i++)
			assert_int_equal(store__used(r->store, i), 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(whole_histories_leave_nothing_behind, setup,
						teardown),
		cmocka_unit_test_setup_teardown(histories_with_losses_leave_nothing_behind, setup,
						teardown),
		cmocka_unit_test_setup_teardown(the_end_of_the_process_frees_everything, setup,
						teardown),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("random histories", tests, NULL, NULL);
}
