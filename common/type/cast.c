/*
 * cast.c
 *    Converting one value to another type, with PostgreSQL's rounding and its words when the value does not fit.
 *
 * Numbers meet in three carriers: every integer type goes through i64, both floats through double, and numeric
 * stays Num; a cast is "read the carrier, write the target". Dates and timestamps meet in the timestamp. Text goes
 * through value_in and value_out. Whether a cast is allowed in its place is the binder's question; a pair that has
 * no cast at all is 42846 here.
 */
#include "common/type/inside.h"
#include "common/type/interval.h"
#include "common/type/json.h"

#include <math.h>

static bool
out_of_range(Error *err, TypeId t)
{
    return error_set(err, ERR_NUMERIC_OUT_OF_RANGE, "%s out of range", t == TYPE_OID ? "OID" : type_name(t));
}

static bool
no_cast(Error *err, TypeId from, TypeId to)
{
    return error_set(err, ERR_CANNOT_COERCE, "cannot cast type %s to %s", type_name(from), type_name(to));
}

static bool
is_text(TypeId t)
{
    return t == TYPE_TEXT || t == TYPE_VARCHAR || t == TYPE_BPCHAR || t == TYPE_NAME || t == TYPE_UNKNOWN;
}

static bool
is_integer(TypeId t)
{
    return t == TYPE_INT2 || t == TYPE_INT4 || t == TYPE_INT8 || t == TYPE_OID || type_is_reg(t);
}

static bool
is_float(TypeId t)
{
    return t == TYPE_FLOAT4 || t == TYPE_FLOAT8;
}

static i64
integer_of(const Value *v)
{
    switch (v->type) {
    case TYPE_INT2:
        return v->i16v;
    case TYPE_INT4:
        return v->i32v;
    default:
        return v->i64v;
    }
}

/* `from` only matters for oid: an integer's sign bit is carried over, a bigint must fit. */
static bool
store_integer(i64 n, TypeId from, TypeId t, Value *ret, Error *err)
{
    switch (t) {
    case TYPE_INT2:
        ret->i16v = (i16)n;
        return n == (i16)n || out_of_range(err, t);
    case TYPE_INT4:
        ret->i32v = (i32)n;
        return n == (i32)n || from == TYPE_OID || out_of_range(err, t);
    case TYPE_OID:
        ret->i64v = (u32)n;
        return from != TYPE_INT8 || n == (u32)n || out_of_range(err, t);
    default:
        ret->i64v = n;
        return true;
    }
}

static bool
store_double(double d, TypeId t, Value *ret, Error *err)
{
    if (t == TYPE_FLOAT8) {
        ret->f64v = d;
        return true;
    }
    ret->f32v = (float)d;
    if (isinf(ret->f32v) && !isinf(d))
        return error_set(err, ERR_NUMERIC_OUT_OF_RANGE, "value out of range: overflow");
    if (ret->f32v == 0 && d != 0)
        return error_set(err, ERR_NUMERIC_OUT_OF_RANGE, "value out of range: underflow");
    return true;
}

static bool
from_integer(const Value *v, TypeId t, i32 typmod, Value *ret, Error *err)
{
    i64 n = integer_of(v);
    if (type_is_reg(v->type) || type_is_reg(t)) { /* the oid that it is */
        Value oid = *v;
        oid.type = type_is_reg(v->type) ? TYPE_OID : v->type;
        return from_integer(&oid, type_is_reg(t) ? TYPE_OID : t, typmod, ret, err);
    }
    if (v->type == TYPE_OID && t != TYPE_OID && t != TYPE_INT4 && t != TYPE_INT8)
        return no_cast(err, v->type, t);
    if (is_integer(t))
        return store_integer(n, v->type, t, ret, err);
    if (t == TYPE_FLOAT4) {
        ret->f32v = (float)n; /* one rounding */
        return true;
    }
    if (t == TYPE_FLOAT8) {
        ret->f64v = (double)n;
        return true;
    }
    if (t == TYPE_NUMERIC) {
        Num num = num_from_i64(n);
        return num_coerce(&num, typmod, &ret->num, err);
    }
    if (t == TYPE_BOOL && v->type == TYPE_INT4) {
        ret->b = n != 0;
        return true;
    }
    return no_cast(err, v->type, t);
}

