/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * A web server for a few pages, in threads of its own: one that serves, and where
 * users are configured, one that checks passwords.  What a client does or leaves
 * undone costs bounded memory, bounded time and a bounded number of descriptors, and
 * nothing of the thread that started the server.
 *
 * The serving thread renders the pages, one at a time, by callbacks.  They run beside
 * the rest of the program and without any capability, so they read what was put
 * aside for them, under a lock that is held shortly, rather than maps of the kernel.
 */
#ifndef ACLGUARD_HTTPD_H
#define ACLGUARD_HTTPD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "textbuf.h"

#define HTTPD_WHY 512 /* bytes of a message */

#define HTTPD_TYPE_TEXT "text/plain; charset=utf-8"
#define HTTPD_TYPE_JSON "application/json; charset=utf-8"
#define HTTPD_TYPE_PROMETHEUS "text/plain; version=0.0.4; charset=utf-8"
#define HTTPD_TYPE_OPENMETRICS "application/openmetrics-text; version=1.0.0; charset=utf-8"

struct httpd;
struct httpd_request; /* of the moment; valid inside of the callback only */

struct httpd_page {
	const char *path;	  /* "/metrics" */
	const char *title;	  /* in the list at "/"; NULL: not listed */
	const char *const *types; /* values of Content-Type, NULL at the end; of those that */
				  /* the client likes best, the first is taken */
	bool open;		  /* for everybody: without the password, if there are any */
	/*
	 * Adds the page in the type types[type].  Returns its HTTP status, 200 or another
	 * one with a text of its own, or -errno for 500 without it.  out->err is looked
	 * at afterwards, too.
	 */
	int (*render)(void *arg, const struct httpd_request *req, unsigned int type,
		      struct textbuf *out);
	void *arg;
};

/* In a callback: what the client asked behind the '?', decoded; NULL if it did not. */
const char *httpd__query(const struct httpd_request *req, const char *name);

/* All that is pointed to must stay until httpd__stop().  0 and NULL: the default. */
struct httpd_cfg {
	const char *const *listen; /* addresses, see listen_addr.h; 127.0.0.1:9877 */
	size_t nlisten;
	mode_t unix_mode;	/* permissions of unix sockets; 0660 */
	const char *web_config; /* a file, see web_config.h; neither TLS nor users */
	const char *title;	/* of the page "/" */
	const struct httpd_page *pages;
	size_t npages;
	unsigned int connections; /* at a time; 64 */
	unsigned int head_ms;	  /* for a request to be there with its whole head; 10,000 */
	unsigned int idle_ms;	  /* between two requests; 120,000 */
	unsigned int reply_ms;	  /* for an answer to be taken; 30,000 */
	size_t page_max;	  /* bytes of a page; 16 MiB */
	size_t pages_max;	  /* bytes of all pages that wait to be taken; 32 MiB */
	/* What the operator should know, one line without a newline; say() of exits.h. */
	void (*note)(void *arg, const char *line);
	void *note_arg;
};

/*
 * Binds the addresses, reads the configuration, and serves.  Needs whatever rights the
 * addresses need; its threads then give up every capability, so it does not matter
 * whether privileges__drop() comes before or after.  All signals are blocked in them.
 *
 * Returns 0 or -errno with the reason in `why`, a sentence that names the address or
 * file:line: -EINVAL for what was written wrongly (address, configuration, hash),
 * otherwise what the system said, as -EADDRINUSE or -EACCES.
 */
int httpd__start(const struct httpd_cfg *cfg, struct httpd **out, char why[HTTPD_WHY]);

/*
 * Lets no more requests begin, gives those under way a moment, removes the unix
 * sockets.  NULL is allowed.
 */
void httpd__stop(struct httpd *h);

/*
 * Reads the configuration and its certificates again, in the server's own time; it
 * looks for changed files by itself, too.  What cannot be read is noted, and the one
 * before stays.  May be called by a signal handler.
 */
void httpd__reload(struct httpd *h);

/* The addresses as bound, with the port that was chosen for :0; n < cfg->nlisten or 1. */
const char *httpd__address(const struct httpd *h, size_t n);

enum httpd_outcome {
	HTTPD_OK,	    /* 2xx and 3xx */
	HTTPD_UNAUTHORIZED, /* 401 */
	HTTPD_CLIENT_ERROR, /* other 4xx, but for those that the library finds by itself */
	HTTPD_SERVER_ERROR, /* 5xx */
	HTTPD_OUTCOME_MAX,
};

/* What happened so far; may be asked for by any thread at any time. */
struct httpd_counts {
	uint64_t requests[HTTPD_OUTCOME_MAX];
	uint64_t busy;	       /* of the server errors: too much had to be kept already */
	uint64_t accepted;     /* connections */
	uint64_t overdue;      /* connections that were closed because time was up */
	uint64_t evicted;      /* the same, earlier, because others waited for a place */
	uint64_t open;	       /* connections now */
	uint64_t reloads;      /* configurations read anew */
	uint64_t reload_fails; /* configurations that could not be taken */
};

void httpd__counts(const struct httpd *h, struct httpd_counts *counts);

#endif /* ACLGUARD_HTTPD_H */
