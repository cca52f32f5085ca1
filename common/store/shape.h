/*
 * shape.h
 *    The shape of the column world: every struct that lies in it. For store/ and the world-writing part of the walwriter only.
 *
 * The world is mapped at one address in every process, so pointers into it are stored in it, and no others. All of it is written by the
 * walwriter alone. Three kinds of memory:
 *   immutable once published: Root, tree nodes, TableShm, TableDef, roles, index directories, sealed blocks;
 *   append-only below a published mark: directory chunks, dictionaries, open-block arrays, delete lists;
 *   published words (pub_…): replaced whole by one release store; what they pointed at before is retired by epoch.
 * Fields without pub_ that change after publication are the walwriter's own notes: readers never look at them.
 */
#ifndef SHAPE_H
#define SHAPE_H

#include "common/shm/publish.h"
#include "common/store/store.h"

enum { WORLD_LAYOUT = 3, EXTENT_BYTES = 2 << 20, TREE_FANOUT = 64, TREE_BITS = 6 };
#define WORLD_MAGIC 0x31646c726f776767ull /* "ggworld1" */
#define NO_BLOCK UINT64_MAX
#define NOT_LINKED UINT64_MAX

/* ---- the head: first bytes of the world ---- */
typedef struct WorldHead {
    u64 magic;
    u32 layout, head_bytes;
    u64 defs_hash;      /* of types.def: a world made by another build is refused */
    u64 reserved_bytes;
    u8 line0[32];
    u64 pub_epoch;      /* grows by one at each publish; 0: nothing published yet */
    const Root *pub_root;
    u8 line1[48];
    u64 extent_high;    /* extents ever in use: 0 … extent_high-1 (walwriter's note, for a successor) */
    u64 next_dict_id;
    u8 line2[48];
} WorldHead;
_Static_assert(offsetof(WorldHead, pub_epoch) == 64, "published words have a line of their own");
_Static_assert(sizeof(WorldHead) == 192, "WorldHead");

/* ---- the root and its trees ---- */
/* A node of both trees, copied along the path: table ids (children: nodes, at the lowest level TableShm) and names (children: 0 empty,
 * table id << 1 | 1 a leaf, else a node). */
typedef struct TreeNode {
    u64 birth; /* epoch that made it */
    u64 child[TREE_FANOUT];
} TreeNode;

/* All that is no table: one piece with its three lists behind it (roles.h changes it). */
typedef struct RolesShm {
    u32 count, member_count, rights_count, pad;
    const RoleDef *const *roles;     /* ascending by role_id */
    const RoleMember *members;
    const RightsDef *const *rights;
} RolesShm;

struct Root {
    u64 version, epoch, catalog_version;
    const TreeNode *tables; /* by table_id - FIRST_TABLE_ID */
    const TreeNode *names;  /* by hash of the name */
    const RolesShm *roles;
    u32 table_levels, table_count;
    u32 next_table_id, next_role_id;
    const Root *published;  /* what a transaction's private root (own.h) was made from; NULL in the world */
};

/* ---- blocks ---- */
/* A column of a block. The open block: plain, null bytes, no min/max. Sealed: null bits, min/max; frozen besides when `width` < phys_width:
 * value = reference + factor * unsigned stored. */
typedef struct SliceShm {
    const u8 *data;
    const void *nulls; /* open: u8 a row (also when no row is NULL yet), sealed: bits; NULL: no row is */
    const DictShm *dict;
    i64 reference, factor;
    u8 phys, scale, width;
    u8 flags;        /* SLICE_… */
    u32 null_count;  /* sealed */
    u8 min[24], max[24];
} SliceShm;
enum { SLICE_FROZEN = 1, SLICE_MINMAX = 2 };
_Static_assert(sizeof(SliceShm) == 96, "SliceShm");

