# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Builds the simulated Ascend runtime, in each shape that the real one has:
#
#  $(BUILD)/sim/mono       libascendcl.so with everything in it (before CANN 8)
#  $(BUILD)/sim/split      libacl_rt.so, which jumps to libacl_rt_impl.so
#  $(BUILD)/sim/both       the same, and libascendcl.so, which jumps to libacl_rt.so
#  $(BUILD)/sim/both-call  the same, but libascendcl.so calls
#
# and, for what a uprobe costs on which first instruction, mono-X: public names
# that begin with instruction X and go on to a body in the same library (X of
# SIM_PROLOGUES, see forward.c).
#
# SIM_LIBS is the list of all of them, `sim` the target.  SIM_CFLAGS is added to
# CFLAGS, for instance SIM_CFLAGS=-fsanitize=thread or -fcf-protection=full.

SIM_DIR	      := tests/sim
SIM_OUT	      := $(BUILD)/sim
SIM_CPPFLAGS  := -I$(SIM_DIR)/include -I$(SIM_DIR) -Iinclude -D_GNU_SOURCE
SIM_PROLOGUES := jmp endbr endbrpush push sub nop mov call
SIM_SRCS      := $(filter-out $(SIM_DIR)/forward.c,$(wildcard $(SIM_DIR)/*.c))
SIM_OBJS      := $(patsubst $(SIM_DIR)/%.c,%.o,$(SIM_SRCS))
SIM_PUB	      := $(addprefix $(SIM_OUT)/obj/pub/,$(SIM_OBJS))
SIM_IMPL      := $(addprefix $(SIM_OUT)/obj/impl/,$(SIM_OBJS))
SIM_HIDDEN    := $(addprefix $(SIM_OUT)/obj/hidden/,$(SIM_OBJS))

SIM_LIBS := $(SIM_OUT)/mono/libascendcl.so \
	    $(foreach s,split both both-call,$(SIM_OUT)/$s/libacl_rt.so $(SIM_OUT)/$s/libacl_rt_impl.so) \
	    $(SIM_OUT)/both/libascendcl.so $(SIM_OUT)/both-call/libascendcl.so \
	    $(foreach p,$(SIM_PROLOGUES),$(SIM_OUT)/mono-$p/libascendcl.so)

.PHONY: sim
sim: $(SIM_LIBS)	## build the simulated runtime, in all its shapes

# -g so that a stack through it can be read; no LTO, which would inline the entries.
SIM_CC = $(CC) $(SYSROOT_FLAGS) $(CPPFLAGS) $(SIM_CPPFLAGS) $(CFLAGS) -std=gnu11 -fPIC -fvisibility=hidden \
	 -fno-omit-frame-pointer -fno-lto -pthread $(SIM_CFLAGS)
# nodelete: the streams' threads outlive a dlclose.
SIM_LD = $(CC) $(SYSROOT_FLAGS) $(CFLAGS) $(SIM_CFLAGS) -shared -pthread -fno-lto -Wl,-z,nodelete -Wl,-z,now \
	 $(LDFLAGS) -Wl,-soname,$(@F)

# The bodies, three times: under the public names, as aclrtXImpl, and as
# aclrtXImpl that cannot be seen from outside.
$(SIM_PUB): $(SIM_OUT)/obj/pub/%.o: $(SIM_DIR)/%.c
	$(call msg,CC,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(SIM_CC) -MMD -MP -c $< -o $@

$(SIM_IMPL): $(SIM_OUT)/obj/impl/%.o: $(SIM_DIR)/%.c
	$(call msg,CC,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(SIM_CC) -DSIM_IMPL -MMD -MP -c $< -o $@

$(SIM_HIDDEN): $(SIM_OUT)/obj/hidden/%.o: $(SIM_DIR)/%.c
	$(call msg,CC,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(SIM_CC) -DSIM_IMPL -DSIM_EXPORT= -MMD -MP -c $< -o $@

$(SIM_PUB) $(SIM_IMPL) $(SIM_HIDDEN) $(SIM_LIBS): | $(SYSROOT_MADE)
$(patsubst %,$(SIM_OUT)/obj/forward-%.o,impl next-jmp next-call $(SIM_PROLOGUES:%=hidden-%)): | $(SYSROOT_MADE)

sim_upper = $(shell printf '%s' '$(1)' | tr a-z A-Z)

$(SIM_OUT)/obj/forward-impl.o: $(SIM_DIR)/forward.c
	$(call msg,CC,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(SIM_CC) -DSIM_TO_IMPL -MMD -MP -c $< -o $@

$(SIM_OUT)/obj/forward-next-jmp.o $(SIM_OUT)/obj/forward-next-call.o: \
$(SIM_OUT)/obj/forward-next-%.o: $(SIM_DIR)/forward.c
	$(call msg,CC,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(SIM_CC) -DSIM_TO_NEXT -DSIM_PROLOGUE=SIM_$(call sim_upper,$*) -MMD -MP -c $< -o $@

$(SIM_PROLOGUES:%=$(SIM_OUT)/obj/forward-hidden-%.o): $(SIM_OUT)/obj/forward-hidden-%.o: $(SIM_DIR)/forward.c
	$(call msg,CC,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(SIM_CC) -DSIM_TO_HIDDEN -DSIM_PROLOGUE=SIM_$(call sim_upper,$*) -MMD -MP -c $< -o $@

$(SIM_OUT)/mono/libascendcl.so: $(SIM_PUB)
	$(call msg,LINK,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(SIM_LD) $^ -o $@

$(SIM_PROLOGUES:%=$(SIM_OUT)/mono-%/libascendcl.so): \
$(SIM_OUT)/mono-%/libascendcl.so: $(SIM_OUT)/obj/forward-hidden-%.o $(SIM_HIDDEN)
	$(call msg,LINK,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(SIM_LD) $^ -o $@

$(SIM_OUT)/%/libacl_rt_impl.so: $(SIM_IMPL)
	$(call msg,LINK,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(SIM_LD) $^ -o $@

$(SIM_OUT)/%/libacl_rt.so: $(SIM_OUT)/obj/forward-impl.o $(SIM_OUT)/%/libacl_rt_impl.so
	$(call msg,LINK,$@)
	$(Q)$(SIM_LD) $< -L$(@D) -lacl_rt_impl -o $@

$(SIM_OUT)/both/libascendcl.so: $(SIM_OUT)/obj/forward-next-jmp.o $(SIM_OUT)/both/libacl_rt.so
	$(call msg,LINK,$@)
	$(Q)$(SIM_LD) $< -L$(@D) -Wl,--no-as-needed -lacl_rt -Wl,-rpath-link,$(@D) -ldl -o $@

$(SIM_OUT)/both-call/libascendcl.so: $(SIM_OUT)/obj/forward-next-call.o \
				     $(SIM_OUT)/both-call/libacl_rt.so
	$(call msg,LINK,$@)
	$(Q)$(SIM_LD) $< -L$(@D) -Wl,--no-as-needed -lacl_rt -Wl,-rpath-link,$(@D) -ldl -o $@

-include $(wildcard $(SIM_OUT)/obj/*.d $(SIM_OUT)/obj/*/*.d)

# The runtime's own check, in every shape: `make sim-check`.
SIM_CHECKS := $(SIM_OUT)/check/ascendcl $(SIM_OUT)/check/acl_rt

$(SIM_OUT)/check/ascendcl: $(SIM_DIR)/check/sim_check.c $(SIM_OUT)/mono/libascendcl.so
	$(call msg,CC,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(SIM_CC) -MMD -MP -MF $@.d $< -o $@ $(LDFLAGS) -L$(SIM_OUT)/mono -lascendcl

$(SIM_OUT)/check/acl_rt: $(SIM_DIR)/check/sim_check.c $(SIM_OUT)/split/libacl_rt.so
	$(call msg,CC,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(SIM_CC) -MMD -MP -MF $@.d $< -o $@ $(LDFLAGS) -L$(SIM_OUT)/split \
		-Wl,-rpath-link,$(SIM_OUT)/split -lacl_rt

sim_check = $(Q)printf '  %-8s %s\n' SIM '$(2)' && \
	ACLSIM_RACE=certain LD_LIBRARY_PATH=$(SIM_OUT)/$(2) timeout 120 $(SIM_OUT)/check/$(1)

.PHONY: sim-check
sim-check: $(SIM_CHECKS) $(SIM_LIBS)	## check that the simulated runtime behaves
	$(call sim_check,ascendcl,mono)
	$(call sim_check,ascendcl,both)
	$(call sim_check,ascendcl,both-call)
	$(call sim_check,ascendcl,mono-call)
	$(call sim_check,acl_rt,split)
	$(call sim_check,acl_rt,both)

-include $(wildcard $(SIM_OUT)/check/*.d)
