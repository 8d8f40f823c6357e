# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# The matrix of real kernels, each in a machine of its own; see kernels.py.
#
# kernel-programs are what such a machine gets of this architecture's; kernels.py makes
# them for the other one, too.  KERNELS picks kernels by name or pattern, PARALLEL is how
# many machines run at a time.  The kernels are kept in $(CACHE)/kernels.

KERNELS		?= *
PARALLEL	?= 2
KERNEL_OUT	:= $(BUILD)/kernels

$(KERNEL_OUT)/features $(KERNEL_OUT)/driver: $(KERNEL_OUT)/%: tests/kernels/%.c | $(SYSROOT_MADE)
	$(call msg,CC,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(SYSROOT_FLAGS) $(CPPFLAGS) $(CFLAGS) $(LDFLAGS) $< -o $@ \
		$(if $(filter features,$*),-static)

.PHONY: kernel-programs check-kernels
kernel-programs: $(if $(CROSS),static,all) $(SIM_OUT)/mono/libascendcl.so \
	$(foreach s,push endbrpush sub jmp,$(SIM_OUT)/mono-$s/libascendcl.so) $(KERNEL_OUT)/features \
	$(KERNEL_OUT)/driver $(SCENARIOS:%=$(SCENARIO_OUT)/ascendcl/%)

check-kernels:		## try real kernels in machines of their own (KERNELS= picks some)
	$(Q)sh tests/deps.sh $$([ "$$(id -u)" = 0 ] || echo build test)
	$(Q)$(TEST_ENV) CACHE='$(abspath $(CACHE))' PARALLEL='$(PARALLEL)' \
		$(PYTHON) tests/kernels/kernels.py $(foreach k,$(KERNELS),'$k')
