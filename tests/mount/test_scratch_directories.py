"""Directories of scratch files: those with a dotted name in a partition, as `rsync --delay-updates` makes them. All names in
them are scratch files', and the service never learns of any."""
import json
import os
import re

import pytest

from expected import entity_name, partition_name
from harness import BOTH_SERVICES, run
from writing import CREATE, EXCLUSIVE, failures, outcome, write, write_all

pytestmark = pytest.mark.parametrize("service", BOTH_SERVICES, indirect=True)

NAMES = ["r.json", "plain", ".dot", "a+", "tmp~", "a?b#c", entity_name("k" * 300)]
SPELLINGS = ["p", ".flat/p", "p/r+"]  # the last one: a prefix of row keys


@pytest.fixture(scope="module", autouse=True)
def tables(make_table):
    make_table("tab", [("p", f"r{number:04}") for number in range(5)] + [("q", "old")])


@pytest.fixture
def p(mount):
    return mount / "tab/p"


def names_in(directory):
    """As another process lists it."""
    return sorted(run("ls", "-A", directory).stdout.split())


def test_each_name_is_a_file(mounts, stored):
    mount, before = mounts("ttl=600"), stored("tab")
    p = mount / "tab/p"
    os.stat(p)
    with mount.counting() as counted:
        os.mkdir(p / ".d")
        for name in NAMES:
            assert write(p / ".d" / name, name, EXCLUSIVE) == ""
        os.mknod(p / ".d/empty.json")
        assert names_in(p / ".d") == sorted(NAMES + ["empty.json"])
        for name in NAMES:
            assert (p / ".d" / name).read_text() == name
            os.unlink(p / ".d" / name)
        assert outcome(os.rmdir, p / ".d") == "ENOTEMPTY"
        os.unlink(p / ".d/empty.json")
        os.rmdir(p / ".d")
    assert counted.requests() == 0 and stored("tab") == before
    assert not os.path.exists(p / ".d") and failures(mount) == []


@pytest.mark.asan("local")
def test_it_is_a_directory(p):
    os.mkdir(p / ".d")
    with os.scandir(p) as entries:
        (entry,) = [entry for entry in entries if entry.name == ".d"]
        assert entry.is_dir(follow_symlinks=False) and entry.inode() == os.stat(p / ".d").st_ino
    assert run("find", p / ".d", "-type", "d").stdout.split() == [str(p / ".d")]
    assert outcome(os.mkdir, p / ".d") == "EEXIST"
    assert outcome(os.open, p / ".d", os.O_WRONLY | os.O_CREAT) == "EISDIR"
    assert outcome(os.unlink, p / ".d") == "EISDIR"
    assert outcome(os.mkdir, p / ".d/e") == outcome(os.mkdir, p / ".d/.e") == "EINVAL"
    assert outcome(os.mkdir, p / "plain") == "EINVAL"
    assert outcome(os.rename, p / ".d", p / ".e") == "EXDEV"
    assert outcome(os.open, p / ".d" / ("n" * 256), CREATE) == "ENAMETOOLONG"
    file = os.open(p / ".d", os.O_RDONLY)
    assert outcome(os.fsync, file) == ""
    os.rmdir(p / ".d")
    os.mkdir(p / ".d")
    assert outcome(lambda: os.open("x", CREATE, dir_fd=file)) == "ENOENT"
    assert names_in(p / ".d") == []
    os.rmdir(p / ".d")
    os.close(file)
    (p / ".f").touch()
    assert outcome(os.rmdir, p / ".f") == "ENOTDIR" and outcome(os.mkdir, p / ".f") == "EEXIST"
    os.unlink(p / ".f")


@pytest.mark.asan("local")
def test_each_path_to_the_partition_shows_it(mount):
    paths = [mount / "tab" / path for path in SPELLINGS]
    for made in paths:
        os.mkdir(made / ".d")
        for path in paths:
            assert outcome(os.mkdir, path / ".d") == "EEXIST"
            assert write(path / ".d/x.json", str(path)) == ""
            assert {(other / ".d/x.json").read_text() for other in paths} == {str(path)}
        for path in paths[1:]:
            assert names_in(path / ".d") == ["x.json"] and ".d" in names_in(path)
        run("rm", "-r", made / ".d")
        assert not any(os.path.exists(path / ".d") for path in paths)


