/*
 * valueset.h
 *    A set of integers or of texts, by open addressing: what IN over constants and "= ANY" over an array look into. Filled once, then read by any thread.
 */
#ifndef VALUESET_H
#define VALUESET_H

#include "common/base/arena.h"
#include "common/base/hash.h"

typedef struct ValueSet {
    u32 mask;     /* slots - 1 */
    u8 *used;
    i64 *numbers; /* one of the two */
    Str *texts;   /* not copied */
} ValueSet;

/* Room for `count` values. */
static inline void
valueset_init(ValueSet *set, Arena *a, u32 count, bool texts)
{
    u32 slots = 16;
    while (slots < count * 2)
        slots *= 2;
    *set = (ValueSet){.mask = slots - 1, .used = arena_zalloc(a, slots)};
    if (texts)
        set->texts = ARENA_ARRAY(a, Str, slots);
    else
        set->numbers = ARENA_ARRAY(a, i64, slots);
}

/* The slot that v has, or gets. */
static inline u32
valueset_number_slot(const ValueSet *set, i64 v)
{
    u32 at = (u32)hash_u64((u64)v) & set->mask;
    while (set->used[at] && set->numbers[at] != v)
        at = (at + 1) & set->mask;
    return at;
}

static inline u32
valueset_text_slot(const ValueSet *set, Str v)
{
    u32 at = (u32)hash_bytes(v.ptr, v.len) & set->mask;
    while (set->used[at] && !str_eq(set->texts[at], v))
        at = (at + 1) & set->mask;
    return at;
}

static inline bool
valueset_has_number(const ValueSet *set, i64 v)
{
    return set->used[valueset_number_slot(set, v)];
}

static inline bool
valueset_has_text(const ValueSet *set, Str v)
{
    return set->used[valueset_text_slot(set, v)];
}

static inline void
valueset_add_number(ValueSet *set, i64 v)
{
    u32 at = valueset_number_slot(set, v);
    set->used[at] = 1;
    set->numbers[at] = v;
}

static inline void
valueset_add_text(ValueSet *set, Str v)
{
    u32 at = valueset_text_slot(set, v);
    set->used[at] = 1;
    set->texts[at] = v;
}

#endif
