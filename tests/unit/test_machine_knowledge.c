/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* What the host knows of a copy: each source of knowledge, and what it does not tell. */
#include "world.h"

#define BUF 0x120043200000ULL
#define S 0x7f0000001000ULL
#define T 0x7f0000002000ULL
#define U 0x7f0000003000ULL
#define E 0x7f0000101000ULL
#define F 0x7f0000102000ULL
#define ERR 507000

/* A buffer with a copy on S. */
static struct world *with_copy(void **state)
{
	struct world *w = *state;

	set_device(w, 0);
	create_stream(w, S);
	create_stream(w, T);
	create_event(w, E);
	create_event(w, F);
	malloc_host(w, BUF, 4096);
	copy_h2d(w, BUF, 4096, S);
	return w;
}

static struct world *with_record(void **state)
{
	struct world *w = with_copy(state);

	record_event(w, E, S);
	return w;
}

/* ---- nothing ----------------------------------------------------------- */

static void a_submitted_copy_is_in_flight(void **state)
{
	struct world *w = with_copy(state);

	free_host(w, BUF);
	expect(w, FREE_IN_FLIGHT, ERROR, CERTAIN);
}

static void a_record_alone_tells_nothing(void **state)
{
	struct world *w = with_record(state);

	free_host(w, BUF);
	expect(w, FREE_IN_FLIGHT, ERROR, CERTAIN);
}

static void a_buffer_without_copies_may_go(void **state)
{
	struct world *w = *state;

	malloc_host(w, BUF, 4096);
	free_host(w, BUF);
	silent(w);
}

/* ---- polled ------------------------------------------------------------ */

static void query_event_status_complete_polls(void **state)
{
	struct world *w = with_record(state);

	poll_event(w, E, DONE);
	free_host(w, BUF);
	expect(w, FREE_BEFORE_DESTROY, ERROR, CERTAIN);
}

static void query_event_status_complete_is_one(void **state)
{
	struct world *w = with_record(state);

	call(w, aclrtQueryEventStatus, 0, E, 0x1000);
	free_host(w, BUF);
	expect(w, FREE_IN_FLIGHT, ERROR, CERTAIN);
}

static void query_event_status_that_fails_tells_nothing(void **state)
{
	struct world *w = with_record(state);

	fails(w, ERR);
	poll_event(w, E, DONE);
	free_host(w, BUF);
	expect(w, FREE_IN_FLIGHT, ERROR, CERTAIN);
}

static void query_event_status_with_unreadable_output_tells_nothing(void **state)
{
	struct world *w = with_record(state);

	unreadable(w);
	poll_event(w, E, DONE);
	free_host(w, BUF);
	expect(w, FREE_IN_FLIGHT, ERROR, CERTAIN);
	assert_int_equal(lost(w, ACL_L_FAULT), 1);
}

static void a_poll_covers_what_was_before_the_record(void **state)
{
	struct world *w = with_record(state);

	copy_h2d(w, BUF, 64, S);
	poll_event(w, E, DONE);
	free_host(w, BUF);
	expect(w, FREE_IN_FLIGHT, ERROR, CERTAIN);
}

static void a_poll_covers_only_its_stream(void **state)
{
	struct world *w = with_copy(state);

	record_event(w, E, T);
	poll_event(w, E, DONE);
	free_host(w, BUF);
	expect(w, FREE_IN_FLIGHT, ERROR, CERTAIN);
}

static void a_poll_covers_all_earlier_copies_of_its_stream(void **state)
{
	struct world *w = with_copy(state);

	malloc_host(w, BUF + 0x10000, 64);
	copy_d2h(w, BUF + 0x10000, 64, S);
	record_event(w, E, S);
	poll_event(w, E, DONE);
	free_host(w, BUF);
	expect(w, FREE_BEFORE_DESTROY, ERROR, CERTAIN);
	free_host(w, BUF + 0x10000);
	expect(w, FREE_BEFORE_DESTROY, ERROR, CERTAIN);
}

static void knowledge_only_grows(void **state)
{
	struct world *w = with_record(state);

	poll_event(w, E, DONE);
	poll_event(w, E, NOT_DONE);
	record_event(w, E, S);
	reset_event(w, E, S);
	free_host(w, BUF);
	expect(w, FREE_BEFORE_DESTROY, WARNING, CERTAIN); /* pooled by now */
}

