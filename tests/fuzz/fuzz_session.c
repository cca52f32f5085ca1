/*
 * fuzz_session.c
 *    No stream of messages breaks a session: the real loop over a small store, the walwriter a thread, the socket two buffers.
 *
 * The input is a program. Its head says how the stream is cut into pieces and how little the peer takes at a time; each step then adds a message, its names,
 * statements and values from tables or from the input: whole, cut, too long, of any type, with a broken length, or a cancel at that place. An ending follows
 * that brings any session back which is still there.
 *
 * What must hold: replies are well formed and in an order that the protocol allows (check_replies); each Sync, Query and FunctionCall that is not skipped has
 * one ReadyForQuery; after an error nothing but notices and parameters come until then; a session ends only by FATAL, Terminate or the peer's end; no internal
 * errors; afterwards no portal, statement or transaction is left.
 *
 * recv, send, poll and _exit are wrapped by the linker (--wrap). As a libFuzzer target see README.md; alone it reads the files it is given, or makes its own
 * inputs: fuzz_session --random COUNT [SEED].
 */
#include "backend/interrupt.h"
#include "backend/names.h"
#include "backend/session.h"
#include "backend/throw.h"
#include "common/shm/publish.h"
#include "tests/fuzz/fuzz_files.h"
#include "walwriter/writer.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

ssize_t __wrap_recv(int fd, void *to, size_t size, int flags);
ssize_t __wrap_send(int fd, const void *data, size_t size, int flags);
int __wrap_poll(struct pollfd *fds, nfds_t count, int timeout_ms);
NORETURN void __wrap__exit(int status);
ssize_t __real_recv(int fd, void *to, size_t size, int flags);
ssize_t __real_send(int fd, const void *data, size_t size, int flags);
int __real_poll(struct pollfd *fds, nfds_t count, int timeout_ms);
NORETURN void __real__exit(int status);

enum { PEER = -7, SLOTS = 4, MEMORY = 1 << 30, SEGMENT = 64 << 20, STEPS_MAX = 400, CANCELS_MAX = 16 };

static const char *const SQL[] = {
    "SELECT 1", "SELECT id, t FROM w ORDER BY id", "SELECT id FROM w WHERE id = $1", "SELECT $1::int, $2::text", "SELECT $1", "", ";", "SELECT 1; SELECT 'a', 2",
    "SELECT 1; SELECT 1/0; SELECT 2", "SELEC", "SELECT id / (id - 2) FROM w ORDER BY id", "SELECT nosuch FROM w", "BEGIN", "COMMIT", "ROLLBACK", "SAVEPOINT a", "ROLLBACK TO a",
    "RELEASE a", "BEGIN READ ONLY", "COMMIT AND CHAIN", "SET application_name = 'x'", "SET LOCAL application_name = 'y'", "SHOW application_name", "SHOW ALL",
    "SET nosuch = 1", "EXPLAIN SELECT * FROM w", "VALUES (1, 'x'), (2, NULL)", "SELECT count(*) FROM w a, w b, w c", "SELECT set_config('application_name', $1, true)",
    "DISCARD ALL", "DEALLOCATE ALL", "DEALLOCATE a", "PREPARE a AS SELECT $1::int", "EXECUTE a (1)", "SELECT repeat('x', 70000)", "SELECT id FROM w LIMIT $1", "SELECT 1 / $1::int",
    "SELECT id FROM w FOR UPDATE", "COPY w TO STDOUT", "COPY (SELECT id FROM w) TO STDOUT (FORMAT binary)", "SELECT current_setting($1)", "SELECT (SELECT max(id) FROM w)", "BEGIN; SELECT 1", "SELECT 1; COMMIT; SELECT 2",
    "SET bytea_output = 'escape'", "SET TimeZone = 'Europe/Berlin'", "SELECT now() IS NULL, '\\x00ff'::bytea", "SET default_transaction_read_only = on", "CLOSE ALL", "SELECT 'a\001b', U&'\\00e4'",
    "DECLARE c CURSOR FOR SELECT id FROM w ORDER BY id", "DECLARE a SCROLL CURSOR WITH HOLD FOR SELECT id, t FROM w", "DECLARE b BINARY CURSOR FOR SELECT id / (id - 2) FROM w", "FETCH c", "FETCH ALL FROM a",
    "FETCH BACKWARD 2 FROM a", "MOVE 1 IN c", "FETCH FORWARD 0 FROM b", "CLOSE a", "CLOSE c",
    "SELECT name, statement FROM pg_cursors", "SELECT name, parameter_types FROM pg_prepared_statements", "FETCH ALL FROM b", "SELECT $1::int[], ARRAY[1, 2]", "SELECT id FROM w WHERE id = ANY ($1)",
    /* from here on: writes, which wait for the walwriter */
    "INSERT INTO w VALUES (4, $1)", "INSERT INTO w VALUES (5, 'five'), (6, 'six') RETURNING id", "INSERT INTO w VALUES (1)", "DELETE FROM w WHERE id > 3", "UPDATE w SET t = $1 WHERE id = 1", "CREATE TABLE z (a int)",
    "DROP TABLE IF EXISTS z", "SELECT * FROM z", "INSERT INTO w VALUES (7); SELECT 1/0",
    /* and what may take Syncs and Queries as its data */
    "COPY w FROM STDIN", "COPY w (id) FROM STDIN (FORMAT csv)", "COPY w FROM STDIN (FORMAT binary)", "COPY w FROM STDIN; SELECT 1",
};
enum { SQL_COUNT = sizeof SQL / sizeof *SQL, WRITES = 9, COPIES = 4 };
static const char *const NAMES[] = {"", "a", "b", "a name that is longer than sixty-three bytes, which PostgreSQL keeps as it is"};
static const char *const VALUES[] = {"1", "0", "x", "", "-1", "99999999999", "t", "\\N"};
static const u32 OIDS[] = {0, 23, 25, 20, 701, 16, 705, 1043, 4711};
static const u32 LIMITS[] = {0, 1, 2, 1000, 0xffffffff, 0x80000000};