typedef struct BlockShm {
    u32 row_count; /* sealed: rows; open: 0, the root knows */
    u32 capacity;  /* rows that the arrays have room for */
    u32 sealed, column_count;
    SliceShm slices[];
} BlockShm;

/* ---- delete state, see deletes.c ---- */
typedef struct DeleteEntryShm {
    u64 version;
    u64 what; /* < BLOCK_ROWS: an offset; else the address of the bitmap before the bulk delete (BLOCK_WORDS words) */
} DeleteEntryShm;
typedef struct DeleteListShm {
    u32 capacity;
    u32 pub_count;
    u64 dropped_version; /* entries up to this version may have been left out: no pin was that old */
    DeleteEntryShm entries[];
} DeleteListShm;

/* Where the rows of a compacted block went: those with a bit, in order, to offset `first` and on of the target block. */
typedef struct RowMapShm {
    u64 target; /* block id */
    u32 first, word_count;
    u64 bits[]; /* word_count words; behind them word_count u16: how many bits stand before each word */
} RowMapShm;

struct SlotDirShm {
    u64 block_id;
    u64 pub_link_epoch;      /* visible to tables of this epoch or newer; NOT_LINKED until then */
    u64 pub_unlink_epoch;    /* and no more to those of this epoch or newer: it was compacted; NOT_LINKED until then */
    const RowMapShm *pub_map; /* set before pub_unlink_epoch; NULL: no row is left */
    const BlockShm *pub_block;
    u64 pub_newest_delete;   /* version; 0 = none. Stored before the list, the list before the bits. */
    u64 *pub_bits;           /* BLOCK_WORDS words, 1 = deleted; NULL until the first delete */
    DeleteListShm *pub_list;
    u32 deleted_count;       /* walwriter's notes from here on */
    u32 rows_applied, rows_published, rows_taken;
    u32 promised_entries;
    u32 kind;                /* SLOT_… */
    u64 promised_bytes;
};
/* STAGED: in no directory, see STAGED_BLOCK. TARGET: being filled by a compaction. MOVED: its rows have other ids now; kept for older pins. */
enum { SLOT_OPEN = 1, SLOT_CHAIN = 2, SLOT_SEALED = 3, SLOT_STAGED = 4, SLOT_TARGET = 5, SLOT_MOVED = 6 };
_Static_assert(sizeof(SlotDirShm) == 96, "SlotDirShm");

/* ---- the directory of a table: block id -> slot ---- */
/* Chunk sizes 4, 8, … 512, 512, …: a small table stays small, and nothing is copied but the array of chunk pointers. */
enum { DIR_FIRST = 4, DIR_DOUBLINGS = 7, DIR_CHUNK = DIR_FIRST << DIR_DOUBLINGS, DIR_SMALL = DIR_FIRST * ((2 << DIR_DOUBLINGS) - 1) };
typedef struct DirShm {
    SlotDirShm ***pub_chunks;
    u32 chunk_capacity, chunk_count; /* walwriter's notes; pointers up to the capacity may be NULL */
    u64 next_block;                  /* ids are never reused */
} DirShm;

static inline u32
dir_chunk_of(u64 block, u32 *ret_index)
{
    if (block >= DIR_SMALL) {
        *ret_index = (u32)((block - DIR_SMALL) % DIR_CHUNK);
        return (u32)((block - DIR_SMALL) / DIR_CHUNK) + DIR_DOUBLINGS + 1;
    }
    u32 c = 63 - (u32)__builtin_clzll(block / DIR_FIRST + 1);
    *ret_index = (u32)(block - (u64)DIR_FIRST * ((1u << c) - 1));
    return c;
}

static inline u32
dir_chunk_size(u32 chunk)
{
    return chunk < DIR_DOUBLINGS ? (u32)DIR_FIRST << chunk : DIR_CHUNK;
}

