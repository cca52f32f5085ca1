/*
 * regex_dfa.c
 *    Automata: nodes become a program, sets of its instructions become states, made when a text first leads to them.
 *
 * A state is the set of instructions that wait for the next character, with what kind of character stood before when the program has assertions. A
 * step with a color first settles the assertions, for then both neighbours are known, sees whether the match may end here, and then goes over the character:
 * so "ends here" belongs to the step, and the end of the text is a color, too. Steps are kept in a table, but for states with lookaround, whose truth depends on
 * the place.
 *
 * When an automaton's states grow beyond their memory they are all forgotten and made again as they are met: any expression runs in bounded memory and
 * in time that grows with the text.
 */
#include "backend/kern/regex_inside.h"

#include <stdlib.h>

typedef enum InsOp { OP_SPLIT, OP_SET, OP_ASSERT, OP_LOOK, OP_ACCEPT } InsOp;

typedef struct Ins {
    InsOp op;
    u32 next, other; /* other: SPLIT */
    u32 what;        /* SET, LOOK: number; ASSERT: kind */
} Ins;

/* Waiting instructions are pool[from … from + count), ascending. */
typedef struct State {
    u32 from, count;
    u8 before;      /* ColorKind of the character in front */
    bool unsettled; /* has assertions */
    bool placed;    /* has lookaround: its steps are not kept */
    bool fresh;     /* of an automaton that matches anywhere: nothing has begun; another state than the same set of something begun */
} State;

enum { STEP_UNKNOWN = 0, STEP_DEAD = 1, FIRST_STATE = 2, STEP_ENDS = 0x80000000u, POOL_MAX = 1 << 16, TABLE_MAX = 1 << 16, TICK_STEPS = 4096 };

typedef struct Dfa {
    u32 ins_count, ins_capacity;
    Ins *ins;
    u32 start;
    bool anywhere, has_asserts, too_big;
    u32 stride;        /* of a row of the table: colors and the end */
    u32 state_count, state_capacity;
    State *states;     /* number FIRST_STATE + i */
    u32 *table;
    u32 pool_count, pool_capacity;
    u32 *pool;
    u32 hash_size;     /* a power of two */
    u32 *hash;         /* state number, 0: free */
    u32 *mark, mark_now;
    u32 forgotten;     /* times */
    u32 *stack, *set;  /* work space: two and one for each instruction */
} Dfa;

bool
regex_tick(Regex *re, u32 steps)
{
    re->steps += steps;
    if (re->steps >= TICK_STEPS) {
        re->steps = 0;
        re->stopped |= re->stop && re->stop();
    }
    return re->stopped;
}

/* ---- the program, from the end to the beginning ---- */

static u32
add_ins(Regex *re, Dfa *d, InsOp op, u32 what, u32 next, u32 other)
{
    if (d->ins_count >= REGEX_MAX_PROGRAM) {
        d->too_big = true;
        return 0;
    }
    if (d->ins_count == d->ins_capacity)
        d->ins = regex_grow(re->memory, d->ins, &d->ins_capacity, d->ins_count + 1, sizeof *d->ins);
    d->ins[d->ins_count] = (Ins){op, next, other, what};
    return d->ins_count++;
}

static u32 emit(Regex *re, Dfa *d, const Node *n, u32 next, bool bare);

static u32
emit_repeat(Regex *re, Dfa *d, const Node *n, u32 next, bool bare)
{
    const Node *kid = n->kids[0];
    if (n->max == REGEX_INFINITE) {
        u32 loop = add_ins(re, d, OP_SPLIT, 0, 0, next), body = emit(re, d, kid, loop, bare);
        if (d->too_big)
            return 0;
        d->ins[loop].next = body;
        next = loop;
    } else {
        u32 end = next;
        for (u32 i = n->min; i < n->max && !d->too_big; i++)
            next = add_ins(re, d, OP_SPLIT, 0, emit(re, d, kid, next, bare), end);
    }
    for (u32 i = 0; i < n->min && !d->too_big; i++)
        next = emit(re, d, kid, next, bare);
    return next;
}

