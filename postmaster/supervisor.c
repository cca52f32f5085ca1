/*
 * supervisor.c
 *    The postmaster's loop: accept, fork, reap, give slots back, restart roles, stop.
 *
 * It never looks at data. It writes control only: a slot goes FREE -> TAKEN (fork of its backend) -> RELEASING (reaped) -> FREE, the last step only after
 * the walwriter confirmed that it dropped everything of that generation (I8). A dead backend costs its own connection (I1); a dead
 * walwriter is replaced over the living world (I9); a dead checkpointer is replaced.
 *
 * States and what stops them: STARTING until the walwriter is ready; OPEN; SMART_STOP (SIGTERM) waits for the clients; FAST_STOP (SIGINT) ends
 * them; IMMEDIATE_STOP (SIGQUIT) ends everything at once and leaves the rest to recovery.
 */
#include "postmaster/postmaster.h"

#include "common/base/env.h"
#include "common/base/say.h"
#include "common/shm/publish.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { QUICK_DEATHS_MAX = 5, KILL_AFTER_MS = 5000, ACCEPTS_A_TURN = 64, REFUSERS_MAX = 64, RESERVED_SHARE = 8, SIGNIN_GRACE_S = 3 };
#define QUICK_DEATH_NS 10000000000ull

typedef NORETURN void (*RoleMain)(Boot *);
static const struct { const char *title; RoleMain main; } ROLES[ROLE_KIND_COUNT] = {
#define ROLE(symbol, title, main) [ROLE_##symbol] = {title, main},
#include "common/proc/roles.def"
};

/* In the child: close what belongs to the postmaster, then become the role. */
static NORETURN void
become(Postmaster *pm, RoleKind role, i32 parent)
{
    proc_die_with_parent(parent);
    listen_close_all(pm, false);
    for (u32 i = 0; i < pm->boot.shm.slot_count; i++)
        if (pm->backends[i].signin_fd >= 0)
            close(pm->backends[i].signin_fd);
    proc_signal_eventfd(-1);
    if (role == ROLE_BACKEND) { /* files are not its business */
        close(pm->boot.data_dir_fd);
        close(pm->boot.wal_dir_fd);
        close(pm->boot.snap_dir_fd);
        close(pm->boot.shm.checkpointer_event_fd);
        close(pm->lock_fd);
    }
    if (role != ROLE_WALWRITER)
        explicit_bzero(pm->boot.root_password, sizeof pm->boot.root_password);
    say_role(ROLES[role].title);
    proc_title("%s", ROLES[role].title);
    ROLES[role].main(&pm->boot);
}

/* Fork a role. Signals are held back so that none is lost between fork and the child's own handlers. */
static i32
spawn(Postmaster *pm, RoleKind role)
{
    sigset_t all, before;
    i32 parent = getpid();
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, &before);
    pid_t pid = fork();
    if (pid == 0)
        become(pm, role, parent);
    sigprocmask(SIG_SETMASK, &before, NULL);
    return pid;
}

static void
start_walwriter(Postmaster *pm, bool take_over)
{
    pm->boot.take_over = take_over;
    pm->walwriter_started_ns = env->monotonic_ns();
    pm->walwriter_ready_before = observe_u64(&pm->boot.shm.writer->pub_ready);
    pm->walwriter.pid = spawn(pm, ROLE_WALWRITER);
    if (pm->walwriter.pid < 0)
        say_error("cannot fork the walwriter: %s", strerror(errno));
}

static void
start_checkpointer(Postmaster *pm)
{
    pm->checkpointer.pid = spawn(pm, ROLE_CHECKPOINTER);
    if (pm->checkpointer.pid < 0)
        say_error("cannot fork the checkpointer: %s", strerror(errno));
}

static void
set_state(Postmaster *pm, ServerState s)
{
    publish_u32(&pm->boot.shm.control->pub_server_state, s);
}

/* ---- connections ---- */

