/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The commands.  Each returns the exit status of aclguard. */
#ifndef ACLGUARD_COMMANDS_H
#define ACLGUARD_COMMANDS_H

struct options;

int command_run(const struct options *opts);
int command_watch(const struct options *opts);
int command_record(const struct options *opts);
int command_replay(const struct options *opts);
int command_doctor(const struct options *opts);
int command_control(const struct options *opts);
int command_export(const struct options *opts);

#endif /* ACLGUARD_COMMANDS_H */
