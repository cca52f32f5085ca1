/*
 * world_int.h
 *    The inside of World, for the files that write the column world. Nobody else includes it.
 *
 * What is applied but not published lies in the world already (rows above the published counts, key entries, delete marks of a version that
 * nobody has yet) or here (which blocks become visible at the next publish). A World can therefore be made from the published root alone.
 */
#ifndef WORLD_INT_H
#define WORLD_INT_H

#include "common/store/key.h"
#include "walwriter/alloc.h"
#include "walwriter/world.h"

enum {
    OPEN_FIRST_ROWS = 64,
    BULK_DELETE_ROWS = 512,     /* a run of deletes this long in one block keeps the bitmap before it instead of entries */
    KEY_BATCH = 32,
    KEEP_EXTENTS = 4,           /* of the budget, always: publishing and sealing take from them */
    KEEP_BYTES_A_TABLE = 4096,  /* and this much a table, for a publish that touches all of them */
    EMPTY_EXTENTS_KEPT = 4,
    PINS_MAX = 128,             /* distinct pinned epochs told apart */
    NEEDED_PLACES = 256,
    PART_TEXTS_MAX = PART_MAX_BYTES / 4,
};

typedef struct SlotList {
    SlotDirShm **slots;
    u32 count, capacity;
} SlotList;

typedef struct Birth {
    RowId row;
    u64 version;
} Birth;

typedef struct TableWork {
    struct TableWork *next_dirty;
    u32 table_id;
    bool dirty;
    TableShm *t;        /* what the tree being made points at */
    u32 hidden_by;      /* 1 + the slot of the open transaction that alone sees it; 0: it is in the trees */
    struct TableWork *replaces; /* hidden by TRUNCATE and its like: what has this id for all others, or had it before in the transaction */
    bool unnamed;       /* not in the tree of names */
    const TableDef *altered; /* what an open transaction has made of the definition, in private memory; NULL: nothing */
    u32 altered_by;     /* 1 + its slot */
    u64 row_count, deleted_count, place_count;
    SlotList opens;     /* blocks of small commits that are not full, in the order their ids are taken; the first one is the open block */
    SlotList pending;   /* sealed since the last publish */
    SlotList leaving;   /* compacted since the last publish */
    u64 looked_deleted, looked_places; /* deleted_count and place_count when nothing was found to compact (compact_choose.c) */
    SlotDirShm **staged; /* by connection slot: the private block of its open transaction, NULL none */
    u64 staged_capacity;
    Birth *births;      /* by row id: which publish brought the rows from here to the next entry of the same block; since the oldest pin */
    u64 birth_count, birth_capacity, newest_birth;
} TableWork;

typedef struct Retired {
    const void *piece;
    u64 bytes;
    u64 birth, epoch;   /* roots birth … epoch reach it; birth 0: not known */
} Retired;

/* A reader's pin: its root is of this epoch or the next, its version one of these two. */
typedef struct Pin {
    u64 epoch, low, high;
} Pin;

/* A deleted row that a pin needs: remembered, since finding its delete again may be a long look. */
typedef struct Needed {
    RowId row;
    u64 pin_epoch;
    u32 table_id;
} Needed;

typedef struct History {
    u64 epoch, version;
} History;

/* A queue in one array: take at first, put at first + count, moved down when the front half is gone. */
typedef struct RetiredQueue { Retired *items; u64 first, count, capacity; } RetiredQueue;
typedef struct HistoryQueue { History *items; u64 first, count, capacity; } HistoryQueue;
typedef struct SlotQueue { SlotDirShm **items; u64 first, count, capacity; } SlotQueue;

/* A compacted block, in its table's directory still. */
typedef struct Moved {
    SlotDirShm *slot;
    DirShm *dir;
    i64 wall_us;        /* when: transactions begun before know the old row ids */
    u64 bytes;          /* of its rows, until they are freed */
} Moved;
typedef struct MovedQueue { Moved *items; u64 first, count, capacity; } MovedQueue;

/* What was worked out about a part's texts: where each begins, and its code once known. Valid for the part with these columns only. */
typedef struct PartMemo {
    const PartColumn *columns;
    u32 table_id, row_count;
    u16 column_count;
    bool has_codes;
    u32 sum;       /* of the texts the codes are for */
    u32 *starts;   /* a column of the part: where its texts' offsets and codes begin */
    u32 *offsets;
    u32 *codes;
} PartMemo;

/* A dictionary that is being counted. */
typedef struct DictCount {
    u32 table;          /* place in World.tables, where the search goes on */
    u32 column, count, code, live_texts;
    DictShm *dict;      /* NULL: none is */
    u64 block, live_bytes;
    u64 *bits;          /* by code */
} DictCount;

