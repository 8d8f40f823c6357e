/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Tables of names, made from the lists in calls.h and rules.h where those have
 * them.  Each has as many entries as its enum, which the compiler checks.
 */
#include "names.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "state.h"

#define UNKNOWN "unknown"
#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
#define CHECK_SIZE(table, max) _Static_assert(ARRAY_SIZE(table) == (max), #table " is incomplete")

static const struct {
	const char *name;
	const char *args;
	enum acl_role role;
} calls[] = {
#define ROW(name, role, args) { #name, args, ACL_R_##role },
	ACL_CALLS(ROW)
#undef ROW
};
CHECK_SIZE(calls, ACL_C_MAX);

struct words {
	const char *name;
	const char *words;
};

static const struct words rules[] = { [ACL_RULE_NONE] = { "none", "" },
#define ROW(id, name, headline) [ACL_RULE_##id] = { name, headline },
				      ACL_RULES(ROW)
#undef ROW
};
CHECK_SIZE(rules, ACL_RULE_MAX);

static const struct words levels[] = {
	[ACL_LEVEL_NOTE] = { "note", "" },
	[ACL_LEVEL_WARNING] = { "warning", "" },
	[ACL_LEVEL_ERROR] = { "error", "" },
};
CHECK_SIZE(levels, ACL_LEVEL_MAX);

static const struct words evidences[] = {
	[ACL_EV_SUSPECTED] = { "suspected", "the order may have been another" },
	[ACL_EV_CERTAIN] = { "certain", "the allocation and everything after it was seen" },
	[ACL_EV_CONFIRMED] = { "confirmed", "the runtime itself refused the call" },
};
CHECK_SIZE(evidences, ACL_EV_MAX);

static const struct words hazards[] = {
	[ACL_HZ_UNKNOWN] = { "unknown", "what it can do is not known" },
	[ACL_HZ_MECHANISM] = { "mechanism",
			       "by the runtime's source, the host side has not been told yet" },
	[ACL_HZ_DOCUMENTED] = { "documented", "the vendor's documentation forbids it" },
};
CHECK_SIZE(hazards, ACL_HZ_MAX);

static const struct words suspects[] = {
#define ROW(id, name, words) [ACL_S_##id] = { name, words },
	ACL_SUSPECTS(ROW)
#undef ROW
};
CHECK_SIZE(suspects, ACL_S_MAX);

static const struct words losses[] = {
#define ROW(id, name, words) [ACL_L_##id] = { name, words },
	ACL_LOSSES(ROW)
#undef ROW
};
CHECK_SIZE(losses, ACL_L_MAX);

static const struct words dirs[] = {
	[ACL_DIR_H2D] = { "host-to-device", "" },
	[ACL_DIR_D2H] = { "device-to-host", "" },
	[ACL_DIR_ANY] = { UNKNOWN, "" },
};
CHECK_SIZE(dirs, ACL_DIR_ANY + 1);

/*
 * From acl_base_rt.h and rt_error_codes.h of the open runtime: those that the
 * traced calls can plausibly return.  Sorted by code.
 */
