#!/usr/bin/python3
"""Tools over tables of many entities, beside serial paging, the published prefix scan, and the same files in memory.

Accounts in files, latency by a decorator; each tool on a fresh mount, so that nothing is known. Prints a table with the
pass marks, and writes a chart. Run it as root: another user's kernel does not forget what it knows of the files in
memory, so those come out better than they are."""
import argparse
import collections
import datetime
import itertools
import os
import pathlib
import platform
import random
import re
import shutil
import signal
import sys
import tempfile
import time

import sides
from marks import CACHE_BYTES, CAT, FIND, GREP, HEAD, LS, LS_F, LS_LR, RSYNC, RSYNC_AGAIN, TAR
from marks import Figures, Results, Table, marks
from report import svg_chart, text_table
from sides import Build, peak_kib, timed

CATS = 200  # files

# $1: the directory; $2: a file for what the tool says; $3: a directory to copy to; the files to read stand in $4
SCRIPTS = {
    HEAD: 'ls -f "$1" | head -1 > "$2"',
    LS: 'ls "$1" > "$2"',
    LS_F: 'ls -f "$1" > "$2"',
    FIND: 'find "$1" -printf "%y %p\\n" > "$2"',  # the type comes with the name
    LS_LR: 'ls -lR "$1" > "$2"',
    GREP: 'grep -rc Name "$1" > "$2"',
    TAR: 'tar cf - -C "$1" . | wc -c > "$2"',
    RSYNC: 'rsync -a --stats "$1/" "$3/" > "$2"',
    RSYNC_AGAIN: 'rsync -a --stats "$1/" "$3/" > "$2"',
    CAT: 'cd "$1" && xargs -0 cat < "$4" > "$2"',
}
# what each entity is in what the tool says
ENTITY_LINES = {
    LS_F: r"\.json$",
    FIND: r"^f ",
    LS_LR: r"^-.*\.json$",
    GREP: r"\.json:1$",
    CAT: r"^}$",
}
TOOLS = tuple(SCRIPTS)
LISTS = (HEAD, LS)

MILLION, MANY, FEW, FEWER = 1_000_000, 100_000, 5_000, 2_000
# What a full run measures, the weightiest first, so that what no time is left for matters least: shape, rows, tools with
# latency, tools without; all of them in memory. To visit a million partitions takes minutes of round trips between tool
# and kernel on any file system.
TREE = tuple(tool for tool in TOOLS if tool != LS_F)
FULL = (
    ("guid", MILLION, (*LISTS, FIND, CAT), ()),
    ("single", MILLION, (HEAD, LS_F, FIND, LS_LR, GREP, CAT), (FIND,)),
    ("customer", MILLION, (*LISTS, CAT), ()),
    ("package", MANY, TREE, (FIND, GREP)),
    ("ten", MANY, TREE, (FIND, GREP)),
    ("small", MANY, TREE, (FIND, GREP)),
    ("dates", MANY, (*LISTS, FIND, GREP), (FIND, GREP)),
    ("skew", MANY, (*LISTS, FIND, GREP), (FIND, GREP)),
    ("ticks", MANY, (*LISTS, FIND, GREP), (FIND, GREP)),
    ("long", MANY, (*LISTS, FIND, LS_LR), ()),
    # with more than a quarter of an hour
    ("customer", MILLION, (FIND,), ()),
    ("guid", MILLION, (), (FIND,)),
    ("single", MILLION, (TAR, RSYNC, RSYNC_AGAIN), (GREP,)),
    ("dates", MANY, (LS_LR, TAR, RSYNC, RSYNC_AGAIN), ()),
    ("skew", MANY, (LS_LR, TAR, RSYNC, RSYNC_AGAIN), ()),
    ("ticks", MANY, (LS_LR, TAR, RSYNC, RSYNC_AGAIN), ()),
    ("long", MANY, (GREP, TAR, RSYNC, RSYNC_AGAIN), ()),
)
# every tool once: the counts of each shape are tests/mount/test_walking.py's
SHORT = (
    ("guid", FEW, (), LISTS),
    ("single", FEWER, (), (LS_F, FIND, CAT)),
    ("package", FEWER, (), (GREP,)),
    ("ten", FEWER, (), (LS_LR, TAR, RSYNC, RSYNC_AGAIN)),
)


class OutOfTime(Exception):
    pass