struct World {
    Shm *shm;
    WorldHead *head;
    Alloc *alloc;
    Root next;                /* the root being made */
    const Root *published;
    TableWork **tables;
    u32 table_capacity;
    TableWork *dirty;
    RetiredQueue retired;
    u64 retired_bytes;        /* in that queue */
    HistoryQueue history;     /* publishes since the oldest pin */
    SlotQueue listed;         /* slots with a delete list */
    MovedQueue moved;         /* compacted blocks that older pins may need, in the order of their epochs */
    DictCount dict_count;
    u64 moved_bytes;          /* of rows of them */
    u32 compact_table;        /* where the search for blocks to compact goes on */
    RetiredQueue stuck;       /* retired, but some pin needed them when they were looked at */
    u64 stuck_new, stuck_epoch; /* added since they were last looked at; the oldest pin then */
    u64 oldest_epoch, oldest_version; /* lower bounds over all pins */
    u64 seen_epoch, seen_version;     /* published when the pins were read: later pins are at these or above */
    Pin pins[PINS_MAX];       /* those below seen_epoch, ascending */
    u32 pin_count;
    bool pins_overflow;
    Needed needed[NEEDED_PLACES];
    u64 promised_seal_bytes, promised_delete_bytes, promised_catalog_bytes;
    u64 quarantine_epoch;     /* takeover: pins of this epoch or older may reach what was not marked; 0 none */
    PartMemo memo;
    u32 *move_stored;         /* index growth: stored hashes and entries on their way */
    u64 *move_entries;
    u64 move_capacity;
};

/* ---- memory (reclaim.c) ---- */
/* For reserve steps: NULL when the budget would be touched that applying needs. */
void *world_get(World *w, u64 bytes);
/* For apply steps, inside what was kept back. */
void *world_must(World *w, u64 bytes);
void *world_take(World *w, u64 bytes, bool must);
/* Nobody can reach it any more once the pins of today are gone. */
void world_retire(World *w, const void *piece, u64 bytes);
/* The same for a piece that no root before epoch `birth` reaches: pins below it do not keep it. */
void world_retire_born(World *w, const void *piece, u64 bytes, u64 birth);
void world_note_birth(World *w, TableWork *tw, RowId first, u64 version);
/* A deleted row that neither a pin nor a later reader can see. */
bool world_row_over(World *w, const TableWork *tw, const SlotDirShm *slot, u32 offset);
/* Nobody could ever reach it. */
void world_free(World *w, const void *piece, u64 bytes);
bool world_full(Error *err); /* sets 53200, false */
/* Whether what was promised can still be had. */
bool world_has_room(const World *w, Error *err);
void world_note_list(World *w, SlotDirShm *slot);
void world_forget_table_lists(World *w, const TableWork *tw);
void world_note_publish(World *w);
/* Queues and lists of private memory; running out of it stops the process (the successor takes over). */
void *world_grow_private(void *old, u64 count, u64 *capacity, u64 item_bytes);

/* ---- tables (world.c) ---- */
TableWork *world_work(World *w, u32 table_id);
TableWork *world_add_work(World *w, TableShm *t);
/* `instead` (NULL: nothing) has the id from now on. */
void world_remove_work(World *w, TableWork *tw, TableWork *instead);
void world_mark_dirty(World *w, TableWork *tw);
void slot_list_add(SlotList *l, SlotDirShm *s);
void slot_list_remove(SlotList *l, u32 i);

/* ---- blocks (block_write.c) ---- */
SlotDirShm *block_slot_new(World *w, TableWork *tw, u64 block, u32 kind, bool must);
/* From *block on, which moves behind it; NULL: there is none any more. */
SlotDirShm *block_next_slot(const TableWork *tw, u64 *block);
SlotDirShm *block_slot(const TableWork *tw, u64 block); /* NULL when there is none; private blocks are found, too */
void block_drop_staged(World *w, TableWork *tw, u64 owner);
bool block_room(World *w, TableWork *tw, SlotDirShm *slot, u32 rows, bool must);
void block_seal(World *w, TableWork *tw, SlotDirShm *slot);
/* Null bytes (NULL: no row is NULL) become bits, min and max are worked out; the values are there. false: no memory. */
bool block_seal_slice(World *w, SliceShm *s, const u8 *nulls, u32 rows, bool must);
/* The blocks of small commits are sealed before they are full; the next rows get another one. Replay need not do it at the same time: ids come from the
 * records. false: some rows of them are taken and not there yet, or no memory. */
