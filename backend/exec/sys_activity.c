/*
 * sys_activity.c
 *    pg_stat_activity from control and the boxes, pg_locks from the walwriter's lock table.
 *
 * Boxes change while they are read: a row may be of two moments, its text is cut at the first byte that is no UTF-8. Of others' sessions only
 * superusers see what they do.
 *
 * In pg_locks row locks stand as locktype tuple, with the modes PostgreSQL takes for them; a key held by an INSERT or UPDATE is an object (classid the
 * table, objsubid the key's number, objid a hash). Readers take no locks, so none are shown.
 */
#include "backend/exec/system.h"

#include "common/shm/publish.h"

#include <stdio.h>

/* ---- pg_locks ---- */

static const char *
lock_mode_name(const LockRow *l)
{
    static const char *const names[LOCK_MODES] = {
        [LOCK_FOR_KEY_SHARE] = "AccessShareLock",
        [LOCK_FOR_SHARE] = "RowShareLock",
        [LOCK_FOR_NO_KEY_UPDATE] = "ExclusiveLock",
        [LOCK_FOR_UPDATE] = "AccessExclusiveLock",
        [LOCK_TABLE_ACCESS_SHARE] = "AccessShareLock",
        [LOCK_TABLE_ROW_SHARE] = "RowShareLock",
        [LOCK_TABLE_ROW_EXCLUSIVE] = "RowExclusiveLock",
        [LOCK_TABLE_SHARE_UPDATE_EXCLUSIVE] = "ShareUpdateExclusiveLock",
        [LOCK_TABLE_SHARE] = "ShareLock",
        [LOCK_TABLE_SHARE_ROW_EXCLUSIVE] = "ShareRowExclusiveLock",
        [LOCK_TABLE_EXCLUSIVE] = "ExclusiveLock",
        [LOCK_TABLE_ACCESS_EXCLUSIVE] = "AccessExclusiveLock",
        [LOCK_SHARED] = "ShareLock",
        [LOCK_EXCLUSIVE] = "ExclusiveLock",
        [LOCK_WATCH] = "ShareLock",
    };
    return l->mode < LOCK_MODES && names[l->mode] ? names[l->mode] : "?";
}

static const char *
lock_type_name(u8 space)
{
    static const char *const names[] = {
        [LOCK_ROW] = "tuple", [LOCK_KEY] = "object", [LOCK_TABLE] = "relation", [LOCK_NAME] = "object", [LOCK_TXN] = "transactionid",
        [LOCK_ADVISORY] = "advisory",
    };
    return space < COUNT_OF(names) && names[space] ? names[space] : "object";
}

static void
int_or_null(SystemRows *r, bool given, i64 v)
{
    if (given)
        system_int(r, v);
    else
        system_null(r);
}

static void
lock_row(SystemRows *r, const LockRow *l)
{
    bool row = l->space == LOCK_ROW, relation = l->space == LOCK_TABLE || row, advisory = l->space == LOCK_ADVISORY;
    bool object = l->space == LOCK_KEY || l->space == LOCK_NAME || advisory;
    char transaction[32];
    system_text(r, str_of(lock_type_name(l->space)));
    int_or_null(r, l->space != LOCK_TXN, DATABASE_OID);
    int_or_null(r, relation, l->table_id);
    int_or_null(r, row, (i64)ROW_BLOCK(l->id));
    int_or_null(r, row, ROW_OFFSET(l->id));
    system_null(r); /* virtualxid */
    int_or_null(r, l->space == LOCK_TXN, (u32)l->id);
    int_or_null(r, object, advisory ? (i64)(l->id >> 32) : l->table_id);
    int_or_null(r, object, (u32)l->id);
    int_or_null(r, object, l->key);
    snprintf(transaction, sizeof transaction, "%u/0", l->slot + 1);
    system_text(r, str_of(transaction));
    system_int(r, l->pid);
    system_text(r, str_of(lock_mode_name(l)));
    system_bool(r, l->granted);
    system_bool(r, false);
    system_end_row(r);
}

void
system_rows_LOCKS(SystemRows *r)
{
    u32 count;
    const LockRow *locks = txn_list_locks(r->exec->ctx->txn, r->arena, &count);
    for (u32 i = 0; i < count; i++)
        lock_row(r, &locks[i]);
}

/* ---- pg_stat_activity ---- */

