/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Walking the maps of buffers and events. */
#include "alive.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "records.h"
#include "aclguard.skel.h"

#include "leaks.h"

/* The entry after *key (NULL: the first) that is the incarnation's. */
static bool next_of(struct bpf_map *map, struct acl_key **key, struct acl_key *room, uint64_t inc,
		    void *val, size_t size)
{
	struct acl_key next;

	while (!bpf_map__get_next_key(map, *key, &next, sizeof(next))) {
		*room = next;
		*key = room;
		if (next.inc == inc &&
		    !bpf_map__lookup_elem(map, &next, sizeof(next), val, size, 0))
			return true;
	}
	return false;
}

void alive__collect(struct aclguard_bpf *skel, struct leaks *lk, const struct leaks_of *of)
{
	struct acl_key room, *key = NULL;
	struct acl_event e;
	struct acl_buf b;

	while (next_of(skel->maps.bufs, &key, &room, of->inc, &b, sizeof(b)))
		leaks__buf(lk, of, &b);
	key = NULL;
	while (next_of(skel->maps.events, &key, &room, of->inc, &e, sizeof(e)))
		leaks__event(lk, of, &e);
}
