/*
 * writer.h
 *    The walwriter's private state: transactions by slot, groups in flight, and what its files ask of each other.
 *
 * One request of a slot goes: intake (copy, check) -> judge (locks, rights, keys) -> log (into the open group) -> durable -> apply ->
 * publish -> release -> answer. Parked requests leave that path at judge and come back to it when their lock is granted.
 * All of it is private memory of one thread (I9).
 */
#ifndef WRITER_H
#define WRITER_H

#include "common/base/arena.h"
#include "common/base/hash.h"
#include "common/disk/commit.h"
#include "common/disk/part.h"
#include "common/disk/record.h"
#include "common/disk/wal.h"
#include "common/shm/publish.h"
#include "common/shm/request.h"
#include "walwriter/locks.h"
#include "walwriter/rowset.h"
#include "walwriter/world.h"

enum {
    CHAIN_RECORD_BYTES = RECORD_HEAD_BYTES + CHAIN_BYTES,
    UNDO_RECORD_BYTES = RECORD_HEAD_BYTES + UNDO_BYTES,
    ABORT_RECORD_BYTES = RECORD_HEAD_BYTES + 8,
    COMMIT_RECORD_BYTES = RECORD_HEAD_BYTES + COMMIT_BYTES,
    FRAME_KEPT_BYTES = 16 * 1024,      /* a slot's frame buffer is kept up to this size */
    BULK_REQUEST_BYTES = 32 * 1024,    /* requests above it are handled after the small ones of a turn */
    TURN_BULK_BYTES = 1 << 20,         /* bulk requests of one turn */
    GROUP_LIMIT_BYTES = 3 << 20,       /* a group is submitted when the next request could pass this */
    OPEN_TXN = 1,                      /* ans_txn of an open transaction without a chain */
    ITEMS_A_REQUEST = 2,               /* frames that one request may add to its group, each an item */
    GROUPS_IN_FLIGHT = 4,
    GROUP_RING = 64,                   /* more than are in flight */
    KEPT_LIMIT_BYTES = 256 * 1024,     /* kept records of a short transaction */
    FORWARD_PLACES = 8192,
    CHANGED_PLACES = 4096,
    SEAL_AFTER_NS = 100 * 1000 * 1000,
    RESUME_EVERY_NS = 1000 * 1000 * 1000,
    SNAPSHOT_BYTES_DEFAULT = 1 << 30,
};

/* A catalog change of an open transaction (ddl_stage.c). */
typedef struct StagedChange {
    u32 ordinal, id; /* id: of the table or role */
    u32 owner;       /* slot */
    u16 kind;
    u32 len;
    u8 *payload;     /* its own copy */
    u64 promise;     /* of memory, for applying it */
    u64 at;          /* its place among the records of COMMIT */
    struct TableWork *aside; /* TRUNCATE, REBUILD: its hidden table, while that is set aside */
    TableDef *altered;       /* ALTER: its own copy */
    const TableDef *altered_before; /* what was in force before; NULL: the table's */
} StagedChange;

typedef struct Staged {
    StagedChange *items;
    u32 count, capacity;
} Staged;

/* ---- chains: transactions of more than one frame ---- */
/* Its blocks of a table. */
typedef struct ChainTable {
    u32 table_id, generation;
    u32 block_count, block_capacity;
    u64 *blocks;       /* in the order taken; the last is being filled */
    u32 filled;        /* rows of the last block */
} ChainTable;

/* What a layer knows of a table. */
typedef struct LayerTable {
    u32 table_id, generation;
    u32 block_count, filled; /* of the ChainTable when the layer met it */
    RowSet deletes;    /* old rows of UPDATE and DELETE parts */
    RowSet clashes;    /* rows whose key an UPDATE part gave to another row: the statement must delete them */
    u64 clash_keys;    /* which keys, a bit each */
} LayerTable;

