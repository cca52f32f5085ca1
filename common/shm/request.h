/*
 * request.h
 *    What a request may carry beside the records of the log: numbers of requests.def, flags, and records that only the box holds.
 *
 * Records of the box are framed like those of the log (disk/record.h), little-endian, and never logged.
 *
 *   LOCK_ROWS      0 u32 table id  4 u32 schema version  8 u8 RowLockMode  9 u8 LockWait  10 u16 0  12 u32 n <= BOX_LOCK_ROWS  16 u64 row ids x n
 *   LOCK_TABLE     0 u32 table id  4 u32 schema version  8 u8 TableLockMode  9 u8 LockWait  10 u8 0 x 6
 *   LOCK_ADVISORY  0 u64 key  8 u8 class (1: one bigint, 2: two integers, the first in the upper half)  9 u8 1 = shared  10 u8 LockWait
 *                  11 u8 AdvisoryWhat  12 u32 0
 *   READ_TABLE     0 u32 table id  4 u32 0                     a SERIALIZABLE transaction looked at all of its rows
 *   READ_KEY       0 u32 table id  4 u32 key number  8 u64 hash of the key  16 u64 the row found, 0: none
 *   NOTIFY         a notification as in notify.h; behind the records of a request that commits and before what was read, or in NOTIFY requests
 *
 * LIST_LOCKS is answered with LockRows in the answer area: ans_rows bytes of them, ans_row[0] how many there are, since only so many fit.
 *
 * What answers say beside AnsStatus: a part: ans_row[0] and [1] its first and second target row, ans_txn the open transaction; rows in the transaction's private
 * block have STAGED_BLOCK in their block id and ans_slot its address. CREATE TABLE: ans_rows the table id, ans_row[0] the address of its TableShm.
 * 23505: ans_row[0] the hash of the key, 0 when it is not known. LOCK of rows: ans_bits. LOCK, advisory: ans_rows 1 = granted (released), 0 = not (NOWAIT and SKIP do not wait).
 */
#ifndef REQUEST_H
#define REQUEST_H

#include "common/base/base.h"

typedef enum ReqKind {
#define REQUEST(number, symbol, payload) REQ_##symbol = number,
#include "common/shm/requests.def"
} ReqKind;

/* req_flags */
enum {
    REQ_FLAG_TABLE_LOCK = 1,     /* after three RETRYs: take the table's write lock first; LOCK with SKIP: pass over rows that are gone */
    REQ_FLAG_SNAPSHOT = 2,       /* REPEATABLE READ: a row changed since req_version is 40001, not RETRY */
    REQ_FLAG_NEWEST_ROWS = 8,    /* READ COMMITTED in a block: rows that were compacted since req_version are RETRY */
    REQ_FLAG_STATEMENT_ENDS = 4, /* PART: the statement's last one, its keys are settled now */
    REQ_FLAG_FIRST_KEY = 1 << 8, /* from here on a bit a key: a row to be inserted that clashes in it with one that the statement did not see is RETRY, not 23505 */
};
enum { REQ_KEYS_MAX = 24 };

typedef enum BoxRecordKind { BOX_LOCK_ROWS_RECORD = 256, BOX_LOCK_TABLE_RECORD, BOX_LOCK_ADVISORY_RECORD, BOX_READ_TABLE, BOX_READ_KEY, BOX_NOTIFY } BoxRecordKind;

/* PostgreSQL's, weakest first; who conflicts with whom stands in walwriter/locks.c. */
typedef enum RowLockMode { ROW_LOCK_KEY_SHARE = 1, ROW_LOCK_SHARE, ROW_LOCK_NO_KEY_UPDATE, ROW_LOCK_UPDATE } RowLockMode;
typedef enum TableLockMode {
    TABLE_LOCK_ACCESS_SHARE = 1,
    TABLE_LOCK_ROW_SHARE,
    TABLE_LOCK_ROW_EXCLUSIVE,
    TABLE_LOCK_SHARE_UPDATE_EXCLUSIVE,
    TABLE_LOCK_SHARE,
    TABLE_LOCK_SHARE_ROW_EXCLUSIVE,
    TABLE_LOCK_EXCLUSIVE,
    TABLE_LOCK_ACCESS_EXCLUSIVE,
} TableLockMode;
typedef enum LockWait { LOCK_WAIT = 0, LOCK_NOWAIT, LOCK_SKIP } LockWait;
typedef enum AdvisoryWhat { ADVISORY_TRANSACTION = 0, ADVISORY_SESSION, ADVISORY_UNLOCK, ADVISORY_UNLOCK_ALL } AdvisoryWhat;

/* ---- the lock table, as LIST_LOCKS shows it and walwriter/locks.h uses it ---- */

typedef enum LockSpace {
    LOCK_ROW = 1,   /* table, row id */
    LOCK_KEY,       /* table, key number, hash of the key */
    LOCK_TABLE,     /* table */
    LOCK_NAME,      /* key: what kind of name; id: its hash */
    LOCK_TXN,       /* id: the slot; held by owners of bulk locks when somebody waits for them */
    LOCK_ADVISORY,  /* key: class; id: key */
} LockSpace;

/* RowLockMode and TableLockMode in their order; the rest serves all other spaces. */
typedef enum LockMode {
    LOCK_FOR_KEY_SHARE = 1,
    LOCK_FOR_SHARE,
    LOCK_FOR_NO_KEY_UPDATE, /* UPDATE that leaves the keys alone */
    LOCK_FOR_UPDATE,        /* other UPDATEs, DELETE */
    LOCK_TABLE_ACCESS_SHARE,
    LOCK_TABLE_ROW_SHARE,     /* who locks rows */
    LOCK_TABLE_ROW_EXCLUSIVE, /* who writes rows */
    LOCK_TABLE_SHARE_UPDATE_EXCLUSIVE,
    LOCK_TABLE_SHARE,
    LOCK_TABLE_SHARE_ROW_EXCLUSIVE,
    LOCK_TABLE_EXCLUSIVE,     /* a statement that was retried three times */
    LOCK_TABLE_ACCESS_EXCLUSIVE,
    LOCK_SHARED,
    LOCK_EXCLUSIVE,
    LOCK_WATCH, /* only to wait with: until nobody holds it for changing it; grants nothing */
    LOCK_MODES,
} LockMode;

/* A mode that a connection slot holds in a lock, or waits for. */
typedef struct LockRow {
    u32 slot;
    i32 pid;
    u32 table_id;
    u16 key;     /* number of the key; ADVISORY: its class */
    u8 space;    /* LockSpace */
    u8 mode;     /* LockMode */
    u64 id;      /* row id; hash of the key or name; slot; advisory key */
    u8 granted;  /* 0: it waits */
    u8 session;  /* ADVISORY: outlives the transaction */
    u8 pad[6];
} LockRow;
_Static_assert(sizeof(LockRow) == 32, "LockRow");

typedef enum BackendSignal { SIGNAL_CANCEL = 1, SIGNAL_TERMINATE } BackendSignal;

#endif
