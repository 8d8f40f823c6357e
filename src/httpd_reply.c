/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Answers of the web server: who may have what, and what it is packed in. */
#define _GNU_SOURCE
#include "httpd_inner.h"

#include <stdlib.h>
#include <string.h>

#include <zlib.h>

#include "http_accept.h"

#define GZIP_FROM 1024 /* bytes; of less, nothing is gained */
#define GZIP_LEVEL 1   /* of 9: tables of numbers gain little by more */
#define ACCEPT_MAX 2048

enum {
	OK = 200,
	UNAUTHORIZED = 401,
	NOT_FOUND = 404,
	NOT_ALLOWED = 405,
	TOO_LARGE = 413,
	FAILED = 500,
	BUSY = 503,
};

struct httpd_request {
	struct MHD_Connection *c;
};

/* What the library keeps of a page until the client has taken it. */
struct body {
	struct httpd *h;
	struct textbuf text;
};

const char *httpd__query(const struct httpd_request *req, const char *name)
{
	return MHD_lookup_connection_value(req->c, MHD_GET_ARGUMENT_KIND, name);
}

/* ---- sending ------------------------------------------------------------- */

static void count(struct httpd *h, unsigned int status)
{
	enum httpd_outcome o = status < 400		? HTTPD_OK
			       : status == UNAUTHORIZED ? HTTPD_UNAUTHORIZED
			       : status < 500		? HTTPD_CLIENT_ERROR
							: HTTPD_SERVER_ERROR;

	atomic_fetch_add(&h->requests[o], 1);
}

static void add_headers(const struct httpd *h, struct MHD_Response *r, const char *type)
{
	MHD_add_response_header(r, "Content-Type", type);
	MHD_add_response_header(r, "Cache-Control", "no-store");
	for (size_t i = 0; i < WEB_HEADER_MAX; i++)
		if (h->web.headers[i])
			MHD_add_response_header(r, web_header_names[i], h->web.headers[i]);
	if (atomic_load(&h->stop))
		MHD_add_response_header(r, "Connection", "close");
}

/* With one more header, where there is a name for it. */
static enum MHD_Result send_short(struct httpd *h, struct MHD_Connection *c, unsigned int status,
				  const char *text, const char *name, const char *value)
{
	struct MHD_Response *r =
		MHD_create_response_from_buffer(strlen(text), (void *)text, MHD_RESPMEM_PERSISTENT);
	enum MHD_Result sent;

	if (!r)
		return MHD_NO;
	add_headers(h, r, HTTPD_TYPE_TEXT);
	if (name)
		MHD_add_response_header(r, name, value);
	sent = MHD_queue_response(c, status, r);
	MHD_destroy_response(r);
	count(h, status);
	return sent;
}

static enum MHD_Result send_busy(struct httpd *h, struct MHD_Connection *c)
{
	atomic_fetch_add(&h->busy, 1);
	return send_short(h, c, BUSY, "busy\n", "Retry-After", "1");
}

static void free_body(void *arg)
{
	struct body *b = arg;

	b->h->waiting -= b->text.len;
	textbuf__free(&b->text);
	free(b);
}

static void add_all(struct textbuf *b, z_stream *z)
{
	unsigned char chunk[16384];
	int status;

	do {
		z->next_out = chunk;
		z->avail_out = sizeof(chunk);
		status = deflate(z, Z_FINISH);
		textbuf__add(b, chunk, sizeof(chunk) - z->avail_out);
	} while (status == Z_OK);
}

/* Replaces the text by what gzip makes of it; false if it cannot, and nothing has changed. */
static bool pack(struct textbuf *b)
{
	z_stream z = { .next_in = (unsigned char *)b->data, .avail_in = (unsigned int)b->len };
	struct textbuf packed;

	if (deflateInit2(&z, GZIP_LEVEL, Z_DEFLATED, MAX_WBITS + 16, MAX_MEM_LEVEL,
			 Z_DEFAULT_STRATEGY) != Z_OK)
		return false;
	textbuf__init(&packed, b->max);
	add_all(&packed, &z);
	deflateEnd(&z);
	if (packed.err) {
		textbuf__free(&packed);
		return false;
	}
	textbuf__free(b);
	*b = packed;
	return true;
}

/* Takes over the text. */
static struct MHD_Response *response_of(struct httpd *h, struct textbuf *text)
{
	struct body *b = malloc(sizeof(*b));
	struct MHD_Response *r;

	if (!b) {
		textbuf__free(text);
		return NULL;
	}
	*b = (struct body){ .h = h, .text = *text };
	h->waiting += text->len;
	r = MHD_create_response_from_buffer_with_free_callback_cls(text->len, text->data, free_body,
								   b);
	if (!r)
		free_body(b);
	return r;
}

static const char *header(struct MHD_Connection *c, const char *name)
{
	return MHD_lookup_connection_value(c, MHD_HEADER_KIND, name);
}

/* Takes over the text. */
static enum MHD_Result send_page(struct httpd *h, struct MHD_Connection *c, unsigned int status,
				 const char *type, struct textbuf *text)
{
	bool packed = text->len >= GZIP_FROM &&
		      http_accept__coding(header(c, "Accept-Encoding"), "gzip") && pack(text);
	struct MHD_Response *r;
	enum MHD_Result sent;

	if (h->waiting + text->len > h->cfg.pages_max) {
		textbuf__free(text);
		return send_busy(h, c);
	}
	r = response_of(h, text);
	if (!r)
		return MHD_NO;
	add_headers(h, r, type);
	MHD_add_response_header(r, "Vary", "Accept, Accept-Encoding");
	if (packed)
		MHD_add_response_header(r, "Content-Encoding", "gzip");
	sent = MHD_queue_response(c, status, r);
	MHD_destroy_response(r);
	count(h, status);
	return sent;
}