static void stream_query_complete_polls(void **state)
{
	struct world *w = with_copy(state);

	query_stream(w, S, DONE);
	free_host(w, BUF);
	expect(w, FREE_AFTER_STREAM_QUERY, WARNING, CERTAIN);
}

static void stream_query_complete_is_zero(void **state)
{
	struct world *w = with_copy(state);

	call(w, aclrtStreamQuery, 1, S, 0x1000);
	free_host(w, BUF);
	expect(w, FREE_IN_FLIGHT, ERROR, CERTAIN);
}

static void stream_query_that_fails_tells_nothing(void **state)
{
	struct world *w = with_copy(state);

	fails(w, ERR);
	query_stream(w, S, DONE);
	free_host(w, BUF);
	expect(w, FREE_IN_FLIGHT, ERROR, CERTAIN);
}

static void stream_query_covers_what_was_before_its_entry(void **state)
{
	struct world *w = with_copy(state);

	holds(w);
	query_stream(w, S, DONE);
	as(w, 101);
	copy_h2d(w, BUF, 64, S);
	as(w, TGID);
	returns(w);
	free_host(w, BUF);
	expect(w, FREE_IN_FLIGHT, ERROR, CERTAIN);
}

static void stream_query_covers_what_was_inherited(void **state)
{
	struct world *w = with_record(state);

	stream_wait(w, T, E);
	query_stream(w, T, DONE);
	free_host(w, BUF);
	expect(w, FREE_AFTER_STREAM_QUERY, WARNING, CERTAIN);
}

/* ---- event-waited ------------------------------------------------------ */

static void synchronize_event_is_a_weak_barrier(void **state)
{
	struct world *w = with_record(state);

	sync_event(w, E);
	free_host(w, BUF);
	expect(w, FREE_AFTER_EVENT_SYNC, NOTE, CERTAIN);
}

static void synchronize_event_with_timeout_is_a_weak_barrier(void **state)
{
	struct world *w = with_record(state);

	call(w, aclrtSynchronizeEventWithTimeout, 0, E, 100);
	free_host(w, BUF);
	expect(w, FREE_AFTER_EVENT_SYNC, NOTE, CERTAIN);
}

static void synchronize_event_that_times_out_tells_nothing(void **state)
{
	struct world *w = with_record(state);

	fails(w, 507047);
	call(w, aclrtSynchronizeEventWithTimeout, 0, E, 100);
	free_host(w, BUF);
	expect(w, FREE_IN_FLIGHT, ERROR, CERTAIN);
}

static void synchronize_event_needs_a_covering_record(void **state)
{
	struct world *w = with_record(state);

	copy_h2d(w, BUF, 64, S);
	sync_event(w, E);
	free_host(w, BUF);
	expect(w, FREE_IN_FLIGHT, ERROR, CERTAIN);
}

static void synchronize_event_counts_when_it_returned(void **state)
{
	struct world *w = with_record(state);

	holds(w);
	sync_event(w, E);
	as(w, 101);
	free_host(w, BUF);
	expect(w, FREE_IN_FLIGHT, ERROR, CERTAIN);
}

static void waiting_is_more_than_polling(void **state)
{
	struct world *w = with_record(state);

	poll_event(w, E, DONE);
	sync_event(w, E);
	free_host(w, BUF);
	expect(w, FREE_AFTER_EVENT_SYNC, NOTE, CERTAIN);
}

static void a_stream_barrier_waits_for_what_was_inherited(void **state)
{
	struct world *w = with_record(state);

	stream_wait(w, T, E);
	sync_stream(w, T);
	free_host(w, BUF);
	expect(w, FREE_AFTER_EVENT_SYNC, NOTE, CERTAIN);
}

static void destroying_a_stream_waits_for_what_was_inherited(void **state)
{
	struct world *w = with_record(state);

	stream_wait(w, T, E);
	destroy_stream(w, T);
	free_host(w, BUF);
	expect(w, FREE_AFTER_EVENT_SYNC, NOTE, CERTAIN);
}

/* ---- settled ----------------------------------------------------------- */

static void synchronize_stream_settles(void **state)
{
	struct world *w = with_copy(state);

	sync_stream(w, S);
	free_host(w, BUF);
	silent(w);
}

