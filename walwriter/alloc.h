/*
 * alloc.h
 *    Memory of the world: extents of 2 MiB, page runs, slabs. Bookkeeping is private; nothing of it lies in the world.
 *
 * The budget counts whole extents with memory behind them. Sizes are given again when a piece is freed. Pieces are 16-byte aligned;
 * those whose size is a multiple of 64 stand on a cache line. Contents are not initialised.
 */
#ifndef ALLOC_H
#define ALLOC_H

#include "common/base/base.h"

typedef struct Alloc Alloc;

typedef struct AllocStats {
    u64 used_extents;       /* with memory behind them */
    u64 empty_extents;      /* of these, without a piece in them */
    u64 small_page_extents; /* where huge pages could not be had */
    u64 extent_high;        /* extents ever used */
    u64 piece_bytes;        /* rounded sizes of all pieces */
} AllocStats;

/* base is extent-aligned; fd is its memfd (for holes), -1 none. NULL without memory. */
Alloc *alloc_new(u8 *base, u64 reserved_bytes, u64 budget_bytes, int fd);
void alloc_done(Alloc *a);
void alloc_set_budget(Alloc *a, u64 budget_bytes);
/* NULL when it would leave fewer than `keep_extents` of the budget; with 0, for what must not fail any more, when the address range is used up. */
void *alloc_get(Alloc *a, u64 bytes, u64 keep_extents);
void alloc_free(Alloc *a, const void *piece, u64 bytes);
/* Whether `extents` more could be had. */
bool alloc_room(const Alloc *a, u64 extents);
bool alloc_room_beyond(const Alloc *a, u64 extents); /* to the end of the address range */
/* Give empty extents beyond `keep` back to the system, at most `limit` of them; true when there are more. */
bool alloc_punch(Alloc *a, u32 keep, u32 limit);
AllocStats alloc_stats(const Alloc *a);
/* What a piece of this size takes. */
u64 alloc_rounded(u64 bytes);

/* Takeover: extents 0 … high-1 hold a predecessor's pieces. alloc_mark every reachable one; the rest of these extents is not given out until
 * alloc_release. */
void alloc_adopt(Alloc *a, u64 extent_high);
void alloc_mark(Alloc *a, const void *piece, u64 bytes);
void alloc_release(Alloc *a);

#endif
