/*
 * snap.h
 *    The snapshot container: data files of checksummed pieces, and a table of contents a snapshot that names them. Knows nothing of the column world.
 *
 * A snapshot is its table of contents (TOC), which is written last. It names data files of its own and of earlier snapshots of its lineage, and in
 * them pieces by offset, length and CRC32C. The format is described by offset at the head of snapfile.c. A TOC gets its name when everything it
 * names is durable. Files that no living TOC names may be removed by anyone who holds the data folder's lock.
 * Errors: 53100 a full disk, 58030 the system's word, XX001 with file and offset for what is damaged, 53200.
 */
#ifndef SNAP_H
#define SNAP_H

#include "common/base/bytes.h"
#include "common/disk/record.h"
#include "common/disk/wal.h"

enum { SNAP_PAGE = 4096, SNAP_NAME_BYTES = 40 };
/* A piece of texts ends when it has so many, or so many bytes: then it is full and never changes. */
enum { SNAP_TEXTS_FULL = 16384, SNAP_TEXTS_FULL_BYTES = 1 << 20 };
static inline bool snap_texts_full(u32 count, u64 bytes) { return count >= SNAP_TEXTS_FULL || bytes >= SNAP_TEXTS_FULL_BYTES; }

typedef enum SnapItemKind {
#define SNAP_ITEM(number, symbol, bytes, what) SNAP_##symbol = number,
#include "common/disk/snapitem.def"
} SnapItemKind;

/* A piece: file is an index into SnapToc.files. */
typedef struct SnapRef {
    u64 offset, bytes;
    u32 file, crc;
} SnapRef;
enum { SNAP_OWN_FILE = 0 }; /* while a snapshot is written: its own data file */

typedef struct SnapFile { u64 number, bytes; } SnapFile;
typedef struct SnapTable { u32 table_id; u64 next_block, rows; } SnapTable;
typedef struct SnapBlock { u64 block_id; u32 rows, deleted; bool open; SnapRef bits; } SnapBlock;
typedef struct SnapSlice {
    u8 phys, scale, width, flags;
    u32 null_count;
    u64 dict_id;
    i64 reference, factor;
    u8 min[24], max[24];
    SnapRef data, nulls;
} SnapSlice;
typedef struct SnapDict { u64 dict_id; u32 column, count; bool current; } SnapDict;
typedef struct SnapTexts { u32 first, count; SnapRef ref; } SnapTexts;

typedef struct SnapItem {
    u32 kind; /* SnapItemKind, or the kind of a catalog record */
    Record record;
    union {
        SnapFile file;
        SnapTable table;
        SnapBlock block;
        SnapSlice slice;
        SnapDict dict;
        SnapTexts texts;
    };
} SnapItem;

typedef struct SnapHead {
    u64 number, database_id;
    Lsn version, log_start; /* the commit it shows; where the log that goes on from it must be read from */
    u64 catalog_version;
    u32 next_table_id, next_role_id;
    i64 wall_us;            /* when it was begun, as env->wall_us */
} SnapHead;

const char *snap_item_name(u32 kind); /* NULL when unknown */

/* ---- making the body of a TOC ---- */
void snap_put_file(ByteBuf *to, const SnapFile *f);
void snap_put_table(ByteBuf *to, const SnapTable *t);
void snap_put_block(ByteBuf *to, const SnapBlock *b);
void snap_put_slice(ByteBuf *to, const SnapSlice *s);
void snap_put_dict(ByteBuf *to, const SnapDict *d);
void snap_put_texts(ByteBuf *to, const SnapTexts *t);
void snap_put_catalog(ByteBuf *to, u16 kind, const ByteBuf *payload);

/* ---- reading a TOC ---- */
typedef struct SnapToc {
    SnapHead head;
    u8 *bytes;             /* the whole file */
    const u8 *body, *body_end;
    SnapFile *files;
    u32 file_count;
    u64 toc_bytes, piece_bytes; /* piece_bytes: all that it names */
} SnapToc;

/* Everything of the TOC is checked: sums, items, that pieces lie inside their files. Not the pieces. database_id 0: of any database. */
MUST_CHECK bool snap_toc_read(Io *io, int dir_fd, u64 number, u64 database_id, SnapToc *ret, Error *err);
void snap_toc_free(SnapToc *t);
/* Items of a checked TOC in order: begin with *at = toc->body. */
bool snap_next(const SnapToc *t, const u8 **at, SnapItem *ret);
/* The refs of an item that has pieces; how many. */
u32 snap_item_refs(const SnapItem *i, SnapRef ret[2]);

