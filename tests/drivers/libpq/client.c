/* libpq in C: pipeline mode, single rows, Describe, Close by name, COPY both ways, binary results, notices, asynchronous queries, cancel. */
#include <libpq-fe.h>
#include <locale.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static PGconn *db;

/* ---- printing ---- */

static void
section(const char *name)
{
    printf("== %s\n", name);
    fflush(stdout);
}

static void
one_line(const char *s)
{
    for (; *s; s++)
        if (*s == '\n')
            fputs("\\n", stdout);
        else
            putchar(*s);
}

static void
print_error(const PGresult *r)
{
    static const struct {
        int code;
        const char *name;
    } FIELDS[] = {{PG_DIAG_SEVERITY_NONLOCALIZED, "severity"}, {PG_DIAG_MESSAGE_PRIMARY, "message"}, {PG_DIAG_MESSAGE_DETAIL, "detail"}, {PG_DIAG_MESSAGE_HINT, "hint"},
                  {PG_DIAG_STATEMENT_POSITION, "position"}, {PG_DIAG_CONTEXT, "context"}, {PG_DIAG_SCHEMA_NAME, "schema"}, {PG_DIAG_TABLE_NAME, "table"},
                  {PG_DIAG_COLUMN_NAME, "column"}, {PG_DIAG_CONSTRAINT_NAME, "constraint"}};
    const char *state = PQresultErrorField(r, PG_DIAG_SQLSTATE);
    printf("error %s", state ? state : "in the client");
    for (size_t i = 0; i < sizeof FIELDS / sizeof *FIELDS; i++) {
        const char *v = PQresultErrorField(r, FIELDS[i].code);
        if (v) {
            printf(" %s=", FIELDS[i].name);
            one_line(v);
        }
    }
}

static void
print_value(const PGresult *r, int row, int column)
{
    if (PQgetisnull(r, row, column)) {
        fputs("NULL", stdout);
        return;
    }
    const char *v = PQgetvalue(r, row, column);
    int n = PQgetlength(r, row, column);
    if (PQfformat(r, column) == 0) {
        printf("\"");
        one_line(v);
        printf("\"");
        return;
    }
    for (int i = 0; i < n; i++)
        printf("%02x", (unsigned char)v[i]);
}

/* Columns with all that RowDescription says of them; table numbers differ between servers, so only whether there is one. */
static void
print_result(const PGresult *r)
{
    printf("%s", PQresStatus(PQresultStatus(r)));
    switch (PQresultStatus(r)) {
    case PGRES_FATAL_ERROR:
    case PGRES_NONFATAL_ERROR:
        putchar(' ');
        print_error(r);
        return;
    default: break;
    }
    printf(" '%s' '%s'", PQcmdStatus((PGresult *)r), PQcmdTuples((PGresult *)r));
    if (PQnparams(r)) {
        printf(" parameters");
        for (int i = 0; i < PQnparams(r); i++)
            printf(" %u", PQparamtype(r, i));
    }
    for (int c = 0; c < PQnfields(r); c++)
        printf(" [%s %u %d %d %d table:%d.%d]", PQfname(r, c), PQftype(r, c), PQfsize(r, c), PQfmod(r, c), PQfformat(r, c), PQftable(r, c) != 0, PQftablecol(r, c));
    for (int row = 0; row < PQntuples(r); row++) {
        printf(" (");
        for (int c = 0; c < PQnfields(r); c++) {
            if (c)
                putchar(' ');
            print_value(r, row, c);
        }
        putchar(')');
    }
}

static void
tell(const char *name, PGresult *r)
{
    one_line(name);
    printf(": ");
    print_result(r);
    printf(" status %d\n", PQtransactionStatus(db));
    fflush(stdout);
    PQclear(r);
}

static void
run(const char *sql)
{
    tell(sql, PQexec(db, sql));
}

