/*
 * pin.h
 *    Pin the newest published state so that the walwriter keeps what it reaches.
 *
 * Reader: store the observed epoch into the own box (fenced), re-read the published epoch, repeat until both agree; then take the
 * root. The root is of that epoch or newer, and memory retired at epoch e is reused only when every pin is above e (I8), so all that
 * the root reaches stays. Writer: publish root, then epoch, fence, then scan the pins.
 * Stale reads of pins by the writer only keep memory longer.
 */
#ifndef PIN_H
#define PIN_H

#include "common/shm/publish.h"
#include "common/shm/box.h"

/* `pub_epoch` and `pub_root` are the world head's words. Returns the root's address. */
static inline u64
pin_root(BoxShm *box, const u64 *pub_epoch, const u64 *pub_root)
{
    for (;;) {
        u64 epoch = observe_u64(pub_epoch);
        publish_u64_fenced(&box->pub_pin_epoch, epoch);
        if (observe_u64(pub_epoch) == epoch)
            return observe_u64(pub_root);
    }
}

static inline void
unpin_root(BoxShm *box)
{
    publish_u64(&box->pub_pin_epoch, 0);
}

#endif
