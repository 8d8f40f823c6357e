/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Trying out what the kernel can do, and explaining what it refuses. */
#include "kernel.h"

#include <cap-ng.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "capabilities.h"
#include "exits.h"
#include "kernel_features.h"

static bool have_cap(unsigned int cap)
{
	return capng_have_capability(CAPNG_EFFECTIVE, cap);
}

/* CAP_SYS_ADMIN contains the other two, on every kernel. */
static int check_capabilities(void)
{
	if (capng_get_caps_process())
		return refuse(ACL_EXIT_FAILED, "cannot read our own capabilities from /proc");
	if (have_cap(CAP_SYS_ADMIN))
		return 0;
	if (have_cap(CAP_BPF) && have_cap(CAP_PERFMON))
		return 0;
	return refuse(ACL_EXIT_PRIVILEGE,
		      "not allowed to load BPF programs: %s missing (effective uid %d).\n"
		      "Run it as root (sudo aclguard ...), or give the file these capabilities:\n"
		      "  setcap cap_bpf,cap_perfmon,cap_sys_ptrace,cap_sys_admin+ep aclguard",
		      have_cap(CAP_BPF)	      ? "CAP_PERFMON is"
		      : have_cap(CAP_PERFMON) ? "CAP_BPF is"
					      : "CAP_BPF and CAP_PERFMON are",
		      (int)geteuid());
}

int kernel__explain(const char *what, int err)
{
	char lockdown[32];

	switch (err) {
	case ENOSYS:
		return refuse(ACL_EXIT_KERNEL,
			      "this kernel cannot %s: it is built without it (%s).\n"
			      "aclguard needs Linux 5.10 or later with CONFIG_BPF_SYSCALL and "
			      "CONFIG_UPROBE_EVENTS.",
			      what, strerror(err));
	case EOPNOTSUPP:
	case ENODEV:
	case ENOENT:
		return refuse(ACL_EXIT_KERNEL,
			      "this kernel cannot %s: it has no uprobes (%s).\n"
			      "aclguard needs Linux 5.10 or later with CONFIG_UPROBE_EVENTS.",
			      what, strerror(err));
	case EPERM:
	case EACCES:
		features__lockdown(lockdown, sizeof(lockdown));
		if (lockdown[0])
			return refuse(
				ACL_EXIT_LOCKDOWN,
				"kernel lockdown (%s) forbids to %s.\n"
				"Boot with lockdown=integrity or none, or without Secure Boot; "
				"see /sys/kernel/security/lockdown.",
				lockdown, what);
		return refuse(ACL_EXIT_LOCKDOWN,
			      "a policy of this system forbids to %s (%s), although the "
			      "capabilities are there.\n"
			      "Look for kernel lockdown, a seccomp filter of the container or "
			      "service, SELinux or AppArmor, and\n"
			      "/proc/sys/kernel/perf_event_paranoid.",
			      what, strerror(err));
	default:
		return refuse(ACL_EXIT_FAILED, "cannot %s: %s", what, strerror(err));
	}
}

static int check_namespace(void)
{
	enum features_ns ns = features__pid_namespace();

	if (ns == FEATURES_NS_UNKNOWN)
		return refuse(ACL_EXIT_FAILED,
			      "cannot read /proc/self/ns/pid: %s; is /proc mounted?",
			      strerror(errno));
	if (ns == FEATURES_NS_OWN)
		return refuse(
			ACL_EXIT_FAILED,
			"running in a pid namespace of its own, where the kernel's process ids "
			"mean nothing.\n"
			"Run it on the host, or in a container with the host's pid namespace "
			"(docker --pid=host, hostPID: true).");
	return 0;
}

int kernel__probe(struct kernel *f)
{
	int err, prog;

	memset(f, 0, sizeof(*f));
	err = check_namespace();
	if (!err)
		err = check_capabilities();
	if (err)
		return err;
	prog = features__load_trivial(0);
	if (prog < 0)
		return kernel__explain("load BPF programs", -prog);
	close(prog);
	if (!features__has_ring_buffer())
		return refuse(ACL_EXIT_KERNEL, "this kernel has no BPF ring buffer.\n"
					       "aclguard needs Linux 5.10 or later.");
	f->uprobe_multi = !getenv("ACLGUARD_NO_UPROBE_MULTI") && features__has_uprobe_multi();
	f->uprobe_perf = features__has_uprobe_perf();
	/* kernels that have the one have the other */
	f->seccomp_risk = f->uprobe_multi && seccomp__try_call() == SECCOMP_KERNEL_FILTERS;
	if (!f->uprobe_multi && !f->uprobe_perf)
		return kernel__explain("probe programs", ENODEV);
	if (!f->uprobe_multi && !have_cap(CAP_SYS_ADMIN))
		return refuse(ACL_EXIT_PRIVILEGE,
			      "not allowed to probe programs: CAP_SYS_ADMIN is missing.\n"
			      "This kernel has no uprobe_multi, and its other kind of uprobe needs "
			      "that capability: run it as root.");
	return 0;
}
