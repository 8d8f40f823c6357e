/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The verdicts: every rule, fired and silent, its level, hazard and what follows it. */
#include "world.h"

#define BUF 0x120043200000ULL
#define BUF2 0x120053200000ULL
#define S 0x7f0000001000ULL
#define T 0x7f0000002000ULL
#define E 0x7f0000101000ULL
#define F 0x7f0000102000ULL
#define PARAM_INVALID 107000
#define DRV_ERROR 507899

static struct world *with_copy(void **state)
{
	struct world *w = *state;

	set_device(w, 0);
	create_stream(w, S);
	create_stream(w, T);
	create_event(w, E);
	malloc_host(w, BUF, 4096);
	copy_h2d(w, BUF, 4096, S);
	return w;
}

static struct world *with_poll(void **state)
{
	struct world *w = with_copy(state);

	record_event(w, E, S);
	poll_event(w, E, DONE);
	return w;
}

/* ---- free-before-destroy ----------------------------------------------- */

static void the_report_names_the_copy_the_stream_and_the_poll(void **state)
{
	struct world *w = with_copy(state);
	const struct acl_violation *v;
	__u64 polled;

	record_event(w, E, S);
	as(w, 101);
	polled = w->now + w->tick;
	poll_event(w, E, DONE);
	as(w, 102);
	free_host(w, BUF);
	v = expect(w, FREE_BEFORE_DESTROY, ERROR, CERTAIN);
	assert_int_equal(v->h.tgid, TGID);
	assert_int_equal(v->h.tid, 102);
	assert_int_equal(v->h.time, w->now - w->tick);
	assert_int_equal(v->call, ACL_C_aclrtFreeHost);
	assert_int_equal(v->ptr, BUF);
	assert_int_equal(v->buf.base, BUF);
	assert_int_equal(v->buf.size, 4096);
	assert_int_equal(v->buf.tid, TGID);
	assert_int_equal(v->buf.site, SITE);
	assert_int_equal(v->buf.call, ACL_C_aclrtMallocHost);
	assert_int_equal(v->copy.addr, BUF);
	assert_int_equal(v->copy.len, 4096);
	assert_int_equal(v->copy.dir, ACL_DIR_H2D);
	assert_int_equal(v->copy.call, ACL_C_aclrtMemcpyAsync);
	assert_int_equal(v->stream.handle, S);
	assert_int_equal(v->stream.dev, 0);
	assert_int_equal(v->unsettled, 1);
	assert_int_equal(v->poll.pos, polled);
	assert_int_equal(v->poll.tid, 101);
	assert_int_equal(v->poll.handle, E);
	assert_true(v->has_event);
	assert_int_equal(v->event.records, 1);
	assert_int_equal(v->event.call, ACL_C_aclrtCreateEvent);
	assert_int_equal(v->event.site, SITE);
}

static void named_is_the_last_poll_that_advanced_the_stream(void **state)
{
	struct world *w = with_poll(state);

	create_event(w, F);
	record_event(w, F, S);
	poll_event(w, F, DONE);
	poll_event(w, E, DONE); /* says nothing new */
	poll_event(w, F, DONE);
	free_host(w, BUF);
	assert_int_equal(expect(w, FREE_BEFORE_DESTROY, ERROR, CERTAIN)->poll.handle, F);
}

static void a_pooled_event_makes_it_a_warning(void **state)
{
	struct world *w = with_poll(state);

	copy_h2d(w, BUF, 64, S);
	record_event(w, E, S);
	poll_event(w, E, DONE);
	free_host(w, BUF);
	expect(w, FREE_BEFORE_DESTROY, WARNING, CERTAIN);
}

static void an_event_recorded_again_after_the_poll_is_pooled(void **state)
{
	struct world *w = with_poll(state);

	record_event(w, E, S);
	free_host(w, BUF);
	expect(w, FREE_BEFORE_DESTROY, WARNING, CERTAIN);
}

static void a_record_that_failed_does_not_make_it_pooled(void **state)
{
	struct world *w = with_poll(state);

	fails(w, DRV_ERROR);
	record_event(w, E, S);
	free_host(w, BUF);
	expect(w, FREE_BEFORE_DESTROY, ERROR, CERTAIN);
}

static void a_reset_is_no_second_record(void **state)
{
	struct world *w = with_poll(state);

	reset_event(w, E, S);
	free_host(w, BUF);
	expect(w, FREE_BEFORE_DESTROY, ERROR, CERTAIN);
}

static void a_handle_used_again_is_not_pooled(void **state)
{
	struct world *w = with_poll(state);

	destroy_event(w, E);
	create_event(w, E);
	copy_h2d(w, BUF, 64, S);
	record_event(w, E, S);
	poll_event(w, E, DONE);
	free_host(w, BUF);
	expect(w, FREE_BEFORE_DESTROY, ERROR, CERTAIN);
}

