/*
 * type_cases.c
 *    Random cases for the types, written either as SQL for PostgreSQL or as the answers of this code: type_oracle
 *    compares the two.
 *
 *    type_cases sql|ours SEED COUNT. The same seed gives the same cases in both modes. An error is written as its
 *    SQLSTATE and message.
 */
#include "common/type/datetime.h"
#include "common/type/numeric.h"
#include "common/type/type.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static u64 state;
static bool as_sql;
static Arena *arena;
static ByteBuf buf;
static const TypeFormat FORMAT = {.extra_float_digits = 1};

static u64
roll(u64 below)
{
    state += 0x9e3779b97f4a7c15ull;
    u64 x = state;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
    x ^= x >> 31;
    return below ? x % below : x;
}

#define PICK(list) ((list)[roll(COUNT_OF(list))])

/* ---- answers ---- */

static void
answer_error(const Error *err)
{
    printf("%s %s\n", errcode_sqlstate(err->code), err->message);
}

static void
answer_value(const Value *v)
{
    if (v->type == TYPE_BOOL) {
        puts(v->b ? "true" : "false");
        return;
    }
    buf_clear(&buf);
    value_out(&buf, &FORMAT, v);
    printf("%.*s\n", (int)buf.len, (char *)buf.data);
}

static void
answer_num(NumStatus status, const Num *n)
{
    if (status != NUM_OK) {
        printf("status %d\n", (int)status);
        return;
    }
    Value v = {.type = TYPE_NUMERIC, .num = *n};
    answer_value(&v);
}

/* An expression for PostgreSQL: its text, or the error it gives. */
static void
ask(const char *sql)
{
    printf("select pg_temp.try($q$%s$q$);\n", sql);
}

/* ---- numbers ---- */

static const char *
random_decimal(char *to)
{
    u32 whole = (u32)roll(roll(3) ? 8 : 20), places = (u32)roll(roll(3) ? 7 : 18), len = 0;
    if (roll(3) == 0)
        to[len++] = '-';
    if (whole == 0)
        to[len++] = '0';
    for (u32 i = 0; i < whole; i++)
        to[len++] = (char)('0' + (i == 0 ? 1 + roll(9) : roll(4) ? roll(10) : 0));
    if (places > 0)
        to[len++] = '.';
    for (u32 i = 0; i < places; i++)
        to[len++] = (char)('0' + (roll(4) ? roll(10) : roll(2) * 9));
    to[len] = 0;
    static const char *const SPECIAL[] = {"0", "1", "-1", "0.00", "10", "100000", "0.5", "2", "NaN", "Infinity", "-Infinity",
                                          "0.0001", "99999999999999999999", "1.0000000000000000001", "0.99", "1.05", "9999"};
    if (roll(12) == 0)
        strcpy(to, PICK(SPECIAL));
    return to;
}

static Num
number(const char *text)
{
    Num n;
    Error err;
    if (!num_in(str_of(text), &n, &err)) {
        fprintf(stderr, "%s: %s\n", text, err.message);
        exit(2);
    }
    return n;
}

static void
case_arithmetic(void)
{
    static const struct {
        const char *op;
        NumStatus (*fn)(const Num *, const Num *, Num *);
    } OPS[] = {{"+", num_add}, {"-", num_sub}, {"*", num_mul}, {"/", num_div}, {"/", num_div}, {"%", num_mod}};
    char a[64], b[64], sql[256];
    u64 op = roll(COUNT_OF(OPS));
    random_decimal(a);
    random_decimal(b);
    snprintf(sql, sizeof sql, "select ('%s'::numeric %s '%s'::numeric)::text", a, OPS[op].op, b);
    if (as_sql) {
        ask(sql);
        return;
    }
    Num x = number(a), y = number(b), r;
    NumStatus status = OPS[op].fn(&x, &y, &r);
    answer_num(status, &r);
}

static void
case_rounding(void)
{
    static const struct {
        const char *name;
        NumStatus (*fn)(const Num *, i32, Num *);
    } OPS[] = {{"round", num_round}, {"trunc", num_trunc}};
    char a[64], sql[256];
    u64 op = roll(COUNT_OF(OPS));
    i32 scale = (i32)roll(24) - 8;
    random_decimal(a);
    snprintf(sql, sizeof sql, "select %s('%s'::numeric, %d)::text", OPS[op].name, a, scale);
    if (as_sql) {
        ask(sql);
        return;
    }
    Num x = number(a), r;
    answer_num(OPS[op].fn(&x, scale, &r), &r);
}

