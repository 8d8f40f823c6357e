/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The newest violations, and the datagrams for the journal and the service manager. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "journal.h"
#include "recent.h"
#include "sdnotify.h"

static void expect(struct recent *r, size_t n, const char *wanted)
{
	struct textbuf out;

	textbuf__init(&out, 64U << 20);
	recent__render(r, n, &out);
	textbuf__add(&out, "", 1);
	assert_int_equal(out.err, 0);
	assert_string_equal(out.data, wanted);
	textbuf__free(&out);
}

static void put(struct recent *r, uint64_t nr, const char *json)
{
	recent__violation(r, nr, json, strlen(json));
}

static void the_newest_come_first(void **state)
{
	struct recent *r = recent__new(2);

	(void)state;
	expect(r, 9, "[\n]\n");
	put(r, 1, "{\"id\":1}\n");
	put(r, 2, "{\"id\":2}\n");
	recent__followup(r, 1, "{\"of\":1}\n", 9);
	expect(r, 9, "[\n{\"id\":2,\"followup\":null},\n{\"id\":1,\"followup\":{\"of\":1}}\n]\n");
	put(r, 3, "{\"id\":3}\n");
	recent__followup(r, 1, "{\"of\":1}\n", 9); /* it is not there any more */
	recent__followup(r, 2, "{\"of\":2}\n", 9);
	recent__followup(r, 2, "{\"of\":22}\n", 10);
	expect(r, 9, "[\n{\"id\":3,\"followup\":null},\n{\"id\":2,\"followup\":{\"of\":22}}\n]\n");
	expect(r, 1, "[\n{\"id\":3,\"followup\":null}\n]\n");
	recent__free(r);
}

static void none_are_kept_where_none_are_wanted(void **state)
{
	struct recent *r = recent__new(0);

	(void)state;
	put(r, 1, "{\"id\":1}\n");
	recent__followup(r, 1, "{}\n", 3);
	expect(r, 9, "[\n]\n");
	recent__free(r);
	recent__free(NULL);
}

static void bytes_are_bounded(void **state)
{
	struct recent *r = recent__new(1000);
	char *large = malloc(RECENT_BYTES_MAX + 16);
	struct textbuf out;

	(void)state;
	assert_non_null(large);
	memset(large, 'x', RECENT_BYTES_MAX + 16);
	large[RECENT_BYTES_MAX / 10] = '}';
	for (uint64_t i = 0; i < 100; i++) {
		recent__violation(r, i, large, RECENT_BYTES_MAX / 10 + 1);
		recent__followup(r, i, large, RECENT_BYTES_MAX / 10 + 1);
	}
	large[RECENT_BYTES_MAX + 15] = '}';
	recent__violation(r, 100, large, RECENT_BYTES_MAX + 16);
	textbuf__init(&out, 64U << 20);
	recent__render(r, 1000, &out);
	assert_in_range(out.len, RECENT_BYTES_MAX / 2, RECENT_BYTES_MAX + 1000);
	textbuf__free(&out);
	free(large);
	recent__free(r);
}

/* ---- datagrams ----------------------------------------------------------- */

static char path[64];
static int sock;

static int listen_there(void **state)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };

	(void)state;
	snprintf(path, sizeof(path), "/tmp/aclguard-test-%d.sock", (int)getpid());
	memcpy(at.sun_path, path, sizeof(path));
	sock = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	return sock < 0 || bind(sock, (struct sockaddr *)&at, sizeof(at));
}

static int leave(void **state)
{
	(void)state;
	close(sock);
	return unlink(path);
}

static void expect_datagram(const void *data, size_t len)
{
	char got[JOURNAL_ENTRY_MAX + 1];

	assert_int_equal(recv(sock, got, sizeof(got), 0), len);
	assert_memory_equal(got, data, len);
}

