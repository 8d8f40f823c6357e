/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Calls, threads and processes: entries paired with returns where a call
 * passes two definitions, is jumped out of or loses an end; incarnations.
 */
#include "world.h"

#include <string.h>

#define BUF 0x120043200000ULL
#define S 0x7f0000001000ULL
#define T 0x7f0000002000ULL
#define E 0x7f0000101000ULL
#define CELL 0x7ffe00001000ULL
#define SP 0x7ffc00001000ULL
#define ERR 507000
#define OTHER 101 /* another thread */

static struct world *with_copy(void **state)
{
	struct world *w = *state;

	set_device(w, 0);
	create_stream(w, S);
	create_event(w, E);
	malloc_host(w, BUF, 4096);
	copy_h2d(w, BUF, 64, S);
	return w;
}

static const struct acl_calls *calls(struct world *w, enum acl_call call)
{
	return &store__calls(w->store)[call];
}

/* ---- one call, two definitions ----------------------------------------- */

static void a_jump_to_a_second_definition_is_one_call(void **state)
{
	struct world *w = with_copy(state);

	enter_at(w, SP, aclrtRecordEvent, E, S);
	enter_at(w, SP, aclrtRecordEvent, E, S);
	leave_at(w, SP, 0, 0);
	leave_at(w, SP, 0, 0);
	assert_int_equal(calls(w, ACL_C_aclrtRecordEvent)->entered, 1);
	assert_int_equal(calls(w, ACL_C_aclrtRecordEvent)->folded, 1);
	assert_int_equal(calls(w, ACL_C_aclrtRecordEvent)->returned, 1);
	poll_event(w, E, DONE);
	free_host(w, BUF);
	/* recorded once, so not pooled; and no record is left in progress */
	expect(w, FREE_BEFORE_DESTROY, ERROR, CERTAIN);
	assert_int_equal(lost(w, ACL_L_NO_ENTRY), 0);
	assert_int_equal(lost(w, ACL_L_NO_RETURN), 0);
}

static void a_call_to_a_second_definition_is_one_call(void **state)
{
	struct world *w = with_copy(state);

	enter_at(w, SP, aclrtRecordEvent, E, S);
	enter_at(w, SP - 64, aclrtRecordEvent, E, S);
	leave_at(w, SP - 64, 0, 0);
	leave_at(w, SP, 0, 0);
	assert_int_equal(calls(w, ACL_C_aclrtRecordEvent)->entered, 1);
	assert_int_equal(calls(w, ACL_C_aclrtRecordEvent)->folded, 1);
	assert_int_equal(calls(w, ACL_C_aclrtRecordEvent)->returned, 1);
	poll_event(w, E, DONE);
	free_host(w, BUF);
	expect(w, FREE_BEFORE_DESTROY, ERROR, CERTAIN);
	assert_int_equal(lost(w, ACL_L_NO_ENTRY), 0);
	assert_int_equal(lost(w, ACL_L_NO_RETURN), 0);
}

static void a_free_through_two_definitions_is_no_double_free(void **state)
{
	struct world *w = with_copy(state);

	sync_stream(w, S);
	enter_at(w, SP, aclrtFreeHost, BUF);
	enter_at(w, SP, aclrtFreeHost, BUF);
	leave_at(w, SP, 0, 0);
	leave_at(w, SP, 0, 0);
	silent(w);
	assert_int_equal(lost(w, ACL_L_MISSED_CREATE), 0);
}

static void a_creation_through_two_definitions_makes_one_object(void **state)
{
	struct world *w = *state;

	enter_at(w, SP, aclrtMallocHost, CELL, 4096);
	enter_at(w, SP - 64, aclrtMallocHost, CELL, 4096);
	leave_at(w, SP - 64, 0, BUF);
	leave_at(w, SP, 0, BUF);
	assert_int_equal(proc_of(w, TGID)->bufs_made, 1);
	assert_int_equal(lost(w, ACL_L_MISSED_FREE), 0);
}

