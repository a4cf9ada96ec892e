"""What the service refuses and Azurite takes. Each rule names where the project's reference has it from: table_rest.md
(T) or azurite.md (A), and the section. The refusal of a documented rule is a fault of the client; others are counted."""
import base64
import binascii
import datetime
import functools
import re
from typing import Callable, NamedTuple

import operation as operations

MIB = 1 << 20
PROPERTIES_MAX = 252
KEYS = ("PartitionKey", "RowKey")
NOT_PROPERTIES = (*KEYS, "Timestamp")
TYPE = "@odata.type"


class Rule(NamedTuple):
    source: str
    summary: str
    refuses: bool = True  # False: only counted


class Broken(NamedTuple):
    """A rule that a request breaks, and the answer of the service."""

    rule: str
    status: int
    code: str
    message: str
    index: int = None  # of the operation in its batch


RULES = {
    "batch_partition": Rule("T 4", "a batch has operations of one partition"),
    "batch_table": Rule("T 4", "a batch has operations of one table"),
    "batch_twice": Rule("T 4", "a batch has each entity once"),
    "batch_count": Rule("T 4", "a batch has at most 100 operations"),
    "batch_bytes": Rule("T 4", "the body of a batch has at most 4 MiB"),
    "batch_query": Rule("T 4", "a batch of several operations has only writes"),
    "if_match": Rule("T 3.2, A 3.3", "a DELETE has If-Match, in a batch too"),
    "if_none_match": Rule("T 3.2", "PUT and DELETE have no If-None-Match"),
    "top": Rule("T 5", "$top is 1 to 1000"),
    "comparisons": Rule("T 5", "a $filter has at most 15 comparisons"),
    "select_count": Rule("T 5", "a $select has at most 255 names"),
    "query_option": Rule("T 5", "$orderby, $count, $skip and $expand are not supported"),
    "same_query": Rule("T 5", "a token comes with the $filter, $select and $top of the query that it continues"),
    "length": Rule("T 3.1", "a body has a Content-Length"),
    "date": Rule("T 2.1", "x-ms-date is at most 15 minutes from the service's clock"),
    "table_name": Rule("T 3.2", "the name of a table is 3 to 63 letters and digits, a letter first, not `tables`"),
    "properties": Rule("T 6", "an entity has at most 252 properties"),
    "entity_bytes": Rule("T 6", "an entity has at most 1 MiB"),
    "property_name": Rule("T 6", "the name of a property is an identifier of at most 255 characters"),
    "property_twice": Rule("T 3.4", "an entity has each property once"),
    "value_type": Rule("T 6", "a value fits its type"),
    "key_type": Rule("T 3.4", "PartitionKey and RowKey are strings"),
    "body_keys": Rule("T 3.2", "keys in the body are those of the URL"),
    "select_nothing": Rule("none", "a $select names something", refuses=False),
    "blank_token": Rule("T 5, from issues", "a token that was not given is not sent back blank", refuses=False),
}


def _bad(rule, code, message, status=400, index=None):
    return Broken(rule, status, code, message, index)


# values of properties

_INT = re.compile(r"[+-]?\d+")
_DOUBLE = re.compile(r"NaN|-?Infinity|[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")


def _is_int(value, bits):
    if isinstance(value, str) and _INT.fullmatch(value):
        value = int(value)
    return isinstance(value, int) and not isinstance(value, bool) and -(1 << bits - 1) <= value < 1 << bits - 1


def _is_double(value):
    if isinstance(value, str):
        return bool(_DOUBLE.fullmatch(value))
    return isinstance(value, (int, float)) and not isinstance(value, bool)


_DATE = re.compile(r"(\d{4}-\d\d-\d\d)T(\d\d:\d\d(?::\d\d)?)(?:\.\d{1,7})?(?:Z|[+-]\d\d:\d\d)?")


