/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The web server: its addresses, its configuration, and the thread that serves.
 *
 * libmicrohttpd speaks HTTP and TLS.  It is run by one loop of ours, which takes the
 * connections and hands them over: so all addresses share the same places, who is let in
 * and who has to go is decided here, and a new configuration, with TLS or without, is in
 * force from the next connection on.  There are two daemons of the library, for plain and
 * for secure connections; neither has a socket or a thread of its own.
 */
#define _GNU_SOURCE
#include "httpd_inner.h"

#include <errno.h>
#include <gnutls/abstract.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "privileges.h"
#include "thread.h"

#define MS 1000000ULL
#define LOOK_EVERY (1000 * MS) /* at the files of the configuration */
#define HOLD (50 * MS)	       /* off new connections when all places are taken */
#define REST (200 * MS)	       /* when there are no descriptors left */
#define DRAIN (1000 * MS)      /* for requests under way at the end */
#define LISTENERS_MAX 16
#define REQUEST_MEMORY (16U << 10) /* a connection, with its head */
#define TAKE_MAX 64		   /* connections in a round */

static const char *const default_address[] = { "127.0.0.1:9877" };

uint64_t httpd__now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

static void note(struct httpd *h, const char *line)
{
	if (h->cfg.note)
		h->cfg.note(h->cfg.note_arg, line);
}

static void note_line(void *arg, const char *line)
{
	note(arg, line);
}

/* ---- what the library calls ---------------------------------------------- */

static struct place *place_of(struct MHD_Connection *c)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(c, MHD_CONNECTION_INFO_SOCKET_CONTEXT);

	return info->socket_context;
}

static enum MHD_Result on_request(void *arg, struct MHD_Connection *c, const char *url,
				  const char *method, const char *version, const char *data,
				  size_t *size, void **state)
{
	struct place *place = place_of(c);

	(void)version;
	(void)data;
	(void)size;
	if (!*state) {
		*state = place;
		place__enter(place, PLACE_BUSY, httpd__now());
		/* the library ends a connection that is answered now, for what may follow */
		if (!httpd_reply__has_body(c))
			return MHD_YES;
	}
	return httpd_reply__take(arg, c, place, url, method);
}

static void on_completed(void *arg, struct MHD_Connection *c, void **state,
			 enum MHD_RequestTerminationCode why)
{
	struct place *place = place_of(c);

	(void)arg;
	(void)why;
	*state = NULL;
	place->auth = PLACE_AUTH_NONE;
	place__enter(place, PLACE_IDLE, httpd__now());
}

static bool make_secure(struct MHD_Connection *c, struct place *place)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(c, MHD_CONNECTION_INFO_GNUTLS_SESSION);

	return info && !web_tls__apply(place->tls, info->tls_session);
}

static void on_connection(void *arg, struct MHD_Connection *c, void **context,
			  enum MHD_ConnectionNotificationCode what)
{
	struct httpd *h = arg;

	if (what == MHD_CONNECTION_NOTIFY_STARTED) {
		*context = h->arriving;
		if (h->arriving->tls && !make_secure(c, h->arriving))
			shutdown(h->arriving->fd, SHUT_RDWR);
		h->arriving = NULL;
		return;
	}
	web_tls__put(((struct place *)*context)->tls);
	places__give(&h->places, *context);
}

/* web_tls__apply() gives each session its own; the library wants one to start with. */
static int no_certificate(gnutls_session_t session, const gnutls_datum_t *cas, int ncas,
			  const gnutls_pk_algorithm_t *algos, int nalgos, gnutls_pcert_st **certs,
			  unsigned int *n, gnutls_privkey_t *key)
{
	(void)session;
	(void)cas;
	(void)ncas;
	(void)algos;
	(void)nalgos;
	(void)certs;
	(void)n;
	(void)key;
	return -1;
}

static struct MHD_Daemon *start_daemon(struct httpd *h, bool secure)
{
	unsigned int flags = MHD_USE_EPOLL | MHD_USE_NO_LISTEN_SOCKET | MHD_ALLOW_SUSPEND_RESUME |
			     (secure ? MHD_USE_TLS : 0);
	struct MHD_OptionItem tls[] = {
		{ .option = secure ? MHD_OPTION_HTTPS_CERT_CALLBACK : MHD_OPTION_END,
		  .ptr_value = (void *)no_certificate },
		{ .option = MHD_OPTION_END },
	};

