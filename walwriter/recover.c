/*
 * recover.c
 *    Start: replay the log through the functions that the living loop uses (I4), from the snapshot's log start (restore.c) or its own beginning.
 *
 * Every frame of a valid group comes in order. A frame with a COMMIT record and no chain is applied at once, its LSN being the version. Parts of
 * a chain go into the chain's own blocks; COMMIT links them, ABORT or the end of the log drops them. Row ids come from the records:
 * replay never counts.
 * Commits at or below the published version, which the snapshot has, are skipped, and the parts of chains that committed there.
 * Takeover (I9): the world is alive; the same is skipped, what is above is applied again, idempotently; commits that a box still waits for are kept, so that
 * it gets its answer, be they published or not. The log is read from WriterShm.pub_takeover_lsn on, so that a takeover takes as long after an hour as after
 * a second.
 * Writes: the world. Fails: what the log reader refuses, records that do not decode (XX001), no memory.
 */
#include "walwriter/writer.h"

#include "common/base/env.h"
#include "common/base/fault.h"
#include "common/base/say.h"
#include "common/base/scram.h"
#include "common/disk/catrec.h"

#include <stdlib.h>

/* Often enough that lists of deletes newer than the oldest pin stay short. */
enum { PUBLISH_EVERY_COMMITS = 64, PROGRESS_EVERY_NS = 1000 * 1000 * 1000 };

typedef struct Replay {
    World *world;
    const Shm *shm;
    bool take_over;
    Recovered *out;
    u64 published;        /* takeover, snapshot: the version that is published already */
    u64 version;          /* the last commit applied */
    u64 said_ns;          /* when progress was last told */
    u32 unpublished;      /* commits */
    Chain **chains;
    u32 chain_count, chain_capacity;
    u64 *done;            /* chains that committed at or below `published` */
    u32 done_count, done_capacity;
    PartView *parts;
    PartColumn *columns;
    u32 part_capacity, column_capacity;
    Arena *arena;
    CompactRecord compact; /* of the frame in work */
} Replay;

static bool
corrupt(Error *err, Lsn lsn, const char *what)
{
    return error_set(err, ERR_DATA_CORRUPTED, "the redo log is damaged: frame at LSN %llu: %s", (unsigned long long)lsn, what);
}

static bool
grow(void *array_of_any, u32 *capacity, u32 want, size_t size)
{
    void **array = array_of_any;
    if (want <= *capacity)
        return true;
    u32 n = MAX(MAX(want, *capacity * 2), 16u);
    void *p = realloc(*array, (size_t)n * size);
    if (!p)
        return false;
    *array = p;
    *capacity = n;
    return true;
}

static bool
no_memory(Error *err)
{
    return error_set(err, ERR_OUT_OF_MEMORY, "out of memory while recovering");
}

/* ---- a frame, decoded ---- */

typedef struct Frame {
    Lsn lsn;
    u64 chain_id;
    bool has_chain, has_commit, has_abort, has_undo;
    bool begins; /* the chain */
    u64 abort_id;
    UndoRecord undo;
    CommitRecord commit;
    u32 part_count;
    bool has_compact;
    const u8 *data;
    u32 len;
} Frame;

static bool
count_parts(Replay *r, Frame *f, Error *err)
{
    const u8 *at = f->data, *end = f->data + f->len;
    u32 columns = 0;
    bool bad;
    f->part_count = 0;
    for (Record rec; record_next(&at, end, &rec, &bad);)
        if (rec.kind >= WAL_INSERT && rec.kind <= WAL_DELETE) {
            f->part_count++;
            columns += rec.len >= PART_HEAD_BYTES ? MIN(get_le16(rec.payload + 12), (u16)PART_MAX_COLUMNS) : 0;
        }
    if (bad)
        return corrupt(err, f->lsn, "cut record");
    if (!grow(&r->parts, &r->part_capacity, f->part_count, sizeof(PartView)) ||
        !grow(&r->columns, &r->column_capacity, columns, sizeof(PartColumn)))
        return no_memory(err);
    return true;
}

