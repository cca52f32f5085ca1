/*
 * part.c
 *    Check and write parts; the layout is in part.h.
 *
 * part_read is a trust border: its bytes come from a box (hostile, but already copied) or from the log. Every length is compared
 * with what is left before it is used, sums are done in 64 bits, padding must be zero, and nothing may be left over. It is strict
 * under NULLs too (values must be valid there), so that kernels can read any stored element.
 */
#include "common/disk/part.h"

#include "common/type/numeric.h"

enum { COLUMN_HEAD_BYTES = 8, FLAG_HAS_NULLS = 1 };

typedef struct Pieces {
    const u8 *at, *end;
} Pieces;

/* The next n bytes and their zero padding; NULL when they are not there. */
static const u8 *
take_piece(Pieces *p, u64 n)
{
    u64 padded = ALIGN_UP(n, (u64)8);
    if (padded > (u64)(p->end - p->at))
        return NULL;
    const u8 *piece = p->at;
    for (u64 i = n; i < padded; i++)
        if (piece[i])
            return NULL;
    p->at += padded;
    return piece;
}

static bool
bytes_are_flags(const u8 *b, u32 n)
{
    u8 all = 0;
    for (u32 i = 0; i < n; i++)
        all |= b[i];
    return all <= 1;
}

static bool
num_is_valid(const Num *n)
{
    if (n->kind > NUM_NEG_INF || n->scale > NUM_MAX_SCALE || n->zero[0] || n->zero[1] || n->zero[2] || n->zero[3] || n->zero[4])
        return false;
    i128 v = num_int(n);
    return n->kind == NUM_FINITE ? v < POW10_I128[38] && v > -POW10_I128[38] : v == 0 && n->scale == 0;
}

static bool
values_are_valid(PhysType phys, const u8 *values, u32 rows)
{
    if (phys == PHYS_BOOL)
        return bytes_are_flags(values, rows);
    if (phys != PHYS_NUM)
        return true;
    for (u32 i = 0; i < rows; i++) {
        Num n;
        memcpy(&n, values + (size_t)i * sizeof n, sizeof n);
        if (!num_is_valid(&n))
            return false;
    }
    return true;
}

static bool
indexes_are_valid(const PartColumn *c, u32 rows)
{
    u32 limit = MAX(c->distinct, 1u);
    for (u32 i = 0; i < rows; i++)
        if (part_index(c, i) >= limit)
            return false;
    if (c->distinct == 0)
        for (u32 i = 0; i < rows; i++)
            if (!c->null_bytes || !c->null_bytes[i])
                return false;
    return true;
}

static bool
read_texts(Pieces *p, u32 rows, PartColumn *c)
{
    const u8 *head = take_piece(p, 8);
    if (!head)
        return false;
    u32 distinct = get_le32(head), text_bytes = get_le32(head + 4);
    if (distinct > rows)
        return false;
    const u8 *lengths = take_piece(p, (u64)distinct * 4), *texts = lengths ? take_piece(p, text_bytes) : NULL;
    if (!texts)
        return false;
    u64 sum = 0;
    for (u32 i = 0; i < distinct; i++) {
        u32 len = get_le32(lengths + (size_t)i * 4);
        if (len & PART_LONG)
            continue;
        if (len > text_bytes - sum)
            return false;
        sum += len;
    }
    c->distinct = distinct;
    c->lengths = (const u32 *)(const void *)lengths;
    c->texts = (const char *)texts;
    c->index_width = part_index_width(distinct);
    c->indexes = take_piece(p, (u64)rows * c->index_width);
    return sum == text_bytes && c->indexes && indexes_are_valid(c, rows);
}

bool
part_text_is_text(Str s)
{
    return utf8_valid((const u8 *)s.ptr, s.len) && !(s.len && memchr(s.ptr, 0, s.len));
}

LongText *
part_long(const PartView *p, const PartColumn *c, u32 i)
{
    u32 number = c->lengths[i] & ~PART_LONG;
    if (!(c->lengths[i] & PART_LONG) || number == 0 || number > p->long_count)
        return NULL;
    LongText *l = &p->longs[number - 1];
    return l->have == l->len && l->table_id == p->table_id && l->column == c->column ? l : NULL;
}

