/*
 * ddl_stage.c
 *    Catalog changes of an open transaction: kept in order, seen by the transaction's later requests, applied at COMMIT, taken back by ordinal.
 *
 * CREATE TABLE makes a hidden table at once, TRUNCATE a hidden empty one in the place of the table, which is locked against all others (world.h):
 * later parts go there, and what the transaction staged in the table before stays where it is, to be found again when the TRUNCATE is taken back. (Own keys
 * noted before it lead to places in the new private block: no harm, since the row there is compared.) All other changes are only noted. The judge looks at the newest catalog and at these notes (staged_…).
 *
 * A part whose table is emptied or dropped later in its transaction is dead: COMMIT does not log it.
 * Memory for applying is promised when a change is staged. Writes: hidden tables, the notes. Fails: no memory; nothing is staged then.
 */
#include "walwriter/writer.h"

#include "common/disk/catrec.h"
#include "common/store/shape.h"

#include <stdlib.h>

/* ---- the notes ---- */

static u32
change_id(u16 kind, const u8 *payload, u32 len, Arena *a)
{
    Error err;
    TableDef table;
    RoleDef role;
    char verifier[CATREC_VERIFIER_MAX];
    const AclItem *acl;
    u32 id, count;
    bool keep;
    switch (kind) {
    case WAL_CREATE_TABLE:
        ensure(catrec_read_table(a, payload, len, &table, &err));
        return table.table_id;
    case WAL_CREATE_ROLE:
    case WAL_ALTER_ROLE:
        ensure(catrec_read_role(payload, len, &role, verifier, &keep, &err));
        return role.role_id;
    case WAL_SET_ACL:
        ensure(catrec_read_acl(a, payload, len, &id, &acl, &count, &err));
        return id;
    default:
        ensure(catrec_read_id(payload, len, &id, &err));
        return id;
    }
}

static bool
is_of_role(u16 kind)
{
    return kind == WAL_CREATE_ROLE || kind == WAL_ALTER_ROLE || kind == WAL_DROP_ROLE;
}

bool
staged_empties(u16 kind)
{
    return kind == WAL_TRUNCATE || kind == WAL_DROP_TABLE;
}

/* What applying it takes, once hidden tables are made. */
static u64
promise_of(World *w, u16 kind, u32 id, u32 len)
{
    const TableShm *t;
    const RolesShm *roles = world_root(w)->roles;
    switch (kind) {
    case WAL_CREATE_TABLE:
    case WAL_TRUNCATE: return CATALOG_PROMISE_LITTLE;
    case WAL_DROP_TABLE: return 0;
    case WAL_SET_ACL:
        t = world_table(w, id);
        return CATALOG_PROMISE_LITTLE + len + (t ? t->def_bytes : 0);
    default: return CATALOG_PROMISE_LITTLE + 2ull * len + (roles ? 2 * roles_bytes(roles->count + 1) : 0);
    }
}

/* ---- staging ---- */

u32
staged_truncations(const Staged *s, u32 table_id)
{
    u32 n = 0;
    for (u32 i = 0; i < s->count; i++)
        n += s->items[i].kind == WAL_TRUNCATE && s->items[i].id == table_id;
    return n;
}

static void
make_hidden(World *w, u32 owner, const StagedChange *c, Arena *a)
{
    Error err;
    TableDef table;
    if (c->kind == WAL_CREATE_TABLE) {
        arena_reset(a);
        ensure(catrec_read_table(a, c->payload, c->len, &table, &err));
        (void)world_hide_created(w, &table, owner);
    } else if (c->kind == WAL_TRUNCATE) {
        (void)world_hide_truncated(w, c->id, owner);
    }
}

bool
staged_add(World *w, Staged *s, u32 owner, u32 ordinal, Record r, Arena *a, Error *err)
{
    u8 *payload = malloc(MAX(r.len, 1u));
    if (!payload || !tx_grow(&s->items, &s->capacity, s->count + 1, sizeof *s->items)) {
        free(payload);
        return error_set(err, ERR_OUT_OF_MEMORY, "out of memory");
    }
    memcpy(payload, r.payload, r.len);
    arena_reset(a);
    StagedChange c = {.ordinal = ordinal, .kind = r.kind, .len = r.len, .payload = payload, .id = change_id(r.kind, payload, r.len, a)};
    c.promise = promise_of(w, c.kind, c.id, c.len);
    u64 making = c.kind == WAL_CREATE_TABLE ? CATALOG_PROMISE : 0;
    if (!world_reserve_catalog(w, making, err) || (c.promise && !world_reserve_catalog(w, c.promise, err))) {
        free(payload);
        return false;
    }
    make_hidden(w, owner, &c, a);
    world_unreserve_catalog(w, making);
    s->items[s->count++] = c;
    return true;
}

