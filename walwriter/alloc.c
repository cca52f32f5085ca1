/*
 * alloc.c
 *    Extents, page runs and slabs of the world.
 *
 * An extent is 512 pages with a bitmap of the used ones. Pieces above SMALL_MAX are runs of pages (above an extent: runs of whole extents); smaller
 * ones come from slabs, 32 KiB of pieces of one size class (eight steps a doubling). Extents with room stand in bins by the longest free run, so
 * finding a run looks at few of them. A fresh extent is touched at one byte and collapsed into a huge page; where that fails it
 * stays on small pages and is counted. Only whole empty extents are given back, by punching a hole.
 *
 * Who frees here has made sure that no pin can reach the piece (reclaim.c). Fails: alloc_get alone. Double frees and foreign pieces stop the
 * process (ensure).
 */
#include "config.h"

#include "walwriter/alloc.h"
#include "common/store/shape.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25
#endif

enum {
    PAGE_BYTES = 4096,
    EXTENT_PAGES = EXTENT_BYTES / PAGE_BYTES,
    EXTENT_WORDS = EXTENT_PAGES / 64,
    SLAB_PAGES = 8,
    SLAB_BYTES = SLAB_PAGES * PAGE_BYTES,
    EXTENT_SLABS = EXTENT_PAGES / SLAB_PAGES,
    SMALL_MAX = 3584,
    CLASS_COUNT = 46,
    BIN_COUNT = 10,
    BIN_LOOKS = 16, /* extents looked at in the bin where a fit is not certain */
    NO_EXTENT = -1,
};

typedef enum ExtentState { EXTENT_HOLE = 0, EXTENT_LIVE, EXTENT_WHOLE } ExtentState; /* WHOLE: part of a run of extents */

typedef struct Slab {
    struct Slab *next, *prev; /* slabs of the class with room */
    u32 extent;
    u16 position, size_class;
    u32 capacity, used, hint;
    bool listed;
    u64 taken[];
} Slab;

typedef struct Extent {
    u64 used[EXTENT_WORDS];
    Slab **slabs;
    i32 next, prev; /* of its bin */
    u16 used_pages, longest;
    u8 state, quarantined;
    i8 bin;
} Extent;

struct Alloc {
    u8 *base;
    u64 extent_count, budget_extents;
    u64 hole_hint; /* no hole below it */
    int fd;
    AllocStats stats;
    Slab *partial[CLASS_COUNT];
    i32 bins[BIN_COUNT];
    Extent *extents;
};

static u32
class_of(u64 bytes)
{
    if (bytes <= 128)
        return bytes ? (u32)(bytes + 15) / 16 - 1 : 0;
    u32 k = 63 - (u32)__builtin_clzll((bytes - 1) / 128), step = 16u << k;
    return 8 + 8 * k + (u32)(bytes - (128u << k) + step - 1) / step - 1;
}

static u32
class_bytes(u32 size_class)
{
    if (size_class < 8)
        return (size_class + 1) * 16;
    u32 k = (size_class - 8) / 8, j = (size_class - 8) % 8;
    return (128u << k) + (16u << k) * (j + 1);
}

u64
alloc_rounded(u64 bytes)
{
    if (bytes <= SMALL_MAX)
        return class_bytes(class_of(bytes));
    return bytes <= EXTENT_BYTES ? ALIGN_UP(bytes, (u64)PAGE_BYTES) : ALIGN_UP(bytes, (u64)EXTENT_BYTES);
}

Alloc *
alloc_new(u8 *base, u64 reserved_bytes, u64 budget_bytes, int fd)
{
    ensure((uintptr_t)base % EXTENT_BYTES == 0);
    Alloc *a = calloc(1, sizeof *a);
    if (!a)
        return NULL;
    *a = (Alloc){.base = base, .extent_count = reserved_bytes / EXTENT_BYTES, .fd = fd};
    a->budget_extents = MIN(a->extent_count, budget_bytes / EXTENT_BYTES);
    for (u32 b = 0; b < BIN_COUNT; b++)
        a->bins[b] = NO_EXTENT;
    a->extents = calloc(a->extent_count, sizeof *a->extents);
    if (!a->extents) {
        free(a);
        return NULL;
    }
    return a;
}

