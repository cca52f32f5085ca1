/*
 * snaptoc.c
 *    Tables of contents of snapshots: their items to bytes and back, and reading a whole one.
 *
 * A TOC that was read has been checked to the last byte: sums, order and sizes of items, and that every piece lies inside a file it names.
 * Whoever walks it may trust that, and nothing about what the items mean.
 */
#include "common/disk/snapformat.h"

#include "common/base/crc32c.h"
#include "common/disk/walformat.h"

#include <errno.h>
#include <stdlib.h>

/* ---- items to bytes ---- */

static const struct { u32 kind, bytes; const char *name; } ITEMS[] = {
#define SNAP_ITEM(number, symbol, bytes, what) {number, bytes, #symbol},
#include "common/disk/snapitem.def"
};

const char *
snap_item_name(u32 kind)
{
    for (u32 i = 0; i < COUNT_OF(ITEMS); i++)
        if (ITEMS[i].kind == kind)
            return ITEMS[i].name;
    return wal_record_name(kind);
}

static void
put_head(ByteBuf *to, u32 kind, u32 len)
{
    buf_le16(to, (u16)kind);
    buf_le16(to, 0);
    buf_le32(to, len);
}

static void
put_item(ByteBuf *to, SnapItemKind kind)
{
    for (u32 i = 0; i < COUNT_OF(ITEMS); i++)
        if (ITEMS[i].kind == (u32)kind)
            put_head(to, kind, ITEMS[i].bytes);
}

static void
put_ref(ByteBuf *to, const SnapRef *r)
{
    buf_le64(to, r->offset);
    buf_le64(to, r->bytes);
    buf_le32(to, r->file);
    buf_le32(to, r->crc);
}

void
snap_put_file(ByteBuf *to, const SnapFile *f)
{
    put_item(to, SNAP_FILE);
    buf_le64(to, f->number);
    buf_le64(to, f->bytes);
}

void
snap_put_table(ByteBuf *to, const SnapTable *t)
{
    put_item(to, SNAP_TABLE);
    buf_le32(to, t->table_id);
    buf_le32(to, 0);
    buf_le64(to, t->next_block);
    buf_le64(to, t->rows);
}

void
snap_put_block(ByteBuf *to, const SnapBlock *b)
{
    put_item(to, SNAP_BLOCK);
    buf_le64(to, b->block_id);
    buf_le32(to, b->rows);
    buf_le32(to, b->deleted);
    buf_le32(to, b->open);
    buf_le32(to, 0);
    put_ref(to, &b->bits);
}

void
snap_put_slice(ByteBuf *to, const SnapSlice *s)
{
    put_item(to, SNAP_SLICE);
    buf_u8(to, s->phys);
    buf_u8(to, s->scale);
    buf_u8(to, s->width);
    buf_u8(to, s->flags);
    buf_le32(to, s->null_count);
    buf_le64(to, s->dict_id);
    buf_le64(to, (u64)s->reference);
    buf_le64(to, (u64)s->factor);
    buf_put(to, s->min, sizeof s->min);
    buf_put(to, s->max, sizeof s->max);
    put_ref(to, &s->data);
    put_ref(to, &s->nulls);
    buf_le64(to, 0);
}

void
snap_put_dict(ByteBuf *to, const SnapDict *d)
{
    put_item(to, SNAP_DICT);
    buf_le64(to, d->dict_id);
    buf_le32(to, d->column);
    buf_le32(to, d->current);
    buf_le32(to, d->count);
    buf_le32(to, 0);
}

void
snap_put_texts(ByteBuf *to, const SnapTexts *t)
{
    put_item(to, SNAP_TEXTS);
    buf_le32(to, t->first);
    buf_le32(to, t->count);
    put_ref(to, &t->ref);
}

void
snap_put_catalog(ByteBuf *to, u16 kind, const ByteBuf *payload)
{
    put_head(to, kind, (u32)payload->len);
    buf_put(to, payload->data, payload->len);
    for (size_t i = payload->len; i % 8; i++)
        buf_u8(to, 0);
    to->failed |= payload->failed;
}

/* ---- and back ---- */

static SnapRef
read_ref(ByteReader *r)
{
    SnapRef ref = {.offset = reader_le64(r)};
    ref.bytes = reader_le64(r);
    ref.file = reader_le32(r);
    ref.crc = reader_le32(r);
    return ref;
}

/* A number that can only be 0 or 1. */
static bool
read_flag(ByteReader *r)
{
    u32 n = reader_le32(r);
    r->bad |= n > 1;
    return n == 1;
}

static void
must_be_zero(ByteReader *r, u64 n)
{
    r->bad |= n != 0;
}

