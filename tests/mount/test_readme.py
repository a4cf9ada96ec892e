"""README.md and contrib/docs: every command is run, and prints what the text says. In the order of the text."""
import os
import shlex
import tempfile

import pytest

import documents
from credentials import account_sas, table_sas
from harness import REFUSED, ROOT
from sandbox import AZURE, AZURE_KEY, Sandbox

pytestmark = pytest.mark.timeout(1800)

README = ROOT / "README.md"
PAGES = sorted((ROOT / "contrib/docs").glob("*.md"))
README_LINES, COLUMNS = 205, 130

AZURITE = (
    "contrib/emulator/node_modules/.bin/azurite-table"
    " --inMemoryPersistence --skipApiVersionCheck --disableTelemetry --silent &"
)
# what the reader types, and what the reader waits for
TYPED = {
    "read -rsp 'Key: ' AZURE_STORAGE_KEY && export AZURE_STORAGE_KEY": AZURE_KEY + "\n",
}
AWAITED = {AZURITE: "await_port 10002"}
# A signal stops the threads of a process one after another.
AWAITED_IN_PAGES = {
    "kill -STOP $pid": "while grep -qv ') T ' /proc/$pid/task/*/stat; do sleep 0.01; done",
}
# The reader's `contrib/check` would run this test again. Here it runs its mount tests alone, and of them one file in one
# process. To read them all would take each of its processes seconds.
CHECK = "contrib/check"
RUN_FOR = {
    CHECK: f"PYTEST_ADDOPTS='--maxprocesses=1 --ignore-glob=*/test_[!l]* -k test_log.py' {CHECK} mount > checked 2>&1 || {{ tail -n 100 checked; false; }}",
}
TABLES = "keys\norders\npackages\n"
# What shows that a command has done its work, where the text does not.
SHOWN_BY = {
    "contrib/quickstart": ("ls mnt", TABLES + "sensors\n"),
    CHECK: ("tail -n 1 checked", "3 passed, 0 failed\n"),
    "sudo install build/tablefuse /usr/local/bin/": (
        "cmp build/tablefuse $(type -P tablefuse)",
        "",
    ),
    "mkdir -p ~/tables && tablefuse mount ~/tables": (
        "grep '^credential ' ~/tables/.tablefuse/config; ls ~/tables",
        "credential shared key of account myaccount\n" + TABLES,
    ),
    "tablefuse unmount ~/tables": ("ls ~/tables", ""),
    "tablefuse mount ~/tables": (
        "grep -o 'ss=t, srt=sco, sp=[^,]*' ~/tables/.tablefuse/config; ls ~/tables;"
        "grep Paid ~/tables/orders/ada/2024-0002.json",
        "ss=t, srt=sco, sp=rl\n" + TABLES + '  "Paid": false,\n',
    ),
    "rsync -a --modify-window=-1 mnt/sensors/.flat/ ~/backup/": (
        "rsync -ai --modify-window=-1 mnt/sensors/.flat/ ~/backup/; diff -r mnt/sensors/.flat ~/backup && echo equal",
        "equal\n",
    ),
    "sudo systemctl enable --now tablefuse@myaccount": (
        "ls /srv/tables/myaccount; stat -c %a /etc/tablefuse/myaccount",
        TABLES + "600\n",
    ),
}
# Commands between backticks: what is run for each at the end, and what it prints.
IN_THE_TEXT = {
    "tablefuse mount [-f] [-o OPTION,...] [SOURCE] DIR": (
        "tablefuse mount --help | head -1",
        "usage: tablefuse mount [-f] [-o OPTION,...] [SOURCE] DIR\n",
    ),
    "tablefuse unmount -z DIR": ("cd ~/other; tablefuse unmount -z . && cd ~-; ls ~/other", ""),
    "tablefuse check local:FILE": (
        "tablefuse check local:sample.tablefuse",
        "local:sample.tablefuse: 4 tables, 5023 entities, 0 faults\n",
    ),
    "contrib/quickstart stop": ("contrib/quickstart stop; ls mnt", "Unmounted ./mnt.\n"),
}


@pytest.fixture(scope="module")
def sandbox():
    if os.geteuid() != 0:
        pytest.skip("only root can change /etc in a namespace of its own")
    with tempfile.TemporaryDirectory(prefix="tablefuse-readme-") as directory:
        made = Sandbox(directory)
        yield made
        made.stop()


def run_command(sandbox, command):
    text = RUN_FOR.get(command.text, command.text)
    status, printed = sandbox.run(text, TYPED.get(command.text, ""))
    said = f"{command}\nended with {status} and printed:\n{printed}"
    if command.output is None:
        assert status == 0, said
    else:
        assert printed == command.output, said
        # a command that fails shows why; diff tells by 1 that there are differences
        assert status == 0 or printed, said
    awaited = {**AWAITED, **AWAITED_IN_PAGES}.get(command.text)
    if awaited:
        sandbox.run(awaited)
    if command.text in SHOWN_BY:
        look, expected = SHOWN_BY[command.text]
        _, seen = sandbox.run(look)
        assert seen == expected, f"{command}\n{look}"
    return printed


def is_program(sandbox, word):
    return sandbox.run(f"type -- {shlex.quote(word)}")[0] == 0


def text_of(page):
    return page.read_text(encoding="utf-8")


