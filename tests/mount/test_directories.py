"""Making and removing directories: tables at the service, partitions and prefixes in this mount alone. On Azurite and in
a file."""
import errno
import os

import pytest

from deleting import failures_but_of_dropped, is_of_the_other
from directory_stream import DirectoryStream
from harness import BOTH_SERVICES, run
from writing import failures, outcome, write

pytestmark = pytest.mark.parametrize("service", BOTH_SERVICES, indirect=True, scope="module")

FANOUT = 4
GROWN = [f"{first}{number}" for first in "ab" for number in range(FANOUT)]


@pytest.fixture(scope="module")
def tables(make_table):
    make_table("data", [("p", "1"), ("p", "2"), ("q", "1")])
    make_table("grown", [(key, "r") for key in GROWN])
    make_table("none")


@pytest.fixture
def mount(mounts, tables):
    return mounts("ttl=600", f"fanout={FANOUT}")


def found(directory):
    return sorted(run("find", directory, "-mindepth", "1", "-printf", "%P %y\\n").stdout.split("\n")[:-1])


def listed(directory):
    """By another process, because a process that has listed the account may not drop tables."""
    return sorted(run("ls", directory).stdout.split())


def changes(counted):
    """The requests that were sent, without those that only read."""
    asked = counted.asked()
    return {name: n for name, n in asked.items() if name not in ("query", "get", "list_tables")}


# tables


def test_a_table_is_made_and_removed(mount, stored):
    with mount.counting() as counted:
        os.mkdir(mount / "fresh")
        assert os.listdir(mount / "fresh") == [] and "fresh" in listed(mount.point)
    assert changes(counted) == {"create_table": 1}
    assert stored("fresh") == {}, "it is there"
    assert write(mount / "fresh/p/r.json", "{}") == "open ENOENT"
    with mount.counting() as counted:
        os.rmdir(mount / "fresh")
        assert outcome(os.stat, mount / "fresh") == "ENOENT"
        assert "fresh" not in listed(mount.point)
    assert changes(counted) == {"delete_table": 1}
    assert failures(mount) == []


def test_a_table_is_made_again_at_once_or_is_busy(mount):
    """The service may take a minute to delete a table; these two do not."""
    for _ in range(3):
        os.mkdir(mount / "again")
        os.mkdir(mount / "again/p")
        assert os.listdir(mount / "again") == ["p"]
        os.rmdir(mount / "again/p")
        os.rmdir(mount / "again")


def test_a_table_that_is_being_deleted(mounts, tables):
    mount = mounts(faults="fail=create_table:1:409:TableBeingDeleted")
    made = run("mkdir", mount / "busy", check=False)
    assert made.returncode == 1 and os.strerror(errno.EBUSY) in made.stderr
    (failed,) = failures(mount)
    assert failed["operation"] == "mkdir" and failed["error"] == "EBUSY"
    assert failed["path"] == "/busy" and failed["code"] == "TableBeingDeleted"
    assert failed["advice"] == "a dropped table's name is free after a minute"
    os.mkdir(mount / "busy")
    os.rmdir(mount / "busy")


def test_a_dropped_table_is_seen_when_it_can_be_read(mounts, tables, stored):
    """A service lists a table while it deletes it, and refuses its reads. Here the list has another client's table, and
    the faults refuse the first reads."""
    faults = "only=left,fail=query:2:404:TableNotFound,fail=query:3:409:TableBeingDeleted"
    mount, other = mounts("ttl=0", faults=faults), mounts("ttl=0")
    os.mkdir(mount / "left")
    os.rmdir(mount / "left")
    os.mkdir(other / "left")
    assert "left" not in listed(mount.point)
    assert run("stat", mount / "left", check=False).returncode == 1
    assert write(other / "left/p/r.json", "{}") == "open ENOENT"
    os.mkdir(other / "left/p")
    assert write(other / "left/p/r.json", "{}") == ""
    assert "left" in listed(mount.point), "another client has made it again"
    assert (mount / "left/p/r.json").read_text() == (other / "left/p/r.json").read_text()
    assert outcome(os.mkdir, mount / "left") == "EEXIST" and stored("left") == {("p", "r"): {}}
    assert failures(mount) == []


