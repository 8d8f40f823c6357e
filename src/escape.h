/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Showing bytes that a traced process chose: names of programs, paths, symbols.
 * They can hold terminal control sequences, text that runs the other way, or no
 * text at all; none of it may reach a terminal, a log or a JSON reader as is.
 */
#ifndef ACLGUARD_ESCAPE_H
#define ACLGUARD_ESCAPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The longest that one input byte can become in escape__text() and in escape__json(). */
#define ESCAPE_TEXT_EXPAND 4
#define ESCAPE_JSON_EXPAND 6

/*
 * Decode one code point at the start of in.  Returns its length in bytes (1-4)
 * with *cp set; 0 if the bytes are no well-formed UTF-8 (overlong, surrogate,
 * cut short, beyond U+10FFFF) or len is 0.
 */
size_t escape__decode(const void *in, size_t len, uint32_t *cp);

/* Whether a code point can be shown: no control, no invisible, none that turns the text around. */
bool escape__printable(uint32_t cp);

/*
 * For terminals and logs, one line: printable UTF-8 is kept; an ASCII control
 * character or a byte that is no UTF-8 becomes \xNN, other unprintable code
 * points \u{NNNN}, a backslash \\.
 *
 * Never writes more than outsz bytes, and always a NUL if outsz > 0.  What does
 * not fit is cut between characters and ends in "…" (three bytes; nothing if
 * even that does not fit).  Returns the length without the NUL.
 */
size_t escape__text(char *out, size_t outsz, const void *in, size_t inlen);

/*
 * The same for what we say ourselves, where it may hold what somebody typed: backslashes
 * and newlines are kept, so it is not for text that is read back.
 */
size_t escape__message(char *out, size_t outsz, const void *in, size_t inlen);

/* escape__text() of a NUL-terminated string; NULL gives "". */
size_t escape__str(char *out, size_t outsz, const char *in);

/*
 * For the inside of a JSON string, the quotes not included: always valid UTF-8
 * and valid JSON.  A byte that is no UTF-8 becomes U+FFFD; unprintable code
 * points are written as \uNNNN, so that the text is safe on a terminal too.
 *
 * Writes as much as fits, whole characters only, and a NUL if outsz > 0.
 * Returns the length without the NUL; *used, if not NULL, is how much of the
 * input that was.
 */
size_t escape__json(char *out, size_t outsz, const void *in, size_t inlen, size_t *used);

#endif /* ACLGUARD_ESCAPE_H */
