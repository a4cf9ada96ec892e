"""What is stored is seen: at once in this mount, under every spelling and without another request; by others within ttl."""
import json
import os
import subprocess

import pytest

from harness import BOTH_SERVICES, run, wait_until
from writing import CREATE, EXCLUSIVE, OVER, failures, outcome, write, write_all

pytestmark = pytest.mark.parametrize("service", BOTH_SERVICES, indirect=True)

FANOUT = 4  # of the tables of this file: they have more partitions than that
PARTITIONS = [first + second + third for first in "ab" for second in "xy" for third in "123"]
# the ways to one partition
SPELLINGS = ["ax1", "a+/ax1", "ax+/ax1", "a+/ax+/ax1", ".flat/ax1"]


@pytest.fixture(scope="module", autouse=True)
def tables(make_table):
    for table in ("seen", "listed", "counted", "shared", "raced"):
        make_table(table, [(key, "old") for key in PARTITIONS])


def in_another_process(*command):
    return run(*command).stdout


@pytest.mark.asan("local")
@pytest.mark.tsan("local")
def test_size_time_and_text_without_another_request(mounts):
    mount, other = mounts("ttl=600"), mounts("ttl=0")
    directory = mount / "seen/ax1"
    for name in ("new.json", "old.json"):
        os.stat(directory / "old.json")
        outcome(os.stat, directory / "new.json")
        with mount.counting() as counted:
            assert write(directory / name, '{"B": 2.50, "A": 1}') == ""
            status = os.stat(directory / name)
            text = (directory / name).read_text()
            told = in_another_process("stat", "-c", "%s %.9Y", directory / name).split()
            assert in_another_process("cat", directory / name) == text
        assert counted.asked() == {"write": 1}
        assert list(json.loads(text)) == ["PartitionKey", "RowKey", "A", "B@odata.type", "B"]
        assert status.st_size == len(text.encode()) == int(told[0])
        assert told[1] == f"{status.st_mtime_ns // 10**9}.{status.st_mtime_ns % 10**9:09}"
        theirs = os.stat(other / "seen/ax1" / name)
        assert (theirs.st_size, theirs.st_mtime_ns) == (status.st_size, status.st_mtime_ns)
        assert (other / "seen/ax1" / name).read_text() == text
        assert status.st_mtime_ns == status.st_ctime_ns and status.st_mtime_ns % 100 == 0


@pytest.mark.asan("local")
@pytest.mark.tsan("local")
def test_it_shows_at_once_under_every_spelling(mounts):
    """But not under a spelling that the kernel still caches as absent."""
    mount = mounts("ttl=600", f"fanout={FANOUT}")
    for number, spelling in enumerate(SPELLINGS):
        directory = mount / "seen" / spelling
        assert write(directory / f"by{number}.json", json.dumps({"N": number})) == "", spelling
        for other in SPELLINGS:
            path = mount / "seen" / other / f"by{number}.json"
            assert json.loads(path.read_text())["N"] == number, (spelling, other)
            assert f"by{number}.json" in os.listdir(path.parent), (spelling, other)
        run("unlink", directory / f"by{number}.json")  # not by a process that has used the other spellings
        for other in SPELLINGS:
            assert f"by{number}.json" not in os.listdir(mount / "seen" / other), (spelling, other)
            assert f"by{number}.json" not in in_another_process("ls", mount / "seen" / other).split()


def times_found(mount, table, name):
    return in_another_process("find", mount / table, "-name", name).splitlines()


@pytest.mark.asan("local")
@pytest.mark.tsan("local")
def test_a_listing_has_it_once_while_it_is_new_and_once_it_is_stored(mounts):
    mount = mounts("ttl=600", f"fanout={FANOUT}")
    expected = [str(mount / "listed/a+/ax+/ax1/fresh.json")]
    assert times_found(mount, "listed", "fresh.json") == []
    file = os.open(mount / "listed/ax1/fresh.json", EXCLUSIVE)
    for text in ("", '{"A": ', "1}"):
        write_all(file, text)
        assert times_found(mount, "listed", "fresh.json") == expected, text
        assert sorted(os.listdir(mount / "listed/ax1")) == ["fresh.json", "old.json"]
        for spelling in SPELLINGS:
            names = in_another_process("ls", "-U", mount / "listed" / spelling).split()
            assert sorted(names) == ["fresh.json", "old.json"], (spelling, text)
            status = os.stat(mount / "listed" / spelling / "fresh.json")
            assert status.st_size == 6 * (text == '{"A": ') or text == "1}"
    os.close(file)
    assert times_found(mount, "listed", "fresh.json") == expected
    run("unlink", mount / "listed/ax1/fresh.json")  # not by a process that has used the other spellings
    assert times_found(mount, "listed", "fresh.json") == []
    assert os.listdir(mount / "listed/ax1") == ["old.json"]


