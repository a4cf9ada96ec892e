"""flock and fcntl locks: of an entity or a scratch file, whichever node a descriptor has. On Azurite and in a file."""
import fcntl
import os
import pathlib
import signal
import struct
import subprocess

import pytest

from expected import entity_name
from harness import BOTH_SERVICES, environment, run, wait_until
from writing import failures, outcome, write, write_all

pytestmark = pytest.mark.parametrize("service", BOTH_SERVICES, indirect=True)

EXCLUSIVE = fcntl.LOCK_EX | fcntl.LOCK_NB
SHARED = fcntl.LOCK_SH | fcntl.LOCK_NB
FLAGS = {"r": os.O_RDONLY, "w": os.O_WRONLY, "rw": os.O_RDWR, "a": os.O_WRONLY | os.O_APPEND, "new": os.O_RDWR | os.O_CREAT}
COUNTING = """
for i in $(seq 10); do
    (
        flock 9
        n=$(sed -n 's/.*"N": \\([0-9]*\\).*/\\1/p' f.json)
        echo "{\\"N\\": $((n + 1))}" > f.json
    ) 9>>f.json
done
"""
# takes a lock in another process, and tells when it has it
LOCKER = """
import fcntl, os, sys
file = os.open(sys.argv[1], os.O_RDWR)
print("waits", flush=True)
getattr(fcntl, sys.argv[2])(file, fcntl.LOCK_EX)
print("has", flush=True)
sys.stdin.readline()
"""


@pytest.fixture(scope="module", autouse=True)
def data(make_table):
    make_table("locks", [("p", "f"), ("p", "g"), ("q", "f")])


@pytest.fixture
def p(mount):
    return mount / "locks/p"


@pytest.fixture
def opened():
    """open(), whose descriptors are closed at the end."""
    files = []

    def open_file(path, mode="rw"):
        files.append(os.open(path, FLAGS[mode], 0o644))
        return files[-1]

    yield open_file
    for file in files:
        outcome(os.close, file)


@pytest.fixture
def lockers():
    """Starts a process that takes a lock; it has the lock until it is ended."""
    started = []

    def start(path, call="flock"):
        process = subprocess.Popen(
            ["/usr/bin/python3", "-c", LOCKER, path, call], env=environment(), text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        )
        started.append(process)
        assert process.stdout.readline() == "waits\n"
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()


def flock(file, operation=EXCLUSIVE):
    return outcome(fcntl.flock, file, operation)


def has(locker):
    return locker.stdout.readline() == "has\n"


def is_waiting(pid):
    """For the answer to a request."""
    return "fuse" in pathlib.Path(f"/proc/{pid}/stack").read_text()


@pytest.mark.parametrize("first", FLAGS)
@pytest.mark.parametrize("second", FLAGS)
@pytest.mark.parametrize("name", ["f.json", "new.json", ".scratch"])
def test_flock_excludes(mount, p, opened, name, first, second):
    if name != "f.json":
        os.close(os.open(p / name, os.O_WRONLY | os.O_CREAT))
    one, two = opened(p / name, first), opened(p / name, second)
    assert (flock(one), flock(two), flock(two, SHARED)) == ("", "EAGAIN", "EAGAIN")
    assert (flock(one, SHARED), flock(two, SHARED)) == ("", "")
    assert (flock(one), flock(two, fcntl.LOCK_UN), flock(one)) == ("EAGAIN", "", "")
    assert failures(mount) == []


