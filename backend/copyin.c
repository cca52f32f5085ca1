/*
 * copyin.c
 *    COPY FROM STDIN: CopyData from the wire through the parser of net/copy.h into exec.
 *
 * Under the extended protocol Flush and Sync in between are ignored, as in PostgreSQL. An error leaves the rest of the client's data to the main loop,
 * which skips it.
 */
#include "backend/session.h"

#include "backend/interrupt.h"
#include "backend/net/copy.h"
#include "backend/throw.h"

typedef struct CopyRun {
    Session *session;
    ExecCopy *exec;
    const BStmt *stmt;
} CopyRun;

static void
take_rows(void *ctx, const Batch *b, const u8 *const *defaults)
{
    const CopyRun *run = ctx;
    interrupt_check();
    exec_copy_rows(run->exec, b, defaults);
}

static void
tell_skipped(void *ctx, u64 line, Str column, const char *value)
{
    const CopyRun *run = ctx;
    Error notice;
    error_set(&notice, ERR_NONE, "skipping row due to data type incompatibility at line %llu for column \"%.*s\": \"%s\"", (unsigned long long)line,
              (int)column.len, column.ptr, value);
    error_context(&notice, "COPY %.*s", (int)run->stmt->table_name.len, run->stmt->table_name.ptr);
    session_notice_fields(run->session, REPLY_NOTICE, &notice);
}

static bool
bit(const u64 *bits, u32 i)
{
    return bits && (bits[i / 64] >> (i % 64) & 1);
}

/* The names are copied: the snapshot may move while rows are sent. */
static CopyColumn *
target_columns(Session *s, Portal *p, const BStmt *b)
{
    const TableDef *t = catalog_table(session_root(s), b->table_id);
    CopyColumn *columns = ARENA_ARRAY(p->arena, CopyColumn, b->column_count);
    if (!t)
        err_throw(ERR_UNDEFINED_TABLE, "relation \"%.*s\" does not exist", (int)b->table_name.len, b->table_name.ptr);
    for (u32 i = 0; i < b->column_count; i++) {
        u16 number = b->columns ? b->columns[i] : (u16)i;
        if (number >= t->column_count)
            err_throw(ERR_SERIALIZATION_FAILURE, "could not run the statement because its table changed");
        const ColumnDef *c = &t->columns[number];
        columns[i] = (CopyColumn){.name = arena_str(p->arena, c->name), .type = (TypeId)c->type, .typmod = c->typmod,
                                  .force_null = bit(b->copy.force_null, i), .force_not_null = bit(b->copy.force_not_null, i), .not_null = c->not_null,
                                  .has_default = c->default_text.len > 0};
    }
    return columns;
}

static CopySpec
make_spec(Session *s, Portal *p, CopyRun *run)
{
    const BStmt *b = run->stmt;
    const BCopyOptions *o = &b->copy;
    static const CopyKind KINDS[] = {[COPY_TEXT] = COPY_KIND_TEXT, [COPY_CSV] = COPY_KIND_CSV, [COPY_BINARY] = COPY_KIND_BINARY};
    return (CopySpec){
        .kind = KINDS[o->format], .header = o->header, .header_match = o->header_match, .delimiter = o->delimiter, .quote = o->quote,
        .escape = o->escape, .has_null_text = o->has_null_text, .null_text = o->null_text,
        .relation = arena_strndup(p->arena, b->table_name.ptr, b->table_name.len), .column_count = b->column_count,
        .columns = target_columns(s, p, b), .format = p->format, .rows = take_rows, .skipped = o->verbose ? tell_skipped : NULL, .ctx = run,
        .has_default_text = o->has_default_text, .default_text = o->default_text, .ignore_errors = o->ignore_errors,
        .row_alone = p->plan->plan->copy_row_alone,
    };
}

static NORETURN void
client_gave_up(const WireMsg *m)
{
    ByteReader r = reader_of(m->body, m->len);
    err_throw(ERR_QUERY_CANCELED, "COPY from stdin failed: %s", body_string(&r));
}

static void
read_data(Session *s, CopyIn *parser)
{
    for (WireMsg m;;) {
        if (!wire_read(s->wire, PHASE_COPY, &m))
            err_throw_fatal(ERR_CONNECTION_FAILURE, "unexpected EOF on client connection with an open transaction");
        switch (m.type) {
        case MSG_F_COPY_DATA: copy_feed(parser, m.body, m.len); break;
        case MSG_F_COPY_DONE: copy_finish(parser); return;
        case MSG_F_COPY_FAIL: client_gave_up(&m);
        default: break; /* Flush, Sync */
        }
    }
}

u64
copyin_run(Session *s, Portal *p)
{
    const BStmt *b = p->plan->stmt;
    u64 rows = 0;
    CopyRun run = {.session = s, .exec = exec_copy_begin(&p->ctx, p->plan->plan), .stmt = b};
    CopySpec spec = make_spec(s, p, &run);
    CopyIn *parser = copy_new(p->arena, &spec);
    err_context(copy_add_context, parser);
    reply_copy_in(s->wire, b->copy.format == COPY_BINARY, b->column_count);
    wire_flush(s->wire);
    read_data(s, parser);
    /* The data is gone: it cannot be run again. */
    if (exec_copy_end(run.exec, &rows) == EXEC_REPLAN)
        err_throw(ERR_SERIALIZATION_FAILURE, "could not run the statement because its table changed");
    err_context(NULL, NULL);
    if (copy_skipped(parser))
        session_notice(s, REPLY_NOTICE, ERR_NONE, arena_printf(p->arena, "%llu %s skipped due to data type incompatibility",
                                                               (unsigned long long)copy_skipped(parser), copy_skipped(parser) == 1 ? "row was" : "rows were"));
    return rows;
}
