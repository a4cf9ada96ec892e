"""A table that the service does not answer, or throttles, beside a table that works."""
import json
import os

import pytest

from harness import COMMAND_SEC, LocalAccount, run, wait_until

LISTINGS = 40  # five times the requests of a table's listings that may be in flight
ENTITIES = 3000
BACKGROUND = 12  # the requests without a waiting caller that the kernel sends at once


@pytest.fixture(scope="module")
def service(scratch):
    account = LocalAccount(scratch / "account")
    for table in ("sick", "well"):
        account.fill(table, "guid", str(ENTITIES))
    yield account
    account.stop()


@pytest.mark.parametrize("fault", ["hang=*:*", "fail=*:*:503:ServerBusy"])
def test_listings_of_a_sick_table_hold_up_no_others(mounts, begin, fault):
    flat = mounts("layout=flat", faults=f"only=sick,{fault}")
    levels = mounts("layout=auto", faults=f"only=sick,{fault}")
    for mount in (flat, levels):
        listings = [begin("ls", mount / "sick") for _ in range(LISTINGS)]
        wait_until(
            lambda mount=mount: mount.stats().total("tablefuse_waiting") >= LISTINGS,
            what="the listings",
        )
        files = run("find", mount / "well", "-type", "f").stdout.splitlines()
        assert len(files) == ENTITIES
        assert run("cat", *files[:10]).stdout.count("PartitionKey") == 10
        assert run("ls", mount / "well").stdout
        assert [listing.poll() for listing in listings] == [None] * LISTINGS


def test_throttled_to_the_end_is_busy(mounts, begin):
    """Also for those whose own request was not sent, because they waited for the requests of others."""
    mount = mounts("timeout=4", faults="only=sick,fail=query:*:503:ServerBusy")
    listings = [begin("ls", mount / "sick") for _ in range(LISTINGS)]
    for listing in listings:
        out, err = listing.communicate(timeout=COMMAND_SEC)
        assert listing.returncode != 0 and out == ""
        assert err.endswith(": Device or resource busy\n")


def test_the_service_is_not_down_for_other_tables(mounts, begin):
    """When no other table is asked for, a sick one takes the service down. The first question about a healthy one
    is asked nevertheless, also while the sick table's probe is under way."""
    mount = mounts("timeout=2", "ttl=0", "layout=flat", faults="only=sick,hang=*:*")
    file = next(iter(os.listdir(mount / "well")))
    path = f"{mount.point}/well/{file}"
    first = run("ls", mount / "sick", check=False)
    assert first.stderr.endswith(": Connection timed out\n")
    assert mount.stats().total("tablefuse_service_up") == 0
    begin("ls", mount / "sick")
    wait_until(lambda: mount.stats().total("tablefuse_waiting") >= 1, what="the probe")
    assert len(os.listdir(path)) == 1
    assert mount.stats().total("tablefuse_service_up") == 1


def test_new_files_that_are_not_stored_yet_hold_up_no_read(mounts):
    """A new file is stored by its RELEASE, which may wait for the service. The kernel sends 12 of them at once."""
    gate = mounts.prepare().point.with_name("gate")
    mount = mounts(faults=f"hold=write:{gate}")
    text = json.dumps({f"P{number}": "x" * 30000 for number in range(10)})
    for table in ("sick", "well"):
        os.mkdir(mount / f"{table}/large")
    (mount / "well/large/one.json").write_text(text)  # the kernel reads ahead of a large file's reader
    gate.touch()
    try:
        for number in range(2 * BACKGROUND):
            os.close(os.open(mount / f"sick/large/{number}.json", os.O_WRONLY | os.O_CREAT))
        wait_until(
            lambda: mount.stats().total("tablefuse_waiting") == BACKGROUND, what="the RELEASEs"
        )
        assert len(run("cat", mount / "well/large/one.json").stdout) > len(text)
        # a reader is counted until shortly after its answer
        wait_until(lambda: mount.stats().total("tablefuse_waiting") == BACKGROUND, what="the end of the reader")
    finally:
        gate.unlink()
