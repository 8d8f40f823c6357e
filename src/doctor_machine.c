/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* What this machine and our rights on it allow, in words. */
#define _GNU_SOURCE
#include <cap-ng.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "capabilities.h"
#include "doctor.h"
#include "json.h"

static const struct {
	unsigned int cap;
	const char *name;
	bool in_admin; /* CAP_SYS_ADMIN contains it */
	const char *purpose;
} capabilities[] = {
	{ CAP_BPF, "CAP_BPF", true, "load BPF programs" },
	{ CAP_PERFMON, "CAP_PERFMON", true, "trace with them" },
	{ CAP_SYS_ADMIN, "CAP_SYS_ADMIN", false, "probe without uprobe_multi, mount tracefs" },
	{ CAP_SYS_PTRACE, "CAP_SYS_PTRACE", false, "look into processes of other users" },
	{ CAP_CHECKPOINT_RESTORE, "CAP_CHECKPOINT_RESTORE", true,
	  "open libraries as they are mapped: deleted ones, those of containers" },
	{ CAP_DAC_READ_SEARCH, "CAP_DAC_READ_SEARCH", false,
	  "read tracefs, mappings and libraries of others" },
};

#define N_CAPS (sizeof(capabilities) / sizeof(capabilities[0]))
#define NEEDS_MAX 4

/* What is enough for what: one of the first two, and what else is wanted; each tried with all others dropped (tests/integration/test_doctor.py). */
static const struct {
	const char *what;
	unsigned int needs[NEEDS_MAX]; /* ends at 0, which is none of ours */
} ways[] = {
	{ "uprobe_multi", { CAP_BPF, CAP_PERFMON } },
	{ "perf_event", { CAP_SYS_ADMIN } },
	{ "processes-of-others", { CAP_SYS_PTRACE } },
	{ "deleted-libraries-of-others",
	  { CAP_SYS_PTRACE, CAP_CHECKPOINT_RESTORE, CAP_DAC_READ_SEARCH } },
};

static const char *cap_name(unsigned int cap)
{
	for (size_t i = 0; i < N_CAPS; i++)
		if (capabilities[i].cap == cap)
			return capabilities[i].name;
	return "?";
}

bool machine__have_cap(unsigned int cap)
{
	bool in_admin = false;

	for (size_t i = 0; i < N_CAPS; i++)
		if (capabilities[i].cap == cap)
			in_admin = capabilities[i].in_admin;
	return capng_have_capability(CAPNG_EFFECTIVE, cap) ||
	       (in_admin && capng_have_capability(CAPNG_EFFECTIVE, CAP_SYS_ADMIN));
}

/* ---- in words -------------------------------------------------------------- */

/* How a trial that failed did so. */
static const char *why(const struct feature *f)
{
	switch (f->state) {
	case FEATURE_NOT_TRIED:
		return "not tried";
	case FEATURE_DENIED:
		return "not permitted";
	default:
		return f->err ? strerror(f->err) : "it has no effect";
	}
}

static void advise_denied(struct machine *m)
{
	if (m->features.lockdown[0])
		findings__advise(&m->findings,
				 "kernel lockdown (%s) may be the reason: boot with "
				 "lockdown=integrity or none",
				 m->features.lockdown);
	else if (!machine__have_cap(CAP_BPF) || !machine__have_cap(CAP_PERFMON))
		findings__advise(&m->findings, "run it as root, or with the capabilities below");
	else if (m->features.user_ns == FEATURES_NS_OWN)
		findings__advise(&m->findings, "capabilities of a user namespace do not count: run "
					       "it on the host");
	else
		findings__advise(&m->findings,
				 "the capabilities are there: look for a seccomp filter of the "
				 "container or service, SELinux, AppArmor, and "
				 "/proc/sys/kernel/perf_event_paranoid");
}

/* A feature without which nothing works. */
static void need(struct machine *m, enum feature_id id, const char *topic, const char *good)
{
	const struct feature *f = &m->features.of[id];

	if (f->state == FEATURE_YES) {
		findings__add(&m->findings, FINDING_OK, topic, "%s", good);
		return;
	}
	findings__add(&m->findings, FINDING_BAD, topic, "%s: %s", feature__words(id), why(f));
	if (f->state == FEATURE_DENIED)
		advise_denied(m);
	else if (f->state == FEATURE_NO)
		findings__advise(&m->findings, "aclguard needs Linux 5.10 or later with "
					       "CONFIG_BPF_SYSCALL and CONFIG_UPROBE_EVENTS");
}