static Boot boot;
static Session *session;
static int wal_dir;
static jmp_buf gone;
static bool in_session;

/* ---- the peer ---- */

static ByteBuf in, out;
static size_t in_at;
static u32 piece_max, room_max, noise;
static size_t cancels[CANCELS_MAX];
static u32 cancel_count, cancel_at;

static u32
next_noise(void)
{
    noise = noise * 1664525u + 1013904223u;
    return noise >> 8;
}

ssize_t
__wrap_recv(int fd, void *to, size_t size, int flags)
{
    if (fd != PEER)
        return __real_recv(fd, to, size, flags);
    if (cancel_at < cancel_count && in_at == cancels[cancel_at]) {
        cancel_at++;
        proc_flag_set(PROC_CANCEL);
    }
    size_t n = MIN(size, (cancel_at < cancel_count ? cancels[cancel_at] : in.len) - in_at);
    if (piece_max && n) {
        if (next_noise() % 4 == 0) {
            errno = EAGAIN;
            return -1;
        }
        size_t piece = 1 + next_noise() % piece_max;
        n = MIN(n, piece);
    }
    if (n)
        memcpy(to, in.data + in_at, n);
    in_at += n;
    return (ssize_t)n;
}

ssize_t
__wrap_send(int fd, const void *data, size_t size, int flags)
{
    if (fd != PEER)
        return __real_send(fd, data, size, flags);
    if (room_max && next_noise() % 2) {
        errno = EAGAIN;
        return -1;
    }
    size_t n = room_max ? MIN(size, (size_t)room_max) : size;
    buf_put(&out, data, n);
    return (ssize_t)n;
}

int
__wrap_poll(struct pollfd *fds, nfds_t count, int timeout_ms)
{
    if (fds[0].fd != PEER)
        return __real_poll(fds, count, timeout_ms);
    for (nfds_t i = 0; i < count; i++)
        fds[i].revents = 0;
    fds[0].revents = fds[0].events;
    return 1;
}

void
__wrap__exit(int status)
{
    if (in_session)
        longjmp(gone, 1);
    __real__exit(status);
}

/* ---- the program ---- */

typedef struct Program {
    const u8 *at, *end;
    char kinds[STEPS_MAX + 16]; /* type bytes of the messages, in order; those after a broken one do not count */
    u32 count;
    size_t last;               /* where the last message begins */
    bool tame;                 /* nothing in it can take other messages as data, or end the session */
} Program;

static u8
take(Program *p)
{
    return p->at < p->end ? *p->at++ : 0;
}

static size_t
begin(Program *p, char type)
{
    p->last = in.len;
    p->kinds[p->count++] = type;
    buf_u8(&in, (u8)type);
    buf_be32(&in, 0);
    return p->last;
}

