/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Whether a process can be watched, and what would not be seen of it.  All of
 * it is read from /proc and from the files that the process has mapped;
 * nothing in it changes, and what it chose is escaped before it is shown.
 */
#define _GNU_SOURCE
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/capability.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "doctor.h"
#include "elffile.h"
#include "escape.h"
#include "json.h"
#include "names.h"

#define SHOWN_MAX 512 /* of a path, in a line of text */
#define LISTED_MAX 8  /* names in a line of text; all of them are in the JSON */

/* ---- what /proc says --------------------------------------------------------- */

static void proc_path(char *buf, size_t n, pid_t pid, const char *name)
{
	snprintf(buf, n, "/proc/%d/%s", pid, name);
}

static char *read_link(const char *path)
{
	char target[PATH_MAX + 1];
	ssize_t n = readlink(path, target, sizeof(target) - 1);

	if (n < 0)
		return NULL;
	target[n] = '\0';
	return strdup(target);
}

static void read_mount_ns(struct patient *p)
{
	char path[64], *ours = read_link("/proc/self/ns/mnt"), *theirs;

	proc_path(path, sizeof(path), p->pid, "ns/mnt");
	theirs = read_link(path);
	if (ours && theirs)
		p->mount_ns = strcmp(ours, theirs) ? FEATURES_NS_OWN : FEATURES_NS_HOST;
	free(ours);
	free(theirs);
}

static void read_go(struct patient *p, int fd)
{
	struct elffile *ef;

	if (elffile__open_fd(fd, &ef))
		return;
	p->go = elffile__has_section(ef, ".go.buildinfo") == 1 ||
		elffile__has_section(ef, ".gopclntab") == 1;
	elffile__close(ef);
}

/* The program itself: word size, loader, language. */
static void read_program(struct patient *p)
{
	char path[64], interp[PATH_MAX];
	uint8_t ident[EI_NIDENT];
	int fd;

	proc_path(path, sizeof(path), p->pid, "exe");
	p->program = read_link(path);
	fd = elffile__open_regular(AT_FDCWD, path);
	if (fd < 0)
		return;
	if (pread(fd, ident, sizeof(ident), 0) == sizeof(ident) && !memcmp(ident, ELFMAG, SELFMAG))
		p->bits = ident[EI_CLASS] == ELFCLASS32 ? 32 : 64;
	read_go(p, fd);
	close(fd);
	p->statically_linked = p->bits == 64 && !p->modules.loader &&
			       elffile__interp(path, interp, sizeof(interp)) == -ENOENT;
}

static void count_definitions(struct patient *p)
{
	for (int i = 0; i < ACL_C_MAX; i++) {
		unsigned int n = 0;

		for (size_t k = 0; k < p->modules.count; k++)
			n += p->modules.list[k].runtime && p->modules.list[k].defines[i];
		p->defined[i] = n > 0;
		p->twice += n > 1;
	}
}

/* ---- in words ------------------------------------------------------------------ */

static const char *shown(char *buf, size_t n, const char *raw)
{
	escape__str(buf, n, raw);
	return buf;
}

static void bad(struct patient *p, const char *topic, const char *text, const char *advice)
{
	findings__add(&p->findings, FINDING_BAD, topic, "%s", text);
	if (advice)
		findings__advise(&p->findings, "%s", advice);
}

/* Names of what is set, a few of them: "a, b and 7 more". */
static const char *list_names(char *buf, size_t n, const bool *set, size_t max, bool want,
			      const char *(*name)(unsigned int))
{
	size_t len = 0, found = 0;

	buf[0] = '\0';
	for (size_t i = 0; i < max; i++) {
		if (set[i] != want || found++ >= LISTED_MAX || len >= n)
			continue;
		len += (size_t)snprintf(buf + len, n - len, "%s%s", len ? ", " : "",
					name((unsigned int)i));
	}
	if (found > LISTED_MAX && len < n)
		snprintf(buf + len, n - len, " and %zu more", found - LISTED_MAX);
	return buf;
}

static const char *lower_name(unsigned int call)
{
	return lower_call__name((enum lower_call)call);
}

