/*
 * test_shm.c
 *    The kernel enforces who may write (I1): from inside an attached backend a store traps, mprotect is refused, no writable map can be
 *    made and no read-write descriptor is left; its own box stays writable. Latches wake across processes.
 */
#include "common/base/env.h"
#include "common/shm/publish.h"
#include "common/shm/shm.h"

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static Shm shm;

static void
setup(void)
{
    ck_assert_int_eq(shm_create(&shm, 4, 64 << 20), 0);
    memset(shm.world, 7, 4096);
}

/* Runs `body` in an attached child; returns its wait status. */
static int
in_child(ShmRole role, void (*body)(void))
{
    pid_t pid = fork();
    if (pid == 0) {
        signal(SIGSEGV, SIG_DFL);
        if (shm_attach(&shm, role, 1) != 0)
            _exit(99);
        body();
        _exit(0);
    }
    int status;
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    return status;
}

#define EXPECT_TRAP(role, body)                                                                                        \
    do {                                                                                                               \
        int st = in_child(role, body);                                                                                 \
        ck_assert_msg(WIFSIGNALED(st) || WEXITSTATUS(st) == 1, #body " did not trap: status %x", st);                  \
    } while (0)
#define EXPECT_FINE(role, body)                                                                                        \
    do {                                                                                                               \
        int st = in_child(role, body);                                                                                 \
        ck_assert_msg(WIFEXITED(st) && WEXITSTATUS(st) == 0, #body ": status %x", st);                                 \
    } while (0)

static void store_world(void) { relax_store_u64((u64 *)(void *)shm.world, 1); }
static void store_other_box(void) { relax_store_u64(&shm_box(&shm, 2)->pub_req_seq, 1); }
static void store_control(void) { relax_store_u32(&shm.control->slots[0].pub_role_id, 1); }
static void store_writer(void) { relax_store_u64(&shm.writer->pub_asleep, 1); }
static void store_secret(void) { relax_store_u32(&shm.secrets[0].pub_sequence, 1); }

static void
store_own_box(void)
{
    shm_box(&shm, 1)->pub_req_seq = 5;
    memset(shm_box(&shm, 1)->area, 1, BOX_AREA_BYTES);
}

static void
read_everything(void)
{
    u64 sum = shm.world[0] + shm.boxes[0] + shm.control->slot_count + shm.writer->groups + shm.secrets->role_id;
    if (sum < 7)
        _exit(2);
    shm_forget_secrets(&shm);
}

/* mprotect, remapping and new descriptors are all refused. */
static void
try_everything(void)
{
    struct { void *at; u64 bytes; } areas[] = {{shm.world, 4096}, {shm.control, 4096}, {shm.writer, 4096}, {shm.secrets, 4096},
                                               {shm_box(&shm, 0), BOX_STRIDE}, {shm_box(&shm, 2), BOX_STRIDE}};
    for (size_t i = 0; i < COUNT_OF(areas); i++)
        if (mprotect(areas[i].at, areas[i].bytes, PROT_READ | PROT_WRITE) == 0 || errno != EACCES)
            _exit(10 + (int)i);
    DIR *d = opendir("/proc/self/fd");
    for (struct dirent *e; d && (e = readdir(d));) {
        char path[300], target[256] = "";
        snprintf(path, sizeof path, "/proc/self/fd/%s", e->d_name);
        if (readlink(path, target, sizeof target - 1) > 0 && strncmp(target, "/memfd:", 7) == 0)
            _exit(30);
    }
    if (d)
        closedir(d);
}

START_TEST(backend_cannot_write)
{
    EXPECT_TRAP(SHM_BACKEND, store_world);
    EXPECT_TRAP(SHM_BACKEND, store_other_box);
    EXPECT_TRAP(SHM_BACKEND, store_control);
    EXPECT_TRAP(SHM_BACKEND, store_writer);
    EXPECT_TRAP(SHM_BACKEND, store_secret);
    EXPECT_FINE(SHM_BACKEND, store_own_box);
    EXPECT_FINE(SHM_BACKEND, read_everything);
    EXPECT_FINE(SHM_BACKEND, try_everything);
    ck_assert_uint_eq(shm_box(&shm, 1)->pub_req_seq, 5);
    ck_assert_uint_eq(shm.world[0], 7);
}
END_TEST

START_TEST(checkpointer_cannot_write)
{
    EXPECT_TRAP(SHM_CHECKPOINTER, store_world);
    EXPECT_TRAP(SHM_CHECKPOINTER, store_other_box);
    EXPECT_TRAP(SHM_CHECKPOINTER, store_writer);
    EXPECT_FINE(SHM_CHECKPOINTER, store_own_box);
}
END_TEST

static void
write_as_writer(void)
{
    store_world();
    store_other_box();
    store_writer();
    store_secret();
}

START_TEST(walwriter_writes_all_but_control)
{
    EXPECT_FINE(SHM_WALWRITER, write_as_writer);
    EXPECT_TRAP(SHM_WALWRITER, store_control);
    ck_assert_uint_eq(*(u64 *)(void *)shm.world, 1);
}
END_TEST

START_TEST(latch_wakes_another_process)
{
    u32 *word = &shm_box(&shm, 1)->pub_latch;
    pid_t pid = fork();
    if (pid == 0) {
        u64 until = env->monotonic_ns() + 20000000000u;
        while (observe_u32(word) == 0 && env->monotonic_ns() < until)
            latch_wait(word, 0, until);
        _exit(observe_u32(word) == 1 ? 0 : 1);
    }
    usleep(20000);
    publish_u32(word, 1);
    latch_wake(word, 1);
    int status;
    waitpid(pid, &status, 0);
    ck_assert_int_eq(status, 0);
    u64 begin = env->monotonic_ns();
    latch_wait(word, 1, begin + 30000000);
    ck_assert_uint_ge(env->monotonic_ns() - begin, 25000000);
}
END_TEST

int
main(void)
{
    Suite *s = suite_create("shm");
    TCase *t = tcase_create("shm");
    tcase_add_checked_fixture(t, setup, NULL);
    tcase_add_test(t, backend_cannot_write);
    tcase_add_test(t, checkpointer_cannot_write);
    tcase_add_test(t, walwriter_writes_all_but_control);
    tcase_add_test(t, latch_wakes_another_process);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed ? 1 : 0;
}
