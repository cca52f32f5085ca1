/*
 * locks.c
 *    The lock table.
 *
 * Locks stand in a chained hash table by tag and exist while somebody holds or awaits them. A lock has a list of holds and a queue of
 * waiting owners; an owner has a list of its holds and at most one lock it waits for. Holds and locks come from free lists.
 *
 * Who is granted: the queue from its head on, as long as the head's mode agrees with all other holders. Nobody passes a queue, except an
 * owner that holds the lock already and wants it stronger: it stands at the head. Waiting is refused when the owner would, through
 * holders and those before it in the queue, wait for itself: one process knows all waits, so a cycle is found when it closes.
 * Fails: no memory (reported, nothing changed).
 */
#include "walwriter/locks.h"

#include "common/base/hash.h"

#include <stdlib.h>

enum { NOBODY = UINT32_MAX, SLAB_PIECES = 512, FIRST_BUCKETS = 1024, SPACES = LOCK_ADVISORY + 1 };

struct Lock {
    LockTag tag;
    Lock *next_in_bucket;
    LockHold *holds;
    u32 first_waiter, last_waiter;
};

typedef struct Owner {
    LockHold *holds;
    u64 counts[SPACES];
    u32 held;
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
    u32 owner_count, waiting, search;
    u32 *stack;            /* owner_count entries, for the search */
    Owner *owners;
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

static bool
modes_agree(LockMode a, LockMode b)
{
    if (a == LOCK_WATCH || b == LOCK_WATCH)
        return (a == LOCK_WATCH ? b : a) != LOCK_EXCLUSIVE;
    return a == b && a != LOCK_EXCLUSIVE;
}

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

static void
link_lock(Locks *l, Lock *k)
{
    Lock **at = &l->buckets[tag_hash(k->tag) & l->bucket_mask];
    k->next_in_bucket = *at;
    *at = k;
}

static void
unlink_lock(Locks *l, Lock *k)
{
    Lock **at = &l->buckets[tag_hash(k->tag) & l->bucket_mask];
    while (*at != k)
        at = &(*at)->next_in_bucket;
    *at = k->next_in_bucket;
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
        if (h->owner != owner && !modes_agree(h->mode, mode))
            return false;
    return true;
}

static void
add_hold(Locks *l, Lock *k, LockHold *h, u32 owner, LockMode mode)
{
    Owner *o = &l->owners[owner];
    *h = (LockHold){.lock = k, .owner = owner, .mode = mode, .next_in_lock = k->holds, .next_in_owner = o->holds};
    k->holds = h;
    o->holds = h;
    o->held++;
    o->counts[k->tag.space]++;
    l->counts[k->tag.space]++;
}

LockResult
locks_take(Locks *l, u32 owner, LockTag tag, LockMode mode, LockHold **ret_hold)
{
    Lock *k = find_lock(l, tag);
    LockHold *own = k ? hold_of(k, owner) : NULL;
    if (own && (own->mode == mode || own->mode == LOCK_EXCLUSIVE)) {
        *ret_hold = own;
        return LOCK_GRANTED;
    }
    if (own)
        mode = LOCK_EXCLUSIVE; /* two modes in one */
    if (k && ((!own && k->first_waiter != NOBODY) || !agrees_with_others(k, owner, mode)))
        return LOCK_BUSY;
    if (own) {
        own->mode = mode;
        *ret_hold = own;
        return LOCK_GRANTED;
    }
    LockHold *h = new_hold(l);
    if (!h)
        return LOCK_NO_MEMORY;
    if (!k) {
        if (l->lock_count > l->bucket_mask)
            grow_buckets(l);
        k = new_lock(l);
        if (!k) {
            h->next_in_owner = l->free_holds;
            l->free_holds = h;
            return LOCK_NO_MEMORY;
        }
        *k = (Lock){.tag = tag, .first_waiter = NOBODY, .last_waiter = NOBODY};
        link_lock(l, k);
        l->lock_count++;
    }
    add_hold(l, k, h, owner, mode);
    *ret_hold = h;
    return LOCK_GRANTED;
}

LockHold *
locks_find(Locks *l, u32 owner, LockTag tag)
{
    Lock *k = find_lock(l, tag);
    return k ? hold_of(k, owner) : NULL;
}

bool
locks_held_by_other(Locks *l, u32 owner, LockTag tag)
{
    const Lock *k = find_lock(l, tag);
    for (const LockHold *h = k ? k->holds : NULL; h; h = h->next_in_lock)
        if (h->owner != owner)
            return true;
    return false;
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
            if (h->owner == at || modes_agree(h->mode, o->wait_mode))
                continue;
            if (h->owner == start)
                return true;
            if (l->owners[h->owner].visited != l->search) {
                l->owners[h->owner].visited = l->search;
                l->stack[depth++] = h->owner;
            }
        }
        for (u32 w = o->previous_waiter; w != NOBODY; w = l->owners[w].previous_waiter) {
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
    o->wait_mode = front && mode != LOCK_WATCH ? LOCK_EXCLUSIVE : mode;
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

/* Grant the head of the queue and those behind it, as far as they agree. */
static void
grant_waiters(Locks *l, Lock *k, LockGranted granted, void *ctx)
{
    while (k->first_waiter != NOBODY) {
        u32 w = k->first_waiter;
        LockMode mode = l->owners[w].wait_mode;
        if (!agrees_with_others(k, w, mode))
            return;
        LockHold *own = hold_of(k, w), *h = own || mode == LOCK_WATCH ? NULL : new_hold(l);
        leave_queue(l, w);
        if (own && mode != LOCK_WATCH)
            own->mode = mode;
        else if (h)
            add_hold(l, k, h, w, mode);
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

void
locks_release_all(Locks *l, u32 owner, LockGranted granted, void *ctx)
{
    Owner *o = &l->owners[owner];
    locks_cancel_wait(l, owner, granted, ctx);
    while (o->holds) {
        LockHold *h = o->holds, **at = &h->lock->holds;
        Lock *k = h->lock;
        o->holds = h->next_in_owner;
        while (*at != h)
            at = &(*at)->next_in_lock;
        *at = h->next_in_lock;
        o->held--;
        o->counts[k->tag.space]--;
        l->counts[k->tag.space]--;
        h->next_in_owner = l->free_holds;
        l->free_holds = h;
        if (k->first_waiter != NOBODY)
            grant_waiters(l, k, granted, ctx);
        drop_if_unused(l, k);
    }
}

void
locks_move_row(Locks *l, u32 table_id, u64 from, u64 to)
{
    Lock *k = find_lock(l, (LockTag){table_id, LOCK_ROW, 0, from});
    LockTag tag = {table_id, LOCK_ROW, 0, to};
    if (!k || k->first_waiter == NOBODY || find_lock(l, tag))
        return;
    unlink_lock(l, k);
    k->tag = tag;
    link_lock(l, k);
}

u32 locks_held_count(const Locks *l, u32 owner) { return l->owners[owner].held; }
u64 locks_space_count(const Locks *l, LockSpace space) { return l->counts[space]; }
u64 locks_owner_count(const Locks *l, u32 owner, LockSpace space) { return l->owners[owner].counts[space]; }
u32 locks_waiting_count(const Locks *l) { return l->waiting; }
