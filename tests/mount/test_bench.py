"""The benchmark's short form: requests and entities are counted, times are not looked at."""
import pathlib
import sys

import pytest

from harness import ROOT, TABLEFUSE, run

pytestmark = pytest.mark.timeout(300)


def test_walks_ask_no_more_than_their_pages(tmp_path):
    build = pathlib.Path(TABLEFUSE).parent
    bench = ROOT / "tests/bench/walks.py"
    run(sys.executable, "-B", bench, "--short", "--build", build, "--work", tmp_path, timeout=270)
