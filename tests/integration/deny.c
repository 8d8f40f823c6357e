/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Stands for a kernel or a policy that cannot be had here: runs a program under
 * seccomp filters that refuse a system call.
 *
 *	deny CALL[:ARG] ERRNO [CALL[:ARG] ERRNO ...] -- PROGRAM [ARG...]
 *
 * CALL is bpf or perf_event_open; with :ARG only where its first argument, of bpf
 * the command, is that number.  ERRNO is a number.
 */
#define _GNU_SOURCE
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "the lower half of an argument is looked for where little-endian machines have it"
#endif

#define LOAD(field) \
	BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (unsigned int)offsetof(struct seccomp_data, field))
#define UNLESS(value, skip) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, skip)
#define RETURN(value) BPF_STMT(BPF_RET | BPF_K, value)

static void deny(char *call, unsigned int err)
{
	char *arg = strchr(call, ':');
	unsigned int nr, refused = SECCOMP_RET_ERRNO | (err & SECCOMP_RET_DATA);

	if (arg)
		*arg++ = '\0';
	nr = !strcmp(call, "bpf") ? SYS_bpf : SYS_perf_event_open;

	struct sock_filter any[] = { LOAD(nr), UNLESS(nr, 1), RETURN(refused),
				     RETURN(SECCOMP_RET_ALLOW) };
	struct sock_filter one[] = { LOAD(nr),	      UNLESS(nr, 3),
				     LOAD(args[0]),   UNLESS(arg ? (unsigned int)atoi(arg) : 0, 1),
				     RETURN(refused), RETURN(SECCOMP_RET_ALLOW) };
	struct sock_fprog prog = { .len = arg ? 6 : 4, .filter = arg ? one : any };

	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog)) {
		perror("deny: seccomp");
		exit(99);
	}
}

int main(int argc, char **argv)
{
	int i;

	for (i = 1; i + 1 < argc && strcmp(argv[i], "--") != 0; i += 2)
		deny(argv[i], (unsigned int)atoi(argv[i + 1]));
	if (i + 1 >= argc)
		return 99;
	execv(argv[i + 1], &argv[i + 1]);
	perror("deny: exec");
	return 99;
}
