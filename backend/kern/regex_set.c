/*
 * regex_set.c
 *    Sets of characters, the named classes, and the colors made of all sets of an expression.
 *
 * Which characters a class has is a table (regex_classes.def): the locale C.UTF-8 as PostgreSQL uses it, whatever this machine has.
 *
 * Colors: the bounds of all sets cut the characters into intervals; those that lie in the same sets have the same color. A text is translated into colors
 * once and automata are small tables over colors.
 */
#include "backend/kern/regex_inside.h"

#include <stdlib.h>

#define CLASS(name, ...) static const u32 RUNS_##name[] = {__VA_ARGS__};
#include "backend/kern/regex_classes.def"

enum { ALL_CHARS = 0x7fffffff };

void
regex_set_add(Regex *re, CharSet *s, u32 from, u32 to)
{
    if (s->count && s->ranges[s->count - 1].to + 1 == from) {
        s->ranges[s->count - 1].to = to;
        return;
    }
    if (s->count == s->capacity)
        s->ranges = regex_grow(re->memory, s->ranges, &s->capacity, s->count + 1, sizeof *s->ranges);
    s->ranges[s->count++] = (CharRange){from, to};
}

static void
add_runs(Regex *re, CharSet *s, const u32 *runs, u32 count)
{
    u32 at = 0;
    for (u32 i = 0; i < count; i += 2) {
        at += runs[i];
        regex_set_add(re, s, at, at + runs[i + 1] - 1u);
        at += runs[i + 1];
    }
}

#define ADD_RUNS(name) add_runs(re, s, RUNS_##name, COUNT_OF(RUNS_##name))

void
regex_set_add_class(Regex *re, CharSet *s, CharClass k)
{
    switch (k) {
    case CLASS_ALPHA: ADD_RUNS(ALPHA); break;
    case CLASS_UPPER: ADD_RUNS(UPPER); break;
    case CLASS_LOWER: ADD_RUNS(LOWER); break;
    case CLASS_PUNCT: ADD_RUNS(PUNCT); break;
    case CLASS_GRAPH: ADD_RUNS(GRAPH); break;
    case CLASS_PRINT: ADD_RUNS(PRINT); break;
    case CLASS_SPACE: ADD_RUNS(SPACE); break;
    case CLASS_CNTRL: ADD_RUNS(CNTRL); break;
    case CLASS_ASCII: regex_set_add(re, s, 0, 0x7f); break;
    case CLASS_DIGIT: regex_set_add(re, s, '0', '9'); break;
    case CLASS_BLANK:
        regex_set_add(re, s, '\t', '\t');
        regex_set_add(re, s, ' ', ' ');
        break;
    case CLASS_XDIGIT:
        regex_set_add(re, s, '0', '9');
        regex_set_add(re, s, 'A', 'F');
        regex_set_add(re, s, 'a', 'f');
        break;
    case CLASS_WORD:
        regex_set_add(re, s, '_', '_');
        __attribute__((fallthrough));
    case CLASS_ALNUM:
        regex_set_add(re, s, '0', '9');
        ADD_RUNS(ALPHA);
        break;
    case CLASS_COUNT: break;
    }
}

bool
regex_class_find(const u32 *name, u32 len, CharClass *ret)
{
    static const char *const names[CLASS_COUNT] = {
        [CLASS_ALNUM] = "alnum", [CLASS_ALPHA] = "alpha", [CLASS_ASCII] = "ascii", [CLASS_BLANK] = "blank", [CLASS_CNTRL] = "cntrl", [CLASS_DIGIT] = "digit",
        [CLASS_GRAPH] = "graph", [CLASS_LOWER] = "lower", [CLASS_PRINT] = "print", [CLASS_PUNCT] = "punct", [CLASS_SPACE] = "space", [CLASS_UPPER] = "upper",
        [CLASS_XDIGIT] = "xdigit", [CLASS_WORD] = "word",
    };
    for (u32 k = 0; k < CLASS_COUNT; k++) {
        u32 i = 0;
        while (i < len && names[k][i] && (u8)names[k][i] == name[i])
            i++;
        if (i == len && !names[k][i]) {
            *ret = (CharClass)k;
            return true;
        }
    }
    return false;
}

static int
compare_ranges(const void *a, const void *b)
{
    const CharRange *x = a, *y = b;
    return x->from != y->from ? (x->from < y->from ? -1 : 1) : (x->to > y->to) - (x->to < y->to);
}

/* Sorted, what touches made one. */
static void
settle(CharSet *s)
{
    if (s->count < 2)
        return;
    qsort(s->ranges, s->count, sizeof *s->ranges, compare_ranges);
    u32 kept = 0;
    for (u32 i = 1; i < s->count; i++) {
        CharRange *last = &s->ranges[kept];
        if (s->ranges[i].from <= last->to || s->ranges[i].from == last->to + 1)
            last->to = MAX(last->to, s->ranges[i].to);
        else
            s->ranges[++kept] = s->ranges[i];
    }
    s->count = kept + 1;
}

