/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Recordings: every call of the watched processes in a file, from which the
 * verdicts can be given again elsewhere, without privileges and on another
 * architecture.  This is the format; the writer and the reader follow it.
 *
 * All numbers are little-endian, of the widths given, and lie one after the
 * other without padding.  Times are CLOCK_MONOTONIC nanoseconds of the machine
 * that recorded.  STR is a length (u8) and as many bytes, which may be any.
 *
 * The file begins with 16 bytes:
 *
 *	u8[8]	89 41 43 4c 52 45 43 0a		"\x89" "ACLREC" "\n"
 *	u32	0x0a0b0c0d			shows a file turned around
 *	u32	1				version
 *
 * The version changes when a reader of the one before would go wrong; new
 * types of records, longer payloads and new calls do not change it.  Records
 * follow up to the end of the file.  It is only ever appended to, so one that
 * was cut off is whole up to its last whole record:
 *
 *	u32	length of the payload, at most 65535
 *	u16	type
 *	u16	0
 *	u32	CRC-32 (that of zlib) of the 8 bytes before and of the payload
 *	u8[]	payload
 *
 * What a payload has beyond what the reader knows of its type is skipped, and
 * so is a type that it does not know; a payload that is too short is damaged.
 *
 *  1 HEADER	the first record, and only that:
 *	u64 start; s64 CLOCK_REALTIME - CLOCK_MONOTONIC; u64 window; u32 rules;
 *	u32 page size; u8 strict; u8 0[3];
 *	STR architecture, host, kernel release, version of aclguard;
 *	and three tables, each u16 entries and so many STR: the names of the
 *	calls, rules and losses.  A call, rule or loss is recorded by its place
 *	in its table, so that a reader that numbers them otherwise finds it by
 *	name.  `rules` has a bit a rule; rule 0 has no name.
 *  2 ENTER	a call is entered:
 *	u64 time, incarnation; u32 tgid, tid, seq; u16 call; u16 n;
 *	u64 stack pointer; u64 args[n], n <= 6, in the order that the role of
 *	the call has in calls.h.  Further arguments are 0.
 *  3 LEAVE	a call has returned:
 *	u64 time, incarnation; u32 tgid, tid, seq; s32 value returned;
 *	u64 stack pointer as at the entry, output, address returned to;
 *	u8 the output could be read
 *  4 BATCH	one copy of a batch, as ENTER, before the LEAVE of its call:
 *	args 0, 2, 3 are destination, source and length; the time is the ENTER's
 *  5 THREAD_EXIT	u64 time, incarnation; u32 tgid, tid
 *  6 PROC	a process called the runtime for the first time (since exec):
 *	u64 time, incarnation, complete; u32 tgid, tid; u8 late; STR name.
 *	`complete` is the time since which its probes are complete, 0 since
 *	ever, ~0 not yet; `late`: it ran before it was watched
 *  7 COMPLETE	u64 time, 0, complete; u32 tgid, 0: it is from now on
 *  8 EXEC	u64 time, incarnation; u32 tgid, tid: it executes a program
 *  9 EXIT	u64 time, incarnation; u32 tgid, tid: it is gone
 * 10 FORK	u64 time, 0; u32 tgid, tid, child: child is a process or thread
 * 11 LOST	u64 time, since; u16 n; n times (u16 loss, u64 count): what was
 *	lost so far by cause; what is new in it was lost in between
 * 12 ROUND	u64 time: all that happened before stands above, but for what was
 *	just being written down then (see reorder.h)
 * 13 END	the last record: u64 time; u16 n; n times (u16 type, u64 count):
 *	how many records of each type stand above
 *
 * `seq` counts the ENTER, LEAVE and BATCH records of a thread of an incarnation
 * from 0; where a number is missing, records were lost.  Records of one thread
 * are in order; those of several are only nearly so.
 */
#ifndef ACLGUARD_RECORDING_H
#define ACLGUARD_RECORDING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "records.h"

#define RECORDING_VERSION 1
#define RECORDING_PROLOGUE 16
#define RECORDING_FRAME 12
#define RECORDING_PAYLOAD_MAX 65535
#define RECORDING_STR_MAX 255

