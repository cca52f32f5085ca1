/*
 * ddl_stage.c
 *    Catalog changes of an open transaction: kept in order, seen by the transaction's later requests, applied at COMMIT, taken back by ordinal.
 *
 * CREATE TABLE makes a hidden table at once, TRUNCATE a hidden empty one in the place of the table, which is locked against all others (world.h):
 * later parts go there, and what the transaction staged in the table before stays where it is, to be found again when the TRUNCATE is taken back. (Own keys
 * noted before it lead to places in the new private block: no harm, since the row there is compared.) All other changes are only noted. The judge looks at the newest catalog and at these notes (staged_…).
 *
 * REBUILD does the same with another definition. ALTER changes names and defaults only: the new definition is in force for the transaction at once
 * (world_set_altered), and for all others when it is applied.
 *
 * A part whose table is emptied or dropped later in its transaction is dead: COMMIT does not log it.
 * Memory for applying is promised when a change is staged. Writes: hidden tables, the notes. Fails: no memory; nothing is staged then.
 */
#include "walwriter/writer.h"

#include "common/disk/catrec.h"
#include "common/store/rights.h"

#include <stdlib.h>

/* ---- the notes ---- */

static u32
change_id(u16 kind, const u8 *payload, u32 len, Arena *a)
{
    Error err;
    TableDef table;
    u32 id;
    if (kind == WAL_GRANT_ROLE || kind == WAL_SET_RIGHTS)
        return 0;
    if (kind == WAL_CREATE_ROLE || kind == WAL_ALTER_ROLE)
        return get_le32(payload);
    switch (kind) {
    case WAL_CREATE_TABLE:
    case WAL_ALTER_TABLE:
    case WAL_REBUILD_TABLE:
        ensure(catrec_read_table(a, payload, len, &table, &err));
        return table.table_id;
    case WAL_SET_ACL:
        ensure(catrec_read_acl(a, payload, len, &table, &err));
        return table.table_id;
    default:
        ensure(catrec_read_id(payload, len, &id, &err));
        return id;
    }
}

bool
staged_alters(u16 kind)
{
    return kind == WAL_ALTER_TABLE || kind == WAL_SET_ACL;
}

bool
staged_hides(u16 kind)
{
    return kind == WAL_TRUNCATE || kind == WAL_REBUILD_TABLE;
}

bool
staged_empties(u16 kind)
{
    return staged_hides(kind) || kind == WAL_DROP_TABLE;
}

/* What applying it takes, once hidden tables are made. */
static u64
promise_of(World *w, u16 kind, u32 id, u32 len)
{
    const TableShm *t;
    const RolesShm *roles = world_root(w)->roles;
    switch (kind) {
    case WAL_CREATE_TABLE:
    case WAL_TRUNCATE:
    case WAL_REBUILD_TABLE: return CATALOG_PROMISE_LITTLE;
    case WAL_DROP_TABLE: return 0;
    case WAL_ALTER_TABLE:
    case WAL_SET_ACL:
        t = world_table(w, id);
        return CATALOG_PROMISE_LITTLE + 4ull * len + (t ? t->def_bytes : 0);
    default: return CATALOG_PROMISE_LITTLE + 4ull * len + (roles ? 2 * roles_bytes(roles) : 0);
    }
}

/* ---- staging ---- */

void
staged_free(StagedChange *c)
{
    free(c->payload);
    free(c->altered);
}

u32
staged_truncations(const Staged *s, u32 table_id)
{
    u32 n = 0;
    for (u32 i = 0; i < s->count; i++)
        n += staged_hides(s->items[i].kind) && s->items[i].id == table_id;
    return n;
}

/* The definition in a change that has one. */
static TableDef
def_of(const StagedChange *c, Arena *a)
{
    Error err;
    TableDef table;
    arena_reset(a);
    ensure(catrec_read_table(a, c->payload, c->len, &table, &err));
    return table;
}

