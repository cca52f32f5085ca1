"""facts: how the Python programs print their transcripts: sections of facts, one fact a line."""
import sys


def section(name):
    print("==", name, flush=True)


def fact(name, value):
    print(f"{name}: {value!r}" if not isinstance(value, str) else f"{name}: {value}".replace("\n", "\\n"), flush=True)


def digest(data):
    """A large value as its length, both ends and a checksum."""
    import hashlib
    raw = data.encode() if isinstance(data, str) else bytes(data)
    return f"{len(data)} long, {data[:8]!r}…{data[-8:]!r}, md5 {hashlib.md5(raw).hexdigest()}"


def asking(describe):
    """ask(name, f, …): prints what f() returns, or the error as describe(error) has it; other errors than describe knows (None) end the program."""
    def ask(name, f, *args, **named):
        try:
            fact(name, f(*args, **named))
        except Exception as e:
            text = describe(e)
            if text is None:
                raise
            fact(name, text)
    return ask


def values(kinds=("common", "far")):
    """(type, text or None) of the table `values` beside this file."""
    import os
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "values"), encoding="utf-8") as f:
        rows = [line.rstrip("\n").split("\t") for line in f if not line.startswith("#")]
    return [(t, None if text == "\\N" else text) for t, kind, text in rows if kind in kinds]
