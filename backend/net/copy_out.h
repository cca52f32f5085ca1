/*
 * copy_out.h
 *    COPY TO: batches into CopyData messages, one a row, in PostgreSQL's text, csv and binary formats.
 */
#ifndef COPY_OUT_H
#define COPY_OUT_H

#include "backend/net/copy.h"
#include "backend/net/net.h"

typedef struct CopyOutSpec {
    CopyKind kind;
    bool header;
    char delimiter, quote, escape; /* 0: the format's default */
    bool has_null_text;
    Str null_text;
    u32 column_count;
    const ReplyColumn *columns;
    const u64 *force_quote; /* csv: a bit a column; NULL: none */
    TypeFormat format;
} CopyOutSpec;

typedef struct CopyOut CopyOut;

/* Lives in a; its buffers hang on a by a hook. spec is copied, what it points to is not. Sends CopyOutResponse and the header. Throws. */
CopyOut *copy_out_begin(Wire *w, Arena *a, const CopyOutSpec *spec);
/* All rows of b (no selection, decoded texts). Throws. */
void copy_out_rows(CopyOut *c, const Batch *b);
/* The trailer and CopyDone. */
void copy_out_end(CopyOut *c);

#endif
