/*
 * regexp.c
 *    SQL's functions of regular expressions: ~ and its kin, SIMILAR TO, substring, regexp_match(), regexp_replace() and the others.
 *
 * Compiled expressions are kept with the instruction that uses them (KernCall.kept), as many as fit in CACHE_SIZE, so that a constant pattern is
 * compiled once a thread and execution. What varies throws all of them out when there are too many.
 */
#include "backend/kern/regexp.h"

#include "backend/kern/regex.h"
#include "common/type/array.h"

enum { CACHE_SIZE = 32, REGEXP_MAX_BYTES = 0x3fffffff - 4 };

typedef struct CacheEntry {
    Str pattern;
    u32 flags;
    Regex *re;
} CacheEntry;

typedef struct RegexCache {
    RegexMemory *memory;
    u32 count, last;
    CacheEntry entries[CACHE_SIZE];
} RegexCache;

static RegexCache *
cache_of(KernCall *c)
{
    if (!*c->kept) {
        RegexCache *k = ARENA_NEW(c->keep, RegexCache);
        k->memory = regex_memory(c->keep);
        *c->kept = k;
    }
    return *c->kept;
}

static bool
is_entry(const CacheEntry *e, Str pattern, u32 flags)
{
    return e->flags == flags && str_eq(e->pattern, pattern);
}

/* NULL: *c->err is set. */
static Regex *
compiled(KernCall *c, Str pattern, u32 flags)
{
    RegexCache *k = cache_of(c);
    if (k->count && is_entry(&k->entries[k->last], pattern, flags))
        return k->entries[k->last].re;
    for (u32 i = 0; i < k->count; i++)
        if (is_entry(&k->entries[i], pattern, flags)) {
            k->last = i;
            return k->entries[i].re;
        }
    if (k->count == CACHE_SIZE) {
        regex_memory_reset(k->memory);
        k->count = 0;
    }
    Regex *re = regex_compile(k->memory, pattern, flags, c->stop, c->err);
    if (re) {
        k->last = k->count;
        k->entries[k->count++] = (CacheEntry){(Str){memcpy(regex_alloc(k->memory, pattern.len + 1u), pattern.ptr, pattern.len), pattern.len}, flags, re};
    }
    return re;
}

/* ---- options ---- */

typedef struct Options {
    u32 flags;
    bool global;
} Options;

static bool
bad_option(KernCall *c, Str s)
{
    u32 len = 1;
    while (len < s.len && ((u8)s.ptr[len] & 0xc0) == 0x80)
        len++;
    return error_set(c->err, ERR_INVALID_PARAMETER_VALUE, "invalid regular expression option: \"%.*s\"", (int)len, s.ptr);
}

static bool
read_options(KernCall *c, Str s, Options *ret)
{
    const u32 newline = REGEX_NLSTOP | REGEX_NLANCH;
    *ret = (Options){0};
    for (u32 i = 0; i < s.len; i++)
        switch (s.ptr[i]) {
        case 'g': ret->global = true; break;
        case 'b': case 'e': /* PostgreSQL takes e for b here; inside of an expression it is what it says */
            return error_set(c->err, ERR_FEATURE_NOT_SUPPORTED, "a basic regular expression (option %c) is not supported yet", s.ptr[i]);
        case 'c': ret->flags &= ~(u32)REGEX_ICASE; break;
        case 'i': ret->flags |= REGEX_ICASE; break;
        case 'm': case 'n': ret->flags |= newline; break;
        case 'p': ret->flags = (ret->flags | REGEX_NLSTOP) & ~(u32)REGEX_NLANCH; break;
        case 'q': ret->flags = (ret->flags | REGEX_QUOTE) & ~(u32)REGEX_EXTENDED; break;
        case 's': ret->flags &= ~newline; break;
        case 't': ret->flags &= ~(u32)REGEX_EXPANDED; break;
        case 'w': ret->flags = (ret->flags | REGEX_NLANCH) & ~(u32)REGEX_NLSTOP; break;
        case 'x': ret->flags |= REGEX_EXPANDED; break;
        default: return bad_option(c, (Str){s.ptr + i, s.len - i});
        }
    return true;
}

