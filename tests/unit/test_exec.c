/* test_exec.c: operators against plain loops, on tables made by hand in private memory, with one thread and with several. */
#include "backend/exec/pred.h"
#include "backend/exec/run.h"
#include "backend/plan/planner.h"
#include "common/store/shape.h"
#include "common/type/numeric.h"

#include <check.h>
#include <stdlib.h>

enum { ROWS = 150000, TEXTS = 7, SMALL_ROWS = 3000 };

/* ---- a table of the columns: id int4, k int4 NULL, big int8, txt text NULL, amount numeric(12,2), f float8 ---- */
enum { C_ID, C_K, C_BIG, C_TXT, C_AMOUNT, C_F, COLUMNS };

typedef struct Data {
    u32 rows;
    i32 *id, *k;
    u8 *k_null, *txt_null;
    i64 *big, *amount;
    u32 *txt;
    double *f;
    u8 *deleted;
} Data;

static const char *const WORDS[TEXTS] = {"new", "paid", "shipped", "", "returned", "lost", "zebra"};
static ColumnDef columns_def[COLUMNS] = {
    {.name = {"id", 2}, .type = TYPE_INT4, .phys = PHYS_I32, .typmod = -1, .not_null = 1},
    {.name = {"k", 1}, .type = TYPE_INT4, .phys = PHYS_I32, .typmod = -1},
    {.name = {"big", 3}, .type = TYPE_INT8, .phys = PHYS_I64, .typmod = -1, .not_null = 1},
    {.name = {"txt", 3}, .type = TYPE_TEXT, .phys = PHYS_STR, .typmod = -1},
    {.name = {"amount", 6}, .type = TYPE_NUMERIC, .phys = PHYS_D64, .scale = 2, .typmod = (12 << 16 | 2) + 4, .not_null = 1},
    {.name = {"f", 1}, .type = TYPE_FLOAT8, .phys = PHYS_F64, .typmod = -1, .not_null = 1},
};
static Data big_data, small_data;
static Root root;
static TreeNode tree;
static Snapshot snapshot;
static Arena *arena;
static DictShm dict;
static DictEntryShm dict_entries[DICT_FIRST];
static ExecContext ctx;
static TypeFormat format = {.extra_float_digits = 1};

static void
make_dict(void)
{
    for (u32 i = 0; i < TEXTS; i++) {
        u32 len = (u32)strlen(WORDS[i]);
        static char texts[TEXTS][16];
        memcpy(texts[i], &len, 4);
        memcpy(texts[i] + 4, WORDS[i], len);
        dict_entries[i].text = texts[i] + 4;
    }
    IndexSegmentShm *s = calloc(1, segment_bytes(0));
    IndexDirShm *d = calloc(1, index_dir_bytes(0));
    d->segments[0] = s;
    dict = (DictShm){.id = 1, .pub_count = TEXTS, .index = {.pub_dir = d}};
    dict.pub_small[0] = dict_entries;
}

static void
make_data(Data *d, u32 rows, u32 k_range, unsigned seed)
{
    srand(seed);
    *d = (Data){.rows = rows, .id = malloc(rows * 4), .k = malloc(rows * 4), .k_null = malloc(rows), .txt_null = malloc(rows),
                .big = malloc(rows * 8), .amount = malloc(rows * 8), .txt = malloc(rows * 4), .f = malloc(rows * 8), .deleted = calloc(rows, 1)};
    for (u32 i = 0; i < rows; i++) {
        d->id[i] = (i32)i + 1;
        d->k[i] = (i32)((u32)rand() % k_range) - 5;
        d->k_null[i] = rand() % 11 == 0;
        d->big[i] = (i64)rand() * 1000003 * (rand() % 2 ? 1 : -1);
        d->txt[i] = (u32)rand() % TEXTS;
        d->txt_null[i] = rand() % 13 == 0;
        d->amount[i] = rand() % 100000 - 500;
        d->f[i] = rand() % 50 == 0 ? -0.0 : (double)(rand() % 1000) / 8;
        d->deleted[i] = rand() % 17 == 0;
    }
}

static const void *
null_bits(const u8 *bytes, u32 first, u32 count)
{
    u64 *bits = calloc(BLOCK_WORDS, 8);
    for (u32 i = 0; bytes && i < count; i++)
        bits[i / 64] |= (u64)bytes[first + i] << (i % 64);
    return bits;
}