static int
find_free_slot(Postmaster *pm)
{
    const ControlShm *c = pm->boot.shm.control;
    for (u32 i = 0; i < pm->boot.shm.slot_count; i++)
        if (c->slots[i].pub_state == SLOT_FREE)
            return (int)i;
    return -1;
}

static void
refuse(Postmaster *pm, int fd, ErrCode code, const char *message)
{
    i32 parent = getpid();
    pid_t pid = pm->refusing_count < REFUSERS_MAX ? fork() : -1; /* a flood is closed without a word */
    if (pid == 0) {
        proc_die_with_parent(parent);
        listen_close_all(pm, false);
        refuse_client(fd, &pm->boot.shm, code, message);
    }
    pm->refusing_count += pid > 0;
    close(fd);
}

static void
start_backend(Postmaster *pm, int fd, const Listener *l, const char *client)
{
    ControlShm *c = pm->boot.shm.control;
    int pipe_fds[2], slot = find_free_slot(pm);
    if (!pm->opened || pm->stop != SERVER_OPEN) {
        refuse(pm, fd, ERR_CANNOT_CONNECT_NOW,
               pm->stop != SERVER_OPEN ? "the database system is shutting down" : "the database system is starting up");
        return;
    }
    if (slot < 0) {
        refuse(pm, fd, ERR_TOO_MANY_CONNECTIONS, "sorry, too many clients already");
        return;
    }
    if (pipe2(pipe_fds, O_CLOEXEC | O_NONBLOCK) != 0) {
        refuse(pm, fd, ERR_INSUFFICIENT_RESOURCES, "the server has no free descriptors");
        return;
    }
    SlotShm *s = &c->slots[slot];
    Boot *b = &pm->boot;
    s->pub_generation = s->pub_generation + 1 ? s->pub_generation + 1 : 1;
    s->started_us = env->wall_us();
    s->pub_role_id = 0;
    env->random_bytes(&s->cancel_key, sizeof s->cancel_key);
    b->client_fd = fd;
    b->slot = (u32)slot;
    b->generation = s->pub_generation;
    b->client_is_local = l->is_local;
    snprintf(b->client_text, sizeof b->client_text, "%s", client);
    b->signin_fd = pipe_fds[1];
    publish_u32(&s->pub_state, SLOT_TAKEN);
    pid_t pid = spawn(pm, ROLE_BACKEND);
    close(fd);
    close(pipe_fds[1]);
    if (pid < 0) {
        say_error("cannot fork a backend: %s", strerror(errno));
        close(pipe_fds[0]);
        publish_u32(&s->pub_state, SLOT_FREE); /* nobody ever ran under this generation */
        return;
    }
    s->pid = pid;
    pm->backends[slot] = (Child){.pid = pid, .role = ROLE_BACKEND, .slot = (u32)slot, .signin_fd = pipe_fds[0], .started_ns = env->monotonic_ns()};
    pm->backend_count++;
}

static void
accept_some(Postmaster *pm, const Listener *l)
{
    char client[64];
    for (int i = 0; i < ACCEPTS_A_TURN; i++) {
        int fd = listen_accept(l, client, sizeof client);
        if (fd < 0)
            return;
        start_backend(pm, fd, l, client);
    }
}

/* A backend's one report: the role that signed in. What counts is whose pipe it is, not what it says of slot and generation. */
static void
read_signin(Postmaster *pm, Child *b)
{
    SigninReport r;
    ssize_t n = read(b->signin_fd, &r, sizeof r);
    if (n < 0 && errno == EAGAIN)
        return;
    if (n == (ssize_t)sizeof r)
        publish_u32(&pm->boot.shm.control->slots[b->slot].pub_role_id, r.role_id);
    close(b->signin_fd);
    b->signin_fd = -1;
}