static void a_poll_as_old_as_the_window_is_an_error(void **state)
{
	struct world *w = with_poll(state);

	/* the poll's return and the free's entry are a tick each */
	wait_ns(w, WINDOW - 2 * w->tick);
	free_host(w, BUF);
	expect(w, FREE_BEFORE_DESTROY, ERROR, CERTAIN);
}

static void a_poll_older_than_the_window_is_a_warning(void **state)
{
	struct world *w = with_poll(state);

	wait_ns(w, WINDOW - 2 * w->tick + 1);
	free_host(w, BUF);
	expect(w, FREE_BEFORE_DESTROY, WARNING, CERTAIN);
}

static void polling_again_does_not_make_the_poll_younger(void **state)
{
	struct world *w = with_poll(state);

	wait_ns(w, WINDOW);
	poll_event(w, E, DONE);
	free_host(w, BUF);
	expect(w, FREE_BEFORE_DESTROY, WARNING, CERTAIN);
}

static void the_hazard_of_time_line_events_is_documented(void **state)
{
	struct world *w = with_poll(state);

	free_host(w, BUF);
	assert_int_equal(expect(w, FREE_BEFORE_DESTROY, ERROR, CERTAIN)->hazard, ACL_HZ_DOCUMENTED);
}

static void the_hazard_of_other_events_is_the_mechanism(void **state)
{
	struct world *w = with_copy(state);

	create_event_flags(w, F, 1); /* ACL_EVENT_SYNC */
	record_event(w, F, S);
	poll_event(w, F, DONE);
	free_host(w, BUF);
	assert_int_equal(expect(w, FREE_BEFORE_DESTROY, ERROR, CERTAIN)->hazard, ACL_HZ_MECHANISM);
}

static void the_hazard_of_ex_events_is_the_mechanism(void **state)
{
	struct world *w = with_copy(state);

	create_event_ex(w, F);
	record_event(w, F, S);
	poll_event(w, F, DONE);
	free_host(w, BUF);
	assert_int_equal(expect(w, FREE_BEFORE_DESTROY, ERROR, CERTAIN)->hazard, ACL_HZ_MECHANISM);
}

static void the_story_goes_on_with_the_free_and_the_destroy(void **state)
{
	struct world *w = with_poll(state);
	const struct acl_violation *v;
	const struct acl_sequel *s;
	__u64 freed, destroyed;

	freed = w->now + w->tick;
	free_host(w, BUF);
	v = expect(w, FREE_BEFORE_DESTROY, ERROR, CERTAIN);
	s = expect_sequel(w, RELEASED);
	assert_int_equal(s->id, v->id);
	assert_int_equal(s->ret, 0);
	assert_int_equal(s->h.time, freed);
	assert_int_equal(s->end, freed + w->tick);
	assert_int_equal(s->call, ACL_C_aclrtFreeHost);

	wait_ns(w, 5 * US);
	destroyed = w->now + w->tick;
	destroy_event(w, E);
	s = expect_sequel(w, DESTROYED);
	assert_int_equal(s->id, v->poll.event);
	assert_int_equal(s->h.time, destroyed);
	assert_int_equal(w->nr_sequels, w->sequels_heard);
}

static void a_destroy_that_failed_did_not_happen(void **state)
{
	struct world *w = with_poll(state);

	free_host(w, BUF);
	expect(w, FREE_BEFORE_DESTROY, ERROR, CERTAIN);
	expect_sequel(w, RELEASED);
	fails(w, DRV_ERROR);
	destroy_event(w, E);
	assert_int_equal(w->nr_sequels, w->sequels_heard);
	destroy_event(w, E);
	expect_sequel(w, DESTROYED);
}

static void the_destroy_of_an_event_no_verdict_named_is_no_sequel(void **state)
{
	struct world *w = with_poll(state);

	create_event(w, F);
	free_host(w, BUF);
	expect(w, FREE_BEFORE_DESTROY, ERROR, CERTAIN);
	expect_sequel(w, RELEASED);
	destroy_event(w, F);
	assert_int_equal(w->nr_sequels, w->sequels_heard);
}

/* ---- free-after-stream-query ------------------------------------------- */

static void by_stream_query_only_is_a_warning_of_its_own(void **state)
{
	struct world *w = with_copy(state);
	const struct acl_violation *v;
	__u64 asked = w->now + w->tick;

	query_stream(w, S, DONE);
	free_host(w, BUF);
	v = expect(w, FREE_AFTER_STREAM_QUERY, WARNING, CERTAIN);
	/* when it was entered, not when it answered */
	assert_int_equal(v->stream.query_pos, asked);
	assert_int_equal(v->hazard, ACL_HZ_MECHANISM);
}

static void polled_by_both_the_event_decides(void **state)
{
	struct world *w = with_copy(state);

	query_stream(w, S, DONE);
	record_event(w, E, S);
	poll_event(w, E, DONE);
	query_stream(w, S, DONE);
	free_host(w, BUF);
	expect(w, FREE_BEFORE_DESTROY, ERROR, CERTAIN);
}

/* ---- free-in-flight ---------------------------------------------------- */

