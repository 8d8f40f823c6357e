/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Separate debug files, see debugfile.h. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* O_PATH */
#endif
#include "debugfile.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#define SUM_MAX (512UL << 20) /* a larger file is not read for its checksum */
#define LINK_MAX (PATH_MAX + 8 + ELFFILE_BUILD_ID_MAX)

int debug_dirs__add(struct debug_dirs *dirs, const char *path)
{
	int fd;

	if (dirs->n == DEBUGFILE_DIRS_MAX)
		return -E2BIG;
	fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	dirs->fd[dirs->n++] = fd;
	return 0;
}

void debug_dirs__close(struct debug_dirs *dirs)
{
	while (dirs->n > 0)
		close(dirs->fd[--dirs->n]);
}

struct elffile *debugfile__take_if_same(struct elffile *ef, const uint8_t *id, unsigned int id_len)
{
	uint8_t other[ELFFILE_BUILD_ID_MAX];
	int n = elffile__build_id(ef, other);

	if (n > 0 && (unsigned int)n == id_len && memcmp(id, other, id_len) == 0)
		return ef;
	elffile__close(ef);
	return NULL;
}

/* Below the directory, also if the name has "..", or leads over links. */
static struct elffile *open_below(int dir, const char *name)
{
	int fd = elffile__open_in_root(dir, name);
	struct elffile *ef = NULL;

	if (fd < 0)
		return NULL;
	if (elffile__open_fd(fd, &ef))
		ef = NULL;
	close(fd);
	return ef;
}

static struct elffile *open_by_id(int dir, const uint8_t *id, unsigned int id_len)
{
	char path[2 * ELFFILE_BUILD_ID_MAX + 32], hex[2 * ELFFILE_BUILD_ID_MAX + 1];
	struct elffile *ef;

	if (id_len < 2 || id_len > ELFFILE_BUILD_ID_MAX)
		return NULL;
	for (unsigned int i = 0; i < id_len; i++)
		snprintf(hex + 2 * i, 3, "%02x", id[i]);
	snprintf(path, sizeof(path), ".build-id/%.2s/%s.debug", hex, hex + 2);
	ef = open_below(dir, path);
	return ef ? debugfile__take_if_same(ef, id, id_len) : NULL;
}

static bool has_sum(struct elffile *ef, uint32_t wanted)
{
	uLong sum = crc32(0, NULL, 0);
	unsigned char buf[16384];
	off_t at = 0;
	ssize_t n;

	while ((n = pread(elffile__fd(ef), buf, sizeof(buf), at)) > 0) {
		sum = crc32(sum, buf, (uInt)n);
		at += n;
		if ((size_t)at > SUM_MAX)
			return false;
	}
	return n == 0 && sum == wanted;
}

/* The build id where there is one: a checksum takes reading all of the file. */
static struct elffile *check_link(struct elffile *ef, const uint8_t *id, unsigned int id_len,
				  uint32_t sum)
{
	if (!ef)
		return NULL;
	if (id_len)
		return debugfile__take_if_same(ef, id, id_len);
	if (has_sum(ef, sum))
		return ef;
	elffile__close(ef);
	return NULL;
}

static struct elffile *open_by_link(int dir, const char *path, const char *name, const uint8_t *id,
				    unsigned int id_len, uint32_t sum)
{
	const char *slash = path ? strrchr(path, '/') : NULL;
	struct elffile *ef = NULL;
	char full[2 * PATH_MAX];
	int n;

	if (slash) {
		n = snprintf(full, sizeof(full), "%.*s/%s", (int)(slash - path), path, name);
		if (n < (int)sizeof(full))
			ef = check_link(open_below(dir, full), id, id_len, sum);
	}
	return ef ? ef : check_link(open_below(dir, name), id, id_len, sum);
}

/* The name of .gnu_debuglink, and the checksum after it. */
static bool read_link(struct elffile *ef, char buf[LINK_MAX], uint32_t *sum)
{
	ssize_t n = elffile__read_section(ef, ".gnu_debuglink", buf, LINK_MAX);
	size_t len, at;

	if (n <= 0)
		return false;
	len = strnlen(buf, n);
	at = (len + 4) & ~3UL; /* aligned, after the NUL */
	if (len == 0 || len > NAME_MAX || strchr(buf, '/') || at + sizeof(*sum) > (size_t)n)
		return false;
	memcpy(sum, buf + at, sizeof(*sum));
	return true;
}

struct elffile *debugfile__find(const struct debug_dirs *dirs, struct elffile *ef,
				const uint8_t *id, unsigned int id_len, const char *path)
{
	struct elffile *found = NULL;
	char name[LINK_MAX];
	uint32_t sum;

	for (unsigned int i = 0; !found && i < dirs->n; i++)
		found = open_by_id(dirs->fd[i], id, id_len);
	if (found || elffile__has_section(ef, ".gnu_debuglink") != 1 || !read_link(ef, name, &sum))
		return found;
	for (unsigned int i = 0; !found && i < dirs->n; i++)
		found = open_by_link(dirs->fd[i], path, name, id, id_len, sum);
	return found;
}

/* The part of a name below a directory of shared debug information, or NULL. */
static const char *below_dwz(const char *name)
{
	const char *at = NULL, *next = name;

	while ((next = strstr(next, "/.dwz/")))
		at = next++;
	return at;
}

struct elffile *debugfile__find_alt(const struct debug_dirs *dirs, struct elffile *ef,
				    uint8_t id[ELFFILE_BUILD_ID_MAX], unsigned int *id_len)
{
	struct elffile *found = NULL;
	const char *name;
	char buf[LINK_MAX];
	ssize_t n = elffile__read_section(ef, ".gnu_debugaltlink", buf, sizeof(buf));
	size_t len = n > 0 ? strnlen(buf, n) : 0;

	*id_len = 0;
	if (n <= 0 || len >= (size_t)n || n - len - 1 > ELFFILE_BUILD_ID_MAX)
		return NULL;
	*id_len = n - len - 1;
	memcpy(id, buf + len + 1, *id_len);
	for (unsigned int i = 0; !found && i < dirs->n; i++)
		found = open_by_id(dirs->fd[i], id, *id_len);
	name = below_dwz(buf);
	for (unsigned int i = 0; !found && name && i < dirs->n; i++) {
		found = open_below(dirs->fd[i], name);
		if (found)
			found = debugfile__take_if_same(found, id, *id_len);
	}
	return found;
}
