/*
 * format_number.c
 *    to_char() of numbers.
 *
 * Each type first makes the number's text without sign, as many decimals as the picture has; then one walk writes it into the picture. What has too many
 * digits before the point is shown as #.
 */
#include "backend/kern/format.h"

#include <float.h>
#include <math.h>
#include <stdio.h>

/* What is written: digits without sign, a point if there is one, terminated. */
typedef struct Digits {
    const char *text;
    char sign; /* '+' or '-' */
} Digits;

typedef struct Writer {
    FormatText to;
    NumberPicture p;
    const char *number, *at;  /* at: the next character of the number */
    const char *last;         /* FM: what is behind it is left out; NULL: nothing is */
    char sign;                /* 0: none, as for Roman numbers */
    bool sign_written, in_number, ended;
    i32 blanks, place, places; /* digits before the number, done, in all */
} Writer;

/* A zero byte ends the text, as it does in PostgreSQL. */
static void
put_char(Writer *w, char c)
{
    w->ended |= c == 0;
    if (!w->ended)
        format_put(&w->to, &c, 1);
}

/* ---- digits of a picture ---- */

/* The 0 of "0.5" for a picture without 0: a blank. */
static bool
at_silent_zero(const Writer *w)
{
    return !w->p.zero && w->at == w->number && *w->number == '0' && w->p.after != 0;
}

static bool
only_point_is_left(const Writer *w)
{
    return w->last && *w->last == '.';
}

static void
put_sign_before(Writer *w)
{
    if (w->p.sign) {
        if (w->p.sign_behind)
            return;
        put_char(w, w->sign == '-' ? '-' : '+');
    } else if (w->p.brackets) {
        put_char(w, w->sign == '+' ? ' ' : '<');
    } else if (w->sign == '-') {
        put_char(w, '-');
    } else if (w->sign == '+') {
        if (!w->p.fill)
            put_char(w, ' ');
    } else {
        return;
    }
    w->sign_written = true;
}

static void
put_sign_behind(Writer *w)
{
    if (w->sign_written && w->p.brackets)
        put_char(w, w->sign == '+' ? ' ' : '>');
    else if (w->p.sign && w->p.sign_behind)
        put_char(w, w->sign == '-' ? '-' : '+');
}

static void
put_number_char(Writer *w, FormatPattern pattern)
{
    if (*w->at == '.') {
        if (!only_point_is_left(w) || w->p.fill)
            put_char(w, '.');
    } else if (w->last && w->at > w->last && pattern != NP_ZERO) {
        /* left out */
    } else if (at_silent_zero(w)) {
        if (!w->p.fill)
            put_char(w, ' ');
        else if (only_point_is_left(w))
            put_char(w, '0');
    } else {
        put_char(w, *w->at);
        w->in_number = true;
    }
    if (*w->at)
        w->at++;
}

/* 9, 0 or the point. */
static void
put_place(Writer *w, FormatPattern pattern)
{
    const NumberPicture *p = &w->p;
    if (p->roman)
        return;
    w->in_number = false;
    bool zeros = p->zero && p->zero_start <= w->place, blank = w->place < w->blanks;
    if (!w->sign_written && (!blank || (p->zero && p->zero_start == w->place)) && (!at_silent_zero(w) || only_point_is_left(w)))
        put_sign_before(w);
    if (blank && !zeros) {
        if (!p->fill)
            put_char(w, ' ');
    } else if (blank) {
        put_char(w, '0');
        w->in_number = true;
    } else {
        put_number_char(w, pattern);
    }
    i32 end = w->places + (w->blanks ? 1 : 0) + (p->point ? 1 : 0);
    if (w->last && w->last == w->at)
        end = w->place;
    if (w->place + 1 == end)
        put_sign_behind(w);
    w->place++;
}

/* ---- the other patterns ---- */
static void
put_comma(Writer *w)
{
    if (w->in_number)
        put_char(w, ',');
    else if (!w->p.fill)
        put_char(w, ' ');
}

