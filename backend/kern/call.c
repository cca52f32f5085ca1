/*
 * call.c
 *    The walk over rows, and which file has the function.
 */
#include "backend/kern/format.h"
#include "backend/kern/timefield.h"

bool
kern_call_rows(KernRow fn, KernCall *c, bool strict)
{
    const u8 *nulls = c->ret->null_mask;
    for (u32 i = 0; i < c->count; i++)
        if (!(strict && nulls[i]) && !fn(c, i))
            return false;
    return true;
}

KernRow
kern_row(const FuncDef *f)
{
    KernRow fn = text_row(f->op);
    if (!fn)
        fn = catalog_row(f->op);
    if (!fn)
        fn = regexp_row(f->op);
    if (!fn)
        fn = words_row(f->op);
    if (!fn)
        fn = ranges_row(f->op, f->arg_count ? f->args[0] : TYPE_INVALID);
    if (!fn)
        fn = degrees_row(f->op);
    if (!fn)
        fn = bytes_row(f->op);
    TypeId last = f->arg_count ? f->args[f->arg_count - 1] : TYPE_INVALID;
    if (!fn)
        fn = json_row(f);
    if (!fn)
        fn = format_time_row(f);
    if (!fn)
        fn = format_number_row(f);
    if (!fn)
        fn = format_read_row(f);
    if (!fn)
        fn = format_to_number_row(f);
    if (!fn)
        fn = interval_row(f);
    if (!fn)
        fn = clock_row(f->op, last);
    if (!fn)
        fn = zone_row(f);
    if (!fn)
        fn = time_row(f->op, last);
    if (!fn && f->arg_count)
        fn = f->args[0] == TYPE_NUMERIC ? decimal_row(f->op) : math_row(f->op, f->args[0]);
    return fn;
}
