/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Showing bytes that a traced process chose.  One decoder of UTF-8 and one
 * notion of what is printable serve both outputs.
 */
#include "escape.h"

#include <stdio.h>
#include <string.h>

#define REPLACEMENT "\xef\xbf\xbd" /* U+FFFD */
#define ELLIPSIS "\xe2\x80\xa6"	   /* U+2026 */
#define ELLIPSIS_LEN (sizeof(ELLIPSIS) - 1)

/*
 * What is not shown as it is, by range.  Besides the controls these are the
 * code points that turn the direction of text ("Trojan Source"), that have no
 * width, or that are no characters: with them two different names look alike.
 */
static const struct {
	uint32_t first;
	uint32_t last;
} unprintable[] = {
	{ 0x0000, 0x001f },    /* C0 */
	{ 0x007f, 0x009f },    /* DEL, C1 */
	{ 0x00ad, 0x00ad },    /* soft hyphen */
	{ 0x034f, 0x034f },    /* combining grapheme joiner */
	{ 0x061c, 0x061c },    /* Arabic letter mark */
	{ 0x115f, 0x1160 },    /* Hangul fillers */
	{ 0x17b4, 0x17b5 },    /* Khmer inherent vowels */
	{ 0x180b, 0x180f },    /* Mongolian selectors, separator */
	{ 0x200b, 0x200f },    /* zero width, direction marks */
	{ 0x2028, 0x202e },    /* line and paragraph separator, bidi embedding and override */
	{ 0x2060, 0x206f },    /* word joiner, bidi isolates, deprecated format characters */
	{ 0x3164, 0x3164 },    /* Hangul filler */
	{ 0xd800, 0xdfff },    /* surrogates */
	{ 0xfdd0, 0xfdef },    /* noncharacters */
	{ 0xfe00, 0xfe0f },    /* variation selectors */
	{ 0xfeff, 0xfeff },    /* byte order mark */
	{ 0xffa0, 0xffa0 },    /* Hangul filler */
	{ 0xfff0, 0xfffb },    /* unassigned, interlinear annotation */
	{ 0xfffe, 0xffff },    /* noncharacters */
	{ 0x1bca0, 0x1bca3 },  /* shorthand format controls */
	{ 0x1d173, 0x1d17a },  /* musical format controls */
	{ 0xe0000, 0xe0fff },  /* tags, variation selectors */
	{ 0xf0000, 0x10ffff }, /* private planes */
};

static bool is_continuation(uint8_t c)
{
	return (c & 0xc0) == 0x80;
}

size_t escape__decode(const void *in, size_t len, uint32_t *cp)
{
	static const uint32_t smallest[] = { 0, 0, 0x80, 0x800, 0x10000 };
	const uint8_t *p = in;
	size_t n, i;
	uint32_t c;

	if (len == 0)
		return 0;
	if (p[0] < 0x80) {
		*cp = p[0];
		return 1;
	}
	if (p[0] < 0xc2 || p[0] > 0xf4)
		return 0;
	n = p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : 4;
	if (n > len)
		return 0;
	c = p[0] & (0x7f >> n);
	for (i = 1; i < n; i++) {
		if (!is_continuation(p[i]))
			return 0;
		c = c << 6 | (p[i] & 0x3f);
	}
	if (c < smallest[n] || c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff))
		return 0;
	*cp = c;
	return n;
}

bool escape__printable(uint32_t cp)
{
	size_t lo = 0, hi = sizeof(unprintable) / sizeof(unprintable[0]);

	if (cp > 0x10ffff)
		return false;
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (cp > unprintable[mid].last)
			lo = mid + 1;
		else if (cp < unprintable[mid].first)
			hi = mid;
		else
			return false;
	}
	return true;
}

