"""`rm -r TABLE` is one Delete Table, and nothing else ever drops a table: not a process that leaves something standing,
nor one that listed the account, nor one whose table another client or process changes meanwhile. On Azurite and in a
file."""
import errno
import os
import signal
import subprocess
import sys

import pytest

from deleting import Deleting, Dropping, keys
from harness import BOTH_SERVICES, COMMAND_SEC, LocalAccount, environment, run, wait_until
from writing import failures, outcome, write

pytestmark = pytest.mark.parametrize("service", BOTH_SERVICES, indirect=True, scope="module")

FANOUT = 16
ROWS = 120  # of a partition: more than a batch has
PARTITIONS = "pqr"
PATIENCE = "timeout=6"  # it is waited for; a busy machine answers the requests that are to succeed within it


@pytest.fixture
def mount(mounts):
    return mounts("ttl=600", f"fanout={FANOUT}")


@pytest.fixture
def gate(tmp_path):
    """While this file exists, requests of the operation that a fault `hold` names wait."""
    yield tmp_path / "gate"
    (tmp_path / "gate").unlink(missing_ok=True)


def rows(partitions=PARTITIONS, count=ROWS):
    return [key for p in partitions for key in keys(p, count)]


def tables(mounts):
    """By a mount that has changed nothing."""
    return run("ls", mounts("ttl=0").point).stdout.split()


def queued(mount):
    return mount.stats().total("tablefuse_queued")


def removes(tool, *what):
    if tool == "rmtree":
        script = "import shutil, sys\nfor table in sys.argv[1:]: shutil.rmtree(table)"
        return [sys.executable, "-c", script, *what]
    return ["find", *what, "-delete"] if tool == "find" else ["rm", "-r", *what]


# one Delete Table


@pytest.mark.asan("rm-local")
@pytest.mark.tsan("rm-local")
@pytest.mark.parametrize("tool", ["rm", "find", "rmtree"])
def test_a_whole_table(mount, mounts, fill, tool):
    table = f"whole{tool}"
    fill(table, rows())
    with Dropping(mount):
        assert run(*removes(tool, mount / table)).stderr == ""
        assert outcome(os.stat, mount / table) == "ENOENT"
        assert table not in os.listdir(mount.point)
    assert table not in tables(mounts) and failures(mount) == []


@pytest.mark.parametrize("options", [["ttl=600"], ["ttl=0.1"], ["ttl=0"], ["ttl=600", "layout=flat"]])
def test_three_levels_of_prefixes(mounts, fill, options):
    """The partitions aXY are below a+ and aX+."""
    table = "levels" + "".join(c for c in "".join(options) if c.isalnum())
    partitions = [f"{x}{y}{z}" for x in "ab" for y in "0123456789" for z in "0123456789"]
    fill(table, [(p, r) for p in partitions for r in "xy"])
    mount = mounts(f"fanout={FANOUT}", *options)
    if "layout=flat" not in options:
        assert run("ls", mount / table).stdout.split() == ["a+", "b+"]
    with Dropping(mount):
        assert run("rm", "-r", mount / table).stderr == ""
    assert table not in tables(mounts) and failures(mount) == []


def test_one_after_another_that_stays(mounts, fill, stored):
    """The first is in use: the second is dropped all the same."""
    fill("stays1", rows())
    fill("stays2", rows())
    mount = mounts("ttl=600", faults="changed=delete:1:1,only=none")
    other = mounts("ttl=0")
    run("ls", "-R", mount / "stays1")
    script = 'rm -r "$1" "$2"'
    assert write(other / "stays1/p/new.json", "{}") == ""
    done = run("sh", "-c", script, "sh", mount / "stays1", mount / "stays2", check=False)
    assert done.returncode == 1 and done.stderr.endswith(f"{os.strerror(errno.ENOTEMPTY)}\n")
    mount.send_queued("stays1")
    assert stored("stays1").keys() == {("p", "new")}
    assert "stays2" not in tables(mounts)


@pytest.mark.parametrize("count", [0, 1, 2])
def test_a_table_of_few_rows(mount, mounts, fill, count):
    table = f"few{count}"
    fill(table, keys("p", count))
    run("rm", "-r", mount / table)
    assert table not in tables(mounts) and failures(mount) == []


