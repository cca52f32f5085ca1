/* test_type_datetime.c: dates and timestamps: reading, writing, calendar, extract and date_trunc. Answers are PostgreSQL's. */
#include "common/base/env.h"
#include "common/type/datetime.h"
#include "common/type/type.h"
#include "common/type/zone.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>

static Arena *arena;
static ByteBuf buf;
static TypeFormat format = {.extra_float_digits = 1};

static const char *
text_of(const Value *v)
{
    buf_clear(&buf);
    value_out(&buf, &format, v);
    buf_u8(&buf, 0);
    return (const char *)buf.data;
}

static const char *
read_as(TypeId t, i32 typmod, const char *in)
{
    static char text[1024];
    Value v;
    Error err;
    if (value_in(arena, &format, t, typmod, str_of(in), &v, &err))
        return text_of(&v);
    snprintf(text, sizeof text, "%s %s", errcode_sqlstate(err.code), err.message);
    return text;
}

START_TEST(reading)
{
    static const struct {
        TypeId t;
        i32 typmod;
        const char *in, *out;
    } CASES[] = {
        {TYPE_DATE, -1, "2026-01-02", "2026-01-02"}, {TYPE_DATE, -1, "Jan 2 2026", "2026-01-02"},
        {TYPE_DATE, -1, "2 Jan 2026", "2026-01-02"}, {TYPE_DATE, -1, "2026/01/02", "2026-01-02"},
        {TYPE_DATE, -1, "20260102", "2026-01-02"}, {TYPE_DATE, -1, "1/2/2026", "2026-01-02"},
        {TYPE_DATE, -1, "99-12-31", "22008 date/time field value out of range: \"99-12-31\""},
        {TYPE_DATE, -1, "260102", "2026-01-02"}, {TYPE_DATE, -1, "2026.045", "2026-02-14"},
        {TYPE_DATE, -1, "J2451187", "1999-01-08"}, {TYPE_DATE, -1, "epoch", "1970-01-01"},
        {TYPE_DATE, -1, "infinity", "infinity"}, {TYPE_DATE, -1, "-Infinity", "-infinity"},
        {TYPE_DATE, -1, "0044-03-15 BC", "0044-03-15 BC"}, {TYPE_DATE, -1, "2024-02-29", "2024-02-29"},
        {TYPE_DATE, -1, "2023-02-29", "22008 date/time field value out of range: \"2023-02-29\""},
        {TYPE_DATE, -1, "2026-13-01", "22008 date/time field value out of range: \"2026-13-01\""},
        {TYPE_DATE, -1, "2026-01-32", "22008 date/time field value out of range: \"2026-01-32\""},
        {TYPE_DATE, -1, "13/13/2026", "22008 date/time field value out of range: \"13/13/2026\""},
        {TYPE_DATE, -1, "hello", "22007 invalid input syntax for type date: \"hello\""},
        {TYPE_DATE, -1, "", "22007 invalid input syntax for type date: \"\""},
        {TYPE_DATE, -1, "0000-01-01", "22008 date/time field value out of range: \"0000-01-01\""},
        {TYPE_DATE, -1, "5874897-12-31", "5874897-12-31"},
        {TYPE_DATE, -1, "5874898-01-01", "22008 date out of range: \"5874898-01-01\""},
        {TYPE_DATE, -1, "4714-11-24 BC", "4714-11-24 BC"},
        {TYPE_DATE, -1, "4714-11-23 BC", "22008 date out of range: \"4714-11-23 BC\""},
        {TYPE_DATE, -1, "2026-01-02 03:04:05+02", "2026-01-02"}, {TYPE_DATE, -1, "January 8, 1999", "1999-01-08"},
        {TYPE_DATE, -1, "1999-Jan-08", "1999-01-08"}, {TYPE_DATE, -1, "08-Jan-99", "1999-01-08"},
        {TYPE_DATE, -1, "2026-1-2", "2026-01-02"}, {TYPE_DATE, -1, "20260102T030405", "2026-01-02"},
        {TYPE_DATE, -1, "99999999999-01-01", "22008 date/time field value out of range: \"99999999999-01-01\""},
        {TYPE_TIMESTAMP, -1, "2026-01-02 03:04:05", "2026-01-02 03:04:05"},
        {TYPE_TIMESTAMP, -1, "2026-01-02T03:04:05.123456Z", "2026-01-02 03:04:05.123456"},
        {TYPE_TIMESTAMP, -1, "2026-01-02 03:04", "2026-01-02 03:04:00"},
        {TYPE_TIMESTAMP, -1, "2026-01-02", "2026-01-02 00:00:00"},
        {TYPE_TIMESTAMP, -1, "2026-01-02 24:00:00", "2026-01-03 00:00:00"},
        {TYPE_TIMESTAMP, -1, "2026-01-02 23:59:60", "2026-01-03 00:00:00"},
        {TYPE_TIMESTAMP, -1, "2026-01-02 24:00:01", "22008 date/time field value out of range: \"2026-01-02 24:00:01\""},
        {TYPE_TIMESTAMP, -1, "2026-01-02 03:04:05.9999999", "2026-01-02 03:04:06"},
        {TYPE_TIMESTAMP, -1, "2026-01-02 03:04:05.5 PM", "2026-01-02 15:04:05.5"},
        {TYPE_TIMESTAMP, -1, "2026-01-02 12:00 AM", "2026-01-02 00:00:00"},
        {TYPE_TIMESTAMP, -1, "20260102T030405", "2026-01-02 03:04:05"},
        {TYPE_TIMESTAMP, -1, "20260102 0304", "2026-01-02 03:04:00"}, {TYPE_TIMESTAMP, -1, "infinity", "infinity"},
        {TYPE_TIMESTAMP, -1, "epoch", "1970-01-01 00:00:00"},
        {TYPE_TIMESTAMP, -1, "294276-12-31 23:59:59.999999", "294276-12-31 23:59:59.999999"},
        {TYPE_TIMESTAMP, -1, "294277-01-01", "22008 timestamp out of range: \"294277-01-01\""},
        {TYPE_TIMESTAMP, -1, "4713-01-01 00:00 BC", "4713-01-01 00:00:00 BC"},
        {TYPE_TIMESTAMP, -1, "2026-01-02 allballs", "2026-01-02 00:00:00"},
        {TYPE_TIMESTAMP, -1, "2026-01-02 25:00", "22008 date/time field value out of range: \"2026-01-02 25:00\""},
        {TYPE_TIMESTAMP, -1, "2026-01-02 10:61", "22008 date/time field value out of range: \"2026-01-02 10:61\""},
        {TYPE_TIMESTAMP, -1, "2026-01-02 03:04:05 Europe/Nowhere", "22023 time zone \"europe/nowhere\" not recognized"},
        {TYPE_TIMESTAMP, -1, "2026-01-02 03:04:05 xyz", "22007 invalid input syntax for type timestamp: \"2026-01-02 03:04:05 xyz\""},
        {TYPE_TIMESTAMP, -1, "2026-01-02 03:04:05+20", "22009 time zone displacement out of range: \"2026-01-02 03:04:05+20\""},
        {TYPE_TIMESTAMP, -1, "Mon Jan 2 03:04:05 2026", "2026-01-02 03:04:05"},
        {TYPE_TIMESTAMP, -1, "2026-01-02T", "22007 invalid input syntax for type timestamp: \"2026-01-02T\""},
        {TYPE_TIMESTAMPTZ, -1, "2026-01-02 03:04:05", "2026-01-02 03:04:05+00"},
        {TYPE_TIMESTAMPTZ, -1, "2026-01-02T03:04:05.123456Z", "2026-01-02 03:04:05.123456+00"},
        {TYPE_TIMESTAMPTZ, -1, "2026-01-02 03:04:05+02", "2026-01-02 01:04:05+00"},
        {TYPE_TIMESTAMPTZ, -1, "2026-01-02 03:04:05-02:30", "2026-01-02 05:34:05+00"},
        {TYPE_TIMESTAMPTZ, -1, "2026-01-02 03:04:05 UTC", "2026-01-02 03:04:05+00"},
        {TYPE_TIMESTAMPTZ, -1, "2026-01-02 03:04:05 GMT", "2026-01-02 03:04:05+00"},
        {TYPE_TIMESTAMPTZ, -1, "2026-01-02 03:04:05 EST", "2026-01-02 08:04:05+00"},
        {TYPE_TIMESTAMPTZ, -1, "2026-01-02 03:04:05+0530", "2026-01-01 21:34:05+00"},
        {TYPE_TIMESTAMPTZ, -1, "2026-01-02 03:04:05+05:30:15", "2026-01-01 21:33:50+00"},
        {TYPE_TIMESTAMPTZ, -1, "0001-01-01 00:00:00+01", "0001-12-31 23:00:00+00 BC"},
        {TYPE_TIMESTAMPTZ, -1, "-infinity", "-infinity"},
        {TYPE_TIMESTAMPTZ, -1, "294277-01-01 00:30+01", "294276-12-31 23:30:00+00"},
        {TYPE_TIMESTAMPTZ, -1, "epoch", "1970-01-01 00:00:00+00"},
        {TYPE_TIMESTAMPTZ, -1, "2026-01-02 03:04:05+", "22007 invalid input syntax for type timestamp with time zone: \"2026-01-02 03:04:05+\""},
        {TYPE_TIMESTAMP, 3, "2026-01-02 03:04:05.123456", "2026-01-02 03:04:05.123"},
        {TYPE_TIMESTAMP, 3, "2026-01-02 03:04:05.1235", "2026-01-02 03:04:05.124"},
        {TYPE_TIMESTAMP, 3, "2026-01-02 03:04:05.9996", "2026-01-02 03:04:06"},
        {TYPE_TIMESTAMPTZ, 0, "1999-12-31 23:59:59.5Z", "1999-12-31 23:59:59+00"},
        {TYPE_TIMESTAMPTZ, 0, "1999-12-31 23:59:59.4Z", "1999-12-31 23:59:59+00"},
        {TYPE_TIMESTAMPTZ, -1, "2026-01-02 03:04:05 Europe/Berlin", "2026-01-02 02:04:05+00"},
    };
    for (u32 i = 0; i < COUNT_OF(CASES); i++)
        ck_assert_str_eq(read_as(CASES[i].t, CASES[i].typmod, CASES[i].in), CASES[i].out);
    Error err;
    Value v;
    ck_assert(!value_in(arena, &format, TYPE_DATE, -1, STR_LIT("13/13/2026"), &v, &err));
    ck_assert_str_eq(err.hint, "Perhaps you need a different \"datestyle\" setting.");
}
END_TEST

