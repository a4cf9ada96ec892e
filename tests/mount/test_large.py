"""Twenty thousand entities: all of them, each once, for as many requests as their pages are."""
import os

import pytest

from harness import run

# one partition of many pages, one that ends with a full page, one that fits into a page
PARTITIONS = {"a": 12_345, "b": 7_000, "c": 655}
PAGE_ROWS = 1000
FIRST_ROWS = 32  # come when the partition is looked up
ENTITIES = sum(PARTITIONS.values())

pytestmark = pytest.mark.timeout(120)


def pages(rows):
    return -(-rows // PAGE_ROWS)


@pytest.fixture(scope="module", autouse=True)
def data(sdk):
    sdk.fill_table(
        "large",
        [
            {"partitionKey": partition, "rowKey": f"{row:05}", "Row": row}
            for partition, rows in PARTITIONS.items()
            for row in range(rows)
        ],
    )


@pytest.fixture
def patient(mounts):
    """A mount that lets the kernel keep what it was told: so every request counted is a listing's."""
    return mounts("ttl=600")


def test_there_are_twenty_thousand():
    assert ENTITIES == 20_000


@pytest.mark.parametrize("partition", PARTITIONS)
def test_ls_asks_once_a_page(patient, partition):
    os.stat(patient / "large" / partition)
    with patient.counting() as counted:
        listed = run("ls", "-l", patient / "large" / partition).stdout.splitlines()[1:]
    assert [line.split()[-1] for line in listed] == [
        f"{row:05}.json" for row in range(PARTITIONS[partition])
    ]
    rows_behind = PARTITIONS[partition] - FIRST_ROWS
    assert counted.requests("query", command="ls") == counted.requests() == pages(rows_behind)
    assert counted.total("tablefuse_request_rows_total") == rows_behind


def test_the_first_listing_pays_for_its_lookups_alone(patient):
    with patient.counting() as counted:
        run("ls", "-l", patient / "large/c")
    looks = {"list_tables": 1, "query": 1}
    assert counted.asked() == {**looks, "query": 1 + pages(PARTITIONS["c"] - FIRST_ROWS)}


def test_find_asks_for_the_pages_and_the_jumps(patient):
    os.stat(patient / "large")
    with patient.counting() as counted:
        found = run(
            "find", patient / "large", "-type", "f", "-printf", "%P\n", timeout=60
        ).stdout.splitlines()
    expected = [
        f"{partition}/{row:05}.json"
        for partition, rows in PARTITIONS.items()
        for row in range(rows)
    ]
    assert found == expected, "all, each once, in the order of keys"
    jumps = len(PARTITIONS) + 1  # behind each partition, the last of them to see that none follows
    assert counted.asked() == {"query": sum(map(pages, PARTITIONS.values())) + jumps}


def test_reading_what_was_listed_asks_nothing(patient):
    run("ls", "-l", patient / "large/c")
    with patient.counting() as counted:
        run("cat", *[patient / f"large/c/{row:05}.json" for row in range(PARTITIONS["c"])])
    assert counted.asked() == {}


def test_a_walk_over_everything_is_complete(patient):
    found = run("find", patient.point, "-type", "f", "-printf", "x", timeout=60).stdout
    assert len(found) == ENTITIES
    numbers = [entry.inode() for entry in os.scandir(patient / "large/b")]
    assert numbers == sorted(set(numbers)) and len(numbers) == PARTITIONS["b"]