void
alloc_done(Alloc *a)
{
    for (u64 e = 0; e < a->stats.extent_high; e++) {
        for (u32 s = 0; a->extents[e].slabs && s < EXTENT_SLABS; s++)
            free(a->extents[e].slabs[s]);
        free(a->extents[e].slabs);
    }
    free(a->extents);
    free(a);
}

AllocStats
alloc_stats(const Alloc *a)
{
    return a->stats;
}

void
alloc_set_budget(Alloc *a, u64 budget_bytes)
{
    a->budget_extents = MIN(a->extent_count, budget_bytes / EXTENT_BYTES);
}

/* What cannot fail any more may go beyond the budget, to the end of the address range. */
static u64
limit_of(const Alloc *a, u64 keep_extents)
{
    return keep_extents ? a->budget_extents : a->extent_count;
}

bool
alloc_room(const Alloc *a, u64 extents)
{
    return a->stats.used_extents - a->stats.empty_extents + extents <= a->budget_extents;
}

bool
alloc_room_beyond(const Alloc *a, u64 extents)
{
    return a->stats.used_extents - a->stats.empty_extents + extents <= a->extent_count;
}

/* ---- bins ---- */

static u32
longest_free_run(const Extent *x)
{
    u32 best = 0, run = 0;
    for (u32 w = 0; w < EXTENT_WORDS; w++) {
        u64 used = x->used[w];
        if (used == 0) {
            run += 64;
        } else if (used == UINT64_MAX) {
            best = MAX(best, run);
            run = 0;
        } else {
            u32 at = 0;
            while (at < 64) {
                u64 rest = used >> at;
                u32 zeros = rest ? (u32)__builtin_ctzll(rest) : 64 - at;
                run += zeros;
                at += zeros;
                if (at == 64)
                    break;
                best = MAX(best, run);
                run = 0;
                u64 ones = ~(used >> at);
                at += ones ? (u32)__builtin_ctzll(ones) : 64;
            }
        }
    }
    return MAX(best, run);
}

static void
bin_remove(Alloc *a, Extent *x)
{
    if (x->bin < 0)
        return;
    if (x->prev != NO_EXTENT)
        a->extents[x->prev].next = x->next;
    else
        a->bins[x->bin] = x->next;
    if (x->next != NO_EXTENT)
        a->extents[x->next].prev = x->prev;
    x->bin = -1;
}

static void
bin_insert(Alloc *a, Extent *x)
{
    x->longest = (u16)longest_free_run(x);
    if (!x->longest || x->quarantined)
        return;
    i32 self = (i32)(x - a->extents);
    x->bin = (i8)(31 - __builtin_clz(x->longest));
    x->prev = NO_EXTENT;
    x->next = a->bins[x->bin];
    if (x->next != NO_EXTENT)
        a->extents[x->next].prev = self;
    a->bins[x->bin] = self;
}

static void
set_pages(Alloc *a, Extent *x, u32 first, u32 count, bool used)
{
    bin_remove(a, x);
    if (x->used_pages == 0)
        a->stats.empty_extents--;
    for (u32 p = first; p < first + count; p++) {
        u64 bit = (u64)1 << (p & 63);
        ensure(!(x->used[p >> 6] & bit) == used);
        x->used[p >> 6] ^= bit;
    }
    x->used_pages = (u16)(used ? x->used_pages + count : x->used_pages - count);
    if (x->used_pages == 0)
        a->stats.empty_extents++;
    bin_insert(a, x);
}

/* ---- extents ---- */

static void
back_with_huge_page(Alloc *a, u8 *at)
{
    *at = 0;
    if (madvise(at, EXTENT_BYTES, MADV_COLLAPSE) != 0)
        a->stats.small_page_extents++;
}

static void
raise_high(Alloc *a, u64 end)
{
    if (end > a->stats.extent_high) {
        a->stats.extent_high = end;
        ((WorldHead *)(void *)a->base)->extent_high = end;
    }
}

/* A hole becomes an empty extent. false at the budget. */
static bool
back_extent(Alloc *a, u64 keep_extents)
{
    if (a->stats.used_extents + 1 + keep_extents > limit_of(a, keep_extents))
        return false;
    while (a->hole_hint < a->extent_count && a->extents[a->hole_hint].state != EXTENT_HOLE)
        a->hole_hint++;
    if (a->hole_hint == a->extent_count)
        return false;
    Extent *x = &a->extents[a->hole_hint];
    x->state = EXTENT_LIVE;
    x->bin = -1;
    a->stats.used_extents++;
    a->stats.empty_extents++;
    raise_high(a, a->hole_hint + 1);
    back_with_huge_page(a, a->base + a->hole_hint * EXTENT_BYTES);
    bin_insert(a, x);
    return true;
}