static void in_flight_is_documented_as_forbidden(void **state)
{
	struct world *w = with_copy(state);

	free_host(w, BUF);
	assert_int_equal(expect(w, FREE_IN_FLIGHT, ERROR, CERTAIN)->hazard, ACL_HZ_DOCUMENTED);
}

static void way_makes_it_suspected(void **state, enum acl_call way)
{
	struct world *w = with_copy(state);

	world__enter_at(w, 0x7ffc00000000, way, (__u64[6]){ S });
	leave_at(w, 0x7ffc00000000, 0, 0);
	free_host(w, BUF);
	because(expect(w, FREE_IN_FLIGHT, WARNING, SUSPECTED), WAY);
}

static void a_notify_after_the_copy_is_a_way_to_the_host(void **state)
{
	way_makes_it_suspected(state, ACL_C_aclrtRecordNotify);
}

static void a_counting_notify_after_the_copy_is_a_way_to_the_host(void **state)
{
	way_makes_it_suspected(state, ACL_C_aclrtCntNotifyRecord);
}

static void a_callback_after_the_copy_is_a_way_to_the_host(void **state)
{
	way_makes_it_suspected(state, ACL_C_aclrtLaunchCallback);
}

static void a_host_function_after_the_copy_is_a_way_to_the_host(void **state)
{
	way_makes_it_suspected(state, ACL_C_aclrtLaunchHostFunc);
}

static void a_value_write_after_the_copy_is_a_way_to_the_host(void **state)
{
	way_makes_it_suspected(state, ACL_C_aclrtValueWrite);
}

static void a_way_before_the_copy_is_none(void **state)
{
	struct world *w = with_copy(state);

	launch_callback(w, S);
	copy_h2d(w, BUF, 64, S);
	free_host(w, BUF);
	expect(w, FREE_IN_FLIGHT, ERROR, CERTAIN);
}

static void a_way_on_another_stream_is_none(void **state)
{
	struct world *w = with_copy(state);

	launch_callback(w, T);
	free_host(w, BUF);
	expect(w, FREE_IN_FLIGHT, ERROR, CERTAIN);
}

static void a_way_does_not_matter_to_what_was_polled(void **state)
{
	struct world *w = with_poll(state);

	launch_callback(w, S);
	free_host(w, BUF);
	expect(w, FREE_BEFORE_DESTROY, ERROR, CERTAIN);
}

static void in_flight_without_a_way_comes_before_in_flight_with_one(void **state)
{
	struct world *w = with_copy(state);

	launch_callback(w, S);
	copy_h2d(w, BUF, 64, T);
	free_host(w, BUF);
	assert_int_equal(expect(w, FREE_IN_FLIGHT, ERROR, CERTAIN)->stream.handle, T);
}

static void an_external_record_is_a_way_to_the_host(void **state)
{
	struct world *w = with_copy(state);

	call(w, aclrtRecordEventWithFlag, 0, E, S, 1);
	free_host(w, BUF);
	because(expect(w, FREE_IN_FLIGHT, WARNING, SUSPECTED), WAY);
}

static void a_record_with_other_flags_is_no_way(void **state)
{
	struct world *w = with_copy(state);

	call(w, aclrtRecordEventWithFlag, 0, E, S, 0);
	free_host(w, BUF);
	expect(w, FREE_IN_FLIGHT, ERROR, CERTAIN);
}

static void a_record_of_an_event_created_external_is_a_way(void **state)
{
	struct world *w = with_copy(state);

	create_event_flags(w, F, 0x20 /* ACL_EVENT_EXTERNAL */);
	record_event(w, F, S);
	free_host(w, BUF);
	because(expect(w, FREE_IN_FLIGHT, WARNING, SUSPECTED), WAY);
}

static void a_record_of_an_event_opened_by_ipc_is_a_way(void **state)
{
	struct world *w = with_copy(state);

	call(w, aclrtIpcOpenEventHandle, F, 0x1000);
	record_event(w, F, S);
	free_host(w, BUF);
	because(expect(w, FREE_IN_FLIGHT, WARNING, SUSPECTED), WAY);
}

static void a_record_of_an_event_exported_by_ipc_is_a_way(void **state)
{
	struct world *w = with_copy(state);

	call(w, aclrtIpcGetEventHandle, 0, E, 0x1000);
	record_event(w, E, S);
	free_host(w, BUF);
	because(expect(w, FREE_IN_FLIGHT, WARNING, SUSPECTED), WAY);
}

static void exporting_an_event_makes_its_record_a_way(void **state)
{
	struct world *w = with_copy(state);

	record_event(w, E, S);
	call(w, aclrtIpcGetEventHandle, 0, E, 0x1000);
	free_host(w, BUF);
	because(expect(w, FREE_IN_FLIGHT, WARNING, SUSPECTED), WAY);
}

/* ---- free-after-event-sync --------------------------------------------- */

static void event_waited_only_is_a_note(void **state)
{
	struct world *w = with_copy(state);

	record_event(w, E, S);
	sync_event(w, E);
	free_host(w, BUF);
	assert_int_equal(expect(w, FREE_AFTER_EVENT_SYNC, NOTE, CERTAIN)->hazard, ACL_HZ_MECHANISM);
}

