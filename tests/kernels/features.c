/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Says which features the running kernel has, by trying each: a line of "NAME yes"
 * or "NAME no" a feature.  Needs no library.
 */
#define _GNU_SOURCE
#include <linux/bpf.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Newer than the headers that this is built with. */
#define UPROBE_MULTI 48
#define UPROBE_SESSION 57
#define GET_ATTACH_COOKIE 174

#define CALL(helper)                                        \
	{                                                   \
		.code = BPF_JMP | BPF_CALL, .imm = (helper) \
	}
#define RETURN_0                                 \
	{ .code = BPF_ALU64 | BPF_MOV | BPF_K }, \
	{                                        \
		.code = BPF_JMP | BPF_EXIT       \
	}

static int bpf(int command, void *attr, unsigned int size)
{
	return (int)syscall(SYS_bpf, command, attr, size);
}

static int load(int type, int attach_type, const struct bpf_insn *insns, unsigned int n, int btf_id)
{
	union bpf_attr attr = {
		.prog_type = (__u32)type,
		.expected_attach_type = (__u32)attach_type,
		.insns = (unsigned long)insns,
		.insn_cnt = n,
		.license = (unsigned long)"GPL",
		.attach_btf_id = (__u32)btf_id,
	};

	return bpf(BPF_PROG_LOAD, &attr, sizeof(attr));
}

static int has_ring_buffer(void)
{
	union bpf_attr attr = {
		.map_type = BPF_MAP_TYPE_RINGBUF,
		.max_entries = (__u32)getpagesize(),
	};

	return bpf(BPF_MAP_CREATE, &attr, sizeof(attr)) >= 0;
}

static int has_cookie(void)
{
	const struct bpf_insn insns[] = { CALL(GET_ATTACH_COOKIE), RETURN_0 };

	return load(BPF_PROG_TYPE_KPROBE, 0, insns, 3, 0) >= 0;
}

/* Where a function of ours is in the file: what is loaded begins at its start. */
static unsigned long offset_of(int (*function)(void))
{
	extern const char __ehdr_start[];

	return (unsigned long)function - (unsigned long)__ehdr_start;
}

/* A real link, on a function of this program. */
static int has_link(int attach_type)
{
	const struct bpf_insn insns[] = { RETURN_0 };
	unsigned long offset = offset_of(has_cookie);
	struct {
		__u32 prog, target, attach_type, flags;
		__u64 path, offsets, ref_ctr_offsets, cookies;
		__u32 count, multi_flags, pid, pad;
	} attr = {
		.attach_type = (__u32)attach_type,
		.path = (unsigned long)"/proc/self/exe",
		.offsets = (unsigned long)&offset,
		.count = 1,
	};
	int prog = load(BPF_PROG_TYPE_KPROBE, attach_type, insns, 2, 0);

	if (prog < 0)
		return 0;
	attr.prog = (__u32)prog;
	return bpf(BPF_LINK_CREATE, &attr, sizeof(attr)) >= 0;
}

/* ---- BTF ----------------------------------------------------------------- */

/* <linux/btf.h>, which not every machine has with all kinds. */
struct btf_head {
	__u16 magic;
	__u8 version, flags;
	__u32 head_len, types, types_len, strings, strings_len;
};

struct btf_one {
	__u32 name, info, size;
};

#define KIND_FUNC 12

/* What follows a type, by its kind: bytes once, and for each of its parts. */
static unsigned int btf_rest(__u32 info)
{
	static const unsigned char once[] = { [1] = 4, [3] = 12, [14] = 4, [17] = 4 };
	static const unsigned char each[] = {
		[4] = 12, [5] = 12, [6] = 8, [13] = 8, [15] = 12, [19] = 12
	};
	unsigned int kind = info >> 24 & 31;

	return (kind < sizeof(once) ? once[kind] : 0) +
	       (kind < sizeof(each) ? each[kind] * (info & 0xffff) : 0);
}

static int find_function(const char *btf, size_t len, const char *name)
{
	const struct btf_head *h = (const void *)btf;
	const char *types, *end, *strings;
	int id = 1;

	if (len < sizeof(*h) || h->magic != 0xeb9f)
		return -1;
	types = btf + h->head_len + h->types;
	end = types + h->types_len;
	strings = btf + h->head_len + h->strings;
	for (; types < end; id++) {
		const struct btf_one *one = (const void *)types;

		if ((one->info >> 24 & 31) == KIND_FUNC && !strcmp(strings + one->name, name))
			return id;
		types += sizeof(*one) + btf_rest(one->info);
	}
	return -1;
}

static const char btf_path[] = "/sys/kernel/btf/vmlinux";

static int has_btf(void)
{
	return !access(btf_path, R_OK);
}

static int has_task_vma(void)
{
	const struct bpf_insn insns[] = { RETURN_0 };
	static char btf[64 << 20];
	FILE *f = fopen(btf_path, "re");
	int id;

	if (!f)
		return 0;
	id = find_function(btf, fread(btf, 1, sizeof(btf), f), "bpf_iter_task_vma");
	fclose(f);
	return id > 0 && load(BPF_PROG_TYPE_TRACING, BPF_TRACE_ITER, insns, 2, id) >= 0;
}

static void say(const char *name, int yes)
{
	printf("%s %s\n", name, yes ? "yes" : "no");
}

/* What was opened goes with the process. */
int main(void)
{
	/* maps count against it below 5.11 */
	const struct rlimit all = { RLIM_INFINITY, RLIM_INFINITY };

	setrlimit(RLIMIT_MEMLOCK, &all);
	printf("page %d\n", getpagesize());
	say("ring", has_ring_buffer());
	say("cookie", has_cookie());
	say("multi", has_link(UPROBE_MULTI));
	say("session", has_link(UPROBE_SESSION));
	say("task_vma", has_task_vma());
	say("btf", has_btf());
	return 0;
}