static void
punch_extents(Alloc *a, u64 first, u64 count)
{
    if (a->fd >= 0)
        (void)!fallocate(a->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)(first * EXTENT_BYTES), (off_t)(count * EXTENT_BYTES));
    for (u64 e = first; e < first + count; e++)
        a->extents[e].state = EXTENT_HOLE;
    a->stats.used_extents -= count;
    a->hole_hint = MIN(a->hole_hint, first);
}

bool
alloc_punch(Alloc *a, u32 keep, u32 limit)
{
    for (i32 e = a->bins[BIN_COUNT - 1]; e != NO_EXTENT && a->stats.empty_extents > keep;) {
        Extent *x = &a->extents[e];
        i32 next = x->next;
        if (x->used_pages == 0) {
            if (limit-- == 0)
                return true;
            bin_remove(a, x);
            a->stats.empty_extents--;
            punch_extents(a, (u64)e, 1);
        }
        e = next;
    }
    return false;
}

/* ---- runs ---- */

/* First page of a free run of count pages (aligned to it when it is a slab's), EXTENT_PAGES when there is none. */
static u32
find_run(const Extent *x, u32 count, u32 align)
{
    u32 run = 0;
    for (u32 p = 0; p < EXTENT_PAGES;) {
        if (run == 0 && p % align) {
            p++;
            continue;
        }
        if (p % 64 == 0 && x->used[p >> 6] == UINT64_MAX) {
            run = 0;
            p += 64;
            continue;
        }
        run = x->used[p >> 6] >> (p & 63) & 1 ? 0 : run + 1;
        p++;
        if (run == count)
            return p - count;
    }
    return EXTENT_PAGES;
}

/* Looks at the extents in the bins; empty ones, which could be given back, only when asked. */
static bool
take_run_backed(Alloc *a, u32 count, u32 align, bool empty_ones, u32 *ret_extent, u32 *ret_page)
{
    for (u32 b = 31 - (u32)__builtin_clz(count); b < BIN_COUNT; b++) {
        u32 looks = BIN_LOOKS;
        for (i32 e = a->bins[b]; e != NO_EXTENT && looks; e = a->extents[e].next, looks--) {
            Extent *x = &a->extents[e];
            if (x->longest < count || (x->used_pages == 0 && !empty_ones))
                continue;
            u32 page = find_run(x, count, align);
            if (page == EXTENT_PAGES)
                continue;
            set_pages(a, x, page, count, true);
            *ret_extent = (u32)e;
            *ret_page = page;
            return true;
        }
    }
    return false;
}

static bool
take_run(Alloc *a, u32 count, u32 align, u64 keep_extents, u32 *ret_extent, u32 *ret_page)
{
    return take_run_backed(a, count, align, false, ret_extent, ret_page) || take_run_backed(a, count, align, true, ret_extent, ret_page) ||
           (back_extent(a, keep_extents) && take_run_backed(a, count, align, true, ret_extent, ret_page));
}

/* More than an extent: neighbouring holes. */
static void *
take_extents(Alloc *a, u64 count, u64 keep_extents)
{
    if (a->stats.used_extents + count + keep_extents > limit_of(a, keep_extents))
        (void)alloc_punch(a, 0, UINT32_MAX);
    if (a->stats.used_extents + count + keep_extents > limit_of(a, keep_extents))
        return NULL;
    u64 run = 0;
    for (u64 e = 0; e < a->extent_count; e++) {
        run = a->extents[e].state == EXTENT_HOLE ? run + 1 : 0;
        if (run < count)
            continue;
        u64 first = e + 1 - count;
        for (u64 i = first; i <= e; i++) {
            a->extents[i].state = EXTENT_WHOLE;
            a->extents[i].bin = -1;
            back_with_huge_page(a, a->base + i * EXTENT_BYTES);
        }
        a->stats.used_extents += count;
        raise_high(a, e + 1);
        return a->base + first * EXTENT_BYTES;
    }
    return NULL;
}

/* ---- slabs ---- */

static void
partial_insert(Alloc *a, Slab *s)
{
    s->prev = NULL;
    s->next = a->partial[s->size_class];
    if (s->next)
        s->next->prev = s;
    a->partial[s->size_class] = s;
    s->listed = true;
}

