/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Which buffer a copy belongs to: ranges, generations, and what a failing call takes back. */
#include "world.h"

#define BUF 0x120043200000ULL
#define S 0x7f0000001000ULL
#define T 0x7f0000002000ULL
#define ERR 507000

static struct world *begin(void **state)
{
	struct world *w = *state;

	set_device(w, 0);
	create_stream(w, S);
	create_stream(w, T);
	return w;
}

/* Whether a copy at `addr` is held against the release of the buffer at `base`. */
static void belongs(struct world *w, __u64 base, __u64 size, __u64 addr, int does)
{
	malloc_host(w, base, size);
	copy_h2d(w, addr, 1, S);
	free_host(w, base);
	if (does)
		expect(w, FREE_IN_FLIGHT, ERROR, CERTAIN);
	silent(w);
	sync_stream(w, S);
}

/* ---- ranges ------------------------------------------------------------ */

static void buffers_hold_their_first_and_last_byte_and_no_other(void **state)
{
	struct world *w = begin(state);
	/* around powers of two, where the way of filing changes; and huge ones */
	const __u64 sizes[] = { 1,
				63,
				64,
				65,
				127,
				128,
				129,
				4095,
				4096,
				4097,
				65535,
				65536,
				65537,
				123731968,
				(1ULL << 32) - 1,
				1ULL << 32,
				(1ULL << 32) + 1,
				(1ULL << 40) + 12345,
				(1ULL << 46) };
	const __u64 bases[] = { BUF, BUF + 64, BUF + 0x1040, BUF - 64 };

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		for (size_t j = 0; j < sizeof(bases) / sizeof(bases[0]); j++) {
			belongs(w, bases[j], sizes[i], bases[j], 1);
			belongs(w, bases[j], sizes[i], bases[j] + sizes[i] / 2, 1);
			belongs(w, bases[j], sizes[i], bases[j] + sizes[i] - 1, 1);
			w->nr_said = w->heard = w->nr_sequels = 0;
		}
	}
}

static void bytes_beside_a_buffer_are_pageable(void **state)
{
	const __u64 sizes[] = { 1, 63, 64, 65, 4095, 4096, 4097, 123731968, (1ULL << 32) + 1 };
	struct world *w = begin(state);

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		malloc_host(w, BUF, sizes[i]);
		copy_h2d(w, BUF + sizes[i], 1, S);
		copy_h2d(w, BUF - 1, 1, S);
		free_host(w, BUF);
		silent(w);
	}
}

static void interior_pointers_are_found_in_all_three_chunks(void **state)
{
	struct world *w = begin(state);
	const __u64 chunk = 1 << 16;

	/* just short of two chunks long, beginning at the end of one: it reaches into a third */
	belongs(w, BUF + chunk - 64, 2 * chunk - 1, BUF + chunk - 1, 1);
	belongs(w, BUF + chunk - 64, 2 * chunk - 1, BUF + chunk, 1);
	belongs(w, BUF + chunk - 64, 2 * chunk - 1, BUF + 2 * chunk, 1);
	belongs(w, BUF + chunk - 64, 2 * chunk - 1, BUF + 3 * chunk - 64 - 2, 1);
}

static void neighbours_are_told_apart(void **state)
{
	struct world *w = begin(state);

	for (int i = 0; i < 16; i++)
		malloc_host(w, BUF + i * 4096, 4096);
	copy_h2d(w, BUF + 7 * 4096, 4096, S);
	for (int i = 0; i < 16; i++) {
		free_host(w, BUF + i * 4096);
		if (i == 7)
			expect(w, FREE_IN_FLIGHT, ERROR, CERTAIN);
		silent(w);
	}
}

