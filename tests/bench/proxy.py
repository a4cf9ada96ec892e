#!/usr/bin/python3
"""What the strict proxy (tests/service) costs: milliseconds a request with and without it, its CPU time, and requests a second
of one core. `proxy.py [REQUESTS]`"""
import os
import pathlib
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "mount"))
from harness import Azurite  # noqa: E402
from strict_proxy import RawClient, StrictProxy  # noqa: E402

ROUNDS = 5  # alternating; the best of each side counts: other programs only add to it


def cpu_sec(pid):
    with open(f"/proc/{pid}/stat", encoding="ascii") as file:
        fields = file.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def one_ms(port, count, send):
    client = RawClient(port)
    began = time.perf_counter()
    for _ in range(count):
        assert send(client).status in (200, 202)
    client.close()
    return (time.perf_counter() - began) / count * 1000


def measure(name, count, azurite, proxy, send):
    direct, through = [], []
    before = cpu_sec(proxy.pid)
    for _ in range(ROUNDS):
        direct.append(one_ms(azurite.direct_port, count, send))
        through.append(one_ms(proxy.port, count, send))
    cpu_ms = (cpu_sec(proxy.pid) - before) / count / ROUNDS * 1000
    added = min(through) - min(direct)
    costs = f"through the proxy {added:+.2f} ms, {cpu_ms:.2f} ms of CPU: {1000 / cpu_ms:.0f} a second"
    print(f"{name:<12} {min(direct):.2f} ms, {costs}")


def put(i):
    row = {"PartitionKey": "p", "RowKey": f"r{i}", "N": i, "S": "x" * 100}
    return "PUT", f"/table(PartitionKey='p',RowKey='r{i}')", row, {}


def main():
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    with tempfile.TemporaryDirectory() as directory:
        azurite = Azurite(directory)
        proxy = StrictProxy(azurite.direct_port)
        try:
            client = RawClient(azurite.direct_port)
            assert client.create("table") == 204
            assert client.batch(*map(put, range(100))).status == 202
            measure("get", count, azurite, proxy, lambda c: c.send("GET", "/table(PartitionKey='p',RowKey='r1')"))
            measure("page of 100", count, azurite, proxy, lambda c: c.send("GET", "/table()"))
            measure("batch of 100", count // 20, azurite, proxy, lambda c: c.batch(*map(put, range(100))))
        finally:
            proxy.stop()
            azurite.stop()


if __name__ == "__main__":
    main()
