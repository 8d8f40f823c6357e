/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * A socket by which a running aclguard is told what to do: one line a command, one line
 * the answer, which begins with "ok" or "error".  The socket is its owner's alone, and
 * who connects has to be root or the user that aclguard runs as.
 *
 * Nothing blocks: a client that does not read its answers, sends too long a line, or none
 * for a while, is dropped; so is who has been silent longest when there is one too many.
 */
#ifndef ACLGUARD_CONTROL_H
#define ACLGUARD_CONTROL_H

#include <stdbool.h>
#include <stddef.h>

#define CONTROL_CLIENTS_MAX 8
#define CONTROL_IDLE_NS 2000000000ULL /* that a client may be without a whole line */
#define CONTROL_LINE_MAX 512	      /* bytes of a command or an answer, newline and all */

struct control;

/* Writes the answer, without a newline, to a command of which nothing is known. */
typedef void (*control_fn)(void *arg, const char *command, char *answer, size_t n);

/*
 * A socket that is there already is taken over if it is of this user and nobody
 * listens on it any more.  Returns 0, or an exit status after having said why not.
 */
int control__new(const char *path, control_fn fn, void *arg, struct control **out);
void control__free(struct control *c); /* removes the socket; NULL is allowed */

/* Readable when control__run() has something to do. */
int control__fd(const struct control *c);
void control__run(struct control *c);

/*
 * The other side: sends a command, and gives the answer without its newline.  0 or
 * -errno; -ETIME: none came for some seconds.
 */
int control__ask(const char *path, const char *command, char *answer, size_t n);

#endif /* ACLGUARD_CONTROL_H */