/* The first instruction of n with `next` behind it. bare: without assertions and lookaround, as a back reference repeats its group. */
static u32
emit(Regex *re, Dfa *d, const Node *n, u32 next, bool bare)
{
    if (d->too_big)
        return 0;
    switch (n->kind) {
    case NODE_EMPTY: return next;
    case NODE_SET: return add_ins(re, d, OP_SET, n->set, next, 0);
    case NODE_CAT:
        for (u32 i = n->count; i-- > 0;)
            next = emit(re, d, n->kids[i], next, bare);
        return next;
    case NODE_ALT: {
        u32 all = emit(re, d, n->kids[n->count - 1], next, bare);
        for (u32 i = n->count - 1; i-- > 0;)
            all = add_ins(re, d, OP_SPLIT, 0, emit(re, d, n->kids[i], next, bare), all);
        return all;
    }
    case NODE_REPEAT: return emit_repeat(re, d, n, next, bare);
    case NODE_BACKREF: return emit_repeat(re, d, n, next, true);
    case NODE_ASSERT:
        d->has_asserts |= !bare;
        return bare ? next : add_ins(re, d, OP_ASSERT, n->assertion, next, 0);
    case NODE_LOOK:
        d->has_asserts |= !bare;
        return bare ? next : add_ins(re, d, OP_LOOK, n->set, next, 0);
    }
    return next;
}

Dfa *
dfa_new(Regex *re, Node *node, bool anywhere)
{
    Dfa *d = regex_alloc(re->memory, sizeof *d);
    d->anywhere = anywhere;
    d->stride = re->color_count + 1;
    d->start = emit(re, d, node, add_ins(re, d, OP_ACCEPT, 0, 0, 0), false);
    if (d->too_big) {
        re->failure = REGEX_TOO_COMPLEX;
        return d;
    }
    d->mark = regex_alloc(re->memory, d->ins_count * sizeof(u32));
    d->stack = regex_alloc(re->memory, (2 * (size_t)d->ins_count + 2) * sizeof(u32));
    d->set = regex_alloc(re->memory, d->ins_count * sizeof(u32));
    d->hash_size = 64;
    d->hash = regex_alloc(re->memory, d->hash_size * sizeof(u32));
    return d;
}

/* ---- states ---- */

static bool
truth_of(AssertKind kind, u8 before, u8 after)
{
    bool word_before = before == KIND_WORD, word_after = after == KIND_WORD;
    switch (kind) {
    case AT_TEXT_BEGIN: return before == KIND_EDGE;
    case AT_TEXT_END: return after == KIND_EDGE;
    case AT_LINE_BEGIN: return before == KIND_EDGE || before == KIND_NEWLINE;
    case AT_LINE_END: return after == KIND_EDGE || after == KIND_NEWLINE;
    case AT_WORD_BEGIN: return !word_before && word_after;
    case AT_WORD_END: return word_before && !word_after;
    case AT_WORD_EDGE: return word_before != word_after;
    case AT_NO_WORD_EDGE: return word_before == word_after;
    }
    return false;
}

static bool
look_holds(Regex *re, u32 number, u32 at)
{
    Look *l = &re->looks[number];
    if (re->failure || re->stopped)
        return false;
    if (!l->dfa)
        l->dfa = dfa_new(re, l->node, !l->ahead);
    if (re->failure)
        return false;
    bool found = l->ahead ? dfa_shortest(re, l->dfa, at, at, re->text->len, NULL) != NOWHERE : dfa_ends_at(re, l, at);
    return found != l->negative;
}

static void
new_marks(Dfa *d)
{
    if (++d->mark_now == 0) {
        memset(d->mark, 0, d->ins_count * sizeof *d->mark);
        d->mark_now = 1;
    }
}

/* A place where assertions are settled; NULL: they wait. */
typedef struct Place {
    u32 at;
    u8 before, after;
} Place;

/* Adds to d->set[0 … *count) what is reached from `from` without a character. */
static void
reach(Regex *re, Dfa *d, u32 from, const Place *place, u32 *count)
{
    u32 depth = 0;
    d->stack[depth++] = from;
    while (depth) {
        u32 pc = d->stack[--depth];
        if (d->mark[pc] == d->mark_now)
            continue;
        d->mark[pc] = d->mark_now;
        const Ins *i = &d->ins[pc];
        if (i->op == OP_SPLIT) {
            d->stack[depth++] = i->other;
            d->stack[depth++] = i->next;
        } else if (place && (i->op == OP_ASSERT || i->op == OP_LOOK)) {
            bool holds = i->op == OP_ASSERT ? truth_of((AssertKind)i->what, place->before, place->after) : look_holds(re, i->what, place->at);
            if (holds)
                d->stack[depth++] = i->next;
        } else {
            d->set[(*count)++] = pc;
        }
    }
}

