/*
 * judge_keys.c
 *    Unique keys of the rows that a request brings.
 *
 * Keys are checked on the set: rows that the transaction itself deletes do not clash. A key of a small request is locked by its hash (two keys
 * of one hash then wait for each other for nothing, which harms no answer); the row's key matters only where it changes. The lock leads to the
 * own rows with that hash, of this request and of earlier ones of a short transaction. The rows of a
 * chain are indexed while they are staged: the entries are their key locks, told from others by their block.
 * An UPDATE in parts may give a row the key of one that a later part deletes: such clashes are remembered and settled at COMMIT.
 * Fails: 23505, no memory.
 */
#include "walwriter/writer.h"

#include "common/store/rights.h"

#include <stdio.h>
#include <stdlib.h>

typedef struct ScratchKey {
    u64 hash;
    u32 part, row;
    u16 key;
    u16 used;
} ScratchKey;

/* ---- the message ---- */

static Value
stored_value(World *w, const TableDef *def, RowId id, u32 column)
{
    BlockView b;
    SliceView s;
    if (world_block_view(w, def->table_id, id, &b) && slice_view(&b, column, &s))
        return slice_value(&s, &def->columns[column], ROW_OFFSET(id));
    return (Value){.type = TYPE_TEXT, .typmod = -1, .is_null = true};
}

static Value
part_value(World *w, const TableDef *def, const PartView *p, u32 row, u32 column)
{
    const ColumnDef *d = &def->columns[column];
    for (u32 i = 0; i < p->column_count; i++) {
        const PartColumn *c = &p->columns[i];
        if (c->column != column)
            continue;
        if (c->phys != PHYS_STR)
            return value_from_phys((TypeId)d->type, d->typmod, c->phys, d->scale, (const u8 *)c->values + (size_t)row * phys_width(c->phys));
        u32 index = part_index(c, row), at = 0;
        for (u32 k = 0; k < index; k++)
            at += part_text_bytes(c, k);
        return (Value){.type = (TypeId)d->type, .typmod = d->typmod, .str = part_str(p, c, index, c->texts + at)};
    }
    return p->old_rows ? stored_value(w, def, p->old_rows[row], column) : (Value){.type = TYPE_TEXT, .typmod = -1, .is_null = true};
}

/* `id` is used when p is NULL. */
static Judged
unique_violation(Writer *w, const Tx *tx, u32 table_id, u32 key, const PartView *p, u32 row, RowId id, Error *err)
{
    static const TypeFormat UTC = {.extra_float_digits = 1};
    const TableDef *def = world_table_def(w->world, table_id, tx->slot);
    const KeyDef *k = &def->keys[key];
    ByteBuf b = {0};
    w->clash_hash = 0;
    if (p)
        (void)world_key_hash(w->world, table_id, key, p, row, &w->clash_hash);
    error_set(err, ERR_UNIQUE_VIOLATION, "duplicate key value violates unique constraint \"%.*s\"", (int)k->name.len, k->name.ptr);
    buf_str(&b, "Key (");
    for (u32 i = 0; i < k->column_count; i++) {
        Str name = def->columns[k->columns[i]].name;
        buf_printf(&b, "%s%.*s", i ? ", " : "", (int)name.len, name.ptr);
    }
    buf_str(&b, ")=(");
    for (u32 i = 0; i < k->column_count; i++) {
        Value v = p ? part_value(w->world, def, p, row, k->columns[i]) : stored_value(w->world, def, id, k->columns[i]);
        buf_str(&b, i ? ", " : "");
        if (v.is_null)
            buf_str(&b, "null");
        else
            value_out(&b, &UTC, &v);
    }
    bool may_see = true;
    for (u32 i = 0; i < k->column_count; i++)
        may_see &= rights_allow_column(world_root(w->world), def, judge_role(w, tx, world_root(w->world)), k->columns[i] + 1u, ACL_SELECT);
    if (may_see)
        error_detail(err, "%.*s) already exists.", (int)b.len, (const char *)b.data);
    buf_free(&b);
    snprintf(err->table, sizeof err->table, "%.*s", (int)def->name.len, def->name.ptr);
    snprintf(err->constraint, sizeof err->constraint, "%.*s", (int)k->name.len, k->name.ptr);
    return JUDGED_ERROR;
}

