/*
 * main.c
 *    The program: settings, rights, data folder, shared areas, then the supervisor.
 */
#include "postmaster/postmaster.h"

#include "common/base/fault.h"
#include "common/base/say.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

/* The password leaves the environment at once; the walwriter wipes its copy after use. */
static void
read_password(Boot *b)
{
    char *direct = getenv("GGS3DB_ROOT_PASSWORD"), *file = getenv("GGS3DB_ROOT_PASSWORD_FILE");
    if (direct) {
        if (strlen(direct) >= sizeof b->root_password)
            options_complain("GGS3DB_ROOT_PASSWORD is longer than 255 bytes", NULL);
        strcpy(b->root_password, direct);
        explicit_bzero(direct, strlen(direct));
        unsetenv("GGS3DB_ROOT_PASSWORD");
    } else if (file) {
        int fd = open(file, O_RDONLY | O_CLOEXEC);
        ssize_t n = fd < 0 ? -1 : read(fd, b->root_password, sizeof b->root_password);
        if (n < 0)
            options_complain("cannot read the file of GGS3DB_ROOT_PASSWORD_FILE", strerror(errno));
        close(fd);
        if (n == (ssize_t)sizeof b->root_password)
            options_complain("the password in the file of GGS3DB_ROOT_PASSWORD_FILE is longer than 255 bytes", NULL);
        b->root_password[n] = 0;
        b->root_password[strcspn(b->root_password, "\r\n")] = 0;
        if (!*b->root_password)
            options_complain("the file of GGS3DB_ROOT_PASSWORD_FILE is empty", NULL);
    }
}

/* Who the server runs as. */
static void
choose_user(const Options *o, uid_t *uid, gid_t *gid)
{
    *uid = geteuid();
    *gid = getegid();
    if (o->user) {
        const struct passwd *p = getpwnam(o->user);
        if (!p)
            options_complain("there is no user", o->user);
        if (*uid != 0 && p->pw_uid != *uid)
            options_complain("only root can run the server as another user", NULL);
        *uid = p->pw_uid;
        *gid = p->pw_gid;
    } else if (*uid == 0 && !o->allow_root)
        options_complain("started as root: give --user NAME to run as another user, or --allow-root", NULL);
}

static void
drop_rights(const Options *o, uid_t uid, gid_t gid)
{
    if (geteuid() == uid)
        return;
    if (initgroups(o->user, gid) != 0 || setgid(gid) != 0 || setuid(uid) != 0)
        say_fatal("cannot become user \"%s\": %s", o->user, strerror(errno));
}

/* Three quarters of what the machine or its cgroup allows. */
static u64
default_memory(void)
{
    u64 bytes = (u64)sysconf(_SC_PHYS_PAGES) * (u64)sysconf(_SC_PAGESIZE);
    static const char *const FILES[] = {"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"};
    for (size_t i = 0; i < COUNT_OF(FILES); i++) {
        FILE *f = fopen(FILES[i], "re");
        unsigned long long limit;
        if (f && fscanf(f, "%llu", &limit) == 1 && limit < bytes)
            bytes = limit;
        if (f)
            fclose(f);
    }
    return bytes / 4 * 3;
}

static void
raise_limits(const Conf *c)
{
    struct rlimit r;
    rlim_t want = (rlim_t)conf_int(c, max_connections) * 2 + 256;
    if (getrlimit(RLIMIT_NOFILE, &r) == 0 && r.rlim_cur < want) {
        r.rlim_cur = MIN(want, r.rlim_max);
        setrlimit(RLIMIT_NOFILE, &r);
    }
}

int
main(int argc, char **argv)
{
    static Postmaster pm;
    Options *options = &pm.options;
    Error err;
    uid_t uid;
    gid_t gid;
    proc_title_init(argc, argv);
    umask(077);
    options_read(argc, argv, options);
    if (!options_settings(options, &pm.boot.conf, pm.conf_path, sizeof pm.conf_path, &err))
        options_complain(err.message, NULL);
    choose_user(options, &uid, &gid);
    read_password(&pm.boot);
    say_role("postmaster");
    if (sodium_init() < 0)
        say_fatal("libsodium does not start");
    fault_init();
    raise_limits(&pm.boot.conf);
    if (!datadir_open(&pm, uid, gid, &err))
        say_fatal("%s", err.message);
    if (conf_int(&pm.boot.conf, memory) == 0)
        pm.boot.conf.number[CONF_memory] = (i64)default_memory();
    drop_rights(options, uid, gid);
    prctl(PR_SET_DUMPABLE, 0);
    if (!listen_all(&pm, &err) || !datadir_write_pid(&pm, &err))
        say_fatal("%s", err.message);
    int failed = shm_create(&pm.boot.shm, (u32)conf_int(&pm.boot.conf, max_connections), (u64)conf_int(&pm.boot.conf, memory));
    if (failed)
        say_fatal("cannot make the shared memory areas: %s", strerror(-failed));
    pm.boot.shm.control->postmaster_pid = getpid();
    pm.boot.client_fd = pm.boot.signin_fd = -1;
    proc_signals(false);
    int status = supervise(&pm);
    listen_close_all(&pm, true);
    datadir_close(&pm);
    return status;
}
