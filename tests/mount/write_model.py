"""What an account and a mount of it are by the rules of contrib/docs/writing.md, for a random test: pure.

A model is told one operation after the other. It answers what the operation must answer, and says afterwards what every
reader sees. The table of events in fs/text/draft.h is class Draft."""
import dataclasses
import itertools

from expected import entity_name, entity_text, partition_name
from json_oracle import NEVER, PART, WHOLE, Refused, judge, properties

MAX_TEXT = 8 << 20

# how an edit began
NEW, EXCLUSIVE, OVER, CHANGED, APPENDED = "new", "exclusive", "over", "changed", "appended"
# the state of a draft
STORED, BLANK_DRAFT, PART_DRAFT, LOOSE = "stored", "blank", "part", "loose"

# of an open: (access, creates, exclusive, truncates, appends)
MODES = {
    "r": ("r", False, False, False, False),
    "w": ("w", True, False, True, False),
    "x": ("w", True, True, False, False),
    "a": ("w", True, False, False, True),
    "+": ("rw", False, False, False, False),
    "+c": ("rw", True, False, False, False),
    "w+": ("rw", True, False, True, False),
    "a+": ("rw", False, False, False, True),
    "old": ("w", False, False, False, False),
    "over": ("w", False, False, True, False),
    "wc": ("w", True, False, False, False),
    "wa": ("w", True, False, True, True),
}


class Failed(Exception):
    """An operation answers this errno."""

    def __init__(self, name):
        super().__init__(name)
        self.name = name


@dataclasses.dataclass
class Fault:
    """What befalls the next request that changes something."""

    name: str  # what the operation answers
    is_made: bool  # the change


@dataclasses.dataclass(frozen=True)
class Entity:
    version: int
    properties: dict


class Draft:
    """A text that is being written. It calls `store` with (the objects, the text in which they are)."""

    def __init__(self, text=b"", is_new=False, is_appended=False, base_size=0):
        is_stored = bool(text) or (is_appended and not is_new)
        self.state = STORED if is_stored else BLANK_DRAFT
        self.text, self.is_new, self.is_appended, self.base_size = text, is_new, is_appended, base_size
        self.began_empty, self.has_failed, self.stored_size = not text, False, 0

    @property
    def size(self):
        return self.base_size + len(self.text)

    def write(self, data, offset, store):
        is_at_end = self.is_appended or offset == len(self.text)
        if not is_at_end or self.state == LOOSE or not self.began_empty:
            is_blank = not data.strip(b" \t\r\n")
            if is_at_end and self.state == STORED and is_blank:
                self.text += data
            else:
                self._overwrite(data, offset)
            return
        before = self.state
        try:
            self._append(data, store)
        except Failed:
            self.state, self.has_failed = before, True
            raise

    def _overwrite(self, data, offset):
        text = self.text.ljust(offset, b"\0")
        self.text = text[:offset] + data + text[offset + len(data) :]
        self._become_loose()

    def _become_loose(self):
        self.state, self.began_empty, self.stored_size = LOOSE, False, 0

    def _append(self, data, store):
        text = self.text + data
        worth, objects = judge(text, self.is_appended)
        if worth == NEVER:
            raise Failed("EINVAL")
        fresh = [each for each in objects if each[1] > self.stored_size]
        if worth == PART:
            self.state = PART_DRAFT
        elif fresh:
            self.state = STORED
        if fresh:
            store([text[begin:end] for begin, end in fresh], text[self.stored_size : fresh[-1][1]])
            self.stored_size = fresh[-1][1]
            self.is_new = False
        self.text = text

    def resize(self, size):
        if size == 0:
            if self.state != STORED or self.size > 0:
                self.state = BLANK_DRAFT
            self.is_appended, self.began_empty, self.has_failed = False, True, False
            self.base_size = self.stored_size = 0
            self.text = b""
        if size == self.size:
            return
        if self.is_appended:
            raise Failed("EINVAL")
        if size > MAX_TEXT:
            raise Failed("EFBIG")
        self.text = self.text[:size].ljust(size, b"\0")
        self._become_loose()

    def may_store_empty(self):
        return self.state == BLANK_DRAFT and self.is_new and not self.has_failed

    def flush(self, store):
        """By the process that opened the file."""
        if self.state == PART_DRAFT or (self.state == BLANK_DRAFT and not self.may_store_empty()):
            raise Failed("EINVAL")
        if self.state == LOOSE:
            if judge(self.text)[0] != WHOLE:
                raise Failed("EINVAL")
            store([self.text], self.text)
            self.state, self.is_new = STORED, False

    def sync(self, store):
        if self.may_store_empty():
            self.store_empty(store)
        else:
            self.flush(store)

    def store_empty(self, store):
        store([b"{}"], b"{}")
        self.state, self.is_new = STORED, False

    def unstored(self):
        return b"" if self.state in (STORED, BLANK_DRAFT) else self.text[self.stored_size :]


