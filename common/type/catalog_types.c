/*
 * catalog_types.c
 *    Text and binary forms of the catalog's own types: regclass and its kin, tid, int2vector and oidvector.
 *
 * regclass and its kin are oids that are written as names. Who knows the names is a matter of the session (TypeFormat.catalog); digits and "-" are read
 * without it. A vector is an array of one dimension, counted from 0, whose text is its elements with blanks between them; its binary form is that of
 * the array.
 */
#include "common/type/array.h"
#include "common/type/inside.h"

#include <stdio.h>

static bool
bad_syntax(Error *err, TypeId t, Str in)
{
    Str shown = text_shown(in);
    return error_set(err, ERR_INVALID_TEXT_REPRESENTATION, "invalid input syntax for type %s: \"%.*s\"", type_name(t), (int)shown.len, shown.ptr);
}

/* ---- oids with names ---- */

static bool
all_digits(Str s)
{
    for (u32 i = 0; i < s.len; i++)
        if (!is_digit(s.ptr[i]))
            return false;
    return s.len > 0;
}

bool
reg_in(Arena *a, const TypeFormat *f, TypeId t, Str in, i64 *ret, Error *err)
{
    u32 oid;
    if (!utf8_check(in, err))
        return false;
    if (str_eq(in, STR_LIT("-"))) {
        *ret = 0;
        return true;
    }
    if (all_digits(in))
        return int_in(in, TYPE_OID, ret, err);
    if (!f || !f->catalog)
        return error_set(err, ERR_FEATURE_NOT_SUPPORTED, "a name of type %s is not supported here", type_name(t));
    if (!f->catalog->read(f->catalog, a, t, in, &oid, err))
        return false;
    *ret = oid;
    return true;
}

void
reg_out(ByteBuf *to, const TypeFormat *f, TypeId t, u32 oid)
{
    if (!oid)
        buf_u8(to, '-');
    else if (f && f->catalog)
        f->catalog->write(f->catalog, t, oid, to);
    else
        buf_printf(to, "%u", oid);
}

/* ---- tid ---- */

/* Digits up to `end`, which is taken too. */
static bool
tid_part(const char **at, const char *stop, char end, u64 most, u64 *ret)
{
    const char *p = *at;
    u64 v = 0;
    for (; p < stop && is_digit(*p); p++)
        if ((v = v * 10 + (u64)(*p - '0')) > most)
            return false;
    if (p == *at || p >= stop || *p != end)
        return false;
    *at = p + 1;
    *ret = v;
    return true;
}

bool
tid_in(Str in, i64 *ret, Error *err)
{
    const char *at = in.ptr, *stop = in.ptr + in.len;
    u64 block, offset;
    while (at < stop && is_space(*at))
        at++;
    if (at >= stop || *at++ != '(')
        return bad_syntax(err, TYPE_TID, in);
    while (at < stop && is_space(*at))
        at++;
    if (!tid_part(&at, stop, ',', UINT32_MAX, &block) || !tid_part(&at, stop, ')', UINT16_MAX, &offset))
        return bad_syntax(err, TYPE_TID, in);
    *ret = (i64)(block << 16 | offset);
    return true;
}

u32
tid_out(i64 v, char *to)
{
    return (u32)snprintf(to, OUT_MAX, "(%llu,%u)", (unsigned long long)v >> 16, (u32)v & 0xffff);
}

/* ---- vectors ---- */

bool
vector_in(Arena *a, TypeId t, Str in, Str *ret, Error *err)
{
    TypeId elem = type_element(t);
    ArrayBuild b = array_build(a, elem);
    for (u32 at = 0; at < in.len;) {
        if (is_space(in.ptr[at])) {
            at++;
            continue;
        }
        u32 first = at;
        while (at < in.len && !is_space(in.ptr[at]))
            at++;
        Value v;
        if (!value_in(a, NULL, elem, -1, (Str){in.ptr + first, at - first}, &v, err) || !array_add(&b, &v, err))
            return false;
    }
    ArrayShape shape = {.ndim = 1, .dims = {(i32)b.count}};
    return array_shape_check(&shape, err) && array_finish(&b, &shape, ret, err);
}

void
vector_out(ByteBuf *to, TypeId t, Str bytes)
{
    Array a = array_open(type_element(t), bytes);
    ArrayWalk w = array_walk(&a);
    ByteBuf plain = {0};
    Value v;
    for (u32 i = 0; array_next_plain(&w, &plain, &v); i++) {
        if (i)
            buf_u8(to, ' ');
        value_out(to, NULL, &v);
    }
    buf_free(&plain);
}
