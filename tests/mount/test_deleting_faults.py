"""Deletes that fail, or whose service fails: what is not deleted is there, is seen again and is reported; what was not
asked for is never deleted."""
import errno
import os
import re
import signal

import pytest

from credentials import account_sas
from deleting import failures_but_of_dropped, is_of_the_other, keys, names
from harness import ABANDONED, ACCOUNT, BOTH_SERVICES, KEY, TABLEFUSE, LocalAccount, no_copies, run, wait_until
from writing import failures, outcome, write

pytestmark = pytest.mark.parametrize("service", BOTH_SERVICES, indirect=True, scope="module")

STAYS = "another client has changed the entity since it was shown: it is not deleted"
DENIED = os.strerror(errno.EACCES)


@pytest.fixture
def gate(tmp_path):
    """While this file exists, requests of the operation that a fault `hold` names wait."""
    yield tmp_path / "gate"
    (tmp_path / "gate").unlink(missing_ok=True)


@pytest.fixture
def outage(tmp_path):
    """The service is down while this file exists."""
    yield tmp_path / "down"
    (tmp_path / "down").unlink(missing_ok=True)


def queued(mount):
    return mount.stats().total("tablefuse_queued")


def is_down(mount):
    return mount.stats().total("tablefuse_service_up") == 0


def taken(mount):
    """How many deletes were sent or are queued, once no batch can end."""
    counts = mount.stats()
    rows = counts.total("tablefuse_request_rows_total", operation="batch")
    return counts.requests("delete") + rows + counts.total("tablefuse_queued")


def unlink_all(directory):
    for name in sorted(os.listdir(directory)):
        os.unlink(directory / name)


# a second client


def test_what_another_client_changes_stays(mounts, fill, stored, gate):
    """This process has listed the old versions. Its first delete is sent at once, and is not of those rows."""
    fill("rival", [*keys("p", 150), *keys("q", 3)])
    mount, other = mounts("ttl=600", faults=f"hold=batch:{gate}"), mounts("ttl=0")
    listed = sorted(os.listdir(mount / "rival/p"))
    for number in (7, 120):
        assert write(other / f"rival/p/{number:05}.json", f'{{"N": {number}}}') == ""
    gate.touch()
    for name in listed:
        os.unlink(mount / "rival/p" / name)
    assert os.listdir(mount / "rival/p") == [], "the deletes are queued"
    gate.unlink()
    assert outcome(os.rmdir, mount / "rival/p") == "ENOTEMPTY"
    assert os.listdir(mount / "rival/p") == ["00007.json", "00120.json"]
    new = {("p", f"{number:05}"): {"N": number} for number in (7, 120)}
    assert stored("rival") == {**{key: {} for key in keys("q", 3)}, **new}
    *lost, removing = failures(mount)
    assert sorted((f["operation"], f["path"], f["error"], f["reason"]) for f in lost) == [
        ("unlink", f"/rival/p/{number:05}.json", "ESTALE", STAYS) for number in (7, 120)
    ]
    assert (removing["operation"], removing["path"]) == ("rmdir", "/rival/p")
    assert (removing["error"], removing["reason"]) == ("ENOTEMPTY", f"a file in it: {STAYS}")
    run("rm", "-r", mount / "rival/p")
    assert stored("rival").keys() == set(keys("q", 3))


@pytest.mark.parametrize("is_waited_for", [True, False])
def test_what_stays_is_told_once(mounts, fill, stored, is_waited_for):
    """By an fsync of its directory, or within a second or so in `errors` alone."""
    table = f"told{is_waited_for}"
    fill(table, keys("p", 20))
    mount, other = mounts("ttl=600"), mounts("ttl=0")
    listed = sorted(os.listdir(mount / table / "p"))
    assert write(other / table / "p/00003.json", '{"N": 1}') == ""
    for name in listed[:9]:
        os.unlink(mount / table / "p" / name)
    if is_waited_for:
        assert outcome(mount.send_queued, f"{table}/p") == "ESTALE"
    else:
        wait_until(lambda: queued(mount) == 0, what="the end of the queue")
    assert os.listdir(mount / table / "p") == ["00003.json", *listed[9:]]
    assert stored(table).keys() == {("p", "00003"), *keys("p", 20)[9:]}
    told = [(f["operation"], f["path"], f["error"], f["reason"]) for f in failures(mount)]
    assert told[0] == ("unlink", f"/{table}/p/00003.json", "ESTALE", STAYS)
    if is_waited_for:  # the next delete is sent at once
        assert outcome(mount.send_queued, f"{table}/p") == ""
        os.unlink(mount / table / "p/00003.json")
    else:
        os.unlink(mount / table / "p/00003.json")
        assert outcome(mount.send_queued, f"{table}/p") == "ESTALE"
    assert sorted(stored(table)) == keys("p", 20)[9:]


