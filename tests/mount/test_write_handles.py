"""Files that are open for writing: created by one of many, truncated, dup'ed, inherited, unlinked, left open at unmount."""
import errno
import json
import os
import signal
import subprocess
import sys
import threading

import pytest

from harness import ABANDONED, BOTH_SERVICES, EXIT_SEC, run, wait_until
from writing import (
    CREATE,
    EXCLUSIVE,
    OVER,
    begin_foreground,
    failures,
    lost_texts,
    outcome,
    write,
    write_all,
)

pytestmark = pytest.mark.parametrize("service", BOTH_SERVICES, indirect=True)



@pytest.fixture(scope="module", autouse=True)
def tables(make_table):
    for table in ("one", "two", "gone", "left", "half", "still"):
        make_table(table, [("p", "old")])


@pytest.fixture
def of(stored):
    """What is stored under a path of the mount; None: nothing."""
    return lambda table, row: stored(table).get(("p", row))


# O_EXCL, O_CREAT


def test_a_second_exclusive_create_fails_with_eexist(mount, of):
    path = mount / "one/p/lock.json"
    first = os.open(path, EXCLUSIVE)
    assert outcome(os.open, path, EXCLUSIVE) == "EEXIST", "while nothing is written"
    write_all(first, '{"N": 1}')
    assert outcome(os.open, path, EXCLUSIVE) == "EEXIST", "once it is stored"
    os.close(first)
    assert outcome(os.open, path, EXCLUSIVE) == "EEXIST"
    assert of("one", "lock") == {"N": 1}