/* When few slots are left, whoever holds one and does not sign in gives it up: a thousand silent sockets must not lock others out. */
static void
end_strangers(Postmaster *pm)
{
    u32 slots = pm->boot.shm.slot_count, ended = 0;
    if (slots - pm->backend_count - pm->releasing_count >= (slots + RESERVED_SHARE - 1) / RESERVED_SHARE)
        return;
    u64 now_ns = env->monotonic_ns();
    for (u32 i = 0; i < slots; i++) {
        Child *b = &pm->backends[i];
        if (b->pid > 0 && b->signin_fd >= 0 && !b->told_to_leave && now_ns - b->started_ns > SIGNIN_GRACE_S * 1000000000ull) {
            kill(b->pid, SIGTERM);
            b->told_to_leave = true;
            ended++;
        }
    }
    if (ended)
        say_warn("%u of %u connections were ended because they did not sign in within %d s and few are left (max_connections)", ended, slots, SIGNIN_GRACE_S);
}

/* ---- deaths ---- */

static const char *
describe_exit(int status, char *to, size_t size)
{
    if (WIFSIGNALED(status))
        snprintf(to, size, "was killed by signal %d (%s)", WTERMSIG(status), strsignal(WTERMSIG(status)));
    else
        snprintf(to, size, "exited with status %d", WEXITSTATUS(status));
    return to;
}

static void
backend_died(Postmaster *pm, Child *b, int status)
{
    char how[128];
    SlotShm *s = &pm->boot.shm.control->slots[b->slot];
    u64 one = 1;
    if (WIFSIGNALED(status) || WEXITSTATUS(status) > 1)
        say_error("backend %d %s; other connections go on", b->pid, describe_exit(status, how, sizeof how));
    if (b->signin_fd >= 0)
        close(b->signin_fd);
    *b = (Child){.signin_fd = -1};
    pm->backend_count--;
    pm->releasing_count++;
    s->pid = 0;
    publish_u32(&s->pub_role_id, 0);
    publish_u32(&s->pub_state, SLOT_RELEASING);
    if (write(pm->boot.shm.writer_event_fd, &one, sizeof one) < 0) {
        /* full: it is awake */
    }
}

static void
walwriter_died(Postmaster *pm, int status)
{
    char how[128];
    pm->walwriter.pid = 0;
    if (pm->stop != SERVER_OPEN && pm->backend_count == 0)
        return; /* told to stop */
    /* One that had begun its work and was killed from outside says nothing about its successor. */
    bool quick = env->monotonic_ns() - pm->walwriter_started_ns < QUICK_DEATH_NS;
    bool killed = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
    if (killed && observe_u64(&pm->boot.shm.writer->pub_ready) != pm->walwriter_ready_before)
        pm->walwriter_deaths = 0;
    else
        pm->walwriter_deaths = quick ? pm->walwriter_deaths + 1 : 1;
    say_error("walwriter %s", describe_exit(status, how, sizeof how));
    bool was_ready = observe_u64(&pm->boot.shm.writer->pub_ready) != 0;
    if (!was_ready || pm->walwriter_deaths > QUICK_DEATHS_MAX) {
        say_error("the server stops: %s", was_ready ? "the walwriter keeps dying" : "it could not recover");
        pm->stop = SERVER_IMMEDIATE_STOP;
        return;
    }
    start_walwriter(pm, true);
}

static void
reap(Postmaster *pm)
{
    int status;
    for (pid_t pid; (pid = waitpid(-1, &status, WNOHANG)) > 0;) {
        if (pid == pm->walwriter.pid)
            walwriter_died(pm, status);
        else if (pid == pm->checkpointer.pid) {
            pm->checkpointer.pid = 0;
            if (pm->stop == SERVER_OPEN) {
                char how[128];
                say_error("checkpointer %s", describe_exit(status, how, sizeof how));
                start_checkpointer(pm);
            }
        } else {
            u32 i = 0;
            while (i < pm->boot.shm.slot_count && pm->backends[i].pid != pid)
                i++;
            if (i < pm->boot.shm.slot_count)
                backend_died(pm, &pm->backends[i], status);
            else
                pm->refusing_count -= pm->refusing_count > 0;
        }
    }
}

