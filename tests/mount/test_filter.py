"""`--filter` and `--select`: which entities, and which of their properties, are exported, counted, deleted, changed."""
import base64
import collections
import json
import os
import random
import re
from concurrent.futures import ThreadPoolExecutor

import pytest

import filters
from harness import ABANDONED, CONFIGURATION, NOT_FOUND, USAGE
from importing import imported, lines_of
from servers import Handler, Server
from test_export import count, export, in_order, keys_of, refused, source, tablefuse

EXAMPLES = int(os.environ.get("TABLEFUSE_EXAMPLES", "200"))
OF_ONE_TYPE = {"I": ["Int32"], "D": ["Double"], "S": ["String"], "B": ["Boolean"], "T": ["DateTime"], "G": ["Guid"], "X": ["Binary"]}
MIXED = {"A": ["Int32", "Int64", "Double"], "M": list(filters.VALUES), "S": ["String", "Int64"], "G": ["Guid", "Binary"]}


def written(kind, value):
    """A value as a text names it: its annotation, or None, and the value."""
    if kind == "Binary":
        return "Edm.Binary", base64.b64encode(value).decode()
    if kind == "DateTime":
        return "Edm.DateTime", value.isoformat(timespec="milliseconds") + "Z"
    if kind == "Int64":
        return "Edm.Int64", str(value)
    return (f"Edm.{kind}" if kind in ("Double", "Guid") else None), value


def row_of(keys, properties):
    row = {"PartitionKey": keys[0], "RowKey": keys[1]}
    for name, typed in properties.items():
        annotation, value = written(*typed)
        if annotation:
            row[f"{name}@odata.type"] = annotation
        row[name] = value
    return row


def generated(seed, types_of):
    """A table's entities, and filters with their meanings."""
    chance = random.Random(seed)
    entities = filters.entities(chance, types_of)
    return entities, [filters.expression(chance, types_of) for _ in range(EXAMPLES)]


def exported(service, table, texts, **options):
    """For each filter the keys of its export, and what the counts must be."""
    with ThreadPoolExecutor(4) as pool:
        return list(pool.map(lambda text: keys_of(export(service, table, "--keys", "--filter", text, **options).splitlines()), texts))


def matching(entities, means):
    return in_order([keys for keys, properties in entities.items() if means(*keys, properties)])


def test_the_answers_are_those_of_the_sdk(service, sdk, account):
    """Generated filters on Azurite, with one type a property, missing ones included: the SDK gets the same entities, and
    so does the account in a file. Azurite is lax about types, and cannot read constants of 64 bits."""
    entities, generated_filters = generated(1, OF_ONE_TYPE)
    texts = [text for text, _ in generated_filters]
    rows = [row_of(*item) for item in entities.items()]
    for each in (service, account):
        assert imported(each, "onetype", rows, "--create").counts == (0, len(rows), len(rows), 0)
    answers = exported(service, "onetype", texts)
    assert exported(account, "onetype", texts) == answers
    for (text, means), answer, of_sdk in zip(generated_filters, answers, sdk.keys_of("onetype", texts)):
        assert answer == of_sdk == matching(entities, means), text


def test_values_of_mixed_types(account):
    entities, generated_filters = generated(2, MIXED)
    rows = [row_of(*item) for item in entities.items()]
    assert imported(account, "mixed", rows, "--create").counts == (0, len(rows), len(rows), 0)
    answers = exported(account, "mixed", [text for text, _ in generated_filters])
    for (text, means), answer in zip(generated_filters, answers):
        assert answer == matching(entities, means), text
    assert 0 < sum(map(len, answers)) < len(rows) * len(answers)


def number_rows(partitions, rows):
    """Rows of partitions whose keys share no beginning."""
    return [
        {"PartitionKey": f"{chr(65 + p % 26)}{p:03d}", "RowKey": f"{r:03d}", "N": p * rows + r, "S": "done" if r % 3 == 0 else "open"}
        for p in range(partitions)
        for r in range(rows)
    ]


