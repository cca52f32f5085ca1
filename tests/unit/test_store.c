/* test_store.c: random changes against a model with pins held; replay; bulk blocks; keys; dictionaries; takeover; reclaim. */
#include "store_fixture.h"

#include "common/base/hash.h"

static u64 random_state = 88172645463325252ull;

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
    u64 number, inserted, deleted; /* versions; deleted 0 = live */
    RowId id;
    u32 salt;
} ModelRow;

typedef struct Model {
    ModelRow *rows;
    u32 count, capacity;
} Model;

static ModelRow *
model_add(Model *m, u64 number, u32 salt, u64 version, RowId id)
{
    if (m->count == m->capacity) {
        m->capacity = m->capacity ? m->capacity * 2 : 1024;
        m->rows = realloc(m->rows, m->capacity * sizeof *m->rows);
        ck_assert_ptr_nonnull(m->rows);
    }
    m->rows[m->count] = (ModelRow){.number = number, .inserted = version, .id = id, .salt = salt};
    return &m->rows[m->count++];
}

static bool
model_visible(const ModelRow *r, u64 version)
{
    return r->inserted <= version && (!r->deleted || r->deleted > version);
}

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
check_row(const BlockView *b, u32 offset, const ModelRow *m)
{
    FixRow r;
    fix_row(m->number, m->salt, &r);
    check_value(b, 0, offset, false, &(Value){.type = TYPE_INT4, .i32v = r.id});
    check_value(b, 1, offset, r.null_big, &(Value){.type = TYPE_INT8, .i64v = r.big});
    check_value(b, 2, offset, r.null_text, &(Value){.type = TYPE_TEXT, .str = str_of(r.text)});
    check_value(b, 3, offset, false, &(Value){.type = TYPE_BOOL, .b = r.flag});
    check_value(b, 4, offset, false, &(Value){.type = TYPE_INT2, .i16v = r.small});
    check_value(b, 5, offset, false, &(Value){.type = TYPE_FLOAT8, .f64v = r.real});
    check_value(b, 6, offset, false, &(Value){.type = TYPE_NUMERIC, .num = num_make(r.dec, 2)});
    check_value(b, 7, offset, false, &(Value){.type = TYPE_NUMERIC, .num = num_make(r.wide, 3)});
    check_value(b, 8, offset, false, &(Value){.type = TYPE_NUMERIC, .num = r.num});
}

/* The snapshot shows exactly the model's rows of its version; found by key too. */
static void
check_snapshot(const Snapshot *s, u32 table_id, const Model *m)
{
    const TableShm *t = store_table(s->root, table_id);
    u64 visible = 0, live = 0, bits[BLOCK_WORDS];
    for (u32 p = 0; p < table_block_count(t); p++) {
        BlockView b;
        u32 deleted = 0;
        if (!block_view(t, p, &b))
            continue;
        live += b.row_count;
        if (block_deleted(&b, s->version, bits, &deleted))
            live -= deleted;
    }
    for (u32 i = 0; i < m->count; i++) {
        const ModelRow *r = &m->rows[i];
        BlockView b;
        bool there = block_locate(t, r->id, &b) && !row_deleted(&b, ROW_OFFSET(r->id), s->version);
        HOLDS(there == model_visible(r, s->version));
        if (!there)
            continue;
        visible++;
        check_row(&b, ROW_OFFSET(r->id), r);
        RowId found = 0;
        HOLDS(key_find(s, t, 0, &(Value){.type = TYPE_INT4, .i32v = (i32)r->number}, &found));
        HOLDS(found == r->id);
    }
    ck_assert_uint_eq(visible, live);
    fix_verify(s);
}

/* ---- changes of both ---- */

static void
insert_rows(Fixture *f, Model *m, u64 first_number, u32 count)
{
    static FixPart part;
    static u64 numbers[FIX_BATCH];
    static u32 salts[FIX_BATCH];
    for (u32 i = 0; i < count; i++) {
        numbers[i] = first_number + i;
        salts[i] = (u32)random_below(1000);
    }
    fix_insert(&part, f->table_id, numbers, salts, count);
    fix_commit(f, &part.view);
    for (u32 i = 0; i < count; i++)
        model_add(m, numbers[i], salts[i], f->version, part_row_id(&part.view, i));
}

/* Up to `count` live rows, spread. */
static u32
choose_live(const Model *m, u32 count, u32 *chosen)
{
    u32 n = 0;
    if (!m->count)
        return 0;
    u32 step = 1 + (u32)random_below(3), at = (u32)random_below(m->count);
    for (u32 looked = 0; looked < m->count / step && n < count; looked++, at = (at + step) % m->count)
        if (!m->rows[at].deleted)
            chosen[n++] = at;
    return n;
}

