/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Reading DWARF's encodings from bytes that may say anything.  What would lie beyond
 * the end reads as 0 and sets `bad`, which is looked at once, at the end.
 */
#ifndef ACLGUARD_BYTES_H
#define ACLGUARD_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct bytes {
	const uint8_t *p, *end;
	bool bad;
};

static inline size_t bytes__left(const struct bytes *b)
{
	return (size_t)(b->end - b->p);
}

/* n bytes as they are, or NULL. */
static inline const uint8_t *bytes__take(struct bytes *b, uint64_t n)
{
	const uint8_t *p = b->p;

	if (n > bytes__left(b)) {
		b->bad = true;
		b->p = b->end;
		return NULL;
	}
	b->p += n;
	return p;
}

/* A number of n bytes (1, 2, 4, 8), the least significant first. */
static inline uint64_t bytes__unsigned(struct bytes *b, unsigned int n)
{
	const uint8_t *p = bytes__take(b, n);
	uint64_t val = 0;

	if (p)
		memcpy(&val, p, n);
	return val;
}

static inline int64_t bytes__signed(struct bytes *b, unsigned int n)
{
	unsigned int shift = 64 - 8 * n;

	return (int64_t)(bytes__unsigned(b, n) << shift) >> shift;
}

/* LEB128; what does not fit into 64 bits is bad. */
static inline uint64_t bytes__uleb(struct bytes *b)
{
	uint64_t val = 0;

	for (unsigned int shift = 0; shift < 64; shift += 7) {
		uint64_t byte = bytes__unsigned(b, 1);

		val |= (byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return val;
	}
	b->bad = true;
	return 0;
}

static inline int64_t bytes__sleb(struct bytes *b)
{
	uint64_t val = 0;

	for (unsigned int shift = 0; shift < 64;) {
		uint64_t byte = bytes__unsigned(b, 1);

		val |= (byte & 0x7f) << shift;
		shift += 7;
		if (byte & 0x80)
			continue;
		if (byte & 0x40 && shift < 64)
			val |= ~0ULL << shift;
		return (int64_t)val;
	}
	b->bad = true;
	return 0;
}

#endif /* ACLGUARD_BYTES_H */
