/*
 * locks.c
 *    The lock table.
 *
 * Locks stand in a chained hash table by tag and exist while somebody holds or awaits them. A lock has a list of holds and a queue of
 * waiting owners; an owner has a list of its transaction's holds, newest first, one of its session's, and at most one lock it waits for. Holds
 * and locks come from free lists.
 *
 * Who is granted: the queue from its head on, each whose mode agrees with all other holders and with all who wait before it. Nobody passes
 * whom it conflicts with, except an owner that holds the lock already and wants another mode: it stands at the head. Waiting is refused when the
 * owner would, through holders and those before it in the queue, wait for itself: one process knows all waits, so a cycle is found
 * when it closes.
 * Fails: no memory (reported, nothing changed).
 */
#include "walwriter/locks.h"

#include "common/base/hash.h"

#include <stdlib.h>

enum { NOBODY = UINT32_MAX, SLAB_PIECES = 512, FIRST_BUCKETS = 1024, BLOCK_COUNTS = 16384, SPACES = LOCK_ADVISORY + 1 };

struct Lock {
    LockTag tag;
    Lock *next_in_bucket;
    LockHold *holds;
    u32 first_waiter, last_waiter;
};

typedef struct Owner {
    LockHold *holds;    /* of the transaction; `since` never grows along the list */
    LockHold *sessions;
    u64 counts[SPACES];
    u32 held, ordinal;
    Lock *waits_for;
    LockMode wait_mode;
    u32 next_waiter, previous_waiter;
    u32 visited; /* the last search that came by */
} Owner;

typedef struct Slab {
    struct Slab *next;
} Slab;

struct Locks {
    Lock **buckets;
    u32 bucket_mask, lock_count;
    Lock *free_locks;      /* by next_in_bucket */
    LockHold *free_holds;  /* by next_in_owner */
    Slab *slabs;
    u64 counts[SPACES];
    u64 shared_rows;       /* holds of row locks beyond the first */
    u32 owner_count, waiting, search;
    u32 *stack;            /* owner_count entries, for the search */
    Owner *owners;
    u32 block_counts[BLOCK_COUNTS]; /* locks of rows, by a hash of table and block */
};

static u64
tag_hash(LockTag t)
{
    return hash_combine(hash_u64((u64)t.table_id << 32 | (u32)t.space << 16 | t.key), t.id);
}

static bool
tag_equal(LockTag a, LockTag b)
{
    return a.id == b.id && a.table_id == b.table_id && a.space == b.space && a.key == b.key;
}

#define BIT(mode) (1u << LOCK_##mode)
enum {
    ROW_STRONG = BIT(FOR_NO_KEY_UPDATE) | BIT(FOR_UPDATE),
    TABLE_STRONG = BIT(TABLE_EXCLUSIVE) | BIT(TABLE_ACCESS_EXCLUSIVE),
    TABLE_SELF = BIT(TABLE_SHARE_ROW_EXCLUSIVE) | TABLE_STRONG, /* what conflicts with itself and all above it */
};

