"""Programs that save by renaming: a temporary file onto an entity, an entity onto a backup and back. Each save is one
request, and no other client sees the name missing."""
import contextlib
import json
import os
import threading

import pytest

from harness import BOTH_SERVICES, run, wait_until
from posix_calls import renameat2
from writing import CREATE, OVER, failures, outcome, write, write_all

pytestmark = pytest.mark.parametrize("service", BOTH_SERVICES, indirect=True)

NOREPLACE = 1
TEXT = '{"N": 2}'


@pytest.fixture(scope="module", autouse=True)
def tables(make_table):
    for table in ("one", "two", "seen", "race", "fails"):
        make_table(table, [("p", "old")])


@pytest.fixture
def mount(mounts):
    return mounts("ttl=600")


@pytest.fixture
def p(mount):
    """The directory of a partition with f.json, which is 1."""
    directory = mount / "one/p"
    for name in os.listdir(directory):
        if name != "old.json":
            os.unlink(directory / name)
    mount.send_queued("one")  # not in the middle of a test that counts requests
    assert write(directory / "f.json", '{"N": 1}') == ""
    return directory


@pytest.fixture
def of(stored):
    """What is stored as N under a row key of one/p; None: nothing."""
    return lambda row, table="one": stored(table).get(("p", row), {}).get("N")


def names_in(directory):
    return sorted(set(os.listdir(directory)) - {"old.json"})


def inodes_in(directory):
    return {entry.name: entry.inode() for entry in os.scandir(directory)}


def n_in(path):
    return json.loads(path.read_text())["N"]


# a temporary file gets the entity's name


def test_rsync_is_one_request_a_file(mount, p, of, tmp_path):
    for number in range(3):
        (tmp_path / f"r{number}.json").write_text(json.dumps({"N": number}))
    (tmp_path / "f.json").write_text(TEXT)
    with mount.counting() as counted:
        run("rsync", "-a", f"{tmp_path}/", p)
        assert names_in(p) == ["f.json", "r0.json", "r1.json", "r2.json"]
    assert counted.requests("write") == 4 and not counted.requests("delete")
    assert [of(row) for row in ("f", "r0", "r1", "r2")] == [2, 0, 1, 2]
    assert failures(mount) == []


@pytest.mark.asan("local")
def test_a_new_name(mount, p, of):
    assert write(p / "x.tmp", TEXT) == write(p / "y.tmp", "") == ""
    with mount.counting() as counted:
        renameat2(p / "x.tmp", p / "x.json", NOREPLACE)
        os.rename(p / "y.tmp", p / "y.json")
    assert counted.asked() == {"write": 2}
    assert of("x") == 2 and names_in(p) == ["f.json", "x.json", "y.json"]
    assert write(p / "x.tmp", TEXT) == ""
    assert outcome(renameat2, p / "x.tmp", p / "f.json", NOREPLACE) == "EEXIST"
    os.rename(p / "x.tmp", mount / "two/p/z.json")
    assert of("z", "two") == 2 and names_in(p) == ["f.json", "x.json", "y.json"]


def test_what_is_refused_changes_nothing(mount, p, of):
    for text, code in (("", ""), ("no JSON", "InvalidInput"), ('{"N": 1', "InvalidInput")):
        assert write(p / "x.tmp", text) == ""
        assert outcome(os.rename, p / "x.tmp", p / "f.json") == "EPERM"
        failed = failures(mount)[-1]
        assert (failed["operation"], failed["path"], failed["code"] or "") == ("rename", "/one/p/f.json", code)
        assert names_in(p) == ["f.json", "x.tmp"] and (p / "x.tmp").read_text() == text
        assert of("f") == 1 and n_in(p / "f.json") == 1


def test_a_change_of_another_client_is_not_overwritten(mounts, p, of):
    other = mounts("ttl=0")
    assert n_in(p / "f.json") == 1, "this process has read it"
    assert write(other / "one/p/f.json", '{"N": 3}') == ""
    assert write(p / "x.tmp", TEXT) == ""
    assert outcome(os.rename, p / "x.tmp", p / "f.json") == "EBUSY"
    assert of("f") == 3 and names_in(p) == ["f.json", "x.tmp"]
    os.rename(p / "x.tmp", p / "f.json")
    assert of("f") == 2 and n_in(p / "f.json") == 2


