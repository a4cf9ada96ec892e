"""No property changes its type in silence: what is appended keeps the types that are there, a rename that leaves a type
behind is refused, and a key in a text that does not count is told."""
import os
import shutil
import subprocess

import pytest

from expected import entity_text
from harness import BOTH_SERVICES, environment
from other_client import comparable, typed
from writing import fails_at, reports, write

pytestmark = pytest.mark.parametrize("service", BOTH_SERVICES, indirect=True, scope="module")

WAYS = pytest.mark.parametrize("way", [("ttl=600",), ("ttl=600", "writeback")], ids=["plain", "writeback"])

GUID, OTHER_GUID = "c9da6455-213d-42c9-9a79-3e9149a57833", "c9da6455-213d-42c9-9a79-3e9149a57834"
ALL = {
    "B": ("Boolean", True),
    "Bin": ("Binary", "AQID"),
    "D": ("Double", "1.5"),
    "G": ("Guid", GUID),
    "I": ("Int32", 1),
    "L": ("Int64", "9007199254740993"),
    "S": ("String", "s"),
    "T": ("DateTime", "2026-01-01T00:00:00Z"),
}
# what is appended: what it becomes
APPENDED = {
    '{"L":5,"D":4,"T":"2026-02-01T00:00:00Z"}': {
        "L": ("Int64", "5"),
        "D": ("Double", "4.0"),
        "T": ("DateTime", "2026-02-01T00:00:00Z"),
    },
    f'{{"Bin":"AQIDBA==","G":"{OTHER_GUID.upper()}","I":2,"S":"t","B":false}}': {
        "B": ("Boolean", False),
        "Bin": ("Binary", "AQIDBA=="),
        "G": ("Guid", OTHER_GUID),
        "I": ("Int32", 2),
        "S": ("String", "t"),
    },
    '{"L":1e3,"D":"NaN"}': {"L": ("Int64", "1000"), "D": ("Double", '"NaN"')},
    '{"L":"7","D":100000000000000000000}': {"L": ("Int64", "7"), "D": ("Double", "100000000000000000000.0")},
    '{"L":5} {"L":6,"D":1}{"D":2}': {"L": ("Int64", "6"), "D": ("Double", "2.0")},
    # what is no value of the type that is there
    '{"L":2.5,"D":"x","T":"yesterday","G":"none","Bin":"not","B":1,"I":"5","S":5}': {
        "B": ("Int32", 1),
        "Bin": ("String", "not"),
        "D": ("String", "x"),
        "G": ("String", "none"),
        "I": ("String", "5"),
        "L": ("Double", "2.5"),
        "S": ("Int32", 5),
        "T": ("String", "yesterday"),
    },
    '{"L":"5.5","D":true,"T":5,"I":3000000000}': {
        "D": ("Boolean", True),
        "I": ("Int64", "3000000000"),
        "L": ("String", "5.5"),
        "T": ("Int32", 5),
    },
    # a type that is given counts
    '{"L@odata.type":"Edm.Int32","L":5,"D@odata.type":"Edm.Int64","D":4,"T@odata.type":"Edm.String","T":"2026-02-01"}': {
        "D": ("Int64", "4"),
        "L": ("Int32", 5),
        "T": ("String", "2026-02-01"),
    },
}
RENAMED = {
    "Amount": ("Int64", "5"),
    "Kept": ("Double", "1.0"),
}


@pytest.fixture(scope="module", autouse=True)
def tables(make_table):
    for table in ("appended", "renamed", "told"):
        make_table(table, [("p", "there")])


