"""The promises of POSIX that do not hold: why, and what happens instead. contrib/docs/posix.md has the same list."""
import array
import collections
import contextlib
import fcntl
import mmap
import os
import socket
import stat
import struct

import pytest

from expected import entity_name
from harness import BOTH_SERVICES
from posix_calls import fallocate, lock_range, utimensat
from writing import CREATE, outcome, write

pytestmark = pytest.mark.parametrize("service", BOTH_SERVICES, indirect=True)

FS_IOC_SETFLAGS, FS_IMMUTABLE_FL = 0x40086602, 0x10
FALLOC_FL_KEEP_SIZE, FALLOC_FL_PUNCH_HOLE = 1, 2

# `act` takes the directory of a partition that has r.json, and answers `instead`.
Difference = collections.namedtuple("Difference", "call promise reason act instead")


@contextlib.contextmanager
def opened(path, flags=os.O_RDONLY):
    """A descriptor; nothing is told of its close."""
    file = os.open(path, flags, 0o644)
    try:
        yield file
    finally:
        with contextlib.suppress(OSError):
            os.close(file)


def bind(path):
    with socket.socket(socket.AF_UNIX) as made:
        directory = os.open(path.parent, os.O_RDONLY)
        try:  # an address has at most 107 bytes
            made.bind(f"/proc/self/fd/{directory}/{path.name}")
        finally:
            os.close(directory)


def set_flags(path):
    with opened(path) as file:
        fcntl.ioctl(file, FS_IOC_SETFLAGS, array.array("l", [FS_IMMUTABLE_FL]))


def changed(path, change):
    """The attributes that the change has changed, if it succeeds."""
    before = os.lstat(path)
    change(path)
    after = os.lstat(path)
    names = ("st_mode", "st_uid", "st_gid", "st_atime_ns", "st_mtime_ns", "st_ctime_ns", "st_nlink", "st_size")
    return [name for name in names if getattr(before, name) != getattr(after, name)]


def mode_of_a_new_file(p):
    with opened(p / "mode.json", os.O_WRONLY | os.O_CREAT) as made, opened(p / "r.json") as old:
        return os.fstat(made).st_mode == os.fstat(old).st_mode


def times_of_a_directory(p):
    return changed(p, lambda p: (os.mknod(p / "entry.json"), os.unlink(p / "entry.json"), os.utime(p)))


def time_of_a_read(p):
    with opened(p / "r.json") as file:
        return changed(p / "r.json", lambda _: os.read(file, 100))


def steps_of_a_time(p):
    found = os.stat(p / "r.json")
    return [t % 100 for t in (found.st_atime_ns, found.st_mtime_ns, found.st_ctime_ns)]


def explicit_times(path):
    utimensat(path, (1, 0), (2, 0))
    utimensat(path, (1 << 31, 1), (1 << 32, 1))


def room(p):
    with opened(p / "r.json", os.O_RDWR) as file:
        modes = (0, FALLOC_FL_KEEP_SIZE, FALLOC_FL_KEEP_SIZE | FALLOC_FL_PUNCH_HOLE)
        return [outcome(fallocate, file, mode, 0, 100) for mode in modes]


def hole(p):
    file = os.open(p / "hole.json", os.O_RDWR | os.O_CREAT)
    os.pwrite(file, b'{"N": 1}', 10)
    found = os.pread(file, 20, 0) == bytes(10) + b'{"N": 1}', os.lseek(file, 0, os.SEEK_HOLE)
    return *found, outcome(os.close, file)


def text_that_is_none(p):
    return write(p / "text.json", "hello"), os.path.exists(p / "text.json")


def text_as_written(p):
    assert write(p / "canonical.json", '{"N":   1}') == ""
    return (p / "canonical.json").read_text()


def emptied(p):
    before = (p / "r.json").read_text()
    return write(p / "r.json", ""), (p / "r.json").read_text() == before


def open_of_an_unlinked_writer(p):
    assert write(p / "again.json", "{}") == ""
    with opened(p / "again.json", os.O_RDWR) as file:
        os.unlink(p / "again.json")
        return outcome(os.open, f"/proc/self/fd/{file}", os.O_RDONLY)


def two_writers(p):
    assert write(p / "two.json", '{"N": 1}') == ""
    size = os.stat(p / "two.json").st_size
    with opened(p / "two.json", os.O_RDWR) as one, opened(p / "two.json", os.O_RDWR) as two:
        os.ftruncate(one, 0)
        return os.fstat(two).st_size == os.stat(p / "two.json").st_size == size


def appended(p):
    assert write(p / "appended.json", '{"N": 1, "M": 1}') == ""
    with opened(p / "appended.json", os.O_RDWR | os.O_APPEND) as file:
        os.write(file, b'{"N": 2}')
        told = outcome(os.read, file, 1)
    return told, (p / "appended.json").read_text().splitlines()[3:5]