static void
set_ends(SliceShm *s, const void *data, const u8 *nulls, u32 first, u32 count)
{
    i64 lo = INT64_MAX, hi = INT64_MIN;
    for (u32 i = first; i < first + count; i++) {
        i64 v = s->width == 4 ? ((const i32 *)data)[i] : ((const i64 *)data)[i];
        if (nulls && nulls[i])
            continue;
        lo = MIN(lo, v);
        hi = MAX(hi, v);
    }
    memcpy(s->min, &lo, 8);
    memcpy(s->max, &hi, 8);
    if (s->width == 4) {
        i32 l = (i32)lo, h = (i32)hi;
        memcpy(s->min, &l, 4);
        memcpy(s->max, &h, 4);
    }
    s->flags = SLICE_MINMAX;
}

static SlotDirShm *
make_block(const Data *d, u32 block, bool sealed)
{
    u32 first = block * BLOCK_ROWS, count = MIN((u32)BLOCK_ROWS, d->rows - first);
    const void *data[COLUMNS] = {d->id, d->k, d->big, d->txt, d->amount, d->f};
    const u8 *nulls[COLUMNS] = {[C_K] = d->k_null, [C_TXT] = d->txt_null};
    BlockShm *b = calloc(1, block_bytes(COLUMNS));
    *b = (BlockShm){.row_count = sealed ? count : 0, .capacity = BLOCK_ROWS, .sealed = sealed, .column_count = COLUMNS};
    for (u32 c = 0; c < COLUMNS; c++) {
        SliceShm *s = &b->slices[c];
        u32 width = phys_stored((PhysType)columns_def[c].phys);
        *s = (SliceShm){.data = (const u8 *)data[c] + (size_t)first * width, .phys = columns_def[c].phys, .scale = columns_def[c].scale,
                        .width = (u8)width, .dict = c == C_TXT ? &dict : NULL};
        if (nulls[c])
            s->nulls = sealed ? null_bits(nulls[c], first, count) : nulls[c] + first;
        if (sealed && c != C_TXT && c != C_F)
            set_ends(s, data[c], nulls[c], first, count);
    }
    SlotDirShm *slot = calloc(1, sizeof *slot);
    slot->block_id = block;
    slot->pub_unlink_epoch = NOT_LINKED;
    slot->pub_block = b;
    slot->pub_bits = (u64 *)(uintptr_t)null_bits(d->deleted, first, count);
    slot->pub_newest_delete = 1;
    slot->pub_list = calloc(1, list_bytes(1));
    return slot;
}

static void
make_table(u32 index, const Data *d, const char *name)
{
    TableDef *def = calloc(1, sizeof *def);
    *def = (TableDef){.table_id = FIRST_TABLE_ID + index, .schema_version = 1, .column_count = COLUMNS, .name = str_of(name), .columns = columns_def};
    u32 blocks = (d->rows + BLOCK_ROWS - 1) / BLOCK_ROWS;
    DirShm *dir = calloc(1, sizeof *dir);
    dir->pub_chunks = calloc(1, sizeof *dir->pub_chunks);
    dir->pub_chunks[0] = calloc(DIR_FIRST, sizeof **dir->pub_chunks);
    for (u32 i = 0; i < blocks; i++)
        dir->pub_chunks[0][i] = make_block(d, i, i + 1 < blocks);
    DictShm **dicts = calloc(COLUMNS, sizeof *dicts);
    dicts[C_TXT] = &dict;
    TableShm *t = calloc(1, sizeof *t);
    *t = (TableShm){.def = def, .epoch = 1, .place_count = blocks, .open_block = blocks - 1, .row_count = d->rows,
                    .open_rows = d->rows - (blocks - 1) * BLOCK_ROWS, .dir = dir, .dicts = dicts};
    tree.child[index] = (u64)(uintptr_t)t;
}

static void
setup(void)
{
    make_dict();
    make_data(&big_data, ROWS, 1000, 1);
    make_data(&small_data, SMALL_ROWS, 40, 2);
    make_table(0, &big_data, "big");
    make_table(1, &small_data, "small");
    root = (Root){.version = 10, .epoch = 1, .catalog_version = 1, .tables = &tree, .table_levels = 1};
    snapshot = (Snapshot){&root, 10, 1};
}

/* ---- statements by hand ---- */
static BRel rels[2];
static BQuery query;
static BTarget targets[16];
static BAgg aggs[8];
static BOrder orders[4];
static BExpr *group_by[4];

static void
begin(void)
{
    arena = arena_new("test", 0, arena_full_throw);
    ctx = (ExecContext){.arena = arena, .env = {.format = &format}};
    query = (BQuery){.rels = rels, .targets = targets, .aggs = aggs, .order_by = orders, .group_by = group_by};
}

