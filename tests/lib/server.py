"""server: start and stop ggs3db and a PostgreSQL oracle for tests, each in a folder of its own; talk to both with psql."""
import os, re, shutil, signal, socket, subprocess, tempfile, time

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PROGRAM = os.environ.get("GGS3DB", os.path.join(TOP, "ggs3db"))

with open(PROGRAM, "rb") as program:
    SANITIZED = b"__asan_init" in program.read()  # limits of memory do not hold for such a build


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def environment(**extra):
    env = {k: v for k, v in os.environ.items() if not k.startswith(("PG", "GGS3DB_"))}
    env.update(PGCONNECT_TIMEOUT="20", **extra)
    return env


class Server:
    """A ggs3db on a Unix socket and a loopback port of its own; with a password it asks for it on both."""

    def __init__(self, *options, folder=None, env=None, memory="2GB", password=None):
        self.own = folder is None
        self.folder = folder or tempfile.mkdtemp(prefix="ggs3db-test-")
        self.data = os.path.join(self.folder, "data")
        self.port = free_port()
        self.options = list(options)
        self.memory = memory
        self.password = password
        self.env = environment(**(env or {}), **({"GGS3DB_ROOT_PASSWORD": password} if password else {}))
        self.log_path = os.path.join(self.folder, "log")
        self.process = None

    def start(self, wait=True, seconds=120):
        with open(self.log_path, "ab") as log:
            mark = log.tell()
            self.process = subprocess.Popen(
                [PROGRAM, "-D", self.data, "-p", str(self.port), "-k", self.folder, "-c", f"memory={self.memory}",
                 "-c", "query_memory=1GB", "--allow-root", *self.options],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=self.env)
        until = time.monotonic() + seconds
        while wait and b"ready to accept connections" not in self.log_since(mark):
            if self.process.poll() is not None or time.monotonic() > until:
                raise RuntimeError("the server did not start:\n" + self.log()[-3000:])
            time.sleep(0.01)
        return self

    def log_since(self, mark):
        with open(self.log_path, "rb") as f:
            f.seek(mark)
            return f.read()

    def log(self):
        return self.log_since(0).decode("utf-8", "replace")

    def stop(self, how=signal.SIGINT, seconds=60):
        if self.process and self.process.poll() is None:
            self.process.send_signal(how)
            try:
                self.process.wait(seconds)
            except subprocess.TimeoutExpired:
                self.kill()
                raise RuntimeError("the server did not stop:\n" + self.log()[-3000:])
        return self.process.returncode if self.process else 0

    def children(self):
        """Process id -> title, of everything the postmaster forked."""
        found = {}
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{pid}/stat") as f:
                    parent = int(f.read().rsplit(")", 1)[1].split()[1])
                if parent == self.process.pid:
                    with open(f"/proc/{pid}/cmdline", "rb") as f:
                        found[int(pid)] = f.read().rstrip(b"\0").decode("utf-8", "replace")
            except (OSError, IndexError):
                pass
        return found

    def kill(self):
        """kill -9 of every process at once."""
        pids = [self.process.pid, *self.children()]
        for pid in pids:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        self.process.wait()
        for pid in pids[1:]:
            while os.path.exists(f"/proc/{pid}") and not gone(pid):
                time.sleep(0.002)

    def remove(self):
        self.stop()
        if self.own:
            shutil.rmtree(self.folder, ignore_errors=True)

    @property
    def dsn(self):
        return f"host={self.folder} port={self.port} user=root dbname=ggs3db" + (f" password='{self.password}'" if self.password else "")

    def psql(self, *commands, **more):
        return psql(self.dsn, *commands, **more)

    def pgbench(self, script, clients, seconds=None, transactions=None, options=()):
        """Run a script (or, when None, what options name) with pgbench: transactions done, what it said on stderr."""
        with tempfile.NamedTemporaryFile("w", suffix=".sql") as f:
            f.write(script or "")
            f.flush()
            argv = ["pgbench", "-n", "-M", "prepared", "-c", str(clients), "-j", "2", *(("-f", f.name) if script else ()), *options]
            argv += ["-T", str(seconds)] if seconds else ["-t", str(transactions)]
            done = subprocess.run(argv + [self.dsn], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment(), timeout=600)
            count = re.search(r"actually processed: (\d+)", done.stdout)
            return int(count.group(1)) if count else 0, done.stderr

    def held_bytes(self):
        """What the server's processes hold, shared pages counted once."""
        total = 0
        for pid in (self.process.pid, *self.children()):
            try:
                with open(f"/proc/{pid}/smaps_rollup") as f:
                    total += int(re.search(r"^Pss:\s+(\d+)", f.read(), re.M).group(1)) * 1024
            except (FileNotFoundError, ProcessLookupError):  # ended meanwhile
                pass
        return total

    def verify(self, report, name):
        """Every invariant of the store holds."""
        try:
            self.psql("CHECK DATABASE")
            return report.check(f"{name}: the world passes CHECK DATABASE", True)
        except RuntimeError as e:
            return report.check(f"{name}: the world passes CHECK DATABASE", False, str(e))

    def __enter__(self):
        return self.start()

    def __exit__(self, *_):
        self.remove()


