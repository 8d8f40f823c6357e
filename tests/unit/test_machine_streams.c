/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Streams: what NULL means, contexts and devices, handles used again, graph capture. */
#include "world.h"

#define BUF 0x120043200000ULL
#define S 0x7f0000001000ULL
#define T 0x7f0000002000ULL
#define U 0x7f0000003000ULL
#define DEFAULT 0x7f000000d000ULL
#define E 0x7f0000101000ULL
#define F 0x7f0000102000ULL
#define C 0x7f0000201000ULL
#define D 0x7f0000202000ULL
#define ERR 507000
#define OTHER 101 /* another thread */

static struct world *begin(void **state)
{
	struct world *w = *state;

	create_event(w, E);
	create_event(w, F);
	malloc_host(w, BUF, 4096);
	return w;
}

static void in_flight(struct world *w)
{
	free_host(w, BUF);
	expect(w, FREE_IN_FLIGHT, ERROR, CERTAIN);
	silent(w);
}

static void settled(struct world *w)
{
	free_host(w, BUF);
	silent(w);
}

/* ---- NULL -------------------------------------------------------------- */

static void null_is_the_default_stream(void **state)
{
	struct world *w = begin(state);
	const struct acl_violation *v;

	set_device(w, 3);
	copy_h2d(w, BUF, 64, 0);
	free_host(w, BUF);
	v = expect(w, FREE_IN_FLIGHT, ERROR, CERTAIN);
	assert_int_equal(v->stream.handle, 0);
	assert_true(v->stream.is_default);
	assert_int_equal(v->stream.dev, 3);
}

static void synchronizing_null_settles_the_default_stream(void **state)
{
	struct world *w = begin(state);

	set_device(w, 0);
	copy_h2d(w, BUF, 64, 0);
	sync_stream(w, 0);
	settled(w);
}

static void synchronizing_null_settles_no_other_stream(void **state)
{
	struct world *w = begin(state);

	set_device(w, 0);
	create_stream(w, S);
	copy_h2d(w, BUF, 64, S);
	sync_stream(w, 0);
	in_flight(w);
}

static void events_are_recorded_on_null_too(void **state)
{
	struct world *w = begin(state);

	set_device(w, 0);
	copy_h2d(w, BUF, 64, 0);
	record_event(w, E, 0);
	poll_event(w, E, DONE);
	free_host(w, BUF);
	expect(w, FREE_BEFORE_DESTROY, ERROR, CERTAIN);
}

static void null_can_wait_and_be_waited_for(void **state)
{
	struct world *w = begin(state);

	set_device(w, 0);
	create_stream(w, S);
	copy_h2d(w, BUF, 64, S);
	record_event(w, E, S);
	stream_wait(w, 0, E);
	record_event(w, F, 0);
	query_event(w, F, DONE);
	settled(w);
}

static void threads_on_one_device_share_the_default_stream(void **state)
{
	struct world *w = begin(state);

	set_device(w, 0);
	copy_h2d(w, BUF, 64, 0);
	as(w, OTHER);
	set_device(w, 0);
	sync_stream(w, 0);
	settled(w);
}

static void each_device_has_a_default_stream(void **state)
{
	struct world *w = begin(state);

	set_device(w, 0);
	copy_h2d(w, BUF, 64, 0);
	set_device(w, 1);
	sync_stream(w, 0);
	in_flight(w);
}

static void setting_the_device_back_means_its_default_stream_again(void **state)
{
	struct world *w = begin(state);

	set_device(w, 0);
	copy_h2d(w, BUF, 64, 0);
	set_device(w, 1);
	set_device(w, 0);
	sync_stream(w, 0);
	settled(w);
}

static void a_set_device_that_fails_changes_nothing(void **state)
{
	struct world *w = begin(state);

	set_device(w, 0);
	copy_h2d(w, BUF, 64, 0);
	fails(w, ERR);
	set_device(w, 1);
	sync_stream(w, 0);
	settled(w);
}

static void each_context_has_a_default_stream(void **state)
{
	struct world *w = begin(state);

	create_ctx(w, C, 0);
	copy_h2d(w, BUF, 64, 0);
	create_ctx(w, D, 0);
	sync_stream(w, 0);
	in_flight(w);
}

static void creating_a_context_makes_it_current(void **state)
{
	struct world *w = begin(state);

	set_device(w, 0);
	copy_h2d(w, BUF, 64, 0);
	create_ctx(w, C, 0);
	sync_stream(w, 0);
	in_flight(w);
}

