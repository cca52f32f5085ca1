/*
 * restore.c
 *    Start from a snapshot: choose it, read it straight into place from several threads, build the indexes.
 *
 * The newest readable table of contents is taken. Its catalog records are applied as the log's are; every block gets its memory; then threads read the
 * pieces into it and compare sums, while the main thread enters texts into dictionaries (only it allocates). A piece that is damaged is looked for in the
 * other snapshots, which have it in other files (same key, length and sum); when no file has it, the world is emptied and the next older snapshot
 * is tried, with more of the log. When none is usable the log must be there from its beginning, else the start is refused by who reads it.
 * Nothing on disk is written or removed here.
 *
 * Fails: no memory, a folder that cannot be read. A damaged snapshot is no failure of this file.
 */
#include "walwriter/writer.h"

#include "common/base/env.h"
#include "common/base/fault.h"
#include "common/base/say.h"
#include "common/store/shape.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

enum { READERS_MAX = 16, TRIED_MAX = 4, PROGRESS_EVERY_NS = 1000 * 1000 * 1000 };

typedef struct Job {
    SnapPiece piece;
    void *to;
    u32 code_limit, width; /* of a column of text: codes, so many bytes each, are below the limit. 0: no column of text */
    bool wrong;            /* they are not */
} Job;

typedef struct Restore {
    World **world;
    Shm *shm;
    Io *io;
    int dir_fd;
    Error *err;
    SnapToc tocs[TRIED_MAX];
    SnapFiles files[TRIED_MAX];
    u32 toc_count;
    u32 at;             /* of the one being read */
    /* one attempt */
    Arena *arena;
    Job *jobs;
    u32 job_count, job_capacity;
    SnapDict *dicts;    /* of the table in work */
    u32 dict_count, dict_capacity;
    u32 next_job;       /* taken by readers */
    u32 *bad;           /* indexes of jobs whose piece is damaged */
    u32 bad_count;
    u64 done_bytes;
    u64 said_ns;
    u32 readers_left;
} Restore;

static const SnapToc *toc_of(const Restore *r) { return &r->tocs[r->at]; }

static bool
no_memory(Error *err)
{
    return error_set(err, ERR_OUT_OF_MEMORY, "out of memory while reading a snapshot");
}

static void
say_progress(Restore *r)
{
    u64 now_ns = env->monotonic_ns();
    if (now_ns - r->said_ns < PROGRESS_EVERY_NS)
        return;
    r->said_ns = now_ns;
    say_info("recovering: %llu of %llu MB of snapshot %llu read", (unsigned long long)(observe_u64(&r->done_bytes) >> 20),
             (unsigned long long)(toc_of(r)->piece_bytes >> 20), (unsigned long long)toc_of(r)->head.number);
}

/* ---- pieces ---- */

/* The same piece in another snapshot. */
static bool
find_elsewhere(const Restore *r, const SnapPiece *wanted, u32 *ret_toc, SnapRef *ret)
{
    for (u32 t = 0; t < r->toc_count; t++) {
        SnapCursor c = {.toc = &r->tocs[t], .at = r->tocs[t].body};
        for (SnapPiece p; t != r->at && snap_next_piece(&c, &p);)
            if (snap_key_equal(p.key, wanted->key) && p.ref.bytes == wanted->ref.bytes && p.ref.crc == wanted->ref.crc) {
                *ret_toc = t;
                *ret = p.ref;
                return true;
            }
    }
    return false;
}

#define HIGHEST(T)                                                                                                                         \
    for (u64 i = 0; i < j->piece.ref.bytes / sizeof(T); i++)                                                                                \
    highest = MAX(highest, ((const T *)j->to)[i])

/* Every code of a column of text is one of its dictionary's. */
static void
check_codes(Job *j)
{
    u32 highest = 0;
    if (!j->code_limit)
        return;
    if (j->width == 1)
        HIGHEST(u8);
    else if (j->width == 2)
        HIGHEST(u16);
    else
        HIGHEST(u32);
    j->wrong = highest >= j->code_limit;
}

