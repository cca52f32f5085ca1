/*
 * regex_match.c
 *    Compiling, and matching: where the leftmost match lies and which parts of it the groups took.
 *
 * The automaton that matches anywhere finds the end of the first match to end and a place before which none begins; from there the whole expression's automaton
 * is tried at each place, for the longest or the shortest match as the tree's flags say. Its groups are then found by dissection: every part of the
 * tree gets the longest (or shortest) piece that lets the parts behind it match the rest. Automata answer that without trying; only back references, which they
 * only approximate, need to be tried.
 *
 * Fails: too complex, a stop. Writes: the Regex only.
 */
#include "backend/kern/regex_inside.h"

typedef enum Outcome { NO = REGEX_NO, YES = REGEX_YES, STOPPED = REGEX_FAILED } Outcome;

/* ---- compiling ---- */

static u32
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

Regex *
regex_compile(RegexMemory *m, Str pattern, u32 flags, bool (*stop)(void), Error *err)
{
    Regex *re = regex_alloc(m, sizeof *re);
    u32 *chars = regex_alloc(m, (pattern.len + (size_t)1) * sizeof *chars), n = 0;
    for (u32 i = 0; i < pattern.len; i += char_bytes((u8)pattern.ptr[i]))
        chars[n++] = decode(pattern.ptr + i);
    re->memory = m;
    re->stop = stop;
    RegexReader r = {.re = re, .now = chars, .end = chars + n, .flags = flags};
    if ((flags & REGEX_QUOTE) && (flags & (REGEX_EXPANDED | REGEX_NLSTOP | REGEX_NLANCH))) {
        error_set(err, ERR_INVALID_REGEXP, "invalid regular expression: invalid argument to regex function");
        return NULL;
    }
    regex_reader_start(&r);
    re->tree = regex_parse(&r);
    if (r.unsupported || r.error) {
        if (r.unsupported)
            error_set(err, ERR_FEATURE_NOT_SUPPORTED, "%s is not supported yet", r.unsupported);
        else
            error_set(err, ERR_INVALID_REGEXP, "invalid regular expression: %s", r.error);
        return NULL;
    }
    re->flags = r.flags;
    re->group_count = r.groups;
    regex_make_colors(re);
    re->span_capacity = r.groups + 1;
    re->spans = regex_alloc(m, re->span_capacity * sizeof *re->spans);
    re->search = dfa_new(re, re->tree->node, true);
    re->tree->dfa = dfa_new(re, re->tree->node, false);
    if (re->failure) {
        error_set(err, ERR_INVALID_REGEXP, "invalid regular expression: %s", re->failure);
        return NULL;
    }
    return re;
}

u32
regex_group_count(const Regex *re)
{
    return re->group_count;
}

void
regex_text(Regex *re, Str bytes, RegexText *ret)
{
    if (bytes.len + 1 > re->colors_capacity) {
        re->colors_capacity = 0;
        re->colors = regex_grow(re->memory, NULL, &re->colors_capacity, MAX(bytes.len + 1, 256u) * 2, sizeof *re->colors);
    }
    const u8 *s = (const u8 *)bytes.ptr;
    u32 n = 0;
    while (n < bytes.len && s[n] < 0x80) {
        re->colors[n] = re->ascii[s[n]];
        n++;
    }
    *ret = (RegexText){.bytes = bytes, .len = n, .colors = re->colors};
    for (u32 i = 0; i < re->look_count; i++)
        re->looks[i].running = false;
    if (n < bytes.len) {
        if (bytes.len + 1 > re->offsets_capacity) {
            re->offsets_capacity = 0;
            re->offsets = regex_grow(re->memory, NULL, &re->offsets_capacity, MAX(bytes.len + 1, 256u) * 2, sizeof *re->offsets);
        }
        for (u32 i = 0; i < n; i++)
            re->offsets[i] = i;
        for (u32 i = n; i < bytes.len; i += char_bytes(s[i])) {
            re->offsets[n] = i;
            re->colors[n++] = regex_color(re, decode(bytes.ptr + i));
        }
        re->offsets[n] = bytes.len;
        ret->offsets = re->offsets;
        ret->len = n;
    }
    re->colors[n] = (u16)re->color_count;
}