static bool
make_hidden(World *w, u32 owner, StagedChange *c, Arena *a)
{
    TableDef table;
    switch (c->kind) {
    case WAL_CREATE_TABLE:
        table = def_of(c, a);
        (void)world_hide_created(w, &table, owner);
        return true;
    case WAL_TRUNCATE:
        (void)world_hide_emptied(w, c->id, NULL, owner);
        return true;
    case WAL_REBUILD_TABLE:
        table = def_of(c, a);
        (void)world_hide_emptied(w, c->id, &table, owner);
        return true;
    case WAL_ALTER_TABLE:
        table = def_of(c, a);
        if (!(c->altered = world_copy_def(&table)))
            return false;
        c->altered_before = world_set_altered(w, c->id, c->altered, owner);
        return true;
    case WAL_SET_ACL: {
        Error err;
        arena_reset(a);
        ensure(catrec_read_acl(a, c->payload, c->len, &table, &err));
        TableDef with = *world_table_def(w, c->id, owner);
        with.acl = table.acl;
        with.acl_count = table.acl_count;
        with.acl_version = table.acl_version;
        with.has_acl = table.has_acl;
        if (!(c->altered = world_copy_def(&with)))
            return false;
        c->altered_before = world_set_altered(w, c->id, c->altered, owner);
        return true;
    }
    default:
        return true;
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
    StagedChange c = {.ordinal = ordinal, .owner = owner, .kind = r.kind, .len = r.len, .payload = payload, .id = change_id(r.kind, payload, r.len, a)};
    c.promise = promise_of(w, c.kind, c.id, c.len);
    u64 making = c.kind == WAL_CREATE_TABLE || c.kind == WAL_REBUILD_TABLE ? CATALOG_PROMISE : 0;
    if (!world_reserve_catalog(w, making, err) || (c.promise && !world_reserve_catalog(w, c.promise, err))) {
        free(payload);
        return false;
    }
    bool made = make_hidden(w, owner, &c, a);
    world_unreserve_catalog(w, making);
    if (!made) {
        world_unreserve_catalog(w, c.promise);
        free(payload);
        return error_set(err, ERR_OUT_OF_MEMORY, "out of memory");
    }
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
    if (staged_hides(from->kind))
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
    if (c->kind == WAL_CREATE_TABLE || staged_hides(c->kind))
        world_forget_hidden(w, c->id);
    if (staged_alters(c->kind))
        (void)world_set_altered(w, c->id, c->altered_before, c->owner);
    world_unreserve_catalog(w, c->promise);
    staged_free(c);
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
        if (staged_hides(c.kind))
            bring_rows_back(w, tx, c.id);
    }
}

void
staged_set_aside(World *w, Staged *s)
{
    for (u32 i = s->count; i-- > 0;) {
        StagedChange *c = &s->items[i];
        if (staged_hides(c->kind))
            c->aside = world_set_aside(w, c->id);
        if (staged_alters(c->kind))
            (void)world_set_altered(w, c->id, c->altered_before, c->owner);
    }
}

void
staged_bring_one_back(World *w, StagedChange *c)
{
    if (c->aside)
        world_bring_back(w, c->aside);
    c->aside = NULL;
    if (staged_alters(c->kind))
        (void)world_set_altered(w, c->id, c->altered, c->owner);
}

void
staged_bring_back(World *w, Staged *s)
{
    for (u32 i = 0; i < s->count; i++)
        staged_bring_one_back(w, &s->items[i]);
}

const TableShm *
ddl_staged_table(Writer *w, const Tx *tx)
{
    const StagedChange *c = &tx->ddl.items[tx->ddl.count - 1];
    return c->kind == WAL_CREATE_TABLE || staged_hides(c->kind) ? world_table(w->world, c->id) : NULL;
}

/* ---- COMMIT ---- */

/* A later one made a table from the definition that this one made. */
static bool
is_outdone(const Staged *s, u32 i)
{
    for (u32 k = i + 1; k < s->count; k++)
        if (s->items[k].id == s->items[i].id && staged_empties(s->items[k].kind))
            return true;
    return false;
}

