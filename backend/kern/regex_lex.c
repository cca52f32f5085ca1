/*
 * regex_lex.c
 *    Tokens of a regular expression: prefixes and embedded options, escapes, and what a character means where it stands.
 *
 * After an error the reader gives RT_END for ever, so that every loop of the parser ends; the first error counts.
 */
#include "backend/kern/regex_inside.h"

/* Parts of the grammar with tokens of their own. */
enum { IN_EXPRESSION, IN_QUOTE, IN_BRACE, IN_BRACKET, IN_COLLATING, IN_EQUIVALENCE, IN_CLASS_NAME };

void
regex_reader_fail(RegexReader *r, const char *message)
{
    if (!r->error && !r->unsupported)
        r->error = message;
    r->token = RT_END;
    r->now = r->end;
}

static const char NO_ESCAPE[] = "invalid escape \\ sequence", NO_OPERAND[] = "quantifier operand invalid";

static void
give(RegexReader *r, RegexToken token, u32 value)
{
    r->token = token;
    r->value = value;
}

static bool
at(const RegexReader *r, u32 ahead, u32 c)
{
    return (size_t)(r->end - r->now) > ahead && r->now[ahead] == c;
}

static bool
is_letter(u32 c)
{
    return (c | 32) >= 'a' && (c | 32) <= 'z';
}

static bool
is_digit(u32 c)
{
    return c >= '0' && c <= '9';
}

static bool
is_blank(u32 c)
{
    return c == ' ' || (c >= '\t' && c <= '\r') || c == 0x1680 || (c >= 0x2000 && c <= 0x2006) || (c >= 0x2008 && c <= 0x200a) || c == 0x2028 || c == 0x2029 ||
        c == 0x205f || c == 0x3000;
}

/* ---- in front ---- */

static void
read_options(RegexReader *r)
{
    for (; r->now < r->end && is_letter(*r->now); r->now++)
        switch (*r->now) {
        case 'b': r->unsupported = "a basic regular expression (option b)"; break;
        case 'c': r->flags &= ~(u32)REGEX_ICASE; break;
        case 'e': r->flags = (r->flags | REGEX_EXTENDED) & ~(u32)REGEX_QUOTE; break;
        case 'i': r->flags |= REGEX_ICASE; break;
        case 'm': case 'n': r->flags |= REGEX_NLSTOP | REGEX_NLANCH; break;
        case 'p': r->flags = (r->flags | REGEX_NLSTOP) & ~(u32)REGEX_NLANCH; break;
        case 'q': r->flags = (r->flags | REGEX_QUOTE) & ~(u32)REGEX_EXTENDED; break;
        case 's': r->flags &= ~(u32)(REGEX_NLSTOP | REGEX_NLANCH); break;
        case 't': r->flags &= ~(u32)REGEX_EXPANDED; break;
        case 'w': r->flags = (r->flags | REGEX_NLANCH) & ~(u32)REGEX_NLSTOP; break;
        case 'x': r->flags |= REGEX_EXPANDED; break;
        default: regex_reader_fail(r, "invalid embedded option"); return;
        }
    if (!at(r, 0, ')')) {
        regex_reader_fail(r, "invalid embedded option");
        return;
    }
    r->now++;
    if (r->flags & REGEX_QUOTE)
        r->flags &= ~(u32)(REGEX_EXPANDED | REGEX_NLSTOP | REGEX_NLANCH);
}

static void
read_prefixes(RegexReader *r)
{
    if (r->flags & REGEX_QUOTE)
        return;
    if (at(r, 0, '*') && at(r, 1, '*') && at(r, 2, '*') && r->end - r->now >= 4) {
        switch (r->now[3]) {
        case '?': regex_reader_fail(r, "invalid regexp (reg version 0.8)"); return;
        case '=':
            r->flags = (r->flags | REGEX_QUOTE) & ~(u32)(REGEX_EXTENDED | REGEX_EXPANDED | REGEX_NLSTOP | REGEX_NLANCH);
            r->now += 4;
            return;
        case ':':
            r->flags &= ~(u32)REGEX_EXTENDED;
            r->now += 4;
            break;
        default: regex_reader_fail(r, NO_OPERAND); return;
        }
    }
    if (r->flags & REGEX_EXTENDED)
        return;
    if (at(r, 0, '(') && at(r, 1, '?') && r->end - r->now >= 3 && is_letter(r->now[2])) {
        r->now += 2;
        read_options(r);
    }
}

/* ---- escapes ---- */

/* Digits of a base; NOWHERE and an error when there are too few. */
static bool
read_digits(RegexReader *r, u32 base, u32 least, u32 most, u32 *ret)
{
    u32 value = 0, n = 0;
    for (; n < most && r->now < r->end; n++, r->now++) {
        u32 c = *r->now, digit = is_digit(c) ? c - '0' : is_letter(c) && (c | 32) <= 'f' ? (c | 32) - 'a' + 10 : 99;
        if (digit >= base)
            break;
        value = value * base + digit;
    }
    if (n < least)
        regex_reader_fail(r, NO_ESCAPE);
    *ret = value;
    return n >= least;
}

