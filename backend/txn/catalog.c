/*
 * catalog.c
 *    Catalog changes and CHECKPOINT as requests: one record each (disk/catrec.h), committed with the request.
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

static TxnOutcome
ask(Txn *t, ReqKind kind, u32 len, Error *err)
{
    ask_post(t, kind, len);
    Answer a = ask_collect(t, err);
    return ask_settle(t, &a, err);
}

TxnOutcome
txn_create_table(Txn *t, const TableDef *def, bool if_not_exists, bool *ret_exists)
{
    ByteBuf b = {0};
    Error err;
    catrec_put_table(&b, def);
    u32 len = put_record(t, 0, WAL_CREATE_TABLE, &b);
    ask_post(t, REQ_WRITE, len);
    Answer a = ask_collect(t, &err);
    *ret_exists = a.status == ANS_ERROR && if_not_exists && err.code == ERR_DUPLICATE_TABLE;
    return *ret_exists ? TXN_DONE : ask_settle(t, &a, &err);
}

TxnOutcome
txn_drop_tables(Txn *t, const u32 *table_ids, u32 count)
{
    Error err;
    u32 len = 0;
    for (u32 i = 0; i < count; i++) {
        ByteBuf b = {0};
        bool named_before = false;
        for (u32 k = 0; k < i && !named_before; k++)
            named_before = table_ids[k] == table_ids[i];
        if (named_before) /* DROP TABLE a, a */
            continue;
        catrec_put_id(&b, table_ids[i]);
        len = put_record(t, len, WAL_DROP_TABLE, &b);
    }
    return count ? ask(t, REQ_WRITE, len, &err) : TXN_DONE;
}

TxnOutcome
txn_truncate(Txn *t, u32 table_id)
{
    ByteBuf b = {0};
    Error err;
    catrec_put_id(&b, table_id);
    return ask(t, REQ_WRITE, put_record(t, 0, WAL_TRUNCATE, &b), &err);
}

TxnOutcome
txn_put_role(Txn *t, const RoleDef *role, const char *verifier)
{
    ByteBuf b = {0};
    Error err;
    catrec_put_role(&b, role, verifier);
    return ask(t, REQ_WRITE, put_record(t, 0, role->role_id ? WAL_ALTER_ROLE : WAL_CREATE_ROLE, &b), &err);
}

void
txn_checkpoint(Txn *t)
{
    Error err;
    (void)ask(t, REQ_CHECKPOINT, 0, &err);
}
