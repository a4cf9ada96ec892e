"""`tablefuse export --format=csv`: whole tables as CSV with types, without a mount."""
import csv
import io
import json
import os
import signal
import subprocess

import pytest

import samples
from harness import ABANDONED, BOTH_SERVICES, CONFIGURATION, EXIT_SEC, FAULTY, MOUNTING, TABLEFUSE, USAGE
from harness import environment, run, wait_until
from test_export import dates, export, keys_of, refused, source, tablefuse

INTERRUPTED = 130
KEYS = ("PartitionKey", "RowKey")


def read_csv(text, **options):
    return list(csv.DictReader(io.StringIO(text, newline=""), strict=True, **options))


def exported(service, table, *arguments, **options):
    return export(service, table, "--format=csv", *arguments, **options)


class Number(str):
    """As it is spelled."""


def typed(line):
    """A line of JSON as its row of CSV has it: values as text, types without Edm."""
    members = json.loads(line, parse_float=Number, parse_int=Number)
    row = {}
    for name, value in members.items():
        if name in KEYS:
            row[name] = value
        elif not name.endswith("@odata.type"):
            implied = "Boolean" if isinstance(value, bool) else "Int32" if isinstance(value, Number) else "String"
            row[name] = str(value).lower() if isinstance(value, bool) else value
            row[f"{name}@type"] = members.get(f"{name}@odata.type", f"Edm.{implied}").removeprefix("Edm.")
    return row


def without_absent(row):
    """The empty value of a String has a type."""
    return {name: value for name, value in row.items() if name in KEYS or value or row.get(f"{name}@type")}


def test_every_type_and_key(service, sdk, tmp_path):
    rows = [{"partitionKey": key, "rowKey": key, "N": 1} for key in samples.KEYS]
    texts = ["", " a", "b ", '"', 'say "hi"', "a,b", "a\r\nb", "\n", "5", "true", "\u00e9\U0001f600", "\t"]
    rows += [{"partitionKey": "text", "rowKey": str(i), "Text": text} for i, text in enumerate(texts)]
    sdk.create_table("csvtypes", [*rows, {"partitionKey": "types", "rowKey": "r", **samples.ALL_TYPES}])
    lines = export(service, "csvtypes").splitlines()
    tablefuse(service, "export", "--format=csv", "--output", tmp_path / "file", source(service, "csvtypes"))
    rows_read = read_csv((tmp_path / "file").read_bytes().decode())
    assert [without_absent(row) for row in rows_read] == [typed(line) for line in lines]
    assert {row["rowKey"] for row in rows} | {"r"} == {key for _, key in keys_of(lines)}


@pytest.mark.parametrize("service", BOTH_SERVICES, indirect=True)
def test_a_large_table(service, dates):
    rows = read_csv(exported(service, dates))
    assert rows == [typed(line) for line in export(service, dates).splitlines()]
    named = exported(service, dates, "--columns=Size,Nothing", "--delimiter=tab")
    assert named.startswith("PartitionKey\tRowKey\tSize\tSize@type\tNothing\tNothing@type\n")
    assert read_csv(named, delimiter="\t") == [
        {**{name: row[name] for name in (*KEYS, "Size", "Size@type")}, "Nothing": "", "Nothing@type": ""} for row in rows
    ]


def test_as_storage_explorer_writes_it(service, sdk):
    sdk.create_table(
        "explorer",
        [
            {"partitionKey": "1", "rowKey": "a", "aggType": 2, "note": 'say "hi", you'},
            {"partitionKey": "1", "rowKey": "b", "aggType": 4},
        ],
    )
    assert exported(service, "explorer") == (
        "PartitionKey,RowKey,aggType,aggType@type,note,note@type\n"
        '1,a,2,Int32,"say ""hi"", you",String\n'
        "1,b,4,Int32,,\n"
    )
    assert exported(service, "explorer", "--columns", "RowKey,note", "--delimiter", ";", "--timestamp").startswith(
        "PartitionKey;RowKey;Timestamp;note;note@type\n1;a;2"
    )


