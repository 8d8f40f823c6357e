/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Entries of the journal with fields of their own, by its native protocol: one datagram
 * an entry.  The protocol is documented and stable, and so the static program
 * has it, too, without libsystemd.
 *
 *	journal__begin(&e);
 *	journal__field(&e, "MESSAGE", "%s", text);
 *	err = journal__send(&e, NULL);
 */
#ifndef ACLGUARD_JOURNAL_H
#define ACLGUARD_JOURNAL_H

#include <stddef.h>

#define JOURNAL_SOCKET "/run/systemd/journal/socket"
#define JOURNAL_ENTRY_MAX 16384 /* bytes; a datagram of this size is always taken */

struct journal_entry {
	size_t len;
	int err; /* 0 or -errno: a field that does not fit */
	char data[JOURNAL_ENTRY_MAX];
};

void journal__begin(struct journal_entry *e);

/* The name is upper case letters, digits and underscores; the value may have several lines. */
void journal__field(struct journal_entry *e, const char *name, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* `path` NULL: JOURNAL_SOCKET.  Never blocks.  Returns 0 or -errno. */
int journal__send(const struct journal_entry *e, const char *path);

#endif /* ACLGUARD_JOURNAL_H */
