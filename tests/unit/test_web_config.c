/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The web configuration: what is taken, what is refused by which words, what GnuTLS is told. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "web_config.h"
#include "web_tls.h"

/* "fakepassword" */
#define HASH "$2y$10$QOauhQNbBCuQDKes6eFzPeMqBSjb7Mr5DUmpZ/VcEd00UAV/LDeSi"
#define REST "QOauhQNbBCuQDKes6eFzPeMqBSjb7Mr5DUmpZ/VcEd00UAV/LDeSi"
#define TLS "tls_server_config:\n  cert_file: a.crt\n  key_file: a.key\n"

static char why[WEB_CONFIG_WHY];

static int parse(const char *text, struct web_config *c)
{
	char *copy = malloc(strlen(text)); /* so that a byte too far is seen */
	int err;

	memcpy(copy, text, strlen(text));
	*why = '\0';
	err = web_config__parse(copy, strlen(text), "dir/web.yml", c, why);
	free(copy);
	return err;
}

static void test_all_of_it(void **state)
{
	struct web_config c;

	(void)state;
	assert_int_equal(parse("tls_server_config:\n"
			       "  cert_file: a.crt\n"
			       "  key_file: /etc/a.key\n"
			       "  client_ca: |\n    some\n    lines\n"
			       "  client_auth_type: RequireAndVerifyClientCert\n"
			       "  client_allowed_sans: [ a.example, \"10.0.0.1\" ]\n"
			       "  min_version: TLS13\n"
			       "  max_version: TLS13\n"
			       "  cipher_suites:\n    - TLS_AES_128_GCM_SHA256\n"
			       "  curve_preferences: [X25519]\n"
			       "  prefer_server_cipher_suites: false\n"
			       "http_server_config:\n"
			       "  http2: true\n"
			       "  headers:\n"
			       "    X-Frame-Options: deny\n"
			       "    X-XSS-Protection: ''\n"
			       "    Strict-Transport-Security: max-age=31536000\n"
			       "basic_auth_users:\n"
			       "  alice: " HASH "\n"
			       "  'b b': '" HASH "'\n",
			       &c),
			 0);
	assert_true(c.tls);
	assert_string_equal(c.cert.path, "dir/a.crt");
	assert_string_equal(c.key.path, "/etc/a.key");
	assert_null(c.client_ca.path);
	assert_string_equal(c.client_ca.data, "some\nlines\n");
	assert_int_equal(c.client_auth, WEB_REQUIRE_AND_VERIFY_CLIENT_CERT);
	assert_int_equal(c.allowed_sans.n, 2);
	assert_string_equal(c.allowed_sans.v[1], "10.0.0.1");
	assert_int_equal(c.min_version, WEB_TLS13);
	assert_false(c.prefer_server_suites);
	assert_true(c.http2_wanted);
	assert_string_equal(c.headers[WEB_X_FRAME_OPTIONS], "deny");
	assert_null(c.headers[WEB_X_XSS_PROTECTION]);
	assert_null(c.headers[WEB_CONTENT_SECURITY_POLICY]);
	assert_int_equal(c.nusers, 2);
	assert_string_equal(c.users[0].name, "alice");
	assert_string_equal(c.users[1].name, "b b");
	assert_string_equal(c.users[1].hash, HASH);
	web_config__clear(&c);
}

/* Nothing is something, too, and what it means is fixed. */
static void test_nothing(void **state)
{
	static const char *const texts[] = {
		"",
		"# a comment\n",
		"---\n...\n",
		"{}",
		"~\n",
		"tls_server_config:\nhttp_server_config:\nbasic_auth_users:\n",
		"http_server_config:\n  headers:\n",
		"http_server_config: {http2: false}",
		"basic_auth_users: {}",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct web_config c;

		if (parse(texts[i], &c))
			fail_msg("%s: %s", texts[i], why);
		assert_false(c.tls);
		assert_false(c.http2_wanted);
		assert_int_equal(c.nusers, 0);
		assert_int_equal(c.min_version, WEB_TLS12);
		assert_int_equal(c.max_version, WEB_TLS13);
		assert_true(c.prefer_server_suites);
		web_config__clear(&c);
	}
}

