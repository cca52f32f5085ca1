/*
 * signal.c
 *    pg_cancel_backend and pg_terminate_backend: backends may not touch other processes, so the walwriter sends their signals.
 *
 * Who may: a superuser, who has the rights of that role or of pg_signal_backend; a superuser's session only a superuser. Rights are judged on the
 * newest catalog. Nothing of the asker's transaction changes.
 *
 * And sessions whose snapshot is so old that what it keeps fills the memory: the oldest of them is cancelled before others are refused, one a second.
 */
#include "walwriter/writer.h"

#include "common/shm/shm.h"
#include "common/store/roles.h"

#include "common/base/env.h"
#include "common/base/say.h"

#include <signal.h>

static bool
may_signal(Writer *w, u32 asker, u32 target, bool terminate, Error *err)
{
    const Root *root = world_root(w->world);
    const RoleDef *a = catalog_role(root, asker), *t = catalog_role(root, target);
    if (a && (a->superuser || (t && !t->superuser && (role_has_privs(root, asker, target) || role_has_privs(root, asker, ROLE_SIGNAL_BACKEND_OID)))))
        return true;
    error_set(err, ERR_INSUFFICIENT_PRIVILEGE, terminate ? "permission denied to terminate process" : "permission denied to cancel query");
    if (!t || t->superuser)
        error_detail(err, terminate ? "Only roles with the SUPERUSER attribute may terminate processes of roles with the SUPERUSER attribute."
                                    : "Only roles with the SUPERUSER attribute may cancel queries of roles with the SUPERUSER attribute.");
    else
        error_detail(err, terminate ? "Only roles with privileges of the role whose process is being terminated or with privileges of the "
                                      "\"pg_signal_backend\" role may terminate this process."
                                    : "Only roles with privileges of the role whose query is being canceled or with privileges of the "
                                      "\"pg_signal_backend\" role may cancel this query.");
    return false;
}

void
signal_backend(Writer *w, Tx *tx)
{
    const SlotShm *slots = w->shm->control->slots;
    const u8 *p = tx_request(tx);
    Error err;
    u32 slot = tx->request_len == 16 ? get_le32(p) : UINT32_MAX, what = tx->request_len == 16 ? get_le32(p + 8) : 0;
    if (slot >= w->shm->slot_count || (what != SIGNAL_CANCEL && what != SIGNAL_TERMINATE)) {
        error_set(&err, ERR_PROTOCOL_VIOLATION, "malformed request: signal");
        answer_put(w, tx, ANS_ERROR, 0, 0, &err);
        return;
    }
    const SlotShm *s = &slots[slot];
    i32 pid = s->pid;
    bool there = observe_u32(&s->pub_state) == SLOT_TAKEN && observe_u32(&s->pub_generation) == get_le32(p + 4) && pid > 0;
    if (there && !may_signal(w, judge_role(w, tx, world_root(w->world)), observe_u32(&s->pub_role_id), what == SIGNAL_TERMINATE, &err)) {
        answer_put(w, tx, ANS_ERROR, 0, 0, &err);
        return;
    }
    bool sent = there && kill(pid, what == SIGNAL_TERMINATE ? SIGTERM : SIGINT) == 0;
    answer_put(w, tx, ANS_OK, world_version(w->world), sent, NULL);
}

/* ---- snapshots that keep too much ---- */

enum { OLD_LOOK_NS = 200 * 1000 * 1000, OLD_SHARE = 16, OLD_WAIT_NS = 1000 * 1000 * 1000 };

/* The connection with the oldest pin; UINT32_MAX: none has one. The checkpointer's is not looked at. */
static u32
oldest_pin(const Writer *w, u64 *ret_epoch)
{
    u32 slot = UINT32_MAX;
    *ret_epoch = UINT64_MAX;
    for (u32 i = 0; i < w->slot_count; i++) {
        u64 pin = observe_u64(&shm_box(w->shm, i)->pub_pin_epoch);
        if (!pin || pin >= *ret_epoch || observe_u32(&w->shm->control->slots[i].pub_state) != SLOT_TAKEN)
            continue;
        slot = i;
        *ret_epoch = pin;
    }
    return slot;
}

/* Found twice, so that a statement that is just about to end is left alone. An idle session, which cannot be told, is ended. */
void
signal_old_snapshot(Writer *w, u64 now_ns)
{
    u64 budget = w->shm->writer->world_budget_bytes, epoch;
    if (!w->snapshot_cancel_percent || !budget || now_ns < w->old_look_ns)
        return;
    w->old_look_ns = now_ns + OLD_LOOK_NS;
    bool full = w->memory_short || world_used_bytes(w->world) / 100 >= budget / 10000 * w->snapshot_cancel_percent;
    bool much = full && world_kept_for_pins(w->world) >= budget / OLD_SHARE;
    u32 slot = much ? oldest_pin(w, &epoch) : UINT32_MAX;
    bool again = slot != UINT32_MAX && slot == w->old_slot && epoch == w->old_epoch;
    w->old_slot = slot;
    w->old_epoch = slot != UINT32_MAX ? epoch : 0;
    if (slot != UINT32_MAX)
        w->memory_until_ns = now_ns + OLD_WAIT_NS; /* what it keeps comes back */
    if (!again)
        return;
    BoxShm *b = shm_box(w->shm, slot);
    i32 pid = w->shm->control->slots[slot].pid;
    u32 state = relaxed_u32(&b->state);
    publish_u64(&b->pub_cancel_pin, epoch);
    say_warn("process %d is %s: its snapshot of version %llu keeps %llu MB", (int)pid, state == BOX_ACTIVE || state == BOX_WAITING ? "cancelled" : "ended",
             (unsigned long long)relaxed_u64(&b->pub_pin_version), (unsigned long long)(world_kept_for_pins(w->world) >> 20));
    if (pid > 0)
        (void)kill(pid, state == BOX_ACTIVE || state == BOX_WAITING ? SIGINT : SIGTERM);
}