static void notes_are_not_shown_unless_strict(void **state)
{
	struct world *w = *state;
	struct acl_cfg cfg = world__cfg();

	cfg.strict = 0;
	world__restart(w, &cfg, 0);
	with_copy(state);
	record_event(w, E, S);
	sync_event(w, E);
	free_host(w, BUF);
	silent(w);
}

/* ---- which rules are wanted -------------------------------------------- */

static void rules_that_are_not_wanted_are_silent(void **state)
{
	struct world *w = *state;
	struct acl_cfg cfg = world__cfg();

	cfg.rules &= ~ACL_RULE_BIT(ACL_RULE_FREE_BEFORE_DESTROY);
	world__restart(w, &cfg, 0);
	with_poll(state);
	free_host(w, BUF);
	silent(w);
	malloc_host(w, BUF, 4096);
	copy_h2d(w, BUF, 4096, S);
	free_host(w, BUF);
	expect(w, FREE_IN_FLIGHT, ERROR, CERTAIN);
}

/* ---- free-failed ------------------------------------------------------- */

static void a_failed_free_joins_the_verdict_of_the_same_call(void **state)
{
	struct world *w = with_poll(state);
	const struct acl_violation *v;
	const struct acl_sequel *s;

	fails(w, DRV_ERROR);
	free_host(w, BUF);
	v = expect(w, FREE_BEFORE_DESTROY, ERROR, CERTAIN);
	s = expect_sequel(w, RELEASED);
	assert_int_equal(s->id, v->id);
	assert_int_equal(s->ret, DRV_ERROR);
	silent(w); /* one report, which the sequel confirms */
}

static void a_failed_free_of_a_tracked_buffer_is_an_error(void **state)
{
	struct world *w = with_copy(state);
	const struct acl_violation *v;

	sync_stream(w, S);
	fails(w, PARAM_INVALID);
	free_host(w, BUF);
	v = expect(w, FREE_FAILED, ERROR, CONFIRMED);
	assert_int_equal(v->ret, PARAM_INVALID);
	assert_int_equal(v->buf.base, BUF);
}

static void a_failed_free_with_device_sync_is_an_error(void **state)
{
	struct world *w = with_copy(state);

	fails(w, DRV_ERROR);
	free_host_sync(w, BUF);
	expect(w, FREE_FAILED, ERROR, CONFIRMED);
}

static void a_runtime_error_of_any_free_is_an_error(void **state)
{
	struct world *w = *state;
	const struct acl_violation *v;

	fails(w, DRV_ERROR);
	free_host(w, BUF);
	v = expect(w, FREE_FAILED, ERROR, CONFIRMED);
	assert_int_equal(v->buf.id, 0);
	assert_int_equal(v->ptr, BUF);
	fails(w, 507000);
	free_host(w, BUF);
	expect(w, FREE_FAILED, ERROR, CONFIRMED);
	fails(w, 507999);
	free_host(w, BUF);
	expect(w, FREE_FAILED, ERROR, CONFIRMED);
}

static void other_failures_of_untracked_frees_are_api_errors(void **state)
{
	struct world *w = *state;
	const int other[] = { PARAM_INVALID, 506999, 508000, -1 };

	for (size_t i = 0; i < sizeof(other) / sizeof(other[0]); i++) {
		fails(w, other[i]);
		free_host(w, BUF);
	}
	silent(w);
	assert_int_equal(store__calls(w->store)[ACL_C_aclrtFreeHost].failed, 4);
}

static void a_free_that_failed_did_not_happen(void **state)
{
	struct world *w = with_poll(state);

	fails(w, DRV_ERROR);
	free_host(w, BUF);
	expect(w, FREE_BEFORE_DESTROY, ERROR, CERTAIN);
	free_host(w, BUF);
	expect(w, FREE_BEFORE_DESTROY, ERROR, CERTAIN);
	free_host(w, BUF);
	silent(w); /* it succeeded, so a creation was missed */
}

/* ---- FreeHostWithDevSync, HostUnregister ------------------------------- */

static void free_host_with_device_sync_is_silent(void **state)
{
	struct world *w = with_copy(state);

	free_host_sync(w, BUF);
	silent(w);
}

static void free_host_with_device_sync_settles_the_device(void **state)
{
	struct world *w = with_copy(state);

	malloc_host(w, BUF2, 64);
	copy_h2d(w, BUF2, 64, T);
	free_host_sync(w, BUF);
	free_host(w, BUF2);
	silent(w);
}

static void unregister_is_judged_the_same(void **state)
{
	struct world *w = with_copy(state);

	host_register(w, BUF2, 8192);
	copy_d2h(w, BUF2 + 4096, 64, S);
	record_event(w, E, S);
	poll_event(w, E, DONE);
	host_unregister(w, BUF2);
	assert_int_equal(expect(w, FREE_BEFORE_DESTROY, ERROR, CERTAIN)->call,
			 ACL_C_aclrtHostUnregister);
}

