/*
 * locks.h
 *    The lock table: who holds which row, key, table or name, who waits for it, and cycles among the waiting.
 *
 * Private memory of the walwriter. An owner is a connection slot's transaction. An owner waits for one lock at most; the longest
 * waiter is granted first. Nothing here waits: locks_take says BUSY, the caller parks the request and calls locks_wait, and
 * locks_release_all reports through `granted` which owners may go on.
 */
#ifndef LOCKS_H
#define LOCKS_H

#include "common/base/base.h"

typedef enum LockSpace {
    LOCK_ROW = 1,   /* table, row id */
    LOCK_KEY,       /* table, key number, hash of the key */
    LOCK_TABLE,     /* table */
    LOCK_NAME,      /* key: what kind of name; id: its hash */
    LOCK_TXN,       /* id: the slot; held by owners of bulk locks when somebody waits for them */
    LOCK_ADVISORY,
} LockSpace;

typedef enum LockMode {
    LOCK_INTENT = 1, /* writers of rows, on their table: conflicts with SHARED and EXCLUSIVE */
    LOCK_SHARED,
    LOCK_EXCLUSIVE,
    LOCK_WATCH,      /* only to wait with: until nobody holds it exclusively; grants nothing */
} LockMode;

typedef struct LockTag {
    u32 table_id;
    u16 space; /* LockSpace */
    u16 key;
    u64 id;
} LockTag;

typedef struct Lock Lock;
/* One owner's hold. The judge's note says in which judging the owner took it for what. */
typedef struct LockHold {
    Lock *lock;
    u32 owner;
    LockMode mode;
    u32 serial, part, row; /* the judge's note */
    struct LockHold *next_in_lock, *next_in_owner;
} LockHold;

typedef enum LockResult { LOCK_GRANTED, LOCK_BUSY, LOCK_NO_MEMORY } LockResult;

typedef struct Locks Locks;

/* NULL without memory. */
Locks *locks_new(u32 owner_count);
void locks_free(Locks *l);
/* Take it or find it held already (a stronger mode is taken in place). *ret_hold is set when granted. */
LockResult locks_take(Locks *l, u32 owner, LockTag tag, LockMode mode, LockHold **ret_hold);
/* The hold of an owner, NULL when it has none. */
LockHold *locks_find(Locks *l, u32 owner, LockTag tag);
/* An owner other than `owner` holds it. */
bool locks_held_by_other(Locks *l, u32 owner, LockTag tag);
/* After BUSY: stand in the queue. false: that would close a cycle, the owner does not wait (deadlock). */
bool locks_wait(Locks *l, u32 owner, LockTag tag, LockMode mode);
bool locks_is_waiting(const Locks *l, u32 owner);
/* Out of the queue without the lock; others may be granted by that. */
typedef void (*LockGranted)(void *ctx, u32 owner);
void locks_cancel_wait(Locks *l, u32 owner, LockGranted granted, void *ctx);
void locks_release_all(Locks *l, u32 owner, LockGranted granted, void *ctx);
/* The row `from` was replaced by `to` (which nobody can have locked yet): its lock, with holders and queue, follows it. */
void locks_move_row(Locks *l, u32 table_id, u64 from, u64 to);

u32 locks_held_count(const Locks *l, u32 owner);                   /* all spaces */
u64 locks_space_count(const Locks *l, LockSpace space);            /* holds in a space, all owners */
u64 locks_owner_count(const Locks *l, u32 owner, LockSpace space); /* an owner's holds in a space */
u32 locks_waiting_count(const Locks *l);

#endif