/* ---- keys within one bulk request ---- */

static bool
scratch_begin(Writer *w, const Tx *tx)
{
    u64 keys = 0, want = 64;
    for (u32 i = 0; i < tx->part_count; i++)
        if (tx->parts[i].kind != PART_DELETE)
            keys += (u64)tx->parts[i].row_count * table_def(world_table(w->world, tx->parts[i].table_id))->key_count;
    while (want < keys * 2)
        want *= 2;
    if (want > w->scratch_capacity) {
        free(w->scratch);
        w->scratch = malloc(want * sizeof *w->scratch);
        w->scratch_capacity = w->scratch ? want : 0;
    }
    if (w->scratch)
        memset(w->scratch, 0, w->scratch_capacity * sizeof *w->scratch);
    return w->scratch != NULL;
}

/* true: an equal key is in the request already. */
static bool
scratch_add(Writer *w, const Tx *tx, u32 part, u32 key, u32 row, u64 hash)
{
    const PartView *p = &tx->parts[part];
    u64 mask = w->scratch_capacity - 1, at = hash_u64(hash + key) & mask;
    for (; w->scratch[at].used; at = (at + 1) & mask) {
        const ScratchKey *s = &w->scratch[at];
        if (s->hash == hash && s->key == key && tx->parts[s->part].table_id == p->table_id &&
            world_key_equal(w->world, p->table_id, key, &tx->parts[s->part], s->row, p, row))
            return true;
    }
    w->scratch[at] = (ScratchKey){hash, part, row, (u16)key, 1};
    return false;
}

/* ---- one key ---- */

/* The transaction takes the key away from the row: a chain deletes it; a short transaction deletes it, or what it becomes has another key (which is
 * noted as its own where it was changed). */
static bool
loses_key(Writer *w, const Tx *tx, u32 part, u32 key, u32 row, RowId id)
{
    const PartView *p = &tx->parts[part];
    if (tx->chain)
        return chain_deletes(tx->chain, p->table_id, id);
    for (;;) {
        const LockHold *h = locks_find(w->locks, tx->slot, (LockTag){p->table_id, LOCK_ROW, 0, id});
        if (h && h->becomes == ROW_GONE)
            return true;
        if (h && h->becomes) {
            id = h->becomes;
            continue;
        }
        if (!world_key_equal_row(w->world, p->table_id, key, p, row, id))
            return true;
        if (!h || h->serial != tx->serial)
            return false;
        const PartView *by = &tx->parts[h->part];
        return by->kind == PART_DELETE || judge_changes_key(&table_def(world_table(w->world, p->table_id))->keys[key], by);
    }
}

u32
judge_stager_of(const Writer *w, u32 table_id, RowId id)
{
    for (u32 i = 0; i < w->bulk_owner_count; i++) {
        const Chain *c = w->txs[w->bulk_owners[i]].chain;
        if (c && chain_has_block(c, table_id, ROW_BLOCK(id)))
            return w->bulk_owners[i];
    }
    return UINT32_MAX;
}

/* All rows of the statement are known. */
static bool
ends_statement(const Tx *tx)
{
    return tx->kind != REQ_PART || (tx->flags & REQ_FLAG_STATEMENT_ENDS);
}

/* A row that stays has the key, as far as is known: a later part of the same UPDATE may take it away. INSERT … ON CONFLICT did not see it. */
static Judged
clash(Writer *w, Tx *tx, u32 part, u32 key, u32 row, RowId found, Error *err)
{
    const PartView *p = &tx->parts[part];
    bool added;
    if (p->kind == PART_INSERT && key < REQ_KEYS_MAX && (tx->flags & (u32)REQ_FLAG_FIRST_KEY << key))
        return judge_gone(tx, err);
    if (ends_statement(tx) || p->kind != PART_UPDATE)
        return unique_violation(w, tx, p->table_id, key, p, row, found, err);
    LayerTable *t = chain_layer_table(tx->chain, p->table_id);
    if (!t || !rowset_add(&t->clashes, found, &added))
        return judge_no_memory(err);
    t->clash_keys |= 1ull << key;
    return JUDGED_YES;
}

