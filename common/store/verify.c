/*
 * verify.c
 *    Walk everything a snapshot reaches and compare it with the rules of the store; digests.
 *
 * Levels: heads (root, trees, definitions), structure (counts, slots, slices, index directories), contents (codes, min/max, NULL counts, every dictionary
 * text found by its code, every live row found by its keys and by no other row). Reads only what a reader may: it runs beside the writer.
 * The first fault ends it with XX001 and says where.
 */
#include "common/base/hash.h"
#include "common/store/key.h"
#include "common/type/numeric.h"

#include <stdlib.h>

typedef struct Verify {
    const Snapshot *s;
    VerifyLevel level;
    const TableShm *t;
    u64 block;
    u32 tables;
    bool ok;
    u64 *bits;
    Error *err;
} Verify;

static bool
fault(Verify *v, const char *what, u64 detail)
{
    if (v->t)
        error_set(v->err, ERR_DATA_CORRUPTED, "verify: %s (%llu) in table \"%.*s\", block %llu", what, (unsigned long long)detail,
                  (int)v->t->def->name.len, v->t->def->name.ptr, (unsigned long long)v->block);
    else
        error_set(v->err, ERR_DATA_CORRUPTED, "verify: %s (%llu)", what, (unsigned long long)detail);
    return v->ok = false;
}

#define MUST(condition, what, detail)                                                                                                      \
    do {                                                                                                                                   \
        if (!(condition))                                                                                                                  \
            return fault(v, what, (u64)(detail));                                                                                          \
    } while (0)

/* ---- indexes and dictionaries ---- */

static bool
verify_index(Verify *v, const IndexShm *x)
{
    const IndexDirShm *d = observe_ptr(&x->pub_dir);
    MUST(d && d->depth < 32, "depth of an index", d ? d->depth : 0);
    for (u64 i = 0; i < (u64)1 << d->depth;) {
        const IndexSegmentShm *s = d->segments[i];
        MUST(s && s->depth <= d->depth && s->line_bits < 32, "segment of an index", i);
        u64 span = (u64)1 << (d->depth - s->depth);
        MUST(i % span == 0, "places of a segment", i);
        for (u64 k = i; k < i + span; k++)
            MUST(d->segments[k] == s, "places of a segment", k);
        u32 empty = 0;
        for (u32 line = 0; line < 1u << s->line_bits; line++)
            for (u32 e = 0; e < INDEX_LINE_ENTRIES; e++)
                empty += observe_u64(&s->lines[line].pub_entry[e]) == 0;
        MUST(empty > 0, "a segment without an empty entry", i);
        i += span;
    }
    return true;
}

static bool
verify_dict(Verify *v, const DictShm *d)
{
    if (!verify_index(v, &d->index))
        return false;
    u32 count = dict_count(d);
    for (u32 code = 0; code < count && v->level >= VERIFY_CONTENTS; code++) {
        Str s = dict_str(d, code);
        MUST(dict_hash(d, code) == hash_bytes(s.ptr, s.len), "hash of a text", code);
        MUST(dict_find(d, s) == code, "code of a text", code);
    }
    return true;
}

/* ---- slices ---- */

/* min <= x <= max; elements are comparable (no NaN where there is a min/max). */
static bool
within(PhysType p, const void *x, const void *min, const void *max)
{
#define WITHIN(T) (*(const T *)min <= *(const T *)x && *(const T *)x <= *(const T *)max)
    switch (p) {
    case PHYS_BOOL: return WITHIN(u8);
    case PHYS_I16: return WITHIN(i16);
    case PHYS_I32: return WITHIN(i32);
    case PHYS_I64:
    case PHYS_D64: return WITHIN(i64);
    case PHYS_F32: return WITHIN(float);
    case PHYS_F64: return WITHIN(double);
    case PHYS_D128: {
        i128 a, b, c;
        memcpy(&a, min, sizeof a);
        memcpy(&b, x, sizeof b);
        memcpy(&c, max, sizeof c);
        return a <= b && b <= c;
    }
    case PHYS_NUM: return num_cmp(min, x) <= 0 && num_cmp(x, max) <= 0;
    case PHYS_PAIR: return pair_cmp(min, x) <= 0 && pair_cmp(x, max) <= 0;
    case PHYS_INTERVAL: return interval_cmp(min, x) <= 0 && interval_cmp(x, max) <= 0;
    case PHYS_STR: case PHYS_COUNT: break;
    }
    return false;
}