static void
put_roman(Writer *w, FormatCase letters)
{
    for (size_t n = strlen(w->at); !w->p.fill && n < 15; n++)
        put_char(w, ' ');
    for (const char *s = w->at; *s; s++)
        put_char(w, letters == FORMAT_LOWER && *s >= 'A' && *s <= 'Z' ? (char)(*s + 32) : *s);
}

static bool
put_ordinal(Writer *w, FormatCase letters, Error *err)
{
    if (w->ended || w->p.roman || *w->number == '#' || w->sign == '-' || w->p.point)
        return true;
    return format_put_ordinal(&w->to, str_of(w->number), letters != FORMAT_LOWER, err);
}

static bool
put_pattern(Writer *w, const FormatNode *n, Error *err)
{
    switch ((int)n->pattern) {
    case NP_NINE: case NP_ZERO: case NP_POINT: case NP_LOCAL_POINT:
        put_place(w, (FormatPattern)n->pattern);
        return true;
    case NP_COMMA: case NP_GROUP:
        put_comma(w);
        return true;
    case NP_CURRENCY:
        put_char(w, ' ');
        return true;
    case NP_ROMAN:
        put_roman(w, (FormatCase)n->letters);
        return true;
    case NP_ORDINAL:
        return put_ordinal(w, (FormatCase)n->letters, err);
    case NP_MINUS:
        if (w->sign == '-' || !w->p.fill)
            put_char(w, w->sign == '-' ? '-' : ' ');
        return true;
    case NP_PLUS:
        if (w->sign == '+' || !w->p.fill)
            put_char(w, w->sign == '+' ? '+' : ' ');
        return true;
    case NP_PLUS_MINUS:
        put_char(w, w->sign);
        return true;
    default:
        return true;
    }
}

/* ---- the picture as a whole ---- */

/* The last decimal that is not 0, or the point; NULL: there is no point. */
static const char *
last_decimal(const char *number)
{
    const char *p = strchr(number, '.'), *last = p;
    while (p && *++p)
        if (*p != '0')
            last = p;
    return last;
}

static void
begin_number(Writer *w)
{
    NumberPicture *p = &w->p;
    if (p->zero_start)
        p->zero_start--;
    if (p->roman) {
        *p = (NumberPicture){.roman = true, .fill = p->fill};
        w->sign = 0;
        w->blanks = 0;
    }
    if (p->plus || p->minus) {
        w->sign_written = p->minus; /* MI, PL and SG write it; of PL alone a minus is left */
    } else {
        if (w->sign != '-' && p->fill)
            p->brackets = false;
        w->sign_written = w->sign == '+' && p->fill && !p->sign;
        p->sign_behind |= p->sign && p->before == p->sign_at;
    }
    w->places = p->after + p->before - 1;
    if (p->fill && p->point) {
        w->last = last_decimal(w->number);
        /* decimals that a 0 asks for stay */
        if (w->last && p->zero_end > w->blanks) {
            const char *zero = w->number + MIN((i32)strlen(w->number) - 1, p->zero_end - w->blanks);
            w->last = MAX(w->last, zero);
        }
    }
    if (!w->sign_written && w->blanks == 0)
        w->places++;
}

/* Writes the number's text into the picture; blanks: how many digits it has less than the picture. */
static bool
put_picture(KernCall *c, u32 i, const Format *f, const NumberPicture *p, Digits d, i32 blanks)
{
    Writer w = {.to = {.arena = c->scratch}, .p = *p, .number = d.text, .at = d.text, .sign = d.sign, .blanks = blanks};
    begin_number(&w);
    for (u32 k = 0; k < f->count && !w.ended; k++) {
        const FormatNode *n = &f->nodes[k];
        if (n->kind != NODE_PATTERN)
            format_put(&w.to, n->text.ptr, n->text.len);
        else if (!put_pattern(&w, n, c->err))
            return false;
    }
    RET(c, Str, i) = (Str){w.to.data ? w.to.data : "", w.to.len};
    return true;
}