static void
partial_remove(Alloc *a, Slab *s)
{
    if (s->prev)
        s->prev->next = s->next;
    else
        a->partial[s->size_class] = s->next;
    if (s->next)
        s->next->prev = s->prev;
    s->listed = false;
}

static Slab *
slab_make(Alloc *a, u32 extent, u32 position, u32 size_class)
{
    Extent *x = &a->extents[extent];
    u32 capacity = SLAB_BYTES / class_bytes(size_class);
    Slab *s = calloc(1, sizeof *s + (capacity + 63) / 64 * 8);
    if (s && !x->slabs)
        x->slabs = calloc(EXTENT_SLABS, sizeof *x->slabs);
    if (!s || !x->slabs) {
        free(s);
        return NULL;
    }
    s->extent = extent;
    s->position = (u16)position;
    s->size_class = (u16)size_class;
    s->capacity = capacity;
    x->slabs[position] = s;
    return s;
}

static void *
take_small(Alloc *a, u32 size_class, u64 keep_extents)
{
    Slab *s = a->partial[size_class];
    if (!s) {
        u32 extent, page;
        if (!take_run(a, SLAB_PAGES, SLAB_PAGES, keep_extents, &extent, &page))
            return NULL;
        s = slab_make(a, extent, page / SLAB_PAGES, size_class);
        if (!s) {
            set_pages(a, &a->extents[extent], page, SLAB_PAGES, false);
            return NULL;
        }
        partial_insert(a, s);
    }
    u32 w = s->hint;
    while (s->taken[w] == UINT64_MAX)
        w = (w + 1) % ((s->capacity + 63) / 64);
    u32 bit = (u32)__builtin_ctzll(~s->taken[w]);
    u32 i = w * 64 + bit;
    if (i >= s->capacity) { /* the last word's tail: look from the start */
        for (w = 0; s->taken[w] == UINT64_MAX; w++)
            ;
        bit = (u32)__builtin_ctzll(~s->taken[w]);
        i = w * 64 + bit;
    }
    s->taken[w] |= (u64)1 << bit;
    s->hint = w;
    if (++s->used == s->capacity)
        partial_remove(a, s);
    return a->base + (u64)s->extent * EXTENT_BYTES + (u64)s->position * SLAB_BYTES + (u64)i * class_bytes(size_class);
}

static void
free_small(Alloc *a, u64 offset, u32 size_class)
{
    Extent *x = &a->extents[offset / EXTENT_BYTES];
    u32 position = (u32)(offset % EXTENT_BYTES / SLAB_BYTES);
    Slab *s = x->slabs ? x->slabs[position] : NULL;
    ensure(s && s->size_class == size_class && offset % SLAB_BYTES % class_bytes(size_class) == 0);
    u32 i = (u32)(offset % SLAB_BYTES / class_bytes(size_class));
    ensure(s->taken[i / 64] >> (i % 64) & 1);
    s->taken[i / 64] &= ~((u64)1 << (i % 64));
    s->hint = i / 64;
    s->used--;
    if (x->quarantined)
        return;
    if (!s->listed)
        partial_insert(a, s);
    if (s->used)
        return;
    partial_remove(a, s);
    free(s);
    x->slabs[position] = NULL;
    set_pages(a, x, position * SLAB_PAGES, SLAB_PAGES, false);
}

/* ---- the door ---- */

void *
alloc_get(Alloc *a, u64 bytes, u64 keep_extents)
{
    void *piece;
    u32 extent, page;
    if (bytes <= SMALL_MAX)
        piece = take_small(a, class_of(bytes), keep_extents);
    else if (bytes > EXTENT_BYTES)
        piece = take_extents(a, (bytes + EXTENT_BYTES - 1) / EXTENT_BYTES, keep_extents);
    else if (take_run(a, (u32)((bytes + PAGE_BYTES - 1) / PAGE_BYTES), 1, keep_extents, &extent, &page))
        piece = a->base + (u64)extent * EXTENT_BYTES + (u64)page * PAGE_BYTES;
    else
        piece = NULL;
    if (piece)
        a->stats.piece_bytes += alloc_rounded(bytes);
    return piece;
}

