/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * How sure a report is, and why not: late attach, bounds, full tables and
 * contention.  What was not seen or not kept must be counted, and must never
 * make a report look certain.
 */
#include "world.h"

#define BUF 0x120043200000ULL
#define S 0x7f0000001000ULL
#define T 0x7f0000002000ULL
#define E 0x7f0000101000ULL
#define F 0x7f0000102000ULL
#define ERR 507000
#define OTHER 101 /* another thread */

static struct world *begin(void **state)
{
	struct world *w = *state;

	set_device(w, 0);
	create_stream(w, S);
	create_stream(w, T);
	create_event(w, E);
	return w;
}

/* ---- attached late ----------------------------------------------------- */

static struct world *late(void **state)
{
	const struct acl_target target = { .late = 1 };
	struct world *w = *state;

	assert_int_equal(store__target(w->store, TGID, &target), 0);
	return w;
}

static void a_buffer_older_than_the_probes_is_suspected(void **state)
{
	struct world *w = *state;
	const struct acl_cfg cfg = world__cfg();

	world__restart(w, &cfg, 10 * SEC + 100 * US);
	begin(state);
	malloc_host(w, BUF, 4096);
	wait_ns(w, SEC);
	copy_h2d(w, BUF, 64, S);
	free_host(w, BUF);
	because(expect(w, FREE_IN_FLIGHT, ERROR, SUSPECTED), LATE);
}

static void a_buffer_younger_than_the_probes_is_certain(void **state)
{
	struct world *w = *state;
	const struct acl_cfg cfg = world__cfg();

	world__restart(w, &cfg, 10 * SEC + 100 * US);
	begin(state);
	wait_ns(w, SEC);
	malloc_host(w, BUF, 4096);
	copy_h2d(w, BUF, 64, S);
	free_host(w, BUF);
	expect(w, FREE_IN_FLIGHT, ERROR, CERTAIN);
}

static void the_probes_of_each_process_may_be_complete_later(void **state)
{
	const struct acl_target target = { .complete = ~0ULL };
	struct world *w = begin(state);

	assert_int_equal(store__target(w->store, TGID, &target), 0);
	malloc_host(w, BUF, 4096);
	copy_h2d(w, BUF, 64, S);
	free_host(w, BUF);
	because(expect(w, FREE_IN_FLIGHT, ERROR, SUSPECTED), LATE);
}

static void an_unknown_buffer_after_a_poll_is_suspected(void **state)
{
	struct world *w = late(state);
	const struct acl_violation *v;

	poll_event(w, E, DONE);
	free_host(w, BUF);
	v = expect(w, FREE_BEFORE_DESTROY, WARNING, SUSPECTED);
	because(v, LATE);
	assert_int_equal(v->ptr, BUF);
	assert_int_equal(v->buf.id, 0);
	assert_int_equal(v->poll.handle, E);
	assert_int_equal(v->poll.tid, TGID);
	assert_int_equal(expect_sequel(w, RELEASED)->id, v->id);
}

static void an_unknown_buffer_without_a_poll_is_silent(void **state)
{
	struct world *w = late(state);

	free_host(w, BUF);
	silent(w);
}

static void an_unknown_buffer_is_silent_if_we_were_there_from_the_start(void **state)
{
	struct world *w = *state;

	create_stream(w, S);
	create_event(w, E);
	record_event(w, E, S);
	poll_event(w, E, DONE);
	free_host(w, BUF);
	silent(w);
}

static void a_poll_of_another_thread_does_not_speak(void **state)
{
	struct world *w = late(state);

	poll_event(w, E, DONE);
	as(w, OTHER);
	free_host(w, BUF);
	silent(w);
}

static void a_poll_that_was_not_complete_does_not_speak(void **state)
{
	struct world *w = late(state);

	poll_event(w, E, DONE);
	poll_event(w, F, NOT_DONE);
	free_host(w, BUF);
	silent(w);
}

static void a_poll_that_failed_does_not_speak(void **state)
{
	struct world *w = late(state);

	fails(w, ERR);
	poll_event(w, E, DONE);
	free_host(w, BUF);
	silent(w);
}

static void a_poll_as_old_as_the_window_speaks(void **state)
{
	struct world *w = late(state);

	poll_event(w, E, DONE);
	wait_ns(w, WINDOW - 2 * w->tick);
	free_host(w, BUF);
	expect(w, FREE_BEFORE_DESTROY, WARNING, SUSPECTED);
}

