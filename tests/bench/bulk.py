#!/usr/bin/python3
"""export, with a filter, too, count and import of a whole table, beside @azure/data-tables, a plain client in C and serial paging; diff of
equal tables and sync of one entity in a hundred, beside a copy by export and import, and beside rsync of two mounts.

The SDK and the client (libcurl, cJSON; one request after the other) use the same Azurite, serial paging the same account in a
file. Latency by decorators. The seconds of tablefuse are those of its process, those of the SDK and the client are without the
start and the making of a table. A wrong number of entities fails the run, a time does not."""
import argparse
import contextlib
import dataclasses
import json
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time

import sides
import harness
from credentials import account_sas
from harness import Azurite, LocalAccount, environment, run
from sides import Build
from walks import end_by_signal, machine

EXPORT, FILTER, COUNT, IMPORT, DIFF, SYNC = OPERATIONS = ("export", "filter", "count", "import", "diff", "sync")
LOCAL, AZURITE, SDK, CLIENT, SERIAL, COPY, RSYNC = ("local", "Azurite", "SDK", "C", "serial", "copy", "rsync")
PAIRS = (DIFF, SYNC)  # of two tables
MATCHES_ALL = ("--filter", "RowKey ge ''")  # and bounds no range
CHANGED_EVERY = 100
BESIDE, BESIDE_PAIR = {AZURITE: (SDK, CLIENT), LOCAL: (SERIAL,)}, {LOCAL: (COPY, RSYNC)}
SDK_PROGRAM = pathlib.Path(__file__).with_name("bulk_sdk.js")


@dataclasses.dataclass
class Figures:
    operation: str
    side: str
    latency_ms: int
    rows: int  # that it has read or stored
    requests: int  # None: it does not say
    seconds: float

    @property
    def rate(self):
        return self.rows / self.seconds if self.seconds else 0


def number_of(what, said):
    """Of the last line: `5,000 entities, 1.2 MB, 12 requests, 0.3 s`."""
    return int(re.search(rf"([\d,]+) {what}", said.splitlines()[-1])[1].replace(",", ""))


