/*
 * inside.h
 *    What the files of this room share: text forms of single kinds of value. No other room includes it.
 *
 * Writers of text put at most OUT_MAX bytes, without a terminator, and return how many. Readers take the whole input
 * (blanks around it are allowed where PostgreSQL allows them) and name it in their error.
 */
#ifndef INSIDE_H
#define INSIDE_H

#include "common/base/env.h"
#include "common/type/datetime.h"
#include "common/type/numeric.h"
#include "common/type/type.h"
#include "common/type/zone.h"

enum { OUT_MAX = 128 };

/* As isspace() in the C locale. */
static inline bool
is_space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static inline bool
is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static inline char
to_lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c + 32) : c;
}

/* The input as an error message shows it: cut at a character border so that it fits into an Error. */
Str text_shown(Str in);
Str text_trim(Str in);
/* Equal without regard to case; `lower` is a lower-case literal. */
bool text_is(Str in, const char *lower);
/* Always false: 22P02 invalid input syntax for type t. */
bool text_bad_syntax(Error *err, TypeId t, Str in);

/* digits.c */
extern const char DIGIT_PAIRS[201];
u32 digits_u64(u64 v, char *to);
u32 digits_i64(i64 v, char *to);
u32 digits_u128(u128 v, char *to);
/* Exactly `width` digits, zeros in front. */
void digits_fixed(u64 v, u32 width, char *to);

/* integer.c */
bool int_in(Str in, TypeId t, i64 *ret, Error *err);
bool bool_in(Str in, bool *ret, Error *err);

/* float.c */
bool f64_in(Str in, double *ret, Error *err);
bool f32_in(Str in, float *ret, Error *err);
u32 f64_out(double v, i32 extra_float_digits, char *to);
u32 f32_out(float v, i32 extra_float_digits, char *to);

/* numeric.c, numeric_io.c */
enum { NUM_BASE_DIGITS = 4 }; /* PostgreSQL's own digit is base 10,000: its rules for scale show that */
u32 dec_digits(u128 v); /* decimal digits of v, 0 for 0 */
/* PostgreSQL's stored digits of v x 10^-scale, most significant first, without zeros at either end; weight 0 for 0. */
enum { NUM_BASE_DIGITS_MAX = 12 };
u32 num_base_digits(u128 v, u32 scale, u16 digits[NUM_BASE_DIGITS_MAX], i32 *ret_weight);
u32 dec64_out(i64 value, u32 scale, char *to);
bool num_parse(Str in, i32 typmod, Num *ret, Error *err);
bool num_field_overflow(Error *err, i32 typmod, bool infinite);
bool num_recv(const u8 *data, u32 len, i32 typmod, Num *ret, Error *err);
void num_send(ByteBuf *to, const Num *n);
/* Round to typmod with the error PostgreSQL gives. */
bool num_coerce(const Num *a, i32 typmod, Num *ret, Error *err);
/* A finite decimal text "123.45e-6" read at the scale of typmod; for floats. */
NumStatus num_from_text(Str in, i32 typmod, Num *ret);

/* datetime*.c */
bool date_valid(i64 days);
bool timestamp_valid(i64 us);
/* t is the wall clock of a zone offset_us east of UTC. */
bool timestamp_from_local(const CivilTime *t, i64 offset_us, i64 *ret_us);
bool timestamp_from_zone(const CivilTime *t, const Zone *zone, i64 *ret_us);
static inline DateOrder
format_order(const TypeFormat *f)
{
    return f ? (DateOrder)f->date_order : DATE_ORDER_MDY;
}

/* The session's zone; NULL is UTC. */
static inline const Zone *
format_zone(const TypeFormat *f)
{
    return f ? f->zone : NULL;
}
/* What 'now' is; microseconds since 2000-01-01 UTC. */
static inline i64
format_now_us(const TypeFormat *f)
{
    return f && f->now_us ? f->now_us : env->wall_us();
}
bool date_in(const TypeFormat *f, Str in, i32 *ret, Error *err);
/* t tells TIMESTAMP (local, a zone in the text is ignored) from TIMESTAMPTZ. */
bool timestamp_in(const TypeFormat *f, TypeId t, i32 typmod, Str in, i64 *ret, Error *err);
u32 date_out(const TypeFormat *f, i32 days, char *to);
u32 timestamp_out(const TypeFormat *f, i64 us, char *to);
u32 timestamptz_out(const TypeFormat *f, i64 us, char *to);
u32 offset_out(i32 offset_s, char *to);
/* Round to typmod's decimals of a second, -1 = leave. */
i64 timestamp_typmod(i64 us, i32 typmod);

/* value.c */
i16 char_in(Str in);

/* bytea.c */
bool bytea_in(Arena *a, Str in, Str *ret, Error *err);
void bytea_out(ByteBuf *to, const TypeFormat *f, Str v);

/* inet.c */
bool inet_in(Arena *a, Str in, Str *ret, Error *err);
bool inet_recv(Arena *a, const u8 *data, u32 len, Str *ret, Error *err);
void inet_send(ByteBuf *to, Str text);

/* array.c, array_io.c */
int array_cmp(TypeId elem, Str x, Str y);
bool array_in(Arena *a, const TypeFormat *f, TypeId elem, i32 typmod, Str in, Str *ret, Error *err);
void array_out(ByteBuf *to, const TypeFormat *f, TypeId elem, Str bytes);
bool array_recv(Arena *a, TypeId elem, i32 typmod, const u8 *data, u32 len, Str *ret, Error *err);
void array_send(ByteBuf *to, TypeId elem, Str bytes);
/* Element by element; v is an array. */
bool array_cast(Arena *a, const TypeFormat *f, const Value *v, TypeId to, i32 typmod, bool explicit_cast, Str *ret, Error *err);

/* catalog_types.c */
bool reg_in(Arena *a, const TypeFormat *f, TypeId t, Str in, i64 *ret, Error *err);
void reg_out(ByteBuf *to, const TypeFormat *f, TypeId t, u32 oid);
bool tid_in(Str in, i64 *ret, Error *err);
u32 tid_out(i64 v, char *to);
bool vector_in(Arena *a, TypeId t, Str in, Str *ret, Error *err);
void vector_out(ByteBuf *to, TypeId t, Str bytes);

/* uuid.c */
bool uuid_in(Str in, Pair *ret, Error *err);
u32 uuid_out(const Pair *v, char *to);

/* time.c */
/* The offset of the session's zone at this time of the current day. */
i32 offset_today_s(const TypeFormat *f, i64 time_us);
bool time_in(const TypeFormat *f, i32 typmod, Str in, i64 *ret, Error *err);
bool timetz_in(const TypeFormat *f, i32 typmod, Str in, Pair *ret, Error *err);
u32 time_out(i64 us, char *to);
u32 timetz_out(const Pair *p, char *to);

/* interval_io.c */
bool interval_in(const TypeFormat *f, i32 typmod, Str in, Interval *ret, Error *err);
u32 interval_out(const TypeFormat *f, const Interval *v, char *to);

/* utf8.c */
/* Bytes of the first `chars` characters. */
u32 utf8_prefix(Str s, u32 chars);

#endif
