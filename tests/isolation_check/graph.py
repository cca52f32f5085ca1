"""graph: points in time, edges "before", and the cycles among them.

A point is a snapshot that statements looked at, or a commit; it lies somewhere between two readings of the driver's clock (its interval). Each edge says that one
point must lie before another. A history is possible exactly when there is no cycle. Real time needs few edges: the points that ended feed a spine of
virtual nodes, in time order, and each point hangs on the last spine node before its beginning.
"""
from array import array

ORDER, WW, WR, RW, PRW, TIME, LOCK = range(7)
KIND_NAMES = ("order", "ww", "wr", "rw", "predicate-rw", "real-time", "lock")
NEVER = 1 << 60


class Graph:
    def __init__(self):
        self.begin, self.end, self.owner = [], [], []
        self.head, self.next, self.to, self.kind = array("i"), array("i"), array("i"), array("b")

    def node(self, owner, begin=None, end=None):
        """A point inside (begin, end); without them a virtual one."""
        self.begin.append(begin)
        self.end.append(end or NEVER)
        self.owner.append(owner)
        self.head.append(-1)
        return len(self.head) - 1

    def edge(self, a, b, kind):
        if a == b:
            return
        self.next.append(self.head[a])
        self.to.append(b)
        self.kind.append(kind)
        self.head[a] = len(self.to) - 1

    def successors(self, a):
        e = self.head[a]
        while e >= 0:
            yield self.to[e], self.kind[e]
            e = self.next[e]

    def add_real_time(self):
        points = [n for n in range(len(self.head)) if self.begin[n] is not None]
        ended = sorted((n for n in points if self.end[n] < NEVER), key=self.end.__getitem__)
        spine, at = None, 0
        for n in sorted(points, key=self.begin.__getitem__):
            if at < len(ended) and self.end[ended[at]] < self.begin[n]:
                before, spine = spine, self.node(None)
                if before is not None:
                    self.edge(before, spine, TIME)
                while at < len(ended) and self.end[ended[at]] < self.begin[n]:
                    self.edge(ended[at], spine, TIME)
                    at += 1
            if spine is not None:
                self.edge(spine, n, TIME)

    def peel(self):
        """Nodes that may be in cycles: what is left when nodes without predecessors go, again and again, and then those without successors."""
        count = len(self.head)
        degree = array("i", bytes(4 * count))
        for b in self.to:
            degree[b] += 1
        ready = [n for n in range(count) if degree[n] == 0]
        head, nxt, to = self.head, self.next, self.to
        left = bytearray(b"\1") * count
        while ready:
            n = ready.pop()
            left[n] = 0
            e = head[n]
            while e >= 0:
                b = to[e]
                degree[b] -= 1
                if degree[b] == 0:
                    ready.append(b)
                e = nxt[e]
        return left

    def components(self):
        """Strongly connected components of more than one node (Tarjan, without recursion)."""
        left = self.peel()
        index, low, on, stack, found, counter = {}, {}, set(), [], [], 0
        for root in (n for n in range(len(left)) if left[n]):
            if root in index:
                continue
            work = [(root, self.head[root])]
            index[root] = low[root] = counter
            counter += 1
            stack.append(root)
            on.add(root)
            while work:
                n, e = work.pop()
                descended = False
                while e >= 0:
                    b, e = self.to[e], self.next[e]
                    if not left[b]:
                        continue
                    if b not in index:
                        work.append((n, e))
                        index[b] = low[b] = counter
                        counter += 1
                        stack.append(b)
                        on.add(b)
                        work.append((b, self.head[b]))
                        descended = True
                        break
                    if b in on:
                        low[n] = min(low[n], index[b])
                if descended:
                    continue
                if low[n] == index[n]:
                    members = set()
                    while True:
                        m = stack.pop()
                        on.discard(m)
                        members.add(m)
                        if m == n:
                            break
                    if len(members) > 1:
                        found.append(members)
                if work:
                    p = work[-1][0]
                    low[p] = min(low[p], low[n])
        return found

    def shortest_cycle(self, members, tries=40):
        """[(node, kind of the edge to the next one)] of a short cycle among the members."""
        best = None
        for start in [m for m in members if self.owner[m] is not None][:tries]:
            path = self.cycle_from(start, members)
            if path and (best is None or len(path) < len(best)):
                best = path
        return best or []

    def cycle_from(self, start, members):
        came, wave, last = {}, [start], None
        while wave and not last:
            after = []
            for n in wave:
                for b, kind in self.successors(n):
                    if b == start:
                        last = (n, kind)
                    elif b in members and b not in came:
                        came[b] = (n, kind)
                        after.append(b)
            wave = after
        if not last:
            return []
        path = [last]
        while path[-1][0] != start:
            path.append(came[path[-1][0]])
        return path[::-1]


def anomaly_name(cycle, owner):
    """The name of a cycle by the kinds of its edges between transactions."""
    edges = []
    for i, (n, kind) in enumerate(cycle):
        b = cycle[(i + 1) % len(cycle)][0]
        if kind == TIME:
            if not edges or edges[-1] != TIME:
                edges.append(TIME)
        elif owner[n] != owner[b] or kind != ORDER:
            edges.append(kind)
    if len(edges) > 1 and edges[0] == edges[-1] == TIME:
        edges.pop()
    anti = [k in (RW, PRW, LOCK) for k in edges]  # who locks a row has read it
    count = sum(anti)
    adjacent = any(anti[i] and anti[i - 1] for i in range(len(anti))) and count > 1
    if count == 0:
        name = "G1c" if WR in edges else "G0"
    elif count == 1:
        name = "G-single"
    elif not adjacent:
        name = "G-nonadjacent"
    else:
        name = "G2" if PRW in edges else "G2-item"
    return name + ("-realtime" if TIME in edges else "") + (", lock" if LOCK in edges else "")