static void neighbours_of_other_sizes_are_told_apart(void **state)
{
	struct world *w = begin(state);
	__u64 at = BUF;

	for (int i = 6; i < 30; i++) {
		malloc_host(w, at, 1ULL << i);
		at += 1ULL << i;
	}
	at = BUF;
	for (int i = 6; i < 30; i++) {
		copy_d2h(w, at, 1, S);
		copy_d2h(w, at + (1ULL << i) - 1, 1, T);
		free_host(w, at);
		assert_int_equal(expect(w, FREE_IN_FLIGHT, ERROR, CERTAIN)->unsettled, 2);
		silent(w);
		at += 1ULL << i;
	}
}

static void a_copy_on_pageable_memory_creates_no_state(void **state)
{
	struct world *w = begin(state);

	copy_h2d(w, BUF, 4096, S);
	assert_int_equal(used(w, STORE_BUFS), 0);
	assert_int_equal(used(w, STORE_COPIES), 0);
	malloc_host(w, BUF, 4096);
	free_host(w, BUF);
	silent(w);
}

static void a_copy_of_nothing_is_none(void **state)
{
	struct world *w = begin(state);

	malloc_host(w, BUF, 4096);
	copy_h2d(w, BUF, 0, S);
	free_host(w, BUF);
	silent(w);
}

static void the_end_of_a_range_at_the_top_of_memory_does_not_wrap(void **state)
{
	struct world *w = begin(state);

	malloc_host(w, ~0ULL - 4095, 8192);
	malloc_host(w, 0, 4096);
	malloc_host(w, BUF, 0);
	assert_int_equal(used(w, STORE_BUFS), 0);
}

static void a_free_of_an_interior_pointer_frees_nothing(void **state)
{
	struct world *w = begin(state);

	malloc_host(w, BUF, 4096);
	copy_h2d(w, BUF, 64, S);
	fails(w, 107000);
	free_host(w, BUF + 64);
	silent(w);
	free_host(w, BUF);
	expect(w, FREE_IN_FLIGHT, ERROR, CERTAIN);
}

static void many_buffers_are_told_apart(void **state)
{
	struct world *w = begin(state);

	for (__u64 i = 0; i < 20000; i++)
		malloc_host(w, BUF + i * 192, 100 + i % 90);
	copy_h2d(w, BUF + 12345 * 192 + 17, 1, S);
	for (__u64 i = 0; i < 20000; i++) {
		free_host(w, BUF + i * 192);
		if (i == 12345)
			expect(w, FREE_IN_FLIGHT, ERROR, CERTAIN);
	}
	silent(w);
	assert_int_equal(used(w, STORE_BUFS), 0);
}

/* ---- kinds of copies --------------------------------------------------- */

static void kind_counts(void **state, int kind, int src, int dst)
{
	struct world *w = begin(state);

	malloc_host(w, BUF, 4096);
	copy_kind(w, DEVICE_MEM, BUF, 64, kind, S);
	free_host(w, BUF);
	if (src)
		expect(w, FREE_IN_FLIGHT, ERROR, CERTAIN);
	silent(w);
	malloc_host(w, BUF, 4096);
	copy_kind(w, BUF, DEVICE_MEM, 64, kind, S);
	free_host(w, BUF);
	if (dst)
		expect(w, FREE_IN_FLIGHT, ERROR, CERTAIN);
	silent(w);
}

static void host_to_device_reads_its_source(void **state)
{
	kind_counts(state, H2D, 1, 0);
}

static void host_to_buffer_to_device_reads_its_source(void **state)
{
	kind_counts(state, H2B2D, 1, 0);
}

static void device_to_host_writes_its_destination(void **state)
{
	kind_counts(state, D2H, 0, 1);
}

static void host_to_host_touches_both(void **state)
{
	kind_counts(state, H2H, 1, 1);
}

static void the_default_kind_is_decided_by_the_addresses(void **state)
{
	kind_counts(state, ANY, 1, 1);
}

static void device_to_device_touches_no_host_memory(void **state)
{
	kind_counts(state, D2D, 0, 0);
}

static void inner_and_inter_device_copies_touch_no_host_memory(void **state)
{
	kind_counts(state, 6, 0, 0);
	kind_counts(state, 7, 0, 0);
}