/* "#####.##" */
static char *
hashes(KernCall *c, const NumberPicture *p)
{
    u32 n = (u32)(p->before + p->after) + 1;
    char *s = arena_alloc(c->scratch, n + 1);
    memset(s, '#', n);
    s[p->before] = '.';
    s[n] = 0;
    return s;
}

/* The number in d, checked against the picture's digits. */
static bool
put_digits(KernCall *c, u32 i, const Format *f, const NumberPicture *p, Digits d)
{
    const char *point = strchr(d.text, '.');
    i32 before = (i32)(point ? point - d.text : (ptrdiff_t)strlen(d.text));
    if (before > p->before)
        d.text = hashes(c, p);
    return put_picture(c, i, f, p, d, before < p->before ? p->before - before : 0);
}

/* EEEE is the whole text. */
static bool
put_alone(KernCall *c, u32 i, const char *s)
{
    RET(c, Str, i) = str_of(s);
    return true;
}

/* What has no exponent, NaN and the infinities. */
static bool
put_no_exponent(KernCall *c, u32 i, const NumberPicture *p)
{
    u32 n = (u32)(p->before + p->after) + 6;
    char *s = arena_alloc(c->scratch, n + 1);
    memset(s, '#', n);
    s[0] = ' ';
    s[p->before + 1] = '.';
    s[n] = 0;
    return put_alone(c, i, s);
}

static bool
put_roman_number(KernCall *c, u32 i, const Format *f, i64 v)
{
    static const struct { i32 value; const char *text; } PARTS[] = {
        {1000, "M"}, {900, "CM"}, {500, "D"}, {400, "CD"}, {100, "C"}, {90, "XC"}, {50, "L"}, {40, "XL"}, {10, "X"}, {9, "IX"}, {5, "V"},
        {4, "IV"}, {1, "I"},
    };
    char *s = arena_zalloc(c->scratch, 17);
    if (v < 1 || v > 3999)
        memset(s, '#', 15);
    else
        for (u32 k = 0, n = 0; k < COUNT_OF(PARTS); k++)
            for (; v >= PARTS[k].value; v -= PARTS[k].value)
                for (const char *t = PARTS[k].text; *t; t++)
                    s[n++] = *t;
    return put_picture(c, i, f, &f->picture, (Digits){s, '+'}, 0);
}

static bool
out_of_range(KernCall *c, const char *type)
{
    return error_set(c->err, ERR_NUMERIC_OUT_OF_RANGE, "%s out of range", type);
}

/* ---- exact numbers, as an integer and a scale ---- */

/* Decimal digits of v, at least one. */
static char *
digits_of(Arena *a, u128 v, u32 *ret_len)
{
    char *end = (char *)arena_alloc(a, 42) + 41, *at = end;
    *end = 0;
    do {
        *--at = (char)('0' + (int)(v % 10));
        v /= 10;
    } while (v);
    *ret_len = (u32)(end - at);
    return at;
}

/* v x 10^-scale with exactly `after` decimals; after >= scale or the digits are rounded before. */
static char *
decimal_text(Arena *a, u128 v, u32 scale, u32 after)
{
    u32 len, zeros;
    char *digits = digits_of(a, v, &len);
    zeros = len <= scale ? scale + 1 - len : 0; /* "0.05" */
    u32 whole = len + zeros - scale;
    char *s = arena_alloc(a, (size_t)whole + after + 2);
    for (u32 k = 0; k < whole + after; k++) {
        char *to = s + k + (k >= whole);
        *to = k < zeros ? '0' : k - zeros < len ? digits[k - zeros] : '0';
    }
    if (after)
        s[whole] = '.';
    s[whole + after + (after > 0)] = 0;
    return s;
}