	/* a place more: the library counts one until it has cleaned up */
	return MHD_start_daemon(flags, 0, NULL, NULL, on_request, h, MHD_OPTION_CONNECTION_LIMIT,
				h->cfg.connections + 1, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
				(size_t)REQUEST_MEMORY, MHD_OPTION_NOTIFY_COMPLETED, on_completed,
				h, MHD_OPTION_NOTIFY_CONNECTION, on_connection, h,
				MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_ARRAY, tls,
				MHD_OPTION_END);
}

/* ---- configuration ------------------------------------------------------- */

/* Takes the configuration of the file into force; otherwise all stays as it is. */
static int load_config(struct httpd *h, char why[HTTPD_WHY])
{
	struct web_tls *tls = NULL;
	struct web_config c;
	int err = web_config__load(h->cfg.web_config, &c, &h->files, why);

	if (!err && c.tls)
		err = web_tls__new(&c, h->cfg.web_config, &tls, why);
	if (!err && tls && !h->secure) {
		h->secure = start_daemon(h, true);
		if (!h->secure) {
			snprintf(why, HTTPD_WHY, "libmicrohttpd cannot do TLS here");
			err = -ENOSYS;
		}
	}
	if (err) {
		web_tls__put(tls);
		web_config__clear(&c);
		return err;
	}
	web_config__clear(&h->web);
	web_tls__put(h->tls);
	h->web = c;
	h->tls = tls;
	web_config__advise(&h->web, h->cfg.web_config, note_line, h);
	return 0;
}

static void reload(struct httpd *h)
{
	char why[HTTPD_WHY], line[HTTPD_WHY + 128];

	if (!load_config(h, why)) {
		atomic_fetch_add(&h->reloads, 1);
		snprintf(line, sizeof(line), "read the web configuration %s anew",
			 h->cfg.web_config);
	} else {
		atomic_fetch_add(&h->reload_fails, 1);
		snprintf(line, sizeof(line), "%s; the web configuration from before stays in force",
			 why);
	}
	note(h, line);
}

/* At once when it is asked for; otherwise when files have changed, which is looked at now and then. */
static void follow_config(struct httpd *h, uint64_t now)
{
	bool asked = atomic_exchange(&h->reload, false);

	if (!h->cfg.web_config || (!asked && now - h->looked_at < LOOK_EVERY))
		return;
	h->looked_at = now;
	if (asked || web_files__changed(&h->files))
		reload(h);
}

/* ---- connections --------------------------------------------------------- */

static void hand_over(struct httpd *h, int fd, const struct sockaddr_storage *sa, socklen_t len,
		      uint64_t now)
{
	struct place *place = places__take(&h->places, fd, (const struct sockaddr *)sa, now);

	if (!place) {
		close(fd);
		return;
	}
	atomic_fetch_add(&h->accepted, 1);
	place->tls = h->tls ? web_tls__get(h->tls) : NULL;
	h->arriving = place;
	/* closes it where it fails */
	if (MHD_add_connection(h->tls ? h->secure : h->plain, fd, (const struct sockaddr *)sa,
			       len) != MHD_YES &&
	    h->arriving) {
		web_tls__put(place->tls);
		places__give(&h->places, place);
	}
	h->arriving = NULL;
}

/* Takes those who wait, as far as there are places or can be made. */
static void take_connections(struct httpd *h, const struct listener *l, uint64_t now)
{
	for (int i = 0; i < TAKE_MAX; i++) {
		struct sockaddr_storage sa = {};
		socklen_t len = sizeof(sa);
		int fd;

		if (h->places.used == h->places.n) {
			if (!places__evict(&h->places, now))
				h->hold_until = now + HOLD;
			return; /* the library has to see that one is gone */
		}
		fd = accept4(l->fd, (struct sockaddr *)&sa, &len, SOCK_CLOEXEC | SOCK_NONBLOCK);
		if (fd < 0) {
			if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS ||
			    errno == ENOMEM)
				h->hold_until = now + REST;
			return;
		}
		hand_over(h, fd, &sa, len, now);
	}
}

static void take_answers(struct httpd *h)
{
	void *cookie;
	bool ok;

	while (web_auth__next(h->auth, &cookie, &ok)) {
		struct place *place = cookie;

		place->auth = ok ? PLACE_AUTH_RIGHT : PLACE_AUTH_WRONG;
		MHD_resume_connection(place->connection);
	}
}