static void a_host_to_host_copy_is_held_against_both_buffers(void **state)
{
	struct world *w = begin(state);

	malloc_host(w, BUF, 4096);
	malloc_host(w, BUF + 4096, 4096);
	copy_kind(w, BUF, BUF + 4096, 4096, H2H, S);
	free_host(w, BUF);
	expect(w, FREE_IN_FLIGHT, ERROR, CERTAIN);
	free_host(w, BUF + 4096);
	expect(w, FREE_IN_FLIGHT, ERROR, CERTAIN);
}

static void copies_with_condition_are_copies(void **state)
{
	struct world *w = begin(state);

	malloc_host(w, BUF, 4096);
	call(w, aclrtMemcpyAsyncWithCondition, 0, DEVICE_MEM, 64, BUF, 64, H2D, S);
	free_host(w, BUF);
	expect(w, FREE_IN_FLIGHT, ERROR, CERTAIN);
}

static void copies_of_rows_are_copies(void **state)
{
	struct world *w = begin(state);

	malloc_host(w, BUF, 4096);
	call(w, aclrtMemcpy2dAsync, 0, DEVICE_MEM, 960, BUF + 64, 3904, H2D, S);
	free_host(w, BUF);
	assert_int_equal(expect(w, FREE_IN_FLIGHT, ERROR, CERTAIN)->copy.len, 3904);
}

static void copies_by_descriptor_use_its_addresses(void **state)
{
	struct world *w = begin(state);

	malloc_host(w, BUF, 4096);
	call(w, aclrtSetMemcpyDesc, 0, 0x5000, H2D, BUF + 64, DEVICE_MEM, 128);
	call(w, aclrtMemcpyAsyncWithDesc, 0, 0x5000, H2D, S);
	free_host(w, BUF);
	assert_int_equal(expect(w, FREE_IN_FLIGHT, ERROR, CERTAIN)->copy.addr, BUF + 64);
}

static void a_descriptor_keeps_what_was_set_last(void **state)
{
	struct world *w = begin(state);

	malloc_host(w, BUF, 4096);
	call(w, aclrtSetMemcpyDesc, 0, 0x5000, H2D, BUF, DEVICE_MEM, 128);
	call(w, aclrtSetMemcpyDesc, 0, 0x5000, H2D, BUF + 0x10000, DEVICE_MEM, 128);
	fails(w, ERR);
	call(w, aclrtSetMemcpyDesc, 0, 0x5000, H2D, BUF, DEVICE_MEM, 128);
	call(w, aclrtMemcpyAsyncWithDesc, 0, 0x5000, H2D, S);
	free_host(w, BUF);
	silent(w);
}

static void copies_whose_addresses_cannot_be_known_are_counted(void **state)
{
	struct world *w = begin(state);

	call(w, aclrtMemcpyAsyncWithDesc, 0, 0x6000, H2D, S);
	assert_int_equal(lost(w, ACL_L_UNSEEN_COPY), 1);
	enter_at(w, 0x7ffc00000000, aclrtMemcpyAsyncWithOffset, 0x1000);
	assert_int_equal(lost(w, ACL_L_UNSEEN_COPY), 2);
}

/* ---- batches ----------------------------------------------------------- */

/* A batch of `n` between the device and pageable memory, but for what the test puts in. */
static void fill_batch(struct world *w, __u32 n)
{
	for (__u32 i = 0; i < n; i++)
		w->batch[i] = (struct world_copy){ DEVICE_MEM, 0x5500000000 + i * 4096, 64 };
}

static void each_copy_of_a_batch_is_a_copy(void **state)
{
	struct world *w = begin(state);

	malloc_host(w, BUF, 4096);
	malloc_host(w, BUF + 4096, 4096);
	fill_batch(w, 64);
	w->batch[0].src = BUF + 64;
	w->batch[63] = (struct world_copy){ BUF + 8191, DEVICE_MEM, 1 };
	copy_batch(w, 64, S);
	free_host(w, BUF);
	assert_int_equal(expect(w, FREE_IN_FLIGHT, ERROR, CERTAIN)->copy.addr, BUF + 64);
	free_host(w, BUF + 4096);
	assert_int_equal(expect(w, FREE_IN_FLIGHT, ERROR, CERTAIN)->copy.addr, BUF + 8191);
	assert_int_equal(lost(w, ACL_L_UNSEEN_COPY), 0);
}

