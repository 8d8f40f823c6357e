/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Recording while a session watches: what the kernel sends of calls and
 * processes goes into a file (see recording.h).  When that cannot be written,
 * it says so once, and everything here does nothing from then on; the watch
 * goes on.
 */
#ifndef ACLGUARD_RECORD_H
#define ACLGUARD_RECORD_H

#include <stdint.h>
#include <sys/types.h>

#include "records.h"

#define RECORD_RING_DEFAULT (16U << 20) /* bytes of the ring that all calls go through */

struct aclguard_bpf;
struct options;
struct record;

/* Creates the file.  Returns 0, or an exit status after having said why not. */
int record__open(const struct options *opts, struct record **out);
/* After the BPF side is loaded; 0 or -errno. */
int record__attach(struct record *r, struct aclguard_bpf *skel);
/* Writes the end.  Returns 0, or ACL_EXIT_OUTPUT where the file is not whole.  NULL is allowed. */
int record__close(struct record *r);
/*
 * The session did not come about: removes the file that record__open() created,
 * unless there were calls.  NULL is allowed.
 */
void record__abandon(struct record *r);

/*
 * A record of the ring of processes.  `complete` is the time since which the
 * process's probes are complete.  r may be NULL here and below.
 */
void record__life(struct record *r, const struct acl_head *h, size_t size, uint64_t complete);
/* What user space alone knows: probes complete from `time` on; a process that ended. */
void record__complete(struct record *r, pid_t pid, uint64_t time);
void record__exit(struct record *r, const struct acl_proc *p, uint64_t time);

/*
 * Takes what calls there are, a limited number.  Since `now` was taken, the ring
 * of processes has been emptied.  Returns ns until it has to be called again.
 */
uint64_t record__round(struct record *r, uint64_t now);

#endif /* ACLGUARD_RECORD_H */
