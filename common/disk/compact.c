/* compact.c: encode and decode the COMPACT record; its layout is in compact.h. */
#include "common/disk/compact.h"

enum { BLOCK_LIMIT_BITS = 31, TARGET_MAX_ROWS = 65536 };

u32
compact_bytes(const CompactRecord *c)
{
    u32 n = COMPACT_HEAD_BYTES;
    for (u32 i = 0; i < c->source_count; i++)
        n += COMPACT_SOURCE_BYTES + c->sources[i].word_count * 8;
    return n;
}

void
compact_encode(const CompactRecord *c, u8 *to)
{
    put_le32(to, c->table_id);
    put_le32(to + 4, c->source_count);
    put_le64(to + 8, c->target);
    put_le32(to + 16, c->row_count);
    put_le32(to + 20, 0);
    to += COMPACT_HEAD_BYTES;
    for (u32 i = 0; i < c->source_count; i++) {
        const CompactSource *s = &c->sources[i];
        put_le64(to, s->block);
        put_le32(to + 8, s->word_count);
        put_le32(to + 12, s->count);
        for (u32 w = 0; w < s->word_count; w++)
            put_le64(to + COMPACT_SOURCE_BYTES + w * 8, s->bits[w]);
        to += COMPACT_SOURCE_BYTES + s->word_count * 8;
    }
}

static bool
read_source(const u8 **at, const u8 *end, CompactSource *s)
{
    const u8 *p = *at;
    if (end - p < COMPACT_SOURCE_BYTES)
        return false;
    *s = (CompactSource){.block = get_le64(p), .word_count = get_le32(p + 8), .count = get_le32(p + 12)};
    p += COMPACT_SOURCE_BYTES;
    if (s->block == 0 || s->block >> BLOCK_LIMIT_BITS || s->word_count > COMPACT_MAX_WORDS || (u64)(end - p) < (u64)s->word_count * 8)
        return false;
    s->bits = (const u64 *)(const void *)p;
    u32 count = 0;
    for (u32 w = 0; w < s->word_count; w++)
        count += (u32)__builtin_popcountll(s->bits[w]);
    *at = p + (size_t)s->word_count * 8;
    return count == s->count;
}

bool
compact_decode(const u8 *data, u32 len, CompactRecord *ret)
{
    const u8 *at = data + COMPACT_HEAD_BYTES, *end = data + len;
    if (len < COMPACT_HEAD_BYTES)
        return false;
    *ret = (CompactRecord){.table_id = get_le32(data), .source_count = get_le32(data + 4), .target = get_le64(data + 8), .row_count = get_le32(data + 16)};
    if (get_le32(data + 20) || ret->source_count == 0 || ret->source_count > COMPACT_MAX_SOURCES || ret->target >> BLOCK_LIMIT_BITS)
        return false;
    u64 rows = 0;
    for (u32 i = 0; i < ret->source_count; i++) {
        if (!read_source(&at, end, &ret->sources[i]) || ret->sources[i].block == ret->target)
            return false;
        rows += ret->sources[i].count;
    }
    return at == end && rows == ret->row_count && rows <= TARGET_MAX_ROWS && (rows > 0) == (ret->target > 0);
}
