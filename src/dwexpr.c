/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* DWARF expressions, see dwexpr.h. */
#include "dwexpr.h"

#include <dwarf.h>
#include <errno.h>
#include <stdbool.h>

#include "bytes.h"

struct eval {
	const struct dwexpr_machine *m;
	const uint8_t *start;
	struct bytes b;
	uint64_t stack[DWEXPR_DEPTH_MAX];
	unsigned int depth;
	int err;
};

static void fail(struct eval *e, int err)
{
	if (!e->err)
		e->err = err;
}

static void push(struct eval *e, uint64_t val)
{
	if (e->depth == DWEXPR_DEPTH_MAX)
		fail(e, -EINVAL);
	else
		e->stack[e->depth++] = val;
}

static uint64_t pop(struct eval *e)
{
	if (e->depth)
		return e->stack[--e->depth];
	fail(e, -EINVAL);
	return 0;
}

/* The entry n below the top. */
static uint64_t pick(struct eval *e, uint64_t n)
{
	if (n < e->depth)
		return e->stack[e->depth - 1 - n];
	fail(e, -EINVAL);
	return 0;
}

static void push_register(struct eval *e, uint64_t reg, int64_t offset)
{
	if (reg >= 64 || !(e->m->known & 1ULL << reg)) {
		fail(e, -ENODATA);
		return;
	}
	push(e, e->m->regs[reg] + (uint64_t)offset);
}

static void deref(struct eval *e, uint64_t size)
{
	uint64_t addr = pop(e), val = 0;
	int err;

	if (size < 1 || size > 8) {
		fail(e, -EINVAL);
		return;
	}
	err = e->err ? 0 : e->m->read(e->m->arg, addr, &val, size);
	if (err)
		fail(e, err);
	push(e, val);
}

static void jump(struct eval *e, int64_t by)
{
	const int64_t at = e->b.p - e->start, end = e->b.end - e->start;

	if (by < -at || by > end - at)
		fail(e, -EINVAL);
	else
		e->b.p += by;
}

static void shuffle(struct eval *e, uint8_t op)
{
	uint64_t a, b, c;

	switch (op) {
	case DW_OP_dup:
		push(e, pick(e, 0));
		break;
	case DW_OP_drop:
		pop(e);
		break;
	case DW_OP_over:
		push(e, pick(e, 1));
		break;
	case DW_OP_pick:
		push(e, pick(e, bytes__unsigned(&e->b, 1)));
		break;
	case DW_OP_swap:
		a = pop(e);
		b = pop(e);
		push(e, a);
		push(e, b);
		break;
	default: /* DW_OP_rot */
		a = pop(e);
		b = pop(e);
		c = pop(e);
		push(e, a);
		push(e, c);
		push(e, b);
	}
}

static uint64_t divide(struct eval *e, uint64_t a, uint64_t b, bool rest)
{
	if (!b || (!rest && (int64_t)a == INT64_MIN && (int64_t)b == -1)) {
		fail(e, -EINVAL);
		return 0;
	}
	return rest ? a % b : (uint64_t)((int64_t)a / (int64_t)b);
}

static uint64_t shift(uint8_t op, uint64_t a, uint64_t by)
{
	bool all = by >= 64;

	if (op == DW_OP_shl)
		return all ? 0 : a << by;
	if (op == DW_OP_shr)
		return all ? 0 : a >> by;
	if (all)
		return (int64_t)a < 0 ? ~0ULL : 0;
	return (uint64_t)((int64_t)a >> by);
}

