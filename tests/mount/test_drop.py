"""`tablefuse drop DIR/TABLE`: a table is dropped with all its entities, by one request. On Azurite and in a file."""
import errno
import os
import pathlib
import pty
import signal
import stat
import subprocess

import pytest

from harness import (
    BOTH_SERVICES,
    COMMAND_SEC,
    MOUNTING,
    NOT_FOUND,
    TABLEFUSE,
    USAGE,
    environment,
    is_readable,
    run,
    wait_until,
)
from writing import failures, outcome, write

pytestmark = pytest.mark.parametrize("service", BOTH_SERVICES, indirect=True, scope="module")

QUESTION = "Type the table's name to drop it with all its entities: "
OTHER_NAME = "tablefuse: this is not the table's name: nothing was dropped\n"
NO_NAME = "tablefuse: no name was typed: nothing was dropped\n"
NO_TERMINAL = " -- without a terminal, use --yes, or give the name on standard input\n"
WAIT_SEC = "5"  # of each step: those before the one that hangs must end in it, on a busy machine, too
ROWS = [(f"p{p}", f"{r}") for p in range(3) for r in range(4)]


@pytest.fixture(scope="module")
def tables(make_table):
    make_table("kept", ROWS)


@pytest.fixture
def mount(mounts, tables):
    return mounts("ttl=600")


@pytest.fixture(scope="module")
def doomed(make_table):
    """Makes the next table with ROWS, and answers its name."""
    made = []

    def make_next():
        made.append(f"doomed{len(made)}")
        make_table(made[-1], ROWS)
        return made[-1]

    return make_next


def drop(*arguments, typed="", cwd=None):
    """Without a terminal. Answers the exit code and what was written."""
    done = subprocess.run(
        [TABLEFUSE, "drop", *arguments],
        input=typed,
        capture_output=True,
        text=True,
        timeout=COMMAND_SEC,
        env=environment(),
        cwd=cwd,
    )
    assert done.stdout == ""
    return done.returncode, done.stderr


def drop_at_terminal(*arguments, typed):
    """Types the answer when the question is there. Answers the exit code and what the terminal shows."""
    ours, theirs = pty.openpty()
    shown = b""
    try:
        with subprocess.Popen(
            [TABLEFUSE, "drop", *arguments],
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            env=environment(),
            start_new_session=True,
        ) as process:
            os.close(theirs)
            while is_readable(ours, COMMAND_SEC):
                try:
                    shown += os.read(ours, 4096)
                except OSError as error:
                    assert error.errno == errno.EIO, "the process has ended"
                    break
                if shown == QUESTION.encode():
                    os.write(ours, typed)
            code = process.wait(COMMAND_SEC)
    finally:
        os.close(ours)
    return code, shown.decode().replace("\r\n", "\n")


def sent(counted):
    """The requests, but for those that the lookup of a table's name takes."""
    return {name: n for name, n in counted.asked().items() if name != "list_tables"}


def listed(directory):
    """By another process."""
    return run("ls", directory).stdout.split()


@pytest.mark.asan("local")
@pytest.mark.tsan("local")
def test_a_name_that_is_typed(mount, doomed):
    name = doomed()
    with mount.counting() as counted:
        assert drop_at_terminal(mount / name, typed=f"{name}\n".encode()) == (0, f"{QUESTION}{name}\n")
    assert sent(counted) == {"delete_table": 1}
    assert name not in listed(mount.point) and failures(mount) == []


def test_another_name_or_none(mount, doomed, stored):
    name = doomed()
    before = stored(name)
    with mount.counting() as counted:
        for typed, says in (
            (b"doomed\n", f"{QUESTION}doomed\n{OTHER_NAME}"),
            (b"\n", f"{QUESTION}\n{OTHER_NAME}"),
            (b"yes\n", f"{QUESTION}yes\n{OTHER_NAME}"),
            (b"\x04", f"{QUESTION}\n{NO_NAME}"),
        ):
            assert drop_at_terminal(mount / name, typed=typed) == (USAGE, says)
        for typed, says in (
            (f"{name} \n", OTHER_NAME),
            (f"\n{name}\n", OTHER_NAME),
            (name.upper(), OTHER_NAME),
            (f"{name}{'x' * 300}\n", OTHER_NAME),
            ("", NO_NAME),
        ):
            assert drop(mount / name, typed=typed) == (USAGE, says.removesuffix("\n") + NO_TERMINAL)
    assert sent(counted) == {}
    assert stored(name) == before and failures(mount) == []


