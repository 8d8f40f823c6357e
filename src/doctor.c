/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * aclguard doctor: can this machine, and this process, be watched, and what
 * would not be seen?  Attaches to nothing but a child of its own, changes
 * nothing, and goes as far as the rights reach.
 *
 * Exit status: 0 fit, 1 fit with limits, 2 unfit, as monitoring systems have
 * it; 64 and 118 as everywhere.
 *
 * With --json one object a line, one line in all:
 *
 *  type        "doctor"
 *  fit         "fit", "limits" or "unfit": the worst of all findings
 *  command     what to do next, or null
 *  kernel      release, machine; features: KEY of kernel_features.h -> "yes", "no", "denied",
 *              "not-tried"; seccomp_sees_return_probes: "no-call", "passes", "filters",
 *              "unknown", and seccomp_tried_by_probe; lockdown; perf_event_paranoid;
 *              unprivileged_bpf_disabled; pid_namespace, user_namespace: "host", "own", "unknown"
 *  privileges  uid; present, missing: names of capabilities; ways: way, needs, enough
 *  attach      "uprobe_multi", "perf_event", or null: how probes would be set
 *  findings    array of level ("fact", "ok", "limit", "bad"), topic, text, advice (or null)
 *  processes   array, an object for each -p:
 *    pid, there         there is false where there is no such process, and then only
 *                       fit, command and findings follow
 *    name, program, container, namespace_pids (outermost first), mount_namespace ("ours",
 *    "other", "unknown"), bits (32, 64; 0 unknown), static, go
 *    seccomp            mode ("none", "strict", "filter", "unknown"), filters, no_new_privs,
 *                       risk ("none", "kill", "unknown")
 *    files, files_unreadable, files_left_out    counts of mapped files with code
 *    libraries          path, build_id, deleted, stub, probed, error, calls (that it defines),
 *                       missing (names), first_instructions: counts of PROLOGUES of prologue.h
 *    lower_layer_loaded, lower_layer_callers    path, of_toolkit, calls
 *    calls_defined_twice
 *    findings, fit, command
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "commands.h"
#include "doctor.h"
#include "exits.h"
#include "json.h"
#include "options.h"

struct doctor {
	const struct options *opts;
	struct machine machine;
	struct procs *names;
	struct patient *patients;
	enum finding_level worst;
	FILE *out;
};

static enum finding_level worse(enum finding_level a, enum finding_level b)
{
	return a > b ? a : b;
}

/* NULL: there is nothing that would work. */
static const char *command_for(const struct doctor *d, const struct patient *p, char *buf, size_t n)
{
	const char *sudo = geteuid() ? "sudo " : "";

	if (p && p->findings.worst == FINDING_BAD && (!geteuid() || !p->there))
		return NULL;
	if (d->machine.findings.worst == FINDING_BAD) {
		if (!geteuid()) /* more rights there are not */
			return NULL;
		if (p)
			snprintf(buf, n, "sudo aclguard doctor -p %d", (int)p->pid);
		else
			snprintf(buf, n, "sudo aclguard doctor");
	} else if (p) {
		snprintf(buf, n, "%saclguard %s -p %d",
			 p->findings.worst == FINDING_BAD ? sudo : "",
			 p->findings.worst == FINDING_BAD ? "doctor" : "watch", (int)p->pid);
	} else {
		snprintf(buf, n, "aclguard run -- PROGRAM, or aclguard watch -p PID");
	}
	return buf;
}

/* ---- text --------------------------------------------------------------------- */

static void print_command(const char *command, FILE *out)
{
	if (command)
		fprintf(out, "  next: %s\n", command);
}

static void print_text(const struct doctor *d)
{
	static const char *const words[] = {
		[FINDING_FACT] = "fit",
		[FINDING_OK] = "fit",
		[FINDING_LIMIT] = "fit with limits",
		[FINDING_BAD] = "unfit",
	};
	char command[128];

	fprintf(d->out, "this machine: %s\n", words[d->machine.findings.worst]);
	findings__print(&d->machine.findings, d->out);
	if (!d->opts->npids)
		print_command(command_for(d, NULL, command, sizeof(command)), d->out);
	for (size_t i = 0; i < d->opts->npids; i++) {
		const struct patient *p = &d->patients[i];

		fprintf(d->out, "process %d: %s\n", (int)p->pid, words[p->findings.worst]);
		findings__print(&p->findings, d->out);
		print_command(command_for(d, p, command, sizeof(command)), d->out);
	}
}

/* ---- JSON --------------------------------------------------------------------- */

static void verdict_json(enum finding_level worst, const char *command, struct json *j)
{
	json__str(j, "fit", finding_level__fitness(worst));
	json__str(j, "command", command);
}

static int print_json(const struct doctor *d)
{
	struct json *j = json__new(d->out);
	char command[128];
	int err;

	if (!j)
		return -ENOMEM;
	json__begin(j);
	json__str(j, "type", "doctor");
	verdict_json(d->worst,
		     command_for(d, d->opts->npids == 1 ? d->patients : NULL, command,
				 sizeof(command)),
		     j);
	machine__json(&d->machine, j);
	json__begin_array(j, "processes");
	for (size_t i = 0; i < d->opts->npids; i++) {
		const struct patient *p = &d->patients[i];

		json__begin_object(j, NULL);
		patient__json(p, j);
		verdict_json(p->findings.worst, command_for(d, p, command, sizeof(command)), j);
		json__end_object(j);
	}
	json__end_array(j);
	err = json__end(j);
	json__free(j);
	return err;
}

/* ---- the command --------------------------------------------------------------- */

static int examine(struct doctor *d)
{
	size_t n = d->opts->npids;

	d->patients = calloc(n + 1, sizeof(*d->patients));
	d->names = procs__new();
	if (!d->patients || !d->names)
		return -ENOMEM;
	machine__examine(&d->machine);
	d->worst = d->machine.findings.worst;
	for (size_t i = 0; i < n; i++) {
		patient__examine(&d->patients[i], d->opts->pids[i], &d->machine, d->names);
		d->worst = worse(d->worst, d->patients[i].findings.worst);
	}
	return 0;
}

static void doctor__free(struct doctor *d)
{
	for (size_t i = 0; d->patients && i < d->opts->npids; i++)
		patient__free(&d->patients[i]);
	free(d->patients);
	procs__free(d->names);
	machine__free(&d->machine);
}

static int status_of(enum finding_level worst)
{
	return worst == FINDING_BAD	? ACL_EXIT_UNFIT
	       : worst == FINDING_LIMIT ? ACL_EXIT_LIMITS
					: ACL_EXIT_OK;
}

int command_doctor(const struct options *opts)
{
	struct doctor d = { .opts = opts, .out = stdout };
	int err = examine(&d), status = status_of(d.worst);

	if (!err && opts->json)
		err = print_json(&d);
	else if (!err)
		print_text(&d);
	doctor__free(&d);
	if (!err && (fflush(stdout) || ferror(stdout)))
		err = -errno;
	if (err == -ENOMEM)
		return refuse(ACL_EXIT_FAILED, "%s", strerror(ENOMEM));
	if (err)
		return refuse(ACL_EXIT_OUTPUT, "the findings could not be written: %s",
			      strerror(-err));
	return status;
}
