/*
 * checkpointer.c
 *    The role that writes snapshots: when the walwriter wishes for one, again when one has failed, and at a clean stop.
 *
 * It reads the world like a backend, pins it by its own box, and answers there (CheckpointerShm). After a second complete snapshot it removes the log that
 * neither needs. It may die at any moment: what it had begun does not count, and its successor removes it. It may be slow: nobody waits for it but who said
 * CHECKPOINT.
 *
 * Signals: SIGTERM and SIGINT: one more snapshot when anything was committed since the last one, then the end; SIGQUIT at once.
 * Writes: its box, the snapshots' folder; removes in the log's. Fails: a snapshot that cannot be written is said, told to who waits, and tried again with
 * growing pauses.
 */
#include "checkpointer/snapshot.h"

#include "common/base/env.h"
#include "common/base/fault.h"
#include "common/base/say.h"
#include "common/proc/proc.h"
#include "common/shm/publish.h"

#include <errno.h>
#include <poll.h>
#include <sys/resource.h>
#include <unistd.h>

enum { IO_DEPTH = 8, LOOK_EVERY_MS = 1000, NICE = 5 };
#define REST_MAX_NS 50000000ull
#define PAUSE_FIRST_NS 1000000000ull
#define PAUSE_MAX_NS 60000000000ull

typedef struct Checkpointer {
    Boot *boot;
    Snapshots snapshots;
    CheckpointerShm *told;
    u64 retry_at_ns, pause_ns; /* 0: the last one did not fail */
    u64 retired;               /* the log is removed up to here */
    u64 paced_ns, transactions; /* when pace() returned last, and how many there were */
} Checkpointer;

/* While others commit, most of the time is theirs: a rest after each piece of work, twice as long as that took. */
static void
pace(Checkpointer *c)
{
    u64 now_ns = env->monotonic_ns(), transactions = relaxed_u64(&c->snapshots.shm->writer->transactions);
    if (transactions != c->transactions && c->paced_ns)
        usleep((useconds_t)(MIN(2 * (now_ns - c->paced_ns), REST_MAX_NS) / 1000));
    c->transactions = transactions;
    c->paced_ns = env->monotonic_ns();
}

static bool
go_on(void *ctx)
{
    pace(ctx);
    return !proc_flag(PROC_QUIT);
}

static double mb(u64 bytes) { return (double)bytes / 1e6; }

static void
say_written(const SnapshotReport *r)
{
    u64 ns = r->read_ns + r->sync_ns + r->back_ns;
    say_info("snapshot %llu, of LSN %llu: %llu tables, %llu blocks, %.1f MB, of which %.1f MB were written, in %.3f s (%.0f MB/s; read back in %.3f s); %llu files",
             (unsigned long long)r->number, (unsigned long long)r->version, (unsigned long long)r->tables, (unsigned long long)r->blocks, mb(r->piece_bytes),
             mb(r->new_bytes + r->toc_bytes), (double)ns / 1e9, ns ? mb(r->new_bytes + r->toc_bytes) * 1e9 / (double)ns : 0.0, (double)r->back_ns / 1e9,
             (unsigned long long)r->files);
}

/* What neither snapshot needs of the log. */
static void
retire_log(Checkpointer *c)
{
    u64 needed = snapshots_log_needed(&c->snapshots);
    if (needed <= c->retired)
        return;
    FAULT(WAL_BEFORE_RETIRE);
    int rc = wal_remove_before(c->snapshots.io, c->boot->wal_dir_fd, needed);
    if (rc < 0)
        say_warn("old segments of the redo log stay for now: %s", strerror(-rc));
    else
        c->retired = needed;
    FAULT(WAL_AFTER_RETIRE);
}

/* The snapshot that would be written is there already, in both lineages when one was asked for. */
static bool
is_written(const Checkpointer *c, bool asked)
{
    const Snapshots *s = &c->snapshots;
    u64 version = observe_u64(&s->shm->writer->pub_published_lsn);
    return s->newest.head.version == version && (!asked || s->older.head.version == version);
}

static void
tell(Checkpointer *c, u64 wish, const Error *err)
{
    FAULT(SNAP_DONE);
    c->told->error = err ? *err : (Error){.code = ERR_NONE};
    publish_u64(&c->told->pub_done, wish);
    shm_ring_writer(c->snapshots.shm);
}

