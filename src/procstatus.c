/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Reading /proc/PID/status. */
#define _GNU_SOURCE
#include "procstatus.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define STATUS_MAX 16384 /* the kernel writes about 1.5 KiB; supplementary groups can be many */
#define THREADS_MAX 4096

/* The text after "name:" and its blanks, up to the end of that line; NULL: no such line. */
static const char *field(const char *line, const char *end, const char *name)
{
	size_t n = strlen(name);

	if ((size_t)(end - line) <= n || memcmp(line, name, n) != 0 || line[n] != ':')
		return NULL;
	line += n + 1;
	while (line < end && (*line == ' ' || *line == '\t'))
		line++;
	return line;
}

/* Digits up to end; -1 if there are none, or too many. */
static int take_int(const char **at, const char *end)
{
	long val = 0;
	const char *p = *at;

	while (p < end && isdigit((unsigned char)*p) && val <= INT_MAX)
		val = val * 10 + (*p++ - '0');
	if (p == *at || val > INT_MAX)
		return -1;
	*at = p;
	return (int)val;
}

static void take_pids(const char *at, const char *end, struct procstatus *out)
{
	out->n_ns_pids = 0;
	while (at < end && out->n_ns_pids < PROCSTATUS_NS_MAX) {
		int pid = take_int(&at, end);

		if (pid < 0)
			break;
		out->ns_pids[out->n_ns_pids++] = pid;
		while (at < end && (*at == ' ' || *at == '\t'))
			at++;
	}
}

/* The second of the four; they use all of 32 bits. */
static void take_effective(const char *at, const char *end, uid_t *uid)
{
	uint64_t val = 0;
	const char *p;

	while (at < end && isdigit((unsigned char)*at))
		at++;
	while (at < end && (*at == ' ' || *at == '\t'))
		at++;
	for (p = at; p < end && isdigit((unsigned char)*p) && val <= UINT32_MAX; p++)
		val = val * 10 + (uint64_t)(*p - '0');
	if (p > at && val <= UINT32_MAX)
		*uid = (uid_t)val;
}

static enum seccomp_mode take_mode(const char *at, const char *end)
{
	int mode = take_int(&at, end);

	return mode >= SECCOMP_NONE && mode <= SECCOMP_FILTER ? (enum seccomp_mode)mode
							      : SECCOMP_UNKNOWN;
}

static uint64_t take_hex(const char *at, const char *end)
{
	uint64_t val = 0;

	for (; at < end && isxdigit((unsigned char)*at); at++)
		val = val << 4 | (uint64_t)(isdigit((unsigned char)*at)
						    ? *at - '0'
						    : tolower((unsigned char)*at) - 'a' + 10);
	return val;
}

static void parse_signals(const char *line, const char *end, struct procstatus *out)
{
	const char *at;

	if ((at = field(line, end, "SigPnd")))
		out->sig_pending = take_hex(at, end);
	else if ((at = field(line, end, "ShdPnd")))
		out->sig_shared = take_hex(at, end);
	else if ((at = field(line, end, "SigBlk")))
		out->sig_blocked = take_hex(at, end);
	else if ((at = field(line, end, "SigIgn")))
		out->sig_ignored = take_hex(at, end);
	else if ((at = field(line, end, "SigCgt")))
		out->sig_caught = take_hex(at, end);
	else
		return;
	out->has_signals = true;
}

static void parse_line(const char *line, const char *end, struct procstatus *out)
{
	const char *at;

	if ((at = field(line, end, "State")) && at < end)
		out->state = *at;
	else if ((at = field(line, end, "Tgid")))
		out->tgid = take_int(&at, end);
	else if ((at = field(line, end, "Uid")))
		take_effective(at, end, &out->uid);
	else if ((at = field(line, end, "NSpid")))
		take_pids(at, end, out);
	else if ((at = field(line, end, "NoNewPrivs")))
		out->no_new_privs = take_int(&at, end);
	else if ((at = field(line, end, "Seccomp")))
		out->seccomp = take_mode(at, end);
	else if ((at = field(line, end, "Seccomp_filters")))
		out->filters = take_int(&at, end);
	else if ((at = field(line, end, "TracerPid")))
		out->tracer = take_int(&at, end);
	else
		parse_signals(line, end, out);
}

void procstatus__parse(const char *text, size_t len, struct procstatus *out)
{
	const char *end = text + len;

	*out = (struct procstatus){
		.seccomp = SECCOMP_UNKNOWN,
		.filters = -1,
		.no_new_privs = -1,
	};
	while (text < end) {
		const char *nl = memchr(text, '\n', (size_t)(end - text));

		parse_line(text, nl ? nl : end, out);
		text = nl ? nl + 1 : end;
	}
	if (out->tgid < 0)
		out->tgid = 0;
	if (out->tracer < 0)
		out->tracer = 0;
}

static int read_path(const char *path, struct procstatus *out)
{
	char text[STATUS_MAX];
	size_t done = 0;
	ssize_t n;
	int fd, err = 0;

	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT ? -ESRCH : -errno;
	while (done < sizeof(text)) {
		n = read(fd, text + done, sizeof(text) - done);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			err = -errno;
		if (n <= 0)
			break;
		done += (size_t)n;
	}
	close(fd);
	if (!err)
		procstatus__parse(text, done, out);
	return err;
}

int procstatus__read(pid_t pid, struct procstatus *out)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	return read_path(path, out);
}

int procstatus__read_thread(pid_t pid, pid_t tid, struct procstatus *out)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/task/%d/status", pid, tid);
	return read_path(path, out);
}

enum seccomp_mode procstatus__seccomp_of_threads(pid_t pid)
{
	enum seccomp_mode most = SECCOMP_UNKNOWN;
	struct procstatus st = { .seccomp = SECCOMP_UNKNOWN };
	struct dirent *de;
	char path[64];
	size_t n = 0;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	dir = opendir(path);
	while (dir && n < THREADS_MAX && (de = readdir(dir))) {
		if (!isdigit((unsigned char)de->d_name[0]))
			continue;
		n++;
		snprintf(path, sizeof(path), "/proc/%d/task/%.16s/status", pid, de->d_name);
		if (!read_path(path, &st) && st.seccomp > most)
			most = st.seccomp;
	}
	if (dir)
		closedir(dir);
	return most;
}