static bool
read_piece(Restore *r, Io *io, u32 toc, const SnapRef *ref, void *to, Error *err)
{
    bool ok = snap_read(io, &r->tocs[toc], &r->files[toc], ref, to, err);
    counter_add_u64(&r->done_bytes, ok ? ref->bytes : 0);
    return ok;
}

/* A damaged one, from wherever it is whole. false: nowhere; err says what is wrong with it here. */
static bool
repair_piece(Restore *r, const SnapPiece *p, void *to, Error *err)
{
    u32 toc;
    SnapRef ref;
    Error other;
    if (!find_elsewhere(r, p, &toc, &ref) || !read_piece(r, r->io, toc, &ref, to, &other))
        return false;
    say_warn("%s; the piece was taken from snapshot %llu", err->message, (unsigned long long)r->tocs[toc].head.number);
    return true;
}

static void *
reader_thread(void *arg)
{
    Restore *r = arg;
    Error err;
    const char *why;
    Io *io = io_new(IO_ENGINE_PLAIN, 1, &why);
    for (u32 i; io && (i = counter_add_u32(&r->next_job, 1)) < r->job_count;) {
        Job *j = &r->jobs[i];
        if (read_piece(r, io, r->at, &j->piece.ref, j->to, &err))
            check_codes(j);
        else
            r->bad[counter_add_u32(&r->bad_count, 1)] = i;
    }
    io_free(io);
    counter_add_u32(&r->readers_left, UINT32_MAX); /* one less */
    return NULL;
}

/* ---- the contents ---- */

static bool
add_job(Restore *r, SnapKey key, const SnapRef *ref, void *to, u32 code_limit, u32 width)
{
    if (!ref->bytes)
        return true;
    if (!tx_grow(&r->jobs, &r->job_capacity, r->job_count + 1, sizeof *r->jobs))
        return no_memory(r->err);
    r->jobs[r->job_count++] = (Job){.piece = {.key = key, .ref = *ref}, .to = to, .code_limit = code_limit, .width = width};
    return true;
}

static bool
put_catalog(Restore *r, const Record *rec)
{
    if (!ddl_is_catalog(rec->kind))
        return error_set(r->err, ERR_DATA_CORRUPTED, "snapshot is damaged: a record of kind %u", rec->kind);
    if (!ddl_check(rec->kind, rec->payload, rec->len, r->err) || !world_reserve_catalog(*r->world, CATALOG_PROMISE, r->err))
        return false;
    arena_reset(r->arena);
    ddl_apply(*r->world, r->arena, rec->kind, rec->payload, rec->len);
    world_unreserve_catalog(*r->world, CATALOG_PROMISE);
    return true;
}

/* Catalog, tables and dictionaries: blocks name dictionaries, which stand behind them. */
static bool
first_pass(Restore *r)
{
    const SnapToc *t = toc_of(r);
    const u8 *at = t->body;
    u32 table = 0;
    for (SnapItem i; snap_next(t, &at, &i);) {
        bool ok = true;
        if (i.kind < SNAP_FILE)
            ok = put_catalog(r, &i.record);
        else if (i.kind == SNAP_TABLE) {
            table = i.table.table_id;
            ok = world_restore_table(*r->world, &i.table, r->err);
        } else if (i.kind == SNAP_DICT)
            ok = world_restore_dict(*r->world, table, &i.dict, r->err);
        if (!ok)
            return false;
    }
    world_restore_counts(*r->world, &t->head);
    return true;
}

/* The dictionaries of the table at `at`, which stand behind its blocks. */
static bool
list_dicts(Restore *r, const u8 *at)
{
    r->dict_count = 0;
    for (SnapItem i; snap_next(toc_of(r), &at, &i) && i.kind != SNAP_TABLE;) {
        if (i.kind != SNAP_DICT)
            continue;
        if (!tx_grow(&r->dicts, &r->dict_capacity, r->dict_count + 1, sizeof *r->dicts))
            return no_memory(r->err);
        r->dicts[r->dict_count++] = i.dict;
    }
    return true;
}

/* How many codes the dictionary of a column of text has. */
static u32
code_limit(const Restore *r, const SnapSlice *s)
{
    for (u32 i = 0; s->phys == PHYS_STR && i < r->dict_count; i++)
        if (r->dicts[i].dict_id == s->dict_id)
            return r->dicts[i].count;
    return 0;
}

