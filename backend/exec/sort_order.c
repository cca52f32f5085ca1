/*
 * sort_order.c
 *    The order of rows: images of single values, comparison by all keys, merge sort, selection.
 *
 * PostgreSQL's order: NaN above every number, text by bytes, NULLs where the key says. Most comparisons end at the image.
 */
#include "backend/exec/sort.h"

#include <math.h>

#include "common/type/numeric.h"

enum { SMALL_RUN = 16 };
#define SIGN_BIT (1ull << 63)

bool
sort_has_image(PhysType phys)
{
    return phys != PHYS_STR;
}

static u64
float_image(double d)
{
    u64 bits;
    if (isnan(d))
        return UINT64_MAX;
    if (d == 0)
        d = 0;
    memcpy(&bits, &d, 8);
    return bits & SIGN_BIT ? ~bits : bits | SIGN_BIT;
}

static u64
text_image(Str s)
{
    u64 w = 0;
    if (s.len) /* the text of a NULL may point nowhere */
        memcpy(&w, s.ptr, MIN(s.len, 8u));
    return __builtin_bswap64(w);
}

static u64
num_image(const Num *n)
{
    if (n->kind == NUM_FINITE)
        return float_image(num_to_f64(n));
    return n->kind == NUM_NAN ? UINT64_MAX : float_image(n->kind == NUM_POS_INF ? (double)INFINITY : -(double)INFINITY);
}

static u64
image_at(const Vec *v, u64 i)
{
    switch (v->phys) {
    case PHYS_BOOL: return ((const u8 *)v->data)[i];
    case PHYS_I16: return (u64)(i64)((const i16 *)v->data)[i] ^ SIGN_BIT;
    case PHYS_I32: return (u64)(i64)((const i32 *)v->data)[i] ^ SIGN_BIT;
    case PHYS_I64: return (u64)((const i64 *)v->data)[i] ^ SIGN_BIT;
    case PHYS_D64: return ((u64)((const i64 *)v->data)[i] ^ SIGN_BIT) - 1; /* NaN wraps to the top */
    case PHYS_F32: return float_image((double)((const float *)v->data)[i]);
    case PHYS_F64: return float_image(((const double *)v->data)[i]);
    case PHYS_D128: {
        i128 x = ((const i128 *)v->data)[i];
        return x == D128_NAN ? UINT64_MAX : float_image((double)x);
    }
    case PHYS_NUM: return num_image(&((const Num *)v->data)[i]);
    case PHYS_PAIR: return ((const Pair *)v->data)[i].hi;
    case PHYS_INTERVAL: return (u64)(i64)(interval_span(&((const Interval *)v->data)[i]) >> 10) ^ SIGN_BIT; /* spans have 73 bits */
    default: return text_image(vec_text_at(v, i));
    }
}

void
sort_images(const Vec *v, u32 count, const PlanSortKey *key, u64 *images)
{
    switch (v->phys) { /* the usual ones in loops of their own */
    case PHYS_I64:
        for (u32 i = 0; i < count; i++)
            images[i] = ((const u64 *)v->data)[i] ^ SIGN_BIT;
        break;
    case PHYS_D64:
        for (u32 i = 0; i < count; i++)
            images[i] = (((const u64 *)v->data)[i] ^ SIGN_BIT) - 1;
        break;
    case PHYS_I32:
        for (u32 i = 0; i < count; i++)
            images[i] = (u64)(i64)((const i32 *)v->data)[i] ^ SIGN_BIT;
        break;
    default:
        for (u32 i = 0; i < count; i++)
            images[i] = image_at(v, i);
        break;
    }
    if (key->descending)
        for (u32 i = 0; i < count; i++)
            images[i] = ~images[i];
    for (u32 i = 0; v->null_mask && i < count; i++)
        if (v->null_mask[i])
            images[i] = key->nulls_first ? 0 : UINT64_MAX;
}

static int
compare_i128(i128 a, i128 b)
{
    if (a == D128_NAN || b == D128_NAN)
        return (a == D128_NAN) - (b == D128_NAN);
    return (a > b) - (a < b);
}

static int
compare_values(const Vec *v, u32 a, u32 b)
{
    u64 x, y;
    switch (v->phys) {
    case PHYS_D128:
        return compare_i128(((const i128 *)v->data)[a], ((const i128 *)v->data)[b]);
    case PHYS_NUM:
        return num_cmp(&((const Num *)v->data)[a], &((const Num *)v->data)[b]);
    case PHYS_INTERVAL:
        return interval_cmp(&((const Interval *)v->data)[a], &((const Interval *)v->data)[b]);
    case PHYS_PAIR:
        return pair_cmp(&((const Pair *)v->data)[a], &((const Pair *)v->data)[b]);
    case PHYS_STR:
        return str_cmp(vec_text_at(v, a), vec_text_at(v, b));
    default:
        x = image_at(v, a);
        y = image_at(v, b);
        return (x > y) - (x < y);
    }
}

