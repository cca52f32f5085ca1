/*
 * ask.h
 *    The transaction's state, and one request to the walwriter with its answer, through the session's box. Private to this room.
 */
#ifndef ASK_H
#define ASK_H

#include "backend/txn/txn.h"
#include "common/base/bytes.h"
#include "common/base/error.h"
#include "common/store/own.h"

typedef struct ReadSet ReadSet;

/* Notifications of the transaction (notes.c). */
typedef struct Notes {
    ByteBuf items;  /* as in the queue (shm/notify.h) */
    u32 *starts;    /* of each */
    u32 *places;    /* number + 1 by hash, 0 empty */
    u32 count, capacity, place_mask;
} Notes;

struct Txn {
    Shm *shm;
    BoxShm *box;
    u32 slot, generation;
    u32 role_id;            /* by whose rights (txn_set_role); 0: of the role that control names */
    const i32 *lock_timeout_ms;
    /* the transaction */
    bool block;             /* between txn_begin and its end; else every statement is a transaction */
    bool lost;              /* the walwriter dropped it; until its end everything is answered with loss_error */
    bool looked;            /* a statement has looked at data */
    TxnIsolation isolation, autocommit_isolation;
    u64 open_id;            /* what is open at the walwriter, as its last answer said; 0: nothing */
    u64 opened_by;          /* which walwriter that is (WriterShm.pub_ready) */
    bool end_due;           /* a ROLLBACK is due all the same: a RETRY left locks with it, or it does not know that we know of a loss */
    u32 ordinal;            /* of the last record (box.h) */
    u32 statement;          /* ... before the running statement */
    u32 savepoint;          /* ... before the newest savepoint, 0 none */
    Error loss_error;
    Arena *arena;           /* of the transaction */
    Own *own;               /* its changes, as its statements see them; NULL until the session's first block that changes something */
    ReadSet *reads;
    Arena *session;
    Notes *notes;           /* NULL until the session's first */
    u32 statement_notes;    /* how many there were before the running statement */
    u64 notes_end, notes_asked; /* the end of the queue and the walwriter when the commit was asked for */
    /* the running statement */
    Snapshot published;     /* what is pinned */
    Snapshot snapshot;      /* the same with the transaction's own changes up to the statement's start */
    bool pinned;
    bool seen;              /* snapshot is made */
    bool rebuilds;          /* ALTER TABLE fills the table anew */
    bool creates;           /* CREATE TABLE AS fills the table */
    u32 retries;
    u32 skip_retries;       /* of SKIP LOCKED, which asks for no table lock */
    LockWait lock_wait;
    AnsStatus lock_status;  /* RETRY, REPLAN: what txn_lock_rows was answered, to be followed by txn_leave_snapshot */
    u64 lock_version;
    u64 asked_seq;          /* the request whose answer was not collected yet, 0 none */
};

enum { RETRIES_BEFORE_TABLE_LOCK = 3 };

typedef struct Answer {
    AnsStatus status;
    u64 version, rows, slot, row[2];
} Answer;

/* Throws when the transaction is lost. */
void ask_check(const Txn *t);
/* The request area, for building a request; throws when the transaction is lost. No request may be outstanding. */
u8 *ask_area(Txn *t);
/* Publish what is in the area: `records` of them, with the ordinals after t->ordinal (0: UNDO, ROLLBACK ...). Nothing may be thrown until
 * ask_collect. */
void ask_post(Txn *t, ReqKind kind, u32 flags, u32 len, u32 records);
/* Wait for the answer and follow what it says about open transaction and locks; an interrupt withdraws the request once and waits on. The error of
 * ANS_ERROR goes to *ret_error. */
Answer ask_collect(Txn *t, Error *ret_error);
/* The outcome; RETRY moves the snapshot, ERROR is thrown. */
TxnOutcome ask_settle(Txn *t, const Answer *a, const Error *error);
/* A request whose answer nobody wants: withdrawn and collected. Does not throw. */
void ask_discard(Txn *t);
/* Post, collect, settle. */
TxnOutcome ask(Txn *t, ReqKind kind, u32 flags, u32 len, u32 records, Answer *ret);
/* End what is open at the walwriter, if there is anything. Does not throw. */
void ask_rollback(Txn *t);

/* What was read, behind *at bytes of the area, for a commit of a SERIALIZABLE transaction; false when it does not fit. */
MUST_CHECK bool reads_put(Txn *t, u32 *at);
/* A key of this hash was looked up by a SERIALIZABLE transaction and not found. */
bool reads_missed(const Txn *t, u64 hash);

/* Before a commit is built: what does not fit beside it goes ahead. Then, behind *at bytes of the area; false when it does not fit. Once it is acknowledged:
 * announced or announced again, and forgotten. */
void notes_stage(Txn *t);
MUST_CHECK bool notes_put(Txn *t, u32 *at);
void notes_sent(Txn *t);

/* Give up the pin; the next txn_snapshot makes a new one. */
void txn_drop_snapshot(Txn *t);
/* What the transaction changed, for noting more; throws without memory. */
Own *txn_own(Txn *t);
/* Take back at the walwriter what came after the ordinal `kept`; does not throw. */
void txn_undo(Txn *t, u32 kept);
void txn_set_lost(Txn *t, const Error *why);

#endif