/* Chapter 13.3 of PostgreSQL's manual, tables 13.2 and 13.3. */
const u16 LOCK_CONFLICTS[LOCK_MODES] = {
    [LOCK_FOR_KEY_SHARE] = BIT(FOR_UPDATE),
    [LOCK_FOR_SHARE] = ROW_STRONG,
    [LOCK_FOR_NO_KEY_UPDATE] = BIT(FOR_SHARE) | ROW_STRONG | BIT(WATCH),
    [LOCK_FOR_UPDATE] = BIT(FOR_KEY_SHARE) | BIT(FOR_SHARE) | ROW_STRONG | BIT(WATCH),
    [LOCK_TABLE_ACCESS_SHARE] = BIT(TABLE_ACCESS_EXCLUSIVE),
    [LOCK_TABLE_ROW_SHARE] = TABLE_STRONG,
    [LOCK_TABLE_ROW_EXCLUSIVE] = BIT(TABLE_SHARE) | TABLE_SELF,
    [LOCK_TABLE_SHARE_UPDATE_EXCLUSIVE] = BIT(TABLE_SHARE_UPDATE_EXCLUSIVE) | BIT(TABLE_SHARE) | TABLE_SELF,
    [LOCK_TABLE_SHARE] = BIT(TABLE_ROW_EXCLUSIVE) | BIT(TABLE_SHARE_UPDATE_EXCLUSIVE) | TABLE_SELF,
    [LOCK_TABLE_SHARE_ROW_EXCLUSIVE] = BIT(TABLE_ROW_EXCLUSIVE) | BIT(TABLE_SHARE_UPDATE_EXCLUSIVE) | BIT(TABLE_SHARE) | TABLE_SELF,
    [LOCK_TABLE_EXCLUSIVE] = BIT(TABLE_ROW_SHARE) | BIT(TABLE_ROW_EXCLUSIVE) | BIT(TABLE_SHARE_UPDATE_EXCLUSIVE) | BIT(TABLE_SHARE) |
                             TABLE_SELF | BIT(WATCH),
    [LOCK_TABLE_ACCESS_EXCLUSIVE] = BIT(TABLE_ACCESS_SHARE) | BIT(TABLE_ROW_SHARE) | BIT(TABLE_ROW_EXCLUSIVE) |
                                    BIT(TABLE_SHARE_UPDATE_EXCLUSIVE) | BIT(TABLE_SHARE) | TABLE_SELF | BIT(WATCH),
    [LOCK_SHARED] = BIT(EXCLUSIVE),
    [LOCK_EXCLUSIVE] = BIT(SHARED) | BIT(EXCLUSIVE) | BIT(WATCH),
    [LOCK_WATCH] = ROW_STRONG | TABLE_STRONG | BIT(EXCLUSIVE),
};

Locks *
locks_new(u32 owner_count)
{
    Locks *l = calloc(1, sizeof *l);
    if (!l)
        return NULL;
    l->owner_count = owner_count;
    l->bucket_mask = FIRST_BUCKETS - 1;
    l->buckets = calloc(FIRST_BUCKETS, sizeof(Lock *));
    l->owners = calloc(owner_count, sizeof(Owner));
    l->stack = calloc(owner_count, sizeof(u32));
    if (!l->buckets || !l->owners || !l->stack) {
        locks_free(l);
        return NULL;
    }
    return l;
}

void
locks_free(Locks *l)
{
    if (!l)
        return;
    for (Slab *s = l->slabs, *next; s; s = next) {
        next = s->next;
        free(s);
    }
    free(l->buckets);
    free(l->owners);
    free(l->stack);
    free(l);
}

/* ---- memory ---- */

static void *
new_slab(Locks *l, size_t piece)
{
    Slab *s = calloc(1, sizeof(Slab) + 8 + SLAB_PIECES * piece);
    if (!s)
        return NULL;
    s->next = l->slabs;
    l->slabs = s;
    return (u8 *)s + ALIGN_UP(sizeof(Slab), (size_t)16);
}

static Lock *
new_lock(Locks *l)
{
    if (!l->free_locks) {
        Lock *piece = new_slab(l, sizeof(Lock));
        for (u32 i = 0; piece && i < SLAB_PIECES; i++) {
            piece[i].next_in_bucket = l->free_locks;
            l->free_locks = &piece[i];
        }
    }
    Lock *lock = l->free_locks;
    if (lock)
        l->free_locks = lock->next_in_bucket;
    return lock;
}

static LockHold *
new_hold(Locks *l)
{
    if (!l->free_holds) {
        LockHold *piece = new_slab(l, sizeof(LockHold));
        for (u32 i = 0; piece && i < SLAB_PIECES; i++) {
            piece[i].next_in_owner = l->free_holds;
            l->free_holds = &piece[i];
        }
    }
    LockHold *h = l->free_holds;
    if (h)
        l->free_holds = h->next_in_owner;
    return h;
}

static void
grow_buckets(Locks *l)
{
    u32 count = (l->bucket_mask + 1) * 2;
    Lock **buckets = calloc(count, sizeof(Lock *));
    if (!buckets)
        return; /* longer chains */
    for (u32 i = 0; i <= l->bucket_mask; i++)
        for (Lock *k = l->buckets[i], *next; k; k = next) {
            next = k->next_in_bucket;
            Lock **at = &buckets[tag_hash(k->tag) & (count - 1)];
            k->next_in_bucket = *at;
            *at = k;
        }
    free(l->buckets);
    l->buckets = buckets;
    l->bucket_mask = count - 1;
}

