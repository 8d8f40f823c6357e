/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The table of handles of the simulated runtime.  A handle is a heap address,
 * reused as the heap likes, so it is looked up before it is followed.  Beside
 * it, every object has a number that is never used again (its uid): what must
 * outlive an object names it by that.
 */
#include <stdlib.h>

#include "sim.h"

/* Addresses are even and uids are stored odd, so both live in one table. */
static uint64_t uid__key(uint64_t uid)
{
	return uid << 1 | 1;
}

static size_t key__home(uint64_t key)
{
	return (key * 0x9e3779b97f4a7c15ULL >> 20) & (sim.nslots - 1);
}

static struct slot *slot__find(uint64_t key)
{
	size_t i;

	if (!sim.nslots)
		return NULL;
	for (i = key__home(key); sim.slots[i].key; i = (i + 1) & (sim.nslots - 1)) {
		if (sim.slots[i].key == key)
			return &sim.slots[i];
	}
	return NULL;
}

static void slot__put(uint64_t key, void *val)
{
	size_t i = key__home(key);

	while (sim.slots[i].key)
		i = (i + 1) & (sim.nslots - 1);
	sim.slots[i] = (struct slot){ key, val };
	sim.nused++;
}

static void slot__add(uint64_t key, void *val)
{
	struct slot *old = sim.slots;
	size_t nold = sim.nslots;

	if (sim.nused * 2 >= nold) {
		sim.nslots = nold ? nold * 2 : 256;
		sim.slots = sim_alloc(sim.nslots * sizeof(*sim.slots));
		sim.nused = 0;
		for (size_t i = 0; i < nold; i++) {
			if (old[i].key)
				slot__put(old[i].key, old[i].val);
		}
		free(old);
	}
	slot__put(key, val);
}

/* Close the hole by moving back what probing would no longer reach. */
static void slot__del(uint64_t key)
{
	struct slot *s = slot__find(key);
	size_t mask = sim.nslots - 1, hole, i;

	if (!s)
		return;
	hole = (size_t)(s - sim.slots);
	sim.nused--;
	for (i = (hole + 1) & mask; sim.slots[i].key; i = (i + 1) & mask) {
		size_t home = key__home(sim.slots[i].key);

		if (((i - home) & mask) >= ((i - hole) & mask)) {
			sim.slots[hole] = sim.slots[i];
			hole = i;
		}
	}
	sim.slots[hole] = (struct slot){ 0, NULL };
}

void uid__add(uint64_t uid, void *val)
{
	slot__add(uid__key(uid), val);
}

void uid__del(uint64_t uid)
{
	slot__del(uid__key(uid));
}

void *obj__by_uid(uint64_t uid)
{
	struct slot *s = uid ? slot__find(uid__key(uid)) : NULL;

	return s ? s->val : NULL;
}

void obj__add(struct obj *o, enum sim_type type)
{
	o->type = type;
	o->uid = sim.next_uid++;
	slot__add((uint64_t)(uintptr_t)o, o);
	uid__add(o->uid, o);
}

void obj__del(struct obj *o)
{
	slot__del((uint64_t)(uintptr_t)o);
	uid__del(o->uid);
}

void *obj__get(void *handle, enum sim_type type)
{
	struct slot *s = (uintptr_t)handle & 1 ? NULL : slot__find((uint64_t)(uintptr_t)handle);
	struct obj *o = s ? s->val : NULL;

	return o && o->type == type ? o : NULL;
}
