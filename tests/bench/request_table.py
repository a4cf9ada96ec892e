#!/usr/bin/python3
"""The request table: how many requests real tools cost, over tables of eight key shapes.

Each cell is one tool on a fresh mount of an account in a file, behind a latency. Its count is compared with the
recorded one in request_table.txt. A count above its band fails the run. A count below its band is marked: record it.

Request counts of read-ahead are pinned here and nowhere else. After a change that lowers counts, `request_table.py
--record` writes them to the file; with --only and --shapes it writes those cells alone."""
import argparse
import contextlib
import dataclasses
import pathlib
import random
import re
import signal
import sqlite3
import statistics
import sys
import tempfile
import time

import sides
import harness
from expected import entity_name, partition_name
from harness import LocalAccount, environment, run

RECORDED = pathlib.Path(__file__).with_suffix(".txt")
CELL_SEC = 60  # the most that one command may take

# Entities of each table. A page holds 1,000 of them, so that read-ahead has ten pages or more to run through.
SHAPES = {
    "single": 15_000,  # one partition
    "ten": 10_000,  # ten partitions
    "package": 10_000,  # most partitions have one entity, few have thousands
    "guid": 10_000,  # one entity a partition
    "dates": 10_000,  # 3,600 days of one to six entities
    "skew": 10_000,  # one partition of nine pages in the middle of 1,000 of one entity
    "tens": 10_000,  # partitions of ten entities each
    "series": 15_000,  # five days of three pages, whose row keys go on from day to day
}
MANY_PARTITIONS = ("package", "guid", "dates", "skew", "tens")
SOME_ROWS, FEW_ROWS = 5_000, 3_000  # of the tables for tools that take long
LARGE_ROWS = 30_000  # of tables that are larger than a cache of 4 MiB

# A request takes longer than a tool needs between two files, as with a real service: a count then depends on the order
# of the requests, not on the speed of the machine. BRIEF_MS is for tools that mostly wait for one request after the
# other, so that the whole table stays short.
LATENCY_MS, BRIEF_MS = 20, 5

# Programs that come one after the other are served what was read for earlier ones until it is older than `ttl`. With
# the default of 1 s their counts would depend on the speed of the machine. All other tools run with the default.
KEPT = "ttl=600"

MARGIN, MARGIN_COUNT = 0.10, 2  # of the band, the larger of the two
# Where several processes read ahead at the same time, now and then a count is a third larger, whatever the program. So a
# run above its band is repeated, and the cell is above it when each run is. REPEATS bounds the time where many cells are.
MOST_RUNS, REPEATS = 5, 60


@dataclasses.dataclass
class Workload:
    """What runs on one mount. A command runs in the directory of the table, reads paths from $LIST and writes below
    $OUT. $BESIDE has the names of the tables `beside` it. The last line that it prints is how many entities it has seen:
    a tool that fails costs little."""

    steps: dict  # {row of the table: shell command}, one after the other
    list: str = ""  # the paths in $LIST: a method of Lists
    sees: str = ""  # "all" of the table's entities, those of the "list", or "" for any number but none
    shapes: tuple = tuple(SHAPES)
    options: tuple = ()  # of the mount
    latency_ms: int = LATENCY_MS
    counts_kib: bool = False  # one more row: what was brought, because a wrong guess costs bytes
    rows: int = 0  # of its tables; 0: as SHAPES says
    beside: tuple = ()  # more tables in the account: their shapes


COUNT_TEXTS = "grep -c '^}$'"  # the last line of each entity's text
COUNT_COPIES = "find $OUT/copy -type f | wc -l"
GIT = "git --git-dir=$OUT/git --work-tree=. -c core.looseCompression=0"
# eight processes, in a partition that is new in each run
CREATE = """mkdir new-${OUT##*/}; cd new-${OUT##*/}
    xargs -P8 -n125 sh -c 'for f; do echo "{}" > $f || exit 255; done' sh < $LIST; ls | wc -l"""
# one process, which pauses after each file
SLOW_READER = """while read -r f; do
    mapfile -t < "$f"; [ "${MAPFILE[-1]}" = "}" ] && echo; sleep 0.02
done"""

