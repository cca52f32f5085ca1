"""history: what the load driver wrote (load.c describes the lines) and the state that was left, as Python objects.

Codes of operations; v is a number that no other operation of the run uses:
    A k ,v        append v to the list k                         =rows
    U a b ,v      append v to all lists of [a, b]                =rows
    R k, G k      read the list k in lists, in graves            the list
    F k, H k      read it in lists FOR UPDATE, FOR SHARE         the list
    N a b         read the lists of [a, b]                       k|list;...
    I k L, J k L  insert L into lists, into graves; the last element of L is v
    D k L, E k L  delete from lists, from graves where the list is L
    V k ,v, W k ,v append v to the list and turn its key: k to -k, -k to k     =rows
    Y k           read the list at -k             the list
    + id g        insert an item into group g
    * g, & a b    read a group by group, by id                   id|flag;...
    ~ g           read its items without a flag                  id|flag;...
    # g, = g      count all, count those without a flag
    ^ g v, / id v flag all of a group, one item, with v          =rows
    x id          delete an item                                 =rows
    B v n         insert n rows marked v into ballast
    s n, r n, l n SAVEPOINT, ROLLBACK TO, RELEASE of savepoint n
"""

SAVEPOINTS = "srl"
LISTS, GRAVES, TURNED = "lists", "graves", "turned"
LIST_WRITES = "AUIJVW"
PLACES = {"I": LISTS, "J": GRAVES, "V": TURNED, "W": LISTS}   # where the list is from then on
READS = {"R": LISTS, "F": LISTS, "H": LISTS, "G": GRAVES, "Y": TURNED}
VALUED = LIST_WRITES + "^/B"
WRITES = VALUED + "DE+x"


class Op:
    __slots__ = ("code", "begin", "end", "args", "result", "live")

    def __init__(self, text):
        parts = text.split(" ")
        self.code, self.begin, self.end = parts[0], int(parts[1]), int(parts[2])
        self.args, self.result = parts[3:-1], parts[-1]
        self.live = True

    @property
    def rows(self):
        """Rows changed; None: an error, or no answer."""
        return int(self.result[1:]) if self.result[0] == "=" else None

    @property
    def failed(self):
        return self.result[0] == "!"

    def text(self):
        return " ".join([self.code, str(self.begin), str(self.end), *self.args, self.result])


class Tx:
    __slots__ = ("id", "client", "level", "mode", "outcome", "commit_begin", "commit_end", "ops", "committed")

    def __init__(self, line):
        head, *ops = line.split("\t")
        _, self.id, self.client, self.level, self.mode, self.outcome, begin, end = head.split(" ")
        self.commit_begin, self.commit_end = int(begin), int(end)
        self.ops = [Op(o) for o in ops]
        self.committed = self.outcome == "ok"

    def text(self):
        return "\t".join([f"T {self.id} {self.client} {self.level} {self.mode} {self.outcome} {self.commit_begin} {self.commit_end}",
                          *(o.text() for o in self.ops)])


class History:
    """Transactions in the order of their ends, and the final state: key -> list in lists and graves, id -> (group, flag), v -> rows of ballast."""

    def __init__(self):
        self.txs, self.lists, self.graves, self.items, self.ballast = [], {}, {}, {}, {}
        self.lost_connections = 0

    def add(self, lines):
        for line in lines:
            if line.startswith("T "):
                self.txs.append(Tx(line.rstrip("\n")))
            elif line.startswith("C "):
                self.lost_connections += int(line[2:])
            elif line.startswith("Z "):
                self.add_final(*line.split()[1:])
        return self

    def add_final(self, table, key, *rest):
        if table in ("lists", "graves"):
            getattr(self, table)[int(key)] = rest[0]
        elif table == "items":
            self.items[int(key)] = (int(rest[0]), int(rest[1]))
        else:
            self.ballast[int(key)] = int(rest[0])

    def final_lines(self):
        yield from (f"Z lists {k} {v}" for k, v in self.lists.items())
        yield from (f"Z graves {k} {v}" for k, v in self.graves.items())
        yield from (f"Z items {k} {g} {f}" for k, (g, f) in self.items.items())
        yield from (f"Z ballast {k} {n}" for k, n in self.ballast.items())


def mark_live(tx):
    """Sets op.live: neither failed nor taken back by ROLLBACK TO."""
    marks = {}
    for i, op in enumerate(tx.ops):
        op.live = not op.failed
        if op.code in SAVEPOINTS and op.live:
            n = int(op.args[0])
            if op.code == "s":
                marks[n] = i
            elif op.code == "r":
                for o in tx.ops[marks.get(n, 0) + 1:i]:
                    o.live = False


def written(op):
    """The v of an operation."""
    if op.code in "IJ":
        return int(op.args[1].rsplit(",", 1)[-1])
    if op.code == "B":
        return int(op.args[0])
    return int(op.args[-1].lstrip(","))


def touches(op, k):
    if op.code == "U":
        return int(op.args[0]) <= k <= int(op.args[1])
    return op.code in LIST_WRITES and int(op.args[0]) == k
