/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Two libraries through which a program frees, built without frame pointers and without
 * debug information: RELAY_OUTER calls the other one, which calls the runtime.  Both use
 * the frame pointer for something else, so that whoever follows it is led nowhere.
 */
int aclrtFreeHost(void *ptr);
int relay_inner(void *ptr, int n);
int relay_outer(void *ptr, int n);

#if defined(KEEP_FRAME_POINTER)
#define SPOIL_FRAME_POINTER()
#elif defined(__x86_64__)
#define SPOIL_FRAME_POINTER() __asm__ volatile("xorl %%ebp, %%ebp" ::: "rbp")
#else
#define SPOIL_FRAME_POINTER() __asm__ volatile("mov x29, xzr" ::: "x29")
#endif

#ifdef RELAY_OUTER
int relay_outer(void *ptr, int n)
{
	volatile char room[200];

	SPOIL_FRAME_POINTER();
	room[0] = (char)relay_inner(ptr, n + 1);
	return room[0];
}
#else
int relay_inner(void *ptr, int n)
{
	volatile int results[64];

	SPOIL_FRAME_POINTER();
	results[n] = aclrtFreeHost(ptr);
	return results[n];
}
#endif
