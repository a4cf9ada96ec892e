"""Ordinary tools read what the SDK has written: texts, names, sizes, times."""
import json
import os
import re

import pytest

from expected import entity_name, entity_text, partition_name, utf16_order
from harness import run
from samples import ALL_EXPECTED, ALL_TYPES, KEYS, TYPES


@pytest.fixture(scope="module", autouse=True)
def data(sdk):
    sdk.create_table(
        "types",
        [
            {"partitionKey": "all", "rowKey": "types", **ALL_TYPES},
            {"partitionKey": "all", "rowKey": "none"},
        ],
    )
    sdk.create_table("keys")
    sdk.insert("keys", [{"partitionKey": key, "rowKey": "row", "Key": key} for key in KEYS])
    sdk.insert("keys", [{"partitionKey": "rows", "rowKey": key, "Key": key} for key in KEYS])
    sdk.fill_table(
        "orders",
        [
            {
                "partitionKey": f"customer{customer}",
                "rowKey": f"{order:04}",
                "Total": order * 1.25,
                "Open": order % 2 == 0,
            }
            for customer in range(5)
            for order in range(40)
        ],
    )
    sdk.create_table("empty")


def text_of(key, partition_key, row_key):
    return entity_text(partition_key, row_key, {"Key": ("String", key)})


def read_tree(directory):
    """{path: bytes} of all files below."""
    return {
        os.path.relpath(os.path.join(folder, name), directory): open(
            os.path.join(folder, name), "rb"
        ).read()
        for folder, _, names in os.walk(directory)
        for name in names
    }


def test_root_lists_the_tables(mount):
    assert run("ls", mount.point).stdout.split() == ["empty", "keys", "orders", "types"]
    assert os.listdir(mount / "empty") == []


def test_every_type_is_read_as_it_was_written(mount):
    text = run("cat", mount / "types/all/types.json").stdout
    assert text == entity_text("all", "types", ALL_EXPECTED)
    assert run("cat", mount / "types/all/none.json").stdout == entity_text("all", "none", {})


def test_jq_reads_what_the_sdk_reads(mount, sdk):
    (stored,) = [row for row in sdk.read("types") if row["rowKey"] == "types"]
    seen = json.loads(run("jq", ".", mount / "types/all/types.json").stdout)
    assert (
        run("jq", "-r", '.["Int64"]', mount / "types/all/types.json").stdout == "9007199254740993\n"
    )
    for name, (_, kind, value) in TYPES.items():
        if kind in ("Int32", "Double"):
            assert str(float(seen[name])) == str(float(stored[name]["value"]))
        else:
            assert seen[name] == value
        annotation = None if kind in ("String", "Boolean", "Int32") else "Edm." + kind
        assert seen.get(name + "@odata.type") == annotation


def test_every_key_is_listed(mount):
    partitions = {partition_name(key) for key in KEYS} | {"rows"}
    assert len(partitions) == len(KEYS) + 1, "the names of two keys are never the same"
    assert set(os.listdir(mount / "keys")) == partitions
    assert set(os.listdir(mount / "keys/rows")) == {entity_name(key) for key in KEYS}
    longest = max(len(os.fsencode(name)) for name in os.listdir(mount / "keys/rows"))
    assert longest == 255 == os.statvfs(mount.point).f_namemax


def test_names_are_listed_in_the_order_of_the_service(mount):
    listed = run("ls", "-U", mount / "keys/rows").stdout.splitlines()
    assert listed == [entity_name(key) for key in sorted(KEYS, key=utf16_order)]
    with os.scandir(mount / "keys/rows") as entries:
        numbers = [entry.inode() for entry in entries]
    assert numbers == sorted(set(numbers)), "inode numbers grow along a listing"