static void
must(const char *sql)
{
    PGresult *r = PQexec(db, sql);
    if (PQresultStatus(r) != PGRES_COMMAND_OK && PQresultStatus(r) != PGRES_TUPLES_OK) {
        fprintf(stderr, "%s: %s", sql, PQerrorMessage(db));
        exit(1);
    }
    PQclear(r);
}

static void
check(int fine, const char *what)
{
    if (!fine) {
        fprintf(stderr, "%s: %s", what, PQerrorMessage(db));
        exit(1);
    }
}

/* The next results, until `count` have come or the pipeline's Sync: a NULL between the results of two statements is not counted. */
static void
results(const char *name, int count)
{
    for (int i = 0; i < count;) {
        PGresult *r = PQgetResult(db);
        if (!r)
            continue;
        printf("%s %d: ", name, i++);
        print_result(r);
        printf("\n");
        fflush(stdout);
        PQclear(r);
    }
}

/* ---- parts ---- */

static void
notice(void *arg, const PGresult *r)
{
    (void)arg;
    printf("notice: ");
    print_error(r);
    printf("\n");
}

static void
connecting(void)
{
    static const char *const NAMES[] = {"server_version", "server_encoding", "client_encoding", "is_superuser", "session_authorization", "DateStyle", "IntervalStyle", "TimeZone", "integer_datetimes",
                                        "standard_conforming_strings", "application_name", "in_hot_standby", "default_transaction_read_only"};
    section("connect");
    for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES; i++)
        printf("%s: %s\n", NAMES[i], PQparameterStatus(db, NAMES[i]));
    printf("versions: %d %d, used a password: %d\n", PQserverVersion(db), PQprotocolVersion(db), PQconnectionUsedPassword(db));
    static const char *const DSNS[] = {"password=wrong", "user=nobody-there", "dbname=no-such-database", "options='-c statement_timeout=12345'", "sslmode=require", "gssencmode=disable sslmode=disable", "target_session_attrs=standby",
                                       "target_session_attrs=prefer-standby", "channel_binding=require", "client_encoding=auto", "options='-c no_such=1'"};
    for (size_t i = 0; i < sizeof DSNS / sizeof *DSNS; i++) {
        PGconn *other = PQconnectdb(DSNS[i]);
        const char *said = PQerrorMessage(other), *cut = strstr(said, "failed: ");
        printf("%s: %d ", DSNS[i], PQstatus(other));
        one_line(cut ? cut + 8 : said);
        printf("\n");
        PQfinish(other);
    }
    printf("ping: %d\n", PQping(""));
}

/* value: as text, as the binary form that came, and back. */
static void
both_forms(const char *type, const char *text)
{
    char sql[128], name[512];
    snprintf(sql, sizeof sql, "SELECT $1::text::%s AS v", type);
    snprintf(name, sizeof name, "%s '%s'", type, text ? text : "NULL");
    PGresult *r = PQexecParams(db, sql, 1, NULL, &text, NULL, NULL, 1);
    printf("%s: ", name);
    print_result(r);
    printf("\n");
    if (PQresultStatus(r) == PGRES_TUPLES_OK && !PQgetisnull(r, 0, 0)) {
        const char *value = PQgetvalue(r, 0, 0);
        int length = PQgetlength(r, 0, 0), format = 1;
        Oid oid = PQftype(r, 0);
        snprintf(sql, sizeof sql, "SELECT $1::%s AS v", type);
        tell(name, PQexecParams(db, sql, 1, NULL, &value, &length, &format, 0));
        tell(name, PQexecParams(db, "SELECT $1 AS v", 1, &oid, &value, &length, &format, 0));
    }
    PQclear(r);
}

static void
types(void)
{
    char path[1024], line[1024];
    snprintf(path, sizeof path, "%s/values", getenv("LIB"));
    FILE *f = fopen(path, "r");
    if (!f)
        exit(1);
    section("types");
    while (fgets(line, sizeof line, f)) {
        if (*line == '#')
            continue;
        line[strcspn(line, "\n")] = 0;
        char *tab = strchr(line, '\t'), *value = tab ? strchr(tab + 1, '\t') : NULL;
        if (!value)
            exit(1);
        *tab = 0;
        both_forms(line, strcmp(value + 1, "\\N") == 0 ? NULL : value + 1);
    }
    fclose(f);
}

