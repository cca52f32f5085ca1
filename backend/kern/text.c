/*
 * text.c
 *    Functions of text. Positions and lengths count characters; text is valid UTF-8.
 *
 * Case follows Unicode's simple mappings, one character to one, as C.UTF-8 has it.
 */
#include "backend/kern/call.h"
#include "backend/kern/like.h"
#include "backend/kern/regex.h"

#include <utf8proc.h>

/* PostgreSQL's limit of one value. */
enum { TEXT_MAX_BYTES = 0x3fffffff - 4 };

static bool
too_long(KernCall *c)
{
    return error_set(c->err, ERR_PROGRAM_LIMIT_EXCEEDED, "requested length too large");
}

/* ---- UTF-8 ---- */
static inline u32
char_bytes(u8 first)
{
    return first < 0x80 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
}

static u32
decode(const char *s)
{
    const u8 *p = (const u8 *)s;
    switch (char_bytes(p[0])) {
    case 1: return p[0];
    case 2: return (p[0] & 0x1fu) << 6 | (p[1] & 0x3fu);
    case 3: return (p[0] & 0x0fu) << 12 | (p[1] & 0x3fu) << 6 | (p[2] & 0x3fu);
    default: return (p[0] & 0x07u) << 18 | (p[1] & 0x3fu) << 12 | (p[2] & 0x3fu) << 6 | (p[3] & 0x3fu);
    }
}

static u32
encode(u32 cp, char *to)
{
    return (u32)utf8proc_encode_char((utf8proc_int32_t)cp, (utf8proc_uint8_t *)to);
}

static u32
chars(Str s)
{
    u32 n = 0;
    for (u32 i = 0; i < s.len; i++)
        n += ((u8)s.ptr[i] & 0xc0) != 0x80;
    return n;
}

/* The byte at which character n (from 0) begins; len when there are fewer. */
static u32
char_offset(Str s, u64 n)
{
    u32 at = 0;
    while (n > 0 && at < s.len) {
        at += char_bytes((u8)s.ptr[at]);
        n--;
    }
    return at;
}

static Str
sub(Str s, u32 from, u32 to)
{
    return (Str){s.ptr + from, to - from};
}

/* ---- lengths ---- */
static bool
text_length(KernCall *c, u32 i)
{
    RET(c, i32, i) = (i32)chars(ARG(c, 0, Str, i));
    return true;
}

static bool
text_octet_length(KernCall *c, u32 i)
{
    RET(c, i32, i) = (i32)ARG(c, 0, Str, i).len;
    return true;
}

static bool
text_bit_length(KernCall *c, u32 i)
{
    RET(c, i32, i) = (i32)(ARG(c, 0, Str, i).len * 8);
    return true;
}

static bool
text_ascii(KernCall *c, u32 i)
{
    Str s = ARG(c, 0, Str, i);
    RET(c, i32, i) = s.len ? (i32)decode(s.ptr) : 0;
    return true;
}

/* ---- case ---- */
typedef enum CaseRule { CASE_LOWER, CASE_UPPER, CASE_INITCAP } CaseRule;

static u32
upper_of(u32 cp)
{
    return cp == 0xdf ? cp : (u32)utf8proc_toupper((utf8proc_int32_t)cp); /* no single capital of sharp s */
}

u32
text_char_upper(u32 cp)
{
    return cp < 0x80 ? (cp >= 'a' && cp <= 'z' ? cp - 32 : cp) : cp > 0x10ffff ? cp : upper_of(cp);
}

u32
text_char_lower(u32 cp)
{
    return cp < 0x80 ? (cp >= 'A' && cp <= 'Z' ? cp + 32 : cp) : cp > 0x10ffff ? cp : (u32)utf8proc_tolower((utf8proc_int32_t)cp);
}

