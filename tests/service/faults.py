"""Faults: what goes wrong with a request, by a script or by chance."""
import collections
import re
from typing import NamedTuple

import operation as operations

TRANSIENT = (408, 429, 500, 502, 503, 504)
CODES = {
    408: "RequestTimeout",
    429: "TooManyRequests",
    500: "OperationTimedOut",
    502: "BadGateway",
    503: "ServerBusy",
    504: "GatewayTimeout",
}


class Kind(NamedTuple):
    """A kind of fault. `status` of its answer, if it has one; `is_after`: the change was made."""

    summary: str
    status: int = None
    is_after: bool = False
    is_inner: bool = False  # inside the answer of a batch


KINDS = {str(status): Kind(f"{status} {CODES[status]}; nothing was done", status) for status in TRANSIENT}
KINDS |= {f"{status}_after": Kind(f"{status}; the change was made", status, True) for status in (408, 500, 502, 503, 504)}
KINDS |= {
    f"inner_{status}": Kind(f"{status} inside the answer of a batch; nothing was done", status, is_inner=True)
    for status in TRANSIENT
}
KINDS |= {
    "401": Kind("401 with a challenge for a token; nothing was done", 401),
    "reset": Kind("the connection is reset; nothing was done"),
    "reset_after": Kind("the connection is reset; the change was made", is_after=True),
    "cut": Kind("the body of the answer breaks off with the connection; the change was made", is_after=True),
    "wrong_length": Kind("the Content-Length of the answer is half of its body, then the connection ends; the change was made",
                         is_after=True),
    "silence": Kind("no answer until the client closes the connection; nothing was done"),
    "silence_after": Kind("no answer until the client closes the connection; the change was made", is_after=True),
    "stale": Kind("a connection that was used before is closed instead of an answer; nothing was done"),
}  # fmt: skip


class Planned:
    """`KIND[@OPERATION[:TABLE]][*N]`: the next N requests that fit get the fault."""

    _FORM = re.compile(r"(?P<kind>\w+)(?:@(?P<operation>\w+)(?::(?P<table>\w+))?)?(?:\*(?P<left>\d+))?")

    def __init__(self, text):
        found = self._FORM.fullmatch(text)
        if not found:
            raise ValueError(f"{text}: not KIND[@OPERATION[:TABLE]][*N]")
        self.kind, self.operation, self.table = found["kind"], found["operation"], found["table"]
        self.left = int(found["left"] or 1)
        check_kind(self.kind)
        if self.operation and self.operation not in operations.OPERATIONS + ("write", "any"):
            raise ValueError(f"{self.operation}: no such operation")

    def _is_for(self, name):
        return self.operation in (None, "any", name) or self.operation == "write" and name in operations.WRITES

    def fits(self, operation, is_reused):
        tables = {operation.table, *(write.table for write in operation.writes)}
        return (
            self.left > 0
            and self._is_for(operation.name)
            and self.table in (None, *tables)
            and can_happen(self.kind, operation, is_reused)
        )

    def __str__(self):
        where = f"@{self.operation}" + (f":{self.table}" if self.table else "") if self.operation else ""
        return f"{self.kind}{where}*{self.left}"


def check_kind(kind):
    if kind not in KINDS:
        raise ValueError(f"{kind}: no such fault")
    return kind


def can_happen(kind, operation, is_reused):
    if kind == "stale":
        return is_reused
    if kind in ("cut", "wrong_length"):
        return operation.name in ("get", "query", "tables", "batch")  # the others' answers have no body
    return operation.name == "batch" or not KINDS[kind].is_inner


class Faults:
    """What is planned, what may happen by chance, and what has happened."""

    def __init__(self, random):
        self.planned, self.happened, self._random = [], collections.Counter(), random

    def choose(self, operation, is_reused, rate, kinds):
        """The name of the fault that the request gets, or None. A planned one has precedence."""
        kind = self._next(operation, is_reused, rate, kinds)
        if kind:
            self.happened[kind] += 1
        return kind

    def _next(self, operation, is_reused, rate, kinds):
        for planned in self.planned:
            if planned.fits(operation, is_reused):
                planned.left -= 1
                return planned.kind
        if rate and self._random.random() < rate:
            possible = [kind for kind in kinds if can_happen(kind, operation, is_reused)]
            return self._random.choice(possible) if possible else None
        return None

    def left(self):
        return [str(planned) for planned in self.planned if planned.left]
