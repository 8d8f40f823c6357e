/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Names of generated code, as any process may write them; first a part, then all. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* memfd_create */
#endif
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "perfmap.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void find(struct perfmap *pm, uint64_t addr)
{
	uint64_t start;
	char *name = perfmap__find(pm, addr, &start);

	if (name && (start > addr || !*name || strchr(name, '\n')))
		abort();
	free(name);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t part = size ? data[0] * size / 256 : 0;
	struct perfmap *pm;
	int fd = memfd_create("fuzz", MFD_CLOEXEC);

	if (fd < 0 || perfmap__open(fd, &pm))
		abort();
	if (write(fd, data, part) != (ssize_t)part)
		abort();
	perfmap__update(pm);
	find(pm, 0x1000);
	if (write(fd, data + part, size - part) != (ssize_t)(size - part))
		abort();
	close(fd);
	perfmap__update(pm);
	for (uint64_t addr = 0; addr < 0x40; addr++)
		find(pm, addr);
	find(pm, 0x1000);
	find(pm, UINT64_MAX);
	perfmap__free(pm);
	return 0;
}
