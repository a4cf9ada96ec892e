"""`tablefuse import`: objects on standard input become entities, without a mount."""
import json
import os
import random
import re
import subprocess

import pytest

import samples
from expected import entities_of, utf16_order
from harness import ABANDONED, BOTH_SERVICES, COMMAND_SEC, MOUNTING, NETWORK, NOT_FOUND, TABLEFUSE, USAGE
from harness import environment, run
from importing import command, imported, lines_of, row, rows_of
from terminal import at_terminal
from test_export import export, refused, source, tablefuse, untyped

BY_INPUT = "standard input is read -- `tablefuse import SOURCE/TABLE < FILE`"


def sorted_rows(rows):
    return sorted(rows, key=lambda each: (utf16_order(each["PartitionKey"]), utf16_order(each["RowKey"])))


@pytest.mark.asan("local")
@pytest.mark.tsan("local")
@pytest.mark.parametrize("service", BOTH_SERVICES, indirect=True)
def test_an_export_of_an_import_is_the_same(service, stored):
    service.fill("ten", "ten", "2500")  # more than a page, of few partitions: Azurite takes a batch for each
    text = export(service, "ten")
    assert imported(service, "copy", text, "--create").counts == (0, 2500, 2500, 0)
    assert export(service, "copy") == text
    assert untyped(stored("copy")) == untyped(entities_of(text.splitlines(keepends=True)))
    etags = export(service, "copy", "--etag")
    assert imported(service, "copy", etags).counts == (0, 2500, 2500, 0)  # replaces these versions
    assert export(service, "copy") == text
    assert imported(service, "copy", etags).counts == (0, 2500, 2500, 0)  # which have their texts already


def test_all_types_and_awkward_keys(service, sdk, account):
    rows = [{"partitionKey": key, "rowKey": key, "N": 1} for key in samples.KEYS]
    sdk.create_table("awkward", [*rows, {"partitionKey": "types", "rowKey": "r", **samples.ALL_TYPES}])
    text = export(service, "awkward")
    n = len(rows) + 1
    assert imported(service, "again", text, "--create").counts == (0, n, n, 0)
    assert export(service, "again") == text
    assert meanings(sdk, "again") == meanings(sdk, "awkward")
    assert imported(account, "awkward", text, "--create").counts == (0, n, n, 0)
    assert imported(service, "back", export(account, "awkward"), "--create").counts == (0, n, n, 0)
    assert meanings(sdk, "back") == meanings(sdk, "awkward")


def meaning(value):
    """Of what the SDK answers, whose spelling is the writer's."""
    if not isinstance(value, dict):
        return value
    kind, text = value["type"], value["value"]
    if kind == "DateTime":
        return kind, re.sub(r"\.?0*Z$", "", text) if "." in text else text[:-1]
    return kind, float(text) if kind == "Double" else text.lower() if kind == "Guid" else text


def meanings(sdk, table):
    def members_of(entity):
        return {name: str(meaning(value)) for name, value in entity.items() if name not in ("etag", "timestamp")}

    return [members_of(entity) for entity in sdk.read(table)]


@pytest.mark.parametrize("service", BOTH_SERVICES, indirect=True)
def test_modes(service):
    first = [row("p", "a", A=1, B="x"), row("p", "b", A=2)]
    assert imported(service, "modes", first, "--create").counts == (0, 2, 2, 0)
    assert imported(service, "modes", [row("p", "a", A=3)], "--mode=merge").counts == (0, 1, 1, 0)
    assert rows_of(service, "modes") == [row("p", "a", A=3, B="x"), row("p", "b", A=2)]
    assert imported(service, "modes", [row("p", "a", C=True)]).counts == (0, 1, 1, 0)
    assert rows_of(service, "modes") == [row("p", "a", C=True), row("p", "b", A=2)]
    some = [row("p", "a", C=True), row("p", "b", A=5), row("p", "c", A=6)]
    done = imported(service, "modes", some, "--mode=insert")
    assert done.counts == (ABANDONED, 3, 2, 1)
    assert done.lines == ["line 2: it exists, with another text"]
    assert rows_of(service, "modes") == [row("p", "a", C=True), row("p", "b", A=2), row("p", "c", A=6)]
    keys = export(service, "modes", "--keys").splitlines()
    assert imported(service, "modes", [row("p", "b", A=7)]).counts == (0, 1, 1, 0)
    done = imported(service, "modes", "\n".join(keys), "--mode=delete")
    assert done.counts == (ABANDONED, 3, 2, 1)
    assert done.lines == ["line 2: another client has changed the entity since it was shown: it is not deleted"]
    assert rows_of(service, "modes") == [row("p", "b", A=7)]
    assert imported(service, "modes", "\n".join(keys), "--mode=delete", "--any-version").counts[0] == ABANDONED
    assert imported(service, "modes", [row("p", "b")], "--mode=delete").counts == (ABANDONED, 1, 0, 1)
    for _ in range(2):  # the second time there is nothing
        assert imported(service, "modes", [row("p", "b")], "--mode=delete", "--any-version").counts == (0, 1, 1, 0)
    assert rows_of(service, "modes") == []


