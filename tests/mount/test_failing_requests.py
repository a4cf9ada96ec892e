"""With one request in twenty failing, no tool asks for much more than on a day without faults: a failure costs a request of
its own, and nothing that was known before is asked for again. With ttl=600, so that what is known does not grow old in a
pause before a request is sent again."""
import os

import pytest

from harness import LocalAccount, run

PARTITIONS, ROWS = 24, 50  # a batch for each
FAULTS = {"fail=*:/20:503:ServerBusy": 503, "fail=*:/20:0:": 0}
MORE = 1.3

pytestmark = pytest.mark.alone  # how many batches are sent depends on how fast texts come


@pytest.fixture(scope="module")
def service(scratch):
    account = LocalAccount(scratch / "account")
    account.fill("ten", "ten", "30000")
    yield account
    account.stop()


@pytest.fixture(scope="module")
def files(scratch):
    directory = scratch / "files"
    for partition in range(PARTITIONS):
        (directory / f"p{partition}").mkdir(parents=True)
        for row in range(ROWS):
            (directory / f"p{partition}/{row:03}.json").write_text('{"N": 1}\n')
    return directory


def requests_of_find(mounts, faults):
    mount = mounts("ttl=600", faults=faults)
    with mount.counting() as counted:
        found = run("find", mount / "ten", "-type", "f").stdout
    assert len(set(found.splitlines())) == 30_000
    return counted


def requests_of_cp(mounts, faults, files):
    mount = mounts("writeback", "ttl=600", faults=faults)
    os.mkdir(mount / "new")
    with mount.counting() as counted:
        run("cp", "-r", *files.iterdir(), mount / "new")
        mount.send_queued()
    assert len(run("find", mount / "new", "-type", "f").stdout.splitlines()) == PARTITIONS * ROWS
    return counted


def requests_of_rm(mounts, faults):
    mount = mounts("ttl=600", faults=faults)
    with mount.counting() as counted:
        run("rm", "-r", *(mount / "new").iterdir())
    assert os.listdir(mount / "new") == []
    os.rmdir(mount / "new")
    return counted


def requests_of_a_day(mounts, files, faults):
    return {
        "find": requests_of_find(mounts, faults),
        "cp": requests_of_cp(mounts, faults, files),
        "rm": requests_of_rm(mounts, faults),
    }


def test_a_failure_costs_one_request(mounts, files):
    clean = requests_of_a_day(mounts, files, None)
    for faults, status in FAULTS.items():
        for tool, counted in requests_of_a_day(mounts, files, faults).items():
            asked = (faults, tool, counted.asked(), clean[tool].asked())
            assert counted.requests(status=status) > 0, asked
            assert counted.requests() <= MORE * clean[tool].requests(), asked
