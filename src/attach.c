/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Links of uprobes, by libbpf. */
#define _GNU_SOURCE
#include "attach.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "records.h" /* for the skeleton */
#include "aclguard.skel.h"
#include "calls.h"
#include "elffile.h"

#define DETACH_THREADS 32

static struct bpf_program *entry_program(struct aclguard_bpf *skel, int call)
{
	switch (call) {
#define CALL_PROGRAM(name, role, args) \
	case ACL_C_##name:             \
		return skel->progs.e_##name;
		ACL_CALLS(CALL_PROGRAM)
	default:
		return NULL;
	}
}

bool attach__is_usable(const struct elffile_func *f)
{
	return f->found && !f->ifunc;
}

/* ---- putting them in ---------------------------------------------------- */

static int keep(struct attached *a, struct bpf_link *link)
{
	struct bpf_link **links;

	if (!link)
		return -errno;
	links = reallocarray(a->links, a->n + 1, sizeof(struct bpf_link *));
	if (!links) {
		bpf_link__destroy(link);
		return -ENOMEM;
	}
	a->links = links;
	links[a->n++] = link;
	return 0;
}

static int attach_multi(struct attached *a, struct bpf_program *prog, pid_t pid, const char *path,
			const unsigned long *offsets, const __u64 *cookies, size_t n,
			bool is_return)
{
	LIBBPF_OPTS(bpf_uprobe_multi_opts, opts, .offsets = offsets, .cookies = cookies, .cnt = n,
		    .retprobe = is_return);

	return keep(a, bpf_program__attach_uprobe_multi(prog, pid, path, NULL, &opts));
}

static int attach_one(struct attached *a, struct bpf_program *prog, pid_t pid, const char *path,
		      uint64_t offset, bool is_return)
{
	LIBBPF_OPTS(bpf_uprobe_opts, opts, .retprobe = is_return);

	return keep(a, bpf_program__attach_uprobe_opts(prog, pid, path, offset, &opts));
}

/* Returns first: a return whose entry was not seen does no harm. */
static int runtime_multi(struct aclguard_bpf *skel, bool returns, pid_t pid, const char *path,
			 const struct elffile_func *f, struct attached *a)
{
	unsigned long places[ACL_C_MAX];
	__u64 cookies[ACL_C_MAX];
	size_t n = 0;
	int err;

	for (int i = 0; i < ACL_C_MAX; i++) {
		if (!attach__is_usable(&f[i]))
			continue;
		cookies[n] = (__u64)i;
		places[n++] = f[i].offset;
	}
	if (!returns)
		return attach_multi(a, skel->progs.deferred_entry, pid, path, places, cookies, n,
				    false);
	err = attach_multi(a, skel->progs.call_return, pid, path, places, NULL, n, true);
	return err ? err
		   : attach_multi(a, skel->progs.multi_entry, pid, path, places, cookies, n, false);
}

static int runtime_singly(struct aclguard_bpf *skel, pid_t pid, const char *path,
			  const struct elffile_func *f, struct attached *a)
{
	int err = 0;

	for (int i = 0; !err && i < ACL_C_MAX; i++) {
		if (!attach__is_usable(&f[i]))
			continue;
		err = attach_one(a, skel->progs.call_return, pid, path, f[i].offset, true);
		if (!err)
			err = attach_one(a, entry_program(skel, i), pid, path, f[i].offset, false);
	}
	return err;
}

int attach__runtime(struct aclguard_bpf *skel, enum attach_how how, pid_t pid, const char *path,
		    const struct elffile_func *f, struct attached *out)
{
	struct attached a = { .n = 0 };
	int err = how == ATTACH_SINGLY ? runtime_singly(skel, pid, path, f, &a)
				       : runtime_multi(skel, how == ATTACH_MULTI, pid, path, f, &a);

	if (err) /* half of the calls would tell half of the story */
		attach__detach(&a);
	else
		*out = a;
	return err;
}

int attach__loader(struct aclguard_bpf *skel, enum attach_how how, const char *path,
		   uint64_t offset, struct attached *out)
{
	const unsigned long at = offset;
	struct attached a = { .n = 0 };
	int err = how != ATTACH_SINGLY
			  ? attach_multi(&a, skel->progs.loader, -1, path, &at, NULL, 1, false)
			  : attach_one(&a, skel->progs.loader, -1, path, offset, false);

	if (!err)
		*out = a;
	return err;
}

int attach__join(struct attached *to, struct attached *from)
{
	struct bpf_link **links;

	if (!from->n)
		return 0;
	links = reallocarray(to->links, to->n + from->n, sizeof(struct bpf_link *));
	if (!links)
		return -ENOMEM;
	for (size_t i = 0; i < from->n; i++)
		links[to->n + i] = from->links[i];
	to->links = links;
	to->n += from->n;
	free(from->links);
	*from = (struct attached){ .n = 0 };
	return 0;
}

const char *attach__name(enum attach_how how)
{
	switch (how) {
	case ATTACH_SINGLY:
		return "perf_event";
	case ATTACH_MULTI:
		return "uprobe_multi";
	case ATTACH_ENTRIES:
		return "uprobe_multi, entries only";
	}
	return "?";
}

/* ---- taking them out ---------------------------------------------------- */

struct detach {
	struct attached *a;
	size_t next; /* atomically */
};

static void *detach_some(void *arg)
{
	struct detach *d = arg;
	size_t i;

	while ((i = __atomic_fetch_add(&d->next, 1, __ATOMIC_RELAXED)) < d->a->n)
		bpf_link__destroy(d->a->links[i]);
	return NULL;
}

void attach__detach(struct attached *a)
{
	struct detach d = { .a = a };
	pthread_t threads[DETACH_THREADS];
	size_t n = 0;

	while (n < DETACH_THREADS && n + 1 < a->n)
		if (pthread_create(&threads[n], NULL, detach_some, &d))
			break;
		else
			n++;
	detach_some(&d);
	while (n)
		pthread_join(threads[--n], NULL);
	free(a->links);
	*a = (struct attached){ .n = 0 };
}
