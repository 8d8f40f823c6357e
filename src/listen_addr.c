/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Addresses to listen on: what is written, and the sockets for it. */
#define _GNU_SOURCE
#include "listen_addr.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BACKLOG 128
#define UNIX "unix:"

__attribute__((format(printf, 4, 5))) static int fail(char *why, size_t size, int err,
						      const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(why, size, fmt, args);
	va_end(args);
	return err;
}

/* ---- as written ---------------------------------------------------------- */

static int parse_unix(const char *path, struct listen_addr *a, char *why, size_t size)
{
	size_t len = strlen(path);

	if (len == 0 || *path == '@')
		return fail(why, size, -EINVAL,
			    "unix:%s names no file: write unix:/run/aclguard/web.sock", path);
	if (len >= sizeof(a->un.sun_path))
		return fail(why, size, -EINVAL, "the path of a socket has at most %zu bytes: %s",
			    sizeof(a->un.sun_path) - 1, path);
	a->un.sun_family = AF_UNIX;
	memcpy(a->un.sun_path, path, len + 1);
	a->len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len + 1);
	return 0;
}

static bool parse_port(const char *text, in_port_t *port)
{
	size_t len = strspn(text, "0123456789");
	unsigned long n = strtoul(text, NULL, 10);

	if (len == 0 || len > 5 || text[len] || n > 65535)
		return false;
	*port = htons((in_port_t)n);
	return true;
}

static bool parse_host(const char *host, struct listen_addr *a, in_port_t port)
{
	size_t len = strlen(host);
	char v6[INET6_ADDRSTRLEN];

	if (len == 0 || *host == '[') {
		a->all = len == 0;
		a->in6 = (struct sockaddr_in6){ .sin6_family = AF_INET6, .sin6_port = port };
		a->len = sizeof(a->in6);
		if (a->all)
			return true;
		if (host[len - 1] != ']' || len - 2 >= sizeof(v6))
			return false;
		memcpy(v6, host + 1, len - 2);
		v6[len - 2] = '\0';
		return inet_pton(AF_INET6, v6, &a->in6.sin6_addr) == 1;
	}
	a->in = (struct sockaddr_in){ .sin_family = AF_INET, .sin_port = port };
	a->len = sizeof(a->in);
	if (strcmp(host, "localhost") == 0)
		host = "127.0.0.1";
	return inet_pton(AF_INET, host, &a->in.sin_addr) == 1;
}

int listen_addr__parse(const char *text, struct listen_addr *a, char *why, size_t size)
{
	const char *colon = strrchr(text, ':');
	char host[INET6_ADDRSTRLEN + 2];
	in_port_t port;

	memset(a, 0, sizeof(*a));
	if (strncmp(text, UNIX, strlen(UNIX)) == 0)
		return parse_unix(text + strlen(UNIX), a, why, size);
	if (!colon)
		return fail(why, size, -EINVAL,
			    "%s has no port: write HOST:PORT, :PORT or unix:PATH", text);
	if (!parse_port(colon + 1, &port))
		return fail(why, size, -EINVAL, "%s: a port is a number from 0 to 65535", text);
	if ((size_t)(colon - text) < sizeof(host)) {
		memcpy(host, text, (size_t)(colon - text));
		host[colon - text] = '\0';
		if (parse_host(host, a, port))
			return 0;
	}
	return fail(
		why, size, -EINVAL,
		"%s: the host is an IPv4 address, an IPv6 address in brackets, localhost, or nothing "
		"for all",
		text);
}

/* ---- sockets ------------------------------------------------------------- */

/* Whether somebody listens on a socket in the file system. */
static bool is_listened_on(const struct listen_addr *a)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	bool yes;

	if (fd < 0)
		return true; /* who knows */
	yes = connect(fd, &a->sa, a->len) == 0 || errno != ECONNREFUSED;
	close(fd);
	return yes;
}

static int remove_stale(const struct listen_addr *a, char *why, size_t size)
{
	const char *path = a->un.sun_path;
	struct stat st;

	if (lstat(path, &st))
		return 0;
	if (!S_ISSOCK(st.st_mode))
		return fail(why, size, -EEXIST, "%s exists and is no socket: it is left alone",
			    path);
	if (is_listened_on(a))
		return fail(why, size, -EADDRINUSE,
			    "somebody listens on %s already: end that one, or name another path",
			    path);
	if (unlink(path))
		return fail(why, size, -errno, "cannot remove the stale socket %s: %s", path,
			    strerror(errno));
	return 0;
}

