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


class Ledger:
    def __init__(self, server, clients=4, readers=1):
        self.address = server.folder + f"/.s.PGSQL.{server.port}"
        self.server = server
        self.stopping = False
        self.clients = [Client(self, i) for i in range(clients)]
        self.readers = [Reader(self) for _ in range(readers)]

    def create(self):
        c = Connection(self.address)
        for t in TABLES:
            c.query(t)
        c.query("INSERT INTO counter VALUES " + ", ".join(f"({i}, 0)" for i in range(len(self.clients))))
        c.close()
        return self

    def start(self):
        for t in self.clients + self.readers:
            t.start()
        return self

    def stop(self):
        """True when every thread ended."""
        self.stopping = True
        for t in self.clients + self.readers:
            t.join(70)
        return not any(t.is_alive() for t in self.clients + self.readers)

    @property
    def acked(self):
        return sum(len(c.acked) + c.added for c in self.clients)

    @property
    def codes(self):
        found = {}
        for c in self.clients:
            for code, n in c.codes.items():
                found[code] = found.get(code, 0) + n
        return found

    @property
    def lost_connections(self):
        return sum(t.lost_connections for t in self.clients + self.readers)

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
        c.close()
        lost, phantoms = [], []
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