static bool
decode_record(Replay *r, Frame *f, const Record *rec, u32 *part, u32 *column, Error *err)
{
    PartView *p;
    ChainRecord chain;
    TextPiece piece;
    switch (rec->kind) {
    case WAL_INSERT:
    case WAL_UPDATE:
    case WAL_DELETE:
        p = &r->parts[(*part)++];
        if (!part_read((PartKind)rec->kind, rec->payload, rec->len, r->columns + *column, r->column_capacity - *column, p, err) ||
            (p->kind != PART_DELETE && p->first_row == 0))
            return corrupt(err, f->lsn, "part");
        *column += p->column_count;
        return true;
    case WAL_TEXT_PIECE:
        return text_piece_read(rec->payload, rec->len, &piece) || corrupt(err, f->lsn, "piece of a text");
    case WAL_CHAIN:
        if (!chain_decode(rec->payload, rec->len, &chain) || (f->has_chain && chain.chain_id != f->chain_id))
            return corrupt(err, f->lsn, "chain");
        f->begins |= !f->has_chain && rec->flags == CHAIN_FIRST;
        f->has_chain = true;
        f->chain_id = chain.chain_id;
        return true;
    case WAL_COMPACT:
        f->has_compact = true;
        return compact_decode(rec->payload, rec->len, &r->compact) || corrupt(err, f->lsn, "compaction");
    case WAL_UNDO:
        f->has_undo = true;
        return undo_decode(rec->payload, rec->len, &f->undo) || corrupt(err, f->lsn, "undo");
    case WAL_ABORT:
        f->has_abort = true;
        f->abort_id = rec->len == 8 ? get_le64(rec->payload) : 0;
        return rec->len == 8 || corrupt(err, f->lsn, "abort");
    case WAL_COMMIT:
        f->has_commit = true;
        return commit_decode(rec->payload, rec->len, &f->commit) || corrupt(err, f->lsn, "commit");
    default:
        return ddl_is_catalog(rec->kind) ? ddl_check(rec->kind, rec->payload, rec->len, err)
                                         : corrupt(err, f->lsn, "a record of a kind that this version does not know");
    }
}

static bool
decode_frame(Replay *r, Lsn lsn, const u8 *data, u32 len, Frame *f, Error *err)
{
    u32 part = 0, column = 0;
    bool bad;
    *f = (Frame){.lsn = lsn, .data = data, .len = len};
    if (!count_parts(r, f, err))
        return false;
    const u8 *at = data;
    for (Record rec; record_next(&at, data + len, &rec, &bad);)
        if (!decode_record(r, f, &rec, &part, &column, err))
            return false;
    return true;
}

/* ---- chains ---- */

static Chain *
find_chain(Replay *r, u64 id, bool make)
{
    for (u32 i = 0; i < r->chain_count; i++)
        if (r->chains[i]->id == id)
            return r->chains[i];
    if (!make || !grow(&r->chains, &r->chain_capacity, r->chain_count + 1, sizeof(Chain *)))
        return NULL;
    Chain *c = chain_new(id);
    if (c)
        r->chains[r->chain_count++] = c;
    return c;
}

static void
forget_chain(Replay *r, const Chain *c)
{
    for (u32 i = 0; i < r->chain_count; i++)
        if (r->chains[i] == c) {
            r->chains[i] = r->chains[--r->chain_count];
            return;
        }
}

static bool
is_done(const Replay *r, u64 chain_id)
{
    for (u32 i = 0; i < r->done_count; i++)
        if (r->done[i] == chain_id)
            return true;
    return false;
}

/* A table that is gone by now: its later DROP is in the log, too; nothing of these rows would be seen. */
static bool
stage_part(Replay *r, Chain *c, PartView *p, Error *err)
{
    bool repeated;
    if (!world_table(r->world, p->table_id)) {
        chain_drop_texts(r->world, c);
        return true;
    }
    chain_show_texts(c, p);
    if (p->kind != PART_INSERT && !chain_note_deletes(c, p, &repeated, err))
        return false;
    if (p->kind != PART_DELETE && !chain_adopt_rows(r->world, c, p, err))
        return false;
    if (!world_reserve_rows(r->world, p, err))
        return false;
    if (p->kind != PART_DELETE)
        world_apply_rows(r->world, p);
    chain_drop_texts(r->world, c);
    return true;
}

static bool
stage_text(Replay *r, Chain *c, const Record *rec, Error *err)
{
    TextPiece t;
    ensure(text_piece_read(rec->payload, rec->len, &t)); /* decode_record has */
    return !world_table(r->world, t.table_id) || chain_add_text(r->world, c, &t, err);
}

