/*
 * arena.c
 *    Chunks that double up to a maximum; pieces are bumped off the newest one. Big pieces and hooks are lists.
 */
#include "common/base/arena.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#define POISON(p, n) ASAN_POISON_MEMORY_REGION(p, n)
#define UNPOISON(p, n) ASAN_UNPOISON_MEMORY_REGION(p, n)
#else
#define POISON(p, n) ((void)(p), (void)(n))
#define UNPOISON(p, n) ((void)(p), (void)(n))
#endif

enum { CHUNK_MIN = 8 * 1024, CHUNK_MAX = 1024 * 1024, ALIGNMENT = 16, HUGE_PAGE = 2 << 20 };

typedef struct Chunk {
    struct Chunk *next;
    size_t capacity; /* bytes behind this head */
} Chunk;

typedef struct Big {
    struct Big *next, **link;
    size_t mapped;
    u64 pad;
} Big;

typedef struct Hook {
    struct Hook *next;
    ArenaHook call;
    void *what;
} Hook;

struct Arena {
    const char *name;
    size_t limit, used, chunk_size;
    ArenaFull on_full;
    Chunk *chunks;
    u8 *at, *end;
    Big *bigs;
    Hook *hooks;
};

_Static_assert(sizeof(Chunk) % ALIGNMENT == 0, "pieces stay aligned");
_Static_assert(sizeof(Big) % ALIGNMENT == 0, "big pieces stay aligned");

Arena *
arena_new(const char *name, size_t limit_bytes, ArenaFull on_full)
{
    Arena *a = calloc(1, sizeof *a);
    if (!a)
        return NULL;
    a->name = name;
    a->limit = limit_bytes ? limit_bytes : SIZE_MAX;
    a->on_full = on_full;
    a->chunk_size = CHUNK_MIN;
    return a;
}

static void *
full(Arena *a, size_t wanted)
{
    if (a->on_full)
        a->on_full(a, wanted);
    return NULL;
}

static void
run_hooks(Arena *a)
{
    while (a->hooks) {
        Hook *h = a->hooks;
        a->hooks = h->next;
        h->call(h->what);
        free(h);
    }
}

void
arena_reset(Arena *a)
{
    run_hooks(a);
    while (a->bigs)
        arena_big_free(a, a->bigs + 1);
    if (a->chunks) { /* keep the oldest, smallest one */
        Chunk *c = a->chunks;
        while (c->next) {
            Chunk *next = c->next;
            UNPOISON(c + 1, c->capacity);
            free(c);
            c = next;
        }
        a->chunks = c;
        a->at = (u8 *)(c + 1);
        a->end = a->at + c->capacity;
        a->used = c->capacity;
        a->chunk_size = CHUNK_MIN;
        POISON(a->at, c->capacity);
    }
}

void
arena_free(Arena *a)
{
    if (!a)
        return;
    arena_reset(a);
    if (a->chunks) {
        UNPOISON(a->chunks + 1, a->chunks->capacity);
        free(a->chunks);
    }
    free(a);
}

static bool
add_chunk(Arena *a, size_t size)
{
    size_t capacity = a->chunk_size - sizeof(Chunk);
    if (capacity < size)
        capacity = ALIGN_UP(size, (size_t)4096);
    if (a->used > a->limit || capacity > a->limit - a->used)
        return false;
    Chunk *c = malloc(sizeof *c + capacity);
    if (!c)
        return false;
    c->capacity = capacity;
    c->next = a->chunks;
    a->chunks = c;
    a->at = (u8 *)(c + 1);
    a->end = a->at + capacity;
    a->used += capacity;
    if (a->chunk_size < CHUNK_MAX)
        a->chunk_size *= 2;
    POISON(a->at, capacity);
    return true;
}