static void
statements(void)
{
    section("prepared statements");
    must("CREATE TABLE t (id integer PRIMARY KEY, a smallint, b varchar(10), c numeric(10,2), d date, e char, f bytea)");
    must("INSERT INTO t (id, a, b, c, d, f) VALUES (1, 1, 'a', 1.5, '2024-01-01', '\\x00'), (2, 2, 'b', 2, '2024-01-02', NULL), (3, NULL, NULL, NULL, NULL, NULL)");
    tell("prepare", PQprepare(db, "one", "SELECT id, a, b, c, d, f, id + 1, b || $2 FROM t WHERE id >= $1 ORDER BY id LIMIT $3", 0, NULL));
    tell("describe", PQdescribePrepared(db, "one"));
    const char *values[] = {"1", "x", "2"};
    tell("text", PQexecPrepared(db, "one", 3, values, NULL, NULL, 0));
    tell("binary", PQexecPrepared(db, "one", 3, values, NULL, NULL, 1));
    uint32_t id = __builtin_bswap32(2);
    const char *mixed[] = {(const char *)&id, "y", NULL};
    int lengths[] = {4, 0, 0}, formats[] = {1, 0, 0};
    tell("mixed", PQexecPrepared(db, "one", 3, mixed, lengths, formats, 0));
    lengths[0] = 3;
    tell("a cut integer", PQexecPrepared(db, "one", 3, mixed, lengths, formats, 0));
    tell("too few values", PQexecPrepared(db, "one", 2, values, NULL, NULL, 0));
    tell("the same name", PQprepare(db, "one", "SELECT 1", 0, NULL));
    tell("no such name", PQexecPrepared(db, "two", 0, NULL, NULL, NULL, 0));
    tell("describe of none", PQdescribePrepared(db, "two"));
    tell("describe portal of none", PQdescribePortal(db, "p"));
    tell("unnamed", PQprepare(db, "", "SELECT $1::integer + 1 AS v", 0, NULL));
    tell("unnamed again", PQprepare(db, "", "SELECT $1::text AS v", 0, NULL));
    tell("run it", PQexecPrepared(db, "", 1, values, NULL, NULL, 0));
    Oid declared[] = {23, 0, 1700, 25};
    const char *four[] = {"1", "2", "3", "4"};
    tell("declared types", PQexecParams(db, "SELECT $1, $2, $3, $4", 4, declared, four, NULL, NULL, 0));
    tell("two statements", PQexecParams(db, "SELECT 1; SELECT 2", 0, NULL, NULL, NULL, NULL, 0));
    tell("none", PQexecParams(db, "", 0, NULL, NULL, NULL, NULL, 0));
    tell("prepare none", PQprepare(db, "empty", "", 0, NULL));
    tell("describe it", PQdescribePrepared(db, "empty"));
    tell("run it", PQexecPrepared(db, "empty", 0, NULL, NULL, NULL, 0));
    tell("prepare INSERT", PQprepare(db, "insert", "INSERT INTO t (id, a, b, c, d, f) VALUES ($1, $2, $3, $4, $5, $6)", 0, NULL));
    tell("describe it", PQdescribePrepared(db, "insert"));
    tell("prepare RETURNING", PQprepare(db, "returning", "UPDATE t SET b = $1 WHERE id = $2 RETURNING id, b, c, upper(b)", 0, NULL));
    tell("describe it", PQdescribePrepared(db, "returning"));
    tell("prepare SHOW", PQprepare(db, "show", "SHOW server_encoding", 0, NULL));
    tell("describe it", PQdescribePrepared(db, "show"));
    tell("run it", PQexecPrepared(db, "show", 0, NULL, NULL, NULL, 1));
    run("SELECT FROM t");
    run("");
    run("SELECT 1 AS a; SELECT 2 AS b");
    section("re-preparation after DDL");
    must("CREATE TABLE again (a integer)");
    tell("prepare", PQprepare(db, "again", "SELECT * FROM again", 0, NULL));
    must("DROP TABLE again");
    tell("dropped", PQexecPrepared(db, "again", 0, NULL, NULL, NULL, 0));
    must("CREATE TABLE again (a integer)");
    tell("the same", PQexecPrepared(db, "again", 0, NULL, NULL, NULL, 0));
    must("DROP TABLE again");
    must("CREATE TABLE again (a integer, b text)");
    tell("another", PQexecPrepared(db, "again", 0, NULL, NULL, NULL, 0));
    tell("describe", PQdescribePrepared(db, "again"));
}

