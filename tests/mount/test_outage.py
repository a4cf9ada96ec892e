"""A service that is gone, or that answers without an end: operations fail soon, for the right reason, and work again
once the service does."""
import errno
import os
import re
import signal
import subprocess

import pytest

from harness import (
    COMMAND_SEC,
    EXIT_SEC,
    FAULTY,
    NETWORK,
    TABLEFUSE,
    environment,
    run,
    wait_until,
)
from ports import refusing_port

pytestmark = pytest.mark.parametrize("service", ["local"], indirect=True)

FILES = 1000
PATIENCE = "timeout=2"


@pytest.fixture(scope="module", autouse=True)
def tables(make_table):
    make_table("one", [("p", f"{row:04}") for row in range(FILES)])


@pytest.fixture
def outage(tmp_path):
    """The service is down while this file exists."""
    return tmp_path / "down"


def works(path):
    return subprocess.run(["cat", path], capture_output=True, check=False).returncode == 0


def failed_lines(mount):
    return mount.control("errors").splitlines()


def service_up(mount):
    return mount.stats().total("tablefuse_service_up")


def test_a_loop_over_a_thousand_files(mounts, outage):
    """It takes one timeout and not a thousand. The cause stays in `errors`."""
    mount = mounts("ttl=0", PATIENCE, faults=f"down={outage}")
    assert service_up(mount) == 1
    assert works(mount / "one/p/0000.json")
    outage.touch()
    loop = f'for i in $(seq -w 0 {FILES - 1}); do cat "$1/$i.json"; done'
    failed = run("sh", "-c", loop, "sh", mount / "one/p", check=False)
    assert failed.returncode == 1 and failed.stdout == ""
    lines = failed.stderr.splitlines()
    assert len(lines) == FILES
    assert all(line.endswith("Connection refused") for line in lines)

    stats = mount.stats()
    assert service_up(mount) == 0
    assert stats.total("tablefuse_service_outages_total") == 1
    assert stats.total("tablefuse_given_up_total") == 1
    assert stats.requests(status="0") < 30  # attempts of the first, and probes
    cause, at_once = failed_lines(mount)
    assert "ECONNREFUSED: the connection was refused [cat]" in cause
    assert "the service is down: the connection" in at_once
    assert f"(and {FILES - 2} more until 20" in at_once
    assert stats.total("tablefuse_failures_total") == FILES


def test_errors_name_the_path(mounts, outage):
    """The kernel asks a second time for a name that it knows. That is no failure of its own."""
    mount = mounts("ttl=0", PATIENCE, faults=f"down={outage}")
    assert works(mount / "one/p/0001.json")
    outage.touch()
    assert not works(mount / "one/p/0001.json")
    (line,) = failed_lines(mount)
    assert line.split("Z ")[1] == "lookup /one: ECONNREFUSED: the connection was refused [cat]"
    assert mount.stats().total("tablefuse_failures_total") == 1


@pytest.mark.parametrize(
    "command, path, code",
    [("cat", "one/p/0001.json", 1), ("ls", "one/p", 2), ("ls", "", 2), ("stat", "one", 1)],
)
def test_tools_say_that_it_was_refused(mounts, outage, command, path, code):
    mount = mounts("ttl=0", PATIENCE, faults=f"down={outage}")
    outage.touch()
    for _ in range(2):  # the first waits, the second does not
        failed = run(command, mount / path, check=False)
        assert (failed.returncode, failed.stdout) == (code, "")
        assert "Connection refused" in failed.stderr
    outage.unlink()
    wait_until(lambda: run(command, mount / path, check=False).returncode == 0)
    assert service_up(mount) == 1


def test_a_mount_that_was_idle_comes_back_without_a_failure(mounts, outage):
    """The first operation after the pause is the probe, and goes on."""
    mount = mounts("ttl=0", PATIENCE, faults=f"down={outage}")
    outage.touch()
    assert not works(mount / "one/p/0001.json")
    outage.unlink()
    since = mount.stats().total("tablefuse_service_since_timestamp_seconds")
    # the first probe is due a second after the service went down
    wait_until(lambda: run("date", "+%s").stdout.strip() >= str(int(since) + 2), what="the pause")
    before = mount.stats().total("tablefuse_failures_total")
    assert works(mount / "one/p/0001.json")
    assert mount.stats().total("tablefuse_failures_total") == before
    assert service_up(mount) == 1


