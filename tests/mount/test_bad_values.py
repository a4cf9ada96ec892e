"""Values that contradict their type, which Azurite stores, and rows that cannot be understood, which a server between
the mount and Azurite makes. Each concerns one file alone: its neighbours are right, and it can be deleted and replaced."""
import http.client
import json
import os

import pytest

from credentials import account_sas
from harness import COMMAND_SEC, run
from servers import Spoiler
from writing import CREATE, OVER, failures, fails_at, outcome, write

# RowKey: the value, its type, and why it is refused when it is written
VALUES = {
    "binary": ("!!", "Edm.Binary", 'an Edm.Binary that is not base64: "!!"'),
    "date": ("yesterday", "Edm.DateTime", None),
    "guid": ("NONE", "Edm.Guid", 'no Edm.Guid: "NONE"'),
    "int64": ("seven", "Edm.Int64", 'no integer of 64 bits: "seven"'),
    "large": ("9223372036854775808", "Edm.Int64", 'no integer of 64 bits: "9223372036854775808"'),
}

NESTED = "an object or array as a property's value: Nested"
# RowKey: what stands in the row instead of Spoil, and why it cannot be understood
ROWS = {
    "annotation": ('"x@odata.type":7,"x":1', "an annotation that is not a string: x@odata.type"),
    "array": ('"Nested":[1,{"RowKey":"y"}]', NESTED),
    "nested": ('"Nested":{"PartitionKey":"x"}', NESTED),
    "twice": ('"n":1,"n":2', "a property that occurs twice: n"),
}
UNREADABLE = "what the service has cannot be understood: "


def post(service, table, text):
    """Past the SDK, which sends no such values."""
    connection = http.client.HTTPConnection("127.0.0.1", service.direct_port, timeout=COMMAND_SEC)
    sas = account_sas(service.account, service.key, "a")
    headers = {"Content-Type": "application/json", "Accept": "application/json;odata=nometadata"}
    connection.request("POST", f"/{service.account}/{table}?{sas}", json.dumps(text), headers)
    answer = connection.getresponse()
    assert answer.status == 201, answer.read()
    connection.close()


def shown(row, value, kind):
    keys = f'  "PartitionKey": "p",\n  "RowKey": "{row}"'
    return f'{{\n{keys},\n  "x@odata.type": "{kind}",\n  "x": "{value}"\n}}\n'


@pytest.fixture
def table(request, sdk):
    """A new one with a row `good`."""
    name = request.node.originalname.replace("_", "")[:60]
    sdk.create_table(name, [{"partitionKey": "p", "rowKey": "good", "N": 1}])
    return name


@pytest.fixture
def values(service, table):
    for row, (value, kind, _) in VALUES.items():
        post(service, table, {"PartitionKey": "p", "RowKey": row, "x@odata.type": kind, "x": value})
    return table


@pytest.fixture
def rows(sdk, table):
    spoiled = [{"partitionKey": "p", "rowKey": row, "Spoil": members} for row, (members, _) in ROWS.items()]
    sdk.insert(table, spoiled)
    return table


@pytest.fixture
def spoiled(mounts, service):
    """Mounts the service with bad rows."""
    server = Spoiler(service)
    yield lambda *options, **start: mounts(*options, env=server.credentials, **start)
    mounts.finish()
    server.stop()


def rows_of(sdk, table):
    return {row["rowKey"]: row for row in sdk.read(table)}


def test_a_bad_value_is_shown_as_it_came(mounts, values):
    mount = mounts("ttl=600")
    directory = mount / values / "p"
    with mount.counting() as counted:
        listed = run("ls", "-l", directory).stdout.splitlines()[1:]
        sizes = {line.split()[-1]: int(line.split()[4]) for line in listed}
        texts = {path.stem: path.read_text() for path in directory.iterdir()}
    assert counted.asked().get("query") == 1
    assert texts.pop("good").endswith('"N": 1\n}\n')
    assert texts == {row: shown(row, value, kind) for row, (value, kind, _) in VALUES.items()}
    assert sizes.items() >= {f"{row}.json": len(text) for row, text in texts.items()}.items()
    assert "none" not in texts["guid"], "not in lower case: it is none"
    assert failures(mount) == []