START_TEST(session_zone)
{
    format.zone = zone_find("<+05:30>-05:30");
    ck_assert_str_eq(read_as(TYPE_TIMESTAMPTZ, -1, "2026-01-02 03:04:05"), "2026-01-02 03:04:05+05:30");
    ck_assert_str_eq(read_as(TYPE_TIMESTAMPTZ, -1, "2026-01-02 03:04:05Z"), "2026-01-02 08:34:05+05:30");
    ck_assert_str_eq(read_as(TYPE_TIMESTAMPTZ, -1, "Jan 2 2026 3:04"), "2026-01-02 03:04:00+05:30");
    ck_assert_str_eq(read_as(TYPE_TIMESTAMP, -1, "2026-01-02 03:04:05Z"), "2026-01-02 03:04:05");
    format.zone = zone_find("<-01>+01");
    ck_assert_str_eq(read_as(TYPE_TIMESTAMPTZ, -1, "0001-01-01 00:30:00Z"), "0001-12-31 23:30:00-01 BC");
    format.zone = NULL;
}
END_TEST

static i64
fixed_clock(void)
{
    return 25LL * USEC_PER_DAY + 3661000001LL; /* 2000-01-26 01:01:01.000001 */
}

START_TEST(words_that_read_the_clock)
{
    static Env fixed;
    const Env *before = env;
    fixed = env_real;
    fixed.wall_us = fixed_clock;
    env = &fixed;
    ck_assert_str_eq(read_as(TYPE_DATE, -1, "today"), "2000-01-26");
    ck_assert_str_eq(read_as(TYPE_DATE, -1, "Tomorrow"), "2000-01-27");
    ck_assert_str_eq(read_as(TYPE_TIMESTAMP, -1, "yesterday 04:05"), "2000-01-25 04:05:00");
    ck_assert_str_eq(read_as(TYPE_TIMESTAMPTZ, -1, "now"), "2000-01-26 01:01:01.000001+00");
    format.zone = zone_find("<-02>+02");
    ck_assert_str_eq(read_as(TYPE_DATE, -1, "today"), "2000-01-25");
    ck_assert_str_eq(read_as(TYPE_TIMESTAMP, -1, "now"), "2000-01-25 23:01:01.000001");
    format.zone = NULL;
    env = before;
}
END_TEST

