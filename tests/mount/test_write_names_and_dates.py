"""Dates in every form that the service documents, names beyond ASCII, and texts that begin with a byte order mark: stored by
every tool as the service's own SDK writes them."""
import json
import os

import pytest

from expected import entity_text
from harness import BOTH_SERVICES, TABLEFUSE, LocalAccount, run
from writing import failures, write

both_services = pytest.mark.parametrize("service", BOTH_SERVICES, indirect=True)

# https://learn.microsoft.com/rest/api/storageservices/formatting-datetime-values; the same in UTC
DATES = {
    "2008-07-10": "2008-07-10T00:00:00Z",
    "2008-07-10Z": "2008-07-10T00:00:00Z",
    "2008-07-10T00:00:00": "2008-07-10T00:00:00Z",
    "2008-07-10T04:25": "2008-07-10T04:25:00Z",
    "2008-07-10T04:25Z": "2008-07-10T04:25:00Z",
    "2008-07-10T04:25+01:00": "2008-07-10T03:25:00Z",
    "2008-07-10T04:25:03-08:00": "2008-07-10T12:25:03Z",
    "2008-07-10T00:00:00+00:00": "2008-07-10T00:00:00Z",
    "2008-07-10T00:00:00.1+14:00": "2008-07-09T10:00:00.1Z",
    "2008-07-10T04:25:03.1": "2008-07-10T04:25:03.1Z",
    "2008-07-10T04:25:03.123456Z": "2008-07-10T04:25:03.123456Z",
    "2008-07-10T04:25:03.1234567": "2008-07-10T04:25:03.1234567Z",
    "1600-12-31T23:30:00-01:00": "1601-01-01T00:30:00Z",
    "9999-12-31T23:59:59.9999999Z": "9999-12-31T23:59:59.9999999Z",
}
WIDE = {
    "Größe": ("Int64", "9007199254740993"),
    "e\u0301": ("String", "two characters"),
    "名前": ("String", "é"),
    "\u2028": ("Boolean", True),
    "\ufffd": ("Guid", "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"),
    "😀": ("Double", "3.0"),
}
WIDE_GIVEN = {  # as the SDK takes it
    name: value if kind in ("String", "Boolean") else {"type": kind, "value": 3 if kind == "Double" else value}
    for name, (kind, value) in WIDE.items()
}
WIDE_TEXT = entity_text("p", "wide", WIDE)
MARK = "\ufeff"

# What tools do with the file `wide.json` in a partition directory: the names that hold its text afterwards.
TOOLS = {
    "cp": ("cp wide.json cp.json", ["cp"]),
    "mv": ("cp wide.json old.json; mv old.json mv.json", ["mv"]),
    "mv across": ("cp wide.json ../q/; mv ../q/wide.json across.json", ["across"]),
    "tar": ('tar cf "$TMP/a.tar" wide.json; rm wide.json; tar xf "$TMP/a.tar"', ["wide"]),
    "sed -i": ("sed -i 's/\\r$//' wide.json", ["wide"]),
    "jq": ('jq . wide.json > "$TMP/jq"; cat "$TMP/jq" > wide.json', ["wide"]),
    "in place": ("dd if=wide.json of=wide.json conv=notrunc status=none", ["wide"]),
    "touch": ("touch wide.json", ["wide"]),
    "append": (
        """echo '{"Größe": "other"}' >> wide.json
        echo '{"Größe@odata.type": "Edm.Int64", "Gr\\u00f6\\u00dfe": 9007199254740993}' >> wide.json""",
        ["wide"],
    ),
}


@pytest.fixture(scope="module", autouse=True)
def tables(make_table):
    make_table("dates", [("p", "beside")])
    make_table("names", [("p", "beside"), ("q", "beside")])
    make_table("marks", [("p", "beside")])
    make_table("many", [("p", "beside")])


@pytest.mark.asan("local")
@both_services
def test_a_date_in_every_form_is_stored_in_utc(mounts, stored):
    mount = mounts("ttl=0")
    for number, (given, utc) in enumerate(DATES.items()):
        path = mount / f"dates/p/{number:02}.json"
        assert write(path, json.dumps({"When@odata.type": "Edm.DateTime", "When": given})) == "", given
        assert path.read_text() == entity_text("p", f"{number:02}", {"When": ("DateTime", utc)}), given
        assert write(path, '{"When@odata.type": "Edm.DateTime", "When": "%s"}' % given, os.O_WRONLY | os.O_APPEND) == ""
    assert failures(mount) == []
    for number, utc in enumerate(DATES.values()):
        assert stored("dates")["p", f"{number:02}"] == {"When@odata.type": "Edm.DateTime", "When": utc}


