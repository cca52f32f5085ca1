/*
 * catalog.c
 *    Catalog changes as requests: one record each (disk/catrec.h), committed with the request.
 */
#include "backend/txn/ask.h"

#include "backend/throw.h"
#include "common/disk/catrec.h"
#include "common/disk/record.h"
#include "common/disk/wal.h"

/* Put a record behind `at` bytes of the area and free its bytes; throws when it does not fit. */
static u32
put_record(Txn *t, u32 at, WalRecordKind kind, ByteBuf *payload)
{
    bool failed = payload->failed, fits = !failed && payload->len <= BOX_AREA_BYTES - at - 2 * RECORD_HEAD_BYTES;
    u32 len = (u32)payload->len;
    if (fits) {
        u8 *area = ask_area(t) + at;
        memcpy(area + RECORD_HEAD_BYTES, payload->data, len);
        at += record_frame(area, (u16)kind, 0, len);
    }
    buf_free(payload);
    if (failed)
        err_throw(ERR_OUT_OF_MEMORY, "out of memory");
    if (!fits)
        err_throw(ERR_PROGRAM_LIMIT_EXCEEDED, "definition is too large");
    return at;
}

/* The walwriter has it, we have not: the statement fails, and with it what it did in the transaction. */
static void
noted(bool done)
{
    if (!done)
        err_throw(ERR_OUT_OF_MEMORY, "out of memory");
}

/* A whole statement's records: outside of a block with the commit. */
static ReqKind
last_kind(const Txn *t)
{
    return txn_is_open(t) ? REQ_PART : t->open_id ? REQ_COMMIT : REQ_WRITE;
}

static TxnOutcome
create_table(Txn *t, const TableDef *def, ReqKind kind, u32 flags, bool if_not_exists, bool *ret_exists, const TableShm **ret_table)
{
    ByteBuf b = {0};
    Error err;
    catrec_put_table(&b, def);
    u32 len = put_record(t, 0, WAL_CREATE_TABLE, &b);
    ask_post(t, kind, flags, len, 1);
    Answer a = ask_collect(t, &err);
    *ret_exists = a.status == ANS_ERROR && if_not_exists && err.code == ERR_DUPLICATE_TABLE && !t->lost;
    if (*ret_exists) {
        if (txn_is_open(t))
            txn_undo(t, t->statement); /* after an error nothing else goes on */
        return TXN_DONE;
    }
    TxnOutcome outcome = ask_settle(t, &a, &err);
    *ret_table = (const TableShm *)(uintptr_t)a.row[0];
    if (outcome == TXN_DONE && txn_is_open(t))
        noted(own_create_table(txn_own(t), t->ordinal, *ret_table));
    return outcome;
}

TxnOutcome
txn_create_table(Txn *t, const TableDef *def, bool if_not_exists, bool *ret_exists)
{
    const TableShm *table;
    return create_table(t, def, last_kind(t), REQ_FLAG_STATEMENT_ENDS, if_not_exists, ret_exists, &table);
}

TxnOutcome
txn_create_filled(Txn *t, const TableDef *def, bool if_not_exists, bool *ret_exists, const TableShm **ret_empty)
{
    (void)txn_snapshot(t); /* the query does not see the table */
    TxnOutcome outcome = create_table(t, def, REQ_PART, 0, if_not_exists, ret_exists, ret_empty);
    t->creates = outcome == TXN_DONE && !*ret_exists;
    return outcome;
}

/* In a block a change is told to the statements that come. */
static bool
note_change(Txn *t, WalRecordKind kind, u32 table_id, const Answer *a)
{
    return kind == WAL_DROP_TABLE ? own_drop_table(txn_own(t), t->ordinal, table_id)
                                  : own_truncate(txn_own(t), t->ordinal, table_id, (const TableShm *)(uintptr_t)a->row[0]);
}

static bool
named_before(const u32 *table_ids, u32 i)
{
    for (u32 k = 0; k < i; k++)
        if (table_ids[k] == table_ids[i])
            return true;
    return false;
}

/* In a block one by one, else in one request. */
static TxnOutcome
change_tables(Txn *t, WalRecordKind kind, const u32 *table_ids, u32 count)
{
    TxnOutcome outcome = TXN_DONE;
    Answer a;
    u32 len = 0, records = 0;
    for (u32 i = 0; i < count && outcome == TXN_DONE; i++) {
        ByteBuf b = {0};
        if (named_before(table_ids, i)) /* DROP TABLE a, a */
            continue;
        catrec_put_id(&b, table_ids[i]);
        len = put_record(t, len, kind, &b);
        records++;
        if (!txn_is_open(t))
            continue;
        outcome = ask(t, REQ_PART, REQ_FLAG_STATEMENT_ENDS, len, 1, &a);
        if (outcome == TXN_DONE)
            noted(note_change(t, kind, table_ids[i], &a));
        len = records = 0;
    }
    return records ? ask(t, last_kind(t), 0, len, records, &a) : outcome;
}