static void fields_may_hold_anything(void **state)
{
	static const char wanted[] = "MESSAGE\n\x05\0\0\0\0\0\0\0a\nB=c\n"
				     "PRIORITY\n\x01\0\0\0\0\0\0\0003\n";
	struct journal_entry e;

	(void)state;
	journal__begin(&e);
	journal__field(&e, "MESSAGE", "%s", "a\nB=c");
	journal__field(&e, "PRIORITY", "%d", 3);
	assert_int_equal(journal__send(&e, path), 0);
	expect_datagram(wanted, sizeof(wanted) - 1);
}

static void an_entry_that_is_too_long_is_refused(void **state)
{
	char large[JOURNAL_ENTRY_MAX];
	struct journal_entry e;

	(void)state;
	memset(large, 'x', sizeof(large));
	journal__begin(&e);
	journal__field(&e, "A", "%.*s", (int)sizeof(large) - 11, large);
	assert_int_equal(journal__send(&e, path), 0);
	journal__field(&e, "B", "%s", "");
	assert_int_equal(journal__send(&e, path), -EMSGSIZE);
	journal__begin(&e);
	journal__field(&e, "A", "%.*s", (int)sizeof(large) - 10, large);
	assert_int_equal(journal__send(&e, path), -EMSGSIZE);
}

static void nobody_listening_is_an_error(void **state)
{
	struct journal_entry e;

	(void)state;
	journal__begin(&e);
	journal__field(&e, "A", "b");
	assert_int_equal(journal__send(&e, "/nonexistent/socket"), -ENOENT);
	assert_int_equal(journal__send(&e, ""), -EINVAL);
}

static void a_full_socket_keeps_nobody_waiting(void **state)
{
	struct journal_entry e;
	int err = 0;

	(void)state;
	journal__begin(&e);
	journal__field(&e, "A", "b");
	for (int i = 0; i < 100000 && !err; i++)
		err = journal__send(&e, path);
	assert_int_equal(err, -EAGAIN);
}

static void the_manager_is_told(void **state)
{
	(void)state;
	unsetenv("NOTIFY_SOCKET");
	assert_int_equal(sdnotify__send("READY=1"), 0);
	setenv("NOTIFY_SOCKET", path, 1);
	assert_int_equal(sdnotify__send("STATUS=%d processes", 3), 0);
	expect_datagram("STATUS=3 processes", 18);
	setenv("NOTIFY_SOCKET", "@aclguard-test-nobody", 1);
	assert_int_equal(sdnotify__send("READY=1"), -ECONNREFUSED);
	unsetenv("NOTIFY_SOCKET");
}

static void the_watchdog_is_fed_twice_as_often(void **state)
{
	char pid[16];

	(void)state;
	unsetenv("WATCHDOG_USEC");
	assert_int_equal(sdnotify__watchdog(), 0);
	setenv("WATCHDOG_USEC", "30000000", 1);
	assert_int_equal(sdnotify__watchdog(), 15000000000);
	setenv("WATCHDOG_PID", "1", 1);
	assert_int_equal(sdnotify__watchdog(), 0);
	snprintf(pid, sizeof(pid), "%d", (int)getpid());
	setenv("WATCHDOG_PID", pid, 1);
	assert_int_equal(sdnotify__watchdog(), 15000000000);
	setenv("WATCHDOG_USEC", "3s", 1);
	assert_int_equal(sdnotify__watchdog(), 0);
	unsetenv("WATCHDOG_USEC");
	unsetenv("WATCHDOG_PID");
}

#define HEARD(name) cmocka_unit_test_setup_teardown(name, listen_there, leave)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_newest_come_first),
		cmocka_unit_test(none_are_kept_where_none_are_wanted),
		cmocka_unit_test(bytes_are_bounded),
		HEARD(fields_may_hold_anything),
		HEARD(an_entry_that_is_too_long_is_refused),
		cmocka_unit_test(nobody_listening_is_an_error),
		HEARD(a_full_socket_keeps_nobody_waiting),
		HEARD(the_manager_is_told),
		cmocka_unit_test(the_watchdog_is_fed_twice_as_often),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
