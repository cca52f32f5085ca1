/*
 * key.c
 *    Keys: hashing, comparing, and finding the visible row of a key.
 *
 * key_find walks the candidates of a hash and takes the one whose block is in the snapshot's directory, whose row is below its count, whose values
 * are equal and which is not deleted at the snapshot's version. At most one can be: the walwriter judged that. Rows in a transaction's staging block are in
 * no index of the world; the transaction has one of its own. Only reads.
 */
#include "common/store/own_table.h"
#include "common/base/hash.h"
#include "common/type/numeric.h"

static u64
float_bits(double v)
{
    u64 bits;
    if (v != v)
        return 0x7ff8000000000000ull;
    v += 0.0; /* -0 becomes 0 */
    memcpy(&bits, &v, sizeof bits);
    return bits;
}

u64
key_hash_element(PhysType p, const void *element)
{
    switch (p) {
    case PHYS_BOOL: return hash_u64(*(const u8 *)element);
    case PHYS_I16: return hash_u64((u64)(i64) * (const i16 *)element);
    case PHYS_I32: return hash_u64((u64)(i64) * (const i32 *)element);
    case PHYS_I64:
    case PHYS_D64: return hash_u64(*(const u64 *)element);
    case PHYS_F32: return hash_u64(float_bits((double)*(const float *)element));
    case PHYS_F64: return hash_u64(float_bits(*(const double *)element));
    case PHYS_D128: {
        u64 half[2];
        memcpy(half, element, sizeof half);
        return hash_combine(hash_u64(half[0]), half[1]);
    }
    case PHYS_NUM: return num_hash(element);
    case PHYS_PAIR: return hash_combine(hash_u64(((const Pair *)element)->hi), ((const Pair *)element)->lo);
    case PHYS_INTERVAL: {
        i128 span = interval_span(element);
        return hash_combine(hash_u64((u64)span), (u64)(span >> 64));
    }
    case PHYS_STR: return hash_bytes(((const Str *)element)->ptr, ((const Str *)element)->len);
    case PHYS_COUNT: break;
    }
    ensure(!"physical type");
    return 0;
}

bool
key_elements_equal(PhysType p, const void *a, const void *b)
{
    switch (p) {
    case PHYS_F32: return float_bits((double)*(const float *)a) == float_bits((double)*(const float *)b);
    case PHYS_F64: return float_bits(*(const double *)a) == float_bits(*(const double *)b);
    case PHYS_NUM: return num_cmp(a, b) == 0;
    case PHYS_INTERVAL: return interval_cmp(a, b) == 0;
    case PHYS_STR: return str_eq(*(const Str *)a, *(const Str *)b);
    case PHYS_BOOL: case PHYS_I16: case PHYS_I32: case PHYS_I64: case PHYS_D64: case PHYS_D128: case PHYS_PAIR: case PHYS_COUNT: break;
    }
    return memcmp(a, b, phys_width(p)) == 0;
}

u64
key_hash_add(u64 h, u64 column_hash)
{
    return hash_combine(h, column_hash);
}

bool
key_hash_stored(const BlockShm *b, const KeyDef *k, u32 offset, u64 *ret_hash)
{
    u64 h = key_hash_first();
    for (u32 i = 0; i < k->column_count; i++) {
        const SliceShm *s = &b->slices[k->columns[i]];
        if (slice_null(b, s, offset))
            return false;
        _Alignas(16) u8 element[24];
        slice_load(s, offset, element);
        u32 code;
        memcpy(&code, element, sizeof code);
        h = key_hash_add(h, s->phys == PHYS_STR ? dict_hash(s->dict, code) : key_hash_element((PhysType)s->phys, element));
    }
    *ret_hash = h;
    return true;
}

bool
key_stored_equal(const BlockShm *b, const KeyDef *k, u32 offset, const void *const *elements)
{
    for (u32 i = 0; i < k->column_count; i++) {
        const SliceShm *s = &b->slices[k->columns[i]];
        if (slice_null(b, s, offset))
            return false;
        _Alignas(16) u8 element[24];
        slice_load(s, offset, element);
        if (s->phys == PHYS_STR) {
            u32 code;
            memcpy(&code, element, sizeof code);
            if (!str_eq(dict_str(s->dict, code), *(const Str *)elements[i]))
                return false;
        } else if (!key_elements_equal((PhysType)s->phys, element, elements[i])) {
            return false;
        }
    }
    return true;
}

/* Physical elements of key values; false when one is NULL. */
static bool
key_elements(const TableDef *d, const KeyDef *k, const Value *values, u8 (*store)[32], const void **elements)
{
    for (u32 i = 0; i < k->column_count; i++) {
        const ColumnDef *c = &d->columns[k->columns[i]];
        if (values[i].is_null)
            return false;
        value_to_phys(&values[i], (PhysType)c->phys, c->scale, store[i]);
        elements[i] = store[i];
    }
    return true;
}

static u64
hash_elements(const TableDef *d, const KeyDef *k, const void *const *elements)
{
    u64 h = key_hash_first();
    for (u32 i = 0; i < k->column_count; i++)
        h = key_hash_add(h, key_hash_element((PhysType)d->columns[k->columns[i]].phys, elements[i]));
    return h;
}

typedef struct KeyElements {
    _Alignas(16) u8 store[MAX_KEY_COLUMNS][32];
    const void *at[MAX_KEY_COLUMNS];
} KeyElements;

u64
key_hash_values(const TableDef *d, u32 key, const Value *values)
{
    KeyElements e;
    const KeyDef *k = &d->keys[key];
    return key_elements(d, k, values, e.store, e.at) ? hash_elements(d, k, e.at) : 0;
}

void
key_prefetch(const TableShm *t, u32 key, u64 hash)
{
    index_prefetch(&t->keys[key], hash);
}

bool
key_find(const Snapshot *s, const TableShm *t, u32 key, const Value *values, RowId *ret)
{
    KeyElements e;
    const KeyDef *k = &t->def->keys[key];
    if (!key_elements(t->def, k, values, e.store, e.at))
        return false;
    u64 id, hash = hash_elements(t->def, k, e.at);
    if (UNLIKELY(t->own != NULL) && own_key_find(t, key, hash, e.at, ret))
        return true;
    IndexCursor c = index_find(&t->keys[key], hash);
    while (index_next(&c, &id)) {
        BlockView b;
        if (!block_locate(t, id, &b))
            continue;
        const BlockShm *block = (const BlockShm *)(const void *)((const u8 *)b.slices - offsetof(BlockShm, slices));
        if (!key_stored_equal(block, k, ROW_OFFSET(id), e.at) || row_deleted(&b, ROW_OFFSET(id), s->version))
            continue;
        *ret = id;
        return true;
    }
    return false;
}