@pytest.mark.asan("local")
@pytest.mark.tsan("local")
def test_files_are_renamed_into_it_and_out_of_it(mount, p, stored):
    os.mkdir(p / ".d")
    assert write(p / ".tmp", '{"N": 1}') == ""
    os.rename(p / ".tmp", p / ".d/new.json")
    os.rename(p / ".d/new.json", p / ".d/other.json")
    assert names_in(p / ".d") == ["other.json"] and not os.path.exists(p / ".tmp")
    os.rename(p / ".d/other.json", p / "new.json")
    assert stored("tab")["p", "new"] == {"N": 1} and names_in(p / ".d") == []
    assert write(p / ".d/over", '{"N": 2}') == ""
    os.rename(p / ".d/over", p / "new.json")
    assert stored("tab")["p", "new"] == {"N": 2}
    assert outcome(os.rename, p / "new.json", p / ".d/new.json") == "EXDEV"
    assert stored("tab")["p", "new"] == {"N": 2} and names_in(p / ".d") == []
    run("mv", p / "new.json", p / ".d")
    assert ("p", "new") not in stored("tab") and json.loads((p / ".d/new.json").read_text())["N"] == 2
    assert write(p / ".d/bad", "no object") == ""
    assert outcome(os.rename, p / ".d/bad", p / "bad.json") == "EPERM" and names_in(p / ".d") == ["bad", "new.json"]
    os.rename(p / ".d/bad", mount / "tab/q/bad~")
    os.unlink(mount / "tab/q/bad~")
    run("rm", "-r", p / ".d")


def test_the_partition_is_not_removed_before_it(mount):
    os.mkdir(mount / "tab/fresh")
    os.mkdir(mount / "tab/fresh/.d")
    assert outcome(os.rmdir, mount / "tab/fresh") == "ENOTEMPTY"
    assert write(mount / "tab/fresh/.d/x.json", "x") == ""
    run("rm", "-r", mount / "tab/fresh")
    assert not os.path.exists(mount / "tab/fresh")


@pytest.mark.asan("local")
@pytest.mark.tsan("local")
def test_a_partition_with_a_cut_name_has_it(mount, make_table, stored):
    """The directory moves along when the first text tells the key."""
    make_table("cut")
    key = "p" * 300
    p = mount / "cut" / partition_name(key)
    os.mkdir(p)
    os.mkdir(p / ".d")
    assert write(p / ".d/x.json", "x") == ""
    assert write(p / "r.json", json.dumps({"PartitionKey": key, "RowKey": "r", "N": 1})) == ""
    assert stored("cut") == {(key, "r"): {"N": 1}}
    assert (p / ".d/x.json").read_text() == "x" and names_in(p) == [".d", "r.json"]
    run("rm", "-r", p)


def test_open_files_outlive_it(p):
    os.mkdir(p / ".d")
    file = os.open(p / ".d/x", os.O_RDWR | os.O_CREAT)
    write_all(file, "kept")
    os.unlink(p / ".d/x")
    os.rmdir(p / ".d")
    assert os.pread(file, 100, 0) == b"kept" and os.fstat(file).st_nlink == 0
    os.close(file)


def test_at_the_end_its_files_are_kept(mounts):
    mount = mounts()
    os.mkdir(mount / "tab/p/.d")
    os.mkdir(mount / "tab/p/.empty")
    assert write(mount / "tab/p/.d/x.json", '{"N": 1}') == write(mount / "tab/p/x~", "other") == ""
    assert mount.unmount().stderr == ""
    lost = {re.sub(r"^\d{8}T\d{6}\.\d{3}Z-\w+-", "", name): text for name, text in mount.lost_texts().items()}
    assert lost == {"tab-p-x.json": b'{"N": 1}', "tab-p-x~": b"other"}


@pytest.mark.asan("local")
@pytest.mark.tsan("local")
def test_rsync_delay_updates(mount, p, tmp_path, stored):
    for row in ("r0001", "r0002", "rnew"):
        (tmp_path / f"{row}.json").write_text(json.dumps({"N": 7}))
    run("rsync", "-a", "--delay-updates", f"{tmp_path}/", p)
    rows = stored("tab")
    assert [rows["p", row] for row in ("r0001", "r0002", "rnew")] == [{"N": 7}] * 3
    assert [name for name in names_in(p) if name.startswith(".")] == [] and failures(mount) == []