/* Private rows get the same ids again: the locks of those that are out of sight step aside. */
static void
set_rows_aside(Writer *w, Tx *tx, u32 table_id)
{
    locks_rekey_rows(w->locks, tx->slot, table_id, STAGED_BLOCK | tx->slot, 0, (u16)staged_truncations(&tx->ddl, table_id));
}

static void
bring_rows_back(Writer *w, Tx *tx, u32 table_id)
{
    locks_drop_rows(w->locks, tx->slot, table_id, STAGED_BLOCK | tx->slot, tx_granted, w);
    locks_rekey_rows(w->locks, tx->slot, table_id, STAGED_BLOCK | tx->slot, (u16)(staged_truncations(&tx->ddl, table_id) + 1), 0);
}

static bool
stage(Writer *w, Tx *tx, const CatalogChange *from, u32 ordinal, Error *err)
{
    if (!staged_add(w->world, &tx->ddl, tx->slot, ordinal, (Record){.kind = from->kind, .len = from->len, .payload = from->payload}, tx->arena, err))
        return false;
    u32 id = tx->ddl.items[tx->ddl.count - 1].id;
    if (from->kind == WAL_TRUNCATE)
        set_rows_aside(w, tx, id);
    return !tx->chain || !staged_empties(from->kind) || chain_empty(tx->chain, id, ordinal, err);
}

bool
ddl_stage(Writer *w, Tx *tx, Error *err)
{
    for (u32 i = 0; i < tx->change_count; i++)
        if (!stage(w, tx, &tx->changes[i], tx->ordinal + i, err)) {
            ddl_undo(w, tx, tx->ordinal - 1);
            if (tx->chain)
                chain_unempty(tx->chain, tx->ordinal - 1);
            return false;
        }
    return true;
}

/* ---- the way back ---- */

static void
undo_last(World *w, Staged *s)
{
    StagedChange *c = &s->items[--s->count];
    if (c->kind == WAL_CREATE_TABLE || c->kind == WAL_TRUNCATE)
        world_forget_hidden(w, c->id);
    world_unreserve_catalog(w, c->promise);
    free(c->payload);
}

void
staged_undo(World *w, Staged *s, u32 ordinal)
{
    while (s->count && s->items[s->count - 1].ordinal > ordinal)
        undo_last(w, s);
}

void
ddl_undo(Writer *w, Tx *tx, u32 ordinal)
{
    while (tx->ddl.count && tx->ddl.items[tx->ddl.count - 1].ordinal > ordinal) {
        StagedChange c = tx->ddl.items[tx->ddl.count - 1];
        undo_last(w->world, &tx->ddl);
        if (c.kind == WAL_TRUNCATE)
            bring_rows_back(w, tx, c.id);
    }
}

void
staged_set_aside(World *w, Staged *s)
{
    for (u32 i = s->count; i-- > 0;)
        if (s->items[i].kind == WAL_TRUNCATE)
            s->items[i].aside = world_set_aside(w, s->items[i].id);
}

void
staged_bring_back(World *w, Staged *s)
{
    for (u32 i = 0; i < s->count; i++)
        if (s->items[i].aside) {
            world_bring_back(w, s->items[i].aside);
            s->items[i].aside = NULL;
        }
}

const TableShm *
ddl_staged_table(Writer *w, const Tx *tx)
{
    const StagedChange *c = &tx->ddl.items[tx->ddl.count - 1];
    return c->kind == WAL_CREATE_TABLE || c->kind == WAL_TRUNCATE ? world_table(w->world, c->id) : NULL;
}

/* ---- COMMIT ---- */

/* Before the rows are applied. */
void
staged_apply(World *w, Staged *s, Arena *a)
{
    for (u32 i = 0; i < s->count; i++) {
        StagedChange *c = &s->items[i];
        if (c->kind == WAL_CREATE_TABLE || c->kind == WAL_TRUNCATE)
            world_show_table(w, c->id);
        else {
            arena_reset(a);
            ddl_apply(w, a, c->kind, c->payload, c->len);
        }
        world_unreserve_catalog(w, c->promise);
        free(c->payload);
    }
    s->count = 0;
}

