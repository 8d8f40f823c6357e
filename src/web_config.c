/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The web configuration.  libyaml makes events of the text; here is what may follow on
 * what: each mapping of the file has a table of its keys, and one function walks all.
 */
#define _GNU_SOURCE
#include "web_config.h"

#include <crypt.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <yaml.h>

#include "escape.h"

#define SHOWN 200   /* bytes of a word of the file, in messages */
#define COST_MAX 16 /* of bcrypt; some seconds */
#define COST_MIN 4

const char *const web_header_names[WEB_HEADER_MAX] = {
	[WEB_CONTENT_SECURITY_POLICY] = "Content-Security-Policy",
	[WEB_X_FRAME_OPTIONS] = "X-Frame-Options",
	[WEB_X_CONTENT_TYPE_OPTIONS] = "X-Content-Type-Options",
	[WEB_X_XSS_PROTECTION] = "X-XSS-Protection",
	[WEB_STRICT_TRANSPORT_SECURITY] = "Strict-Transport-Security",
};

struct walk {
	yaml_parser_t parser;
	yaml_event_t event; /* the current one */
	struct web_config *c;
	const char *path;
	char *why;
	unsigned int tls_line; /* of tls_server_config */
};

/* One key of a mapping: what it takes is at `field`, an offset in struct web_config. */
struct key {
	const char *name;
	int (*take)(struct walk *w, const struct key *k);
	size_t field;
	const char *const *values; /* that it may have, NULL at the end */
};

#define FIELD(type, w, k) ((type *)(void *)((char *)(w)->c + (k)->field))

/* ---- messages ------------------------------------------------------------ */

__attribute__((format(printf, 3, 4))) static int fail_at(struct walk *w, size_t line,
							 const char *fmt, ...)
{
	va_list args;
	int n = snprintf(w->why, WEB_CONFIG_WHY, "%s:%zu: ", w->path, line);

	if (n > 0 && n < WEB_CONFIG_WHY) {
		va_start(args, fmt);
		vsnprintf(w->why + n, WEB_CONFIG_WHY - (size_t)n, fmt, args);
		va_end(args);
	}
	return -EINVAL;
}

#define fail(w, ...) fail_at(w, (w)->event.start_mark.line + 1, __VA_ARGS__)

static int no_memory(struct walk *w)
{
	snprintf(w->why, WEB_CONFIG_WHY, "%s: %s", w->path, strerror(ENOMEM));
	return -ENOMEM;
}

/* The text of the current scalar, as it may be shown. */
static const char *shown(const struct walk *w, char out[SHOWN])
{
	escape__text(out, SHOWN, w->event.data.scalar.value, w->event.data.scalar.length);
	return out;
}

/* ---- events -------------------------------------------------------------- */

/* What an event has besides its value: nothing of that is needed, and it can be costly. */
static int check_plain(struct walk *w)
{
	const yaml_event_t *e = &w->event;
	const yaml_char_t *anchor = NULL, *tag = NULL;

	if (e->type == YAML_ALIAS_EVENT)
		return fail(w, "aliases (*name) are not supported");
	if (e->type == YAML_SCALAR_EVENT) {
		anchor = e->data.scalar.anchor;
		tag = e->data.scalar.tag;
	} else if (e->type == YAML_MAPPING_START_EVENT) {
		anchor = e->data.mapping_start.anchor;
		tag = e->data.mapping_start.tag;
	} else if (e->type == YAML_SEQUENCE_START_EVENT) {
		anchor = e->data.sequence_start.anchor;
		tag = e->data.sequence_start.tag;
	}
	if (anchor)
		return fail(w, "anchors (&name) are not supported");
	if (tag)
		return fail(w, "tags (!name) are not supported");
	if (e->type == YAML_SCALAR_EVENT &&
	    memchr(e->data.scalar.value, '\0', e->data.scalar.length))
		return fail(w, "a NUL character");
	return 0;
}

static int next(struct walk *w)
{
	yaml_event_delete(&w->event);
	if (!yaml_parser_parse(&w->parser, &w->event)) {
		if (w->parser.error == YAML_MEMORY_ERROR)
			return no_memory(w);
		return fail_at(w, w->parser.problem_mark.line + 1, "no YAML: %s%s%s",
			       w->parser.problem ? w->parser.problem : "cannot be read",
			       w->parser.context ? ", " : "",
			       w->parser.context ? w->parser.context : "");
	}
	return check_plain(w);
}