@pytest.mark.parametrize("typed", ["{}\n", "{}", "{}\nanother line\n"])
def test_a_line_without_a_terminal(mount, doomed, typed):
    name = doomed()
    with mount.counting() as counted:
        assert drop(mount / name, typed=typed.format(name)) == (0, "")
    assert sent(counted) == {"delete_table": 1}
    assert name not in listed(mount.point)


def test_without_a_question(mount, doomed):
    name = doomed()
    assert drop_at_terminal("--yes", mount / name, typed=b"") == (0, "")
    assert name not in listed(mount.point)


@pytest.mark.parametrize("how", ["slashes", "relative", "dot", "link", "link to the mount", "inside"])
def test_every_path_of_a_table(mount, doomed, how):
    name = doomed()
    beside = mount.point.with_name("beside = it")
    beside.mkdir()
    (beside / "table").symlink_to(mount / name)
    (beside / "account").symlink_to("../mnt")
    path, cwd = {
        "slashes": (f"{mount.point}//{name}//", None),
        "relative": (f"mnt/../mnt/{name}", mount.point.parent),
        "dot": (".", mount / name),
        "link": (beside / "table", None),
        "link to the mount": (f"account/{name}/", beside),
        "inside": (name, mount.point),
    }[how]
    with mount.counting() as counted:
        assert drop("--yes", path, cwd=cwd) == (0, "")
    assert sent(counted) == {"delete_table": 1}
    assert name not in listed(mount.point)


# what is below the mount point; what is said of it
REFUSED = {
    "": (USAGE, "it is a whole account -- name a table: DIR/TABLE"),
    "kept/p0": (USAGE, "it is a part of a table -- name a table: DIR/TABLE"),
    "kept/p0/1.json": (USAGE, "it is a part of a table -- name a table: DIR/TABLE"),
    "kept/.flat": (USAGE, "it is a part of a table -- name a table: DIR/TABLE"),
    "kept/nothing": (USAGE, "it is a part of a table -- name a table: DIR/TABLE"),
    ".tablefuse": (USAGE, "it is not a table -- name a table: DIR/TABLE"),
    ".tablefuse/errors": (USAGE, "it is not a table -- name a table: DIR/TABLE"),
    "absent": (NOT_FOUND, "there is no such table"),
    "absent//": (NOT_FOUND, "there is no such table"),
    "KEPT": (NOT_FOUND, "there is no such table"),
    "no table": (NOT_FOUND, "there is no such table"),
    "absent/p": (NOT_FOUND, "No such file or directory"),
    "kept/p0/1.json/x": (NOT_FOUND, "Not a directory"),
}


@pytest.mark.parametrize("path", REFUSED)
def test_what_is_no_table(mount, stored, path):
    code, reason = REFUSED[path]
    given = os.path.join(mount.point, path)
    assert drop("--yes", given) == (code, f"tablefuse: cannot drop {given}: {reason}\n")
    assert sorted(stored("kept")) == ROWS
    assert failures(mount) == []


def test_a_link_to_a_part_of_a_table(mount, stored):
    link = mount.point.with_name("partition")
    link.symlink_to(mount / "kept/p0")
    says = f"tablefuse: cannot drop {link}: it is a part of a table -- name a table: DIR/TABLE\n"
    assert drop("--yes", link) == (USAGE, says)
    assert sorted(stored("kept")) == ROWS


def test_a_table_that_does_not_exist_is_refused_without_a_question(mount):
    says = f"tablefuse: cannot drop {mount / 'absent'}: there is no such table\n"
    assert drop_at_terminal(mount / "absent", typed=b"absent\n") == (NOT_FOUND, says)


