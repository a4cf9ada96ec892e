#!/usr/bin/python3
"""Tools that delete and load tables, beside one request an entity through the same store.

Accounts in files, latency by a decorator; each tool on a fresh mount of a fresh copy. Its time ends when an fsync of the
table's directory has returned, so that the service has all. A wrong number of entities at the end fails the run; a
pass mark that is missed, and a time, does not."""
import argparse
import collections.abc
import contextlib
import dataclasses
import math
import os
import pathlib
import shutil
import signal
import sqlite3
import sys
import tempfile
import time

import sides
from harness import LocalAccount, run
from marks import PAGE_ROWS
from sides import Build, timed
from walks import end_by_signal, machine

RM_TABLE, RM_BATCHES = "rm -r TABLE", "rm -r in batches"
RM_PARTITION, RM_GLOB, RM_PREFIX = "rm -r PARTITION", "rm */*.json", "rm -r PREFIX+"
FIND_DELETE, CP, RSYNC = "find -delete", "cp -r in", "rsync -a in"
GLOB_NAMES = 10_000
BATCH_ROWS = 100
EACH_ROWS = 1_000  # of the table that is changed by one request an entity

# $1: the table's directory; $2: the files to be loaded; $3: a partition; $4: a prefix of all partitions
SCRIPTS = {
    RM_TABLE: 'rm -r "$1"',
    RM_BATCHES: 'rm -r "$1"',
    RM_PARTITION: 'rm -r "$1/$3"',
    RM_GLOB: f'cd "$1/.flat"; names=(*/*.json); rm "${{names[@]:0:{GLOB_NAMES}}}"',
    RM_PREFIX: 'rm -r "$1/$4+"',
    FIND_DELETE: 'find "$1" -mindepth 1 -delete',
    CP: 'cp -r "$2/." "$1"',
    RSYNC: 'rsync -a "$2/" "$1/"',
}
TOOLS = tuple(SCRIPTS)
LOADS = (CP, RSYNC)
OPTIONS = {RM_BATCHES: ["no_table_drop"]}  # of the mount, beside those of the command line
LARGE_BYTES = (64 << 20) // 4  # a quarter of the cache: a listing of more may be read twice
DELETE, UPSERT = "delete", "upsert"  # one request an entity


@dataclasses.dataclass
class Shape:
    partition: str  # one of its partitions
    prefix: str  # of all its partitions
    entities: collections.abc.Callable  # of that many in the table, those in the partition


SHAPES = {
    "single": Shape("all", "al", lambda rows: rows),
    "ten": Shape("region-0", "region-", lambda rows: math.ceil(rows / 10)),
    "tens": Shape("order-000000", "order-", lambda rows: min(rows, 10)),
}


@dataclasses.dataclass
class Figures:
    """One run of a tool, or of one request an entity."""

    shape: str
    tool: str
    latency_ms: int
    entities: int  # to be deleted or stored
    tool_sec: float = 0  # until the tool has ended
    seconds: float = 0  # until the service has all
    requests: int = 0
    batches: int = 0  # among them
    bytes: int = 0  # of the table's file
    note: str = ""

    def beside(self, each):
        """The time of one entity, divided by what it took with one request an entity; "": that took no time."""
        if each.seconds == 0:
            return ""
        return f"{self.seconds / self.entities / (each.seconds / each.entities):.3f}"


def requests_limit(figures, options):
    """The pass mark; None: there is none."""
    pages, batches = figures.entities / PAGE_ROWS, figures.entities / BATCH_ROWS
    if figures.tool == RM_TABLE:
        large = figures.bytes > LARGE_BYTES  # the table, and its partition if it has one alone
        return math.floor(2.3 * pages + 20 * large * (2 if figures.shape == "single" else 1) + 6)
    if figures.tool == RM_PARTITION:
        return math.floor(1.15 * pages + batches + 6)
    if figures.tool in LOADS and figures.shape == "single" and "writeback" in options:
        return math.floor(batches + 10 + figures.seconds)
    return None


def entities_of(tool, shape, rows):
    """How many the tool deletes or stores."""
    if tool == RM_PARTITION:
        return SHAPES[shape].entities(rows)
    return min(rows, GLOB_NAMES) if tool == RM_GLOB else rows


