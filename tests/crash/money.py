"""money: transactions of several statements against kill -9 of everything.

Clients move money from a row of `accounts` to a row of `vaults` and note it in `transfers`, in one transaction each, with a statement taken back by ROLLBACK TO in some. After each
kill and start: every acknowledged transfer is noted, none that failed; the balance of each row is what the noted transfers say, so none happened in part. Beside them one
session has changed all rows of a large table, and one has copied as many rows into it, in transactions that are open when everything dies: nothing of them is left. Or it
was committed, and all of it is there; or it was committing, and all or nothing is.
"""
import random, threading, time

from pgwire import Connection, ServerError

ACCOUNTS, START = 64, 1000
SUM = "SELECT count(*), sum(v), max(n) FROM bulk"


class Mover(threading.Thread):
    def __init__(self, address, number, n):
        super().__init__(daemon=True)
        self.address, self.number, self.n = address, number, n
        self.acked, self.failed, self.unknown, self.error = set(), set(), set(), None

    def move(self, c):
        n = self.n = self.n + 1
        source, target, amount = random.randrange(ACCOUNTS), random.randrange(ACCOUNTS), random.randint(1, 50)
        committing = False
        try:
            c.query(random.choice(("BEGIN", "BEGIN", "BEGIN ISOLATION LEVEL REPEATABLE READ")))
            c.query(f"UPDATE accounts SET balance = balance - {amount} WHERE id = {source}")
            if n % 5 == 0:
                c.query("SAVEPOINT s")
                c.query(f"UPDATE vaults SET balance = balance + 1000000 WHERE id = {target}")
                c.query("ROLLBACK TO s")
            c.query(f"UPDATE vaults SET balance = balance + {amount} WHERE id = {target}")
            c.query(f"INSERT INTO transfers VALUES ({self.number}, {n}, {source}, {target}, {amount})")
            committing = True
            c.query("ROLLBACK" if n % 11 == 0 else "COMMIT")
            (self.failed if n % 11 == 0 or c.tags[-1] != "COMMIT" else self.acked).add(n)
        except ServerError as e:
            (self.unknown if e.code == "08007" else self.failed).add(n)
            if e.code not in ("40001", "40P01", "55P03"):
                raise
            if not committing:
                c.query("ROLLBACK")
        except OSError:
            (self.unknown if committing else self.failed).add(n)
            raise

    def run(self):
        try:
            c = Connection(self.address)
            while True:
                self.move(c)
        except (OSError, ConnectionError):
            pass
        except ServerError as e:
            if e.fields.get("V") != "FATAL":
                self.error = str(e)


def long_change(c):
    """Changes all rows, part of it taken back, after a change of one row that was kept for a while."""
    c.query("BEGIN")
    c.query("UPDATE bulk SET v = v + 10 WHERE n = 5")
    c.query("UPDATE bulk SET v = v + 1, note = note || '+'")
    c.query("SAVEPOINT s")
    c.query("UPDATE bulk SET v = v + 1000 WHERE n % 2 = 0")
    c.query("INSERT INTO bulk VALUES (-5, 0, 'taken back')")
    c.query("ROLLBACK TO s")
    c.query("UPDATE bulk SET v = v + 100 WHERE n = 6")


def open_chains(address, rows, held):
    """Two long transactions that nobody ends."""
    try:
        c = Connection(address)
        held.append(c)
        long_change(c)
        d = Connection(address)
        held.append(d)
        d.query("BEGIN")
        d.copy_in("COPY bulk FROM STDIN", bulk_rows(rows, rows))
    except (OSError, ConnectionError, ServerError):
        return False
    return True


def commit_long(address):
    """A long transaction that is acknowledged, or not any more."""
    try:
        c = Connection(address)
        long_change(c)
        c.query("COMMIT")
        c.close()
    except (OSError, ConnectionError, ServerError):
        pass


def changed(sums, rows):
    """What long_change makes of the sums."""
    count, total, top = sums
    return count, total + rows + 110, top


