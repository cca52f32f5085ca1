/* test_compact.c: compaction beside random changes and pins held; the map from old row ids to new ones; deaths of the walwriter at every step; replay. */
#include "store_fixture.h"

static u64 random_state;

static u64
random_below(u64 n)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state % n;
}

enum { NUMBERS = 4000, PINS = 5 };

/* By number: where the row is. What the row holds is made from its number and salt. */
typedef struct Model {
    RowId ids[NUMBERS];
    u32 salts[NUMBERS];
} Model;

typedef struct Held {
    Snapshot s;
    u64 digest;
    Model model;
} Held;

static FixPart part;

static void
change(Fixture *f, Model *m, PartKind kind, u32 count)
{
    static u64 numbers[FIX_BATCH];
    static u32 salts[FIX_BATCH];
    u32 n = 0, start = (u32)random_below(NUMBERS);
    for (u32 i = 0; i < NUMBERS && n < count; i++) {
        u32 at = (start + i) % NUMBERS;
        if ((m->ids[at] != 0) != (kind != PART_INSERT) || random_below(3) == 0)
            continue;
        salts[n] = (u32)random_below(1000);
        numbers[n++] = at;
    }
    if (!n)
        return;
    fix_insert(&part, f->table_id, numbers, salts, n);
    part.view.kind = kind;
    for (u32 i = 0; i < n; i++)
        part.old_rows[i] = m->ids[numbers[i]];
    if (kind == PART_UPDATE) {
        part.view.columns++;
        part.view.column_count--;
    } else if (kind == PART_DELETE)
        part.view.column_count = 0;
    fix_commit(f, &part.view);
    for (u32 i = 0; i < n; i++) {
        m->ids[numbers[i]] = kind == PART_DELETE ? 0 : part_row_id(&part.view, i);
        m->salts[numbers[i]] = salts[i];
    }
}

static void
change_something(Fixture *f, Model *m)
{
    static const PartKind KINDS[] = {PART_INSERT, PART_UPDATE, PART_UPDATE, PART_UPDATE, PART_DELETE};
    change(f, m, KINDS[random_below(COUNT_OF(KINDS))], 1 + (u32)random_below(random_below(4) ? 40 : 1500));
}

/* ---- what a snapshot must show ---- */

static bool
row_is(const BlockView *b, u32 offset, u32 number, u32 salt)
{
    FixRow r;
    SliceView id, text;
    fix_row(number, salt, &r);
    HOLDS(slice_view(b, 0, &id) && slice_view(b, FIX_TEXT, &text));
    Value v = slice_value(&id, &FIX_COLUMN_DEFS[0], offset), t = slice_value(&text, &FIX_COLUMN_DEFS[FIX_TEXT], offset);
    return v.i32v == r.id && t.is_null == r.null_text && (t.is_null || str_eq(t.str, str_of(r.text)));
}

static void
check_rows(const Snapshot *s, u32 table_id, const Model *m)
{
    const TableShm *t = store_table(s->root, table_id);
    for (u32 n = 0; n < NUMBERS; n++) {
        BlockView b;
        RowId found = 0;
        bool there = key_find(s, t, 0, &(Value){.type = TYPE_INT4, .i32v = (i32)n}, &found);
        HOLDS(there == (m->ids[n] != 0));
        if (!there)
            continue;
        HOLDS(found == m->ids[n]);
        HOLDS(block_locate(t, found, &b) && row_is(&b, ROW_OFFSET(found), n, m->salts[n]));
    }
}

static void
hold(Fixture *f, u32 i, const Model *m, Held *h)
{
    h->s = snapshot_pin(&f->shm, shm_box(&f->shm, i));
    h->digest = store_digest(&h->s, store_table(h->s.root, f->table_id), NULL);
    h->model = *m;
}

static void
check_held(Fixture *f, const Held *h)
{
    check_rows(&h->s, f->table_id, &h->model);
    HOLDS(store_digest(&h->s, store_table(h->s.root, f->table_id), NULL) == h->digest);
    fix_verify(&h->s);
}

