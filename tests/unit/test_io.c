/* test_io.c: the three engines: synchronous calls, durable writes, waiting, injected failures, power cuts. */
#include "common/base/env.h"
#include "common/io/io.h"
#include "common/io/io_sim.h"

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/wait.h>
#include <unistd.h>

enum { DEPTH = 8, PAGE = 4096 };

static Io *io;
static IoEngineKind kind;
static int dir_fd;
static char folder[64];
static u8 *pages; /* DEPTH aligned pages, each full of its number + 1 */

static void
set_up(void)
{
    const char *why;
    io = io_new(kind, DEPTH, &why);
    ck_assert_ptr_nonnull(io);
    ck_assert_ptr_nonnull(why);
    dir_fd = IO_SIM_ROOT;
    if (kind != IO_ENGINE_SIM) {
        strcpy(folder, "test_io.XXXXXX");
        ck_assert_ptr_nonnull(mkdtemp(folder));
        dir_fd = io_open(io, IO_DATA_FOLDER, AT_FDCWD, folder, IO_READ | IO_DIR);
        ck_assert_int_ge(dir_fd, 0);
    }
    ck_assert_int_eq(posix_memalign((void **)&pages, PAGE, DEPTH * PAGE), 0);
    for (int i = 0; i < DEPTH; i++)
        memset(pages + i * PAGE, i + 1, PAGE);
}

static bool
remove_one(void *ctx, const char *name)
{
    (void)ctx;
    ck_assert_int_eq(unlinkat(dir_fd, name, 0), 0);
    return true;
}

static void
tear_down(void)
{
    if (kind != IO_ENGINE_SIM) {
        ck_assert_int_eq(io_list(io, IO_WAL_LIST, dir_fd, remove_one, NULL), 0);
        ck_assert_int_eq(rmdir(folder), 0);
        ck_assert_int_eq(io_close(io, dir_fd), 0);
    }
    io_free(io);
    free(pages);
}

static void
set_up_ring(void)
{
    kind = IO_ENGINE_RING;
    set_up();
}

static void
set_up_plain(void)
{
    kind = IO_ENGINE_PLAIN;
    set_up();
}

static void
set_up_sim(void)
{
    kind = IO_ENGINE_SIM;
    set_up();
}

static bool
count_name(void *ctx, const char *name)
{
    *(int *)ctx += name[0] == 'n';
    return true;
}

START_TEST(synchronous_calls)
{
    char text[16] = {0};
    int names = 0;
    int fd = io_open(io, IO_WAL_CREATE, dir_fd, "new", IO_READ | IO_WRITE | IO_CREATE | IO_EXCL);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(io_open(io, IO_WAL_CREATE, dir_fd, "new", IO_WRITE | IO_CREATE | IO_EXCL), -EEXIST);
    ck_assert_int_eq(io_open(io, IO_WAL_OPEN, dir_fd, "none", IO_READ), -ENOENT);
    ck_assert_int_eq(io_allocate(io, IO_WAL_CREATE, fd, 10000), 0);
    ck_assert_int_eq(io_size(io, IO_WAL_READ, fd), 10000);
    ck_assert_int_eq(io_write(io, IO_WAL_HEADER, fd, "hello", 5, 9998), 5);
    ck_assert_int_eq(io_read(io, IO_WAL_READ, fd, text, 16, 9997), 6);
    ck_assert_mem_eq(text, "\0hello", 6);
    ck_assert_int_eq(io_read(io, IO_WAL_READ, fd, text, 16, 20000), 0);
    ck_assert_int_eq(io_sync(io, IO_WAL_SYNC, fd), 0);
    ck_assert_int_eq(io_truncate(io, IO_WAL_CREATE, fd, 100), 0);
    ck_assert_int_eq(io_size(io, IO_WAL_READ, fd), 100);
    ck_assert_int_eq(io_close(io, fd), 0);
    ck_assert_int_eq(io_mkdir(io, IO_DATA_FOLDER, dir_fd, "folder"), 0);
    ck_assert_int_eq(io_mkdir(io, IO_DATA_FOLDER, dir_fd, "folder"), -EEXIST);
    int sub = io_open(io, IO_DATA_FOLDER, dir_fd, "folder", IO_READ | IO_DIR);
    ck_assert_int_ge(sub, 0);
    fd = io_open(io, IO_WAL_CREATE, sub, "n1", IO_WRITE | IO_CREATE);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(io_close(io, fd), 0);
    ck_assert_int_eq(io_rename(io, IO_WAL_RENAME, sub, "n1", "n2"), 0);
    ck_assert_int_eq(io_sync(io, IO_WAL_DIR_SYNC, sub), 0);
    ck_assert_int_eq(io_list(io, IO_WAL_LIST, sub, count_name, &names), 0);
    ck_assert_int_eq(names, 1);
    ck_assert_int_eq(io_unlink(io, IO_WAL_UNLINK, sub, "n1"), -ENOENT);
    ck_assert_int_eq(io_unlink(io, IO_WAL_UNLINK, sub, "n2"), 0);
    ck_assert_int_eq(io_close(io, sub), 0);
    if (kind != IO_ENGINE_SIM)
        ck_assert_int_eq(unlinkat(dir_fd, "folder", AT_REMOVEDIR), 0);
    u64 calls, errors, bytes;
    io_site_counts(io, IO_WAL_CREATE, &calls, &errors, &bytes);
    ck_assert_uint_ge(calls, 4);
    ck_assert_uint_eq(errors, 1);
}
END_TEST