@pytest.mark.tsan("local")
def test_of_two_mounts_one_creates_the_entity(mounts, of):
    """Both may open it. One of the two texts is stored; the other one's write fails."""
    pair = [mounts("ttl=0"), mounts("ttl=0")]
    for turn in range(10):
        told, barrier = {}, threading.Barrier(2)

        def create(number, name=f"race{turn}", told=told, barrier=barrier):
            barrier.wait(timeout=60)
            told[number] = write(pair[number] / f"two/p/{name}.json", f'{{"By": {number}}}', EXCLUSIVE)

        threads = [threading.Thread(target=create, args=(number,)) for number in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        (winner,) = [number for number in told if told[number] == ""]
        assert told[1 - winner] in ("open EEXIST", "write EEXIST")
        assert of("two", f"race{turn}") == {"By": winner}
    # the write has reported the failure, so nothing is kept
    assert pair[0].lost_texts() == {} and pair[1].lost_texts() == {}


def test_noclobber_is_exclusive(mount, of):
    script = "set -C; echo '{\"N\": 1}' > lock2.json; echo $?; echo '{\"N\": 2}' > lock2.json; echo $?"
    done = run("bash", "-c", script, cwd=mount / "one/p", check=False)
    assert done.stdout == "0\n1\n" and "cannot overwrite existing file" in done.stderr
    assert of("one", "lock2") == {"N": 1}


def test_a_new_file_is_open_twice_and_has_one_text(mount, of):
    path = mount / "one/p/shared.json"
    first = os.open(path, CREATE)
    second = os.open(path, os.O_WRONLY)
    os.pwrite(first, b'{"A": ', 0)
    assert outcome(os.stat, path) == "" and os.stat(path).st_size == 6
    os.pwrite(second, b"1}", 6)
    assert of("one", "shared") == {"A": 1}
    os.close(first)
    os.close(second)
    assert json.loads(path.read_text())["A"] == 1


def test_of_three_that_write_a_new_file_the_last_one_wins(mount, of):
    """Two share its text; the third opens what the first has stored. No program has read it."""
    path = mount / "one/p/three.json"
    last = os.open(path, CREATE)
    first = os.open(path, CREATE)
    write_all(first, '{"N": 1}')
    os.close(first)
    assert write(path, '{"N": 3}') == ""
    assert of("one", "three") == {"N": 3}
    write_all(last, '{"N": 2}')
    assert outcome(os.close, last) == ""
    assert of("one", "three") == {"N": 2}
    assert json.loads(path.read_text())["N"] == 2


def test_a_new_file_that_was_read_does_not_replace_another_programs_text(mount, of):
    """What it has read is older."""
    path = mount / "one/p/reads.json"
    file = os.open(path, os.O_RDWR | os.O_CREAT)
    write_all(file, '{"N": 1}')
    assert os.pread(file, 100, 0) == b'{"N": 1}'
    run(sys.executable, "-c", "import sys; open(sys.argv[1], 'w').write('{\"N\": 3}')", path)
    os.pwrite(file, b'{"N": 2}', 0)
    assert outcome(os.close, file) == "ESTALE"
    assert of("one", "reads") == {"N": 3}


# O_TRUNC


def test_a_file_is_truncated_when_its_text_is_replaced_not_before(mount, of):
    path = mount / "one/p/long.json"
    assert write(path, json.dumps({"Long": "x" * 10000})) == ""
    file = os.open(path, OVER)
    assert of("one", "long") == {"Long": "x" * 10000}
    assert json.loads(path.read_text())["Long"] == "x" * 10000, "others read what is stored"
    write_all(file, '{"S": 1}')
    assert of("one", "long") == {"S": 1}, "stored by the write that completes it"
    os.close(file)
    assert json.loads(path.read_text())["S"] == 1


def test_each_object_of_a_file_that_is_rewritten(mount, of):
    path = mount / "one/p/again.json"
    file = os.open(path, CREATE)
    for number in range(3):
        write_all(file, f'{{"N": {number}}}')
        assert of("one", "again") == {"N": number}
        os.ftruncate(file, 0)
        os.lseek(file, 0, os.SEEK_SET)
    assert outcome(os.close, file) == "EINVAL", "it was truncated, and no object was written"
    assert of("one", "again") == {"N": 2}


# descriptors that several have


def test_a_dup_of_a_descriptor_goes_on(mount, of):
    path = mount / "one/p/dup.json"
    file = os.open(path, CREATE)
    other = os.dup(file)
    write_all(file, '{"A": 1,')
    assert outcome(os.close, file) == "EINVAL", "the text is half"
    write_all(other, '"B": 2}')
    os.close(other)
    assert of("one", "dup") == {"A": 1, "B": 2}


def test_a_group_of_commands_writes_one_text(mount, of):
    script = "{ echo '{'; /bin/echo '\"A\": 1,'; (echo '\"B\": 2'); echo '}'; } > group.json"
    done = run("bash", "-c", script, cwd=mount / "one/p")
    assert done.stderr == ""
    assert of("one", "group") == {"A": 1, "B": 2}
    run("dash", "-c", script.replace("group", "dashed"), cwd=mount / "one/p")
    assert of("one", "dashed") == {"A": 1, "B": 2}


@pytest.mark.parametrize("age", ["new", "old"])
def test_a_childs_output(mount, of, age):
    """Parents flush before their children write."""
    path = mount / f"one/p/child-{age}.json"
    if age == "old":
        assert write(path, '{"Old": 1}') == ""
    with open(path, "w") as file:
        child = subprocess.Popen(["bash", "-c", "read; echo '{\"N\": 1}'"], stdin=subprocess.PIPE, stdout=file)
    child.communicate(b"\n", timeout=60)
    assert child.returncode == 0
    assert of("one", f"child-{age}") == {"N": 1}


def test_after_a_fork_both_write_one_text(mount, of):
    script = """
import os, sys
file = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
os.write(file, b'{"A": 1,')
if os.fork() == 0:
    os.write(file, b'"B": 2,')
    os._exit(0)
assert os.wait()[1] == 0
os.write(file, b'"C": 3}')
os.close(file)
"""
    run("/usr/bin/python3", "-c", script, mount / "one/p/fork.json")
    assert of("one", "fork") == {"A": 1, "B": 2, "C": 3}


def test_a_writer_that_is_killed_half_way_leaves_the_old_text(mount, of):
    path = mount / "half/p/old.json"
    before = of("half", "old")
    script = "exec > \"$1\"; printf '{\"A\": '; kill -9 $$"
    done = run("bash", "-c", script, "bash", path, check=False)
    assert done.returncode == -signal.SIGKILL
    lost = lost_texts(mount, 1)
    assert of("half", "old") == before
    (text,) = [text for name, text in lost.items() if not name.endswith(".reason")]
    assert text == b'{"A": '


# unlink


@pytest.mark.parametrize("is_stored", [False, True])
def test_a_file_that_is_unlinked_while_it_is_open(mount, of, is_stored):
    row = f"unlinked{is_stored}"
    path = mount / f"gone/p/{row}.json"
    file = os.open(path, CREATE)
    if is_stored:
        write_all(file, '{"N": 1}')
        assert of("gone", row) == {"N": 1}
    with mount.counting() as counted:
        os.unlink(path)
        assert not os.path.exists(path) and f"{row}.json" not in os.listdir(mount / "gone/p")
        os.ftruncate(file, 0)
        os.pwrite(file, b'{"N": 2}', 0)
        assert os.fstat(file).st_size == 8
        os.close(file)
    assert counted.requests("write") == 0 and counted.requests("delete") == is_stored
    assert of("gone", row) is None and mount.lost_texts() == {} and failures(mount) == []
    assert write(path, '{"N": 3}') == "", "the name is free"
    assert of("gone", row) == {"N": 3}


def test_a_reader_keeps_the_text_of_a_file_that_is_unlinked(mount, of):
    path = mount / "gone/p/read.json"
    assert write(path, '{"N": 1}') == ""
    with open(path) as file:
        os.unlink(path)
        assert outcome(os.stat, path) == "ENOENT" and of("gone", "read") is None
        assert json.load(file)["N"] == 1


# unmount


# what was written: what is stored, what is in lost+found
LEFT_OPEN = {
    "whole": (['{"N": 1}'], {"N": 1}, None),
    "half": (['{"N": '], None, '{"N": '),
    "blank": ([], {}, None),
}


@pytest.mark.asan("half-unmount -z-local")
@pytest.mark.tsan("half-SIGTERM-local", "half-unmount -z-local")
@pytest.mark.parametrize("how", ["SIGTERM", "unmount -z"])
@pytest.mark.parametrize("text", LEFT_OPEN)
def test_a_file_that_is_open_at_unmount(mounts, service, of, text, how):
    pieces, expected, lost = LEFT_OPEN[text]
    mount = mounts.prepare()
    process = begin_foreground(mount, service)
    row = f"{text}-{how.split()[-1]}"
    file = os.open(mount / f"left/p/{row}.json", CREATE)
    for piece in pieces:
        write_all(file, piece)
    if how == "SIGTERM":
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=EXIT_SEC) == (ABANDONED if lost else 0)
        assert outcome(os.close, file) == "ENOTCONN"
    else:  # the mount serves on until the last file is closed
        mount.unmount("-z")
        assert outcome(os.close, file) == ("EINVAL" if lost else "")
        # the kernel ends the mount beside the release of its last file
        assert process.wait(timeout=EXIT_SEC) in ((0, ABANDONED) if lost else (0,))
    assert of("left", row) == expected
    texts = mount.lost_texts()
    kept = [each.decode() for name, each in texts.items() if not name.endswith(".reason")]
    assert kept == ([lost] if lost else [])
    for name in texts:
        assert name.removesuffix(".reason").endswith(f"-left-p-{row}.json")