void *
arena_alloc(Arena *a, size_t size)
{
    if (size > SIZE_MAX / 2)
        return full(a, size);
    size_t need = ALIGN_UP(MAX(size, (size_t)1), (size_t)ALIGNMENT);
    if ((size_t)(a->end - a->at) < need && !add_chunk(a, need))
        return full(a, size);
    void *piece = a->at;
    a->at += need;
    UNPOISON(piece, size);
    return piece;
}

void *
arena_zalloc(Arena *a, size_t size)
{
    void *piece = arena_alloc(a, size);
    if (piece)
        memset(piece, 0, size);
    return piece;
}

void *
arena_array(Arena *a, size_t count, size_t size)
{
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes))
        return full(a, SIZE_MAX);
    return arena_zalloc(a, bytes);
}

char *
arena_strndup(Arena *a, const char *s, size_t len)
{
    char *copy = arena_alloc(a, len + 1);
    if (copy) {
        if (len)
            memcpy(copy, s, len);
        copy[len] = 0;
    }
    return copy;
}

Str
arena_str(Arena *a, Str s)
{
    char *copy = arena_strndup(a, s.ptr, s.len);
    return (Str){copy, copy ? s.len : 0};
}

char *
arena_printf(Arena *a, const char *format, ...)
{
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    int len = vsnprintf(NULL, 0, format, args);
    va_end(args);
    char *text = len < 0 ? NULL : arena_alloc(a, (size_t)len + 1);
    if (text)
        vsnprintf(text, (size_t)len + 1, format, again);
    va_end(again);
    return text;
}

static void *
map_plain(size_t mapped)
{
    void *p = mmap(NULL, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return p == MAP_FAILED ? NULL : p;
}

/* Aligned to a huge page, so that the first touch is one fault a huge page instead of 512. */
static void *
map_huge(size_t mapped)
{
    u8 *p = map_plain(mapped + HUGE_PAGE);
    if (!p)
        return NULL;
    size_t before = ALIGN_UP((uintptr_t)p, (uintptr_t)HUGE_PAGE) - (uintptr_t)p;
    if (before)
        munmap(p, before);
    munmap(p + before + mapped, HUGE_PAGE - before);
    madvise(p + before, mapped, MADV_HUGEPAGE);
    return p + before;
}

void *
arena_big_alloc(Arena *a, size_t size)
{
    if (size > SIZE_MAX / 2)
        return full(a, size);
    size_t mapped = ALIGN_UP(size + sizeof(Big), (size_t)4096);
    if (mapped >= HUGE_PAGE / 2)
        mapped = ALIGN_UP(mapped, (size_t)HUGE_PAGE);
    if (a->used > a->limit || mapped > a->limit - a->used)
        return full(a, size);
    Big *b = mapped % HUGE_PAGE ? map_plain(mapped) : map_huge(mapped);
    if (!b)
        return full(a, size);
    b->mapped = mapped;
    b->next = a->bigs;
    b->link = &a->bigs;
    if (b->next)
        b->next->link = &b->next;
    a->bigs = b;
    a->used += mapped;
    return b + 1;
}

void
arena_big_free(Arena *a, void *piece)
{
    if (!piece)
        return;
    Big *b = (Big *)piece - 1;
    *b->link = b->next;
    if (b->next)
        b->next->link = b->link;
    a->used -= b->mapped;
    munmap(b, b->mapped);
}

bool
arena_hook(Arena *a, ArenaHook call, void *what)
{
    Hook *h = malloc(sizeof *h);
    if (!h)
        return full(a, sizeof *h) != NULL;
    *h = (Hook){a->hooks, call, what};
    a->hooks = h;
    return true;
}

void
arena_unhook(Arena *a, ArenaHook call, void *what)
{
    for (Hook **p = &a->hooks; *p; p = &(*p)->next)
        if ((*p)->call == call && (*p)->what == what) {
            Hook *h = *p;
            *p = h->next;
            free(h);
            return;
        }
}

const char *
arena_name(const Arena *a)
{
    return a->name;
}

size_t
arena_used_bytes(const Arena *a)
{
    return a->used;
}