/* Tables that it hides are there only while frames of this chain are replayed: others may go on with the table when the chain was given up. */
static bool
stage_change(Replay *r, Chain *c, const Record *rec, u32 ordinal, Error *err)
{
    u32 id = rec->len >= 4 ? get_le32(rec->payload) : 0;
    if (staged_empties(rec->kind) && !chain_empty(c, id, ordinal, err))
        return false;
    if (((staged_hides(rec->kind) || staged_alters(rec->kind)) && !world_table(r->world, id)) || (rec->kind == WAL_CREATE_TABLE && world_table(r->world, id)))
        return true; /* a table that is gone by now, or made by a commit that is published */
    return staged_add(r->world, &c->ddl, 0, ordinal, *rec, r->arena, err);
}

/* ---- frames ---- */

static bool
replay_catalog(Replay *r, const Record *rec, Error *err)
{
    u64 promise = ddl_gives_back(rec->kind) ? 0 : CATALOG_PROMISE;
    if (!world_reserve_catalog(r->world, promise, err))
        return false;
    arena_reset(r->arena);
    ddl_apply(r->world, r->arena, rec->kind, rec->payload, rec->len);
    world_unreserve_catalog(r->world, promise);
    return true;
}

/* Records in their order. */
static bool
replay_records(Replay *r, const Frame *f, Chain *c, Error *err)
{
    const u8 *at = f->data;
    u32 part = 0;
    ChainRecord head = {0};
    bool bad;
    for (Record rec; record_next(&at, f->data + f->len, &rec, &bad);) {
        bool ok = true;
        if (rec.kind == WAL_CHAIN)
            ok = chain_decode(rec.payload, rec.len, &head) && chain_begin_statement(r->world, c, head.statement, head.savepoint, err);
        else if (rec.kind >= WAL_INSERT && rec.kind <= WAL_DELETE)
            ok = stage_part(r, c, &r->parts[part++], err);
        else if (rec.kind == WAL_TEXT_PIECE)
            ok = stage_text(r, c, &rec, err);
        else if (ddl_is_catalog(rec.kind))
            ok = stage_change(r, c, &rec, head.ordinal, err);
        head.ordinal += rec.kind != WAL_CHAIN;
        if (!ok)
            return false;
    }
    return true;
}

/* Catalog changes first: the parts are for the tables they make, and for what TRUNCATE leaves (ddl_strip_dead). */
static bool
replay_single(Replay *r, const Frame *f, Error *err)
{
    const u8 *at = f->data;
    bool bad;
    if (f->has_compact)
        return world_compact_replay(r->world, &r->compact, r->take_over, r->version, err);
    for (Record rec; record_next(&at, f->data + f->len, &rec, &bad);)
        if (ddl_is_catalog(rec.kind) && !replay_catalog(r, &rec, err))
            return false;
    for (u32 i = 0; i < f->part_count; i++) {
        if (!world_reserve_part(r->world, &r->parts[i], err))
            return false;
        world_apply_part(r->world, &r->parts[i], f->lsn);
    }
    return true;
}

/* A chain that began before what is read was not open at the version, so what is left of it commits nothing. */
static bool
replay_chain(Replay *r, const Frame *f, Error *err)
{
    if (is_done(r, f->chain_id))
        return true;
    Chain *c = find_chain(r, f->chain_id, f->begins);
    if (!c && !f->begins)
        return !f->has_commit || corrupt(err, f->lsn, "a chain without its beginning");
    if (!c)
        return no_memory(err);
    staged_bring_back(r->world, &c->ddl);
    if (!replay_records(r, f, c, err))
        return false;
    if (f->has_commit) {
        if (!chain_reserve(r->world, c, err))
            return false;
        forget_chain(r, c);
        staged_apply(r->world, &c->ddl, r->arena);
        chain_commit(r->world, c, f->lsn);
    } else
        staged_set_aside(r->world, &c->ddl);
    return true;
}

static void
drop_chain(World *world, Chain *c)
{
    staged_bring_back(world, &c->ddl);
    staged_undo(world, &c->ddl, 0);
    chain_drop(world, c);
}

