/* commit.c: encode and decode the COMMIT record; the layout is in commit.h. */
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
