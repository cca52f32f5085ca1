/*
 * portal_rows.h
 *    Rows of a portal in memory, by number: those of a scrollable cursor, of one that outlives its snapshot, and those that a FETCH gives.
 */
#ifndef PORTAL_ROWS_H
#define PORTAL_ROWS_H

#include "common/base/arena.h"
#include "common/type/vec.h"

typedef struct PortalChunk { u64 first; u32 count; Vec *columns; } PortalChunk;

/* Rows [first, end), counted from 0. Zeroed: none. */
typedef struct PortalRows {
    Arena *arena; /* of its own, so that big rows go when the portal closes; NULL until the first row */
    u64 first, end;
    u32 column_count;
    u32 count, capacity, found; /* chunks; the one found last */
    PortalChunk *chunks;
} PortalRows;

/* Appends count rows of b from `from` on. Throws 53200 when there is no memory. */
void portal_rows_add(PortalRows *k, const Batch *b, u32 from, u32 count, size_t limit_bytes);
/* A piece of rows that begins at row number `at`: its length, 0 when it is not kept. */
u32 portal_rows_find(PortalRows *k, u64 at, Batch *ret, u32 *ret_first);
/* None is kept; the next one has this number. */
void portal_rows_reset(PortalRows *k, u64 first);
size_t portal_rows_bytes(const PortalRows *k);

#endif
