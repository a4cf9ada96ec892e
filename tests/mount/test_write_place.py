"""Changes in place: by descriptors that seek, cut, lengthen, map, copy and are passed on, and by the tools that do so. One
request each, and none for what is refused."""
import json
import mmap
import os
import socket
import subprocess
import sys

import pytest

from harness import BOTH_SERVICES, run
from writing import failures, lost_texts, outcome, write, write_all

pytestmark = pytest.mark.parametrize("service", BOTH_SERVICES, indirect=True)

MAX_TEXT = 8 << 20


@pytest.fixture(scope="module", autouse=True)
def tables(make_table):
    for table in ("tools", "calls", "passed"):
        make_table(table, [("p", "beside")])


@pytest.fixture
def make(mounts, stored):
    """make(table, row): (the mount, the path of an entity {"N": 1} there, which is known; what is stored under it)."""
    mount = mounts("ttl=600")

    def make_one(table, row):
        path = mount / table / "p" / f"{row}.json"
        assert write(path, '{"N": 1}') == ""
        os.stat(path)
        return mount, path, lambda: stored(table)["p", row]

    return make_one


def digit(path):
    """The offset of the 1 of "N"."""
    return path.read_text().index("1\n}")


# What is done to $F, whose text has a 1 at $AT: (exit code, requests, members afterwards). $OUT is a directory of a disk.
TOOLS = {
    "printf 7 | dd of=$F bs=1 seek=$AT conv=notrunc status=none": (0, 1, {"N": 7}),
    "printf 7 | dd of=$F bs=1 seek=$AT status=none": (1, 0, {"N": 1}),  # cuts the text after it
    "exec 7<>$F; head -c $AT <&7 >$OUT/head; printf 7 >&7": (0, 1, {"N": 7}),
    "exec 7<>$F; head -c $AT <&7 >$OUT/head; /usr/bin/printf 7 >&7": (0, 1, {"N": 7}),
    "exec 7<>$F; cat <&7 >$OUT/cat; echo >&7": (0, 0, {"N": 1}),  # blanks after the object
    "exec 7<>$F; cat $F | cmp - /dev/fd/7": (0, 0, {"N": 1}),
    "{ echo; cat $F; } 1<>$F >$OUT/both": (0, 0, {"N": 1}),  # closed by the execve of cat
    "truncate -s -1 $F": (0, 1, {"N": 1}),  # the last newline
    "truncate -s +1 $F": (1, 0, {"N": 1}),
    "truncate -s 0 $F": (1, 0, {"N": 1}),
    "jq '.N = 7' $F | sponge $F": (0, 1, {"N": 7}),
    "jq '.N = 7' $F > $F": (0, 1, {"N": 7}),
    "jq '.N = 7' $F > $OUT/f && rsync -I --inplace $OUT/f $F": (0, 1, {"N": 7}),
    "jq '.N = 77' $F > $OUT/f && rsync -I --inplace --no-whole-file $OUT/f $F": (0, 1, {"N": 77}),
    "touch $F": (0, 1, {"N": 1}),
    "sync $F": (0, 0, {"N": 1}),
    "python3 -c 'import os; os.utime(\"'$F'\")'": (0, 1, {"N": 1}),
}


@pytest.mark.asan("local")
@pytest.mark.tsan("local")
def test_tools_that_change_a_file_in_place(make, out):
    for number, (command, (status, requests, members)) in enumerate(TOOLS.items()):
        mount, path, stored = make("tools", f"{number:02}")
        script = f"F={path} AT={digit(path)} OUT={out}; {command}"
        with mount.counting() as counted:
            done = run("bash", "-c", script, check=False)
        assert (done.returncode, stored()) == (status, members), (command, done.stderr)
        assert bool(done.stderr) == bool(status), (command, done.stderr)
        assert counted.asked() == ({"write": requests} if requests else {}), command
        assert json.loads(path.read_text())["N"] == members["N"], command


def test_seek_and_sync(make):
    mount, path, stored = make("calls", "sync")
    file, at = os.open(path, os.O_RDWR), digit(path)
    with mount.counting() as counted:
        os.lseek(file, at, os.SEEK_SET)
        write_all(file, "2")
        assert os.lseek(file, 0, os.SEEK_CUR) == at + 1
        assert stored() == {"N": 1}
    assert counted.asked() == {}
    for call in (os.fsync, os.fdatasync):
        with mount.counting() as counted:
            os.pwrite(file, b"3" if call is os.fsync else b"4", at)
            call(file)
            call(file)
        assert counted.asked() == {"write": 1}, "what is stored is not stored again"
        assert stored() == {"N": 3 if call is os.fsync else 4}
    with mount.counting() as counted:
        os.pwrite(file, b"?", 0)
        assert outcome(os.fsync, file) == outcome(os.fsync, file) == "EINVAL"
        os.pwrite(file, b"{", 0)
        os.close(file)
    assert counted.asked() == {"write": 1}
    assert failures(mount) == [] or {each["error"] for each in failures(mount)} == {"EINVAL"}
    assert mount.lost_texts() == {}


