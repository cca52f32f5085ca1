/*
 * subquery.c
 *    Subqueries in expressions.
 *
 * One that captures nothing runs once, before the statement: a scalar's or EXISTS' value becomes an extra parameter, the rows of IN a hash set that all threads
 * look into. One that captures columns of outer queries runs for each combination of their values that comes along, with these as extra
 * parameters, in the session's thread (Plan.serial); results are remembered. Inner subqueries of a subquery are the statement's, too, so all
 * executions share the outermost one's state.
 * Fails by throwing: 21000, and what the subquery throws.
 */
#include "backend/exec/run.h"

#include "common/store/key.h"
#include "backend/exec/gather.h"

enum { ELEMENT_BYTES = 32, NULL_BYTE = 31, MEMO_MAX = 16384, MEMO_BUCKETS = 4096 };

/* The rows of an IN subquery, by the hash of all columns. */
typedef struct SubSet {
    RowFlat flat;
    u64 mask;
    u32 *slots;       /* row + 1; rows with a NULL are not entered */
    u32 partial_count;
    u32 *partial;     /* those rows */
} SubSet;

typedef struct MemoEntry {
    struct MemoEntry *next;
    u64 hash;
    Value result;
    u8 key[]; /* ELEMENT_BYTES an argument: the value, and at NULL_BYTE whether it is NULL */
} MemoEntry;

struct SubRun {
    const BSub *bound;
    const Plan *plan;
    SubSet set;
    Arena *arena; /* of one run */
    Arena *memo_arena;
    MemoEntry **memo;
    u32 memo_count;
};

static void
free_runs(void *what)
{
    Exec *root = what;
    for (u32 i = 0; i < root->plan->sub_count; i++) {
        SubRun *r = &root->subs[i];
        if (r->arena)
            arena_free(r->arena);
        if (r->memo_arena)
            arena_free(r->memo_arena);
    }
}

static PhysType
any_phys(TypeId type, i32 typmod)
{
    return type == TYPE_NUMERIC ? PHYS_NUM : phys_of(type, typmod);
}

static Arena *
need_arena(Exec *root, Arena **at, const char *name)
{
    if (!*at && !(*at = arena_new(name, root->ctx->memory_limit_bytes, arena_full_throw)))
        err_throw(ERR_OUT_OF_MEMORY, "out of memory");
    return *at;
}

/* ---- running one ---- */

static Exec *
open_run(Exec *root, SubRun *r)
{
    ExecContext ctx = *root->ctx;
    ctx.arena = need_arena(root, &r->arena, "subquery");
    arena_reset(ctx.arena);
    return exec_open_inner(root, &ctx, r->plan);
}

static const void *
vec_element(const Vec *v, u32 i)
{
    return (const u8 *)v->data + (size_t)(v->is_const ? 0 : i) * phys_width(v->phys);
}

/* Texts are copied into `a`. */
static Value
run_scalar(Exec *root, SubRun *r, Arena *a)
{
    u32 column = r->bound->column;
    const PlanColumn *c = &r->plan->columns[column];
    Value v = {.type = c->type, .typmod = c->typmod, .is_null = true};
    u64 rows = 0;
    Batch b;
    Exec *e = open_run(root, r);
    while (exec_next(e, &b)) {
        const Vec *from = &b.columns[column];
        if (rows == 0 && b.count && !VEC_NULL(from, 0)) {
            v = value_from_phys(c->type, c->typmod, from->phys, from->scale, vec_element(from, 0));
            if (phys_of(c->type, c->typmod) == PHYS_STR)
                v.str = arena_str(a, v.str);
        }
        rows += b.count;
        if (rows > 1)
            err_throw(ERR_CARDINALITY_VIOLATION, "more than one row returned by a subquery used as an expression");
    }
    exec_close(e);
    return v;
}

static Value
run_array(Exec *root, SubRun *r, Arena *a)
{
    const PlanColumn *c = &r->plan->columns[0];
    ArrayGather g = gather_new(a, c->type);
    Value v = {.type = type_array(type_element(c->type)), .typmod = c->typmod};
    Error err;
    Batch b;
    Exec *e = open_run(root, r);
    while (exec_next(e, &b))
        for (u32 i = 0; i < b.count; i++) {
            const Vec *from = &b.columns[0];
            Value item = {.type = c->type, .is_null = true};
            if (!VEC_NULL(from, i))
                item = value_from_phys(c->type, c->typmod, from->phys, from->scale, vec_element(from, i));
            if (!gather_add(&g, &item, &err))
                err_rethrow(&err);
        }
    exec_close(e);
    if (!gather_finish(&g, &v.str, &err))
        err_rethrow(&err);
    return v;
}