static void a_poll_older_than_the_window_does_not_speak(void **state)
{
	struct world *w = late(state);

	poll_event(w, E, DONE);
	wait_ns(w, WINDOW - 2 * w->tick + 1);
	free_host(w, BUF);
	silent(w);
}

static void an_event_call_in_between_silences(void **state, enum acl_call call, __u64 a, __u64 b)
{
	struct world *w = late(state);

	poll_event(w, E, DONE);
	world__call(w, call, a, (__u64[6]){ a, b });
	free_host(w, BUF);
	silent(w);
}

static void a_record_in_between_silences(void **state)
{
	an_event_call_in_between_silences(state, ACL_C_aclrtRecordEvent, E, S);
}

static void a_reset_in_between_silences(void **state)
{
	an_event_call_in_between_silences(state, ACL_C_aclrtResetEvent, E, S);
}

static void a_destroy_in_between_silences(void **state)
{
	an_event_call_in_between_silences(state, ACL_C_aclrtDestroyEvent, E, 0);
}

static void a_synchronize_in_between_silences(void **state)
{
	an_event_call_in_between_silences(state, ACL_C_aclrtSynchronizeEvent, E, 0);
}

static void an_old_query_in_between_silences(void **state)
{
	an_event_call_in_between_silences(state, ACL_C_aclrtQueryEvent, E, 0x1000);
}

static void a_wait_in_between_silences(void **state)
{
	an_event_call_in_between_silences(state, ACL_C_aclrtStreamWaitEvent, S, E);
}

static void a_create_in_between_silences(void **state)
{
	an_event_call_in_between_silences(state, ACL_C_aclrtCreateEvent, F, 0);
}

static void a_poll_of_an_event_never_recorded_does_not_speak(void **state)
{
	struct world *w = late(state);

	create_event_ex(w, E); /* seen, so it is known that it was not recorded */
	poll_event(w, E, DONE);
	free_host(w, BUF);
	silent(w);
}

static void a_release_of_no_buffer_at_all_is_silent(void **state)
{
	struct world *w = late(state);

	poll_event(w, E, DONE);
	free_host(w, 0);
	silent(w);
}

/* ---- bounds ------------------------------------------------------------ */

/* S waits for `n` other streams, each with a copy in a buffer of its own. */
static void wait_for(struct world *w, int n)
{
	for (int i = 0; i < n; i++) {
		const __u64 stream = 0x7f0000300000 + i * 64;

		create_stream(w, stream);
		malloc_host(w, BUF + i * 0x10000, 4096);
		copy_h2d(w, BUF + i * 0x10000, 64, stream);
		record_event(w, E, stream);
		stream_wait(w, S, E);
	}
}

static void a_stream_inherits_from_eight_others(void **state)
{
	struct world *w = begin(state);

	wait_for(w, 8);
	assert_int_equal(lost(w, ACL_L_OVERFLOW), 0);
	create_event(w, F);
	record_event(w, F, S);
	query_event(w, F, DONE);
	for (int i = 0; i < 8; i++)
		free_host(w, BUF + i * 0x10000);
	silent(w);
}

static void a_ninth_stream_to_inherit_from_is_suspected(void **state)
{
	struct world *w = begin(state);

	wait_for(w, 9);
	assert_int_equal(lost(w, ACL_L_OVERFLOW), 1);
	create_event(w, F);
	record_event(w, F, S);
	query_event(w, F, DONE);
	for (int i = 0; i < 8; i++)
		free_host(w, BUF + i * 0x10000);
	silent(w);
	free_host(w, BUF + 8 * 0x10000);
	because(expect(w, FREE_IN_FLIGHT, ERROR, SUSPECTED), OVERFLOW);
}

static void streams_that_are_gone_make_room_to_inherit(void **state)
{
	struct world *w = begin(state);

	for (int i = 0; i < 100; i++) {
		create_stream(w, T + 64);
		record_event(w, E, T + 64);
		stream_wait(w, S, E);
		destroy_stream(w, T + 64);
	}
	assert_int_equal(lost(w, ACL_L_OVERFLOW), 0);
}

