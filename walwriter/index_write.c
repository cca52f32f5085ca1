/*
 * index_write.c
 *    The writing side of the hash index (common/store/index.h): enter, grow.
 *
 * Growth is by segment: when one is more than 0.85 full, the entries that are still needed go into a new segment, or into two that share its hashes
 * by the next bit, and a new directory is published; the old segment and directory are retired. So one growth moves at most
 * some 24,000 entries (a segment of 256 KiB) beside the directory of pointers. Whatever the moment of a death, the published directory leads to
 * segments that hold every entry; counts are the walwriter's notes and counted anew at a takeover.
 *
 * The 32 stored bits of the hash serve segment, line and tag; splitting needs no look at the rows. Many entries of one hash (versions of a hot row under
 * an old pin) cannot be split: their segment grows beyond its usual size instead.
 *
 * Fails: index_reserve, when there is no memory. index_enter cannot.
 */
#include "walwriter/world_int.h"

enum { SEGMENT_LINE_BITS = 12, SEGMENT_SPLIT_BITS = 11, DEPTH_MAX = INDEX_DEPTH_MAX };

static u32 capacity_of(u32 line_bits) { return (u32)INDEX_LINE_ENTRIES << line_bits; }
/* Above this a segment grows: a line of entries stays free in any case, so that probes end. */
static u32 limit_of(u32 line_bits) { return line_bits < 2 ? capacity_of(line_bits) - 1 : (u32)((u64)capacity_of(line_bits) * 85 / 100); }

static IndexSegmentShm *
segment_new(World *w, u32 line_bits, u32 depth, bool must)
{
    IndexSegmentShm *s = world_take(w, segment_bytes(line_bits), must);
    if (!s)
        return NULL;
    memset(s, 0, segment_bytes(line_bits));
    s->line_bits = line_bits;
    s->depth = depth;
    return s;
}

void
index_init(World *w, IndexShm *x, u32 line_bits)
{
    IndexDirShm *d = world_must(w, index_dir_bytes(0));
    *d = (IndexDirShm){0};
    d->segments[0] = segment_new(w, line_bits, 0, true);
    *x = (IndexShm){.pub_dir = d};
}

static void
place_entry(IndexSegmentShm *s, u32 stored, u64 entry)
{
    u32 mask = (1u << s->line_bits) - 1;
    for (u32 line = index_home(s, stored);; line = (line + 1) & mask) {
        IndexLineShm *l = &s->lines[line];
        for (u32 i = 0; i < INDEX_LINE_ENTRIES; i++) {
            if (relaxed_u64(&l->pub_entry[i]))
                continue;
            l->more[i] = (u16)(stored >> 16);
            publish_u64(&l->pub_entry[i], entry);
            s->used++;
            return;
        }
    }
}

/* Collect the entries that are kept: how many, and how many of them have the next hash bit set. */
static bool
collect(World *w, const IndexSegmentShm *s, IndexKeep keep, void *ctx, u64 *ret_count, u64 *ret_high)
{
    u64 need = capacity_of(s->line_bits), n = 0, high = 0;
    if (need > w->move_capacity) {
        u64 capacity = w->move_capacity;
        w->move_entries = world_grow_private(w->move_entries, need, &capacity, sizeof *w->move_entries);
        capacity = w->move_capacity;
        w->move_stored = world_grow_private(w->move_stored, need, &capacity, sizeof *w->move_stored);
        w->move_capacity = capacity;
    }
    for (u32 line = 0; line < 1u << s->line_bits; line++) {
        const IndexLineShm *l = &s->lines[line];
        for (u32 i = 0; i < INDEX_LINE_ENTRIES; i++) {
            u64 e = relaxed_u64(&l->pub_entry[i]);
            if (!e)
                break;
            if (keep && !keep(ctx, index_payload(e)))
                continue;
            u32 stored = (u32)l->more[i] << 16 | (u32)(e >> 48);
            w->move_entries[n] = e;
            w->move_stored[n++] = stored;
            high += s->depth < 32 ? (stored << s->depth) >> 31 : 0;
        }
    }
    *ret_count = n;
    *ret_high = high;
    return true;
}

