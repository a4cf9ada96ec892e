"""`tablefuse sync`: one table becomes equal to another, without a mount."""
import random
import re

import pytest

import samples
from comparing import expected_lines, is_equal, key_of, random_tables, synced, table_of
from credentials import account_sas, table_sas
from expected import entities_of
from harness import ABANDONED, CONFIGURATION, MOUNTING, NOT_FOUND, TABLEFUSE, USAGE
from harness import LocalAccount, environment, run
from importing import imported, row, rows_of
from servers import Spoiler
from test_export import count, export, source, untyped


def counts_of(begin, end):
    """(inserted, replaced, deleted) that make `end` equal to `begin`."""
    signs = [line[0] for line in expected_lines(begin, end)]
    return tuple(map(signs.count, "+~-"))


def test_random_tables(service, stored, account, other):
    """Afterwards `diff` says nothing, and a second sync writes nothing. The SDK sees the same."""
    chance = random.Random(5)
    for n in range(12):
        places = [(account, other), (account, account), (service, account)]
        places += [(account, service), (service, service), (other, account)]
        first, second = places[n % 6]
        begin, end = random_tables(chance)
        tables = table_of(first, f"begin{n}", begin.values()), table_of(second, f"end{n}", end.values())
        inserted, replaced, deleted = counts_of(begin, end)
        dry = synced(*tables, "--dry-run", "--delete")
        assert dry.made == (inserted, replaced, deleted) and dry.lines == expected_lines(begin, end)
        assert {key_of(each): each for each in rows_of(*tables[1])} == end
        done = synced(*tables)
        assert (done.code, done.made, done.conflicts, done.refused) == (0, (inserted, replaced, 0), 0, 0), done
        kept = {key: end[key] for key in end.keys() - begin.keys()}
        assert {key_of(each): each for each in rows_of(*tables[1])} == {**begin, **kept}
        done = synced(*tables, *(["--delete"] if begin else ["--delete=all"]))
        assert (done.code, done.made) == (0, (0, 0, deleted)), done
        assert is_equal(*tables)
        done = synced(*tables, "--delete")
        assert (done.code, done.made) == (0, (0, 0, 0)), done
        assert rows_of(*tables[1]) == rows_of(*tables[0])
        if second is service:
            assert untyped(stored(f"end{n}")) == untyped(entities_of(export(first, f"begin{n}").splitlines(keepends=True)))


def test_all_types_and_awkward_keys(service, sdk, account):
    rows = [{"partitionKey": key, "rowKey": key, "N": 1} for key in samples.KEYS]
    sdk.create_table("awkward", [*rows, {"partitionKey": "types", "rowKey": "r", **samples.ALL_TYPES}])
    n = len(rows) + 1
    tables = [(service, "awkward"), (account, "awkward"), (service, "again"), (account, "again")]
    for begin, end in zip(tables, tables[1:]):
        done = synced(begin, end, "--create")
        assert (done.code, done.made) == (0, (n, 0, 0)), done
        assert is_equal(begin, end)
        done = synced(begin, end, "--create")
        assert (done.code, done.made) == (0, (0, 0, 0)), done
    assert is_equal(tables[0], tables[-1])


def test_requests(account, other):
    """Two equal tables: both scans. k changed rows: a transaction for 100 of a partition. Deletes: keys of FROM once more."""
    rows = [row(f"p{n // 1000}", f"{n:05}", A=n) for n in range(5000)]
    begin, end = table_of(account, "asked", rows), table_of(other, "asked", rows)
    scans = ("-o", "parallelism=1")
    equal = 2 + 5 + 5  # one before each scan
    assert synced(begin, end, *scans).requests == equal
    assert imported(account, "asked", [each | {"A": -1} for each in rows[:400]]).code == 0
    assert imported(account, "asked", [row(f"q{n}", "r") for n in range(7)]).code == 0
    done = synced(begin, end, *scans)
    assert done.made == (7, 400, 0) and done.requests == equal + 1 + 4 + 7
    removed = [row(f"p{n // 1000}", f"{n:05}") for n in range(1000, 5000, 40)]
    assert imported(account, "asked", removed, "--mode=delete", "--any-version").code == 0
    done = synced(begin, end, "--delete", *scans)  # 100 rows are deleted in 4 partitions, which have 4,000 rows
    assert done.made == (0, 0, 100) and done.requests == equal + 1 + 4 + 4


