"""-o writeback: a close returns once the text is queued, which is seen as if it were stored, and is sent in batches."""
import json
import os
import sys
import time

import pytest

from harness import BOTH_SERVICES, COMMAND_SEC, environment, run, wait_until
from writing import CREATE, failures, fails_at, lost_texts, write, write_all

pytestmark = pytest.mark.parametrize("service", BOTH_SERVICES, indirect=True, scope="module")

LONG = "ttl=600"
FANOUT = 4
PARTITIONS = [first + second + third for first in "ab" for second in "xy" for third in "123"]
SPELLINGS = ["ax1", "a+/ax1", "ax+/ax1", "a+/ax+/ax1", ".flat/ax1"]  # the ways to one partition


@pytest.fixture(scope="module", autouse=True)
def tables(make_table):
    for table in ("queued", "seen", "synced", "changed", "raced", "ended", "counted", "many"):
        make_table(table, [(key, "old") for key in [*PARTITIONS, "p"]])


class Gate:
    """Holds back the requests by which a mount sends its queue."""

    def __init__(self, file):
        self._file = file
        self.faults = f"hold=write:{file},hold=batch:{file}"
        self.close()

    def close(self):
        self._file.touch()

    def open(self):
        self._file.unlink(missing_ok=True)

    def wait_for(self, requests=1):
        held = self._file.with_name(self._file.name + ".held")
        wait_until(lambda: held.exists() and held.stat().st_size >= requests, what="the held requests")


@pytest.fixture
def gate(tmp_path):
    made = Gate(tmp_path / "gate")
    yield made
    made.open()


@pytest.fixture
def held(mounts, gate):
    """A mount whose queue is not sent before gate.open()."""
    return mounts("writeback", LONG, f"fanout={FANOUT}", faults=gate.faults)


def text_of(stored, table, row, partition="p"):
    """The properties of a stored entity; None: there is none."""
    return stored(table).get((partition, row))


# A text is checked when it is written, and queued


def test_close_returns_once_the_text_is_queued(held, gate, stored):
    directory = held / "queued/p"
    assert write(directory / "new.json", '{"A": 1}') == ""
    assert write(directory / "old.json", '{"A": 2}') == ""
    gate.wait_for()
    assert text_of(stored, "queued", "new") is None and text_of(stored, "queued", "old") == {}
    for name, number in (("new", 1), ("old", 2)):
        assert json.loads((directory / f"{name}.json").read_text())["A"] == number
        assert json.loads(run("cat", directory / f"{name}.json").stdout)["A"] == number
    gate.open()
    held.send_queued("queued")
    assert text_of(stored, "queued", "new") == {"A": 1} and text_of(stored, "queued", "old") == {"A": 2}
    assert failures(held) == []


def test_what_would_be_refused_is_not_queued(held, gate, stored):
    directory = held / "queued/p"
    before = stored("queued")
    assert write(directory / "bad.json", "hello") == "write EINVAL"
    assert write(directory / "large.json", '{"A": 12345678901234567890}') == "write EINVAL"
    assert write(directory / "half.json", '{"A": 1') == "close EINVAL"
    assert [fails_at(held, f"/queued/p/{name}.json") for name in ("bad", "large")] == [
        ["EINVAL line 1, column 1: not a JSON object"],
        ["EINVAL line 1, column 7: A: an Edm.Int64 that is no integer of 64 bits: 12345678901234567890"],
    ]
    lost_texts(held, 1)
    gate.open()
    held.send_queued()
    assert stored("queued") == before
    assert sorted(os.listdir(directory)) == sorted(f"{r}.json" for p, r in before if p == "p")


# What is queued is seen as if it were stored


def names_by_each_path(mount):
    return {path: sorted(run("ls", mount / "seen" / path).stdout.split()) for path in SPELLINGS}


def test_each_name_is_listed_once_by_every_path(held, gate):
    """While it is new, queued, and stored."""
    assert sorted(os.listdir(held / "seen")) == ["a+", "b+", "p"]
    expected = {path: ["new.json", "old.json"] for path in SPELLINGS}
    file = os.open(held / "seen/ax1/new.json", CREATE)
    assert names_by_each_path(held) == expected, "new"
    write_all(file, '{"A": 1}')
    assert names_by_each_path(held) == expected, "queued and open"
    os.close(file)
    assert names_by_each_path(held) == expected, "queued"
    for path in SPELLINGS:
        assert json.loads(run("cat", held / "seen" / path / "new.json").stdout)["A"] == 1
    gate.open()
    held.send_queued("seen")
    assert names_by_each_path(held) == expected, "stored"


def test_a_new_partition_is_seen_while_it_is_queued(held, gate, stored):
    """In a table with prefixes, and by another path than that of the write."""
    os.mkdir(held / "seen/c+")
    os.mkdir(held / "seen/c+/cat")
    assert write(held / "seen/c+/cat/1.json", '{"A": 1}') == ""
    assert run("ls", held / "seen/.flat/cat").stdout.split() == ["1.json"]
    assert "cat" in run("ls", held / "seen/.flat").stdout.split()
    gate.open()
    held.send_queued()
    assert text_of(stored, "seen", "1", "cat") == {"A": 1}