static void
apply_change(World *w, Staged *s, u32 i, Arena *a)
{
    StagedChange *c = &s->items[i];
    TableDef table;
    if (c->kind == WAL_CREATE_TABLE || staged_hides(c->kind)) {
        world_show_table(w, c->id);
    } else if (c->kind == WAL_ALTER_TABLE) {
        table = def_of(c, a);
        if (!is_outdone(s, i))
            world_alter_table(w, &table);
    } else {
        arena_reset(a);
        ddl_apply(w, a, c->kind, c->payload, c->len);
    }
}

/* Before the rows are applied. A table may show the name that it has in the end at once, so names are taken before all and given after all. */
void
staged_apply(World *w, Staged *s, Arena *a)
{
    for (u32 i = 0; i < s->count; i++)
        if (staged_alters(s->items[i].kind) || s->items[i].kind == WAL_DROP_TABLE) {
            if (s->items[i].kind != WAL_SET_ACL)
                world_take_name(w, s->items[i].id);
            (void)world_set_altered(w, s->items[i].id, NULL, 0);
        }
    for (u32 i = 0; i < s->count; i++)
        apply_change(w, s, i, a);
    for (u32 i = 0; i < s->count; i++) {
        if (s->items[i].kind == WAL_CREATE_TABLE || s->items[i].kind == WAL_ALTER_TABLE)
            world_give_name(w, s->items[i].id);
        world_unreserve_catalog(w, s->items[i].promise);
        staged_free(&s->items[i]);
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
newest_of(const Tx *tx, u32 id)
{
    for (u32 i = tx->ddl.count; i-- > 0;) {
        const StagedChange *c = &tx->ddl.items[i];
        if (c->id == id && !catrec_is_of_roles(c->kind) && !staged_hides(c->kind) && !staged_alters(c->kind))
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
    const StagedChange *c = tx->ddl.count ? newest_of(tx, table_id) : NULL;
    return c && c->kind == WAL_DROP_TABLE ? NULL : world_table(w->world, table_id);
}

const TableDef *
staged_find_table(Writer *w, const Tx *tx, Str name)
{
    const TableDef *d = catalog_find_table(world_root(w->world), name);
    d = d && staged_table(w, tx, d->table_id) ? world_table_def(w->world, d->table_id, tx->slot) : NULL;
    if (d && str_eq(d->name, name))
        return d;
    for (u32 i = 0; i < tx->ddl.count; i++) {
        const StagedChange *c = &tx->ddl.items[i];
        bool names = c->kind == WAL_CREATE_TABLE || c->kind == WAL_ALTER_TABLE;
        d = names && staged_table(w, tx, c->id) ? world_table_def(w->world, c->id, tx->slot) : NULL;
        if (d && str_eq(d->name, name))
            return d;
    }
    return NULL;
}

static void *
arena_piece(void *a, u64 bytes)
{
    return arena_alloc(a, bytes);
}

bool
staged_root(Writer *w, Tx *tx, Root *ret)
{
    Error err;
    RoleChange change;
    char verifier[CATREC_VERIFIER_MAX];
    bool keep, any = false;
    *ret = *world_root(w->world);
    for (u32 i = 0; i < tx->ddl.count && !any; i++)
        any = catrec_is_of_roles(tx->ddl.items[i].kind);
    if (!any)
        return true;
    if (!tx->arena)
        return false;
    for (u32 i = 0; i < tx->ddl.count; i++) {
        const StagedChange *c = &tx->ddl.items[i];
        if (!catrec_is_of_roles(c->kind))
            continue;
        ensure(catrec_read_change(tx->arena, c->kind, c->payload, c->len, &change, verifier, &keep, &err));
        if (!(ret->roles = roles_change(ret->roles, &change, arena_piece, tx->arena)))
            return false;
    }
    return true;
}

bool
staged_role_has_any(Writer *w, const Tx *tx, u32 role_id)
{
    for (u32 i = 0; i < tx->ddl.count; i++) {
        u16 kind = tx->ddl.items[i].kind;
        if (kind != WAL_CREATE_TABLE || !staged_table(w, tx, tx->ddl.items[i].id))
            continue;
        const TableDef *t = world_table_def(w->world, tx->ddl.items[i].id, tx->slot);
        if (t && rights_name_role(t->owner_id, t->acl, t->acl_count, role_id))
            return true;
    }
    return false;
}