static void different_calls_within_each_other_are_two(void **state)
{
	struct world *w = with_copy(state);

	enter_at(w, SP, aclrtFreeHostWithDevSync, BUF);
	enter_at(w, SP - 64, aclrtSynchronizeDevice);
	leave_at(w, SP - 64, 0, 0);
	leave_at(w, SP, 0, 0);
	assert_int_equal(calls(w, ACL_C_aclrtSynchronizeDevice)->returned, 1);
	assert_int_equal(calls(w, ACL_C_aclrtFreeHostWithDevSync)->returned, 1);
	silent(w);
}

static void a_jump_to_a_different_call_is_two(void **state)
{
	struct world *w = with_copy(state);

	enter_at(w, SP, aclrtSynchronizeStream, S);
	enter_at(w, SP, aclrtSynchronizeStreamWithTimeout, S, -1);
	leave_at(w, SP, 0, 0);
	leave_at(w, SP, 0, 0);
	assert_int_equal(calls(w, ACL_C_aclrtSynchronizeStream)->returned, 1);
	assert_int_equal(calls(w, ACL_C_aclrtSynchronizeStreamWithTimeout)->returned, 1);
	assert_int_equal(lost(w, ACL_L_NO_RETURN), 0);
	free_host(w, BUF);
	silent(w);
}

static void the_same_call_again_at_the_same_depth_is_a_new_one(void **state)
{
	struct world *w = with_copy(state);

	for (int i = 0; i < 3; i++) {
		enter_at(w, SP, aclrtRecordEvent, E, S);
		leave_at(w, SP, 0, 0);
	}
	assert_int_equal(calls(w, ACL_C_aclrtRecordEvent)->entered, 3);
	assert_int_equal(calls(w, ACL_C_aclrtRecordEvent)->folded, 0);
}

static void the_same_call_on_another_object_within_is_a_new_one(void **state)
{
	struct world *w = with_copy(state);

	malloc_host(w, BUF + 0x10000, 64);
	sync_stream(w, S);
	enter_at(w, SP, aclrtFreeHost, BUF);
	enter_at(w, SP - 64, aclrtFreeHost, BUF + 0x10000);
	leave_at(w, SP - 64, 0, 0);
	leave_at(w, SP, 0, 0);
	assert_int_equal(calls(w, ACL_C_aclrtFreeHost)->returned, 2);
	assert_int_equal(proc_of(w, TGID)->bufs_gone, 2);
}

/* ---- ends that were not seen ------------------------------------------- */

static void a_return_without_an_entry_is_counted(void **state)
{
	struct world *w = *state;

	leave_at(w, SP, 0, 0);
	assert_int_equal(lost(w, ACL_L_NO_ENTRY), 1);
}

static void a_return_without_an_entry_is_counted_at_a_depth_used_before(void **state)
{
	struct world *w = with_copy(state);

	enter_at(w, SP, aclrtSynchronizeStream, T);
	leave_at(w, SP, 0, 0);
	leave_at(w, SP, 0, 0); /* nobody jumped, so there is nothing to fold */
	assert_int_equal(lost(w, ACL_L_NO_ENTRY), 1);
}

static void a_call_left_by_longjmp_is_counted_and_the_next_is_seen(void **state)
{
	struct world *w = with_copy(state);

	enter_at(w, SP - 256, aclrtSynchronizeStream, S);
	enter_at(w, SP, aclrtRecordEvent, E, S); /* further up the stack */
	leave_at(w, SP, 0, 0);
	assert_int_equal(lost(w, ACL_L_NO_RETURN), 1);
	assert_int_equal(calls(w, ACL_C_aclrtRecordEvent)->returned, 1);
	free_host(w, BUF); /* whether the barrier succeeded is not known */
	because(expect(w, FREE_IN_FLIGHT, ERROR, SUSPECTED), LOST);
}

static void a_call_left_by_longjmp_to_the_same_depth_is_counted(void **state)
{
	struct world *w = with_copy(state);

	enter_at(w, SP, aclrtSynchronizeStream, S);
	enter_at(w, SP - 64, aclrtSynchronizeDevice);
	leave_at(w, SP - 64, 0, 0);
	enter_at(w, SP, aclrtRecordEvent, E, S);
	leave_at(w, SP, 0, 0);
	assert_int_equal(lost(w, ACL_L_NO_RETURN), 1);
	assert_int_equal(calls(w, ACL_C_aclrtRecordEvent)->returned, 1);
}