def test_a_failed_save_leaves_both_files(mounts, stored):
    mount = mounts(faults="fail=write:2:403:AuthorizationFailure")
    p = mount / "fails/p"
    assert write(p / "f.json", '{"N": 1}') == ""
    done = run("sed", "-i", "s/1/2/", p / "f.json", check=False)
    assert done.returncode == 4 and "Permission denied" in done.stderr
    assert stored("fails")["p", "f"] == {"N": 1} and n_in(p / "f.json") == 1
    assert len(names_in(p)) == 1, "sed removes its file"


def test_who_has_the_old_text_open(mount, p, of):
    with open(p / "f.json") as reader, open(p / "f.json", "r+") as writer:
        assert write(p / "x.tmp", TEXT) == ""
        os.rename(p / "x.tmp", p / "f.json")
        assert json.load(reader)["N"] == 1
        writer.write('{"N": 9, "M": 10}')
        writer.truncate()
    assert of("f") == 2 and n_in(p / "f.json") == 2, "that file has no name any more"
    assert failures(mount) == []


def test_a_descriptor_of_a_file_that_is_stored_writes_nothing(mount, p, of):
    file = os.open(p / "x.tmp", CREATE)
    write_all(file, TEXT)
    os.rename(p / "x.tmp", p / "f.json")
    assert outcome(os.pwrite, file, b'{"N": 3}', 0) == outcome(os.ftruncate, file, 0) == "ESTALE"
    assert outcome(os.close, file) == "" and of("f") == 2 and n_in(p / "f.json") == 2
    assert "is stored" in failures(mount)[-1]["reason"]

    file = os.open(p / "x.tmp", CREATE)
    write_all(file, '{"N": ')
    assert outcome(os.rename, p / "x.tmp", p / "f.json") == "EPERM"
    write_all(file, "4}")
    os.close(file)
    os.rename(p / "x.tmp", p / "f.json")
    assert of("f") == 4, "after a rename that failed it is a file as before"


# an entity gets a backup's name


def as_vim(p, text):
    """The requests of `:w`: the old file is the backup until the new one is there."""
    os.rename(p / "f.json", p / "f.json~")
    assert outcome(os.stat, p / "f.json") == "ENOENT" and n_in(p / "f.json~") == 1
    file = os.open(p / "f.json", os.O_WRONLY | os.O_CREAT, 0o644)
    os.ftruncate(file, 0)
    if text:
        write_all(file, text)
        os.fsync(file)
    os.close(file)


def test_an_editor_saves_with_one_request(mount, p, of):
    with mount.counting() as counted:
        as_vim(p, TEXT)
        os.unlink(p / "f.json~")
        assert n_in(p / "f.json") == 2
    assert counted.asked() == {"write": 1}
    assert of("f") == 2 and names_in(p) == ["f.json"] and failures(mount) == []


def test_an_editor_that_keeps_its_backup(mount, p, of):
    as_vim(p, TEXT)
    assert names_in(p) == ["f.json", "f.json~"] and n_in(p / "f.json~") == 1
    assert write(p / "f.json", '{"N": 1}') == ""
    as_vim(p, TEXT)
    with mount.counting() as counted:
        os.unlink(p / "f.json~")
    assert counted.asked() == {} and of("f") == 2
    run("sed", "-i.bak", 's/"N": 2/"N": 3/', p / "f.json")
    assert of("f") == 3 and n_in(p / "f.json.bak") == 2


def test_an_editor_that_ends_before_it_writes(mount, p, of):
    with mount.counting() as counted:
        as_vim(p, "")
        # the RELEASE of the new file comes late
        wait_until(lambda: os.stat(p / "f.json").st_size > 0, what="the entity is shown again")
    assert not counted.requests("write") and of("f") == 1
    assert n_in(p / "f.json~") == 1


