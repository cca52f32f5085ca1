"""play: run one order of a spec's steps on one server and write down what happened, a line an event.

A step that waits is found by asking the server itself: pg_locks shows its process as not granted, twice, CONFIRM apart, and no answer has come. What a
session does while another one's step is run ("woken") is written below that step. A session that waits gets its next steps when it is awake again.
"""
import os, select, signal, socket, struct, sys, time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "lib"))
from pgwire import Connection, ServerError, bind, fields_of, message, row_of  # noqa: E402
from spec import fill  # noqa: E402

CONFIRM = 0.02         # a wait is a wait when it is still there after so long; longer than the oracle's deadlock_timeout
CONFIRM_SIGNAL = 0.15  # the same after a cancel or the death of a process, which reach others a moment later
BLIND = 0.3            # a server without pg_locks: no answer for so long is a wait
PATIENCE = 20.0


class Stuck(Exception):
    pass


class Target:
    """A server to play on. oracle: it is a PostgreSQL."""

    def __init__(self, folder, port, database, oracle):
        self.address, self.database, self.oracle = f"{folder}/.s.PGSQL.{port}", database, oracle
        self.control = self.connect()
        try:
            self.waiting()
            self.sees_locks = True
        except ServerError:
            self.sees_locks = False

    def connect(self):
        return Connection(self.address, database=self.database)

    def waiting(self):
        return {int(row[0]) for row in self.control.query("SELECT pid FROM pg_locks WHERE NOT granted")}

    def kill(self, pid, crash):
        """End a backend; crash: as suddenly as the server bears."""
        if crash and not self.oracle:
            os.kill(pid, signal.SIGKILL)
        else:
            self.control.query(f"SELECT pg_terminate_backend({pid})")


class Session:
    """One connection, and what it is doing. step: None or the step that is not answered yet."""

    def __init__(self, target, name):
        self.target, self.name = target, name
        self.step, self.pending, self.connection = None, [], None
        self.reconnect()

    def reconnect(self):
        if self.connection:
            self.connection.close()
        self.connection = self.target.connect()
        self.pid = self.connection.key[0]
        self.closed = False

    def renew(self, always):
        if always or self.closed or self.step or self.connection.status != b"I":
            self.reconnect()
        self.step, self.pending = None, []

    def begin(self, step):
        self.step, self.said, self.rows, self.until = step, [], [], b"Z"
        word, _, rest = step.text.partition(" ")
        if word == "\\execute":  # Parse, Bind, Execute without Sync
            self.until = b"CEIs"
            parse = b"\0" + rest.encode() + b"\0\0\0"
            self.connection.raw(message(b"P", parse) + bind(()) + message(b"E", b"\0\0\0\0\0") + message(b"H"))
        elif word == "\\prepare":
            name, _, sql = rest.partition(" ")
            self.until = b"1E"
            self.connection.raw(message(b"P", name.encode() + b"\0" + sql.encode() + b"\0\0\0") + message(b"H"))
        elif word == "\\run":  # Bind, Execute of what \prepare left
            self.until = b"CEIs"
            self.connection.raw(bind((), statement=rest.encode()) + message(b"E", b"\0\0\0\0\0") + message(b"H"))
        elif word == "\\sync":
            self.connection.send(b"S")
        elif word == "\\closed":  # the server ends the connection by itself
            self.until = b""
        else:
            self.connection.send(b"Q", step.text.encode() + b"\0")

    def readable(self, timeout=0):
        return len(self.connection.buffer) >= 5 or bool(select.select([self.connection.socket], [], [], timeout)[0])

    def take(self):
        """Read what has come; true when the step is answered."""
        while self.readable():
            try:
                kind, body = self.connection.read()
            except (ConnectionError, OSError):
                self.say("the connection is closed")
                self.closed = True
                return True
            self.note(kind, body)
            if kind in self.until:
                return True
        return False

    def note(self, kind, body):
        if kind == b"D":
            self.rows.append("(" + "|".join("NULL" if v is None else v.decode() for v in row_of(body)) + ")")
        elif kind in (b"C", b"I", b"s"):
            if "order by" not in self.step.text.lower():
                self.rows.sort()
            self.said += self.rows + [{b"C": body[:-1].decode(), b"I": "(empty)", b"s": "(suspended)"}[kind]]
            self.rows = []
        elif kind in (b"E", b"N"):
            f = fields_of(body)
            self.rows = []
            self.say(f"{f.get('S')} {f.get('C')} {f.get('M')}")
        elif kind == b"Z":
            self.connection.status = body
            if body != b"I":
                self.say(f"[{body.decode()}]")

    def say(self, text):
        self.said.append(text)

    def result(self):
        self.step = None
        return " ".join(self.said)


