"""A filter with 1,000 matches in 1,000 partitions of an account in a file."""
import pytest

from harness import run
from importing import imported
from test_export import export

pytestmark = pytest.mark.parametrize("service", ["local"], indirect=True, scope="module")


def test_many_partitions(mounts, service, make_table):
    mount = mounts("ttl=600")
    make_table("many")
    rows = [{"PartitionKey": f"{p:04}", "RowKey": str(r), "Number": r} for p in range(1000) for r in range(2)]
    assert imported(service, "many", rows).stored == len(rows)
    root = mount.point / "many/.filter/Number eq 1"
    with mount.counting() as counted:
        assert len(run("ls", root).stdout.split()) == 1000
    assert counted.requests("query") == 1
    with mount.counting() as counted:
        assert len(run("find", root, "-type", "f").stdout.splitlines()) == 1000
    assert counted.requests("query") == 1 + 1000
    run("rm", "-r", root)
    assert export(service, "many").count("\n") == 1000