/* Nothing behind the colon, or what YAML takes for it. */
static bool is_null(const struct walk *w)
{
	const char *s = (const char *)w->event.data.scalar.value;

	return w->event.type == YAML_SCALAR_EVENT &&
	       w->event.data.scalar.style == YAML_PLAIN_SCALAR_STYLE &&
	       (!*s || !strcmp(s, "~") || !strcmp(s, "null") || !strcmp(s, "Null") ||
		!strcmp(s, "NULL"));
}

/* The current scalar, of memory of its own; "" for null.  The key's name is for messages. */
static int text(struct walk *w, const char *name, char **out)
{
	if (w->event.type != YAML_SCALAR_EVENT)
		return fail(w, "%s takes one text", name);
	*out = strdup(is_null(w) ? "" : (const char *)w->event.data.scalar.value);
	return *out ? 0 : no_memory(w);
}

/* ---- values -------------------------------------------------------------- */

static int take_bool(struct walk *w, const struct key *k)
{
	static const char *const yes[] = { "true", "True", "TRUE", "yes", "on", NULL };
	static const char *const no[] = { "false", "False", "FALSE", "no", "off", NULL };
	const char *s = (const char *)w->event.data.scalar.value;

	for (size_t i = 0; w->event.type == YAML_SCALAR_EVENT && yes[i]; i++) {
		if (!strcmp(s, yes[i]) || !strcmp(s, no[i])) {
			*FIELD(bool, w, k) = s[0] == yes[i][0] && s[1] == yes[i][1];
			return 0;
		}
	}
	return fail(w, "%s is true or false", k->name);
}

/* One of k->values, which an enum counts. */
static int take_choice(struct walk *w, const struct key *k)
{
	const char *s = (const char *)w->event.data.scalar.value;
	char word[SHOWN], all[SHOWN] = "";

	if (w->event.type != YAML_SCALAR_EVENT)
		return fail(w, "%s takes one word", k->name);
	if (is_null(w))
		return 0;
	for (unsigned int i = 0; k->values[i]; i++) {
		if (!strcmp(s, k->values[i])) {
			*FIELD(unsigned int, w, k) = i;
			return 0;
		}
		strncat(all, i ? ", " : "", sizeof(all) - strlen(all) - 1);
		strncat(all, k->values[i], sizeof(all) - strlen(all) - 1);
	}
	return fail(w, "%s is one of %s, not '%s'", k->name, all, shown(w, word));
}

static int take_client_auth(struct walk *w, const struct key *k)
{
	/* how RequireAnyClientCert was called once */
	if (w->event.type == YAML_SCALAR_EVENT &&
	    !strcmp((const char *)w->event.data.scalar.value, "RequireClientCert")) {
		*FIELD(enum web_client_auth, w, k) = WEB_REQUIRE_ANY_CLIENT_CERT;
		return 0;
	}
	return take_choice(w, k);
}

static int take_list(struct walk *w, const struct key *k)
{
	struct web_strings *list = FIELD(struct web_strings, w, k);
	int err = 0;

	if (is_null(w))
		return 0;
	if (w->event.type != YAML_SEQUENCE_START_EVENT)
		return fail(w, "%s takes a list", k->name);
	while (!(err = next(w)) && w->event.type != YAML_SEQUENCE_END_EVENT) {
		char **v = reallocarray(list->v, list->n + 1, sizeof(*v));

		if (!v)
			return no_memory(w);
		list->v = v;
		err = text(w, k->name, &list->v[list->n]);
		if (err)
			return err;
		if (!*list->v[list->n++])
			return fail(w, "%s has an empty line", k->name);
	}
	return err;
}

static char *relative_to(const char *path, const char *name)
{
	const char *slash = strrchr(path, '/');
	char *full;

	if (*name == '/' || !slash)
		return strdup(name);
	return asprintf(&full, "%.*s%s", (int)(slash + 1 - path), path, name) < 0 ? NULL : full;
}

static int once(struct walk *w, const struct key *k, const struct web_pem *pem)
{
	return pem->path || pem->data
		       ? fail(w, "%s, and the same has been given already in another way", k->name)
		       : 0;
}

