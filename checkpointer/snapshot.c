/*
 * snapshot.c
 *    Write a snapshot: pin, write what changed, name it, read it back, and only then remove what it replaces.
 *
 *   log start observed -> pinned -> pieces written -> unpinned -> data durable -> TOC durable -> read back -> it counts; the older of the two goes
 *
 * Log start is observed before the pin: it is the smaller of a published version and the first frame of every chain that was open at that moment; chains
 * that begin later begin above it. So nothing that the pinned version lacks can stand below it, and what stands between it and the version
 * is skipped by recovery, which knows the version.
 * What is written of a block is what the pinned version sees: rows below its count, deletes at the version. The block that was open at the version is
 * written as an open one, whatever has become of it since, because the log goes on filling it. Dictionaries come behind the blocks, so they
 * hold every code of them; texts beyond those of the version do no harm.
 *
 * Invariants: S1 the two newest complete snapshots share no file; S2 nothing of a complete snapshot is removed before a newer one was read back.
 * Fails: the disk, memory (53100, 58030, 53200). Then what was complete stays, and what was begun is removed.
 */
#include "checkpointer/snapshot.h"

#include "common/base/crc32c.h"
#include "common/base/env.h"
#include "common/base/fault.h"
#include "common/base/say.h"
#include "common/store/shape.h"

#include <stdlib.h>

typedef struct Work {
    Snapshots *s;
    SnapWriter *writer;
    Reuse *reuse;
    Snapshot pinned;
    ByteBuf catalog, tables, texts;
    u8 *scratch;          /* BLOCK_ROWS of the widest value, for the open block */
    const DictShm **dicts; /* of the table in work */
    u32 dict_count, dict_capacity;
    SnapshotReport report;
    Error *err;
    bool ok;
} Work;

static bool
failed(Work *w, ErrCode code, const char *what)
{
    error_set(w->err, code, "%s", what);
    return w->ok = false;
}

static bool
go_on(Work *w)
{
    if (w->ok && snap_writer_error(w->writer))
        w->ok = false; /* snap_writer_data says why */
    if (w->ok && w->s->go_on && !w->s->go_on(w->s->ctx))
        return failed(w, ERR_QUERY_CANCELED, "the checkpointer was told to stop");
    return w->ok;
}

/* ---- pieces ---- */

static SnapRef
put_piece(Work *w, const void *bytes, u64 len)
{
    w->report.piece_bytes += len;
    return snap_write(w->writer, bytes, len, crc32c(0, bytes, len));
}

/* One that never changes: written only when the older snapshot does not have it. */
static SnapRef
put_immutable(Work *w, SnapKey key, const void *bytes, u64 len)
{
    SnapRef ref;
    u32 crc = crc32c(0, bytes, len);
    w->report.piece_bytes += len;
    if (w->reuse && reuse_find(w->reuse, key, len, crc, &ref))
        return ref;
    return snap_write(w->writer, bytes, len, crc);
}

/* ---- blocks ---- */

/* The dictionary is one of the table's; noted so that it is written. */
static bool
note_dict(Work *w, const DictShm *d)
{
    for (u32 i = 0; i < w->dict_count; i++)
        if (w->dicts[i] == d)
            return true;
    if (w->dict_count == w->dict_capacity) {
        u32 capacity = MAX(16u, w->dict_capacity * 2);
        const DictShm **more = realloc(w->dicts, capacity * sizeof *more);
        if (!more)
            return failed(w, ERR_OUT_OF_MEMORY, "out of memory");
        w->dicts = more;
        w->dict_capacity = capacity;
    }
    w->dicts[w->dict_count++] = d;
    return true;
}