static void
read_char_number(RegexReader *r, u32 least, u32 most)
{
    u32 c;
    if (!read_digits(r, 16, least, most, &c))
        return;
    if (c > REGEX_MAX_CHAR)
        regex_reader_fail(r, NO_ESCAPE);
    else
        give(r, RT_PLAIN, c);
}

/* A back reference, or the number of a character. */
static void
read_number(RegexReader *r, u32 first)
{
    const u32 *behind_first = r->now;
    u32 n;
    if (first != '0') {
        r->now--;
        if (!read_digits(r, 10, 1, 255, &n))
            return;
        if (r->now == behind_first || ((i32)n > 0 && n <= r->groups)) {
            give(r, RT_BACKREF, n);
            return;
        }
        r->now = behind_first;
    }
    r->now--;
    if (!read_digits(r, 8, 1, 3, &n))
        return;
    if (n > 0xff) {
        r->now--;
        n >>= 3;
    }
    give(r, RT_PLAIN, n);
}

static void
read_escape(RegexReader *r)
{
    u32 c = *r->now++;
    if (!is_letter(c) && !is_digit(c)) {
        give(r, RT_PLAIN, c);
        return;
    }
    switch (c) {
    case 'a': give(r, RT_PLAIN, '\a'); return;
    case 'A': give(r, RT_TEXT_BEGIN, 0); return;
    case 'b': give(r, RT_PLAIN, '\b'); return;
    case 'B': give(r, RT_PLAIN, '\\'); return;
    case 'c':
        if (r->now == r->end)
            regex_reader_fail(r, NO_ESCAPE);
        else
            give(r, RT_PLAIN, *r->now++ & 037);
        return;
    case 'd': give(r, RT_CLASS, CLASS_DIGIT); return;
    case 'D': give(r, RT_NOT_CLASS, CLASS_DIGIT); return;
    case 'e': give(r, RT_PLAIN, 033); return;
    case 'f': give(r, RT_PLAIN, '\f'); return;
    case 'm': give(r, RT_WORD_BEGIN, 0); return;
    case 'M': give(r, RT_WORD_END, 0); return;
    case 'n': give(r, RT_PLAIN, '\n'); return;
    case 'r': give(r, RT_PLAIN, '\r'); return;
    case 's': give(r, RT_CLASS, CLASS_SPACE); return;
    case 'S': give(r, RT_NOT_CLASS, CLASS_SPACE); return;
    case 't': give(r, RT_PLAIN, '\t'); return;
    case 'u': read_char_number(r, 4, 4); return;
    case 'U': read_char_number(r, 8, 8); return;
    case 'v': give(r, RT_PLAIN, '\v'); return;
    case 'w': give(r, RT_CLASS, CLASS_WORD); return;
    case 'W': give(r, RT_NOT_CLASS, CLASS_WORD); return;
    case 'x': read_char_number(r, 1, 255); return;
    case 'y': give(r, RT_WORD_EDGE, 0); return;
    case 'Y': give(r, RT_NO_WORD_EDGE, 0); return;
    case 'Z': give(r, RT_TEXT_END, 0); return;
    }
    if (is_digit(c))
        read_number(r, c);
    else
        regex_reader_fail(r, NO_ESCAPE);
}

/* ---- inside { }, [ ], [. .] ---- */

static void
next_in_brace(RegexReader *r, u32 c)
{
    if (is_digit(c)) {
        give(r, RT_DIGIT, c - '0');
    } else if (c == ',') {
        give(r, RT_COMMA, 0);
    } else if (c == '}') {
        r->where = IN_EXPRESSION;
        bool lazy = !(r->flags & REGEX_EXTENDED) && at(r, 0, '?');
        r->now += lazy;
        give(r, RT_BRACE_END, !lazy);
    } else {
        regex_reader_fail(r, "invalid repetition count(s)");
    }
}

static void
next_in_bracket(RegexReader *r, u32 c)
{
    give(r, RT_PLAIN, c);
    bool first = r->last == RT_BRACKET;
    if (c == '\\' && !(r->flags & REGEX_EXTENDED)) {
        if (r->now == r->end) {
            regex_reader_fail(r, NO_ESCAPE);
            return;
        }
        read_escape(r);
        if (r->token != RT_PLAIN && r->token != RT_CLASS && r->token != RT_NOT_CLASS)
            regex_reader_fail(r, NO_ESCAPE);
    } else if (c == '-' && !first && !at(r, 0, ']')) {
        r->token = RT_RANGE;
    } else if (c == ']' && !first) {
        r->where = IN_EXPRESSION;
        r->token = RT_BRACKET_END;
    } else if (c == '[') {
        if (r->now == r->end) {
            regex_reader_fail(r, "brackets [] not balanced");
            return;
        }
        static const struct { u32 c; int where; RegexToken token; } forms[] = {
            {'.', IN_COLLATING, RT_COLLATING}, {'=', IN_EQUIVALENCE, RT_EQUIVALENCE}, {':', IN_CLASS_NAME, RT_CLASS_NAME}};
        for (u32 i = 0; i < COUNT_OF(forms); i++)
            if (at(r, 0, forms[i].c)) {
                r->now++;
                r->where = forms[i].where;
                r->token = forms[i].token;
                return;
            }
    }
}