/* Room for every block, and a job for every piece of it. */
static bool
second_pass(Restore *r)
{
    const SnapToc *t = toc_of(r);
    const u8 *at = t->body;
    u32 table = 0, column = 0;
    u64 block = 0;
    for (SnapItem i; snap_next(t, &at, &i);) {
        u64 *bits;
        u8 *values, *nulls;
        bool ok = true;
        if (i.kind == SNAP_TABLE) {
            table = i.table.table_id;
            ok = list_dicts(r, at);
        } else if (i.kind == SNAP_BLOCK) {
            block = i.block.block_id;
            column = 0;
            ok = world_restore_block(*r->world, table, &i.block, &bits, r->err) &&
                 add_job(r, (SnapKey){table, SNAP_BITS, block}, &i.block.bits, bits, 0, 0);
        } else if (i.kind == SNAP_SLICE) {
            ok = world_restore_slice(*r->world, table, block, column, &i.slice, &values, &nulls, r->err) &&
                 add_job(r, (SnapKey){table, snap_what(column, SNAP_VALUES), block}, &i.slice.data, values, code_limit(r, &i.slice),
                         i.slice.width) &&
                 add_job(r, (SnapKey){table, snap_what(column, SNAP_NULLS), block}, &i.slice.nulls, nulls, 0, 0);
            column++;
        }
        if (!ok)
            return false;
    }
    return true;
}

static bool
put_texts(Restore *r, const SnapCursor *c, const SnapPiece *p)
{
    u8 *bytes = malloc(p->ref.bytes);
    if (!bytes)
        return no_memory(r->err);
    bool ok = read_piece(r, r->io, r->at, &p->ref, bytes, r->err) || repair_piece(r, p, bytes, r->err);
    ok = ok && world_restore_texts(*r->world, p->key.table_id, p->key.id >> 32, &c->item.texts, bytes, r->err);
    free(bytes);
    return ok;
}

static bool
put_all_texts(Restore *r)
{
    SnapCursor c = {.toc = toc_of(r), .at = toc_of(r)->body};
    for (SnapPiece p; snap_next_piece(&c, &p);) {
        if (c.item.kind == SNAP_TEXTS && !put_texts(r, &c, &p))
            return false;
        say_progress(r);
    }
    return true;
}

/* What the readers could not read, and what they read that cannot be. */
static bool
finish_jobs(Restore *r)
{
    for (u32 b = 0; b < r->bad_count; b++) {
        Job *j = &r->jobs[r->bad[b]];
        if (!read_piece(r, r->io, r->at, &j->piece.ref, j->to, r->err) && !repair_piece(r, &j->piece, j->to, r->err))
            return false;
        check_codes(j);
    }
    for (u32 i = 0; i < r->job_count; i++) {
        const Job *j = &r->jobs[i];
        if (j->wrong)
            return error_set(r->err, ERR_DATA_CORRUPTED, "snapshot is damaged: a text of table %u is not in its dictionary", j->piece.key.table_id);
    }
    return true;
}

static u32
reader_count(void)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    return cores < 1 ? 1 : cores > READERS_MAX ? READERS_MAX : (u32)cores;
}

/* Readers fill the blocks while this thread fills the dictionaries. Without any reader it does all. */
static bool
read_everything(Restore *r)
{
    pthread_t threads[READERS_MAX];
    u32 started = 0, want = reader_count();
    sigset_t all, old;
    r->next_job = r->bad_count = 0;
    r->bad = calloc(r->job_count + 1u, sizeof *r->bad);
    if (!r->bad)
        return no_memory(r->err);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    r->readers_left = want;
    for (u32 i = 0; i < want; i++) {
        if (pthread_create(&threads[started], NULL, reader_thread, r) == 0)
            started++;
        else
            counter_add_u32(&r->readers_left, UINT32_MAX);
    }
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    FAULT(RESTORE_MIDDLE);
    bool ok = put_all_texts(r);
    while (observe_u32(&r->readers_left) > 0) {
        usleep(1000);
        say_progress(r);
    }
    for (u32 i = 0; i < started; i++)
        pthread_join(threads[i], NULL);
    for (u32 i = r->next_job; i < r->job_count; i++) /* nobody took it */
        r->bad[r->bad_count++] = i;
    return ok && finish_jobs(r);
}