static void say_who(struct patient *p)
{
	char program[SHOWN_MAX], comm[4 * PROCINFO_COMM_MAX];
	size_t n = p->status.n_ns_pids;

	findings__add(&p->findings, FINDING_FACT, "program", "%s (%s)",
		      shown(comm, sizeof(comm), p->who ? p->who->comm : "?"),
		      p->program ? shown(program, sizeof(program), p->program) : "?");
	if (p->who && p->who->container[0])
		findings__add(&p->findings, FINDING_FACT, "container", "%s", p->who->container);
	if (n > 1)
		findings__add(&p->findings, FINDING_FACT, "pid namespace",
			      "pid %d in its own one, %zu deep; give aclguard the host's, %d",
			      (int)p->status.ns_pids[n - 1], n - 1, (int)p->pid);
	if (p->mount_ns == FEATURES_NS_OWN)
		findings__add(&p->findings, FINDING_OK, "mounts",
			      "it has a mount namespace of its own: its libraries are opened as it "
			      "has them");
}

static const char *prologue_text(char *buf, size_t n, const struct module *m)
{
	static const char *const words[PROLOGUE_MAX] = {
#define PROLOGUE_WORDS(id, key, text) text,
		PROLOGUES(PROLOGUE_WORDS)
	};
	size_t len = 0;

	buf[0] = '\0';
	for (int i = 0; i < PROLOGUE_MAX; i++)
		if (m->prologues[i] && len < n)
			len += (size_t)snprintf(buf + len, n - len, "%s%u begin with what is %s",
						len ? "; " : "", m->prologues[i], words[i]);
	return buf;
}

static void say_library(struct patient *p, const struct module *m)
{
	char path[SHOWN_MAX], prologues[512];

	shown(path, sizeof(path), m->path);
	findings__add(&p->findings, FINDING_OK, "library",
		      "%s%s: defines %u of the %d calls%s%.16s", path,
		      m->deleted ? " (deleted)" : "", m->calls, ACL_C_MAX,
		      m->build_id[0] ? ", build id " : "", m->build_id);
	findings__add(&p->findings, FINDING_FACT, "entries", "%s",
		      prologue_text(prologues, sizeof(prologues), m));
	if (m->by_name)
		findings__add(&p->findings, FINDING_FACT, "library",
			      "it was opened by its name: not surely the file that is mapped");
	if (m->others)
		findings__add(&p->findings, FINDING_LIMIT, "library",
			      "%u calls have further definitions in it (symbol versions), of which "
			      "only the first is probed",
			      m->others);
}

/* Named like the runtime, and not the runtime, or not to be read. */
static void say_odd_library(struct patient *p, const struct module *m, bool others)
{
	enum finding_level level = others ? FINDING_FACT : FINDING_BAD;
	char path[SHOWN_MAX];

	shown(path, sizeof(path), m->path);
	if (m->err && m->by_name) {
		findings__add(&p->findings, FINDING_BAD, "library", "%s cannot be read: %s", path,
			      strerror(-m->err));
		findings__advise(&p->findings, "run it as root, or with CAP_SYS_PTRACE, "
					       "CAP_CHECKPOINT_RESTORE and CAP_DAC_READ_SEARCH");
	} else if (m->err) {
		findings__add(&p->findings, level, "library", "%s: no library that can be read: %s",
			      path, strerror(-m->err));
	} else if (m->stub) {
		findings__add(&p->findings, level, "library",
			      "%s is a link-time stub: nothing is probed in it", path);
		findings__advise(&p->findings, "let LD_LIBRARY_PATH lead to the toolkit's lib64, "
					       "not to devlib or lib64/stub");
	} else {
		findings__add(&p->findings, level, "library",
			      "%s is named like the runtime, but defines none of its calls", path);
		if (!others)
			findings__advise(&p->findings, "perhaps it is a stub: look which library "
						       "the program ought to load");
	}
}

