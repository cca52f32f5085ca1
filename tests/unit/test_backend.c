/* test_backend.c: session parameters, and what is left to a hardened process. */
#include "backend/guc.h"
#include "backend/harden.h"
#include "common/type/zone.h"

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static Conf conf;
static Guc *guc;

static void
make_guc(void)
{
    static Guc *made[128]; /* kept reachable: nobody frees a session's, its process ends */
    static u32 count;
    ck_assert_uint_lt(count, COUNT_OF(made));
    conf_defaults(&conf);
    guc = made[count++] = guc_new(&conf);
    ck_assert_ptr_nonnull(guc);
}

static const char *
shown(const char *name)
{
    static char text[GUC_TEXT_MAX];
    const char *spelled;
    Error err;
    return guc_show(guc, name, &spelled, text, sizeof text, &err) ? text : errcode_sqlstate(err.code);
}

/* The value after SET, or the SQLSTATE. */
static const char *
set(const char *name, const char *value)
{
    Error err;
    return guc_set(guc, name, value, GUC_SCOPE_SESSION, &err) ? shown(name) : errcode_sqlstate(err.code);
}

START_TEST(values_are_checked_and_shown)
{
    make_guc();
    ck_assert_str_eq(set("client_encoding", "'utf-8'"), "UTF8");
    ck_assert_str_eq(set("CLIENT_ENCODING", "latin1"), "0A000");
    ck_assert_str_eq(set("CLIENT_ENCODING", "latin11"), "22023");
    ck_assert_str_eq(set("datestyle", "iso"), "ISO, MDY");
    ck_assert_str_eq(set("datestyle", "german"), "German, DMY");
    ck_assert_str_eq(set("datestyle", "odd"), "22023");
    ck_assert_str_eq(set("datestyle", "sql, mdy"), "SQL, MDY");
    ck_assert_str_eq(set("datestyle", "iso"), "ISO, MDY");
    ck_assert_str_eq(set("extra_float_digits", "3"), "3");
    ck_assert_str_eq(set("extra_float_digits", "4"), "22023");
    ck_assert_str_eq(set("work_mem", "65536"), "64MB");
    ck_assert_str_eq(set("work_mem", "1000kB"), "1000kB");
    ck_assert_str_eq(set("jit", "tr"), "on");
    ck_assert_str_eq(set("jit", "maybe"), "22023");
    ck_assert_str_eq(set("bytea_output", "HEX"), "hex");
    ck_assert_str_eq(set("bytea_output", "hexagon"), "22023");
    ck_assert_str_eq(set("statement_timeout", "2s"), "2s");
    ck_assert_str_eq(set("statement_timeout", "x"), "22023");
    ck_assert_str_eq(set("port", "1"), "55P02");
    ck_assert_str_eq(set("server_encoding", "x"), "55P02");
    ck_assert_str_eq(set("nonsense", "1"), "42704");
    ck_assert_str_eq(shown("a.b"), "42704");
    ck_assert_str_eq(set("a.b", "c"), "c");
    ck_assert_str_eq(set("default_transaction_isolation", "Read Committed"), "read committed");
    ck_assert_str_eq(set("default_transaction_isolation", "SERIALIZABLE"), "serializable");
    ck_assert_str_eq(set("default_transaction_isolation", "chaos"), "22023");
    ck_assert_str_eq(set("standard_conforming_strings", "off"), "0A000");
}
END_TEST

START_TEST(time_zones)
{
    static const struct { const char *set, *shown; i32 east_s; } CASES[] = {
        {"UTC", "UTC", 0},         {"2", "<+02>-02", 7200},      {"-3.5", "<-03:30>+03:30", -12600}, {"<+05:30>-05:30", "<+05:30>-05:30", 19800},
        {"Etc/GMT+3", "Etc/GMT+3", -10800}, {"UTC-1", "UTC-1", 3600}, {"+02:00", "+02:00", -7200},   {"europe/BERLIN", "Europe/Berlin", 3600}, {"Mars/Base", "22023", 0}, {"Europe", "22023", 0}, {"../UTC", "22023", 0}, {"/etc/passwd", "22023", 0}, {"", "22023", 0},
    };
    make_guc();
    for (size_t i = 0; i < COUNT_OF(CASES); i++) {
        ck_assert_str_eq(set("TimeZone", CASES[i].set), CASES[i].shown);
        if (CASES[i].shown[0] != '2')
            ck_assert_int_eq(zone_to_local(guc_format(guc).zone, 0) / 1000000, CASES[i].east_s);
    }
}
END_TEST

