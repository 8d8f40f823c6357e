/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Exit statuses of aclguard itself, and how it says why it refuses.  `run`
 * otherwise ends as its program ended, so these keep clear of what programs
 * use; 125 to 127 mean what env(1), timeout(1) and nohup(1) mean by them.
 */
#ifndef ACLGUARD_EXITS_H
#define ACLGUARD_EXITS_H

enum aclguard_exit {
	ACL_EXIT_OK = 0,
	ACL_EXIT_LIMITS = 1,	    /* doctor: fit with limits; as monitoring systems have it */
	ACL_EXIT_UNFIT = 2,	    /* doctor: unfit */
	ACL_EXIT_USAGE = 64,	    /* EX_USAGE of sysexits.h */
	ACL_EXIT_STOPPED = 115,	    /* run: the program is left stopped by enforcement */
	ACL_EXIT_CANARY = 116,	    /* the process that was probed first did not live on */
	ACL_EXIT_RECORDING = 117,   /* replay: no recording, or none that can be read */
	ACL_EXIT_OUTPUT = 118,	    /* reports, or the recording, could not be written */
	ACL_EXIT_NO_SYMBOLS = 119,  /* the runtime's library defines none of its calls */
	ACL_EXIT_PRIVILEGE = 120,   /* a capability is missing */
	ACL_EXIT_KERNEL = 121,	    /* the kernel lacks BPF, uprobes or a ring buffer */
	ACL_EXIT_LOCKDOWN = 122,    /* lockdown, or another policy, forbids it */
	ACL_EXIT_NO_PROCESS = 123,  /* no such process */
	ACL_EXIT_NO_LIBRARY = 124,  /* the process has no Ascend runtime */
	ACL_EXIT_FAILED = 125,	    /* anything else that kept aclguard from working */
	ACL_EXIT_CANNOT_EXEC = 126, /* the program cannot be executed */
	ACL_EXIT_NOT_FOUND = 127,   /* the program was not found */
};

/* Both print "aclguard: " and the message, with a newline, on stderr. */
void say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* Returns `status`, so that it can be returned on. */
int refuse(int status, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif /* ACLGUARD_EXITS_H */
