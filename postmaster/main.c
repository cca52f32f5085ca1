/*
 * main.c
 *    The program: options, settings, rights, data folder, shared areas, then the supervisor.
 */
#include "postmaster/postmaster.h"

#include "common/base/fault.h"
#include "common/base/say.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <grp.h>
#include <pwd.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static const char HELP[] =
    "ggs3db is an in-memory column-store SQL database that PostgreSQL clients can use.\n"
    "\n"
    "Usage: ggs3db [-D DATADIR] [OPTION]...\n"
    "\n"
    "  -D DATADIR        folder of the database; made at the first start (default ggs3db-data)\n"
    "  -p PORT           TCP port and number of the Unix socket (default 5432)\n"
    "  -h ADDRESS        address to listen on, comma separated; '' for none (default 127.0.0.1)\n"
    "  -k SOCKETDIR      folder of the Unix socket (default /tmp)\n"
    "  -N CONNECTIONS    connections at most (default 100)\n"
    "  -c NAME=VALUE     set a setting; --NAME=VALUE does the same\n"
    "  --config FILE     read settings from FILE (default DATADIR/ggs3db.conf, if it is there)\n"
    "  --user NAME       started as root: run as this user\n"
    "  --allow-root      started as root: stay root\n"
    "  --print-settings  print a settings file with all defaults and exit\n"
    "  --help, --version\n"
    "\n"
    "The root role is \"root\"; its password comes from the environment variable GGS3DB_ROOT_PASSWORD or the\n"
    "file named by GGS3DB_ROOT_PASSWORD_FILE. Without one, only this machine can connect, without a password.\n"
    "Every setting can also come from the environment as GGS3DB_<NAME>.\n"
    "Signals: SIGTERM waits for clients, then stops; SIGINT ends clients and stops; SIGQUIT stops at once;\n"
    "SIGHUP reads the settings file again.\n"
    "\n"
    "Connect:  psql -h /tmp -U root\n";

typedef struct Options {
    const char *pairs[256][2]; /* setting name or "", value; "" = whole name=value */
    int count;
    const char *config, *user;
    bool allow_root;
} Options;

static NORETURN void
complain(const char *text, const char *what)
{
    fprintf(stderr, "ggs3db: %s%s%s\nTry \"ggs3db --help\" for more information.\n", text, what ? ": " : "", what ? what : "");
    exit(2);
}

static void
add_pair(Options *o, const char *name, const char *value)
{
    if (o->count == (int)COUNT_OF(o->pairs))
        complain("too many options", NULL);
    o->pairs[o->count][0] = name;
    o->pairs[o->count++][1] = value;
}

/* --setting-name=value, PostgreSQL's long form of -c. */
static bool
take_long_setting(Options *o, char *arg)
{
    char *equals = strchr(arg, '=');
    if (strncmp(arg, "--", 2) != 0 || !equals)
        return false;
    for (char *c = arg + 2; c < equals; c++)
        if (*c == '-')
            *c = '_';
    *equals = 0;
    bool known = conf_find(arg + 2) >= 0;
    if (known)
        add_pair(o, arg + 2, equals + 1);
    *equals = '=';
    return known;
}

static void
read_options(int argc, char **argv, Options *o)
{
    enum { OPT_HELP = 256, OPT_VERSION, OPT_CONFIG, OPT_USER, OPT_ALLOW_ROOT, OPT_PRINT };
    static const struct option LONG[] = {{"help", no_argument, NULL, OPT_HELP},
                                         {"version", no_argument, NULL, OPT_VERSION},
                                         {"config", required_argument, NULL, OPT_CONFIG},
                                         {"user", required_argument, NULL, OPT_USER},
                                         {"allow-root", no_argument, NULL, OPT_ALLOW_ROOT},
                                         {"print-settings", no_argument, NULL, OPT_PRINT},
                                         {NULL, 0, NULL, 0}};
    int kept = 1;
    for (int i = 1; i < argc; i++)
        if (!take_long_setting(o, argv[i]))
            argv[kept++] = argv[i];
    argv[kept] = NULL;
    for (int c; (c = getopt_long(kept, argv, "D:p:h:k:N:c:V?", LONG, NULL)) != -1;)
        switch (c) {
        case 'D': add_pair(o, "data_directory", optarg); break;
        case 'p': add_pair(o, "port", optarg); break;
        case 'h': add_pair(o, "listen_addresses", optarg); break;
        case 'k': add_pair(o, "unix_socket_directories", optarg); break;
        case 'N': add_pair(o, "max_connections", optarg); break;
        case 'c': add_pair(o, "", optarg); break;
        case OPT_CONFIG: o->config = optarg; break;
        case OPT_USER: o->user = optarg; break;
        case OPT_ALLOW_ROOT: o->allow_root = true; break;
        case OPT_HELP: fputs(HELP, stdout); exit(0);
        case OPT_VERSION: case 'V': printf("ggs3db %s\n", PACKAGE_VERSION); exit(0);
        case OPT_PRINT: conf_print_sample(STDOUT_FILENO); exit(0);
        default: fprintf(stderr, "Try \"ggs3db --help\" for more information.\n"); exit(2);
        }
    if (optind < kept)
        complain("unexpected argument", argv[optind]);
}

