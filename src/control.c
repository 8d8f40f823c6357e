/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The control socket, both sides of it. */
#define _GNU_SOURCE
#include "control.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <sys/un.h>
#include <unistd.h>

#include "exits.h"
#include "report_text.h"

#define ANSWER_MS 10000

/* What is readable, where it is not the client of that number. */
#define LISTENER CONTROL_CLIENTS_MAX
#define TIMER (CONTROL_CLIENTS_MAX + 1)

struct client {
	int fd;		/* -1: unused */
	uint64_t since; /* its last line, or it, has come: monotonic ns */
	size_t len;
	char line[CONTROL_LINE_MAX];
};

struct control {
	control_fn fn;
	void *arg;
	int epoll, listener, timer;
	struct sockaddr_un addr;
	dev_t dev; /* of the socket's file, so that no other is removed */
	ino_t ino;
	struct client clients[CONTROL_CLIENTS_MAX];
};

static int fill_addr(struct sockaddr_un *addr, const char *path)
{
	*addr = (struct sockaddr_un){ .sun_family = AF_UNIX };
	if (!*path || strlen(path) >= sizeof(addr->sun_path))
		return -ENAMETOOLONG;
	memcpy(addr->sun_path, path, strlen(path) + 1);
	return 0;
}

static int open_socket(int flags)
{
	return socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | flags, 0);
}

static int connect_to(const struct sockaddr_un *addr, int flags)
{
	int fd = open_socket(flags), err;

	if (fd < 0)
		return -errno;
	if (!connect(fd, (const struct sockaddr *)addr, sizeof(*addr)))
		return fd;
	err = -errno;
	close(fd);
	return err;
}

/* ---- listening ------------------------------------------------------------ */

/* What an aclguard that was killed has left behind. */
static int remove_stale(const struct sockaddr_un *addr)
{
	struct stat st;
	int fd;

	if (lstat(addr->sun_path, &st))
		return errno == ENOENT ? 0 : -errno;
	if (!S_ISSOCK(st.st_mode) || st.st_uid != geteuid())
		return -EEXIST;
	fd = connect_to(addr, SOCK_NONBLOCK);
	if (fd >= 0)
		close(fd);
	if (fd != -ECONNREFUSED)
		return -EADDRINUSE;
	return unlink(addr->sun_path) && errno != ENOENT ? -errno : 0;
}

static int watch(const struct control *c, int fd, unsigned int nr)
{
	struct epoll_event ev = { .events = EPOLLIN, .data.u32 = nr };

	return epoll_ctl(c->epoll, EPOLL_CTL_ADD, fd, &ev) ? -errno : 0;
}

static int start_listening(struct control *c)
{
	struct stat st;
	mode_t mask;
	int err = remove_stale(&c->addr);

	if (err)
		return err;
	c->listener = open_socket(SOCK_NONBLOCK);
	if (c->listener < 0)
		return -errno;
	mask = umask(0177);
	err = bind(c->listener, (const struct sockaddr *)&c->addr, sizeof(c->addr)) ? -errno : 0;
	umask(mask);
	if (err)
		return err;
	if (!lstat(c->addr.sun_path, &st)) {
		c->dev = st.st_dev;
		c->ino = st.st_ino;
	}
	if (listen(c->listener, CONTROL_CLIENTS_MAX))
		return -errno;
	return watch(c, c->listener, LISTENER);
}

static int start_timer(struct control *c)
{
	c->timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
	return c->timer < 0 ? -errno : watch(c, c->timer, TIMER);
}

static const char *why_not(int err)
{
	switch (err) {
	case -EEXIST:
		return "there is something else";
	case -EADDRINUSE:
		return "another aclguard listens there";
	default:
		return strerror(-err);
	}
}

int control__new(const char *path, control_fn fn, void *arg, struct control **out)
{
	struct control *c = calloc(1, sizeof(*c));
	int err;

	if (!c)
		return refuse(ACL_EXIT_FAILED, "%s", strerror(ENOMEM));
	c->fn = fn;
	c->arg = arg;
	c->listener = -1;
	c->timer = -1;
	for (int i = 0; i < CONTROL_CLIENTS_MAX; i++)
		c->clients[i].fd = -1;
	c->epoll = epoll_create1(EPOLL_CLOEXEC);
	err = c->epoll < 0 ? -errno : fill_addr(&c->addr, path);
	if (!err)
		err = start_timer(c);
	if (!err)
		err = start_listening(c);
	if (err) {
		control__free(c);
		return refuse(ACL_EXIT_FAILED, "cannot listen on the socket %s: %s", path,
			      why_not(err));
	}
	*out = c;
	return 0;
}

static void drop(struct client *cl)
{
	if (cl->fd >= 0)
		close(cl->fd);
	cl->fd = -1;
}

void control__free(struct control *c)
{
	struct stat st;

	if (!c)
		return;
	if (c->ino && !lstat(c->addr.sun_path, &st) && st.st_dev == c->dev && st.st_ino == c->ino)
		unlink(c->addr.sun_path);
	for (int i = 0; i < CONTROL_CLIENTS_MAX; i++)
		drop(&c->clients[i]);
	if (c->listener >= 0)
		close(c->listener);
	if (c->timer >= 0)
		close(c->timer);
	if (c->epoll >= 0)
		close(c->epoll);
	free(c);
}

int control__fd(const struct control *c)
{
	return c ? c->epoll : -1;
}

/* ---- clients -------------------------------------------------------------- */