class Bench:
    """A run of everything."""

    def __init__(self, arguments, work):
        self.build, self.work = Build(arguments.build), pathlib.Path(work)
        self.results, self.wrong = [], []
        self._rows, self._local_rows = arguments.rows, arguments.local_rows
        self._shape, self._limit_sec = arguments.shape, arguments.limit
        self._copies = 0

    def _note(self, figures):
        self.results.append(figures)
        is_pair = figures.operation in PAIRS
        expected = self._local_rows if figures.side in (LOCAL, SERIAL) and not is_pair else self._rows
        if figures.rows != expected:
            self.wrong.append(f"{figures}: not {expected} entities")
        print(figures, file=sys.stderr, flush=True)

    def _new_table(self):
        self._copies += 1
        return f"copy{self._copies}"

    def _tablefuse(self, service, latency_ms, *words, stdin=subprocess.DEVNULL, output=subprocess.PIPE):
        """Seconds, and what it says."""
        begin = time.monotonic()
        done = subprocess.run(
            [self.build.faulty if latency_ms else self.build.tablefuse, *words],
            stdin=stdin,
            stdout=output,
            stderr=subprocess.PIPE,
            env=environment(**service.credentials, TABLEFUSE_FAULTS=sides.faults(latency_ms)),
            timeout=self._limit_sec,
            check=False,
        )
        seconds = time.monotonic() - begin
        assert done.returncode == 0, f"{words} ended with {done.returncode}:\n{done.stderr.decode()}"
        return seconds, (done.stdout or done.stderr).decode()

    def measure(self, service, side, latency_ms):
        account = service.source or service.endpoint
        saved, new_table = self.work / f"{side}.jsonl", self._new_table()

        def note(operation, seconds, rows, requests=None):
            self._note(Figures(operation, side, latency_ms, rows, requests, seconds))

        with open(saved, "wb") as output:
            seconds, said = self._tablefuse(service, latency_ms, EXPORT, f"{account}/bulk", output=output)
        note(EXPORT, seconds, number_of("entities", said), number_of("requests", said))
        self._measure_filter(service, side, latency_ms)
        seconds, said = self._tablefuse(service, latency_ms, COUNT, f"{account}/bulk")
        note(COUNT, seconds, int(said.split()[1]))  # entities N
        with open(saved, "rb") as stdin:
            words = (IMPORT, "--create", f"{account}/{new_table}")
            seconds, said = self._tablefuse(service, latency_ms, *words, stdin=stdin)
        note(IMPORT, seconds, number_of("stored", said), number_of("requests", said))

    def _measure_filter(self, service, side, latency_ms, *options):
        """An export of what matches, which is everything."""
        table = f"{service.source or service.endpoint}/bulk"
        with open(self.work / "filtered.jsonl", "wb") as output:
            words = (EXPORT, *MATCHES_ALL, *options, table)
            seconds, said = self._tablefuse(service, latency_ms, *words, output=output)
        counts = (number_of("entities", said), number_of("requests", said))
        self._note(Figures(FILTER, side, latency_ms, *counts, seconds))

    def measure_others(self, service, latency_ms):
        sdk_environment = environment(
            NODE_PATH=harness.MODULES,
            SDK_ENDPOINT=service.endpoint,
            SDK_ACCOUNT=service.account,
            SDK_KEY=service.key,
            SDK_LATENCY_MS=str(latency_ms),
            SDK_SAS=account_sas(service.account, service.key, "rwdlacu"),
        )
        for side, program in ((SDK, ("node", SDK_PROGRAM)), (CLIENT, (self.build.bulk_client,))):
            for operation, words in ((EXPORT, ("list", "bulk")), (IMPORT, ("load", "bulk", self._new_table()))):
                done = run(*program, *words, env=sdk_environment, timeout=self._limit_sec)
                self._note(Figures(operation, side, latency_ms, **json.loads(done.stdout)))

    def measure_serial(self, local, latency_ms):
        """One page after the other through the same store; with a filter by one request at a time."""
        self._measure_filter(local, SERIAL, latency_ms, "-o", "parallelism=1")
        counts = sides.use_store(self.build, local.file, "bulk", SERIAL, latency_ms, self._limit_sec)
        assert counts, f"not finished in {self._limit_sec} s"
        seconds = counts.total("bench_milliseconds") / 1000
        self._note(Figures(EXPORT, SERIAL, latency_ms, counts.total("bench_rows"), counts.requests(), seconds))

    def _change(self, local, value):
        lines = run(self.build.tablefuse, EXPORT, "--quiet", f"{local.source}/bulk").stdout.splitlines()[::CHANGED_EVERY]
        changed = "".join(json.dumps({**json.loads(line), "Changed": value}) + "\n" for line in lines).encode()
        words = (self.build.tablefuse, IMPORT, "--quiet", f"{local.source}/bulk")
        subprocess.run(words, input=changed, env=environment(), check=True, timeout=self._limit_sec)

    def _rsync(self, begin, end, latency_ms):
        """Seconds; None: not finished. By checksums, because a new file has its own time."""
        with contextlib.ExitStack() as stack:
            mounts = [stack.enter_context(sides.tablefuse(self.work, each.file, latency_ms)) for each in (begin, end)]
            words = [f"{mount.point}/bulk/.flat/" for mount in mounts]
            return sides.timed("rsync", "-rc", "--delete", *words, limit_sec=self._limit_sec)[0]

    def measure_pair(self, begin, end, latency_ms):
        tables, copied = [f"{each.source}/bulk" for each in (begin, end)], self.work / "copied.jsonl"
        with open(copied, "wb") as output:
            seconds, _ = self._tablefuse(begin, latency_ms, EXPORT, tables[0], output=output)
        with open(copied, "rb") as stdin:
            seconds += self._tablefuse(end, latency_ms, IMPORT, "--create", tables[1], stdin=stdin)[0]
        self._note(Figures(SYNC, COPY, latency_ms, self._rows, None, seconds))
        for operation, words in ((DIFF, ()), (SYNC, ("--delete",))):
            seconds, said = self._tablefuse(begin, latency_ms, operation, *words, *tables)
            read, requests = number_of("entities read", said), number_of("requests", said)
            self._note(Figures(operation, LOCAL, latency_ms, read, requests, seconds))
            self._change(begin, f"{operation} at {latency_ms} ms")
        seconds = self._rsync(begin, end, latency_ms)
        self._tablefuse(begin, 0, DIFF, *tables)  # they are equal now
        self._note(Figures(SYNC, RSYNC, latency_ms, self._rows, None, seconds))

    def run(self, latencies):
        local, azurite = LocalAccount(self.work / "account"), Azurite(self.work)
        begin, end = LocalAccount(self.work / "begin"), LocalAccount(self.work / "end")
        try:
            local.fill("bulk", self._shape, self._local_rows)
            azurite.fill("bulk", self._shape, self._rows)
            begin.fill("bulk", self._shape, self._rows)
            end.fill("other", "single", 1)
            for latency_ms in latencies:
                self.measure(local, LOCAL, latency_ms)
                self.measure_serial(local, latency_ms)
                self.measure(azurite, AZURITE, latency_ms)
                self.measure_others(azurite, latency_ms)
                self.measure_pair(begin, end, latency_ms)
        finally:
            azurite.stop()
            local.stop()
            begin.stop()
            end.stop()

    def beside(self, figures):
        """How many times the rate of each that it is measured beside. Those have no other way to count, nor to compare."""
        is_pair, found = figures.operation in PAIRS, []
        operation = SYNC if is_pair else figures.operation.replace(COUNT, EXPORT)
        others = BESIDE_PAIR if is_pair else BESIDE
        for side in others.get(figures.side, ()):
            wanted = (operation, side, figures.latency_ms)
            for other in self.results:
                if (other.operation, other.side, other.latency_ms) == wanted and other.seconds:
                    found.append(f"{figures.rate / other.rate:.2f}")
        return " ".join(found)


