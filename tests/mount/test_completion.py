"""Completion of the command line, in bash and in zsh. What Tab makes of a line:

    $ tablefuse unm<Tab>        $ tablefuse unmount
"""
import os
import pty
import re
import signal
import threading

import pytest

import help_text
from harness import ROOT, TABLEFUSE, LocalAccount, environment, run, wait_until
from help_text import VERBS

FILES = ROOT / "contrib/completion"
OF_BOTH = "allow_http ca_cert= parallelism= timeout=".split()
OF_TWO = [*OF_BOTH, *"from.auth= from.credentials= to.auth= to.credentials=".split()]
OF_ONE = [*OF_BOTH, "auth=", "credentials=", "table="]

# Outside of a terminal there is no completion whose options compopt could change. $1 is the line.
BASH = """
. /usr/share/bash-completion/bash_completion
. "$0/tablefuse.bash"
compopt() { :; }
COMP_LINE=$1 COMP_POINT=${#1} COMP_TYPE=9
COMP_WORDS=("${@:2}")
COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
_tablefuse tablefuse "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
[ ${#COMPREPLY[@]} = 0 ] || printf '%s\\n' "${COMPREPLY[@]}"
"""
# A key that completes and writes the line that this makes.
ZSH = """
fpath=($FILES $fpath)
autoload -Uz compinit && compinit -u -D
show() { zle expand-or-complete; print -r -- "$BUFFER" > $SHOWN.new; mv $SHOWN.new $SHOWN; BUFFER= }
zle -N show
bindkey '^T' show
setopt no_beep no_always_last_prompt no_list_ambiguous
"""


@pytest.fixture(scope="module")
def of_mount():
    return sorted(name + ("=" if value else "") for name, (value, _) in help_text.options().items())


@pytest.fixture(scope="module")
def service(scratch):
    account = LocalAccount(scratch / "account.tf")
    account.fill("sample")
    yield account
    account.stop()


def bash(line, cwd=None, home=None):
    """What it offers for the last word. Readline cuts words before and after each of `=` and `:`."""
    words = [part for word in re.split(r"(?<!\\) +", line) for part in re.split(r"([=:]+)", word) if part or not word]
    if words[-1] in ("=", ":"):
        words.append("")
    env = environment(HOME=str(home)) if home else None
    return run("bash", "-c", BASH, FILES, line, *words, cwd=cwd, env=env).stdout.splitlines()


class Zsh:
    def __init__(self, home, directory=None):
        directory = directory or home
        (home / ".zshrc").write_text(ZSH)
        self._shown = home / "shown"
        variables = environment(
            TERM="dumb", ZDOTDIR=str(home), FILES=str(FILES), SHOWN=str(self._shown), HOME=str(directory)
        )
        self._pid, self._terminal = pty.fork()
        if self._pid == 0:
            os.chdir(directory)
            os.execvpe("zsh", ["zsh", "-i"], variables)
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self):
        """What it prints must not fill the terminal."""
        try:
            while os.read(self._terminal, 65536):
                pass
        except OSError:  # it has ended
            pass

    def __call__(self, line):
        """The line after Tab."""
        self._shown.unlink(missing_ok=True)
        os.write(self._terminal, line.encode() + b"\x14")
        wait_until(self._shown.exists)
        return self._shown.read_text().removesuffix("\n")

    def end(self):
        os.kill(self._pid, signal.SIGKILL)
        os.waitpid(self._pid, 0)
        self._reader.join()
        os.close(self._terminal)


@pytest.fixture
def zsh(tmp_path):
    shell = Zsh(tmp_path)
    yield shell
    shell.end()


def test_bash_offers_what_there_is(of_mount):
    assert bash("tablefuse ") == [*VERBS, "--help", "--version"]
    assert bash("tablefuse un") == ["unmount"]
    assert bash("tablefuse help co") == ["count"]
    assert sorted(bash("tablefuse mount -o ")) == of_mount
    for verb in ("export", "import", "count", "map", "tables", "check"):
        assert sorted(bash(f"tablefuse {verb} -o ")) == sorted(OF_ONE)
    for verb in ("diff", "sync"):
        assert sorted(bash(f"tablefuse {verb} -o ")) == sorted(OF_TWO)
    assert bash("tablefuse mount -o ro,layout=") == ["auto", "flat"]
    assert bash("tablefuse mount -o layout=flat,conf") == ["flat,conflict="]
    assert bash("tablefuse check -o auth=a") == ["azcli"]
    assert bash("tablefuse sync -o timeout=5,to.auth=s") == ["spn"]
    assert bash("tablefuse mount ") == ["emulator", "local:"]
    assert bash("tablefuse import --mode=") == ["replace", "merge", "insert", "delete"]
    assert bash("tablefuse version ") == []