static bool may_ask(int fd)
{
	struct ucred who;
	socklen_t len = sizeof(who);

	return !getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &len) &&
	       (who.uid == 0 || who.uid == geteuid());
}

/* Returns whether the client took it. */
static bool answer(struct control *c, struct client *cl, const char *command)
{
	char line[CONTROL_LINE_MAX];
	size_t n;

	c->fn(c->arg, command, line, sizeof(line) - 1);
	n = strlen(line);
	line[n++] = '\n';
	return send(cl->fd, line, n, MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)n;
}

static void hear(struct control *c, struct client *cl)
{
	ssize_t n = recv(cl->fd, cl->line + cl->len, sizeof(cl->line) - cl->len, MSG_DONTWAIT);
	char *nl;

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		drop(cl);
		return;
	}
	cl->len += (size_t)n;
	while ((nl = memchr(cl->line, '\n', cl->len))) {
		*nl = '\0';
		cl->since = report__now();
		/* a command of which only the beginning would be seen is none */
		if (!answer(c, cl, strlen(cl->line) == (size_t)(nl - cl->line) ? cl->line : "")) {
			drop(cl);
			return;
		}
		cl->len -= (size_t)(nl + 1 - cl->line);
		memmove(cl->line, nl + 1, cl->len);
	}
	if (cl->len == sizeof(cl->line))
		drop(cl);
}

/* Who has been silent longest; NULL: there is nobody. */
static struct client *find_oldest(struct control *c)
{
	struct client *oldest = NULL;

	for (struct client *cl = c->clients; cl < c->clients + CONTROL_CLIENTS_MAX; cl++)
		if (cl->fd >= 0 && (!oldest || cl->since < oldest->since))
			oldest = cl;
	return oldest;
}

static struct client *find_place(struct control *c)
{
	struct client *cl;

	for (cl = c->clients; cl < c->clients + CONTROL_CLIENTS_MAX; cl++)
		if (cl->fd < 0)
			return cl;
	/* its line may have come just now */
	cl = find_oldest(c);
	hear(c, cl);
	cl = cl->fd < 0 ? cl : find_oldest(c);
	drop(cl);
	return cl;
}

static void send_away(int fd)
{
	static const char no[] = "error not permitted\n";

	/* who does not take it is sent away all the same */
	if (send(fd, no, sizeof(no) - 1, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
		shutdown(fd, SHUT_RDWR);
	close(fd);
}

static void welcome(struct control *c)
{
	int fd = accept4(c->listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
	struct client *cl;

	if (fd < 0)
		return;
	if (!may_ask(fd)) {
		send_away(fd);
		return;
	}
	cl = find_place(c);
	if (watch(c, fd, (unsigned int)(cl - c->clients))) {
		close(fd);
		return;
	}
	cl->fd = fd;
	cl->len = 0;
	cl->since = report__now();
}

/* Drops who is silent for too long, and has us called when the next one is. */
static void tidy(struct control *c)
{
	struct itimerspec when = {};
	uint64_t now = report__now(), left;
	struct client *cl;

	while ((cl = find_oldest(c)) && now - cl->since >= CONTROL_IDLE_NS)
		drop(cl);
	if (cl) {
		left = cl->since + CONTROL_IDLE_NS - now;
		when.it_value.tv_sec = (time_t)(left / 1000000000);
		when.it_value.tv_nsec = (long)(left % 1000000000);
	}
	/* that it is set anew also takes back that it is readable */
	timerfd_settime(c->timer, 0, &when, NULL);
}

void control__run(struct control *c)
{
	struct epoll_event evs[CONTROL_CLIENTS_MAX + 2];
	int n = epoll_wait(c->epoll, evs, CONTROL_CLIENTS_MAX + 2, 0);

	for (int i = 0; i < n; i++)
		if (evs[i].data.u32 < CONTROL_CLIENTS_MAX && c->clients[evs[i].data.u32].fd >= 0)
			hear(c, &c->clients[evs[i].data.u32]);
	for (int i = 0; i < n; i++)
		if (evs[i].data.u32 == LISTENER)
			welcome(c);
	tidy(c);
}

/* ---- the other side --------------------------------------------------------- */

static int receive(int fd, char *answer, size_t n)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	size_t len = 0;
	char *nl;

	while (len + 1 < n) {
		ssize_t got;
		int ready = poll(&p, 1, ANSWER_MS);

		if (ready < 0 && errno == EINTR)
			continue;
		if (ready <= 0)
			return ready ? -errno : -ETIME;
		got = recv(fd, answer + len, n - 1 - len, 0);
		if (got < 0)
			return -errno;
		if (!got)
			return -ECONNRESET;
		len += (size_t)got;
		nl = memchr(answer, '\n', len);
		if (nl) {
			*nl = '\0';
			return 0;
		}
	}
	return -EMSGSIZE;
}

int control__ask(const char *path, const char *command, char *answer, size_t n)
{
	struct sockaddr_un addr;
	char line[CONTROL_LINE_MAX];
	int err = fill_addr(&addr, path), fd, len;

	if (err)
		return err;
	len = snprintf(line, sizeof(line), "%s\n", command);
	if (len < 0 || (size_t)len >= sizeof(line) || strchr(command, '\n'))
		return -EINVAL;
	fd = connect_to(&addr, 0);
	if (fd < 0)
		return fd;
	/* who is not permitted is told so, and may not be heard any more */
	err = send(fd, line, (size_t)len, MSG_NOSIGNAL) == len || errno == EPIPE
		      ? receive(fd, answer, n)
		      : -errno;
	close(fd);
	return err;
}
