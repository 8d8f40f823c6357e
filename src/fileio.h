/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Writing to descriptors of files. */
#ifndef ACLGUARD_FILEIO_H
#define ACLGUARD_FILEIO_H

#include <stddef.h>

/* All of it, however many calls that takes.  Returns 0 or -errno, with a part written. */
int fileio__write(int fd, const char *p, size_t n);

#endif /* ACLGUARD_FILEIO_H */