static bool
read_column(Pieces *p, u32 rows, PartColumn *c)
{
    const u8 *head = take_piece(p, COLUMN_HEAD_BYTES);
    if (!head)
        return false;
    memset(c, 0, sizeof *c);
    c->column = get_le16(head);
    c->phys = (PhysType)head[2];
    u8 flags = head[3];
    u32 bytes = get_le32(head + 4);
    if (c->phys < PHYS_BOOL || c->phys >= PHYS_COUNT || flags > FLAG_HAS_NULLS || bytes % 8 || bytes > (u64)(p->end - p->at))
        return false;
    Pieces own = {p->at, p->at + bytes};
    p->at += bytes;
    if (flags & FLAG_HAS_NULLS) {
        c->null_bytes = take_piece(&own, rows);
        if (!c->null_bytes || !bytes_are_flags(c->null_bytes, rows))
            return false;
    }
    if (c->phys == PHYS_STR) {
        if (!read_texts(&own, rows, c))
            return false;
    } else {
        c->values = take_piece(&own, (u64)rows * phys_width(c->phys));
        if (!c->values || !values_are_valid(c->phys, c->values, rows))
            return false;
    }
    return own.at == own.end;
}

static bool
read_rows(PartKind kind, Pieces *p, PartView *v)
{
    if (kind == PART_INSERT)
        return true;
    const u8 *rows = take_piece(p, (u64)v->row_count * 8);
    v->old_rows = (const u64 *)(const void *)rows;
    return rows != NULL;
}

static bool
head_is_valid(PartKind kind, const PartView *v, u32 max_columns)
{
    if (v->row_count < 1 || v->row_count > PART_MAX_ROWS || v->column_count > MIN(max_columns, (u32)PART_MAX_COLUMNS))
        return false;
    if (kind == PART_DELETE)
        return v->column_count == 0 && v->first_count == 0 && v->first_row == 0 && v->second_row == 0;
    if (v->column_count == 0 || v->first_count > v->row_count)
        return false;
    if (v->first_row == 0) /* not judged yet */
        return v->first_count == 0 && v->second_row == 0;
    return v->first_count >= 1 && (v->second_row != 0) == (v->first_count < v->row_count);
}

bool
part_read(PartKind kind, const u8 *data, u32 len, PartColumn *columns, u32 max_columns, PartView *ret, Error *err)
{
    PartView v = {.kind = kind, .bytes = data, .columns = columns};
    Pieces p = {data, data + len};
    const u8 *head = len <= PART_MAX_BYTES && len % 8 == 0 ? take_piece(&p, PART_HEAD_BYTES) : NULL;
    if (!head || kind < PART_INSERT || kind > PART_DELETE)
        return error_set(err, ERR_PROTOCOL_VIOLATION, "malformed part: head");
    v.table_id = get_le32(head);
    v.schema_version = get_le32(head + 4);
    v.row_count = get_le32(head + 8);
    v.column_count = get_le16(head + 12);
    v.ordinal = get_le32(head + 16);
    v.first_count = get_le32(head + 20);
    v.first_row = get_le64(head + 24);
    v.second_row = get_le64(head + 32);
    if (get_le16(head + 14) != 0 || !head_is_valid(kind, &v, max_columns) || !read_rows(kind, &p, &v))
        return error_set(err, ERR_PROTOCOL_VIOLATION, "malformed part: counts");
    for (u32 i = 0; i < v.column_count; i++)
        if (!read_column(&p, v.row_count, &columns[i]) || (i && columns[i].column <= columns[i - 1].column))
            return error_set(err, ERR_PROTOCOL_VIOLATION, "malformed part: column %u", i);
    if (p.at != p.end)
        return error_set(err, ERR_PROTOCOL_VIOLATION, "malformed part: bytes left over");
    *ret = v;
    return true;
}

void
part_set_rows(u8 *data, u32 first_count, u64 first_row, u64 second_row)
{
    put_le32(data + 20, first_count);
    put_le64(data + 24, first_row);
    put_le64(data + 32, second_row);
}

/* ---- pieces of long texts ---- */