def _is_date(value):
    found = isinstance(value, str) and _DATE.fullmatch(value)
    try:
        return bool(found) and datetime.datetime.fromisoformat(f"{found[1]}T{found[2]}").year >= 1601
    except ValueError:
        return False


def _is_binary(value):
    try:
        return isinstance(value, str) and base64.b64decode(value, validate=True) is not None
    except (binascii.Error, ValueError):
        return False


_GUID = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
FITS = {
    "Edm.String": lambda value: isinstance(value, str),
    "Edm.Boolean": lambda value: isinstance(value, bool),
    "Edm.Int32": lambda value: _is_int(value, 32),
    "Edm.Int64": lambda value: _is_int(value, 64),
    "Edm.Double": _is_double,
    "Edm.DateTime": _is_date,
    "Edm.Guid": lambda value: isinstance(value, str) and bool(_GUID.fullmatch(value)),
    "Edm.Binary": _is_binary,
}
_PLAIN = {str: "Edm.String", bool: "Edm.Boolean", int: "Edm.Int32", float: "Edm.Double"}
_SIZES = {"Edm.Boolean": 1, "Edm.Int32": 4, "Edm.Int64": 8, "Edm.Double": 8, "Edm.DateTime": 8, "Edm.Guid": 16}
_NAME = re.compile(r"(?:[A-Za-z_]|[^\x00-\x7f])(?:[A-Za-z0-9_]|[^\x00-\x7f])*")