class Writer:
    """An entity that is open for writing."""

    def __init__(self, key, begin, draft, snapshot=None, is_provisional=False):
        self.key, self.begin, self.draft, self.snapshot = key, begin, draft, snapshot
        self.is_provisional, self.is_detached = is_provisional, False
        self.last_stored = self.refused = None
        self.is_kept = False
        self.was_read = False  # by a handle
        self.handles = set()

    @property
    def has_lost(self):
        return self.refused == "ESTALE"


@dataclasses.dataclass
class Handle:
    actor: str
    mode: str
    writer: Writer = None
    text: bytes = None  # of a reader: the version that it opened
    position: int = 0

    @property
    def access(self):
        return MODES[self.mode][0]

    @property
    def appends(self):
        return MODES[self.mode][4]


class Model:
    """Keys are (table, partition key, row key)."""

    def __init__(self, tables):
        self.entities = {}
        self.tables = set(tables)
        self.local = set()  # (table, partition key) of directories that exist without an entity
        self.new = {}  # key: the writer of a file that is not stored yet
        self.handles = {}  # number: handle
        self.read = {}  # (actor, key): the version that the process knows
        self.own = {}  # key: the version that this mount stored last
        self.lost = []  # the texts in lost+found
        self.fault = None
        self._versions = itertools.count(1)
        self.next_number = 1  # of a handle

    # what is there

    def text(self, key):
        return entity_text(key[1], key[2], self.entities[key].properties).encode()

    def is_directory(self, table, partition):
        """New files alone make none: if another client deletes the last entity, they are reached by no path until one
        of them is stored."""
        return (table, partition) in self.local or any(key[:2] == (table, partition) for key in self.entities)

    def shown(self, key):
        """The text of the file as every reader of the mount sees it; None: there is none."""
        if not self.is_directory(*key[:2]):
            return None
        if key in self.new:
            return self.new[key].draft.text
        return self.text(key) if key in self.entities else None

    def tree(self):
        """{table: {name of a partition: {name of a file: its text}}}."""
        found = {table: {} for table in self.tables}
        for table, partition in self.local:
            found[table][partition_name(partition)] = {}
        for key in {**self.entities, **self.new}:
            if self.is_directory(*key[:2]):
                found[key[0]].setdefault(partition_name(key[1]), {})[entity_name(key[2])] = self.shown(key)
        return found

    def stored(self, table):
        """Past the mount: {(PartitionKey, RowKey): {name: (type, value)}}."""
        return {key[1:]: entity.properties for key, entity in self.entities.items() if key[0] == table}

    # what is changed

    def _befall(self, is_made):
        """Stands before, and after, what a request does."""
        fault = self.fault
        if fault and fault.is_made == is_made:
            self.fault = None
            raise Failed(fault.name)

    def _put(self, key, properties_):
        self.entities[key] = Entity(next(self._versions), properties_)
        return self.entities[key].version

    def _parse(self, objects, is_merge):
        try:
            found = {}
            for text in objects:
                found.update(properties(text, is_merge))
            return found
        except Refused as error:
            raise Failed("EINVAL") from error

    def _lose(self, actor, key):
        self.read.pop((actor, key), None)
        raise Failed("ESTALE")

    def _begin_of(self, writer):
        begin = writer.begin
        if begin == APPENDED and not writer.draft.is_appended:
            begin = NEW if writer.draft.is_new else OVER
        is_empty = begin == NEW and writer.draft.state == BLANK_DRAFT
        return EXCLUSIVE if is_empty else begin

    def _store(self, actor, writer, objects, text):
        """Stores what the draft says, or raises Failed."""
        if writer.is_detached:
            return
        try:
            if writer.has_lost:
                raise Failed("ESTALE")
            version = self._store_as(actor, writer, self._begin_of(writer), objects)
        except Failed as failed:
            is_there = failed.name == "EEXIST" and writer.draft.state == BLANK_DRAFT and writer.begin != EXCLUSIVE
            if not is_there:
                self._refuse(writer, failed, text)
                raise
            version = None
        writer.last_stored = version or writer.last_stored
        writer.refused = None
        if self.new.get(writer.key) is writer:
            del self.new[writer.key]

    def _refuse(self, writer, failed, text):
        if writer.has_lost:
            return
        writer.refused = failed.name
        if writer.has_lost and writer.draft.state != LOOSE:
            self.lost.append(text)
            writer.is_kept = True

    def _store_as(self, actor, writer, begin, objects):
        """The version that is stored now."""
        key = writer.key
        new = self._parse(objects, begin == APPENDED)
        self._befall(False)
        there = self.entities.get(key)
        known = self.read.get((actor, key))
        if begin == APPENDED:
            version = self._put(key, {**(there.properties if there else {}), **new})
            self._befall(True)
            self.own[key] = version
            if there and known == there.version:
                self.read[actor, key] = version
            return version
        wanted, own = writer.last_stored, self.own.get(key)
        if wanted is not None and begin != CHANGED and not writer.was_read and own and known in (None, own):
            wanted = own  # the last one wins
        if wanted is None:
            wanted = writer.snapshot if begin == CHANGED else known if begin == OVER else None
        if wanted is not None and (there is None or there.version != wanted):
            self._lose(actor, key)
        if wanted is None and begin == EXCLUSIVE and there is not None:
            raise Failed("EEXIST")
        version = self._put(key, new)
        self._befall(True)
        self.own[key] = version
        if known is not None or begin == CHANGED:
            self.read[actor, key] = version
        return version

    def _storing(self, actor, writer):
        return lambda objects, text: self._store(actor, writer, objects, text)

    # operations: each returns what the actor answers, or raises Failed

    def open(self, actor, key, mode):
        access, creates, exclusive, truncates, appends = MODES[mode]
        if not self.is_directory(*key[:2]):
            raise Failed("ENOENT")
        writer, there = self.new.get(key), self.entities.get(key)
        if exclusive and (writer or there):
            raise Failed("EEXIST")
        handle = Handle(actor, mode)
        if writer:
            if truncates:
                self._resize(writer, 0)
            handle.writer = writer
        elif there is None:
            if not creates:
                raise Failed("ENOENT")
            begin = EXCLUSIVE if exclusive else APPENDED if appends else NEW
            draft = Draft(is_new=True, is_appended=begin == APPENDED)
            is_provisional = access == "rw" and not (truncates or exclusive or appends)
            handle.writer = self.new[key] = Writer(key, begin, draft, is_provisional=is_provisional)
        elif access == "r":
            handle.text = self.text(key)
            self.read[actor, key] = there.version
        else:
            text = self.text(key)
            begin = OVER if truncates else APPENDED if appends else CHANGED
            if begin == APPENDED:
                draft = Draft(is_appended=True, base_size=len(text))
            else:
                draft = Draft(b"" if truncates else text)
            handle.writer = Writer(key, begin, draft, there.version)
            if access == "rw" and not truncates:
                self.read[actor, key] = there.version
        number = self.next_number
        self.next_number += 1
        self.handles[number] = handle
        if handle.writer:
            handle.writer.handles.add(number)

    def _resize(self, writer, size):
        writer.draft.resize(size)
        writer.is_kept = False
        if size == 0 and not writer.has_lost:
            writer.refused = None

    def write(self, number, data, offset=None):
        """At the offset; None: at the position of the descriptor."""
        handle = self.handles[number]
        if handle.access == "r":
            raise Failed("EBADF")
        writer = handle.writer
        at = writer.draft.size if handle.appends else handle.position if offset is None else offset
        if writer.draft.is_appended or handle.appends:
            at = len(writer.draft.text)
        try:
            writer.draft.write(data, at, self._storing(handle.actor, writer))
        except Failed as failed:
            if not writer.has_lost:
                writer.refused = failed.name
            raise
        writer.is_kept = False
        if offset is None:
            handle.position = writer.draft.size if handle.appends else handle.position + len(data)
        return len(data)

    def read_text(self, number):
        handle = self.handles[number]
        if handle.access == "w":
            raise Failed("EBADF")
        if handle.writer is None:
            return handle.text
        if handle.writer.draft.base_size > 0:
            raise Failed("EBADF")
        handle.writer.was_read = True
        return handle.writer.draft.text

    def size(self, number):
        handle = self.handles[number]
        return len(handle.text) if handle.writer is None else handle.writer.draft.size

    def ftruncate(self, number, size):
        handle = self.handles[number]
        if handle.access == "r":
            raise Failed("EINVAL")
        self._resize(handle.writer, size)

    def _flush(self, handle, flush):
        writer = handle.writer
        if writer is None or handle.access == "r":
            return
        try:
            flush(self._storing(handle.actor, writer))
        except Failed as failed:
            if failed.name != "EINVAL":
                raise
            if not writer.is_detached:
                raise Failed(writer.refused or "EINVAL") from failed

    def fsync(self, number):
        handle = self.handles[number]
        self._flush(handle, handle.writer and handle.writer.draft.sync)

    def close(self, number):
        handle = self.handles[number]
        try:
            self._flush(handle, handle.writer and handle.writer.draft.flush)
        finally:
            del self.handles[number]
            if handle.writer:
                handle.writer.handles.discard(number)
                if not handle.writer.handles:
                    self._release(handle.actor, handle.writer)

    def _release(self, actor, writer):
        draft, failure = writer.draft, None
        is_worth = not (writer.is_provisional and draft.is_new) or draft.state != BLANK_DRAFT
        if is_worth and not writer.is_detached:
            if draft.may_store_empty():
                try:
                    draft.store_empty(self._storing(actor, writer))
                except Failed as failed:
                    failure = failed.name
            elif draft.state != STORED:
                failure = "given up"
        if self.new.get(writer.key) is writer:
            del self.new[writer.key]
        if failure and not writer.is_kept and draft.unstored():
            self.lost.append(draft.unstored())

    def touch_handle(self, number):
        handle = self.handles[number]
        writer = handle.writer
        if writer is None:
            raise AssertionError("a reader's node may be one of an older version")
        self._touch(handle.actor, writer)

    def _touch(self, actor, writer):
        if writer.draft.may_store_empty():
            try:
                writer.draft.store_empty(self._storing(actor, writer))
            except Failed as failed:
                raise Failed("EBUSY" if failed.name == "ESTALE" else failed.name) from failed
        elif writer.draft.state == STORED and not writer.is_detached:
            known = writer.last_stored or writer.snapshot
            before, now = self._touch_entity(actor, writer.key)
            if known in (None, before):
                writer.last_stored, writer.refused = now, None

    def _touch_entity(self, actor, key):
        there = self.entities.get(key)
        if there is None:
            raise Failed("ENOENT")
        self._befall(False)
        now = self._put(key, there.properties)
        self._befall(True)
        self.own[key] = now
        if self.read.get((actor, key)) == there.version:
            self.read[actor, key] = now
        return there.version, now

    def touch(self, actor, key):
        if self.shown(key) is None:
            raise Failed("ENOENT")
        if key in self.new:
            self._touch(actor, self.new[key])
        else:
            self._touch_entity(actor, key)

    def stat(self, key):
        if self.shown(key) is None:
            raise Failed("ENOENT")
        return len(self.shown(key))

    def truncate(self, key):
        raise Failed("ENOENT" if self.shown(key) is None else "EINVAL")

    def mknod(self, key):
        if not self.is_directory(*key[:2]):
            raise Failed("ENOENT")
        if self.shown(key) is not None:
            raise Failed("EEXIST")
        self._befall(False)
        version = self._put(key, {})
        self._befall(True)
        self.own[key] = version

    def unlink(self, actor, key, is_known=True):
        """is_known: of a new file, that another client has stored an entity of its name. That depends on what was read
        within ttl."""
        if self.shown(key) is None:
            raise Failed("ENOENT")
        if key in self.entities and (is_known or key not in self.new):
            self.local.add(key[:2])
            self._befall(False)
            del self.entities[key]
            self._befall(True)
            self.read.pop((actor, key), None)
        for handle in self.handles.values():
            if handle.writer and handle.writer.key == key:
                handle.writer.is_detached = True
        self.new.pop(key, None)

    def mkdir(self, table, partition):
        if self.is_directory(table, partition):
            raise Failed("EEXIST")
        self.local.add((table, partition))

    def rmdir(self, table, partition):
        if not self.is_directory(table, partition):
            raise Failed("ENOENT")
        if any(key[:2] == (table, partition) for key in {**self.entities, **self.new}):
            raise Failed("ENOTEMPTY")
        self.local.remove((table, partition))

    # another client

    def theirs(self, kind, key, new):
        """What they do: insert, replace, merge or delete; what is not possible becomes what is."""
        there = self.entities.get(key)
        if there is None:
            if kind == "delete":
                return None
            kind = "insert"
        elif kind == "insert":
            kind = "replace"
        if kind == "delete":
            del self.entities[key]
        else:
            self._put(key, {**there.properties, **new} if kind == "merge" else dict(new))
        return kind
