/*
 * test_txn.c
 *    Transactions of several statements end to end: what the owner sees of them, what nobody else sees before COMMIT, savepoints, RETRY, errors in the middle,
 *    transactions that outgrow one part, catalog changes, loss.
 *
 * A model says what every statement must see. Random statements of one transaction are compared after each with a scan and with keys, a second
 * session sees the committed state all the time, and after each end both see the same.
 */
#include "backend_fixture.h"

enum { IDS = 4000, ABSENT = -1, NO_NOTE = 4, SAVEPOINTS = 8 };

static const Str NOTES[4] = {{"alpha", 5}, {"", 0}, {"gamma ray", 9}, {"delta", 5}};

typedef struct Cell {
    i32 n; /* ABSENT: no such row */
    u8 note;
} Cell;

typedef struct State {
    u32 ids;
    Cell *cells;
} State;

static u64 random_state;

static u32
random_below(u32 n)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (u32)((random_state >> 11) % n);
}

static void
state_init(State *s, u32 ids)
{
    s->ids = ids;
    s->cells = malloc(ids * sizeof *s->cells);
    ck_assert_ptr_nonnull(s->cells);
    for (u32 i = 0; i < ids; i++)
        s->cells[i] = (Cell){ABSENT, 0};
}

static void
state_copy(State *to, const State *from)
{
    memcpy(to->cells, from->cells, from->ids * sizeof *from->cells);
}

/* ---- statements ---- */

static u8
note_of(i64 id)
{
    return id % 7 == 0 ? NO_NOTE : (u8)(id & 3);
}

typedef enum What { ADD_N, MOVE_ID, REMOVE, COPY } What;

/* UPDATE t SET n = n + by; UPDATE t SET id = id + by; DELETE; INSERT INTO t SELECT id + by, n, note FROM t: WHERE id BETWEEN low AND high. */
typedef struct Change {
    What what;
    i64 low, high, by;
} Change;

typedef struct Gathered {
    RowId rows[VEC_SIZE];
    i64 ids[VEC_SIZE];
    i32 ns[VEC_SIZE];
    Str notes[VEC_SIZE];
    u8 nulls[VEC_SIZE];
    u32 count;
} Gathered;

static void
write_gathered(TxnWrite *w, const Change *c, Gathered *g)
{
    const u16 column = c->what == MOVE_ID ? 0 : 1;
    Vec v[3] = {{.phys = PHYS_I64, .data = g->ids}, {.phys = PHYS_I32, .data = g->ns},
                {.phys = PHYS_STR, .data = g->notes, .null_mask = g->nulls}};
    Batch all = {.count = g->count, .column_count = 3, .columns = v}, one = {.count = g->count, .column_count = 1, .columns = &v[column]};
    if (g->count == 0)
        return;
    if (c->what == REMOVE)
        txn_delete(w, g->rows, g->count);
    else if (c->what == COPY)
        txn_insert(w, &all);
    else
        txn_update(w, g->rows, &column, 1, &one);
    g->count = 0;
}

static void
change_block(const BlockView *block, u64 version, TxnWrite *w, const Change *c, Gathered *g)
{
    SliceView s[3];
    u64 bits[BLOCK_WORDS];
    u32 dead;
    bool any = block_deleted(block, version, bits, &dead);
    for (u32 k = 0; k < 3; k++)
        ensure(slice_view(block, k, &s[k]));
    for (u32 i = 0; i < block->row_count; i++) {
        i64 id = slice_value(&s[0], &COLUMNS[0], i).i64v;
        if ((any && bits[i / 64] >> (i % 64) & 1) || id < c->low || id > c->high)
            continue;
        Value note = slice_value(&s[2], &COLUMNS[2], i);
        g->rows[g->count] = ROW_ID(block->block_id, i);
        g->ids[g->count] = c->what == ADD_N ? id : id + c->by;
        g->ns[g->count] = slice_value(&s[1], &COLUMNS[1], i).i32v + (c->what == ADD_N ? (i32)c->by : 0);
        g->notes[g->count] = note.is_null ? NOTES[1] : note.str;
        g->nulls[g->count++] = note.is_null;
        if (g->count == VEC_SIZE)
            write_gathered(w, c, g);
    }
}

static TxnOutcome
change(Backend *b, void *arg)
{
    const TableShm *t = table_t(b);
    u64 version = txn_snapshot(b->txn)->version;
    TxnWrite *w = txn_write_begin(b->txn, b->statement, t);
    Gathered *g = arena_zalloc(b->statement, sizeof *g);
    for (u32 place = 0; place < table_block_count(t); place++) {
        BlockView block;
        if (block_view(t, place, &block))
            change_block(&block, version, w, arg, g);
    }
    write_gathered(w, arg, g);
    return txn_write_finish(w);
}