/* ---- pages --------------------------------------------------------------- */

/* A client may send Accept in several lines, which are one list. */
struct accepted {
	size_t len;
	char text[ACCEPT_MAX];
};

static enum MHD_Result add_accept(void *arg, enum MHD_ValueKind kind, const char *name,
				  const char *value)
{
	struct accepted *a = arg;
	size_t len = value ? strlen(value) : 0;

	(void)kind;
	if (strcasecmp(name, "Accept") != 0 || !len || a->len + len + 2 > sizeof(a->text))
		return MHD_YES;
	if (a->len)
		a->text[a->len++] = ',';
	memcpy(a->text + a->len, value, len + 1);
	a->len += len;
	return MHD_YES;
}

static enum MHD_Result send_rendered(struct httpd *h, struct MHD_Connection *c,
				     const struct httpd_page *page)
{
	const struct httpd_request req = { c };
	struct accepted a = { .len = 0 };
	struct textbuf text;
	size_t type;
	int status;

	MHD_get_connection_values(c, MHD_HEADER_KIND, add_accept, &a);
	type = http_accept__type(a.len ? a.text : NULL, page->types);
	textbuf__init(&text, h->cfg.page_max);
	status = page->render(page->arg, &req, (unsigned int)type, &text);
	if (status < 0 || text.err) {
		textbuf__free(&text);
		return send_short(h, c, FAILED, "this page could not be made\n", NULL, NULL);
	}
	return send_page(h, c, (unsigned int)status, page->types[type], &text);
}

/* A list of the pages, for who comes with a browser.  All of it is the program's own text. */
static enum MHD_Result send_list(struct httpd *h, struct MHD_Connection *c)
{
	struct textbuf text;

	textbuf__init(&text, h->cfg.page_max);
	textbuf__printf(&text,
			"<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
			"<title>%s</title></head>\n<body><h1>%s</h1>\n<ul>\n",
			h->cfg.title, h->cfg.title);
	for (size_t i = 0; i < h->cfg.npages; i++)
		if (h->cfg.pages[i].title)
			textbuf__printf(&text, "<li><a href=\"%s\">%s</a></li>\n",
					h->cfg.pages[i].path, h->cfg.pages[i].title);
	textbuf__str(&text, "</ul></body></html>\n");
	if (text.err) {
		textbuf__free(&text);
		return MHD_NO;
	}
	return send_page(h, c, OK, "text/html; charset=utf-8", &text);
}

static const struct httpd_page *find_page(const struct httpd *h, const char *url)
{
	for (size_t i = 0; i < h->cfg.npages; i++)
		if (!strcmp(h->cfg.pages[i].path, url))
			return &h->cfg.pages[i];
	return NULL;
}

bool httpd_reply__has_body(struct MHD_Connection *c)
{
	const char *length = header(c, "Content-Length");

	return header(c, "Transfer-Encoding") || (length && strspn(length, "0") != strlen(length));
}

static enum MHD_Result answer(struct httpd *h, struct MHD_Connection *c, const char *url,
			      const struct httpd_page *page)
{
	if (page)
		return send_rendered(h, c, page);
	if (!strcmp(url, "/"))
		return send_list(h, c);
	return send_short(h, c, NOT_FOUND, "no such page\n", NULL, NULL);
}

/* ---- who may ------------------------------------------------------------- */

/* Answers what is not a request for a page, without knowing who asks. */
static bool is_refused(struct httpd *h, struct MHD_Connection *c, const char *method,
		       enum MHD_Result *sent)
{
	if (httpd_reply__has_body(c)) {
		*sent = send_short(h, c, TOO_LARGE, "no page takes data\n", "Connection", "close");
		return true;
	}
	if (strcmp(method, "GET") != 0 && strcmp(method, "HEAD") != 0) {
		*sent = send_short(h, c, NOT_ALLOWED, "GET and HEAD only\n", "Allow", "GET, HEAD");
		return true;
	}
	return false;
}

static enum place_auth check_password(struct httpd *h, struct MHD_Connection *c,
				      struct place *place)
{
	switch (web_auth__check(h->auth, &h->web, header(c, "Authorization"), place)) {
	case WEB_AUTH_YES:
		return PLACE_AUTH_RIGHT;
	case WEB_AUTH_LATER:
		return PLACE_AUTH_LATER;
	case WEB_AUTH_BUSY:
		return PLACE_AUTH_NONE;
	case WEB_AUTH_NO:
		break;
	}
	return PLACE_AUTH_WRONG;
}

enum MHD_Result httpd_reply__take(struct httpd *h, struct MHD_Connection *c, struct place *place,
				  const char *url, const char *method)
{
	const struct httpd_page *page = find_page(h, url);
	enum MHD_Result sent;

	if (is_refused(h, c, method, &sent))
		return sent;
	if (!h->web.nusers || (page && page->open))
		return answer(h, c, url, page);
	if (place->auth == PLACE_AUTH_NONE)
		place->auth = check_password(h, c, place);
	switch (place->auth) {
	case PLACE_AUTH_RIGHT:
		return answer(h, c, url, page);
	case PLACE_AUTH_LATER:
		place->connection = c;
		MHD_suspend_connection(c);
		return MHD_YES;
	case PLACE_AUTH_WRONG:
		return send_short(h, c, UNAUTHORIZED, "Unauthorized\n", "WWW-Authenticate",
				  "Basic realm=\"aclguard\", charset=\"UTF-8\"");
	case PLACE_AUTH_NONE:
		break;
	}
	return send_busy(h, c);
}
