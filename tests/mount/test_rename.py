"""Renaming entities: in a partition one request that no other client sees half of, elsewhere two."""
import contextlib
import json
import os
import threading

import pytest

from harness import BOTH_SERVICES, run
from posix_calls import renameat2
from writing import CREATE, OVER, failures, outcome, write, write_all

pytestmark = pytest.mark.parametrize("service", BOTH_SERVICES, indirect=True)

NOREPLACE, EXCHANGE = 1, 2
NAMES = ("a", "b", "c", "d")


@pytest.fixture(scope="module", autouse=True)
def tables(make_table):
    for table in ("one", "two", "seen", "race", "open", "fails"):
        make_table(table, [("p", "old"), ("q", "old")])


@pytest.fixture
def mount(mounts):
    return mounts("ttl=600")


def fill(directory, **numbers):
    """Files name.json with {"N": number}."""
    for name in NAMES:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(directory / f"{name}.json")
    for name, number in numbers.items():
        assert write(directory / f"{name}.json", json.dumps({"N": number})) == ""


def numbers(directory):
    """{name: N} of the files, as this mount shows them."""
    found = {}
    for name in sorted(os.listdir(directory)):
        if name != "old.json":
            found[name.removesuffix(".json")] = json.loads((directory / name).read_text())["N"]
    return found


def at_service(stored, table, partition="p"):
    return {row: found["N"] for (key, row), found in stored(table).items() if key == partition and row != "old"}


# requests


def test_in_a_partition_it_is_one_request(mount, stored):
    p = mount / "one/p"
    fill(p, a=1, b=2)
    for rename, expected in (
        (lambda: os.rename(p / "a.json", p / "c.json"), {"b": 2, "c": 1}),
        (lambda: os.rename(p / "c.json", p / "b.json"), {"b": 1}),
        (lambda: renameat2(p / "b.json", p / "a.json", NOREPLACE), {"a": 1}),
        (lambda: run("mv", p / "a.json", p / "d.json"), {"d": 1}),
    ):
        with mount.counting() as counted:
            rename()
            assert numbers(p) == expected
        assert counted.asked() == {"batch": 1}
        assert at_service(stored, "one") == expected
    assert failures(mount) == []


@pytest.mark.tsan("local")
def test_to_another_partition_it_is_two_requests(mount, stored):
    p, q = mount / "one/p", mount / "one/q"
    fill(p, a=1)
    fill(q, b=2)
    with mount.counting() as counted:
        os.rename(p / "a.json", q / "b.json")
        assert numbers(p) == {} and numbers(q) == {"b": 1}
    assert counted.asked() == {"write": 1, "delete": 1}
    os.rename(q / "b.json", mount / "two/p/a.json")
    assert at_service(stored, "two") == {"a": 1} and at_service(stored, "one", "q") == {}
    run("mv", mount / "two/p/a.json", p)
    assert numbers(p) == {"a": 1} and numbers(mount / "two/p") == {}
    assert failures(mount) == []


@pytest.mark.asan("azurite")
def test_two_spellings_of_one_name_send_nothing(mount):
    fill(mount / "one/p", a=1)
    flat = mount / "one/.flat/p/a.json"
    assert numbers(mount / "one/.flat/p") == {"a": 1}
    with mount.counting() as counted:
        os.rename(mount / "one/p/a.json", flat)
        assert outcome(renameat2, mount / "one/p/a.json", flat, NOREPLACE) == "EEXIST"
        os.rename(flat, mount / "one/p/a.json")
        assert numbers(mount / "one/p") == {"a": 1}
    assert counted.asked() == {}


# what is refused


@pytest.mark.asan("azurite")
@pytest.mark.tsan("local")
def test_what_is_no_rename_of_an_entity(mount, stored):
    p = mount / "one/p"
    fill(p, a=1, b=2)
    before = stored("one")
    assert outcome(renameat2, p / "a.json", p / "b.json", EXCHANGE) == "EINVAL"
    assert outcome(renameat2, p / "a.json", p / "b.json", NOREPLACE) == "EEXIST"
    assert outcome(os.rename, p / "a.json", mount / "one/a.json") == "EPERM", "no partition"
    assert outcome(os.rename, p / "a.json", p / "name") == "EPERM"
    assert outcome(os.rename, p / "a.json", p / "#.json") == "EPERM"
    assert outcome(os.rename, p / "a.json", mount / ".tablefuse/a.json") == "EPERM"
    assert outcome(os.rename, mount / ".tablefuse/errors", p / "c.json") == "EPERM"
    assert outcome(os.rename, mount / "one/p", mount / "one/r") == "EXDEV"
    assert outcome(os.rename, mount / "one", mount / "three") == "EXDEV"
    assert stored("one") == before and numbers(p) == {"a": 1, "b": 2}
    told = {failed["reason"]: failed["operation"] for failed in failures(mount)}
    assert set(told.values()) == {"rename"} and len(told) == 6, "each name with its reason"


