"""psycopg 3: extended queries with parameters in text and binary, prepared after five runs, pipelines, server cursors, COPY, types both ways."""
import datetime, decimal, os, sys, threading, uuid

sys.path.insert(0, os.environ["LIB"])
from facts import asking, digest, fact, section, values  # noqa: E402
import psycopg  # noqa: E402
from psycopg import pq, sql as S  # noqa: E402
from psycopg.rows import dict_row  # noqa: E402
from psycopg.types.json import Json, Jsonb  # noqa: E402


def describe(e):
    if not isinstance(e, psycopg.Error):
        return f"{type(e).__name__} in the client" if isinstance(e, (ValueError, OverflowError, TypeError)) else None
    if e.sqlstate is None:
        return f"{type(e).__name__} in the client: {str(e).splitlines()[0]}"
    d = e.diag
    fields = [f"{n}={getattr(d, n)}" for n in ("severity", "message_primary", "message_detail", "message_hint", "statement_position", "schema_name", "table_name",
                                               "column_name", "datatype_name", "constraint_name") if getattr(d, n) is not None]
    return f"{type(e).__name__} {e.sqlstate} {' '.join(fields)}"


ask = asking(describe)


def run(query, args=None, **how):
    with db.cursor() as c:
        c.execute(query, args, **how)
        return results(c)


def results(c):
    found = []
    while True:
        if c.description is None:
            found.append(c.statusmessage)
        else:
            found.append(f"{[(k.name, k.type_code, k.internal_size, k.precision, k.scale) for k in c.description]} {c.fetchall()} {c.statusmessage}")
        if not c.nextset():
            return " then ".join(found)


def tell(query, args=None, **how):
    ask(" ".join([query, *([repr(args)] if args is not None else []), *(f"{k}={v}" for k, v in how.items())]), run, query, args, **how)


section("connect")
db = psycopg.connect("", autocommit=True)
for name in ("server_version", "server_encoding", "client_encoding", "is_superuser", "session_authorization", "DateStyle", "IntervalStyle", "TimeZone", "integer_datetimes",
             "standard_conforming_strings", "in_hot_standby", "default_transaction_read_only", "application_name"):
    fact(name, db.info.parameter_status(name))
fact("info", (db.info.server_version, db.info.user, db.info.dbname, db.info.encoding, str(db.info.timezone), db.info.status.name, db.info.transaction_status.name))


def refused(**more):
    try:
        with psycopg.connect("", **more):
            return "connected"
    except psycopg.OperationalError as e:
        return str(e).strip().rsplit("failed: ", 1)[-1]


fact("wrong password", refused(password="wrong"))
fact("no such user", refused(user="nobody-there"))
fact("no such database", refused(dbname="no-such-database"))
fact("read-write asked for", refused(target_session_attrs="read-write"))
fact("primary asked for", refused(target_session_attrs="primary"))

for form, binary in (("text", False), ("binary", True)):
    section(f"types, results in {form}")
    for t, text in values():
        tell(f"SELECT %s::{t} AS v", (text,), binary=binary)

PYTHON = [True, False, None, 0, -1, 127, 32767, 32768, 2**31 - 1, 2**31, 2**63 - 1, -2**63, 2**64, 10**30, 1.5, -0.0, float("nan"), float("inf"), 1e308, decimal.Decimal("1.50"),
          decimal.Decimal("-1E-10"), decimal.Decimal("1E+20"), decimal.Decimal("NaN"), "abc", "", "a'b\\c", "ä€🐘", b"", b"\0\xff'\\", bytearray(b"q"),
          datetime.date(2024, 2, 29), datetime.date.max, datetime.time(1, 2, 3, 4), datetime.time(1, 2, 3, tzinfo=datetime.timezone(datetime.timedelta(hours=-8))),
          datetime.datetime(2024, 2, 29, 1, 2, 3, 456789), datetime.datetime(2024, 2, 29, 1, 2, 3, tzinfo=datetime.timezone(datetime.timedelta(hours=5, minutes=30))),
          datetime.timedelta(days=-1, seconds=5), uuid.UUID("a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"), Json({"a": [1, None]}), Jsonb({"b": "ä"})]
for form, mark in (("auto", "%s"), ("text", "%t"), ("binary", "%b")):
    section(f"types, parameters in {form}")
    for value in PYTHON:
        name = f"{type(value).__name__} {value!r}"
        ask(name, run, f"SELECT {mark} AS v", (value,), binary=mark == "%b")

