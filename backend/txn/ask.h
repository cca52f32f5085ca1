/*
 * ask.h
 *    One request to the walwriter and its answer, through the session's box. Private to this room.
 */
#ifndef ASK_H
#define ASK_H

#include "backend/txn/txn.h"
#include "common/shm/request.h"

struct Txn {
    Shm *shm;
    BoxShm *box;
    u32 slot, generation;
    const i32 *lock_timeout_ms;
    Snapshot snapshot;
    bool pinned;
    bool chain_open;   /* parts were accepted (ANS_STAGED) and the chain has not ended */
    bool locks_kept;   /* a RETRY left locks with the walwriter */
    u32 retries;       /* of the running statement */
    u64 asked_seq;     /* the request whose answer was not collected yet, 0 none */
};

enum { RETRIES_BEFORE_TABLE_LOCK = 3 };

typedef struct Answer {
    AnsStatus status;
    u64 version, rows;
} Answer;

/* The request area; no request may be outstanding. */
u8 *ask_area(Txn *t);
/* Publish what is in the area. Nothing may be thrown until ask_collect. */
void ask_post(Txn *t, ReqKind kind, u32 len);
/* Wait for the answer; an interrupt withdraws the request once and waits on. The error of ANS_ERROR goes to *ret_error. */
Answer ask_collect(Txn *t, Error *ret_error);
/* What the answer says about chain, locks and snapshot; throws the error of ANS_ERROR. */
TxnOutcome ask_settle(Txn *t, const Answer *a, const Error *error);
/* End an open chain and kept locks, if there are any. Does not throw. */
void ask_rollback(Txn *t);

#endif
