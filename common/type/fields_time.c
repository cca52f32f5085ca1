/*
 * fields_time.c
 *    Free-form times of day: '04:05:06', '040506', '4:05 PM', '04:05-08', 'T040506Z', '2003-04-12 04:05:06', 'now'.
 *
 * PostgreSQL's rules differ from those of timestamps: a number is read as if the date were known already, a date is only taken where it
 * stands first and something that looks like a time or zone follows, and a clock there must be.
 */
#include "common/type/datetime_in.h"

#include <stdio.h>

/* Numbers mean hours, minutes and seconds, since the date counts as known. */
static ParseStatus
as_if_dated(FieldParser *p, char *text, bool run)
{
    u32 before = p->known;
    p->known |= KNOWN_FULL_DATE;
    ParseStatus status = run ? field_mean_run(p, text, false) : field_mean_number(p, text);
    p->known = (p->known & ~(u32)KNOWN_FULL_DATE) | before;
    return status;
}

/* hhmmss-zz */
static ParseStatus
mean_run_and_offset(FieldParser *p, char *text)
{
    char *sign = strchr(text, '-');
    if ((p->known & KNOWN_CLOCK) || !sign)
        return PARSE_BAD;
    ParseStatus status = field_mean_offset(p, sign);
    if (status != PARSE_OK)
        return status;
    *sign = 0;
    return as_if_dated(p, text, true);
}

static ParseStatus
mean_number_field(FieldParser *p, char *text, bool date_may_be)
{
    if (p->expect == WORD_ISO_TIME) {
        p->expect = WORD_UNKNOWN;
        return as_if_dated(p, text, true);
    }
    if (p->expect == WORD_JULIAN_DAY) {
        p->expect = WORD_UNKNOWN;
        return field_mean_julian(p, text);
    }
    const char *point = strchr(text, '.');
    if (point && date_may_be)
        return field_mean_date(p, text);
    if (point && point - text <= 2)
        return PARSE_BAD;
    return as_if_dated(p, text, point || strlen(text) > 4);
}

static ParseStatus
set_offset(FieldParser *p, i32 offset_s)
{
    if (field_learn(p, KNOWN_ZONE) != PARSE_OK)
        return PARSE_BAD;
    p->out->has_zone = true;
    p->out->offset_s = offset_s;
    return PARSE_OK;
}

static ParseStatus
mean_word(FieldParser *p, const char *text, const Field *next)
{
    i32 value;
    WordKind kind = dateword_find(text, &value);
    switch (kind) {
    case WORD_NOW:
        p->out->kind = PARSED_NOW;
        return field_learn(p, KNOWN_CLOCK);
    case WORD_MIDNIGHT_UTC:
        return field_set_clock(p, 0, 0, 0, 0) == PARSE_OK ? set_offset(p, 0) : PARSE_BAD;
    case WORD_ZONE:
        return set_offset(p, value);
    case WORD_HALF_DAY:
        p->half_day = true;
        p->pm = value == 12;
        return field_learn(p, KNOWN_HALF);
    case WORD_ERA:
        p->bc = value == 1;
        return field_learn(p, KNOWN_ERA);
    case WORD_ISO_TIME:
        if (!next || (next->kind != FIELD_AS_NUMBER && next->kind != FIELD_AS_TIME && next->kind != FIELD_AS_DATE))
            return PARSE_BAD;
        __attribute__((fallthrough));
    case WORD_JULIAN_DAY:
        if (p->expect != WORD_UNKNOWN)
            return PARSE_BAD;
        p->expect = kind;
        return PARSE_OK;
    case WORD_IGNORED:
        return PARSE_OK;
    case WORD_UNKNOWN:
        return field_mean_zone(p, text, PARSE_BAD);
    case WORD_MONTH: case WORD_WEEKDAY: case WORD_DAY_OFFSET: case WORD_EPOCH: case WORD_INFINITE:
        break;
    }
    return PARSE_BAD;
}

static ParseStatus
mean_field(FieldParser *p, u32 i)
{
    const Field *f = &p->cut.fields[i], *last = &p->cut.fields[p->cut.count - 1];
    bool followed = i == 0 && p->cut.count >= 2;
    switch (f->kind) {
    case FIELD_AS_DATE:
        if (followed && (last->kind == FIELD_AS_DATE || f[1].kind == FIELD_AS_TIME))
            return field_mean_date(p, f->text);
        if (is_digit(f->text[0])) {
            p->expect = WORD_UNKNOWN;
            return mean_run_and_offset(p, f->text);
        }
        return field_mean_zone(p, f->text, PARSE_ZONE_NAME);
    case FIELD_AS_TIME:
        p->expect = WORD_UNKNOWN;
        return field_mean_time(p, f->text);
    case FIELD_AS_OFFSET:
        return field_mean_offset(p, f->text);
    case FIELD_AS_NUMBER:
        return mean_number_field(p, f->text, followed && last->kind == FIELD_AS_DATE);
    case FIELD_AS_WORD:
        break;
    }
    return mean_word(p, f->text, i + 1 < p->cut.count ? f + 1 : NULL);
}

ParseStatus
fields_parse_time(Str in, DateOrder order, Parsed *ret)
{
    FieldParser p;
    memset(&p, 0, sizeof p);
    memset(ret, 0, sizeof *ret);
    p.out = ret;
    p.order = order;
    if (!fields_cut(text_trim(in), &p.cut))
        return PARSE_BAD;
    for (u32 i = 0; i < p.cut.count; i++) {
        ParseStatus status = mean_field(&p, i);
        if (status != PARSE_OK)
            return status;
    }
    ParseStatus status = field_check_date(&p);
    if (status == PARSE_OK)
        status = field_check_clock(&p);
    p.out->has_date = (p.known & KNOWN_FULL_DATE) == KNOWN_FULL_DATE;
    bool part_of_date = (p.known & KNOWN_FULL_DATE) && !p.out->has_date && !p.out->has_zone;
    i32 unused;
    bool needs_date = p.out->named && !p.out->has_date && !zone_is_fixed(p.out->named, &unused);
    if (status == PARSE_OK && (!(p.known & KNOWN_CLOCK) || part_of_date || needs_date))
        status = PARSE_BAD;
    return status;
}
