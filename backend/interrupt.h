/*
 * interrupt.h
 *    Cancel, terminate and timeouts: flags set by signals, looked at by long work at least every 10 ms.
 */
#ifndef INTERRUPT_H
#define INTERRUPT_H

#include "common/base/base.h"

/* Any thread: true when the running statement should stop. */
bool interrupt_pending(void);
/* Session thread or a helper with a catch: throws 57014 or 57P01 when one is pending. */
void interrupt_check(void);

#endif