def test_a_directory(account, other):
    assert synced((account, "dates"), (other, "some"), "--create", path="2015-01+").code == 0
    assert count(other, "some") == count(account, "dates", "2015-01+")
    done = synced((account, "dates"), (other, "some"), path="2015-02+")
    assert done.made[1:] == (0, 0) and is_equal((account, "dates"), (other, "some"), path="2015-02+")
    before = export(other, "some", "2015-02+")
    assert imported(account, "none", [], "--create").code == 0
    done = synced((account, "none"), (other, "some"), "--delete=all", path="2015-01+")
    assert done.code == 0 and done.made[2] == done.read[1] > 0
    assert export(other, "some") == before


@pytest.mark.asan
@pytest.mark.tsan
def test_what_keeps_from_deleting(account, other):
    begin, end = table_of(account, "few", [row("p", "a")]), table_of(other, "few", [row("p", n) for n in "abcd"])
    done = synced(begin, end, "--delete", "--max-delete=2")
    assert done.code == CONFIGURATION and done.made == (0, 0, 0)
    assert done.says == ["nothing is deleted, because it would be 3, more than --max-delete 2"]
    assert synced(begin, end, "--delete", "--max-delete", "3", "--dry-run").made == (0, 0, 3)
    empty = table_of(account, "nothing", [])
    for more in ([], ["--dry-run"]):
        done = synced(empty, end, "--delete", *more)
        assert (done.code, len(rows_of(*end))) == (CONFIGURATION, 4)
        assert done.says == ["FROM has no entity here, so nothing is deleted -- --delete=all deletes what TO has (4)"]
    assert synced(empty, end).code == 0 and synced(empty, empty[:1] + ("few",)).made == (0, 0, 0)
    assert synced(begin, end, "--delete", "--max-delete", "3").made == (0, 0, 3)
    assert synced(empty, end, "--delete=all").made == (0, 0, 1) and rows_of(*end) == []
    missing = synced((account, "missing"), end, "--delete=all")
    assert missing.code == NOT_FOUND and "has no table missing" in missing.says[0]


def test_a_credential_that_shows_a_part_deletes_nothing(service, account):
    service.fill("part", "small", "20")
    end = table_of(account, "partly", [row("other", "r")])
    sas = table_sas(service.account, service.key, "part")
    url = f"{service.endpoint}/part"
    for variables, where in (
        ({"AZURE_STORAGE_SAS_URL": f"{url}?{sas}&spk=p"}, url),
        ({"AZURE_STORAGE_ACCOUNT": service.account, "AZURE_STORAGE_SAS_TOKEN": account_sas(service.account, service.key)},
         f"{service.endpoint}-secondary/part"),
    ):
        done = run(TABLEFUSE, "sync", "--delete", where, source(*end), env=environment(**variables), check=False)
        assert done.returncode == CONFIGURATION, done
        assert done.stderr.count("\n") == 1 and done.stderr.endswith(": what it does not show would be deleted\n")
    assert rows_of(*end) == [row("other", "r")]


def test_a_table_that_is_made(account, service, scratch):
    done = synced((account, "dates"), (service, "made"))
    assert done.code == NOT_FOUND
    assert synced((account, "dates"), (service, "made"), "--create", path="2015-03+").code == 0
    fresh = LocalAccount(scratch / "fresh")
    done = synced((account, "dates"), (fresh, "copy"), "--create", "--dry-run")
    assert done.code == NOT_FOUND and not fresh.file.exists()
    done = synced((account, "missing"), (fresh, "copy"), "--create")
    assert done.code == NOT_FOUND and not fresh.file.exists()
    assert synced((account, "dates"), (fresh, "copy"), "--create").made == (5000, 0, 0)
    assert is_equal((account, "dates"), (fresh, "copy"))
    done = synced((account, "dates"), (account, "DATES"), "--create")
    assert done.code == CONFIGURATION and done.says[0].endswith(" are the same table")
    fresh.stop()


@pytest.mark.asan
@pytest.mark.tsan
def test_rows_that_are_refused(account, other):
    """Keys that a service takes no more: the rest goes on."""
    account.write("refused", [("p", "a"), ("p/q", "b"), ("p", "c\x01"), ("q", "d")])
    end = table_of(other, "refused", [row("q", "z")])
    done = synced((account, "refused"), end, "--delete")
    assert (done.code, done.made, done.refused) == (ABANDONED, (2, 0, 1), 2)
    assert [line.partition(": ")[0] for line in done.says] == ["p/c#01.json", "p#2Fq/b.json"]
    assert [key_of(each) for each in rows_of(*end)] == [("p", "a"), ("q", "d")]


