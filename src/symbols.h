/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Names for code addresses of processes that run, or ran until just now.
 *
 * A snapshot of the mappings is kept per process, and the symbols of a file
 * once for all processes that map it.  Files are opened as the process has
 * them (/proc/PID/map_files, then its root directory, which the snapshot
 * holds), so that other mount namespaces and deleted files work, and compared
 * with the inode number of the mapping, so that a file that was replaced gives
 * no names instead of wrong ones.  What is not known stays unknown: a function is
 * named only when its symbol covers the address, and where there is none, module
 * and offset remain.
 *
 * Everything is bounded: the number of processes, files, and bytes kept; what
 * was used longest ago goes first.  Not thread-safe: one symbolizer a thread.
 */
#ifndef ACLGUARD_SYMBOLS_H
#define ACLGUARD_SYMBOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "elffile.h"
#include "lines.h"

#define SYMBOLIZER_MODULES_MAX 64	   /* files; each holds one descriptor */
#define SYMBOLIZER_BYTES_MAX (256UL << 20) /* symbols and DWARF of all files */

enum symbolizer_flags {
	/*
	 * No source lines.  Reading DWARF takes memory in the order of the
	 * file's size and runs far more code on what the target chose; a
	 * daemon does without.
	 */
	SYMBOLIZER_NO_LINES = 1 << 0,
};

enum sym_kind {
	SYM_UNKNOWN, /* no mapping is known at this address; the process itself may name it */
	SYM_FILE,    /* a mapped file; the file itself may not have been readable */
	SYM_VDSO,    /* code that the kernel maps: [vdso], [vsyscall] */
	SYM_ANON,    /* memory without a file: generated code, stack, heap; module has the name */
};

/*
 * One address, resolved.  All strings are raw bytes that the target chose:
 * escape before showing.  They belong to the result: sym_result__clear().
 */
struct sym_result {
	enum sym_kind kind;
	uint64_t addr; /* as asked for */

	char *function; /* as linked, C++ mangled; NULL: unknown */
	uint64_t function_offset;

	/* Path as the process sees it, or the kernel's name in brackets; NULL if SYM_UNKNOWN. */
	char *module;
	bool deleted;
	uint64_t module_offset; /* in the file, in bytes; from the mapping's start if no file */
	uint64_t module_addr;	/* as linked, what addr2line -e wants; 0: unknown */

	uint8_t build_id[ELFFILE_BUILD_ID_MAX];
	unsigned int build_id_len; /* bytes; 0: none */

	/*
	 * The place in the source: of the address, or of what was compiled into
	 * the function there.  The file is as the compiler noted it; NULL: unknown.
	 */
	char *file;
	unsigned int line;

	/* What was compiled into the function at this address, innermost first. */
	struct sym_inline *inlined;
	unsigned int n_inlined; /* at most LINES_INLINED_MAX */
};

struct snapshots;
struct symbolizer;

/* flags: enum symbolizer_flags or 0.  NULL if there is no memory. */
struct symbolizer *symbolizer__new(unsigned int flags);
void symbolizer__free(struct symbolizer *sym); /* NULL is allowed */

/*
 * Take (or replace) the snapshot of a process.  Worth doing when a process is
 * first seen, because one that has exited cannot be asked any more.  On failure
 * an old snapshot remains.
 * -ESRCH: gone.  -ESTALE: gone, and its pid is another process' now, which has
 * to wait for symbolizer__forget().  -EACCES: not ours to look at.
 */
int symbolizer__snapshot(struct symbolizer *sym, pid_t pid);

/*
 * The process exited, or executed another program: drop its snapshot.  Until
 * then a container's file systems stay mounted, so do it as soon as the last
 * report is out.
 */
void symbolizer__forget(struct symbolizer *sym, pid_t pid);

/*
 * Both before the first process comes: look for separate debug files in this
 * directory as well, returning 0 or -errno (-E2BIG: enough); and ask servers for
 * them, see debuginfod.h.
 */
int symbolizer__debug_dir(struct symbolizer *sym, const char *dir);
int symbolizer__use_debuginfod(struct symbolizer *sym);

/*
 * There may be addresses of this process to resolve soon: begin to read, in a
 * thread, what will most probably be needed.  Does nothing without a snapshot.
 */
void symbolizer__warm(struct symbolizer *sym, pid_t pid);

/* Drop what is kept of files.  Costs time at the next resolve, and nothing else. */
void symbolizer__trim(struct symbolizer *sym);

/*
 * Resolve an address of a process.  Takes a snapshot if there is none, and
 * another one if the address is not in it, or if the process has another file
 * there by now.  (Generated code that gave way to a library goes unnoticed.)
 * What cannot be found out is left empty in *out; that is no error.
 *
 * resolve is for the address of an instruction that was executed or is next
 * (frame 0).  resolve_return is for return addresses (all other frames): the
 * function and the line are those of the call, one byte before.
 *
 * Returns 0, or -errno with *out untouched: -EINVAL, -ENOMEM.
 */
int symbolizer__resolve(struct symbolizer *sym, pid_t pid, uint64_t addr, struct sym_result *out);
int symbolizer__resolve_return(struct symbolizer *sym, pid_t pid, uint64_t addr,
			       struct sym_result *out);

/* What is mapped at an address, for who reads more of a file than names. */
struct sym_place {
	enum sym_kind kind;
	bool exec;
	const char *module;   /* as in sym_result; NULL: anonymous, or SYM_UNKNOWN */
	struct elffile *file; /* NULL: there is none, or it could not be read */
	uint64_t addr;	      /* as linked in the file; without one, from the mapping's start */
	uint64_t size;	      /* of the mapping, in bytes */
};

/* Takes snapshots as resolve does.  What *out points to is valid until the next call. */
void symbolizer__place(struct symbolizer *sym, pid_t pid, uint64_t addr, struct sym_place *out);

/* Only the module, its build id and the offset in it, which is quick: no names, no lines. */
int symbolizer__resolve_module(struct symbolizer *sym, pid_t pid, uint64_t addr, bool is_return,
			       struct sym_result *out);

/* Release the strings, and leave the result empty. */
void sym_result__clear(struct sym_result *res);

/*
 * One frame as a line without newline, in the style of the sanitizers, already
 * escaped for a terminal:
 *
 *	#1 0x7f5ce1a02b3d function+0x1d (libfoo.so+0x1234) file.c:12
 *	#2 0x7f5ce1a02b3d (libfoo.so+0x1234, build-id 93ac61ec5a8e)
 *	#3 0x7f5ce1a02b3d ([anon]+0x34)
 *	#4 0x7f5ce1a02b3d (unknown)
 *	#5 0x7f5ce1a02b3d py::main:/src/a.py+0x12 (unknown)
 *
 * What was compiled into the function comes before it, each in a line of its own
 * with the next number: sym_format_line() gives line 0 ... res->n_inlined, of
 * which the last is that of sym_format().
 *
 *	#1 0x7f5ce1a02b3d inner file.h:7 (inlined)
 *	#2 0x7f5ce1a02b3d function+0x1d (libfoo.so+0x1234) file.c:12
 *
 * buf is always terminated if n > 0.  Returns the length written.  Names that
 * are too long are cut with an ellipsis, each on its own, so that no long name
 * hides what follows it (given n >= 512).
 */
size_t sym_format(char *buf, size_t n, unsigned int frame, const struct sym_result *res);
size_t sym_format_line(char *buf, size_t n, unsigned int frame, const struct sym_result *res,
		       unsigned int which);

#endif /* ACLGUARD_SYMBOLS_H */
