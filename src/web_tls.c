/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* TLS by GnuTLS: what Go's names of suites and curves are there, and whom to let in. */
#define _GNU_SOURCE
#include "web_tls.h"

#include <arpa/inet.h>
#include <errno.h>
#include <gnutls/x509.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "escape.h"

struct web_tls {
	unsigned int users;
	gnutls_certificate_credentials_t credentials;
	gnutls_priority_t priority;
	enum web_client_auth auth;
	struct web_strings sans; /* allowed; none: all */
};

__attribute__((format(printf, 3, 4))) static int fail(char why[WEB_CONFIG_WHY], const char *path,
						      const char *fmt, ...)
{
	va_list args;
	int n = snprintf(why, WEB_CONFIG_WHY, "%s: ", path);

	if (n > 0 && n < WEB_CONFIG_WHY) {
		va_start(args, fmt);
		vsnprintf(why + n, WEB_CONFIG_WHY - (size_t)n, fmt, args);
		va_end(args);
	}
	return -EINVAL;
}

/* ---- suites and curves --------------------------------------------------- */

enum kx {
	KX_ANY = 0, /* TLS 1.3, where a suite says nothing of it */
	KX_RSA = 1,
	KX_ECDSA = 2,
};

/* A suite of TLS 1.2 and before is a key exchange and the rest; GnuTLS names the parts. */
static const struct suite {
	const char *name;
	enum kx kx;
	const char *rest;
} suites[] = {
	{ "TLS_AES_128_GCM_SHA256", KX_ANY, ":+AES-128-GCM" },
	{ "TLS_AES_256_GCM_SHA384", KX_ANY, ":+AES-256-GCM" },
	{ "TLS_CHACHA20_POLY1305_SHA256", KX_ANY, ":+CHACHA20-POLY1305" },
	{ "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256", KX_RSA, ":+AES-128-GCM" },
	{ "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256", KX_ECDSA, ":+AES-128-GCM" },
	{ "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384", KX_RSA, ":+AES-256-GCM" },
	{ "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384", KX_ECDSA, ":+AES-256-GCM" },
	{ "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256", KX_RSA, ":+CHACHA20-POLY1305" },
	{ "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256", KX_ECDSA, ":+CHACHA20-POLY1305" },
	{ "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA", KX_RSA, ":+AES-128-CBC:+SHA1" },
	{ "TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA", KX_ECDSA, ":+AES-128-CBC:+SHA1" },
	{ "TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA", KX_RSA, ":+AES-256-CBC:+SHA1" },
	{ "TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA", KX_ECDSA, ":+AES-256-CBC:+SHA1" },
};

static const struct {
	const char *name;
	const char *group;
} curves[] = {
	{ "X25519", ":+GROUP-X25519" },
	{ "CurveP256", ":+GROUP-SECP256R1" },
	{ "CurveP384", ":+GROUP-SECP384R1" },
	{ "CurveP521", ":+GROUP-SECP521R1" },
};

static const struct suite *find_suite(const char *name)
{
	for (size_t i = 0; i < sizeof(suites) / sizeof(suites[0]); i++)
		if (!strcmp(suites[i].name, name))
			return &suites[i];
	return NULL;
}

static void add(char *out, size_t size, const char *part)
{
	size_t len = strlen(out);

	if (!strstr(out, part)) /* no part is the beginning of another */
		snprintf(out + len, size - len, "%s", part);
}

/* Each key exchange goes with every cipher there: the list must say the same. */
static int check_product(const struct web_config *c, unsigned int kxs, const char *path,
			 char why[WEB_CONFIG_WHY])
{
	for (size_t i = 0; i < c->cipher_suites.n; i++) {
		const struct suite *s = find_suite(c->cipher_suites.v[i]);
		unsigned int with = 0;

		for (size_t k = 0; k < c->cipher_suites.n; k++) {
			const struct suite *other = find_suite(c->cipher_suites.v[k]);

			if (!strcmp(s->rest, other->rest))
				with |= other->kx;
		}
		if (s->kx && with != kxs)
			return fail(
				why, path,
				"cipher_suites: RSA and ECDSA must have the same ciphers, and %s is "
				"there for one of them only",
				s->name);
	}
	return 0;
}

static int add_suites(const struct web_config *c, const char *path, char *out, size_t size,
		      char why[WEB_CONFIG_WHY])
{
	unsigned int kxs = 0;
	char word[200];

	if (!c->cipher_suites.n)
		return 0;
	add(out, size, ":-CIPHER-ALL:-MAC-ALL:+AEAD:-KX-ALL");
	for (size_t i = 0; i < c->cipher_suites.n; i++) {
		const struct suite *s = find_suite(c->cipher_suites.v[i]);

		if (!s) {
			escape__str(word, sizeof(word), c->cipher_suites.v[i]);
			return fail(why, path, "cipher_suites: %s is not supported", word);
		}
		kxs |= s->kx;
		add(out, size, s->rest);
	}
	if (!kxs || kxs & KX_RSA)
		add(out, size, ":+ECDHE-RSA");
	if (!kxs || kxs & KX_ECDSA)
		add(out, size, ":+ECDHE-ECDSA");
	return check_product(c, kxs, path, why);
}

