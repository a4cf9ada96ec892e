"""Random operations through the mount, by two processes, and by another client beside it, compared with a model after
each one: what the operation answers, what a new process sees in the mount, and what is stored past it.

The examples of a run are always the same. TABLEFUSE_EXAMPLES=N runs N examples of each test instead, with a new seed
that a failure prints, and TABLEFUSE_SEED=S repeats those of seed S:

    TABLEFUSE_EXAMPLES=2000 python3 -m pytest tests/mount/test_write_model.py

A failure prints the shortest list of operations that fails: add it to CASES under a name."""
import contextlib
import copy
import itertools
import json
import os
import random
import subprocess
import sys

import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from conftest import Mounts
from expected import entity_name, partition_name
from harness import BOTH_SERVICES, LocalAccount, environment, wait_until
from other_client import comparable, other_client
from write_model import MODES, Failed, Fault, Model
from writing import whole_lost_texts

pytestmark = pytest.mark.parametrize("service", BOTH_SERVICES, indirect=True)

EXAMPLES = int(os.environ.get("TABLEFUSE_EXAMPLES", "0"))
SEED = int(os.environ.get("TABLEFUSE_SEED", random.randrange(1 << 30)))
EXAMPLES_SEC = 600 + 10 * EXAMPLES

LONG = "long " * 60  # its file's name is cut, and the mount has given it out before

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
FIRST_KEYS = [0, 2]  # that are there at the beginning

FIRST = '"a": 1'  # what they have
# a member of an object as it is written: what is stored
MEMBERS = {
    FIRST: {"a": ("Int32", 1)},
    '"b": "ü😀\\n"': {"b": ("String", "ü😀\n")},
    '"c": 3.0': {"c": ("Double", "3.0")},
    '"b": true': {"b": ("Boolean", True)},
    '"c": 9007199254740993': {"c": ("Int64", "9007199254740993")},
    '"d@odata.type": "Edm.Guid", "d": "A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11"': {
        "d": ("Guid", "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11")
    },
    '"d": "2024-05-06T07:08:09.12Z", "d@odata.type": "Edm.DateTime"': {"d": ("DateTime", "2024-05-06T07:08:09.12Z")},
    '"d@odata.type": "Edm.DateTime", "d": "2024-05-06T00:30:00.5+02:00"': {"d": ("DateTime", "2024-05-05T22:30:00.5Z")},
    '"é\\u540d": 4': {"é名": ("Int32", 4)},
    '"😀": "x"': {"😀": ("String", "x")},
    '"e@odata.type": "Edm.Binary", "e": "AAEC/+8="': {"e": ("Binary", "AAEC/+8=")},
}
UNSTORED_MEMBERS = ['"z": null', '"RowKey": "other"', '"odata.etag": "x"']
REFUSED_MEMBERS = ['"\\ud83d": 1', '"d@odata.type": "Edm.DateTime", "d": "0001-01-01"', '"a": [1]', '"a-b": 1', '"a": 1, "a": 2', '"a": 9223372036854775808']
PIECES = ["{", "}", '{"a": 1', ', "b": 2', '"c": ', "3}", " ", "\n", "hello", "{}", "\ufeff", '{"a": 1}{"b"', ": 4}", "ü"]
# what is changed in place: the text, and by what
PATCHES = [("}", ', "b": 7}'), ("1", "2"), ('"a"', '"f"'), ("\n}", '}\n'), ("}", "}}"), ("ü", "é"), ('"b"', '"a"')]