def test_a_table_that_another_client_has_just_made(mount, doomed):
    """The mount asks the service anew before the verb says that there is none."""
    name = f"doomed{int(doomed().removeprefix('doomed')) + 1}"
    assert outcome(os.stat, mount / name) == "ENOENT"
    assert doomed() == name
    assert outcome(os.stat, mount / name) == "ENOENT", "it is at most ttl old"
    with mount.counting() as counted:
        assert drop("--yes", mount / name) == (0, "")
    assert counted.asked() == {"list_tables": 1, "delete_table": 1}
    assert name not in listed(mount.point) and failures(mount) == []


@pytest.mark.parametrize("path", ["", "p0", "absent", "p0/1.json"])
def test_in_a_mount_of_a_table(mounts, tables, stored, path):
    mount = mounts("table=kept")
    given = os.path.join(mount.point, path)
    says = "the root of its mount is not an account -- mount the account to drop a table"
    assert drop("--yes", given) == (USAGE, f"tablefuse: cannot drop {given}: {says}\n")
    assert sorted(stored("kept")) == ROWS


def test_in_a_read_only_mount(mounts, tables, stored):
    mount = mounts("ro")
    given = mount / "kept"
    assert drop("--yes", given) == (MOUNTING, f"tablefuse: cannot drop {given}: the mount is read-only\n")
    assert outcome(os.rmdir, mount / ".tablefuse/drop/kept!") == "EROFS"
    assert sorted(stored("kept")) == ROWS


def test_outside_of_a_mount(scratch, tables):
    there = scratch / "no=mount"
    there.mkdir(exist_ok=True)
    assert drop("--yes", there) == (NOT_FOUND, f"tablefuse: {there} is not a table of a tablefuse mount\n")
    absent = scratch / "absent"
    assert drop("--yes", absent) == (NOT_FOUND, f"tablefuse: cannot drop {absent}: No such file or directory\n")
    hidden = "(not shown, because it may hold a secret)"
    for secret in ("AccountName=a;AccountKey=c2VjcmV0", "sv=1&se=secret", "a/sig=secret"):
        says = f"tablefuse: cannot drop {hidden}: No such file or directory\n"
        assert drop("--yes", secret, cwd=scratch) == (NOT_FOUND, says)


def test_a_mount_that_is_dead(mount):
    mount.send(signal.SIGKILL)
    assert mount.has_ended()
    given = mount / "kept"
    says = "Transport endpoint is not connected -- its process was killed; mount again at the same directory"
    assert drop("--yes", given) == (MOUNTING, f"tablefuse: cannot drop {given}: {says}\n")


def stop(mount):
    """A thread that has not noticed the signal yet would still serve."""
    mount.send(signal.SIGSTOP)
    tasks = pathlib.Path(f"/proc/{mount.pid}/task")
    wait_until(
        lambda: all((task / "stat").read_text().rpartition(")")[2].split()[0] == "T" for task in tasks.iterdir()),
        what="the stop of each thread",
    )


@pytest.mark.parametrize("is_known", [False, True])
def test_a_mount_that_hangs(mount, is_known):
    """The kernel answers for a name that it knows, and the process of the mount does not."""
    given = mount / "kept"
    if is_known:
        os.stat(given)
    stop(mount)
    try:
        what = "the process of the mount" if is_known else "the file system that it lies in"
        says = f"tablefuse: cannot drop {given}: {what} has not answered within {WAIT_SEC} s\n"
        assert drop("--yes", "-t", WAIT_SEC, given) == (MOUNTING, says)
    finally:
        mount.send(signal.SIGCONT)


@pytest.mark.parametrize(
    "status, code, error",
    [(409, "TableBeingDeleted", errno.EBUSY), (403, "AuthorizationPermissionMismatch", errno.EACCES)],
)
def test_a_refusal_of_the_service(mounts, tables, doomed, stored, status, code, error):
    name = doomed()
    mount = mounts(faults=f"fail=delete_table:1:{status}:{code}")
    given = mount / name
    result, said = drop("--yes", given)
    first, second = said.splitlines()
    assert (result, first) == (MOUNTING, f"tablefuse: cannot drop {given}: {os.strerror(error)}")
    (failed,) = failures(mount)
    assert mount.control("errors") == second + "\n"
    assert (failed["operation"], failed["path"], failed["code"]) == ("rmdir", f"/.tablefuse/drop/{name}!", code)
    assert sorted(stored(name)) == ROWS
    assert drop("--yes", given) == (0, "")


