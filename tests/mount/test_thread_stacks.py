"""The program's own threads have small stacks: the deepest paths leave a quarter of each unused."""
import os
import re
import shutil

import pytest

from credentials import Certificate
from expected import partition_name
from harness import PAINTED_STACKS, ROOT, Azurite, LocalAccount, run
from importing import imported
from writing import OVER, outcome, write

KIB = int(re.search(r"THREAD_STACK_BYTES \(\(size_t\)(\d+) << 10\)", (ROOT / "client/base/thread.h").read_text())[1])
# the service's longest keys, of the characters that take most bytes; more rows than a batch has
PARTITION = "鍵" * 512
ROWS = [(PARTITION, "鍵" * 509 + f"{n:03}") for n in range(110)]


@pytest.fixture(scope="module")
def certificate(scratch):
    return Certificate(scratch)


@pytest.fixture(scope="module", params=["tls", "local"])
def service(request, scratch, certificate):
    service = Azurite(scratch, certificate=certificate) if request.param == "tls" else LocalAccount(scratch / "account")
    yield service
    service.stop()


@pytest.fixture
def painted(service, certificate, tmp_path):
    """Variables of a program whose stacks are painted."""
    return {
        **service.credentials,
        "SSL_CERT_FILE": certificate.file,
        "LD_PRELOAD": str(PAINTED_STACKS),
        "TABLEFUSE_STACKS": str(tmp_path / "stacks"),
    }


def unused(painted):
    """The bytes of each stack that its thread has not used."""
    with open(painted["TABLEFUSE_STACKS"], encoding="ascii") as report:
        sizes = [int(line) for line in report]
    os.unlink(report.name)
    return sizes


def test_a_quarter_of_each_stack_is_unused(mounts, service, painted, make_table):
    make_table("keys", ROWS + [(f"p{n:03}", "r") for n in range(100)])
    mount, other = mounts("writeback", "ttl=600", env=painted), mounts("ttl=0", env=painted)
    run("grep", "-rc", "PartitionKey", mount / "keys")
    directory = f"keys/{partition_name(PARTITION)}"
    names = os.listdir(mount / directory)
    assert len(names) == len(ROWS)
    changed = f"{directory}/{names[50]}"
    (mount / changed).read_text()
    assert write(other / changed, '{"By": "another"}', OVER) == ""
    for name in names:
        assert write(mount / directory / name, '{"By": "me"}', OVER) == ""
    assert outcome(mount.send_queued) == "ESTALE", "a batch was refused and sent again without one of its changes"
    shutil.rmtree(mount / directory)
    mount.send_queued()
    other.unmount()
    mount.unmount()
    stacks = unused(painted)
    assert len(stacks) >= 8 and min(stacks) >= (KIB << 10) // 4

    rows = [{"PartitionKey": partition, "RowKey": row} for partition, row in ROWS]
    assert imported(service, "keys", rows, credentials=painted).stored == len(rows)
    assert min(unused(painted)) >= (KIB << 10) // 4
