"""Scratch files: files with temporary names, in a partition's directory. They work as on a disk, and the service never
learns of them."""
import fcntl
import mmap
import os
import random
import re
import signal
import stat
import sys

import pytest

from harness import ABANDONED, BOTH_SERVICES, EXIT_SEC, run, wait_until
from posix_calls import renameat2
from writing import CREATE, EXCLUSIVE, begin_foreground, failures, outcome, write, write_all

pytestmark = pytest.mark.parametrize("service", BOTH_SERVICES, indirect=True)

MIB = 1 << 20
BUDGET = 64 * MIB
RENAME_NOREPLACE, RENAME_EXCHANGE = 1, 2

FANOUT = 4
PARTITIONS = ["ax1", "ax2", "ay1", "bx1", "bx2", "by1"]
SPELLINGS = ["ax1", "a+/ax1", "ax+/ax1", ".flat/ax1", "ax1/o+"]  # the last one: a prefix of row keys

TEMPORARY = """.f.json.swp .f.json.AbC123 .json f.json~ f.json.bak f.json.tmp f.json.orig f.json.rej f.json.1 4913 sedAbC123 f.json.AbC123
tmpabcd1234 f.json.tmp2 f.json.new f.json.lock tmp.AbC123 XXAbC123 f.json.oAbC123 #f.json# f.json___jb_tmp___ f.json___jb_old___""".split()
REFUSED = "f f.txt f.JSON f.json-journal f.json.AbC12 sedAbC12 tmpabcd123 4913x f.part".split()


@pytest.fixture(scope="module", autouse=True)
def tables(make_table):
    make_table("tab", [("p", "old"), ("q", "old")])
    make_table("other", [("p", "old")])
    make_table("many", [(key, "old") for key in PARTITIONS])


@pytest.fixture
def p(mount):
    return mount / "tab/p"


def names_in(directory):
    """As another process lists it."""
    return sorted(run("ls", "-A", directory).stdout.split())


def contents(path):
    return path.read_bytes() if os.path.exists(path) else None


def test_each_temporary_name_is_a_file(mounts, stored):
    mount, before = mounts("ttl=600"), stored("tab")
    p = mount / "tab/p"
    os.stat(p)
    for name in TEMPORARY:
        with mount.counting() as counted:
            assert outcome(os.stat, p / name) == "ENOENT"
            assert write(p / name, f"of {name}\n") == ""
            assert contents(p / name) == f"of {name}\n".encode()
        assert counted.asked() == {}
    assert names_in(p) == sorted([*TEMPORARY, "old.json"])
    assert stored("tab") == before
    for name in TEMPORARY:
        os.unlink(p / name)
        assert outcome(os.stat, p / name) == outcome(os.unlink, p / name) == "ENOENT"
    assert os.listdir(p) == ["old.json"] and failures(mount) == []


def test_other_names_are_refused(mount, p):
    for name in REFUSED:
        assert outcome(os.stat, p / name) == "ENOENT"
        assert write(p / name, "x") == "open EINVAL"
        assert outcome(os.mknod, p / name) == "EINVAL"
        failed = failures(mount)[-1]
        assert failed["reason"] == (
            f"{name}: the name of an entity ends in .json; other files are not stored, and only temporary names are"
            " possible for them, as .x, x~ and x.tmp; -o scratch=GLOB adds more"
        )
    for directory in (mount / "tab", mount.point):
        assert write(directory / "f.tmp", "x") == "open EINVAL"
    assert outcome(os.mkdir, p / "d.tmp") == "EINVAL"
    assert os.listdir(p) == ["old.json"]


TEMPORARY_FLAGS = os.O_RDWR | os.O_CREAT | os.O_EXCL


def create(path, flags, mode=0o600, umask=0o022):
    old = os.umask(umask)
    try:
        os.close(os.open(path, flags, mode))
    finally:
        os.umask(old)