class Player:
    """Plays the cases of one spec after another on one target."""

    def __init__(self, target):
        self.target, self.sessions = target, {}
        self.stained = False  # the last run may have left settings in its sessions

    def prepare(self, spec):
        for name in [n for n in self.sessions if n not in spec.sessions]:
            self.sessions.pop(name).connection.close()
        for name in spec.sessions:
            if name in self.sessions:
                self.sessions[name].renew(self.stained)
            else:
                self.sessions[name] = Session(self.target, name)
        self.stained = spec.fresh

    def play(self, spec, values, order):
        """The lines of one run."""
        self.lines, self.confirm = [], CONFIRM
        control = self.target.control
        self.prepare(spec)
        for sql in [f"DROP TABLE IF EXISTS {t}" for t in spec.tables] + spec.setup:
            control.query(fill(sql, values))
        try:
            for step in spec.openings + [spec.steps[name] for name in order]:
                self.run(step.filled(values))
        except Stuck as e:
            self.lines.append(str(e))
        for s in self.sessions.values():
            if s.step:
                self.lines.append(f"{s.step.name}: still waits")
                s.reconnect()
        for sql in spec.check:
            try:
                rows = control.query(fill(sql, values))
                said = ["(" + "|".join("NULL" if v is None else v.decode() for v in row) + ")" for row in rows]
                self.lines.append("check: " + " ".join(said if "order by" in sql.lower() else sorted(said)))
            except ServerError as e:
                self.lines.append(f"check: {e}")
        return self.lines

    def run(self, step):
        """Run a step, or keep it for when its session is awake; then what the woken ones had kept."""
        s = self.sessions[step.session]
        if s.step:
            s.pending.append(step)
            return
        word, _, rest = step.text.partition(" ")
        if word in ("\\cancel", "\\kill", "\\crash", "\\disconnect", "\\connect"):
            self.lines.append(f"{step.name}: {step.text}")
            self.outside(s, word, rest)
            answered = self.settle(CONFIRM_SIGNAL)
        else:
            s.begin(step)
            answered = self.settle(CONFIRM)
            self.lines.append(f"{step.name}: " + (s.result() if s in answered else "waits"))
        woken = sorted((w for w in answered if w is not s), key=lambda w: w.name)
        for w in woken:
            name = w.step.name
            self.lines.append(f"woken {name}: {w.result()}")
        for w in ([s] if s in answered else []) + woken:
            while w.pending and not w.step:
                self.run(w.pending.pop(0))

    def outside(self, s, word, other):
        """A command that does not go through the session's own connection."""
        if word == "\\cancel":
            other = self.sessions[other]
            with socket.socket(socket.AF_UNIX) as c:
                c.connect(self.target.address)
                c.sendall(struct.pack("!IIII", 16, 80877102, *other.connection.key))
                c.settimeout(PATIENCE)
                c.recv(1)
        elif word in ("\\kill", "\\crash"):
            other = self.sessions[other]
            self.target.kill(other.pid, word == "\\crash")
            self.gone(other.pid)
            if word == "\\crash" or not other.step:
                other.closed, other.step = True, None
        elif word == "\\disconnect":
            s.connection.socket.close()
            s.closed = True
            self.gone(s.pid)
        elif word == "\\connect":
            s.reconnect()

    @staticmethod
    def gone(pid):
        until = time.monotonic() + PATIENCE
        while os.path.exists(f"/proc/{pid}"):
            if time.monotonic() > until:
                raise Stuck(f"process {pid} does not end")
            time.sleep(0.002)

    def settle(self, confirm):
        """Until every busy session has answered or waits for sure; those that have answered."""
        answered, seen, began, pause = [], {}, time.monotonic(), 0.001
        while True:
            busy = [s for s in self.sessions.values() if s.step and s not in answered]
            if not busy:
                return answered
            sockets = {s.connection.socket: s for s in busy}
            ready = select.select(list(sockets), [], [], pause)[0]
            pause = min(pause * 2, 0.008)
            done = [sockets[r] for r in ready if sockets[r].take()]
            if done:
                answered += done
                seen = {}
                continue
            now = time.monotonic()
            if now - began > PATIENCE:
                raise Stuck(f"{busy[0].step.name}: neither an answer nor a wait in {PATIENCE:.0f} s")
            if self.target.sees_locks:
                waiting = self.target.waiting()
                seen = {s: seen.get(s, now) for s in busy if s.pid in waiting}
            else:
                seen = {s: began for s in busy if now - began > BLIND}
            if all(s in seen and now - seen[s] >= confirm and not s.step.patient for s in busy):
                return answered