static u32
line_bits_for(u64 count)
{
    u32 bits = 0;
    while ((u64)capacity_of(bits) * 6 / 10 < count + 1)
        bits++;
    return bits;
}

/* Put `parts` segments (1, or 2 by the next bit) in the place of `old` and publish the directory. */
static bool
replace_segment(World *w, IndexShm *x, IndexSegmentShm *old, IndexSegmentShm *const made[2], u32 parts, u32 stored, bool must)
{
    const IndexDirShm *d = x->pub_dir;
    u32 new_depth = MAX(d->depth, old->depth + (parts - 1));
    IndexDirShm *nd = world_take(w, index_dir_bytes(new_depth), must);
    if (!nd)
        return false;
    *nd = (IndexDirShm){.depth = new_depth};
    u64 n = (u64)1 << new_depth;
    for (u64 i = 0; i < n; i++)
        nd->segments[i] = d->segments[i >> (new_depth - d->depth)];
    u64 span = (u64)1 << (new_depth - old->depth); /* places of the old segment */
    u64 first = old->depth ? (u64)(stored >> (32 - old->depth)) * span : 0;
    for (u64 i = 0; i < span; i++)
        nd->segments[first + i] = parts == 2 && i >= span / 2 ? made[1] : made[0];
    publish_ptr(&x->pub_dir, (const IndexDirShm *)nd);
    world_retire(w, d, index_dir_bytes(d->depth));
    world_retire(w, old, segment_bytes(old->line_bits));
    return true;
}

static bool
grow_segment(World *w, IndexShm *x, IndexSegmentShm *old, u32 stored, bool must, IndexKeep keep, void *ctx)
{
    u64 count, high;
    collect(w, old, keep, ctx, &count, &high);
    u64 expected = count + MIN(old->promised, (u64)PART_MAX_ROWS);
    u32 bits = line_bits_for(expected), parts = 1;
    bool lopsided = high > count - count / 16 || high < count / 16;
    if (bits > SEGMENT_LINE_BITS && old->depth < DEPTH_MAX && !lopsided) {
        parts = 2;
        bits = MAX(line_bits_for(expected / 2 + expected / 16), (u32)SEGMENT_SPLIT_BITS);
    }
    IndexSegmentShm *made[2] = {segment_new(w, bits, old->depth + parts - 1, must), NULL};
    if (made[0] && parts == 2)
        made[1] = segment_new(w, bits, old->depth + 1, must);
    if (!made[0] || (parts == 2 && !made[1]))
        goto no_memory;
    for (u64 i = 0; i < count; i++) {
        u32 h = w->move_stored[i];
        place_entry(made[parts == 2 ? (h << old->depth) >> 31 : 0], h, w->move_entries[i]);
    }
    for (u32 i = 0; i < parts; i++)
        made[i]->promised = (u32)MIN(old->promised, (u64)PART_MAX_ROWS);
    x->entry_count += count;
    x->entry_count -= old->used;
    if (replace_segment(w, x, old, made, parts, stored, must))
        return true;
    x->entry_count += old->used;
    x->entry_count -= count;
no_memory:
    for (u32 i = 0; i < 2; i++)
        if (made[i])
            world_free(w, made[i], segment_bytes(bits));
    return false;
}

bool
index_reserve(World *w, IndexShm *x, u64 hash, bool promise, bool must, IndexKeep keep, void *ctx)
{
    u32 stored = index_stored(hash);
    IndexSegmentShm *s = index_segment(x->pub_dir, stored);
    while (UNLIKELY((u64)s->used + s->promised + 1 > limit_of(s->line_bits))) {
        if ((u64)s->used + 1 <= limit_of(s->line_bits) && s->promised > PART_MAX_ROWS)
            s->promised = PART_MAX_ROWS; /* left over from requests that were turned away later */
        else if (!grow_segment(w, x, s, stored, must, keep, ctx))
            return false;
        s = index_segment(x->pub_dir, stored);
    }
    s->promised += promise;
    return true;
}

