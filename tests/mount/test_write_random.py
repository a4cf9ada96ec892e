"""Random operations on files of the mount, and the same ones on files of a local disk, in the manner of fsx: after each of them
both are alike, except where a text that is an entity differs from a file. tests/mount/draft_model.py says where, and what
the service has in the end."""
import collections
import ctypes
import errno
import json
import mmap
import os
import random

import pytest

import draft_model as model
from expected import entity_text
from harness import BOTH_SERVICES, LocalAccount, libc, wait_until
from writing import OVER, outcome, whole_lost_texts, write

pytestmark = pytest.mark.parametrize("service", BOTH_SERVICES, indirect=True)

FIRST_SEED = int(os.environ.get("TABLEFUSE_SEED", "1"))
SEEDS = int(os.environ.get("TABLEFUSE_SEEDS", "1"))
# With these, two open files store the same properties, and the one that was stored first must be refused afterwards.
QUEUED_SEEDS = [] if "TABLEFUSE_SEED" in os.environ else [12, 20, 21, 22]
SEED_SEC = 90
FILES = {"azurite": 4, "local": 12}  # of a seed
OPERATIONS = 60  # of a file
MAX_HANDLES = 5

TABLE = "random"
KINDS = {bool: "Boolean", int: "Int32", str: "String"}

libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]


def told(call, *arguments):
    """(the name of the errno, what the call answers)."""
    try:
        return "", call(*arguments)
    except OSError as error:
        return errno.errorcode[error.errno], None


def map_and_scribble(file, size):
    """The bytes that are mapped privately, and afterwards changed there."""
    address = libc.mmap(None, size, mmap.PROT_READ | mmap.PROT_WRITE, mmap.MAP_PRIVATE, file, 0)
    if address == ctypes.c_void_p(-1).value:
        raise OSError(ctypes.get_errno(), "mmap")
    found = ctypes.string_at(address, size)
    ctypes.memset(address, 0xFF, size)
    libc.munmap(address, size)
    return found


def map_shared(file, size):
    address = libc.mmap(None, size, mmap.PROT_READ | mmap.PROT_WRITE, mmap.MAP_SHARED, file, 0)
    if address == ctypes.c_void_p(-1).value:
        raise OSError(ctypes.get_errno(), "mmap")
    libc.munmap(address, size)


class Handle:
    """One descriptor. `file` is the mount's, `twin` the local disk's. Those that were dup'ed share `opened`."""

    def __init__(self, file, path, text, flags):
        self.file, self.path, self.text, self.flags = file, path, text, flags
        self.twin = os.open(path, flags & ~(os.O_CREAT | os.O_EXCL))
        self.opened = [self]
        self.is_writer = flags & os.O_ACCMODE != os.O_RDONLY
        self.can_read = flags & os.O_ACCMODE != os.O_WRONLY

    def is_unreadable(self):
        """The mount does not have the text that is appended to."""
        return self.text is not None and self.text.base > 0

    def note_read(self):
        if self.text is not None:
            self.text.was_read = True

    def size(self):
        return os.fstat(self.twin).st_size

    def position(self):
        return os.lseek(self.twin, 0, os.SEEK_CUR)

    def content(self):
        return self.path.read_bytes()

    def duplicate(self):
        copy = Handle(os.dup(self.file), self.path, self.text, self.flags & ~os.O_TRUNC)
        os.dup2(self.twin, copy.twin)
        copy.opened = self.opened
        copy.opened.append(copy)
        return copy


