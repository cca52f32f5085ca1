/*
 * dict_write.c
 *    The writing side of dictionaries: a new dictionary, a new text; and long texts on their way there.
 *
 * Order of a new text: bytes, entry, index, count. A death in between leaves at worst bytes that nobody names or an index entry of a code that
 * is not counted; the next text of that code is other bytes, so the stale entry never matches. Code 0 is always the empty text:
 * it stands under NULLs and in rows that were never filled, so that every stored code can be decoded.
 *
 * A long text is collected in a piece of memory of its own, which nobody else knows. Entering it links that piece into the dictionary: the text is
 * copied once on its way from the request into the world.
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

/* The piece that a long text stands in. */
static DictBytesShm *
piece_of(const LongText *l)
{
    return (DictBytesShm *)(void *)(l->text - sizeof(u32)) - 1;
}

/* Behind the newest piece, which goes on being filled. */
static void
link_piece(DictShm *d, DictBytesShm *piece)
{
    piece->older = d->bytes->older;
    d->bytes->older = piece;
}

static char *
copy_text(World *w, DictShm *d, Str s)
{
    char *bytes = bytes_room(w, d, s.len);
    if (!bytes)
        return NULL;
    memcpy(bytes, &s.len, 4);
    if (s.len)
        memcpy(bytes + 4, s.ptr, s.len);
    return bytes + 4;
}

/* l: the text stands there already; NULL: it is copied. */
static bool
append(World *w, DictShm *d, Str s, u64 hash, LongText *l, u32 *ret_code)
{
    u32 code = d->pub_count;
    if (code == DICT_NONE || !entry_room(w, d, code) || !index_reserve(w, &d->index, hash, false, false, NULL, NULL))
        return false;
    const char *text = l ? l->text : copy_text(w, d, s);
    if (!text)
        return false;
    if (l) {
        link_piece(d, piece_of(l));
        l->entered = true;
    }
    *dict_entry(d, code) = (DictEntryShm){.hash = hash, .text = text};
    index_enter(w, &d->index, hash, code, NULL, NULL);
    d->text_bytes += s.len;
    publish_u32(&d->pub_count, code + 1);
    *ret_code = code;
    return true;
}

static bool
enter(World *w, DictShm *d, Str s, u64 hash, LongText *l, u32 *ret_code)
{
    if (UNLIKELY(d->pub_count == 0)) {
        u32 empty_code;
        if (!append(w, d, (Str){"", 0}, hash_bytes("", 0), NULL, &empty_code))
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
    return append(w, d, s, hash, l, ret_code);
}

bool
dict_enter(World *w, DictShm *d, Str s, u64 hash, u32 *ret_code)
{
    return enter(w, d, s, hash, NULL, ret_code);
}

bool
dict_enter_long(World *w, DictShm *d, LongText *l, u32 *ret_code)
{
    Str s = {l->text, l->len};
    return enter(w, d, s, hash_bytes(s.ptr, s.len), l->entered ? NULL : l, ret_code);
}

/* ---- long texts that no part has named yet ---- */

static u64 long_bytes(u32 len) { return sizeof(DictBytesShm) + ALIGN_UP(len + (u32)sizeof(u32), 4u); }

bool
world_text_begin(World *w, const TextPiece *t, LongText *ret, Error *err)
{
    DictBytesShm *piece = world_get(w, long_bytes(t->whole));
    if (!piece)
        return world_full(err);
    u32 size = (u32)(long_bytes(t->whole) - sizeof *piece);
    *piece = (DictBytesShm){.size = size, .used = size};
    memcpy(piece + 1, &t->whole, sizeof t->whole);
    *ret = (LongText){.table_id = t->table_id, .column = t->column, .len = t->whole, .text = (char *)(piece + 1) + sizeof(u32)};
    if (world_has_room(w, err))
        return true;
    world_text_drop(w, ret);
    return false;
}

void
world_text_add(LongText *l, const TextPiece *t)
{
    ensure(!l->entered && t->offset == l->have && t->len <= l->len - l->have);
    memcpy(l->text + l->have, t->bytes, t->len);
    l->have += t->len;
}

void
world_text_drop(World *w, LongText *l)
{
    if (!l->entered)
        world_free(w, piece_of(l), long_bytes(l->len));
}