static int add_curves(const struct web_config *c, const char *path, char *out, size_t size,
		      char why[WEB_CONFIG_WHY])
{
	char word[200];

	if (c->curves.n)
		add(out, size, ":-GROUP-ALL");
	for (size_t i = 0; i < c->curves.n; i++) {
		const char *group = NULL;

		for (size_t k = 0; k < sizeof(curves) / sizeof(curves[0]) && !group; k++)
			if (!strcmp(curves[k].name, c->curves.v[i]))
				group = curves[k].group;
		if (!group) {
			escape__str(word, sizeof(word), c->curves.v[i]);
			return fail(why, path, "curve_preferences: %s is not supported", word);
		}
		add(out, size, group);
	}
	return 0;
}

int web_tls__priority(const struct web_config *c, const char *path, char *out, size_t size,
		      char why[WEB_CONFIG_WHY])
{
	static const char *const versions[] = {
		[WEB_TLS10] = ":+VERS-TLS1.0",
		[WEB_TLS11] = ":+VERS-TLS1.1",
		[WEB_TLS12] = ":+VERS-TLS1.2",
		[WEB_TLS13] = ":+VERS-TLS1.3",
	};
	int err;

	/* every key exchange is an ephemeral one, as with Go */
	snprintf(out, size, "NORMAL:-RSA:-DHE-RSA:-VERS-ALL%s",
		 c->prefer_server_suites ? ":%SERVER_PRECEDENCE" : "");
	for (int v = (int)c->max_version; v >= (int)c->min_version; v--)
		add(out, size, versions[v]);
	err = add_suites(c, path, out, size, why);
	return err ? err : add_curves(c, path, out, size, why);
}

/* ---- clients' certificates ----------------------------------------------- */

/* A name of a certificate as the configuration would write it. */
static bool is_san(unsigned int type, const char *san, size_t len, const char *wanted)
{
	char ip[INET6_ADDRSTRLEN];

	if (type == GNUTLS_SAN_IPADDRESS) {
		if ((len != 4 && len != 16) ||
		    !inet_ntop(len == 4 ? AF_INET : AF_INET6, san, ip, sizeof(ip)))
			return false;
		return !strcmp(ip, wanted);
	}
	return (type == GNUTLS_SAN_DNSNAME || type == GNUTLS_SAN_RFC822NAME ||
		type == GNUTLS_SAN_URI) &&
	       len == strlen(wanted) && !memcmp(san, wanted, len);
}

static bool has_allowed_san(const struct web_tls *t, gnutls_x509_crt_t crt)
{
	char san[1024]; /* a longer name is none of those that are allowed */

	for (unsigned int i = 0;; i++) {
		unsigned int type;
		size_t len = sizeof(san);
		int err = gnutls_x509_crt_get_subject_alt_name2(crt, i, san, &len, &type, NULL);

		if (err == GNUTLS_E_SHORT_MEMORY_BUFFER)
			continue;
		if (err < 0)
			return false;
		for (size_t k = 0; k < t->sans.n; k++)
			if (is_san(type, san, len, t->sans.v[k]))
				return true;
	}
}

static bool is_trusted(gnutls_session_t session)
{
	gnutls_typed_vdata_st client = { .type = GNUTLS_DT_KEY_PURPOSE_OID,
					 .data = (void *)GNUTLS_KP_TLS_WWW_CLIENT };
	unsigned int status;

	return !gnutls_certificate_verify_peers(session, &client, 1, &status) && !status;
}

/* Called in the handshake; another value than 0 ends it. */
static int verify(gnutls_session_t session)
{
	const struct web_tls *t = gnutls_db_get_ptr(session);
	unsigned int n = 0;
	const gnutls_datum_t *chain = gnutls_certificate_get_peers(session, &n);
	gnutls_x509_crt_t crt;
	bool ok;

	if (!chain || !n)
		return t->auth == WEB_REQUIRE_ANY_CLIENT_CERT ||
				       t->auth == WEB_REQUIRE_AND_VERIFY_CLIENT_CERT
			       ? GNUTLS_E_CERTIFICATE_REQUIRED
			       : 0;
	if ((t->auth == WEB_VERIFY_CLIENT_CERT_IF_GIVEN ||
	     t->auth == WEB_REQUIRE_AND_VERIFY_CLIENT_CERT) &&
	    !is_trusted(session))
		return GNUTLS_E_CERTIFICATE_ERROR;
	if (!t->sans.n)
		return 0;
	if (gnutls_x509_crt_init(&crt))
		return GNUTLS_E_MEMORY_ERROR;
	ok = !gnutls_x509_crt_import(crt, &chain[0], GNUTLS_X509_FMT_DER) &&
	     has_allowed_san(t, crt);
	gnutls_x509_crt_deinit(crt);
	return ok ? 0 : GNUTLS_E_CERTIFICATE_ERROR;
}