START_TEST(calendar_is_its_own_inverse)
{
    for (i64 d = -2451545; d < 2147483494LL - 2451545; d += d < 2000000 ? 1013 : 1000003) {
        CivilDate c = date_to_civil((i32)d);
        ck_assert_int_eq(date_from_civil(c.year, c.month, c.day), d);
    }
    CivilDate next = date_to_civil(-300000);
    for (i32 d = -300000; d < 100000; d++) { /* day after day */
        CivilDate c = next;
        next = date_to_civil(d + 1);
        bool follows = (next.day == c.day + 1 && next.month == c.month && next.year == c.year) ||
                       (next.day == 1 && next.month == c.month + 1 && next.year == c.year) ||
                       (next.day == 1 && next.month == 1 && c.month == 12 && c.day == 31 && next.year == c.year + 1);
        if (!follows)
            ck_abort_msg("day %d", d + 1);
    }
    CivilTime t = timestamp_to_civil(-1);
    ck_assert_int_eq(t.usec, 999999);
    ck_assert_int_eq(t.year, 1999);
    i64 us;
    ck_assert(timestamp_from_civil(&t, &us) && us == -1);
}
END_TEST

static const char *const FIELDS[] = {"microseconds", "milliseconds", "second", "minute", "hour", "day", "week", "month", "quarter",
                                     "year", "decade", "century", "millennium", "dow", "isodow", "doy", "isoyear", "julian", "epoch"};