static void
finish(size_t at)
{
    put_be32(in.data + at + 1, (u32)(in.len - at - 1));
}

static void
put_text(const char *text)
{
    buf_put(&in, text, strlen(text) + 1);
}

static void
put_name(Program *p)
{
    put_text(NAMES[take(p) % COUNT_OF(NAMES)]);
}

/* Of 16 picks, one is a write and one of two what reads COPY data. */
static const char *
pick_sql(Program *p)
{
    u32 b = take(p), n;
    if (b >= 240) {
        n = SQL_COUNT - COPIES - WRITES + b % (b >= 248 ? WRITES + COPIES : WRITES);
    } else
        n = b % (SQL_COUNT - WRITES - COPIES);
    if (n >= SQL_COUNT - COPIES)
        p->tame = false;
    return SQL[n];
}

static void
put_formats(Program *p, u32 count)
{
    u32 b = take(p), n = b % 4 == 0 ? 0 : b % 4 == 1 ? 1 : b % 4 == 2 ? count : b % 7;
    buf_be16(&in, (u16)n);
    for (u32 i = 0; i < n; i++)
        buf_be16(&in, b & 128 ? take(p) % 3 : b >> 6 & 1);
}

static void
put_value(Program *p)
{
    u32 b = take(p), n = b % 9;
    u8 raw[8] = {0};
    if (b < 32) {
        buf_be32(&in, UINT32_MAX);
    } else if (b < 200) {
        const char *v = VALUES[b % COUNT_OF(VALUES)];
        buf_be32(&in, (u32)strlen(v));
        buf_put(&in, v, strlen(v));
    } else if (b < 250) {
        for (u32 i = 0; i < n && i < sizeof raw; i++)
            raw[i] = take(p);
        n = MIN(n, (u32)sizeof raw);
        buf_be32(&in, n);
        buf_put(&in, raw, n);
    } else
        buf_be32(&in, b % 2 ? 0x7fffffff : 0xfffffffe);
}

static void
add_parse(Program *p)
{
    size_t at = begin(p, 'P');
    put_name(p);
    put_text(pick_sql(p));
    u32 n = take(p) % 8;
    n = n > 3 ? 0 : n;
    buf_be16(&in, (u16)n);
    for (u32 i = 0; i < n; i++)
        buf_be32(&in, OIDS[take(p) % COUNT_OF(OIDS)]);
    finish(at);
}

static void
add_bind(Program *p)
{
    size_t at = begin(p, 'B');
    put_name(p);
    put_name(p);
    u32 b = take(p), n = b < 128 ? b % 3 : b % 7;
    put_formats(p, n);
    buf_be16(&in, (u16)n);
    for (u32 i = 0; i < n; i++)
        put_value(p);
    put_formats(p, 2);
    finish(at);
}

static void
add_named(Program *p, char type)
{
    size_t at = begin(p, type);
    u32 b = take(p);
    buf_u8(&in, b % 32 == 31 ? (u8)b : b % 2 ? 'S' : 'P');
    put_name(p);
    finish(at);
}

static void
add_raw(Program *p, char type)
{
    size_t at = begin(p, type);
    for (u32 n = take(p) % 40; n > 0; n--)
        buf_u8(&in, take(p));
    finish(at);
}

static void
add_copy_data(Program *p)
{
    static const char *const ROWS[] = {"8\teight\n", "9\t", "nine\n", "x\ty\n", "\\.\n", "10,ten\n", "PGCOPY\n\377\r\n"};
    u32 b = take(p);
    if (b & 128) {
        add_raw(p, 'd');
        return;
    }
    size_t at = begin(p, 'd');
    const char *row = ROWS[b % COUNT_OF(ROWS)];
    buf_put(&in, row, strlen(row));
    finish(at);
}

/* The last message once more, shorter or longer, its length being right. */
static void
add_spoiled(Program *p)
{
    size_t from = p->last, len = in.len - from;
    if (!p->count || len < 5)
        return;
    u32 b = take(p);
    u8 copy[4096];
    size_t keep = b & 128 ? len : MAX(len - MIN(len, (size_t)b % 16), (size_t)5);
    if (len > sizeof copy)
        return;
    memcpy(copy, in.data + from, len);
    size_t at = begin(p, (char)copy[0]);
    buf_put(&in, copy + 5, keep - 5);
    for (u32 i = 0; (b & 128) && i < b % 8; i++)
        buf_u8(&in, take(p));
    finish(at);
}