static BExpr *
new_expr(BExprKind kind, TypeId type)
{
    BExpr *e = ARENA_NEW(arena, BExpr);
    *e = (BExpr){.kind = kind, .type = type, .typmod = -1};
    return e;
}

static u16
add_rel(u32 table)
{
    BColumn *c = ARENA_ARRAY(arena, BColumn, COLUMNS);
    for (u32 i = 0; i < COLUMNS; i++)
        c[i] = (BColumn){.name = columns_def[i].name, .type = (TypeId)columns_def[i].type, .typmod = columns_def[i].typmod,
                         .not_null = columns_def[i].not_null, .used = true};
    rels[query.rel_count] = (BRel){.kind = BREL_TABLE, .alias = str_of(table ? "small" : "big"), .table_id = FIRST_TABLE_ID + table,
                                   .schema_version = 1, .column_count = COLUMNS, .columns = c};
    BFrom *f = ARENA_NEW(arena, BFrom);
    *f = (BFrom){.kind = BFROM_REL, .rel = (u16)query.rel_count};
    if (!query.from)
        query.from = f;
    else
        query.from = memcpy(ARENA_NEW(arena, BFrom), &(BFrom){.kind = BFROM_JOIN, .left = query.from, .right = f}, sizeof(BFrom));
    return (u16)query.rel_count++;
}

static BExpr *
col(u16 rel, u16 column)
{
    BExpr *e = new_expr(BX_COLUMN, (TypeId)columns_def[column].type);
    e->typmod = columns_def[column].typmod;
    e->rel = rel;
    e->column = column;
    return e;
}

static BExpr *
int_const(TypeId type, i64 v)
{
    BExpr *e = new_expr(BX_CONST, type);
    e->value = (Value){.type = type, .typmod = -1};
    if (type == TYPE_INT4)
        e->value.i32v = (i32)v;
    else if (type == TYPE_NUMERIC)
        e->value.num = num_make(v, 2);
    else
        e->value.i64v = v;
    return e;
}

static BExpr *
text_const(const char *s)
{
    BExpr *e = new_expr(BX_CONST, TYPE_TEXT);
    e->value = (Value){.type = TYPE_TEXT, .typmod = -1, .str = str_of(s)};
    return e;
}

static BExpr *
op(const char *name, BExpr *a, BExpr *b)
{
    u32 n;
    const FuncDef *f = func_candidates(str_of(name), true, &n);
    for (u32 i = 0; i < n; i++)
        if (f[i].arg_count == 2 && f[i].args[0] == a->type && f[i].args[1] == b->type) {
            BExpr *e = new_expr(BX_FUNC, f[i].ret);
            e->func = f[i].id;
            e->arg_count = 2;
            e->args = ARENA_ARRAY(arena, BExpr *, 2);
            e->args[0] = a;
            e->args[1] = b;
            return e;
        }
    ck_abort_msg("no operator %s", name);
}

static BExpr *
and_of(BExpr *a, BExpr *b)
{
    BExpr *e = new_expr(BX_AND, TYPE_BOOL);
    e->arg_count = 2;
    e->args = ARENA_ARRAY(arena, BExpr *, 2);
    e->args[0] = a;
    e->args[1] = b;
    return e;
}

static void
target(BExpr *e)
{
    targets[query.target_count++] = (BTarget){.expr = e, .name = STR_LIT("c")};
}

static void
target_agg(const char *name, BExpr *arg, bool distinct)
{
    u32 n;
    const AggDef *d = agg_candidates(str_of(name), &n);
    for (u32 i = 0; i < n; i++)
        if (arg ? d[i].arg_count == 1 && d[i].args[0] == arg->type : d[i].arg_count == 0) {
            aggs[query.agg_count] = (BAgg){.agg = d[i].id, .arg = arg, .distinct = distinct, .type = d[i].ret, .typmod = -1};
            BExpr *e = new_expr(BX_AGG, d[i].ret);
            e->index = query.agg_count++;
            query.grouped = true;
            target(e);
            return;
        }
    ck_abort_msg("no aggregate %s", name);
}

static void
group(BExpr *e)
{
    BExpr *g = new_expr(BX_GROUP, e->type);
    g->typmod = e->typmod;
    g->index = query.group_count;
    group_by[query.group_count++] = e;
    query.grouped = true;
    target(g);
}

/* ---- running ---- */
typedef struct Result {
    u32 count, columns;
    Value *values; /* [row][column] */
} Result;