def test_a_directory_is_moved_by_copying(mount, make_table, stored):
    make_table("moved", [("p", "1"), ("p", "2")])
    run("mv", mount / "moved/p", mount / "moved/q")
    assert sorted(stored("moved")) == [("q", "1"), ("q", "2")]
    assert os.listdir(mount / "moved") == ["q"] and failures(mount) == []


# names within ttl: the kernel keeps the old name's node under the new one


@pytest.mark.asan("azurite")
@pytest.mark.tsan("local")
def test_a_renamed_file_is_used_at_once(mount):
    p = mount / "one/p"
    fill(p, a=1, b=2, c=3)
    number = os.stat(p / "a.json").st_ino
    os.rename(p / "a.json", p / "b.json")
    assert os.stat(p / "b.json").st_ino == number
    assert json.loads((p / "b.json").read_text())["N"] == 1
    assert os.stat(p / "b.json").st_ino == number
    assert write(p / "a.json", '{"N": 4}') == ""
    assert os.stat(p / "a.json").st_ino != number, "else they would look like links of one file"
    assert json.loads((p / "b.json").read_text())["N"] == 1
    run("cp", p / "a.json", p / "d.json")
    assert numbers(p) == {"a": 4, "b": 1, "c": 3, "d": 4}

    os.rename(p / "b.json", p / "c.json")
    assert write(p / "c.json", '{"N": 5}', OVER) == ""
    os.rename(p / "c.json", p / "b.json")
    assert write(p / "b.json", '{"M": 6}', os.O_WRONLY | os.O_APPEND) == ""
    os.rename(p / "b.json", p / "c.json")
    os.rename(p / "c.json", p / "b.json")
    os.utime(p / "b.json")
    os.rename(p / "b.json", p / "c.json")
    os.unlink(p / "c.json")
    assert numbers(p) == {"a": 4, "d": 4}
    os.rename(p / "a.json", p / "c.json")
    os.unlink(p / "c.json")
    assert numbers(p) == {"d": 4}
    assert failures(mount) == []


@pytest.mark.asan("azurite")
def test_the_short_name_of_a_long_key_is_used_at_once(mount, make_table, stored):
    for table in ("long", "longer"):
        make_table(table, [("p", "k" * 300)])
        p = mount / table / "p"
        (name,) = os.listdir(p)
        assert write(p / "a.json", '{"N": 1}') == ""
        os.rename(p / "a.json", p / name)
        assert stored(table) == {("p", "k" * 300): {"N": 1}}
        if table == "long":
            os.rename(p / name, p / "b.json")
            assert stored(table) == {("p", "b"): {"N": 1}}
        else:
            os.unlink(p / name)
            assert stored(table) == {}
    assert failures(mount) == []


def test_a_renamed_file_keeps_its_inode(mount):
    """cp compares lstat and fstat. The kernel has the old node under the new name until ttl ends."""
    names = [mount / f"seen/inode/{number}.json" for number in range(4)]
    os.makedirs(names[0].parent)
    names[0].write_text("{}")
    inode = os.stat(names[0]).st_ino
    for old, new in zip(names, names[1:]):
        os.rename(old, new)
        assert os.lstat(new).st_ino == inode
        with open(new, encoding="utf-8") as file:
            assert os.fstat(file.fileno()).st_ino == inode
        assert os.lstat(new).st_ino == inode
        assert os.lstat(mount / "seen/.flat/inode" / new.name).st_ino == inode
    temporary = names[0].with_suffix(".json.tmp")
    temporary.write_text('{"a": 1}')
    os.rename(temporary, names[3])
    assert os.lstat(names[3]).st_ino == inode, "that of the address"
    with open(names[3], encoding="utf-8") as file:
        assert os.fstat(file.fileno()).st_ino == inode


def test_a_descriptor_stays_with_its_file(mount):
    p = mount / "one/p"
    fill(p, a=1, b=2)
    with open(p / "a.json") as a, open(p / "b.json") as b:
        os.rename(p / "a.json", p / "b.json")
        assert json.load(a)["N"] == 1 and json.load(b)["N"] == 2
        assert os.fstat(a.fileno()).st_ino == os.stat(p / "b.json").st_ino
        assert os.fstat(a.fileno()).st_nlink == 1 and os.fstat(b.fileno()).st_nlink == 0