static void
delete_rows(Fixture *f, Model *m, u32 count)
{
    static u32 chosen[FIX_BATCH];
    static u64 ids[FIX_BATCH];
    u32 n = choose_live(m, count, chosen);
    if (!n)
        return;
    for (u32 i = 0; i < n; i++)
        ids[i] = m->rows[chosen[i]].id;
    PartView p = {.kind = PART_DELETE, .table_id = f->table_id, .row_count = n, .old_rows = ids};
    fix_commit(f, &p);
    for (u32 i = 0; i < n; i++)
        m->rows[chosen[i]].deleted = f->version;
}

/* All columns but the key get a new salt; every other time only text and big are sent and the rest must be copied: then the salt
 * must not show in them, so the model's row is replaced as a whole or its salt kept. */
static void
update_rows(Fixture *f, Model *m, u32 count)
{
    static u32 chosen[FIX_BATCH], salts[FIX_BATCH];
    static u64 numbers[FIX_BATCH];
    static FixPart part;
    bool whole = random_below(2);
    u32 n = choose_live(m, count, chosen);
    if (!n)
        return;
    for (u32 i = 0; i < n; i++) {
        const ModelRow *r = &m->rows[chosen[i]];
        numbers[i] = r->number;
        salts[i] = whole ? (u32)random_below(1000) : r->salt;
    }
    fix_insert(&part, f->table_id, numbers, salts, n);
    for (u32 i = 0; i < n; i++)
        part.old_rows[i] = m->rows[chosen[i]].id;
    part.view.kind = PART_UPDATE;
    if (whole) {
        part.view.columns = part.columns + 1;
        part.view.column_count = FIX_COLUMNS - 1;
    } else {
        part.view.columns = part.columns + 1;
        part.view.column_count = 2;
    }
    fix_commit(f, &part.view);
    for (u32 i = 0; i < n; i++) {
        m->rows[chosen[i]].deleted = f->version;
        model_add(m, numbers[i], salts[i], f->version, part_row_id(&part.view, i));
    }
}

START_TEST(random_changes_keep_every_pinned_version)
{
    enum { STEPS = 140, PINS = 4 };
    Fixture f;
    Model m = {0};
    Snapshot pins[PINS];
    u64 next_number = 1;
    random_state = 88172645463325252ull + (u64)_i * 7919;
    fix_open(&f, 512 << 20);
    for (u32 i = 0; i < PINS; i++)
        pins[i] = snapshot_pin(&f.shm, shm_box(&f.shm, i));
    for (u32 step = 0; step < STEPS; step++) {
        u32 small = 1 + (u32)random_below(5), big = 1 + (u32)random_below(4000);
        u32 count = random_below(3) ? small : big;
        switch (random_below(5)) {
        case 0: case 1:
            insert_rows(&f, &m, next_number, count);
            next_number += count;
            break;
        case 2: case 3: update_rows(&f, &m, count); break;
        default: delete_rows(&f, &m, count); break;
        }
        if (random_below(4) == 0) {
            u32 i = (u32)random_below(PINS);
            check_snapshot(&pins[i], f.table_id, &m);
            snapshot_unpin(shm_box(&f.shm, i));
            pins[i] = snapshot_pin(&f.shm, shm_box(&f.shm, i));
        }
        if (random_below(3) == 0)
            while (world_reclaim(f.w))
                ;
    }
    for (u32 i = 0; i < PINS; i++)
        check_snapshot(&pins[i], f.table_id, &m);
    Snapshot newest = snapshot_pin(&f.shm, shm_box(&f.shm, 7));
    check_snapshot(&newest, f.table_id, &m);
    free(m.rows);
    fix_close(&f);
}
END_TEST

/* A chain reserves its deletes by parts and applies them sorted, in other runs. */
START_TEST(deletes_may_be_applied_in_other_runs)
{
    Fixture f;
    Model m = {0};
    Error err = {0};
    static u64 ids[FIX_BATCH];
    fix_open(&f, 256 << 20);
    insert_rows(&f, &m, 1, FIX_BATCH);
    Snapshot before = snapshot_pin(&f.shm, shm_box(&f.shm, 0));
    for (u32 i = 0; i < FIX_BATCH; i++)
        ids[i] = m.rows[i].id;
    PartView whole = {.kind = PART_DELETE, .table_id = f.table_id, .row_count = 4000, .old_rows = ids};
    ck_assert(world_reserve_part(f.w, &whole, &err));
    for (u32 i = 0; i < 4000;) {
        PartView piece = {.kind = PART_DELETE, .table_id = f.table_id, .row_count = MIN(4000 - i, i % 3 ? 700u : 300u), .old_rows = ids + i};
        world_apply_deletes(f.w, &piece, f.version + 1);
        i += piece.row_count;
    }
    world_publish(f.w, ++f.version);
    for (u32 i = 0; i < 4000; i++)
        m.rows[i].deleted = f.version;
    Snapshot after = snapshot_pin(&f.shm, shm_box(&f.shm, 1));
    check_snapshot(&before, f.table_id, &m);
    check_snapshot(&after, f.table_id, &m);
    free(m.rows);
    fix_close(&f);
}
END_TEST