static void calls_nested_too_deep_are_counted_and_make_the_process_suspected(void **state)
{
	struct world *w = begin(state);

	malloc_host(w, BUF, 4096);
	copy_h2d(w, BUF, 64, S);
	for (int i = 0; i < ACL_NEST_MAX; i++) {
		holds(w);
		sync_stream(w, T + i);
	}
	holds(w);
	query_stream(w, T, DONE);
	assert_int_equal(lost(w, ACL_L_NESTED), 1);
	for (int i = 0; i <= ACL_NEST_MAX; i++)
		returns(w);
	assert_int_equal(lost(w, ACL_L_NO_ENTRY), 0);
	free_host(w, BUF);
	because(expect(w, FREE_IN_FLIGHT, ERROR, SUSPECTED), LOST);
}

/* ---- full tables ------------------------------------------------------- */

static void a_buffer_beyond_the_table_is_counted(void **state)
{
	struct world *w = begin(state);

	store__limit(w->store, STORE_BUFS, 1);
	malloc_host(w, BUF, 4096);
	malloc_host(w, BUF + 0x10000, 4096);
	assert_int_equal(lost(w, ACL_L_BUF_FULL), 1);
	copy_h2d(w, BUF + 0x10000, 64, S);
	free_host(w, BUF + 0x10000);
	silent(w);
	assert_int_equal(proc_of(w, TGID)->bufs_made, 1);
	free_host(w, BUF);
	malloc_host(w, BUF + 0x10000, 4096);
	assert_int_equal(lost(w, ACL_L_BUF_FULL), 1);
}

static void an_event_beyond_the_table_makes_the_process_suspected(void **state)
{
	struct world *w = begin(state);

	store__limit(w->store, STORE_EVENTS, 1);
	create_event(w, F);
	assert_int_equal(lost(w, ACL_L_EVENT_FULL), 1);
	malloc_host(w, BUF, 4096);
	copy_h2d(w, BUF, 64, S);
	free_host(w, BUF);
	because(expect(w, FREE_IN_FLIGHT, ERROR, SUSPECTED), FULL);
}

static void a_stream_beyond_the_table_makes_the_process_suspected(void **state)
{
	struct world *w = begin(state);

	store__limit(w->store, STORE_STREAMS, 2);
	create_stream(w, T + 64);
	assert_int_equal(lost(w, ACL_L_STREAM_FULL), 1);
	malloc_host(w, BUF, 4096);
	copy_h2d(w, BUF, 64, T + 64); /* not kept, for there is no stream */
	free_host(w, BUF);
	silent(w);
	malloc_host(w, BUF, 4096);
	copy_h2d(w, BUF, 64, S);
	free_host(w, BUF);
	because(expect(w, FREE_IN_FLIGHT, ERROR, SUSPECTED), FULL);
}

static void a_name_beyond_the_table_leaves_no_stream(void **state)
{
	struct world *w = begin(state);

	store__limit(w->store, STORE_NAMES, 2);
	create_stream(w, T + 64);
	assert_int_equal(lost(w, ACL_L_STREAM_FULL), 1);
	assert_int_equal(used(w, STORE_STREAMS), 2);
}

static void a_third_copy_beyond_the_table_makes_the_buffer_suspected(void **state)
{
	struct world *w = begin(state);

	store__limit(w->store, STORE_COPIES, 0);
	create_stream(w, T + 64);
	malloc_host(w, BUF, 4096);
	copy_h2d(w, BUF, 64, S);
	copy_h2d(w, BUF, 64, T);
	copy_h2d(w, BUF, 64, T + 64);
	assert_int_equal(lost(w, ACL_L_OTHER_FULL), 1);
	free_host(w, BUF);
	because(expect(w, FREE_IN_FLIGHT, ERROR, SUSPECTED), FULL);
}

static void a_wait_beyond_the_table_makes_both_streams_suspected(void **state)
{
	struct world *w = begin(state);

	store__limit(w->store, STORE_INHERITS, 0);
	malloc_host(w, BUF, 4096);
	copy_h2d(w, BUF, 64, S);
	record_event(w, E, S);
	stream_wait(w, T, E);
	assert_int_equal(lost(w, ACL_L_OTHER_FULL), 1);
	sync_stream(w, T);
	free_host(w, BUF);
	assert_int_equal(expect(w, FREE_IN_FLIGHT, ERROR, SUSPECTED)->evidence, ACL_EV_SUSPECTED);
}

