"""Changes of another client: seen after ttl, not requested before. A file is one version, never cut or mixed."""
import contextlib
import itertools
import json
import os
import subprocess
import sys
import threading
import time

import pytest

from directory_stream import DirectoryStream
from harness import COMMAND_SEC, environment, run

TTL = "ttl=0.2"
TTL_SEC = 0.2
ROWS = 1100  # of a partition: more than a lookup brings, more than a page
FAR = 1050  # a row that neither brings


@pytest.fixture
def table(sdk, request):
    """A table of this test only: partition p has many rows, partition one has one."""
    name = "".join(filter(str.isalnum, request.node.name))
    sdk.fill_table(
        name,
        [
            *({"partitionKey": "p", "rowKey": f"{row:04}", "N": row} for row in range(ROWS)),
            {"partitionKey": "one", "rowKey": "only", "N": 1},
        ],
    )
    return name


def row(number, **properties):
    return {"partitionKey": "p", "rowKey": f"{number:04}", **properties}


def until_expired():
    """Waits until every earlier answer is older than ttl."""
    time.sleep(TTL_SEC + 0.05)


def number_in(path):
    """Reads it in another process."""
    return json.loads(run("cat", path).stdout)["N"]


def exists(path):
    return run("test", "-e", path, check=False).returncode == 0


def names(path):
    return run("ls", path).stdout.split()


class Change:
    """What another client does to a table, what a look answers before and behind it, and what that look asks."""

    def __init__(self, do, look, before, behind, runs_ahead=False, **asks):
        self.do, self.look = do, look
        self.before, self.behind = before, behind
        self.asks = [asks]
        if runs_ahead:  # one page more may be on its way when the last that is needed has come
            self.asks.append(asks | {"query": asks["query"] + 1})


FAR_NAME = f"{FAR:04}.json"
CHANGES = {
    "changed": Change(
        lambda sdk, table: sdk.update(table, [row(5, N=-1)]),
        lambda root, table: number_in(root / table / "p/0005.json"),
        before=5,
        behind=-1,
        list_tables=1,
        query=1,  # the partition, with its first rows
    ),
    "changed far": Change(
        lambda sdk, table: sdk.update(table, [row(FAR, N=-1)]),
        lambda root, table: number_in(root / table / "p" / FAR_NAME),
        before=FAR,
        behind=-1,
        list_tables=1,
        query=2,
    ),
    "deleted": Change(
        lambda sdk, table: sdk.remove(table, "p", "0005"),
        lambda root, table: exists(root / table / "p/0005.json"),
        before=True,
        behind=False,
        list_tables=1,
        query=1,
    ),
    "deleted far": Change(
        lambda sdk, table: sdk.remove(table, "p", f"{FAR:04}"),
        lambda root, table: exists(root / table / "p" / FAR_NAME),
        before=True,
        behind=False,
        list_tables=1,
        query=2,
    ),
    "created": Change(
        lambda sdk, table: sdk.insert(table, [{"partitionKey": "p", "rowKey": "0005a"}]),
        lambda root, table: exists(root / table / "p/0005a.json"),
        before=False,
        behind=True,
        list_tables=1,
        query=1,
    ),
    "created far": Change(
        lambda sdk, table: sdk.insert(table, [row(9999)]),
        lambda root, table: exists(root / table / "p/9999.json"),
        before=False,
        behind=True,
        list_tables=1,
        query=2,
    ),
    "entities listed": Change(
        lambda sdk, table: (sdk.remove(table, "p", "0005"), sdk.insert(table, [row(9999)])),
        lambda root, table: {"0005.json", "9999.json"} & set(names(root / table / "p")),
        before={"0005.json"},
        behind={"9999.json"},
        list_tables=1,
        query=3,  # the first rows, two pages behind them
    ),
    "partition emptied": Change(
        lambda sdk, table: sdk.remove(table, "one", "only"),
        lambda root, table: exists(root / table / "one"),
        before=True,
        behind=False,
        list_tables=1,
        query=1,
    ),
    "partition begun": Change(
        lambda sdk, table: sdk.insert(table, [{"partitionKey": "q", "rowKey": "r"}]),
        lambda root, table: exists(root / table / "q"),
        before=False,
        behind=True,
        list_tables=1,
        query=1,
    ),
    "partitions listed": Change(
        lambda sdk, table: sdk.remove(table, "one", "only"),
        lambda root, table: names(root / table),
        before=["one", "p"],
        behind=["p"],
        list_tables=1,
        query=2,  # a page; what is behind p
        runs_ahead=True,
    ),
    "table dropped": Change(
        lambda sdk, table: sdk.drop_table(table),
        lambda root, table: exists(root / table),
        before=True,
        behind=False,
        list_tables=1,
    ),
    "table created": Change(
        lambda sdk, table: sdk.create_table(table + "x"),
        lambda root, table: exists(root / (table + "x")),
        before=False,
        behind=True,
        list_tables=1,
    ),
    "tables listed": Change(
        lambda sdk, table: (sdk.create_table(table + "x"), sdk.drop_table(table)),
        lambda root, table: {table, table + "x"} & set(names(root)) == {table + "x"},
        before=False,
        behind=True,
        list_tables=1,
    ),
}