START_TEST(blocks_seal_and_stay_readable)
{
    Fixture f;
    Model m = {0};
    fix_open(&f, 512 << 20);
    insert_rows(&f, &m, 1, 100);
    Snapshot early = snapshot_pin(&f.shm, shm_box(&f.shm, 0));
    for (u32 i = 0; i < 20; i++)
        insert_rows(&f, &m, 1000 + i * FIX_BATCH, FIX_BATCH);
    delete_rows(&f, &m, FIX_BATCH); /* bulk */
    check_snapshot(&early, f.table_id, &m);
    Snapshot s = snapshot_pin(&f.shm, shm_box(&f.shm, 1));
    check_snapshot(&s, f.table_id, &m);
    const TableShm *t = store_table(s.root, f.table_id);
    BlockView b;
    SliceView id;
    ck_assert(block_view(t, 1, &b) && b.sealed && b.row_count == BLOCK_ROWS);
    ck_assert(slice_view(&b, 0, &id) && id.has_minmax && !id.has_nulls);
    ck_assert_int_eq(*(const i32 *)id.min, 1);
    ck_assert_int_eq(*(const i32 *)id.max, 1000 + 65536 - 101);
    free(m.rows);
    fix_close(&f);
}
END_TEST


/* ---- replay, chains, holes ---- */

/* A chain of `count` rows in parts, one or more blocks; the parts are kept for replay. */
typedef struct ChainRows {
    FixPart *parts[16];
    u64 blocks[8];
    u32 part_count, block_count;
} ChainRows;

static void
stage_part(Fixture *f, const PartView *p)
{
    Error err = {0};
    ck_assert_msg(world_reserve_part(f->w, p, &err), "%s", err.message);
    world_apply_rows(f->w, p);
}

static void
stage_chain(Fixture *f, ChainRows *c, u64 first_number, u32 parts)
{
    static u64 numbers[FIX_BATCH];
    static u32 salts[FIX_BATCH];
    Error err = {0};
    u32 filled = BLOCK_ROWS;
    *c = (ChainRows){.part_count = parts};
    for (u32 p = 0; p < parts; p++) {
        c->parts[p] = malloc(sizeof(FixPart));
        ck_assert_ptr_nonnull(c->parts[p]);
        for (u32 i = 0; i < FIX_BATCH; i++) {
            numbers[i] = first_number + (u64)p * FIX_BATCH + i;
            salts[i] = (u32)numbers[i] % 7;
        }
        PartView *v = &c->parts[p]->view;
        fix_insert(c->parts[p], f->table_id, numbers, salts, FIX_BATCH - 5);
        if (filled == BLOCK_ROWS) {
            ck_assert(world_take_block(f->w, f->table_id, &c->blocks[c->block_count++], &err));
            filled = 0;
        }
        v->first_count = MIN(v->row_count, BLOCK_ROWS - filled);
        v->first_row = ROW_ID(c->blocks[c->block_count - 1], filled);
        filled += v->first_count;
        if (v->first_count < v->row_count) {
            ck_assert(world_take_block(f->w, f->table_id, &c->blocks[c->block_count++], &err));
            v->second_row = ROW_ID(c->blocks[c->block_count - 1], 0);
            filled = v->row_count - v->first_count;
        }
        stage_part(f, v);
    }
}

static void
link_chain(Fixture *f, const ChainRows *c)
{
    for (u32 b = 0; b < c->block_count; b++)
        world_link_block(f->w, f->table_id, c->blocks[b]);
}

static void
model_add_chain(Model *m, const ChainRows *c, u64 version)
{
    for (u32 p = 0; p < c->part_count; p++)
        for (u32 i = 0; i < c->parts[p]->view.row_count; i++)
            model_add(m, (u64)c->parts[p]->id[i], (u32)c->parts[p]->id[i] % 7, version, part_row_id(&c->parts[p]->view, i));
}

static void
free_chain(ChainRows *c)
{
    for (u32 p = 0; p < c->part_count; p++)
        free(c->parts[p]);
}

