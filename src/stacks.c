/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Looking up kept stacks in their map. */
#include "stacks.h"

#include <bpf/bpf.h>
#include <string.h>

unsigned int stacks__get(const struct stacks *st, uint32_t nr, uint64_t addr[ACL_KEPT_MAX])
{
	unsigned int n = 0;
	uint32_t key;

	if (!st || !nr)
		return 0;
	key = nr - 1;
	memset(addr, 0, ACL_KEPT_MAX * sizeof(*addr));
	if (bpf_map_lookup_elem(st->fd, &key, addr))
		return 0;
	while (n < ACL_KEPT_MAX && addr[n])
		n++;
	return n;
}
