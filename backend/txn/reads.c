/*
 * reads.c
 *    What a SERIALIZABLE transaction has read: tables that were scanned, keys that were looked up and what was found. It travels with the
 *    commit, and the walwriter judges by it.
 *
 * A set a table: up to READ_KEYS_MAX keys, each once; beyond it the whole table stands for them. What was found first counts: the key a
 * transaction changed itself is locked by it. Writes: memory of the transaction's arena.
 */
#include "backend/txn/ask.h"

#include "common/base/hash.h"
#include "common/disk/record.h"

enum { READ_KEYS_MAX = 1000, KEY_SLOTS = 2048, TABLE_BYTES = RECORD_HEAD_BYTES + 8, KEY_BYTES = RECORD_HEAD_BYTES + 24 };

typedef struct ReadKey {
    u32 key;
    u64 hash;
    RowId found;
} ReadKey;

typedef struct ReadTable {
    struct ReadTable *next;
    u32 table_id, count;
    bool whole;
    ReadKey *keys; /* READ_KEYS_MAX of them; NULL until the first */
    u16 *slots;    /* by hash: index + 1, 0 empty */
} ReadTable;

struct ReadSet {
    ReadTable *tables;
};

static ReadTable *
read_table(Txn *t, u32 table_id)
{
    if (!t->reads)
        t->reads = ARENA_NEW(t->arena, ReadSet);
    for (ReadTable *r = t->reads->tables; r; r = r->next)
        if (r->table_id == table_id)
            return r;
    ReadTable *r = ARENA_NEW(t->arena, ReadTable);
    r->table_id = table_id;
    r->next = t->reads->tables;
    t->reads->tables = r;
    return r;
}

/* It made the table itself: nobody else can change it, and it may be gone again by COMMIT. */
static bool
is_own_table(const Txn *t, u32 table_id)
{
    return t->pinned && !store_table(t->published.root, table_id);
}

void
txn_note_read_table(Txn *t, u32 table_id)
{
    if (t->isolation == TXN_SERIALIZABLE && !t->rebuilds && !is_own_table(t, table_id)) /* what it has locked nobody changes */
        read_table(t, table_id)->whole = true;
}

void
txn_note_read_key(Txn *t, u32 table_id, u32 key, u64 hash, RowId found)
{
    if (t->isolation != TXN_SERIALIZABLE || is_own_table(t, table_id) || (t->own && own_made_row(t->own, table_id, found)))
        return;
    ReadTable *r = read_table(t, table_id);
    if (r->whole)
        return;
    if (!r->keys) {
        r->keys = ARENA_ARRAY(t->arena, ReadKey, READ_KEYS_MAX);
        r->slots = arena_zalloc(t->arena, KEY_SLOTS * sizeof *r->slots);
    }
    u32 at = (u32)hash_u64(hash ^ key) % KEY_SLOTS;
    for (; r->slots[at]; at = (at + 1) % KEY_SLOTS) {
        const ReadKey *k = &r->keys[r->slots[at] - 1];
        if (k->key == key && k->hash == hash)
            return;
    }
    if (r->count == READ_KEYS_MAX) {
        r->whole = true;
        return;
    }
    r->keys[r->count++] = (ReadKey){key, hash, found};
    r->slots[at] = (u16)r->count;
}

bool
reads_missed(const Txn *t, u64 hash)
{
    if (t->isolation != TXN_SERIALIZABLE || !t->reads || !hash)
        return false;
    for (const ReadTable *r = t->reads->tables; r; r = r->next)
        for (u32 i = 0; i < r->count; i++)
            if (r->keys[i].hash == hash && !r->keys[i].found)
                return true;
    return false;
}

static u32
table_bytes(const ReadTable *r)
{
    return r->whole ? TABLE_BYTES : r->count * KEY_BYTES;
}

/* Whole tables instead of keys, those with most keys first, until all fits. */
static bool
fit(ReadSet *s, u32 room)
{
    for (;;) {
        u64 bytes = 0;
        ReadTable *most = NULL;
        for (ReadTable *r = s->tables; r; r = r->next) {
            bytes += table_bytes(r);
            if (!r->whole && (!most || r->count > most->count))
                most = r;
        }
        if (bytes <= room)
            return true;
        if (!most || most->count <= 1)
            return false;
        most->whole = true;
    }
}

static u32
put_table(const ReadTable *r, u8 *to)
{
    u32 len = 0;
    if (r->whole) {
        put_le64(to + RECORD_HEAD_BYTES, r->table_id);
        return record_frame(to, BOX_READ_TABLE, 0, 8);
    }
    for (u32 i = 0; i < r->count; i++) {
        u8 *p = to + len + RECORD_HEAD_BYTES;
        put_le32(p, r->table_id);
        put_le32(p + 4, r->keys[i].key);
        put_le64(p + 8, r->keys[i].hash);
        put_le64(p + 16, r->keys[i].found);
        len += record_frame(to + len, BOX_READ_KEY, 0, 24);
    }
    return len;
}

bool
reads_put(Txn *t, u32 *at)
{
    if (t->isolation != TXN_SERIALIZABLE || !t->reads)
        return true;
    if (!fit(t->reads, BOX_AREA_BYTES - *at))
        return false;
    u8 *area = ask_area(t);
    for (const ReadTable *r = t->reads->tables; r; r = r->next)
        *at += put_table(r, area + *at);
    return true;
}
