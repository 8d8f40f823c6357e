/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * What src/counters.h reads, as one line of JSON.
 *
 *	counters PID	of an aclguard that runs, by the maps that it has open
 *	counters	of programs of our own, while a process is started
 */
#define _GNU_SOURCE
#include "counters.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "aclguard.skel.h"

#define TRY(call)                                                               \
	do {                                                                    \
		int try_err = (call);                                           \
		if (try_err < 0) {                                              \
			fprintf(stderr, "%s: %s\n", #call, strerror(-try_err)); \
			exit(1);                                                \
		}                                                               \
	} while (0)

/* The object's map of that name becomes the other aclguard's. */
static void take_map(struct aclguard_bpf *skel, uint32_t id)
{
	struct bpf_map_info info = { 0 };
	uint32_t size = sizeof(info);
	struct bpf_map *map;
	int fd = bpf_map_get_fd_by_id(id);

	if (fd < 0 || bpf_map_get_info_by_fd(fd, &info, &size))
		return;
	bpf_object__for_each_map(map, skel->obj) if (!strcmp(bpf_map__name(map), info.name))
		TRY(bpf_map__reuse_fd(map, fd));
	close(fd);
}

static void take_maps(struct aclguard_bpf *skel, const char *pid)
{
	char path[300], line[128];
	struct dirent *entry;
	uint32_t id;
	DIR *dir;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%s/fdinfo", pid);
	dir = opendir(path);
	if (!dir)
		TRY(-ENOENT);
	while ((entry = readdir(dir))) {
		snprintf(path, sizeof(path), "/proc/%s/fdinfo/%.20s", pid, entry->d_name);
		f = fopen(path, "re");
		while (f && fgets(line, sizeof(line), f))
			if (sscanf(line, "map_id: %" SCNu32, &id) == 1)
				take_map(skel, id);
		if (f)
			fclose(f);
	}
	closedir(dir);
}

/* ---- printing ------------------------------------------------------------ */

static void print_verdicts(const char *key, const struct acl_verdicts v[ACL_VERDICTS_MAX])
{
	const char *sep = "";

	printf("\"%s\": [", key);
	for (int i = 0; i < ACL_VERDICTS_MAX; i++) {
		if (!v[i].made && !v[i].refused)
			continue;
		printf("%s[%d, %d, %d, %" PRIu64 ", %" PRIu64 "]", sep,
		       i / ACL_EV_MAX / ACL_LEVEL_MAX, i / ACL_EV_MAX % ACL_LEVEL_MAX,
		       i % ACL_EV_MAX, (uint64_t)v[i].made, (uint64_t)v[i].refused);
		sep = ", ";
	}
	printf("], ");
}

static void print_error(void *arg, unsigned int call, int32_t ret, uint64_t count)
{
	(void)arg;
	printf("[%u, %d, %" PRIu64 "], ", call, ret, count);
}

static void print_table(void *arg, const struct counters_table *t)
{
	(void)arg;
	printf("\"%s\": [%" PRIu64 ", %" PRIu64 "], ", t->name, t->entries, t->capacity);
}

static void print_proc(void *arg, const struct acl_proc *p)
{
	static struct acl_verdicts of[ACL_VERDICTS_MAX];

	TRY(counters__verdicts_of(arg, p->inc, of));
	printf("\"%u\": {", p->tgid);
	print_verdicts("kinds", of);
	printf("\"verdicts\": %" PRIu64 ", \"events\": %" PRIu64 "}, ", (uint64_t)p->verdicts,
	       (uint64_t)p->events_made);
}

static int nothing(void *arg, void *data, size_t size)
{
	(void)arg, (void)data, (void)size;
	return 0;
}

static void print_ring(const struct bpf_map *map)
{
	struct ring_buffer *rb = ring_buffer__new(bpf_map__fd(map), nothing, NULL, NULL);

	if (!rb)
		TRY(-errno);
	printf("\"%s\": [%" PRIu64 ", %" PRIu64 "]", bpf_map__name(map), counters__ring_used(rb),
	       counters__ring_size(rb));
	ring_buffer__free(rb);
}

static void print_counters(struct aclguard_bpf *skel)
{
	static struct acl_verdicts verdicts[ACL_VERDICTS_MAX];
	static struct acl_calls calls[ACL_C_MAX];
	static uint64_t losses[ACL_L_MAX];

	TRY(counters__calls(skel, calls));
	TRY(counters__losses(skel, losses));
	TRY(counters__verdicts(skel, verdicts));
	printf("{");
	print_verdicts("verdicts", verdicts);
	printf("\"frees\": %" PRIu64 ", \"otherwise\": %" PRIu64 ", \"ring_full\": %" PRIu64
	       ", \"errors\": [",
	       (uint64_t)calls[ACL_C_aclrtFreeHost].entered,
	       (uint64_t)calls[ACL_C_aclrtFreeHost].failed_otherwise, losses[ACL_L_RING_FULL]);
	TRY(counters__each_error(skel, print_error, NULL));
	printf("null], \"procs\": {");
	TRY(counters__each_proc(skel, print_proc, skel));
	printf("\"\": null}, \"tables\": {");
	TRY(counters__each_table(skel, print_table, NULL));
	printf("\"\": null}, \"rings\": {");
	print_ring(skel->maps.violations);
	printf(", ");
	print_ring(skel->maps.life);
	printf("}}\n");
}

/* ---- programs ------------------------------------------------------------ */

static void print_program(void *arg, const struct counters_program *p)
{
	(void)arg;
	printf("\"%s\": [%" PRIu64 ", %" PRIu64 ", %" PRIu64 "], ", p->name, p->runs, p->run_ns,
	       p->missed);
}

static void start_a_process(void)
{
	pid_t pid = fork();

	if (!pid) {
		execlp("true", "true", NULL);
		_exit(127);
	}
	if (pid < 0 || waitpid(pid, NULL, 0) != pid)
		TRY(-ECHILD);
}

/* One that runs, and one that does not. */
static void print_programs(struct aclguard_bpf *skel)
{
	struct bpf_program *prog;
	struct bpf_link *link;
	int fd;

	bpf_object__for_each_program(prog, skel->obj) bpf_program__set_autoload(
		prog, prog == skel->progs.on_exec || prog == skel->progs.e_aclrtFreeHost);
	TRY(aclguard_bpf__load(skel));
	link = bpf_program__attach(skel->progs.on_exec);
	if (!link)
		TRY(-errno);
	fd = counters__measure_runs();
	TRY(fd);
	start_a_process();
	close(fd);
	printf("{");
	TRY(counters__each_program(skel, print_program, NULL));
	printf("\"\": null}\n");
	bpf_link__destroy(link);
}

int main(int argc, char **argv)
{
	struct aclguard_bpf *skel = aclguard_bpf__open();

	if (!skel)
		TRY(-errno);
	if (argc > 1) {
		take_maps(skel, argv[1]);
		print_counters(skel);
	} else {
		print_programs(skel);
	}
	aclguard_bpf__destroy(skel);
	return 0;
}
