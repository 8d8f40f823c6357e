/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Loading the BPF object, and attaching it to what processes do. */
#define _GNU_SOURCE
#include "load.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "records.h"
#include "aclguard.skel.h"

#include "dumps.h"
#include "enforcer.h"
#include "exits.h"
#include "kernel.h"
#include "options.h"
#include "tracefs.h"

#define LIFE_RING_SPARSE (2U << 20) /* bytes */

static char libbpf_last[512]; /* what libbpf last complained of, for one message of ours */
static bool libbpf_verbose;

__attribute__((format(printf, 2, 0))) static int libbpf_print(enum libbpf_print_level level,
							      const char *fmt, va_list args)
{
	if (level == LIBBPF_DEBUG)
		return 0;
	if (libbpf_verbose)
		return vfprintf(stderr, fmt, args);
	return vsnprintf(libbpf_last, sizeof(libbpf_last), fmt, args);
}

/* Where the tracepoints keep their fields; without tracefs children are lost. */
static void find_tracepoints(struct acl_cfg *cfg, int *fork_id, int *exit_id)
{
	int dir = tracefs__open(), offset;

	*fork_id = *exit_id = -1;
	if (dir < 0) {
		if (!cfg->task_pid)
			say("cannot read tracefs (%s), and the kernel has no BTF: processes that the "
			    "program starts are not followed",
			    strerror(-dir));
		return;
	}
	*fork_id = tracefs__id(dir, "sched/sched_process_fork");
	*exit_id = tracefs__id(dir, "sched/sched_process_exit");
	offset = tracefs__field(dir, "sched/sched_process_fork", "child_pid");
	cfg->fork_child = offset > 0 ? (uint16_t)offset : 0;
	offset = tracefs__field(dir, "sched/sched_process_exit", "group_dead");
	cfg->exit_group_dead = offset > 0 ? (uint16_t)offset : 0;
	close(dir);
}

/* Where a task keeps its number; 0 where there is no BTF. */
static uint32_t find_task_pid(void)
{
	struct btf *btf = btf__load_vmlinux_btf();
	const struct btf_type *type;
	uint32_t offset = 0;
	int id;

	if (!btf)
		return 0;
	id = btf__find_by_name_kind(btf, "task_struct", BTF_KIND_STRUCT);
	type = id > 0 ? btf__type_by_id(btf, (uint32_t)id) : NULL;
	for (uint16_t i = 0; type && i < btf_vlen(type); i++) {
		const char *name = btf__name_by_offset(btf, btf_members(type)[i].name_off);

		if (name && !strcmp(name, "pid"))
			offset = btf_member_bit_offset(type, i) / 8;
	}
	btf__free(btf);
	return offset;
}

static void choose_programs(struct load *ld, const struct kernel *k)
{
	struct bpf_program *prog;

	bpf_object__for_each_program(prog, ld->skel->obj)
	{
		const char *section = bpf_program__section_name(prog);

		if (strncmp(section, "uprobe", 6) != 0 && strncmp(section, "uretprobe", 9) != 0)
			continue;
		bpf_program__set_autoattach(prog, false);
		/* what a tail call joins has to be of one kind */
		if (k->uprobe_multi)
			bpf_program__set_expected_attach_type(
				prog, (enum bpf_attach_type)KERNEL_UPROBE_MULTI);
	}
	if (!k->uprobe_multi)
		bpf_program__set_autoload(ld->skel->progs.multi_entry, false);
	bpf_program__set_autoload(ld->skel->progs.deferred_entry,
				  k->uprobe_multi && k->seccomp_risk);
}

/*
 * Entries of these are few on most machines and many on some.  Since Linux 6.1 tables
 * that take their memory as they fill may be used by probes; what has uprobe_multi, of
 * 6.6, has that, too.  An older kernel would not refuse it, but complain in its log.
 */
static void make_sparse(struct load *ld)
{
	const struct {
		struct bpf_map *map;
		uint32_t entries;
	} sparse[] = {
		{ ld->skel->maps.procs, ACL_CAP_PROCS_SPARSE },
		{ ld->skel->maps.threads, ACL_CAP_THREADS_SPARSE },
		{ ld->skel->maps.devs, ACL_CAP_DEVS_SPARSE },
		{ ld->skel->maps.targets, ACL_CAP_TARGETS_SPARSE },
		{ ld->skel->maps.streams, ACL_CAP_STREAMS_SPARSE },
		{ ld->skel->maps.names, ACL_CAP_NAMES_SPARSE },
		{ ld->skel->maps.ctxs, ACL_CAP_CTXS_SPARSE },
	};

	for (size_t i = 0; i < sizeof(sparse) / sizeof(sparse[0]); i++) {
		struct bpf_map *map = sparse[i].map;

		bpf_map__set_map_flags(map, bpf_map__map_flags(map) | BPF_F_NO_PREALLOC);
		bpf_map__set_max_entries(map, sparse[i].entries);
	}
	/* they may all start or end at a time */
	bpf_map__set_max_entries(ld->skel->maps.life, LIFE_RING_SPARSE);
}

