"""Accounts in one file: `tablefuse mount local:FILE`. No server, the same tree."""
import errno
import os
import pathlib
import sqlite3
import stat

import pytest

from harness import MOUNTING, NOT_FOUND, LocalAccount, run, wait_until
from harness import fill as fill_account


@pytest.fixture(scope="module")
def service(scratch):
    """No service is started. Each test has its own account."""
    return LocalAccount(scratch / "none")


def fill(account, *arguments):
    return fill_account(f"local:{account}", *arguments)


@pytest.fixture
def account(scratch, request):
    path = scratch / (request.node.name.replace("[", "-").replace("]", "") + ".tablefuse")
    yield path
    for left in path.parent.glob(path.name + "*"):
        left.unlink()


@pytest.fixture
def local(mounts, account):
    def mount(*options, **start):
        start.setdefault("env", {})
        return mounts("create", *options, source=f"local:{account}", **start)

    return mount


@pytest.mark.asan
def test_a_new_account_is_empty_and_private(local, account):
    mount = local()
    assert os.listdir(mount.point) == []
    for left in account.parent.glob(account.name + "*"):
        assert stat.S_IMODE(left.stat().st_mode) == 0o600
    assert f"account local:{account}" in mount.control("config")


def test_the_sample(local, account, tmp_path):
    fill(account, "sample")
    mount = local()
    assert sorted(os.listdir(mount.point)) == ["keys", "orders", "packages"]
    text = (mount / "orders/ada/2024-0001.json").read_text()
    assert '"Number": "9007199254740993"' in text and '"Total": 99.5' in text
    assert set(os.listdir(mount / "keys")) == {"#00", "rows", "C+#2B", "#2Enet"}
    run("cp", "-r", mount / "orders", tmp_path)
    run("diff", "-r", mount / "orders", tmp_path / "orders")
    run("rsync", "-a", f"{mount.point}/", tmp_path / "out/")
    again = run("rsync", "-a", "--itemize-changes", f"{mount.point}/", tmp_path / "out/")
    assert ">f" not in again.stdout
    fill(account, "sample")  # again: the same account
    assert sum(len(files) for _, _, files in os.walk(mount.point)) == 23


def changed_ns(paths):
    """Reads it in a process that has listed nothing."""
    lines = run("stat", "-c", "%.9Y", *paths).stdout.split()
    return [int(line.replace(".", "")) for line in lines]


@pytest.mark.parametrize(
    "shape",
    ["guid", "customer", "package", "single", "ten", "ticks", "dates", "skew", "long", "small"],
)
def test_shapes_are_reproducible_and_whole(local, account, shape):
    rows = 3000
    done = fill(account, "shape", shape, rows)
    assert int(done.stdout.split()[-1]) == rows
    mount = local("ttl=0")
    files = [
        pathlib.Path(folder, name)
        for folder, _, names in os.walk(mount / "shape")
        for name in names
    ]
    assert len(files) == rows
    before = changed_ns(files[:50])
    fill(account, "shape", shape, rows)  # the same rows again
    with sqlite3.connect(f"file:{account}?mode=ro", uri=True) as database:
        assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    assert all(old < new for old, new in zip(before, changed_ns(files[:50])))


def test_another_process_writes_while_it_is_mounted(local, account):
    fill(account, "one", "small", 10)
    mount = local("ttl=0.2")
    assert os.listdir(mount.point) == ["one"]
    fill(account, "two", "small", 10)
    wait_until(lambda: sorted(os.listdir(mount.point)) == ["one", "two"], what="the second table")


@pytest.mark.asan("text", "sqlite", "directory")
@pytest.mark.tsan("text", "sqlite", "directory")
@pytest.mark.parametrize("content", ["text", "sqlite", "cut", "directory"])
def test_files_that_are_no_account(mounts, account, content):
    if content == "text":
        account.write_text("no database\n" * 1000)
    elif content == "sqlite":
        with sqlite3.connect(account) as database:
            database.execute("CREATE TABLE mine (a)")
    elif content == "cut":
        fill(account, "tab", "single", 5000)
        with sqlite3.connect(account) as database:
            database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        os.truncate(account, 5000)
    else:
        account.mkdir()
    before = account.read_bytes() if account.is_file() else None
    mount = mounts.prepare()
    failed = mount.start(f"local:{account}", env={}, check=False)
    if content == "directory":
        account.rmdir()
    assert failed.returncode == (7 if content == "cut" else 2) and not mount.is_mounted()
    assert len(failed.stderr.splitlines()) == 1 and str(account) in failed.stderr
    if before is not None:
        assert account.read_bytes() == before, "what is not ours is left alone"


def test_a_file_that_is_replaced_is_an_error_not_another_account(local, account):
    fill(account, "one", "small", 50)
    mount = local("ttl=0")
    assert os.listdir(mount.point) == ["one"]
    other = account.with_name(account.name + "-other")
    fill(other, "two", "small", 500)
    os.replace(other, account)
    with pytest.raises(OSError) as raised:
        os.listdir(mount.point)
    assert raised.value.errno == errno.EIO
    with pytest.raises(OSError) as raised:  # never "not there"
        os.stat(mount.point / "one" / ("p" * 237 + "#~" + "0" * 16))
    assert raised.value.errno == errno.EIO
    assert "replaced" in mount.control("errors")


def test_the_file_alone_holds_what_a_loader_has_written(local, account, scratch):
    mount = local()  # which has the file open
    fill(account, "one", "single", 500)
    copy = scratch / "copy.tablefuse"
    copy.write_bytes(account.read_bytes())
    with sqlite3.connect(f"file:{copy}?mode=ro", uri=True) as database:
        assert database.execute("SELECT count(*) FROM entities").fetchone() == (500,)
    copy.unlink()
    assert mount.is_mounted()


def test_an_account_inside_its_own_mount_is_refused(mounts):
    mount = mounts.prepare()
    failed = mount.start(f"local:{mount.point}/account", env={}, check=False)
    assert failed.returncode == 2 and "inside its own mount point" in failed.stderr
    assert list(mount.point.iterdir()) == []


def test_no_such_directory(mounts, scratch):
    mount = mounts.prepare()
    for options in ([], ["create"]):
        failed = mount.start(f"local:{scratch}/none/account", *options, env={}, check=False)
        assert failed.returncode == NOT_FOUND
        assert failed.stderr == (
            f"tablefuse: local:{scratch}/none/account: the directory of the file does not exist -- "
            "check the name, or create the directory first: `mkdir -p DIRECTORY`\n"
        )


@pytest.mark.parametrize("pages", range(1, 8))
def test_an_account_that_does_not_fit_is_not_left_half_made(mounts, small, pages):
    directory = small(f"{4 * pages}K")
    mount = mounts.prepare()
    failed = mount.start(f"local:{directory}/account", "create", env={}, check=False)
    assert failed.returncode == MOUNTING
    (line,) = failed.stderr.splitlines()
    assert line.startswith(f"tablefuse: local:{directory}/account: ")
    assert line.endswith(" -- make room on the file system that holds the account's file")
    assert os.listdir(directory) == []
