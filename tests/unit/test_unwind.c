/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Unwinding our own stack, from a copy of it, as libc's backtrace() does; and what
 * becomes of copies that are cut, have holes, or make no sense.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* REG_RIP */
#endif
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>
#include <unistd.h>

#include "symbols.h"
#include "unwind.h"

#define PIECES ACL_DUMP_PIECES_MAX

struct world {
	struct symbolizer *sym;
	struct unwinder *uw;
	struct acl_dump *d;
	void *theirs[ACL_STACK_MAX];
	int n;
	struct unwind out;
};

static void copy_registers(struct acl_dump *d, const ucontext_t *uc)
{
#if defined(__aarch64__)
	memcpy(d->words, uc->uc_mcontext.regs, 31 * sizeof(d->words[0]));
	d->words[ACL_DUMP_SP] = uc->uc_mcontext.sp;
	d->words[ACL_DUMP_PC] = uc->uc_mcontext.pc;
#else
	static const int order[] = { REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI,
				     REG_RBP, REG_RSP, REG_R8,	REG_R9,	 REG_R10, REG_R11,
				     REG_R12, REG_R13, REG_R14, REG_R15 };

	for (int i = 0; i < UNWIND_REGS; i++)
		d->words[unwind_words[i]] = (uint64_t)uc->uc_mcontext.gregs[order[i]];
	d->words[ACL_DUMP_PC] = (uint64_t)uc->uc_mcontext.gregs[REG_RIP];
#endif
}

/* As the kernel does it: what lies beyond the stack cannot be read. */
static void copy_stack(struct acl_dump *d)
{
	uint64_t base = d->words[ACL_DUMP_SP] & ~(ACL_DUMP_PIECE - 1ULL);
	int mem = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);

	assert_true(mem >= 0);
	d->pieces = PIECES;
	for (int i = 0; i < PIECES; i++) {
		off_t from = (off_t)(base + (uint64_t)i * ACL_DUMP_PIECE);
		ssize_t n = pread(mem, d->stack + i * ACL_DUMP_PIECE, ACL_DUMP_PIECE, from);

		d->err[i] = n == ACL_DUMP_PIECE ? 0 : -EFAULT;
	}
	close(mem);
}

/* So many frames of some 4 KiB above main()'s. */
__attribute__((noinline)) static void take(struct world *w, int deeper)
{
	volatile char room[4000];
	static ucontext_t uc;

	room[0] = (char)deeper;
	if (deeper) {
		take(w, deeper - 1);
		room[1] = room[0];
		return;
	}
	getcontext(&uc);
	w->n = backtrace(w->theirs, ACL_STACK_MAX);
	copy_registers(w->d, &uc);
	copy_stack(w->d);
}

static int setup(void **state)
{
	struct world *w = calloc(1, sizeof(*w));

	w->sym = symbolizer__new(0);
	w->uw = unwinder__new(w->sym);
	w->d = calloc(1, sizeof(*w->d) + (size_t)PIECES * ACL_DUMP_PIECE);
	w->d->h.tgid = (uint32_t)getpid();
	*state = w;
	return !w->sym || !w->uw || !w->d;
}

static int teardown(void **state)
{
	struct world *w = *state;

	unwinder__free(w->uw);
	symbolizer__free(w->sym);
	free(w->d);
	free(w);
	return 0;
}

static void walk(struct world *w, unsigned int max)
{
	unwinder__walk(w->uw, w->d, true, max, &w->out);
}

/*
 * Frame 0 is the same function, at another call; a sanitizer may be on top of it.
 * Returns how many more frames libc found.
 */
static int expect_same(const struct world *w, unsigned int n)
{
	int first = 0;

	assert_in_range(n, 2, w->out.n);
	while (first < w->n && (uintptr_t)w->theirs[first] != w->out.addr[1])
		first++;
	assert_in_range(first, 1, 2);
	assert_true(first + (int)n - 1 <= w->n);
	for (unsigned int i = 1; i < n; i++)
		assert_int_equal(w->out.addr[i], (uintptr_t)w->theirs[first + (int)i - 1]);
	return w->n - (first + (int)n - 1);
}