static void a_batch_is_settled_like_any_copy(void **state)
{
	struct world *w = begin(state);

	malloc_host(w, BUF, 4096);
	fill_batch(w, 2);
	w->batch[1].src = BUF;
	copy_batch(w, 2, S);
	sync_stream(w, S);
	free_host(w, BUF);
	silent(w);
}

static void a_batch_stands_at_the_position_of_its_entry(void **state)
{
	struct world *w = begin(state);

	malloc_host(w, BUF, 4096);
	fill_batch(w, 1);
	w->batch[0].src = BUF;
	holds(w);
	copy_batch(w, 1, S);
	as(w, 101);
	sync_stream(w, S);
	as(w, TGID);
	returns(w);
	free_host(w, BUF);
	silent(w);
}

static void a_batch_that_fails_copies_nothing(void **state)
{
	struct world *w = begin(state);

	malloc_host(w, BUF, 4096);
	fill_batch(w, 1);
	w->batch[0].src = BUF;
	fails(w, ERR);
	copy_batch(w, 1, S);
	free_host(w, BUF);
	silent(w);
}

static void a_batch_with_a_freed_buffer_is_reported(void **state)
{
	struct world *w = begin(state);

	malloc_host(w, BUF, 4096);
	free_host(w, BUF);
	fill_batch(w, 3);
	w->batch[1].src = BUF + 128;
	copy_batch(w, 3, S);
	assert_int_equal(expect(w, COPY_AFTER_FREE, ERROR, CERTAIN)->ptr, BUF + 128);
}

static void copies_of_a_batch_beyond_the_bound_are_counted(void **state)
{
	struct world *w = begin(state);

	fill_batch(w, ACL_BATCH_MAX + 1);
	copy_batch(w, ACL_BATCH_MAX + 1, S);
	assert_int_equal(lost(w, ACL_L_UNSEEN_COPY), 1);
}

static void copies_of_a_batch_that_cannot_be_read_are_counted(void **state)
{
	struct world *w = begin(state);

	fill_batch(w, 1);
	copy_batch(w, 3, S);
	assert_int_equal(lost(w, ACL_L_FAULT), 2);
}

/* ---- registered memory ------------------------------------------------- */

static void registered_memory_is_a_buffer(void **state)
{
	struct world *w = begin(state);

	host_register(w, BUF, 8192);
	copy_h2d(w, BUF + 4096, 64, S);
	host_unregister(w, BUF);
	expect(w, FREE_IN_FLIGHT, ERROR, CERTAIN);
}

static void memory_registered_by_the_newer_call_is_a_buffer(void **state)
{
	struct world *w = begin(state);

	call(w, aclrtHostRegisterV2, 0, BUF, 8192, 2);
	copy_h2d(w, BUF + 4096, 64, S);
	host_unregister(w, BUF);
	expect(w, FREE_IN_FLIGHT, ERROR, CERTAIN);
}

static void a_register_that_fails_makes_no_buffer(void **state)
{
	struct world *w = begin(state);

	fails(w, 507899);
	host_register(w, BUF, 8192);
	assert_int_equal(used(w, STORE_BUFS), 0);
	silent(w);
}

static void registering_inside_a_tracked_buffer_makes_no_second_one(void **state)
{
	struct world *w = begin(state);

	malloc_host(w, BUF, 0x10000);
	host_register(w, BUF + 4096, 4096);
	host_register(w, BUF, 0x10000);
	assert_int_equal(used(w, STORE_BUFS), 1);
	copy_h2d(w, BUF + 4096, 64, S);
	sync_stream(w, S);
	host_unregister(w, BUF + 4096);
	copy_h2d(w, BUF + 4096, 64, S);
	free_host(w, BUF);
	expect(w, FREE_IN_FLIGHT, ERROR, CERTAIN);
	assert_int_equal(lost(w, ACL_L_MISSED_FREE), 0);
}

