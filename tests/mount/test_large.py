"""Twenty thousand entities: all of them, each once, for as many requests as their pages are."""
import os

import pytest

from harness import run

# one partition of many pages, one that ends with a full page, one that fits into a page
PARTITIONS = {"a": 12_345, "b": 7_000, "c": 655}
PAGE_ROWS = 1000
CUT_SHORT = 6  # requests more, whose pages ended where another had begun
LARGE_DIRECTORY = 20  # requests more, for its levels and for what is read ahead
FIRST_ROWS = 32  # come when the partition is looked up
ENTITIES = sum(PARTITIONS.values())


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
    """A mount with a long ttl and no reading ahead: so every request counted is one that a listing needs."""
    return mounts("ttl=600", "parallelism=1")


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
    # none twice; some more may have come with the lookup
    assert rows_behind - FIRST_ROWS <= counted.total("tablefuse_request_rows_total") <= rows_behind


def test_ls_reads_little_ahead_for_nothing(mounts):
    mount = mounts("ttl=600")
    os.stat(mount / "large/a")
    with mount.counting() as counted:
        run("ls", "-l", mount / "large/a")
    assert set(counted.asked()) == {"query"}
    assert counted.requests() <= 1.15 * PARTITIONS["a"] / PAGE_ROWS + CUT_SHORT
    assert counted.total("tablefuse_request_rows_total") <= 1.15 * PARTITIONS["a"]


def test_the_first_listing_pays_for_its_lookups_alone(patient):
    with patient.counting() as counted:
        run("ls", "-l", patient / "large/c")
    looks = {"list_tables": 1, "query": 1}
    assert counted.asked() == {**looks, "query": 1 + pages(PARTITIONS["c"] - FIRST_ROWS)}


@pytest.mark.parametrize("parallelism", [1, 8])
def test_find_asks_for_the_pages(mounts, parallelism):
    mount = mounts("ttl=600", f"parallelism={parallelism}")
    os.stat(mount / "large")
    with mount.counting() as counted:
        found = run(
            "find", mount / "large", "-type", "f", "-printf", "%P\n"
        ).stdout.splitlines()
    expected = [
        f"{partition}/{row:05}.json"
        for partition, rows in PARTITIONS.items()
        for row in range(rows)
    ]
    assert found == expected, "all, each once, in the order of keys"
    assert set(counted.asked()) == {"query"}
    assert counted.requests() <= 1.15 * ENTITIES / PAGE_ROWS + LARGE_DIRECTORY


def test_reading_what_was_listed_asks_nothing(patient):
    run("ls", "-l", patient / "large/c")
    with patient.counting() as counted:
        run("cat", *[patient / f"large/c/{row:05}.json" for row in range(PARTITIONS["c"])])
    assert counted.asked() == {}


def test_a_walk_over_everything_is_complete(patient):
    found = run("find", patient.point, "-type", "f", "-printf", "x").stdout
    assert len(found) == ENTITIES
    numbers = [entry.inode() for entry in os.scandir(patient / "large/b")]
    assert numbers == sorted(set(numbers)) and len(numbers) == PARTITIONS["b"]