def test_other_names_that_are_created_as_mkstemp_does_are_files(mounts, stored):
    """By their flags and their mode, whatever the name is."""
    mount, before = mounts("ttl=600"), stored("tab")
    p = mount / "tab/p"
    os.stat(p)
    with mount.counting() as counted:
        for name in REFUSED:
            assert outcome(os.stat, p / name) == "ENOENT" == outcome(os.stat, mount / "tab/.flat/p" / name)
            for umask in (0, 0o022, 0o077):
                create(p / name, TEMPORARY_FLAGS, umask=umask)
                assert outcome(create, p / name, TEMPORARY_FLAGS) == "EEXIST"
                assert stat.filemode(os.stat(p / name).st_mode) == "-rw-------"
                assert write(mount / "tab/.flat/p" / name, "text") == "" and contents(p / name) == b"text"
                os.unlink(p / name)
                assert outcome(os.stat, p / name) == "ENOENT"
    assert counted.asked() == {} and stored("tab") == before and failures(mount) == []


@pytest.mark.parametrize("flags, mode, umask", [
    (os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600, 0o022),  # cp -p, install, gzip, tar
    (os.O_RDWR | os.O_CREAT, 0o600, 0o022),
    (TEMPORARY_FLAGS, 0o644, 0o022),
    (TEMPORARY_FLAGS, 0o666, 0o022),
    (TEMPORARY_FLAGS, 0o400, 0o022),
    (TEMPORARY_FLAGS, 0o4600, 0o022),
    (TEMPORARY_FLAGS, 0o600, 0o222),
])
def test_other_names_that_are_created_otherwise_are_refused(p, flags, mode, umask):
    assert outcome(create, p / "f.txt", flags, mode, umask) == "EINVAL"
    assert os.listdir(p) == ["old.json"]


def test_a_temporary_file_with_an_entitys_name_is_stored(p, stored):
    """As python's tempfile with a suffix makes it."""
    create(p / "made.json", TEMPORARY_FLAGS)
    wait_until(lambda: ("p", "made") in stored("tab"), what="the store, at the release")
    os.unlink(p / "made.json")
    assert outcome(create, p / "none+", TEMPORARY_FLAGS) == "EINVAL", "a prefix's name"
    assert outcome(create, p.parent / "made", TEMPORARY_FLAGS) == "EINVAL", "in no partition"


@pytest.mark.asan("local")
@pytest.mark.tsan("local")
def test_more_names_by_an_option(mounts, stored):
    mount = mounts("scratch=*.part:lock?:*")
    p = mount / "tab/p"
    assert "scratch *.part:lock?:*\n" in mount.control("config")
    for name in ("f.part", "lock1", "anything"):
        assert write(p / name, "x") == "" and contents(p / name) == b"x"
        os.unlink(p / name)
    assert write(p / "f.json", '{"A": 1}') == "", "always an entity"
    assert stored("tab")["p", "f"] == {"A": 1}
    os.unlink(p / "f.json")
    assert outcome(os.mkdir, p / "x+") == "EINVAL", "always a prefix"


def test_a_read_only_mount_has_none(mounts):
    p = mounts("ro") / "tab/p"
    assert outcome(os.stat, p / "f~") == "ENOENT"
    assert write(p / "f~", "x") == "open EROFS"
    assert outcome(os.mknod, p / "f~") == outcome(os.rename, p / "old.json", p / "f~") == "EROFS"


