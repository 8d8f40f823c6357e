/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Reading tracefs. */
#define _GNU_SOURCE
#include "tracefs.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define FSCONFIG_CMD_CREATE_ 6 /* linux/mount.h, which clashes with sys/mount.h */

/* Mounted nowhere: it is gone when the last descriptor is. */
static int open_detached(void)
{
	int fs, mnt, err;

	fs = (int)syscall(SYS_fsopen, "tracefs", 1 /* FSOPEN_CLOEXEC */);
	if (fs < 0)
		return -errno;
	if (syscall(SYS_fsconfig, fs, FSCONFIG_CMD_CREATE_, NULL, NULL, 0)) {
		err = -errno;
		close(fs);
		return err;
	}
	mnt = (int)syscall(SYS_fsmount, fs, 1 /* FSMOUNT_CLOEXEC */, 0);
	err = -errno;
	close(fs);
	return mnt < 0 ? err : mnt;
}

int tracefs__open(void)
{
	static const char *const places[] = { "/sys/kernel/tracing", "/sys/kernel/debug/tracing" };

	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		int fd = open(places[i], O_RDONLY | O_DIRECTORY | O_CLOEXEC);

		if (fd < 0)
			continue;
		if (!faccessat(fd, "events/sched", R_OK, AT_EACCESS))
			return fd;
		close(fd);
	}
	return open_detached();
}

static FILE *open_event(int dir, const char *event, const char *file)
{
	char path[PATH_MAX];
	FILE *f;
	int fd;

	snprintf(path, sizeof(path), "events/%s/%s", event, file);
	fd = openat(dir, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return NULL;
	f = fdopen(fd, "r");
	if (!f)
		close(fd);
	return f;
}

int tracefs__id(int dir, const char *event)
{
	FILE *f = open_event(dir, event, "id");
	char text[32];
	long id = 0;

	if (!f)
		return -errno;
	if (fgets(text, sizeof(text), f))
		id = strtol(text, NULL, 10);
	fclose(f);
	return id > 0 && id < INT_MAX ? (int)id : -EINVAL;
}

/* A line is "\tfield:TYPE NAME;\toffset:N;\tsize:N;..." */
int tracefs__field(int dir, const char *event, const char *field)
{
	FILE *f = open_event(dir, event, "format");
	char line[512], want[64];
	const char *at;
	int offset = -ENOENT;

	if (!f)
		return -errno;
	snprintf(want, sizeof(want), " %s;", field);
	while (fgets(line, sizeof(line), f)) {
		if (!strstr(line, want))
			continue;
		at = strstr(line, "offset:");
		if (at)
			offset = (int)strtol(at + strlen("offset:"), NULL, 10);
		break;
	}
	fclose(f);
	return offset;
}
