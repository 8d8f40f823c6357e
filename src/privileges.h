/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * What we may do once everything is set up.  Capabilities that are never needed
 * again are given up for good; of the rest only that which reading our own maps
 * takes is in force, but for the moments in which a process is looked at, probed
 * or continued.  What reads the records and the files of watched programs runs
 * without.
 *
 * Before privileges__drop() nothing here has an effect.  Capabilities are of a
 * thread: what is not said of another is for the main one; threads that it makes inherit.
 */
#ifndef ACLGUARD_PRIVILEGES_H
#define ACLGUARD_PRIVILEGES_H

/* From now on.  Returns 0, or -errno with nothing changed. */
int privileges__drop(void);

/* In pairs, which may be nested. */
void privileges__raise(void);
void privileges__lower(void);

/* Of a thread that was made: gives up all of them.  Returns 0 or -EPERM. */
int privileges__none(void);

#endif /* ACLGUARD_PRIVILEGES_H */
