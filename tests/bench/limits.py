#!/usr/bin/python3
"""How much of an account's limits k exports reach, each of a part, and how often they are refused.

A stand-in for the service limits the entities a second of the account and of each partition. Beyond a limit it answers
503 ServerBusy. Two tables: of small partitions, and of eight large ones. A wrong number of entities fails the run, a rate
does not."""
import argparse
import asyncio
import bisect
import contextlib
import pathlib
import re
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse

from sides import Build
from walks import machine
from harness import KEY, environment

ACCOUNT_RATE, PARTITION_RATE = 20_000, 2_000  # entities a second
BURST_SEC = 1
SMALL, LARGE = "small", "large"
LARGE_PARTITIONS, SMALL_ROWS = 8, 10
PROCESSES = (1, 2, 4, 8)
SPLIT_PARTS = 64

COMPARISON = re.compile("(PartitionKey|RowKey) (eq|ge|gt|le|lt) '([^']*)'")
HIGHEST = "\U0010ffff"
BUSY = b'{"odata.error":{"code":"ServerBusy","message":{"lang":"en-US","value":"The server is busy."}}}'


class Limit:
    """So many in a second, and of those that were not used at most a second's. What is admitted may go beyond, and the next
    has to wait for that. It begins with none: what it has admitted is never above the rate."""

    def __init__(self, rate):
        self._rate, self._left, self._at = rate, 0, time.monotonic()

    def admits(self):
        now = time.monotonic()
        self._left = min(self._rate * BURST_SEC, self._left + (now - self._at) * self._rate)
        self._at = now
        return self._left > 0

    def take(self, number):
        self._left -= number


class Table:
    def __init__(self, shape, rows):
        size = SMALL_ROWS if shape == SMALL else rows // LARGE_PARTITIONS
        self.keys = [(f"order-{row // size:07}", f"line-{row % size:07}") for row in range(rows)]
        self._bodies = [
            f'{{"odata.etag":"W/\\"datetime\'2024-05-06T00%3A00%3A00.0000000Z\'\\"","PartitionKey":"{p}","RowKey":"{r}",'
            '"Timestamp":"2024-05-06T00:00:00.0000000Z","Name":"a name of some characters","Count":7}'.encode()
            for p, r in self.keys
        ]

    def range_of(self, text):
        """The indexes of the rows that match a conjunction of comparisons."""
        low, high = ("", ""), (HIGHEST, "")
        partition = re.search("PartitionKey eq '([^']*)'", text)
        for name, operator, key in COMPARISON.findall(text):
            # the first position that matches, or the first behind all that match
            at = (key, "") if name == "PartitionKey" else (partition[1], key)
            behind = (key, HIGHEST) if name == "PartitionKey" else (partition[1], key + "\0")
            if operator in ("eq", "ge", "gt"):
                low = max(low, behind if operator == "gt" else at)
            if operator in ("eq", "le", "lt"):
                high = min(high, at if operator == "lt" else behind)
        return bisect.bisect_left(self.keys, low), bisect.bisect_left(self.keys, high)

    def body(self, begin, end):
        return b'{"value":[' + b",".join(self._bodies[begin:end]) + b"]}"


class Service:
    """A table service for queries alone, in a thread of its own."""

    def __init__(self, tables, latency_ms, is_limited=True):
        self._tables, self._latency_sec, self._is_limited = tables, latency_ms / 1000, is_limited
        self.requests = self.refused = 0
        self._account, self._partitions = Limit(ACCOUNT_RATE), {}
        self._loop = asyncio.new_event_loop()
        started = threading.Event()
        self._thread = threading.Thread(target=self._run, args=(started,), daemon=True)
        self._thread.start()
        started.wait()

    def _run(self, started):
        server = self._loop.run_until_complete(asyncio.start_server(self._serve, "127.0.0.1", 0, backlog=256))
        self.endpoint = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/account"
        started.set()
        self._loop.run_forever()
        for task in asyncio.all_tasks(self._loop):  # of connections that clients have left open
            task.cancel()
        self._loop.run_until_complete(asyncio.sleep(0))

    def stop(self):
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()

    @property
    def credentials(self):
        return {"AZURE_STORAGE_CONNECTION_STRING": f"AccountName=account;AccountKey={KEY};TableEndpoint={self.endpoint}"}

    async def _serve(self, reader, writer):
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                await asyncio.sleep(self._latency_sec)
                status, headers, body = self._answer(head.split(b" ", 2)[1].decode())
                lines = [f"HTTP/1.1 {status}", "Content-Type: application/json;odata=minimalmetadata", *headers]
                writer.write("\r\n".join([*lines, f"Content-Length: {len(body)}", "", ""]).encode() + body)
                await writer.drain()
        writer.close()

    def _answer(self, target):
        url = urllib.parse.urlsplit(target)
        table = self._tables[url.path.split("/")[2].removesuffix("()")]
        query = {name: value[0] for name, value in urllib.parse.parse_qs(url.query).items()}
        begin, end = table.range_of(query.get("$filter", ""))
        if "NextPartitionKey" in query:
            begin = bisect.bisect_left(table.keys, (query["NextPartitionKey"], query.get("NextRowKey", "")))
        stop = min(end, begin + int(query.get("$top", 1000)))
        self.requests += 1
        if self._is_limited and not self._admits(table.keys[begin:stop]):
            self.refused += 1
            return "503 Server Busy", [], BUSY
        headers = []
        if stop < end:
            partition, row = table.keys[stop]
            headers = [f"x-ms-continuation-NextPartitionKey: {partition}", f"x-ms-continuation-NextRowKey: {row}"]
        return "200 OK", headers, table.body(begin, stop)

    def _admits(self, keys):
        counts = {}
        for partition, _ in keys:
            counts[partition] = counts.get(partition, 0) + 1
        limits = [(self._account, len(keys))]
        limits += [(self._partitions.setdefault(name, Limit(PARTITION_RATE)), count) for name, count in counts.items()]
        if not all(limit.admits() for limit, _ in limits):
            return False
        for limit, count in limits:
            limit.take(count)
        return True


