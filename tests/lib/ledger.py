"""ledger: clients that note what was acknowledged, refused or left unknown, readers that note what they saw, and the comparison with the server.

Each client inserts groups of three rows and adds 1 to a counter of its own, statement by statement. A statement is acknowledged, refused (an error
that says that nothing happened) or unknown (08007, or the connection broke). Afterwards: acknowledged groups are there, refused ones are not, unknown ones
are whole or absent; a counter lies between its acknowledged additions and those plus the unknown ones; what a reader saw is still there.
"""
import threading, time

from pgwire import Connection, ServerError

TABLES = ("CREATE TABLE ledger (client integer, n integer, k integer, note text, PRIMARY KEY (client, n, k))",
          "CREATE TABLE counter (client integer PRIMARY KEY, n bigint)")


class Client(threading.Thread):
    def __init__(self, ledger, number):
        super().__init__(daemon=True)
        self.ledger, self.number = ledger, number
        self.n = 0
        self.acked, self.refused, self.unknown = set(), set(), set()
        self.added = self.maybe_added = 0
        self.codes, self.lost_connections, self.longest = {}, 0, 0.0
        self.pid = None

    def statement(self, c, sql):
        """'acked', 'refused' or 'unknown'; an OSError passes."""
        begin = time.monotonic()
        try:
            c.query(sql)
            return "acked"
        except ServerError as e:
            self.codes[e.code] = self.codes.get(e.code, 0) + 1
            if e.fields.get("S") == "FATAL":
                raise ConnectionError(str(e))
            time.sleep(0.005)
            return "unknown" if e.code == "08007" else "refused"
        finally:
            self.longest = max(self.longest, time.monotonic() - begin)

    def insert(self, c):
        n = self.n = self.n + 1
        self.unknown.add(n)
        how = self.statement(c, "INSERT INTO ledger VALUES " + ", ".join(f"({self.number}, {n}, {k}, 'row {n % 97}')" for k in range(3)))
        self.unknown.discard(n)
        getattr(self, how).add(n)

    def add(self, c):
        self.maybe_added += 1
        how = self.statement(c, f"UPDATE counter SET n = n + 1 WHERE client = {self.number}")
        if how != "unknown":
            self.maybe_added -= 1
        if how == "acked":
            self.added += 1

    def run(self):
        c = None
        while not self.ledger.stopping:
            try:
                if c is None:
                    c = Connection(self.ledger.address, timeout=60)
                    self.pid = c.key[0]
                self.insert(c)
                self.add(c)
            except (OSError, ConnectionError, ServerError):
                self.lost_connections += 1
                c = None
                time.sleep(0.02)
        if c:
            c.close()


class Reader(threading.Thread):
    """Reads all the time; remembers the highest of what it saw, the longest wait, and errors."""

    def __init__(self, ledger):
        super().__init__(daemon=True)
        self.ledger = ledger
        self.reads, self.longest, self.lost_connections, self.errors = 0, 0.0, 0, []
        self.counts, self.tops, self.torn = {}, {}, []

    def look(self, c):
        for client, top, rows in c.query("SELECT client, max(n), count(*) FROM ledger GROUP BY client"):
            self.tops[int(client)] = max(self.tops.get(int(client), 0), int(top))
            if int(rows) % 3:
                self.torn.append(f"client {int(client)}: {int(rows)} rows")
        for client, n in c.query("SELECT client, n FROM counter"):
            self.counts[int(client)] = max(self.counts.get(int(client), 0), int(n))

    def run(self):
        c = None
        while not self.ledger.stopping:
            try:
                if c is None:
                    c = Connection(self.ledger.address, timeout=60)
                begin = time.monotonic()
                self.look(c)
                self.longest = max(self.longest, time.monotonic() - begin)
                self.reads += 1
                time.sleep(0.002)
            except ServerError as e:
                self.errors.append(str(e))
                if e.fields.get("S") == "FATAL":
                    c = None
                time.sleep(0.02)
            except (OSError, ConnectionError):
                self.lost_connections += 1
                c = None
                time.sleep(0.02)
        if c:
            c.close()


