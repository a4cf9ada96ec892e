"""What a run measured, and the pass marks of it: pure."""
import dataclasses
import math

PAGE_ROWS = 1000
CACHE_BYTES = 64 << 20  # the usual cache_size
FANOUT = 512
PARALLELISM = 8
MIB = 1 << 20

LATENCY_MS = 20  # what the marks on time are for
PAGE_MS = 5  # in which a full page is read and passed on, beside the latency
START_SEC = 0.05  # of a tool
LOOKUPS = 2  # requests for the path of a walk: its table, a partition

FIND, LS_LR, GREP, TAR = "find", "ls -lR", "grep -rc", "tar c"
HEAD, LS, LS_F, CAT = "ls -f | head -1", "ls", "ls -f", "cat"
RSYNC, RSYNC_AGAIN = "rsync -a", "rsync -a again"
WALKS = (FIND, LS_LR, GREP, TAR, RSYNC, RSYNC_AGAIN)
LISTING_FIRST = (TAR, RSYNC, RSYNC_AGAIN)  # they read all names of a directory before they open one
FTS_NAMES = 100_000  # of a directory that find, ls and grep read before they go on

# requests a page of a walk; where keys split badly more
REQUESTS_A_PAGE = {"package": 1.6, "ticks": 1.25, "dates": 1.25, "skew": 1.25}


@dataclasses.dataclass
class Table:
    """What is known of a table; the last two from a walk over it."""

    shape: str
    rows: int
    partitions: int = 0
    row_bytes: float = 0  # keys, ETag and text, as they come
    jumps: int = 0  # requests that count its partitions up to the fanout
    large_directories: int = 1  # whose range exceeds a quarter of the cache
    largest_directory: int = 0  # entities in it

    @property
    def pages(self):
        return self.rows / PAGE_ROWS


@dataclasses.dataclass
class Figures:
    """One run of one tool over one table. side: auto or flat, of tablefuse; memory; serial or published paging."""

    table: Table
    tool: str
    side: str
    latency_ms: int
    seconds: float = None  # None: it was not finished
    requests: int = 0
    bytes: int = 0
    peak_kib: int = 0  # of the daemon
    inodes: int = 0  # that the kernel held at the end
    count: int = 0  # what the tool says it saw: entities, names, or files transferred
    note: str = ""

    @property
    def is_tablefuse(self):
        return self.side in ("auto", "flat")

    @property
    def key(self):
        return (self.table.shape, self.table.rows, self.tool, self.side, self.latency_ms)


@dataclasses.dataclass
class Mark:
    what: str  # requests, time, memory, files
    value: float
    limit: float

    @property
    def is_met(self):
        return self.value <= self.limit


class Results:
    """All runs, to be found by what they were."""

    def __init__(self):
        self.all, self._by_key = [], {}

    def add(self, figures):
        self.all.append(figures)
        self._by_key[figures.key] = figures

    def seconds(self, table, tool, side, latency_ms):
        """None: no such run was finished."""
        found = self._by_key.get((table.shape, table.rows, tool, side, latency_ms))
        return found.seconds if found else None

    def beside(self, figures):
        """The same tool on the file system in memory."""
        return self.seconds(figures.table, figures.tool, "memory", 0)

    def paging(self, figures, way):
        """Reading the whole table through the same store."""
        return self.seconds(figures.table, way, way, figures.latency_ms)


def _walk_requests(figures):
    table = figures.table
    per_page = REQUESTS_A_PAGE.get(table.shape, 1.15)
    listed = table.largest_directory
    if figures.tool not in LISTING_FIRST:
        listed = min(listed, FTS_NAMES)
    if figures.tool != FIND and listed * table.row_bytes > CACHE_BYTES * 3 / 4:
        per_page = max(per_page, 2)
    levels = max(table.large_directories, 1)  # where it begins it is not known to be a walk
    return per_page * table.pages + 20 * levels + LOOKUPS


def _level_requests(figures):
    """Children and 16, beside the jumps; and the table's own lookup."""
    return figures.count + 16 + figures.table.jumps + 1


def requests_limit(figures):
    """None: there is no mark."""
    if figures.tool in WALKS:
        return _walk_requests(figures)
    if figures.tool == LS and figures.side == "auto":
        return _level_requests(figures)
    if figures.tool == CAT:
        return 2 * figures.count + 1  # each in a partition of its own; and the table
    if figures.tool == HEAD and figures.latency_ms == 0:
        return None  # ls reads on as fast as head ends: how far is chance
    if figures.tool == HEAD and figures.table.shape == "single":
        return 3  # table, partition, page
    if figures.tool == HEAD and figures.side == "flat" and figures.table.partitions >= 1000:
        return 2  # the names of fewer large ones are jumped for until the first buffer is full
    return None


def _seconds(round_trips):
    return round_trips * (LATENCY_MS + PAGE_MS) / 1000 + START_SEC


def _limit_beside(figures, results):
    memory, serial = results.beside(figures), results.paging(figures, "serial")
    if figures.tool in (FIND, LS_LR):
        part = 6 if figures.table.partitions == 1 else 4
        return max(serial / part, 1.3 * memory) if serial and memory else None
    if figures.tool in (GREP, TAR, RSYNC, RSYNC_AGAIN):
        return 1.5 * memory + 200 * LATENCY_MS / 1000 if memory else None
    if figures.tool == LS_F:
        return serial / 5 if serial else None
    return None


def seconds_limit(figures, results):
    """None: there is no mark, or what it is relative to was not measured."""
    if figures.latency_ms == 0:
        memory = results.beside(figures)
        return 1.5 * memory if memory and figures.tool in (FIND, GREP) else None
    if figures.latency_ms != LATENCY_MS:
        return None
    if figures.tool == LS and figures.side == "auto":
        children = figures.count + figures.table.jumps
        return _seconds(1 + 6 + (children + 16) / PARALLELISM)
    if figures.tool == HEAD:
        limit = requests_limit(figures)
        return _seconds(limit if limit else 1 + 8 + FANOUT / PARALLELISM)
    return _limit_beside(figures, results)


def memory_limit(figures):
    """In KiB."""
    if figures.table.partitions <= 1000 and figures.tool in (FIND, LS_F):
        return 200 * MIB / 1024
    return (CACHE_BYTES + 32 * MIB + 300 * figures.inodes) / 1024


def marks(figures, results):
    """Those that this run has."""
    if not figures.is_tablefuse or figures.seconds is None:
        return []
    found = []
    requests, seconds = requests_limit(figures), seconds_limit(figures, results)
    if requests is not None:
        found.append(Mark("requests", figures.requests, math.floor(requests)))
    if seconds is not None:
        found.append(Mark("seconds", figures.seconds, seconds))
    if figures.tool == RSYNC_AGAIN:
        found.append(Mark("files sent", figures.count, 0))
    found.append(Mark("MiB", figures.peak_kib / 1024, memory_limit(figures) / 1024))
    return found