section("types, stored")
run("CREATE TABLE stored (id integer PRIMARY KEY, b boolean, i2 smallint, i8 bigint, f4 real, f8 double precision, n numeric(12,3), t text, v varchar(10), d date, ti time, "
    "tt timetz, ts timestamp, tz timestamptz, iv interval, u uuid, by bytea, j json, jb jsonb)")
row = (True, -3, 2**40, 1.5, 0.1, decimal.Decimal("12.345"), "ä", "v", datetime.date(2024, 2, 29), datetime.time(12), datetime.time(12, tzinfo=datetime.timezone.utc),
       datetime.datetime(2024, 1, 2, 3, 4, 5, 6), datetime.datetime(2024, 1, 2, 3, 4, 5, 6, datetime.timezone.utc), datetime.timedelta(1, 2, 3),
       uuid.UUID("a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"), b"\0\1\xff", Json({"a": 1}), Jsonb({"b": [2]}))
for i, mark in enumerate(("%s", "%t", "%b")):
    tell(f"INSERT INTO stored VALUES ({mark}, " + ", ".join([mark] * len(row)) + ") RETURNING id, n, by, ts", (i, *row))
    tell(f"INSERT INTO stored VALUES ({mark}, " + ", ".join([mark] * len(row)) + ")", (i + 10, *[None] * len(row)))
for binary in (False, True):
    tell("SELECT * FROM stored ORDER BY id", binary=binary)

section("inference of parameters")
run("CREATE TABLE t (id integer PRIMARY KEY, a smallint, b text, c numeric, d date)")
run("INSERT INTO t VALUES (1, 1, 'a', 1, '2024-01-01'), (2, 2, 'b', 2, '2024-01-02'), (3, NULL, NULL, NULL, NULL)")
for query, args in (("SELECT id FROM t ORDER BY id LIMIT %s OFFSET %s", (2, 1)), ("SELECT id FROM t WHERE b = %s", ("a",)), ("SELECT id FROM t WHERE id = %s", ("2",)),
                    ("SELECT id FROM t WHERE d = %s", ("2024-01-02",)), ("SELECT coalesce(%s, b) FROM t ORDER BY id", ("x",)), ("SELECT %s || b FROM t WHERE id = 1", ("x",)),
                    ("SELECT %s || 'b'", ("x",)), ("SELECT %s + 1", (5,)), ("SELECT %s + 1", ("5",)), ("SELECT -%s", (5,)), ("SELECT %s", (None,)), ("SELECT %s", ("text",)),
                    ("SELECT %s = %s", ("a", "b")), ("SELECT id FROM t WHERE id IN (%s, %s) ORDER BY id", (1, 3)), ("SELECT id FROM t WHERE id BETWEEN %s AND %s ORDER BY id", (1, 2)),
                    ("SELECT CASE WHEN %s THEN %s ELSE b END FROM t WHERE id = 1", (True, "y")), ("UPDATE t SET a = %s, b = %s WHERE id = %s", (7, None, 1)),
                    ("INSERT INTO t VALUES (%s, %s, %s, %s, %s) RETURNING *", (9, 3, "z", decimal.Decimal("1.5"), datetime.date(2024, 5, 6))),
                    ("SELECT %s::date - %s::date", ("2024-03-01", "2024-02-01")), ("SELECT substr(%s, %s)", ("abc", 2)), ("SELECT id FROM t WHERE b LIKE %s", ("a%",)),
                    ("SELECT upper(%s)", ("ä",)), ("SELECT id FROM t WHERE a IS NOT DISTINCT FROM %s ORDER BY id", (None,)), ("SELECT round(%s, 1)", (decimal.Decimal("2.25"),)),
                    ("SELECT greatest(%s, %s)", (1, 2.5)), ("DELETE FROM t WHERE id = %s", (9,)), ("SELECT %s::text::integer + %s", ("4", 1)),
                    ("VALUES (%s, %s), (%s, %s)", (1, "a", 2, "b")), ("SELECT count(*) FROM t WHERE (id, b) = (%s, %s)", (2, "b")), ("SELECT %s::int2 + %s::int8", (1, 2)),
                    ("SELECT now() - %s > %s", (datetime.timedelta(days=1), datetime.datetime(2000, 1, 1, tzinfo=datetime.timezone.utc))), ("SELECT extract(year FROM %s)", (datetime.date(2024, 5, 6),))):
    tell(query, args)

