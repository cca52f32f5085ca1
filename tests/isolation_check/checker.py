"""checker: is a recorded history possible at its isolation levels?

Direct checks come first: values from nowhere, of failed transactions, taken back by ROLLBACK TO, in the middle of a transaction; acknowledged writes that are
not there at the end; transactions that are there in part; a transaction that does not see its own writes. Then points in time (graph.py):

    SERIALIZABLE      a committed transaction is one point
    REPEATABLE READ   a snapshot, then a commit
    READ COMMITTED    a snapshot (of a change: the moment in which it had all its rows) per statement, then a commit

and edges: who wrote what was read comes before (wr); who was not seen comes after (rw; predicate-rw where a predicate did not find its row); who wrote what was
overwritten comes before (ww); at REPEATABLE READ and SERIALIZABLE before the snapshot, so that lost updates are cycles. Transactions whose outcome is unknown have happened if one of
their writes is seen at the end, whole; else nobody may have seen any.

The order of a list's versions is the list at the end: every list tells its history (history.py). Of an item only its birth and its end count. A row that is absent
may be not yet there, or gone: where the clock does not tell which, nothing follows.
"""
from collections import Counter

from graph import KIND_NAMES, ORDER, PRW, WW, Graph, anomaly_name
from history import GRAVES, LIST_WRITES, LISTS, PLACES, SAVEPOINTS, TURNED, VALUED, WRITES, mark_live, touches, written
from reader import Reader


class Key:
    """A list: its elements at the end, who wrote each, and in which table the row stood from then on."""
    __slots__ = ("key", "text", "values", "writer", "place", "moved")

    def __init__(self, key, text):
        self.key, self.text = key, text
        self.values = [int(v) for v in text.split(",") if v.isdigit()] if text else []
        self.writer, self.place, self.moved = [None], [None], False


class Item:
    """An item: who inserted it, who flagged or deleted it."""
    __slots__ = ("group", "birth", "birth_op", "leaver", "leaver_op", "flag")

    def __init__(self, group, birth, birth_op):
        self.group, self.birth, self.birth_op = group, birth, birth_op
        self.leaver = self.leaver_op = None
        self.flag = 0


