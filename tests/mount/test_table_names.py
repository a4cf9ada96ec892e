"""A list of tables with names that no table should have. No service makes one; a small server gives it."""
import errno
import json
import os
import re

import pytest

from harness import KEY, run
from servers import Handler, Server

LONGEST = "a" * 63
SHOWN = ["ab", "1abc", "abc", "ABC", "tables", "$MetricsHourPrimaryTransactionsTable", LONGEST]
LEFT_OUT = [".", "..", ".flat", ".tablefuse", "a/b", "../abc", "a.b", "a b", "a\\b", "$batch", "caf\u00e9"]
LEFT_OUT += ["tab\nle", "\x1b[31m", LONGEST + "a", "b" * 300]
NO_TEXT = ["nul\0", "half\ud800"]


ENTITY = {
    "odata.etag": "W/\"datetime'2024-01-02T03%3A04%3A05.1234567Z'\"",
    "PartitionKey": "p",
    "RowKey": "r",
    "Timestamp": "2024-01-02T03:04:05.1234567Z",
}


class Service(Server):
    """Answers a list of tables, and one entity of each."""

    credentials = {"AZURE_STORAGE_KEY": KEY}

    def __init__(self):
        self.tables = []
        service = self

        class Lists(Handler):
            def do_GET(self):
                if self.path.startswith("/account/Tables"):
                    wanted = re.search(r"TableName%20eq%20%27(.*?)%27", self.path)
                    name = wanted and wanted[1].replace("%24", "$")
                    names = [t for t in service.tables if not wanted or t == name]
                    self.reply_json({"value": [{"TableName": table} for table in names]})
                elif "(PartitionKey=" in self.path:
                    self.reply_json(ENTITY)
                else:
                    self.reply_json({"value": [ENTITY]})

            def reply_json(self, answer):
                body = json.dumps(answer).encode()
                self.reply(200, {"Content-Type": "application/json"}, body)

        super().__init__(Lists)
        self.source = f"http://{self.address}/account"


@pytest.fixture(scope="module")
def service():
    started = Service()
    yield started
    started.stop()


def left_out_of(mount):
    """What the errors tell of tables that are left out."""
    return [line for line in mount.control("errors").splitlines() if "left out" in line]


def test_what_can_be_shown_is_shown(mounts, service):
    service.tables = SHOWN
    mount = mounts()
    assert sorted(os.listdir(mount.point)) == sorted(SHOWN)
    for table in SHOWN:
        assert os.listdir(mount / table) == ["p"]
        assert '"RowKey": "r"' in (mount / table / "p/r.json").read_text()
    assert mount.control("errors") == ""


@pytest.mark.parametrize("name", LEFT_OUT, ids=ascii)
def test_a_name_spoils_nothing_but_itself(mounts, service, name):
    service.tables = ["first", name, "second"]
    mount = mounts("ttl=0")
    for _ in range(3):
        assert sorted(os.listdir(mount.point)) == ["first", "second"]
    (line,) = left_out_of(mount)
    assert re.search(r" readdir /: EPROTO: 1 table is left out of the list, ", line)
    assert line.endswith(" -- read such a table with another program")
    assert "\x1b" not in line
    assert '"RowKey": "r"' in (mount / "second/p/r.json").read_text()


@pytest.mark.parametrize("name", NO_TEXT, ids=ascii)
def test_a_name_that_is_no_text_makes_the_list_invalid(mounts, service, name):
    service.tables = ["first"]
    mount = mounts("ttl=0")
    service.tables = ["first", name]
    with pytest.raises(OSError) as caught:
        os.listdir(mount.point)
    assert caught.value.errno == errno.EPROTO
    assert "the answer is not a valid list of tables" in mount.control("errors")
    assert '"RowKey": "r"' in (mount / "first/p/r.json").read_text()
    service.tables = ["first"]
    assert os.listdir(mount.point) == ["first"]


def test_another_list_is_reported_again(mounts, service):
    service.tables = ["first", "a/b"]
    mount = mounts("ttl=0")
    for tables, count in ((["first", "a/b"], 1), (["first", "a/b", "c/d"], 2), (["first"], 2)):
        service.tables = tables
        for _ in range(2):
            assert os.listdir(mount.point) == ["first"]
        assert len(left_out_of(mount)) == count
    assert "2 tables are left out of the list" in left_out_of(mount)[1]
    assert "the first of which is a/b" in left_out_of(mount)[1]


def test_a_table_of_metrics_is_mounted_by_its_name(mounts, service):
    service.tables = []
    source = f"{service.source}/$MetricsHourPrimaryTransactionsTable"
    mount = mounts(source=source)
    assert os.listdir(mount.point) == ["p"]
    assert run("findmnt", "-n", "-o", "SOURCE", mount.point).stdout == f"{source}\n"