static Lock *
find_lock(const Locks *l, LockTag tag)
{
    Lock *k = l->buckets[tag_hash(tag) & l->bucket_mask];
    while (k && !tag_equal(k->tag, tag))
        k = k->next_in_bucket;
    return k;
}

static u32
block_place(u32 table_id, u64 block)
{
    return (u32)hash_u64(block << 32 ^ table_id) % BLOCK_COUNTS;
}

bool
locks_block_busy(const Locks *l, u32 table_id, u64 block)
{
    return l->block_counts[block_place(table_id, block)] > 0;
}

static void
link_lock(Locks *l, Lock *k)
{
    Lock **at = &l->buckets[tag_hash(k->tag) & l->bucket_mask];
    k->next_in_bucket = *at;
    *at = k;
    if (k->tag.space == LOCK_ROW)
        l->block_counts[block_place(k->tag.table_id, k->tag.id >> 16)]++;
}

static void
unlink_lock(Locks *l, Lock *k)
{
    Lock **at = &l->buckets[tag_hash(k->tag) & l->bucket_mask];
    while (*at != k)
        at = &(*at)->next_in_bucket;
    *at = k->next_in_bucket;
    if (k->tag.space == LOCK_ROW)
        l->block_counts[block_place(k->tag.table_id, k->tag.id >> 16)]--;
}

static void
drop_if_unused(Locks *l, Lock *k)
{
    if (k->holds || k->first_waiter != NOBODY)
        return;
    unlink_lock(l, k);
    k->next_in_bucket = l->free_locks;
    l->free_locks = k;
    l->lock_count--;
}

/* ---- taking ---- */

static LockHold *
hold_of(const Lock *k, u32 owner)
{
    LockHold *h = k->holds;
    while (h && h->owner != owner)
        h = h->next_in_lock;
    return h;
}

static bool
agrees_with_others(const Lock *k, u32 owner, LockMode mode)
{
    for (const LockHold *h = k->holds; h; h = h->next_in_lock)
        if (h->owner != owner && (h->modes & LOCK_CONFLICTS[mode]))
            return false;
    return true;
}

/* Somebody waits whom a newcomer must not pass. */
static bool
conflicts_with_queue(const Locks *l, const Lock *k, LockMode mode)
{
    for (u32 w = k->first_waiter; w != NOBODY; w = l->owners[w].next_waiter)
        if (LOCK_CONFLICTS[mode] >> l->owners[w].wait_mode & 1)
            return true;
    return false;
}

/* Behind the owner's first hold, which has the judge's note. */
static void
add_hold(Locks *l, Lock *k, LockHold *h, u32 owner, LockMode mode, bool session)
{
    Owner *o = &l->owners[owner];
    LockHold *first = hold_of(k, owner), **in_lock = first ? &first->next_in_lock : &k->holds;
    LockHold **in_owner = session ? &o->sessions : &o->holds;
    l->shared_rows += k->tag.space == LOCK_ROW && k->holds;
    *h = (LockHold){.lock = k, .owner = owner, .modes = (u16)(1u << mode), .session = session, .since = o->ordinal,
                    .next_in_lock = *in_lock, .next_in_owner = *in_owner};
    *in_lock = h;
    *in_owner = h;
    o->held++;
    o->counts[k->tag.space]++;
    l->counts[k->tag.space]++;
}

/* Add the mode to what the owner took at this ordinal; false: that takes a hold of its own. */
static bool
add_mode(const Locks *l, Lock *k, u32 owner, LockMode mode)
{
    for (LockHold *h = k->holds; h; h = h->next_in_lock)
        if (h->owner == owner && !h->session && ((h->modes >> mode & 1) || h->since == l->owners[owner].ordinal)) {
            h->modes |= (u16)(1u << mode);
            return true;
        }
    return false;
}

static LockHold *
session_hold(const Lock *k, u32 owner, LockMode mode)
{
    LockHold *h = k->holds;
    while (h && !(h->owner == owner && h->session && (h->modes >> mode & 1)))
        h = h->next_in_lock;
    return h;
}