/* A TRUNCATE or DROP in the transaction: what it has in the table from before belongs to an older generation, which is dead unless this is taken back. */
typedef struct Emptied {
    u32 table_id, ordinal;
} Emptied;

typedef struct Layer {
    u32 floor;         /* the last ordinal before it */
    u32 table_count, table_capacity;
    LayerTable *tables;
    u64 rows;          /* changed before it */
} Layer;

typedef struct Chain {
    u64 id;
    u32 table_count, table_capacity;
    ChainTable *tables;
    u32 layer_count, layer_capacity;
    Layer *layers;     /* the last is the running statement's */
    Emptied *emptied;
    u32 emptied_count, emptied_capacity;
    Staged ddl;        /* recovery: its catalog changes */
    LongText *longs;   /* that the running statement has sent for its next part */
    u32 long_count, long_capacity;
    u64 rows;
    u32 last_ordinal;  /* newest record that was logged */
    u64 first_lsn;     /* of its first frame; 0: none logged */
} Chain;

Chain *chain_new(u64 id); /* NULL without memory */
/* A request of that statement would be the first one. */
bool chain_begins(const Chain *c, u32 statement);
/* Before anything of a statement: its layer is the newest. `savepoint`: the last ordinal before the newest live one. */
MUST_CHECK bool chain_begin_statement(World *w, Chain *c, u32 statement, u32 savepoint, Error *err);
/* A piece of a long text, for the next part: the memory for a text is taken by its first one. */
MUST_CHECK bool chain_add_text(World *w, Chain *c, const TextPiece *t, Error *err);
/* The part that named them is applied, or they are void. */
void chain_drop_texts(World *w, Chain *c);
/* The part may name the chain's long texts. */
static inline void
chain_show_texts(const Chain *c, PartView *p)
{
    p->longs = c->longs;
    p->long_count = c->long_count;
}
LayerTable *chain_layer_table(Chain *c, u32 table_id); /* of the newest layer, found or made; NULL without memory */
/* Target rows for an INSERT or UPDATE part, written into its bytes and its view. */
MUST_CHECK bool chain_take_rows(World *w, Chain *c, PartView *p, u8 *bytes, Error *err);
/* Recovery: make the blocks that the part names. */
MUST_CHECK bool chain_adopt_rows(World *w, Chain *c, const PartView *p, Error *err);
MUST_CHECK bool chain_note_deletes(Chain *c, const PartView *p, bool *ret_repeated, Error *err);
/* The table is emptied or dropped by the record with this ordinal. */
MUST_CHECK bool chain_empty(Chain *c, u32 table_id, u32 ordinal, Error *err);
void chain_unempty(Chain *c, u32 ordinal); /* take back those after the ordinal */
bool chain_deletes(const Chain *c, u32 table_id, RowId id);
/* It deletes rows of the block, or has clashes of keys with them. */
bool chain_touches_block(const Chain *c, u32 table_id, u64 block);
bool chain_has_block(const Chain *c, u32 table_id, u64 block);
/* Memory for the deletes, before the commit is logged. */
MUST_CHECK bool chain_reserve(World *w, Chain *c, Error *err);
/* After the commit frame is durable: deletes and blocks become part of the applied state; frees the chain. */
void chain_commit(World *w, Chain *c, u64 version);
/* Take back the layers from this ordinal on; returns the last ordinal kept, UINT32_MAX: there was none. */
u32 chain_undo(World *w, Chain *c, u32 ordinal);
void chain_drop(World *w, Chain *c);
/* Only its blocks, as far as they are in tables that are not set aside. */
void chain_drop_blocks(World *w, const Chain *c);

/* ---- short transactions of several requests (kept.c) ---- */
/* A request whose records are kept. */
typedef struct KeptMark {
    u32 ordinal;     /* of its first record */
    u32 statement, savepoint;
    u32 from;        /* where its records begin among the kept ones */
    u32 own_keys;    /* noted before it */
} KeptMark;