static const struct {
	int32_t code;
	const char *name;
} errors[] = {
	{ 0, "ACL_SUCCESS" },
	{ 100000, "ACL_ERROR_INVALID_PARAM" },
	{ 100001, "ACL_ERROR_UNINITIALIZE" },
	{ 100002, "ACL_ERROR_REPEAT_INITIALIZE" },
	{ 100034, "ACL_ERROR_STREAM_NOT_SUBSCRIBE" },
	{ 100036, "ACL_ERROR_WAIT_CALLBACK_TIMEOUT" },
	{ 100037, "ACL_ERROR_REPEAT_FINALIZE" },
	{ 107000, "ACL_ERROR_RT_PARAM_INVALID" },
	{ 107001, "ACL_ERROR_RT_INVALID_DEVICEID" },
	{ 107002, "ACL_ERROR_RT_CONTEXT_NULL" },
	{ 107003, "ACL_ERROR_RT_STREAM_CONTEXT" },
	{ 107004, "ACL_ERROR_RT_MODEL_CONTEXT" },
	{ 107005, "ACL_ERROR_RT_STREAM_MODEL" },
	{ 107006, "ACL_ERROR_RT_EVENT_TIMESTAMP_INVALID" },
	{ 107007, "ACL_ERROR_RT_EVENT_TIMESTAMP_REVERSAL" },
	{ 107008, "ACL_ERROR_RT_ADDR_UNALIGNED" },
	{ 107011, "ACL_ERROR_RT_STREAM_SUBSCRIBE" },
	{ 107012, "ACL_ERROR_RT_THREAD_SUBSCRIBE" },
	{ 107015, "ACL_ERROR_RT_STREAM_NO_CB_REG" },
	{ 107016, "ACL_ERROR_RT_INVALID_MEMORY_TYPE" },
	{ 107017, "ACL_ERROR_RT_INVALID_HANDLE" },
	{ 107018, "ACL_ERROR_RT_INVALID_MALLOC_TYPE" },
	{ 107019, "ACL_ERROR_RT_WAIT_TIMEOUT" },
	{ 107020, "ACL_ERROR_RT_TASK_TIMEOUT" },
	{ 107022, "ACL_ERROR_RT_DEVICE_TASK_ABORT" },
	{ 107023, "ACL_ERROR_RT_STREAM_ABORT" },
	{ 107024, "ACL_ERROR_RT_CAPTURE_DEPENDENCY" },
	{ 107025, "ACL_ERROR_RT_STREAM_UNJOINED" },
	{ 107026, "ACL_ERROR_RT_MODEL_CAPTURED" },
	{ 107027, "ACL_ERROR_RT_STREAM_CAPTURED" },
	{ 107028, "ACL_ERROR_RT_EVENT_CAPTURED" },
	{ 107029, "ACL_ERROR_RT_STREAM_NOT_CAPTURED" },
	{ 107030, "ACL_ERROR_RT_CAPTURE_MODE_NOT_SUPPORT" },
	{ 107031, "ACL_ERROR_RT_STREAM_CAPTURE_IMPLICIT" },
	{ 107035, "ACL_ERROR_RT_TASK_ABORT_STOP" },
	{ 107036, "ACL_ERROR_RT_STREAM_CAPTURE_UNMATCHED" },
	{ 107038, "ACL_ERROR_RT_STREAM_CAPTURE_WRONG_THREAD" },
	{ 107041, "ACL_ERROR_RT_CAPTURE_MODE_BLOCK_ASYNC" },
	{ 200000, "ACL_ERROR_BAD_ALLOC" },
	{ 200001, "ACL_ERROR_API_NOT_SUPPORT" },
	{ 200002, "ACL_ERROR_INVALID_DEVICE" },
	{ 200003, "ACL_ERROR_MEMORY_ADDRESS_UNALIGNED" },
	{ 200004, "ACL_ERROR_RESOURCE_NOT_MATCH" },
	{ 200005, "ACL_ERROR_INVALID_RESOURCE_HANDLE" },
	{ 200006, "ACL_ERROR_FEATURE_UNSUPPORTED" },
	{ 207000, "ACL_ERROR_RT_FEATURE_NOT_SUPPORT" },
	{ 207001, "ACL_ERROR_RT_MEMORY_ALLOCATION" },
	{ 207002, "ACL_ERROR_RT_MEMORY_FREE" },
	{ 207003, "ACL_ERROR_RT_AICORE_OVER_FLOW" },
	{ 207004, "ACL_ERROR_RT_NO_DEVICE" },
	{ 207005, "ACL_ERROR_RT_RESOURCE_ALLOC_FAIL" },
	{ 207006, "ACL_ERROR_RT_NO_PERMISSION" },
	{ 207007, "ACL_ERROR_RT_NO_EVENT_RESOURCE" },
	{ 207008, "ACL_ERROR_RT_NO_STREAM_RESOURCE" },
	{ 207009, "ACL_ERROR_RT_NO_NOTIFY_RESOURCE" },
	{ 207010, "ACL_ERROR_RT_NO_MODEL_RESOURCE" },
	{ 207012, "ACL_ERROR_RT_OVER_LIMIT" },
	{ 207015, "ACL_ERROR_RT_REPEATED_INIT" },
	{ 207018, "ACL_ERROR_RT_DEVICE_OOM" },
	{ 207020, "ACL_ERROR_RT_TIMEOUT" },
	{ 300000, "ACL_ERROR_STORAGE_OVER_LIMIT" },
	{ 500000, "ACL_ERROR_INTERNAL_ERROR" },
	{ 500001, "ACL_ERROR_FAILURE" },
	{ 500003, "ACL_ERROR_RT_FAILURE" },
	{ 500004, "ACL_ERROR_DRV_FAILURE" },
	{ 507000, "ACL_ERROR_RT_INTERNAL_ERROR" },
	{ 507001, "ACL_ERROR_RT_TS_ERROR" },
	{ 507002, "ACL_ERROR_RT_STREAM_TASK_FULL" },
	{ 507003, "ACL_ERROR_RT_STREAM_TASK_EMPTY" },
	{ 507004, "ACL_ERROR_RT_STREAM_NOT_COMPLETE" },
	{ 507005, "ACL_ERROR_RT_END_OF_SEQUENCE" },
	{ 507006, "ACL_ERROR_RT_EVENT_NOT_COMPLETE" },
	{ 507007, "ACL_ERROR_RT_CONTEXT_RELEASE_ERROR" },
	{ 507008, "ACL_ERROR_RT_SOC_VERSION" },
	{ 507009, "ACL_ERROR_RT_TASK_TYPE_NOT_SUPPORT" },
	{ 507010, "ACL_ERROR_RT_LOST_HEARTBEAT" },
	{ 507011, "ACL_ERROR_RT_MODEL_EXECUTE" },
	{ 507012, "ACL_ERROR_RT_REPORT_TIMEOUT" },
	{ 507013, "ACL_ERROR_RT_SYS_DMA" },
	{ 507014, "ACL_ERROR_RT_AICORE_TIMEOUT" },
	{ 507015, "ACL_ERROR_RT_AICORE_EXCEPTION" },
	{ 507016, "ACL_ERROR_RT_AICORE_TRAP_EXCEPTION" },
	{ 507017, "ACL_ERROR_RT_AICPU_TIMEOUT" },
	{ 507018, "ACL_ERROR_RT_AICPU_EXCEPTION" },
	{ 507022, "ACL_ERROR_RT_IPC_ERROR" },
	{ 507023, "ACL_ERROR_RT_MODEL_ABORT_NORMAL" },
	{ 507031, "ACL_ERROR_RT_LABEL_CONTEXT" },
	{ 507033, "ACL_ERROR_RT_DEV_SETUP_ERROR" },
	{ 507034, "ACL_ERROR_RT_VECTOR_CORE_TIMEOUT" },
	{ 507035, "ACL_ERROR_RT_VECTOR_CORE_EXCEPTION" },
	{ 507036, "ACL_ERROR_RT_VECTOR_CORE_TRAP_EXCEPTION" },
	{ 507046, "ACL_ERROR_RT_STREAM_SYNC_TIMEOUT" },
	{ 507047, "ACL_ERROR_RT_EVENT_SYNC_TIMEOUT" },
	{ 507048, "ACL_ERROR_RT_FFTS_PLUS_TIMEOUT" },
	{ 507049, "ACL_ERROR_RT_FFTS_PLUS_EXCEPTION" },
	{ 507050, "ACL_ERROR_RT_FFTS_PLUS_TRAP_EXCEPTION" },
	{ 507051, "ACL_ERROR_RT_SEND_MSG" },
	{ 507052, "ACL_ERROR_RT_COPY_DATA" },
	{ 507053, "ACL_ERROR_RT_DEVICE_MEM_ERROR" },
	{ 507054, "ACL_ERROR_RT_HBM_MULTI_BIT_ECC_ERROR" },
	{ 507055, "ACL_ERROR_RT_SUSPECT_DEVICE_MEM_ERROR" },
	{ 507056, "ACL_ERROR_RT_LINK_ERROR" },
	{ 507057, "ACL_ERROR_RT_SUSPECT_REMOTE_ERROR" },
	{ 507899, "ACL_ERROR_RT_DRV_INTERNAL_ERROR" },
	{ 507900, "ACL_ERROR_RT_AICPU_INTERNAL_ERROR" },
	{ 507901, "ACL_ERROR_RT_SOCKET_CLOSE" },
	{ 507903, "ACL_ERROR_RT_STREAM_CAPTURE_INVALIDATED" },
	{ 507904, "ACL_ERROR_RT_COMM_OP_RETRY_FAIL" },
	{ 507910, "ACL_ERROR_HOST_MEMORY_ALREADY_REGISTERED" },
	{ 507911, "ACL_ERROR_HOST_MEMORY_NOT_REGISTERED" },
};