static int
compare_u32(const void *a, const void *b)
{
    u32 x = *(const u32 *)a, y = *(const u32 *)b;
    return (x > y) - (x < y);
}

static void
sort_set(u32 *set, u32 count)
{
    if (count > 24) {
        qsort(set, count, sizeof *set, compare_u32);
        return;
    }
    for (u32 i = 1; i < count; i++) {
        u32 v = set[i], k = i;
        for (; k > 0 && set[k - 1] > v; k--)
            set[k] = set[k - 1];
        set[k] = v;
    }
}

static void
forget_states(Dfa *d)
{
    d->state_count = d->pool_count = 0;
    d->forgotten++;
    memset(d->hash, 0, d->hash_size * sizeof *d->hash);
}

static u32
hash_set(const u32 *set, u32 count, u8 before)
{
    u32 h = 0x9e3779b9u + before;
    for (u32 i = 0; i < count; i++)
        h = (h ^ set[i]) * 0x85ebca6bu, h ^= h >> 15;
    return h;
}

static void
grow_hash(Regex *re, Dfa *d)
{
    d->hash_size *= 4;
    d->hash = regex_alloc(re->memory, d->hash_size * sizeof(u32));
    for (u32 k = 0; k < d->state_count; k++) {
        const State *s = &d->states[k];
        u32 slot = hash_set(d->pool + s->from, s->count, s->before) & (d->hash_size - 1);
        while (d->hash[slot])
            slot = (slot + 1) & (d->hash_size - 1);
        d->hash[slot] = FIRST_STATE + k;
    }
}

static void
make_room(Regex *re, Dfa *d, u32 count)
{
    if (d->state_count && (d->pool_count + count > POOL_MAX || (d->state_count + 1) * d->stride > TABLE_MAX))
        forget_states(d);
    if (d->pool_count + count > d->pool_capacity)
        d->pool = regex_grow(re->memory, d->pool, &d->pool_capacity, d->pool_count + count, sizeof *d->pool);
    if (d->state_count == d->state_capacity) {
        u32 rows = d->state_capacity;
        d->states = regex_grow(re->memory, d->states, &d->state_capacity, d->state_count + 1, sizeof *d->states);
        u32 cells = rows * d->stride;
        d->table = regex_grow(re->memory, d->table, &cells, d->state_capacity * d->stride, sizeof *d->table);
    }
    if (d->state_count * 2 >= d->hash_size)
        grow_hash(re, d);
}

/* The state of d->set[0 … count). May forget all others. */
static u32
state_of(Regex *re, Dfa *d, u32 count, u8 before, bool fresh)
{
    if (!count)
        return STEP_DEAD;
    if (!d->has_asserts)
        before = KIND_OTHER;
    sort_set(d->set, count);
    u32 h = hash_set(d->set, count, before), slot = h & (d->hash_size - 1);
    for (; d->hash[slot]; slot = (slot + 1) & (d->hash_size - 1)) {
        const State *s = &d->states[d->hash[slot] - FIRST_STATE];
        if (s->count == count && s->before == before && s->fresh == fresh && memcmp(d->pool + s->from, d->set, count * sizeof *d->set) == 0)
            return d->hash[slot];
    }
    make_room(re, d, count);
    slot = h & (d->hash_size - 1);
    while (d->hash[slot])
        slot = (slot + 1) & (d->hash_size - 1);
    u32 k = d->state_count++;
    State *s = &d->states[k];
    *s = (State){.from = d->pool_count, .count = count, .before = before, .fresh = fresh};
    memcpy(d->pool + d->pool_count, d->set, count * sizeof *d->set);
    d->pool_count += count;
    for (u32 i = 0; i < count; i++) {
        s->unsettled |= d->ins[d->set[i]].op == OP_ASSERT || d->ins[d->set[i]].op == OP_LOOK;
        s->placed |= d->ins[d->set[i]].op == OP_LOOK;
    }
    memset(d->table + (size_t)k * d->stride, 0, d->stride * sizeof *d->table);
    d->hash[slot] = FIRST_STATE + k;
    return FIRST_STATE + k;
}

static u32
start_state(Regex *re, Dfa *d, u32 at)
{
    u32 count = 0;
    u8 before = at == 0 ? KIND_EDGE : re->color_kind[re->text->colors[at - 1]];
    new_marks(d);
    reach(re, d, d->start, NULL, &count);
    return state_of(re, d, count, before, d->anywhere);
}

