"""What the program prints without a service: help, the version, and usage errors."""
import re

import pytest

from harness import MOUNTING, TABLEFUSE, USAGE, run

VERBS = ["mount", "unmount", "version", "help"]


def refused(*arguments):
    """Checks that the arguments are a usage error of two lines. Answers the first, without the program's name."""
    failed = run(TABLEFUSE, *arguments, check=False)
    assert (failed.returncode, failed.stdout) == (USAGE, ""), failed
    cause, advice = failed.stderr.splitlines()
    verb = arguments[0] if arguments and arguments[0] in VERBS else ""
    assert advice == f"try `tablefuse {verb}{' ' if verb else ''}--help`"
    assert cause.startswith("tablefuse: ")
    return cause[len("tablefuse: ") :]


@pytest.mark.parametrize(
    "arguments, cause",
    [
        ([], "no command given"),
        (["frobnicate"], "unknown command frobnicate"),
        (["--frobnicate"], "unknown option --frobnicate"),
        (["mount"], "mount: no directory to mount at"),
        (["mount", "-f"], "mount: no directory to mount at"),
        (["mount", "a", "b", "c"], "mount: unexpected operand c behind SOURCE and DIR"),
        (["mount", "-x", "d"], "mount: unknown option -x"),
        (["mount", "d", "-x"], "mount: unknown option -x"),
        (["mount", "-fx", "d"], "mount: unknown option -x"),
        (["mount", "--foreground", "d"], "mount: unknown option --foreground"),
        (["mount", "-o"], "mount: option -o needs a value"),
        (["unmount"], "unmount: no directory to unmount"),
        (["unmount", "a", "b"], "unmount: unexpected operand b behind DIR"),
        (["unmount", "-x", "a"], "unmount: unknown option -x"),
        (["version", "more"], "version: unexpected operand more"),
        (["help", "frobnicate"], "help: unknown command frobnicate"),
        (["help", "mount", "more"], "help: unexpected operand more"),
    ],
)
def test_usage_errors(arguments, cause):
    assert refused(*arguments) == cause


def helped(*arguments):
    done = run(TABLEFUSE, *arguments)
    assert done.stderr == ""
    lines = done.stdout.splitlines()
    assert len(lines) < 40 and max(map(len, lines)) <= 100
    return done.stdout


@pytest.mark.parametrize("verb", VERBS)
def test_help_of_a_verb(verb):
    text = helped("help", verb)
    assert text.startswith(f"usage: tablefuse {verb}") and "Exit codes" in text
    # `tablefuse help --help` asks about everything
    for flag in ["--help", "-h"] if verb != "help" else []:
        assert helped(verb, flag) == helped(verb, "operand", flag) == helped(flag, verb) == text


def test_help():
    text = helped("--help")
    assert helped("-h") == helped("help") == helped("help", "--help") == text
    for verb in VERBS:
        assert re.search(rf"^(usage:|      ) tablefuse {verb}\b", text, re.MULTILINE)
    for word in (
        *("emulator", "local:FILE", "AZURE_STORAGE_CONNECTION_STRING", "AZURE_STORAGE_SAS_TOKEN"),
        *("-f", "-z", "ttl=", "cache_size=", "layout=", "fanout=", "parallelism=", "uid=", "gid="),
        *("umask=", "allow_other", "ca_cert=", "table=", " ro "),
    ):
        assert word in text


def test_version():
    text = run(TABLEFUSE, "version").stdout
    assert re.fullmatch(r"tablefuse \d+\.\d+\.\d+\n", text)
    for flag in ("-V", "--version"):
        assert run(TABLEFUSE, flag).stdout == text


def test_help_that_cannot_be_written():
    failed = run("sh", "-c", '"$0" --help >/dev/full', TABLEFUSE, check=False)
    assert failed.returncode == MOUNTING
    assert failed.stderr == "tablefuse: cannot write the output: No space left on device\n"
