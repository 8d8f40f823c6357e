/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* What the kernel's maps hold alive of one incarnation, before it is swept. */
#ifndef ACLGUARD_ALIVE_H
#define ACLGUARD_ALIVE_H

struct aclguard_bpf;
struct leaks;
struct leaks_of;

/* Walks both tables: only worth it where something is left. */
void alive__collect(struct aclguard_bpf *skel, struct leaks *lk, const struct leaks_of *of);

#endif /* ACLGUARD_ALIVE_H */