static Judged
judge_staged(Writer *w, Tx *tx, u32 part, u32 key, u32 row, RowId found, Error *err)
{
    u32 stager = judge_stager_of(w, tx->parts[part].table_id, found);
    if (stager == UINT32_MAX)
        return JUDGED_YES;
    if (stager != tx->slot)
        return judge_park_on_owner(w, stager);
    return loses_key(w, tx, part, key, row, found) ? JUDGED_YES : clash(w, tx, part, key, row, found, err);
}

static Judged
judge_live(Writer *w, Tx *tx, u32 part, u32 key, u32 row, RowId found, Error *err)
{
    u32 table_id = tx->parts[part].table_id;
    if (loses_key(w, tx, part, key, row, found))
        return JUDGED_YES;
    LockTag tag = {table_id, LOCK_ROW, 0, found};
    if (locks_conflict(w->locks, tx->slot, tag, LOCK_WATCH))
        return judge_park(w, tag, LOCK_WATCH); /* who may be deleting it */
    u32 bulk = judge_bulk_owner(w, tx, table_id, found);
    return bulk != UINT32_MAX ? judge_park_on_owner(w, bulk) : clash(w, tx, part, key, row, found, err);
}

/* The rows that have the key already, live or staged by chains, one by one. */
typedef struct Rivals {
    Writer *w;
    Tx *tx;
    u32 part, key, row;
    Judged judged;
    Error *err;
} Rivals;

static bool
judge_rival(void *ctx, RowId id)
{
    Rivals *r = ctx;
    RowState state = world_row_state(r->w->world, r->tx->parts[r->part].table_id, id);
    if (state == ROW_STAGED)
        r->judged = judge_staged(r->w, r->tx, r->part, r->key, r->row, id, r->err);
    else if (state == ROW_LIVE)
        r->judged = judge_live(r->w, r->tx, r->part, r->key, r->row, id, r->err);
    return r->judged == JUDGED_YES;
}

void
judge_pop_keys(Tx *tx, u32 count)
{
    while (tx->own_count > count) {
        const OwnKey *k = &tx->own_keys[--tx->own_count];
        k->hold->own = k->older;
    }
}

/* An own row that stays has the key: all those of its hash are looked at. */
static bool
own_row_has(Writer *w, const Tx *tx, const LockHold *h, u32 part, u32 key, u32 row)
{
    const PartView *p = &tx->parts[part];
    for (u32 i = h->own; i; i = tx->own_keys[i - 1].older) {
        const OwnKey *k = &tx->own_keys[i - 1];
        bool equal = k->part == PART_STAGED
                         ? !loses_key(w, tx, part, key, row, k->id)
                         : world_key_equal(w->world, p->table_id, key, &tx->parts[k->part], k->row, p, row);
        if (equal)
            return true;
    }
    return false;
}

static Judged
judge_rivals(Writer *w, Tx *tx, u32 part, u32 key, u32 row, Error *err)
{
    const PartView *p = &tx->parts[part];
    Rivals rivals = {.w = w, .tx = tx, .part = part, .key = key, .row = row, .judged = JUDGED_YES, .err = err};
    world_key_each(w->world, p->table_id, key, p, row, judge_rival, &rivals);
    return rivals.judged;
}

/* Who waits for the row that has the key does not hold the key's lock: whoever frees the key may take it again. */
static Judged
judge_key(Writer *w, Tx *tx, u32 part, u32 key, u32 row, bool others, Error *err)
{
    const PartView *p = &tx->parts[part];
    u64 hash;
    LockHold *h = NULL;
    if (!world_key_hash(w->world, p->table_id, key, p, row, &hash))
        return JUDGED_YES;
    Judged j = judge_rivals(w, tx, part, key, row, err);
    if (j != JUDGED_YES)
        return j;
    LockTag tag = {p->table_id, LOCK_KEY, (u16)key, hash};
    if (tx_is_bulk(tx)) {
        if (others && locks_conflict(w->locks, tx->slot, tag, LOCK_WATCH))
            return judge_park(w, tag, LOCK_WATCH);
        if (scratch_add(w, tx, part, key, row, hash))
            return unique_violation(w, tx, p->table_id, key, p, row, 0, err);
    } else {
        LockResult r = locks_take(w->locks, tx->slot, tag, LOCK_EXCLUSIVE, &h);
        if (r == LOCK_BUSY)
            return judge_park(w, tag, LOCK_EXCLUSIVE);
        if (r == LOCK_NO_MEMORY || !tx_grow(&tx->own_keys, &tx->own_capacity, tx->own_count + 1, sizeof *tx->own_keys)) {
            error_set(err, ERR_OUT_OF_MEMORY, "out of memory");
            return JUDGED_ERROR;
        }
        if (own_row_has(w, tx, h, part, key, row))
            return unique_violation(w, tx, p->table_id, key, p, row, 0, err);
        tx->own_keys[tx->own_count] = (OwnKey){.hold = h, .older = h->own, .part = part, .row = row};
        h->own = ++tx->own_count;
    }
    return JUDGED_YES;
}