/* ---- dissection ---- */

static Outcome dissect(Regex *re, Tree *t, u32 from, u32 to);

static struct Dfa *
dfa_of(Regex *re, Tree *t)
{
    if (!t->dfa)
        t->dfa = dfa_new(re, t->node, false);
    return t->dfa;
}

static bool
is_over(const Regex *re)
{
    return re->stopped || re->failure;
}

static void
forget_groups(Regex *re, const Tree *t)
{
    if (t->group)
        re->spans[t->group] = (RegexSpan){-1, -1};
    for (const Tree *k = t->child; k; k = k->next)
        forget_groups(re, k);
}

static Outcome
dissect_pair(Regex *re, Tree *t, u32 from, u32 to)
{
    Tree *left = t->child, *right = left->next;
    struct Dfa *dl = dfa_of(re, left), *dr = dfa_of(re, right);
    bool shorter = left->flags & SHORTER;
    u32 middle = shorter ? dfa_shortest(re, dl, from, from, to, NULL) : dfa_longest(re, dl, from, to);
    while (middle != NOWHERE) {
        if (dfa_longest(re, dr, middle, to) == to) {
            Outcome o = dissect(re, left, from, middle);
            if (o == YES)
                o = dissect(re, right, middle, to);
            if (o != NO)
                return o;
        }
        if (middle == (shorter ? to : from))
            break;
        middle = shorter ? dfa_shortest(re, dl, from, middle + 1, to, NULL) : dfa_longest(re, dl, from, middle - 1);
        forget_groups(re, left);
        forget_groups(re, right);
    }
    return is_over(re) ? STOPPED : NO;
}

static Outcome
dissect_alternatives(Regex *re, Tree *t, u32 from, u32 to)
{
    for (Tree *k = t->child; k; k = k->next)
        if (dfa_longest(re, dfa_of(re, k), from, to) == to) {
            Outcome o = dissect(re, k, from, to);
            if (o != NO)
                return o;
        }
    return is_over(re) ? STOPPED : NO;
}

static bool
same_char(const Regex *re, const char *a, const char *b)
{
    u32 x = decode(a), y = decode(b);
    return x == y || ((re->flags & REGEX_ICASE) && text_char_lower(x) == text_char_lower(y));
}

static Outcome
match_backref(Regex *re, const Tree *t, u32 from, u32 to)
{
    RegexSpan s = re->spans[t->backref];
    if (regex_tick(re, to - from + 1))
        return STOPPED;
    if (s.from < 0)
        return NO;
    u32 len = (u32)(s.to - s.from);
    if (len == 0)
        return from == to;
    if (from == to)
        return t->min == 0;
    u32 times = (to - from) / len;
    if ((to - from) % len || times < t->min || (times > t->max && t->max != REGEX_INFINITE))
        return NO;
    const char *bytes = re->text->bytes.ptr;
    for (u32 i = 0; from + i < to; i++)
        if (!same_char(re, bytes + regex_offset(re->text, from + i), bytes + regex_offset(re->text, (u32)s.from + i % len)))
            return NO;
    return YES;
}

/* ---- iterations ---- */

/* A way to cut from … to into pieces that the child's automaton matches: ends[k] is where piece k ends, ends[0] = from. The pieces up to `verified` are dissected. */
typedef struct Cut {
    Regex *re;
    Tree *child;
    struct Dfa *dfa;
    u32 base;         /* of its ends on re->ends */
    u32 from, to, least, most, k, verified, limit;
} Cut;

static u32
end_of(const Cut *c, u32 k)
{
    return c->re->ends[c->base + k];
}