static void unregister_after_a_barrier_is_silent(void **state)
{
	struct world *w = with_copy(state);

	host_register(w, BUF2, 8192);
	copy_d2h(w, BUF2 + 4096, 64, S);
	sync_stream(w, S);
	host_unregister(w, BUF2);
	silent(w);
}

static void unregister_is_no_free_so_memory_of_malloc_host_lives_on(void **state)
{
	struct world *w = with_copy(state);

	sync_stream(w, S);
	host_register(w, BUF, 4096);
	host_unregister(w, BUF);
	copy_h2d(w, BUF, 4096, S);
	free_host(w, BUF);
	expect(w, FREE_IN_FLIGHT, ERROR, CERTAIN);
	assert_int_equal(proc_of(w, TGID)->bufs_gone, 1);
}

static void memory_that_was_unregistered_is_pageable_again(void **state)
{
	struct world *w = with_copy(state);

	host_register(w, BUF2, 8192);
	host_unregister(w, BUF2);
	copy_h2d(w, BUF2, 64, S); /* no copy after a free, either */
	silent(w);
	host_register(w, BUF2, 8192);
	host_unregister(w, BUF2);
	silent(w);
}

/* ---- double-free ------------------------------------------------------- */

static void a_second_free_that_fails_is_a_double_free(void **state)
{
	struct world *w = *state;
	const struct acl_violation *v;

	malloc_host(w, BUF, 4096);
	free_host(w, BUF);
	fails(w, PARAM_INVALID);
	free_host(w, BUF);
	v = expect(w, DOUBLE_FREE, ERROR, CONFIRMED);
	assert_int_equal(v->ret, PARAM_INVALID);
	assert_int_equal(v->ptr, BUF);
	assert_int_equal(v->hazard, ACL_HZ_DOCUMENTED);
}

static void a_second_free_that_succeeds_means_a_missed_creation(void **state)
{
	struct world *w = *state;

	malloc_host(w, BUF, 4096);
	free_host(w, BUF);
	free_host(w, BUF);
	silent(w);
	assert_int_equal(lost(w, ACL_L_MISSED_CREATE), 1);
}

static void a_free_of_what_was_created_since_is_no_double_free(void **state)
{
	struct world *w = *state;

	malloc_host(w, BUF, 4096);
	free_host(w, BUF);
	malloc_host(w, BUF, 64);
	free_host(w, BUF);
	silent(w);
	assert_int_equal(lost(w, ACL_L_MISSED_CREATE), 0);
}

static void a_free_of_what_was_never_seen_is_no_double_free(void **state)
{
	struct world *w = *state;

	malloc_host(w, BUF, 4096);
	free_host(w, BUF);
	fails(w, PARAM_INVALID);
	free_host(w, BUF2);
	silent(w);
}

static void a_free_that_failed_before_makes_no_double_free(void **state)
{
	struct world *w = *state;

	malloc_host(w, BUF, 4096);
	fails(w, PARAM_INVALID);
	free_host(w, BUF);
	expect(w, FREE_FAILED, ERROR, CONFIRMED);
	free_host(w, BUF);
	silent(w);
}

static void a_double_free_with_a_runtime_error_is_one_report(void **state)
{
	struct world *w = *state;

	malloc_host(w, BUF, 4096);
	free_host(w, BUF);
	fails(w, DRV_ERROR);
	free_host(w, BUF);
	assert_int_equal(w->nr_said, 1);
	w->heard = 1;
}

static void of_two_frees_at_once_the_one_that_fails_is_a_double_free(void **state)
{
	struct world *w = *state;

	malloc_host(w, BUF, 4096);
	holds(w);
	free_host(w, BUF);
	as(w, 101);
	holds(w);
	free_host(w, BUF);
	as(w, TGID);
	returns(w);
	as(w, 101);
	returns_with(w, PARAM_INVALID);
	expect(w, DOUBLE_FREE, ERROR, CONFIRMED);
}

static void what_was_created_during_a_failing_second_free_is_no_double_free(void **state)
{
	struct world *w = *state;

	malloc_host(w, BUF, 4096);
	free_host(w, BUF);
	holds(w);
	free_host(w, BUF);
	as(w, 101);
	malloc_host(w, BUF, 4096);
	as(w, TGID);
	returns_with(w, PARAM_INVALID);
	silent(w);
}

static void unregistering_what_was_freed_is_no_double_free(void **state)
{
	struct world *w = *state;

	malloc_host(w, BUF, 4096);
	free_host(w, BUF);
	fails(w, PARAM_INVALID);
	host_unregister(w, BUF);
	silent(w);
}

/* ---- event-double-destroy, event-use-after-destroy --------------------- */

static struct world *with_destroyed(void **state)
{
	struct world *w = *state;

	set_device(w, 0);
	create_stream(w, S);
	create_event(w, E);
	record_event(w, E, S);
	destroy_event(w, E);
	return w;
}