@pytest.mark.asan(".scratch-local")
@pytest.mark.tsan(".scratch-local")
@pytest.mark.parametrize("name", ["f.json", ".scratch"])
def test_ranges_of_fcntl(p, opened, lockers, name):
    os.close(os.open(p / name, os.O_WRONLY | os.O_CREAT))
    file = opened(p / name)
    other = lockers(p / name, "lockf")
    assert has(other)
    query = struct.pack("hhqqi", fcntl.F_WRLCK, os.SEEK_SET, 5, 3, 0)
    kind, whence, start, size, pid = struct.unpack("hhqqi", fcntl.fcntl(file, fcntl.F_GETLK, query))
    assert (kind, whence, start, size, pid) == (fcntl.F_WRLCK, os.SEEK_SET, 0, 0, other.pid)
    assert outcome(fcntl.lockf, file, EXCLUSIVE, 3, 5) == "EAGAIN"
    other.communicate("")
    assert outcome(fcntl.lockf, file, EXCLUSIVE, 3, 5) == ""
    assert run("/usr/bin/python3", "-c", f"""
import fcntl, os
file = os.open({str(p / name)!r}, os.O_RDWR)
fcntl.lockf(file, {EXCLUSIVE}, 5, 0)
fcntl.lockf(file, {EXCLUSIVE}, 0, 8)
fcntl.lockf(file, {EXCLUSIVE}, 1, 7)
""", check=False).stderr.count("BlockingIOError") == 1


def test_a_lock_of_fcntl_ends_with_the_first_close_of_a_writer(p, opened, lockers):
    """As POSIX says: any descriptor that the process closes. With the close its text is stored."""
    first, second = opened(p / "f.json"), opened(p / "f.json")
    fcntl.lockf(first, fcntl.LOCK_EX)
    locker = lockers(p / "f.json", "lockf")
    os.ftruncate(second, 0)
    write_all(second, '{"N": 77}')
    os.close(second)
    assert has(locker)
    assert '"N": 77' in (p / "f.json").read_text()


@pytest.mark.parametrize("call", ["flock", "lockf"])
def test_a_lock_ends_with_its_process(p, opened, lockers, call):
    file = opened(p / "f.json")
    killed = lockers(p / "f.json", call)
    assert has(killed)
    waiting = lockers(p / "f.json", call)
    killed.kill()
    assert has(waiting)
    assert outcome(getattr(fcntl, call), file, EXCLUSIVE) == "EAGAIN"


@pytest.mark.asan("lockf-local")
@pytest.mark.tsan("flock-local", "lockf-local")
@pytest.mark.parametrize("call", ["flock", "lockf"])
def test_a_wait_is_interrupted(p, opened, lockers, call):
    file = opened(p / "f.json")
    getattr(fcntl, call)(file, fcntl.LOCK_EX)
    for end in (signal.SIGINT, signal.SIGKILL):
        locker = lockers(p / "f.json", call)
        wait_until(lambda locker=locker: is_waiting(locker.pid), what="the lock")
        locker.send_signal(end)
        assert locker.wait(60) == -end
    getattr(fcntl, call)(file, fcntl.LOCK_UN)
    assert has(lockers(p / "f.json", call))


@pytest.mark.asan("local")
@pytest.mark.tsan("local")
def test_many_wait_without_a_thread(mount, p, opened):
    """More than the mount has threads for callers."""
    file = opened(p / "f.json")
    fcntl.flock(file, fcntl.LOCK_EX)
    script = "import fcntl, os, sys, threading\nfiles = [os.open(sys.argv[1], os.O_RDWR) for _ in range(300)]\n" \
        "threads = [threading.Thread(target=lambda f=f: (fcntl.flock(f, fcntl.LOCK_EX), os.close(f))) for f in files]\n" \
        "[thread.start() for thread in threads]\nprint(flush=True)\n[thread.join() for thread in threads]\nprint('all')"
    waiting = subprocess.Popen(
        ["/usr/bin/python3", "-c", script, p / "f.json"], env=environment(), text=True, stdout=subprocess.PIPE
    )
    waiting.stdout.readline()
    tasks = f"/proc/{mount.pid}/task"
    assert len(os.listdir(tasks)) < 100 and (p / "g.json").read_text()
    fcntl.flock(file, fcntl.LOCK_UN)
    assert waiting.communicate(timeout=120)[0] == "all\n"


