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
    bool not_null, has_default;
} CopyColumn;

typedef struct CopySpec {
    CopyKind kind;
    bool header, header_match;
    char delimiter, quote, escape; /* 0: the format's default */
    bool has_null_text, has_default_text;
    Str null_text, default_text; /* default_text: what stands for the column's DEFAULT */
    bool ignore_errors;          /* rows with a value that its type cannot read are left out (class 22, what value_in says) */
    bool row_alone;              /* batches of one row: an error of `rows` may be the row's */
    const char *relation;
    u32 column_count;
    const CopyColumn *columns;
    TypeFormat format;
    /* Called with up to VEC_SIZE rows, a vector a column, decoded text; all of it valid during the call. defaults: of each column a byte a row, 1: the
     * DEFAULT is wanted; NULL: of no row. A row with a NULL for a column that is not_null is the last of its batch. May throw. */
    void (*rows)(void *ctx, const Batch *b, const u8 *const *defaults);
    /* A row is left out; NULL: nobody wants to know. */
    void (*skipped)(void *ctx, u64 line, Str column, const char *value);
    void *ctx;
} CopySpec;

typedef struct CopyIn CopyIn;

/* Lives in a; its buffers hang on a by a hook. spec is copied, what it points to is not. */
CopyIn *copy_new(Arena *a, const CopySpec *spec);
/* Throws on bad data. */
void copy_feed(CopyIn *c, const u8 *data, size_t len);
/* The client said that it was all: the last line need not be terminated. */
void copy_finish(CopyIn *c);
/* Rows left out. */
u64 copy_skipped(const CopyIn *c);
/* For err_context(): "COPY t, line n: …" of the line that is being read or has just been handed over. `of` is the CopyIn. */
void copy_add_context(void *of, Error *err);

#endif