class Bench:
    """A run of everything."""

    def __init__(self, arguments, work):
        self.build, self.work = Build(arguments.build), pathlib.Path(work)
        self.results, self.each = [], {}  # {(way, latency): Figures}
        self._rows, self.options = arguments.rows, arguments.options
        self._limit_sec = arguments.limit

    def _note(self, figures):
        what = (figures.shape, figures.tool, f"{figures.latency_ms} ms", f"{figures.seconds:.2f} s")
        print(*what, figures.note, file=sys.stderr, flush=True)

    @contextlib.contextmanager
    def _copy(self, account):
        """Nothing of what is done to it stays."""
        with tempfile.TemporaryDirectory(dir=self.work) as directory:
            yield LocalAccount(shutil.copy(account.file, directory))

    def _make(self, shape, rows):
        account = LocalAccount(self.work / f"{shape}-{rows}.tablefuse")
        if not account.file.exists():
            sides.fill_table(account, shape, shape, rows)
        return account

    def measure_each(self, way, latency_ms):
        rows = min(self._rows, EACH_ROWS)
        figures = Figures("single", way, latency_ms, rows)
        with self._copy(self._make("single", rows)) as account:
            counts = sides.use_store(
                self.build, account.file, "single", way, latency_ms, self._limit_sec
            )
        assert counts, f"{way}: not finished in {self._limit_sec} s"
        assert counts.total("bench_rows") == rows
        figures.tool_sec = figures.seconds = counts.total("bench_milliseconds") / 1000
        figures.requests = counts.requests()
        self.each[way, latency_ms] = figures
        self._note(figures)

    def _files(self, account, shape):
        """The entities as files outside of every mount."""
        files = self.work / f"files-{shape}"
        if not files.exists():
            with sides.tablefuse(self.work, account.file, 0, "layout=flat") as mount:
                run("cp", "-r", mount / shape, files, timeout=self._limit_sec)
        return files

    def measure(self, shape, tool, latency_ms):
        figures = Figures(shape, tool, latency_ms, entities_of(tool, shape, self._rows))
        original = self._make(shape, self._rows)
        files = self._files(original, shape)
        table = "loaded" if tool in LOADS else shape
        figures.bytes = original.file.stat().st_size
        mount_options = self.options + OPTIONS.get(tool, [])
        with self._copy(original) as account:
            with sides.tablefuse(self.work, account.file, latency_ms, *mount_options) as mount:
                if tool in LOADS:
                    os.mkdir(mount / table)
                self._run(figures, mount, mount / table, files)
            self._check(figures, account, table)
        self.results.append(figures)
        self._note(figures)

    def _run(self, figures, mount, directory, files):
        shape = SHAPES[figures.shape]
        places = (directory, files, shape.partition, shape.prefix)
        command = ("bash", "-e", "-c", SCRIPTS[figures.tool], "bash", *places)
        with mount.counting() as counted:
            begin = time.monotonic()
            figures.tool_sec, _ = timed(*command, limit_sec=self._limit_sec)
            if directory.exists():
                sync(directory)
            figures.seconds = time.monotonic() - begin
        assert figures.tool_sec, f"{figures}: not finished in {self._limit_sec} s"
        figures.requests, figures.batches = counted.requests(), counted.requests("batch")

    def _check(self, figures, account, table):
        left = count_rows(account.file, table)
        is_load = figures.tool in LOADS
        expected = figures.entities if is_load else self._rows - figures.entities
        if left != expected:
            figures.note = f"WRONG: {left} entities at the end, not {expected}"
        elif figures.tool == RM_TABLE and figures.batches:
            figures.note = f"WRONG: {figures.batches} batches"

    def run(self, shapes, tools, latencies):
        for latency_ms in latencies:
            for way in (DELETE, UPSERT):
                self.measure_each(way, latency_ms)
            for shape in shapes:
                for tool in tools:
                    self.measure(shape, tool, latency_ms)

    def each_of(self, figures):
        return self.each[UPSERT if figures.tool in LOADS else DELETE, figures.latency_ms]


def sync(directory):
    """Waits until the service has all changes below it."""
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def count_rows(file, table):
    with contextlib.closing(sqlite3.connect(f"file:{file}?mode=ro", uri=True)) as database:
        (count,) = database.execute(
            "SELECT count(*) FROM entities JOIN tables ON id = table_id WHERE name = ?", (table,)
        ).fetchone()
    return count


_COLUMNS = "{:<18}{:>3}{:>10}{:>10}{:>9}{:>9}{:>11}{:>9}  {}"
_HEADING = (
    "",
    "ms",
    "entities",
    "requests",
    "/entity",
    "seconds",
    "tool alone",
    "/each",
    "pass mark: requests",
)


def _row(figures, each, mark=None):
    verdict = "" if mark is None else f"{mark} {'met' if figures.requests <= mark else 'MISSED'}"
    return _COLUMNS.format(
        figures.tool,
        figures.latency_ms,
        f"{figures.entities:,}",
        f"{figures.requests:,}",
        f"{figures.requests / figures.entities:.3f}",
        f"{figures.seconds:.2f}",
        f"{figures.tool_sec:.2f}",
        figures.beside(each),
        " ".join(filter(None, (verdict, figures.note))),
    ).rstrip()


def text_table(bench):
    """`/each`: the time of one entity, divided by that of one request an entity."""
    heading = _COLUMNS.format(*_HEADING)
    lines = [machine(), "", "one request an entity", heading]
    lines += [_row(figures, figures) for figures in bench.each.values()]
    for shape in dict.fromkeys(figures.shape for figures in bench.results):
        lines += ["", shape, heading]
        lines += [
            _row(figures, bench.each_of(figures), requests_limit(figures, bench.options))
            for figures in bench.results
            if figures.shape == shape
        ]
    return "\n".join(line.rstrip() for line in lines)


def words(text):
    return text.split(",")


def numbers(text):
    return [int(word) for word in words(text)]


def options():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--build", default="build", help="the build directory (build)")
    parser.add_argument("--work", help="for all files: a file system in memory (TMPDIR)")
    parser.add_argument("--rows", type=int, default=1_000, help="entities of each table (1000)")
    parser.add_argument(
        "--latency", type=numbers, default=[0, 5, 20], help="ms, a comma list (0,5,20)"
    )
    parser.add_argument("--shapes", type=words, default=list(SHAPES), help="a comma list (all)")
    parser.add_argument("--tools", type=words, default=list(TOOLS), help="a comma list (all)")
    parser.add_argument("--options", type=words, default=[], help="of the mounts (none)")
    parser.add_argument("--limit", type=int, default=200, help="seconds of one run (200)")
    return parser.parse_args()


def main():
    arguments = options()
    signal.signal(signal.SIGTERM, end_by_signal)
    with tempfile.TemporaryDirectory(prefix="tablefuse-bench-", dir=arguments.work) as work:
        bench = Bench(arguments, work)
        bench.run(arguments.shapes, arguments.tools, arguments.latency)
    print(text_table(bench))
    return 1 if any(figures.note for figures in bench.results) else 0


if __name__ == "__main__":
    sys.exit(main())
