/*
 * write.c
 *    A write statement's rows on their way into parts: columnar staging, texts made distinct, parts sent when full.
 *
 * Rows are appended to plain arrays of one part (at most PART_MAX_ROWS rows and PART_MAX_BYTES); a full part is encoded straight into the
 * request area and sent as PART, and the next one is staged while the walwriter judges it: its answer is collected before the area
 * is used again. What fits one part goes with the commit in one request, staged in the statement's arena (no malloc).
 * Long texts travel before the part that names them (long.c).
 * An answer RETRY or REPLAN to an early part makes the rest of the statement's rows pointless: they are dropped and finish says so.
 * Fails by throwing: 23502, 54000 (too many columns for a row, long keys), what the walwriter answers.
 */
#include "backend/txn/write.h"

#include "backend/throw.h"
#include "common/base/hash.h"
#include "common/disk/record.h"
#include "common/disk/wal.h"

enum { DEADLOCK_RETRIES = 20, SMALL_CAPACITY = 32, CHUNK_ROWS = 256, PADDING_PER_COLUMN = 64 };

/* A statement that failed: outside of a block nothing of it stays; in a block the session says what becomes of the transaction. */
static void
leave(Txn *t)
{
    if (!txn_is_open(t)) {
        ask_rollback(t);
        return;
    }
    ask_discard(t);
    if (t->own)
        own_undo(t->own, t->statement);
}

/* The statement's arena is reset with the write still open: a throw passed. */
static void
abort_hook(void *what)
{
    TxnWrite *w = what;
    w->ended = true;
    leave(w->txn);
}

TxnWrite *
txn_write_begin(Txn *t, Arena *statement, const TableShm *table)
{
    TxnWrite *w = ARENA_NEW(statement, TxnWrite);
    w->txn = t;
    w->arena = statement;
    w->table = table;
    w->def = table_def(table);
    if (!arena_hook(statement, abort_hook, w))
        err_throw(ERR_OUT_OF_MEMORY, "out of memory");
    return w;
}

/* ---- staging memory ---- */

static void
make_room(TxnWrite *w, u32 capacity)
{
    if (w->kind != PART_INSERT) {
        u64 *rows = ARENA_ARRAY(w->arena, u64, capacity);
        if (w->rows)
            memcpy(rows, w->old_rows, (size_t)w->rows * 8);
        w->old_rows = rows;
    }
    for (u32 i = 0; i < w->column_count; i++)
        write_column_grow(w, &w->columns[i], capacity);
    w->capacity = capacity;
}

static NORETURN void
row_too_big(void)
{
    err_throw(ERR_PROGRAM_LIMIT_EXCEEDED, "row is too big: without its long values a row has at most %d bytes", (int)PART_MAX_BYTES);
}

static bool
is_in_key(const TableDef *def, u16 column)
{
    for (u32 k = 0; k < def->key_count; k++)
        for (u32 i = 0; i < def->keys[k].column_count; i++)
            if (def->keys[k].columns[i] == column)
                return true;
    return false;
}

/* The first rows fix what kind of part it is and which columns it has. */
static void
begin_kind(TxnWrite *w, PartKind kind, const u16 *columns, u32 column_count)
{
    if (w->kind) {
        ensure(w->kind == kind && w->column_count == column_count);
        return;
    }
    w->kind = kind;
    w->long_from = LONG_TEXT_BYTES;
    w->column_count = column_count;
    w->columns = ARENA_ARRAY(w->arena, WriteColumn, MAX(column_count, 1u));
    w->row_bytes = kind == PART_INSERT ? 0 : 8;
    w->head_bytes = PART_HEAD_BYTES + 16;
    for (u32 i = 0; i < column_count; i++) {
        WriteColumn *c = &w->columns[i];
        u16 number = columns ? columns[i] : (u16)i;
        ensure(number < w->def->column_count && (i == 0 || number > c[-1].number));
        memset(c, 0, sizeof *c);
        c->number = number;
        c->def = &w->def->columns[number];
        c->phys = (PhysType)c->def->phys;
        c->width = c->phys == PHYS_STR ? 2 : phys_width(c->phys);
        c->in_key = is_in_key(w->def, number);
        w->row_bytes += c->width + 1;
        w->head_bytes += PADDING_PER_COLUMN;
    }
    if (w->head_bytes + w->row_bytes > PART_MAX_BYTES)
        row_too_big();
    w->full_capacity = MIN((u32)PART_MAX_ROWS, (u32)((PART_MAX_BYTES - w->head_bytes) / w->row_bytes));
    make_room(w, MIN((u32)SMALL_CAPACITY, w->full_capacity));
}

/* ---- sending ---- */

static u64
staged_bytes(const TxnWrite *w)
{
    u64 n = w->head_bytes + w->rows * w->row_bytes;
    for (u32 i = 0; i < w->column_count; i++)
        n += w->columns[i].text_len + 4ull * w->columns[i].distinct;
    return n;
}

