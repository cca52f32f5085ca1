/*
 * io_fault.c
 *    The fault table of test builds: which call at which site is to fail, and how. Not a byte of it is in a release build.
 *
 * Every process counts calls for itself. The table is small and under a mutex, since helper threads do I/O as well.
 */
#include "common/io/io_engine.h"

#ifdef ENABLE_FAULTS
#include "common/base/say.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { FAULTS_MAX = 64 };

typedef struct FaultRow {
    IoFault fault;
    IoSite site;
    u64 from, through; /* calls that suffer, counted from when the row was added; through UINT64_MAX: for ever */
    u64 seen;
} FaultRow;

static FaultRow rows[FAULTS_MAX];
static u32 row_count;
static bool from_environment;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static const struct { const char *name; IoFaultAction action; } ACTIONS[] = {
    {"errno", IO_FAULT_ERRNO}, {"short", IO_FAULT_SHORT}, {"torn", IO_FAULT_TORN},
    {"delay", IO_FAULT_DELAY_MS}, {"flip", IO_FAULT_FLIP}, {"kill", IO_FAULT_KILL},
};
static const struct { const char *name; int number; } ERRNOS[] = {
    {"EIO", EIO}, {"ENOSPC", ENOSPC}, {"EINTR", EINTR}, {"EAGAIN", EAGAIN}, {"ENOMEM", ENOMEM},
    {"ECANCELED", ECANCELED}, {"EDQUOT", EDQUOT}, {"EROFS", EROFS}, {"EFBIG", EFBIG}, {"EINVAL", EINVAL},
};

static void
add_row(IoSite site, IoFaultAction action, i64 arg, u64 from, u64 through)
{
    if (row_count == FAULTS_MAX)
        say_fatal("more than %d I/O faults", FAULTS_MAX);
    rows[row_count++] = (FaultRow){{action, arg}, site, from, through, 0};
}

static IoSite
site_of(const char *name)
{
    for (int i = 0; i < IO_SITE_COUNT; i++)
        if (strcmp(io_site_name((IoSite)i), name) == 0)
            return (IoSite)i;
    say_fatal("GGS3DB_IO_FAULTS: no I/O site is named \"%s\"", name);
}

static i64
argument_of(IoFaultAction action, const char *text)
{
    for (size_t i = 0; action == IO_FAULT_ERRNO && i < COUNT_OF(ERRNOS); i++)
        if (strcmp(ERRNOS[i].name, text) == 0)
            return ERRNOS[i].number;
    return strtoll(text, NULL, 10);
}

/* site:action:arg:nth[:sticky|:xN] */
static void
add_item(char *item)
{
    char *field[5] = {item, NULL, NULL, NULL, NULL};
    for (int i = 1; i < 5 && field[i - 1] && (field[i] = strchr(field[i - 1], ':')) != NULL; i++)
        *field[i]++ = 0;
    if (!field[3])
        say_fatal("GGS3DB_IO_FAULTS: \"%s\" is not site:action:arg:nth[:sticky|:xN]", item);
    for (size_t i = 0; i < COUNT_OF(ACTIONS); i++) {
        if (strcmp(ACTIONS[i].name, field[1]) != 0)
            continue;
        u64 nth = strtoull(field[3], NULL, 10), calls = field[4] && field[4][0] == 'x' ? strtoull(field[4] + 1, NULL, 10) : 1;
        bool for_ever = nth == 0 || (field[4] && strcmp(field[4], "sticky") == 0);
        add_row(site_of(field[0]), ACTIONS[i].action, argument_of(ACTIONS[i].action, field[2]), MAX(nth, 1u),
                for_ever ? UINT64_MAX : nth + calls - 1);
        return;
    }
    say_fatal("GGS3DB_IO_FAULTS: no action is named \"%s\"", field[1]);
}

static void
read_environment(void)
{
    const char *spec = getenv("GGS3DB_IO_FAULTS");
    char *copy = strdup(spec ? spec : ""), *save = NULL;
    from_environment = true;
    for (char *item = copy ? strtok_r(copy, ",", &save) : NULL; item; item = strtok_r(NULL, ",", &save))
        add_item(item);
    free(copy);
}

void
io_fault_add(IoSite site, IoFaultAction action, i64 arg, u64 nth, bool sticky)
{
    pthread_mutex_lock(&mutex);
    add_row(site, action, arg, MAX(nth, 1u), nth == 0 || sticky ? UINT64_MAX : nth);
    pthread_mutex_unlock(&mutex);
}

void
io_fault_clear(void)
{
    pthread_mutex_lock(&mutex);
    row_count = 0;
    from_environment = true;
    pthread_mutex_unlock(&mutex);
}

bool
io_fault_next(IoSite site, IoFault *ret)
{
    bool hit = false;
    pthread_mutex_lock(&mutex);
    if (!from_environment)
        read_environment();
    for (u32 i = 0; i < row_count; i++) {
        FaultRow *r = &rows[i];
        if (r->site != site)
            continue;
        r->seen++;
        if (!hit && r->seen >= r->from && r->seen <= r->through) {
            *ret = r->fault;
            hit = true;
        }
    }
    pthread_mutex_unlock(&mutex);
    return hit;
}
#else
/* Nothing in release builds; an empty translation unit is not allowed. */
typedef int io_fault_not_built;
#endif
