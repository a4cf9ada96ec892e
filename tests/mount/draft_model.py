"""What a text that is written through the mount is worth, by the rules of contrib/docs/writing.md: pure.

A Text is what all handles of one open share. Each of its events answers "" or the name of an errno. The bytes are not kept
here: a file on a local disk has them, which the text is made with."""
import itertools
import json
import re
from json.decoder import JSONDecoder

NEW, EXCLUSIVE, OVER, CHANGED, APPENDED = "new", "exclusive", "over", "changed", "appended"
STORED, BLANK, PART, LOOSE = "stored", "blank", "part", "loose"
MAX_TEXT = 8 << 20
BLANKS = b" \t\r\n"
IGNORED = ("PartitionKey", "RowKey")


class Refused(Exception):
    """With the name of an errno."""


class Unknown(Exception):
    """This model does not say what the text is worth."""


def read_objects(text):
    """Of objects and blanks, and perhaps the beginning of an object: where the last whole object ends, or 0; is there a
    beginning after it?"""
    characters, at, end = text.decode("latin-1"), 0, 0  # one for each byte
    while True:
        at += len(text[at:]) - len(text[at:].lstrip(BLANKS))
        if at == len(text):
            return end, False
        try:
            _, at = JSONDecoder().raw_decode(characters, at)
        except ValueError:
            return end, True
        end = at


def _pairs(text):
    def refuse(_):
        raise Unknown

    try:
        return json.loads(
            text.decode(), object_pairs_hook=tuple, parse_float=refuse, parse_constant=refuse
        )
    except ValueError:  # which UnicodeDecodeError is, too
        return None


def is_object(text):
    return text.lstrip(BLANKS).startswith(b"{") and _pairs(text) is not None


def members_of(text, *, is_merge=False):
    """The members of the entity that the service stores for one object; a Refused if it does not."""
    pairs = _pairs(text)
    names = [name for name, _ in pairs]
    if any("@" in name or name == "Timestamp" or name.startswith("odata") for name in names):
        raise Unknown
    if any(name in IGNORED and not isinstance(value, str) for name, value in pairs):
        raise Unknown
    if any(names.count(name) > 1 for name in IGNORED):
        raise Unknown
    members = {name: value for name, value in pairs if name not in IGNORED}
    if len(members) + sum(name in IGNORED for name in names) < len(names):
        raise Refused("EINVAL")  # a name twice
    for name, value in members.items():
        if isinstance(value, int) and not -(1 << 31) <= value < 1 << 31:
            raise Unknown
        is_wrong = isinstance(value, tuple | list) or (value is None and is_merge)
        if is_wrong or not re.fullmatch(r"(?!\d)(?:\w|[^\0-\x7f\ud800-\udfff])+", name, re.ASCII):
            raise Refused("EINVAL")
    return {name: value for name, value in members.items() if value is not None}


def merged_members_of(text):
    """Of one or several objects, one after the other."""
    members, text = {}, text.lstrip(BLANKS)
    while text:
        _, end = JSONDecoder().raw_decode(text.decode("latin-1"))
        members |= members_of(text[:end], is_merge=True)
        text = text[end:].lstrip(BLANKS)
    return members


class Entity:
    """What the service has under a name, and which version of it this process has read through the mount."""

    def __init__(self):
        self.members = None  # nothing
        self.version = 0
        self.read = None
        self.own = None  # the version that this mount stored last
        self.new = None  # the Text that is shown although it is not stored
        self.texts = []  # that are open

    def put(self, members):
        self.members = members
        self.version += 1

    def note_read(self):
        self.read = self.version

    def replace(self, members, version):
        if self.members is None or self.version != version:
            self.read = None  # it was told
            raise Refused("ESTALE")
        self.put(members)

    def merge(self, members):
        before = self.version if self.members is not None else None
        self.put((self.members or {}) | members)
        if before is not None and self.read == before:
            self.note_read()

    def unlink(self):
        """False: there is no such name."""
        if self.new is None and self.members is None:
            return False
        if self.new is None:
            self.put(None)
            self.read = None
        for text in self.texts:
            text.is_detached = True
        self.new = None
        return True