/* Encode the staged rows as one record into the request area; returns its bytes. */
static u32
put_part(TxnWrite *w)
{
    PartColumn small[16], *columns = w->column_count <= COUNT_OF(small) ? small : ARENA_ARRAY(w->arena, PartColumn, w->column_count);
    for (u32 i = 0; i < w->column_count; i++)
        columns[i] = write_column_part(&w->columns[i], w->rows);
    PartView p = {.kind = w->kind, .table_id = w->def->table_id, .schema_version = w->def->schema_version, .row_count = w->rows,
                  .ordinal = w->txn->ordinal + 1, .column_count = (u16)w->column_count, .old_rows = w->old_rows, .columns = columns};
    ensure(part_bytes(&p) <= PART_MAX_BYTES);
    u8 *area = ask_area(w->txn);
    u32 len = part_write(&p, area + RECORD_HEAD_BYTES);
    return record_frame(area, (u16)w->kind, 0, len);
}

static void
clear_staging(TxnWrite *w)
{
    w->rows = 0;
    for (u32 i = 0; i < w->column_count; i++)
        write_column_clear(&w->columns[i]);
}

/* In a block what is asked for is noted, so that the statements to come see it. */
static void
post_part(TxnWrite *w, ReqKind kind, u32 flags)
{
    Txn *t = w->txn;
    ensure(!w->piece_records);
    if (txn_is_open(t) && !own_part_begin(txn_own(t), t->ordinal + 1, w->def->table_id, w->kind == PART_DELETE ? 0 : w->rows, w->old_rows,
                                          w->kind == PART_INSERT ? 0 : w->rows))
        err_throw(ERR_OUT_OF_MEMORY, "out of memory");
    u32 len = put_part(w);
    w->longs = 0;
    if (kind != REQ_PART && !(notes_put(t, &len) && reads_put(t, &len)))
        err_throw(ERR_PROGRAM_LIMIT_EXCEEDED, "a serializable transaction has read too many tables");
    ask_post(t, kind, flags | w->flags, len, 1);
    w->sent |= kind == REQ_PART;
}

/* ON CONFLICT inserts before it updates, whatever the order of its rows: where PostgreSQL's clients avoid a deadlock by sorting them, ours comes of that. A
 * statement that is the whole transaction lets go of everything and begins again, at last with the table's lock. */
static bool
upsert_deadlock(const TxnWrite *w, const Answer *a, const Error *error)
{
    return a->status == ANS_ERROR && error->code == ERR_DEADLOCK_DETECTED && w->beside && !txn_is_open(w->txn) && w->txn->retries < DEADLOCK_RETRIES;
}

static TxnOutcome
retry_afresh(Txn *t, Answer *a)
{
    ask_rollback(t);
    a->status = ANS_RETRY;
    return ask_settle(t, a, NULL);
}

static TxnOutcome
collect(TxnWrite *w)
{
    Error error;
    Answer a = ask_collect(w->txn, &error);
    bool rows = a.status == ANS_STAGED && txn_is_open(w->txn) && !w->pieces_asked;
    w->pieces_asked = false;
    if (rows && w->kind != PART_DELETE && !a.row[0])
        err_throw(ERR_PROTOCOL_VIOLATION, "the walwriter did not say where the rows went");
    if (rows)
        own_accept(w->txn->own, a.row, (const SlotDirShm *)(uintptr_t)a.slot);
    return upsert_deadlock(w, &a, &error) ? retry_afresh(w->txn, &a) : ask_settle(w->txn, &a, &error);
}

void
write_collect(TxnWrite *w)
{
    if (!w->txn->asked_seq)
        return;
    TxnOutcome outcome = collect(w);
    if (outcome != TXN_DONE)
        w->early = outcome;
}

static void
send_part(TxnWrite *w)
{
    write_pieces_end(w);
    write_collect(w);
    if (w->early == TXN_DONE)
        post_part(w, REQ_PART, 0);
    clear_staging(w);
}

/* ---- appending ---- */

/* How many of the batch's rows from `first` on can be appended now: at least one, parts are sent to make room. */
static u32
fit_rows(TxnWrite *w, const Batch *b, u32 first, u32 want)
{
    for (;;) {
        if (w->rows == w->capacity && w->capacity < w->full_capacity)
            make_room(w, w->full_capacity);
        u64 used = staged_bytes(w);
        u32 n = MIN(want, w->capacity - w->rows);
        while (n > 0 && used + n * w->row_bytes + write_text_bytes(w, b, first, n) > PART_MAX_BYTES)
            n /= 2;
        if (n > 0)
            return n;
        if (w->rows > 0)
            send_part(w);
        else if (w->long_from > LONG_TEXT_LEAST)
            w->long_from = LONG_TEXT_LEAST; /* of this row even short texts travel before it */
        else
            row_too_big();
    }
}

