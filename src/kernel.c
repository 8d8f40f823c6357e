/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Trying out what the kernel can do, and explaining what it refuses. */
#include "kernel.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <cap-ng.h>
#include <errno.h>
#include <linux/bpf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "exits.h"

#ifndef CAP_PERFMON
#define CAP_PERFMON 38
#endif
#ifndef CAP_BPF
#define CAP_BPF 39
#endif

#define INIT_PID_NS "pid:[4026531836]" /* PROC_PID_INIT_INO, the same on every kernel */

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

/* The state of lockdown, in the kernel's own words; "" if there is none. */
static void read_lockdown(char *buf, size_t n)
{
	FILE *f = fopen("/sys/kernel/security/lockdown", "re");
	char *start, *end;

	buf[0] = '\0';
	if (!f)
		return;
	if (fgets(buf, (int)n, f)) {
		start = strchr(buf, '[');
		end = start ? strchr(start, ']') : NULL;
		if (end) {
			*end = '\0';
			memmove(buf, start + 1, (size_t)(end - start));
		} else {
			buf[0] = '\0';
		}
	}
	fclose(f);
	if (!strcmp(buf, "none"))
		buf[0] = '\0';
}

int kernel__explain(const char *what, int err)
{
	char lockdown[256];

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
		read_lockdown(lockdown, sizeof(lockdown));
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

static int load_trivial(int type)
{
	const struct bpf_insn insns[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	LIBBPF_OPTS(bpf_prog_load_opts, opts, .expected_attach_type = (enum bpf_attach_type)type);
	int fd = bpf_prog_load(BPF_PROG_TYPE_KPROBE, "probe", "GPL", insns,
			       sizeof(insns) / sizeof(insns[0]), &opts);

	return fd < 0 ? -errno : fd;
}

/*
 * A kernel that knows uprobe_multi looks at the path first, and finds that a
 * folder is no file; one that does not knows no such link.
 */
static bool try_uprobe_multi(void)
{
	const unsigned long offset = 0;
	LIBBPF_OPTS(bpf_link_create_opts, opts);
	int prog, link, err;

	prog = load_trivial(KERNEL_UPROBE_MULTI);
	if (prog < 0)
		return false;
	opts.uprobe_multi.path = "/";
	opts.uprobe_multi.offsets = &offset;
	opts.uprobe_multi.cnt = 1;
	link = bpf_link_create(prog, 0, (enum bpf_attach_type)KERNEL_UPROBE_MULTI, &opts);
	err = errno;
	close(prog);
	if (link >= 0) {
		close(link);
		return true;
	}
	return err == EBADF;
}

static int check_namespace(void)
{
	char ns[64];
	ssize_t n = readlink("/proc/self/ns/pid", ns, sizeof(ns) - 1);

	if (n < 0)
		return refuse(ACL_EXIT_FAILED,
			      "cannot read /proc/self/ns/pid: %s; is /proc mounted?",
			      strerror(errno));
	ns[n] = '\0';
	if (strcmp(ns, INIT_PID_NS) != 0)
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
	prog = load_trivial(0);
	if (prog < 0)
		return kernel__explain("load BPF programs", -prog);
	close(prog);
	if (libbpf_probe_bpf_map_type(BPF_MAP_TYPE_RINGBUF, NULL) != 1)
		return refuse(ACL_EXIT_KERNEL, "this kernel has no BPF ring buffer.\n"
					       "aclguard needs Linux 5.10 or later.");
	f->uprobe_multi = !getenv("ACLGUARD_NO_UPROBE_MULTI") && try_uprobe_multi();
	f->uprobe_perf = !access("/sys/bus/event_source/devices/uprobe/type", R_OK);
	if (!f->uprobe_multi && !f->uprobe_perf)
		return kernel__explain("probe programs", ENODEV);
	if (!f->uprobe_multi && !have_cap(CAP_SYS_ADMIN))
		return refuse(ACL_EXIT_PRIVILEGE,
			      "not allowed to probe programs: CAP_SYS_ADMIN is missing.\n"
			      "This kernel has no uprobe_multi, and its other kind of uprobe needs "
			      "that capability: run it as root.");
	return 0;
}