def test_columns_that_come_late(service, sdk):
    """No row has all of them."""
    names = ["D", "B", "A", "C"]
    rows = [{"partitionKey": "p", "rowKey": f"{i:02}", names[i % 4]: i, names[i // 4 % 4]: ""} for i in range(40)]
    sdk.create_table("late", rows)
    text = exported(service, "late")
    assert text.startswith("PartitionKey,RowKey,D,D@type,B,B@type,A,A@type,C,C@type\np,00,")
    lines = export(service, "late").splitlines()
    assert [without_absent(row) for row in read_csv(text)] == [typed(line) for line in lines] and len(lines) == 40


@pytest.mark.asan
@pytest.mark.tsan
def test_keys_etags_and_timestamps(account):
    lines = [json.loads(line) for line in export(account, "dates", "--keys", "--timestamp").splitlines()]
    for row in lines:
        row["odata.select"] = "true"
    assert read_csv(exported(account, "dates", "--keys", "--timestamp")) == lines
    rows = read_csv(exported(account, "dates", "--etag"))
    assert [row["odata.etag"] for row in rows] == [line["odata.etag"] for line in lines]


def test_an_empty_table(account):
    account.write("nothing", [])
    assert exported(account, "nothing") == "PartitionKey,RowKey\n"
    assert exported(account, "nothing", "--columns=A") == "PartitionKey,RowKey,A,A@type\n"


@pytest.mark.asan
@pytest.mark.tsan
def test_what_csv_cannot_hold_is_left_out(mounts, account):
    mount = mounts(source=account.source)
    (mount / "halves/p").mkdir(parents=True)
    (mount / "halves/p/good.json").write_text('{"A": 1}')
    (mount / "halves/p/half.json").write_text('{"A": "\\ud83d"}')
    for words in ([], ["--columns=A"]):
        done = tablefuse(account, "export", "--quiet", "--format=csv", *words, source(account, "halves"), check=False)
        assert done.returncode == ABANDONED and [row["RowKey"] for row in read_csv(done.stdout)] == ["good"]
        assert done.stderr == (
            "tablefuse: left out, because CSV cannot hold half a surrogate: "
            '{"PartitionKey":"p","RowKey":"half","odata.select":true}\n'
        )


def test_too_many_columns(service, sdk):
    sdk.fill_table("wide", [{"partitionKey": "p", "rowKey": f"{i:05}", f"N{i}": i} for i in range(2050)])
    code, says = refused(service, "export", "--format=csv", source(service, "wide"))
    assert code == MOUNTING
    assert says.endswith("tablefuse: cannot write the output: too many columns -- name some by --columns, or write JSON\n")
    assert len(read_csv(exported(service, "wide", "--columns=N7"))) == 2050


@pytest.mark.parametrize("faults", ["fail=query:/3:503:ServerBusy", "short=900,empty=1,fail=query:/5:500:InternalError"])
def test_faults_lose_nothing(account, faults):
    assert exported(account, "dates", faults=faults) == exported(account, "dates")


def start(account, *arguments):
    return subprocess.Popen(
        [FAULTY, "export", "--format=csv", *arguments, source(account, "dates")],
        env=environment(TABLEFUSE_FAULTS="latency=10,short=100"), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
    )


def files_of(process):
    links = []
    for name in os.listdir(f"/proc/{process.pid}/fd"):
        try:
            links.append(os.readlink(f"/proc/{process.pid}/fd/{name}"))
        except FileNotFoundError:
            continue
    return links


@pytest.mark.asan
def test_rows_wait_in_a_file_without_a_name(account, tmp_path):
    """Beside FILE, else in TMPDIR."""
    file = tmp_path / "file"
    file.write_text("earlier\n")
    process = start(account, "--output", file)
    wait_until(lambda: any(link.startswith(f"{tmp_path}/") and "deleted" in link for link in files_of(process)))
    assert set(os.listdir(tmp_path)) == {"file", "file.partial"}
    process.send_signal(signal.SIGINT)
    says = process.communicate(timeout=EXIT_SEC)[1]
    assert process.returncode == INTERRUPTED and file.read_text() == "earlier\n"
    assert says.endswith(f"tablefuse: {file}.partial is not whole -- remove it, or export again\n")
    tablefuse(account, "export", "--format=csv", "--output", file, source(account, "dates"))
    assert file.read_text() == exported(account, "dates") and os.listdir(tmp_path) == ["file"]


@pytest.mark.asan
@pytest.mark.tsan
def test_no_place_for_rows_that_wait(account, tmp_path):
    env = environment(TMPDIR=str(tmp_path / "no"))
    done = run(TABLEFUSE, "export", "--format=csv", source(account, "dates"), env=env, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (
        MOUNTING,
        "",
        f"tablefuse: cannot keep the rows in {tmp_path}/no until all columns are known: No such file or directory -- "
        "name the columns by --columns, or set TMPDIR\n",
    )
    named = run(TABLEFUSE, "export", "--quiet", "--format=csv", "--columns=Size", source(account, "dates"), env=env)
    assert named.stdout == exported(account, "dates", "--columns=Size")


def test_rows_that_wait_find_no_room_beside_their_file(account, small):
    """They do not wait in TMPDIR then."""
    directory = small("16K")
    done = run(
        TABLEFUSE, "export", "--quiet", "--format=csv", "--output", directory / "f", source(account, "dates"), check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (
        MOUNTING,
        "",
        f"tablefuse: cannot keep the rows in {directory} until all columns are known: No space left on device -- "
        f"name the columns by --columns, or make room there\ntablefuse: {directory}/f.partial is not whole -- remove it, "
        "or export again\n",
    )


@pytest.mark.asan
def test_outputs_that_fail(account):
    for words in ("", "--columns=Size"):
        command = f'"$0" export --format=csv {words} "$1"'
        full = run("bash", "-c", f"{command} >/dev/full", TABLEFUSE, source(account, "dates"), check=False)
        assert full.returncode == MOUNTING
        assert full.stderr.endswith("tablefuse: cannot write the output: No space left on device\n")
        early = run("bash", "-c", command + " | head -n 1; echo ${PIPESTATUS[0]}", TABLEFUSE, source(account, "dates"))
        assert early.stdout.splitlines()[1:] == [str(128 + signal.SIGPIPE)] and early.stderr == ""


@pytest.mark.asan
@pytest.mark.tsan
def test_options(account, tmp_path):
    where = source(account, "dates")
    for words, says in (
        (["--format=xml"], "--format=xml: expected json or csv"),
        (["--columns=A"], "--columns and --delimiter need --format=csv"),
        (["--delimiter=;"], "--columns and --delimiter need --format=csv"),
        (["--format=csv", "--delimiter=ab"], "--delimiter=ab: expected , ; | or tab"),
        (["--format=csv", '--delimiter="'], '--delimiter=": expected , ; | or tab'),
        (["--format=csv", "--delimiter="], "--delimiter=: expected , ; | or tab"),
        (["--format=csv", "--columns=" + ",".join(f"N{i}" for i in range(2046))], "--columns: too many names for CSV"),
        *(
            (
                ["--format=csv", f"--columns={names}"],
                f"--columns={names}: expected different names of properties, for example Name,Count",
            )
            for names in ("", "A,", "A,B,A", "Timestamp", "A b")
        ),
    ):
        code, lines = refused(account, "export", *words, where)
        assert (code, lines.splitlines()[0]) == (USAGE, f"tablefuse: export: {says}")
    again = refused(account, "export", "--format=csv", "--output", tmp_path / "file", "--resume", where)
    assert again == (
        CONFIGURATION, "tablefuse: export: --resume cannot go on with CSV -- leave it out, or write JSON\n"
    )
    assert os.listdir(tmp_path) == []
    assert export(account, "dates", "--format=json") == export(account, "dates")
