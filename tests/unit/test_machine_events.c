/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Events: records and their generations, queries that race with them, what streams inherit. */
#include "world.h"

#define BUF 0x120043200000ULL
#define S 0x7f0000001000ULL
#define T 0x7f0000002000ULL
#define U 0x7f0000003000ULL
#define E 0x7f0000101000ULL
#define F 0x7f0000102000ULL
#define G 0x7f0000103000ULL
#define ERR 507000
#define OTHER 101 /* another thread */

static struct world *with_copy(void **state)
{
	struct world *w = *state;

	set_device(w, 0);
	create_stream(w, S);
	create_stream(w, T);
	create_stream(w, U);
	create_event(w, E);
	create_event(w, F);
	create_event(w, G);
	malloc_host(w, BUF, 4096);
	copy_h2d(w, BUF, 4096, S);
	return w;
}

/* ---- the current record ------------------------------------------------ */

static void complete_on_an_event_never_recorded_says_nothing(void **state)
{
	struct world *w = with_copy(state);

	poll_event(w, E, DONE);
	query_event(w, E, DONE);
	sync_event(w, E);
	create_event_ex(w, 0x7f0000104000);
	poll_event(w, 0x7f0000104000, DONE);
	destroy_event(w, 0x7f0000104000);
	free_host(w, BUF);
	expect(w, FREE_IN_FLIGHT, ERROR, CERTAIN);
}

static void complete_on_an_event_never_seen_says_nothing(void **state)
{
	struct world *w = with_copy(state);

	poll_event(w, 0x7f0000104000, DONE);
	free_host(w, BUF);
	expect(w, FREE_IN_FLIGHT, ERROR, CERTAIN);
}

static void a_record_elsewhere_ends_the_old_one(void **state)
{
	struct world *w = with_copy(state);

	record_event(w, E, S);
	record_event(w, E, T);
	poll_event(w, E, DONE);
	free_host(w, BUF);
	expect(w, FREE_IN_FLIGHT, ERROR, CERTAIN);
}

static void a_reset_ends_the_record(void **state)
{
	struct world *w = with_copy(state);

	record_event(w, E, S);
	reset_event(w, E, S);
	poll_event(w, E, DONE);
	free_host(w, BUF);
	expect(w, FREE_IN_FLIGHT, ERROR, CERTAIN);
}

static void a_record_after_a_reset_counts(void **state)
{
	struct world *w = with_copy(state);

	record_event(w, E, S);
	reset_event(w, E, S);
	record_event(w, E, S);
	query_event(w, E, DONE);
	free_host(w, BUF);
	silent(w);
}

static void a_handle_created_again_has_no_record(void **state)
{
	struct world *w = with_copy(state);

	record_event(w, E, S);
	destroy_event(w, E);
	create_event(w, E);
	poll_event(w, E, DONE);
	destroy_event(w, E);
	free_host(w, BUF);
	expect(w, FREE_IN_FLIGHT, ERROR, CERTAIN);
}

static void a_handle_created_twice_was_destroyed_unseen(void **state)
{
	struct world *w = with_copy(state);

	record_event(w, E, S);
	create_event(w, E);
	assert_int_equal(lost(w, ACL_L_MISSED_FREE), 1);
	poll_event(w, E, DONE);
	free_host(w, BUF);
	expect(w, FREE_IN_FLIGHT, ERROR, CERTAIN);
}

static void a_handle_created_before_the_destroy_returned_is_a_new_event(void **state)
{
	struct world *w = with_copy(state);

	record_event(w, E, S);
	poll_event(w, E, DONE);
	holds(w);
	destroy_event(w, E);
	as(w, OTHER);
	create_event(w, E);
	record_event(w, E, T);
	as(w, TGID);
	returns(w);
	assert_int_equal(lost(w, ACL_L_MISSED_FREE), 0);
	free_host(w, BUF);
	silent(w);
	malloc_host(w, BUF, 64);
	copy_h2d(w, BUF, 64, T);
	record_event(w, E, T);
	query_event(w, E, DONE); /* the new one is alive */
	free_host(w, BUF);
	silent(w);
}

static void an_event_whose_creation_was_missed_is_taken_in(void **state)
{
	struct world *w = with_copy(state);
	const __u64 unseen = 0x7f0000104000;

	record_event(w, unseen, S);
	assert_int_equal(lost(w, ACL_L_MISSED_CREATE), 1);
	poll_event(w, unseen, DONE);
	free_host(w, BUF);
	assert_int_equal(expect(w, FREE_BEFORE_DESTROY, ERROR, CERTAIN)->event.call, ACL_C_MAX);
}