static void a_create_context_that_fails_changes_nothing(void **state)
{
	struct world *w = begin(state);

	set_device(w, 0);
	copy_h2d(w, BUF, 64, 0);
	fails(w, ERR);
	create_ctx(w, C, 0);
	sync_stream(w, 0);
	settled(w);
}

static void set_current_context_selects_its_default_stream(void **state)
{
	struct world *w = begin(state);

	create_ctx(w, C, 0);
	copy_h2d(w, BUF, 64, 0);
	create_ctx(w, D, 0);
	as(w, OTHER);
	set_ctx(w, C);
	sync_stream(w, 0);
	settled(w);
}

static void a_set_current_context_that_fails_changes_nothing(void **state)
{
	struct world *w = begin(state);

	create_ctx(w, D, 0);
	create_ctx(w, C, 0);
	copy_h2d(w, BUF, 64, 0);
	fails(w, ERR);
	set_ctx(w, D);
	sync_stream(w, 0);
	settled(w);
}

static void get_current_context_names_the_primary_one(void **state)
{
	struct world *w = begin(state);

	set_device(w, 0);
	get_ctx(w, C);
	copy_h2d(w, BUF, 64, 0);
	as(w, OTHER);
	set_ctx(w, C);
	sync_stream(w, 0);
	settled(w);
}

static void get_current_context_of_a_created_one_changes_nothing(void **state)
{
	struct world *w = begin(state);

	create_ctx(w, C, 0);
	copy_h2d(w, BUF, 64, 0);
	get_ctx(w, C);
	sync_stream(w, 0);
	settled(w);
}

static void the_default_stream_has_another_name(void **state)
{
	struct world *w = begin(state);

	set_device(w, 0);
	default_stream(w, DEFAULT);
	copy_h2d(w, BUF, 64, 0);
	sync_stream(w, DEFAULT);
	settled(w);
}

static void a_copy_by_the_other_name_is_settled_by_null(void **state)
{
	struct world *w = begin(state);

	set_device(w, 0);
	default_stream(w, DEFAULT);
	copy_h2d(w, BUF, 64, DEFAULT);
	sync_stream(w, 0);
	settled(w);
}

static void the_other_name_means_the_same_in_every_context(void **state)
{
	struct world *w = begin(state);

	set_device(w, 0);
	default_stream(w, DEFAULT);
	copy_h2d(w, BUF, 64, 0);
	set_device(w, 1);
	sync_stream(w, DEFAULT);
	settled(w);
}

static void null_copies_in_an_unknown_context_are_suspected(void **state)
{
	struct world *w = begin(state);

	copy_h2d(w, BUF, 64, 0);
	free_host(w, BUF);
	because(expect(w, FREE_IN_FLIGHT, ERROR, SUSPECTED), CONTEXT);
}

static void only_the_null_copies_are_suspected(void **state)
{
	struct world *w = begin(state);

	create_stream(w, S);
	copy_h2d(w, BUF, 64, S);
	in_flight(w);
}

static void a_context_that_was_never_seen_is_suspected(void **state)
{
	struct world *w = begin(state);

	set_ctx(w, C);
	copy_h2d(w, BUF, 64, 0);
	free_host(w, BUF);
	because(expect(w, FREE_IN_FLIGHT, ERROR, SUSPECTED), CONTEXT);
}

/* ---- contexts used again ----------------------------------------------- */

static void a_context_created_again_has_a_default_stream_of_its_own(void **state)
{
	struct world *w = begin(state);

	create_ctx(w, C, 0);
	copy_h2d(w, BUF, 64, 0);
	destroy_ctx(w, C);
	create_ctx(w, C, 0);
	sync_stream(w, 0);
	in_flight(w);
}

static void a_context_created_again_may_be_on_another_device(void **state)
{
	struct world *w = begin(state);

	create_ctx(w, C, 0);
	copy_h2d(w, BUF, 64, 0);
	sync_stream(w, 0);
	destroy_ctx(w, C);
	create_ctx(w, C, 1);
	copy_h2d(w, BUF, 64, 0);
	sync_device(w);
	settled(w);
}

/* ---- devices ----------------------------------------------------------- */

static void device_synchronisation_is_about_the_threads_device(void **state)
{
	struct world *w = begin(state);

	set_device(w, 0);
	create_stream(w, S);
	copy_h2d(w, BUF, 64, S);
	set_device(w, 1);
	sync_device(w);
	in_flight(w);
}