/* A column of the open block, plain and with null bytes where it is nullable, also when it was sealed since. */
static void
put_open_slice(Work *w, const BlockShm *b, const SliceShm *s, bool nullable, u32 rows, SnapSlice *to)
{
    to->flags = 0;
    to->width = (u8)phys_stored((PhysType)s->phys);
    to->reference = 0;
    to->factor = 1;
    to->null_count = 0;
    memset(to->min, 0, sizeof to->min);
    memset(to->max, 0, sizeof to->max);
    const void *values = s->data;
    if (s->flags & SLICE_FROZEN) {
        for (u32 i = 0; i < rows; i++)
            slice_load(s, i, w->scratch + (u64)i * to->width);
        values = w->scratch;
    }
    to->data = put_piece(w, values, (u64)rows * to->width);
    if (!nullable)
        return;
    const u8 *nulls = s->nulls;
    if (b->sealed || !nulls) {
        for (u32 i = 0; i < rows; i++)
            w->scratch[i] = slice_null(b, s, i);
        nulls = w->scratch;
    }
    to->nulls = put_piece(w, nulls, rows);
}

static void
put_slice(Work *w, u32 table_id, const BlockView *view, u32 column, bool open)
{
    const BlockShm *b = (const BlockShm *)(const void *)((const u8 *)view->slices - offsetof(BlockShm, slices));
    const SliceShm *s = &b->slices[column];
    SnapSlice to = {.phys = s->phys, .scale = s->scale, .width = s->width, .flags = s->flags, .null_count = s->null_count,
                    .dict_id = s->dict ? s->dict->id : 0, .reference = s->reference, .factor = s->factor};
    memcpy(to.min, s->min, sizeof to.min);
    memcpy(to.max, s->max, sizeof to.max);
    if (s->dict && !note_dict(w, s->dict))
        return;
    if (open) {
        put_open_slice(w, b, s, !view->table->def->columns[column].not_null, view->row_count, &to);
    } else {
        to.data = put_immutable(w, (SnapKey){table_id, snap_what(column, SNAP_VALUES), view->block_id}, s->data, (u64)view->row_count * s->width);
        if (s->nulls)
            to.nulls = put_immutable(w, (SnapKey){table_id, snap_what(column, SNAP_NULLS), view->block_id}, s->nulls, BITMAP_BYTES);
    }
    snap_put_slice(&w->tables, &to);
}

static void
put_block(Work *w, const TableShm *t, const BlockView *view)
{
    u64 bits[BLOCK_WORDS];
    SnapBlock b = {.block_id = view->block_id, .rows = view->row_count, .open = view->block_id == t->open_block};
    if (block_deleted(view, w->pinned.version, bits, &b.deleted))
        b.bits = put_piece(w, bits, sizeof bits);
    snap_put_block(&w->tables, &b);
    for (u32 c = 0; c < t->def->column_count && w->ok; c++)
        put_slice(w, t->def->table_id, view, c, b.open);
    w->report.blocks++;
    if (w->report.blocks == 2)
        FAULT(SNAP_MIDDLE);
}

/* ---- dictionaries ---- */

/* A piece from code `first` on; returns the code behind it. */
static u32
put_texts(Work *w, u32 table_id, const DictShm *d, u32 first, u32 end)
{
    SnapTexts t = {.first = first};
    buf_clear(&w->texts);
    while (first + t.count < end && !snap_texts_full(t.count, w->texts.len)) {
        Str s = dict_str(d, first + t.count++);
        buf_le32(&w->texts, s.len);
        buf_put(&w->texts, s.ptr, s.len);
    }
    if (w->texts.failed) {
        failed(w, ERR_OUT_OF_MEMORY, "out of memory");
        return end;
    }
    SnapKey key = {table_id, snap_what(d->column, SNAP_STRINGS), snap_texts_id(d->id, first)};
    t.ref = snap_texts_full(t.count, w->texts.len) ? put_immutable(w, key, w->texts.data, w->texts.len) : put_piece(w, w->texts.data, w->texts.len);
    snap_put_texts(&w->tables, &t);
    return first + t.count;
}