@pytest.mark.asan("local")
@pytest.mark.tsan("local")
def test_a_file_that_is_stored_while_it_is_listed_is_not_missed(mounts, make_table):
    """Names so long that the directory is read in several parts."""
    rows = [f"{number:03}{'x' * 180}" for number in range(600)]
    make_table("long", [("p", row) for row in rows])
    directory = mounts("ttl=600") / "long/p"
    expected = sorted([f"{row}.json" for row in rows] + ["000.json", "599y.json", "removed.json"])
    files = {name: os.open(directory / name, EXCLUSIVE) for name in ("000.json", "599y.json", "removed.json")}
    with os.scandir(directory) as entries:
        names = [next(entries).name for _ in range(20)]
        for file in files.values():
            write_all(file, "{}")
        os.unlink(directory / "removed.json")
        names += [entry.name for entry in entries]
    assert sorted(names) == [name for name in expected if name != "removed.json"]
    for file in files.values():
        os.close(file)


def test_a_listing_that_begins_behind_a_store_needs_no_request_for_it(mounts):
    mount = mounts("ttl=600")
    directory = mount / "counted/bx1"
    assert os.listdir(directory) == ["old.json"]
    with mount.counting() as counted:
        assert write(directory / "more.json", '{"N": 1}') == ""
        assert in_another_process("ls", directory).split() == ["more.json", "old.json"]
        assert write(directory / "old.json", '{"N": 2}') == ""
        lines = in_another_process("grep", "-h", '"N"', directory / "old.json", directory / "more.json")
        assert lines.split() == ['"N":', "2", '"N":', "1"]
    assert counted.asked() == {"write": 2}


# what is done in a directory whose entities are known: the requests of it
JOURNEYS = {
    "echo '{}' > old.json": {"write": 1},
    "echo '{}' > new1.json": {"write": 1},
    "cp old.json new2.json": {"write": 1},
    "tee new3.json < old.json": {"write": 1},
    "mkdir ../made1": {},
    "mkdir ../made2 && cp old.json ../made2": {"write": 1},
    "rm old.json": {"delete": 1},
    "mkdir ../made3 && rmdir ../made3": {},
}


def test_requests_of_each_journey(mounts):
    mount = mounts("ttl=600")
    directory = mount / "counted/by1"
    os.listdir(mount / "counted")
    os.listdir(directory)
    for command, requests in JOURNEYS.items():
        with mount.counting() as counted:
            run("bash", "-c", command, cwd=directory)
        asked = counted.asked()
        # an absent name may have to be asked for
        assert {name: n for name, n in asked.items() if name not in ("query", "get")} == requests, command
        assert sum(asked.values()) - sum(requests.values()) <= 1, (command, asked)


# two mounts


def test_another_mount_sees_it(mounts):
    """But in a process that has listed the directory: it is served from its listing for a while."""
    writer, reader = mounts("ttl=0"), mounts("ttl=0")
    for number, name in enumerate(["old.json", "new.json"] * 2):
        path = f"shared/ax1/{name}"
        assert write(writer / path, f'{{"N": {number}}}') == ""
        assert json.loads((reader / path).read_text())["N"] == number
        assert name in in_another_process("ls", reader / "shared/ax1").split()
    os.unlink(writer / "shared/ax1/new.json")
    assert not os.path.exists(reader / "shared/ax1/new.json")


def test_another_mount_sees_it_within_its_ttl(mounts):
    writer, reader = mounts("ttl=0"), mounts("ttl=0.5")
    path = reader / "shared/ax2/old.json"
    assert "N" not in json.loads(path.read_text())
    assert write(writer / "shared/ax2/old.json", '{"N": 1}') == ""
    wait_until(lambda: "N" in json.loads(in_another_process("cat", path)), what="the new text")


