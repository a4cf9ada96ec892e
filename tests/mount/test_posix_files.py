"""Promises of POSIX about files: open, read, write, their size, their times, unlink. On Azurite and in a file."""
import fcntl
import mmap
import os
import stat
import subprocess
import time

import pytest

from harness import BOTH_SERVICES, run, wait_until
from posix_calls import UTIME_NOW, UTIME_OMIT, lock_range, utimensat
from writing import CREATE, EXCLUSIVE, OVER, failures, outcome, write, write_all

pytestmark = pytest.mark.parametrize("service", BOTH_SERVICES, indirect=True)

ENTITY = '{"N": 1}'
SERVICE_CLOCK_NS = 2_000_000  # Azurite's counts milliseconds


@pytest.fixture(scope="module", autouse=True)
def data(make_table):
    make_table("files", [("p", "old"), ("p", "read")])
    make_table("gone")


@pytest.fixture
def p(mount):
    return mount / "files/p"


@pytest.fixture
def of(stored):
    """What is stored under a name of the partition; None: nothing."""
    return lambda row: stored("files").get(("p", row))


def size_of(file):
    return os.fstat(file).st_size


# open


def test_open_creates_a_file_with_o_creat(p, of):
    assert outcome(os.open, p / "made.json", os.O_RDWR) == "ENOENT"
    file = os.open(p / "made.json", os.O_RDWR | os.O_CREAT)
    assert (size_of(file), os.listdir(p).count("made.json")) == (0, 1)
    assert outcome(os.open, p / "made.json", EXCLUSIVE) == "EEXIST"
    write_all(file, ENTITY)
    assert os.pread(file, 100, 0) == ENTITY.encode()
    os.close(file)
    assert of("made") == {"N": 1}
    assert outcome(os.open, p / "made.json", EXCLUSIVE) == "EEXIST"


def test_open_keeps_the_text_without_o_trunc(p, of):
    assert write(p / "kept.json", ENTITY) == ""
    size = os.stat(p / "kept.json").st_size
    for flags in (os.O_WRONLY, os.O_RDWR, os.O_RDWR | os.O_CREAT, os.O_WRONLY | os.O_APPEND):
        file = os.open(p / "kept.json", flags)
        assert size_of(file) == size
        os.close(file)
    file = os.open(p / "kept.json", OVER)
    assert size_of(file) == 0
    write_all(file, '{"M": 2}')
    os.close(file)
    assert of("kept") == {"M": 2}


def test_a_descriptor_does_what_it_was_opened_for(p):
    reader, writer = os.open(p / "read.json", os.O_RDONLY), os.open(p / "read.json", os.O_WRONLY)
    assert outcome(os.write, reader, b"x") == outcome(os.read, writer, 1) == "EBADF"
    assert outcome(os.ftruncate, reader, 0) == "EINVAL"
    assert outcome(os.posix_fallocate, reader, 0, 1) == "EBADF"
    os.close(reader)
    os.close(writer)


def test_open_of_what_is_no_file_or_no_directory(p):
    for flags in (os.O_WRONLY, os.O_RDWR, os.O_RDONLY | os.O_TRUNC, os.O_RDONLY | os.O_CREAT):
        assert outcome(os.open, p, flags) == "EISDIR"
    assert outcome(os.open, p / "read.json", os.O_RDONLY | os.O_DIRECTORY) == "ENOTDIR"
    directory = os.open(p, os.O_RDONLY)
    assert outcome(os.read, directory, 1) == "EISDIR"
    assert outcome(os.write, directory, b"x") == "EBADF"
    assert outcome(os.ftruncate, directory, 0) == "EINVAL"
    os.close(directory)


def test_flags_that_change_nothing_here(p):
    for flags in (os.O_NOFOLLOW, os.O_NONBLOCK, os.O_NOATIME, os.O_CLOEXEC, os.O_DIRECT):
        file = os.open(p / "read.json", flags | os.O_RDONLY)
        assert os.read(file, 4096).startswith(b"{\n")
        os.close(file)
    file = os.open(p / "read.json", os.O_PATH)
    assert stat.S_ISREG(os.fstat(file).st_mode) and outcome(os.read, file, 1) == "EBADF"
    os.close(file)


def test_a_reader_keeps_its_place_and_its_text(p):
    file = os.open(p / "read.json", os.O_RDONLY)
    text = os.pread(file, 4096, 0)
    assert os.read(file, 3) == text[:3] and os.read(file, 3) == text[3:6]
    assert os.lseek(file, 0, os.SEEK_CUR) == 6 and os.lseek(file, -2, os.SEEK_END) == len(text) - 2
    assert os.read(file, 10) == text[-2:] and os.read(file, 10) == b""
    assert os.pread(file, 10, len(text) + 100) == b"", "behind the end there is nothing"
    assert outcome(os.lseek, file, -1, os.SEEK_SET) == "EINVAL"
    other = os.dup(file)
    os.lseek(other, 1, os.SEEK_SET)
    assert os.lseek(file, 0, os.SEEK_CUR) == 1, "a dup has the same place"
    os.close(other)
    os.close(file)