START_TEST(a_chain_is_seen_when_linked_and_not_when_dropped)
{
    Fixture f;
    Model m = {0};
    ChainRows kept, dropped;
    fix_open(&f, 512 << 20);
    insert_rows(&f, &m, 5000000, 70);
    stage_chain(&f, &kept, 1, 12);
    stage_chain(&f, &dropped, 1000000, 3);
    insert_rows(&f, &m, 5000100, 50);
    Snapshot before = snapshot_pin(&f.shm, shm_box(&f.shm, 0));
    check_snapshot(&before, f.table_id, &m);
    RowId found = 0;
    ck_assert(world_key_find(f.w, f.table_id, 0, &dropped.parts[0]->view, 3, &found)); /* staged keys are found while judging */
    ck_assert_int_eq(world_row_state(f.w, f.table_id, found), ROW_STAGED);
    for (u32 b = 0; b < dropped.block_count; b++)
        world_drop_block(f.w, f.table_id, dropped.blocks[b]);
    ck_assert(!world_key_find(f.w, f.table_id, 0, &dropped.parts[0]->view, 3, &found));
    link_chain(&f, &kept);
    link_chain(&f, &kept);
    world_publish(f.w, ++f.version);
    model_add_chain(&m, &kept, f.version);
    insert_rows(&f, &m, 1000000, 500); /* the dropped keys are free */
    Snapshot after = snapshot_pin(&f.shm, shm_box(&f.shm, 1));
    check_snapshot(&after, f.table_id, &m);
    check_snapshot(&before, f.table_id, &m);
    free_chain(&kept);
    free_chain(&dropped);
    free(m.rows);
    fix_close(&f);
}
END_TEST

START_TEST(applying_twice_changes_nothing)
{
    Fixture f;
    Model m = {0};
    static FixPart part;
    u64 numbers[200], digest[FIX_COLUMNS], again[FIX_COLUMNS];
    u32 salts[200] = {0};
    Error err = {0};
    fix_open(&f, 256 << 20);
    insert_rows(&f, &m, 1, 100);
    for (u32 i = 0; i < 200; i++)
        numbers[i] = 1000 + i;
    fix_insert(&part, f.table_id, numbers, salts, 200);
    fix_commit(&f, &part.view);
    for (u32 i = 0; i < 200; i++)
        model_add(&m, numbers[i], 0, f.version, part_row_id(&part.view, i));
    u64 ids[20];
    for (u32 i = 0; i < 20; i++) {
        ids[i] = m.rows[i * 3].id;
        m.rows[i * 3].deleted = f.version + 1;
    }
    PartView del = {.kind = PART_DELETE, .table_id = f.table_id, .row_count = 20, .old_rows = ids};
    fix_commit(&f, &del);
    Snapshot s = snapshot_pin(&f.shm, shm_box(&f.shm, 0));
    u64 sum = store_digest(&s, store_table(s.root, f.table_id), digest);
    for (u32 round = 0; round < 2; round++) {
        ck_assert(world_reserve_part(f.w, &part.view, &err) && world_reserve_part(f.w, &del, &err));
        world_apply_rows(f.w, &part.view);
        world_apply_deletes(f.w, &del, f.version);
        world_publish(f.w, f.version);
    }
    Snapshot t = snapshot_pin(&f.shm, shm_box(&f.shm, 1));
    ck_assert_uint_eq(store_digest(&t, store_table(t.root, f.table_id), again), sum);
    ck_assert_mem_eq(digest, again, sizeof digest);
    check_snapshot(&t, f.table_id, &m);
    free(m.rows);
    fix_close(&f);
}
END_TEST

START_TEST(ids_given_back_are_taken_again_and_lost_ones_become_holes)
{
    Fixture f;
    Model m = {0};
    Error err = {0};
    RowRange r[2], again[2];
    fix_open(&f, 256 << 20);
    insert_rows(&f, &m, 1, 10);
    ck_assert(world_take_rows(f.w, f.table_id, 5, r, &err));
    world_untake_rows(f.w);
    ck_assert(world_take_rows(f.w, f.table_id, 5, again, &err));
    ck_assert_uint_eq(r[0].first, again[0].first);
    world_untake_last(f.w, f.table_id, 5);
    ck_assert(world_take_rows(f.w, f.table_id, 100, again, &err)); /* never applied */
    ck_assert_uint_eq(r[0].first, again[0].first);
    insert_rows(&f, &m, 100, 10);
    Snapshot s = snapshot_pin(&f.shm, shm_box(&f.shm, 0));
    check_snapshot(&s, f.table_id, &m);
    ck_assert_uint_eq(table_row_count(store_table(s.root, f.table_id)), 120);
    ck_assert_uint_eq(table_live_estimate(store_table(s.root, f.table_id)), 20);
    free(m.rows);
    fix_close(&f);
}
END_TEST

/* ---- takeover ---- */