static void a_record_whose_inherits_find_no_room_makes_the_other_stream_suspected(void **state)
{
	struct world *w = begin(state);

	create_event(w, F);
	malloc_host(w, BUF, 4096);
	copy_h2d(w, BUF, 64, S);
	record_event(w, E, S);
	stream_wait(w, T, E);
	store__limit(w->store, STORE_INHERITS, 1);
	record_event(w, F, T);
	assert_int_equal(lost(w, ACL_L_OTHER_FULL), 1);
	query_event(w, F, DONE); /* settles S in truth, but we could not keep that */
	free_host(w, BUF);
	because(expect(w, FREE_IN_FLIGHT, ERROR, SUSPECTED), FULL);
}

static void an_event_seen_on_more_streams_than_the_table_takes_is_suspected(void **state)
{
	struct world *w = begin(state);

	store__limit(w->store, STORE_SEENS, 0);
	for (int i = 0; i < 3; i++) {
		create_stream(w, T + i * 64 + 64);
		malloc_host(w, BUF + i * 0x10000, 64);
		copy_h2d(w, BUF + i * 0x10000, 64, T + i * 64 + 64);
		record_event(w, E, T + i * 64 + 64);
		poll_event(w, E, DONE);
	}
	reset_event(w, E, S);
	destroy_event(w, E);
	free_host(w, BUF);
	free_host(w, BUF + 0x10000);
	silent(w);
	free_host(w, BUF + 0x20000);
	expect(w, FREE_BEFORE_DESTROY, WARNING, SUSPECTED);
}

static void a_process_beyond_the_table_is_counted(void **state)
{
	struct world *w = begin(state);

	store__limit(w->store, STORE_PROCS, 1);
	as_process(w, 200, 200);
	malloc_host(w, BUF, 4096);
	assert_int_equal(lost(w, ACL_L_PROC_FULL), 2); /* its entry and its return */
	assert_null(store__proc(w->store, 200));
}

static void a_thread_beyond_the_table_makes_the_process_suspected(void **state)
{
	struct world *w = begin(state);

	malloc_host(w, BUF, 4096);
	copy_h2d(w, BUF, 64, S);
	store__limit(w->store, STORE_THREADS, 1);
	as(w, OTHER);
	sync_stream(w, S);
	assert_int_equal(lost(w, ACL_L_THREAD_FULL), 2);
	as(w, TGID);
	free_host(w, BUF);
	because(expect(w, FREE_IN_FLIGHT, ERROR, SUSPECTED), LOST);
}

static void a_violation_that_finds_the_ring_full_is_counted(void **state)
{
	struct world *w = begin(state);

	store__limit(w->store, STORE_REPORTS, 0);
	malloc_host(w, BUF, 4096);
	copy_h2d(w, BUF, 64, S);
	free_host(w, BUF);
	silent(w);
	assert_int_equal(lost(w, ACL_L_RING_FULL), 1);
	assert_int_equal(proc_of(w, TGID)->losses[ACL_L_RING_FULL], 1);
	assert_int_equal(lost(w, ACL_L_SEQUEL), 0);
	/* only what became of it is lost */
	store__limit(w->store, STORE_REPORTS, 1);
	malloc_host(w, BUF, 4096);
	copy_h2d(w, BUF, 64, S);
	free_host(w, BUF);
	expect(w, FREE_IN_FLIGHT, ERROR, CERTAIN);
	assert_int_equal(lost(w, ACL_L_RING_FULL), 1);
	assert_int_equal(lost(w, ACL_L_SEQUEL), 1);
}

static void descriptors_and_contexts_beyond_the_table_are_counted(void **state)
{
	struct world *w = begin(state);

	store__limit(w->store, STORE_DESCS, 0);
	call(w, aclrtSetMemcpyDesc, 0, 0x5000, H2D, BUF, DEVICE_MEM, 128);
	assert_int_equal(lost(w, ACL_L_OTHER_FULL), 1);
	store__limit(w->store, STORE_CTXS, 0);
	get_ctx(w, 0x7000);
	assert_int_equal(lost(w, ACL_L_OTHER_FULL), 2);
}

/* ---- contention -------------------------------------------------------- */

static void contended(struct world *w)
{
	assert_int_equal(lost(w, ACL_L_CONTENDED), 1);
}

static struct world *with_copy(void **state)
{
	struct world *w = begin(state);

	malloc_host(w, BUF, 4096);
	copy_h2d(w, BUF, 64, S);
	record_event(w, E, S);
	return w;
}

static void a_contended_copy_makes_the_buffer_suspected(void **state)
{
	struct world *w = with_copy(state);

	store__contend(w->store, 0, 1);
	copy_h2d(w, BUF, 64, S);
	contended(w);
	free_host(w, BUF);
	because(expect(w, FREE_IN_FLIGHT, ERROR, SUSPECTED), RACED);
}

