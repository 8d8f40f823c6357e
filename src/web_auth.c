/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Passwords: a queue to the thread that checks them, and a memory of those that were right. */
#define _GNU_SOURCE
#include "web_auth.h"

#include <crypt.h>
#include <errno.h>
#include <gnutls/crypto.h>
#include <gnutls/gnutls.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "privileges.h"
#include "thread.h"

#define DIGEST 32
#define CREDENTIALS_MAX 2048 /* bytes of a header */

struct check {
	struct check *next;
	void *cookie;
	char hash[64];
	bool known; /* the user is */
	bool ok;
	uint8_t digest[DIGEST];
	char *password;
};

struct web_auth {
	uint8_t key[DIGEST]; /* of the digests, of this process only */
	struct {
		uint8_t digest[DIGEST];
		uint64_t used; /* 0: none */
	} remembered[WEB_AUTH_REMEMBERED];
	uint64_t clock;
	unsigned int waiting; /* due, under way or answered */
	int fd;
	bool started;
	pthread_t thread;
	struct crypt_data *crypt;
	pthread_mutex_t lock; /* for all that follows */
	pthread_cond_t more;
	struct check *due, *answered;
	bool stop;
};

/* ---- the thread ---------------------------------------------------------- */

static void append(struct check **list, struct check *k)
{
	while (*list)
		list = &(*list)->next;
	k->next = NULL;
	*list = k;
}

static struct check *pop(struct check **list)
{
	struct check *k = *list;

	if (k)
		*list = k->next;
	return k;
}

static bool is_right(struct web_auth *a, const struct check *k)
{
	const char *got = crypt_r(k->password, k->hash, a->crypt);
	size_t len = strlen(k->hash);

	return got && strlen(got) == len && !gnutls_memcmp(got, k->hash, len) && k->known;
}

static void *check_passwords(void *arg)
{
	struct web_auth *a = arg;
	struct check *k;

	privileges__none();
	pthread_mutex_lock(&a->lock);
	while (!a->stop) {
		k = pop(&a->due);
		if (!k) {
			pthread_cond_wait(&a->more, &a->lock);
			continue;
		}
		pthread_mutex_unlock(&a->lock);
		k->ok = is_right(a, k);
		pthread_mutex_lock(&a->lock);
		append(&a->answered, k);
		eventfd_write(a->fd, 1);
	}
	pthread_mutex_unlock(&a->lock);
	return NULL;
}

/* ---- what was right ------------------------------------------------------ */

static bool make_digest(const struct web_auth *a, uint8_t digest[DIGEST], const char *user,
			const char *password, const char *hash)
{
	char all[CREDENTIALS_MAX + 128];
	int n = snprintf(all, sizeof(all), "%s:%s:%s", user, hash, password);
	int err = -1;

	if (n > 0 && (size_t)n < sizeof(all))
		err = gnutls_hmac_fast(GNUTLS_MAC_SHA256, a->key, DIGEST, all, (size_t)n, digest);
	explicit_bzero(all, sizeof(all));
	return !err;
}

static bool is_remembered(struct web_auth *a, const uint8_t digest[DIGEST])
{
	for (size_t i = 0; i < WEB_AUTH_REMEMBERED; i++) {
		if (a->remembered[i].used &&
		    !gnutls_memcmp(a->remembered[i].digest, digest, DIGEST)) {
			a->remembered[i].used = ++a->clock;
			return true;
		}
	}
	return false;
}

static void remember(struct web_auth *a, const uint8_t digest[DIGEST])
{
	size_t oldest = 0;

	if (is_remembered(a, digest))
		return;
	for (size_t i = 1; i < WEB_AUTH_REMEMBERED; i++)
		if (a->remembered[i].used < a->remembered[oldest].used)
			oldest = i;
	memcpy(a->remembered[oldest].digest, digest, DIGEST);
	a->remembered[oldest].used = ++a->clock;
}

/* ---- the header ---------------------------------------------------------- */

/* USER and PASSWORD of "Basic BASE64"; what is returned holds both, and is to be freed. */
static char *decode(const char *header, char **password)
{
	static const char scheme[] = "Basic ";
	gnutls_datum_t coded, plain;
	char *user = NULL, *colon;

	if (!header || strlen(header) > CREDENTIALS_MAX ||
	    strncasecmp(header, scheme, strlen(scheme)) != 0)
		return NULL;
	header += strlen(scheme);
	header += strspn(header, " ");
	coded = (gnutls_datum_t){ (unsigned char *)header, (unsigned int)strlen(header) };
	if (!coded.size || gnutls_base64_decode2(&coded, &plain))
		return NULL;
	colon = memchr(plain.data, ':', plain.size);
	/* crypt() would take what is before a NUL for the whole password */
	if (colon && !memchr(plain.data, '\0', plain.size)) {
		user = strndup((char *)plain.data, plain.size);
		*password = user ? user + (colon - (char *)plain.data) + 1 : NULL;
		if (user)
			(*password)[-1] = '\0';
	}
	explicit_bzero(plain.data, plain.size);
	gnutls_free(plain.data);
	return user;
}