/* The options in argument k, if the call has one; g only where `global` allows it. */
static bool
options_of(KernCall *c, u32 i, u32 k, bool global, Options *ret)
{
    if (!read_options(c, k < c->arg_count ? ARG(c, k, Str, i) : (Str){"", 0}, ret))
        return false;
    if (ret->global && !global) {
        error_set(c->err, ERR_INVALID_PARAMETER_VALUE, "%s() does not support the \"global\" option", c->def->name);
        if (c->def->op == FOP_REGEXP_MATCH)
            error_hint(c->err, "Use the regexp_matches function instead.");
        return false;
    }
    return true;
}

/* A number in argument k of at least `least`. */
static bool
number_of(KernCall *c, u32 i, u32 k, const char *name, i32 standard, i32 least, i32 *ret)
{
    *ret = k < c->arg_count ? ARG(c, k, i32, i) : standard;
    return *ret >= least || error_set(c->err, ERR_INVALID_PARAMETER_VALUE, "invalid value for parameter \"%s\": %d", name, *ret);
}

static Str
piece(const RegexText *t, u32 from, u32 to)
{
    u32 begin = regex_offset(t, from);
    return (Str){t->bytes.ptr + begin, regex_offset(t, to) - begin};
}

static bool
give_null(KernCall *c, u32 i)
{
    RET(c, Str, i) = (Str){"", 0};
    c->ret->null_mask[i] = 1;
    return true;
}

static bool
give_span(KernCall *c, u32 i, const RegexText *t, RegexSpan s)
{
    if (s.from < 0)
        return give_null(c, i);
    RET(c, Str, i) = piece(t, (u32)s.from, (u32)s.to);
    return true;
}

/* ---- yes or no ---- */

static bool
test(KernCall *c, u32 i, u32 flags, bool wanted)
{
    Regex *re = compiled(c, ARG(c, 1, Str, i), flags);
    if (!re)
        return false;
    RegexText t;
    regex_text(re, ARG(c, 0, Str, i), &t);
    RegexResult r = regex_test(re, &t, c->err);
    RET(c, u8, i) = (r == REGEX_YES) == wanted;
    return r != REGEX_FAILED;
}

static bool
matches(KernCall *c, u32 i)
{
    return test(c, i, 0, true);
}

static bool
matches_not(KernCall *c, u32 i)
{
    return test(c, i, 0, false);
}

static bool
matches_folded(KernCall *c, u32 i)
{
    return test(c, i, REGEX_ICASE, true);
}

static bool
matches_not_folded(KernCall *c, u32 i)
{
    return test(c, i, REGEX_ICASE, false);
}

static bool
regexp_like(KernCall *c, u32 i)
{
    Options o;
    return options_of(c, i, 2, false, &o) && test(c, i, o.flags, true);
}

/* ---- one match after the other ---- */

/* The matches of a text; of the groups as many as there is room for. */
typedef struct Matches {
    Regex *re;
    RegexText text;
    u32 start;
    u32 span_count;
    RegexSpan *spans;
    bool over;
} Matches;

static bool
matches_begin(KernCall *c, u32 i, u32 flags, u32 start, bool groups, Matches *ret)
{
    *ret = (Matches){.re = compiled(c, ARG(c, 1, Str, i), flags), .start = start};
    if (!ret->re)
        return false;
    ret->span_count = groups ? regex_group_count(ret->re) + 1 : 1;
    ret->spans = arena_array(c->scratch, ret->span_count, sizeof *ret->spans);
    regex_text(ret->re, ARG(c, 0, Str, i), &ret->text);
    return true;
}

static RegexResult
matches_next(KernCall *c, Matches *m)
{
    if (m->over)
        return REGEX_NO;
    RegexResult r = regex_find(m->re, &m->text, m->start, m->spans, m->span_count, c->err);
    if (r == REGEX_YES)
        m->start = (u32)m->spans[0].to + (m->spans[0].from == m->spans[0].to);
    m->over = r != REGEX_YES;
    return r;
}