/* Slots whose release the walwriter has confirmed are free again. */
static void
free_slots(Postmaster *pm)
{
    ControlShm *c = pm->boot.shm.control;
    for (u32 i = 0; pm->releasing_count && i < pm->boot.shm.slot_count; i++)
        if (c->slots[i].pub_state == SLOT_RELEASING &&
            observe_u32(&pm->boot.shm.writer->pub_released_generation[i]) == c->slots[i].pub_generation) {
            publish_u32(&c->slots[i].pub_state, SLOT_FREE);
            pm->releasing_count--;
        }
}

/* ---- opening and stopping ---- */

static void
open_doors(Postmaster *pm)
{
    Error err;
    if (!datadir_note_begun(pm, &err)) {
        say_error("the server stops: %s", err.message);
        pm->stop = SERVER_IMMEDIATE_STOP;
        return;
    }
    pm->boot.has_password = pm->boot.shm.writer->root_has_password != 0;
    explicit_bzero(pm->boot.root_password, sizeof pm->boot.root_password);
    if (!pm->boot.has_password)
        listen_close_remote(pm);
    start_checkpointer(pm);
    pm->opened = true;
    set_state(pm, SERVER_OPEN);
    char where[512] = "";
    for (u32 i = 0; i < pm->listener_count; i++)
        snprintf(where + strlen(where), sizeof where - strlen(where), "%s%s", i ? ", " : "", pm->listeners[i].text);
    say_info("ready to accept connections on %s", where);
}

static void
signal_backends(Postmaster *pm, int sig)
{
    for (u32 i = 0; i < pm->boot.shm.slot_count; i++)
        if (pm->backends[i].pid > 0)
            kill(pm->backends[i].pid, sig);
}

static void
ask_stop(Postmaster *pm, ServerState how, const char *word)
{
    if (how <= pm->stop)
        return;
    say_info("received %s shutdown request", word);
    pm->stop = how;
    pm->backends_told = false;
    set_state(pm, how);
}

/* One step of stopping; true when everything is gone. */
static bool
stop_step(Postmaster *pm)
{
    if (pm->stop == SERVER_IMMEDIATE_STOP) {
        int sig = SIGQUIT;
        if (pm->kill_at_ns && env->monotonic_ns() > pm->kill_at_ns)
            sig = SIGKILL;
        if (!pm->kill_at_ns)
            pm->kill_at_ns = env->monotonic_ns() + KILL_AFTER_MS * 1000000ull;
        else if (sig != SIGKILL)
            sig = 0; /* told already */
        signal_backends(pm, sig);
        if (pm->walwriter.pid > 0)
            kill(pm->walwriter.pid, sig);
        if (pm->checkpointer.pid > 0)
            kill(pm->checkpointer.pid, sig);
        return pm->backend_count == 0 && pm->walwriter.pid <= 0 && pm->checkpointer.pid <= 0;
    }
    if (pm->stop == SERVER_FAST_STOP && !pm->backends_told) {
        signal_backends(pm, SIGTERM);
        pm->backends_told = true;
    }
    if (pm->backend_count > 0)
        return false;
    if (pm->checkpointer.pid > 0)
        kill(pm->checkpointer.pid, SIGTERM);
    else if (pm->walwriter.pid > 0)
        kill(pm->walwriter.pid, SIGTERM);
    return pm->checkpointer.pid <= 0 && pm->walwriter.pid <= 0;
}

/* What SIGHUP cannot change is said, not dropped in silence. "memory" may have been worked out at start. */
static void
warn_of_start_settings(const Conf *now, const Conf *fresh)
{
    for (int id = 0; id < CONF_COUNT; id++) {
        bool differs = now->number[id] != fresh->number[id] || strcmp(now->text[id], fresh->text[id]) != 0;
        bool worked_out = id == CONF_memory && fresh->number[id] == 0;
        if (SETTING_DEFS[id].when == SETTING_START && differs && !worked_out)
            say_warn("parameter \"%s\" cannot be changed without restarting the server", SETTING_DEFS[id].name);
    }
}