static void synchronize_stream_with_timeout_settles(void **state)
{
	struct world *w = with_copy(state);

	call(w, aclrtSynchronizeStreamWithTimeout, 0, S, 100);
	free_host(w, BUF);
	silent(w);
}

static void synchronize_stream_that_times_out_settles_nothing(void **state)
{
	struct world *w = with_copy(state);

	fails(w, 507046);
	call(w, aclrtSynchronizeStreamWithTimeout, 0, S, 100);
	free_host(w, BUF);
	expect(w, FREE_IN_FLIGHT, ERROR, CERTAIN);
}

static void synchronize_stream_settles_only_that_stream(void **state)
{
	struct world *w = with_copy(state);

	sync_stream(w, T);
	free_host(w, BUF);
	expect(w, FREE_IN_FLIGHT, ERROR, CERTAIN);
}

static void a_barrier_covers_what_was_submitted_before_its_entry(void **state)
{
	struct world *w = with_copy(state);

	holds(w);
	sync_stream(w, S);
	as(w, 101);
	copy_h2d(w, BUF, 64, S);
	as(w, TGID);
	returns(w);
	free_host(w, BUF);
	expect(w, FREE_IN_FLIGHT, ERROR, CERTAIN);
}

static void a_barrier_counts_when_it_returned(void **state)
{
	struct world *w = with_copy(state);

	holds(w);
	sync_stream(w, S);
	as(w, 101);
	free_host(w, BUF);
	expect(w, FREE_IN_FLIGHT, ERROR, CERTAIN);
	as(w, TGID);
	returns(w);
}

static void a_copy_after_the_barrier_is_in_flight(void **state)
{
	struct world *w = with_copy(state);

	sync_stream(w, S);
	copy_d2h(w, BUF, 64, S);
	free_host(w, BUF);
	expect(w, FREE_IN_FLIGHT, ERROR, CERTAIN);
}

static void destroy_stream_settles(void **state)
{
	struct world *w = with_copy(state);

	destroy_stream(w, S);
	free_host(w, BUF);
	silent(w);
}

static void destroy_stream_that_fails_settles_nothing(void **state)
{
	struct world *w = with_copy(state);

	fails(w, ERR);
	destroy_stream(w, S);
	free_host(w, BUF);
	expect(w, FREE_IN_FLIGHT, ERROR, CERTAIN);
}

static void destroy_stream_force_settles_nothing(void **state)
{
	struct world *w = with_copy(state);

	destroy_stream_force(w, S);
	free_host(w, BUF);
	expect(w, FREE_IN_FLIGHT, ERROR, CERTAIN);
}

static void synchronize_device_settles_all_its_streams(void **state)
{
	struct world *w = with_copy(state);

	copy_h2d(w, BUF, 64, T);
	copy_h2d(w, BUF, 64, 0);
	sync_device(w);
	free_host(w, BUF);
	silent(w);
}

static void synchronize_device_with_timeout_settles(void **state)
{
	struct world *w = with_copy(state);

	call(w, aclrtSynchronizeDeviceWithTimeout, 0, 100);
	free_host(w, BUF);
	silent(w);
}

static void synchronize_device_that_times_out_settles_nothing(void **state)
{
	struct world *w = with_copy(state);

	fails(w, 507046);
	call(w, aclrtSynchronizeDeviceWithTimeout, 0, 100);
	free_host(w, BUF);
	expect(w, FREE_IN_FLIGHT, ERROR, CERTAIN);
}

static void query_event_complete_settles(void **state)
{
	struct world *w = with_record(state);

	query_event(w, E, DONE);
	free_host(w, BUF);
	silent(w);
}

static void query_event_complete_is_zero(void **state)
{
	struct world *w = with_record(state);

	call(w, aclrtQueryEvent, 1, E, 0x1000);
	free_host(w, BUF);
	expect(w, FREE_IN_FLIGHT, ERROR, CERTAIN);
}

static void query_event_that_fails_settles_nothing(void **state)
{
	struct world *w = with_record(state);

	fails(w, ERR);
	query_event(w, E, DONE);
	free_host(w, BUF);
	expect(w, FREE_IN_FLIGHT, ERROR, CERTAIN);
}

static void reset_device_force_settles(void **state)
{
	struct world *w = with_copy(state);

	set_device(w, 0);
	reset_device_force(w, 0);
	free_host(w, BUF);
	silent(w);
}