static void
rows_one_by_one(void)
{
    section("single-row mode");
    must("CREATE TABLE numbers (i integer PRIMARY KEY, t text)");
    must("BEGIN");
    PGresult *r = PQexec(db, "COPY numbers FROM STDIN");
    check(PQresultStatus(r) == PGRES_COPY_IN, "COPY");
    PQclear(r);
    for (int i = 0; i < 3000; i++) {
        char line[64];
        int n = snprintf(line, sizeof line, "%d\tt%d\n", i, i);
        check(PQputCopyData(db, line, n) == 1, "copy data");
    }
    check(PQputCopyEnd(db, NULL) == 1, "copy end");
    while ((r = PQgetResult(db)))
        tell("copied", r);
    must("COMMIT");
    static const char *const QUERIES[] = {"SELECT i FROM numbers ORDER BY i", "SELECT 100 / (50 - i) FROM numbers WHERE i < 60 ORDER BY i", "SELECT i FROM numbers WHERE false", "SELECT 1; SELECT 2, 3"};
    for (int q = 0; q < 4; q++) {
        long count = 0, sum = 0;
        check(PQsendQuery(db, QUERIES[q]) && PQsetSingleRowMode(db), "send");
        while ((r = PQgetResult(db))) {
            if (PQresultStatus(r) == PGRES_SINGLE_TUPLE) {
                count += PQntuples(r);
                sum += atol(PQgetvalue(r, 0, 0));
                PQclear(r);
            } else
                tell(QUERIES[q], r);
        }
        printf("rows %ld sum %ld\n", count, sum);
    }
}

static void
send(const char *sql, int n, const char *const *values)
{
    check(PQsendQueryParams(db, sql, n, NULL, values, NULL, NULL, 0), sql);
}