/* Match n, from 1. */
static RegexResult
matches_nth(KernCall *c, Matches *m, i32 n)
{
    RegexResult r;
    while ((r = matches_next(c, m)) == REGEX_YES && --n > 0)
        ;
    return r;
}

static bool
substring(KernCall *c, u32 i, Str pattern)
{
    Regex *re = compiled(c, pattern, 0);
    if (!re)
        return false;
    RegexText t;
    RegexSpan spans[2];
    regex_text(re, ARG(c, 0, Str, i), &t);
    bool group = regex_group_count(re) > 0;
    RegexResult r = regex_find(re, &t, 0, spans, group ? 2 : 1, c->err);
    if (r == REGEX_FAILED)
        return false;
    return r == REGEX_NO ? give_null(c, i) : give_span(c, i, &t, spans[group]);
}

static bool
regexp_substring(KernCall *c, u32 i)
{
    return substring(c, i, ARG(c, 1, Str, i));
}

static bool
regexp_count(KernCall *c, u32 i)
{
    i32 start, n = 0;
    Options o;
    Matches m;
    if (!number_of(c, i, 2, "start", 1, 1, &start) || !options_of(c, i, 3, false, &o) || !matches_begin(c, i, o.flags, (u32)start - 1, false, &m))
        return false;
    RegexResult r;
    while ((r = matches_next(c, &m)) == REGEX_YES)
        n++;
    RET(c, i32, i) = n;
    return r != REGEX_FAILED;
}

/* The group that `number` means: without groups, or for 0, the whole match; false: there is none such. */
static bool
pick_group(const Matches *m, i32 number, RegexSpan *ret)
{
    u32 groups = m->span_count - 1;
    if (number > (i32)MAX(groups, 1u))
        return false;
    *ret = m->spans[groups ? number : 0];
    return true;
}

static bool
regexp_instr(KernCall *c, u32 i)
{
    i32 start, n, end, group;
    Options o;
    Matches m;
    if (!number_of(c, i, 2, "start", 1, 1, &start) || !number_of(c, i, 3, "n", 1, 1, &n) || !number_of(c, i, 4, "endoption", 0, 0, &end))
        return false;
    if (end > 1)
        return error_set(c->err, ERR_INVALID_PARAMETER_VALUE, "invalid value for parameter \"endoption\": %d", end);
    if (!number_of(c, i, 6, "subexpr", 0, 0, &group) || !options_of(c, i, 5, false, &o) || !matches_begin(c, i, o.flags, (u32)start - 1, group > 0, &m))
        return false;
    RegexResult r = matches_nth(c, &m, n);
    RegexSpan s;
    bool there = r == REGEX_YES && pick_group(&m, group, &s) && s.from >= 0;
    RET(c, i32, i) = there ? (end ? s.to : s.from) + 1 : 0;
    return r != REGEX_FAILED;
}

static bool
regexp_substr(KernCall *c, u32 i)
{
    i32 start, n, group;
    Options o;
    Matches m;
    if (!number_of(c, i, 2, "start", 1, 1, &start) || !number_of(c, i, 3, "n", 1, 1, &n) || !number_of(c, i, 5, "subexpr", 0, 0, &group) ||
        !options_of(c, i, 4, false, &o) || !matches_begin(c, i, o.flags, (u32)start - 1, group > 0, &m))
        return false;
    RegexResult r = matches_nth(c, &m, n);
    RegexSpan s;
    if (r == REGEX_FAILED)
        return false;
    return r == REGEX_YES && pick_group(&m, group, &s) ? give_span(c, i, &m.text, s) : give_null(c, i);
}

/* ---- arrays of pieces ---- */

static bool
add_piece(KernCall *c, ArrayBuild *b, const RegexText *t, RegexSpan s)
{
    Value v = {.type = TYPE_TEXT, .typmod = -1, .is_null = s.from < 0};
    if (!v.is_null)
        v.str = piece(t, (u32)s.from, (u32)s.to);
    return array_add(b, &v, c->err);
}