int web_tls__apply(struct web_tls *t, gnutls_session_t session)
{
	static const gnutls_certificate_request_t requests[] = {
		[WEB_NO_CLIENT_CERT] = GNUTLS_CERT_IGNORE,
		[WEB_REQUEST_CLIENT_CERT] = GNUTLS_CERT_REQUEST,
		[WEB_REQUIRE_ANY_CLIENT_CERT] = GNUTLS_CERT_REQUIRE,
		[WEB_VERIFY_CLIENT_CERT_IF_GIVEN] = GNUTLS_CERT_REQUEST,
		[WEB_REQUIRE_AND_VERIFY_CLIENT_CERT] = GNUTLS_CERT_REQUIRE,
	};

	if (gnutls_credentials_set(session, GNUTLS_CRD_CERTIFICATE, t->credentials) ||
	    gnutls_priority_set(session, t->priority))
		return -EINVAL;
	gnutls_certificate_server_set_request(session, requests[t->auth]);
	/* there is no database of sessions, and the session's own pointer is the web server's */
	gnutls_db_set_ptr(session, t);
	gnutls_session_set_verify_function(session, verify);
	return 0;
}

/* ---- making one ---------------------------------------------------------- */

static gnutls_datum_t datum(const struct web_pem *pem)
{
	return (gnutls_datum_t){ .data = (unsigned char *)pem->data,
				 .size = (unsigned int)pem->len };
}

static const char *name_of(const struct web_pem *pem, const char *path)
{
	return pem->path ? pem->path : path;
}

static int load_pems(struct web_tls *t, const struct web_config *c, const char *path,
		     char why[WEB_CONFIG_WHY])
{
	gnutls_datum_t cert = datum(&c->cert), key = datum(&c->key), ca = datum(&c->client_ca);
	int n = gnutls_certificate_set_x509_key_mem2(t->credentials, &cert, &key,
						     GNUTLS_X509_FMT_PEM, NULL, 0);

	if (n < 0)
		return fail(why, name_of(&c->cert, path),
			    "no certificate in PEM with its key in %s: %s", name_of(&c->key, path),
			    gnutls_strerror(n));
	if (!c->client_ca.data)
		return 0;
	n = gnutls_certificate_set_x509_trust_mem(t->credentials, &ca, GNUTLS_X509_FMT_PEM);
	if (n <= 0)
		return fail(why, name_of(&c->client_ca, path), "no CA certificates in PEM: %s",
			    n ? gnutls_strerror(n) : "there is none");
	return 0;
}

static int copy_sans(struct web_tls *t, const struct web_strings *sans)
{
	t->sans.v = calloc(sans->n, sizeof(*t->sans.v));
	if (sans->n && !t->sans.v)
		return -ENOMEM;
	for (; t->sans.n < sans->n; t->sans.n++) {
		t->sans.v[t->sans.n] = strdup(sans->v[t->sans.n]);
		if (!t->sans.v[t->sans.n])
			return -ENOMEM;
	}
	return 0;
}

static int fill(struct web_tls *t, const struct web_config *c, const char *path,
		char why[WEB_CONFIG_WHY])
{
	char priority[1024];
	const char *at;
	int err = web_tls__priority(c, path, priority, sizeof(priority), why);

	if (err)
		return err;
	err = gnutls_priority_init(&t->priority, priority, &at);
	if (err)
		return fail(why, path, "this GnuTLS does not know %s: %s", at,
			    gnutls_strerror(err));
	if (gnutls_certificate_allocate_credentials(&t->credentials) ||
	    copy_sans(t, &c->allowed_sans)) {
		snprintf(why, WEB_CONFIG_WHY, "%s: %s", path, strerror(ENOMEM));
		return -ENOMEM;
	}
	t->auth = c->client_auth;
	return load_pems(t, c, path, why);
}

int web_tls__new(const struct web_config *c, const char *path, struct web_tls **out,
		 char why[WEB_CONFIG_WHY])
{
	struct web_tls *t = calloc(1, sizeof(*t));
	int err;

	if (!t) {
		snprintf(why, WEB_CONFIG_WHY, "%s: %s", path, strerror(ENOMEM));
		return -ENOMEM;
	}
	t->users = 1;
	err = fill(t, c, path, why);
	if (err)
		web_tls__put(t);
	else
		*out = t;
	return err;
}

struct web_tls *web_tls__get(struct web_tls *t)
{
	t->users++;
	return t;
}

void web_tls__put(struct web_tls *t)
{
	if (!t || --t->users)
		return;
	if (t->credentials)
		gnutls_certificate_free_credentials(t->credentials);
	if (t->priority)
		gnutls_priority_deinit(t->priority);
	for (size_t i = 0; i < t->sans.n; i++)
		free(t->sans.v[i]);
	free(t->sans.v);
	free(t);
}
