/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Walking the maps for keys of dead incarnations. */
#include "sweep.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <stdlib.h>

#include "records.h"
#include "aclguard.skel.h"

#define SWEEP_DELAY 200000000ULL /* ns; deaths often come in crowds */

struct sweep {
	struct aclguard_bpf *skel;
	uint64_t *dead; /* ids of incarnations */
	size_t ndead, room;
	uint64_t due; /* 0: nothing to do */
};

struct sweep *sweep__new(struct aclguard_bpf *skel)
{
	struct sweep *sw = calloc(1, sizeof(*sw));

	if (sw)
		sw->skel = skel;
	return sw;
}

void sweep__free(struct sweep *sw)
{
	if (!sw)
		return;
	free(sw->dead);
	free(sw);
}

void sweep__add(struct sweep *sw, uint64_t inc)
{
	uint64_t *dead;

	if (sw->ndead == sw->room) {
		size_t room = sw->room ? 2 * sw->room : 64;

		/* without memory its state stays until we end: no harm done */
		dead = reallocarray(sw->dead, room, sizeof(*dead));
		if (!dead)
			return;
		sw->dead = dead;
		sw->room = room;
	}
	sw->dead[sw->ndead++] = inc;
}

static int compare_u64(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static void sweep_map(const struct sweep *sw, struct bpf_map *map)
{
	struct acl_key keys[2], *prev = NULL, *cur = &keys[0], *spare = &keys[1];

	while (!bpf_map__get_next_key(map, prev, cur, sizeof(*cur))) {
		/* the one before may go now that it has led to this one */
		if (prev && bsearch(&prev->inc, sw->dead, sw->ndead, sizeof(uint64_t), compare_u64))
			bpf_map__delete_elem(map, prev, sizeof(*prev), 0);
		prev = cur;
		cur = spare;
		spare = prev;
	}
	if (prev && bsearch(&prev->inc, sw->dead, sw->ndead, sizeof(uint64_t), compare_u64))
		bpf_map__delete_elem(map, prev, sizeof(*prev), 0);
}

uint64_t sweep__run(struct sweep *sw, uint64_t now)
{
	struct bpf_map *const maps[] = {
		sw->skel->maps.bufs,  sw->skel->maps.copies,  sw->skel->maps.events,
		sw->skel->maps.seens, sw->skel->maps.streams, sw->skel->maps.inherits,
		sw->skel->maps.names, sw->skel->maps.ctxs,    sw->skel->maps.descs,
		sw->skel->maps.deads, sw->skel->maps.ranges,  sw->skel->maps.graves,
		sw->skel->maps.devs,  sw->skel->maps.actions, sw->skel->maps.verdicts_of,
	};

	if (!sw->ndead)
		return UINT64_MAX;
	if (!sw->due)
		sw->due = now + SWEEP_DELAY;
	if (now < sw->due)
		return sw->due - now;
	qsort(sw->dead, sw->ndead, sizeof(*sw->dead), compare_u64);
	for (size_t i = 0; i < sizeof(maps) / sizeof(maps[0]); i++)
		sweep_map(sw, maps[i]);
	sw->ndead = 0;
	sw->due = 0;
	return UINT64_MAX;
}