@pytest.mark.asan("local")
@pytest.mark.parametrize("service", BOTH_SERVICES, indirect=True)
def test_lines_of_keys_are_for_delete_alone(service):
    """A merge would change nothing but the version. An object without properties makes an entity that is missing."""
    assert imported(service, "keys", [row("p", "a", A=1)], "--create").code == 0
    etags, keys = export(service, "keys", "--etag"), export(service, "keys", "--keys")
    for mode in ("replace", "merge", "insert"):
        assert imported(service, "keys", keys, f"--mode={mode}").counts == (ABANDONED, 1, 0, 1)
    assert export(service, "keys", "--etag") == etags
    assert imported(service, "keys", [row("p", "b")], "--mode=merge").counts == (0, 1, 1, 0)
    assert rows_of(service, "keys") == [row("p", "a", A=1), row("p", "b")]


@pytest.mark.parametrize("service", BOTH_SERVICES, indirect=True)
def test_versions(service):
    """A change of a version that is there no more is refused; the same text counts as stored."""
    assert imported(service, "versions", [row("p", str(n), A=n) for n in range(3)], "--create").code == 0
    old = [json.loads(line) for line in export(service, "versions", "--etag").splitlines()]
    assert imported(service, "versions", [row("p", "1", A=7, B=8)]).code == 0
    assert imported(service, "versions", [row("p", "2")], "--mode=delete", "--any-version").code == 0
    for mode in ("replace", "merge"):
        done = imported(service, "versions", [each | {"A": 9} for each in old], f"--mode={mode}")
        assert done.lines == [
            "line 2: another client has changed the entity since it was read",
            "line 3: another client has deleted the entity",
        ]
        assert done.counts == (ABANDONED, 3, 1, 2)  # row 0, which has its text already when it is merged
    assert rows_of(service, "versions") == [row("p", "0", A=9), row("p", "1", A=7, B=8)]
    assert imported(service, "versions", [old[1] | {"A": 7}], "--mode=merge").counts == (0, 1, 1, 0)
    done = imported(service, "versions", [old[0]], "--mode=insert")
    assert done.lines == ["line 1, column 1: odata.etag names a version, and insert changes none"]


@pytest.mark.asan
@pytest.mark.tsan
def test_a_partition_counts_for_all(service, account):
    for where in (account, service):
        rows = [row("other", "a", A=1), {"RowKey": "b"}]
        assert imported(where, "partition", rows, "--create", partition="#2Ehere").counts == (0, 2, 2, 0)
        assert rows_of(where, "partition") == [row(".here", "a", A=1), row(".here", "b")]
    for path in ("Ne+", "p/a+", "p/r.json", ".tablefuse"):
        done = imported(account, "partition", rows, partition=path)
        assert done.code == NOT_FOUND and done.lines[0].startswith(f"{path}: it is ")