section("prepared statements")
for i in range(7):
    tell("SELECT id, b FROM t WHERE id = %s", (i % 3 + 1,))
tell("SELECT id, %s FROM t WHERE id = 2", (5,), prepare=True)
tell("SELECT id, %s FROM t WHERE id = 2", ("five",), prepare=True)
tell("SELECT * FROM t WHERE id = %s", (2,), prepare=True)
for i in range(120):  # more statements than psycopg keeps: it deallocates the oldest
    run(f"SELECT {i}, %s::integer", (i,), prepare=True)
tell("SELECT id, b FROM t WHERE id = %s", (1,))

section("re-preparation after DDL")
run("CREATE TABLE again (a integer)")
tell("SELECT * FROM again WHERE a > %s", (0,), prepare=True)
run("DROP TABLE again")
tell("SELECT * FROM again WHERE a > %s", (0,), prepare=True)
run("CREATE TABLE again (a integer)")
run("INSERT INTO again VALUES (1)")
tell("SELECT * FROM again WHERE a > %s", (0,), prepare=True)
run("DROP TABLE again")
run("CREATE TABLE again (a bigint, b text)")
run("INSERT INTO again VALUES (1, 'one')")
tell("SELECT * FROM again WHERE a > %s", (0,), prepare=True)
tell("SELECT * FROM again WHERE a > %s ", (0,), prepare=True)
tell("DEALLOCATE ALL")
db.prepare_threshold = 5

section("transactions")


def nested():
    with db.transaction() as outer:
        run("INSERT INTO t VALUES (20)")
        try:
            with db.transaction():
                run("INSERT INTO t VALUES (20)")
        except psycopg.errors.UniqueViolation as e:
            fact("inner", e.sqlstate)
        fact("status", db.info.transaction_status.name)
        with db.transaction() as inner:
            run("INSERT INTO t VALUES (21)")
            raise psycopg.Rollback(inner)
        run("INSERT INTO t VALUES (22)")
    return run("SELECT id FROM t WHERE id >= 20 ORDER BY id")


ask("nested", nested)
db.autocommit = False
for level in psycopg.IsolationLevel:
    db.isolation_level, db.read_only, db.deferrable = level, level == psycopg.IsolationLevel.SERIALIZABLE, False
    for name in ("isolation", "read_only", "deferrable"):
        tell(f"SHOW transaction_{name}")
    tell("DELETE FROM t WHERE id = %s", (22,))
    fact("status", db.info.transaction_status.name)
    tell("SELECT 1")
    db.rollback()
db.isolation_level = db.read_only = db.deferrable = None
tell("SELECT 1/%s", (0,))
tell("SELECT 1")
db.commit()
fact("status", db.info.transaction_status.name)
db.autocommit = True

section("two-phase commit")
db.autocommit = False
ask("begin", lambda: db.tpc_begin("drivers"))
ask("prepare", lambda: db.tpc_prepare())
fact("status", db.info.transaction_status.name)  # a PREPARE TRANSACTION that fails has ended the transaction
ask("rollback", lambda: db.tpc_rollback())
db.close()
db = psycopg.connect("", autocommit=True)

section("errors")
run("CREATE TABLE ref (id integer PRIMARY KEY, u integer UNIQUE, n integer NOT NULL, s smallint, v varchar(3), CONSTRAINT named UNIQUE (s, n))")
run("INSERT INTO ref VALUES (1, 1, 1, 1, 'a')")
for query, args in (("INSERT INTO ref VALUES (%s, 2, 3, 4)", (1,)), ("INSERT INTO ref VALUES (2, %s, 3, 4)", (1,)), ("INSERT INTO ref VALUES (2, 2, %s, %s)", (1, 1)),
                    ("INSERT INTO ref VALUES (2, 2, %s)", (None,)), ("INSERT INTO ref VALUES (2, 2, 2, %s)", (40000,)), ("INSERT INTO ref VALUES (2, 2, 2, 2, %s)", ("abcd",)),
                    ("SELECT * FROM nowhere WHERE a = %s", (1,)), ("SELECT 1/%s", (0,)), ("SELECT %s::integer", ("x",)), ("SELECT %s::date", ("2024-13-01",)),
                    ("SELECT %s +", (1,)), ("SELECT nosuch(%s)", (1,)), ("SELECT id FROM ref WHERE id = %s", ("a",)), ("SELECT id FROM ref WHERE v = %s", (1,)), ("SELECT %s; SELECT %s", (1, 2)),
                    ("SELECT %s::smallint", (40000,)), ("", None), (";", None), ("SELECT 1; SELECT 1/0", None), ("SELECT 1; SELECT 'two'; CREATE TABLE three (a integer)", None)):
    tell(query, args)