def start(build, service, *words, **options):
    command = [build.tablefuse, *words]
    return subprocess.Popen(command, env=environment(**service.credentials), **options)


def split(build, service, shape, parts):
    """(tokens, seconds)"""
    begin = time.monotonic()
    process = start(build, service, "split", "--quiet", "-n", str(parts), f"{service.endpoint}/{shape}", stdout=subprocess.PIPE)
    said, _ = process.communicate(timeout=300)
    assert process.returncode == 0
    return said.decode().split(), time.monotonic() - begin


def export(build, service, shape, tokens, parallelism, work):
    """Seconds for all parts at once, and how many entities they wrote."""
    files = [pathlib.Path(work) / f"{i}.jsonl" for i in range(len(tokens))]
    begin = time.monotonic()
    processes = []
    for token, file in zip(tokens, files):
        with open(file, "wb") as output:
            words = ("export", "--quiet", "-o", f"parallelism={parallelism}", "--part", token, f"{service.endpoint}/{shape}")
            processes.append(start(build, service, *words, stdout=output))
    codes = [process.wait(timeout=600) for process in processes]
    seconds = time.monotonic() - begin
    assert set(codes) == {0}, f"exit codes {codes} after {seconds:.1f} s"
    return seconds, sum(file.read_bytes().count(b"\n") for file in files)


_COLUMNS = "{:<7}{:>10}{:>9}{:>12}{:>8}{:>10}{:>8}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--build", default="build", help="the build directory (build)")
    parser.add_argument("--rows", type=int, default=160_000, help="of each table (160000)")
    parser.add_argument("--latency", type=int, default=20, help="ms (20)")
    parser.add_argument("--processes", type=lambda text: [int(word) for word in text.split(",")], default=PROCESSES)
    parser.add_argument("--parallelism", type=int, default=8, help="requests at once of each process (8)")
    parser.add_argument("--shapes", type=lambda text: text.split(","), default=[SMALL, LARGE])
    arguments = parser.parse_args()
    build, wrong = Build(arguments.build), 0
    tables = {shape: Table(shape, arguments.rows) for shape in arguments.shapes}
    print(machine(), "", _COLUMNS.format("", "processes", "seconds", "entities/s", "share", "requests", "503"), sep="\n")
    for shape in tables:
        limit = ACCOUNT_RATE if shape == SMALL else min(ACCOUNT_RATE, LARGE_PARTITIONS * PARTITION_RATE)
        for number in arguments.processes:
            with tempfile.TemporaryDirectory() as work, contextlib.ExitStack() as stack:
                cutting, service = Service(tables, 0, False), Service(tables, arguments.latency)
                stack.callback(cutting.stop)
                stack.callback(service.stop)
                tokens, _ = split(build, cutting, shape, number)
                seconds, rows = export(build, service, shape, tokens, arguments.parallelism, work)
            wrong += rows != arguments.rows
            figures = (f"{seconds:.1f}", f"{rows / seconds:,.0f}", f"{rows / seconds / limit:.2f}")
            print(_COLUMNS.format(shape, number, *figures, service.requests, service.refused), flush=True)
    print(f"\nsplit -n {SPLIT_PARTS}")
    for shape in tables:
        for is_limited in (False, True):
            service = Service(tables, arguments.latency, is_limited)
            _, seconds = split(build, service, shape, SPLIT_PARTS)
            service.stop()
            how = "with the limits" if is_limited else "without limits"
            print(f"{shape:<7}{how}: {seconds:.1f} s, {service.requests:,} requests, {service.refused:,} of them refused")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
