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

static struct elffile *take_if_same(struct elffile *ef, const uint8_t *id, unsigned int id_len)
{
	uint8_t other[ELFFILE_BUILD_ID_MAX];
	int n = elffile__build_id(ef, other);

	if (n > 0 && (unsigned int)n == id_len && memcmp(id, other, id_len) == 0)
		return ef;
	elffile__close(ef);
	return NULL;
}

static struct elffile *open_by_id(const char *dir, const uint8_t *id, unsigned int id_len)
{
	char path[PATH_MAX], hex[2 * ELFFILE_BUILD_ID_MAX + 1];
	struct elffile *ef;
	int n;

	if (id_len < 2 || id_len > ELFFILE_BUILD_ID_MAX)
		return NULL;
	for (unsigned int i = 0; i < id_len; i++)
		snprintf(hex + 2 * i, 3, "%02x", id[i]);
	n = snprintf(path, sizeof(path), "%s/.build-id/%.2s/%s.debug", dir, hex, hex + 2);
	if (n >= (int)sizeof(path) || elffile__open(path, &ef))
		return NULL;
	return take_if_same(ef, id, id_len);
}

/* A name that a file contains: below dir, also if it has "..", or leads over links. */
static struct elffile *open_below(const char *dir, const char *name)
{
	int root = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC), fd;
	struct elffile *ef = NULL;

	if (root < 0)
		return NULL;
	fd = elffile__open_in_root(root, name);
	close(root);
	if (fd < 0)
		return NULL;
	if (elffile__open_fd(fd, &ef))
		ef = NULL;
	close(fd);
	return ef;
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
		return take_if_same(ef, id, id_len);
	if (has_sum(ef, sum))
		return ef;
	elffile__close(ef);
	return NULL;
}

static struct elffile *open_by_link(const char *dir, const char *path, const char *name,
				    const uint8_t *id, unsigned int id_len, uint32_t sum)
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

static const char *nth_dir(const struct debug_dirs *dirs, unsigned int i)
{
	if (i < dirs->n)
		return dirs->dir[i];
	return i == dirs->n ? DEBUGFILE_DIR : NULL;
}

struct elffile *debugfile__find(const struct debug_dirs *dirs, struct elffile *ef,
				const uint8_t *id, unsigned int id_len, const char *path)
{
	struct elffile *found = NULL;
	char name[LINK_MAX];
	const char *dir;
	uint32_t sum;

	for (unsigned int i = 0; !found && (dir = nth_dir(dirs, i)); i++)
		found = open_by_id(dir, id, id_len);
	if (found || elffile__has_section(ef, ".gnu_debuglink") != 1 || !read_link(ef, name, &sum))
		return found;
	for (unsigned int i = 0; !found && (dir = nth_dir(dirs, i)); i++)
		found = open_by_link(dir, path, name, id, id_len, sum);
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
	const char *dir, *name;
	char buf[LINK_MAX];
	ssize_t n = elffile__read_section(ef, ".gnu_debugaltlink", buf, sizeof(buf));
	size_t len = n > 0 ? strnlen(buf, n) : 0;

	*id_len = 0;
	if (n <= 0 || len >= (size_t)n || n - len - 1 > ELFFILE_BUILD_ID_MAX)
		return NULL;
	*id_len = n - len - 1;
	memcpy(id, buf + len + 1, *id_len);
	for (unsigned int i = 0; !found && (dir = nth_dir(dirs, i)); i++)
		found = open_by_id(dir, id, *id_len);
	name = below_dwz(buf);
	for (unsigned int i = 0; !found && name && (dir = nth_dir(dirs, i)); i++) {
		found = open_below(dir, name);
		if (found)
			found = take_if_same(found, id, *id_len);
	}
	return found;
}
