/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Threads beside the one that handles events: of a small stack, and without any signal. */
#ifndef ACLGUARD_THREAD_H
#define ACLGUARD_THREAD_H

#include <pthread.h>

/* The name, of at most 15 bytes, is the kernel's for it.  Returns 0 or -errno. */
int thread__start(pthread_t *thread, const char *name, void *(*run)(void *arg), void *arg);

#endif /* ACLGUARD_THREAD_H */
