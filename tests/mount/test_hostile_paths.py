"""Another user has a directory on the way to a mount point, and leads the path elsewhere while root mounts or unmounts; or
wants to know how a mount ended, or that root does not know it; or takes the places in which callers wait."""
import contextlib
import os
import pathlib
import re
import signal
import subprocess
import sys

import pytest

from harness import ABANDONED, COMMAND_SEC, EXIT_SEC, FAULTY, MOUNTING, TABLEFUSE, is_readable, libc, no_copies, run
from harness import wait_until

pytestmark = [
    pytest.mark.parametrize("service", ["local"], indirect=True),
    pytest.mark.skipif(os.geteuid() != 0, reason="what root does, and other users"),
]

MNT_DETACH = 2  # of umount2
OTHER = 65534
NOT_KNOWN = "tablefuse: unmounted, but how its process ended is not known\n"


@pytest.fixture(scope="module", autouse=True)
def tables(make_table):
    make_table("tab", [("p", "r")])


@pytest.fixture
def other(tmp_path):
    """A directory that has `mnt`, where another file system is mounted."""
    point = tmp_path / "other/mnt"
    point.mkdir(parents=True)
    run("mount", "-t", "tmpfs", "-o", "nosuid", "another", point)
    yield point.parent
    while filesystem(point):
        libc.umount2(os.fsencode(point), MNT_DETACH)


@contextlib.contextmanager
def led_to(other, mount):
    """Meanwhile the directory above the mount point has another name, and its own name is a link to `other`."""
    above = mount.point.parent
    moved = above.with_name(f"{above.name}-moved")
    above.rename(moved)
    above.symlink_to(other)
    try:
        yield moved / "mnt"
    finally:
        above.unlink()
        moved.rename(above)


def filesystem(point):
    """Of what is mounted there, "" for nothing."""
    lines = pathlib.Path("/proc/self/mounts").read_text().splitlines()
    return "".join(line.split(" ")[2] for line in lines if line.split(" ")[1] == str(point))


@pytest.fixture
def waiting(tmp_path):
    """How many requests of a mount its process has not answered."""
    control = tmp_path / "connections"
    control.mkdir()
    run("mount", "-t", "fusectl", "none", control)

    def count(mount):
        number = os.minor(os.stat(mount.point).st_dev) if not count.number else count.number
        count.number = number
        return int((control / str(number) / "waiting").read_text())

    count.number = None
    yield count
    run("umount", control)


@pytest.mark.asan
def test_unmount_unmounts_what_it_has_asked(mounts, other, waiting, begin):
    mount = mounts()
    wait_until(lambda: waiting(mount) == 0)
    mount.send(signal.SIGSTOP)
    unmount = begin(TABLEFUSE, "unmount", mount.point)
    wait_until(lambda: waiting(mount) > 0, what="the question")
    with led_to(other, mount) as moved, no_copies():
        mount.send(signal.SIGCONT)
        assert unmount.communicate(timeout=COMMAND_SEC) == ("", "")
        assert (filesystem(other / "mnt"), filesystem(moved)) == ("tmpfs", "")
    assert unmount.returncode == 0 and mount.has_ended()


def test_unmount_does_not_unmount_what_has_taken_the_name(mounts, other, waiting, begin):
    """Root itself mounts something over the mount while it is asked."""
    mount = mounts()
    wait_until(lambda: waiting(mount) == 0)
    mount.send(signal.SIGSTOP)
    unmount = begin(TABLEFUSE, "unmount", mount.point)
    wait_until(lambda: waiting(mount) > 0, what="the question")
    run("mount", "--bind", other / "mnt", mount.point)
    try:
        mount.send(signal.SIGCONT)
        said = f"tablefuse: cannot unmount {mount.point}: something else is there now\n"
        assert unmount.communicate(timeout=COMMAND_SEC) == ("", said)
        assert unmount.returncode == MOUNTING
        assert filesystem(mount.point) == "fuse.tablefusetmpfs"
    finally:
        run("umount", mount.point)


def test_a_dead_mount_is_removed_and_nothing_else(mounts, other, service, waiting, begin):
    mount = mounts()
    wait_until(lambda: waiting(mount) == 0)
    mount.send(signal.SIGSTOP)
    again = begin(TABLEFUSE, "mount", service.source, mount.point, **mount.variables())
    wait_until(lambda: waiting(mount) > 0, what="the question")
    with led_to(other, mount) as moved:
        mount.send(signal.SIGKILL)
        _, said = again.communicate(timeout=COMMAND_SEC)
        assert filesystem(other / "mnt") == "tmpfs"
        # where the directory is now
        assert (said, again.returncode, filesystem(moved)) == ("", 0, "fuse.tablefuse")
    mount.adopt()
    mount.unmount()


def test_mount_mounts_on_the_directory_that_it_has_checked(mounts, other, service, begin, tmp_path):
    gate = tmp_path / "gate"
    mount = mounts.prepare()
    faults = f"hold=list_tables:{gate}"
    gate.touch()
    command = begin(FAULTY, "mount", service.source, mount.point, TABLEFUSE_FAULTS=faults, **mount.variables())
    wait_until(gate.with_name("gate.held").exists, what="the first request")
    with led_to(other, mount) as moved:
        gate.unlink()
        assert command.communicate(timeout=COMMAND_SEC) == ("", "")
        assert filesystem(other / "mnt") == "tmpfs"
        assert (command.returncode, filesystem(moved)) == (0, "fuse.tablefuse")
    mount.adopt()
    mount.unmount()