/* A table in which the transaction has a private block. */
typedef struct StagedTable {
    u32 table_id, generation; /* generation: how often the transaction has emptied the table before */
    u32 count, capacity; /* rows that have got their final place; 0 until the transaction ends or becomes a chain */
    RowId *places;       /* by offset in the private block */
} StagedTable;

/* A key that the transaction's own rows have: its lock leads to the newest row with that hash, which leads to older ones. */
enum { PART_STAGED = UINT32_MAX };
typedef struct OwnKey {
    LockHold *hold;
    u32 older;       /* index + 1, 0 none */
    u32 part, row;   /* of the request in work; PART_STAGED: `id` is where the row is */
    RowId id;
} OwnKey;

/* ---- transactions ---- */
typedef enum TxState { TX_IDLE, TX_PARKED, TX_LOGGED, TX_SNAPSHOT /* CHECKPOINT waits for its answer */ } TxState;

typedef struct BulkLocks {
    u32 table_id;
    u32 floor; /* of the layer that took them */
    RowSet rows;
} BulkLocks;

typedef struct CatalogChange {
    u16 kind; /* WAL_… */
    u32 len;
    u8 *payload; /* in the frame */
} CatalogChange;

/* What a SERIALIZABLE transaction has read (judge_reads.c). */
typedef struct ReadNote {
    u32 table_id, key;
    u64 hash;
    RowId found;
} ReadNote;

typedef struct Tx {
    u32 slot, generation;
    TxState state;
    bool in_use;       /* the slot is taken, by `generation` */
    bool abandoned;    /* the backend died while the transaction was being logged */
    bool ready;        /* parked, its lock was granted, stands in the ready queue */
    bool open;         /* a transaction of several requests, from its first PART or LOCK to its end */
    ErrCode lost;      /* its chain is gone (log failure, takeover): what the next request of it is told */
    u64 seen_seq;      /* the last request taken from the box */
    u64 wish;          /* TX_SNAPSHOT: the one that answers it; 0: not wished for yet */
    /* the request in work */
    ReqKind kind;
    u32 flags, request_len;
    u32 ordinal, statement, savepoint; /* box.h: of its first record, … */
    u64 seq, version, deadline_ns;
    u32 asked_role;    /* by whose rights it wants to be judged (judge_role) */
    u8 *frame;         /* room for a CHAIN record, kept records, the request, room for the COMMIT record */
    u32 frame_capacity;
    PartView *parts;
    u32 part_count, part_capacity;
    PartColumn *columns;
    u32 column_capacity;
    TextPiece *pieces;
    u32 piece_count, piece_capacity;
    CatalogChange *changes;
    u32 change_count, change_capacity;
    ReadNote *reads;
    u32 read_count, read_capacity;
    u8 *notes;         /* what its commit announces: notifications as in the queue (notify.h) */
    u32 notes_len, notes_capacity, note_count, notes_promised;
    Arena *arena;      /* decoded definitions; made by the first DDL */
    bool values_checked, deletes_noted;
    u32 serial;        /* of its present judging */
    /* the open transaction */
    bool failed;       /* a request was refused: only UNDO and ROLLBACK go on, */
    u32 failed_statement; /* and UNDO takes back at least what came after this ordinal */
    u32 last_ordinal;  /* of the newest accepted record */
    u32 kept_len;      /* bytes of kept records; they stand in `frame` before the request */
    KeptMark *marks;
    u32 mark_count, mark_capacity;
    StagedTable *staged;
    u32 staged_count, staged_capacity;
    Staged ddl;        /* its catalog changes */
    OwnKey *own_keys;
    u32 own_count, own_capacity;
    u32 own_mark;      /* how many of them are of accepted requests */
    u64 lsn, rows;     /* rows: of the answer */
    u64 catalog_bytes; /* promised to it by the world */
    Chain *chain;
    BulkLocks *bulk;   /* row locks of bulk statements */
    u32 bulk_count, bulk_capacity;
    bool bulk_listed;  /* stands in Writer.bulk_owners */
} Tx;

