/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Violations as npu-exporter takes metrics of others from a file (its option
 * -textMetricsFilePath): one metric, at most NPUFILE_ITEMS_MAX series, NPUFILE_BYTES_MAX
 * bytes.  What is beyond that is summed up in one item with "other" in all labels.
 */
#ifndef ACLGUARD_NPUFILE_H
#define ACLGUARD_NPUFILE_H

#include <stdint.h>

#include "textbuf.h"

#define NPUFILE_ITEMS_MAX 128
#define NPUFILE_BYTES_MAX (100U << 10)

struct metrics;

/* `now_ns`: Unix time.  Returns 0, -ENOMEM or out->err. */
int npufile__render(struct metrics *m, uint64_t now_ns, struct textbuf *out);

#endif /* ACLGUARD_NPUFILE_H */
