"""A service whose clock is another one than this machine's: the strict proxy has one that can be set."""
import pytest

from harness import COMMAND_SEC, TABLEFUSE, run, wait_until
from writing import outcome


@pytest.fixture(scope="module", autouse=True)
def data(sdk):
    sdk.create_table("orders", [{"partitionKey": "p", "rowKey": "r"}])


def refused(service):
    """How many requests had a date that the service did not accept."""
    report = service.proxy.control()
    return report["requests"].get("skewed", 0) + report["refused"].get("date", 0)


@pytest.mark.parametrize("ahead", [-1200, 1200])
def test_requests_are_signed_with_the_services_time(service, mounts, begin, ahead):
    service.proxy.control(clock=ahead)
    mount = mounts.prepare()
    daemon = begin(TABLEFUSE, "mount", "-f", "-o", "ttl=0", mount.point, **service.credentials)
    wait_until(mount.is_mounted, what="the mount")
    mount.adopt()
    assert refused(service) == 1  # of the mount's first request alone
    assert run("ls", mount / "orders/p").stdout == "r.json\n"
    (mount / "orders/p/new.json").write_text('{"N": 1}')
    (mount / "orders/p/new.json").unlink()
    assert refused(service) == 1
    skew = mount.stats().total("tablefuse_clock_skew_seconds")
    assert abs(skew - ahead) < 100  # what the answer has taken

    # as if this machine's clock were set: the next date is refused, and corrected
    service.proxy.control(clock=0, expect="date")
    assert run("ls", mount / "orders/p").stdout == "r.json\n"
    assert mount.stats().total("tablefuse_clock_skew_seconds") == 0
    assert refused(service) == 2
    assert mount.control("errors") == ""
    mount.unmount()
    _, log = daemon.communicate(timeout=COMMAND_SEC)
    wrong, right = [line.split(": ", 2)[2] for line in log.splitlines() if "clock" in line]
    side = "behind" if ahead > 0 else "ahead of"
    assert wrong.startswith("this machine's clock is 1") and wrong.endswith(
        f" s {side} the service's: requests are signed with the service's time -- set the clock"
    )
    assert right == "this machine's clock is right again"


def test_the_log_has_the_clock_beside_many_failures(service, mounts, begin):
    """Of these it has only some in each 10 s."""
    mount = mounts.prepare()
    daemon = begin(TABLEFUSE, "mount", "-f", "-o", "ttl=0", mount.point, **service.credentials)
    wait_until(mount.is_mounted, what="the mount")
    mount.adopt()
    refusals = [outcome((mount / f"orders/p/bad{i}.json").write_text, "hello") for i in range(30)]
    assert refusals == ["EINVAL"] * 30
    service.proxy.control(clock=1200)
    assert run("ls", mount / "orders/p").stdout == "r.json\n"
    mount.unmount()
    _, log = daemon.communicate(timeout=COMMAND_SEC)
    assert log.count("EINVAL") >= 20
    assert log.count("this machine's clock is 1") == 1
