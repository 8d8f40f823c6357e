/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Where the debug information of a stripped file is: in the directories in which
 * packages install it, of this system, not of the target's root.
 *
 *	DIR/.build-id/xx/yyyy.debug	by the build id
 *	DIR/PATH/NAME, DIR/NAME		by .gnu_debuglink of the file at PATH/...
 *	DIR/.dwz/...			by .gnu_debugaltlink of a debug file
 *
 * The names that a file contains are looked up below those directories and lead
 * nowhere else; what is found is taken only if its build id, or where there is
 * none its checksum, is the expected one.
 */
#ifndef ACLGUARD_DEBUGFILE_H
#define ACLGUARD_DEBUGFILE_H

#include <stddef.h>
#include <stdint.h>

#include "elffile.h"

#define DEBUGFILE_DIR "/usr/lib/debug"
#define DEBUGFILE_DIRS_MAX 9

/* Where to look, in this order: open directories. */
struct debug_dirs {
	int fd[DEBUGFILE_DIRS_MAX];
	unsigned int n;
};

/* Adds a directory, opened now and with the rights of now.  0 or -errno; -E2BIG: enough. */
int debug_dirs__add(struct debug_dirs *dirs, const char *path);
void debug_dirs__close(struct debug_dirs *dirs);

/*
 * The debug file of ef, whose build id this is, and which the process has at path.
 * NULL: there is none.
 */
struct elffile *debugfile__find(const struct debug_dirs *dirs, struct elffile *ef,
				const uint8_t *id, unsigned int id_len, const char *path);

/*
 * What a file shares with others, by its .gnu_debugaltlink.  *id and *id_len are
 * set to what it wants (id_len 0: nothing).  NULL: not found.
 */
struct elffile *debugfile__find_alt(const struct debug_dirs *dirs, struct elffile *ef,
				    uint8_t id[ELFFILE_BUILD_ID_MAX], unsigned int *id_len);

/* ef itself if it has this build id; otherwise it is closed, and NULL returned. */
struct elffile *debugfile__take_if_same(struct elffile *ef, const uint8_t *id, unsigned int id_len);

#endif /* ACLGUARD_DEBUGFILE_H */
