"""Directories as streams: parallel, streamed, seekable, and whole whatever the service's pages look like."""
import errno
import os
import re
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from directory_stream import DirectoryStream
from harness import run, wait_until

ROWS = 5000
PAGE_ROWS = 1000
FIRST_ROWS = 32  # come when the partition is looked up
NAMES = [f"{row:04}.json" for row in range(ROWS)]
PARTITIONS = 30


@pytest.fixture(scope="module", autouse=True)
def data(sdk):
    sdk.fill_table(
        "stream", [{"partitionKey": "p", "rowKey": f"{row:04}", "Row": row} for row in range(ROWS)]
    )
    sdk.fill_table(
        "wide",
        [
            {"partitionKey": f"part{p:02}", "rowKey": f"r{r}"}
            for p in range(PARTITIONS)
            for r in range(3)
        ],
    )


def queries_of_a_listing(mounts):
    """How many queries the program with faults sends until a listing of stream/p has ended: the last is its last page.
    A fault can then be aimed at a page. With this ttl nothing is asked again, however slow the machine is."""
    mount = mounts("ttl=600", faults="")
    assert os.listdir(mount / "stream/p") == NAMES
    return mount.stats().requests("query")


class Held:
    """While it is open, the requests of one operation wait. With ttl=0 a lookup is one request of its own, and by a
    descriptor of its directory it needs no other."""

    def __init__(self, mounts, operation, file):
        self._file = file
        mount = mounts("ttl=0", faults=f"hold={operation}:{file}")
        self.directory = os.open(mount / "stream/p", os.O_RDONLY | os.O_DIRECTORY)
        file.touch()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._file.unlink(missing_ok=True)
        os.close(self.directory)

    def wait_for(self, requests):
        waiting = self._file.with_name(self._file.name + ".held")
        wait_until(lambda: waiting.exists() and waiting.stat().st_size >= requests)

    def size(self, name):
        return os.stat(name, dir_fd=self.directory).st_size


@pytest.mark.tsan
def test_lookups_in_one_directory_run_in_parallel(mounts, tmp_path):
    lookups = 64
    with ThreadPoolExecutor(lookups) as pool, Held(mounts, "get", tmp_path / "hold") as held:
        sizes = [pool.submit(held.size, name) for name in NAMES[:lookups]]
        held.wait_for(lookups)
        (tmp_path / "hold").unlink()
        found = {size.result() for size in sizes}
    assert len(found) <= 2 and min(found) > 0


@pytest.mark.tsan
def test_lookups_and_a_listing_of_one_directory_run_in_parallel(mounts, tmp_path):
    with ThreadPoolExecutor(1) as pool, Held(mounts, "query", tmp_path / "hold") as held:
        listing = pool.submit(os.listdir, held.directory)
        held.wait_for(1)
        # another process: the process that lists would wait for the listing's request
        here = f"/proc/{os.getpid()}/fd/{held.directory}"
        found = run("stat", "--format=%n", *NAMES[-20:], cwd=here).stdout
        assert found.split() == NAMES[-20:] and not listing.done()
        (tmp_path / "hold").unlink()
        assert listing.result() == NAMES


def test_the_first_names_come_before_the_last_page_is_asked(mounts):
    mount = mounts("ttl=600", faults="latency=300")
    os.stat(mount / "stream/p")
    with mount.counting() as counted, DirectoryStream(mount / "stream/p") as stream:
        assert next(stream) == NAMES[0]
    assert counted.asked() == {}, "they came with the lookup"
    with mount.counting() as counted, DirectoryStream(mount / "stream/p") as stream:
        names = [next(stream) for _ in range(2 * FIRST_ROWS)]
    assert names == NAMES[: 2 * FIRST_ROWS] and counted.asked() == {"query": 1}


