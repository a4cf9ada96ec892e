"""The benchmarks' short forms: requests and entities are counted, times are not looked at."""
import pathlib
import sys

from harness import ROOT, TABLEFUSE, run


def test_walks_ask_no_more_than_their_pages(tmp_path):
    build = pathlib.Path(TABLEFUSE).parent
    bench = ROOT / "tests/bench/walks.py"
    run(sys.executable, "-B", bench, "--short", "--build", build, "--work", tmp_path, timeout=570)


def test_changes_reach_every_entity(tmp_path):
    build = pathlib.Path(TABLEFUSE).parent
    bench, options = ROOT / "tests/bench/changes.py", ("--rows", "40", "--latency", "0")
    run(sys.executable, "-B", bench, *options, "--build", build, "--work", tmp_path, timeout=570)


def test_whole_tables_are_moved(tmp_path):
    build = pathlib.Path(TABLEFUSE).parent
    bench, options = ROOT / "tests/bench/bulk.py", ("--rows", "300", "--local-rows", "2500", "--latency", "0,1")
    run(sys.executable, "-B", bench, *options, "--build", build, "--work", tmp_path, timeout=570)