class Text:
    _numbers = itertools.count()

    def __init__(self, entity, begin, content, base=0, is_provisional=False):
        """content() answers the bytes after the first `base` ones, which are what was stored when it was opened for
        appending."""
        self.number = next(self._numbers)
        self.entity, self.begin, self.content, self.base = entity, begin, content, base
        self.is_new = begin in (NEW, EXCLUSIVE) or (begin == APPENDED and entity.members is None)
        self.is_appended = begin == APPENDED
        self.is_provisional = is_provisional
        self.began_empty = begin != CHANGED
        is_stored = begin == CHANGED or (self.is_appended and not self.is_new)
        self.state = STORED if is_stored else BLANK
        self.stored_size = 0
        self.snapshot = entity.version if begin == CHANGED else None
        self.last_stored = None
        self.was_read = False  # by a handle
        self.has_failed = False  # a write, since the text was last empty
        self.refused = None  # why the last store or write was
        self.is_kept = self.is_detached = False
        self.lost = []  # what is in lost+found
        entity.texts.append(self)
        if self.is_new:
            entity.new = self

    def is_in_order(self):
        return self.state != LOOSE and self.began_empty

    def _send(self, text):
        entity, begin = self.entity, self.begin
        if begin == APPENDED and not self.is_appended:
            begin = NEW if self.is_new else OVER
        if begin == APPENDED:
            entity.merge(merged_members_of(text))
            entity.own = entity.version
            return
        members = members_of(text)
        if begin == NEW and self.state == BLANK:
            begin = EXCLUSIVE
        version = self.last_stored
        if version is not None and begin != CHANGED and not self.was_read and entity.read in (None, entity.own):
            version = entity.own  # the last one wins
        if version is None:
            version = {CHANGED: self.snapshot, OVER: entity.read}.get(begin)
        if version is not None:
            entity.replace(members, version)
        elif begin == EXCLUSIVE and entity.members is not None:
            raise Refused("EEXIST")
        else:
            entity.put(members)
        entity.own = entity.version
        if entity.read is not None or begin == CHANGED:
            entity.note_read()

    def _store(self, text):
        if self.is_detached:
            self.refused, self.is_new = None, False
            return
        if self.refused == "ESTALE":
            raise Refused("ESTALE")
        try:
            self._send(text)
            self.last_stored = self.entity.version
        except Refused as refused:
            is_there = refused.args == ("EEXIST",) and self.state == BLANK
            if not is_there or self.begin == EXCLUSIVE:
                self._note_refused(refused, text)
                raise
        self.refused, self.is_new = None, False
        if self.entity.new is self:
            self.entity.new = None

    def _note_refused(self, refused, text):
        (self.refused,) = refused.args
        if self.refused == "ESTALE" and self.state != LOOSE:
            self.lost.append(text)
            self.is_kept = True

    def _fail_write(self, why):
        self.has_failed = True
        if self.refused != "ESTALE":
            self.refused = why
        return why

    def write(self, piece, offset, *, can_become_one):
        """offset: None: at the end. `can_become_one`: of what is written in order: the text with it may be one object, or
        several of an appended text, or become so."""
        text = self.content()
        is_at_end = self.is_appended or offset in (None, len(text))
        if not is_at_end and offset + len(piece) > MAX_TEXT:
            return self._fail_write("EFBIG")
        if is_at_end and self.is_in_order():
            if not can_become_one:
                return self._fail_write("EINVAL")
            return self._append(text + piece)
        if not (is_at_end and self.state == STORED and not piece.strip(BLANKS)):
            self._become_loose()
        self.is_kept = False
        return ""

    def _append(self, text):
        end, is_inside = read_objects(text)
        before = self.state
        self.state = PART if is_inside else STORED if end > self.stored_size else before
        if end > self.stored_size:
            try:
                self._store(text[self.stored_size if self.is_appended else 0 : end])
            except Refused as refused:
                self.state = before
                return self._fail_write(*refused.args)
            self.stored_size = end
        self.is_kept = False
        return ""

    def _become_loose(self):
        self.state, self.began_empty, self.stored_size = LOOSE, False, 0

    def resize(self, size):
        before = self.base + len(self.content())
        if size == 0:
            if self.state != STORED or before > 0:  # else {} is stored
                self.state = BLANK
            self.is_appended, self.began_empty, self.has_failed = False, True, False
            self.base = self.stored_size = 0
            if self.refused != "ESTALE":
                self.refused = None
        elif size != before:
            if self.is_appended:
                return "EINVAL"
            if size > MAX_TEXT:
                return "EFBIG"
            self._become_loose()
        self.is_kept = False
        return ""

    def _refuse(self):
        return "" if self.is_detached else self.refused or "EINVAL"

    def _may_store_empty(self):
        return self.state == BLANK and self.is_new and not self.has_failed

    def _try_store(self, text):
        try:
            self._store(text)
        except Refused as refused:
            return refused.args[0]
        self.state = STORED
        return ""

    def flush(self):
        if self.state == STORED or self._may_store_empty():
            return ""
        if self.state == LOOSE and is_object(self.content()):
            return self._try_store(self.content())
        return self._refuse()

    def sync(self):
        return self._try_store(b"{}") if self._may_store_empty() else self.flush()

    def release(self):
        """The last handle was closed."""
        is_unused = self.is_provisional and self.is_new and self.state == BLANK
        if self._may_store_empty() and not is_unused and not self.is_detached:
            self._try_store(b"{}")
        elif self.state in (PART, LOOSE) and not self.is_detached and not self.is_kept:
            self.lost.append(self.content()[self.stored_size :])
        self.entity.texts.remove(self)
        if self.entity.new is self:
            self.entity.new = None
