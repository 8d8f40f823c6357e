/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Sites: the places in programs that break a rule.  What comes from one site is
 * printed once in full and then counted.
 *
 * A site is a rule, a judged call, a program by its name (comm), and the innermost
 * SITE_FRAMES frames of the stack: the runtime's function and its first callers,
 * cut at the first one that lies in no file.  A frame is the build id of its file,
 * or else the file's name, and the offset in it.  No address, no pid and no path
 * is in it, so the id is that of the next run and of another machine, too.
 *
 * Where nothing is known but addresses, as of a recording or of a process that is
 * gone, the id is that of rule, call and program, and sites are told apart by the
 * addresses, those of the creation of buffer and event included.
 *
 * A violation whose stack was seen before is found by its addresses: no file is opened
 * and no name looked up.  Both tables are bounded, by the constants here; what was
 * seen longest ago goes first, and the site is then printed again, which is counted.
 * Not thread-safe.
 */
#ifndef ACLGUARD_SITES_H
#define ACLGUARD_SITES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "records.h"

#define SITES_MAX 4096	       /* less than 2 MiB with their words */
#define SITES_STACKS_MAX 16384 /* stacks whose site is remembered, 32 bytes each */
#define SITE_FRAMES 5
#define SITE_ID_SIZE 13	   /* bytes of an id in hex, with the NUL */
#define SITE_PLACE_MAX 320 /* bytes that hold a place in words */

struct backtrace;
struct json;
struct report_cfg;
struct report_out;
struct sites;
struct suppression;
struct sym_result;

struct site {
	uint64_t id;
	uint64_t count;	    /* violations, those of now included */
	uint64_t confirmed; /* of them, those that the runtime itself refused */
	uint64_t printed;   /* reports in full */
	uint64_t first;	    /* the number of the first of them; 0: none yet */
	uint32_t tgid;	    /* of the last violation */
	uint16_t call;
	uint8_t rule;
	uint8_t level; /* the worst that was printed */
	char comm[ACL_COMM_LEN];
	char *place; /* who called, escaped; NULL: not known */
};

/* Where a violation belongs. */
struct site_of {
	uint64_t id;
	uint64_t key;		/* of its site in the table */
	struct suppression *by; /* NULL: it is not suppressed */
};

/* NULL if there is no memory. */
struct sites *sites__new(void);
void sites__free(struct sites *st); /* NULL is allowed */

/*
 * Finds the site of a violation, and whether it is suppressed; counts nothing.
 * `bt` is its stack; where it has to, this looks up what is in there.
 */
void sites__find(struct sites *st, const struct report_cfg *cfg, const struct acl_violation *v,
		 struct backtrace *bt, struct site_of *of);

enum site_fate {
	SITE_PRINT, /* in full: nothing like it was printed before, or it was less grave */
	SITE_FOLD,  /* no word */
	SITE_COUNT, /* a line with its count: 10, 100, 1000, ... */
};

/*
 * Counts a violation that is not suppressed, and says what to do with it if like
 * ones are folded.  NULL without memory: print it.
 */
enum site_fate sites__count(struct sites *st, const struct site_of *of,
			    const struct acl_violation *v, struct site **site);
/* It was printed as this number, with this stack, whose names may be known. */
void site__printed(struct site *site, uint64_t nr, unsigned int level, const struct backtrace *bt);
/* The runtime refused a call that was counted there. */
void sites__confirm(struct sites *st, uint64_t key);

const char *site__id(char buf[SITE_ID_SIZE], uint64_t id);
/* "in function+0x1d (libfoo.so+0x1234)", "at (libfoo.so+0x1234)" or "at 0x1234", escaped */
void site__place(char *buf, size_t n, const struct sym_result *sym);

/* "==PID==aclguard: site ...: 100 times so far, 97 confirmed"; the same as an object. */
int site__print(const struct report_cfg *cfg, const struct site *site);

/* For the summary: the sites that were folded, those with the most violations first. */
void sites__print(const struct sites *st, struct report_out *o, bool all);
void sites__json(const struct sites *st, struct json *j); /* array "sites" and what was forgotten */

#endif /* ACLGUARD_SITES_H */
