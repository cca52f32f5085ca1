/*
 * shm.h
 *    The shared areas: who makes, maps and may write each (design: world, boxes, control, writer, secrets).
 *
 * The postmaster makes all of them as memfds before its first fork and maps them at addresses that every child inherits. After
 * the fork a role calls shm_attach once: it lays a read-only mapping over every area it must not write (never mprotect: that can be undone),
 * keeps its own page ranges writable, and closes every read-write descriptor.
 *
 *   area     made and mapped by   written by   content
 *   world    postmaster           walwriter    the column store; store/world.h
 *   boxes    postmaster           see box.h    a BoxShm a slot
 *   control  postmaster           postmaster   ControlShm: slots, state
 *   writer   postmaster           walwriter    WriterShm: asleep, released slots, figures of log and memory
 *   secrets  postmaster           walwriter    verifiers; mapped only while a backend authenticates, and by the checkpointer
 */
#ifndef SHM_H
#define SHM_H

#include "common/base/base.h"
#include "common/shm/box.h"
#include "common/shm/notify.h"

enum { MAX_SLOTS = 8192 };

typedef enum SlotState { SLOT_FREE = 0, SLOT_TAKEN, SLOT_RELEASING } SlotState;

typedef struct SlotShm {
    u32 pub_state;      /* SlotState */
    u32 pub_generation; /* grows at each claim; 0 never used */
    i32 pid;
    u32 pub_role_id;    /* 0 until sign-in is reported; then the role whose rights the walwriter judges by */
    i64 started_us;
    u64 cancel_key;     /* low 32 bits are the wire's secret key */
} SlotShm;

typedef enum ServerState { SERVER_STARTING = 0, SERVER_OPEN, SERVER_SMART_STOP, SERVER_FAST_STOP, SERVER_IMMEDIATE_STOP } ServerState;

typedef struct ControlShm {
    u64 magic;
    u32 slot_count;
    u32 pub_server_state; /* ServerState */
    i64 started_us;
    i32 postmaster_pid;
    u32 reload_count;     /* grows at each SIGHUP */
    u8 pad[32];
    SlotShm slots[MAX_SLOTS];
} ControlShm;

/* Everything the walwriter tells the others, outside the world. */
typedef struct WriterShm {
    u64 pub_asleep;       /* 1: a request must write the eventfd */
    u8 line0[56];
    u64 pub_ready;        /* how many walwriters have begun their work; 0: recovery is not done */
    u64 pub_durable_lsn, pub_written_lsn, pub_published_lsn;
    u64 groups, group_bytes, transactions, retries, sync_ns, wal_failures;
    u32 pub_writes_stopped; /* ErrCode that writes answer, 0 none (P5) */
    u32 io_engine;
    u32 root_has_password;  /* valid once pub_ready is set */
    u32 pad_password;
    u64 world_used_bytes, world_budget_bytes, extents_small_pages;
    u64 lock_count, parked_count, staged_bytes;
    u64 first_lsn;          /* of this start: commits below it were asked for by nobody who lives */
    u64 pub_takeover_lsn;   /* a successor needs the log from here on: what is below is published and answered, and of no open chain */
    u64 recovered_groups, recovered_transactions, recovered_dropped_bytes;
    u64 pub_snapshot_wish;  /* the checkpointer is to write a snapshot for every wish, or one for several: CheckpointerShm */
    u64 log_payload;        /* bytes of records since the snapshot that recovery began with */
    u64 wish_payload, wish_lsn; /* log_payload, and the log's end, at the last wish */
    u64 damaged_snapshot;   /* number of one that recovery could not use, 0 none; valid once pub_ready is set */
    u64 compactions, dictionaries_replaced;
    u32 pub_released_generation[MAX_SLOTS]; /* the last generation whose release is confirmed, a slot */
    NotifyShm notify;
} WriterShm;

/* What the checkpointer tells the walwriter: at the start of its box's request area. A wish that is begun before its CHECKPOINT came does not cover it;
 * pub_begun is published, fenced, before the pin. */
typedef struct CheckpointerShm {
    u64 pub_begun;  /* the newest wish when the snapshot in work, or the last one, was begun */
    u64 pub_done;   /* … when the last one ended; `error` is valid */
    Error error;    /* of it; code ERR_NONE: it is complete */
    u64 snapshots, failures, bytes_written; /* since the start */
} CheckpointerShm;
_Static_assert(sizeof(CheckpointerShm) <= BOX_AREA_BYTES, "it fits the area");

/* A role's SCRAM verifier, written by the walwriter, read while authenticating. */
enum { SECRET_ROWS = 4096 };
typedef struct SecretShm {
    u32 pub_sequence; /* odd while a row is written */
    u32 role_id;
    char role[64];
    char verifier[256]; /* "SCRAM-SHA-256$4096:salt$stored:server", empty: cannot sign in by password */
} SecretShm;

typedef struct Shm {
    u8 *world;   /* WorldHead at its start; the same address in every process */
    u64 world_reserved_bytes;
    u8 *boxes;   /* slot_count boxes, BOX_STRIDE apart */
    ControlShm *control;
    WriterShm *writer;
    SecretShm *secrets; /* backends: NULL once sign-in is over */
    int world_fd, boxes_fd, control_fd, writer_fd, secrets_fd; /* read-write; -1 when closed */
    int read_fds[5];         /* the same areas opened read-only, in that order, for the mappings of roles that only read */
    int writer_event_fd;     /* eventfd that wakes the walwriter */
    int checkpointer_event_fd; /* eventfd that wakes the checkpointer */
    int postmaster_event_fd; /* eventfd that wakes the postmaster (slot released, ready) */
    u32 slot_count;          /* slots of connections; box slot_count is the checkpointer's, for its pin */
} Shm;

static inline CheckpointerShm *shm_checkpointer(const Shm *s)
{
    return (CheckpointerShm *)(void *)((BoxShm *)(void *)(s->boxes + (u64)s->slot_count * BOX_STRIDE))->area;
}
static inline BoxShm *shm_box(const Shm *s, u32 slot) { return (BoxShm *)(void *)(s->boxes + (u64)slot * BOX_STRIDE); }

/* Bytes of an area, in the order of read_fds. */
u64 shm_area_bytes(const Shm *s, int area);
/* Make all areas; memory_bytes is the budget (settings), reserve the address range for it. 0 or -errno. */
int shm_create(Shm *s, u32 slot_count, u64 memory_bytes) MUST_CHECK;

typedef enum ShmRole { SHM_WALWRITER, SHM_CHECKPOINTER, SHM_BACKEND } ShmRole;
/* In the child, once. slot is the backend's. After it no writable mapping and no read-write descriptor of what the role may not
 * write is left. Secrets stay mapped read-only in a backend until shm_forget_secrets. 0 or -errno. */
int shm_attach(Shm *s, ShmRole role, u32 slot) MUST_CHECK;
void shm_forget_secrets(Shm *s);
/* Wake the walwriter if it sleeps; called after publishing a request. */
void shm_ring_writer(const Shm *s);

#endif
