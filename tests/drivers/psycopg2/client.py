"""psycopg2: simple queries with the client's literals, named cursors, COPY, cancel, errors with their fields, types both ways."""
import datetime, decimal, io, json, os, select, sys, threading, time, uuid

sys.path.insert(0, os.environ["LIB"])
from facts import asking, digest, fact, section, values  # noqa: E402
import psycopg2, psycopg2.errorcodes, psycopg2.errors, psycopg2.extensions, psycopg2.extras  # noqa: E402


def describe(e):
    if not isinstance(e, psycopg2.Error):
        return f"{type(e).__name__} in the client" if isinstance(e, (ValueError, OverflowError, TypeError)) else None
    d = e.diag
    fields = [f"{n}={getattr(d, n)}" for n in ("severity", "message_primary", "message_detail", "message_hint", "statement_position", "schema_name", "table_name",
                                               "column_name", "datatype_name", "constraint_name") if getattr(d, n) is not None]
    return f"{type(e).__name__} {e.pgcode} {' '.join(fields)}"


ask = asking(describe)
db = psycopg2.connect("")
db.autocommit = True
cur = db.cursor()


def run(sql, args=None):
    """Rows, else the status; and the columns' names and types."""
    cur.execute(sql, args)
    if cur.description is None:
        return cur.statusmessage
    rows = [[bytes(v) if isinstance(v, memoryview) else v for v in row] for row in cur.fetchall()]
    return f"{[(c.name, c.type_code, c.internal_size, c.precision, c.scale) for c in cur.description]} {rows} {cur.statusmessage}"


def tell(sql, args=None):
    ask(sql if args is None else f"{sql} {args!r}", run, sql, args)


section("connect")
for name in ("server_version", "server_encoding", "client_encoding", "is_superuser", "session_authorization", "DateStyle", "IntervalStyle", "TimeZone", "integer_datetimes",
             "standard_conforming_strings", "in_hot_standby", "default_transaction_read_only", "application_name"):
    fact(name, db.get_parameter_status(name))
fact("versions", (db.server_version, db.protocol_version, db.encoding))
fact("DSN", [p for p in db.info.dsn_parameters.items() if p[0] in ("user", "dbname", "sslmode")])


def connect(**more):
    with psycopg2.connect("", **more) as c:
        with c.cursor() as k:
            found = []
            for sql in ("SELECT current_user", "SHOW application_name", "SHOW statement_timeout"):
                k.execute(sql)
                found += k.fetchone()
            return found


def refused(**more):
    """psycopg2 has no fields for an error of the sign-in: libpq's text after the address."""
    try:
        return connect(**more)
    except psycopg2.OperationalError as e:
        return str(e).strip().rsplit("failed: ", 1)[-1]


fact("named", connect(application_name="drivers ä"))
fact("options", connect(options="-c statement_timeout=12345 -c application_name=a\\ b"))
fact("socket", connect(host=os.environ["PGSOCKET"]))
fact("wrong password", refused(password="wrong"))
fact("empty password", refused(password=""))
fact("no such user", refused(user="nobody-there"))
fact("no such database", refused(dbname="no-such-database"))
fact("no such option", refused(options="-c no_such_setting=1"))
fact("bad option", refused(options="-c statement_timeout=abc"))

section("types, read as text and cast by the client")
for t, text in values():
    ask(f"{t} {text!r}", run, f"SELECT %s::{t} AS v", (text,))

section("types, adapted from Python")
for value in (True, None, 1, -5, 2**31, 2**63 - 1, 2**70, 1.5, float("nan"), float("inf"), decimal.Decimal("1.50"), decimal.Decimal("NaN"), "abc", "", "a'b\\c", "ä€🐘", b"",
              b"\0\xff'\\", bytearray(b"q"), datetime.date(2024, 2, 29), datetime.time(1, 2, 3, 4), datetime.datetime(2024, 2, 29, 1, 2, 3, 456789),
              datetime.datetime(2024, 2, 29, 1, 2, 3, tzinfo=datetime.timezone(datetime.timedelta(hours=5, minutes=30))), datetime.timedelta(days=-1, seconds=5),
              datetime.time(1, 2, 3, tzinfo=datetime.timezone(datetime.timedelta(hours=-8)))):
    ask(repr(value), run, "SELECT %s AS v", (value,))
