"""What the benchmark runs on: a mount, the file system in memory, and stores that are read directly."""
import contextlib
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "mount"))
import harness  # noqa: E402
from counts import Counts  # noqa: E402
from harness import Mount, environment, run, wait_until  # noqa: E402

LOAD_SEC = 300
TIMED_OUT = 124  # what timeout(1) answers


class Build:
    """The programs of a build directory."""

    def __init__(self, directory):
        root = pathlib.Path(directory).resolve()
        self.tablefuse = str(root / "tablefuse")
        self.faulty = str(root / "tests/tablefuse-faulty")
        self.fixture = str(root / "tests/fixture")
        self.store_bench = str(root / "tests/bench/store_bench")
        self.memory_fs = str(root / "tests/bench/memory_fs")
        self.bulk_client = str(root / "tests/bench/bulk_client")
        harness.TABLEFUSE, harness.FAULTY = self.tablefuse, self.faulty
        harness.FIXTURE = self.fixture


def faults(latency_ms):
    return f"latency={latency_ms}" if latency_ms else ""


def make_account(build, file, shape, rows):
    """An account with one table, named like its shape. One that is there already is taken as it is."""
    if file.exists():
        return
    half = file.with_name(file.name + ".half")
    for left in file.parent.glob(half.name + "*"):
        left.unlink()
    run(build.fixture, f"local:{half}", shape, shape, rows, timeout=LOAD_SEC)
    half.rename(file)


def fill_table(account, table, shape, rows):
    """A table of a shape of the fixture, or of `tens`: partitions of ten entities each."""
    if shape != "tens":
        account.fill(table, shape, rows)
        return
    if not account.file.exists():
        account.fill("none", "single", 0)  # the fixture makes the file
    account.write(table, [(f"order-{row // 10:06}", f"line-{row % 10}") for row in range(rows)])


def timed(*command, limit_sec, env=None):
    """Seconds and output of a command; None: it was ended after limit_sec, and the daemon that it asks lives on."""
    begin = time.monotonic()
    bound = ("timeout", "-k", "5", f"{limit_sec:.0f}")
    done = run(*bound, *command, check=False, timeout=limit_sec + 20, env=env)
    seconds = time.monotonic() - begin
    if done.returncode == TIMED_OUT:
        return None, ""
    assert done.returncode == 0, f"{command} ended with {done.returncode}:\n{done.stderr}"
    return seconds, done.stdout


def use_store(build, file, shape, way, latency_ms, limit_sec):
    """Counts of what store_bench does with the table in this way; None: not finished."""
    env = environment(TABLEFUSE_FAULTS=faults(latency_ms))
    seconds, said = timed(build.store_bench, file, shape, way, limit_sec=limit_sec, env=env)
    return None if seconds is None else Counts(said)


def _end_with_parent():
    harness.libc.prctl(harness.PR_SET_PDEATHSIG, signal.SIGTERM)


class MemoryMount(Mount):
    """memory_fs, which stays in the foreground and is unmounted by a signal."""

    def start(self, build, file):
        Mount._live.add(self)
        self._process = subprocess.Popen(
            [build.memory_fs, f"local:{file}", self.point],
            stdin=subprocess.DEVNULL,
            env=environment(),
            preexec_fn=_end_with_parent,
        )
        self.pid = self._process.pid
        self._daemon = os.pidfd_open(self.pid)
        wait_until(self._is_ready, timeout=LOAD_SEC, what="the file system in memory")

    def _is_ready(self):
        assert self._process.poll() is None, "the file system in memory ended"
        return self.is_mounted()

    def _leave(self):
        self.send(signal.SIGTERM)
        return self._process.wait(timeout=harness.EXIT_SEC) == 0

    def forget(self):
        """The kernel forgets what it has cached of this mount and does not use. Only root can tell it to."""
        if os.geteuid() == 0:
            run("mount", "-i", "-o", "remount", self.point)


@contextlib.contextmanager
def mount_point(work, kind=Mount):
    with tempfile.TemporaryDirectory(dir=work) as base:
        for name in ("mnt", "logs"):
            os.mkdir(f"{base}/{name}")
        mount = kind(f"{base}/mnt", f"{base}/logs")
        try:
            yield mount
        finally:
            mount.finish()


@contextlib.contextmanager
def tablefuse(work, file, latency_ms, *options):
    with mount_point(work) as mount:
        mount.start(f"local:{file}", *options, faults=faults(latency_ms))
        yield mount


@contextlib.contextmanager
def memory_fs(build, work, file):
    with mount_point(work, MemoryMount) as mount:
        mount.start(build, file)
        yield mount


def peak_kib(pid):
    for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1])
    raise AssertionError("no peak in /proc")