/* Every row that a pin knows is found under its new id, unless it was changed since. */
static void
check_map(Fixture *f, const Held *h, const Model *now)
{
    Snapshot s = snapshot_pin(&f->shm, shm_box(&f->shm, PINS));
    const TableShm *t = store_table(s.root, f->table_id);
    for (u32 n = 0; n < NUMBERS; n++) {
        if (!h->model.ids[n])
            continue;
        RowId to = row_moved(t, h->model.ids[n]);
        HOLDS(to == world_moved_row(f->w, f->table_id, h->model.ids[n]));
        if (now->ids[n] && now->salts[n] == h->model.salts[n] && world_row_state(f->w, f->table_id, to) == ROW_LIVE)
            HOLDS(to == now->ids[n]);
        else
            HOLDS(world_row_state(f->w, f->table_id, to) != ROW_LIVE || to == now->ids[n]);
    }
    snapshot_unpin(shm_box(&f->shm, PINS));
}

/* ---- compacting ---- */

static bool
choose(Fixture *f, CompactRecord *r)
{
    CompactRule rule = {.dead_percent = (u32)random_below(60), .dead_rows = 1 + (u32)random_below(20), .wanted = true};
    bool more = true;
    while (more)
        if (world_compact_choose(f->w, &rule, r, &more))
            return true;
    world_publish(f->w, 0); /* blocks that were sealed on the way */
    return false;
}

static Compaction *
begin(Fixture *f)
{
    static CompactRecord r;
    Error err;
    if (!choose(f, &r))
        return NULL;
    Compaction *c = world_compact_begin(f->w, &r, &err);
    ck_assert_ptr_nonnull(c);
    return c;
}

static void
copy(Fixture *f, Model *m, Compaction *c, bool change_meanwhile)
{
    Error err;
    for (bool done = false; !done;) {
        if (change_meanwhile && random_below(3) == 0)
            change_something(f, m);
        ck_assert(world_compact_step(f->w, c, &done, &err));
    }
}

static void
follow(Fixture *f, Model *m)
{
    for (u32 n = 0; n < NUMBERS; n++)
        m->ids[n] = world_moved_row(f->w, f->table_id, m->ids[n]);
}

static bool
compact(Fixture *f, Model *m, bool change_meanwhile)
{
    Error err;
    Compaction *c = begin(f);
    if (!c)
        return false;
    copy(f, m, c, change_meanwhile);
    if (random_below(8) == 0) {
        world_compact_abandon(f->w, c);
        return true;
    }
    ck_assert(world_compact_move(f->w, c, &err));
    follow(f, m);
    world_compact_apply(f->w, c);
    world_publish(f->w, ++f->version);
    return true;
}

static void
reclaim_all(Fixture *f)
{
    world_publish(f->w, 0);
    for (u32 i = 0; i < 8; i++) {
        while (world_reclaim(f->w))
            ;
        world_publish(f->w, 0);
    }
}

/* ---- tests ---- */

START_TEST(pins_and_ids_hold_while_blocks_are_compacted)
{
    static Held held[PINS];
    static Model m;
    Fixture f;
    Error err = {0};
    u32 done = 0;
    random_state = 88172645463325252ull + (u64)_i * 7919;
    m = (Model){0};
    fix_open(&f, 256 << 20);
    for (u32 i = 0; i < PINS; i++)
        hold(&f, i, &m, &held[i]);
    for (u32 step = 0; step < 250; step++) {
        change_something(&f, &m);
        if (random_below(2))
            done += compact(&f, &m, true);
        if (random_below(4) == 0)
            (void)world_reclaim(f.w);
        if (random_below(6) == 0) {
            u32 i = (u32)random_below(PINS);
            check_held(&f, &held[i]);
            check_map(&f, &held[i], &m);
            snapshot_unpin(shm_box(&f.shm, i));
            hold(&f, i, &m, &held[i]);
            check_held(&f, &held[i]);
            ck_assert_msg(world_verify(f.w, &err), "%s", err.message);
        }
    }
    ck_assert_uint_gt(done, 20);
    for (u32 i = 0; i < PINS; i++) {
        check_held(&f, &held[i]);
        snapshot_unpin(shm_box(&f.shm, i));
    }
    reclaim_all(&f);
    ck_assert(!world_any_moved(f.w));
    fix_close(&f);
}
END_TEST

