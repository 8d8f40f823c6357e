/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Trying what a seccomp filter gets to see. */
#define _GNU_SOURCE
#include "seccomp_risk.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define NR_URETPROBE 335 /* x86-64 only; older headers lack it */
#if defined(__x86_64__)
#define HAS_URETPROBE 1
#else
#define HAS_URETPROBE 0
#endif

/* What the child exits with where no signal ends it. */
enum {
	CHILD_NO_CALL = 1,
	CHILD_FILTERED,
	CHILD_NO_SECCOMP,
	CHILD_ODD,
};

enum seccomp_risk seccomp__risk(enum seccomp_mode mode, enum seccomp_kernel kernel)
{
	if (mode == SECCOMP_NONE || kernel == SECCOMP_KERNEL_NO_CALL ||
	    kernel == SECCOMP_KERNEL_PASSES)
		return SECCOMP_RISK_NONE;
	if (mode == SECCOMP_UNKNOWN || kernel == SECCOMP_KERNEL_UNKNOWN)
		return SECCOMP_RISK_UNKNOWN;
	return SECCOMP_RISK_KILL;
}

/* All system calls but exit_group give `otherwise`. */
static int install(unsigned int otherwise)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (unsigned int)offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		BPF_STMT(BPF_RET | BPF_K, otherwise),
	};
	struct sock_fprog prog = {
		.len = sizeof(filter) / sizeof(filter[0]),
		.filter = filter,
	};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog))
		return -errno;
	return 0;
}

int seccomp__seal(void)
{
	return install(SECCOMP_RET_KILL_PROCESS);
}

/* An errno that no kernel gives of its own accord here. */
#define FILTER_SAYS ENOANO

static _Noreturn void child(bool filtered)
{
	const struct rlimit no_core = { 0, 0 };
	int err;

	setrlimit(RLIMIT_CORE, &no_core);
	signal(SIGILL, SIG_DFL);
	if (filtered && install(SECCOMP_RET_ERRNO | FILTER_SAYS))
		_exit(CHILD_NO_SECCOMP);
	err = syscall(NR_URETPROBE) ? errno : 0;
	_exit(err == ENOSYS ? CHILD_NO_CALL : err == FILTER_SAYS ? CHILD_FILTERED : CHILD_ODD);
}

/* What became of a child that made the call: a signal's number, or 256 + its exit status. */
static int make_call(bool filtered)
{
	int status;
	pid_t pid = fork();

	if (pid < 0)
		return -errno;
	if (!pid)
		child(filtered);
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return -errno;
	return WIFSIGNALED(status) ? WTERMSIG(status) : 256 + WEXITSTATUS(status);
}

enum seccomp_kernel seccomp__try_call(void)
{
	if (!HAS_URETPROBE)
		return SECCOMP_KERNEL_NO_CALL;
	switch (make_call(false)) {
	case SIGILL: /* the kernel's answer to a call from elsewhere than its trampoline */
		break;
	case 256 + CHILD_NO_CALL:
		return SECCOMP_KERNEL_NO_CALL;
	default: /* a filter that we are under ourselves, perhaps */
		return SECCOMP_KERNEL_UNKNOWN;
	}
	switch (make_call(true)) {
	case SIGILL:
		return SECCOMP_KERNEL_PASSES;
	case 256 + CHILD_FILTERED:
		return SECCOMP_KERNEL_FILTERS;
	default:
		return SECCOMP_KERNEL_UNKNOWN;
	}
}

const char *seccomp_mode__name(enum seccomp_mode mode)
{
	switch (mode) {
	case SECCOMP_NONE:
		return "none";
	case SECCOMP_STRICT:
		return "strict";
	case SECCOMP_FILTER:
		return "filter";
	default:
		return "unknown";
	}
}

const char *seccomp_kernel__name(enum seccomp_kernel kernel)
{
	switch (kernel) {
	case SECCOMP_KERNEL_NO_CALL:
		return "no-call";
	case SECCOMP_KERNEL_PASSES:
		return "passes";
	case SECCOMP_KERNEL_FILTERS:
		return "filters";
	default:
		return "unknown";
	}
}

const char *seccomp_risk__name(enum seccomp_risk risk)
{
	switch (risk) {
	case SECCOMP_RISK_NONE:
		return "none";
	case SECCOMP_RISK_KILL:
		return "kill";
	default:
		return "unknown";
	}
}