static const TableDef *
named(Backend *b, const char *name)
{
    return catalog_find_table(txn_root(b->txn), str_of(name));
}

static TxnOutcome
empty(Backend *b, void *name)
{
    return txn_truncate(b->txn, &named(b, name)->table_id, 1);
}

static TxnOutcome
drop(Backend *b, void *name)
{
    return txn_drop_tables(b->txn, &named(b, name)->table_id, 1);
}

/* ---- the same for the model; false: the statement must fail with 23505 ---- */

static bool
model_insert(State *s, const Rows *r)
{
    for (u32 i = 0; i < r->count; i++)
        if (s->cells[r->first + i].n != ABSENT)
            return false;
    for (u32 i = 0; i < r->count; i++)
        s->cells[r->first + i] = (Cell){r->n, note_of(r->first + i)};
    return true;
}

static bool
model_change(State *s, const Change *c)
{
    State old;
    bool ok = true;
    state_init(&old, s->ids);
    state_copy(&old, s);
    for (i64 id = c->low; id <= c->high && c->what != COPY; id++) {
        if (c->what == ADD_N)
            s->cells[id].n += s->cells[id].n == ABSENT ? 0 : (i32)c->by;
        else
            s->cells[id].n = ABSENT;
    }
    for (i64 id = c->low; id <= c->high && (c->what == COPY || c->what == MOVE_ID); id++) {
        if (old.cells[id].n == ABSENT)
            continue;
        ok &= s->cells[id + c->by].n == ABSENT;
        s->cells[id + c->by] = old.cells[id];
    }
    if (!ok)
        state_copy(s, &old);
    free(old.cells);
    return ok;
}

/* ---- what a session sees ---- */

static void
see_block(const BlockView *block, u64 version, State *seen)
{
    SliceView s[3];
    u64 bits[BLOCK_WORDS];
    u32 dead;
    bool any = block_deleted(block, version, bits, &dead);
    for (u32 k = 0; k < 3; k++)
        ck_assert(slice_view(block, k, &s[k]));
    for (u32 i = 0; i < block->row_count; i++) {
        if (any && bits[i / 64] >> (i % 64) & 1)
            continue;
        i64 id = slice_value(&s[0], &COLUMNS[0], i).i64v;
        Value note = slice_value(&s[2], &COLUMNS[2], i);
        u8 code = NO_NOTE;
        if (!note.is_null)
            for (code = 0; code < 4 && !str_eq(note.str, NOTES[code]); code++)
                ;
        if (id < 0 || id >= seen->ids || seen->cells[id].n != ABSENT)
            ck_abort_msg("row %lld is seen twice or should not be", (long long)id);
        seen->cells[id] = (Cell){slice_value(&s[1], &COLUMNS[1], i).i32v, code};
    }
}

static void
expect_key(Backend *b, const State *want, i64 id)
{
    RowId row;
    bool found = find(b, id, &row);
    if (found != (want->cells[id].n != ABSENT) || (found && read_n(table_t(b), row) != want->cells[id].n))
        ck_abort_msg("key %lld: found %d, expected n %d", (long long)id, found, want->cells[id].n);
}

/* Exactly the model, by scan and by key. */
static void
expect_state(Backend *b, const State *want)
{
    State seen;
    Error err;
    current_catch = &b->catch;
    if (setjmp(b->catch.jump))
        ck_abort_msg("%s", b->catch.error.message);
    state_init(&seen, want->ids);
    const TableShm *t = table_t(b);
    for (u32 place = 0; place < table_block_count(t); place++) {
        BlockView block;
        if (block_view(t, place, &block))
            see_block(&block, txn_snapshot(b->txn)->version, &seen);
    }
    for (u32 id = 0; id < want->ids; id++)
        if (seen.cells[id].n != want->cells[id].n || (want->cells[id].n != ABSENT && seen.cells[id].note != want->cells[id].note))
            ck_abort_msg("row %u: n %d note %u, expected %d %u", id, seen.cells[id].n, seen.cells[id].note, want->cells[id].n,
                         want->cells[id].note);
    for (u32 i = 0; i < 300; i++)
        expect_key(b, want, random_below(want->ids));
    ck_assert_msg(store_verify(txn_snapshot(b->txn), VERIFY_CONTENTS, &err), "%s", err.message);
    free(seen.cells);
    txn_end_statement(b->txn);
}

/* ---- random transactions ---- */

typedef struct Session {
    Backend owner, other;
    State committed, now, saved[SAVEPOINTS];
    u32 marks[SAVEPOINTS], savepoints;
    bool failed;
    u32 largest; /* rows of a statement */
} Session;