static void
add_broken(Program *p)
{
    static const u32 LENGTHS[] = {0, 3, 0x40000004, 0x7fffffff, 0xffffffff, 20000, 1 << 20};
    static const char TYPES[] = "QPBEDCHSFXdcfp\0\377zR";
    size_t at = begin(p, TYPES[take(p) % (sizeof TYPES - 1)]);
    put_be32(in.data + at + 1, LENGTHS[take(p) % COUNT_OF(LENGTHS)]);
    p->tame = false;
}

static void
add_step(Program *p)
{
    static const char ANY[] = "QPBEDCHSFdcfXp";
    u32 op = take(p);
    switch (op % 24) {
    case 0: case 1: case 2: add_parse(p); break;
    case 3: case 4: case 5: add_bind(p); break;
    case 6: case 7: add_named(p, 'D'); break;
    case 8: case 9: case 10: {
        size_t at = begin(p, 'E');
        put_name(p);
        buf_be32(&in, LIMITS[take(p) % COUNT_OF(LIMITS)]);
        finish(at);
        break;
    }
    case 11: add_named(p, 'C'); break;
    case 12: finish(begin(p, 'H')); break;
    case 13: case 14: finish(begin(p, 'S')); break;
    case 15: case 16: case 17: {
        size_t at = begin(p, 'Q');
        put_text(pick_sql(p));
        finish(at);
        break;
    }
    case 18: add_copy_data(p); break;
    case 19: finish(begin(p, op & 32 ? 'c' : 'f')); break;
    case 20: add_raw(p, 'F'); break;
    case 21: add_spoiled(p); break;
    case 22: {
        char type = ANY[take(p) % (sizeof ANY - 1)];
        p->tame = p->tame && type != 'X' && type != 'p';
        add_raw(p, type);
        break;
    }
    default:
        if (op >= 200)
            add_broken(p);
        else if (in.len && cancel_count < CANCELS_MAX && (cancel_count == 0 || in.len > cancels[cancel_count - 1]))
            cancels[cancel_count++] = in.len;
        break;
    }
}

/* Whatever state it is in: out of COPY, to a Sync, out of the block (a cancel may take the first way), alive. */
static void
add_ending(Program *p)
{
    static const char *const QUERIES[] = {"ROLLBACK", "ROLLBACK", "RESET ALL", "SELECT 'alive'"};
    finish(begin(p, 'f'));
    finish(begin(p, 'S'));
    for (u32 i = 0; i < COUNT_OF(QUERIES); i++) {
        size_t at = begin(p, 'Q');
        put_text(QUERIES[i]);
        finish(at);
    }
}

static void
read_program(Program *p)
{
    static const u32 PIECES[] = {0, 0, 1, 3, 17, 300}, ROOMS[] = {0, 0, 0, 1, 50, 5000};
    u32 head = take(p);
    noise = take(p) + 256u * take(p);
    piece_max = PIECES[head % COUNT_OF(PIECES)];
    room_max = ROOMS[head / 16 % COUNT_OF(ROOMS)];
    cancel_count = cancel_at = 0;
    in_at = 0;
    buf_clear(&in);
    buf_clear(&out);
    p->tame = true;
    while (p->at < p->end && p->count < STEPS_MAX)
        add_step(p);
    add_ending(p);
    ensure(!in.failed);
}

/* ---- replies ---- */

/* Where the next messages are looked for: any place of the input that may have been reached. */
typedef struct Reached { bool at[STEPS_MAX + 17]; } Reached;

static bool
asks_ready(char kind)
{
    return kind == 'S' || kind == 'Q' || kind == 'F';
}

/* A ReadyForQuery has come. Without an error it is that of the next message that asks for one; an error in a message before it skips to Sync. */
static bool
advance(const Program *p, Reached *r, bool had_error)
{
    Reached next = {{false}};
    bool any = false;
    for (u32 from = 0; from < p->count; from++) {
        if (!r->at[from])
            continue;
        u32 first = from, sync = from;
        while (first < p->count && !asks_ready(p->kinds[first]))
            first++;
        if (first < p->count)
            next.at[first + 1] = any = true;
        while (had_error && sync < p->count && p->kinds[sync] != 'S')
            sync++;
        if (had_error && first > from && sync < p->count)
            next.at[sync + 1] = any = true;
    }
    *r = next;
    return any;
}

typedef struct Replies {
    u32 columns; /* of the row before this one; UINT32_MAX: there is none */
    bool had_error, fatal, copy_in, copy_out, alive;
} Replies;