static Value
run_exists(Exec *root, SubRun *r)
{
    Value v = {.type = TYPE_BOOL, .typmod = -1};
    Batch b;
    Exec *e = open_run(root, r);
    while (!v.b && exec_next(e, &b))
        v.b = b.count > 0;
    exec_close(e);
    return v;
}

/* ---- sets ---- */

static u64
row_hash(const RowFlat *f, u64 row)
{
    u64 h = key_hash_first();
    for (u32 c = 0; c < f->column_count; c++) {
        const Vec *v = &f->columns[c];
        h = key_hash_add(h, key_hash_element(v->phys, (const u8 *)v->data + row * phys_width(v->phys)));
    }
    return h;
}

static bool
row_has_null(const RowFlat *f, u64 row)
{
    for (u32 c = 0; c < f->column_count; c++)
        if (f->columns[c].null_mask && f->columns[c].null_mask[row])
            return true;
    return false;
}

static void
keep_rows(Exec *root, SubRun *r, RowFlat *ret)
{
    u32 n = r->bound->test_count;
    Worker *w = &root->workers[0];
    RowStore *store = ARENA_NEW(root->arena, RowStore);
    RowColumn *types = ARENA_ARRAY(root->arena, RowColumn, n);
    VecBuf *bufs = ARENA_ARRAY(root->arena, VecBuf, n);
    for (u32 c = 0; c < n; c++)
        types[c] = (RowColumn){.phys = any_phys(r->plan->columns[c].type, r->plan->columns[c].typmod)};
    store->types = types;
    store->column_count = n;
    Batch b;
    Exec *e = open_run(root, r);
    while (exec_next(e, &b)) {
        for (u32 c = 0; c < n; c++)
            vec_convert(root->arena, &b.columns[c], b.count, r->plan->columns[c].type, r->plan->columns[c].typmod, types[c].phys, 0, &bufs[c]);
        rows_append(w, w->arena, store, &b);
    }
    exec_close(e);
    rows_flatten(root, &store, 1, types, n, ret);
}

static void
make_set(Exec *root, SubRun *r)
{
    SubSet *s = &r->set;
    keep_rows(root, r, &s->flat);
    u64 slots = 16;
    while (slots < s->flat.row_count * 2)
        slots *= 2;
    s->mask = slots - 1;
    s->slots = exec_alloc(&root->workers[0], slots * sizeof *s->slots);
    for (u64 row = 0; row < s->flat.row_count; row++)
        s->partial_count += row_has_null(&s->flat, row);
    s->partial = exec_alloc(&root->workers[0], s->partial_count * sizeof *s->partial);
    u32 partial = 0;
    for (u64 row = 0; row < s->flat.row_count; row++) {
        if (row_has_null(&s->flat, row)) {
            s->partial[partial++] = (u32)row;
            continue;
        }
        u64 at = row_hash(&s->flat, row) & s->mask;
        while (s->slots[at])
            at = (at + 1) & s->mask;
        s->slots[at] = (u32)row + 1;
    }
}

/* Equal in every column in which both have a value (`loose`), or in all. */
static bool
row_matches(const RowFlat *f, u64 row, const Vec *const *args, u32 i, bool loose)
{
    for (u32 c = 0; c < f->column_count; c++) {
        const Vec *v = &f->columns[c];
        bool null = VEC_NULL(args[c], i) || (v->null_mask && v->null_mask[row]);
        if (null && loose)
            continue;
        if (null || !key_elements_equal(v->phys, vec_element(args[c], i), (const u8 *)v->data + row * phys_width(v->phys)))
            return false;
    }
    return true;
}

