"""-o writeback when something goes wrong after the close: what was acknowledged is stored, or it is in lost+found and
reported. What fsync has acknowledged is stored."""
import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import time

import pytest

from credentials import account_sas
from harness import ABANDONED, BOTH_SERVICES, COMMAND_SEC, FAULTY, TABLEFUSE, environment, no_copies, run, wait_until
from writing import CREATE, EXCLUSIVE, failures, kept, outcome, write, write_all

on_both = pytest.mark.parametrize("service", BOTH_SERVICES, indirect=True, scope="module")

LONG = "ttl=600"


@pytest.fixture(scope="module", autouse=True)
def tables(make_table):
    for table in ("refused", "down", "ended", "killed", "counted", "full"):
        make_table(table, [("p", "beside")])


def rows(stored, table):
    """{row: properties} of the partition p, without the row that was there before."""
    return {row: text for (p, row), text in stored(table).items() if p == "p" and row != "beside"}


def write_many(mount, table, names):
    for name in names:
        assert write(mount / f"{table}/p/{name}.json", json.dumps({"Name": name})) == ""


def queued_texts(mount, table):
    """The entities of the file that keeps what was queued at the end. There is no other text in lost+found."""
    names = [name for name in mount.lost_texts() if not name.endswith(".reason")]
    assert len(names) == 1 and re.fullmatch(rf"\S+Z-[^-]+-{table}-queued\.ndjson", names[0]), names
    return [json.loads(line) for line in mount.lost_texts()[names[0]].splitlines()]


# What the service refuses after the close


def change_first(mount, other, path):
    assert '"By": "nobody"' in (mount / path).read_text()
    assert write(other / path, '{"By": "another"}') == ""


def remove_first(mount, other, path):
    assert (mount / path).read_text()
    os.unlink(other / path)


def insert_first(mount, other, path):
    assert outcome(os.stat, mount / path) == "ENOENT"
    assert write(other / path, '{"By": "another"}') == ""


CANONICAL = b'{\n  "PartitionKey": "p",\n  "RowKey": "%s",\n  "By": "me"\n}\n'

# name: was it there; what the other client does; how the file is opened; the errno, the reason; what is stored then
RACES = {
    "changed": (
        True, change_first, CREATE, "ESTALE", "another client has changed the entity since it was read", "another",
    ),
    "removed": (True, remove_first, CREATE, "ESTALE", "another client has deleted the entity", None),
    "inserted": (
        False, insert_first, EXCLUSIVE, "EEXIST", "another client has stored an entity of this name", "another",
    ),
}  # fmt: skip


@on_both
@pytest.mark.parametrize("how", ["file", "directory", "nothing"])
@pytest.mark.parametrize("name", RACES)
def test_another_client_was_first(mounts, stored, name, how):
    was_there, act, flags, error, reason, left = RACES[name]
    mount, other = mounts("writeback", LONG), mounts("ttl=0")
    row = f"{name}-{how}"
    path = f"refused/p/{row}.json"
    if was_there:
        assert write(other / path, '{"By": "nobody"}') == ""
    act(mount, other, path)
    file = os.open(mount / path, flags)
    write_many(mount, "refused", [f"{row}-before"])
    assert outcome(write_all, file, '{"By": "me"}') == ""
    write_many(mount, "refused", [f"{row}-behind"])
    if how == "file":
        assert outcome(os.fsync, file) == error
    if how == "directory":
        assert outcome(mount.send_queued, "refused/p") == error
        assert outcome(mount.send_queued, "refused/p") == "", "it is told once"
    assert kept(mount, 1) == {f"{row}.json": CANONICAL % row.encode()}
    os.close(file)
    failure, *told = failures(mount)
    assert (failure["operation"], failure["path"], failure["error"]) == ("write", "/" + path, error)
    assert failure["reason"].startswith(reason)
    assert all(f["operation"] == "fsync" for f in told)
    assert outcome(mount.send_queued, "refused") == (error if how == "nothing" else "")
    found = rows(stored, "refused")
    assert found.get(row) == ({"By": left} if left else None)
    assert f"{row}-before" in found and f"{row}-behind" in found, "its neighbours are stored"
    text = run("cat", mount / path, check=False).stdout
    assert ('"By": "another"' in text) == (left is not None), "what is seen is what is stored"


