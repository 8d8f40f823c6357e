/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Trying out the kernel.  A trial of a probe has a child that waits, a program
 * that leaves a number in a map, and a link on place(), which the child then
 * calls; what the map holds and how the child ended is the answer.
 */
#define _GNU_SOURCE
#include "kernel_features.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kernel.h"
#include "maps.h"
#include "tracefs.h"

#define UPROBE_PMU "/sys/bus/event_source/devices/uprobe"
#define INIT_PID_NS "pid:[4026531836]"	 /* PROC_PID_INIT_INO, the same on every kernel */
#define INIT_USER_NS "user:[4026531837]" /* PROC_USER_INIT_INO */
#define MULTI_RETURN 1			 /* BPF_F_UPROBE_MULTI_RETURN */
#define COOKIE 0xac1c00c1eULL
#define OURS "/proc/self/exe"

/* ---- programs ------------------------------------------------------------ */

/* What the program on place() does, and what it leaves in the map. */
enum does {
	DOES_COUNT,  /* 1 */
	DOES_COOKIE, /* the attach cookie */
	DOES_SIGNAL, /* what bpf_send_signal() returned */
};

#define INSN(op, dst, src, at, val) \
	((struct bpf_insn){         \
		.code = (op), .dst_reg = (dst), .src_reg = (src), .off = (at), .imm = (val) })
#define MOV_IMM(dst, val) INSN(BPF_ALU64 | BPF_MOV | BPF_K, dst, 0, 0, val)
#define MOV_REG(dst, src) INSN(BPF_ALU64 | BPF_MOV | BPF_X, dst, src, 0, 0)
#define ADD_IMM(dst, val) INSN(BPF_ALU64 | BPF_ADD | BPF_K, dst, 0, 0, val)
#define CALL(helper) INSN(BPF_JMP | BPF_CALL, 0, 0, 0, helper)
#define EXIT() INSN(BPF_JMP | BPF_EXIT, 0, 0, 0, 0)

static int load(int prog_type, int attach_type, const struct bpf_insn *insns, size_t n)
{
	LIBBPF_OPTS(bpf_prog_load_opts, opts,
		    .expected_attach_type = (enum bpf_attach_type)attach_type);
	int fd = bpf_prog_load((enum bpf_prog_type)prog_type, "probe", "GPL", insns, n, &opts);

	return fd < 0 ? -errno : fd;
}

int features__load_trivial(int type)
{
	const struct bpf_insn insns[] = { MOV_IMM(BPF_REG_0, 0), EXIT() };

	return load(BPF_PROG_TYPE_KPROBE, type, insns, 2);
}

/* The first two instructions put into r6 what is to be left. */
static int load_doing(enum does does, int attach_type, int map)
{
	const struct bpf_insn insns[] = {
		does == DOES_SIGNAL ? MOV_IMM(BPF_REG_1, SIGUSR1) : MOV_IMM(BPF_REG_0, 1),
		does == DOES_SIGNAL   ? CALL(BPF_FUNC_send_signal)
		: does == DOES_COOKIE ? CALL(BPF_FUNC_get_attach_cookie)
				      : MOV_IMM(BPF_REG_0, 1),
		MOV_REG(BPF_REG_6, BPF_REG_0),
		INSN(BPF_ST | BPF_MEM | BPF_W, BPF_REG_10, 0, -4, 0), /* the key */
		MOV_REG(BPF_REG_2, BPF_REG_10),
		ADD_IMM(BPF_REG_2, -4),
		INSN(BPF_LD | BPF_IMM | BPF_DW, BPF_REG_1, BPF_PSEUDO_MAP_FD, 0, map),
		INSN(0, 0, 0, 0, 0), /* its second half */
		CALL(BPF_FUNC_map_lookup_elem),
		INSN(BPF_JMP | BPF_JEQ | BPF_K, BPF_REG_0, 0, 1, 0),
		INSN(BPF_STX | BPF_MEM | BPF_DW, BPF_REG_0, BPF_REG_6, 0, 0),
		MOV_IMM(BPF_REG_0, 0),
		EXIT(),
	};

	return load(BPF_PROG_TYPE_KPROBE, attach_type, insns, sizeof(insns) / sizeof(insns[0]));
}

/* ---- where ---------------------------------------------------------------- */

