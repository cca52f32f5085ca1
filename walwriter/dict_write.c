/*
 * dict_write.c
 *    The writing side of dictionaries: a new dictionary, a new text.
 *
 * Order of a new text: bytes, entry, index, count. A death in between leaves at worst bytes that nobody names or an index entry of a code that
 * is not counted; the next text of that code is other bytes, so the stale entry never matches. Code 0 is always the empty text:
 * it stands under NULLs and in rows that were never filled, so that every stored code can be decoded.
 */
#include "common/base/hash.h"
#include "walwriter/world_int.h"

enum { BYTES_FIRST = 48, BYTES_MAX = (256 << 10) - (int)sizeof(DictBytesShm) };

DictShm *
dict_new(World *w, u32 column)
{
    DictShm *d = world_must(w, sizeof *d);
    *d = (DictShm){.id = ++w->head->next_dict_id, .column = column};
    index_init(w, &d->index, 0);
    return d;
}

/* The chunk that code `count` goes to. */
static bool
entry_room(World *w, DictShm *d, u32 code)
{
    u32 i, c = dict_chunk_of(code, &i);
    if (c < DICT_DOUBLINGS) {
        if (!d->pub_small[c]) {
            DictEntryShm *chunk = world_get(w, ((u64)DICT_FIRST << c) * sizeof *chunk);
            if (!chunk)
                return false;
            publish_ptr(&d->pub_small[c], chunk);
        }
        return true;
    }
    u32 m = c - DICT_DOUBLINGS;
    if (m < d->more_count)
        return true;
    if (m >= d->more_capacity) {
        u32 capacity = MAX(d->more_capacity * 2, 8u);
        DictEntryShm **more = world_get(w, capacity * sizeof *more);
        if (!more)
            return false;
        if (d->pub_more) {
            memcpy(more, d->pub_more, d->more_count * sizeof *more);
            world_retire(w, d->pub_more, d->more_capacity * sizeof *more);
        }
        d->more_capacity = capacity;
        publish_ptr(&d->pub_more, more);
    }
    DictEntryShm *chunk = world_get(w, (u64)DICT_CHUNK * sizeof *chunk);
    if (!chunk)
        return false;
    publish_ptr(&d->pub_more[m], chunk);
    d->more_count = m + 1;
    return true;
}

/* Room for a text of len bytes and its length, aligned to 4. */
static char *
bytes_room(World *w, DictShm *d, u32 len)
{
    u32 need = ALIGN_UP(len + 4, 4u);
    DictBytesShm *b = d->bytes;
    if (!b || b->size - b->used < need) {
        u32 size = b ? MIN(b->size * 2 + (u32)sizeof *b, (u32)BYTES_MAX) : BYTES_FIRST;
        size = MAX(size, need);
        DictBytesShm *fresh = world_get(w, sizeof *fresh + size);
        if (!fresh)
            return NULL;
        *fresh = (DictBytesShm){.older = b, .size = size};
        d->bytes = b = fresh;
    }
    char *at = (char *)(b + 1) + b->used;
    b->used += need;
    return at;
}

static bool
append(World *w, DictShm *d, Str s, u64 hash, u32 *ret_code)
{
    u32 code = d->pub_count;
    if (code == DICT_NONE || !entry_room(w, d, code) || !index_reserve(w, &d->index, hash, false, false, NULL, NULL))
        return false;
    char *bytes = bytes_room(w, d, s.len);
    if (!bytes)
        return false;
    memcpy(bytes, &s.len, 4);
    if (s.len)
        memcpy(bytes + 4, s.ptr, s.len);
    *dict_entry(d, code) = (DictEntryShm){.hash = hash, .text = bytes + 4};
    index_enter(w, &d->index, hash, code, NULL, NULL);
    d->text_bytes += s.len;
    publish_u32(&d->pub_count, code + 1);
    *ret_code = code;
    return true;
}

bool
dict_enter(World *w, DictShm *d, Str s, u64 hash, u32 *ret_code)
{
    if (UNLIKELY(d->pub_count == 0)) {
        u32 empty_code;
        if (!append(w, d, (Str){"", 0}, hash_bytes("", 0), &empty_code))
            return false;
    }
    IndexCursor c = index_find(&d->index, hash);
    u64 code;
    while (index_next(&c, &code)) {
        if (code < d->pub_count && dict_entry(d, (u32)code)->hash == hash && str_eq(dict_str(d, (u32)code), s)) {
            *ret_code = (u32)code;
            return true;
        }
    }
    return append(w, d, s, hash, ret_code);
}