@pytest.mark.asan
@pytest.mark.tsan
def test_forms_of_input(account):
    """One object on each line or over several, in arrays, after a byte order mark, with CRLF."""
    rows = [row("p", str(n), A=n) for n in range(5)]
    indented = "".join(json.dumps(each, indent=2) + "\n" for each in rows)
    forms = [
        lines_of(rows),
        lines_of(rows).rstrip(),
        indented,
        json.dumps(rows),
        json.dumps(rows, indent=1) + json.dumps(rows[:2]),
        " ".join(map(json.dumps, rows)),
        "\ufeff" + lines_of(rows),
        indented.replace("\n", "\r\n"),
    ]
    answer = {"odata.metadata": "http://host/$metadata#form", "value": [{"odata.etag": 'W/"1"', **each} for each in rows]}
    listed = [{"Timestamp": "2024-01-02T03:04:05Z", "etag": 'W/"1"', **each} for each in rows]
    forms += [json.dumps(answer), json.dumps({"items": listed, "nextMarker": {"nextpartitionkey": "q"}}, indent=2)]
    for n, text in enumerate(forms):
        done = imported(account, f"form{n}", text, "--create")
        assert (done.code, done.refused) == (0, 0), done
        assert rows_of(account, f"form{n}") == rows
    assert imported(account, "empty", "", "--create").counts == (0, 0, 0, 0)


@pytest.mark.asan
@pytest.mark.tsan
def test_bad_objects_are_refused_and_kept(account, tmp_path):
    good = [row("p", str(n), A=n) for n in range(4)]
    bad = [
        ('{"PartitionKey": "p"}', "line 2, column 1: no RowKey that is a string"),
        ('{"RowKey": "r", "PartitionKey": 5}', "line 3, column 1: no PartitionKey that is a string"),
        ('{"PartitionKey": "p", "RowKey": "r", "N": [1]}', "line 4, column 43: an object or array as a property's value: [1]}"),
        (
            '{"PartitionKey": "p", "RowKey": "r", "N@odata.type": "Edm.Int32",\n "N": 3000000000}',
            "line 6, column 7: N: no integer of 32 bits: 3000000000",
        ),
        ('{"PartitionKey": "p", "RowKey": "a/b"}', None),
        ('{"PartitionKey": "p", "RowKey": "r", "odata.select": true}', None),
        ('{"PartitionKey": "p", "RowKey": "r", "odata.etag": "x\\r\\nHost: y"}', "line 9, column 1: odata.etag is no ETag"),
        ("17", "line 10, column 1: not a JSON object"),
        ('{"PartitionKey": "p", "RowKey"', None),
    ]
    text = lines_of([good[0]])
    text += "".join(f"{each}\n" for each, _ in bad[:4])
    text += "".join(f"{each}\n" for each, _ in bad[4:]) + lines_of(good[1:])
    file = tmp_path / "refused"
    done = imported(account, "bad", text, "--create", f"--refused={file}")
    assert done.counts == (ABANDONED, 13, 4, 9), done
    assert rows_of(account, "bad") == good
    assert file.read_text() == "".join(f"{each}\n" for each, _ in bad)
    for line, (_, expected) in zip(done.lines, bad):
        assert expected is None or line == expected
        assert re.match(r"line \d+, column \d+: ", line)
    again = tmp_path / "again"
    again.touch()
    assert imported(account, "bad", text, "--dry-run", f"--refused={again}").counts == (ABANDONED, 13, 4, 9)
    assert again.read_text() == file.read_text()


def test_a_file_for_refused_objects_is_never_emptied(account, tmp_path):
    """It may be the input, also in a pipe, or the account."""
    file, made = tmp_path / "refused", tmp_path / "made"
    file.write_text("17\n")
    done = run("bash", "-c", f"echo '{lines_of([row('p', 'r')])[:-1]}' | {TABLEFUSE} import --create local:{made}/first")
    before = made.read_bytes()
    for name, where in ((file, source(account, "dates")), (made, f"local:{made}/first")):
        words = f"cat {file} | {TABLEFUSE} import --refused={name} {where}"
        done = run("bash", "-c", words, check=False)
        assert done.stderr == f"tablefuse: cannot write {name}: it is not empty: remove it or name another one\n"
        assert done.returncode == MOUNTING
    assert (file.read_text(), made.read_bytes()) == ("17\n", before)


