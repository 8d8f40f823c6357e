/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The file for npu-exporter: JSON. */
#define _GNU_SOURCE
#include "npufile.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exposition.h"
#include "json.h"
#include "metrics.h"

#define HEAD_MAX 2048	      /* bytes of all but the items, generously */
#define ITEM_MAX_OVERHEAD 256 /* of names, quotes and the number */
#define LABELS 7

struct npufile {
	struct json *j;
	const struct metric_info *metric;
	unsigned int items;
	size_t bytes; /* an upper bound */
	bool full;
	uint64_t rest;
};

static void put_item(struct npufile *nf, const char *const *labels, uint64_t val)
{
	const char *name = nf->metric->labels;
	char key[64];
	size_t len;

	json__begin_object(nf->j, NULL);
	json__begin_object(nf->j, "label");
	for (; *name; name += len + (name[len] == ',')) {
		len = strcspn(name, ",");
		snprintf(key, sizeof(key), "%.*s", (int)len, name);
		json__str(nf->j, key, *labels++);
	}
	json__end_object(nf->j);
	json__u64(nf->j, "value", val);
	json__end_object(nf->j);
	nf->items++;
}

/* Room for one more is always left. */
static void on_series(void *arg, const char *const *labels, uint64_t val)
{
	size_t bytes = ITEM_MAX_OVERHEAD;
	struct npufile *nf = arg;

	for (size_t i = 0; i < LABELS; i++)
		bytes += 2 * strlen(labels[i]); /* escaped for text already: only \\ and " grow */
	if (nf->items + 1 >= NPUFILE_ITEMS_MAX ||
	    nf->bytes + bytes + ITEM_MAX_OVERHEAD > NPUFILE_BYTES_MAX) {
		nf->full = true;
		nf->rest += val;
		return;
	}
	nf->bytes += bytes;
	put_item(nf, labels, val);
}

static int write_all(struct npufile *nf, struct metrics *m, uint64_t now_ns)
{
	static const char *const none[LABELS] = { "none", "none", "none", "", "", "", "" };
	static const char *const other[LABELS] = { "other", "other", "other", "other",
						   "other", "other", "other" };

	json__begin(nf->j);
	json__str(nf->j, "version", "1.0");
	json__str(nf->j, "desc", nf->metric->help);
	json__str(nf->j, "name", nf->metric->name);
	json__u64(nf->j, "timestamp", now_ns / 1000);
	json__begin_array(nf->j, "data_list");
	metrics__each(m, METRIC_VIOLATIONS, on_series, nf);
	if (nf->full)
		put_item(nf, other, nf->rest);
	if (!nf->items) /* a file without any is not read again */
		put_item(nf, none, 0);
	json__end_array(nf->j);
	return json__end(nf->j);
}

int npufile__render(struct metrics *m, uint64_t now_ns, struct textbuf *out)
{
	struct npufile nf = { .metric = metric__info(METRIC_VIOLATIONS), .bytes = HEAD_MAX };
	char *text = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&text, &len);
	int err = -ENOMEM;

	if (f)
		nf.j = json__new(f);
	if (nf.j)
		err = write_all(&nf, m, now_ns);
	json__free(nf.j);
	if (f && fclose(f))
		err = -ENOMEM;
	if (!err)
		textbuf__add(out, text, len);
	free(text);
	return err ? err : out->err;
}