def test_rm_r_beside_another_client_that_changes_rows(mounts, fill, stored):
    """Whenever the other client comes: what it has written after the delete was queued stays, and rm reports it."""
    fill("changed", [*keys("p", 250), *keys("q", 3)])
    mount = mounts("ttl=600", faults="changed=batch:2:1")
    done = run("rm", "-r", mount / "changed/p", check=False)
    assert done.returncode == 1 and done.stderr.endswith(f"{os.strerror(errno.ENOTEMPTY)}\n")
    left = {key: members for key, members in stored("changed").items() if key[0] == "p"}
    ((partition, row),) = left
    assert left[partition, row].keys() == {"Rival"}
    assert os.listdir(mount / "changed/p") == [f"{row}.json"]
    assert "Rival" in (mount / f"changed/p/{row}.json").read_text()
    lost, removing = failures(mount)
    assert (lost["path"], lost["error"], lost["reason"]) == (f"/changed/p/{row}.json", "ESTALE", STAYS)
    assert (removing["operation"], removing["error"], removing["reason"]) == ("rmdir", "ENOTEMPTY", f"a file in it: {STAYS}")


def test_rm_r_of_a_table_reports_what_stays(mounts, fill, stored):
    """The directories of partitions are removed before their deletes are sent: the table's rmdir reports it."""
    fill("tablestays", [key for p in "pqr" for key in keys(p, 30)])
    mount = mounts("ttl=600", "no_table_drop", faults="changed=batch:2:1,only=tablestays")
    done = run("rm", "-r", mount / "tablestays", check=False)
    assert done.returncode == 1 and done.stderr.endswith(f"{os.strerror(errno.ENOTEMPTY)}\n")
    ((partition, row),) = stored("tablestays")
    assert os.listdir(mount / "tablestays") == [partition]
    assert os.listdir(mount / "tablestays" / partition) == [f"{row}.json"]
    assert [f["path"] for f in failures(mount)] == [f"/tablestays/{partition}/{row}.json", "/tablestays"]
    run("rm", "-r", mount / "tablestays")
    assert outcome(os.stat, mount / "tablestays") == "ENOENT"


def test_what_another_client_deletes_is_deleted(mounts, fill, stored):
    """A refused batch costs one read and one more batch."""
    fill("vanished", [*keys("p", 250), *keys("q", 3)])
    mount = mounts("ttl=600", faults="gone=batch:1:1")
    with mount.counting() as counted:
        run("rm", "-r", mount / "vanished/p")
    assert stored("vanished").keys() == set(keys("q", 3))
    assert os.listdir(mount / "vanished") == ["q"] and failures(mount) == []
    assert counted.requests("batch", status=404) == 1


def test_another_client_drops_the_table(mounts, fill):
    """What was to be deleted is gone."""
    fill("dropped", [key for p in "pq" for key in keys(p, 150)])
    mount = mounts("ttl=600", "no_table_drop", faults="dropped=batch:2,only=dropped")
    done = run("rm", "-r", mount / "dropped", check=False)
    assert done.returncode == 1
    assert all(is_of_the_other(line) for line in done.stderr.splitlines()), done.stderr
    assert outcome(os.rmdir, mount / "dropped") == "ENOENT" == outcome(os.stat, mount / "dropped")
    assert "dropped" not in run("ls", mounts("ttl=0").point).stdout.split()
    assert failures_but_of_dropped(mount, "dropped") == []


# a service that refuses, throttles, or is away