static NumStatus
log10_of(const Num *a, Num *ret)
{
    Num ten = num_make(10, 0);
    return num_log(&ten, a, ret);
}

static void
case_function(void)
{
    static const struct {
        const char *name;
        NumStatus (*fn)(const Num *, Num *);
    } OPS[] = {{"sqrt", num_sqrt}, {"exp", num_exp}, {"ln", num_ln}, {"log", log10_of}, {"ceil", num_ceil}, {"floor", num_floor}};
    char a[64], sql[256];
    u64 op = roll(COUNT_OF(OPS));
    random_decimal(a);
    if (op == 1 && strlen(a) > 5 && !strchr(a, 'y'))
        memmove(a, a + strlen(a) - 5, 6);
    snprintf(sql, sizeof sql, "select %s('%s'::numeric)::text", OPS[op].name, a);
    if (as_sql) {
        ask(sql);
        return;
    }
    Num x = number(a), r;
    answer_num(OPS[op].fn(&x, &r), &r);
}

static void
case_power(void)
{
    char a[64], b[64], sql[256];
    random_decimal(a);
    if (roll(2))
        snprintf(b, sizeof b, "%d", (int)roll(60) - 30);
    else
        snprintf(b, sizeof b, "%d.%u", (int)roll(20) - 10, (unsigned)roll(1000));
    snprintf(sql, sizeof sql, "select power('%s'::numeric, '%s'::numeric)::text", a, b);
    if (as_sql) {
        ask(sql);
        return;
    }
    Num x = number(a), y = number(b), r;
    answer_num(num_power(&x, &y, &r), &r);
}

static void
case_avg(void)
{
    char sql[512];
    u32 count = 1 + (u32)roll(7), scale = (u32)roll(6), at;
    i128 sum = 0;
    at = (u32)snprintf(sql, sizeof sql, "select avg(x)::text from (values ");
    for (u32 i = 0; i < count; i++) {
        i64 v = (i64)roll((u64)POW10_I64[1 + roll(17)]) - (i64)roll(1000);
        char text[48];
        text[dec_out(v, scale, text)] = 0;
        sum += v;
        at += (u32)snprintf(sql + at, sizeof sql - at, "%s(%s::numeric)", i ? "," : "", text);
    }
    snprintf(sql + at, sizeof sql - at, ") v(x)");
    if (as_sql) {
        ask(sql);
        return;
    }
    Num r;
    answer_num(num_avg(sum, scale, count, &r), &r);
}

/* ---- text in, text out ---- */

static void
try_text(const char *type_text, TypeId t, i32 typmod, const char *in)
{
    char sql[512];
    snprintf(sql, sizeof sql, "select ($v$%s$v$::%s)::text", in, type_text);
    if (as_sql) {
        ask(sql);
        return;
    }
    Value v;
    Error err;
    if (value_in(arena, &FORMAT, t, typmod, str_of(in), &v, &err))
        answer_value(&v);
    else
        answer_error(&err);
}

static void
case_decimal_text(void)
{
    char a[80], type[40];
    random_decimal(a);
    static const char *const TAILS[] = {"", "", "", "e3", "E-7", " ", "e", "x", "e+05", "."};
    strcat(a, PICK(TAILS));
    u32 precision = 1 + (u32)roll(38), scale = (u32)roll(precision + 1);
    if (roll(2)) {
        snprintf(type, sizeof type, "numeric(%u,%u)", precision, scale);
        try_text(type, TYPE_NUMERIC, numeric_typmod(precision, scale), a);
    } else {
        try_text("numeric", TYPE_NUMERIC, -1, a);
    }
}