static void
apply_options(Conf *c, const Options *o)
{
    Error err;
    for (int i = 0; i < o->count; i++) {
        char name[64];
        const char *value = o->pairs[i][1];
        snprintf(name, sizeof name, "%s", o->pairs[i][0]);
        if (!*name) {
            const char *equals = strchr(value, '=');
            if (!equals)
                complain("-c wants NAME=VALUE", value);
            snprintf(name, sizeof name, "%.*s", (int)MIN(equals - value, 63), value);
            value = equals + 1;
        }
        int id = conf_find(name);
        if (id < 0)
            complain("unrecognized configuration parameter", name);
        if (!conf_set(c, id, value, &err))
            complain(err.message, NULL);
    }
}

/* Defaults, settings file, environment, options; the folder is needed first to find the file. */
static void
read_settings(Postmaster *pm, const Options *o)
{
    Conf *c = &pm->boot.conf;
    Error err;
    conf_defaults(c);
    if (!conf_read_environment(c, &err))
        complain(err.message, NULL);
    apply_options(c, o);
    snprintf(pm->conf_path, sizeof pm->conf_path, "%.490s%s", o->config ? o->config : conf_text(c, data_directory),
             o->config ? "" : "/ggs3db.conf");
    if (!o->config && access(pm->conf_path, R_OK) != 0) {
        pm->conf_path[0] = 0;
        return;
    }
    conf_defaults(c);
    if (!conf_read_file(c, pm->conf_path, &err) || !conf_read_environment(c, &err))
        complain(err.message, NULL);
    apply_options(c, o);
}

/* The password leaves the environment at once; the walwriter wipes its copy after use. */
static void
read_password(Boot *b)
{
    char *direct = getenv("GGS3DB_ROOT_PASSWORD"), *file = getenv("GGS3DB_ROOT_PASSWORD_FILE");
    if (direct) {
        if (strlen(direct) >= sizeof b->root_password)
            complain("GGS3DB_ROOT_PASSWORD is longer than 255 bytes", NULL);
        strcpy(b->root_password, direct);
        explicit_bzero(direct, strlen(direct));
        unsetenv("GGS3DB_ROOT_PASSWORD");
    } else if (file) {
        int fd = open(file, O_RDONLY | O_CLOEXEC);
        ssize_t n = fd < 0 ? -1 : read(fd, b->root_password, sizeof b->root_password);
        if (n < 0)
            complain("cannot read the file of GGS3DB_ROOT_PASSWORD_FILE", strerror(errno));
        close(fd);
        if (n == (ssize_t)sizeof b->root_password)
            complain("the password in the file of GGS3DB_ROOT_PASSWORD_FILE is longer than 255 bytes", NULL);
        b->root_password[n] = 0;
        b->root_password[strcspn(b->root_password, "\r\n")] = 0;
        if (!*b->root_password)
            complain("the file of GGS3DB_ROOT_PASSWORD_FILE is empty", NULL);
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
            complain("there is no user", o->user);
        if (*uid != 0 && p->pw_uid != *uid)
            complain("only root can run the server as another user", NULL);
        *uid = p->pw_uid;
        *gid = p->pw_gid;
    } else if (*uid == 0 && !o->allow_root)
        complain("started as root: give --user NAME to run as another user, or --allow-root", NULL);
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
    static Options options;
    Error err;
    uid_t uid;
    gid_t gid;
    proc_title_init(argc, argv);
    umask(077);
    read_options(argc, argv, &options);
    read_settings(&pm, &options);
    choose_user(&options, &uid, &gid);
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
    drop_rights(&options, uid, gid);
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
