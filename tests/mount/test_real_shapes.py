"""Tables as Serilog, Durable Functions, ASP.NET Identity and Azure Diagnostics write them, with made-up contents: users copy
them by cp, rsync and tar to another table, and to a disk and back. Every entity arrives, with every type."""
import os

import pytest

from harness import BOTH_SERVICES, run
from other_client import comparable, other_client
from writing import failures

pytestmark = pytest.mark.parametrize("service", BOTH_SERVICES, indirect=True)

ROWS = 36
PROGRAMS = ["serilog", "durable", "identity", "diagnostics"]


@pytest.fixture(scope="module", autouse=True)
def tables(service):
    for program in PROGRAMS:
        service.fill(program, program, str(ROWS))


@pytest.fixture(scope="module")
def read(service):
    """{(PartitionKey, RowKey): {name: (type, value)}} of a table, past every mount. The values are printed: no NaN is equal
    to another one."""
    client = other_client(service)

    def read_table(table):
        rows = client.stored(table).items()
        return {key: {name: (kind, repr(value)) for name, (kind, value) in comparable(row).items()} for key, row in rows}

    yield read_table
    client.stop()


def cp(source, target):
    run("cp", "-r", f"{source}/.", target)


def rsync(source, target):
    run("rsync", "-a", f"{source}/", target)


def tar(source, target):
    run("bash", "-o", "pipefail", "-c", 'tar -C "$1" -cf - . | tar -C "$2" -xf -', "tar", source, target)


TOOLS = [cp, rsync, tar]


def assert_all(found, expected):
    assert found.keys() == expected.keys()
    for key, row in expected.items():
        assert found[key] == row, key


@pytest.mark.parametrize("program", PROGRAMS)
def test_shapes_have_what_programs_write(read, program):
    """So that the copies prove something."""
    rows = read(program)
    assert len(rows) == ROWS
    kinds = {kind for row in rows.values() for kind, _ in row.values()}
    names = {name for row in rows.values() for name in row}
    longest = max(len(key.encode()) for keys in rows for key in keys)
    has = {
        "serilog": kinds >= {"Int32", "Int64", "Double", "Boolean", "DateTime", "Guid", "String"}
        and names >= {"Größe", "用户"}
        and longest > 255
        and any("%" in row_key for _, row_key in rows)
        and any(row["RenderedMessage"][1].count("a") > 1000 for row in rows.values()),
        "durable": any(row_key == "" for _, row_key in rows) and "_Timestamp" in names,
        "identity": longest > 255 and {"Binary", "Double"} <= kinds,
        "diagnostics": longest > 255 and "TIMESTAMP" in names and "Int64" in kinds,
    }
    assert has[program]


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("tool", TOOLS)
def test_a_table_is_copied_to_a_table(mounts, read, tool, program):
    mount = mounts()
    name = f"{program}{tool.__name__}"
    os.mkdir(mount / name)
    tool(mount / program, mount / name)
    assert_all(read(name), read(program))
    assert failures(mount) == [] and mount.lost_texts() == {}


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("tool", TOOLS)
def test_a_table_is_copied_to_a_disk_and_back(mounts, read, tmp_path, tool, program):
    """By another mount, which has not seen the names."""
    name = f"{program}{tool.__name__}back"
    there, back = mounts(), mounts()
    tool(there / program, tmp_path)
    os.mkdir(back / name)
    tool(tmp_path, back / name)
    assert_all(read(name), read(program))
    assert failures(back) == [] and back.lost_texts() == {}


@pytest.mark.parametrize("tool", TOOLS)
def test_a_second_copy_changes_nothing(mounts, read, tool):
    mount = mounts()
    name = f"twice{tool.__name__}"
    os.mkdir(mount / name)
    tool(mount / "identity", mount / name)
    tool(mount / "identity", mount / name)
    assert_all(read(name), read("identity"))
    assert failures(mount) == [] and mount.lost_texts() == {}