@pytest.mark.asan("local")
def test_attributes_are_kept(p):
    file = os.open(p / ".f", CREATE, 0o640)
    write_all(file, "12345")
    assert stat.S_IMODE(os.fstat(file).st_mode) == 0o640
    os.fchmod(file, 0o400)
    os.utime(file, ns=(1, 1_600_000_000_123_456_700))
    os.chown(file, 12, 13)
    found = os.stat(p / ".f")
    assert stat.S_IMODE(found.st_mode) == 0o400 and stat.S_ISREG(found.st_mode)
    assert found.st_mtime_ns == 1_600_000_000_123_456_700
    assert (found.st_size, found.st_nlink, found.st_uid, found.st_gid) == (5, 1, os.getuid(), os.getgid())
    assert os.fstat(file) == found
    os.rename(p / ".f", p / ".g")
    assert os.stat(p / ".g") == os.fstat(file) == found, "the same file, by another name"
    before = os.stat(p / ".g").st_mtime_ns
    write_all(file, "6")
    assert os.stat(p / ".g").st_mtime_ns > before and os.stat(p / ".g").st_size == 6
    os.close(file)
    os.truncate(p / ".g", 2)
    assert contents(p / ".g") == b"12"
    run("touch", "-d", "1960-01-01T00:00:00.5Z", p / ".g")
    assert os.stat(p / ".g").st_mtime_ns == -315_619_199_500_000_000
    run("touch", p / ".g")
    assert os.stat(p / ".g").st_mtime_ns > before
    os.unlink(p / ".g")


def some_changes(random, path, is_first):
    """Opens the file in a random way and changes it."""
    flags = random.choice([os.O_RDWR, os.O_RDWR | os.O_APPEND, os.O_RDWR | os.O_TRUNC])
    file = os.open(path, flags | (os.O_CREAT if is_first else 0), 0o600)
    for _ in range(random.randrange(8)):
        offset, data = random.randrange(300_000), random.randbytes(random.randrange(1, 200_000))
        change = random.randrange(5)
        if change == 0:
            os.ftruncate(file, offset)
        elif change == 1:
            os.lseek(file, offset, os.SEEK_SET)
            os.write(file, data)
        elif change == 2:
            os.pwrite(file, data, offset)
        elif change == 3:
            os.fsync(file)
        else:
            size = os.fstat(file).st_size
            with mmap.mmap(file, size) if size else open(os.devnull, "rb") as mapped:
                if size:
                    end = min(size, offset % size + len(data))
                    mapped[offset % size : end] = data[: end - offset % size]
    os.close(file)


def test_a_text_is_what_it_is_on_a_disk(p, tmp_path):
    for turn in range(40):
        for path in (p / "f.tmp", tmp_path / "f.tmp"):
            some_changes(random.Random(turn), path, turn == 0)
        assert contents(p / "f.tmp") == contents(tmp_path / "f.tmp"), turn
        assert os.stat(p / "f.tmp").st_size == os.stat(tmp_path / "f.tmp").st_size
    os.unlink(p / "f.tmp")


def test_two_handles_see_each_other(p):
    one, two = os.open(p / ".f", os.O_RDWR | os.O_CREAT), os.open(p / ".f", os.O_RDWR | os.O_APPEND)
    write_all(one, "hello")
    write_all(two, " world")
    assert os.pread(one, 100, 0) == os.pread(two, 100, 0) == b"hello world"
    with mmap.mmap(two, 11) as mapped:
        os.pwrite(one, b"J", 0)
        assert mapped[:5] == b"Jello"
        mapped[:1] = b"C"
        assert os.pread(one, 5, 0) == b"Cello"
    os.ftruncate(one, 5)
    assert run("cat", p / ".f").stdout == "Cello" and os.fstat(two).st_size == 5
    assert run("bash", "-c", 'echo more >> "$1"', "bash", p / ".f").stdout == ""
    assert os.pread(one, 100, 0) == b"Cellomore\n"
    for lock in (fcntl.flock, fcntl.lockf):
        assert outcome(lock, one, fcntl.LOCK_EX | fcntl.LOCK_NB) == ""
    done = run("flock", "-n", p / ".f", "true", check=False)
    assert done.returncode == 1, "it is locked"
    for file in (one, two):
        os.close(file)
    os.unlink(p / ".f")


