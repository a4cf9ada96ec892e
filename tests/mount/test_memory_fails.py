"""Allocations of the mounted program fail at random: what it has no memory for is "Cannot allocate memory", and nothing
else. No name is absent, no listing is short, and once there is memory everything is as it was."""
import errno
import mmap
import os
import random
import sys

import pytest

from expected import entity_name, entity_text, partition_name, prefix_name
from harness import FAILING_MALLOC, run, wait_until

pytestmark = pytest.mark.parametrize("service", ["local"], indirect=True)

NO_MEMORY = "Cannot allocate memory"
# An error of find itself, after a directory that it could not read to the end: it goes on as if it were still in that
# directory. The mount has shown no name and no inode number twice.
LOST_BOOKS = "find: File system loop detected"

KEYS = {
    "single": [("p", f"{row:04}") for row in range(1200)],
    # keys of 300 characters: their names are cut, so a lookup lists the keys with the same beginning
    "long": [("k" * 290 + f"{p:010}", "r" * 290 + f"{r:010}") for p in range(8) for r in range(4)],
    # more partitions than `fanout`: prefixes, some with prefixes in them
    "levels": [(a + b + f"{n:02}", "r") for a in "abcde" for b in "uvwxyz" for n in range(8)],
}
FANOUT = 40
ABSENT = ["single/p/none.json", "single/q/0001.json", "long/none", "levels/zz00", "levels/z+", "none"]


@pytest.fixture(scope="module", autouse=True)
def tables(make_table):
    for table, keys in KEYS.items():
        make_table(table, keys)


class Allocations:
    """Makes allocations of a mounted program fail for a while: see tests/stores/failing_malloc.c."""

    def __init__(self, directory):
        path = directory / "allocations"
        path.write_bytes(bytes(8))
        with open(path, "r+b") as file:
            self._control = mmap.mmap(file.fileno(), 8)
        self.environment = {"LD_PRELOAD": str(FAILING_MALLOC), "TABLEFUSE_FAIL_ALLOC": str(path)}

    def fail(self, of_a_million):
        self._control[:4] = of_a_million.to_bytes(4, sys.byteorder)

    def failures(self):
        return int.from_bytes(self._control[4:], sys.byteorder)


@pytest.fixture
def allocations(tmp_path):
    assert FAILING_MALLOC.exists()
    return Allocations(tmp_path)


def texts():
    """{path below the mount: text}, by the short path and by those that go through prefixes."""
    found = {}
    for table, keys in KEYS.items():
        for p, r in keys:
            text = entity_text(p, r, {}).encode()
            tail = f"{partition_name(p)}/{entity_name(r)}"
            found[f"{table}/{tail}"] = text
            if table == "levels":
                found[f"levels/{prefix_name(p[:1])}/{tail}"] = text
                found[f"levels/{prefix_name(p[:1])}/{prefix_name(p[:2])}/{tail}"] = text
    return found


def walk(top):
    """{directory: names} of the whole tree."""

    def refuse(error):
        raise error

    return {at: sorted(dirs + files) for at, dirs, files in os.walk(top, onerror=refuse)}


def read(path):
    with open(path, "rb", buffering=0) as file:
        return file.read()


class Storm:
    """The operations that run while allocations fail."""

    def __init__(self):
        self.succeeded = self.failed = 0

    def attempt(self, what, *arguments):
        """Answers the result of `what`, or None if it had no memory."""
        try:
            result = what(*arguments)
        except OSError as error:
            assert error.errno == errno.ENOMEM, f"{what.__name__}{arguments}: {error}"
            self.failed += 1
            return None
        self.succeeded += 1
        return result

    def tool(self, *command, expected):
        """Checks that the command prints all expected lines, or fails and says why."""
        done = run(*command, check=False)
        errors = [line for line in done.stderr.splitlines() if not line.startswith(LOST_BOOKS)]
        assert all(line.endswith(NO_MEMORY) for line in errors), done.stderr
        lines = done.stdout.splitlines()
        if done.returncode == 0:
            assert not errors and sorted(lines) == expected
        else:
            assert errors and set(lines) <= set(expected) and len(set(lines)) == len(lines)
        self.failed += done.returncode != 0
        self.succeeded += done.returncode == 0


