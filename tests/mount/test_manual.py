"""The manual page, as `man tablefuse` shows it."""
import os
import pathlib
import re

import pytest

import documents
import help_text
from harness import ROOT, TABLEFUSE, environment, run
from help_text import VERBS

PAGE = ROOT / "contrib/man/tablefuse.1.scd"
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
    assert [line.strip() for line in section(shown, "SYNOPSIS").splitlines() if line.strip()] == help_text.usage()
    for verb in VERBS:
        assert re.search(rf"^       (\w+, )*{verb}(, \w+)*$", section(shown, "COMMANDS"), re.MULTILINE), verb


def with_own_meanings():
    """{code: the sentences that the manual has}: what it means of all commands, then of one."""
    common = help_text.exit_codes()
    found = {code: [f"{means[0].upper()}{means[1:]}."] for code, means in common.items()}
    for verb in VERBS:
        for code, means in help_text.exit_codes(verb).items():
            if means != common[code]:
                found[code].append(f"Of {verb}: {means}.")
    return found


def test_it_has_the_exit_codes():
    text = re.search(r"# EXIT STATUS\n(.*?)\n#", PAGE.read_text(), re.DOTALL)[1].replace("*", "")
    found = {int(code): " ".join(means.split()) for code, means in re.findall(r"^(\d+)\n((?:\t.*\n)+)", text, re.MULTILINE)}
    expected = with_own_meanings()
    assert found == {code: " ".join(sentences) for code, sentences in expected.items()}
    assert len(found) == 10 and any(len(sentences) > 1 for sentences in expected.values())


def test_the_page_about_errors_has_the_exit_codes():
    rows = documents.table_rows((ROOT / "contrib/docs/errors.md").read_text(), "## Exit codes")
    expected = {code: means for code, means in help_text.exit_codes().items() if code}
    assert [int(code) for code, _ in rows] == list(expected)
    for code, means in rows:
        assert re.match(rf"{re.escape(expected[int(code)])}(:|$)", means), code


def test_readme_names_every_command():
    named = documents.code_spans((ROOT / "README.md").read_text())
    assert set(VERBS) <= {word for span in named for word in span.removeprefix("tablefuse ").split()[:1]}


def test_it_has_the_options_with_their_defaults(shown):
    found = {}
    for heads, body in re.findall(r"^       (\S.*)\n((?: {11}.*\n)+)", section(shown, "OPTIONS"), re.MULTILINE):
        initial = re.search(r"De\W*fault: (\w+)", re.sub(r"(\u2010|-)?\s+", " ", body))
        for head in heads.split(", "):
            name, value = re.fullmatch(r"(\w+)(?:=([A-Z]+))?", head).groups()
            found[name] = (value, initial and initial[1])
    described = {"uid": "those", "gid": "those", "umask": "that", "ca_cert": "the"}
    expected = {name: (value, initial or described.get(name)) for name, (value, initial) in help_text.options().items()}
    assert found == expected


def test_readme_has_the_options_with_their_defaults():
    rows = documents.table_rows((ROOT / "README.md").read_text(), "## Options")
    named = set(re.findall(r"`(\w+)(?:=\w+)?`", " ".join(row[0] for row in rows)))
    assert named == set(help_text.options())
    for name, (_, initial) in help_text.options().items():
        (row,) = [row for row in rows if re.search(rf"`{name}\b", row[0])]
        assert initial in (None, "auto", "refuse") or re.search(rf"default {initial}\b|default: {initial}\b", row[1]), name


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