def test_every_size(make):
    mount, path, stored = make("calls", "size")
    before = path.read_bytes()
    file = os.open(path, os.O_RDWR)
    with mount.counting() as counted:
        os.ftruncate(file, len(before) + 5000)
        assert os.fstat(file).st_size == len(before) + 5000
        assert os.pread(file, 1 << 20, 0) == before + bytes(5000)
        assert path.read_bytes() == before, "others see what is stored"
        assert outcome(os.fsync, file) == "EINVAL"
        os.ftruncate(file, 10)
        assert os.pread(file, 1 << 20, 0) == before[:10]
        os.pwrite(file, b"{}", 20)
        assert os.pread(file, 1 << 20, 0) == before[:10] + bytes(10) + b"{}", "a gap is zeros"
        for size in (MAX_TEXT + 1, 1 << 40):
            assert outcome(os.ftruncate, file, size) == outcome(os.pwrite, file, b"{}", size - 2) == "EFBIG"
        assert outcome(os.truncate, path, 0) == outcome(os.truncate, path, 7) == "EINVAL", "by a path"
        os.ftruncate(file, MAX_TEXT)
        os.ftruncate(file, 0)
        assert os.fstat(file).st_size == 0
        assert stored() == {"N": 1}
    assert counted.asked() == {}
    write_all(file, " " * 22 + '{"N": 2}')
    assert outcome(os.close, file) == ""
    assert stored() == {"N": 2} and mount.lost_texts() == {}


def test_what_is_refused_at_close_changes_nothing(make):
    mount, path, stored = make("calls", "refused")
    before = path.read_bytes()
    file = os.open(path, os.O_RDWR)
    with mount.counting() as counted:
        os.ftruncate(file, len(before) + 3)
        assert outcome(os.close, file) == "EINVAL"
        lost = lost_texts(mount, 1)
    assert counted.asked() == {}
    assert before + bytes(3) in lost.values()
    assert stored() == {"N": 1} and path.read_bytes() == before


def test_each_open_has_a_text_of_its_own(make):
    """Of a stored entity. The first that stores wins; a reader keeps the version that it opened."""
    mount, path, stored = make("calls", "several")
    before = path.read_bytes()
    reader = os.open(path, os.O_RDONLY)
    first, second = os.open(path, os.O_RDWR), os.open(path, os.O_RDWR)
    copy = os.dup(first)
    os.pwrite(first, b"2", digit(path))
    assert os.pread(copy, 1 << 20, 0) == before.replace(b"1", b"2")
    assert os.pread(second, 1 << 20, 0) == os.pread(reader, 1 << 20, 0) == path.read_bytes() == before
    with mount.counting() as counted:
        assert outcome(os.close, copy) == outcome(os.close, first) == ""
    assert counted.asked() == {"write": 1}
    assert os.pread(reader, 1 << 20, 0) == before and path.read_bytes() == before.replace(b"1", b"2")
    os.pwrite(second, b"3", before.index(b"1\n}"))
    assert outcome(os.close, second) == "ESTALE"
    assert before.replace(b"1", b"3") in lost_texts(mount, 1).values()
    assert stored() == {"N": 2}
    os.close(reader)


def test_maps(make):
    mount, path, stored = make("calls", "map")
    before = path.read_bytes()
    with open(path, "r+b", buffering=0) as file:
        for access in (mmap.PROT_READ, mmap.PROT_READ | mmap.PROT_WRITE):
            assert outcome(lambda access=access: mmap.mmap(file.fileno(), 0, mmap.MAP_SHARED, access)) == "ENODEV"
        with mmap.mmap(file.fileno(), 0, mmap.MAP_PRIVATE) as private:
            assert private[:] == before
            private[:] = before.upper()
        assert file.read() == before
        os.pwrite(file.fileno(), b"2", digit(path))
        with mmap.mmap(file.fileno(), 0, mmap.MAP_PRIVATE, mmap.PROT_READ) as private:
            assert private[:] == before.replace(b"1", b"2")
    assert stored() == {"N": 2}
    with open(path, "rb") as file:
        with mmap.mmap(file.fileno(), 0, mmap.MAP_SHARED, mmap.PROT_READ) as shared:
            assert shared[:] == path.read_bytes()
        access = mmap.PROT_READ | mmap.PROT_WRITE
        assert outcome(lambda: mmap.mmap(file.fileno(), 0, mmap.MAP_SHARED, access)) == "EACCES"