/* A successor finds the world as it was published, whatever its predecessor was at; maps go on. */
START_TEST(a_successor_goes_on_with_maps)
{
    static Held held[PINS];
    static Model m;
    static CompactRecord r;
    Fixture f;
    Error err = {0};
    random_state = 1234567 + (u64)_i * 104729;
    m = (Model){0};
    fix_open(&f, 256 << 20);
    for (u32 i = 0; i < PINS; i++)
        hold(&f, i, &m, &held[i]);
    for (u32 step = 0; step < 60; step++) {
        for (u32 i = 0; i < 3; i++) {
            change_something(&f, &m);
            (void)compact(&f, &m, true);
        }
        u32 p = (u32)random_below(PINS), stage = (u32)random_below(4);
        snapshot_unpin(shm_box(&f.shm, p));
        hold(&f, p, &m, &held[p]);
        Compaction *c = begin(&f);
        static u8 bytes[1 << 20];
        u32 len = 0;
        if (c && stage >= 1)
            copy(&f, &m, c, false);
        if (c && stage >= 2) {
            static CompactRecord logged;
            ck_assert(world_compact_move(f.w, c, &err));
            world_compact_record(c, &logged);
            len = compact_bytes(&logged);
            compact_encode(&logged, bytes);
        }
        if (c && stage >= 3) {
            world_compact_apply(f.w, c);
            c = NULL;
        }
        if (c)
            world_compact_free(f.w, c);
        world_close(f.w);
        ck_assert_msg(world_open(&f.shm, true, &f.w, &err), "%s", err.message);
        if (len) { /* it is in the log */
            ck_assert(compact_decode(bytes, len, &r));
            ck_assert_msg(world_compact_replay(f.w, &r, true, f.version, &err), "%s", err.message);
            follow(&f, &m);
            world_publish(f.w, ++f.version);
        } else
            world_publish(f.w, f.version);
        world_taken_over(f.w);
        for (u32 i = 0; i < PINS; i++) {
            check_held(&f, &held[i]);
            check_map(&f, &held[i], &m);
        }
        Snapshot now = snapshot_pin(&f.shm, shm_box(&f.shm, PINS));
        check_rows(&now, f.table_id, &m);
        fix_verify(&now);
        snapshot_unpin(shm_box(&f.shm, PINS));
    }
    for (u32 i = 0; i < PINS; i++)
        snapshot_unpin(shm_box(&f.shm, i));
    reclaim_all(&f);
    ck_assert(!world_any_moved(f.w));
    fix_close(&f);
}
END_TEST

/* Two worlds get the same changes; the second one by replaying records, at other moments as far as publishing and sealing go. */
START_TEST(replay_finds_the_same_rows)
{
    static Model m;
    static CompactRecord r, again;
    static u8 bytes[1 << 20];
    Fixture f, g;
    Error err = {0};
    random_state = 987654321 + (u64)_i * 15485863;
    m = (Model){0};
    fix_open(&f, 256 << 20);
    fix_open(&g, 256 << 20);
    for (u32 step = 0; step < 150; step++) {
        change_something(&f, &m);
        if (part.view.row_count) { /* the ids are in the part */
            ck_assert_msg(world_reserve_part(g.w, &part.view, &err), "%s", err.message);
            world_apply_part(g.w, &part.view, f.version);
            if (random_below(3) == 0)
                world_publish(g.w, f.version);
        }
        Compaction *c = random_below(2) ? begin(&f) : NULL;
        if (!c)
            continue;
        copy(&f, &m, c, false);
        ck_assert(world_compact_move(f.w, c, &err));
        world_compact_record(c, &r);
        compact_encode(&r, bytes);
        ck_assert(compact_decode(bytes, compact_bytes(&r), &again));
        world_compact_apply(f.w, c);
        follow(&f, &m);
        world_publish(f.w, ++f.version);
        ck_assert_msg(world_compact_replay(g.w, &again, false, f.version - 1, &err), "%s", err.message);
    }
    world_publish(g.w, f.version);
    Snapshot s = snapshot_pin(&f.shm, shm_box(&f.shm, 0)), t = snapshot_pin(&g.shm, shm_box(&g.shm, 0));
    check_rows(&s, f.table_id, &m);
    check_rows(&t, g.table_id, &m);
    fix_verify(&t);
    ck_assert_uint_eq(store_digest(&s, store_table(s.root, f.table_id), NULL), store_digest(&t, store_table(t.root, g.table_id), NULL));
    snapshot_unpin(shm_box(&f.shm, 0));
    snapshot_unpin(shm_box(&g.shm, 0));
    fix_close(&f);
    fix_close(&g);
}
END_TEST