START_TEST(a_successor_takes_over_a_living_world)
{
    Fixture f;
    Model m = {0};
    Error err = {0};
    ChainRows open_chain;
    static FixPart part;
    u64 numbers[300];
    u32 salts[300] = {0};
    fix_open(&f, 512 << 20);
    for (u32 i = 0; i < 12; i++)
        insert_rows(&f, &m, 1 + i * FIX_BATCH, FIX_BATCH - 1);
    update_rows(&f, &m, 3000);
    delete_rows(&f, &m, 100);
    Snapshot old = snapshot_pin(&f.shm, shm_box(&f.shm, 0));
    update_rows(&f, &m, 50);
    stage_chain(&f, &open_chain, 2000000, 2);
    /* Durable and applied, not published: the successor replays it. */
    for (u32 i = 0; i < 300; i++)
        numbers[i] = 3000000 + i;
    fix_insert(&part, f.table_id, numbers, salts, 300);
    RowRange r[2];
    ck_assert(world_take_rows(f.w, f.table_id, 300, r, &err));
    part.view.first_count = r[0].count;
    part.view.first_row = r[0].first;
    part.view.second_row = r[1].first;
    ck_assert(world_reserve_part(f.w, &part.view, &err));
    world_apply_rows(f.w, &part.view);
    world_close(f.w);
    for (u32 round = 0; round < 2; round++) {
        ck_assert_msg(world_open(&f.shm, true, &f.w, &err), "%s", err.message);
        ck_assert_uint_eq(world_version(f.w), f.version);
        if (round == 0) {
            world_close(f.w);
            continue;
        }
        ck_assert(world_reserve_part(f.w, &part.view, &err));
        world_apply_rows(f.w, &part.view);
        world_publish(f.w, ++f.version);
    }
    for (u32 i = 0; i < 300; i++)
        model_add(&m, numbers[i], 0, f.version, part_row_id(&part.view, i));
    for (u32 i = 0; i < 10; i++) {
        update_rows(&f, &m, 500);
        insert_rows(&f, &m, 2000000 + i * 1000, 1000); /* keys of the lost chain are free */
        while (world_reclaim(f.w))
            ;
        check_snapshot(&old, f.table_id, &m);
    }
    snapshot_unpin(shm_box(&f.shm, 0));
    world_publish(f.w, 0);
    while (world_reclaim(f.w))
        ;
    ck_assert(!world_has_retired(f.w) || world_reclaim(f.w) == false);
    Snapshot s = snapshot_pin(&f.shm, shm_box(&f.shm, 1));
    check_snapshot(&s, f.table_id, &m);
    free_chain(&open_chain);
    free(m.rows);
    fix_close(&f);
}
END_TEST

/* ---- memory ---- */

START_TEST(memory_comes_back)
{
    Fixture f;
    Model m = {0};
    fix_open(&f, 512 << 20);
    world_publish(f.w, 0);
    while (world_reclaim(f.w))
        ;
    u64 before = world_used_bytes(f.w);
    for (u32 round = 0; round < 3; round++) {
        fix_create_table(&f, "big");
        m.count = 0;
        for (u32 i = 0; i < 30; i++)
            insert_rows(&f, &m, 1 + i * FIX_BATCH, FIX_BATCH);
        for (u32 i = 0; i < 5; i++)
            update_rows(&f, &m, 5000);
        ck_assert_uint_gt(world_used_bytes(f.w), before + (16 << 20));
        if (round == 2)
            world_truncate_table(f.w, f.table_id);
        world_publish(f.w, ++f.version);
        Error err;
        ck_assert(world_reserve_catalog(f.w, 0, &err));
        world_drop_table(f.w, f.table_id);
        world_publish(f.w, ++f.version);
        while (world_reclaim(f.w))
            ;
        world_publish(f.w, 0);
        while (world_reclaim(f.w))
            ;
        ck_assert_uint_le(world_used_bytes(f.w), before + 6 * EXTENT_BYTES);
    }
    free(m.rows);
    fix_close(&f);
}
END_TEST

START_TEST(a_full_world_refuses_and_goes_on)
{
    Fixture f;
    Model m = {0};
    static FixPart part;
    static u64 numbers[FIX_BATCH];
    static u32 salts[FIX_BATCH];
    Error err = {0};
    RowRange r[2];
    fix_open(&f, 48 << 20);
    u64 next = 1;
    for (;;) {
        for (u32 i = 0; i < 4000; i++)
            numbers[i] = next + i;
        fix_insert(&part, f.table_id, numbers, salts, 4000);
        if (!world_take_rows(f.w, f.table_id, 4000, r, &err))
            break;
        part.view.first_count = r[0].count;
        part.view.first_row = r[0].first;
        part.view.second_row = r[1].first;
        if (!world_reserve_part(f.w, &part.view, &err)) {
            world_untake_last(f.w, f.table_id, 4000);
            break;
        }
        world_apply_rows(f.w, &part.view);
        world_publish(f.w, ++f.version);
        for (u32 i = 0; i < 4000; i++)
            model_add(&m, numbers[i], 0, f.version, part_row_id(&part.view, i));
        next += 4000;
        while (world_reclaim(f.w))
            ;
    }
    ck_assert_int_eq(err.code, ERR_OUT_OF_MEMORY);
    ck_assert_uint_gt(m.count, 50000);
    Snapshot s = snapshot_pin(&f.shm, shm_box(&f.shm, 0));
    check_snapshot(&s, f.table_id, &m);
    snapshot_unpin(shm_box(&f.shm, 0));
    delete_rows(&f, &m, 8);
    s = snapshot_pin(&f.shm, shm_box(&f.shm, 0));
    check_snapshot(&s, f.table_id, &m);
    free(m.rows);
    fix_close(&f);
}
END_TEST

