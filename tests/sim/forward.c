/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The thin library: every exported name as a few instructions that go on to
 * where the work is, as the real libacl_rt.so and the compatibility
 * libascendcl.so do.  Assembly, because the tail jump must be one at every
 * optimisation level, and because the first instruction of a function decides
 * what a uprobe on it costs.
 *
 *  SIM_TO_IMPL    go to aclrtXImpl, wherever the dynamic linker finds it
 *  SIM_TO_HIDDEN  go to aclrtXImpl in this very library
 *  SIM_TO_NEXT    go to aclrtX of libacl_rt.so, although this library has one, too
 *
 *  SIM_PROLOGUE=SIM_JMP    the jump alone (default)
 *               SIM_ENDBR  endbr64 / bti c first
 *               SIM_ENDBRPUSH  the same, and what SIM_PUSH has after it
 *               SIM_PUSH   push %rbp / stp x29, x30 first
 *               SIM_SUB    sub $8, %rsp / sub sp first
 *               SIM_NOP    nop first
 *               SIM_MOV    mov first
 *               SIM_CALL   a frame of its own and a call in place of the jump
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include "calls.h"
#include "support.h"

#define SIM_JMP 0
#define SIM_ENDBR 1
#define SIM_PUSH 2
#define SIM_SUB 3
#define SIM_NOP 4
#define SIM_MOV 5
#define SIM_CALL 6
#define SIM_ENDBRPUSH 7

#ifndef SIM_PROLOGUE
#define SIM_PROLOGUE SIM_JMP
#endif

#if defined(__x86_64__)

#if SIM_PROLOGUE == SIM_ENDBR
#define PROLOGUE "endbr64\n\t"
#elif SIM_PROLOGUE == SIM_ENDBRPUSH
#define PROLOGUE "endbr64\n\tpushq %rbp\n\tmovq %rsp, %rbp\n\tpopq %rbp\n\t"
#elif SIM_PROLOGUE == SIM_PUSH
#define PROLOGUE "pushq %rbp\n\tmovq %rsp, %rbp\n\tpopq %rbp\n\t"
#elif SIM_PROLOGUE == SIM_SUB
#define PROLOGUE "subq $8, %rsp\n\taddq $8, %rsp\n\t"
#elif SIM_PROLOGUE == SIM_NOP
#define PROLOGUE "nopl 0(%rax,%rax,1)\n\t"
#elif SIM_PROLOGUE == SIM_MOV
#define PROLOGUE "movq %rdi, %rax\n\t"
#else
#define PROLOGUE ""
#endif

#if SIM_PROLOGUE == SIM_CALL
/* Eight words of stack arguments go along: the widest call needs as many. */
#define ENTER(go)                                                           \
	"pushq %rbp\n\t.cfi_def_cfa_offset 16\n\t.cfi_offset %rbp, -16\n\t" \
	"movq %rsp, %rbp\n\t.cfi_def_cfa_register %rbp\n\t"                 \
	"pushq 72(%rbp)\n\tpushq 64(%rbp)\n\tpushq 56(%rbp)\n\t"            \
	"pushq 48(%rbp)\n\tpushq 40(%rbp)\n\tpushq 32(%rbp)\n\t"            \
	"pushq 24(%rbp)\n\tpushq 16(%rbp)\n\t"                              \
	"call " go "\n\tleave\n\t.cfi_def_cfa %rsp, 8\n\tret\n\t"
#else
#define ENTER(go) PROLOGUE "jmp " go "\n\t"
#endif

#if defined(SIM_TO_IMPL)
#define GO(name) ENTER("*" #name "Impl@GOTPCREL(%rip)")
#elif defined(SIM_TO_HIDDEN)
#define GO(name) ENTER(#name "Impl")
#else
#define GO(name) ENTER("*sim_next_" #name "(%rip)")
#endif

#elif defined(__aarch64__)