/* ---- one attempt ---- */

static bool
load(Restore *r)
{
    r->job_count = 0;
    r->done_bytes = 0;
    bool ok = first_pass(r) && second_pass(r) && read_everything(r);
    free(r->bad);
    r->bad = NULL;
    if (!ok || !world_restore_keys(*r->world, toc_of(r)->head.version, reader_count(), r->err))
        return false;
    world_publish(*r->world, toc_of(r)->head.version);
    while (world_reclaim(*r->world)) /* what growing dictionaries left behind */
        ;
    return true;
}

/* Rows as many as were counted when it was written. */
static bool
check_counts(Restore *r)
{
    const u8 *at = toc_of(r)->body;
    for (SnapItem i; snap_next(toc_of(r), &at, &i);)
        if (i.kind == SNAP_TABLE && table_row_count(world_table(*r->world, i.table.table_id)) != i.table.rows)
            return error_set(r->err, ERR_DATA_CORRUPTED, "snapshot is damaged: the rows of table %u are not as many as it says", i.table.table_id);
    return true;
}

/* From the newest on; false: no memory, or the disk. */
static bool
try_each(Restore *r, Recovered *ret)
{
    for (r->at = 0; r->at < r->toc_count; r->at++) {
        u64 begun_ns = env->monotonic_ns();
        if (load(r) && check_counts(r)) {
            const SnapToc *t = toc_of(r);
            ret->snapshot = t->head.number;
            ret->snapshot_version = t->head.version;
            ret->log_start = t->head.log_start;
            ret->snapshot_file_bytes = t->toc_bytes + t->piece_bytes;
            ret->snapshot_ns = env->monotonic_ns() - begun_ns;
            return true;
        }
        if (r->err->code != ERR_DATA_CORRUPTED)
            return false;
        say_warn("snapshot %llu cannot be used: %s", (unsigned long long)toc_of(r)->head.number, r->err->message);
        ret->damaged_snapshot = MAX(ret->damaged_snapshot, toc_of(r)->head.number);
        if (!world_start_again(r->world, r->shm, r->err))
            return false;
    }
    return true;
}

/* The readable tables of contents, newest first. */
static bool
read_tocs(Restore *r, u64 database_id, Recovered *ret)
{
    SnapList list;
    if (!snap_list(r->io, r->dir_fd, &list, r->err))
        return false;
    for (u32 i = 0; i < list.count && r->toc_count < TRIED_MAX; i++) {
        SnapToc *t = &r->tocs[r->toc_count];
        if (!snap_toc_read(r->io, r->dir_fd, list.tocs[i], database_id, t, r->err)) {
            if (r->err->code == ERR_OUT_OF_MEMORY)
                return false;
            say_warn("snapshot %llu cannot be used: %s", (unsigned long long)list.tocs[i], r->err->message);
            ret->damaged_snapshot = MAX(ret->damaged_snapshot, list.tocs[i]);
            continue;
        }
        if (!snap_files_open(r->io, r->dir_fd, t, &r->files[r->toc_count], r->err)) {
            snap_toc_free(t);
            return false;
        }
        r->toc_count++;
    }
    return true;
}

bool
restore_run(World **world, Shm *shm, Io *io, int snap_dir_fd, u64 database_id, Recovered *ret, Error *err)
{
    Restore r = {.world = world, .shm = shm, .io = io, .dir_fd = snap_dir_fd, .err = err, .said_ns = env->monotonic_ns(),
                 .arena = arena_new("snapshot", 0, NULL)};
    bool ok = (r.arena || no_memory(err)) && read_tocs(&r, database_id, ret) && try_each(&r, ret);
    for (u32 i = 0; i < r.toc_count; i++) {
        snap_files_close(io, &r.files[i]);
        snap_toc_free(&r.tocs[i]);
    }
    free(r.jobs);
    free(r.dicts);
    if (r.arena)
        arena_free(r.arena);
    return ok;
}
