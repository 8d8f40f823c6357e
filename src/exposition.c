/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Metrics as text: the two formats differ in headers, names of counters, and the end. */
#include "exposition.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "escape.h"

#define NS ((uint64_t)1000000000)
#define TOTAL "_total"
#define INFO "_info"

static const struct metric_info metrics[] = {
#define ROW(id, name, type, unit, labels, help) { name, METRIC_TYPE_##type, unit, labels, help },
	ACL_METRICS(ROW)
#undef ROW
};

static const struct {
	uint64_t ns;
	const char *le; /* canonical, as OpenMetrics wants it */
} bounds[HISTOGRAM_BOUNDS] = {
	{ 10000, "1e-05" },	 { 30000, "3e-05" },   { 100000, "0.0001" },  { 300000, "0.0003" },
	{ 1000000, "0.001" },	 { 3000000, "0.003" }, { 10000000, "0.01" },  { 30000000, "0.03" },
	{ 100000000, "0.1" },	 { 300000000, "0.3" }, { 1000000000, "1.0" }, { 3000000000, "3.0" },
	{ 10000000000, "10.0" },
};

const struct metric_info *metric__info(enum metric metric)
{
	return &metrics[metric];
}

void histogram__add(struct histogram *h, uint64_t ns)
{
	size_t i = 0;

	while (i < HISTOGRAM_BOUNDS && ns > bounds[i].ns)
		i++;
	h->n[i]++;
	h->sum_ns += ns;
}

void exposition__init(struct exposition *x, enum exposition_format format, struct textbuf *out)
{
	x->out = out;
	x->format = format;
	x->metric = METRIC_MAX;
}

/* ---- names and labels ---------------------------------------------------- */

/* Length of a name without the ending that OpenMetrics gives to samples only. */
static size_t family_len(const struct exposition *x, const struct metric_info *m)
{
	size_t len = strlen(m->name);

	if (x->format == EXPOSITION_TEXT)
		return len;
	if (m->type == METRIC_TYPE_COUNTER)
		return len - (sizeof(TOTAL) - 1);
	return m->type == METRIC_TYPE_INFO ? len - (sizeof(INFO) - 1) : len;
}

static const char *type_name(const struct exposition *x, enum metric_type type)
{
	switch (type) {
	case METRIC_TYPE_COUNTER:
		return "counter";
	case METRIC_TYPE_HISTOGRAM:
		return "histogram";
	case METRIC_TYPE_INFO:
		if (x->format == EXPOSITION_OPENMETRICS)
			return "info";
		break;
	case METRIC_TYPE_GAUGE:
		break;
	}
	return "gauge";
}

/* Bytes at the beginning that are shown as they are, most often all. */
static size_t plain_len(const char *s, size_t len)
{
	size_t n = 0;

	while (n < len && s[n] >= ' ' && s[n] < 0x7f && s[n] != '\\' && s[n] != '"')
		n++;
	return n;
}

/* In a value of a label, and in OpenMetrics in HELP, a quote is escaped, too. */
static void put_escaped(struct exposition *x, const char *s, bool quotes)
{
	size_t len = strlen(s), n;
	uint32_t cp;

	for (; len; s += n, len -= n) {
		n = plain_len(s, len);
		if (n) {
			textbuf__add(x->out, s, n);
			continue;
		}
		n = escape__decode(s, len, &cp);
		if (!n) {
			textbuf__str(x->out, "\xef\xbf\xbd");
			n = 1;
		} else if (cp == '\n') {
			textbuf__str(x->out, "\\n");
		} else if (cp == '\\' || (cp == '"' && quotes)) {
			textbuf__str(x->out, "\\");
			textbuf__add(x->out, s, n);
		} else {
			textbuf__add(x->out, s, n);
		}
	}
}

