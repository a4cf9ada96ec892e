"""What the tests of deleting share: how many requests deletes take, and what a process may be told of a directory that
another one removes meanwhile."""
import errno
import os
import time

from writing import failures

BATCH = 100  # changes of one request
FIRST = 16  # deletes that are sent at once, for a process that has not listed the directory
PAUSE_SEC = 1.0  # a change waits so long for others
REST_SEC = 5.0  # a process that deletes nothing for so long begins anew, and what was held in its table is sent


class Deleting:
    """`with Deleting(mount, at_once=1, queued=[999]):` asserts the requests that the deletes in it take. queued: how
    many of each partition are queued. The count is exact where the block takes less than PAUSE_SEC. A second more may
    add one request a partition, which has fewer changes; and processes that are so slow begin their count anew."""

    def __init__(self, mount, at_once, queued, processes=1):
        self._mount, self._at_once, self._queued, self._processes = mount, at_once, queued, processes

    def __enter__(self):
        self._before, self._began = self._mount.stats(), time.monotonic()
        return self

    def __exit__(self, kind, *_):
        if kind is not None:
            return
        self._mount.send_queued()
        pauses = int((time.monotonic() - self._began) / PAUSE_SEC)
        counted = self._mount.stats() - self._before
        self.asked = counted.asked()
        # one row alone is no batch
        rows = counted.total("tablefuse_request_rows_total", operation="batch")
        alone = self.asked.get("delete", 0)
        assert rows + alone == self._at_once + sum(self._queued), self.asked
        least = self._at_once + sum(-(-n // BATCH) for n in self._queued)
        most = least + pauses * (len(self._queued) + FIRST * self._processes)
        assert least <= alone + self.asked.get("batch", 0) <= most, (self.asked, least, most)

    def reads(self):
        return {name: n for name, n in self.asked.items() if name not in ("delete", "batch")}


class Dropping:
    """Asserts that the tables are dropped with all but the first row, which is deleted alone. Where a process may have
    paused for some seconds, on a busy machine, what was held may have been sent, alone or in batches."""

    def __init__(self, mount, tables=1):
        self._mount, self._tables = mount, tables

    def __enter__(self):
        self._before, self._began = self._mount.stats(), time.monotonic()

    def __exit__(self, kind, *_):
        if kind is not None:
            return
        asked = (self._mount.stats() - self._before).asked()
        may_have_paused = time.monotonic() - self._began >= REST_SEC
        assert asked["delete_table"] == self._tables and asked["delete"] >= 1, asked
        assert may_have_paused or (asked["delete"] == 1 and "batch" not in asked), asked


def keys(partition, count, prefix=""):
    return [(partition, f"{prefix}{number:05}") for number in range(count)]


def names(count, prefix=""):
    return [f"{prefix}{number:05}.json" for number in range(count)]


def is_of_the_other(line):
    """What a tool may say of a directory that another process removes meanwhile."""
    return line.endswith((os.strerror(errno.ENOENT), os.strerror(errno.ESTALE), os.strerror(errno.ENOTEMPTY)))


def failures_but_of_dropped(mount, table):
    """Without those of listings that began in the table before another process dropped it: they end in ESTALE."""
    gone = {"operation": "readdir", "error": "ESTALE", "status": ", HTTP 404", "code": "TableNotFound"}
    return [
        failed
        for failed in failures(mount)
        if not (gone.items() <= failed.items() and f"{failed['path']}/".startswith(f"/{table}/"))
    ]