static void calls_whose_returns_were_lost_do_not_take_those_of_others(void **state)
{
	struct world *w = *state;

	enter_at(w, SP, aclrtSynchronizeStream, S);
	enter_at(w, SP, aclrtCreateEvent, CELL);
	enter_at(w, SP, aclrtMallocHost, CELL, 4096);
	leave_at(w, SP, 0, BUF);
	assert_int_equal(proc_of(w, TGID)->events_made, 0);
	assert_int_equal(proc_of(w, TGID)->bufs_made, 1);
}

static void a_record_left_by_longjmp_is_not_in_progress_for_ever(void **state)
{
	struct world *w = with_copy(state);

	enter_at(w, SP - 256, aclrtRecordEvent, E, S);
	enter_at(w, SP, aclrtRecordEvent, E, S);
	leave_at(w, SP, 0, 0);
	query_event(w, E, DONE);
	free_host(w, BUF);
	silent(w);
}

static void a_record_during_which_the_thread_died_is_not_in_progress_for_ever(void **state)
{
	struct world *w = with_copy(state);

	as(w, OTHER);
	enter_at(w, SP, aclrtRecordEvent, E, S);
	store__thread_exit(w->store, TGID, OTHER, w->now);
	assert_int_equal(lost(w, ACL_L_NO_RETURN), 1);
	as(w, TGID);
	record_event(w, E, S);
	query_event(w, E, DONE);
	free_host(w, BUF);
	silent(w);
}

static void a_release_during_which_the_thread_died_does_not_keep_the_buffer(void **state)
{
	struct world *w = with_copy(state);

	sync_stream(w, S);
	as(w, OTHER);
	enter_at(w, SP, aclrtFreeHost, BUF);
	store__thread_exit(w->store, TGID, OTHER, w->now);
	as(w, TGID);
	malloc_host(w, BUF, 4096);
	assert_int_equal(used(w, STORE_BUFS), 1);
	assert_int_equal(lost(w, ACL_L_MISSED_FREE), 0);
}

static void a_release_left_by_longjmp_may_be_repeated(void **state)
{
	struct world *w = with_copy(state);

	sync_stream(w, S);
	enter_at(w, SP - 256, aclrtFreeHost, BUF);
	free_host(w, BUF);
	silent(w);
	assert_int_equal(used(w, STORE_BUFS), 0);
}

static void a_thread_number_used_again_begins_anew(void **state)
{
	struct world *w = with_copy(state);

	as(w, OTHER);
	set_device(w, 1);
	store__thread_exit(w->store, TGID, OTHER, w->now);
	sync_device(w); /* of a context that was never seen: all devices */
	as(w, TGID);
	free_host(w, BUF);
	silent(w);
	assert_int_equal(used(w, STORE_THREADS), 2);
}

static void calls_at_once_on_two_threads_do_not_mix(void **state)
{
	struct world *w = with_copy(state);

	holds(w);
	sync_stream(w, S);
	as(w, OTHER);
	holds(w);
	record_event(w, E, S);
	as(w, TGID);
	returns(w);
	as(w, OTHER);
	returns(w);
	assert_int_equal(calls(w, ACL_C_aclrtSynchronizeStream)->returned, 1);
	assert_int_equal(calls(w, ACL_C_aclrtRecordEvent)->returned, 1);
	free_host(w, BUF);
	silent(w);
}

/* ---- counters ---------------------------------------------------------- */

static void calls_are_counted_by_function(void **state)
{
	struct world *w = with_copy(state);

	fails(w, ERR);
	sync_stream(w, S);
	sync_stream(w, S);
	launch_callback(w, S);
	assert_int_equal(calls(w, ACL_C_aclrtSynchronizeStream)->entered, 2);
	assert_int_equal(calls(w, ACL_C_aclrtSynchronizeStream)->returned, 2);
	assert_int_equal(calls(w, ACL_C_aclrtSynchronizeStream)->failed, 1);
	assert_int_equal(calls(w, ACL_C_aclrtLaunchCallback)->entered, 1);
	assert_int_equal(calls(w, ACL_C_aclrtLaunchCallback)->returned, 1);
	free_host(w, BUF);
	silent(w);
}

