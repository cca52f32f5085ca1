"""pgwire: a small client of PostgreSQL's protocol for tests: simple and extended queries, COPY, SCRAM, and raw messages."""
import base64, hashlib, hmac, os, socket, struct


class ServerError(Exception):
    def __init__(self, fields):
        self.fields = fields
        self.code = fields.get("C", "")
        super().__init__(f"{fields.get('S')} {self.code}: {fields.get('M')}")


class Connection:
    """One connection. address: a Unix socket's path or (host, port)."""

    def __init__(self, address, user="root", database="ggs3db", password=None, timeout=60, parameters=None):
        family = socket.AF_UNIX if isinstance(address, str) else socket.AF_INET
        self.socket = socket.socket(family, socket.SOCK_STREAM)
        self.socket.settimeout(timeout)
        self.socket.connect(address)
        self.buffer = b""
        self.parameters, self.key, self.notices = {}, None, []
        self.status = b"?"
        pairs = {"user": user, "database": database, **(parameters or {})}
        body = b"".join(k.encode() + b"\0" + v.encode() + b"\0" for k, v in pairs.items()) + b"\0"
        self.raw(struct.pack("!II", len(body) + 8, 196608) + body)
        self.sign_in(user, password)

    # ---- messages ----
    def raw(self, data):
        self.socket.sendall(data)

    def send(self, kind, body=b""):
        self.raw(message(kind, body))

    def read(self):
        """The next message: (kind, body); errors are returned, not raised."""
        self.receive(5)
        n = 1 + struct.unpack("!I", self.buffer[1:5])[0]
        self.receive(n)
        kind, body, self.buffer = self.buffer[:1], self.buffer[5:n], self.buffer[n:]
        return kind, body

    def receive(self, want):
        """At least so many bytes in the buffer."""
        have, pieces = len(self.buffer), [self.buffer]
        while have < want:
            more = self.socket.recv(min(max(want - have, 1 << 16), 1 << 22))
            if not more:
                self.buffer = b"".join(pieces)
                raise ConnectionError("the server closed the connection")
            pieces.append(more)
            have += len(more)
        if len(pieces) > 1:
            self.buffer = b"".join(pieces)

    def messages(self, until=b"Z"):
        """All messages up to and including one of `until`."""
        found = []
        while True:
            kind, body = self.read()
            if kind == b"N":
                self.notices.append(fields_of(body))
            elif kind == b"S":
                name, value = body.split(b"\0")[:2]
                self.parameters[name.decode()] = value.decode()
            found.append((kind, body))
            if kind == b"Z":
                self.status = body
            if kind in until:
                return found

    def sign_in(self, user, password):
        while True:
            kind, body = self.read()
            if kind == b"E":
                raise ServerError(fields_of(body))
            if kind == b"R":
                what = struct.unpack("!I", body[:4])[0]
                if what == 10:
                    self.scram_first(body[4:])
                elif what == 11:
                    self.scram_final(body[4:], password or "")
                elif what == 12:
                    ensure_signature(body[4:], self.server_signature)
            elif kind == b"K":
                self.key = struct.unpack("!II", body)
            elif kind == b"S":
                name, value = body.split(b"\0")[:2]
                self.parameters[name.decode()] = value.decode()
            elif kind == b"N":
                self.notices.append(fields_of(body))
            elif kind == b"Z":
                self.status = body
                return

    def scram_first(self, mechanisms):
        if b"SCRAM-SHA-256\0" not in mechanisms:
            raise ConnectionError("no SCRAM-SHA-256")
        self.nonce = base64.b64encode(os.urandom(18)).decode()
        self.first_bare = f"n=,r={self.nonce}"
        first = ("n,," + self.first_bare).encode()
        self.send(b"p", b"SCRAM-SHA-256\0" + struct.pack("!I", len(first)) + first)

    def scram_final(self, data, password):
        server_first = data.decode()
        parts = dict(p.split("=", 1) for p in server_first.split(","))
        salted = hashlib.pbkdf2_hmac("sha256", password.encode(), base64.b64decode(parts["s"]), int(parts["i"]))
        client_key = hmac.digest(salted, b"Client Key", "sha256")
        without_proof = "c=biws,r=" + parts["r"]
        auth = ",".join([self.first_bare, server_first, without_proof]).encode()
        signature = hmac.digest(hashlib.sha256(client_key).digest(), auth, "sha256")
        proof = base64.b64encode(bytes(a ^ b for a, b in zip(client_key, signature))).decode()
        self.server_signature = hmac.digest(hmac.digest(salted, b"Server Key", "sha256"), auth, "sha256")
        self.send(b"p", f"{without_proof},p={proof}".encode())

    # ---- queries ----
    def query(self, sql):
        """Simple query: the rows (text) of the last result; raises the first error after the server is ready again."""
        self.send(b"Q", sql.encode() + b"\0")
        return self.result()

    def result(self):
        rows, error, self.tags, self.columns = [], None, [], []
        for kind, body in self.messages():
            if kind == b"T":
                rows = []
                self.columns = columns_of(body)
            elif kind == b"D":
                rows.append(row_of(body))
            elif kind == b"C":
                self.tags.append(body[:-1].decode())
            elif kind == b"E" and error is None:
                error = ServerError(fields_of(body))
        if error:
            raise error
        return rows

    def extended(self, sql, values=(), types=(), binary_results=False):
        """Parse, Bind, Describe, Execute, Sync with text parameters (None = NULL)."""
        body = b"\0" + sql.encode() + b"\0" + struct.pack("!H", len(types)) + b"".join(struct.pack("!I", t) for t in types)
        self.raw(message(b"P", body) + bind(values, binary_results) + message(b"D", b"P\0") + message(b"E", b"\0" + struct.pack("!I", 0)) +
                 message(b"S"))
        return self.result()

    def copy_in(self, sql, data, chunk=1 << 16):
        self.send(b"Q", sql.encode() + b"\0")
        kind, body = self.messages(b"GZ")[-1][0], None
        if kind != b"G":
            raise RuntimeError("no CopyInResponse")
        for at in range(0, len(data), chunk):
            self.send(b"d", data[at:at + chunk])
        self.send(b"c")
        self.result()
        return self.tags[-1]

    def close(self):
        try:
            self.send(b"X")
        except OSError:
            pass
        self.socket.close()


