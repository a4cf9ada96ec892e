"""rename: entities get other names; of a directory it is EXDEV, upon which `mv` copies and deletes."""
import errno
import json
import os

import pytest

from harness import BOTH_SERVICES, run
from posix_calls import renameat2
from writing import failures, outcome, write

pytestmark = pytest.mark.parametrize("service", BOTH_SERVICES, indirect=True)

RENAME_NOREPLACE, RENAME_EXCHANGE = 1, 2


@pytest.fixture(scope="module", autouse=True)
def data(make_table):
    make_table("tree", [("p", "r"), ("p", "other"), ("q", "r"), ("moved", "r")])


def test_rename_of_an_entity(mount, stored):
    """Onto a new name and an old one, within a partition and across."""
    at = mount / "tree"
    assert write(at / "moved/one.json", '{"N": 1}') == write(at / "moved/two.json", '{"N": 2}') == ""
    for old, new in (("moved/one", "moved/new"), ("moved/new", "moved/two"), ("moved/two", "q/one")):
        os.rename(at / f"{old}.json", at / f"{new}.json")
        assert outcome(os.stat, at / f"{old}.json") == "ENOENT"
        assert json.loads((at / f"{new}.json").read_text())["N"] == 1
    assert stored("tree")["q", "one"] == {"N": 1}
    os.unlink(at / "q/one.json")
    assert failures(mount) == []


def test_rename_of_a_directory(mount, stored):
    before, at = stored("tree"), mount / "tree"
    os.mkdir(at / "empty")
    pairs = [("p", "new"), ("p", "empty"), ("p", "q"), ("empty", "new")]
    told = {pair: outcome(os.rename, *(at / each for each in pair)) for pair in pairs}
    assert told == dict.fromkeys(pairs, "EXDEV")
    assert outcome(os.rename, at, mount / "other") == "EXDEV"
    os.rmdir(at / "empty")
    assert stored("tree") == before and failures(mount) == []


def test_rename_with_flags(mount):
    p = mount / "tree/p"
    renameat2(p / "r.json", p / "new.json", RENAME_NOREPLACE)
    renameat2(p / "new.json", p / "r.json", RENAME_NOREPLACE)
    assert outcome(renameat2, p / "r.json", p / "other.json", RENAME_NOREPLACE) == "EEXIST"
    assert outcome(renameat2, p / "r.json", p / "other.json", RENAME_EXCHANGE) == "EINVAL"


def test_rename_that_is_none(mount):
    """The kernel answers these."""
    p = mount / "tree/p"
    assert outcome(os.rename, p / "r.json", p / "r.json") == "", "a file onto itself"
    assert outcome(os.rename, mount / "tree/q", p / "r.json") == "ENOTDIR"
    assert outcome(os.rename, p / "r.json", p) == "ENOTEMPTY", "a directory that holds it"
    assert outcome(os.rename, p / "r.json", mount / "tree/q") == "EISDIR"
    assert outcome(os.rename, mount / "tree", p / "below") == "EINVAL", "into itself"
    assert outcome(os.rename, p, mount / "tree") == "ENOTEMPTY"
    for path in (f"{p}/.", f"{p}/.."):
        assert outcome(os.rename, path, mount / "tree/new") == "EBUSY"
    assert outcome(os.rename, mount.point, mount.point.with_name("new")) == "EBUSY"
    assert outcome(os.rename, p / "none.json", p / "new.json") == "ENOENT"


def test_rename_to_another_file_system(mount, tmp_path):
    (tmp_path / "outside.json").write_text("{}")
    r = mount / "tree/p/r.json"
    assert outcome(os.rename, r, tmp_path / "r.json") == "EXDEV"
    assert outcome(os.rename, tmp_path / "outside.json", r) == "EXDEV"


def test_mv_of_files_and_directories(mounts, stored):
    mount = mounts("ttl=600")
    at = mount / "tree/moved"
    assert write(at / "r.json", '{"N": 1}') == ""
    with mount.counting() as counted:
        run("mv", at / "r.json", at / "there.json")
    assert counted.asked() == {"batch": 1}
    assert stored("tree")["moved", "there"] == {"N": 1} and ("moved", "r") not in stored("tree")
    done = run("mv", "-n", at / "there.json", mount / "tree/p/other.json")
    assert done.returncode == 0 and stored("tree")["moved", "there"] == {"N": 1}, "-n replaces nothing"
    done = run("mv", at / "there.json", at / "there.txt", check=False)
    assert done.returncode == 1 and os.strerror(errno.EPERM) in done.stderr
    assert stored("tree")["moved", "there"] == {"N": 1}
    run("mv", at, mount / "tree/landed")
    assert stored("tree")["landed", "there"] == {"N": 1} and not at.exists()
