/*
 * write.h
 *    The staging of a write statement: one column's arrays and what write.c asks of them. Private to this room.
 */
#ifndef WRITE_H
#define WRITE_H

#include "backend/txn/ask.h"
#include "common/disk/part.h"

/* Texts longer than LONG_TEXT_BYTES travel in pieces; in a row that does not fit a part even so, all longer than LONG_TEXT_LEAST, but for those of
 * keys: they stand in the part, and have at most KEY_TEXT_BYTES. */
enum { LONG_TEXT_BYTES = 128 * 1024, LONG_TEXT_LEAST = 64, KEY_TEXT_BYTES = 64 * 1024 };

typedef struct WriteColumn {
    u16 number;
    PhysType phys;
    u32 width;       /* of a row in `values`: the physical width; texts: 2, the index */
    const ColumnDef *def;
    u8 *values;
    u8 *nulls;
    bool any_null;
    bool in_key;     /* its texts never travel as long ones */
    /* texts: the part's distinct ones, found by hash */
    u32 distinct;
    u32 *lengths, *offsets;
    u64 *hashes;
    char *text;
    u32 text_len, text_capacity;
    u16 *slots;      /* distinct index + 1, 0 empty; slot_mask + 1 of them */
    u32 slot_mask;
    u8 *narrow;      /* the indexes as bytes, when they fit */
    const char *long_text; /* the batch's text that is distinct text long_index of the part, NULL none */
    u32 long_index;
} WriteColumn;

struct TxnWrite {
    Txn *txn;
    Arena *arena;
    const TableShm *table;
    const TableDef *def;
    PartKind kind;      /* 0 until the first rows */
    u32 column_count;
    WriteColumn *columns;
    u64 *old_rows;
    u32 rows, capacity, full_capacity;
    u64 row_bytes, head_bytes; /* upper bounds of what a row and the rest take in a part, texts aside */
    TxnOutcome early;   /* RETRY or REPLAN came for a part */
    u32 long_from;      /* texts longer than this travel before the part, in pieces */
    u32 longs;          /* texts that did, since the last part */
    u32 piece_bytes, piece_records; /* pieces that stand in the request area */
    bool pieces_asked;  /* the request whose answer is due are pieces */
    Str broken;         /* the CHECK that row `broken_at` of the batch at hand breaks; len 0: none does */
    u32 broken_at;
    u32 flags;          /* of its requests */
    TxnWrite *beside;   /* another one of the same statement; NULL: none */
    bool sent;          /* a part before the last one */
    bool ended;
};

void write_column_grow(TxnWrite *w, WriteColumn *c, u32 capacity);
void write_column_clear(WriteColumn *c);
/* Append rows first … first+n-1 of the selected rows of v; there is room for them. */
void write_column_append(TxnWrite *w, WriteColumn *c, const Vec *v, const u16 *sel, u32 first, u32 n);
PartColumn write_column_part(WriteColumn *c, u32 rows);
/* long.c: another long text goes to the walwriter; its number. Throws what that answers; nothing is sent once w->early is set. */
u32 write_long_text(TxnWrite *w, const WriteColumn *c, Str s);
/* The pieces that are left in the request area are asked for. */
void write_pieces_end(TxnWrite *w);
/* The answer to the last request, if it is due. */
void write_collect(TxnWrite *w);
/* The batch that texts are compared with by their place is another one. */
void write_forget_longs(TxnWrite *w);
/* Upper bound of the text bytes that these rows add. */
u64 write_text_bytes(const TxnWrite *w, const Batch *b, u32 first, u32 n);
/* 23502 for the first row with a NULL where the table forbids it, 23514 for the one that breaks a CHECK; rows: the old rows of an UPDATE. */
void write_check_rows(TxnWrite *w, const RowId *rows, const Batch *b);

#endif