/* ---- generations ------------------------------------------------------- */

static void an_address_used_again_begins_without_copies(void **state)
{
	struct world *w = begin(state);

	malloc_host(w, BUF, 4096);
	copy_h2d(w, BUF, 4096, S);
	free_host(w, BUF);
	expect(w, FREE_IN_FLIGHT, ERROR, CERTAIN);
	malloc_host(w, BUF, 4096);
	free_host(w, BUF);
	silent(w);
}

static void an_address_used_again_with_another_size_begins_without_copies(void **state)
{
	struct world *w = begin(state);

	malloc_host(w, BUF, 4096);
	copy_h2d(w, BUF, 4096, S);
	free_host(w, BUF);
	expect(w, FREE_IN_FLIGHT, ERROR, CERTAIN);
	malloc_host(w, BUF, 1 << 20);
	copy_h2d(w, BUF + 8192, 64, S);
	sync_stream(w, S);
	free_host(w, BUF);
	silent(w);
}

static void an_address_handed_out_before_the_free_returned_is_a_new_buffer(void **state)
{
	struct world *w = begin(state);

	malloc_host(w, BUF, 4096);
	holds(w);
	free_host(w, BUF);
	as(w, 101);
	malloc_host(w, BUF, 4096);
	copy_h2d(w, BUF, 64, S);
	as(w, TGID);
	returns(w);
	assert_int_equal(used(w, STORE_BUFS), 1);
	free_host(w, BUF);
	expect(w, FREE_IN_FLIGHT, ERROR, CERTAIN);
	assert_int_equal(lost(w, ACL_L_MISSED_FREE), 0);
}

static void an_address_of_another_size_before_the_free_returned_is_a_new_buffer(void **state)
{
	struct world *w = begin(state);

	malloc_host(w, BUF, 4096);
	holds(w);
	free_host(w, BUF);
	as(w, 101);
	malloc_host(w, BUF, 1 << 20);
	copy_h2d(w, BUF, 64, S);
	as(w, TGID);
	returns(w);
	assert_int_equal(used(w, STORE_BUFS), 1);
	free_host(w, BUF);
	expect(w, FREE_IN_FLIGHT, ERROR, CERTAIN);
}

static void an_address_handed_out_twice_was_released_unseen(void **state)
{
	struct world *w = begin(state);

	malloc_host(w, BUF, 4096);
	copy_h2d(w, BUF, 64, S);
	malloc_host(w, BUF, 4096);
	assert_int_equal(lost(w, ACL_L_MISSED_FREE), 1);
	assert_int_equal(used(w, STORE_BUFS), 1);
	free_host(w, BUF);
	silent(w);
}

/* ---- a call that fails takes its effect back --------------------------- */

static void an_allocation_that_fails_makes_no_buffer(void **state)
{
	struct world *w = begin(state);

	fails(w, 207001);
	malloc_host(w, BUF, 4096);
	assert_int_equal(used(w, STORE_BUFS), 0);
}

static void a_copy_that_fails_is_none(void **state)
{
	struct world *w = begin(state);

	malloc_host(w, BUF, 4096);
	fails(w, ERR);
	copy_h2d(w, BUF, 4096, S);
	free_host(w, BUF);
	silent(w);
}

static void a_copy_counts_from_its_entry(void **state)
{
	struct world *w = begin(state);

	malloc_host(w, BUF, 4096);
	holds(w);
	copy_h2d(w, BUF, 4096, S);
	as(w, 101);
	free_host(w, BUF);
	expect(w, FREE_IN_FLIGHT, ERROR, CERTAIN);
	as(w, TGID);
	returns(w);
}