static void a_creation_that_fails_makes_no_event(void **state)
{
	struct world *w = *state;

	fails(w, 207007);
	create_event(w, E);
	assert_int_equal(used(w, STORE_EVENTS), 0);
}

/* ---- calls that fail take their effect back ---------------------------- */

static void a_record_that_fails_leaves_the_old_one(void **state)
{
	struct world *w = with_copy(state);

	record_event(w, E, S);
	fails(w, ERR);
	record_event(w, E, T);
	query_event(w, E, DONE);
	free_host(w, BUF);
	silent(w);
}

static void a_first_record_that_fails_leaves_none(void **state)
{
	struct world *w = with_copy(state);

	fails(w, ERR);
	record_event(w, E, S);
	query_event(w, E, DONE);
	free_host(w, BUF);
	expect(w, FREE_IN_FLIGHT, ERROR, CERTAIN);
}

static void a_record_that_fails_leaves_what_the_old_one_inherited(void **state)
{
	struct world *w = with_copy(state);

	record_event(w, E, S);
	stream_wait(w, T, E);
	record_event(w, F, T);
	fails(w, ERR);
	record_event(w, F, U);
	query_event(w, F, DONE);
	free_host(w, BUF);
	silent(w);
}

static void a_reset_that_fails_leaves_the_record(void **state)
{
	struct world *w = with_copy(state);

	record_event(w, E, S);
	stream_wait(w, T, E);
	record_event(w, F, T);
	fails(w, ERR);
	reset_event(w, F, T);
	query_event(w, F, DONE);
	free_host(w, BUF);
	silent(w);
}

static void a_wait_that_fails_inherits_nothing(void **state)
{
	struct world *w = with_copy(state);

	record_event(w, E, S);
	fails(w, ERR);
	stream_wait(w, T, E);
	record_event(w, F, T);
	query_event(w, F, DONE);
	free_host(w, BUF);
	expect(w, FREE_IN_FLIGHT, ERROR, CERTAIN);
}

static void a_wait_that_fails_leaves_what_was_inherited_before(void **state)
{
	struct world *w = with_copy(state);

	record_event(w, E, S);
	stream_wait(w, T, E);
	copy_h2d(w, BUF, 64, S);
	record_event(w, E, S);
	fails(w, ERR);
	stream_wait(w, T, E);
	malloc_host(w, BUF + 0x10000, 64);
	record_event(w, F, T);
	query_event(w, F, DONE);
	free_host(w, BUF);
	expect(w, FREE_IN_FLIGHT, ERROR, CERTAIN); /* the second copy */
}

static void a_destroy_that_fails_leaves_the_event(void **state)
{
	struct world *w = with_copy(state);

	record_event(w, E, S);
	fails(w, ERR);
	destroy_event(w, E);
	query_event(w, E, DONE);
	free_host(w, BUF);
	silent(w);
	assert_int_equal(proc_of(w, TGID)->events_gone, 0);
}

static void a_record_of_an_unseen_event_that_fails_leaves_no_event(void **state)
{
	struct world *w = with_copy(state);
	__u64 before = used(w, STORE_EVENTS);

	fails(w, ERR);
	record_event(w, 0x7f0000104000, S);
	assert_int_equal(used(w, STORE_EVENTS), before);
}

static void a_failing_record_whose_effect_is_gone_makes_the_event_suspected(void **state)
{
	struct world *w = with_copy(state);

	holds(w);
	record_event(w, E, S);
	as(w, OTHER);
	record_event(w, E, S);
	as(w, TGID);
	returns_with(w, ERR);
	poll_event(w, E, DONE);
	free_host(w, BUF);
	because(expect(w, FREE_BEFORE_DESTROY, WARNING, SUSPECTED), RACED);
}

/* ---- queries that race ------------------------------------------------- */

static void a_record_between_a_querys_entry_and_return_voids_it(void **state)
{
	struct world *w = with_copy(state);

	record_event(w, E, S);
	holds(w);
	poll_event(w, E, DONE);
	as(w, OTHER);
	record_event(w, E, S);
	as(w, TGID);
	returns(w);
	free_host(w, BUF);
	expect(w, FREE_IN_FLIGHT, ERROR, CERTAIN);
}