@pytest.mark.asan
@pytest.mark.tsan
def test_what_the_service_refuses_is_kept(service, tmp_path):
    """The file can be imported again, when the cause is gone."""
    rows = [row("p", str(n), A=n, **{"B@odata.type": "Edm.Int64", "B": str(n)}) for n in range(300)]
    assert imported(service, "kept", rows[::30], "--create").code == 0
    theirs = [each | {"A": -1} for each in rows]
    file = tmp_path / "refused"
    done = imported(service, "kept", theirs, "--mode=insert", f"--refused={file}")
    assert done.counts == (ABANDONED, 300, 290, 10)
    assert sorted(done.lines) == sorted(f"line {n + 1}: it exists, with another text" for n in range(0, 300, 30))
    assert sorted_rows(map(json.loads, file.read_text().splitlines())) == sorted_rows(theirs[::30])
    assert imported(service, "kept", file.read_text()).counts == (0, 10, 10, 0)
    assert sorted_rows(rows_of(service, "kept")) == sorted_rows(theirs)


@pytest.mark.asan
@pytest.mark.tsan
def test_a_wrong_file_ends_the_import(account):
    done = imported(account, "wrong", "".join(f"{n},a,b\n" for n in range(10000)), "--create")
    assert (done.code, done.stored) == (ABANDONED, 0)
    done = imported(account, "wrong", "".join(f"{n}\n" for n in range(10000)), "--create")
    assert done.counts == (ABANDONED, 100, 0, 100)
    assert done.lines[-1] == (
        "100 objects were refused before one was stored, so the rest is not read -- is it the right input?"
    )
    rows = [row("p", "first")] + [f"{n}\n" for n in range(200)] + [row("p", "last")]
    assert imported(account, "wrong", rows).counts == (ABANDONED, 202, 2, 200)  # it is a right one
    broken = imported(account, "wrong", json.dumps([row("p", "a"), row("p", "b")])[:-3] + " x}]")
    assert (broken.code, broken.stored) == (ABANDONED, 1)
    assert re.fullmatch(r"line 1, column \d+: .* -- what follows is not read", broken.lines[-1])


def test_many_rows_that_are_there_do_not_end_the_import(account):
    """It can be run again, also where each batch that is answered first has a row with another text."""
    first = [row(f"p{p:03}", str(n), A=-1) for p in range(20) for n in range(5)]
    assert imported(account, "there", first, "--create").code == 0
    rows = [row(f"p{p:03}", str(n), A=n) for p in range(20) for n in range(5)]
    rows += [row(f"q{n // 5:03}", str(n), A=n) for n in range(2000)]
    for stored in (2000, 2000):  # the second time all 2,000 are there
        assert imported(account, "there", rows, "--mode=insert").counts == (ABANDONED, 2100, stored, 100)
    text = "".join(f"{n}\n" for n in range(99)) + lines_of(rows[:100])
    assert imported(account, "there", text, "--mode=insert").counts == (ABANDONED, 199, 0, 199)


@pytest.mark.asan
@pytest.mark.tsan
def test_a_wrong_file_that_the_service_refuses(account):
    """Also where all of it was read before the first answer: then all of it is sent."""
    faults = "fail=batch:*:400:InvalidInput,fail=write:*:400:InvalidInput"
    rows = [row(f"p{n}", "r", A=n) for n in range(300)]
    done = imported(account, "refusing", rows, "--create", faults=faults)
    assert done.counts == (ABANDONED, 300, 0, 300) and done.left == 0


@pytest.mark.asan
@pytest.mark.tsan
def test_notes(account):
    rows = [row("p", "r", **{"A@odata.type": "Edm.Int64"})]
    done = imported(account, "notes", rows, "--create")
    assert done.counts == (0, 1, 1, 0)
    assert done.lines == [
        "line 1, column 38: A@odata.type: a type without its property is dropped (the entity is taken)"
    ]
    noted = [row("p", str(n), **{"A@odata.type": "Edm.Int64"}) for n in range(150)]
    done = imported(account, "notes", [*noted, row("p", "a"), *["17\n"] * 101])
    assert done.counts == (ABANDONED, 252, 151, 101) and len(done.lines) == 202
    assert done.lines[100] == "more notes are not shown" and done.lines[201] == "more refused objects are not shown"


@pytest.mark.asan
@pytest.mark.tsan
def test_the_later_object_counts(service, account):
    """One key many times, in random order, in each mode."""
    chance = random.Random(7)
    for where, times in ((account, 3000), (service, 600)):
        for mode in ("replace", "merge"):
            rows = [
                row("p", str(chance.randrange(7)), **{f"M{chance.randrange(3)}": n, "last": n}) for n in range(times)
            ]
            expected = {}
            for each in rows:
                before = expected.get(each["RowKey"], {}) if mode == "merge" else {}
                expected[each["RowKey"]] = {**before, **each}
            table = f"later{mode}"
            assert imported(where, table, rows, "--create", f"--mode={mode}").counts == (0, times, times, 0)
            assert sorted_rows(rows_of(where, table)) == sorted_rows(expected.values())