psycopg2.extras.register_uuid()
psycopg2.extras.register_default_json()
tell("SELECT %s AS v", (uuid.UUID("a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"),))
ask("Json", run, "SELECT %s::jsonb AS v", (psycopg2.extras.Json({"a": [1, None, "ä"]}),))

section("types, stored")
run("CREATE TABLE stored (id integer PRIMARY KEY, b boolean, i2 smallint, i8 bigint, f4 real, f8 double precision, n numeric(12,3), t text, v varchar(10), d date, ti time, "
    "ts timestamp, tz timestamptz, iv interval, u uuid, by bytea, j json, jb jsonb)")
row = (True, -3, 2**40, 1.5, 0.1, decimal.Decimal("12.345"), "ä", "v", datetime.date(2024, 2, 29), datetime.time(12), datetime.datetime(2024, 1, 2, 3, 4, 5, 6),
       datetime.datetime(2024, 1, 2, 3, 4, 5, 6, datetime.timezone.utc), datetime.timedelta(1, 2, 3), "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11", b"\0\1\xff", '{"a": 1}', '{"b": [2]}')
tell("INSERT INTO stored VALUES (1, " + ", ".join(["%s"] * len(row)) + ") RETURNING id, n, by", row)
tell("INSERT INTO stored VALUES (2, " + ", ".join(["%s"] * len(row)) + ")", (None,) * len(row))
tell("SELECT * FROM stored ORDER BY id")

section("arrays")
for value in ([1, 2], ["a", None, 'q"x'], [True], [1.5], [datetime.date(2024, 1, 2)], [[1, 2], [3, 4]]):
    tell("SELECT %s AS v", (value,))
tell("SELECT count(*) FROM stored WHERE id = ANY(%s)", ([1, 5],))
tell("SELECT id FROM stored WHERE id IN %s", ((1, 2),))

section("transactions")
db.autocommit = False
for level in ("READ UNCOMMITTED", "READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"):
    db.set_session(isolation_level=level, readonly=level == "SERIALIZABLE", deferrable=level == "SERIALIZABLE")
    for name in ("isolation", "read_only", "deferrable"):
        tell(f"SHOW transaction_{name}")
    if level == "SERIALIZABLE":
        tell("INSERT INTO stored (id) VALUES (99)")
    fact("status", db.info.transaction_status)
    db.rollback()
db.set_session(isolation_level="DEFAULT", readonly="DEFAULT", deferrable="DEFAULT")
tell("CREATE TABLE moves (id integer PRIMARY KEY, n integer NOT NULL)")
tell("INSERT INTO moves VALUES (1, 10)")
tell("SAVEPOINT a")
tell("INSERT INTO moves VALUES (1, 11)")
fact("status", db.info.transaction_status)
tell("SELECT 1")
tell("ROLLBACK TO SAVEPOINT a")
tell("INSERT INTO moves VALUES (2, 20)")
tell("RELEASE SAVEPOINT a")
tell("RELEASE SAVEPOINT a")
db.commit()
tell("SELECT * FROM moves ORDER BY id")
db.rollback()
tell("INSERT INTO moves VALUES (3, 30), (4, 40)")
db.rollback()
tell("SELECT count(*) FROM moves")
db.rollback()
with db:
    tell("UPDATE moves SET n = n + 1 WHERE id = 2 RETURNING n")