def test_a_dropped_name_costs_what_every_absent_name_does(mounts, tables):
    mount = mounts("ttl=0")
    os.mkdir(mount / "brief")
    os.rmdir(mount / "brief")
    for _ in range(2):
        with mount.counting() as counted:
            assert run("stat", mount / "brief", check=False).returncode == 1
        assert counted.asked() == {"list_tables": 1}


@pytest.mark.parametrize("seen_by", ["stat", "listing", "read"])
def test_directories_end_with_a_table_that_another_client_drops(mounts, tables, seen_by):
    """In the table that it makes again under the same name they are not there."""
    mount, other = mounts("ttl=0"), mounts("ttl=0")
    name = f"again{seen_by}"
    os.mkdir(mount / name)
    os.mkdir(mount / name / "p")
    assert listed(mount / name) == ["p"]
    opened = os.open(mount / name, os.O_RDONLY)
    try:
        os.rmdir(other / name)
        if seen_by == "stat":
            assert run("stat", mount / name, check=False).returncode == 1, "this process has made it, and keeps it"
        elif seen_by == "listing":
            assert name not in listed(mount.point)
        else:
            assert outcome(os.listdir, opened) == "ESTALE"
    finally:
        os.close(opened)
    os.mkdir(other / name)
    assert listed(mount / name) == []
    assert outcome(os.stat, mount / name / "p") == "ENOENT"
    os.rmdir(other / name)


def test_a_name_in_another_case(mount):
    """It is no path of the table, but the service creates no second one."""
    os.mkdir(mount / "cased")
    assert outcome(os.stat, mount / "CASED") == "ENOENT"
    assert outcome(os.mkdir, mount / "CASED") == "EEXIST"
    assert outcome(os.stat, mount / "CASED") == "ENOENT"
    (failed,) = failures(mount)
    assert (failed["operation"], failed["path"], failed["code"]) == ("mkdir", "/CASED", "TableAlreadyExists")
    assert failed["advice"] == "the names of tables ignore case: ls DIR shows how it is written"
    os.rmdir(mount / "cased")


def test_a_table_with_entities_stays(mount, stored):
    before = stored("data")
    assert outcome(os.rmdir, mount / "data") == "ENOTEMPTY"
    assert stored("data") == before and sorted(os.listdir(mount / "data")) == ["p", "q"]
    assert failures(mount) == []


def test_a_table_to_which_another_client_has_added_stays(mounts, tables, make_table, stored):
    mount, other = mounts("ttl=600"), mounts()
    os.mkdir(mount / "added")
    assert os.listdir(mount / "added") == []
    os.mkdir(other / "added/p")
    assert write(other / "added/p/r.json", "{}") == ""
    assert outcome(os.rmdir, mount / "added") == "ENOTEMPTY"
    assert stored("added") == {("p", "r"): {}}


# partitions


def test_a_partition_is_made_and_removed_without_a_request(mount):
    assert os.listdir(mount / "none") == []
    with mount.counting() as counted:
        os.mkdir(mount / "none/p")
        assert os.listdir(mount / "none/p") == []
        assert os.stat(mount / "none/p").st_nlink == 1
        assert os.listdir(mount / "none") == ["p"]
        os.rmdir(mount / "none/p")
        assert os.listdir(mount / "none") == []
        assert outcome(os.rmdir, mount / "none/p") == "ENOENT"
    assert counted.asked() == {}
    assert failures(mount) == []


def test_making_a_partition_costs_its_lookup(mounts, tables):
    mount = mounts("ttl=600")
    os.stat(mount / "none")
    with mount.counting() as counted:
        os.mkdir(mount / "none/fresh")
    assert counted.requests() == 1
    os.rmdir(mount / "none/fresh")


def test_mkdir_p(mount, stored):
    with mount.counting() as counted:
        run("mkdir", "-p", mount / "parents/p")
        run("mkdir", "-p", mount / "parents/p")
    assert changes(counted) == {"create_table": 1}
    assert write(mount / "parents/p/r.json", '{"N": 1}') == ""
    assert stored("parents") == {("p", "r"): {"N": 1}}
    run("mkdir", "-p", mount / "parents/p")
    assert os.listdir(mount / "parents") == ["p"], "once, though it was made here"
    assert outcome(os.rmdir, mount / "parents/p") == "ENOTEMPTY"
    run("rmdir", mount / "parents", check=False)
    assert failures(mount) == []
    run("rm", "-r", mount / "parents")