static int bind_unix(struct listener *l, const struct listen_addr *a, mode_t mode, char *why,
		     size_t size)
{
	const char *path = a->un.sun_path;
	struct stat st;
	int err = remove_stale(a, why, size);

	if (err)
		return err;
	/* before, so that it never is more than that; and after, as the umask takes from it */
	if (fchmod(l->fd, mode) || bind(l->fd, &a->sa, a->len) || lstat(path, &st))
		return fail(why, size, -errno, "cannot listen on unix:%s: %s", path,
			    strerror(errno));
	l->dev = st.st_dev;
	l->ino = st.st_ino;
	snprintf(l->name, sizeof(l->name), UNIX "%s", path);
	if (chmod(path, mode))
		return fail(why, size, -errno, "cannot set the permissions of %s: %s", path,
			    strerror(errno));
	return 0;
}

static void name_inet(struct listener *l, const struct listen_addr *asked)
{
	struct listen_addr a = *asked;
	char host[INET6_ADDRSTRLEN] = "";

	getsockname(l->fd, &a.sa, &a.len);
	if (a.sa.sa_family == AF_INET)
		snprintf(l->name, sizeof(l->name), "%s:%u",
			 inet_ntop(AF_INET, &a.in.sin_addr, host, sizeof(host)),
			 ntohs(a.in.sin_port));
	else
		snprintf(l->name, sizeof(l->name), "[%s]:%u",
			 inet_ntop(AF_INET6, &a.in6.sin6_addr, host, sizeof(host)),
			 ntohs(a.in6.sin6_port));
}

static int bind_inet(struct listener *l, const struct listen_addr *a, const char *text, char *why,
		     size_t size)
{
	int on = 1, only = !a->all;

	setsockopt(l->fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (a->sa.sa_family == AF_INET6)
		setsockopt(l->fd, IPPROTO_IPV6, IPV6_V6ONLY, &only, sizeof(only));
	if (bind(l->fd, &a->sa, a->len)) {
		int err = -errno;

		return fail(why, size, err, "cannot listen on %s: %s%s", text, strerror(-err),
			    err == -EADDRINUSE ? ": another program does; name another port" : "");
	}
	name_inet(l, a);
	return 0;
}

static void all_of_ipv4(struct listen_addr *a)
{
	in_port_t port = a->in6.sin6_port;

	a->in = (struct sockaddr_in){ .sin_family = AF_INET, .sin_port = port };
	a->len = sizeof(a->in);
}

static int open_socket(struct listen_addr *a)
{
	const int type = SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK;
	int fd = socket(a->sa.sa_family, type, 0);

	if (fd < 0 && errno == EAFNOSUPPORT && a->all) {
		all_of_ipv4(a);
		fd = socket(AF_INET, type, 0);
	}
	return fd;
}

int listener__open(struct listener *l, const char *text, mode_t mode, char *why, size_t size)
{
	struct listen_addr a;
	int err = listen_addr__parse(text, &a, why, size);

	*l = (struct listener){ .fd = -1 };
	if (err)
		return err;
	l->fd = open_socket(&a);
	if (l->fd < 0)
		return fail(why, size, -errno, "cannot listen on %s: %s", text, strerror(errno));
	if (a.sa.sa_family == AF_UNIX)
		err = bind_unix(l, &a, mode, why, size);
	else
		err = bind_inet(l, &a, text, why, size);
	if (!err && listen(l->fd, BACKLOG))
		err = fail(why, size, -errno, "cannot listen on %s: %s%s", text, strerror(errno),
			   errno == EADDRINUSE ? ": another program does; name another port" : "");
	if (err)
		listener__close(l);
	return err;
}

void listener__close(struct listener *l)
{
	const char *path = l->name + strlen(UNIX);
	struct stat st;

	if (l->ino && !lstat(path, &st) && st.st_dev == l->dev && st.st_ino == l->ino)
		unlink(path);
	if (l->fd >= 0)
		close(l->fd);
	*l = (struct listener){ .fd = -1 };
}