static void a_record_that_failed_in_between_voids_it_too(void **state)
{
	struct world *w = with_copy(state);

	record_event(w, E, S);
	holds(w);
	poll_event(w, E, DONE);
	as(w, OTHER);
	fails(w, ERR);
	record_event(w, E, S);
	as(w, TGID);
	returns(w);
	free_host(w, BUF);
	expect(w, FREE_IN_FLIGHT, ERROR, CERTAIN);
}

static void a_reset_between_a_querys_entry_and_return_voids_it(void **state)
{
	struct world *w = with_copy(state);

	record_event(w, E, S);
	holds(w);
	query_event(w, E, DONE);
	as(w, OTHER);
	reset_event(w, E, S);
	as(w, TGID);
	returns(w);
	free_host(w, BUF);
	expect(w, FREE_IN_FLIGHT, ERROR, CERTAIN);
}

static void a_query_during_a_record_says_nothing(void **state)
{
	struct world *w = with_copy(state);

	record_event(w, E, S);
	as(w, OTHER);
	holds(w);
	record_event(w, E, S);
	as(w, TGID);
	poll_event(w, E, DONE);
	free_host(w, BUF);
	expect(w, FREE_IN_FLIGHT, ERROR, CERTAIN);
	as(w, OTHER);
	returns(w);
}

static void a_query_during_a_record_that_ended_first_says_nothing(void **state)
{
	struct world *w = with_copy(state);

	as(w, OTHER);
	holds(w);
	record_event(w, E, S);
	as(w, TGID);
	holds(w);
	poll_event(w, E, DONE);
	as(w, OTHER);
	returns(w);
	as(w, TGID);
	returns(w);
	free_host(w, BUF);
	expect(w, FREE_IN_FLIGHT, ERROR, CERTAIN);
}

static void a_query_after_the_record_returned_counts_again(void **state)
{
	struct world *w = with_copy(state);

	as(w, OTHER);
	holds(w);
	record_event(w, E, S);
	as(w, TGID);
	poll_event(w, E, DONE);
	as(w, OTHER);
	returns(w);
	as(w, TGID);
	poll_event(w, E, DONE);
	free_host(w, BUF);
	expect(w, FREE_BEFORE_DESTROY, ERROR, CERTAIN);
}

static void a_record_of_another_event_does_not_void_a_query(void **state)
{
	struct world *w = with_copy(state);

	record_event(w, E, S);
	holds(w);
	poll_event(w, E, DONE);
	as(w, OTHER);
	record_event(w, F, S);
	as(w, TGID);
	returns(w);
	free_host(w, BUF);
	expect(w, FREE_BEFORE_DESTROY, ERROR, CERTAIN);
}

static void two_queries_at_once_both_count(void **state)
{
	struct world *w = with_copy(state);

	record_event(w, E, S);
	holds(w);
	poll_event(w, E, DONE);
	as(w, OTHER);
	query_event(w, E, DONE);
	as(w, TGID);
	returns(w);
	free_host(w, BUF);
	silent(w);
}

static void a_query_during_which_the_event_is_destroyed_still_counts(void **state)
{
	struct world *w = with_copy(state);

	record_event(w, E, S);
	holds(w);
	query_event(w, E, DONE);
	as(w, OTHER);
	destroy_event(w, E);
	as(w, TGID);
	returns(w);
	free_host(w, BUF);
	silent(w);
}

static void a_query_is_about_the_generation_at_its_entry(void **state)
{
	struct world *w = with_copy(state);

	record_event(w, E, T);
	holds(w);
	query_event(w, E, DONE);
	as(w, OTHER);
	destroy_event(w, E);
	create_event(w, E);
	record_event(w, E, S);
	as(w, TGID);
	returns(w);
	destroy_event(w, E);
	free_host(w, BUF);
	expect(w, FREE_IN_FLIGHT, ERROR, CERTAIN);
}

static void synchronize_event_is_about_the_record_at_its_entry(void **state)
{
	struct world *w = with_copy(state);

	record_event(w, E, S);
	holds(w);
	sync_event(w, E);
	as(w, OTHER);
	copy_h2d(w, BUF, 64, S);
	record_event(w, E, S);
	as(w, TGID);
	returns(w);
	free_host(w, BUF);
	expect(w, FREE_IN_FLIGHT, ERROR, CERTAIN);
}

/* ---- what streams inherit ---------------------------------------------- */

