"""What a request does: its operation, table, keys, entity, and the writes of a batch."""
import dataclasses
import functools
import json
import re
import urllib.parse

import wire

_ENTITY = re.compile(r"(?P<table>\w+)\(PartitionKey='(?P<partition>(?:[^']|'')*)',RowKey='(?P<row>(?:[^']|'')*)'\)", re.DOTALL)
_TABLE = re.compile(r"Tables\('(?P<table>[^']*)'\)")
_ROWS = re.compile(r"(?P<table>\w+)(?:\(\))?")
_BY_METHOD = {"GET": "get", "DELETE": "delete", "PATCH": "merge", "MERGE": "merge", "PUT": "replace"}
WRITES = ("insert", "replace", "merge", "delete")
OPERATIONS = ("get", "query", *WRITES, "batch", "tables", "create", "drop", "other")


class Pairs(list):
    """An object of JSON: its (name, value) pairs, with repeated names."""


_OBJECT = json.JSONDecoder(object_pairs_hook=Pairs)  # 1.0 and 1e2 are Doubles, 1 is an Int32: float and int


@dataclasses.dataclass
class Operation:
    """One of OPERATIONS, or a write of a batch. `body`: of its request; `index`: in its batch."""

    name: str
    request: wire.Request
    table: str = None
    keys: tuple = None  # (PartitionKey, RowKey), as far as the request names them
    index: int = None

    @functools.cached_property
    def members(self):
        """The body's Pairs; None: it is no object."""
        try:
            body = _OBJECT.decode(self.request.body.decode())
        except (ValueError, RecursionError):
            return None
        return body if isinstance(body, Pairs) else None

    @functools.cached_property
    def writes(self):
        """The operations of a batch, in their order."""
        return batch_operations(self.request) if self.name == "batch" else []

    @functools.cached_property
    def partition(self):
        """(table, PartitionKey) that it concerns, or None: more than one."""
        if self.name == "batch":
            return self.writes[0].partition if self.writes else None
        if self.keys:
            return self.table, self.keys[0]
        return None


def _keys_of_body(operation):
    members = dict(operation.members or ())
    keys = members.get("PartitionKey"), members.get("RowKey")
    return keys if all(isinstance(key, str) for key in keys) else None


def _of_path(path, request):
    """The path behind the account."""
    if path == "$batch" and request.method == "POST":
        return Operation("batch", request)
    if path == "Tables":
        return Operation({"GET": "tables", "POST": "create"}.get(request.method, "other"), request)
    if found := _TABLE.fullmatch(path):
        return Operation("drop" if request.method == "DELETE" else "other", request, found["table"])
    if found := _ENTITY.fullmatch(path):
        keys = found["partition"].replace("''", "'"), found["row"].replace("''", "'")
        return Operation(_BY_METHOD.get(request.method, "other"), request, found["table"], keys)
    found = _ROWS.fullmatch(path)
    if found and request.method in ("GET", "POST") and request.option("comp") is None:
        operation = Operation("query" if request.method == "GET" else "insert", request, found["table"])
        if operation.name == "insert":
            operation.keys = _keys_of_body(operation)
        return operation
    return Operation("other", request)


def operation_of(request):
    """The first segment of the path is the account, as emulators have it, also that of a URL in a batch."""
    path = request.target.partition("?")[0]
    if "://" in path:
        path = path.partition("://")[2].partition("/")[2]
    return _of_path(urllib.parse.unquote(path.lstrip("/").partition("/")[2]), request)


def boundary_of(headers):
    found = re.search(r'boundary="?([^";]+)', headers.get("content-type", ""))
    return found and found[1].strip().encode("latin-1")


def split_head(text):
    """(a head, what follows its empty line)"""
    head, _, rest = text.partition(b"\r\n\r\n")
    return head, rest


def _parts(text, headers):
    """The texts between the delimiters of a multipart text."""
    boundary = boundary_of(headers)
    if not boundary:
        return []
    parts = text.split(b"--" + boundary)[1:]  # a random one, which no text contains
    return [part.strip(b"\r\n") for part in parts if not part.startswith(b"--")]


def batch_operations(request):
    """Those of its changeset. The service judges what is not readable."""
    found = []
    for part in _parts(request.body, request.headers):
        head, rest = split_head(part)
        inner = _parts(rest, wire.parse_head(b"\r\n" + head)[1])
        for change in inner or [part]:
            _, text = split_head(change)
            head, body = split_head(text)
            try:
                operation = operation_of(wire.Request(head, body.rstrip(b"\r\n")))
            except wire.Malformed:
                continue
            operation.index = len(found)
            found.append(operation)
    return found
