/*
 * interrupt.h
 *    Cancel, terminate and timeouts: flags set by signals, looked at by long work at least every 10 ms.
 */
#ifndef INTERRUPT_H
#define INTERRUPT_H

#include "common/shm/box.h"

/* Any thread: true when the running statement should stop. */
bool interrupt_pending(void);
/* Session thread or a helper with a catch: throws 57014 or 57P01 when one is pending. */
void interrupt_check(void);
/* Session thread: sleeps in short pieces, and throws as interrupt_check. */
void interrupt_sleep(double seconds);
/* An immediate shutdown leaves at once: there is nothing shared that a backend could leave half done (I1). */
void interrupt_quit(void);

/* ---- for the session loop ---- */
/* The session's own box says when a cancel is because of its old snapshot (72000). */
void interrupt_watch(const BoxShm *own);
/* A statement starts: the timer runs from now on, unless it does already (timeout_ms 0: none). */
void interrupt_statement_begin(i64 timeout_ms);
/* The timer does not run any more; a cancel stays. */
void interrupt_timer_stop(void);
/* It ended, well or not: timer and pending cancel are gone. */
void interrupt_statement_end(void);
/* While waiting for a command: a cancel is dropped, a statement that took too long throws, a termination throws (fatal), a quit ends the process. */
void interrupt_idle(void);
/* A termination or quit is pending. */
bool interrupt_leaving(void);

#endif
