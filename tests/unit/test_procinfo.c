/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Who a process is: container ids in the names of control groups, and what /proc says of us. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "procinfo.h"

#define ID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define OTHER "fedcba9876543210fedcba9876543210fedcba9876543210fedcba9876543210"

static void assert_container(const char *cgroup, const char *wanted)
{
	char id[PROCINFO_CONTAINER_MAX + 1] = "stale";

	procinfo__container_of(cgroup, id);
	assert_string_equal(id, wanted);
}

static void ids_are_found_as_engines_write_them(void **state)
{
	(void)state;
	assert_container("/system.slice/docker-" ID ".scope", ID);
	assert_container("/docker/" ID, ID);
	assert_container("/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod"
			 "12345678_1234_1234_1234_123456789abc.slice/cri-containerd-" ID ".scope",
			 ID);
	assert_container("/kubepods/besteffort/pod12345678-1234-1234-1234-123456789abc/" ID, ID);
	assert_container("/machine.slice/libpod-" ID ".scope/container", ID);
	assert_container("/crio-" ID, ID);
	assert_container("/isulad/" ID "/init.scope", ID);
}

static void the_innermost_container_counts(void **state)
{
	(void)state;
	assert_container("/docker/" OTHER "/docker/" ID "/system.slice", ID);
}

static void what_is_no_id_is_none(void **state)
{
	(void)state;
	assert_container("", "");
	assert_container("/", "");
	assert_container("/user.slice/user-1000.slice/session-3.scope", "");
	assert_container("/docker/" ID "0", ""); /* too long */
	assert_container("/docker/x" ID, "");	 /* part of a word */
	assert_container("/docker/" ID "xyz", "");
	assert_container("/docker/0123456789ab", ""); /* too short to be sure */
	assert_container("/0123456789ABCDEF0123456789ABCDEF0123456789ABCDEF0123456789ABCDEF", "");
}

static void we_are_known_to_ourselves(void **state)
{
	struct procs *ps = procs__new();
	const struct procinfo *me = procs__get(ps, getpid());

	(void)state;
	assert_non_null(me);
	assert_int_equal(me->pid, getpid());
	assert_int_equal(me->ns_pid, getpid());
	assert_int_equal(me->uid, geteuid());
	assert_string_equal(me->comm, "test_procinfo");
	assert_non_null(me->cgroup);
	assert_ptr_equal(procs__get(ps, getpid()), me);
	procs__refresh(ps, getpid());
	assert_int_equal(procs__get(ps, getpid())->pid, getpid());
	procs__forget(ps, getpid());
	procs__forget(ps, getpid());
	assert_non_null(procs__get(ps, getpid()));
	procs__free(ps);
}

static void who_is_not_there_is_not_known(void **state)
{
	struct procs *ps = procs__new();

	(void)state;
	assert_null(procs__get(ps, 0x7ffffffe));
	procs__forget(ps, 0x7ffffffe);
	assert_null(procs__get(NULL, 1));
	procs__free(ps);
	procs__free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ids_are_found_as_engines_write_them),
		cmocka_unit_test(the_innermost_container_counts),
		cmocka_unit_test(what_is_no_id_is_none),
		cmocka_unit_test(we_are_known_to_ourselves),
		cmocka_unit_test(who_is_not_there_is_not_known),
	};

	return cmocka_run_group_tests_name("procinfo", tests, NULL, NULL);
}