/* ---- the loop ------------------------------------------------------------ */

static struct pollfd watch_daemon(struct MHD_Daemon *d, uint64_t now, uint64_t *until)
{
	const union MHD_DaemonInfo *info;
	MHD_UNSIGNED_LONG_LONG ms;

	if (!d)
		return (struct pollfd){ .fd = -1 };
	if (MHD_get_timeout(d, &ms) == MHD_YES && ms < (*until - now) / MS)
		*until = now + ms * MS;
	info = MHD_get_daemon_info(d, MHD_DAEMON_INFO_EPOLL_FD);
	return (struct pollfd){ .fd = info ? info->epoll_fd : -1, .events = POLLIN };
}

static void wait_for(struct pollfd *fds, nfds_t n, uint64_t now, uint64_t until)
{
	struct timespec ts;

	if (until == UINT64_MAX) {
		ppoll(fds, n, NULL, NULL);
		return;
	}
	until = until > now ? until - now : 0;
	ts.tv_sec = (time_t)(until / 1000000000);
	ts.tv_nsec = (long)(until % 1000000000);
	ppoll(fds, n, &ts, NULL);
}

static void run_daemons(struct httpd *h)
{
	MHD_run(h->plain);
	if (h->secure)
		MHD_run(h->secure);
	atomic_store(&h->open, h->places.used);
	atomic_store(&h->overdue, h->places.overdue);
	atomic_store(&h->evicted, h->places.evicted);
}

/* Waits until there is something to do, until `until` at most, and does it. */
static void serve_once(struct httpd *h, uint64_t until, bool accepting)
{
	struct pollfd fds[4 + LISTENERS_MAX];
	uint64_t now = httpd__now(), due = places__close_overdue(&h->places, now);
	const size_t first = 4;
	size_t n = first;
	eventfd_t ignored;

	until = due < until ? due : until;
	if (now < h->hold_until) {
		accepting = false;
		until = h->hold_until < until ? h->hold_until : until;
	}
	fds[0] = (struct pollfd){ .fd = h->wake, .events = POLLIN };
	fds[1] = (struct pollfd){ .fd = web_auth__fd(h->auth), .events = POLLIN };
	fds[2] = watch_daemon(h->plain, now, &until);
	fds[3] = watch_daemon(h->secure, now, &until);
	for (size_t i = 0; accepting && i < h->nlisteners; i++)
		fds[n++] = (struct pollfd){ .fd = h->listeners[i].fd, .events = POLLIN };
	for (size_t i = 0; i < n; i++)
		fds[i].revents = 0;
	wait_for(fds, n, now, until);
	now = httpd__now();
	eventfd_read(h->wake, &ignored);
	follow_config(h, now);
	for (size_t i = first; i < n; i++)
		if (fds[i].revents)
			take_connections(h, &h->listeners[i - first], now);
	take_answers(h);
	run_daemons(h);
}

/* Passwords that nobody checks any more are wrong ones: the library must have all back. */
static void resume_all(struct httpd *h)
{
	for (unsigned int i = 0; i < h->places.n; i++) {
		struct place *place = &h->places.v[i];

		if (place->auth != PLACE_AUTH_LATER)
			continue;
		place->auth = PLACE_AUTH_WRONG;
		MHD_resume_connection(place->connection);
	}
	run_daemons(h);
}

static void close_listeners(struct httpd *h)
{
	for (size_t i = 0; i < h->nlisteners; i++)
		listener__close(&h->listeners[i]);
}

static void *serve(void *arg)
{
	struct httpd *h = arg;
	uint64_t end;

	privileges__none();
	while (!atomic_load(&h->stop))
		serve_once(h, UINT64_MAX, true);
	close_listeners(h);
	end = httpd__now() + DRAIN;
	while (places__any_busy(&h->places) && httpd__now() < end)
		serve_once(h, end, false);
	return NULL;
}

/* ---- beginning and end --------------------------------------------------- */

static void set_defaults(struct httpd_cfg *c)
{
	if (!c->nlisten) {
		c->listen = default_address;
		c->nlisten = 1;
	}
	c->unix_mode = c->unix_mode ? c->unix_mode : 0660;
	c->title = c->title ? c->title : "aclguard";
	c->connections = c->connections ? c->connections : 64;
	c->head_ms = c->head_ms ? c->head_ms : 10000;
	c->idle_ms = c->idle_ms ? c->idle_ms : 120000;
	c->reply_ms = c->reply_ms ? c->reply_ms : 30000;
	c->page_max = c->page_max ? c->page_max : 16U << 20;
	c->pages_max = c->pages_max ? c->pages_max : 32U << 20;
}

