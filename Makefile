# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Builds, tests and installs aclguard.  `make help` lists the targets and the
# variables.  Everything that is made goes under $(BUILD).

BUILD	?= build
# Objects and the dependency files know a file by one name only: a relative one.
override BUILD := $(patsubst $(CURDIR)/%,%,$(abspath $(BUILD)))
PREFIX	?= /usr/local
VERSION	?= 0.1.0

CLANG	   ?= clang
LLVM_STRIP ?= llvm-strip
PKG_CONFIG ?= pkg-config
PYTHON	   ?= python3
# bpftool is in sbin, which the PATH of an ordinary user lacks.
BPFTOOL	   ?= $(or $(shell PATH="$$PATH:/usr/sbin:/sbin"; command -v bpftool),bpftool)

# The machine to build for: ARCH, by anybody's name of it, or else what the
# compiler builds for.  If it is not this one, everything goes into a folder of
# its own, and a compiler of Debian's is taken unless CC names one.
HOST_CPU  := $(shell uname -m)
CPU	  := $(patsubst arm64,aarch64,$(patsubst amd64,x86_64,$(patsubst x86,x86_64,$(ARCH))))
ifneq ($(filter-out $(HOST_CPU),$(CPU)),)
ifeq ($(origin CC),default)
CC	  := $(CPU)-linux-gnu-gcc
CROSS_GROUP = cross-$(DEB_ARCH)
endif
ifeq ($(origin AR),default)
AR	  := $(CPU)-linux-gnu-ar
endif
endif
CC_CPU	  := $(firstword $(subst -, ,$(shell $(CC) -dumpmachine 2>/dev/null)) $(CPU) $(HOST_CPU))
CPU	  := $(or $(CPU),$(CC_CPU))
ifneq ($(CPU),$(CC_CPU))
$(error ARCH=$(ARCH), but CC=$(CC) builds for $(CC_CPU): name another compiler, or none)
endif
ifeq ($(filter x86_64 aarch64,$(CPU)),)
$(error aclguard is for x86_64 and aarch64, alias amd64 and arm64, not for $(CPU))
endif
# By the names of Debian and of libbpf's bpf_tracing.h.
DEB_ARCH  := $(patsubst aarch64,arm64,$(patsubst x86_64,amd64,$(CPU)))
BPF_ARCH  := $(patsubst amd64,x86,$(DEB_ARCH))

TOP	  := $(BUILD)
CROSS	  := $(filter-out $(HOST_CPU),$(CPU))
ifneq ($(CROSS),)
TOP	  := $(BUILD:%/$(DEB_ARCH)=%)
override BUILD := $(TOP)/$(DEB_ARCH)
ifneq ($(filter check check-packages check-unit check-model check-fleet check-san soak bench demo fuzz lint,$(MAKECMDGOALS)),)
$(error programs for $(CPU) do not run here: no ARCH with $(MAKECMDGOALS))
endif
endif

# Libraries of another machine, and complete static ones, come from a sysroot, which
# is made of Debian's packages unless SYSROOT names another (empty: the system's).
CACHE	  ?= $(TOP)/cache
ifneq ($(CROSS)$(filter 1,$(STATIC)),)
ifeq ($(origin SYSROOT),undefined)
SYSROOT	  := $(abspath $(TOP))/sysroot-$(DEB_ARCH)
SYSROOT_MADE := $(SYSROOT)/.made
endif
endif
ifneq ($(SYSROOT),)
SYSROOT_FLAGS := --sysroot=$(SYSROOT)
override PKG_CONFIG := PKG_CONFIG_PATH= PKG_CONFIG_SYSROOT_DIR=$(SYSROOT) \
	  PKG_CONFIG_LIBDIR=$(SYSROOT)/usr/lib/$(CPU)-linux-gnu/pkgconfig:$(SYSROOT)/usr/lib64/pkgconfig:$(SYSROOT)/usr/share/pkgconfig \
	  $(PKG_CONFIG)
endif

