/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * What /proc/PID/status says of a process, as far as it decides whether the
 * process can be watched, and what a signal does to it.  The text is the kernel's; of what is in it only the
 * name is the process' own choice, and it is not read here.
 */
#ifndef ACLGUARD_PROCSTATUS_H
#define ACLGUARD_PROCSTATUS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define PROCSTATUS_NS_MAX 32 /* as deep as pid namespaces can be nested */

enum seccomp_mode { /* as the kernel numbers them */
		    SECCOMP_UNKNOWN = -1,
		    SECCOMP_NONE,
		    SECCOMP_STRICT, /* read, write, exit, sigreturn only */
		    SECCOMP_FILTER,
};

struct procstatus {
	char state;			  /* 'R', 'S', ..., 'Z'; 0 if the text does not say */
	pid_t tgid;			  /* 0 if the text does not say */
	pid_t ns_pids[PROCSTATUS_NS_MAX]; /* outermost first */
	size_t n_ns_pids;
	uid_t uid; /* effective; 0 if the text does not say */
	enum seccomp_mode seccomp;
	int filters;			  /* -1: not told, before Linux 5.9 */
	int no_new_privs;		  /* 0, 1, or -1: not told */
	pid_t tracer;			  /* its debugger; 0: none */
	bool has_signals;		  /* the masks are told; the signal n is bit n - 1 */
	uint64_t sig_pending, sig_shared; /* for the thread, for the process */
	uint64_t sig_blocked;		  /* by the thread */
	uint64_t sig_ignored, sig_caught; /* by the process */
};

/* Takes any text; what is not in it remains unknown. */
void procstatus__parse(const char *text, size_t len, struct procstatus *out);

/*
 * Of a process or thread.  Returns 0 or -errno; -ESRCH: there is none.
 */
int procstatus__read(pid_t pid, struct procstatus *out);
/* Of a thread of a process. */
int procstatus__read_thread(pid_t pid, pid_t tid, struct procstatus *out);

/*
 * The strictest seccomp mode among the threads of a process: a filter may be
 * one thread's alone.  Threads beyond a bound are left out.
 */
enum seccomp_mode procstatus__seccomp_of_threads(pid_t pid);

#endif /* ACLGUARD_PROCSTATUS_H */