static void the_device_of_a_context_is_synchronised(void **state)
{
	struct world *w = begin(state);

	create_ctx(w, C, 1);
	create_stream(w, S);
	copy_h2d(w, BUF, 64, S);
	as(w, OTHER);
	set_device(w, 1);
	sync_device(w);
	settled(w);
}

static void a_thread_of_unknown_context_synchronises_all_devices(void **state)
{
	struct world *w = begin(state);

	set_device(w, 1);
	create_stream(w, S);
	copy_h2d(w, BUF, 64, S);
	as(w, OTHER);
	sync_device(w);
	settled(w);
}

static void a_stream_of_unknown_device_is_settled_by_any(void **state)
{
	struct world *w = begin(state);

	copy_h2d(w, BUF, 64, S); /* never seen created */
	set_device(w, 1);
	sync_device(w);
	settled(w);
}

static void a_device_barrier_covers_what_was_before_its_entry(void **state)
{
	struct world *w = begin(state);

	set_device(w, 0);
	create_stream(w, S);
	holds(w);
	sync_device(w);
	as(w, OTHER);
	copy_h2d(w, BUF, 64, S);
	as(w, TGID);
	returns(w);
	in_flight(w);
}

static void freeing_with_device_sync_is_about_the_threads_device(void **state)
{
	struct world *w = begin(state);

	set_device(w, 0);
	create_stream(w, S);
	copy_h2d(w, BUF, 64, S);
	malloc_host(w, BUF + 0x10000, 64);
	set_device(w, 1);
	free_host_sync(w, BUF + 0x10000);
	in_flight(w);
}

static void a_free_with_device_sync_that_fails_settles_nothing(void **state)
{
	struct world *w = begin(state);

	set_device(w, 0);
	create_stream(w, S);
	copy_h2d(w, BUF, 64, S);
	malloc_host(w, BUF + 0x10000, 64);
	fails(w, ERR);
	free_host_sync(w, BUF + 0x10000);
	expect(w, FREE_FAILED, ERROR, CONFIRMED);
	in_flight(w);
}

static void devices_with_odd_numbers_harm_nothing(void **state)
{
	struct world *w = begin(state);

	set_device(w, -1);
	set_device(w, 64);
	set_device(w, 0x7fffffff);
	create_stream(w, S);
	copy_h2d(w, BUF, 64, S);
	copy_h2d(w, BUF, 64, 0);
	reset_device(w, 0x7fffffff);
	settled(w);
}

/* ---- handles used again ------------------------------------------------ */

static void a_stream_created_again_does_not_settle_the_old_one(void **state)
{
	struct world *w = begin(state);

	set_device(w, 0);
	create_stream(w, S);
	copy_h2d(w, BUF, 64, S);
	destroy_stream_force(w, S);
	create_stream(w, S);
	sync_stream(w, S);
	in_flight(w);
}

static void the_old_streams_poll_says_nothing_of_the_new_one(void **state)
{
	struct world *w = begin(state);

	set_device(w, 0);
	create_stream(w, S);
	record_event(w, E, S);
	destroy_stream_force(w, S);
	create_stream(w, S);
	copy_h2d(w, BUF, 64, S);
	record_event(w, F, S);
	poll_event(w, E, DONE);
	in_flight(w);
}

static void a_stream_created_twice_was_destroyed_unseen(void **state)
{
	struct world *w = begin(state);

	create_stream(w, S);
	create_stream(w, S);
	assert_int_equal(lost(w, ACL_L_MISSED_FREE), 1);
}

static void a_handle_created_before_the_destroy_returned_is_a_new_stream(void **state)
{
	struct world *w = begin(state);

	set_device(w, 0);
	create_stream(w, S);
	holds(w);
	destroy_stream(w, S);
	as(w, OTHER);
	set_device(w, 0);
	create_stream(w, S);
	copy_h2d(w, BUF, 64, S);
	as(w, TGID);
	returns(w);
	in_flight(w);
	assert_int_equal(lost(w, ACL_L_MISSED_FREE), 0);
}

static void a_destroy_that_fails_leaves_the_stream(void **state)
{
	struct world *w = begin(state);

	set_device(w, 0);
	create_stream(w, S);
	copy_h2d(w, BUF, 64, S);
	fails(w, ERR);
	destroy_stream(w, S);
	sync_stream(w, S);
	settled(w);
	assert_int_equal(proc_of(w, TGID)->streams_gone, 0);
	assert_int_equal(lost(w, ACL_L_MISSED_CREATE), 0);
}

