"""A second client inserts, changes and deletes entities at random while a process deletes the table: no version that the
process was not shown is lost, unless it was written after the process began to remove the table itself. By hand, many
runs:

    TABLEFUSE_EXAMPLES=1000 python3 -m pytest tests/mount/test_table_drop_random.py
"""
import json
import os
import pathlib
import random
import sys
import time

import pytest

from harness import COMMAND_SEC
from writing import write

pytestmark = pytest.mark.parametrize("service", ["local"], indirect=True, scope="module")

ACTOR = pathlib.Path(__file__).with_name("drop_actor.py")
EXAMPLES = int(os.environ.get("TABLEFUSE_EXAMPLES", "10"))
PARTITIONS, ROWS = "pqr", 12


class Rival:
    """Through a mount of its own. Knows of each entity which version it has stored last, and when."""

    def __init__(self, table, seed):
        self._table, self._random, self._number = table, random.Random(seed), 0
        self.last = {}  # {key: (N, when the write had ended)}; N None: deleted

    def write(self, key, flags=os.O_WRONLY | os.O_CREAT | os.O_TRUNC):
        self._number += 1
        partition, _ = key.split("/")
        path = self._table / f"{key}.json"
        try:
            os.makedirs(self._table / partition, exist_ok=True)
        except OSError:
            return
        self.last[key] = (self._number, None)  # until it is known that it has ended
        if write(path, json.dumps({"N": self._number}), flags) == "":
            self.last[key] = (self._number, time.monotonic())

    def remove(self, key):
        before = self.last.get(key)
        self.last[key] = (None, None)
        try:
            os.unlink(self._table / f"{key}.json")
        except OSError:
            self.last[key] = before
        if before is None:
            del self.last[key]

    def choose(self, options):
        return self._random.choice(options)

    def act(self):
        key = f"{self.choose(PARTITIONS)}/{self._random.randrange(ROWS + 3):02}"
        time.sleep(self.choose([0, 0.001, 0.003, 0.01]))
        if self._random.random() < 0.8:
            self.write(key)
        else:
            self.remove(key)


@pytest.fixture(scope="module")
def both(request, scratch, service):
    from conftest import Mounts

    service.fill("first", "single", "1")
    made = Mounts(scratch, service)
    yield made("ttl=600"), made("ttl=0")
    made.finish()


@pytest.mark.asan("0-local")
@pytest.mark.tsan("0-local")
@pytest.mark.parametrize("seed", range(EXAMPLES))
def test_a_second_client_beside_rm(both, begin, stored, seed):
    mount, other = both
    table = f"rival{seed}"
    os.mkdir(other / table)
    rival = Rival(other / table, seed)
    for p in PARTITIONS:
        for r in range(ROWS):
            rival.write(f"{p}/{r:02}")
    with mount.counting() as counted:
        process = begin(sys.executable, "-B", ACTOR, mount / table)
        for _ in range(rival.choose([0, 5, 20, 1000])):
            if process.poll() is not None:
                break
            rival.act()
        out, err = process.communicate(timeout=COMMAND_SEC)
        assert process.returncode == 0, err
    done = json.loads(out)
    left = {f"{p}/{r}": members["N"] for (p, r), members in stored(table).items()}
    is_dropped = done["error"] == ""
    assert done["error"] in ("", "ENOTEMPTY")
    lost = []
    for key, (version, ended) in rival.last.items():
        if version is None or ended is None or key == done["first"]:
            continue  # it was deleted; or the write failed
        was_deleted = done["deleted"].get(key) == version
        if not was_deleted and not (ended > done["began"] if is_dropped else left.get(key) == version):
            lost.append((key, version))
    # What is deleted alone is deleted whatever its version. That is the first, where no delete failed and the actor
    # never paused for a second.
    assert len(lost) <= max(counted.requests("delete") - 1, 0), (lost, left, mount.control("errors"))