static void
set_local(const char *name, const char *value)
{
    Error err;
    ck_assert(guc_set(guc, name, value, GUC_SCOPE_LOCAL, &err));
}

START_TEST(changes_can_be_undone)
{
    Error err;
    make_guc();
    ck_assert(guc_set(guc, "application_name", "start", GUC_SCOPE_STARTUP, &err));
    ck_assert_int_eq(guc_enter(guc), 1);
    set("application_name", "one");
    set("lock_timeout", "1s");
    set("a.b", "one");
    guc_leave(guc, 1, true);
    guc_enter(guc);
    set("application_name", "two");
    set("lock_timeout", "2s");
    set("a.b", "two");
    set("a.new", "x");
    guc_leave(guc, 1, false);
    ck_assert_str_eq(shown("application_name"), "one");
    ck_assert_str_eq(shown("lock_timeout"), "1s");
    ck_assert_str_eq(shown("a.b"), "one");
    ck_assert_str_eq(shown("a.new"), "");
    ck_assert(guc_reset_all(guc, &err));
    ck_assert_str_eq(shown("application_name"), "start");
    ck_assert_str_eq(shown("lock_timeout"), "30s");
    ck_assert_str_eq(shown("a.b"), "");
}
END_TEST

/* Steps: s SET, l SET LOCAL (values count up), ( a savepoint, ) its release, < its rollback. At the end the value in the transaction, after its commit
 * and after its rollback; expected from PostgreSQL's rules. */
START_TEST(levels_of_set_and_set_local)
{
    static const struct { const char *steps, *within, *committed; } CASES[] = {
        {"s", "1", "1"},       {"l", "1", "0"},         {"sl", "2", "1"},       {"ls", "2", "2"},     {"sls", "3", "3"},      {"lsl", "3", "2"},
        {"(s)", "1", "1"},     {"(s<", "0", "0"},       {"(l)", "1", "0"},      {"s(l)", "2", "1"},   {"s(l<", "1", "1"},     {"l(s)", "2", "2"},
        {"l(l)", "2", "0"},    {"s(sl)", "3", "2"},     {"l(sl)", "3", "2"},    {"sl(s)", "3", "3"},  {"sl(l)", "3", "1"},    {"sl(l<", "2", "1"},
        {"((s))", "1", "1"},   {"((l))", "1", "0"},     {"s((l))", "2", "1"},   {"s((l)<", "1", "1"}, {"((s)<", "0", "0"},    {"s(s(s<)", "2", "2"},
        {"(s(l))", "2", "1"},  {"(l(s)l)", "3", "2"},   {"((sl)s)", "3", "3"},  {"sl(sl<", "2", "1"}, {"((s<l)", "2", "0"},
    };
    for (size_t i = 0; i < COUNT_OF(CASES); i++)
        for (int keep = 0; keep < 2; keep++) {
            make_guc();
            u32 level = guc_enter(guc);
            char value[2] = "0";
            set("application_name", value);
            guc_leave(guc, level, true);
            level = guc_enter(guc);
            for (const char *p = CASES[i].steps; *p; p++) {
                value[0] += *p == 's' || *p == 'l';
                if (*p == 's')
                    set("application_name", value);
                else if (*p == 'l')
                    set_local("application_name", value);
                else if (*p == '(')
                    level = guc_enter(guc);
                else
                    guc_leave(guc, level--, *p == ')');
            }
            ck_assert_int_eq(level, 1);
            ck_assert_msg(strcmp(shown("application_name"), CASES[i].within) == 0, "%s: %s", CASES[i].steps, shown("application_name"));
            guc_leave(guc, 1, keep);
            ck_assert_msg(strcmp(shown("application_name"), keep ? CASES[i].committed : "0") == 0, "%s %d: %s", CASES[i].steps, keep,
                          shown("application_name"));
        }
}
END_TEST

