/*
 * format.h
 *    Between the files of to_char(), to_date(), to_timestamp() and to_number(): a format as a list of nodes, and the text being made.
 *
 * A format is read once a vector when it is a constant. The rules are PostgreSQL's, the odd ones too: they are what its users' formats were tried with.
 */
#ifndef FORMAT_H
#define FORMAT_H

#include "backend/kern/call.h"

/* What rows of format_patterns.def mean; several rows may mean the same. */
typedef enum FormatPattern {
    /* the time of day */
    TP_HALF_DAY, TP_HALF_DAY_DOTS, TP_HOUR_12, TP_HOUR_24, TP_MINUTE, TP_SECOND, TP_SECOND_OF_DAY, TP_MILLISECOND, TP_MICROSECOND,
    TP_FRACTION_1, TP_FRACTION_2, TP_FRACTION_3, TP_FRACTION_4, TP_FRACTION_5, TP_FRACTION_6,
    TP_ZONE, TP_ZONE_HOUR, TP_ZONE_MINUTE, TP_OFFSET,
    /* the day */
    TP_ERA, TP_ERA_DOTS, TP_CENTURY, TP_YEAR_COMMA, TP_YEAR_4, TP_YEAR_3, TP_YEAR_2, TP_YEAR_1, TP_QUARTER, TP_MONTH, TP_MONTH_NAME,
    TP_MONTH_SHORT, TP_MONTH_ROMAN, TP_WEEK, TP_WEEK_OF_MONTH, TP_DAY, TP_DAY_OF_YEAR, TP_DAY_NAME, TP_DAY_SHORT, TP_WEEKDAY, TP_JULIAN,
    TP_ISO_YEAR_4, TP_ISO_YEAR_3, TP_ISO_YEAR_2, TP_ISO_YEAR_1, TP_ISO_WEEK, TP_ISO_WEEKDAY, TP_ISO_DAY_OF_YEAR,
    TP_FIXED,
    /* numbers */
    NP_COMMA, NP_POINT, NP_ZERO, NP_NINE, NP_BLANK, NP_LOCAL_POINT, NP_EXPONENT, NP_FILL, NP_GROUP, NP_CURRENCY, NP_MINUS, NP_PLUS, NP_BRACKETS,
    NP_ROMAN, NP_PLUS_MINUS, NP_SIGN, NP_ORDINAL, NP_SHIFT, NP_IGNORED,
} FormatPattern;

typedef enum FormatCalendar { CALENDAR_ANY, CALENDAR_GREGORIAN, CALENDAR_ISO_WEEK } FormatCalendar;

/* Letter case of a name, as its pattern is written. */
typedef enum FormatCase { FORMAT_UPPER, FORMAT_CAPITAL, FORMAT_LOWER } FormatCase;

typedef enum FormatNodeKind { NODE_PATTERN, NODE_CHAR, NODE_SEPARATOR, NODE_SPACE } FormatNodeKind;

/* FM (or TM, which does the same where names are English) before a pattern; TH or th behind it. SP is read and means nothing, as in PostgreSQL. */
enum { FORMAT_FM = 1, FORMAT_TM = 2, FORMAT_TH_UPPER = 4, FORMAT_TH_LOWER = 8, FORMAT_TH = FORMAT_TH_UPPER | FORMAT_TH_LOWER };

typedef struct FormatNode {
    Str text; /* the pattern as it is written, or one character */
    u8 kind, pattern, modifiers, letters;
    u8 calendar;
    bool digits;
} FormatNode;

/* What a number's format asks for as a whole. */
typedef struct NumberPicture {
    i32 before, after, shift; /* digits before and behind the point, and behind V */
    i32 zero_start, zero_end; /* from the first 0 (from 1; 0: none) to the last one */
    i32 sign_at;              /* digits before S */
    bool point, fill, zero, blank, brackets, minus, plus, roman, shifted, exponent;
    bool sign, sign_behind;   /* S; behind the number */
} NumberPicture;

typedef struct Format {
    FormatNode *nodes;
    u32 count;
    NumberPicture picture; /* of numbers */
} Format;

/* The format in text argument k of row i; NULL: *c->err is set. memo keeps that of a constant. */
const Format *format_arg(KernCall *c, u32 i, u32 k, bool number);

/* Text that grows in the scratch arena. */
typedef struct FormatText {
    Arena *arena;
    char *data;
    u32 len, capacity;
} FormatText;

void format_put(FormatText *t, const char *s, size_t len);
void format_printf(FormatText *t, const char *format, ...) PRINTF_LIKE(2, 3);
/* st, nd, rd or th behind the number; false: it does not end with a digit (22P02). */
bool format_put_ordinal(FormatText *t, Str number, bool upper, Error *err);

static inline bool
format_is_space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static inline bool
format_is_separator(char c)
{
    return c > 0x20 && c < 0x7f && !(c >= 'A' && c <= 'Z') && !(c >= 'a' && c <= 'z') && !(c >= '0' && c <= '9');
}

/* Bytes of the character at *s, not beyond the end. */
static inline u32
format_char_bytes(const char *s, const char *end)
{
    u8 first = (u8)*s;
    u32 n = first < 0xc0 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
    return MIN(n, (u32)(end - s));
}

/* ---- the calendar, for fields that need not be of a day ---- */
extern const char *const FORMAT_MONTHS[12], *const FORMAT_DAYS[7], *const FORMAT_ROMAN_MONTHS[12];
i64 format_julian(i64 year, i64 month, i64 day);
/* The Julian day of the Monday that begins an ISO week. */
i64 format_iso_monday(i64 year, i64 week);

/* ---- tables of the files ---- */
KernRow format_time_row(const FuncDef *f);
KernRow format_read_row(const FuncDef *f);
KernRow format_number_row(const FuncDef *f);
KernRow format_to_number_row(const FuncDef *f);

#endif
