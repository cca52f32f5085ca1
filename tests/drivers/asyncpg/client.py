"""asyncpg: named statements, described before they are bound; every parameter and result in binary; cursors, a pool with its reset, binary COPY, timeouts and cancels."""
import asyncio, datetime, decimal, io, json, os, sys, uuid

sys.path.insert(0, os.environ["LIB"])
from facts import digest, fact, section, values  # noqa: E402
import asyncpg  # noqa: E402


def describe(e):
    if isinstance(e, asyncpg.PostgresError):
        names = ("severity", "detail", "hint", "position", "schema_name", "table_name", "column_name", "data_type_name", "constraint_name")
        return f"{type(e).__name__} {e.sqlstate} {e.message} " + " ".join(f"{n}={getattr(e, n)}" for n in names if getattr(e, n, None) is not None)
    return f"{type(e).__name__} in the client: {e}"


async def ask(name, f, *args, **named):
    """Every error of f but a lost connection is a fact."""
    try:
        fact(name, await f(*args, **named))
    except (asyncpg.PostgresError, asyncpg.InterfaceError, asyncio.TimeoutError, ValueError, OverflowError) as e:
        fact(name, describe(e))


def rows(records):
    return [dict(r) for r in records]


def types(attributes):
    return [(a.name, a.type.oid, a.type.name) for a in attributes]


async def run(query, *args):
    """Prepared: the types of its parameters and columns, rows, status."""
    statement = await db.prepare(query)
    found = await statement.fetch(*args)
    return f"{[(p.oid, p.name) for p in statement.get_parameters()]} {types(statement.get_attributes())} {[tuple(r) for r in found]} {statement.get_statusmsg()}"


async def tell(query, *args):
    await ask(f"{query} {args!r}" if args else query, run, query, *args)


async def refused(**more):
    try:
        await (await asyncpg.connect(**more)).close()
        return "connected"
    except asyncpg.PostgresError as e:
        return describe(e)


async def connecting():
    section("connect")
    settings = db.get_settings()
    for name in ("server_version", "server_encoding", "client_encoding", "is_superuser", "session_authorization", "DateStyle", "IntervalStyle", "TimeZone", "integer_datetimes",
                 "standard_conforming_strings", "in_hot_standby", "default_transaction_read_only", "application_name"):
        fact(name, getattr(settings, name, None))
    fact("version", (tuple(db.get_server_version())[:2], db.get_server_version().releaselevel))
    fact("wrong password", await refused(password="wrong"))
    fact("no such user", await refused(user="nobody-there"))
    fact("no such database", await refused(database="no-such-database"))
    fact("no such setting", await refused(server_settings={"no_such": "1"}))
    other = await asyncpg.connect(server_settings={"application_name": "drivers", "search_path": "public", "statement_timeout": "12345", "jit": "off"})
    for name in ("application_name", "search_path", "statement_timeout", "jit"):
        fact(name, await other.fetchval(f"SHOW {name}"))
    await other.close()


PYTHON = {
    "boolean": [True, False, None], "smallint": [0, -32768, 32767, 32768], "integer": [-2**31, 2**31 - 1, 2**31], "bigint": [-2**63, 2**63 - 1, 2**63],
    "real": [1.5, -0.0, float("nan"), float("inf"), float("-inf")], "double precision": [0.1, 1.7976931348623157e308, 5e-324, float("nan"), float("-inf")],
    "numeric": [decimal.Decimal(x) for x in ("0", "1.50", "-0.001", "1E+20", "1E-20", "12345678901234567890.123456789", "NaN")], "text": ["", "ä€🐘", "a'b\\c"],
    "varchar(3)": ["äöü"], "name": ["ä"], '"char"': [b"a", b"\xff"], "date": [datetime.date(2024, 2, 29), datetime.date.min, datetime.date.max],
    "time": [datetime.time(0), datetime.time(23, 59, 59, 999999)], "timetz": [datetime.time(1, 2, 3, 4, datetime.timezone(datetime.timedelta(hours=-8, minutes=-30)))],
    "timestamp": [datetime.datetime(2024, 2, 29, 1, 2, 3, 456789), datetime.datetime.max, datetime.datetime.min],
    "timestamptz": [datetime.datetime(2024, 2, 29, 1, 2, 3, tzinfo=datetime.timezone(datetime.timedelta(hours=5, minutes=30)))],
    "interval": [datetime.timedelta(days=-1, seconds=5, microseconds=7), datetime.timedelta(days=1000)], "uuid": [uuid.UUID("a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11")],
    "bytea": [b"", b"\0\xff'\\"], "oid": [0, 2**32 - 1, 2**32], "json": ['{"a" : 1}', "null"], "jsonb": ['{"b": 1.50, "a": "ä"}'],
}