TxnOutcome
txn_drop_tables(Txn *t, const u32 *table_ids, u32 count)
{
    return change_tables(t, WAL_DROP_TABLE, table_ids, count);
}

TxnOutcome
txn_truncate(Txn *t, const u32 *table_ids, u32 count)
{
    return change_tables(t, WAL_TRUNCATE, table_ids, count);
}

/* Does the transaction's snapshot outlive the lock? */
static bool
snapshot_stays(const Txn *t)
{
    return t->looked && t->isolation != TXN_READ_COMMITTED;
}

TxnOutcome
txn_lock_altered(Txn *t, u32 table_id, u32 schema_version)
{
    TxnOutcome outcome = txn_lock_table(t, table_id, schema_version, TABLE_LOCK_ACCESS_EXCLUSIVE, LOCK_WAIT);
    if (!snapshot_stays(t)) {
        txn_drop_snapshot(t);
        (void)txn_snapshot(t);
    }
    return outcome;
}

TxnOutcome
txn_alter_table(Txn *t, const TableDef *def)
{
    ByteBuf b = {0};
    Answer a;
    catrec_put_table(&b, def);
    TxnOutcome outcome = ask(t, last_kind(t), REQ_FLAG_STATEMENT_ENDS, put_record(t, 0, WAL_ALTER_TABLE, &b), 1, &a);
    if (outcome == TXN_DONE && txn_is_open(t))
        noted(own_alter(txn_own(t), t->ordinal, def));
    return outcome;
}

TxnOutcome
txn_rebuild_table(Txn *t, const TableDef *def, const TableShm **ret_empty)
{
    ByteBuf b = {0};
    Answer a;
    catrec_put_table(&b, def);
    bool stays = snapshot_stays(t);
    if (!stays)
        txn_drop_snapshot(t);
    TxnOutcome outcome = ask(t, REQ_PART, 0, put_record(t, 0, WAL_REBUILD_TABLE, &b), 1, &a);
    if (outcome != TXN_DONE)
        return outcome;
    *ret_empty = (const TableShm *)(uintptr_t)a.row[0];
    t->rebuilds = true;
    if (!stays) /* else the walwriter looked that nobody has changed it since */
        txn_drop_snapshot(t);
    (void)txn_snapshot(t);
    if (txn_is_open(t))
        noted(own_rebuild(txn_own(t), t->ordinal, *ret_empty));
    return TXN_DONE;
}

static WalRecordKind
put_change(ByteBuf *b, const RoleChange *c, const char *verifier)
{
    switch (c->kind) {
    case ROLE_CHANGE_PUT: catrec_put_role(b, &c->role, verifier); return c->role.role_id ? WAL_ALTER_ROLE : WAL_CREATE_ROLE;
    case ROLE_CHANGE_DROP: catrec_put_id(b, c->role_id); return WAL_DROP_ROLE;
    case ROLE_CHANGE_MEMBER: catrec_put_member(b, &c->member, c->gone); return WAL_GRANT_ROLE;
    case ROLE_CHANGE_RIGHTS: break;
    }
    catrec_put_rights(b, &c->rights, c->gone);
    return WAL_SET_RIGHTS;
}

TxnOutcome
txn_change_roles(Txn *t, RoleChange *c, const char *verifier)
{
    ByteBuf b = {0};
    Answer a;
    WalRecordKind kind = put_change(&b, c, verifier);
    TxnOutcome outcome = ask(t, last_kind(t), REQ_FLAG_STATEMENT_ENDS, put_record(t, 0, kind, &b), 1, &a);
    if (outcome != TXN_DONE || !txn_is_open(t))
        return outcome;
    if (kind == WAL_CREATE_ROLE)
        c->role.role_id = (u32)a.rows;
    c->role.has_password = verifier && *verifier;
    c->keeps_password = !verifier;
    noted(own_change_roles(txn_own(t), t->ordinal, c));
    return TXN_DONE;
}

TxnOutcome
txn_set_acl(Txn *t, const TableDef *def)
{
    ByteBuf b = {0};
    Answer a;
    catrec_put_acl(&b, def);
    TxnOutcome outcome = ask(t, last_kind(t), REQ_FLAG_STATEMENT_ENDS, put_record(t, 0, WAL_SET_ACL, &b), 1, &a);
    if (outcome == TXN_DONE && txn_is_open(t))
        noted(own_alter(txn_own(t), t->ordinal, def));
    return outcome;
}

void
txn_set_role(Txn *t, u32 role_id)
{
    t->box->req_role = t->role_id = role_id;
}
