/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Which pod and which container of it a process belongs to, as far as the node itself
 * knows: no server is asked.  From the process's control group come the container's id
 * and the pod's uid; the names of the files that the kubelet makes for logs join those
 * with names:
 *
 *	/var/log/containers/POD_NAMESPACE_CONTAINER-ID.log
 *	/var/log/pods/NAMESPACE_POD_UID/CONTAINER/
 *
 * Where those are missing, the process is asked for what pods conventionally have in
 * their environment: POD_NAME, POD_NAMESPACE, and HOSTNAME.  It may say what it likes, so
 * that counts only where nothing better is known.  Every name is checked to be one that
 * Kubernetes allows.
 *
 * A name that is not to be had is replaced by the id: of the pod its uid, of the container
 * the first 12 digits.  Outside of containers all are empty.
 */
#ifndef ACLGUARD_PODINFO_H
#define ACLGUARD_PODINFO_H

#include <sys/types.h>

#define PODINFO_LABEL_MAX 63 /* as Kubernetes has it for namespaces and containers */
#define PODINFO_NAME_MAX 253 /* and for pods */

struct procinfo;

struct podinfo {
	char name_space[PODINFO_LABEL_MAX + 1];
	char pod[PODINFO_NAME_MAX + 1];
	char container[PODINFO_LABEL_MAX + 1];
};

/* Where to look.  NULL: "/proc", "/". */
struct podinfo_roots {
	const char *proc;
	const char *host; /* below it are var/log/containers and var/log/pods */
};

/*
 * Takes bounded time, also where the process keeps its environment from being read.
 * `info` NULL: nothing is known of the process.
 */
void podinfo__find(const struct podinfo_roots *roots, pid_t pid, const struct procinfo *info,
		   struct podinfo *out);

#endif /* ACLGUARD_PODINFO_H */
