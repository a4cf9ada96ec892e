"""The limit on nodes: the kernel is asked to forget what it does not use, and what it uses stays right."""
import json
import mmap
import os
import platform
import re
import subprocess

import pytest

from harness import LocalAccount, environment, run, wait_until

LIMIT = 1000
ENTITIES = 10_000
OPTIONS = (f"max_nodes={LIMIT}", "ttl=600")
PRUNES = tuple(map(int, re.findall(r"\d+", platform.release())[:2])) >= (6, 18)
needs_prune = pytest.mark.skipif(not PRUNES, reason="only Linux 6.18 forgets when it is asked to")


@pytest.fixture(scope="module")
def service(scratch):
    account = LocalAccount(scratch / "account")
    account.fill("small", "small", ENTITIES)  # three entities a partition
    account.fill("single", "single", ENTITIES)
    account.write("used", [("p", f"{number:03}") for number in range(100)])
    yield account
    account.stop()


def nodes(mount):
    return mount.stats().total("tablefuse_inodes")


def found(directory, *tests):
    """Goes through the directory as `find` does, with a LOOKUP of each entity where `tests` want its size."""
    names = run("find", directory, "-type", "f", *tests, timeout=300).stdout.splitlines()
    assert len(set(names)) == len(names)
    return len(names)


def test_listed_entities_get_no_nodes_above_half_of_the_limit(mounts):
    """On each kernel: the limit itself is not reached."""
    limit = ENTITIES
    mount = mounts(f"max_nodes={limit}", "ttl=600")
    with mount.counting() as counted:
        assert found(mount / "small") == ENTITIES
    partitions = int(run("bash", "-c", "find . -type d | wc -l", cwd=mount / "small").stdout)
    assert limit / 2 < nodes(mount) < limit / 2 + partitions < limit
    assert counted.requests() < ENTITIES / 100


@pytest.mark.tsan
def test_a_listing_shows_the_same_with_and_without_nodes(mounts):
    few, many = mounts(*OPTIONS), mounts("ttl=600")
    for path in ("single/all", "used/p"):
        shown = [
            {(entry.name, entry.inode(), entry.is_file()) for entry in os.scandir(mount / path)}
            for mount in (few, many)
        ]
        assert shown[0] == shown[1]
        for name, _, _ in list(shown[0])[:50]:
            assert os.stat(few / path / name).st_ino == os.stat(many / path / name).st_ino


@pytest.mark.asan
@needs_prune
def test_a_walk_leaves_as_many_nodes_as_the_limit(mounts):
    mount = mounts(*OPTIONS)
    for tests in ((), ("-size", "+0")):
        assert found(mount / "small", *tests) == ENTITIES
        wait_until(lambda: nodes(mount) < 2 * LIMIT, what="forgetting")


@pytest.mark.tsan
def test_what_is_used_stays_during_a_walk(mounts, service):
    mount = mounts(*OPTIONS)
    used = mount / "used/p"
    texts = {name: (used / name).read_bytes() for name in ("001.json", "002.json")}
    opened = os.open(used / "001.json", os.O_RDONLY)
    number = os.fstat(opened).st_ino
    with open(used / "002.json", "rb") as file:
        mapped = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)
    written = os.open(used / "003.json", os.O_WRONLY | os.O_TRUNC)
    os.write(written, b'{"N": ')
    created = os.open(used / "new.json", os.O_WRONLY | os.O_CREAT | os.O_EXCL)
    os.write(created, b'{"N": ')
    inside = subprocess.Popen(
        ["bash", "-c", "read -r; /bin/pwd; cat 001.json; ls ../p | wc -l"],
        cwd=used,
        env=environment(),
        text=True,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert found(mount / "small", "-size", "+0") == ENTITIES
    assert found(mount / "small", "-size", "+0") == ENTITIES

    assert os.read(opened, 4096) == texts["001.json"] and mapped[:] == texts["002.json"]
    assert os.fstat(opened).st_ino == os.stat(used / "001.json").st_ino == number
    assert os.readlink(f"/proc/self/fd/{opened}") == str(used / "001.json")
    assert inside.communicate("go on\n", timeout=60)[0] == f"{used}\n{texts['001.json'].decode()}101\n"
    for file, name in ((written, "003.json"), (created, "new.json")):
        os.write(file, b"7}")
        os.close(file)
        assert json.loads((used / name).read_text())["N"] == 7
    assert sum(json.loads(text).get("N") == 7 for text in service.read_texts("used")) == 2
    os.close(opened)
    mapped.close()
    assert mount.control("errors") == ""


def test_each_text_is_right_behind_the_limit(mounts, service):
    mount = mounts(*OPTIONS)
    read = run("bash", "-c", "find . -name '*[05].json' -exec cat {} +", cwd=mount / "small", timeout=300)
    plain = mounts("ttl=600")
    expected = run("bash", "-c", "find . -name '*[05].json' -exec cat {} +", cwd=plain / "small", timeout=300)
    assert read.stdout == expected.stdout != ""