static void a_record_after_a_wait_covers_the_other_stream(void **state)
{
	struct world *w = with_copy(state);

	record_event(w, E, S);
	stream_wait(w, T, E);
	record_event(w, F, T);
	poll_event(w, F, DONE);
	free_host(w, BUF);
	assert_int_equal(expect(w, FREE_BEFORE_DESTROY, ERROR, CERTAIN)->poll.handle, F);
}

static void a_wait_inherits_only_up_to_the_record(void **state)
{
	struct world *w = with_copy(state);

	record_event(w, E, S);
	copy_h2d(w, BUF, 64, S);
	stream_wait(w, T, E);
	record_event(w, F, T);
	poll_event(w, F, DONE);
	free_host(w, BUF);
	expect(w, FREE_IN_FLIGHT, ERROR, CERTAIN);
}

static void a_record_before_the_wait_does_not_inherit(void **state)
{
	struct world *w = with_copy(state);

	record_event(w, E, S);
	record_event(w, F, T);
	stream_wait(w, T, E);
	poll_event(w, F, DONE);
	free_host(w, BUF);
	expect(w, FREE_IN_FLIGHT, ERROR, CERTAIN);
}

static void inheritance_goes_on_from_stream_to_stream(void **state)
{
	struct world *w = with_copy(state);

	record_event(w, E, S);
	stream_wait(w, T, E);
	record_event(w, F, T);
	stream_wait(w, U, F);
	record_event(w, G, U);
	query_event(w, G, DONE);
	free_host(w, BUF);
	silent(w);
}

static void a_barrier_at_the_end_of_the_chain_is_a_weak_one(void **state)
{
	struct world *w = with_copy(state);

	record_event(w, E, S);
	stream_wait(w, T, E);
	record_event(w, F, T);
	stream_wait(w, U, F);
	sync_stream(w, U);
	free_host(w, BUF);
	expect(w, FREE_AFTER_EVENT_SYNC, NOTE, CERTAIN);
}

static void a_barrier_settles_its_own_and_waits_for_the_inherited(void **state)
{
	struct world *w = with_copy(state);

	malloc_host(w, BUF + 0x10000, 64);
	record_event(w, E, S);
	stream_wait(w, T, E);
	copy_h2d(w, BUF + 0x10000, 64, T);
	sync_stream(w, T);
	free_host(w, BUF + 0x10000);
	silent(w);
	free_host(w, BUF);
	expect(w, FREE_AFTER_EVENT_SYNC, NOTE, CERTAIN);
}

static void a_barrier_inherits_what_was_waited_for_before_its_entry(void **state)
{
	struct world *w = with_copy(state);

	record_event(w, E, S);
	holds(w);
	sync_stream(w, T);
	as(w, OTHER);
	stream_wait(w, T, E);
	as(w, TGID);
	returns(w);
	free_host(w, BUF);
	expect(w, FREE_IN_FLIGHT, ERROR, CERTAIN);
}

static void a_wait_counts_for_the_record_at_its_entry(void **state)
{
	struct world *w = with_copy(state);

	record_event(w, E, T);
	stream_wait(w, U, E);
	record_event(w, E, S);
	sync_stream(w, U);
	free_host(w, BUF);
	expect(w, FREE_IN_FLIGHT, ERROR, CERTAIN);
}

static void what_was_inherited_outlives_the_event(void **state)
{
	struct world *w = with_copy(state);

	record_event(w, E, S);
	stream_wait(w, T, E);
	destroy_event(w, E);
	create_event(w, E);
	record_event(w, F, T);
	query_event(w, F, DONE);
	free_host(w, BUF);
	silent(w);
}

static void a_wait_on_an_event_never_recorded_inherits_nothing(void **state)
{
	struct world *w = with_copy(state);

	stream_wait(w, T, E);
	sync_stream(w, T);
	free_host(w, BUF);
	expect(w, FREE_IN_FLIGHT, ERROR, CERTAIN);
}

static void waits_with_timeout_and_flag_inherit_as_well(void **state)
{
	struct world *w = with_copy(state);

	record_event(w, E, S);
	call(w, aclrtStreamWaitEventWithTimeout, 0, T, E, 100);
	record_event(w, F, T);
	call(w, aclrtStreamWaitEventWithFlag, 0, U, F, 100, 0);
	record_event(w, G, U);
	query_event(w, G, DONE);
	free_host(w, BUF);
	silent(w);
}

