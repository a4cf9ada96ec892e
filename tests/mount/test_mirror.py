"""`rsync --delete` into a table whose names change while it grows: nothing that is in the source is ever missing
afterwards. And the net under that (cache/who/path_aliases.h): a process that has used a partition by one path
deletes in it by no other one."""
import json
import os
import re
import shutil
import subprocess

import pytest

from expected import entity_text
from harness import BOTH_SERVICES, run, wait_until
from writing import failures, outcome, write

FANOUT = 8
MODES = ["--delete", "--delete-before", "--delete-delay", "--delete-after"]
DEFERRED = MODES[2:]  # these delete when all is written
BUSY = r'rsync: \[generator\] delete_file: unlink\(\S+\) failed: Device or resource busy \(16\)'
REASON = "the process has used this partition by another path, too"
LONG_AGO = 1_000_000_000  # no Timestamp is so old: rsync -a transfers each file

# {case: (partitions before, partitions of the source)}: a table has two levels if it has more than FANOUT partitions
CASES = {
    "below": (range(2, 6), range(4, 8)),
    "at": (range(FANOUT - 2), range(2, FANOUT + 2)),
    "crossing": (range(4), range(2, 14)),
    "above": (range(14), range(4, 16)),
    "shrinking": (range(14), range(10, 13)),
}
# when the last delete is made, the table has been seen to have two levels
ENDS_ABOVE = {"crossing", "above"}

A_PARTITIONS = [f"{first}{second}{number}" for first in "ab" for second in "xy" for number in "123"]


def pytest_generate_tests(metafunc):
    """What is refused is decided above the store: each mode and each use on one, two modes on the other."""
    if "mode" in metafunc.fixturenames:
        rows = [(mode, "local") for mode in MODES] + [(mode, "azurite") for mode in MODES[::3]]
        metafunc.parametrize("mode, service", rows, indirect=["service"], scope="module")
    else:
        services = ["local"] if "use" in metafunc.fixturenames else BOTH_SERVICES
        metafunc.parametrize("service", services, indirect=True)


def name_of(number):
    return f"{'abcd'[number % 4]}{number:02}"


def table_of(*words):
    return re.sub(r"\W", "", "".join(words))


class Source:
    """A directory of partitions with two entities each, in their canonical text."""

    def __init__(self, directory, partitions):
        self.directory = directory
        self.entities = {
            (name_of(number), row): {"N": number, "In": "source"} for number in partitions for row in ("1", "2")
        }
        for (partition, row), members in self.entities.items():
            values = {"N": ("Int32", members["N"]), "In": ("String", members["In"])}
            path = directory / partition / f"{row}.json"
            path.parent.mkdir(exist_ok=True)
            path.write_text(entity_text(partition, row, values))
            os.utime(path, (LONG_AGO, LONG_AGO))

    def rsync(self, *options, to):
        done = run("rsync", "-i", *options, f"{self.directory}/", f"{to}/", check=False)
        send_deletes(to)
        return done


def send_deletes(directory):
    """Those that are queued."""
    file = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    os.fsync(file)
    os.close(file)


@pytest.fixture
def begin_case(tmp_path, make_table, mounts):
    """Answers the source, and the table in a mount. The table has partitions that are not in the source, and entities
    in others that are not."""

    def begin(case, table):
        before, after = CASES[case]
        make_table(table, [(name_of(number), row) for number in before for row in ("0", "1")])
        mount = mounts(f"fanout={FANOUT}")
        return Source(tmp_path, after), mount, mount / table

    return begin


@pytest.mark.parametrize("case", CASES)
def test_below_flat_it_is_a_mirror(begin_case, stored, case, mode):
    table = table_of("flat", case, mode)
    source, mount, directory = begin_case(case, table)
    flat = directory / ".flat"
    with mount.counting() as counted:
        done = source.rsync("-a", mode, to=flat)
        assert (done.returncode, done.stderr) == (0, "")
    assert counted.requests("write") == len(source.entities)
    assert stored(table) == source.entities

    with mount.counting() as counted:
        done = source.rsync("-a", mode, to=flat)
        assert (done.returncode, done.stderr) == (0, "")
    assert counted.requests("write") == len(source.entities), "times are not kept, so it sends all again"
    assert "deleting" not in done.stdout and stored(table) == source.entities

    with mount.counting() as counted:
        done = source.rsync("-rc", mode, to=flat)
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert not {"write", "delete", "batch"} & counted.asked().keys()
    assert run("diff", "-r", source.directory, flat).stdout == ""
    assert failures(mount) == []