static void a_second_destroy_that_fails_is_a_double_destroy(void **state)
{
	struct world *w = with_destroyed(state);
	const struct acl_violation *v;

	fails(w, PARAM_INVALID);
	destroy_event(w, E);
	v = expect(w, EVENT_DOUBLE_DESTROY, ERROR, CONFIRMED);
	assert_int_equal(v->ret, PARAM_INVALID);
	assert_int_equal(v->ptr, E);
}

static void a_second_destroy_that_succeeds_means_a_missed_creation(void **state)
{
	struct world *w = with_destroyed(state);

	destroy_event(w, E);
	silent(w);
	assert_int_equal(lost(w, ACL_L_MISSED_CREATE), 1);
}

static void of_two_destroys_at_once_the_one_that_fails_is_a_double_destroy(void **state)
{
	struct world *w = *state;

	create_event(w, E);
	holds(w);
	destroy_event(w, E);
	as(w, 101);
	holds(w);
	destroy_event(w, E);
	as(w, TGID);
	returns(w);
	as(w, 101);
	returns_with(w, PARAM_INVALID);
	expect(w, EVENT_DOUBLE_DESTROY, ERROR, CONFIRMED);
}

static void destroying_what_was_created_since_is_no_double_destroy(void **state)
{
	struct world *w = with_destroyed(state);

	create_event(w, E);
	fails(w, PARAM_INVALID);
	destroy_event(w, E);
	destroy_event(w, E);
	silent(w);
	assert_int_equal(lost(w, ACL_L_MISSED_CREATE), 0);
}

static void a_destroy_of_an_event_never_seen_is_silent(void **state)
{
	struct world *w = with_destroyed(state);

	fails(w, PARAM_INVALID);
	destroy_event(w, F);
	silent(w);
}

static void a_record_after_the_destroy_that_fails_is_reported(void **state)
{
	struct world *w = with_destroyed(state);

	fails(w, PARAM_INVALID);
	record_event(w, E, S);
	expect(w, EVENT_USE_AFTER_DESTROY, ERROR, CONFIRMED);
}

static void a_poll_after_the_destroy_that_fails_is_reported(void **state)
{
	struct world *w = with_destroyed(state);

	fails(w, PARAM_INVALID);
	poll_event(w, E, DONE);
	expect(w, EVENT_USE_AFTER_DESTROY, ERROR, CONFIRMED);
}

static void a_query_after_the_destroy_that_fails_is_reported(void **state)
{
	struct world *w = with_destroyed(state);

	fails(w, PARAM_INVALID);
	query_event(w, E, DONE);
	expect(w, EVENT_USE_AFTER_DESTROY, ERROR, CONFIRMED);
}

static void a_wait_after_the_destroy_that_fails_is_reported(void **state)
{
	struct world *w = with_destroyed(state);

	fails(w, PARAM_INVALID);
	stream_wait(w, S, E);
	assert_int_equal(expect(w, EVENT_USE_AFTER_DESTROY, ERROR, CONFIRMED)->call,
			 ACL_C_aclrtStreamWaitEvent);
}

static void a_synchronize_after_the_destroy_that_fails_is_reported(void **state)
{
	struct world *w = with_destroyed(state);

	fails(w, PARAM_INVALID);
	sync_event(w, E);
	expect(w, EVENT_USE_AFTER_DESTROY, ERROR, CONFIRMED);
}

static void a_use_after_the_destroy_that_succeeds_means_a_missed_creation(void **state)
{
	struct world *w = with_destroyed(state);

	record_event(w, E, S);
	silent(w);
	assert_int_equal(lost(w, ACL_L_MISSED_CREATE), 1);
	poll_event(w, E, DONE); /* by now it is known again */
	destroy_event(w, E);
	silent(w);
	assert_int_equal(lost(w, ACL_L_MISSED_CREATE), 1);
}

static void a_use_of_what_was_created_since_is_silent(void **state)
{
	struct world *w = with_destroyed(state);

	create_event(w, E);
	fails(w, PARAM_INVALID);
	record_event(w, E, S);
	fails(w, PARAM_INVALID);
	poll_event(w, E, DONE);
	fails(w, PARAM_INVALID);
	stream_wait(w, S, E);
	silent(w);
}

static void a_use_of_an_event_whose_destroy_failed_is_silent(void **state)
{
	struct world *w = *state;

	create_stream(w, S);
	create_event(w, E);
	fails(w, PARAM_INVALID);
	destroy_event(w, E);
	fails(w, PARAM_INVALID);
	record_event(w, E, S);
	silent(w);
}

/* ---- copy-after-free --------------------------------------------------- */

static struct world *with_freed(void **state)
{
	struct world *w = *state;

	set_device(w, 0);
	create_stream(w, S);
	malloc_host(w, BUF, 4096);
	free_host(w, BUF);
	return w;
}

