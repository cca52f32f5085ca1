/*
 * integer.c
 *    Text to integer, oid and boolean, with the spellings PostgreSQL 16 reads: 42, -7, 0x1F, 0o17, 0b101, 1_000.
 *
 * Plain decimals of up to 18 digits take a short path; everything else the general one, which also finds what to say.
 */
#include "common/type/inside.h"

static bool
out_of_range(Error *err, TypeId t, Str in)
{
    Str shown = text_shown(in);
    return error_set(err, ERR_NUMERIC_OUT_OF_RANGE, "value \"%.*s\" is out of range for type %s", (int)shown.len,
                     shown.ptr, type_name(t));
}

static int
digit_value(char c)
{
    if (is_digit(c))
        return c - '0';
    c = to_lower(c);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : 99;
}

typedef enum Scan { SCAN_OK, SCAN_SYNTAX, SCAN_RANGE } Scan;

/* The whole of s as digits with optional base prefix and single underscores between digits. */
static Scan
scan_magnitude(Str s, u64 *ret)
{
    u32 i = 0, base = 10;
    if (s.len > 2 && s.ptr[0] == '0') {
        char c = to_lower(s.ptr[1]);
        base = c == 'x' ? 16 : c == 'o' ? 8 : c == 'b' ? 2 : 10;
        i = base == 10 ? 0 : 2;
    }
    /* After a base prefix an underscore may come first. */
    bool after_digit = i == 2, any = false, range = false;
    u64 v = 0;
    for (; i < s.len; i++) {
        if (s.ptr[i] == '_' && after_digit) {
            after_digit = false;
            continue;
        }
        int d = digit_value(s.ptr[i]);
        if (d >= (int)base)
            return SCAN_SYNTAX;
        range |= __builtin_mul_overflow(v, base, &v) || __builtin_add_overflow(v, (u64)d, &v);
        after_digit = any = true;
    }
    if (!any || !after_digit)
        return SCAN_SYNTAX;
    *ret = v;
    return range ? SCAN_RANGE : SCAN_OK;
}

static void
range_of(TypeId t, i64 *ret_min, u64 *ret_max)
{
    switch (t) {
    case TYPE_INT2:
        *ret_min = INT16_MIN;
        *ret_max = INT16_MAX;
        return;
    case TYPE_INT4:
        *ret_min = INT32_MIN;
        *ret_max = INT32_MAX;
        return;
    case TYPE_OID:
    case TYPE_XID:
    case TYPE_CID: /* a minus sign wraps, as in PostgreSQL */
        *ret_min = INT32_MIN;
        *ret_max = UINT32_MAX;
        return;
    default:
        *ret_min = INT64_MIN;
        *ret_max = INT64_MAX;
    }
}

static bool
scan_integer(Str in, TypeId t, i64 *ret, Error *err)
{
    Str s = text_trim(in);
    bool negative = s.len > 0 && s.ptr[0] == '-';
    if (negative || (s.len > 0 && s.ptr[0] == '+'))
        s.ptr++, s.len--;
    u64 v, max;
    i64 min;
    Scan scan = scan_magnitude(s, &v);
    if (scan == SCAN_SYNTAX)
        return text_bad_syntax(err, t, in);
    range_of(t, &min, &max);
    if (scan == SCAN_RANGE || v > (negative ? -(u64)min : max))
        return out_of_range(err, t, in);
    *ret = negative ? (i64)-v : (i64)v;
    return true;
}

bool
int_in(Str in, TypeId t, i64 *ret, Error *err)
{
    u32 i = in.len > 0 && in.ptr[0] == '-', start = i;
    u64 v = 0;
    while (i < in.len && is_digit(in.ptr[i]))
        v = v * 10 + (u64)(in.ptr[i++] - '0');
    if (UNLIKELY(i < in.len || i == start || i - start > 18))
        return scan_integer(in, t, ret, err);
    i64 min;
    u64 max;
    range_of(t, &min, &max);
    if (UNLIKELY(v > (start ? -(u64)min : max)))
        return out_of_range(err, t, in);
    *ret = start ? -(i64)v : (i64)v;
    return true;
}

/* Is s a non-empty start of `word` of at least `min` characters? */
static bool
is_start_of(Str s, const char *word, u32 min)
{
    if (s.len < min || s.len > strlen(word))
        return false;
    for (u32 i = 0; i < s.len; i++)
        if (to_lower(s.ptr[i]) != word[i])
            return false;
    return true;
}

bool
bool_in(Str in, bool *ret, Error *err)
{
    Str s = text_trim(in);
    if (is_start_of(s, "true", 1) || is_start_of(s, "yes", 1) || is_start_of(s, "on", 2) || is_start_of(s, "1", 1))
        *ret = true;
    else if (is_start_of(s, "false", 1) || is_start_of(s, "no", 1) || is_start_of(s, "off", 2) ||
             is_start_of(s, "0", 1))
        *ret = false;
    else
        return text_bad_syntax(err, TYPE_BOOL, in);
    return true;
}