def test_requests(account, tmp_path):
    """Input that is sorted by partition: a request for 100 rows; in random order as few as memory allows."""
    chance = random.Random(3)
    rows = [row(f"p{n // 150:03}", f"{n % 150:03}", A=n) for n in range(6000)]
    for table, wanted in (("inorder", 80), ("random", 80)):
        file = tmp_path / table
        file.write_text(lines_of(rows if table == "inorder" else chance.sample(rows, len(rows))))
        with open(file, "rb") as given:
            done = imported(account, table, given, "--create")
        assert done.counts == (0, 6000, 6000, 0)
        assert wanted <= done.requests <= wanted + 20
        assert rows_of(account, table) == rows


def test_memory_does_not_grow(account, tmp_path):
    """Inputs that are larger than the memory: 20,000 partitions of one row each, and rows of 480 KB."""
    limit, partitions, rows = 130 << 10, 20000, 300  # kB
    many, large = tmp_path / "many", tmp_path / "large"
    keys = [n * 7919 % partitions for n in range(partitions)]
    many.write_text("".join(f'{{"PartitionKey":"{key}","RowKey":"","A":"{"x" * 7000}"}}\n' for key in keys))
    members = {f"A{n}": "x" * 32000 for n in range(15)}
    large.write_text(lines_of(row(str(n % 3), str(n), **members) for n in range(rows)))
    for file, arguments in ((many, ["--dry-run"]), (many, []), (large, [])):
        words, env, where = command(account, f"table{file.name}", "--quiet", "--create", *arguments)
        limited = ["bash", "-c", f'ulimit -d {limit} && exec "$@"', "bash", *words, where]
        with open(file, "rb") as given:
            done = subprocess.run(limited, env=env, stdin=given, stderr=subprocess.PIPE, timeout=COMMAND_SEC, check=False)
        assert (done.returncode, done.stderr) == (0, b"")
    assert len(rows_of(account, "tablelarge")) == rows
    counted = tablefuse(account, "count", source(account, "tablemany")).stdout
    assert counted == f"entities {partitions}\npartitions {partitions}\n"


@pytest.mark.asan
@pytest.mark.tsan
def test_inputs_that_fail(account, tmp_path):
    words, env, where = command(account, "dates")
    with open(os.devnull, "rb") as empty:
        assert imported(account, "dates", empty).counts == (0, 0, 0, 0)
    directory = os.open(tmp_path, os.O_RDONLY)
    done = subprocess.run([*words, where], env=env, stdin=directory, capture_output=True, text=True, check=False)
    os.close(directory)
    assert (done.returncode, done.stderr) == (MOUNTING, "tablefuse: cannot read standard input: Is a directory\n")
    full = imported(account, "dates", "17\n" * 50, "--refused=/dev/full")
    assert full.code == MOUNTING and full.lines[-1] == "cannot write /dev/full: No space left on device"
    missing = imported(account, "dates", "17\n", f"--refused={tmp_path}/no/file")
    assert missing.code == MOUNTING and "No such file or directory" in missing.lines[-1]


def test_an_account_may_have_the_name_of_a_file(tmp_path):
    """It is one word, so the file is none that another program would take: the account is asked, here through no proxy."""
    (tmp_path / "someaccount").touch()
    env = environment(AZURE_STORAGE_KEY="AAAA", https_proxy="http://127.0.0.1:1")
    done = run(TABLEFUSE, "import", "someaccount", "-o", "table=words,timeout=1", check=False, cwd=tmp_path, env=env)
    assert done.returncode == NETWORK and "account someaccount at https://someaccount.table" in done.stderr