@pytest.mark.asan
def test_a_bad_value_is_not_stored_again(mounts, sdk, values):
    """By touch, mv, cp and >>, each with the reason."""
    before = rows_of(sdk, values)
    mount = mounts("ttl=0")
    os.mkdir(mount / values / "q")
    for row, (value, kind, reason) in VALUES.items():
        path = mount / values / f"p/{row}.json"
        copy = mount / values / f"q/{row}.json"
        assert run("touch", path, check=False).stderr.endswith("Invalid argument\n")
        for target in (mount / values / f"p/other-{row}.json", copy):
            assert run("mv", path, target, check=False).stderr.endswith("Operation not permitted\n")
        assert run("cp", path, copy, check=False).stderr.endswith("Invalid argument\n")
        assert write(path, '{"N": 2}', os.O_WRONLY | os.O_APPEND) == "write EINVAL"
        if reason is None:
            continue
        quoted = f"line 5, column 8: x: {reason}"
        # to mv EINVAL would be a directory that is moved into itself
        reasons = [f"EINVAL {quoted}", f"EPERM {quoted}", f"EINVAL x: {reason.split(':')[0]}"]
        assert fails_at(mount, f"/{values}/p/{row}.json") == reasons
        assert fails_at(mount, f"/{values}/q/{row}.json") == reasons[:1]
        advice = [f["advice"] for f in failures(mount) if f["path"] == f"/{values}/p/{row}.json" and f["error"] == "EINVAL"]
        assert [bool(each and each.startswith("the stored value is refused, not what")) for each in advice] == [False, True]
    assert rows_of(sdk, values) == before


def test_a_rewrite_mends_a_bad_value(mounts, sdk, values):
    mount = mounts("ttl=0")
    directory = mount / values / "p"
    run("sed", "-i", "s/seven/7/", directory / "int64.json")
    assert run("sed", "-i", "s/NONE/NO/", directory / "guid.json", check=False).returncode != 0
    (directory / "binary.json").write_text('{"x@odata.type": "Edm.Binary", "x": "AA=="}')
    assert write(directory / "date.json", '{"x": "a string"}', os.O_WRONLY | os.O_APPEND) == ""
    run("vim", "-es", "-c", "%s/9223372036854775808/9223372036854775807/|wq", directory / "large.json")
    found = rows_of(sdk, values)
    assert found["int64"]["x"] == {"type": "Int64", "value": "7"}
    assert found["binary"]["x"] == {"type": "Binary", "value": "AA=="}
    assert found["date"]["x"] == {"type": "String", "value": "a string"}
    assert found["large"]["x"] == {"type": "Int64", "value": "9223372036854775807"}
    assert found["guid"]["x"] == {"type": "Guid", "value": "NONE"}
    assert [f["command"] for f in failures(mount)] == ["sed"]


@pytest.mark.tsan
def test_tools_take_bad_values_out(mounts, sdk, scratch, values):
    mount = mounts()
    directory = mount / values / "p"
    for number, copy in enumerate((["cp", "-r"], ["rsync", "-a"])):
        target = scratch / f"{values}-{number}"
        run(*copy, f"{directory}/", target)
        assert (target / "guid.json").read_text() == shown("guid", "NONE", "Edm.Guid")
    assert "seven" in run("tar", "-cC", directory, "--to-stdout", ".").stdout
    assert len(run("grep", "-rl", "odata.type", directory).stdout.splitlines()) == len(VALUES)
    os.unlink(directory / "int64.json")
    assert "int64" not in rows_of(sdk, values)
    run("rm", "-r", directory)
    assert rows_of(sdk, values) == {}