#if SIM_PROLOGUE == SIM_ENDBR
#define PROLOGUE "hint #34\n\t"
#elif SIM_PROLOGUE == SIM_ENDBRPUSH
#define PROLOGUE "hint #34\n\tstp x29, x30, [sp, #-16]!\n\tldp x29, x30, [sp], #16\n\t"
#elif SIM_PROLOGUE == SIM_PUSH
#define PROLOGUE "stp x29, x30, [sp, #-16]!\n\tldp x29, x30, [sp], #16\n\t"
#elif SIM_PROLOGUE == SIM_SUB
#define PROLOGUE "sub sp, sp, #16\n\tadd sp, sp, #16\n\t"
#elif SIM_PROLOGUE == SIM_NOP
#define PROLOGUE "nop\n\t"
#elif SIM_PROLOGUE == SIM_MOV
#define PROLOGUE "mov x16, x0\n\t"
#else
#define PROLOGUE ""
#endif

#if SIM_PROLOGUE == SIM_CALL
#define ENTER(load)                                                      \
	"stp x29, x30, [sp, #-16]!\n\t.cfi_def_cfa_offset 16\n\t"        \
	".cfi_offset x29, -16\n\t.cfi_offset x30, -8\n\t"                \
	"mov x29, sp\n\t.cfi_def_cfa_register x29\n\t"                   \
	"ldp x16, x17, [x29, #16]\n\tstp x16, x17, [sp, #-16]!\n\t" load \
	"blr x16\n\tmov sp, x29\n\tldp x29, x30, [sp], #16\n\t"          \
	".cfi_def_cfa sp, 0\n\t.cfi_restore x29\n\t.cfi_restore x30\n\tret\n\t"
#else
#define ENTER(load) PROLOGUE load "br x16\n\t"
#endif

#if defined(SIM_TO_IMPL)
#define GO(name)                                 \
	ENTER("adrp x16, :got:" #name "Impl\n\t" \
	      "ldr x16, [x16, :got_lo12:" #name "Impl]\n\t")
#elif defined(SIM_TO_HIDDEN)
#define GO(name)                            \
	ENTER("adrp x16, " #name "Impl\n\t" \
	      "add x16, x16, :lo12:" #name "Impl\n\t")
#else
#define GO(name)                                 \
	ENTER("adrp x16, sim_next_" #name "\n\t" \
	      "ldr x16, [x16, :lo12:sim_next_" #name "]\n\t")
#endif

#else
#error "no forwarders for this architecture"
#endif

#define FORWARD(name)                                                                            \
	__asm__(".pushsection .text\n\t.globl " #name "\n\t.type " #name ", %function\n\t"       \
		".balign 16\n" #name                                                             \
		":\n\t.cfi_startproc\n\t" GO(name) ".cfi_endproc\n\t.size " #name ", . - " #name \
						   "\n\t.popsection");
#define FORWARD_TRACED(name, role, args) FORWARD(name)

#ifdef SIM_TO_NEXT

/*
 * This library comes first in the search, so its own names cannot be bound to
 * the other library's by the dynamic linker: look them up in that one.
 */
#define NEXT(name) __attribute__((visibility("hidden"))) void *sim_next_##name;
#define NEXT_TRACED(name, role, args) NEXT(name)
ACL_CALLS(NEXT_TRACED)
SIM_SUPPORT(NEXT)
NEXT(aclsimCalls)
NEXT(aclsimHook)

static void *next__find(void *lib, const char *name)
{
	void *sym = dlsym(lib, name);

	if (!sym) {
		fprintf(stderr, "aclsim: %s: %s\n", name, dlerror());
		abort();
	}
	return sym;
}

__attribute__((constructor)) static void next__bind(void)
{
	void *lib = dlopen("libacl_rt.so", RTLD_NOW | RTLD_NOLOAD);

	if (!lib) {
		fprintf(stderr, "aclsim: %s\n", dlerror());
		abort();
	}
#define BIND(name) sim_next_##name = next__find(lib, #name);
#define BIND_TRACED(name, role, args) BIND(name)
	ACL_CALLS(BIND_TRACED)
	SIM_SUPPORT(BIND)
	BIND(aclsimCalls)
	BIND(aclsimHook)
}

#endif

ACL_CALLS(FORWARD_TRACED)
SIM_SUPPORT(FORWARD)
FORWARD(aclsimCalls)
FORWARD(aclsimHook)
