"""-o writeback, and several writers of one file: of two texts the last one is stored, and none replaces a version that
its writer has not read."""
import errno
import json
import os
import subprocess
import sys

import pytest

from harness import BOTH_SERVICES, COMMAND_SEC, EXIT_SEC, environment, run
from writing import CREATE, EXCLUSIVE, failures, kept, outcome, write, write_all

pytestmark = pytest.mark.parametrize("service", BOTH_SERVICES, indirect=True, scope="module")

LONG = "ttl=600"


@pytest.fixture(scope="module", autouse=True)
def tables(make_table):
    make_table("shared", [("p", "beside")])


def test_the_last_of_two_texts_is_stored(mounts, begin, stored):
    """By one process, and by two."""
    mount = mounts("writeback", LONG)
    path = mount / "shared/p/twice.json"
    for number in range(3):
        assert write(path, json.dumps({"Number": number})) == ""
    assert json.loads(path.read_text())["Number"] == 2
    run("sh", "-c", 'echo \'{"Number": 3}\' > "$1"', "sh", path)
    assert json.loads(path.read_text())["Number"] == 3
    mount.send_queued()
    assert stored("shared")["p", "twice"] == {"Number": 3}
    assert failures(mount) == []


def test_two_processes_write_one_file(mounts, begin, stored):
    mount = mounts("writeback", LONG)
    loop = 'for i in 1 2 3 4 5; do echo "{\\"By\\": \\"$2\\", \\"N\\": $i}" > "$1" || exit 1; done'
    writers = [begin("sh", "-c", loop, "sh", mount / "shared/p/both.json", name) for name in "ab"]
    for writer in writers:
        assert writer.communicate(timeout=COMMAND_SEC) == ("", "") and writer.returncode == 0
    seen = json.loads((mount / "shared/p/both.json").read_text())
    mount.send_queued()
    found = stored("shared")["p", "both"]
    assert found == {"By": seen["By"], "N": seen["N"]} and found["N"] == 5
    assert failures(mount) == []


READER = """
import sys
from writing import OVER, write
path = sys.argv[1]
open(path).read()
print("read", flush=True)
sys.stdin.readline()
assert '"By": "another process"' in open(path).read()
print(write(path, '{"By": "me"}', OVER), flush=True)
"""


def test_a_queued_text_that_was_read_is_no_conflict(mounts, stored):
    """A process reads a version, and then what another process has queued over it."""
    mount = mounts("writeback", LONG)
    path = mount / "shared/p/read.json"
    assert write(path, '{"By": "nobody"}') == ""
    mount.send_queued()
    with subprocess.Popen(
        [sys.executable, "-B", "-c", READER, path],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=environment(PYTHONPATH=os.path.dirname(__file__)),
    ) as reader:
        assert reader.stdout.readline() == "read\n"
        run("sh", "-c", 'echo \'{"By": "another process"}\' > "$1"', "sh", path)
        reader.stdin.write("\n")
        reader.stdin.flush()
        assert reader.stdout.readline() == "\n"
        assert reader.wait(timeout=EXIT_SEC) == 0
    mount.send_queued()
    assert stored("shared")["p", "read"] == {"By": "me"}
    assert failures(mount) == []


@pytest.mark.parametrize("other_text", ["another", "me"], ids=["other", "equal"])
def test_what_was_read_while_it_was_queued_is_a_version(mounts, stored, other_text):
    """Another client stores over it, perhaps the same properties: the process that has read it replaces that no more."""
    mount, other = mounts("writeback", LONG), mounts("ttl=0")
    path = f"shared/p/version-{other_text}.json"
    assert write(mount / path, '{"By": "me"}') == ""
    assert '"By": "me"' in (mount / path).read_text()
    mount.send_queued()
    assert write(other / path, f'{{"By": "{other_text}"}}') == ""
    assert write(mount / path, '{"By": "me again"}') == ""
    assert outcome(mount.send_queued) == "ESTALE"
    assert stored("shared")["p", f"version-{other_text}"] == {"By": other_text}
    kept(mount, 1)


def test_a_change_in_place_replaces_the_version_that_was_opened(mounts, stored):
    """Also if that was queued when it was opened."""
    mount, other = mounts("writeback", LONG), mounts("ttl=0")
    path = "shared/p/place.json"
    assert write(mount / path, '{"By": "first"}') == ""
    file = os.open(mount / path, os.O_RDWR)
    assert write(other / path, '{"By": "other"}') == ""
    os.ftruncate(file, 0)
    write_all(file, '{"By": "place"}')
    assert outcome(os.fsync, file) == "ESTALE"
    os.close(file)
    assert stored("shared")["p", "place"] == {"By": "other"}
    assert "place.json" in kept(mount, 1)


def test_a_second_text_of_an_open_file(mounts, stored):
    """It replaces the first one, which was queued, and no other."""
    mount, other = mounts("writeback", LONG), mounts("ttl=0")
    path = "shared/p/second.json"
    file = os.open(mount / path, CREATE)
    write_all(file, '{"N": 1}')
    os.pwrite(file, b'{"N": 2}', 0)
    os.fsync(file)
    assert stored("shared")["p", "second"] == {"N": 2}
    os.close(file)
    file = os.open(mount / path, CREATE)
    write_all(file, '{"N": 3}')
    mount.send_queued()
    assert write(other / path, '{"N": 4}') == ""
    os.pwrite(file, b'{"N": 5}', 0)
    assert outcome(os.fsync, file) == "ESTALE" and outcome(os.close, file) == "ESTALE"
    assert stored("shared")["p", "second"] == {"N": 4}


def test_exclusive_creation(mounts, stored):
    mount = mounts("writeback", LONG)
    path = mount / "shared/p/exclusive.json"
    script = 'set -C; echo \'{"N": 1}\' > "$1"; echo \'{"N": 2}\' > "$1"'
    done = run("bash", "-c", script, "bash", path, check=False)
    assert done.returncode == 1 and "cannot overwrite existing file" in done.stderr
    assert write(path, '{"N": 3}', EXCLUSIVE) == "open EEXIST"
    mount.send_queued()
    assert stored("shared")["p", "exclusive"] == {"N": 1}
    assert errno.errorcode[errno.EEXIST] not in mount.control("errors")