static Result
run(void)
{
    static Catch c;
    current_catch = &c;
    if (setjmp(c.jump))
        ck_abort_msg("%s", c.error.message);
    BStmt *stmt = ARENA_NEW(arena, BStmt);
    *stmt = (BStmt){.kind = BST_SELECT, .query = &query};
    Plan *plan = plan_make(arena, stmt, &root);
    Exec *e = exec_open(&ctx, plan);
    e->snapshot = &snapshot;
    Result r = {.columns = plan->column_count};
    u32 room = 0;
    Batch b;
    while (exec_next(e, &b)) {
        ck_assert_uint_le(b.count, VEC_SIZE);
        if (r.count + b.count > room) {
            room = (r.count + b.count) * 2;
            r.values = realloc(r.values, sizeof(Value) * room * r.columns);
        }
        for (u32 i = 0; i < b.count; i++)
            for (u32 k = 0; k < r.columns; k++) {
                const Vec *v = &b.columns[k];
                Value *x = &r.values[(r.count + i) * r.columns + k];
                *x = (Value){.type = plan->columns[k].type, .is_null = true};
                if (!VEC_NULL(v, i))
                    *x = value_from_phys(plan->columns[k].type, -1, v->phys, v->scale, (u8 *)v->data + (size_t)i * phys_width(v->phys));
            }
        r.count += b.count;
    }
    exec_close(e);
    return r;
}

static void
end(Result r)
{
    free(r.values);
    arena_free(arena);
}

static i64
num_cents(const Value *v)
{
    ck_assert(!v->is_null);
    i128 x = num_int(&v->num);
    for (u32 s = v->num.scale; s < 2; s++)
        x *= 10;
    return (i64)x;
}

#define AT(r, row, column) (&(r).values[(row) * (r).columns + (column)])
#define DB (&big_data)
#define DS (&small_data)

/* ---- scans ---- */
START_TEST(scan_filters_and_skips)
{
    for (int lo = -10; lo < ROWS; lo += 9000) {
        begin();
        u16 t = add_rel(0);
        query.where = and_of(op(">=", col(t, C_ID), int_const(TYPE_INT4, lo)), op("<", col(t, C_AMOUNT), int_const(TYPE_NUMERIC, 30001)));
        query.where = and_of(query.where, op("<>", col(t, C_TXT), text_const("paid")));
        query.where = and_of(query.where, op("<>", op("+", col(t, C_K), int_const(TYPE_INT4, 1)), int_const(TYPE_INT4, 9)));
        target(col(t, C_ID));
        target(col(t, C_TXT));
        Result r = run();
        u32 n = 0;
        for (u32 i = 0; i < DB->rows; i++) {
            if (DB->deleted[i] || DB->id[i] < lo || DB->amount[i] >= 30001 || DB->txt_null[i] || DB->txt[i] == 1 || DB->k_null[i] || DB->k[i] == 8)
                continue;
            ck_assert_uint_lt(n, r.count);
            ck_assert_int_eq(AT(r, n, 0)->i32v, DB->id[i]);
            ck_assert(str_eq(AT(r, n, 1)->str, str_of(WORDS[DB->txt[i]])));
            n++;
        }
        ck_assert_uint_eq(n, r.count);
        end(r);
    }
}
END_TEST

START_TEST(limit_and_offset_keep_scan_order)
{
    begin();
    u16 t = add_rel(0);
    target(col(t, C_ID));
    query.limit = int_const(TYPE_INT8, 5000);
    query.offset = int_const(TYPE_INT8, 3000);
    Result r = run();
    ck_assert_uint_eq(r.count, 5000);
    u32 live = 0;
    for (u32 i = 0; i < DB->rows; i++) {
        if (DB->deleted[i])
            continue;
        if (live >= 3000 && live < 8000)
            ck_assert_int_eq(AT(r, live - 3000, 0)->i32v, DB->id[i]);
        live++;
    }
    end(r);
}
END_TEST

/* ---- aggregation ---- */
typedef struct Sums { u64 n, k_count, distinct_k; i64 amount; double fmax; i32 kmin; } Sums;