static void our_own_is_as_libc_has_it(void **state)
{
	struct world *w = *state;

	take(w, 5);
	walk(w, ACL_STACK_MAX);
	assert_int_equal(w->out.end, UNWIND_WHOLE);
	assert_int_equal(expect_same(w, w->out.n), 0);
}

static void no_more_than_asked_for(void **state)
{
	struct world *w = *state;

	take(w, 5);
	walk(w, 3);
	assert_int_equal(w->out.end, UNWIND_DEPTH);
	assert_int_equal(w->out.n, 3);
	expect_same(w, 3);
}

static void the_copy_has_an_end(void **state)
{
	struct world *w = *state;

	take(w, 30);
	walk(w, ACL_STACK_MAX);
	assert_int_equal(w->out.end, UNWIND_COPY);
	assert_in_range(w->out.n, 10, 20);
	expect_same(w, w->out.n);
}

static void a_piece_that_could_not_be_read_is_an_end(void **state)
{
	struct world *w = *state;
	unsigned int all;

	take(w, 10);
	walk(w, ACL_STACK_MAX);
	all = w->out.n;
	w->d->err[3] = -EFAULT;
	walk(w, ACL_STACK_MAX);
	assert_int_equal(w->out.end, UNWIND_COPY);
	assert_in_range(w->out.n, 2, all - 1);
	expect_same(w, w->out.n);
}

static void no_code_is_an_end(void **state)
{
	struct world *w = *state;

	take(w, 1);
	w->d->words[ACL_DUMP_PC] = 0x10;
	walk(w, ACL_STACK_MAX);
	assert_int_equal(w->out.end, UNWIND_NO_CODE);
	assert_int_equal(w->out.n, 1);
	assert_int_equal(w->out.end_addr, 0x10);
}

/* At the first instruction nothing has to be known of the function. */
static void the_caller_is_known_at_the_entry(void **state)
{
	struct world *w = *state;
	uint64_t ret = (uintptr_t)w->theirs;

	take(w, 1);
	w->d->words[ACL_DUMP_PC] = (uintptr_t)w->d; /* no function at all */
	ret = (uintptr_t)w->theirs[2];
#if defined(__aarch64__)
	w->d->words[30] = ret;
#else
	memcpy(w->d->stack + w->d->words[ACL_DUMP_SP] % ACL_DUMP_PIECE, &ret, sizeof(ret));
#endif
	unwinder__walk(w->uw, w->d, false, ACL_STACK_MAX, &w->out);
	assert_true(w->out.n >= 2);
	assert_int_equal(w->out.addr[1], ret);
}

static void any_stack_ends(void **state)
{
	struct world *w = *state;
	uint64_t word;

	take(w, 3);
	srand(1);
	for (int i = 0; i < 300; i++) {
		for (size_t at = 0; at < (size_t)PIECES * ACL_DUMP_PIECE; at += sizeof(word)) {
			word = rand() % 3 ? (uintptr_t)w->theirs[rand() % w->n]
					  : w->d->words[ACL_DUMP_SP] + (uint64_t)(rand() % 16384);
			memcpy(w->d->stack + at, &word, sizeof(word));
		}
		walk(w, ACL_STACK_MAX);
		assert_in_range(w->out.n, 1, ACL_STACK_MAX);
	}
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(our_own_is_as_libc_has_it),
		TEST(no_more_than_asked_for),
		TEST(the_copy_has_an_end),
		TEST(a_piece_that_could_not_be_read_is_an_end),
		TEST(no_code_is_an_end),
		TEST(the_caller_is_known_at_the_entry),
		TEST(any_stack_ends),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
