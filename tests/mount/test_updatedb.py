"""updatedb, which collects file names for locate(1), runs as root every night. It does not read accounts.

    # updatedb --prunefs '' --prunepaths '' --database-root DIRECTORY
    $ locate --database DB '*.json'
"""
import os
import shutil

import pytest

from harness import LocalAccount, run

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root can run as root and as another user")

# as the kernel cuts them: to 15 bytes
NAMES = ["updatedb", "updatedb.plocate", "updatedb.mlocate"]
OTHERS = ["updatedb2", "ls"]
REASON = "EACCES: updatedb would read the whole account; mount with -o allow_updatedb if it may"


@pytest.fixture(scope="module")
def service(scratch):
    account = LocalAccount(scratch / "account")
    account.fill("sample")
    yield account
    account.stop()


def update(mount, database, name):
    """The names of files that it finds beside the mount and in it."""
    (mount.point.parent / "beside.json").touch()
    program = "/usr/sbin/updatedb.plocate"
    roots = ("--prunefs", "", "--prunepaths", "", "--prune-bind-mounts", "no", "--require-visibility", "no")
    run(program, *roots, "--database-root", mount.point.parent, "--output", database)
    return run("locate", "--database", database, "--basename", f"{name}.json").stdout.splitlines()


def test_updatedb_reads_no_account(mounts, tmp_path):
    mount = mounts()
    with mount.counting() as counted:
        for _ in range(2):
            assert update(mount, tmp_path / "db", "beside") == [str(mount.point.parent / "beside.json")]
            assert run("locate", "--database", tmp_path / "db", "13.0.1", check=False).stdout == ""
    assert counted.requests() == 0
    (line,) = mount.control("errors").splitlines()
    assert line.endswith(f" opendir /: {REASON} [updatedb.plocat]")


def test_an_option_lets_it_in(mounts, tmp_path):
    mount = mounts("allow_updatedb")
    found = update(mount, tmp_path / "db", "13.0.1")
    assert found == [str(mount / "packages/Newtonsoft.Json/13.0.1.json")]
    assert mount.control("errors") == ""


@pytest.mark.parametrize("name", NAMES + OTHERS)
def test_a_program_of_that_name(mount, tmp_path, name):
    program = shutil.copy("/usr/bin/ls", tmp_path / name)
    for directory in ("", "packages", "packages/Newtonsoft.Json", ".tablefuse"):
        listing = run(program, mount / directory, check=False)
        assert (listing.returncode, "Permission denied" in listing.stderr) == ((2, True) if name in NAMES else (0, False))


def test_of_another_user_it_is_a_program_like_others(mounts, scratch):
    """Root's alone, because only root is let into each mount."""
    mount = mounts("allow_other", "umask=022")
    program = shutil.copy("/usr/bin/ls", scratch / "updatedb")
    assert run("runuser", "-u", "nobody", "--", program, mount.point).stdout.split() == ["keys", "orders", "packages"]