START_TEST(ten_thousand_small_tables_fit)
{
    enum { TABLES = 10000 };
    Fixture f;
    Error err = {0};
    ColumnDef columns[10];
    KeyDef key = {.name = {"pkey", 4}, .primary = 1, .column_count = 1, .columns = {0}};
    for (u32 c = 0; c < 10; c++)
        columns[c] = (ColumnDef){.name = str_of(c == 0 ? "id" : "some_column_name"), .type = c % 2 ? TYPE_TEXT : TYPE_INT8,
                                 .phys = c % 2 ? PHYS_STR : PHYS_I64, .typmod = -1, .not_null = c == 0};
    fix_open(&f, 512 << 20);
    for (u32 t = 0; t < TABLES; t++) {
        char name[32];
        snprintf(name, sizeof name, "table_number_%u", t);
        TableDef def = {.table_id = world_next_table_id(f.w), .schema_version = 1, .owner_id = ROLE_ROOT, .column_count = 10, .key_count = 1,
                        .name = str_of(name), .columns = columns, .keys = &key};
        HOLDS(world_reserve_catalog(f.w, CATALOG_PROMISE, &err));
        world_create_table(f.w, &def);
        world_unreserve_catalog(f.w, CATALOG_PROMISE);
        world_publish(f.w, ++f.version);
        i64 value = t;
        u8 index = 0;
        u32 length = 11;
        PartColumn pc[10];
        for (u16 c = 0; c < 10; c++)
            pc[c] = c % 2 ? (PartColumn){.column = c, .phys = PHYS_STR, .distinct = 1, .lengths = &length, .texts = "eleven char", .indexes = &index,
                                         .index_width = 1}
                          : (PartColumn){.column = c, .phys = PHYS_I64, .values = &value};
        PartView p = {.kind = PART_INSERT, .table_id = def.table_id, .row_count = 1, .column_count = 10, .columns = pc};
        fix_commit(&f, &p);
        if (t % 64 == 0)
            while (world_reclaim(f.w))
                ;
    }
    while (world_reclaim(f.w))
        ;
    printf("10,000 tables: %llu MB\n", (unsigned long long)(world_used_bytes(f.w) >> 20));
    ck_assert_uint_lt(world_used_bytes(f.w), 300u << 20);
    Snapshot s = snapshot_pin(&f.shm, shm_box(&f.shm, 0));
    fix_verify(&s);
    ck_assert_ptr_nonnull(catalog_find_table(s.root, STR_LIT("table_number_9999")));
    ck_assert_ptr_null(catalog_find_table(s.root, STR_LIT("table_number_10000")));
    for (u32 id = f.table_id + 1; id < f.table_id + 5000; id++) {
        HOLDS(world_reserve_catalog(f.w, 0, &err));
        world_drop_table(f.w, id);
    }
    world_publish(f.w, ++f.version);
    s = snapshot_pin(&f.shm, shm_box(&f.shm, 0));
    fix_verify(&s);
    ck_assert_ptr_null(catalog_find_table(s.root, STR_LIT("table_number_17")));
    fix_close(&f);
}
END_TEST

/* ---- dictionaries and roles ---- */