static void a_copy_in_a_freed_buffer_is_reported(void **state)
{
	struct world *w = with_freed(state);
	const struct acl_violation *v;

	copy_h2d(w, BUF + 64, 64, S);
	v = expect(w, COPY_AFTER_FREE, ERROR, CERTAIN);
	assert_int_equal(v->call, ACL_C_aclrtMemcpyAsync);
	assert_int_equal(v->ptr, BUF + 64);
	assert_int_equal(v->copy.len, 64);
	assert_int_equal(v->stream.handle, S);
	assert_int_equal(v->buf.id, 0);
	assert_int_equal(v->ended.base, BUF);
	assert_int_equal(v->ended.size, 4096);
	assert_int_equal(v->ended.tid, TGID);
}

static void a_copy_into_a_freed_buffer_is_reported(void **state)
{
	struct world *w = with_freed(state);

	copy_d2h(w, BUF + 4095, 1, S);
	expect(w, COPY_AFTER_FREE, ERROR, CERTAIN);
}

static void a_copy_in_a_freed_buffer_that_fails_is_silent(void **state)
{
	struct world *w = with_freed(state);

	fails(w, PARAM_INVALID);
	copy_h2d(w, BUF, 64, S);
	silent(w);
}

static void a_copy_beside_a_freed_buffer_is_silent(void **state)
{
	struct world *w = with_freed(state);

	copy_h2d(w, BUF + 4096, 64, S);
	copy_h2d(w, BUF - 64, 64, S);
	silent(w);
}

static void a_copy_in_a_live_buffer_where_a_freed_one_was_is_silent(void **state)
{
	struct world *w = with_freed(state);

	malloc_host(w, BUF, 64);
	copy_h2d(w, BUF, 64, S);
	sync_stream(w, S);
	free_host(w, BUF);
	silent(w);
}

static void a_copy_after_a_free_that_failed_is_silent(void **state)
{
	struct world *w = *state;

	create_stream(w, S);
	malloc_host(w, BUF, 4096);
	fails(w, DRV_ERROR);
	free_host(w, BUF);
	expect(w, FREE_FAILED, ERROR, CONFIRMED);
	copy_h2d(w, BUF, 64, S);
	silent(w);
}

static void the_last_1024_freed_are_remembered(void **state)
{
	struct world *w = with_freed(state);

	for (__u64 i = 1; i < 1024; i++) {
		malloc_host(w, BUF2 + i * 4096, 4096);
		free_host(w, BUF2 + i * 4096);
	}
	copy_h2d(w, BUF, 64, S);
	expect(w, COPY_AFTER_FREE, ERROR, CERTAIN);
	assert_int_equal(lost(w, ACL_L_EVICTED), 0);
}

static void older_freed_ones_are_forgotten_and_counted(void **state)
{
	struct world *w = with_freed(state);

	for (__u64 i = 1; i <= 1024; i++) {
		malloc_host(w, BUF2 + i * 4096, 4096);
		free_host(w, BUF2 + i * 4096);
	}
	copy_h2d(w, BUF, 64, S);
	silent(w);
	assert_int_equal(lost(w, ACL_L_EVICTED), 1);
}

static void addresses_used_again_do_not_pile_up_among_the_freed(void **state)
{
	struct world *w = *state;

	for (__u64 i = 0; i < 2000; i++) {
		malloc_host(w, BUF + i * 4096, 64);
		free_host(w, BUF + i * 4096);
		malloc_host(w, BUF + i * 4096, 128);
		free_host(w, BUF + i * 4096);
		create_event(w, E);
		destroy_event(w, E);
	}
	assert_in_range(used(w, STORE_RANGES), 0, 1024);
	assert_in_range(used(w, STORE_DEADS), 0, 2 * 1024);
	assert_in_range(used(w, STORE_GRAVES), 0, 2 * 1024);
}

/* ---- leaks ------------------------------------------------------------- */