class Bulk(Client):
    """COPYs batches that need several frames, adds 1 to all rows of one, makes and drops tables. All of it is judged like the groups."""

    ROWS = 20000

    def __init__(self, ledger, number):
        super().__init__(ledger, number)
        self.batches = {}   # batch -> [state of its COPY, additions, additions that may be]
        self.tables = {}    # number -> [states in which it may be: True, False]

    def outcome(self, work):
        begin = time.monotonic()
        try:
            work()
            return "acked"
        except ServerError as e:
            self.codes[e.code] = self.codes.get(e.code, 0) + 1
            if e.fields.get("S") == "FATAL":
                raise ConnectionError(str(e))
            time.sleep(0.005)
            return "unknown" if e.code == "08007" else "refused"
        finally:
            self.longest = max(self.longest, time.monotonic() - begin)

    def copy(self, c):
        self.n += 1
        b = self.batches[self.n] = ["unknown", 0, 0]
        first = self.n * self.ROWS
        data = "".join(f"{first + i}\t{self.n}\t0\tsome text of row {i % 1000} in batch {self.n}\n" for i in range(self.ROWS)).encode()
        b[0] = self.outcome(lambda: c.copy_in("COPY bulk FROM STDIN", data))

    def raise_all(self, c):
        b = self.batches[self.n]
        b[2] += 1
        how = self.outcome(lambda: c.query(f"UPDATE bulk SET v = v + 1, note = note || '.' WHERE batch = {self.n}"))
        b[2] -= how != "unknown"
        b[1] += how == "acked"

    def table(self, c):
        n = self.n
        self.tables[n] = [True, False]
        how = self.outcome(lambda: c.query(f"CREATE TABLE made_{n} (id integer PRIMARY KEY, note text)"))
        self.tables[n] = {"acked": [True], "refused": [False], "unknown": [True, False]}[how]
        if how == "acked" and n % 2:
            self.tables[n] = [True, False]
            how = self.outcome(lambda: c.query(f"DROP TABLE made_{n}"))
            self.tables[n] = {"acked": [False], "refused": [True], "unknown": [True, False]}[how]

    def run(self):
        c = None
        while not self.ledger.stopping:
            try:
                if c is None:
                    c = Connection(self.ledger.address, timeout=60)
                self.copy(c)
                self.raise_all(c)
                self.table(c)
            except (OSError, ConnectionError, ServerError):
                self.lost_connections += 1
                c = None
                time.sleep(0.02)
        if c:
            c.close()

    def compare(self, c, lost, phantoms):
        found = {int(b): (int(n), int(low), int(high)) for b, n, low, high in c.query("SELECT batch, count(*), min(v), max(v) FROM bulk GROUP BY batch")}
        for n, (state, sure, maybe) in self.batches.items():
            if n not in found:
                lost += [f"batch {n}"] if state == "acked" else []
                continue
            rows, low, high = found[n]
            if state == "refused" or rows != self.ROWS or low != high or high > sure + maybe:
                phantoms.append(f"batch {n} ({state}): {rows} rows, v {low} to {high}, expected {sure} + {maybe}")
            if low < sure:
                lost.append(f"batch {n}: v {low} < {sure}")
        for n, states in self.tables.items():
            try:
                c.query(f"SELECT count(*) FROM made_{n}")
                there = True
            except ServerError:
                there = False
            if there not in states:
                (phantoms if there else lost).append(f"table made_{n}: {there}, may be {states}")


class Ledger:
    def __init__(self, server, clients=4, readers=1, bulk=False):
        self.address = server.folder + f"/.s.PGSQL.{server.port}"
        self.server = server
        self.stopping = False
        self.clients = [Client(self, i) for i in range(clients)]
        self.readers = [Reader(self) for _ in range(readers)]
        self.bulk = [Bulk(self, 1000)] if bulk else []

    def create(self):
        c = Connection(self.address)
        for t in TABLES:
            c.query(t)
        if self.bulk:
            c.query("CREATE TABLE bulk (id bigint PRIMARY KEY, batch integer, v bigint, note text)")
        c.query("INSERT INTO counter VALUES " + ", ".join(f"({i}, 0)" for i in range(len(self.clients))))
        c.close()
        return self

    def start(self):
        for t in self.clients + self.readers + self.bulk:
            t.start()
        return self

    def stop(self):
        """True when every thread ended."""
        self.stopping = True
        for t in self.clients + self.readers + self.bulk:
            t.join(70)
        return not any(t.is_alive() for t in self.clients + self.readers + self.bulk)

    @property
    def acked(self):
        return sum(len(c.acked) + c.added for c in self.clients)

    @property
    def codes(self):
        found = {}
        for c in self.clients + self.bulk:
            for code, n in c.codes.items():
                found[code] = found.get(code, 0) + n
        return found

    @property
    def lost_connections(self):
        return sum(t.lost_connections for t in self.clients + self.readers + self.bulk)

    def wait_progress(self, seconds=30):
        """Seconds until the next acknowledgement; None: none came."""
        begin, before = time.monotonic(), self.acked
        while time.monotonic() - begin < seconds:
            if self.acked > before:
                return time.monotonic() - begin
            time.sleep(0.002)
        return None

    def compare(self, report, name):
        c = Connection(self.address)
        found = {}
        for client, n, rows in c.query("SELECT client, n, count(*) FROM ledger GROUP BY client, n"):
            found.setdefault(int(client), {})[int(n)] = int(rows)
        counters = {int(a): int(b) for a, b in c.query("SELECT client, n FROM counter")}
        lost, phantoms = [], []
        for b in self.bulk:
            b.compare(c, lost, phantoms)
        c.close()
        for t in self.clients:
            have, add = found.get(t.number, {}), counters.get(t.number, -1)
            lost += [f"client {t.number} group {n}" for n in t.acked if have.get(n) != 3]
            phantoms += [f"client {t.number} refused group {n}" for n in t.refused if n in have]
            phantoms += [f"client {t.number} group {n}: {k} rows" for n, k in have.items() if k != 3 or n > t.n]
            if add < t.added:
                lost.append(f"client {t.number} counter {add} < {t.added}")
            if add > t.added + t.maybe_added:
                phantoms.append(f"client {t.number} counter {add} > {t.added} + {t.maybe_added}")
            for r in self.readers:
                if r.tops.get(t.number, 0) and r.tops[t.number] not in have:
                    lost.append(f"client {t.number} group {r.tops[t.number]} was seen")
                if r.counts.get(t.number, 0) > add:
                    lost.append(f"client {t.number} counter {r.counts[t.number]} was seen, now {add}")
        phantoms += [x for r in self.readers for x in r.torn]
        report.check(f"{name}: nothing acknowledged or seen is lost, nothing appears in part or from nowhere ({self.acked} acknowledged)",
                     not lost and not phantoms, f"lost {lost[:5]}\nphantoms {phantoms[:5]}")
        return len(lost), len(phantoms)
