/*
 * signal.c
 *    pg_cancel_backend and pg_terminate_backend: backends may not touch other processes, so the walwriter sends their signals.
 *
 * Who may: a superuser, who has the rights of that role or of pg_signal_backend; a superuser's session only a superuser. Rights are judged on the
 * newest catalog. Nothing of the asker's transaction changes.
 */
#include "walwriter/writer.h"

#include "common/shm/shm.h"
#include "common/store/roles.h"

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