@pytest.mark.asan("local")
def test_a_backup_has_another_inode(mount, p):
    """With one st_ino two files would be links of each other, of which cp and diff compare no text."""

    def shown(name):
        """stat(1) asks the kernel for nothing else, which may have it."""
        inode = int(run("stat", "-c", "%i", p / name).stdout)
        assert os.stat(p / name).st_ino == inode
        return inode

    inode = shown("f.json")
    for _ in range(2):
        os.rename(p / "f.json", p / "f.json~")
        assert shown("f.json~") == inodes_in(p)["f.json~"] != inode
        os.rename(p / "f.json~", p / "f.json")
        assert shown("f.json") == inode
        run("cp", p / "f.json", p / "copy.json")  # compares lstat and fstat
    os.rename(p / "f.json", p / "f.json~")
    os.rename(p / "f.json~", p / "f.json")
    run("cp", p / "f.json", p / "copy.json")
    os.rename(p / "f.json", p / "f.json~")
    (p / "f.json").touch()
    wait_until(lambda: os.stat(p / "f.json").st_size > 0, what="the entity is shown again")
    assert shown("f.json") == inode != shown("f.json~")
    assert write(p / "f.json", TEXT, OVER) == ""
    assert shown("f.json") == inode


@pytest.mark.parametrize("options", [[], ["ttl=0"]])
def test_a_file_that_is_open_becomes_a_backup(mounts, p, options):
    p = mounts(*options) / "one/p"
    with open(p / "f.json") as file:
        inode = os.fstat(file.fileno()).st_ino
        os.rename(p / "f.json", p / "f.json~")
        assert write(p / "f.json", TEXT) == ""
        assert os.stat(p / "f.json").st_ino == inode
        assert os.stat(p / "f.json~").st_ino == os.fstat(file.fileno()).st_ino != inode


@pytest.mark.asan("local")
def test_an_editor_whose_save_is_refused(mount, p, of):
    os.rename(p / "f.json", p / "f.json~")
    assert write(p / "f.json", "no JSON") == "write EINVAL"
    with mount.counting() as counted:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(p / "f.json")
        os.rename(p / "f.json~", p / "f.json")
        assert n_in(p / "f.json") == 1
    assert counted.asked() == {} and of("f") == 1 and names_in(p) == ["f.json"]


def test_a_backup_is_removed_with_its_entity(mount, p, of):
    os.rename(p / "f.json", p / "f.json.bak")
    assert of("f") == 1
    with mount.counting() as counted:
        os.unlink(p / "f.json.bak")
    assert counted.asked() == {"delete": 1}
    assert of("f") is None and names_in(p) == []


def test_a_backup_of_an_entity_with_a_long_key(mount, make_table, stored):
    """Its short name means this key in the whole mount, and the backup gets it back."""
    make_table("long", [("p", "k" * 300)])
    p = mount / "long/p"
    (name,) = os.listdir(p)
    os.rename(p / name, p / "f.bak")
    assert os.listdir(p) == ["f.bak"]
    os.rename(p / "f.bak", p / name)
    assert os.listdir(p) == [name] and "kkk" in (p / name).read_text()
    os.rename(p / name, p / "f.bak")
    assert write(p / "f.bak", TEXT, OVER) == ""
    os.rename(p / "f.bak", p / name)
    assert stored("long") == {("p", "k" * 300): {"N": 2}}


@pytest.mark.asan("1025-local")
@pytest.mark.parametrize("flags", [os.O_RDWR, os.O_WRONLY | os.O_APPEND])
def test_who_writes_what_is_backed_up(mount, p, stored, flags):
    file = os.open(p / "f.json", flags)
    os.rename(p / "f.json", p / "f.bak")
    write_all(file, '{"M": 5}  ' + " " * 60)
    assert outcome(os.close, file) == ""
    assert stored("one")["p", "f"] == ({"M": 5} if flags == os.O_RDWR else {"N": 1, "M": 5})
    assert names_in(p) == ["f.bak", "f.json"] and n_in(p / "f.bak") == 1
    with mount.counting() as counted:
        os.unlink(p / "f.bak")
    assert counted.asked() == {}