static void
pipelines(void)
{
    section("pipeline");
    const char *one[] = {"1"}, *two[] = {"2"}, *zero[] = {"0"};
    check(PQenterPipelineMode(db), "pipeline");
    send("SELECT $1::integer AS v", 1, one);
    send("SELECT 10 / $1::integer AS v", 1, two);
    check(PQpipelineSync(db), "sync");
    results("two and a sync", 4); /* the first comes as a single row and its end: left over from the mode before */
    send("SELECT 10 / $1::integer AS v", 1, zero);
    send("SELECT $1::text AS v", 1, one);
    send("INSERT INTO numbers VALUES (100000)", 0, NULL);
    check(PQpipelineSync(db), "sync");
    send("SELECT count(*) FROM numbers", 0, NULL);
    check(PQpipelineSync(db), "sync");
    results("an error", 4);
    results("after it", 2);
    printf("pipeline status %d\n", PQpipelineStatus(db));
    send("INSERT INTO numbers VALUES (100001)", 0, NULL);
    send("INSERT INTO numbers VALUES (100001)", 0, NULL);
    check(PQpipelineSync(db), "sync");
    results("one implicit transaction", 3);
    send("SELECT count(*) FROM numbers WHERE i > 100000", 0, NULL);
    check(PQpipelineSync(db), "sync");
    results("taken back", 2);
    send("BEGIN", 0, NULL);
    send("INSERT INTO numbers VALUES (100002)", 0, NULL);
    check(PQpipelineSync(db), "sync");
    send("COMMIT", 0, NULL);
    check(PQpipelineSync(db), "sync");
    results("BEGIN to COMMIT", 5);
    section("pipeline with flushes");
    send("SELECT $1::integer + 1 AS v", 1, one);
    check(PQsendFlushRequest(db) && PQflush(db) == 0, "flush");
    results("answered before Sync", 1);
    send("SELECT $1::integer + 2 AS v", 1, one);
    send("SELECT nothing", 0, NULL);
    check(PQsendFlushRequest(db) && PQflush(db) == 0, "flush");
    results("an error before Sync", 2);
    send("SELECT 3", 0, NULL);
    check(PQpipelineSync(db), "sync");
    results("the rest", 2);
    section("pipeline of prepared statements");
    check(PQsendPrepare(db, "p", "SELECT i, t FROM numbers WHERE i < $1 ORDER BY i", 0, NULL), "prepare");
    check(PQsendDescribePrepared(db, "p"), "describe");
    for (int i = 0; i < 3; i++)
        check(PQsendQueryPrepared(db, "p", 1, i == 1 ? one : two, NULL, NULL, i == 2), "run");
    check(PQsendPrepare(db, "p", "SELECT 1", 0, NULL), "prepare");
    check(PQsendQueryPrepared(db, "p", 1, one, NULL, NULL, 0), "run");
    check(PQpipelineSync(db), "sync");
    results("prepared", 8);
    section("long pipelines");
    int queued = 0, got = 0;
    for (int round = 0; round < 50; round++) {
        for (int i = 0; i < 100; i++, queued++)
            send("SELECT $1::integer", 1, one);
        check(PQpipelineSync(db) && PQflush(db) >= 0, "sync");
    }
    for (int syncs = 0; syncs < 50;) {
        PGresult *r = PQgetResult(db);
        got += r && PQresultStatus(r) == PGRES_TUPLES_OK;
        syncs += r && PQresultStatus(r) == PGRES_PIPELINE_SYNC;
        PQclear(r);
    }
    printf("queued %d got %d\n", queued, got);
    check(PQexitPipelineMode(db), "out of the pipeline");
}

static void
put(const char *sql, const char *data, const char *give_up)
{
    PGresult *r = PQexec(db, sql);
    int in = PQresultStatus(r) == PGRES_COPY_IN;
    printf("%s: %s %d fields", sql, PQresStatus(PQresultStatus(r)), PQnfields(r));
    for (int i = 0; in && i < PQnfields(r); i++)
        printf(" %d", PQfformat(r, i));
    printf(" %d\n", in ? PQbinaryTuples(r) : 0);
    if (!in) {
        tell(sql, r);
        return;
    }
    PQclear(r);
    check(PQputCopyData(db, data, (int)strlen(data)) == 1 && PQputCopyEnd(db, give_up) == 1, sql);
    while ((r = PQgetResult(db)))
        tell(sql, r);
}

static void
get(const char *sql)
{
    PGresult *r = PQexec(db, sql);
    char *line;
    int n;
    printf("%s: %s %d fields\n", sql, PQresStatus(PQresultStatus(r)), PQnfields(r));
    if (PQresultStatus(r) != PGRES_COPY_OUT) {
        tell(sql, r);
        return;
    }
    PQclear(r);
    while ((n = PQgetCopyData(db, &line, 0)) > 0) {
        printf("row: ");
        for (int i = 0; i < n; i++)
            if (line[i] >= ' ' && line[i] < 127)
                putchar(line[i]);
            else
                printf("\\%02x", (unsigned char)line[i]);
        printf("\n");
        PQfreemem(line);
    }
    while ((r = PQgetResult(db)))
        tell(sql, r);
}