@pytest.mark.parametrize("before", [15, 16])
def test_the_text_of_an_open_file_is_kept_beside_the_limit_of_its_entity(mounts, service, before):
    """Until it is given up it has a file already, which is removed then."""
    mount = mounts.prepare()
    process = begin_foreground(mount, service)
    path = mount / f"left/p/limit{before}.json"
    for number in range(before):
        file = os.open(path, CREATE)
        write_all(file, f'{{"N": {number}')
        assert outcome(os.close, file) == "EINVAL"
        wait_until(lambda n=number: len(mount.lost_texts()) == 2 * n + 2, what="the release")
    file = os.open(path, CREATE)
    write_all(file, '{"Last": ')
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=EXIT_SEC) == ABANDONED
    assert outcome(os.close, file) == "ENOTCONN"
    kept = [text for name, text in mount.lost_texts().items() if not name.endswith(".reason")]
    assert len(kept) == before + 1 and kept.count(b'{"Last": ') == 1


def test_a_blank_file_that_is_open_at_unmount_replaces_nothing(mounts, service, of):
    """`sh -c 'exec 3> f.json; sleep 100'`, while another client stores the entity."""
    mount, other = mounts.prepare(), mounts()
    process = begin_foreground(mount, service)
    file = os.open(mount / "left/p/blank.json", CREATE)
    assert write(other / "left/p/blank.json", '{"N": 1}') == ""
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=EXIT_SEC) == 0
    assert outcome(os.close, file) == "ENOTCONN"
    assert of("left", "blank") == {"N": 1}
    assert mount.lost_texts() == {}


