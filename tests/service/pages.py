"""The pages of queries as the service may give them: short ones, empty ones with a token, ends at borders, opaque tokens."""
import base64
import dataclasses
import json
import urllib.parse
import zlib

import answers

PAGE_ROWS = 1000
PREFIX = "x-ms-continuation-"
ENTITY_TOKEN = ("NextPartitionKey", "NextRowKey")
TABLE_TOKEN = ("NextTableName",)
AT_END = "end"  # the token continues behind the last row


class BadToken(Exception):
    """Not a token of this proxy. The argument: the rule that it breaks, or None."""


@dataclasses.dataclass
class Place:
    """Where a query continues. `after`: the service's own token, [] at the begin, or AT_END; `empties`: the number of empty
    pages in a row before it; `query`: a digest of what must not change; `number` makes each token unique."""

    after: object
    empties: int = 0
    query: int = 0
    number: int = 0


def _wrapped(text):
    """In the form of the service's tokens: version, length, base64 that fits URLs, with - for padding."""
    inner = base64.b64encode(text.encode(), b"*_").decode().replace("=", "-")
    return f"1!{len(inner)}!{inner}"


def _row_part(partition_part):
    return _wrapped(f"{zlib.crc32(partition_part.encode()):08x}")


def digest(request):
    """Of what a query and its continuations have in common."""
    return zlib.crc32("&".join(request.option(name) or "" for name in ("$filter", "$select", "$top")).encode())


def write_token(place, names, has_row):
    """{name: value}: all that must be known is in the first value."""
    first = _wrapped(json.dumps([place.after, place.empties, place.query, place.number]))
    token = {names[0]: first}
    if has_row:
        token.update({name: _row_part(first) for name in names[1:]})
    return token


def read_token(request, names, note):
    """The place, or None: the request has no token. note("blank_token") counts blank parts."""
    given = {name: request.option(name) for name in names}
    first = given.pop(names[0])
    if first is None:
        if any(value is not None for value in given.values()):
            raise BadToken(None)
        return None
    try:
        version, length, inner = first.split("!")
        if version != "1" or int(length) != len(inner):
            raise BadToken(None)
        place = Place(*json.loads(base64.b64decode(inner.replace("-", "="), b"*_")))
    except (ValueError, TypeError) as error:
        raise BadToken(None) from error
    for value in given.values():
        if value == "":
            note("blank_token")
        elif value not in (None, _row_part(first)):
            raise BadToken(None)
    if place.query != digest(request):
        raise BadToken("same_query")
    return place


def service_token(answer, names):
    """[value of each header, or None], as the service behind the proxy gave it; []: there is none."""
    values = [answer.headers.get((PREFIX + name).lower()) for name in names]
    return values if any(value is not None for value in values) else []


# the rows of a page, as they stand in its text

_DECODER = json.JSONDecoder()


@dataclasses.dataclass
class Row:
    begin: int
    end: int
    keys: tuple  # (PartitionKey, RowKey), None where $select left them out


def rows_of(text):
    """The Rows of `{..."value":[...]}`, in characters of the text."""
    at = text.find('"value":[')
    rows = []
    if at < 0:
        return rows
    at += len('"value":[')
    while text[at] != "]":
        row, end = _DECODER.raw_decode(text, at)
        rows.append(Row(at, end, (row.get("PartitionKey"), row.get("RowKey"))))
        at = end + 1 if text[end] == "," else end
    return rows


def end_at_border(rows):
    """How many rows precede the first border of partitions."""
    return next((i for i, row in enumerate(rows) if row.keys[0] != rows[0].keys[0]), len(rows))


def end_at_bytes(text, rows, limit):
    """How many rows fit, but one at least."""
    size = 0
    for i, row in enumerate(rows):
        size += len(text[row.begin : row.end].encode())
        if size > limit and i > 0:
            return i
    return len(rows)


