"""Promises of POSIX that every call with a path has: how a path leads to a file, and what it fails with. pjdfstest asks
the same for each call. contrib/docs/posix.md lists these promises."""
import ctypes
import os

import pytest

from harness import libc
from posix_calls import CALLS, FINDING, MAKING, WITH_BAD_PATH, outcomes
from writing import failures, outcome, write

pytestmark = pytest.mark.parametrize("service", ["local"], indirect=True)

NAME_MAX, PATH_MAX = 255, 4096
ENTITY = '{"N": 1}'


@pytest.fixture(scope="module", autouse=True)
def data(make_table):
    make_table("tree", [("p", "r"), ("p", "other"), ("q", "r")])


@pytest.fixture
def p(mount):
    return mount / "tree/p"


def padded(path, size):
    """The same path in `size` bytes."""
    directory, name = os.path.split(path)
    directory += "/" + "./" * ((size - len(str(path))) // 2)
    return directory + "/" * (size - len(directory) - len(name)) + name


def test_a_component_that_is_a_file(p):
    """ENOTDIR, also with a slash after the file. Calls that create it fail with EEXIST."""
    told = outcomes(CALLS, p / "r.json/x.json", p / "other.json")
    assert told == dict.fromkeys(CALLS, "ENOTDIR")
    told = outcomes(FINDING, f"{p}/r.json/", p / "other.json")
    assert told == dict.fromkeys(FINDING, "ENOTDIR")
    told = outcomes(MAKING, f"{p}/r.json/", p / "other.json")
    assert told == {**dict.fromkeys(MAKING, "EEXIST"), "creat": "EISDIR", "rename to": "ENOTDIR"}
    assert sorted(os.listdir(p)) == ["other.json", "r.json"]


@pytest.mark.parametrize("absent", ["tree/none/x.json", "none/p/x.json"])
def test_a_component_that_does_not_exist(mount, absent):
    told = outcomes(CALLS, mount / absent, mount / "tree/p/r.json")
    assert told == dict.fromkeys(CALLS, "ENOENT")
    assert failures(mount) == []


def test_a_file_that_does_not_exist(mount, p):
    told = outcomes(FINDING, p / "none.json", p / "r.json")
    assert told == dict.fromkeys(FINDING, "ENOENT")
    assert outcome(os.stat, "") == "ENOENT", "no call knows the empty path"
    assert failures(mount) == []


@pytest.mark.parametrize("where", ["", "tree", "tree/q+", "tree/p", "tree/p/r+", ".tablefuse"])
def test_a_name_that_is_too_long(mount, where):
    """In each kind of directory. The limit is the one that the file system tells."""
    assert os.statvfs(mount.point).f_namemax == os.pathconf(mount / "tree", "PC_NAME_MAX") == NAME_MAX
    for name in ("x" * (NAME_MAX + 1), "x" * (NAME_MAX - 4) + ".json", "ü" * (NAME_MAX // 2 + 1)):
        assert len(name.encode()) == NAME_MAX + 1
        told = outcomes(CALLS, mount / where / name, mount / "tree/p/r.json")
        assert told == dict.fromkeys(CALLS, "ENAMETOOLONG")
    assert {line["error"] for line in failures(mount)} == {"ENAMETOOLONG"}


def test_a_name_of_255_bytes(mount, p):
    file, partition = p / ("x" * (NAME_MAX - 5) + ".json"), mount / "tree" / ("y" * NAME_MAX)
    assert write(file, ENTITY) == "" and os.path.basename(file) in os.listdir(p)
    os.unlink(file)
    os.mkdir(partition)
    assert os.path.basename(partition) in os.listdir(mount / "tree")
    os.rmdir(partition)


def test_a_path_that_is_too_long(p):
    """The zero byte at its end counts."""
    longest, too_long = (padded(p / "r.json", size) for size in (PATH_MAX - 1, PATH_MAX))
    assert len(longest) == PATH_MAX - 1 and outcome(os.stat, longest) == ""
    told = outcomes(CALLS, too_long, p / "r.json")
    assert told == dict.fromkeys(CALLS, "ENAMETOOLONG")


def test_a_symbolic_link_from_outside(p, tmp_path):
    """There are none in a mount. One that leads into it does; one that leads to itself ends nowhere."""
    os.symlink(p, tmp_path / "to-p")
    assert os.stat(tmp_path / "to-p/r.json") == os.stat(p / "r.json")
    assert outcome(os.open, tmp_path / "to-p", os.O_RDONLY | os.O_NOFOLLOW) == "ELOOP"
    os.symlink(tmp_path / "loop", tmp_path / "loop")
    told = outcomes(CALLS, tmp_path / "loop/x.json", p / "r.json")
    assert told == dict.fromkeys(CALLS, "ELOOP")


def test_a_path_outside_the_address_space(p):
    for name, call in WITH_BAD_PATH.items():
        ctypes.set_errno(0)
        assert call(os.fsencode(p / "r.json")) == -1, name
        assert os.strerror(ctypes.get_errno()) == "Bad address", name


def test_a_buffer_outside_the_address_space(mount, p):
    """A write that fails so writes nothing, and the file can be written afterwards."""
    nowhere, size = ctypes.c_void_p(16), ctypes.c_size_t(10)
    for flags, call in ((os.O_RDONLY, libc.read), (os.O_WRONLY | os.O_CREAT, libc.write)):
        file = os.open(p / "buffer.json", flags) if flags else os.open(p / "r.json", flags)
        assert call(file, nowhere, size) == -1
        assert os.strerror(ctypes.get_errno()) == "Bad address"
        if flags:
            os.write(file, ENTITY.encode())
        os.close(file)
    os.unlink(p / "buffer.json")
    assert failures(mount) == []


def test_each_spelling_of_a_path(mount, p):
    """`.` and `..`, slashes without number, a directory's descriptor, and a working directory."""
    number = os.stat(p / "r.json").st_ino
    for path in ("tree/p/./r.json", "tree//p///r.json", "tree/q/../p/r.json", "../mnt/tree/p/r.json"):
        assert os.stat(f"{mount.point}/{path}").st_ino == number, path
    assert outcome(os.stat, f"{mount.point}/tree/none/../p/r.json") == "ENOENT", "`..` follows what is there"
    directory = os.open(p, os.O_RDONLY)
    assert os.stat("r.json", dir_fd=directory).st_ino == number
    assert os.stat("../q/r.json", dir_fd=directory).st_size == os.stat(mount / "tree/q/r.json").st_size
    os.close(directory)
    assert outcome(os.stat, f"{p}/.") == outcome(os.stat, f"{p}/") == ""