def test_a_removed_file_goes_on_while_it_is_open(mount, p):
    file, replaced = os.open(p / ".f", os.O_RDWR | os.O_CREAT), os.open(p / ".g", os.O_RDWR | os.O_CREAT)
    write_all(file, "old")
    write_all(replaced, "replaced")
    number = os.fstat(file).st_ino
    assert os.fstat(file).st_nlink == os.fstat(replaced).st_nlink == 1
    os.unlink(p / ".f")
    assert os.listdir(p) == ["old.json", ".g"]
    assert write(p / ".f", "new") == ""
    assert os.stat(p / ".f").st_ino != number == os.fstat(file).st_ino
    os.rename(p / ".f", p / ".g")
    for one, text in ((file, b"old"), (replaced, b"replaced")):
        assert os.fstat(one).st_nlink == 0
        write_all(one, "er")
        assert os.pread(one, 100, 0) == text + b"er" and os.fstat(one).st_size == len(text) + 2
        with open(f"/proc/self/fd/{one}", "rb") as again:
            assert again.read() == text + b"er"
        os.close(one)
    assert contents(p / ".g") == b"new"
    os.unlink(p / ".g")
    # their RELEASEs come late
    wait_until(lambda: mount.stats().total("tablefuse_scratch_bytes") == 0, what="no file")


def test_rename(mount, p, stored):
    before, q, other = stored("tab"), mount / "tab/q", mount / "other/p"
    number = None
    assert write(p / "a~", "a") == write(q / "b~", "b") == ""
    with mount.counting() as counted:
        for old, new in ((p / "a~", p / ".a"), (p / ".a", q / ".a"), (q / ".a", other / ".a"), (other / ".a", q / "b~")):
            number = number or os.stat(old).st_ino
            os.rename(old, new)
            assert contents(new) == b"a" and outcome(os.stat, old) == "ENOENT"
            assert os.stat(new).st_ino == number
        assert outcome(os.rename, q / "b~", q / "b~") == ""
    assert not counted.requests("write") and not counted.requests("delete")
    assert write(p / "c~", "c") == ""
    assert outcome(renameat2, q / "b~", p / "c~", RENAME_NOREPLACE) == "EEXIST"
    assert outcome(renameat2, q / "b~", p / "c~", RENAME_EXCHANGE) == "EINVAL"
    assert outcome(renameat2, q / "b~", p / "d~", RENAME_NOREPLACE) == ""
    assert outcome(os.rename, p / "none~", p / "e~") == "ENOENT"
    assert outcome(os.rename, p / "d~", p / "f.txt") == outcome(os.rename, p / "d~", mount / "tab/d~") == "EPERM"
    assert names_in(p) == ["c~", "d~", "old.json"] and names_in(q) == ["old.json"]
    run("mv", "-n", p / "d~", p / "c~")
    assert (contents(p / "c~"), contents(p / "d~")) == (b"c", b"a")
    run("mv", p / "d~", p / "c~")
    assert contents(p / "c~") == b"a"
    os.unlink(p / "c~")
    assert stored("tab") == before


def test_it_is_listed_behind_the_entities(mounts):
    mount = mounts("ttl=600", f"fanout={FANOUT}")
    for spelling in SPELLINGS:
        directory = mount / "many" / spelling
        assert write(directory / ".new", "1") == write(directory / "o~", "2") == ""
        for other in SPELLINGS:
            at = mount / "many" / other
            assert contents(at / "o~") == b"2", (spelling, other)
            assert os.listdir(at) == ["old.json", ".new", "o~"]
            assert [(entry.name, entry.is_file(), entry.inode()) for entry in os.scandir(at)][1:] == [
                (name, True, os.stat(at / name).st_ino) for name in (".new", "o~")
            ]
            assert run("ls", "-lA", at).stdout.count("\n") == 4
        found = run("find", mount / "many", "-name", "o~", "-o", "-name", ".new").stdout.split()
        assert found == [str(mount / "many/a+/ax1" / name) for name in (".new", "o~")]
        os.unlink(mount / "many/ax+/ax1/o~")
        os.unlink(mount / "many/.flat/ax1/.new")
        for other in SPELLINGS:
            assert outcome(os.stat, mount / "many" / other / "o~") == "ENOENT"
            assert os.listdir(mount / "many" / other) == ["old.json"]