tell("SELECT n FROM moves WHERE id = 2")
db.rollback()
section("errors")
db.autocommit = True
run("CREATE TABLE ref (id integer PRIMARY KEY, u integer UNIQUE, n integer NOT NULL, s smallint, v varchar(3), CONSTRAINT named UNIQUE (s, n))")
run("INSERT INTO ref VALUES (1, 1, 1, 1, 'a')")
for sql in ("INSERT INTO ref VALUES (1, 2, 3, 4)", "INSERT INTO ref VALUES (2, 1, 3, 4)", "INSERT INTO ref VALUES (2, 2, 1, 1)", "INSERT INTO ref VALUES (2, 2, NULL)",
            "INSERT INTO ref VALUES (2, 2, 2, 40000)", "INSERT INTO ref VALUES (2, 2, 2, 2, 'abcd')", "SELECT * FROM nowhere", "SELECT nothing FROM ref", "SELEC 1",
            "SELECT 1/0", "SELECT 'x'::integer", "SELECT nosuch(1)", "SELECT 1 +", "SELECT '", "CREATE TABLE ref (a integer)", "SELECT 'ä' = , 1", "SELECT * FROM ref WHERE id = 'a'",
            "SELECT '2024-13-01'::date", "SELECT 'abc'::uuid", "SELECT '{'::json", "SELECT sum(id), n FROM ref", "DROP TABLE nowhere", "SELECT 1; SELECT 1/0; SELECT 2",
            "", " ; ;", "-- nothing", "SELECT 1; SELECT 'b' AS b"):
    tell(sql)

section("cursors")
db.autocommit = False
run("CREATE TABLE numbers (i integer PRIMARY KEY, t text)")
psycopg2.extras.execute_values(cur, "INSERT INTO numbers VALUES %s", [(i, f"t{i}") for i in range(5000)], page_size=1000)
fact("rows", cur.rowcount)
db.commit()


def walk():
    with db.cursor("walk") as named:
        named.itersize = 700
        named.execute("SELECT i, t FROM numbers ORDER BY i")
        rows = list(named)
        return len(rows), rows[0], rows[-1], [c.name for c in named.description]


def scroll():
    with db.cursor("to and fro", scrollable=True) as named:
        named.execute("SELECT i FROM numbers ORDER BY i")
        found = [named.fetchone(), named.fetchmany(3)]
        named.scroll(-2)
        found.append(named.fetchone())
        named.scroll(4990, mode="absolute")
        return found + [named.fetchall(), named.rownumber]


def held():
    with db.cursor("held", withhold=True) as named:
        named.execute("SELECT i FROM numbers ORDER BY i DESC")
        db.commit()
        return named.fetchmany(2)


for f in (walk, scroll, held):
    ask(f.__name__, f)
    db.rollback()

section("COPY")


def copy(sql, data=None):
    f = io.StringIO(data)
    cur.copy_expert(sql, f)
    return cur.rowcount, cur.statusmessage, f.getvalue() if data is None else None


run("CREATE TABLE copied (a integer, b text, c numeric)")
ask("in, text", copy, "COPY copied FROM STDIN", "1\tä\\tb\t1.50\n2\t\\N\t\\N\n")
ask("in, csv", copy, "COPY copied (b, a) FROM STDIN WITH (FORMAT csv, HEADER)", 'b,a\n"x,""y""\nz",3\n,4\n')
ask("out, text", copy, "COPY copied TO STDOUT")
ask("out, csv", copy, "COPY (SELECT a, b FROM copied ORDER BY a DESC) TO STDOUT WITH CSV HEADER DELIMITER ';' NULL '-'")
db.commit()
ask("in, a wrong row", copy, "COPY copied FROM STDIN", "7\tx\t1\nseven\ty\t2\n")
ask("after it", run, "SELECT 1")
db.rollback()
ask("in, too few columns", copy, "COPY copied FROM STDIN", "7\tx\n")
db.rollback()
ask("copy_from", lambda: cur.copy_from(io.StringIO("9|nine\n"), "copied", sep="|", columns=("a", "b")))


def failing():
    class Broken:
        def read(self, n):
            raise ValueError("broken file")
    cur.copy_expert("COPY copied FROM STDIN", Broken())


ask("in, the client's file breaks", failing)
db.rollback()
tell("SELECT * FROM copied ORDER BY a")


