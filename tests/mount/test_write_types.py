"""What a user writes is what the service has: every type, every key, by every tool that reads a text and writes it back."""
import json
import os

import pytest

from expected import entity_name, entity_text, partition_name
from harness import BOTH_SERVICES, LocalAccount, run
from samples import ALL_EXPECTED, ALL_TYPES, KEYS
from writing import write

pytestmark = pytest.mark.parametrize("service", BOTH_SERVICES, indirect=True)

TYPES_TEXT = entity_text("all", "types", ALL_EXPECTED)

# $1 is the file in the mount, $2 one on a disk. Each reads the entity and writes it back over itself.
WRITE_BACK = {
    "cat": 'cat "$1" > "$2"; cat "$2" > "$1"',
    "cp": 'cp "$1" "$2"; cp "$2" "$1"',
    "dd": 'dd if="$1" of="$2" status=none; dd if="$2" of="$1" bs=1000 status=none',
    "jq": 'jq . "$1" > "$2"; cat "$2" > "$1"',
    "jq without spaces": 'jq -c . "$1" > "$2"; cat "$2" > "$1"',
    "node": """node -e 'const fs = require("fs"); const [from, to] = process.argv.slice(1);
        fs.writeFileSync(to, JSON.stringify(JSON.parse(fs.readFileSync(from))))' "$1" "$2"; cat "$2" > "$1" """,
    "python": """/usr/bin/python3 -c 'import json, sys
with open(sys.argv[1]) as file: entity = json.load(file)
with open(sys.argv[1], "w") as file: json.dump(entity, file, indent=4, sort_keys=True)' "$1" """,
    "sed": """sed 's/^ *//' "$1" > "$2"; cat "$2" > "$1" """,
    "tar": """cd "${1%/*}"; tar cf "$2" types.json; tar xf "$2" --overwrite""",
    "tee": 'cat "$1" > "$2"; tee "$1" < "$2" > /dev/null',
}


@pytest.fixture
def types(mounts, request, service):
    """A mount, and in it the path of the entity that has every type."""
    table = "types" + "".join(filter(str.isalnum, request.node.name))
    mount = mounts("ttl=0")
    if isinstance(service, LocalAccount):
        request.getfixturevalue("make_table")(table)
        os.mkdir(mount / table / "all")
        assert write(mount / table / "all/types.json", TYPES_TEXT) == ""
    else:
        row = {"partitionKey": "all", "rowKey": "types", **ALL_TYPES}
        request.getfixturevalue("sdk").create_table(table, [row])
    return mount, mount / table / "all/types.json"


@pytest.fixture(scope="module", autouse=True)
def account(make_table):
    """It is there before the first mount."""
    make_table("keys")
    make_table("untyped")
    make_table("long", [("p", key) for key in KEYS])


def test_every_type_survives_each_tool(types, stored, tmp_path):
    mount, path = types
    table = path.parts[-3]
    before = stored(table)
    assert path.read_text() == TYPES_TEXT
    for tool, script in WRITE_BACK.items():
        with mount.counting() as counted:
            run("bash", "-ec", script, "bash", path, tmp_path / "copy")
        assert counted.requests("write") == 1, tool
        assert stored(table) == before, tool
        assert path.read_text() == TYPES_TEXT, tool


