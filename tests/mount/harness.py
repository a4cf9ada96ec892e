"""The processes that a mount test is made of: a table service, the SDK that writes to it, and the mounted program.
Everything here is bounded in time and ends with the test, whatever fails."""
import contextlib
import ctypes
import fcntl
import json
import os
import pathlib
import re
import select
import signal
import sqlite3
import struct
import subprocess
import tempfile
import time
import zlib

from counts import Counting, Counts
from expected import cesu8, entity_text
from ports import listening_port

ROOT = pathlib.Path(__file__).resolve().parents[2]
TABLEFUSE = os.environ.get("TABLEFUSE", str(ROOT / "build/tablefuse"))
# the same program over stores that wait, fail, and answer in short and empty pages (TABLEFUSE_FAULTS)
FAULTY = os.environ.get("TABLEFUSE_FAULTY", str(ROOT / "build/tests/tablefuse-faulty"))
# fills tables of any account with rows of a known shape
FIXTURE = os.environ.get("TABLEFUSE_FIXTURE", str(pathlib.Path(TABLEFUSE).parent / "tests/fixture"))
# a library that makes allocations of the program fail
FAILING_MALLOC = pathlib.Path(TABLEFUSE).parent / "tests/libfailing_malloc.so"
# a library that makes the kernel's FUSE too old for libfuse
OLD_KERNEL = FAILING_MALLOC.with_name("libold_kernel.so")
# a library that paints the stacks of the program's threads
PAINTED_STACKS = FAILING_MALLOC.with_name("libpainted_stacks.so")
# what Azurite is installed in
MODULES = os.environ.get("TABLEFUSE_EMULATOR", str(ROOT / "build/emulator/node_modules"))

ACCOUNT = "devstoreaccount1"
# the key that all emulators of the service share
KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="

OTHER_KEY = "bm90IHRoZSBrZXkgb2YgdGhpcyBhY2NvdW50"

BOTH_SERVICES = ["azurite", "local"]  # what the fixture `service` can be

# of the program
USAGE, CONFIGURATION, REFUSED, NETWORK, NOT_FOUND, ABANDONED, DAMAGED, MOUNTING = 1, 2, 3, 4, 5, 6, 7, 32

# They only guard against hanging, also on a machine that is many times oversubscribed.
COMMAND_SEC = 120
MOUNT_SEC = 120  # the program's own limit is 30
EXIT_SEC = 45  # less than the 60 s for which an operation waits for the service

# what `unmount` says of a mount that another mount namespace has
GOES_ON = (
    "tablefuse: unmounted; the process of the mount goes on for others: a bind mount, or another mount namespace\n"
)

PR_SET_PDEATHSIG = 1
libc = ctypes.CDLL(None, use_errno=True)


def environment(**extra):
    """The tester's environment without the variables that configure the program."""
    foreign = re.compile(r"AZURE_|SSL_CERT|CURL_|.*_proxy$|TABLEFUSE", re.IGNORECASE)
    kept = {name: value for name, value in os.environ.items() if not foreign.match(name)}
    return {**kept, "LC_ALL": "C.UTF-8", **extra}


def run(*command, check=True, timeout=COMMAND_SEC, env=None, cwd=None, text=True, **options):
    """Runs a command to its end. If it hangs in the file system, the daemons are killed, which frees it."""
    process = subprocess.Popen(
        [str(word) for word in command],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=env or environment(),
        cwd=cwd,
        text=text,
        errors="surrogateescape" if text else None,
        start_new_session=True,
        **options,
    )
    try:
        out, err = process.communicate(timeout=timeout)
    except BaseException:
        os.killpg(process.pid, signal.SIGKILL)
        Mount.kill_all()
        process.communicate()
        raise
    done = subprocess.CompletedProcess(command, process.returncode, out, err)
    assert (
        not check or done.returncode == 0
    ), f"{command} ended with {done.returncode}:\n{err or out}"
    return done


# The first words of a shell in a new mount namespace.
DETACH = 'umount -a -l -i -t fuse.tablefuse; flock -u "$COPIES"\n'


@contextlib.contextmanager
def _copies(how):
    with open(__file__, "rb") as file:
        fcntl.flock(file, how)
        yield file.fileno()


