/*
 * copy_binary.c
 *    Rows of COPY's binary format: 11-byte signature, flags, header extension; then tuples of a field count and length-prefixed values in
 *    the types' binary form; then -1.
 *
 * Fixed-size types are stored straight from the wire, numerics by a fast path when they fit their column without rounding; the rest goes through
 * value_recv. Row numbers in messages count tuples.
 */
#include "backend/net/copy_in.h"

#include "backend/throw.h"
#include "common/type/datetime.h"
#include "common/type/numeric.h"

enum { HEAD_BYTES = 19, FLAGS_END = 15, FLAG_OIDS = 1 << 16, NUMERIC_HEAD_BYTES = 8, LONGEST = 0x3fffffff, NUMERIC_NEGATIVE = 0x4000 };

static const u8 SIGNATURE[11] = {'P', 'G', 'C', 'O', 'P', 'Y', '\n', 0xff, '\r', '\n', 0};

/* PostgreSQL reads the head before there is a line. */
static NORETURN void
bad_head(CopyIn *c, const char *message)
{
    c->told = true;
    err_throw(ERR_BAD_COPY_FILE_FORMAT, "%s", message);
}

static const u8 *
read_head(CopyIn *c, const u8 *p, const u8 *end)
{
    size_t have = (size_t)(end - p);
    if ((have && memcmp(p, SIGNATURE, MIN(have, sizeof SIGNATURE)) != 0) || (c->finishing && have < sizeof SIGNATURE))
        bad_head(c, "COPY file signature not recognized");
    u32 flags = have < FLAGS_END ? 0 : get_be32(p + sizeof SIGNATURE);
    if (flags & FLAG_OIDS)
        bad_head(c, "invalid COPY file header (WITH OIDS)");
    if (flags >> 16)
        bad_head(c, "unrecognized critical flags in COPY file header");
    if (c->finishing && have < HEAD_BYTES)
        bad_head(c, have < FLAGS_END ? "invalid COPY file header (missing flags)" : "invalid COPY file header (missing length)");
    if (have < HEAD_BYTES)
        return NULL;
    u32 extension = get_be32(p + FLAGS_END);
    if (extension > INT32_MAX)
        bad_head(c, "invalid COPY file header (missing length)");
    if (c->finishing && have - HEAD_BYTES < extension)
        bad_head(c, "invalid COPY file header (wrong length)");
    if (have - HEAD_BYTES < extension)
        return NULL;
    c->binary_head_read = true;
    return p + HEAD_BYTES + extension;
}

/* A finite numeric as an integer of 10^-scale when that is exact and short. */
static bool
decimal_of(const u8 *p, u32 len, u32 scale, i128 *ret)
{
    if (len < NUMERIC_HEAD_BYTES)
        return false;
    i32 digits = (i16)get_be16(p), weight = (i16)get_be16(p + 2);
    u16 sign = get_be16(p + 4);
    if ((sign & ~NUMERIC_NEGATIVE) != 0 || digits < 0 || len != NUMERIC_HEAD_BYTES + 2 * (u32)digits || weight > 7 || digits > 9)
        return false;
    i128 v = 0;
    for (i32 i = 0; i < digits; i++) {
        i32 power = 4 * (weight - i) + (i32)scale;
        u32 d = get_be16(p + NUMERIC_HEAD_BYTES + 2 * i);
        if (d > 9999 || power > 33 || power < -4)
            return false;
        if (power >= 0)
            v += (i128)d * POW10_I128[power];
        else if (d % (u32)POW10_I64[-power] == 0)
            v += d / (u32)POW10_I64[-power];
        else
            return false;
    }
    *ret = sign ? -v : v;
    return true;
}

#define STORE(f, c, T, v) (((T *)(void *)(f)->data)[(c)->row] = (v))

static bool
fast_decimal(CopyIn *c, CopyField *f, const u8 *p, u32 len)
{
    i128 v, limit = f->fast == FAST_NUM ? 0 : POW10_I128[numeric_precision(f->def.typmod)];
    u32 scale = f->fast == FAST_NUM ? (len >= NUMERIC_HEAD_BYTES ? get_be16(p + 6) : 0u) : f->scale;
    if (scale > 16 || !decimal_of(p, len, scale, &v))
        return false;
    if (f->fast == FAST_NUM) {
        if (v >= POW10_I128[NUM_MAX_DIGITS] || v <= -POW10_I128[NUM_MAX_DIGITS])
            return false;
        STORE(f, c, Num, num_make(v, scale));
        return true;
    }
    if (v >= limit || v <= -limit)
        return false;
    if (f->fast == FAST_D64)
        STORE(f, c, i64, (i64)v);
    else
        STORE(f, c, i128, v);
    return true;
}

