/*
 * interrupt.c
 *    Looking at the flags that signals set, and the timer of statement_timeout.
 *
 * A flag stays set until the session loop ends the statement, so that every thread of a query sees it; nobody clears it on the way.
 * SIGALRM is the statement's timer and nothing else.
 */
#include "backend/interrupt.h"

#include "backend/throw.h"
#include "common/base/env.h"
#include "common/proc/proc.h"
#include "common/shm/publish.h"

#include <math.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static bool timer_runs;
static const BoxShm *own_box; /* NULL: a test's session without one */

void
interrupt_watch(const BoxShm *own)
{
    own_box = own;
}

/* The walwriter cancels who keeps too much memory by an old snapshot. */
static bool
is_snapshot_old(void)
{
    u64 pin = own_box ? observe_u64(&own_box->pub_pin_epoch) : 0;
    return pin && observe_u64(&own_box->pub_cancel_pin) == pin;
}

bool
interrupt_pending(void)
{
    return proc_flag(PROC_CANCEL) || proc_flag(PROC_ALARM) || proc_flag(PROC_STOP) || proc_flag(PROC_QUIT);
}

void
interrupt_quit(void)
{
    if (UNLIKELY(proc_flag(PROC_QUIT)))
        _exit(1);
}

static void
leave_if_told(void)
{
    interrupt_quit();
    if (proc_flag(PROC_STOP) && is_snapshot_old())
        err_throw_fatal(ERR_SNAPSHOT_TOO_OLD, "terminating connection because its snapshot is too old");
    if (proc_flag(PROC_STOP))
        err_throw_fatal(ERR_ADMIN_SHUTDOWN, "terminating connection due to administrator command");
}

static NORETURN void
timed_out(void)
{
    err_throw(ERR_QUERY_CANCELED, "canceling statement due to statement timeout");
}

void
interrupt_check(void)
{
    if (LIKELY(!interrupt_pending()))
        return;
    leave_if_told();
    if (proc_flag(PROC_CANCEL) && is_snapshot_old())
        err_throw(ERR_SNAPSHOT_TOO_OLD, "snapshot too old");
    if (proc_flag(PROC_CANCEL))
        err_throw(ERR_QUERY_CANCELED, "canceling statement due to user request");
    timed_out();
}

void
interrupt_sleep(double seconds)
{
    u64 end = seconds > 0 ? env->monotonic_ns() + (u64)(fmin(seconds, 1e9) * 1e9) : 0;
    for (;;) {
        interrupt_check();
        u64 now = env->monotonic_ns();
        if (now >= end)
            return;
        struct timespec t = {.tv_sec = 0, .tv_nsec = (long)MIN(end - now, 10000000u)};
        nanosleep(&t, NULL);
    }
}

static void
set_timer(i64 ms)
{
    struct itimerval t = {.it_value = {.tv_sec = ms / 1000, .tv_usec = ms % 1000 * 1000}};
    setitimer(ITIMER_REAL, &t, NULL);
    timer_runs = ms != 0;
}

void
interrupt_statement_begin(i64 timeout_ms)
{
    if (UNLIKELY(timeout_ms > 0 && !timer_runs))
        set_timer(timeout_ms);
}

void
interrupt_timer_stop(void)
{
    if (UNLIKELY(timer_runs))
        set_timer(0);
    proc_flag_take(PROC_ALARM);
}

void
interrupt_statement_end(void)
{
    interrupt_timer_stop();
    proc_flag_take(PROC_CANCEL);
}

void
interrupt_idle(void)
{
    proc_flag_take(PROC_CANCEL);
    leave_if_told();
    if (UNLIKELY(proc_flag(PROC_ALARM)))
        timed_out();
}

bool
interrupt_leaving(void)
{
    return proc_flag(PROC_STOP) || proc_flag(PROC_QUIT);
}
