/*
 * hash.h
 *    Hashing for tables in memory (never stored on disk): a 64-bit finaliser and a byte hash built on multiplication.
 *
 * hash_u64 is the splitmix64 finaliser (Steele, Lea, Flood, OOPSLA 2014). hash_bytes folds 128-bit products of eight-byte words,
 * the construction of wyhash. Neither resists an attacker who chooses keys on purpose to collide.
 */
#ifndef HASH_H
#define HASH_H

#include "common/base/base.h"

static inline u64
hash_u64(u64 x)
{
    x ^= x >> 30;
    x *= 0xbf58476d1ce4e5b9ull;
    x ^= x >> 27;
    x *= 0x94d049bb133111ebull;
    return x ^ (x >> 31);
}

static inline u64
hash_fold(u64 a, u64 b)
{
    u128 p = (u128)a * b;
    return (u64)p ^ (u64)(p >> 64);
}

static inline u64
hash_combine(u64 seed, u64 h)
{
    return hash_fold(seed ^ 0x9e3779b97f4a7c15ull, h ^ 0xe7037ed1a0b428dbull);
}

u64 hash_bytes(const void *data, size_t len);

#endif