static bool
is_alnum(u32 cp)
{
    if (cp < 0x80)
        return (cp >= '0' && cp <= '9') || ((cp | 32) >= 'a' && (cp | 32) <= 'z');
    utf8proc_category_t k = utf8proc_category((utf8proc_int32_t)cp);
    return (k >= UTF8PROC_CATEGORY_LU && k <= UTF8PROC_CATEGORY_LO) || k == UTF8PROC_CATEGORY_ND ||
        k == UTF8PROC_CATEGORY_NL;
}

static Str
change_case(Arena *a, Str s, CaseRule rule)
{
    /* one character never grows beyond four bytes, and never more than half again of two */
    char *to = arena_alloc(a, (size_t)s.len * 2 + 4);
    u32 len = 0;
    bool in_word = false;
    for (u32 at = 0; at < s.len;) {
        u32 cp = decode(s.ptr + at);
        at += char_bytes((u8)s.ptr[at]);
        bool up = rule == CASE_UPPER || (rule == CASE_INITCAP && !in_word);
        in_word = rule == CASE_INITCAP && is_alnum(cp);
        if (cp < 0x80)
            to[len++] = (char)(up ? (cp >= 'a' && cp <= 'z' ? cp - 32 : cp) : (cp >= 'A' && cp <= 'Z' ? cp + 32 : cp));
        else
            len += encode(up ? upper_of(cp) : (u32)utf8proc_tolower((utf8proc_int32_t)cp), to + len);
    }
    return (Str){to, len};
}

Str
text_lower(Arena *a, Str s)
{
    return change_case(a, s, CASE_LOWER);
}

static bool
lower(KernCall *c, u32 i)
{
    RET(c, Str, i) = change_case(c->scratch, ARG(c, 0, Str, i), CASE_LOWER);
    return true;
}

static bool
upper(KernCall *c, u32 i)
{
    RET(c, Str, i) = change_case(c->scratch, ARG(c, 0, Str, i), CASE_UPPER);
    return true;
}

static bool
initcap(KernCall *c, u32 i)
{
    RET(c, Str, i) = change_case(c->scratch, ARG(c, 0, Str, i), CASE_INITCAP);
    return true;
}

/* ---- trimming ---- */

/* Whether the character at `at` is one of the set. */
static bool
in_set(Str set, const char *at)
{
    u32 n = char_bytes((u8)*at);
    for (u32 k = 0; k < set.len; k += char_bytes((u8)set.ptr[k]))
        if (char_bytes((u8)set.ptr[k]) == n && memcmp(set.ptr + k, at, n) == 0)
            return true;
    return false;
}

static bool
trim(KernCall *c, u32 i, bool left, bool right)
{
    Str s = ARG(c, 0, Str, i), set = c->arg_count > 1 ? ARG(c, 1, Str, i) : STR_LIT(" ");
    while (left && s.len && in_set(set, s.ptr)) {
        u32 n = char_bytes((u8)*s.ptr);
        s = sub(s, n, s.len);
    }
    while (right && s.len) {
        u32 at = s.len - 1;
        while (at > 0 && ((u8)s.ptr[at] & 0xc0) == 0x80)
            at--;
        if (!in_set(set, s.ptr + at))
            break;
        s.len = at;
    }
    RET(c, Str, i) = s;
    return true;
}

static bool
btrim(KernCall *c, u32 i)
{
    return trim(c, i, true, true);
}

static bool
ltrim(KernCall *c, u32 i)
{
    return trim(c, i, true, false);
}

static bool
rtrim(KernCall *c, u32 i)
{
    return trim(c, i, false, true);
}

/* ---- parts ---- */
static bool
substr(KernCall *c, u32 i)
{
    Str s = ARG(c, 0, Str, i);
    i64 first = ARG(c, 1, i32, i), end = INT64_MAX;
    if (c->arg_count > 2) {
        i64 len = ARG(c, 2, i32, i);
        if (len < 0)
            return error_set(c->err, ERR_SUBSTRING_ERROR, "negative substring length not allowed");
        end = first + len;
    }
    first = MAX(first, 1);
    if (end <= first) {
        RET(c, Str, i) = (Str){s.ptr, 0};
        return true;
    }
    u32 from = char_offset(s, (u64)first - 1);
    Str rest = sub(s, from, s.len);
    RET(c, Str, i) = sub(rest, 0, end == INT64_MAX ? rest.len : char_offset(rest, (u64)(end - first)));
    return true;
}