def look_anew(mount, change, table):
    """What a look sees behind the ttl, and what it asks: of a look that was done before its answers expired in turn."""
    while True:
        until_expired()
        began = time.monotonic()
        with mount.counting() as counted:
            seen = change.look(mount.point, table)
        assert seen == change.behind
        if time.monotonic() - began < TTL_SEC:
            return counted.asked_alike()


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_is_seen(change, mounts, sdk, table):
    """At once with ttl=0; after ttl by one look, which asks once for each step; not before, when nothing is asked."""
    change = CHANGES[change]
    at_once, soon, late = mounts("ttl=0"), mounts(TTL, "parallelism=1"), mounts("ttl=600")
    for mount in (at_once, soon, late):
        assert change.look(mount.point, table) == change.before
    change.do(sdk, table)
    assert change.look(at_once.point, table) == change.behind
    assert look_anew(soon, change, table) in change.asks
    with late.counting() as counted:
        assert change.look(late.point, table) == change.before
    assert counted.asked() == {}


def test_with_ttl_0_every_change_is_seen_at_once(mounts, sdk, table):
    mount = mounts("ttl=0")
    for number in range(10):
        sdk.update(table, [row(5, N=number), row(FAR, N=number)])
        assert number_in(mount / table / "p/0005.json") == number
        assert number_in(mount / table / "p" / f"{FAR:04}.json") == number
        sdk.remove(table, "one", "only")
        assert not exists(mount / table / "one")
        sdk.insert(table, [{"partitionKey": "one", "rowKey": "only"}])
        assert exists(mount / table / "one/only.json")


def test_an_answer_does_not_age_on_its_way_through_caches(mounts, sdk, table):
    """An answer is never older than ttl: the kernel may keep it only for the rest of its time."""
    mount = mounts("ttl=1")
    directory = mount / table / "p"
    assert number_in(directory / "0005.json") == 5
    began = time.monotonic()
    sdk.update(table, [row(5, N=-1), row(150, N=-1)])
    sdk.remove(table, "p", "0006")
    for moment in (0.3, 0.6, 0.9):
        time.sleep(max(0, began + moment - time.monotonic()))
        run("ls", "-l", directory)
        run("cat", directory / "0005.json", directory / "0150.json")
        exists(directory / "0006.json")
    # what ls was shown may be told to others for a tenth of a second more, whenever that was
    time.sleep(max(0.15, began + 1.15 - time.monotonic()))
    assert number_in(directory / "0005.json") == -1
    assert not exists(directory / "0006.json")
    time.sleep(1)
    assert number_in(directory / "0150.json") == -1