static void say_calls(struct patient *p)
{
	static const unsigned int vital[] = {
		ACL_C_aclrtMallocHost,	ACL_C_aclrtFreeHost,	     ACL_C_aclrtMemcpyAsync,
		ACL_C_aclrtRecordEvent, ACL_C_aclrtQueryEventStatus, ACL_C_aclrtDestroyEvent
	};
	unsigned int missing = 0, lacking = 0;
	char names[512];

	for (int i = 0; i < ACL_C_MAX; i++)
		missing += !p->defined[i];
	for (size_t i = 0; i < sizeof(vital) / sizeof(vital[0]); i++)
		lacking += !p->defined[vital[i]];
	list_names(names, sizeof(names), p->defined, ACL_C_MAX, false, acl_call__name);
	if (lacking)
		findings__add(
			&p->findings, FINDING_LIMIT, "calls",
			"%u are defined nowhere, some of which the rules cannot do without: %s",
			missing, names);
	else if (missing)
		findings__add(&p->findings, FINDING_OK, "calls",
			      "%u are defined nowhere, as in other versions of the runtime: %s",
			      missing, names);
	else
		findings__add(&p->findings, FINDING_OK, "calls", "all %d are there", ACL_C_MAX);
	if (p->twice)
		findings__add(&p->findings, FINDING_OK, "calls",
			      "%u are defined in more than one library: both are probed, and a "
			      "call that passes both counts once",
			      p->twice);
}

static void say_libraries(struct patient *p)
{
	bool runtime = modules__have_runtime(&p->modules), odd = false;

	for (size_t i = 0; i < p->modules.count; i++) {
		const struct module *m = &p->modules.list[i];

		if (m->runtime) {
			say_library(p, m);
		} else if (m->runtime_name) {
			say_odd_library(p, m, runtime);
			odd = true;
		}
	}
	if (runtime) {
		say_calls(p);
	} else if (!odd && !p->statically_linked) {
		findings__add(
			&p->findings, FINDING_LIMIT, "library",
			"it has not loaded the Ascend runtime (libascendcl.so, libacl_rt.so)%s",
			p->modules.loader ? ": `watch' waits for it" : "");
		if (!p->modules.loader)
			findings__advise(
				&p->findings,
				"its dynamic loader does not tell of what it loads: attach "
				"when the runtime is there");
	}
}

/* Who uses the layer below the runtime, past the runtime. */
static void say_lower_layer(struct patient *p)
{
	unsigned int own = 0, toolkit = 0;
	char path[SHOWN_MAX], names[512];

	for (size_t i = 0; i < p->modules.count; i++) {
		const struct module *m = &p->modules.list[i];

		if (!m->n_uses || module__is_runtime_part(m))
			continue;
		if (m->beside_runtime) {
			toolkit++;
			continue;
		}
		if (own++ >= LISTED_MAX)
			continue;
		findings__add(
			&p->findings, FINDING_LIMIT, "lower layer",
			"%s calls libruntime.so directly: %s", shown(path, sizeof(path), m->path),
			list_names(names, sizeof(names), m->uses, LOWER_MAX, true, lower_name));
	}
	if (own)
		findings__advise(&p->findings,
				 "such calls are not seen: what they allocate, copy, record and "
				 "wait for is not known, so that verdicts may be missing or wrong "
				 "for it");
	if (toolkit)
		findings__add(&p->findings, FINDING_FACT, "lower layer",
			      "%u libraries of the toolkit call libruntime.so directly, which is "
			      "not seen",
			      toolkit);
	if (!own && !toolkit && p->modules.lower)
		findings__add(&p->findings, FINDING_OK, "lower layer",
			      "libruntime.so is there, and no other file is linked against its "
			      "calls");
}

static void say_program(struct patient *p)
{
	if (p->bits == 32)
		bad(p, "program", "a 32-bit program: there is no Ascend runtime for it", NULL);
	if (p->statically_linked)
		bad(p, "program",
		    "it is linked statically: there is nothing that could be probed, or that would "
		    "load the runtime",
		    "link it dynamically");
	if (p->go) {
		findings__add(&p->findings, FINDING_LIMIT, "program",
			      "it is written in Go: return probes crash code whose stack is moved. "
			      "Calls through cgo run on stacks that stay, but try it first on one "
			      "that you can spare");
	}
}