static void
case_integer_text(void)
{
    static const char *const TEXTS[] = {"", " ", "-", "+", "1 ", " 12", "1.0", "--1", "9999999999", "-2147483648", "2147483648",
                                        "32768", "-32769", "9223372036854775807", "9223372036854775808", "abc", "1e3", "+7",
                                        "99999999999999999999999999", "0", "0x1F", "0X_1f", "0b12", "0o17", "1_000", "1__0", "1_", "_1", "0x", "-0x8000", "0b1_1", "1_0.5", "1_0.5_0e1_0",
                                        "1._5", "0x1.5", "-0x80000000", "0xg", "-0", "00012", "4294967296", "\t5", "1,000"};
    static const struct {
        const char *name;
        TypeId t;
    } TYPES[] = {{"int2", TYPE_INT2}, {"int4", TYPE_INT4}, {"int8", TYPE_INT8}, {"bool", TYPE_BOOL},
                 {"float8", TYPE_FLOAT8}, {"float4", TYPE_FLOAT4}, {"numeric", TYPE_NUMERIC}};
    u64 t = roll(COUNT_OF(TYPES));
    const char *text = PICK(TEXTS);
    try_text(TYPES[t].name, TYPES[t].t, -1, text);
}

static void
case_double(void)
{
    u64 bits = roll(0);
    char text[64];
    double v;
    switch (roll(6)) {
    case 0: /* a power of two */
        bits = (bits % 2047) << 52;
        break;
    case 1: /* subnormal */
        bits &= 0xfffffffffffffull >> roll(52);
        break;
    case 2: { /* what people write */
        v = (double)(i64)roll(100000000) / (double)POW10_I64[roll(9)];
        memcpy(&bits, &v, 8);
        break;
    }
    case 3: /* whole numbers with many digits: exactly between two shorter decimals now and then */
        v = (double)(bits >> roll(14));
        memcpy(&bits, &v, 8);
        break;
    default:
        break;
    }
    memcpy(&v, &bits, 8);
    if (!isfinite(v))
        v = 1;
    snprintf(text, sizeof text, "%.17g", v);
    try_text("float8", TYPE_FLOAT8, -1, text);
}

static void
case_float(void)
{
    u32 bits = (u32)roll(0);
    char text[64];
    float v;
    switch (roll(4)) {
    case 0:
        bits = (bits % 255) << 23;
        break;
    case 1:
        bits &= 0x7fffffu >> roll(23);
        break;
    default:
        break;
    }
    memcpy(&v, &bits, 4);
    if (!isfinite(v))
        v = 1;
    snprintf(text, sizeof text, roll(2) ? "%.9g" : "%.12g", (double)v);
    try_text("float4", TYPE_FLOAT4, -1, text);
}

static void
case_cast(void)
{
    static const struct {
        const char *name;
        TypeId t;
    } TYPES[] = {{"int2", TYPE_INT2}, {"int4", TYPE_INT4}, {"int8", TYPE_INT8}, {"numeric", TYPE_NUMERIC}, {"float8", TYPE_FLOAT8},
                 {"float4", TYPE_FLOAT4}};
    char a[64], sql[256];
    u64 from = roll(3) + 3, to = roll(COUNT_OF(TYPES));
    random_decimal(a);
    if (strlen(a) > 15)
        a[14] = 0;
    snprintf(sql, sizeof sql, "select ('%s'::%s::%s)::text", a, TYPES[from].name, TYPES[to].name);
    if (as_sql) {
        ask(sql);
        return;
    }
    Value v, out;
    Error err;
    if (value_in(arena, &FORMAT, TYPES[from].t, -1, str_of(a), &v, &err) &&
        value_cast(arena, &FORMAT, &v, TYPES[to].t, -1, true, &out, &err))
        answer_value(&out);
    else
        answer_error(&err);
}

