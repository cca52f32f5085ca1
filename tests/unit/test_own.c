/*
 * test_own.c
 *    A transaction's own changes as its statements see them: random inserts, updates, deletes, TRUNCATE and taking back over a world that others go on
 *    changing, every reading function against a model; created and dropped tables; 40001 and private catalog versions.
 *
 * The staging block is made in private memory, since only its shape matters; chain blocks are the world's. Taking back reuses the rows of the staging block and
 * leaves gaps in chain blocks.
 */
#include "store_fixture.h"

#include "common/base/hash.h"
#include "common/store/index.h"
#include "common/store/own.h"

enum { SLOT = 3, ROWS_MAX = 20000, BLOCKS_MAX = 64, STEP_ROWS = 300 };

static u64 random_state;

static u64
random_below(u64 n)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state % n;
}

/* ---- the model ---- */

typedef struct ModelRow {
    u64 number;
    u32 salt;
    RowId id;
    u32 made, gone; /* by the transaction's ordinals; 0: a row of the table; not deleted */
    bool theirs;    /* deleted by others */
    bool left;      /* ... as the snapshot knows */
} ModelRow;

typedef struct Run {
    Fixture f;
    Own *own;
    Snapshot base, now;
    bool repeatable, small; /* small: parts of a few rows */
    ModelRow *rows;
    u32 row_count;
    u64 next_number;
    u32 ordinal, savepoint, truncated; /* truncated: the ordinal of a TRUNCATE, 0 none */
    SlotDirShm *staged;
    u32 staged_fill;
    u64 chain[BLOCKS_MAX];
    u32 chain_count, chain_fill;
    TableShm empty[64]; /* what TRUNCATE leaves */
    u32 empty_count;
    FixPart *part;
} Run;

static bool
is_visible(const ModelRow *r)
{
    return !r->gone && !r->left;
}

static ModelRow *
add_row(Run *r, u64 number, u32 salt, RowId id, u32 made)
{
    ck_assert_uint_lt(r->row_count, ROWS_MAX);
    r->rows[r->row_count] = (ModelRow){.number = number, .salt = salt, .id = id, .made = made};
    return &r->rows[r->row_count++];
}

/* ---- the world's side ---- */

static const TableShm *world_t(const Run *r) { return store_table(r->base.root, r->f.table_id); }

static BlockShm *
private_block(const TableShm *t)
{
    BlockShm *b = calloc(1, block_bytes(FIX_COLUMNS));
    ck_assert_ptr_nonnull(b);
    b->capacity = BLOCK_ROWS;
    b->column_count = FIX_COLUMNS;
    for (u32 c = 0; c < FIX_COLUMNS; c++) {
        u32 width = phys_stored((PhysType)FIX_COLUMN_DEFS[c].phys);
        b->slices[c] = (SliceShm){.data = calloc(BLOCK_ROWS, width), .nulls = FIX_COLUMN_DEFS[c].not_null ? NULL : calloc(BLOCK_ROWS, 1),
                                  .dict = c == FIX_TEXT ? table_dict(t, c) : NULL, .phys = FIX_COLUMN_DEFS[c].phys,
                                  .scale = FIX_COLUMN_DEFS[c].scale, .width = (u8)width, .factor = 1};
    }
    return b;
}

static void
free_block(const BlockShm *b)
{
    for (u32 c = 0; c < FIX_COLUMNS; c++) {
        free((void *)(uintptr_t)b->slices[c].data);
        free((void *)(uintptr_t)b->slices[c].nulls);
    }
    free((void *)(uintptr_t)b);
}

#define STORE(c, v) memcpy((u8 *)(uintptr_t)b->slices[c].data + (u64)at * b->slices[c].width, &(v), b->slices[c].width)

static void
write_private(const Run *r, u32 at, u64 number, u32 salt)
{
    const BlockShm *b = r->staged->pub_block;
    FixRow x;
    fix_row(number, salt, &x);
    u32 code = x.null_text ? 0 : dict_find(b->slices[FIX_TEXT].dict, str_of(x.text));
    ck_assert_uint_ne(code, DICT_NONE);
    STORE(0, x.id);
    STORE(1, x.big);
    STORE(2, code);
    STORE(3, x.flag);
    STORE(4, x.small);
    STORE(5, x.real);
    STORE(6, x.dec);
    STORE(7, x.wide);
    STORE(8, x.num);
    ((u8 *)(uintptr_t)b->slices[1].nulls)[at] = x.null_big;
    ((u8 *)(uintptr_t)b->slices[2].nulls)[at] = x.null_text;
}

