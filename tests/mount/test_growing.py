"""Tables that grow: what scripts do below .flat is right for any number of partitions, and a table that lists something
else than before is named in the log."""
import datetime
import glob
import os
import re

import pytest

from harness import BOTH_SERVICES, run

# partitions: the borders of one level, if the first page has more than 63 of them
SIZES = [512, 513, 4096, 4097]
FANOUT = 4
FIRST, KEPT = datetime.date(2017, 1, 1), "2017-09-26"


def days(count, rows):
    dates = (str(FIRST + datetime.timedelta(day)) for day in range(count))
    return [(day, f"{row:02}") for day in dates for row in range(rows)]


def name_of(request):
    """A table of the test's own."""
    return "t" + re.sub("[^a-z0-9]", "", request.node.name.removeprefix("test_"))[:60]


def notes(mount):
    """What is told of tables that list something else than before."""
    return [line.split(" ", 1)[1] for line in mount.control("errors").splitlines() if " now, and " in line]


PREFIXES = "readdir /{}: OK: it lists prefixes now, and listed partitions before [{}] -- scripts"
PARTITIONS = "readdir /{}: OK: it lists partitions now, and listed prefixes before [{}] -- scripts"


def assert_notes(mount, *expected):
    shown = notes(mount)
    assert len(shown) == len(expected) and all(map(str.startswith, shown, expected)), shown


LOCAL = pytest.mark.parametrize("service", ["local"], indirect=True, scope="module")
BOTH = pytest.mark.parametrize("service", BOTH_SERVICES, indirect=True, scope="module")


@LOCAL
@pytest.mark.parametrize("count", SIZES)
def test_globs_find_all(mounts, make_table, count):
    make_table(f"glob{count}", [(f"order-{number:05}", "r") for number in range(count)])
    mount = mounts()
    table = mount / f"glob{count}"
    assert len(glob.glob(f"{table}/.flat/*/*.json")) == count
    directly = glob.glob(f"{table}/*/*.json")
    assert len(directly) == count if count <= 4096 else directly == []


@LOCAL
@pytest.mark.parametrize("count, options", [(2668, []), (293, []), (293, ["layout=flat"]), (293, ["fanout=16"])])
@pytest.mark.parametrize("rows", [1, 16])
def test_a_script_deletes_the_same_days(mounts, make_table, stored, request, count, rows, options):
    table = name_of(request)
    make_table(table, days(count, rows))
    mount = mounts(*options)
    script = f"cd \"$1\" && ls | awk '$0 < \"{KEPT}\"' | xargs rm -r"
    run("bash", "-e", "-o", "pipefail", "-c", script, "bash", mount / table / ".flat")
    mount.send_queued()
    assert set(stored(table)) == {key for key in days(count, rows) if key[0] >= KEPT}


@LOCAL
def test_a_table_of_days_looks_like_days(mounts, make_table):
    make_table("calendar", days(2668, 5))
    make_table("measured", days(2668, 16))
    mount = mounts()
    names = sorted({day for day, _ in days(2668, 1)})
    assert os.listdir(mount / "calendar") == names
    assert len(glob.glob(f"{mount.point}/calendar/2020*")) == 366
    assert [name[-1] for name in os.listdir(mount / "measured")] == ["+", "+"]
    assert os.listdir(mount / "measured/.flat") == names


@LOCAL
def test_what_was_read_before_changes_nothing(mounts, make_table):
    """Some files alone, a walk over a part, a walk over all, a small cache: the same names."""
    make_table("before", days(600, 15))
    make_table("prefixes", days(600, 16))
    some = [str(FIRST + datetime.timedelta(day)) for day in (0, 1, 5, 40, 66, 300)]
    for table, shows_days in (("before", True), ("prefixes", False)):
        expected = os.listdir(mounts() / table)
        assert (len(expected) == 600) == shows_days
        for command in (
            "stat " + " ".join(f"{day}/07.json" for day in some),
            "cat " + " ".join(f"{day}/*" for day in some),
            "find .flat",
            "ls .flat | head -1",
            "find .",
            "grep -rc . 2017-01+",
        ):
            for options in (["ttl=600"], ["ttl=600", "cache_size=512K"], ["ttl=600", "parallelism=1"]):
                mount = mounts(*options)
                run("bash", "-c", command, cwd=mount / table)
                assert os.listdir(mount / table) == expected, (command, options)
                mount.unmount()


@BOTH
@pytest.mark.parametrize("options", [[], ["writeback"], ["ttl=0"]])
def test_it_is_told_once(mounts, make_table, request, options):
    table = name_of(request)
    make_table(table, [(f"p{number}", "r") for number in range(FANOUT)])
    mount = mounts(f"fanout={FANOUT}", *options)
    path = mount / table
    few = [f"p{number}" for number in range(FANOUT)]
    assert os.listdir(path) == few
    os.mkdir(path / "p8")  # a local directory: the service has no more partitions than before
    assert sorted(os.listdir(path)) == [*few, "p8"]
    assert_notes(mount)
    os.rmdir(path / "p8")
    (path / "q9").mkdir()
    (path / "q9/r.json").write_text("{}")
    for _ in range(2):
        assert run("ls", path).stdout.split() == ["p+", "q9"]
    assert_notes(mount, PREFIXES.format(table, "ls"))
    assert sorted(os.listdir(path / ".flat")) == [*few, "q9"]
    run("rm", "-r", path / "q9")
    run("ls", path)
    run("ls", path)
    assert_notes(mount, PREFIXES.format(table, "ls"), PARTITIONS.format(table, "ls"))
    assert mount.stats().total("tablefuse_failures_total") == 0


@BOTH
def test_another_clients_change_is_told(mounts, make_table, request):
    table = name_of(request)
    make_table(table, [(f"p{number}", "r") for number in range(FANOUT)])
    mount, other = mounts("ttl=0", f"fanout={FANOUT}"), mounts()
    assert len(os.listdir(mount / table)) == FANOUT
    os.mkdir(other / table / "q")
    (other / table / "q/r.json").write_text("{}")
    assert run("ls", mount / table).stdout.split() == ["p+", "q"]
    assert_notes(mount, PREFIXES.format(table, "ls"))
    assert_notes(other)