def test_many_partitions(mount, mounts, fill, service):
    """More than the queue takes of deletes that are not held: PENDING_PARTITIONS_MAX. Azurite takes long for each."""
    fill("many", [(f"{p:05}", "r") for p in range(2100 if isinstance(service, LocalAccount) else 300)])
    with Dropping(mount):
        run("rm", "-r", mount / "many/.flat", check=False)  # its name cannot be removed: it is a part of the mount
        run("rm", "-r", mount / "many")
    assert "many" not in tables(mounts)


def test_each_page_is_asked_for_twice(mounts, fill, service):
    """By the listing, and by the look of the rmdir; and nothing else but a page of the `stat` of another process. With
    `parallelism` above 1, guesses where a partition can be divided cost some more. Azurite takes long for a page."""
    pages = 20 if isinstance(service, LocalAccount) else 4
    fill("pages", keys("p", pages * 1000))
    mount = mounts("ttl=600", "parallelism=1")
    before = mount.stats()
    run("stat", mount / "pages/p")
    run("rm", "-r", mount / "pages")
    asked = (mount.stats() - before).asked()
    # what a process has held that pauses for some seconds is sent
    assert "batch" in asked or asked["query"] == 1 + pages + pages + 1, asked
    assert asked["delete_table"] == 1 and failures(mount) == []


# no Delete Table


def test_what_is_in_a_table_alone(mount, fill, stored):
    """The shell lists the table, and rm does not."""
    fill("inside", rows())
    with Deleting(mount, 1, [ROWS - 1, ROWS, ROWS]) as deleting:
        run("sh", "-c", 'rm -r "$1"/*', "sh", mount / "inside")
        assert os.listdir(mount / "inside") == []
    assert "delete_table" not in deleting.asked and stored("inside") == {} and failures(mount) == []


def test_all_but_the_table(mount, fill, stored):
    """Its deletes are held, and sent some seconds after its end, or when a program waits for them."""
    fill("mindepth", rows())
    with Deleting(mount, 1, [ROWS - 1, ROWS, ROWS]) as deleting:
        run("find", mount / "mindepth", "-mindepth", "1", "-delete")
    assert "delete_table" not in deleting.asked and stored("mindepth") == {} and failures(mount) == []
    assert os.listdir(mount / "mindepth") == []


@pytest.mark.tsan("local")
def test_a_partition_that_stays(mount, fill, stored):
    """What is held is sent at the same time."""
    fill("leaves", [key for p in PARTITIONS for x in "xy" for key in keys(p, ROWS, x)])
    with Deleting(mount, 1, [ROWS - 1, ROWS, ROWS]) as deleting:
        run("find", mount / "leaves", "-name", "x*", "-delete")
    assert "delete_table" not in deleting.asked and failures(mount) == []
    assert sorted(stored("leaves")) == [key for p in PARTITIONS for key in keys(p, ROWS, "y")]


def test_the_account(mount, mounts, fill, stored):
    """`rm -rf MNT` deletes what it was shown in batches, and leaves the tables."""
    fill("root1", rows("pq"))
    fill("root2", rows("pq"))
    before = set(tables(mounts))
    done = run("rm", "-rf", mount.point, check=False)
    assert done.returncode == 1
    assert f"cannot remove '{mount / 'root1'}': {os.strerror(errno.EPERM)}" in done.stderr
    assert set(tables(mounts)) == before
    mount.send_queued()
    assert stored("root1") == {} == stored("root2")
    refused = [f for f in failures(mount) if f["path"] == "/root1"]
    reason = "a process that has listed the account's root drops no table"
    assert [(f["operation"], f["error"], f["reason"], f["advice"]) for f in refused] == [
        ("rmdir", "EPERM", reason, "name the table: rmdir DIR/TABLE")
    ]


def test_no_table_drop(mounts, fill):
    fill("nodrop", rows())
    mount = mounts("ttl=600", "no_table_drop")
    with Deleting(mount, 1, [ROWS - 1, ROWS, ROWS]) as deleting:
        run("rm", "-r", mount / "nodrop")
    assert deleting.asked["delete_table"] == 1, "it is empty by then"
    assert "nodrop" not in tables(mounts) and failures(mount) == []