@pytest.mark.parametrize("name", ["data", "data/p", "grown/a+", "grown/a0", "grown/a+/a0", ".tablefuse", "data/.flat"])
def test_what_exists_is_not_made(mount, name):
    assert outcome(os.mkdir, mount / name) == "EEXIST"
    assert failures(mount) == []


@pytest.mark.parametrize("name", ["data/p", "grown/a+", "grown/a+/a0", "grown/.flat/a0"])
def test_what_holds_entities_is_not_removed(mount, name):
    with mount.counting() as counted:
        assert outcome(os.rmdir, mount / name) == "ENOTEMPTY"
    assert changes(counted) == {} and failures(mount) == []


def test_control_files_are_not_removed(mount):
    names = os.listdir(mount / ".tablefuse")
    for name in names:
        assert outcome(os.rmdir if name == "drop" else os.unlink, mount / ".tablefuse" / name) == "EPERM"
    done = run("rm", "-rf", mount / ".tablefuse", check=False)
    told = [f["path"] for f in failures(mount)]
    assert done.returncode == 1 and told == [f"/.tablefuse/{name}" for name in names * 2]


# A new directory and why it is refused, which the last line of `errors` says. test_new_place.c has all rules, and
# test_reasons.py those of tables, keys and partitions.
REFUSED = {
    "TABLES": ("EINVAL", "the service reserves the name tables, in any case"),
    "data/.hidden": (
        "EINVAL",
        "the name of a table, partition or entity does not begin with a dot; a key's own first dot is written #2E",
    ),
    "data/a#b": (
        "EINVAL",
        "# cannot be in a key; in a name it only begins the two hex digits of a byte that cannot be shown, as in #2E for"
        " a key's first dot",
    ),
    "data/+": (
        "EINVAL",
        "the name of a prefix's directory is the prefix and a +; the prefix has 1 to 240 bytes",
    ),
    "grown/a+/b9": (
        "EINVAL",
        "this directory holds only what begins with its prefix; create the name in the directory of the whole table or"
        " partition",
    ),
    "grown/a+/b+": ("EINVAL", "this directory holds only longer prefixes that begin with its own"),
    "grown/.flat/c+": (
        "EINVAL",
        "no directories of prefixes are shown here, so no name ends in +; a key's own last + is written #2B",
    ),
}


@pytest.mark.parametrize("path", REFUSED)
def test_a_name_that_cannot_be(mount, path):
    name = os.path.basename(path)
    error, reason = REFUSED[path]
    with mount.counting() as counted:
        assert outcome(os.mkdir, mount / path) == error
    assert changes(counted) == {}
    failed = failures(mount)[-1]
    shown = name if len(name) <= 60 else name[:60] + "..."
    assert (failed["operation"], failed["error"]) == ("mkdir", error)
    assert failed["reason"] == f"{shown}: {reason}"


def test_a_name_that_is_too_long(mount):
    assert outcome(os.mkdir, mount / "none" / ("k" * 256)) == "ENAMETOOLONG"
    assert [f["error"] for f in failures(mount)] == ["ENAMETOOLONG"]
    os.mkdir(mount / "none" / ("k" * 255))
    assert os.listdir(mount / "none") == ["k" * 255]
    os.rmdir(mount / "none" / ("k" * 255))


# the kernel keeps a name of another spelling for ttl
@pytest.mark.parametrize("made", ["grown/ax", "grown/a+/ax", "grown/.flat/ax", "grown/a+/.flat/ax"])
def test_every_spelling_is_one_directory(mount, made):
    os.mkdir(mount / made)
    for other in ("grown/ax", "grown/a+/ax", "grown/.flat/ax", "grown/a+/.flat/ax"):
        assert os.listdir(mount / other) == []
        assert outcome(os.mkdir, mount / other) == "EEXIST"
    assert sorted(os.listdir(mount / "grown/.flat")) == sorted([*GROWN, "ax"])
    os.rmdir(mount / made)
    assert sorted(os.listdir(mount / "grown/.flat")) == GROWN