static ErrCode
end_with(Backend *b, void (*end)(Txn *))
{
    current_catch = &b->catch;
    if (setjmp(b->catch.jump))
        return b->catch.error.code;
    end(b->txn);
    return ERR_NONE;
}

static void
session_open(Session *s, u32 ids, u32 largest)
{
    memset(s, 0, sizeof *s);
    s->largest = largest;
    backend_init(&s->owner, 0);
    backend_init(&s->other, 1);
    state_init(&s->committed, ids);
    state_init(&s->now, ids);
    for (u32 i = 0; i < SAVEPOINTS; i++)
        state_init(&s->saved[i], ids);
    CK_RUN(&s->owner, create_t, NULL);
    txn_begin(s->owner.txn, TXN_READ_COMMITTED);
}

static void
session_close(Session *s)
{
    txn_rollback(s->owner.txn);
    backend_done(&s->owner);
    backend_done(&s->other);
    free(s->committed.cells);
    free(s->now.cells);
    for (u32 i = 0; i < SAVEPOINTS; i++)
        free(s->saved[i].cells);
}

static void
begin_again(Session *s)
{
    ck_assert(!txn_is_open(s->owner.txn));
    expect_state(&s->owner, &s->committed);
    expect_state(&s->other, &s->committed);
    state_copy(&s->now, &s->committed);
    s->savepoints = 0;
    s->failed = false;
    txn_begin(s->owner.txn, TXN_READ_COMMITTED);
}

static void
end_random(Session *s)
{
    if (!s->failed && random_below(3)) {
        ErrCode code = end_with(&s->owner, txn_commit);
        ck_assert_msg(code == ERR_NONE, "%s", s->owner.catch.error.message);
        state_copy(&s->committed, &s->now);
    } else
        txn_rollback(s->owner.txn);
    begin_again(s);
}

static void
savepoint_random(Session *s)
{
    Txn *t = s->owner.txn;
    if (s->savepoints && (s->failed || random_below(2))) {
        u32 to = random_below(s->savepoints);
        if (!s->failed && random_below(3) == 0) { /* RELEASE */
            s->savepoints = to;
            txn_release(t, to ? s->marks[to - 1] : 0);
            return;
        }
        s->savepoints = to + 1;
        txn_rollback_to(t, s->marks[to]);
        state_copy(&s->now, &s->saved[to]);
        s->failed = false;
        return;
    }
    if (s->failed || s->savepoints == SAVEPOINTS)
        return;
    s->marks[s->savepoints] = txn_savepoint(t);
    state_copy(&s->saved[s->savepoints++], &s->now);
}

static void
statement_random(Session *s)
{
    u32 ids = s->now.ids, size = random_below(3) ? 1 + random_below(20) : 1 + random_below(s->largest);
    i64 low = random_below(ids), by;
    bool ok;
    ErrCode code;
    if (low + size > ids)
        size = ids - (u32)low;
    if (s->largest < 100 && random_below(40) == 0) {
        for (u32 id = 0; id < ids; id++)
            s->now.cells[id].n = ABSENT;
        ok = true;
        code = run(&s->owner, empty, "t");
    } else if (random_below(3) == 0) {
        Rows rows = {low, size, (i32)random_below(1000)};
        ok = model_insert(&s->now, &rows);
        code = run(&s->owner, insert, &rows);
    } else {
        Change c = {(What)random_below(4), low, low + size - 1, 0};
        by = (i64)random_below(2 * size) - size;
        c.by = c.what == ADD_N ? 1 : MIN(MAX(by, -low), (i64)ids - low - size);
        ok = model_change(&s->now, &c);
        code = run(&s->owner, change, &c);
    }
    ck_assert_msg(code == (ok ? ERR_NONE : ERR_UNIQUE_VIOLATION), "%s %s", errcode_sqlstate(code), s->owner.catch.error.message);
    s->failed = !ok;
}

static void
run_session(u64 seed, u32 ids, u32 largest, u32 steps)
{
    static Session s;
    random_state = seed;
    session_open(&s, ids, largest);
    for (u32 i = 0; i < steps; i++) {
        u32 what = random_below(20);
        if (what == 0 || (s.failed && !s.savepoints))
            end_random(&s);
        else if (what < 5 || s.failed)
            savepoint_random(&s);
        else
            statement_random(&s);
        if (!s.failed)
            expect_state(&s.owner, &s.now);
        if (random_below(10) == 0)
            expect_state(&s.other, &s.committed);
    }
    session_close(&s);
    restart_and_compare();
}

START_TEST(small_statements)
{
    run_session(0x9e3779b97f4a7c15ull * (u64)(_i + 1), 400, 30, 400);
}
END_TEST

START_TEST(statements_of_all_sizes)
{
    run_session(0x2545f4914f6cdd1dull * (u64)(_i + 1), IDS, 2000, 200);
}
END_TEST