/* A salt for which the row's text is in the dictionary already. */
static u32
known_salt(const Run *r, u64 number)
{
    for (;;) {
        FixRow x;
        u32 salt = (u32)random_below(100000);
        fix_row(number, salt, &x);
        if (x.null_text || dict_find(table_dict(world_t(r), FIX_TEXT), str_of(x.text)) != DICT_NONE)
            return salt;
    }
}

static void
new_chain_block(Run *r)
{
    Error err;
    ck_assert_uint_lt(r->chain_count, BLOCKS_MAX);
    ck_assert(world_take_block(r->f.w, r->f.table_id, &r->chain[r->chain_count++], &err));
    r->chain_fill = 0;
}

/* Others commit: rows come and go; the transaction's own are nobody else's. */
static void
others(Run *r)
{
    u64 numbers[64];
    u32 salts[64], n = 1 + (u32)random_below(64);
    if (r->truncated) /* it has the table for itself */
        return;
    for (u32 i = 0; i < n; i++) {
        numbers[i] = r->next_number++;
        salts[i] = (u32)random_below(1000);
    }
    fix_insert(r->part, r->f.table_id, numbers, salts, n);
    fix_commit(&r->f, &r->part->view);
    for (u32 i = 0; i < n && !r->repeatable; i++)
        add_row(r, numbers[i], salts[i], part_row_id(&r->part->view, i), 0);
    n = 0;
    for (u32 i = 0; i < r->row_count && n < 20; i++)
        if (!r->rows[i].made && !r->rows[i].theirs && is_visible(&r->rows[i]) && random_below(50) == 0) {
            r->part->old_rows[n++] = r->rows[i].id;
            r->rows[i].theirs = true;
            r->rows[i].left = !r->repeatable;
        }
    PartView gone = {.kind = PART_DELETE, .table_id = r->f.table_id, .row_count = n, .old_rows = r->part->old_rows};
    if (n)
        fix_commit(&r->f, &gone);
}

/* ---- the transaction's side ---- */

/* Rows into the staging block or the chain, as the walwriter would; returns where. */
static void
place_rows(Run *r, bool chain, const u64 *numbers, const u32 *salts, u32 n, u64 row[2])
{
    Error err;
    row[1] = 0;
    if (!chain) {
        row[0] = ROW_ID(STAGED_BLOCK | SLOT, r->staged_fill);
        for (u32 i = 0; i < n; i++)
            write_private(r, r->staged_fill++, numbers[i], salts[i]);
        return;
    }
    if (!r->chain_count || random_below(20) == 0)
        new_chain_block(r);
    fix_insert(r->part, r->f.table_id, numbers, salts, n);
    PartView *p = &r->part->view;
    p->first_count = MIN(n, BLOCK_ROWS - r->chain_fill);
    p->first_row = row[0] = ROW_ID(r->chain[r->chain_count - 1], r->chain_fill);
    r->chain_fill += n;
    ck_assert(world_reserve_part(r->f.w, p, &err));
    world_apply_rows(r->f.w, p);
}

/* One part: `gone` rows go, `n` come. */
static void
own_part(Run *r, bool chain, ModelRow **gone, u32 gone_count, u32 n, bool same_numbers)
{
    u64 numbers[STEP_ROWS], row[2] = {0, 0}, old[STEP_ROWS];
    u32 salts[STEP_ROWS], ordinal = ++r->ordinal;
    for (u32 i = 0; i < gone_count; i++)
        old[i] = gone[i]->id;
    for (u32 i = 0; i < n; i++) {
        numbers[i] = same_numbers ? gone[i]->number : r->next_number++;
        salts[i] = known_salt(r, numbers[i]);
    }
    ck_assert(own_part_begin(r->own, ordinal, r->f.table_id, n, old, gone_count));
    if (random_below(10) == 0) { /* refused, asked again */
        ordinal = ++r->ordinal;
        ck_assert(own_part_begin(r->own, ordinal, r->f.table_id, n, old, gone_count));
    }
    if (n)
        place_rows(r, chain, numbers, salts, n, row);
    own_accept(r->own, row, r->staged);
    for (u32 i = 0; i < gone_count; i++)
        gone[i]->gone = ordinal;
    for (u32 i = 0; i < n; i++)
        add_row(r, numbers[i], salts[i], row[0] + i, ordinal);
}

