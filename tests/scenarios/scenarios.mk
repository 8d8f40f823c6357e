# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Builds the scenario programs, each twice, by the library it names as needed:
#
#  $(BUILD)/scenarios/ascendcl/NAME  libascendcl.so: for sim/mono*, sim/both*
#  $(BUILD)/scenarios/acl_rt/NAME    libacl_rt.so: for sim/split, sim/both*
#
# There is no rpath: LD_LIBRARY_PATH says which shape of the runtime is meant.
# SCENARIOS is the list of names, SCENARIO_PROGRAMS that of the programs,
# `scenarios` the target.  SCENARIO_CFLAGS is added to CFLAGS.

SCENARIO_DIR  := tests/scenarios
SCENARIO_OUT  := $(BUILD)/scenarios
SCENARIOS     := $(patsubst $(SCENARIO_DIR)/%.c,%,$(wildcard $(SCENARIO_DIR)/*.c))
# Those that open the library themselves and must not have it linked.
SCENARIO_BARE := late_dlopen
SCENARIO_PROGRAMS := $(foreach s,$(SCENARIOS),$(SCENARIO_OUT)/ascendcl/$s $(SCENARIO_OUT)/acl_rt/$s)

.PHONY: scenarios
scenarios: $(SCENARIO_PROGRAMS)	## build the scenario programs

# Frames, and no jumps in place of calls: the tests compare stacks.
SCENARIO_CC = $(CC) $(SYSROOT_FLAGS) $(CPPFLAGS) -Itests/sim/include -Iinclude -D_GNU_SOURCE $(CFLAGS) \
	      -std=gnu11 -fno-omit-frame-pointer -fno-optimize-sibling-calls -fno-lto -pthread \
	      $(SIM_CFLAGS) $(SCENARIO_CFLAGS)

$(SCENARIOS:%=$(SCENARIO_OUT)/ascendcl/%): $(SCENARIO_OUT)/ascendcl/%: $(SCENARIO_DIR)/%.c | $(BUILD)/sim/mono/libascendcl.so
	$(call msg,CC,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(SCENARIO_CC) -MMD -MP -MF $@.d $< -o $@ $(LDFLAGS) -L$(BUILD)/sim/mono \
		$(if $(filter $*,$(SCENARIO_BARE)),,-lascendcl) -ldl

$(SCENARIOS:%=$(SCENARIO_OUT)/acl_rt/%): $(SCENARIO_OUT)/acl_rt/%: $(SCENARIO_DIR)/%.c | $(BUILD)/sim/split/libacl_rt.so
	$(call msg,CC,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(SCENARIO_CC) -MMD -MP -MF $@.d $< -o $@ $(LDFLAGS) -L$(BUILD)/sim/split \
		-Wl,-rpath-link,$(BUILD)/sim/split \
		$(if $(filter $*,$(SCENARIO_BARE)),,-lacl_rt) -ldl

-include $(wildcard $(SCENARIO_OUT)/*/*.d)