@on_both
def test_the_next_text_after_a_refusal_is_stored(mounts, stored):
    """As the refusal without write-back says: to write again overwrites."""
    mount, other = mounts("writeback", LONG), mounts("ttl=0")
    path = "refused/p/again.json"
    assert write(other / path, '{"By": "nobody"}') == ""
    change_first(mount, other, path)
    assert write(mount / path, '{"By": "me"}') == ""
    assert outcome(mount.send_queued) == "ESTALE"
    assert write(mount / path, '{"By": "me again"}') == ""
    mount.send_queued()
    assert rows(stored, "refused")["again"] == {"By": "me again"}


@on_both
def test_a_conflict_that_is_known_fails_at_once(mounts, stored):
    """Another process of the mount has stored the entity since this one has read it."""
    mount = mounts("writeback", LONG)
    path = mount / "refused/p/known.json"
    assert write(path, '{"By": "nobody"}') == ""
    mount.send_queued()
    assert '"By": "nobody"' in path.read_text()
    run("sh", "-c", 'echo \'{"By": "another"}\' > "$1"', "sh", path)
    assert write(path, '{"By": "me"}') == "write ESTALE"
    mount.send_queued()
    assert rows(stored, "refused")["known"] == {"By": "another"}
    assert list(kept(mount, 1)) == ["known.json"]


@on_both
def test_a_table_that_another_client_drops(mounts, make_table, stored):
    make_table("dropped", [("p", "beside")])
    mount = mounts("writeback", LONG, faults="dropped=write:1,dropped=batch:1,only=dropped")
    write_many(mount, "dropped", "ab")
    assert outcome(mount.send_queued, "dropped") == "ENOENT"
    assert sorted(kept(mount, 2)) == ["a.json", "b.json"]
    assert [(f["error"], f["code"]) for f in failures(mount)] == [("ENOENT", "TableNotFound")] * 2
    write_many(mount, "refused", ["elsewhere"])
    mount.send_queued()
    assert rows(stored, "refused")["elsewhere"] == {"Name": "elsewhere"}


@pytest.mark.parametrize("service", ["azurite"], indirect=True, scope="module")
def test_a_signature_that_does_not_allow_to_write(mounts, service, stored):
    token = account_sas(service.account, service.key, permissions="rl")
    mount = mounts(
        "writeback", LONG, env={"AZURE_STORAGE_CONNECTION_STRING": service.connection_string(sas=token)}
    )
    write_many(mount, "refused", ["denied"])  # the emulator does not check batches
    assert outcome(mount.send_queued, "refused") == "EACCES"
    assert list(kept(mount, 1)) == ["denied.json"]
    said = mount.control("errors") + repr(mount.lost_texts())
    signature = dict(pair.split("=", 1) for pair in token.split("&"))["sig"]
    assert {f["error"] for f in failures(mount)} == {"EACCES"} and signature not in said
    assert "denied" not in rows(stored, "refused")


@on_both
def test_a_row_that_the_service_refuses(mounts, stored):
    """Every other text is stored or kept."""
    mount = mounts("writeback", LONG, faults="refuse=2:400:PropertyLimitExceeded")
    names = [f"limit{number}" for number in range(10)]
    write_many(mount, "refused", names)
    assert outcome(mount.send_queued) == "EINVAL"
    left = [name for name in names if name in rows(stored, "refused")]
    assert names[0] in left and len(left) < len(names), "the first row of each batch is stored"
    assert sorted(kept(mount, len(names) - len(left))) == [f"{name}.json" for name in names if name not in left]


@on_both
@pytest.mark.parametrize("lost", ["write", "batch"])
def test_a_lost_answer_is_no_failure(mounts, stored, lost):
    """The text is there: it is not taken for another client's."""
    mount = mounts("writeback", LONG, faults=f"lost={lost}:1")
    names = [f"{lost}{number}" for number in range(1 if lost == "write" else 5)]
    for name in names:
        file = os.open(mount / f"refused/p/{name}.json", EXCLUSIVE)
        write_all(file, json.dumps({"Name": name}))
        os.close(file)
    mount.send_queued()
    found = rows(stored, "refused")
    assert [found[name] for name in names] == [{"Name": name} for name in names]
    assert failures(mount) == [] and mount.lost_texts() == {}


