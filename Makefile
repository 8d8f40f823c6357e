# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Builds, tests and installs aclguard.  `make help` lists the targets and the
# variables.  Everything that is made goes under $(BUILD).

BUILD	?= build
PREFIX	?= /usr/local
VERSION	?= 0.1.0

CLANG	   ?= clang
LLVM_STRIP ?= llvm-strip
PKG_CONFIG ?= pkg-config
PYTHON	   ?= python3
# bpftool is in sbin, which the PATH of an ordinary user lacks.
BPFTOOL	   ?= $(or $(shell PATH="$$PATH:/usr/sbin:/sbin"; command -v bpftool),bpftool)

# The names that libbpf's bpf_tracing.h knows architectures by.  The compiler
# is asked first so that a cross compiler needs no second setting.
MACHINE	  := $(shell $(CC) -dumpmachine 2>/dev/null || uname -m)
ARCH	  ?= $(patsubst aarch64,arm64,$(patsubst x86_64,x86,$(firstword $(subst -, ,$(MACHINE)))))
MULTIARCH := $(shell $(CC) -print-multiarch 2>/dev/null)

ifeq ($(V),1)
Q   =
msg =
else
Q   = @
msg = @printf '  %-8s %s\n' '$(1)' '$(patsubst $(abspath $(BUILD))/%,%,$(2))';
MAKEFLAGS += --no-print-directory
endif

# WERROR= (empty) builds on with warnings of a compiler newer than this file.
WERROR	 ?= -Werror
CFLAGS	 ?= -O2 -g
override CFLAGS += -std=gnu11 -Wall -Wextra $(WERROR) -fno-omit-frame-pointer

# SAN=1: the user-space code with the sanitizers, in a folder of its own.  The
# BPF object is the same, and the simulated runtime stays as a target would be.
ifeq ($(SAN),1)
O	  := $(BUILD)/san
SAN_FLAGS := -fsanitize=address,undefined -fno-sanitize-recover=all
else
O	  := $(BUILD)
endif

pc_libs = $(or $(shell $(PKG_CONFIG) --libs $(1) 2>/dev/null),$(2))

APP_CPPFLAGS = -Isrc -Iinclude -I$(BUILD) -DACLGUARD_VERSION=\"$(VERSION)\" \
	       $(shell $(PKG_CONFIG) --cflags json-c libelf 2>/dev/null)
# libbpf is linked statically: the program then runs on what a node has.
APP_LIBS     = -l:libbpf.a -Wl,--as-needed \
	       $(call pc_libs,libdw libelf zlib,-ldw -lelf -lz) \
	       $(call pc_libs,json-c,-ljson-c) \
	       $(call pc_libs,libcap-ng,-lcap-ng) \
	       $(call pc_libs,libseccomp,-lseccomp) -pthread
APP_CC	     = $(CC) $(CPPFLAGS) $(APP_CPPFLAGS) $(CFLAGS) $(SAN_FLAGS) -pthread
APP_LD	     = $(CC) $(CFLAGS) $(SAN_FLAGS) $(LDFLAGS)

# -mcpu=v2: the oldest supported kernel, 5.10, has no atomics that fetch.
BPF_CC	     = $(CLANG) -g -O2 -Wall $(WERROR) -target bpf -mcpu=v2 -D__TARGET_ARCH_$(ARCH) \
	       -Iinclude -Ibpf $(shell $(PKG_CONFIG) --cflags libbpf 2>/dev/null) \
	       $(if $(MULTIARCH),-I/usr/include/$(MULTIARCH))

BPF_OBJ	:= $(BUILD)/aclguard.bpf.o
SKEL	:= $(BUILD)/aclguard.skel.h
APP	:= $(O)/aclguard
LIB	:= $(O)/libaclguard.a
OBJS	:= $(patsubst src/%.c,$(O)/src/%.o,$(wildcard src/*.c))

# One program per test_*.c; what else lies beside them is linked into each.
UNIT_TESTS   := $(patsubst tests/unit/%.c,$(O)/unit/%,$(wildcard tests/unit/test_*.c))
UNIT_HELPERS := $(patsubst tests/unit/%.c,$(O)/unit/%.o,\
		$(filter-out tests/unit/test_%,$(wildcard tests/unit/*.c)))

.DEFAULT_GOAL := all
.DELETE_ON_ERROR:
.SECONDARY:
.PHONY: all unit
all: $(APP)		## build aclguard (default)
unit: $(UNIT_TESTS)	## build the unit tests

# The simulated runtime and the programs that use it.
-include tests/sim/sim.mk tests/scenarios/scenarios.mk

# --- BPF --------------------------------------------------------------------

$(BPF_OBJ): bpf/aclguard.bpf.c
	$(call msg,BPF,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(BPF_CC) -MMD -MP -MF $(@:.o=.d) -MT $@ -c $< -o $@
	$(Q)$(LLVM_STRIP) -g $@

$(SKEL): $(BPF_OBJ)
	$(call msg,SKEL,$@)
	$(Q)$(BPFTOOL) gen skeleton $< > $@

# --- the program ------------------------------------------------------------

$(O)/src/%.o: src/%.c | $(SKEL)
	$(call msg,CC,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(APP_CC) -MMD -MP -c $< -o $@

$(LIB): $(filter-out $(O)/src/main.o,$(OBJS))
	$(call msg,AR,$@)
	$(Q)mkdir -p $(@D)
	$(Q)rm -f $@ && $(AR) rcs $@ $^

$(APP): $(OBJS)
	$(call msg,LINK,$@)
	$(Q)$(APP_LD) $^ $(APP_LIBS) -o $@

# --- unit tests -------------------------------------------------------------

$(O)/unit/%.o: tests/unit/%.c | $(SKEL)
	$(call msg,CC,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(APP_CC) -Itests/unit -MMD -MP -c $< -o $@

$(UNIT_TESTS): %: %.o $(UNIT_HELPERS) $(LIB)
	$(call msg,LINK,$@)
	$(Q)$(APP_LD) $^ -lcmocka $(APP_LIBS) -o $@

-include $(wildcard $(BUILD)/*.d $(O)/src/*.d $(O)/unit/*.d)

.PHONY: clean
clean:			## remove everything that was built
	$(call msg,CLEAN,$(BUILD))
	$(Q)rm -rf $(BUILD)