def sums_of(c):
    return tuple(map(int, c.query(SUM)[0]))


def bulk_rows(first, count):
    return "".join(f"{first + i}\t1\tsome text of row {(first + i) % 1000}\n" for i in range(count)).encode()


def audit(c, threads, lost, phantoms):
    """Compares what is there with what clients were told, and the balances with the transfers."""
    transfers = [tuple(map(int, r)) for r in c.query("SELECT client, n, source, target, amount FROM transfers")]
    there = {(client, n) for client, n, *_ in transfers}
    for t in threads:
        lost += [f"client {t.number}: transfer {n}" for n in t.acked if (t.number, n) not in there]
        phantoms += [f"client {t.number}: failed transfer {n}" for n in t.failed if (t.number, n) in there]
    accounts, vaults = [START] * ACCOUNTS, [START] * ACCOUNTS
    for _, _, source, target, amount in transfers:
        accounts[source] -= amount
        vaults[target] += amount
    for table, expected in (("accounts", accounts), ("vaults", vaults)):
        found = {int(i): int(b) for i, b in c.query(f"SELECT id, balance FROM {table}")}
        phantoms += [f"{table} {i}: {found.get(i)}, transfers say {b}" for i, b in enumerate(expected) if found.get(i) != b]
    if len(there) != len(transfers):
        phantoms.append("a transfer stands twice")
    return len(transfers)


def money(report, server, rounds, rows, clients=32):
    address = server.folder + f"/.s.PGSQL.{server.port}"
    c = Connection(address)
    for t in ("accounts", "vaults"):
        c.query(f"CREATE TABLE {t} (id integer PRIMARY KEY, balance bigint NOT NULL)")
        c.query(f"INSERT INTO {t} VALUES " + ", ".join(f"({i}, {START})" for i in range(ACCOUNTS)))
    c.query("CREATE TABLE transfers (client integer, n integer, source integer, target integer, amount integer, PRIMARY KEY (client, n))")
    c.query("CREATE TABLE bulk (n bigint PRIMARY KEY, v bigint, note text)")
    c.copy_in("COPY bulk FROM STDIN", bulk_rows(0, rows))
    before = sums_of(c)
    c.close()
    first, lost, phantoms, errors, acked, total, opened = [0] * clients, [], [], [], 0, 0, 0
    for r in range(rounds):
        threads = [Mover(address, i, first[i]) for i in range(clients)]
        held = []
        for t in threads:
            t.start()
        allowed = {before}
        if r % 3 == 0:
            opened += open_chains(address, rows, held)
        elif r % 3 == 1:
            commit_long(address)
            allowed = {changed(before, rows)}
        else:
            threading.Thread(target=commit_long, args=(address,), daemon=True).start()
            allowed.add(changed(before, rows))
        time.sleep(random.uniform(0.2, 0.8))
        server.kill()
        for t in threads:
            t.join(30)
            first[t.number] = t.n
            errors += [t.error] if t.error else []
        acked += sum(len(t.acked) for t in threads)
        server.start()
        c = Connection(address)
        total = audit(c, threads, lost, phantoms)
        found = sums_of(c)
        if found not in allowed:
            phantoms.append(f"round {r}: the large table has {found}, not one of {allowed}")
        before = found
        c.query("INSERT INTO bulk VALUES (-1, 0, 'after')")
        c.query("DELETE FROM bulk WHERE n = -1")
        c.close()
    print(f"money: {rounds} kills, {acked} acknowledged transfers, {total} there, {opened} times long transactions were open; {len(lost)} lost, {len(phantoms)} wrong")
    report.check("money: sessions met no other error", not errors, "\n".join(errors[:5]))
    report.check("money: nothing acknowledged is lost", acked > 0 and not lost, "\n".join(lost[:10]))
    report.check("money: whole transactions only, balances as the transfers say", not phantoms, "\n".join(phantoms[:10]))
    report.check("money: long transactions were open at a kill", opened > 0 or rounds < 1)
    server.verify(report, "money")
