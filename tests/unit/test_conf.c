/* test_conf.c: every setting's default is valid; parsing, units, files, refusals. */
#include "common/conf/conf.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

START_TEST(defaults_and_units)
{
    static Conf c;
    char shown[600];
    Error err;
    conf_defaults(&c);
    ck_assert_int_eq(conf_int(&c, port), 5432);
    ck_assert_str_eq(conf_text(&c, listen_addresses), "127.0.0.1");
    ck_assert(conf_set(&c, CONF_lock_timeout, "2min", &err));
    ck_assert_int_eq(conf_int(&c, lock_timeout), 120000);
    conf_show(&c, CONF_lock_timeout, shown, sizeof shown);
    ck_assert_str_eq(shown, "2min");
    ck_assert(conf_set(&c, CONF_lock_timeout, "1500", &err));
    conf_show(&c, CONF_lock_timeout, shown, sizeof shown);
    ck_assert_str_eq(shown, "1500ms");
    ck_assert(conf_set(&c, CONF_memory, "3GB", &err));
    ck_assert_int_eq(conf_int(&c, memory), 3LL << 30);
    ck_assert(conf_set(&c, CONF_log_connections, "yes", &err));
    ck_assert_int_eq(conf_int(&c, log_connections), 1);
}
END_TEST

START_TEST(refusals_name_the_parameter)
{
    static Conf c;
    Error err;
    conf_defaults(&c);
    ck_assert(!conf_set(&c, CONF_port, "0", &err));
    ck_assert_ptr_nonnull(strstr(err.message, "\"port\""));
    ck_assert(!conf_set(&c, CONF_port, "12x", &err));
    ck_assert(!conf_set(&c, CONF_lock_timeout, "5 parsecs", &err));
    ck_assert(!conf_set(&c, CONF_memory, "99999999999TB", &err));
    ck_assert(!conf_set(&c, CONF_log_connections, "maybe", &err));
    ck_assert_int_eq(conf_find("no_such_thing"), -1);
}
END_TEST

START_TEST(files_are_read_by_line)
{
    static Conf c;
    Error err;
    char path[] = "/tmp/test_conf_XXXXXX";
    int fd = mkstemp(path);
    dprintf(fd, "# a comment\n\nport = 7000 # here\nunix_socket_directories = '/run/it''s'\nlock_timeout 5s\n");
    conf_defaults(&c);
    ck_assert(conf_read_file(&c, path, &err));
    ck_assert_int_eq(conf_int(&c, port), 7000);
    ck_assert_str_eq(conf_text(&c, unix_socket_directories), "/run/it's");
    ck_assert_int_eq(conf_int(&c, lock_timeout), 5000);
    dprintf(fd, "prot = 1\n");
    ck_assert(!conf_read_file(&c, path, &err));
    ck_assert_ptr_nonnull(strstr(err.message, "line 6"));
    close(fd);
    unlink(path);
    ck_assert(!conf_read_file(&c, path, &err));
}
END_TEST

int
main(void)
{
    Suite *s = suite_create("conf");
    TCase *t = tcase_create("conf");
    tcase_add_test(t, defaults_and_units);
    tcase_add_test(t, refusals_name_the_parameter);
    tcase_add_test(t, files_are_read_by_line);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed ? 1 : 0;
}
