/*
 * options.c
 *    The command line, and the settings: defaults, then the settings file, then the environment, then the options; the later ones win.
 */
#include "postmaster/postmaster.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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

void
options_complain(const char *text, const char *what)
{
    fprintf(stderr, "ggs3db: %s%s%s\nTry \"ggs3db --help\" for more information.\n", text, what ? ": " : "", what ? what : "");
    exit(2);
}

static void
add_pair(Options *o, const char *name, const char *value)
{
    if (o->count == (int)COUNT_OF(o->pairs))
        options_complain("too many options", NULL);
    o->pairs[o->count][0] = name;
    o->pairs[o->count++][1] = value;
}

/* --setting-name=value, PostgreSQL's long form of -c. */
static bool
take_long_setting(Options *o, const char *arg)
{
    char name[64];
    const char *equals = strchr(arg, '=');
    if (strncmp(arg, "--", 2) != 0 || !equals || equals - arg - 2 >= (i64)sizeof name)
        return false;
    memcpy(name, arg + 2, (size_t)(equals - arg - 2));
    name[equals - arg - 2] = 0;
    for (char *c = name; *c; c++)
        if (*c == '-')
            *c = '_';
    int id = conf_find(name);
    if (id >= 0)
        add_pair(o, SETTING_DEFS[id].name, equals + 1);
    return id >= 0;
}

void
options_read(int argc, char **argv, Options *o)
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
        options_complain("unexpected argument", argv[optind]);
}

static bool
apply_options(Conf *c, const Options *o, Error *err)
{
    for (int i = 0; i < o->count; i++) {
        char name[64];
        const char *value = o->pairs[i][1];
        snprintf(name, sizeof name, "%s", o->pairs[i][0]);
        if (!*name) {
            const char *equals = strchr(value, '=');
            if (!equals)
                return error_set(err, ERR_INVALID_PARAMETER_VALUE, "-c wants NAME=VALUE, not \"%s\"", value);
            snprintf(name, sizeof name, "%.*s", (int)MIN(equals - value, 63), value);
            value = equals + 1;
        }
        int id = conf_find(name);
        if (id < 0)
            return error_set(err, ERR_UNDEFINED_OBJECT, "unrecognized configuration parameter \"%s\"", name);
        if (!conf_set(c, id, value, err))
            return false;
    }
    return true;
}

/* The folder is needed first, to find the file. */
bool
options_settings(const Options *o, Conf *c, char *ret_path, size_t size, Error *err)
{
    conf_defaults(c);
    if (!conf_read_environment(c, err) || !apply_options(c, o, err))
        return false;
    snprintf(ret_path, size, "%.490s%s", o->config ? o->config : conf_text(c, data_directory), o->config ? "" : "/ggs3db.conf");
    if (!o->config && access(ret_path, F_OK) != 0)
        return true;
    conf_defaults(c);
    return conf_read_file(c, ret_path, err) && conf_read_environment(c, err) && apply_options(c, o, err);
}