class Readme:
    """README.md, run to its end or to its first problem."""

    def __init__(self, sandbox):
        self.run, self.problem = [], None
        try:
            for command in documents.commands_of(text_of(README)):
                self.run.append((command, run_command(sandbox, command)))
        except (AssertionError, documents.Malformed) as problem:
            self.problem = problem


@pytest.fixture(scope="module")
def run_readme(sandbox):
    return Readme(sandbox)


@pytest.fixture
def readme(run_readme):
    """For what comes after README.md: [(command, what it printed)]."""
    assert not run_readme.problem, "see test_every_command_of_the_readme"
    return run_readme.run


def test_every_command_of_the_readme(run_readme):
    if run_readme.problem:
        raise run_readme.problem
    run_texts = [command.text for command, _ in run_readme.run]
    assert len(run_texts) > 30
    for named in (TYPED, AWAITED, SHOWN_BY, RUN_FOR):
        assert set(named) <= set(run_texts), "README.md has it no longer"


def test_the_quickstart_shows_what_the_readme_shows(readme):
    (_, printed), *shown = readme
    for command, output in shown[:2]:
        assert f"$ {command.text}\n{output}" in printed


def test_the_unit_ends_by_a_signal(sandbox, readme):
    """systemd stops a service by SIGTERM."""
    end = 'kill $(sed -n "s/^pid //p" /srv/tables/myaccount/.tablefuse/version)'
    wait = "while mountpoint -q /srv/tables/myaccount; do sleep 0.05; done"
    assert sandbox.run(f"cd /srv/tables/myaccount; {end}; cd - > /dev/null; {wait}") == (0, "")


def test_systemd_accepts_the_unit(sandbox, readme):
    """The stand-in for systemctl has run its commands. test_units.py has more about the units."""
    verify = "systemd-analyze verify /etc/systemd/system/tablefuse@.service"
    assert sandbox.run(verify) == (0, "")


def test_the_permissions_that_a_sas_needs(sandbox, readme):
    def try_with(sas, command):
        return sandbox.run(f"AZURE_STORAGE_SAS_TOKEN={shlex.quote(sas)} {command}")[0]

    write = "build/tests/fixture myaccount sample"
    assert try_with(account_sas(AZURE, AZURE_KEY, "rl"), write) != 0
    assert try_with(account_sas(AZURE, AZURE_KEY, "rwdlacu"), write) == 0
    sandbox.run("mkdir one")
    for permissions in ("r", "raud"):
        sas = table_sas(AZURE, AZURE_KEY, "packages", permissions)
        assert try_with(sas, "tablefuse mount myaccount one") == REFUSED
        assert try_with(sas, "tablefuse mount myaccount/packages one") == 0
        assert sandbox.run("cat one/zlib/* | wc -l; tablefuse unmount one") == (0, "8\n")
    unreadable = table_sas(AZURE, AZURE_KEY, "packages", "a")
    assert try_with(unreadable, "tablefuse mount myaccount/packages one") == REFUSED


def test_what_the_pages_await_is_in_them():
    commands = [command.text for page in PAGES for command in documents.commands_of(text_of(page))]
    assert set(AWAITED_IN_PAGES) <= set(commands)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_command_of_the_pages(sandbox, readme, page):
    for command in documents.commands_of(text_of(page)):
        run_command(sandbox, command)
    # what the page has lost on purpose is not told at another page's mount
    sandbox.run('rm -f "${XDG_STATE_HOME:-$HOME/.local/state}"/tablefuse/lost+found/*')


def test_commands_in_the_text(sandbox, readme):
    """The last test that uses the sandbox."""
    spans = set(documents.code_spans(text_of(README)))
    called = {span for span in spans if " " in span and is_program(sandbox, span.split()[0])}
    assert called == set(IN_THE_TEXT)
    for command, expected in IN_THE_TEXT.values():
        assert sandbox.run(command) == (0, expected)


# --- what needs no sandbox


@pytest.mark.parametrize("page", [README, *PAGES], ids=lambda page: page.name)
def test_links_and_lines(page):
    text = text_of(page)
    for target in documents.links(text):
        assert (page.parent / target).is_file(), target
    _, prose = documents.parse(text)
    assert not [number for number, line in prose if line != line.rstrip()]
    in_lines = [(number, line) for number, line in prose if not line.startswith("|")]
    assert not [number for number, line in in_lines if len(line) > COLUMNS]


def test_the_readme_is_short():
    assert len(text_of(README).splitlines()) <= README_LINES


@pytest.mark.parametrize(
    "text",
    [
        "```bash\nls\n```\n",
        "```\nls\n```\n",
        "    ls\n",
        "* a\n\n\tls\n",
        "```sh\nls\n",
        "~~~sh\nls\n~~~\n",
        "- x\n  ```sh\n  ls\n  ```\n",
        "```sh\nls \\\n```\n",
        "```console\nls\n```\n",
    ],
)
def test_no_command_is_overlooked(text):
    with pytest.raises(documents.Malformed):
        documents.commands_of(text)


def test_commands_are_read():
    text = "a `b c`\n```console\n# x\n$ one\n1\n\n$ two\n```\n"
    text += "```sh\n# y\nthree \\\n  more\n\nfour\n```\n"
    found = documents.commands_of(text)
    assert [(c.text, c.output) for c in found] == [
        ("one", "1\n\n"),
        ("two", ""),
        ("three \\\n  more", None),
        ("four", None),
    ]
    assert [c.line for c in found] == [4, 7, 11, 14]
    assert documents.code_spans(text) == ["b c"]
