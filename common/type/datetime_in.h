/*
 * datetime_in.h
 *    Between the steps of reading dates and times: fieldcut.c cuts text into fields, fields.c and fields_time.c give them meaning,
 *    datetime_in.c and time.c make values. Inside this room.
 */
#ifndef DATETIME_IN_H
#define DATETIME_IN_H

#include "common/type/inside.h"

/* What went wrong; the caller says it with the type and the whole input. */
typedef enum ParseStatus {
    PARSE_OK,
    PARSE_BAD,       /* 22007 invalid input syntax */
    PARSE_RANGE,     /* 22008 field value out of range */
    PARSE_RANGE_MD,  /* the same, month or day: with a hint about datestyle */
    PARSE_ZONE_RANGE,/* 22009 displacement out of range */
    PARSE_ZONE_NAME, /* 22023 time zone not recognized: `zone` */
} ParseStatus;

typedef enum ParsedKind { PARSED_TIME, PARSED_EPOCH, PARSED_POS_INF, PARSED_NEG_INF, PARSED_NOW } ParsedKind;

typedef struct Parsed {
    ParsedKind kind;
    CivilTime t;    /* second may be 60, hour 24, usec 1000000: arithmetic carries them over */
    bool has_zone, has_date;
    i32 offset_s;   /* east of UTC, of a zone that is not named */
    const Zone *named;
    char zone[64];  /* for PARSE_ZONE_NAME */
} Parsed;

enum { FIELD_MAX_COUNT = 25, FIELD_TEXT_MAX = 128 };

typedef enum FieldKind { FIELD_AS_NUMBER, FIELD_AS_DATE, FIELD_AS_TIME, FIELD_AS_OFFSET, FIELD_AS_WORD } FieldKind;

typedef struct Field {
    FieldKind kind;
    char *text; /* lower case, terminated */
} Field;

typedef struct Fields {
    Field fields[FIELD_MAX_COUNT];
    u32 count;
    char text[2 * FIELD_TEXT_MAX];
} Fields;

typedef enum WordKind {
    WORD_UNKNOWN, WORD_MONTH, WORD_WEEKDAY, WORD_HALF_DAY, WORD_ERA, WORD_NOW, WORD_DAY_OFFSET, WORD_EPOCH, WORD_INFINITE,
    WORD_MIDNIGHT_UTC, WORD_ISO_TIME, WORD_JULIAN_DAY, WORD_IGNORED, WORD_ZONE
} WordKind;

static inline bool
is_letter(char c)
{
    c = to_lower(c);
    return c >= 'a' && c <= 'z';
}

WordKind dateword_find(const char *text, i32 *ret_value);
/* ---- what fields.c and fields_time.c share ---- */
enum {
    KNOWN_YEAR = 1, KNOWN_MONTH = 2, KNOWN_DAY = 4, KNOWN_DAY_OF_YEAR = 8, KNOWN_CLOCK = 16, KNOWN_ZONE = 32, KNOWN_WEEKDAY = 64,
    KNOWN_HALF = 128, KNOWN_ERA = 256, KNOWN_FULL_DATE = KNOWN_YEAR | KNOWN_MONTH | KNOWN_DAY,
};

typedef struct FieldParser {
    Fields cut;
    u32 known;
    WordKind expect; /* WORD_ISO_TIME or WORD_JULIAN_DAY: the next field is that */
    bool month_by_name, two_digit_year, bc, julian, pm, half_day;
    i32 day_of_year, today_days;
    DateOrder order;
    Parsed *out;
} FieldParser;

ParseStatus field_learn(FieldParser *p, u32 parts);
/* The name of a zone; of no zone: `otherwise`. */
ParseStatus field_mean_zone(FieldParser *p, const char *text, ParseStatus otherwise);
ParseStatus field_set_clock(FieldParser *p, i32 hour, i32 minute, i32 second, i32 usec);
ParseStatus field_mean_run(FieldParser *p, char *text, bool time_only);
ParseStatus field_mean_number(FieldParser *p, char *text);
ParseStatus field_mean_date(FieldParser *p, char *text);
ParseStatus field_mean_time(FieldParser *p, const char *text);
ParseStatus field_mean_offset(FieldParser *p, const char *text);
ParseStatus field_mean_julian(FieldParser *p, const char *text);
ParseStatus field_check_date(FieldParser *p);
ParseStatus field_check_clock(FieldParser *p);

/* false: not made of fields. */
bool fields_cut(Str in, Fields *ret);
/* The same for intervals, where a unit may touch the next number: 1d2h. */
bool fields_cut_interval(Str in, Fields *ret);
/* today_days: the current date in the session's zone, for today, tomorrow, yesterday. */
ParseStatus fields_parse(Str in, DateOrder order, i32 today_days, Parsed *ret);
/* For time and timetz: a date may stand beside the time. */
ParseStatus fields_parse_time(Str in, DateOrder order, Parsed *ret);
/* Always false: the message for a status other than PARSE_OK. */
bool datetime_say_why(ParseStatus status, const Parsed *p, TypeId t, Str in, Error *err);

#endif