/* The groups of the match at hand, or all of it when there are none. */
static bool
groups_array(KernCall *c, const Matches *m, Str *ret)
{
    ArrayBuild b = array_build(c->scratch, TYPE_TEXT);
    for (u32 k = m->span_count > 1; k < m->span_count; k++)
        if (!add_piece(c, &b, &m->text, m->spans[k]))
            return false;
    return array_finish_list(&b, ret, c->err);
}

static bool
regexp_match(KernCall *c, u32 i)
{
    Options o;
    Matches m;
    if (!options_of(c, i, 2, false, &o) || !matches_begin(c, i, o.flags, 0, true, &m))
        return false;
    RegexResult r = matches_next(c, &m);
    if (r == REGEX_NO)
        return give_null(c, i);
    return r == REGEX_YES && groups_array(c, &m, &RET(c, Str, i));
}

/* The next match that splits: empty ones at the ends and behind another match do not. `end` is where the last one of any kind ended. */
static RegexResult
next_split(KernCall *c, Matches *m, i32 *end)
{
    RegexResult r;
    while ((r = matches_next(c, m)) == REGEX_YES) {
        i32 before = *end;
        *end = m->spans[0].to;
        if (m->spans[0].from < (i32)m->text.len && m->spans[0].to > before)
            break;
    }
    return r;
}

static bool
split(KernCall *c, u32 i, ArrayBuild *b)
{
    Options o;
    Matches m;
    if (!options_of(c, i, 2, false, &o) || !matches_begin(c, i, o.flags, 0, false, &m))
        return false;
    i32 end = 0, from = 0;
    RegexResult r;
    while ((r = next_split(c, &m, &end)) == REGEX_YES) {
        if (!add_piece(c, b, &m.text, (RegexSpan){from, m.spans[0].from}))
            return false;
        from = m.spans[0].to;
    }
    return r != REGEX_FAILED && add_piece(c, b, &m.text, (RegexSpan){from, (i32)m.text.len});
}

static bool
regexp_split(KernCall *c, u32 i)
{
    ArrayBuild b = array_build(c->scratch, TYPE_TEXT);
    return split(c, i, &b) && array_finish_list(&b, &RET(c, Str, i), c->err);
}

static bool
all_matches(KernCall *c, ArrayBuild *b)
{
    Options o;
    Matches m;
    if (!options_of(c, 0, 2, true, &o) || !matches_begin(c, 0, o.flags, 0, true, &m))
        return false;
    RegexResult r;
    while ((r = matches_next(c, &m)) == REGEX_YES) {
        Value v = {.type = TYPE_BYTEA, .typmod = -1};
        if (!groups_array(c, &m, &v.str) || !array_add(b, &v, c->err))
            return false;
        if (!o.global)
            break;
    }
    return r != REGEX_FAILED;
}

bool
regexp_rows(Arena *a, const FuncDef *f, const Value *args, bool (*stop)(void), Str *ret, Error *err)
{
    Vec vecs[FUNC_MAX_ARGS];
    void *kept = NULL;
    KernCall c = {.arg_count = f->arg_count, .count = 1, .def = f, .keep = a, .kept = &kept, .stop = stop, .scratch = a, .err = err};
    for (u32 k = 0; k < f->arg_count; k++) {
        vecs[k] = (Vec){.phys = PHYS_STR, .is_const = true, .data = arena_alloc(a, sizeof(Str))};
        *(Str *)vecs[k].data = args[k].str;
        c.args[k] = &vecs[k];
    }
    ArrayBuild b = array_build(a, TYPE_BYTEA);
    return (f->op == FOP_REGEXP_MATCHES ? all_matches(&c, &b) : split(&c, 0, &b)) && array_finish_list(&b, ret, err);
}

/* ---- replacing ---- */

typedef struct Output {
    KernCall *c;
    char *bytes;
    size_t len, capacity;
} Output;