/* What is probed.  Nothing but the child of a trial calls it. */
static __attribute__((noinline, used)) void place(void)
{
	__asm__ volatile("" ::: "memory");
}

static int mapping_of_place(const struct map_entry *e, void *arg)
{
	uint64_t addr = (uint64_t)(uintptr_t)place;

	if (addr < e->start || addr >= e->end || !map_entry__is_file(e))
		return 0;
	*(uint64_t *)arg = addr - e->start + e->offset;
	return 1;
}

/* Its offset in our file, or -errno. */
static int find_place(uint64_t *offset)
{
	int found = maps__walk(getpid(), mapping_of_place, offset, NULL);

	return found > 0 ? 0 : found < 0 ? found : -ENOENT;
}

/* ---- a trial --------------------------------------------------------------- */

struct trial {
	enum does does;
	int type;     /* of the link: KERNEL_UPROBE_...; 0: a perf event */
	bool returns; /* probe the return */
	bool sealed;  /* the child may not make any other system call */
	uint64_t left;
	int status; /* of the child, as of waitpid() */
};

/* BPF_LINK_CREATE of linux/bpf.h since 6.6; the header at hand may be older. */
struct link_create_multi {
	uint32_t prog_fd, target, attach_type, flags;
	uint64_t path, offsets, ref_ctr_offsets, cookies;
	uint32_t cnt, multi_flags, pid, pad;
};

static int attach_multi(const struct trial *t, int prog, pid_t pid, uint64_t offset)
{
	const uint64_t cookie = COOKIE;
	const struct link_create_multi attr = {
		.prog_fd = (uint32_t)prog,
		.attach_type = (uint32_t)t->type,
		.path = (uint64_t)(uintptr_t)OURS,
		.offsets = (uint64_t)(uintptr_t)&offset,
		.cookies = t->does == DOES_COOKIE ? (uint64_t)(uintptr_t)&cookie : 0,
		.cnt = 1,
		.multi_flags = t->returns ? MULTI_RETURN : 0,
		.pid = (uint32_t)pid,
	};
	int link = (int)syscall(SYS_bpf, BPF_LINK_CREATE, &attr, sizeof(attr));

	return link < 0 ? -errno : link;
}

static long read_long(const char *path, const char *before, long otherwise)
{
	char text[64], *at, *end;
	FILE *f = fopen(path, "re");
	long val;

	if (!f)
		return otherwise;
	at = fgets(text, sizeof(text), f);
	fclose(f);
	if (at && before) {
		at = strstr(at, before);
		at = at ? at + strlen(before) : NULL;
	}
	if (!at)
		return otherwise;
	val = strtol(at, &end, 10);
	return end == at ? otherwise : val;
}

/* The bit of perf_event_attr.config that asks for the return: "config:0" */
static uint64_t return_bit(void)
{
	long bit = read_long(UPROBE_PMU "/format/retprobe", "config:", 0);

	return bit >= 0 && bit < 64 ? 1ULL << bit : 1;
}

/* A descriptor that holds probe and program, or -errno. */
static int attach_perf(const struct trial *t, int prog, pid_t pid, uint64_t offset)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.config = t->returns ? return_bit() : 0,
		.uprobe_path = (uint64_t)(uintptr_t)OURS,
		.probe_offset = offset,
	};
	LIBBPF_OPTS(bpf_link_create_opts, opts, .perf_event.bpf_cookie = COOKIE);
	long type = read_long(UPROBE_PMU "/type", NULL, -1);
	int fd, link, err = 0;

	if (type < 0)
		return -ENOENT;
	attr.type = (uint32_t)type;
	fd = (int)syscall(SYS_perf_event_open, &attr, pid, -1, -1, PERF_FLAG_FD_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (t->does != DOES_COOKIE) {
		if (ioctl(fd, PERF_EVENT_IOC_SET_BPF, prog) || ioctl(fd, PERF_EVENT_IOC_ENABLE, 0))
			err = -errno;
	} else {
		link = bpf_link_create(prog, fd, BPF_PERF_EVENT, &opts);
		err = link < 0 ? -errno : 0;
		if (!err) /* the link has the event from now on */
			return close(fd), link;
	}
	if (!err)
		return fd;
	close(fd);
	return err;
}

