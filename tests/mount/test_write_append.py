"""What `>>` stores: each object is merged, however long the file is open, and however many append at once."""
import os
import sys

import pytest

from harness import BOTH_SERVICES, run
from writing import failures, outcome, write

pytestmark = pytest.mark.parametrize("service", BOTH_SERVICES, indirect=True)

APPEND = os.O_WRONLY | os.O_APPEND
MIB = 1 << 20
MAX_TEXT = 8 * MIB

PROCESSES, PROPERTIES = 8, 20
ROUNDS = int(os.environ.get("TABLEFUSE_APPENDS", "2"))  # of each property


@pytest.fixture(scope="module", autouse=True)
def tables(make_table):
    make_table("appended", [("p", f"{number:02}") for number in range(40)])
    make_table("many", [("p", "beside")])


def test_requests_of_an_append(mounts, stored):
    mount = mounts("ttl=600")
    directory = mount / "appended/p"
    os.stat(directory)  # which brings the first rows
    for row, requests in {"39": 2, "00": 1}.items():
        with mount.counting() as counted:
            run("bash", "-c", f"""echo '{{"N": 1}}' >> {row}.json""", cwd=directory)
        assert counted.requests("write") == 1
        assert sum(counted.asked().values()) == requests, row
    with mount.counting() as counted:
        run("bash", "-c", """{ echo '{"A": 1}'; /bin/echo '{"B":'; (echo '2} {"C": 3}'); } >> 39.json""", cwd=directory)
    assert counted.asked() == {"write": 2}, "each write that completes an object"
    assert stored("appended")["p", "39"] == {"N": 1, "A": 1, "B": 2, "C": 3}
    assert failures(mount) == []


def test_a_refused_append_is_as_if_it_had_not_been_tried(mounts, stored):
    mount = mounts("ttl=600")
    path = mount / "appended/p/01.json"
    file = os.open(path, APPEND)
    size = os.fstat(file).st_size
    for piece, told in {
        b'{"A": ': "",
        b"nil}": "EINVAL",
        b'1} {"B": 2} ]': "EINVAL",
        b'1} {"B': "",
        b"\n": "EINVAL",
        b'": null}': "EINVAL",
        b'": 2}\n': "",
        b'{"C": {}}': "EINVAL",
        b'{"C": 3}': "",
    }.items():
        assert outcome(os.write, file, piece) == told, piece
        size += 0 if told else len(piece)
        assert os.fstat(file).st_size == size, piece
    assert outcome(os.close, file) == ""
    assert stored("appended")["p", "01"] == {"A": 1, "B": 2, "C": 3}


@pytest.mark.asan("new-local")
@pytest.mark.tsan("new-local")
@pytest.mark.parametrize("age", ["old", "new"])
def test_a_file_may_be_appended_to_without_an_end(mounts, stored, age):
    """What was merged does not count for the longest text."""
    mount = mounts("ttl=600")
    path = mount / f"appended/p/long-{age}.json"
    if age == "old":
        assert write(path, '{"Old": true}') == ""
    file = os.open(path, APPEND | os.O_CREAT)
    begin = os.fstat(file).st_size
    with mount.counting() as counted:
        for number in range(10):
            assert os.write(file, f'{{"N": {number}}}'.encode().ljust(MIB)) == MIB
            assert os.fstat(file).st_size == begin + (number + 1) * MIB
    assert counted.asked() == {"write": 10}
    half = b'{"Half": '.ljust(MIB)
    for _ in range(MAX_TEXT // MIB):
        assert os.write(file, half) == MIB
        half = b" " * MIB
    assert outcome(os.write, file, b"1}") == "EFBIG"
    assert outcome(os.close, file) == "EFBIG"
    assert stored("appended")["p", f"long-{age}"] == ({"Old": True} if age == "old" else {}) | {"N": 9}


# argv: path, number of the process, properties, rounds. In every other round each object has an open of its own.
APPENDER = """
import json, os, sys
path, number, count, rounds = sys.argv[1], *map(int, sys.argv[2:])
def open_it():
    return os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
for turn in range(rounds):
    file = open_it()
    for each in range(count):
        if turn % 2 == 0:
            os.close(file)
            file = open_it()
        os.write(file, json.dumps({f"P{number}x{each}": turn}).encode())
    os.close(file)
"""


@pytest.mark.parametrize("age", ["old", "new"])
def test_processes_of_two_mounts_that_append_lose_nothing(mounts, begin, stored, age):
    pair = [mounts("ttl=60"), mounts("ttl=0")]
    name = f"many/p/{age}.json"
    if age == "old":
        assert write(pair[0] / name, '{"Old": true}') == ""
    processes = [
        begin(sys.executable, "-B", "-c", APPENDER, pair[number % 2] / name, number, PROPERTIES, ROUNDS)
        for number in range(PROCESSES)
    ]
    for process in processes:
        assert process.communicate(timeout=150)[1] == ""
        assert process.returncode == 0
    expected = {f"P{k}x{i}": ROUNDS - 1 for k in range(PROCESSES) for i in range(PROPERTIES)}
    assert stored("many")["p", age] == expected | ({"Old": True} if age == "old" else {})
    for mount in pair:
        assert failures(mount) == [] and mount.lost_texts() == {}
