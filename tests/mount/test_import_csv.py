"""`tablefuse import --format=csv`: CSV is stored, and what was exported as CSV is the same again."""
import pytest

import samples
from harness import ABANDONED, BOTH_SERVICES, USAGE
from importing import imported, row, rows_of
from test_export import export, refused, source, tablefuse

TEXTS = ["", " a", "b ", '"', 'say "hi"', "a,b", "a;b", "a\r\nb", "\n", "5", "true", "\u00e9\U0001f600", "\t", "\u0001"]


def exported(service, table, file, *arguments):
    tablefuse(service, "export", "--quiet", "--format=csv", "--output", file, *arguments, source(service, table))
    return file.read_bytes()


@pytest.mark.parametrize("service", BOTH_SERVICES, indirect=True)
def test_a_large_table_there_and_back(service, tmp_path):
    service.fill("ten", "ten", "2500")  # more than a page, of few partitions: Azurite takes a batch for each
    csv = exported(service, "ten", tmp_path / "file", "--timestamp")
    done = imported(service, "back", csv, "--format=csv", "--create")
    assert done.counts == (0, 2500, 2500, 0)
    assert export(service, "back") == export(service, "ten")
    assert imported(service, "back", csv, "--format=csv", "--mode=insert").counts == (0, 2500, 2500, 0)


@pytest.mark.asan("tab")
@pytest.mark.tsan("|")
@pytest.mark.parametrize("delimiter", [",", ";", "|", "tab"])
def test_every_type_and_key_there_and_back(service, sdk, account, tmp_path, delimiter):
    """From the service into the service, and over a file."""
    name = f"types{',;|t'.index(delimiter[0])}"
    rows = [{"partitionKey": key, "rowKey": key, "N": 1} for key in samples.KEYS]
    rows += [{"partitionKey": "text", "rowKey": str(i), "Text": text} for i, text in enumerate(TEXTS)]
    sdk.create_table(name, [*rows, {"partitionKey": "types", "rowKey": "r", **samples.ALL_TYPES}])
    words = [f"--delimiter={delimiter}"]
    csv = exported(service, name, tmp_path / "file", *words)
    done = imported(service, f"{name}back", csv, "--format=csv", "--create", *words)
    assert (done.code, done.stored, done.refused) == (0, len(rows) + 1, 0)
    assert export(service, f"{name}back") == export(service, name)
    assert imported(account, name, csv, "--format=csv", "--create", *words).code == 0
    again = exported(account, name, tmp_path / "again", *words)
    assert imported(service, f"{name}again", again, "--format=csv", "--create", *words).code == 0
    assert export(service, f"{name}again") == export(service, name)


@pytest.mark.asan
@pytest.mark.tsan
def test_as_storage_explorer_writes_it(service):
    text = (
        "\ufeffPartitionKey,RowKey,Timestamp,aggType,aggType@type,note,note@type\r\n"
        '1,a,2024-01-02T03:04:05.678Z,2,Int32,"say ""hi"", you",String\r\n'
        "1,b,2024-01-02T03:04:05.678Z,4,,,\r\n"
        "1,c,,,,,String\r\n"
    )
    assert imported(service, "explorer", text.encode(), "--format=csv", "--create").counts == (0, 3, 3, 0)
    assert rows_of(service, "explorer") == [
        row("1", "a", aggType=2, note='say "hi", you'),
        row("1", "b", aggType=4),
        row("1", "c", note=""),
    ]


@pytest.mark.asan
@pytest.mark.tsan
def test_without_types(account):
    text = "RowKey,I,L,D,B,T,S,E\n1,5,3000000000,1.5,TRUE,2024-01-02,007,\n"
    assert imported(account, "plain", text, "--format=csv", "--create", partition="p").code == 0
    assert imported(account, "looks", text, "--format=csv", "--infer", "--create", partition="p").code == 0
    given = {"I": "5", "L": "3000000000", "D": "1.5", "B": "TRUE", "T": "2024-01-02", "S": "007"}
    assert rows_of(account, "plain") == [row("p", "1", **given)]
    types = {"D@odata.type": "Edm.Double", "L@odata.type": "Edm.Int64", "T@odata.type": "Edm.DateTime"}
    expected = {**types, "I": 5, "L": "3000000000", "D": 1.5, "B": True, "T": "2024-01-02T00:00:00Z", "S": "007"}
    assert rows_of(account, "looks") == [row("p", "1", **expected)]


