"""The pictures of README.md: contrib/docs/pictures.py draws them from what is committed."""
import importlib.util
import pathlib
import re
import xml.etree.ElementTree

import pytest

from harness import ROOT, TABLEFUSE

MAX_BYTES = 60 << 10
FILE = ROOT / "contrib/docs/pictures.py"
SPEC = importlib.util.spec_from_file_location("pictures", FILE)
pictures = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(pictures)


@pytest.mark.parametrize("name", ["glance.svg", "figures.svg"])
def test_a_picture(name):
    """It is as drawn anew, small, whole XML that asks for no other file, and README.md describes it."""
    file = ROOT / "contrib/docs" / name
    drawn = file.read_bytes()
    assert drawn.decode() == pictures.pictures()[file], "run contrib/docs/pictures.py"
    assert len(drawn) < MAX_BYTES
    root = xml.etree.ElementTree.fromstring(drawn)
    assert root.tag == "{http://www.w3.org/2000/svg}svg" and root.find("{*}title").text
    assert not re.search(rb"href|url\(|<(image|script|foreignObject)|<!", drawn)
    (alt,) = re.findall(rf"!\[([^\]]+)\]\(contrib/docs/{re.escape(name)}\)", (ROOT / "README.md").read_text())
    assert len(alt) > 40


def test_each_figure_is_the_benchmarks():
    figures = pictures.read_figures((ROOT / "contrib/docs/benchmark.md").read_text())
    assert len(figures) == 7
    for label, requests, seconds in figures:
        assert 10 <= min(requests) and max(requests) < 10_000, label
        assert 0.1 < min(seconds) and max(seconds) < 100, label


def test_the_session_is_what_the_program_prints():
    assert pictures.record(pathlib.Path(TABLEFUSE).resolve().parent) == pictures.SESSION.read_text()
