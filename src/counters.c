/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Reading the counters of the kernel side. */
#include "counters.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "aclguard.skel.h"

/* ---- on each CPU --------------------------------------------------------- */

/* Sums `words` 64-bit numbers of `n` entries of an array that each CPU has. */
static int sum_cpus(const struct bpf_map *map, uint32_t n, size_t words, uint64_t *out)
{
	int cpus = libbpf_num_possible_cpus(), err = 0;
	uint64_t *per_cpu;

	if (cpus < 0)
		return cpus;
	per_cpu = calloc((size_t)cpus * words, sizeof(*per_cpu));
	if (!per_cpu)
		return -ENOMEM;
	memset(out, 0, n * words * sizeof(*out));
	for (uint32_t key = 0; key < n && !err; key++, out += words) {
		if (bpf_map_lookup_elem(bpf_map__fd(map), &key, per_cpu))
			err = -errno;
		for (size_t i = 0; !err && i < (size_t)cpus * words; i++)
			out[i % words] += per_cpu[i];
	}
	free(per_cpu);
	return err;
}

int counters__calls(const struct aclguard_bpf *skel, struct acl_calls out[ACL_C_MAX])
{
	return sum_cpus(skel->maps.calls, ACL_C_MAX, sizeof(*out) / sizeof(uint64_t),
			(uint64_t *)out);
}

int counters__losses(const struct aclguard_bpf *skel, uint64_t out[ACL_L_MAX])
{
	return sum_cpus(skel->maps.losses, ACL_L_MAX, 1, out);
}

int counters__verdicts(const struct aclguard_bpf *skel, struct acl_verdicts out[ACL_VERDICTS_MAX])
{
	return sum_cpus(skel->maps.verdicts, ACL_VERDICTS_MAX, sizeof(*out) / sizeof(uint64_t),
			(uint64_t *)out);
}

int counters__verdicts_of(const struct aclguard_bpf *skel, uint64_t inc,
			  struct acl_verdicts out[ACL_VERDICTS_MAX])
{
	struct acl_key key = { .inc = inc };

	for (; key.id < ACL_VERDICTS_MAX; key.id++) {
		memset(&out[key.id], 0, sizeof(*out));
		if (bpf_map_lookup_elem(bpf_map__fd(skel->maps.verdicts_of), &key, &out[key.id]) &&
		    errno != ENOENT)
			return -errno;
	}
	return 0;
}

/* ---- whole tables -------------------------------------------------------- */

#define BATCH_BYTES (64 * 1024)

/* Some entries at a time; a bucket must fit as a whole. */
struct batch {
	const struct bpf_map *map;
	char *keys, *values;
	uint32_t n, room;
	uint32_t place; /* where the kernel is to go on */
	bool begun, ended;
};

static void batch__close(struct batch *b)
{
	free(b->keys);
	free(b->values);
}

static int batch__grow(struct batch *b, uint32_t room)
{
	char *keys = realloc(b->keys, (size_t)room * bpf_map__key_size(b->map));
	char *values = realloc(b->values, (size_t)room * bpf_map__value_size(b->map));

	b->keys = keys ? keys : b->keys;
	b->values = values ? values : b->values;
	if (!keys || !values)
		return -ENOMEM;
	b->room = room;
	return 0;
}

static int batch__open(struct batch *b, const struct bpf_map *map)
{
	*b = (struct batch){ .map = map };
	return batch__grow(b, BATCH_BYTES / bpf_map__value_size(map) + 16);
}

/* Returns 1 with b->n entries, 0 at the end, or -errno. */
static int batch__next(struct batch *b)
{
	int err;

	if (b->ended)
		return 0;
	for (;;) {
		b->n = b->room;
		err = bpf_map_lookup_batch(bpf_map__fd(b->map), b->begun ? &b->place : NULL,
					   &b->place, b->keys, b->values, &b->n, NULL);
		if (err != -ENOSPC)
			break;
		err = batch__grow(b, 2 * b->room);
		if (err)
			return err;
	}
	if (err && err != -ENOENT)
		return err;
	b->begun = true;
	b->ended = err == -ENOENT;
	return !b->ended || b->n;
}

int counters__each_error(const struct aclguard_bpf *skel, counters_error_fn fn, void *arg)
{
	struct batch b;
	int err = batch__open(&b, skel->maps.errors);

	while (!err && (err = batch__next(&b)) > 0) {
		const uint64_t *keys = (uint64_t *)b.keys, *counts = (uint64_t *)b.values;

		for (uint32_t i = 0; i < b.n; i++)
			fn(arg, keys[i] >> 32, (int32_t)(uint32_t)keys[i], counts[i]);
		err = 0;
	}
	batch__close(&b);
	return err;
}

int counters__each_proc(const struct aclguard_bpf *skel, counters_proc_fn fn, void *arg)
{
	struct batch b;
	int err = batch__open(&b, skel->maps.procs);

	while (!err && (err = batch__next(&b)) > 0) {
		const struct acl_proc *procs = (struct acl_proc *)b.values;

		for (uint32_t i = 0; i < b.n; i++)
			fn(arg, &procs[i]);
		err = 0;
	}
	batch__close(&b);
	return err;
}

static int count_entries(const struct bpf_map *map, uint64_t *entries)
{
	struct batch b;
	int err = batch__open(&b, map);

	*entries = 0;
	while (!err && (err = batch__next(&b)) > 0) {
		*entries += b.n;
		err = 0;
	}
	batch__close(&b);
	return err;
}

int counters__each_table(const struct aclguard_bpf *skel, counters_table_fn fn, void *arg)
{
	struct bpf_map *map;
	int err;

	bpf_object__for_each_map(map, skel->obj)
	{
		struct counters_table t = { .name = bpf_map__name(map),
					    .capacity = bpf_map__max_entries(map) };

		if (bpf_map__type(map) != BPF_MAP_TYPE_HASH)
			continue;
		err = count_entries(map, &t.entries);
		if (err)
			return err;
		fn(arg, &t);
	}
	return 0;
}

uint64_t counters__ring_used(struct ring_buffer *rb)
{
	return ring__avail_data_size(ring_buffer__ring(rb, 0));
}

uint64_t counters__ring_size(struct ring_buffer *rb)
{
	return ring__size(ring_buffer__ring(rb, 0));
}

/* ---- the programs -------------------------------------------------------- */

int counters__measure_runs(void)
{
	int fd = bpf_enable_stats(BPF_STATS_RUN_TIME);

	return fd < 0 ? -errno : fd;
}

int counters__each_program(const struct aclguard_bpf *skel, counters_program_fn fn, void *arg)
{
	struct bpf_program *prog;

	bpf_object__for_each_program(prog, skel->obj)
	{
		struct bpf_prog_info info = { .type = 0 };
		uint32_t size = sizeof(info);
		int fd = bpf_program__fd(prog);

		if (fd < 0) /* not loaded: not needed here */
			continue;
		if (bpf_prog_get_info_by_fd(fd, &info, &size))
			return -errno;
		fn(arg, &(struct counters_program){ .name = bpf_program__name(prog),
						    .runs = info.run_cnt,
						    .run_ns = info.run_time_ns,
						    .missed = info.recursion_misses });
	}
	return 0;
}