static void
check_groups(Result r, const Sums *want, u32 groups, i32 (*key)(const Value *))
{
    u32 found = 0;
    for (u32 g = 0; g < groups; g++)
        found += want[g].n > 0;
    ck_assert_uint_eq(r.count, found);
    for (u32 i = 0; i < r.count; i++) {
        const Sums *s = &want[key(AT(r, i, 0))];
        ck_assert_int_eq(AT(r, i, 1)->i64v, (i64)s->n);
        ck_assert_int_eq(num_cents(AT(r, i, 2)), s->amount);
        ck_assert_int_eq(AT(r, i, 3)->i64v, (i64)s->k_count);
        if (r.columns > 4) {
            ck_assert_int_eq(AT(r, i, 4)->is_null, s->k_count == 0);
            if (s->k_count)
                ck_assert_int_eq(AT(r, i, 4)->i32v, s->kmin);
        }
        if (r.columns > 5)
            ck_assert_int_eq(AT(r, i, 5)->i64v, (i64)s->distinct_k);
    }
}

static void
add_row(Sums *s, const Data *d, u32 i, u8 *seen)
{
    if (!d->k_null[i]) {
        s->kmin = s->k_count ? MIN(s->kmin, d->k[i]) : d->k[i];
        s->k_count++;
        if (seen && !seen[d->k[i] + 5]) {
            seen[d->k[i] + 5] = 1;
            s->distinct_k++;
        }
    }
    s->n++;
    s->amount += d->amount[i];
}

static i32
text_key(const Value *v)
{
    if (v->is_null)
        return TEXTS;
    for (i32 i = 0; i < TEXTS; i++)
        if (str_eq(v->str, str_of(WORDS[i])))
            return i;
    ck_abort_msg("a text that nobody wrote");
}

static i32
int_key(const Value *v)
{
    return v->is_null ? 2000 : v->i32v + 5;
}

static void
group_query(BExpr *key, u16 t, bool distinct)
{
    group(key);
    target_agg("count", NULL, false);
    target_agg("sum", col(t, C_AMOUNT), false);
    target_agg("count", col(t, C_K), false);
    target_agg("min", col(t, C_K), false);
    if (distinct)
        target_agg("count", col(t, C_K), true);
}

START_TEST(group_by_text_and_integer)
{
    for (int way = 0; way < 6; way++) { /* direct on codes, direct on integers, hash on an expression; each with and without DISTINCT */
        begin();
        u16 t = add_rel(0);
        static Sums want[2001];
        static u8 seen[2001][1001];
        memset(want, 0, sizeof want);
        memset(seen, 0, sizeof seen);
        BExpr *key = way % 3 == 0 ? col(t, C_TXT) : way % 3 == 1 ? col(t, C_K) : op("+", col(t, C_K), int_const(TYPE_INT4, 3));
        group_query(key, t, way >= 3);
        Result r = run();
        for (u32 i = 0; i < DB->rows; i++) {
            if (DB->deleted[i])
                continue;
            u32 g = way % 3 == 0 ? (DB->txt_null[i] ? TEXTS : DB->txt[i]) : DB->k_null[i] ? 2000 : (u32)(DB->k[i] + 5) + (way % 3 == 2 ? 3 : 0);
            add_row(&want[g], DB, i, seen[g]);
        }
        check_groups(r, want, 2001, way % 3 == 0 ? text_key : int_key);
        end(r);
    }
}
END_TEST

START_TEST(many_groups_and_floats)
{
    begin();
    u16 t = add_rel(0);
    group(col(t, C_BIG));
    target_agg("count", NULL, false);
    Result r = run();
    u64 total = 0, live = 0;
    for (u32 i = 0; i < r.count; i++)
        total += (u64)AT(r, i, 1)->i64v;
    for (u32 i = 0; i < DB->rows; i++)
        live += !DB->deleted[i];
    ck_assert_uint_eq(total, live);
    end(r);
    begin();
    t = add_rel(0);
    group(col(t, C_F));
    target_agg("count", NULL, false);
    r = run();
    ck_assert_uint_eq(r.count, 1000); /* 0 and -0 are one */
    end(r);
}
END_TEST

START_TEST(no_group_and_no_row)
{
    begin();
    u16 t = add_rel(0);
    query.where = op("<", col(t, C_ID), int_const(TYPE_INT4, 0));
    target_agg("count", NULL, false);
    target_agg("sum", col(t, C_AMOUNT), false);
    target_agg("count", col(t, C_TXT), true);
    Result r = run();
    ck_assert_uint_eq(r.count, 1);
    ck_assert_int_eq(AT(r, 0, 0)->i64v, 0);
    ck_assert(AT(r, 0, 1)->is_null);
    ck_assert_int_eq(AT(r, 0, 2)->i64v, 0);
    end(r);
    begin();
    t = add_rel(0);
    target_agg("count", col(t, C_TXT), true);
    target_agg("max", col(t, C_TXT), false);
    r = run();
    ck_assert_int_eq(AT(r, 0, 0)->i64v, TEXTS);
    ck_assert(str_eq(AT(r, 0, 1)->str, STR_LIT("zebra")));
    end(r);
}
END_TEST

