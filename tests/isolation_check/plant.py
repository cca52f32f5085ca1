"""plant: defects put into good histories, to see that the checker finds them.

A defect is a function that changes a history (a copy) and tells whether it found a place for it; `levels` says at which levels it is one. At the others of
`harmless` it must not be reported: what a level allows is no finding.
"""
from checker import judge
from history import LIST_WRITES, PLACES, READS, SAVEPOINTS, WRITES, History, Tx, mark_live, written

DEFECTS = []
EVERY = ("rc", "rr", "sr")
SNAPSHOT = ("rr", "sr")


def defect(levels=EVERY, harmless=()):
    def note(f):
        DEFECTS.append((f, levels, harmless))
        return f
    return note


class Site:
    """A history and what is needed to find a place in it."""

    def __init__(self, lines, level, rng):
        self.h, self.level, self.rng = History().add(lines), level, rng
        self.now = max(max(t.commit_end, t.commit_begin, *(o.end for o in t.ops), 0) for t in self.h.txs) + 10
        self.new_value = 900000000

    def shuffled(self, things):
        things = list(things)
        self.rng.shuffle(things)
        return things

    def reads(self, codes="RG"):
        """(transaction, index, operation) of lists that were found and that the transaction had not changed itself."""
        for t in self.shuffled(self.h.txs):
            if t.outcome == "ok":
                for i, o in enumerate(t.ops):
                    if o.code in codes and o.result[0] not in "-!?" and not changes_key(t, o.args[0]):
                        yield t, i, o

    def appends(self, outcome="ok"):
        for t in self.shuffled(self.h.txs):
            if t.outcome == outcome:
                for o in t.ops:
                    if o.code == "A" and o.result == "=1":
                        yield t, o

    def ends(self):
        """v -> (begin, end) of its transaction's commit, of committed ones."""
        return {written(o): (t.commit_begin, t.commit_end) for t in self.h.txs if t.outcome == "ok" for o in t.ops if o.code in LIST_WRITES}

    def final(self, k):
        return self.h.lists.get(k) or self.h.graves.get(k) or self.h.lists.get(-k) or ""

    def set_final(self, k, text):
        table = self.h.graves if k in self.h.graves else self.h.lists
        table[k if k in table else -k] = text

    def tx(self, text, begin=0, end=0, level=None, outcome="ok"):
        """A transaction of operations "code begin end args result" with times relative to the end of the history."""
        ops = []
        for o in text.split("; "):
            code, b, e, *rest = o.split(" ")
            ops.append(" ".join([code, str(self.now + int(b)), str(self.now + int(e)), *rest]))
        self.h.txs.append(Tx("\t".join([f"T {len(self.h.txs) + 1000000} 99 {level or self.level} b {outcome} {self.now + begin} {self.now + end}", *ops])))

    def value(self):
        self.new_value += 1
        return self.new_value

    def two_keys(self):
        """Two keys in lists, with their last lists."""
        keys = self.shuffled(k for k in self.h.lists if k > 0)[:2]
        return [(k, self.h.lists[k]) for k in keys]


def changes_key(t, k):
    return any(o.code in "AIJDEVW" and o.args[0] == k or o.code == "U" and int(o.args[0]) <= int(k) <= int(o.args[1]) for o in t.ops)


def replace_everywhere(site, k, change):
    """change(list of elements) on every reading of the key, and on its last list."""
    for t in site.h.txs:
        for o in t.ops:
            if o.code in READS and o.args[0] == str(abs(k)) and o.result[0] not in "-!?":
                o.result = ",".join(change(o.result.split(","))) or "-"
            elif o.code == "N" and o.result[0] not in "-!?":
                rows = [r.split("|") for r in o.result.split(";")]
                o.result = ";".join(f"{a}|{','.join(change(b.split(',')))}" if a == str(k) else f"{a}|{b}" for a, b in rows)
    site.set_final(k, ",".join(change(site.final(k).split(","))))


