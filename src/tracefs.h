/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Tracepoints: their ids and where their fields are, from tracefs.  Where
 * nobody mounted it, it is mounted for us alone, visible nowhere.
 */
#ifndef ACLGUARD_TRACEFS_H
#define ACLGUARD_TRACEFS_H

#include <stdint.h>

/* A folder descriptor of tracefs, or -errno.  The caller closes it. */
int tracefs__open(void);

/* The id of a tracepoint "group/name", or -errno. */
int tracefs__id(int dir, const char *event);

/* The offset in bytes of a field in its record, or -errno (-ENOENT: no such field). */
int tracefs__field(int dir, const char *event, const char *field);

#endif /* ACLGUARD_TRACEFS_H */