section("server cursors")
with db.cursor() as c:
    c.execute("CREATE TABLE numbers (i integer PRIMARY KEY, t text)")
    c.executemany("INSERT INTO numbers VALUES (%s, %s)", [(i, f"t{i}") for i in range(3000)])
    fact("rows", c.rowcount)


def walk(binary):
    with db.transaction(), db.cursor("walk") as c:
        c.itersize = 700
        c.execute("SELECT i, t FROM numbers WHERE i >= %s ORDER BY i", (10,), binary=binary)
        rows = list(c)
        return len(rows), rows[0], rows[-1], [k.name for k in c.description]


def scroll():
    with db.transaction(), db.cursor("to and fro", scrollable=True) as c:
        c.execute("SELECT i FROM numbers ORDER BY i")
        found = [c.fetchone(), c.fetchmany(3)]
        c.scroll(-2)
        found.append(c.fetchone())
        c.scroll(2990, mode="absolute")
        return found + [c.fetchall()]


def held():
    with db.transaction():
        c = db.cursor("held", withhold=True)
        c.execute("SELECT i FROM numbers ORDER BY i DESC")
    found = c.fetchmany(2)
    c.close()
    return found


ask("walk, text", walk, False)
ask("walk, binary", walk, True)
ask("scroll", scroll)
ask("held", held)

section("rows one by one")


def stream():
    with db.cursor() as c:
        rows = list(c.stream("SELECT i, t FROM numbers WHERE i < %s ORDER BY i", (1000,)))
        return len(rows), rows[-1]


ask("stream", stream)
ask("stream of an error", lambda: list(db.cursor().stream("SELECT 10 / (5 - i) FROM numbers WHERE i < 8 ORDER BY i")))
tell("SELECT 'after'")

section("pipeline")


def pipeline():
    found = []
    with db.pipeline() as p:
        cursors = [db.execute("SELECT %s::integer * 2", (i,)) for i in range(50)]
        found.append([c.fetchone()[0] for c in cursors][-3:])
        db.execute("INSERT INTO t VALUES (%s)", (50,))
        p.sync()
        cursors = [db.execute("SELECT count(*) FROM t WHERE id = %s", (50,)), db.execute("SELECT 'x'")]
        found += [c.fetchone() for c in cursors]
    return found


def failing():
    with psycopg.connect("", autocommit=True) as other, other.pipeline():  # this version of psycopg leaves a connection out of step
        for i in (60, 60, 61):
            other.execute("INSERT INTO t VALUES (%s)", (i,))


def transaction():
    with db.pipeline(), db.transaction():
        db.execute("INSERT INTO t VALUES (%s)", (70,))
        with db.transaction():
            db.execute("INSERT INTO t VALUES (%s)", (71,))
    return run("SELECT id FROM t WHERE id >= 60 ORDER BY id")


def prepared():
    with db.pipeline(), db.cursor() as c:
        c.executemany("INSERT INTO numbers VALUES (%s, %s) RETURNING i", [(10000 + i, "p") for i in range(1000)], returning=True)
        n = 0
        while True:
            n += c.fetchone()[0]
            if not c.nextset():
                return n


ask("pipeline", pipeline)
ask("failing", failing)
tell("SELECT id FROM t WHERE id >= 60")
ask("transaction", transaction)
ask("executemany with results", prepared)
ask("executemany", lambda: db.cursor().executemany("DELETE FROM numbers WHERE i = %s", [(10000 + i,) for i in range(1000)]))
ask("executemany fails at the third", lambda: db.cursor().executemany("INSERT INTO numbers VALUES (%s)", [(20000,), (20001,), (20000,), (20002,)]))
tell("SELECT count(*) FROM numbers")

section("COPY")
run("CREATE TABLE copied (a integer, b text, c numeric, d date)")


def copy_rows(query, types=None):
    with db.cursor() as c:
        with c.copy(query) as copy:
            if types:
                copy.set_types(types)
            for i in range(3):
                copy.write_row((i, f"ä\t\\{i}" if i else None, decimal.Decimal(i) / 4, datetime.date(2024, 1, 1 + i)))
        return c.statusmessage, c.rowcount


