/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The processes in scope: the kernel's table of targets, and a pidfd for each,
 * which tells when it is gone and reaches no other process by its number.
 */
#ifndef ACLGUARD_SCOPE_H
#define ACLGUARD_SCOPE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "records.h"

struct aclguard_bpf;
struct scope;

/*
 * Neither is owned.  The pidfds are added to the epoll instance, with the pid as
 * data.u64.  NULL if there is no memory.
 */
struct scope *scope__new(struct aclguard_bpf *skel, int epoll);
void scope__free(struct scope *sc); /* NULL is allowed */

/*
 * Waits for its end.  0 also where that is done already; -errno, -ESRCH where the
 * pid is of no process: gone, or a thread's.
 */
int scope__add(struct scope *sc, pid_t pid);
bool scope__has(const struct scope *sc, pid_t pid);
void scope__remove(struct scope *sc, pid_t pid);
size_t scope__count(const struct scope *sc);

/* Calls back for each; the callback may not add or remove any. */
void scope__each(const struct scope *sc, void (*fn)(void *arg, pid_t pid), void *arg);

/* Why a process is in scope, as the kernel side sees it.  0 or -errno. */
int scope__set_target(struct scope *sc, pid_t pid, const struct acl_target *t);
int scope__get_target(const struct scope *sc, pid_t pid, struct acl_target *t);
void scope__drop_target(struct scope *sc, pid_t pid);

/* Its pidfd, owned by the scope; -1: it is not in scope. */
int scope__pidfd(const struct scope *sc, pid_t pid);
/* Sends a signal to exactly that process. */
void scope__signal(const struct scope *sc, pid_t pid, int sig);

#endif /* ACLGUARD_SCOPE_H */