/* Open directly where that works; *ret_direct says which. */
static int
open_log(const char *name, bool want_direct, bool *ret_direct)
{
    int fd = -EINVAL;
    *ret_direct = want_direct;
    if (want_direct)
        fd = io_open(io, IO_WAL_CREATE, dir_fd, name, IO_READ | IO_WRITE | IO_CREATE | IO_DIRECT);
    if (fd == -EINVAL) {
        *ret_direct = false;
        fd = io_open(io, IO_WAL_CREATE, dir_fd, name, IO_READ | IO_WRITE | IO_CREATE);
    }
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(io_allocate(io, IO_WAL_CREATE, fd, DEPTH * PAGE), 0);
    return fd;
}

static void
reap_all(u32 want, i64 result)
{
    bool seen[DEPTH] = {0}, event;
    u64 deadline = env->monotonic_ns() + 10000000000u;
    while (want && env->monotonic_ns() < deadline) {
        IoDone done[DEPTH];
        u32 n = io_wait(io, -1, deadline, done, DEPTH, &event);
        for (u32 i = 0; i < n; i++) {
            ck_assert_uint_lt(done[i].tag, DEPTH);
            ck_assert(!seen[done[i].tag]);
            seen[done[i].tag] = true;
            ck_assert_int_eq(done[i].result, result);
        }
        want -= n;
    }
    ck_assert_uint_eq(want, 0);
}

static void
write_pages(bool want_direct)
{
    bool direct;
    u8 *back = malloc(DEPTH * PAGE);
    int fd = open_log("log", want_direct, &direct);
    for (int round = 0; round < 20; round++) {
        for (u32 i = 0; i < DEPTH; i++)
            ck_assert_int_eq(io_submit_durable(io, IO_WAL_WRITE, fd, pages + i * PAGE, PAGE, i * PAGE, direct, i), 0);
        ck_assert_uint_eq(io_in_flight(io), DEPTH);
        ck_assert_int_eq(io_submit_durable(io, IO_WAL_WRITE, fd, pages, PAGE, 0, direct, 0), -EAGAIN);
        reap_all(DEPTH, PAGE);
        ck_assert_uint_eq(io_in_flight(io), 0);
    }
    int plain = io_open(io, IO_WAL_OPEN, dir_fd, "log", IO_READ);
    ck_assert_int_eq(io_read(io, IO_WAL_READ, plain, back, DEPTH * PAGE, 0), DEPTH * PAGE);
    ck_assert_mem_eq(back, pages, DEPTH * PAGE);
    ck_assert_int_eq(io_close(io, plain), 0);
    ck_assert_int_eq(io_close(io, fd), 0);
    free(back);
}

