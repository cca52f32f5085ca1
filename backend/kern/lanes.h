/*
 * lanes.h
 *    Counting and summing by small group numbers, all results of a group side by side: its row count, then one 64-bit sum a lane.
 *
 * One pass touches a group's cache line once a row, whatever the number of aggregates. Nothing is checked for overflow here: the caller knows
 * a bound of the values (KernTable.bits_i64) and of the rows.
 */
#ifndef LANES_H
#define LANES_H

#include "common/base/base.h"

enum {
    LANES_MAX = 4,       /* sums a group */
    LANES_FEW = 128,     /* group numbers below this: lanes_add_few */
    LANES_FEW_BITS = 41, /* … of values of at most so many bits */
};

/* lanes: for each group 1 + sum_count numbers. */
void lanes_add(i64 *lanes, const u32 *groups, const i64 *const *values, u32 sum_count, u32 count);
/* The same where group < group_count <= LANES_FEW, count <= 2,048 and values have at most LANES_FEW_BITS bits beside the sign. */
void lanes_add_few(i64 *lanes, u32 group_count, const u32 *groups, const i64 *const *values, u32 sum_count, u32 count);

#endif
