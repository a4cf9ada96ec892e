"""What it costs to list, look and read: requests follow pages, and what was just shown is asked for no more.

The same tables in a table service and in a file, for the same requests."""
import functools
import os
import random
import re
import signal
import sys
import time

import pytest

from directory_stream import DirectoryStream
from harness import BOTH_SERVICES, COMMAND_SEC, EXIT_SEC, environment, run, wait_until

PAGE_ROWS = 1000
FIRST_ROWS = 32  # of a partition that is looked up
GETDENTS_BYTES, DIRENTPLUS_BYTES = 32768, 152  # of libc's buffer; of an entry before its name

EVENTS = 2020  # one partition: 20 more than two pages, which the first rows make up for
ITEMS = 1100  # partitions of one to five rows
REGIONS, REGION_ROWS = 10, 200
REPEAT_SEC = 0.1


def pages(rows):
    return -(-rows // PAGE_ROWS)


# a listing that may use what the lookup brought goes on after it
LOOKED_UP = {"list_tables": 1, "query": 1 + pages(EVENTS - FIRST_ROWS)}


def event(row):
    return f"evt-{row:08}.json"


def pytest_generate_tests(metafunc):
    """What each tool costs is decided above the store, so it is counted on one. test_what_was_listed_costs_nothing_more
    runs all of them on both."""
    services = ["local"] if "tool" in metafunc.fixturenames else BOTH_SERVICES
    metafunc.parametrize("service", services, indirect=True, scope="module")


@pytest.fixture(scope="module", autouse=True)
def data(service):
    service.fill("events", "single", EVENTS)
    service.fill("items", "small", ITEMS)
    service.fill("regions", "ten", REGIONS * REGION_ROWS)


@pytest.fixture
def mounts(mounts):
    """One request after another: nothing is asked before it is needed, so each tool has its exact number."""
    return functools.partial(mounts, "parallelism=1")


@pytest.fixture
def patient(mounts):
    """A mount with a long ttl, so that answers stay valid during the test."""
    return mounts("ttl=600")


def shell(command, directory, out):
    env = environment(OUT=str(out), PYTHON=sys.executable)
    return run("bash", "-c", f"set -o pipefail; {command}", cwd=directory, env=env).stdout.strip()


# in a partition: what a shell runs there, and what it prints
LISTING = {
    "ls": ("ls | wc -l", EVENTS),
    "ls -f": ("ls -f | wc -l", EVENTS + 2),
    "ls -l": ("ls -l | wc -l", EVENTS + 1),
    "ls --color": ("LS_COLORS='ex=01;32' ls --color=always | wc -l", EVENTS),
    "find": ("find . -type f | wc -l", EVENTS),
    "find -size": ("find . -type f -size +0 | wc -l", EVENTS),
    "du -a": ("du -a . | wc -l", EVENTS + 1),
    "TAB": ("compgen -f ./ | wc -l", EVENTS),
    "grep -r": ("""grep -r '"Count": 2019,' . | wc -l""", 1),
    "tar c": ("tar cf - . | tar t | wc -l", EVENTS + 1),
    "rsync -a": ('rsync -a ./ "$OUT"; ls "$OUT" | wc -l', EVENTS),
    "cp -r": ('cp -r . "$OUT"; ls "$OUT" | wc -l', EVENTS),
    "[ -e x ]": ('for f in *; do [ -e "$f" ] && echo; done | wc -l', EVENTS),
    "scandir": (
        "$PYTHON -c 'import os; print(sum(e.stat().st_size > 0 for e in os.scandir()))'",
        EVENTS,
    ),
    "walk": (
        "$PYTHON -c 'import os; print(sum(len(files) for _, _, files in os.walk(\".\")))'",
        EVENTS,
    ),
}
# that list in one process and open in another
SHELL_GLOBS = {
    "cat": ("cat * | grep -c RowKey", EVENTS),
    "head": ("head -qn1 * | wc -l", EVENTS),
    "wc": ("wc -l * | wc -l", EVENTS + 1),
    "grep -c": ("grep -c PartitionKey * | wc -l", EVENTS),
    "jq": ("jq -r .RowKey * | wc -l", EVENTS),
}


@pytest.mark.tsan("local-ls -l")
@pytest.mark.parametrize("tool", LISTING | SHELL_GLOBS)
def test_a_tool_costs_the_pages(patient, tool, out):
    command, printed = (LISTING | SHELL_GLOBS)[tool]
    with patient.counting() as counted:
        assert shell(command, patient / "events/all", out) == str(printed)
    assert counted.asked() == LOOKED_UP
    assert counted.total("tablefuse_request_rows_total", operation="query") == EVENTS


# under a sanitizer a tool may be so slow that its second look at a name is taken for a loop's
@pytest.mark.parametrize("tool", LISTING)
def test_a_process_is_served_from_its_own_listing(mounts, tool, out):
    """ttl=0 asks every time, a process's own listing aside."""
    command, printed = LISTING[tool]
    mount, began = mounts("ttl=0"), time.monotonic()
    with mount.counting() as counted:
        assert shell(command, mount / "events/all", out) == str(printed)
    seconds = time.monotonic() - began
    looks = 2 if tool.startswith("rsync") else 1  # it goes to its directory by the whole path again
    asked = counted.asked()
    # a tool that a busy machine holds up for 100 ms between two looks at a name looks like a loop
    assert asked.pop("get", 0) <= seconds / REPEAT_SEC
    assert asked == {"list_tables": looks, "query": looks + pages(EVENTS)}


@pytest.mark.parametrize("kernel", ["knows", "forgot"])
def test_what_was_listed_costs_nothing_more(patient, out, kernel):
    if kernel == "forgot" and os.geteuid() != 0:
        pytest.skip("only root can make it forget")
    run("ls", "-f", patient / "events/all")
    if kernel == "forgot":
        patient.make_kernel_forget()
    with patient.counting() as counted:
        for number, (command, printed) in enumerate((LISTING | SHELL_GLOBS).values()):
            (out / str(number)).mkdir()
            found = shell(command, patient / "events/all", out / str(number))
            assert found == str(printed), command
    assert counted.asked() == {}


def test_a_second_rsync_transfers_and_asks_nothing(patient, out):
    def rsync():
        return run("rsync", "-a", "--stats", f"{patient.point}/events/", out).stdout

    assert f"regular files transferred: {EVENTS:,}\n" in rsync()
    with patient.counting() as counted:
        assert "regular files transferred: 0\n" in rsync()
    assert counted.asked() == {}


# a path, and what a first look at it asks
LOOKS = {
    "events": {"list_tables": 1},
    "none": {"list_tables": 1},
    "none/p/r.json": {"list_tables": 1},
    "events/all": {"list_tables": 1, "query": 1},
    "events/none": {"list_tables": 1, "query": 1},
    "events/none/r.json": {"list_tables": 1, "query": 1},
    f"events/all/{event(0)}": {"list_tables": 1, "query": 1},
    f"events/all/{event(FIRST_ROWS - 1)}": {"list_tables": 1, "query": 1},
    f"events/all/{event(2 * FIRST_ROWS)}": {"list_tables": 1, "query": 2},
    f"events/all/{event(EVENTS - 1)}": {"list_tables": 1, "query": 2},
    f"events/all/{event(7)[:-5]}x.json": {"list_tables": 1, "query": 1},
    f"events/all/{event(700)[:-5]}x.json": {"list_tables": 1, "query": 2},
    "items/item000007": {"list_tables": 1, "query": 1},
    "items/item000007/0.json": {"list_tables": 1, "query": 1},
    "items/item000007/9.json": {"list_tables": 1, "query": 1},
    "items/item000007/none": {"list_tables": 1, "query": 1},
}


@pytest.mark.parametrize("path", LOOKS)
def test_a_look_asks_for_what_is_new_on_its_path(patient, path):
    is_there = not re.search("none|x.json$|/9.json$", path)
    with patient.counting() as counted:
        assert os.path.exists(patient / path) == is_there
    assert counted.asked_alike() == LOOKS[path]
    with patient.counting() as again:
        look = '[ -e "$1" ] && cd "${1%/*}" && stat "$1"'
        found = run("bash", "-c", look, "bash", patient / path, check=False)
        assert (found.returncode == 0) == is_there
        if path.endswith(".json"):
            assert (run("cat", patient / path, check=False).returncode == 0) == is_there
    assert again.asked() == {}


def test_cat_of_a_known_path_asks_once(patient):
    os.stat(patient / "events/all")
    with patient.counting() as counted:
        assert '"Count": 1500,' in run("cat", patient / "events/all" / event(1500)).stdout
    assert counted.asked_alike() == {"query": 1}


def test_what_a_listed_partition_holds_and_does_not(patient):
    run("ls", patient / "events/all")
    with patient.counting() as counted:
        for row in (0, 31, 32, 33, 1031, 1032, 2019):
            assert os.stat(patient / "events/all" / event(row)).st_size > 250
            assert not os.path.exists(patient / "events/all" / f"evt-{row:08}x.json")
        assert not os.path.exists(patient / "events/all/a.json")
        assert not os.path.exists(patient / "events/all/z.json")
    assert counted.asked() == {}


def test_the_list_of_tables_is_kept(patient):
    with patient.counting() as counted:
        assert sorted(os.listdir(patient.point)) == ["events", "items", "regions"]
    assert counted.asked() == {"list_tables": 1}
    with patient.counting() as again:
        assert run("ls", "-l", patient.point).stdout.count("\n") == 4
        assert run("bash", "-c", f"compgen -f '{patient.point}/'").stdout.count("\n") == 3
        assert os.path.isdir(patient / "items")
        for absent in ("none", "event", "eventsx", "zzz"):
            assert not os.path.exists(patient / absent)
    assert again.asked() == {}


def list_partitions(mount, table):
    return run("ls", "-f", mount / table).stdout.splitlines()[2:]


def test_a_table_of_small_partitions_is_listed_by_pages(patient):
    with patient.counting() as counted:
        partitions = list_partitions(patient, "items")
    assert partitions == [f"item{number:06}" for number in range(len(partitions))]
    assert ITEMS / 5 < len(partitions) < ITEMS
    assert counted.asked() == {"list_tables": 1, "query": pages(ITEMS)}
    with patient.counting() as again:
        assert run("ls", "-l", patient / "items").stdout.count("\n") == len(partitions) + 1
        assert run("bash", "-c", f"compgen -d '{patient.point}/items/'").stdout.split()
        run("bash", "-c", 'cd "$1/item000007" && cd ../item000300', "bash", patient / "items")
        for name in partitions[::40]:
            assert os.path.isdir(patient / "items" / name)
            assert not os.path.exists(patient / "items" / f"{name}x")
            assert not os.path.exists(patient / "items" / name / "none.json")
    assert again.asked() == {}


WALKS = {
    "find": "find . -type f | wc -l",
    "ls -lR": "ls -lR | grep -c json",
    "du -a": "du -a . | grep -c json",
    "grep -r": "grep -r RowKey . | wc -l",
    "tar c": "tar cf - . | tar t | grep -c json",
    "rsync -a": 'rsync -a ./ "$OUT"; find "$OUT" -type f | wc -l',
    "cp -r": 'cp -r . "$OUT"; find "$OUT" -type f | wc -l',
    "walk": "$PYTHON -c 'import os; print(sum(len(files) for _, _, files in os.walk(\".\")))'",
}


def walk(mounts, tool, table, ttl, out):
    """What a walk through all partitions printed and asked, and how many seconds it took."""
    mount, began = mounts(f"ttl={ttl}"), time.monotonic()
    with mount.counting() as counted:
        printed = shell(WALKS[tool], mount / table, out)
    return int(printed), counted.asked(), time.monotonic() - began


@pytest.mark.parametrize("tool", WALKS)
@pytest.mark.parametrize("table, rows", [("items", ITEMS), ("regions", REGIONS * REGION_ROWS)])
def test_a_walk_costs_the_pages(mounts, tool, table, rows, out):
    """To its end, also with ttl=0: those of the names, those of the rows, and one to see that none follows."""
    printed, asked, seconds = walk(mounts, tool, table, 0, out)
    assert printed == rows
    looks = 2 if tool.startswith("rsync") else 1
    # a tool that a busy machine holds up for 100 ms between two looks at a name looks like a loop,
    # and one that is held up for a second asks for a page again
    assert asked.pop("get", 0) <= seconds / REPEAT_SEC and asked.keys() == {"list_tables", "query"}
    assert looks <= asked["list_tables"] <= looks + 1 + int(seconds)
    assert asked["query"] <= looks * pages(rows) + pages(rows) + 2 + int(seconds)


def test_two_streams_of_one_process_share_the_pages(patient):
    with patient.counting() as counted:
        with DirectoryStream(patient / "events/all") as one, DirectoryStream(
            patient / "events/all"
        ) as other:
            for row in range(EVENTS):
                assert next(one) == event(row)
                if row % 2:
                    assert next(other) == event(row // 2)
            assert next(one, None) is None
            assert list(other) == [event(row) for row in range(EVENTS // 2, EVENTS)]
    assert counted.asked() == LOOKED_UP


def test_going_back_costs_nothing(patient):
    with DirectoryStream(patient / "events/all") as stream, patient.counting() as counted:
        places = []
        for row in range(EVENTS):
            places.append(stream.tell())
            assert next(stream) == event(row)
        for row in (1999, 0, 31, 32, 1031, 1032, 5, 2019):
            stream.seek(places[row])
            assert next(stream) == event(row)
        stream.rewind()
        assert sum(1 for _ in stream) == EVENTS
    # the stream was opened before
    assert counted.asked() == {"query": LOOKED_UP["query"] - 1}


def test_a_stream_that_is_rewound_is_as_fresh_as_a_new_one(mounts):
    mount = mounts("ttl=0")
    with DirectoryStream(mount / "events/all") as stream, mount.counting() as counted:
        for _ in range(3):
            assert sum(1 for _ in stream) == EVENTS
            stream.rewind()
    assert counted.asked() == {"query": 3 * pages(EVENTS)}


@pytest.mark.tsan("local")
def test_listings_at_the_same_time_are_one(mounts, begin, tmp_path):
    """The second opendir joins the first, wherever it stands."""
    gate = tmp_path / "gate"
    mount = mounts("ttl=600", faults=f"hold=query:{gate}")
    os.stat(mount / "events/all")
    gate.touch()
    with mount.counting() as counted:
        started = [begin("ls", "-f", mount / "events/all") for _ in range(8)]
        wait_until(lambda: mount.stats().total("tablefuse_joined_total") == 7, what="the others")
        gate.unlink()
        for process in started:
            out, err = process.communicate(timeout=COMMAND_SEC)
            assert process.returncode == 0 and out.count("\n") == EVENTS + 2, err
    assert counted.asked() == {"query": pages(EVENTS - FIRST_ROWS)}


def test_a_reader_that_is_interrupted_hands_over_to_one_that_waits(mounts, begin, tmp_path):
    gate = tmp_path / "gate"
    mount = mounts("ttl=600", faults=f"hold=query:{gate}")
    os.stat(mount / "events/all")
    gate.touch()
    with mount.counting() as counted:
        first = begin("ls", "-f", mount / "events/all")
        wait_until(lambda: mount.stats().total("tablefuse_waiting") == 1, what="the first")
        second = begin("ls", "-f", mount / "events/all")
        wait_until(lambda: mount.stats().total("tablefuse_joined_total") == 1, what="the second")
        first.send_signal(signal.SIGINT)
        first.communicate(timeout=EXIT_SEC)
        gate.unlink()
        out, err = second.communicate(timeout=COMMAND_SEC)
    assert first.returncode == -signal.SIGINT
    assert second.returncode == 0 and out.count("\n") == EVENTS + 2, err
    # the request that was given up, and those of one listing
    assert counted.asked() == {"query": 1 + pages(EVENTS - FIRST_ROWS)}


def test_a_table_as_the_root_asks_for_no_list_of_tables(mounts, service):
    source = service.source or service.endpoint
    mount = mounts("table=events", "ttl=600", source=source)
    with mount.counting() as counted:
        assert os.listdir(mount.point) == ["all"]
        assert run("ls", "-l", mount / "all").stdout.count("\n") == EVENTS + 1
        assert not os.path.exists(mount / "none")
    # a first page, which shows that the partition is large, and one that is on its way then; then the others
    assert set(counted.asked()) == {"query"}
    assert counted.requests() <= 2 + pages(EVENTS)


def test_a_listing_makes_no_nodes_behind_its_first_buffer(patient):
    os.stat(patient / "events/all")
    with patient.counting() as counted:
        run("ls", "-f", patient / "events/all")
    assert 0 < counted.total("tablefuse_inodes") <= GETDENTS_BYTES / DIRENTPLUS_BYTES


@pytest.mark.parametrize("directory", ["events/all", "regions/region-3"])
@pytest.mark.parametrize("is_looked_up", [False, True])
def test_inode_numbers_grow_along_a_listing(patient, directory, is_looked_up):
    if is_looked_up:
        os.stat(patient / directory)
    with os.scandir(patient / directory) as entries:
        numbers = {entry.name: entry.inode() for entry in entries}
    assert list(numbers.values()) == sorted(set(numbers.values()))
    files = {os.stat(patient / directory / name).st_ino for name in numbers}
    assert len(files) == len(numbers) and max(files) < min(numbers.values())
    with os.scandir(patient / directory) as entries:
        assert {entry.name: entry.inode() for entry in entries} == numbers


READER = """
import os, sys
os.chdir(sys.argv[1])
for row in map(int, sys.argv[2:]):
    with open(f"evt-{row:08}.json") as file:
        assert f'"Count": {row},' in file.read(), row
"""


def read_rows(mount, rows):
    """In one process, which knows the names."""
    with mount.counting() as counted:
        run(sys.executable, "-c", READER, mount / "events/all", *rows)
    return counted


@pytest.mark.tsan("local")
def test_opens_in_key_order_are_read_by_pages(patient):
    counted = read_rows(patient, range(EVENTS))
    assert counted.requests() <= pages(EVENTS) + 12, "some at first, until the order shows"
    assert EVENTS <= counted.total("tablefuse_request_rows_total") <= EVENTS * 5 // 4


def test_opens_against_key_order_ask_for_one_each(patient):
    rows = range(EVENTS - 1, 2 * FIRST_ROWS, -20)
    counted = read_rows(patient, rows)
    assert counted.asked_alike() == {"list_tables": 1, "query": 1 + len(rows)}
    assert counted.total("tablefuse_request_rows_total") <= 2 * len(rows) + 2 * FIRST_ROWS
    assert read_rows(patient, rows).asked() == {}


def test_opens_here_and_there_ask_for_little(patient):
    rows = [row for row in range(FIRST_ROWS, EVENTS, 10)]
    random.Random(4).shuffle(rows)
    counted = read_rows(patient, rows)
    assert counted.requests() <= len(rows) + 2
    assert counted.total("tablefuse_request_rows_total") <= 2 * len(rows) + FIRST_ROWS
