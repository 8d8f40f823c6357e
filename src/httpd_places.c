/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The places for connections.  There are few, and each question walks all of them. */
#define _GNU_SOURCE
#include "httpd_places.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#define MS 1000000ULL
#define QUIET (250 * MS) /* how long one who says nothing is safe from those who wait */
#define SLOW (5000 * MS) /* and one who takes an answer */

int places__init(struct places *p, unsigned int n)
{
	*p = (struct places){ .v = calloc(n, sizeof(*p->v)), .n = n };
	return p->v ? 0 : -ENOMEM;
}

void places__free(struct places *p)
{
	free(p->v);
	*p = (struct places){};
}

static uint64_t peer_of(const struct sockaddr *sa)
{
	struct sockaddr_in in;
	struct sockaddr_in6 in6;
	uint64_t peer = 0; /* all of this machine, on unix sockets */
	uint32_t v4;

	if (sa->sa_family == AF_INET) {
		memcpy(&in, sa, sizeof(in));
		peer = in.sin_addr.s_addr;
	} else if (sa->sa_family == AF_INET6) {
		memcpy(&in6, sa, sizeof(in6));
		if (IN6_IS_ADDR_V4MAPPED(&in6.sin6_addr)) {
			memcpy(&v4, &in6.sin6_addr.s6_addr[12], sizeof(v4));
			peer = v4;
		} else { /* who has one address of a /64 has all of them */
			memcpy(&peer, &in6.sin6_addr, sizeof(peer));
		}
	}
	return peer;
}

struct place *places__take(struct places *p, int fd, const struct sockaddr *sa, uint64_t now)
{
	for (unsigned int i = 0; i < p->n; i++) {
		struct place *place = &p->v[i];

		if (place->phase != PLACE_FREE)
			continue;
		*place = (struct place){
			.phase = PLACE_HEAD, .fd = fd, .since = now, .peer = peer_of(sa)
		};
		p->used++;
		return place;
	}
	return NULL;
}

void places__give(struct places *p, struct place *place)
{
	*place = (struct place){ .fd = -1 };
	p->used--;
}

void place__enter(struct place *place, enum place_phase phase, uint64_t now)
{
	place->phase = phase;
	place->since = now;
}

/* What the library reads from it then is the end. */
static void cut(struct place *place)
{
	shutdown(place->fd, SHUT_RDWR);
	place->cut = true;
}

uint64_t places__close_overdue(struct places *p, uint64_t now)
{
	uint64_t next = UINT64_MAX;

	for (unsigned int i = 0; i < p->n; i++) {
		struct place *place = &p->v[i];
		uint64_t until = place->since + p->may[place->phase];

		if (place->phase == PLACE_FREE || place->cut)
			continue;
		if (now >= until) {
			cut(place);
			p->overdue++;
		} else if (until < next) {
			next = until;
		}
	}
	return next;
}

static unsigned int places_of(const struct places *p, uint64_t peer)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < p->n; i++)
		n += p->v[i].phase != PLACE_FREE && !p->v[i].cut && p->v[i].peer == peer;
	return n;
}

bool places__evict(struct places *p, uint64_t now)
{
	struct place *worst = NULL;
	unsigned int most = 0;

	for (unsigned int i = 0; i < p->n; i++) {
		struct place *place = &p->v[i];
		uint64_t safe = place->phase == PLACE_BUSY ? SLOW : QUIET;
		unsigned int n;

		if (place->phase == PLACE_FREE || place->cut || now - place->since < safe ||
		    place->auth == PLACE_AUTH_LATER)
			continue;
		n = places_of(p, place->peer);
		if (!worst || n > most || (n == most && place->since < worst->since)) {
			most = n;
			worst = place;
		}
	}
	if (!worst)
		return false;
	cut(worst);
	p->evicted++;
	return true;
}

bool places__any_busy(const struct places *p)
{
	for (unsigned int i = 0; i < p->n; i++)
		if (p->v[i].phase == PLACE_BUSY && !p->v[i].cut)
			return true;
	return false;
}
