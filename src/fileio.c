/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Writing to descriptors of files. */
#include "fileio.h"

#include <errno.h>
#include <unistd.h>

int fileio__write(int fd, const char *p, size_t n)
{
	while (n) {
		ssize_t done = write(fd, p, n);

		if (done < 0 && errno == EINTR)
			continue;
		if (done < 0)
			return -errno;
		p += done;
		n -= (size_t)done;
	}
	return 0;
}
