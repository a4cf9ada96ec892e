"""A million entities pass through a daemon that stays small."""
import os
import pathlib
import re

import pytest

from harness import LocalAccount, run, wait_until

ENTITIES = 1_000_000
NODES = 20_000
MIB = 1 << 20


@pytest.fixture(scope="module")
def service(scratch):
    account = LocalAccount(scratch / "account")
    account.fill("nodes", "single", NODES)
    yield account
    account.stop()


def peak_bytes(mount):
    status = pathlib.Path(f"/proc/{mount.pid}/status").read_text()
    return int(re.search(r"^VmHWM:\s+(\d+) kB$", status, re.MULTILINE)[1]) << 10


@pytest.fixture(scope="module")
def million(service):
    service.fill("million", "single", ENTITIES)


@pytest.mark.parametrize("command", ["find . -type f | wc -l", "ls -f | grep -c json"])
def test_a_million_entities_are_listed_in_200_mib(mounts, million, command):
    mount = mounts()
    with mount.counting() as counted:
        listed = run("bash", "-c", command, cwd=mount / "million/all", timeout=300)
    assert int(listed.stdout) == ENTITIES
    assert peak_bytes(mount) < 200 * MIB
    assert counted.requests() <= 1.15 * ENTITIES / 1000


@pytest.mark.sanitized
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can tell the kernel to let go")
def test_what_the_kernel_lets_go_is_forgotten(mounts):
    mount = mounts()
    run("ls", "-l", mount / "nodes/all")
    assert mount.stats().total("tablefuse_inodes") >= NODES
    mount.make_kernel_forget()
    wait_until(lambda: mount.stats().total("tablefuse_inodes") < 10, what="forgetting")
    assert sum(entry.stat().st_size > 0 for entry in os.scandir(mount / "nodes/all")) == NODES