/* Thousands of rows a statement: most transactions outgrow what is kept of them. */
START_TEST(large_statements)
{
    run_session(0x9e6c63d0676a9a99ull * (u64)(_i + 1), 120000, 60000, 40);
}
END_TEST

/* ---- two sessions ---- */

/* A statement in a thread of its own, for what waits. */
typedef struct Call {
    Backend *b;
    Body body;
    void *arg;
    ErrCode code;
    pthread_t thread;
} Call;

static void *
run_call(void *arg)
{
    Call *c = arg;
    c->code = run(c->b, c->body, c->arg);
    return NULL;
}

static void
call_begin(Call *c, Backend *b, Body body, void *arg)
{
    *c = (Call){.b = b, .body = body, .arg = arg};
    pthread_create(&c->thread, NULL, run_call, c);
}

static void
wait_until_parked(void)
{
    while (relaxed_u64(&shm.writer->parked_count) == 0)
        usleep(1000);
}

static ErrCode
call_end(Call *c)
{
    pthread_join(c->thread, NULL);
    return c->code;
}

static i32
n_of(Backend *b, i64 id)
{
    RowId row;
    current_catch = &b->catch;
    if (setjmp(b->catch.jump))
        ck_abort_msg("%s", b->catch.error.message);
    i32 n = find(b, id, &row) ? read_n(table_t(b), row) : ABSENT;
    txn_end_statement(b->txn);
    return n;
}

static TxnOutcome
look(Backend *b, void *arg)
{
    (void)arg;
    (void)txn_snapshot(b->txn);
    return TXN_DONE;
}

static void
two_sessions(Backend *a, Backend *b)
{
    backend_init(a, 0);
    backend_init(b, 1);
    CK_RUN(a, create_t, NULL);
    CK_RUN(a, insert, (&(Rows){1, 10, 100}));
}

/* Who waited runs its statement again on what the other left, and keeps what it did before; a few rows, or more than one part of them. */
START_TEST(who_waits_sees_what_the_other_left)
{
    static Backend a, b;
    Call c;
    two_sessions(&a, &b);
    for (int commit = 0; commit < 2; commit++) {
        txn_begin(a.txn, TXN_READ_COMMITTED);
        txn_begin(b.txn, TXN_READ_COMMITTED);
        CK_RUN(&a, insert, (&(Rows){1000, _i ? 70000 : 3, 7}));
        CK_RUN(&a, increment, &(i64){1000});
        u32 mark = txn_savepoint(a.txn);
        CK_RUN(&b, increment, &(i64){1});
        CK_RUN(&b, increment, &(i64){1});
        call_begin(&c, &a, increment, &(i64){1});
        wait_until_parked();
        ck_assert_int_eq(n_of(&b, 1), 102);
        if (commit)
            ck_assert_int_eq(end_with(&b, txn_commit), ERR_NONE);
        else
            txn_rollback(b.txn);
        ck_assert_int_eq(call_end(&c), ERR_NONE);
        ck_assert_int_eq(n_of(&a, 1), commit ? 103 : 101);
        ck_assert_int_eq(n_of(&a, 1000), 8);
        ck_assert_int_eq(n_of(&b, 1000), ABSENT);
        txn_rollback_to(a.txn, mark);
        ck_assert_int_eq(n_of(&a, 1), commit ? 102 : 100);
        ck_assert_int_eq(n_of(&a, 1000), 8);
        CK_RUN(&b, increment, &(i64){1}); /* what was locked since the savepoint is free */
        txn_rollback(a.txn);
        CK_RUN(&b, change, (&(Change){ADD_N, 1, 1, -1}));
    }
    ck_assert_int_eq(n_of(&b, 1), 102);
    backend_done(&a);
    backend_done(&b);
}
END_TEST

