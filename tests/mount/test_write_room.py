"""The texts of files that are open for writing count with the queue of changes: both have `pending_size` together."""
import json
import os
import resource
import sys

import pytest

from harness import BOTH_SERVICES, run, wait_until
from writing import CREATE, failures, outcome, write, write_all

pytestmark = pytest.mark.parametrize("service", BOTH_SERVICES, indirect=True, scope="module")

MIB = 1 << 20
PART = '{"N": 1'  # and blanks: a long text of a small entity


@pytest.fixture(scope="module", autouse=True)
def tables(make_table):
    for table in ("full", "queued", "edited"):
        make_table(table, [("p", "beside")])


@pytest.fixture
def gate(tmp_path):
    """While this file exists, requests that send the queue wait."""
    yield tmp_path / "gate"
    (tmp_path / "gate").unlink(missing_ok=True)


@pytest.fixture
def descriptors():
    """As many as there can be."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (before[1], before[1]))
    opened = []
    yield opened
    for file in opened:
        os.close(file)
    resource.setrlimit(resource.RLIMIT_NOFILE, before)


def rows(stored, table):
    return {row: text for (p, row), text in stored(table).items() if row != "beside"}


def open_bytes(mount):
    return mount.stats().total("tablefuse_open_text_bytes")


@pytest.mark.asan("local")
@pytest.mark.tsan("local")
def test_the_texts_of_open_files_have_a_limit(mounts, descriptors, stored):
    """Nothing is refused but what is beyond it, and nothing that was acknowledged is lost."""
    mount = mounts("pending_size=8M")
    part = PART.ljust(MIB - 1000)
    for number in range(100):
        descriptors.append(os.open(mount / f"full/p/{number:03}.json", CREATE, 0o644))
    results = [outcome(write_all, file, part) for file in descriptors]
    assert results == [""] * 8 + ["ENOSPC"] * 92
    assert 8 * (MIB - 1000) == open_bytes(mount)
    (told,) = {(f["error"], f["reason"], f["advice"]) for f in failures(mount)}
    assert told == (
        "ENOSPC",
        "the texts of files that are open for writing fill their room",
        "close some of them, or mount with a larger -o pending_size",
    )
    for file in descriptors[:8]:
        write_all(file, "}")
    while len(descriptors) > 9:
        assert outcome(os.close, descriptors.pop()) == "ENOSPC"
    for file in descriptors[:8]:
        os.close(file)
    del descriptors[:8]
    wait_until(lambda: open_bytes(mount) == 0)
    write_all(descriptors[0], part + "}")
    assert outcome(os.close, descriptors.pop()) == ""
    assert rows(stored, "full") == {f"{number:03}": {"N": 1} for number in range(9)}
    wait_until(lambda: open_bytes(mount) == 0)


@pytest.mark.parametrize("size", [0, 100])
def test_texts_that_were_shortened_take_no_memory(mounts, descriptors, size):
    mount = mounts("pending_size=8M")
    part = PART.ljust(6 * MIB).encode()
    for number in range(60):
        descriptors.append(os.open(mount / f"full/p/short{size}-{number:03}.json", CREATE, 0o644))
        assert os.pwrite(descriptors[-1], part, 0) == len(part)
        os.ftruncate(descriptors[-1], size)
    assert open_bytes(mount) == 60 * size
    assert mount.stats().total("process_resident_memory_bytes") < 100 * MIB
    while descriptors:  # a part of an object cannot be stored
        assert outcome(os.close, descriptors.pop()) == ("EINVAL" if size else "")


def test_a_stored_text_that_is_opened_takes_room_and_one_that_is_read_takes_none(mounts, descriptors):
    mount = mounts("pending_size=64K")
    path = mount / "full/p/long.json"
    assert write(path, json.dumps({f"A{number}": "x" * 30000 for number in range(2)})) == ""
    descriptors.append(os.open(path, os.O_RDWR))
    wait_until(lambda: open_bytes(mount) > 60000)
    for _ in range(10):
        descriptors.append(os.open(path, os.O_RDONLY))
    assert all(len(os.pread(file, MIB, 0)) > 60000 for file in descriptors)
    assert outcome(os.open, path, os.O_RDWR) == "ENOSPC"
    assert [f["operation"] for f in failures(mount)] == ["open"]
    assert write(path, '{"A": 1}') == ""  # a text that begins empty


def test_a_long_text_waits_for_the_queue(mounts, begin, gate, stored):
    gate.touch()
    mount = mounts("writeback", "ttl=600", "pending_size=64K", faults=f"hold=write:{gate},hold=batch:{gate}")
    for number in range(12):
        assert write(mount / f"queued/p/{number:03}.json", json.dumps({"Fill": "x" * 4000})) == ""
    text = json.dumps({"Long": "y" * 30000})
    script = "import sys; open(sys.argv[1], 'w').write(sys.argv[2])"
    process = begin(sys.executable, "-c", script, mount / "queued/p/long.json", text)
    wait_until(lambda: mount.stats().total("tablefuse_changes_waiting") == 1)
    assert open_bytes(mount) == len(text)
    gate.unlink()
    assert process.wait() == 0
    mount.send_queued()
    found = rows(stored, "queued")
    assert len(found) == 13 and found["long"] == json.loads(text)
    assert failures(mount) == []


def test_rm_beside_an_editor(mounts, begin, fill, stored):
    """Deletes that are held for a dropped table leave room, and are sent where that is too small."""
    fill("removed", [(p, f"{number:04}") for p in "pqrstuvwxy" for number in range(100)])
    mount = mounts("ttl=600", "pending_size=160K")
    process = begin("rm", "-r", mount / "removed")
    written = {}
    while process.poll() is None or len(written) < 5:
        row = f"{len(written):04}"
        text = PART.ljust(60_000 if len(written) % 2 else 120_000) + "}"
        assert write(mount / f"edited/p/{row}.json", text) == ""
        written[row] = {"N": 1}
    assert process.wait() == 0
    assert failures(mount) == [] and rows(stored, "edited") == written
    assert "removed" not in run("ls", mounts("ttl=0").point).stdout.split()