def test_a_local_directory_is_listed_once(mount, make_table):
    make_table("levels", [(key, "r") for key in GROWN])
    os.mkdir(mount / "levels/a9")
    os.mkdir(mount / "levels/a+/a8")
    os.mkdir(mount / "levels/cc")
    assert sorted(os.listdir(mount / "levels")) == ["a+", "a9", "b+", "cc"]
    assert sorted(os.listdir(mount / "levels/a+")) == ["a0", "a1", "a2", "a3", "a8"]
    assert write(mount / "levels/a9/r.json", "{}") == ""
    assert write(mount / "levels/cc/r.json", "{}") == ""
    files = [f"{first}+/{first}{n}/r.json f" for first in "ab" for n in range(FANOUT)]
    level = ["a+ d", "a+/a8 d", "a+/a9 d", "a+/a9/r.json f", "b+ d", "cc d", "cc/r.json f"]
    directories = [f"{first}+/{first}{n} d" for first in "ab" for n in range(FANOUT)]
    assert found(mount / "levels") == sorted([*files, *level, *directories])
    run("rm", "-r", mount / "levels")


def test_prefixes_are_made_and_removed(mount):
    for path in ("N+", "N+/Ne+", "N+/Ne+/New", "N+/Nothing"):
        os.mkdir(mount / "none" / path)
    assert found(mount / "none") == ["N+ d", "N+/Ne+ d", "N+/Ne+/New d", "N+/Nothing d"]
    assert outcome(os.rmdir, mount / "none/N+") == "ENOTEMPTY"
    assert outcome(os.rmdir, mount / "none/N+/Ne+") == "ENOTEMPTY"
    assert outcome(os.rmdir, mount / "none") == "ENOTEMPTY"
    run("rm", "-r", mount / "none/N+")
    assert os.listdir(mount / "none") == [] and failures(mount) == []


def test_many_local_directories(mount):
    """More than fit into one buffer of readdir; in another order than they were made."""
    names = [f"k{number * 7919 % 3000:05}" for number in range(3000)]
    for name in names:
        os.mkdir(mount / "none" / name)
    assert sorted(os.listdir(mount / "none")) == sorted(names)
    assert len(found(mount / "none")) == len(names)
    with mount.counting() as counted:
        run("find", mount / "none", "-mindepth", "1", "-delete")
    assert os.listdir(mount / "none") == [] and changes(counted) == {}


def test_telldir_and_seekdir_among_local_directories(mount, make_table):
    make_table("sought", [("a", "r"), ("b", "r")])
    for name in "cdefg":
        os.mkdir(mount / "sought" / name)
    with DirectoryStream(mount / "sought") as stream:
        names, places = [], [stream.tell()]
        for name in stream:
            names.append(name)
            places.append(stream.tell())
        assert names == list("abcdefg")
        for number in (5, 2, 6, 7, 1, 4):
            stream.seek(places[number])
            assert list(stream) == names[number:]
        os.rmdir(mount / "sought/c")
        os.mkdir(mount / "sought/h")
        stream.rewind()
        assert list(stream) == list("abdefgh")
    run("rm", "-r", mount / "sought")


def test_two_processes_remove_one_table(mount, begin, make_table, stored):
    make_table("both", [(f"{p}", f"{r}") for p in "abcdefgh" for r in range(20)])
    removing = [begin("rm", "-rf", mount / "both") for _ in range(2)]
    for process in removing:
        _, err = process.communicate(timeout=60)
        assert all(is_of_the_other(line) for line in err.splitlines()), err
    run("rm", "-rf", mount / "both")
    assert not os.path.exists(mount / "both") and failures_but_of_dropped(mount, "both") == []