@contextlib.contextmanager
def copying_mounts(env):
    """A new mount namespace has a copy of each mount, also of those of tests that run beside this one. A process goes on
    while there is a copy of its mount, and `unmount` tells that. So no test unmounts before DETACH has removed the copies.
    Yields options for the process that makes the namespace."""
    with _copies(fcntl.LOCK_EX) as file:
        yield {"env": {**env, "COPIES": str(file)}, "pass_fds": [file]}


def no_copies():
    """`with no_copies():` no mount namespace of a test has a copy of a mount that is unmounted here."""
    return _copies(fcntl.LOCK_SH)


def wait_until(is_true, timeout=COMMAND_SEC, what="the condition"):
    end = time.monotonic() + timeout
    while not is_true():
        assert time.monotonic() < end, f"{what} did not come true in {timeout} s"
        time.sleep(0.02)


def is_stopped(process):
    """A signal stops the threads of a process one after another."""
    for thread in pathlib.Path(f"/proc/{process}/task").glob("*/stat"):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # it has ended
            if thread.read_text().rpartition(")")[2].split()[0] != "T":
                return False
    return True


def is_readable(stream, timeout):
    """Waits until there is something to read, or the end."""
    waiting = select.poll()  # select takes no descriptor above 1,023
    waiting.register(stream, select.POLLIN)
    return bool(waiting.poll(timeout * 1000))


def _end_with_parent():
    libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def fill(source, *what, env=None):
    """Writes TABLE, SHAPE and COUNT, or "sample", into the account: the same rows each time."""
    return run(FIXTURE, source, *what, timeout=200, env=environment(**(env or {})))


def checksum(*columns):
    """Of a row in the file of a local account: client/local/local_checksum.h."""
    value = 0
    for column in columns:
        if isinstance(column, str):
            column = column.encode()
        if isinstance(column, bytes):
            value = zlib.crc32(column, zlib.crc32(struct.pack("<q", len(column)), value))
        elif column is not None:
            value = zlib.crc32(struct.pack("<q", column), value)
    return value


class LocalAccount:
    """An account in a file, used as a table service."""

    credentials = {}

    def __init__(self, file):
        self.file, self.source = pathlib.Path(file), f"local:{file}"

    def fill(self, *what):
        return fill(self.source, *what)

    def write(self, table, keys):
        """Writes a table of entities without properties. Any keys are possible. The account must exist."""
        with sqlite3.connect(self.file, timeout=COMMAND_SEC) as database:
            database.create_function("checksum", -1, checksum)
            (number,) = database.execute("SELECT coalesce(max(id), 0) + 1 FROM tables").fetchone()
            row = (number, table)
            database.execute("INSERT INTO tables VALUES (?1, ?2, checksum(?1, ?2))", row)
            rows = (
                (number, cesu8(p) + b"\0" + cesu8(r), 1 << 54, entity_text(p, r, {}).encode())
                for p, r in keys
            )
            database.executemany(
                "INSERT INTO entities VALUES (?1, ?2, ?3, checksum(?1, ?2, ?3, ?4), ?4)", rows
            )
        database.close()

    def read_texts(self, table):
        """[the JSON of each entity as it is stored], past every mount."""
        with contextlib.closing(
            sqlite3.connect(f"file:{self.file}?mode=ro", uri=True, timeout=COMMAND_SEC)
        ) as database:
            rows = database.execute(
                "SELECT text FROM entities JOIN tables ON id = table_id WHERE name = ?", (table,)
            )
            return [text.decode() for (text,) in rows]

    def stop(self):
        for left in self.file.parent.glob(self.file.name + "*"):
            left.unlink()


