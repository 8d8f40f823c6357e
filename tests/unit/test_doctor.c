/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The parts of `aclguard doctor' that need no kernel to answer. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "findings.h"
#include "modules.h"
#include "procstatus.h"
#include "prologue.h"
#include "seccomp_risk.h"

/* ---- /proc/PID/status -------------------------------------------------------- */

static struct procstatus parse(const char *text)
{
	size_t len = strlen(text);
	struct procstatus st;
	/* A copy of exact size: the sanitizer sees each byte read beyond it. */
	char *exact = malloc(len ? len : 1);

	memcpy(exact, text, len);
	procstatus__parse(exact, len, &st);
	free(exact);
	return st;
}

static void reads_a_status(void **state)
{
	struct procstatus st =
		parse("Name:\tpython3\nUmask:\t0022\nState:\tS (sleeping)\n"
		      "Tgid:\t4711\nNgid:\t0\nPid:\t4711\nPPid:\t1\n"
		      "NSpid:\t4711\t23\t1\nNoNewPrivs:\t1\nSeccomp:\t2\n"
		      "Seccomp_filters:\t3\nSpeculation_Store_Bypass:\tvulnerable\n");

	(void)state;
	assert_int_equal(st.state, 'S');
	assert_int_equal(st.tgid, 4711);
	assert_int_equal(st.n_ns_pids, 3);
	assert_int_equal(st.ns_pids[0], 4711);
	assert_int_equal(st.ns_pids[1], 23);
	assert_int_equal(st.ns_pids[2], 1);
	assert_int_equal(st.no_new_privs, 1);
	assert_int_equal(st.seccomp, SECCOMP_FILTER);
	assert_int_equal(st.filters, 3);
}

static void what_is_missing_is_unknown(void **state)
{
	struct procstatus st = parse("Name:\tx\nSeccomp:\t1\n");

	(void)state;
	assert_int_equal(st.seccomp, SECCOMP_STRICT);
	assert_int_equal(st.filters, -1);
	assert_int_equal(st.no_new_privs, -1);
	assert_int_equal(st.n_ns_pids, 0);
	assert_int_equal(st.tgid, 0);
	assert_int_equal(st.state, 0);
	assert_int_equal(parse("").seccomp, SECCOMP_UNKNOWN);
}

static void nonsense_is_unknown(void **state)
{
	struct procstatus st;

	(void)state;
	assert_int_equal(parse("Seccomp:").seccomp, SECCOMP_UNKNOWN);
	assert_int_equal(parse("Seccomp:\tx").seccomp, SECCOMP_UNKNOWN);
	assert_int_equal(parse("Seccomp:\t3\n").seccomp, SECCOMP_UNKNOWN);
	assert_int_equal(parse("Seccomp:\t99999999999999999999\n").seccomp, SECCOMP_UNKNOWN);
	assert_int_equal(parse("XSeccomp:\t2\n").seccomp, SECCOMP_UNKNOWN);
	assert_int_equal(parse("Seccomp\n:2\n").seccomp, SECCOMP_UNKNOWN);
	assert_int_equal(parse("Tgid:\t-5\n").tgid, 0);
	assert_int_equal(parse("State:\n").state, 0);
	assert_int_equal(parse("NSpid:\t5\tx\t6\n").n_ns_pids, 1);
	st = parse(
		"NSpid:\t1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1\n");
	assert_int_equal(st.n_ns_pids, PROCSTATUS_NS_MAX);
}

static void reads_our_own(void **state)
{
	struct procstatus st;

	(void)state;
	assert_int_equal(procstatus__read(getpid(), &st), 0);
	assert_int_equal(st.tgid, getpid());
	assert_true(st.n_ns_pids >= 1);
	assert_int_equal(st.seccomp, procstatus__seccomp_of_threads(getpid()));
	assert_int_equal(procstatus__read(0x7ffffffe, &st), -ESRCH);
	assert_int_equal(procstatus__seccomp_of_threads(0x7ffffffe), SECCOMP_UNKNOWN);
}

/* ---- seccomp ------------------------------------------------------------------ */

static void only_a_filter_on_a_kernel_that_asks_it_kills(void **state)
{
	(void)state;
	for (int mode = SECCOMP_UNKNOWN; mode <= SECCOMP_FILTER; mode++) {
		for (int kernel = 0; kernel <= SECCOMP_KERNEL_FILTERS; kernel++) {
			enum seccomp_risk risk =
				seccomp__risk((enum seccomp_mode)mode, (enum seccomp_kernel)kernel);
			bool filtered = mode == SECCOMP_STRICT || mode == SECCOMP_FILTER;

			assert_int_equal(risk == SECCOMP_RISK_KILL,
					 filtered && kernel == SECCOMP_KERNEL_FILTERS);
			if (mode == SECCOMP_NONE || kernel == SECCOMP_KERNEL_PASSES ||
			    kernel == SECCOMP_KERNEL_NO_CALL)
				assert_int_equal(risk, SECCOMP_RISK_NONE);
			else if (risk != SECCOMP_RISK_KILL)
				assert_int_equal(risk, SECCOMP_RISK_UNKNOWN);
		}
	}
}

static void tries_the_kernel_without_privileges(void **state)
{
	enum seccomp_kernel kernel = seccomp__try_call();

	(void)state;
	/* whatever this kernel is, the answer is one, and the same again */
	assert_int_equal(kernel, seccomp__try_call());
	/* but for a filter of ours, which is asked first */
	if (procstatus__seccomp_of_threads(getpid()) == SECCOMP_NONE)
		assert_int_not_equal(kernel, SECCOMP_KERNEL_UNKNOWN);
#if !defined(__x86_64__)
	assert_int_equal(kernel, SECCOMP_KERNEL_NO_CALL);
#endif
}

/* ---- first instructions --------------------------------------------------------- */

#define X86(...)                                                        \
	prologue__classify(EM_X86_64, (const uint8_t[]){ __VA_ARGS__ }, \
			   sizeof((const uint8_t[]){ __VA_ARGS__ }))

static void knows_what_x86_emulates(void **state)
{
	(void)state;
	assert_int_equal(X86(0x55, 0x48), PROLOGUE_EMULATED);		  /* push %rbp */
	assert_int_equal(X86(0x41, 0x57), PROLOGUE_EMULATED);		  /* push %r15 */
	assert_int_equal(X86(0xe9, 1, 2, 3, 4), PROLOGUE_EMULATED);	  /* jmp */
	assert_int_equal(X86(0x0f, 0x84, 1, 2, 3, 4), PROLOGUE_EMULATED); /* je */
	assert_int_equal(X86(0x90), PROLOGUE_EMULATED);			  /* nop */
	assert_int_equal(X86(0x0f, 0x1f, 0x44, 0, 0), PROLOGUE_NOP);	  /* nopl */
	assert_int_equal(X86(0x48, 0x83, 0xec, 8), PROLOGUE_STEPPED);	  /* sub $8,%rsp */
	assert_int_equal(X86(0xc3), PROLOGUE_STEPPED);			  /* ret */
	assert_int_equal(X86(0x41, 0x89), PROLOGUE_STEPPED);
	assert_int_equal(X86(0x41), PROLOGUE_STEPPED);
	assert_int_equal(X86(0xf3, 0x0f, 0x1e, 0xfa, 0x55), PROLOGUE_LANDING); /* endbr64; push */
	assert_int_equal(X86(0xf3, 0x0f, 0x1e, 0xfa, 0x48, 0x83, 0xec), PROLOGUE_STEPPED);
	assert_int_equal(X86(0xf3, 0x0f, 0x1e, 0xfa), PROLOGUE_STEPPED);
	assert_int_equal(X86(0xf3, 0x0f), PROLOGUE_STEPPED);
}

static enum prologue arm64(uint32_t first, uint32_t second)
{
	const uint32_t code[] = { first, second };

	return prologue__classify(EM_AARCH64, (const uint8_t *)code, sizeof(code));
}

static void knows_what_arm64_simulates(void **state)
{
	(void)state;
	assert_int_equal(arm64(0x14000010, 0), PROLOGUE_EMULATED); /* b */
	assert_int_equal(arm64(0x94000010, 0), PROLOGUE_EMULATED); /* bl */
	assert_int_equal(arm64(0x54000040, 0), PROLOGUE_EMULATED); /* b.eq */
	assert_int_equal(arm64(0xb4000040, 0), PROLOGUE_EMULATED); /* cbz x0 */
	assert_int_equal(arm64(0x36000040, 0), PROLOGUE_EMULATED); /* tbz w0, #0 */
	assert_int_equal(arm64(0xd61f0200, 0), PROLOGUE_EMULATED); /* br x16 */
	assert_int_equal(arm64(0xd65f03c0, 0), PROLOGUE_EMULATED); /* ret */
	assert_int_equal(arm64(0x90000010, 0), PROLOGUE_EMULATED); /* adrp x16 */
	assert_int_equal(arm64(0x58000040, 0), PROLOGUE_EMULATED); /* ldr x0, literal */
	assert_int_equal(arm64(0xd503201f, 0), PROLOGUE_NOP);
	assert_int_equal(arm64(0xa9bf7bfd, 0), PROLOGUE_STEPPED); /* stp x29, x30, [sp, #-16]! */
	assert_int_equal(arm64(0xd503233f, 0), PROLOGUE_STEPPED); /* paciasp */
	assert_int_equal(arm64(0xd10083ff, 0), PROLOGUE_STEPPED); /* sub sp, sp, #32 */
	assert_int_equal(arm64(0xd503245f, 0x14000010), PROLOGUE_LANDING); /* bti c; b */
	assert_int_equal(arm64(0xd503245f, 0xa9bf7bfd), PROLOGUE_STEPPED); /* bti c; stp */
}

static void too_little_code_is_unknown(void **state)
{
	const uint8_t code[4] = { 0x55 };

	(void)state;
	assert_int_equal(prologue__classify(EM_X86_64, code, 0), PROLOGUE_UNKNOWN);
	assert_int_equal(prologue__classify(EM_AARCH64, code, 3), PROLOGUE_UNKNOWN);
	assert_int_equal(prologue__classify(EM_RISCV, code, 4), PROLOGUE_UNKNOWN);
}

/* ---- modules ---------------------------------------------------------------------- */

static void looks_at_its_own_modules(void **state)
{
	struct modules mods;
	bool libc = false;

	(void)state;
	assert_int_equal(modules__read(getpid(), &mods), 0);
	for (size_t i = 0; i < mods.count; i++)
		libc |= strstr(mods.list[i].path, "libc.so") && !mods.list[i].err;
	assert_true(libc);
	assert_true(mods.loader);
	assert_false(mods.lower);
	assert_false(modules__have_runtime(&mods));
	modules__free(&mods);
	assert_int_equal(modules__read(0x7ffffffe, &mods), -ESRCH);
	modules__free(&mods);
}

static void knows_the_parts_of_the_runtime(void **state)
{
	static const struct {
		const char *path;
		bool part;
	} cases[] = {
		{ "/opt/lib64/libruntime.so", true },	 { "/opt/lib64/libacl_rt_impl.so", true },
		{ "/opt/lib64/libascendcl.so.1", true }, { "/opt/lib64/libhccl.so", false },
		{ "/libruntime.so/libfoo.so", false },	 { "libruntime", false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct module m = { .path = (char *)cases[i].path };

		assert_int_equal(module__is_runtime_part(&m), cases[i].part);
	}
}

/* ---- findings ------------------------------------------------------------------------ */

static void the_worst_finding_decides(void **state)
{
	struct findings f = {};
	char *text = NULL;
	size_t n = 0;
	FILE *out;

	(void)state;
	findings__advise(&f, "nothing to advise on");
	assert_string_equal(finding_level__fitness(f.worst), "fit");
	findings__add(&f, FINDING_OK, "one", "%d", 1);
	assert_string_equal(finding_level__fitness(f.worst), "fit");
	findings__add(&f, FINDING_BAD, "two", "broken");
	findings__advise(&f, "mend it");
	findings__add(&f, FINDING_LIMIT, "three", "some");
	assert_string_equal(finding_level__fitness(f.worst), "unfit");
	out = open_memstream(&text, &n);
	findings__print(&f, out);
	fclose(out);
	assert_string_equal(text, "  ok     one              1\n"
				  "  bad    two              broken\n"
				  "                          -> mend it\n"
				  "  limit  three            some\n");
	free(text);
	findings__free(&f);
	assert_int_equal(f.count, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_a_status),
		cmocka_unit_test(what_is_missing_is_unknown),
		cmocka_unit_test(nonsense_is_unknown),
		cmocka_unit_test(reads_our_own),
		cmocka_unit_test(only_a_filter_on_a_kernel_that_asks_it_kills),
		cmocka_unit_test(tries_the_kernel_without_privileges),
		cmocka_unit_test(knows_what_x86_emulates),
		cmocka_unit_test(knows_what_arm64_simulates),
		cmocka_unit_test(too_little_code_is_unknown),
		cmocka_unit_test(looks_at_its_own_modules),
		cmocka_unit_test(knows_the_parts_of_the_runtime),
		cmocka_unit_test(the_worst_finding_decides),
	};

	return cmocka_run_group_tests_name("doctor", tests, NULL, NULL);
}
