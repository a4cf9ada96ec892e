"""HTTP/1.1 as the proxy reads and writes it: requests, answers, and the connections to the service."""
import asyncio
import functools
import http.client
import time
import urllib.parse

HEAD_BYTES = 1 << 18  # of a request or answer, at most; Azurite takes 16 KiB
BODY_BYTES = 64 << 20
IDLE_SEC = 4  # Azurite closes a connection that was idle for 6 s
LENGTHS = ("content-length", "transfer-encoding")


class Malformed(Exception):
    """What was received is not HTTP."""


class Lost(Exception):
    """The service gave no whole answer."""


@functools.lru_cache(256)  # the parts of a batch have the same ones
def _headers_of(lines):
    """{lower-case name: value}, which is not to be changed."""
    headers = {}
    for line in lines.split("\r\n"):
        name, colon, value = line.partition(":")
        if colon:
            headers[name.lower()] = value.strip()
    return headers


def parse_head(head):
    """First line, and {lower-case name: value}."""
    first, _, lines = head.decode("latin-1").partition("\r\n")
    return first, _headers_of(lines)


async def read_chunks(reader):
    """(as they were sent, their data)"""
    raw, body, size = [], [], None
    while size != 0:
        line = await reader.readuntil(b"\r\n")
        size = int(line.partition(b";")[0], 16)
        data = await reader.readexactly(size + 2)
        raw += (line, data)
        body.append(data[:-2])
    return b"".join(raw), b"".join(body)


class Request:
    def __init__(self, head, body=b""):
        self.head, self.body = head, body
        first, self.headers = parse_head(head)
        self.method, _, rest = first.partition(" ")
        self.target, space, self.version = rest.partition(" ")
        if not space:
            raise Malformed(first)

    @functools.cached_property
    def query(self):
        """[(name, value as it was sent)]"""
        items = [item.partition("=") for item in self.target.partition("?")[2].split("&") if item]
        return [(urllib.parse.unquote(name), value) for name, _, value in items]

    def option(self, name):
        """The decoded value, or None."""
        return next((urllib.parse.unquote(value) for key, value in self.query if key == name), None)

    def with_query(self, query):
        """The same request with another query. A signature covers none of it but comp."""
        path = self.target.partition("?")[0]
        text = "&".join(f"{urllib.parse.quote(name, safe='')}={value}" for name, value in query)
        target = f"{path}?{text}" if text else path
        rest = self.head.partition(b"\r\n")[2]
        return Request(f"{self.method} {target} {self.version}\r\n".encode("latin-1") + rest, self.body)

    @property
    def is_last(self):
        """Of its connection."""
        return self.headers.get("connection", "").lower() == "close" or self.version == "HTTP/1.0"


async def read_request(reader):
    """None: the connection has ended. A request in chunks has no body: RULES refuses it, and the connection ends."""
    try:
        request = Request(await reader.readuntil(b"\r\n\r\n"))
        size = int(request.headers.get("content-length", 0))
        if not 0 <= size <= BODY_BYTES:
            raise Malformed(f"Content-Length: {size}")
        request.body = await reader.readexactly(size)
        return request
    except (asyncio.IncompleteReadError, OSError):
        return None
    except (asyncio.LimitOverrunError, ValueError) as error:
        raise Malformed(str(error)) from error


class Answer:
    """`raw`: head and body as they were received, unless the proxy has made or changed the answer."""

    def __init__(self, status, headers, body=b"", raw=None):
        self.status, self.headers, self.body, self.raw = status, headers, body, raw

    def changed(self, body, headers):
        """With another body, and these headers besides."""
        kept = {name: value for name, value in self.headers.items() if name not in LENGTHS}
        return Answer(self.status, {**kept, **headers}, body)

    def head(self, length):
        lines = [f"HTTP/1.1 {self.status} {http.client.responses[self.status]}"]
        lines += [f"{name}: {value}" for name, value in self.headers.items() if name not in LENGTHS]
        if self.status not in (204, 304):
            lines.append(f"content-length: {length}")
        return "\r\n".join([*lines, "", ""]).encode("latin-1")

    def to_bytes(self):
        return self.raw or self.head(len(self.body)) + self.body

    @property
    def is_last(self):
        return self.headers.get("connection", "").lower() == "close"

    @property
    def is_delimited(self):
        """Its end is known without the end of the connection."""
        return self.status in (204, 304) or any(name in self.headers for name in LENGTHS)


async def _read_body(reader, method, status, headers):
    """(as it was sent, decoded)"""
    if method == "HEAD" or status in (204, 304):
        return b"", b""
    if headers.get("transfer-encoding", "").lower() == "chunked":
        return await read_chunks(reader)
    if "content-length" in headers:
        body = await reader.readexactly(int(headers["content-length"]))
    else:
        body = await reader.read()
    return body, body


async def read_answer(reader, method):
    head = await reader.readuntil(b"\r\n\r\n")
    first, headers = parse_head(head)
    try:
        status = int(first.split(" ")[1])
        raw, body = await _read_body(reader, method, status, headers)
    except (ValueError, IndexError) as error:
        raise Malformed(first) from error
    return Answer(status, headers, body, head + raw)


class Service:
    """The service behind the proxy. A connection serves one request at a time; idle ones are kept for a while. One that was
    idle may be closed by the service just when it is used: then the request is sent once more, on a new one."""

    def __init__(self, host, port):
        self.host, self.port = host, port
        self._idle = []  # [(since, reader, writer)], the youngest last

    def _take_idle(self):
        while self._idle:
            since, reader, writer = self._idle.pop()
            if time.monotonic() - since < IDLE_SEC and not reader.at_eof():
                return reader, writer
            writer.close()
        return None

    async def send(self, request):
        writer = None
        try:
            idle = self._take_idle()
            reader, writer = idle or await asyncio.open_connection(self.host, self.port, limit=HEAD_BYTES)
            writer.write(request.head + request.body)
            answer = await read_answer(reader, request.method)
        except (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, Malformed) as error:
            if writer:
                writer.close()
            is_unanswered = isinstance(error, ConnectionError) or (
                isinstance(error, asyncio.IncompleteReadError) and not error.partial
            )
            if idle and is_unanswered:
                for _, _, other in self._idle:
                    other.close()
                self._idle.clear()
                return await self.send(request)
            raise Lost(f"{self.host}:{self.port}: {error or 'the connection was closed'}") from error
        if answer.is_last or request.is_last or not answer.is_delimited:
            writer.close()
        else:
            self._idle.append((time.monotonic(), reader, writer))
        return answer
