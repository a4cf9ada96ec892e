"""The process of a mount, as a cron job or a supervisor starts it: with closed descriptors, and signals of any kind."""
import os
import signal

import pytest

from harness import (
    FAULTY,
    OTHER_KEY,
    REFUSED,
    TABLEFUSE,
    assert_serves,
    environment,
    no_copies,
    run,
    wait_until,
)

pytestmark = pytest.mark.usefixtures("two_tables")


@pytest.mark.parametrize("number", ["ALRM", "IO", "PIPE", "PROF", "USR1", "USR2", "VTALRM", "XFSZ"])
def test_a_signal_that_ends_other_programs_is_ignored(mount, number):
    mount.send(getattr(signal, f"SIG{number}"))
    assert_serves(mount)
    assert not mount.has_ended(0)
    mount.unmount()
    assert mount.has_ended()


@pytest.mark.parametrize(
    "closed", ["<&-", ">&-", "2>&-", "<&- >&-", "<&- 2>&-", ">&- 2>&-", "<&- >&- 2>&-"]
)
def test_standard_descriptors_that_are_closed(mounts, service, closed):
    """The mount is ready when the command returns 0, and what failed has its exit code."""
    mount = mounts.prepare()
    command = f'"$0" mount "$1" {closed}'
    wrong = {"AZURE_STORAGE_CONNECTION_STRING": service.connection_string(key=OTHER_KEY)}
    for env, code in ((wrong, REFUSED), (service.credentials, 0)):
        variables = environment(**env, **mount.variables())
        done = run("sh", "-c", command, TABLEFUSE, mount.point, env=variables, check=False)
        assert done.returncode == code
        assert ("the account key is wrong" in done.stderr) == (code != 0 and "2>&-" not in closed)
    mount.adopt()
    assert_serves(mount)
    for _ in range(3):
        assert not os.path.exists(mount / "table/p/none")
    standard = [os.readlink(f"/proc/{mount.pid}/fd/{number}") for number in range(3)]
    assert standard == ["/dev/null"] * 3
    with no_copies():
        closing = run("sh", "-c", f'"$0" unmount "$1" {closed}', TABLEFUSE, mount.point, check=False)
    assert closing.returncode == 0 and not mount.is_mounted() and mount.has_ended()


def test_messages_do_not_go_where_a_closed_descriptor_was(mounts, begin, service):
    """In the foreground each failure is a line: it is not written into the connection to the service."""
    mount = mounts.prepare()
    env = {**service.credentials, **mount.variables(), "TABLEFUSE_FAULTS": "fail=write:1:400:InvalidInput"}
    begin("sh", "-c", 'exec "$0" mount -f "$1" 2>&-', FAULTY, mount.point, **env)
    wait_until(mount.is_mounted, what="the mount")
    mount.adopt()
    os.close(os.open(mount / "table/p/lost.json", os.O_WRONLY | os.O_CREAT))
    wait_until(lambda: "InvalidInput" in mount.control("errors"), what="the failure")
    assert_serves(mount)
    assert mount.control("errors").count("\n") == 1
    mount.unmount(check=False)
    assert mount.has_ended()