# ---- at every level ----

@defect()
def acknowledged_append_dropped(site):
    for t, o in site.appends():
        k, v = int(o.args[0]), o.args[1][1:]
        if v in site.final(k).split(","):
            replace_everywhere(site, k, lambda e: [x for x in e if x != v])
            return True


@defect()
def last_append_lost_at_the_end(site):
    for k, text in site.shuffled(site.h.lists.items()):
        if "," in text:
            site.h.lists[k] = text.rsplit(",", 1)[0]
            return True


@defect()
def stale_read(site):
    ends = site.ends()
    for t, i, o in site.reads("R"):
        values = o.result.split(",")
        owner = {v: ends.get(int(v)) for v in values}
        if len(values) > 1 and owner[values[-1]] != owner[values[-2]] and owner[values[-1]] and owner[values[-1]][1] < t.ops[0].begin:
            o.result = ",".join(values[:-1])
            return True


@defect()
def read_from_the_future(site):
    ends = site.ends()
    for t, i, o in site.reads("R"):
        text = site.final(int(o.args[0]))
        if text.startswith(o.result + ",") and int(o.args[0]) in site.h.lists:
            end = ends.get(int(text.rsplit(",", 1)[1]))
            if end and end[0] > max(o.end, t.commit_end):
                o.result = text
                return True


@defect()
def order_differs_in_one_read(site):
    for t, i, o in site.reads():
        values = o.result.split(",")
        if len(values) > 1:
            values[-2:] = values[:-3:-1]
            o.result = ",".join(values)
            return True


@defect()
def order_turned_against_time(site):
    ends = site.ends()
    for k, text in site.shuffled(site.h.lists.items()):
        values = text.split(",")
        for a, b in zip(values[1:], values[2:]):
            x, y = ends.get(int(a)), ends.get(int(b))
            if x and y and x[1] < y[0] and not any(o.code in PLACES and str(o.args[0]) == str(k) and written(o) in (int(a), int(b)) for t in site.h.txs for o in t.ops):
                def turn(e):
                    if a in e and b not in e:
                        return [b if v == a else v for v in e]
                    return [b if v == a else a if v == b else v for v in e]
                replace_everywhere(site, k, turn)
                return True


@defect()
def value_of_a_failed_transaction_read(site):
    for t, o in site.appends("failed"):
        for other, i, r in site.reads("R"):
            if r.args[0] == o.args[0] and other is not t:
                r.result += o.args[1]
                return True


@defect()
def value_of_a_failed_transaction_left(site):
    for t, o in site.appends("failed"):
        k = int(o.args[0])
        if k in site.h.lists:
            site.h.lists[k] += o.args[1]
            return True


@defect()
def value_of_a_vanished_transaction_read(site):
    for t, o in site.appends():
        k, v = int(o.args[0]), o.args[1][1:]
        if sum(x.code in WRITES for x in t.ops) == 1 and site.final(k).endswith("," + v):
            if any(x.code == "R" and x.args[0] == str(k) and x.result.endswith("," + v) for other in site.h.txs if other is not t for x in other.ops):
                t.outcome = "unknown"
                site.set_final(k, site.final(k)[:-len(v) - 1])
                return True
    k, text = site.two_keys()[0]
    v = site.value()
    site.tx(f"A 0 1 {k} ,{v} =1", 2, 3, outcome="unknown")
    site.tx(f"R 4 5 {k} {text},{v}", 6, 7)
    return True


@defect()
def duplicate(site):
    k, text = site.shuffled(site.h.lists.items())[0]
    site.h.lists[k] = text + "," + text.split(",")[0]
    return True


@defect()
def garbage(site):
    for t, i, o in site.reads():
        o.result += ",123456789"
        return True


@defect()
def taken_back_value_left(site):
    return put_taken_back(site, lambda k, v, t: site.set_final(k, site.final(k) + v) if site.final(k) else None)


