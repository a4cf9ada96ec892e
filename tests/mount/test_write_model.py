"""Random operations through the mount, by two processes, and by another client beside it, compared with a model after
each one: what the operation answers, what a new process sees in the mount, and what is stored past it.

The examples of a run are always the same. TABLEFUSE_EXAMPLES=N runs N examples of each test instead, with a new seed
that a failure prints, and TABLEFUSE_SEED=S repeats those of seed S:

    TABLEFUSE_EXAMPLES=2000 python3 -m pytest tests/mount/test_write_model.py

A failure prints the shortest list of operations that fails: add it to CASES under a name."""
import contextlib
import itertools
import json
import os
import random
import subprocess
import sys

import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from expected import entity_name, partition_name
from harness import BOTH_SERVICES, LocalAccount, environment, wait_until
from other_client import comparable, other_client
from write_model import MODES, Failed, Model

pytestmark = pytest.mark.parametrize("service", BOTH_SERVICES, indirect=True)

EXAMPLES = int(os.environ.get("TABLEFUSE_EXAMPLES", "0"))
SEED = int(os.environ.get("TABLEFUSE_SEED", random.randrange(1 << 30)))
EXAMPLES_SEC = 600 + 10 * EXAMPLES

LONG = "long " * 60  # its file's name is cut

# (which table, PartitionKey, RowKey)
KEYS = [
    (0, "p", "r"),
    (0, "p", "a%2Fb"),
    (0, "it's +", " ü😀~"),
    (1, "p", "r"),
    (0, "p", LONG),
    (1, ".100%", ".r"),
]
DIRECTORIES = sorted({key[:2] for key in KEYS})
FIRST = {"a": ("Int32", 1)}  # of the keys that are there at the beginning
FIRST_KEYS = [KEYS[0], KEYS[2]]

# a member of an object as it is written: what is stored
MEMBERS = {
    '"a": 1': {"a": ("Int32", 1)},
    '"b": "ü😀\\n"': {"b": ("String", "ü😀\n")},
    '"c": 3.0': {"c": ("Double", "3.0")},
    '"b": true': {"b": ("Boolean", True)},
    '"c": 9007199254740993': {"c": ("Int64", "9007199254740993")},
    '"d@odata.type": "Edm.Guid", "d": "A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11"': {
        "d": ("Guid", "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11")
    },
    '"d": "2024-05-06T07:08:09.12Z", "d@odata.type": "Edm.DateTime"': {"d": ("DateTime", "2024-05-06T07:08:09.12Z")},
    '"e@odata.type": "Edm.Binary", "e": "AAEC/+8="': {"e": ("Binary", "AAEC/+8=")},
}
UNSTORED_MEMBERS = ['"z": null', '"RowKey": "other"', '"odata.etag": "x"']
REFUSED_MEMBERS = ['"a": [1]', '"a-b": 1', '"a": 1, "a": 2', '"a": 9223372036854775808']
PIECES = ["{", "}", '{"a": 1', ', "b": 2', '"c": ', "3}", " ", "\n", "hello", "{}", '{"a": 1}{"b"', ": 4}", "ü"]
# what is changed in place: the text, and by what
PATCHES = [("}", ', "b": 7}'), ("1", "2"), ('"a"', '"f"'), ("\n}", '}\n'), ("}", "}}"), ("ü", "é"), ('"b"', '"a"')]

actors = st.sampled_from("ab")
keys = st.sampled_from(range(len(KEYS)))
near_keys = st.sampled_from([0, 0, 0, 1, 2])
any_key = st.one_of(near_keys, keys)
handles = st.integers(0, 5)
objects = st.lists(
    st.sampled_from([*MEMBERS, *UNSTORED_MEMBERS]), max_size=3, unique_by=lambda member: member[:2]
).map(lambda members: "{" + ", ".join(members) + "}")
refused = st.sampled_from(REFUSED_MEMBERS).map(lambda member: "{" + member + "}")
texts = st.one_of(objects, objects, st.sampled_from(PIECES), refused)
sizes = st.sampled_from([0, 0, 1, 7, 40, 9 << 20])
LAST = -1  # the handle that was opened last