def test_rm_is_stopped(mounts, begin, fill, stored):
    """Before the last rmdir. What it has deleted is sent some seconds later."""
    stopped = {"killed": signal.SIGKILL, "stopped": signal.SIGSTOP}
    for table in stopped:
        fill(table, rows("p"))
    mount = mounts("ttl=600")
    script = (
        "import os, sys, time\n"
        "for name in os.listdir(sys.argv[1]):\n"
        "    path = f'{sys.argv[1]}/{name}'\n"
        "    for file in os.listdir(path): os.unlink(f'{path}/{file}')\n"
        "    os.rmdir(path)\n"
        "print(flush=True)\n"
        "time.sleep(600)\n"
    )
    with Deleting(mount, 2, [ROWS - 1, ROWS - 1], processes=2) as deleting:
        processes = {table: begin(sys.executable, "-c", script, mount / table) for table in stopped}
        for table, process in processes.items():
            process.stdout.readline()
            process.send_signal(stopped[table])
        wait_until(lambda: queued(mount) == 0, what="the end of the holds")
        for process in processes.values():
            process.kill()
    assert "delete_table" not in deleting.asked and failures(mount) == []
    assert stored("killed") == {} == stored("stopped")


def test_more_than_the_queue_holds(mounts, fill, stored):
    fill("large", rows("pqrstuvwxy", 400))
    mount = mounts("ttl=600", "pending_size=512K")
    with mount.counting() as counted:
        run("rm", "-r", mount / "large")
    assert counted.requests("batch") > 0 and counted.requests("delete_table") == 1
    assert "large" not in tables(mounts) and failures(mount) == []


# others change the table


def begin_until_rmdir(begin, gate, mount, table):
    """rm waits in the look at the table."""
    process = begin("rm", "-r", mount / table)
    held = gate.with_name(gate.name + ".held")
    wait_until(held.exists, what="the look at the table")
    return process


def remove_beside(directory, path):
    """Lists the table's directory, and deletes what was listed after another client has written the file. What rmdir
    says."""
    script = (
        "import contextlib, os, sys\n"
        "table = sys.argv[1]\n"
        "listed = {p: sorted(os.listdir(f'{table}/{p}')) for p in sorted(os.listdir(table))}\n"
        "print(flush=True)\n"
        "sys.stdin.readline()\n"
        "for p, names in listed.items():\n"
        "    for name in names: os.unlink(f'{table}/{p}/{name}')\n"
        "    with contextlib.suppress(OSError): os.rmdir(f'{table}/{p}')\n"
        "os.rmdir(table)\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", script, directory],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment(),
    )
    try:
        process.stdout.readline()
        assert write(path, '{"N": 1}') == ""
        return process.communicate("\n", timeout=COMMAND_SEC)[1]
    finally:
        process.kill()
        process.communicate()


@pytest.mark.asan("changes-local")
@pytest.mark.tsan("changes-local")
@pytest.mark.parametrize("deed", ["adds", "changes"])
def test_another_client_before_the_look(mounts, fill, stored, deed):
    """What rm was not shown stays, and what it was shown is deleted."""
    table = f"other{deed}"
    fill(table, rows())
    mount, other = mounts("ttl=600"), mounts("ttl=0")
    name = "new" if deed == "adds" else "00007"
    run("ls", "-R", mount / table)
    err = remove_beside(mount / table, other / table / f"q/{name}.json")
    assert "OSError: [Errno 39] Directory not empty" in err
    assert outcome(mount.send_queued, table) == ("" if deed == "adds" else "ESTALE")
    assert stored(table) == {("q", name): {"N": 1}}
    assert os.listdir(mount / table) == ["q"] and os.listdir(mount / table / "q") == [f"{name}.json"]
    run("rm", "-r", mount / table)
    assert table not in tables(mounts)


def test_a_table_in_use_is_told_at_once(mounts, fill, stored, gate):
    """The deletes, which the service does not answer, are not waited for; and it is told that they are not made yet."""
    fill("atonce", rows())
    gate.touch()
    mount, other = mounts("ttl=600", faults=f"only=atonce,hold=batch:{gate}"), mounts("ttl=0")
    err = remove_beside(mount / "atonce", other / "atonce/q/new.json")
    assert "OSError: [Errno 39] Directory not empty" in err
    failed = failures(mount)[-1]
    assert (failed["operation"], failed["path"], failed["error"]) == ("rmdir", "/atonce", "ENOTEMPTY")
    assert failed["reason"] == "the table has entities"
    assert failed["advice"] == "list the table: what it shows was not deleted. Deletes of the rest are still queued"
    assert queued(mount) > 0
    assert os.listdir(mount / "atonce") == ["q"] and os.listdir(mount / "atonce/q") == ["new.json"]
    gate.unlink()
    assert mount.unmount().stderr == ""
    assert stored("atonce").keys() == {("q", "new")}