@pytest.mark.asan("local")
def test_readers_beside_rm(mount, begin, make_table):
    """A listing that began before shows what is there, or ends in the error of a directory that is gone."""
    make_table("beside", [(f"{first}{n}", f"{r}") for first in "ab" for n in range(8) for r in range(5)])
    removing = begin("rm", "-r", mount / "beside")
    while removing.poll() is None:
        done = run("find", mount / "beside", check=False)
        assert all(is_of_the_other(line) for line in done.stderr.splitlines()), done.stderr
    assert removing.returncode == 0, removing.communicate()
    assert not os.path.exists(mount / "beside") and failures_but_of_dropped(mount, "beside") == []


# files


def test_an_emptied_partition_stays_until_it_is_removed(mounts, make_table, stored):
    make_table("emptied", [(key, "r") for key in GROWN])
    mount = mounts("ttl=0", f"fanout={FANOUT}")
    for number in range(FANOUT):
        os.unlink(mount / f"emptied/a+/a{number}/r.json")
    assert os.listdir(mount / "emptied/a+/a0") == []
    for number in range(FANOUT):
        os.rmdir(mount / f"emptied/a+/a{number}")
    assert os.listdir(mount / "emptied/a+") == []
    assert "a+" in os.listdir(mount / "emptied")
    os.rmdir(mount / "emptied/a+")
    assert "a+" not in os.listdir(mount / "emptied") and failures(mount) == []


def test_another_version_is_deleted_and_one_that_is_gone_is_no_error(mounts, make_table, stored):
    make_table("raced", [("p", "1"), ("p", "2")])
    mount, other = mounts("ttl=600"), mounts()
    run("ls", "-l", mount / "raced/p")
    assert write(other / "raced/p/1.json", '{"N": 2}') == ""
    os.unlink(other / "raced/p/2.json")
    os.unlink(mount / "raced/p/1.json")
    os.unlink(mount / "raced/p/2.json")
    assert stored("raced") == {} and failures(mount) == []


@pytest.mark.parametrize("is_sent", [False, True])
def test_an_entity_with_a_cut_name(mount, make_table, stored, is_sent):
    """Its partition stays until it is removed, whether the deletes are queued or sent."""
    long, table = "l" * 400, f"cut{is_sent}"
    make_table(table, [(long, long), (long, "r"), ("p", long)])
    (partition,) = [name for name in os.listdir(mount / table) if name != "p"]
    for name in os.listdir(mount / table / partition):
        os.unlink(mount / table / partition / name)
    if is_sent:
        mount.send_queued()
        mount.make_kernel_forget()
    assert os.listdir(mount / table / partition) == []
    os.rmdir(mount / table / partition)
    assert os.listdir(mount / table) == ["p"]
    mount.send_queued()
    assert sorted(stored(table)) == [("p", long)]
    run("rm", "-r", mount / table)
    assert failures(mount) == []


def test_mknod_of_a_file(mount, make_table, stored):
    make_table("nodes", [("p", "old")])
    os.mknod(mount / "nodes/p/new.json")
    assert stored("nodes") == {("p", "new"): {}, ("p", "old"): {}}
    assert (mount / "nodes/p/new.json").read_text().startswith("{")
    assert sorted(os.listdir(mount / "nodes/p")) == ["new.json", "old.json"]
    assert outcome(os.mknod, mount / "nodes/p/old.json") == "EEXIST"
    assert outcome(os.mknod, mount / "nodes/p/new.txt") == "EINVAL"
    (failed,) = failures(mount)
    assert failed["operation"] == "mknod" and failed["reason"].startswith("new.txt: the name of an")


# what no table can hold


def test_mv_of_a_directory_copies_and_deletes(mount, make_table, stored):
    make_table("moved", [("p", "1"), ("p", "2")])
    run("mv", mount / "moved/p/1.json", mount / "moved/p/3.json")
    assert sorted(stored("moved")) == [("p", "2"), ("p", "3")]
    run("mv", mount / "moved/p", mount / "moved/q")
    assert sorted(stored("moved")) == [("q", "2"), ("q", "3")]
    assert os.listdir(mount / "moved") == ["q"] and failures(mount) == []
    run("mv", mount / "moved", mount / "landed")
    assert sorted(stored("landed")) == [("q", "2"), ("q", "3")]
    assert "moved" not in os.listdir(mount.point) and failures(mount) == []
    run("rm", "-r", mount / "landed")