static void
read_slice(ByteReader *r, SnapSlice *s)
{
    s->phys = reader_u8(r);
    s->scale = reader_u8(r);
    s->width = reader_u8(r);
    s->flags = reader_u8(r);
    s->null_count = reader_le32(r);
    s->dict_id = reader_le64(r);
    s->reference = (i64)reader_le64(r);
    s->factor = (i64)reader_le64(r);
    const u8 *min = reader_take(r, sizeof s->min), *max = reader_take(r, sizeof s->max);
    if (min && max) {
        memcpy(s->min, min, sizeof s->min);
        memcpy(s->max, max, sizeof s->max);
    }
    s->data = read_ref(r);
    s->nulls = read_ref(r);
    must_be_zero(r, reader_le64(r));
}

/* false: the bytes are none of that kind. */
static bool
decode(const Record *rec, SnapItem *ret)
{
    ByteReader reader = reader_of(rec->payload, rec->len), *r = &reader;
    *ret = (SnapItem){.kind = rec->kind, .record = *rec};
    switch (rec->kind) {
    case SNAP_FILE:
        ret->file.number = reader_le64(r);
        ret->file.bytes = reader_le64(r);
        break;
    case SNAP_TABLE:
        ret->table.table_id = reader_le32(r);
        must_be_zero(r, reader_le32(r));
        ret->table.next_block = reader_le64(r);
        ret->table.rows = reader_le64(r);
        break;
    case SNAP_BLOCK:
        ret->block.block_id = reader_le64(r);
        ret->block.rows = reader_le32(r);
        ret->block.deleted = reader_le32(r);
        ret->block.open = read_flag(r);
        must_be_zero(r, reader_le32(r));
        ret->block.bits = read_ref(r);
        break;
    case SNAP_SLICE:
        read_slice(r, &ret->slice);
        break;
    case SNAP_DICT:
        ret->dict.dict_id = reader_le64(r);
        ret->dict.column = reader_le32(r);
        ret->dict.current = read_flag(r);
        ret->dict.count = reader_le32(r);
        must_be_zero(r, reader_le32(r));
        break;
    case SNAP_TEXTS:
        ret->texts.first = reader_le32(r);
        ret->texts.count = reader_le32(r);
        ret->texts.ref = read_ref(r);
        break;
    default:
        return wal_record_name(rec->kind) != NULL;
    }
    return rec->flags == 0 && reader_done(r);
}

u32
snap_item_refs(const SnapItem *i, SnapRef ret[2])
{
    u32 n = 0;
    if (i->kind == SNAP_BLOCK && i->block.bits.bytes)
        ret[n++] = i->block.bits;
    if (i->kind == SNAP_TEXTS && i->texts.ref.bytes)
        ret[n++] = i->texts.ref;
    if (i->kind == SNAP_SLICE && i->slice.data.bytes)
        ret[n++] = i->slice.data;
    if (i->kind == SNAP_SLICE && i->slice.nulls.bytes)
        ret[n++] = i->slice.nulls;
    return n;
}

bool
snap_next(const SnapToc *t, const u8 **at, SnapItem *ret)
{
    Record rec;
    bool bad;
    return record_next(at, t->body_end, &rec, &bad) && decode(&rec, ret);
}

/* The pieces of the item at the cursor, from the `given`-th on. */
static bool
piece_of_item(SnapCursor *c, SnapPiece *ret)
{
    const SnapItem *i = &c->item;
    for (;;) {
        u32 n = c->given++;
        *ret = (SnapPiece){.key = {.table_id = c->table_id, .id = c->block_id}, .final = !c->open};
        if (i->kind == SNAP_BLOCK && n == 0) {
            ret->key.what = SNAP_BITS;
            ret->ref = i->block.bits;
            ret->final = false;
        } else if (i->kind == SNAP_SLICE && n < 2) {
            ret->key.what = snap_what(c->column, n ? SNAP_NULLS : SNAP_VALUES);
            ret->ref = n ? i->slice.nulls : i->slice.data;
        } else if (i->kind == SNAP_TEXTS && n == 0) {
            ret->key = (SnapKey){c->table_id, snap_what(c->column, SNAP_STRINGS), snap_texts_id(c->block_id, i->texts.first)};
            ret->ref = i->texts.ref;
            ret->final = snap_texts_full(i->texts.count, i->texts.ref.bytes);
        } else {
            return false;
        }
        if (ret->ref.bytes)
            return true;
    }
}

bool
snap_next_piece(SnapCursor *c, SnapPiece *ret)
{
    while (!c->item.kind || !piece_of_item(c, ret)) {
        bool slice = c->item.kind == SNAP_SLICE;
        c->given = 0;
        if (!snap_next(c->toc, &c->at, &c->item))
            return false;
        if (c->item.kind == SNAP_TABLE)
            c->table_id = c->item.table.table_id;
        c->column = c->item.kind == SNAP_SLICE ? c->column + slice : c->item.kind == SNAP_DICT ? c->item.dict.column : c->item.kind == SNAP_TEXTS ? c->column : 0;
        if (c->item.kind == SNAP_BLOCK) {
            c->block_id = c->item.block.block_id;
            c->open = c->item.block.open;
        } else if (c->item.kind == SNAP_DICT) {
            c->block_id = c->item.dict.dict_id;
        }
    }
    return true;
}