def lock_of_a_reader(p):
    with opened(p / "r.json", os.O_RDONLY) as one, opened(p / "r.json", os.O_RDONLY) as two:
        fcntl.lockf(one, fcntl.LOCK_SH)
        os.close(two)
        with opened(p / "r.json", os.O_RDWR) as writer:
            return outcome(lock_range, writer)


def shared_map(p):
    told = []
    for protection in (mmap.PROT_READ | mmap.PROT_WRITE, mmap.PROT_READ):
        with opened(p / "r.json", os.O_RDWR) as file:
            told.append(outcome(lambda file=file, p=protection: mmap.mmap(file, 10, mmap.MAP_SHARED, p).close()))
    return told


def names_that_are_none(p):
    told = [outcome(os.open, p / name, CREATE) for name in ("plain", "x.txt", "x.json-journal", "x.json2")]
    told += [outcome(os.mkdir, p / name) for name in ("below", "below.json")]
    told += [outcome(os.open, where / "x.json", CREATE) for where in (p.parent, p.parents[1])]
    return [*told, outcome(os.mkdir, p.parents[1] / "not-a-table")]


def room_that_is_left(p):
    found = os.statvfs(p)
    return found.f_bavail * found.f_frsize, found.f_favail


def attributes_of_a_directory(p):
    return [(found.st_nlink, found.st_size, found.st_blocks) for found in map(os.stat, (p, p.parent, p.parents[1]))]


def extended_attributes(path):
    calls = [(os.setxattr, path, "user.x", b"1"), (os.getxattr, path, "user.x"), (os.listxattr, path)]
    return [outcome(*call) for call in calls]


def set_access_list(path):
    """In the kernel's format: owner, the user 5, group, mask, others."""
    entries = [(0x01, 6, -1), (0x02, 7, 5), (0x04, 4, -1), (0x10, 7, -1), (0x20, 4, -1)]
    text = struct.pack("<I", 2) + b"".join(struct.pack("<HHi", *entry) for entry in entries)
    os.setxattr(path, "system.posix_acl_access", text)


