/*
 * lanes.c
 *    Loops over group numbers that count and sum in one pass. See lanes.h.
 *
 * With few groups the next row often hits the group of the one before, and would wait for its store. So four copies take turns, and count and sum
 * share one word: every row adds its value plus 2^52. A copy sees at most 512 rows of a vector, so the sum stays within 51 bits with its sign, and
 * the count above it within 12.
 */
#include "backend/kern/lanes.h"

#include <string.h>

enum { COPIES = 4, COUNT_SHIFT = 52 };

typedef i64 Pair __attribute__((vector_size(16), aligned(8)));

/* Inlined with a constant sum_count. */
static inline __attribute__((always_inline)) void
add_rows(i64 *restrict lanes, const u32 *restrict groups, const i64 *const *values, u32 sum_count, u32 count)
{
    for (u32 i = 0; i < count; i++) {
        i64 *to = lanes + (size_t)groups[i] * (sum_count + 1);
        to[0]++;
        for (u32 k = 0; k < sum_count; k++)
            to[1 + k] += values[k][i];
    }
}

static void
add_pairs(i64 *restrict lanes, const u32 *restrict groups, const i64 *restrict values, u32 count)
{
    for (u32 i = 0; i < count; i++) {
        Pair *to = (Pair *)(void *)(lanes + (size_t)groups[i] * 2);
        *to += (Pair){1, values[i]};
    }
}

void
lanes_add(i64 *lanes, const u32 *groups, const i64 *const *values, u32 sum_count, u32 count)
{
    switch (sum_count) {
    case 0: add_rows(lanes, groups, values, 0, count); break;
    case 1: add_pairs(lanes, groups, values[0], count); break;
    case 2: add_rows(lanes, groups, values, 2, count); break;
    case 3: add_rows(lanes, groups, values, 3, count); break;
    default: add_rows(lanes, groups, values, 4, count); break;
    }
}

/* Four rows at a time into the four copies of `local`, each LANES_FEW words. */
static void
sum_few(u64 *restrict local, const u32 *restrict groups, const i64 *restrict values, u32 count)
{
    const u64 one = 1ull << COUNT_SHIFT;
    u32 i = 0;
    for (; i + COPIES <= count; i += COPIES) {
        local[groups[i]] += (u64)values[i] + one;
        local[LANES_FEW + groups[i + 1]] += (u64)values[i + 1] + one;
        local[2 * LANES_FEW + groups[i + 2]] += (u64)values[i + 2] + one;
        local[3 * LANES_FEW + groups[i + 3]] += (u64)values[i + 3] + one;
    }
    for (; i < count; i++)
        local[groups[i]] += (u64)values[i] + one;
}

static void
count_few(u64 *restrict local, const u32 *restrict groups, u32 count)
{
    u32 i = 0;
    for (; i + COPIES <= count; i += COPIES) {
        local[groups[i]]++;
        local[LANES_FEW + groups[i + 1]]++;
        local[2 * LANES_FEW + groups[i + 2]]++;
        local[3 * LANES_FEW + groups[i + 3]]++;
    }
    for (; i < count; i++)
        local[groups[i]]++;
}

/* Splits the words of all copies into count and sum; the count goes into the lanes when asked for. */
static void
fold_few(i64 *lanes, u32 step, u32 lane, const u64 *local, u32 group_count, bool counts)
{
    for (u32 g = 0; g < group_count; g++) {
        i64 rows = 0, sum = 0;
        for (u32 c = 0; c < COPIES; c++) {
            u64 word = local[c * LANES_FEW + g], n = (word + (1ull << (COUNT_SHIFT - 1))) >> COUNT_SHIFT;
            rows += (i64)n;
            sum += (i64)(word - (n << COUNT_SHIFT));
        }
        i64 *to = lanes + (size_t)g * step;
        to[lane] += sum;
        if (counts)
            to[0] += rows;
    }
}

void
lanes_add_few(i64 *lanes, u32 group_count, const u32 *groups, const i64 *const *values, u32 sum_count, u32 count)
{
    u64 local[COPIES * LANES_FEW];
    for (u32 k = 0; k < MAX(sum_count, 1u); k++) {
        for (u32 c = 0; c < COPIES; c++)
            memset(local + c * LANES_FEW, 0, group_count * sizeof *local);
        if (sum_count) {
            sum_few(local, groups, values[k], count);
            fold_few(lanes, sum_count + 1, 1 + k, local, group_count, k == 0);
            continue;
        }
        count_few(local, groups, count);
        for (u32 g = 0; g < group_count; g++)
            for (u32 c = 0; c < COPIES; c++)
                lanes[g] += (i64)local[c * LANES_FEW + g];
    }
}