START_TEST(parameters_of_the_transaction)
{
    Error err;
    make_guc();
    ck_assert_int_eq(guc_transaction_parameter("Transaction_Isolation"), GUC_transaction_isolation);
    ck_assert_int_eq(guc_transaction_parameter("application_name"), GUC_COUNT);
    guc_enter(guc);
    guc_put(guc, GUC_transaction_read_only, "on");
    ck_assert(guc_reset_all(guc, &err));
    ck_assert_str_eq(shown("transaction_read_only"), "on");
    ck_assert(!guc_set(guc, "transaction_read_only", NULL, GUC_SCOPE_SESSION, &err));
    ck_assert_int_eq(err.code, ERR_FEATURE_NOT_SUPPORTED);
    set("idle_session_timeout", "2min");
    ck_assert_int_eq(guc_number(guc, GUC_idle_session_timeout), 120000);
}
END_TEST

static int reports;

static void
note_report(void *ctx, const char *name, const char *value)
{
    (void)ctx, (void)name, (void)value;
    reports++;
}

START_TEST(thirteen_parameters_are_reported_and_then_changes)
{
    make_guc();
    guc_report(guc, note_report, NULL);
    ck_assert_int_eq(reports, 13);
    guc_report(guc, note_report, NULL);
    ck_assert_int_eq(reports, 13);
    set("application_name", "x");
    set("jit", "on");
    guc_report(guc, note_report, NULL);
    ck_assert_int_eq(reports, 14);
}
END_TEST

static void *
run_thread(void *arg)
{
    return arg;
}

#define MUST_FAIL(call, code) do { errno = 0; if ((call) != -1 || errno != (code)) _exit(__LINE__ % 200 + 20); } while (0)

START_TEST(a_hardened_process_has_no_way_out)
{
    pid_t pid = fork();
    if (pid == 0) {
        int err = harden();
        if (err == -ENOSYS)
            _exit(77);
        if (err || prctl(PR_GET_DUMPABLE) != 0)
            _exit(2);
        MUST_FAIL(open("/tmp/hardened", O_WRONLY | O_CREAT, 0600), EPERM);
        MUST_FAIL(open("/dev/null", O_RDWR), EPERM);
        MUST_FAIL(openat(AT_FDCWD, "/proc/self/mem", O_RDWR), EPERM);
        MUST_FAIL(socket(AF_UNIX, SOCK_STREAM, 0), EPERM);
        MUST_FAIL(execl("/bin/true", "true", NULL), EPERM);
        MUST_FAIL(ptrace(PTRACE_ATTACH, getppid(), 0, 0), EPERM);
        MUST_FAIL(syscall(SYS_process_vm_writev, getppid(), NULL, 0, NULL, 0, 0), EPERM);
        MUST_FAIL(syscall(SYS_io_uring_setup, 1, NULL), EPERM);
        MUST_FAIL(memfd_create("x", 0), EPERM);
        u8 *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        MUST_FAIL((long)mremap(page, 4096, 8192, MREMAP_MAYMOVE), EPERM);
        MUST_FAIL(remap_file_pages(page, 4096, 0, 1, 0), EPERM);
        void *big = malloc(8 << 20);
        if (!big || !(big = realloc(big, 64 << 20)))
            _exit(4);
        MUST_FAIL(fchmod(0, 0600), EPERM);
        MUST_FAIL(fork(), EPERM);
        MUST_FAIL(kill(getppid(), SIGINT), EPERM);
        int fd = open("/dev/zero", O_RDONLY);
        pthread_t t;
        if (fd < 0 || pthread_create(&t, NULL, run_thread, NULL) != 0 || pthread_join(t, NULL) != 0 || !malloc(1 << 20))
            _exit(3);
        _exit(0);
    }
    int status;
    waitpid(pid, &status, 0);
    ck_assert(WIFEXITED(status));
    ck_assert_msg(WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == 77, "check %d", WEXITSTATUS(status));
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("backend");
    TCase *t = tcase_create("backend");
    tcase_add_test(t, values_are_checked_and_shown);
    tcase_add_test(t, time_zones);
    tcase_add_test(t, changes_can_be_undone);
    tcase_add_test(t, levels_of_set_and_set_local);
    tcase_add_test(t, parameters_of_the_transaction);
    tcase_add_test(t, thirteen_parameters_are_reported_and_then_changes);
    tcase_add_test(t, a_hardened_process_has_no_way_out);
    suite_add_tcase(suite, t);
    SRunner *r = srunner_create(suite);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