def test_numbers_and_times(held, gate, mounts):
    """The number stays. The time is this machine's until the text is stored, and then the service's."""
    path = held / "seen/p/times.json"
    began = time.time_ns()
    assert write(path, '{"A": 1}') == ""
    queued = os.stat(path)
    assert began - 10**9 < queued.st_mtime_ns < time.time_ns() + 10**9
    assert run("stat", "-c", "%i %s", path).stdout.split() == [str(queued.st_ino), str(queued.st_size)]
    gate.open()
    held.send_queued()
    told = run("stat", "-c", "%i %s", path).stdout.split()
    assert told == [str(queued.st_ino), str(queued.st_size)]
    theirs = os.stat(mounts("ttl=0") / "seen/p/times.json")
    mine = os.stat(path)
    assert (mine.st_size, mine.st_mtime_ns) == (theirs.st_size, theirs.st_mtime_ns)
    assert (path.parent.stat().st_mode, path.read_text()) == (path.parent.stat().st_mode, path.read_text())


# What waits for the queue


SYNC = """
import os, sys
file = os.open(sys.argv[1], os.O_RDONLY)
os.fsync(file)
"""
SYNC_WRITTEN = """
import os, sys
file = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT)
os.write(file, b'{"A": 1}')
os.fsync(file)
"""


@pytest.mark.parametrize("what", ["written", "read", "directory", "table", "root", "sync", "sync_d"])
def test_fsync_waits_for_what_is_queued_there(held, gate, begin, stored, what):
    path = held / f"synced/p/{what}.json"
    if what != "written":
        assert write(path, '{"A": 1}') == ""
    python = (sys.executable, "-c", SYNC_WRITTEN if what == "written" else SYNC)
    command = {
        "directory": (*python, path.parent),
        "table": (*python, held / "synced"),
        "root": (*python, held.point),
        "sync": ("sync", path),
        "sync_d": ("sync", "-d", path),
    }.get(what, (*python, path))
    waiting = begin(*command)
    gate.wait_for()
    assert waiting.poll() is None and text_of(stored, "synced", what) is None
    gate.open()
    assert waiting.communicate(timeout=COMMAND_SEC)[1] == "" and waiting.returncode == 0
    assert text_of(stored, "synced", what) == {"A": 1}
    with held.counting() as counted:
        run(*command) if what != "written" else None
    assert counted.asked() == {}, "nothing is queued any more"


def test_it_is_sent_within_a_second_without_fsync(mounts, stored):
    mount = mounts("writeback", LONG)
    assert write(mount / "synced/p/alone.json", '{"A": 1}') == ""
    wait_until(lambda: text_of(stored, "synced", "alone") == {"A": 1}, what="the text")


# What is queued can be changed


IN_PLACE = """
import sys
with open(sys.argv[1], "r+") as file:
    text = file.read().replace(": 1", ": 7")
    file.seek(0)
    file.write(text)
    file.truncate()
"""

# name: shell commands on $f, which is queued and has {"A": 1}; what is stored then, by name
CHANGES = {
    "overwrite": ('echo \'{"A": 2}\' > $f.json', {"f": {"A": 2}}),
    "append": ('echo \'{"B": 2}\' >> $f.json', {"f": {"A": 1, "B": 2}}),
    "in_place": (f"{sys.executable} -c '{IN_PLACE}' $f.json", {"f": {"A": 7}}),
    "move": ("mv $f.json $f-moved.json", {"f-moved": {"A": 1}}),
    "onto": ('echo \'{"A": 3}\' > $f-over.json; mv $f.json $f-over.json', {"f-over": {"A": 1}}),
    "away": ("mv $f.json $f.json~; mv $f.json~ $f-back.json", {"f-back": {"A": 1}}),
    "remove": ("rm $f.json", {}),
    "anew": ('rm $f.json; echo \'{"A": 4}\' > $f.json', {"f": {"A": 4}}),
    "sed": ("sed -i 's/\"A\": 1/\"A\": 5/' $f.json", {"f": {"A": 5}}),
    "copy": ("cp -p $f.json $f-copy.json", {"f": {"A": 1}, "f-copy": {"A": 1}}),
    "kept": ("cp --backup=simple $f.json $f-copy.json", {"f": {"A": 1}, "f-copy": {"A": 1}}),
    "noclobber": ('set -C; if echo "{}" > $f.json; then exit 1; fi 2> /dev/null', {"f": {"A": 1}}),
    "touch": ("touch $f.json", {"f": {"A": 1}}),
    "empty": (": > $f.json", {"f": {"A": 1}}),
    "temporary": ('echo \'{"A": 6}\' > $f.json.tmp; mv $f.json.tmp $f.json', {"f": {"A": 6}}),
}


@pytest.mark.parametrize("name", CHANGES)
def test_what_is_queued_can_be_changed(mounts, stored, name):
    mount = mounts("writeback", LONG)
    script, expected = CHANGES[name]
    assert write(mount / f"changed/p/{name}.json", '{"A": 1}') == ""
    done = run("bash", "-c", script, env=environment(f=str(mount / f"changed/p/{name}")), check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    wanted = {name + row[1:]: value for row, value in expected.items()}
    files = run("ls", mount / "changed/p").stdout.split()
    assert sorted(file for file in files if file.startswith(name)) == sorted(f"{row}.json" for row in wanted)
    mount.send_queued()
    assert {row: value for (p, row), value in stored("changed").items() if row.startswith(name)} == wanted
    lines = [f["error"] for f in failures(mount)]
    assert lines == (["EINVAL"] if name == "empty" else []), mount.control("errors")