class Bench:
    """A run of everything: what is measured goes to `results`."""

    def __init__(self, arguments, work):
        self.build, self.accounts = Build(arguments.build), pathlib.Path(arguments.accounts or work)
        self.work, self.results = pathlib.Path(work), Results()
        self._end = time.monotonic() + arguments.minutes * 60
        self._limit_sec, self._latency_ms = arguments.limit, arguments.latency
        self._tables = {}
        self.left_out = []

    def limit_sec(self):
        left = self._end - time.monotonic()
        if left < 1:
            raise OutOfTime
        return min(left, self._limit_sec)

    def note(self, figures):
        self.results.add(figures)
        text = f"{figures.seconds:.2f} s" if figures.seconds is not None else ""
        print(*figures.key, text, figures.note, file=sys.stderr, flush=True)

    # the stores

    def read_store(self, table, file, way, latency_ms):
        figures, limit_sec = Figures(table, way, way, latency_ms), self.limit_sec()
        counts = sides.use_store(self.build, file, table.shape, way, latency_ms, limit_sec)
        if counts is None:
            figures.note = f"not finished in {limit_sec:.0f} s"
            self.note(figures)
            return
        figures.seconds = counts.total("bench_milliseconds") / 1000
        figures.requests = counts.requests()
        figures.bytes = counts.total("tablefuse_request_bytes_total")
        figures.count = counts.total("bench_rows")
        if figures.count != table.rows:
            figures.note = f"WRONG: {figures.count} entities"
        if way == "serial":
            table.partitions = counts.total("bench_partitions")
            table.jumps = counts.total("bench_jumps")
            table.row_bytes = figures.bytes / table.rows
        self.note(figures)

    def read_stores(self, table, file, latencies):
        for way, latency_ms in itertools.product(("serial", "published"), latencies):
            self.read_store(table, file, way, latency_ms)

    # the tools

    def run_tool(self, figures, mount):
        """Runs it over the table's directory, or the one partition, and says how long that took and what it saw."""
        table, said = figures.table, self.work / "said"
        directory = mount / table.shape
        if table.shape == "single" and figures.tool in (HEAD, LS_F):
            directory /= "all"
        copy = self.work / f"copy-{figures.side}-{figures.latency_ms}"
        places = (directory, said, copy, self.work / "names")
        limit_sec = self.limit_sec()
        command = ("sh", "-c", SCRIPTS[figures.tool], "sh", *places)
        figures.seconds, _ = timed(*command, limit_sec=limit_sec)
        if figures.seconds is None:
            figures.note = f"not finished in {limit_sec:.0f} s"
            return
        figures.count = count_said(figures.tool, said)
        if figures.count != expected(figures):
            figures.note = f"WRONG: saw {figures.count}"
        if figures.tool == FIND and figures.side == "auto":
            measure_directories(table, said, str(mount.point))

    def run_mounted(self, table, file, tool, side, latency_ms):
        figures = Figures(table, tool, side, latency_ms)
        with sides.tablefuse(self.work, file, latency_ms, f"layout={side}") as mount:
            before = mount.stats()
            self.run_tool(figures, mount)
            after = mount.stats()
            counted = after - before
            figures.requests = counted.requests()
            figures.bytes = counted.total("tablefuse_request_bytes_total")
            figures.inodes = after.total("tablefuse_inodes")
            figures.peak_kib = peak_kib(mount.pid)
        self.note(figures)

    def run_in_memory(self, table, tool, memory):
        if self.results.seconds(table, tool, "memory", 0):
            return
        memory.forget()
        figures = Figures(table, tool, "memory", 0)
        self.run_tool(figures, memory)
        self.note(figures)

    def run_everywhere(self, table, file, tool, memory, latencies):
        """One after the other, so that what is compared was measured at nearly the same time."""
        if tool not in LISTS:
            self.run_in_memory(table, tool, memory)
        for latency_ms in latencies:
            self.run_mounted(table, file, tool, "auto", latency_ms)
        if tool in LISTS:
            self.run_mounted(table, file, tool, "flat", latencies[0])

    def find_table(self, shape, rows, file, latencies):
        """Made, and read through the store, when it is asked for first."""
        if (shape, rows) not in self._tables:
            sides.make_account(self.build, file, shape, rows)
            self._tables[shape, rows] = Table(shape, rows)
            self.read_stores(self._tables[shape, rows], file, latencies)
        return self._tables[shape, rows]

    def run_table(self, shape, rows, tools_late, tools_now):
        late, file = self._latency_ms, self.accounts / f"{shape}-{rows}.tablefuse"
        table = self.find_table(shape, rows, file, [late, 0] if tools_late else [0])
        with sides.memory_fs(self.build, self.work, file) as memory:
            pick_files(memory / shape, self.work / "names")
            for tool in (tool for tool in TOOLS if tool in tools_late + tools_now):
                latencies = [late] * (tool in tools_late) + [0] * (tool in tools_now)
                self.run_everywhere(table, file, tool, memory, latencies)
        for copy in self.work.glob("copy-*"):
            shutil.rmtree(copy)

    def run(self, plan):
        for shape, rows, tools_late, tools_now in plan:
            try:
                self.limit_sec()
                self.run_table(shape, rows, tools_late, tools_now)
            except OutOfTime:
                tools = ", ".join({**dict.fromkeys(tools_late), **dict.fromkeys(tools_now)})
                self.left_out.append(f"{shape} {rows:,}: {tools}")


def pick_files(directory, names):
    """Files of any partitions, the same ones every time, NUL after each name."""
    chance, picked = random.Random(1), []
    partitions = chance.choices(sorted(os.listdir(directory)), k=CATS)
    for partition, times in collections.Counter(partitions).items():
        rows = sorted(os.listdir(directory / partition))
        picked += [f"{partition}/{row}\0" for row in chance.choices(rows, k=times)]
    chance.shuffle(picked)
    names.write_bytes(os.fsencode("".join(picked)))