static void a_contended_undo_makes_the_buffer_suspected(void **state)
{
	struct world *w = with_copy(state);

	store__contend(w->store, 1, 1);
	fails(w, ERR);
	copy_h2d(w, BUF, 64, S);
	contended(w);
	free_host(w, BUF);
	because(expect(w, FREE_IN_FLIGHT, ERROR, SUSPECTED), RACED);
}

static void a_contended_release_is_suspected(void **state)
{
	struct world *w = with_copy(state);

	store__contend(w->store, 0, 1);
	free_host(w, BUF);
	contended(w);
	because(expect(w, FREE_IN_FLIGHT, ERROR, SUSPECTED), RACED);
}

static void a_contended_barrier_makes_the_stream_suspected(void **state)
{
	struct world *w = with_copy(state);

	store__contend(w->store, 0, 1);
	sync_stream(w, S);
	contended(w);
	free_host(w, BUF);
	because(expect(w, FREE_IN_FLIGHT, ERROR, SUSPECTED), RACED);
}

static void a_contended_device_barrier_makes_the_process_suspected(void **state)
{
	struct world *w = with_copy(state);

	store__contend(w->store, 0, 1);
	sync_device(w);
	contended(w);
	free_host(w, BUF);
	because(expect(w, FREE_IN_FLIGHT, ERROR, SUSPECTED), RACED);
}

static void a_contended_record_makes_stream_and_event_suspected(void **state)
{
	struct world *w = with_copy(state);

	copy_h2d(w, BUF, 64, S);
	store__contend(w->store, 0, 1);
	record_event(w, E, S);
	contended(w);
	query_event(w, E, DONE);
	free_host(w, BUF);
	because(expect(w, FREE_IN_FLIGHT, ERROR, SUSPECTED), RACED);
}

static void a_contended_poll_makes_the_stream_suspected(void **state)
{
	struct world *w = with_copy(state);

	store__contend(w->store, 0, 1);
	poll_event(w, E, DONE);
	contended(w);
	free_host(w, BUF);
	because(expect(w, FREE_IN_FLIGHT, ERROR, SUSPECTED), RACED);
}

static void what_a_contended_poll_did_not_note_is_suspected_after_the_destroy(void **state)
{
	struct world *w = with_copy(state);

	store__contend(w->store, 1, 1); /* the stream learns of it, the event does not */
	poll_event(w, E, DONE);
	contended(w);
	record_event(w, E, T);
	destroy_event(w, E);
	free_host(w, BUF);
	because(expect(w, FREE_BEFORE_DESTROY, ERROR, SUSPECTED), RACED);
}

static void what_a_contended_destroy_did_not_settle_is_suspected(void **state)
{
	struct world *w = with_copy(state);

	poll_event(w, E, DONE);
	store__contend(w->store, 0, 1);
	destroy_event(w, E);
	contended(w);
	free_host(w, BUF);
	because(expect(w, FREE_BEFORE_DESTROY, ERROR, SUSPECTED), RACED);
}

static void a_destroy_contended_at_its_return_is_suspected(void **state)
{
	struct world *w = with_copy(state);

	poll_event(w, E, DONE);
	store__contend(w->store, 1, 2); /* what was seen, and the current record */
	destroy_event(w, E);
	assert_int_equal(lost(w, ACL_L_CONTENDED), 2);
	free_host(w, BUF);
	because(expect(w, FREE_BEFORE_DESTROY, ERROR, SUSPECTED), RACED);
}

static void a_contended_reset_makes_the_event_suspected(void **state)
{
	struct world *w = with_copy(state);

	store__contend(w->store, 0, 1);
	reset_event(w, E, S);
	contended(w);
	poll_event(w, E, DONE);
	free_host(w, BUF);
	because(expect(w, FREE_BEFORE_DESTROY, ERROR, SUSPECTED), RACED);
}

static void a_contended_wait_makes_both_streams_suspected(void **state)
{
	struct world *w = with_copy(state);

	store__contend(w->store, 0, 1);
	stream_wait(w, T, E);
	contended(w);
	sync_stream(w, T); /* would be a weak barrier for S */
	free_host(w, BUF);
	because(expect(w, FREE_IN_FLIGHT, ERROR, SUSPECTED), RACED);
}