static void reset_device_force_that_fails_settles_nothing(void **state)
{
	struct world *w = with_copy(state);

	fails(w, ERR);
	reset_device_force(w, 0);
	free_host(w, BUF);
	expect(w, FREE_IN_FLIGHT, ERROR, CERTAIN);
}

static void reset_device_settles_with_the_last_reference(void **state)
{
	struct world *w = with_copy(state);

	reset_device(w, 0);
	free_host(w, BUF);
	silent(w);
}

static void reset_device_before_the_last_reference_settles_nothing(void **state)
{
	struct world *w = with_copy(state);

	set_device(w, 0);
	reset_device(w, 0);
	free_host(w, BUF);
	expect(w, FREE_IN_FLIGHT, ERROR, CERTAIN);
}

static void references_of_all_threads_count(void **state)
{
	struct world *w = with_copy(state);

	as(w, 101);
	set_device(w, 0);
	reset_device(w, 0);
	as(w, TGID);
	malloc_host(w, BUF + 0x10000, 64);
	copy_h2d(w, BUF + 0x10000, 64, S);
	free_host(w, BUF + 0x10000);
	expect(w, FREE_IN_FLIGHT, ERROR, CERTAIN);
	reset_device(w, 0);
	free_host(w, BUF);
	silent(w);
}

static void set_device_and_reset_device_that_fail_take_no_reference(void **state)
{
	struct world *w = with_copy(state);

	fails(w, ERR);
	set_device(w, 0);
	fails(w, ERR);
	reset_device(w, 0);
	reset_device(w, 0);
	free_host(w, BUF);
	silent(w);
}

static void reset_device_settles_only_that_device(void **state)
{
	struct world *w = with_copy(state);

	set_device(w, 1);
	reset_device(w, 1);
	free_host(w, BUF);
	expect(w, FREE_IN_FLIGHT, ERROR, CERTAIN);
}

static void reset_device_with_unknown_references_settles(void **state)
{
	struct world *w = *state;

	/* the device was set before we looked */
	create_stream(w, S);
	malloc_host(w, BUF, 4096);
	copy_h2d(w, BUF, 4096, S);
	reset_device(w, 0);
	free_host(w, BUF);
	silent(w);
}

static void finalize_settles_nothing(void **state)
{
	struct world *w = with_copy(state);

	enter_at(w, 0x7ffc00000000, aclFinalize, 0);
	leave_at(w, 0x7ffc00000000, 0, 0);
	enter_at(w, 0x7ffc00000000, aclFinalizeReference, 0x1000);
	leave_at(w, 0x7ffc00000000, 0, 0);
	free_host(w, BUF);
	expect(w, FREE_IN_FLIGHT, ERROR, CERTAIN);
}

static void stream_abort_settles_nothing(void **state)
{
	struct world *w = with_copy(state);

	enter_at(w, 0x7ffc00000000, aclrtStreamAbort, S);
	leave_at(w, 0x7ffc00000000, 0, 0);
	free_host(w, BUF);
	expect(w, FREE_IN_FLIGHT, ERROR, CERTAIN);
}

/* ---- destroying the event ---------------------------------------------- */

static void destroy_after_the_poll_settles(void **state)
{
	struct world *w = with_record(state);

	poll_event(w, E, DONE);
	destroy_event(w, E);
	free_host(w, BUF);
	silent(w);
}

static void destroy_without_a_poll_settles_nothing(void **state)
{
	struct world *w = with_record(state);

	destroy_event(w, E);
	free_host(w, BUF);
	expect(w, FREE_IN_FLIGHT, ERROR, CERTAIN);
}

static void destroy_that_fails_settles_nothing(void **state)
{
	struct world *w = with_record(state);

	poll_event(w, E, DONE);
	fails(w, ERR);
	destroy_event(w, E);
	free_host(w, BUF);
	expect(w, FREE_BEFORE_DESTROY, ERROR, CERTAIN);
}

static void destroy_counts_when_it_returned(void **state)
{
	struct world *w = with_record(state);

	poll_event(w, E, DONE);
	holds(w);
	destroy_event(w, E);
	as(w, 101);
	free_host(w, BUF);
	expect(w, FREE_BEFORE_DESTROY, ERROR, CERTAIN);
	as(w, TGID);
	returns(w);
}