/* `at`: of the part's record among the kept ones. */
static bool
is_dead(const Tx *tx, u32 table_id, u64 at)
{
    for (u32 i = tx->ddl.count; i-- > 0 && tx->ddl.items[i].at > at;)
        if (tx->ddl.items[i].id == table_id && staged_empties(tx->ddl.items[i].kind))
            return true;
    return false;
}

void
ddl_strip_dead(Tx *tx)
{
    u8 *begin = tx_request(tx), *to = begin;
    const u8 *at = begin, *end = begin + tx->request_len, *from = begin;
    u32 change = 0;
    bool bad;
    for (Record r; record_next(&at, end, &r, &bad);)
        if (ddl_is_catalog(r.kind))
            tx->ddl.items[change++].at = (u64)(r.payload - begin);
    ensure(change == tx->ddl.count);
    at = begin;
    for (Record r; record_next(&at, end, &r, &bad); from = at) {
        if (!ddl_is_catalog(r.kind) && is_dead(tx, get_le32(r.payload), (u64)(r.payload - begin)))
            continue;
        memmove(to, from, (size_t)(at - from));
        to += at - from;
    }
    tx->request_len = (u32)(to - begin);
}

/* ---- what the transaction sees ---- */

static const StagedChange *
newest_of(const Tx *tx, bool role, u32 id)
{
    for (u32 i = tx->ddl.count; i-- > 0;) {
        const StagedChange *c = &tx->ddl.items[i];
        if (c->id == id && is_of_role(c->kind) == role && c->kind != WAL_SET_ACL && c->kind != WAL_TRUNCATE)
            return c;
    }
    return NULL;
}

const TableShm *
staged_table(Writer *w, const Tx *tx, u32 table_id)
{
    u32 maker = world_made_by(w->world, table_id);
    if (maker != UINT32_MAX && maker != tx->slot)
        return NULL;
    const StagedChange *c = tx->ddl.count ? newest_of(tx, false, table_id) : NULL;
    return c && c->kind == WAL_DROP_TABLE ? NULL : world_table(w->world, table_id);
}

const TableDef *
staged_find_table(Writer *w, const Tx *tx, Str name)
{
    const TableDef *d = catalog_find_table(world_root(w->world), name);
    if (d && staged_table(w, tx, d->table_id))
        return d;
    for (u32 i = 0; i < tx->ddl.count; i++) {
        const TableShm *t = tx->ddl.items[i].kind == WAL_CREATE_TABLE ? staged_table(w, tx, tx->ddl.items[i].id) : NULL;
        if (t && str_eq(table_def(t)->name, name))
            return table_def(t);
    }
    return NULL;
}

static bool
read_role(const StagedChange *c, RoleDef *ret)
{
    Error err;
    char verifier[CATREC_VERIFIER_MAX];
    bool keep;
    if (c->kind == WAL_DROP_ROLE)
        return false;
    ensure(catrec_read_role(c->payload, c->len, ret, verifier, &keep, &err));
    return true;
}

bool
staged_role(Writer *w, const Tx *tx, u32 role_id, RoleDef *ret)
{
    const StagedChange *c = tx->ddl.count ? newest_of(tx, true, role_id) : NULL;
    if (c)
        return read_role(c, ret);
    const RoleDef *r = catalog_role(world_root(w->world), role_id);
    if (r)
        *ret = *r;
    return r != NULL;
}

bool
staged_find_role(Writer *w, const Tx *tx, Str name, RoleDef *ret)
{
    const RoleDef *r = catalog_find_role(world_root(w->world), name);
    if (r && staged_role(w, tx, r->role_id, ret) && str_eq(ret->name, name))
        return true;
    for (u32 i = 0; i < tx->ddl.count; i++)
        if (is_of_role(tx->ddl.items[i].kind) && staged_role(w, tx, tx->ddl.items[i].id, ret) && str_eq(ret->name, name))
            return true;
    return false;
}

bool
staged_role_owns_any(Writer *w, const Tx *tx, u32 role_id)
{
    for (u32 i = 0; i < tx->ddl.count; i++) {
        const TableShm *t = tx->ddl.items[i].kind == WAL_CREATE_TABLE ? staged_table(w, tx, tx->ddl.items[i].id) : NULL;
        if (t && table_def(t)->owner_id == role_id)
            return true;
    }
    return false;
}