/* Over the character at `at`, or the end there: the next state, with STEP_ENDS when a match ends in front of it. */
static u32
step(Regex *re, Dfa *d, u32 number, u32 at)
{
    u32 color = re->text->colors[at], count = 0, ends = 0;
    State s = d->states[number - FIRST_STATE];
    const u32 *waiting = d->pool + s.from;
    u32 waiting_count = s.count;
    if (s.unsettled) {
        Place place = {at, s.before, re->color_kind[color]};
        new_marks(d);
        for (u32 i = 0; i < waiting_count; i++)
            reach(re, d, waiting[i], &place, &count);
        memcpy(d->stack + d->ins_count + 1, d->set, count * sizeof *d->set); /* reach() needs less than the first half when its marks are set */
        waiting = d->stack + d->ins_count + 1;
        waiting_count = count;
        count = 0;
    }
    new_marks(d);
    for (u32 i = 0; i < waiting_count; i++) {
        const Ins *in = &d->ins[waiting[i]];
        if (in->op == OP_ACCEPT)
            ends = STEP_ENDS;
        else if (color < re->color_count && re->set_has[(size_t)in->what * re->color_count + color])
            reach(re, d, in->next, NULL, &count);
    }
    bool fresh = d->anywhere && count == 0;
    if (d->anywhere && color < re->color_count)
        reach(re, d, d->start, NULL, &count);
    u32 forgotten = d->forgotten;
    u32 to = state_of(re, d, count, re->color_kind[color], fresh) | ends;
    if (d->forgotten == forgotten && !s.placed)
        d->table[(size_t)(number - FIRST_STATE) * d->stride + color] = to;
    return to;
}

static inline u32
next_state(Regex *re, Dfa *d, u32 state, u32 at)
{
    u32 to = d->table[(size_t)(state - FIRST_STATE) * d->stride + re->text->colors[at]];
    return to == STEP_UNKNOWN ? step(re, d, state, at) : to;
}

/* ---- matching ---- */

u32
dfa_longest(Regex *re, Dfa *d, u32 from, u32 stop)
{
    u32 last = NOWHERE, at = from;
    if (re->failure || re->stopped)
        return NOWHERE;
    u32 state = start_state(re, d, from);
    while (state != STEP_DEAD) {
        u32 pause = MIN(stop, at + TICK_STEPS), begin = at;
        for (;; at++) {
            u32 to = next_state(re, d, state, at);
            if (to & STEP_ENDS)
                last = at;
            state = to & ~STEP_ENDS;
            if (state == STEP_DEAD || at == pause)
                break;
        }
        if (regex_tick(re, at - begin + 1) || re->failure)
            return NOWHERE;
        if (at == stop)
            break;
        at++;
    }
    return last;
}

u32
dfa_shortest(Regex *re, Dfa *d, u32 from, u32 least, u32 stop, u32 *ret_cold)
{
    u32 at = from, cold = from;
    if (re->failure || re->stopped)
        return NOWHERE;
    u32 state = start_state(re, d, from);
    while (state != STEP_DEAD) {
        u32 pause = MIN(stop, at + TICK_STEPS), begin = at;
        for (;; at++) {
            if (d->anywhere && d->states[state - FIRST_STATE].fresh)
                cold = at;
            u32 to = next_state(re, d, state, at);
            if ((to & STEP_ENDS) && at >= least) {
                if (ret_cold)
                    *ret_cold = cold;
                return regex_tick(re, at - begin + 1) ? NOWHERE : at;
            }
            state = to & ~STEP_ENDS;
            if (state == STEP_DEAD || at == pause)
                break;
        }
        if (regex_tick(re, at - begin + 1) || re->failure || at == stop)
            return NOWHERE;
        at++;
    }
    return NOWHERE;
}

bool
dfa_ends_at(Regex *re, Look *l, u32 at)
{
    Dfa *d = l->dfa;
    if (!l->running || l->at > at || l->forgotten != d->forgotten) {
        l->state = start_state(re, d, 0);
        l->at = 0;
        l->running = true;
    }
    u32 begin = l->at;
    for (; l->at < at; l->at++)
        l->state = next_state(re, d, l->state, l->at) & ~STEP_ENDS;
    l->forgotten = d->forgotten;
    return !regex_tick(re, at - begin + 1) && (next_state(re, d, l->state, at) & STEP_ENDS);
}