static Lock *
make_lock(Locks *l, LockTag tag)
{
    if (l->lock_count > l->bucket_mask)
        grow_buckets(l);
    Lock *k = new_lock(l);
    if (!k)
        return NULL;
    *k = (Lock){.tag = tag, .first_waiter = NOBODY, .last_waiter = NOBODY};
    link_lock(l, k);
    l->lock_count++;
    return k;
}

void
locks_set_ordinal(Locks *l, u32 owner, u32 ordinal)
{
    Owner *o = &l->owners[owner];
    o->ordinal = o->holds ? MAX(ordinal, o->ordinal) : ordinal;
}

/* Who may have it gets a hold in it. */
static LockResult
take(Locks *l, u32 owner, LockTag tag, LockMode mode, bool session, Lock **ret)
{
    Lock *k = find_lock(l, tag);
    bool own = k && hold_of(k, owner);
    if (k && ((!own && conflicts_with_queue(l, k, mode)) || !agrees_with_others(k, owner, mode)))
        return LOCK_BUSY;
    if (!k || session || !add_mode(l, k, owner, mode)) {
        LockHold *h = new_hold(l);
        if (!h)
            return LOCK_NO_MEMORY;
        if (!k)
            k = make_lock(l, tag);
        if (!k) {
            h->next_in_owner = l->free_holds;
            l->free_holds = h;
            return LOCK_NO_MEMORY;
        }
        add_hold(l, k, h, owner, mode, session);
    }
    *ret = k;
    return LOCK_GRANTED;
}

LockResult
locks_take(Locks *l, u32 owner, LockTag tag, LockMode mode, LockHold **ret_hold)
{
    Lock *k;
    LockResult r = take(l, owner, tag, mode, false, &k);
    if (r == LOCK_GRANTED)
        *ret_hold = hold_of(k, owner);
    return r;
}

LockHold *
locks_find(Locks *l, u32 owner, LockTag tag)
{
    Lock *k = find_lock(l, tag);
    return k ? hold_of(k, owner) : NULL;
}

const LockHold *
locks_holds(Locks *l, LockTag tag)
{
    const Lock *k = find_lock(l, tag);
    return k ? k->holds : NULL;
}

bool
locks_conflict(Locks *l, u32 owner, LockTag tag, LockMode mode)
{
    const Lock *k = find_lock(l, tag);
    return k && !agrees_with_others(k, owner, mode);
}

/* ---- waiting ---- */

/* Does `start`, standing in its queue, wait for itself? Depth first over who waits for whom. */
static bool
closes_cycle(Locks *l, u32 start)
{
    u32 depth = 0;
    l->search++;
    l->stack[depth++] = start;
    while (depth > 0) {
        u32 at = l->stack[--depth];
        const Owner *o = &l->owners[at];
        const Lock *k = o->waits_for;
        if (!k)
            continue;
        for (const LockHold *h = k->holds; h; h = h->next_in_lock) {
            if (h->owner == at || !(h->modes & LOCK_CONFLICTS[o->wait_mode]))
                continue;
            if (h->owner == start)
                return true;
            if (l->owners[h->owner].visited != l->search) {
                l->owners[h->owner].visited = l->search;
                l->stack[depth++] = h->owner;
            }
        }
        for (u32 w = o->previous_waiter; w != NOBODY; w = l->owners[w].previous_waiter) {
            if (!(LOCK_CONFLICTS[o->wait_mode] >> l->owners[w].wait_mode & 1))
                continue;
            if (w == start)
                return true;
            if (l->owners[w].visited != l->search) {
                l->owners[w].visited = l->search;
                l->stack[depth++] = w;
            }
        }
    }
    return false;
}

static void
leave_queue(Locks *l, u32 owner)
{
    Owner *o = &l->owners[owner];
    Lock *k = o->waits_for;
    if (o->previous_waiter != NOBODY)
        l->owners[o->previous_waiter].next_waiter = o->next_waiter;
    else
        k->first_waiter = o->next_waiter;
    if (o->next_waiter != NOBODY)
        l->owners[o->next_waiter].previous_waiter = o->previous_waiter;
    else
        k->last_waiter = o->previous_waiter;
    o->waits_for = NULL;
    l->waiting--;
}