_COLUMNS = "{:<9}{:<9}{:>3}{:>10}{:>10}{:>9}{:>12}{:>13}"


def text_table(bench):
    lines = [machine(), "", _COLUMNS.format("", "on", "ms", "entities", "requests", "seconds", "entities/s", "ratio")]
    for operation in OPERATIONS:
        for figures in (each for each in bench.results if each.operation == operation):
            rate, seconds = f"{figures.rate:,.0f}", f"{figures.seconds:.2f}"
            counts = (figures.latency_ms, f"{figures.rows:,}", f"{figures.requests:,}" if figures.requests else "")
            lines.append(_COLUMNS.format(operation, figures.side, *counts, seconds, rate, bench.beside(figures)))
    return "\n".join(line.rstrip() for line in lines)


def options():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--build", default="build", help="the build directory (build)")
    parser.add_argument("--work", help="for all files: a file system in memory (TMPDIR)")
    parser.add_argument("--rows", type=int, default=20_000, help="entities in Azurite (20000)")
    parser.add_argument("--local-rows", type=int, default=200_000, help="entities in the file (200000)")
    parser.add_argument("--shape", default="ten", help="of the keys, as of tests/fixture (ten)")
    parser.add_argument(
        "--latency", type=lambda text: [int(word) for word in text.split(",")], default=[0, 20], help="ms (0,20)"
    )
    parser.add_argument("--limit", type=int, default=200, help="seconds of one run (200)")
    return parser.parse_args()


def main():
    arguments = options()
    signal.signal(signal.SIGTERM, end_by_signal)
    with tempfile.TemporaryDirectory(prefix="tablefuse-bench-", dir=arguments.work) as work:
        bench = Bench(arguments, work)
        bench.run(arguments.latency)
    print(text_table(bench))
    print(*bench.wrong, sep="\n", end="", file=sys.stderr)
    return 1 if bench.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
