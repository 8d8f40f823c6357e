/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * What probes and stacks need to know of an ELF file: where its functions are,
 * what it is, and what it asks for.
 *
 * The file belongs to the process that is watched and may hold anything, and
 * may change while we read.  So it is never mapped (a truncation would be a
 * SIGBUS) and no offset or length in it is used before it was compared with
 * the size of the file.  Only 64-bit little-endian files are read.
 *
 * All functions return 0 (or a count) or -errno:
 *   -ENOEXEC  not an ELF file, or one that contradicts itself
 *   -ENOTSUP  an ELF file, but not 64-bit little-endian x86-64 or aarch64
 *   -ENOENT   the file is fine, but what was asked for is not in it
 *   -E2BIG    larger than any real file: see the limits in elffile.c
 *   -EINVAL   (on opening) not a regular file
 */
#ifndef ACLGUARD_ELFFILE_H
#define ACLGUARD_ELFFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define ELFFILE_BUILD_ID_MAX 64

struct elffile;

/* A function that was looked up by name. */
struct elffile_func {
	bool found;
	/*
	 * What the name stands for is chosen at run time (STT_GNU_IFUNC): the
	 * place is that of the chooser, and a probe there sees one call only.
	 */
	bool ifunc;
	/* Definitions of this name at other places (symbol versions); the first one is given. */
	unsigned int others;
	uint64_t offset; /* of its first byte in the file: what uprobes want */
	uint64_t addr;	 /* as the file was linked (st_value) */
	uint64_t size;	 /* in bytes; 0 if the file does not say */
};

/*
 * A function symbol.  The name is left in the file, for elffile__read_string():
 * a table of a million symbols that all share the longest string of the file
 * must not cost more than any other.
 */
struct elffile_sym {
	uint64_t name_offset; /* in the file, in bytes */
	uint64_t name_end;    /* where the string table ends */
	uint64_t addr;
	uint64_t size;
	bool ifunc;
	bool global; /* or weak; else local */
};

/* Non-zero ends the walk and is what the walk returns. */
typedef int (*elffile_sym_fn)(const struct elffile_sym *sym, void *ctx);
typedef int (*elffile_str_fn)(const char *str, size_t len, void *ctx);

enum elffile_table {
	ELFFILE_DYNSYM, /* what the loader uses; always there in a shared library */
	ELFFILE_SYMTAB, /* all functions; gone after strip */
};

/*
 * Open a regular file for reading without side effects: a path that leads to a
 * FIFO or a device is refused (-EINVAL) before it is really opened.  Returns a
 * descriptor or -errno.  dirfd, as in openat(): AT_FDCWD or a directory.
 */
int elffile__open_regular(int dirfd, const char *path);

/*
 * The same for a path of a process whose root directory is root_fd: symbolic
 * links on the way, which the process chose, do not lead out of that root.
 */
int elffile__open_in_root(int root_fd, const char *path);
/* A symbolic link at the end of the path is refused (-EINVAL). */
int elffile__open_in_root_nofollow(int root_fd, const char *path);

/*
 * Open a file.  open_fd duplicates fd, which remains the caller's.  open_mem
 * reads from memory, which must outlive *out.  *out is set on success only and
 * is to be closed.
 */
int elffile__open(const char *path, struct elffile **out);
int elffile__open_fd(int fd, struct elffile **out);
int elffile__open_mem(const void *data, size_t size, struct elffile **out);
void elffile__close(struct elffile *ef); /* NULL is allowed */

uint16_t elffile__machine(const struct elffile *ef); /* EM_X86_64 or EM_AARCH64 */
uint16_t elffile__type(const struct elffile *ef);    /* ET_EXEC, ET_DYN, ... */
int elffile__fd(const struct elffile *ef);	     /* still ef's; -1 for memory */

/*
 * Look up n functions by exact name, in one pass over .dynsym.  Found are
 * definitions only: global or weak, in a section, whole within what the file
 * holds of an executable segment.  out has n elements, in the order of names;
 * those not found have found == false.  Returns how many were found; a library
 * without a .dynsym has none.
 */
int elffile__find_functions(struct elffile *ef, const char *const *names, size_t n,
			    struct elffile_func *out);

/*
 * The address, as linked, of a variable that .dynsym defines under this exact
 * name.  -ENOENT: there is none.
 */
int elffile__find_object(struct elffile *ef, const char *name, uint64_t *addr);

