"""What psycopg2's clients see through pgbouncer: settings replayed to a server connection, DISCARD ALL between clients, cancel forwarded, clients at once."""
import sys, os, threading, time

sys.path.insert(0, os.environ["LIB"])
from facts import asking, digest, fact, section  # noqa: E402
import psycopg2, psycopg2.extras  # noqa: E402

MODE = sys.argv[1]


def describe(e):
    return f"{type(e).__name__} {e.pgcode} {e.diag.message_primary}" if isinstance(e, psycopg2.Error) else None


ask = asking(describe)


def connect(**more):
    db = psycopg2.connect("", **more)
    db.autocommit = True
    return db


def run(db, sql, args=None):
    with db.cursor() as cur:
        cur.execute(sql, args)
        return (cur.fetchall() if cur.description else None), cur.statusmessage


section(f"{MODE}: settings")
one = connect(application_name="one", options="")
two = connect(application_name="two")
for db, name in ((one, "one"), (two, "two")):
    fact(f"{name} statuses", [db.get_parameter_status(n) for n in ("server_version", "client_encoding", "DateStyle", "TimeZone", "standard_conforming_strings", "application_name", "server_encoding", "integer_datetimes")])
    run(db, "SET TimeZone = 'America/New_York'" if name == "one" else "SET TimeZone = 'Asia/Tokyo'")
    fact(f"{name} changed", db.get_parameter_status("TimeZone"))
for i in range(3):
    for db, name in ((one, "one"), (two, "two")):
        fact(f"{name}, turn {i}", run(db, "SELECT 'ä', timestamptz '2024-01-01 12:00+00', current_setting('TimeZone'), current_setting('application_name'), current_setting('client_encoding')"))
one.close()
three = connect()
ask("the next client's", run, three, "SELECT current_setting('TimeZone'), current_setting('application_name'), current_setting('client_encoding')")
two.close()

section(f"{MODE}: transactions")
run(three, f"CREATE TABLE bounced_{MODE} (id integer PRIMARY KEY, n integer)")
three.autocommit = False
run(three, f"INSERT INTO bounced_{MODE} VALUES (1, 1)")
other = connect()
ask("before the commit", run, other, f"SELECT count(*) FROM bounced_{MODE}")
three.commit()
ask("after it", run, other, f"SELECT count(*) FROM bounced_{MODE}")
ask("a failed one", run, three, "SELECT 1/0")
ask("aborted", run, three, "SELECT 1")
three.rollback()
ask("rolled back", run, three, "SELECT 1")
three.rollback()
three.autocommit = True

section(f"{MODE}: what stays with a session")
if MODE == "session":
    run(other, "PREPARE mine AS SELECT 42")
    run(other, "SET statement_timeout = 12345")
    ask("prepared", run, other, "EXECUTE mine")
    other.close()
    for i in range(3):
        again = connect()
        ask("forgotten", run, again, "EXECUTE mine")
        ask("reset", run, again, "SHOW statement_timeout")
        again.close()
    other = connect()

section(f"{MODE}: cancel")
timer = threading.Timer(0.3, other.cancel)
timer.start()
ask("cancelled", run, other, "SELECT pg_sleep(100)")
timer.join()
ask("still here", run, other, "SELECT 1")

section(f"{MODE}: several at once")
errors = []


def work(me):
    try:
        db = connect()
        for i in range(30):
            db.autocommit = False
            run(db, f"INSERT INTO bounced_{MODE} VALUES (%s, %s)", (1000 * (me + 1) + i, me))
            run(db, f"UPDATE bounced_{MODE} SET n = n + 1 WHERE id = %s", (1000 * (me + 1) + i,))
            db.commit()
        db.close()
    except Exception as e:
        errors.append(str(e))


three.close()
other.close()
threads = [threading.Thread(target=work, args=(i,)) for i in range(10)]
for t in threads:
    t.start()
for t in threads:
    t.join()
fact("errors", errors)
last = connect()
fact("rows", run(last, f"SELECT count(*), sum(n) FROM bounced_{MODE}"))

section(f"{MODE}: large values and COPY")
text = "äx€z" * 2000000
fact("text", digest(run(last, "SELECT %s AS v", (text,))[0][0][0]))
with last.cursor() as cur:
    import io
    cur.copy_expert(f"COPY bounced_{MODE} FROM STDIN", io.StringIO("".join(f"{i}\t{i}\n" for i in range(100000, 150000))))
    fact("rows", cur.rowcount)
fact("sum", run(last, f"SELECT count(*), sum(n) FROM bounced_{MODE}"))
last.close()