# write


def test_a_write_begins_at_its_offset(p, of):
    file = os.open(p / "place.json", os.O_RDWR | os.O_CREAT | os.O_EXCL)
    assert os.write(file, b'{"A": 1,') == 8
    assert os.pwrite(file, b'"B": 2}', 8) == 7
    assert os.lseek(file, 0, os.SEEK_CUR) == 8, "pwrite moves no place"
    assert os.pwrite(file, b"7", 6) == 1 and os.pread(file, 100, 0) == b'{"A": 7,"B": 2}'
    assert os.writev(file, [b'"C"', b": 4", b"}"]) == 7
    os.fsync(file)
    assert of("place") == {"A": 7, "C": 4}
    os.close(file)


def test_a_file_of_two_descriptors_has_one_place(p, of):
    """As two commands of a shell that write to one redirection."""
    with open(p / "shared.json", "wb") as file:
        for piece in ('{"A": 1,', '"B": 2,', '"C": 3}'):
            subprocess.run(["printf", "%s", piece], stdout=file, check=True)
    assert of("shared") == {"A": 1, "B": 2, "C": 3}


# size


def test_ftruncate_shrinks_and_grows_with_zeros(p, of):
    """What is stored is the text at the close."""
    file = os.open(p / "size.json", os.O_RDWR | os.O_CREAT | os.O_EXCL)
    write_all(file, '{"N": 1} and more'[:8])
    os.ftruncate(file, 4)
    assert (size_of(file), os.pread(file, 100, 0)) == (4, b'{"N"')
    os.ftruncate(file, 10)
    assert (size_of(file), os.pread(file, 100, 0)) == (10, b'{"N"' + bytes(6))
    assert os.stat(p / "size.json").st_size == len('{\n  "PartitionKey": "p",\n  "RowKey": "size",\n  "N": 1\n}\n')
    os.pwrite(file, b'{"M": 2}\n\n', 0)
    os.ftruncate(file, 9)
    os.close(file)
    assert of("size") == {"M": 2}


def test_sizes_that_no_file_can_have(p, of):
    file = os.open(p / "old.json", os.O_RDWR)
    size, before = size_of(file), of("old")
    assert outcome(os.ftruncate, file, -1) == outcome(os.truncate, p / "old.json", -1) == "EINVAL"
    assert outcome(os.posix_fallocate, file, 0, 0) == "EINVAL"
    assert outcome(os.truncate, p, 0) == "EISDIR"
    for too_large in ((8 << 20) + 1, 1 << 31, 1 << 62):
        assert outcome(os.ftruncate, file, too_large) == "EFBIG"
        assert outcome(os.pwrite, file, b"x", too_large) == "EFBIG"
    assert size_of(file) == size
    os.close(file)
    assert of("old") == before


def test_posix_fallocate_makes_room_that_a_text_can_fill(p, of):
    """The C library writes zeros, because fallocate(2) is refused."""
    text = '{"Room": true}\n'
    file = os.open(p / "room.json", CREATE)
    os.posix_fallocate(file, 0, len(text))
    assert size_of(file) == len(text)
    write_all(file, text)
    os.close(file)
    assert of("room") == {"Room": True}


# unlink


def test_unlink_removes_a_name(p, of):
    assert write(p / "away.json", ENTITY) == "" and of("away") == {"N": 1}
    os.unlink(p / "away.json")
    assert outcome(os.stat, p / "away.json") == outcome(os.unlink, p / "away.json") == "ENOENT"
    assert "away.json" not in os.listdir(p) and of("away") is None
    assert outcome(os.unlink, p) == "EISDIR", "only rmdir removes a directory"


def test_an_open_file_can_be_used_when_its_name_is_removed(p, of):
    """Read, written, resized; its name is free for another file."""
    assert write(p / "open.json", ENTITY) == ""
    reader, writer = os.open(p / "open.json", os.O_RDONLY), os.open(p / "open.json", os.O_RDWR)
    text = os.pread(reader, 4096, 0)
    os.unlink(p / "open.json")
    assert os.pread(reader, 4096, 0) == os.pread(writer, 4096, 0) == text
    os.ftruncate(writer, 0)
    os.pwrite(writer, b'{"M": 2}', 0)
    assert os.pread(writer, 100, 0) == b'{"M": 2}' and size_of(writer) == 8 and size_of(reader) == len(text)
    assert write(p / "open.json", '{"Next": 3}', EXCLUSIVE) == ""
    os.close(reader)
    os.close(writer)
    assert of("open") == {"Next": 3}


