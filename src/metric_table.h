/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Every metric that aclguard exports, in the order in which they are shown: the one
 * place for their names.  The code, `aclguard export --list-metrics`, the README's
 * table, the alerts and the dashboard follow from it.
 *
 * Base units; counters end in _total.  A program is its comm, never a pid; what is
 * beyond --max-series has "other" in place of the four labels of ACL_WHO.
 */
#ifndef ACLGUARD_METRIC_TABLE_H
#define ACLGUARD_METRIC_TABLE_H

/* The last three are spelled as npu-exporter spells them, so that series join. */
#define ACL_WHO "program,namespace,pod_name,container_name"

/* X(ID, "name", TYPE, "unit", "labels", "help") */
#define ACL_METRICS(X)                                                                             \
	X(VIOLATIONS, "aclguard_violations_total", COUNTER, "", "rule,level,evidence," ACL_WHO,    \
	  "Violations found and not suppressed, with the evidence there was at the verdict.")      \
	X(VIOLATION_LAST, "aclguard_last_violation_timestamp_seconds", GAUGE, "seconds",           \
	  "rule,level," ACL_WHO,                                                                   \
	  "When the newest of these violations was found, in Unix time: also right for the first " \
	  "of a series, which increase() cannot see.")                                             \
	X(CONFIRMED, "aclguard_violations_confirmed_total", COUNTER, "", "rule," ACL_WHO,          \
	  "Of the violations, releases that the runtime then refused.")                            \
	X(SUPPRESSED, "aclguard_violations_suppressed_total", COUNTER, "", "rule," ACL_WHO,        \
	  "Violations that a suppression matched; not among the others.")                          \
	X(LEAKED, "aclguard_leaked_objects_total", COUNTER, "", "kind," ACL_WHO,                   \
	  "Events and host buffers that were still alive when their process ended.")               \
	X(ACTIONS, "aclguard_enforcement_actions_total", COUNTER, "",                              \
	  "rule,action,outcome," ACL_WHO,                                                          \
	  "What was done to processes that violated a rule, and whether it was.")                  \
	X(CALLS, "aclguard_api_calls_total", COUNTER, "", "function",                              \
	  "Calls of the runtime that were seen.")                                                  \
	X(ERRORS, "aclguard_api_errors_total", COUNTER, "", "function,code",                       \
	  "Calls of the runtime that returned an error, by its name.")                             \
	X(LIVE_PROCESSES, "aclguard_live_processes", GAUGE, "", ACL_WHO,                           \
	  "Processes that have called the runtime and still run.")                                 \
	X(PROCESSES, "aclguard_processes_total", COUNTER, "", ACL_WHO,                             \
	  "Processes seen to call the runtime; one that executes another program counts anew.")    \
	X(LATE_PROCESSES, "aclguard_late_processes_total", COUNTER, "", ACL_WHO,                   \
	  "Of the processes, those that ran before they were watched; what they did before is "    \
	  "not known.")                                                                            \
	X(LIVE_EVENTS, "aclguard_live_events", GAUGE, "", ACL_WHO,                                 \
	  "Events that are not destroyed yet.")                                                    \
	X(EVENTS, "aclguard_events_total", COUNTER, "", ACL_WHO, "Events seen.")                   \
	X(LIVE_STREAMS, "aclguard_live_streams", GAUGE, "", ACL_WHO,                               \
	  "Streams that are not destroyed yet, default streams among them.")                       \
	X(STREAMS, "aclguard_streams_total", COUNTER, "", ACL_WHO, "Streams seen.")                \
	X(LIVE_BUFFERS, "aclguard_live_host_buffers", GAUGE, "", ACL_WHO,                          \
	  "Page-locked host buffers that are not released yet.")                                   \
	X(BUFFERS, "aclguard_host_buffers_total", COUNTER, "", ACL_WHO,                            \
	  "Page-locked host buffers seen.")                                                        \
	X(LIVE_BYTES, "aclguard_live_host_bytes", GAUGE, "bytes", ACL_WHO,                         \
	  "Size of the page-locked host buffers that are not released yet.")                       \
	X(BYTES, "aclguard_host_bytes_total", COUNTER, "bytes", ACL_WHO,                           \
	  "Size of all page-locked host buffers seen.")                                            \
	X(GAP, "aclguard_free_to_destroy_seconds", HISTOGRAM, "seconds", "",                       \
	  "Time from a release that was too early, and was reported, to the destroy of the event " \
	  "it should have waited for.")                                                            \
	X(POLL_AGE, "aclguard_poll_age_seconds", HISTOGRAM, "seconds", "",                         \
	  "Age, at a release that was too early, of the poll that it relied on.")                  \
	X(RELEASE_TIME, "aclguard_release_duration_seconds", HISTOGRAM, "seconds", "outcome",      \
	  "Time that a release took which was too early: the wait on the host side, if the "       \
	  "runtime waits, or until it refuses.")                                                   \
	X(REPORT_DELAY, "aclguard_report_delay_seconds", HISTOGRAM, "seconds", "",                 \
	  "Time from the entry of the violating call until its report was written.")               \
	X(ATTACHED_PROCESSES, "aclguard_attached_processes", GAUGE, "", "how",                     \
	  "Processes watched that have called the runtime, by the way of attaching.")              \
	X(ATTACHED_LIBRARIES, "aclguard_attached_libraries", GAUGE, "", "how",                     \
	  "Libraries of the runtime with probes in them, by the way of attaching.")                \
	X(LATE_ATTACHES, "aclguard_late_attaches_total", COUNTER, "", "",                          \
	  "Times that a library was probed after a process had mapped it.")                        \
	X(LATE_MAX, "aclguard_late_attach_max_seconds", GAUGE, "seconds", "",                      \
	  "The longest time that a process had a library before it was probed.")                   \
	X(LOST, "aclguard_lost_total", COUNTER, "", "cause",                                       \
	  "What was not seen or not kept, by cause; 0 for all means that nothing was lost.")       \
	X(FORGOTTEN, "aclguard_forgotten_total", COUNTER, "", "",                                  \
	  "Released buffers and destroyed events forgotten to make room, as in every long run.")   \
	X(MAP_ENTRIES, "aclguard_bpf_map_entries", GAUGE, "", "map",                               \
	  "Entries of the kernel's tables in use, as they were counted after the answer before.")  \
	X(MAP_CAPACITY, "aclguard_bpf_map_capacity", GAUGE, "", "map",                             \
	  "Entries that the kernel's tables take.")                                                \
	X(RING_USED, "aclguard_bpf_ring_used_bytes", GAUGE, "bytes", "ring",                       \
	  "Bytes that wait in the rings from the kernel.")                                         \
	X(RING_SIZE, "aclguard_bpf_ring_size_bytes", GAUGE, "bytes", "ring",                       \
	  "Size of the rings from the kernel.")                                                    \
	X(RUN_TIME, "aclguard_bpf_run_time_seconds_total", COUNTER, "seconds", "bpf_program",      \
	  "Time that BPF programs ran; missing where the kernel does not measure it.")             \
	X(RUNS, "aclguard_bpf_runs_total", COUNTER, "", "bpf_program",                             \
	  "Times that BPF programs ran; missing where the kernel does not count them.")            \
	X(MISSED, "aclguard_bpf_missed_total", COUNTER, "", "bpf_program",                         \
	  "Times that the kernel left a BPF program out, since it ran on the CPU already.")        \
	X(SERIES, "aclguard_series", GAUGE, "", "",                                                \
	  "Series with the labels of a program that are kept now; see --max-series.")              \
	X(SERIES_LIMIT, "aclguard_series_limit", GAUGE, "", "",                                    \
	  "Series with the labels of a program that are kept at most.")                            \
	X(DROPPED, "aclguard_series_dropped_total", COUNTER, "", "",                               \
	  "Times that a process or a violation found the limit of series reached and was counted " \
	  "under program=\"other\".")                                                              \
	X(OUTPUT_ERRORS, "aclguard_output_errors_total", COUNTER, "", "output",                    \
	  "Failures to write a report or a file of metrics.")                                      \
	X(HTTP_REQUESTS, "aclguard_http_requests_total", COUNTER, "", "outcome",                   \
	  "Requests that the web server answered.")                                                \
	X(BUILD, "aclguard_build_info", INFO, "", "version,arch,linkage",                          \
	  "Always 1; the labels tell which aclguard this is.")                                     \
	X(CPU, "process_cpu_seconds_total", COUNTER, "seconds", "",                                \
	  "User and system time that aclguard itself has used.")                                   \
	X(OPEN_FDS, "process_open_fds", GAUGE, "", "", "Files that aclguard has open.")            \
	X(MAX_FDS, "process_max_fds", GAUGE, "", "", "Files that aclguard may have open.")         \
	X(VIRTUAL, "process_virtual_memory_bytes", GAUGE, "bytes", "",                             \
	  "Virtual memory of aclguard itself.")                                                    \
	X(RESIDENT, "process_resident_memory_bytes", GAUGE, "bytes", "",                           \
	  "Resident memory of aclguard itself.")                                                   \
	X(START, "process_start_time_seconds", GAUGE, "seconds", "",                               \
	  "When aclguard started, in Unix time.")

enum metric_type {
	METRIC_TYPE_COUNTER,
	METRIC_TYPE_GAUGE,
	METRIC_TYPE_HISTOGRAM,
	METRIC_TYPE_INFO, /* a gauge that is 1; of its own type in OpenMetrics */
};

enum metric {
#define METRIC_ENUM(id, name, type, unit, labels, help) METRIC_##id,
	ACL_METRICS(METRIC_ENUM)
#undef METRIC_ENUM
		METRIC_MAX,
};

#endif /* ACLGUARD_METRIC_TABLE_H */
