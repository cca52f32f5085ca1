/*
 * keytable.c
 *    The key table: open addressing over dense numbers, keys kept column by column.
 *
 * A slot holds 32 bits of the hash beside the number, so that most misses never look at a key. Hashing runs over whole vectors, then the slots of
 * rows ahead are prefetched while earlier ones are compared.
 */
#include "backend/exec/keytable.h"

#include <math.h>

#include "common/base/hash.h"
#include "common/type/numeric.h"

enum { FIRST_KEYS = 64, PREFETCH_AHEAD = 12 };

u32
key_class_width(KeyClass c)
{
    switch (c) {
    case KEY_NUM: return sizeof(Num);
    case KEY_TEXT: return sizeof(Str);
    case KEY_PAIR: return sizeof(Pair);
    case KEY_INTERVAL: return sizeof(Interval);
    case KEY_INT: case KEY_FLOAT: break;
    }
    return 8;
}

/* ---- forms ---- */

static void
widen(const Vec *v, u32 count, i64 *to)
{
    switch (v->phys) {
    case PHYS_BOOL:
        for (u32 i = 0; i < count; i++)
            to[i] = ((const u8 *)v->data)[i];
        break;
    case PHYS_I16:
        for (u32 i = 0; i < count; i++)
            to[i] = ((const i16 *)v->data)[i];
        break;
    default:
        for (u32 i = 0; i < count; i++)
            to[i] = ((const i32 *)v->data)[i];
        break;
    }
}

/* One NaN and one zero. */
static u64
canonical_bits(double d)
{
    u64 bits;
    if (isnan(d))
        d = (double)NAN;
    if (d == 0)
        d = 0;
    memcpy(&bits, &d, 8);
    return bits;
}

static void
to_doubles(const Vec *v, u32 count, double *to)
{
    for (u32 i = 0; i < count; i++)
        to[i] = (double)((const float *)v->data)[i];
}

static void
to_nums(const Vec *v, u32 count, Num *to)
{
    for (u32 i = 0; i < count; i++) {
        if (VEC_NULL(v, i)) {
            to[i] = num_make(0, 0);
            continue;
        }
        switch (v->phys) {
        case PHYS_D64: {
            i64 x = ((const i64 *)v->data)[i];
            to[i] = x == D64_NAN ? (Num){.kind = NUM_NAN} : num_make(x, v->scale);
            break;
        }
        case PHYS_D128: {
            i128 x = ((const i128 *)v->data)[i];
            to[i] = x == D128_NAN ? (Num){.kind = NUM_NAN} : num_make(x, v->scale);
            break;
        }
        case PHYS_NUM:
            to[i] = ((const Num *)v->data)[i];
            break;
        case PHYS_BOOL: to[i] = num_make(((const u8 *)v->data)[i], 0); break;
        case PHYS_I16: to[i] = num_make(((const i16 *)v->data)[i], 0); break;
        case PHYS_I32: to[i] = num_make(((const i32 *)v->data)[i], 0); break;
        default: to[i] = num_make(((const i64 *)v->data)[i], 0); break;
        }
    }
}

void
key_form(KeyForm *f, Worker *w, Vec *v, u32 count, KeyVec *ret)
{
    vec_flatten(w->arena, v, count, &f->flat);
    *ret = (KeyVec){f->class, v->data, v->null_mask};
    if (f->class == KEY_TEXT) {
        vec_decode(w->arena, v, count, &f->text);
        ret->data = v->data;
        return;
    }
    if (f->class == KEY_PAIR || f->class == KEY_INTERVAL)
        return;
    if (f->class == KEY_INT && (v->phys == PHYS_I64 || v->phys == PHYS_D64))
        return;
    if ((f->class == KEY_NUM && v->phys == PHYS_NUM) || (f->class == KEY_FLOAT && v->phys == PHYS_F64))
        return;
    if (!f->wide)
        f->wide = arena_alloc(w->arena, (size_t)VEC_SIZE * key_class_width(f->class));
    ret->data = f->wide;
    if (f->class == KEY_INT)
        widen(v, count, f->wide);
    else if (f->class == KEY_FLOAT)
        to_doubles(v, count, f->wide);
    else
        to_nums(v, count, f->wide);
}

static inline u64
hash_one(const KeyVec *k, u32 i)
{
    if (k->nulls && k->nulls[i])
        return 0x9ae16a3b2f90404full;
    switch (k->class) {
    case KEY_TEXT: {
        Str s = ((const Str *)k->data)[i];
        return hash_bytes(s.ptr, s.len);
    }
    case KEY_NUM:
        return hash_u64(num_hash(&((const Num *)k->data)[i]));
    case KEY_PAIR: {
        const Pair *p = &((const Pair *)k->data)[i];
        return hash_combine(hash_u64(p->hi), p->lo);
    }
    case KEY_INTERVAL: {
        i128 span = interval_span(&((const Interval *)k->data)[i]);
        return hash_combine(hash_u64((u64)span), (u64)(span >> 64));
    }
    case KEY_FLOAT:
        return hash_u64(canonical_bits(((const double *)k->data)[i]));
    default:
        return hash_u64(((const u64 *)k->data)[i] + 0x9e3779b97f4a7c15ull);
    }
}