/* Looks for an equal entry, a slot to use again (*ret_reuse), else the first empty one. */
static bool
find_place(IndexSegmentShm *s, u32 stored, u64 entry, IndexKeep keep, void *ctx, IndexLineShm **ret_line, u32 *ret_slot, bool *ret_reuse)
{
    u32 mask = (1u << s->line_bits) - 1;
    *ret_reuse = false;
    for (u32 line = index_home(s, stored);; line = (line + 1) & mask) {
        IndexLineShm *l = &s->lines[line];
        for (u32 i = 0; i < INDEX_LINE_ENTRIES; i++) {
            u64 e = relaxed_u64(&l->pub_entry[i]);
            if (e == entry)
                return false;
            if (!e) {
                if (!*ret_reuse) {
                    *ret_line = l;
                    *ret_slot = i;
                }
                return true;
            }
            if (!*ret_reuse && keep && e >> 48 == entry >> 48 && !keep(ctx, index_payload(e))) {
                *ret_line = l;
                *ret_slot = i;
                *ret_reuse = true;
            }
        }
    }
}

void
index_enter(World *w, IndexShm *x, u64 hash, u64 payload, IndexKeep keep, void *ctx)
{
    u32 stored = index_stored(hash);
    IndexSegmentShm *s = index_segment(x->pub_dir, stored);
    if (s->promised)
        s->promised--;
    if (UNLIKELY(s->used + 1 >= capacity_of(s->line_bits))) {
        ensure(grow_segment(w, x, s, stored, true, keep, ctx));
        s = index_segment(x->pub_dir, stored);
    }
    IndexLineShm *l;
    u32 slot;
    bool reuse;
    u64 entry = index_entry(stored, payload);
    if (!find_place(s, stored, entry, keep, ctx, &l, &slot, &reuse))
        return;
    l->more[slot] = (u16)(stored >> 16);
    publish_u64(&l->pub_entry[slot], entry);
    if (reuse)
        return;
    s->used++;
    x->entry_count++;
}

/* ---- many entries at once ---- */

bool
index_begin_bulk(World *w, IndexShm *x, u32 depth)
{
    IndexDirShm *d = world_get(w, index_dir_bytes(depth));
    if (!d)
        return false;
    memset(d, 0, index_dir_bytes(depth));
    d->depth = depth;
    for (u64 i = 0; i < (u64)1 << x->pub_dir->depth;) {
        IndexSegmentShm *s = x->pub_dir->segments[i];
        i += (u64)1 << (x->pub_dir->depth - s->depth);
        world_free(w, s, segment_bytes(s->line_bits));
    }
    world_free(w, x->pub_dir, index_dir_bytes(x->pub_dir->depth));
    *x = (IndexShm){.pub_dir = d};
    return true;
}

/* As full as growing ones become and a little more (chance): what fitted the memory before must fit again. */
static u32
bulk_line_bits(u64 count)
{
    u32 bits = 0;
    while ((u64)capacity_of(bits) * 92 / 100 < count + (bits == 0))
        bits++;
    return bits;
}

bool
index_add_ranges(World *w, IndexShm *x, u32 first, u32 end, const u64 *counts)
{
    IndexDirShm *d = (IndexDirShm *)(uintptr_t)x->pub_dir;
    for (u32 i = first; i < end; i++) {
        d->segments[i] = segment_new(w, bulk_line_bits(counts[i]), d->depth, false);
        if (!d->segments[i])
            return false;
    }
    return true;
}

void
index_place(IndexShm *x, u32 stored, u64 payload)
{
    place_entry(index_segment(x->pub_dir, stored), stored, index_entry(stored, payload));
}

void
index_count(IndexShm *x)
{
    const IndexDirShm *d = x->pub_dir;
    x->entry_count = 0;
    for (u64 i = 0; i < (u64)1 << d->depth;) {
        IndexSegmentShm *s = d->segments[i];
        s->used = s->promised = 0;
        for (u32 line = 0; line < 1u << s->line_bits; line++)
            for (u32 e = 0; e < INDEX_LINE_ENTRIES; e++)
                s->used += s->lines[line].pub_entry[e] != 0;
        x->entry_count += s->used;
        i += (u64)1 << (d->depth - s->depth);
    }
}