void
regex_set_complement(Regex *re, CharSet *s)
{
    CharSet out = {0};
    u32 at = 0;
    settle(s);
    for (u32 i = 0; i < s->count; i++) {
        if (s->ranges[i].from > at)
            regex_set_add(re, &out, at, s->ranges[i].from - 1);
        at = s->ranges[i].to + 1;
    }
    if (at <= ALL_CHARS)
        regex_set_add(re, &out, at, ALL_CHARS);
    *s = out;
}

u32
regex_set_keep(Regex *re, CharSet *s)
{
    settle(s);
    for (u32 i = 0; i < re->set_count; i++) {
        const CharSet *k = &re->sets[i];
        if (k->count == s->count && (s->count == 0 || memcmp(k->ranges, s->ranges, s->count * sizeof *s->ranges) == 0))
            return i;
    }
    if (re->set_count == re->set_capacity)
        re->sets = regex_grow(re->memory, re->sets, &re->set_capacity, re->set_count + 1, sizeof *re->sets);
    re->sets[re->set_count] = *s;
    return re->set_count++;
}

/* ---- colors ---- */

/* A set begins or ends here. */
typedef struct Edge {
    u32 at, set;
} Edge;

static int
compare_edges(const void *a, const void *b)
{
    const Edge *x = a, *y = b;
    return (x->at > y->at) - (x->at < y->at);
}

typedef struct ColorMaker {
    u32 words;      /* of a signature */
    u64 *now;       /* which sets the interval at hand lies in */
    u32 capacity;
    u64 *known;     /* signatures of the colors */
} ColorMaker;

static u16
color_of_signature(Regex *re, ColorMaker *m)
{
    for (u32 k = re->color_count; k-- > 0;)
        if (memcmp(m->known + (size_t)k * m->words, m->now, m->words * sizeof *m->now) == 0)
            return (u16)k;
    if (re->color_count == m->capacity)
        m->known = regex_grow(re->memory, m->known, &m->capacity, re->color_count + 1, m->words * sizeof *m->known);
    memcpy(m->known + (size_t)re->color_count * m->words, m->now, m->words * sizeof *m->now);
    return (u16)re->color_count++;
}

static void
describe_colors(Regex *re, const ColorMaker *m)
{
    re->set_has = regex_alloc(re->memory, (size_t)re->set_count * re->color_count);
    re->color_kind = regex_alloc(re->memory, re->color_count + 1);
    for (u32 set = 0; set < re->set_count; set++)
        for (u32 k = 0; k < re->color_count; k++) {
            bool has = m->known[(size_t)k * m->words + set / 64] >> (set % 64) & 1;
            re->set_has[(size_t)set * re->color_count + k] = has;
            if (has && (set + 1 == re->word_set || set + 1 == re->newline_set))
                re->color_kind[k] = set + 1 == re->word_set ? KIND_WORD : KIND_NEWLINE;
        }
    re->color_kind[re->color_count] = KIND_EDGE;
}

void
regex_make_colors(Regex *re)
{
    u32 count = 0, n = 0;
    for (u32 i = 0; i < re->set_count; i++)
        count += re->sets[i].count;
    Edge *edges = regex_alloc(re->memory, (2 * (size_t)count + 1) * sizeof *edges);
    for (u32 i = 0; i < re->set_count; i++)
        for (u32 k = 0; k < re->sets[i].count; k++) {
            edges[n++] = (Edge){re->sets[i].ranges[k].from, i};
            edges[n++] = (Edge){re->sets[i].ranges[k].to + 1, i};
        }
    qsort(edges, n, sizeof *edges, compare_edges);
    ColorMaker m = {.words = re->set_count / 64 + 1};
    m.now = regex_alloc(re->memory, m.words * sizeof *m.now);
    re->interval_from = regex_alloc(re->memory, (n + 1) * sizeof(u32));
    re->interval_color = regex_alloc(re->memory, (n + 1) * sizeof(u16));
    for (u32 i = 0, at = 0; ; at = edges[i].at) {
        while (i < n && edges[i].at == at) {
            m.now[edges[i].set / 64] ^= 1ull << (edges[i].set % 64);
            i++;
        }
        re->interval_from[re->interval_count] = at;
        re->interval_color[re->interval_count++] = color_of_signature(re, &m);
        if (i == n)
            break;
    }
    describe_colors(re, &m);
    for (u32 c = 0; c < COUNT_OF(re->ascii); c++) {
        u32 k = 0;
        while (k + 1 < re->interval_count && re->interval_from[k + 1] <= c)
            k++;
        re->ascii[c] = re->interval_color[k];
    }
}

u16
regex_color(const Regex *re, u32 cp)
{
    if (cp < COUNT_OF(re->ascii))
        return re->ascii[cp];
    u32 low = 0, high = re->interval_count;
    while (high - low > 1) {
        u32 middle = (low + high) / 2;
        if (re->interval_from[middle] <= cp)
            low = middle;
        else
            high = middle;
    }
    return re->interval_color[low];
}