static _Noreturn void child(int go, bool sealed)
{
	const struct rlimit no_core = { 0, 0 };
	char byte;

	setrlimit(RLIMIT_CORE, &no_core);
	signal(SIGUSR1, SIG_DFL);
	if (read(go, &byte, 1) != 1) /* no trial */
		_exit(0);
	if (sealed && seccomp__seal())
		_exit(1);
	place();
	_exit(0);
}

/* Returns its pid, and what to write to and close, or -errno. */
static pid_t start_child(int *go, bool sealed)
{
	int ends[2];
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC))
		return -errno;
	pid = fork();
	if (!pid) {
		close(ends[1]);
		child(ends[0], sealed);
	}
	close(ends[0]);
	if (pid < 0) {
		close(ends[1]);
		return -errno;
	}
	*go = ends[1];
	return pid;
}

/* Attaches, lets the child call, takes the probe out again. */
static int trial_with(struct trial *t, int prog, uint64_t offset)
{
	int go = -1, link, err = 0;
	pid_t pid = start_child(&go, t->sealed);

	if (pid < 0)
		return pid;
	link = t->type ? attach_multi(t, prog, pid, offset) : attach_perf(t, prog, pid, offset);
	if (link < 0)
		err = link;
	else if (write(go, "", 1) != 1)
		err = -errno;
	close(go);
	while (waitpid(pid, &t->status, 0) < 0 && errno == EINTR)
		;
	if (link >= 0)
		close(link);
	return err;
}

static int trial__run(struct trial *t)
{
	const uint32_t key = 0;
	uint64_t offset;
	int map, prog, err;

	err = find_place(&offset);
	if (err)
		return err;
	map = bpf_map_create(BPF_MAP_TYPE_ARRAY, "probe", sizeof(key), sizeof(t->left), 1, NULL);
	if (map < 0)
		return -errno;
	prog = load_doing(t->does, t->type, map);
	err = prog < 0 ? prog : trial_with(t, prog, offset);
	if (!err && bpf_map_lookup_elem(map, &key, &t->left))
		err = -errno;
	if (prog >= 0)
		close(prog);
	close(map);
	return err;
}

/* ---- answers ---------------------------------------------------------------- */

static struct feature answer(int err)
{
	struct feature f = { .err = err < 0 ? -err : 0, .state = FEATURE_YES };

	if (f.err == EPERM || f.err == EACCES)
		f.state = FEATURE_DENIED;
	else if (f.err)
		f.state = FEATURE_NO;
	return f;
}

/* The child must have gone through the probe, and ended as it would have without. */
static struct feature try_probe(int type, bool returns)
{
	struct trial t = { .does = DOES_COUNT, .type = type, .returns = returns };
	int err = trial__run(&t);

	if (!err && (t.left != 1 || t.status))
		return (struct feature){ .state = FEATURE_NO };
	return answer(err);
}

static struct feature try_cookie(int type)
{
	struct trial t = { .does = DOES_COOKIE, .type = type };
	int err = trial__run(&t);

	if (!err && t.left != COOKIE)
		return (struct feature){ .state = FEATURE_NO };
	return answer(err);
}

static struct feature try_signal(int type)
{
	struct trial t = { .does = DOES_SIGNAL, .type = type };
	int err = trial__run(&t);

	if (!err && !(WIFSIGNALED(t.status) && WTERMSIG(t.status) == SIGUSR1))
		return (struct feature){ .state = FEATURE_NO, .err = (int)-(int64_t)t.left };
	return answer(err);
}

/*
 * A child that may not make any system call but exit_group returns through a
 * return probe.  -errno: not tried.
 */
static int try_sealed(int type, bool *lives)
{
	struct trial t = { .does = DOES_COUNT, .type = type, .returns = true, .sealed = true };
	int err = trial__run(&t);

	if (err)
		return err;
	if (WIFEXITED(t.status) && WEXITSTATUS(t.status)) /* it could not be sealed */
		return -ENOTSUP;
	*lives = !t.status && t.left == 1;
	return 0;
}

static struct feature try_bpf(void)
{
	int fd = features__load_trivial(0);

	if (fd >= 0)
		close(fd);
	return answer(fd < 0 ? fd : 0);
}

static struct feature try_ring_buffer(void)
{
	int fd = bpf_map_create(BPF_MAP_TYPE_RINGBUF, "probe", 0, 0, (__u32)getpagesize(), NULL);
	int err = fd < 0 ? -errno : 0;

