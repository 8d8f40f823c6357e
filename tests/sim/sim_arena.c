/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Addresses of page-locked host memory.  The driver gives it a region of its
 * own, so what was released is handed out again as page-locked memory and
 * never as the heap's; a simulation that shared the heap would let ordinary
 * copies look like copies on released buffers.
 */
#include <stdlib.h>
#include <sys/mman.h>

#include "sim.h"

#define ARENA_SIZE (16ULL << 30) /* of address space; pages are taken when touched */
#define ARENA_ALIGN 64

struct block {
	struct block *next;
	uintptr_t base;
	size_t size;
};

static struct {
	struct block *free; /* released last, first */
	uintptr_t next, end;
} arena;

static int arena__reserve(void)
{
	void *p = mmap(NULL, ARENA_SIZE, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (p == MAP_FAILED)
		return -1;
	arena.next = (uintptr_t)p;
	arena.end = arena.next + ARENA_SIZE;
	return 0;
}

static size_t arena__round(size_t size)
{
	return (size + ARENA_ALIGN - 1) & ~(size_t)(ARENA_ALIGN - 1);
}

/* Under the lock, both.  A block that is large enough is used again, from its start. */
void *arena__alloc(size_t size)
{
	struct block **link, *b;
	uintptr_t base;

	size = arena__round(size);
	for (link = &arena.free; (b = *link); link = &b->next) {
		if (b->size < size)
			continue;
		base = b->base;
		b->base += size;
		b->size -= size;
		if (!b->size) {
			*link = b->next;
			free(b);
		}
		return (void *)base;
	}
	if (!arena.end && arena__reserve())
		return NULL;
	if (size > arena.end - arena.next)
		return NULL;
	base = arena.next;
	arena.next += size;
	return (void *)base;
}

void arena__free(void *ptr, size_t size)
{
	struct block *b = sim_alloc(sizeof(*b));

	b->base = (uintptr_t)ptr;
	b->size = arena__round(size);
	b->next = arena.free;
	arena.free = b;
}
