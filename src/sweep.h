/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Removes what dead processes left in the maps.  Their keys carry the id of
 * their incarnation, so nothing of them can be taken for another's; this only
 * gives the room back.
 */
#ifndef ACLGUARD_SWEEP_H
#define ACLGUARD_SWEEP_H

#include <stdint.h>

struct aclguard_bpf;
struct sweep;

struct sweep *sweep__new(struct aclguard_bpf *skel); /* NULL: no memory */
void sweep__free(struct sweep *sw);

/* This incarnation is over. */
void sweep__add(struct sweep *sw, uint64_t inc);

/*
 * Sweeps if it is time: soon after a death, and for all deaths of a moment at
 * once.  Returns ns until it has to be called again, UINT64_MAX for never.
 */
uint64_t sweep__run(struct sweep *sw, uint64_t now);

#endif /* ACLGUARD_SWEEP_H */
