/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The list of calls.  Entries wait for their returns as in the state machine:
 * by the stack pointer, and a call that passes two definitions is one call.
 */
#include "calllist.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define HASH_NONFATAL_OOM 1
#include <uthash.h>

#include "json.h"
#include "names.h"
#include "report_text.h"

#define DEPTH_MAX 8    /* calls in progress on a thread that are kept */
#define COPIES_SHOWN 4 /* of a batch, in text */
#define ARGS_SHOWN 8   /* the recorded six, or fewer and a word for what is not */
#define ARG_MAX 48     /* bytes of one */
#define UNKNOWN_ARG "?"

struct pending {
	struct acl_enter in;
	uint64_t time;
	bool folded; /* a second definition of the call around it */
};

struct stack {
	UT_hash_handle hh;
	uint64_t thread; /* tgid, tid */
	uint64_t inc;
	unsigned int depth;
	bool after_entry; /* nothing has returned since the top one was entered */
	struct pending p[DEPTH_MAX];
};

struct calllist {
	struct report_cfg cfg;
	uint64_t start; /* of the first call; 0: there was none yet */
	struct stack *stacks;
	struct report_out out;
	int err;
};

/* ---- arguments ----------------------------------------------------------- */

struct args {
	unsigned int n;
	char text[ARGS_SHOWN][ARG_MAX];
};

__attribute__((format(printf, 2, 3))) static void arg(struct args *a, const char *fmt, ...)
{
	va_list ap;

	if (a->n >= ARGS_SHOWN)
		return;
	va_start(ap, fmt);
	vsnprintf(a->text[a->n++], ARG_MAX, fmt, ap);
	va_end(ap);
}

static void arg_kind(struct args *a, uint32_t kind)
{
	static const char *const kinds[] = { "H2H",	"H2D",	 "D2H",	  "D2D",
					     "DEFAULT", "H2B2D", "INNER", "INTER" };

	if (kind < sizeof(kinds) / sizeof(kinds[0]))
		arg(a, "%s", kinds[kind]);
	else
		arg(a, "%" PRIu32, kind);
}

static void arg_status(struct args *a, enum acl_role role, uint32_t status)
{
	bool old = role != ACL_R_EV_QUERY_STATUS; /* 0 is complete there, and 1 here */

	if (status == (old ? 0 : 1))
		arg(a, "[COMPLETE]");
	else if (status == (old ? 1 : 0))
		arg(a, "[NOT_READY]");
	else
		arg(a, "[%" PRIu32 "]", status);
}

static void arg_output(struct args *a, uint64_t cell, const struct acl_leave *out)
{
	if (out && out->out_ok)
		arg(a, "[%#" PRIx64 "]", (uint64_t)out->out);
	else
		arg(a, "%#" PRIx64, cell);
}

static void arg_letter(struct args *a, enum acl_role role, char letter, uint64_t val,
		       const struct acl_leave *out)
{
	switch (letter) {
	case 'O':
		arg_output(a, val, out);
		break;
	case 'U':
		if (out && out->out_ok)
			arg_status(a, role, (uint32_t)out->out);
		else
			arg(a, "%#" PRIx64, val);
		break;
	case 'z':
		arg(a, "%" PRIu64, val);
		break;
	case 'i':
		arg(a, "%" PRId32, (int32_t)val);
		break;
	case 'u':
		arg(a, "%#" PRIx32, (uint32_t)val);
		break;
	case 'k':
		arg_kind(a, (uint32_t)val);
		break;
	default:
		arg(a, "%#" PRIx64, val);
		break;
	}
}

/* In the order of the C declaration, as far as the recorded six are that. */
static void args_plain(struct args *a, enum acl_role role, const struct acl_enter *in,
		       const struct acl_leave *out)
{
	const char *letters = acl_call__args(in->call);

	for (unsigned int i = 0; letters[i]; i++) {
		if (i == 6) {
			arg(a, UNKNOWN_ARG);
			break;
		}
		arg_letter(a, role, letters[i], in->args[i], out);
	}
}

/* The stream took the place of the first argument. */
static void args_way(struct args *a, const struct acl_enter *in)
{
	const char *letters = acl_call__args(in->call);

	for (unsigned int i = 0; i < 6 && letters[i]; i++) {
		if (!i && letters[0] != 's')
			arg(a, UNKNOWN_ARG);
		else
			arg_letter(a, ACL_R_WAY, letters[i], in->args[i], NULL);
	}
}