static void
copying(void)
{
    section("COPY");
    must("CREATE TABLE copied (a integer PRIMARY KEY, b text, c numeric)");
    put("COPY copied FROM STDIN", "1\tä\\tb\t1.50\n2\t\\N\t\\N\n\\.\n", NULL);
    put("COPY copied (b, a) FROM STDIN (FORMAT csv, HEADER)", "b,a\n\"x,\"\"y\"\"\nz\",3\n,4\n", NULL);
    put("COPY copied FROM STDIN", "5\tx\t1\n", "given up");
    put("COPY copied FROM STDIN", "5\tx\t1\nsix\tx\t1\n", NULL);
    put("COPY copied FROM STDIN", "", NULL);
    put("COPY nowhere FROM STDIN", "", NULL);
    put("COPY copied FROM STDIN; SELECT 'then'", "7\tx\t1\n", NULL);
    get("COPY copied TO STDOUT");
    get("COPY (SELECT a, b FROM copied ORDER BY a DESC) TO STDOUT (FORMAT csv, HEADER)");
    get("COPY copied (a, c) TO STDOUT (FORMAT binary)");
    get("COPY (SELECT 1 / (a - 1) FROM copied ORDER BY a) TO STDOUT"); /* the first row: rows before an error may come or not */
    get("SELECT 'before'; COPY (SELECT 1) TO STDOUT; SELECT 'after'");
    section("COPY when the server must wait for the client");
    PGresult *r = PQexec(db, "COPY (SELECT i, t, t, t FROM numbers) TO STDOUT");
    PQclear(r);
    char *line;
    int n, rows = 0;
    usleep(100000);
    while ((n = PQgetCopyData(db, &line, 0)) > 0) {
        rows++;
        PQfreemem(line);
    }
    printf("rows %d\n", rows);
    while ((r = PQgetResult(db)))
        tell("end", r);
}

static void
interrupted(void)
{
    char text[256];
    PGresult *r;
    section("cancel");
    PGcancel *cancel = PQgetCancel(db);
    check(PQsendQuery(db, "SELECT pg_sleep(100)"), "send");
    usleep(300000);
    printf("PQcancel: %d\n", PQcancel(cancel, text, sizeof text));
    while ((r = PQgetResult(db)))
        tell("cancelled", r);
    printf("PQcancel with nothing running: %d\n", PQcancel(cancel, text, sizeof text));
    usleep(200000);
    run("SELECT 'still here'");
    must("BEGIN");
    check(PQsendQuery(db, "SELECT pg_sleep(100) FROM numbers"), "send");
    PQfreeCancel(cancel);
    cancel = PQgetCancel(db);
    usleep(300000);
    PQcancel(cancel, text, sizeof text);
    while ((r = PQgetResult(db)))
        tell("cancelled in a transaction", r);
    run("SELECT 1");
    run("ROLLBACK");
    check(PQsendQuery(db, "COPY (SELECT a.i, b.i FROM numbers a, numbers b) TO STDOUT"), "send");
    r = PQgetResult(db);
    printf("%s\n", PQresStatus(PQresultStatus(r)));
    PQclear(r);
    PQcancel(cancel, text, sizeof text);
    char *line;
    while (PQgetCopyData(db, &line, 0) > 0)
        PQfreemem(line);
    while ((r = PQgetResult(db)))
        tell("cancelled COPY", r);
    PQfreeCancel(cancel);
    section("asynchronous");
    check(PQsetnonblocking(db, 1) == 0 && PQsendQuery(db, "SELECT pg_sleep(0.1) IS NULL; SELECT 2"), "send");
    while (PQflush(db) > 0)
        usleep(1000);
    int waits = 0;
    for (;;) {
        while (PQisBusy(db)) {
            struct pollfd p = {.fd = PQsocket(db), .events = POLLIN};
            poll(&p, 1, -1);
            waits = 1;
            check(PQconsumeInput(db), "input");
        }
        if (!(r = PQgetResult(db)))
            break;
        tell("result", r);
    }
    printf("waited %d\n", waits);
    PQsetnonblocking(db, 0);
    PGconn *other = PQconnectStart("");
    PostgresPollingStatusType state = PGRES_POLLING_WRITING;
    while (state != PGRES_POLLING_OK && state != PGRES_POLLING_FAILED) {
        struct pollfd p = {.fd = PQsocket(other), .events = state == PGRES_POLLING_READING ? POLLIN : POLLOUT};
        poll(&p, 1, -1);
        state = PQconnectPoll(other);
    }
    printf("connected: %d\n", PQstatus(other) == CONNECTION_OK);
    PQreset(other);
    printf("reset: %d\n", PQstatus(other) == CONNECTION_OK);
    PQfinish(other);
}