START_TEST(distinct_rows)
{
    begin();
    u16 t = add_rel(0);
    target(col(t, C_TXT));
    query.distinct = true;
    Result r = run();
    ck_assert_uint_eq(r.count, TEXTS + 1);
    end(r);
}
END_TEST

/* ---- joins ---- */
START_TEST(joins_against_loops)
{
    for (int way = 0; way < 6; way++) { /* inner, left; on k; on k with a residual; on big + k (two keys, hash) */
        begin();
        u16 s = add_rel(1), b = add_rel(0);
        bool left = way % 2, residual = way / 2 == 1, two = way / 2 == 2;
        query.from->join = left ? BJOIN_LEFT : BJOIN_INNER;
        BExpr *on = op("=", col(s, C_K), col(b, C_K));
        if (residual)
            on = and_of(on, op("<", col(b, C_AMOUNT), col(s, C_AMOUNT)));
        if (two)
            on = and_of(on, op("=", col(s, C_TXT), col(b, C_TXT)));
        query.from->on = on;
        query.where = op("<", col(s, C_ID), int_const(TYPE_INT4, 200));
        target_agg("count", NULL, false);
        target_agg("count", col(b, C_ID), false);
        target_agg("sum", col(b, C_AMOUNT), false);
        target_agg("sum", col(s, C_AMOUNT), false);
        Result r = run();
        u64 n = 0, matched = 0;
        i64 sum_b = 0, sum_s = 0;
        for (u32 i = 0; i < DS->rows; i++) {
            if (DS->deleted[i] || DS->id[i] >= 200)
                continue;
            u64 mine = 0;
            for (u32 j = 0; j < DB->rows; j++) {
                if (DB->deleted[j] || DS->k_null[i] || DB->k_null[j] || DS->k[i] != DB->k[j])
                    continue;
                if ((residual && DB->amount[j] >= DS->amount[i]) || (two && (DS->txt_null[i] || DB->txt_null[j] || DS->txt[i] != DB->txt[j])))
                    continue;
                mine++;
                sum_b += DB->amount[j];
                sum_s += DS->amount[i];
            }
            matched += mine;
            n += mine;
            if (!mine && left) {
                n++;
                sum_s += DS->amount[i];
            }
        }
        ck_assert_int_eq(AT(r, 0, 0)->i64v, (i64)n);
        ck_assert_int_eq(AT(r, 0, 1)->i64v, (i64)matched);
        ck_assert_int_eq(num_cents(AT(r, 0, 2)), sum_b);
        ck_assert_int_eq(num_cents(AT(r, 0, 3)), sum_s);
        end(r);
    }
}
END_TEST

START_TEST(join_group_by_text)
{
    begin();
    u16 b = add_rel(0), s = add_rel(1);
    query.from->join = BJOIN_INNER;
    query.from->on = op("=", col(s, C_ID), col(b, C_K));
    group_query(col(s, C_TXT), b, false);
    Result r = run();
    static Sums want[TEXTS + 1];
    memset(want, 0, sizeof want);
    for (u32 j = 0; j < DB->rows; j++) {
        if (DB->deleted[j] || DB->k_null[j] || DB->k[j] < 1 || DS->deleted[DB->k[j] - 1])
            continue;
        u32 i = (u32)DB->k[j] - 1;
        add_row(&want[DS->txt_null[i] ? TEXTS : DS->txt[i]], DB, j, NULL);
    }
    check_groups(r, want, TEXTS + 1, text_key);
    end(r);
}
END_TEST

START_TEST(loop_join)
{
    begin();
    u16 a = add_rel(1), b = add_rel(1);
    query.from->join = BJOIN_INNER;
    query.from->on = op("<", col(a, C_AMOUNT), col(b, C_AMOUNT));
    target_agg("count", NULL, false);
    Result r = run();
    u64 n = 0;
    for (u32 i = 0; i < DS->rows; i++)
        for (u32 j = 0; j < DS->rows; j++)
            n += !DS->deleted[i] && !DS->deleted[j] && DS->amount[i] < DS->amount[j];
    ck_assert_int_eq(AT(r, 0, 0)->i64v, (i64)n);
    end(r);
}
END_TEST

/* ---- order ---- */
static int
compare_big(const void *x, const void *y)
{
    i64 a = *(const i64 *)x, b = *(const i64 *)y;
    return (a > b) - (a < b);
}