void
alloc_free(Alloc *a, const void *piece, u64 bytes)
{
    u64 offset = (u64)((const u8 *)piece - a->base);
    ensure(offset < a->extent_count * EXTENT_BYTES);
    a->stats.piece_bytes -= alloc_rounded(bytes);
    if (bytes <= SMALL_MAX) {
        free_small(a, offset, class_of(bytes));
        return;
    }
    Extent *x = &a->extents[offset / EXTENT_BYTES];
    if (bytes > EXTENT_BYTES) {
        ensure(x->state == EXTENT_WHOLE && offset % EXTENT_BYTES == 0);
        punch_extents(a, offset / EXTENT_BYTES, (bytes + EXTENT_BYTES - 1) / EXTENT_BYTES);
        return;
    }
    ensure(x->state == EXTENT_LIVE && offset % PAGE_BYTES == 0);
    set_pages(a, x, (u32)(offset % EXTENT_BYTES / PAGE_BYTES), (u32)((bytes + PAGE_BYTES - 1) / PAGE_BYTES), false);
}

/* ---- takeover ---- */

void
alloc_adopt(Alloc *a, u64 extent_high)
{
    ensure(extent_high <= a->extent_count);
    a->stats.extent_high = extent_high;
    for (u64 e = 0; e < extent_high; e++) {
        off_t at = (off_t)(e * EXTENT_BYTES);
        off_t data = a->fd >= 0 ? lseek(a->fd, at, SEEK_DATA) : at;
        if (data < 0 || data >= at + EXTENT_BYTES)
            continue; /* a hole holds nothing that anybody reads */
        Extent *x = &a->extents[e];
        x->state = EXTENT_LIVE;
        x->quarantined = 1;
        x->bin = -1;
        a->stats.used_extents++;
        a->stats.empty_extents++;
    }
}

void
alloc_mark(Alloc *a, const void *piece, u64 bytes)
{
    u64 offset = (u64)((const u8 *)piece - a->base);
    ensure(offset < a->stats.extent_high * EXTENT_BYTES);
    u32 extent = (u32)(offset / EXTENT_BYTES);
    Extent *x = &a->extents[extent];
    a->stats.piece_bytes += alloc_rounded(bytes);
    if (bytes > EXTENT_BYTES) {
        u64 count = (bytes + EXTENT_BYTES - 1) / EXTENT_BYTES;
        for (u64 e = extent; e < extent + count; e++) {
            ensure(a->extents[e].state != EXTENT_WHOLE && a->extents[e].used_pages == 0);
            if (a->extents[e].state == EXTENT_LIVE)
                a->stats.empty_extents--; /* no longer an empty one */
            else
                a->stats.used_extents++;
            a->extents[e].state = EXTENT_WHOLE;
            a->extents[e].quarantined = 0;
        }
        return;
    }
    ensure(x->state == EXTENT_LIVE);
    if (bytes > SMALL_MAX) {
        set_pages(a, x, (u32)(offset % EXTENT_BYTES / PAGE_BYTES), (u32)((bytes + PAGE_BYTES - 1) / PAGE_BYTES), true);
        return;
    }
    u32 size_class = class_of(bytes), position = (u32)(offset % EXTENT_BYTES / SLAB_BYTES);
    if (!x->slabs || !x->slabs[position]) {
        set_pages(a, x, position * SLAB_PAGES, SLAB_PAGES, true);
        ensure(slab_make(a, extent, position, size_class));
    }
    Slab *s = x->slabs[position];
    u32 i = (u32)(offset % SLAB_BYTES / class_bytes(size_class));
    ensure(s->size_class == size_class && offset % SLAB_BYTES % class_bytes(size_class) == 0 && !(s->taken[i / 64] >> (i % 64) & 1));
    s->taken[i / 64] |= (u64)1 << (i % 64);
    s->used++;
}

void
alloc_release(Alloc *a)
{
    for (u64 e = 0; e < a->stats.extent_high; e++) {
        Extent *x = &a->extents[e];
        if (!x->quarantined)
            continue;
        x->quarantined = 0;
        for (u32 p = 0; x->slabs && p < EXTENT_SLABS; p++) {
            Slab *s = x->slabs[p];
            if (s && s->used == 0) {
                free(s);
                x->slabs[p] = NULL;
                set_pages(a, x, p * SLAB_PAGES, SLAB_PAGES, false);
            } else if (s && s->used < s->capacity) {
                partial_insert(a, s);
            }
        }
        bin_remove(a, x);
        bin_insert(a, x);
    }
}