static void contention_anywhere_never_makes_a_false_report_certain(void **state)
{
	/* a clean program, with each of its locks refused once */
	for (int nth = 0; nth < 40; nth++) {
		struct world *w = *state;
		const struct acl_cfg cfg = world__cfg();

		world__restart(w, &cfg, 0);
		store__contend(w->store, nth, 1);
		begin(state);
		create_event(w, F);
		malloc_host(w, BUF, 4096);
		copy_h2d(w, BUF, 64, S);
		copy_d2h(w, BUF, 64, T);
		record_event(w, E, S);
		stream_wait(w, T, E);
		record_event(w, F, T);
		poll_event(w, F, DONE);
		destroy_event(w, F);
		destroy_event(w, E);
		free_host(w, BUF);
		for (__u32 i = 0; i < w->nr_said; i++) {
			if (w->said[i].evidence != ACL_EV_SUSPECTED)
				print_error("lock %d\n", nth);
			assert_int_equal(w->said[i].evidence, ACL_EV_SUSPECTED);
		}
		w->heard = w->nr_said;
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		world_test(a_buffer_older_than_the_probes_is_suspected),
		world_test(a_buffer_younger_than_the_probes_is_certain),
		world_test(the_probes_of_each_process_may_be_complete_later),
		world_test(an_unknown_buffer_after_a_poll_is_suspected),
		world_test(an_unknown_buffer_without_a_poll_is_silent),
		world_test(an_unknown_buffer_is_silent_if_we_were_there_from_the_start),
		world_test(a_poll_of_another_thread_does_not_speak),
		world_test(a_poll_that_was_not_complete_does_not_speak),
		world_test(a_poll_that_failed_does_not_speak),
		world_test(a_poll_as_old_as_the_window_speaks),
		world_test(a_poll_older_than_the_window_does_not_speak),
		world_test(a_record_in_between_silences),
		world_test(a_reset_in_between_silences),
		world_test(a_destroy_in_between_silences),
		world_test(a_synchronize_in_between_silences),
		world_test(an_old_query_in_between_silences),
		world_test(a_wait_in_between_silences),
		world_test(a_create_in_between_silences),
		world_test(a_poll_of_an_event_never_recorded_does_not_speak),
		world_test(a_release_of_no_buffer_at_all_is_silent),
		world_test(a_stream_inherits_from_eight_others),
		world_test(a_ninth_stream_to_inherit_from_is_suspected),
		world_test(streams_that_are_gone_make_room_to_inherit),
		world_test(calls_nested_too_deep_are_counted_and_make_the_process_suspected),
		world_test(a_buffer_beyond_the_table_is_counted),
		world_test(an_event_beyond_the_table_makes_the_process_suspected),
		world_test(a_stream_beyond_the_table_makes_the_process_suspected),
		world_test(a_name_beyond_the_table_leaves_no_stream),
		world_test(a_third_copy_beyond_the_table_makes_the_buffer_suspected),
		world_test(a_wait_beyond_the_table_makes_both_streams_suspected),
		world_test(a_record_whose_inherits_find_no_room_makes_the_other_stream_suspected),
		world_test(an_event_seen_on_more_streams_than_the_table_takes_is_suspected),
		world_test(a_process_beyond_the_table_is_counted),
		world_test(a_thread_beyond_the_table_makes_the_process_suspected),
		world_test(a_violation_that_finds_the_ring_full_is_counted),
		world_test(descriptors_and_contexts_beyond_the_table_are_counted),
		world_test(a_contended_copy_makes_the_buffer_suspected),
		world_test(a_contended_undo_makes_the_buffer_suspected),
		world_test(a_contended_release_is_suspected),
		world_test(a_contended_barrier_makes_the_stream_suspected),
		world_test(a_contended_device_barrier_makes_the_process_suspected),
		world_test(a_contended_record_makes_stream_and_event_suspected),
		world_test(a_contended_poll_makes_the_stream_suspected),
		world_test(what_a_contended_poll_did_not_note_is_suspected_after_the_destroy),
		world_test(what_a_contended_destroy_did_not_settle_is_suspected),
		world_test(a_destroy_contended_at_its_return_is_suspected),
		world_test(a_contended_reset_makes_the_event_suspected),
		world_test(a_contended_wait_makes_both_streams_suspected),
		world_test(contention_anywhere_never_makes_a_false_report_certain),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("evidence", tests, NULL, NULL);
}
