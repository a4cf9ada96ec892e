"""rename: it moves nothing here. What can be told before that is told; all else is EXDEV, upon which `mv` copies and
deletes."""
import errno
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


def test_rename_moves_nothing(mount, stored):
    """Files and directories, onto new names and old ones, within a partition and across."""
    before, at = stored("tree"), mount / "tree"
    os.mkdir(at / "empty")
    pairs = [("p/r.json", "p/new.json"), ("p/r.json", "p/other.json"), ("p/r.json", "q/new.json")]
    pairs += [("p", "new"), ("p", "empty"), ("p", "q"), ("p/r.json", "p/r.json~"), ("p/r.json", "p/.hidden")]
    told = {pair: outcome(os.rename, *(at / each for each in pair)) for pair in pairs}
    assert told == dict.fromkeys(pairs, "EXDEV")
    assert outcome(os.rename, at, mount / "other") == "EXDEV"
    assert stored("tree") == before and failures(mount) == []


def test_rename_with_flags(mount):
    p = mount / "tree/p"
    assert outcome(renameat2, p / "r.json", p / "new.json", RENAME_NOREPLACE) == "EXDEV"
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


def test_mv_copies_and_deletes(mount, stored):
    at = mount / "tree/moved"
    assert write(at / "r.json", '{"N": 1}') == ""
    run("mv", at / "r.json", at / "there.json")
    assert stored("tree")["moved", "there"] == {"N": 1} and ("moved", "r") not in stored("tree")
    done = run("mv", "-n", at / "there.json", mount / "tree/p/other.json")
    assert done.returncode == 0 and stored("tree")["moved", "there"] == {"N": 1}, "-n replaces nothing"
    done = run("mv", at / "there.json", at / "there.txt", check=False)
    assert done.returncode == 1 and os.strerror(errno.EINVAL) in done.stderr
    assert stored("tree")["moved", "there"] == {"N": 1}