static u32
choose(Run *r, u32 want, ModelRow **ret)
{
    u32 n = 0;
    bool run = random_below(2) == 0;
    u32 start = (u32)random_below(r->row_count + 1);
    for (u32 i = start; i < r->row_count && n < want; i++)
        if (is_visible(&r->rows[i]) && (run || random_below(10) == 0))
            ret[n++] = &r->rows[i];
    return n;
}

static void
undo(Run *r, u32 kept)
{
    own_undo(r->own, kept);
    u32 n = 0;
    if (r->truncated > kept)
        r->truncated = 0;
    for (u32 i = 0; i < r->row_count; i++) {
        ModelRow *m = &r->rows[i];
        if (m->made > kept) {
            if (ROW_BLOCK(m->id) >= STAGED_BLOCK)
                r->staged_fill = MIN(r->staged_fill, ROW_OFFSET(m->id));
            continue;
        }
        if (m->gone > kept)
            m->gone = 0;
        r->rows[n++] = *m;
    }
    r->row_count = n;
}

static void
begin_statement(Run *r)
{
    Error err;
    if (!r->repeatable)
        r->base = snapshot_pin(&r->f.shm, shm_box(&r->f.shm, 0));
    ck_assert_msg(own_root(r->own, &r->base, r->savepoint != 0, &r->now, &err), "%s", err.message);
}

/* ---- checks ---- */

static void
check_value(const BlockView *b, u32 column, u32 offset, bool null, const Value *want)
{
    SliceView s;
    HOLDS(slice_view(b, column, &s));
    Value v = slice_value(&s, &FIX_COLUMN_DEFS[column], offset);
    HOLDS(v.is_null == null);
    HOLDS(null || value_cmp(&v, want) == 0);
}

static void
check_row(const BlockView *b, const ModelRow *m)
{
    FixRow x;
    u32 offset = ROW_OFFSET(m->id);
    fix_row(m->number, m->salt, &x);
    check_value(b, 0, offset, false, &(Value){.type = TYPE_INT4, .i32v = x.id});
    check_value(b, 1, offset, x.null_big, &(Value){.type = TYPE_INT8, .i64v = x.big});
    check_value(b, 2, offset, x.null_text, &(Value){.type = TYPE_TEXT, .str = str_of(x.text)});
    check_value(b, 7, offset, false, &(Value){.type = TYPE_NUMERIC, .num = num_make(x.wide, 3)});
}

static u64
check_blocks(const Run *r, const TableShm *t, u64 *ret_rows)
{
    u64 live = 0, bits[BLOCK_WORDS];
    *ret_rows = 0;
    for (u32 p = 0; p < table_block_count(t); p++) {
        BlockView b, located;
        u32 deleted = 0;
        if (!block_view(t, p, &b))
            continue;
        HOLDS(block_locate(t, ROW_ID(b.block_id, b.row_count - 1), &located) && located.slot == b.slot && located.row_count == b.row_count);
        HOLDS(b.row_count == BLOCK_ROWS || !block_locate(t, ROW_ID(b.block_id, b.row_count), &located));
        bool any = block_deleted(&b, r->now.version, bits, &deleted);
        for (u32 i = 0; i < b.row_count; i++)
            HOLDS((any && bits[i >> 6] >> (i & 63) & 1) == row_deleted(&b, i, r->now.version));
        *ret_rows += b.row_count;
        live += b.row_count - (any ? deleted : 0);
    }
    return live;
}