actors = st.sampled_from("ab")
keys = st.sampled_from(range(len(KEYS)))
near_keys = st.sampled_from([0, 1, 2])
any_key = st.one_of(near_keys, near_keys, keys)
handles = st.integers(0, 5)
objects = st.lists(
    st.sampled_from([*MEMBERS, *UNSTORED_MEMBERS]), max_size=3, unique_by=lambda member: member[:2]
).map(lambda members: "{" + ", ".join(members) + "}")
refused = st.sampled_from(REFUSED_MEMBERS).map(lambda member: "{" + member + "}")
texts = st.one_of(objects, objects, st.sampled_from(PIECES), refused)
sizes = st.sampled_from([0, 0, 1, 7, 40, 9 << 20])
members = st.sampled_from(list(MEMBERS))
modes = st.sampled_from(list(MODES))
directories = st.sampled_from(range(len(DIRECTORIES)))
KINDS = ["insert", "replace", "merge", "delete"]
SYNC_EACH = 3  # with write-back: the test sends the queue after each third step
LAST = -1  # the handle that was opened last


def one(what, *arguments):
    return st.tuples(st.tuples(st.just(what), *arguments))


@st.composite
def uses(draw, key_of=any_key):
    """One file from open to close, and what another client does to it meanwhile."""
    actor, key = draw(actors), draw(key_of)
    last, patches = st.just(LAST), st.sampled_from(PATCHES)
    inner = st.one_of(
        st.tuples(st.just("write"), last, texts),
        st.tuples(st.just("write"), last, objects),
        st.tuples(st.just("patch"), last, patches),
        st.tuples(st.just("ftruncate"), last, st.just(0)),
        st.tuples(st.just("fsync"), last),
        st.tuples(st.just("read"), last),
        st.tuples(st.just("theirs"), st.sampled_from(KINDS), st.just(key), members),
        st.tuples(st.just("touch"), actors, st.just(key)),
        st.tuples(st.just("unlink"), actors, st.just(key)),
    )
    return [("open", actor, key, draw(modes)), *draw(st.lists(inner, max_size=6)), ("close", LAST)]


@st.composite
def reads_and_saves(draw):
    """An editor: it reads a file, and later writes it anew."""
    actor, key = draw(actors), draw(near_keys)
    between = draw(st.lists(st.tuples(st.just("theirs"), st.sampled_from(KINDS), st.just(key), members), max_size=1))
    mode, text = draw(st.sampled_from(["w", "over", "a", "wa"])), draw(objects)
    whole = [("open", actor, key, "r"), ("read", LAST), ("close", LAST)]
    return [*whole, *between, ("open", actor, key, mode), ("write", LAST, text), ("close", LAST)]


