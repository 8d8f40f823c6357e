/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Capabilities that the kernel's headers of the oldest systems to build on do not name. */
#ifndef ACLGUARD_CAPABILITIES_H
#define ACLGUARD_CAPABILITIES_H

#include <linux/capability.h>

#ifndef CAP_PERFMON
#define CAP_PERFMON 38
#endif
#ifndef CAP_BPF
#define CAP_BPF 39
#endif
#ifndef CAP_CHECKPOINT_RESTORE
#define CAP_CHECKPOINT_RESTORE 40
#endif

#endif /* ACLGUARD_CAPABILITIES_H */