@pytest.mark.parametrize("verb", VERBS)
def test_bash_offers_the_options_that_the_help_has(verb):
    """Words with a dash in front. What the shell offers can stand without its value."""
    text = run(TABLEFUSE, "help", verb).stdout
    text = text.replace("rm -r", "")
    helped = set(re.findall(r"(?<![\w-])--?[a-z][a-z-]*(?![\w])", text)) | {"--help"}
    offered = {word.split("=")[0] for word in bash(f"tablefuse {verb} -")}
    assert offered == helped if verb not in ("version", "help") else offered == set()


def test_bash_completes_files(tmp_path):
    (tmp_path / "one.tf").touch()
    (tmp_path / "one").mkdir()
    assert bash("tablefuse mount local:o", tmp_path) == ["one", "one.tf"]
    assert bash("tablefuse mount emulator o", tmp_path) == ["one"]
    assert bash("tablefuse export --output o", tmp_path) == ["one", "one.tf"]
    assert bash("tablefuse mount -o ro,ca_cert=o", tmp_path) == ["one", "one.tf"]
    assert bash("tablefuse export --output=o", tmp_path) == ["one", "one.tf"]
    assert bash("tablefuse import --refused=o", tmp_path) == ["one", "one.tf"]


def test_bash_takes_the_value_of_an_option_for_no_operand():
    assert bash("tablefuse sync --max-delete 5 local:one/T em") == ["emulator"]
    assert bash("tablefuse export --columns A --delimiter tab --output one em") == ["emulator"]
    assert bash("tablefuse sync local:one/T local:two/T em") == []


@pytest.fixture
def stopped(mounts):
    """A mount that answers nothing, at a path with a blank."""
    mount = mounts.prepare()
    mount.point = mount.point.rename(mount.point.with_name("a b"))
    mount.start(mounts._service.source)
    mount.send(signal.SIGSTOP)
    yield mount
    mount.send(signal.SIGCONT)


def test_mount_points_are_offered_unseen(stopped, zsh):
    point = str(stopped.point).replace(" ", "\\ ")
    begin = point[:-3]
    assert bash(f"tablefuse unmount {begin}") == [point]
    assert bash(f"tablefuse drop {begin}") == [f"{point}/"]
    assert bash(f"tablefuse unmount {point[:-1]}") == [point]
    for quote in "\"'":
        assert bash(f"tablefuse unmount {quote}{begin}") == [str(stopped.point)]
        assert bash(f"tablefuse drop {quote}{begin}") == [f"{stopped.point}/"]
    assert zsh(f"tablefuse unmount {begin}") == f"tablefuse unmount {point} "
    assert zsh(f"tablefuse drop {begin}") == f"tablefuse drop {point}/"


@pytest.mark.parametrize("spelled", ["", "./", "~/"])
def test_mount_points_are_offered_below_the_directory_and_home(stopped, tmp_path, spelled):
    parent = stopped.point.parent
    completed = spelled + stopped.point.name.replace(" ", "\\ ")
    assert bash(f"tablefuse unmount {spelled}a", parent, home=parent) == [completed]
    assert bash(f"tablefuse drop {spelled}a", parent, home=parent) == [completed + "/"]
    assert bash(f"tablefuse unmount {spelled}a", tmp_path, home=tmp_path) == []
    shell = Zsh(tmp_path, parent)
    try:
        assert shell(f"tablefuse unmount {spelled}a") == f"tablefuse unmount {completed} "
        assert shell(f"tablefuse drop {spelled}a") == f"tablefuse drop {completed}/"
    finally:
        shell.end()


def test_zsh_completes(zsh, tmp_path):
    (tmp_path / "one.tf").touch()
    for line, completed in {
        "tablefuse unm": "tablefuse unmount ",
        "tablefuse help co": "tablefuse help count ",
        "tablefuse mount -o ro,layout=f": "tablefuse mount -o ro,layout=flat,",
        "tablefuse mount -o lay": "tablefuse mount -o layout=",
        "tablefuse check -o auth=a": "tablefuse check -o auth=azcli",
        "tablefuse mount em": "tablefuse mount emulator ",
        "tablefuse mount local:one": "tablefuse mount local:one.tf ",
        "tablefuse import --mode=d": "tablefuse import --mode=delete ",
        "tablefuse export --out": "tablefuse export --output ",
        "tablefuse sync --max": "tablefuse sync --max-delete ",
    }.items():
        assert zsh(line).rstrip(" ,") == completed.rstrip(" ,")


def test_zsh_has_the_options_of_bash(of_mount):
    """Their names, as its file lists them."""
    text = (FILES / "_tablefuse").read_text()

    def names(*arrays):
        bodies = [re.search(rf"local -a {array}=\((.*?)\n    \)", text, re.DOTALL)[1] for array in arrays]
        return {name for body in bodies for name in re.findall(r"'([\w.]+)(?=\[|')", body)}

    for arrays, offered in (
        (["common"], OF_BOTH),
        (["common", "of_one"], OF_ONE),
        (["common", "of_two"], OF_TWO),
        (["common", "of_one", "of_mount"], of_mount),
    ):
        assert names(*arrays) == {option.rstrip("=") for option in offered}
    for verb in VERBS:
        assert f"'{verb}:" in text