class Checker:
    def __init__(self, history, as_if={}):
        """as_if: level -> the one by which its transactions are judged."""
        self.h, self.as_if = history, as_if
        self.txs = history.txs
        self.found = []
        self.graph = Graph()
        self.stats = Counter()
        self.counts = {}  # group -> count -> [(transaction, point)]

    def problem(self, name, *about):
        self.found.append((name, " | ".join(a.text() if hasattr(a, "text") else str(a) for a in about)))

    def run(self):
        self.index_writes()
        self.read_final_state()
        self.make_points()
        self.order_writes()
        for t in range(len(self.txs)):
            Reader(self, t).run()
        self.order_counts()
        if not any(name.startswith("garbage") for name, _ in self.found):
            self.find_cycles()
        return self.found

    def level_of(self, tx):
        return self.as_if.get(tx.level, tx.level)

    # ---- what was written, what is left ----

    def index_writes(self):
        """v -> (transaction, operation): of appends, births, moves, flags, ballast; id -> the insert of an item."""
        self.value, self.insert = {}, {}
        for t, tx in enumerate(self.txs):
            mark_live(tx)
            for op in tx.ops:
                if op.code == "+":
                    if op.live:
                        self.insert.setdefault(int(op.args[0]), []).append((t, op))
                elif op.code in VALUED:
                    self.value[written(op)] = (t, op)

    def read_final_state(self):
        h = self.h
        self.keys, self.place = {}, {}
        for table, rows in ((GRAVES, h.graves), (LISTS, h.lists)):
            for k, text in rows.items():
                if abs(k) in self.keys:
                    self.problem("torn move: a key is in two places", f"key {k}", text, self.keys[abs(k)].text)
                self.keys[abs(k)] = Key(abs(k), text)
                self.place[abs(k)] = TURNED if k < 0 else table
        self.decide_unknown()
        for k, key in self.keys.items():
            self.check_final_list(k, key)
        self.check_final_items()
        for t, tx in enumerate(self.txs):
            if tx.committed:
                self.check_all_there(t, tx)

    def decide_unknown(self):
        """A transaction without an answer has happened if something of it is left."""
        left = set()
        for key in self.keys.values():
            left.update(key.values)
        left.update(flag for _, flag in self.h.items.values())
        left.update(self.h.ballast)
        self.left = left
        for tx in self.txs:
            if tx.outcome == "unknown":
                tx.committed = any(o.live and (written(o) in left if o.code in VALUED else o.code == "+" and int(o.args[0]) in self.h.items) for o in tx.ops)
        deletes = [(tx, int(o.args[0])) for tx in self.txs for o in tx.ops if o.code == "x" and o.live and o.rows != 0 and tx.outcome != "failed"]
        gone = {id_ for tx, id_ in deletes if tx.committed}
        for tx, id_ in deletes:  # an acknowledged item can only be gone by a delete
            inserted = any(self.txs[t].committed for t, _ in self.insert.get(id_, ()))
            tx.committed |= inserted and id_ not in gone and id_ not in self.h.items
            gone.add(id_)
        self.gone = gone
        for id_ in gone:  # and only what was inserted could be deleted
            for t, op in self.insert.get(id_, ()):
                self.txs[t].committed |= self.txs[t].outcome == "unknown" and id_ not in self.h.items

    def check_final_list(self, k, key):
        seen, last = set(), None
        for v in key.values:
            if v in seen:
                self.problem("duplicate: an element stands twice", f"key {k}: {v}", key.text)
            seen.add(v)
            t, op = self.value.get(v, (None, None))
            if t is None or not touches(op, k):
                self.problem("garbage: an element that nobody wrote", f"key {k}: {v}", key.text)
                t = None
            elif not self.txs[t].committed:
                self.problem("G1a: the value of a failed transaction is left", self.txs[t], f"key {k}")
            elif not op.live:
                self.problem("lost rollback: a value is left that failed or was taken back", self.txs[t], f"key {k}")
            if t is not None and t != last and t in key.writer:
                self.problem("G0: another write stands between two of one transaction", self.txs[t], f"key {k}: {key.text}")
            last = t
            key.writer.append(t)
            place = key.place[-1]
            if op is not None:
                place = PLACES.get(op.code, place)
                key.moved |= op.code in PLACES and len(key.place) > 1
            key.place.append(place)
        where = self.place[k]
        if key.place[-1] != where:
            self.problem("torn move: a key is in the wrong place", f"key {k} in {where}: {key.text}")

    def check_final_items(self):
        h = self.h
        self.items, self.groups = {}, {}
        for id_, inserts in self.insert.items():
            for t, op in inserts:
                if self.txs[t].committed and (op.result != "?" or id_ in h.items or id_ in self.gone):
                    if id_ in self.items:
                        self.problem("duplicate: an item was inserted twice", self.txs[t], f"item {id_}")
                    self.items[id_] = Item(int(op.args[1]), t, op)
        for id_, item in self.items.items():
            self.groups.setdefault(item.group, []).append(id_)
        for id_, (group, flag) in h.items.items():
            item = self.items.get(id_)
            if item is None or item.group != group:
                self.problem("G1a: an item is left that nobody committed", f"item {id_} group {group} flag {flag}", *[self.txs[t] for t, _ in self.insert.get(id_, ())])
            elif flag:
                t, op = self.value.get(flag, (None, None))
                if t is None or int(op.args[0]) != (group if op.code == "^" else id_):
                    self.problem("garbage: a flag that nobody wrote", f"item {id_} flag {flag}")
                elif not self.txs[t].committed or not op.live:
                    self.problem("G1a: a flag is left that failed or was taken back", self.txs[t], f"item {id_}")
                else:
                    item.leaver, item.leaver_op, item.flag = t, op, flag
        deletes = [(t, tx, op) for t, tx in enumerate(self.txs) if tx.committed for op in tx.ops if op.code == "x" and op.live]
        for t, tx, op in deletes:
            if op.rows:
                self.note_delete(t, tx, op)
        for t, tx, op in deletes:
            item = self.items.get(int(op.args[0]))
            if op.rows is None and item is not None and item.leaver is None and int(op.args[0]) not in h.items:
                item.leaver, item.leaver_op = t, op
        for id_, item in self.items.items():
            if id_ not in h.items and item.leaver is None:
                self.problem("lost: an acknowledged item is gone", self.txs[item.birth], f"item {id_}")

    def note_delete(self, t, tx, op):
        id_ = int(op.args[0])
        item = self.items.get(id_)
        if item is None:
            if op.rows:
                self.problem("G1a: a delete found an item that nobody committed", tx)
        elif item.leaver is not None:
            if op.rows:
                self.problem("duplicate: an item was deleted twice", tx, self.txs[item.leaver])
        else:
            item.leaver, item.leaver_op = t, op
            if id_ in self.h.items:
                self.problem("lost: an acknowledged delete did not happen", tx, f"item {id_}")

    def check_all_there(self, t, tx):
        """Everything that a committed transaction did is left."""
        for op in tx.ops:
            if not op.live or op.code not in VALUED + "+":
                continue
            sure = op.rows is not None
            if op.code == "+":
                continue
            v = written(op)
            if op.code in LIST_WRITES and op.code != "U":
                key = self.keys.get(int(op.args[0]))
                there = key is not None and v in key.values
                if sure and op.rows > 0 and not there or not sure and tx.outcome == "unknown" and op.code in "IJ" and not there:
                    self.problem("lost: an acknowledged write is not there", tx, f"{op.code} {v}")
                elif sure and op.rows == 0 and there:
                    self.problem("garbage: a change of no row is there", tx, f"{op.code} {v}")
            elif op.code == "U":
                n = sum(v in self.keys[k].values for k in range(int(op.args[0]), int(op.args[1]) + 1) if k in self.keys)
                if sure and n != op.rows:
                    self.problem("lost: a change of several rows is there in part", tx, f"U {v}: {n} of {op.rows}")
            elif op.code == "^" and sure:
                n = sum(self.items[i].flag == v for i in self.groups.get(int(op.args[0]), ()))
                if n != op.rows:
                    self.problem("lost: flags are there in part", tx, f"^ {v}: {n} of {op.rows}")
            elif op.code == "/" and sure and op.rows and self.h.items.get(int(op.args[0]), (0, 0))[1] != v:
                self.problem("lost: an acknowledged flag is not there", tx, f"/ {v}")
            elif op.code == "B":
                n = self.h.ballast.get(v, 0)
                if n != int(op.args[1]):
                    self.problem("lost: rows of a large transaction are there in part", tx, f"B {v}: {n}")
        if tx.outcome == "unknown":
            for op in tx.ops:
                if op.code == "+" and op.live and int(op.args[0]) not in self.items:
                    self.problem("torn: a transaction without an answer is there in part", tx)
        for v in (written(o) for o in tx.ops if o.code == "B" and not o.live):
            if self.h.ballast.get(v):
                self.problem("lost rollback: rows of a large transaction are left", tx)

    # ---- points and the order of writes ----

    def make_points(self):
        g = self.graph
        self.commit, self.snap = [None] * len(self.txs), [None] * len(self.txs)
        for t, tx in enumerate(self.txs):
            level = self.level_of(tx)
            ops = [o for o in tx.ops if o.code not in SAVEPOINTS]
            if not ops:
                continue
            writes = any(o.code in WRITES + "FH" and o.live for o in tx.ops)
            commit_end = tx.commit_end if tx.outcome == "ok" else None
            if level == "sr" and tx.committed:
                self.snap[t] = self.commit[t] = g.node(t, ops[0].begin, commit_end)
                continue
            if tx.committed and writes:
                self.commit[t] = g.node(t, tx.commit_begin, commit_end)
            if level == "rc":
                self.make_statement_points(t, ops)
            else:
                self.snap[t] = g.node(t, ops[0].begin, ops[0].end)
                if self.commit[t] is not None:
                    g.edge(self.snap[t], self.commit[t], ORDER)

    def make_statement_points(self, t, ops):
        g, points, last = self.graph, {}, None
        for op in ops:
            n = points[id(op)] = g.node(t, op.begin, op.end)
            if last is not None:
                g.edge(last, n, ORDER)
            last = n
        if self.commit[t] is not None:
            g.edge(last, self.commit[t], ORDER)
        self.snap[t] = points

    def point(self, t, op):
        """Where the transaction looked when it did this."""
        s = self.snap[t]
        return s[id(op)] if isinstance(s, dict) else s

    def order_writes(self):
        for key in self.keys.values():
            for i in range(2, len(key.writer)):
                a, b = key.writer[i - 1], key.writer[i]
                if a is not None and b is not None and a != b and self.commit[a] is not None and self.commit[b] is not None:
                    self.graph.edge(self.commit[a], self.point(b, self.value[key.values[i - 1]][1]), WW)
        for item in self.items.values():
            if item.leaver is not None and item.leaver != item.birth and self.commit[item.birth] is not None and self.commit[item.leaver] is not None:
                self.graph.edge(self.commit[item.birth], self.point(item.leaver, item.leaver_op), WW)

    # ---- counts: a group of even number only grows, so who counted less looked earlier ----

    def note_count(self, group, n, t, node):
        self.counts.setdefault(group, {}).setdefault(n, []).append((t, node))

    def order_counts(self):
        for group, by_count in self.counts.items():
            before = None
            for n in sorted(by_count):
                here = self.graph.node(None)
                for t, node in by_count[n]:
                    self.graph.edge(node, here, PRW)
                    if before is not None:
                        self.graph.edge(before, node, PRW)
                if before is not None:
                    self.graph.edge(before, here, PRW)
                before = here
                inserted = {t for t, _ in by_count[n] if self.snap[t] == self.commit[t] and any(o.code == "+" and o.live and int(o.args[1]) == group for o in self.txs[t].ops)}
                for t in inserted:
                    for r, node in by_count[n]:
                        if r != t:
                            self.graph.edge(node, self.commit[t], PRW)

    # ---- cycles ----

    def find_cycles(self):
        g = self.graph
        g.add_real_time()
        for members in g.components():
            cycle = g.shortest_cycle(members)
            names = []
            for n, kind in cycle:
                if g.owner[n] is not None:
                    names.append(f"{self.txs[g.owner[n]].text()}  --{KIND_NAMES[kind]}->")
            self.found.append((anomaly_name(cycle, g.owner), "\n    ".join(["", *names])))


def judge(history):
    """What is wrong with a history: [(name, details)]. SERIALIZABLE is judged twice: those that failed had a snapshot, too."""
    first = Checker(history)
    found = first.run()
    if not found and any(t.level == "sr" for t in history.txs):
        found = Checker(history, {"sr": "rr"}).run()
    return found, first
