"""Nodes of writers: as many as there are opens, the inode number of their entity, none left behind; writers that are killed."""
import json
import os
import re
import signal
import subprocess

import pytest

from harness import BOTH_SERVICES, environment, run, wait_until
from writing import CREATE, OVER, failures, write, write_all

pytestmark = pytest.mark.parametrize("service", BOTH_SERVICES, indirect=True)

WRITERS = 120


@pytest.fixture(scope="module", autouse=True)
def tables(make_table):
    for table in ("many", "killed", "quiet"):
        make_table(table, [("p", "one"), ("p", "two")])


def inodes(mount):
    """Once the kernel has forgotten every name that is not in use."""
    mount.make_kernel_forget()
    return mount.stats().total("tablefuse_inodes")


def test_an_entity_keeps_its_number_while_it_is_written(mounts):
    mount = mounts("ttl=0")
    path = mount / "many/p/two.json"
    number = os.stat(path).st_ino
    for flags in (OVER, CREATE):
        file = os.open(path, flags)
        assert os.fstat(file).st_ino == os.stat(path).st_ino == number
        write_all(file, '{"N": 1}')
        assert os.fstat(file).st_ino == os.stat(path).st_ino == number
        os.close(file)
        assert os.stat(path).st_ino == number


@pytest.mark.tsan("local")
def test_many_writers_of_one_entity_at_once(mounts, stored):
    """Each has a text of its own; the last one stays. Afterwards none of their nodes is left."""
    mount = mounts("ttl=0")
    path = mount / "many/p/one.json"
    before = inodes(mount)
    files = [os.open(path, OVER) for _ in range(WRITERS)]
    assert mount.stats().total("tablefuse_inodes") >= before + WRITERS
    for file in files:
        write_all(file, '{"N": ')
    # This process has stored each text itself: it knows the version that it replaces.
    for number, file in enumerate(files):
        write_all(file, f"{number}}}")
    assert stored("many")["p", "one"] == {"N": WRITERS - 1}
    for file in files:
        os.close(file)
    wait_until(lambda: inodes(mount) <= before + 3, what="the end of the writers' nodes")
    assert failures(mount) == []


@pytest.mark.tsan("local")
def test_writers_that_are_killed_leave_no_node(mounts):
    mount = mounts("ttl=0")
    paths = [mount / "killed/p/one.json", mount / "killed/p/new.json"]
    before = inodes(mount)
    for _ in range(20):
        loops = [
            subprocess.Popen(
                ["bash", "-c", 'while :; do echo "{}" > "$1"; done', "bash", path],
                stderr=subprocess.DEVNULL,
                env=environment(),
            )
            for path in paths
        ]
        counted = mount.stats().requests("write")
        wait_until(lambda: mount.stats().requests("write") > counted + 3, what="a few writes")
        for loop in loops:
            loop.kill()
            loop.wait(timeout=60)
    assert json.loads(paths[0].read_text())["RowKey"] == "one"
    wait_until(lambda: inodes(mount) <= before + 4, what="the end of the writers' nodes")


CHANGES = {  # what is held back while its process is killed: what is stored if it was made
    "write": ("echo '{\"N\": 1}' > one.json", {"N": 1}),
    "delete": ("rm one.json", None),
}


@pytest.mark.tsan("write-local", "delete-local")
@pytest.mark.parametrize("operation", CHANGES)
def test_a_process_that_is_killed_while_it_changes_something(mounts, stored, operation):
    """The change is made or not, and the mount goes on."""
    command, changed = CHANGES[operation]
    assert write(mounts() / "killed/p/one.json", "{}") == ""
    gate = mounts.prepare().point.with_name("gate")
    mount = mounts("ttl=0", faults=f"hold={operation}:{gate}")
    gate.touch()
    process = subprocess.Popen(["bash", "-c", command], cwd=mount / "killed/p", env=environment())
    try:
        wait_until(gate.with_name("gate.held").exists, what="the request")
        process.send_signal(signal.SIGKILL)
    finally:
        gate.unlink()
        process.kill()
    assert process.wait(timeout=60) == -signal.SIGKILL
    wait_until(
        lambda: mount.stats().requests(operation) == 1 and stored("killed").get(("p", "one")) == changed,
        what="the change",
    )
    assert write(mount / "killed/p/one.json", '{"N": 2}') == ""
    assert stored("killed")["p", "one"] == {"N": 2}


# what is ordinary: the exit code
ORDINARY = {
    "echo '{}' > one.json": 0,
    "echo '{}' > new.json": 0,
    "rm new.json": 0,
    "rm -f none.json": 0,
    "rm none.json": 1,
    "mkdir -p ../q ../q": 0,
    "mkdir ../q": 1,
    "rmdir ../p": 1,
    "rmdir ../q": 0,
    "cat ../q": 1,
    "touch one.json": 0,
    "chmod 600 one.json": 0,
    "set -C; echo '{}' > one.json": 1,
}


@pytest.mark.tsan("dash-local")
@pytest.mark.parametrize("shell", ["bash", "dash"])
def test_what_is_ordinary_leaves_errors_empty(mounts, shell):
    mount = mounts("ttl=0")
    for command, code in ORDINARY.items():
        done = run(shell, "-c", command, cwd=mount / "quiet/p", check=False)
        # dash ends with 2 where a redirection fails
        assert (done.returncode != 0) == (code != 0), (command, done.stderr)
        assert re.fullmatch(r"(.*No such file.*|.*exists.*|.*not empty.*|.*existing file.*)?\n?", done.stderr)
    assert mount.control("errors") == ""