/* Dates and timestamps have a range to be checked, infinities aside. */
static bool
fast_time(CopyIn *c, CopyField *f, const u8 *p, u32 len)
{
    static const i64 YEARS = 100000;
    if (f->fast == FAST_DATE) {
        i32 v = len == 4 ? (i32)get_be32(p) : INT32_MIN;
        if (v < -2000 * 365 || v > YEARS * 365)
            return false;
        STORE(f, c, i32, v);
        return true;
    }
    i64 v = len == 8 ? (i64)get_be64(p) : INT64_MIN;
    if (v < -2000 * 365 * USEC_PER_DAY || v > YEARS * 365 * USEC_PER_DAY)
        return false;
    STORE(f, c, i64, v);
    return true;
}

static bool
fast_value(CopyIn *c, CopyField *f, const u8 *p, u32 len)
{
    switch (f->fast) {
    case FAST_I16: return len == 2 && (STORE(f, c, u16, get_be16(p)), true);
    case FAST_I32:
    case FAST_F32: return len == 4 && (STORE(f, c, u32, get_be32(p)), true);
    case FAST_I64:
    case FAST_F64: return len == 8 && (STORE(f, c, u64, get_be64(p)), true);
    case FAST_BOOL: return len == 1 && (STORE(f, c, u8, *p != 0), true);
    case FAST_D64:
    case FAST_D128:
    case FAST_NUM: return fast_decimal(c, f, p, len);
    case FAST_DATE:
    case FAST_TS:
    case FAST_TSTZ: return fast_time(c, f, p, len);
    case FAST_STR: copy_store_str(c, f, (Str){(const char *)p, len}, false); return true;
    case FAST_NONE: break;
    }
    return false;
}

static void
store(CopyIn *c, CopyField *f, const u8 *p, u32 len)
{
    Value v;
    Error err;
    if (LIKELY(fast_value(c, f, p, len))) {
        f->nulls[c->row] = 0;
        return;
    }
    arena_reset(c->value);
    if (!value_recv(c->value, f->def.type, f->def.typmod, p, len, &v, &err))
        copy_value_error(c, f, &err, NULL);
    copy_store_value(c, f, &v);
}

/* The tuple ends in the middle of a field: to be tried again, unless nothing more will come. */
static const u8 *
incomplete(CopyIn *c, const CopyField *f)
{
    Error err;
    if (c->finishing) {
        error_set(&err, ERR_BAD_COPY_FILE_FORMAT, "unexpected EOF in COPY data");
        copy_value_error(c, f, &err, NULL);
    }
    c->line--;
    return NULL;
}

static NORETURN void
too_long(CopyIn *c, const CopyField *f)
{
    Error err;
    error_set(&err, ERR_PROGRAM_LIMIT_EXCEEDED, "out of memory");
    copy_value_error(c, f, &err, NULL);
}

const u8 *
copy_binary_row(CopyIn *c, const u8 *p, const u8 *end)
{
    if (UNLIKELY(!c->binary_head_read))
        return read_head(c, p, end);
    if (end - p < 2)
        return NULL;
    i32 count = (i16)get_be16(p);
    p += 2;
    if (count == -1) {
        c->line++; /* as PostgreSQL counts */
        c->done = true;
        return p;
    }
    c->line++;
    if (count != (i32)c->spec.column_count) {
        Error err;
        error_set(&err, ERR_BAD_COPY_FILE_FORMAT, "row field count is %d, expected %u", count, c->spec.column_count);
        error_context(&err, "COPY %s, line %llu", c->spec.relation, (unsigned long long)c->line);
        c->told = true;
        err_rethrow(&err);
    }
    for (i32 i = 0; i < count; i++) {
        CopyField *f = &c->fields[i];
        Error err;
        if (end - p < 4)
            return incomplete(c, f);
        i32 len = (i32)get_be32(p);
        p += 4;
        if (len == -1) {
            copy_store_null(c, f);
            continue;
        }
        if (len < 0) {
            error_set(&err, ERR_BAD_COPY_FILE_FORMAT, "invalid field size");
            copy_value_error(c, f, &err, NULL);
        }
        if (len >= LONGEST)
            too_long(c, f);
        if (end - p < len)
            return incomplete(c, f);
        store(c, f, p, (u32)len);
        p += len;
    }
    c->row++;
    return p;
}