@pytest.mark.asan("local")
def test_many_are_listed_once(mount, p):
    names = [f".{number:04}{'x' * 200}" for number in range(500)]
    for name in names:
        os.mknod(p / name)
    with os.scandir(p) as entries:
        seen = [next(entries).name for _ in range(100)]
        for name in names[::2]:
            os.unlink(p / name)
        seen += [entry.name for entry in entries]
    assert len(seen) == len(set(seen)) and set(names[1::2]) < set(seen)
    assert os.listdir(p) == ["old.json", *names[1::2]]
    run("rm", "-r", *[p / name for name in names[1::2]])
    assert os.listdir(p) == ["old.json"]


@pytest.mark.asan("local")
@pytest.mark.tsan("local")
def test_a_directory_with_a_file_in_it_is_not_removed(mounts):
    mount = mounts(f"fanout={FANOUT}")
    table = mount / "fresh"
    os.makedirs(table / "N+/New")
    os.mknod(table / "N+/New/.f")
    for path in ("New", "N+/New", "N+", ".flat/New", ""):
        assert outcome(os.rmdir, table / path) == "ENOTEMPTY", path
    os.rename(table / "New/.f", mount / "tab/q/.f")
    assert contents(mount / "tab/q/.f") == b""
    os.unlink(mount / "tab/q/.f")
    assert outcome(os.rmdir, table / "N+/New") == outcome(os.rmdir, table / "N+") == ""
    os.mkdir(table / "p")
    assert write(table / "p/f.json", "{}") == write(table / "p/f~", "x") == ""
    run("rm", "-r", table)
    assert outcome(os.stat, table) == "ENOENT" and failures(mount) == []


def test_the_budget(mount, p):
    def used():
        return mount.stats().total("tablefuse_scratch_bytes")

    file = os.open(p / ".large", EXCLUSIVE)
    os.mknod(p / ".small")
    write_all(file, bytes(60 * MIB))
    assert outcome(write_all, file, bytes(4 * MIB)) == "ENOSPC"
    assert outcome(os.truncate, p / ".small", 5 * MIB) == "ENOSPC"
    assert os.stat(p / ".small").st_size == 0 and BUDGET - MIB < used() <= BUDGET
    assert failures(mount)[-1]["reason"] == "the files with temporary names have more than 64 MiB"
    os.unlink(p / ".large")
    assert used() > 60 * MIB, "it is open"
    os.close(file)
    wait_until(lambda: used() < MIB, what="room")
    assert write(p / ".small", bytes(60 * MIB)) == ""
    for name in os.listdir(p):
        if name != "old.json":
            os.unlink(p / name)
    wait_until(lambda: used() == 0, what="the release of the last one")


def test_what_there_is_not(p):
    assert write(p / ".f", "x") == ""
    for call in (lambda: os.link(p / ".f", p / ".g"), lambda: os.symlink(".f", p / ".g"), lambda: os.mkfifo(p / ".g")):
        assert outcome(call) == "EPERM"
    assert outcome(os.open, p, os.O_TMPFILE | os.O_RDWR) == "ENOTSUP"
    assert write(p / ".f", "y", EXCLUSIVE) == "open EEXIST"
    assert outcome(os.mknod, p / ".f") == "EEXIST" and contents(p / ".f") == b"x"
    os.unlink(p / ".f")


