/*
 * zone.c
 *    AT TIME ZONE, which is timezone(zone, time), and what else takes the name of a zone.
 */
#include "backend/kern/timefield.h"
#include "common/type/interval.h"

static bool
out_of_range(KernCall *c)
{
    return error_set(c->err, ERR_DATETIME_OVERFLOW, "timestamp out of range");
}

bool
time_zone_arg(KernCall *c, u32 i, u32 k, ZoneName *ret)
{
    Str name = ARG(c, k, Str, i);
    return zone_find_name(name, ret) ||
           error_set(c->err, ERR_INVALID_PARAMETER_VALUE, "time zone \"%.*s\" not recognized", (int)MIN(name.len, ZONE_NAME_MAX), name.ptr);
}

/* The first argument's zone, of a text or an interval; found once when it is a constant. memo: the ZoneName. */
static bool
first_zone(KernCall *c, u32 i, ZoneName *ret)
{
    if (c->memo) {
        *ret = *(const ZoneName *)c->memo;
        return true;
    }
    if (c->def->args[0] == TYPE_TEXT) {
        if (!time_zone_arg(c, i, 0, ret))
            return false;
    } else {
        const Interval *v = &ARG(c, 0, Interval, i);
        if (v->months || v->days) {
            ByteBuf text = {0};
            Value shown = {.type = TYPE_INTERVAL, .typmod = -1, .interval = *v};
            value_out(&text, c->format, &shown);
            error_set(c->err, ERR_INVALID_PARAMETER_VALUE, "interval time zone \"%.*s\" must not include months or days", (int)text.len,
                      (const char *)text.data);
            buf_free(&text);
            return false;
        }
        i64 offset_s = v->us / 1000000;
        if (offset_s > INT32_MAX || offset_s < INT32_MIN)
            return out_of_range(c);
        *ret = (ZoneName){.offset_s = (i32)offset_s};
    }
    if (c->args[0]->is_const) {
        ZoneName *memo = arena_alloc(c->scratch, sizeof *memo);
        *memo = *ret;
        c->memo = memo;
    }
    return true;
}

static bool
at_zone(KernCall *c, u32 i)
{
    ZoneName zone;
    i64 us = ARG(c, 1, i64, i);
    if (!first_zone(c, i, &zone))
        return false;
    if (!ts_infinite(us)) {
        us = c->def->args[1] == TYPE_TIMESTAMPTZ ? zone_name_to_local(&zone, us) : zone_name_to_utc(&zone, us);
        if (us < TS_FIRST || us >= TS_END)
            return out_of_range(c);
    }
    RET(c, i64, i) = us;
    return true;
}

/* A zone whose offset changes stands at that of now. */
static bool
clock_at_zone(KernCall *c, u32 i)
{
    ZoneName zone;
    i32 old_s;
    if (!first_zone(c, i, &zone))
        return false;
    i32 new_s = zone.zone ? zone_offset_s(zone.zone, c->now_us) : zone.offset_s;
    if (new_s >= ZONE_SPEC_LIMIT_S || new_s <= -ZONE_SPEC_LIMIT_S)
        return error_set(c->err, ERR_INVALID_TIME_ZONE, "time zone displacement out of range");
    i64 us = timetz_unpack(&ARG(c, 1, Pair, i), &old_s);
    RET(c, Pair, i) = timetz_pack(time_of_day(us + ((i64)new_s - old_s) * 1000000), new_s);
    return true;
}

static bool
make_timestamptz(KernCall *c, u32 i)
{
    i64 us;
    ZoneName zone = {.zone = c->format->zone};
    if (!time_of_parts(c, i, &us) || (c->arg_count == 7 && !time_zone_arg(c, i, 6, &zone)))
        return false;
    us = zone_name_to_utc(&zone, us);
    if (us < TS_FIRST || us >= TS_END)
        return out_of_range(c);
    RET(c, i64, i) = us;
    return true;
}

KernRow
zone_row(const FuncDef *f)
{
    switch ((int)f->op) {
    case FOP_AT_ZONE: return f->args[1] == TYPE_TIMETZ ? clock_at_zone : at_zone;
    case FOP_MAKE_TIMESTAMPTZ: return make_timestamptz;
    default: return NULL;
    }
}
