"""Accounts in one file that are damaged, missing, in an older format, or lose a file while they are mounted."""
import errno
import os
import re
import sqlite3

import pytest

from expected import entity_text
from harness import CONFIGURATION, DAMAGED, NOT_FOUND, TABLEFUSE
from harness import LocalAccount, environment, fill, run


@pytest.fixture(scope="module")
def service(scratch):
    """No service is started. Each test has its own account."""
    return LocalAccount(scratch / "none")


@pytest.fixture
def account(scratch, request):
    path = scratch / (re.sub(r"\W", "-", request.node.name) + ".tablefuse")
    yield path
    for left in path.parent.glob(path.name + "*"):
        left.unlink()


@pytest.fixture
def local(mounts, account):
    return lambda *options: mounts(*options, source=f"local:{account}", env={})


def beside(account, ending):
    return account.with_name(account.name + ending)


def refused(mounts, account, *options):
    """Mounts, which must fail. Answers the exit code and the one line that says why."""
    mount = mounts.prepare()
    failed = mount.start(f"local:{account}", *options, env={}, check=False)
    assert not mount.is_mounted() and len(failed.stderr.splitlines()) == 1
    return failed.returncode, failed.stderr


def check(account):
    """What `tablefuse check` says: its exit code, the faults, and the last line."""
    done = run(TABLEFUSE, "check", f"local:{account}", check=False)
    *faults, summary = (done.stdout + done.stderr).splitlines()
    return done.returncode, faults, summary


def fails(call, *arguments):
    with pytest.raises(OSError) as raised:
        call(*arguments)
    return raised.value.errno


@pytest.mark.asan("options3")
@pytest.mark.tsan("options3")
@pytest.mark.parametrize("options", [[], ["ro"], ["ro", "create"], ["table=items"]])
def test_a_typo_creates_no_account(mounts, account, options):
    code, said = refused(mounts, account, *options)
    assert code == NOT_FOUND and "No such file" in said and "-o create" in said
    assert not account.exists()


def test_create(local, account):
    mount = local("create")
    assert os.listdir(mount.point) == []
    mount.unmount()
    fill(f"local:{account}", "tab", "small", 10)
    assert os.listdir(local("create").point) == ["tab"]  # it is there: nothing is created


def test_an_empty_file(mounts, local, account):
    account.touch()
    code, said = refused(mounts, account)
    assert code == CONFIGURATION and "empty file" in said and "-o create" in said
    assert account.stat().st_size == 0
    assert os.listdir(local("create").point) == []


@pytest.mark.asan("removed-")
@pytest.mark.tsan("removed-")
@pytest.mark.parametrize("ending", ["", "-wal", "-shm"])
@pytest.mark.parametrize("how", ["removed", "replaced", "moved"])
def test_a_file_that_is_taken_away_is_an_error(local, account, ending, how):
    fill(f"local:{account}", "tab", "single", 50)
    mount = local("ttl=0")
    assert os.listdir(mount.point) == ["tab"]
    file, other = beside(account, ending), beside(account, ending + ".other")
    if how == "replaced":
        other.write_bytes(file.read_bytes())
        os.replace(other, file)
    elif how == "moved":
        file.rename(other)
    else:
        file.unlink()
    for _ in range(2):
        assert fails(os.listdir, mount.point) == errno.EIO
        assert fails(os.stat, mount / "tab/all/evt-00000001.json") == errno.EIO
    assert "replaced, moved or deleted" in mount.control("errors")
    if how == "moved":
        other.rename(file)
        assert os.listdir(mount.point) == ["tab"]


def test_a_shm_that_is_cut_does_not_kill_the_daemon(local, account):
    fill(f"local:{account}", "tab", "single", 50)
    mount = local("ttl=0")
    assert os.listdir(mount.point) == ["tab"]
    os.truncate(beside(account, "-shm"), 100)
    assert fails(os.listdir, mount.point) == errno.EIO
    assert "cut short" in mount.control("errors")