static bool
left(KernCall *c, u32 i)
{
    Str s = ARG(c, 0, Str, i);
    i64 n = ARG(c, 1, i32, i);
    if (n < 0)
        n = MAX(0, (i64)chars(s) + n);
    RET(c, Str, i) = sub(s, 0, char_offset(s, (u64)n));
    return true;
}

static bool
right(KernCall *c, u32 i)
{
    Str s = ARG(c, 0, Str, i);
    i64 n = ARG(c, 1, i32, i), skip = n < 0 ? -n : MAX(0, (i64)chars(s) - n);
    RET(c, Str, i) = sub(s, char_offset(s, (u64)skip), s.len);
    return true;
}

static bool
strpos(KernCall *c, u32 i)
{
    Str s = ARG(c, 0, Str, i), what = ARG(c, 1, Str, i);
    const char *at = what.len == 0 ? s.ptr : s.len < what.len ? NULL : memmem(s.ptr, s.len, what.ptr, what.len);
    RET(c, i32, i) = what.len == 0 ? 1 : at ? (i32)chars(sub(s, 0, (u32)(at - s.ptr))) + 1 : 0;
    return true;
}

static bool
starts_with(KernCall *c, u32 i)
{
    Str s = ARG(c, 0, Str, i), what = ARG(c, 1, Str, i);
    RET(c, u8, i) = s.len >= what.len && (what.len == 0 || memcmp(s.ptr, what.ptr, what.len) == 0);
    return true;
}

/* The first place at or behind `from`; `what` is not empty. */
static const char *
find(Str s, u32 from, Str what)
{
    if (!what.ptr || !s.ptr || s.len - from < what.len)
        return NULL;
    return memmem(s.ptr + from, s.len - from, what.ptr, what.len);
}

static bool
split_part(KernCall *c, u32 i)
{
    Str s = ARG(c, 0, Str, i), by = ARG(c, 1, Str, i);
    i64 n = ARG(c, 2, i32, i);
    if (n == 0)
        return error_set(c->err, ERR_INVALID_PARAMETER_VALUE, "field position must not be zero");
    if (s.len == 0 || by.len == 0) {
        RET(c, Str, i) = n == 1 || n == -1 ? s : (Str){s.ptr, 0};
        return true;
    }
    u32 parts = 1;
    const char *at;
    if (n < 0) {
        for (u32 from = 0; (at = find(s, from, by)); from = (u32)(at - s.ptr) + by.len)
            parts++;
        n += parts + 1;
    }
    u32 from = 0;
    for (i64 k = 1; k < n; k++) {
        at = find(s, from, by);
        if (!at) {
            n = 0;
            break;
        }
        from = (u32)(at - s.ptr) + by.len;
    }
    at = n < 1 ? s.ptr + from : find(s, from, by);
    RET(c, Str, i) = sub(s, from, at ? (u32)(at - s.ptr) : s.len);
    return true;
}

/* ---- making ---- */

/* Copies s and returns the place behind it. */
static char *
put(char *to, Str s)
{
    if (s.len)
        memcpy(to, s.ptr, s.len);
    return to + s.len;
}

static bool
concat(KernCall *c, u32 i)
{
    Str a = ARG(c, 0, Str, i), b = ARG(c, 1, Str, i);
    if ((u64)a.len + b.len > TEXT_MAX_BYTES)
        return too_long(c);
    char *to = arena_alloc(c->scratch, (size_t)a.len + b.len);
    put(put(to, a), b);
    RET(c, Str, i) = (Str){to, a.len + b.len};
    return true;
}

