/*
 * index.h
 *    The hash index of keys and dictionaries: how a reader finds the candidates of a hash beside the writer.
 *
 * Extendible hashing over segments of 64-byte lines. The top bits of the stored hash (32 of the 64) choose the segment, the next ones its
 * home line; a full line goes on in the next one. A slot never becomes empty again and an entry never moves within a segment, so a
 * reader may stop at the first empty slot. Growing builds new segments beside the old one and publishes a new directory; a reader that
 * still holds the old one finds there everything that was published when it pinned. A candidate has the same 16 bits of hash;
 * the caller compares the values.
 */
#ifndef INDEX_H
#define INDEX_H

#include "common/store/shape.h"

typedef struct IndexCursor {
    const IndexSegmentShm *segment;
    u32 line, lines_left;
    u32 slot;
    u16 tag;
} IndexCursor;

static inline u32 index_stored(u64 hash) { return (u32)(hash >> 32); }
static inline IndexSegmentShm *
index_segment(const IndexDirShm *d, u32 stored)
{
    return d->segments[d->depth ? stored >> (32 - d->depth) : 0];
}
static inline u32
index_home(const IndexSegmentShm *s, u32 stored)
{
    return s->line_bits ? (u32)(stored << s->depth) >> (32 - s->line_bits) : 0;
}
static inline u64 index_entry(u32 stored, u64 payload) { return (u64)(u16)stored << 48 | (payload + 1); }
static inline u64 index_payload(u64 entry) { return (entry & 0xffffffffffffull) - 1; }

static inline IndexCursor
index_find(const IndexShm *x, u64 hash)
{
    u32 stored = index_stored(hash);
    const IndexSegmentShm *s = index_segment(observe_ptr(&x->pub_dir), stored);
    return (IndexCursor){.segment = s, .line = index_home(s, stored), .lines_left = 1u << s->line_bits, .tag = (u16)stored};
}

/* The next candidate; false at the end. */
static inline bool
index_next(IndexCursor *c, u64 *ret_payload)
{
    while (c->lines_left) {
        const IndexLineShm *l = &c->segment->lines[c->line];
        while (c->slot < INDEX_LINE_ENTRIES) {
            u64 e = observe_u64(&l->pub_entry[c->slot++]);
            if (!e) {
                c->lines_left = 0;
                return false;
            }
            if (e >> 48 == c->tag) {
                *ret_payload = index_payload(e);
                return true;
            }
        }
        c->slot = 0;
        c->lines_left--;
        c->line = (c->line + 1) & ((1u << c->segment->line_bits) - 1);
    }
    return false;
}

static inline void
index_prefetch(const IndexShm *x, u64 hash)
{
    u32 stored = index_stored(hash);
    const IndexSegmentShm *s = index_segment(observe_ptr(&x->pub_dir), stored);
    __builtin_prefetch(&s->lines[index_home(s, stored)]);
}

#endif
