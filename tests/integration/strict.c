/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Runs a program under a seccomp filter that kills it for any system call that it
 * does not know, as containers' filters may: those numbers that were there before
 * the system call by which some kernels return from a probed function on x86-64
 * (uretprobe, 335), and those of the common table after it.
 *
 *	strict PROGRAM [ARG...]
 */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#define LAST_OLD 334	 /* rseq on x86-64; the table of others ends below 463, too */
#define FIRST_COMMON 424 /* pidfd_send_signal, from where all tables are the same */
#define LAST_KNOWN 462

int main(int argc, char **argv)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (unsigned int)offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, LAST_KNOWN, 2, 0),
		BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, LAST_OLD, 0, 2),
		BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, FIRST_COMMON, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog prog = { .len = sizeof(code) / sizeof(code[0]), .filter = code };

	if (argc < 2) {
		fprintf(stderr, "usage: strict PROGRAM [ARG...]\n");
		return 2;
	}
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog)) {
		fprintf(stderr, "strict: %s\n", strerror(errno));
		return 2;
	}
	execvp(argv[1], argv + 1);
	fprintf(stderr, "strict: %s: %s\n", argv[1], strerror(errno));
	return 127;
}