void exposition__family(struct exposition *x, enum metric metric)
{
	const struct metric_info *m = &metrics[metric];
	int len = (int)family_len(x, m);

	x->metric = metric;
	textbuf__printf(x->out, "# HELP %.*s ", len, m->name);
	put_escaped(x, m->help, x->format == EXPOSITION_OPENMETRICS);
	textbuf__printf(x->out, "\n# TYPE %.*s %s\n", len, m->name, type_name(x, m->type));
	if (x->format == EXPOSITION_OPENMETRICS && *m->unit)
		textbuf__printf(x->out, "# UNIT %.*s %s\n", len, m->name, m->unit);
}

/* Name, labels, and what a bucket has of its own, up to the value. */
static void put_name(struct exposition *x, const char *ending, const char *const *labels,
		     const char *le)
{
	const char *name, *sep = "{";
	size_t len;

	assert(x->metric < METRIC_MAX);
	textbuf__str(x->out, metrics[x->metric].name);
	textbuf__str(x->out, ending);
	for (name = metrics[x->metric].labels; labels && *name; name += len + (name[len] == ',')) {
		len = strcspn(name, ",");
		textbuf__str(x->out, sep);
		textbuf__add(x->out, name, len);
		textbuf__str(x->out, "=\"");
		put_escaped(x, *labels++, true);
		textbuf__str(x->out, "\"");
		sep = ",";
	}
	if (le) {
		textbuf__printf(x->out, "%sle=\"%s\"", sep, le);
		sep = ",";
	}
	textbuf__str(x->out, *sep == ',' ? "} " : " ");
}

/* ---- samples ------------------------------------------------------------- */

static void put_u64(struct exposition *x, uint64_t val)
{
	char digits[24], *at = digits + sizeof(digits);

	*--at = '\n';
	do
		*--at = (char)('0' + val % 10);
	while (val /= 10);
	textbuf__add(x->out, at, (size_t)(digits + sizeof(digits) - at));
}

static void put_seconds(struct exposition *x, uint64_t ns)
{
	textbuf__printf(x->out, "%" PRIu64 ".%09" PRIu64 "\n", ns / NS, ns % NS);
}

void exposition__u64(struct exposition *x, const char *const *labels, uint64_t val)
{
	put_name(x, "", labels, NULL);
	put_u64(x, val);
}

void exposition__seconds(struct exposition *x, const char *const *labels, uint64_t ns)
{
	put_name(x, "", labels, NULL);
	put_seconds(x, ns);
}

void exposition__histogram(struct exposition *x, const char *const *labels,
			   const struct histogram *h)
{
	uint64_t below = 0;

	for (size_t i = 0; i < HISTOGRAM_BUCKETS; i++) {
		below += h->n[i];
		put_name(x, "_bucket", labels, i < HISTOGRAM_BOUNDS ? bounds[i].le : "+Inf");
		put_u64(x, below);
	}
	put_name(x, "_sum", labels, NULL);
	put_seconds(x, h->sum_ns);
	put_name(x, "_count", labels, NULL);
	put_u64(x, below);
}

int exposition__end(struct exposition *x)
{
	if (x->format == EXPOSITION_OPENMETRICS)
		textbuf__str(x->out, "# EOF\n");
	return x->out->err;
}

void exposition__list(struct textbuf *out)
{
	const struct exposition x = { .format = EXPOSITION_OPENMETRICS };

	textbuf__str(out, "| metric | type | labels | meaning |\n|---|---|---|---|\n");
	for (size_t i = 0; i < METRIC_MAX; i++) {
		const struct metric_info *m = &metrics[i];
		const char *label, *sep = "";
		size_t len;

		textbuf__printf(out, "| `%s` | %s | ", m->name, type_name(&x, m->type));
		for (label = m->labels; *label; label += len + (label[len] == ',')) {
			len = strcspn(label, ",");
			textbuf__printf(out, "%s`%.*s`", sep, (int)len, label);
			sep = ", ";
		}
		textbuf__printf(out, " | %s |\n", m->help);
	}
}