@defect()
def taken_back_value_read(site):
    def put(k, v, t):
        for other, i, r in site.reads("R"):
            if int(r.args[0]) == k and other is not t:
                r.result += v
                return
    return put_taken_back(site, put)


def put_taken_back(site, put):
    for t, o in site.appends():
        mark_live(t)
        if not o.live:
            before = [x.text() for x in site.h.txs for x in x.ops], site.final(int(o.args[0]))
            put(int(o.args[0]), o.args[1], t)
            if before != ([x.text() for x in site.h.txs for x in x.ops], site.final(int(o.args[0]))):
                return True


@defect()
def own_write_not_seen(site):
    for t in site.shuffled(site.h.txs):
        for i, o in enumerate(t.ops):
            if o.code == "A" and o.result == "=1" and t.outcome == "ok":
                for r in t.ops[i + 1:]:
                    if r.code in SAVEPOINTS:
                        break
                    if r.code == "R" and r.args[0] == o.args[0] and r.result.endswith(o.args[1]):
                        r.result = r.result[:-len(o.args[1])]
                        return True
    k, text = site.two_keys()[0]
    v = site.value()
    site.tx(f"A 0 1 {k} ,{v} =1; R 2 3 {k} {text}", 4, 5)
    site.h.lists[k] += f",{v}"
    return True


@defect()
def intermediate_value_read(site):
    k, text = site.two_keys()[0]
    a, b = site.value(), site.value()
    site.tx(f"A 0 1 {k} ,{a} =1; A 2 3 {k} ,{b} =1", 4, 5)
    site.tx(f"R 2 4 {k} {text},{a}", 5, 6)
    site.h.lists[k] = f"{text},{a},{b}"
    return True


@defect()
def torn_change_of_several_rows(site):
    for t in site.shuffled(site.h.txs):
        for o in t.ops:
            if o.code == "U" and t.outcome == "ok" and o.rows and o.rows > 1:
                keys = [k for k in range(int(o.args[0]), int(o.args[1]) + 1) if o.args[2][1:] in site.final(k).split(",")]
                if keys:
                    replace_everywhere(site, keys[0], lambda e: [x for x in e if x != o.args[2][1:]])
                    return True
    (j, a), _ = site.two_keys()
    v = site.value()
    site.tx(f"U 0 1 {j} {j + 1} ,{v} =2", 2, 3)
    site.h.lists[j] = f"{a},{v}"
    return True


@defect()
def torn_snapshot_of_a_statement(site):
    (j, a), (k, b) = sorted(site.two_keys())
    for key in range(j + 1, k):
        site.h.lists.setdefault(key, None)
    v = site.value()
    site.h.lists = {key: text for key, text in site.h.lists.items() if text}
    site.tx(f"A 0 1 {j} ,{v} =1; A 2 3 {k} ,{v + 1} =1", 4, 5)
    rows = [f"{key}|{text}" for key, text in site.h.lists.items() if j < key < k]
    site.tx(f"N 2 9 {j} {k} " + ";".join([f"{j}|{a},{v}", *rows, f"{k}|{b}"]), 10, 11)
    site.h.lists[j], site.h.lists[k] = f"{a},{v}", f"{b},{v + 1}"
    return True


@defect()
def key_in_both_tables(site):
    k, text = site.two_keys()[0]
    site.h.graves[k] = text
    return True


@defect()
def key_gone(site):
    k, text = site.two_keys()[0]
    del site.h.lists[k]
    return True


@defect()
def row_not_found(site):
    ends = site.ends()
    moved = {o.args[0] for t in site.h.txs for o in t.ops if o.code in "JDEVW"}
    for t, i, o in site.reads("R"):
        end = ends.get(int(o.result.split(",")[0]))
        if o.args[0] not in moved and end and end[1] < t.ops[0].begin:
            o.result = "-"
            return True


