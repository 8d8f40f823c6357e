/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Copies of stacks that wait for their violation. */
#define _GNU_SOURCE
#include "dumps.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* A ring holds at least so many. */
#define RECORDS 64
#define RING_MIN (1U << 20)
#define RECORD_MAX (sizeof(struct acl_dump) + ACL_DUMP_PIECES_MAX * ACL_DUMP_PIECE)
/* Another CPU's copy before ours in the ring takes some us; us to wait, and how often. */
#define WAIT_US 50
#define WAITS 40

struct slot {
	uint64_t id; /* 0: none; of two, the later violation's is greater */
	struct acl_dump *dump;
};

struct dumps {
	struct ring_buffer *ring;
	uint64_t wanted;  /* id of the violation whose copy is looked for */
	bool full;	  /* of those of later violations */
	uint64_t missing; /* id of the last violation whose copy was not found */
	uint64_t lost;
	struct slot waiting[DUMPS_WAITING_MAX];
};

uint8_t dumps__pieces(uint32_t bytes)
{
	uint32_t whole = (bytes + ACL_DUMP_PIECE - 1) / ACL_DUMP_PIECE;

	/* the stack pointer is somewhere in the first one */
	return whole + 1 < ACL_DUMP_PIECES_MAX ? (uint8_t)(whole + 1) : ACL_DUMP_PIECES_MAX;
}

uint32_t dumps__ring(uint32_t bytes)
{
	size_t record = sizeof(struct acl_dump) + dumps__pieces(bytes) * ACL_DUMP_PIECE;
	uint32_t size = RING_MIN;

	while (size < RECORDS * record)
		size *= 2;
	return size;
}

static bool is_sound(const struct acl_dump *d, size_t size)
{
	return size >= sizeof(*d) && d->h.type == ACL_REC_DUMP && d->id &&
	       d->pieces <= ACL_DUMP_PIECES_MAX &&
	       size >= sizeof(*d) + d->pieces * (size_t)ACL_DUMP_PIECE;
}

/* An empty slot, or that of the oldest violation. */
static struct slot *oldest(struct dumps *ds)
{
	struct slot *s = &ds->waiting[0];

	for (unsigned int i = 1; i < DUMPS_WAITING_MAX; i++)
		if (ds->waiting[i].id < s->id)
			s = &ds->waiting[i];
	return s;
}

/* Takes no more from the ring than is needed, and not what would push out later ones. */
static int on_dump(void *arg, void *data, size_t size)
{
	struct dumps *ds = arg;
	const struct acl_dump *d = data;
	struct slot *s = oldest(ds);

	if (!is_sound(d, size))
		return 0;
	s->id = 0;
	if (!s->dump)
		s->dump = malloc(RECORD_MAX);
	if (!s->dump)
		return 0;
	memcpy(s->dump, d, sizeof(*d) + d->pieces * (size_t)ACL_DUMP_PIECE);
	s->id = d->id;
	ds->full = oldest(ds)->id > ds->wanted;
	return d->id == ds->wanted || ds->full ? -ECANCELED : 0;
}

struct dumps *dumps__new(void)
{
	return calloc(1, sizeof(struct dumps));
}

int dumps__attach(struct dumps *ds, int map_fd)
{
	ds->ring = ring_buffer__new(map_fd, on_dump, ds, NULL);
	return ds->ring ? 0 : -errno;
}

void dumps__free(struct dumps *ds)
{
	if (!ds)
		return;
	for (unsigned int i = 0; i < DUMPS_WAITING_MAX; i++)
		free(ds->waiting[i].dump);
	ring_buffer__free(ds->ring);
	free(ds);
}

static const struct acl_dump *look(struct dumps *ds, uint64_t id)
{
	for (unsigned int i = 0; i < DUMPS_WAITING_MAX; i++)
		if (ds->waiting[i].id == id)
			return ds->waiting[i].dump;
	return NULL;
}

const struct acl_dump *dumps__find(struct dumps *ds, uint64_t id)
{
	const struct timespec pause = { .tv_nsec = WAIT_US * 1000 };
	const struct acl_dump *d = look(ds, id);

	if (!d && id == ds->missing)
		return NULL; /* asked for once more */
	ds->wanted = id;
	ds->full = oldest(ds)->id > id;
	for (int i = 0; !d && !ds->full && id && ds->ring && i < WAITS; i++) {
		if (i)
			nanosleep(&pause, NULL);
		ring_buffer__consume(ds->ring);
		d = look(ds, id);
	}
	if (!d) {
		ds->missing = id;
		ds->lost++;
	}
	return d;
}

uint64_t dumps__lost(const struct dumps *ds)
{
	return ds ? ds->lost : 0;
}
