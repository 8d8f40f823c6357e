/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Debug files from servers, by build id: elfutils' libdebuginfod, which is opened
 * when somebody asks for it, so that it need not be there otherwise.  Which
 * servers, and most of how, is said by the library's own variables in the
 * environment: DEBUGINFOD_URLS, DEBUGINFOD_CACHE_PATH, DEBUGINFOD_TIMEOUT ...
 */
#ifndef ACLGUARD_DEBUGINFOD_H
#define ACLGUARD_DEBUGINFOD_H

#include <stdatomic.h>
#include <stdint.h>

struct debuginfod;

/*
 * Opens the library.  Root's cache is a directory of root's own unless
 * DEBUGINFOD_CACHE_PATH is set.  Returns 0 or
 * -ENOSYS: built without; -ENOENT: the library is not there; -EDESTADDRREQ: no
 * DEBUGINFOD_URLS; -EACCES: no safe directory for the cache.
 */
int debuginfod__new(struct debuginfod **out);
void debuginfod__free(struct debuginfod *d); /* NULL is allowed */

/* What to do about an error of debuginfod__new(). */
const char *debuginfod__strerror(int err);

/*
 * The debug file of a build id.  Blocks, for minutes if need be; once *stop is set
 * it ends, when the library next asks, which it does while data comes.  Returns a descriptor or -errno; -ENOENT: no server has it.
 */
int debuginfod__find(struct debuginfod *d, const uint8_t *id, unsigned int id_len,
		     const atomic_bool *stop);

#endif /* ACLGUARD_DEBUGINFOD_H */