static void
check(const Run *r)
{
    const TableShm *t = store_table(r->now.root, r->f.table_id);
    u64 visible = 0, rows;
    BlockView above;
    HOLDS(!block_locate(t, ROW_ID(STAGED_BLOCK | SLOT, r->staged_fill), &above));
    for (u32 i = 0; i < r->row_count; i++) {
        const ModelRow *m = &r->rows[i];
        BlockView b;
        RowId found = 0;
        bool there = block_locate(t, m->id, &b) && !row_deleted(&b, ROW_OFFSET(m->id), r->now.version);
        HOLDS(there == is_visible(m));
        bool by_key = key_find(&r->now, t, 0, &(Value){.type = TYPE_INT4, .i32v = (i32)m->number}, &found);
        if (!there) {
            HOLDS(!by_key || found != m->id);
            continue;
        }
        HOLDS(by_key && found == m->id);
        HOLDS(own_made_row(r->own, r->f.table_id, m->id) == (m->made != 0));
        visible++;
        check_row(&b, m);
    }
    for (u32 i = 0; i < 20; i++) {
        RowId found;
        HOLDS(!key_find(&r->now, t, 0, &(Value){.type = TYPE_INT4, .i32v = (i32)(r->next_number + i)}, &found));
    }
    ck_assert_uint_eq(check_blocks(r, t, &rows), visible);
    ck_assert_uint_eq(table_row_count(t), rows);
    if (!r->repeatable)
        ck_assert_uint_eq(table_live_estimate(t), visible);
    fix_verify(&r->now);
}

/* The digest is that of a table with just these rows. */
static void
check_digest(Run *r)
{
    u64 ours[FIX_COLUMNS], theirs[FIX_COLUMNS], numbers[STEP_ROWS], sum = store_digest(&r->now, store_table(r->now.root, r->f.table_id), ours);
    u32 salts[STEP_ROWS], n = 0, first = r->f.table_id;
    char name[32];
    snprintf(name, sizeof name, "copy %u", r->ordinal);
    fix_create_table(&r->f, name);
    for (u32 i = 0; i <= r->row_count; i++) {
        if (i < r->row_count && is_visible(&r->rows[i])) {
            numbers[n] = r->rows[i].number;
            salts[n++] = r->rows[i].salt;
        }
        if (n == STEP_ROWS || (n && i == r->row_count)) {
            fix_insert(r->part, r->f.table_id, numbers, salts, n);
            fix_commit(&r->f, &r->part->view);
            n = 0;
        }
    }
    Snapshot s = snapshot_pin(&r->f.shm, shm_box(&r->f.shm, 1));
    ck_assert_uint_eq(store_digest(&s, store_table(s.root, r->f.table_id), theirs), sum);
    ck_assert_mem_eq(ours, theirs, sizeof ours);
    snapshot_unpin(shm_box(&r->f.shm, 1));
    r->f.table_id = first;
}

/* ---- runs ---- */

static void
open_run(Run *r, u64 seed, bool repeatable, bool small)
{
    u64 numbers[FIX_BATCH];
    u32 salts[FIX_BATCH];
    *r = (Run){.repeatable = repeatable, .small = small, .next_number = 1};
    random_state = seed;
    fix_open(&r->f, (u64)256 << 20);
    r->own = own_new();
    r->rows = calloc(ROWS_MAX, sizeof *r->rows);
    r->part = calloc(1, sizeof *r->part);
    r->staged = calloc(1, sizeof *r->staged);
    ck_assert(r->own && r->rows && r->part && r->staged);
    for (u32 i = 0; i < 3000; i++) {
        numbers[i] = r->next_number++;
        salts[i] = (u32)random_below(1000);
    }
    fix_insert(r->part, r->f.table_id, numbers, salts, 3000);
    fix_commit(&r->f, &r->part->view);
    for (u32 i = 0; i < 3000; i++)
        add_row(r, numbers[i], salts[i], part_row_id(&r->part->view, i), 0);
    r->base = snapshot_pin(&r->f.shm, shm_box(&r->f.shm, 0));
    r->staged->pub_block = private_block(world_t(r));
    r->staged->pub_link_epoch = NOT_LINKED;
}

static void
close_run(Run *r)
{
    for (u32 i = 0; i < r->chain_count; i++)
        world_drop_block(r->f.w, r->f.table_id, r->chain[i]);
    snapshot_unpin(shm_box(&r->f.shm, 0));
    free_block(r->staged->pub_block);
    free(r->staged);
    free(r->part);
    free(r->rows);
    own_free(r->own);
    while (world_reclaim(r->f.w))
        ;
    fix_close(&r->f);
}