def bash(script, *arguments, cwd):
    """(its exit code, what it says). No process has another name when it uses the mount first."""
    done = subprocess.run(
        ["bash", "-c", f'cd "$0" && {{ {script}\n}}', cwd, *arguments],
        env=environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    return done.returncode, done.stdout


def put(mount, table, row, properties):
    assert write(mount / table / "p" / f"{row}.json", entity_text("p", row, properties)) == ""


def assert_is(mount, stored, table, row, properties):
    """As this mount shows it, and as the service has it."""
    path = mount / table / "p" / f"{row}.json"
    assert path.read_text() == entity_text("p", row, properties)
    file = os.open(path, os.O_RDONLY)
    os.fsync(file)
    os.close(file)
    plain = {name: each for name, each in properties.items() if '"' not in str(each[1])}
    text = {name: (kind, value.strip('"')) for name, (kind, value) in properties.items() if name not in plain}
    assert typed(stored(table)["p", row]) == comparable(plain) | text


@pytest.mark.asan("writeback-local")
@pytest.mark.tsan("writeback-local")
@WAYS
def test_what_is_appended_keeps_the_types_that_are_there(mounts, stored, way):
    mount = mounts(*way)
    directory = mount / "appended/p"
    for number, (text, changed) in enumerate(APPENDED.items()):
        row = f"{way[-1]}-{number}"
        put(mount, "appended", row, ALL)
        assert_is(mount, stored, "appended", row, ALL)
        with mount.counting() as counted:
            assert bash('printf "%s" "$1" >> "$2"', text, f"{row}.json", cwd=directory) == (0, ""), text
        assert counted.asked() == {"write": 1}, "nothing is asked for in addition"
        assert_is(mount, stored, "appended", row, {**ALL, **changed})
    assert reports(mount) == []


def test_what_is_appended_alone_has_the_types_of_its_values(mount, stored):
    assert write(mount / "appended/p/new.json", '{"L":5,"D":"1.5"}', os.O_WRONLY | os.O_CREAT | os.O_APPEND) == ""
    assert_is(mount, stored, "appended", "new", {"L": ("Int32", 5), "D": ("String", "1.5")})


def test_a_text_that_replaces_is_literal(mount, stored):
    put(mount, "appended", "literal", ALL)
    assert write(mount / "appended/p/literal.json", '{"L":5,"D":4,"T":"2026-02-01T00:00:00Z"}') == ""
    expected = {"L": ("Int32", 5), "D": ("Int32", 4), "T": ("String", "2026-02-01T00:00:00Z")}
    assert_is(mount, stored, "appended", "literal", expected)


@pytest.mark.asan("local")
@pytest.mark.tsan("local")
def test_the_types_are_those_that_another_client_has_just_stored(mounts, stored):
    """The mount knows an older version: the append is refused, and made anew."""
    here, there = mounts("ttl=600"), mounts("ttl=0")
    put(here, "appended", "raced", ALL)
    put(there, "appended", "raced", {"L": ("Double", "1.5"), "D": ("Int64", "1")})
    assert write(here / "appended/p/raced.json", '{"L":5,"D":4}', os.O_WRONLY | os.O_APPEND) == ""
    assert_is(there, stored, "appended", "raced", {"L": ("Double", "5.0"), "D": ("Int64", "4")})


# Each renames Amount to Total in f.json, and leaves the type behind. The exit code, and what they say.
RENAME = ".Total=.Amount | del(.Amount)"
RENAMERS = {
    "jq, cat": (f"jq '{RENAME}' f.json > .new && cat .new > f.json", 1, "Invalid argument"),
    "jq, cp": (f"jq '{RENAME}' f.json > .new && cp .new f.json", 1, "Invalid argument"),
    "jq, mv": (f"jq '{RENAME}' f.json > f.json.tmp && mv f.json.tmp f.json", 1, "Operation not permitted"),
    "jq, sponge": (f"jq '{RENAME}' f.json | sponge f.json", 1, "Invalid argument"),
    "sed -i": ("""sed -i 's/"Amount":/"Total":/' f.json""", 4, "Operation not permitted"),
    "vim": ("""vim.tiny -es -u NONE '+set backupcopy=no' '+%s/"Amount":/"Total":/' +wq f.json""", 1, ""),
    "python": (
        """/usr/bin/python3 -c 'import json
with open("f.json") as file: entity = json.load(file)
entity["Total"] = entity.pop("Amount")
with open("f.json", "w") as file: json.dump(entity, file)'""",
        1,
        "Invalid argument",
    ),
    "tee -a": ("""echo '{"Amount@odata.type":"Edm.Int64","Total":5}' | tee -a f.json""", 1, "Invalid argument"),
}
LEFT_BEHIND = "Amount@odata.type: a type without its property, next to a new property without a type: Total"
DROPPED = "Amount@odata.type: a type without its property is dropped"


@pytest.mark.asan("sed -i-writeback-local")
@pytest.mark.tsan("sed -i-writeback-local")
@WAYS
@pytest.mark.parametrize("tool", RENAMERS)
def test_a_rename_that_leaves_the_type_behind_is_refused(mounts, stored, way, tool):
    script, status, says = RENAMERS[tool]
    mount = mounts(*way)
    put(mount, "renamed", "f", RENAMED)
    done = bash(script, cwd=mount / "renamed/p")
    assert done[0] == status and says in done[1], done
    assert_is(mount, stored, "renamed", "f", RENAMED)
    told = [f["reason"].split(": ", 1)[1] for f in reports(mount) if f["error"] != "OK"]
    assert told and set(told) == {LEFT_BEHIND}, told


# Of the same entity: what is a rename, or none, without a silent change. With what is told.
ACCEPTED = {
    "the type is renamed, too": (
        '.Total=.Amount | ."Total@odata.type"=."Amount@odata.type" | del(.Amount, ."Amount@odata.type")',
        {"Kept": ("Double", "1.0"), "Total": ("Int64", "5")},
        [],
    ),
    "it is deleted": ("del(.Amount)", {"Kept": ("Double", "1.0")}, [DROPPED]),
    "it is deleted with its type": (
        'del(.Amount, ."Amount@odata.type") | .Total=5',
        {"Kept": ("Double", "1.0"), "Total": ("Int32", 5)},
        [],
    ),
    "it is null": (".Total=6 | .Amount=null", {"Kept": ("Double", "1.0"), "Total": ("Int32", 6)}, []),
    "it gets another name that is there": (
        ".Kept=.Amount | del(.Amount)",
        {"Kept": ("Double", "5.0")},
        [DROPPED],
    ),
}


@pytest.mark.tsan("it gets another name that is there-plain-local")
@WAYS
@pytest.mark.parametrize("change", ACCEPTED)
def test_other_changes_are_stored(mounts, stored, way, change):
    program, expected, told = ACCEPTED[change]
    mount = mounts(*way)
    put(mount, "renamed", "g", RENAMED)
    assert bash('jq "$1" g.json > .new && cat .new > g.json', program, cwd=mount / "renamed/p") == (0, "")
    assert_is(mount, stored, "renamed", "g", expected)
    assert [reason.split(": ", 1)[1] for reason in fails_at(mount, "/renamed/p/g.json")] == told


@WAYS
def test_in_a_new_file_it_is_dropped_and_told(mounts, stored, way):
    mount = mounts(*way)
    text = '{"Amount@odata.type": "Edm.Int64",\n "Total": 5}'
    assert bash("printf %s \"$1\" > new-$2.json", text, way[-1], cwd=mount / "renamed/p") == (0, "")
    assert_is(mount, stored, "renamed", f"new-{way[-1]}", {"Total": ("Int32", 5)})
    assert [(f["operation"], f["error"], f["reason"], f["command"]) for f in reports(mount)] == [
        ("write", "OK", f"line 1, column 2: {DROPPED}", "bash")
    ]
    assert "tablefuse_failures_total 0\n" in mount.control("stats")


KEY = "PartitionKey: not this key counts, but the one of the path"


@WAYS
def test_a_key_in_an_edited_text_is_told_once_a_program(mounts, stored, tmp_path, way):
    mount = mounts(*way)
    directory = mount / "told/p"
    for row in "abc":
        put(mount, "told", row, {"N": ("Int32", 1)})
    edit = """jq '.PartitionKey="q" | .N=2' $1.json > .$1 && mv .$1 $1.json"""
    assert bash(edit, "a", cwd=directory) == (0, "")
    told = [f"OK line 2, column 3: {KEY}"]
    assert fails_at(mount, "/told/p/a.json") == told
    assert_is(mount, stored, "told", "a", {"N": ("Int32", 2)})
    assert ("q", "a") not in stored("told")
    # the same program tells no more, another one does
    for row in "abc":
        (tmp_path / f"{row}.json").write_text('{"PartitionKey": "q", "N": 3}')
    assert bash('cp "$1"/*.json .', str(tmp_path), cwd=directory) == (0, "")
    lines = [(f["path"], f["command"]) for f in reports(mount)]
    assert lines == [("/told/p/a.json", "mv"), ("/told/p/a.json", "cp")]
    for row in "abc":
        assert_is(mount, stored, "told", row, {"N": ("Int32", 3)})


def test_a_copy_tells_nothing(mount, stored):
    put(mount, "told", "d", RENAMED)
    shutil.copytree(mount / "told/p", mount / "told/copy")
    assert stored("told")["copy", "d"] == stored("told")["p", "d"]
    assert bash("cp -r copy/. p", cwd=mount / "told")[0] == 0
    assert [f["command"] for f in reports(mount)] == ["cp"], "an entity of that name was there"


@pytest.mark.asan("local")
@pytest.mark.tsan("local")
def test_the_notes_of_many_files_are_counted(mounts):
    mount = mounts("ttl=600", "writeback")
    text = '{"Amount@odata.type": "Edm.Int64"}'
    for number in range(30):
        assert write(mount / "renamed/p" / f"many-{number:02}.json", text) == ""
    lines = mount.control("errors").splitlines()
    assert len(lines) == 10 and " (and 20 more until " in lines[-1]