enum recording_type {
	RECORDING_HEADER = 1,
	RECORDING_ENTER,
	RECORDING_LEAVE,
	RECORDING_BATCH,
	RECORDING_THREAD_EXIT,
	RECORDING_PROC,
	RECORDING_COMPLETE,
	RECORDING_EXEC,
	RECORDING_EXIT,
	RECORDING_FORK,
	RECORDING_LOST,
	RECORDING_ROUND,
	RECORDING_END,
	RECORDING_TYPES,
};

struct recording_header {
	uint64_t start;
	int64_t wall_offset; /* ns, CLOCK_REALTIME - CLOCK_MONOTONIC */
	uint64_t window;     /* ns */
	uint32_t rules;	     /* mask of ACL_RULE_BIT() */
	uint32_t page_size;
	bool strict;
	char arch[RECORDING_STR_MAX + 1];
	char host[RECORDING_STR_MAX + 1];
	char kernel[RECORDING_STR_MAX + 1];
	char version[RECORDING_STR_MAX + 1];
};

/* A record but for the header.  Numbers of calls and losses are ours. */
struct recorded {
	enum recording_type type;
	uint32_t tgid, tid;
	uint64_t time;
	uint64_t inc; /* of the machine that recorded */
	union {
		struct acl_enter enter; /* ENTER, BATCH */
		struct acl_leave leave;
		struct {
			uint64_t complete;
			bool late;
			char comm[ACL_COMM_LEN];
		} proc; /* PROC; COMPLETE has `complete` only */
		uint32_t child;
		struct {
			uint64_t since;
			uint64_t n[ACL_L_MAX];
			uint64_t unknown; /* of causes that we do not know */
		} lost;
		uint64_t end[RECORDING_TYPES];
	};
};

/* ---- writing ------------------------------------------------------------- */

struct recorder;

/*
 * Begins a recording on a file descriptor, which then is the recorder's.  NULL:
 * no memory.  What is written is kept until recorder__flush(), or until there is
 * much of it.
 */
struct recorder *recorder__new(int fd, const struct recording_header *h);
/* LEAVE etc. as given; END, which has to be the last, counts for itself. */
void recorder__write(struct recorder *rec, const struct recorded *r);
/* Returns the first error there was, as -errno; after one nothing is written. */
int recorder__flush(struct recorder *rec);
uint64_t recorder__bytes(const struct recorder *rec); /* written so far */
void recorder__free(struct recorder *rec);	      /* closes; NULL is allowed */

/* ---- reading ------------------------------------------------------------- */

/* What a recording lacks, and what the reader did not understand. */
struct recording_gaps {
	bool no_end;		     /* it was cut off: there is no END */
	uint64_t tail;		     /* bytes of an incomplete record at its end */
	uint64_t damaged;	     /* records that were skipped, their CRC or payload wrong */
	uint64_t unread;	     /* bytes not read because what stands before them is damaged */
	uint64_t after_end;	     /* bytes behind END */
	uint64_t missing;	     /* records that END counted and that were not read */
	uint64_t unknown;	     /* records of an unknown type */
	uint64_t unknown_calls;	     /* entries of calls that we do not know */
	char unknown_call[64];	     /* the first of them */
	uint64_t n[RECORDING_TYPES]; /* records read by type */
};

enum recording_status {
	RECORDING_OK,
	RECORDING_CANNOT_READ,	 /* errno says why */
	RECORDING_NOT_ONE,	 /* something else, or too short to be one */
	RECORDING_TURNED_AROUND, /* its bytes were swapped */
	RECORDING_OTHER_VERSION,
	RECORDING_BAD_HEADER, /* cut off or damaged where it begins */
};

struct reader;

/*
 * Opens a recording in memory, or on a file descriptor, which remains the
 * caller's; it need not be seekable.  *version is set where the file has one.
 */
enum recording_status reader__open_mem(const void *data, size_t size, struct reader **out,
				       uint32_t *version);
enum recording_status reader__open_fd(int fd, struct reader **out, uint32_t *version);
void reader__free(struct reader *rd);

const struct recording_header *reader__header(const struct reader *rd);

enum reader_next {
	READER_RECORD,	/* *out is set */
	READER_DAMAGED, /* something is missing here */
	READER_DONE,	/* nothing more can be read; the gaps are final */
};

enum reader_next reader__next(struct reader *rd, struct recorded *out);
const struct recording_gaps *reader__gaps(const struct reader *rd);
/* Of the read itself, as -errno; 0: there was none. */
int reader__error(const struct reader *rd);

#endif /* ACLGUARD_RECORDING_H */