def test_an_older_line_is_not_the_reason(mounts, tables, doomed):
    name = doomed()
    mount = mounts(faults="fail=delete_table:1:409:TableBeingDeleted")
    drop("--yes", mount / name)
    with open(mount / name / "p0/unsaved.json", "w", encoding="utf-8"):
        says = "Directory not empty -- a file in it is not stored yet, or has a temporary name"
        assert drop("--yes", mount / name) == (MOUNTING, f"tablefuse: cannot drop {mount / name}: {says}\n")
    wait_until(lambda: drop("--yes", mount / name) == (0, ""), what="the store, after the close")


def test_a_file_with_a_temporary_name_stays(mount, doomed, stored):
    name = doomed()
    scratch = mount / name / "p0/notes.tmp"
    scratch.write_text("a scratch file")
    says = "Directory not empty -- a file in it is not stored yet, or has a temporary name"
    assert drop("--yes", mount / name) == (MOUNTING, f"tablefuse: cannot drop {mount / name}: {says}\n")
    assert scratch.read_text() == "a scratch file" and sorted(stored(name)) == ROWS
    scratch.unlink()
    assert drop("--yes", mount / name) == (0, "")


def test_an_empty_table_and_directories_of_this_mount(mount):
    os.mkdir(mount / "empty")
    os.mkdir(mount / "empty/p")
    with mount.counting() as counted:
        assert drop("--yes", mount / "empty") == (0, "")
    assert sent(counted) == {"delete_table": 1}
    assert "empty" not in listed(mount.point) and failures(mount) == []


def test_with_no_table_drop(mounts, tables, doomed):
    name = doomed()
    mount = mounts("no_table_drop")
    assert "table_drop no" in mount.control("config").splitlines()
    with mount.counting() as counted:
        assert drop("--yes", mount / name) == (0, "")
    assert sent(counted) == {"delete_table": 1}


# what is open, and what comes afterwards


def test_what_is_open_in_a_dropped_table(mounts, tables, doomed):
    name = doomed()
    mount = mounts("ttl=0")
    text = (mount / name / "p0/1.json").read_text()
    file = os.open(mount / name / "p0/1.json", os.O_RDONLY)
    partition = os.open(mount / name / "p0", os.O_RDONLY)
    table = os.open(mount / name, os.O_RDONLY)
    try:
        assert drop("--yes", mount / name) == (0, "")
        assert outcome(os.stat, mount / name) == "ENOENT" and name not in listed(mount.point)
        assert os.pread(file, 1000, 0).decode() == text
        assert outcome(os.listdir, partition) == outcome(os.listdir, table) == "ESTALE"
    finally:
        for opened in (file, partition, table):
            os.close(opened)


def test_a_dropped_table_is_made_again(mount, doomed, stored):
    name = doomed()
    assert drop("--yes", mount / name) == (0, "")
    os.mkdir(mount / name)
    assert listed(mount / name) == [] and stored(name) == {}
    os.mkdir(mount / name / "p0")
    assert write(mount / name / "p0/1.json", '{"N": 1}') == ""
    assert stored(name) == {("p0", "1"): {"N": 1}}
    assert drop("--yes", mount / name) == (0, "")
    assert failures(mount) == []


def test_a_dropped_name_is_busy_while_the_service_deletes_the_table(mounts, tables, doomed):
    name = doomed()
    mount = mounts(faults="fail=create_table:1:409:TableBeingDeleted")
    assert drop("--yes", mount / name) == (0, "")
    made = run("mkdir", mount / name, check=False)
    assert made.returncode == 1 and os.strerror(errno.EBUSY) in made.stderr
    (failed,) = failures(mount)
    assert (failed["operation"], failed["path"], failed["code"]) == ("mkdir", f"/{name}", "TableBeingDeleted")
    assert failed["advice"] == "a dropped table's name is free after a minute"
    os.mkdir(mount / name)