static void what_is_alive_at_the_end_can_be_counted(void **state)
{
	struct world *w = with_poll(state);
	const struct acl_proc *p;

	malloc_host(w, BUF2, 64);
	free_host(w, BUF2);
	create_event(w, F);
	destroy_event(w, F);
	store__exit(w->store, TGID, w->now);
	assert_int_equal(w->nr_gone, 2);
	assert_int_equal(w->gone[1].h.type, ACL_REC_EXIT);
	p = &w->gone[1].proc;
	assert_int_equal(p->bufs_made - p->bufs_gone, 1);
	assert_int_equal(p->bytes_made - p->bytes_gone, 4096);
	assert_int_equal(p->events_made - p->events_gone, 1);
	assert_int_equal(p->streams_made - p->streams_gone, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		world_test(the_report_names_the_copy_the_stream_and_the_poll),
		world_test(named_is_the_last_poll_that_advanced_the_stream),
		world_test(a_pooled_event_makes_it_a_warning),
		world_test(an_event_recorded_again_after_the_poll_is_pooled),
		world_test(a_record_that_failed_does_not_make_it_pooled),
		world_test(a_reset_is_no_second_record),
		world_test(a_handle_used_again_is_not_pooled),
		world_test(a_poll_as_old_as_the_window_is_an_error),
		world_test(a_poll_older_than_the_window_is_a_warning),
		world_test(polling_again_does_not_make_the_poll_younger),
		world_test(the_hazard_of_time_line_events_is_documented),
		world_test(the_hazard_of_other_events_is_the_mechanism),
		world_test(the_hazard_of_ex_events_is_the_mechanism),
		world_test(the_story_goes_on_with_the_free_and_the_destroy),
		world_test(a_destroy_that_failed_did_not_happen),
		world_test(the_destroy_of_an_event_no_verdict_named_is_no_sequel),
		world_test(by_stream_query_only_is_a_warning_of_its_own),
		world_test(polled_by_both_the_event_decides),
		world_test(in_flight_is_documented_as_forbidden),
		world_test(a_notify_after_the_copy_is_a_way_to_the_host),
		world_test(a_counting_notify_after_the_copy_is_a_way_to_the_host),
		world_test(a_callback_after_the_copy_is_a_way_to_the_host),
		world_test(a_host_function_after_the_copy_is_a_way_to_the_host),
		world_test(a_value_write_after_the_copy_is_a_way_to_the_host),
		world_test(a_way_before_the_copy_is_none),
		world_test(a_way_on_another_stream_is_none),
		world_test(a_way_does_not_matter_to_what_was_polled),
		world_test(in_flight_without_a_way_comes_before_in_flight_with_one),
		world_test(an_external_record_is_a_way_to_the_host),
		world_test(a_record_with_other_flags_is_no_way),
		world_test(a_record_of_an_event_created_external_is_a_way),
		world_test(a_record_of_an_event_opened_by_ipc_is_a_way),
		world_test(a_record_of_an_event_exported_by_ipc_is_a_way),
		world_test(exporting_an_event_makes_its_record_a_way),
		world_test(event_waited_only_is_a_note),
		world_test(notes_are_not_shown_unless_strict),
		world_test(rules_that_are_not_wanted_are_silent),
		world_test(a_failed_free_joins_the_verdict_of_the_same_call),
		world_test(a_failed_free_of_a_tracked_buffer_is_an_error),
		world_test(a_failed_free_with_device_sync_is_an_error),
		world_test(a_runtime_error_of_any_free_is_an_error),
		world_test(other_failures_of_untracked_frees_are_api_errors),
		world_test(a_free_that_failed_did_not_happen),
		world_test(free_host_with_device_sync_is_silent),
		world_test(free_host_with_device_sync_settles_the_device),
		world_test(unregister_is_judged_the_same),
		world_test(unregister_after_a_barrier_is_silent),
		world_test(unregister_is_no_free_so_memory_of_malloc_host_lives_on),
		world_test(memory_that_was_unregistered_is_pageable_again),
		world_test(a_second_free_that_fails_is_a_double_free),
		world_test(a_second_free_that_succeeds_means_a_missed_creation),
		world_test(a_free_of_what_was_created_since_is_no_double_free),
		world_test(a_free_of_what_was_never_seen_is_no_double_free),
		world_test(a_free_that_failed_before_makes_no_double_free),
		world_test(a_double_free_with_a_runtime_error_is_one_report),
		world_test(of_two_frees_at_once_the_one_that_fails_is_a_double_free),
		world_test(what_was_created_during_a_failing_second_free_is_no_double_free),
		world_test(unregistering_what_was_freed_is_no_double_free),
		world_test(a_second_destroy_that_fails_is_a_double_destroy),
		world_test(a_second_destroy_that_succeeds_means_a_missed_creation),
		world_test(of_two_destroys_at_once_the_one_that_fails_is_a_double_destroy),
		world_test(destroying_what_was_created_since_is_no_double_destroy),
		world_test(a_destroy_of_an_event_never_seen_is_silent),
		world_test(a_record_after_the_destroy_that_fails_is_reported),
		world_test(a_poll_after_the_destroy_that_fails_is_reported),
		world_test(a_query_after_the_destroy_that_fails_is_reported),
		world_test(a_wait_after_the_destroy_that_fails_is_reported),
		world_test(a_synchronize_after_the_destroy_that_fails_is_reported),
		world_test(a_use_after_the_destroy_that_succeeds_means_a_missed_creation),
		world_test(a_use_of_what_was_created_since_is_silent),
		world_test(a_use_of_an_event_whose_destroy_failed_is_silent),
		world_test(a_copy_in_a_freed_buffer_is_reported),
		world_test(a_copy_into_a_freed_buffer_is_reported),
		world_test(a_copy_in_a_freed_buffer_that_fails_is_silent),
		world_test(a_copy_beside_a_freed_buffer_is_silent),
		world_test(a_copy_in_a_live_buffer_where_a_freed_one_was_is_silent),
		world_test(a_copy_after_a_free_that_failed_is_silent),
		world_test(the_last_1024_freed_are_remembered),
		world_test(older_freed_ones_are_forgotten_and_counted),
		world_test(addresses_used_again_do_not_pile_up_among_the_freed),
		world_test(what_is_alive_at_the_end_can_be_counted),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("verdicts", tests, NULL, NULL);
}