bool
locks_wait(Locks *l, u32 owner, LockTag tag, LockMode mode)
{
    Owner *o = &l->owners[owner];
    Lock *k = find_lock(l, tag);
    ensure(k && !o->waits_for);
    bool front = hold_of(k, owner) != NULL;
    o->waits_for = k;
    o->wait_mode = mode;
    o->previous_waiter = front ? NOBODY : k->last_waiter;
    o->next_waiter = front ? k->first_waiter : NOBODY;
    if (o->previous_waiter != NOBODY)
        l->owners[o->previous_waiter].next_waiter = owner;
    else
        k->first_waiter = owner;
    if (o->next_waiter != NOBODY)
        l->owners[o->next_waiter].previous_waiter = owner;
    else
        k->last_waiter = owner;
    l->waiting++;
    /* Who holds nothing and stands last is waited for by nobody. */
    if (o->held > 0 && closes_cycle(l, owner)) {
        leave_queue(l, owner);
        return false;
    }
    return true;
}

bool
locks_is_waiting(const Locks *l, u32 owner)
{
    return l->owners[owner].waits_for != NULL;
}

/* Grant those of the queue who agree with all holders and all before them. */
static void
grant_waiters(Locks *l, Lock *k, LockGranted granted, void *ctx)
{
    u32 ahead = 0; /* modes of those who go on waiting */
    for (u32 w = k->first_waiter, next; w != NOBODY; w = next) {
        LockMode mode = l->owners[w].wait_mode;
        next = l->owners[w].next_waiter;
        if ((LOCK_CONFLICTS[mode] & ahead) || !agrees_with_others(k, w, mode)) {
            ahead |= 1u << mode;
            continue;
        }
        leave_queue(l, w);
        if (mode != LOCK_WATCH && !add_mode(l, k, w, mode)) {
            LockHold *h = new_hold(l);
            if (h)
                add_hold(l, k, h, w, mode, false);
        }
        /* Without memory for the hold the owner is woken all the same and will be told when it tries again. */
        granted(ctx, w);
    }
}

void
locks_cancel_wait(Locks *l, u32 owner, LockGranted granted, void *ctx)
{
    Lock *k = l->owners[owner].waits_for;
    if (!k)
        return;
    leave_queue(l, owner);
    grant_waiters(l, k, granted, ctx);
    drop_if_unused(l, k);
}

/* ---- releasing ---- */

static void
drop_hold(Locks *l, LockHold **in_owner, LockGranted granted, void *ctx)
{
    LockHold *h = *in_owner, **at = &h->lock->holds;
    Lock *k = h->lock;
    Owner *o = &l->owners[h->owner];
    *in_owner = h->next_in_owner;
    while (*at != h)
        at = &(*at)->next_in_lock;
    *at = h->next_in_lock;
    l->shared_rows -= k->tag.space == LOCK_ROW && k->holds;
    o->held--;
    o->counts[k->tag.space]--;
    l->counts[k->tag.space]--;
    h->next_in_owner = l->free_holds;
    l->free_holds = h;
    if (k->first_waiter != NOBODY)
        grant_waiters(l, k, granted, ctx);
    drop_if_unused(l, k);
}

/* Where the hold hangs in its owner's list. */
static LockHold **
place_of(LockHold **list, const LockHold *h)
{
    while (*list != h)
        list = &(*list)->next_in_owner;
    return list;
}

void
locks_release_all(Locks *l, u32 owner, LockGranted granted, void *ctx)
{
    Owner *o = &l->owners[owner];
    locks_cancel_wait(l, owner, granted, ctx);
    while (o->holds)
        drop_hold(l, &o->holds, granted, ctx);
    o->ordinal = 0;
}

void
locks_release_after(Locks *l, u32 owner, u32 ordinal, LockGranted granted, void *ctx)
{
    Owner *o = &l->owners[owner];
    ensure(!o->waits_for);
    while (o->holds && o->holds->since > ordinal)
        drop_hold(l, &o->holds, granted, ctx);
    LockHold *watched = locks_find(l, owner, (LockTag){0, LOCK_TXN, 0, owner});
    if (watched)
        drop_hold(l, place_of(&o->holds, watched), granted, ctx);
}

/* ---- locks of the session ---- */

/* What a wait has just granted to the transaction becomes the session's. */
static void
adopt_granted(Owner *o, const Lock *k, LockMode mode)
{
    LockHold *h = o->holds;
    if (!h || h->lock != k || h->since != o->ordinal || h->modes != 1u << mode)
        return;
    o->holds = h->next_in_owner;
    h->next_in_owner = o->sessions;
    o->sessions = h;
    h->session = true;
}