static void
put_dict(Work *w, const TableShm *t, const DictShm *d)
{
    SnapDict to = {.dict_id = d->id, .column = d->column, .count = dict_count(d), .current = t->dicts && t->dicts[d->column] == d};
    snap_put_dict(&w->tables, &to);
    for (u32 code = 0; code < to.count && go_on(w);)
        code = put_texts(w, t->def->table_id, d, code, to.count);
}

/* ---- everything ---- */

static bool
put_table(void *ctx, const TableDef *def)
{
    Work *w = ctx;
    const TableShm *t = store_table(w->pinned.root, def->table_id);
    SnapTable table = {.table_id = def->table_id, .next_block = relaxed_u64(&t->dir->next_block), .rows = t->row_count};
    w->dict_count = 0;
    w->report.tables++;
    snap_put_table(&w->tables, &table);
    for (u32 place = 0; place < table_block_count(t) && go_on(w); place++) {
        BlockView view;
        if (block_view(t, place, &view))
            put_block(w, t, &view);
    }
    for (u32 c = 0; t->dicts && c < def->column_count; c++)
        if (t->dicts[c] && !note_dict(w, t->dicts[c]))
            return false;
    for (u32 i = 0; i < w->dict_count && go_on(w); i++)
        put_dict(w, t, w->dicts[i]);
    return w->ok;
}

static bool
put_everything(Work *w)
{
    FAULT(SNAP_PINNED);
    snapshot_put_catalog(&w->catalog, w->pinned.root, w->s->shm->secrets);
    catalog_each_table(w->pinned.root, put_table, w);
    return go_on(w);
}

static bool
put_toc(Work *w, const SnapHead *head, Error *err)
{
    const SnapFile *files;
    ByteBuf body = {0};
    SnapFile own = {.number = w->report.number, .bytes = w->report.new_bytes};
    snap_put_file(&body, &own);
    u32 count = w->reuse ? reuse_files(w->reuse, &files) : 0;
    for (u32 i = 0; i < count; i++)
        snap_put_file(&body, &files[i]);
    w->report.files = 1 + count;
    buf_put(&body, w->catalog.data, w->catalog.len);
    buf_put(&body, w->tables.data, w->tables.len);
    body.failed |= w->catalog.failed || w->tables.failed;
    bool ok = snap_writer_toc(w->writer, head, &body, err);
    buf_free(&body);
    return ok;
}

/* The pinned state into files, made durable. */
static bool
write_files(Work *w)
{
    u64 begun_ns = env->monotonic_ns(), log_start = observe_u64(&w->s->shm->writer->pub_takeover_lsn);
    i64 begun_us = env->wall_us();
    w->pinned = snapshot_pin(w->s->shm, w->s->box);
    log_start = MIN(log_start, w->pinned.version);
    w->report.version = w->pinned.version;
    bool ok = put_everything(w);
    SnapHead head = {.number = w->report.number, .database_id = w->s->database_id, .version = w->pinned.version, .log_start = log_start,
                     .catalog_version = w->pinned.root->catalog_version, .next_table_id = w->pinned.root->next_table_id,
                     .next_role_id = w->pinned.root->next_role_id, .wall_us = begun_us};
    snapshot_unpin(w->s->box);
    u64 put_ns = env->monotonic_ns();
    /* An error of the disk comes first: it is the cause. */
    if (ok || snap_writer_error(w->writer))
        ok = snap_writer_data(w->writer, &w->report.new_bytes, w->err) && ok && put_toc(w, &head, w->err);
    w->report.read_ns = put_ns - begun_ns;
    w->report.sync_ns = env->monotonic_ns() - put_ns;
    return ok;
}

static bool
go_on_reading(void *ctx, u64 bytes)
{
    Snapshots *s = ctx;
    (void)bytes;
    return !s->go_on || s->go_on(s->ctx);
}

static void
work_done(Work *w)
{
    snap_writer_free(w->writer);
    reuse_free(w->reuse);
    buf_free(&w->catalog);
    buf_free(&w->tables);
    buf_free(&w->texts);
    free(w->scratch);
    free(w->dicts);
}

