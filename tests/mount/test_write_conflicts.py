"""Another client was faster, or an answer was lost: nothing is overwritten unseen."""
import json
import os

import pytest

from harness import BOTH_SERVICES, wait_until
from writing import CREATE, EXCLUSIVE, OVER, failures, lost_texts, outcome, write

pytestmark = pytest.mark.parametrize("service", BOTH_SERVICES, indirect=True)

MINE, OTHERS = b'{"By": "me"}', '{"By": "another"}'
MOST = 16  # texts of one entity in lost+found


@pytest.fixture(scope="module", autouse=True)
def tables(make_table):
    for table in ("raced", "gone", "over", "answers"):
        make_table(table, [("p", "beside")])


def open_in_place(path):
    """Changed, and not flushed."""
    file = os.open(path, os.O_RDWR)
    size = os.fstat(file).st_size
    assert os.pwrite(file, MINE.ljust(size), 0) == max(size, len(MINE))
    return file


def open_truncated(path):
    path.read_bytes()
    return os.open(path, OVER)


# how the file is opened and written, the call that tells it
CASES = {
    "write": (open_truncated, lambda file: os.write(file, MINE)),
    "fsync": (open_in_place, os.fsync),
    "fdatasync": (open_in_place, os.fdatasync),
    "close": (open_in_place, lambda file: os.close(os.dup(file))),
    "truncated": (open_in_place, lambda file: os.ftruncate(file, 0) or os.write(file, MINE)),
}


def case(mount, other, table, name):
    """A file of an entity that the other client changes, or removes, after it was opened."""
    path = f"{table}/p/{name}.json"
    assert write(other / path, '{"By": "nobody"}') == ""
    file = CASES[name][0](mount / path)
    if table == "gone":
        os.unlink(other / path)
    else:
        assert write(other / path, OTHERS) == ""
    return file


@pytest.mark.asan("raced-write-local", "raced-close-local", "gone-write-local", "gone-close-local")
@pytest.mark.tsan("raced-close-local", "gone-fsync-local")
@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("table", ["raced", "gone"])
def test_a_lost_race_overwrites_nothing(mounts, stored, table, name):
    mount, other = mounts("ttl=0"), mounts("ttl=0")
    file = case(mount, other, table, name)
    others = None if table == "gone" else json.loads(OTHERS)
    for _ in range(2):  # it is told each time, and never sent again
        with mount.counting() as counted:
            assert outcome(CASES[name][1], file) == "ESTALE"
        assert stored(table).get(("p", name)) == others
    assert counted.requests("write") == 0
    assert outcome(os.close, file) == "ESTALE"
    lost = lost_texts(mount, 1)
    (text,) = [text for key, text in lost.items() if not key.endswith(".reason")]
    assert text.rstrip() == MINE
    told = {(each["error"], each["path"], each["advice"].split(";")[0].split(" since")[0]) for each in failures(mount)}
    advice = "another client has " + ("deleted the entity" if table == "gone" else "changed the entity")
    assert {each[:2] for each in told} == {("ESTALE", f"/{table}/p/{name}.json")}
    assert advice in {each[2] for each in told}, told
    assert write(mount / f"{table}/p/{name}.json", MINE.decode(), CREATE) == "", "opened again, it overwrites"
    assert stored(table)["p", name] == json.loads(MINE)


@pytest.mark.tsan("fsync-local")
@pytest.mark.parametrize("name", CASES)
def test_conflict_overwrite(mounts, stored, name):
    mount, other = mounts("ttl=0", "conflict=overwrite"), mounts("ttl=0")
    file = case(mount, other, "over", name)
    with mount.counting() as counted:
        assert outcome(CASES[name][1], file) == ""
    assert counted.requests("write") == 1
    assert outcome(os.close, file) == ""
    assert stored("over")["p", name] == json.loads(MINE)
    assert failures(mount) == [] and mount.lost_texts() == {}


@pytest.mark.asan("local")
def test_of_a_conflict_loop_few_texts_are_kept(mounts, stored):
    """As of a program that tries again and again. An equal text is not kept twice."""
    mount, other = mounts("ttl=0"), mounts("ttl=0", "conflict=overwrite")
    path = "raced/p/loop.json"
    texts = [f'{{"By": "me", "N": {number}}}' for number in range(MOST + 5)]
    for text in [texts[0], *texts, *texts]:
        assert write(other / path, OTHERS) == ""
        file = open_truncated(mount / path)
        assert write(other / path, OTHERS) == ""
        assert outcome(os.write, file, text.encode()) == "ESTALE"
        outcome(os.close, file)
    found = mount.lost_texts()
    kept = sorted(text.decode() for name, text in found.items() if not name.endswith(".reason"))
    assert kept == sorted(texts[:MOST]) and len(found) == 2 * MOST
    reasons = mount.control("errors").splitlines()
    named = {line.split(" -- the text is in ")[1] for line in reasons if " -- the text is in " in line}
    assert named == {f"{mount.state}/tablefuse/lost+found/{name}" for name in found if not name.endswith(".reason")}
    assert "the text was not kept: lost+found has 16 of this entity already" in reasons[-1]
    assert stored("raced")["p", "loop"] == json.loads(OTHERS)


# The first write of the mount is made and its answer is lost; its repetition is refused, so the caller is told of a failure.
LOST = "lost=write:1,fail=write:2:403:AuthorizationFailure"

EARLIER = "what is stored may be this file's earlier text, whose answer was lost; open the file again, and write it"

# how the file is opened, what is called twice, and the outcome of the second call
ANSWERS = {
    "fsync": (open_in_place, os.fsync, "ESTALE"),
    "close": (open_in_place, lambda file: os.close(os.dup(file)), "ESTALE"),
    "write": (open_truncated, lambda file: os.write(file, MINE), "ESTALE"),
    "unread": (lambda path: os.open(path, OVER), lambda file: os.write(file, MINE), ""),
    "insert": (lambda path: os.open(path, EXCLUSIVE), lambda file: os.write(file, MINE), "EEXIST"),
    "append": (lambda path: os.open(path, os.O_WRONLY | os.O_APPEND), lambda file: os.write(file, MINE), ""),
}


def reported(mount):
    return [each["error"] for each in failures(mount)]


@pytest.mark.asan("insert-local")
@pytest.mark.tsan("close-local", "append-local")
@pytest.mark.parametrize("name", ANSWERS)
def test_after_a_lost_answer_a_text_with_a_precondition_is_refused(mounts, stored, name):
    """What the service has is this file's own text, but the mount does not know that. `errors` says that it may be."""
    mount, other = mounts("ttl=0", faults=LOST), mounts("ttl=0")
    path = f"answers/p/{name}.json"
    if name != "insert":
        assert write(other / path, '{"By": "nobody"}') == ""
    open_it, call, second = ANSWERS[name]
    file = open_it(mount / path)
    assert outcome(call, file) == "EACCES"
    assert stored("answers")["p", name] == json.loads(MINE)
    assert outcome(call, file) == second
    outcome(os.close, file)
    assert stored("answers")["p", name] == json.loads(MINE)
    kept = 2 if second == "ESTALE" else 0  # a text that was not undone, and its reason, by the release
    wait_until(lambda: len(mount.lost_texts()) == kept and (second or "EACCES") in reported(mount))
    advices = {each["advice"].split(" -- ")[0] for each in failures(mount) if each["error"] == second}
    assert advices == ({EARLIER} if second else set())
