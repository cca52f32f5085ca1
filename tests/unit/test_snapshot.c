/*
 * test_snapshot.c
 *    Snapshots from world to disk and back: everything is there again and can be gone on with; what did not change is not written again; two lineages share
 *    nothing; whatever call fails and whenever the power goes, two complete snapshots are left; damage is found and mended from the other one or refused.
 */
#include "snap_fixture.h"

#include "common/disk/snapformat.h"

#include <errno.h>

static char folder[64];
static int dir;
static Io *io;
static SnapFix x;

static void
setup(void)
{
    const char *why;
    strcpy(folder, "/tmp/ggs3db-snap-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    dir = open(folder, O_RDONLY | O_DIRECTORY);
    io = io_new(IO_ENGINE_RING, 8, &why);
    snap_begin(&x, io, dir);
}

static void
teardown(void)
{
    char command[128];
    snap_end(&x);
    io_free(io);
    close(dir);
    snprintf(command, sizeof command, "rm -rf %s", folder);
    ck_assert_int_eq(system(command), 0);
}

/* Start from the folder: the digest of what is there, 0 when no snapshot could be used. */
static u64
restart(Fixture *to, Recovered *ret)
{
    Error err;
    *to = (Fixture){0};
    *ret = (Recovered){0};
    fix_areas(&to->shm, 8, SNAP_MEMORY);
    ck_assert(world_open(&to->shm, false, &to->w, &err));
    ck_assert_msg(restore_run(&to->w, &to->shm, io, dir, SNAP_ID, ret, &err), "%s", err.message);
    if (!ret->snapshot)
        return 0;
    world_recovered(to->w);
    const Root *root = world_root(to->w);
    Snapshot s = {.root = root, .version = root->version, .epoch = root->epoch};
    fix_verify(&s);
    ck_assert_msg(world_verify(to->w, &err), "%s", err.message);
    to->version = root->version;
    to->table_id = FIRST_TABLE_ID;
    return snap_digest(&s);
}

static void
restart_is_equal(u64 expected)
{
    Fixture to;
    Recovered r;
    ck_assert_uint_eq(restart(&to, &r), expected);
    fix_close(&to);
}

/* ---- there and back ---- */

START_TEST(empty_world)
{
    snap_take(&x);
    restart_is_equal(snap_digest_of(x.f.w));
}
END_TEST

START_TEST(everything_is_there_again)
{
    snap_insert(&x, 3 * BLOCK_ROWS + 1000);
    snap_delete(&x, 1, BLOCK_ROWS, 8);
    snap_delete(&x, 4, 1000, 3);
    fix_create_table(&x.f, "second");
    x.next_row = 5;
    snap_insert(&x, 70);
    fix_create_table(&x.f, "third, without rows");
    u64 expected = snap_digest_of(x.f.w);
    SnapshotReport r = snap_take(&x);
    ck_assert_uint_eq(r.tables, 3);
    ck_assert_uint_eq(r.blocks, 5);
    ck_assert_uint_eq(r.version, x.f.version);
    restart_is_equal(expected);
}
END_TEST

/* The restarted world takes the same changes as the one that went on, and ends like it. */
START_TEST(a_restarted_world_goes_on)
{
    Fixture to;
    Recovered r;
    snap_insert(&x, BLOCK_ROWS + 100);
    snap_delete(&x, 1, BLOCK_ROWS, 9);
    snap_take(&x);
    ck_assert_uint_eq(restart(&to, &r), snap_digest_of(x.f.w));
    static SnapFix y;
    y = (SnapFix){.f = to, .next_row = x.next_row};
    SnapFix *both[2] = {&x, &y};
    for (u32 i = 0; i < 2; i++) {
        snap_insert(both[i], 5000);
        snap_delete(both[i], 2, 5000, 2);
        snap_insert(both[i], BLOCK_ROWS);
    }
    ck_assert_uint_eq(snap_digest_of(y.f.w), snap_digest_of(x.f.w));
    const Root *root = world_root(y.f.w);
    Snapshot s = {.root = root, .version = root->version, .epoch = root->epoch};
    fix_verify(&s);
    fix_close(&y.f);
}
END_TEST

static u32 changes_left;

static bool
change_meanwhile(void *unused)
{
    (void)unused;
    if (changes_left) {
        changes_left--;
        snap_insert(&x, 300); /* the open block fills and is sealed */
        snap_delete(&x, 1, 60000, 11 + changes_left);
    }
    return true;
}

/* What is committed after the pin is not in it, in whatever block it lands. */
START_TEST(it_shows_the_pinned_version)
{
    snap_insert(&x, BLOCK_ROWS - 100);
    snap_delete(&x, 1, 5000, 3);
    u64 expected = snap_digest_of(x.f.w);
    changes_left = 2;
    x.s.go_on = change_meanwhile;
    SnapshotReport r = snap_take(&x);
    ck_assert_uint_eq(changes_left, 0);
    ck_assert_uint_lt(r.version, x.f.version);
    restart_is_equal(expected);
    snap_take(&x);
    restart_is_equal(snap_digest_of(x.f.w));
}
END_TEST

static u64
file_count(const char *suffix)
{
    char command[160];
    unsigned long long n = 0;
    snprintf(command, sizeof command, "ls %s | grep -c '%s$'", folder, suffix);
    FILE *p = popen(command, "r");
    ck_assert_int_eq(fscanf(p, "%llu", &n), 1);
    pclose(p);
    return n;
}

START_TEST(what_did_not_change_is_not_written_again)
{
    snap_insert(&x, 4 * BLOCK_ROWS + 10);
    SnapshotReport first = snap_take(&x), second = snap_take(&x), third = snap_take(&x);
    ck_assert_uint_gt(second.new_bytes, first.new_bytes * 9 / 10);
    ck_assert_uint_lt(third.new_bytes, first.new_bytes / 50);
    snap_delete(&x, 2, BLOCK_ROWS, 16);
    SnapshotReport fourth = snap_take(&x);
    ck_assert_uint_lt(fourth.new_bytes, first.new_bytes / 50);
    restart_is_equal(snap_digest_of(x.f.w));
    for (u32 i = 0; i < 40; i++) { /* old files go when little of them is used */
        snap_insert(&x, 20000);
        snap_take(&x);
    }
    for (u32 o = 0; o < x.s.older.file_count; o++)
        for (u32 n = 0; n < x.s.newest.file_count; n++)
            ck_assert_uint_ne(x.s.older.files[o].number, x.s.newest.files[n].number);
    ck_assert_uint_eq(file_count(".toc"), 2);
    ck_assert_uint_eq(file_count(".data"), x.s.older.file_count + x.s.newest.file_count);
    u64 bytes = 0;
    for (u32 n = 0; n < x.s.newest.file_count; n++)
        bytes += x.s.newest.files[n].bytes;
    ck_assert_uint_lt(bytes, 2 * x.s.newest.piece_bytes + (1 << 20));
    restart_is_equal(snap_digest_of(x.f.w));
}
END_TEST

/* ---- damage ---- */

static void
change_byte(u64 number, bool toc, u64 offset, u8 by)
{
    char name[SNAP_NAME_BYTES];
    u8 b;
    (toc ? snap_toc_name : snap_data_name)(name, number);
    int fd = openat(dir, name, O_RDWR);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(pread(fd, &b, 1, (off_t)offset), 1);
    b ^= by;
    ck_assert_int_eq(pwrite(fd, &b, 1, (off_t)offset), 1);
    close(fd);
}

static void
remove_file(u64 number, bool toc)
{
    char name[SNAP_NAME_BYTES];
    (toc ? snap_toc_name : snap_data_name)(name, number);
    ck_assert_int_eq(unlinkat(dir, name, 0), 0);
}

/* A piece of the newest is damaged: the other lineage has it. What only the newest has: the older snapshot is used. */
START_TEST(a_damaged_piece_is_mended_or_the_older_snapshot_used)
{
    Fixture to;
    Recovered r;
    snap_insert(&x, BLOCK_ROWS + 10);
    snap_take(&x);
    u64 older = snap_digest_of(x.f.w);
    snap_insert(&x, 10); /* only the open block changes */
    SnapshotReport second = snap_take(&x);
    u64 newest = snap_digest_of(x.f.w);
    change_byte(second.number, false, SNAP_PAGE + 5, 1);
    ck_assert_uint_eq(restart(&to, &r), newest);
    ck_assert_uint_eq(r.snapshot, second.number);
    fix_close(&to);
    change_byte(second.number, false, SNAP_PAGE + 5, 1);
    SnapCursor c = {.toc = &x.s.newest, .at = x.s.newest.body};
    for (SnapPiece p; snap_next_piece(&c, &p);)
        if (!p.final) {
            change_byte(second.number, false, p.ref.offset + p.ref.bytes / 2, 0x40);
            break;
        }
    ck_assert_uint_eq(restart(&to, &r), older);
    ck_assert_uint_eq(r.damaged_snapshot, second.number);
    ck_assert_uint_eq(r.snapshot, second.number - 1);
    fix_close(&to);
    /* The damaged one does not count any more, and the next is whole. */
    snapshots_close(&x.s);
    x.s.newest = x.s.older = (SnapToc){0};
    Error err;
    ck_assert(snapshots_open(&x.s, second.number, &err));
    ck_assert_uint_eq(x.s.newest.head.number, second.number - 1);
    SnapshotReport third = snap_take(&x);
    ck_assert_uint_gt(third.new_bytes, second.new_bytes * 9 / 10);
    restart_is_equal(newest);
}
END_TEST

START_TEST(missing_and_foreign_files)
{
    Fixture to;
    Recovered r;
    snap_insert(&x, 500);
    snap_take(&x);
    u64 older = snap_digest_of(x.f.w);
    snap_insert(&x, 500);
    SnapshotReport second = snap_take(&x);
    remove_file(second.number, false);
    ck_assert_uint_eq(restart(&to, &r), older);
    fix_close(&to);
    remove_file(second.number, true); /* as if it had never been */
    ck_assert_uint_eq(restart(&to, &r), older);
    ck_assert_uint_eq(r.damaged_snapshot, 0);
    fix_close(&to);
    remove_file(second.number - 1, false);
    ck_assert_uint_eq(restart(&to, &r), 0);
    ck_assert_uint_eq(r.damaged_snapshot, second.number - 1);
    fix_close(&to);
    /* Another database's. */
    x.s.database_id = SNAP_ID + 1;
    snap_take(&x);
    ck_assert_uint_eq(restart(&to, &r), 0);
    fix_close(&to);
}
END_TEST

/* ---- the simulated disk ---- */

/* Every complete snapshot in the folder, and what it is of; dies when one that was complete is not. */
static u32
complete_snapshots(Io *sim, u64 *ret_newest_version)
{
    SnapList list;
    Error err;
    u32 n = 0;
    ck_assert_msg(snap_list(sim, IO_SIM_ROOT, &list, &err), "%s", err.message);
    *ret_newest_version = 0;
    for (u32 i = 0; i < list.count; i++) {
        SnapToc t;
        if (!snap_toc_read(sim, IO_SIM_ROOT, list.tocs[i], SNAP_ID, &t, &err))
            continue;
        if (snap_verify(sim, IO_SIM_ROOT, &t, 0, NULL, NULL, &err)) {
            n++;
            *ret_newest_version = MAX(*ret_newest_version, t.head.version);
        }
        snap_toc_free(&t);
    }
    return n;
}

static Io *
begin_on_sim(SnapFix *y)
{
    const char *why;
    Io *sim = io_new(IO_ENGINE_SIM, 8, &why);
    snap_begin(y, sim, IO_SIM_ROOT);
    snap_insert(y, 300);
    snap_take(y);
    snap_insert(y, 300);
    snap_take(y);
    return sim;
}

/* Each call fails, once and from then on: the snapshots from before stay, and when it can be written again it is. */
START_TEST(every_call_fails)
{
    static SnapFix y;
    static const int ERRORS[] = {EIO, ENOSPC};
    u64 version;
    for (u32 mode = 0; mode < 4; mode++) {
        Io *sim = begin_on_sim(&y);
        u64 failures = 0;
        for (u64 nth = 1;; nth++) {
            SnapshotReport r;
            Error err = {0};
            u64 before = y.s.newest.head.version;
            snap_insert(&y, 10);
            io_sim_fail(sim, nth, ERRORS[mode / 2], mode % 2);
            bool ok = snapshot_write(&y.s, &r, &err);
            u64 calls = io_sim_fail(sim, 0, 0, false);
            HOLDS(complete_snapshots(sim, &version) >= 2);
            HOLDS(version >= before);
            if (!ok) {
                failures++;
                ck_assert_msg(err.code == (mode / 2 ? ERR_DISK_FULL : ERR_IO_ERROR), "call %llu: %s", (unsigned long long)nth, err.message);
                HOLDS(y.s.newest.head.version == before);
                ck_assert_msg(snapshot_write(&y.s, &r, &err), "%s", err.message);
            }
            HOLDS(y.s.newest.head.version == y.f.version);
            if (calls < nth)
                break;
        }
        ck_assert_uint_gt(failures, 10);
        ck_assert_uint_eq(io_sim_syncs_after_failure(sim), 0);
        snap_end(&y);
        io_free(sim);
    }
}
END_TEST

/* The power goes after each call: what was complete before is complete. */
START_TEST(power_cuts_leave_two_snapshots)
{
    static SnapFix y;
    u64 version;
    for (u64 round = 0; round < 200; round++) {
        Io *sim = begin_on_sim(&y);
        SnapshotReport r;
        Error err;
        u64 before = y.s.newest.head.version;
        snap_insert(&y, 10);
        io_sim_fail(sim, 1 + round % 50, EIO, true);
        bool ok = snapshot_write(&y.s, &r, &err);
        io_sim_fail(sim, 0, 0, false);
        io_sim_power_cut_random(sim, round + 1);
        u32 n = complete_snapshots(sim, &version);
        HOLDS(n >= 2 && version >= (ok ? y.f.version : before));
        snap_end(&y);
        io_free(sim);
    }
}
END_TEST

int
main(void)
{
    Suite *s = suite_create("snapshot");
    TCase *c = tcase_create("snapshot");
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_set_timeout(c, 60);
    tcase_add_test(c, empty_world);
    tcase_add_test(c, everything_is_there_again);
    tcase_add_test(c, a_restarted_world_goes_on);
    tcase_add_test(c, it_shows_the_pinned_version);
    tcase_add_test(c, what_did_not_change_is_not_written_again);
    tcase_add_test(c, a_damaged_piece_is_mended_or_the_older_snapshot_used);
    tcase_add_test(c, missing_and_foreign_files);
    tcase_add_test(c, every_call_fails);
    tcase_add_test(c, power_cuts_leave_two_snapshots);
    suite_add_tcase(s, c);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed ? 1 : 0;
}