static const char *word(const struct words *table, size_t n, unsigned int i, bool words)
{
	if (i >= n || !table[i].name)
		return words ? "" : UNKNOWN;
	return words ? table[i].words : table[i].name;
}

#define NAME(table, i) word(table, ARRAY_SIZE(table), i, false)
#define WORDS(table, i) word(table, ARRAY_SIZE(table), i, true)

static int find(const struct words *table, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(table[i].name, name))
			return i;
	return -ENOENT;
}

const char *acl_call__name(unsigned int call)
{
	return call < ACL_C_MAX ? calls[call].name : UNKNOWN;
}

const char *acl_call__args(unsigned int call)
{
	return call < ACL_C_MAX ? calls[call].args : "";
}

enum acl_role acl_call__role(unsigned int call)
{
	return call < ACL_C_MAX ? calls[call].role : ACL_R_NONE;
}

int acl_call__find(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(calls); i++)
		if (!strcmp(calls[i].name, name))
			return i;
	return -ENOENT;
}

const char *acl_rule__name(unsigned int rule)
{
	return NAME(rules, rule);
}

const char *acl_rule__headline(unsigned int rule)
{
	return WORDS(rules, rule);
}

int acl_rule__find(const char *name)
{
	int rule = find(rules, ARRAY_SIZE(rules), name);

	return rule == ACL_RULE_NONE ? -ENOENT : rule;
}