static bool
verify_values(Verify *v, const BlockShm *b, const SliceShm *s, u32 rows)
{
    u32 nulls = 0, codes = s->dict ? dict_count(s->dict) : 0;
    for (u32 i = 0; i < rows; i++) {
        _Alignas(16) u8 element[24];
        slice_load(s, i, element);
        bool null = slice_null(b, s, i);
        nulls += null;
        if (s->phys == PHYS_STR) {
            u32 code;
            memcpy(&code, element, sizeof code);
            MUST(code < codes, "code out of range", i);
        } else if (s->flags & SLICE_MINMAX && !null) {
            MUST(within((PhysType)s->phys, element, s->min, s->max), "value outside min and max", i);
        }
    }
    MUST(!b->sealed || rows < b->row_count || nulls == s->null_count, "count of NULLs", nulls);
    return true;
}

static bool
verify_slices(Verify *v, const BlockShm *b, u32 rows)
{
    const TableDef *def = v->t->def;
    MUST(b->column_count == def->column_count && b->capacity >= rows, "size of a block", b->capacity);
    for (u32 c = 0; c < b->column_count; c++) {
        const SliceShm *s = &b->slices[c];
        u32 plain = phys_stored((PhysType)def->columns[c].phys);
        MUST(s->data && s->phys == def->columns[c].phys && s->scale == def->columns[c].scale, "slice of column", c);
        MUST(s->flags & SLICE_FROZEN ? s->width <= 8 && s->width <= plain : s->width == plain, "width of column", c);
        MUST((s->phys == PHYS_STR) == (s->dict != NULL), "dictionary of column", c);
        MUST(b->sealed || !(s->flags & SLICE_MINMAX), "min and max of the open block, column", c);
        MUST(!def->columns[c].not_null || !s->nulls, "NULLs in a NOT NULL column", c);
        if (v->level >= VERIFY_CONTENTS && !verify_values(v, b, s, rows))
            return false;
    }
    return true;
}

/* ---- rows and keys ---- */

static void
load_key(const BlockShm *b, const KeyDef *k, u32 offset, u8 (*store)[32], const void **elements)
{
    for (u32 i = 0; i < k->column_count; i++) {
        const SliceShm *s = &b->slices[k->columns[i]];
        slice_load(s, offset, store[i]);
        elements[i] = store[i];
        if (s->phys == PHYS_STR) {
            u32 code;
            memcpy(&code, store[i], sizeof code);
            Str text = dict_str(s->dict, code);
            memcpy(store[i], &text, sizeof text);
        }
    }
}

/* Exactly this row is found by its key. */
static bool
verify_key(Verify *v, const BlockShm *b, u32 key, RowId id)
{
    _Alignas(16) u8 store[MAX_KEY_COLUMNS][32];
    const void *elements[MAX_KEY_COLUMNS];
    const KeyDef *k = &v->t->def->keys[key];
    u64 hash, found;
    bool here = false;
    if (!key_hash_stored(b, k, ROW_OFFSET(id), &hash))
        return true;
    load_key(b, k, ROW_OFFSET(id), store, elements);
    IndexCursor c = index_find(&v->t->keys[key], hash);
    while (index_next(&c, &found)) {
        BlockView other;
        if (found == id) {
            MUST(!here, "key entered twice, row", id);
            here = true;
            continue;
        }
        if (!block_locate(v->t, found, &other) || row_deleted(&other, ROW_OFFSET(found), v->s->version))
            continue;
        const BlockShm *ob = (const BlockShm *)(const void *)((const u8 *)other.slices - offsetof(BlockShm, slices));
        MUST(!key_stored_equal(ob, k, ROW_OFFSET(found), elements), "key of two rows, row", id);
    }
    MUST(here, "row not found by its key, row", id);
    return true;
}

static bool
verify_block(Verify *v, const BlockView *view, u64 *ret_deleted)
{
    const BlockShm *b = (const BlockShm *)(const void *)((const u8 *)view->slices - offsetof(BlockShm, slices));
    u32 deleted = 0;
    v->block = view->block_id;
    MUST(view->slot->block_id == view->block_id && view->row_count > 0 && view->row_count <= BLOCK_ROWS, "rows of a block", view->row_count);
    MUST(view->block_id == v->t->open_block || view->sealed, "a block neither open nor sealed", view->block_id);
    if (!verify_slices(v, b, view->row_count))
        return false;
    bool any = block_deleted(view, v->s->version, v->bits, &deleted);
    *ret_deleted += any ? deleted : 0;
    if (v->level < VERIFY_CONTENTS)
        return true;
    for (u32 i = 0; i < view->row_count; i++) {
        bool gone = any && v->bits[i >> 6] >> (i & 63) & 1;
        MUST(gone == row_deleted(view, i, v->s->version), "delete mark of row", i);
        for (u32 k = 0; k < v->t->def->key_count && !gone; k++)
            if (!verify_key(v, b, k, ROW_ID(view->block_id, i)))
                return false;
    }
    return true;
}

/* ---- tables ---- */