static void forget(char *user, const char *password)
{
	explicit_bzero(user, (size_t)(password - user) + strlen(password));
	free(user);
}

/* ---- checking ------------------------------------------------------------ */

/* The user's hash; for one who is not known, any that takes as long as the longest. */
static void find_hash(const struct web_config *c, const char *user, struct check *k)
{
	const char *cost = c->users[0].hash + 4;

	for (size_t i = 0; i < c->nusers; i++) {
		const struct web_user *u = &c->users[i];

		if (!strcmp(u->name, user)) {
			snprintf(k->hash, sizeof(k->hash), "%s", u->hash);
			k->known = true;
		}
		if (strncmp(u->hash + 4, cost, 2) > 0)
			cost = u->hash + 4;
	}
	if (!k->known)
		snprintf(k->hash, sizeof(k->hash),
			 "$2b$%.2s$abcdefghijklmnopqrstuuabcdefghijklmnopqrstuvwxyzabcde", cost);
}

static bool start(struct web_auth *a)
{
	if (!a->crypt)
		a->crypt = calloc(1, sizeof(*a->crypt));
	if (a->crypt && !a->started)
		a->started = !thread__start(&a->thread, "aclguard-auth", check_passwords, a);
	return a->started;
}

static enum web_auth_answer enqueue(struct web_auth *a, struct check *k, const char *password)
{
	if (a->waiting >= WEB_AUTH_WAITING || !start(a))
		return WEB_AUTH_BUSY;
	k->password = strdup(password);
	if (!k->password)
		return WEB_AUTH_BUSY;
	a->waiting++;
	pthread_mutex_lock(&a->lock);
	append(&a->due, k);
	pthread_cond_signal(&a->more);
	pthread_mutex_unlock(&a->lock);
	return WEB_AUTH_LATER;
}

enum web_auth_answer web_auth__check(struct web_auth *a, const struct web_config *c,
				     const char *header, void *cookie)
{
	enum web_auth_answer answer = WEB_AUTH_BUSY;
	char *password, *user = decode(header, &password);
	struct check *k;

	if (!user)
		return WEB_AUTH_NO;
	k = calloc(1, sizeof(*k));
	if (k) {
		k->cookie = cookie;
		find_hash(c, user, k);
		if (!make_digest(a, k->digest, user, password, k->hash))
			answer = WEB_AUTH_NO; /* longer than any that is right */
		else if (k->known && is_remembered(a, k->digest))
			answer = WEB_AUTH_YES;
		else
			answer = enqueue(a, k, password);
		if (answer != WEB_AUTH_LATER)
			free(k);
	}
	forget(user, password);
	return answer;
}

static void free_check(struct check *k)
{
	explicit_bzero(k->password, strlen(k->password));
	free(k->password);
	free(k);
}

bool web_auth__next(struct web_auth *a, void **cookie, bool *ok)
{
	eventfd_t n;
	struct check *k;

	pthread_mutex_lock(&a->lock);
	k = pop(&a->answered);
	if (!k)
		eventfd_read(a->fd, &n);
	pthread_mutex_unlock(&a->lock);
	if (!k)
		return false;
	a->waiting--;
	*cookie = k->cookie;
	*ok = k->ok;
	if (k->ok)
		remember(a, k->digest);
	free_check(k);
	return true;
}

int web_auth__fd(const struct web_auth *a)
{
	return a->fd;
}

/* ---- making one ---------------------------------------------------------- */

struct web_auth *web_auth__new(void)
{
	struct web_auth *a = calloc(1, sizeof(*a));

	if (!a)
		return NULL;
	pthread_mutex_init(&a->lock, NULL);
	pthread_cond_init(&a->more, NULL);
	a->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (a->fd < 0 || gnutls_rnd(GNUTLS_RND_KEY, a->key, sizeof(a->key))) {
		web_auth__free(a);
		return NULL;
	}
	return a;
}

static void free_checks(struct check *k)
{
	while (k) {
		struct check *next = k->next;

		free_check(k);
		k = next;
	}
}

void web_auth__free(struct web_auth *a)
{
	if (!a)
		return;
	if (a->started) {
		pthread_mutex_lock(&a->lock);
		a->stop = true;
		pthread_cond_signal(&a->more);
		pthread_mutex_unlock(&a->lock);
		pthread_join(a->thread, NULL);
	}
	free_checks(a->due);
	free_checks(a->answered);
	if (a->fd >= 0)
		close(a->fd);
	if (a->crypt)
		explicit_bzero(a->crypt, sizeof(*a->crypt));
	free(a->crypt);
	pthread_cond_destroy(&a->more);
	pthread_mutex_destroy(&a->lock);
	explicit_bzero(a, sizeof(*a));
	free(a);
}