@pytest.fixture(scope="module")
def numbers(account):
    rows = sorted(number_rows(64, 20), key=lambda row: (row["PartitionKey"], row["RowKey"]))
    imported(account, "numbers", rows, "--create")
    return rows


def requests_of(says):
    return int(re.search(r"([\d,]+) requests", says)[1].replace(",", ""))


def export_with(account, faults, *arguments):
    """(the lines, the number of requests beside the one that looks at SOURCE first)"""
    done = tablefuse(account, "export", source(account, "numbers"), *arguments, faults=faults)
    return done.stdout.splitlines(), requests_of(done.stderr) - 1


@pytest.mark.parametrize(
    "faults", ["short=1", "short=7", "short=20", "short=21", "empty=3", "short=13,empty=1", "short=5,latency=2"]
)
def test_short_and_empty_pages(account, numbers, faults):
    """Pages end at each border and inside partitions; some have no row."""
    lines, _ = export_with(account, faults, "--filter", "S eq 'done' and N ge 100")
    assert list(map(json.loads, lines)) == [row for row in numbers if row["S"] == "done" and row["N"] >= 100]


@pytest.mark.tsan
def test_one_partition_has_its_own_pages_alone(account, numbers):
    key = numbers[200]["PartitionKey"]
    expected = [row for row in numbers if row["PartitionKey"] == key and row["S"] == "open"]
    for faults, requests in ((None, 1), ("short=5", 3), ("empty=6", 7)):
        lines, asked = export_with(account, faults, "--filter", f"PartitionKey eq '{key}' and S eq 'open'")
        assert list(map(json.loads, lines)) == expected and asked == requests
    lines, asked = export_with(account, None, "--filter", "S eq 'open'", key)
    assert list(map(json.loads, lines)) == expected and asked == 1


def test_filters_of_keys_narrow_the_range(account, numbers):
    row = numbers[77]
    both = f"RowKey eq '{row['RowKey']}' and PartitionKey eq '{row['PartitionKey']}'"
    for text, expected, requests in (
        (both, [row], 1),
        (f"{both} and N lt 0", [], 1),
        ("PartitionKey eq 'none' and N eq 1", [], 1),
        ("PartitionKey eq 'a' and PartitionKey eq 'b'", [], 0),  # they contradict each other
        ("PartitionKey gt 'B' and PartitionKey lt 'C'", [row for row in numbers if row["PartitionKey"][0] == "B"], 1),
    ):
        lines, asked = export_with(account, None, "--filter", text)
        assert list(map(json.loads, lines)) == expected and asked == requests, text
    assert count(account, "numbers", "--filter", both) == "entities 1\npartitions 1\n"
    lines, asked = export_with(account, None, "--filter", both, "A000")  # in a directory where it is not
    assert not lines and asked == (0 if row["PartitionKey"] != "A000" else 1)


