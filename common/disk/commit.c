/* commit.c: encode and decode the records of transactions; their layouts are in commit.h. */
#include "common/disk/commit.h"

#include "common/base/bytes.h"

void
commit_encode(const CommitRecord *c, u8 to[COMMIT_BYTES])
{
    put_le32(to, c->slot);
    put_le32(to + 4, c->generation);
    put_le64(to + 8, c->sequence);
    put_le64(to + 16, (u64)c->wall_us);
    put_le64(to + 24, c->token);
    put_le64(to + 32, c->chain_id);
    put_le64(to + 40, c->rows);
}

bool
commit_decode(const u8 *data, u32 len, CommitRecord *ret)
{
    if (len != COMMIT_BYTES)
        return false;
    *ret = (CommitRecord){.slot = get_le32(data),
                          .generation = get_le32(data + 4),
                          .sequence = get_le64(data + 8),
                          .wall_us = (i64)get_le64(data + 16),
                          .token = get_le64(data + 24),
                          .chain_id = get_le64(data + 32),
                          .rows = get_le64(data + 40)};
    return true;
}

void
chain_encode(const ChainRecord *c, u8 to[CHAIN_BYTES])
{
    put_le64(to, c->chain_id);
    put_le32(to + 8, c->statement);
    put_le32(to + 12, c->savepoint);
    put_le32(to + 16, c->ordinal);
    put_le32(to + 20, 0);
}

bool
chain_decode(const u8 *data, u32 len, ChainRecord *ret)
{
    if (len != CHAIN_BYTES || get_le32(data + 20))
        return false;
    *ret = (ChainRecord){get_le64(data), get_le32(data + 8), get_le32(data + 12), get_le32(data + 16)};
    return true;
}

void
undo_encode(const UndoRecord *u, u8 to[UNDO_BYTES])
{
    put_le64(to, u->chain_id);
    put_le32(to + 8, u->kept);
    put_le32(to + 12, 0);
}

bool
undo_decode(const u8 *data, u32 len, UndoRecord *ret)
{
    if (len != UNDO_BYTES || get_le32(data + 12))
        return false;
    *ret = (UndoRecord){get_le64(data), get_le32(data + 8)};
    return true;
}