# The service is down


@pytest.fixture
def outage(tmp_path):
    """The service is down while this file exists."""
    return tmp_path / "down"


@on_both
def test_nothing_new_is_queued_while_the_service_is_known_to_be_down(mounts, outage, stored):
    mount = mounts("writeback", LONG, "timeout=4", faults=f"down={outage}")
    directory = mount / "down/p"
    os.listdir(directory)
    outage.touch()
    assert write(directory / "first.json", '{"A": 1}') == ""
    wait_until(lambda: mount.stats().total("tablefuse_service_up") == 0, what="the end of the first request")
    assert outcome(mount.send_queued) == "ECONNREFUSED"
    assert write(directory / "second.json", '{"A": 2}') == "write ECONNREFUSED"
    assert json.loads((directory / "first.json").read_text())["A"] == 1, "it stays queued"
    outage.unlink()
    wait_until(lambda: rows(stored, "down").get("first") == {"A": 1}, what="the text that was queued")
    wait_until(lambda: mount.stats().total("tablefuse_service_up") == 1, what="the answer, after the change")
    assert write(directory / "third.json", '{"A": 3}') == ""
    mount.send_queued()
    assert rows(stored, "down") == {"first": {"A": 1}, "third": {"A": 3}}
    assert mount.lost_texts() == {}


@on_both
def test_a_throttled_partition_delays_and_loses_nothing(mounts, stored):
    mount = mounts("writeback", LONG, faults="throttle=200:300,partition=p,only=down")
    names = [f"wave{number:03}" for number in range(600)]
    write_many(mount, "down", names)
    mount.send_queued()
    assert [row for row in sorted(rows(stored, "down")) if row.startswith("wave")] == names
    assert failures(mount) == []


# The end of the mount


@on_both
def test_unmount_waits_for_the_queue(mounts, begin, tmp_path, stored):
    gate = tmp_path / "gate"
    gate.touch()
    mount = mounts("writeback", faults=f"hold=write:{gate},hold=batch:{gate}")
    write_many(mount, "ended", [f"w{number}" for number in range(5)])
    with no_copies():
        unmount = begin(TABLEFUSE, "unmount", mount.point)
        wait_until(gate.with_name("gate.held").exists, what="the batch")
        wait_until(lambda: not mount.is_mounted(), what="the unmount")
    assert unmount.poll() is None and not mount.has_ended(0)
    gate.unlink()
    assert unmount.communicate(timeout=COMMAND_SEC) == ("", "") and unmount.returncode == 0
    assert sorted(rows(stored, "ended")) == [f"w{number}" for number in range(5)]
    assert mount.lost_texts() == {}


@on_both
@pytest.mark.parametrize("how", ["unmount", "SIGTERM"])
def test_what_is_not_stored_at_the_end_is_kept_and_reported(mounts, service, outage, stored, how):
    mount = mounts.prepare()
    source = [service.source] if service.source else []
    with open(mount.point.with_name("log"), "wb") as log:
        daemon = subprocess.Popen(
            [FAULTY, "mount", "-f", "-o", f"writeback,timeout=4,{LONG}", *source, mount.point],
            stderr=log,
            env=environment(TABLEFUSE_FAULTS=f"down={outage}", **service.credentials, **mount.variables()),
        )
    wait_until(mount.is_mounted)
    mount.adopt()
    os.listdir(mount / "ended/p")
    outage.touch()
    names = []
    while len(names) < 5 and write(mount / f"ended/p/{how}{len(names)}.json", "{}") == "":
        names.append(f"{how}{len(names)}.json")
    mount.let_end()
    if how == "unmount":
        done = mount.unmount(check=False)
        assert done.returncode == ABANDONED
        texts = "1 queued text was" if len(names) == 1 else f"{len(names)} queued texts were"
        assert f"tablefuse: unmounted, but {texts} perhaps not stored -- see /" in done.stderr
        assert "when it was closed" not in done.stderr and "when they were closed" not in done.stderr
    else:
        mount.send(signal.SIGTERM)
    assert daemon.wait(timeout=COMMAND_SEC) == ABANDONED
    assert [f"{entity['RowKey']}.json" for entity in queued_texts(mount, "ended")] == names != []
    (reason,) = [text.decode() for name, text in mount.lost_texts().items() if name.endswith(".reason")]
    assert re.fullmatch(r"\S+Z write /ended: ECONNREFUSED: .*\n", reason), reason
    assert not [row for row in rows(stored, "ended") if row.startswith(how)]