/* 0 false, 1 true, 2 unknown. */
static u8
find_in_set(const SubSet *s, const Vec *const *args, u32 i)
{
    const RowFlat *f = &s->flat;
    u64 h = key_hash_first();
    bool null = false;
    for (u32 c = 0; c < f->column_count && !null; c++) {
        null = VEC_NULL(args[c], i);
        if (!null)
            h = key_hash_add(h, key_hash_element(args[c]->phys, vec_element(args[c], i)));
    }
    for (u64 at = h & s->mask; !null && s->slots[at]; at = (at + 1) & s->mask)
        if (row_matches(f, s->slots[at] - 1, args, i, false))
            return 1;
    for (u64 row = 0; null && row < f->row_count; row++)
        if (row_matches(f, row, args, i, true))
            return 2;
    for (u32 k = 0; !null && k < s->partial_count; k++)
        if (row_matches(f, s->partial[k], args, i, true))
            return 2;
    return 0;
}

/* ---- with captures ---- */

static Value
run_in(Exec *root, SubRun *r, const Vec *const *args, u32 i)
{
    u32 n = r->bound->test_count;
    Value v = {.type = TYPE_BOOL, .typmod = -1};
    VecBuf *bufs = ARENA_ARRAY(need_arena(root, &r->memo_arena, "subquery results"), VecBuf, n);
    Batch b;
    Exec *e = open_run(root, r);
    while (!v.b && exec_next(e, &b)) {
        for (u32 c = 0; c < n; c++)
            vec_convert(r->memo_arena, &b.columns[c], b.count, r->plan->columns[c].type, r->plan->columns[c].typmod, args[c]->phys, 0, &bufs[c]);
        RowFlat f = {.row_count = b.count, .column_count = n, .columns = b.columns};
        for (u32 row = 0; row < b.count && !v.b; row++) {
            v.b = row_matches(&f, row, args, i, false);
            v.is_null |= !v.b && row_matches(&f, row, args, i, true);
        }
    }
    exec_close(e);
    v.is_null &= !v.b;
    return v;
}

static void
make_key(const Vec *const *args, u32 count, u32 i, u8 *key, u64 *ret_hash)
{
    u64 h = key_hash_first();
    memset(key, 0, (size_t)count * ELEMENT_BYTES);
    for (u32 k = 0; k < count; k++) {
        u8 *at = key + (size_t)k * ELEMENT_BYTES;
        at[NULL_BYTE] = VEC_NULL(args[k], i);
        if (!at[NULL_BYTE])
            memcpy(at, vec_element(args[k], i), phys_width(args[k]->phys));
        h = key_hash_add(h, at[NULL_BYTE] ? 0 : key_hash_element(args[k]->phys, at));
    }
    *ret_hash = h;
}

static bool
same_key(const Vec *const *args, u32 count, const u8 *a, const u8 *b)
{
    for (u32 k = 0; k < count; k++, a += ELEMENT_BYTES, b += ELEMENT_BYTES)
        if (a[NULL_BYTE] != b[NULL_BYTE] || (!a[NULL_BYTE] && !key_elements_equal(args[k]->phys, a, b)))
            return false;
    return true;
}

/* Room for one more result; the old ones are forgotten when there are too many. */
static MemoEntry *
new_entry(Exec *root, SubRun *r, const Vec *const *args, u32 count, const u8 *key, u64 hash)
{
    Arena *a = need_arena(root, &r->memo_arena, "subquery results");
    if (!r->memo || r->memo_count == MEMO_MAX) {
        arena_reset(a);
        r->memo = arena_zalloc(a, MEMO_BUCKETS * sizeof *r->memo);
        r->memo_count = 0;
    }
    MemoEntry *m = arena_alloc(a, sizeof *m + (size_t)count * ELEMENT_BYTES);
    *m = (MemoEntry){.hash = hash};
    memcpy(m->key, key, (size_t)count * ELEMENT_BYTES);
    for (u32 k = 0; k < count; k++) {
        u8 *at = m->key + (size_t)k * ELEMENT_BYTES;
        if (args[k]->phys == PHYS_STR && !at[NULL_BYTE]) {
            Str copy = arena_str(a, *(const Str *)(const void *)at);
            memcpy(at, &copy, sizeof copy);
        }
    }
    return m;
}

/* The captured values of row i: args are one a capture. */
static void
set_captures(Exec *root, const BSub *b, const Vec *const *args, u32 i)
{
    for (u32 k = 0; k < b->capture_count; k++) {
        const Vec *v = args[k];
        Value *to = &root->ctx->env.extra[b->captures[k]];
        *to = (Value){.type = b->capture_types[k], .typmod = b->capture_typmods[k], .is_null = true};
        if (!VEC_NULL(v, i))
            *to = value_from_phys(b->capture_types[k], b->capture_typmods[k], v->phys, v->scale, vec_element(v, i));
    }
}