WORKLOADS = (
    # tools that list
    Workload({"ls": "ls | wc -l"}),
    Workload({"ls; ls": "ls; ls | wc -l"}, options=(KEPT,)),
    Workload({"ls -f .flat": "ls -f .flat | wc -l"}, shapes=MANY_PARTITIONS),
    Workload({"find": "find . -type f | wc -l"}, sees="all"),
    Workload({"find | head": "set +o pipefail; find . -type f | head -n 1 | wc -l"}),
    Workload({"ls -lR": "ls -lR | grep -c '^-.*[.]json$'"}, sees="all"),
    Workload({"du": "du -a | grep -c '[.]json$'"}),
    Workload({"grep -r": "grep -rh RowKey . | wc -l"}, sees="all"),
    Workload(
        {"grep -r twice at once": "grep -rh RowKey . > $OUT/1 & grep -rh RowKey . | wc -l; wait"},
        sees="all",
    ),
    # each table has a request window of its own
    Workload(
        {
            "grep -r of 4 tables": "for t in $BESIDE; do grep -rh RowKey ../$t > $OUT/$t & done"
            "; grep -rh RowKey . | wc -l; wait"
        },
        sees="all",
        shapes=("single",),
        beside=("ten", "guid", "dates"),
    ),
    # a table that is larger than the cache
    Workload(
        {"grep -r (2M cache)": "grep -rh RowKey . | wc -l"},
        sees="all",
        shapes=("single", "ten", "dates"),
        options=("cache_size=2M",),
    ),
    Workload(
        {"find (4M cache)": "find . -type f | wc -l"},
        sees="all",
        shapes=("package", "dates", "skew"),
        options=("cache_size=4M",),
        latency_ms=BRIEF_MS,
        rows=LARGE_ROWS,
    ),
    Workload(
        {"tar (4M cache)": "tar cf - . | tar t | grep -c '[.]json$'"},
        sees="all",
        shapes=("package", "dates"),
        options=("cache_size=4M",),
        latency_ms=BRIEF_MS,
        rows=LARGE_ROWS,
    ),
    Workload(
        {"ls -f .flat (4M cache)": "ls -f .flat | wc -l"},
        shapes=("package", "guid", "dates"),
        options=("cache_size=4M",),
        latency_ms=BRIEF_MS,
        rows=LARGE_ROWS,
    ),
    Workload({"tar": "tar cf - . | tar t | grep -c '[.]json$'"}, sees="all"),
    # both write a file for each entity: over fewer
    Workload(
        {
            "rsync": f"rsync -a ./ $OUT/copy; {COUNT_COPIES}",
            # when all that the first one was answered is older than the default `ttl`
            "rsync again": f"sleep 1.2; rsync -a ./ $OUT/copy; {COUNT_COPIES}",
        },
        sees="all",
        rows=SOME_ROWS,
    ),
    Workload(
        {"git add": f"git init -q --bare $OUT/git; {GIT} add .; {GIT} ls-files | wc -l"},
        sees="all",
        rows=FEW_ROWS,
    ),
    Workload(
        {"find -exec cat {} +": f"find . -type f -exec cat {{}} + | {COUNT_TEXTS}"},
        sees="all",
        options=(KEPT,),
    ),
    Workload(
        {"cat PARTITION/*": f'while read -r p; do cat "$p"/*; done < $LIST | {COUNT_TEXTS}'},
        list="partitions",
        options=(KEPT,),
    ),
    # tools that open files by name, in the order of the keys
    Workload(
        {"xargs cat": f"xargs cat < $LIST | {COUNT_TEXTS}"},
        list="all",
        sees="list",
        options=(KEPT,),
    ),
    Workload({"xargs stat": "xargs stat -c %s < $LIST | wc -l"}, list="all", sees="list"),
    Workload(
        {"rsync --files-from": f"rsync -a --files-from=$LIST ./ $OUT/copy; {COUNT_COPIES}"},
        list="shown",
        sees="list",
        options=(KEPT,),
    ),
    Workload(
        {"xargs -n1 cat": f"xargs -n1 cat < $LIST | {COUNT_TEXTS}"},
        list="first",
        sees="list",
        options=(KEPT,),
    ),
    Workload(
        {"xargs -P8 -n20 cat": f"xargs -P8 -n20 cat < $LIST | {COUNT_TEXTS}"},
        list="pages",
        sees="list",
        options=(KEPT,),
    ),
    Workload(
        {"xargs -P8 -n200 cat": f"xargs -P8 -n200 cat < $LIST | {COUNT_TEXTS}"},
        list="all",
        sees="list",
        options=(KEPT,),
    ),
    Workload(
        {"xargs cat each 10th": f"sed -n '1~10p' $LIST | xargs cat | {COUNT_TEXTS}"},
        list="all",
        options=(KEPT,),
        latency_ms=BRIEF_MS,
    ),
    # in the table that find walks meanwhile: its pages are too old for cat
    Workload(
        {"find | xargs -P8 cat": f"find . -type f | xargs -P8 -n20 cat | {COUNT_TEXTS}"},
        sees="all",
        shapes=("guid", "dates", "tens"),
    ),
    Workload({"slow reader": f"{SLOW_READER} < $LIST | wc -l"}, list="slow", sees="list"),
    Workload(
        {
            "git add FILES": f"git init -q --bare $OUT/git; head -n 500 $LIST | xargs {GIT} add;"
            f" {GIT} ls-files | wc -l"
        },
        list="shown",
        latency_ms=BRIEF_MS,
        rows=FEW_ROWS,
    ),
    # a tool that creates files: each name is looked up first
    Workload(
        {"xargs -P8 create": CREATE}, list="new", sees="list", shapes=("single",), rows=FEW_ROWS
    ),
    # and in other orders
    Workload(
        {"xargs cat backwards": f"xargs cat < $LIST | {COUNT_TEXTS}"},
        list="backwards",
        sees="list",
        latency_ms=BRIEF_MS,
    ),
    Workload(
        {"xargs cat shuffled": f"xargs cat < $LIST | {COUNT_TEXTS}"},
        list="shuffled",
        sees="list",
        options=(KEPT,),
        latency_ms=BRIEF_MS,
        counts_kib=True,
    ),
    Workload(
        {"random cat": f"xargs -n1 cat < $LIST | {COUNT_TEXTS}"},
        list="random",
        sees="list",
        options=(KEPT,),
        latency_ms=BRIEF_MS,
        counts_kib=True,
    ),
)
KIB = " KiB"  # after the name of a row: it counts what was brought