START_TEST(sort_and_top)
{
    static i64 sorted[ROWS];
    u32 n = 0;
    for (u32 i = 0; i < DB->rows; i++)
        if (!DB->deleted[i])
            sorted[n++] = DB->big[i];
    qsort(sorted, n, sizeof *sorted, compare_big);
    for (int way = 0; way < 4; way++) { /* all or 20 of them, up or down */
        begin();
        u16 t = add_rel(0);
        target(col(t, C_BIG));
        target(col(t, C_ID));
        target(col(t, C_TXT));
        orders[0] = (BOrder){0, way & 1, way & 1};
        query.order_count = 1;
        if (way & 2) {
            query.limit = int_const(TYPE_INT8, 20);
            query.offset = int_const(TYPE_INT8, 7);
        }
        Result r = run();
        ck_assert_uint_eq(r.count, way & 2 ? 20 : n);
        for (u32 i = 0; i < r.count; i++) {
            u32 at = i + (way & 2 ? 7 : 0);
            ck_assert_int_eq(AT(r, i, 0)->i64v, way & 1 ? sorted[n - 1 - at] : sorted[at]);
            ck_assert_int_eq(DB->big[AT(r, i, 1)->i32v - 1], AT(r, i, 0)->i64v);
            ck_assert_int_eq(text_key(AT(r, i, 2)), DB->txt_null[AT(r, i, 1)->i32v - 1] ? TEXTS : (i32)DB->txt[AT(r, i, 1)->i32v - 1]);
        }
        end(r);
    }
}
END_TEST

START_TEST(top_skips_blocks_and_orders_nulls)
{
    for (int way = 0; way < 2; way++) {
        begin();
        u16 t = add_rel(0);
        target(col(t, C_ID));
        target(col(t, C_AMOUNT));
        orders[0] = (BOrder){0, way == 0, way == 0};
        query.order_count = 1;
        query.limit = int_const(TYPE_INT8, 3);
        Result r = run();
        u32 at = 0;
        for (u32 i = 0; at < 3; i++) {
            u32 row = way == 0 ? DB->rows - 1 - i : i;
            if (!DB->deleted[row])
                ck_assert_int_eq(AT(r, at++, 0)->i32v, DB->id[row]);
        }
        end(r);
    }
    begin();
    u16 t = add_rel(0);
    target(col(t, C_TXT));
    target(col(t, C_K));
    orders[0] = (BOrder){0, false, true};
    orders[1] = (BOrder){1, true, false};
    query.order_count = 2;
    Result r = run();
    for (u32 i = 1; i < r.count; i++) {
        const Value *a = AT(r, i - 1, 0), *b = AT(r, i, 0), *x = AT(r, i - 1, 1), *y = AT(r, i, 1);
        ck_assert(a->is_null || !b->is_null);
        int c = a->is_null || b->is_null ? (a->is_null && b->is_null ? 0 : -1) : str_cmp(a->str, b->str);
        ck_assert_int_le(c, 0);
        if (c == 0)
            ck_assert(y->is_null || (!x->is_null && x->i32v >= y->i32v));
    }
    end(r);
}
END_TEST

/* ---- plans ---- */
/* ---- ranges and zone maps ---- */

static bool
compare_holds(PlanOp op, int c)
{
    switch (op) {
    case OP_EQ: return c == 0;
    case OP_NE: return c != 0;
    case OP_LT: return c < 0;
    case OP_LE: return c <= 0;
    case OP_GT: return c > 0;
    default: return c >= 0;
    }
}

static void
store_int(PhysType phys, i64 v, void *at)
{
    u32 width = phys_width(phys);
    memcpy(at, &v, width); /* little-endian */
}

static void
check_ranges(PhysType phys, u32 scale, const i64 *values, u32 count)
{
    u32 width = phys_width(phys);
    u8 data[64 * 8], mask[64];
    ck_assert_uint_le(count, 64);
    for (u32 i = 0; i < count; i++)
        store_int(phys, values[i], data + (size_t)i * width);
    for (u32 k = 0; k < count * 3; k++) {
        /* the values themselves, and between them */
        i128 at = (i128)values[k / 3] * 10 + (i128)(k % 3) * 5 - 5;
        Value v = {.type = TYPE_NUMERIC, .typmod = -1, .num = num_make(at, scale + 1)};
        for (PlanOp op = OP_EQ; op <= OP_GE; op++) {
            RangeTest t = range_test(phys, scale, op, &v);
            Vec vec = {.phys = phys, .scale = (u8)scale, .data = data};
            range_mask(&t, &vec, count, true, mask);
            bool holds[64];
            for (u32 i = 0; i < count; i++) {
                i128 x = (i128)values[i] * 10;
                holds[i] = compare_holds(op, x < at ? -1 : x > at);
                ck_assert_msg(mask[i] == holds[i], "phys %d op %d value %lld constant %u", phys, op, (long long)values[i], k);
            }
            for (u32 i = 0; i < count; i++)
                for (u32 j = i; j < count; j++)
                    if (holds[i] || holds[j])
                        ck_assert_msg(range_may_pass(&t, data + (size_t)i * width, data + (size_t)j * width),
                                      "phys %d op %d block %u to %u skipped, constant %u", phys, op, i, j, k);
        }
    }
}