@defect()
def phantom_missed(site):
    births = {o.args[0]: t.commit_end for t in site.h.txs if t.outcome == "ok" for o in t.ops if o.code == "+"}
    for t in site.shuffled(site.h.txs):
        for o in t.ops:
            if o.code == "*" and int(o.args[0]) % 2 == 0 and o.result[0] not in "-!?":
                for row in o.result.split(";"):
                    if births.get(row.split("|")[0], site.now) < t.ops[0].begin:
                        o.result = ";".join(r for r in o.result.split(";") if r != row) or "-"
                        return True


@defect()
def phantom_counted(site):
    for t in site.shuffled(site.h.txs):
        for o in t.ops:
            if o.code in "#=" and o.result.isdigit():
                o.result = str(int(o.result) + 21)
                return True


@defect()
def item_of_a_failed_transaction_read(site):
    for t in site.shuffled(site.h.txs):
        for o in t.ops:
            if o.code == "+" and t.outcome == "failed" and o.rows:
                for other in site.shuffled(site.h.txs):
                    for r in other.ops:
                        if r.code == "*" and r.args[0] == o.args[1] and r.result[0] not in "-!?":
                            r.result += f";{o.args[0]}|0"
                            return True


@defect()
def item_lost(site):
    id_, _ = site.shuffled((i, g) for i, (g, flag) in site.h.items.items() if g % 2 == 0)[0]
    del site.h.items[id_]
    return True


@defect()
def flag_lost(site):
    for id_, (group, flag) in site.shuffled(site.h.items.items()):
        if flag:
            site.h.items[id_] = (group, 0)
            return True


@defect()
def deleted_twice(site):
    for t in site.shuffled(site.h.txs):
        for o in t.ops:
            if o.code == "x" and o.rows and t.outcome == "ok":
                site.tx(f"x 0 1 {o.args[0]} =1", 2, 3)
                return True


@defect()
def part_of_a_large_transaction(site):
    v = site.value()
    site.tx(f"B 0 1 {v} 3000 =3000", 2, 3)
    site.h.ballast[v] = 2999
    return True


@defect()
def lock_passed_over(site):
    k, text = site.two_keys()[0]
    v = site.value()
    site.tx(f"F 0 1 {k} {text}", 10, 11)
    site.tx(f"A 2 3 {k} ,{v} =1", 4, 5)
    site.h.lists[k] += f",{v}"
    return True


# ---- of one snapshot ----

@defect(SNAPSHOT, harmless=("rc",))
def read_not_repeatable(site):
    k, text = site.two_keys()[0]
    v = site.value()
    site.tx(f"A 2 3 {k} ,{v} =1", 4, 5)
    site.tx(f"R 0 1 {k} {text}; R 6 7 {k} {text},{v}", 8, 9)
    site.h.lists[k] += f",{v}"
    return True


@defect(SNAPSHOT, harmless=("rc",))
def read_skew(site):
    (j, a), (k, b) = site.two_keys()
    v, w = site.value(), site.value()
    site.tx(f"A 2 3 {j} ,{v} =1; A 4 5 {k} ,{w} =1", 6, 7)
    site.tx(f"R 0 1 {j} {a}; R 8 9 {k} {b},{w}", 10, 11)
    site.h.lists[j], site.h.lists[k] = f"{a},{v}", f"{b},{w}"
    return True


@defect(SNAPSHOT, harmless=("rc",))
def phantom_in_one_snapshot(site):
    g, i = 90000, 90000000
    site.tx(f"+ 2 3 {i} {g} =1", 4, 5)
    site.tx(f"# 0 1 {g} 0; # 6 7 {g} 1", 8, 9)
    site.h.items[i] = (g, 0)
    return True


@defect(SNAPSHOT, harmless=("rc",))
def lost_update(site):
    k, text = site.two_keys()[0]
    v, w = site.value(), site.value()
    site.tx(f"R 0 1 {k} {text}; A 2 3 {k} ,{v} =1", 6, 7)
    site.tx(f"R 0 1 {k} {text}; A 4 9 {k} ,{w} =1", 10, 11)
    site.h.lists[k] = f"{text},{v},{w}"
    return True