static bool
put(Output *o, Str s)
{
    if (o->len + s.len > REGEXP_MAX_BYTES)
        return error_set(o->c->err, ERR_PROGRAM_LIMIT_EXCEEDED, "requested length too large");
    if (o->len + s.len > o->capacity) {
        size_t capacity = MAX(o->capacity * 2, o->len + s.len + 64);
        char *bytes = arena_alloc(o->c->scratch, capacity);
        if (o->len)
            memcpy(bytes, o->bytes, o->len);
        o->bytes = bytes;
        o->capacity = capacity;
    }
    if (s.len)
        memcpy(o->bytes + o->len, s.ptr, s.len);
    o->len += s.len;
    return true;
}

/* The replacement with \1 … \9 and \& filled in. */
static bool
put_replacement(Output *o, const Matches *m, Str by)
{
    u32 from = 0;
    for (u32 k = 0; k < by.len; k++) {
        if (by.ptr[k] != '\\' || k + 1 == by.len)
            continue;
        char next = by.ptr[k + 1];
        u32 group = next == '&' ? 0 : (u32)(next - '0');
        if (next != '&' && next != '\\' && !(next >= '1' && next <= '9'))
            continue;
        if (!put(o, (Str){by.ptr + from, k - from}))
            return false;
        from = next == '\\' ? k + 1 : k + 2;
        k++;
        if (next == '\\' || group >= m->span_count || m->spans[group].from < 0)
            continue;
        if (!put(o, piece(&m->text, (u32)m->spans[group].from, (u32)m->spans[group].to)))
            return false;
    }
    return put(o, (Str){by.ptr + from, by.len - from});
}

/* n 0: every match, else match n only. */
static bool
replace(KernCall *c, u32 i, u32 flags, u32 start, i32 n)
{
    Matches m;
    Output out = {.c = c};
    bool groups = memchr(ARG(c, 2, Str, i).ptr, '\\', ARG(c, 2, Str, i).len) != NULL;
    if (!matches_begin(c, i, flags, start, groups, &m))
        return false;
    u32 copied = 0;
    RegexResult r;
    for (i32 number = 1; (r = matches_next(c, &m)) == REGEX_YES; number++) {
        if (n > 0 && number != n)
            continue;
        if (!put(&out, piece(&m.text, copied, (u32)m.spans[0].from)) || !put_replacement(&out, &m, ARG(c, 2, Str, i)))
            return false;
        copied = (u32)m.spans[0].to;
        if (n > 0)
            break;
    }
    if (r == REGEX_FAILED || !put(&out, piece(&m.text, copied, m.text.len)))
        return false;
    RET(c, Str, i) = (Str){out.bytes ? out.bytes : "", (u32)out.len};
    return true;
}

static bool
regexp_replace(KernCall *c, u32 i)
{
    Options o;
    bool by_flags = c->arg_count == 4 && c->def->args[3] == TYPE_TEXT;
    if (by_flags) {
        Str s = ARG(c, 3, Str, i);
        if (s.len && s.ptr[0] >= '0' && s.ptr[0] <= '9') {
            bad_option(c, s);
            error_hint(c->err, "If you meant to use regexp_replace() with a start parameter, cast the fourth argument to integer explicitly.");
            return false;
        }
        return read_options(c, s, &o) && replace(c, i, o.flags, 0, o.global ? 0 : 1);
    }
    i32 start, n;
    return number_of(c, i, 3, "start", 1, 1, &start) && number_of(c, i, 4, "n", 1, 0, &n) && options_of(c, i, 5, true, &o) &&
        replace(c, i, o.flags, (u32)start - 1, n);
}

/* ---- SQL's own expressions ---- */

typedef struct Similar {
    char *to;
    u32 len;
    Str escape;
    bool escaped, in_class;
    u32 quotes;
} Similar;

static void
similar_put(Similar *s, const char *text)
{
    while (*text)
        s->to[s->len++] = *text++;
}

/* Behind the escape character: a part of substring() ends at a double quote. */
static bool
similar_escaped(KernCall *c, Similar *s, Str ch)
{
    s->escaped = false;
    if (*ch.ptr != '"' || s->in_class) {
        s->to[s->len++] = '\\';
        return true;
    }
    if (s->quotes == 2)
        return error_set(c->err, ERR_INVALID_USE_OF_ESCAPE, "SQL regular expression may not contain more than two escape-double-quote separators");
    similar_put(s, s->quotes++ == 0 ? "){1,1}?(" : "){1,1}(?:");
    return true;
}