START_TEST(ranges_against_comparisons)
{
    static const i64 BITS[] = {0, 1};
    static const i64 SHORTS[] = {INT16_MIN, INT16_MIN + 1, -300, -1, 0, 1, 2, 255, 256, INT16_MAX - 1, INT16_MAX};
    static const i64 INTS[] = {INT32_MIN, INT32_MIN + 1, -65537, -1, 0, 1, 65535, 65536, 131071, INT32_MAX - 1, INT32_MAX};
    static const i64 BIG[] = {INT64_MIN, INT64_MIN + 1, INT32_MIN, -1, 0, 1, INT32_MAX, (i64)1 << 40, INT64_MAX - 1, INT64_MAX};
    static const i64 DECIMALS[] = {-999999999999999999, -100, -1, 0, 1, 99, 100, 12345, 999999999999999999};
    check_ranges(PHYS_BOOL, 0, BITS, COUNT_OF(BITS));
    check_ranges(PHYS_I16, 0, SHORTS, COUNT_OF(SHORTS));
    check_ranges(PHYS_I32, 0, INTS, COUNT_OF(INTS));
    check_ranges(PHYS_I64, 0, BIG, COUNT_OF(BIG));
    check_ranges(PHYS_D64, 2, DECIMALS, COUNT_OF(DECIMALS));
}
END_TEST

START_TEST(plan_shapes)
{
    static Catch c;
    current_catch = &c;
    begin();
    u16 b = add_rel(0), s = add_rel(1);
    query.from->join = BJOIN_INNER;
    query.from->on = op("=", col(s, C_ID), col(b, C_K));
    query.where = op(">", col(b, C_BIG), int_const(TYPE_INT8, 5));
    target(col(s, C_TXT));
    BStmt stmt = {.kind = BST_SELECT, .query = &query};
    Plan *p = plan_make(arena, &stmt, &root);
    ck_assert_int_eq(p->root->kind, PN_HASH_JOIN);
    ck_assert_uint_eq(p->root->slot_count, 1);
    ck_assert_int_eq(p->root->left->kind, PN_SCAN);
    ck_assert_uint_eq(p->root->left->scan.table_id, FIRST_TABLE_ID); /* the larger side probes */
    ck_assert_uint_eq(p->root->left->scan.pred_count, 1);
    ck_assert_uint_eq(p->root->left->slot_count, 1);                 /* k; big is only for the condition */
    ByteBuf text = {0};
    plan_explain(p, arena, &text, false, NULL);
    buf_u8(&text, 0);
    ck_assert_ptr_nonnull(strstr((char *)text.data, "Seq Scan on big"));
    ck_assert_ptr_nonnull(strstr((char *)text.data, "Filter: (big.big > 5)"));
    buf_free(&text);
    arena_free(arena);
}
END_TEST

int
main(int argc, char **argv)
{
    (void)argv;
    setup();
    exec_init(NULL, 0, argc > 1 ? 1 : 4);
    Suite *s = suite_create("exec");
    TCase *t = tcase_create("exec");
    tcase_set_timeout(t, 120);
    tcase_add_test(t, scan_filters_and_skips);
    tcase_add_test(t, limit_and_offset_keep_scan_order);
    tcase_add_test(t, group_by_text_and_integer);
    tcase_add_test(t, many_groups_and_floats);
    tcase_add_test(t, no_group_and_no_row);
    tcase_add_test(t, distinct_rows);
    tcase_add_test(t, joins_against_loops);
    tcase_add_test(t, join_group_by_text);
    tcase_add_test(t, loop_join);
    tcase_add_test(t, sort_and_top);
    tcase_add_test(t, top_skips_blocks_and_orders_nulls);
    tcase_add_test(t, ranges_against_comparisons);
    tcase_add_test(t, plan_shapes);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed ? 1 : 0;
}