static void
set_end(Cut *c, u32 at)
{
    Regex *re = c->re;
    u32 index = c->base + c->k;
    if (index >= re->ends_capacity)
        re->ends = regex_grow(re->memory, re->ends, &re->ends_capacity, index + 1, sizeof *re->ends);
    re->ends[index] = at;
    re->ends_count = MAX(re->ends_count, index + 1);
}

/* Whether an empty piece k would help to come to the least number. */
static bool
needs_empty(const Cut *c, u32 k, u32 at)
{
    return k < c->least && c->least - k >= c->to - at;
}

/* The pieces as they are, dissected. */
static Outcome
verify_pieces(Cut *c)
{
    for (u32 i = c->verified + 1; i <= c->k; i++) {
        forget_groups(c->re, c->child);
        Outcome o = dissect(c->re, c->child, end_of(c, i - 1), end_of(c, i));
        if (o != YES)
            return o;
        c->verified = i;
    }
    return YES;
}

/* Another end for the last piece that can have one; k becomes 0 when there is none. */
static void
go_back(Cut *c, bool shorter)
{
    for (; c->k > 0; c->k--) {
        u32 before = end_of(c, c->k - 1), end = end_of(c, c->k);
        if (shorter && end < c->to) {
            c->limit = end + 1;
            return;
        }
        if (!shorter && end > before) {
            c->limit = end - 1;
            if (c->limit > before || needs_empty(c, c->k, before))
                return;
        }
    }
}

/* The end of piece k within the limit; false: there is none. */
static bool
place_piece(Cut *c, bool shorter)
{
    u32 before = end_of(c, c->k - 1);
    if (shorter) {
        if (c->limit == before && c->limit != c->to && !needs_empty(c, c->k, c->limit))
            c->limit++;
        if (c->k >= c->most)
            c->limit = c->to;
    }
    u32 end = shorter ? dfa_shortest(c->re, c->dfa, before, c->limit, c->to, NULL) : dfa_longest(c->re, c->dfa, before, c->limit);
    if (end == NOWHERE)
        return false;
    set_end(c, end);
    c->verified = MIN(c->verified, c->k - 1);
    return true;
}

static Outcome
cut_pieces(Cut *c, bool shorter)
{
    while (c->k > 0) {
        if (is_over(c->re))
            return STOPPED;
        if (!place_piece(c, shorter)) {
            c->k--;
            go_back(c, shorter);
            continue;
        }
        u32 end = end_of(c, c->k);
        if (end != c->to) {
            if (c->k >= c->most) {
                c->k--;
                go_back(c, shorter);
            } else if (!shorter && end == end_of(c, c->k - 1) && !needs_empty(c, c->k, end)) {
                go_back(c, shorter);
            } else {
                c->k++;
                c->limit = shorter ? end : c->to;
            }
            continue;
        }
        if (c->k >= c->least) {
            Outcome o = verify_pieces(c);
            if (o != NO)
                return o;
        }
        go_back(c, shorter);
    }
    return is_over(c->re) ? STOPPED : NO;
}

static Outcome
dissect_repeat(Regex *re, Tree *t, u32 from, u32 to)
{
    bool shorter = t->child->flags & SHORTER;
    if (shorter && t->min == 0 && from == to)
        return YES;
    u32 least = MAX(t->min, (u16)1); /* no time at all only where nothing else does */
    u32 most = to - from;
    if (t->max != REGEX_INFINITE)
        most = MIN(most, (u32)t->max);
    Cut c = {.re = re, .child = t->child, .dfa = dfa_of(re, t->child), .base = re->ends_count, .from = from, .to = to,
             .least = least, .most = MAX(most, least), .limit = shorter ? from : to};
    set_end(&c, from);
    c.k = 1;
    Outcome o = cut_pieces(&c, shorter);
    re->ends_count = c.base;
    if (o == NO && t->min == 0 && from == to) {
        forget_groups(re, t->child);
        return YES;
    }
    return o;
}

