"""spec: read the text files in specs/ (their form is described in README.md)."""
import itertools, os, random, re

STEP = re.compile(r"(\w+)(!?): (.*)$")


class SpecError(Exception):
    pass


class Step:
    """One statement (or backslash command) of a session. patient: it may take its time, an answer is waited for."""

    def __init__(self, name, patient, session, text):
        self.name, self.patient, self.session, self.text = name, patient, session, text

    def filled(self, values):
        return Step(self.name, self.patient, self.session, fill(self.text, values))


class Spec:
    def __init__(self, path):
        self.name = os.path.basename(path)[:-len(".spec")]
        self.setup, self.check, self.steps, self.vary, self.runs = [], [], {}, [], []
        self.sessions = {}  # name -> its steps in order
        self.openings = []  # steps before every run's own
        self.serial = False  # what commits must be explained by running it one transaction after the other
        self.differs = {}   # (values, order) -> (reason, the lines that differ)
        with open(path, encoding="utf-8") as f:
            self.lines = f.read().splitlines()
        self.read()
        text = "\n".join(self.lines)
        self.tables = sorted(set(re.findall(r"CREATE TABLE (?:IF NOT EXISTS )?(\w+)", text)))
        # What a session keeps beyond its transaction is not carried into the next run.
        self.fresh = bool(re.search(r"[:;] (RE)?SET (?!TRANSACTION)|\\|advisory", text))

    def read(self):
        section, session, reason, headers = None, None, "", []
        for number, line in enumerate(self.lines, 1):
            if not line.strip() or line.startswith("#"):
                continue
            if not line.startswith(" "):
                word, _, rest = line.partition(" ")
                if word != "differs":
                    headers = []
                elif section != "differs" or any(self.differs[h][1] for h in headers):
                    headers = []
                section = word
                if word == "session":
                    session, _, opening = rest.strip().partition(": ")
                    self.sessions[session] = []
                    if opening:
                        self.openings.append(Step("open_" + session, False, session, opening))
                elif word == "vary":
                    name, _, values = rest.partition(": ")
                    self.vary.append((name, [v.strip() for v in values.split("|")]))
                elif word == "run":
                    self.runs.append(rest.split())
                elif word == "because":
                    reason = rest.strip()
                elif word == "differs":
                    values, _, order = rest.rpartition(": ")
                    headers.append((values.strip(), tuple(order.split())))
                    self.differs[headers[-1]] = (reason, [])
                elif word == "serial":
                    self.serial = True
                elif word not in ("setup", "check"):
                    raise SpecError(f"{self.name}:{number}: what is \"{word}\"?")
                continue
            text = line.strip()
            if section in ("setup", "check"):
                getattr(self, section).append(text)
            elif section == "differs":
                for h in headers:
                    self.differs[h][1].append(text)
            elif section == "because":
                reason += " " + text
            elif section == "session" and STEP.match(text):
                name, patient, sql = STEP.match(text).groups()
                if name in self.steps:
                    raise SpecError(f"{self.name}:{number}: step {name} is there twice")
                self.steps[name] = Step(name, bool(patient), session, sql)
                self.sessions[session].append(name)
            else:
                raise SpecError(f"{self.name}:{number}: not understood: {text}")

    def orders(self):
        """Every order of steps that the run lines ask for."""
        found = {}
        for run in self.runs:
            if run[0] == "all":
                found.update(dict.fromkeys(self.interleavings(run[1:])))
            elif run[0] == "some":
                every = list(self.interleavings(run[2:]))
                found.update(dict.fromkeys(random.Random(len(every)).sample(every, min(int(run[1]), len(every)))))
            else:
                wrong = [s for s in run if s not in self.steps]
                if wrong:
                    raise SpecError(f"{self.name}: run names {' '.join(wrong)}, which are no steps")
                found[tuple(run)] = None
        return list(found)

    def interleavings(self, sessions):
        """All orders that keep each session's own; of all sessions or of those named."""
        chosen = [self.sessions[s] for s in (sessions or self.sessions)]

        def merge(at):
            if all(i == len(steps) for i, steps in zip(at, chosen)):
                yield ()
            for which, steps in enumerate(chosen):
                if at[which] < len(steps):
                    rest = list(at)
                    rest[which] += 1
                    for tail in merge(rest):
                        yield (steps[at[which]],) + tail
        return merge([0] * len(chosen))

    def cases(self):
        """Every (values, order) to be run; values: name -> text of each varied word."""
        for chosen in itertools.product(*(v for _, v in self.vary)):
            values = dict(zip((n for n, _ in self.vary), chosen))
            for order in self.orders():
                yield values, order


def outcomes(spec, lines):
    """session -> the results of its steps in order, of those whose transaction committed; and what the checks gave."""
    said = {}
    for line in lines:
        step, _, result = line.removeprefix("woken ").partition(": ")
        if step in spec.steps and result != "waits":
            said.setdefault(spec.steps[step].session, []).append(result)
    return {s: r for s, r in said.items() if r[-1] == "COMMIT"}, [l for l in lines if l.startswith("check: ")]


def fill(text, values):
    for name, value in values.items():
        text = text.replace("$" + name, value)
    return text


def title(values):
    return ", ".join(f"{n}={v}" for n, v in values.items())