static int take_file(struct walk *w, const struct key *k)
{
	struct web_pem *pem = FIELD(struct web_pem, w, k);
	char *name = NULL;
	int err = text(w, k->name, &name);

	if (err || !name)
		return err;
	if (*name && !(err = once(w, k, pem))) {
		pem->path = relative_to(w->path, name);
		if (!pem->path)
			err = no_memory(w);
	}
	free(name);
	return err;
}

static int take_inline(struct walk *w, const struct key *k)
{
	struct web_pem *pem = FIELD(struct web_pem, w, k);
	char *data = NULL;
	int err = text(w, k->name, &data);

	if (err || !data)
		return err;
	if (*data && !(err = once(w, k, pem))) {
		pem->data = data;
		pem->len = strlen(data);
		return 0;
	}
	free(data);
	return err;
}

static int take_header(struct walk *w, const struct key *k)
{
	char **value = FIELD(char *, w, k);
	char word[SHOWN];
	int err = text(w, k->name, value);

	if (err)
		return err;
	for (const char *s = *value; *s; s++)
		if ((unsigned char)*s < ' ' || *s == 0x7f)
			return fail(w, "%s has a control character", k->name);
	if (!**value) {
		free(*value);
		*value = NULL;
		return 0;
	}
	for (size_t i = 0; k->values; i++) {
		if (!k->values[i])
			return fail(w, "%s is %s%s%s, not '%s'", k->name, k->values[0],
				    k->values[1] ? " or " : "", k->values[1] ? k->values[1] : "",
				    shown(w, word));
		if (!strcmp(*value, k->values[i]))
			return 0;
	}
	return 0;
}

static int refuse_key(struct walk *w, const struct key *k)
{
	return fail(w, "%s is not supported", k->name);
}

/* ---- mappings ------------------------------------------------------------ */

/* Which of the keys the current scalar is. */
static const struct key *find_key(const struct walk *w, const struct key *keys)
{
	const char *s = (const char *)w->event.data.scalar.value;

	for (; keys->name; keys++)
		if (!strcmp(s, keys->name))
			return keys;
	return NULL;
}

/* The current event begins the mapping, or is null for an empty one. */
static int mapping(struct walk *w, const char *name, const struct key *keys)
{
	uint32_t seen = 0;
	char word[SHOWN];
	int err;

	if (is_null(w))
		return 0;
	if (w->event.type != YAML_MAPPING_START_EVENT)
		return fail(w, "%s takes lines of the form KEY: VALUE", name);
	while (!(err = next(w)) && w->event.type != YAML_MAPPING_END_EVENT) {
		const struct key *k;

		if (w->event.type != YAML_SCALAR_EVENT)
			return fail(w, "a key of %s is one word", name);
		k = find_key(w, keys);
		if (!k)
			return fail(w, "unknown key '%s' in %s", shown(w, word), name);
		if (seen & 1U << (k - keys))
			return fail(w, "%s is there twice", k->name);
		seen |= 1U << (k - keys);
		if (k->take == refuse_key)
			return refuse_key(w, k);
		err = next(w);
		if (!err)
			err = k->take(w, k);
		if (err)
			return err;
	}
	return err;
}

#define AT(field) offsetof(struct web_config, field)

static int take_tls(struct walk *w, const struct key *k)
{
	static const char *const auths[] = {
		[WEB_NO_CLIENT_CERT] = "NoClientCert",
		[WEB_REQUEST_CLIENT_CERT] = "RequestClientCert",
		[WEB_REQUIRE_ANY_CLIENT_CERT] = "RequireAnyClientCert",
		[WEB_VERIFY_CLIENT_CERT_IF_GIVEN] = "VerifyClientCertIfGiven",
		[WEB_REQUIRE_AND_VERIFY_CLIENT_CERT] = "RequireAndVerifyClientCert",
		NULL,
	};
	static const char *const versions[] = { "TLS10", "TLS11", "TLS12", "TLS13", NULL };
	static const struct key keys[] = {
		{ "cert", take_inline, AT(cert), NULL },
		{ "cert_file", take_file, AT(cert), NULL },
		{ "key", take_inline, AT(key), NULL },
		{ "key_file", take_file, AT(key), NULL },
		{ "client_ca", take_inline, AT(client_ca), NULL },
		{ "client_ca_file", take_file, AT(client_ca), NULL },
		{ "client_auth_type", take_client_auth, AT(client_auth), auths },
		{ "client_allowed_sans", take_list, AT(allowed_sans), NULL },
		{ "min_version", take_choice, AT(min_version), versions },
		{ "max_version", take_choice, AT(max_version), versions },
		{ "cipher_suites", take_list, AT(cipher_suites), NULL },
		{ "prefer_server_cipher_suites", take_bool, AT(prefer_server_suites), NULL },
		{ "curve_preferences", take_list, AT(curves), NULL },
		{ NULL, NULL, 0, NULL },
	};

	w->tls_line = (unsigned int)w->event.start_mark.line + 1;
	w->c->tls = w->event.type == YAML_MAPPING_START_EVENT;
	return mapping(w, k->name, keys);
}

