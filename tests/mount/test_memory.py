"""A million entities pass through a daemon that stays small."""
import os
import pathlib
import platform
import re
import subprocess

import pytest

from harness import TABLEFUSE, LocalAccount, environment, run, wait_until

ENTITIES = 1_000_000
NODES = 20_000
MIB = 1 << 20
SMALL = 60_000  # three entities a partition
PRUNES = tuple(map(int, re.findall(r"\d+", platform.release())[:2])) >= (6, 18)
needs_prune = pytest.mark.skipif(not PRUNES, reason="only Linux 6.18 forgets when it is asked to")


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


@needs_prune
def test_the_options_for_a_container_of_64_mib(mounts, service):
    """contrib/docs/mounting.md. What the kernel needs for the nodes comes to that."""
    service.fill("small", "small", SMALL)
    mount = mounts("cache_size=8M", "max_nodes=10000")
    found = run("bash", "-c", "find . -type f | wc -l", cwd=mount / "small", timeout=300)
    assert int(found.stdout) == SMALL
    assert peak_bytes(mount) < 48 * MIB


@pytest.mark.asan
@pytest.mark.tsan
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can tell the kernel to let go")
def test_what_the_kernel_lets_go_is_forgotten(mounts):
    mount = mounts()
    run("ls", "-l", mount / "nodes/all")
    assert mount.stats().total("tablefuse_inodes") >= NODES
    mount.make_kernel_forget()
    wait_until(lambda: mount.stats().total("tablefuse_inodes") < 10, what="forgetting")
    assert sum(entry.stat().st_size > 0 for entry in os.scandir(mount / "nodes/all")) == NODES


def test_an_export_does_not_grow_with_its_table(service):
    def most_kib(rows):
        command = [TABLEFUSE, "export", "--quiet", f"{service.source}/export{rows}"]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, env=environment())
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        assert process.returncode == 0
        return usage.ru_maxrss

    service.fill("export20000", "single", "20000")
    service.fill("export300000", "single", "300000")
    assert most_kib(300_000) < most_kib(20_000) + (100 << 10)