def test_without_permission_each_file_is_refused(mounts, service, fill, stored):
    fill("denied", keys("p", 40))
    if isinstance(service, LocalAccount):
        mount = mounts("ttl=600", faults="fail=delete:*:403:AuthorizationPermissionMismatch")
    else:
        sas = account_sas(ACCOUNT, KEY, permissions="rlau")
        env = {"AZURE_STORAGE_CONNECTION_STRING": service.connection_string(sas=sas)}
        mount = mounts("ttl=600", env=env)
    with mount.counting() as counted:
        few = run("rm", *[mount / "denied/p" / name for name in names(40)], check=False)
        all_of_it = run("rm", "-rf", mount / "denied/p", check=False)
    for done in (few, all_of_it):
        assert done.returncode == 1
        lines = done.stderr.splitlines()
        assert [re.search(r"(\d+\.json)': (.*)", line).groups() for line in sorted(lines)] == [
            (name, DENIED) for name in names(40)
        ]
    assert counted.requests("delete") == 80 and counted.requests("batch") == 0
    assert sorted(stored("denied")) == keys("p", 40) and os.listdir(mount / "denied/p") == names(40)


@pytest.mark.parametrize(
    "fault",
    [
        "lost=batch:1",
        "lost=batch:2",
        "fail=batch:1:503:ServerBusy",
        "fail=batch:/2:500:InternalError",
        "fail=batch:1:0:",
    ],
)
def test_a_batch_that_is_sent_again(mounts, fill, stored, fault):
    """Also one that was applied, and whose answer was lost."""
    table = "again" + re.sub(r"\W", "", fault)
    fill(table, [*keys("p", 250), *keys("q", 3)])
    mount = mounts("ttl=600", faults=fault)
    run("rm", "-r", mount / table / "p")
    assert stored(table).keys() == set(keys("q", 3))
    assert os.listdir(mount / table) == ["q"] and failures(mount) == []


def test_a_batch_that_is_refused(mounts, fill, stored):
    fill("refused", [*keys("p", 150), *keys("q", 3)])
    mount = mounts("ttl=600", faults="fail=batch:*:403:AuthorizationFailure")
    done = run("rm", "-r", mount / "refused/p", check=False)
    assert done.returncode == 1 and os.strerror(errno.ENOTEMPTY) in done.stderr
    left = sorted(stored("refused"))
    assert len(left) >= 100 and set(left) <= {*keys("p", 150), *keys("q", 3)}
    assert os.listdir(mount / "refused/p") == [f"{r}.json" for p, r in left if p == "p"]
    assert os.listdir(mount / "refused/q") == names(3)


def test_a_short_outage_is_not_seen(mounts, begin, fill, stored, outage, gate):
    fill("short", [*keys("p", 250), *keys("q", 3)])
    mount = mounts("ttl=600", faults=f"down={outage},hold=batch:{gate}")
    gate.touch()
    unlink_all(mount / "short/p")
    outage.touch()
    gate.unlink()
    removing = begin("rmdir", mount / "short/p")
    wait_until(lambda: mount.stats().requests("batch", status=0) > 0, what="the outage")
    outage.unlink()
    _, err = removing.communicate(timeout=60)
    assert (removing.returncode, err) == (0, "")
    assert stored("short").keys() == set(keys("q", 3)) and failures(mount) == []


def test_a_long_outage(mounts, fill, stored, outage, gate):
    """What is queued stays queued until the service is back. What comes later fails, and its caller is told."""
    fill("long", [*keys("p", 60), *keys("q", 3)])
    mount = mounts("ttl=600", "timeout=4", faults=f"down={outage},hold=batch:{gate}")
    files = [mount / "long/p" / name for name in sorted(os.listdir(mount / "long/p"))]
    gate.touch()
    for file in files[:30]:
        os.unlink(file)
    outage.touch()
    gate.unlink()
    wait_until(lambda: is_down(mount), what="the end of the first batch")  # before that of a caller's time
    assert outcome(mount.send_queued, "long/p") == "ECONNREFUSED"
    assert [outcome(os.unlink, file) for file in files[30:50]] == ["ECONNREFUSED"] * 20
    assert queued(mount) > 0
    outage.unlink()
    wait_until(lambda: queued(mount) == 0, what="the end of the queue")
    assert sorted(stored("long")) == [*keys("p", 60)[30:], *keys("q", 3)]
    assert os.listdir(mount / "long/p") == names(60)[30:]
    run("rm", "-r", mount / "long/p")
    assert stored("long").keys() == set(keys("q", 3))


