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
 *   At most PART_MAX_BYTES in all.
 */
#ifndef PART_H
#define PART_H

#include "common/base/base.h"
#include "common/base/bytes.h"
#include "common/base/error.h"
#include "common/type/type.h"

enum { PART_MAX_BYTES = 256 * 1024, PART_MAX_ROWS = 16384, PART_HEAD_BYTES = 40, PART_MAX_COLUMNS = 1600 };

typedef enum PartKind { PART_INSERT = 1, PART_UPDATE = 2, PART_DELETE = 3 } PartKind;

typedef struct PartColumn {
    u16 column;
    PhysType phys;
    const u8 *null_bytes; /* NULL when no row is NULL */
    const void *values;   /* fixed width */
    u32 distinct;         /* text */
    const u32 *lengths;
    const char *texts;
    const void *indexes;
    u32 index_width;
} PartColumn;

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
} PartView;

/* Check bytes to the last one and point at the pieces (they must be 8-byte aligned). `columns` has room for max_columns. Indexes and lengths are checked to be
 * in range, booleans to be 0 or 1. Does not look at any table. */
MUST_CHECK bool part_read(PartKind kind, const u8 *data, u32 len, PartColumn *columns, u32 max_columns, PartView *ret, Error *err);
/* Bytes that part_write will need for these pieces (the columns' pointers may still be NULL only when their counts are 0). */
u64 part_bytes(const PartView *p);
/* Encode the view's pieces at `to` (8-byte aligned, part_bytes(p) bytes of room); target rows are written as 0. Returns the bytes written. */
u32 part_write(const PartView *p, u8 *to);
/* Are a text column's values valid UTF-8 without zero bytes? Whether they must be says the column's type, which part_read does not know. */
bool part_texts_are_text(const PartColumn *c);
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
part_text(const PartColumn *c, u32 distinct_index, const u32 *offsets)
{
    return (Str){c->texts + offsets[distinct_index], c->lengths[distinct_index]};
}

#endif
