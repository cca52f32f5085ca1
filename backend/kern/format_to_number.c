/*
 * format_to_number.c
 *    to_number(): the digits, point and sign that a text has where the picture looks for them.
 */
#include "backend/kern/format.h"

typedef struct NumberReader {
    const char *at, *end;
    const NumberPicture *p;
    char *number, *digits_end; /* number[0] is the sign, ' ' as long as there is none */
    i32 before, after;         /* digits read */
    bool point_read;
} NumberReader;

static bool
is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool
at_end(const NumberReader *r)
{
    return r->at >= r->end;
}

static void
put(NumberReader *r, char c)
{
    *r->digits_end++ = c;
}

/* What stands for a sign or a currency; not what may belong to the number. */
static void
skip_others(NumberReader *r, u32 chars)
{
    while (chars-- > 0 && !at_end(r) && *r->at && !strchr("0123456789.,+-", *r->at))
        r->at += format_char_bytes(r->at, r->end);
}

static void
read_sign_before(NumberReader *r)
{
    bool bracket = r->p->brackets && *r->at == '<';
    bool local = r->p->sign && !r->p->sign_behind;
    if (*r->at == '-' || (bracket && !local))
        *r->number = '-';
    else if (*r->at == '+')
        *r->number = '+';
    else
        return;
    r->at++;
}

/* Behind the last digit: S wants the sign there; of MI, PL and SG it may stand at another place than the picture has it. */
static void
read_sign_behind(NumberReader *r, bool read)
{
    if (r->p->sign && read && r->at + 1 < r->end && !is_digit(r->at[1])) {
        if (r->at[1] == '-' || r->at[1] == '+')
            *r->number = *++r->at;
    } else if (!read && !r->p->sign && (r->p->plus || r->p->minus) && (*r->at == '-' || *r->at == '+')) {
        *r->number = *r->at;
    }
}

/* 9, 0 or the point; the walk goes on behind *at. */
static void
read_place(NumberReader *r, FormatPattern pattern)
{
    bool read = false;
    if (*r->at == ' ')
        r->at++;
    if (at_end(r))
        return;
    if (*r->number == ' ' && (pattern == NP_ZERO || pattern == NP_NINE) && r->before + r->after == 0)
        read_sign_before(r);
    if (at_end(r))
        return;
    if (is_digit(*r->at)) {
        if (r->point_read && r->after == r->p->after)
            return;
        put(r, *r->at);
        *(r->point_read ? &r->after : &r->before) += 1;
        read = true;
    } else if (r->p->point && !r->point_read && *r->at == '.') {
        put(r, '.');
        r->point_read = read = true;
    }
    if (*r->number == ' ' && r->before + r->after > 0)
        read_sign_behind(r, read);
}

/* A sign of MI, PL or SG. */
static void
read_sign_pattern(NumberReader *r, const char *signs)
{
    if (strchr(signs, *r->at) && *r->at)
        *r->number = *r->at++;
    else
        skip_others(r, 1);
}

static void
read_pattern(NumberReader *r, FormatPattern pattern)
{
    switch ((int)pattern) {
    case NP_NINE: case NP_ZERO: case NP_POINT: case NP_LOCAL_POINT:
        read_place(r, pattern);
        r->at++;
        break;
    case NP_COMMA: case NP_GROUP:
        if (!r->p->fill && *r->at == ',')
            r->at++;
        break;
    case NP_CURRENCY: skip_others(r, 1); break;
    case NP_ORDINAL:
        if (!r->p->point)
            skip_others(r, 2);
        break;
    case NP_MINUS: read_sign_pattern(r, "-"); break;
    case NP_PLUS: read_sign_pattern(r, "+"); break;
    case NP_PLUS_MINUS: read_sign_pattern(r, "-+"); break;
    default: break;
    }
}

/* V: the last digits are decimals; 16 decimals more, as PostgreSQL, where it multiplies by a power of 10. */
static bool
shift_back(KernCall *c, i32 digits, Num *n)
{
    enum { POWER_SCALE = 16 };
    i32 scale = MAX(POWER_SCALE, digits);
    if (n->scale + scale > NUM_MAX_SCALE)
        return kern_num_status(c, NUM_OVERFLOW);
    Num unit = num_make(POW10_I128[scale - digits], (u32)scale);
    return kern_num_status(c, num_mul(n, &unit, n));
}

static bool
to_number(KernCall *c, u32 i)
{
    Str s = ARG(c, 0, Str, i);
    if (ARG(c, 1, Str, i).len == 0) {
        c->ret->null_mask[i] = 1;
        return true;
    }
    const Format *f = format_arg(c, i, 1, true);
    if (!f)
        return false;
    const NumberPicture *p = &f->picture;
    if (p->exponent || p->roman)
        return error_set(c->err, ERR_FEATURE_NOT_SUPPORTED, "\"%s\" not supported for input", p->exponent ? "EEEE" : "RN");
    NumberReader r = {.at = s.ptr, .end = s.ptr + s.len, .p = p, .number = arena_alloc(c->scratch, (size_t)f->count + 2)};
    r.digits_end = r.number + 1;
    *r.number = ' ';
    for (u32 k = 0; k < f->count && !at_end(&r); k++) {
        if (f->nodes[k].kind == NODE_PATTERN)
            read_pattern(&r, (FormatPattern)f->nodes[k].pattern);
        else
            r.at += format_char_bytes(r.at, r.end);
    }
    if (r.digits_end[-1] == '.')
        r.digits_end--;
    /* the picture is the type, with the decimals that were read */
    i32 whole = p->before + p->shift, typmod = whole + r.after > NUM_MAX_DIGITS ? -1 : numeric_typmod((u32)(whole + r.after), (u32)r.after);
    Value v;
    if (!value_in(c->scratch, c->format, TYPE_NUMERIC, typmod, (Str){r.number, (u32)(r.digits_end - r.number)}, &v, c->err))
        return false;
    if (p->shifted && !shift_back(c, p->shift, &v.num))
        return false;
    RET(c, Num, i) = v.num;
    return true;
}

KernRow
format_to_number_row(const FuncDef *f)
{
    return f->op == FOP_TO_NUMBER ? to_number : NULL;
}