/* ---- all keys ---- */

bool
judge_changes_key(const KeyDef *k, const PartView *p)
{
    if (p->kind == PART_INSERT)
        return true;
    for (u32 i = 0; i < k->column_count; i++)
        for (u32 c = 0; c < p->column_count; c++)
            if (p->columns[c].column == k->columns[i])
                return true;
    return false;
}

/* An UPDATE in parts sets the same columns in all of them: a row whose key was given away loses it, and does not only become another one. */
static Judged
judge_clashing(Writer *w, Tx *tx, const PartView *p, Error *err)
{
    const TableDef *def = table_def(world_table(w->world, p->table_id));
    LayerTable *t = chain_layer_table(tx->chain, p->table_id);
    if (!t)
        return judge_no_memory(err);
    for (u32 k = 0; k < def->key_count && t->clash_keys; k++)
        for (u32 i = 0; i < p->row_count && (t->clash_keys >> k & 1) && !judge_changes_key(&def->keys[k], p); i++)
            if (rowset_has(&t->clashes, p->old_rows[i]))
                return unique_violation(w, tx, p->table_id, k, NULL, 0, p->old_rows[i], err);
    return JUDGED_YES;
}

static Judged
judge_part_keys(Writer *w, Tx *tx, u32 part, bool others, Error *err)
{
    const PartView *p = &tx->parts[part];
    const TableDef *def = table_def(world_table(w->world, p->table_id));
    u32 keys[64], key_count = 0;
    for (u32 k = 0; k < def->key_count && k < COUNT_OF(keys); k++)
        if (judge_changes_key(&def->keys[k], p))
            keys[key_count++] = k;
    if (key_count)
        world_part_begin(w->world, p);
    for (u32 row = 0; row < p->row_count && key_count; row++)
        for (u32 k = 0; k < key_count; k++) {
            Judged j = judge_key(w, tx, part, keys[k], row, others, err);
            if (j != JUDGED_YES)
                return j;
        }
    return JUDGED_YES;
}

/* The last request of a statement in a chain: every row whose key was given away must have been deleted. */
Judged
judge_settle(Writer *w, Tx *tx, Error *err)
{
    RowId missing;
    const Layer *l = tx->chain->layer_count ? &tx->chain->layers[tx->chain->layer_count - 1] : NULL;
    for (u32 i = 0; l && i < l->table_count; i++) {
        LayerTable *t = &l->tables[i];
        if (!rowset_within(&t->clashes, &t->deletes, &missing))
            return unique_violation(w, tx, t->table_id, (u32)__builtin_ctzll(t->clash_keys), NULL, 0, missing, err);
        rowset_clear(&t->clashes);
        t->clash_keys = 0;
    }
    return JUDGED_YES;
}

Judged
judge_keys(Writer *w, Tx *tx, Error *err)
{
    bool others = locks_space_count(w->locks, LOCK_KEY) > locks_owner_count(w->locks, tx->slot, LOCK_KEY);
    if (tx_is_bulk(tx) && !scratch_begin(w, tx)) {
        error_set(err, ERR_OUT_OF_MEMORY, "out of memory");
        return JUDGED_ERROR;
    }
    for (u32 i = 0; i < tx->part_count; i++) {
        const PartView *p = &tx->parts[i];
        Judged j = tx->chain && p->kind == PART_UPDATE ? judge_clashing(w, tx, p, err) : JUDGED_YES;
        if (j == JUDGED_YES && p->kind != PART_DELETE)
            j = judge_part_keys(w, tx, i, others, err);
        if (j != JUDGED_YES)
            return j;
    }
    return tx->chain && ends_statement(tx) ? judge_settle(w, tx, err) : JUDGED_YES;
}
