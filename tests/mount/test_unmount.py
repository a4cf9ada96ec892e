"""Files that are open when a mount ends: each text is stored or kept in lost+found, and `unmount` reports losses."""
import os
import re
import signal
import subprocess
import sys

import pytest

from harness import ABANDONED, COMMAND_SEC, GOES_ON, MOUNTING, TABLEFUSE, copying_mounts, environment, no_copies, run
from harness import wait_until
from writing import write

pytestmark = pytest.mark.parametrize("service", ["local"], indirect=True)

FILES = 300

# argv: directory, a text. Its files are closed by its end.
LEAVE_OPEN = """
import os, sys
directory, text = sys.argv[1], sys.argv[2].encode()
opened = [os.open(f"{directory}/{number}.json", os.O_WRONLY | os.O_CREAT) for number in range(%d)]
for file in opened:
    os.write(file, text)
""" % FILES


# argv: a file. It is open until standard input ends.
CHANGE_IN_PLACE = """
import os, sys
file = os.open(sys.argv[1], os.O_RDWR)
os.pwrite(file, os.read(file, 1000).replace(b'"a": 1', b'"a": 7'), 0)
print("changed", flush=True)
sys.stdin.read()
"""


@pytest.fixture(scope="module", autouse=True)
def tables(make_table):
    make_table("tab", [("p", "beside")])


def lost(mount):
    return [name for name in mount.lost_texts() if not name.endswith(".reason")]


def says_lost(mount, count):
    """What `unmount` says of files that could not be stored."""
    files, were = ("file", "it was") if count == 1 else ("files", "they were")
    place = f"{mount.state}/tablefuse/lost+found"
    return (
        f"tablefuse: unmounted, but {count} {files} could not be stored when {were} closed -- see the log, and {place}\n"
    )


@pytest.mark.tsan
def test_unmount_reports_texts_that_were_lost(mounts):
    """The process ends just before the unmount. The kernel then drops some of its RELEASEs: those files are still open
    at the end of the mount, and `unmount` reports them. The others were released before, so the number varies."""
    mount = mounts()
    run(sys.executable, "-c", LEAVE_OPEN, mount / "tab/p", '{"N": ')
    done = mount.unmount(check=False)
    assert len(lost(mount)) == FILES
    said = re.fullmatch(
        r"tablefuse: unmounted, but (\d+) files? could not be stored when (it was|they were) closed"
        r" -- see the log, and (\S+)\n",
        done.stderr,
    )
    assert done.returncode == (ABANDONED if said else 0) and (said or done.stderr == "")
    if said:
        assert int(said[1]) <= FILES and said[3] == f"{mount.state}/tablefuse/lost+found"


# argv: a file. A child process writes half a text to it, after its parent has closed the file.
LEAVE_TO_A_CHILD = """
import os, sys
file = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT)
begin, go = os.pipe()
if os.fork() == 0:
    os.close(go)
    os.read(begin, 1)
    os.write(file, b'{"half": ')
    os.close(file)
    os._exit(0)
os.close(file)
os.close(go)
os.wait()
"""


def errors(mount, count):
    """The failures, once there are `count` of them."""
    wait_until(lambda: mount.control("errors").count("\n") == count, what="the RELEASE")
    return mount.control("errors")


def test_unmount_reports_files_that_were_lost_before_and_no_call_told_it(mounts, stored):
    mount = mounts(faults="fail=write:*:400:InvalidInput")
    for name in ("first", "second"):
        os.close(os.open(mount / f"tab/p/{name}.json", os.O_WRONLY | os.O_CREAT))
    run(sys.executable, "-c", LEAVE_TO_A_CHILD, mount / "tab/p/half.json")
    assert errors(mount, 3).count("release /tab/p/") == 3
    done = mount.unmount(check=False)
    assert (done.returncode, done.stderr) == (ABANDONED, says_lost(mount, 3))
    assert [name.split("-p-")[1] for name in lost(mount)] == ["half.json"]
    assert not {("p", "first"), ("p", "second"), ("p", "half")} & stored("tab").keys()


def test_unmount_does_not_report_what_a_call_has_told(mounts):
    mount = mounts(faults="fail=write:*:400:InvalidInput")
    for call in (os.fsync, os.utime):
        file = os.open(mount / f"tab/p/{call.__name__}.json", os.O_WRONLY | os.O_CREAT)
        with pytest.raises(OSError, match="Invalid argument"):
            call(file)
        os.close(file)
    assert write(mount / "tab/p/half.json", "{") == "close EINVAL"
    told = errors(mount, 5)
    assert [told.count(f"{call} /tab/p/") for call in ("fsync", "setattr", "release")] == [1, 1, 3]
    assert mount.unmount().stderr == ""
    assert len(lost(mount)) == 1