class Azurite:
    """A table service in memory, in a process group of its own; or of another kind, "queue". Unless a port is given, the
    kernel chooses one: a port chosen here could be taken by another process before the service listens on it."""

    source = None  # the credentials say it

    def __init__(self, directory, account=ACCOUNT, key=KEY, certificate=None, port=0, takes_tokens=False, kind="table"):
        self.account, self.key, self.certificate, self.kind = account, key, certificate, kind
        self._sdk, self.proxy = None, None
        self._log = tempfile.NamedTemporaryFile(
            dir=directory, prefix="azurite-", suffix=".log", delete=False
        )
        tls = ["--cert", certificate.file, "--key", certificate.key] if certificate else []
        tls += ["--oauth", "basic"] if takes_tokens else []
        self._process = subprocess.Popen(
            [
                "node",
                f"{MODULES}/azurite/dist/src/{kind}/main.js",
                f"--{kind}Host",
                "127.0.0.1",
                f"--{kind}Port",
                str(port),
                "--inMemoryPersistence",
                "--silent",
                "--disableTelemetry",
                "--skipApiVersionCheck",
                *tls,
            ],
            stdin=subprocess.DEVNULL,
            stdout=self._log,
            stderr=self._log,
            cwd=directory,
            start_new_session=True,
            env=environment(AZURITE_ACCOUNTS=f"{account}:{key}"),
            preexec_fn=_end_with_parent,
        )
        try:
            wait_until(self._is_ready, what="Azurite")
        except BaseException:
            self.stop()
            raise
        self.direct_port = listening_port(self._process.pid)
        self.direct_endpoint = f"{'https' if certificate else 'http'}://127.0.0.1:{self.direct_port}/{account}"
        self.port, self.endpoint = self.direct_port, self.direct_endpoint

    def stand_behind(self, proxy):
        """All but the SDK and fill() uses the StrictProxy from now on. It ends with the service."""
        self.proxy = proxy
        self.port, self.endpoint = proxy.port, proxy.endpoint

    def problems(self):
        """What the proxy has seen since it was asked last; it comes back to its first settings."""
        if self._process.poll() is not None:
            return [f"Azurite died: {pathlib.Path(self._log.name).read_text()[-2000:]}"]
        return self.proxy.control(end=1)["problems"] if self.proxy else []

    def _is_ready(self):
        said = pathlib.Path(self._log.name).read_text()
        assert self._process.poll() is None, f"Azurite ended: {said}"
        return re.search("successfully (started|listens)", said)

    @property
    def sdk(self):
        """One process for all that use this service."""
        if self._sdk is None:
            self._sdk = Sdk(self)
        return self._sdk

    def is_emptied(self):
        """Drops all tables. False: it does not work, because of what a test has done with it."""
        try:
            self.send(signal.SIGCONT)
            self.sdk.drop_all_tables()
            self.sdk.try_batch()
            if self.proxy:
                self.proxy.control(reset=1)
        except (AssertionError, OSError):
            return False
        return True

    def connection_string(self, key=None, sas=None):
        secret = (
            f"SharedAccessSignature={sas}"
            if sas
            else f"AccountName={self.account};AccountKey={key or self.key}"
        )
        return f"{secret};{self.kind.capitalize()}Endpoint={self.endpoint}"

    @property
    def credentials(self):
        return {"AZURE_STORAGE_CONNECTION_STRING": self.connection_string()}

    def fill(self, *what):
        """Past the proxy, as the SDK."""
        return fill(self.direct_endpoint, *what, env={"AZURE_STORAGE_KEY": self.key})

    def send(self, number):
        """Sends a signal. After SIGSTOP the service accepts connections and does not answer."""
        os.killpg(self._process.pid, number)
        if number == signal.SIGSTOP:
            wait_until(lambda: is_stopped(self._process.pid), what="the stop of the service")

    def stop(self):
        if self._sdk is not None:
            self._sdk.stop()
        if self.proxy is not None:
            self.proxy.stop()
        if self._process.poll() is None:
            self.send(signal.SIGKILL)
        self._process.wait(timeout=EXIT_SEC)
        self._log.close()