const char *acl_level__name(unsigned int level)
{
	return NAME(levels, level);
}

int acl_level__find(const char *name)
{
	return find(levels, ARRAY_SIZE(levels), name);
}

const char *acl_evidence__name(unsigned int evidence)
{
	return NAME(evidences, evidence);
}

const char *acl_evidence__words(unsigned int evidence)
{
	return WORDS(evidences, evidence);
}

const char *acl_hazard__name(unsigned int hazard)
{
	return NAME(hazards, hazard);
}

const char *acl_hazard__words(unsigned int hazard)
{
	return WORDS(hazards, hazard);
}

const char *acl_suspect__name(unsigned int suspect)
{
	return NAME(suspects, suspect);
}

const char *acl_suspect__words(unsigned int suspect)
{
	return WORDS(suspects, suspect);
}

const char *acl_loss__name(unsigned int loss)
{
	return NAME(losses, loss);
}

const char *acl_loss__words(unsigned int loss)
{
	return WORDS(losses, loss);
}

const char *acl_dir__name(unsigned int dir)
{
	return NAME(dirs, dir);
}

const char *acl_error__name(int32_t code)
{
	size_t lo = 0, hi = ARRAY_SIZE(errors);

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (errors[mid].code == code)
			return errors[mid].name;
		if (errors[mid].code < code)
			lo = mid + 1;
		else
			hi = mid;
	}
	return NULL;
}

unsigned int acl_error__count(void)
{
	return ARRAY_SIZE(errors);
}
