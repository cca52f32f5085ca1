/*
 * regex_memory.c
 *    Memory of compiled expressions: pieces of big chunks, given back all at once when other expressions take their place.
 */
#include "backend/kern/regex_inside.h"

enum { CHUNK_BYTES = 64 * 1024 };

typedef struct Chunk {
    struct Chunk *next;
    size_t used, size;
} Chunk;

struct RegexMemory {
    Arena *from;
    Chunk *chunks;
};

static size_t
chunk_head(void)
{
    return ALIGN_UP(sizeof(Chunk), 16);
}

RegexMemory *
regex_memory(Arena *from)
{
    RegexMemory *m = ARENA_NEW(from, RegexMemory);
    m->from = from;
    return m;
}

void
regex_memory_reset(RegexMemory *m)
{
    while (m->chunks) {
        Chunk *next = m->chunks->next;
        arena_big_free(m->from, m->chunks);
        m->chunks = next;
    }
}

void *
regex_alloc(RegexMemory *m, size_t size)
{
    size = ALIGN_UP(MAX(size, (size_t)1), 16);
    Chunk *c = m->chunks;
    if (!c || c->size - c->used < size) {
        size_t bytes = MAX((size_t)CHUNK_BYTES, size + chunk_head());
        c = arena_big_alloc(m->from, bytes);
        *c = (Chunk){m->chunks, chunk_head(), bytes};
        m->chunks = c;
    }
    void *p = (char *)c + c->used;
    c->used += size;
    return memset(p, 0, size);
}

void *
regex_grow(RegexMemory *m, const void *old, u32 *capacity, u32 wanted, size_t size)
{
    u32 before = *capacity;
    *capacity = MAX(wanted, MAX(8u, before * 2));
    void *p = regex_alloc(m, *capacity * size);
    if (before)
        memcpy(p, old, before * size);
    return p;
}