/* Arguments from `first` on that are not NULL, with `between`. */
static bool
join(KernCall *c, u32 i, u32 first, Str between)
{
    u64 len = 0;
    u32 count = 0;
    for (u32 k = first; k < c->arg_count; k++)
        if (!ARG_NULL(c, k, i))
            len += ARG(c, k, Str, i).len + (count++ ? between.len : 0);
    if (len > TEXT_MAX_BYTES)
        return too_long(c);
    char *to = arena_alloc(c->scratch, len), *at = to;
    count = 0;
    for (u32 k = first; k < c->arg_count; k++) {
        if (ARG_NULL(c, k, i))
            continue;
        if (count++)
            at = put(at, between);
        at = put(at, ARG(c, k, Str, i));
    }
    RET(c, Str, i) = (Str){to, (u32)len};
    return true;
}

static bool
concat_all(KernCall *c, u32 i)
{
    return join(c, i, 0, (Str){"", 0});
}

static bool
concat_ws(KernCall *c, u32 i)
{
    if (ARG_NULL(c, 0, i)) {
        c->ret->null_mask[i] = 1;
        RET(c, Str, i) = (Str){"", 0};
        return true;
    }
    return join(c, i, 1, ARG(c, 0, Str, i));
}

static bool
reverse(KernCall *c, u32 i)
{
    Str s = ARG(c, 0, Str, i);
    char *to = arena_alloc(c->scratch, s.len);
    for (u32 at = 0; at < s.len;) {
        u32 n = char_bytes((u8)s.ptr[at]);
        memcpy(to + s.len - at - n, s.ptr + at, n);
        at += n;
    }
    RET(c, Str, i) = (Str){to, s.len};
    return true;
}

static bool
replace(KernCall *c, u32 i)
{
    Str s = ARG(c, 0, Str, i), what = ARG(c, 1, Str, i), by = ARG(c, 2, Str, i);
    u64 hits = 0;
    const char *at;
    for (u32 from = 0; what.len && (at = find(s, from, what)); from = (u32)(at - s.ptr) + what.len)
        hits++;
    if (!hits) {
        RET(c, Str, i) = s;
        return true;
    }
    u64 len = s.len + hits * by.len - hits * what.len;
    if (len > TEXT_MAX_BYTES)
        return too_long(c);
    char *to = arena_alloc(c->scratch, len), *end = to;
    u32 from = 0;
    while ((at = find(s, from, what))) {
        u32 gap = (u32)(at - s.ptr) - from;
        end = put(put(end, sub(s, from, from + gap)), by);
        from += gap + what.len;
    }
    memcpy(end, s.ptr + from, s.len - from);
    RET(c, Str, i) = (Str){to, (u32)len};
    return true;
}

/* The characters from `at` on, as many as the new ones or the fourth argument, become the new ones. */
static bool
overlay(KernCall *c, u32 i)
{
    Str s = ARG(c, 0, Str, i), by = ARG(c, 1, Str, i);
    i32 at = ARG(c, 2, i32, i), count = c->arg_count > 3 ? ARG(c, 3, i32, i) : (i32)chars(by), rest;
    if (at <= 0)
        return error_set(c->err, ERR_SUBSTRING_ERROR, "negative substring length not allowed");
    if (__builtin_add_overflow(at, count, &rest))
        return error_set(c->err, ERR_NUMERIC_OUT_OF_RANGE, "integer out of range");
    u32 head = char_offset(s, (u64)at - 1), tail = char_offset(s, (u64)MAX(rest, 1) - 1);
    u64 len = (u64)head + by.len + (s.len - tail);
    if (len > TEXT_MAX_BYTES)
        return too_long(c);
    char *to = arena_alloc(c->scratch, len);
    put(put(put(to, sub(s, 0, head)), by), sub(s, tail, s.len));
    RET(c, Str, i) = (Str){to, (u32)len};
    return true;
}