@pytest.mark.tsan
def test_a_bad_row_fails_alone(spoiled, rows):
    mount = spoiled("ttl=600")
    directory = mount / rows / "p"
    with mount.counting() as counted:
        listed = run("ls", "-l", directory).stdout.splitlines()[1:]
        sizes = {line.split()[-1]: int(line.split()[4]) for line in listed}
        assert sizes.keys() == {"good.json", *(f"{row}.json" for row in ROWS)}
        for row, (members, reason) in ROWS.items():
            path = directory / f"{row}.json"
            assert sizes[path.name] == os.stat(path).st_size > len(members) + 80
            done = run("cat", path, check=False)
            assert done.returncode == 1
            assert done.stderr == f"cat: {path}: Input/output error\n"
            assert outcome(os.open, path, os.O_RDWR) == "EIO"
            assert fails_at(mount, f"/{rows}/p/{row}.json") == [f"EIO {UNREADABLE}{reason}"]
        assert '"N": 1' in (directory / "good.json").read_text()
    assert counted.asked() == {"query": counted.requests("query"), "list_tables": 1}
    assert counted.requests("query") <= 2
    assert {f["advice"] for f in failures(mount)} == {"the entity can be deleted, or replaced as a whole"}


def test_tools_go_on_past_a_bad_row(spoiled, scratch, rows):
    mount = spoiled()
    directory = mount / rows / "p"
    found = run("grep", "-r", '"N": 1', mount / rows, check=False)
    assert found.returncode == 2 and found.stdout.count("good.json") == 1
    assert found.stderr.count("Input/output error") == len(ROWS)
    for number, copy in enumerate((["cp", "-r"], ["rsync", "-a"])):
        target = scratch / f"{rows}-{number}"
        done = run(*copy, f"{directory}/", target, check=False)
        assert done.returncode == (1, 23)[number]
        assert done.stderr.count("Input/output error") == len(ROWS)
        assert os.listdir(target) == ["good.json"]
    archive = scratch / f"{rows}.tar"
    done = run("tar", "-cf", archive, "-C", directory, ".", check=False)
    assert done.returncode == 2 and done.stderr.count("Input/output error") == len(ROWS)
    assert run("tar", "-tf", archive).stdout.splitlines() == ["./", "./good.json"]


@pytest.mark.asan
@pytest.mark.tsan
def test_a_bad_row_is_neither_merged_nor_moved(spoiled, sdk, rows):
    before = rows_of(sdk, rows)
    mount = spoiled("ttl=0")
    directory = mount / rows / "p"
    os.mkdir(mount / rows / "q")
    for row in ROWS:
        path = directory / f"{row}.json"
        assert write(path, '{"N": 2}', os.O_WRONLY | os.O_APPEND) == "open EIO"
        assert write(path, '{"N": 2}', os.O_WRONLY | os.O_CREAT | os.O_APPEND) == "open EIO"
        assert outcome(os.utime, path) == "EIO"
        for name in ("p/other.json", "q/other.json", f"p/{row}.json~", f"p/.{row}.json.swp"):
            assert outcome(os.rename, path, mount / rows / name) == "EIO", name
        for command in (["touch"], ["sed", "-i", "s/1/2/"]):
            assert run(*command, path, check=False).returncode != 0
        (reason,) = fails_at(mount, f"/{rows}/p/{row}.json")
        assert reason.startswith(f"EIO {UNREADABLE}")
    assert rows_of(sdk, rows) == before


def test_a_bad_row_is_replaced_as_a_whole(spoiled, sdk, scratch, rows):
    mount = spoiled("ttl=0")
    directory = mount / rows / "p"
    new = scratch / "new.json"
    new.write_text('{"N": 3}')
    run("sh", "-c", f"echo '{{\"N\": 2}}' > '{directory}/twice.json'")
    run("cp", new, directory / "nested.json")
    run("rsync", new, directory / "array.json")
    run("mv", directory / "good.json", directory / "annotation.json")
    assert [(f["command"], f["error"]) for f in failures(mount)] == [("rsync", "EIO")], "to read what it replaces"
    found = rows_of(sdk, rows)
    numbers = {"twice": "2", "nested": "3", "array": "3", "annotation": "1"}
    assert {row: entity["N"]["value"] for row, entity in found.items()} == numbers
    assert "Spoil" not in json.dumps(found)
    assert '"N": 2' in (directory / "twice.json").read_text()