static bool
write_all(Snapshots *s, SnapshotReport *ret, Error *err)
{
    Work w = {.s = s, .err = err, .ok = true, .report.number = s->next_number++};
    w.scratch = malloc((size_t)BLOCK_ROWS * 24);
    if (s->older.head.number)
        w.reuse = reuse_new(&s->older, &s->newest);
    bool ok = w.scratch && (w.reuse || !s->older.head.number);
    if (!ok)
        error_set(err, ERR_OUT_OF_MEMORY, "out of memory");
    ok = ok && snap_writer_open(s->io, s->dir_fd, w.report.number, s->database_id, &w.writer, err) && write_files(&w);
    work_done(&w);
    *ret = w.report;
    return ok;
}

/* It is what it should be, to the last byte, as the device gives it back. */
static bool
read_back(Snapshots *s, SnapshotReport *r, SnapToc *ret, Error *err)
{
    u64 begun_ns = env->monotonic_ns();
    FAULT(SNAP_BEFORE_READ_BACK);
    if (!snap_toc_read(s->io, s->dir_fd, r->number, s->database_id, ret, err))
        return false;
    if (!snap_verify(s->io, s->dir_fd, ret, r->number, go_on_reading, s, err)) {
        snap_toc_free(ret);
        return false;
    }
    r->toc_bytes = ret->toc_bytes;
    r->back_ns = env->monotonic_ns() - begun_ns;
    FAULT(SNAP_AFTER_READ_BACK);
    return true;
}

static bool
remove_others(Snapshots *s, Error *err)
{
    const SnapToc *keep[2] = {&s->newest, &s->older};
    u32 count = s->newest.head.number == 0 ? 0 : s->older.head.number == 0 ? 1 : 2;
    return snap_remove_others(s->io, s->dir_fd, keep, count, err);
}

bool
snapshot_write(Snapshots *s, SnapshotReport *ret, Error *err)
{
    SnapToc made;
    Error removal;
    if (!write_all(s, ret, err) || !read_back(s, ret, &made, err)) {
        if (err->code == ERR_DATA_CORRUPTED) /* what was read back is not what was written: the device's fault */
            err->code = ERR_IO_ERROR;
        if (!remove_others(s, &removal))
            say_warn("left-over files of a snapshot stay for now: %s", removal.message);
        return false;
    }
    snap_toc_free(&s->older);
    s->older = s->newest;
    s->newest = made;
    ret->log_needed = snapshots_log_needed(s);
    if (!remove_others(s, &removal)) /* the next one tries again */
        say_warn("old snapshots stay for now: %s", removal.message);
    return true;
}

/* ---- what is there ---- */

bool
snapshots_open(Snapshots *s, u64 damaged, Error *err)
{
    SnapList list;
    Error reason;
    bool whole = damaged == 0;
    if (!snap_list(s->io, s->dir_fd, &list, err))
        return false;
    s->next_number = list.highest + 1;
    for (u32 i = 0; i < list.count && !s->older.head.number; i++) {
        SnapToc *to = s->newest.head.number ? &s->older : &s->newest;
        if (list.tocs[i] == damaged)
            continue;
        if (!snap_toc_read(s->io, s->dir_fd, list.tocs[i], s->database_id, to, &reason)) {
            say_warn("a snapshot does not count: %s", reason.message);
            whole = false;
        }
    }
    if (whole && !remove_others(s, &reason)) /* else what is damaged may still serve, until the next snapshot is complete */
        say_warn("left-over files of snapshots stay for now: %s", reason.message);
    return true;
}

void
snapshots_close(Snapshots *s)
{
    snap_toc_free(&s->newest);
    snap_toc_free(&s->older);
}

u64
snapshots_log_needed(const Snapshots *s)
{
    return s->older.head.number ? MIN(s->older.head.log_start, s->newest.head.log_start) : 0;
}