def using(mode, *steps):
    """One file from open to close."""
    return st.tuples(st.tuples(st.just("open"), actors, any_key, mode), *steps, st.just(("close", LAST)))


def one(what, *arguments):
    return st.tuples(st.tuples(st.just(what), *arguments))


write_last = st.tuples(st.just("write"), st.just(LAST), texts)
steps = st.one_of(
    one("open", actors, any_key, st.sampled_from(list(MODES))),
    one("open", actors, near_keys, st.sampled_from(["w", "a", "+", "over", "wc"])),
    one("write", handles, texts),
    one("write", handles, texts),
    one("pwrite", handles, st.integers(0, 60), texts),
    one("patch", handles, st.sampled_from(PATCHES)),
    one("ftruncate", handles, sizes),
    one("fsync", handles),
    one("close", handles),
    one("close", handles),
    one("read", handles),
    one("touch_handle", handles),
    using(st.just("w"), write_last),
    using(st.just("a"), write_last),
    using(st.just("r"), st.just(("read", LAST))),
    using(st.just("+"), st.just(("ftruncate", LAST, 0)), write_last),
    using(st.just("+"), st.tuples(st.just("patch"), st.just(LAST), st.sampled_from(PATCHES))),
    one("unlink", actors, any_key),
    one("touch", actors, any_key),
    one("mknod", actors, any_key),
    one("truncate", actors, any_key, sizes),
    one("stat", actors, any_key),
    one("mkdir", actors, st.sampled_from(range(len(DIRECTORIES)))),
    one("rmdir", actors, st.sampled_from(range(len(DIRECTORIES)))),
    one("theirs", st.sampled_from(["insert", "replace", "merge", "delete"]), any_key, st.sampled_from(list(MEMBERS))),
    one("theirs", st.sampled_from(["replace", "merge", "delete"]), near_keys, st.sampled_from(list(MEMBERS))),
)
# Hypothesis makes short lists: a program is several.
programs = st.tuples(*[st.lists(steps, max_size=20)] * 4).map(
    lambda lists: [step for groups in lists for group in groups for step in group]
)

# what was found, or is easily got wrong
CASES = {
    "a directory ends, with what is new in it, when another client deletes its last entity": [
        ("open", "a", 1, "w"),
        ("theirs", "delete", 0, '"a": 1'),
        ("stat", "a", 1),
        ("mkdir", "b", 2),
        ("write", LAST, "{}"),
        ("stat", "a", 1),
    ],
    "an entity that another client deletes is no longer changed in place": [
        ("open", "a", 0, "+"),
        ("theirs", "delete", 0, '"a": 1'),
        ("theirs", "insert", 0, '"a": 1'),
        ("patch", LAST, ("1", "2")),
        ("fsync", LAST),
        ("ftruncate", LAST, 0),
        ("write", LAST, "{}"),
    ],
    "what is appended is merged into what is there by then": [
        ("open", "a", 0, "a"),
        ("write", LAST, '{"a": 1}{"b"'),
        ("theirs", "replace", 0, '"b": true'),
        ("write", LAST, ": 4} {"),
        ("theirs", "delete", 0, '"a": 1'),
        ("write", LAST, '"c": 3} hello'),
        ("write", LAST, '"c": 3}'),
    ],
    "a file that another client has made meanwhile is not created": [
        ("open", "a", 1, "x"),
        ("theirs", "insert", 1, '"a": 1'),
        ("write", LAST, "{}"),
        ("open", "b", 1, "x"),
        ("unlink", "b", 1),
        ("write", LAST, "{}"),
    ],
}