static int open_listeners(struct httpd *h, char why[HTTPD_WHY])
{
	if (h->cfg.nlisten > LISTENERS_MAX) {
		snprintf(why, HTTPD_WHY, "at most %d addresses can be listened on", LISTENERS_MAX);
		return -EINVAL;
	}
	h->listeners = calloc(h->cfg.nlisten, sizeof(*h->listeners));
	if (!h->listeners)
		return -ENOMEM;
	for (; h->nlisteners < h->cfg.nlisten; h->nlisteners++) {
		int err = listener__open(&h->listeners[h->nlisteners], h->cfg.listen[h->nlisteners],
					 h->cfg.unix_mode, why, HTTPD_WHY);

		if (err)
			return err;
	}
	return 0;
}

static int start(struct httpd *h, char why[HTTPD_WHY])
{
	int err;

	h->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (h->wake < 0)
		return -errno;
	err = places__init(&h->places, h->cfg.connections);
	if (err)
		return err;
	h->places.may[PLACE_HEAD] = h->cfg.head_ms * MS;
	h->places.may[PLACE_IDLE] = h->cfg.idle_ms * MS;
	h->places.may[PLACE_BUSY] = h->cfg.reply_ms * MS;
	h->auth = web_auth__new();
	h->plain = start_daemon(h, false);
	if (!h->auth || !h->plain)
		return -ENOMEM;
	err = h->cfg.web_config ? load_config(h, why) : 0;
	if (!err)
		err = open_listeners(h, why);
	if (err)
		return err;
	err = thread__start(&h->thread, "aclguard-web", serve, h);
	h->started = !err;
	return err;
}

int httpd__start(const struct httpd_cfg *cfg, struct httpd **out, char why[HTTPD_WHY])
{
	struct httpd *h = calloc(1, sizeof(*h));
	int err;

	*why = '\0';
	if (!h) {
		snprintf(why, HTTPD_WHY, "the web server: %s", strerror(ENOMEM));
		return -ENOMEM;
	}
	h->cfg = *cfg;
	h->wake = -1;
	set_defaults(&h->cfg);
	err = start(h, why);
	if (err) {
		if (!*why)
			snprintf(why, HTTPD_WHY, "the web server: %s", strerror(-err));
		httpd__stop(h);
		return err;
	}
	*out = h;
	return 0;
}

static void stop_daemons(struct httpd *h)
{
	if (h->plain)
		MHD_stop_daemon(h->plain);
	if (h->secure)
		MHD_stop_daemon(h->secure);
}

static void wake(struct httpd *h)
{
	eventfd_write(h->wake, 1);
}

void httpd__stop(struct httpd *h)
{
	if (!h)
		return;
	atomic_store(&h->stop, true);
	if (h->started) {
		wake(h);
		pthread_join(h->thread, NULL);
	}
	close_listeners(h);
	web_auth__free(h->auth);
	if (h->started)
		resume_all(h);
	stop_daemons(h);
	web_tls__put(h->tls);
	web_config__clear(&h->web);
	web_files__clear(&h->files);
	places__free(&h->places);
	free(h->listeners);
	if (h->wake >= 0)
		close(h->wake);
	free(h);
}

void httpd__reload(struct httpd *h)
{
	int err = errno; /* of who was interrupted by the signal */

	atomic_store(&h->reload, true);
	wake(h);
	errno = err;
}

const char *httpd__address(const struct httpd *h, size_t n)
{
	return n < h->nlisteners ? h->listeners[n].name : NULL;
}

void httpd__counts(const struct httpd *h, struct httpd_counts *c)
{
	for (int i = 0; i < HTTPD_OUTCOME_MAX; i++)
		c->requests[i] = atomic_load(&h->requests[i]);
	c->busy = atomic_load(&h->busy);
	c->accepted = atomic_load(&h->accepted);
	c->overdue = atomic_load(&h->overdue);
	c->evicted = atomic_load(&h->evicted);
	c->open = atomic_load(&h->open);
	c->reloads = atomic_load(&h->reloads);
	c->reload_fails = atomic_load(&h->reload_fails);
}
