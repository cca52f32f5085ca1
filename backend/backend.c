/*
 * backend.c
 *    The role's entry: signals, attach, the session's parts, then the session loop.
 *
 * After shm_attach the process can write to its own box and to nothing else that is shared; after sign-in it has also dropped the means to get more
 * (harden.c). It ends with _exit: there is nothing to tidy up that the postmaster and the walwriter do not tidy up for a killed one, too.
 */
#include "backend/names.h"

#include "backend/interrupt.h"
#include "backend/throw.h"
#include "common/base/say.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

/* A quarter of the machine, unless the setting says otherwise. */
static u64
memory_limit_bytes(const Conf *c)
{
    i64 set = conf_int(c, query_memory), pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    return set > 0 ? (u64)set : pages > 0 && page > 0 ? (u64)pages * (u64)page / 4 : (u64)1 << 30;
}

void
backend_main(Boot *boot)
{
    int wake_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    proc_signals(true);
    proc_signal_eventfd(wake_fd);
    int err = shm_attach(&boot->shm, SHM_BACKEND, boot->slot);
    if (err)
        say_fatal("cannot attach the shared areas: %s", strerror(-err));
    if (wake_fd < 0 || sodium_init() < 0)
        say_fatal("cannot set up a session");
    Session *s = calloc(1, sizeof *s);
    if (!s || !(s->wire = wire_new(boot->client_fd, wake_fd)) || !(s->guc = guc_new(&boot->conf)))
        say_fatal("no memory for a session");
    s->boot = boot;
    names_open(s);
    s->box = shm_box(&boot->shm, boot->slot);
    interrupt_watch(s->box);
    s->memory_limit_bytes = memory_limit_bytes(&boot->conf);
    s->arena = arena_new("session", 0, arena_full_throw);
    s->message = arena_new("message", s->memory_limit_bytes, arena_full_throw);
    if (!s->arena || !s->message)
        say_fatal("no memory for a session");
    exec_init(&boot->shm, boot->slot, (u32)conf_int(&boot->conf, worker_threads));
    session_run(s);
}
