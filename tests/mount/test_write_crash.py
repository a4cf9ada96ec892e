"""The daemon is killed while two processes write: every acknowledged text is stored, and no text is cut."""
import json
import os
import signal
import subprocess
import sys

import pytest

from harness import COMMAND_SEC, environment
from writing import write

pytestmark = pytest.mark.parametrize("service", ["local"], indirect=True)

BEFORE_KILL = 200  # acknowledged writes of each


@pytest.fixture(scope="module", autouse=True)
def tables(make_table):
    make_table("crash", [("p", "beside")])


# argv: directory, the writer's name. Prints the number of each text that close has acknowledged.
WRITER = """
import itertools, json, sys
from writing import CREATE, write
directory, name = sys.argv[1], sys.argv[2]
for number in itertools.count():
    text = json.dumps({"Writer": name, "Number": number, "Fill": "x" * (number * 101 % 5000)})
    if write(f"{directory}/{name}-{number % 50}.json", text) != "":
        break
    print(number, flush=True)
"""


@pytest.mark.parametrize("turn", range(3))
def test_every_acknowledged_write_is_there_after_a_kill(mounts, service, stored, turn):
    mount = mounts("ttl=0")
    directory = mount / "crash/p"
    writers = [
        subprocess.Popen(
            [sys.executable, "-B", "-c", WRITER, directory, f"{turn}{name}"],
            stdout=subprocess.PIPE,
            text=True,
            env=environment(PYTHONPATH=os.path.dirname(__file__)),
        )
        for name in "ab"
    ]
    try:
        acknowledged = [[int(next(writer.stdout)) for _ in range(BEFORE_KILL)] for writer in writers]
        mount.send(signal.SIGKILL)
        assert mount.has_ended()
        for numbers, writer in zip(acknowledged, writers):
            numbers += [int(line) for line in writer.stdout]
            assert writer.wait(timeout=COMMAND_SEC) == 0 and numbers == list(range(len(numbers)))
    finally:
        for writer in writers:
            writer.kill()
            writer.communicate()
    mount.start(service.source, "ttl=0", env={})
    found = stored("crash")
    for name, numbers in zip("ab", acknowledged):
        for number in numbers[-50:]:
            key = ("p", f"{turn}{name}-{number % 50}")
            entity = json.loads((directory / f"{key[1]}.json").read_text())
            # the one that was under way may be stored, too
            assert entity["Number"] in (number, len(numbers)), key
            assert entity["Fill"] == "x" * (entity["Number"] * 101 % 5000)
            assert found[key]["Number"] == entity["Number"]
    assert write(directory / f"{turn}.json", "{}") == ""