START_TEST(extracting)
{
    static const struct {
        const char *in, *out;
    } CASES[] = {
        {"2026-11-30 21:37:11.123456",
         "11123456 11123.456 11.123456 37 21 30 49 11 4 2026 202 21 3 1 1 334 2026 "
         "2461375.90082318814814814815 1796074631.123456"},
        {"2000-01-01 00:00:00",
         "0 0.000 0.000000 0 0 1 52 1 1 2000 200 20 2 6 6 1 1999 2451545.0000000000000000000000000000 "
         "946684800.000000"},
        {"0001-01-01 00:00:00 BC",
         "0 0.000 0.000000 0 0 1 52 1 1 -1 0 -1 -1 6 6 1 -2 1721060.0000000000000000000000000000 "
         "-62167219200.000000"},
        {"1999-12-31 23:59:59.999999",
         "59999999 59999.999 59.999999 59 23 31 52 12 4 1999 199 20 2 5 5 365 1999 "
         "2451544.99999999998842592593 946684799.999999"},
        {"2021-01-03 12:00:00",
         "0 0.000 0.000000 0 12 3 53 1 1 2021 202 21 3 0 7 3 2020 2459218.50000000000000000000 "
         "1609675200.000000"},
    };
    for (u32 i = 0; i < COUNT_OF(CASES); i++) {
        Value v;
        char text[600];
        int at = 0;
        ck_assert(value_in(arena, &format, TYPE_TIMESTAMP, -1, str_of(CASES[i].in), &v, NULL));
        for (u32 f = 0; f < COUNT_OF(FIELDS); f++) {
            DateField field;
            Value out = {.type = TYPE_NUMERIC};
            ck_assert(datefield_from_name(str_of(FIELDS[f]), &field));
            ck_assert(timestamp_extract(field, v.i64v, true, 0, &out.num));
            at += snprintf(text + at, sizeof text - (size_t)at, "%s%s", f ? " " : "", text_of(&out));
        }
        ck_assert_str_eq(text, CASES[i].out);
    }
    Num n;
    ck_assert(!timestamp_extract(FIELD_HOUR, 0, false, 0, &n));
    ck_assert(timestamp_extract(FIELD_YEAR, TS_NEG_INF, true, 0, &n) && n.kind == NUM_NEG_INF);
    ck_assert(timestamp_extract(FIELD_MONTH, TS_NEG_INF, true, 0, &n) && n.kind == NUM_NAN);
    ck_assert(timestamp_extract(FIELD_HOUR, 0, true, 7200, &n) && num_int(&n) == 2);
    ck_assert(timestamp_extract(FIELD_TIMEZONE_MINUTE, 0, true, 19800, &n) && num_int(&n) == 30);
    ck_assert(timestamp_extract(FIELD_EPOCH, 0, true, 7200, &n) && num_int(&n) == 946684800000000LL);
    DateField field;
    ck_assert(datefield_from_name(STR_LIT("Days"), &field) && field == FIELD_DAY);
    ck_assert(!datefield_from_name(STR_LIT("fortnight"), &field));
}
END_TEST