static void
rest(void)
{
    section("notices");
    PQsetNoticeReceiver(db, notice, NULL);
    run("DROP TABLE IF EXISTS nowhere");
    run("CREATE TABLE IF NOT EXISTS t (a integer)");
    run("COMMIT");
    run("BEGIN");
    run("BEGIN");
    run("ROLLBACK");
    section("errors");
    must("CREATE TABLE ref (id integer PRIMARY KEY, u integer UNIQUE, n integer NOT NULL, s smallint, v varchar(3), CONSTRAINT named UNIQUE (s, n))");
    must("INSERT INTO ref VALUES (1, 1, 1, 1, 'a')");
    static const char *const WRONG[] = {"INSERT INTO ref VALUES (1, 2, 3, 4)", "INSERT INTO ref VALUES (2, 1, 3, 4)", "INSERT INTO ref VALUES (2, 2, 1, 1)", "INSERT INTO ref VALUES (2, 2, NULL)",
                                        "INSERT INTO ref VALUES (2, 2, 2, 40000)", "INSERT INTO ref VALUES (2, 2, 2, 2, 'abcd')", "SELECT * FROM nowhere", "SELECT 1/0", "SELECT 'ä', nothing FROM ref", "SELEC"};
    for (size_t i = 0; i < sizeof WRONG / sizeof *WRONG; i++)
        run(WRONG[i]);
    section("many parameters, large values");
    enum { MANY = 1000, LARGE = 30000000 };
    static char sql[MANY * 16];
    static const char *values[MANY];
    size_t at = (size_t)sprintf(sql, "SELECT 0");
    for (int i = 0; i < MANY; i++) {
        at += (size_t)sprintf(sql + at, " + $%d::int4", i + 1);
        values[i] = "7";
    }
    tell("1,000 parameters", PQexecParams(db, sql, MANY, NULL, values, NULL, NULL, 0));
    char *large = malloc(LARGE + 1);
    memset(large, 'x', LARGE);
    large[LARGE] = 0;
    const char *value[] = {large};
    for (int binary = 0; binary < 2; binary++) {
        PGresult *r = PQexecParams(db, "SELECT $1::text", 1, NULL, value, NULL, NULL, binary);
        printf("large: %d %d\n", PQgetlength(r, 0, 0), PQgetlength(r, 0, 0) == LARGE && memcmp(PQgetvalue(r, 0, 0), large, LARGE) == 0);
        PQclear(r);
    }
    free(large);
    section("transactions and savepoints");
    static const char *const STEPS[] = {"BEGIN", "INSERT INTO ref VALUES (5, 5, 5)", "SAVEPOINT a", "INSERT INTO ref VALUES (5, 5, 5)", "SELECT 1", "ROLLBACK TO a", "RELEASE a", "COMMIT", "SELECT count(*) FROM ref",
                                        "BEGIN; INSERT INTO ref VALUES (6, 6, 6); SELECT 1/0; COMMIT", "SELECT 1", "COMMIT", "SELECT count(*) FROM ref", "SELECT 1; INSERT INTO ref VALUES (7, 7, 7); SELECT 1/0",
                                        "SELECT count(*) FROM ref"};
    for (size_t i = 0; i < sizeof STEPS / sizeof *STEPS; i++)
        run(STEPS[i]);
}

int
main(void)
{
    setlocale(LC_CTYPE, ""); /* client_encoding=auto goes by it */
    db = PQconnectdb("");
    check(PQstatus(db) == CONNECTION_OK, "connect");
    connecting();
    types();
    statements();
    rows_one_by_one();
    pipelines();
    copying();
    interrupted();
    rest();
    PQfinish(db);
    return 0;
}