static void
check_error(Replies *r, const u8 *body, u32 len)
{
    ByteReader f = reader_of(body, len);
    for (u8 code; (code = reader_u8(&f)) != 0 && !f.bad;) {
        const char *text = (const char *)f.at;
        const u8 *end = memchr(f.at, 0, (size_t)(f.end - f.at));
        ensure(end);
        f.at = end + 1;
        if (code == 'V')
            r->fatal = strcmp(text, "FATAL") == 0;
        if (code == 'C')
            ensure(strcmp(text, "XX000") != 0 && strcmp(text, "XX001") != 0);
    }
    ensure(!f.bad && reader_done(&f));
    ensure(!r->had_error || r->fatal); /* a broken message ends even what is skipped */
    r->had_error = true;
}

static void
check_row(Replies *r, const u8 *body, u32 len)
{
    ByteReader d = reader_of(body, len);
    u32 count = reader_be16(&d);
    ensure(r->columns == UINT32_MAX || count == r->columns);
    r->columns = count;
    for (u32 i = 0; i < count; i++) {
        u32 n = reader_be32(&d);
        const u8 *value = n == UINT32_MAX ? body : reader_take(&d, n);
        ensure(value);
        r->alive = n == 5 && memcmp(value, "alive", 5) == 0;
    }
    ensure(!d.bad && reader_done(&d));
}

static void
check_reply(Replies *r, char type, const u8 *body, u32 len)
{
    ensure(!r->fatal);
    ensure(!r->had_error || strchr("NSZE", type));
    ensure(!r->copy_out || strchr("dcENS", type));
    ensure(!r->copy_in || strchr("CENS", type));
    if (type != 'D')
        r->columns = UINT32_MAX;
    switch (type) {
    case 'D': check_row(r, body, len); break;
    case 'C': ensure(len > 1 && body[len - 1] == 0); r->copy_in = false; break;
    case 'E': check_error(r, body, len); r->copy_in = r->copy_out = false; break;
    case 'N': case 'S': case 'T': case 't': case 'n': case 'd': case 's': break;
    case 'G': r->copy_in = true; break;
    case 'H': r->copy_out = true; break;
    case 'c': r->copy_out = false; break;
    case '1': case '2': case '3': case 'I': ensure(len == 0); break;
    case 'Z': ensure(len == 1 && strchr("ITE", body[0])); r->had_error = false; break;
    default: ensure(!"a reply of this type");
    }
}

/* Returns whether the session is to be there still. */
static void
check_replies(const Program *p)
{
    Replies r = {.columns = UINT32_MAX};
    Reached reached = {.at = {true}};
    u32 ready = 0, asked = 0;
    for (size_t at = 0; at < out.len;) {
        ensure(out.len - at >= 5);
        u32 len = get_be32(out.data + at + 1);
        ensure(len >= 4 && out.len - at > len);
        char type = (char)out.data[at];
        bool had_error = r.had_error;
        check_reply(&r, type, out.data + at + 5, len - 4);
        if (type == 'Z') {
            ensure(!p->tame || ready == 0 || advance(p, &reached, had_error)); /* the first one is its greeting */
            ready++;
        }
        at += 1 + len;
    }
    for (u32 i = 0; i < p->count; i++)
        asked += asks_ready(p->kinds[i]);
    ensure(ready <= asked + 1);
    ensure(!p->tame || (r.alive && reached.at[p->count] && !r.fatal));
}

/* ---- the session ---- */

static void *
run_writer(void *unused)
{
    static char password[1];
    static Writer *writer;
    WriterOptions o = {.shm = &boot.shm, .wal_dir_fd = wal_dir, .snap_dir_fd = wal_dir, .segment_bytes = SEGMENT, .engine = IO_ENGINE_RING, .root_password = password};
    Error err;
    (void)unused;
    ensure(writer_open(&o, &writer, &err));
    for (;;) {
        writer_turn(writer);
        publish_u64(&shm_checkpointer(&boot.shm)->pub_done, observe_u64(&boot.shm.writer->pub_snapshot_wish)); /* CHECKPOINT has nothing to do here */
    }
}

static char folder[] = "/dev/shm/ggs3db-fuzz-XXXXXX";

static void
remove_folder(void)
{
    char command[64];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    ensure(system(command) == 0);
}