static int take_headers(struct walk *w, const struct key *k)
{
	static const char *const frames[] = { "deny", "sameorigin", NULL };
	static const char *const sniff[] = { "nosniff", NULL };
	struct key keys[WEB_HEADER_MAX + 1] = {};

	for (size_t i = 0; i < WEB_HEADER_MAX; i++)
		keys[i] = (struct key){ web_header_names[i], take_header, AT(headers[i]), NULL };
	keys[WEB_X_FRAME_OPTIONS].values = frames;
	keys[WEB_X_CONTENT_TYPE_OPTIONS].values = sniff;
	return mapping(w, k->name, keys);
}

static int take_http(struct walk *w, const struct key *k)
{
	static const struct key keys[] = {
		{ "http2", take_bool, AT(http2_wanted), NULL },
		{ "headers", take_headers, 0, NULL },
		{ NULL, NULL, 0, NULL },
	};

	return mapping(w, k->name, keys);
}

bool web_config__hash_ok(const char *hash, const char **reason)
{
	static const char letters[] = "./0123456789abcdefghijklmnopqrstuvwxyz"
				      "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
	unsigned int cost;

	*reason = "no bcrypt hash; make one with: htpasswd -nBC 10 USER";
	if (strlen(hash) != 60 || hash[0] != '$' || hash[1] != '2' || !strchr("aby", hash[2]) ||
	    hash[3] != '$' || hash[4] < '0' || hash[4] > '9' || hash[5] < '0' || hash[5] > '9' ||
	    hash[6] != '$' || strspn(hash + 7, letters) != 53)
		return false;
	cost = (unsigned int)(hash[4] - '0') * 10 + (unsigned int)(hash[5] - '0');
	*reason = "a bcrypt hash of a cost that is not between 4 and 16: checking would take too "
		  "long, or guessing too short";
	if (cost < COST_MIN || cost > COST_MAX)
		return false;
#if CRYPT_CHECKSALT_AVAILABLE
	*reason = "a hash that this system's libcrypt does not know";
	if (crypt_checksalt(hash) == CRYPT_SALT_INVALID)
		return false;
#endif
	return true;
}

static int take_user(struct walk *w, struct web_user *u)
{
	const char *reason;
	char word[SHOWN];
	int err;

	if (w->event.type != YAML_SCALAR_EVENT)
		return fail(w, "a user of basic_auth_users is one name");
	u->name = strdup((const char *)w->event.data.scalar.value);
	if (!u->name)
		return no_memory(w);
	/* basic authentication sends NAME:PASSWORD */
	if (!*u->name || strchr(u->name, ':'))
		return fail(w, "the name of a user is not empty and has no colon: '%s'",
			    shown(w, word));
	for (const struct web_user *other = w->c->users; other < u; other++)
		if (!strcmp(other->name, u->name))
			return fail(w, "user '%s' is there twice", shown(w, word));
	shown(w, word);
	err = next(w);
	if (!err)
		err = text(w, "a user of basic_auth_users", &u->hash);
	if (err)
		return err;
	/* the hash itself is nobody's business */
	return web_config__hash_ok(u->hash, &reason) ? 0
						     : fail(w, "user '%s' has %s", word, reason);
}

