/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Records as they come through the ring of violations, with any bytes in
 * them: printed as text or JSON without a crash, and the text is safe.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "json.h"
#include "records.h"
#include "story.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Nothing of a target may reach a terminal as a control character. */
static void check_text(const char *text, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if ((unsigned char)text[i] < ' ' && text[i] != '\n' && text[i] != '\t')
			abort();
}

static void feed(struct stories *st, const uint8_t *data, size_t size)
{
	union {
		struct acl_violation v;
		struct acl_sequel s;
	} rec;

	while (size > 2) {
		size_t n = data[0] | (size_t)data[1] << 8;

		data += 2;
		size -= 2;
		if (n > size)
			n = size;
		memset(&rec, 0, sizeof(rec));
		memcpy(&rec, data, n < sizeof(rec) ? n : sizeof(rec));
		if (n & 1)
			stories__sequel(st, &rec.s, n < sizeof(rec.s) ? n : sizeof(rec.s));
		else
			stories__violation(st, &rec.v, n < sizeof(rec.v) ? n : sizeof(rec.v));
		data += n;
		size -= n;
	}
	stories__timeout(st, UINT64_MAX / 2);
	stories__finish(st);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct report_cfg cfg = { .stacks = true, .strict = true, .rules = ~0U };
	struct stories *st;
	char *text = NULL;
	size_t n = 0;
	FILE *out;

	if (size < 1)
		return 0;
	out = open_memstream(&text, &n);
	if (!out)
		return 0;
	if (data[0] & 1)
		cfg.json = json__new(out);
	else
		cfg.text = out;
	st = stories__new(&cfg);
	feed(st, data + 1, size - 1);
	stories__free(st);
	json__free(cfg.json);
	fclose(out);
	check_text(text, n);
	free(text);
	return 0;
}
