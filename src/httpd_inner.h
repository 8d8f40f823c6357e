/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* What the parts of the web server share; httpd.h is for everybody else. */
#ifndef ACLGUARD_HTTPD_INNER_H
#define ACLGUARD_HTTPD_INNER_H

#include <microhttpd.h>
#include <pthread.h>
#include <stdatomic.h>

#include "httpd.h"
#include "httpd_places.h"
#include "listen_addr.h"
#include "web_auth.h"
#include "web_config.h"
#include "web_tls.h"

struct httpd {
	struct httpd_cfg cfg; /* with the defaults in place of zeros */
	struct listener *listeners;
	size_t nlisteners;
	int wake; /* an eventfd */
	atomic_bool stop;
	atomic_bool reload;
	pthread_t thread;
	bool started;
	atomic_ullong requests[HTTPD_OUTCOME_MAX];
	atomic_ullong accepted, overdue, evicted, open, busy, reloads, reload_fails;

	/* from here on of the serving thread, once it runs */
	struct MHD_Daemon *plain;
	struct MHD_Daemon *secure; /* from the first configuration with TLS on */
	struct places places;
	struct place *arriving; /* is being given to the library */
	struct web_config web;
	struct web_files files;
	struct web_tls *tls; /* for new connections; NULL: plain HTTP */
	struct web_auth *auth;
	uint64_t looked_at;  /* when the files were looked at last */
	uint64_t hold_until; /* no connection is taken before */
	size_t waiting;	     /* bytes of pages that clients have not taken yet */
};

uint64_t httpd__now(void);

/*
 * Takes a request as the library has it (MHD_AccessHandlerCallback): checks the password,
 * finds the page, answers.  Called again when the password has been checked.
 */
enum MHD_Result httpd_reply__take(struct httpd *h, struct MHD_Connection *c, struct place *place,
				  const char *url, const char *method);

/* Whether something follows the head of a request. */
bool httpd_reply__has_body(struct MHD_Connection *c);

#endif /* ACLGUARD_HTTPD_INNER_H */
