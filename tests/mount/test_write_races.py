"""Readers beside writers, and writers beside each other while answers are lost: no text is cut or mixed, and what is
stored in the end agrees with the results that the processes got."""
import json
import os
import subprocess
import sys

import pytest

from harness import BOTH_SERVICES, environment
from writing import CREATE

pytestmark = pytest.mark.parametrize("service", BOTH_SERVICES, indirect=True)

ROUNDS = 50  # of each writer
OPERATIONS = int(os.environ.get("TABLEFUSE_OPERATIONS", "240"))  # of all processes
OPERATIONS_SEC = 120 + OPERATIONS // 10
PROCESSES, NAMES = 4, 50
SEED = int(os.environ.get("TABLEFUSE_SEED", "1"))


@pytest.fixture(scope="module", autouse=True)
def tables(make_table):
    make_table("beside", [("p", "r0"), ("p", "r1")])
    make_table("random", [("p", "beside")])


def begin(program, *arguments):
    return subprocess.Popen(
        [sys.executable, "-B", "-c", program, *(str(each) for each in arguments)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(PYTHONPATH=os.path.dirname(__file__)),
    )


def finish(processes, timeout=400):
    """Their outputs. None outlives this."""
    try:
        outputs = [process.communicate(timeout=timeout) for process in processes]
    finally:
        for process in processes:
            process.kill()
            process.wait()
    for process, (_, err) in zip(processes, outputs):
        assert process.returncode == 0, err
    return [out for out, _ in outputs]


# argv: path, how it is opened, rounds. Texts of very different lengths; the first and the last property tell which. A
# write answers ESTALE if another process has replaced what this one stored last: nothing is stored.
WRITER = """
import json, os, sys
from writing import outcome
path, flags, rounds = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
for turn in range(rounds):
    number = turn * 2 + (1 if flags & os.O_CREAT else 2)
    text = json.dumps({"A": number, "Fill": "x" * (number * 7919 % 30000), "Z": number})
    file = os.open(path, flags)
    told = [outcome(os.write, file, text[at:at + 10000].encode()) for at in range(0, len(text), 10000)]
    closed = outcome(os.close, file)
    assert not any(told[:-1]) and (told[-1], closed) in (("", ""), ("ESTALE", "ESTALE")), (told, closed)
"""

# argv: path. Reads until its standard input ends, and once more: by the size that stat tells, and to the end.
READER = """
import json, os, select, sys
reads, seen = 0, set()
def read():
    global reads
    file = os.open(sys.argv[1], os.O_RDONLY)
    size = os.fstat(file).st_size
    text = b""
    while piece := os.read(file, 7000):
        text += piece
    os.close(file)
    assert len(text) == size, (len(text), size)
    entity = json.loads(text)
    number, fill = entity.get("A", 0), entity.get("Fill", "")
    assert entity.get("Z", 0) == number and fill == "x" * (number * 7919 % 30000), text
    seen.add(number)
    reads += 1
read()
print("has read", flush=True)
while not select.select([0], [], [], 0)[0]:
    read()
read()
print(reads, len(seen))
"""


@pytest.mark.asan("ttl=0-local", "ttl=1-local")
@pytest.mark.tsan("ttl=0-local", "ttl=1-local")
@pytest.mark.parametrize("ttl", ["ttl=0", "ttl=1"])
def test_readers_beside_writers(mounts, ttl):
    mount = mounts(ttl)
    paths = [mount / f"beside/p/r{number}.json" for number in range(2)]
    readers = [begin(READER, path) for path in paths]
    assert [reader.stdout.readline() for reader in readers] == ["has read\n"] * 2
    writers = [
        begin(WRITER, path, flags, ROUNDS)
        for path in paths
        for flags in (CREATE, CREATE & ~os.O_CREAT)
    ]
    try:
        finish(writers)
    finally:
        outputs = finish(readers)  # which closes their standard input
    for output in outputs:
        reads, texts = map(int, output.split())
        assert reads >= texts >= 2


# argv: directory, seed, operations. Prints [name, what, begin, end, outcome, text] of each.
USER = """
import json, os, random, sys, time
from writing import CREATE, EXCLUSIVE, outcome, write
directory, seed, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
chance, log = random.Random(seed), []
for number in range(count):
    name = f"{chance.randrange(NAMES):02}"
    path = f"{directory}/{name}.json"
    what = chance.choice(["write", "write", "write", "exclusive", "unlink"])
    # all are equally long: of two that write one new file, as on a disk, the later text replaces all of the other
    text = None if what == "unlink" else f"{seed:010}.{number:06}"
    begin = time.monotonic_ns()
    if what == "unlink":
        told = outcome(os.unlink, path)
    else:
        told = write(path, json.dumps({"By": text}), CREATE if what == "write" else EXCLUSIVE)
    log.append([name, what, begin, time.monotonic_ns(), told, text])
print(json.dumps(log))
"""

# The errors after which nothing was changed. ESTALE: another process has replaced what this one stored last.
UNCHANGED = {
    "write": {"write ESTALE"},
    "exclusive": {"open EEXIST", "write EEXIST"},
    "unlink": {"ENOENT"},
}
# Another process has opened the new file, too, and truncated it before it was closed. The text may be stored.
EITHER = "close EINVAL"


def possible_ends(operations):
    """The texts that may be stored in the end: those of operations that no later one followed. Operations that overlap
    may have run in either order."""
    made = [begin for _, _, begin, _, told, _ in operations if told == ""]
    perhaps = [(end, text) for _, _, _, end, told, text in operations if told in ("", EITHER)]
    return {text for end, text in perhaps if not any(begin > end for begin in made)}


@pytest.mark.asan("local")
@pytest.mark.tsan("local")
@pytest.mark.timeout(OPERATIONS_SEC + 60)
def test_every_third_answer_is_lost(mounts, stored):
    """Four processes, 50 names."""
    mount = mounts("ttl=0.1", faults="lost=write:/3,lost=delete:/3")
    program = USER.replace("NAMES", str(NAMES))
    arguments = [(mount / "random/p", SEED + user, OPERATIONS // PROCESSES) for user in range(PROCESSES)]
    outputs = finish([begin(program, *each) for each in arguments], timeout=OPERATIONS_SEC)
    log = [operation for output in outputs for operation in json.loads(output)]
    assert len(log) == OPERATIONS
    told = {(what, told) for _, what, _, _, told, _ in log if told}
    assert all(why in UNCHANGED[what] or why == EITHER for what, why in told), told
    assert mount.stats().total("tablefuse_retries_total") >= OPERATIONS // 10, "answers were lost"

    found = {row: members.get("By") for (_, row), members in stored("random").items() if row != "beside"}
    for number in range(NAMES):
        name = f"{number:02}"
        ends = possible_ends([each for each in log if each[0] == name])
        assert found.get(name) in (ends or {None}), name
        path = mount / f"random/p/{name}.json"
        shown = json.loads(path.read_text())["By"] if path.exists() else None
        assert shown == found.get(name), name