static const struct {
	const char *text;
	const char *why; /* that the message begins with */
} refused[] = {
	/* keys */
	{ "rate_limit: {interval: 1s, burst: 2}", "dir/web.yml:1: rate_limit is not supported" },
	{ "tls_config: {}", "dir/web.yml:1: unknown key 'tls_config' in the web configuration" },
	{ "\n\n" TLS "  cert_fil: x\n",
	  "dir/web.yml:6: unknown key 'cert_fil' in tls_server_config" },
	{ "http_server_config:\n  http3: true\n",
	  "dir/web.yml:2: unknown key 'http3' in http_server_config" },
	{ "http_server_config:\n  headers:\n    Server: x\n",
	  "dir/web.yml:3: unknown key 'Server' in headers" },
	{ "\"a\\eb\": x", "dir/web.yml:1: unknown key 'a\\x1bb'" },
	{ "http_server_config: {http2: true, http2: true}", "dir/web.yml:1: http2 is there twice" },
	{ TLS "  cert: x\n", "dir/web.yml:4: cert, and the same has been given already" },
	/* shapes */
	{ "[]", "dir/web.yml:1: the web configuration takes lines" },
	{ "text", "dir/web.yml:1: the web configuration takes lines" },
	{ "tls_server_config: x", "dir/web.yml:1: tls_server_config takes lines" },
	{ "tls_server_config: []", "dir/web.yml:1: tls_server_config takes lines" },
	{ "tls_server_config: {[a]: b}", "dir/web.yml:1: a key of tls_server_config is one word" },
	{ "tls_server_config: {cert_file: []}", "dir/web.yml:1: cert_file takes one text" },
	{ "tls_server_config: {cipher_suites: x}", "dir/web.yml:1: cipher_suites takes a list" },
	{ "tls_server_config: {cipher_suites: [[x]]}",
	  "dir/web.yml:1: cipher_suites takes one text" },
	{ "tls_server_config: {cipher_suites: ['']}",
	  "dir/web.yml:1: cipher_suites has an empty line" },
	{ "basic_auth_users: [x]", "dir/web.yml:1: basic_auth_users takes lines" },
	{ "basic_auth_users: {[x]: y}", "dir/web.yml:1: a user of basic_auth_users is one name" },
	{ "basic_auth_users: {x: [y]}",
	  "dir/web.yml:1: a user of basic_auth_users takes one text" },
	/* values */
	{ "http_server_config: {http2: 1}", "dir/web.yml:1: http2 is true or false" },
	{ TLS "  client_auth_type: Maybe\n",
	  "dir/web.yml:4: client_auth_type is one of NoClientCert, " },
	{ TLS "  min_version: SSL30\n",
	  "dir/web.yml:4: min_version is one of TLS10, TLS11, TLS12, TLS13, not 'SSL30'" },
	{ "http_server_config: {headers: {X-Frame-Options: allow}}",
	  "dir/web.yml:1: X-Frame-Options is deny or sameorigin, not 'allow'" },
	{ "http_server_config: {headers: {X-Content-Type-Options: sniff}}",
	  "dir/web.yml:1: X-Content-Type-Options is nosniff, not 'sniff'" },
	{ "http_server_config: {headers: {X-XSS-Protection: \"a\\r\\nSet-Cookie: b\"}}",
	  "dir/web.yml:1: X-XSS-Protection has a control character" },
	/* the whole of TLS */
	{ "tls_server_config: {}",
	  "dir/web.yml:1: tls_server_config has neither cert_file nor cert" },
	{ "\ntls_server_config:\n  cert_file: x\n",
	  "dir/web.yml:3: tls_server_config has neither key_file nor key" },
	{ TLS "  min_version: TLS13\n  max_version: TLS12\n",
	  "dir/web.yml:2: min_version is above max_version" },
	{ TLS "  client_ca_file: x\n", "dir/web.yml:2: there is a client CA, but" },
	{ TLS "  client_auth_type: VerifyClientCertIfGiven\n",
	  "dir/web.yml:2: client_auth_type verifies certificates, but" },
	{ TLS "  client_auth_type: RequireAndVerifyClientCert\n",
	  "dir/web.yml:2: client_auth_type verifies certificates, but" },
	{ TLS "  client_auth_type: RequestClientCert\n  client_allowed_sans: [x]\n",
	  "dir/web.yml:2: client_allowed_sans needs" },
	/* users */
	{ "basic_auth_users: {a: secret}", "dir/web.yml:1: user 'a' has no bcrypt hash" },
	{ "basic_auth_users: {a: }", "dir/web.yml:1: user 'a' has no bcrypt hash" },
	{ "basic_auth_users: {a: $1$abc$def}", "dir/web.yml:1: user 'a' has no bcrypt hash" },
	{ "basic_auth_users: {a: $2y$10$" REST "x}", "dir/web.yml:1: user 'a' has no bcrypt hash" },
	{ "basic_auth_users: {a: $2x$10$" REST "}", "dir/web.yml:1: user 'a' has no bcrypt hash" },
	{ "basic_auth_users: {a: $2y$03$" REST "}",
	  "dir/web.yml:1: user 'a' has a bcrypt hash of a cost" },
	{ "basic_auth_users: {a: $2y$31$" REST "}",
	  "dir/web.yml:1: user 'a' has a bcrypt hash of a cost" },
	{ "basic_auth_users: {'a:b': " HASH "}", "dir/web.yml:1: the name of a user" },
	{ "basic_auth_users: {'': " HASH "}", "dir/web.yml:1: the name of a user" },
	{ "basic_auth_users: {a: " HASH ", a: " HASH "}",
	  "dir/web.yml:1: user 'a' is there twice" },
	/* YAML that is none, or more than is needed */
	{ "tls_server_config:\n\tcert_file: x", "dir/web.yml:2: no YAML: " },
	{ "basic_auth_users: {a: 'b", "dir/web.yml:1: no YAML: " },
	{ "\xff\xfe", "dir/web.yml:1: no YAML: " },
	{ "http_server_config: \x01", "dir/web.yml:1: no YAML: " },
	{ "a: &x b", "dir/web.yml:1: unknown key 'a'" },
	{ "&x http_server_config: {}", "dir/web.yml:1: anchors" },
	{ "http_server_config: &x {}", "dir/web.yml:1: anchors" },
	{ "http_server_config: *x", "dir/web.yml:1: aliases" },
	{ "http_server_config: !!map {}", "dir/web.yml:1: tags" },
	{ "http_server_config: {headers: {X-XSS-Protection: \"a\\0b\"}}", "dir/web.yml:1: a NUL" },
	{ "<<: {}", "dir/web.yml:1: unknown key '<<'" },
	{ "{}\n---\n{}\n", "dir/web.yml:2: a second document" },
};

