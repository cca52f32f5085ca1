/* latch.c: waiting on a shared word by futex. */
#include "common/shm/publish.h"

#include "common/base/env.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

void
latch_wait(u32 *word, u32 seen, u64 deadline_ns)
{
    struct timespec at = {(time_t)(deadline_ns / 1000000000u), (long)(deadline_ns % 1000000000u)};
    if (observe_u32(word) != seen)
        return;
    /* FUTEX_WAIT_BITSET takes an absolute CLOCK_MONOTONIC deadline. Not FUTEX_PRIVATE: words live in shared mappings. */
    syscall(SYS_futex, word, FUTEX_WAIT_BITSET, seen, deadline_ns ? &at : NULL, NULL, FUTEX_BITSET_MATCH_ANY);
}

void
latch_wake(const u32 *word, u32 waiters)
{
    syscall(SYS_futex, word, FUTEX_WAKE, waiters > INT_MAX ? INT_MAX : (int)waiters, NULL, NULL, 0);
}
