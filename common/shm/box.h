/*
 * box.h
 *    The mailbox of a connection slot: how a backend asks the walwriter and gets its answer.
 *
 * One page-aligned box a slot, BOX_STRIDE apart in one memfd. The backend of the slot maps its own box read-write and all
 * others read-only; the walwriter maps all read-write. No word is written by two processes:
 * the first page and the request area by the backend, the second page and the answer area by the walwriter (which also takes away the pin of a
 * dead owner).
 *
 * Asking: 1. the backend writes the request into `area` and req_*; 2. publishes pub_req_seq = last + 1; 3. full fence; looks
 * at WriterShm.pub_asleep and writes the eventfd if it is set. Answering: 1. the walwriter writes ans_*; 2. publishes pub_ans_seq = the
 * request's seq; 3. adds 1 to pub_latch and wakes. The request bytes are hostile to the walwriter: copy, check, use (I6).
 * Withdrawing (cancel, timeout): the backend publishes pub_withdraw_seq = the seq it waits for and goes on waiting: the answer always comes.
 * Pinning: see pin.h.
 */
#ifndef BOX_H
#define BOX_H

#include "common/base/base.h"
#include "common/base/error.h"

enum {
    BOX_AREA_BYTES = 320 * 1024, /* a part of at most 256 KiB and its frame */
    BOX_STRIDE = 512 * 1024,
    BOX_STATEMENT_BYTES = 1024,
    BOX_LOCK_ROWS = 1024,          /* rows of one LOCK request */
    BOX_ANSWER_BYTES = 128 * 1024,
};

/* IDLE_BLOCK, IDLE_FAILED: between statements of a transaction block. */
typedef enum BoxState { BOX_IDLE = 0, BOX_ACTIVE, BOX_WAITING, BOX_IDLE_BLOCK, BOX_IDLE_FAILED } BoxState;

typedef enum AnsStatus {
    ANS_OK = 1,     /* durable and published at ans_version */
    ANS_STAGED,     /* a part of a chain was accepted */
    ANS_RETRY,      /* run the statement again at ans_version or newer; locks are kept */
    ANS_REPLAN,     /* the catalog changed: bind and plan again */
    ANS_ERROR,      /* ans_error; nothing happened */
} AnsStatus;

typedef struct BoxShm {
    /* ---- written by the backend ---- */
    u64 pub_pin_epoch;   /* 0: nothing pinned */
    u64 pub_pin_version; /* what is read, for views */
    u8 line0[48];
    u64 pub_req_seq;     /* never decreases within a slot generation; starts at 0 */
    u32 req_kind;        /* ReqKind of requests.def */
    u32 req_len;         /* bytes of `area` used */
    u32 req_generation;  /* the slot generation the backend believes in */
    u32 req_flags;
    u64 req_version;     /* the version the statement read at */
    u64 req_deadline_ns; /* lock_timeout as a monotonic deadline, 0 = none */
    /* Ordinals number the records of an open transaction from 1 on and are never used again (request.h). */
    u32 req_ordinal;     /* of the request's first record */
    u32 req_statement;   /* the last ordinal before the running statement: RETRY takes back what came after it */
    u32 req_savepoint;   /* the last ordinal before the newest savepoint, 0 when there is none; UNDO: the last one kept */
    u32 req_role;        /* SET ROLE: by whose rights, which must be within those of the role that control names; 0: of that one */
    u8 line1[8];
    u64 pub_withdraw_seq;
    u64 pub_notify_read; /* 1 + the position in the queue of NOTIFY it has read up to; 0: it does not listen (notify.h) */
    u8 line2[48];
    u32 helpers_running; /* threads besides the session's own */
    u32 state;           /* BoxState */
    u64 query_bytes;     /* memory held by the running statement */
    u64 statements, rows_out, commits, rollbacks;
    i64 statement_start_us;
    i64 transaction_start_us; /* 0: none runs */
    char statement[BOX_STATEMENT_BYTES]; /* cut, terminated */
    u8 pad_backend[4096 - 5 * 64 - BOX_STATEMENT_BYTES + 64];
    /* ---- written by the walwriter (offset 4096) ---- */
    u64 pub_ans_seq;
    u32 ans_status; /* AnsStatus */
    u32 pub_latch;  /* grows by one at every wake */
    u64 ans_version;
    u64 ans_rows;
    u64 ans_txn;          /* id of the open transaction, 0 none */
    i32 ans_wake_next[2]; /* slots that the woken backend wakes in turn, -1 none */
    u64 ans_row[2];       /* STAGED: where the part's rows went; what else answers say: request.h */
    Error ans_error;
    u64 ans_slot;
    u64 ans_open[2]; /* ans_txn after answer number n at n % 2: a successor goes by the last one that was published, not by one that was only begun */
    u64 ans_bits[BOX_LOCK_ROWS / 64]; /* LOCK of rows: a bit a row, 1 = granted */
    u64 pub_cancel_pin; /* the session is cancelled because its pin of this epoch keeps too much memory */
    u8 pad_writer[4096 - 64 - sizeof(Error) - 32 - BOX_LOCK_ROWS / 8];
    /* ---- written by the backend (offset 8192) ---- */
    u8 area[BOX_AREA_BYTES];
    /* ---- written by the walwriter ---- */
    u8 answer[BOX_ANSWER_BYTES]; /* answers that are lists; ans_rows says how many bytes */
} BoxShm;

_Static_assert(offsetof(BoxShm, pub_req_seq) == 64, "line of the request");
_Static_assert(offsetof(BoxShm, pub_withdraw_seq) == 128, "line of the withdrawal");
_Static_assert(offsetof(BoxShm, pub_ans_seq) == 4096, "the walwriter's page");
_Static_assert(offsetof(BoxShm, area) == 8192, "the request area");
_Static_assert(sizeof(BoxShm) <= BOX_STRIDE, "a box fits its stride");

#endif