START_TEST(a_repeatable_snapshot_stays)
{
    static Backend a, b;
    two_sessions(&a, &b);
    txn_begin(a.txn, TXN_REPEATABLE_READ);
    ck_assert(!txn_has_snapshot(a.txn));
    (void)txn_root(a.txn); /* who only looks up names */
    txn_end_statement(a.txn);
    ck_assert(!txn_has_snapshot(a.txn));
    CK_RUN(&b, insert, (&(Rows){50, 1, 1}));
    ck_assert_int_eq(n_of(&a, 50), 1);
    ck_assert(txn_has_snapshot(a.txn));
    CK_RUN(&b, insert, (&(Rows){51, 1, 1}));
    CK_RUN(&b, increment, &(i64){2});
    ck_assert_int_eq(n_of(&a, 51), ABSENT);
    CK_RUN(&a, increment, &(i64){3});
    ck_assert_int_eq(n_of(&a, 3), 101);
    ck_assert_int_eq(n_of(&a, 2), 100);
    u32 mark = txn_savepoint(a.txn);
    ck_assert_int_eq(run(&a, increment, &(i64){2}), ERR_SERIALIZATION_FAILURE);
    ck_assert_str_eq(a.catch.error.message, "could not serialize access due to concurrent update");
    txn_rollback_to(a.txn, mark);
    ck_assert_int_eq(n_of(&a, 51), ABSENT);
    ck_assert_int_eq(end_with(&a, txn_commit), ERR_NONE);
    ck_assert_int_eq(n_of(&a, 51), 1);
    ck_assert_int_eq(n_of(&b, 3), 101);

    txn_set_isolation(a.txn, TXN_REPEATABLE_READ); /* of statements that commit by themselves */
    txn_begin(b.txn, TXN_READ_COMMITTED);
    CK_RUN(&b, increment, &(i64){2});
    Call c;
    call_begin(&c, &a, increment, &(i64){2});
    wait_until_parked();
    ck_assert_int_eq(end_with(&b, txn_commit), ERR_NONE);
    ck_assert_int_eq(call_end(&c), ERR_SERIALIZATION_FAILURE);
    backend_done(&a);
    backend_done(&b);
}
END_TEST

/* A statement that fails after parts of it were accepted leaves what was before it. */
START_TEST(a_failed_statement_is_taken_back)
{
    static Backend a, b;
    two_sessions(&a, &b);
    txn_begin(a.txn, TXN_READ_COMMITTED);
    CK_RUN(&a, increment, &(i64){1});
    u32 mark = txn_savepoint(a.txn);
    ck_assert_int_eq(run(&a, insert, &(Rows){5, 1, 0}), ERR_UNIQUE_VIOLATION);
    ck_assert_str_eq(a.catch.error.detail, "Key (id)=(5) already exists.");
    txn_rollback_to(a.txn, mark);
    CK_RUN(&a, change, (&(Change){REMOVE, 5, 5, 0}));
    CK_RUN(&a, insert, (&(Rows){5, 1, 1}));
    ck_assert_int_eq(run(&a, insert, &(Rows){5, 1, 0}), ERR_UNIQUE_VIOLATION);
    txn_rollback_to(a.txn, mark);
    ck_assert_int_eq(n_of(&a, 5), 100);
    ck_assert_int_eq(n_of(&a, 1), 101);
    ck_assert(txn_has_changes(a.txn));
    interrupted = true;
    txn_rollback_to(a.txn, mark);
    txn_rollback(a.txn);
    interrupted = false;
    ck_assert(!txn_has_changes(a.txn) && !txn_is_open(a.txn));
    txn_rollback(a.txn);
    ck_assert_int_eq(n_of(&b, 1), 100);
    backend_done(&a);
    backend_done(&b);
}
END_TEST

/* Cancelled while it waits: the transaction is still there. */
static void *
increment_interrupted(void *arg)
{
    Call *c = arg;
    interrupted = true;
    c->code = run(c->b, increment, c->arg);
    interrupted = false;
    return NULL;
}

START_TEST(a_cancelled_statement_leaves_the_transaction)
{
    static Backend a, b;
    two_sessions(&a, &b);
    txn_begin(a.txn, TXN_READ_COMMITTED);
    txn_begin(b.txn, TXN_READ_COMMITTED);
    CK_RUN(&a, increment, &(i64){1});
    CK_RUN(&b, increment, &(i64){2});
    u32 mark = txn_savepoint(a.txn);
    Call c = {.b = &a, .arg = &(i64){2}};
    pthread_create(&c.thread, NULL, increment_interrupted, &c);
    ck_assert_int_eq(call_end(&c), ERR_QUERY_CANCELED);
    txn_rollback_to(a.txn, mark);
    ck_assert_int_eq(end_with(&a, txn_commit), ERR_NONE);
    ck_assert_int_eq(n_of(&b, 1), 101);
    txn_rollback(b.txn);
    backend_done(&a);
    backend_done(&b);
}
END_TEST

/* ---- tables ---- */

typedef struct NewTable {
    const char *name;
    bool if_not_exists, exists;
} NewTable;

static TxnOutcome
create(Backend *b, void *arg)
{
    NewTable *n = arg;
    TableDef t = {.schema_version = 1, .owner_id = ROLE_ROOT, .column_count = 3, .key_count = 1, .name = str_of(n->name), .columns = COLUMNS,
                  .keys = &KEY, .acl = NO_ACL};
    return txn_create_table(b->txn, &t, n->if_not_exists, &n->exists);
}

static bool
has_table(Backend *b, const char *name)
{
    bool has = named(b, name) != NULL;
    txn_end_statement(b->txn);
    return has;
}

