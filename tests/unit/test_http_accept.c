/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Which type and coding a client gets for what it says it accepts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "http_accept.h"
#include "httpd.h"

enum {
	TEXT,
	OPEN,
};

static const char *const types[] = { HTTPD_TYPE_PROMETHEUS, HTTPD_TYPE_OPENMETRICS, NULL };

static const struct {
	const char *accept;
	size_t type;
} cases[] = {
	{ NULL, TEXT },
	{ "", TEXT },
	{ "*/*", TEXT },
	{ "text/html, */*;q=0.1", TEXT },
	{ "application/openmetrics-text", OPEN },
	{ "APPLICATION/OpenMetrics-Text ; VERSION=1.0.0", OPEN },
	{ "application/*", OPEN },
	{ "application/*;q=0.5, text/plain;q=0.4", OPEN },
	{ "application/*;q=0.5, text/plain;q=0.6", TEXT },
	/* what Prometheus 2 and 3 send */
	{ "application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;"
	  "q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1",
	  OPEN },
	{ "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.6,application/"
	  "openmetrics-text;version=0.0.1;q=0.5,text/plain;version=1.0.0;escaping=allow-utf-8;"
	  "q=0.4,text/plain;version=0.0.4;q=0.3,*/*;q=0.2",
	  OPEN },
	/* a version that is not ours */
	{ "application/openmetrics-text;version=0.0.1", TEXT },
	{ "application/openmetrics-text;version=2.0.0, text/plain;q=0.1", TEXT },
	{ "application/openmetrics-text;version=\"1.0.0\"", OPEN },
	/* the closest range decides, wherever it stands */
	{ "*/*, application/openmetrics-text;q=0", TEXT },
	{ "text/*;q=0, application/*;q=0.001", OPEN },
	{ "*/*;q=1, text/plain;q=0.2", OPEN },
	{ "text/plain;q=0.9, text/plain;version=0.0.4;q=0.1, application/*;q=0.5", OPEN },
	/* none is acceptable: the first all the same */
	{ "image/png", TEXT },
	{ "*/*;q=0", TEXT },
	/* weights */
	{ "text/plain;q=0.999, application/openmetrics-text;q=1.000", OPEN },
	{ "text/plain;q=0.5,application/openmetrics-text;q=0.50", TEXT },
	{ "text/plain;q=0.5,application/openmetrics-text;q=0.501", OPEN },
	{ "text/plain;q=0., application/openmetrics-text;q=0.1", OPEN },
	/* parts that are wrong count as not there */
	{ "application/openmetrics-text;q=1.001, text/plain;q=0.1", TEXT },
	{ "application/openmetrics-text;q=2, text/plain;q=0.1", TEXT },
	{ "application/openmetrics-text;q=0.1234, text/plain;q=0.1", TEXT },
	{ "application/openmetrics-text;q=-1, text/plain;q=0.1", TEXT },
	{ "application/openmetrics-text;q=, text/plain;q=0.1", TEXT },
	{ "application/openmetrics-text x, text/plain;q=0.1", TEXT },
	{ "application/openmetrics-text;=1, text/plain;q=0.1", TEXT },
	{ "application/, /, ;, text/plain;q=0.1, application/openmetrics-text;q=0.2", OPEN },
	{ ",,, ,application/openmetrics-text,,", OPEN },
	{ "application/openmetrics-text;;q=0.3;, text/plain;q=0.1", OPEN },
	{ "application", TEXT },
	{ "application/openmetrics-text;version", TEXT },
	{ "application/openmetrics-text;version=", TEXT },
	{ "*/openmetrics-text, text/plain;q=0.1", TEXT },
	/* commas and weights inside of quotes are none */
	{ "text/plain;a=\"b,application/openmetrics-text\";q=0.5", TEXT },
	{ "text/plain;a=\"\\\",\";q=0.5, application/openmetrics-text;q=0.6", OPEN },
	{ "text/plain;a=\"open, application/openmetrics-text", OPEN },
};

static void test_types(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		if (http_accept__type(cases[i].accept, types) != cases[i].type)
			fail_msg("%s", cases[i].accept);
	}
}

static void test_codings(void **state)
{
	(void)state;
	assert_false(http_accept__coding(NULL, "gzip"));
	assert_false(http_accept__coding("", "gzip"));
	assert_true(http_accept__coding("gzip", "gzip"));
	assert_true(http_accept__coding("deflate, GZIP;q=0.1, br", "gzip"));
	assert_true(http_accept__coding("*", "gzip"));
	assert_false(http_accept__coding("*, gzip;q=0", "gzip"));
	assert_false(http_accept__coding("gzip;q=0.000", "gzip"));
	assert_false(http_accept__coding("deflate", "gzip"));
	assert_false(http_accept__coding("gzip;q=0.4, identity;q=0.5", "gzip"));
	assert_true(http_accept__coding("gzip;q=0.5, identity;q=0.5", "gzip"));
	assert_true(http_accept__coding("identity;q=0, gzip;q=0.1", "gzip"));
	assert_false(http_accept__coding("gzip/x", "gzip"));
	assert_false(http_accept__coding("xgzip, gzipx", "gzip"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_types),
		cmocka_unit_test(test_codings),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