/* Only one of two can have pieces of texts on their way, or an answer to come. */
static void
take_turn(TxnWrite *w)
{
    TxnWrite *other = w->beside;
    if (!other)
        return;
    if (other->longs)
        send_part(other);
    write_collect(other);
    if (other->early != TXN_DONE)
        w->early = other->early;
}

static void
append(TxnWrite *w, const RowId *rows, const Batch *b, u32 count)
{
    take_turn(w);
    write_forget_longs(w);
    for (u32 first = 0; first < count && w->early == TXN_DONE;) {
        u32 n = fit_rows(w, b, first, MIN(count - first, (u32)CHUNK_ROWS));
        if (w->early != TXN_DONE)
            return;
        if (rows)
            memcpy(w->old_rows + w->rows, rows + first, (size_t)n * sizeof(RowId));
        for (u32 i = 0; i < w->column_count; i++)
            write_column_append(w, &w->columns[i], &b->columns[i], b->sel, first, n);
        w->rows += n;
        first += n;
        w->long_from = LONG_TEXT_BYTES;
    }
}

void
txn_insert(TxnWrite *w, const Batch *b)
{
    if (b->count == 0)
        return;
    ensure(b->column_count == w->def->column_count);
    if (b->column_count == 0)
        err_throw(ERR_FEATURE_NOT_SUPPORTED, "rows of a table without columns are not supported");
    begin_kind(w, PART_INSERT, NULL, b->column_count);
    write_check_rows(w, NULL, b);
    append(w, NULL, b, b->count);
}

void
txn_update(TxnWrite *w, const RowId *rows, const u16 *columns, u32 column_count, const Batch *b)
{
    if (b->count == 0)
        return;
    begin_kind(w, PART_UPDATE, columns, column_count);
    write_check_rows(w, rows, b);
    append(w, rows, b, b->count);
}

void
txn_delete(TxnWrite *w, const RowId *rows, u32 count)
{
    static const Batch NO_COLUMNS = {0};
    if (count == 0)
        return;
    begin_kind(w, PART_DELETE, NULL, 0);
    append(w, rows, &NO_COLUMNS, count);
}

void
txn_note_broken(TxnWrite *w, u32 position, Str constraint)
{
    w->broken = constraint;
    w->broken_at = position;
}

/* ---- the end ---- */

/* In a block the last part only ends the statement. */
static TxnOutcome
finish_staged(TxnWrite *w)
{
    if (w->rows == 0)
        return TXN_DONE;
    post_part(w, REQ_PART, REQ_FLAG_STATEMENT_ENDS);
    return collect(w);
}

static TxnOutcome
finish_commit(TxnWrite *w)
{
    Txn *t = w->txn;
    Answer a;
    if (w->rows == 0 && (t->rebuilds || t->creates))
        return ask(t, REQ_COMMIT, 0, 0, 0, &a);
    if (w->rows == 0) {
        ask_rollback(t); /* a re-run that found nothing to do any more */
        return TXN_DONE;
    }
    notes_stage(t);
    post_part(w, t->open_id ? REQ_COMMIT : REQ_WRITE, 0);
    TxnOutcome outcome = collect(w);
    if (outcome == TXN_DONE)
        notes_sent(t);
    return outcome;
}

/* A part is sent when the next row does not fit: there is always a last one. */
static TxnOutcome
finish(TxnWrite *w)
{
    ensure(w->rows > 0 || !w->sent || w->early != TXN_DONE);
    write_pieces_end(w);
    write_collect(w);
    if (w->early != TXN_DONE)
        return w->early;
    return txn_is_open(w->txn) ? finish_staged(w) : finish_commit(w);
}

TxnOutcome
txn_write_finish(TxnWrite *w)
{
    ensure(!w->ended);
    TxnOutcome outcome = finish(w); /* a throw leaves the hook in place */
    w->ended = true;
    arena_unhook(w->arena, abort_hook, w);
    return outcome;
}

/* ---- two at once ---- */

void
txn_write_upsert(TxnWrite *rows, TxnWrite *updates, u32 keys)
{
    rows->flags = updates->flags = keys * (u32)REQ_FLAG_FIRST_KEY;
    rows->beside = updates;
    updates->beside = rows;
}

void
txn_check(TxnWrite *w, const Batch *b)
{
    begin_kind(w, PART_INSERT, NULL, b->column_count);
    write_check_rows(w, NULL, b);
}

TxnOutcome
txn_upsert_finish(TxnWrite *rows, TxnWrite *updates)
{
    TxnWrite *last = updates->rows ? updates : rows, *first = last->beside;
    if (first->rows && first->early == TXN_DONE) {
        take_turn(first);
        send_part(first);
    }
    write_collect(first);
    if (first->early != TXN_DONE)
        last->early = first->early;
    first->ended = true;
    arena_unhook(first->arena, abort_hook, first);
    return txn_write_finish(last);
}

void
txn_write_abort(TxnWrite *w)
{
    if (w->ended)
        return;
    w->ended = true;
    arena_unhook(w->arena, abort_hook, w);
    leave(w->txn);
}
