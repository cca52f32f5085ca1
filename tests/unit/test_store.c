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
    ck_assert(slice_view(b, column, &s));
    Value v = slice_value(&s, &FIX_COLUMN_DEFS[column], offset);
    ck_assert_int_eq(v.is_null, null);
    if (!null)
        ck_assert_msg(value_cmp(&v, want) == 0, "column %u", column);
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
        ck_assert_msg(there == model_visible(r, s->version), "row %llu of [%llu, %llu) at %llu", (unsigned long long)r->number,
                      (unsigned long long)r->inserted, (unsigned long long)r->deleted, (unsigned long long)s->version);
        if (!there)
            continue;
        visible++;
        check_row(&b, ROW_OFFSET(r->id), r);
        RowId found = 0;
        ck_assert(key_find(s, t, 0, &(Value){.type = TYPE_INT4, .i32v = (i32)r->number}, &found));
        ck_assert_uint_eq(found, r->id);
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


int
main(void)
{
    Suite *s = suite_create("store");
    TCase *c = tcase_create("store");
    tcase_set_timeout(c, 300);
    tcase_add_loop_test(c, random_changes_keep_every_pinned_version, 0, 4);
    tcase_add_test(c, blocks_seal_and_stay_readable);
    suite_add_tcase(s, c);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_ENV);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
