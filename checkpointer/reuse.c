/*
 * reuse.c
 *    Which pieces of the older snapshot the next one may name instead of writing them again.
 *
 * The next snapshot replaces the older one, whose files it takes over; the newest one in between shares none of them. So everything is on disk twice, in
 * different files (lineages). A piece is used again when it holds the same thing and has the same length and sum as what lies in memory now; that it is the
 * same thing follows from ids that are never used again, and the sum is compared because believing it costs nothing.
 *
 * A file of which the older snapshot names less than half is not used any more, and neither is one that is small beside the whole: so old files do not pile
 * up, neither in bytes nor in number.
 */
#include "checkpointer/snapshot.h"

#include "common/base/hash.h"

#include <stdlib.h>

enum { LIVE_SHARE = 2, SMALL_SHARE = 128 };

typedef struct Entry {
    SnapKey key;
    SnapRef ref; /* file: of the base */
} Entry;

struct Reuse {
    Entry *entries; /* open addressing; bytes 0: empty */
    u64 mask;
    u32 *place;     /* base file -> place among the new files, 0: none yet, NOT_USED */
    SnapFile *files;
    u32 file_count;
    const SnapToc *base;
};
#define NOT_USED UINT32_MAX

static u64
hash_key(SnapKey k)
{
    return hash_u64(hash_u64((u64)k.table_id << 32 | k.what) ^ k.id);
}

static Entry *
find(const Reuse *r, SnapKey key)
{
    for (u64 i = hash_key(key) & r->mask;; i = (i + 1) & r->mask) {
        Entry *e = &r->entries[i];
        if (!e->ref.bytes || snap_key_equal(e->key, key))
            return e;
    }
}

/* Which of the base's files are worth it. */
static bool
choose_files(Reuse *r, const SnapToc *other)
{
    const SnapToc *t = r->base;
    u64 *live = calloc(t->file_count + 1, sizeof *live);
    if (!live)
        return false;
    SnapCursor c = {.toc = t, .at = t->body};
    for (SnapPiece p; snap_next_piece(&c, &p);)
        live[p.ref.file] += p.ref.bytes;
    for (u32 f = 0; f < t->file_count; f++) {
        bool shared = false;
        for (u32 o = 0; o < other->file_count; o++)
            shared |= other->files[o].number == t->files[f].number;
        if (shared || live[f] < t->files[f].bytes / LIVE_SHARE || live[f] < t->piece_bytes / SMALL_SHARE)
            r->place[f] = NOT_USED;
    }
    free(live);
    return true;
}

Reuse *
reuse_new(const SnapToc *base, const SnapToc *other)
{
    Reuse *r = calloc(1, sizeof *r);
    if (!r)
        return NULL;
    u64 capacity = 16;
    SnapCursor count = {.toc = base, .at = base->body}, c = count;
    u64 pieces = 0;
    r->base = base;
    for (SnapPiece p; snap_next_piece(&count, &p);)
        pieces += p.final;
    while (capacity < 2 * pieces)
        capacity *= 2;
    r->mask = capacity - 1;
    r->entries = calloc(capacity, sizeof *r->entries);
    r->place = calloc(base->file_count + 1, sizeof *r->place);
    r->files = calloc(base->file_count + 1, sizeof *r->files);
    if (!r->entries || !r->place || !r->files || !choose_files(r, other)) {
        reuse_free(r);
        return NULL;
    }
    for (SnapPiece p; snap_next_piece(&c, &p);)
        if (p.final && r->place[p.ref.file] != NOT_USED)
            *find(r, p.key) = (Entry){p.key, p.ref};
    return r;
}

void
reuse_free(Reuse *r)
{
    if (!r)
        return;
    free(r->entries);
    free(r->place);
    free(r->files);
    free(r);
}

bool
reuse_find(Reuse *r, SnapKey key, u64 bytes, u32 crc, SnapRef *ret)
{
    const Entry *e = find(r, key);
    if (!e->ref.bytes || e->ref.bytes != bytes || e->ref.crc != crc)
        return false;
    u32 *place = &r->place[e->ref.file];
    if (!*place) {
        r->files[r->file_count] = r->base->files[e->ref.file];
        *place = ++r->file_count;
    }
    *ret = e->ref;
    ret->file = *place;
    return true;
}

u32
reuse_files(const Reuse *r, const SnapFile **ret)
{
    *ret = r->files;
    return r->file_count;
}