/* Made, filled, emptied, dropped and taken back in one transaction; nobody else sees any of it before COMMIT. */
START_TEST(tables_of_a_transaction)
{
    static Backend a, b;
    backend_init(&a, 0);
    backend_init(&b, 1);
    for (int commit = 0; commit < 2; commit++) {
        txn_begin(a.txn, TXN_READ_COMMITTED);
        u64 published = catalog_version(txn_root(a.txn));
        txn_end_statement(a.txn);
        CK_RUN(&a, create_t, NULL);
        CK_RUN(&a, create, (&(NewTable){"u", false, false}));
        ck_assert(has_table(&a, "t") && has_table(&a, "u") && !has_table(&b, "t"));
        ck_assert_uint_ne(catalog_version(txn_root(a.txn)), published);
        txn_end_statement(a.txn);
        CK_RUN(&a, insert, (&(Rows){1, 10, 5}));
        CK_RUN(&a, increment, &(i64){3});
        ck_assert_int_eq(n_of(&a, 3), 6);
        ck_assert_int_eq(run(&a, insert, &(Rows){3, 1, 5}), ERR_UNIQUE_VIOLATION);
        txn_rollback(a.txn);
        ck_assert(!has_table(&a, "t"));

        txn_begin(a.txn, TXN_READ_COMMITTED);
        CK_RUN(&a, create_t, NULL);
        CK_RUN(&a, insert, (&(Rows){1, 10, 5}));
        u32 mark = txn_savepoint(a.txn);
        CK_RUN(&a, empty, "t");
        ck_assert_int_eq(n_of(&a, 3), ABSENT);
        CK_RUN(&a, insert, (&(Rows){3, 1, 7}));
        ck_assert_int_eq(n_of(&a, 3), 7);
        CK_RUN(&a, drop, "t");
        ck_assert(!has_table(&a, "t"));
        CK_RUN(&a, create_t, NULL);
        CK_RUN(&a, insert, (&(Rows){20, 1, 8}));
        ck_assert_int_eq(n_of(&a, 20), 8);
        ck_assert_int_eq(n_of(&a, 3), ABSENT);
        txn_rollback_to(a.txn, mark);
        ck_assert_int_eq(n_of(&a, 20), ABSENT);
        ck_assert_int_eq(n_of(&a, 3), 5);
        if (commit)
            ck_assert_int_eq(end_with(&a, txn_commit), ERR_NONE);
        else
            txn_rollback(a.txn);
        ck_assert_int_eq(has_table(&b, "t"), commit);
    }
    ck_assert_int_eq(n_of(&b, 3), 5);

    /* of a table that is there already */
    txn_begin(a.txn, TXN_READ_COMMITTED);
    CK_RUN(&a, increment, &(i64){3});
    CK_RUN(&a, empty, "t");
    CK_RUN(&a, insert, (&(Rows){100, 2, 1}));
    ck_assert_int_eq(n_of(&a, 3), ABSENT);
    ck_assert_int_eq(n_of(&a, 101), 1);
    ck_assert_int_eq(n_of(&b, 3), 5);
    ck_assert_int_eq(end_with(&a, txn_commit), ERR_NONE);
    expect(2, 2);
    txn_begin(a.txn, TXN_READ_COMMITTED);
    CK_RUN(&a, insert, (&(Rows){200, 2, 1}));
    CK_RUN(&a, drop, "t");
    NewTable again = {"t", true, false};
    CK_RUN(&a, create, &again);
    ck_assert(!again.exists);
    ck_assert_int_eq(n_of(&b, 101), 1);
    ck_assert_int_eq(end_with(&a, txn_commit), ERR_NONE);
    expect(0, 0);
    backend_done(&a);
    backend_done(&b);
    restart_and_compare();
}
END_TEST

/* IF NOT EXISTS when somebody else was faster: not an error, and the transaction goes on. */
START_TEST(a_table_that_came_meanwhile)
{
    static Backend a, b;
    NewTable mine = {"u", true, false}, theirs = {"u", false, false};
    two_sessions(&a, &b);
    txn_begin(a.txn, TXN_REPEATABLE_READ);
    ck_assert_int_eq(n_of(&a, 1), 100); /* the snapshot knows of no u */
    CK_RUN(&b, create, &theirs);
    CK_RUN(&a, increment, &(i64){1});
    CK_RUN(&a, create, &mine);
    ck_assert(mine.exists);
    CK_RUN(&a, increment, &(i64){2});
    ck_assert_int_eq(end_with(&a, txn_commit), ERR_NONE);
    ck_assert_int_eq(n_of(&b, 1) + n_of(&b, 2), 202);
    backend_done(&a);
    backend_done(&b);
}
END_TEST

/* ---- SERIALIZABLE and locks ---- */

