"""Programs that copy directories into a table and compare what they have copied: with the options of contrib/docs/tools.md
nothing is lost, neither what was there before nor what is new."""
import json
import os

import pytest

from harness import BOTH_SERVICES, environment, run
from writing import write

pytestmark = pytest.mark.parametrize("service", BOTH_SERVICES, indirect=True)

TABLE = "copied"
THERE = {("p", "old"): {"a": 1}, ("p", "x"): {"a": 1}, ("q", "stays"): {"a": 1}}
NEW = {("p", "x"): {"a": 2, "b": "ü"}, ("p", "new"): {"c": 3}, ("r", "new"): {"d": True}}
IGNORING = ("--ignore-size", "--ignore-checksum")


@pytest.fixture
def flat(mount, make_table):
    """The directory of a table with THERE."""
    make_table(TABLE, [])
    for (partition, row), members in THERE.items():
        os.makedirs(mount / TABLE / partition, exist_ok=True)
        assert write(mount / TABLE / partition / f"{row}.json", json.dumps(members)) == ""
    yield mount / TABLE / ".flat"
    run("rm", "-r", mount / TABLE)


@pytest.fixture
def directory(tmp_path):
    """A directory of a disk with NEW, in texts that are not canonical."""
    for (partition, row), members in NEW.items():
        (tmp_path / "new" / partition).mkdir(parents=True, exist_ok=True)
        (tmp_path / "new" / partition / f"{row}.json").write_text(json.dumps(members), encoding="utf-8")
    return tmp_path / "new"


def rclone(*arguments, check=True):
    return run("rclone", *arguments, check=check, env=environment(RCLONE_CONFIG="/dev/null"))


def texts(directory):
    return {str(path.relative_to(directory)): path.read_bytes() for path in directory.rglob("*.json")}


@pytest.mark.asan("local")
def test_rclone_without_its_options_removes_what_it_has_copied(flat, directory, stored):
    """The reason for the options. rclone believes that the copy is corrupt, and removes it."""
    done = rclone("copy", "--retries", "1", directory, flat, check=False)
    assert done.returncode == 1 and "corrupted on transfer: sizes differ" in done.stderr
    assert {**THERE, **NEW}.keys() - stored(TABLE).keys(), "some are gone"


def test_rclone_copy(flat, directory, stored):
    for _ in range(2):
        rclone("copy", *IGNORING, directory, flat)
        assert stored(TABLE) == {**THERE, **NEW}


def test_rclone_sync(mount, flat, directory, stored):
    rclone("sync", *IGNORING, directory, flat)
    mount.send_queued()  # its deletes
    assert stored(TABLE) == NEW


def test_rclone_move(flat, directory, stored):
    rclone("move", *IGNORING, directory, flat)
    assert stored(TABLE) == {**THERE, **NEW} and texts(directory) == {}


def test_a_directory_in_canonical_form(flat, directory, tmp_path, stored):
    """It needs no options: copied into the table, and back."""
    run("cp", "-r", f"{directory}/.", flat)
    for path in directory.rglob("*.json"):
        run("cp", flat / path.relative_to(directory), path)
    assert stored(TABLE) == {**THERE, **NEW}
    for path in directory.rglob("*.json"):
        changed = path.read_text(encoding="utf-8").replace("2", "5")
        path.write_text(changed, encoding="utf-8")
    rclone("copy", "--checksum", directory, flat)
    assert stored(TABLE) == {**THERE, **NEW, ("p", "x"): {"a": 5, "b": "ü"}}
    rclone("check", "--one-way", directory, flat)


def test_unison(flat, directory, tmp_path, stored):
    """What differs on both sides is told and stays; a second run takes nothing for a change."""
    def unison(status):
        done = run("unison", "-batch", "-ui", "text", "-perms", "0", directory, flat, check=False,
                   env=environment(UNISON=str(tmp_path / "unison"), HOME=str(tmp_path)))
        assert done.returncode == status, done.stderr
        return done.stdout + done.stderr

    os.mkdir(flat / "r")  # unison makes a new directory under a temporary name, which no partition can have
    assert "p/x.json" in unison(1), "a conflict"
    assert stored(TABLE) == {**NEW, **THERE}
    assert json.loads((directory / "p/x.json").read_text(encoding="utf-8")) == NEW["p", "x"]
    assert texts(directory).keys() == texts(flat).keys()
    (directory / "p/x.json").unlink()
    run("cp", flat / "p/x.json", directory / "p/x.json")
    unison(0)
    assert write(flat / "q/stays.json", '{"a": 7}') == ""
    unison(0)
    assert json.loads((directory / "q/stays.json").read_text(encoding="utf-8"))["a"] == 7
    assert stored(TABLE) == {**NEW, **THERE, ("q", "stays"): {"a": 7}}
