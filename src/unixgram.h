/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Datagrams to sockets in the file system, as the service manager and the journal take them. */
#ifndef ACLGUARD_UNIXGRAM_H
#define ACLGUARD_UNIXGRAM_H

#include <stddef.h>

/*
 * Sends one to `path`, which begins with '@' where it is abstract.  Whoever listens may
 * come and go.  Never blocks.  Returns 0 or -errno.
 */
int unixgram__send(const char *path, const void *data, size_t len);

#endif /* ACLGUARD_UNIXGRAM_H */