	if (fd >= 0)
		close(fd);
	return answer(err);
}

bool features__has_ring_buffer(void)
{
	return libbpf_probe_bpf_map_type(BPF_MAP_TYPE_RINGBUF, NULL) == 1;
}

static struct feature try_task_vma(void)
{
	const struct bpf_insn insns[] = { MOV_IMM(BPF_REG_0, 0), EXIT() };
	LIBBPF_OPTS(bpf_prog_load_opts, opts, .expected_attach_type = BPF_TRACE_ITER);
	int id = libbpf_find_vmlinux_btf_id("task_vma", BPF_TRACE_ITER);
	int prog, link, err;

	if (id < 0)
		return answer(id);
	opts.attach_btf_id = (__u32)id;
	prog = bpf_prog_load(BPF_PROG_TYPE_TRACING, "probe", "GPL", insns, 2, &opts);
	if (prog < 0)
		return answer(-errno);
	link = bpf_link_create(prog, 0, BPF_TRACE_ITER, NULL);
	err = link < 0 ? -errno : 0;
	if (link >= 0)
		close(link);
	close(prog);
	return answer(err);
}

static int open_tracepoint(int dir, const char *event)
{
	struct perf_event_attr attr = { .type = PERF_TYPE_TRACEPOINT, .size = sizeof(attr) };
	int id = tracefs__id(dir, event), fd;

	if (id < 0)
		return id;
	attr.config = (uint64_t)id;
	fd = (int)syscall(SYS_perf_event_open, &attr, -1, 0, -1, PERF_FLAG_FD_CLOEXEC);
	if (fd < 0)
		return -errno;
	close(fd);
	return 0;
}

static struct feature try_tracepoints(void)
{
	int dir = tracefs__open(), err;

	if (dir < 0)
		return answer(dir);
	err = open_tracepoint(dir, "sched/sched_process_fork");
	if (!err)
		err = open_tracepoint(dir, "sched/sched_process_exit");
	close(dir);
	return answer(err);
}

/* Older kernels count maps on RLIMIT_MEMLOCK: with none of it, none can be made. */
static struct feature try_memcg(void)
{
	union bpf_attr attr = {
		.map_type = BPF_MAP_TYPE_ARRAY, .key_size = 4, .value_size = 4096, .max_entries = 64
	};
	struct rlimit old, none;
	int fd, err;

	if (getrlimit(RLIMIT_MEMLOCK, &old))
		return answer(-errno);
	none = old;
	none.rlim_cur = 0;
	setrlimit(RLIMIT_MEMLOCK, &none);
	fd = (int)syscall(SYS_bpf, BPF_MAP_CREATE, &attr, sizeof(attr));
	err = errno;
	setrlimit(RLIMIT_MEMLOCK, &old);
	if (fd >= 0)
		close(fd);
	return fd >= 0 ? answer(0) : (struct feature){ .state = FEATURE_NO, .err = err };
}

static struct feature try_jit(void)
{
	long on = read_long("/proc/sys/net/core/bpf_jit_enable", NULL, -1);

	if (on < 0)
		return answer(errno ? -errno : -ENOENT);
	return (struct feature){ .state = on ? FEATURE_YES : FEATURE_NO };
}

static struct feature try_btf(void)
{
	return answer(access("/sys/kernel/btf/vmlinux", R_OK) ? -errno : 0);
}

/* ---- as kernel.c asks --------------------------------------------------------- */

bool features__has_uprobe_multi(void)
{
	const uint64_t offset = 0;
	struct link_create_multi attr = {
		.attach_type = KERNEL_UPROBE_MULTI,
		.path = (uint64_t)(uintptr_t) "/",
		.offsets = (uint64_t)(uintptr_t)&offset,
		.cnt = 1,
	};
	int prog = features__load_trivial(KERNEL_UPROBE_MULTI), link, err;

	if (prog < 0)
		return false;
	attr.prog_fd = (uint32_t)prog;
	link = (int)syscall(SYS_bpf, BPF_LINK_CREATE, &attr, sizeof(attr));
	err = errno;
	close(prog);
	if (link >= 0) {
		close(link);
		return true;
	}
	return err == EBADF;
}

bool features__has_uprobe_perf(void)
{
	return !access(UPROBE_PMU "/type", R_OK);
}