@pytest.mark.asan("local")
@pytest.mark.tsan("local")
def test_a_rename_moves_the_lock(p, opened):
    for source, target in (("moved", "target"), ("target", "../q/moved")):
        if source == "moved":
            assert write(p / "moved.json", "{}") == write(p / "target.json", "{}") == ""
        one = opened(p / f"{source}.json")
        replaced = opened(p / "target.json") if source == "moved" else None
        fcntl.flock(one, fcntl.LOCK_EX)  # the kernel releases what had it before beside its close
        os.rename(p / f"{source}.json", p / f"{target}.json")
        assert flock(opened(p / f"{target}.json", "r")) == "EAGAIN"
        if replaced is not None:
            assert flock(replaced) == "", "what was replaced has locks of its own"
            os.close(replaced)
        os.close(one)


@pytest.mark.asan("azurite")
@pytest.mark.tsan("local")
def test_an_editors_renames_move_the_lock(p, opened):
    """The entity becomes a backup and comes back; a scratch file becomes the entity."""
    one = opened(p / "g.json", "r")
    assert flock(one) == ""
    os.rename(p / "g.json", p / "g.json~")
    assert flock(opened(p / "g.json~", "r")) == "EAGAIN"
    os.rename(p / "g.json~", p / "g.json")
    assert flock(opened(p / "g.json", "r")) == "EAGAIN"
    new = opened(p / ".new", "new")
    write_all(new, "{}")
    assert flock(new) == ""
    os.rename(p / ".new", p / "g.json")
    os.close(one)
    assert flock(opened(p / "g.json", "r")) == "EAGAIN"
    os.close(new)
    last = opened(p / "g.json", "r")
    wait_until(lambda: flock(last) == "", what="the end of the lock")


def test_a_removed_file_keeps_its_lock(p, opened):
    assert write(p / "removed.json", "{}") == ""
    old = opened(p / "removed.json", "r")
    assert flock(old) == ""
    os.unlink(p / "removed.json")
    new = opened(p / "removed.json", "new")
    assert flock(new) == ""
    os.unlink(p / "removed.json")


@pytest.mark.tsan("local")
def test_eight_processes_count(p):
    assert write(p / "f.json", '{"N": 0}', os.O_WRONLY | os.O_TRUNC) == ""
    run("bash", "-c", f"for p in 1 2 3 4 5 6 7 8; do ({COUNTING}) & done; wait", cwd=p, timeout=300)
    assert '"N": 80\n' in (p / "f.json").read_text()


@pytest.mark.asan("local")
def test_a_read_only_mount_has_locks(mounts, opened):
    mount = mounts("ro")
    one, two = (opened(mount / "locks/p/f.json", "r") for _ in range(2))
    assert (flock(one), flock(two)) == ("", "EAGAIN")


def test_two_mounts_have_their_own_locks(mounts, opened):
    one, two = (opened(mounts() / "locks/p/f.json") for _ in range(2))
    assert (flock(one), flock(two)) == ("", "")


@pytest.mark.asan("local")
def test_a_file_whose_key_is_not_known_cannot_be_locked(mount, p, opened):
    file = opened(p / entity_name("k" * 300), "new")
    assert flock(file) == outcome(fcntl.lockf, file, EXCLUSIVE) == "ENOLCK"
    (first,) = failures(mount)
    assert (first["operation"], first["error"]) == ("lock", "ENOLCK")
    assert first["reason"].endswith("the long key of the file is not known yet")


@pytest.mark.asan("local")
@pytest.mark.tsan("local")
def test_the_mount_ends_while_a_process_waits(mounts, lockers):
    mount = mounts()
    file = os.open(mount / "locks/p/f.json", os.O_RDONLY)
    fcntl.flock(file, fcntl.LOCK_EX)
    locker = lockers(mount / "locks/p/f.json")
    mount.send(signal.SIGTERM)
    assert locker.wait(60) == 1
    outcome(os.close, file)