static int take_users(struct walk *w, const struct key *k)
{
	struct web_config *c = w->c;
	int err;

	if (is_null(w))
		return 0;
	if (w->event.type != YAML_MAPPING_START_EVENT)
		return fail(w, "%s takes lines of the form USER: HASH", k->name);
	while (!(err = next(w)) && w->event.type != YAML_MAPPING_END_EVENT) {
		struct web_user *users = reallocarray(c->users, c->nusers + 1, sizeof(*users));

		if (!users)
			return no_memory(w);
		c->users = users;
		c->users[c->nusers] = (struct web_user){};
		err = take_user(w, &c->users[c->nusers++]);
		if (err)
			return err;
	}
	return err;
}

/* ---- the whole ----------------------------------------------------------- */

static int check_tls(struct walk *w)
{
	const struct web_config *c = w->c;
	const size_t line = w->tls_line;
	bool ca = c->client_ca.path || c->client_ca.data;

	if (!c->tls)
		return 0;
	if (!c->cert.path && !c->cert.data)
		return fail_at(w, line, "tls_server_config has neither cert_file nor cert");
	if (!c->key.path && !c->key.data)
		return fail_at(w, line, "tls_server_config has neither key_file nor key");
	if (c->min_version > c->max_version)
		return fail_at(w, line, "min_version is above max_version");
	if (ca && c->client_auth == WEB_NO_CLIENT_CERT)
		return fail_at(
			w, line,
			"there is a client CA, but client_auth_type asks for no certificate");
	if (!ca && (c->client_auth == WEB_VERIFY_CLIENT_CERT_IF_GIVEN ||
		    c->client_auth == WEB_REQUIRE_AND_VERIFY_CLIENT_CERT))
		return fail_at(
			w, line,
			"client_auth_type verifies certificates, but there is no client_ca_file");
	if (c->allowed_sans.n && c->client_auth != WEB_REQUIRE_ANY_CLIENT_CERT &&
	    c->client_auth != WEB_REQUIRE_AND_VERIFY_CLIENT_CERT)
		return fail_at(
			w, line,
			"client_allowed_sans needs a client_auth_type that requires a certificate");
	return 0;
}

static int document(struct walk *w)
{
	static const struct key keys[] = {
		{ "tls_server_config", take_tls, 0, NULL },
		{ "http_server_config", take_http, 0, NULL },
		{ "basic_auth_users", take_users, 0, NULL },
		{ "rate_limit", refuse_key, 0, NULL },
		{ NULL, NULL, 0, NULL },
	};
	int err = next(w);

	if (err || w->event.type == YAML_STREAM_END_EVENT)
		return err; /* an empty file */
	err = next(w);
	if (!err)
		err = mapping(w, "the web configuration", keys);
	if (!err)
		err = next(w); /* the end of the document */
	if (!err)
		err = next(w);
	if (!err && w->event.type != YAML_STREAM_END_EVENT)
		err = fail(w, "a second document");
	return err ? err : check_tls(w);
}

int web_config__parse(const char *data, size_t len, const char *path, struct web_config *c,
		      char why[WEB_CONFIG_WHY])
{
	struct walk w = { .c = c, .path = path, .why = why };
	int err;

	*c = (struct web_config){ .min_version = WEB_TLS12,
				  .max_version = WEB_TLS13,
				  .prefer_server_suites = true };
	if (!yaml_parser_initialize(&w.parser))
		return no_memory(&w);
	yaml_parser_set_encoding(&w.parser, YAML_UTF8_ENCODING);
	yaml_parser_set_input_string(&w.parser, (const unsigned char *)data, len);
	err = next(&w); /* the beginning of the stream */
	if (!err)
		err = document(&w);
	yaml_event_delete(&w.event);
	yaml_parser_delete(&w.parser);
	return err;
}

static void clear_strings(struct web_strings *list)
{
	for (size_t i = 0; i < list->n; i++)
		free(list->v[i]);
	free(list->v);
}

static void clear_pem(struct web_pem *pem)
{
	if (pem->data)
		explicit_bzero(pem->data, pem->len);
	free(pem->data);
	free(pem->path);
}

void web_config__clear(struct web_config *c)
{
	clear_pem(&c->cert);
	clear_pem(&c->key);
	clear_pem(&c->client_ca);
	clear_strings(&c->allowed_sans);
	clear_strings(&c->cipher_suites);
	clear_strings(&c->curves);
	for (size_t i = 0; i < WEB_HEADER_MAX; i++)
		free(c->headers[i]);
	for (size_t i = 0; i < c->nusers; i++) {
		free(c->users[i].name);
		free(c->users[i].hash);
	}
	free(c->users);
	*c = (struct web_config){};
}