/* ---- processes --------------------------------------------------------- */

static void a_process_begins_when_it_is_first_seen(void **state)
{
	struct world *w = *state;
	__u64 first = w->now + w->tick;

	malloc_host(w, BUF, 4096);
	assert_int_equal(w->nr_gone, 1);
	assert_int_equal(w->gone[0].h.type, ACL_REC_PROC);
	assert_int_equal(w->gone[0].h.tgid, TGID);
	assert_int_equal(proc_of(w, TGID)->born, first);
	assert_int_equal(proc_of(w, TGID)->inc, w->gone[0].h.inc);
}

static void processes_do_not_see_each_other(void **state)
{
	struct world *w = with_copy(state);

	as_process(w, 200, 200);
	malloc_host(w, BUF, 4096);
	free_host(w, BUF);
	silent(w);
	sync_stream(w, S);
	destroy_event(w, E);
	as_process(w, TGID, TGID);
	free_host(w, BUF);
	expect(w, FREE_IN_FLIGHT, ERROR, CERTAIN);
}

static void an_exec_ends_everything(void **state)
{
	struct world *w = with_copy(state);
	__u64 inc = proc_of(w, TGID)->inc;

	holds(w);
	sync_stream(w, S);
	store__exec(w->store, TGID, w->now);
	assert_int_equal(w->gone[w->nr_gone - 1].h.type, ACL_REC_EXEC);
	assert_int_equal(w->gone[w->nr_gone - 1].proc.bufs_made, 1);
	for (int i = 0; i < STORE_TARGETS; i++)
		assert_int_equal(used(w, i), 0);
	memset(w->threads, 0, sizeof(w->threads));
	free_host(w, BUF); /* the new program knows nothing of the buffer */
	silent(w);
	assert_int_not_equal(proc_of(w, TGID)->inc, inc);
	fails(w, 107000);
	destroy_event(w, E);
	silent(w);
}

static void a_process_number_used_again_is_another_process(void **state)
{
	struct world *w = with_copy(state);
	__u64 inc = proc_of(w, TGID)->inc;

	free_host(w, BUF);
	expect(w, FREE_IN_FLIGHT, ERROR, CERTAIN);
	store__exit(w->store, TGID, w->now);
	assert_int_equal(w->gone[w->nr_gone - 1].h.type, ACL_REC_EXIT);
	assert_null(store__proc(w->store, TGID));
	fails(w, 107000);
	free_host(w, BUF); /* not freed in this incarnation */
	silent(w);
	assert_int_not_equal(proc_of(w, TGID)->inc, inc);
}

static void the_number_of_a_process_whose_end_was_missed_is_free_at_the_fork(void **state)
{
	struct world *w = with_copy(state);

	store__fork(w->store, 50, TGID, w->now);
	assert_int_equal(w->gone[w->nr_gone - 1].h.type, ACL_REC_EXIT);
	free_host(w, BUF);
	silent(w);
}

static void a_forked_child_begins_empty(void **state)
{
	struct world *w = with_copy(state);

	store__fork(w->store, TGID, 200, w->now);
	as_process(w, 200, 200);
	free_host(w, BUF); /* inherited, unknown to us */
	silent(w);
	as_process(w, TGID, TGID);
	free_host(w, BUF);
	expect(w, FREE_IN_FLIGHT, ERROR, CERTAIN);
}

static void only_processes_in_scope_are_seen(void **state)
{
	const struct acl_target target = {};
	struct world *w = *state;
	struct acl_cfg cfg = world__cfg();

	cfg.all = 0;
	cfg.follow = 1;
	world__restart(w, &cfg, 0);
	malloc_host(w, BUF, 4096);
	assert_null(store__proc(w->store, TGID));
	assert_int_equal(store__target(w->store, TGID, &target), 0);
	malloc_host(w, BUF, 4096);
	assert_non_null(store__proc(w->store, TGID));
	store__fork(w->store, TGID, 200, w->now);
	as_process(w, 200, 200);
	malloc_host(w, BUF, 4096);
	assert_non_null(store__proc(w->store, 200));
	assert_int_equal(calls(w, ACL_C_aclrtMallocHost)->entered, 2);
}