void features__lockdown(char *buf, size_t n)
{
	FILE *f = fopen("/sys/kernel/security/lockdown", "re");
	char line[128], *start, *end;

	buf[0] = '\0';
	if (!f)
		return;
	if (fgets(line, sizeof(line), f)) {
		start = strchr(line, '[');
		end = start ? strchr(start, ']') : NULL;
		if (end) {
			*end = '\0';
			if (strcmp(start + 1, "none") != 0)
				snprintf(buf, n, "%s", start + 1);
		}
	}
	fclose(f);
}

static enum features_ns namespace_of(const char *link, const char *host)
{
	char ns[64];
	ssize_t n = readlink(link, ns, sizeof(ns) - 1);

	if (n < 0)
		return FEATURES_NS_UNKNOWN;
	ns[n] = '\0';
	return strcmp(ns, host) ? FEATURES_NS_OWN : FEATURES_NS_HOST;
}

enum features_ns features__pid_namespace(void)
{
	return namespace_of("/proc/self/ns/pid", INIT_PID_NS);
}

/* ---- all of it ------------------------------------------------------------------ */

static void try_probes(struct features *f)
{
	const struct feature *multi = &f->of[FEATURE_MULTI], *perf = &f->of[FEATURE_PERF];
	bool lives;
	int type;

	f->of[FEATURE_MULTI] = try_probe(KERNEL_UPROBE_MULTI, false);
	f->of[FEATURE_PERF] = try_probe(0, false);
	f->of[FEATURE_SESSION] = try_probe(KERNEL_UPROBE_SESSION, false);
	if (multi->state != FEATURE_YES && perf->state != FEATURE_YES)
		return;
	type = multi->state == FEATURE_YES ? KERNEL_UPROBE_MULTI : 0;
	f->of[FEATURE_RETURN] = try_probe(type, true);
	f->of[FEATURE_COOKIE] = try_cookie(type);
	f->of[FEATURE_SIGNAL] = try_signal(type);
	if (f->of[FEATURE_RETURN].state != FEATURE_YES || try_sealed(type, &lives))
		return;
	f->seccomp_by_probe = true;
	if (!lives)
		f->seccomp = SECCOMP_KERNEL_FILTERS;
	else if (f->seccomp != SECCOMP_KERNEL_NO_CALL)
		f->seccomp = SECCOMP_KERNEL_PASSES;
}

void features__try(struct features *f)
{
	memset(f, 0, sizeof(*f));
	libbpf_set_print(NULL);
	f->pid_ns = features__pid_namespace();
	f->user_ns = namespace_of("/proc/self/ns/user", INIT_USER_NS);
	features__lockdown(f->lockdown, sizeof(f->lockdown));
	f->perf_event_paranoid =
		read_long("/proc/sys/kernel/perf_event_paranoid", NULL, FEATURES_UNSET);
	f->unprivileged_bpf_disabled =
		read_long("/proc/sys/kernel/unprivileged_bpf_disabled", NULL, FEATURES_UNSET);
	f->of[FEATURE_BTF] = try_btf();
	f->of[FEATURE_JIT] = try_jit();
	f->of[FEATURE_TRACEPOINTS] = try_tracepoints();
	f->seccomp = seccomp__try_call();
	f->of[FEATURE_BPF] = try_bpf();
	if (f->of[FEATURE_BPF].state != FEATURE_YES)
		return;
	f->of[FEATURE_RINGBUF] = try_ring_buffer();
	f->of[FEATURE_MEMCG] = try_memcg();
	f->of[FEATURE_TASK_VMA] = try_task_vma();
	try_probes(f);
}

/* ---- names ------------------------------------------------------------------------ */

static const struct {
	const char *key, *words;
} feature_names[FEATURE_MAX] = {
#define FEATURE_NAME(id, key, words) { key, words },
	FEATURES(FEATURE_NAME)
};

const char *feature__key(enum feature_id id)
{
	return feature_names[id].key;
}

const char *feature__words(enum feature_id id)
{
	return feature_names[id].words;
}

const char *feature_state__name(enum feature_state state)
{
	static const char *const names[] = {
		[FEATURE_NOT_TRIED] = "not-tried",
		[FEATURE_NO] = "no",
		[FEATURE_DENIED] = "denied",
		[FEATURE_YES] = "yes",
	};

	return names[state];
}