/* Piece by piece, each with what it holds. Two pieces of the same key, length and sum are the same bytes. */
enum { SNAP_VALUES, SNAP_NULLS, SNAP_BITS, SNAP_STRINGS, SNAP_PIECE_KINDS };
typedef struct SnapKey {
    u32 table_id, what; /* what: snap_what(column, kind of piece) */
    u64 id;             /* the block; of texts: snap_texts_id */
} SnapKey;
static inline u32 snap_what(u32 column, u32 kind) { return column * SNAP_PIECE_KINDS + kind; }
static inline u64 snap_texts_id(u64 dict_id, u32 first) { return dict_id << 32 | first; }
static inline bool snap_key_equal(SnapKey a, SnapKey b) { return a.table_id == b.table_id && a.what == b.what && a.id == b.id; }
typedef struct SnapPiece {
    SnapKey key;
    SnapRef ref;
    bool final; /* of a sealed block, or a full piece of texts: it never changes */
} SnapPiece;
typedef struct SnapCursor { /* begin with {.toc = t, .at = t->body} */
    const SnapToc *toc;
    const u8 *at;
    SnapItem item; /* the piece's */
    u32 table_id, column, given;
    u64 block_id;
    bool open;
} SnapCursor;
bool snap_next_piece(SnapCursor *c, SnapPiece *ret);

/* ---- the folder ---- */
enum { SNAP_LIST_MAX = 64 };
typedef struct SnapList {
    u64 tocs[SNAP_LIST_MAX]; /* newest first */
    u32 count;
    u64 highest;             /* number of any file of ours, temporary ones too */
} SnapList;
MUST_CHECK bool snap_list(Io *io, int dir_fd, SnapList *ret, Error *err);
/* Remove files of ours that none of these names, TOCs before data; foreign names stay. */
MUST_CHECK bool snap_remove_others(Io *io, int dir_fd, const SnapToc *const *keep, u32 count, Error *err);
void snap_toc_name(char name[SNAP_NAME_BYTES], u64 number);
void snap_data_name(char name[SNAP_NAME_BYTES], u64 number);

/* ---- reading pieces: one reader a thread ---- */
/* fds: open data files of the TOC, -1 where one is missing. */
typedef struct SnapFiles { int *fds; u32 count; } SnapFiles;
/* A missing file is no error yet: what lies in it will be. */
MUST_CHECK bool snap_files_open(Io *io, int dir_fd, const SnapToc *t, SnapFiles *ret, Error *err);
void snap_files_close(Io *io, SnapFiles *f);
/* Read a piece to `to` and check it; XX001 names file and offset. */
MUST_CHECK bool snap_read(Io *io, const SnapToc *t, const SnapFiles *f, const SnapRef *ref, void *to, Error *err);
/* Read the pieces in the files that `number` wrote (0: all) and compare their sums; where the file system can, from the device and not from memory.
 * each (may be NULL) is told the bytes read so far and says whether to go on. */
MUST_CHECK bool snap_verify(Io *io, int dir_fd, const SnapToc *t, u64 number, bool (*each)(void *ctx, u64 bytes), void *ctx, Error *err);

/* ---- writing ---- */
typedef struct SnapWriter SnapWriter;
/* Makes the temporary data file. The Io has a depth of SNAP_WRITES_IN_FLIGHT or more, and nothing else is in flight on it meanwhile. */
enum { SNAP_WRITES_IN_FLIGHT = 4 };
MUST_CHECK bool snap_writer_open(Io *io, int dir_fd, u64 number, u64 database_id, SnapWriter **ret, Error *err);
/* Append a piece to the own data file; its sum is given. An error shows at snap_writer_data. */
SnapRef snap_write(SnapWriter *w, const void *bytes, u64 len, u32 crc);
/* 0, or the -errno with which writing has failed: the caller can stop early. */
int snap_writer_error(const SnapWriter *w);
/* The data file is complete: written, synced, named. *ret_bytes: of the file. */
MUST_CHECK bool snap_writer_data(SnapWriter *w, u64 *ret_bytes, Error *err);
/* The TOC: written, synced, named, folder synced. The snapshot exists. */
MUST_CHECK bool snap_writer_toc(SnapWriter *w, const SnapHead *head, const ByteBuf *body, Error *err);
/* Closes; removes temporary files that are left. */
void snap_writer_free(SnapWriter *w);

#endif