steps = st.one_of(
    uses(),
    uses(near_keys),
    reads_and_saves(),
    one("open", actors, any_key, modes),
    one("open", actors, near_keys, st.sampled_from(["w", "a", "+", "over", "wc"])),
    one("write", handles, texts),
    one("write", handles, objects),
    one("pwrite", handles, st.integers(0, 60), texts),
    one("patch", handles, st.sampled_from(PATCHES)),
    one("ftruncate", handles, sizes),
    one("fsync", handles),
    one("close", handles),
    one("read", handles),
    one("touch_handle", handles),
    one("unlink", actors, any_key),
    one("touch", actors, any_key),
    one("mknod", actors, any_key),
    one("truncate", actors, any_key, sizes),
    one("stat", actors, any_key),
    one("mkdir", actors, directories),
    one("rmdir", actors, directories),
    one("theirs", st.sampled_from(KINDS), any_key, members),
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
    "a new file that is not exclusive replaces what another client has made meanwhile": [
        ("open", "a", 1, "w"),
        ("theirs", "insert", 1, FIRST),
        ("write", LAST, "{}"),
    ],
    "a new file is removed, with or without what another client has made meanwhile": [
        ("unlink", "a", 0),
        ("open", "a", 0, "x"),
        ("theirs", "insert", 0, FIRST),
        ("theirs", "merge", 0, '"b": true'),
        ("unlink", "b", 0),
        ("stat", "b", 0),
        ("write", LAST, "{}"),
    ],
    "mknod makes a file that is open and that another client has deleted": [
        ("open", "a", 1, "w"),
        ("write", LAST, "{}"),
        ("theirs", "delete", 1, FIRST),
        ("mknod", "a", 1),
        ("unlink", "a", 1),
        ("mknod", "a", 1),
    ],
    "an empty new file replaces nothing": [
        ("open", "a", 1, "w"),
        ("theirs", "insert", 1, FIRST),
        ("fsync", LAST),
        ("read", LAST),
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

    def __init__(self, mounts, service, *options, faults=None):
        self._mount = mounts("ttl=0", *options, faults=faults)
        self._has_faults = faults is not None
        self._is_queued = "writeback" in options
        os.makedirs(self._mount / "given/p", exist_ok=True)
        (self._mount / "given/p" / entity_name(LONG)).write_text(json.dumps({"RowKey": LONG}))
        self._unsent = 0  # steps since the queue was sent
        self._client = other_client(service)
        self._observer = Worker("observer")
        self.steps = 0
        self._actors = {name: Worker("actor") for name in "ab"}

    def stop(self):
        for each in (*self._actors.values(), self._observer, self._client):
            each.stop()
        self._mount.unmount(check=False)

    def play(self, program):
        """Makes all steps, closes what is open, and looks at lost+found."""
        number = next(_programs)
        self._tables = [f"t{number}{letter}" for letter in "ab"]
        for table in self._tables:
            os.mkdir(self._mount / table)
        self._models = [Model(self._tables)]
        try:
            for key in FIRST_KEYS:
                self._theirs("insert", key, FIRST)
            for number, step in enumerate(program):
                self._step(f"{number}: {step}", *step)
            while self._model.handles:
                self._step("the end", "close", 0)
            if self._is_queued:
                self._send("the end")
            self._check_lost()
        finally:
            for actor in self._actors.values():
                actor.ask({"what": "forget"})
            if self._is_queued:
                with contextlib.suppress(OSError):  # what has failed is not told to the next program
                    self._mount.send_queued()
                self._unsent = 0

    @property
    def _model(self):
        """All agree in what is open, and in its texts."""
        return self._models[0]

    def _check_lost(self):
        expected = [sorted(model.lost) for model in self._models]
        wait_until(lambda: len(self._lost()) >= min(map(len, expected)), what=f"{expected} in lost+found")
        assert self._lost() in expected, "lost+found"

    def _lost(self):
        texts = whole_lost_texts(self._mount).items()
        mine = [f"-{table}-" for table in self._tables]
        return sorted(text for name, text in texts if any(each in name for each in mine))

    # one step

    def _key(self, key):
        return (self._tables[key[0]], *key[1:])

    def _path(self, key):
        return str(self._mount / key[0] / partition_name(key[1]) / entity_name(key[2]))

    def _step(self, label, what, *arguments):
        self.steps += 1
        if self._is_queued and what == "theirs":
            return  # what is queued is refused later than the model says
        if not getattr(self, f"_{what}")(*arguments):
            return  # there is no such handle
        self._unsent += self._is_queued
        if what == "close":  # RELEASE follows it, and no call waits for that
            with contextlib.suppress(AssertionError):  # the differences say more
                wait_until(lambda: self._agreeing(self._seen()), timeout=60)
        self._check(label)
        if self._unsent == SYNC_EACH:
            self._send(label)

    def _send(self, label):
        self._mount.send_queued()
        self._unsent = 0
        self._check(f"{label}, and all is sent")

    def _check(self, label):
        seen = self._seen()
        agreeing = self._agreeing(seen)
        if not agreeing:  # with all that is seen, which pytest would cut
            raise AssertionError("\n".join([label, *self._differences(self._model, seen)]))
        self._models = agreeing

    def _agreeing(self, seen):
        """The models that say what is seen."""
        return [model for model in self._models if not self._differences(model, seen)]

    def _seen(self):
        """By a new process in the mount, and past it."""
        tree = self._observer.ask([str(self._mount / table) for table in self._tables])
        return tree, [self._client.stored(table) for table in self._tables]

    def _differences(self, model, seen):
        shown = model.tree()
        trees = [
            {name: {file: text.decode("latin-1") for file, text in files.items()} for name, files in tree.items()}
            for tree in map(shown.get, self._tables)
        ]
        stored = [
            {key: comparable(each) for key, each in model.stored(table).items()} for table in self._tables
        ]
        different = [] if seen[0] == {"value": trees} else [f"the mount shows {seen[0]}, not {trees}"]
        if self._unsent:
            return different  # it may be stored, or not
        return different + ([] if seen[1] == stored else [f"past the mount there is {seen[1]}, not {stored}"])

    def _do(self, actor, what, call, **arguments):
        """The actor does it, and answers what call(model) answers. Models that say otherwise are dropped."""
        before = copy.deepcopy(self._models) if self._has_faults else []
        expected = [self._predict(model, call) for model in self._models]
        answered = self._actors[actor].ask({"what": what, **arguments})
        agreeing = [model for model, answer in zip(self._models, expected) if answer == answered]
        if answered.get("error") in UNSURE or (what == "close" and before):
            agreeing += self._befallen(before, call, answered)
        assert agreeing, f"{what} {arguments} answers {answered}, not {expected}"
        self._models = agreeing
        return True

    @staticmethod
    def _predict(model, call):
        try:
            value = call(model)
        except Failed as failed:
            return {"error": failed.name}
        return {"value": value.decode("latin-1") if isinstance(value, bytes) else value}

    def _befallen(self, models, call, answered):
        """Where a request of it failed, whether it changed something or not. A close does not answer what its RELEASE
        stores."""
        found = []
        for model, is_made in itertools.product(models, [True, False]):
            model = copy.deepcopy(model)
            model.fault = Fault(answered.get("error", "EACCES"), is_made)
            if self._predict(model, call) == answered and model.fault is None:
                found.append(model)
        return found

    def _handle(self, index):
        numbers = sorted(self._model.handles)
        if not numbers:
            return None, None
        number = numbers[index if index == LAST else index % len(numbers)]
        return number, self._model.handles[number]

    def _on_handle(self, index, what, call, **arguments):
        number, handle = self._handle(index)
        return number and self._do(
            handle.actor, what, lambda model: call(model, number), number=number, **arguments
        )

    def _on_path(self, actor, what, key, call, **arguments):
        key = self._key(KEYS[key])
        return self._do(actor, what, lambda model: call(model, key), path=self._path(key), **arguments)

    def _open(self, actor, key, mode):
        return self._on_path(
            actor,
            "open",
            key,
            lambda model, key: model.open(actor, key, mode),
            number=self._model.next_number,
            mode=mode,
        )

    def _write(self, index, text, offset=None):
        data = text.encode()
        return self._on_handle(
            index,
            "write",
            lambda model, number: model.write(number, data, offset),
            data=data.decode("latin-1"),
            offset=offset,
        )

    def _pwrite(self, index, offset, text):
        return self._write(index, text, offset)

    def _patch(self, index, patch):
        _, handle = self._handle(index)
        if handle is None or handle.writer is None:
            return None
        old, new = patch
        return self._write(index, new, max(0, handle.writer.draft.text.rfind(old.encode())))

    def _ftruncate(self, index, size):
        return self._on_handle(index, "ftruncate", lambda model, number: model.ftruncate(number, size), size=size)

    def _fsync(self, index):
        return self._on_handle(index, "fsync", Model.fsync)

    def _close(self, index):
        return self._on_handle(index, "close", Model.close)

    def _read(self, index):
        return self._on_handle(index, "read_text", Model.read_text) and self._on_handle(index, "size", Model.size)

    def _touch_handle(self, index):
        _, handle = self._handle(index)
        if handle is None or handle.writer is None:
            return None
        return self._on_handle(index, "touch_handle", Model.touch_handle)

    def _unlink(self, actor, key):
        address = self._key(KEYS[key])
        unknown = [copy.deepcopy(each) for each in self._models if address in each.new and address in each.entities]
        self._models += unknown

        return self._on_path(
            actor, "unlink", key, lambda model, key: model.unlink(actor, key, is_known=model not in unknown)
        )

    def _touch(self, actor, key):
        return self._on_path(actor, "touch", key, lambda model, key: model.touch(actor, key))

    def _mknod(self, actor, key):
        return self._on_path(actor, "mknod", key, Model.mknod)

    def _truncate(self, actor, key, size):
        return self._on_path(actor, "truncate", key, Model.truncate, size=size)

    def _stat(self, actor, key):
        return self._on_path(actor, "stat", key, Model.stat)

    def _directory(self, actor, what, index, call):
        table, partition = DIRECTORIES[index]
        table = self._tables[table]
        path = str(self._mount / table / partition_name(partition))
        return self._do(actor, what, lambda model: call(model, table, partition), path=path)

    def _mkdir(self, actor, index):
        return self._directory(actor, "mkdir", index, Model.mkdir)

    def _rmdir(self, actor, index):
        return self._directory(actor, "rmdir", index, Model.rmdir)

    def _theirs(self, kind, key, new):
        key, new = self._key(KEYS[key]), MEMBERS[new]
        (kind,) = {model.theirs(kind, key, new) for model in self._models}
        if kind:
            self._client.change(kind, key, new)
        return kind


@contextlib.contextmanager
def staging(mounts, service, *options, faults=None):
    if isinstance(service, LocalAccount):
        service.fill("first", "single", "1")  # makes the account
    made = Stage(mounts, service, *options, faults=faults)
    try:
        yield made
    finally:
        made.stop()


@pytest.fixture
def stage(mounts, service):
    with staging(mounts, service) as made:
        yield made
    if EXAMPLES:
        print(f"{made.steps} steps", file=sys.stderr)


FAULTS = {
    # the answer is lost, and what is sent again for that is refused, or does not come back
    "refused": ([], "lost=write:/3,fail=write:/4:403:AuthorizationFailure,lost=delete:/3,fail=delete:/4:403:Refused"),
}
if EXAMPLES:  # each failure takes 3 s
    FAULTS["silent"] = (["timeout=3"], "lost=write:/3,hang=write:/4,lost=delete:/3,hang=delete:/4")
UNSURE = ("EACCES", "ETIMEDOUT")


def examples_at(service):
    """What differs at Azurite is in CASES, and it takes five times as long."""
    return 25 if isinstance(service, LocalAccount) else 10


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
def test_random_operations(stage, service):
    explore(examples_at(service), stage.play)


@pytest.fixture(scope="module")
def queueing(scratch, service):
    made = Mounts(scratch, service)
    with staging(made, service, "writeback") as stage:
        yield stage
    made.finish()


@pytest.mark.parametrize("case", CASES)
def test_cases_that_are_queued(queueing, case):
    queueing.play(CASES[case])


@pytest.mark.timeout(EXAMPLES_SEC)
def test_random_operations_that_are_queued(queueing, service):
    """They are seen at once, and stored by the next fsync. The other client does nothing meanwhile."""
    explore(examples_at(service), queueing.play)


@pytest.mark.timeout(EXAMPLES_SEC)
@pytest.mark.parametrize("faults", FAULTS)
def test_random_operations_whose_answers_are_lost(mounts, service, faults):
    """Of an operation that fails for that it is not known whether it changed something, until that is seen."""
    options, rules = FAULTS[faults]
    steps = 0

    def play(program):  # on a mount of its own: the same requests fail when it is repeated
        nonlocal steps
        with staging(mounts, service, *options, faults=rules) as made:
            made.play(program)
        steps += made.steps

    explore(6, play)
    if EXAMPLES:
        print(f"{steps} steps", file=sys.stderr)
