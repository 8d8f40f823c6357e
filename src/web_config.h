/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The web configuration: TLS, users and headers of the web server, in the YAML that
 * Prometheus' exporters share (exporter-toolkit, docs/web-configuration.md), so that one
 * file serves them all.  What is not supported is refused by its name rather than left
 * out: a server that is more open than its file says is worse than none.
 */
#ifndef ACLGUARD_WEB_CONFIG_H
#define ACLGUARD_WEB_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#define WEB_CONFIG_WHY 512	  /* bytes of a message */
#define WEB_CONFIG_MAX (1U << 20) /* bytes of the file, and of each that it names */

enum web_client_auth {
	WEB_NO_CLIENT_CERT,
	WEB_REQUEST_CLIENT_CERT,
	WEB_REQUIRE_ANY_CLIENT_CERT,
	WEB_VERIFY_CLIENT_CERT_IF_GIVEN,
	WEB_REQUIRE_AND_VERIFY_CLIENT_CERT,
};

enum web_tls_version {
	WEB_TLS10,
	WEB_TLS11,
	WEB_TLS12,
	WEB_TLS13,
};

struct web_strings {
	char **v;
	size_t n;
};

/* Certificates or a key, in PEM: from a file, or out of the configuration itself. */
struct web_pem {
	char *path; /* NULL: it stands in the configuration */
	char *data; /* NULL: there is none; a NUL behind it */
	size_t len;
};

struct web_user {
	char *name;
	char *hash; /* bcrypt, of a cost that is allowed */
};

enum web_header {
	WEB_CONTENT_SECURITY_POLICY,
	WEB_X_FRAME_OPTIONS,
	WEB_X_CONTENT_TYPE_OPTIONS,
	WEB_X_XSS_PROTECTION,
	WEB_STRICT_TRANSPORT_SECURITY,
	WEB_HEADER_MAX,
};
extern const char *const web_header_names[WEB_HEADER_MAX];

struct web_config {
	bool tls;
	struct web_pem cert;
	struct web_pem key;
	struct web_pem client_ca;
	enum web_client_auth client_auth;
	struct web_strings allowed_sans;
	enum web_tls_version min_version;
	enum web_tls_version max_version;
	struct web_strings cipher_suites; /* by their IANA names; none: the default */
	struct web_strings curves;	  /* by Go's names; none: the default */
	bool prefer_server_suites;
	bool http2_wanted;	       /* explicitly */
	char *headers[WEB_HEADER_MAX]; /* NULL: not sent */
	struct web_user *users;	       /* none: everybody */
	size_t nusers;
};

/* What the files were like when they were read. */
#define WEB_FILES 4
struct web_files {
	struct web_file {
		char *path; /* NULL: no more */
		uint64_t dev;
		uint64_t ino; /* 0: it was not there */
		int64_t size;
		struct timespec mtime;
		struct timespec ctime;
	} f[WEB_FILES];
};

/*
 * Reads the text of a configuration, not the files that it names.  `path` is its name: in
 * messages, and what relative names in it are relative to.  Returns 0 or -EINVAL or
 * -ENOMEM with the reason, "path:line: ...", in why; *c is to be cleared in either case.
 */
int web_config__parse(const char *text, size_t len, const char *path, struct web_config *c,
		      char why[WEB_CONFIG_WHY]);

/*
 * Reads the file and those that it names.  `files`, cleared or all zeros, is what
 * web_files__changed() asks later; it is filled in on failure, too.  Returns 0 or -errno
 * with the reason in why.
 */
int web_config__load(const char *path, struct web_config *c, struct web_files *files,
		     char why[WEB_CONFIG_WHY]);
void web_config__clear(struct web_config *c);

/* Whether one of them is another now than when it was read. */
bool web_files__changed(const struct web_files *files);
void web_files__clear(struct web_files *files);

/* Calls note with each thing that is allowed and yet better otherwise. */
void web_config__advise(const struct web_config *c, const char *path,
			void (*note)(void *arg, const char *line), void *arg);

/* Whether a hash is one of bcrypt and of a cost that can be waited for; the reason is why not. */
bool web_config__hash_ok(const char *hash, const char **reason);

#endif /* ACLGUARD_WEB_CONFIG_H */