@contextlib.contextmanager
def silent_service(mounts, service, tmp_path, options="writeback,ttl=600"):
    """Yields a mount in the foreground, its process, its log, and the file `gate`: while that exists, the service does
    not answer a change."""
    gate, log = tmp_path / "gate", tmp_path / "log"
    gate.touch()
    mount = mounts.prepare()
    source = [service.source] if service.source else []
    faults = f"hold=write:{gate},hold=batch:{gate},hold=delete:{gate}"
    with open(log, "wb") as file:
        daemon = subprocess.Popen(
            [FAULTY, "mount", "-f", "-o", options, *source, mount.point],
            stderr=file,
            env=environment(TABLEFUSE_FAULTS=faults, **service.credentials, **mount.variables()),
        )
    wait_until(mount.is_mounted)
    mount.adopt()
    yield mount, daemon, log, gate
    daemon.wait(timeout=COMMAND_SEC)


@on_both
def test_a_container_that_is_killed_loses_nothing(mounts, service, tmp_path, make_table, stored):
    """SIGTERM several times, then SIGKILL, while the service does not answer."""
    make_table("drained", [("p", "old"), ("p", "gone"), ("é", 'a"b')])
    with silent_service(mounts, service, tmp_path) as (mount, daemon, log, _):
        assert '"RowKey": "old"' in (mount / "drained/p/old.json").read_text()
        assert write(mount / "drained/p/old.json", '{"Text": "over\\n"}') == ""
        names = [f"{number:02}" for number in range(50)]
        write_many(mount, "drained", names)
        assert write(mount / 'drained/é/a"b.json', '{"N@odata.type": "Edm.Int64", "N": "5"}') == ""
        assert write(mount / "ended/p/drained.json", '{"Here": true}') == ""
        mount.let_end()
        daemon.send_signal(signal.SIGTERM)
        wait_until(lambda: not mount.is_mounted(), what="the end of the mount")
        for _ in range(3):
            daemon.send_signal(signal.SIGTERM)
        wait_until(lambda: "until then 53 texts are in" in log.read_text(), what="the line")
        daemon.send_signal(signal.SIGKILL)
    assert re.search(r"Z tablefuse: .*: 53 queued changes wait for the service, for at most 60 s\n", log.read_text())
    lost = {re.sub(r"^\S+Z-[^-]+-", "", name): text for name, text in mount.lost_texts().items()}
    assert sorted(lost) == ["drained-queued.ndjson", "ended-queued.ndjson"]
    entities = [json.loads(line) for line in lost["drained-queued.ndjson"].splitlines()]
    etags = {entity["RowKey"]: entity.pop("odata.etag", None) for entity in entities}
    assert entities == [
        *({"PartitionKey": "p", "RowKey": name, "Name": name} for name in names),
        {"PartitionKey": "p", "RowKey": "old", "Text": "over\n"},
        {"PartitionKey": "é", "RowKey": 'a"b', "N@odata.type": "Edm.Int64", "N": "5"},
    ]
    assert etags.pop("old").startswith('W/"datetime'), "it replaces the version that was read"
    assert set(etags.values()) == {None}
    assert json.loads(lost["ended-queued.ndjson"]) == {"PartitionKey": "p", "RowKey": "drained", "Here": True}
    assert sorted(row for _, row in stored("drained")) == ['a"b', "gone", "old"], "nothing was stored"


