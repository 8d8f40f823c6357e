/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Stories: a violation from its verdict to its end.  The verdict is printed at
 * once; what the release returned, and when the event was destroyed, come later
 * and are joined to it here, and printed as follow-ups under the same number.
 *
 * A story whose event is still alive is followed up FOLLOWUP_DELAY_NS after the
 * release returned, and again if the event is destroyed after that.  It ends with
 * the destroy, with its process, or when STORIES_MAX younger ones need the room.
 *
 * What is handed in need not be trusted beyond its size: a record that is too
 * short or whose numbers are out of range is dropped and counted.  One thread.
 */
#ifndef ACLGUARD_STORY_H
#define ACLGUARD_STORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "records.h"

#define STORIES_MAX 4096
#define FOLLOWUP_DELAY_NS 100000000ULL

struct dumps;
struct enforcement;
struct json;
struct procs;
struct sites;
struct stacks;
struct suppressions;
struct symbolizer;
struct unwinder;

/* Why a follow-up is printed now. */
enum followup {
	FOLLOWUP_DONE,	  /* all is known */
	FOLLOWUP_WAITING, /* returned, but the event is still alive: another may follow */
	FOLLOWUP_GONE,	  /* the process is gone: what is missing will never come */
	FOLLOWUP_STOPPED, /* the watch ends */
	FOLLOWUP_EVICTED, /* no room to wait any longer */
};

struct story;

/* A violation that was just reported, for who counts them or sends them elsewhere. */
struct story_told {
	const struct acl_violation *v;
	uint64_t nr;	  /* as printed */
	uint64_t printed; /* time right after that, monotonic ns */
	bool suppressed;  /* nothing was printed */
	bool folded;	  /* nor then, as its site was printed before; it counts all the same */
	const struct enforcement *enforcement; /* what was done about it; NULL: nothing */
	const char *site; /* the id of its place in the program; NULL: not known */
};

/* Who else hears of each violation and follow-up, after it was printed.  All may be NULL. */
struct story_sink {
	void *arg;
	void (*violation)(void *arg, const struct story_told *told);
	void (*followup)(void *arg, const struct story *s, enum followup why);
};

/* How to report.  What the pointers point to must outlive whoever was given this. */
struct report_cfg {
	FILE *text; /* exactly one of text and json is set */
	struct json *json;
	struct symbolizer *sym;	   /* NULL: addresses only, as for processes of a recording */
	bool stacks;		   /* stacks were asked for */
	unsigned int stack_depth;  /* of so many frames at most */
	struct dumps *dumps;	   /* NULL: they are not to be unwound */
	struct unwinder *unwinder; /* NULL where dumps is */
	struct procs *procs;	   /* NULL: nothing more than numbers is known of processes */
	const struct stacks *kept; /* of the calls before; NULL: none are kept */
	bool verbose;
	bool strict;	    /* notes are wanted */
	uint32_t rules;	    /* mask of ACL_RULE_BIT() that are wanted */
	uint64_t window_ns; /* after which a poll counts as old */
	/*
	 * CLOCK_REALTIME minus CLOCK_MONOTONIC where a recording was made; 0: the
	 * records are of here and now.  With it, no latency is measured.
	 */
	int64_t wall_offset_ns;
	const struct story_sink *sink; /* NULL: nobody */
	/*
	 * Asked once for each violation: what was, or is now, done about it; NULL: nothing
	 * ever is.  What it said of the one that is being reported.
	 */
	const struct enforcement *(*enforce)(void *arg, const struct acl_violation *v,
					     bool suppressed);
	void *enforce_arg;
	const struct enforcement *enforcement;
	/* Told when something begins that takes long, and when it is over; NULL: nobody. */
	void (*slow)(void *arg, bool slow);
	void *slow_arg;
	struct sites *sites;	       /* NULL: they are not told apart, and nothing is folded */
	bool fold;		       /* what comes from one site is printed once */
	struct suppressions *suppress; /* NULL: there are none; needs sites */
	bool gen_suppressions;	       /* reports come with an entry that would suppress them */
};

static inline void report_cfg__slow(const struct report_cfg *cfg, bool slow)
{
	if (cfg->slow)
		cfg->slow(cfg->slow_arg, slow);
}

struct story_counts {
	uint64_t n[ACL_RULE_MAX][ACL_LEVEL_MAX][ACL_EV_MAX]; /* evidence as it is known now */
	uint64_t malformed; /* records dropped: too short, or numbers out of range */
	uint64_t evicted;   /* stories ended early to make room */
	uint64_t orphans;   /* sequels of no story (any more) */
};

struct stories;

/* *cfg is copied.  NULL if there is no memory. */
struct stories *stories__new(const struct report_cfg *cfg);
void stories__free(struct stories *st); /* says nothing; NULL is allowed */

/*
 * A record of the violations' ring, `size` bytes as delivered.  Printed before
 * this returns.  Returns 0, or -EINVAL where the record was dropped.
 */
int stories__violation(struct stories *st, const struct acl_violation *v, size_t size);
int stories__sequel(struct stories *st, const struct acl_sequel *s, size_t size);

/*
 * Print what is due at now_ns (CLOCK_MONOTONIC).  Returns the ns from now_ns until
 * the next is due, UINT64_MAX if nothing waits.
 */
uint64_t stories__timeout(struct stories *st, uint64_t now_ns);

/*
 * The incarnation is gone (exit or exec): end its stories.  Deliver first what
 * the violations' ring still holds of it.
 */
void stories__process_gone(struct stories *st, uint64_t inc);
/* The watch ends, the processes may go on: end all stories. */
void stories__finish(struct stories *st);

const struct story_counts *stories__counts(const struct stories *st);
/* How many violations of this level were reported. */
uint64_t stories__count(const struct stories *st, enum acl_level level);
/* Stories that are not over. */
size_t stories__pending(const struct stories *st);

/*
 * From the entry of the judged call to the moment its report was handed to the
 * kernel (text: headline and history), of all reports so far.  quantile: 0 ... 1.
 * Exact to 1/16; 0 if there were none.
 */
uint64_t stories__latency_ns(const struct stories *st, double quantile);

/* The first error that writing a report gave, as -errno; 0 if there was none. */
int stories__write_error(const struct stories *st);

/* ---- between stories and what prints them ------------------------------- */

/* What is kept of a violation for its follow-ups. */
struct story {
	uint64_t nr; /* as printed: 1, 2, ... */
	uint64_t id; /* of the verdict */
	uint64_t inc;
	uint64_t time;	/* entry of the judged call */
	uint64_t ptr;	/* given to it */
	uint64_t event; /* id of the polled event, 0 if there is none to be destroyed */
	uint64_t event_handle;
	uint64_t site_id;  /* where has_site */
	uint64_t site_key; /* see struct site_of */
	uint32_t tgid;
	uint16_t call;
	uint8_t rule;
	uint8_t level;
	uint8_t evidence;
	bool returned;	/* ret and end are valid */
	bool unseen;	/* it is over, but what it returned was not seen */
	bool destroyed; /* destroy_time is valid */
	bool told;	/* a follow-up was printed */
	bool silent;	/* it was not printed, and what comes after is not either */
	bool suppressed;
	bool has_site;
	int32_t ret;
	uint64_t end;	       /* time of the judged call's return */
	uint64_t destroy_time; /* entry of the destroy of the event */
};

#endif /* ACLGUARD_STORY_H */
