/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* A web configuration of any bytes: what is taken keeps what its header says. */
#include <stdlib.h>
#include <string.h>

#include "web_config.h"
#include "web_tls.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct web_config *c)
{
	char why[WEB_CONFIG_WHY], priority[1024];
	const char *reason;

	for (size_t i = 0; i < c->nusers; i++)
		if (!*c->users[i].name || !web_config__hash_ok(c->users[i].hash, &reason))
			abort();
	for (size_t i = 0; i < WEB_HEADER_MAX; i++)
		if (c->headers[i] && (!*c->headers[i] || strpbrk(c->headers[i], "\r\n")))
			abort();
	if (!c->tls)
		return;
	if (!(c->cert.path || c->cert.data) || !(c->key.path || c->key.data))
		abort();
	if (!web_tls__priority(c, "x", priority, sizeof(priority), why)) {
		gnutls_priority_t p;

		if (gnutls_priority_init(&p, priority, NULL))
			abort();
		gnutls_priority_deinit(p);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char why[WEB_CONFIG_WHY] = "";
	struct web_config c;

	if (!web_config__parse((const char *)data, size, "web.yml", &c, why))
		check(&c);
	else if (!*why || strlen(why) >= sizeof(why))
		abort();
	web_config__clear(&c);
	return 0;
}