@pytest.mark.tsan
def test_a_change_is_seen_while_a_listing_is_open(mounts, sdk, table):
    mount = mounts("ttl=0")
    with DirectoryStream(mount / table / "p") as stream:
        assert next(stream) == "0000.json"
        sdk.update(table, [row(0, N=-1), row(FAR, N=-1)])
        sdk.remove(table, "p", "0001")
        sdk.remove(table, "p", f"{FAR + 1:04}")
        sdk.insert(table, [row(ROWS, N=0)])
        assert number_in(mount / table / "p/0000.json") == -1
        assert number_in(mount / table / "p" / f"{FAR:04}.json") == -1
        assert not exists(mount / table / "p/0001.json")
        assert not exists(mount / table / "p" / f"{FAR + 1:04}.json")
        assert exists(mount / table / "p" / f"{ROWS:04}.json")
        # its first page was asked before, what comes behind is asked now
        assert list(stream) == [f"{n:04}.json" for n in range(1, ROWS + 1) if n != FAR + 1]


LISTER = """
import os, sys
directory, name = sys.argv[1:]
if os.path.isabs(name):
    print(len(os.listdir(directory)), flush=True)
else:
    os.chdir(directory)
    print(len(os.listdir()), flush=True)
for line in sys.stdin:
    print(os.stat(name).st_mtime_ns, flush=True)
"""