def test_a_wal_that_is_cut_serves_nothing_wrong(local, account):
    mount = local("ttl=0", "create")  # so that what is written stays in the WAL
    fill(f"local:{account}", "tab", "single", 500)
    with sqlite3.connect(account) as database:
        database.execute("UPDATE account SET last_timestamp = last_timestamp")
    names = sorted(os.listdir(mount / "tab/all"))
    os.truncate(beside(account, "-wal"), 0)
    try:
        assert sorted(os.listdir(mount / "tab/all")) == names
    except OSError as problem:
        assert problem.errno == errno.EIO


@pytest.mark.asan
@pytest.mark.tsan
def test_a_damaged_row(local, account):
    fill(f"local:{account}", "tab", "single", 50)
    assert check(account) == (0, [], f"local:{account}: 1 tables, 50 entities, 0 faults")
    with sqlite3.connect(account) as database:
        database.execute(
            "UPDATE entities SET text ="
            " CAST(replace(CAST(text AS TEXT), 'row number 7', 'row number 8') AS BLOB)"
        )
    database.close()
    mount = local()
    assert fails(os.listdir, mount / "tab/all") == errno.EIO
    assert fails(os.stat, mount / "tab/all/evt-00000007.json") == errno.EIO
    reason = 'table tab, PartitionKey "all", RowKey "evt-00000007": it does not fit its checksum'
    assert reason in mount.control("errors")
    for row in (6, 8, 49):  # before and after it
        text = (mount / f"tab/all/evt-{row:08}.json").read_text()
        assert f'"row number {row}"' in text
    assert check(account) == (DAMAGED, [reason], f"local:{account}: 1 tables, 50 entities, 1 faults")


def test_many_faults_are_counted(account):
    fill(f"local:{account}", "tab", "single", 2000)
    with sqlite3.connect(account) as database:
        database.execute("UPDATE entities SET checksum = checksum + 1")
    database.close()
    code, faults, summary = check(account)
    assert (code, len(faults)) == (DAMAGED, 101)
    assert faults[-1] == "... and 1900 more"
    assert summary == f"local:{account}: 1 tables, 2000 entities, 2000 faults"


def test_check_of_what_is_no_account(account):
    code, faults, said = check(account)
    assert (code, faults) == (NOT_FOUND, []) and "No such file" in said and not account.exists()
    account.write_text("no database\n" * 1000)
    code, faults, said = check(account)
    assert (code, faults) == (CONFIGURATION, []) and "not a SQLite database" in said


def test_check_of_one_table(account):
    fill(f"local:{account}", "tab", "single", 5)
    code, faults, said = check(f"{account}/tab")
    assert (code, faults) == (CONFIGURATION, [])
    assert said.endswith("Not a directory -- a whole file is checked: write local:FILE without /TABLE")


def test_check_of_a_file_that_was_cut(mounts, account):
    fill(f"local:{account}", "tab", "single", 5000)
    os.truncate(account, 50000)
    code, faults, summary = check(account)
    assert (code, len(faults)) == (DAMAGED, 1) and "malformed" in faults[0]
    assert summary == f"local:{account}: 0 tables, 0 entities, 1 faults"
    assert refused(mounts, account)[0] == DAMAGED


@pytest.mark.parametrize("lost", [16, 512])
def test_a_lost_beginning_is_damage(mounts, account, lost):
    fill(f"local:{account}", "tab", "single", 50)
    with account.open("r+b") as file:
        file.write(bytes(lost))
    reason = "the file's beginning is lost"
    assert check(account) == (DAMAGED, [reason], f"local:{account}: 0 tables, 0 entities, 1 faults")
    code, said = refused(mounts, account)
    assert code == DAMAGED and reason in said and "restore a backup" in said


def test_check_beside_a_mount_and_a_writer(local, account):
    fill(f"local:{account}", "tab", "single", 3000)
    mount = local("ttl=0")
    assert len(os.listdir(mount / "tab/all")) == 3000
    fill(f"local:{account}", "tab", "single", 3000)
    assert check(account)[0] == 0
    assert len(os.listdir(mount / "tab/all")) == 3000