static void a_copy_that_fails_leaves_the_one_before_it(void **state)
{
	struct world *w = begin(state);
	const struct acl_violation *v;

	malloc_host(w, BUF, 4096);
	copy_h2d(w, BUF + 64, 64, S);
	fails(w, ERR);
	copy_h2d(w, BUF + 128, 64, S);
	free_host(w, BUF);
	v = expect(w, FREE_IN_FLIGHT, ERROR, CERTAIN);
	assert_int_equal(v->copy.addr, BUF + 64);
}

static void a_copy_within_one_buffer_that_fails_leaves_nothing(void **state)
{
	struct world *w = begin(state);

	malloc_host(w, BUF, 4096);
	fails(w, ERR);
	copy_kind(w, BUF, BUF + 64, 64, H2H, S);
	free_host(w, BUF);
	silent(w);
	malloc_host(w, BUF, 4096);
	fails(w, ERR);
	copy_kind(w, BUF, BUF + 64, 64, H2H, S);
	copy_h2d(w, BUF, 64, S);
	free_host(w, BUF);
	expect(w, FREE_IN_FLIGHT, ERROR, CERTAIN); /* its own effects did not race */
}

static void a_failing_copy_whose_effect_is_gone_makes_the_buffer_suspected(void **state)
{
	struct world *w = begin(state);

	malloc_host(w, BUF, 4096);
	holds(w);
	copy_h2d(w, BUF, 64, S);
	as(w, 101);
	copy_h2d(w, BUF + 64, 64, S);
	as(w, TGID);
	returns_with(w, ERR);
	free_host(w, BUF);
	because(expect(w, FREE_IN_FLIGHT, ERROR, SUSPECTED), RACED);
}

static void a_failing_copy_does_not_touch_a_later_buffer(void **state)
{
	struct world *w = begin(state);

	malloc_host(w, BUF, 4096);
	holds(w);
	copy_h2d(w, BUF, 64, S);
	as(w, 101);
	free_host(w, BUF);
	expect(w, FREE_IN_FLIGHT, ERROR, CERTAIN);
	malloc_host(w, BUF, 4096);
	copy_h2d(w, BUF, 64, S);
	as(w, TGID);
	returns_with(w, ERR);
	free_host(w, BUF);
	expect(w, FREE_IN_FLIGHT, ERROR, CERTAIN);
}

static void a_free_that_fails_puts_the_buffer_back(void **state)
{
	struct world *w = begin(state);

	malloc_host(w, BUF, 4096);
	fails(w, ERR);
	free_host(w, BUF);
	expect(w, FREE_FAILED, ERROR, CONFIRMED);
	copy_h2d(w, BUF, 64, S);
	free_host(w, BUF);
	expect(w, FREE_IN_FLIGHT, ERROR, CERTAIN);
	assert_int_equal(proc_of(w, TGID)->bufs_gone, 1);
}

static void a_copy_during_a_free_that_fails_is_not_lost_silently(void **state)
{
	struct world *w = begin(state);

	malloc_host(w, BUF, 4096);
	holds(w);
	free_host(w, BUF);
	as(w, 101);
	copy_h2d(w, BUF, 64, S);
	as(w, TGID);
	returns_with(w, ERR);
	expect(w, FREE_FAILED, ERROR, CONFIRMED);
	free_host(w, BUF);
	because(expect(w, FREE_IN_FLIGHT, ERROR, SUSPECTED), RACED);
}

static void a_failing_free_does_not_revive_over_a_newer_buffer(void **state)
{
	struct world *w = begin(state);
	const __u64 sizes[] = { 4096, 64, 1 << 20 };

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		malloc_host(w, BUF, 4096);
		holds(w);
		free_host(w, BUF);
		as(w, 101);
		malloc_host(w, BUF, sizes[i]);
		as(w, TGID);
		returns_with(w, 107000);
		silent(w); /* what it failed for is not the buffer that lives there now */
		assert_int_equal(used(w, STORE_BUFS), 1);
		free_host(w, BUF);
		assert_int_equal(used(w, STORE_BUFS), 0);
	}
}

/* ---- what is kept of a buffer ------------------------------------------ */

