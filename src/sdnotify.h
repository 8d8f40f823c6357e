/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Telling the service manager how we are, by the protocol of sd_notify(3): a datagram to
 * the socket that NOTIFY_SOCKET names.  It is stable and small, and so the static
 * program has it, too, without libsystemd.  Without such a socket nothing happens.
 */
#ifndef ACLGUARD_SDNOTIFY_H
#define ACLGUARD_SDNOTIFY_H

#include <stdint.h>

/* State as sd_notify(3) has it, such as "READY=1\nSTATUS=...".  Never blocks.  0 or -errno. */
int sdnotify__send(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* How often "WATCHDOG=1" is to be sent, in ns: half of what the manager waits; 0: never. */
uint64_t sdnotify__watchdog(void);

#endif /* ACLGUARD_SDNOTIFY_H */