/* What takes two and gives one. */
static void binary(struct eval *e, uint8_t op)
{
	uint64_t b = pop(e), a = pop(e), val;
	int64_t x = (int64_t)a, y = (int64_t)b;

	switch (op) {
	case DW_OP_and:
		val = a & b;
		break;
	case DW_OP_or:
		val = a | b;
		break;
	case DW_OP_xor:
		val = a ^ b;
		break;
	case DW_OP_plus:
		val = a + b;
		break;
	case DW_OP_minus:
		val = a - b;
		break;
	case DW_OP_mul:
		val = a * b;
		break;
	case DW_OP_div:
	case DW_OP_mod:
		val = divide(e, a, b, op == DW_OP_mod);
		break;
	case DW_OP_shl:
	case DW_OP_shr:
	case DW_OP_shra:
		val = shift(op, a, b);
		break;
	case DW_OP_eq:
		val = x == y;
		break;
	case DW_OP_ne:
		val = x != y;
		break;
	case DW_OP_lt:
		val = x < y;
		break;
	case DW_OP_le:
		val = x <= y;
		break;
	case DW_OP_gt:
		val = x > y;
		break;
	case DW_OP_ge:
		val = x >= y;
		break;
	default:
		fail(e, -EINVAL);
		val = 0;
	}
	push(e, val);
}

static void constant(struct eval *e, uint8_t op)
{
	/* const1u, const1s, const2u, ... */
	unsigned int size = 1U << (op - DW_OP_const1u) / 2;

	if ((op - DW_OP_const1u) % 2)
		push(e, (uint64_t)bytes__signed(&e->b, size));
	else
		push(e, bytes__unsigned(&e->b, size));
}

static void step(struct eval *e)
{
	uint8_t op = (uint8_t)bytes__unsigned(&e->b, 1);
	uint64_t reg;

	if (op >= DW_OP_lit0 && op <= DW_OP_lit31) {
		push(e, op - DW_OP_lit0);
		return;
	}
	if (op >= DW_OP_breg0 && op <= DW_OP_breg31) {
		push_register(e, op - DW_OP_breg0, bytes__sleb(&e->b));
		return;
	}
	if (op >= DW_OP_const1u && op <= DW_OP_const8s) {
		constant(e, op);
		return;
	}
	switch (op) {
	case DW_OP_nop:
		break;
	case DW_OP_constu:
		push(e, bytes__uleb(&e->b));
		break;
	case DW_OP_consts:
		push(e, (uint64_t)bytes__sleb(&e->b));
		break;
	case DW_OP_bregx:
		reg = bytes__uleb(&e->b);
		push_register(e, reg, bytes__sleb(&e->b));
		break;
	case DW_OP_deref:
		deref(e, 8);
		break;
	case DW_OP_deref_size:
		deref(e, bytes__unsigned(&e->b, 1));
		break;
	case DW_OP_dup:
	case DW_OP_drop:
	case DW_OP_over:
	case DW_OP_pick:
	case DW_OP_swap:
	case DW_OP_rot:
		shuffle(e, op);
		break;
	case DW_OP_abs:
		reg = pop(e);
		push(e, (int64_t)reg < 0 ? 0 - reg : reg);
		break;
	case DW_OP_neg:
		push(e, 0 - pop(e));
		break;
	case DW_OP_not:
		push(e, ~pop(e));
		break;
	case DW_OP_plus_uconst:
		push(e, pop(e) + bytes__uleb(&e->b));
		break;
	case DW_OP_skip:
		jump(e, bytes__signed(&e->b, 2));
		break;
	case DW_OP_bra:
		reg = pop(e);
		jump(e, bytes__signed(&e->b, 2) * (reg != 0));
		break;
	default:
		binary(e, op);
	}
}

int dwexpr__eval(const uint8_t *expr, size_t len, const struct dwexpr_machine *m,
		 const uint64_t *first, uint64_t *val)
{
	struct eval e = { .m = m, .start = expr, .b = { expr, expr + len, false } };

	if (first)
		push(&e, *first);
	for (int i = 0; bytes__left(&e.b) && !e.err && !e.b.bad; i++) {
		if (i == DWEXPR_STEPS_MAX)
			return -EINVAL;
		step(&e);
	}
	if (e.b.bad)
		return -EINVAL;
	*val = pop(&e);
	return e.err;
}