def test_head_of_a_partition_costs_one_page(mounts):
    mount = mounts("ttl=600")
    os.stat(mount / "stream/p")
    for names, asked in ((FIRST_ROWS, {}), (FIRST_ROWS + PAGE_ROWS // 2, {"query": 1})):
        with mount.counting() as counted, DirectoryStream(mount / "stream/p") as stream:
            assert [next(stream) for _ in range(names)] == NAMES[:names]
        assert counted.asked() == asked


@pytest.mark.asan("None", "short=70")
@pytest.mark.tsan("None")
@pytest.mark.parametrize("faults", [None, "short=70", "short=300,empty=1"])
def test_seekdir_and_rewinddir(mounts, faults):
    mount = mounts(faults=faults)
    with DirectoryStream(mount / "stream/p") as stream:
        places, seen = [], []
        while len(seen) < 2500:
            places.append(stream.tell())
            seen.append(next(stream))
        assert seen == NAMES[:2500] and len(set(places)) == len(places)
        for row in (2499, 0, 1200, 999, 1000, 1001, 7, 2100):
            stream.seek(places[row])
            assert [next(stream), next(stream)] == NAMES[row : row + 2]
        stream.rewind()
        assert [next(stream) for _ in range(3)] == NAMES[:3]
        stream.seek(places[2400])
        assert list(stream) == NAMES[2400:]
        stream.rewind()
        assert list(stream) == NAMES


def test_seekdir_among_partitions_and_tables(mount):
    for path in ("wide", "."):
        with DirectoryStream(mount / path) as stream:
            places, seen = [], []
            for name in iter(lambda: (places.append(stream.tell()), next(stream, None))[1], None):
                seen.append(name)
            for row in reversed(range(len(seen))):
                stream.seek(places[row])
                assert next(stream) == seen[row]
            assert sorted(seen) == seen and len(seen) == (PARTITIONS if path == "wide" else 2)


@pytest.mark.asan
@pytest.mark.tsan
def test_several_readers_each_see_all(mounts):
    mount = mounts(faults="latency=20")
    start = threading.Barrier(6)

    def read():
        start.wait()
        with DirectoryStream(mount / "stream/p") as stream:
            return list(stream)

    with ThreadPoolExecutor(6) as pool:
        for seen in [pool.submit(read) for _ in range(6)]:
            assert seen.result() == NAMES


def test_two_positions_of_one_stream_of_processes(mount):
    """Interleaved readers do not move each other."""
    with DirectoryStream(mount / "stream/p") as one, DirectoryStream(mount / "stream/p") as other:
        for name in NAMES[:1500]:
            assert next(one) == name
            if name.endswith("0.json"):
                next(other)
        assert next(one) == NAMES[1500] and next(other) == NAMES[150]


@pytest.mark.tsan("short=13,empty=2")
@pytest.mark.parametrize(
    "faults", ["short=7", "short=1000,empty=3", "short=999", "empty=1", "short=13,empty=2"]
)
def test_short_and_empty_pages_make_the_same_listing(mounts, faults):
    mount = mounts(faults=faults)
    assert os.listdir(mount / "stream/p") == NAMES
    assert sorted(os.listdir(mount.point)) == ["stream", "wide"]
    assert os.listdir(mount / "wide") == [f"part{p:02}" for p in range(PARTITIONS)]
    found = run("find", mount / "wide", "-type", "f").stdout.splitlines()
    assert len(found) == PARTITIONS * 3
    assert os.path.exists(mount / "stream/p/4999.json") and not os.path.exists(mount / "stream/q")


@pytest.mark.parametrize(
    "answer, error",
    [
        ("403:AuthorizationFailure", errno.EACCES),
        ("400:InvalidInput", errno.EINVAL),
        ("501:NotImplemented", errno.EIO),
    ],
)
def test_a_listing_that_fails_half_way_fails(mounts, answer, error):
    last = queries_of_a_listing(mounts)
    mount = mounts(faults=f"fail=query:{last}+:{answer}")
    with pytest.raises(OSError) as raised:
        os.listdir(mount / "stream/p")
    assert raised.value.errno == error
    assert answer.split(":")[1] in mount.control("errors")


def test_a_listing_that_failed_once_is_whole_or_fails(mounts):
    last = queries_of_a_listing(mounts)
    mount = mounts(faults=f"fail=query:{last}:403:AuthorizationFailure")
    try:
        assert os.listdir(mount / "stream/p") == NAMES
    except PermissionError:
        pass
    assert os.listdir(mount / "stream/p") == NAMES


@pytest.mark.asan
@pytest.mark.tsan
def test_tokens_that_go_in_a_circle_are_an_error(mounts):
    # the mount's question, the lookup with the first rows, one page after them
    mount = mounts("table=stream", "ttl=600", faults="circle=4")
    names = []
    with DirectoryStream(mount / "p") as stream, pytest.raises(OSError) as raised:
        for name in stream:
            names.append(name)
    assert raised.value.errno == errno.EPROTO
    assert FIRST_ROWS + PAGE_ROWS <= len(names) <= 2 * PAGE_ROWS, "names before the failure are listed"
    assert names == NAMES[: len(names)]
    assert "tokens repeat" in mount.control("errors")


# Each tool with its exit code, and with what it may write about a name that was listed and is gone.
@pytest.mark.parametrize(
    "tool, code, vanished",
    [
        (["ls"], 2, None),
        # the second form is that of its question for an access control list
        (["ls", "-l"], 2, r"ls: (cannot access ')?\S+/stream/p/\d{4}\.json'?: No such file or directory"),
        (["find"], 1, None),
        (["rsync", "-a", "-n"], 23, r'file has vanished: ".*/stream/p/\d{4}\.json"|rsync error: .*\(code 23\).*'),
    ],
    ids=["ls", "ls -l", "find", "rsync"],
)
def test_tools_see_that_the_table_is_gone(mounts, tool, code, vanished, tmp_path):
    """readdir fails with ESTALE: glibc takes ENOENT for the end of the directory. The answer TableNotFound may come for a page
    that is read ahead. Since then each name of the table is ENOENT, also one that the tool was shown and asks for later."""
    last = queries_of_a_listing(mounts)
    mount = mounts("ttl=600", faults=f"fail=query:{last - 1}+:404:TableNotFound")
    target = [tmp_path] if tool[0] == "rsync" else []
    failed = run(*tool, f"{mount.point}/stream/p/", *target, check=False)
    lines = failed.stderr.splitlines()
    told = [line for line in lines if os.strerror(errno.ESTALE) in line]
    assert len(told) == 1 and f"{mount.point}/stream/p/" in told[0] and failed.returncode == code, failed.stderr
    lines.remove(told[0])
    assert not lines or vanished, failed.stderr
    assert all(re.fullmatch(vanished, line) for line in lines), failed.stderr
    assert "TableNotFound" in mount.control("errors")


def test_an_open_directory_of_a_table_that_is_gone(mounts):
    last = queries_of_a_listing(mounts)
    mount = mounts("ttl=600", faults=f"fail=query:{last - 1}+:404:TableNotFound")
    names = []
    with DirectoryStream(mount / "stream/p") as stream:
        for _ in range(2):
            with pytest.raises(OSError) as raised:
                for name in stream:
                    names.append(name)
            assert raised.value.errno == errno.ESTALE, "it is not the end of the directory"
    assert len(names) >= FIRST_ROWS and names == NAMES[: len(names)]
    with pytest.raises(FileNotFoundError):
        os.listdir(mount / "stream/p")
    for name in (names[0], names[-1]):
        with pytest.raises(FileNotFoundError):
            os.stat(mount / "stream/p" / name)


@pytest.mark.tsan("503:ServerBusy")
@pytest.mark.parametrize(
    "answer",
    ["503:ServerBusy", "500:OperationTimedOut", "429:TooManyRequests", "0:", "408:Timeout"],
)
def test_a_passing_failure_is_tried_again(mounts, answer):
    last = queries_of_a_listing(mounts)
    mount = mounts(faults=f"fail=query:{last}:{answer},fail=query:{last + 1}:{answer}")
    assert os.listdir(mount / "stream/p") == NAMES
    assert mount.stats().total("tablefuse_retries_total") == 2
    assert mount.stats().total("tablefuse_given_up_total") == 0


def test_a_lookup_that_fails_is_not_a_missing_name(mounts):
    mount = mounts("ttl=0", faults="fail=get:*:403:AuthorizationFailure")
    with pytest.raises(PermissionError):
        os.stat(mount / "stream/p/4999.json")
    with pytest.raises(PermissionError):
        os.stat(mount / "stream/p/missing.json")
    with DirectoryStream(mount / "stream/p") as stream:
        assert next(stream) == NAMES[0], "rows may be queried"
    assert "AuthorizationFailure" in mount.control("errors")


def test_a_lookup_does_not_fail_for_rows_read_ahead(mounts):
    """Rows after it may not be read: the row is asked for alone."""
    mount = mounts("ttl=600", faults="fail=query:2+:403:AuthorizationFailure")
    os.stat(mount / "stream/p")
    assert os.stat(mount / "stream/p/4000.json").st_size > 0
    assert not os.path.exists(mount / "stream/p/missing.json")
    mount = mounts("ttl=600", faults="fail=query:2+:403:AuthorizationFailure,fail=get:*:403:Authorization")
    os.stat(mount / "stream/p")
    for name in ("4000.json", "missing.json"):
        with pytest.raises(PermissionError):
            os.stat(mount / "stream/p" / name)
