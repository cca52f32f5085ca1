/*
 * proc.h
 *    Processes: the role table, what a role is started with, signals as flags, titles, the death of the parent.
 */
#ifndef PROC_H
#define PROC_H

#include "common/base/base.h"
#include "common/conf/conf.h"
#include "common/shm/shm.h"

/* What every role is started with; the child's copy is its own. */
typedef struct Boot {
    Shm shm;
    Conf conf;
    int data_dir_fd;      /* the data folder, O_PATH-like, for openat; the walwriter's and checkpointer's */
    int wal_dir_fd, snap_dir_fd;
    u64 database_id;      /* of the data folder: what stands in the heads of its snapshots */
    /* backend only */
    int client_fd;
    u32 slot, generation;
    bool client_is_local; /* Unix socket */
    char client_text[64]; /* "[local]" or "127.0.0.1:5555" for log lines */
    bool has_password;    /* the root role has a password: everybody signs in with SCRAM; else trust */
    int signin_fd;        /* pipe: after sign-in the backend writes SigninReport once, then closes it */
    /* walwriter only */
    bool log_begun;       /* an earlier start wrote the redo log: it must be there */
    bool take_over;       /* the world is alive: a predecessor died */
    char root_password[256]; /* of the environment; wiped by the walwriter after use, empty in every other role */
} Boot;

typedef struct SigninReport { u32 slot, generation, role_id; } SigninReport;

typedef enum RoleKind {
#define ROLE(symbol, title, main) ROLE_##symbol,
#include "common/proc/roles.def"
    ROLE_KIND_COUNT
} RoleKind;
#define ROLE(symbol, title, main) NORETURN void main(Boot *boot);
#include "common/proc/roles.def"

/* Signals become flags; handlers do nothing else but ring the given futex word or eventfd. */
typedef enum ProcFlag { PROC_STOP, PROC_FAST_STOP, PROC_QUIT, PROC_RELOAD, PROC_CANCEL, PROC_CHILD, PROC_ALARM, PROC_NOTIFY, PROC_FLAG_COUNT } ProcFlag;
/* SIGTERM → PROC_STOP, SIGINT → PROC_CANCEL in backends, PROC_FAST_STOP elsewhere, SIGQUIT → PROC_QUIT, SIGHUP → PROC_RELOAD, SIGCHLD → PROC_CHILD,
 * SIGALRM → PROC_ALARM, SIGUSR1 → PROC_NOTIFY. SIGPIPE is ignored. */
void proc_signals(bool backend);
bool proc_flag(ProcFlag f);        /* peek */
bool proc_flag_take(ProcFlag f);   /* and clear */
void proc_flag_set(ProcFlag f);
/* Also written (8 bytes) by the handlers; -1 none. */
void proc_signal_eventfd(int fd);
/* Title in ps: "ggs3db: <text>". proc_title_init once in main. */
void proc_title_init(int argc, char **argv);
void proc_title(const char *format, ...) PRINTF_LIKE(1, 2);
/* A CancelRequest: the backend of this pid and secret key is told to stop its statement; whoever is not meant notices nothing. */
void proc_cancel(const Shm *shm, u32 pid, u32 key);
/* The parent's death kills this process (checked for the race). */
void proc_die_with_parent(i32 parent_pid);

#endif