class Sdk:
    """@azure/data-tables in a process of its own; sdk.js has the commands."""

    def __init__(self, service):
        ca = {"NODE_EXTRA_CA_CERTS": service.certificate.file} if service.certificate else {}
        self._process = subprocess.Popen(
            ["node", str(pathlib.Path(__file__).with_name("sdk.js"))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            encoding="utf-8",
            start_new_session=True,
            preexec_fn=_end_with_parent,
            env=environment(
                NODE_PATH=MODULES,
                SDK_ENDPOINT=service.direct_endpoint,
                SDK_ACCOUNT=service.account,
                SDK_KEY=service.key,
                **ca,
            ),
        )

    def _ask(self, timeout=400, **command):
        self._process.stdin.write(json.dumps(command) + "\n")
        self._process.stdin.flush()
        assert is_readable(self._process.stdout, timeout), f"the SDK did not answer {command['command']}"
        answer = json.loads(self._process.stdout.readline())
        assert "error" not in answer, f"{command['command']}: {answer['error']}"
        return answer["result"]

    def create_table(self, name, entities=()):
        self._ask(command="createTable", name=name)
        self.insert(name, entities)

    def fill_table(self, name, entities):
        """Writes many entities by transactions. Keys must not hold quotes: Azurite misreads them in batches."""
        self._ask(command="createTable", name=name)
        self._ask(command="batch", name=name, entities=list(entities))

    def insert(self, name, entities):
        self._ask(command="insert", name=name, entities=list(entities))

    def update(self, name, entities, mode="Replace"):
        self._ask(command="update", name=name, entities=list(entities), mode=mode)

    def remove(self, name, partition_key, row_key):
        self._ask(command="remove", name=name, partitionKey=partition_key, rowKey=row_key)

    def drop_table(self, name):
        self._ask(command="dropTable", name=name)

    def drop_all_tables(self):
        self._ask(command="dropAllTables")

    def try_batch(self):
        """Fails if the service takes no batches any more."""
        self._ask(command="tryBatch")

    def read(self, name):
        return self._ask(command="read", name=name)

    def keys_of(self, name, filters):
        """For each filter the keys of the entities that match."""
        return [list(map(tuple, keys)) for keys in self._ask(command="keysOf", name=name, filters=list(filters))]

    def read_texts(self, name):
        """The JSON of each page of entities, as the service has sent it."""
        return self._ask(command="readTexts", name=name)

    def stop(self):
        self._process.kill()
        self._process.communicate()


def detach(point):
    """Takes the mount out of the tree, even while it is used, or its process has died."""
    tool = ["umount", "-l"] if os.geteuid() == 0 else ["fusermount3", "-uz"]
    subprocess.run([*tool, point], check=True, timeout=EXIT_SEC)


class Mount:
    """A mounted program. unmount() checks that its daemon has ended and that no sanitizer reported anything."""

    _live = set()

    def __init__(self, point, logs):
        self.point, self._logs = pathlib.Path(point), pathlib.Path(logs)
        self.state = self.point.with_name("state")  # XDG_STATE_HOME
        self._daemon = None  # a pidfd
        self._may_end = False  # before it is unmounted
        self.pid = None

    def __truediv__(self, name):
        return self.point / name

    def start(
        self,
        source=None,
        *options,
        env=None,
        program=None,
        faults=None,
        cwd=None,
        check=True,
        says="",
    ):
        """Runs `mount` in the background, as a user does, and answers the finished command. `says`: what it must print;
        None: anything."""
        Mount._live.add(self)
        flags = ["-o", ",".join(options)] if options else []
        faulty = {"TABLEFUSE_FAULTS": faults} if faults is not None else {}
        done = run(
            program or (FAULTY if faulty else TABLEFUSE),
            "mount",
            *flags,
            *([source] if source else []),
            self.point,
            check=check,
            timeout=MOUNT_SEC,
            cwd=cwd,
            env=environment(**{**self.variables(), **(env or {}), **faulty}),
        )
        if done.returncode == 0:
            assert says in (None, done.stdout + done.stderr)
            self.adopt()
        return done

    def variables(self):
        """Of its environment, beside the credentials."""
        return {"XDG_STATE_HOME": str(self.state), **self.sanitizers()}

    def sanitizers(self):
        """Sanitizers report to files, because a daemon in the background has no standard error. UBSan cannot do so
        together with ASan, so it ends the daemon."""
        each = {
            name: f"{os.environ.get(name, '')}:log_path={self._logs}/{name}"
            for name in ("ASAN_OPTIONS", "TSAN_OPTIONS")
        }
        return {**each, "UBSAN_OPTIONS": "print_stacktrace=1:halt_on_error=1"}

    def adopt(self):
        """Notes the daemon that answers at the mount point, so that its end can be waited for."""
        Mount._live.add(self)
        self.pid = int(re.search(r"^pid (\d+)$", self.control("version"), re.MULTILINE)[1])
        if self._daemon is not None:
            os.close(self._daemon)
        self._daemon = os.pidfd_open(self.pid)
        self._may_end = False

    def control(self, name):
        return (self.point / ".tablefuse" / name).read_text(
            encoding="utf-8", errors="surrogateescape"
        )

    def stats(self):
        return Counts(self.control("stats"))

    def lost_texts(self):
        """{name: bytes} of lost+found, the reasons among them."""
        lost = self.state / "tablefuse/lost+found"
        return {path.name: path.read_bytes() for path in lost.iterdir()} if lost.exists() else {}

    def counting(self):
        return Counting(self)

    def send_queued(self, path="."):
        """Waits until what is queued below has been sent; a failure is an OSError."""
        directory = os.open(self.point / path, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(directory)
        finally:
            os.close(directory)

    def make_kernel_forget(self):
        """Drops all names and attributes of this mount that are not in use. As root."""
        run("mount", "-i", "-o", "remount", self.point)

    def is_mounted(self):
        octal = re.sub(r"[ \t\n\\]", lambda c: f"\\{ord(c[0]):03o}", str(self.point))
        lines = pathlib.Path("/proc/self/mounts").read_text(errors="surrogateescape").splitlines()
        return any(line.split(" ")[1] == octal for line in lines)

    def has_ended(self, timeout=EXIT_SEC):
        """Waits for the daemon's end. False: it has not ended in time."""
        return is_readable(self._daemon, timeout)

    def let_end(self):
        """The daemon may end before it is unmounted."""
        self._may_end = True

    def send(self, number):
        """Sends a signal. After SIGSTOP no thread of the daemon runs."""
        self.let_end()
        signal.pidfd_send_signal(self._daemon, number)
        if number == signal.SIGSTOP:
            wait_until(lambda: is_stopped(self.pid), what=f"the stop of {self.pid}")

    def unmount(self, *flags, check=True):
        with no_copies():
            return run(TABLEFUSE, "unmount", *flags, self.point, check=check)

    def _leave(self):
        """Unmounts, without the report of `tablefuse unmount`, which takes as long to start as a mount."""
        if os.geteuid() != 0:
            return self.unmount(check=False).returncode == 0
        with no_copies():
            return libc.umount2(os.fsencode(self.point), 0) == 0

    def finish(self):
        """Checks, after any events, that nothing is mounted, no daemon runs, and there is no report."""
        Mount._live.discard(self)
        has_died = self._daemon is not None and not self._may_end and self.has_ended(0)
        try:
            assert not (has_died and self.is_mounted()), "the daemon died while it was mounted"
            if self.is_mounted() and not self._leave():
                self._detach()
            has_ended = self._daemon is None or self.has_ended()
            assert has_ended, "the daemon did not end after the unmount"
        finally:
            self._kill()
            self._detach()
            if self._daemon is not None:
                os.close(self._daemon)
                self._daemon = None
            reports = [path.read_text(errors="replace") for path in self._logs.iterdir()]
            assert not reports, "\n".join(reports)

    def _detach(self):
        while self.is_mounted():
            detach(self.point)

    def _kill(self):
        if self._daemon is not None and not self.has_ended(0):
            self.send(signal.SIGKILL)

    @staticmethod
    def kill_all():
        for mount in Mount._live:
            mount._kill()
            if mount._daemon is None:  # it never answered: known by its command line alone
                for pid in mount._unanswering():
                    os.kill(pid, signal.SIGKILL)

    def _unanswering(self):
        for line in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
            try:
                if os.fsencode(self.point) in line.read_bytes().split(b"\0"):
                    yield int(line.parent.name)
            except OSError:
                pass  # ended meanwhile


def assert_serves(mount):
    """The tables that the fixture two_tables has written."""
    assert sorted(os.listdir(mount.point)) == ["Mixed", "table"]
    assert os.listdir(mount / "table/p") == ["r.json"]