def test_dates_of_another_client_are_shown_in_utc_and_can_be_edited(mounts, sdk, stored):
    """Azurite keeps the form in which it was given one. Every text of a local account is canonical."""
    sdk.create_table("theirs")
    for number, given in enumerate(DATES):
        row = {"partitionKey": "p", "rowKey": f"{number:02}", "When": {"type": "DateTime", "value": given}, "N": 0}
        sdk.insert("theirs", [row])
    before = {key: row["When"] for key, row in stored("theirs").items()}
    assert before["p", "00"] == "2008-07-10Z" and before["p", "07"] == "2008-07-10T00:00:00+00:00"
    mount = mounts("ttl=0")
    edits = ["sed -i 's/\"N\": 0/\"N\": 1/'", "perl -pi -e 's/\"N\": 0/\"N\": 1/'", 'echo \'{"N": 1}\' >>']
    for number, utc in enumerate(DATES.values()):
        path = mount / f"theirs/p/{number:02}.json"
        assert path.read_text() == entity_text("p", f"{number:02}", {"N": ("Int32", 0), "When": ("DateTime", utc)})
        assert len(path.read_bytes()) == path.stat().st_size
        run("bash", "-ec", f'{edits[number % 3]} "$1"', "bash", path)
        assert stored("theirs")["p", f"{number:02}"] == {"N": 1, "When@odata.type": "Edm.DateTime", "When": utc}
    assert failures(mount) == []


@pytest.mark.asan("mv-local", "tar-local", "touch-local", "append-local")
@both_services
@pytest.mark.parametrize("tool", TOOLS)
def test_names_beyond_ascii_survive_each_tool(mounts, service, request, stored, tmp_path, tool):
    mount = mounts("ttl=0")
    if isinstance(service, LocalAccount):
        assert write(mount / "names/p/wide.json", WIDE_TEXT) == ""
    else:
        sdk = request.getfixturevalue("sdk")
        change = sdk.update if ("p", "wide") in stored("names") else sdk.insert
        change("names", [{"partitionKey": "p", "rowKey": "wide", **WIDE_GIVEN}])
    before = stored("names")["p", "wide"]
    assert (mount / "names/p/wide.json").read_text() == WIDE_TEXT
    script, names = TOOLS[tool]
    run("bash", "-ec", script, cwd=mount / "names/p", env={**os.environ, "TMP": str(tmp_path)})
    for name in names:
        assert (mount / f"names/p/{name}.json").read_text() == entity_text("p", name, WIDE)
        assert stored("names")["p", name] == before
    assert failures(mount) == []


@pytest.mark.asan("local")
@both_services
def test_names_beyond_ascii_in_batches(mounts, service, stored):
    """Of what is written behind, and of moves."""
    mount = mounts("ttl=0,writeback")
    for number in range(150):
        text = json.dumps({"é名": number, "\u2028": "x"}, ensure_ascii=False)
        assert write(mount / f"many/p/{number:03}.json", text) == ""
    mount.send_queued("many/p")
    for number in range(20):
        os.rename(mount / f"many/p/{number:03}.json", mount / f"many/p/moved-{number:03}.json")
    mount.send_queued("many/p")
    if isinstance(service, LocalAccount):
        run(TABLEFUSE, "check", service.source)
    names = [f"moved-{number:03}" if number < 20 else f"{number:03}" for number in range(150)]
    expected = {("p", name): {"é名": number, "\u2028": "x"} for number, name in enumerate(names)}
    assert stored("many") == {**expected, ("p", "beside"): {}}
    assert failures(mount) == []


@both_services
def test_a_byte_order_mark_is_skipped(mounts, stored, tmp_path):
    mount = mounts("ttl=0")
    source = tmp_path / "marked.json"
    source.write_text(f'{MARK}{{\r\n  "A": "{MARK}"\r\n}}\r\n')
    scripts = {
        "cp": 'cp "$1" cp.json',
        "cat": 'cat "$1" > cat.json',
        "dd": 'dd if="$1" of=dd.json bs=1 status=none',
        "mv": 'mv -f "$1" mv.json',
        "append": 'cat "$1" >> append.json; cat "$1" "$1" >> append.json',
        "append old": 'echo {} > old.json; cat "$1" >> old.json; cat "$1" "$1" >> old.json',
        "sed": "sed -i '1s/^/\\xef\\xbb\\xbf/' cp.json",
    }
    for script in scripts.values():
        run("bash", "-ec", script, "bash", source, cwd=mount / "marks/p")
        source.write_text(f'{MARK}{{\r\n  "A": "{MARK}"\r\n}}\r\n')
    names = ["cp", "cat", "dd", "mv", "append", "old"]
    assert stored("marks") == {**{("p", name): {"A": MARK} for name in names}, ("p", "beside"): {}}
    assert (mount / "marks/p/dd.json").read_text() == entity_text("p", "dd", {"A": ("String", MARK)})
    assert failures(mount) == []
