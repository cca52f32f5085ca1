/*
 * test_store_threads.c
 *    One writer and several readers at once: what a pinned reader sees never changes and is one whole version.
 *
 * Every commit keeps two sums invariant: the live rows are always ROWS in number, and the sum of `big` over them equals a value stored for the version
 * in a table of the writer's (private to the process, published before the version). Readers pin, scan by blocks and by key, compare, scan
 * again. Built for TSan: whatever the proof of deletes.c forgets shows up here.
 */
#include "store_fixture.h"

#include "common/base/hash.h"

#include <pthread.h>

enum { ROWS = 6000, READERS = 3, COMMITS = 1500, SUMS = 1 << 16 };

static Fixture fix;
static u64 sums[SUMS];  /* by version */
static u64 stop_readers;

static u64
next_random(u64 *state)
{
    *state = *state * 6364136223846793005ull + 1442695040888963407ull;
    return hash_u64(*state);
}

typedef struct Seen {
    u64 rows, sum, digest;
} Seen;

static Seen
scan(const Snapshot *s)
{
    const TableShm *t = store_table(s->root, fix.table_id);
    static __thread u64 bits[BLOCK_WORDS];
    static __thread i64 scratch[VEC_SIZE];
    static __thread u8 null_scratch[VEC_SIZE];
    Seen seen = {0};
    for (u32 p = 0; p < table_block_count(t); p++) {
        BlockView b;
        SliceView big;
        u32 deleted;
        if (!block_view(t, p, &b))
            continue;
        bool any = block_deleted(&b, s->version, bits, &deleted);
        HOLDS(slice_view(&b, 1, &big));
        for (u32 first = 0; first < b.row_count; first += VEC_SIZE) {
            Vec v;
            u32 n = MIN((u32)VEC_SIZE, b.row_count - first);
            slice_read(&big, first, n, &v, scratch, null_scratch);
            for (u32 i = 0; i < n; i++) {
                if (any && bits[(first + i) >> 6] >> ((first + i) & 63) & 1)
                    continue;
                seen.rows++;
                if (!VEC_NULL(&v, i))
                    seen.sum += (u64)VEC_AT(&v, i64, i);
            }
        }
    }
    return seen;
}

static void *
read_all_the_time(void *arg)
{
    u32 self = (u32)(uintptr_t)arg;
    u64 state = self + 1, rounds = 0;
    while (!observe_u64(&stop_readers)) {
        Snapshot s = snapshot_pin(&fix.shm, shm_box(&fix.shm, self));
        if (s.version < 3) {
            snapshot_unpin(shm_box(&fix.shm, self));
            continue;
        }
        const TableShm *t = store_table(s.root, fix.table_id);
        for (u32 again = 0; again < 2; again++) {
            Seen seen = scan(&s);
            HOLDS(seen.rows == ROWS);
            HOLDS(seen.sum == observe_u64(&sums[s.version]));
        }
        for (u32 i = 0; i < 50; i++) {
            RowId id;
            BlockView b;
            i32 number = 1 + (i32)(next_random(&state) % ROWS);
            HOLDS(key_find(&s, t, 0, &(Value){.type = TYPE_INT4, .i32v = number}, &id));
            HOLDS(block_locate(t, id, &b) && !row_deleted(&b, ROW_OFFSET(id), s.version));
            SliceView text;
            HOLDS(slice_view(&b, FIX_TEXT, &text));
            Value v = slice_value(&text, &FIX_COLUMN_DEFS[FIX_TEXT], ROW_OFFSET(id));
            HOLDS(v.is_null || dict_find(text.dict, v.str) != DICT_NONE);
        }
        if (++rounds % 16 == 0) {
            Error err = {0};
            if (!store_verify(&s, VERIFY_CONTENTS, &err))
                ck_abort_msg("%s", err.message);
        }
        snapshot_unpin(shm_box(&fix.shm, self));
    }
    return NULL;
}

START_TEST(readers_beside_the_writer_see_whole_versions)
{
    static FixPart part;
    static u64 numbers[ROWS];
    static u32 salts[ROWS];
    static RowId where[ROWS + 1];
    static u32 salt_of[ROWS + 1];
    pthread_t readers[READERS];
    u64 state = 99, sum = 0;
    FixRow r;
    fix_open(&fix, 512 << 20);
    for (u32 i = 0; i < ROWS; i++) {
        numbers[i] = i + 1;
        fix_row(i + 1, 0, &r);
        sum += r.null_big ? 0 : (u64)r.big;
    }
    fix_insert(&part, fix.table_id, numbers, salts, ROWS);
    publish_u64(&sums[fix.version + 1], sum);
    fix_commit(&fix, &part.view);
    for (u32 i = 0; i < ROWS; i++)
        where[i + 1] = part_row_id(&part.view, i);
    world_publish(fix.w, ++fix.version);
    publish_u64(&sums[fix.version], sum);
    for (u32 i = 0; i < READERS; i++)
        ck_assert_int_eq(pthread_create(&readers[i], NULL, read_all_the_time, (void *)(uintptr_t)i), 0);
    for (u32 c = 0; c < COMMITS; c++) {
        u64 roll = next_random(&state) % 20;
        u32 count = roll == 0 ? 1500 : 1 + (u32)(next_random(&state) % 4), first = (u32)(next_random(&state) % (ROWS - count));
        for (u32 i = 0; i < count; i++) {
            numbers[i] = first + i + 1;
            fix_row(numbers[i], salt_of[numbers[i]], &r);
            sum -= r.null_big ? 0 : (u64)r.big;
            salts[i] = salt_of[numbers[i]] = (u32)next_random(&state) % 5000;
            fix_row(numbers[i], salts[i], &r);
            sum += r.null_big ? 0 : (u64)r.big;
        }
        fix_insert(&part, fix.table_id, numbers, salts, count);
        part.view.kind = PART_UPDATE;
        part.view.columns = part.columns + 1;
        part.view.column_count = FIX_COLUMNS - 1;
        for (u32 i = 0; i < count; i++)
            part.old_rows[i] = where[numbers[i]];
        publish_u64(&sums[fix.version + 1], sum);
        fix_commit(&fix, &part.view);
        for (u32 i = 0; i < count; i++)
            where[numbers[i]] = part_row_id(&part.view, i);
        (void)world_reclaim(fix.w);
    }
    publish_u64(&stop_readers, 1);
    for (u32 i = 0; i < READERS; i++)
        pthread_join(readers[i], NULL);
    world_publish(fix.w, 0);
    while (world_reclaim(fix.w))
        ;
    fix_close(&fix);
}
END_TEST

int
main(void)
{
    Suite *s = suite_create("store_threads");
    TCase *c = tcase_create("threads");
    tcase_set_timeout(c, 300);
    tcase_add_test(c, readers_beside_the_writer_see_whole_versions);
    suite_add_tcase(s, c);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_ENV);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