static void a_new_record_forgets_what_the_old_one_inherited(void **state)
{
	struct world *w = with_copy(state);

	record_event(w, E, S);
	stream_wait(w, T, E);
	record_event(w, F, T);
	record_event(w, F, U);
	query_event(w, F, DONE);
	free_host(w, BUF);
	expect(w, FREE_IN_FLIGHT, ERROR, CERTAIN);
}

static void a_stream_created_again_inherits_nothing_of_the_old_one(void **state)
{
	struct world *w = with_copy(state);

	record_event(w, E, S);
	stream_wait(w, T, E);
	destroy_stream_force(w, T);
	create_stream(w, T);
	sync_stream(w, T);
	free_host(w, BUF);
	expect(w, FREE_IN_FLIGHT, ERROR, CERTAIN);
}

static void two_streams_that_wait_for_each_other_stay_bounded(void **state)
{
	struct world *w = with_copy(state);

	for (int i = 0; i < 100; i++) {
		record_event(w, E, S);
		stream_wait(w, T, E);
		record_event(w, F, T);
		stream_wait(w, S, F);
	}
	assert_int_equal(lost(w, ACL_L_OVERFLOW), 0);
	record_event(w, G, S);
	query_event(w, G, DONE);
	free_host(w, BUF);
	silent(w);
}

/* ---- the furthest seen ------------------------------------------------- */

static void an_event_keeps_the_furthest_position_of_ten_streams(void **state)
{
	struct world *w = with_copy(state);
	const __u64 first = 0x7f0000200000;

	for (int i = 0; i < 10; i++) {
		create_stream(w, first + i * 64);
		record_event(w, E, first + i * 64);
		poll_event(w, E, DONE);
		malloc_host(w, BUF + 0x10000 * (i + 1), 64);
		copy_h2d(w, BUF + 0x10000 * (i + 1), 64, first + i * 64);
		record_event(w, E, first + i * 64);
		poll_event(w, E, DONE);
	}
	assert_int_equal(lost(w, ACL_L_OVERFLOW), 0);
	reset_event(w, E, S);
	destroy_event(w, E);
	for (int i = 0; i < 10; i++)
		free_host(w, BUF + 0x10000 * (i + 1));
	silent(w);
	assert_int_equal(used(w, STORE_SEENS), 0);
}

static void an_eleventh_stream_is_suspected(void **state)
{
	struct world *w = with_copy(state);
	const __u64 first = 0x7f0000200000;

	for (int i = 0; i < 11; i++) {
		create_stream(w, first + i * 64);
		malloc_host(w, BUF + 0x10000 * (i + 1), 64);
		copy_h2d(w, BUF + 0x10000 * (i + 1), 64, first + i * 64);
		record_event(w, E, first + i * 64);
		poll_event(w, E, DONE);
	}
	assert_int_equal(lost(w, ACL_L_OVERFLOW), 1);
	reset_event(w, E, S);
	destroy_event(w, E);
	for (int i = 0; i < 10; i++)
		free_host(w, BUF + 0x10000 * (i + 1));
	silent(w);
	free_host(w, BUF + 0x10000 * 11);
	because(expect(w, FREE_BEFORE_DESTROY, WARNING, SUSPECTED), OVERFLOW);
}

static void the_furthest_seen_is_kept_of_what_a_record_inherited(void **state)
{
	struct world *w = with_copy(state);

	record_event(w, E, S);
	stream_wait(w, T, E);
	record_event(w, F, T);
	poll_event(w, F, DONE);
	record_event(w, F, U);
	destroy_event(w, F);
	free_host(w, BUF);
	silent(w);
}

/* ---- nothing is left --------------------------------------------------- */

static void nothing_is_left_of_events_that_were_destroyed(void **state)
{
	struct world *w = with_copy(state);

	record_event(w, E, S);
	stream_wait(w, T, E);
	record_event(w, F, T);
	stream_wait(w, U, F);
	record_event(w, G, U);
	record_event(w, F, T);
	reset_event(w, E, S);
	poll_event(w, G, DONE);
	destroy_event(w, E);
	destroy_event(w, F);
	destroy_event(w, G);
	assert_int_equal(used(w, STORE_EVENTS), 0);
	assert_int_equal(used(w, STORE_SEENS), 0);
	assert_int_equal(used(w, STORE_INHERITS), 2); /* of T and U */
	destroy_stream(w, S);
	destroy_stream(w, T);
	destroy_stream(w, U);
	assert_int_equal(used(w, STORE_INHERITS), 0);
	assert_int_equal(used(w, STORE_STREAMS), 0);
	assert_int_equal(used(w, STORE_NAMES), 0);
	assert_int_equal(proc_of(w, TGID)->events_made, 3);
	assert_int_equal(proc_of(w, TGID)->events_gone, 3);
	assert_int_equal(proc_of(w, TGID)->streams_made, proc_of(w, TGID)->streams_gone);
}

