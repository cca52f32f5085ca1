/*
 * format_parse.c
 *    Formats: from text to nodes.
 */
#include "backend/kern/format.h"

#include <stdarg.h>
#include <stdio.h>

typedef struct PatternRow {
    const char *text;
    FormatPattern pattern;
    bool digits;
    FormatCalendar calendar;
} PatternRow;

static const PatternRow TIME_PATTERNS[] = {
#define TIME_PATTERN(text, symbol, digits, calendar) {text, TP_##symbol, digits, CALENDAR_##calendar},
#define NUMBER_PATTERN(text, symbol)
#include "backend/kern/format_patterns.def"
};

static const PatternRow NUMBER_PATTERNS[] = {
#define TIME_PATTERN(text, symbol, digits, calendar)
#define NUMBER_PATTERN(text, symbol) {text, NP_##symbol, false, CALENDAR_ANY},
#include "backend/kern/format_patterns.def"
};

/* ---- text that is made ---- */
void
format_put(FormatText *t, const char *s, size_t len)
{
    if (len > t->capacity - t->len) {
        u32 capacity = (u32)MAX((size_t)t->capacity * 2, t->len + len + 32);
        char *data = arena_alloc(t->arena, capacity);
        if (t->len)
            memcpy(data, t->data, t->len);
        t->data = data;
        t->capacity = capacity;
    }
    if (len)
        memcpy(t->data + t->len, s, len);
    t->len += (u32)len;
}

void
format_printf(FormatText *t, const char *format, ...)
{
    char text[64];
    va_list args;
    va_start(args, format);
    int len = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    ensure(len >= 0 && len < (int)sizeof text);
    format_put(t, text, (size_t)len);
}

bool
format_put_ordinal(FormatText *t, Str number, bool upper, Error *err)
{
    char last = number.len ? number.ptr[number.len - 1] : 0;
    if (last < '0' || last > '9')
        return error_set(err, ERR_INVALID_TEXT_REPRESENTATION, "\"%.*s\" is not a number", (int)number.len, number.ptr);
    bool teen = number.len > 1 && number.ptr[number.len - 2] == '1';
    const char *end = teen ? "th" : last == '1' ? "st" : last == '2' ? "nd" : last == '3' ? "rd" : "th";
    char text[2] = {end[0], end[1]};
    for (u32 i = 0; upper && i < 2; i++)
        text[i] = (char)(text[i] - ('a' - 'A'));
    format_put(t, text, 2);
    return true;
}

/* ---- patterns ---- */

/* As the text says, or all in lower case. */
static bool
pattern_fits(Str s, const char *text)
{
    size_t len = strlen(text), same = 0, lower = 0;
    if (s.len < len)
        return false;
    for (size_t i = 0; i < len; i++) {
        char c = text[i];
        same += s.ptr[i] == c;
        lower += s.ptr[i] == (c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c);
    }
    return same == len || lower == len;
}

static const PatternRow *
find_pattern(const PatternRow *rows, u32 count, Str s)
{
    for (u32 i = 0; i < count; i++)
        if (pattern_fits(s, rows[i].text))
            return &rows[i];
    return NULL;
}

static FormatCase
letters_of(Str text)
{
    if (text.ptr[0] >= 'a' && text.ptr[0] <= 'z')
        return FORMAT_LOWER;
    return text.len > 1 && text.ptr[1] >= 'a' && text.ptr[1] <= 'z' ? FORMAT_CAPITAL : FORMAT_UPPER;
}

static u8
take_prefix(Str *s)
{
    u8 found = pattern_fits(*s, "FM") ? FORMAT_FM : pattern_fits(*s, "TM") ? FORMAT_TM : 0;
    if (found)
        *s = (Str){s->ptr + 2, s->len - 2};
    return found;
}

static u8
take_suffix(Str *s)
{
    bool th = pattern_fits(*s, "TH"), spell = s->len >= 2 && memcmp(s->ptr, "SP", 2) == 0;
    u8 found = !th ? 0 : s->ptr[0] == 'T' ? FORMAT_TH_UPPER : FORMAT_TH_LOWER;
    if (th || spell)
        *s = (Str){s->ptr + 2, s->len - 2};
    return found;
}

/* ---- what a number's patterns make together ---- */
static bool
bad_picture(Error *err, const char *message)
{
    return error_set(err, ERR_SYNTAX_ERROR, "%s", message);
}

static bool
learn_digit(NumberPicture *p, bool zero, Error *err)
{
    if (p->brackets)
        return bad_picture(err, zero ? "\"0\" must be ahead of \"PR\"" : "\"9\" must be ahead of \"PR\"");
    if (!zero && p->shifted) {
        p->shift++;
        return true;
    }
    if (zero && !p->zero && !p->point) {
        p->zero = true;
        p->zero_start = p->before + 1;
    }
    if (p->point)
        p->after++;
    else
        p->before++;
    if (zero)
        p->zero_end = p->before + p->after;
    return true;
}

static bool
learn_sign(NumberPicture *p, Error *err)
{
    if (p->sign)
        return bad_picture(err, "cannot use \"S\" twice");
    if (p->plus || p->minus || p->brackets)
        return bad_picture(err, "cannot use \"S\" and \"PL\"/\"MI\"/\"SG\"/\"PR\" together");
    p->sign = true;
    p->sign_behind = p->point;
    if (!p->point)
        p->sign_at = p->before;
    return true;
}