/* ---- files --------------------------------------------------------------- */

static void look(struct web_file *f, const struct stat *st)
{
	f->dev = st->st_dev;
	f->ino = st->st_ino;
	f->size = st->st_size;
	f->mtime = st->st_mtim;
	f->ctime = st->st_ctim;
}

static int read_all(int fd, struct web_pem *to, size_t size)
{
	ssize_t n;

	to->data = malloc(size + 1);
	if (!to->data)
		return -ENOMEM;
	to->len = 0;
	while (to->len < size) {
		n = read(fd, to->data + to->len, size - to->len);
		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		to->len += (size_t)n;
	}
	to->data[to->len] = '\0';
	return 0;
}

/* Reads to->path, and says in `f` what it was like. */
static int read_file(struct web_pem *to, struct web_file *f, char why[WEB_CONFIG_WHY])
{
	int fd = open(to->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	const char *reason = NULL;
	struct stat st;
	int err = 0;

	f->path = strdup(to->path);
	if (fd < 0 || fstat(fd, &st)) {
		err = -errno;
	} else {
		look(f, &st);
		if (!S_ISREG(st.st_mode) || st.st_size > WEB_CONFIG_MAX) {
			err = -EINVAL;
			reason = "no regular file of at most 1 MiB";
		} else {
			err = read_all(fd, to, (size_t)st.st_size);
		}
	}
	if (!err && !f->path)
		err = -ENOMEM;
	if (err)
		snprintf(why, WEB_CONFIG_WHY, "cannot read %s: %s", to->path,
			 reason ? reason : strerror(-err));
	if (fd >= 0)
		close(fd);
	return err;
}

int web_config__load(const char *path, struct web_config *c, struct web_files *files,
		     char why[WEB_CONFIG_WHY])
{
	struct web_pem text = { .path = strdup(path) };
	struct web_pem *const named[] = { &c->cert, &c->key, &c->client_ca };
	struct web_file *f = files->f;
	int err = -ENOMEM;

	*c = (struct web_config){};
	web_files__clear(files);
	if (text.path)
		err = read_file(&text, f++, why);
	if (!err)
		err = web_config__parse(text.data, text.len, path, c, why);
	for (size_t i = 0; i < sizeof(named) / sizeof(named[0]) && !err; i++)
		if (named[i]->path)
			err = read_file(named[i], f++, why);
	clear_pem(&text);
	return err;
}

bool web_files__changed(const struct web_files *files)
{
	for (const struct web_file *f = files->f; f < files->f + WEB_FILES && f->path; f++) {
		struct web_file now = { .path = f->path };
		struct stat st;

		if (!stat(f->path, &st))
			look(&now, &st);
		if (now.dev != f->dev || now.ino != f->ino || now.size != f->size ||
		    now.mtime.tv_sec != f->mtime.tv_sec || now.mtime.tv_nsec != f->mtime.tv_nsec ||
		    now.ctime.tv_sec != f->ctime.tv_sec || now.ctime.tv_nsec != f->ctime.tv_nsec)
			return true;
	}
	return false;
}

void web_files__clear(struct web_files *files)
{
	for (size_t i = 0; i < WEB_FILES; i++)
		free(files->f[i].path);
	*files = (struct web_files){};
}

void web_config__advise(const struct web_config *c, const char *path,
			void (*note)(void *arg, const char *line), void *arg)
{
	const char *secret = c->key.path ? c->key.path : path;
	char line[WEB_CONFIG_WHY];
	struct stat st;

	if ((c->key.path || c->key.data) && !stat(secret, &st) && (st.st_mode & S_IROTH)) {
		snprintf(line, sizeof(line),
			 "everybody on this machine can read the private key in %s: chmod o-r it",
			 secret);
		note(arg, line);
	}
	if (c->http2_wanted) {
		snprintf(line, sizeof(line),
			 "%s: http2 is true, but there is only HTTP/1.1, which clients then use",
			 path);
		note(arg, line);
	}
	if (c->nusers && !c->tls) {
		snprintf(line, sizeof(line),
			 "%s: passwords are asked for, but without tls_server_config they can be "
			 "read on the way",
			 path);
		note(arg, line);
	}
}