Exec *
subquery_open_rows(Exec *root, u32 sub, const Vec *const *args, u32 i)
{
    SubRun *r = &root->subs[sub];
    set_captures(root, r->bound, args, i);
    return open_run(root, r);
}

static Value
run_captured(Exec *root, SubRun *r, const Vec *const *args, u32 i)
{
    const BSub *b = r->bound;
    set_captures(root, b, args + b->test_count, i);
    switch (b->kind) {
    case BSUB_SCALAR: return run_scalar(root, r, need_arena(root, &r->memo_arena, "subquery results"));
    case BSUB_EXISTS: return run_exists(root, r);
    case BSUB_ARRAY: return run_array(root, r, need_arena(root, &r->memo_arena, "subquery results"));
    case BSUB_IN: case BSUB_ROWS: break;
    }
    return run_in(root, r, args, i);
}

static Value
captured_value(Exec *root, SubRun *r, const Vec *const *args, u32 i, u8 *key)
{
    u32 count = r->bound->test_count + r->bound->capture_count;
    u64 hash;
    make_key(args, count, i, key, &hash);
    for (MemoEntry *m = r->memo ? r->memo[hash % MEMO_BUCKETS] : NULL; m; m = m->next)
        if (m->hash == hash && same_key(args, count, m->key, key))
            return m->result;
    MemoEntry *m = new_entry(root, r, args, count, key, hash);
    m->result = run_captured(root, r, args, i);
    m->next = r->memo[hash % MEMO_BUCKETS];
    r->memo[hash % MEMO_BUCKETS] = m;
    r->memo_count++;
    return m->result;
}

static void
put_value(Vec *ret, u32 i, const Value *v, Arena *scratch)
{
    u8 *at = (u8 *)ret->data + (size_t)i * phys_width(ret->phys);
    ret->null_mask[i] = v->is_null;
    memset(at, 0, phys_width(ret->phys));
    if (ret->phys == PHYS_STR)
        *(Str *)(void *)at = v->is_null ? (Str){"", 0} : arena_str(scratch, v->str);
    else if (!v->is_null)
        value_to_phys(v, ret->phys, ret->scale, at);
}

/* ---- the doors ---- */

static bool
evaluate(void *ctx, u32 index, const Vec *const *args, u32 count, Arena *scratch, Vec *ret, Error *err)
{
    Exec *root = ctx;
    SubRun *r = &root->subs[index];
    (void)err;
    if (!r->bound->capture_count) {
        for (u32 i = 0; i < count; i++) {
            u8 truth = find_in_set(&r->set, args, i);
            ((u8 *)ret->data)[i] = truth == 1;
            ret->null_mask[i] = truth == 2;
        }
        return true;
    }
    u8 *key = arena_alloc(scratch, (size_t)(r->bound->test_count + r->bound->capture_count) * ELEMENT_BYTES);
    for (u32 i = 0; i < count; i++) {
        Value v = captured_value(root, r, args, i, key);
        put_value(ret, i, &v, scratch);
    }
    return true;
}

void
subqueries_open(Exec *e)
{
    u32 n = e->plan->sub_count;
    if (!n)
        return;
    ExprEnv *env = &e->ctx->env;
    e->subs = ARENA_ARRAY(e->arena, SubRun, n);
    env->extra_count = e->plan->stmt->extra_count;
    env->extra = ARENA_ARRAY(e->arena, Value, env->extra_count);
    env->subquery = evaluate;
    env->sub_ctx = e;
    for (u32 i = 0; i < n; i++)
        e->subs[i] = (SubRun){.bound = e->plan->stmt->subs[i], .plan = e->plan->subs[i]};
    arena_hook(e->arena, free_runs, e);
    for (u32 i = 0; i < n; i++) {
        SubRun *r = &e->subs[i];
        if (r->bound->capture_count)
            continue;
        Value *result = r->bound->kind == BSUB_IN ? NULL : &env->extra[r->bound->result];
        switch (r->bound->kind) {
        case BSUB_SCALAR: *result = run_scalar(e, r, e->arena); break;
        case BSUB_EXISTS: *result = run_exists(e, r); break;
        case BSUB_ARRAY: *result = run_array(e, r, e->arena); break;
        case BSUB_IN: make_set(e, r); break;
        case BSUB_ROWS: break; /* captures something */
        }
    }
}