/* Endless changes of a fixed set of rows take no more memory than a few times the rows. */
START_TEST(endless_updates_reach_a_steady_size)
{
    static Model m;
    Fixture f;
    u64 high = 0, after_some = 0;
    random_state = 42;
    m = (Model){0};
    fix_open(&f, 256 << 20);
    for (u32 step = 0; step < 3000; step++) {
        change(&f, &m, step < 20 ? PART_INSERT : PART_UPDATE, 600);
        (void)compact(&f, &m, false);
        while (world_reclaim(f.w))
            ;
        u64 used = world_used_bytes(f.w);
        if (step == 600)
            after_some = used;
        high = step > 600 ? MAX(high, used) : high;
    }
    ck_assert_uint_le(high, after_some + 4 * EXTENT_BYTES);
    reclaim_all(&f);
    fix_close(&f);
}
END_TEST

/* ---- dictionaries ---- */

/* Rows 0 … n-1 with texts that nobody had before: INSERT, or an UPDATE of the text alone. */
static void
write_texts(Fixture *f, Model *m, u32 n, u32 salt, bool insert)
{
    static u64 numbers[FIX_BATCH];
    static u32 salts[FIX_BATCH];
    u32 at = 0;
    for (u32 i = 0; i < n; i++) {
        numbers[i] = i;
        salts[i] = salt;
        part.old_rows[i] = m->ids[i];
    }
    fix_insert(&part, f->table_id, numbers, salts, n);
    for (u32 i = 0; i < n; i++) {
        part.lengths[i] = (u32)snprintf(part.texts + at, 40, "text %u of %u, long enough", i, salt);
        at += part.lengths[i];
        part.nulls[1][i] = 0;
    }
    if (!insert) {
        part.view.kind = PART_UPDATE;
        part.view.columns = part.columns + FIX_TEXT;
        part.view.column_count = 1;
    }
    fix_commit(f, &part.view);
    for (u32 i = 0; i < n; i++) {
        m->ids[i] = part_row_id(&part.view, i);
        m->salts[i] = salt;
    }
}

/* An UPDATE of another column copies the text, be it from a block of an older dictionary. */
static void
touch_rows(Fixture *f, Model *m, u32 first, u32 n)
{
    static u64 numbers[FIX_BATCH];
    static u32 salts[FIX_BATCH];
    for (u32 i = 0; i < n; i++) {
        numbers[i] = first + i;
        salts[i] = 0;
        part.old_rows[i] = m->ids[first + i];
    }
    fix_insert(&part, f->table_id, numbers, salts, n);
    part.view.kind = PART_UPDATE;
    part.view.columns = part.columns + 1;
    part.view.column_count = 1;
    fix_commit(f, &part.view);
    for (u32 i = 0; i < n; i++)
        m->ids[first + i] = part_row_id(&part.view, i);
}

static void
check_texts(const Snapshot *s, u32 table_id, const Model *m, u32 n)
{
    const TableShm *t = store_table(s->root, table_id);
    for (u32 i = 0; i < n; i++) {
        BlockView b;
        SliceView text;
        char want[64];
        snprintf(want, sizeof want, "text %u of %u, long enough", i, m->salts[i]);
        HOLDS(block_locate(t, m->ids[i], &b) && slice_view(&b, FIX_TEXT, &text));
        HOLDS(str_eq(slice_value(&text, &FIX_COLUMN_DEFS[FIX_TEXT], ROW_OFFSET(m->ids[i])).str, str_of(want)));
    }
}