/* One digit before the point, `after` behind it, rounded: "-1.23e+04". */
static bool
put_exponent(KernCall *c, u32 i, bool negative, u128 v, u32 scale, u32 after)
{
    u32 len;
    digits_of(c->scratch, v, &len);
    i32 exponent = v ? (i32)len - 1 - (i32)scale : 0;
    u32 have = len - 1; /* decimals of v with one digit before the point */
    for (; have > after + 1; have--)
        v = v / 10; /* the digit that decides is the next one */
    if (have > after) {
        v = (v + 5) / 10;
        have--;
    }
    char *text = decimal_text(c->scratch, v, have, after);
    size_t n = strlen(text) + 16;
    char *s = arena_alloc(c->scratch, n);
    snprintf(s, n, "%c%se%+03d", negative ? '-' : ' ', text, exponent);
    return put_alone(c, i, s);
}

static bool
put_integer(KernCall *c, u32 i, const Format *f, i64 v)
{
    const NumberPicture *p = &f->picture;
    u128 magnitude = v < 0 ? -(u128)v : (u128)v;
    if (p->exponent)
        return put_exponent(c, i, v < 0, magnitude, 0, (u32)p->after);
    return put_digits(c, i, f, p, (Digits){decimal_text(c->scratch, magnitude, 0, (u32)p->after), v < 0 ? '-' : '+'});
}

/* Digits behind V move the point of an integer: v x 10^shift; false: beyond the type. */
static bool
shift_integer(i64 *v, i32 shift, i64 most)
{
    i64 unit = 1;
    for (i32 k = 0; k < shift; k++)
        if (__builtin_mul_overflow(unit, 10, &unit) || unit > most)
            return false;
    return !__builtin_mul_overflow(*v, unit, v) && *v <= most && *v >= -most - 1;
}

static bool
integer_to_char(KernCall *c, u32 i)
{
    const Format *f = format_arg(c, i, 1, true);
    bool small = c->def->args[0] == TYPE_INT4;
    i64 v = small ? ARG(c, 0, i32, i) : ARG(c, 0, i64, i);
    if (!f)
        return false;
    if (f->picture.roman)
        return v == (i32)v ? put_roman_number(c, i, f, v) : out_of_range(c, "integer");
    if (!f->picture.shifted)
        return put_integer(c, i, f, v);
    if (!shift_integer(&v, f->picture.shift, small ? INT32_MAX : INT64_MAX))
        return out_of_range(c, small ? "integer" : "bigint");
    Format shifted = *f;
    shifted.picture.before += f->picture.shift;
    return put_integer(c, i, &shifted, v);
}

static bool
numeric_to_roman(KernCall *c, u32 i, const Format *f, const Num *n)
{
    i64 v;
    if (n->kind != NUM_FINITE)
        return error_set(c->err, ERR_FEATURE_NOT_SUPPORTED, "cannot convert %s to integer", n->kind == NUM_NAN ? "NaN" : "infinity");
    if (num_to_i64(n, &v) != NUM_OK || v != (i32)v)
        return out_of_range(c, "integer");
    return put_roman_number(c, i, f, v);
}

/* Rounded half away from zero to fewer decimals. */
static u128
round_digits(u128 v, u32 scale, u32 to)
{
    for (; scale > to + 1; scale--)
        v /= 10;
    return scale > to ? (v + 5) / 10 : v;
}