/* One that is missed a little. */
static void want(struct machine *m, enum feature_id id, const char *topic, const char *good,
		 const char *without, const char *advice)
{
	const struct feature *f = &m->features.of[id];

	if (f->state == FEATURE_YES) {
		findings__add(&m->findings, FINDING_OK, topic, "%s", good);
	} else if (f->state == FEATURE_NOT_TRIED) {
		findings__add(&m->findings, FINDING_FACT, topic, "%s: not tried",
			      feature__words(id));
	} else {
		findings__add(&m->findings, FINDING_LIMIT, topic, "%s (%s): %s", feature__words(id),
			      why(f), without);
		findings__advise(&m->findings, "%s", advice);
	}
}

/* One that does not matter today. */
static void mention(struct machine *m, enum feature_id id, const char *topic, const char *words)
{
	const struct feature *f = &m->features.of[id];

	findings__add(&m->findings, FINDING_FACT, topic, "%s; %s",
		      f->state == FEATURE_YES ? "there" : why(f), words);
}

/* As kernel__probe() chooses. */
static void say_attach(struct machine *m)
{
	const struct feature *multi = &m->features.of[FEATURE_MULTI];
	const struct feature *perf = &m->features.of[FEATURE_PERF];

	m->multi_unwanted = getenv("ACLGUARD_NO_UPROBE_MULTI") != NULL;
	if (multi->state == FEATURE_YES && !m->multi_unwanted) {
		m->attach = "uprobe_multi";
		findings__add(&m->findings, FINDING_OK, "probes",
			      "by uprobe_multi: two links a library");
	} else if (perf->state == FEATURE_YES && machine__have_cap(CAP_SYS_ADMIN)) {
		m->attach = "perf_event";
		findings__add(&m->findings, FINDING_LIMIT, "probes",
			      "by perf events, two for each function: taking them out takes "
			      "seconds (uprobe_multi: %s)",
			      m->multi_unwanted ? "switched off by ACLGUARD_NO_UPROBE_MULTI"
						: why(multi));
	} else {
		findings__add(&m->findings, FINDING_BAD, "probes",
			      "neither by uprobe_multi (%s) nor by perf events (%s)",
			      m->multi_unwanted ? "switched off by ACLGUARD_NO_UPROBE_MULTI"
						: why(multi),
			      perf->state == FEATURE_YES ? "CAP_SYS_ADMIN is missing" : why(perf));
		if (multi->state == FEATURE_DENIED || perf->state == FEATURE_DENIED)
			advise_denied(m);
	}
}

static void say_seccomp(struct machine *m)
{
	const char *how = m->features.seccomp_by_probe ? "tried with a return probe"
						       : "tried without a probe";

	switch (m->features.seccomp) {
	case SECCOMP_KERNEL_NO_CALL:
		findings__add(&m->findings, FINDING_OK, "seccomp",
			      "return probes make no system call that a filter could refuse");
		break;
	case SECCOMP_KERNEL_PASSES:
		findings__add(&m->findings, FINDING_OK, "seccomp",
			      "filters do not see the system call of return probes (%s)", how);
		break;
	case SECCOMP_KERNEL_FILTERS:
		findings__add(&m->findings, FINDING_LIMIT, "seccomp",
			      "a return probe kills a process under a strict seccomp filter (%s)",
			      how);
		findings__advise(&m->findings,
				 "of such processes only entries are probed; update the kernel: "
				 "the fix is \"seccomp: passthrough uretprobe "
				 "systemcall\", February 2025");
		break;
	default:
		findings__add(&m->findings, FINDING_LIMIT, "seccomp",
			      "could not try what a filter sees of return probes");
		findings__advise(&m->findings, "before you watch a process under a seccomp filter, "
					       "look whether the kernel is older than 6.11, or has "
					       "\"seccomp: passthrough uretprobe systemcall\"");
		break;
	}
}