static bool
float_to_numeric(const Value *v, i32 typmod, Value *ret, Error *err)
{
    bool single = v->type == TYPE_FLOAT4;
    double d = single ? v->f32v : v->f64v;
    if (isfinite(d) && typmod >= 4) {
        /* Round the decimal once, at the column's scale: it may have more digits than a Num. */
        char text[OUT_MAX];
        u32 len = single ? f32_out(v->f32v, 0, text) : f64_out(d, 0, text);
        return num_from_text((Str){text, len}, typmod, &ret->num) == NUM_OK || num_field_overflow(err, typmod, false);
    }
    Num num;
    if ((single ? num_from_f32(v->f32v, &num) : num_from_f64(d, &num)) != NUM_OK)
        return error_set(err, ERR_NUMERIC_OUT_OF_RANGE, "value overflows numeric format");
    return num_coerce(&num, typmod, &ret->num, err);
}

static bool
from_float(const Value *v, TypeId t, i32 typmod, Value *ret, Error *err)
{
    double d = v->type == TYPE_FLOAT4 ? v->f32v : v->f64v;
    if (is_float(t))
        return store_double(d, t, ret, err);
    if (t == TYPE_NUMERIC)
        return float_to_numeric(v, typmod, ret, err);
    if (!is_integer(t) || t == TYPE_OID)
        return no_cast(err, v->type, t);
    double whole = rint(d); /* half to even */
    if (!(whole >= -0x1p63 && whole < 0x1p63)) /* NaN too */
        return out_of_range(err, t);
    return store_integer((i64)whole, v->type, t, ret, err);
}

static bool
from_numeric(const Value *v, TypeId t, i32 typmod, Value *ret, Error *err)
{
    if (t == TYPE_NUMERIC)
        return num_coerce(&v->num, typmod, &ret->num, err);
    if (t == TYPE_FLOAT8) {
        ret->f64v = num_to_f64(&v->num);
        return true;
    }
    if (t == TYPE_FLOAT4) { /* through text: rounding to double first could round twice */
        char text[OUT_MAX];
        return f32_in((Str){text, num_out(&v->num, text)}, &ret->f32v, err);
    }
    if (!is_integer(t) || t == TYPE_OID)
        return no_cast(err, v->type, t);
    i64 n;
    switch (num_to_i64(&v->num, &n)) {
    case NUM_OK:
        return store_integer(n, v->type, t, ret, err);
    case NUM_INVALID:
        return error_set(err, ERR_FEATURE_NOT_SUPPORTED, "cannot convert %s to %s",
                         v->num.kind == NUM_NAN ? "NaN" : "infinity", type_name(t));
    case NUM_OVERFLOW:
    case NUM_DIV_ZERO:
        break;
    }
    return out_of_range(err, t);
}

/* ---- text ---- */

static bool
to_text(Arena *a, const TypeFormat *f, const Value *v, TypeId t, i32 typmod, bool explicit_cast, Value *ret, Error *err)
{
    Str s;
    if (is_text(v->type)) {
        s = v->type == TYPE_BPCHAR && t != TYPE_BPCHAR ? bpchar_trim(v->str) : v->str;
    } else if (v->type == TYPE_BOOL && t != TYPE_NAME) { /* a cast of its own; to name goes through the text form */
        s = v->b ? STR_LIT("true") : STR_LIT("false");
    } else {
        ByteBuf buf = {0};
        value_out(&buf, f, v);
        if (v->type == TYPE_INET && !memchr(v->str.ptr, '/', v->str.len)) /* the output leaves out the bits of a single address */
            buf_str(&buf, memchr(v->str.ptr, ':', v->str.len) ? "/128" : "/32");
        char *copy = buf.failed ? NULL : arena_strndup(a, (const char *)buf.data, buf.len);
        s = (Str){copy, (u32)buf.len};
        buf_free(&buf);
        if (!copy)
            return error_set(err, ERR_OUT_OF_MEMORY, "out of memory");
    }
    if (type_has_length(t) && explicit_cast && typmod >= 4)
        s.len = utf8_prefix(s, (u32)typmod - 4);
    Value v_in;
    if (!value_in(a, f, t, typmod, s, &v_in, err))
        return false;
    ret->str = v_in.str;
    return true;
}