def test_copy_file_range(make, out):
    mount, path, stored = make("calls", "copied")
    (out / "disk").write_text('{"N": 3}')
    with open(path, "rb") as source, open(path.with_name("copy.json"), "wb") as copy:
        size = os.fstat(source.fileno()).st_size
        with mount.counting() as counted:
            assert os.copy_file_range(source.fileno(), copy.fileno(), 1 << 20) == size
        assert counted.asked() == {"write": 1}, "of the whole text"
        with open(out / "disk", "rb") as disk:  # of another file system: cp then writes by itself
            assert outcome(os.copy_file_range, disk.fileno(), copy.fileno(), 1 << 20) == "EXDEV"
    assert json.loads(path.with_name("copy.json").read_text())["N"] == 1
    with open(path, "rb") as source, open(path, "r+b") as place:
        at = digit(path)
        assert os.copy_file_range(source.fileno(), place.fileno(), 1 << 20, at, at) == size - at
        os.pwrite(place.fileno(), b"4", at)
    assert stored() == {"N": 4}


# descriptors that another process has. argv: how it gets the descriptor, offset, what it writes. It says what close answers.
OTHER = """
import os, socket, sys
from writing import outcome
how, offset, piece = sys.argv[1], int(sys.argv[2]), sys.argv[3].encode()
if how == "sent":
    _, (file,), _, _ = socket.recv_fds(socket.socket(fileno=0), 1, 1)
else:
    file = 0
assert os.pwrite(file, piece, offset) == len(piece)
print(outcome(os.close, file))
"""


@pytest.mark.asan("sent-local")
@pytest.mark.parametrize("how", ["sent", "inherited"])
def test_a_descriptor_of_another_process(make, begin_with, how):
    """What it leaves good is stored by its close, and what it leaves bad is left to the opener."""
    mount, path, stored = make("passed", how)
    at = str(digit(path))
    file = os.open(path, os.O_RDWR)
    with mount.counting() as counted:
        assert begin_with(file, how, at, "2") == "\n"
        assert stored() == {"N": 2}
    assert counted.asked() == {"write": 1}
    with mount.counting() as counted:
        assert begin_with(file, how, at, "?") == "\n"
        assert outcome(os.fsync, file) == "EINVAL"
        os.pwrite(file, b"3", int(at))
        assert outcome(os.close, file) == ""
    assert counted.asked() == {"write": 1} and stored() == {"N": 3}

    file = os.open(path.with_name(f"{how}-new.json"), os.O_WRONLY | os.O_CREAT | os.O_EXCL)
    assert begin_with(file, how, "0", '{"A": ') == "\n", "the beginning of a text is no fault of its"
    with mount.counting() as counted:
        assert begin_with(file, how, "6", "1}") == "\n"
    assert counted.asked() == {"write": 1}
    assert outcome(os.close, file) == ""
    assert json.loads(path.with_name(f"{how}-new.json").read_text())["A"] == 1
    assert mount.lost_texts() == {}


CLOSED_BY_EXEC = """
import os, sys
file = os.open(sys.argv[1], os.O_RDWR)  # to be closed by an execve
os.pwrite(file, b"2", int(sys.argv[2]))
child = os.fork()
if child == 0:
    os.execv("/bin/true", ["true"])
assert os.waitpid(child, 0)[1] == 0
os.execv("/bin/true", ["true"])
"""


def test_a_descriptor_that_an_execve_closes(make):
    """Until the FLUSH is answered, the kernel holds back each read of /proc/PID/stat of the process."""
    mount, path, stored = make("passed", "exec")
    with mount.counting() as counted:
        run(sys.executable, "-B", "-c", CLOSED_BY_EXEC, path, str(digit(path)))
    assert counted.asked() == {"write": 1} and stored() == {"N": 2}


@pytest.fixture
def begin_with():
    """Runs OTHER with the descriptor, and answers what it prints."""

    def run_other(file, how, *arguments):
        ours, theirs = socket.socketpair()
        with ours, theirs:
            if how == "sent":
                socket.send_fds(ours, [b"x"], [file])
            command = [sys.executable, "-B", "-c", OTHER, how, *arguments]
            stdin = theirs if how == "sent" else file
            variables = {**os.environ, "PYTHONPATH": os.path.dirname(__file__)}
            done = subprocess.run(command, stdin=stdin, capture_output=True, text=True, env=variables, timeout=60)
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run_other