static bool
learn_exponent(NumberPicture *p, Error *err)
{
    if (p->blank || p->fill || p->sign || p->brackets || p->minus || p->plus || p->roman || p->shifted) {
        bad_picture(err, "\"EEEE\" is incompatible with other formats");
        error_detail(err, "\"EEEE\" may only be used together with digit and decimal point patterns.");
        return false;
    }
    p->exponent = true;
    return true;
}

static bool
learn_pattern(NumberPicture *p, FormatPattern pattern, Error *err)
{
    if (p->exponent)
        return bad_picture(err, pattern == NP_EXPONENT ? "cannot use \"EEEE\" twice" : "\"EEEE\" must be the last pattern used");
    switch ((int)pattern) {
    case NP_NINE:
    case NP_ZERO:
        return learn_digit(p, pattern == NP_ZERO, err);
    case NP_BLANK:
        p->blank |= p->before == 0 && p->after == 0 && !p->zero;
        return true;
    case NP_POINT:
    case NP_LOCAL_POINT:
        if (p->point)
            return bad_picture(err, "multiple decimal points");
        if (p->shifted)
            return bad_picture(err, "cannot use \"V\" and decimal point together");
        p->point = true;
        return true;
    case NP_FILL:
        p->fill = true;
        return true;
    case NP_SIGN:
        return learn_sign(p, err);
    case NP_MINUS:
        p->minus = true;
        return !p->sign || bad_picture(err, "cannot use \"S\" and \"MI\" together");
    case NP_PLUS:
        p->plus = true;
        return !p->sign || bad_picture(err, "cannot use \"S\" and \"PL\" together");
    case NP_PLUS_MINUS:
        p->minus = p->plus = true;
        return !p->sign || bad_picture(err, "cannot use \"S\" and \"SG\" together");
    case NP_BRACKETS:
        if (p->sign || p->plus || p->minus)
            return bad_picture(err, "cannot use \"PR\" and \"S\"/\"PL\"/\"MI\"/\"SG\" together");
        p->brackets = true;
        return true;
    case NP_ROMAN:
        p->roman = true;
        return true;
    case NP_SHIFT:
        p->shifted = true;
        return !p->point || bad_picture(err, "cannot use \"V\" and decimal point together");
    case NP_EXPONENT:
        return learn_exponent(p, err);
    default:
        return true;
    }
}

/* ---- the walk ---- */
static void
add_char(Format *f, Str *s, FormatNodeKind kind)
{
    u32 n = format_char_bytes(s->ptr, s->ptr + s->len);
    f->nodes[f->count++] = (FormatNode){.text = {s->ptr, n}, .kind = (u8)kind};
    *s = (Str){s->ptr + n, s->len - n};
}

/* Behind the first quote: up to the next one, or the end. A backslash takes what follows as it is. */
static void
add_quoted(Format *f, Str *s)
{
    while (s->len && s->ptr[0] != '"') {
        if (s->ptr[0] == '\\' && s->len > 1)
            *s = (Str){s->ptr + 1, s->len - 1};
        add_char(f, s, NODE_CHAR);
    }
    if (s->len)
        *s = (Str){s->ptr + 1, s->len - 1};
}

static bool
add_pattern(Format *f, Str *s, const PatternRow *row, bool number, u8 modifiers, Error *err)
{
    u32 len = (u32)strlen(row->text);
    Str text = {s->ptr, len};
    *s = (Str){s->ptr + len, s->len - len};
    if (number && !learn_pattern(&f->picture, row->pattern, err))
        return false;
    if (!number)
        modifiers |= take_suffix(s);
    f->nodes[f->count++] = (FormatNode){.text = text, .kind = NODE_PATTERN, .pattern = (u8)row->pattern, .modifiers = modifiers,
                                        .letters = (u8)letters_of(text), .calendar = (u8)row->calendar, .digits = row->digits};
    return true;
}

static bool
parse_format(Str s, bool number, Format *f, Error *err)
{
    while (s.len) {
        u8 modifiers = number ? 0 : take_prefix(&s);
        const PatternRow *row = number ? find_pattern(NUMBER_PATTERNS, COUNT_OF(NUMBER_PATTERNS), s)
                                       : find_pattern(TIME_PATTERNS, COUNT_OF(TIME_PATTERNS), s);
        if (row) {
            if (!add_pattern(f, &s, row, number, modifiers, err))
                return false;
        } else if (s.len && s.ptr[0] == '"') {
            s = (Str){s.ptr + 1, s.len - 1};
            add_quoted(f, &s);
        } else if (s.len) {
            if (s.ptr[0] == '\\' && s.len > 1 && s.ptr[1] == '"')
                s = (Str){s.ptr + 1, s.len - 1};
            add_char(f, &s, !number && format_is_separator(s.ptr[0]) ? NODE_SEPARATOR : format_is_space(s.ptr[0]) ? NODE_SPACE : NODE_CHAR);
        }
    }
    return true;
}

const Format *
format_arg(KernCall *c, u32 i, u32 k, bool number)
{
    if (c->memo)
        return c->memo;
    Str text = ARG(c, k, Str, i);
    Format *f = ARENA_NEW(c->scratch, Format);
    f->nodes = ARENA_ARRAY(c->scratch, FormatNode, text.len + 1);
    if (!parse_format(text, number, f, c->err))
        return NULL;
    if (c->args[k]->is_const)
        c->memo = f;
    return f;
}