def read_in_storm(mount, storm, files, directories, source):
    for path in source.sample(sorted(files), len(files)):
        found = storm.attempt(read, mount / path)
        assert found is None or found == files[path], path
    for path in source.sample(sorted(directories), len(directories)):
        found = storm.attempt(os.listdir, path)
        assert found is None or sorted(found) == directories[path], path
    for path in ABSENT:
        with pytest.raises(OSError) as error:
            os.stat(mount / path)
        assert error.value.errno in (errno.ENOENT, errno.ENOMEM)


def finds_memory(mount, files, directories):
    """Has all of it been read again? What is read is compared afterwards."""
    storm = Storm()
    for path in files:
        storm.attempt(read, mount / path)
    for path in directories:
        storm.attempt(os.listdir, path)
    return storm.failed == 0


def run_tools_in_storm(mount, storm, files, directories):
    for table in KEYS:
        top = str(mount / table)
        below = [at for at in directories if (at + "/").startswith(top + "/")]
        names = {f"{at}/{name}" for at in below for name in directories[at]}
        storm.tool("find", top, expected=sorted({top, *names}))
        storm.tool("ls", "-f", top, expected=sorted([".", "..", *directories[top]]))
    storm.tool("ls", mount / "single/p", expected=directories[str(mount / "single/p")])
    some = sorted(path for path in files if path.startswith("long/"))[:2]
    for path in some:
        storm.tool("cat", mount / path, expected=sorted(files[path].decode().splitlines()))


@pytest.mark.parametrize(
    "of_a_million, options",
    [
        (1000, ["ttl=0"]),
        (1000, []),
        (10000, ["ttl=0"]),
        (10000, ["ttl=0", "cache_size=1M"]),
        (50000, ["ttl=0"]),
    ],
    ids=["0.1%", "0.1%-ttl", "1%", "1%-small-cache", "5%"],
)
def test_nothing_is_lost_but_memory(mounts, allocations, of_a_million, options):
    mount = mounts(f"fanout={FANOUT}", *options, env=allocations.environment)
    files = texts()
    directories = walk(mount.point)
    leaves = {path for path in files if path.count("/") == 2}
    listed = [f"{at}/{name}" for at, names in directories.items() for name in names]
    listed = [path for path in listed if path.endswith(".json") and "/first/" not in path]
    short = [path.split("/")[-2:] for path in listed]
    assert sorted(short) == sorted(path.split("/")[-2:] for path in leaves)
    directories = {at: names for at, names in directories.items() if "/first" not in at}

    storm, source = Storm(), random.Random(7)
    allocations.fail(of_a_million)
    read_in_storm(mount, storm, files, directories, source)
    run_tools_in_storm(mount, storm, files, directories)
    allocations.fail(0)
    assert allocations.failures() > 0 and storm.failed > 0 and storm.succeeded > 0

    # what was read ahead, and had no memory, fails once for the process that comes for it
    wait_until(lambda: finds_memory(mount, files, directories), what="the end of the failures")
    for path, text in files.items():
        assert read(mount / path) == text
    for path, names in directories.items():
        assert sorted(os.listdir(path)) == names
    for path in ABSENT:
        assert not os.path.exists(mount / path)
    assert "ENOMEM" in mount.control("errors")


def test_a_directory_that_cannot_be_opened_is_in_errors(mounts, allocations):
    mount = mounts("ttl=600", env=allocations.environment)
    os.stat(mount / "single/p")
    allocations.fail(100000)
    for _ in range(500):
        try:
            os.close(os.open(mount / "single/p", os.O_RDONLY | os.O_DIRECTORY))
        except OSError as error:
            assert error.errno == errno.ENOMEM
    allocations.fail(0)
    lines = [line for line in mount.control("errors").splitlines() if "opendir" in line]
    assert all("ENOMEM: out of memory" in line for line in lines)
    assert any("opendir /single/p: " in line for line in lines), "some have no memory for the path"