START_TEST(dictionaries_of_dead_texts_are_replaced)
{
    enum { ROWS = 2000, ROUNDS = 120 };
    static Model m;
    static Held held;
    Fixture f;
    Error err = {0};
    u32 replaced = 0, most = 0;
    random_state = 77;
    m = (Model){0};
    fix_open(&f, 256 << 20);
    write_texts(&f, &m, ROWS, 1, true);
    hold(&f, 0, &m, &held);
    for (u32 round = 2; round < ROUNDS; round++) {
        u32 table, column;
        bool more = true;
        write_texts(&f, &m, ROWS, round, false);
        touch_rows(&f, &m, (u32)random_below(ROWS / 2), ROWS / 4);
        while (more) {
            if (!world_dict_step(f.w, &table, &column, &more))
                continue;
            ck_assert_uint_eq(column, FIX_TEXT);
            ck_assert(world_dict_replace(f.w, table, column));
            replaced++;
            world_publish(f.w, 0);
        }
        if (random_below(2))
            while (compact(&f, &m, false) && random_below(3))
                ;
        touch_rows(&f, &m, 0, ROWS / 4); /* from old blocks into the new one */
        if (round % 10 == 0) { /* a successor finds old dictionaries, too */
            world_close(f.w);
            ck_assert_msg(world_open(&f.shm, true, &f.w, &err), "%s", err.message);
            world_publish(f.w, f.version);
            world_taken_over(f.w);
        }
        (void)world_reclaim(f.w);
        Snapshot now = snapshot_pin(&f.shm, shm_box(&f.shm, 1));
        check_texts(&now, f.table_id, &m, ROWS);
        fix_verify(&now);
        most = MAX(most, dict_count(table_dict(store_table(now.root, f.table_id), FIX_TEXT)));
        snapshot_unpin(shm_box(&f.shm, 1));
        check_texts(&held.s, f.table_id, &held.model, ROWS);
        HOLDS(store_digest(&held.s, store_table(held.s.root, f.table_id), NULL) == held.digest);
    }
    ck_assert_uint_gt(replaced, 10);
    ck_assert_uint_lt(most, 8 * ROWS);
    snapshot_unpin(shm_box(&f.shm, 0));
    for (u32 i = 0; i < 20; i++) {
        (void)compact(&f, &m, false);
        reclaim_all(&f);
    }
    fix_close(&f);
}
END_TEST

/* A damaged record is refused, whichever byte it is. */
START_TEST(records_are_checked)
{
    u64 bits[2][COMPACT_MAX_WORDS] = {{5, 0, 1ull << 63}, {0}};
    static CompactRecord r, back;
    _Alignas(8) u8 bytes[512];
    r = (CompactRecord){.table_id = 20000, .source_count = 2, .target = 9, .row_count = 3,
                        .sources = {{.block = 3, .bits = bits[0], .word_count = 3, .count = 3}, {.block = 7, .bits = bits[1]}}};
    u32 len = compact_bytes(&r);
    compact_encode(&r, bytes);
    ck_assert(compact_decode(bytes, len, &back));
    ck_assert_uint_eq(back.sources[0].bits[2], bits[0][2]);
    ck_assert_uint_eq(back.sources[1].block, 7);
    ck_assert(!compact_decode(bytes, len - 8, &back));
    ck_assert(!compact_decode(bytes, 16, &back));
    static const u32 COUNTS[] = {4, 8, 16, 20, 32, 36}; /* sources, target (none for three rows when 9 becomes 0), rows, zero, words, set */
    for (u32 i = 0; i < COUNT_OF(COUNTS); i++) {
        u8 was = bytes[COUNTS[i]];
        bytes[COUNTS[i]] = i == 1 ? 0 : (u8)(was + 1);
        ck_assert(!compact_decode(bytes, len, &back));
        bytes[COUNTS[i]] = was;
    }
    bytes[COMPACT_HEAD_BYTES + 3] = 0x80; /* a block that cannot be */
    ck_assert(!compact_decode(bytes, len, &back));
}
END_TEST

int
main(void)
{
    Suite *s = suite_create("compact");
    TCase *c = tcase_create("compact");
    tcase_set_timeout(c, 300);
    tcase_add_loop_test(c, pins_and_ids_hold_while_blocks_are_compacted, 0, 4);
    tcase_add_loop_test(c, a_successor_goes_on_with_maps, 0, 3);
    tcase_add_loop_test(c, replay_finds_the_same_rows, 0, 3);
    tcase_add_test(c, endless_updates_reach_a_steady_size);
    tcase_add_test(c, dictionaries_of_dead_texts_are_replaced);
    tcase_add_test(c, records_are_checked);
    suite_add_tcase(s, c);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_ENV);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