START_TEST(durable_direct)
{
    write_pages(true);
}
END_TEST

START_TEST(durable_buffered)
{
    write_pages(false);
}
END_TEST

START_TEST(a_write_that_fails_says_so)
{
    if (kind == IO_ENGINE_SIM)
        return;
    int full = io_open(io, IO_WAL_OPEN, AT_FDCWD, "/dev/full", IO_WRITE);
    ck_assert_int_ge(full, 0);
    ck_assert_int_eq(io_submit_durable(io, IO_WAL_WRITE, full, pages, PAGE, 0, false, 0), 0);
    reap_all(1, -ENOSPC);
    ck_assert_int_eq(io_close(io, full), 0);
}
END_TEST

START_TEST(waiting_ends_by_event_deadline_and_signal)
{
    if (kind == IO_ENGINE_SIM)
        return;
    int event_fd = eventfd(0, EFD_CLOEXEC);
    bool event;
    IoDone done[DEPTH];
    u64 start = env->monotonic_ns();
    ck_assert_uint_eq(io_wait(io, event_fd, start + 20000000, done, DEPTH, &event), 0);
    ck_assert(!event);
    ck_assert_uint_ge(env->monotonic_ns() - start, 20000000);
    for (int i = 0; i < 3; i++) {
        ck_assert_int_eq(eventfd_write(event_fd, 1), 0);
        ck_assert_uint_eq(io_wait(io, event_fd, UINT64_MAX, done, DEPTH, &event), 0);
        ck_assert(event);
    }
    ck_assert_uint_eq(io_wait(io, event_fd, 0, done, DEPTH, &event), 0);
    ck_assert(!event);
    bool direct;
    int fd = open_log("log", true, &direct);
    ck_assert_int_eq(io_submit_durable(io, IO_WAL_WRITE, fd, pages, PAGE, 0, direct, 5), 0);
    ck_assert_uint_eq(io_wait(io, event_fd, UINT64_MAX, done, DEPTH, &event), 1);
    ck_assert_uint_eq(done[0].tag, 5);
    /* An event that came while nobody asked for events is not lost. */
    ck_assert_int_eq(eventfd_write(event_fd, 1), 0);
    ck_assert_uint_eq(io_wait(io, -1, env->monotonic_ns() + 20000000, done, DEPTH, &event), 0);
    ck_assert(!event);
    ck_assert_uint_eq(io_wait(io, event_fd, env->monotonic_ns() + 20000000, done, DEPTH, &event), 0);
    ck_assert(event);
    ck_assert_int_eq(io_close(io, fd), 0);
    ck_assert_int_eq(close(event_fd), 0);
}
END_TEST

static void
nothing(int sig)
{
    (void)sig;
}

START_TEST(a_signal_ends_a_wait)
{
    if (kind == IO_ENGINE_SIM)
        return;
    struct sigaction act = {.sa_handler = nothing};
    sigaction(SIGALRM, &act, NULL);
    IoDone done[DEPTH];
    bool event;
    u64 start = env->monotonic_ns();
    ualarm(30000, 0);
    ck_assert_uint_eq(io_wait(io, -1, start + 5000000000u, done, DEPTH, &event), 0);
    ck_assert_uint_lt(env->monotonic_ns() - start, 4000000000u);
}
END_TEST