@defect(SNAPSHOT, harmless=("rc",))
def long_fork(site):
    (j, a), (k, b) = site.two_keys()
    v, w = site.value(), site.value()
    site.tx(f"A 0 1 {j} ,{v} =1", 2, 30)
    site.tx(f"A 0 1 {k} ,{w} =1", 2, 30)
    site.tx(f"R 0 20 {j} {a},{v}; R 20 21 {k} {b}", 22, 23)
    site.tx(f"R 0 20 {j} {a}; R 20 21 {k} {b},{w}", 22, 23)
    site.h.lists[j], site.h.lists[k] = f"{a},{v}", f"{b},{w}"
    return True


# ---- of SERIALIZABLE ----

@defect(("sr",), harmless=("rc", "rr"))
def write_skew(site):
    (j, a), (k, b) = site.two_keys()
    v, w = site.value(), site.value()
    site.tx(f"R 0 1 {j} {a}; A 2 3 {k} ,{v} =1", 6, 7)
    site.tx(f"R 0 1 {k} {b}; A 2 3 {j} ,{w} =1", 6, 8)
    site.h.lists[j], site.h.lists[k] = f"{a},{w}", f"{b},{v}"
    return True


@defect(("sr",), harmless=("rc", "rr"))
def write_skew_of_absent_keys(site):
    j, k, v, w = 3000001, 3000002, site.value(), site.value()
    site.tx(f"R 0 1 {j} -; I 2 3 {k} {v} =1", 6, 7)
    site.tx(f"R 0 1 {k} -; I 2 3 {j} {w} =1", 6, 8)
    site.h.lists[j], site.h.lists[k] = str(w), str(v)
    return True


@defect(("sr",), harmless=("rc", "rr"))
def write_skew_of_counts(site):
    g, i = 90000, 90000000
    site.tx(f"# 0 1 {g} 0; + 2 3 {i} {g} =1", 6, 7)
    site.tx(f"# 0 1 {g} 0; + 2 3 {i + 1} {g} =1", 6, 8)
    site.h.items[i] = site.h.items[i + 1] = (g, 0)
    return True


@defect(("sr",), harmless=("rc", "rr"))
def write_skew_of_sets(site):
    g, i = 90001, 90001000
    site.tx(f"* 0 1 {g} -; + 2 3 {i} {g} =1", 6, 7)
    site.tx(f"~ 0 1 {g} -; + 2 3 {i + 1} {g} =1", 6, 8)
    site.h.items[i] = site.h.items[i + 1] = (g, 0)
    return True


@defect(("sr",), harmless=("rc", "rr"))
def write_skew_of_a_change_without_rows(site):
    j, k, v, w = 3000001, 3000002, site.value(), site.value()
    site.tx(f"A 0 1 {j} ,{site.value()} =0; I 2 3 {k} {v} =1", 6, 7)
    site.tx(f"U 0 1 {k} {k + 3} ,{site.value()} =0; I 2 3 {j} {w} =1", 6, 8)
    site.h.lists[j], site.h.lists[k] = str(w), str(v)
    return True


def plant_all(lines, level, rng, rounds):
    """Plants every defect `rounds` times. (how many were planted, kinds, [what was not found], [what was found though it is allowed], [for which there was no place])"""
    planted, missed, blamed, nowhere, kinds = 0, [], [], [], 0
    for f, levels, harmless in DEFECTS:
        if level not in levels and level not in harmless:
            continue
        kinds += level in levels
        for n in range(rounds if level in levels else 1):
            site = Site(lines, level, rng)
            if not f(site):
                nowhere.append(f.__name__)
                continue
            found, _ = judge(site.h)
            if level in levels:
                planted += 1
                missed += [] if found else [f.__name__]
            elif found:
                blamed.append(f"{f.__name__}: {found[0][0]}")
    return planted, kinds, missed, blamed, nowhere