def count_said(tool, said):
    """What the tool says it saw: entities; of `ls` names; of rsync files that were sent; of cat files."""
    with open(said, encoding="utf-8", errors="surrogateescape") as lines:
        if tool in (HEAD, LS):
            return sum(1 for _ in lines)
        if tool == TAR:
            return int(lines.read()) // 1024  # a block for its header, and one for its text
        if tool in (RSYNC, RSYNC_AGAIN):
            sent = re.search(r"regular files transferred: ([\d,]+)", lines.read())[1]
            return int(sent.replace(",", ""))
        is_one = re.compile(ENTITY_LINES[tool]).search
        return sum(is_one(line) is not None for line in lines)


def expected(figures):
    """What the tool must have seen."""
    if figures.tool in (LS, RSYNC_AGAIN):
        return figures.count  # a mark judges it
    if figures.tool == TAR:  # directories take half as much, and the end is filled up
        return max(figures.count, figures.table.rows)
    return {HEAD: 1, CAT: CATS}.get(figures.tool, figures.table.rows)


def measure_directories(table, said, top):
    """From all paths: how many directories are large, and how many entities the largest holds itself."""
    below, inside = collections.Counter(), collections.Counter()
    with open(said, encoding="utf-8", errors="surrogateescape") as lines:
        for path in lines:
            if path.startswith("f "):
                inside[path[2 : path.rindex("/")]] += 1
    for directory, count in inside.items():
        while directory != top:
            below[directory] += count
            directory = directory[: directory.rindex("/")]
    large = CACHE_BYTES / 4 / max(table.row_bytes, 1)
    table.large_directories = sum(count > large for count in below.values())
    table.largest_directory = max(inside.values(), default=0)


def machine():
    model = re.search(r"^model name\s*: (.*)$", pathlib.Path("/proc/cpuinfo").read_text(), re.M)
    processor = model[1] if model else platform.machine()
    today = datetime.date.today().strftime("%d %B %Y").lstrip("0")
    return f"{os.cpu_count()} cores, {processor}, Linux {platform.release()}, {today}"


def options():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--build", default="build", help="the build directory (build)")
    parser.add_argument(
        "--accounts", help="where accounts are made, and found again by the next run"
    )
    parser.add_argument("--work", help="for everything else: a file system in memory (TMPDIR)")
    parser.add_argument("--shapes", help="these alone, a comma list")
    parser.add_argument("--rows", type=int, help="rows in every table")
    parser.add_argument("--tools", help=f"these alone, a comma list of: {', '.join(TOOLS)}")
    parser.add_argument(
        "--latency", type=int, default=20, help="ms (20; marks and chart are for 20)"
    )
    parser.add_argument("--limit", type=int, default=200, help="seconds of one run (200)")
    parser.add_argument("--minutes", type=float, default=15, help="of all runs (15)")
    parser.add_argument("--chart", help="where the chart goes (none)")
    parser.add_argument(
        "--short", action="store_true", help="small tables; fails when a count is wrong; no times"
    )
    return parser.parse_args()


def plan_of(arguments):
    """What was chosen, of the full or the short one."""
    shapes = arguments.shapes.split(",") if arguments.shapes else None
    tools = arguments.tools.split(",") if arguments.tools else TOOLS
    plan = []
    for shape, rows, late, now in SHORT if arguments.short else FULL:
        late, now = (tuple(tool for tool in some if tool in tools) for some in (late, now))
        if (late or now) and (not shapes or shape in shapes):
            plan.append((shape, arguments.rows or rows, late, now))
    return plan


def report(bench, arguments):
    print(text_table(bench.results, machine()))
    if bench.left_out:
        print("no time was left for these, or for some of each:", *bench.left_out, sep="\n  ")
    if arguments.chart:
        pathlib.Path(arguments.chart).write_text(svg_chart(bench.results, machine()))


def wrong_counts(results):
    """Of requests and entities, never times."""
    for figures in results.all:
        if figures.note or figures.seconds is None:
            yield f"{figures.key}: {figures.note}"
        for mark in marks(figures, results):
            if mark.what in ("requests", "files sent") and not mark.is_met:
                yield f"{figures.key}: {mark.value:.0f} {mark.what}, at most {mark.limit:.0f}"


def end_by_signal(number, _frame):
    raise SystemExit(128 + number)  # unmounts everything on its way


def main():
    arguments = options()
    signal.signal(signal.SIGTERM, end_by_signal)
    with tempfile.TemporaryDirectory(prefix="tablefuse-bench-", dir=arguments.work) as work:
        bench = Bench(arguments, work)
        bench.run(plan_of(arguments))
    if not arguments.short:
        report(bench, arguments)
        return 0
    wrong = list(wrong_counts(bench.results))
    print(
        f"{len(bench.results.all)} runs, wrong counts: {len(wrong)}",
        *wrong,
        sep="\n  ",
        file=sys.stderr,
    )
    return 1 if wrong or bench.left_out else 0


if __name__ == "__main__":
    sys.exit(main())