/* The slot of a block id below the directory's end; NULL when there is none. */
static inline SlotDirShm *
dir_slot(const DirShm *d, u64 block)
{
    u32 i, c = dir_chunk_of(block, &i);
    SlotDirShm **chunk = observe_ptr(&observe_ptr(&d->pub_chunks)[c]);
    return chunk ? observe_ptr(&chunk[i]) : NULL; /* chunks of ids before a TRUNCATE are not there */
}

/* ---- the hash index of keys and dictionaries, see index.h ---- */
enum { INDEX_LINE_ENTRIES = 6 };
typedef struct IndexLineShm {
    u64 pub_entry[INDEX_LINE_ENTRIES]; /* low 16 bits of the stored hash << 48 | payload + 1; 0 = empty */
    u16 more[INDEX_LINE_ENTRIES];      /* high 16 bits of the stored hash, the walwriter's, for splitting */
    u32 zero;
} IndexLineShm;
_Static_assert(sizeof(IndexLineShm) == 64, "a line is a cache line");
typedef struct IndexSegmentShm {
    u32 line_bits, depth;   /* 2^line_bits lines; the segment holds the hashes that share their `depth` top bits */
    u32 used, promised;     /* walwriter's notes */
    u8 pad[48];
    IndexLineShm lines[];
} IndexSegmentShm;
typedef struct IndexDirShm {
    u32 depth, pad;
    IndexSegmentShm *segments[]; /* 2^depth, by the top bits of the hash */
} IndexDirShm;
typedef struct IndexShm {
    const IndexDirShm *pub_dir;
    u64 entry_count; /* walwriter's note */
} IndexShm;

/* ---- dictionaries, see dict.c ---- */
enum { DICT_FIRST = 8, DICT_DOUBLINGS = 14, DICT_CHUNK = DICT_FIRST << DICT_DOUBLINGS, DICT_SMALL = DICT_FIRST * ((1 << DICT_DOUBLINGS) - 1) };
typedef struct DictEntryShm {
    u64 hash;
    const char *text; /* its length stands in the four bytes before it */
} DictEntryShm;
typedef struct DictBytesShm {
    struct DictBytesShm *older;
    u32 size, used; /* bytes behind this head */
} DictBytesShm;
struct DictShm {
    u64 id;
    u32 pub_count, column;
    DictEntryShm *pub_small[DICT_DOUBLINGS]; /* chunks of 8, 16, … 65,536 codes */
    DictEntryShm **pub_more;                 /* then chunks of DICT_CHUNK codes */
    u32 more_capacity, more_count;           /* walwriter's notes from here on */
    DictBytesShm *bytes;
    u64 text_bytes;
    IndexShm index;
    struct DictShm *older;       /* what it replaced, as long as blocks have codes of that */
    u64 counted_bytes;           /* of texts that rows had when it was last counted, */
    u32 counted_texts;           /* and how many */
    u32 restored;                /* it is a snapshot's */
};

static inline u32
dict_chunk_of(u32 code, u32 *ret_index)
{
    if (code >= DICT_SMALL) {
        *ret_index = (code - DICT_SMALL) % DICT_CHUNK;
        return (code - DICT_SMALL) / DICT_CHUNK + DICT_DOUBLINGS;
    }
    u32 c = 31 - (u32)__builtin_clz(code / DICT_FIRST + 1);
    *ret_index = code - DICT_FIRST * ((1u << c) - 1);
    return c;
}

static inline DictEntryShm *
dict_entry(const DictShm *d, u32 code)
{
    u32 i, c = dict_chunk_of(code, &i);
    return c < DICT_DOUBLINGS ? &observe_ptr(&d->pub_small[c])[i] : &observe_ptr(&d->pub_more)[c - DICT_DOUBLINGS][i];
}

/* ---- a table at one version ---- */
struct TableShm {
    const TableDef *def;
    u64 epoch;       /* of the publish that made it */
    u64 place_count; /* block ids in the directory are below it */
    u64 open_block;  /* NO_BLOCK: none */
    u64 row_count, deleted_count;
    u32 open_rows, def_bytes;
    DirShm *dir;
    DictShm *const *dicts; /* one a column, NULL where it is not text; NULL when no column is */
    IndexShm *keys;        /* one a key; NULL when there is none */
    const struct TableOwn *own; /* a transaction's own changes, in its private copy (own_table.h); NULL in the world */
};

