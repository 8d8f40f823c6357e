/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Releases a buffer early, from a place that is hard to name, by the first argument:
 *
 *	inlined		functions that are compiled into one another
 *	jit, memfd	code made at run time, which /tmp/perf-PID.map names
 *
 * and with a second one ends right after: `exit`, or `delete`, its file gone before.
 * The map is left for whoever started it.  With -DLIBRARY: early_release(), for others.
 */
#include <sys/mman.h>

#include "../scenarios/scenario.h"

/* The test knows the lines by what stands in them. */
static inline __attribute__((always_inline)) void drop(struct buffer *b)
{
	aclrtFreeHost(b->base); /* in drop */
	__asm__ volatile("" ::: "memory");
}

static inline __attribute__((always_inline)) void drop_all(struct buffer *b)
{
	__asm__ volatile("" ::: "memory");
	drop(b); /* in drop_all */
	__asm__ volatile("" ::: "memory");
}

SITE void free_inlined(struct buffer *b)
{
	drop_all(b); /* in free_inlined */
	__asm__ volatile("" ::: "memory");
}

SITE UNUSED void free_plainly(void *base)
{
	aclrtFreeHost(base);
	__asm__ volatile("" ::: "memory");
}

/* A function with a frame that calls what its second argument is. */
static const unsigned char code[] UNUSED = {
#if defined(__x86_64__)
	0x55,		  /* push %rbp */
	0x48, 0x89, 0xe5, /* mov %rsp, %rbp */
	0xff, 0xd6,	  /* call *%rsi */
	0x5d,		  /* pop %rbp */
	0xc3,		  /* ret */
#elif defined(__aarch64__)
	0xfd, 0x7b, 0xbf, 0xa9, /* stp x29, x30, [sp, #-16]! */
	0xfd, 0x03, 0x00, 0x91, /* mov x29, sp */
	0x20, 0x00, 0x3f, 0xd6, /* blr x1 */
	0xfd, 0x7b, 0xc1, 0xa8, /* ldp x29, x30, [sp], #16 */
	0xc0, 0x03, 0x5f, 0xd6, /* ret */
#endif
};

SITE UNUSED void free_generated(struct buffer *b, int fd)
{
	void (*jit)(void *base, void (*fn)(void *base));
	char path[64], *at;
	FILE *map;

	if (fd >= 0 && ftruncate(fd, 4096))
		DIE("no room");
	at = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
		  fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED, fd, 0);
	if (at == MAP_FAILED)
		DIE("no memory");
	memcpy(at + 64, code, sizeof(code));
	__builtin___clear_cache(at, at + 4096);
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)getpid());
	map = fopen(path, "w");
	if (!map)
		DIE("no map");
	fprintf(map, "%lx 1000 stale\n%lx %zx jit::release with blanks\nno line\n",
		(unsigned long)at, (unsigned long)at + 64, sizeof(code));
	fclose(map);
	memcpy(&jit, &(char *){ at + 64 }, sizeof(jit));
	jit(b->base, free_plainly);
	__asm__ volatile("" ::: "memory");
}

static void prepare(struct buffer *b)
{
	static aclrtStream stream;

	if (!stream) {
		sc_begin("symbols", 0, NULL, 1);
		sc_open_device();
		OK(aclrtCreateStream(&stream));
	}
	start_copy(b, stream, 1);
	poll_event(b->event);
}

#ifdef LIBRARY
void early_release(void);
void early_release(void)
{
	struct buffer b;

	prepare(&b);
	free_inlined(&b);
}
#else
int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "inlined", *end = argc > 2 ? argv[2] : "";
	struct buffer b;

	prepare(&b);
	if (strcmp(end, "delete") == 0 && unlink(argv[0]))
		DIE("cannot delete it");
	if (strcmp(how, "inlined") == 0)
		free_inlined(&b);
	else
		free_generated(&b, strcmp(how, "memfd") == 0 ? memfd_create("jit", 0) : -1);
	if (*end)
		_exit(0);
	destroy_event(&b);
	return 0;
}
#endif