static bool
verify_def(Verify *v, const TableDef *d)
{
    MUST(d->table_id >= FIRST_TABLE_ID && d->table_id < v->s->root->next_table_id, "id of a table", d->table_id);
    MUST(d->column_count <= MAX_COLUMNS && d->name.len > 0, "columns of a table", d->column_count);
    for (u32 k = 0; k < d->key_count; k++)
        for (u32 i = 0; i < d->keys[k].column_count; i++)
            MUST(d->keys[k].columns[i] < d->column_count, "column of key", k);
    const TableDef *by_name = catalog_find_table(v->s->root, d->name);
    MUST(by_name == d, "table not found by its name", d->table_id);
    MUST(catalog_table(v->s->root, d->table_id) == d, "table not found by its id", d->table_id);
    return true;
}

static bool
verify_blocks(Verify *v)
{
    u64 rows = 0, deleted = 0;
    for (u32 place = 0; place < table_block_count(v->t); place++) {
        BlockView b;
        if (!block_view(v->t, place, &b))
            continue;
        rows += b.row_count;
        if (!verify_block(v, &b, &deleted))
            return false;
    }
    v->block = 0;
    MUST(rows == v->t->row_count, "row count of a table", rows);
    MUST(deleted <= v->t->deleted_count, "deleted count of a table", deleted);
    return true;
}

static bool
verify_table(void *ctx, const TableDef *d)
{
    Verify *v = ctx;
    v->t = NULL;
    v->tables++;
    if (!verify_def(v, d))
        return false;
    v->t = store_table(v->s->root, d->table_id);
    v->block = 0;
    if (v->level < VERIFY_STRUCTURE)
        return true;
    if (v->t->epoch > v->s->root->epoch)
        return fault(v, "epoch of a table", v->t->epoch);
    for (u32 c = 0; c < d->column_count; c++)
        if (d->columns[c].phys == PHYS_STR && !verify_dict(v, table_dict(v->t, c)))
            return false;
    for (u32 k = 0; k < d->key_count; k++)
        if (!verify_index(v, &v->t->keys[k]))
            return false;
    return verify_blocks(v);
}

bool
store_verify(const Snapshot *s, VerifyLevel level, Error *err)
{
    Verify verify = {.s = s, .level = level, .ok = true, .err = err}, *v = &verify;
    const Snapshot published = {.root = s->root ? s->root->published : NULL, .version = s->version, .epoch = s->epoch};
    if (published.root) /* a transaction's private root has rows that no index has */
        v->s = &published;
    if (!s->root)
        return error_set(err, ERR_DATA_CORRUPTED, "verify: nothing is published");
    MUST(v->s->root->version == s->version && v->s->root->epoch == s->epoch, "epoch of the root", v->s->root->epoch);
    v->bits = malloc(BITMAP_BYTES);
    if (!v->bits)
        return error_set(err, ERR_OUT_OF_MEMORY, "out of memory");
    catalog_each_table(v->s->root, verify_table, v);
    free(v->bits);
    v->t = NULL;
    if (v->ok && v->tables != v->s->root->table_count)
        return fault(v, "count of tables", v->tables);
    return v->ok;
}

/* ---- digest ---- */

static u64
value_digest(const BlockShm *b, const SliceShm *s, u32 offset)
{
    if (slice_null(b, s, offset))
        return 0x6e756c6cu;
    _Alignas(16) u8 element[24];
    slice_load(s, offset, element);
    u32 code;
    memcpy(&code, element, sizeof code);
    return s->phys == PHYS_STR ? dict_hash(s->dict, code) : key_hash_element((PhysType)s->phys, element);
}

u64
store_digest(const Snapshot *s, const TableShm *t, u64 *ret_columns)
{
    u64 sum = 0, bits[BLOCK_WORDS];
    u32 columns = t->def->column_count, deleted;
    for (u32 c = 0; ret_columns && c < columns; c++)
        ret_columns[c] = 0;
    for (u32 place = 0; place < table_block_count(t); place++) {
        BlockView view;
        if (!block_view(t, place, &view))
            continue;
        const BlockShm *b = (const BlockShm *)(const void *)((const u8 *)view.slices - offsetof(BlockShm, slices));
        bool any = block_deleted(&view, s->version, bits, &deleted);
        for (u32 i = 0; i < view.row_count; i++) {
            if (any && bits[i >> 6] >> (i & 63) & 1)
                continue;
            u64 row = 0;
            for (u32 c = 0; c < columns; c++) {
                u64 h = value_digest(b, &b->slices[c], i);
                row = hash_combine(row, h);
                if (ret_columns)
                    ret_columns[c] += hash_u64(h);
            }
            sum += hash_u64(row);
        }
    }
    return sum;
}