/* ---- dates ---- */

/* Date or timestamp[tz] as a local timestamp. */
static bool
to_local(const TypeFormat *f, const Value *v, i64 *ret, Error *err)
{
    if (v->type != TYPE_DATE) {
        bool finite = v->i64v != TS_NEG_INF && v->i64v != TS_POS_INF;
        *ret = v->type == TYPE_TIMESTAMPTZ && finite ? zone_to_local(format_zone(f), v->i64v) : v->i64v;
        return true;
    }
    if (v->i32v == DATE_NEG_INF || v->i32v == DATE_POS_INF) {
        *ret = v->i32v == DATE_NEG_INF ? TS_NEG_INF : TS_POS_INF;
        return true;
    }
    if (__builtin_mul_overflow((i64)v->i32v, USEC_PER_DAY, ret) || !timestamp_valid(*ret))
        return error_set(err, ERR_DATETIME_OVERFLOW, "date out of range for timestamp");
    return true;
}

static bool
from_datetime(const TypeFormat *f, const Value *v, TypeId t, i32 typmod, Value *ret, Error *err)
{
    i64 local;
    if (v->type == t) {
        if (t == TYPE_DATE)
            ret->i32v = v->i32v;
        else
            ret->i64v = timestamp_typmod(v->i64v, typmod);
        return true;
    }
    if (t != TYPE_DATE && t != TYPE_TIMESTAMP && t != TYPE_TIMESTAMPTZ)
        return no_cast(err, v->type, t);
    if (!to_local(f, v, &local, err))
        return false;
    bool finite = local != TS_NEG_INF && local != TS_POS_INF;
    if (t == TYPE_DATE) {
        ret->i32v = !finite ? (local == TS_NEG_INF ? DATE_NEG_INF : DATE_POS_INF)
                            : (i32)(local / USEC_PER_DAY - (local % USEC_PER_DAY < 0));
        return true;
    }
    if (t == TYPE_TIMESTAMPTZ && finite)
        local = zone_to_utc(format_zone(f), local);
    if (finite && !timestamp_valid(local))
        return error_set(err, ERR_DATETIME_OVERFLOW, "timestamp out of range");
    ret->i64v = timestamp_typmod(local, typmod);
    return true;
}

/* ---- times of day ---- */

/* A scalar of jsonb as a number or truth value. */
static bool
from_jsonb(Arena *a, const Value *v, TypeId t, i32 typmod, Value *ret, Error *err)
{
    static const char *const NAMES[] = {"null", "string", "numeric", "boolean", "array", "object"};
    JsonNode *n;
    if (!json_parse(a, v->str, &n, err))
        return false;
    if (n->kind != (t == TYPE_BOOL ? JSON_BOOL : JSON_NUMBER))
        return error_set(err, ERR_INVALID_PARAMETER_VALUE, "cannot cast jsonb %s to type %s", NAMES[n->kind], type_name(t));
    if (t == TYPE_BOOL) {
        ret->b = n->truth;
        return true;
    }
    Value number = {.type = TYPE_NUMERIC, .typmod = -1};
    return num_parse(n->text, -1, &number.num, err) && from_numeric(&number, t, typmod, ret, err);
}

static bool
from_interval(const Value *v, TypeId t, i32 typmod, Value *ret, Error *err)
{
    if (t == TYPE_INTERVAL) {
        ret->interval = interval_fit(&v->interval, typmod);
        return true;
    }
    if (t != TYPE_TIME)
        return no_cast(err, v->type, t);
    ret->i64v = timestamp_typmod(time_of_day(v->interval.us), typmod);
    return true;
}

