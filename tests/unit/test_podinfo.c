/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Names of pods, from trees that are made up. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "podinfo.h"
#include "procinfo.h"

#define ID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define ID2 "1123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define POD_UID "6f1c3a52-0b7e-4c19-9d55-aabbccddeeff"
#define SYSTEMD                                                                                     \
	"/kubepods.slice/kubepods-pod6f1c3a52_0b7e_4c19_9d55_aabbccddeeff.slice/cri-containerd-" ID \
	".scope"
#define CGROUPFS "/kubepods/burstable/pod" POD_UID "/" ID

static char root[64];

static struct podinfo_roots roots(void)
{
	static char host[80], proc[80];

	snprintf(host, sizeof(host), "%s/host", root);
	snprintf(proc, sizeof(proc), "%s/proc", root);
	return (struct podinfo_roots){ .proc = proc, .host = host };
}

static void make_folders(const char *path)
{
	char full[PATH_MAX];

	snprintf(full, sizeof(full), "%s/%s", root, path);
	for (char *at = full + strlen(root) + 1; (at = strchr(at, '/')); at++) {
		*at = '\0';
		mkdir(full, 0755);
		*at = '/';
	}
}

static void make_file(const char *path, const char *data, size_t len)
{
	char full[PATH_MAX];
	FILE *f;

	make_folders(path);
	snprintf(full, sizeof(full), "%s/%s", root, path);
	f = fopen(full, "we");
	assert_non_null(f);
	assert_int_equal(fwrite(data, 1, len, f), len);
	fclose(f);
}

static int make_root(void **state)
{
	(void)state;
	snprintf(root, sizeof(root), "/tmp/aclguard-test-podinfo-XXXXXX");
	return mkdtemp(root) ? 0 : -1;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

static int remove_root(void **state)
{
	(void)state;
	return nftw(root, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static void expect(const char *cgroup, const char *name_space, const char *pod,
		   const char *container)
{
	const struct podinfo_roots where = roots();
	struct procinfo info = { .pid = 7, .cgroup = (char *)cgroup };
	struct podinfo got;

	procinfo__container_of(cgroup, info.container);
	podinfo__find(&where, 7, &info, &got);
	assert_string_equal(got.name_space, name_space);
	assert_string_equal(got.pod, pod);
	assert_string_equal(got.container, container);
}

static void outside_of_containers_nothing_is_known(void **state)
{
	struct podinfo got;

	(void)state;
	make_file("proc/7/environ", "POD_NAME=a", 11);
	expect("/system.slice/sshd.service", "", "", "");
	podinfo__find(NULL, 7, NULL, &got);
	assert_string_equal(got.pod, "");
}

static void the_log_of_the_container_tells_all(void **state)
{
	(void)state;
	make_file("host/var/log/containers/other-0_ml_main-" ID2 ".log", "", 0);
	make_file("host/var/log/containers/train-0.x_ml_main-2-" ID ".log", "", 0);
	make_file("proc/7/environ", "POD_NAME=liar", 14);
	expect(SYSTEMD, "ml", "train-0.x", "main-2");
	expect("/docker/" ID, "ml", "train-0.x", "main-2");
}

static void the_folder_of_the_pod_tells_the_rest(void **state)
{
	(void)state;
	make_file("host/var/log/pods/a_b_00000000-0b7e-4c19-9d55-aabbccddeeff/x/0.log", "", 0);
	make_file("host/var/log/pods/ml_train-0_" POD_UID "/main/0.log", "", 0);
	expect(SYSTEMD, "ml", "train-0", "main");
	expect(CGROUPFS, "ml", "train-0", "main");
	/* of two containers it cannot be told which */
	make_file("host/var/log/pods/ml_train-0_" POD_UID "/sidecar/0.log", "", 0);
	expect(SYSTEMD, "ml", "train-0", "0123456789ab");
}

static void the_environment_counts_where_nothing_else_is_known(void **state)
{
	static const char env[] = "A=B\0POD_NAME=train-0\0POD_NAMESPACE=ml\0HOSTNAME=h\0";
	static const char conventional[] = "KUBERNETES_SERVICE_HOST=10.0.0.1\0HOSTNAME=train-7";
	static const char docker[] = "HOSTNAME=0123456789ab";

	(void)state;
	make_file("proc/7/environ", env, sizeof(env));
	expect("/docker/" ID, "ml", "train-0", "0123456789ab");
	make_file("proc/7/environ", conventional, sizeof(conventional) - 1);
	expect(SYSTEMD, "", "train-7", "0123456789ab");
	make_file("proc/7/environ", docker, sizeof(docker));
	expect("/docker/" ID, "", "", "0123456789ab");
}

static void only_ids_are_shown_as_they_are(void **state)
{
	(void)state;
	expect(SYSTEMD, "", POD_UID, "0123456789ab");
	expect("/docker/" ID, "", "", "0123456789ab");
}

static void hostile_names_are_not_taken(void **state)
{
	static const char env[] = "POD_NAME=../../etc\0POD_NAMESPACE=a b\"\n";
	char large[400 << 10];

	(void)state;
	make_file("host/var/log/containers/Train_ml_main-" ID ".log", "", 0);
	make_file("host/var/log/containers/a_b-" ID ".log", "", 0);
	make_file("host/var/log/containers/_b_c-" ID ".log", "", 0);
	make_file("host/var/log/containers/-" ID ".log", "", 0);
	make_file("host/var/log/containers/a_b_" ID ".log", "", 0);
	make_file("host/var/log/pods/ml__" POD_UID "/main/0.log", "", 0);
	make_file("proc/7/environ", env, sizeof(env));
	expect(SYSTEMD, "", POD_UID, "0123456789ab");
	memset(large, 'A', sizeof(large));
	make_file("proc/7/environ", large, sizeof(large));
	expect(SYSTEMD, "", POD_UID, "0123456789ab");
	memcpy(large, "POD_NAME=", 9);
	make_file("proc/7/environ", large, sizeof(large));
	expect(SYSTEMD, "", POD_UID, "0123456789ab");
}

/* A reader of the environment that never comes back, as if its pages were withheld. */
static void who_withholds_its_environment_delays_nobody(void **state)
{
	char path[PATH_MAX];

	(void)state;
	make_folders("proc/7/environ");
	snprintf(path, sizeof(path), "%s/proc/7/environ", root);
	assert_int_equal(mkfifo(path, 0600), 0);
	expect("/docker/" ID, "", "", "0123456789ab");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_root, remove_root)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(outside_of_containers_nothing_is_known),
		TEST(the_log_of_the_container_tells_all),
		TEST(the_folder_of_the_pod_tells_the_rest),
		TEST(the_environment_counts_where_nothing_else_is_known),
		TEST(only_ids_are_shown_as_they_are),
		TEST(hostile_names_are_not_taken),
		TEST(who_withholds_its_environment_delays_nobody),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
