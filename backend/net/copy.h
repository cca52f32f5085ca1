/*
 * copy.h
 *    COPY FROM: the bytes of CopyData messages, split anywhere, into batches of physical vectors.
 *
 * Formats, messages and SQLSTATEs are PostgreSQL 16's; every error carries the CONTEXT "COPY t, line 3, column a: "x"".
 */
#ifndef COPY_H
#define COPY_H

#include "common/base/arena.h"
#include "common/type/type.h"
#include "common/type/vec.h"

typedef enum CopyKind { COPY_KIND_TEXT, COPY_KIND_CSV, COPY_KIND_BINARY } CopyKind;

typedef struct CopyColumn {
    Str name;
    TypeId type;
    i32 typmod;
    bool force_null, force_not_null; /* csv */
} CopyColumn;

typedef struct CopySpec {
    CopyKind kind;
    bool header, header_match;
    char delimiter, quote, escape; /* 0: the format's default */
    bool has_null_text;
    Str null_text;
    const char *relation;
    u32 column_count;
    const CopyColumn *columns;
    TypeFormat format;
    /* Called with up to VEC_SIZE rows, a vector a column, decoded text; all of it valid during the call. May throw. */
    void (*rows)(void *ctx, const Batch *b);
    void *ctx;
} CopySpec;

typedef struct CopyIn CopyIn;

/* Lives in a; its buffers hang on a by a hook. spec is copied, what it points to is not. */
CopyIn *copy_new(Arena *a, const CopySpec *spec);
/* Throws on bad data. */
void copy_feed(CopyIn *c, const u8 *data, size_t len);
/* The client said that it was all: the last line need not be terminated. */
void copy_finish(CopyIn *c);
/* Rows parsed so far, and "COPY t, line n" for errors that are found later. */
u64 copy_line(const CopyIn *c);

#endif
