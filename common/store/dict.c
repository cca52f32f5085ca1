/*
 * dict.c
 *    Dictionaries: code -> text in O(1), text -> code by the hash index; readers look up beside the writer.
 *
 * Codes are given in order and never change. Entries (hash and address) stand in chunks that never move: 8, 16, … 65,536 codes, then 131,072
 * each; texts in pieces that never move, each with its length before it. The writer (walwriter/dict_write.c) writes text and entry, then the index
 * entry, then pub_count. A reader may therefore meet a code in the index that is not counted yet: it is no match.
 */
#include "common/base/hash.h"
#include "common/store/index.h"

Str
dict_str(const DictShm *d, u32 code)
{
    const char *text = dict_entry(d, code)->text;
    u32 len;
    memcpy(&len, text - sizeof len, sizeof len);
    return (Str){text, len};
}

u64
dict_hash(const DictShm *d, u32 code)
{
    return dict_entry(d, code)->hash;
}

u32
dict_count(const DictShm *d)
{
    return observe_u32(&d->pub_count);
}

u64
dict_id(const DictShm *d)
{
    return d->id;
}

u32
dict_find(const DictShm *d, Str s)
{
    u64 hash = hash_bytes(s.ptr, s.len), code;
    IndexCursor c = index_find(&d->index, hash);
    while (index_next(&c, &code)) {
        if (code >= observe_u32(&d->pub_count) || dict_entry(d, (u32)code)->hash != hash)
            continue;
        if (str_eq(dict_str(d, (u32)code), s))
            return (u32)code;
    }
    return DICT_NONE;
}

void
dict_decode(const DictShm *d, const u32 *codes, u32 count, Str *out)
{
    /* Entries first, then lengths: two rounds of independent misses instead of one chain. */
    for (u32 i = 0; i < count; i++) {
        out[i].ptr = dict_entry(d, codes[i])->text;
        __builtin_prefetch(out[i].ptr - sizeof(u32));
    }
    for (u32 i = 0; i < count; i++)
        memcpy(&out[i].len, out[i].ptr - sizeof(u32), sizeof(u32));
}

const DictShm *
table_dict(const TableShm *t, u32 column)
{
    return t->dicts && column < t->def->column_count ? t->dicts[column] : NULL;
}
