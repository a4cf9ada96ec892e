"""The request table: what real tools cost, and that a count above its band is found. See tests/bench/request_table.py."""
import sys

import pytest

from harness import FAULTY, FIXTURE, ROOT, TABLEFUSE, environment, run

PROGRAM = ROOT / "tests/bench/request_table.py"
# It takes two minutes where nothing else runs. SIGTERM lets it unmount.
TABLE_SEC = 420

pytestmark = pytest.mark.timeout(TABLE_SEC + 60)


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
    done = request_table(out)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"


@pytest.mark.parametrize(
    "recorded, options, code, said",
    [
        (2, [], 1, "5 OVER 2"),
        (3, [], 0, "5 (3)"),
        (5, [], 0, "5"),
        (7, ["--strict"], 0, "5 (7)"),
        (8, [], 0, "5 better than 8"),
        (8, ["--strict"], 1, "5 better than 8"),
    ],
)
def test_a_count_outside_of_its_band_is_told(out, recorded, options, code, said):
    """Of a row whose count is the same in each run: a count of up to 20 may be 2 more."""
    table = out / "recorded"
    table.write_text(f"requests  single\nls        {recorded:6}\n")
    cell = ("--only", "ls", "--shapes", "single", "--table", table)
    done = request_table(out, *cell, *options)
    assert (done.returncode, done.stdout.splitlines()[1].split("  ")[-1].strip()) == (code, said)