static void say_memory(struct machine *m)
{
	struct rlimit lim;

	if (m->features.of[FEATURE_BPF].state != FEATURE_YES ||
	    m->features.of[FEATURE_MEMCG].state == FEATURE_YES || getrlimit(RLIMIT_MEMLOCK, &lim) ||
	    lim.rlim_max == RLIM_INFINITY)
		return;
	if (capng_have_capability(CAPNG_EFFECTIVE, CAP_SYS_RESOURCE))
		return;
	findings__add(&m->findings, FINDING_BAD, "memory",
		      "BPF maps count against RLIMIT_MEMLOCK here, which is %llu KiB; 64 MiB are "
		      "needed",
		      (unsigned long long)lim.rlim_max >> 10);
	findings__advise(&m->findings, "`ulimit -l unlimited', LimitMEMLOCK=infinity, or "
				       "CAP_SYS_RESOURCE");
}

static void say_policies(struct machine *m)
{
	const struct features *f = &m->features;

	if (!f->lockdown[0])
		findings__add(&m->findings, FINDING_OK, "lockdown", "none");
	else if (!strcmp(f->lockdown, "confidentiality"))
		findings__add(&m->findings, FINDING_BAD, "lockdown",
			      "confidentiality: BPF may not read");
	else
		findings__add(&m->findings, FINDING_OK, "lockdown", "%s", f->lockdown);
	if (f->lockdown[0] && m->findings.worst == FINDING_BAD)
		findings__advise(&m->findings, "boot with lockdown=integrity or none");
	if (f->perf_event_paranoid != FEATURES_UNSET ||
	    f->unprivileged_bpf_disabled != FEATURES_UNSET)
		findings__add(&m->findings, FINDING_FACT, "sysctls",
			      "perf_event_paranoid %ld, unprivileged_bpf_disabled %ld; neither "
			      "matters with the capabilities%s",
			      f->perf_event_paranoid, f->unprivileged_bpf_disabled,
			      f->perf_event_paranoid > 2
				      ? ", though above 2 some distributions ask for CAP_SYS_ADMIN"
				      : "");
	if (f->pid_ns == FEATURES_NS_OWN) {
		findings__add(&m->findings, FINDING_BAD, "pid namespace",
			      "one of our own, where the kernel's process ids mean nothing");
		findings__advise(&m->findings, "run it on the host, or in a container with "
					       "docker --pid=host, hostPID: true");
	} else if (f->pid_ns == FEATURES_NS_UNKNOWN) {
		findings__add(&m->findings, FINDING_BAD, "pid namespace",
			      "cannot read /proc/self/ns/pid");
		findings__advise(&m->findings, "mount /proc");
	}
}

/* A comma-separated list of names; `have`: of those that are there, or of the others. */
static const char *list_caps(char *buf, size_t n, bool have)
{
	size_t len = 0;

	buf[0] = '\0';
	for (size_t i = 0; i < N_CAPS; i++) {
		if (machine__have_cap(capabilities[i].cap) != have || len >= n)
			continue;
		len += (size_t)snprintf(buf + len, n - len, "%s%s", len ? ", " : "",
					capabilities[i].name);
	}
	return buf[0] ? buf : "none";
}

static void say_privileges(struct machine *m)
{
	bool enough = machine__have_cap(CAP_BPF) && machine__have_cap(CAP_PERFMON);
	bool multi = m->features.of[FEATURE_MULTI].state != FEATURE_NO && !m->multi_unwanted;
	char list[256];

	enough = enough && (multi || machine__have_cap(CAP_SYS_ADMIN));
	findings__add(&m->findings, enough ? FINDING_OK : FINDING_BAD, "privileges",
		      "uid %d; present: %s", (int)geteuid(), list_caps(list, sizeof(list), true));
	if (!enough)
		findings__advise(&m->findings,
				 "run it as root (sudo), or give the file its capabilities: setcap "
				 "cap_bpf,cap_perfmon,cap_sys_ptrace,cap_sys_admin+ep aclguard");
	for (size_t i = 0; i < N_CAPS; i++) {
		unsigned int cap = capabilities[i].cap;
		bool needed = cap == CAP_BPF || cap == CAP_PERFMON ||
			      (cap == CAP_SYS_ADMIN && !multi);

		if (machine__have_cap(cap))
			continue;
		findings__add(&m->findings, needed ? FINDING_BAD : FINDING_FACT, "missing",
			      "%s: to %s", capabilities[i].name, capabilities[i].purpose);
	}
}

