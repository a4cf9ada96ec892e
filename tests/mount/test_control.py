"""The files of `.tablefuse`: every program reads them, at the size that stat tells."""
import concurrent.futures
import mmap
import os
import pathlib
import re
import shutil

import pytest

from directory_stream import DirectoryStream
from harness import LocalAccount, run, wait_until

TEXTS = ("config", "errors", "stats", "version")
LOOKUPS = int(os.environ.get("TABLEFUSE_LOOKUPS", "10000"))


@pytest.fixture(scope="module")
def service(scratch):
    account = LocalAccount(scratch / "account")
    account.fill("log", "single", 3)
    yield account
    account.stop()


@pytest.fixture
def control(mount):
    """The directory, of a mount that has failures to tell and does nothing more."""
    directory = mount / ".tablefuse"
    fail(directory)
    return directory


def fail(control):
    with pytest.raises(PermissionError):
        os.rmdir(control / "drop")


def steady(text):
    """Without the number of nodes, of which each lookup of `stats` makes and forgets some, and without what the process uses."""
    return re.sub(rb"^(tablefuse_inodes|process_\w+) .*$", rb"\1 N", text, flags=re.MULTILINE)


def texts(control):
    return {name: steady((control / name).read_bytes()) for name in TEXTS}


def spliced(path, into):
    reader, writer = os.pipe()
    file = os.open(path, os.O_RDONLY)
    moved = bytearray()
    while size := os.splice(file, writer, mmap.PAGESIZE):
        moved += os.read(reader, size)
    for descriptor in (reader, writer, file):
        os.close(descriptor)
    into.write_bytes(moved)


def mapped(path, into):
    with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as pages:
        into.write_bytes(pages[:])


def caught(*command):
    return lambda path, into: into.write_bytes(run(*command, path, text=False).stdout)


COPIERS = {
    "cat": caught("cat"),
    "busybox cat": caught("busybox", "cat"),
    "dd": lambda path, into: run("dd", "bs=100", f"if={path}", f"of={into}"),
    "cp": lambda path, into: run("cp", path, into),
    "busybox cp": lambda path, into: run("busybox", "cp", path, into),
    "rsync": lambda path, into: run("rsync", path, into),
    "shutil": shutil.copyfile,
    "splice": spliced,
    "mmap": mapped,
}


@pytest.mark.parametrize("copier", COPIERS)
def test_programs_copy_the_texts(control, tmp_path, copier):
    expected = texts(control)
    assert all(expected.values())
    for name, text in expected.items():
        COPIERS[copier](control / name, tmp_path / "copy")
        assert steady((tmp_path / "copy").read_bytes()) == text, name
        if name != "stats":
            assert run("wc", "-c", control / name).stdout.split()[0] == str(len(text))


def test_programs_copy_the_directory(control, tmp_path):
    expected = texts(control)
    run("tar", "-cf", tmp_path / "a.tar", "--exclude=drop", "-C", control.parent, ".tablefuse")
    run("tar", "-xf", tmp_path / "a.tar", "-C", tmp_path)
    run("rsync", "-a", "--exclude=drop", f"{control}/", tmp_path / "rsync")
    assert texts(tmp_path / ".tablefuse") == texts(tmp_path / "rsync") == expected


def test_stat_and_read_show_one_text(control):
    """Also of a text that is longer by now."""
    nodes = {name: os.open(control / name, os.O_PATH) for name in TEXTS}
    before = {name: os.fstat(node) for name, node in nodes.items()}
    expected = {name: pathlib.Path(f"/proc/self/fd/{node}").read_bytes() for name, node in nodes.items()}
    fail(control)
    for name, text in expected.items():
        file = os.open(f"/proc/self/fd/{nodes[name]}", os.O_RDONLY)
        for status in (os.fstat(nodes[name]), os.fstat(file)):
            assert (status.st_size, status.st_mtime_ns) == (len(text), before[name].st_mtime_ns), name
        assert os.read(file, 1 << 20) == text
        os.close(file)
        os.close(nodes[name])
        assert os.stat(control / name).st_ino == before[name].st_ino
    assert os.stat(control / "errors").st_size == len((control / "errors").read_bytes()) > before["errors"].st_size


def test_a_text_that_stays_keeps_its_node(control):
    """So rsync and make see no change."""
    for name in ("config", "errors", "version"):
        node = os.open(control / name, os.O_PATH)
        assert os.stat(control / name).st_mtime_ns == os.fstat(node).st_mtime_ns
        os.close(node)


def test_lookups_leave_no_node_behind(mount, control):
    """TABLEFUSE_LOOKUPS sets their number."""

    def look(count):
        for number in range(count):
            for name in TEXTS:
                os.stat(control / name)
            if number % 10 == 0:
                fail(control)
                os.listdir(control)
                with os.scandir(control) as entries:
                    assert all(entry.stat().st_size > 0 for entry in entries if entry.name != "drop")

    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        list(pool.map(look, [LOOKUPS // 16] * 4))
    known = 2 + len(TEXTS) + 1  # the root, the directory, and its files with `drop`
    wait_until(lambda: mount.stats().total("tablefuse_inodes") == known, what="forgetting")


@pytest.mark.tsan
def test_an_error_is_seen_at_once(mount, control):
    """Also by a process that keeps the file open and opens it again by its name."""
    with open(control / "errors", "rb") as kept:
        before = kept.read()
        with pytest.raises(OSError):
            os.open(control / "config", os.O_WRONLY)
        after = (control / "errors").read_bytes()
        assert after.startswith(before) and after.count(b"\n") == before.count(b"\n") + 1
        assert kept.read() == b""
    assert b"\ntablefuse_failures_total 2\n" in (control / "stats").read_bytes()


@pytest.mark.asan
@pytest.mark.tsan
def test_any_place_of_a_directory_is_safe(mount, control):
    """Another user may seek there, too, in every kind of directory."""
    (mount / "Places/p/.dir").mkdir(parents=True)
    (mount / "Places/p/r.json").write_text('{"N": 1}')
    kinds = (".tablefuse", ".", "Places", "Places/.flat", "Places/p", "Places/p/.dir")
    for place in (1, 2, 1 << 31, 1 << 32, 1 << 61, (1 << 62) - 1, 1 << 62, (1 << 62) + 1, (1 << 63) - 1):
        for kind in kinds:
            with DirectoryStream(mount / kind) as stream:
                stream.seek(place)
                list(stream)
    assert os.listdir(mount / "Places/p") and (mount / ".tablefuse/version").read_text()