def test_rm_r_while_the_service_goes_away(mounts, begin, fill, stored, outage, gate):
    fill("away", [*keys("p", 400), *keys("q", 3)])
    mount = mounts("ttl=600", "timeout=4", faults=f"down={outage},hold=batch:{gate}")
    gate.touch()
    removing = begin("rm", "-r", mount / "away/p")
    wait_until(gate.with_name("gate.held").exists, what="a batch")
    outage.touch()
    gate.unlink()
    _, err = removing.communicate(timeout=60)
    assert removing.returncode == 1 and err.endswith(f"{os.strerror(errno.ECONNREFUSED)}\n")
    refused = set(re.findall(r"(\d+)\.json'", err))
    outage.unlink()
    wait_until(lambda: queued(mount) == 0, what="the end of the queue")
    left = sorted(stored("away"))
    assert left == [*(("p", row) for row in sorted(refused)), *keys("q", 3)]
    assert sorted(os.listdir(mount / "away/p")) == [f"{row}.json" for row in sorted(refused)]
    remove = ("rm", "-rf", mount / "away/p")
    wait_until(lambda: run(*remove, check=False).returncode == 0, what="the end of the outage")
    assert stored("away").keys() == set(keys("q", 3))


def test_rm_r_is_interrupted(mounts, begin, fill, stored, gate):
    """It ends at once, though its rmdir waits for a batch. What it had deleted is deleted."""
    fill("stopped", [*keys("p", 150), *keys("q", 3)])
    mount = mounts("ttl=600", faults=f"hold=batch:{gate}")
    gate.touch()
    removing = begin("rm", "-r", mount / "stopped/p", mount / "stopped/q")
    wait_until(lambda: taken(mount) == 150, what="the deletes")
    removing.send_signal(signal.SIGINT)
    removing.communicate(timeout=60)
    assert removing.returncode == -signal.SIGINT
    assert os.listdir(mount / "stopped/p") == [] and os.listdir(mount / "stopped/q") == names(3)
    gate.unlink()
    mount.send_queued()
    assert stored("stopped").keys() == set(keys("q", 3)) and failures(mount) == []


def test_files_that_are_open(mounts, fill, stored):
    """They go on in memory, and nothing of them is stored, also where the delete fails later."""
    fill("open", keys("p", 6))
    mount, other = mounts("ttl=600"), mounts("ttl=0")
    first, changed, *others = [mount / "open/p" / name for name in sorted(os.listdir(mount / "open/p"))]
    assert write(other / "open/p/00001.json", '{"N": 1}') == ""
    os.unlink(first)
    opened = [os.open(path, os.O_RDWR) for path in (changed, others[0])]
    before = [os.pread(file, 1000, 0) for file in opened]
    for path in (changed, *others):
        os.unlink(path)
    assert outcome(mount.send_queued, "open/p") == "ESTALE"
    assert [os.pread(file, 1000, 0) for file in opened] == before
    for file in opened:
        os.ftruncate(file, 0)
        os.pwrite(file, b'{"N": 2}', 0)
        os.close(file)
    assert stored("open") == {("p", "00001"): {"N": 1}} and os.listdir(mount / "open/p") == ["00001.json"]
    assert [(f["operation"], f["error"], f["reason"]) for f in failures(mount)] == [
        (operation, "ESTALE", STAYS) for operation in ("unlink", "fsync")
    ]


# the end of the mount


def kill(mount, removing):
    """Once `rm -r` of 400 files has deleted them all, and waits. Returns how many of the deletes are queued."""
    wait_until(lambda: taken(mount) == 400, what="the deletes")
    lost = queued(mount)
    mount.send(signal.SIGKILL)
    assert mount.has_ended()
    removing.communicate(timeout=60)
    assert removing.returncode == 1
    return lost