static void resets_and_records_that_fail_leave_no_inherits_behind(void **state)
{
	struct world *w = with_copy(state);

	for (int i = 0; i < 10; i++) {
		record_event(w, E, S);
		stream_wait(w, T, E);
		record_event(w, F, T);
		reset_event(w, F, T);
		fails(w, ERR);
		record_event(w, F, T);
		destroy_event(w, F);
		create_event(w, F);
	}
	assert_int_equal(used(w, STORE_INHERITS), 1); /* of T */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		world_test(complete_on_an_event_never_recorded_says_nothing),
		world_test(complete_on_an_event_never_seen_says_nothing),
		world_test(a_record_elsewhere_ends_the_old_one),
		world_test(a_reset_ends_the_record),
		world_test(a_record_after_a_reset_counts),
		world_test(a_handle_created_again_has_no_record),
		world_test(a_handle_created_twice_was_destroyed_unseen),
		world_test(a_handle_created_before_the_destroy_returned_is_a_new_event),
		world_test(an_event_whose_creation_was_missed_is_taken_in),
		world_test(a_creation_that_fails_makes_no_event),
		world_test(a_record_that_fails_leaves_the_old_one),
		world_test(a_first_record_that_fails_leaves_none),
		world_test(a_record_that_fails_leaves_what_the_old_one_inherited),
		world_test(a_reset_that_fails_leaves_the_record),
		world_test(a_wait_that_fails_inherits_nothing),
		world_test(a_wait_that_fails_leaves_what_was_inherited_before),
		world_test(a_destroy_that_fails_leaves_the_event),
		world_test(a_record_of_an_unseen_event_that_fails_leaves_no_event),
		world_test(a_failing_record_whose_effect_is_gone_makes_the_event_suspected),
		world_test(a_record_between_a_querys_entry_and_return_voids_it),
		world_test(a_record_that_failed_in_between_voids_it_too),
		world_test(a_reset_between_a_querys_entry_and_return_voids_it),
		world_test(a_query_during_a_record_says_nothing),
		world_test(a_query_during_a_record_that_ended_first_says_nothing),
		world_test(a_query_after_the_record_returned_counts_again),
		world_test(a_record_of_another_event_does_not_void_a_query),
		world_test(two_queries_at_once_both_count),
		world_test(a_query_during_which_the_event_is_destroyed_still_counts),
		world_test(a_query_is_about_the_generation_at_its_entry),
		world_test(synchronize_event_is_about_the_record_at_its_entry),
		world_test(a_record_after_a_wait_covers_the_other_stream),
		world_test(a_wait_inherits_only_up_to_the_record),
		world_test(a_record_before_the_wait_does_not_inherit),
		world_test(inheritance_goes_on_from_stream_to_stream),
		world_test(a_barrier_at_the_end_of_the_chain_is_a_weak_one),
		world_test(a_barrier_settles_its_own_and_waits_for_the_inherited),
		world_test(a_barrier_inherits_what_was_waited_for_before_its_entry),
		world_test(a_wait_counts_for_the_record_at_its_entry),
		world_test(what_was_inherited_outlives_the_event),
		world_test(a_wait_on_an_event_never_recorded_inherits_nothing),
		world_test(waits_with_timeout_and_flag_inherit_as_well),
		world_test(a_new_record_forgets_what_the_old_one_inherited),
		world_test(a_stream_created_again_inherits_nothing_of_the_old_one),
		world_test(two_streams_that_wait_for_each_other_stay_bounded),
		world_test(an_event_keeps_the_furthest_position_of_ten_streams),
		world_test(an_eleventh_stream_is_suspected),
		world_test(the_furthest_seen_is_kept_of_what_a_record_inherited),
		world_test(nothing_is_left_of_events_that_were_destroyed),
		world_test(resets_and_records_that_fail_leave_no_inherits_behind),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("events", tests, NULL, NULL);
}
