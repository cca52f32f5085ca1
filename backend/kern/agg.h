/*
 * agg.h
 *    Aggregates as tables of functions over arrays of states; all-zero bytes are the state of no rows.
 *
 * A state of row i is at states + groups[i] * stride. Text kept by min/max points where the argument pointed: the
 * caller keeps it alive.
 * Sums of integers and decimals are exact in 128 bits; overflow shows as KERN_OVERFLOW from finish.
 */
#ifndef AGG_H
#define AGG_H

#include "backend/kern/func.h"
#include "backend/kern/status.h"
#include "common/type/vec.h"

typedef struct AggKernel {
    u32 state_bytes; /* a multiple of 8 */
    PhysType ret_phys;
    u8 ret_scale;
    /* Counts and sums of integers can be gathered in lanes first (exec/agg_lanes.c): rows[i] values that sum up to sums[i] enter the
     * i-th of `count` states. NULL: these cannot. */
    void (*add)(u8 *states, u32 stride, const i64 *sums, const i64 *rows, u32 count);
    /* arg is NULL for count(*); rows that are NULL do not count */
    void (*update)(void *state, const Vec *arg, u32 count);
    void (*update_groups)(u8 *states, u32 stride, const u32 *groups, const Vec *arg, u32 count);
    void (*merge)(void *to, const void *from);
    /* States first … first+count-1 into ret (data and null_mask have room). Returns KernStatus bits. */
    u32 (*finish)(const u8 *states, u32 stride, u32 first, u32 count, u8 arg_scale, Vec *ret);
} AggKernel;

/* The kernel for an aggregate over this physical argument; false: none (the binder should not have let it through). */
bool agg_kernel(AggId agg, PhysType arg, u8 arg_scale, AggKernel *ret);

/* Holds one result of any aggregate: one value enters by update and comes out by finish. */
AggKernel agg_holder(PhysType phys, u8 scale);

#endif
