/*
 * locks.h
 *    The lock table: who holds which row, key, table or name, in which modes, who waits for it, and cycles among the waiting.
 *
 * Private memory of the walwriter. An owner is a connection slot: its transaction, and its session (advisory locks that outlive transactions). An
 * owner waits for one lock at most; the longest waiter is granted first. Nothing here waits: locks_take says BUSY, the caller parks the
 * request and calls locks_wait, and whatever releases reports through `granted` which owners may go on.
 */
#ifndef LOCKS_H
#define LOCKS_H

#include "common/base/base.h"
#include "common/shm/request.h"

/* By mode: the modes it conflicts with, a bit (1 << mode) each. */
extern const u16 LOCK_CONFLICTS[LOCK_MODES];

typedef struct LockTag {
    u32 table_id;
    u16 space; /* LockSpace */
    u16 key;
    u64 id;
} LockTag;

typedef struct Lock Lock;
/* One owner's hold: modes it took at one ordinal. A mode added at a later ordinal is a hold of its own behind it, so that UNDO finds what came
 * after. The judge's notes stand in the owner's first hold, which does not move while it is held. */
typedef struct LockHold {
    Lock *lock;
    u32 owner;
    u16 modes;     /* 1 << LockMode each */
    bool session;  /* advisory, until it is unlocked or the slot is released */
    u32 since;     /* the ordinal at which it was taken */
    u32 count;     /* session: how many times */
    u32 serial, part; /* the judge's notes: the judging, and its part, that delete this row or make that change, */
    u32 own;          /* the newest own row with this key, as OwnKey index + 1, 0 none, */
    u64 becomes;      /* the row by which an earlier request of the open transaction replaces this one, 0: none did */
    struct LockHold *next_in_lock, *next_in_owner;
} LockHold;

typedef enum LockResult { LOCK_GRANTED, LOCK_BUSY, LOCK_NO_MEMORY } LockResult;

typedef struct Locks Locks;

/* NULL without memory. */
Locks *locks_new(u32 owner_count);
void locks_free(Locks *l);
/* What the owner takes from now on carries this ordinal, which never goes down while it holds something. */
void locks_set_ordinal(Locks *l, u32 owner, u32 ordinal);
/* Take it or find it held already (a mode is added in place). *ret_hold, the owner's first hold, is set when granted. */
LockResult locks_take(Locks *l, u32 owner, LockTag tag, LockMode mode, LockHold **ret_hold);
/* For the session: counted, released by locks_release_session. After a wait the lock that was granted becomes the session's. */
LockResult locks_take_session(Locks *l, u32 owner, LockTag tag, LockMode mode);
/* The first hold of an owner, NULL when it has none. */
LockHold *locks_find(Locks *l, u32 owner, LockTag tag);
/* All holds of it, by next_in_lock. */
const LockHold *locks_holds(Locks *l, LockTag tag);
/* Another owner holds it in a mode that conflicts with `mode`. */
bool locks_conflict(Locks *l, u32 owner, LockTag tag, LockMode mode);
/* After BUSY: stand in the queue. false: that would close a cycle, the owner does not wait (deadlock). */
bool locks_wait(Locks *l, u32 owner, LockTag tag, LockMode mode);
bool locks_is_waiting(const Locks *l, u32 owner);
/* Out of the queue without the lock; others may be granted by that. */
typedef void (*LockGranted)(void *ctx, u32 owner);
void locks_cancel_wait(Locks *l, u32 owner, LockGranted granted, void *ctx);
/* The transaction's; the session's stay. */
void locks_release_all(Locks *l, u32 owner, LockGranted granted, void *ctx);
/* What was taken after the ordinal; who waits for the transaction (LOCK_TXN) looks again, too. The owner does not wait. */
void locks_release_after(Locks *l, u32 owner, u32 ordinal, LockGranted granted, void *ctx);
/* One count of the session's; false: it has none in that mode. */
bool locks_release_session(Locks *l, u32 owner, LockTag tag, LockMode mode, LockGranted granted, void *ctx);
void locks_release_session_all(Locks *l, u32 owner, LockGranted granted, void *ctx);
/* The row `from` was replaced by `to` (which nobody can have locked yet): its lock, with holders and queue, follows it. */
void locks_move_row(Locks *l, u32 table_id, u64 from, u64 to);
/* Holds of rows that only the owner knows (its private block of a table): kept apart under another key, or released. */
void locks_rekey_rows(Locks *l, u32 owner, u32 table_id, u64 block, u16 from, u16 to);
void locks_drop_rows(Locks *l, u32 owner, u32 table_id, u64 block, LockGranted granted, void *ctx);
/* Somebody waits, or a row has two holders: locks_move_row is worth calling. */
bool locks_rows_follow(const Locks *l);

/* Every hold by mode, and who waits. */
typedef struct LockEntry {
    LockTag tag;
    u32 owner;
    LockMode mode;
    bool granted, session;
} LockEntry;
typedef bool (*LockVisit)(void *ctx, const LockEntry *e); /* false: enough */
void locks_each(const Locks *l, LockVisit visit, void *ctx);

u32 locks_held_count(const Locks *l, u32 owner);                   /* all spaces, the session's too */
u64 locks_space_count(const Locks *l, LockSpace space);            /* holds in a space, all owners */
u64 locks_owner_count(const Locks *l, u32 owner, LockSpace space); /* an owner's holds in a space */
u32 locks_waiting_count(const Locks *l);
/* Somebody may hold a row of that block, or wait for it; false: certainly nobody. */
bool locks_block_busy(const Locks *l, u32 table_id, u64 block);

#endif
