/*
 * harden.h
 *    Take from the process what a session never needs (I1): after it no file can be opened for writing, no program run, no socket made, no other process
 *    touched.
 */
#ifndef HARDEN_H
#define HARDEN_H

#include "common/base/base.h"

/* 0 or -errno. -ENOSYS: the kernel has no seccomp filters; the process is non-dumpable all the same. */
int harden(void) MUST_CHECK;

#endif