/* Character k of `from` becomes character k of `to`, or nothing when there is none. */
static bool
translate(KernCall *c, u32 i)
{
    Str s = ARG(c, 0, Str, i), from = ARG(c, 1, Str, i), to = ARG(c, 2, Str, i);
    if ((u64)s.len * 4 > TEXT_MAX_BYTES)
        return too_long(c);
    char *out = arena_alloc(c->scratch, (size_t)s.len * 4);
    u32 len = 0;
    for (u32 at = 0; at < s.len;) {
        u32 n = char_bytes((u8)s.ptr[at]), k = 0, f = 0;
        for (; f < from.len; f += char_bytes((u8)from.ptr[f]), k++)
            if (char_bytes((u8)from.ptr[f]) == n && memcmp(from.ptr + f, s.ptr + at, n) == 0)
                break;
        if (f >= from.len) {
            memcpy(out + len, s.ptr + at, n);
            len += n;
        } else {
            u32 t = char_offset(to, k);
            if (t < to.len) {
                u32 m = char_bytes((u8)to.ptr[t]);
                memcpy(out + len, to.ptr + t, m);
                len += m;
            }
        }
        at += n;
    }
    RET(c, Str, i) = (Str){out, len};
    return true;
}

/* As a literal of SQL: quotes and backslashes twice, and an E before it when there is a backslash. */
static bool
quote_literal(KernCall *c, u32 i)
{
    Str s = ARG(c, 0, Str, i);
    if (2 * (u64)s.len + 3 > TEXT_MAX_BYTES)
        return too_long(c);
    char *to = arena_alloc(c->scratch, 2 * (size_t)s.len + 3);
    u32 len = 0;
    if (memchr(s.ptr, '\\', s.len))
        to[len++] = 'E';
    to[len++] = '\'';
    for (u32 k = 0; k < s.len; k++) {
        if (s.ptr[k] == '\'' || s.ptr[k] == '\\')
            to[len++] = s.ptr[k];
        to[len++] = s.ptr[k];
    }
    to[len++] = '\'';
    RET(c, Str, i) = (Str){to, len};
    return true;
}

static bool
quote_nullable(KernCall *c, u32 i)
{
    if (ARG_NULL(c, 0, i)) {
        RET(c, Str, i) = STR_LIT("NULL");
        return true;
    }
    return quote_literal(c, i);
}

/* A type's name by its OID, with its typmod unless that is NULL. */
static bool
format_type(KernCall *c, u32 i)
{
    if (ARG_NULL(c, 0, i)) {
        c->ret->null_mask[i] = 1;
        RET(c, Str, i) = (Str){"", 0};
        return true;
    }
    u32 oid = (u32)ARG(c, 0, i64, i);
    TypeId t = type_from_oid(oid);
    const char *name = oid ? "???" : "-";
    if (t != TYPE_INVALID)
        name = ARG_NULL(c, 1, i) ? type_name(t) : type_format(c->scratch, t, ARG(c, 1, i32, i));
    RET(c, Str, i) = str_of(name);
    return true;
}

static bool
repeat(KernCall *c, u32 i)
{
    Str s = ARG(c, 0, Str, i);
    u64 n = (u64)MAX(0, ARG(c, 1, i32, i));
    if (n * s.len > TEXT_MAX_BYTES)
        return too_long(c);
    char *to = arena_alloc(c->scratch, n * s.len);
    for (u64 k = 0; s.len && k < n; k++)
        put(to + k * s.len, s);
    RET(c, Str, i) = (Str){to, (u32)(n * s.len)};
    return true;
}

static bool
pad(KernCall *c, u32 i, bool at_left)
{
    Str s = ARG(c, 0, Str, i), fill = c->arg_count > 2 ? ARG(c, 2, Str, i) : STR_LIT(" ");
    u64 want = (u64)MAX(0, ARG(c, 1, i32, i)), have = chars(s);
    if (have >= want || fill.len == 0) {
        RET(c, Str, i) = sub(s, 0, char_offset(s, want));
        return true;
    }
    u64 missing = want - have, fill_chars = chars(fill);
    u64 pad_bytes = missing / fill_chars * fill.len + char_offset(fill, missing % fill_chars);
    if (want * 4 > TEXT_MAX_BYTES || pad_bytes + s.len > TEXT_MAX_BYTES)
        return too_long(c);
    char *to = arena_alloc(c->scratch, pad_bytes + s.len), *padding = at_left ? to : to + s.len;
    put(at_left ? to + pad_bytes : to, s);
    for (u64 k = 0; k < pad_bytes; k += fill.len)
        memcpy(padding + k, fill.ptr, MIN(fill.len, pad_bytes - k));
    RET(c, Str, i) = (Str){to, (u32)(pad_bytes + s.len)};
    return true;
}