def cut(text, rows, count):
    """The text with the first `count` rows, and the service's own token of the next one: Azurite's is its keys."""
    shorter = text[: rows[count - 1].end] + "]" + text[rows[-1].end + 1 :]
    return shorter, [base64.b64encode(key.encode()).decode() for key in rows[count].keys]


class Pager:
    """Makes pages as the settings say. `send(request)` sends to the service behind, `note(rule)` counts what a client should
    not do. Unless the tokens are the proxy's own, a page that is not cut is passed on as it is."""

    def __init__(self, settings, random, send, note):
        self._settings, self._random, self._send, self._note = settings, random, send, note
        self._number = 0

    def _happens(self, name):
        chance = self._settings[name]
        return chance > 0 and self._random.random() < chance

    def _has_own_tokens(self):
        return self._settings["tokens"] != "azurite" or self._settings["empty"] > 0 or self._settings["last_empty"] > 0

    async def page(self, operation):
        request = operation.request
        names = ENTITY_TOKEN if operation.name == "query" else TABLE_TOKEN
        # the settings may have changed since the proxy gave its own
        is_own = self._has_own_tokens() or (request.option(names[0]) or "").startswith("1!")
        if not is_own and not self._settings["page_rows"]:
            answer = await self._send(request)
            return self._finished(operation, names, answer) if answer.status == 200 else answer
        if is_own:
            place = read_token(request, names, self._note) or Place([])
        else:
            place = Place([request.option(name) for name in names])
        if place.after == AT_END:
            answer = await self._send(self._request(request, names, [], 1))
            return answers.empty_page(answer, {}) if answer.status == 200 else answer
        if place.empties < self._settings["empty_run"] and self._happens("empty"):
            answer = await self._send(self._request(request, names, place.after, 1))
            token = self._token(request, names, place.after, place.empties + 1)
            return answers.empty_page(answer, token) if answer.status == 200 else answer
        answer = await self._send(self._request(request, names, place.after, self._rows()))
        return self._finished(operation, names, answer) if answer.status == 200 else answer

    def _rows(self):
        return self._random.randint(*self._settings["page_rows"]) if self._settings["page_rows"] else PAGE_ROWS

    @staticmethod
    def _request(request, names, after, rows):
        """The request from this place on, for at most `rows` rows."""
        top = request.option("$top")
        rows = min(rows, int(top)) if top and top.isdigit() else rows
        query = [item for item in request.query if item[0] not in (*names, "$top")]
        if top or rows < PAGE_ROWS:
            query.append(("$top", str(rows)))
        query += [(name, urllib.parse.quote(value, safe="")) for name, value in zip(names, after) if value is not None]
        return request.with_query(query)

    def _finished(self, operation, names, answer):
        """A page of rows with its token."""
        after = service_token(answer, names)
        text = None
        if operation.name == "query" and (self._settings["borders"] or len(answer.body) > self._settings["page_bytes"]):
            text, after = self._shortened(answer, after)
        if not after and self._happens("last_empty"):
            after = AT_END
        if not self._has_own_tokens():
            token = {name: value for name, value in zip(names, after) if value is not None}
            return answer if text is None else answers.token_page(answer, text, token)
        text = answer.body.decode() if text is None else text
        return answers.token_page(answer, text, self._token(operation.request, names, after, 0) if after else {})

    def _shortened(self, answer, after):
        """(the text or None: as it is, the service's token)"""
        text = answer.body.decode()
        rows = rows_of(text)
        if not rows or None in rows[0].keys:
            return None, after
        count = end_at_bytes(text, rows, self._settings["page_bytes"])
        if self._happens("borders"):
            count = min(count, end_at_border(rows))
        return cut(text, rows, count) if count < len(rows) else (None, after)

    def _token(self, request, names, after, empties):
        kind = self._settings["tokens"]
        has_row = kind in ("azurite", "opaque") or kind == "mixed" and self._random.random() < 0.5
        self._number += 1
        return write_token(Place(after, empties, digest(request), self._number), names, has_row)