static Outcome
dissect(Regex *re, Tree *t, u32 from, u32 to)
{
    Outcome o = YES;
    if (++re->depth > 4 * REGEX_MAX_DEPTH)
        re->failure = REGEX_TOO_COMPLEX;
    if (is_over(re))
        return STOPPED;
    switch (t->op) {
    case TREE_PLAIN: break;
    case TREE_CAT: o = dissect_pair(re, t, from, to); break;
    case TREE_ALT: o = dissect_alternatives(re, t, from, to); break;
    case TREE_REPEAT: o = dissect_repeat(re, t, from, to); break;
    case TREE_BACKREF: o = match_backref(re, t, from, to); break;
    case TREE_WRAP: o = dissect(re, t->child, from, to); break;
    }
    re->depth--;
    if (o == YES && t->group)
        re->spans[t->group] = (RegexSpan){(i32)from, (i32)to};
    return o;
}

/* ---- finding ---- */

/* A match that begins at `at`; with back references the automaton's answer is only a proposal. */
static Outcome
match_at(Regex *re, u32 at, bool dissected)
{
    Tree *t = re->tree;
    bool shorter = t->flags & SHORTER;
    u32 end = shorter ? dfa_shortest(re, t->dfa, at, at, re->text->len, NULL) : dfa_longest(re, t->dfa, at, re->text->len);
    while (end != NOWHERE) {
        for (u32 i = 0; i < re->span_capacity; i++)
            re->spans[i] = (RegexSpan){-1, -1};
        re->depth = re->ends_count = 0;
        Outcome o = dissected ? dissect(re, t, at, end) : YES;
        if (o == YES)
            re->spans[0] = (RegexSpan){(i32)at, (i32)end};
        if (o != NO)
            return o;
        if (end == (shorter ? re->text->len : at))
            break;
        end = shorter ? dfa_shortest(re, t->dfa, at, end + 1, re->text->len, NULL) : dfa_longest(re, t->dfa, at, end - 1);
    }
    return is_over(re) ? STOPPED : NO;
}

static RegexResult
report(Regex *re, Outcome o, Error *err)
{
    if (o != STOPPED)
        return (RegexResult)o;
    if (re->failure)
        error_set(err, ERR_INVALID_REGEXP, "regular expression failed: %s", re->failure);
    else
        error_set(err, ERR_QUERY_CANCELED, "canceling statement due to user request");
    return REGEX_FAILED;
}

static Outcome
find(Regex *re, u32 start, bool dissected)
{
    u32 first, last = dfa_shortest(re, re->search, start, start, re->text->len, &first);
    while (last != NOWHERE) {
        for (u32 at = first; at <= last; at++) {
            Outcome o = match_at(re, at, dissected);
            if (o != NO)
                return o;
        }
        start = last + 1; /* only a proposal, and refused: the next one */
        if (start >= re->text->len)
            break; /* as in PostgreSQL, which does not try an empty match at the end then */
        last = dfa_shortest(re, re->search, start, start, re->text->len, &first);
    }
    return is_over(re) ? STOPPED : NO;
}

RegexResult
regex_find(Regex *re, const RegexText *t, u32 start, RegexSpan *spans, u32 count, Error *err)
{
    if (start > t->len)
        return REGEX_NO;
    re->text = t;
    Outcome o = find(re, start, re->has_backrefs || (count > 1 && re->group_count));
    for (u32 i = 0; o == YES && i < count; i++)
        spans[i] = i < re->span_capacity ? re->spans[i] : (RegexSpan){-1, -1};
    return report(re, o, err);
}

RegexResult
regex_test(Regex *re, const RegexText *t, Error *err)
{
    re->text = t;
    if (re->has_backrefs)
        return report(re, find(re, 0, true), err);
    Outcome o = dfa_shortest(re, re->search, 0, 0, t->len, NULL) != NOWHERE ? YES : is_over(re) ? STOPPED : NO;
    return report(re, o, err);
}