@pytest.mark.parametrize("case", CASES)
def test_into_the_table_nothing_is_lost(begin_case, stored, case, mode):
    table = table_of("level", case, mode)
    source, mount, directory = begin_case(case, table)
    for options in ("-a", "-a", "-rc", "-rc"):
        done = source.rsync(options, mode, to=directory)
        found = stored(table)
        assert {key: found.get(key) for key in source.entities} == source.entities, done
        if done.returncode == 0:
            assert done.stderr == "" and stored(table) == source.entities
        else:
            assert_refused(mount, done)
    if mode in DEFERRED and case in ENDS_ABOVE:
        assert done.returncode == 23
    if case not in ENDS_ABOVE:
        assert done.returncode == 0 and not re.search("^[<>]f|deleting", done.stdout)

    done = source.rsync("-rc", mode, to=directory / ".flat")
    assert (done.returncode, done.stderr) == (0, "") and stored(table) == source.entities


def assert_refused(mount, done):
    *lines, last = done.stderr.splitlines()
    assert done.returncode == 23 and "some files/attrs were not transferred" in last
    unlinked = [line for line in lines if re.fullmatch(BUSY, line)]
    assert unlinked and all("cannot delete non-empty directory" in line for line in set(lines) - set(unlinked))
    for failure in failures(mount):
        assert (failure["operation"], failure["error"], failure["command"]) == ("unlink", "EBUSY", "rsync")
        assert failure["reason"].startswith(REASON) and "TABLE/.flat" in failure["advice"]


# Names that the kernel keeps are no LOOKUP of the next process; with these options rsync opens nothing.
@pytest.mark.parametrize("ttl", ["1", "600"])
def test_a_run_that_transfers_nothing_deletes_nothing_of_the_source(begin_case, mounts, stored, ttl):
    table = f"idle{ttl}"
    source, _, _ = begin_case("above", table)
    mount = mounts(f"fanout={FANOUT}", f"ttl={ttl}")
    done = source.rsync("-rc", "--delete", to=mount / table / ".flat")
    assert done.returncode == 0 and stored(table) == source.entities
    for _ in range(3):
        wait_until_forgotten(mount)
        done = source.rsync("-r", "--size-only", "--delete-after", to=mount / table)
        assert stored(table) == source.entities
        assert not re.search("^>f", done.stdout)
        assert_refused(mount, done)


def wait_until_forgotten(mount):
    """Whatever partitions the kernel knows now, it looks up again afterwards."""

    def is_looked_up():
        with mount.counting() as counted:
            os.stat(mount / "others/ax1")
        return counted.total("tablefuse_cache_hits_total") > 0

    os.stat(mount / "others/ax1")
    wait_until(is_looked_up, what="a LOOKUP of a partition that the kernel knows")


# the net


@pytest.fixture(scope="module", autouse=True)
def tables(make_table):
    for table in ("used", "looked", "moved", "edited", "others", "restored"):
        make_table(table, [(key, row) for key in A_PARTITIONS for row in ("1", "2")])


@pytest.fixture
def prefixed(mounts):
    return mounts(f"fanout={FANOUT}")


def assert_busy(mount, path):
    assert failures(mount)[-1]["path"] == path and failures(mount)[-1]["error"] == "EBUSY"
    assert failures(mount)[-1]["reason"].startswith(REASON)


@pytest.mark.parametrize("listed", ["a+/ax+", "a+", "ax+"])
def test_what_was_written_by_one_path_is_not_deleted_by_another(prefixed, stored, listed):
    table, file = prefixed / "used", f"{table_of(listed)}.json"
    assert write(table / "ax1" / file, '{"A": 1}') == ""
    with prefixed.counting() as counted:
        assert outcome(os.unlink, table / listed / "ax1" / file) == "EBUSY"
    assert "delete" not in counted.asked()
    assert stored("used")["ax1", table_of(listed)] == {"A": 1}
    assert_busy(prefixed, f"/used/ax1/{file}")
    # by other partitions' names nothing is known
    os.unlink(table / listed / "ax2/1.json")
    os.close(os.open(table / listed / "ax2/1.json", os.O_CREAT | os.O_WRONLY | os.O_EXCL))
    os.unlink(table / ".flat/ax1" / file)
    assert ("ax1", table_of(listed)) not in stored("used")


USES = {
    "stat": os.stat,
    "open": lambda path: path.read_text(),
    "listdir": lambda path: os.listdir(path.parent),
    "chmod": lambda path: os.chmod(path, 0o600),
    "an absent name": lambda path: os.path.exists(path.with_name("absent.json")),
    "a prefix of row keys": lambda path: os.stat(path.parent / "1+" / "1.json"),
    "a scratch file": lambda path: write(path.with_name(".1.json.AbCdEf"), ""),
}


@pytest.mark.parametrize("use", USES)
def test_each_use_counts(prefixed, use):
    paths = [prefixed / "looked/ay1/1.json", prefixed / "looked/a+/ay+/ay1/1.json"]
    for path, other in (paths, paths[::-1]):
        run("/usr/bin/python3", "-B", "-c", ONE_USE, use, path, other, cwd=os.path.dirname(__file__), env=variables())
        assert_busy(prefixed, "/looked/ay1/1.json")