void
key_hash(const KeyVec *keys, u32 key_count, u32 count, u64 *hashes)
{
    if (!key_count)
        memset(hashes, 0, count * sizeof *hashes);
    for (u32 k = 0; k < key_count; k++) {
        const KeyVec *key = &keys[k];
        if (k)
            for (u32 i = 0; i < count; i++)
                hashes[i] = hash_combine(hashes[i], hash_one(key, i));
        else
            for (u32 i = 0; i < count; i++)
                hashes[i] = hash_one(key, i);
    }
}

/* ---- the table ---- */

void
keytable_init(KeyTable *t, Worker *w, u32 key_count, const KeyClass *classes, const bool *copy_text)
{
    *t = (KeyTable){.worker = w, .key_count = key_count};
    t->columns = ARENA_ARRAY(w->arena, KeyColumn, key_count);
    for (u32 i = 0; i < key_count; i++) {
        t->columns[i].class = classes[i];
        t->columns[i].copy_text = copy_text && copy_text[i];
    }
}

static void
set_slot(KeyTable *t, u64 hash, u32 number)
{
    u32 mask = t->slot_count - 1, at = (u32)hash & mask;
    while (t->slots[at])
        at = (at + 1) & mask;
    t->slots[at] = (hash & 0xffffffff00000000ull) | (number + 1);
}

static void
grow(KeyTable *t)
{
    u32 old = t->capacity, capacity = old ? old * 2 : FIRST_KEYS;
    if (capacity > (1u << 30))
        err_throw(ERR_PROGRAM_LIMIT_EXCEEDED, "too many groups or join keys");
    Worker *w = t->worker;
    for (u32 c = 0; c < t->key_count; c++) {
        KeyColumn *k = &t->columns[c];
        u64 width = key_class_width(k->class);
        k->data = exec_grow(w, k->data, old * width, capacity * width);
        if (k->nulls)
            k->nulls = exec_grow(w, k->nulls, old, capacity);
    }
    t->hashes = exec_grow(w, t->hashes, old * 8ull, capacity * 8ull);
    exec_free(w, t->slots, t->slot_count * 8ull);
    t->capacity = capacity;
    t->slot_count = capacity * 2;
    t->slots = exec_alloc(w, t->slot_count * 8ull);
    for (u32 i = 0; i < t->count; i++)
        set_slot(t, t->hashes[i], i);
}

static inline bool
column_equal(const KeyColumn *c, u32 number, const KeyVec *k, u32 i)
{
    bool a = c->nulls && c->nulls[number], b = k->nulls && k->nulls[i];
    if (a || b)
        return a && b;
    switch (c->class) {
    case KEY_TEXT:
        return str_eq(((const Str *)c->data)[number], ((const Str *)k->data)[i]);
    case KEY_NUM:
        return num_cmp(&((const Num *)c->data)[number], &((const Num *)k->data)[i]) == 0;
    case KEY_PAIR:
        return pair_cmp(&((const Pair *)c->data)[number], &((const Pair *)k->data)[i]) == 0;
    case KEY_INTERVAL:
        return interval_cmp(&((const Interval *)c->data)[number], &((const Interval *)k->data)[i]) == 0;
    case KEY_FLOAT:
        return canonical_bits(((const double *)c->data)[number]) == canonical_bits(((const double *)k->data)[i]);
    default:
        return ((const u64 *)c->data)[number] == ((const u64 *)k->data)[i];
    }
}

static inline bool
keys_equal(const KeyTable *t, u32 number, const KeyVec *keys, u32 i)
{
    for (u32 c = 0; c < t->key_count; c++)
        if (!column_equal(&t->columns[c], number, &keys[c], i))
            return false;
    return true;
}

static void
store_key(KeyTable *t, u32 number, const KeyVec *keys, u32 i)
{
    for (u32 c = 0; c < t->key_count; c++) {
        KeyColumn *k = &t->columns[c];
        const KeyVec *from = &keys[c];
        if (from->nulls && from->nulls[i]) {
            if (!k->nulls)
                k->nulls = exec_alloc(t->worker, t->capacity);
            k->nulls[number] = 1;
            if (k->class == KEY_TEXT)
                ((Str *)k->data)[number] = (Str){"", 0};
            continue;
        }
        switch (k->class) {
        case KEY_TEXT: {
            Str s = ((const Str *)from->data)[i];
            ((Str *)k->data)[number] = k->copy_text ? arena_str(t->worker->arena, s) : s;
            break;
        }
        case KEY_NUM:
            ((Num *)k->data)[number] = ((const Num *)from->data)[i];
            break;
        case KEY_PAIR:
            ((Pair *)k->data)[number] = ((const Pair *)from->data)[i];
            break;
        case KEY_INTERVAL:
            ((Interval *)k->data)[number] = ((const Interval *)from->data)[i];
            break;
        default:
            ((u64 *)k->data)[number] = ((const u64 *)from->data)[i];
            break;
        }
    }
}

