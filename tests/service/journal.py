"""The last changes that the proxy has received: what a test that found something wrong needs to explain it."""
import collections
import re
import time

import operation as operations

CHANGES_MAX = 20_000
_CODE = re.compile(rb'"code":\s*"(\w+)"')
_INNER = re.compile(rb"HTTP/1\.1 ([45]\d\d)")


def _first_property(write):
    """It shows which text is written."""
    for name, value in write.members or ():
        if name not in ("PartitionKey", "RowKey") and "@" not in name:
            return f"{name}={str(value)[:40]}"
    return write.request.headers.get("if-match", "")


def _result(answer):
    """The status, and of a refusal its code; in a batch that of the operation that failed."""
    inner = answer.status == 202 and _INNER.search(answer.body)
    status = int(inner[1]) if inner else answer.status
    code = status >= 400 and _CODE.search(answer.body)
    return f"{status} {code[1].decode()}" if code else str(status)


class Entry:
    """A change. Times are as of time.time(), None: it did not happen. `was_gone`, `is_gone`: had the client closed its
    connection when the service was asked, and when it had answered?"""

    def __init__(self, operation, client_is_gone):
        self.arrived, self.forwarded, self.answered = time.time(), None, None
        self.operation, self.result, self.fault = operation.name, None, None
        self.was_gone = self.is_gone = False
        self.id = operation.request.headers.get("x-ms-client-request-id")
        writes = operation.writes or [operation]
        self.table = writes[0].table or dict(operation.members or ()).get("TableName")
        self.writes = [(write.name, *(write.keys or ("", "")), _first_property(write)) for write in writes]
        self._client_is_gone = client_is_gone

    def forward(self):
        self.forwarded, self.was_gone = time.time(), self._client_is_gone()

    def answer(self, answer):
        self.answered, self.is_gone, self.result = time.time(), self._client_is_gone(), _result(answer)

    def report(self):
        return {name: value for name, value in vars(self).items() if not name.startswith("_")}


class Journal:
    def __init__(self):
        self._entries = collections.deque(maxlen=CHANGES_MAX)

    def arrive(self, operation, client_is_gone):
        entry = Entry(operation, client_is_gone)
        if operation.name in (*operations.WRITES, "batch", "create", "drop"):
            self._entries.append(entry)
        return entry

    def report(self, table):
        return [entry.report() for entry in self._entries if str(entry.table).lower() == table.lower()]