START_TEST(a_dictionary_finds_many_texts)
{
    enum { ROUNDS = 40 };
    Fixture f;
    static FixPart part;
    static u64 numbers[FIX_BATCH];
    static u32 salts[FIX_BATCH];
    char text[40];
    fix_open(&f, 1 << 30);
    for (u64 r = 0; r < ROUNDS; r++) {
        for (u32 i = 0; i < FIX_BATCH; i++)
            numbers[i] = r * FIX_BATCH + i + 1;
        fix_insert(&part, f.table_id, numbers, salts, FIX_BATCH);
        u32 at = 0;
        for (u32 i = 0; i < FIX_BATCH; i++) {
            part.lengths[i] = (u32)snprintf(text, sizeof text, "unique %llu", (unsigned long long)numbers[i]);
            memcpy(part.texts + at, text, part.lengths[i]);
            at += part.lengths[i];
        }
        fix_commit(&f, &part.view);
    }
    Snapshot s = snapshot_pin(&f.shm, shm_box(&f.shm, 0));
    const DictShm *d = table_dict(store_table(s.root, f.table_id), FIX_TEXT);
    ck_assert_uint_eq(dict_count(d), ROUNDS * FIX_BATCH + 1);
    for (u64 n = 1; n <= ROUNDS * FIX_BATCH; n += 997) {
        Str t = {text, (u32)snprintf(text, sizeof text, "unique %llu", (unsigned long long)n)}, back;
        u32 code = dict_find(d, t);
        HOLDS(code != DICT_NONE);
        dict_decode(d, &code, 1, &back);
        HOLDS(str_eq(back, t));
    }
    ck_assert_uint_eq(dict_find(d, STR_LIT("never")), DICT_NONE);
    fix_verify(&s);
    fix_close(&f);
}
END_TEST

/* Tables that one transaction sees: made, taken back, put in the place of others, shown. */
START_TEST(hidden_tables)
{
    Fixture f;
    Error err = {0};
    fix_open(&f, 64 << 20);
    static FixPart part;
    u64 numbers[3] = {1, 2, 3};
    u32 salts[3] = {0};
    TableDef def = *table_def(world_table(f.w, f.table_id));
    u32 filled = f.table_id, id = def.table_id = world_next_table_id(f.w);
    def.name = str_of("hidden");
    fix_insert(&part, filled, numbers, salts, 3);
    fix_commit(&f, &part.view);
    Snapshot s = snapshot_pin(&f.shm, shm_box(&f.shm, 0));
    u64 digest = store_digest(&s, store_table(s.root, filled), NULL);
    /* made and taken back; made again, emptied, taken back to the first one, emptied, shown */
    ck_assert_ptr_eq(world_hide_created(f.w, &def, 3), world_table(f.w, id));
    ck_assert_uint_eq(world_made_by(f.w, id), 3);
    ck_assert_uint_eq(world_emptied_by(f.w, id), UINT32_MAX);
    world_publish(f.w, ++f.version);
    s = snapshot_pin(&f.shm, shm_box(&f.shm, 0));
    ck_assert_ptr_null(catalog_find_table(s.root, str_of("hidden")));
    ck_assert_ptr_null(catalog_table(s.root, id));
    ck_assert_msg(world_verify(f.w, &err), "%s", err.message);
    world_forget_hidden(f.w, id);
    ck_assert_ptr_null(world_table(f.w, id));
    const TableShm *first = world_hide_created(f.w, &def, 3);
    ck_assert_ptr_ne(world_hide_emptied(f.w, id, NULL, 3), first);
    world_forget_hidden(f.w, id);
    ck_assert_ptr_eq(world_table(f.w, id), first);
    (void)world_hide_emptied(f.w, id, NULL, 3);
    ck_assert_msg(world_verify(f.w, &err), "%s", err.message);
    world_show_table(f.w, id);
    world_give_name(f.w, id);
    ck_assert_uint_eq(world_made_by(f.w, id), UINT32_MAX);
    /* a table with rows: emptied twice and taken back, nothing happened */
    u64 next = world_table(f.w, filled)->dir->next_block, block;
    (void)world_hide_emptied(f.w, filled, NULL, 2);
    ck_assert_uint_eq(world_emptied_by(f.w, filled), 2);
    ck_assert_uint_eq(world_made_by(f.w, filled), UINT32_MAX);
    ck_assert(world_take_block(f.w, filled, &block, &err));
    (void)world_hide_emptied(f.w, filled, NULL, 2);
    world_forget_hidden(f.w, filled);
    world_forget_hidden(f.w, filled);
    ck_assert_uint_eq(world_table(f.w, filled)->dir->next_block, next + 1); /* the id is used up */
    world_publish(f.w, ++f.version);
    ck_assert_msg(world_verify(f.w, &err), "%s", err.message);
    s = snapshot_pin(&f.shm, shm_box(&f.shm, 0));
    ck_assert_uint_eq(catalog_find_table(s.root, str_of("hidden"))->table_id, id);
    ck_assert_uint_eq(store_digest(&s, store_table(s.root, filled), NULL), digest);
    /* emptied for good, while somebody looks at the old state */
    (void)world_hide_emptied(f.w, filled, NULL, 2);
    world_show_table(f.w, filled);
    world_publish(f.w, ++f.version);
    ck_assert_uint_eq(store_digest(&s, store_table(s.root, filled), NULL), digest);
    s = snapshot_pin(&f.shm, shm_box(&f.shm, 0));
    ck_assert_uint_eq(table_row_count(store_table(s.root, filled)), 0);
    fix_verify(&s);
    part.view.first_row = part.view.second_row = 0;
    fix_commit(&f, &part.view);
    s = snapshot_pin(&f.shm, shm_box(&f.shm, 0));
    fix_verify(&s);
    ck_assert_msg(world_verify(f.w, &err), "%s", err.message);
    fix_close(&f);
}
END_TEST

