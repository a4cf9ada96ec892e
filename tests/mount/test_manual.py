"""The manual page, as `man tablefuse` shows it."""
import os
import pathlib
import re

import pytest

from harness import ROOT, TABLEFUSE, environment, run

PAGE = ROOT / "contrib/man/tablefuse.1.scd"
VERBS = "mount unmount drop export import count diff sync tables check version help".split()
MAX_LINES = 400  # at 80 columns


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    file = tmp_path_factory.mktemp("manual") / "tablefuse.1"
    file.write_text(run("sh", "-c", f"scdoc < {PAGE}").stdout)
    return file


@pytest.fixture(scope="module")
def shown(page):
    done = run("man", "--warnings", "-l", page, env=environment(MANWIDTH="80", MANPAGER="cat"))
    assert done.stderr == ""
    return re.sub(".\b", "", done.stdout)


def section(shown, name):
    return re.search(rf"^{name}\n(.*?)(?=^\S|\Z)", shown, re.MULTILINE | re.DOTALL)[1]


def test_it_is_short(shown):
    assert 200 < shown.count("\n") <= MAX_LINES


def test_it_has_the_usage_of_every_verb(shown):
    usage = run(TABLEFUSE, "help").stdout.split("\n\n")[0]
    expected = [line.removeprefix("usage:").strip() for line in usage.splitlines()]
    assert [line.strip() for line in section(shown, "SYNOPSIS").splitlines() if line.strip()] == expected
    for verb in VERBS:
        assert re.search(rf"^       (\w+, )*{verb}(, \w+)*$", section(shown, "COMMANDS"), re.MULTILINE), verb


def test_it_has_the_exit_codes(shown):
    codes = set(re.findall(r"(?:[:,]|network or TLS\nfailed,) (\d+) ", run(TABLEFUSE, "help").stdout)) | {"4"}
    assert codes <= set(re.findall(r"^       (\d+)$", section(shown, "EXIT STATUS"), re.MULTILINE))


def commands(text):
    """(command, what is printed) of each block."""
    for block in re.findall(r"^```\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        for command, printed in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", block, re.MULTILINE):
            yield command, printed


def test_its_examples_run(tmp_path):
    examples = list(commands(PAGE.read_text()))
    assert len(examples) == 8
    path = f"{pathlib.Path(TABLEFUSE).resolve().parent}:{os.environ['PATH']}"
    try:
        for command, printed in examples:
            done = run("bash", "-c", command, cwd=tmp_path, env=environment(PATH=path))
            assert (done.stdout, done.stderr) == (printed, ""), command
    finally:
        run(TABLEFUSE, "unmount", "-z", tmp_path / "tables", check=False)