class Episode:
    """One file, from nothing or from an entity, until its last handle is closed."""

    def __init__(self, chance, mounts, row, disk, is_queued):
        self.chance, self.row, self.disk, self.is_queued = chance, row, disk, is_queued
        self.mount, self.other = mounts
        self.path = self.mount / TABLE / "p" / f"{row}.json"
        self.elsewhere = self.other / TABLE / "p" / f"{row}.json"
        self.entity = model.Entity()
        self.handles, self.log = [], []
        self.lost_before = set(whole_lost_texts(self.mount))
        self.lost = []
        self.was_removed = False  # the entity, by this mount: then a write of a new text that is refused is kept, too
        self.refused = []  # such texts, with the write
        self.plans = {}  # of each text: what is to be written in order
        self.count = 0
        if chance.random() < 0.6:
            self.change_elsewhere()

    # what there is

    def canonical(self):
        members = self.entity.members
        return entity_text("p", self.row, {name: (KINDS[type(v)], v) for name, v in members.items()}).encode()

    def shown_size(self):
        """Of the name. None: it does not exist."""
        if self.entity.new is not None:
            return self.entity.new.base + len(self.entity.new.content())
        return None if self.entity.members is None else len(self.canonical())

    def name_size(self):
        return told(lambda: os.stat(self.path).st_size)[1]

    def check(self, handle=None):
        assert self.name_size() == self.shown_size()
        for each in self.handles if handle is None else {handle} & set(self.handles):
            assert os.fstat(each.file).st_size == each.size()
            assert os.lseek(each.file, 0, os.SEEK_CUR) == each.position()
            if each.can_read and not each.is_unreadable():
                each.note_read()
                assert os.pread(each.file, each.size() + 1, 0) == each.content()

    def check_stored(self):
        """Another mount, without a cache, shows what the service has."""
        if self.is_queued:
            if self.chance.random() < 0.7:
                return
            self.mount.send_queued()
        found = told(self.elsewhere.read_bytes)
        assert found == (("ENOENT", None) if self.entity.members is None else ("", self.canonical()))

    def lost_texts(self):
        """Those of this file: what the one before has lost may come later."""
        found = whole_lost_texts(self.mount)
        assert found.keys() >= self.lost_before
        return [text for name, text in found.items() if name.endswith(f"-{TABLE}-p-{self.row}.json")]

    def compare_lost(self):
        """(the texts that are kept with the write that was refused, the lost texts that are not kept at all). The former
        are not kept again without that write. Blanks before a text may be missing."""
        found = collections.Counter(text.lstrip() for text in self.lost_texts())
        expected = collections.Counter(text.lstrip() for text in self.lost)
        kept = set(found - expected)
        return kept, [text for text in expected - found if not any(each.startswith(text) for each in kept)]

    def await_release(self, text):
        text.release()
        self.lost += text.lost
        wait_until(lambda: self.name_size() == self.shown_size(), what="the release")
        wait_until(lambda: not self.compare_lost()[1], what="the lost text")

    # texts to be written

    def new_object(self, is_merge):
        chance = self.chance
        values = [
            lambda: chance.randrange(-99, 1000),
            lambda: "".join(chance.choices("abc ü{}:,1", k=chance.choice([0, 3, 20, 300]))),
            lambda: chance.random() < 0.5,
            lambda: None if not is_merge or chance.random() < 0.1 else 0,
        ]
        names = chance.sample("ABCDEFGH", chance.randrange(5)) + ["Long"] * (chance.random() < 0.1)
        members = {name: chance.choice(values)() for name in names}
        if "Long" in members:
            members["Long"] = "x" * chance.randrange(3000, 9000)
        text = json.dumps(members, indent=chance.choice([None, 1]), ensure_ascii=chance.random() < 0.5)
        if chance.random() < 0.1:
            text = chance.choice(['{"a-b": 1}', '{"A": [1, {}]}', '{"A": 1, "A": 2}', '{"B": {"C": 1}}'])
        return text.encode()

    def next_piece(self, text):
        """In order: (bytes, whether the text may still become an object)."""
        chance = self.chance
        plan = self.plans.setdefault(text, [])
        if text.state in (model.BLANK, model.STORED) and chance.random() < 0.15:
            return bytes(chance.choices(model.BLANKS, k=3)), True
        if chance.random() < 0.12:
            return chance.choice([b"\x01", b"\x01{}"]), False
        is_whole = text.state == model.STORED and text.stored_size > 0
        if is_whole and not text.is_appended:
            return chance.choice([b"{}", b" 1", b"}"]), False
        if text.state != model.PART:
            plan.clear()
        while text.state != model.PART and (not plan or chance.random() < text.is_appended * 0.4):
            plan += self.new_object(text.is_appended)
        size = len(plan) if chance.random() < 0.4 else chance.randrange(1, len(plan) + 1)
        return bytes(plan[:size]), True

    def patch(self, content):
        """In place: (bytes, offset). Often the text is as good as before, or is made good."""
        chance = self.chance
        if chance.random() < 0.3:
            return self.new_object(False).ljust(len(content)), 0
        digits = [at for at, byte in enumerate(content) if chr(byte).isdecimal()]
        if digits and chance.random() < 0.5:
            return bytes([chance.choice(b"0123456789")]), chance.choice(digits)
        offset = chance.randrange(len(content) + 10)
        return bytes(chance.choices(b' \n01ab"{},:\0\xc3', k=chance.randrange(1, 6))), offset

    # operations. Each answers what it has done, for the log

    def open(self):
        chance, entity = self.chance, self.entity
        access = chance.choice([os.O_RDONLY, os.O_WRONLY, os.O_RDWR, os.O_RDWR])
        flags = access
        if access != os.O_RDONLY:
            flags |= chance.choice([0, 0, os.O_TRUNC, os.O_APPEND, os.O_APPEND | os.O_TRUNC])
            flags |= chance.choice([0, os.O_CREAT, os.O_CREAT, os.O_CREAT | os.O_EXCL])
        is_there = entity.new is not None or entity.members is not None
        expected = "" if is_there or flags & os.O_CREAT else "ENOENT"
        if is_there and flags & os.O_CREAT and flags & os.O_EXCL:
            expected = "EEXIST"
        error, file = told(os.open, self.path, flags)
        assert error == expected
        if not expected:
            self.opened(file, flags)
        return f"open {flags:#o}"

    def opened(self, file, flags):
        entity, text = self.entity, self.entity.new
        is_empty = flags & os.O_TRUNC
        if text is not None:
            if is_empty:
                assert text.resize(0) == ""
        elif entity.members is None:
            begin = model.EXCLUSIVE if flags & os.O_EXCL else model.APPENDED if flags & os.O_APPEND else model.NEW
            others = os.O_ACCMODE | os.O_TRUNC | os.O_EXCL | os.O_APPEND
            text = self.new_text(begin, b"", is_provisional=flags & others == os.O_RDWR)
        elif flags & os.O_ACCMODE == os.O_RDONLY:
            entity.note_read()
        elif is_empty:
            text = self.new_text(model.OVER, b"")
        else:
            text = self.new_text(model.APPENDED if flags & os.O_APPEND else model.CHANGED, self.canonical())
            if flags & os.O_ACCMODE == os.O_RDWR:
                entity.note_read()
        twin = self.new_twin(self.canonical()) if text is None else self.twin_of(text)
        self.handles.append(Handle(file, twin, text, flags))
        if text is not None:
            text.handles += 1

    def new_twin(self, content):
        self.count += 1
        twin = self.disk / f"{self.row}-{self.count}"
        twin.write_bytes(content)
        return twin

    def twin_of(self, text):
        return self.disk / f"{self.row}-{text.twin}"

    def new_text(self, begin, stored, **options):
        twin = self.new_twin(stored)
        base = len(stored) if begin == model.APPENDED else 0
        text = model.Text(self.entity, begin, lambda: twin.read_bytes()[text.base :], base, **options)
        text.twin, text.handles = self.count, 0
        return text

    def duplicate(self, handle):
        self.handles.append(handle.duplicate())
        return "dup"

    def close(self, handle):
        text = handle.text
        expected = text.flush() if text is not None and handle.is_writer else ""
        assert outcome(os.close, handle.file) == expected
        os.close(handle.twin)
        self.handles.remove(handle)
        handle.opened.remove(handle)
        if text is not None and not handle.opened:
            text.handles -= 1
            if text.handles == 0:
                self.await_release(text)
        return f"close {expected}"

    def read(self, handle):
        size, offset = self.chance.randrange(1, 6000), self.chance.randrange(handle.size() + 5)
        calls = [(os.read, size), (os.pread, size, offset)]
        call, *arguments = self.chance.choice(calls)
        if handle.can_read and handle.is_unreadable():
            assert told(call, handle.file, *arguments) == ("EBADF", None)
        else:
            if handle.can_read:
                handle.note_read()
            assert told(call, handle.file, *arguments) == told(call, handle.twin, *arguments)
        return f"{call.__name__} {arguments}"

    def seek(self, handle):
        whence = self.chance.choice([os.SEEK_SET, os.SEEK_CUR, os.SEEK_END])
        distance = self.chance.randrange(-handle.size() - 1, handle.size() + 9)
        assert told(os.lseek, handle.file, distance, whence) == told(os.lseek, handle.twin, distance, whence)
        return f"lseek {distance} {whence}"

    def write(self, handle):
        text, content = handle.text, handle.content()
        if text is None or not handle.is_writer:
            assert told(os.write, handle.file, b"{}") == told(os.write, handle.twin, b"{}") == ("EBADF", None)
            return "write EBADF"
        at_end = bool(handle.flags & os.O_APPEND) or text.is_appended
        if text.is_in_order() and self.chance.random() < 0.85:
            piece, can_become_one = self.next_piece(text)
            offset = len(content)
        else:
            (piece, offset), can_become_one = self.patch(content), True
            if text.is_in_order() and (at_end or offset == len(content)):
                piece, can_become_one = self.next_piece(text)
            if self.chance.random() < 0.03:
                offset = model.MAX_TEXT
        if not text.is_in_order() and not self.is_known(content, piece, None if at_end else offset):
            return "write nothing"
        is_by_position = self.chance.random() < 0.5
        if is_by_position:
            os.lseek(handle.file, offset, os.SEEK_SET)
            os.lseek(handle.twin, offset, os.SEEK_SET)
        before = text.state
        expected = text.write(piece, None if at_end else offset, can_become_one=can_become_one)
        arguments = (piece,) if is_by_position else (piece, offset)
        call = os.write if is_by_position else os.pwrite
        error, answer = told(call, handle.file, *arguments)
        assert error == expected, (piece, offset, before)
        if error and self.was_removed and self.entity.new is text:
            self.refused.append(content + piece)
        if not error:
            assert answer == len(piece)
            self.write_twin(handle, piece, offset, is_by_position)
            if text.is_in_order() and can_become_one and text.state == model.PART:
                del self.plans[text][: len(piece)]
        return f"{call.__name__} {piece[:60]!r} at {offset} {before} -> {text.state} {error}"

    def is_known(self, content, piece, offset):
        offset = len(content) if offset is None else offset
        if offset >= model.MAX_TEXT:
            return True
        changed = content.ljust(offset, b"\0")
        changed = changed[:offset] + piece + changed[offset + len(piece) :]
        return self.is_judged(changed)

    def is_judged(self, content):
        """Does the model say what it is worth?"""
        try:
            if model.is_object(content):
                model.members_of(content)
        except model.Refused:
            pass
        except model.Unknown:
            return False
        return True

    def write_twin(self, handle, piece, offset, is_by_position):
        """Each write to an appended text goes to its end, also that of a handle without O_APPEND."""
        if handle.text.is_appended and not handle.flags & os.O_APPEND:
            os.pwrite(handle.twin, piece, handle.size())
            if is_by_position:
                os.lseek(handle.twin, offset + len(piece), os.SEEK_SET)
        elif is_by_position:
            os.write(handle.twin, piece)
        else:
            os.pwrite(handle.twin, piece, offset)

    def truncate(self, handle):
        text, content = handle.text, handle.content()
        size = self.chance.choice([0, 0, len(content), len(content) // 2, len(content) + 5, model.MAX_TEXT + 1])
        if text is None or not handle.is_writer:
            assert told(os.ftruncate, handle.file, size) == told(os.ftruncate, handle.twin, size)
            return "ftruncate EINVAL"
        if size < model.MAX_TEXT and not self.is_judged(content[:size].ljust(size, b"\0")):
            return "ftruncate nothing"
        expected = text.resize(size)
        assert outcome(os.ftruncate, handle.file, size) == expected
        if not expected:
            os.ftruncate(handle.twin, size)
        return f"ftruncate {size} {expected} -> {text.state}"

    def sync(self, handle):
        call = self.chance.choice([os.fsync, os.fdatasync])
        expected = handle.text.sync() if handle.text is not None and handle.is_writer else ""
        assert outcome(call, handle.file) == expected
        return f"{call.__name__} {expected}"

    def map(self, handle):
        size = handle.size()
        if size > 0 and not (handle.can_read and handle.is_unreadable()):
            if handle.can_read:
                handle.note_read()
            assert told(map_and_scribble, handle.file, size) == told(map_and_scribble, handle.twin, size)
        expected = "ENODEV" if handle.is_writer and handle.can_read else "EACCES"
        assert outcome(map_shared, handle.file, 1) == expected
        return f"mmap {size}"

    def unlink(self):
        if self.entity.new is not None and self.entity.members is not None:
            return "unlink nothing"  # whether it ends both depends on what was read of the partition
        error = outcome(os.unlink, self.path)
        is_there = self.entity.unlink()
        assert error == ("" if is_there else "ENOENT")
        self.was_removed |= is_there
        if not self.is_queued:  # in any mount a process's next deletes are queued after 16 without a rest
            self.mount.send_queued()
        return f"unlink {error}"

    def change_elsewhere(self):
        members = {name: self.chance.randrange(1000) for name in self.chance.sample("ABXY", 2)}
        assert write(self.elsewhere, json.dumps(members), OVER | os.O_CREAT) == ""
        self.entity.put(members)
        return f"another client stores {members}"

    def remove_elsewhere(self):
        is_there = self.entity.members is not None
        assert outcome(os.unlink, self.elsewhere) == ("" if is_there else "ENOENT")
        self.other.send_queued()
        if is_there:
            self.entity.put(None)
        return "another client removes it"

    # their order

    WITH_A_HANDLE = {"write": 50, "truncate": 6, "read": 8, "seek": 6, "sync": 8, "map": 6, "duplicate": 4, "close": 14}
    WITHOUT = {"open": 16, "unlink": 1.5, "change_elsewhere": 2, "remove_elsewhere": 1}

    def choose_handle(self, what):
        """Readers write seldom: that is always EBADF."""
        writers = [handle for handle in self.handles if handle.is_writer]
        is_change = what in ("write", "truncate", "sync") and self.chance.random() < 0.97
        return self.chance.choice(writers if is_change and writers else self.handles)

    def step(self):
        weights = self.WITHOUT | (self.WITH_A_HANDLE if self.handles else {})
        if len(self.handles) >= MAX_HANDLES:
            del weights["open"], weights["duplicate"]
        if self.is_queued:  # what is queued is refused later than the model says
            del weights["change_elsewhere"], weights["remove_elsewhere"]
        what = self.chance.choices(list(weights), list(weights.values()))[0]
        handle = self.choose_handle(what) if what in self.WITH_A_HANDLE else None
        number = handle.text.number if handle and handle.text else "-"
        self.log.append(f"{number}: {what} failed")
        self.log[-1] = f"{number}: " + getattr(self, what)(*[handle] * (handle is not None))
        self.check(handle if self.chance.random() < 0.8 else None)
        if what not in ("read", "seek", "map", "duplicate"):
            self.check_stored()

    def run(self):
        for _ in range(OPERATIONS):
            self.step()
        while self.handles:
            self.log.append("end: " + self.close(self.handles[-1]))
            self.check_stored()
        kept, missing = self.compare_lost()
        assert kept <= {text.lstrip() for text in self.refused} and not missing


@pytest.fixture(scope="module", autouse=True)
def tables(make_table):
    make_table(TABLE, [("p", "beside")])


@pytest.mark.asan("stored-local", "queued-local")
@pytest.mark.tsan("queued-local")
@pytest.mark.timeout(60 + SEED_SEC * (SEEDS + len(QUEUED_SEEDS)))
@pytest.mark.parametrize("options", [["ttl=0"], ["ttl=0", "writeback"]], ids=["stored", "queued"])
def test_files_are_like_those_of_a_disk(mounts, service, stored, tmp_path, options):
    files = FILES["local" if isinstance(service, LocalAccount) else "azurite"]
    pair = mounts(*options), mounts("ttl=0", "conflict=overwrite")
    is_queued = "writeback" in options
    prefix = "queued" if is_queued else "stored"
    expected = {}
    for seed in [*range(FIRST_SEED, FIRST_SEED + SEEDS), *(QUEUED_SEEDS if is_queued else [])]:
        for number in range(files):
            row = f"{prefix}{seed}x{number}"
            episode = Episode(random.Random(f"{seed}.{number}"), pair, row, tmp_path, is_queued)
            try:
                episode.run()
            except BaseException as problem:
                for handle in episode.handles:
                    outcome(os.close, handle.file)
                log = "\n".join(episode.log)
                raise AssertionError(f"seed {seed}, file {number}:\n{log}\n{problem!r}") from problem
            expected[episode.row] = episode.entity.members
    pair[0].send_queued()
    found = {row: members for (_, row), members in stored(TABLE).items() if row.startswith(prefix)}
    assert found == {row: members for row, members in expected.items() if members is not None}