def rows_of(workload):
    return [
        name for step in workload.steps for name in (step, step + KIB)[: 1 + workload.counts_kib]
    ]


ALL_ROWS = [row for workload in WORKLOADS for row in rows_of(workload)]


class Lists:
    """Paths in a table. They are made from its keys, so that the processes under test list nothing."""

    def __init__(self, account, table):
        self._account, self._table = account, table
        with contextlib.closing(sqlite3.connect(account.file)) as database:
            keys = database.execute(
                "SELECT position FROM entities JOIN tables ON table_id = id"
                " WHERE name = ? ORDER BY position",
                (table,),
            ).fetchall()
        self._keys = [key.decode().split("\0") for (key,) in keys]

    def partitions(self):
        """Twenty, or all of fewer, spread over the table."""
        names = list(dict.fromkeys(partition_name(partition) for partition, _ in self._keys))
        return names[:: max(len(names) // 20, 1)][:20]

    def all(self):
        return [f"{partition_name(p)}/{entity_name(r)}" for p, r in self._keys]

    def pages(self):
        """The first six."""
        return self.all()[:6000]

    def first(self):
        return self.all()[:500]

    def slow(self):
        middle = len(self._keys) // 2
        return self.all()[middle : middle + 50]

    def backwards(self):
        return self.all()[:-300:-1]

    def shuffled(self):
        return random.Random(1).sample(self.all(), 200)

    def random(self):
        return random.Random(2).sample(self.all(), 200)

    def new(self):
        """Names of files that are not there."""
        return [entity_name(f"{i:04}") for i in range(1000)]

    def shown(self):
        """The first 3,000 as another mount shows them: through the directories of prefixes."""
        with tempfile.TemporaryDirectory() as work:
            with sides.tablefuse(work, self._account.file, 0) as mount:
                lines = run("find", ".", "-type", "f", cwd=mount / self._table, timeout=CELL_SEC)
        return sorted(lines.stdout.splitlines())[:3000]


class Bench:
    """An account of all tables, and the cells measured on it."""

    def __init__(self, work):
        self._work = pathlib.Path(work)
        self._account = LocalAccount(self._work / "account")
        self._tables, self._lists = {}, {}
        self.repeats = REPEATS  # that are left

    def _table(self, shape, rows):
        name = f"{shape}{rows}"
        if name not in self._tables:
            sides.fill_table(self._account, name, shape, rows)
            self._tables[name] = Lists(self._account, name)
        return name

    def _list(self, table, name):
        """The file that $LIST names, and how many paths it holds."""
        if (table, name) not in self._lists:
            paths = getattr(self._tables[table], name)()
            file = self._work / f"{table}-{name}"
            file.write_text("".join(path + "\n" for path in paths))
            self._lists[table, name] = file, len(paths)
        return self._lists[table, name]

    def measure(self, workload, shape):
        """{row: count} of one run."""
        rows = workload.rows or SHAPES[shape]
        table = self._table(shape, rows)
        file, paths = self._list(table, workload.list) if workload.list else ("", 0)
        beside = [self._table(other, SHAPES[other]) for other in workload.beside]
        seen = {"all": rows, "list": paths}.get(workload.sees)
        counts = {}
        with sides.mount_point(self._work) as mount:
            mount.start(
                self._account.source,
                *workload.options,
                faults=sides.faults(workload.latency_ms),
            )
            with tempfile.TemporaryDirectory(dir=self._work) as out:
                env = environment(
                    LIST=str(file),
                    OUT=out,
                    BESIDE=" ".join(beside),
                    GIT_CONFIG_GLOBAL="/dev/null",
                    HOME=out,
                )
                for row, command in workload.steps.items():
                    with mount.counting() as counted:
                        self._run(row, command, mount / table, env, seen)
                    counts[row] = counted.requests()
                    if workload.counts_kib:
                        counts[row + KIB] = counted.total("tablefuse_request_bytes_total") // 1024
        return counts

    @staticmethod
    def _run(row, command, directory, env, seen):
        script = f'set -e -o pipefail; cd "$1"; {command}'
        done = run("bash", "-c", script, "bash", directory, timeout=CELL_SEC, env=env)
        count = int(done.stdout.splitlines()[-1])
        right = count > 0 if seen is None else count == seen
        assert right, f"{row} in {directory.name} saw {count} entities, not {seen}:\n{done.stderr}"


def margin(recorded):
    return max(int(recorded * MARGIN), MARGIN_COUNT)


def is_above(count, recorded):
    return count > recorded + margin(recorded)


def is_below(count, recorded):
    return count < recorded - margin(recorded)


def read_table(file):
    """{(row, shape): count} of a file that format_table wrote."""
    if not file.exists():
        return {}
    lines = [line for line in file.read_text().splitlines() if line and not line.startswith("#")]
    (_, *shapes), *rows = [re.split(r"\s{2,}", line) for line in lines]
    return {
        (row, shape): int(cell)
        for row, *cells in rows
        for shape, cell in zip(shapes, cells, strict=True)
        if cell != "-"
    }


def format_table(cells, shapes, rows):
    """`cells`: {(row, shape): text}. Columns have two spaces between them at least, names one."""
    lines = [["requests", *shapes]]
    lines += [[row, *(cells.get((row, shape), "-") for shape in shapes)] for row in rows]
    widths = [max(len(line[i]) for line in lines) for i in range(len(shapes) + 1)]
    return "".join(
        "  ".join(
            cell.rjust(width) if i else cell.ljust(width)
            for i, (cell, width) in enumerate(zip(line, widths))
        ).rstrip()
        + "\n"
        for line in lines
    )


def write_table(file, counts):
    head = "# Written by request_table.py --record. A row that ends in KiB counts what was brought.\n"
    cells = {key: str(count) for key, count in counts.items()}
    file.write_text(head + format_table(cells, list(SHAPES), ALL_ROWS))


def verdict(count, recorded):
    """A cell of the printed table: the count, and the recorded one where it differs."""
    if recorded is None:
        return f"{count} new"
    if is_above(count, recorded):
        return f"{count} OVER {recorded}"
    if is_below(count, recorded):
        return f"{count} better than {recorded}"
    return str(count) if count == recorded else f"{count} ({recorded})"


def is_over(counts, shape, recorded):
    return any(
        (row, shape) in recorded and is_above(count, recorded[row, shape])
        for row, count in counts.items()
    )


def measure_cell(bench, workload, shape, recorded, arguments):
    """{row: count} and {row: counts of its runs}. The count is the median of the runs that were asked for. One run that
    is over its band is repeated."""
    begin = time.monotonic()
    runs = [bench.measure(workload, shape) for _ in range(arguments.runs)]
    if arguments.runs == 1 and not arguments.record:
        while is_over(runs[-1], shape, recorded) and len(runs) < MOST_RUNS and bench.repeats > 0:
            bench.repeats -= 1
            runs.append(bench.measure(workload, shape))
        counts = runs[-1]
    else:
        counts = {row: statistics.median_low(run[row] for run in runs) for row in runs[0]}
    of_runs = {row: [run[row] for run in runs] for row in counts}
    if arguments.verbose:
        seconds = f"{time.monotonic() - begin:.1f} s"
        for row in counts:
            print(row, shape, seconds, *of_runs[row], sep="\t", file=sys.stderr)
    return counts, of_runs


def choose(text, known, what):
    chosen = text.split(",") if text else known
    for name in chosen:
        if name not in known:
            raise SystemExit(f"no such {what}: {name} (there are {', '.join(known)})")
    return chosen


def options():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--only", help="these workloads alone, separated by commas")
    parser.add_argument("--shapes", help="these columns alone, separated by commas")
    parser.add_argument("--runs", type=int, default=1, help="of each cell; the median counts (1)")
    parser.add_argument("--record", action="store_true", help="write what was measured to the file")
    parser.add_argument("--table", type=pathlib.Path, default=RECORDED, help="the recorded counts")
    parser.add_argument("--program", help="tests/tablefuse-faulty of another build")
    parser.add_argument("--strict", action="store_true", help="a count below its band fails, too")
    parser.add_argument("--work", help="for all files: a file system in memory (TMPDIR)")
    parser.add_argument("--verbose", action="store_true", help="each run's count, as it comes")
    return parser.parse_args()


def use_program(program):
    """With the fixture beside it."""
    harness.TABLEFUSE = harness.FAULTY = program
    harness.FIXTURE = str(pathlib.Path(program).with_name("fixture"))


def measure_all(work, workloads, shapes, recorded, arguments):
    """{(row, shape): count} and {(row, shape): counts of its runs}. The runs of one table come one after the other, its
    account is made once."""
    bench, counts, of_runs = Bench(work), {}, {}
    for shape in shapes:
        for workload in workloads:
            if shape in workload.shapes:
                cell, runs = measure_cell(bench, workload, shape, recorded, arguments)
                counts.update({(row, shape): count for row, count in cell.items()})
                of_runs.update({(row, shape): run for row, run in runs.items()})
    return counts, of_runs


def report(counts, of_runs, recorded, shapes):
    """The table, and below it the cells that are above their bands: a log that was cut shows its end."""
    rows = [row for row in ALL_ROWS if any((row, shape) in counts for shape in shapes)]
    cells = {key: verdict(count, recorded.get(key)) for key, count in counts.items()}
    print(format_table(cells, shapes, rows), end="")
    for (row, shape), count in counts.items():
        most = recorded.get((row, shape))
        if most is not None and is_above(count, most):
            runs = " ".join(str(run) for run in of_runs[row, shape])
            print(f"OVER: {row}, {shape}: {runs} (recorded {most}, at most {most + margin(most)})")


def is_failed(counts, recorded, strict):
    """A cell that is not recorded fails, too: it would pin nothing."""
    for key, count in counts.items():
        if key not in recorded or is_above(count, recorded[key]):
            return True
        if strict and is_below(count, recorded[key]):
            return True
    return False


def end_by_signal(number, _frame):
    raise SystemExit(128 + number)  # unmounts on its way


def main():
    arguments = options()
    steps = [step for workload in WORKLOADS for step in workload.steps]
    chosen = set(choose(arguments.only, steps, "workload"))
    workloads = [workload for workload in WORKLOADS if chosen & set(workload.steps)]
    shapes = choose(arguments.shapes, list(SHAPES), "shape")
    if arguments.program:
        use_program(arguments.program)
    signal.signal(signal.SIGTERM, end_by_signal)
    recorded = read_table(arguments.table)
    with tempfile.TemporaryDirectory(prefix="tablefuse-table-", dir=arguments.work) as work:
        counts, of_runs = measure_all(work, workloads, shapes, recorded, arguments)
    report(counts, of_runs, recorded, shapes)
    if arguments.record:
        write_table(arguments.table, {**recorded, **counts})
        return 0
    return 1 if is_failed(counts, recorded, arguments.strict) else 0


if __name__ == "__main__":
    sys.exit(main())
