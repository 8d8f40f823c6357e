/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The newest violations: a ring of texts. */
#include "recent.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct entry {
	uint64_t nr;
	char *violation; /* without the closing brace */
	size_t violation_len;
	char *followup; /* NULL: nothing came yet */
	size_t followup_len;
};

struct recent {
	pthread_mutex_t lock;
	size_t max, n, next; /* the next place; the oldest is n places before it */
	size_t bytes;
	struct entry entries[];
};

struct recent *recent__new(size_t max)
{
	struct recent *r = calloc(1, sizeof(*r) + max * sizeof(r->entries[0]));

	if (!r)
		return NULL;
	pthread_mutex_init(&r->lock, NULL);
	r->max = max;
	return r;
}

/* The i-th newest. */
static struct entry *entry_at(struct recent *r, size_t i)
{
	return &r->entries[(r->next + r->max - 1 - i) % r->max];
}

static void drop_oldest(struct recent *r)
{
	struct entry *e = entry_at(r, r->n - 1);

	r->bytes -= e->violation_len + e->followup_len;
	free(e->violation);
	free(e->followup);
	memset(e, 0, sizeof(*e));
	r->n--;
}

void recent__free(struct recent *r)
{
	if (!r)
		return;
	while (r->n)
		drop_oldest(r);
	pthread_mutex_destroy(&r->lock);
	free(r);
}

/* Up to the brace that closes the object, which is not counted. */
static size_t object_len(const char *json, size_t len)
{
	while (len && json[len - 1] != '}')
		len--;
	return len ? len - 1 : 0;
}

static char *copy(const char *data, size_t len)
{
	char *out = malloc(len);

	return out ? memcpy(out, data, len) : NULL;
}

void recent__violation(struct recent *r, uint64_t nr, const char *json, size_t len)
{
	struct entry e = { .nr = nr, .violation_len = object_len(json, len) };

	if (!r->max || !e.violation_len || e.violation_len > RECENT_BYTES_MAX)
		return;
	e.violation = copy(json, e.violation_len);
	if (!e.violation)
		return;
	pthread_mutex_lock(&r->lock);
	while (r->n && (r->n == r->max || r->bytes + e.violation_len > RECENT_BYTES_MAX))
		drop_oldest(r);
	r->entries[r->next] = e;
	r->next = (r->next + 1) % r->max;
	r->n++;
	r->bytes += e.violation_len;
	pthread_mutex_unlock(&r->lock);
}

static struct entry *find(struct recent *r, uint64_t nr)
{
	for (size_t i = 0; i < r->n; i++)
		if (entry_at(r, i)->nr == nr)
			return entry_at(r, i);
	return NULL;
}

void recent__followup(struct recent *r, uint64_t nr, const char *json, size_t len)
{
	size_t size = object_len(json, len) + 1;
	struct entry *e;
	char *text;

	if (size == 1 || size > RECENT_BYTES_MAX / 2)
		return;
	text = copy(json, size);
	pthread_mutex_lock(&r->lock);
	e = text ? find(r, nr) : NULL;
	if (e) {
		r->bytes += size - e->followup_len;
		free(e->followup);
		e->followup = text;
		e->followup_len = size;
		text = NULL;
		while (r->n > 1 && r->bytes > RECENT_BYTES_MAX)
			drop_oldest(r);
	}
	pthread_mutex_unlock(&r->lock);
	free(text);
}

void recent__render(struct recent *r, size_t n, struct textbuf *out)
{
	pthread_mutex_lock(&r->lock);
	textbuf__str(out, "[");
	for (size_t i = 0; i < r->n && i < n; i++) {
		const struct entry *e = entry_at(r, i);

		textbuf__str(out, i ? ",\n" : "\n");
		textbuf__add(out, e->violation, e->violation_len);
		textbuf__str(out, ",\"followup\":");
		if (e->followup)
			textbuf__add(out, e->followup, e->followup_len);
		else
			textbuf__str(out, "null");
		textbuf__str(out, "}");
	}
	textbuf__str(out, "\n]\n");
	pthread_mutex_unlock(&r->lock);
}