static bool
numeric_to_char(KernCall *c, u32 i)
{
    const Format *f = format_arg(c, i, 1, true);
    Num n = kern_num(c->args[0], i);
    if (!f)
        return false;
    NumberPicture p = f->picture;
    if (p.roman)
        return numeric_to_roman(c, i, f, &n);
    if (n.kind != NUM_FINITE && p.exponent)
        return put_no_exponent(c, i, &p);
    p.before += p.shift;
    if (n.kind != NUM_FINITE)
        return put_digits(c, i, f, &p, (Digits){n.kind == NUM_NAN ? "NaN" : "Infinity", n.kind == NUM_NEG_INF ? '-' : '+'});
    i128 v = num_int(&n);
    bool negative = v < 0;
    u128 magnitude = negative ? -(u128)v : (u128)v;
    u32 scale = n.scale, shift = (u32)p.shift, after = (u32)p.after;
    if (p.exponent)
        return put_exponent(c, i, negative, magnitude, scale, after);
    u32 zeros = shift > scale ? shift - scale : 0; /* V adds them where there are no decimals to move */
    scale = shift > scale ? 0 : scale - shift;
    if (scale > after) {
        magnitude = round_digits(magnitude, scale, after);
        scale = after;
    }
    char *text = decimal_text(c->scratch, magnitude, scale, after);
    if (zeros && magnitude) {
        size_t len = strlen(text);
        char *longer = arena_alloc(c->scratch, len + zeros + 1);
        memcpy(longer, text, len);
        memset(longer + len, '0', zeros);
        longer[len + zeros] = 0;
        text = longer;
    }
    return put_digits(c, i, f, &p, (Digits){text, negative && magnitude ? '-' : '+'});
}

/* ---- floats ---- */

/* printf's text of %.*f or %+.*e, but NaN and the infinities as PostgreSQL spells them. */
static char *
float_text(KernCall *c, bool exponent, i32 after, double v)
{
    size_t room = 330 + (size_t)after;
    char *s = arena_alloc(c->scratch, room);
    if (!isfinite(v))
        snprintf(s, room, "%s", isnan(v) ? "NaN" : v < 0 ? "-Infinity" : "Infinity");
    else
        snprintf(s, room, exponent ? "%+.*e" : "%.*f", after, v);
    return s;
}

static bool
put_float(KernCall *c, u32 i, double v, double shifted, i32 type_digits)
{
    const Format *f = format_arg(c, i, 1, true);
    if (!f)
        return false;
    NumberPicture p = f->picture;
    if (p.roman) {
        double whole = rint(v);
        return put_roman_number(c, i, f, whole >= 1 && whole <= 3999 ? (i64)whole : 0);
    }
    if (p.exponent && !isfinite(v))
        return put_no_exponent(c, i, &p);
    if (p.exponent) {
        char *s = float_text(c, true, p.after, v);
        if (*s == '+')
            *s = ' ';
        return put_alone(c, i, s);
    }
    if (p.shifted)
        v = shifted;
    p.before += p.shift;
    /* no more digits than the type has */
    i32 whole = (i32)strlen(float_text(c, false, 0, fabs(v)));
    p.after = whole >= type_digits ? 0 : MIN(p.after, type_digits - whole);
    char *s = float_text(c, false, p.after, v);
    bool negative = *s == '-';
    return put_digits(c, i, f, &p, (Digits){s + negative, negative ? '-' : '+'});
}

static i32
shift_of(KernCall *c, u32 i)
{
    const Format *f = format_arg(c, i, 1, true);
    return f ? f->picture.shift : 0;
}

static bool
float8_to_char(KernCall *c, u32 i)
{
    double v = ARG(c, 0, double, i);
    return put_float(c, i, v, v * pow(10, shift_of(c, i)), DBL_DIG);
}

static bool
float4_to_char(KernCall *c, u32 i)
{
    float v = ARG(c, 0, float, i);
    return put_float(c, i, v, (float)(v * pow(10, shift_of(c, i))), FLT_DIG);
}

KernRow
format_number_row(const FuncDef *f)
{
    if (f->op != FOP_TO_CHAR)
        return NULL;
    switch ((int)f->args[0]) {
    case TYPE_INT4: case TYPE_INT8: return integer_to_char;
    case TYPE_NUMERIC: return numeric_to_char;
    case TYPE_FLOAT4: return float4_to_char;
    case TYPE_FLOAT8: return float8_to_char;
    default: return NULL;
    }
}