class Worker:
    """write_actor.py."""

    def __init__(self, kind):
        self._process = subprocess.Popen(
            [sys.executable, "-B", os.path.join(os.path.dirname(__file__), "write_actor.py"), kind],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            encoding="utf-8",
            env=environment(),
        )

    def ask(self, question):
        self._process.stdin.write(json.dumps(question) + "\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline())

    def stop(self):
        self._process.kill()
        self._process.communicate()


_programs = itertools.count(1)


class Stage:
    """A mount, the processes that use it, and the other client. Each program of operations has tables of its own."""

    def __init__(self, mounts, service, *options, **start):
        self._mount = mounts("ttl=0", *options, **start)
        self._client = other_client(service)
        self._observer = Worker("observer")
        self.steps = 0
        self._actors = {name: Worker("actor") for name in "ab"}

    def stop(self):
        for each in (*self._actors.values(), self._observer, self._client):
            each.stop()

    def play(self, program):
        """Makes all steps, closes what is open, and looks at lost+found."""
        number = next(_programs)
        self._tables = [f"t{number}{letter}" for letter in "ab"]
        for table in self._tables:
            os.mkdir(self._mount / table)
        self._model = Model(self._tables)
        try:
            for key in FIRST_KEYS:
                self._theirs("insert", self._key(key), FIRST)
            for number, step in enumerate(program):
                self._step(f"{number}: {step}", *step)
            while self._model.handles:
                self._step("the end", "close", 0)
            self._check_lost()
        finally:
            for actor in self._actors.values():
                actor.ask({"what": "forget"})

    def _check_lost(self):
        expected = sorted(self._model.lost)
        wait_until(lambda: len(self._lost()) >= len(expected), what=f"{expected} in lost+found")
        assert self._lost() == expected, "lost+found"

    def _lost(self):
        texts = self._mount.lost_texts().items()
        mine = [f"-{table}-" for table in self._tables]
        return sorted(
            text for name, text in texts if not name.endswith(".reason") and any(each in name for each in mine)
        )

    # one step

    def _key(self, key):
        return (self._tables[key[0]], *key[1:])

    def _path(self, key):
        return str(self._mount / key[0] / partition_name(key[1]) / entity_name(key[2]))

    def _step(self, label, what, *arguments):
        self.steps += 1
        if not getattr(self, f"_{what}")(*arguments):
            return  # there is no such handle
        if what == "close":  # RELEASE follows it, and no call waits for that
            self._wait_for_release()
        assert self._differences() == [], label

    def _wait_for_release(self):
        with contextlib.suppress(AssertionError):  # the differences say more
            wait_until(lambda: not self._differences(), timeout=10)

    def _differences(self):
        found = self._observer.ask([str(self._mount / table) for table in self._tables])
        shown = self._model.tree()
        trees = [
            {name: {file: text.decode("latin-1") for file, text in files.items()} for name, files in shown[table].items()}
            for table in self._tables
        ]
        different = [] if found == {"value": trees} else [f"the mount shows {found}, not {trees}"]
        for table in self._tables:
            stored = self._client.stored(table)
            expected = {key: comparable(each) for key, each in self._model.stored(table).items()}
            if stored != expected:
                different.append(f"past the mount there is {stored}, not {expected}")
        return different

    def _do(self, actor, what, expected, **arguments):
        """The actor does it. `expected` is asked what it must answer."""
        try:
            wanted = {"value": expected()}
        except Failed as failed:
            wanted = {"error": failed.name}
        if isinstance(wanted.get("value"), bytes):
            wanted["value"] = wanted["value"].decode("latin-1")
        answered = self._actors[actor].ask({"what": what, **arguments})
        assert answered == wanted, (what, arguments)
        return True

    def _handle(self, index):
        numbers = sorted(self._model.handles)
        if not numbers:
            return None, None
        number = numbers[index if index == LAST else index % len(numbers)]
        return number, self._model.handles[number]

    def _on_handle(self, index, what, call, **arguments):
        number, handle = self._handle(index)
        return number and self._do(handle.actor, what, lambda: call(number), number=number, **arguments)

    def _on_path(self, actor, what, key, call, **arguments):
        key = self._key(KEYS[key])
        return self._do(actor, what, lambda: call(key), path=self._path(key), **arguments)

    def _open(self, actor, key, mode):
        number = self._model.next_number
        return self._on_path(
            actor, "open", key, lambda key: self._model.open(actor, key, mode), number=number, mode=mode
        )

    def _write(self, index, text):
        data = text.encode()
        write = lambda number: self._model.write(number, data)
        return self._on_handle(index, "write", write, data=data.decode("latin-1"), offset=None)

    def _pwrite(self, index, offset, text):
        data = text.encode()
        write = lambda number: self._model.write(number, data, offset)
        return self._on_handle(index, "write", write, data=data.decode("latin-1"), offset=offset)

    def _patch(self, index, patch):
        _, handle = self._handle(index)
        if handle is None or handle.writer is None:
            return None
        old, new = (each.encode() for each in patch)
        return self._pwrite(index, max(0, handle.writer.draft.text.rfind(old)), patch[1])

    def _ftruncate(self, index, size):
        return self._on_handle(index, "ftruncate", lambda number: self._model.ftruncate(number, size), size=size)

    def _fsync(self, index):
        return self._on_handle(index, "fsync", self._model.fsync)

    def _close(self, index):
        return self._on_handle(index, "close", self._model.close)

    def _read(self, index):
        return self._on_handle(index, "read_text", self._model.read_text) and self._on_handle(
            index, "size", self._model.size
        )

    def _touch_handle(self, index):
        _, handle = self._handle(index)
        if handle is None or handle.writer is None:
            return None
        return self._on_handle(index, "touch_handle", self._model.touch_handle)

    def _unlink(self, actor, key):
        return self._on_path(actor, "unlink", key, lambda key: self._model.unlink(actor, key))

    def _touch(self, actor, key):
        return self._on_path(actor, "touch", key, lambda key: self._model.touch(actor, key))

    def _mknod(self, actor, key):
        return self._on_path(actor, "mknod", key, self._model.mknod)

    def _truncate(self, actor, key, size):
        return self._on_path(actor, "truncate", key, self._model.truncate, size=size)

    def _stat(self, actor, key):
        return self._on_path(actor, "stat", key, self._model.stat)

    def _directory(self, actor, what, index, call):
        table, partition = DIRECTORIES[index]
        table = self._tables[table]
        path = str(self._mount / table / partition_name(partition))
        return self._do(actor, what, lambda: call(table, partition), path=path)

    def _mkdir(self, actor, index):
        return self._directory(actor, "mkdir", index, self._model.mkdir)

    def _rmdir(self, actor, index):
        return self._directory(actor, "rmdir", index, self._model.rmdir)

    def _theirs(self, kind, key, new):
        if isinstance(key, int):
            key, new = self._key(KEYS[key]), MEMBERS[new]
        kind = self._model.theirs(kind, key, new)
        if kind:
            self._client.change(kind, key, new)
        return kind


@pytest.fixture
def stage(mounts, service):
    if isinstance(service, LocalAccount):
        service.fill("first", "single", "1")  # makes the account
    made = Stage(mounts, service)
    yield made
    made.stop()
    if EXAMPLES:
        print(f"{made.steps} steps", file=sys.stderr)


def explore(examples, play):
    """Plays random programs."""
    test = settings(
        max_examples=EXAMPLES or examples,
        derandomize=not EXAMPLES,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
        phases=[Phase.generate, Phase.shrink],
        report_multiple_bugs=False,
        print_blob=False,
    )(given(programs)(play))
    if EXAMPLES:
        print(f"TABLEFUSE_SEED={SEED}", file=sys.stderr)
        test = seed(SEED)(test)
    test()


@pytest.mark.parametrize("case", CASES)
def test_cases(stage, case):
    stage.play(CASES[case])


@pytest.mark.timeout(EXAMPLES_SEC)
def test_random_operations(stage):
    explore(25, stage.play)
