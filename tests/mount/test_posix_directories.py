"""Promises of POSIX about directories: mkdir, rmdir, readdir. On Azurite and in a file."""
import os

import pytest

from harness import BOTH_SERVICES, run
from writing import CREATE, failures, outcome, write

pytestmark = pytest.mark.parametrize("service", BOTH_SERVICES, indirect=True)

# In each kind of directory: the root holds tables, a table partitions and prefixes. And what can be made in it.
NEW = {"fresh": "p", "made/fresh": "x.json", "made/fresh+": "freshly", "made/f+/fresh": "x.json"}


@pytest.fixture(scope="module", autouse=True)
def data(make_table):
    make_table("made", [("p", "r")])
    make_table("full", [("p", "r"), ("q", "r")])


@pytest.mark.parametrize("path", NEW)
def test_mkdir_and_rmdir(mount, path):
    if path == "made/f+/fresh":
        os.mkdir(mount / "made/f+")
    where, name = os.path.split(path)
    os.mkdir(mount / path)
    assert os.listdir(mount / path) == [] and os.path.isdir(mount / path)
    assert name in run("ls", mount / where).stdout.splitlines()
    assert outcome(os.mkdir, mount / path) == "EEXIST"
    os.rmdir(mount / path)
    assert outcome(os.stat, mount / path) == outcome(os.rmdir, mount / path) == "ENOENT"
    assert name not in run("ls", mount / where).stdout.splitlines()
    os.mkdir(f"{mount.point}/{path}/")
    os.rmdir(f"{mount.point}/{path}/")
    assert failures(mount) == []


def test_mkdir_of_what_exists(mount):
    for path in ("full", "full/p", "full/p+", "full/p/r.json", ".tablefuse", "full/p/.", "full/p/.."):
        assert outcome(os.mkdir, f"{mount.point}/{path}") == "EEXIST", path


def test_rmdir_of_what_is_not_empty(mount, stored):
    before = stored("full")
    for path in ("full", "full/p", "full/p+"):
        assert outcome(os.rmdir, mount / path) == "ENOTEMPTY", path
    file = os.open(mount / "made/p/new.json", CREATE)
    os.unlink(mount / "made/p/r.json")
    assert outcome(os.rmdir, mount / "made/p") == "ENOTEMPTY", "a new file is in it"
    os.unlink(mount / "made/p/new.json")
    os.close(file)
    os.rmdir(mount / "made/p")
    assert stored("full") == before and "p" not in os.listdir(mount / "made")


def test_rmdir_of_what_cannot_be_removed(mount):
    assert outcome(os.rmdir, mount / "full/p/r.json") == "ENOTDIR"
    assert outcome(os.rmdir, f"{mount.point}/full/p/.") == "EINVAL"
    assert outcome(os.rmdir, f"{mount.point}/full/p/..") == "ENOTEMPTY"
    assert outcome(os.rmdir, mount.point) == "EBUSY", "something is mounted there"
    assert outcome(os.rmdir, mount / ".tablefuse") == "EPERM", "a part of the mount"


def test_a_directory_that_is_removed_while_it_is_used(mount):
    """By a descriptor, and as the working directory: nothing can be made in it."""
    os.mkdir(mount / "made/used")
    directory = os.open(mount / "made/used", os.O_RDONLY)
    script = 'cd "$1" && rmdir "$1" && { ls -A; echo {} > x.json || mkdir y || test -d ..; }'
    done = run("bash", "-c", script, "bash", mount / "made/used")
    assert done.stdout == "" and done.stderr.count("No such file or directory") == 2
    for make in (os.mkdir, os.mknod):
        assert outcome(lambda make=make: make("x.json", dir_fd=directory)) == "ENOENT"
    assert os.fstat(directory).st_nlink == 0
    os.close(directory)


@pytest.mark.parametrize("path", NEW)
def test_a_directory_that_is_made_again_while_the_old_one_is_used(mount, path):
    """Nothing can be made in the old one, and all in the new one."""
    if path == "made/f+/fresh":
        os.mkdir(mount / "made/f+")
    os.mkdir(mount / path)
    directory = os.open(mount / path, os.O_RDONLY)
    os.rmdir(mount / path)
    os.mkdir(mount / path)
    assert (os.fstat(directory).st_nlink, os.stat(mount / path).st_nlink) == (0, 1)
    inner = NEW[path]
    make, remove = (os.mknod, os.unlink) if inner.endswith(".json") else (os.mkdir, os.rmdir)
    assert outcome(lambda: make(inner, dir_fd=directory)) == "ENOENT"
    make(mount / path / inner)
    assert os.listdir(mount / path) == [inner]
    remove(mount / path / inner)
    os.rmdir(mount / path)
    os.close(directory)
    assert failures(mount) == []


def test_a_listing_has_each_name_once_and_can_be_rewound(mount, make_table):
    names = sorted(f"{number:04}.json" for number in range(300))
    make_table("rows", [("p", name.removesuffix(".json")) for name in names])
    assert sorted(os.listdir(mount / "rows/p")) == names
    directory = os.open(mount / "rows/p", os.O_RDONLY)
    for _ in range(2):
        assert sorted(os.listdir(directory)) == names, "os.listdir of a descriptor rewinds it"
    os.close(directory)
    assert run("ls", "-a", mount / "rows/p").stdout.split()[:2] == [".", ".."]


def test_what_is_removed_while_it_is_listed(mount, make_table):
    """All others are met, each once."""
    names = [f"{number:04}.json" for number in range(1000)]
    make_table("shrinking", [("p", name.removesuffix(".json")) for name in names])
    met = []
    with os.scandir(mount / "shrinking/p") as entries:
        for entry in entries:
            met.append(entry.name)
            os.unlink(entry.path)
    assert sorted(met) == names and os.listdir(mount / "shrinking/p") == []


def test_what_is_synced_is_stored(mount, stored):
    """fsync of a file and of its directory, before the file is closed."""
    with open(mount / "full/q/synced.json", "w") as file:
        os.fsync(file.fileno())
        assert stored("full")["q", "synced"] == {}
    directory = os.open(mount / "full/q", os.O_RDONLY)
    os.fsync(directory)
    os.close(directory)
    assert write(mount / "full/q/synced.json", '{"N": 1}') == ""
    assert stored("full")["q", "synced"] == {"N": 1} and failures(mount) == []