async def both_ways():
    section("types, from text to binary")
    for t, text in values():
        await tell(f"SELECT $1::text::{t} AS v", text)
    section("types, in binary both ways")
    for t, them in PYTHON.items():
        for value in (*them, None):
            await tell(f"SELECT $1::{t} AS v", value)
    section("types, stored")
    await db.execute("CREATE TABLE stored (id integer PRIMARY KEY, " + ", ".join(f"c{i} {t}" for i, t in enumerate(PYTHON)) + ")")
    statement = await db.prepare("INSERT INTO stored VALUES ($1" + "".join(f", ${i + 2}" for i in range(len(PYTHON))) + ") RETURNING *")
    fact("parameters", [p.name for p in statement.get_parameters()])
    await ask("a row", statement.fetchrow, 1, *(them[0] for them in PYTHON.values()))
    await ask("NULLs", statement.fetchrow, 2, *[None] * len(PYTHON))
    fact("rows", [tuple(r) for r in await db.fetch("SELECT * FROM stored ORDER BY id")])


async def inference():
    section("inference of parameters")
    await db.execute("CREATE TABLE t (id integer PRIMARY KEY, a smallint, b text, c numeric, d date); INSERT INTO t VALUES (1, 1, 'a', 1, '2024-01-01'), (2, 2, 'b', 2, '2024-01-02'), (3, NULL, NULL, NULL, NULL)")
    for query, args in (("SELECT id FROM t ORDER BY id LIMIT $1 OFFSET $2", (2, 1)), ("SELECT id FROM t WHERE b = $1", ("a",)), ("SELECT id FROM t WHERE id = $1", (2,)),
                        ("SELECT id FROM t WHERE a = $1", (2,)), ("SELECT id FROM t WHERE c > $1 ORDER BY id", (1,)), ("SELECT id FROM t WHERE d = $1", (datetime.date(2024, 1, 2),)),
                        ("SELECT coalesce($1, b) FROM t ORDER BY id", ("x",)), ("SELECT $1 || b FROM t WHERE id = 1", ("x",)), ("SELECT $1 || 'b'", ("x",)), ("SELECT $1 + 1", (5,)),
                        ("SELECT -$1", (5,)), ("SELECT $1", (None,)), ("SELECT $1", ("text",)), ("SELECT $1 = $2", ("a", "b")), ("SELECT id FROM t WHERE id IN ($1, $2) ORDER BY id", (1, 3)),
                        ("SELECT id FROM t WHERE id BETWEEN $1 AND $2 ORDER BY id", (1, 2)), ("SELECT CASE WHEN $1 THEN $2 ELSE b END FROM t WHERE id = 1", (True, "y")),
                        ("UPDATE t SET a = $1, b = $2 WHERE id = $3", (7, None, 1)), ("INSERT INTO t VALUES ($1, $2, $3, $4, $5) RETURNING *", (9, 3, "z", decimal.Decimal("1.5"), None)),
                        ("SELECT $1::date - $2::date", (datetime.date(2024, 3, 1), datetime.date(2024, 2, 1))), ("SELECT substr($1, $2)", ("abc", 2)), ("SELECT upper($1)", ("ä",)),
                        ("SELECT id FROM t WHERE b LIKE $1", ("b%",)), ("SELECT id FROM t WHERE a IS NOT DISTINCT FROM $1 ORDER BY id", (None,)), ("SELECT round($1, 1)", (decimal.Decimal("2.25"),)),
                        ("SELECT greatest($1, 2.5)", (1,)), ("VALUES ($1, $2), (1, 'x')", (2, "b")), ("SELECT count(*) FROM t WHERE (id, b) = ($1, $2)", (2, "b")),
                        ("SELECT $1::int2 + $2::int8", (1, 2)), ("SELECT now() - $1 > $2", (datetime.timedelta(days=1), datetime.datetime(2000, 1, 1, tzinfo=datetime.timezone.utc))),
                        ("SELECT d + $1 FROM t WHERE id = 2", (5,)), ("SELECT id FROM t WHERE id = (SELECT max(id) FROM t WHERE id < $1)", (3,)), ("SELECT sum($1 * id) FROM t", (2,)),
                        ("SELECT id FROM t WHERE b IN (SELECT $1)", ("b",)), ("SELECT x + 1 FROM (SELECT $1::integer AS x) s", (1,)), ("DELETE FROM t WHERE id = $1", (9,)),
                        ("WITH w AS (SELECT $1::text AS x) SELECT x || $2 FROM w", ("a", "b")), ("SELECT $1::varchar(2)", ("abc",)), ("SELECT $1::numeric(5,2)", (decimal.Decimal("1.005"),)),
                        ("SELECT $2::text", ("a", "b")), ("SELECT $1 + $1::smallint", (1,)), ("SELECT row_number() OVER (ORDER BY id) + $1 FROM t", (1,)), ("SELECT nullif($1, 1)", (1,)),
                        ("SELECT 1 LIMIT $1", (None,)), ("SELECT $1 IS NULL", (None,)), ("SELECT ($1)::text IS NULL", (None,)), ("SELECT 'a' || $1::integer", (1,)), ("SELECT $1 UNION ALL SELECT 2", (1,))):
        await tell(query, *args)


