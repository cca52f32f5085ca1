/*
 * fieldcut.c
 *    Cut a free-form date or time into fields, and know its words.
 *
 * A field's kind follows from its first character and the separators in it, as PostgreSQL decides it; other
 * punctuation and blanks only separate. Fields are copied, lower case and terminated, into the Fields, so that
 * later steps may cut them further.
 */
#include "common/type/datetime_in.h"

enum { WORD_COMPARED = 10 };

static bool
is_in(char c, const char *set)
{
    return c != 0 && strchr(set, c);
}

WordKind
dateword_find(const char *text, i32 *ret_value)
{
    static const struct {
        const char *text;
        WordKind kind;
        i32 value;
    } WORDS[] = {
#define DATE_WORD(text, kind, value) {text, WORD_##kind, value},
#include "common/type/datewords.def"
    };
    for (u32 i = 0; i < COUNT_OF(WORDS); i++)
        if (strncmp(text, WORDS[i].text, WORD_COMPARED) == 0) {
            *ret_value = WORDS[i].value;
            return WORDS[i].kind;
        }
    return WORD_UNKNOWN;
}

typedef struct Cutter {
    const char *at, *end;
    char *out, *out_end;
    bool interval;
} Cutter;

static char
peek(const Cutter *c)
{
    return c->at < c->end ? *c->at : 0;
}

static void
take(Cutter *c)
{
    if (c->out < c->out_end)
        *c->out++ = to_lower(*c->at);
    c->at++;
}

static void
take_digits(Cutter *c)
{
    while (is_digit(peek(c)))
        take(c);
}

/* A field that begins with a digit: time, date or number. */
static FieldKind
cut_digits(Cutter *c)
{
    take_digits(c);
    char separator = peek(c);
    if (separator == ':') {
        while (is_digit(peek(c)) || is_in(peek(c), ":."))
            take(c);
        return FIELD_AS_TIME;
    }
    if (!is_in(separator, "-/."))
        return FIELD_AS_NUMBER;
    take(c);
    if (is_digit(peek(c))) {
        FieldKind kind = separator == '.' ? FIELD_AS_NUMBER : FIELD_AS_DATE;
        take_digits(c);
        if (peek(c) == separator) {
            kind = FIELD_AS_DATE;
            while (is_digit(peek(c)) || peek(c) == separator)
                take(c);
        }
        return kind;
    }
    while (is_letter(peek(c)) || is_digit(peek(c)) || peek(c) == separator)
        take(c);
    return FIELD_AS_DATE;
}

/* A field that begins with a letter: a word, or a date or zone name with signs in it. */
static FieldKind
cut_letters(Cutter *c)
{
    char *start = c->out;
    while (is_letter(peek(c)))
        take(c);
    bool date = is_in(peek(c), "-/.");
    if (peek(c) == '+' || is_digit(peek(c))) {
        i32 value;
        *c->out = 0;
        WordKind kind = dateword_find(start, &value);
        DateField unit;
        date = (kind == WORD_UNKNOWN || kind == WORD_ZONE) &&
            !(c->interval && datefield_from_name((Str){start, (u32)(c->out - start)}, &unit));
    }
    if (!date)
        return FIELD_AS_WORD;
    while (is_in(peek(c), "+-/_.:") || is_digit(peek(c)) || is_letter(peek(c)))
        take(c);
    return FIELD_AS_DATE;
}

/* A sign, blanks, then an offset or a word (-infinity). false: neither. */
static bool
cut_signed(Cutter *c, FieldKind *ret)
{
    take(c);
    while (is_space(peek(c)))
        c->at++;
    if (is_digit(peek(c))) {
        while (is_digit(peek(c)) || is_in(peek(c), ":.-"))
            take(c);
        *ret = FIELD_AS_OFFSET;
        return true;
    }
    while (is_letter(peek(c)))
        take(c);
    *ret = FIELD_AS_WORD;
    return c->out[-1] != '+' && c->out[-1] != '-';
}

static bool
cut(Str in, Fields *ret, bool interval)
{
    if (in.len > FIELD_TEXT_MAX)
        return false;
    Cutter c = {in.ptr, in.ptr + in.len, ret->text, ret->text + sizeof ret->text - 1, interval};
    while (c.at < c.end) {
        char ch = *c.at;
        if (is_space(ch) || (is_in(ch, "!\"#$%&'()*,-/:;<=>?@[\\]^_`{|}~") && ch != '-')) {
            c.at++;
            continue;
        }
        if (ret->count == FIELD_MAX_COUNT || c.out_end - c.out < 2)
            return false;
        Field *f = &ret->fields[ret->count++];
        f->text = c.out;
        if (is_digit(ch)) {
            f->kind = cut_digits(&c);
        } else if (ch == '.') {
            f->kind = FIELD_AS_NUMBER;
            take(&c);
            take_digits(&c);
        } else if (is_letter(ch)) {
            f->kind = cut_letters(&c);
        } else if (ch == '+' || ch == '-') {
            if (!cut_signed(&c, &f->kind))
                return false;
        } else {
            return false;
        }
        if (c.out >= c.out_end)
            return false;
        *c.out++ = 0;
    }
    return ret->count > 0;
}

bool
fields_cut(Str in, Fields *ret)
{
    return cut(in, ret, false);
}

bool
fields_cut_interval(Str in, Fields *ret)
{
    return cut(in, ret, true);
}