def test_a_dropped_table_is_seen_when_another_client_makes_it_again(mounts, tables, doomed):
    name = doomed()
    mount, other = mounts("ttl=0"), mounts("ttl=0")
    assert drop("--yes", mount / name) == (0, "")
    assert name not in listed(mount.point)
    os.mkdir(other / name)
    os.mkdir(other / name / "p")
    assert write(other / name / "p/r.json", "{}") == ""
    assert name in listed(mount.point) and listed(mount / name) == ["p"]


# argv: a directory. Its files are deleted; then a line is read before the process ends.
DELETE_ALL = """
import os, sys
for name in os.listdir(sys.argv[1]):
    os.unlink(os.path.join(sys.argv[1], name))
print("deleted", flush=True)
"""


@pytest.mark.parametrize("faults", ["", "fail=batch:1:409:TableBeingDeleted"])
def test_queued_deletes_of_a_dropped_table_do_not_fail(mounts, tables, make_table, faults):
    name = f"queued{len(faults)}"
    make_table(name, [("p", f"{row:03}") for row in range(50)])
    mount = mounts(faults=faults)
    run("python3", "-c", DELETE_ALL, mount / name / "p")
    assert drop("--yes", mount / name) == (0, "")
    mount.send_queued()
    assert failures(mount) == [] and mount.lost_texts() == {}
    assert mount.unmount().stderr == ""


# the directory `.tablefuse/drop`


def test_the_directory(mount):
    """It shows nothing, and stays. Only the owner can drop tables in it."""
    directory = mount / ".tablefuse/drop"
    shown, root = os.stat(directory), os.stat(mount.point)
    assert (shown.st_mode, shown.st_uid, shown.st_gid) == (stat.S_IFDIR | 0o700, root.st_uid, root.st_gid)
    os.stat(directory / "kept!")
    assert os.listdir(directory) == []
    assert outcome(os.rmdir, directory) == "EPERM"
    assert outcome(os.mkdir, directory / "new") == "EINVAL"
    assert run("rm", "-r", directory, check=False).returncode == 1
    assert "kept" in listed(mount.point)


def test_a_table_in_it_is_no_empty_directory(mount, stored, tmp_path):
    """mv to another file system copies what a directory shows, and removes it then."""
    table = mount / ".tablefuse/drop/kept!"
    assert stat.S_ISDIR(os.stat(table).st_mode)
    assert outcome(os.listdir, table) == "EACCES"
    assert outcome(os.stat, table / "p0") == "ENOENT"
    assert outcome(os.mkdir, table / "new") == "EINVAL"
    assert run("mv", table, tmp_path, check=False).returncode == 1
    assert run("mv", table, mount / "kept/p0/", check=False).returncode == 1
    assert sorted(stored("kept")) == ROWS
    assert {line["reason"] for line in failures(mount) if line["operation"] == "opendir"} == {
        "this name is for rmdir, which drops the table"
    }


@pytest.mark.parametrize("how", ["mv of the table", "mv of an empty directory", "rm -r", "rmdir", "rename"])
def test_no_table_is_dropped_by_chance(mount, stored, tmp_path, how):
    """mv removes a directory of the destination's name before it copies to what is another file system for it."""
    directory = mount / ".tablefuse/drop"
    (tmp_path / "empty").mkdir()
    command = {
        "mv of the table": ["mv", mount / "kept", directory],
        "mv of an empty directory": ["mv", "-T", tmp_path / "empty", directory / "kept"],
        "rm -r": ["rm", "-r", directory / "kept"],
        "rmdir": ["rmdir", directory / "kept"],
        "rename": ["python3", "-c", "import os, sys; os.rename(*sys.argv[1:])", mount / "kept", directory / "kept"],
    }[how]
    with mount.counting() as counted:
        done = run(*command, check=False)
    assert done.returncode == 1 and "delete_table" not in counted.asked()
    assert sorted(stored("kept")) == ROWS and "kept" in listed(mount.point)