static inline bool tx_is_bulk(const Tx *tx) { return tx->chain != NULL; }
static inline u8 *tx_kept(const Tx *tx) { return tx->frame + CHAIN_RECORD_BYTES; }
static inline u8 *tx_request(const Tx *tx) { return tx_kept(tx) + tx->kept_len; }

/* ---- groups ---- */
typedef struct GroupItem {
    u32 slot;    /* Writer.slot_count: the compactor */
    bool commit; /* else a part of a chain */
} GroupItem;

typedef struct Group {
    u64 tag;
    GroupItem *items;
    u32 count, capacity;
    u64 begun_ns;
} Group;

/* ---- compaction (compact.c) ---- */
/* MOVED: rows have new ids, and the record is to be logged. */
/* DICT: a column's dictionary is to be replaced when nobody writes to the table. */
typedef enum CompactPhase { COMPACT_IDLE, COMPACT_COPYING, COMPACT_WAITING, COMPACT_MOVED, COMPACT_LOGGED, COMPACT_DICT } CompactPhase;
typedef struct Compactor {
    CompactPhase phase;
    u32 dead_percent, dead_rows; /* settings; dead_percent 0: it is off */
    u32 failures;      /* attempts given up since one went well */
    bool wanted;       /* memory is short */
    bool hungry;       /* something was changed since nothing was found */
    bool skipped;      /* this search passed over blocks that were busy */
    u64 next_ns, deadline_ns, lsn;
    u64 snapshot_until_ns; /* CHECKPOINT waits for blocks with few dead rows, too, at most so long; 0: none does */
    u32 sweeps;            /* of all tables since it waits, that found nothing */
    Compaction *work;
    u8 *frame;
    u32 frame_len;
    CompactRecord record; /* table and sources */
    u32 column;           /* DICT */
} Compactor;

typedef struct Forward { u32 table_id; RowId from, to; } Forward;

typedef struct Writer {
    Shm *shm;
    World *world;
    Io *io;
    WalWriter *wal;
    Locks *locks;
    Tx *txs;
    u32 slot_count;
    u32 *bulk_owners;       /* slots whose transaction has bulk locks or a chain */
    u32 bulk_owner_count;
    u32 serial;
    u64 next_chain;
    /* what JUDGED_PARK waits for */
    LockTag park_tag;
    LockMode park_mode;
    /* parked requests whose lock was granted, in that order */
    u32 *ready;
    u32 ready_first, ready_count;
    u32 parked_count;
    Group groups[GROUP_RING]; /* tag % GROUP_RING */
    u64 next_tag, oldest_tag;
    bool group_open;
    u32 group_limit;        /* payload bytes: a group fits a segment */
    Compactor compactor;
    Forward forward[FORWARD_PLACES];
    u64 changed[CHANGED_PLACES]; /* LSN of the last logged change of the tables whose id falls here */
    u32 *answered;          /* slots whose answer is filled in but not published */
    u32 answered_count;
    ErrCode stopped;        /* writes are refused with it */
    u64 resume_at_ns, seal_at_ns, reclaim_at_ns;
    bool memory_wait;       /* requests that take memory wait in their boxes for some that is on its way back, */
    bool memory_short;
    u32 snapshot_cancel_percent; /* setting */
    u32 old_slot;           /* the session with the oldest pin when it was last looked for, */
    u64 old_epoch, old_look_ns; /* its epoch, and when to look again */
    u64 memory_until_ns;    /* but not longer than this */
    bool full;              /* requests wait in their boxes for a group to come back */
    bool unsealed;          /* something became durable since the last seal */
    bool stopping;
    u64 snapshot_bytes;     /* of records in the log, that cause a snapshot */
    u64 snapshot_done;      /* the checkpointer's pub_done when it was last looked at */
    u32 snapshot_waiters;   /* slots in TX_SNAPSHOT */
    bool snapshot_due;      /* some of them have no wish yet */
    bool notify_wakes;      /* there is something that listeners were not told of */
    u64 notify_promised;    /* bytes of the queue, to commits that are logged */
    u64 notify_from, notify_to; /* of the queue: what a predecessor had published and perhaps not answered */
    u64 *notify_told;       /* a slot: the end of the queue when it was signalled last */
    u32 *notify_told_generation;
    u64 scratch_capacity;   /* keys of one bulk part (judge_keys.c) */
    u64 clash_hash;         /* of the key that the last unique violation was about */
    struct ScratchKey *scratch;
} Writer;

