/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Recordings with anything in them: read, put in order, judged and listed.
 * Checksums are made right first, or nothing would get past them; an odd
 * length leaves them as they are.
 */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zlib.h>

#include "commands.h"
#include "options.h"
#include "recording.h"
#include "rules.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void mend_checksums(uint8_t *data, size_t size)
{
	size_t at = RECORDING_PROLOGUE;

	while (at + RECORDING_FRAME <= size) {
		uint32_t len = data[at] | (uint32_t)data[at + 1] << 8;
		uLong crc;

		data[at + 2] = data[at + 3] = 0;
		if (len > size - at - RECORDING_FRAME)
			len = (uint32_t)(size - at - RECORDING_FRAME);
		crc = crc32(crc32(0, NULL, 0), data + at, 8);
		crc = crc32(crc, data + at + RECORDING_FRAME, len);
		for (int i = 0; i < 4; i++)
			data[at + 8 + i] = (uint8_t)(crc >> 8 * i);
		at += RECORDING_FRAME + len;
	}
}

static void replay(const uint8_t *data, size_t size)
{
	struct options opts = {
		.rules = ACL_RULES_ALL,
		.json = size & 2,
		.calls = size & 4,
		.strict = true,
		.error_exitcode = -1,
		.output = "/dev/null",
	};
	char path[64];
	int fd = memfd_create("recording", MFD_CLOEXEC);

	if (fd < 0)
		return;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	opts.recording = path;
	if (write(fd, data, size) == (ssize_t)size)
		command_replay(&opts);
	close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static int quiet;
	uint8_t *copy = malloc(size + 1);

	if (!copy)
		return 0;
	if (!quiet && freopen("/dev/null", "w", stdout)) /* messages go to stderr */
		quiet = 1;
	memcpy(copy, data, size);
	if (!(size & 1))
		mend_checksums(copy, size);
	replay(copy, size);
	free(copy);
	return 0;
}
