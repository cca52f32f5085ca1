/*
 * type_text.h
 *    For tests of types: what a text reads as, through text and binary forms, and what it is cast to; errors as "SQLSTATE message".
 */
#ifndef TYPE_TEXT_H
#define TYPE_TEXT_H

#include "common/type/datetime.h"
#include "common/type/numeric.h"
#include "common/type/type.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>

static Arena *arena;
static TypeFormat FORMAT = {.extra_float_digits = 1};
static ByteBuf buf;

/* The text that `in`, read as t, is written as; or the error's SQLSTATE and message. */
static UNUSED const char *
round_trip_mod(TypeId t, i32 typmod, const char *in)
{
    static char text[1024];
    Value v;
    Error err;
    buf_clear(&buf);
    if (!value_in(arena, &FORMAT, t, typmod, str_of(in), &v, &err)) {
        snprintf(text, sizeof text, "%s %s", errcode_sqlstate(err.code), err.message);
        return text;
    }
    value_out(&buf, &FORMAT, &v);
    buf_u8(&buf, 0);
    /* The binary form reads back as the same text. */
    ByteBuf wire = {0}, again = {0};
    Value back;
    value_send(&wire, &v);
    ck_assert(value_recv(arena, t, typmod, wire.data ? wire.data : (u8 *)"", (u32)wire.len, &back, &err));
    value_out(&again, &FORMAT, &back);
    buf_u8(&again, 0);
    ck_assert_str_eq((char *)buf.data, (char *)again.data);
    if (type_wire_len(t) > 0)
        ck_assert_uint_eq(wire.len, (size_t)type_wire_len(t));
    buf_free(&wire);
    buf_free(&again);
    return (const char *)buf.data;
}

static UNUSED const char *
round_trip(TypeId t, const char *in)
{
    return round_trip_mod(t, -1, in);
}

static UNUSED const char *
cast(TypeId from, const char *in, TypeId to, i32 typmod)
{
    static char text[1024];
    Value v, out;
    Error err;
    ck_assert(value_in(arena, &FORMAT, from, -1, str_of(in), &v, &err));
    if (!value_cast(arena, &FORMAT, &v, to, typmod, true, &out, &err)) {
        snprintf(text, sizeof text, "%s %s", errcode_sqlstate(err.code), err.message);
        return text;
    }
    buf_clear(&buf);
    value_out(&buf, &FORMAT, &out);
    buf_u8(&buf, 0);
    return (const char *)buf.data;
}

#endif
