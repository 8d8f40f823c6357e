/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The two halves of `aclguard doctor': the machine with our rights on it, and a process. */
#ifndef ACLGUARD_DOCTOR_H
#define ACLGUARD_DOCTOR_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include <sys/utsname.h>

#include "findings.h"
#include "kernel_features.h"
#include "modules.h"
#include "procinfo.h"
#include "procstatus.h"

struct json;

struct machine {
	struct utsname uts;
	struct features features;
	bool multi_unwanted; /* ACLGUARD_NO_UPROBE_MULTI is set */
	const char *attach;  /* "uprobe_multi", "perf_event", or NULL: nothing works */
	struct findings findings;
};

void machine__examine(struct machine *m);
void machine__json(const struct machine *m, struct json *j); /* members of the object */
void machine__free(struct machine *m);

/* Whether we hold a capability, or CAP_SYS_ADMIN where that contains it. */
bool machine__have_cap(unsigned int cap);

struct patient {
	pid_t pid;
	bool there;		    /* what follows is known */
	const struct procinfo *who; /* NULL: not known */
	struct procstatus status;
	enum seccomp_mode seccomp; /* of the strictest thread */
	enum seccomp_risk risk;
	char *program; /* raw; NULL: not known */
	int bits;      /* 64, 32; 0: not known */
	bool statically_linked;
	bool go;
	enum features_ns mount_ns; /* OWN: another one than ours */
	struct modules modules;
	unsigned int twice;	 /* calls that are defined in more than one library */
	bool defined[ACL_C_MAX]; /* by any */
	struct findings findings;
};

/* names: whom to ask for a process' name and container. */
void patient__examine(struct patient *p, pid_t pid, const struct machine *m, struct procs *names);
void patient__json(const struct patient *p, struct json *j); /* members of the object */
void patient__free(struct patient *p);

#endif /* ACLGUARD_DOCTOR_H */