static void the_newest_copy_of_a_stream_is_kept(void **state)
{
	struct world *w = begin(state);
	const struct acl_violation *v;

	malloc_host(w, BUF, 4096);
	copy_h2d(w, BUF, 64, S);
	copy_d2h(w, BUF + 64, 32, S);
	free_host(w, BUF);
	v = expect(w, FREE_IN_FLIGHT, ERROR, CERTAIN);
	assert_int_equal(v->unsettled, 1);
	assert_int_equal(v->copy.addr, BUF + 64);
	assert_int_equal(v->copy.dir, ACL_DIR_D2H);
}

static void copies_of_eight_streams_are_kept(void **state)
{
	struct world *w = begin(state);

	malloc_host(w, BUF, 4096);
	for (int i = 0; i < 8; i++) {
		create_stream(w, S + i * 64);
		copy_h2d(w, BUF, 64, S + i * 64);
	}
	for (int i = 0; i < 8; i++)
		copy_h2d(w, BUF, 64, S + i * 64);
	free_host(w, BUF);
	assert_int_equal(expect(w, FREE_IN_FLIGHT, ERROR, CERTAIN)->unsettled, 8);
	assert_int_equal(lost(w, ACL_L_OVERFLOW), 0);
	assert_int_equal(used(w, STORE_COPIES), 0);
}

static void a_ninth_stream_makes_the_buffer_suspected(void **state)
{
	struct world *w = begin(state);

	malloc_host(w, BUF, 4096);
	for (int i = 0; i < 9; i++) {
		create_stream(w, S + i * 64);
		copy_h2d(w, BUF, 64, S + i * 64);
	}
	assert_int_equal(lost(w, ACL_L_OVERFLOW), 1);
	free_host(w, BUF);
	because(expect(w, FREE_IN_FLIGHT, ERROR, SUSPECTED), OVERFLOW);
}

static void slots_of_settled_copies_are_used_again(void **state)
{
	struct world *w = begin(state);

	malloc_host(w, BUF, 4096);
	for (int i = 0; i < 8; i++) {
		create_stream(w, S + i * 64);
		copy_h2d(w, BUF, 64, S + i * 64);
	}
	sync_stream(w, S + 5 * 64);
	create_stream(w, S + 8 * 64);
	copy_h2d(w, BUF, 64, S + 8 * 64);
	destroy_stream(w, S + 1 * 64);
	create_stream(w, S + 9 * 64);
	copy_h2d(w, BUF, 64, S + 9 * 64);
	assert_int_equal(lost(w, ACL_L_OVERFLOW), 0);
	free_host(w, BUF);
	assert_int_equal(expect(w, FREE_IN_FLIGHT, ERROR, CERTAIN)->unsettled, 8);
}

static void a_failing_copy_gives_its_reused_slot_back(void **state)
{
	struct world *w = begin(state);

	malloc_host(w, BUF, 4096);
	for (int i = 0; i < 8; i++) {
		create_stream(w, S + i * 64);
		copy_h2d(w, BUF, 64, S + i * 64);
	}
	sync_stream(w, S + 7 * 64);
	create_stream(w, S + 8 * 64);
	fails(w, ERR);
	copy_h2d(w, BUF, 64, S + 8 * 64);
	free_host(w, BUF);
	assert_int_equal(expect(w, FREE_IN_FLIGHT, ERROR, CERTAIN)->unsettled, 7);
}

