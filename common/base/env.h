/*
 * env.h
 *    What a role takes from outside: time and randomness, behind one struct, so that a simulation can replace both.
 *
 * `env` points at the real world unless a test replaces it before anything runs. Waiting, spawning and file I/O have
 * their own seams (shm/latch.h, proc/spawn.h, io/io.h).
 */
#ifndef ENV_H
#define ENV_H

#include "common/base/base.h"

typedef struct Env {
    /* Nanoseconds that only grow; for deadlines and durations. */
    u64 (*monotonic_ns)(void);
    /* Microseconds since 2000-01-01 00:00:00 UTC; for now(), never for order. */
    i64 (*wall_us)(void);
    /* Bytes from the kernel's random source. */
    void (*random_bytes)(void *to, size_t len);
} Env;

extern const Env *env;
extern const Env env_real;

#endif