START_TEST(roles_and_rights)
{
    Fixture f;
    Error err = {0};
    fix_open(&f, 64 << 20);
    RoleDef root = {.role_id = ROLE_ROOT, .superuser = 1, .can_login = 1, .connection_limit = -1, .name = {"root", 4}};
    RoleDef reader = {.role_id = world_next_role_id(f.w), .can_login = 1, .connection_limit = 3, .name = {"reader", 6}};
    AclItem acl = {.role_id = reader.role_id, .bits = ACL_SELECT, .grantor_id = ROLE_ROOT};
    TableDef rights = {.table_id = f.table_id, .acl = &acl, .acl_count = 1, .acl_version = 1, .has_acl = 1};
    RoleChange put = {.kind = ROLE_CHANGE_PUT, .role = reader}, drop = {.kind = ROLE_CHANGE_DROP, .role_id = reader.role_id};
    RoleChange member = {.kind = ROLE_CHANGE_MEMBER, .member = {ROLE_ROOT, reader.role_id, ROLE_ROOT, 0}};
    RoleChange on_schema = {.kind = ROLE_CHANGE_RIGHTS, .rights = {.kind = RIGHTS_SCHEMA, .role_id = 6171, .schema_id = SCHEMA_PUBLIC, .version = 1,
                                                                   .acl_count = 1, .acl = &acl}};
    ck_assert(world_reserve_catalog(f.w, 3 * CATALOG_PROMISE, &err));
    world_change_roles(f.w, &put, NULL);
    put.role = root;
    world_change_roles(f.w, &put, NULL);
    world_change_roles(f.w, &member, NULL);
    for (int i = 0; i < 3; i++)
        world_change_roles(f.w, &on_schema, NULL);
    world_set_acl(f.w, &rights);
    world_unreserve_catalog(f.w, 3 * CATALOG_PROMISE);
    world_publish(f.w, ++f.version);
    Snapshot s = snapshot_pin(&f.shm, shm_box(&f.shm, 0));
    const TableDef *d = catalog_find_table(s.root, STR_LIT("t"));
    ck_assert(catalog_allows(s.root, d, reader.role_id, ACL_SELECT));
    ck_assert(!catalog_allows(s.root, d, reader.role_id, ACL_SELECT | ACL_INSERT));
    ck_assert(catalog_allows(s.root, d, ROLE_ROOT, ACL_INSERT));
    ck_assert_int_eq(catalog_find_role(s.root, STR_LIT("reader"))->connection_limit, 3);
    ck_assert(world_reserve_catalog(f.w, CATALOG_PROMISE, &err));
    ck_assert_int_eq(s.root->roles->member_count, 1);
    ck_assert_int_eq(s.root->roles->rights_count, 1);
    world_change_roles(f.w, &drop, NULL);
    world_unreserve_catalog(f.w, CATALOG_PROMISE);
    world_publish(f.w, ++f.version);
    s = snapshot_pin(&f.shm, shm_box(&f.shm, 0));
    ck_assert_ptr_null(catalog_role(s.root, reader.role_id));
    ck_assert_int_eq(s.root->roles->member_count, 0);
    fix_verify(&s);
    fix_close(&f);
}
END_TEST

int
main(void)
{
    Suite *s = suite_create("store");
    TCase *c = tcase_create("store");
    tcase_set_timeout(c, 300);
    tcase_add_loop_test(c, random_changes_keep_every_pinned_version, 0, 4);
    tcase_add_test(c, blocks_seal_and_stay_readable);
    tcase_add_test(c, deletes_may_be_applied_in_other_runs);
    tcase_add_test(c, a_chain_is_seen_when_linked_and_not_when_dropped);
    tcase_add_test(c, applying_twice_changes_nothing);
    tcase_add_test(c, ids_given_back_are_taken_again_and_lost_ones_become_holes);
    tcase_add_test(c, a_successor_takes_over_a_living_world);
    tcase_add_test(c, memory_comes_back);
    tcase_add_test(c, a_full_world_refuses_and_goes_on);
    tcase_add_test(c, ten_thousand_small_tables_fit);
    tcase_add_test(c, a_dictionary_finds_many_texts);
    tcase_add_test(c, hidden_tables);
    tcase_add_test(c, roles_and_rights);
    suite_add_tcase(s, c);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_ENV);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