def variables():
    return {**os.environ, "PYTHONPATH": os.path.dirname(__file__)}


ONE_USE = """
import os, pathlib, sys
import test_mirror
use, path, other = sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
test_mirror.USES[use](path)
assert test_mirror.outcome(os.unlink, other) == "EBUSY"
"""


def test_a_rename_out_of_the_partition(prefixed, stored):
    table = prefixed / "moved"
    assert write(table / "bx1/1.json", '{"A": 1}') == ""
    by_prefix = table / "b+/bx+/bx1"
    assert outcome(os.rename, by_prefix / "1.json", table / "b+/bx+/bx2/new.json") == "EBUSY"
    assert_busy(prefixed, "/moved/bx1/1.json")
    assert ("bx2", "new") not in stored("moved")
    os.rename(by_prefix / "1.json", by_prefix / "new.json")
    os.rename(table / "bx1/new.json", by_prefix / "1.json")
    assert stored("moved")["bx1", "1"] == {"A": 1}


# as vim does with two buffers, each by another path
def test_an_editor_is_not_refused(prefixed, stored):
    table = prefixed / "edited"
    for number in range(2):
        for partition in (table / "ay1", table / "a+/ay+/ay1"):
            file, backup = partition / "1.json", partition / "1.json~"
            file.read_text()
            os.rename(file, backup)
            assert write(file, json.dumps({"N": number})) == ""
            os.unlink(backup)
            assert stored("edited")["ay1", "1"] == {"N": number}
    assert failures(prefixed) == []


DELETES = {
    "rm -r": "rm -r {0}/a+ && rm {0}/b+/bx+/bx1/*.json",
    "find -delete": "find {0}/a+ -delete && find {0}/b+/bx+/bx1 -type f -delete",
    "mv": "mv {0}/a+ $OUT/ && mv {0}/b+/bx+/bx1/*.json $OUT/",
    "rm -r .flat": "cd {0}/.flat && rm -r a* && rm bx1/*.json",
    "python": """/usr/bin/python3 -c 'import os, shutil
shutil.rmtree("{0}/a+")
for row in "12": os.unlink("{0}/b+/bx+/bx1/" + row + ".json")'""",
}


@pytest.mark.parametrize("tool", DELETES)
def test_other_processes_use_other_paths(prefixed, make_table, stored, tmp_path, tool):
    name = table_of("tool", tool)
    make_table(name, [(key, row) for key in A_PARTITIONS for row in ("1", "2")])
    table = prefixed / name
    for key in A_PARTITIONS:
        os.stat(table / key / "1.json")
        os.stat(table / ".flat" / key / "2.json")
    run("bash", "-c", DELETES[tool].format(table), env={**os.environ, "OUT": str(tmp_path)})
    send_deletes(table)
    assert sorted(stored(name)) == [(key, row) for key in A_PARTITIONS if key > "bx1" for row in ("1", "2")]
    assert failures(prefixed) == []


def test_a_process_of_one_path_deletes_all(prefixed, make_table, stored):
    for name, above in (("whole", ""), ("wholeflat", ".flat")):
        make_table(name, [(key, row) for key in A_PARTITIONS for row in ("1", "2")])
        files = subprocess.check_output(["find", prefixed / name / above, "-type", "f"], text=True).split()
        assert len(files) == 2 * len(A_PARTITIONS)
        for file in files:
            assert above or f"/{name}/{file.split('/')[-2][0]}+/" in file
        script = "import os, sys\nfor file in sys.argv[1:]:\n    os.stat(file)\n    os.unlink(file)"
        run("/usr/bin/python3", "-c", script, *files)
        send_deletes(prefixed / name)
        assert stored(name) == {}
    assert failures(prefixed) == []


# The source has the names of a table with two levels, as a copy of one has that was not made through .flat. They are
# written one by one, and the table lists them without prefixes.
def test_a_copy_with_prefixes_is_put_back(mounts, make_table, stored, tmp_path):
    make_table("putback")
    for key in ("ax1", "ax2"):
        (tmp_path / "a+" / key).mkdir(parents=True)
        (tmp_path / "a+" / key / "1.json").write_text('{"A": 1}\n')
    mount = mounts()
    done = run("rsync", "-r", "--delete-after", f"{tmp_path}/", mount / "putback", check=False)
    assert_refused(mount, done)
    assert stored("putback") == {("ax1", "1"): {"A": 1}, ("ax2", "1"): {"A": 1}}
    shutil.rmtree(tmp_path / "a+")
    run("rsync", "-r", "--delete-after", f"{tmp_path}/", mount / "putback/.flat")
    send_deletes(mount / "putback")
    assert stored("putback") == {}