void machine__examine(struct machine *m)
{
	*m = (struct machine){};
	uname(&m->uts);
	capng_get_caps_process();
	features__try(&m->features);
	findings__add(&m->findings, FINDING_FACT, "kernel", "%s %s on %s", m->uts.sysname,
		      m->uts.release, m->uts.machine);
	need(m, FEATURE_BPF, "bpf", "programs can be loaded");
	if (m->features.of[FEATURE_BPF].state == FEATURE_YES) {
		need(m, FEATURE_RINGBUF, "ring buffer", "there");
		say_attach(m);
	}
	if (m->attach) {
		need(m, FEATURE_RETURN, "return probes", "they work");
		if (!strcmp(m->attach, "uprobe_multi"))
			need(m, FEATURE_COOKIE, "attach cookies", "they work");
		want(m, FEATURE_SIGNAL, "signals", "a probe can stop the process it is hit by",
		     "`run' cannot stop the program while it is probed, and may miss its first "
		     "calls",
		     "use `watch' on a program that has loaded the runtime");
	}
	say_seccomp(m);
	want(m, FEATURE_TRACEPOINTS, "tracepoints", "fork and exit are told",
	     "processes that a watched one starts are not followed",
	     "mount tracefs on /sys/kernel/tracing, and run as root");
	say_memory(m);
	want(m, FEATURE_JIT, "bpf jit", "on", "probes are many times slower",
	     "sysctl net.core.bpf_jit_enable=1");
	mention(m, FEATURE_SESSION, "session links", "not needed");
	mention(m, FEATURE_TASK_VMA, "task_vma", "the iterator over mappings is not needed");
	mention(m, FEATURE_BTF, "btf", "not needed");
	say_policies(m);
	say_privileges(m);
}

/* ---- as JSON ---------------------------------------------------------------- */

static void json_long(struct json *j, const char *key, long val)
{
	if (val == FEATURES_UNSET)
		json__null(j, key);
	else
		json__s64(j, key, val);
}

static const char *ns_name(enum features_ns ns)
{
	return ns == FEATURES_NS_HOST ? "host" : ns == FEATURES_NS_OWN ? "own" : "unknown";
}

static void kernel_json(const struct machine *m, struct json *j)
{
	json__begin_object(j, "kernel");
	json__str(j, "release", m->uts.release);
	json__str(j, "machine", m->uts.machine);
	json__begin_object(j, "features");
	for (int i = 0; i < FEATURE_MAX; i++)
		json__str(j, feature__key((enum feature_id)i),
			  feature_state__name(m->features.of[i].state));
	json__end_object(j);
	json__str(j, "seccomp_sees_return_probes", seccomp_kernel__name(m->features.seccomp));
	json__bool(j, "seccomp_tried_by_probe", m->features.seccomp_by_probe);
	json__str(j, "lockdown", m->features.lockdown[0] ? m->features.lockdown : NULL);
	json_long(j, "perf_event_paranoid", m->features.perf_event_paranoid);
	json_long(j, "unprivileged_bpf_disabled", m->features.unprivileged_bpf_disabled);
	json__str(j, "pid_namespace", ns_name(m->features.pid_ns));
	json__str(j, "user_namespace", ns_name(m->features.user_ns));
	json__end_object(j);
}

static void caps_json(struct json *j, const char *key, bool have)
{
	json__begin_array(j, key);
	for (size_t i = 0; i < N_CAPS; i++)
		if (machine__have_cap(capabilities[i].cap) == have)
			json__str(j, NULL, capabilities[i].name);
	json__end_array(j);
}

static void privileges_json(struct json *j)
{
	json__begin_object(j, "privileges");
	json__u64(j, "uid", geteuid());
	caps_json(j, "present", true);
	caps_json(j, "missing", false);
	json__begin_array(j, "ways");
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		bool enough = true;

		json__begin_object(j, NULL);
		json__str(j, "way", ways[i].what);
		json__begin_array(j, "needs");
		for (size_t k = 0; k < NEEDS_MAX && ways[i].needs[k]; k++) {
			json__str(j, NULL, cap_name(ways[i].needs[k]));
			enough = enough && machine__have_cap(ways[i].needs[k]);
		}
		json__end_array(j);
		json__bool(j, "enough", enough);
		json__end_object(j);
	}
	json__end_array(j);
	json__end_object(j);
}

void machine__json(const struct machine *m, struct json *j)
{
	kernel_json(m, j);
	privileges_json(j);
	json__str(j, "attach", m->attach);
	findings__json(&m->findings, j);
}

void machine__free(struct machine *m)
{
	findings__free(&m->findings);
}
