/*
 * postmaster.h
 *    What the files of this room share: the supervisor's state, the data folder, listening, refusing.
 */
#ifndef POSTMASTER_H
#define POSTMASTER_H

#include "common/proc/proc.h"

enum { LISTENERS_MAX = 32 };

typedef struct Listener {
    int fd;
    bool is_local, is_loopback;
    char text[128]; /* for log lines */
    char socket_path[128]; /* to be unlinked at the end; empty for TCP */
} Listener;

typedef struct Child {
    i32 pid; /* 0: none */
    RoleKind role;
    u32 slot; /* backends */
    int signin_fd; /* -1 once reported or closed */
    u64 started_ns;
    bool told_to_leave; /* it took too long to sign in */
} Child;

typedef struct Options {
    const char *pairs[256][2]; /* setting name or "", value; "" = whole name=value */
    int count;
    const char *config, *user;
    bool allow_root;
} Options;

typedef struct Postmaster {
    Boot boot;
    Options options;
    char conf_path[512]; /* settings file, which need not exist */
    int lock_fd;
    Listener listeners[LISTENERS_MAX];
    u32 listener_count;
    Child walwriter, checkpointer;
    Child *backends; /* one a slot */
    u32 backend_count, releasing_count;
    u32 refusing_count; /* children that say no */
    u64 walwriter_started_ns;
    u64 walwriter_ready_before; /* pub_ready when it was started */
    u32 walwriter_deaths; /* in quick succession */
    bool opened;
    ServerState stop; /* SERVER_OPEN: none asked for */
    bool backends_told;
    u64 kill_at_ns;   /* an immediate stop kills what is left then */
} Postmaster;

/* ---- options.c ---- */
/* Says what is wrong with the command line or the settings, and exits. */
NORETURN void options_complain(const char *text, const char *what);
void options_read(int argc, char **argv, Options *o);
/* All settings from where they come from, and the path of the settings file; at start and on SIGHUP. */
MUST_CHECK bool options_settings(const Options *o, Conf *c, char *ret_path, size_t size, Error *err);

/* ---- datadir.c ---- */
/* Make the folder when it is missing, refuse it when it is damaged, foreign or in use; lock it. The lock lives as long as any process
 * that inherited it. Says what is wrong and how to mend it. */
MUST_CHECK bool datadir_open(Postmaster *pm, u32 owner_uid, u32 owner_gid, Error *err);
/* postmaster.pid, as PostgreSQL's tools and scripts expect it. */
/* Before the doors open for the first time: from now on an empty log is a lost one. */
MUST_CHECK bool datadir_note_begun(Postmaster *pm, Error *err);
MUST_CHECK bool datadir_write_pid(Postmaster *pm, Error *err);
void datadir_close(Postmaster *pm);

/* ---- listen.c ---- */
MUST_CHECK bool listen_all(Postmaster *pm, Error *err);
void listen_close_all(Postmaster *pm, bool unlink_sockets);
/* Without a password only loopback and Unix sockets may be served: closes the others and says so. */
void listen_close_remote(Postmaster *pm);
/* -1 when there was nothing to accept. */
int listen_accept(const Listener *l, char *ret_text, size_t size);

/* ---- refuse.c ---- */
/* In a child of its own: read the start-up packet politely, answer FATAL, exit. A CancelRequest is carried out. */
NORETURN void refuse_client(int fd, const Shm *shm, ErrCode code, const char *message);

/* ---- supervisor.c ---- */
/* Runs until the server has stopped; returns the exit status. */
int supervise(Postmaster *pm);

#endif