class Lister:
    """A process that has listed a directory. It looks up one name in it on command."""

    def __init__(self, directory, name, listed):
        self._process = subprocess.Popen(
            [sys.executable, "-c", LISTER, str(directory), str(name)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment(),
        )
        assert self._process.stdout.readline() == f"{listed}\n"

    def look(self):
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        return int(self._process.stdout.readline())

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._process.kill()
        self._process.communicate()


@pytest.mark.tsan("True-1050-ttl=0")
@pytest.mark.parametrize("ttl", [TTL, "ttl=0"])
@pytest.mark.parametrize("far", [5, FAR])
@pytest.mark.parametrize("is_relative", [True, False])
def test_a_process_is_served_from_its_listing_alone(mounts, sdk, table, ttl, far, is_relative):
    """Other processes see the change. So does the lister, if it looks up the name repeatedly."""
    mount = mounts(ttl)
    directory, name = mount / table / "p", f"{far:04}.json"
    before = os.stat(directory / name).st_mtime_ns
    with Lister(directory, name if is_relative else directory / name, ROWS) as lister:
        sdk.update(table, [row(far, N=-1)])
        until_expired()
        with mount.counting() as counted:
            assert lister.look() == before
        assert counted.asked() == {}
        behind = int(run("stat", "-c", "%.9Y", directory / name).stdout.replace(".", ""))
        assert behind > before
        deadline = time.monotonic() + COMMAND_SEC
        while lister.look() == before:
            assert time.monotonic() < deadline, "it waits for a change that it never sees"
            time.sleep(0.01)
        assert lister.look() == behind


# The sizes of the texts in bytes.
SIZES = (300, 100, 500)


def text_of(size):
    text = '{\n  "PartitionKey": "v",\n  "RowKey": "r",\n  "Pad": "%s"\n}\n'
    return text % ("abcdefghij"[size // 100] * (size - len(text % "")))


def version(size):
    return {"partitionKey": "v", "rowKey": "r", "Pad": json.loads(text_of(size))["Pad"]}


@pytest.fixture(scope="module")
def versions(sdk):
    sdk.create_table("versions", [version(200)])
    return sdk


def store(sdk, size):
    sdk.update("versions", [version(size)])


def read_whole(file):
    """Reads the file in pieces. Checks that fstat shows the size of the text before and after."""
    size = os.fstat(file).st_size
    text = b"".join(iter(lambda: os.read(file, 64), b""))
    assert os.fstat(file).st_size == size == len(text)
    return text.decode()


@pytest.mark.tsan("sizes0")
@pytest.mark.parametrize("sizes", itertools.permutations(SIZES))
def test_a_change_between_stat_open_and_read(mounts, versions, sizes):
    path = mounts("ttl=0") / "versions/v/r.json"
    store(versions, sizes[0])
    assert os.stat(path).st_size == sizes[0]
    store(versions, sizes[1])
    file = os.open(path, os.O_RDONLY)
    try:
        store(versions, sizes[2])
        assert read_whole(file) == text_of(sizes[1])
        assert run("cat", path).stdout == text_of(sizes[2])
        assert os.pread(file, 1000, 0).decode() == text_of(sizes[1]), "an old handle keeps its text"
    finally:
        os.close(file)


@pytest.mark.parametrize("sizes", itertools.permutations(SIZES))
@pytest.mark.parametrize("at", ["stat", "open", "read"])
def test_one_change_before_each_step(mounts, versions, sizes, at):
    """The first two sizes are those of the versions. The third version was read before."""
    old, new, earlier = sizes
    path = mounts("ttl=0") / "versions/v/r.json"
    store(versions, earlier)
    assert path.read_text() == text_of(earlier)
    store(versions, old)
    with path.open("rb", buffering=0) as before:
        if at == "stat":
            store(versions, new)
        assert os.stat(path).st_size == (new if at == "stat" else old)
        if at == "open":
            store(versions, new)
        with path.open("rb", buffering=0) as file:
            if at == "read":
                store(versions, new)
            assert read_whole(file.fileno()) == text_of(old if at == "read" else new)
        assert read_whole(before.fileno()) == text_of(old)
    assert path.read_text() == text_of(new)


def test_within_ttl_the_version_that_was_shown_is_the_one_that_is_read(mounts, versions):
    mount = mounts("ttl=600")
    path = mount / "versions/v/r.json"
    store(versions, 200)
    assert os.stat(path).st_size == 200
    with mount.counting() as counted:
        for size in SIZES:
            store(versions, size)
            with path.open("rb", buffering=0) as file:
                store(versions, size + 10)
                assert os.stat(path).st_size == 200
                assert read_whole(file.fileno()) == text_of(200)
    assert counted.asked() == {}


def test_open_files_of_three_versions(mounts, versions):
    path = mounts("ttl=0") / "versions/v/r.json"
    files = []
    try:
        for size in SIZES:
            store(versions, size)
            files.append(os.open(path, os.O_RDONLY))
        for offset in (0, 50, 90, 250, 450, 10):
            for file, size in zip(files, SIZES):
                assert os.pread(file, 60, offset).decode() == text_of(size)[offset : offset + 60]
                assert os.fstat(file).st_size == size
    finally:
        for file in files:
            os.close(file)


def test_all_versions_have_one_inode_number(mounts, versions):
    """While the kernel holds a node of one version."""
    path = mounts("ttl=0") / "versions/v/r.json"
    with contextlib.ExitStack() as files:
        numbers = set()
        for size in SIZES * 5:
            store(versions, size)
            file = files.enter_context(path.open())
            numbers |= {os.fstat(file.fileno()).st_ino, os.stat(path).st_ino}
    assert len(numbers) == 1


@pytest.mark.tsan("ttl=0.01")
@pytest.mark.parametrize("ttl", ["ttl=0", "ttl=0.01", "ttl=1"])
def test_no_text_is_cut_or_mixed_while_another_client_writes(mounts, versions, ttl):
    path = mounts(ttl) / "versions/v/r.json"
    store(versions, SIZES[0])
    whole = {text_of(size) for size in SIZES}
    has_ended, wrong, reads = threading.Event(), [], [0]

    def read():
        while not has_ended.is_set():
            try:
                with path.open("rb", buffering=0) as file:
                    text = read_whole(file.fileno())
                    reads[0] += 1
                    if text not in whole:
                        wrong.append(text)
            except (AssertionError, OSError) as problem:
                wrong.append(problem)

    readers = [threading.Thread(target=read) for _ in range(3)]
    for reader in readers:
        reader.start()
    for number in range(100):
        store(versions, SIZES[number % len(SIZES)])
    has_ended.set()
    for reader in readers:
        reader.join()
    assert not wrong and reads[0] > 0