/* What stands in front of a character or for it; true: the character itself follows. */
static bool
similar_plain(Similar *s, char ch)
{
    if (s->in_class) {
        if (ch == '\\')
            s->to[s->len++] = '\\';
        s->in_class = ch != ']';
        return true;
    }
    switch (ch) {
    case '[': s->in_class = true; return true;
    case '%': similar_put(s, ".*"); return false;
    case '_': similar_put(s, "."); return false;
    case '(': similar_put(s, "(?:"); return false;
    case '\\': case '.': case '^': case '$': s->to[s->len++] = '\\'; return true;
    }
    return true;
}

/* An SQL expression as an ARE that matches all of a text; the middle one of three parts becomes a group. */
static bool
similar(KernCall *c, Str pattern, Str escape, Str *ret)
{
    u32 chars = 0;
    for (u32 k = 0; k < escape.len; k++)
        chars += ((u8)escape.ptr[k] & 0xc0) != 0x80;
    if (chars > 1) {
        error_set(c->err, ERR_INVALID_ESCAPE_SEQUENCE, "invalid escape string");
        error_hint(c->err, "Escape string must be empty or one character.");
        return false;
    }
    Similar s = {.to = arena_alloc(c->scratch, 3 * (size_t)pattern.len + 32), .escape = escape};
    similar_put(&s, "^(?:");
    for (u32 k = 0; k < pattern.len;) {
        Str ch = {pattern.ptr + k, 1};
        while (k + ch.len < pattern.len && ((u8)ch.ptr[ch.len] & 0xc0) == 0x80)
            ch.len++;
        k += ch.len;
        bool copy = true;
        if (s.escaped) {
            copy = *ch.ptr != '"' || s.in_class;
            if (!similar_escaped(c, &s, ch))
                return false;
        } else if (escape.len && str_eq(ch, escape)) {
            s.escaped = true;
            copy = false;
        } else {
            copy = similar_plain(&s, *ch.ptr);
        }
        for (u32 b = 0; copy && b < ch.len; b++)
            s.to[s.len++] = ch.ptr[b];
    }
    similar_put(&s, ")$");
    *ret = (Str){s.to, s.len};
    return true;
}

static bool
similar_to_escape(KernCall *c, u32 i)
{
    return similar(c, ARG(c, 0, Str, i), c->arg_count > 1 ? ARG(c, 1, Str, i) : STR_LIT("\\"), &RET(c, Str, i));
}

static bool
similar_substring(KernCall *c, u32 i)
{
    Str pattern;
    if (similar(c, ARG(c, 1, Str, i), ARG(c, 2, Str, i), &pattern) && substring(c, i, pattern))
        return true;
    if (c->args[0]->is_const && c->args[1]->is_const && c->args[2]->is_const) /* PostgreSQL's is a function in SQL, which disappears in a larger plan */
        error_context(c->err, "SQL function \"substring\" statement 1");
    return false;
}

KernRow
regexp_row(FuncOp op)
{
    switch ((int)op) {
    case FOP_REGEXP: return matches;
    case FOP_NOT_REGEXP: return matches_not;
    case FOP_IREGEXP: return matches_folded;
    case FOP_NOT_IREGEXP: return matches_not_folded;
    case FOP_REGEXP_LIKE: return regexp_like;
    case FOP_REGEXP_SUBSTRING: return regexp_substring;
    case FOP_REGEXP_COUNT: return regexp_count;
    case FOP_REGEXP_INSTR: return regexp_instr;
    case FOP_REGEXP_SUBSTR: return regexp_substr;
    case FOP_REGEXP_MATCH: return regexp_match;
    case FOP_REGEXP_SPLIT: return regexp_split;
    case FOP_REGEXP_REPLACE: return regexp_replace;
    case FOP_SIMILAR_TO_ESCAPE: return similar_to_escape;
    case FOP_SIMILAR_SUBSTRING: return similar_substring;
    default: return NULL;
    }
}