LockResult
locks_take_session(Locks *l, u32 owner, LockTag tag, LockMode mode)
{
    Lock *k = find_lock(l, tag);
    LockHold *h = k ? session_hold(k, owner, mode) : NULL;
    if (k && !h) {
        adopt_granted(&l->owners[owner], k, mode);
        h = session_hold(k, owner, mode);
    }
    if (!h) {
        LockResult r = take(l, owner, tag, mode, true, &k);
        if (r != LOCK_GRANTED)
            return r;
        h = session_hold(k, owner, mode);
    }
    h->count++;
    return LOCK_GRANTED;
}

bool
locks_release_session(Locks *l, u32 owner, LockTag tag, LockMode mode, LockGranted granted, void *ctx)
{
    Lock *k = find_lock(l, tag);
    LockHold *h = k ? session_hold(k, owner, mode) : NULL;
    if (!h)
        return false;
    if (--h->count == 0)
        drop_hold(l, place_of(&l->owners[owner].sessions, h), granted, ctx);
    return true;
}

void
locks_release_session_all(Locks *l, u32 owner, LockGranted granted, void *ctx)
{
    while (l->owners[owner].sessions)
        drop_hold(l, &l->owners[owner].sessions, granted, ctx);
}

/* ---- rows that move ---- */

void
locks_move_row(Locks *l, u32 table_id, u64 from, u64 to)
{
    Lock *k = find_lock(l, (LockTag){table_id, LOCK_ROW, 0, from});
    LockTag tag = {table_id, LOCK_ROW, 0, to};
    if (!k || (k->first_waiter == NOBODY && !(k->holds && k->holds->next_in_lock)) || find_lock(l, tag))
        return;
    unlink_lock(l, k);
    k->tag = tag;
    link_lock(l, k);
}

static bool
is_row_of(const LockHold *h, u32 table_id, u64 block, u16 key)
{
    const LockTag *t = &h->lock->tag;
    return t->space == LOCK_ROW && t->table_id == table_id && t->key == key && t->id >> 16 == block;
}

void
locks_rekey_rows(Locks *l, u32 owner, u32 table_id, u64 block, u16 from, u16 to)
{
    for (LockHold *h = l->owners[owner].holds; h; h = h->next_in_owner) {
        if (!is_row_of(h, table_id, block, from))
            continue;
        unlink_lock(l, h->lock);
        h->lock->tag.key = to;
        link_lock(l, h->lock);
    }
}

void
locks_drop_rows(Locks *l, u32 owner, u32 table_id, u64 block, LockGranted granted, void *ctx)
{
    for (LockHold **at = &l->owners[owner].holds; *at;) {
        if (is_row_of(*at, table_id, block, 0))
            drop_hold(l, at, granted, ctx);
        else
            at = &(*at)->next_in_owner;
    }
}

bool locks_rows_follow(const Locks *l) { return l->waiting > 0 || l->shared_rows > 0; }

/* ---- looking ---- */

void
locks_each(const Locks *l, LockVisit visit, void *ctx)
{
    for (u32 i = 0; i <= l->bucket_mask; i++)
        for (const Lock *k = l->buckets[i]; k; k = k->next_in_bucket) {
            for (const LockHold *h = k->holds; h; h = h->next_in_lock)
                for (u32 m = 1; m < LOCK_MODES; m++)
                    if ((h->modes >> m & 1) && !visit(ctx, &(LockEntry){k->tag, h->owner, (LockMode)m, true, h->session}))
                        return;
            for (u32 w = k->first_waiter; w != NOBODY; w = l->owners[w].next_waiter)
                if (!visit(ctx, &(LockEntry){k->tag, w, l->owners[w].wait_mode, false, false}))
                    return;
        }
}

u32 locks_held_count(const Locks *l, u32 owner) { return l->owners[owner].held; }
u64 locks_space_count(const Locks *l, LockSpace space) { return l->counts[space]; }
u64 locks_owner_count(const Locks *l, u32 owner, LockSpace space) { return l->owners[owner].counts[space]; }
u32 locks_waiting_count(const Locks *l) { return l->waiting; }
