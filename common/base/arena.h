/*
 * arena.h
 *    Memory by lifetime: pieces are taken one by one and given back all at once.
 *
 * An arena is passed explicitly; there is no current one. It belongs to one thread. It has a limit in bytes; passing it,
 * or malloc failing, calls `on_full` when one is set (the backend sets one that throws 53200) and otherwise returns NULL.
 * Hooks tie what is not memory (descriptors, pins, threads) to the arena: arena_reset runs them newest first.
 * Pieces are 16-byte aligned. Under ASan the unused part of a chunk is poisoned.
 */
#ifndef ARENA_H
#define ARENA_H

#include "common/base/base.h"

typedef struct Arena Arena;
typedef void (*ArenaFull)(Arena *arena, size_t wanted_bytes);
typedef void (*ArenaHook)(void *what);

/* NULL when there is no memory. limit_bytes 0 = none. `name` is a literal, for messages. */
Arena *arena_new(const char *name, size_t limit_bytes, ArenaFull on_full);
void arena_free(Arena *arena);
/* Run hooks, give all pieces back; keeps one chunk for reuse. */
void arena_reset(Arena *arena);

/* Uninitialised / zeroed bytes; see the head comment for failure. size 0 gives a valid pointer. */
void *arena_alloc(Arena *arena, size_t size) __attribute__((malloc));
void *arena_zalloc(Arena *arena, size_t size) __attribute__((malloc));
/* count x size with the multiplication checked. */
void *arena_array(Arena *arena, size_t count, size_t size);
/* A copy of len bytes with a terminating zero behind them. */
char *arena_strndup(Arena *arena, const char *s, size_t len);
char *arena_printf(Arena *arena, const char *format, ...) PRINTF_LIKE(2, 3);
Str arena_str(Arena *arena, Str s);

/* Big pieces that live shorter than the arena (hash tables, sort runs): own mapping, counted, freed at reset at the latest. */
void *arena_big_alloc(Arena *arena, size_t size);
void arena_big_free(Arena *arena, void *piece);

/* Runs `hook(what)` at reset. false when there is no memory (then the hook is not registered). */
bool arena_hook(Arena *arena, ArenaHook hook, void *what);
void arena_unhook(Arena *arena, ArenaHook hook, void *what);

const char *arena_name(const Arena *arena);
size_t arena_used_bytes(const Arena *arena);

#define ARENA_NEW(arena, Type) ((Type *)arena_zalloc((arena), sizeof(Type)))
#define ARENA_ARRAY(arena, Type, count) ((Type *)arena_array((arena), (count), sizeof(Type)))

#endif
