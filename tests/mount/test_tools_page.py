"""contrib/docs/tools.md: each tool of the tests is there, with its requests and its failure."""
import re

import documents
from harness import ROOT
from test_posix_page import functions_of
from test_tools_save import TOOLS, UNCHANGED

PAGE = ROOT / "contrib/docs/tools.md"
NAMES = {"batch": "transaction"}


def rows():
    """{tool: (version, requests, failure, notes, test)}"""
    found = documents.table_rows(PAGE.read_text(encoding="utf-8"), "## The programs")
    assert all(len(row) == 6 and all(row) for row in found)
    assert len({row[0] for row in found}) == len(found)
    return {row[0]: tuple(row[1:]) for row in found}


def test_each_tool_has_a_row():
    assert rows().keys() == {*TOOLS, *UNCHANGED}


def test_each_row_names_its_test():
    tests = {tool: row[4].strip("`") for tool, row in rows().items()}
    expected = {"test_a_change": TOOLS, "test_what_changes_nothing": UNCHANGED}
    assert expected.keys() <= functions_of("test_tools_save.py")
    assert all(tool in expected[test] for tool, test in tests.items())


def test_the_requests_are_those_of_the_tests():
    counts = {tool: each.asked for tool, each in TOOLS.items()} | dict.fromkeys(UNCHANGED, {})
    assert {tool: row[1] for tool, row in rows().items()} == {
        tool: ", ".join(f"{n} {NAMES.get(what, what)}" for what, n in sorted(asked.items())) or "none"
        for tool, asked in counts.items()
    }


def test_the_failures_are_those_of_the_tests():
    failures = {tool: row[2] for tool, row in rows().items()}
    for tool, each in TOOLS.items():
        # nano's status tells nothing: the status is that of the test's own program, which reads the screen
        assert failures[tool].startswith("on the screen: " if tool == "nano" else f"{each.status}: "), tool
        assert re.search(each.says, failures[tool]), tool
    refused = {tool: each for tool, each in UNCHANGED.items() if each.says}
    assert all(failures[tool].startswith(f"{each.status}: ") for tool, each in refused.items())