static bool
lpad(KernCall *c, u32 i)
{
    return pad(c, i, true);
}

static bool
rpad(KernCall *c, u32 i)
{
    return pad(c, i, false);
}

static bool
text_chr(KernCall *c, u32 i)
{
    i32 cp = ARG(c, 0, i32, i);
    if (cp < 0)
        return error_set(c->err, ERR_PROGRAM_LIMIT_EXCEEDED, "character number must be positive");
    if (cp == 0)
        return error_set(c->err, ERR_PROGRAM_LIMIT_EXCEEDED, "null character not permitted");
    if (cp > 0x10ffff)
        return error_set(c->err, ERR_PROGRAM_LIMIT_EXCEEDED, "requested character too large for encoding: %u", (u32)cp);
    if (cp >= 0xd800 && cp < 0xe000)
        return error_set(c->err, ERR_PROGRAM_LIMIT_EXCEEDED, "requested character not valid for encoding: %u", (u32)cp);
    char *to = arena_alloc(c->scratch, 4);
    RET(c, Str, i) = (Str){to, encode((u32)cp, to)};
    return true;
}

static bool
to_hex(KernCall *c, u32 i)
{
    u64 v = c->args[0]->phys == PHYS_I32 ? (u32)ARG(c, 0, i32, i) : (u64)ARG(c, 0, i64, i);
    char *end = (char *)arena_alloc(c->scratch, 16) + 16, *at = end;
    do {
        *--at = "0123456789abcdef"[v & 15];
        v >>= 4;
    } while (v);
    RET(c, Str, i) = (Str){at, (u32)(end - at)};
    return true;
}

/* ---- LIKE ---- */

/* A pattern with another escape character, rewritten for backslash. */
static bool
like_escape(KernCall *c, u32 i)
{
    Str p = ARG(c, 0, Str, i), esc = ARG(c, 1, Str, i);
    if (esc.len && char_bytes((u8)esc.ptr[0]) != esc.len) {
        error_set(c->err, ERR_INVALID_ESCAPE_SEQUENCE, "invalid escape string");
        error_hint(c->err, "Escape string must be empty or one character.");
        return false;
    }
    if (str_eq(esc, STR_LIT("\\"))) {
        RET(c, Str, i) = p;
        return true;
    }
    char *to = arena_alloc(c->scratch, (size_t)p.len * 2);
    u32 len = 0;
    bool after = false;
    for (u32 at = 0; at < p.len;) {
        u32 n = char_bytes((u8)p.ptr[at]);
        if (!after && n == esc.len && memcmp(p.ptr + at, esc.ptr, n) == 0) {
            to[len++] = '\\';
            after = true;
        } else if (p.ptr[at] == '\\') {
            to[len++] = '\\';
            if (!after)
                to[len++] = '\\';
            after = false;
        } else {
            memcpy(to + len, p.ptr + at, n);
            len += n;
            after = false;
        }
        at += n;
    }
    RET(c, Str, i) = (Str){to, len};
    return true;
}