def make_format_1(account, rows):
    """As version 0.1.0 made it before there were checksums."""
    with sqlite3.connect(account) as database:
        database.executescript(
            "CREATE TABLE tables (id INTEGER PRIMARY KEY, name TEXT COLLATE NOCASE UNIQUE) STRICT;"
            "CREATE TABLE entities (table_id INTEGER, position BLOB, timestamp INTEGER NOT NULL,"
            " text BLOB NOT NULL, PRIMARY KEY (table_id, position)) STRICT, WITHOUT ROWID;"
            "CREATE TABLE account (last_timestamp INTEGER NOT NULL) STRICT;"
            "INSERT INTO account VALUES (18014398509481984); INSERT INTO tables VALUES (1, 'tab');"
            "PRAGMA application_id = 0x74667573; PRAGMA user_version = 1; PRAGMA journal_mode = WAL"
        )
        database.executemany(
            "INSERT INTO entities VALUES (1, ?, ?, ?)",
            (
                (f"p\0{n:04}".encode(), (1 << 54) - n, entity_text("p", f"{n:04}", {}).encode())
                for n in range(rows)
            ),
        )
    database.close()


def test_an_older_file_is_upgraded(mounts, account):
    make_format_1(account, 3000)
    code, _, summary = check(account)
    assert code == 0 and "3000 entities" in summary and "without checksums" in summary
    mount = mounts.prepare()
    done = run(TABLEFUSE, "mount", f"local:{account}", mount.point, env=environment())
    mount.adopt()
    assert done.stdout == "" and "upgrading" in done.stderr and len(done.stderr.splitlines()) == 1
    assert len(os.listdir(mount / "tab/p")) == 3000
    assert (mount / "tab/p/0007.json").read_text() == entity_text("p", "0007", {})
    assert "checksums yes" in mount.control("config")
    mount.unmount()
    assert check(account) == (0, [], f"local:{account}: 1 tables, 3000 entities, 0 faults")
    mount.start(f"local:{account}", env={})  # says nothing now


def mount_older(mounts, account, *options):
    """Mounts a file of format 1. Answers the mount, and what was said."""
    mount = mounts.prepare()
    flags = ["-o", ",".join(options)] if options else []
    done = run(TABLEFUSE, "mount", *flags, f"local:{account}", mount.point, env=environment())
    mount.adopt()
    assert "checksums no" in mount.control("config")
    return mount, done.stderr


AS_IS = "so the file stays as it is: without checksums, damage in it is not noticed"


def test_an_older_file_is_not_changed_with_ro(mounts, account):
    make_format_1(account, 300)
    before = account.read_bytes()
    mount, said = mount_older(mounts, account, "ro")
    why = "it is in an older format, and only read"
    assert said == f"tablefuse: local:{account}: {why}, {AS_IS}\n"
    assert len(os.listdir(mount / "tab/p")) == 300
    mount.unmount()
    assert account.read_bytes() == before


@pytest.mark.parametrize("is_twice", [False, True], ids=["lost", "twice"])
def test_an_older_file_that_is_damaged_is_served(mounts, account, is_twice):
    """One page is lost, or there twice: what is on the others can still be read."""
    make_format_1(account, 3000)
    pages = account.read_bytes()
    size = 4096
    leaves = [at for at in range(0, len(pages), size) if pages[at] == 0x0A and pages[at + 4] > 10]
    with account.open("r+b") as file:
        file.seek(leaves[1])
        file.write(pages[leaves[0] : leaves[0] + size] if is_twice else bytes(size))
    code, _, summary = check(account)
    assert code == DAMAGED and "upgrades" not in summary
    mount, said = mount_older(mounts, account)
    upgrading, refusing, warning = said.splitlines()
    why = "a table or an entity is there twice" if is_twice else "database disk image is malformed"
    assert "upgrading" in upgrading
    assert refusing == f"tablefuse: local:{account}: it cannot be upgraded: {why}, {AS_IS}"
    assert warning == (
        f"tablefuse: warning: the mount is read-only, because local:{account} cannot be changed"
    )
    assert os.statvfs(mount.point).f_flag & os.ST_RDONLY
    assert (mount / "tab/p/2999.json").read_text() == entity_text("p", "2999", {})


def test_a_newer_file_is_refused(mounts, account):
    fill(f"local:{account}", "tab", "small", 10)
    with sqlite3.connect(account) as database:
        database.execute("PRAGMA user_version = 3")
    database.close()
    code, said = refused(mounts, account)
    assert code == CONFIGURATION and "format 3" in said and "update tablefuse" in said