/* A lookup as exec makes it: what was found is noted. */
static i32
read_key(Backend *b, i64 id)
{
    RowId row = 0;
    Value v = {.type = TYPE_INT8, .typmod = -1, .i64v = id};
    current_catch = &b->catch;
    if (setjmp(b->catch.jump))
        ck_abort_msg("%s", b->catch.error.message);
    const TableShm *t = table_t(b);
    bool found = find(b, id, &row);
    txn_note_read_key(b->txn, table_def(t)->table_id, 0, key_hash_values(table_def(t), 0, &v), found ? row : 0);
    i32 n = found ? read_n(t, row) : ABSENT;
    txn_end_statement(b->txn);
    return n;
}

static TxnOutcome
read_all(Backend *b, void *arg)
{
    (void)arg;
    txn_note_read_table(b->txn, table_def(table_t(b))->table_id);
    return TXN_DONE;
}

/* a reads, b changes it and commits, a changes something else: whose commit fails? */
START_TEST(what_was_read_is_judged_at_commit)
{
    static const struct { i64 read, changed; bool all, insert, fails; } CASES[] = {
        {1, 1, false, false, true}, {1, 2, false, false, false}, {0, 2, true, false, true},
        {50, 50, false, true, true}, {50, 51, false, true, false}, {0, 52, true, true, true}, {1, 53, false, true, false}};
    static Backend a, b;
    two_sessions(&a, &b);
    for (u32 i = 0; i < COUNT_OF(CASES); i++) {
        i64 id = CASES[i].changed;
        txn_begin(a.txn, TXN_SERIALIZABLE);
        ck_assert_int_eq(read_key(&a, 9), 100); /* the snapshot */
        if (CASES[i].all)
            CK_RUN(&a, read_all, NULL);
        else
            (void)read_key(&a, CASES[i].read);
        CK_RUN(&a, insert, (&(Rows){100 + i, 1, 5}));
        ck_assert_int_eq(read_key(&a, 100 + i), 5); /* its own: nobody else's business */
        CK_RUN(&a, increment, &(i64){100 + i});
        if (CASES[i].insert)
            CK_RUN(&b, insert, (&(Rows){id, 1, 1}));
        else
            CK_RUN(&b, increment, &id);
        ck_assert_int_eq(end_with(&a, txn_commit), CASES[i].fails ? ERR_SERIALIZATION_FAILURE : ERR_NONE);
        ck_assert_int_eq(n_of(&b, 100 + i), CASES[i].fails ? ABSENT : 6);
        CK_RUN(&b, change, (&(Change){REMOVE, 50, 60, 0}));
    }
    /* more keys than are kept stand for the table; it wrote nothing: nobody asks */
    for (int writes = 0; writes < 2; writes++) {
        txn_begin(a.txn, TXN_SERIALIZABLE);
        for (i64 id = 2000; id < 3005; id++)
            ck_assert_int_eq(read_key(&a, id), ABSENT);
        if (writes)
            CK_RUN(&a, insert, (&(Rows){200, 1, 5}));
        CK_RUN(&b, increment, &(i64){1});
        ck_assert_int_eq(end_with(&a, txn_commit), writes ? ERR_SERIALIZATION_FAILURE : ERR_NONE);
    }
    /* a statement that commits by itself */
    txn_set_isolation(a.txn, TXN_SERIALIZABLE);
    CK_RUN(&a, insert, (&(Rows){300, 1, 5}));
    ck_assert_int_eq(n_of(&b, 300), 5);
    backend_done(&a);
    backend_done(&b);
}
END_TEST

static TxnOutcome
lock_t(Backend *b, void *arg)
{
    const TableDef *d = table_def(table_t(b));
    return txn_lock_table(b->txn, d->table_id, d->schema_version, TABLE_LOCK_EXCLUSIVE, *(LockWait *)arg);
}

typedef struct TwoRows {
    i64 id;
    LockWait wait;
    u64 bits[BOX_LOCK_ROWS / 64];
} TwoRows;

/* Rows id and id + 1 FOR UPDATE. */
static TxnOutcome
lock_rows(Backend *b, void *arg)
{
    TwoRows *l = arg;
    RowId rows[2];
    const TableDef *d = table_def(table_t(b));
    for (u32 i = 0; i < 2; i++)
        ensure(find(b, l->id + i, &rows[i]));
    return txn_lock_rows(b->txn, d->table_id, d->schema_version, ROW_LOCK_UPDATE, l->wait, rows, 2, l->bits);
}