def test_a_long_answer_comes_by_parallel_requests(account, numbers):
    """The pages of one query, the questions for 64 names, and for each range a page that is not full, at most.
    tests/unit/cache/scan/test_scan_filtered.c has the figures; here the window and threads decide what is asked first."""
    matches = [row for row in numbers if row["S"] == "open"]
    for rows_of_page in (4, 10):
        lines, asked = export_with(account, f"short={rows_of_page}", "--filter", "S eq 'open'")
        assert list(map(json.loads, lines)) == matches
        assert asked <= -(-len(matches) // rows_of_page) + 2 * 64 + 33, rows_of_page


def test_more_than_fifteen_comparisons(account, numbers):
    text = " or ".join(f"N eq {n}" for n in range(40))
    lines, _ = export_with(account, None, "--filter", text)
    assert list(map(json.loads, lines)) == [row for row in numbers if row["N"] < 40]


# --- select


@pytest.mark.parametrize("arguments", [[], ["--filter", "N lt 50"]])
def test_selected_properties_alone(account, numbers, arguments):
    lines, _ = export_with(account, "short=11", "--select", "N,Missing", *arguments)
    expected = [row for row in numbers if not arguments or row["N"] < 50]
    keys = ("PartitionKey", "RowKey", "N")
    assert list(map(json.loads, lines)) == [{name: row[name] for name in keys} | {"odata.select": True} for row in expected]
    table, _ = export_with(account, None, "--select", "S", "--format=csv", *arguments)
    assert table[0] == "PartitionKey,RowKey,odata.select,S,S@type" and len(table) == len(expected) + 1
    assert table[1].endswith(",true,done,String")


class Counting(Server):
    """Between a command and Azurite: counts the bytes of the answers."""

    def __init__(self, service):
        self.bytes = 0
        counting = self

        class Between(Handler):
            def do_GET(self):
                status, headers, body = self.hand_on(service, Host=f"127.0.0.1:{service.port}")
                counting.bytes += len(body)
                self.reply(status, headers, body)

        super().__init__(Between)
        self.credentials = self.credentials_for(service)
        self.endpoint = service.endpoint.replace(f"127.0.0.1:{service.port}", self.address)


def test_a_select_moves_what_it_names(service, sdk):
    sdk.fill_table("wide", [{"partitionKey": "p", "rowKey": str(n), "Small": n, "Large": "x" * 5000} for n in range(50)])
    counting = Counting(service)
    try:
        assert len(export(counting, "wide", "--select", "Small").splitlines()) == 50
        assert counting.bytes < 50 * 400
        assert len(export(counting, "wide").splitlines()) == 50
        assert counting.bytes > 50 * 5000
    finally:
        counting.stop()


def test_a_part_is_merged_and_deleted_but_replaces_nothing(account):
    rows = [{"PartitionKey": "p", "RowKey": str(n), "A": n, "B": "b"} for n in range(3)]
    imported(account, "parts", rows, "--create")
    part = export(account, "parts", "--select", "A", "--etag").replace('"A":', '"A":1')
    for mode in ("replace", "insert"):
        done = imported(account, "parts", part, f"--mode={mode}")
        assert done.counts == (ABANDONED, 3, 0, 3)
    assert imported(account, "parts", part, "--mode=merge").counts == (0, 3, 3, 0)
    assert list(map(json.loads, export(account, "parts").splitlines())) == [{**row, "A": 10 + row["A"]} for row in rows]
    assert "keys alone" in imported(account, "parts", export(account, "parts", "--keys"), "--mode=merge").says
    table = export(account, "parts", "--select", "A", "--etag", "--format=csv")
    assert imported(account, "parts", table, "--format=csv").counts == (ABANDONED, 3, 0, 3)
    assert imported(account, "parts", table, "--format=csv", "--mode=delete").counts == (0, 3, 3, 0)


# --- delete where, update where


@pytest.mark.parametrize("changed", [None, "changed=batch:1:2"])
def test_delete_where(account, changed):
    rows = number_rows(6, 9)
    table = "delete" if changed else "all"
    imported(account, table, rows, "--create")
    keys = export(account, table, "--keys", "--filter", "S eq 'done'")
    done = imported(account, table, keys, "--mode=delete", faults=changed)
    matches = [row for row in rows if row["S"] == "done"]
    stays = len(rows) - len(matches) + bool(changed)
    assert done.counts == (ABANDONED if changed else 0, len(matches), len(matches) - bool(changed), int(bool(changed)))
    left = list(map(json.loads, export(account, table).splitlines()))
    assert len(left) == stays and sum(row["S"] == "done" for row in left) == bool(changed)
    told = [re.sub(r"line \d+", "line N", line) for line in done.lines]
    assert told == ["line N: another client has changed the entity since it was shown: it is not deleted"][: bool(changed)]


def test_update_where(account):
    imported(account, "update", number_rows(3, 9), "--create")
    lines = export(account, "update", "--etag", "--filter", "S eq 'open'").replace('"S":"open"', '"S":"closed"')
    imported(account, "update", [{"PartitionKey": "A000", "RowKey": "001", "N": -1, "S": "open"}])  # another client
    done = imported(account, "update", lines, "--mode=merge")
    assert done.counts == (ABANDONED, 18, 17, 1)
    states = collections.Counter(json.loads(line)["S"] for line in export(account, "update").splitlines())
    assert states == {"done": 9, "closed": 17, "open": 1}


# --- refused


@pytest.mark.asan
@pytest.mark.parametrize(
    "text, says",
    [
        ("", "the filter's byte 0: a property or a constant is expected here"),
        ("N eq'1'", "the filter's byte 4: a blank is missing here"),
        ("N eq 1 and", "the filter's byte 10: a property or a constant is expected here"),
        ("N eq 1 N eq 2", "the filter's byte 7: `and`, `or` or the end is expected here"),
        ("startswith(N,'a')", "the filter's byte 0: the service has no functions"),
    ],
)
def test_a_filter_that_is_none(account, text, says):
    for verb in ("export", "count"):
        code, told = refused(account, verb, "--filter", text, source(account, "dates"))
        assert (code, told.splitlines()[0]) == (USAGE, f"tablefuse: {verb}: --filter: {says}")


def test_options_that_contradict_each_other(account):
    for arguments, says in (
        (["--filter", "N eq 1", "--filter", "N eq 2"], "two --filter: write both as one, (FIRST) and (SECOND)"),
        (["--keys", "--select", "N"], "--select names properties, and --keys writes none"),
        (["--select", "a b"], "--select: byte 1: not a part of a property's name -- names of properties, for example A,B"),
        (["--select", "N,Timestamp"], "--select: Timestamp is no property that it writes -- give --timestamp"),
        (["--select", "A,,B"], "--select: byte 2: the name of a property is expected here -- names of properties, for example A,B"),
        (["--select", ""], "--select: byte 0: the name of a property is expected here -- names of properties, for example A,B"),
    ):
        code, told = refused(account, "export", *arguments, source(account, "dates"))
        assert (code, told.splitlines()[0]) == (USAGE, f"tablefuse: export: {says}")


def test_a_filter_that_the_service_refuses(service, sdk):
    """The second query: the first looks at SOURCE."""
    sdk.create_table("refuses")
    code, told = refused(
        service, "export", "--filter", "N eq 1", source(service, "refuses"), faults="fail=query:2:400:InvalidInput"
    )
    assert code == CONFIGURATION and "table refuses: HTTP 400 InvalidInput" in told


def test_a_table_that_is_dropped_meanwhile(account, numbers):
    key = numbers[0]["PartitionKey"]
    for n, text in ((2, "S eq 'open'"), (2, f"PartitionKey eq '{key}'"), (4, f"PartitionKey eq '{key}'")):
        imported(account, "dropped", numbers, "--create")
        code, told = refused(
            account, "export", "--filter", text, source(account, "dropped"), faults=f"short=5,dropped=query:{n}"
        )
        assert code == NOT_FOUND and "has no table dropped" in told


def test_no_match_is_an_answer(account, numbers):
    """A directory without entities is an error, and an answer without any is none."""
    key = numbers[0]["PartitionKey"]
    assert export(account, "numbers", "--filter", "N lt 0", key) == ""
    assert count(account, "numbers", key, "--filter", "N lt 0") == "entities 0\npartitions 0\n"


def test_an_interrupted_export_with_a_filter_is_resumed(account, numbers, tmp_path):
    whole = export(account, "numbers", "--filter", "S eq 'open'", "--select", "N")
    for lines in (1, 14, 500):
        begun = "".join(whole.splitlines(keepends=True)[:lines])
        (tmp_path / "file.partial").write_text(begun)
        export(account, "numbers", "--filter", "S eq 'open'", "--select", "N", "--output", tmp_path / "file", "--resume")
        assert (tmp_path / "file").read_text() == whole
    (tmp_path / "file.partial").write_text(lines_of(numbers[:3]))
    code, told = refused(
        account, "export", "--select", "N", "--output", tmp_path / "file", "--resume", source(account, "numbers")
    )
    assert code != 0 and "of another export" in told
