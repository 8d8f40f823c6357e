/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Capability sets, by libcap-ng. */
#include "privileges.h"

#include <cap-ng.h>
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>

#include "capabilities.h"

/* To attach, to follow /proc/PID/map_files, to read what others map, to continue them. */
static const unsigned int needed[] = {
	CAP_BPF,
	CAP_PERFMON,
	CAP_SYS_ADMIN,
	CAP_SYS_PTRACE,
	CAP_DAC_READ_SEARCH,
	CAP_KILL,
	CAP_CHECKPOINT_RESTORE,
	CAP_LEASE,
};

static bool have[sizeof(needed) / sizeof(needed[0])];
static bool dropped;
static unsigned int raised; /* depth */

static int apply(bool all)
{
	bool bpf = false;

	capng_clear(CAPNG_SELECT_CAPS);
	for (size_t i = 0; i < sizeof(needed) / sizeof(needed[0]); i++) {
		/* the first of BPF and SYS_ADMIN that is there reads maps */
		bool reads = !bpf && (needed[i] == CAP_BPF || needed[i] == CAP_SYS_ADMIN);

		if (!have[i])
			continue;
		bpf |= reads;
		capng_update(CAPNG_ADD,
			     (capng_type_t)(CAPNG_PERMITTED | (all || reads ? CAPNG_EFFECTIVE : 0)),
			     needed[i]);
	}
	return capng_apply(CAPNG_SELECT_CAPS) ? -EPERM : 0;
}

int privileges__drop(void)
{
	int err;

	if (capng_get_caps_process())
		return -EPERM;
	for (size_t i = 0; i < sizeof(needed) / sizeof(needed[0]); i++)
		have[i] = capng_have_capability(CAPNG_PERMITTED, needed[i]);
	err = apply(raised > 0);
	dropped = !err;
	return err;
}

void privileges__raise(void)
{
	if (!raised++ && dropped)
		apply(true);
}

void privileges__lower(void)
{
	if (!--raised && dropped)
		apply(false);
}

int privileges__none(void)
{
	/* libcap-ng, too, keeps what it changes by thread */
	capng_clear(CAPNG_SELECT_CAPS);
	return capng_apply(CAPNG_SELECT_CAPS) ? -EPERM : 0;
}