/* ---- sizes, as they were allocated ---- */
static inline u64 block_bytes(u32 columns) { return sizeof(BlockShm) + (u64)columns * sizeof(SliceShm); }
static inline u64 list_bytes(u32 capacity) { return sizeof(DeleteListShm) + (u64)capacity * sizeof(DeleteEntryShm); }
static inline u64 segment_bytes(u32 line_bits) { return sizeof(IndexSegmentShm) + ((u64)sizeof(IndexLineShm) << line_bits); }
static inline u64 row_map_bytes(u32 words) { return sizeof(RowMapShm) + (u64)words * (sizeof(u64) + sizeof(u16)); }
static inline u64 index_dir_bytes(u32 depth) { return sizeof(IndexDirShm) + (sizeof(IndexSegmentShm *) << depth); }
static inline u64 roles_bytes(const RolesShm *r) { return sizeof(RolesShm) + ((u64)r->count + r->rights_count) * sizeof(void *) + r->member_count * sizeof(RoleMember); }
static inline u64 role_bytes(const RoleDef *r) { return sizeof(RoleDef) + r->name.len + r->config.len; }
static inline u64 rights_bytes(const RightsDef *r) { return sizeof(RightsDef) + (u64)r->acl_count * sizeof(AclItem); }
enum { BITMAP_BYTES = BLOCK_WORDS * 8 };
/* Bytes of one stored value: text is a code. */
static inline u32 phys_stored(PhysType p) { return p == PHYS_STR ? 4 : phys_width(p); }

/* Hand every piece of memory that a table owns to `each`, exactly as it was allocated (drop, takeover, accounting). */
typedef void (*PieceVisit)(void *ctx, const void *piece, u64 bytes);
void walk_table(const TableShm *t, PieceVisit each, void *ctx);
/* The same for one block: its arrays and its struct; for a slot: delete state, block and itself. */
void walk_block(const BlockShm *b, PieceVisit each, void *ctx);
void walk_slot(const SlotDirShm *s, PieceVisit each, void *ctx);
void walk_dict(const DictShm *d, PieceVisit each, void *ctx); /* without older ones */
/* Root, trees, roles and all tables. */
void walk_root(const Root *root, PieceVisit each, void *ctx);

/* ---- shared by both sides ---- */
/* block_view of the table as the world has it. */
bool table_block_view(const TableShm *t, u32 place, BlockView *ret);
u64 shape_defs_hash(void);
/* Whether a table of that epoch has the slot's block. */
static inline bool
slot_seen_at(const SlotDirShm *s, u64 epoch)
{
    return observe_u64(&s->pub_link_epoch) <= epoch && epoch < observe_u64(&s->pub_unlink_epoch);
}
/* The row's new id; 0: it was not alive when its block was compacted. */
RowId row_map_find(const RowMapShm *m, u32 offset);
/* Hash of a name for the tree of names at a level group. */
u64 shape_name_hash(Str name, u32 round);
/* One stored value as its physical element (frozen ones are widened); text gives the code as u32. */
void slice_load(const SliceShm *s, u32 offset, void *to);
static inline bool
slice_null(const BlockShm *b, const SliceShm *s, u32 offset)
{
    if (!s->nulls)
        return false;
    if (b->sealed)
        return ((const u64 *)s->nulls)[offset >> 6] >> (offset & 63) & 1;
    return ((const u8 *)s->nulls)[offset];
}
/* Whether the list (NULL: empty) has a delete of the offset newer than `version`; which. */
bool delete_list_newer(const DeleteListShm *l, u32 offset, u64 version, u64 *ret_deleted_version);

#endif
