/*
 * checkpointer.c
 *    The role that writes snapshots. It waits: snapshots are not there yet, CHECKPOINT answers 0A000, and recovery replays the whole log.
 */
#include "common/base/say.h"
#include "common/proc/proc.h"

#include <poll.h>
#include <unistd.h>

void
checkpointer_main(Boot *boot)
{
    proc_signals(false); /* SIGTERM and SIGINT stop it, SIGQUIT at once */
    int failed = shm_attach(&boot->shm, SHM_CHECKPOINTER, boot->shm.slot_count);
    if (failed)
        say_fatal("cannot attach to shared memory: %s", strerror(-failed));
    for (;;) {
        poll(NULL, 0, 1000); /* the only place that blocks; a signal ends it */
        if (proc_flag(PROC_QUIT) || proc_flag(PROC_STOP) || proc_flag(PROC_FAST_STOP))
            _exit(0);
    }
}