START_TEST(power_cut_loses_only_what_was_not_synced)
{
    u64 dirty[16];
    u64 size;
    int fd = io_open(io, IO_WAL_CREATE, dir_fd, "a", IO_WRITE | IO_CREATE);
    ck_assert_int_eq(io_allocate(io, IO_WAL_CREATE, fd, 2 * PAGE), 0);
    ck_assert_int_eq(io_sync(io, IO_WAL_SYNC, fd), 0);
    ck_assert_uint_eq(io_sim_folder_ops(io), 1);
    ck_assert_int_eq(io_sync(io, IO_WAL_DIR_SYNC, IO_SIM_ROOT), 0);
    ck_assert_int_eq(io_submit_durable(io, IO_WAL_WRITE, fd, pages, PAGE, 0, true, 0), 0);
    reap_all(1, PAGE);
    io_sim_hold(io, true);
    ck_assert_int_eq(io_submit_durable(io, IO_WAL_WRITE, fd, pages + PAGE, PAGE, PAGE, true, 1), 0);
    ck_assert_uint_eq(io_sim_dirty(io, "a", dirty, 16), 8);
    ck_assert_uint_eq(dirty[0], 8);
    ck_assert_int_ge(io_open(io, IO_WAL_CREATE, dir_fd, "b", IO_WRITE | IO_CREATE), 0);
    io_sim_power_cut(io, 0, NULL, NULL);
    u8 *a = io_sim_file(io, "a", &size);
    ck_assert_uint_eq(size, 2 * PAGE);
    ck_assert_mem_eq(a, pages, PAGE);
    ck_assert_uint_eq(a[PAGE], 0);
    ck_assert_ptr_null(io_sim_file(io, "b", &size));
    ck_assert_uint_eq(io_in_flight(io), 0);
}
END_TEST

START_TEST(the_simulated_disk_fails_when_told)
{
    ck_assert_int_ge(io_open(io, IO_WAL_CREATE, dir_fd, "a", IO_WRITE | IO_CREATE), 0);
    io_sim_fail(io, 2, ENOSPC, false);
    int fd = io_open(io, IO_WAL_OPEN, dir_fd, "a", IO_WRITE);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(io_write(io, IO_WAL_WRITE, fd, "x", 1, 0), -ENOSPC);
    ck_assert_int_eq(io_write(io, IO_WAL_WRITE, fd, "x", 1, 0), 1);
    io_sim_fail(io, 1, EIO, false);
    ck_assert_int_eq(io_sync(io, IO_WAL_SYNC, fd), -EIO);
    ck_assert_uint_eq(io_sim_syncs_after_failure(io), 0);
    ck_assert_int_eq(io_sync(io, IO_WAL_SYNC, fd), 0);
    ck_assert_uint_eq(io_sim_syncs_after_failure(io), 1);
}
END_TEST

