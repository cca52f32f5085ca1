/*
 * proc.c
 *    Signals as flags, process titles, the parent's death.
 *
 * Handlers set a flag and write one eventfd, nothing else; the role's loop looks at the flags in one fixed order.
 */
#include "common/proc/proc.h"

#include "common/base/say.h"
#include "common/shm/publish.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

static sig_atomic_t flags[PROC_FLAG_COUNT];
static int wake_fd = -1;
static char *title_at;
static size_t title_room;
extern char **environ;

static void
set_flag(ProcFlag f)
{
    u64 one = 1;
    flags[f] = 1;
    if (wake_fd >= 0 && write(wake_fd, &one, sizeof one) < 0) {
        /* A full eventfd is awake already. */
    }
}

static void on_term(int sig UNUSED) { int e = errno; set_flag(PROC_STOP); errno = e; }
static void on_int_backend(int sig UNUSED) { int e = errno; set_flag(PROC_CANCEL); errno = e; }
static void on_int(int sig UNUSED) { int e = errno; set_flag(PROC_FAST_STOP); errno = e; }
static void on_hup(int sig UNUSED) { int e = errno; set_flag(PROC_RELOAD); errno = e; }
static void on_child(int sig UNUSED) { int e = errno; set_flag(PROC_CHILD); errno = e; }
static void on_alarm(int sig UNUSED) { int e = errno; set_flag(PROC_ALARM); errno = e; }
static void on_usr1(int sig UNUSED) { int e = errno; set_flag(PROC_NOTIFY); errno = e; }
static void on_quit(int sig UNUSED) { int e = errno; set_flag(PROC_QUIT); errno = e; }

static void
catch_signal(int sig, void (*handler)(int))
{
    struct sigaction a = {.sa_handler = handler};
    sigemptyset(&a.sa_mask);
    ensure(sigaction(sig, &a, NULL) == 0);
}

void
proc_signals(bool backend)
{
    for (int f = 0; f < PROC_FLAG_COUNT; f++)
        flags[f] = 0;
    catch_signal(SIGTERM, on_term);
    catch_signal(SIGINT, backend ? on_int_backend : on_int);
    catch_signal(SIGHUP, on_hup);
    catch_signal(SIGCHLD, on_child);
    catch_signal(SIGALRM, on_alarm);
    catch_signal(SIGQUIT, on_quit);
    catch_signal(SIGUSR1, on_usr1);
    catch_signal(SIGPIPE, SIG_IGN);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

bool
proc_flag(ProcFlag f)
{
    return flags[f] != 0;
}

bool
proc_flag_take(ProcFlag f)
{
    if (!flags[f])
        return false;
    flags[f] = 0;
    return true;
}

void
proc_flag_set(ProcFlag f)
{
    set_flag(f);
}

void
proc_signal_eventfd(int fd)
{
    wake_fd = fd;
}

/* The title is written over argv and the environment behind it, which is moved away first. */
void
proc_title_init(int argc, char **argv)
{
    char *end = argv[0] + strlen(argv[0]) + 1;
    size_t count = 0;
    for (int i = 1; i < argc; i++)
        if (argv[i] == end)
            end += strlen(end) + 1;
    for (; environ[count]; count++)
        if (environ[count] == end)
            end += strlen(end) + 1;
    char **moved = calloc(count + 1, sizeof *moved);
    for (size_t i = 0; moved && i < count; i++)
        moved[i] = strdup(environ[i]);
    if (!moved)
        return;
    environ = moved;
    char *behind = argv[argc - 1] + strlen(argv[argc - 1]) + 1;
    if (behind < end) /* what /proc shows as the environment: it may hold a password */
        explicit_bzero(behind, (size_t)(end - behind));
    title_at = argv[0];
    title_room = (size_t)(end - argv[0]);
}

void
proc_title(const char *format, ...)
{
    char text[256];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (title_room < 16)
        return;
    memset(title_at, 0, title_room);
    snprintf(title_at, title_room, "ggs3db: %s", text);
}

void
proc_cancel(const Shm *shm, u32 pid, u32 key)
{
    for (u32 i = 0; i < shm->slot_count; i++) {
        const SlotShm *slot = &shm->control->slots[i];
        i32 found = slot->pid;
        if (observe_u32(&slot->pub_state) == SLOT_TAKEN && found > 0 && (u32)found == pid && found != getpid() && (u32)slot->cancel_key == key)
            kill(found, SIGINT);
    }
}

void
proc_die_with_parent(i32 parent_pid)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent_pid) /* it died before the call */
        _exit(1);
}