@pytest.mark.asan
@pytest.mark.tsan
def test_refused_rows(account, tmp_path):
    text = (
        "PartitionKey,RowKey,A,A@type\n"
        "p,1,x,Int32\n"
        'p,2,5" disk,String\n'
        "p,3\n"
        "p,4,ok,String\n"
        "p/q,5,ok,String\n"
        'p,6,"open,String\n'
    )
    done = imported(account, "refused", text, "--format=csv", "--create", f"--refused={tmp_path / 'refused'}")
    assert done.counts == (ABANDONED, 6, 1, 5)
    assert done.lines == [
        'line 2: A: an Edm.Int32 that is not a number: "x"',
        "line 3, column 6: a quote where none can be, or text after one",
        "line 4, column 1: another number of values than of columns",
        "line 6: a key with one of / \\ # ? or a control character",
        "line 7, column 1: the input ends before a quote of this row is closed",
    ]
    assert (tmp_path / "refused").read_text().splitlines() == [
        '{"PartitionKey":"p","RowKey":"1","A@odata.type":"Edm.Int32","A":"x"}',
        r'"p,2,5\" disk,String"',
        '"p,3"',
        '{"PartitionKey":"p/q","RowKey":"5","A@odata.type":"Edm.String","A":"ok"}',
        r'"p,6,\"open,String"',
    ]
    again = imported(account, "refused", (tmp_path / "refused").read_text())
    assert again.counts == (ABANDONED, 5, 0, 5) and again.lines[1] == "line 2, column 1: not a JSON object"
    assert rows_of(account, "refused") == [row("p", "4", A="ok")]


@pytest.mark.asan
@pytest.mark.tsan
def test_keys_in_any_case(account):
    """As people write them, and Storage Explorer takes them."""
    done = imported(account, "cases", "rowkey,Partitionkey,A\n1,p,x\n", "--format=csv", "--create")
    assert (done.code, rows_of(account, "cases")) == (0, [row("p", "1", A="x")])
    done = imported(account, "cases", "ROWKEY,A\n1,y\n", "--format=csv", partition="q")
    assert (done.code, rows_of(account, "cases")) == (0, [row("p", "1", A="x"), row("q", "1", A="y")])
    text = export(account, "cases", "--format=csv")
    assert text.startswith("PartitionKey,RowKey,A,")


@pytest.mark.asan
def test_no_csv(account):
    for text, says in (
        ("A,B\n1,2\n", "line 1, column 1: no column RowKey in the first row"),
        ("A,ROWKEY\n1,2\n", "line 1, column 1: no column PartitionKey in the first row"),
        ('{"RowKey":"r"}\n', "line 1, column 2: a quote where none can be, or text after one"),
        (
            'PartitionKey,RowKey\np,"' + "x" * (9 << 20),
            "line 2, column 1: a row of more than 8 MiB: perhaps a quote is not closed",
        ),
    ):
        done = imported(account, "no", text, "--format=csv", "--dry-run")
        assert (done.code, done.lines, done.stored) == (ABANDONED, [f"{says} -- what follows is not read"], 0)
    assert imported(account, "no", "", "--format=csv", "--dry-run").counts == (0, 0, 0, 0)


@pytest.mark.asan
def test_keys_alone_delete_and_do_not_replace(account, tmp_path):
    account.fill("keys", "dates", "100")
    keys = exported(account, "keys", tmp_path / "keys", "--keys")
    assert imported(account, "keys", keys, "--format=csv").counts == (ABANDONED, 100, 0, 100)
    assert len(rows_of(account, "keys")) == 100
    assert imported(account, "keys", keys, "--format=csv", "--mode=delete").counts == (0, 100, 100, 0)
    assert rows_of(account, "keys") == []


@pytest.mark.asan
def test_options(account):
    for words, says in (
        (["--format=xml"], "--format=xml: expected json or csv"),
        (["--infer"], "--delimiter and --infer need --format=csv"),
        (["--delimiter=;"], "--delimiter and --infer need --format=csv"),
        (["--format=csv", "--delimiter=x"], "--delimiter=x: expected , ; | or tab"),
    ):
        code, lines = refused(account, "import", *words, source(account, "any"))
        assert (code, lines.splitlines()[0]) == (USAGE, f"tablefuse: import: {says}")