static void destroy_settles_up_to_the_furthest_seen_complete(void **state)
{
	struct world *w = with_record(state);

	poll_event(w, E, DONE);
	copy_h2d(w, BUF, 64, S);
	record_event(w, E, S);
	destroy_event(w, E); /* whose current record was never seen complete */
	free_host(w, BUF);
	expect(w, FREE_IN_FLIGHT, ERROR, CERTAIN);
}

static void destroy_settles_what_was_seen_before_a_record_elsewhere(void **state)
{
	struct world *w = with_record(state);

	poll_event(w, E, DONE);
	record_event(w, E, T);
	destroy_event(w, E);
	free_host(w, BUF);
	silent(w);
}

static void destroy_settles_what_was_seen_before_a_reset(void **state)
{
	struct world *w = with_record(state);

	poll_event(w, E, DONE);
	reset_event(w, E, S);
	destroy_event(w, E);
	free_host(w, BUF);
	silent(w);
}

static void destroy_settles_a_record_complete_by_another_event(void **state)
{
	struct world *w = with_record(state);

	record_event(w, F, S);
	poll_event(w, F, DONE);
	destroy_event(w, E);
	free_host(w, BUF);
	silent(w);
}

static void destroy_settles_a_record_complete_by_a_stream_query(void **state)
{
	struct world *w = with_record(state);

	query_stream(w, S, DONE);
	destroy_event(w, E);
	free_host(w, BUF);
	silent(w);
}

static void destroy_settles_a_record_complete_by_synchronize_event(void **state)
{
	struct world *w = with_record(state);

	sync_event(w, E);
	destroy_event(w, E);
	free_host(w, BUF);
	silent(w);
}

static void destroy_settles_only_up_to_its_record(void **state)
{
	struct world *w = with_record(state);

	copy_h2d(w, BUF, 64, S);
	query_stream(w, S, DONE); /* also covers the copy after E's record */
	destroy_event(w, E);
	free_host(w, BUF);
	expect(w, FREE_AFTER_STREAM_QUERY, WARNING, CERTAIN);
}

static void destroy_settles_what_its_record_inherited(void **state)
{
	struct world *w = with_record(state);

	stream_wait(w, T, E);
	record_event(w, F, T);
	poll_event(w, F, DONE);
	destroy_event(w, F);
	free_host(w, BUF);
	silent(w);
}

static void destroying_another_event_settles_nothing(void **state)
{
	struct world *w = with_copy(state);

	record_event(w, F, S);
	copy_h2d(w, BUF, 64, S);
	record_event(w, E, S);
	poll_event(w, E, DONE);
	destroy_event(w, F); /* complete, but before the copy */
	free_host(w, BUF);
	expect(w, FREE_BEFORE_DESTROY, ERROR, CERTAIN);
}

/* ---- equal positions --------------------------------------------------- */

static void equal_positions_take_the_silent_order(void **state)
{
	struct world *w = with_copy(state);

	w->tick = 0;
	copy_h2d(w, BUF, 64, S);
	sync_stream(w, S);
	free_host(w, BUF);
	silent(w);
}

static void a_record_at_the_position_of_the_copy_covers_it(void **state)
{
	struct world *w = with_copy(state);

	w->tick = 0;
	copy_h2d(w, BUF, 64, S);
	record_event(w, E, S);
	poll_event(w, E, DONE);
	destroy_event(w, E);
	free_host(w, BUF);
	silent(w);
}

/* ---- several streams --------------------------------------------------- */

static void the_least_known_stream_decides(void **state)
{
	struct world *w = with_copy(state);

	copy_h2d(w, BUF, 64, T);
	record_event(w, E, S);
	record_event(w, F, T);
	sync_event(w, F);
	free_host(w, BUF);
	assert_int_equal(expect(w, FREE_IN_FLIGHT, ERROR, CERTAIN)->stream.handle, S);
}

static void polled_on_one_and_waited_on_the_other_is_polled(void **state)
{
	struct world *w = with_copy(state);
	const struct acl_violation *v;

	copy_h2d(w, BUF, 64, T);
	record_event(w, E, S);
	record_event(w, F, T);
	sync_event(w, E);
	poll_event(w, F, DONE);
	free_host(w, BUF);
	v = expect(w, FREE_BEFORE_DESTROY, ERROR, CERTAIN);
	assert_int_equal(v->stream.handle, T);
	assert_int_equal(v->unsettled, 2);
}