def _units(text):
    """Of UTF-16."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2


def _value_size(kind, value):
    if kind == "Edm.Binary":
        return 4 + len(value) * 3 // 4
    return _SIZES.get(kind) or 4 + 2 * _units(value)


class Name(NamedTuple):
    """A member of an entity. `size`: of the property with this name, without its value; None: it is no property."""

    size: int
    annotation: str
    broken: Broken = None


@functools.lru_cache(1024)
def _name_of(name):
    if name in NOT_PROPERTIES or "@" in name or name.startswith("odata."):
        return Name(None, None)
    broken = None
    if not _NAME.fullmatch(name):
        broken = _bad("property_name", "PropertyNameInvalid", f"The property name '{name}' is invalid.")
    elif _units(name) > 255:
        broken = _bad("property_name", "PropertyNameTooLong", "The property name exceeds the maximum allowed length (255).")
    return Name(8 + 2 * _units(name), name + TYPE, broken)


def _check_keys(operation, members):
    partition, row = operation.keys or ("", "")
    partition, row = members.get("PartitionKey", partition), members.get("RowKey", row)
    if not isinstance(partition, str) or not isinstance(row, str):
        return _bad("key_type", "PrimaryKeyPropertyIsInvalidType", "PartitionKey and RowKey are strings.")
    if operation.keys and operation.keys != (partition, row):
        return _bad("body_keys", "InvalidInput", "The keys of the body are not those of the URL.")
    return None


def check_entity(operation):
    """Of an insert, replace or merge."""
    if operation.members is None:
        return None  # the service refuses it itself
    members = dict(operation.members)
    if len(members) != len(operation.members):
        return _bad("property_twice", "DuplicatePropertiesSpecified", "A property is specified more than one time.")
    if broken := _check_keys(operation, members):
        return broken
    size = 4 + 2 * sum(_units(key) for key in operation.keys or ())
    count = 0
    for name, value in members.items():
        known = _name_of(name)
        if known.size is None or value is None:
            continue
        count += 1
        kind = members.get(known.annotation) or _PLAIN.get(type(value))
        if known.broken or kind not in FITS or not FITS[kind](value):
            return known.broken or _bad("value_type", "InvalidInput", f"The value of '{name}' does not fit {kind}.")
        size += known.size + _value_size(kind, value)
    if count > PROPERTIES_MAX:
        return _bad("properties", "TooManyProperties", f"The entity contains more properties than allowed: {count}.")
    if size > MIB:
        return _bad("entity_bytes", "EntityTooLarge", "The entity is larger than the maximum allowed size (1MB).")
    return None


def check_delete(operation):
    if "if-match" not in operation.request.headers:
        return _bad("if_match", "MissingRequiredHeader", "A required HTTP header was not specified: If-Match.")
    return None


def check_write(operation):
    if operation.request.method in ("PUT", "DELETE") and "if-none-match" in operation.request.headers:
        return _bad("if_none_match", "InvalidInput", "If-None-Match is not supported.")
    return check_delete(operation) if operation.name == "delete" else check_entity(operation)


# batches


def check_batch(operation):
    if len(operation.request.body) > 4 * MIB:
        return _bad("batch_bytes", "RequestBodyTooLarge", "The request body is too large.", status=413)
    seen = set()
    writes = operation.writes
    for i, write in enumerate(writes):
        if i >= 100:
            return _bad("batch_count", "InvalidInput", "The batch request operation exceeds the maximum 100 changes.", index=99)
        if write.name == "get" and len(writes) > 1:
            return _bad("batch_query", "InvalidInput", "A batch with a query has no other operation.", index=i)
        if write.keys and writes[0].keys:
            if write.table != writes[0].table:
                return _bad("batch_table", "InvalidInput", "All commands in a batch must operate on one table.", index=i)
            if write.keys[0] != writes[0].keys[0]:
                return _bad("batch_partition", "CommandsInBatchActOnDifferentPartitions",
                            "All commands in a batch must operate on same entity group.", index=i)  # fmt: skip
            if write.keys in seen:
                return _bad("batch_twice", "InvalidDuplicateRow",
                            "The batch request contains multiple changes with same row key.", index=i)  # fmt: skip
            seen.add(write.keys)
        broken = check_write(write) if write.name in operations.WRITES else None
        if broken:
            return broken._replace(index=i)
    return None


# queries and tables

_LITERAL = re.compile(r"'(?:[^']|'')*'")
_COMPARISON = re.compile(r"\b(?:eq|ne|gt|ge|lt|le)\b")


def comparisons(text):
    return len(_COMPARISON.findall(_LITERAL.sub("''", text)))


def check_query(operation):
    request = operation.request
    top = request.option("$top")
    if top is not None and not (top.isascii() and top.isdigit() and 1 <= int(top) <= 1000):
        return _bad("top", "InvalidInput", f"One of the request inputs is not valid: $top={top}")
    for name, _ in request.query:
        if name in ("$orderby", "$count", "$skip", "$expand"):
            return _bad("query_option", "NotImplemented", f"{name} is not supported.", status=501)
    if comparisons(request.option("$filter") or "") > 15:
        return _bad("comparisons", "InvalidInput", "The filter has more than 15 comparisons.")
    select = request.option("$select")
    if select is not None and select.count(",") >= 255:
        return _bad("select_count", "InvalidInput", "The $select has more than 255 names.")
    if select is not None and not select.strip(" ,"):
        return _bad("select_nothing", "InvalidInput", "The $select names nothing.")
    return None


def check_create(operation):
    name = dict(operation.members or ()).get("TableName")
    if not isinstance(name, str):
        return None
    if name.lower() == "tables":
        return _bad("table_name", "InvalidInput", "The table name is reserved.")
    if not 3 <= len(name) <= 63:
        return _bad("table_name", "OutOfRangeInput", "The specified resource name length is not within the permissible limits.")
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9]*", name):
        return _bad("table_name", "InvalidResourceName", "The specified resource name contains invalid characters.")
    return None


_CHECKS: dict[str, Callable] = {
    "batch": check_batch,
    "query": check_query,
    "tables": check_query,
    "create": check_create,
    **dict.fromkeys(operations.WRITES, check_write),
}


def check(operation):
    """The first rule that the request breaks, or None."""
    if "transfer-encoding" in operation.request.headers:
        return _bad("length", "MissingContentLengthHeader", "The Content-Length header was not specified.", status=411)
    checker = _CHECKS.get(operation.name)
    return checker(operation) if checker else None