START_TEST(truncating)
{
    static const struct {
        const char *in, *out; /* the first 13 fields */
    } CASES[] = {
        {"2026-11-30 21:37:11.123456",
         "2026-11-30 21:37:11.123456|2026-11-30 21:37:11.123|2026-11-30 21:37:11|2026-11-30 21:37:00|"
         "2026-11-30 21:00:00|2026-11-30 00:00:00|2026-11-30 00:00:00|2026-11-01 00:00:00|2026-10-01 00:00:00|"
         "2026-01-01 00:00:00|2020-01-01 00:00:00|2001-01-01 00:00:00|2001-01-01 00:00:00"},
        {"2000-01-01 00:00:00",
         "2000-01-01 00:00:00|2000-01-01 00:00:00|2000-01-01 00:00:00|2000-01-01 00:00:00|2000-01-01 00:00:00|"
         "2000-01-01 00:00:00|1999-12-27 00:00:00|2000-01-01 00:00:00|2000-01-01 00:00:00|2000-01-01 00:00:00|"
         "2000-01-01 00:00:00|1901-01-01 00:00:00|1001-01-01 00:00:00"},
        {"0001-01-01 00:00:00 BC",
         "0001-01-01 00:00:00 BC|0001-01-01 00:00:00 BC|0001-01-01 00:00:00 BC|0001-01-01 00:00:00 BC|"
         "0001-01-01 00:00:00 BC|0001-01-01 00:00:00 BC|0002-12-27 00:00:00 BC|0001-01-01 00:00:00 BC|"
         "0001-01-01 00:00:00 BC|0001-01-01 00:00:00 BC|0001-01-01 00:00:00 BC|0100-01-01 00:00:00 BC|"
         "1000-01-01 00:00:00 BC"},
        {"1999-12-31 23:59:59.999999",
         "1999-12-31 23:59:59.999999|1999-12-31 23:59:59.999|1999-12-31 23:59:59|1999-12-31 23:59:00|"
         "1999-12-31 23:00:00|1999-12-31 00:00:00|1999-12-27 00:00:00|1999-12-01 00:00:00|1999-10-01 00:00:00|"
         "1999-01-01 00:00:00|1990-01-01 00:00:00|1901-01-01 00:00:00|1001-01-01 00:00:00"},
        {"2021-01-03 12:00:00",
         "2021-01-03 12:00:00|2021-01-03 12:00:00|2021-01-03 12:00:00|2021-01-03 12:00:00|2021-01-03 12:00:00|"
         "2021-01-03 00:00:00|2020-12-28 00:00:00|2021-01-01 00:00:00|2021-01-01 00:00:00|2021-01-01 00:00:00|"
         "2020-01-01 00:00:00|2001-01-01 00:00:00|2001-01-01 00:00:00"},
    };
    for (u32 i = 0; i < COUNT_OF(CASES); i++) {
        Value v;
        char text[600];
        int at = 0;
        ck_assert(value_in(arena, &format, TYPE_TIMESTAMP, -1, str_of(CASES[i].in), &v, NULL));
        for (u32 f = 0; f < 13; f++) {
            DateField field;
            Value out = {.type = TYPE_TIMESTAMP};
            ck_assert(datefield_from_name(str_of(FIELDS[f]), &field));
            ck_assert(timestamp_trunc(field, v.i64v, &out.i64v));
            at += snprintf(text + at, sizeof text - (size_t)at, "%s%s", f ? "|" : "", text_of(&out));
        }
        ck_assert_str_eq(text, CASES[i].out);
    }
    i64 us;
    ck_assert(!timestamp_trunc(FIELD_DOW, 0, &us));
    ck_assert(timestamp_trunc(FIELD_DAY, TS_POS_INF, &us) && us == TS_POS_INF);
}
END_TEST

int
main(void)
{
    arena = arena_new("test", 0, NULL);
    Suite *s = suite_create("type datetime");
    TCase *c = tcase_create("all");
    tcase_add_test(c, reading);
    tcase_add_test(c, session_zone);
    tcase_add_test(c, words_that_read_the_clock);
    tcase_add_test(c, calendar_is_its_own_inverse);
    tcase_add_test(c, extracting);
    tcase_add_test(c, truncating);
    suite_add_tcase(s, c);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_ENV);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    buf_free(&buf);
    arena_free(arena);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