# what is written: {name: (its type, its value)} of what is stored
UNTYPED = {
    '"a": 1': {"a": ("Int32", 1)},
    '"a": -2147483648': {"a": ("Int32", -2147483648)},
    '"a": 2147483648': {"a": ("Int64", "2147483648")},
    '"a": -9223372036854775808': {"a": ("Int64", "-9223372036854775808")},
    '"a": 3.0': {"a": ("Double", "3.0")},
    '"a": 1e3': {"a": ("Double", "1000.0")},
    '"a": 1E-7': {"a": ("Double", "1e-7")},
    '"a": "NaN"': {"a": ("String", "NaN")},
    '"a": ""': {"a": ("String", "")},
    '"a": "\\u00e9\\ud83d\\ude00\\/"': {"a": ("String", "é😀/")},
    '"a": "2024-01-01T00:00:00Z"': {"a": ("String", "2024-01-01T00:00:00Z")},
    '"a": true, "b": false': {"a": ("Boolean", True), "b": ("Boolean", False)},
    '"a": null, "b": 1': {"b": ("Int32", 1)},
    '"a": 1, "A": 2': {"A": ("Int32", 2), "a": ("Int32", 1)},
    '"a": 5, "a@odata.type": "Edm.Int64"': {"a": ("Int64", "5")},
    '"a@odata.type": "Edm.Int64", "a": "5"': {"a": ("Int64", "5")},
    '"a@odata.type": "Edm.Double", "a": 3': {"a": ("Double", "3.0")},
    '"a@odata.type": "Edm.Double", "a": "3"': {"a": ("Double", "3.0")},
    '"a@odata.type": "Edm.Double", "a": "-Infinity"': {"a": ("Double", '"-Infinity"')},
    '"a@odata.type": "Edm.Int32", "a": 7': {"a": ("Int32", 7)},
    '"a@odata.type": "Edm.String", "a": "x"': {"a": ("String", "x")},
    '"a@odata.type": "Edm.Guid", "a": "C9DA6455-213D-42C9-9A79-3E9149A57833"': {
        "a": ("Guid", "c9da6455-213d-42c9-9a79-3e9149a57833")
    },
    '"a@odata.type": "Edm.DateTime", "a": "2024-05-06T07:08:09.1200000Z"': {
        "a": ("DateTime", "2024-05-06T07:08:09.12Z")
    },
    '"a@odata.type": "Edm.DateTime", "a": "2008-07-10"': {"a": ("DateTime", "2008-07-10T00:00:00Z")},
    '"é": 1, "e\u0301": 2, "😀": 3, "\ufffd": 4, "z": 5': {
        "z": ("Int32", 5),
        "e\u0301": ("Int32", 2),
        "é": ("Int32", 1),
        "\ufffd": ("Int32", 4),
        "😀": ("Int32", 3),
    },
    '"\\u00e9@odata.type": "Edm.Int64", "é": 1': {"é": ("Int64", "1")},
    f'"{"名" * 255}": 1': {"名" * 255: ("Int32", 1)},
    '"a@odata.type": "Edm.Binary", "a": ""': {"a": ("Binary", "")},
    '"a@odata.type": "Edm.Int64", "b": 1': {"b": ("Int32", 1)},
    '"PartitionKey": "q", "RowKey": "s", "a": 1': {"a": ("Int32", 1)},
    '"Timestamp": "2001-01-01T00:00:00Z", "odata.etag": "W/\\"x\\"", "a": 1': {"a": ("Int32", 1)},
    "": {},
}


@pytest.mark.asan("local")
def test_json_without_types_gets_those_of_its_values(mounts):
    writing, reading = mounts("ttl=600"), mounts("ttl=0")
    os.mkdir(writing / "untyped/p")
    for number, (text, properties) in enumerate(UNTYPED.items()):
        name = f"untyped/p/{number:02}.json"
        assert write(writing / name, f"{{{text}}}") == "", text
        expected = entity_text("p", f"{number:02}", properties)
        assert (writing / name).read_text() == expected, "as this mount shows its own text"
        assert (reading / name).read_text() == expected, "as the service answers it"


def test_the_sign_of_zero_is_written(mounts, service):
    mount = mounts("ttl=600")
    os.makedirs(mount / "untyped/zero", exist_ok=True)
    assert write(mount / "untyped/zero/r.json", '{"a": -0.0}') == ""
    text = entity_text("zero", "r", {"a": ("Double", "-0.0")})
    assert (mount / "untyped/zero/r.json").read_text() == text
    # a service in JavaScript answers 0.0
    answered = text if isinstance(service, LocalAccount) else text.replace("-0.0", "0.0")
    assert (mounts() / "untyped/zero/r.json").read_text() == answered


def test_every_key_can_be_written(mounts, stored):
    """The keys in the texts count where the names are cut."""
    mount, expected = mounts("ttl=0"), {}
    os.mkdir(mount / "keys/rows")
    for key in KEYS:
        row, partition = entity_name(key), partition_name(key)
        text = json.dumps({"PartitionKey": key, "RowKey": key, "Key": key})
        assert write(mount / "keys/rows" / row, text) == "", key
        expected["rows", key] = {"Key": key}
        os.mkdir(mount / "keys" / partition)
        assert write(mount / "keys" / partition / "row.json", text) == "", key
        expected[key, "row"] = {"Key": key}
    assert stored("keys") == expected


def test_an_entity_with_a_cut_name_can_be_overwritten(mounts, stored):
    mount = mounts("ttl=0")
    cut = [key for key in KEYS if "#~" in entity_name(key)]
    for key in cut:
        assert write(mount / "long/p" / entity_name(key), json.dumps({"Key": key})) == "", key
    assert stored("long") == {("p", key): {"Key": key} if key in cut else {} for key in KEYS}
