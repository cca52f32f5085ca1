/*
 * test_wal.c
 *    The redo log's writer and reader together: on the three engines, over rotation, removal, kills, power cuts and failing calls.
 *
 * The ledger knows every frame that was submitted, with its LSN, and whether its event said durable. After each disaster the log must hold every
 * acknowledged frame, nothing that was not submitted, in order and with the same bytes.
 */
#include "common/base/env.h"
#include "common/base/hash.h"
#include "common/base/say.h"
#include "common/disk/walformat.h"
#include "common/io/io_sim.h"

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SEGMENT = 128 * 1024, FRAMES_MAX = 20000, DEPTH = WAL_DEPTH + 1 };

typedef struct Entry {
    Lsn lsn;
    u64 seed;
    u32 len;
    u64 group; /* tag */
    bool acked, lost, met;
} Entry;

/* Check writes a line for every assertion that holds; this one, for inner loops, does not. */
#define NEED(x)                                                                                                        \
    do {                                                                                                               \
        if (!(x))                                                                                                      \
            ck_abort_msg("%s", #x);                                                                                    \
    } while (0)

static Io *io;
static int dir_fd;
static char folder[64];
static Entry ledger[FRAMES_MAX];
static u32 entries;
static u64 tags, random_state;
static u8 frame[WAL_FRAME_MAX_BYTES];

static u64
chance(void)
{
    random_state += 0x9e3779b97f4a7c15ull;
    return hash_u64(random_state);
}

static void
fill_frame(u64 seed, u32 len)
{
    for (u32 i = 0; i < len; i += 8) {
        u64 word = hash_u64(seed + i);
        memcpy(frame + i, &word, MIN(8u, len - i));
    }
}

static void
set_up_on(IoEngineKind kind)
{
    const char *why;
    say_level(SAY_ERROR + 1);
    io = io_new(kind, DEPTH, &why);
    ck_assert_ptr_nonnull(io);
    dir_fd = IO_SIM_ROOT;
    entries = 0;
    tags = 0;
    random_state = 1;
    if (kind == IO_ENGINE_SIM)
        return;
    strcpy(folder, "test_wal.XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    dir_fd = io_open(io, IO_DATA_FOLDER, AT_FDCWD, folder, IO_READ | IO_DIR);
    ck_assert_int_ge(dir_fd, 0);
}

static bool
remove_one(void *ctx, const char *name)
{
    (void)ctx;
    unlinkat(dir_fd, name, 0);
    return true;
}

static void
tear_down(void)
{
    if (io_kind(io) != IO_ENGINE_SIM) {
        ck_assert_int_eq(io_list(io, IO_WAL_LIST, dir_fd, remove_one, NULL), 0);
        ck_assert_int_eq(io_close(io, dir_fd), 0);
        ck_assert_int_eq(rmdir(folder), 0);
    }
    io_free(io);
}

static void
set_up_ring(void)
{
    set_up_on(IO_ENGINE_RING);
}

static void
set_up_plain(void)
{
    set_up_on(IO_ENGINE_PLAIN);
}

static void
set_up_sim(void)
{
    set_up_on(IO_ENGINE_SIM);
}

/* ---- the ledger ---- */

static u32 seen, unknown_seen; /* next entry to be met; entries met that were not acknowledged */

static bool
meet_frame(void *ctx, Lsn lsn, const u8 *data, u32 len, Error *err)
{
    (void)ctx;
    (void)err;
    while (seen < entries && ledger[seen].lsn != lsn) {
        if (ledger[seen].acked)
            ck_abort_msg("frame at LSN %llu is lost", (unsigned long long)ledger[seen].lsn);
        seen++;
    }
    if (seen == entries)
        ck_abort_msg("a frame at LSN %llu that nobody wrote", (unsigned long long)lsn);
    Entry *e = &ledger[seen++];
    fill_frame(e->seed, len);
    NEED(len == e->len && (uintptr_t)data % 8 == 0 && memcmp(data, frame, len) == 0);
    if (e->lost)
        ck_abort_msg("frame at LSN %llu was given up and came back", (unsigned long long)lsn);
    unknown_seen += !e->acked;
    e->met = true;
    return true;
}

/* Read the log, compare it with the ledger. False: it could not be read, which is no damage. */
static bool
read_log(WalVerdict *ret)
{
    Error err = {0};
    for (u32 i = 0; i < entries; i++)
        ledger[i].met = false;
    seen = unknown_seen = 0;
    if (!wal_read(io, dir_fd, 0, meet_frame, NULL, ret, &err)) {
        ck_assert_msg(err.code == ERR_IO_ERROR, "%s", err.message);
        return false;
    }
    for (; seen < entries; seen++)
        if (ledger[seen].acked)
            ck_abort_msg("frame at LSN %llu is lost at the end", (unsigned long long)ledger[seen].lsn);
    return true;
}

static WalVerdict
check_log(void)
{
    WalVerdict v = {0};
    ck_assert(read_log(&v));
    return v;
}

/* A new writer settles what was unknown: what was read stays for ever, the rest never comes back. */
static WalWriter *
open_writer(u64 segment)
{
    Error err;
    WalVerdict v = {0};
    WalWriter *w = NULL;
    u32 kept = 0;
    if (!read_log(&v) || !wal_writer_open(io, dir_fd, v.valid_through, v.last_epoch, segment, &w, &err))
        return NULL;
    for (u32 i = 0; i < entries; i++)
        if (ledger[i].met) {
            ledger[i].acked = true;
            ledger[kept++] = ledger[i];
        }
    entries = kept;
    return w;
}

static void
reap(WalWriter *w, u64 deadline)
{
    WalEvent events[WAL_DEPTH];
    bool event;
    u32 n = wal_wait(w, -1, deadline, events, WAL_DEPTH, &event);
    for (u32 i = 0; i < n; i++)
        for (u32 k = entries; k-- > 0 && ledger[k].group >= events[i].tag;)
            if (ledger[k].group == events[i].tag) {
                ledger[k].acked = events[i].result == 0;
                NEED(ledger[k].lsn < events[i].end_lsn);
                NEED(events[i].result < 0 || events[i].end_lsn <= wal_durable_lsn(w));
            }
}

static void
reap_all(WalWriter *w)
{
    while (wal_in_flight(w))
        reap(w, UINT64_MAX);
}

/* One group of random frames; false when writes have stopped. */
static bool
write_group(WalWriter *w, u32 frames, u32 len_max)
{
    while (wal_in_flight(w) == WAL_DEPTH)
        reap(w, UINT64_MAX);
    if (!wal_group_begin(w))
        return false;
    u64 tag = tags++;
    for (u32 i = 0; i < frames && entries < FRAMES_MAX; i++) {
        Entry e = {.seed = chance(), .len = 1 + (u32)(chance() % len_max), .group = tag};
        fill_frame(e.seed, e.len);
        Lsn next = wal_next_lsn(w);
        e.lsn = wal_group_add(w, frame, e.len);
        if (e.lsn == 0) {
            NEED(i > 0);
            break;
        }
        NEED(e.lsn == next && e.lsn > wal_durable_lsn(w));
        NEED(entries == 0 || e.lsn > ledger[entries - 1].lsn);
        ledger[entries++] = e;
    }
    return wal_group_submit(w, tag) == 0;
}

static bool
write_groups(WalWriter *w, u32 groups)
{
    for (u32 i = 0; i < groups; i++) {
        if (!write_group(w, 1 + (u32)(chance() % 4), chance() % 8 ? 600 : 20000))
            return false;
        if (chance() % 3 == 0)
            reap(w, 0);
    }
    return true;
}

/* ---- tests of all engines ---- */

START_TEST(what_was_written_is_read)
{
    WalWriter *w = open_writer(SEGMENT);
    ck_assert_ptr_nonnull(w);
    ck_assert(write_groups(w, 300));
    reap_all(w);
    ck_assert_int_eq(wal_seal(w), 0);
    Lsn durable = wal_durable_lsn(w);
    ck_assert_int_eq(wal_seal(w), 0);
    ck_assert_uint_eq(wal_durable_lsn(w), durable);
    wal_writer_free(w);
    u32 before = entries;
    WalVerdict v = check_log();
    ck_assert_uint_eq(entries, before);
    ck_assert_uint_eq(unknown_seen, 0);
    ck_assert(!v.torn);
    ck_assert_uint_eq(v.valid_through, durable);
    ck_assert_uint_gt(v.segments, 2);
    /* A second writer goes on behind it; reading from the middle starts at that frame. */
    w = open_writer(SEGMENT);
    ck_assert(write_groups(w, 20));
    reap_all(w);
    wal_writer_free(w);
    check_log();
    Error err;
    u32 middle = entries / 2;
    seen = middle;
    ck_assert(wal_read(io, dir_fd, ledger[middle].lsn, meet_frame, NULL, &v, &err));
    ck_assert_uint_eq(seen, entries);
    ck_assert_uint_eq(v.frames, entries - middle);
}
END_TEST

START_TEST(old_segments_go)
{
    WalWriter *w = open_writer(SEGMENT);
    WalVerdict v;
    Error err;
    ck_assert(write_groups(w, 300));
    reap_all(w);
    Lsn keep = ledger[entries / 2].lsn;
    ck_assert_int_eq(wal_remove_before(io, dir_fd, keep), 0);
    wal_writer_free(w);
    ck_assert(!wal_read(io, dir_fd, 0, meet_frame, NULL, &v, &err));
    ck_assert_int_eq(err.code, ERR_DATA_CORRUPTED);
    seen = entries / 2;
    ck_assert_msg(wal_read(io, dir_fd, keep, meet_frame, NULL, &v, &err), "%s", err.message);
    ck_assert_uint_eq(seen, entries);
    seen = 0;
    for (u32 i = 0; i < entries; i++)
        ledger[i].acked = false; /* any suffix will do */
    ck_assert(wal_read(io, dir_fd, WAL_FROM_OLDEST, meet_frame, NULL, &v, &err));
    ck_assert(!wal_read(io, dir_fd, v.valid_through + 1, meet_frame, NULL, &v, &err));
}
END_TEST

START_TEST(largest_groups)
{
    WalWriter *w = open_writer(WAL_SEGMENT_BYTES_DEFAULT / 4);
    ck_assert_uint_eq(wal_frame_max(w), WAL_FRAME_MAX_BYTES);
    for (int i = 0; i < 6; i++)
        ck_assert(write_group(w, 100, WAL_FRAME_MAX_BYTES));
    reap_all(w);
    wal_writer_free(w);
    WalVerdict v = check_log();
    ck_assert_uint_ge(v.segments, 2);
    w = open_writer(WAL_SEGMENT_BYTES_DEFAULT / 4);
    for (u32 len = WAL_PAGE_PAYLOAD - 200; len < WAL_PAGE_PAYLOAD + 200; len += 7) /* around the borders of pages */
        ck_assert(write_group(w, 1, len));
    reap_all(w);
    wal_writer_free(w);
    check_log();
}
END_TEST

static bool
read_counter(void *ctx, Lsn lsn, const u8 *data, u32 len, Error *err)
{
    u64 counter, *last = ctx;
    if (len < sizeof counter)
        return error_set(err, ERR_INTERNAL_ERROR, "a frame of %u bytes at LSN %llu", len, (unsigned long long)lsn);
    memcpy(&counter, data, sizeof counter);
    if (counter != ++*last)
        return error_set(err, ERR_INTERNAL_ERROR, "frame %llu instead of %llu", (unsigned long long)counter, (unsigned long long)*last);
    return true;
}

/* A child writes frames that count up and tells through the pipe what is durable, until it is killed. */
static void
write_until_killed(IoEngineKind kind, int to)
{
    const char *why;
    Error err;
    WalVerdict v;
    u64 next = 0;
    io = io_new(kind, DEPTH, &why); /* the parent's stays untouched */
    WalWriter *w;
    if (!wal_read(io, dir_fd, 0, read_counter, &next, &v, &err) ||
        !wal_writer_open(io, dir_fd, v.valid_through, v.last_epoch, 256 * 1024, &w, &err))
        _exit(1);
    for (u64 told = next;;) {
        WalEvent events[WAL_DEPTH];
        bool event;
        if (write(to, &told, sizeof told) != sizeof told)
            _exit(2);
        while (wal_in_flight(w) < WAL_DEPTH && wal_group_begin(w)) {
            u32 frames = 1 + (u32)(chance() % 3);
            next += frames;
            for (u32 i = frames; i-- > 0;) {
                u64 counter = next - i;
                memcpy(frame, &counter, sizeof counter);
                if (!wal_group_add(w, frame, sizeof counter + (u32)(chance() % 9000)))
                    _exit(3);
            }
            if (wal_group_submit(w, next) < 0)
                _exit(4);
        }
        u32 n = wal_wait(w, -1, UINT64_MAX, events, WAL_DEPTH, &event);
        if (n && events[n - 1].result < 0)
            _exit(5);
        told = n ? events[n - 1].tag : told;
    }
}

START_TEST(killed_writers_lose_nothing_acknowledged)
{
    for (u32 round = 0; round < 25; round++) {
        int ends[2], status;
        u64 acked = 0, last, found = 0;
        WalVerdict v;
        Error err = {0};
        ck_assert_int_eq(pipe(ends), 0);
        random_state = round;
        pid_t child = fork();
        if (child == 0) {
            close(ends[0]);
            write_until_killed(io_kind(io), ends[1]);
        }
        close(ends[1]);
        NEED(read(ends[0], &acked, sizeof acked) == sizeof acked); /* it has opened the log */
        usleep((useconds_t)(chance() % 8000));
        kill(child, SIGKILL);
        ck_assert_int_eq(waitpid(child, &status, 0), child);
        ck_assert(WIFSIGNALED(status));
        while (read(ends[0], &last, sizeof last) == sizeof last)
            acked = last;
        close(ends[0]);
        ck_assert_msg(wal_read(io, dir_fd, 0, read_counter, &found, &v, &err), "%s", err.message);
        ck_assert_uint_ge(found, acked);
    }
}
END_TEST

/* ---- tests of the simulated disk ---- */

START_TEST(power_cuts_lose_nothing_acknowledged)
{
    for (u32 round = 0; round < 120; round++) {
        io_sim_shuffle(io, round % 2 ? chance() | 1 : 0);
        WalWriter *w = open_writer(SEGMENT);
        ck_assert_ptr_nonnull(w);
        ck_assert(write_groups(w, (u32)(chance() % 40)));
        if (chance() % 4 == 0) {
            reap_all(w);
            ck_assert_int_eq(wal_seal(w), 0);
        }
        if (chance() % 2) {
            io_sim_power_cut_random(io, chance());
        } else { /* a killed process's writes land while its successor is at work */
            io_sim_kill(io);
            WalWriter *next = open_writer(SEGMENT);
            ck_assert_ptr_nonnull(next);
            io_sim_land(io);
            ck_assert(write_groups(next, 5));
            reap_all(next);
            io_sim_kill(io);
            wal_writer_abandon(next);
        }
        wal_writer_abandon(w);
        check_log();
        if (entries > FRAMES_MAX / 2) {
            io_sim_clear(io);
            entries = 0;
        }
    }
}
END_TEST

/* Read, open, write, seal, write, stop; wherever a call fails. */
static void
run_script(bool try_resume)
{
    WalWriter *w = open_writer(SEGMENT);
    Error err;
    if (!w)
        return;
    bool going = write_groups(w, 25);
    if (going) {
        reap_all(w);
        going = wal_seal(w) == 0 && write_groups(w, 25);
    }
    reap_all(w);
    if (try_resume && wal_stopped(w)) {
        io_sim_fail(io, 0, 0, false);
        ck_assert_msg(wal_writer_resume(w, &err), "%s", err.message);
        for (u32 i = 0; i < entries; i++)
            ledger[i].lost = !ledger[i].acked;
        ck_assert(write_groups(w, 10));
        reap_all(w);
        ck_assert(ledger[entries - 1].acked);
    }
    wal_writer_free(w);
}

static void
sweep(int error, bool sticky, bool resume)
{
    for (u64 nth = 1;; nth++) {
        io_sim_clear(io);
        entries = 0;
        random_state = 7;
        io_sim_shuffle(io, nth);
        WalWriter *w = open_writer(SEGMENT);
        ck_assert(write_groups(w, 5));
        reap_all(w);
        wal_writer_free(w);
        io_sim_fail(io, nth, error, sticky);
        run_script(resume);
        u64 made = io_sim_fail(io, 0, 0, false);
        ck_assert_uint_eq(io_sim_syncs_after_failure(io), 0);
        w = open_writer(SEGMENT);
        ck_assert_ptr_nonnull(w);
        io_sim_power_cut_random(io, chance());
        wal_writer_abandon(w);
        check_log();
        if (made < nth)
            break;
    }
}

START_TEST(any_call_fails_once)
{
    sweep(EIO, false, false);
}
END_TEST

START_TEST(any_call_fails_from_then_on)
{
    sweep(ENOSPC, true, false);
}
END_TEST

START_TEST(writes_resume_after_a_stop)
{
    sweep(ENOSPC, true, true);
}
END_TEST

static void
expect_refusal(const char *part)
{
    WalVerdict v;
    Error err = {0};
    seen = 0;
    ck_assert(!wal_read(io, dir_fd, 0, meet_frame, NULL, &v, &err));
    ck_assert_int_eq(err.code, ERR_DATA_CORRUPTED);
    ck_assert_msg(strstr(err.message, part) != NULL, "%s", err.message);
}

typedef struct Files {
    char names[32][WAL_NAME_BYTES];
    u32 count;
} Files;

static bool
note_file(void *ctx, const char *name)
{
    Files *f = ctx;
    Lsn start;
    u32 counter;
    if (wal_segment_name_read(name, &start, &counter) && f->count < 32)
        memcpy(f->names[f->count++], name, strlen(name) + 1);
    return true;
}

static int
compare_files(const void *a, const void *b)
{
    return strcmp(a, b);
}

START_TEST(missing_and_resurrected_segments)
{
    Files files = {0};
    WalWriter *w = open_writer(SEGMENT);
    ck_assert(write_groups(w, 200));
    reap_all(w);
    wal_writer_free(w);
    ck_assert_int_eq(io_list(io, IO_WAL_LIST, dir_fd, note_file, &files), 0);
    qsort(files.names, files.count, sizeof files.names[0], compare_files);
    ck_assert_uint_ge(files.count, 4);
    for (u32 i = 0; i < files.count; i++) {
        ck_assert_int_eq(io_rename(io, IO_WAL_RENAME, dir_fd, files.names[i], "away"), 0);
        expect_refusal(i + 1 < files.count ? "the segment before this one is missing" : "was durable");
        /* Under another segment's name it is not taken for that one. */
        ck_assert_int_eq(io_rename(io, IO_WAL_RENAME, dir_fd, "away", "00000000000f0000.00000077"), 0);
        expect_refusal("name");
        ck_assert_int_eq(io_rename(io, IO_WAL_RENAME, dir_fd, "00000000000f0000.00000077", files.names[i]), 0);
    }
    check_log();
    /* A removed segment comes back whole after a power cut: not read. */
    Lsn from = ledger[entries - 1].lsn;
    u64 size;
    u8 *copy = malloc(SEGMENT), *old = io_sim_file(io, files.names[1], &size);
    ck_assert_uint_eq(size, SEGMENT);
    memcpy(copy, old, size);
    w = open_writer(SEGMENT);
    ck_assert_int_eq(wal_remove_before(io, dir_fd, from), 0);
    wal_writer_free(w);
    io_sim_put(io, files.names[1], copy, size);
    free(copy);
    WalVerdict v;
    Error err;
    seen = entries - 1;
    ck_assert_msg(wal_read(io, dir_fd, from, meet_frame, NULL, &v, &err), "%s", err.message);
    ck_assert_uint_eq(v.frames, 1);
    expect_refusal("missing");
}
END_TEST

START_TEST(watermark_proves_the_end)
{
    Files files = {0};
    u64 size;
    WalWriter *w = open_writer(SEGMENT);
    ck_assert(write_groups(w, 3));
    reap_all(w);
    wal_writer_free(w); /* writes the watermark */
    ck_assert_int_eq(io_list(io, IO_WAL_LIST, dir_fd, note_file, &files), 0);
    u8 *bytes = io_sim_file(io, files.names[0], &size);
    memset(bytes + WAL_PAGE, 0, size - WAL_PAGE);
    expect_refusal("everything below LSN");
    ck_assert_int_eq(io_unlink(io, IO_WAL_UNLINK, dir_fd, WAL_WATERMARK_NAME), 0);
    for (u32 i = 0; i < entries; i++)
        ledger[i].acked = false; /* without it nothing proves them */
    check_log();
}
END_TEST

#ifdef ENABLE_FAULTS
/* The fault table on the real engines: a failed, torn or short group is written again into the spare; when that fails as well, nothing is shown, and
 * writing goes on when the trouble is over. */
START_TEST(faults_of_the_log)
{
    static const struct { IoSite site; IoFaultAction action; i64 arg; bool sticky, stops; } CASES[] = {
        {IO_WAL_WRITE, IO_FAULT_ERRNO, EIO, false, false}, {IO_WAL_WRITE, IO_FAULT_TORN, 512, false, false},
        {IO_WAL_WRITE, IO_FAULT_TORN, 8192, false, false}, {IO_WAL_WRITE, IO_FAULT_SHORT, 512, true, false},
        {IO_WAL_WRITE, IO_FAULT_ERRNO, ENOSPC, true, true}, {IO_WAL_HEADER, IO_FAULT_ERRNO, EIO, true, true},
        {IO_WAL_RENAME, IO_FAULT_ERRNO, EIO, true, true}, {IO_WAL_DIR_SYNC, IO_FAULT_ERRNO, EIO, true, true},
        {IO_WAL_SYNC, IO_FAULT_ERRNO, EIO, true, true}, {IO_WAL_CREATE, IO_FAULT_ERRNO, ENOSPC, true, true},
        {IO_WATERMARK, IO_FAULT_ERRNO, EIO, true, false},
    };
    for (u32 i = 0; i < COUNT_OF(CASES); i++) {
        Error err;
        io_fault_clear();
        WalWriter *w = open_writer(SEGMENT);
        ck_assert(write_groups(w, 3));
        io_fault_add(CASES[i].site, CASES[i].action, CASES[i].arg, 3, CASES[i].sticky);
        bool going = write_groups(w, 120);
        reap_all(w);
        ck_assert_msg(going == !CASES[i].stops && (wal_stopped(w) != 0) == CASES[i].stops, "case %u: stopped %d", i, wal_stopped(w));
        io_fault_clear();
        ck_assert(wal_writer_resume(w, &err));
        for (u32 k = 0; k < entries; k++)
            ledger[k].lost = !ledger[k].acked;
        ck_assert(write_groups(w, 10));
        reap_all(w);
        ck_assert_int_eq(wal_seal(w), 0);
        wal_writer_free(w);
        check_log();
    }
}
END_TEST
#endif

static void
add_tests(Suite *s, const char *name, void (*up)(void))
{
    TCase *t = tcase_create(name);
    tcase_add_checked_fixture(t, up, tear_down);
    tcase_set_timeout(t, 120);
    tcase_add_test(t, what_was_written_is_read);
    tcase_add_test(t, old_segments_go);
    tcase_add_test(t, largest_groups);
    if (up == set_up_sim) {
        tcase_add_test(t, power_cuts_lose_nothing_acknowledged);
        tcase_add_test(t, any_call_fails_once);
        tcase_add_test(t, any_call_fails_from_then_on);
        tcase_add_test(t, writes_resume_after_a_stop);
        tcase_add_test(t, missing_and_resurrected_segments);
        tcase_add_test(t, watermark_proves_the_end);
    }
    if (up != set_up_sim) {
        tcase_add_test(t, killed_writers_lose_nothing_acknowledged);
#ifdef ENABLE_FAULTS
        tcase_add_test(t, faults_of_the_log);
#endif
    }
    suite_add_tcase(s, t);
}

int
main(void)
{
    Suite *s = suite_create("wal");
    add_tests(s, "sim", set_up_sim);
    add_tests(s, "ring", set_up_ring);
    add_tests(s, "plain", set_up_plain);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed ? 1 : 0;
}
