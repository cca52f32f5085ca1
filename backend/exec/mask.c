/*
 * mask.c
 *    Plain loops over byte masks, written so that the compilers vectorise them, and compiled for several instruction sets.
 */
#include "backend/exec/pred.h"

#include "backend/kern/map.h"

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define FAST __attribute__((optimize("O3"), target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define FAST
#endif

#define RANGE_KERNEL(T)                                                                                                                    \
    FAST void mask_range_##T(const T *restrict v, u32 count, T lo, T span, bool first, u8 *restrict mask)                                  \
    {                                                                                                                                      \
        if (first)                                                                                                                         \
            for (u32 i = 0; i < count; i++)                                                                                                \
                mask[i] = (T)(v[i] - lo) <= span;                                                                                          \
        else                                                                                                                               \
            for (u32 i = 0; i < count; i++)                                                                                                \
                mask[i] &= (T)(v[i] - lo) <= span;                                                                                         \
    }

RANGE_KERNEL(u8)
RANGE_KERNEL(u16)
RANGE_KERNEL(u32)
RANGE_KERNEL(u64)

FAST void
mask_codes(const u32 *restrict codes, u32 count, const u8 *restrict truth, bool first, u8 *restrict mask)
{
    if (first)
        for (u32 i = 0; i < count; i++)
            mask[i] = truth[codes[i]];
    else
        for (u32 i = 0; i < count; i++)
            mask[i] &= truth[codes[i]];
}

FAST void
mask_and_not(const u8 *restrict nulls, u32 count, u8 *restrict mask)
{
    for (u32 i = 0; i < count; i++)
        mask[i] &= (u8)(nulls[i] ^ 1);
}

void
mask_and_deleted(const u64 *bits, u32 first_row, u32 count, u8 *mask)
{
    for (u32 i = 0; i < count;) {
        u32 row = first_row + i;
        u64 word = bits[row / 64] >> (row % 64);
        u32 n = MIN(count - i, 64 - row % 64);
        for (u32 j = 0; word && j < n; j++, word >>= 1)
            mask[i + j] &= (u8)(~word & 1);
        i += n;
    }
}

u32
mask_count(const u8 *mask, u32 count)
{
    return kern_table()->count_bytes(mask, count);
}

u32
mask_positions(const u8 *mask, u32 count, u16 *sel)
{
    return kern_table()->select(mask, count, NULL, sel);
}