static void args__format(struct args *a, const struct acl_enter *in, const struct acl_leave *out)
{
	enum acl_role role = acl_call__role(in->call);

	a->n = 0;
	switch (role) {
	case ACL_R_COPY_2D:
		/* pitch, width and height were recorded as the bytes from first to last */
		arg(a, "%#" PRIx64, (uint64_t)in->args[0]);
		arg(a, "%" PRIu64 " spanned", (uint64_t)in->args[1]);
		arg(a, "%#" PRIx64, (uint64_t)in->args[2]);
		arg(a, "%" PRIu64 " spanned", (uint64_t)in->args[3]);
		arg_kind(a, (uint32_t)in->args[4]);
		arg(a, "%#" PRIx64, (uint64_t)in->args[5]);
		break;
	case ACL_R_COPY_BATCH:
		arg(a, "%#" PRIx64, (uint64_t)in->args[0]);
		arg(a, "%#" PRIx64, (uint64_t)in->args[1]);
		arg(a, "%#" PRIx64, (uint64_t)in->args[2]);
		arg(a, "%#" PRIx64, (uint64_t)in->args[3]);
		arg(a, "%" PRIu64, (uint64_t)in->args[4]);
		arg(a, UNKNOWN_ARG);
		arg(a, "%#" PRIx64, (uint64_t)in->args[5]);
		break;
	case ACL_R_EV_IPC_OPEN:
		/* the handle by value stands elsewhere on every machine */
		arg(a, UNKNOWN_ARG);
		arg_output(a, in->args[0], out);
		break;
	case ACL_R_WAY:
		args_way(a, in);
		break;
	default:
		args_plain(a, role, in, out);
		break;
	}
}

/* ---- text ---------------------------------------------------------------- */

static void text_head(struct calllist *cl, uint64_t time, uint32_t tgid, uint32_t tid)
{
	uint64_t us = (time - cl->start) / 1000;

	if (time < cl->start)
		us = 0;
	report_out__printf(&cl->out, "%4" PRIu64 ".%06" PRIu64 " %" PRIu32 "/%" PRIu32 " ",
			   us / 1000000, us % 1000000, tgid, tid);
}

static void text_copies(struct calllist *cl, const struct acl_enter *copies, size_t n)
{
	if (!n)
		return;
	report_out__printf(&cl->out, " {");
	for (size_t i = 0; i < n && i < COPIES_SHOWN; i++)
		report_out__printf(&cl->out, "%s%#" PRIx64 " <- %#" PRIx64 ", %" PRIu64,
				   i ? "; " : "", (uint64_t)copies[i].args[0],
				   (uint64_t)copies[i].args[2], (uint64_t)copies[i].args[3]);
	if (n > COPIES_SHOWN)
		report_out__printf(&cl->out, "; %zu more", n - COPIES_SHOWN);
	report_out__printf(&cl->out, "}");
}

static void text_return(struct calllist *cl, uint64_t entered, const struct acl_leave *out)
{
	const char *name = out->ret ? acl_error__name(out->ret) : NULL;
	char span[REPORT_SPAN_MAX];

	report_out__printf(&cl->out, " = %" PRId32, out->ret);
	if (name)
		report_out__printf(&cl->out, " (%s)", name);
	report_out__printf(&cl->out, " <%s>", report__span(span, (int64_t)(out->pos - entered)));
}

static void text_call(struct calllist *cl, const struct pending *p, const struct acl_leave *out,
		      const struct acl_enter *copies, size_t n)
{
	struct args a;

	args__format(&a, &p->in, out);
	text_head(cl, p->time, p->in.tgid, p->in.tid);
	report_out__printf(&cl->out, "%s(", acl_call__name(p->in.call));
	for (unsigned int i = 0; i < a.n; i++)
		report_out__printf(&cl->out, "%s%s", i ? ", " : "", a.text[i]);
	report_out__printf(&cl->out, ")");
	text_copies(cl, copies, n);
	if (out)
		text_return(cl, p->time, out);
	report_out__printf(&cl->out, "\n");
}

/* ---- JSON ---------------------------------------------------------------- */

static void json_head(struct calllist *cl, const char *type, uint64_t time, uint32_t tgid,
		      uint32_t tid)
{
	struct json *j = cl->cfg.json;

	json__begin(j);
	json__str(j, "type", type);
	json__u64(j, "time_ns", time);
	json__u64(j, "pid", tgid);
	json__u64(j, "tid", tid);
}

static void json_end(struct calllist *cl)
{
	int err = json__end(cl->cfg.json);

	if (err && !cl->err)
		cl->err = err;
}

static void json_return(struct json *j, uint64_t entered, const struct acl_leave *out)
{
	if (!out) {
		json__null(j, "return");
		json__null(j, "return_name");
		json__null(j, "duration_us");
		return;
	}
	json__s64(j, "return", out->ret);
	json__str(j, "return_name", acl_error__name(out->ret));
	json__double(j, "duration_us", (double)(int64_t)(out->pos - entered) / 1e3, 3);
}

static void json_call(struct calllist *cl, const struct pending *p, const struct acl_leave *out,
		      const struct acl_enter *copies, size_t n)
{
	struct json *j = cl->cfg.json;
	struct args a;

	args__format(&a, &p->in, out);
	json_head(cl, "call", p->time, p->in.tgid, p->in.tid);
	json__str(j, "call", acl_call__name(p->in.call));
	json__begin_array(j, "args");
	for (unsigned int i = 0; i < a.n; i++)
		json__str(j, NULL, a.text[i]);
	json__end_array(j);
	json__begin_array(j, "copies");
	for (size_t i = 0; i < n; i++) {
		json__begin_object(j, NULL);
		json__hex(j, "to", copies[i].args[0]);
		json__hex(j, "from", copies[i].args[2]);
		json__u64(j, "bytes", copies[i].args[3]);
		json__end_object(j);
	}
	json__end_array(j);
	json_return(j, p->time, out);
	json_end(cl);
}