static void
step(Run *r)
{
    ModelRow *gone[STEP_ROWS];
    u32 n, some = 1 + (u32)random_below(random_below(5) == 0 && !r->small ? STEP_ROWS : 5);
    bool chain = random_below(3) == 0;
    switch (random_below(10)) {
    case 0: case 1: case 2:
        own_part(r, chain, NULL, 0, some, false);
        break;
    case 3: case 4:
        n = choose(r, some, gone);
        own_part(r, chain, gone, n, n, random_below(2));
        break;
    case 5: case 6:
        n = choose(r, some, gone);
        own_part(r, false, gone, n, 0, false);
        break;
    case 7:
        others(r);
        break;
    case 8:
        if (random_below(3) || !r->savepoint)
            r->savepoint = r->ordinal;
        else
            undo(r, r->savepoint);
        break;
    default:
        if (random_below(4) == 0)
            r->savepoint = 0;
        else if (random_below(20) == 0) {
            TableShm *empty = &r->empty[r->empty_count++ % COUNT_OF(r->empty)];
            *empty = *world_t(r);
            empty->place_count = empty->row_count = empty->deleted_count = 0;
            empty->open_block = NO_BLOCK;
            empty->open_rows = 0;
            ck_assert(own_truncate(r->own, ++r->ordinal, r->f.table_id, empty));
            r->truncated = r->truncated ? r->truncated : r->ordinal;
            for (u32 i = 0; i < r->row_count; i++)
                if (is_visible(&r->rows[i]))
                    r->rows[i].gone = r->ordinal;
        }
    }
}

/* Statements of one or two parts; a part of the running one may be taken back (RETRY). */
static void
random_run(u64 seed, bool repeatable, bool small)
{
    static Run r;
    open_run(&r, seed, repeatable, small);
    for (u32 i = 0; i < 120; i++) {
        u32 start = r.ordinal;
        begin_statement(&r);
        check(&r);
        step(&r);
        if (random_below(10) == 0 && start >= r.savepoint)
            undo(&r, start);
        ck_assert_uint_lt(r.staged_fill, BLOCK_ROWS - STEP_ROWS);
    }
    begin_statement(&r);
    check(&r);
    check_digest(&r);
    own_forget(r.own);
    for (u32 i = 0; i < r.row_count; i++)
        r.rows[i].gone = r.rows[i].made ? UINT32_MAX : 0;
    begin_statement(&r);
    ck_assert_ptr_eq(r.now.root, r.base.root);
    check(&r);
    close_run(&r);
}

START_TEST(against_a_model)
{
    random_run(0x9e3779b97f4a7c15ull * (u64)(_i + 1), _i % 2, _i % 4 > 1);
}
END_TEST

/* From a few deletes, which are kept one by one, to many, which are kept by block, and back. */
START_TEST(deletes_are_taken_back)
{
    static Run r;
    ModelRow *gone[STEP_ROWS];
    open_run(&r, 77, false, true);
    for (u32 i = 0; i < 40; i++) {
        r.savepoint = r.ordinal ? r.ordinal : 0;
        for (u32 k = 0; k < 3; k++) {
            u32 n = choose(&r, 3, gone);
            own_part(&r, false, gone, n, 0, false);
            begin_statement(&r);
            check(&r);
        }
        undo(&r, r.savepoint);
        begin_statement(&r);
        check(&r);
        own_part(&r, false, gone, choose(&r, 2, gone), 0, false);
        begin_statement(&r);
    }
    check(&r);
    close_run(&r);
}
END_TEST

static const TableDef *
named(const Run *r, const char *name)
{
    return catalog_find_table(r->now.root, str_of(name));
}

static bool
count_table(void *count, const TableDef *t)
{
    (void)t;
    ++*(u32 *)count;
    return true;
}

static u32
tables_seen(const Run *r)
{
    u32 count = 0;
    catalog_each_table(r->now.root, count_table, &count);
    ck_assert_uint_eq(count, r->now.root->table_count);
    return count;
}

/* A table that only the transaction has: not in the trees of the world. Its TableShm is any whose directory is empty. */
static void
hidden_table(TableShm *t, TableDef *def, DirShm *dir, u32 id, const char *name)
{
    *def = (TableDef){.table_id = id, .schema_version = 1, .owner_id = ROLE_ROOT, .column_count = 1, .name = str_of(name), .columns = FIX_COLUMN_DEFS};
    *dir = (DirShm){.next_block = 1};
    *t = (TableShm){.def = def, .epoch = 1, .open_block = NO_BLOCK, .dir = dir};
}