async def statements():
    section("prepared statements")
    statement = await db.prepare("SELECT id, $1::integer AS p FROM t WHERE id <= $2 ORDER BY id")
    for n in range(3):
        await ask(f"fetch {n}", statement.fetch, n, n)
    await ask("fetchval", statement.fetchval, 5, 3, column=1)
    await ask("fetchrow", statement.fetchrow, 5, 3)
    await ask("fetchrow of none", statement.fetchrow, 5, 0)
    await ask("too few arguments", statement.fetch, 1)
    await ask("a wrong argument", statement.fetch, "x", 1)
    await ask("executemany", statement.executemany, [(1, 1), (2, 2)])
    await ask("several at once", db.execute, "SELECT 1; SELECT 2; CREATE TABLE several (a integer)")
    await ask("several, prepared", db.fetch, "SELECT 1; SELECT 2")
    for i in range(150):  # more than its cache keeps: the oldest are closed
        await db.fetchval(f"SELECT {i} + $1::integer", i)
    await tell("SELECT 'and on'")
    section("re-preparation after DDL")
    await db.execute("CREATE TABLE again (a integer)")
    kept = await db.prepare("SELECT * FROM again WHERE a > $1")
    await ask("first", kept.fetch, 0)
    await ask("cached", db.fetch, "SELECT * FROM again WHERE a >= $1", 0)
    await db.execute("DROP TABLE again; CREATE TABLE again (a integer); INSERT INTO again VALUES (1)")
    await ask("the same shape", kept.fetch, 0)
    await ask("cached, the same shape", db.fetch, "SELECT * FROM again WHERE a >= $1", 0)
    await db.execute("DROP TABLE again; CREATE TABLE again (a integer, b text); INSERT INTO again VALUES (1, 'one')")
    await ask("another shape", kept.fetch, 0)
    await ask("cached, another shape", db.fetch, "SELECT * FROM again WHERE a >= $1", 0)
    async def in_transaction():
        async with db.transaction():
            await db.fetch("SELECT * FROM again WHERE a < $1", 0)
            await db.execute("DROP TABLE again; CREATE TABLE again (b text)")
            return await db.fetch("SELECT * FROM again WHERE a < $1", 0)
    await ask("in a transaction", in_transaction)
    await ask("after it", db.fetch, "SELECT * FROM again WHERE a < $1", 5)


