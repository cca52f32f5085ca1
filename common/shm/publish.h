/*
 * publish.h
 *    The only atomics of the project: publish and observe a mark, count, and the fence between pinning and looking.
 *
 * Publish last: fill, then one publish (release). Observe the mark first (acquire), then read what it covers. A count is
 * relaxed. Everything shared between threads or processes goes through these.
 */
#ifndef PUBLISH_H
#define PUBLISH_H

#include "common/base/base.h"

static inline void publish_u64(u64 *mark, u64 v) { __atomic_store_n(mark, v, __ATOMIC_RELEASE); }
static inline u64 observe_u64(const u64 *mark) { return __atomic_load_n(mark, __ATOMIC_ACQUIRE); }
static inline void publish_u32(u32 *mark, u32 v) { __atomic_store_n(mark, v, __ATOMIC_RELEASE); }
static inline u32 observe_u32(const u32 *mark) { return __atomic_load_n(mark, __ATOMIC_ACQUIRE); }
static inline void publish_u8(u8 *mark, u8 v) { __atomic_store_n(mark, v, __ATOMIC_RELEASE); }
static inline u8 observe_u8(const u8 *mark) { return __atomic_load_n(mark, __ATOMIC_ACQUIRE); }
#define publish_ptr(mark, p) __atomic_store_n((mark), (p), __ATOMIC_RELEASE)
#define observe_ptr(mark) __atomic_load_n((mark), __ATOMIC_ACQUIRE)
/* Racy reads and writes of shared words whose value is checked by other means (delete bits). */
static inline u64 relaxed_u64(const u64 *word) { return __atomic_load_n(word, __ATOMIC_RELAXED); }
static inline void relax_store_u64(u64 *word, u64 v) { __atomic_store_n(word, v, __ATOMIC_RELAXED); }
static inline u32 relaxed_u32(const u32 *word) { return __atomic_load_n(word, __ATOMIC_RELAXED); }
static inline void relax_store_u32(u32 *word, u32 v) { __atomic_store_n(word, v, __ATOMIC_RELAXED); }
/* Store to a mark, then order it before every later load (pins, the sleeper's flag). */
static inline void
publish_u64_fenced(u64 *mark, u64 v)
{
    __atomic_store_n(mark, v, __ATOMIC_SEQ_CST);
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
}
static inline void full_fence(void) { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
/* Between threads of one process: returns the old value. */
static inline u64 counter_add_u64(u64 *c, u64 n) { return __atomic_fetch_add(c, n, __ATOMIC_ACQ_REL); }
static inline u32 counter_add_u32(u32 *c, u32 n) { return __atomic_fetch_add(c, n, __ATOMIC_ACQ_REL); }
static inline bool
swap_if_u64(u64 *word, u64 *expected, u64 desired)
{
    return __atomic_compare_exchange_n(word, expected, desired, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
}
static inline bool
swap_if_u32(u32 *word, u32 *expected, u32 desired)
{
    return __atomic_compare_exchange_n(word, expected, desired, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
}

/* A latch: a word that only its owner's waker changes, waited for with a deadline. latch_wait returns when *word != seen,
 * on a signal, or at the deadline (absolute env->monotonic_ns; 0 = none); the caller looks again. Works across processes. */
void latch_wait(u32 *word, u32 seen, u64 deadline_ns);
void latch_wake(const u32 *word, u32 waiters);

#endif