static int fill_entries(struct load *ld)
{
	int fd, err = 0;
	uint32_t key;

#define ENTRY_OF(name, role, args)                                                       \
	key = ACL_C_##name;                                                              \
	fd = bpf_program__fd(ld->skel->progs.e_##name);                                  \
	if (!err && bpf_map__update_elem(ld->skel->maps.entries, &key, sizeof(key), &fd, \
					 sizeof(fd), BPF_ANY))                           \
		err = -errno;
	ACL_CALLS(ENTRY_OF)
	return err;
}

static struct bpf_link *attach_tracepoint(struct bpf_program *prog, int id)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_TRACEPOINT,
		.size = sizeof(attr),
		.config = (uint64_t)id,
	};
	int fd;

	if (id < 0)
		return NULL;
	fd = (int)syscall(SYS_perf_event_open, &attr, -1, 0, -1, PERF_FLAG_FD_CLOEXEC);
	if (fd < 0)
		return NULL;
	return bpf_program__attach_perf_event(prog, fd); /* owns fd from now on */
}

static int attach_processes(struct load *ld, int fork_id, int exit_id)
{
	ld->links[0] = bpf_program__attach(ld->skel->progs.on_exec);
	if (!ld->links[0])
		return kernel__explain("follow processes", errno);
	ld->links[1] = ld->skel->rodata->cfg.task_pid
			       ? bpf_program__attach(ld->skel->progs.on_fork_raw)
			       : attach_tracepoint(ld->skel->progs.on_fork, fork_id);
	if (!ld->links[1] && fork_id >= 0)
		say("cannot follow processes that the program starts: %s", strerror(errno));
	ld->links[2] = attach_tracepoint(ld->skel->progs.on_exit, exit_id);
	return 0;
}

/* Loading fails for reasons that the trial of kernel__probe() cannot show. */
static int explain(int err)
{
	if (libbpf_last[0])
		say("%s", libbpf_last);
	if (err == EACCES || err == EINVAL || err == E2BIG)
		return refuse(
			ACL_EXIT_KERNEL,
			"this kernel does not accept aclguard's BPF programs (%s).\n"
			"aclguard needs Linux 5.10 or later; if this is one, please report what "
			"it says with -v.",
			strerror(err));
	return kernel__explain("load aclguard's BPF programs", err);
}

static void configure_stacks(struct load *ld, const struct options *opts)
{
	struct acl_cfg *cfg = &ld->skel->rodata->cfg;

	cfg->stacks = opts->stacks;
	cfg->frames = (uint8_t)opts->stack_depth;
	cfg->history = opts->history_stacks;
	if (cfg->history)
		bpf_map__set_max_entries(ld->skel->maps.stacks, ACL_CAP_STACKS);
	if (!opts->dwarf)
		return;
	cfg->pieces = dumps__pieces(opts->stack_bytes);
	bpf_map__set_max_entries(ld->skel->maps.dumps, dumps__ring(opts->stack_bytes));
}

static void configure(struct load *ld, const struct options *opts, uint32_t suppressible,
		      int *fork_id, int *exit_id)
{
	struct acl_cfg *cfg = &ld->skel->rodata->cfg;

	cfg->window = opts->window;
	cfg->rules = opts->rules;
	cfg->strict = opts->strict;
	cfg->follow = 1;
	cfg->all = opts->all;
	if (cfg->all)
		bpf_map__set_max_entries(ld->skel->maps.targets, ACL_CAP_TARGETS_ALL);
	cfg->record = opts->recording != NULL;
	if (cfg->record)
		bpf_map__set_max_entries(ld->skel->maps.trace, opts->trace_ring);
	configure_stacks(ld, opts);
	cfg->loader_signal = SIGSTOP;
	cfg->self = (uint32_t)getpid();
	cfg->task_pid = find_task_pid();
	find_tracepoints(cfg, fork_id, exit_id);
	enforcer__configure(ld->skel, opts, suppressible);
	ld->skel->data->complete_since = 0; /* each process says for itself */
}

int load__open(const struct options *opts, uint32_t suppressible, const struct kernel *k,
	       struct load *ld)
{
	int fork_id, exit_id, err;

	libbpf_verbose = opts->verbose;
	libbpf_set_print(libbpf_print);
	ld->skel = aclguard_bpf__open();
	if (!ld->skel)
		return refuse(ACL_EXIT_FAILED, "cannot open the BPF object: %s", strerror(errno));
	configure(ld, opts, suppressible, &fork_id, &exit_id);
	choose_programs(ld, k);
	if (k->uprobe_multi)
		make_sparse(ld);
	err = aclguard_bpf__load(ld->skel);
	if (err)
		return explain(-err);
	err = k->uprobe_multi ? fill_entries(ld) : 0;
	if (err)
		return kernel__explain("link aclguard's BPF programs", -err);
	return attach_processes(ld, fork_id, exit_id);
}

void load__close(struct load *ld)
{
	for (size_t i = 0; i < sizeof(ld->links) / sizeof(ld->links[0]); i++)
		bpf_link__destroy(ld->links[i]);
	aclguard_bpf__destroy(ld->skel);
}