static void a_stream_whose_creation_was_missed_is_taken_in(void **state)
{
	struct world *w = begin(state);

	copy_h2d(w, BUF, 64, S);
	assert_int_equal(lost(w, ACL_L_MISSED_CREATE), 1);
	sync_stream(w, S);
	settled(w);
}

static void every_way_to_create_a_stream_is_seen(void **state)
{
	struct world *w = begin(state);

	call(w, aclrtCreateStream, S, 0x1000);
	call(w, aclrtCreateStreamV2, T, 0x1000);
	call(w, aclrtCreateStreamWithConfig, U, 0x1000);
	assert_int_equal(proc_of(w, TGID)->streams_made, 3);
	fails(w, ERR);
	create_stream(w, U + 64);
	assert_int_equal(proc_of(w, TGID)->streams_made, 3);
}

/* ---- graph capture ----------------------------------------------------- */

static struct world *with_capture(void **state)
{
	struct world *w = begin(state);

	set_device(w, 0);
	create_stream(w, S);
	create_stream(w, T);
	create_stream(w, U);
	capture_begin(w, S);
	return w;
}

static void copies_in_a_capture_are_none(void **state)
{
	struct world *w = with_capture(state);

	copy_h2d(w, BUF, 64, S);
	capture_end(w, S);
	settled(w);
}

static void records_in_a_capture_are_none(void **state)
{
	struct world *w = begin(state);

	set_device(w, 0);
	create_stream(w, S);
	copy_h2d(w, BUF, 64, S);
	capture_begin(w, S);
	record_event(w, E, S);
	capture_end(w, S);
	poll_event(w, E, DONE);
	in_flight(w);
}

static void copies_after_the_capture_count(void **state)
{
	struct world *w = with_capture(state);

	capture_end(w, S);
	copy_h2d(w, BUF, 64, S);
	in_flight(w);
}

static void other_streams_are_not_captured(void **state)
{
	struct world *w = with_capture(state);

	copy_h2d(w, BUF, 64, T);
	in_flight(w);
	capture_end(w, S);
}

static void a_capture_into_a_model_is_one_too(void **state)
{
	struct world *w = begin(state);

	set_device(w, 0);
	create_stream(w, S);
	call(w, aclmdlRICaptureToModelRIBegin, 0, S, 0x1000, 0);
	copy_h2d(w, BUF, 64, S);
	settled(w);
}

static void a_begin_that_fails_captures_nothing(void **state)
{
	struct world *w = begin(state);

	set_device(w, 0);
	create_stream(w, S);
	fails(w, ERR);
	capture_begin(w, S);
	copy_h2d(w, BUF, 64, S);
	in_flight(w);
}

static void an_end_that_fails_leaves_the_capture(void **state)
{
	struct world *w = with_capture(state);

	fails(w, ERR);
	capture_end(w, S);
	copy_h2d(w, BUF, 64, S);
	settled(w);
}

static void a_stream_that_waits_on_a_captured_record_joins(void **state)
{
	struct world *w = with_capture(state);

	record_event(w, E, S);
	stream_wait(w, T, E);
	copy_h2d(w, BUF, 64, T);
	settled(w);
}

static void a_joined_stream_leaves_with_the_origins_end(void **state)
{
	struct world *w = with_capture(state);

	record_event(w, E, S);
	stream_wait(w, T, E);
	capture_end(w, S);
	copy_h2d(w, BUF, 64, T);
	in_flight(w);
}

static void joining_goes_on_from_stream_to_stream(void **state)
{
	struct world *w = with_capture(state);

	record_event(w, E, S);
	stream_wait(w, T, E);
	record_event(w, F, T);
	stream_wait(w, U, F);
	copy_h2d(w, BUF, 64, U);
	settled(w);
	malloc_host(w, BUF, 64);
	capture_end(w, S);
	copy_h2d(w, BUF, 64, U);
	in_flight(w);
}

static void the_next_capture_does_not_take_the_joined_along(void **state)
{
	struct world *w = with_capture(state);

	record_event(w, E, S);
	stream_wait(w, T, E);
	capture_end(w, S);
	capture_begin(w, S);
	copy_h2d(w, BUF, 64, T);
	in_flight(w);
}

static void a_wait_on_a_record_of_an_earlier_capture_does_not_join(void **state)
{
	struct world *w = with_capture(state);

	record_event(w, E, S);
	capture_end(w, S);
	capture_begin(w, S);
	stream_wait(w, T, E);
	copy_h2d(w, BUF, 64, T);
	in_flight(w);
}