/* Names and ids in the private root; versions of the catalog that nobody else has. */
START_TEST(tables_come_and_go)
{
    static Run r;
    enum { MANY = 200 };
    static TableShm hidden[MANY];
    static TableDef defs[MANY];
    static DirShm dirs[MANY];
    char name[MANY][16];
    open_run(&r, 5, false, true);
    begin_statement(&r);
    u64 published = r.now.root->catalog_version;
    u32 id = r.f.table_id;
    for (u32 i = 0; i < MANY; i++) {
        snprintf(name[i], sizeof name[i], "made %u", i);
        hidden_table(&hidden[i], &defs[i], &dirs[i], id + 10 + i, name[i]);
        ck_assert(own_create_table(r.own, ++r.ordinal, &hidden[i]));
    }
    ck_assert_ptr_null(named(&r, "made 7"));
    r.savepoint = r.ordinal;
    begin_statement(&r);
    u64 first = r.now.root->catalog_version;
    ck_assert_uint_ne(first, published);
    ck_assert_uint_eq(tables_seen(&r), MANY + 1);
    for (u32 i = 0; i < MANY; i++)
        ck_assert_ptr_eq(named(&r, name[i]), &defs[i]);
    fix_verify(&r.now);

    /* dropped: one of its own and the world's; its name is given to another */
    ck_assert(own_drop_table(r.own, ++r.ordinal, id + 17));
    ck_assert(own_drop_table(r.own, ++r.ordinal, id));
    TableShm again;
    TableDef again_def;
    DirShm again_dir;
    hidden_table(&again, &again_def, &again_dir, id + 500, "t");
    ck_assert(own_create_table(r.own, ++r.ordinal, &again));
    begin_statement(&r);
    ck_assert_uint_eq(tables_seen(&r), MANY);
    ck_assert_ptr_null(named(&r, "made 7"));
    ck_assert_ptr_null(store_table(r.now.root, id));
    ck_assert_ptr_eq(named(&r, "t"), &again_def);
    u64 second = r.now.root->catalog_version;
    ck_assert_uint_ne(first, second);

    /* others change the catalog: another version, the same view */
    fix_create_table(&r.f, "theirs");
    begin_statement(&r);
    ck_assert_uint_ne(r.now.root->catalog_version, second);
    ck_assert_uint_eq(tables_seen(&r), MANY + 1);
    ck_assert_ptr_eq(named(&r, "t"), &again_def);

    own_undo(r.own, r.savepoint);
    begin_statement(&r);
    ck_assert_uint_eq(tables_seen(&r), MANY + 2);
    ck_assert_ptr_eq(named(&r, "made 7"), &defs[7]);
    ck_assert_uint_eq(named(&r, "t")->table_id, id);
    ck_assert_uint_ne(r.now.root->catalog_version, first);

    own_undo(r.own, 0);
    begin_statement(&r);
    ck_assert_ptr_eq(r.now.root, r.base.root);
    r.f.table_id = id;
    close_run(&r);
}
END_TEST

/* A directory from before somebody else's TRUNCATE has no block that the walwriter gave later. */
START_TEST(rows_in_an_emptied_table_are_refused)
{
    static Run r;
    Error err;
    open_run(&r, 6, true, true);
    u64 block = 0, old = 1000;
    ck_assert(own_part_begin(r.own, ++r.ordinal, r.f.table_id, 1, &old, 0));
    world_truncate_table(r.f.w, r.f.table_id);
    world_publish(r.f.w, ++r.f.version);
    for (u32 i = 0; i < 16; i++)
        ck_assert(world_take_block(r.f.w, r.f.table_id, &block, &err));
    own_accept(r.own, (u64[2]){ROW_ID(block, 0), 0}, NULL);
    ck_assert(!own_root(r.own, &r.base, false, &r.now, &err));
    ck_assert_int_eq(err.code, ERR_SERIALIZATION_FAILURE);
    own_undo(r.own, 0);
    ck_assert(own_root(r.own, &r.base, false, &r.now, &err));
    for (u64 b = block; b > block - 16; b--)
        world_drop_block(r.f.w, r.f.table_id, b);
    close_run(&r);
}
END_TEST

int
main(void)
{
    Suite *s = suite_create("own");
    TCase *t = tcase_create("own");
    tcase_set_timeout(t, 120);
    tcase_add_loop_test(t, against_a_model, 0, 16);
    tcase_add_test(t, deletes_are_taken_back);
    tcase_add_test(t, tables_come_and_go);
    tcase_add_test(t, rows_in_an_emptied_table_are_refused);
    suite_add_tcase(s, t);
    SRunner *runner = srunner_create(s);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