# files that are open for writing


def test_a_writer_follows_its_file(mount, stored):
    p = mount / "open/p"
    fill(p, a=1, b=2)
    over, changed = os.open(p / "a.json", OVER), os.open(p / "a.json", os.O_RDWR)
    replaced = os.open(p / "b.json", os.O_RDWR)
    with mount.counting() as counted:
        os.rename(p / "a.json", p / "b.json")
    assert counted.asked() == {"batch": 1}
    size = os.fstat(changed).st_size
    text = os.pread(changed, size, 0)
    assert os.pwrite(changed, text.replace(b"1", b"7"), 0) == size
    assert outcome(os.close, changed) == ""
    assert at_service(stored, "open") == {"b": 7}
    write_all(over, '{"N": 8}')
    assert outcome(os.close, over) == ""
    assert at_service(stored, "open") == {"b": 8}
    assert os.pwrite(replaced, b'{"N": 9}', 0) == 8
    assert outcome(os.close, replaced) == "", "its file has no name any more"
    assert at_service(stored, "open") == {"b": 8} and numbers(p) == {"b": 8}
    assert failures(mount) == []


def test_a_writer_does_not_overwrite_what_it_does_not_know(mount, stored):
    """The version that was renamed is not the one that it opened."""
    p = mount / "open/p"
    fill(p, a=1)
    changed = os.open(p / "a.json", os.O_RDWR)
    assert write(p / "a.json", '{"N": 2}', OVER) == ""
    os.rename(p / "a.json", p / "b.json")
    os.pwrite(changed, b'{"N": 3}', 0)
    os.ftruncate(changed, 8)
    assert outcome(os.close, changed) == "ESTALE"
    assert at_service(stored, "open") == {"b": 2}


def test_a_new_file_is_renamed_before_it_is_stored(mount, stored):
    p, q = mount / "open/p", mount / "open/q"
    fill(p, b=2)
    file = os.open(p / "a.json", CREATE)
    with mount.counting() as counted:
        assert outcome(os.rename, p / "a.json", p / "b.json") == "EBUSY", "b would be emptied"
        os.rename(p / "a.json", p / "c.json")
        os.rename(p / "c.json", q / "d.json")
        assert sorted(os.listdir(p)) == ["b.json", "old.json"]
        assert sorted(os.listdir(q)) == ["d.json", "old.json"] and os.stat(q / "d.json").st_size == 0
        assert os.fstat(file).st_ino == os.stat(q / "d.json").st_ino
    assert counted.asked() == {}
    write_all(file, '{"N": 5}')
    os.close(file)
    assert at_service(stored, "open", "q") == {"d": 5} and at_service(stored, "open") == {"b": 2}
    os.unlink(q / "d.json")
    (failed,) = failures(mount)
    assert (failed["operation"], failed["path"], failed["error"]) == ("rename", "/open/p/a.json", "EBUSY")


def test_a_new_file_that_is_replaced_is_stored_nowhere(mount, stored):
    p = mount / "open/p"
    fill(p, a=1)
    file = os.open(p / "b.json", CREATE)
    os.rename(p / "a.json", p / "b.json")
    write_all(file, '{"N": 5}')
    os.close(file)
    assert at_service(stored, "open") == {"b": 1} and numbers(p) == {"b": 1}
    assert failures(mount) == []


# other clients


def test_another_client_never_sees_both_or_neither(mount, stored):
    p = mount / "seen/p"
    fill(p, a=1)
    seen, is_over = [], threading.Event()

    def watch():
        while not is_over.is_set():
            seen.append(sorted(at_service(stored, "seen")))

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        while len(seen) < 3:
            for pair in (("a", "b"), ("b", "a")) * 10:
                os.rename(*(p / f"{name}.json" for name in pair))
    finally:
        is_over.set()
        watcher.join()
    assert {tuple(names) for names in seen} <= {("a",), ("b",)}
    assert failures(mount) == []


@pytest.mark.asan("azurite")
@pytest.mark.tsan("local")
def test_what_another_client_changed_is_renamed(mounts, stored):
    mount, other = mounts("ttl=600"), mounts("ttl=0")
    for q in ("p", "q"):
        fill(mount / "race/p", a=1)
        fill(mount / "race" / q, b=2) if q == "q" else None
        os.stat(mount / "race/p/a.json")
        assert write(other / "race/p/a.json", '{"N": 3}') == ""
        os.rename(mount / "race/p/a.json", mount / "race" / q / "b.json")
        assert at_service(stored, "race", q)["b"] == 3 and "a" not in at_service(stored, "race")
        os.unlink(mount / "race" / q / "b.json")
    assert failures(mount) == []