def test_a_rename_there_is_refused(mount, stored):
    """EPERM, and not EXDEV: mv does not go on to copy. Of what is no directory the reason says more."""
    for source, target in (("kept", ".tablefuse/drop/kept"), (".tablefuse/drop/kept!", "kept/p0/new")):
        assert outcome(os.rename, mount / source, mount / target) == "EPERM"
    assert [(line["operation"], line["reason"]) for line in failures(mount)] == [
        ("rename", f"{name}: no directory is moved into .tablefuse or out of it") for name in ("kept", "kept!")
    ]
    assert sorted(stored("kept")) == ROWS


@pytest.mark.parametrize("name", ["a b!", "k" * 64 + "!", ".flat", "KEPT!", "absent!", "kept", "kept!!", "!"])
def test_the_name_of_no_table(mount, name):
    """The service is asked for each that a table may have: by then it may have the table."""
    file = mount / ".tablefuse/drop" / name
    with mount.counting() as counted:
        for _ in range(2):
            assert outcome(os.rmdir, file) == "ENOENT"
    assert counted.asked() == ({"list_tables": 2} if name in ("KEPT!", "absent!") else {})
    assert failures(mount) == []


def test_the_name_of_a_table_that_is_known(mount):
    os.stat(mount / "kept")
    with mount.counting() as counted:
        os.stat(mount / ".tablefuse/drop/kept!")
    assert counted.requests() == 0


def test_the_directory_of_a_mount_of_a_table(mounts, tables):
    mount = mounts("table=kept")
    assert outcome(os.rmdir, mount / ".tablefuse/drop/kept!") == "EINVAL"
    (failed,) = failures(mount)
    assert (failed["operation"], failed["path"]) == ("lookup", "/.tablefuse/drop/kept!")
    assert failed["reason"] == "the root of this mount is a table: mount the account to drop it"


@pytest.mark.asan("local")
@pytest.mark.tsan("local")
def test_rmdir_drops_whatever_the_process_has_listed(mount, doomed, stored):
    name = doomed()
    assert name in os.listdir(mount.point)
    assert outcome(os.rmdir, mount / name) == "EPERM"
    assert sorted(stored(name)) == ROWS
    with mount.counting() as counted:
        os.rmdir(mount / f".tablefuse/drop/{name}!")
    assert sent(counted) == {"delete_table": 1}
    os.mkdir(mount / name)
    assert outcome(os.rmdir, mount / name) == "EPERM"
    assert sorted(stored("kept")) == ROWS


def test_the_name_is_gone_after_ttl(mounts, tables, doomed):
    """The kernel, which does not know that both are one table, may keep the name until then."""
    name = doomed()
    mount = mounts()
    os.stat(mount / name)
    os.rmdir(mount / f".tablefuse/drop/{name}!")
    assert name not in listed(mount.point)
    assert outcome(os.rmdir, mount / f".tablefuse/drop/{name}!") == "ENOENT"
    wait_until(lambda: outcome(os.stat, mount / name) == "ENOENT", what="the end of ttl")


def test_a_refusal_that_is_repeated(mounts, doomed):
    """`errors` counts it in one line, and the verb tells that one each time."""
    mount = mounts(faults="fail=delete_table:*:409:TableBeingDeleted")
    given = mount / doomed()
    for times in (None, "2"):
        result, said = drop("--yes", given)
        (failed,) = failures(mount)
        assert result == MOUNTING and said.endswith(mount.control("errors")) and failed["times"] == times


def test_a_wait_for_the_answer_ends(mounts, tables, doomed):
    """The service does not answer in time. What has become of the table is not known to the verb."""
    name = doomed()
    gate = mounts.prepare().point.with_name("gate")
    mount = mounts("ttl=600", faults=f"hold=delete_table:{gate}")
    gate.touch()
    try:
        says = f"the process of the mount has not answered within {WAIT_SEC} s; it may be dropped all the same"
        assert drop("--yes", "-t", WAIT_SEC, mount / name) == (
            MOUNTING,
            f"tablefuse: cannot drop {mount / name}: {says}\n",
        )
    finally:
        gate.unlink()
    wait_until(lambda: name not in listed(mount.point), what="the drop")