/* The end of a chain, or of a piece of it. */
static void
replay_end(Replay *r, const Frame *f)
{
    Chain *c = find_chain(r, f->has_abort ? f->abort_id : f->undo.chain_id, false);
    if (c && f->has_abort) {
        forget_chain(r, c);
        drop_chain(r->world, c);
    } else if (c) {
        staged_bring_back(r->world, &c->ddl);
        staged_undo(r->world, &c->ddl, f->undo.kept);
        (void)chain_undo(r->world, c, f->undo.kept);
        staged_set_aside(r->world, &c->ddl);
    }
}

/* Takeover: the box still waits for the answer to this commit. Published ones are among them, when death came between publish and answer. */
static bool
is_awaited(const Replay *r, Lsn lsn, const CommitRecord *c)
{
    if (!r->take_over || c->slot >= r->shm->slot_count || lsn < r->shm->writer->first_lsn)
        return false;
    const BoxShm *b = shm_box(r->shm, c->slot);
    return observe_u32(&r->shm->control->slots[c->slot].pub_generation) == c->generation && observe_u64(&b->pub_req_seq) == c->sequence &&
           observe_u64(&b->pub_ans_seq) != c->sequence;
}

static bool
note_answer(Replay *r, const Frame *f, Error *err)
{
    Recovered *o = r->out;
    if (!is_awaited(r, f->lsn, &f->commit))
        return true;
    u32 lsn_capacity = o->answer_capacity;
    if (!grow(&o->answers, &o->answer_capacity, o->answer_count + 1, sizeof(CommitRecord)) ||
        !grow(&o->answer_lsns, &lsn_capacity, o->answer_capacity, sizeof(u64)))
        return no_memory(err);
    o->answers[o->answer_count] = f->commit;
    o->answer_lsns[o->answer_count++] = f->lsn;
    return true;
}

/* Between frames. What tables and chains that went have held is given back as in the life before, or the log of much work would not fit the memory it was
 * done in. Nobody sees it before pub_ready; a world that is taken over is seen, so there it waits until the new log has begun (wal_writer_open). */
static void
publish_some(Replay *r)
{
    if (r->take_over || (r->unpublished < PUBLISH_EVERY_COMMITS && !world_has_much_retired(r->world)))
        return;
    world_publish(r->world, r->version);
    r->unpublished = 0;
    while (world_reclaim(r->world))
        ;
}

static void
say_progress(Replay *r, Lsn lsn)
{
    u64 now_ns = env->monotonic_ns();
    if (now_ns - r->said_ns < PROGRESS_EVERY_NS)
        return;
    r->said_ns = now_ns;
    say_info("recovering: %llu MB of the redo log replayed, %llu transactions, at LSN %llu", (unsigned long long)(r->out->log_bytes >> 20),
             (unsigned long long)r->out->transactions, (unsigned long long)lsn);
}

static bool
replay_frame(void *ctx, Lsn lsn, const u8 *data, u32 len, Error *err)
{
    Replay *r = ctx;
    Frame f;
    if (!decode_frame(r, lsn, data, len, &f, err))
        return false;
    if (f.has_commit && lsn <= r->published)
        return note_answer(r, &f, err);
    if (f.has_abort || f.has_undo) {
        replay_end(r, &f);
        publish_some(r);
        return true;
    }
    if (!f.has_chain && !f.has_commit)
        return corrupt(err, lsn, "neither a commit nor a chain");
    if (!(f.has_chain ? replay_chain(r, &f, err) : replay_single(r, &f, err)))
        return false;
    r->out->log_bytes += len;
    say_progress(r, lsn);
    if (!f.has_commit)
        return true;
    r->version = lsn;
    r->out->transactions += !f.has_compact;
    r->unpublished++;
    FAULT(RECOVER_MIDDLE);
    publish_some(r);
    return note_answer(r, &f, err);
}

/* First reading: chains whose commit is published are not staged again. */
static bool
find_done_chains(void *ctx, Lsn lsn, const u8 *data, u32 len, Error *err)
{
    Replay *r = ctx;
    const u8 *at = data;
    bool bad;
    CommitRecord c;
    for (Record rec; record_next(&at, data + len, &rec, &bad);) {
        if (rec.kind != WAL_COMMIT || !commit_decode(rec.payload, rec.len, &c) || c.chain_id == 0 || lsn > r->published)
            continue;
        if (!grow(&r->done, &r->done_capacity, r->done_count + 1, sizeof(u64)))
            return no_memory(err);
        r->done[r->done_count++] = c.chain_id;
    }
    return true;
}