static void test_refused(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
		struct web_config c;

		if (!parse(refused[i].text, &c))
			fail_msg("taken: %s", refused[i].text);
		if (strncmp(why, refused[i].why, strlen(refused[i].why)) != 0)
			fail_msg("%s: %s", refused[i].text, why);
		assert_null(strstr(why, REST)); /* a hash is not shown */
		web_config__clear(&c);
	}
}

/* Old names, and all ways of saying yes and no. */
static void test_other_spellings(void **state)
{
	struct web_config c;

	(void)state;
	assert_int_equal(parse(TLS "  client_auth_type: RequireClientCert\n", &c), 0);
	assert_int_equal(c.client_auth, WEB_REQUIRE_ANY_CLIENT_CERT);
	web_config__clear(&c);
	assert_int_equal(parse("http_server_config: {http2: on}", &c), 0);
	assert_true(c.http2_wanted);
	web_config__clear(&c);
	assert_int_equal(parse("http_server_config: {http2: off}", &c), 0);
	assert_false(c.http2_wanted);
	web_config__clear(&c);
}

/* ---- files --------------------------------------------------------------- */

static void put(const char *name, const char *text)
{
	FILE *f = fopen(name, "w");

	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static void test_files(void **state)
{
	char dir[] = "/tmp/web-config-XXXXXX";
	struct web_files files = {};
	struct web_config c;

	(void)state;
	assert_non_null(mkdtemp(dir));
	assert_int_equal(chdir(dir), 0);
	assert_int_not_equal(web_config__load("web.yml", &c, &files, why), 0);
	assert_string_equal(why, "cannot read web.yml: No such file or directory");
	assert_false(web_files__changed(&files));

	put("web.yml", TLS);
	assert_true(web_files__changed(&files)); /* it was not there */
	put("a.crt", "certificate");
	assert_int_not_equal(web_config__load("web.yml", &c, &files, why), 0);
	assert_string_equal(why, "cannot read a.key: No such file or directory");
	web_config__clear(&c);
	assert_false(web_files__changed(&files));

	put("a.key", "key");
	assert_true(web_files__changed(&files));
	assert_int_equal(web_config__load("web.yml", &c, &files, why), 0);
	assert_string_equal(c.cert.data, "certificate");
	assert_int_equal(c.key.len, 3);
	assert_false(web_files__changed(&files));
	web_config__clear(&c);
	put("b.key", "another key");
	assert_int_equal(rename("b.key", "a.key"), 0);
	assert_true(web_files__changed(&files));

	assert_int_equal(unlink("a.key"), 0);
	assert_int_equal(mkdir("a.key", 0700), 0);
	assert_int_not_equal(web_config__load("web.yml", &c, &files, why), 0);
	assert_string_equal(why, "cannot read a.key: no regular file of at most 1 MiB");
	web_config__clear(&c);

	assert_int_equal(unlink("a.crt"), 0);
	assert_int_equal(mkfifo("a.crt", 0600), 0);
	assert_int_not_equal(web_config__load("web.yml", &c, &files, why), 0);
	assert_string_equal(why, "cannot read a.crt: no regular file of at most 1 MiB");
	web_config__clear(&c);
	web_files__clear(&files);
	unlink("web.yml");
	unlink("a.crt");
	rmdir("a.key");
	assert_int_equal(chdir("/"), 0);
	assert_int_equal(rmdir(dir), 0);
}

/* ---- TLS ----------------------------------------------------------------- */

static const struct {
	const char *text;
	const char *priority; /* or the message */
	bool ok;
} priorities[] = {
	{ TLS, "NORMAL:-RSA:-DHE-RSA:-VERS-ALL:%SERVER_PRECEDENCE:+VERS-TLS1.3:+VERS-TLS1.2",
	  true },
	{ TLS "  min_version: TLS10\n  max_version: TLS11\n  prefer_server_cipher_suites: false\n",
	  "NORMAL:-RSA:-DHE-RSA:-VERS-ALL:+VERS-TLS1.1:+VERS-TLS1.0", true },
	{ TLS "  curve_preferences: [CurveP256, X25519, CurveP384, CurveP521]\n",
	  "NORMAL:-RSA:-DHE-RSA:-VERS-ALL:%SERVER_PRECEDENCE:+VERS-TLS1.3:+VERS-TLS1.2:-GROUP-ALL:"
	  "+GROUP-SECP256R1:+GROUP-X25519:+GROUP-SECP384R1:+GROUP-SECP521R1",
	  true },
	{ TLS "  cipher_suites: [TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256, TLS_AES_256_GCM_SHA384]\n",
	  "NORMAL:-RSA:-DHE-RSA:-VERS-ALL:%SERVER_PRECEDENCE:+VERS-TLS1.3:+VERS-TLS1.2:-CIPHER-ALL:"
	  "-MAC-ALL:+AEAD:-KX-ALL:+AES-128-GCM:+AES-256-GCM:+ECDHE-RSA",
	  true },
	{ TLS "  cipher_suites: [TLS_AES_256_GCM_SHA384]\n",
	  "NORMAL:-RSA:-DHE-RSA:-VERS-ALL:%SERVER_PRECEDENCE:+VERS-TLS1.3:+VERS-TLS1.2:-CIPHER-ALL:"
	  "-MAC-ALL:+AEAD:-KX-ALL:+AES-256-GCM:+ECDHE-RSA:+ECDHE-ECDSA",
	  true },
	{ TLS "  cipher_suites: [TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256, "
	      "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256, TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA]\n",
	  "dir/web.yml: cipher_suites: RSA and ECDSA must have the same ciphers, and "
	  "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA is there for one of them only",
	  false },
	{ TLS "  cipher_suites: [TLS_RSA_WITH_RC4_128_SHA]\n",
	  "dir/web.yml: cipher_suites: TLS_RSA_WITH_RC4_128_SHA is not supported", false },
	{ TLS "  curve_preferences: [CurveP224]\n",
	  "dir/web.yml: curve_preferences: CurveP224 is not supported", false },
};

static void test_priorities(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(priorities) / sizeof(priorities[0]); i++) {
		struct web_config c;
		gnutls_priority_t p;
		char text[1024];
		int err;

		assert_int_equal(parse(priorities[i].text, &c), 0);
		err = web_tls__priority(&c, "dir/web.yml", text, sizeof(text), why);
		assert_string_equal(err ? why : text, priorities[i].priority);
		assert_int_equal(!err, priorities[i].ok);
		if (!err) {
			assert_int_equal(gnutls_priority_init(&p, text, NULL), 0);
			gnutls_priority_deinit(p);
		}
		web_config__clear(&c);
	}
}

static void test_no_certificate(void **state)
{
	struct web_config c;
	struct web_tls *t;

	(void)state;
	assert_int_equal(parse("tls_server_config: {cert: x, key: y}", &c), 0);
	assert_int_not_equal(web_tls__new(&c, "dir/web.yml", &t, why), 0);
	assert_non_null(strstr(why, "dir/web.yml: no certificate in PEM with its key"));
	web_config__clear(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all_of_it),      cmocka_unit_test(test_nothing),
		cmocka_unit_test(test_refused),	       cmocka_unit_test(test_other_spellings),
		cmocka_unit_test(test_files),	       cmocka_unit_test(test_priorities),
		cmocka_unit_test(test_no_certificate),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