@on_both
def test_what_was_kept_is_removed_when_it_is_stored(mounts, service, tmp_path, stored):
    with silent_service(mounts, service, tmp_path) as (mount, daemon, log, gate):
        names = [f"late{number}" for number in range(5)]
        write_many(mount, "ended", names)
        mount.let_end()
        daemon.send_signal(signal.SIGTERM)
        wait_until(lambda: "until then 5 texts are in" in log.read_text(), what="the line")
        assert [entity["RowKey"] for entity in queued_texts(mount, "ended")] == names
        gate.unlink()
    assert daemon.returncode == 0 and log.read_text().endswith("all queued changes were made\n")
    assert mount.lost_texts() == {}
    assert set(names) <= set(rows(stored, "ended"))


@on_both
def test_what_is_refused_at_the_end_has_a_file_of_its_own(mounts, service, tmp_path, stored):
    other = mounts("ttl=0")
    with silent_service(mounts, service, tmp_path) as (mount, daemon, log, gate):
        for row in ("mine", "others"):
            assert write(other / f"ended/p/{row}.json", '{"By": "nobody"}') == ""
        for row in ("mine", "others"):
            assert '"By": "nobody"' in (mount / f"ended/p/{row}.json").read_text()
            assert write(mount / f"ended/p/{row}.json", '{"By": "me"}') == ""
        assert write(other / "ended/p/others.json", '{"By": "another"}') == ""
        mount.let_end()
        daemon.send_signal(signal.SIGTERM)
        wait_until(lambda: "until then 2 texts are in" in log.read_text(), what="the line")
        gate.unlink()
    assert daemon.returncode == ABANDONED
    texts = {name.split("-p-")[-1]: text for name, text in mount.lost_texts().items() if not name.endswith(".reason")}
    assert list(texts) == ["others.json"] and '"By": "me"' in texts["others.json"].decode()
    assert rows(stored, "ended")["mine"] == {"By": "me"} and rows(stored, "ended")["others"] == {"By": "another"}


@on_both
@pytest.mark.parametrize("how", ["killed", "stored"])
def test_the_text_of_an_open_file_is_kept_before_it_is_sent(mounts, service, tmp_path, stored, how):
    """Without -o writeback, too. A half text is given up, and has one file."""
    with silent_service(mounts, service, tmp_path, LONG) as (mount, daemon, log, gate):
        gate.unlink()
        names = [f"open-{how}-{number}" for number in range(3)]
        write_many(mount, "ended", names)
        files = [os.open(mount / f"ended/p/{name}.json", os.O_RDWR) for name in names]
        for file in files:
            assert os.pwrite(file, b'{"Changed": 1}'.ljust(os.fstat(file).st_size), 0) > 0
        files.append(os.open(mount / f"ended/p/half-{how}.json", CREATE))
        write_all(files[-1], '{"Half": ')
        gate.touch()
        mount.let_end()
        daemon.send_signal(signal.SIGTERM)
        wait_until(gate.with_name("gate.held").exists, what="the first text that is sent")
        said = "Z tablefuse: .*: until they are stored, 4 texts of open files are in /"
        wait_until(lambda: re.search(said, log.read_text()), what="the line")
        if how == "killed":
            daemon.send_signal(signal.SIGKILL)
        else:
            gate.unlink()
    for file in files:
        assert outcome(os.close, file) == "ENOTCONN"
    lost = {name.split("-p-")[1]: text for name, text in mount.lost_texts().items()}
    expected = {f"half-{how}.json": b'{"Half": '}
    if how == "killed":
        for name in names:
            assert json.loads(lost.pop(f"{name}.json")) == {"Changed": 1}
        assert {row: text["Name"] for row, text in rows(stored, "ended").items() if row in names} == dict(zip(names, names))
    else:
        assert lost.pop(f"half-{how}.json.reason").count(b"EINVAL") == 1
        assert [rows(stored, "ended")[name] for name in names] == [{"Changed": 1}] * 3
        assert daemon.returncode == ABANDONED
    lost.pop(f"half-{how}.json.reason", None)  # it may have been given up before the first one was sent
    assert lost == expected