/* ---- outside of them ---- */

static void
next_group(RegexReader *r)
{
    if ((r->flags & REGEX_EXTENDED) || !at(r, 0, '?')) {
        give(r, RT_OPEN, 1);
        return;
    }
    r->now++;
    u32 c = r->now < r->end ? *r->now++ : 0;
    switch (c) {
    case ':': give(r, RT_OPEN, 0); return;
    case '=': give(r, RT_LOOK, 0); return;
    case '!': give(r, RT_LOOK, LOOK_NEGATIVE); return;
    case '#': /* a comment */
        while (r->now < r->end && *r->now != ')')
            r->now++;
        r->now += r->now < r->end;
        r->token = r->last;
        regex_reader_next(r);
        return;
    case '<':
        c = r->now < r->end ? *r->now++ : 0;
        if (c == '=' || c == '!') {
            give(r, RT_LOOK, LOOK_BEHIND | (c == '!' ? LOOK_NEGATIVE : 0));
            return;
        }
        break;
    }
    regex_reader_fail(r, NO_OPERAND);
}

static void
skip_blanks(RegexReader *r)
{
    for (;;) {
        while (r->now < r->end && is_blank(*r->now))
            r->now++;
        if (!at(r, 0, '#'))
            return;
        while (r->now < r->end && *r->now != '\n')
            r->now++;
    }
}

static void
next_quantifier(RegexReader *r, RegexToken token)
{
    bool lazy = !(r->flags & REGEX_EXTENDED) && at(r, 0, '?');
    r->now += lazy;
    give(r, token, !lazy);
}

static void
next_bracket(RegexReader *r)
{
    if (at(r, 0, '[') && at(r, 1, ':') && (at(r, 2, '<') || at(r, 2, '>')) && at(r, 3, ':') && at(r, 4, ']') && at(r, 5, ']')) {
        give(r, r->now[2] == '<' ? RT_WORD_BEGIN : RT_WORD_END, 0);
        r->now += 6;
        return;
    }
    r->where = IN_BRACKET;
    bool negated = at(r, 0, '^');
    r->now += negated;
    give(r, RT_BRACKET, !negated);
}

static void
next_in_expression(RegexReader *r, u32 c)
{
    switch (c) {
    case '|': give(r, RT_BAR, 0); return;
    case '*': next_quantifier(r, RT_STAR); return;
    case '+': next_quantifier(r, RT_PLUS); return;
    case '?': next_quantifier(r, RT_MAYBE); return;
    case '{':
        if (r->flags & REGEX_EXPANDED)
            skip_blanks(r);
        if (r->now == r->end || !is_digit(*r->now)) {
            give(r, RT_PLAIN, c);
            return;
        }
        r->where = IN_BRACE;
        give(r, RT_BRACE, 0);
        return;
    case '(': next_group(r); return;
    case ')': give(r, RT_CLOSE, 0); return;
    case '[': next_bracket(r); return;
    case '.': give(r, RT_DOT, 0); return;
    case '^': give(r, RT_CARET, 0); return;
    case '$': give(r, RT_DOLLAR, 0); return;
    case '\\':
        if (r->now == r->end)
            regex_reader_fail(r, NO_ESCAPE);
        else if (r->flags & REGEX_EXTENDED)
            give(r, RT_PLAIN, *r->now++);
        else
            read_escape(r);
        return;
    default: give(r, RT_PLAIN, c); return;
    }
}

void
regex_reader_next(RegexReader *r)
{
    if (r->error || r->unsupported)
        return;
    r->last = r->token;
    if ((r->flags & REGEX_EXPANDED) && (r->where == IN_EXPRESSION || r->where == IN_BRACE))
        skip_blanks(r);
    if (r->now == r->end) {
        if (r->where == IN_BRACE)
            regex_reader_fail(r, "braces {} not balanced");
        else if (r->where >= IN_BRACKET)
            regex_reader_fail(r, "brackets [] not balanced");
        else
            give(r, RT_END, 0);
        return;
    }
    u32 c = *r->now++, closer = r->where == IN_COLLATING ? '.' : r->where == IN_EQUIVALENCE ? '=' : ':';
    switch (r->where) {
    case IN_EXPRESSION: next_in_expression(r, c); return;
    case IN_QUOTE: give(r, RT_PLAIN, c); return;
    case IN_BRACE: next_in_brace(r, c); return;
    case IN_BRACKET: next_in_bracket(r, c); return;
    }
    if (c == closer && at(r, 0, ']')) {
        r->now++;
        r->where = IN_BRACKET;
        give(r, RT_NAME_END, 0);
    } else {
        give(r, RT_PLAIN, c);
    }
}

void
regex_reader_start(RegexReader *r)
{
    r->token = r->last = RT_END;
    read_prefixes(r);
    r->where = r->flags & REGEX_QUOTE ? IN_QUOTE : IN_EXPRESSION;
    regex_reader_next(r);
}
