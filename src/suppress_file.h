/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Files of suppressions:
 *
 *	# a comment
 *	{
 *	  name     the pool of the framework
 *	  rule     free-before-destroy
 *	  program  python3*
 *	  function aclrtFreeHost
 *	  ...
 *	  module   libtorch_npu.so*
 *	}
 *
 * See the README.  A file is taken as a whole or not at all.
 */
#ifndef ACLGUARD_SUPPRESS_FILE_H
#define ACLGUARD_SUPPRESS_FILE_H

#include <stddef.h>

#include "suppress.h"

#define SUPPRESS_FILE_MAX (4UL << 20) /* bytes */

struct suppress_error {
	unsigned int line; /* 0: of no line */
	char text[256];	   /* escaped */
};

/*
 * Adds the entries of a text that is called `file`.  Returns 0, or -EINVAL or -ENOMEM
 * with *error filled and `s` as it was.
 */
int suppress_file__parse(struct suppressions *s, const char *file, const char *text, size_t len,
			 struct suppress_error *error);

/*
 * Reads all these files.  Returns 0, or an exit status after having said which line
 * of which file is wrong.  No files give NULL.
 */
int suppress_file__read_all(const char *const *files, size_t n, struct suppressions **out);

#endif /* ACLGUARD_SUPPRESS_FILE_H */