# argv: directory. Prints the number of texts that fsync has acknowledged.
SYNCING = """
import itertools, json, os, sys
from writing import CREATE, write_all
for number in itertools.count():
    file = os.open(f"{sys.argv[1]}/{number:05}.json", CREATE, 0o644)
    write_all(file, json.dumps({"Number": number, "Fill": "x" * (number * 101 % 5000)}))
    if number % 25 == 24:
        directory = os.open(sys.argv[1], os.O_RDONLY)
        os.fsync(directory)
        os.close(directory)
        print(number, flush=True)
    os.close(file)
"""


@pytest.mark.parametrize("service", ["local"], indirect=True, scope="module")
def test_a_kill_loses_nothing_that_fsync_has_acknowledged(mounts, begin, stored):
    mount = mounts("writeback")
    writer = begin(
        sys.executable, "-B", "-c", SYNCING, mount / "killed/p", PYTHONPATH=os.path.dirname(__file__)
    )
    synced = [int(writer.stdout.readline()) for _ in range(20)]
    mount.send(signal.SIGKILL)
    assert mount.has_ended()
    synced += [int(line) for line in writer.stdout]
    found = rows(stored, "killed")
    assert len(found) > synced[-1] and synced == list(range(24, 25 * len(synced), 25))
    for row, text in found.items():
        assert text == {"Number": int(row), "Fill": "x" * (int(row) * 101 % 5000)}, "no text is cut"
    assert {f"{number:05}" for number in range(synced[-1] + 1)} <= found.keys()


# Requests, and a full queue


@on_both
@pytest.mark.parametrize("tool", ["cp", "rsync", "tar"])
def test_a_copy_takes_a_request_for_a_hundred_files(mounts, out, stored, tool):
    count = 1000
    source = out / "source"
    source.mkdir()
    for number in range(count):
        (source / f"{number:04}.json").write_text(json.dumps({"Number": number}))
    command = {
        "cp": ("cp", "-r", source),
        "rsync": ("rsync", "-a", f"{source}/"),
        "tar": ("sh", "-c", 'tar c --sort=name -C "$1" . | tar x -C "$2"', "sh", source),
    }[tool]
    mount = mounts("writeback", LONG)
    target = mount / f"counted/{tool}"
    if tool == "tar":
        os.mkdir(target)
    began = time.monotonic()
    with mount.counting() as counted:
        run(*command, target)
        mount.send_queued("counted")
    seconds = int(time.monotonic() - began)
    asked = counted.asked()
    assert sum(asked.values()) <= count // 100 + 10 + seconds, asked
    found = {row: text for (p, row), text in stored("counted").items() if p == tool}
    assert found == {f"{number:04}": {"Number": number} for number in range(count)}
    assert sorted(run("ls", target).stdout.split()) == [f"{number:04}.json" for number in range(count)]
    assert failures(mount) == []


FILL = "x" * 4000


@on_both
def test_writers_wait_while_the_queue_is_full(mounts, stored):
    mount = mounts("writeback", "pending_size=64K", LONG, faults="latency=10")
    names = [f"slow{number:03}" for number in range(200)]
    for name in names:
        assert write(mount / f"full/p/{name}.json", json.dumps({"Fill": FILL})) == ""
    mount.send_queued()
    assert sorted(row for row in rows(stored, "full") if row.startswith("slow")) == names
    assert failures(mount) == []


@on_both
def test_a_writer_that_waits_too_long_is_told(mounts, tmp_path, stored):
    gate = tmp_path / "gate"
    gate.touch()
    faults = f"hold=write:{gate},hold=batch:{gate}"
    mount = mounts("writeback", "pending_size=64K", LONG, "timeout=4", faults=faults)
    results = []
    while not results or results[-1] == "":
        results.append(write(mount / f"full/p/late{len(results):03}.json", json.dumps({"Fill": FILL})))
    assert results[-1] == "write ETIMEDOUT" and 5 < len(results) < 64 * 1024 // len(FILL)
    assert "the queue of changes was full for too long" in mount.control("errors")
    gate.unlink()
    mount.send_queued()
    late = sorted(row for row in rows(stored, "full") if row.startswith("late"))
    assert late == [f"late{number:03}" for number in range(len(results) - 1)]