def test_the_last_writer_wins_unless_it_has_read(mounts):
    first, second = mounts("ttl=0"), mounts("ttl=0")
    name = "raced/ax1/old.json"
    for number in range(4):  # in turns, each by a process of its own that has read nothing
        mount = (first, second)[number % 2]
        run("bash", "-c", 'echo "$1" > "$2"', "bash", f'{{"N": {number}}}', mount / name)
        assert json.loads((first / name).read_text())["N"] == number
        assert json.loads((second / name).read_text())["N"] == number


# argv: a file. Reads it and prints a line. For each of two lines on standard input writes it and prints the result.
READ_THEN_WRITE = """
import json, sys
from writing import CREATE, write
path = sys.argv[1]
with open(path) as file:
    entity = json.load(file)
print("has read", flush=True)
for turn in range(2):
    sys.stdin.readline()
    print(write(path, json.dumps({**entity, "Mine": turn})), flush=True)
"""


def test_a_process_that_has_read_a_file_does_not_overwrite_a_later_change(mounts):
    first, second = mounts("ttl=0"), mounts("ttl=0")
    name = "raced/ax2/old.json"
    with subprocess.Popen(
        ["/usr/bin/python3", "-B", "-c", READ_THEN_WRITE, first / name],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.path.dirname(__file__)},
    ) as careful:
        assert careful.stdout.readline() == "has read\n"
        assert write(second / name, '{"Theirs": 1}', OVER) == ""
        out, _ = careful.communicate("\n\n", timeout=60)
    assert out == "write ESTALE\n\n", "ESTALE is reported once; the next write replaces the other text"
    told = failures(first)  # of the write, and of the close after it
    assert {(each["error"], each["path"]) for each in told} == {("ESTALE", f"/{name}")}
    assert all("another client has changed the entity" in each["advice"] for each in told)
    assert "Theirs" not in json.loads((second / name).read_text())


def test_a_lost_race_overwrites_nothing(mounts):
    first, second = mounts("ttl=0"), mounts("ttl=0")
    name = "raced/ax3/old.json"
    (first / name).read_text()
    assert write(second / name, '{"Theirs": 1}', CREATE) == ""
    assert write(first / name, '{"Mine": 1}', CREATE) == "write ESTALE"
    for mount in (first, second):
        assert list(json.loads((mount / name).read_text()))[2:] == ["Theirs"]


@pytest.mark.asan("local")
@pytest.mark.tsan("local")
def test_an_empty_new_file_empties_nothing(mounts):
    """Another client, or another spelling of the path, was faster: touch leaves its text."""
    first, second = mounts("ttl=600"), mounts("ttl=0")
    file = os.open(first / "raced/ay1/new.json", os.O_WRONLY | os.O_CREAT)
    assert write(second / "raced/ay1/new.json", '{"Theirs": 1}') == ""
    os.fsync(file)  # stores as the last close does, which close itself does not wait for
    os.close(file)
    assert "Theirs" in json.loads((second / "raced/ay1/new.json").read_text())

    absent = first / "raced/ay+/ay2/new.json"
    assert outcome(os.stat, absent) == "ENOENT"
    assert write(first / "raced/ay2/new.json", '{"Mine": 1}') == ""
    run("touch", absent)
    for mount in (first, second):
        assert "Mine" in json.loads((mount / "raced/ay2/new.json").read_text())
    assert failures(first) == []


@pytest.mark.asan("local")
@pytest.mark.tsan("local")
def test_a_name_is_removed_with_what_another_spelling_has_stored(mounts, stored):
    """The kernel knows the name to be absent by one spelling, so the file is new by that one."""
    mount = mounts("ttl=600")
    absent = mount / "raced/bx+/bx1/new.json"
    assert outcome(os.stat, absent) == "ENOENT"
    assert write(mount / "raced/bx1/new.json", '{"Mine": 1}') == ""
    file = os.open(absent, os.O_WRONLY | os.O_CREAT)
    with mount.counting() as counted:
        run("unlink", absent)  # not by the process that has used the other spelling
    assert counted.asked() == {"delete": 1}
    assert ("bx1", "new") not in stored("raced")
    os.close(file)
    assert ("bx1", "new") not in stored("raced")