def test_vim_replaces_a_bad_row(spoiled, sdk, rows):
    """It opens the file for writing, and truncates it then. A file that it cannot open so it would unlink."""
    mount = spoiled("ttl=0")
    path = mount / rows / "p/nested.json"
    run("vim", "-u", "NONE", "-N", "-es", "-c", """call setline(1, '{"N": 5}')""", "-c", "w!", "-c", "qa!", path)
    assert rows_of(sdk, rows)["nested"]["N"]["value"] == "5"
    path = mount / rows / "p/twice.json"
    file = os.open(path, os.O_WRONLY)
    os.close(file)  # nothing new: nothing is stored
    file = os.open(path, os.O_WRONLY)
    os.write(file, b'{"N": 6}')  # before the rest of what is stored
    assert outcome(os.close, file) == "EINVAL"
    assert "Spoil" in rows_of(sdk, rows)["twice"]


def test_a_version_of_a_bad_row_that_was_changed_is_not_replaced(spoiled, sdk, rows):
    """Its ETag counts as that of any version."""
    mount = spoiled("ttl=0")
    path = mount / rows / "p/nested.json"
    assert write(path, '{"N": 1}', CREATE) == "" and path.read_text()
    sdk.update(rows, [{"partitionKey": "p", "rowKey": "nested", "Spoil": '"Nested":[]'}])
    assert write(path, '{"N": 2}', OVER) == "write ESTALE"
    assert "Spoil" in rows_of(sdk, rows)["nested"]
    assert outcome(os.open, path, os.O_RDONLY) == "EIO"
    assert write(path, '{"N": 2}', OVER) == ""
    assert rows_of(sdk, rows)["nested"]["N"]["value"] == "2"


@pytest.mark.asan("rm -r TABLE")
@pytest.mark.tsan("rm -r TABLE")
@pytest.mark.parametrize("layer", ["rm", "rm -r PARTITION", "rm -r TABLE"])
def test_bad_rows_are_deleted(spoiled, sdk, layer):
    table = "gone" + layer.replace(" ", "").replace("-", "")
    sdk.create_table(table, [{"partitionKey": "p", "rowKey": "good"}, {"partitionKey": "q", "rowKey": "good"}])
    sdk.insert(table, [{"partitionKey": "p", "rowKey": row, "Spoil": m} for row, (m, _) in ROWS.items()])
    mount = spoiled()
    if layer == "rm":
        for row in ROWS:
            os.unlink(mount / table / f"p/{row}.json")
        assert {(row["partitionKey"], row["rowKey"]) for row in sdk.read(table)} == {("p", "good"), ("q", "good")}
    elif layer == "rm -r PARTITION":
        run("rm", "-r", mount / table / "p")
        assert {row["partitionKey"] for row in sdk.read(table)} == {"q"}
    else:
        run("rm", "-r", mount / table)
        assert table not in os.listdir(mount.point)
        sdk.create_table(table)
        assert sdk.read(table) == []
    assert failures(mount) == []


@pytest.mark.asan
@pytest.mark.tsan("\"x\":1,}", "\"x\":[1,")
@pytest.mark.parametrize("members", ['"RowKey":"again"', '"x":1,}', '"x":[1,'])
def test_without_readable_keys_or_json_the_page_fails(spoiled, sdk, members):
    table = f"page{members.encode().hex()}"
    sdk.create_table(table, [{"partitionKey": "p", "rowKey": "r", "Spoil": members}])
    mount = spoiled()
    assert outcome(os.listdir, mount / table / "p") == "EPROTO"