@pytest.mark.parametrize("is_listed_first", [False, True])
def test_every_key_resolves_and_reads_back(mount, is_listed_first):
    if is_listed_first:
        run("ls", "-lR", mount / "keys")
    for key in KEYS:
        for path, text in (
            (f"{partition_name(key)}/row.json", text_of(key, key, "row")),
            (f"rows/{entity_name(key)}", text_of(key, "rows", key)),
        ):
            with open(mount / "keys" / path, encoding="utf-8", newline="") as file:
                assert file.read() == text, path
            assert os.stat(mount / "keys" / path).st_size == len(text.encode())


@pytest.mark.asan("keys/a#00")
@pytest.mark.parametrize(
    "name",
    [
        "keys/rows/missing.json",
        "keys/rows/#41.json",
        "keys/rows/A",
        "keys/rows/A.JSON",
        "keys/rows/a#.json",
        "keys/rows/#.json",
        "keys/rows/a#2b.json",
        "keys/rows/a#2B.json",
        "keys/rows/#00#00.json",
        "keys/rows/l#~0000000000000000.json",
        "keys/missing",
        "keys/a#00",
        "keys/#2e",
        "KEYS",
        "missing",
        "missing/p/r.json",
        "keys/a+/row.json/x",
        "types/all/types",
        ".hidden",
        "keys/rows/" + "m" * 240 + ".json",
    ],
)
def test_a_name_that_is_not_there_is_not_there(mount, name):
    with pytest.raises((FileNotFoundError, NotADirectoryError)):
        os.stat(mount / name)


def test_a_cut_name_is_found_by_one_question(mounts):
    mount = mounts("ttl=600")
    os.stat(mount / "keys/rows")
    name = entity_name("l" * 511 + "b")
    assert "#~" in name
    with mount.counting() as counted:
        assert text_of("l" * 511 + "b", "rows", "l" * 511 + "b") == (
            mount / "keys/rows" / name
        ).read_text(encoding="utf-8")
    assert counted.asked() == {"query": 1}
    with mount.counting() as again:
        run("cat", mount / "keys/rows" / entity_name("l" * 511 + "a"))
        assert not os.path.exists(mount / "keys/rows" / name.replace("l#~", "l#~0")[:-6])
    assert again.asked() == {}


def test_sizes_and_times_are_exact(mount, sdk):
    stamps = {
        row["rowKey"]: row["timestamp"]
        for row in sdk.read("orders")
        if row["partitionKey"] == "customer3"
    }
    long_format = run(
        "ls",
        "-l",
        "--time-style=full-iso",
        mount / "orders/customer3",
        env={**os.environ, "TZ": "UTC"},
    )
    lines = long_format.stdout.splitlines()[1:]
    assert len(lines) == len(stamps) == 40
    for line in lines:
        mode, links, _, _, size, date, time, _, name = line.split()
        key = name.removesuffix(".json")
        assert mode == "-rw-r--r--" and links == "1"
        assert int(size) == len((mount / "orders/customer3" / name).read_bytes())
        digits = re.sub(r"\D", "", stamps[key])
        assert re.sub(r"\D", "", date + time).startswith(digits.ljust(21, "0"))
    status = os.stat(mount / "orders/customer3/0000.json")
    assert (
        status.st_mtime_ns == status.st_ctime_ns
        and status.st_mtime_ns % 100 == 0
        and status.st_blocks > 0
    )
    assert os.stat(mount / "orders/customer3").st_nlink == 1
    assert os.stat(mount / "orders/customer3").st_mode & 0o7777 == 0o755


def test_find_meets_every_entity_once(mount):
    found = run("find", mount / "orders", "-type", "f", "-printf", "%P\n").stdout.splitlines()
    assert sorted(found) == [f"customer{c}/{o:04}.json" for c in range(5) for o in range(40)]
    assert run("find", mount.point, "-name", ".*").stdout == "", "control names are never listed"