#ifdef ENABLE_FAULTS
START_TEST(fault_table)
{
    bool direct;
    int fd = open_log("log", true, &direct);
    u8 *back = malloc(2 * PAGE);
    io_fault_clear();
    io_fault_add(IO_WAL_SYNC, IO_FAULT_ERRNO, EIO, 2, false);
    ck_assert_int_eq(io_sync(io, IO_WAL_SYNC, fd), 0);
    ck_assert_int_eq(io_sync(io, IO_WAL_SYNC, fd), -EIO);
    ck_assert_int_eq(io_sync(io, IO_WAL_SYNC, fd), 0);
    io_fault_clear();
    io_fault_add(IO_WAL_WRITE, IO_FAULT_ERRNO, ENOSPC, 0, false);
    ck_assert_int_eq(io_submit_durable(io, IO_WAL_WRITE, fd, pages, PAGE, 0, direct, 0), 0);
    ck_assert_int_eq(io_submit_durable(io, IO_WAL_WRITE, fd, pages, PAGE, 0, direct, 1), 0);
    reap_all(2, -ENOSPC);
    int plain = io_open(io, IO_WAL_OPEN, dir_fd, "log", IO_READ);
    io_fault_clear();
    io_fault_add(IO_WAL_WRITE, IO_FAULT_SHORT, 512, 1, false); /* finished by plain calls */
    ck_assert_int_eq(io_submit_durable(io, IO_WAL_WRITE, fd, pages, 2 * PAGE, 0, direct, 0), 0);
    reap_all(1, 2 * PAGE);
    ck_assert_int_eq(io_read(io, IO_WAL_READ, plain, back, 2 * PAGE, 0), 2 * PAGE);
    ck_assert_mem_eq(back, pages, 2 * PAGE);
    io_fault_clear();
    io_fault_add(IO_WAL_WRITE, IO_FAULT_TORN, 4096, 1, false);
    ck_assert_int_eq(io_submit_durable(io, IO_WAL_WRITE, fd, pages + 2 * PAGE, 2 * PAGE, 0, direct, 0), 0);
    reap_all(1, -EIO);
    ck_assert_int_eq(io_read(io, IO_WAL_READ, plain, back, 2 * PAGE, 0), 2 * PAGE);
    ck_assert_uint_eq(back[0], 3);
    ck_assert_uint_eq(back[PAGE], 2);
    io_fault_clear();
    io_fault_add(IO_WAL_WRITE, IO_FAULT_FLIP, 9, 1, false);
    ck_assert_int_eq(io_submit_durable(io, IO_WAL_WRITE, fd, pages, PAGE, 0, direct, 0), 0);
    reap_all(1, PAGE);
    io_fault_add(IO_WAL_READ, IO_FAULT_SHORT, 96, 2, false);
    ck_assert_int_eq(io_read(io, IO_WAL_READ, plain, back, PAGE, 0), PAGE);
    ck_assert_uint_eq(back[0], 1);
    ck_assert_uint_eq(back[1], 3);
    ck_assert_int_eq(io_read(io, IO_WAL_READ, plain, back, PAGE, 0), PAGE - 96);
    ck_assert_int_eq(io_close(io, plain), 0);
    ck_assert_int_eq(io_close(io, fd), 0);
    io_fault_clear();
    free(back);
}
END_TEST

START_TEST(fault_table_from_the_environment)
{
    if (kind != IO_ENGINE_PLAIN)
        return;
    int fd = io_open(io, IO_WAL_CREATE, dir_fd, "a", IO_WRITE | IO_CREATE);
    ck_assert_int_eq(io_sync(io, IO_SNAP_SYNC, fd), 0);
    ck_assert_int_eq(io_sync(io, IO_SNAP_SYNC, fd), -EIO);
    ck_assert_int_eq(io_sync(io, IO_SNAP_SYNC, fd), -EIO);
    ck_assert_int_eq(io_sync(io, IO_SNAP_SYNC, fd), 0);
    pid_t child = fork();
    if (child == 0) {
        for (int i = 0; i < 3; i++)
            if (io_write(io, IO_SNAP_WRITE, fd, "x", 1, 0) < 0)
                _exit(1);
        _exit(0);
    }
    int status;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}
END_TEST
#endif

static void
add_tests(Suite *s, const char *name, void (*up)(void))
{
    TCase *t = tcase_create(name);
    tcase_add_checked_fixture(t, up, tear_down);
    tcase_set_timeout(t, 30);
    tcase_add_test(t, synchronous_calls);
    tcase_add_test(t, durable_direct);
    tcase_add_test(t, durable_buffered);
    tcase_add_test(t, a_write_that_fails_says_so);
    tcase_add_test(t, waiting_ends_by_event_deadline_and_signal);
    tcase_add_test(t, a_signal_ends_a_wait);
#ifdef ENABLE_FAULTS
    tcase_add_test(t, fault_table);
    tcase_add_test(t, fault_table_from_the_environment);
#endif
    if (up == set_up_sim) {
        tcase_add_test(t, power_cut_loses_only_what_was_not_synced);
        tcase_add_test(t, the_simulated_disk_fails_when_told);
    }
    suite_add_tcase(s, t);
}

int
main(void)
{
    Suite *s = suite_create("io");
    setenv("GGS3DB_IO_FAULTS", "SNAP_SYNC:errno:EIO:2:x2,SNAP_WRITE:kill:0:3", 1); /* read at the first call */
    add_tests(s, "ring", set_up_ring);
    add_tests(s, "plain", set_up_plain);
    add_tests(s, "sim", set_up_sim);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed ? 1 : 0;
}
