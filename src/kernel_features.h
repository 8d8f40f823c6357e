/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * What this kernel can do for us, found by doing it: programs are loaded, and
 * probes are set on a function of our own that a child of ours calls.  No
 * version is compared, no other process is touched, and nothing remains.
 */
#ifndef ACLGUARD_KERNEL_FEATURES_H
#define ACLGUARD_KERNEL_FEATURES_H

#include <stdbool.h>
#include <stddef.h>

#include "seccomp_risk.h"

/* FEATURE(id, JSON key, words) */
#define FEATURES(FEATURE)                                                              \
	FEATURE(BPF, "bpf", "BPF programs")                                            \
	FEATURE(RINGBUF, "ring_buffer", "BPF ring buffer")                             \
	FEATURE(MULTI, "uprobe_multi", "uprobe_multi link")                            \
	FEATURE(PERF, "uprobe_perf_event", "uprobe by perf event")                     \
	FEATURE(RETURN, "return_probe", "return probe")                                \
	FEATURE(COOKIE, "attach_cookie", "attach cookie")                              \
	FEATURE(SESSION, "uprobe_session", "uprobe session link")                      \
	FEATURE(SIGNAL, "send_signal", "signal from a probe")                          \
	FEATURE(TASK_VMA, "task_vma_iterator", "task_vma iterator")                    \
	FEATURE(TRACEPOINTS, "tracepoints", "fork and exit tracepoints")               \
	FEATURE(MEMCG, "memory_by_cgroup", "BPF memory not counted on RLIMIT_MEMLOCK") \
	FEATURE(JIT, "bpf_jit", "BPF JIT compiler")                                    \
	FEATURE(BTF, "btf", "BTF of the kernel")

enum feature_id {
#define FEATURE_ENUM(id, key, words) FEATURE_##id,
	FEATURES(FEATURE_ENUM)
#undef FEATURE_ENUM
		FEATURE_MAX,
};

/* How a trial ended. */
enum feature_state {
	FEATURE_NOT_TRIED, /* something that it needs failed already */
	FEATURE_NO,
	FEATURE_DENIED, /* EPERM or EACCES: ours to change, or the policy's */
	FEATURE_YES,
};

struct feature {
	enum feature_state state;
	int err; /* positive errno; 0 where it worked, or what did not work has none */
};

enum features_ns {
	FEATURES_NS_UNKNOWN,
	FEATURES_NS_HOST,
	FEATURES_NS_OWN,
};

struct features {
	struct feature of[FEATURE_MAX];
	enum seccomp_kernel seccomp; /* what filters see of return probes */
	bool seccomp_by_probe;	     /* a return probe was tried, too */
	char lockdown[32];	     /* "" if there is none */
	long perf_event_paranoid;    /* FEATURES_UNSET: there is none */
	long unprivileged_bpf_disabled;
	enum features_ns pid_ns, user_ns;
};

#define FEATURES_UNSET (-1000L)

/* Tries everything; takes a fraction of a second. */
void features__try(struct features *f);

/* ---- single ones, as kernel.c asks for them ---- */

/* A descriptor of a program of two instructions, or -errno.  type: expected_attach_type. */
int features__load_trivial(int type);
bool features__has_ring_buffer(void);
/*
 * A kernel that knows uprobe_multi looks at the path first, and finds that a
 * folder is no file; one that does not knows no such link.
 */
bool features__has_uprobe_multi(void);
bool features__has_uprobe_perf(void);
/* The state of lockdown, in the kernel's own words; "" if there is none. */
void features__lockdown(char *buf, size_t n);
/* Process ids of another pid namespace than the first one mean nothing to the kernel. */
enum features_ns features__pid_namespace(void);

const char *feature__key(enum feature_id id);
const char *feature__words(enum feature_id id);
const char *feature_state__name(enum feature_state state);

#endif /* ACLGUARD_KERNEL_FEATURES_H */