/* ---- judging ---- */
typedef enum Judged { JUDGED_YES, JUDGED_PARK, JUDGED_RETRY, JUDGED_REPLAN, JUDGED_ERROR } Judged;

Judged judge_request(Writer *w, Tx *tx, Error *err);
Judged judge_keys(Writer *w, Tx *tx, Error *err);
/* Lock the row, or its successor when it is gone (*ret_gone; *ret_hold NULL: that is not known). */
Judged judge_lock_row(Writer *w, Tx *tx, u32 table_id, RowId id, LockMode mode, bool *ret_gone, LockHold **ret_hold, Error *err);
/* A row that the statement read is gone: RETRY, or 40001. */
Judged judge_gone(const Tx *tx, Error *err);
Judged judge_no_memory(Error *err);
/* By whose rights the request is judged: the role that signed in, or the one asked for when that one is a member of it or superuser; 0, which may
 * nothing: neither. */
u32 judge_role(const Writer *w, const Tx *tx, const Root *root);
/* LOCK requests (judge_lock.c): checked when they come, judged, then answered. */
MUST_CHECK bool lock_check(const Tx *tx, Error *err);
Judged lock_judge(Writer *w, Tx *tx, Error *err);
void lock_answer(Writer *w, Tx *tx);
/* LIST_LOCKS. */
void lock_list(Writer *w, Tx *tx);
/* SERIALIZABLE (judge_reads.c). Take the READ records off the request's end; judge them; note what a commit that was just logged changes. */
MUST_CHECK bool reads_take(Tx *tx, Error *err);
Judged reads_judge(Writer *w, Tx *tx, Error *err);
void reads_note_changes(Writer *w, const Tx *tx);
/* It, or a table that shares its place, may have been changed. */
bool reads_changed_since(Writer *w, u32 table_id, u64 version);
void reads_restarted(Writer *w);
/* Whose chain staged this row; UINT32_MAX: it is a row like others. */
u32 judge_stager_of(const Writer *w, u32 table_id, RowId id);
/* The end of a statement in a chain: rows whose key went to another row must be gone. */
Judged judge_settle(Writer *w, Tx *tx, Error *err);
/* The part gives rows a key, or another one. */
bool judge_changes_key(const KeyDef *k, const PartView *p);
Judged judge_park(Writer *w, LockTag tag, LockMode mode);
/* Wait until that owner's transaction ends. */
Judged judge_park_on_owner(Writer *w, u32 owner);
/* Who else has the row in a bulk lock; UINT32_MAX: nobody. */
u32 judge_bulk_owner(const Writer *w, const Tx *tx, u32 table_id, RowId id);
/* The part agrees with the table: columns, types, NOT NULL, precision, length. */
MUST_CHECK bool check_values(const TableDef *t, const PartView *p, Error *err);
enum { ROW_GONE = 1 }; /* LockHold.becomes of a row that is deleted, not replaced */
/* Row ids in the open block, written into the part's bytes and its view. */
MUST_CHECK bool judge_take_rows(Writer *w, PartView *p, Error *err);
/* The bytes of a part of the request, in the frame. */
static inline u8 *judge_part_bytes(const PartView *p) { return (u8 *)(uintptr_t)p->bytes; }
/* Forget the own keys noted since there were `count`. */
void judge_pop_keys(Tx *tx, u32 count);