@pytest.mark.parametrize("flags", [os.O_RDONLY, os.O_RDWR], ids=["reader", "writer"])
def test_an_open_file_without_its_name_has_no_links(p, flags):
    """A reader's can be opened once more by its descriptor, as /dev/stdin is."""
    assert write(p / "links.json", ENTITY) == ""
    text = (p / "links.json").read_bytes()
    with open(os.open(p / "links.json", flags), "rb") as file:
        assert os.fstat(file.fileno()).st_nlink == 1
        os.unlink(p / "links.json")
        assert os.fstat(file.fileno()).st_nlink == 0
        os.fchmod(file.fileno(), 0o600)
        assert os.fstat(file.fileno()).st_nlink == 0
        for _ in range(2):
            if flags == os.O_RDONLY:
                assert run("cat", f"/proc/{os.getpid()}/fd/{file.fileno()}", text=False).stdout == text
            assert write(p / "links.json", '{"Next": 3}') == ""
        assert (os.fstat(file.fileno()).st_nlink, os.stat(p / "links.json").st_nlink) == (0, 1)


# times


def test_a_change_of_a_file_moves_its_times(p):
    assert write(p / "time.json", ENTITY) == ""
    for change in (
        lambda: write(p / "time.json", '{"N": 2}'),
        lambda: write(p / "time.json", '{"N": 3}', os.O_WRONLY | os.O_APPEND),
        lambda: os.utime(p / "time.json"),
    ):
        before = os.stat(p / "time.json")
        wait_until(lambda before=before: time.time_ns() > before.st_mtime_ns + SERVICE_CLOCK_NS)
        change()
        after = os.stat(p / "time.json")
        assert after.st_mtime_ns > before.st_mtime_ns and after.st_ctime_ns > before.st_ctime_ns


def test_what_fails_or_only_reads_moves_no_time(p):
    before = os.stat(p / "old.json")
    assert outcome(os.truncate, p / "old.json", -1) == "EINVAL"
    assert write(p / "old.json", "hello") == "write EINVAL"
    assert (p / "old.json").read_text().startswith("{\n")
    file = os.open(p / "old.json", os.O_RDWR)
    os.close(file)
    utimensat(p / "old.json", (0, UTIME_OMIT), (0, UTIME_OMIT))
    utimensat(p / "old.json", (0, UTIME_NOW), (0, UTIME_OMIT))
    after = os.stat(p / "old.json")
    assert (after.st_mtime_ns, after.st_ctime_ns) == (before.st_mtime_ns, before.st_ctime_ns)


def test_a_time_that_is_none(p):
    assert outcome(utimensat, p / "old.json", (0, 1 << 31), (0, 0)) == "EINVAL"
    assert outcome(utimensat, p / "old.json", (0, 0), (0, -1)) == "EINVAL"


# others


def test_a_regular_file_by_mknod(p, of):
    os.mknod(p / "node.json", 0o644)
    assert of("node") == {} and stat.S_ISREG(os.stat(p / "node.json").st_mode)
    assert outcome(os.mknod, p / "node.json", 0o644) == "EEXIST"


def test_a_private_map_shows_the_file(p):
    """Also where it may be changed in memory."""
    for flags, protection in ((os.O_RDONLY, mmap.PROT_READ), (os.O_RDWR, mmap.PROT_READ | mmap.PROT_WRITE)):
        file = os.open(p / "read.json", flags)
        with mmap.mmap(file, size_of(file), mmap.MAP_PRIVATE, protection) as mapped:
            assert mapped[:] == os.pread(file, 4096, 0)
        os.close(file)
    with open(p / "read.json", "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
        assert mapped[:] == file.read(), "shared, of a file that is open for reading"


def test_locks_of_readers_and_of_a_new_file(mount, p):
    """flock and fcntl, by all descriptors of one node: those that only read, or that are open since the file is new."""
    for name, flags in (("read", os.O_RDONLY), ("lock", os.O_RDWR | os.O_CREAT)):
        first, second = (os.open(p / f"{name}.json", flags) for _ in range(2))
        fcntl.flock(first, fcntl.LOCK_EX)
        assert outcome(fcntl.flock, second, fcntl.LOCK_EX | fcntl.LOCK_NB) == "EAGAIN"
        assert run("flock", "-n", p / f"{name}.json", "true", check=False).returncode == 1
        os.close(first)
        fcntl.flock(second, fcntl.LOCK_EX)  # the kernel releases the first beside its close
        if flags != os.O_RDONLY:
            lock_range(second)
            with open(p / f"{name}.json", "r+b") as third:
                assert outcome(lock_range, third.fileno()) == "EAGAIN"
        os.close(second)
    assert failures(mount) == []
