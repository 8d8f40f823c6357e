/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* /proc/PID/maps as a hostile process may make it: what is parsed is in order. */
#include <stdlib.h>

#include "maps.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct maps m = {};

	if (!maps__parse((const char *)data, size, &m)) {
		for (size_t i = 0; i < m.count; i++) {
			if (m.entries[i].start >= m.entries[i].end)
				abort();
			if (i && m.entries[i].start < m.entries[i - 1].end)
				abort();
			if (maps__find(&m, m.entries[i].start) != &m.entries[i])
				abort();
		}
	}
	maps__free(&m);
	return 0;
}