async def transactions():
    section("transactions")
    for how in ({}, {"isolation": "repeatable_read"}, {"isolation": "serializable", "readonly": True, "deferrable": True}):
        async with db.transaction(**how):
            for name in ("isolation", "read_only", "deferrable"):
                fact(f"{how} {name}", await db.fetchval(f"SHOW transaction_{name}"))
            await ask("write", db.execute, "INSERT INTO t VALUES (30)") if how.get("readonly") else None
    async def nested():
        async with db.transaction():
            await db.execute("INSERT INTO t VALUES ($1)", 20)
            try:
                async with db.transaction():
                    await db.execute("INSERT INTO t VALUES ($1)", 21)
                    await db.execute("INSERT INTO t VALUES ($1)", 20)
            except asyncpg.UniqueViolationError as e:
                fact("inner", e.constraint_name)
            async with db.transaction():
                await db.execute("INSERT INTO t VALUES ($1)", 22)
        return [r[0] for r in await db.fetch("SELECT id FROM t WHERE id >= 20 ORDER BY id")]
    await ask("nested", nested)
    async def aborted():
        async with db.transaction():
            try:
                await db.fetch("SELECT 1 / $1::integer", 0)
            except asyncpg.DivisionByZeroError:
                pass
            return await db.fetch("SELECT 1")
    await ask("aborted", aborted)
    fact("in transaction", db.is_in_transaction())
    section("errors")
    await db.execute("CREATE TABLE ref (id integer PRIMARY KEY, u integer UNIQUE, n integer NOT NULL, s smallint, v varchar(3), CONSTRAINT named UNIQUE (s, n)); INSERT INTO ref VALUES (1, 1, 1, 1, 'a')")
    for query, args in (("INSERT INTO ref VALUES ($1, 2, 3, 4)", (1,)), ("INSERT INTO ref VALUES (2, $1, 3, 4)", (1,)), ("INSERT INTO ref VALUES (2, 2, $1, $2)", (1, 1)), ("INSERT INTO ref VALUES (2, 2, $1)", (None,)),
                        ("INSERT INTO ref VALUES (2, 2, 2, $1 * 2)", (20000,)), ("INSERT INTO ref VALUES (2, 2, 2, 2, $1)", ("abcd",)), ("SELECT * FROM nowhere", ()), ("SELECT 1 / $1::integer", (0,)),
                        ("SELECT $1::text::integer", ("x",)), ("SELECT $1 +", ()), ("SELECT nosuch($1::integer)", (1,)), ("SELECT id FROM ref WHERE v = 1", ()), ("SELECT $1::nosuch", (1,)), ("SELECT $0", ()),
                        ("SELECT $3", (1, 2, 3)), ("SELECT nothing FROM ref", ()), ("CREATE TABLE ref (a integer)", ()), ("SELECT $1::integer = $1::text", (1,)), ("SELECT sum(id), n FROM ref", ())):
        await tell(query, *args)


async def cursors():
    section("cursors")
    await db.execute("CREATE TABLE numbers (i integer PRIMARY KEY, t text)")
    await db.executemany("INSERT INTO numbers VALUES ($1, $2)", [(i, f"t{i}") for i in range(3000)])
    async def walk(prefetch):
        async with db.transaction():
            found = [r["i"] async for r in db.cursor("SELECT i, t FROM numbers WHERE i >= $1 ORDER BY i", 10, prefetch=prefetch)]
            return len(found), found[0], found[-1], sum(found)
    for n in (2, 7, 1000, 5000):
        await ask(f"walk, {n} at a time", walk, n)
    async def steps():
        async with db.transaction():
            c = await db.cursor("SELECT i FROM numbers ORDER BY i")
            found = [await c.fetchrow(), await c.fetch(3)]
            other = await db.cursor("SELECT i FROM numbers ORDER BY i DESC")  # two at once
            found += [await other.fetch(2), await c.fetch(2)]
            await db.execute("DELETE FROM numbers WHERE i > 2990")
            return found + [await other.fetch(1), len(await c.fetch(10000)), await c.fetch(5)]
    await ask("steps", steps)
    async def outside():
        return [r async for r in db.cursor("SELECT 1")]
    await ask("outside of a transaction", outside)
    async def fails_late():
        async with db.transaction():
            c = await db.cursor("SELECT 10 / (5 - i) FROM numbers WHERE i < 8 ORDER BY i")
            fact("before", await c.fetch(3))
            return await c.fetch(5)
    await ask("an error in the middle", fails_late)
    section("cursors that move")
    async def forward():
        async with db.transaction():
            c = await db.cursor("SELECT i FROM numbers ORDER BY i")
            found = [await c.fetchrow(), await c.forward(5), await c.fetchrow()]
            return found
    await ask("forward", forward)


