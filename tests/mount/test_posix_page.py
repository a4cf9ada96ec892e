"""contrib/docs/posix.md: each promise has a test, each test a promise, and each call that pjdfstest has is there."""
import ast
import re

import documents
from harness import ROOT
from test_posix_differs import DIFFERENCES

TESTS = ROOT / "tests/mount"
PAGE = ROOT / "contrib/docs/posix.md"

PJDFSTEST = """chflags chmod chown ftruncate granular link mkdir mkfifo mknod open posix_fallocate rename rmdir symlink
truncate unlink utimensat""".split()
OTHERS = ["all", "fsync", "readdir"]


def rows():
    """(call, promise, "yes" or "no", why, test)"""
    return [tuple(row) for row in documents.table_rows(PAGE.read_text(encoding="utf-8"), "# POSIX")]


def functions_of(pattern):
    """The names of the test functions in these files."""
    trees = [ast.parse(path.read_text(encoding="utf-8")) for path in TESTS.glob(pattern)]
    functions = [node.name for tree in trees for node in tree.body if isinstance(node, ast.FunctionDef)]
    return {name for name in functions if name.startswith("test_")}


def test_each_row_is_whole():
    assert {len(row) for row in rows()} == {5}
    assert {holds for _, _, holds, _, _ in rows()} == {"yes", "no"}
    assert all(promise and why for _, promise, _, why, _ in rows())
    assert len({(call, promise) for call, promise, _, _, _ in rows()}) == len(rows())


def test_each_call_has_a_row():
    assert {call for call, _, _, _, _ in rows()} == {*PJDFSTEST, *OTHERS}


def test_each_row_names_a_test_that_is_there():
    named = [re.fullmatch(r"`(\w+)`", test) for _, _, _, _, test in rows()]
    assert all(named)
    assert {name[1] for name in named} - functions_of("test_*.py") == set()


def test_each_test_has_a_row():
    named = {test.strip("`") for _, _, _, _, test in rows()}
    assert functions_of("test_posix*.py") - functions_of("test_posix_page.py") - named == set()


def test_what_does_not_hold_is_in_both_lists():
    listed = {(each.call, each.promise, "no", each.reason) for each in DIFFERENCES}
    assert len(listed) == len(DIFFERENCES)
    assert {row[:4] for row in rows() if row[4] == "`test_what_does_not_hold`"} == listed