static void
reload(Postmaster *pm)
{
    static Conf fresh;
    Error err;
    if (!options_settings(&pm->options, &fresh, pm->conf_path, sizeof pm->conf_path, &err)) {
        say_error("settings are kept: %s", err.message);
        return;
    }
    warn_of_start_settings(&pm->boot.conf, &fresh);
    for (int id = 0; id < CONF_COUNT; id++)
        if (SETTING_DEFS[id].when != SETTING_START) {
            pm->boot.conf.number[id] = fresh.number[id];
            memcpy(pm->boot.conf.text[id], fresh.text[id], sizeof fresh.text[id]);
        }
    pm->boot.shm.control->reload_count++;
    signal_backends(pm, SIGHUP);
    say_info("read the settings again%s\"%s\"; new connections use them", access(pm->conf_path, F_OK) == 0 ? " from " : "; there is no file ", pm->conf_path);
}

/* The only place that blocks. */
static void
wait_for_work(Postmaster *pm)
{
    struct pollfd polls[LISTENERS_MAX + 1 + MAX_SLOTS];
    Child *owners[MAX_SLOTS];
    u32 n = 0, pending = 0, listeners = pm->listener_count;
    polls[n++] = (struct pollfd){.fd = pm->boot.shm.postmaster_event_fd, .events = POLLIN};
    for (u32 i = 0; i < listeners; i++)
        polls[n++] = (struct pollfd){.fd = pm->listeners[i].fd, .events = POLLIN};
    for (u32 i = 0; i < pm->boot.shm.slot_count; i++)
        if (pm->backends[i].signin_fd >= 0) {
            owners[pending++] = &pm->backends[i];
            polls[n++] = (struct pollfd){.fd = pm->backends[i].signin_fd, .events = POLLIN};
        }
    if (poll(polls, n, 1000) <= 0)
        return;
    if (polls[0].revents) {
        u64 count;
        if (read(pm->boot.shm.postmaster_event_fd, &count, sizeof count) < 0) {
            /* another wake-up read it */
        }
    }
    for (u32 i = 0; i < pending; i++)
        if (polls[1 + listeners + i].revents)
            read_signin(pm, owners[i]);
    for (u32 i = 0; i < listeners && i < pm->listener_count; i++)
        if (polls[1 + i].revents)
            accept_some(pm, &pm->listeners[i]);
}

int
supervise(Postmaster *pm)
{
    pm->stop = SERVER_OPEN;
    pm->backends = calloc(pm->boot.shm.slot_count, sizeof *pm->backends);
    if (!pm->backends)
        say_fatal("no memory for %u connections", pm->boot.shm.slot_count);
    for (u32 i = 0; i < pm->boot.shm.slot_count; i++)
        pm->backends[i].signin_fd = -1;
    proc_signal_eventfd(pm->boot.shm.postmaster_event_fd);
    start_walwriter(pm, false);
    for (;;) {
        if (proc_flag_take(PROC_QUIT))
            ask_stop(pm, SERVER_IMMEDIATE_STOP, "immediate");
        if (proc_flag_take(PROC_FAST_STOP))
            ask_stop(pm, SERVER_FAST_STOP, "fast");
        if (proc_flag_take(PROC_STOP))
            ask_stop(pm, SERVER_SMART_STOP, "smart");
        if (proc_flag_take(PROC_RELOAD))
            reload(pm);
        if (proc_flag_take(PROC_CHILD))
            reap(pm);
        free_slots(pm);
        end_strangers(pm);
        if (!pm->opened && pm->stop == SERVER_OPEN && observe_u64(&pm->boot.shm.writer->pub_ready))
            open_doors(pm);
        if (pm->stop != SERVER_OPEN && stop_step(pm))
            break;
        wait_for_work(pm);
    }
    bool failed = pm->stop == SERVER_IMMEDIATE_STOP && (pm->walwriter_deaths > 0 || !pm->opened);
    say_info("the server has stopped");
    return failed ? 1 : 0;
}
