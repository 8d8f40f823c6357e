/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* A socket a datagram: they are few. */
#include "unixgram.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

int unixgram__send(const char *path, const void *data, size_t len)
{
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	size_t n = strlen(path);
	socklen_t to_len;
	int fd, err = 0;

	if (!n || n >= sizeof(to.sun_path))
		return -EINVAL;
	memcpy(to.sun_path, path, n + 1);
	to_len = offsetof(struct sockaddr_un, sun_path) + n + (path[0] != '@');
	if (path[0] == '@')
		to.sun_path[0] = '\0';
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	if (sendto(fd, data, len, MSG_NOSIGNAL, (const struct sockaddr *)&to, to_len) < 0)
		err = -errno;
	close(fd);
	return err;
}