/* One character of the input as shown on a terminal; returns the bytes of input used. */
static size_t text_unit(const uint8_t *in, size_t len, char unit[16], size_t *unit_len)
{
	uint32_t cp;
	size_t used = escape__decode(in, len, &cp);

	if (used == 0 || cp < 0x20 || cp == 0x7f) {
		*unit_len = snprintf(unit, 16, "\\x%02x", in[0]);
		return 1;
	}
	if (cp == '\\') {
		*unit_len = snprintf(unit, 16, "\\\\");
	} else if (escape__printable(cp)) {
		memcpy(unit, in, used);
		*unit_len = used;
	} else {
		*unit_len = snprintf(unit, 16, "\\u{%x}", cp);
	}
	return used;
}

static size_t escape(char *out, size_t outsz, const void *in, size_t inlen, const char *kept)
{
	size_t pos = 0, cut = 0, done = 0, unit_len;
	const uint8_t *p = in;
	char unit[16];

	if (outsz == 0)
		return 0;
	while (done < inlen) {
		if (p[done] && strchr(kept, p[done])) {
			unit[0] = (char)p[done++];
			unit_len = 1;
		} else {
			done += text_unit(p + done, inlen - done, unit, &unit_len);
		}
		if (unit_len >= outsz - pos) {
			/* Too long: back to the last place that leaves room for the mark. */
			pos = cut;
			if (ELLIPSIS_LEN < outsz - pos) {
				memcpy(out + pos, ELLIPSIS, ELLIPSIS_LEN);
				pos += ELLIPSIS_LEN;
			}
			break;
		}
		memcpy(out + pos, unit, unit_len);
		pos += unit_len;
		if (pos + ELLIPSIS_LEN < outsz)
			cut = pos;
	}
	out[pos] = '\0';
	return pos;
}

size_t escape__text(char *out, size_t outsz, const void *in, size_t inlen)
{
	return escape(out, outsz, in, inlen, "");
}

size_t escape__message(char *out, size_t outsz, const void *in, size_t inlen)
{
	return escape(out, outsz, in, inlen, "\\\n");
}

size_t escape__str(char *out, size_t outsz, const char *in)
{
	return escape__text(out, outsz, in ? in : "", in ? strlen(in) : 0);
}

/* Two code units of UTF-16 where one is not enough: JSON has no longer escape. */
static size_t json_escape_cp(uint32_t cp, char unit[16])
{
	if (cp < 0x10000)
		return snprintf(unit, 16, "\\u%04x", cp);
	cp -= 0x10000;
	return snprintf(unit, 16, "\\u%04x\\u%04x", 0xd800 | cp >> 10, 0xdc00 | (cp & 0x3ff));
}

/* One character of the input as it stands in JSON; returns the bytes of input used. */
static size_t json_unit(const uint8_t *in, size_t len, char unit[16], size_t *unit_len)
{
	uint32_t cp;
	size_t used = escape__decode(in, len, &cp);

	if (used == 0) {
		memcpy(unit, REPLACEMENT, sizeof(REPLACEMENT));
		*unit_len = sizeof(REPLACEMENT) - 1;
		return 1;
	}
	if (cp == '"' || cp == '\\') {
		unit[0] = '\\';
		unit[1] = (char)cp;
		*unit_len = 2;
	} else if (cp == '\n' || cp == '\t' || cp == '\r') {
		unit[0] = '\\';
		unit[1] = cp == '\n' ? 'n' : cp == '\t' ? 't' : 'r';
		*unit_len = 2;
	} else if (escape__printable(cp)) {
		memcpy(unit, in, used);
		*unit_len = used;
	} else {
		*unit_len = json_escape_cp(cp, unit);
	}
	return used;
}

size_t escape__json(char *out, size_t outsz, const void *in, size_t inlen, size_t *used)
{
	size_t pos = 0, done = 0;
	const uint8_t *p = in;

	while (done < inlen) {
		char unit[16];
		size_t unit_len, n;

		n = json_unit(p + done, inlen - done, unit, &unit_len);
		if (outsz == 0 || unit_len >= outsz - pos)
			break;
		memcpy(out + pos, unit, unit_len);
		pos += unit_len;
		done += n;
	}
	if (outsz > 0)
		out[pos] = '\0';
	if (used)
		*used = done;
	return pos;
}