bool block_close_opens(World *w, TableWork *tw, bool must);
void block_forget_all(World *w, TableWork *tw);
void block_slot_drop(World *w, TableWork *tw, SlotDirShm *slot);

/* ---- compaction (compact_world.c) ---- */
/* The block, which its table's next publish takes out of its directory, waits until no pin is older than that. */
void compact_note_moved(World *w, TableWork *tw, SlotDirShm *slot);
/* A pinned root may have the compacted block. */
bool compact_rows_needed(const World *w, const SlotDirShm *slot);
/* Its table goes: what waits leaves the queue. */
void compact_forget_table(World *w, const TableWork *tw);
/* A bounded piece: what no pin needs any more is freed. */
void compact_release(World *w);

/* ---- delete state (delete_write.c) ---- */
bool delete_reserve(World *w, TableWork *tw, const PartView *p, Error *err);
/* Rows that no commit ever fills: dead for every version. Only above the published count. */
void delete_mark_hole(World *w, TableWork *tw, SlotDirShm *slot, u32 first, u32 count);
void delete_clear_hole(TableWork *tw, SlotDirShm *slot, u32 first, u32 count);
u64 *delete_bits(World *w, SlotDirShm *slot, bool must);
bool delete_is_set(const SlotDirShm *slot, u32 offset);

/* ---- replacing dictionaries (dict_replace.c) ---- */
/* A text column of the block has codes of a dictionary that was replaced; of any block of the table. */
bool dict_is_old(const TableWork *tw, const SlotDirShm *slot);
bool dict_any_old(const TableWork *tw);
/* Replaced ones that no block needs go. */
void dict_drop_old(World *w, TableWork *tw);
u32 dict_code_now(World *w, DictShm *to, const DictShm *from, u32 code);
/* Texts that an UPDATE copies from blocks of an older dictionary are entered. false: no memory. */
bool dict_reserve_copies(World *w, TableWork *tw, const PartView *p);

/* ---- dictionaries (dict_write.c) ---- */
DictShm *dict_new(World *w, u32 column);
/* The code of the text, entered when it is new. */
bool dict_enter(World *w, DictShm *d, Str s, u64 hash, u32 *ret_code);
/* The same for a long text that is whole: its own memory becomes the dictionary's. */
bool dict_enter_long(World *w, DictShm *d, LongText *l, u32 *ret_code);

/* ---- indexes (index_write.c) ---- */
void index_init(World *w, IndexShm *x, u32 line_bits);
/* Which entries survive growth. */
typedef bool (*IndexKeep)(void *ctx, u64 payload);
/* Make room for one more entry of this hash, for later or (promise false) for now. */
bool index_reserve(World *w, IndexShm *x, u64 hash, bool promise, bool must, IndexKeep keep, void *ctx);
/* Enter; an equal entry is a no-op; the slot of an entry of this tag that `keep` gives up is used again. The promise is taken back. */
void index_enter(World *w, IndexShm *x, u64 hash, u64 payload, IndexKeep keep, void *ctx);

/* Building an index at once: an empty directory for 2^depth ranges of hashes instead of what it has; segments for the ranges first … end-1 with so many
 * entries each; then index_place from any threads that share no range. */
enum { INDEX_DEPTH_MAX = 24 };
bool index_begin_bulk(World *w, IndexShm *x, u32 depth);
bool index_add_ranges(World *w, IndexShm *x, u32 first, u32 end, const u64 *counts);
void index_place(IndexShm *x, u32 stored, u64 payload);
void index_count(IndexShm *x); /* its notes anew from what lies in it */
enum { INDEX_BULK_ENTRIES = 20889 }; /* of a range at most: one segment of the usual size, as full as it is before it is split */

/* ---- keys (key_write.c) ---- */
bool key_reserve_part(World *w, TableWork *tw, const PartView *p, Error *err);
/* Room for the keys of rows that stand in a block, which are entered next. false: no memory. */
bool key_reserve_rows(World *w, TableWork *tw, const SlotDirShm *slot, u32 first, u32 count);
/* Keys of rows [first, first + count) of a block, already written. */
void key_enter_rows(World *w, TableWork *tw, SlotDirShm *slot, u32 first, u32 count);

/* ---- parts (part_apply.c) ---- */
const PartColumn *part_column(const PartView *p, u32 column);
void memo_begin(World *w, const PartView *p);
Str memo_text(const World *w, const PartView *p, const PartColumn *c, u32 i);

/* ---- catalog (catalog_write.c) ---- */
const TableDef *world_newest_def(const TableWork *tw);
void catalog_set_table(World *w, u32 table_id, const TableShm *t);

/* ---- takeover (takeover.c) ---- */
bool world_take_over(World *w, Error *err);

#endif