async def many():
    section("executemany")
    await db.execute("CREATE TABLE many (a integer PRIMARY KEY, b text, c numeric)")
    await db.executemany("INSERT INTO many VALUES ($1, $2, $3)", [(i, f"ä{i}" if i % 3 else None, decimal.Decimal(i) / 8) for i in range(5000)])
    await tell("SELECT count(*), count(b), sum(c) FROM many")
    await ask("fails at the third", db.executemany, "INSERT INTO many VALUES ($1)", [(10000,), (10001,), (10000,), (10002,)])
    await tell("SELECT count(*) FROM many WHERE a >= $1", 10000)
    section("COPY")
    records = [(i, f"ä\t\\{i}" if i % 2 else None, decimal.Decimal(i) / 4) for i in range(6000, 6004)]
    await ask("copy_records_to_table", db.copy_records_to_table, "many", records=records)
    await ask("columns", db.copy_records_to_table, "many", records=[("x", 7000)], columns=["b", "a"])
    await ask("a key twice", db.copy_records_to_table, "many", records=[(6000, "x", None)])
    await ask("100,000 rows", db.copy_records_to_table, "many", records=((100000 + i, "x", None) for i in range(100000)))
    async def aiter():
        for i in range(3):
            yield (300000 + i, None, None)
    await ask("records from a generator", db.copy_records_to_table, "many", records=aiter())
    async def broken():
        yield (400000, None, None)
        raise ValueError("given up")
    await ask("the client gives up", db.copy_records_to_table, "many", records=broken())
    await tell("SELECT count(*), max(a) FROM many")
    for how in ({}, {"format": "csv", "header": True}, {"format": "binary"}, {"delimiter": "|", "null": "-"}):
        out = io.BytesIO()
        await ask(f"copy_from_query {how}", db.copy_from_query, "SELECT * FROM many WHERE a BETWEEN $1 AND 6003 ORDER BY a", 6000, output=out, **how)
        fact("data", out.getvalue())
    out = io.BytesIO()
    await ask("copy_from_table", db.copy_from_table, "many", output=out, columns=["a", "b"])
    fact("data", digest(b"".join(sorted(out.getvalue().splitlines(True)))))
    for data, how in ((b"500000\tx\t1\n", {}), (b"a,b\n500001,\"x,\"\"y\"\n", {"format": "csv", "header": True, "columns": ["a", "b"]}), (b"x\ty\tz\n", {}), (b"500002\ty\n", {}), (b"", {})):
        await ask(f"copy_to_table {data} {how}", db.copy_to_table, "many", source=io.BytesIO(data), **how)


async def interrupted():
    section("timeouts and cancel")
    await ask("timeout of a query", db.fetch, "SELECT pg_sleep(100)", timeout=0.3)
    await tell("SELECT 'still here'")
    await ask("timeout of an execute", db.execute, "SELECT pg_sleep(100)", timeout=0.3)
    async def cancelled():
        task = asyncio.ensure_future(db.fetch("SELECT pg_sleep($1)", 100.0))
        await asyncio.sleep(0.3)
        task.cancel()
        try:
            await task
        except asyncio.CancelledError:
            return "cancelled"
    await ask("a cancelled task", cancelled)
    await tell("SELECT 'still here'")
    async def in_transaction():
        async with db.transaction():
            await db.execute("INSERT INTO many VALUES (600000)")
            await db.fetch("SELECT pg_sleep(100)", timeout=0.3)
    await ask("timeout in a transaction", in_transaction)
    await tell("SELECT count(*) FROM many WHERE a = 600000")
    await db.execute("SET statement_timeout = 100")
    await tell("SELECT pg_sleep($1)", 100.0)
    await db.execute("RESET statement_timeout")
    async def terminated():
        other = await asyncpg.connect()
        task = asyncio.ensure_future(other.fetch("SELECT pg_sleep(100)"))
        await asyncio.sleep(0.3)
        await db.fetchval("SELECT pg_terminate_backend($1)", other.get_server_pid())
        return await task
    await ask("terminated", terminated)