static bool
to_time_of_day(const TypeFormat *f, const Value *v, TypeId t, i32 typmod, Value *ret)
{
    i64 us = v->i64v;
    i32 offset_s = 0;
    if (v->type == TYPE_TIMESTAMP || v->type == TYPE_TIMESTAMPTZ) {
        ret->is_null = us == TS_NEG_INF || us == TS_POS_INF;
        if (ret->is_null)
            return true;
        if (v->type == TYPE_TIMESTAMPTZ && format_zone(f))
            offset_s = zone_offset_s(f->zone, us);
        us = time_of_day(us + offset_s * 1000000LL);
    } else if (v->type == TYPE_TIMETZ) {
        us = timetz_unpack(&v->pair, &offset_s);
    } else if (t == TYPE_TIMETZ) {
        offset_s = offset_today_s(f, us);
    }
    us = timestamp_typmod(us, typmod);
    if (t == TYPE_TIME)
        ret->i64v = us;
    else
        ret->pair = timetz_pack(us, offset_s);
    return true;
}

/* Does such a cast exist? */
static bool
is_time_cast(TypeId from, TypeId to)
{
    bool time = from == TYPE_TIME || from == TYPE_TIMETZ;
    return to == TYPE_TIME ? time || from == TYPE_TIMESTAMP || from == TYPE_TIMESTAMPTZ : to == TYPE_TIMETZ && (time || from == TYPE_TIMESTAMPTZ);
}

bool
value_cast(Arena *a, const TypeFormat *f, const Value *v, TypeId t, i32 typmod, bool explicit_cast, Value *ret,
           Error *err)
{
    Value out = {.type = t, .typmod = typmod, .is_null = v->is_null};
    bool ok = true;
    if (v->is_null)
        ;
    else if (is_text(t))
        ok = to_text(a, f, v, t, typmod, explicit_cast, &out, err);
    else if (type_is_array(v->type) && type_is_array(t))
        ok = array_cast(a, f, v, type_element(t), typmod, explicit_cast, &out.str, err);
    else if (is_text(v->type) && t == TYPE_INTERVAL) { /* read in full, then cut: the range gives no number its unit here */
        ok = value_in(a, f, t, -1, v->str, &out, err);
        out.interval = interval_fit(&out.interval, typmod);
        out.typmod = typmod;
    } else if (is_text(v->type))
        ok = value_in(a, f, t, typmod, v->str, &out, err);
    else if (v->type == TYPE_JSON || (v->type == TYPE_JSONB && t == v->type)) {
        out.str = v->str;
        ok = t == v->type || value_in(a, f, t, typmod, v->str, &out, err);
    } else if (v->type == TYPE_JSONB && t == TYPE_JSON)
        out.str = v->str;
    else if (v->type == TYPE_JSONB)
        ok = from_jsonb(a, v, t, typmod, &out, err);
    else if (v->type == TYPE_CHAR && t == TYPE_INT4)
        out.i32v = (i8)v->i16v;
    else if (v->type == TYPE_CHAR && t == TYPE_CHAR)
        out.i16v = v->i16v;
    else if (v->type == TYPE_INT4 && t == TYPE_CHAR) {
        out.i16v = (u8)v->i32v;
        ok = v->i32v == (i8)v->i32v || out_of_range(err, t);
    } else if (v->type == TYPE_INTERVAL)
        ok = from_interval(v, t, typmod, &out, err);
    else if (v->type == TYPE_TIME && t == TYPE_INTERVAL) {
        Interval time = {v->i64v, 0, 0};
        out.interval = interval_fit(&time, typmod);
    } else if (is_time_cast(v->type, t))
        ok = to_time_of_day(f, v, t, typmod, &out);
    else if (is_integer(v->type))
        ok = from_integer(v, t, typmod, &out, err);
    else if (is_float(v->type))
        ok = from_float(v, t, typmod, &out, err);
    else if (v->type == TYPE_NUMERIC)
        ok = from_numeric(v, t, typmod, &out, err);
    else if (v->type == TYPE_DATE || v->type == TYPE_TIMESTAMP || v->type == TYPE_TIMESTAMPTZ)
        ok = from_datetime(f, v, t, typmod, &out, err);
    else if (v->type == TYPE_BOOL && t == TYPE_BOOL)
        out.b = v->b;
    else if (v->type == TYPE_BOOL && t == TYPE_INT4)
        out.i32v = v->b;
    else
        ok = no_cast(err, v->type, t);
    if (ok)
        *ret = out;
    return ok;
}