/* Every type to every type. */
static void
case_cast_pair(void)
{
    static const struct {
        const char *name;
        TypeId t;
        i32 typmod;
        const char *samples[6];
    } TYPES[] = {
        {"bool", TYPE_BOOL, -1, {"t", "f", "t", "f", "t", "f"}},
        {"int2", TYPE_INT2, -1, {"0", "1", "-1", "32767", "-32768", "7"}},
        {"int4", TYPE_INT4, -1, {"0", "1", "-1", "2147483647", "-2147483648", "40000"}},
        {"int8", TYPE_INT8, -1, {"0", "1", "-1", "9223372036854775807", "-9223372036854775808", "4294967295"}},
        {"float4", TYPE_FLOAT4, -1, {"0", "0.5", "-1.5", "3e38", "NaN", "-Infinity"}},
        {"float8", TYPE_FLOAT8, -1, {"2.5", "0.5", "-3.5", "1e20", "NaN", "Infinity"}},
        {"numeric", TYPE_NUMERIC, -1, {"0.5", "-1.5", "123456.789", "1e20", "NaN", "Infinity"}},
        {"numeric(6,2)", TYPE_NUMERIC, ((6 << 16) | 2) + 4, {"0.5", "-1.5", "1234.56", "-9999.99", "NaN", "0"}},
        {"text", TYPE_TEXT, -1, {"1", " true ", "2026-01-02", "1.5", "abc", "infinity"}},
        {"char(4)", TYPE_BPCHAR, 8, {"1", "t", "2026", "1.5", "abcd", "inf"}},
        {"varchar(4)", TYPE_VARCHAR, 8, {"1", "t", "2026", "1.5", "abcd", "inf"}},
        {"name", TYPE_NAME, -1, {"1", "true", "2026-01-02", "1.5", "abc", "now"}},
        {"date", TYPE_DATE, -1, {"2026-01-02", "0044-03-15 BC", "infinity", "-infinity", "5874897-12-31", "epoch"}},
        {"timestamp", TYPE_TIMESTAMP, -1, {"2026-01-02 03:04:05.678", "1999-12-31 23:59:59.9", "infinity", "-infinity", "294276-12-31", "epoch"}},
        {"timestamptz", TYPE_TIMESTAMPTZ, -1, {"2026-01-02 03:04:05.678", "0044-03-15 BC", "infinity", "-infinity", "294276-12-31", "epoch"}},
        {"timestamp(1)", TYPE_TIMESTAMP, 1, {"2026-01-02 03:04:05.678", "1999-12-31 23:59:59.95", "infinity", "-infinity", "294276-12-31", "epoch"}},
        {"oid", TYPE_OID, -1, {"0", "1", "4294967295", "2147483648", "26", "7"}},
    };
    u64 from = roll(COUNT_OF(TYPES)), to = roll(COUNT_OF(TYPES));
    const char *text = TYPES[from].samples[roll(6)];
    char sql[256];
    if (TYPES[from].t == TYPE_NAME && strcmp(text, "now") == 0)
        text = "x";
    snprintf(sql, sizeof sql, "select ('%s'::%s::%s)::text", text, TYPES[from].name, TYPES[to].name);
    if (as_sql) {
        ask(sql);
        return;
    }
    Value v, out;
    Error err;
    if (value_in(arena, &FORMAT, TYPES[from].t, TYPES[from].typmod, str_of(text), &v, &err) &&
        value_cast(arena, &FORMAT, &v, TYPES[to].t, TYPES[to].typmod, true, &out, &err)) {
        if (out.type == TYPE_BPCHAR) /* what ::text does */
            out.str = bpchar_trim(out.str);
        answer_value(&out);
    } else
        answer_error(&err);
}

/* ---- dates ---- */

static void
random_moment(char *to, size_t size)
{
    static const char *const DATES[] = {
        "2026-01-02", "2026/1/2", "2026.01.02", "20260102", "260102", "Jan 2 2026", "2 January 2026", "January 2, 2026", "2-Jan-2026",
        "2026-Jan-02", "Jan-2-26", "1/2/2026", "01/02/26", "13/1/2026", "2026.360", "2026-366", "2024 366", "J2451187", "julian 2451187",
        "2024-02-29", "2023-02-29", "99-12-31", "0001-01-01", "0000-01-01", "5874897-12-31", "5874898-01-01", "294276-12-31", "294277-01-01",
        "4713-11-24 BC", "4714-11-24 BC", "4714-11-23 BC", "44-03-15 BC", "today", "epoch", "infinity", "-infinity", "1.2.2026", "26-1-2",
        "Mon Jan 2 2026", "2026-13-01", "2026-00-10", "2026-01-32", "2026-1", "2026", "12", "jan 2026", "", "hello", "2026-01-02-03",
        "20260230", "2026 jan 2", "2 jan 26", "sept 5 2020", "2020-junk-05", "j2451187.5", "2026-01-02T", "Friday 2026-01-02",
        "100000-01-01", "9999-12-31", "10000-01-01", "tomorrow yesterday", "2026 01 02", "01 02 2026", "99999999999-01-01"};
    static const char *const TIMES[] = {"", "", "03:04:05", "03:04", "3:4:5.678", "23:59:59.9999999", "24:00:00", "24:00:01", "25:00",
                                        "23:59:60", "12:60", "030405", "0304", "03:04:05.123456", "03:04 PM", "12:30 am", "13:00 pm",
                                        "0:00 AM", "T03:04:05", "T030405", "T0304", "allballs", "05:06.7", "030405.678", "3:4:", "12:30:61", "at 5:00",
                                        "04:05:06.789-08:00", "040506-08", "040506.7-0830", "99:00", "1:2:3:4", "11:11:11."};
    static const char *const ZONES[] = {"", "", "", "Z", "+02", "-0830", "+05:30", " UTC", " GMT", "+16", "-15:59:59", " EST", " pst", " zulu", "+2:60",
                                        " europe/nowhere", " BC", " AD", "+1 BC", " junk", "+", " +3", "utc"};
    static const char *const GAPS[] = {" ", " ", " ", "T", "  ", ",", "", "_"};
    snprintf(to, size, "%s%s%s%s", PICK(DATES), PICK(GAPS), PICK(TIMES), PICK(ZONES));
}