def test_what_to_refuses(account, other):
    rows = [row(f"p{n}", "r", A=n) for n in range(150)]
    begin, end = table_of(account, "away", rows), table_of(other, "stays", [row("z", "z")])
    done = synced(begin, end, "--delete", faults="fail=write:/2:400:InvalidInput,only=stays")
    assert done.code == ABANDONED and done.made[0] + done.refused == 150 and 0 < done.refused < 150
    assert len(done.says) == min(done.refused, 101) and all("/r.json: InvalidInput" in line for line in done.says[:100])
    assert len(rows_of(*end)) == 150 - done.refused + (done.made[2] == 0)
    assert synced(begin, end, "--delete").code == 0 and is_equal(begin, end)


@pytest.mark.asan
@pytest.mark.tsan
def test_a_row_that_cannot_be_read(service, sdk, account):
    """Nothing is replaced or deleted in its place."""
    spoiled = {"partitionKey": "p", "rowKey": "bad", "Spoil": '"n":1,"n":2'}
    sdk.create_table("spoiled", [{"partitionKey": "p", "rowKey": "good", "N": 1}, spoiled])
    here = [row("p", "bad", N=7), row("p", "good", N=2), row("p", "gone")]
    end = table_of(account, "clear", here)
    server = Spoiler(service)
    try:
        url = re.search("TableEndpoint=([^;]*)", server.credentials["AZURE_STORAGE_CONNECTION_STRING"])[1]
        words = [TABLEFUSE, "sync", "--delete"]
        env = environment(**server.credentials)
        done = run(*words, f"{url}/spoiled", source(*end), check=False, env=env)
        assert done.returncode == ABANDONED and rows_of(*end) == [row("p", "bad", N=7), row("p", "good", N=1)]
        assert done.stderr.startswith("tablefuse: p/bad.json: it cannot be compared, because it cannot be understood\n")
        done = synced((account, "clear"), (service, "spoiled"), path="other")
        assert (done.code, done.says) == (NOT_FOUND, ["other: no entity is in it on either side"])
        empty = table_of(account, "hollow", [row("p", "good", N=1)])
        done = run(*words, source(*empty), f"{url}/spoiled", check=False, env=env)
        assert done.returncode == ABANDONED and len(sdk.read("spoiled")) == 2
    finally:
        server.stop()


@pytest.mark.asan
@pytest.mark.tsan
def test_usage(account):
    where = source(account, "dates")
    for arguments, says in (
        ([], "no FROM/TABLE and TO/TABLE"),
        (["--delete=some", where, where], "--delete=some: expected all"),
        (["--delete", "--max-delete=x", where, where], "--max-delete x: expected a number"),
        (["--max-delete=1", where, where], "--max-delete needs --delete"),
        (["--json", where, where], "unknown option --json"),
    ):
        done = run(TABLEFUSE, "sync", *arguments, check=False)
        assert done.returncode == USAGE
        assert done.stderr.splitlines() == [f"tablefuse: sync: {says}", "try `tablefuse sync --help`"]


def test_no_place_for_the_keys(account, other):
    """They wait in a file before they are deleted."""
    begin, end = table_of(account, "placed", [row("p", "a")]), table_of(other, "placed", [row("p", "b")])
    env = environment(TMPDIR="/nowhere")
    done = run(TABLEFUSE, "sync", "--delete", source(*begin), source(*end), check=False, env=env)
    assert done.returncode == MOUNTING and len(rows_of(*end)) == 1
    assert done.stderr == (
        "tablefuse: cannot keep keys in /nowhere until they are deleted: No such file or directory -- set TMPDIR\n"
    )
    assert run(TABLEFUSE, "sync", source(*begin), source(*end), env=env).returncode == 0


def test_a_full_disk_keeps_from_deleting(account, other, small):
    disk = small("64K")
    begin = table_of(account, "full", [row("p", "a")])
    end = table_of(other, "full", [row("p", f"{n:0200}") for n in range(2000)])
    env = environment(TMPDIR=str(disk))
    done = run(TABLEFUSE, "sync", "--delete", source(*begin), source(*end), check=False, env=env)
    assert done.returncode == MOUNTING and "No space left on device -- set TMPDIR" in done.stderr
    assert len(rows_of(*end)) >= 2000