/* What the box says of the statement, whole characters only. */
static Str
statement_text(Arena *a, const BoxShm *b)
{
    char text[BOX_STATEMENT_BYTES];
    memcpy(text, b->statement, sizeof text);
    text[sizeof text - 1] = 0;
    u32 len = (u32)strlen(text);
    while (len && !utf8_valid((const u8 *)text, len))
        len--;
    return arena_str(a, (Str){text, len});
}

static void
time_or_null(SystemRows *r, bool given, i64 us)
{
    int_or_null(r, given && us, us);
}

static const LockRow *
waits_for(const LockRow *locks, u32 count, u32 slot)
{
    for (u32 i = 0; i < count; i++)
        if (locks[i].slot == slot && !locks[i].granted)
            return &locks[i];
    return NULL;
}

static bool
is_idle(u32 state)
{
    return state == BOX_IDLE || state == BOX_IDLE_BLOCK || state == BOX_IDLE_FAILED;
}

static Str
state_text(u32 state)
{
    switch (state) {
    case BOX_IDLE: return STR_LIT("idle");
    case BOX_IDLE_BLOCK: return STR_LIT("idle in transaction");
    case BOX_IDLE_FAILED: return STR_LIT("idle in transaction (aborted)");
    default: return STR_LIT("active");
    }
}

static void
wait_event(SystemRows *r, u32 state, const LockRow *lock)
{
    const char *type = NULL, *event = NULL;
    if (lock) {
        type = "Lock";
        event = lock_type_name(lock->space);
    } else if (is_idle(state)) {
        type = "Client";
        event = "ClientRead";
    } else if (state == BOX_WAITING) {
        type = "IPC";
        event = "Walwriter";
    }
    if (!type) {
        system_null(r);
        system_null(r);
        return;
    }
    system_text(r, str_of(type));
    system_text(r, str_of(event));
}

static void
session_row(SystemRows *r, u32 slot, const SlotShm *s, const BoxShm *b, const LockRow *lock, bool visible)
{
    u32 role_id = observe_u32(&s->pub_role_id), state = relaxed_u32(&b->state);
    const RoleDef *role = catalog_role(r->exec->snapshot->root, role_id);
    const char *database = r->exec->ctx->env.database;
    (void)slot;
    system_int(r, DATABASE_OID);
    system_text(r, str_of(database ? database : ""));
    system_int(r, s->pid);
    system_null(r); /* leader_pid */
    int_or_null(r, role_id, role_id);
    if (role)
        system_text(r, role->name);
    else
        system_null(r);
    system_text(r, STR_LIT("")); /* application_name */
    if (!visible) {
        for (int i = 0; i < 13; i++)
            system_null(r);
        system_text(r, STR_LIT("<insufficient privilege>"));
        system_text(r, STR_LIT("client backend"));
        system_end_row(r);
        return;
    }
    for (int i = 0; i < 3; i++) /* client_addr, client_hostname, client_port */
        system_null(r);
    system_int(r, s->started_us);
    time_or_null(r, state != BOX_IDLE, b->transaction_start_us);
    time_or_null(r, true, b->statement_start_us);
    system_null(r); /* state_change */
    wait_event(r, state, lock);
    system_text(r, state_text(state));
    system_null(r); /* backend_xid */
    int_or_null(r, observe_u64(&b->pub_pin_epoch) != 0, (u32)relaxed_u64(&b->pub_pin_version)); /* backend_xmin: the version that it holds */
    system_null(r); /* query_id */
    system_text(r, statement_text(r->arena, b));
    system_text(r, STR_LIT("client backend"));
    system_end_row(r);
}

void
system_rows_STAT_ACTIVITY(SystemRows *r)
{
    const Shm *shm = exec_shm();
    if (!shm)
        return;
    u32 count, own = exec_own_slot();
    u32 role_id = observe_u32(&shm->control->slots[own].pub_role_id);
    const RoleDef *role = catalog_role(r->exec->snapshot->root, role_id);
    const LockRow *locks = txn_list_locks(r->exec->ctx->txn, r->arena, &count);
    for (u32 i = 0; i < shm->slot_count; i++) {
        const SlotShm *s = &shm->control->slots[i];
        if (observe_u32(&s->pub_state) != SLOT_TAKEN || s->pid <= 0)
            continue;
        bool visible = i == own || (role && role->superuser) || observe_u32(&s->pub_role_id) == role_id;
        session_row(r, i, s, shm_box(shm, i), waits_for(locks, count, i), visible);
    }
}