def wide():
    cur.copy_expert("COPY copied FROM STDIN", io.StringIO("".join(f"{i}\tx\t{i}.5\n" for i in range(100000))))
    run("SELECT 1")
    cur.execute("SELECT count(*), sum(a), sum(c) FROM copied")
    return cur.fetchall()


ask("in, 100,000 rows", wide)
db.rollback()

section("cancel and timeouts")
db.autocommit = True


def cancelled():
    other = threading.Timer(0.3, db.cancel)
    other.start()
    try:
        cur.execute("SELECT pg_sleep(100)")
    finally:
        other.join()


ask("cancel", cancelled)
tell("SELECT 'still here'")
ask("cancel with nothing running", db.cancel)
time.sleep(0.2)
tell("SELECT 'still here'")
run("SET statement_timeout = 100")
tell("SELECT pg_sleep(100)")
run("RESET statement_timeout")


def asynchronous():
    c = psycopg2.connect("", async_=True)
    psycopg2.extras.wait_select(c)
    k = c.cursor()
    k.execute("SELECT 41 + %s", (1,))
    psycopg2.extras.wait_select(c)
    return k.fetchall()


ask("asynchronous", asynchronous)

section("settings")
for sql in ("SET client_encoding TO 'unicode'", "SET TIME ZONE 'UTC'", "SET application_name = 'other'", "RESET ALL", "SHOW server_version", "SET no_such = 1", "SET my.own = 'x'", "SHOW my.own"):
    tell(sql)
    fact("reported", (db.encoding, db.get_parameter_status("DateStyle"), db.get_parameter_status("application_name")))
tell("SELECT 1")

section("date styles")
tell("SET datestyle = 'german'")
run("RESET datestyle")

section("two-phase commit")
db.autocommit = False
ask("begin", lambda: db.tpc_begin(db.xid(1, "a", "b")))
tell("SELECT 1")
ask("prepare", db.tpc_prepare)
ask("rollback", db.tpc_rollback)
db.rollback()
db.autocommit = True

section("notices")
del db.notices[:]
for sql in ("DROP TABLE IF EXISTS nowhere", "CREATE TABLE IF NOT EXISTS ref (a integer)", "COMMIT", "BEGIN; BEGIN; ROLLBACK"):
    tell(sql)
    fact("notices", db.notices)
    del db.notices[:]

section("batches")
psycopg2.extras.execute_batch(cur, "INSERT INTO numbers VALUES (%s, %s)", [(10000 + i, "b") for i in range(250)], page_size=100)
tell("SELECT count(*) FROM numbers WHERE i >= 10000")
cur.executemany("DELETE FROM numbers WHERE i = %s", [(10000 + i,) for i in range(250)])
fact("rows", cur.rowcount)
ask("1,000 parameters", lambda: run("SELECT " + " + ".join(["%s"] * 1000) + " AS v", list(range(1000))))

section("large values")
text, raw = "äx€z" * 5000000, bytes(range(256)) * 40000
cur.execute("SELECT %s::text, %s::bytea", (text, raw))
t, b = cur.fetchone()
fact("text", digest(t))
fact("bytea", digest(bytes(b)))
fact("same", (t == text, bytes(b) == raw))
run("CREATE TABLE large (id integer PRIMARY KEY, t text, b bytea)")
tell("INSERT INTO large SELECT i, repeat('ä', 30000), %s FROM (VALUES (1), (2)) AS v (i)", (b"\0\xff",))
cur.execute("SELECT t, b FROM large")
fact("stored", [(digest(t), bytes(b)) for t, b in cur.fetchall()])

section("reading into classes")
with db.cursor(cursor_factory=psycopg2.extras.RealDictCursor) as k:
    k.execute("SELECT 1 AS a, 'x' AS b, NULL AS c")
    fact("dict", json.dumps(k.fetchall()))
with db.cursor(cursor_factory=psycopg2.extras.NamedTupleCursor) as k:
    k.execute("SELECT 1 AS a, 2")
    fact("tuple", repr(k.fetchone()))

section("large objects")
ask("lobject", lambda: db.lobject().read())