static void say_seccomp(struct patient *p)
{
	const char *mode = seccomp_mode__name(p->seccomp);

	switch (p->risk) {
	case SECCOMP_RISK_KILL:
		findings__add(&p->findings, FINDING_LIMIT, "seccomp",
			      "it has a seccomp filter (mode: %s), and on this kernel a return "
			      "probe makes a system call that such a filter may answer by killing "
			      "it: only entries are probed, and what is said is suspected",
			      mode);
		findings__advise(&p->findings,
				 "update the kernel: the fix is \"seccomp: passthrough uretprobe "
				 "systemcall\", February 2025");
		break;
	case SECCOMP_RISK_UNKNOWN:
		findings__add(&p->findings, FINDING_LIMIT, "seccomp",
			      "mode: %s; whether return probes are dangerous for it could not be "
			      "found out",
			      mode);
		break;
	default:
		findings__add(&p->findings, FINDING_OK, "seccomp",
			      p->seccomp == SECCOMP_NONE ? "no filter"
							 : "mode: %s; no danger on this kernel",
			      mode);
		break;
	}
}

static void say_unreadable(struct patient *p)
{
	size_t n = p->modules.unreadable;

	if (p->modules.left_out)
		findings__add(&p->findings, FINDING_LIMIT, "files",
			      "%zu files with code were not looked at: there are too many",
			      p->modules.left_out);
	if (!n)
		return;
	findings__add(&p->findings, FINDING_LIMIT, "files",
		      "%zu of %zu files with code could not be read: what they define and call is "
		      "not known",
		      n, p->modules.count);
	if (geteuid())
		findings__advise(&p->findings, "run it as root");
}

/* ---- all of it -------------------------------------------------------------------- */

/* Whether there is a process to look at; says so if not. */
static bool is_process(struct patient *p)
{
	int err = procstatus__read(p->pid, &p->status);

	if (err == -ESRCH || p->status.state == 'X') {
		bad(p, "process", "there is no such process", NULL);
	} else if (err) {
		findings__add(&p->findings, FINDING_BAD, "process", "cannot look at it: %s",
			      strerror(-err));
	} else if (p->status.tgid != p->pid) {
		findings__add(&p->findings, FINDING_BAD, "process", "a thread of process %d",
			      (int)p->status.tgid);
		findings__advise(&p->findings, "give -p %d", (int)p->status.tgid);
	} else if (p->status.state == 'Z') {
		bad(p, "process", "it has ended already (a zombie)", NULL);
	} else {
		return true;
	}
	return false;
}

static bool read_modules(struct patient *p)
{
	int err = modules__read(p->pid, &p->modules);

	if (!err)
		return true;
	if (err == -ESRCH)
		bad(p, "process", "it is ending, or is a kernel thread", NULL);
	else if (err == -EACCES || err == -EPERM)
		bad(p, "process", "not allowed to look at what it has mapped",
		    machine__have_cap(CAP_SYS_PTRACE)
			    ? "the capability is there: a policy of this system forbids it"
			    : "run it as root, or with CAP_SYS_PTRACE");
	else
		findings__add(&p->findings, FINDING_BAD, "process",
			      "cannot read what it has mapped: %s", strerror(-err));
	return false;
}

void patient__examine(struct patient *p, pid_t pid, const struct machine *m, struct procs *names)
{
	*p = (struct patient){ .pid = pid, .seccomp = SECCOMP_UNKNOWN };
	if (!is_process(p))
		return;
	p->there = true;
	p->who = procs__get(names, pid);
	p->seccomp = procstatus__seccomp_of_threads(pid);
	if (p->seccomp == SECCOMP_UNKNOWN)
		p->seccomp = p->status.seccomp;
	p->risk = seccomp__risk(p->seccomp, m->features.seccomp);
	read_mount_ns(p);
	if (!read_modules(p)) {
		say_seccomp(p);
		return;
	}
	read_program(p);
	count_definitions(p);
	say_who(p);
	say_program(p);
	if (p->bits != 32) {
		say_libraries(p);
		say_lower_layer(p);
	}
	say_unreadable(p);
	say_seccomp(p);
}

void patient__free(struct patient *p)
{
	findings__free(&p->findings);
	modules__free(&p->modules);
	free(p->program);
}