static void nothing_is_left_of_a_buffer_that_was_released(void **state)
{
	struct world *w = begin(state);

	for (int n = 0; n < 3; n++) {
		malloc_host(w, BUF, 4096);
		for (int i = 0; i < 8; i++) {
			create_stream(w, S + i * 64);
			copy_h2d(w, BUF, 64, S + i * 64);
		}
		for (int i = 0; i < 8; i++)
			destroy_stream(w, S + i * 64);
		free_host(w, BUF);
	}
	assert_int_equal(used(w, STORE_BUFS), 0);
	assert_int_equal(used(w, STORE_COPIES), 0);
	assert_int_equal(proc_of(w, TGID)->bufs_made, 3);
	assert_int_equal(proc_of(w, TGID)->bufs_gone, 3);
	assert_int_equal(proc_of(w, TGID)->bytes_made, proc_of(w, TGID)->bytes_gone);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		world_test(buffers_hold_their_first_and_last_byte_and_no_other),
		world_test(bytes_beside_a_buffer_are_pageable),
		world_test(interior_pointers_are_found_in_all_three_chunks),
		world_test(neighbours_are_told_apart),
		world_test(neighbours_of_other_sizes_are_told_apart),
		world_test(a_copy_on_pageable_memory_creates_no_state),
		world_test(a_copy_of_nothing_is_none),
		world_test(the_end_of_a_range_at_the_top_of_memory_does_not_wrap),
		world_test(a_free_of_an_interior_pointer_frees_nothing),
		world_test(many_buffers_are_told_apart),
		world_test(host_to_device_reads_its_source),
		world_test(host_to_buffer_to_device_reads_its_source),
		world_test(device_to_host_writes_its_destination),
		world_test(host_to_host_touches_both),
		world_test(the_default_kind_is_decided_by_the_addresses),
		world_test(device_to_device_touches_no_host_memory),
		world_test(inner_and_inter_device_copies_touch_no_host_memory),
		world_test(a_host_to_host_copy_is_held_against_both_buffers),
		world_test(copies_with_condition_are_copies),
		world_test(copies_of_rows_are_copies),
		world_test(copies_by_descriptor_use_its_addresses),
		world_test(a_descriptor_keeps_what_was_set_last),
		world_test(copies_whose_addresses_cannot_be_known_are_counted),
		world_test(each_copy_of_a_batch_is_a_copy),
		world_test(a_batch_is_settled_like_any_copy),
		world_test(a_batch_stands_at_the_position_of_its_entry),
		world_test(a_batch_that_fails_copies_nothing),
		world_test(a_batch_with_a_freed_buffer_is_reported),
		world_test(copies_of_a_batch_beyond_the_bound_are_counted),
		world_test(copies_of_a_batch_that_cannot_be_read_are_counted),
		world_test(registered_memory_is_a_buffer),
		world_test(memory_registered_by_the_newer_call_is_a_buffer),
		world_test(a_register_that_fails_makes_no_buffer),
		world_test(registering_inside_a_tracked_buffer_makes_no_second_one),
		world_test(an_address_used_again_begins_without_copies),
		world_test(an_address_used_again_with_another_size_begins_without_copies),
		world_test(an_address_handed_out_before_the_free_returned_is_a_new_buffer),
		world_test(an_address_of_another_size_before_the_free_returned_is_a_new_buffer),
		world_test(an_address_handed_out_twice_was_released_unseen),
		world_test(an_allocation_that_fails_makes_no_buffer),
		world_test(a_copy_that_fails_is_none),
		world_test(a_copy_counts_from_its_entry),
		world_test(a_copy_that_fails_leaves_the_one_before_it),
		world_test(a_copy_within_one_buffer_that_fails_leaves_nothing),
		world_test(a_failing_copy_whose_effect_is_gone_makes_the_buffer_suspected),
		world_test(a_failing_copy_does_not_touch_a_later_buffer),
		world_test(a_free_that_fails_puts_the_buffer_back),
		world_test(a_copy_during_a_free_that_fails_is_not_lost_silently),
		world_test(a_failing_free_does_not_revive_over_a_newer_buffer),
		world_test(the_newest_copy_of_a_stream_is_kept),
		world_test(copies_of_eight_streams_are_kept),
		world_test(a_ninth_stream_makes_the_buffer_suspected),
		world_test(slots_of_settled_copies_are_used_again),
		world_test(a_failing_copy_gives_its_reused_slot_back),
		world_test(nothing_is_left_of_a_buffer_that_was_released),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("buffers", tests, NULL, NULL);
}