def gone(pid):
    """A zombie of somebody else's counts as gone."""
    try:
        with open(f"/proc/{pid}/stat") as f:
            return f.read().rsplit(")", 1)[1].split()[0] == "Z"
    except OSError:
        return True


def psql(dsn, *commands, file=None, data=None, check=True, options=()):
    """Output of commands (or a file) in psql's unaligned form; with check, an error raises."""
    argv = ["psql", dsn, "-X", "-A", "-t", "-q", *options]
    if check:
        argv += ["-v", "ON_ERROR_STOP=1"]
    for c in commands:
        argv += ["-c", c]
    if file:
        argv += ["-f", file]
    done = subprocess.run(argv, input=data, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment(), timeout=600)
    out, err = done.stdout.decode("utf-8", "replace"), done.stderr.decode("utf-8", "replace")
    if check and done.returncode:
        raise RuntimeError(err.strip() or f"psql ended with {done.returncode}")
    return out if check else out + err


class Oracle:
    """A PostgreSQL of Debian's package with the same collation and time zone. With a password it asks for it (SCRAM), on its socket and on 127.0.0.1."""

    def __init__(self, password=None):
        bins = sorted(d for d in (f"/usr/lib/postgresql/{v}/bin" for v in range(15, 30)) if os.path.exists(d + "/initdb"))
        if not bins:
            raise RuntimeError("no PostgreSQL server is installed (apt-get install postgresql)")
        self.bin = bins[0]
        self.folder = tempfile.mkdtemp(prefix="oracle-")
        self.port = free_port()
        self.password = password
        self.dsn = f"host={self.folder} port={self.port} user=root dbname=postgres" + (f" password='{password}'" if password else "")

    def run(self, *argv):
        if os.geteuid() == 0:
            argv = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups", *argv]
        subprocess.run(argv, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.STDOUT, cwd=self.folder, env=environment())

    def start(self):
        if os.geteuid() == 0:
            shutil.chown(self.folder, "postgres", "postgres")
        os.chmod(self.folder, 0o755)
        sign_in = ["-A", "trust"]
        if self.password:
            with open(self.folder + "/password", "w") as f:
                f.write(self.password)
            sign_in = ["-A", "scram-sha-256", "--pwfile", self.folder + "/password"]
        self.run(self.bin + "/initdb", "-D", self.folder + "/data", "-U", "root", *sign_in, "-E", "UTF8", "--locale=C.UTF-8", "-N")
        address = "127.0.0.1" if self.password else ""
        with open(self.folder + "/data/postgresql.conf", "a") as f:
            f.write(f"port={self.port}\nlisten_addresses='{address}'\nunix_socket_directories='{self.folder}'\nfsync=off\ntimezone='UTC'\n"
                    "datestyle='iso, mdy'\nmax_connections=120\nlog_timezone='UTC'\n")
        self.run(self.bin + "/pg_ctl", "-D", self.folder + "/data", "-w", "-l", self.folder + "/log", "start")
        return self

    def psql(self, *commands, **more):
        return psql(self.dsn, *commands, **more)

    def remove(self):
        try:
            self.run(self.bin + "/pg_ctl", "-D", self.folder + "/data", "-m", "immediate", "-w", "stop")
        except subprocess.CalledProcessError:
            pass
        shutil.rmtree(self.folder, ignore_errors=True)

    def __enter__(self):
        return self.start()

    def __exit__(self, *_):
        self.remove()


class Report:
    """Counts and prints; one line a check."""

    def __init__(self, suite):
        self.suite, self.passed, self.failed = suite, 0, 0

    def check(self, name, fine, why=""):
        if fine:
            self.passed += 1
            print(f"ok {self.suite}: {name}", flush=True)
        else:
            self.failed += 1
            print(f"FAIL {self.suite}: {name}" + (f"\n{why}" if why else ""), flush=True)
        return fine

    def end(self):
        print(f"{self.passed} passed, {self.failed} failed", flush=True)
        return 1 if self.failed else 0