bool
text_piece_read(const u8 *data, u32 len, TextPiece *ret)
{
    if (len <= TEXT_PIECE_HEAD_BYTES || len > PART_MAX_BYTES)
        return false;
    TextPiece t = {.table_id = get_le32(data), .schema_version = get_le32(data + 4), .column = get_le16(data + 8), .number = get_le32(data + 12),
                   .whole = get_le32(data + 16), .offset = get_le32(data + 20), .len = get_le32(data + 24), .bytes = data + TEXT_PIECE_HEAD_BYTES};
    if (get_le16(data + 10) || get_le32(data + 28) || t.number == 0 || t.number >= PART_LONG || t.whole > TEXT_WHOLE_MAX ||
        t.len != len - TEXT_PIECE_HEAD_BYTES || t.offset > t.whole || t.len > t.whole - t.offset)
        return false;
    *ret = t;
    return true;
}

void
text_piece_write(const TextPiece *t, u8 *to)
{
    put_le32(to, t->table_id);
    put_le32(to + 4, t->schema_version);
    put_le16(to + 8, t->column);
    put_le16(to + 10, 0);
    put_le32(to + 12, t->number);
    put_le32(to + 16, t->whole);
    put_le32(to + 20, t->offset);
    put_le32(to + 24, t->len);
    put_le32(to + 28, 0);
    memcpy(to + TEXT_PIECE_HEAD_BYTES, t->bytes, t->len);
}

/* ---- writing ---- */

static u64
texts_bytes(const PartColumn *c)
{
    u64 sum = 0;
    for (u32 i = 0; i < c->distinct; i++)
        sum += part_text_bytes(c, i);
    return sum;
}

static u64
column_bytes(const PartColumn *c, u32 rows)
{
    u64 n = c->null_bytes ? ALIGN_UP((u64)rows, 8) : 0;
    if (c->phys != PHYS_STR)
        return n + ALIGN_UP((u64)rows * phys_width(c->phys), 8);
    return n + 8 + ALIGN_UP((u64)c->distinct * 4, 8) + ALIGN_UP(texts_bytes(c), 8) + ALIGN_UP((u64)rows * part_index_width(c->distinct), 8);
}

u64
part_bytes(const PartView *p)
{
    u64 n = PART_HEAD_BYTES + (p->kind == PART_INSERT ? 0 : (u64)p->row_count * 8);
    for (u32 i = 0; i < p->column_count; i++)
        n += COLUMN_HEAD_BYTES + column_bytes(&p->columns[i], p->row_count);
    return n;
}

static u8 *
put_piece(u8 *to, const void *from, u64 n)
{
    if (n)
        memcpy(to, from, n);
    u64 padded = ALIGN_UP(n, (u64)8);
    memset(to + n, 0, padded - n);
    return to + padded;
}

static u8 *
put_column(u8 *to, const PartColumn *c, u32 rows)
{
    put_le16(to, c->column);
    to[2] = (u8)c->phys;
    to[3] = c->null_bytes ? FLAG_HAS_NULLS : 0;
    put_le32(to + 4, (u32)column_bytes(c, rows));
    to += COLUMN_HEAD_BYTES;
    if (c->null_bytes)
        to = put_piece(to, c->null_bytes, rows);
    if (c->phys != PHYS_STR)
        return put_piece(to, c->values, (u64)rows * phys_width(c->phys));
    u64 text_bytes = texts_bytes(c);
    put_le32(to, c->distinct);
    put_le32(to + 4, (u32)text_bytes);
    to = put_piece(to + 8, c->lengths, (u64)c->distinct * 4);
    to = put_piece(to, c->texts, text_bytes);
    return put_piece(to, c->indexes, (u64)rows * part_index_width(c->distinct));
}

u32
part_write(const PartView *p, u8 *to)
{
    u8 *at = to;
    put_le32(at, p->table_id);
    put_le32(at + 4, p->schema_version);
    put_le32(at + 8, p->row_count);
    put_le16(at + 12, p->column_count);
    put_le16(at + 14, 0);
    put_le32(at + 16, p->ordinal);
    memset(at + 20, 0, PART_HEAD_BYTES - 20);
    at += PART_HEAD_BYTES;
    if (p->kind != PART_INSERT)
        at = put_piece(at, p->old_rows, (u64)p->row_count * 8);
    for (u32 i = 0; i < p->column_count; i++)
        at = put_column(at, &p->columns[i], p->row_count);
    return (u32)(at - to);
}
