/*
 * lock.c
 *    Locks of rows, tables and advisory keys as requests: one record each (common/shm/request.h), kept by the walwriter to the transaction's end. And
 *    requests that change nothing: the list of locks, signals, CHECKPOINT.
 */
#include "backend/txn/ask.h"

#include "common/disk/record.h"

TxnOutcome
txn_lock_rows(Txn *t, u32 table_id, u32 schema_version, RowLockMode mode, LockWait wait, const RowId *rows, u32 n, u64 *ret_bits)
{
    Error err;
    ensure(n <= BOX_LOCK_ROWS);
    if (n == 0)
        return TXN_DONE;
    u8 *area = ask_area(t), *p = area + RECORD_HEAD_BYTES;
    put_le32(p, table_id);
    put_le32(p + 4, schema_version);
    put_le32(p + 8, (u32)mode | (u32)wait << 8);
    put_le32(p + 12, n);
    for (u32 i = 0; i < n; i++)
        put_le64(p + 16 + 8ull * i, rows[i]);
    u32 flags = wait == LOCK_SKIP && t->skip_retries >= RETRIES_BEFORE_TABLE_LOCK ? REQ_FLAG_TABLE_LOCK : 0;
    ask_post(t, REQ_LOCK, flags, record_frame(area, BOX_LOCK_ROWS_RECORD, 0, 16 + 8 * n), 1);
    Answer a = ask_collect(t, &err);
    if (a.status == ANS_RETRY || a.status == ANS_REPLAN) { /* the statement still stands on its snapshot */
        t->lock_wait = wait;
        t->lock_status = a.status;
        t->lock_version = a.version;
        return a.status == ANS_RETRY ? TXN_RETRY : TXN_REPLAN;
    }
    TxnOutcome outcome = ask_settle(t, &a, &err);
    memcpy(ret_bits, t->box->ans_bits, (n + 63) / 64 * sizeof *ret_bits);
    return outcome;
}

void
txn_leave_snapshot(Txn *t)
{
    Answer a = {.status = t->lock_status ? t->lock_status : ANS_REPLAN, .version = t->lock_version}; /* nothing asked: the caller saw another schema */
    u32 retries = t->retries;
    t->lock_status = 0;
    (void)ask_settle(t, &a, NULL);
    if (t->lock_wait == LOCK_SKIP) {
        t->skip_retries += t->retries - retries;
        t->retries = retries;
    }
}

TxnOutcome
txn_lock_table(Txn *t, u32 table_id, u32 schema_version, TableLockMode mode, LockWait wait)
{
    Answer a;
    u8 *area = ask_area(t), *p = area + RECORD_HEAD_BYTES;
    put_le32(p, table_id);
    put_le32(p + 4, schema_version);
    put_le64(p + 8, (u64)mode | (u64)wait << 8);
    return ask(t, REQ_LOCK, 0, record_frame(area, BOX_LOCK_TABLE_RECORD, 0, 16), 1, &a);
}

bool
txn_advisory(Txn *t, u64 key, u32 key_class, bool shared, LockWait wait, AdvisoryWhat what)
{
    Answer a;
    u8 *area = ask_area(t), *p = area + RECORD_HEAD_BYTES;
    put_le64(p, key);
    put_le64(p + 8, (u64)key_class | (u64)shared << 8 | (u64)wait << 16 | (u64)what << 24);
    return ask(t, REQ_LOCK, 0, record_frame(area, BOX_LOCK_ADVISORY_RECORD, 0, 16), 1, &a) == TXN_DONE && a.rows == 1;
}

bool
txn_signal(Txn *t, u32 slot, u32 generation, BackendSignal what)
{
    Answer a;
    u8 *area = ask_area(t);
    put_le32(area, slot);
    put_le32(area + 4, generation);
    put_le64(area + 8, (u64)what);
    return ask(t, REQ_SIGNAL, 0, 16, 0, &a) == TXN_DONE && a.rows == 1;
}

const LockRow *
txn_list_locks(Txn *t, Arena *a, u32 *ret_count)
{
    Answer answer;
    *ret_count = 0;
    if (ask(t, REQ_LIST_LOCKS, 0, 0, 0, &answer) != TXN_DONE)
        return NULL;
    u64 bytes = MIN(answer.rows, (u64)BOX_ANSWER_BYTES) / sizeof(LockRow) * sizeof(LockRow);
    LockRow *rows = arena_alloc(a, bytes + 1);
    memcpy(rows, t->box->answer, bytes);
    *ret_count = (u32)(bytes / sizeof *rows);
    return rows;
}

void
txn_checkpoint(Txn *t)
{
    Answer a;
    (void)ask_area(t);
    (void)ask(t, REQ_CHECKPOINT, 0, 0, 0, &a);
}