def test_a_truncated_file_that_is_open_at_unmount_is_no_loss(mounts, service, of):
    """Nothing was written: the entity is as it was, and there is no text to be kept."""
    mount = mounts.prepare()
    process = begin_foreground(mount, service)
    assert write(mount / "left/p/truncated.json", '{"N": 1}') == ""
    file = os.open(mount / "left/p/truncated.json", os.O_WRONLY | os.O_TRUNC)
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=EXIT_SEC) == 0
    assert outcome(os.close, file) == "ENOTCONN"
    assert of("left", "truncated") == {"N": 1}
    assert mount.lost_texts() == {}


@pytest.mark.asan("local")
def test_unmount_while_a_file_is_open(mount, of):
    path = mount / "left/p/busy.json"
    file = os.open(path, CREATE)
    failed = mount.unmount(check=False)
    assert failed.returncode != 0 and mount.is_mounted()
    write_all(file, '{"N": 1}')
    os.close(file)
    assert mount.unmount().returncode == 0
    assert of("left", "busy") == {"N": 1}


# ro

READ_ONLY = {
    "create": lambda at: os.open(at / "p/new.json", CREATE),
    "truncate": lambda at: os.open(at / "p/old.json", OVER),
    "open to write": lambda at: os.open(at / "p/old.json", os.O_RDWR),
    "resize": lambda at: os.truncate(at / "p/old.json", 0),
    "unlink": lambda at: os.unlink(at / "p/old.json"),
    "mkdir": lambda at: os.mkdir(at / "q"),
    "mkdir of a table": lambda at: os.mkdir(at.parent / "fresh"),
    "rmdir": lambda at: os.rmdir(at / "p"),
    "rmdir of a table": lambda at: os.rmdir(at),
    "rename": lambda at: os.rename(at / "p/old.json", at / "p/new.json"),
    "link": lambda at: os.link(at / "p/old.json", at / "p/new.json"),
    "symlink": lambda at: os.symlink("old.json", at / "p/new.json"),
    "mknod": lambda at: os.mknod(at / "p/new.json"),
    "chmod": lambda at: os.chmod(at / "p/old.json", 0o600),
    "chown": lambda at: os.chown(at / "p/old.json", 0, 0),
    "utime": lambda at: os.utime(at / "p/old.json"),
}


@pytest.mark.asan("local")
@pytest.mark.tsan("local")
def test_a_read_only_mount_changes_nothing(mounts, stored):
    mount = mounts("ro", "ttl=0")
    before = stored("still")
    for what, change in READ_ONLY.items():
        assert outcome(change, mount / "still") == "EROFS", what
    done = run("bash", "-c", "echo '{}' > p/new.json", cwd=mount / "still", check=False)
    assert done.returncode == 1 and os.strerror(errno.EROFS) in done.stderr
    assert stored("still") == before
    assert failures(mount) == []
    assert not any(each in mount.stats().asked() for each in ("write", "delete", "create_table", "delete_table"))