int
sort_compare_keys(const SortOrder *o, u32 a, u32 b)
{
    for (u32 k = 0; k < o->key_count; k++) {
        const PlanSortKey *key = &o->keys[k];
        const Vec *v = &o->columns[key->column];
        bool x = VEC_NULL(v, a), y = VEC_NULL(v, b);
        if (x || y) {
            if (x && y)
                continue;
            return x == key->nulls_first ? -1 : 1;
        }
        int c = compare_values(v, a, b);
        if (c)
            return key->descending ? -c : c;
    }
    return 0;
}

int
sort_compare(const SortOrder *o, const SortItem *a, const SortItem *b)
{
    if (a->image != b->image)
        return a->image < b->image ? -1 : 1;
    int c = sort_compare_keys(o, a->row, b->row);
    return c || o->as_they_came ? c : (a->row > b->row) - (a->row < b->row);
}

void
sort_make_items(const SortOrder *o, u32 first, u32 count, SortItem *items)
{
    u64 images[VEC_SIZE];
    const Vec *key = &o->columns[o->keys[0].column];
    for (u32 at = 0; at < count; at += VEC_SIZE) {
        u32 n = MIN((u32)VEC_SIZE, count - at);
        Vec v = *key;
        if (v.codes && !v.data)
            v.codes += first + at;
        else
            v.data = (u8 *)v.data + (size_t)(first + at) * phys_width(v.phys);
        if (v.null_mask)
            v.null_mask += first + at;
        sort_images(&v, n, &o->keys[0], images);
        for (u32 i = 0; i < n; i++)
            items[at + i] = (SortItem){images[i], first + at + i, 0};
    }
}

void
sort_list_items(const SortOrder *o, const u32 *rows, u64 count, SortItem *items)
{
    const PlanSortKey *key = &o->keys[0];
    const Vec *v = &o->columns[key->column];
    for (u64 i = 0; i < count; i++) {
        u64 image;
        if (VEC_NULL(v, rows[i]))
            image = key->nulls_first ? 0 : UINT64_MAX;
        else
            image = key->descending ? ~image_at(v, rows[i]) : image_at(v, rows[i]);
        items[i] = (SortItem){image, rows[i], 0};
    }
}

void
sort_merge(const SortOrder *o, const SortItem *a, u64 a_count, const SortItem *b, u64 b_count, SortItem *to)
{
    const SortItem *a_end = a + a_count, *b_end = b + b_count;
    while (a < a_end && b < b_end)
        *to++ = sort_compare(o, b, a) < 0 ? *b++ : *a++;
    while (a < a_end)
        *to++ = *a++;
    while (b < b_end)
        *to++ = *b++;
}

void
sort_items(const SortOrder *o, SortItem *items, SortItem *room, u64 count)
{
    for (u64 at = 0; at < count; at += SMALL_RUN) {
        u64 end = MIN(count, at + SMALL_RUN);
        for (u64 i = at + 1; i < end; i++) {
            SortItem x = items[i];
            u64 j = i;
            for (; j > at && sort_compare(o, &x, &items[j - 1]) < 0; j--)
                items[j] = items[j - 1];
            items[j] = x;
        }
    }
    SortItem *from = items, *to = room;
    for (u64 run = SMALL_RUN; run < count; run *= 2) {
        for (u64 at = 0; at < count; at += 2 * run) {
            u64 a = MIN(run, count - at), b = at + a < count ? MIN(run, count - at - a) : 0;
            sort_merge(o, from + at, a, from + at + a, b, to + at);
        }
        SortItem *t = from;
        from = to;
        to = t;
    }
    if (from != items)
        memcpy(items, from, count * sizeof *items);
}

static void
swap_items(SortItem *a, SortItem *b)
{
    SortItem t = *a;
    *a = *b;
    *b = t;
}

void
sort_select(const SortOrder *o, SortItem *items, u64 count, u64 n)
{
    u64 lo = 0, hi = count;
    while (hi - lo > 1 && n > lo && n < hi) {
        u64 mid = lo + (hi - lo) / 2;
        swap_items(&items[mid], &items[hi - 1]);
        SortItem pivot = items[hi - 1];
        u64 store = lo;
        for (u64 i = lo; i + 1 < hi; i++)
            if (sort_compare(o, &items[i], &pivot) < 0)
                swap_items(&items[i], &items[store++]);
        swap_items(&items[store], &items[hi - 1]);
        if (n <= store)
            hi = store;
        else
            lo = store + 1;
    }
}