/* ---- as JSON ---------------------------------------------------------------------- */

static void library_json(const struct module *m, struct json *j)
{
	static const char *const keys[PROLOGUE_MAX] = {
#define PROLOGUE_KEY(id, key, text) key,
		PROLOGUES(PROLOGUE_KEY)
	};

	json__begin_object(j, NULL);
	json__str(j, "path", m->path);
	json__str(j, "build_id", m->build_id[0] ? m->build_id : NULL);
	json__bool(j, "deleted", m->deleted);
	json__bool(j, "stub", m->stub);
	json__bool(j, "probed", m->runtime);
	json__str(j, "error", m->err ? strerror(-m->err) : NULL);
	json__u64(j, "calls", m->calls);
	json__begin_array(j, "missing");
	for (unsigned int i = 0; i < ACL_C_MAX; i++)
		if (!m->defines[i])
			json__str(j, NULL, acl_call__name(i));
	json__end_array(j);
	json__begin_object(j, "first_instructions");
	for (int i = 0; i < PROLOGUE_MAX; i++)
		json__u64(j, keys[i], m->prologues[i]);
	json__end_object(j);
	json__end_object(j);
}

static void caller_json(const struct module *m, struct json *j)
{
	json__begin_object(j, NULL);
	json__str(j, "path", m->path);
	json__bool(j, "of_toolkit", m->beside_runtime);
	json__begin_array(j, "calls");
	for (unsigned int i = 0; i < LOWER_MAX; i++)
		if (m->uses[i])
			json__str(j, NULL, lower_name(i));
	json__end_array(j);
	json__end_object(j);
}

static void modules_json(const struct modules *mods, struct json *j)
{
	json__u64(j, "files", mods->count);
	json__u64(j, "files_unreadable", mods->unreadable);
	json__u64(j, "files_left_out", mods->left_out);
	json__begin_array(j, "libraries");
	for (size_t i = 0; i < mods->count; i++)
		if (mods->list[i].runtime || mods->list[i].runtime_name)
			library_json(&mods->list[i], j);
	json__end_array(j);
	json__bool(j, "lower_layer_loaded", mods->lower);
	json__begin_array(j, "lower_layer_callers");
	for (size_t i = 0; i < mods->count; i++)
		if (mods->list[i].n_uses && !module__is_runtime_part(&mods->list[i]))
			caller_json(&mods->list[i], j);
	json__end_array(j);
}

static void seccomp_json(const struct patient *p, struct json *j)
{
	json__begin_object(j, "seccomp");
	json__str(j, "mode", seccomp_mode__name(p->seccomp));
	if (p->status.filters < 0)
		json__null(j, "filters");
	else
		json__s64(j, "filters", p->status.filters);
	if (p->status.no_new_privs < 0)
		json__null(j, "no_new_privs");
	else
		json__bool(j, "no_new_privs", p->status.no_new_privs);
	json__str(j, "risk", seccomp_risk__name(p->risk));
	json__end_object(j);
}

void patient__json(const struct patient *p, struct json *j)
{
	json__s64(j, "pid", p->pid);
	json__bool(j, "there", p->there);
	if (p->there) {
		json__str(j, "name", p->who ? p->who->comm : NULL);
		json__str(j, "program", p->program);
		json__str(j, "container",
			  p->who && p->who->container[0] ? p->who->container : NULL);
		json__begin_array(j, "namespace_pids");
		for (size_t i = 0; i < p->status.n_ns_pids; i++)
			json__s64(j, NULL, p->status.ns_pids[i]);
		json__end_array(j);
		json__str(j, "mount_namespace",
			  p->mount_ns == FEATURES_NS_OWN    ? "other"
			  : p->mount_ns == FEATURES_NS_HOST ? "ours"
							    : "unknown");
		json__s64(j, "bits", p->bits);
		json__bool(j, "static", p->statically_linked);
		json__bool(j, "go", p->go);
		seccomp_json(p, j);
		modules_json(&p->modules, j);
		json__u64(j, "calls_defined_twice", p->twice);
	}
	findings__json(&p->findings, j);
}