def test_a_backup_gets_a_third_name(mount, p, of):
    os.rename(p / "f.json", p / "f.json.bak")
    os.rename(p / "f.json.bak", p / "f.json.orig")
    with mount.counting() as counted:
        os.rename(p / "f.json.orig", p / "g.json")
    assert counted.asked() == {"write": 1, "delete": 1}
    assert of("f") is None and of("g") == 1 and names_in(p) == ["g.json"]


def test_a_backup_that_was_written_is_stored(mount, p, of):
    os.rename(p / "f.json", p / "f.json.bak")
    assert write(p / "f.json.bak", TEXT, OVER) == ""
    with mount.counting() as counted:
        os.rename(p / "f.json.bak", p / "f.json")
    assert counted.asked() == {"write": 1}
    assert of("f") == 2 and names_in(p) == ["f.json"]


def test_a_backup_that_is_replaced(mount, p, of):
    """Of the entity whose backup it was nothing is left."""
    assert write(p / "g.json", TEXT) == ""
    os.rename(p / "f.json", p / "f.bak")
    assert outcome(renameat2, p / "g.json", p / "f.bak", NOREPLACE) == "EEXIST"
    assert n_in(p / "g.json") == 2
    os.rename(p / "g.json", p / "f.bak")
    assert of("f") is None and of("g") == 2 and n_in(p / "f.bak") == 2
    os.rename(p / "f.bak", p / "g.json")
    assert of("g") == 2 and names_in(p) == ["g.json"]


@pytest.mark.asan("local")
def test_another_client_changes_what_is_masked(mounts, p, of):
    other = mounts("ttl=0")
    os.rename(p / "f.json", p / "f.json~")
    assert n_in(other / "one/p/f.json") == 1, "it is there all the time"
    assert write(other / "one/p/f.json", '{"N": 3}') == ""
    assert write(p / "f.json", TEXT) == "write ESTALE"
    with contextlib.suppress(FileNotFoundError):
        os.unlink(p / "f.json")
    assert of("f") == 3
    assert outcome(os.unlink, p / "f.json~") == "EBUSY", "it is not what was backed up"
    assert n_in(p / "f.json") == 3
    os.unlink(p / "f.json~")
    assert of("f") == 3


def test_a_backup_of_what_another_client_has_deleted_is_stored(mounts, p, of):
    other = mounts("ttl=0")
    os.rename(p / "f.json", p / "f.json~")
    os.unlink(other / "one/p/f.json")
    assert write(p / "f.json", TEXT) == "write ESTALE"
    with contextlib.suppress(FileNotFoundError):
        os.unlink(p / "f.json")
    os.rename(p / "f.json~", p / "f.json")
    assert of("f") == 1 and n_in(p / "f.json") == 1 and names_in(p) == ["f.json"]


def test_a_backup_that_is_opened_at_once(mount, p):
    """The kernel still has the entity's node under its name."""
    assert write(p / "g.json", TEXT) == ""
    os.rename(p / "f.json", p / "f.json~")
    assert write(p / "f.json~", "text", OVER) == ""
    with open(p / "g.json") as file:
        assert os.fstat(file.fileno()).st_ino == os.stat(p / "g.json").st_ino
        assert os.stat(p / "g.json").st_ino != os.stat(p / "f.json~").st_ino
    assert (p / "f.json~").read_text() == "text"


@pytest.mark.asan("local")
def test_a_file_that_is_not_stored_has_no_backup(mount, p):
    file = os.open(p / "x.json", CREATE)
    assert outcome(os.rename, p / "x.json", p / "x.json~") == "EBUSY"
    os.close(file)
    assert outcome(os.rename, p / "f.json", p / "name") == "EPERM"


def test_another_client_never_sees_it_missing(mount, stored):
    p = mount / "seen/p"
    assert write(p / "f.json", '{"N": 1}') == ""
    seen, is_over = [], threading.Event()

    def watch():
        while not is_over.is_set():
            seen.append(stored("seen").get(("p", "f"), {}).get("N"))

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        while len(seen) < 5:
            as_vim(p, TEXT)
            os.unlink(p / "f.json~")
            assert write(p / "x.tmp", '{"N": 1}') == ""
            os.rename(p / "x.tmp", p / "f.json")
    finally:
        is_over.set()
        watcher.join()
    assert set(seen) <= {1, 2} and failures(mount) == []
