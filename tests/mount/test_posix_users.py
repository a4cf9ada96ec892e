"""Promises of POSIX about permissions: what other users may do in a mount that lets them in. The kernel checks the
owner and the mode that the mount shows, which are those of its options."""
import os
import pwd
import shutil

import pytest

from harness import run
from posix_calls import outcomes_as
from writing import outcome, write

pytestmark = [
    pytest.mark.skipif(os.geteuid() != 0, reason="only root can become others; all other files ran as a plain user"),
    pytest.mark.parametrize("service", ["local"], indirect=True),
]

OWNER, OTHER = "nobody", "games"


@pytest.fixture(scope="module", autouse=True)
def data(make_table):
    make_table("tree", [("p", "r"), ("p", "doomed")])


@pytest.fixture
def let_in(mounts):
    """A mount of that umask, which belongs to OWNER and lets others in."""
    user = pwd.getpwnam(OWNER)
    return lambda umask: mounts("allow_other", f"uid={user.pw_uid}", f"gid={user.pw_gid}", f"umask={umask}", "ttl=0")


def changes(p):
    """All that change something, or would; but link, which some systems refuse before they look at permissions."""
    return [
        ("open", p / "new.json", os.O_WRONLY | os.O_CREAT),
        ("open", p / "r.json", os.O_WRONLY),
        ("open", p / "r.json", os.O_RDWR),
        ("open", p / "r.json", os.O_RDONLY | os.O_TRUNC),
        ("truncate", p / "r.json", 0),
        ("mknod", p / "new.json"),
        ("mkfifo", p / "new"),
        ("mkdir", p.parent / "fresh"),
        ("rmdir", p),
        ("unlink", p / "doomed.json"),
        ("rename", p / "r.json", p / "new.json"),
        ("symlink", "r.json", p / "new.json"),
        ("utime", p / "r.json"),
    ]


def test_search_is_denied(let_in):
    mount = let_in("077")
    p = mount / "tree/p"
    calls = [("stat", p / "r.json"), ("open", p / "r.json", os.O_RDONLY), ("chmod", p / "r.json", 0o666), *changes(p)]
    calls += [("listdir", mount.point), ("chown", p / "r.json", -1, -1), ("chdir", p)]
    assert outcomes_as(OTHER, calls) == ["EACCES"] * len(calls)
    assert outcomes_as(OWNER, [("stat", p / "r.json"), ("listdir", p)]) == ["", ""]


def test_write_is_denied(let_in, stored):
    mount, before = let_in("022"), stored("tree")
    p = mount / "tree/p"
    assert outcomes_as(OTHER, [("stat", p / "r.json"), ("open", p / "r.json", os.O_RDONLY), ("listdir", p)]) == [""] * 3
    assert outcomes_as(OTHER, changes(p)) == ["EACCES"] * len(changes(p))
    assert stored("tree") == before


def test_read_is_denied(let_in):
    """The directory may be listed."""
    mount = let_in("026")
    p = mount / "tree/p"
    calls = [("open", p / "r.json", os.O_RDONLY), ("open", p / "r.json", os.O_RDWR), ("listdir", p)]
    assert outcomes_as(OTHER, calls) == ["EACCES"] * 3
    assert outcomes_as(OTHER, [("stat", p / "r.json")]) == [""]


def test_only_the_owner_sets_modes_owners_and_times(let_in):
    """Where others may write, they may set the time to now, and to no other."""
    mount = let_in("000")
    p = mount / "tree/p"
    calls = [("chmod", p / "r.json", 0o600), ("chown", p / "r.json", os.getuid(), -1), ("utime", p / "r.json", [1, 2])]
    assert outcomes_as(OTHER, calls) == ["EPERM"] * 3
    assert outcomes_as(OTHER, [("utime", p / "r.json")]) == [""]
    assert outcomes_as(OWNER, [("chmod", p / "r.json", 0o600), ("utime", p / "r.json", [1, 2])]) == ["", ""]
    assert outcomes_as(OWNER, [("chown", p / "r.json", os.getuid(), -1)]) == ["EPERM"], "only root gives files away"


def test_others_may_do_what_the_mode_lets_them(let_in, stored):
    mount = let_in("000")
    p = mount / "tree/p"
    calls = [("mknod", p / "theirs.json"), ("unlink", p / "theirs.json")]
    calls += [("mkdir", mount / "tree/t"), ("rmdir", mount / "tree/t")]
    assert outcomes_as(OTHER, calls) == [""] * 4
    assert ("p", "theirs") not in stored("tree")


def test_no_entity_is_executed(let_in):
    """None has the permission, not for root either. A scratch file can have it, and is busy while it is written."""
    mount = let_in("000")
    r = mount / "tree/p/r.json"
    assert outcome(os.execv, r, ["r.json"]) == "EACCES" and not os.access(r, os.X_OK)
    assert outcomes_as(OWNER, [("execv", r, ["r.json"])]) == ["EACCES"]
    assert write(r, "{}") == ""
    program = mount / "tree/p/program.tmp"
    shutil.copy("/bin/true", program)
    os.chmod(program, 0o755)
    assert outcomes_as(OWNER, [("execv", r, ["r.json"])]) == ["EACCES"]
    run(program)
    with open(program, "ab"):
        assert outcome(run, program) == "ETXTBSY"
    os.unlink(program)
