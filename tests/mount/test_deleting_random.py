"""Processes that delete, write, rename and list at random beside one another: each sees what it has done, whether it is
queued or sent, and in the end the service has exactly that. See delete_actor.py."""
import json
import os
import pathlib
import sys

import pytest

from delete_actor import SHARED
from harness import BOTH_SERVICES, COMMAND_SEC
from writing import failures

pytestmark = pytest.mark.parametrize("service", BOTH_SERVICES, indirect=True, scope="module")

ACTOR = pathlib.Path(__file__).with_name("delete_actor.py")
ACTORS = 3
TURNS = 60
EXAMPLES = int(os.environ.get("TABLEFUSE_EXAMPLES", "1"))

# options of the mount and faults; none of them may be seen
DAYS = {
    "good": (["ttl=600"], "latency=1"),
    "asks": (["ttl=0"], "latency=0"),
    "throttled": (["ttl=1"], "latency=1,fail=batch:/4:503:ServerBusy"),
    "lossy": (["ttl=600"], "lost=batch:/9"),
    "narrow": (["ttl=600", "writeback", "pending_size=64K"], "latency=5"),
    "back": (["ttl=600", "writeback"], "latency=1,fail=batch:/4:503:ServerBusy"),
}


def listed(table):
    return {(p, name.removesuffix(".json")) for p in os.listdir(table) for name in os.listdir(table / p)}


@pytest.mark.asan("0-good-local")
@pytest.mark.tsan("0-good-local")
@pytest.mark.parametrize("day", DAYS)
@pytest.mark.parametrize("seed", range(EXAMPLES))
def test_processes_beside_one_another(mounts, begin, make_table, stored, day, seed):
    options, faults = DAYS[day]
    table = f"{day}{seed}"
    make_table(table)
    mount = mounts(*options, faults=faults)
    for partition in SHARED:
        os.mkdir(mount / table / partition)
    actors = [begin(sys.executable, "-B", ACTOR, mount / table, n, seed, TURNS) for n in range(1, ACTORS + 1)]
    expected = {}
    for actor in actors:
        out, err = actor.communicate(timeout=4 * COMMAND_SEC)
        assert (actor.returncode, err) == (0, ""), (err, mount.control("errors"))
        expected |= {(p, r): {"N": n} for p, r, n in json.loads(out)}
    assert listed(mount / table) == expected.keys()
    mount.send_queued()
    assert stored(table) == expected
    assert listed(mount / table) == expected.keys() and failures(mount) == []
