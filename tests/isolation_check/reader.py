"""reader: what one transaction saw: judged against its own writes, and turned into edges."""
from graph import LOCK, PRW, RW, WR
from history import LIST_WRITES, LISTS, PLACES, READS, SAVEPOINTS, TURNED, touches, written


class Reader:
    def __init__(self, check, t):
        self.c, self.t, self.tx = check, t, check.txs[t]
        self.level = check.level_of(self.tx)
        self.mute = self.level == "sr" and not self.tx.committed  # its snapshot need not fit into the order of those that committed
        self.own = []           # (operation, key or id, kind) of live changes so far, in order
        self.marks = {}
        self.absent = {}        # key -> tables in which it was not found (one snapshot)
        self.bases = {}         # (group, what) -> rows of others that were seen (one snapshot)
        self.fuzzy = set()      # groups of which this transaction flagged rows that are not known

    def run(self):
        for i, op in enumerate(self.tx.ops):
            if op.code in SAVEPOINTS:
                self.savepoint(op)
            elif op.result == "?" or op.failed:
                continue
            elif op.code in READS:
                self.read(op, int(op.args[0]), op.result, READS[op.code], RW)
            elif op.code == "N":
                self.read_range(op)
            elif op.code in "*&~":
                self.read_group(op)
            elif op.code in "#=":
                self.count(op)
            else:
                self.change(op)

    def savepoint(self, op):
        if op.failed:
            return
        n = int(op.args[0])
        if op.code == "s":
            self.marks[n] = len(self.own)
        elif op.code == "r":
            del self.own[self.marks.get(n, 0):]

    @property
    def one_snapshot(self):
        return self.level != "rc"

    def node(self, op):
        return self.c.point(self.t, op)

    def problem(self, name, *about):
        self.c.problem(name, self.tx, *about)

    # ---- edges ----

    def after(self, t, node, kind):
        """The commit of t comes before this point."""
        if t is not None and t != self.t and self.c.commit[t] is not None and not self.mute:
            self.c.graph.edge(self.c.commit[t], node, kind)

    def before(self, node, t, kind):
        if t is not None and t != self.t and self.c.commit[t] is not None and not self.mute:
            self.c.graph.edge(node, self.c.commit[t], kind)

    def may_be_seen(self, node, t):
        """Whether t may have committed before this point."""
        n = self.c.commit[t]
        return n is None or self.c.graph.begin[n] < self.c.graph.end[node]

    def may_be_missed(self, node, t):
        n = self.c.commit[t]
        return n is None or self.c.graph.end[n] > self.c.graph.begin[node]

    # ---- lists ----

    def own_writes(self, k):
        return [o for o, key, kind in self.own if kind == "list" and (o.code != "U" and key == k or o.code == "U" and touches(o, k))]

    def surely_wrote(self, op, k):
        """Whether a change of several rows changed this one: known when it is left."""
        if op.code != "U":
            return True
        key = self.c.keys.get(k)
        return self.tx.committed and op.live and key is not None and written(op) in key.values

    def read(self, op, k, text, table, kind):
        own = self.own_writes(k)
        if text == "-":
            self.not_found(op, k, table, kind, own)
            return
        key = self.c.keys.get(k)
        base = text
        if own:
            base = self.strip_own(op, k, text, own)
            if base is None:
                return
        if base and (key is None or not (key.text.startswith(base) and (len(key.text) == len(base) or key.text[len(base)] == ","))):
            self.wrong_list(op, k, base, key)
            return
        at = base.count(",") + 1 if base else 0
        if at == 0:
            return
        if not any(o.code in PLACES for o in own) and key.place[at] != table:
            self.problem("garbage: a list in the table that it had left, or had not reached", f"key {k}: {text}")
        self.saw(op, key, at, kind, bool(own))

    def strip_own(self, op, k, text, own):
        """The list without what this transaction appended itself; None: that is not what it appended."""
        mine = {written(o) for o in own}
        values = [int(v) for v in text.split(",")]
        tail = []
        while values and values[-1] in mine:
            tail.append(values.pop())
        expected = [written(o) for o in own if self.surely_wrote(o, k)]
        tail.reverse()
        if [v for v in tail if v in expected] != expected or tail != [written(o) for o in own if written(o) in tail]:
            self.problem("internal: a transaction does not see its own writes as it made them", f"key {k}: {text}")
            return None
        return ",".join(map(str, values))

    def wrong_list(self, op, k, base, key):
        """The list that was read is no beginning of the last one: why?"""
        values = base.split(",")
        if len(set(values)) < len(values):
            self.problem("duplicate: an element was read twice", f"key {k}: {base}")
            return
        for v in values:
            t, writer = self.c.value.get(int(v) if v.isdigit() else -1, (None, None))
            if t is None or not touches(writer, k):
                self.problem("garbage: a value was read that nobody wrote", f"key {k}: {base}")
                return
            if not writer.live:
                self.problem("G1a: a value was read that failed or was taken back by ROLLBACK TO", self.c.txs[t], f"key {k}: {base}")
                return
            if not self.c.txs[t].committed:
                self.problem("G1a: a value of a failed transaction was read", self.c.txs[t], f"key {k}: {base}")
                return
        self.problem("incompatible order: what was read is no beginning of what is left", f"key {k}: {base}", key.text if key else "-")

    def saw(self, op, key, at, kind, own):
        """Version number `at` of the list is what there was."""
        node, writer = self.node(op), key.writer
        last = at + 1 < len(writer) and writer[at + 1]
        if at and last is not False and writer[at] == last and writer[at] != self.t:
            self.problem("G1b: an intermediate value was read", self.c.txs[writer[at]], f"key {key.key}: {key.values[:at]}")
            return
        if at:
            self.after(writer[at], node, WR)
        if last is False or last is None or last == self.t:
            return
        if op.code in "FH" and op.result != "-":
            if op.live and self.tx.committed and self.c.commit[self.t] is not None:
                self.before(self.c.commit[self.t], last, LOCK)
            if not self.one_snapshot:
                return
        if own and not self.one_snapshot:
            return
        self.before(node, last, kind)

    def not_found(self, op, k, table, kind, own):
        place = LISTS if own else None
        sure = [o for o in own if self.surely_wrote(o, k)]
        for o in sure:
            place = PLACES.get(o.code, LISTS)
        if sure:
            if place == table:
                self.problem("internal: a transaction does not find its own row", f"key {k} in {table}")
            return
        key = self.c.keys.get(k)
        if own or key is None or (op.code in "FHAUVW" and not self.one_snapshot and key.moved):
            return
        node, writer = self.node(op), key.writer
        nowhere = self.absent.setdefault(k, set()) if self.one_snapshot else set()
        nowhere.add(table)
        fits = []
        for at in range(len(writer)):
            if key.place[at] in nowhere or at and (writer[at] is None or not self.may_be_seen(node, writer[at])):
                continue
            follower = writer[at + 1] if at + 1 < len(writer) else None
            if at and (follower == writer[at] or writer[at] == self.t):
                continue
            if follower is not None and follower != self.t and not self.may_be_missed(node, follower):
                continue
            fits.append(at)
        if not fits:
            self.problem("lost: a row was not found that was there all the time", f"key {k} in {table}", key.text)
        elif len(fits) == 1:
            self.saw(op, key, fits[0], PRW if op.code in "NU" else kind, False)
        else:
            self.c.stats["absent, not decided"] += 1

    def read_range(self, op):
        found = dict(r.split("|") for r in op.result.split(";")) if op.result != "-" else {}
        low, high = int(op.args[0]), int(op.args[1])
        if len(found) != (op.result.count(";") + 1 if op.result != "-" else 0) or not all(low <= int(k) <= high for k in found):
            self.problem("garbage: a range gave a row twice, or of outside", op.text())
            return
        for k in range(low, high + 1):
            self.read(op, k, found.get(str(k), "-"), LISTS, RW)

    # ---- items ----

    def read_group(self, op):
        group = int(op.args[0]) if op.code != "&" else int(op.args[0]) // 1000
        rows = [tuple(map(int, r.split("|"))) for r in op.result.split(";")] if op.result != "-" else []
        found = dict(rows)
        if len(found) != len(rows):
            self.problem("duplicate: an item was read twice", op.text())
        node, live_only = self.node(op), op.code == "~"
        born, left = self.own_items(group)
        for id_, flag in found.items():
            self.item_found(op, node, group, id_, flag, born, left)
        if group not in self.fuzzy:
            for id_ in self.c.groups.get(group, ()):
                if id_ not in found:
                    self.item_missing(node, id_, live_only, born, left, True)
            for id_ in born:
                if id_ not in found and not (id_ in left and (live_only or left[id_] == 0)):
                    self.problem("internal: a transaction does not find an item of its own", f"item {id_}")
        base = {i for i in found if i not in born} | {i for i in left if i not in born and (live_only or left[i] == 0)}
        self.compare_base(op, group, "live" if live_only or group % 2 else "all", len(base))

    def own_items(self, group):
        """Items this transaction inserted, and those it flagged (id -> v) or deleted (id -> 0), up to now."""
        born = {key for o, key, kind in self.own if kind == "born" and int(o.args[1]) == group}
        left = {}
        for o, key, kind in self.own:
            if kind == "left" and key // 1000 == group:
                left[key] = 0 if o.code == "x" else written(o)
            elif kind == "all left" and key == group:
                left.update((i, written(o)) for i in self.c.groups.get(group, ()) if self.c.items[i].flag == written(o))
        return born, left

    def item_found(self, op, node, group, id_, flag, born, left):
        item = self.c.items.get(id_)
        if group in self.fuzzy and flag and self.c.value.get(flag, (None,))[0] == self.t:
            return
        if id_ in left and left[id_] != flag or id_ in left and left[id_] == 0:
            self.problem("internal: a transaction does not see its own change of an item", f"item {id_}: {op.result}")
        elif id_ in left or id_ in born and flag == 0:
            return
        elif item is None or item.group != group:
            self.problem("G1a: an item was read that nobody committed", f"item {id_}", *[self.c.txs[t] for t, _ in self.c.insert.get(id_, ())])
        elif flag and flag != item.flag:
            self.problem("G1a: a flag was read that is not the last one", f"item {id_} flag {flag}, left {item.flag}")
        else:
            self.after(item.birth, node, WR)
            if flag:
                self.after(item.leaver, node, WR)
            elif item.leaver is not None:
                self.before(node, item.leaver, RW)

    def item_missing(self, node, id_, live_only, born, left, report):
        """A committed item of others was not among the rows."""
        item = self.c.items[id_]
        if id_ in born or id_ in left or item.birth == self.t:
            return
        leaves = item.leaver if item.leaver != self.t and (live_only or item.flag == 0) else None
        unborn = self.may_be_missed(node, item.birth)
        gone = leaves is not None and self.may_be_seen(node, leaves)
        if not unborn and not gone:
            if report:
                self.problem("phantom: an item was not found that was there all the time", f"item {id_}", self.c.txs[item.birth])
        elif not gone:
            self.before(node, item.birth, PRW)
        elif not unborn:
            self.after(leaves, node, WR)
        else:
            self.c.stats["absent, not decided"] += 1

    def count(self, op):
        group, node = int(op.args[0]), self.node(op)
        live = op.code == "=" or group % 2 == 1
        born, left = self.own_items(group)
        if group in self.fuzzy:
            return
        leaves_count = {i for i in left if live}
        n = int(op.result) - len(born - leaves_count) + len(leaves_count - born)
        low = high = 0
        for id_ in self.c.groups.get(group, ()):
            item = self.c.items[id_]
            if id_ in born or item.birth == self.t:
                continue
            leaver = item.leaver if live and item.leaver != self.t else None
            if self.may_be_seen(node, item.birth) and (leaver is None or self.may_be_missed(node, leaver)):
                high += 1
            if not self.may_be_missed(node, item.birth) and (leaver is None or not self.may_be_seen(node, leaver)):
                low += 1
        if not low <= n <= high:
            self.problem("phantom: a count that no moment had", op.text(), f"{n} of others, possible {low} to {high}")
        self.compare_base(op, group, "live" if live else "all", n)

    def compare_base(self, op, group, what, n):
        if group in self.fuzzy:
            return
        if what == "all" and not self.mute:
            self.c.note_count(group, n, self.t, self.node(op))
        if self.one_snapshot and self.bases.setdefault((group, what), n) != n:
            self.problem("phantom: one snapshot gave two counts", op.text(), f"{n} of others, before {self.bases[(group, what)]}")

    # ---- changes ----

    def change(self, op):
        code = op.code
        if code in "AVW" and op.rows == 0 or code == "U":
            self.rows_not_changed(op)
        if op.rows == 0:
            return
        if code in LIST_WRITES:
            self.own.append((op, int(op.args[0]), "list"))
        elif code == "+":
            self.own.append((op, int(op.args[0]), "born"))
        elif code in "/x":
            self.own.append((op, int(op.args[0]), "left"))
        elif code == "^":
            group = int(op.args[0])
            if not (self.tx.committed and op.live):
                self.fuzzy.add(group)
            self.own.append((op, group, "all left"))
            if self.tx.committed and op.live and self.one_snapshot and group not in self.fuzzy:
                born, left = self.own_items(group)
                for id_ in self.c.groups.get(group, ()):
                    self.item_missing(self.node(op), id_, True, born, left, True)

    def rows_not_changed(self, op):
        """A change that did not find a key has seen that it is absent."""
        if op.code != "U":
            self.not_found(op, int(op.args[0]), TURNED if op.code == "W" else LISTS, RW, self.own_writes(int(op.args[0])))
        elif self.tx.committed and op.live and self.one_snapshot:
            for k in range(int(op.args[0]), int(op.args[1]) + 1):
                key = self.c.keys.get(k)
                if key is not None and written(op) not in key.values:
                    self.not_found(op, k, LISTS, PRW, self.own_writes(k))