def test_kill_9(mounts, begin, fill, stored, gate):
    """Nothing is sent any more: what was queued is there."""
    fill("killed", [*keys("p", 400), *keys("q", 3)])
    mount = mounts("ttl=600", faults=f"hold=batch:{gate}")
    gate.touch()
    removing = begin("rm", "-r", mount / "killed/p")
    lost = kill(mount, removing)
    mount.finish()
    left = stored("killed").keys()
    assert len(left) == lost + 3 and set(keys("q", 3)) < left < {*keys("p", 400), *keys("q", 3)}
    assert sorted(os.listdir(mounts() / "killed/p")) == sorted(f"{r}.json" for p, r in left if p == "p")


@pytest.mark.parametrize("at", range(1, 5))
def test_kill_9_between_batches(mounts, begin, fill, stored, at):
    """What was sent is deleted, all else is there."""
    table = f"killed{at}"
    fill(table, [*keys("p", 400), *keys("q", 3)])
    mount = mounts("ttl=600", faults=f"hang=batch:{at}+")
    removing = begin("rm", "-r", mount / table / "p")
    wait_until(lambda: mount.stats().requests("batch") == at - 1, what="the batches")
    lost = kill(mount, removing)
    left = stored(table).keys()
    assert len(left) == lost + 3 and set(keys("q", 3)) < left < {*keys("p", 400), *keys("q", 3)}
    mount.finish()
    run("rm", "-r", mounts() / table / "p")
    assert stored(table).keys() == set(keys("q", 3))


@pytest.mark.parametrize("how", ["unmount", "umount", "SIGTERM"])
def test_the_end_of_the_mount_sends_what_is_queued(mounts, fill, stored, how):
    fill(f"end{how}", [*keys("p", 150), *keys("q", 3)])
    mount = mounts("ttl=600")
    unlink_all(mount / f"end{how}/p")
    if how == "unmount":
        assert mount.unmount().stderr == ""
    elif how == "umount":
        run("umount", mount.point)
    else:
        mount.send(signal.SIGTERM)
    assert mount.has_ended()
    assert stored(f"end{how}").keys() == set(keys("q", 3))


def test_unmount_waits_for_the_queue(mounts, begin, fill, stored, gate):
    fill("waits", [*keys("p", 150), *keys("q", 3)])
    mount = mounts("ttl=600", faults=f"hold=batch:{gate}")
    gate.touch()
    unlink_all(mount / "waits/p")
    with no_copies():
        ending = begin(TABLEFUSE, "unmount", mount.point)
        wait_until(lambda: not mount.is_mounted(), what="the unmount")
    assert len(stored("waits")) > 3 and ending.poll() is None
    gate.unlink()
    out, err = ending.communicate(timeout=60)
    assert (ending.returncode, out + err) == (0, "")
    assert stored("waits").keys() == set(keys("q", 3))


@pytest.mark.parametrize("fault", ["down", "throttled"])
def test_unmount_reports_what_was_not_deleted(mounts, fill, stored, outage, gate, fault):
    fill(fault, keys("p", 40))
    fails = {"down": f"down={outage}", "throttled": "fail=batch:*:503:ServerBusy"}[fault]
    mount = mounts("ttl=600", "timeout=4", faults=f"{fails},hold=batch:{gate}")
    gate.touch()
    unlink_all(mount / fault / "p")
    outage.touch()
    gate.unlink()
    done = mount.unmount(check=False)
    assert done.returncode == ABANDONED
    left = sorted(stored(fault))
    assert left and set(left) < set(keys("p", 40)), "one was sent at once"
    assert f"{len(left)} queued deletes were perhaps not made -- see *-queued-deletes in /" in done.stderr
    ((name, kept),) = mount.lost_texts().items()
    assert re.fullmatch(r"\d{8}T\d{6}\.\d{3}Z-\w+-queued-deletes", name)
    lines = kept.decode().splitlines()
    assert sorted(line.split()[2] for line in lines) == [f"/{fault}/{p}/{row}.json:" for p, row in left]
    outage.unlink()
    run("rm", "-r", mounts() / fault / "p")
    assert stored(fault) == {}