static void
note_failure(Checkpointer *c, const Error *err)
{
    c->told->failures++;
    c->pause_ns = c->pause_ns ? MIN(2 * c->pause_ns, PAUSE_MAX_NS) : PAUSE_FIRST_NS;
    c->retry_at_ns = env->monotonic_ns() + c->pause_ns;
    say_error("no snapshot could be written: %s; the old ones stay, the server goes on, the next try is in %llu s", err->message,
              (unsigned long long)(c->pause_ns / 1000000000));
}

static void
run(Checkpointer *c, bool asked)
{
    SnapshotReport report;
    Error err;
    u64 wish = observe_u64(&c->snapshots.shm->writer->pub_snapshot_wish);
    c->paced_ns = 0;
    publish_u64_fenced(&c->told->pub_begun, wish); /* before the pin */
    bool ok = is_written(c, asked);
    if (!ok && (ok = snapshot_write(&c->snapshots, &report, &err))) {
        c->told->snapshots++;
        c->told->bytes_written += report.new_bytes + report.toc_bytes;
        say_written(&report);
    }
    if (ok) {
        c->pause_ns = c->retry_at_ns = 0;
        retire_log(c);
    } else if (err.code != ERR_QUERY_CANCELED) {
        note_failure(c, &err);
    }
    tell(c, wish, ok ? NULL : &err);
}

/* The only place that blocks; signals ring the same eventfd. */
static void
wait_for_work(const Checkpointer *c)
{
    struct pollfd p = {.fd = c->snapshots.shm->checkpointer_event_fd, .events = POLLIN};
    u64 count, now_ns = env->monotonic_ns();
    int ms = LOOK_EVERY_MS;
    if (c->retry_at_ns)
        ms = c->retry_at_ns > now_ns ? (int)MIN((c->retry_at_ns - now_ns) / 1000000 + 1, (u64)LOOK_EVERY_MS) : 0;
    if (poll(&p, 1, ms) > 0 && read(p.fd, &count, sizeof count) < 0) {
        /* another wake-up read it */
    }
}

static void
open_all(Checkpointer *c, Boot *boot)
{
    Error err;
    const char *why;
    bool plain = strcmp(conf_text(&boot->conf, io_method), "sync") == 0;
    Io *io = io_new(plain ? IO_ENGINE_PLAIN : IO_ENGINE_RING, IO_DEPTH, &why);
    if (!io)
        say_fatal("the checkpointer cannot start: %s", why);
    *c = (Checkpointer){.boot = boot, .told = shm_checkpointer(&boot->shm),
                        .snapshots = {.io = io, .shm = &boot->shm, .box = shm_box(&boot->shm, boot->shm.slot_count), .dir_fd = boot->snap_dir_fd,
                                      .database_id = boot->database_id, .go_on = go_on, .ctx = c}};
    snapshot_unpin(c->snapshots.box); /* a predecessor may have died with its pin */
    while (!snapshots_open(&c->snapshots, boot->shm.writer->damaged_snapshot, &err)) {
        say_error("the snapshots' folder cannot be read: %s; it is tried again", err.message);
        if (proc_flag(PROC_QUIT) || proc_flag(PROC_STOP) || proc_flag(PROC_FAST_STOP))
            _exit(0);
        poll(NULL, 0, LOOK_EVERY_MS);
    }
}

void
checkpointer_main(Boot *boot)
{
    Checkpointer c;
    proc_signals(false);
    proc_signal_eventfd(boot->shm.checkpointer_event_fd);
    int failed = shm_attach(&boot->shm, SHM_CHECKPOINTER, boot->shm.slot_count);
    if (failed)
        say_fatal("cannot attach to shared memory: %s", strerror(-failed));
    setpriority(PRIO_PROCESS, 0, NICE); /* commits go first */
    open_all(&c, boot);
    for (;;) {
        if (proc_flag(PROC_QUIT))
            _exit(2);
        if (proc_flag(PROC_STOP) || proc_flag(PROC_FAST_STOP)) {
            if (!is_written(&c, false))
                run(&c, false);
            _exit(0);
        }
        bool asked = observe_u64(&boot->shm.writer->pub_snapshot_wish) > observe_u64(&c.told->pub_done);
        if (asked || (c.retry_at_ns && env->monotonic_ns() >= c.retry_at_ns))
            run(&c, asked);
        else
            wait_for_work(&c);
    }
}