DIFFERENCES = [
    Difference(
        "link",
        "a file may have several names",
        "EPERM: an entity has one key",
        lambda p: outcome(os.link, p / "r.json", p / "l.json"),
        "EPERM",
    ),
    Difference(
        "symlink",
        "symbolic links",
        "EPERM: the service stores entities alone",
        lambda p: outcome(os.symlink, "r.json", p / "s.json"),
        "EPERM",
    ),
    Difference(
        "mkfifo",
        "fifos",
        "EPERM: the service stores entities alone",
        lambda p: outcome(os.mkfifo, p / "f.json"),
        "EPERM",
    ),
    Difference(
        "mknod",
        "devices",
        "EPERM: the service stores entities alone",
        lambda p: [outcome(os.mknod, p / "d.json", kind, os.makedev(1, 3)) for kind in (stat.S_IFCHR, stat.S_IFBLK)],
        ["EPERM", "EPERM"],
    ),
    Difference(
        "mknod",
        "sockets",
        "EPERM: the service stores entities alone",
        lambda p: outcome(bind, p / "s.json"),
        "EPERM",
    ),
    Difference(
        "chflags",
        "files that cannot be changed, or only be appended to",
        "ENOTTY: the service has no flags",
        lambda p: outcome(set_flags, p / "r.json"),
        "ENOTTY",
    ),
    Difference(
        "chmod",
        "a mode is kept",
        "the service has no modes: chmod succeeds, and the modes are the mount's",
        lambda p: [changed(path, lambda at: os.chmod(at, 0o7711)) for path in (p / "r.json", p)],
        [[], []],
    ),
    Difference(
        "chown",
        "an owner is kept",
        "the service has no owners: chown succeeds, and the owner is the mount's",
        lambda p: [changed(path, lambda at: os.chown(at, 1, 1)) for path in (p / "r.json", p)],
        [[], []],
    ),
    Difference(
        "open",
        "a new file has the mode and the owner of its maker",
        "the service has none: they are the mount's",
        mode_of_a_new_file,
        True,
    ),
    Difference(
        "utimensat",
        "times that are given are kept",
        "the service has the time of the last change alone",
        lambda p: [changed(path, explicit_times) for path in (p / "r.json", p)],
        [[], []],
    ),
    Difference(
        "utimensat",
        "times of a directory",
        "the service has none: they are the time of the mount",
        times_of_a_directory,
        [],
    ),
    Difference(
        "utimensat",
        "a read moves the time of access",
        "it would be a write: all three times are one",
        time_of_a_read,
        [],
    ),
    Difference(
        "utimensat",
        "times in nanoseconds",
        "the service counts 100 ns",
        steps_of_a_time,
        [0, 0, 0],
    ),
    Difference(
        "truncate",
        "truncate(2) of a path",
        "EINVAL, because no part of a text is an entity: use ftruncate, and write the rest",
        lambda p: [outcome(os.truncate, p / "r.json", size) for size in (0, 5, 5000)],
        ["EINVAL"] * 3,
    ),
    Difference(
        "ftruncate",
        "an emptied file is empty",
        "no empty text is an entity: the close is EINVAL, and the entity stays as it was",
        emptied,
        ("close EINVAL", True),
    ),
    Difference(
        "ftruncate",
        "a file may be sparse",
        "zeros are no JSON: the close is EINVAL",
        hole,
        (True, 18, "EINVAL"),
    ),
    Difference(
        "posix_fallocate",
        "fallocate(2)",
        "EOPNOTSUPP: the service reserves nothing",
        room,
        ["ENOTSUP"] * 3,
    ),
    Difference(
        "open",
        "a file holds any bytes",
        "a file is one JSON object: the write is EINVAL, and a new file is gone",
        text_that_is_none,
        ("write EINVAL", False),
    ),
    Difference(
        "open",
        "a file holds the bytes that were written",
        "it holds the entity, in one canonical text",
        text_as_written,
        '{\n  "PartitionKey": "p",\n  "RowKey": "canonical",\n  "N": 1\n}\n',
    ),
    Difference(
        "open",
        "an empty file can be made under any name",
        "not under the cut name of a long key, which only a text can tell: EINVAL at the close",
        lambda p: (write(p / entity_name("k" * 300), ""), outcome(os.mknod, p / entity_name("m" * 300))),
        ("close EINVAL", "EINVAL"),
    ),
    Difference(
        "open",
        "any name can be made, anywhere",
        "names are keys, and those of entities end in .json: of others only temporary ones, in a partition",
        names_that_are_none,
        ["EINVAL"] * 9,
    ),
    Difference(
        "open",
        "files of more than 2 GiB",
        "an entity has at most 1 MiB, its text 8 MiB: EFBIG",
        lambda p: write(p / "big.json", " " * ((8 << 20) + 1)),
        "write EFBIG",
    ),
    Difference(
        "open",
        "O_APPEND adds bytes",
        "it merges properties into the entity; such a descriptor cannot read (EBADF)",
        appended,
        ("EBADF", ['  "M": 1,', '  "N": 2']),
    ),
    Difference(
        "open",
        "every process that has a file open sees each write",
        "each open for writing has a text of its own until it is stored",
        two_writers,
        True,
    ),
    Difference(
        "open",
        "files without a name (O_TMPFILE)",
        "EOPNOTSUPP: an entity has a key",
        lambda p: outcome(os.open, p, os.O_TMPFILE | os.O_RDWR),
        "ENOTSUP",
    ),
    Difference(
        "open",
        "a process's fcntl locks end with its first close of the file",
        "of one that is only read: they end with the descriptor that took them",
        lock_of_a_reader,
        "EAGAIN",
    ),
    Difference(
        "open",
        "shared maps that can be written",
        "ENODEV: a text is stored as a whole, when it is written",
        shared_map,
        ["ENODEV", "ENODEV"],
    ),
    Difference(
        "open",
        "a full file system is reported beforehand",
        "the service has no limit that can be read: 1 PiB is free, always",
        room_that_is_left,
        (1 << 50, 1000000000),
    ),
    Difference(
        "unlink",
        "a writer's file without a name can be opened to read, by its descriptor (/proc/self/fd)",
        "ENOENT: its entity is gone",
        open_of_an_unlinked_writer,
        "ENOENT",
    ),
    Difference(
        "mkdir",
        "a directory has a size, and a link from each directory in it",
        "the service has neither: 0 and 1",
        attributes_of_a_directory,
        [(1, 0, 0)] * 3,
    ),
    Difference(
        "readdir",
        "an entry's number (`d_ino`) is the file's `st_ino`",
        "it is the file's place in the listing: programs visit a directory in the order of these numbers. "
        "`st_ino` is made of the key",
        lambda p: [entry.inode() == entry.stat().st_ino for entry in os.scandir(p) if entry.name == "r.json"],
        [False],
    ),
    Difference(
        "granular",
        "access control lists",
        "EOPNOTSUPP: the service has none",
        lambda p: [outcome(set_access_list, path) for path in (p / "r.json", p)],
        ["ENOTSUP", "ENOTSUP"],
    ),
    Difference(
        "granular",
        "extended attributes",
        "EOPNOTSUPP: the service has none",
        lambda p: extended_attributes(p / "r.json"),
        ["ENOTSUP"] * 3,
    ),
]


@pytest.fixture(scope="module", autouse=True)
def data(make_table):
    make_table("tree", [("p", "r")])


@pytest.mark.parametrize("difference", DIFFERENCES, ids=lambda each: each.promise)
def test_what_does_not_hold(mount, difference):
    assert difference.act(mount / "tree/p") == difference.instead


def test_an_empty_partition_is_there_in_this_mount_alone(mounts):
    one, other = mounts("ttl=0"), mounts("ttl=0")
    os.mkdir(one / "tree/empty")
    assert sorted(os.listdir(one / "tree")) == ["empty", "p"] and os.listdir(other / "tree") == ["p"]
    os.rmdir(one / "tree/empty")