static void settled_streams_do_not_count(void **state)
{
	struct world *w = with_copy(state);

	copy_h2d(w, BUF, 64, T);
	sync_stream(w, S);
	record_event(w, F, T);
	poll_event(w, F, DONE);
	free_host(w, BUF);
	assert_int_equal(expect(w, FREE_BEFORE_DESTROY, ERROR, CERTAIN)->unsettled, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		world_test(a_submitted_copy_is_in_flight),
		world_test(a_record_alone_tells_nothing),
		world_test(a_buffer_without_copies_may_go),
		world_test(query_event_status_complete_polls),
		world_test(query_event_status_complete_is_one),
		world_test(query_event_status_that_fails_tells_nothing),
		world_test(query_event_status_with_unreadable_output_tells_nothing),
		world_test(a_poll_covers_what_was_before_the_record),
		world_test(a_poll_covers_only_its_stream),
		world_test(a_poll_covers_all_earlier_copies_of_its_stream),
		world_test(knowledge_only_grows),
		world_test(stream_query_complete_polls),
		world_test(stream_query_complete_is_zero),
		world_test(stream_query_that_fails_tells_nothing),
		world_test(stream_query_covers_what_was_before_its_entry),
		world_test(stream_query_covers_what_was_inherited),
		world_test(synchronize_event_is_a_weak_barrier),
		world_test(synchronize_event_with_timeout_is_a_weak_barrier),
		world_test(synchronize_event_that_times_out_tells_nothing),
		world_test(synchronize_event_needs_a_covering_record),
		world_test(synchronize_event_counts_when_it_returned),
		world_test(waiting_is_more_than_polling),
		world_test(a_stream_barrier_waits_for_what_was_inherited),
		world_test(destroying_a_stream_waits_for_what_was_inherited),
		world_test(synchronize_stream_settles),
		world_test(synchronize_stream_with_timeout_settles),
		world_test(synchronize_stream_that_times_out_settles_nothing),
		world_test(synchronize_stream_settles_only_that_stream),
		world_test(a_barrier_covers_what_was_submitted_before_its_entry),
		world_test(a_barrier_counts_when_it_returned),
		world_test(a_copy_after_the_barrier_is_in_flight),
		world_test(destroy_stream_settles),
		world_test(destroy_stream_that_fails_settles_nothing),
		world_test(destroy_stream_force_settles_nothing),
		world_test(synchronize_device_settles_all_its_streams),
		world_test(synchronize_device_with_timeout_settles),
		world_test(synchronize_device_that_times_out_settles_nothing),
		world_test(query_event_complete_settles),
		world_test(query_event_complete_is_zero),
		world_test(query_event_that_fails_settles_nothing),
		world_test(reset_device_force_settles),
		world_test(reset_device_force_that_fails_settles_nothing),
		world_test(reset_device_settles_with_the_last_reference),
		world_test(reset_device_before_the_last_reference_settles_nothing),
		world_test(references_of_all_threads_count),
		world_test(set_device_and_reset_device_that_fail_take_no_reference),
		world_test(reset_device_settles_only_that_device),
		world_test(reset_device_with_unknown_references_settles),
		world_test(finalize_settles_nothing),
		world_test(stream_abort_settles_nothing),
		world_test(destroy_after_the_poll_settles),
		world_test(destroy_without_a_poll_settles_nothing),
		world_test(destroy_that_fails_settles_nothing),
		world_test(destroy_counts_when_it_returned),
		world_test(destroy_settles_up_to_the_furthest_seen_complete),
		world_test(destroy_settles_what_was_seen_before_a_record_elsewhere),
		world_test(destroy_settles_what_was_seen_before_a_reset),
		world_test(destroy_settles_a_record_complete_by_another_event),
		world_test(destroy_settles_a_record_complete_by_a_stream_query),
		world_test(destroy_settles_a_record_complete_by_synchronize_event),
		world_test(destroy_settles_only_up_to_its_record),
		world_test(destroy_settles_what_its_record_inherited),
		world_test(destroying_another_event_settles_nothing),
		world_test(equal_positions_take_the_silent_order),
		world_test(a_record_at_the_position_of_the_copy_covers_it),
		world_test(the_least_known_stream_decides),
		world_test(polled_on_one_and_waited_on_the_other_is_polled),
		world_test(settled_streams_do_not_count),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("what the host knows", tests, NULL, NULL);
}
