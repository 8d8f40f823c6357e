/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* What aclguard itself uses, as the kernel accounts for it. */
#ifndef ACLGUARD_SELFSTAT_H
#define ACLGUARD_SELFSTAT_H

#include <stdint.h>

struct selfstat {
	uint64_t cpu_ns;     /* user and system time of all threads */
	uint64_t rss, vsize; /* bytes */
	uint64_t open_fds, max_fds;
	uint64_t start_ns; /* Unix time */
};

/* What cannot be read is 0. */
void selfstat__read(struct selfstat *s);

#endif /* ACLGUARD_SELFSTAT_H */