@pytest.mark.asan
@pytest.mark.tsan
def test_sources_and_options(account, scratch, tmp_path):
    where = source(account, "dates")
    for arguments, says in (
        (["import"], "import: no SOURCE/TABLE to import"),
        (["import", "--mode=upsert", where], "import: --mode=upsert: expected replace, merge, insert or delete"),
        (["import", "--any-version", where], "import: --any-version needs --mode=delete"),
        (["import", where, "a", "b"], "import: unexpected operand b after SOURCE/TABLE and PARTITION"),
        (["import", "--refused=", where], "import: --refused needs the name of a file"),
        (["import", account.source], "import: SOURCE names no table: write SOURCE/TABLE"),
        *(
            (["import", *operands], f"import: unexpected file {__file__}: {BY_INPUT}")
            for operands in ([__file__, where], [__file__], [where, __file__])
        ),
        (["import", "--create", f"local:{tmp_path}/none"], "import: SOURCE names no table: write SOURCE/TABLE"),
        (["import", "--create", f"local:{tmp_path}/none/t", ""], "import: PARTITION is empty: the empty key is spelled #00"),
    ):
        code, lines = refused(account, *arguments)
        assert (code, lines.splitlines()[0]) == (USAGE, f"tablefuse: {says}")
    assert os.listdir(tmp_path) == []
    done = imported(account, "empty", [row("p", "r")], "--create", partition="#00")
    assert (done.code, rows_of(account, "empty")) == (0, [row("", "r")])
    done = imported(account, "nothing", [row("p", "r")])
    assert done.code == NOT_FOUND and "has no table nothing" in done.says
    made = tmp_path / "made"
    for where in (f"local:{made}/fresh", f"local:{made}/second"):
        done = run("bash", "-c", f"echo '{lines_of([row('p', 'r')])[:-1]}' | {TABLEFUSE} import --create {where}")
        assert "1 stored" in done.stderr
    assert tablefuse(account, "tables", f"local:{made}").stdout == "fresh\nsecond\n"
    for name, says in (("other/table", "No such file or directory -- check the name; "), ("other/file/table", "the directory of ")):
        done = run(TABLEFUSE, "import", f"local:{tmp_path}/{name}", check=False)
        assert done.returncode == NOT_FOUND and os.listdir(tmp_path) == ["made"]
        assert done.stderr.startswith(f"tablefuse: local:{tmp_path}/{name}: {says}")


def import_at_terminal(file, words, env, where):
    with open(file, "rb") as given:
        return at_terminal(lambda terminal: subprocess.Popen([*words, where], env=env, stdin=given, stderr=terminal))


@pytest.mark.asan
@pytest.mark.tsan
def test_messages_at_a_terminal(account, tmp_path):
    """Each takes the place of the line that shows the progress."""
    file = tmp_path / "rows"
    file.write_text("17\n" + lines_of(row(str(n), "r") for n in range(100)))
    code, says = import_at_terminal(file, *command(account, "dates", "-o", "timeout=2", faults="fail=batch:*:0:,fail=write:*:0:"))
    assert code != 0 and "\r1 rows, " in says
    seen = [line.split("\r\x1b[K")[-1] for line in says.split("\n")[:-1]]
    forms = [
        "tablefuse: line 1, column 1: not a JSON object",
        r"20\S+Z tablefuse: \S+: the service is down, .*: the connection was reset",
        r"tablefuse: 101 objects read, 0 stored, 1 refused, 100 not sent or not answered, \d+ requests, .*",
        "tablefuse: .*: the connection was reset",
    ]
    assert len(seen) == len(forms) and all(map(re.fullmatch, forms, seen)), seen


def test_progress_at_a_terminal(account, tmp_path):
    """One line that is written anew, narrower than 80 columns, with the share and the time left."""
    file = tmp_path / "rows"
    file.write_text(lines_of(row(str(n), "r", A="x" * 1000) for n in range(5000)))
    code, says = import_at_terminal(file, *command(account, "shown", "--create", faults="latency=20"))
    *shown, last = says.split("\r")
    assert code == 0
    assert last.startswith("\x1b[Ktablefuse: 5,000 objects read, 5,000 stored, 0 refused, ")
    lines = [line.removesuffix("\x1b[K") for line in shown if line]
    assert lines and max(map(len, lines)) < 80
    form = re.compile(r"[\d,]+ rows, [\d,]+/s(, [\d.]+ .?B)?, \d+:\d\d(, \d+ %, \d+:\d\d left)?(, throttled)?")
    assert all(map(form.fullmatch, lines)), lines