static bool
like(KernCall *c, u32 i, bool negated, bool fold)
{
    LikePattern *p = c->memo, own;
    if (!p) {
        Str pattern = ARG(c, 1, Str, i);
        p = c->args[1]->is_const ? arena_alloc(c->scratch, sizeof *p) : &own;
        if (fold)
            pattern = text_lower(c->scratch, pattern);
        if (p == &own)
            own = (LikePattern){LIKE_GENERAL, pattern};
        else
            like_prepare(c->scratch, pattern, p);
        c->memo = p == &own ? NULL : p;
    }
    Str s = ARG(c, 0, Str, i);
    int hit = like_match(p, fold ? text_lower(c->scratch, s) : s);
    if (hit < 0)
        return error_set(c->err, ERR_INVALID_ESCAPE_SEQUENCE, "LIKE pattern must not end with escape character");
    RET(c, u8, i) = hit != negated;
    return true;
}

static bool
text_like(KernCall *c, u32 i)
{
    return like(c, i, false, false);
}

static bool
text_not_like(KernCall *c, u32 i)
{
    return like(c, i, true, false);
}

static bool
text_ilike(KernCall *c, u32 i)
{
    return like(c, i, false, true);
}

static bool
text_not_ilike(KernCall *c, u32 i)
{
    return like(c, i, true, true);
}

/* Text to varchar(n): blanks beyond n are cut, other characters only by an explicit cast. */
bool
cast_varchar_row(KernCall *c, u32 i)
{
    const CastParam *p = c->param;
    Str s = ARG(c, 0, Str, i);
    u32 limit = (u32)(p->to_typmod - 4), end = s.len <= limit ? s.len : char_offset(s, limit);
    if (!p->explicit_cast)
        for (u32 k = end; k < s.len; k++)
            if (s.ptr[k] != ' ')
                return error_set(c->err, ERR_STRING_RIGHT_TRUNCATION, "value too long for type character varying(%u)",
                                 limit);
    RET(c, Str, i) = sub(s, 0, end);
    return true;
}

static bool
blank_pad(KernCall *c, u32 i)
{
    Str s = bpchar_pad(c->scratch, ARG(c, 0, Str, i), (u32)MAX(ARG(c, 1, i32, i), 0));
    RET(c, Str, i) = s;
    return s.ptr || s.len == 0 || error_set(c->err, ERR_OUT_OF_MEMORY, "out of memory");
}

KernRow
text_row(FuncOp op)
{
    static const KernRow TEXT_ROWS[] = {
        [FOP_CONCAT] = concat, [FOP_LIKE] = text_like, [FOP_NOT_LIKE] = text_not_like, [FOP_ILIKE] = text_ilike,
        [FOP_NOT_ILIKE] = text_not_ilike, [FOP_LIKE_ESCAPE] = like_escape, [FOP_LENGTH] = text_length,
        [FOP_OCTET_LENGTH] = text_octet_length, [FOP_BIT_LENGTH] = text_bit_length, [FOP_ASCII] = text_ascii,
            [FOP_LOWER] = lower,
        [FOP_UPPER] = upper, [FOP_INITCAP] = initcap, [FOP_REVERSE] = reverse, [FOP_BTRIM] = btrim, [FOP_LTRIM] = ltrim,
        [FOP_RTRIM] = rtrim, [FOP_SUBSTR] = substr, [FOP_LEFT] = left, [FOP_RIGHT] = right, [FOP_STRPOS] = strpos,
        [FOP_REPLACE] = replace, [FOP_TRANSLATE] = translate, [FOP_REPEAT] = repeat, [FOP_LPAD] = lpad,
            [FOP_RPAD] = rpad, [FOP_BLANK_PAD] = blank_pad,
        [FOP_SPLIT_PART] = split_part, [FOP_STARTS_WITH] = starts_with, [FOP_CHR] = text_chr, [FOP_TO_HEX] = to_hex, [FOP_OVERLAY] = overlay,
        [FOP_QUOTE_LITERAL] = quote_literal, [FOP_QUOTE_NULLABLE] = quote_nullable, [FOP_FORMAT_TYPE] = format_type, [FOP_CONCAT_ALL] = concat_all, [FOP_CONCAT_WS] = concat_ws,
    };
    return op < COUNT_OF(TEXT_ROWS) ? TEXT_ROWS[op] : NULL;
}