# argv: directory, number. Ends with the name of an errno that no file system answers to such calls.
SCRAMBLE = """
import errno, os, random, sys
directory, number = sys.argv[1], int(sys.argv[2])
random = random.Random(number)
names = [f"{directory}/.{name}" for name in "abc"]
for turn in range(300):
    try:
        name = random.choice(names)
        file = os.open(name, os.O_RDWR | os.O_CREAT | random.choice([0, os.O_EXCL, os.O_TRUNC]))
        os.pwrite(file, bytes([number]) * 5000, random.randrange(9000))
        os.fsync(file)
        random.choice([lambda: os.rename(name, random.choice(names)), lambda: os.unlink(name), os.getpid])()
        os.pread(file, 20000, 0)
        os.close(file)
        os.stat(random.choice(names))
        os.listdir(directory)
    except OSError as error:
        if error.errno not in (errno.EEXIST, errno.ENOENT):
            sys.exit(errno.errorcode[error.errno])
"""


@pytest.mark.asan("local")
@pytest.mark.tsan("local")
def test_several_processes(mount, begin):
    paths = [mount / "many/ax1", mount / "many/a+/ax1", mount / "many/.flat/ax1"]
    processes = [begin(sys.executable, "-c", SCRAMBLE, path, number) for number, path in enumerate(paths, 1)]
    for process in processes:
        _, err = process.communicate(timeout=60)
        assert (process.returncode, err) == (0, "")
    for name in os.listdir(paths[0]):
        if name != "old.json":
            os.unlink(paths[0] / name)
    wait_until(lambda: mount.stats().total("tablefuse_scratch_bytes") == 0, what="no file")
    assert failures(mount) == []


JUNK = (".DS_Store", "._f.json", ".nfs0001", ".fuse_hidden0001", ".~lock.f.csv#", "4913")


@pytest.mark.parametrize("how", ["unmount", "umount", "SIGTERM"])
def test_at_the_end_of_the_mount_they_go_to_lost_and_found(mounts, service, how):
    """But for empty files, and what is of no use any more: swap files, temporary files of rsync, junk of other systems."""
    mount = mounts.prepare()
    process = begin_foreground(mount, service)
    p = mount / "tab/p"
    for name in ("notes.tmp", ".f.json.swp", ".f.json.AbC123", ".hidden", "#f#", "removed~", *JUNK):
        assert write(p / name, f"of {name}\n") == ""
    os.mknod(p / "empty~")
    os.rename(p / "notes.tmp", mount / "other/p/notes.tmp")
    os.unlink(p / "removed~")
    file = os.open(p / "open~", EXCLUSIVE)
    write_all(file, "open\n")
    if how == "SIGTERM":
        mount.send(signal.SIGTERM)
        assert mount.has_ended()
    assert outcome(os.close, file) == ("ENOTCONN" if how == "SIGTERM" else "")
    if how == "unmount":
        assert mount.unmount().stderr == ""
    elif how == "umount":
        run("umount", mount.point)
    assert process.wait(EXIT_SEC) == 0
    lost = mount.lost_texts()
    assert {re.sub(r"^\d{8}T\d{6}\.\d{3}Z-\w+-", "", name): text for name, text in lost.items()} == {
        "other-p-notes.tmp": b"of notes.tmp\n",
        "tab-p-.hidden": b"of .hidden\n",
        "tab-p-#f#": b"of #f#\n",
        "tab-p-open~": b"open\n",
    }
    log = mount.point.with_name("log").read_text()
    assert f"4 files with temporary names kept in {mount.state}/tablefuse/lost+found\n" in log


@pytest.mark.asan("local")
@pytest.mark.tsan("local")
def test_unmount_tells_of_those_that_could_not_be_kept(mounts):
    mount = mounts()
    assert write(mount / "tab/p/a~", "a") == write(mount / "tab/p/b~", "b") == ""
    place = mount.state / "tablefuse/lost+found"
    place.rmdir()
    place.touch()
    done = mount.unmount(check=False)
    assert (done.returncode, done.stderr) == (
        ABANDONED,
        f"tablefuse: unmounted, but 2 files with temporary names could not be kept in {place}: Operation not permitted\n",
    )