static void print(struct calllist *cl, const struct pending *p, const struct acl_leave *out,
		  const struct acl_enter *copies, size_t n)
{
	if (p->folded)
		return;
	if (cl->cfg.json)
		json_call(cl, p, out, copies, n);
	else
		text_call(cl, p, out, copies, n);
}

/* ---- entries and returns ------------------------------------------------- */

/* Calls of this thread that were left without returning, below the stack pointer. */
static void abandon(struct calllist *cl, struct stack *st, uint64_t sp)
{
	while (st->depth && st->p[st->depth - 1].in.sp < sp)
		print(cl, &st->p[--st->depth], NULL, NULL, 0);
}

static struct stack *stack__find(struct calllist *cl, const struct recorded *r)
{
	uint64_t thread = (uint64_t)r->tgid << 32 | r->tid;
	struct stack *st;

	HASH_FIND(hh, cl->stacks, &thread, sizeof(thread), st);
	if (!st) {
		st = calloc(1, sizeof(*st));
		if (!st)
			return NULL;
		st->thread = thread;
		HASH_ADD(hh, cl->stacks, thread, sizeof(st->thread), st);
		if (!st->hh.tbl) {
			free(st);
			return NULL;
		}
		st->inc = r->inc;
	}
	if (st->inc != r->inc) /* the number of another process before */
		abandon(cl, st, UINT64_MAX);
	st->inc = r->inc;
	return st;
}

int calllist__enter(struct calllist *cl, const struct recorded *r)
{
	struct pending p = { .in = r->enter, .time = r->time };
	struct stack *st = stack__find(cl, r);
	const struct pending *top;

	if (!st)
		return -ENOMEM;
	if (!cl->start)
		cl->start = r->time;
	abandon(cl, st, p.in.sp);
	if (st->depth) {
		top = &st->p[st->depth - 1];
		if (top->in.sp == p.in.sp && !st->after_entry)
			abandon(cl, st, p.in.sp + 1);
		else
			p.folded = top->in.call == p.in.call && top->in.args[0] == p.in.args[0];
	}
	if (st->depth == DEPTH_MAX) {
		print(cl, &p, NULL, NULL, 0);
		return 0;
	}
	st->p[st->depth++] = p;
	st->after_entry = true;
	return 0;
}

void calllist__leave(struct calllist *cl, const struct recorded *r, const struct acl_enter *copies,
		     size_t n)
{
	struct stack *st = stack__find(cl, r);

	if (!st)
		return;
	abandon(cl, st, r->leave.sp);
	st->after_entry = false;
	if (st->depth && st->p[st->depth - 1].in.sp == r->leave.sp)
		print(cl, &st->p[--st->depth], &r->leave, copies, n);
}

static void stack__end(struct calllist *cl, struct stack *st)
{
	while (st->depth)
		print(cl, &st->p[--st->depth], NULL, NULL, 0);
}

void calllist__thread_exit(struct calllist *cl, uint32_t tgid, uint32_t tid)
{
	uint64_t thread = (uint64_t)tgid << 32 | tid;
	struct stack *st;

	HASH_FIND(hh, cl->stacks, &thread, sizeof(thread), st);
	if (!st)
		return;
	stack__end(cl, st);
	HASH_DEL(cl->stacks, st);
	free(st);
}

void calllist__gap(struct calllist *cl, const struct recorded *r, uint32_t n)
{
	if (cl->cfg.json) {
		json_head(cl, "gap", r ? r->time : 0, r ? r->tgid : 0, r ? r->tid : 0);
		json__u64(cl->cfg.json, "lost", n);
		json_end(cl);
		return;
	}
	if (!r) {
		report_out__printf(&cl->out, "--- calls were lost here ---\n");
		return;
	}
	text_head(cl, r->time, r->tgid, r->tid);
	report_out__printf(&cl->out, "--- %" PRIu32 " entries and returns were lost ---\n", n);
}

/* ---- the list as a whole ------------------------------------------------- */

struct calllist *calllist__new(const struct report_cfg *cfg)
{
	struct calllist *cl = calloc(1, sizeof(*cl));

	if (!cl)
		return NULL;
	cl->cfg = *cfg;
	report_out__init(&cl->out, cfg->text);
	return cl;
}

void calllist__finish(struct calllist *cl)
{
	struct stack *st;

	for (st = cl->stacks; st; st = st->hh.next)
		stack__end(cl, st);
	if (!cl->cfg.json && report_out__flush(&cl->out) && !cl->err)
		cl->err = cl->out.err;
}

void calllist__free(struct calllist *cl)
{
	struct stack *st, *next;

	if (!cl)
		return;
	st = cl->stacks;
	HASH_CLEAR(hh, cl->stacks); /* leaves the entries */
	for (; st; st = next) {
		next = st->hh.next;
		free(st);
	}
	free(cl);
}

int calllist__error(const struct calllist *cl)
{
	return cl->err;
}
