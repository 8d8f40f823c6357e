/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Accept and Accept-Encoding as a hostile client may send them. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "http_accept.h"
#include "httpd.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const types[] = { HTTPD_TYPE_PROMETHEUS, HTTPD_TYPE_OPENMETRICS,
					     HTTPD_TYPE_JSON, NULL };
	static const char *const one[] = { HTTPD_TYPE_TEXT, NULL };
	char *text = malloc(size + 1); /* so that a byte too far is seen */

	if (!text)
		return 0;
	memcpy(text, data, size);
	text[size] = '\0';
	if (http_accept__type(text, types) >= 3 || http_accept__type(text, one) != 0)
		abort();
	if (http_accept__coding(text, "gzip") && !strpbrk(text, "gG*"))
		abort();
	free(text);
	return 0;
}