/* Rows that the request names by ids from before a compaction get their new ones. */
Judged judge_moved_rows(Writer *w, Tx *tx);

/* ---- compaction (compact.c) ---- */
/* A bounded piece of it. */
void compact_turn(Writer *w, u64 now_ns);
/* CHECKPOINT waits: blocks of which more than an eighth is dead are compacted first. true: they are, or it takes too long, or it is off. */
bool compact_before_snapshot(Writer *w, u64 now_ns);
u64 compact_deadline_ns(const Writer *w, u64 now_ns);
/* Requests for rows of the block wait for the compactor (judge_park_on_owner of slot_count). */
bool compact_waits_for_table(const Writer *w, u32 table_id);
bool compact_waits_for(const Writer *w, u32 table_id, u64 block);
/* Somebody wants the table for himself, or a row at once: what is not logged is given up. */
void compact_step_aside(Writer *w, u32 table_id);
bool compact_holds(const Writer *w, u32 table_id);
/* Its group: durable, and applied; published; failed. */
u64 compact_durable(Writer *w);
void compact_published(Writer *w);
void compact_failed(Writer *w);
void compact_done(Writer *w);
void compact_log_again(Writer *w);
/* Nothing new is begun. */
void compact_stop(Writer *w);

/* ---- kept records (kept.c) ---- */
/* Does the request fit a short transaction? */
bool kept_fits(const Writer *w, const Tx *tx);
/* Places in the private blocks for the rows of a judged PART, and what they need. */
MUST_CHECK bool kept_reserve(Writer *w, Tx *tx, Error *err);
/* Write them and keep the records. */
void kept_add(Writer *w, Tx *tx);
/* Make the kept records and those of COMMIT one request: final row ids, memory. When it fails the transaction can only end. */
MUST_CHECK bool kept_prepare_commit(Writer *w, Tx *tx, Error *err);
/* The transaction becomes a chain: kept records go into its blocks and the log. false: nothing changed. */
MUST_CHECK bool kept_spill(Writer *w, Tx *tx, Error *err);
/* Private row ids in the request become those in the chain's blocks. */
void kept_translate(const Tx *tx);
/* Take back what came after the ordinal. */
void kept_undo(Writer *w, Tx *tx, u32 ordinal);
/* The private blocks go, nothing is kept any more. */
void kept_drop(Writer *w, Tx *tx);

/* ---- catalog ---- */
Judged ddl_judge(Writer *w, Tx *tx, Error *err);
/* Catalog changes that are not applied yet (ddl_stage.c), shared with recovery. `a` is reset. */
MUST_CHECK bool staged_add(World *w, Staged *s, u32 owner, u32 ordinal, Record r, Arena *a, Error *err);
void staged_undo(World *w, Staged *s, u32 ordinal);
void staged_apply(World *w, Staged *s, Arena *a);
/* What TRUNCATE hides steps aside, so that the tables it stands for are found, and comes back. */
void staged_set_aside(World *w, Staged *s);
void staged_bring_back(World *w, Staged *s);
void staged_bring_one_back(World *w, StagedChange *c);
void staged_free(StagedChange *c); /* what it points at */
bool staged_alters(u16 kind);  /* puts another definition in force for the transaction */
bool staged_hides(u16 kind);   /* makes a hidden table in the place of one that is there */
bool staged_empties(u16 kind); /* what was in the table is gone: the same, or DROP */
u32 staged_truncations(const Staged *s, u32 table_id);
/* Those of a judged request of a transaction that goes on; all or none. */
MUST_CHECK bool ddl_stage(Writer *w, Tx *tx, Error *err);
/* The hidden table that the newest of them made, NULL when it made none. */
const TableShm *ddl_staged_table(Writer *w, const Tx *tx);
void ddl_undo(Writer *w, Tx *tx, u32 ordinal);
/* Take dead parts out of what COMMIT logs. */
void ddl_strip_dead(Tx *tx);
/* The catalog as the transaction sees it: the newest one and its own changes. */
const TableShm *staged_table(Writer *w, const Tx *tx, u32 table_id);
const TableDef *staged_find_table(Writer *w, const Tx *tx, Str name);
/* The newest root with the roles and rights that it has staged; their memory is the transaction's arena's. false: there is none. */
MUST_CHECK bool staged_root(Writer *w, Tx *tx, Root *ret);
bool staged_role_has_any(Writer *w, const Tx *tx, u32 role_id); /* owns, or has rights on, a table that it makes */
MUST_CHECK bool ddl_check(u16 kind, const u8 *payload, u32 len, Error *err);
/* Apply a catalog record; shared with recovery. `a` is reset by the caller. */
void ddl_apply(World *world, Arena *a, u16 kind, const u8 *payload, u32 len);
bool ddl_is_catalog(u16 kind);
/* A change that frees memory: it works even when the budget is used up. */
bool ddl_gives_back(u16 kind);

