/*
 * datetime_in.h
 *    Between the two halves of reading dates: fields.c cuts text into fields and gives them meaning, datetime_in.c makes values.
 *    Inside this room.
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
    bool has_zone;
    i32 offset_s;   /* east of UTC */
    char zone[64];  /* for PARSE_ZONE_NAME */
} Parsed;

/* today_days: the current date in the session's zone, for today, tomorrow, yesterday. */
ParseStatus fields_parse(Str in, i32 today_days, Parsed *ret);

#endif