static void
start_store(void)
{
    pthread_t thread;
    ensure(mkdtemp(folder));
    atexit(remove_folder);
    wal_dir = open(folder, O_RDONLY | O_DIRECTORY);
    ensure(shm_create(&boot.shm, SLOTS, MEMORY) == 0);
    boot.shm.control->slots[0] = (SlotShm){.pub_role_id = ROLE_ROOT, .pub_generation = 1, .pub_state = SLOT_TAKEN, .pid = getpid()};
    boot.shm.control->pub_server_state = SERVER_OPEN;
    ensure(pthread_create(&thread, NULL, run_writer, NULL) == 0);
    while (observe_u64(&boot.shm.writer->pub_ready) == 0)
        usleep(1000);
}

static void
converse(void)
{
    session->wire = wire_new(PEER, -1);
    ensure(session->wire);
    if (setjmp(gone) == 0) {
        in_session = true;
        session_run(session);
    }
    in_session = false;
    wire_free(session->wire);
}

/* What the end of the process would have done. */
static void
settle(void)
{
    Session *s = session;
    Catch c;
    Error err;
    current_catch = &c;
    if (setjmp(c.jump))
        abort();
    s->recovering = s->skip_to_sync = s->in_extended = false;
    interrupt_statement_end();
    s->transaction.ends = ENDS_ROLLBACK;
    transaction_abort(s);
    s->running = NULL;
    portal_close_others(s); /* those that are held */
    arena_reset(s->message);
    s->source = NULL;
    ensure(guc_reset_all(s->guc, &err));
    session_apply_gucs(s);
    prepared_drop_all(s);
    plans_drop_all(s);
    ensure(!s->portals && !s->unnamed.is_open && s->transaction.state == TRANSACTION_NONE && !txn_is_open(s->txn));
}

static void
say(const char *sql)
{
    Program p = {.tame = true};
    in_at = 0;
    piece_max = room_max = cancel_count = 0;
    buf_clear(&in);
    buf_clear(&out);
    size_t at = begin(&p, 'Q');
    put_text(sql);
    finish(at);
    add_ending(&p);
    converse();
    check_replies(&p);
    settle();
}

static void
start_session(void)
{
    Session *s = session = calloc(1, sizeof *s);
    Catch c;
    current_catch = &c;
    if (!s || setjmp(c.jump))
        abort();
    conf_defaults(&boot.conf);
    boot.generation = 1;
    s->boot = &boot;
    names_open(s);
    s->box = shm_box(&boot.shm, 0);
    s->guc = guc_new(&boot.conf);
    s->memory_limit_bytes = 64 << 20;
    s->arena = arena_new("session", 0, arena_full_throw);
    s->message = arena_new("message", s->memory_limit_bytes, arena_full_throw);
    exec_init(&boot.shm, 0, 1);
    s->plans = plans_new(s->arena);
    s->txn = txn_new(s->arena, &boot.shm, 0, 1, &s->lock_timeout_ms);
    s->role_id = ROLE_ROOT;
    s->superuser = s->signed_in = true;
    strcpy(s->role_name, "root");
    strcpy(s->database, "ggs3db");
    session_apply_gucs(s);
    say("CREATE TABLE w (id integer PRIMARY KEY, t text)");
    say("INSERT INTO w VALUES (1, 'one'), (2, NULL), (3, 'three')");
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (!session) {
        ensure(sodium_init() >= 0);
        start_store();
        start_session();
    }
    Program p = {.at = data, .end = data + size};
    read_program(&p);
    converse();
    check_replies(&p);
    settle();
    return 0;
}

#ifndef FUZZER
static void
run_random(u64 count, u64 seed)
{
    for (u64 i = 0; i < count; i++) {
        uint8_t data[256];
        u64 x = (seed + i) * 0x9e3779b97f4a7c15ull;
        size_t n = 4 + x % (sizeof data - 4);
        for (size_t k = 0; k < n; k++) {
            x ^= x << 13, x ^= x >> 7, x ^= x << 17;
            data[k] = (uint8_t)(x >> 32);
        }
        LLVMFuzzerTestOneInput(data, n);
    }
    printf("%llu streams\n", (unsigned long long)count);
}

int
main(int argc, char **argv)
{
    if (argc > 2 && strcmp(argv[1], "--random") == 0) {
        run_random(strtoull(argv[2], NULL, 10), argc > 3 ? strtoull(argv[3], NULL, 10) : 1);
        return 0;
    }
    return fuzz_files(argc, argv);
}
#endif