static void children_are_not_in_scope_unless_followed(void **state)
{
	const struct acl_target target = {};
	struct world *w = *state;
	struct acl_cfg cfg = world__cfg();

	cfg.all = 0;
	world__restart(w, &cfg, 0);
	assert_int_equal(store__target(w->store, TGID, &target), 0);
	store__fork(w->store, TGID, 200, w->now);
	as_process(w, 200, 200);
	malloc_host(w, BUF, 4096);
	assert_null(store__proc(w->store, 200));
}

static void our_own_process_is_never_in_scope(void **state)
{
	struct world *w = *state;
	struct acl_cfg cfg = world__cfg();

	cfg.self = TGID;
	world__restart(w, &cfg, 0);
	malloc_host(w, BUF, 4096);
	assert_null(store__proc(w->store, TGID));
}

static void ends_of_processes_never_seen_are_nothing(void **state)
{
	struct world *w = *state;

	store__exit(w->store, 1234, w->now);
	store__exec(w->store, 1234, w->now);
	store__thread_exit(w->store, 1234, 1235, w->now);
	store__fork(w->store, 1234, 1235, w->now);
	assert_int_equal(w->nr_gone, 0);
}

static void the_same_history_gives_the_same_ids(void **state)
{
	struct world *w = with_copy(state);
	const struct acl_cfg cfg = world__cfg();
	struct acl_violation first;

	free_host(w, BUF);
	first = *expect(w, FREE_IN_FLIGHT, ERROR, CERTAIN);
	world__restart(w, &cfg, 0);
	with_copy(state);
	free_host(w, BUF);
	assert_memory_equal(expect(w, FREE_IN_FLIGHT, ERROR, CERTAIN), &first, sizeof(first));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		world_test(a_jump_to_a_second_definition_is_one_call),
		world_test(a_call_to_a_second_definition_is_one_call),
		world_test(a_free_through_two_definitions_is_no_double_free),
		world_test(a_creation_through_two_definitions_makes_one_object),
		world_test(different_calls_within_each_other_are_two),
		world_test(a_jump_to_a_different_call_is_two),
		world_test(the_same_call_again_at_the_same_depth_is_a_new_one),
		world_test(the_same_call_on_another_object_within_is_a_new_one),
		world_test(a_return_without_an_entry_is_counted),
		world_test(a_return_without_an_entry_is_counted_at_a_depth_used_before),
		world_test(a_call_left_by_longjmp_is_counted_and_the_next_is_seen),
		world_test(a_call_left_by_longjmp_to_the_same_depth_is_counted),
		world_test(calls_whose_returns_were_lost_do_not_take_those_of_others),
		world_test(a_record_left_by_longjmp_is_not_in_progress_for_ever),
		world_test(a_record_during_which_the_thread_died_is_not_in_progress_for_ever),
		world_test(a_release_during_which_the_thread_died_does_not_keep_the_buffer),
		world_test(a_release_left_by_longjmp_may_be_repeated),
		world_test(a_thread_number_used_again_begins_anew),
		world_test(calls_at_once_on_two_threads_do_not_mix),
		world_test(calls_are_counted_by_function),
		world_test(a_process_begins_when_it_is_first_seen),
		world_test(processes_do_not_see_each_other),
		world_test(an_exec_ends_everything),
		world_test(a_process_number_used_again_is_another_process),
		world_test(the_number_of_a_process_whose_end_was_missed_is_free_at_the_fork),
		world_test(a_forked_child_begins_empty),
		world_test(only_processes_in_scope_are_seen),
		world_test(children_are_not_in_scope_unless_followed),
		world_test(our_own_process_is_never_in_scope),
		world_test(ends_of_processes_never_seen_are_nothing),
		world_test(the_same_history_gives_the_same_ids),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("calls", tests, NULL, NULL);
}
