"""`rm -r TABLE` with a fault, or the end of the daemon, at each of its requests in turn: either the table is gone, or rm
has failed, what it was not shown is there, and the next `rm -r` goes on. In a file; the requests are the same for every
service."""
import contextlib
import sqlite3
import time

import pytest

from deleting import REST_SEC
from harness import COMMAND_SEC, FAULTY, run, wait_until
from kill_switch import OPERATIONS, REQUESTS, RMDIR, UNLINK, KillSwitch

pytestmark = pytest.mark.parametrize("service", ["local"], indirect=True, scope="module")

PARTITIONS = "pq"
ROWS = [(p, f"{r:02}") for p in PARTITIONS for r in range(60)]
MOST = 60  # requests


@pytest.fixture(scope="module", autouse=True)
def account(make_table):
    make_table("beside", [("p", "r")])


def tables(service):
    """Waits for a mount that has just been killed to let go of the file."""
    with contextlib.closing(sqlite3.connect(service.file, timeout=COMMAND_SEC)) as database:
        return [name for (name,) in database.execute("SELECT name FROM tables")]


def remove(directory):
    return run("rm", "-r", directory, check=False).returncode == 0


def check_rest(service, stored, table, is_removed):
    """Of what was not to be deleted, nothing is gone."""
    assert stored("beside").keys() == {("p", "r")}
    if is_removed:
        assert table not in tables(service)
    assert stored(table).keys() <= set(ROWS)


# {name: (the fault, may rm fail?)}
FAULTS = {
    "reset": ("fail=*:{0}:0:", False),
    "busy": ("fail=*:{0}:503:ServerBusy", False),
    "refused": ("fail=*:{0}:403:AuthorizationFailure", True),
    "gone": ("fail=*:{0}:404:TableNotFound", True),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_at_each_request(mounts, service, make_table, stored, fault):
    rule, may_fail = FAULTS[fault]
    for number in range(1, MOST):
        table = f"{fault}{number}"
        make_table(table, ROWS)
        mount = mounts("ttl=600", faults=f"only={table},{rule.format(number)}")
        is_removed = remove(mount / table)
        assert is_removed or may_fail, (number, mount.control("errors"))
        is_over = mount.stats().total("tablefuse_failures_total") == 0 and (
            mount.stats().total("tablefuse_retries_total") == 0
        )
        if not is_removed:
            wait_until(lambda: mount.stats().total("tablefuse_queued") == 0, what="the end of the queue")
        check_rest(service, stored, table, is_removed)
        if not is_removed and table in tables(service):
            run("rm", "-r", mounts("ttl=0") / table)
        assert table not in tables(service) or fault == "gone"
        mount.unmount(check=not may_fail)
        if is_over:
            return
    raise AssertionError(f"more than {MOST} requests")


@pytest.mark.parametrize("point", ["request", "answer"])
def test_the_daemon_is_killed_at_each_request(mounts, service, make_table, stored, tmp_path, point):
    """The deletes that were held are lost with it; a table that was dropped is gone."""
    switch = KillSwitch(tmp_path / "switch")
    index = {"request": 2, "answer": 3}[point]
    was_gone = was_whole = False
    for number in range(1, MOST):
        table = f"{point}{number}"
        make_table(table, ROWS)
        mount = mounts.prepare()
        switch.arm(OPERATIONS)
        mount.start(service.source, "ttl=600", program=FAULTY, env=switch.environment)
        mount.let_end()
        switch.arm(REQUESTS, index, number)
        began = time.monotonic()
        is_removed = remove(mount / table)
        has_paused = time.monotonic() - began >= REST_SEC
        assert mount.has_ended(0 if is_removed else COMMAND_SEC) != is_removed
        with contextlib.suppress(Exception):
            mount.unmount("-z")
        if is_removed:
            assert table not in tables(service)
            break
        is_gone, left = table not in tables(service), stored(table).keys()
        assert is_gone or has_paused or set(ROWS) - left in (set(), {ROWS[0]}), "the first delete alone is sent"
        was_gone |= is_gone
        was_whole |= not is_gone
        if not is_gone:
            run("rm", "-r", mounts("ttl=0") / table)
            assert table not in tables(service)
    assert was_whole and was_gone == (point == "answer")


@pytest.mark.parametrize("point", ["operation", "reply"])
def test_the_daemon_is_killed_at_each_delete(mounts, service, make_table, stored, tmp_path, point):
    """No delete is made but the first one, until the table is dropped."""
    switch = KillSwitch(tmp_path / "switch")
    few = [(p, f"{r}") for p in PARTITIONS for r in range(3)]
    operations = len(few) + len(PARTITIONS) + 1
    for number in range(1, operations + 1):
        table = f"{point}{number}"
        make_table(table, few)
        mount = mounts.prepare()
        switch.arm(OPERATIONS)
        mount.start(service.source, "ttl=600", program=FAULTY, env=switch.environment)
        mount.let_end()
        switch.arm({UNLINK, RMDIR}, ["operation", "reply"].index(point), number)
        began = time.monotonic()
        assert not remove(mount / table) and mount.has_ended()
        has_paused = time.monotonic() - began >= REST_SEC
        with contextlib.suppress(Exception):
            mount.unmount("-z")
        is_gone = table not in tables(service)
        assert is_gone == (number == operations and point == "reply")
        if not is_gone:
            deleted = set(few) - stored(table).keys()
            assert has_paused or deleted == ({few[0]} if number > 1 or point == "reply" else set())
            run("rm", "-r", mounts("ttl=0") / table)
            assert table not in tables(service)