def test_deletes_that_take_too_long(mounts, fill, stored):
    """The service takes one batch, and then none."""
    fill("tooslow", rows())
    faults = "only=tooslow,fail=batch:2+:503:ServerBusy"
    mount = mounts("ttl=600", PATIENCE, "no_table_drop", faults=faults)
    done = run("rm", "-r", mount / "tooslow", check=False)
    assert done.returncode == 1 and done.stderr.endswith(f"{os.strerror(errno.EBUSY)}\n"), done.stderr
    failed = failures(mount)[-1]
    assert (failed["operation"], failed["path"], failed["error"]) == ("rmdir", "/tooslow", "EBUSY")
    assert failed["reason"] == f"queued changes are still being sent: {len(stored('tooslow'))}"
    assert failed["advice"] == "they go on being sent: try again later"
    assert mount.unmount(check=False).returncode == 6


def test_this_mount_during_the_look(mounts, begin, fill, gate):
    """The kernel keeps other programs out of the table while it is removed."""
    fill("during", rows())
    mount = mounts("ttl=600", faults=f"hold=query:{gate}")
    run("ls", "-R", mount / "during")
    gate.touch()
    removing = begin_until_rmdir(begin, gate, mount, "during")
    making = begin("mkdir", mount / "during/new")
    gate.unlink()
    assert removing.communicate(timeout=COMMAND_SEC) == ("", "") and removing.returncode == 0
    _, err = making.communicate(timeout=COMMAND_SEC)
    assert err.endswith(f"{os.strerror(errno.ENOENT)}\n"), err
    assert failures(mount) == []


def test_a_look_that_is_not_answered(mounts, begin, fill, stored, gate):
    """One that takes too long although the service answers is a test of table_drop: it would take 24 seconds here."""
    fill("silent", rows())
    mount = mounts("ttl=600", PATIENCE, faults=f"hold=query:{gate}")
    run("ls", "-R", mount / "silent")
    gate.touch()
    process = begin_until_rmdir(begin, gate, mount, "silent")
    _, err = process.communicate(timeout=COMMAND_SEC)
    gate.unlink()
    assert process.returncode == 1 and err.endswith(f"{os.strerror(errno.ETIMEDOUT)}\n"), err
    (failed,) = failures(mount)
    assert (failed["operation"], failed["path"], failed["error"]) == ("rmdir", "/silent", "ETIMEDOUT")
    assert failed["reason"].endswith("while the entities of the table were read"), failed
    assert failed["advice"].startswith("check the network"), failed
    wait_until(lambda: stored("silent") == {}, what="what was held")


@pytest.mark.parametrize(
    "fault",
    [
        "fail=query:*:503:ServerBusy",
        "fail=delete_table:1:403:AuthorizationFailure",
        "fail=delete_table:1:503:ServerBusy",
        "lost=delete_table:1",
        "fail=delete_table:1:409:TableBeingDeleted",
    ],
)
def test_the_drop_fails_or_is_repeated(mounts, fill, stored, fault):
    """Either the table is gone, or rm has failed and everything that it was shown is deleted."""
    table = "fault" + "".join(c for c in fault if c.isalnum())
    fill(table, rows())
    patience = ["timeout=2"] if fault.startswith("fail=query") else []  # there no look at the table succeeds
    mount = mounts("ttl=600", *patience, faults=f"only={table},{fault}")
    done = run("rm", "-r", mount / table, check=False)
    is_there = table in tables(mounts)
    assert is_there == (done.returncode != 0), done.stderr
    if is_there:
        wait_until(lambda: queued(mount) == 0, what="the queue's end")
        assert fault.startswith("fail=query") or stored(table) == {}


# after the drop


def test_open_files_and_directories(mount, fill):
    fill("opened", rows("p", 5))
    with open(mount / "opened/p/00001.json", encoding="utf-8") as file:
        directory = os.open(mount / "opened/p", os.O_RDONLY | os.O_DIRECTORY)
        text = file.read()
        run("rm", "-r", mount / "opened")
        file.seek(0)
        assert file.read() == text
        assert outcome(os.listdir, directory) in ("ESTALE", "ENOENT", "")
        os.close(directory)


def test_it_is_made_again(mount, fill, stored):
    fill("again", rows())
    run("rm", "-r", mount / "again")
    os.mkdir(mount / "again")
    assert os.listdir(mount / "again") == []
    os.mkdir(mount / "again/p")
    assert write(mount / "again/p/00001.json", '{"N": 1}') == ""
    assert stored("again") == {("p", "00001"): {"N": 1}} and failures(mount) == []