# Where <asm/types.h> is, which clang -target bpf does not look for by itself.  Not
# every clang knows -print-multiarch.
ifneq ($(SYSROOT),)
ASM_DIR	  := $(SYSROOT)/usr/include/$(CPU)-linux-gnu $(SYSROOT)/usr/include
else
ASM_DIR	  := $(patsubst %/asm/types.h,%,$(firstword $(wildcard \
	     /usr/include/$(CPU)-linux-gnu*/asm/types.h /usr/$(CPU)-linux-gnu*/include/asm/types.h)))
endif

ifeq ($(V),1)
Q   =
msg =
else
Q   = @
msg = @printf '  %-8s %s\n' '$(1)' '$(patsubst $(BUILD)/%,%,$(2))';
MAKEFLAGS += --no-print-directory
endif

# WERROR= (empty) builds on with warnings of a compiler newer than this file.
WERROR	 ?= -Werror
CFLAGS	 ?= -O2 -g
OUR_CFLAGS := -std=gnu11 -Wall -Wextra $(WERROR) -fno-omit-frame-pointer
# Filtered first, so that a make started by this one arrives at the same flags.
override CFLAGS := $(filter-out $(OUR_CFLAGS),$(CFLAGS)) $(OUR_CFLAGS)

# SAN=1: the user-space code with the sanitizers, in a folder of its own.  The
# BPF object is the same, and the simulated runtime stays as a target would be.
ifeq ($(SAN),1)
O	  := $(BUILD)/san
SAN_FLAGS := -fsanitize=address,undefined -fno-sanitize-recover=all
else ifeq ($(STATIC),1)
# What cannot be static is left out, and named by --version.
O	  := $(BUILD)/static
STATIC_WITHOUT = debuginfod$(if $(findstring zstd,$(call pc_libs,libdw)),,, zstd-compressed debug info)
STATIC_FLAGS = -fPIE -D'ACLGUARD_STATIC="$(STATIC_WITHOUT)"'
STATIC_LDFLAGS := -static-pie
else
O	  := $(BUILD)
endif

# src/static_pkcs11.c instead
without_pkcs11 = $(if $(STATIC_LDFLAGS),$(filter-out -lp11-kit,$(1)),$(1))
pc_libs = $(or $(shell $(PKG_CONFIG) $(if $(STATIC_LDFLAGS),--static) --libs $(1) 2>/dev/null),$(2))

APP_CPPFLAGS = -Isrc -Iinclude -I$(BUILD) -DACLGUARD_VERSION=\"$(VERSION)\" \
	       $(shell $(PKG_CONFIG) --cflags json-c libelf 2>/dev/null)
# libbpf is linked statically: the program then runs on what a node has.
APP_LIBS     = -l:libbpf.a -Wl,--as-needed \
	       $(call pc_libs,libdw libelf zlib,-ldw -lelf -lz) \
	       $(call pc_libs,json-c,-ljson-c) \
	       $(call pc_libs,libcap-ng,-lcap-ng) \
	       $(call pc_libs,libseccomp,-lseccomp) \
	       $(call without_pkcs11,$(call pc_libs,libmicrohttpd gnutls,-lmicrohttpd -lgnutls)) \
	       $(call pc_libs,yaml-0.1,-lyaml) \
	       $(call pc_libs,libcrypt,-lcrypt) -pthread -ldl
APP_CC	     = $(CC) $(SYSROOT_FLAGS) $(CPPFLAGS) $(APP_CPPFLAGS) $(CFLAGS) $(SAN_FLAGS) \
	       $(STATIC_FLAGS) -pthread
APP_LD	     = $(CC) $(SYSROOT_FLAGS) $(CFLAGS) $(SAN_FLAGS) $(STATIC_LDFLAGS) $(LDFLAGS)

# -mcpu=v2: the oldest supported kernel, 5.10, has no atomics that fetch.
BPF_CC	     = $(CLANG) -g -O2 -Wall $(WERROR) -target bpf -mcpu=v2 -D__TARGET_ARCH_$(BPF_ARCH) \
	       -Iinclude -Ibpf $(shell $(PKG_CONFIG) --cflags libbpf 2>/dev/null) \
	       $(addprefix -I,$(ASM_DIR))