@pytest.mark.asan("local")
def test_a_process_that_read_the_target_overwrites_no_other_version(mounts, stored):
    mount, other = mounts("ttl=600"), mounts("ttl=0")
    p = mount / "race/p"
    fill(p, a=1, b=2)
    assert json.loads((p / "b.json").read_text())["N"] == 2
    assert write(other / "race/p/b.json", '{"N": 3}') == ""
    assert outcome(os.rename, p / "a.json", p / "b.json") == "EBUSY"
    assert at_service(stored, "race") == {"a": 1, "b": 3} and numbers(p) == {"a": 1, "b": 3}
    run("mv", p / "a.json", p / "b.json")
    assert at_service(stored, "race") == {"b": 1}


@pytest.mark.asan("azurite")
def test_of_two_mounts_one_gets_the_entity(mounts, stored):
    pair = [mounts("ttl=0"), mounts("ttl=0")]
    for turn in range(5):
        fill(pair[0] / "race/p", a=turn)
        told = {}

        def take(number):
            at = pair[number] / "race/p"
            told[number] = outcome(os.rename, at / "a.json", at / f"{'cd'[number]}.json")

        threads = [threading.Thread(target=take, args=(number,)) for number in (0, 1)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(told.values()) == ["", "ENOENT"]
        winner = "cd"[min(told, key=told.get)]
        assert at_service(stored, "race") == {winner: turn}


# failures


@pytest.mark.parametrize("code", ["fail=batch:1:503:ServerBusy", "lost=batch:1", "fail=batch:1:0:"])
def test_a_failure_that_passes_is_not_seen(mounts, stored, code):
    mount = mounts(faults=code)
    p = mount / "fails/p"
    fill(p, a=1, b=2)
    os.rename(p / "a.json", p / "b.json")
    assert at_service(stored, "fails") == {"b": 1} and numbers(p) == {"b": 1}
    assert failures(mount) == []


@pytest.mark.parametrize("code", ["lost=write:2", "fail=write:2:0:", "lost=delete:1"])
def test_a_lost_answer_across_partitions_is_not_seen(mounts, stored, code):
    mount = mounts(faults=code)
    p, q = mount / "fails/p", mount / "fails/q"
    fill(p, d=1)
    run("mv", p / "d.json", q / "d.json")
    assert at_service(stored, "fails", "q") == {"d": 1} and "d" not in at_service(stored, "fails")
    assert numbers(q) == {"d": 1} and failures(mount) == []
    os.unlink(q / "d.json")


@pytest.mark.asan("local")
@pytest.mark.tsan("local")
def test_a_lost_answer_that_stays_lost_is_told(mounts, stored):
    """The service made the first of the two requests, and is not reached since."""
    faults = "partition=fresh,lost=write:1,fail=write:2+:0:,fail=get:*:0:,fail=query:2+:0:"
    mount = mounts("timeout=3", faults=faults)
    p, fresh = mount / "fails/p", mount / "fails/fresh"
    fill(p, e=1)
    os.mkdir(fresh)
    assert outcome(os.rename, p / "e.json", fresh / "e.json") == "EIO"
    (failed,) = failures(mount)
    assert (failed["operation"], failed["path"]) == ("rename", "/fails/p/e.json")
    assert failed["advice"].startswith("it has its old name; whether it is stored under the new one, too, is not known")
    assert at_service(stored, "fails", "fresh") == {"e": 1} and at_service(stored, "fails")["e"] == 1


@pytest.mark.asan("local")
def test_a_failure_between_the_two_requests_is_told(mounts, stored):
    mount = mounts(faults="fail=delete:1:403:AuthorizationFailure")
    p, q = mount / "fails/p", mount / "fails/q"
    assert write(p / "c.json", '{"N": 1}') == ""
    done = run("mv", p / "c.json", q / "c.json", check=False)
    assert done.returncode == 1 and "Permission denied" in done.stderr
    assert at_service(stored, "fails")["c"] == 1 and at_service(stored, "fails", "q") == {"c": 1}
    (failed,) = failures(mount)
    assert failed["operation"] == "rename" and failed["path"] == "/fails/p/c.json"
    assert failed["advice"].startswith("it is stored under the new name, and under the old one, too")
    os.rename(p / "c.json", q / "c.json")
    assert "c" not in at_service(stored, "fails") and numbers(q) == {"c": 1}
    os.unlink(q / "c.json")