def message(kind, body=b""):
    return kind + struct.pack("!I", len(body) + 4) + body


def bind(values, binary_results=False, portal=b"", statement=b""):
    body = portal + b"\0" + statement + b"\0" + struct.pack("!HH", 0, len(values))
    for v in values:
        body += struct.pack("!i", -1) if v is None else struct.pack("!i", len(str(v).encode())) + str(v).encode()
    body += struct.pack("!HH", 1, 1 if binary_results else 0)
    return message(b"B", body)


def fields_of(body):
    return {p[:1].decode(): p[1:].decode("utf-8", "replace") for p in body.split(b"\0") if p}


def columns_of(body):
    """[(name, table oid, attribute, type oid, length, typmod, format)] of a RowDescription."""
    count, at, found = struct.unpack("!H", body[:2])[0], 2, []
    for _ in range(count):
        end = body.index(b"\0", at)
        found.append((body[at:end].decode(), *struct.unpack("!IHIhih", body[end + 1:end + 19])))
        at = end + 19
    return found


def row_of(body):
    count, at, row = struct.unpack("!H", body[:2])[0], 2, []
    for _ in range(count):
        n = struct.unpack("!i", body[at:at + 4])[0]
        at += 4
        row.append(None if n < 0 else body[at:at + n])
        at += max(n, 0)
    return row


def ensure_signature(data, expected):
    if base64.b64decode(data[2:]) != expected:
        raise ConnectionError("the server's signature is wrong")