/* ---- intake ---- */
void intake_scan(Writer *w);
void intake_ready(Writer *w);
void intake_parked(Writer *w, u64 now_ns);
/* Decode the records of the request. */
MUST_CHECK bool intake_parse(Tx *tx, Error *err);
/* A request that nobody took yet, or a slot to release: for the look before sleeping. */
bool intake_pending(const Writer *w);
u64 intake_deadline_ns(const Writer *w);

/* ---- transactions and groups (commit.c) ---- */
void tx_init(Tx *tx, u32 slot);
void tx_done(Tx *tx);
/* List the transaction among those with bulk locks or a chain. */
void tx_list_bulk(Writer *w, Tx *tx);
/* The open chain ends without commit, which the log is told; locks stay. */
void tx_drop_chain(Writer *w, Tx *tx);
/* Bulk locks of layers that became one. */
MUST_CHECK bool tx_merge_bulk(Tx *tx, u32 savepoint);
/* Bulk locks taken by layers from this ordinal on are returned. */
void tx_release_bulk(Tx *tx, u32 ordinal);
/* Take back what came after the ordinal; the locks stay. */
void tx_undo(Writer *w, Tx *tx, u32 ordinal);
/* Make room in one of the transaction's arrays; false: no memory. */
MUST_CHECK bool tx_grow(void *array_of_any, u32 *capacity, u32 want, size_t size);
/* End without commit: chain dropped, locks returned. */
void tx_abort(Writer *w, Tx *tx);
/* Locks returned, all request state forgotten. */
void tx_forget(Writer *w, Tx *tx);
void tx_granted(void *writer, u32 owner);
/* A group that can take `bytes` more; false: as many as may be are in flight. */
MUST_CHECK bool commit_room(Writer *w, u32 bytes);
/* Into the open group: commit_room said that it fits. It is the transaction's: a group that fails loses it. */
Lsn commit_own_frame(Writer *w, const u8 *frame, u32 len); /* the compactor's */
Lsn commit_frame(Writer *w, const Tx *tx, const u8 *frame, u32 len);
/* Log a judged request: parts are staged and answered at once, commits wait for the group. */
void commit_add(Writer *w, Tx *tx);
/* false: writes have just stopped. */
void commit_submit(Writer *w);
void commit_event(Writer *w, const WalEvent *e);
void commit_try_resume(Writer *w, u64 now_ns);
/* Answers: filled in now, published and woken by answer_flush. */
/* ---- notifications (notify.c) ---- */
/* Take the NOTIFY records off the request's end: the transaction announces them, too. */
MUST_CHECK bool notify_take(Tx *tx, Error *err);
/* Is there room in the queue? */
Judged notify_judge(Writer *w, const Tx *tx, Error *err);
void notify_promise(Writer *w, Tx *tx); /* its commit is logged */
void notify_publish(Writer *w, Tx *tx); /* and published */
void notify_forget(Writer *w, Tx *tx);
void notify_taken_over(Writer *w);
/* A predecessor has published what this request announces. */
bool notify_was_published(Writer *w, const Tx *tx);
/* After the answers: listeners are told. */
void notify_wake(Writer *w);
/* signal.c: pg_cancel_backend, pg_terminate_backend; answers. Who keeps too much memory by an old snapshot is told 72000. */
void signal_old_snapshot(Writer *w, u64 now_ns);
void signal_backend(Writer *w, Tx *tx);
void answer_put(Writer *w, Tx *tx, AnsStatus status, u64 version, u64 rows, const Error *err);
void answer_flush(Writer *w);