def copy_out(query, types=None):
    with db.cursor() as c, c.copy(query) as copy:
        if types:
            copy.set_types(types)
            return list(copy.rows())
        return b"".join(bytes(x) for x in copy)


def copy_broken():
    with db.cursor() as c, c.copy("COPY copied FROM STDIN") as copy:
        copy.write("1\tx\t1\t2024-01-01\n")
        raise ValueError("given up")


def copy_wrong(data):
    with db.cursor() as c:
        with c.copy("COPY copied FROM STDIN") as copy:
            copy.write(data)


TYPES = ["int4", "text", "numeric", "date"]
ask("in, text", copy_rows, "COPY copied FROM STDIN")
ask("in, binary", copy_rows, "COPY copied (a, b, c, d) FROM STDIN (FORMAT binary)", TYPES)
for query, types in (("COPY copied TO STDOUT", None), ("COPY copied TO STDOUT", TYPES), ("COPY copied TO STDOUT (FORMAT binary)", None), ("COPY copied TO STDOUT (FORMAT binary)", TYPES),
                     ("COPY (SELECT a, b FROM copied ORDER BY a, b) TO STDOUT (FORMAT csv, HEADER)", None)):
    ask(f"{query} {types}", copy_out, query, types)
ask("the client gives up", copy_broken)
ask("a wrong row", copy_wrong, "x\ty\tz\tw\n")
ask("too many columns", copy_wrong, "1\ty\t1\t2024-01-01\t5\n")
tell("SELECT count(*) FROM copied")

section("cancel and timeouts")


def cancelled():
    other = threading.Timer(0.3, db.cancel)
    other.start()
    try:
        run("SELECT pg_sleep(%s)", (100,))
    finally:
        other.join()


ask("cancel", cancelled)
tell("SELECT 'still here'")
run("SET statement_timeout = 100")
tell("SELECT pg_sleep(%s)", (100,))
run("RESET statement_timeout")

section("notices")
db.add_notice_handler(lambda d: fact("notice", f"{d.severity} {d.sqlstate} {d.message_primary} {d.message_detail}"))
for query in ("DROP TABLE IF EXISTS nowhere", "CREATE TABLE IF NOT EXISTS ref (a integer)", "COMMIT"):
    tell(query)

section("many parameters, large values")
n = 1000
ask("1,000 parameters", run, "SELECT " + " + ".join(["%s"] * n) + " AS v", list(range(n)))
ask("1,000 parameters of INSERT", run, "INSERT INTO copied (a, b) VALUES " + ", ".join(["(%s, %s)"] * 500), [x for i in range(500) for x in (i, f"ä{i}")])
text, raw = "äx€z" * 5000000, bytes(range(256)) * 80000
for binary in (False, True):
    with db.cursor(binary=binary) as c:
        t, b = c.execute("SELECT %s::text, %s::bytea", (text, raw)).fetchone()
        fact("text", digest(t))
        fact("bytea", digest(b))
        fact("same", (t == text, b == raw))

section("reading into dictionaries")
with db.cursor(row_factory=dict_row) as c:
    fact("dict", c.execute("SELECT 1 AS a, 'x' AS b, NULL AS c").fetchall())
ask("composed", run, S.SQL("SELECT {} AS {}").format(S.Literal("a'b\\c"), S.Identifier('odd "name')))

section("listening")
ask("LISTEN", run, "LISTEN channel")
ask("NOTIFY", run, "NOTIFY channel, 'payload'")
ask("received", lambda: [(n.channel, n.payload, n.pid == db.info.backend_pid) for n in db.notifies(timeout=20, stop_after=1)])

section("arrays")
for value in ([1, 2], ["a", None, 'q"x'], [True], [1.5], [datetime.date(2024, 1, 2)], [[1, 2], [3, 4]], []):
    for mark in ("%t", "%b"):
        tell(f"SELECT {mark} AS v", (value,), binary=mark == "%b")
tell("SELECT id FROM t WHERE id = ANY(%s) ORDER BY id", ([1, 2],))
section("type lookups")
ask("TypeInfo", lambda: str(psycopg.types.TypeInfo.fetch(db, "integer").oid))
ask("no such type", lambda: psycopg.types.TypeInfo.fetch(db, "no_such_type"))
