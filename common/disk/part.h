/*
 * part.h
 *    A part: some rows of one table on their way from a backend through the log into blocks. The same bytes are sent, logged and
 *    applied (I4); the walwriter fills in the row ids in the fields left for them.
 *
 * Layout (little-endian, every piece padded to 8 bytes with zeros):
 *
 *   0  u32 table id            4  u32 schema version
 *   8  u32 row count (1 … PART_MAX_ROWS)   12  u16 column count   14 u16 0
 *   16 u32 ordinal within the transaction   20 u32 rows that go to the first target block
 *   24 u64 first target row id (rows 0 … k-1)   32 u64 second target row id (the rest)      [INSERT, UPDATE; 0 until judged]
 *   40 UPDATE, DELETE: u64 row ids of the old rows, row count of them
 *   then each column (INSERT: all, in order; UPDATE: the changed ones, ascending; DELETE: none):
 *      u16 column   u8 phys   u8 flags (1 = has null bytes)   u32 bytes of the column's data that follow (a multiple of 8)
 *      null bytes: a byte a row, 1 = NULL (when flagged)
 *      fixed width: row count x phys_width
 *      text: u32 distinct count d, u32 bytes of all texts, u32 lengths x d, the texts, then indexes x row count of 1, 2 or 4 bytes
 *            (1 when d <= 256, 2 when d <= 65,536); the row's text is texts[index], anything under a NULL
 *            A length with PART_LONG set takes no bytes of the texts: it is the number of a long text.
 *   At most PART_MAX_BYTES in all.
 *
 * A long text travels before the part that names it, in TEXT_PIECE records of the same statement. A part uses all of those before it up; they are numbered
 * from 1 on since the part before. So only a chain has them. The layout of a piece:
 *
 *   0 u32 table id   4 u32 schema version   8 u16 column  10 u16 0   12 u32 number
 *   16 u32 bytes of the whole text (1 … TEXT_WHOLE_MAX)   20 u32 offset of this piece   24 u32 bytes of this piece (1 …)   28 u32 0   32 the bytes
 */
#ifndef PART_H
#define PART_H

#include "common/base/base.h"
#include "common/base/bytes.h"
#include "common/base/error.h"
#include "common/type/type.h"

#define PART_LONG 0x80000000u
enum { TEXT_PIECE_HEAD_BYTES = 32, TEXT_WHOLE_MAX = 0x3fffffff - 4 }; /* PostgreSQL's limit of a value */
enum { PART_MAX_BYTES = 256 * 1024, PART_MAX_ROWS = 16384, PART_HEAD_BYTES = 40, PART_MAX_COLUMNS = 1600 };

typedef enum PartKind { PART_INSERT = 1, PART_UPDATE = 2, PART_DELETE = 3 } PartKind;

typedef struct PartColumn {
    u16 column;
    PhysType phys;
    const u8 *null_bytes; /* NULL when no row is NULL */
    const void *values;   /* fixed width */
    u32 distinct;         /* text */
    const u32 *lengths;   /* PART_LONG: the number of a long text */
    const char *texts;
    const void *indexes;
    u32 index_width;
} PartColumn;

typedef struct TextPiece {
    u32 table_id, schema_version;
    u16 column;
    u32 number, whole, offset, len;
    const u8 *bytes;
} TextPiece;

/* What the pieces so far make of a long text. */
typedef struct LongText {
    u32 table_id;
    u16 column;
    bool entered; /* it stands in a dictionary */
    u32 len, have;
    char *text;   /* len bytes of room; its length is written before it */
} LongText;

/* A checked part: pointers into its bytes. */
typedef struct PartView {
    PartKind kind;
    const u8 *bytes;            /* where it begins; NULL when it was not read from bytes */
    u32 table_id, schema_version, row_count, ordinal;
    u16 column_count;
    u32 first_count;            /* rows with ids from first_row on; the others from second_row on */
    u64 first_row, second_row;
    const u64 *old_rows;        /* UPDATE, DELETE */
    PartColumn *columns;        /* column_count of them, in memory the caller gave */
    LongText *longs;            /* set by who has the chain: number n is longs[n - 1] */
    u32 long_count;
} PartView;

/* Check bytes to the last one and point at the pieces (they must be 8-byte aligned). `columns` has room for max_columns. Indexes and lengths are checked to be
 * in range, booleans to be 0 or 1. Does not look at any table. */
MUST_CHECK bool part_read(PartKind kind, const u8 *data, u32 len, PartColumn *columns, u32 max_columns, PartView *ret, Error *err);
/* Bytes that part_write will need for these pieces (the columns' pointers may still be NULL only when their counts are 0). */
u64 part_bytes(const PartView *p);
/* Encode the view's pieces at `to` (8-byte aligned, part_bytes(p) bytes of room); target rows are written as 0. Returns the bytes written. */
u32 part_write(const PartView *p, u8 *to);
/* Valid UTF-8 without zero bytes? Whether it must be says the column's type, which part_read does not know. */
bool part_text_is_text(Str s);
/* Bytes that distinct text i takes among the texts. */
static inline u32 part_text_bytes(const PartColumn *c, u32 i) { return c->lengths[i] & PART_LONG ? 0 : c->lengths[i]; }
/* The long text that distinct text i of the column is; NULL: it is none, or one that has not come whole, or for another column. */
LongText *part_long(const PartView *p, const PartColumn *c, u32 i);
/* Distinct text i, which begins at `at` when it is not long (a long one must be there). */
static inline Str
part_str(const PartView *p, const PartColumn *c, u32 i, const char *at)
{
    const LongText *l = c->lengths[i] & PART_LONG ? part_long(p, c, i) : NULL;
    return l ? (Str){l->text, l->len} : (Str){at, part_text_bytes(c, i)};
}
MUST_CHECK bool text_piece_read(const u8 *data, u32 len, TextPiece *ret);
void text_piece_write(const TextPiece *t, u8 *to); /* head and bytes */
static inline u32 part_index_width(u32 distinct) { return distinct <= 256 ? 1 : distinct <= 65536 ? 2 : 4; }
/* In place, by the walwriter. */
void part_set_rows(u8 *data, u32 first_count, u64 first_row, u64 second_row);
/* Index into the distinct texts of row i. */
static inline u32
part_index(const PartColumn *c, u32 i)
{
    if (c->index_width == 1)
        return ((const u8 *)c->indexes)[i];
    return c->index_width == 2 ? ((const u16 *)c->indexes)[i] : ((const u32 *)c->indexes)[i];
}
static inline Str
part_text(const PartView *p, const PartColumn *c, u32 distinct_index, const u32 *offsets)
{
    return part_str(p, c, distinct_index, c->texts + offsets[distinct_index]);
}

#endif