/* ---- snapshots (snapshot_ask.c): asking the checkpointer for them ---- */
/* A CHECKPOINT was taken from its box: it waits, or is refused. */
void snapshot_request(Writer *w, Tx *tx);
/* Answer who waits; wish for one when the log has grown. */
void snapshot_turn(Writer *w, u64 now_ns);
/* The slot is released: it waits no more. */
void snapshot_forget(Writer *w, Tx *tx);
/* An answer can be given. */
bool snapshot_pending(const Writer *w);
u64 snapshot_deadline_ns(const Writer *w, u64 now_ns);
struct Recovered;
struct WriterOptions;
void snapshot_begin(Writer *w, const struct WriterOptions *o, const struct Recovered *r);

/* ---- recovery ---- */
typedef struct Recovered {
    WalVerdict verdict;
    u64 version; /* of the last commit applied, not published yet when the world is taken over */
    u64 transactions, chains_dropped;
    u64 log_bytes;       /* of records replayed */
    Lsn log_start;       /* where the log was read from; 0: from its beginning */
    u64 snapshot;        /* number of the one it began with, 0: none */
    u64 snapshot_version, snapshot_file_bytes, snapshot_ns;
    u64 damaged_snapshot; /* a newer one, or the one it began with, that is not whole; 0: none */
    CommitRecord *answers; /* takeover: commits that a box waits for, `answer_lsns` beside them */
    u64 *answer_lsns;
    u32 answer_count, answer_capacity;
} Recovered;
MUST_CHECK bool recover_run(World *world, Shm *shm, Io *io, int wal_dir_fd, bool take_over, Recovered *ret, Error *err);
/* The newest usable snapshot, into a fresh world (which is made anew when one turns out to be damaged half-way): *ret's fields about snapshots. Without one
 * nothing happens. false: there is no memory, or the disk cannot be read at all. */
MUST_CHECK bool restore_run(World **world, Shm *shm, Io *io, int snap_dir_fd, u64 database_id, Recovered *ret, Error *err);
/* The root role and its password: what must be logged first. false: nothing to log. */
MUST_CHECK bool recover_root_record(World *world, Shm *shm, const char *password, ByteBuf *ret_frame);

const SecretShm *recover_secret(const SecretShm *rows, u32 role_id); /* NULL when it has none */

/* ---- the loop as steps, so that tests run it as a thread ---- */
typedef struct WriterOptions {
    Shm *shm;
    int wal_dir_fd;
    int snap_dir_fd;
    u64 database_id;
    u64 segment_bytes, snapshot_bytes; /* snapshot_bytes 0: the default */
    IoEngineKind engine;
    bool take_over;
    u32 compact_dead_percent, compact_dead_rows; /* settings; 0 percent: no compaction */
    u32 snapshot_cancel_percent;
    bool log_begun;      /* an empty log is a lost one */
    char *root_password; /* wiped; empty: none */
} WriterOptions;
MUST_CHECK bool writer_open(const WriterOptions *o, Writer **ret, Error *err);
/* One turn, the wait included. */
void writer_turn(Writer *w);
/* Finish what is in flight and seal. */
void writer_close(Writer *w);

#endif
