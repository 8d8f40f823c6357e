/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The history of a violation as text: the calls that matter on a time axis whose
 * zero is the judged call.
 */
#ifndef ACLGUARD_HISTORY_TEXT_H
#define ACLGUARD_HISTORY_TEXT_H

#include "records.h"
#include "report_out.h"

void history_text__print(struct report_out *o, const struct acl_violation *v);

#endif /* ACLGUARD_HISTORY_TEXT_H */
