"""A slow service, and more callers than REQUEST_MAX_WAITING_OF_USER."""
import errno
import os
import signal
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from harness import EXIT_SEC, run, wait_until

FILES = 40  # more than come when their directory is looked up
MAX_WAITING = 900
TTL_SEC, SLOW_PAGE_SEC = 1, 1.1


@pytest.fixture(scope="module", autouse=True)
def data(sdk):
    sdk.fill_table("slow", [{"partitionKey": "p", "rowKey": f"{row:03}"} for row in range(FILES)])


def test_ls_of_pages_slower_than_the_ttl(mounts):
    """The rows of a slow page hold for half a ttl from its arrival. So no file needs a request of its own."""
    mount = mounts(faults=f"page={int(SLOW_PAGE_SEC * 1000)}")
    began = time.monotonic()
    with mount.counting() as counted:
        assert len(run("ls", "-l", mount / "slow/p").stdout.splitlines()) == FILES + 1
    assert counted.total("tablefuse_request_rows_total", operation="query") >= FILES
    # the page; the table and the partition, looked up before it and again behind it, and where ls is held up, once more
    again = int(max(time.monotonic() - began - 3 * SLOW_PAGE_SEC, 0) / (TTL_SEC / 2))
    assert counted.requests("get") == 0 and counted.requests() <= 7 + 2 * again


def test_one_caller_more_than_may_wait_fails_with_ebusy(mounts, tmp_path):
    gate = tmp_path / "gate"
    mount = mounts(faults=f"hold=list_tables:{gate}")
    gate.touch()
    results = []

    def look_up(number):
        try:
            os.stat(mount.point / f"none{number}")
        except OSError as error:
            results.append(error.errno)

    with ThreadPoolExecutor(MAX_WAITING + 8) as pool:
        for number in range(MAX_WAITING + 8):
            pool.submit(look_up, number)
        wait_until(lambda: len(results) >= 8, what="callers that are turned away")
        errors = mount.control("errors")  # readable however many wait
        assert errors.count("EBUSY") == 8 and "900 callers of this user" in errors
        assert len(results) == 8, "the others wait"
        gate.unlink()
    assert sorted(set(results)) == [errno.ENOENT, errno.EBUSY]
    assert results.count(errno.EBUSY) == 8


def test_a_name_that_was_known_fails_once(mounts):
    """The kernel repeats a LOOKUP that fails. The repetition does not wait again."""
    # after two looks at its directory and the first at the name, alone or with names after it
    faults = "fail=query:4+:503:ServerBusy,fail=get:2+:503:ServerBusy"
    mount = mounts("ttl=0.1", "timeout=5", faults=faults)
    name = mount / "slow/p/039.json"
    os.stat(name)
    time.sleep(0.2)
    with pytest.raises(OSError) as raised:
        os.stat(name)
    assert raised.value.errno == errno.EBUSY
    assert mount.stats().total("tablefuse_given_up_total") == 1


def test_an_interrupt_ends_a_listing_that_has_begun(mounts, begin):
    """Also for a program that handles the signal: after some names, python would go on reading."""
    mount = mounts(faults="page=50000")
    os.stat(mount / "slow")
    program = "import os, sys; print(1, flush=True); os.listdir(sys.argv[1])"
    reader = begin("python3", "-c", program, mount / "slow")
    assert reader.stdout.readline() == "1\n"
    wait_until(lambda: mount.stats().total("tablefuse_waiting") > 0, what="the listing")
    reader.send_signal(signal.SIGINT)
    out, err = reader.communicate(timeout=EXIT_SEC)
    assert reader.returncode != 0 and "KeyboardInterrupt" in err