def test_the_end_of_a_mount_unmounts_nothing_else(mounts, other):
    mount = mounts()
    with led_to(other, mount) as moved:
        mount.send(signal.SIGTERM)
        assert mount.has_ended()
        assert filesystem(other / "mnt") == "tmpfs"
        run("umount", moved)  # a dead mount


def as_other():
    os.setgroups([])
    os.setgid(OTHER)
    os.setuid(OTHER)


# argv: names of sockets. Connects 1,100 times to each that /proc shows, and waits.
FILL = """
import resource, socket, sys
resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
shown, kept = open("/proc/net/unix").read().split(), []
for name in sys.argv[1:]:
    for number in range(1100 if "@" + name in shown else 0):
        kept.append(socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET))
        kept[-1].setblocking(False)
        try:
            kept[-1].connect("\\0" + name)
        except BlockingIOError: # it is full
            pass
print(len(kept), flush=True)
sys.stdin.read()
for one in kept:
    try:
        print(len(one.recv(1000)))
    except OSError:
        pass
"""


@contextlib.contextmanager
def run_as_other(script, *arguments):
    command = [sys.executable, "-c", script, *map(str, arguments)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, preexec_fn=as_other, cwd="/"
    ) as process:
        assert is_readable(process.stdout, COMMAND_SEC)
        yield process.stdout.readline().strip(), process


# argv: a directory and a number of threads, each of which looks a name up in it. Prints the number of each that
# fails with EBUSY.
LOOK_UP = """
import errno, os, sys, threading
threading.stack_size(1 << 16)
def look_up(number):
    try:
        os.stat(f"{sys.argv[1]}/none{number}")
    except OSError as error:
        if error.errno == errno.EBUSY:
            print(number, flush=True)
for number in range(int(sys.argv[2])):
    threading.Thread(target=look_up, args=[number]).start()
"""


def test_another_user_does_not_take_all_places(mounts, begin, tmp_path, waiting):
    gate = tmp_path / "gate"
    mount = mounts("allow_other", faults=f"hold=list_tables:{gate}")
    wait_until(lambda: waiting(mount) == 0)
    gate.touch()
    try:
        with run_as_other(LOOK_UP, mount.point, 901) as (turned_away, _):
            assert turned_away.isdigit(), "one more than the share of a user"
            waits = begin("stat", mount / "none")
            wait_until(lambda: waiting(mount) == 901, what="the lookup of root")
            assert waits.poll() is None
            gate.unlink()
            _, said = waits.communicate(timeout=COMMAND_SEC)
            assert "No such file" in said
    finally:
        gate.unlink(missing_ok=True)
    assert "900 callers of this user are waiting" in mount.control("errors")


@pytest.mark.asan
def test_another_user_does_not_suppress_the_report_of_lost_changes(mounts):
    mount = mounts("allow_other", faults="fail=write:*:400:InvalidInput")
    os.close(os.open(mount / "tab/p/refused.json", os.O_WRONLY | os.O_CREAT))
    names = re.findall("^exit_socket (.*)$", mount.control("version"), re.MULTILINE)
    with run_as_other(FILL, *names, f"tablefuse-exit-{mount.pid}") as (count, process):
        assert count == "1100"
        done = mount.unmount(check=False)
        assert done.returncode == ABANDONED, done
        assert "could not be stored" in done.stderr
        out, _ = process.communicate(timeout=EXIT_SEC)
        assert set(out.split()) <= {"0"}, "nobody else learns the report"


def test_another_user_is_not_told_the_socket(mounts):
    mount = mounts("allow_other")
    assert mount.control("version").splitlines()[3].startswith("exit_socket tablefuse-exit-")
    program = "import sys; print(repr(open(sys.argv[1]).read()))"
    with run_as_other(program, mount / ".tablefuse/version") as (text, _):
        assert "pid" in text and "exit" not in text


def test_without_a_report_the_end_is_not_known(mounts):
    """In another network namespace there is no socket."""
    mount = mounts()
    with no_copies():
        done = run("unshare", "--net", TABLEFUSE, "unmount", mount.point, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (MOUNTING, "", NOT_KNOWN)
    assert not mount.is_mounted() and mount.has_ended()


def test_a_process_that_is_killed_at_its_end_tells_nothing(mounts, begin, tmp_path):
    gate = tmp_path / "gate"
    mount = mounts(faults=f"hold=write:{gate}")
    gate.touch()
    os.close(os.open(mount / "tab/p/new.json", os.O_WRONLY | os.O_CREAT))
    with no_copies():
        unmount = begin(TABLEFUSE, "unmount", mount.point)
        wait_until(lambda: not mount.is_mounted(), what="the unmount")
    mount.send(signal.SIGKILL)
    assert unmount.communicate(timeout=COMMAND_SEC) == ("", NOT_KNOWN)
    assert unmount.returncode == MOUNTING


def test_a_read_only_mount_has_nothing_to_report(mounts):
    mount = mounts("ro")
    with no_copies():
        done = run("unshare", "--net", TABLEFUSE, "unmount", mount.point)
    assert (done.stdout, done.stderr) == ("", "") and mount.has_ended()