static inline u32
find_one(const KeyTable *t, const KeyVec *keys, u64 hash, u32 i, u32 *ret_at)
{
    u32 mask = t->slot_count - 1, at = (u32)hash & mask;
    for (;; at = (at + 1) & mask) {
        u64 slot = t->slots[at];
        if (!slot)
            break;
        if ((slot ^ hash) >> 32 == 0 && keys_equal(t, (u32)slot - 1, keys, i))
            return (u32)slot - 1;
    }
    *ret_at = at;
    return UINT32_MAX;
}

void
keytable_add(KeyTable *t, const KeyVec *keys, const u64 *hashes, u32 count, u32 *numbers)
{
    for (u32 i = 0; i < count; i++) {
        if (t->count == t->capacity)
            grow(t);
        if (i + PREFETCH_AHEAD < count)
            __builtin_prefetch(&t->slots[(u32)hashes[i + PREFETCH_AHEAD] & (t->slot_count - 1)]);
        u32 at = 0, number = find_one(t, keys, hashes[i], i, &at);
        if (number == UINT32_MAX) {
            number = t->count++;
            t->slots[at] = (hashes[i] & 0xffffffff00000000ull) | (number + 1);
            t->hashes[number] = hashes[i];
            store_key(t, number, keys, i);
        }
        numbers[i] = number;
    }
}

void
keytable_find(const KeyTable *t, const KeyVec *keys, const u64 *hashes, u32 count, u32 *numbers)
{
    for (u32 i = 0; i < count; i++) {
        if (t->slot_count && i + PREFETCH_AHEAD < count)
            __builtin_prefetch(&t->slots[(u32)hashes[i + PREFETCH_AHEAD] & (t->slot_count - 1)]);
        bool null = false;
        for (u32 c = 0; c < t->key_count; c++)
            null = null || (keys[c].nulls && keys[c].nulls[i]);
        u32 at;
        numbers[i] = null || !t->count ? UINT32_MAX : find_one(t, keys, hashes[i], i, &at);
    }
}

KeyVec
keytable_keys(const KeyTable *t, u32 column, u32 first)
{
    const KeyColumn *c = &t->columns[column];
    return (KeyVec){c->class, (const u8 *)c->data + (size_t)first * key_class_width(c->class), c->nulls ? c->nulls + first : NULL};
}

void
keytable_free(KeyTable *t)
{
    Worker *w = t->worker;
    for (u32 c = 0; c < t->key_count; c++) {
        exec_free(w, t->columns[c].data, t->capacity * (u64)key_class_width(t->columns[c].class));
        exec_free(w, t->columns[c].nulls, t->columns[c].nulls ? t->capacity : 0);
    }
    exec_free(w, t->hashes, t->capacity * 8ull);
    exec_free(w, t->slots, t->slot_count * 8ull);
    *t = (KeyTable){0};
}

void
key_to_vec(Arena *a, const KeyVec *k, u32 count, PhysType phys, u8 scale, VecBuf *buf, Vec *ret)
{
    vecbuf_need(a, buf, phys, VEC_SIZE);
    *ret = (Vec){.phys = phys, .scale = scale, .data = buf->data, .null_mask = (u8 *)(uintptr_t)k->nulls};
    const i64 *ints = k->data;
    switch (phys) {
    case PHYS_BOOL:
        for (u32 i = 0; i < count; i++)
            ((u8 *)buf->data)[i] = (u8)ints[i];
        break;
    case PHYS_I16:
        for (u32 i = 0; i < count; i++)
            ((i16 *)buf->data)[i] = (i16)ints[i];
        break;
    case PHYS_I32:
        for (u32 i = 0; i < count; i++)
            ((i32 *)buf->data)[i] = (i32)ints[i];
        break;
    case PHYS_F32:
        for (u32 i = 0; i < count; i++)
            ((float *)buf->data)[i] = (float)((const double *)k->data)[i];
        break;
    case PHYS_D128:
        for (u32 i = 0; i < count; i++) {
            const Num *n = &((const Num *)k->data)[i];
            ((i128 *)buf->data)[i] = n->kind == NUM_NAN ? D128_NAN : num_int(n);
        }
        break;
    default: /* the key form is the physical form: I64, F64, D64, NUM, STR, PAIR, INTERVAL */
        ret->data = (void *)(uintptr_t)k->data;
        break;
    }
}