/*
 * Which of n names the file asks other files for: undefined in .dynsym, by
 * exact name.  Returns how many were found; a file without a .dynsym has none.
 */
int elffile__find_imports(struct elffile *ef, const char *const *names, size_t n, bool *found);

/* Whether the file has a section of this name.  1, 0 or -errno. */
int elffile__has_section(struct elffile *ef, const char *name);

/* The whole content of a section, which is to fit into n bytes.  Returns its size. */
ssize_t elffile__read_section(struct elffile *ef, const char *name, void *buf, size_t n);

/*
 * Call fn for each function defined in the table.  The address was compared
 * with nothing: it is what the file says.  -ENOENT: there is no such table.
 */
int elffile__walk_functions(struct elffile *ef, enum elffile_table table, elffile_sym_fn fn,
			    void *ctx);

/*
 * Whether the file defines public runtime calls: at least one function of the
 * table in calls.h whose name begins with "aclrt".  1, 0 or -errno.
 */
int elffile__defines_acl(struct elffile *ef);

/*
 * The NUL-terminated string at a file offset, of which no byte lies at or
 * beyond end.  What is longer than n - 1 bytes is cut.  Returns its length;
 * -ENOEXEC if it does not end before end.
 */
ssize_t elffile__read_string(struct elffile *ef, uint64_t offset, uint64_t end, char *buf,
			     size_t n);

/*
 * Where in the file, and at which address as linked, something is.  Compared with
 * nothing: it is what the file says.
 */
struct elffile_part {
	uint64_t addr;
	uint64_t offset;
	uint64_t size; /* in bytes, of what the file holds */
};

/* The first segment of a type (PT_*).  -ENOENT: there is none. */
int elffile__segment(const struct elffile *ef, uint32_t type, struct elffile_part *out);

/* The first section of this exact name, if it is one that is loaded; or -ENOENT. */
int elffile__section(struct elffile *ef, const char *name, struct elffile_part *out);

/* Exactly n bytes that a PT_LOAD segment has at an address as linked; -ENOENT: none has. */
int elffile__read_addr(const struct elffile *ef, uint64_t addr, void *buf, size_t n);

/* Between addresses as linked and offsets in the file, through the PT_LOAD headers. */
int elffile__addr_to_offset(const struct elffile *ef, uint64_t addr, uint64_t *offset);
int elffile__offset_to_addr(const struct elffile *ef, uint64_t offset, uint64_t *addr);

/*
 * The code at a file offset: up to n bytes, not beyond the executable segment
 * that holds the offset.  Returns how many (> 0), or -ENOENT if there is none.
 */
ssize_t elffile__read_code(struct elffile *ef, uint64_t offset, void *buf, size_t n);

/* The GNU build id; returns its length in bytes (1 ... ELFFILE_BUILD_ID_MAX) or -ENOENT. */
int elffile__build_id(struct elffile *ef, uint8_t id[ELFFILE_BUILD_ID_MAX]);

/*
 * Call fn for each string of the dynamic section with this tag: DT_NEEDED,
 * DT_RPATH, DT_RUNPATH, DT_SONAME.  The string is raw and NUL-terminated.
 * -ENOENT: there is no dynamic section (a static program).
 */
int elffile__walk_dynamic(struct elffile *ef, int64_t tag, elffile_str_fn fn, void *ctx);

/* Whether the file has DT_NEEDED on this exact name.  1, 0 or -errno. */
int elffile__needs(struct elffile *ef, const char *soname);

/*
 * The dynamic loader that the program at path asks for (PT_INTERP).  For a
 * "#!" script, that of the program which runs it.  Returns 0, -ENOENT for a
 * static program or a library, -ENAMETOOLONG if n bytes are not enough.
 */
int elffile__interp(const char *path, char *buf, size_t n);

/*
 * The program that really runs when path is executed: path itself, or, through
 * up to 5 levels as in the kernel, what "#!" names.  Neither PATH nor env(1)
 * is looked at: "#!/usr/bin/env python3" is /usr/bin/env.  Returns the number
 * of scripts passed (0: path is no script); -ELOOP if there are more.
 */
int elffile__script_program(const char *path, char *buf, size_t n);

/*
 * Whether the path is that of a link-time stub, which no program ever runs:
 * .../devlib/... of newer toolkits, .../lib64/stub/... of older ones.
 */
bool elffile__is_stub_path(const char *path);

#endif /* ACLGUARD_ELFFILE_H */