static void
replay_done(Replay *r)
{
    free(r->chains);
    free(r->done);
    free(r->parts);
    free(r->columns);
    if (r->arena)
        arena_free(r->arena);
}

bool
recover_run(World *world, Shm *shm, Io *io, int wal_dir_fd, bool take_over, Recovered *ret, Error *err)
{
    Replay r = {.world = world, .shm = shm, .take_over = take_over, .out = ret, .arena = arena_new("recovery", 0, NULL)};
    WalVerdict ignored;
    Lsn from = take_over ? observe_u64(&shm->writer->pub_takeover_lsn) : ret->log_start;
    bool ok = r.arena != NULL || no_memory(err);
    r.said_ns = env->monotonic_ns();
    r.version = r.published = world_version(world);
    if (from < r.published) /* else no frame of a published chain is read */
        ok = ok && wal_read(io, wal_dir_fd, from, find_done_chains, &r, &ignored, err);
    ok = ok && wal_read(io, wal_dir_fd, from, replay_frame, &r, &ret->verdict, err);
    if (ok && !take_over && r.published && ret->verdict.valid_through <= r.published)
        ok = error_set(err, ERR_DATA_CORRUPTED, "redo log is damaged: it ends at LSN %llu, before the snapshot of LSN %llu",
                       (unsigned long long)ret->verdict.valid_through, (unsigned long long)r.published);
    while (r.chain_count > 0) {
        Chain *c = r.chains[--r.chain_count];
        drop_chain(world, c);
        ret->chains_dropped++;
    }
    if (ok) {
        FAULT(RECOVER_BEFORE_PUBLISH);
        ret->version = r.version;
        shm->writer->recovered_groups = ret->verdict.groups;
        shm->writer->recovered_transactions = ret->transactions;
        shm->writer->recovered_dropped_bytes = ret->verdict.dropped_bytes;
    }
    replay_done(&r);
    return ok;
}

/* ---- the root role ---- */

const SecretShm *
recover_secret(const SecretShm *rows, u32 role_id)
{
    for (u32 i = 0; i < SECRET_ROWS; i++)
        if (rows[i].role_id == role_id)
            return &rows[i];
    return NULL;
}

bool
recover_root_record(World *world, Shm *shm, const char *password, ByteBuf *ret_frame)
{
    const RoleDef *have = catalog_role(world_root(world), ROLE_ROOT);
    RoleDef root = {.role_id = ROLE_ROOT, .superuser = 1, .can_login = 1, .create_role = 1, .create_db = 1, .inherit = 1, .replication = 1, .bypass_rls = 1,
                    .connection_limit = -1, .name = STR_LIT("root")};
    char verifier[SCRAM_VERIFIER_MAX] = "";
    const SecretShm *secret = have ? recover_secret(shm->secrets, ROLE_ROOT) : NULL;
    ScramVerifier v;
    if (have && (!password[0] || (secret && scram_parse(secret->verifier, &v) && scram_matches(&v, password))))
        return false;
    if (password[0])
        scram_make(password, verifier);
    ByteBuf payload = {0};
    catrec_put_role(&payload, have ? have : &root, verifier);
    CommitRecord c = {.slot = COMMIT_NO_SLOT, .wall_us = env->wall_us(), .rows = 1};
    u8 commit[COMMIT_BYTES];
    commit_encode(&c, commit);
    u32 at = 0, len = (u32)payload.len;
    u8 *to = payload.failed ? NULL : buf_reserve(ret_frame, record_bytes(len) + COMMIT_RECORD_BYTES);
    if (to) {
        memcpy(to + RECORD_HEAD_BYTES, payload.data, len);
        at += record_frame(to, have ? WAL_ALTER_ROLE : WAL_CREATE_ROLE, 0, len);
        memcpy(to + at + RECORD_HEAD_BYTES, commit, COMMIT_BYTES);
        at += record_frame(to + at, WAL_COMMIT, 0, COMMIT_BYTES);
        ret_frame->len = at;
    }
    buf_free(&payload);
    return to != NULL;
}