static void a_wait_on_an_ordinary_record_does_not_join(void **state)
{
	struct world *w = begin(state);

	set_device(w, 0);
	create_stream(w, S);
	create_stream(w, T);
	record_event(w, E, S);
	capture_begin(w, S);
	stream_wait(w, T, E);
	copy_h2d(w, BUF, 64, T);
	in_flight(w);
}

static void what_was_copied_before_the_capture_still_counts(void **state)
{
	struct world *w = begin(state);

	set_device(w, 0);
	create_stream(w, S);
	copy_h2d(w, BUF, 64, S);
	capture_begin(w, S);
	copy_h2d(w, BUF + 64, 64, S);
	free_host(w, BUF);
	assert_int_equal(expect(w, FREE_IN_FLIGHT, ERROR, CERTAIN)->copy.addr, BUF);
}

static void a_record_after_the_capture_counts_again(void **state)
{
	struct world *w = with_capture(state);

	record_event(w, E, S);
	capture_end(w, S);
	copy_h2d(w, BUF, 64, S);
	record_event(w, E, S);
	poll_event(w, E, DONE);
	free_host(w, BUF);
	/* recorded once: the captured record was none */
	expect(w, FREE_BEFORE_DESTROY, ERROR, CERTAIN);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		world_test(null_is_the_default_stream),
		world_test(synchronizing_null_settles_the_default_stream),
		world_test(synchronizing_null_settles_no_other_stream),
		world_test(events_are_recorded_on_null_too),
		world_test(null_can_wait_and_be_waited_for),
		world_test(threads_on_one_device_share_the_default_stream),
		world_test(each_device_has_a_default_stream),
		world_test(setting_the_device_back_means_its_default_stream_again),
		world_test(a_set_device_that_fails_changes_nothing),
		world_test(each_context_has_a_default_stream),
		world_test(creating_a_context_makes_it_current),
		world_test(a_create_context_that_fails_changes_nothing),
		world_test(set_current_context_selects_its_default_stream),
		world_test(a_set_current_context_that_fails_changes_nothing),
		world_test(get_current_context_names_the_primary_one),
		world_test(get_current_context_of_a_created_one_changes_nothing),
		world_test(the_default_stream_has_another_name),
		world_test(a_copy_by_the_other_name_is_settled_by_null),
		world_test(the_other_name_means_the_same_in_every_context),
		world_test(null_copies_in_an_unknown_context_are_suspected),
		world_test(only_the_null_copies_are_suspected),
		world_test(a_context_that_was_never_seen_is_suspected),
		world_test(a_context_created_again_has_a_default_stream_of_its_own),
		world_test(a_context_created_again_may_be_on_another_device),
		world_test(device_synchronisation_is_about_the_threads_device),
		world_test(the_device_of_a_context_is_synchronised),
		world_test(a_thread_of_unknown_context_synchronises_all_devices),
		world_test(a_stream_of_unknown_device_is_settled_by_any),
		world_test(a_device_barrier_covers_what_was_before_its_entry),
		world_test(freeing_with_device_sync_is_about_the_threads_device),
		world_test(a_free_with_device_sync_that_fails_settles_nothing),
		world_test(devices_with_odd_numbers_harm_nothing),
		world_test(a_stream_created_again_does_not_settle_the_old_one),
		world_test(the_old_streams_poll_says_nothing_of_the_new_one),
		world_test(a_stream_created_twice_was_destroyed_unseen),
		world_test(a_handle_created_before_the_destroy_returned_is_a_new_stream),
		world_test(a_destroy_that_fails_leaves_the_stream),
		world_test(a_stream_whose_creation_was_missed_is_taken_in),
		world_test(every_way_to_create_a_stream_is_seen),
		world_test(copies_in_a_capture_are_none),
		world_test(records_in_a_capture_are_none),
		world_test(copies_after_the_capture_count),
		world_test(other_streams_are_not_captured),
		world_test(a_capture_into_a_model_is_one_too),
		world_test(a_begin_that_fails_captures_nothing),
		world_test(an_end_that_fails_leaves_the_capture),
		world_test(a_stream_that_waits_on_a_captured_record_joins),
		world_test(a_joined_stream_leaves_with_the_origins_end),
		world_test(joining_goes_on_from_stream_to_stream),
		world_test(the_next_capture_does_not_take_the_joined_along),
		world_test(a_wait_on_a_record_of_an_earlier_capture_does_not_join),
		world_test(a_wait_on_an_ordinary_record_does_not_join),
		world_test(what_was_copied_before_the_capture_still_counts),
		world_test(a_record_after_the_capture_counts_again),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("streams", tests, NULL, NULL);
}
