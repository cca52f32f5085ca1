/*
 * notes.c
 *    What the transaction will announce by NOTIFY: kept here until its commit, each once, in the order of the first time.
 *
 * They travel with the request that commits; more than fits beside it goes before, in NOTIFY requests. When another walwriter has answered than was
 * asked, the batch may not have been published: it is looked for in the queue and sent again if it is missing, so that what an
 * acknowledged transaction announced is announced once.
 * Fails by throwing: 54000 (queue full), 53200.
 */
#include "backend/txn/ask.h"

#include "backend/throw.h"
#include "common/base/hash.h"
#include "common/disk/record.h"
#include "common/shm/notify.h"
#include "common/shm/publish.h"

#include <stdlib.h>

enum { RIDES_BYTES = 16 * 1024 };

static void
free_notes(void *what)
{
    Notes *n = what;
    buf_free(&n->items);
    free(n->starts);
    free(n->places);
}

static Notes *
notes_of(Txn *t)
{
    if (t->notes)
        return t->notes;
    Notes *n = ARENA_NEW(t->session, Notes);
    if (!arena_hook(t->session, free_notes, n))
        err_throw(ERR_OUT_OF_MEMORY, "out of memory");
    return t->notes = n;
}

static u32
item_bytes(const u8 *item)
{
    return NOTIFY_ITEM_HEAD_BYTES + get_le16(item) + get_le16(item + 2);
}

/* Where an item is found, or its number + 1 goes. */
static u32 *
place_of(const Notes *n, const u8 *item)
{
    u32 len = item_bytes(item), at = (u32)hash_bytes(item, len) & n->place_mask;
    for (; n->places[at]; at = (at + 1) & n->place_mask) {
        const u8 *other = n->items.data + n->starts[n->places[at] - 1];
        if (item_bytes(other) == len && memcmp(other, item, len) == 0)
            break;
    }
    return &n->places[at];
}

static void
place_all(Notes *n)
{
    memset(n->places, 0, ((size_t)n->place_mask + 1) * sizeof *n->places);
    for (u32 i = 0; i < n->count; i++)
        *place_of(n, n->items.data + n->starts[i]) = i + 1;
}

static bool
grow(Notes *n)
{
    u32 capacity = MAX(n->capacity * 2, 64u);
    u32 *starts = realloc(n->starts, (size_t)capacity * sizeof *starts);
    if (!starts)
        return false;
    n->starts = starts;
    u32 *places = realloc(n->places, (size_t)capacity * 2 * sizeof *places);
    if (!places)
        return false;
    n->places = places;
    n->place_mask = capacity * 2 - 1;
    n->capacity = capacity;
    place_all(n);
    return true;
}

void
txn_notify(Txn *t, Str channel, Str payload)
{
    Notes *n = notes_of(t);
    size_t at = n->items.len;
    ensure(channel.len >= 1 && channel.len <= NOTIFY_CHANNEL_MAX && payload.len <= NOTIFY_PAYLOAD_MAX);
    buf_le16(&n->items, (u16)channel.len);
    buf_le16(&n->items, (u16)payload.len);
    buf_put(&n->items, channel.ptr, channel.len);
    buf_put(&n->items, payload.ptr, payload.len);
    bool ok = !n->items.failed && (n->count < n->capacity || grow(n));
    u32 *place = ok ? place_of(n, n->items.data + at) : NULL;
    bool full = n->items.len > NOTIFY_TXN_MAX_BYTES;
    if (!ok || full || *place) {
        n->items.len = at;
        n->items.failed = false;
        if (!ok)
            err_throw(ERR_OUT_OF_MEMORY, "out of memory");
        if (full)
            err_throw(ERR_PROGRAM_LIMIT_EXCEEDED, "too many notifications in the NOTIFY queue");
        return;
    }
    n->starts[n->count++] = (u32)at;
    *place = n->count;
}

u32
txn_notes_mark(const Txn *t)
{
    return t->notes ? t->notes->count : 0;
}

void
txn_notes_cut(Txn *t, u32 mark)
{
    Notes *n = t->notes;
    if (!n || n->count <= mark)
        return;
    n->items.len = n->starts[mark];
    n->count = mark;
    if (mark == 0) {
        buf_free(&n->items);
        free(n->starts);
        free(n->places);
        *n = (Notes){0};
    } else
        place_all(n);
}

/* Items from number `from` on as records behind *at bytes of the area, as many as fit; returns the number of the next. */
static u32
put_items(Txn *t, u32 from, u32 *at, u32 room)
{
    const Notes *n = t->notes;
    u8 *area = ask_area(t);
    while (from < n->count) {
        const u8 *item = n->items.data + n->starts[from];
        u32 len = item_bytes(item);
        if (*at + record_bytes(len) > room)
            break;
        memcpy(area + *at + RECORD_HEAD_BYTES, item, len);
        *at += record_frame(area + *at, BOX_NOTIFY, 0, len);
        from++;
    }
    return from;
}

void
notes_stage(Txn *t)
{
    if (LIKELY(!txn_notes_mark(t)))
        return;
    t->notes_end = observe_u64(&t->shm->writer->notify.pub_end);
    t->notes_asked = observe_u64(&t->shm->writer->notify.pub_writers);
    if (t->notes->items.len + (size_t)t->notes->count * (RECORD_HEAD_BYTES + 8) <= RIDES_BYTES)
        return;
    for (u32 next = 0; next < t->notes->count;) {
        Answer a;
        u32 len = 0;
        next = put_items(t, next, &len, BOX_AREA_BYTES);
        (void)ask(t, REQ_NOTIFY, 0, len, 0, &a);
    }
}

bool
notes_put(Txn *t, u32 *at)
{
    if (LIKELY(!txn_notes_mark(t)) || t->notes->items.len + (size_t)t->notes->count * (RECORD_HEAD_BYTES + 8) > RIDES_BYTES)
        return true;
    return put_items(t, 0, at, BOX_AREA_BYTES) == t->notes->count;
}

void
notes_sent(Txn *t)
{
    while (txn_notes_mark(t) && observe_u64(&t->shm->writer->notify.pub_writers) != t->notes_asked) {
        const NotifyShm *queue = &t->shm->writer->notify;
        if (notify_find(queue, t->notes_end, observe_u64(&queue->pub_end), t->slot, t->generation, observe_u64(&t->box->pub_req_seq)))
            break;
        Answer a;
        u32 len = 0;
        notes_stage(t);
        if (!notes_put(t, &len) || ask(t, REQ_COMMIT, 0, len, 0, &a) != TXN_DONE)
            break;
    }
    txn_notes_cut(t, 0);
}

void
txn_commit_notes(Txn *t)
{
    Answer a;
    u32 len = 0;
    if (!txn_notes_mark(t))
        return;
    notes_stage(t);
    if (!notes_put(t, &len))
        err_throw(ERR_PROGRAM_LIMIT_EXCEEDED, "too many notifications in the NOTIFY queue");
    (void)ask(t, REQ_COMMIT, 0, len, 0, &a);
    notes_sent(t);
}