/* ---- a whole one ---- */

static bool
refs_lie_inside(const SnapToc *t, const SnapItem *i)
{
    SnapRef refs[2];
    u32 n = snap_item_refs(i, refs);
    for (u32 k = 0; k < n; k++) {
        const SnapRef *r = &refs[k];
        if (r->file >= t->file_count || r->offset < SNAP_PAGE || r->offset % SNAP_PIECE_ALIGN || r->offset > t->files[r->file].bytes ||
            r->bytes > t->files[r->file].bytes - r->offset)
            return false;
    }
    return true;
}

/* Items in an order that makes sense: FILEs, catalog, TABLEs, and what belongs to a table behind it. */
static const char *
check_items(SnapToc *t)
{
    const u8 *at = t->body;
    SnapItem i;
    bool table = false, catalog = false, block = false, dict = false;
    for (Record rec; at < t->body_end;) {
        bool bad;
        if (!record_next(&at, t->body_end, &rec, &bad) || !decode(&rec, &i))
            return "an item of its table of contents is malformed";
        bool of_table = i.kind >= SNAP_BLOCK, in_order = i.kind == SNAP_FILE ? !catalog && !table : i.kind < SNAP_FILE ? !table : !of_table || table;
        in_order &= (i.kind != SNAP_SLICE || block) && (i.kind != SNAP_TEXTS || dict);
        if (!in_order)
            return "the items of its table of contents are out of order";
        table |= i.kind == SNAP_TABLE;
        catalog |= i.kind < SNAP_FILE;
        block = i.kind == SNAP_BLOCK || (block && i.kind == SNAP_SLICE);
        dict = i.kind == SNAP_DICT || (dict && i.kind == SNAP_TEXTS);
        if (i.kind == SNAP_FILE) {
            SnapFile *more = realloc(t->files, (t->file_count + 1) * sizeof *more);
            if (!more)
                return "no memory for its files";
            t->files = more;
            t->files[t->file_count++] = i.file;
        }
        if (!refs_lie_inside(t, &i))
            return "a piece lies outside of its file";
        SnapRef refs[2];
        for (u32 n = snap_item_refs(&i, refs); n-- > 0;)
            t->piece_bytes += refs[n].bytes;
    }
    return NULL;
}

static const char *
check_toc(SnapToc *t, u64 size, u64 number, u64 database_id)
{
    u64 body_bytes;
    u32 crc;
    if (size < SNAP_PAGE + 8 || size % SNAP_PAGE)
        return "it is cut";
    const char *reason = snap_toc_head_read(t->bytes, &t->head, &body_bytes, &crc);
    if (reason)
        return reason;
    if (t->head.number != number || (database_id && t->head.database_id != database_id))
        return "it belongs to another snapshot or database";
    if (body_bytes % 8 || body_bytes > size - SNAP_PAGE - 8 || ALIGN_UP(SNAP_PAGE + body_bytes + 8, (u64)SNAP_PAGE) != size)
        return "it is cut";
    t->body = t->bytes + SNAP_PAGE;
    t->body_end = t->body + body_bytes;
    if (get_le64(t->bytes + size - 8) != SNAP_END_MAGIC || !wal_is_zero(t->body_end, (size_t)(t->bytes + size - 8 - t->body_end)))
        return "its end is missing";
    return crc32c(0, t->body, body_bytes) == crc ? check_items(t) : "the checksum of its table of contents is wrong";
}

bool
snap_toc_read(Io *io, int dir_fd, u64 number, u64 database_id, SnapToc *ret, Error *err)
{
    char name[SNAP_NAME_BYTES];
    *ret = (SnapToc){0};
    snap_toc_name(name, number);
    int fd = io_open(io, IO_SNAP_READ, dir_fd, name, IO_READ);
    if (fd < 0)
        return snap_failed(err, fd, "open", name);
    i64 size = io_size(io, IO_SNAP_READ, fd), n = size;
    if (size > 0) {
        ret->bytes = malloc((size_t)size);
        n = ret->bytes ? io_read(io, IO_SNAP_READ, fd, ret->bytes, (size_t)size, 0) : -ENOMEM;
    }
    (void)io_close(io, fd);
    if (n < 0) {
        snap_toc_free(ret);
        return snap_failed(err, (int)n, "read", name);
    }
    ret->toc_bytes = (u64)n;
    const char *reason = check_toc(ret, (u64)n, number, database_id);
    if (!reason)
        return true;
    snap_toc_free(ret);
    return snap_damaged(err, name, 0, reason);
}

void
snap_toc_free(SnapToc *t)
{
    free(t->bytes);
    free(t->files);
    *t = (SnapToc){0};
}
