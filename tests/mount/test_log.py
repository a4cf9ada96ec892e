"""What a mount writes to the system's log, and with -f to standard error."""
import contextlib
import os
import pathlib
import re
import signal
import socket
import stat
import subprocess

import pytest

from harness import COMMAND_SEC, DETACH, EXIT_SEC, TABLEFUSE, LocalAccount, copying_mounts, environment, run, wait_until

# With a /dev of its own, whose log is the test's: mounts, has the account moved away, and looks.
SHELL = f"""
{DETACH}set -eu
mount --bind "$1" /dev
"$2" mount "$3" "$4"
mv "${{3#local:}}" "${{3#local:}}-moved"
! ls "$4" 2> /dev/null
"$2" unmount "$4"
"""


@pytest.fixture(scope="module")
def service(scratch):
    return LocalAccount(scratch / "account.tf")


@pytest.fixture
def account(service):
    service.fill("sample")
    yield service
    service.stop()


TIME = r"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z"
FAILED = (
    "readdir /: EIO: the account's file was replaced, moved or deleted [ls] -- unmount, put the right file in its"
    " place, and mount again"
)


def own_dev(directory):
    """A /dev for one program. Answers its log."""
    directory.mkdir()
    for name in ("null", "fuse"):
        device = os.stat(f"/dev/{name}").st_rdev
        os.mknod(directory / name, stat.S_IFCHR | 0o666, device)
    log = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    log.bind(str(directory / "log"))
    log.settimeout(COMMAND_SEC)
    return log


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can have a /dev of its own")
def test_the_systems_log_names_the_mount(mounts, account, scratch):
    mount = mounts.prepare()
    with own_dev(scratch / "dev") as log:
        words = ["sh", "-c", SHELL, "sh", scratch / "dev", pathlib.Path(TABLEFUSE).resolve()]
        with copying_mounts(environment()) as options:
            run("unshare", "--mount", *words, account.source, mount.point, **options)
        line = log.recv(10000).decode()
    assert re.fullmatch(
        r"<29>\w{3} [ \d]\d \d\d:\d\d:\d\d tablefuse\[\d+\]: "
        + re.escape(f"{mount.point}: {FAILED}")
        + "\0?",
        line,
    ), line


def test_the_foreground_names_the_mount(mounts, account, begin):
    """Control characters in the name of a directory cannot begin another line."""
    mount = mounts.prepare()
    point = mount.point.with_name("line\ntablefuse: forged\033[31m")
    mount.point.rename(point)
    mount.point = point
    daemon = begin(TABLEFUSE, "mount", "-f", account.source, mount.point)
    wait_until(mount.is_mounted)
    mount.adopt()
    account.file.rename(f"{account.file}-moved")
    assert run("ls", mount.point, check=False).returncode == 2
    mount.unmount()
    _, log = daemon.communicate(timeout=COMMAND_SEC)
    (line,) = log.splitlines()
    assert re.fullmatch(TIME + re.escape(f" tablefuse: {point.parent}/line?tablefuse: forged?[31m: {FAILED}"), line)


def test_a_log_that_nobody_reads_stops_nothing(mounts, account):
    """Standard error is a full pipe. Operations that log go on, and SIGTERM ends the daemon."""
    mount = mounts.prepare()
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    with contextlib.suppress(BlockingIOError):
        while True:
            os.write(writing, b"x" * 4096)
    os.set_blocking(writing, True)
    daemon = subprocess.Popen([TABLEFUSE, "mount", "-f", account.source, mount.point], stderr=writing, env=environment())
    os.close(writing)
    wait_until(mount.is_mounted)
    mount.adopt()
    account.file.rename(f"{account.file}-moved")
    for _ in range(30):
        assert run("ls", mount.point, check=False).returncode == 2
    daemon.send_signal(signal.SIGTERM)
    assert daemon.wait(timeout=EXIT_SEC) == 0 and not mount.is_mounted()
    os.close(reading)
