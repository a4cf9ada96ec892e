"""The request table: what real tools cost, and that a count above its band is found. See tests/bench/request_table.py."""
import re
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from harness import FAULTY, FIXTURE, ROOT, TABLEFUSE, environment, run

PROGRAM = ROOT / "tests/bench/request_table.py"
# Against hanging: it takes some minutes. SIGTERM lets it unmount.
TABLE_SEC = 1500

# read-ahead depends on time: where many processes run, other requests are sent
pytestmark = [pytest.mark.alone, pytest.mark.timeout(TABLE_SEC + 60)]


def request_table(work, *options):
    programs = {
        "TABLEFUSE": TABLEFUSE,
        "TABLEFUSE_FAULTY": FAULTY,
        "TABLEFUSE_FIXTURE": FIXTURE,
    }
    bound = ("timeout", "-k", "20", TABLE_SEC)
    command = (*bound, sys.executable, "-B", PROGRAM, "--work", work, *options)
    return run(*command, check=False, timeout=TABLE_SEC + 30, env=environment(**programs))


def test_no_tool_sends_more_requests_than_recorded(out):
    """Two halves of the shapes at the same time: a cell waits for latencies more than half of its time."""
    head = PROGRAM.with_suffix(".txt").read_text().splitlines()[1]
    _, *shapes = head.split()
    halves = [",".join(shapes[first::2]) for first in range(2)]
    with ThreadPoolExecutor(2) as pool:
        both = list(pool.map(lambda half: request_table(out, "--shapes", half), halves))
    assert [done.returncode for done in both] == [0, 0], "\n".join(done.stdout + done.stderr for done in both)


@pytest.mark.parametrize(
    "recorded, options, code, mark",
    [
        (1, [], 1, "OVER 1"),
        (4, [], 0, ""),
        (5, ["--strict"], 0, ""),
        (9, [], 0, "better than 9"),
        (9, ["--strict"], 1, "better than 9"),
    ],
)
def test_a_count_outside_of_its_band_is_reported(out, recorded, options, code, mark):
    """Of a row that counts 4 or 5: up to 2 more than recorded is inside of the band."""
    table = out / "recorded"
    table.write_text(f"requests  single\nls        {recorded:6}\n")
    cell = ("--only", "ls", "--shapes", "single", "--table", table)
    done = request_table(out, *cell, *options)
    found = re.search("OVER.*|better.*|$", done.stdout.splitlines()[1])[0]
    assert (done.returncode, found) == (code, mark)
    last = done.stdout.splitlines()[2:]
    assert bool(last) == mark.startswith("OVER")
    assert all(re.fullmatch(r"OVER: ls, single:( [45]){5} \(recorded 1, at most 3\)", line) for line in last)