def test_readers_that_wait_fail_when_the_first_gives_up(mounts, begin, outage):
    mount = mounts("ttl=0", "timeout=6", faults=f"down={outage}")
    outage.touch()
    readers = [begin("cat", mount / f"one/p/{row:04}.json") for row in range(20)]
    for reader in readers:
        _, err = reader.communicate(timeout=60)
        assert reader.returncode == 1 and "Connection refused" in err
    assert mount.stats().total("tablefuse_service_outages_total") == 1
    assert len(failed_lines(mount)) <= 2 * len(readers)


def test_the_log_has_a_line_for_each_change(mounts, begin, service, outage):
    mount = mounts.prepare()
    daemon = begin(
        *(FAULTY, "mount", "-f", "-o", f"ttl=0,{PATIENCE}", service.source, mount.point),
        TABLEFUSE_FAULTS=f"down={outage}",
    )
    wait_until(mount.is_mounted)
    mount.adopt()
    outage.touch()
    for row in range(50):
        assert not works(mount / f"one/p/{row:04}.json")
    outage.unlink()
    wait_until(lambda: works(mount / "one/p/0001.json"))
    mount.unmount()
    _, log = daemon.communicate(timeout=COMMAND_SEC)
    assert log.count("the service is down, operations fail at once: the connection was refused") == 1
    back = rf"^\S+Z tablefuse: {re.escape(str(mount.point))}: the service answers again, after \d+ s$"
    assert len(re.findall(back, log, re.M)) == 1
    assert len(log.splitlines()) <= 5  # and the failure that waited


@pytest.mark.parametrize("root", ["account", "table"])
def test_pages_without_an_end(mounts, root):
    """Each page is empty and has a new token. The listing of the tables, and the rows of a table."""
    options, path = ([], "one") if root == "account" else (["table=one"], "p")
    mount = mounts("ttl=0", "timeout=4", *options, faults="endless=2")
    failed = run("ls", mount / path, check=False)
    assert failed.returncode == 2 and "Protocol error" in failed.stderr
    assert "without a row, each with another continuation token" in mount.control("errors")
    stats = mount.stats()
    assert stats.requests() < 40
    assert stats.total("tablefuse_service_up") == 1
    with pytest.raises(OSError) as failure:
        os.listdir(mount.point)
    assert failure.value.errno == errno.EPROTO


def test_an_interrupt_ends_the_wait_for_the_next_page(mounts, begin):
    mount = mounts("ttl=0", "table=one", faults="endless=2")
    reader = begin("ls", mount / "p")
    wait_until(lambda: mount.stats().requests("query") >= 6, what="a pause")
    os.killpg(reader.pid, signal.SIGINT)
    reader.communicate(timeout=EXIT_SEC)
    assert reader.returncode == -signal.SIGINT


def mount_at(mount, endpoint, **variables):
    credentials = f"AccountName=devstoreaccount1;AccountKey=bm90IGEga2V5;TableEndpoint={endpoint}"
    return run(
        *(TABLEFUSE, "mount", "-o", PATIENCE, mount.point),
        check=False,
        env=environment(AZURE_STORAGE_CONNECTION_STRING=credentials, **variables),
    )


@pytest.mark.parametrize(
    "host, proxy, said",
    [
        ("http://127.0.0.1:{port}/devstoreaccount1", None, "at http.* Failed to connect to 127.0.0.1"),
        ("https://devstoreaccount1.table.invalid", None, "Could not resolve host: devstoreaccount1"),
        ("https://devstoreaccount1.table.invalid", "http://127.0.0.1:{port}", "proxy: Failed to con"),
        ("https://devstoreaccount1.table.invalid", "http://proxy.invalid:1", "proxy: Could not res"),
    ],
    ids=["refused", "no host", "proxy refuses", "no proxy"],
)
def test_mount_says_why_there_is_no_connection(mounts, host, proxy, said):
    mount = mounts.prepare()
    with refusing_port() as port:
        variables = {"https_proxy": proxy.format(port=port)} if proxy else {}
        failed = mount_at(mount, host.format(port=port), **variables)
    assert failed.returncode == NETWORK and not mount.is_mounted()
    assert re.search(said, failed.stderr) and len(failed.stderr.splitlines()) == 1
    assert ("check the proxy that https_proxy names" in failed.stderr) == bool(proxy)