def test_grep_finds_a_property(mount):
    found = run("grep", "-rl", '"Total": 48.75', mount / "orders").stdout.splitlines()
    assert sorted(found) == [str(mount / f"orders/customer{c}/0039.json") for c in range(5)]
    assert run("grep", "-r", "no such text", mount / "orders", check=False).returncode == 1


def test_tar_and_cp_copy_the_tree(mount, tmp_path):
    stored = read_tree(mount / "orders")
    assert len(stored) == 200
    run("sh", "-c", 'tar cf - -C "$1" orders | tar xf - -C "$2"', "sh", mount.point, tmp_path)
    assert read_tree(tmp_path / "orders") == stored
    run("cp", "-r", mount / "orders", tmp_path / "copied")
    assert read_tree(tmp_path / "copied") == stored
    run("diff", "-r", mount / "orders", tmp_path / "copied")


def test_the_awkward_tree_is_copied_whole(mount, tmp_path):
    run("cp", "-r", mount / "keys", tmp_path / "keys")
    expected = {f"{partition_name(key)}/row.json": text_of(key, key, "row") for key in KEYS}
    expected.update({f"rows/{entity_name(key)}": text_of(key, "rows", key) for key in KEYS})
    assert {path: text.decode() for path, text in read_tree(tmp_path / "keys").items()} == expected


def test_a_second_rsync_transfers_nothing(mounts, tmp_path):
    mount = mounts()
    first = run("rsync", "-a", "--stats", f"{mount.point}/", tmp_path)
    assert "regular files transferred: 0" not in first.stdout
    assert read_tree(tmp_path) == read_tree(mount.point)
    second = run("rsync", "-a", "--stats", f"{mount.point}/", tmp_path)
    assert "Number of regular files transferred: 0\n" in second.stdout
    mount.unmount()
    again = run("rsync", "-a", "--stats", f"{mounts().point}/", tmp_path)
    assert (
        "Number of regular files transferred: 0\n" in again.stdout
    ), "times and sizes outlive a mount"


def test_changes_are_seen_after_ttl(mounts, sdk):
    sdk.create_table("changing", [{"partitionKey": "p", "rowKey": "r", "N": 1}])
    path = mounts("ttl=0") / "changing/p/r.json"
    before = os.stat(path)
    assert json.loads(path.read_text())["N"] == 1
    sdk.update("changing", [{"partitionKey": "p", "rowKey": "r", "N": 200, "More": "text"}])
    assert json.loads(path.read_text())["N"] == 200
    assert os.stat(path).st_size > before.st_size and os.stat(path).st_mtime_ns > before.st_mtime_ns
    sdk.remove("changing", "p", "r")
    with pytest.raises(FileNotFoundError):
        path.read_text()


def test_an_open_file_keeps_its_text(mounts, sdk):
    sdk.create_table("versions", [{"partitionKey": "p", "rowKey": "r", "N": 1}])
    path = mounts("ttl=0") / "versions/p/r.json"
    with open(path) as old:
        sdk.update("versions", [{"partitionKey": "p", "rowKey": "r", "N": 22222}])
        assert json.loads(path.read_text())["N"] == 22222
        assert json.loads(old.read())["N"] == 1


def test_reads_at_any_offset(mount):
    text = entity_text("all", "types", ALL_EXPECTED).encode()
    with open(mount / "types/all/types.json", "rb", buffering=0) as file:
        for offset in (0, 1, 4095, 4096, len(text) - 1, len(text), len(text) + 5000):
            assert os.pread(file.fileno(), 100, offset) == text[offset : offset + 100]


def test_nothing_can_be_written_with_ro(mounts):
    mount = mounts("ro")
    for arguments in (
        ["touch", "orders/new.json"],
        ["rm", "orders/customer0/0000.json"],
        ["mkdir", "table"],
        ["mv", "orders/customer0/0000.json", "orders/customer0/moved.json"],
    ):
        failed = run(*arguments, cwd=mount.point, check=False)
        assert failed.returncode != 0 and "Read-only file system" in failed.stderr
