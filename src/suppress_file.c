/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Reading files of suppressions. */
#include "suppress_file.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "escape.h"
#include "exits.h"
#include "pattern.h"
#include "rules.h"

#define WORD_SHOWN 64
#define IDLE_S 5 /* to wait for what a pipe has next */

/* One line at a time, in or between entries. */
struct parser {
	const char *file;
	struct suppress_error *error;
	unsigned int line;
	bool open;	      /* between { and } */
	struct suppression e; /* the one that is being read */
	struct suppression *list;
	size_t n;
};

struct word {
	const char *s;
	size_t len;
};

__attribute__((format(printf, 2, 3))) static int wrong(struct parser *p, const char *fmt, ...)
{
	va_list args;

	p->error->line = p->line;
	va_start(args, fmt);
	vsnprintf(p->error->text, sizeof(p->error->text), fmt, args);
	va_end(args);
	return -EINVAL;
}

static int no_memory(struct parser *p)
{
	wrong(p, "%s", strerror(ENOMEM));
	return -ENOMEM;
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

static bool is(struct word w, const char *s)
{
	return w.len == strlen(s) && !memcmp(w.s, s, w.len);
}

static struct word trim(struct word w)
{
	while (w.len && is_blank(w.s[0])) {
		w.s++;
		w.len--;
	}
	while (w.len && is_blank(w.s[w.len - 1]))
		w.len--;
	return w;
}

/* What stands before the first of these signs; the rest remains in *w. */
static struct word cut(struct word *w, const char *signs)
{
	struct word head = { w->s, 0 };

	while (head.len < w->len && !strchr(signs, w->s[head.len]))
		head.len++;
	w->s += head.len;
	w->len -= head.len;
	return head;
}

static const char *shown(char buf[WORD_SHOWN], struct word w)
{
	escape__message(buf, WORD_SHOWN, w.s, w.len);
	return buf;
}

/* ---- the lines of an entry ----------------------------------------------- */

static int set_name(struct parser *p, struct word val)
{
	if (p->e.name)
		return wrong(p, "a second name");
	p->e.name = strndup(val.s, val.len);
	return p->e.name ? 0 : no_memory(p);
}

static uint32_t rule_bits(struct word name)
{
#define RULE_BITS(id, text, headline) \
	if (is(name, text))           \
		return ACL_RULE_BIT(ACL_RULE_##id);
	ACL_RULES(RULE_BITS)
#undef RULE_BITS
	return is(name, "*") ? ACL_RULES_ALL : 0;
}

static int set_rules(struct parser *p, struct word val)
{
	char buf[WORD_SHOWN];

	if (p->e.rules)
		return wrong(p, "a second rule; several are written with commas");
	while (val.len) {
		struct word name = trim(cut(&val, ","));
		uint32_t bits = rule_bits(name);

		if (!bits)
			return wrong(p, "unknown rule '%s'; `aclguard --help' lists them",
				     shown(buf, name));
		p->e.rules |= bits;
		if (val.len) { /* the comma */
			val.s++;
			val.len--;
		}
	}
	return 0;
}

static int read_pattern(struct parser *p, struct word val, struct pattern **out)
{
	char buf[WORD_SHOWN];

	switch (pattern__new(val.s, val.len, out)) {
	case 0:
		return 0;
	case -E2BIG:
		return wrong(p, "the pattern is longer than %d bytes", PATTERN_MAX);
	case -ENOMEM:
		return no_memory(p);
	default:
		return wrong(p,
			     "'%s' is no pattern: a backslash stands before a sign, or begins "
			     "\\xNN or \\u{NNNN}",
			     shown(buf, val));
	}
}

static int set_program(struct parser *p, struct word val)
{
	return p->e.program ? wrong(p, "a second program") : read_pattern(p, val, &p->e.program);
}

static int add_frame(struct parser *p, struct word key, struct word val)
{
	struct suppress_frame f = { .kind = SUPPRESS_SKIP }, *frames;
	int err;

	if (p->e.n_frames == SUPPRESS_FRAMES_MAX)
		return wrong(p, "more than %d frames", SUPPRESS_FRAMES_MAX);
	frames = reallocarray(p->e.frames, p->e.n_frames + 1, sizeof(*frames));
	if (!frames)
		return no_memory(p);
	p->e.frames = frames;
	if (!is(key, "...")) {
		f.kind = is(key, "function") ? SUPPRESS_FUNCTION : SUPPRESS_MODULE;
		f.path = memchr(val.s, '/', val.len);
		err = read_pattern(p, val, &f.pattern);
		if (err)
			return err;
	}
	frames[p->e.n_frames++] = f;
	return 0;
}

static bool says_nothing(const struct suppression *e)
{
	if (e->rules != ACL_RULES_ALL || (e->program && !pattern__is_any(e->program)))
		return false;
	for (size_t i = 0; i < e->n_frames; i++)
		if (e->frames[i].kind != SUPPRESS_SKIP && !pattern__is_any(e->frames[i].pattern))
			return false;
	return true;
}

static int add_entry(struct parser *p)
{
	struct suppression *list;

	p->open = false;
	if (!p->e.rules)
		return wrong(p, "the entry that ends here has no rule; `rule *' means all");
	if (says_nothing(&p->e))
		return wrong(p, "the entry that ends here would suppress everything: it has to "
				"name a rule, a program or a frame");
	if (p->n == SUPPRESS_ENTRIES_MAX)
		return wrong(p, "more than %d entries", SUPPRESS_ENTRIES_MAX);
	list = reallocarray(p->list, p->n + 1, sizeof(*list));
	if (!list)
		return no_memory(p);
	p->list = list;
	list[p->n++] = p->e;
	p->e = (struct suppression){ .line = 0 };
	return 0;
}

static int begin_entry(struct parser *p)
{
	p->open = true;
	p->e.line = p->line;
	p->e.file = strdup(p->file);
	return p->e.file ? 0 : no_memory(p);
}

static int in_entry(struct parser *p, struct word line)
{
	struct word key = cut(&line, " \t"), val = trim(line);
	char buf[WORD_SHOWN];
	int (*set)(struct parser *, struct word) = NULL;

	if (is(key, "..."))
		return val.len ? wrong(p, "'...' stands alone on its line")
			       : add_frame(p, key, val);
	if (is(key, "name"))
		set = set_name;
	else if (is(key, "rule"))
		set = set_rules;
	else if (is(key, "program"))
		set = set_program;
	else if (!is(key, "function") && !is(key, "module"))
		return wrong(p,
			     "unknown word '%s'; an entry has name, rule, program, function, "
			     "module and '...'",
			     shown(buf, key));
	if (!val.len)
		return wrong(p, "nothing behind '%s'", shown(buf, key));
	return set ? set(p, val) : add_frame(p, key, val);
}

static int read_line(struct parser *p, struct word line)
{
	struct word rest, head;
	char buf[WORD_SHOWN];

	p->line++;
	if (memchr(line.s, '\0', line.len))
		return wrong(p, "a zero byte: this is no text");
	line = rest = trim(line);
	if (!line.len || line.s[0] == '#')
		return 0;
	head = cut(&rest, " \t");
	if (rest.len && (is(head, "{") || is(head, "}")))
		return wrong(p, "'%.*s' stands alone on its line", (int)head.len, head.s);
	if (is(line, "{"))
		return p->open ? wrong(p, "'{' within an entry that begins in line %u", p->e.line)
			       : begin_entry(p);
	if (!p->open)
		return wrong(p, "'%s' where an entry should begin with '{'", shown(buf, line));
	return is(line, "}") ? add_entry(p) : in_entry(p, line);
}

/* ---- the file -------------------------------------------------------------- */

/* All or nothing. */
static int take_over(struct parser *p, struct suppressions *s)
{
	struct suppression *list;

	if (!p->n)
		return 0;
	if (s->n + p->n > SUPPRESS_ENTRIES_MAX)
		return wrong(p, "more than %d entries", SUPPRESS_ENTRIES_MAX);
	list = reallocarray(s->list, s->n + p->n, sizeof(*list));
	if (!list)
		return no_memory(p);
	s->list = list;
	memcpy(list + s->n, p->list, p->n * sizeof(*list));
	for (size_t i = 0; i < p->n; i++)
		s->rules |= p->list[i].rules;
	s->n += p->n;
	p->n = 0;
	return 0;
}

int suppress_file__parse(struct suppressions *s, const char *file, const char *text, size_t len,
			 struct suppress_error *error)
{
	struct parser p = { .file = file, .error = error };
	struct word rest = { text, len };
	int err = 0;

	while (!err && rest.len) {
		const char *end = memchr(rest.s, '\n', rest.len);
		struct word line = { rest.s, end ? (size_t)(end - rest.s) : rest.len };

		err = read_line(&p, line);
		rest.s += line.len + (end != NULL);
		rest.len -= line.len + (end != NULL);
	}
	if (!err && p.open)
		err = wrong(&p, "the entry that begins in line %u has no '}'", p.e.line);
	if (!err)
		err = take_over(&p, s);
	suppression__clear(&p.e);
	for (size_t i = 0; i < p.n; i++)
		suppression__clear(&p.list[i]);
	free(p.list);
	return err;
}

/* What can be read now, or soon.  Returns how much, 0 at the end, or -errno. */
static ssize_t read_soon(int fd, char *to, size_t room)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	ssize_t n;

	do {
		int ready = poll(&p, 1, IDLE_S * 1000);

		if (!ready)
			return -ETIMEDOUT;
		n = ready < 0 ? -1 : read(fd, to, room);
	} while (n < 0 && (errno == EAGAIN || errno == EINTR));
	return n < 0 ? -errno : n;
}

/*
 * The whole of a file, which may be a pipe: opened without waiting, for a named one that
 * nobody writes to would never be.  Returns 0 or -errno.
 */
static int read_whole(const char *path, char **text, size_t *len)
{
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
	ssize_t n = 0;

	if (fd < 0)
		return -errno;
	*len = 0;
	*text = malloc(SUPPRESS_FILE_MAX + 1);
	if (!*text)
		n = -ENOMEM;
	else
		do {
			n = read_soon(fd, *text + *len, SUPPRESS_FILE_MAX + 1 - *len);
			*len += n > 0 ? (size_t)n : 0;
		} while (n > 0 && *len <= SUPPRESS_FILE_MAX);
	close(fd);
	if (n < 0)
		return (int)n;
	return *len > SUPPRESS_FILE_MAX ? -EFBIG : 0;
}

static int read_file(struct suppressions *s, const char *path)
{
	struct suppress_error error;
	char *text = NULL, name[WORD_SHOWN * 8];
	size_t len = 0;
	int err = read_whole(path, &text, &len), status = 0;

	escape__str(name, sizeof(name), path);
	if (err == -ETIMEDOUT)
		status =
			refuse(ACL_EXIT_USAGE,
			       "cannot read the suppressions in %s: nothing came for %d s; it is a "
			       "pipe that nobody writes to, or is not closed",
			       name, IDLE_S);
	else if (err)
		status = refuse(ACL_EXIT_USAGE, "cannot read the suppressions in %s: %s", name,
				strerror(-err));
	else if (suppress_file__parse(s, path, text, len, &error))
		status = refuse(ACL_EXIT_USAGE, "%s:%u: %s", name, error.line, error.text);
	free(text);
	return status;
}

int suppress_file__read_all(const char *const *files, size_t n, struct suppressions **out)
{
	int status = 0;

	*out = NULL;
	if (!n)
		return 0;
	*out = suppressions__new();
	if (!*out)
		return refuse(ACL_EXIT_FAILED, "%s", strerror(ENOMEM));
	for (size_t i = 0; !status && i < n; i++)
		status = read_file(*out, files[i]);
	if (status) {
		suppressions__free(*out);
		*out = NULL;
	}
	return status;
}
