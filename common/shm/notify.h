/*
 * notify.h
 *    The queue of NOTIFY: a ring that the walwriter writes in the order of commits and every listening backend reads for itself.
 *
 * It stands in WriterShm, so it outlives a walwriter and is read-only to all others. Positions count bytes ever written. The notifications of one
 * transaction are a batch, published by one store of pub_end. A backend that listens keeps the position it has read up to, and 1, in its box
 * (pub_notify_read; 0: it does not listen); nothing from the oldest such position on is overwritten, so a listener that does not read
 * fills the ring, and then those who NOTIFY are refused at their commit. Nothing of it is durable.
 *
 * Batch: NotifyBatch, then each notification: u16 bytes of the channel, u16 bytes of the payload, both; zeros up to a multiple of 8.
 */
#ifndef NOTIFY_H
#define NOTIFY_H

#include "common/base/base.h"

struct Shm;

enum {
    NOTIFY_RING_BYTES = 8 << 20,
    NOTIFY_TXN_MAX_BYTES = NOTIFY_RING_BYTES / 2, /* of one transaction */
    NOTIFY_CHANNEL_MAX = 63,
    NOTIFY_PAYLOAD_MAX = 7999,
    NOTIFY_ITEM_HEAD_BYTES = 4,
};

typedef struct NotifyBatch {
    u32 bytes; /* this head and all behind it, a multiple of 8 */
    u32 slot, generation;
    i32 pid;
    u64 sequence; /* of the request that committed it */
    u32 count, zero;
} NotifyBatch;
_Static_assert(sizeof(NotifyBatch) == 32, "NotifyBatch");

typedef struct NotifyShm {
    u64 pub_end;
    u64 pub_answered; /* whoever asked for batches below has its answer: what a successor need not look at */
    u64 pub_writers;  /* walwriters that have begun to answer */
    u8 pad[40];
    u8 ring[NOTIFY_RING_BYTES];
} NotifyShm;

/* Bytes of the ring. */
void notify_copy(const NotifyShm *n, u64 at, void *to, u32 len);
/* The oldest position that a listener has not read; the end when there is none. *ret_any: somebody listens. */
u64 notify_oldest(const struct Shm *shm, bool *ret_any);
/* Is there a batch of that request between the two positions? */
bool notify_find(const NotifyShm *n, u64 from, u64 to, u32 slot, u32 generation, u64 sequence);

#endif