static void
case_moment(void)
{
    char text[256];
    static const struct {
        const char *name;
        TypeId t;
        i32 typmod;
    } TYPES[] = {{"date", TYPE_DATE, -1}, {"timestamp", TYPE_TIMESTAMP, -1}, {"timestamptz", TYPE_TIMESTAMPTZ, -1},
                 {"timestamp(3)", TYPE_TIMESTAMP, 3}, {"timestamptz(0)", TYPE_TIMESTAMPTZ, 0}};
    u64 t = roll(COUNT_OF(TYPES));
    random_moment(text, sizeof text);
    try_text(TYPES[t].name, TYPES[t].t, TYPES[t].typmod, text);
}

static i64
random_timestamp(void)
{
    static const i64 SPANS[] = {1000000000000LL, 100000000000000000LL, 1000000000000000LL, 9000000000000000000LL};
    i64 span = PICK(SPANS), us = (i64)roll((u64)span);
    if (roll(3) == 0)
        us = -(us % 211000000000000000LL);
    return roll(3) == 0 ? us / USEC_PER_DAY * USEC_PER_DAY : us;
}

static void
case_field(void)
{
    static const char *const FIELDS[] = {
        "microseconds", "milliseconds", "second", "minute", "hour", "day", "week", "month", "quarter", "year", "decade", "century",
        "millennium", "dow", "isodow", "doy", "isoyear", "julian", "epoch"};
    i64 us = random_timestamp();
    const char *field = PICK(FIELDS);
    bool trunc = roll(2), date = !trunc && roll(2);
    char text[64], sql[256];
    Value v = {.type = TYPE_TIMESTAMP, .i64v = us};
    buf_clear(&buf);
    value_out(&buf, &FORMAT, &v);
    snprintf(text, sizeof text, "%.*s", (int)buf.len, (char *)buf.data);
    if (trunc)
        snprintf(sql, sizeof sql, "select date_trunc('%s', '%s'::timestamp)::text", field, text);
    else
        snprintf(sql, sizeof sql, "select extract(%s from '%s'::timestamp%s)::text", field, text, date ? "::date" : "");
    if (as_sql) {
        ask(sql);
        return;
    }
    DateField f = FIELD_COUNT;
    Num n;
    i64 day = us / USEC_PER_DAY - (us % USEC_PER_DAY < 0);
    if (!datefield_from_name(str_of(field), &f))
        printf("no field\n");
    else if (trunc && timestamp_trunc(f, us, &v.i64v))
        answer_value(&v);
    else if (!trunc && timestamp_extract(f, date ? day * USEC_PER_DAY : us, !date, 0, &n))
        answer_num(NUM_OK, &n);
    else
        printf("status 4\n");
}

int
main(int argc, char **argv)
{
    static void (*const CASES[])(void) = {case_arithmetic, case_arithmetic, case_rounding, case_function, case_power, case_avg,
                                          case_decimal_text, case_integer_text, case_double, case_float, case_cast, case_cast_pair, case_moment,
                                          case_moment, case_moment, case_field};
    if (argc != 4)
        return 2;
    as_sql = strcmp(argv[1], "sql") == 0;
    u64 seed = strtoull(argv[2], NULL, 10), count = strtoull(argv[3], NULL, 10);
    arena = arena_new("cases", 0, NULL);
    for (u64 i = 0; i < count; i++) {
        state = seed * 1000003 + i * 7919; /* a case of its own, whatever came before */
        CASES[roll(COUNT_OF(CASES))]();
    }
    arena_free(arena);
    buf_free(&buf);
    return 0;
}