def test_unmount_reports_a_new_file_whose_release_fails_meanwhile(mounts, begin, stored):
    """It was never written, so nothing is in lost+found. Its process has ended, and was not told. The mount may be
    detached before its process knows that: the report does not depend on it."""
    gate = mounts.prepare().point.with_name("gate")
    mount = mounts(faults=f"hold=write:{gate},fail=write:1:400:InvalidInput")
    gate.touch()
    try:
        os.close(os.open(mount / "tab/p/refused.json", os.O_WRONLY | os.O_CREAT))
        wait_until(gate.with_name("gate.held").exists, what="the RELEASE")
        with no_copies():
            unmount = begin(TABLEFUSE, "unmount", mount.point)
            wait_until(lambda: not mount.is_mounted(), what="the unmount")
    finally:
        gate.unlink()
    _, said = unmount.communicate(timeout=COMMAND_SEC)
    assert (unmount.returncode, said) == (ABANDONED, says_lost(mount, 1))
    assert lost(mount) == []
    assert ("p", "refused") not in stored("tab")


needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount other file systems")


@needs_root
def test_unmount_of_a_mount_that_is_bound_elsewhere(mounts):
    mount = mounts()
    other = mount.point.with_name("other")
    other.mkdir()
    run("mount", "--bind", mount.point, other)
    try:
        assert mount.unmount().stderr == GOES_ON
        assert not mount.is_mounted() and not mount.has_ended(0)
        assert os.listdir(other / "tab/p") == ["beside.json"]
    finally:
        with no_copies():
            assert run(TABLEFUSE, "unmount", other).stderr == ""
    assert mount.has_ended()


@needs_root
def test_unmount_of_a_mount_that_another_namespace_has(mounts):
    mount = mounts()
    of_others = "grep fuse.tablefuse /proc/self/mounts | cut -d' ' -f2 | grep -vxF \"$0\" | xargs -r umount -l -i"
    words = ["unshare", "--mount", "sh", "-c", f'{of_others}; flock -u "$COPIES"; echo; exec cat', mount.point]
    with copying_mounts(environment()) as options:
        other = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, **options)
    with other:
        assert other.stdout.readline() == b"\n"
        assert mount.unmount().stderr == GOES_ON
        assert not mount.is_mounted() and not mount.has_ended(0)
        assert os.listdir(f"/proc/{other.pid}/root{mount.point}/tab/p") == ["beside.json"]
        other.stdin.close()
    assert mount.has_ended()


@pytest.mark.parametrize("option, code", [("writeback", MOUNTING), ("ro", 0)])
def test_unmount_tells_that_the_process_was_killed_before(mounts, option, code):
    mount = mounts(option)
    mount.send(signal.SIGKILL)
    assert mount.has_ended()
    done = mount.unmount(check=False)
    told = "tablefuse: unmounted, but its process was killed before: what was queued then is lost\n"
    assert (done.returncode, done.stderr) == (code, told if code else "")
    assert not mount.is_mounted()


@pytest.mark.parametrize("how", ["unmount", "umount"])
def test_new_files_that_were_never_written_are_stored(mounts, stored, how):
    mount = mounts()
    os.mkdir(mount / f"tab/{how}")
    run(sys.executable, "-c", LEAVE_OPEN, mount / f"tab/{how}", "")
    if how == "unmount":
        assert mount.unmount().stderr == ""
    else:
        run("umount", mount.point)
    assert mount.has_ended()
    assert len([key for key in stored("tab") if key[0] == how]) == FILES
    assert lost(mount) == []


def test_a_text_that_is_changed_in_place_is_stored_when_the_process_of_the_mount_is_ended(mounts, stored):
    mount = mounts()
    os.mkdir(mount / "tab/place")
    (mount / "tab/place/r.json").write_text('{"a": 1}')
    with subprocess.Popen(
        [sys.executable, "-c", CHANGE_IN_PLACE, mount / "tab/place/r.json"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as editor:
        assert editor.stdout.readline() == "changed\n"
        mount.send(signal.SIGTERM)
        assert mount.has_ended()
        editor.stdin.close()
    assert lost(mount) == []
    assert stored("tab")["place", "r"]["a"] == 7


def test_mount_tells_what_is_new_in_lost_and_found(mounts, service, tmp_path):
    """Of its account, once."""
    mount = mounts()
    place = f"{mount.state}/tablefuse/lost+found"
    assert write(mount / "tab/p/half.json", "{") == write(mount / "tab/p/other.json", "{") == "close EINVAL"
    wait_until(lambda: len(lost(mount)) == 2, what="the lost texts")
    mount.unmount(check=False)
    assert mount.has_ended()
    other = f"local:{tmp_path}/another.tablefuse"
    mount.start(other, "create", says="")
    assert write(mount / "tab/p/half.json", "{") == "open ENOENT"
    mount.unmount()
    says = f"2 new files of this account in {place}: kept there because they could not be stored, or were temporary"
    mount.start(service.source, says=f"tablefuse: {says}\n")
    assert write(mount / "tab/p/notes.tmp", "a scratch file") == ""
    mount.unmount()
    says = f"1 new file of this account in {place}: kept there because it could not be stored, or was temporary"
    mount.start(service.source, says=f"tablefuse: {says}\n")
    assert write(mount / "tab/p/notes.tmp", "a scratch file") == ""
    mount.unmount()
    mount.start(service.source, says="")
    assert sorted(name.split("-", 2)[2] for name in lost(mount)) == [
        "tab-p-half.json",
        "tab-p-notes.tmp",
        "tab-p-other.json",
    ]
