/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Putting stacks together, and asking for their names. */
#include "backtrace.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "dumps.h"
#include "stacks.h"
#include "story.h"

#define ERRNO_MAX 4095

static void begin(struct backtrace *bt, bool at_return)
{
	bt->n = 0;
	bt->at_return = at_return;
	bt->named = false;
	bt->err = 0;
	bt->unwound = false;
	bt->end = UNWIND_WHOLE;
	bt->end_module = NULL;
}

static void add(struct backtrace *bt, uint64_t addr)
{
	struct backtrace_frame *f = &bt->f[bt->n];

	f->addr = addr;
	f->is_return = bt->n > 0 || bt->at_return;
	f->sym = (struct sym_result){ .kind = SYM_UNKNOWN, .addr = addr };
	bt->n++;
}

bool backtrace__is_at_return(unsigned int rule)
{
	return rule == ACL_RULE_FREE_FAILED || rule == ACL_RULE_DOUBLE_FREE ||
	       rule == ACL_RULE_EVENT_DOUBLE_DESTROY || rule == ACL_RULE_EVENT_USE_AFTER_DESTROY ||
	       rule == ACL_RULE_COPY_AFTER_FREE;
}

static void note_end(const struct report_cfg *cfg, pid_t pid, const struct unwind *u,
		     struct backtrace *bt)
{
	struct sym_place at;

	bt->unwound = true;
	bt->end = u->end;
	if (u->end != UNWIND_NO_CFI && u->end != UNWIND_BAD_CFI)
		return;
	symbolizer__place(cfg->sym, pid, u->end_addr, &at);
	if (at.module)
		bt->end_module = strdup(at.module);
}

/* False: it was not asked for, or what it takes did not come. */
static bool unwind(const struct report_cfg *cfg, const struct acl_violation *v,
		   struct backtrace *bt)
{
	const struct acl_dump *d;
	struct unwind u;

	if (!cfg->dumps)
		return false;
	d = v->h.more & ACL_HAS_DUMP ? dumps__find(cfg->dumps, v->id) : NULL;
	if (!d) {
		bt->end = UNWIND_LOST;
		return false;
	}
	unwinder__walk(cfg->unwinder, d, bt->at_return, cfg->stack_depth, &u);
	for (unsigned int i = 0; i < u.n; i++)
		add(bt, u.addr[i]);
	note_end(cfg, (pid_t)v->h.tgid, &u, bt);
	return true;
}

static void take_walked(const struct acl_violation *v, struct backtrace *bt)
{
	unsigned int n = 0, i = 0;

	if (v->stack_len < 0)
		bt->err = v->stack_len >= -ERRNO_MAX ? v->stack_len : -EINVAL;
	else
		n = v->stack_len / sizeof(v->stack[0]);
	if (n > ACL_STACK_MAX)
		n = ACL_STACK_MAX;
	if (v->ip)
		add(bt, v->ip);
	if (n && v->stack[0] == v->ip)
		i++;
	/* What ret_addr was taken from holds something else once the call is over. */
	if (v->ret_addr && !bt->at_return && !(i < n && v->stack[i] == v->ret_addr))
		add(bt, v->ret_addr);
	while (i < n)
		add(bt, v->stack[i++]);
}

void backtrace__take(const struct report_cfg *cfg, const struct acl_violation *v,
		     struct backtrace *bt)
{
	begin(bt, backtrace__is_at_return(v->rule));
	if (!unwind(cfg, v, bt))
		take_walked(v, bt);
}

const char *backtrace__end_words(const struct backtrace *bt)
{
	static const char *const words[UNWIND_END_MAX] = {
		[UNWIND_DEPTH] = "no more frames were asked for, see --stack-depth",
		[UNWIND_COPY] = "the copy of the stack ends here, see --stack-bytes",
		[UNWIND_NO_CFI] = "no unwind information",
		[UNWIND_BAD_CFI] = "unwind information that makes no sense",
		[UNWIND_NO_CODE] = "nothing is mapped there",
		[UNWIND_RETPROBE] = "a return probe has taken the caller's place",
		[UNWIND_LOST] = "by frame pointers: the copy of the stack was lost",
	};

	return bt->end < UNWIND_END_MAX ? words[bt->end] : NULL;
}

void backtrace__kept(const struct report_cfg *cfg, uint32_t nr, struct backtrace *bt)
{
	uint64_t addr[ACL_KEPT_MAX];
	unsigned int n = stacks__get(cfg->kept, nr, addr);

	begin(bt, true);
	for (unsigned int i = 0; i < n; i++)
		add(bt, addr[i]);
}

void backtrace__place(const struct report_cfg *cfg, pid_t pid, struct backtrace *bt, unsigned int n)
{
	for (unsigned int i = 0; cfg->sym && !bt->named && i < n && i < bt->n; i++) {
		struct backtrace_frame *f = &bt->f[i];

		if (f->sym.kind == SYM_UNKNOWN)
			symbolizer__resolve_module(cfg->sym, pid, f->addr, f->is_return, &f->sym);
	}
}

void backtrace__name(const struct report_cfg *cfg, pid_t pid, struct backtrace *bt)
{
	if (bt->named)
		return;
	bt->named = true;
	for (unsigned int i = 0; cfg->sym && i < bt->n; i++) {
		struct backtrace_frame *f = &bt->f[i];
		struct sym_result placed = f->sym;
		int err;

		if (f->is_return)
			err = symbolizer__resolve_return(cfg->sym, pid, f->addr, &f->sym);
		else
			err = symbolizer__resolve(cfg->sym, pid, f->addr, &f->sym);
		if (!err)
			sym_result__clear(&placed);
	}
}

void backtrace__clear(struct backtrace *bt)
{
	for (unsigned int i = 0; i < bt->n; i++)
		sym_result__clear(&bt->f[i].sym);
	free(bt->end_module);
	begin(bt, false);
}