/* Kept to the end of the transaction; outside of a block that is the statement's. */
START_TEST(locks_end_with_the_transaction)
{
    static Backend a, b;
    LockWait nowait = LOCK_NOWAIT;
    TwoRows l = {.id = 1, .wait = LOCK_NOWAIT}, m = {.id = 2, .wait = LOCK_SKIP};
    two_sessions(&a, &b);
    CK_RUN(&a, lock_t, &nowait);
    CK_RUN(&b, lock_t, &nowait);
    txn_begin(a.txn, TXN_READ_COMMITTED);
    u32 mark = txn_savepoint(a.txn);
    CK_RUN(&a, lock_t, &nowait);
    ck_assert(!txn_has_changes(a.txn));
    ck_assert_int_eq(run(&b, lock_t, &nowait), ERR_LOCK_NOT_AVAILABLE);
    ck_assert_str_eq(b.catch.error.message, "could not obtain lock on relation \"t\"");
    ck_assert_int_eq(run(&b, lock_rows, &l), ERR_LOCK_NOT_AVAILABLE);
    txn_rollback_to(a.txn, mark);
    CK_RUN(&b, lock_t, &nowait);
    CK_RUN(&a, lock_rows, &l);
    ck_assert_int_eq(run(&b, lock_rows, &l), ERR_LOCK_NOT_AVAILABLE);
    ck_assert_str_eq(b.catch.error.message, "could not obtain lock on row in relation \"t\"");
    txn_begin(b.txn, TXN_READ_COMMITTED);
    CK_RUN(&b, lock_rows, &m);
    ck_assert_uint_eq(m.bits[0], 2); /* row 3 only */
    CK_RUN(&b, increment, &(i64){3});
    ck_assert_int_eq(end_with(&b, txn_commit), ERR_NONE);
    ck_assert_int_eq(end_with(&a, txn_commit), ERR_NONE);
    CK_RUN(&b, lock_rows, &l);
    backend_done(&a);
    backend_done(&b);
}
END_TEST

/* Another walwriter: what was written and not committed is lost, and every attempt says so until the end. */
START_TEST(a_lost_transaction_says_so)
{
    static Backend a, b;
    two_sessions(&a, &b);
    for (int way = 0; way < 4; way++) {
        txn_begin(a.txn, TXN_READ_COMMITTED);
        txn_begin(b.txn, TXN_READ_COMMITTED);
        ck_assert_int_eq(n_of(&b, 1), 100);
        CK_RUN(&a, increment, &(i64){1});
        u32 mark = txn_savepoint(a.txn);
        CK_RUN(&a, insert, (&(Rows){100, _i ? 70000 : 5, 1}));
        ck_assert_int_eq(n_of(&a, 102), 1);
        replace_writer();
        switch (way) {
        case 0: ck_assert_int_eq(run(&a, look, NULL), ERR_SERIALIZATION_FAILURE); break;
        case 1: ck_assert_int_eq(run(&a, increment, &(i64){1}), ERR_SERIALIZATION_FAILURE); break;
        case 2:
            txn_rollback_to(a.txn, mark);
            ck_assert_int_eq(run(&a, look, NULL), ERR_SERIALIZATION_FAILURE);
            break;
        default: break;
        }
        ck_assert_int_eq(end_with(&a, txn_commit), ERR_SERIALIZATION_FAILURE);
        ck_assert_str_eq(a.catch.error.message, "could not serialize access: the writer was restarted");
        ck_assert(!txn_is_open(a.txn));
        txn_rollback(a.txn);
        ck_assert_int_eq(n_of(&b, 1), 100); /* it had written nothing: it goes on */
        CK_RUN(&b, increment, &(i64){2});
        ck_assert_int_eq(end_with(&b, txn_commit), ERR_NONE);
        ck_assert_int_eq(n_of(&a, 2), 101 + way);
        ck_assert_int_eq(n_of(&a, 100), ABSENT);
    }
    backend_done(&a);
    backend_done(&b);
}
END_TEST

int
main(void)
{
    Suite *s = suite_create("txn");
    TCase *t = tcase_create("txn");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_set_timeout(t, 120);
    tcase_add_loop_test(t, small_statements, 0, 4);
    tcase_add_loop_test(t, statements_of_all_sizes, 0, 2);
    tcase_add_loop_test(t, large_statements, 0, 2);
    tcase_add_test(t, tables_of_a_transaction);
    tcase_add_test(t, a_table_that_came_meanwhile);
    tcase_add_loop_test(t, who_waits_sees_what_the_other_left, 0, 2);
    tcase_add_test(t, a_repeatable_snapshot_stays);
    tcase_add_test(t, a_failed_statement_is_taken_back);
    tcase_add_test(t, a_cancelled_statement_leaves_the_transaction);
    tcase_add_test(t, what_was_read_is_judged_at_commit);
    tcase_add_test(t, locks_end_with_the_transaction);
    tcase_add_loop_test(t, a_lost_transaction_says_so, 0, 2);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_ENV);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed ? 1 : 0;
}