async def notices():
    section("notices")
    got = []
    db.add_log_listener(lambda _, m: got.append((m.severity, m.sqlstate, m.message)))
    for query in ("DROP TABLE IF EXISTS nowhere", "CREATE TABLE IF NOT EXISTS ref (a integer)", "COMMIT"):
        await ask(query, db.execute, query)
        await asyncio.sleep(0)
        fact("notices", got)
        got.clear()
    section("many parameters, large values")
    await ask("1,000 parameters", db.fetchval, "SELECT " + " + ".join(f"${i + 1}::integer" for i in range(1000)), *range(1000))
    text, raw = "äx€z" * 5000000, bytes(range(256)) * 80000
    t, b = await db.fetchrow("SELECT $1::text, $2::bytea", text, raw)
    fact("text", digest(t))
    fact("bytea", digest(b))
    fact("same", (t == text, b == raw))


async def pools():
    section("a pool and its reset")
    async def used():
        async with asyncpg.create_pool(min_size=1, max_size=1) as pool:
            async with pool.acquire() as c:
                await c.execute("SET application_name = 'changed'")
                before = c.get_server_pid()
            async with pool.acquire() as c:
                return before == c.get_server_pid(), await c.fetchval("SHOW application_name")
    await ask("used twice", used)
    async def many_at_once():
        async with asyncpg.create_pool(min_size=1, max_size=3) as pool:
            async def one(i):
                async with pool.acquire() as c:
                    return await c.fetchval("SELECT $1::integer * 2", i)
            return await asyncio.gather(*(one(i) for i in range(20)), return_exceptions=True)
    found = await many_at_once()
    fact("many at once", next((describe(e) for e in found if isinstance(e, asyncpg.PostgresError)), found))


async def arrays():
    section("arrays")
    for query, args in (("SELECT $1::integer[] AS v", ([1, None, 2],)), ("SELECT $1::text[] AS v", (["a", 'q"x', None],)), ("SELECT $1::numeric[] AS v", ([decimal.Decimal("1.5")],)),
                        ("SELECT $1::integer[] AS v", ([[1, 2], [3, 4]],)), ("SELECT $1::boolean[] AS v", ([],)), ("SELECT id FROM t WHERE id = ANY($1::integer[]) ORDER BY id", ([1, 2],)),
                        ("SELECT id FROM t WHERE id = ANY($1) ORDER BY id", ([1, 2],)), ("SELECT $1::timestamptz[] AS v", ([datetime.datetime(2024, 1, 1, tzinfo=datetime.timezone.utc)],))):
        await tell(query, *args)
    section("listening")
    heard = asyncio.Queue()
    await ask("add_listener", db.add_listener, "channel", lambda c, pid, channel, payload: heard.put_nowait((channel, payload, pid == db.get_server_pid())))
    await tell("SELECT pg_notify('channel', 'payload')")
    fact("received", await asyncio.wait_for(heard.get(), 20))
    await db.reset()


async def lookups():
    section("codecs")
    await db.set_type_codec("numeric", schema="pg_catalog", encoder=str, decoder=float, format="text")
    await tell("SELECT $1::numeric + 1", 5)
    await db.reset_type_codec("numeric", schema="pg_catalog")
    await db.set_type_codec("jsonb", schema="pg_catalog", encoder=json.dumps, decoder=json.loads)
    await tell("SELECT $1::jsonb AS v", {"a": [1, None, "ä"]})
    await db.reset_type_codec("jsonb", schema="pg_catalog")


async def main():
    global db
    db = await asyncpg.connect()
    for part in (connecting, both_ways, inference, statements, transactions, cursors, many, interrupted, notices, pools, arrays, lookups):
        await part()
    await db.close()


asyncio.run(main())
