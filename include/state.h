/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The state that is kept of a watched process: plain structures, the same in
 * the maps of the kernel and in the user-space store of replay and the tests.
 *
 * Two words are used throughout:
 *
 *  position  CLOCK_MONOTONIC nanoseconds at which a call was *entered*.
 *            Positions compare across all streams of a process.  0 is before
 *            everything.
 *  id        a number that no other object ever has: it names one generation
 *            of a handle or an address that the runtime may hand out again.
 *            0 is none.
 *
 * Knowledge about copies is prefix-closed per stream ("all that was submitted
 * up to here is known to be done"), so a stream carries it as one position a
 * kind, and a copy needs no state of its own beyond its stream and position.
 */
#ifndef ACLGUARD_STATE_H
#define ACLGUARD_STATE_H

#include <linux/types.h>

#include "rules.h"

#define ACL_COPIES_INLINE 2 /* copies kept in a buffer itself */
#define ACL_COPIES_MORE 6   /* further ones, in a table of their own */
#define ACL_INHERITS_MAX 8  /* other streams that a stream or record inherits from */
#define ACL_SEEN_INLINE 2   /* streams on which an event was seen COMPLETE */
#define ACL_SEEN_MORE 8	    /* further ones, in a table of their own */
#define ACL_DEVICES_MAX 64  /* devices of a process; the runtime numbers from 0 */
#define ACL_NEST_MAX 2	    /* different calls in progress at once on a thread */
#define ACL_BATCH_MAX 64    /* entries of a batch copy that are read */
#define ACL_CLASS_MIN 6	    /* buffers are filed by log2 of their size, */
#define ACL_CLASS_MAX 47    /* from 64 bytes to 128 TiB and more */
#define ACL_GRAVES_MAX 1024 /* released buffers remembered of a process; events likewise */
#define ACL_COVERS_MAX (1 + ACL_INHERITS_MAX)
#define ACL_UNDO_COVERS (ACL_SEEN_INLINE + ACL_SEEN_MORE + ACL_COVERS_MAX)

/* How many entries each table takes, all processes together: below 64 MiB in sum. */
#define ACL_CAP_PROCS 3072
#define ACL_CAP_THREADS 3072
#define ACL_CAP_DEVS 4096 /* of all processes */
/* where what is not used takes no memory */
#define ACL_CAP_PROCS_SPARSE 16384
#define ACL_CAP_THREADS_SPARSE 32768
#define ACL_CAP_DEVS_SPARSE 32768
#define ACL_CAP_TARGETS_SPARSE 65536
#define ACL_CAP_STREAMS_SPARSE 32768
#define ACL_CAP_NAMES_SPARSE 65536
#define ACL_CAP_CTXS_SPARSE 32768
#define ACL_CAP_TARGETS 8192
#define ACL_CAP_TARGETS_ALL 16384 /* where every program that starts has one */
#define ACL_CAP_BUFS 100352
#define ACL_CAP_COPIES 4096
#define ACL_CAP_EVENTS 100352
#define ACL_CAP_SEENS 4096
#define ACL_CAP_STREAMS 4096
#define ACL_CAP_INHERITS 4096
#define ACL_CAP_NAMES 8192
#define ACL_CAP_CTXS 4096
#define ACL_CAP_DESCS 4096
#define ACL_CAP_DEADS 16384
#define ACL_CAP_RANGES 8192
#define ACL_CAP_GRAVES 16384
#define ACL_CAP_VERDICTS 2048 /* kinds of verdicts of processes that have some */
#define ACL_CAP_ERRORS 512    /* codes that calls returned; of the others how many */
#define ACL_CAP_STACKS 16384  /* where they are kept at all; a number of one takes 16 bits */

/* Key of everything that belongs to one incarnation of one process. */
struct acl_key {
	__u64 inc; /* id of the incarnation */
	__u64 id;  /* handle, address, token or id, as the table says */
};

/* "All that was submitted to this stream up to here." */
struct acl_cover {
	__u64 stream; /* id; 0 is an unused slot */
	__u64 pos;
};

/* What a stream, or an event's record, inherited from waits on other streams. */
struct acl_inherits {
	__u64 last;  /* position of the wait or record that changed it last */
	__u64 taken; /* position of the last record that took it over */
	__u32 n;
	__u32 _pad;
	struct acl_cover c[ACL_INHERITS_MAX];
};

/* The newest asynchronous copy between a buffer and one stream. */
struct acl_copy {
	__u64 stream; /* id; 0 is an unused slot */
	__u64 pos;
	__u64 addr; /* host side, usually an interior pointer */
	__u64 len;  /* bytes */
	__u32 tid;
	__u8 call;   /* enum acl_call */
	__u8 dir;    /* enum acl_dir */
	__u16 stack; /* of the call, see acl_leave; 0 until it has returned */
};

enum acl_dir {
	ACL_DIR_H2D, /* the device reads the buffer */
	ACL_DIR_D2H, /* the device writes the buffer */
	ACL_DIR_ANY, /* not told by the call */
};

/*
 * A page-locked host buffer.  Filed under its size class and the 2^class
 * sized chunk its first byte lies in: a buffer of the class is at least one
 * chunk long, so no two live ones begin in one chunk, and less than two, so
 * an interior pointer is found by looking at three chunks a class.
 */
struct acl_buf {
	__u64 id;
	__u64 born; /* position of the allocating call */
	__u64 base;
	__u64 size;  /* bytes */
	__u64 dying; /* position of the release in progress, 0 if none; see ACL_FORSAKEN */
	__u64 site;  /* address that the allocating call returned to */
	__u32 tid;   /* allocated by */
	__u8 call;   /* enum acl_call */
	__u8 more;   /* a struct acl_copies is filed under our id */
	__u16 stack; /* of the allocating call, see acl_leave */
	__u8 suspect[ACL_S_MAX];
	struct acl_copy c[ACL_COPIES_INLINE];
};

struct acl_copies {
	struct acl_copy c[ACL_COPIES_MORE];
};

struct acl_event {
	__u64 id;
	__u64 born;  /* position of the creating call, or of the first use seen */
	__u64 dying; /* position of the destroy in progress, 0 if none; see ACL_FORSAKEN */
	__u64 handle;
	__u64 site;	      /* address that the creating call returned to */
	struct acl_cover rec; /* the current record */
	__u64 verdict;	      /* id of the newest verdict that names this event, 0 if none */
	__u32 records;	      /* times recorded in its life */
	__u32 starts;	      /* records and resets ever entered */
	__u32 busy;	      /* records and resets in progress */
	__u32 flags;	      /* as given at creation */
	__u32 tid;	      /* created by */
	__u8 call;	      /* creating call; ACL_C_MAX if it was not seen */
	__u8 rec_call;	      /* the call that made `rec` what it is: a record or a reset */
	__u8 rec_inherits;    /* the record has inherits, filed under our id */
	__u8 filed;	      /* there are inherits filed under our id, in use or not */
	__u8 shared;	      /* exported, imported or external: others see it complete */
	__u8 more;	      /* a struct acl_seen is filed under our id */
	__u8 captured;	      /* the newest record went into a graph */
	__u8 _pad;
	__u16 stack;	      /* of the creating call, see acl_leave, */
	__u16 rec_stack;      /* and of rec_call; 0 until that has returned */
	__u64 capture_stream; /* origin stream of that capture, and which of its */
	__u32 capture_seq;    /* captures it was */
	__u32 rec_tid;	      /* who made rec_call */
	__u8 suspect[ACL_S_MAX];
	struct acl_cover seen[ACL_SEEN_INLINE]; /* furthest positions seen COMPLETE */
};

struct acl_seen {
	struct acl_cover c[ACL_SEEN_MORE];
};

/* The poll that last moved a stream's `polled` forward. */
struct acl_poll {
	__u64 pos;
	__u64 event;  /* id */
	__u64 handle; /* of the event */
	__u32 tid;
	__u32 records; /* times the event had been recorded by then */
	__u32 stack;   /* of the query, see acl_leave */
	__u32 _pad;
};

struct acl_stream {
	__u64 id;
	__u64 born;
	__u64 handle;
	/* what the host knows of the copies on this stream */
	__u64 settled;	 /* done, and the host side was told */
	__u64 waited;	 /* done, by a wait that need not tell the host side */
	__u64 polled;	 /* done, by a poll of an event */
	__u64 queried;	 /* done, by aclrtStreamQuery */
	__u64 way;	 /* furthest way to the host that is not followed */
	__u64 query_pos; /* of the stream query that last moved `queried` */
	struct acl_poll poll;
	__u64 capture_stream; /* being captured: origin stream (maybe itself), and */
	__u32 capture_seq;    /* which of that stream's captures */
	__u32 captures;	      /* captures begun on this stream as origin */
	__u8 capturing;	      /* as origin, now */
	__u8 inherits;	      /* a struct acl_inherits is filed under our id */
	__u8 is_default;      /* what NULL means in some context */
	__u8 _pad;
	__s32 dev;	   /* -1: not known */
	__u32 tid;	   /* created by */
	__u32 query_tid;   /* who made the query of query_pos */
	__u32 query_stack; /* its stack, see acl_leave */
	__u8 suspect[ACL_S_MAX];
};

/* A context that was seen: what NULL and "the device" mean under it. */
struct acl_ctx {
	__u64 token; /* names the default stream, see acl_token() */
	__s32 dev;
	__u32 _pad;
};

/* Addresses that aclrtSetMemcpyDesc put into a descriptor. */
struct acl_desc {
	__u64 src;
	__u64 dst;
	__u64 len;
	__u32 kind;
	__u32 _pad;
};

/* `dying` of what was being released by a call whose return will not be seen:
 * perhaps it is gone, perhaps it can be released once more. */
#define ACL_FORSAKEN 1

enum acl_grave {
	ACL_GRAVE_BUF = 1,
	ACL_GRAVE_EVENT = 2,
	ACL_GRAVE_KINDS,
};

/*
 * A buffer released or an event destroyed, to recognise a later use of it.
 * Filed by handle, and a buffer's range once more as live ones are; the last
 * ACL_GRAVES_MAX of each kind are remembered of a process.
 */
struct acl_dead {
	__u64 id;      /* of the object that was */
	__u64 base;    /* address or handle */
	__u64 size;    /* bytes; 0 for an event */
	__u64 pos;     /* of the call that ended it */
	__u64 range;   /* key of the range, 0 if there is none */
	__u32 grave;   /* which of the graves it lies in */
	__u32 tid;     /* ended by */
	__u32 starts;  /* of an event: records and resets ever entered */
	__u8 suspects; /* mask, as it was in the end */
	__u8 alive;    /* the handle has been created again since */
	__u16 stack;   /* of the call that ended it, see acl_leave */
};

/* What a call in progress may have to take back, or must remember. */
struct acl_undo {
	__u32 n; /* covers in use */
	__u32 _pad;
	union {
		struct acl_cover c[ACL_UNDO_COVERS];
		struct {
			struct acl_cover rec;
			struct acl_inherits inh;
			__u64 stream; /* id of the one recorded on, and its */
			__u64 way;    /* `way` before, 0 if it was not moved */
			__u32 had;
			__u32 tid; /* who made it, by which call, and its stack */
			__u16 stack;
			__u8 call;
			__u8 _pad;
		} rec;
		struct acl_inherits inh;
		struct {
			__u64 key; /* where the buffer is filed */
			__u64 buf; /* its id; 0: no copy was entered */
			__u32 slot;
			__u32 _pad;
			struct acl_copy prev;
		} copy[2];
	};
};

/* A call in progress, from its entry to its return. */
struct acl_frame {
	__u64 pos;
	__u64 sp; /* stack pointer at the function's first instruction */
	__u64 args[6];
	__u64 obj;     /* id of the object that the call is about, 0 if unknown */
	__u64 verdict; /* id of the verdict given at entry, 0 if none */
	__u64 aux;     /* by role */
	__u32 starts;  /* of the event, at entry */
	__u16 call;    /* enum acl_call */
	__u8 busy;     /* the event had a record or reset in progress at entry */
	__u8 made;     /* the object was first seen by this very call */
	__u8 dead;     /* a copy: its address lay in a released range; aux is its key */
	__u8 jumps;    /* second definitions of the call passed by a jump, */
	__u8 calls;    /* and by a call that has not returned yet */
	__u8 rule;     /* of the verdict given at entry, sent or lost; 0 if none */
	__u8 level;
	__u8 evidence;
	__u8 _pad[2];
	struct acl_undo undo;
};

/* One call at its entry, as the probes or a recording deliver it. */
struct acl_enter {
	__u64 pos;
	__u64 sp;
	__u64 args[6]; /* by role, see machine.h */
	__u32 tgid;
	__u32 tid;
	__u32 seq; /* counts the recorded entries and returns of a thread, from 0 */
	__u16 call;
	__u8 _pad[2];
};

struct acl_thread {
	__u64 inc;
	__u64 ctx;	  /* token of the current context, 0: never seen */
	__s32 dev;	  /* its device, -1: not known */
	__u8 depth;	  /* frames in use */
	__u8 after_entry; /* nothing has happened since the top frame was entered */
	__u8 slot;	  /* of the copy looked for last */
	__u8 ends;	  /* of the copy being submitted that may be on the host */
	__u64 done_sp;	  /* stack pointer of the call that returned last, and how many */
	__u32 done_jumps; /* more returns it will have, of definitions it jumped through */
	__u32 too_deep;	  /* calls in progress beyond ACL_NEST_MAX */
	__u64 poll_pos;	  /* the latest event call was a COMPLETE poll, entered then */
	__u64 poll_event; /* handle */
	__u32 poll_stack; /* see acl_leave */
	__u32 _pad;
	__u64 found;   /* key of the buffer looked for last */
	__u64 leaving; /* key of one that was passed over: it is being released */
	__u64 site;    /* address that the returning call returns to, else 0 */
	__u32 seq;     /* of the next entry or return to be recorded */
	__u32 stack;   /* of the returning call, see acl_leave */
	__u64 ip, ret; /* of the call in progress where returns are not probed: its place, */
	/* and the address that it returns to */
	struct acl_frame f[ACL_NEST_MAX];
	/* where things are put together that are too large for a BPF stack */
	struct acl_copy copy;
	struct acl_poll poll;
	union {
		struct acl_buf buf;
		struct acl_copies copies;
		struct acl_event event;
		struct acl_seen seen;
		struct acl_stream stream;
		struct acl_inherits inherits;
		struct acl_ctx ctx;
		struct acl_desc desc;
		struct acl_dead dead;
		struct acl_enter enter;
	} scratch;
};

#define ACL_COMM_LEN 16 /* TASK_COMM_LEN */

/* A device that a process uses, filed by its number. */
struct acl_dev {
	__u64 settled; /* settles the streams of this device */
	__s32 refs;    /* aclrtSetDevice minus aclrtResetDevice seen */
	__u32 _pad;
};

struct acl_proc {
	__u64 inc;  /* id of this incarnation */
	__u64 born; /* monotonic time at which it was first seen */
	__u32 tgid;
	__u8 late; /* it ran before we attached */
	__u8 hint; /* size class of the buffer found last */
	__u8 _pad[2];
	__u32 uid; /* effective, as it was when first seen */
	__u32 _pad2;
	char comm[ACL_COMM_LEN]; /* as it was when first seen */
	__u8 suspect[ACL_S_MAX];
	__u8 classes[64];  /* by log2: size classes that were ever used */
	__u64 settled_all; /* settles the streams of every device */
	__u64 settled_any; /* the furthest of all: what a stream of an unknown device gets */
	/* totals since the incarnation began; live = made - gone */
	__u64 bufs_made, bufs_gone;
	__u64 bytes_made, bytes_gone;
	__u64 events_made, events_gone;
	__u64 streams_made, streams_gone;
	__u64 buried[ACL_GRAVE_KINDS]; /* put into graves, ever */
	__u64 verdicts;		       /* given, sent or lost */
	__u32 losses[ACL_L_MAX];
	__u32 _pad3;
};

#endif /* ACLGUARD_STATE_H */
