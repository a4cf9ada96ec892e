"""Mounts over the strict proxy: pages of any form, and faults, change nothing of what a program sees."""
import json
import os
import re
import shutil
import signal

import pytest

from harness import COMMAND_SEC, TABLEFUSE, Azurite, environment, run, wait_until
from strict_proxy import RawClient, StrictProxy
from writing import failures, outcome

# a partition of 90 rows has several pages of any kind
KEYS = [(f"p{i}", f"r{j:03}") for i in range(4) for j in range(90)]
NAMES = sorted(f"{p}/{r}.json" for p, r in KEYS)
PAGES = [
    {"page_rows": 7, "tokens": "opaque"},
    {"page_rows": "1-40", "tokens": "partition", "last_empty": 1, "borders": 0.3},
    {"page_rows": "20-90", "tokens": "mixed", "empty": 0.4, "empty_run": 2, "borders": 1},
]
READS = ["503@query", "500@query", "reset@query", "cut@query", "wrong_length@query", "stale@query", "429@query"]
WRITES = ["503@batch", "inner_500@batch", "inner_503@batch", "reset_after@batch", "500_after@batch", "cut@batch", "504@batch"]


def names_below(directory):
    return sorted(os.path.relpath(os.path.join(at, name), directory) for at, _, files in os.walk(directory) for name in files)


@pytest.fixture(scope="module", autouse=True)
def table(fill):
    fill("read", KEYS)


@pytest.mark.parametrize("settings", PAGES, ids=["0", "1", "2"])
def test_pages_of_any_form(service, mounts, settings):
    service.proxy.control(**settings)
    mount = mounts("ttl=0")
    assert names_below(mount / "read") == NAMES
    assert sorted(os.listdir(mount / "read/p1")) == [f"r{j:03}.json" for j in range(90)]
    assert json.loads((mount / "read/p3/r089.json").read_text())["RowKey"] == "r089"
    exported = run(TABLEFUSE, "export", f"{service.endpoint}/read", env=environment(**service.credentials)).stdout
    assert [(row["PartitionKey"], row["RowKey"]) for row in map(json.loads, exported.splitlines())] == KEYS


def test_faults_while_it_reads(service, mounts):
    mount = mounts("ttl=0")
    service.proxy.control(page_rows=20)
    for fault in READS:
        service.proxy.control(plan=fault)
        assert names_below(mount / "read") == NAMES
    report = service.proxy.control()
    assert report["planned"] == [] and report["happened"] == {fault.partition("@")[0]: 1 for fault in READS}
    assert failures(mount) == []


class Faults:
    """Each of WRITES, one after the other, while a program works. How many of its changes share a batch depends on the time:
    it works until a batch had the fault."""

    def __init__(self, proxy):
        self._proxy = proxy

    def each_during(self, work):
        number = 0
        for fault in WRITES:
            self._proxy.control(plan=fault)
            while self._proxy.control()["planned"]:
                assert number < 200, f"no batch had {fault}"
                work(number)
                number += 1
        return number


def test_faults_while_it_writes_and_deletes(service, mounts, stored, make_table, tmp_path):
    make_table("written")
    rows = [f"r{i:02}" for i in range(60)]
    for row in rows:
        (tmp_path / f"{row}.json").write_text(json.dumps({"A": row}))
    mount = mounts("writeback", "parallelism=1")

    def write(number):
        shutil.copytree(tmp_path, mount / f"written/p{number}")
        with open(mount / f"written/p{number}/r00.json", "rb") as file:
            os.fsync(file)

    def remove(number):
        if number >= written:
            write(number)
        run("rm", "-r", mount / f"written/p{number}")

    faults = Faults(service.proxy)
    written = faults.each_during(write)
    wait_until(lambda: len(stored("written")) == written * len(rows), what="the last text")
    expected = {(f"p{number}", row): row for number in range(written) for row in rows}
    assert {key: members["A"] for key, members in stored("written").items()} == expected
    removed = faults.each_during(remove)
    for number in range(removed, written):
        remove(number)
    assert stored("written") == {}
    assert service.proxy.control()["happened"] == {fault.partition("@")[0]: 2 for fault in WRITES}
    assert failures(mount) == []


def counted(service, what):
    return service.proxy.control()["requests"].get(what, 0)


def test_a_service_that_is_away_for_a_while(service, mounts, begin):
    mount = mounts("ttl=0")
    service.proxy.control(away=6000)
    reader = begin("ls", mount / "read/p1")
    wait_until(lambda: counted(service, "away") > 1, what="a second request")
    service.proxy.control(away=0)
    out, err = reader.communicate(timeout=COMMAND_SEC)
    assert (len(out.split()), err) == (90, "")


def test_a_partition_that_is_busy_for_a_while(service, mounts, stored, make_table):
    make_table("busy")
    mount = mounts("writeback")
    service.proxy.control(partition_rate=0, retry_after=1)
    (mount / "busy/p").mkdir()
    for row in range(5):
        (mount / f"busy/p/r{row}.json").write_text("{}")
    wait_until(lambda: counted(service, "busy") > 1, what="a second request")
    service.proxy.control(partition_rate="off")
    wait_until(lambda: len(stored("busy")) == 5, what="the texts")
    assert failures(mount) == []


def test_the_log_has_the_begin_of_throttling(service, mounts, begin, tmp_path):
    """Its end is logged 30 s later: tests/unit/client/store/test_service_throttling.c has a clock for that."""
    mount, log = mounts.prepare(), tmp_path / "log"
    command = ["mount", "-f", "-o", "ttl=0,timeout=120", mount.point]
    begin("sh", "-c", 'exec "$@" 2> "$0"', log, TABLEFUSE, *command, **service.credentials)
    wait_until(mount.is_mounted, what="the mount")
    mount.adopt()
    service.proxy.control(partition_rate=0)
    rows = range(0, 90, 3)
    readers = [begin("cat", mount / f"read/p0/r{row:03}.json") for row in rows]
    wait_until(lambda: "throttles" in log.read_text(), what="the line")
    service.proxy.control(partition_rate="off")
    texts = [reader.communicate(timeout=COMMAND_SEC)[0] for reader in readers]
    assert [json.loads(text)["RowKey"] for text in texts] == [f"r{row:03}" for row in rows]
    assert failures(mount) == []
    mount.unmount()
    line = log.read_text().splitlines()[0]
    found = re.search(r": the service throttles: it refused (\d+) of (\d+) requests for read within 10 s ", line)
    assert found and int(found[2]) >= 20 and int(found[1]) * 10 > int(found[2])


def test_a_name_that_is_still_being_deleted(service, mounts, make_table):
    make_table("gone")
    mount = mounts()
    service.proxy.control(being_deleted=2)
    os.rmdir(mount / "gone")
    assert [outcome(os.mkdir, mount / "gone") for _ in range(3)] == ["EBUSY", "EBUSY", ""]
    assert counted(service, "create") == 3


def test_a_broken_rule_is_a_problem(service):
    client = RawClient(service.port)
    assert client.send("GET", "/read()?$top=0").status == 400
    client.close()
    (problem,) = service.problems()
    assert problem.startswith("refused by the rule top: GET ")
    assert service.problems() == []


def test_azurite_that_dies_is_a_problem(scratch):
    azurite = Azurite(scratch)
    try:
        azurite.stand_behind(StrictProxy(azurite.direct_port))
        assert azurite.problems() == []
        azurite.send(signal.SIGKILL)
        wait_until(azurite.problems, what="the end of Azurite")
        (problem,) = azurite.problems()
        assert problem.startswith("Azurite died")
    finally:
        azurite.stop()
