/* notify.c: reading the queue of NOTIFY; it is written by walwriter/notify.c. */
#include "common/shm/notify.h"

#include "common/shm/publish.h"
#include "common/shm/shm.h"

void
notify_copy(const NotifyShm *n, u64 at, void *to, u32 len)
{
    u32 from = (u32)(at % NOTIFY_RING_BYTES), first = MIN(len, (u32)NOTIFY_RING_BYTES - from);
    memcpy(to, n->ring + from, first);
    memcpy((u8 *)to + first, n->ring, len - first);
}

/* A position that makes no sense is its owner's loss. */
u64
notify_oldest(const Shm *shm, bool *ret_any)
{
    u64 end = observe_u64(&shm->writer->notify.pub_end), oldest = end;
    *ret_any = false;
    for (u32 i = 0; i < shm->slot_count; i++) {
        if (observe_u32(&shm->control->slots[i].pub_state) != SLOT_TAKEN)
            continue;
        u64 read = observe_u64(&shm_box(shm, i)->pub_notify_read) - 1;
        if (read > end || end - read > NOTIFY_RING_BYTES)
            continue;
        *ret_any = true;
        oldest = MIN(oldest, read);
    }
    return oldest;
}

bool
notify_find(const NotifyShm *n, u64 from, u64 to, u32 slot, u32 generation, u64 sequence)
{
    NotifyBatch b;
    if (to - from > NOTIFY_RING_BYTES)
        return true; /* overwritten: it can only have been there long ago */
    for (; from < to; from += b.bytes) {
        notify_copy(n, from, &b, sizeof b);
        if (b.slot == slot && b.generation == generation && b.sequence == sequence)
            return true;
    }
    return false;
}