BPF_OBJ	:= $(BUILD)/aclguard.bpf.o
SKEL	:= $(BUILD)/aclguard.skel.h
APP	:= $(O)/aclguard
STATIC_APP := $(BUILD)/static/aclguard
LIB	:= $(O)/libaclguard.a
OBJS	:= $(patsubst src/%.c,$(O)/src/%.o,$(wildcard src/*.c))

# One program per test_*.c; what else lies beside them is linked into each.
UNIT_TESTS   := $(patsubst tests/unit/%.c,$(O)/unit/%,$(wildcard tests/unit/test_*.c))
UNIT_HELPERS := $(patsubst tests/unit/%.c,$(O)/unit/%.o,\
		$(filter-out tests/unit/test_%,$(wildcard tests/unit/*.c)))

.DEFAULT_GOAL := all
.DELETE_ON_ERROR:
.SECONDARY:
.PHONY: all unit static
all: $(APP)		## build aclguard (default)
unit: $(UNIT_TESTS)	## build the unit tests
static: $(STATIC_APP)	## build one executable that needs no library, $(BUILD)/static/aclguard

# The simulated runtime and the programs that use it.
-include tests/sim/sim.mk tests/scenarios/scenarios.mk tests/kernels/kernels.mk
SIM_TARGETS := $(if $(SIM_LIBS),sim) $(if $(SCENARIOS),scenarios)

# Objects are made anew when the compiler or its flags change.
FLAGS := $(O)/.flags
$(FLAGS): FORCE $(SYSROOT_MADE)
	$(Q)mkdir -p $(@D)
	$(Q)printf '%s\n' '$(APP_CC)' '$(BPF_CC)' | cmp -s - $@ || \
		printf '%s\n' '$(APP_CC)' '$(BPF_CC)' > $@
FORCE:
.PHONY: FORCE

# Root gets a compiler for it, too, and what else is missing.
ifneq ($(SYSROOT_MADE),)
$(SYSROOT_MADE): tests/sysroot.sh tests/apt.sh tests/deps.sh
	$(call msg,SYSROOT,$(@D))
	$(if $(CROSS_GROUP),$(Q)sh tests/deps.sh $$([ "$$(id -u)" != 0 ] || echo build) $(CROSS_GROUP))
	$(Q)sh tests/sysroot.sh $(DEB_ARCH) $(@D) $(CACHE)
	$(Q)touch $@
endif

# --- BPF --------------------------------------------------------------------

$(BPF_OBJ): bpf/aclguard.bpf.c | $(SYSROOT_MADE)
	$(call msg,BPF,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(BPF_CC) -MMD -MP -MF $(@:.o=.d) -MT $@ -c $< -o $@
	$(Q)$(LLVM_STRIP) -g $@

# What bpftool generates is not ours to lint.
$(SKEL): $(BPF_OBJ)
	$(call msg,SKEL,$@)
	$(Q)echo '/* NOLINTBEGIN */' > $@ && $(BPFTOOL) gen skeleton $< >> $@ && \
		echo '/* NOLINTEND */' >> $@

# --- the program ------------------------------------------------------------

$(O)/src/%.o: src/%.c $(FLAGS) | $(SKEL)
	$(call msg,CC,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(APP_CC) -MMD -MP -c $< -o $@

$(LIB): $(filter-out $(O)/src/main.o,$(OBJS))
	$(call msg,AR,$@)
	$(Q)mkdir -p $(@D)
	$(Q)rm -f $@ && $(AR) rcs $@ $^

# Said of parts of libcap-ng and GnuTLS that we do not use.
STATIC_SAID = in function .(capng_change_id|_gnutls_find_config_path)|Using .(initgroups|getpwuid|getpwuid_r). in statically

$(APP): $(OBJS)
	$(call msg,LINK,$@)
	$(Q)$(APP_LD) $^ $(APP_LIBS) -o $@ $(if $(STATIC_LDFLAGS),2> $@.said || status=$$?; \
		grep -vE '$(STATIC_SAID)' $@.said >&2; rm $@.said; exit $${status:-0})

# Its make makes this in a build of its own; what both would make comes first.
ifneq ($(STATIC_APP),$(APP))
$(STATIC_APP): FORCE | $(SYSROOT_MADE) $(SKEL)
	$(Q)$(MAKE) STATIC=1 $@
endif

# --- unit tests -------------------------------------------------------------

$(O)/unit/%.o: tests/unit/%.c $(FLAGS) | $(SKEL)
	$(call msg,CC,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(APP_CC) -Itests/unit -MMD -MP -c $< -o $@

$(UNIT_TESTS): %: %.o $(UNIT_HELPERS) $(LIB)
	$(call msg,LINK,$@)
	$(Q)$(APP_LD) $^ -lcmocka $(APP_LIBS) -o $@

# Programs that integration tests drive, linked with the library.
TEST_SERVERS := $(O)/integration/web_server
$(TEST_SERVERS): $(O)/integration/%: tests/integration/%.c $(LIB) $(FLAGS)
	$(call msg,LINK,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(APP_CC) -MMD -MP $< $(LIB) $(STATIC_LDFLAGS) $(LDFLAGS) $(APP_LIBS) \
		$(if $(STATIC_LDFLAGS),$(LIB)) -o $@

-include $(wildcard $(BUILD)/*.d $(O)/src/*.d $(O)/unit/*.d $(O)/integration/*.d)

# --- tests ------------------------------------------------------------------

# Each is a program that prints TAP; tests/tap.py runs them and sums up.
TAP	     = $(TEST_ENV) $(PYTHON) tests/tap.py --timeout $(TEST_TIMEOUT) --summary $(BUILD)/summary
TEST_TIMEOUT ?= 300
TEST_ENV     = BUILD='$(abspath $(BUILD))' ACLGUARD='$(abspath $(APP))' CC='$(CC)' MAKEFLAGS= \
	       UBSAN_OPTIONS=print_stacktrace=1:$$UBSAN_OPTIONS

TESTS_UNIT  := $(sort $(UNIT_TESTS) $(UNIT_TESTS:$(O)/%=$(BUILD)/san/%))
# Whatever is executable in tests/integration, and what is named like a test.
TESTS_OTHER := $(sort $(wildcard tests/*/test_*.sh tests/*/test_*.py) \
		 $(shell find tests/integration -maxdepth 1 -type f \
			\( -perm -u+x -o -name 'test_*' \) 2>/dev/null))

.PHONY: deps check check-unit check-model check-fleet soak check-san check-objects check-programs bench demo
deps:			## install what is missing of tools and libraries (Debian, root)
	$(Q)sh tests/deps.sh

# In a make of its own: what deps installs changes what the variables above find.
check:			## build everything and run all tests but the slow half of lint
	$(Q)sh tests/deps.sh $$([ "$$(id -u)" = 0 ] || echo build test)	# without lint it skips
	$(Q)$(MAKE) check-programs || { rm -f $(BUILD)/summary; \
		echo; echo 'FAILED the build'; echo '0 passed, 1 failed'; exit 1; }
	$(Q)$(TAP) $(TESTS_UNIT) $(TESTS_OTHER)

check-objects: all unit $(TEST_SERVERS) $(SIM_TARGETS) $(SIM_CHECKS)
check-programs: check-objects
	$(Q)$(MAKE) SAN=1 unit

check-unit: unit	## run the unit tests only
	$(Q)$(TAP) $(UNIT_TESTS)

check-model: all $(LIB) $(SIM_TARGETS)	## compare 100,000 random histories, and 1,000 real ones, with the reference model
	$(Q)MODEL_HISTORIES=$${MODEL_HISTORIES:-100000} REAL_HISTORIES=$${REAL_HISTORIES:-1000} \
		$(TAP) tests/model/test_model.py tests/model/test_real.py

soak: all $(SIM_TARGETS)	## watch processes that come and go, for SOAK_SECONDS (60) each (root)
	$(Q)SOAK_SECONDS=$${SOAK_SECONDS:-60} $(TAP) $(sort $(wildcard tests/soak/*.py))

# Needs a quiet machine: numbers are of all who use a runtime.
check-fleet: all $(SIM_TARGETS)	## what a fleet sees, by a real Prometheus and Alertmanager (root)
	$(Q)sh tests/deps.sh fleet
	$(Q)$(TAP) tests/fleet/fleet_check.py

check-san:		## run the unit tests under the address and undefined-behaviour sanitizers
	$(Q)$(MAKE) SAN=1 check-unit

bench: all $(SIM_TARGETS)	## run the benchmarks (root)
	$(Q)for bench in $$(find tests/bench -maxdepth 1 -type f -perm -u+x 2>/dev/null | sort); do \
		echo "== $$bench"; $(TEST_ENV) $$bench || exit; done

demo:			## show a report: the fault this tool is for, on the simulated runtime (root)
	$(Q)sh tests/deps.sh build
	$(Q)$(MAKE) -s all $(SIM_TARGETS)
	$(Q)[ "$$(id -u)" = 0 ] || { \
		echo "make demo: probes need root; run 'sudo make demo'" >&2; exit 1; }
	$(Q)LD_LIBRARY_PATH='$(abspath $(BUILD)/sim/mono)' ACLSIM_RACE=certain \
		$(APP) run -- $(BUILD)/scenarios/ascendcl/pcd_order 1 || \
		echo "(the program ended with exit status $$?, which aclguard passes on)"

# --- fuzzing ----------------------------------------------------------------

# Each tests/fuzz/fuzz_X.c with clang's libFuzzer, on a corpus that is kept
# between runs; what crashes it is left in the corpus' folder.
FUZZERS	  := $(patsubst tests/fuzz/%.c,%,$(wildcard tests/fuzz/fuzz_*.c))
FUZZ_TIME ?= 60
FUZZ_SRCS  = $(filter-out src/main.c src/run.c src/watch.c src/record.c src/session.c \
	     src/probes.c src/attach.c src/discover.c src/scope.c src/load.c src/kernel.c src/alive.c \
	     src/sweep.c src/backlog.c src/sampler.c src/canary.c src/counters.c src/options%.c src/enforcer.c \
	     src/minder.c src/control%.c src/doctor%.c src/export%.c src/events.c src/textfile.c \
	     src/modules.c src/start.c src/usage.c,$(wildcard src/*.c))

$(BUILD)/fuzz/%: tests/fuzz/%.c $(wildcard src/*.[ch] include/*.h include/machine/*.h) | $(SKEL)
	$(call msg,FUZZ,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CLANG) $(APP_CPPFLAGS) -std=gnu11 -g -O1 -fsanitize=fuzzer,address,undefined \
		-fno-sanitize-recover=all $< $(FUZZ_SRCS) -o $@ $(APP_LIBS)

.PHONY: fuzz
fuzz: $(addprefix $(BUILD)/fuzz/,$(FUZZERS)) sim	## run each fuzzer for FUZZ_TIME seconds
	$(Q)$(PYTHON) tests/fuzz/make_seeds.py $(BUILD)/fuzz/seeds $(BUILD)/sim/mono/libascendcl.so
	$(Q)for f in $(FUZZERS); do \
		mkdir -p $(BUILD)/fuzz/corpus/$$f; echo "== $$f"; \
		$(BUILD)/fuzz/$$f -max_total_time=$(FUZZ_TIME) -timeout=20 -print_final_stats=1 \
			-artifact_prefix=$(BUILD)/fuzz/corpus/$$f- -verbosity=0 \
			$(BUILD)/fuzz/corpus/$$f $$(d=$(BUILD)/fuzz/seeds/$${f#fuzz_}; \
				[ -d $$d ] && echo $$d) $$(d=tests/fuzz/seeds/$${f#fuzz_}; \
				[ -d $$d ] && echo $$d) || exit; done

# --- format and lint --------------------------------------------------------

C_FILES	= $(shell find src include bpf tests -name '*.[ch]' 2>/dev/null)
TIDY	= $(patsubst %.c,$(BUILD)/lint/%.tidy,$(wildcard src/*.c bpf/*.bpf.c))

.PHONY: format lint lint-format lint-cppcheck lint-tidy
format:			## lay out the C files (clang-format 14)
	clang-format -i $(C_FILES)

LINT_STEPS ?= format cppcheck tidy
lint: all		## check the layout, and run cppcheck and clang-tidy
	$(Q)LINT_STEPS='$(LINT_STEPS)' $(TAP) tests/build/test_lint.sh

lint-format:
	$(Q)status=0; for file in $(C_FILES); do \
		clang-format $$file | diff -u --label $$file --label "$$file (make format)" $$file - || \
			status=1; done; exit $$status

# Without what clang's analyzer and the compilers follow better.
lint-cppcheck:
	$(Q)mkdir -p $(BUILD)/lint/cppcheck
	$(Q)cppcheck --quiet --error-exitcode=1 --std=c11 --inline-suppr \
		--enable=warning,performance,portability \
		--suppress=memleak --suppress=uninitvar \
		--suppress=normalCheckLevelMaxBranches --cppcheck-build-dir=$(BUILD)/lint/cppcheck \
		--library=tests/build/cppcheck.cfg \
		-Iinclude -Isrc $(wildcard src tests/sim tests/scenarios)

# A file is looked at again when its object was made again.
lint-tidy: $(TIDY)
$(BUILD)/lint/src/%.tidy: src/%.c $(BUILD)/src/%.o .clang-tidy
	$(call msg,TIDY,$<)
	$(Q)mkdir -p $(@D)
	$(Q)clang-tidy --quiet $< -- -std=gnu11 $(CPPFLAGS) $(APP_CPPFLAGS) && touch $@
$(BUILD)/lint/bpf/%.bpf.tidy: bpf/%.bpf.c $(BUILD)/%.bpf.o .clang-tidy
	$(call msg,TIDY,$<)
	$(Q)mkdir -p $(@D)
	$(Q)clang-tidy --quiet $< -- $(filter-out $(CLANG),$(BPF_CC)) && touch $@

# Installation and packages.
include deploy/deploy.mk

.PHONY: clean help
clean:			## remove everything that was built
	$(call msg,CLEAN,$(BUILD))
	$(Q)rm -rf $(BUILD)

help:			## show this
	@echo 'Targets:'
	@sed -n 's/^\([a-z-]*\):.*[ \t]## \(.*\)/  \1\t\2/p' \
		$(filter %.mk Makefile,$(MAKEFILE_LIST)) | expand -t 16
	@echo 'Variables:'
	@echo '  V=1           show the commands'
	@echo '  ARCH=         the machine to build for, amd64 or arm64 (this one); another'
	@echo '                one goes into $$(BUILD)/$$(ARCH)'
	@echo '  STATIC=1      what make static sets, for install'
	@echo '  SYSROOT=      libraries for ARCH and static (made of packages); empty: the system'
	@echo '  CACHE=        where downloads are kept ($$(BUILD)/cache)'
	@echo '  SAN=1         build user space with sanitizers, in $$(BUILD)/san'
	@echo '  CC=, CLANG=   the compilers of user space and of the BPF programs'
	@echo '  BUILD=        where to build (build)'
	@echo '  WERROR=       do not stop at warnings'
	@echo '  PREFIX=, DESTDIR=   where to install (/usr/local)'
	@echo '  VERSION=, RELEASE=  of the program and its packages'
	@echo '  TEST_TIMEOUT= seconds a test program may take (300)'
	@echo '  SKIP_BPF=1    skip the tests that load BPF programs'
