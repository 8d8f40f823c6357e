/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Runs a program under the seccomp filters that systemd makes of a service's settings:
 *
 *	confine CALL... -- PROGRAM [ARG...]
 *
 * The calls that are named are allowed (SystemCallFilter=), but sockets of UNIX, IPv4 and
 * IPv6 alone (RestrictAddressFamilies=), no new namespaces (RestrictNamespaces=), no memory
 * that is written and executed (MemoryDenyWriteExecute=), no setuid files
 * (RestrictSUIDSGID=).  All others fail with EPERM.  Names that this machine's table of
 * calls does not have are passed over, as systemd does.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <sched.h>
#include <seccomp.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define NAMESPACES                                                                     \
	(CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | \
	 CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWTIME)

static scmp_filter_ctx ctx;

static int allow_if(int nr, struct scmp_arg_cmp condition)
{
	return seccomp_rule_add(ctx, SCMP_ACT_ALLOW, nr, 1, condition);
}

static int without(int nr, unsigned int arg, scmp_datum_t bits)
{
	return allow_if(nr, SCMP_CMP(arg, SCMP_CMP_MASKED_EQ, bits, 0));
}

static int allow(int nr)
{
	switch (nr) {
	case SCMP_SYS(socket):
		return allow_if(nr, SCMP_A0(SCMP_CMP_EQ, AF_UNIX)) ?:
		       allow_if(nr, SCMP_A0(SCMP_CMP_EQ, AF_INET)) ?:
		       allow_if(nr, SCMP_A0(SCMP_CMP_EQ, AF_INET6));
	case SCMP_SYS(mmap):
		return without(nr, 2, PROT_WRITE) ?: without(nr, 2, PROT_EXEC);
	case SCMP_SYS(mprotect):
	case SCMP_SYS(pkey_mprotect):
		return without(nr, 2, PROT_EXEC);
	case SCMP_SYS(clone):
		return without(nr, 0, NAMESPACES);
	case SCMP_SYS(clone3): /* its flags are in memory, where no filter sees them */
		return seccomp_rule_add(ctx, SCMP_ACT_ERRNO(ENOSYS), nr, 0);
	case SCMP_SYS(unshare):
	case SCMP_SYS(setns):
		return 0;
	case SCMP_SYS(fchmod):
	case SCMP_SYS(chmod):
		return without(nr, 1, S_ISUID | S_ISGID);
	case SCMP_SYS(fchmodat):
		return without(nr, 2, S_ISUID | S_ISGID);
	default:
		return seccomp_rule_add(ctx, SCMP_ACT_ALLOW, nr, 0);
	}
}

int main(int argc, char **argv)
{
	int i, err = 0;

	ctx = seccomp_init(SCMP_ACT_ERRNO(EPERM));
	for (i = 1; ctx && !err && i < argc && strcmp(argv[i], "--") != 0; i++) {
		int nr = seccomp_syscall_resolve_name(argv[i]);

		err = nr < 0 ? 0 : allow(nr);
	}
	if (!ctx || err || i + 1 >= argc) {
		fprintf(stderr, "confine: %s\n", err ? strerror(-err) : "wrong usage");
		return 2;
	}
	err = prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ? -errno : seccomp_load(ctx);
	if (err) {
		fprintf(stderr, "confine: %s\n", strerror(-err));
		return 2;
	}
	execv(argv[i + 1], argv + i + 1);
	fprintf(stderr, "confine: %s: %s\n", argv[i + 1], strerror(errno));
	return 127;
}
