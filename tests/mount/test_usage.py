"""What the program prints without a service: help, the version, and usage errors."""
import re

import pytest

import help_text
from harness import MOUNTING, NOT_FOUND, TABLEFUSE, USAGE, run
from help_text import VERBS

HIDDEN = "(not shown, because it may hold a secret)"
NO_COMMAND = "do you mean `tablefuse mount SOURCE DIR`?"
READ_ONLY = "do you mean -o ro?"
DEBUG = "mount -f -o debug shows each request of the kernel"
VERBOSE = "mount -f shows the messages; .tablefuse/errors and .tablefuse/stats in the mount tell more"
IN_PS = "a SAS as an argument can be read in `ps`: put it into AZURE_STORAGE_SAS_URL or AZURE_STORAGE_SAS_TOKEN"
TTL = "expected seconds, at most 86400, for example 0.5"
SIZE = "expected bytes, at most 64G, for example 64M"
UMASK = "expected an octal number, for example 022"


def refused(*arguments):
    """Checks that the arguments are a usage error of two lines. Answers the first, without the program's name."""
    failed = run(TABLEFUSE, *arguments, check=False)
    assert (failed.returncode, failed.stdout) == (USAGE, ""), failed
    cause, advice = failed.stderr.splitlines()
    given = "".join(arguments[:1]).replace("umount", "unmount")
    verb = given if given in VERBS else ""
    assert advice == f"try `tablefuse {verb}{' ' if verb else ''}--help`"
    assert cause.startswith("tablefuse: ")
    return cause[len("tablefuse: ") :]


@pytest.mark.parametrize(
    "arguments, cause",
    [
        ([], "no command given"),
        (["frobnicate"], "unknown command frobnicate"),
        (["moutn", "dir"], "unknown command moutn -- do you mean mount?"),
        (["unmout", "dir"], "unknown command unmout -- do you mean unmount?"),
        # mount.fuse3 writes a SOURCE in the place of the verb
        (["moutn", "dir", "-o", "ro"], "unknown command moutn -- do you mean mount?"),
        (["mounts", "dir", "-o", "ro,ttl=5"], "unknown command mounts -- do you mean mount?"),
        (["help", "chekc"], "help: unknown command chekc -- do you mean check?"),
        (["help", "-x"], "help: unknown option -x"),
        (["--frobnicate"], "unknown option --frobnicate"),
        (["mount"], "mount: no directory to mount at"),
        (["mount", "-f"], "mount: no directory to mount at"),
        (["mount", "a", "b", "c"], "mount: unexpected operand c after SOURCE and DIR"),
        (["mount", "-x", "d"], "mount: unknown option -x"),
        (["mount", "d", "-x"], "mount: unknown option -x"),
        (["mount", "-fx", "d"], "mount: unknown option -x"),
        (["mount", "--foreground", "d"], "mount: unknown option --foreground -- do you mean -f?"),
        (["local:account.tf", "d"], f"unknown command local:account.tf -- {NO_COMMAND}"),
        (["local:account.tf"], f"unknown command local:account.tf -- {NO_COMMAND}"),
        (["myaccount", "d"], f"unknown command myaccount -- {NO_COMMAND}"),
        (["https://host/account", "d"], f"unknown command https://host/account -- {NO_COMMAND}"),
        (["AccountName=a;AccountKey=c2VjcmV0", "d"], f"unknown command {HIDDEN} -- {NO_COMMAND}"),
        (["mount", "-r", "d"], f"mount: unknown option -r -- {READ_ONLY}"),
        (["mount", "-fr", "d"], f"mount: unknown option -r -- {READ_ONLY}"),
        (["mount", "--read-only", "d"], f"mount: unknown option --read-only -- {READ_ONLY}"),
        (["mount", "--readonly", "d"], f"mount: unknown option --readonly -- {READ_ONLY}"),
        (["mount", "--ro", "d"], f"mount: unknown option --ro -- {READ_ONLY}"),
        (["mount", "-v", "d"], f"mount: unknown option -v -- {VERBOSE}"),
        (["mount", "--verbose", "d"], f"mount: unknown option --verbose -- {VERBOSE}"),
        (["mount", "d", "-d"], f"mount: unknown option -d -- {DEBUG}"),
        (["mount", "--debug", "d"], f"mount: unknown option --debug -- {DEBUG}"),
        (["mount", "-V"], "mount: unknown option -V -- do you mean `tablefuse version`?"),
        (["-v"], f"unknown option -v -- {VERBOSE}"),
        (["-d"], f"unknown option -d -- {DEBUG}"),
        (["-r", "local:a", "d"], f"unknown option -r -- {READ_ONLY}"),
        (
            ["mount", "--cache-size=1G", "d"],
            "mount: unknown option --cache-size=1G -- do you mean -o cache_size=1G?",
        ),
        (
            ["mount", "--cache_size", "1G", "d"],
            "mount: unknown option --cache_size -- do you mean -o cache_size=VALUE?",
        ),
        (
            ["mount", "--allow-other", "d"],
            "mount: unknown option --allow-other -- do you mean -o allow_other?",
        ),
        (["mount", "--ro=1", "d"], "mount: unknown option --ro=1 -- do you mean -o ro?"),
        (["mount", "--cachesize=1G"], f"mount: unknown option {HIDDEN} -- do you mean -o cache_size=VALUE?"),
        (["mount", "--sig=secret"], f"mount: unknown option {HIDDEN}"),
        (["mount", "--", "-r", "d", "x"], "mount: unexpected operand x after SOURCE and DIR"),
        (["mount", "--" + "x" * 40], "mount: unknown option --" + "x" * 40),
        (["mount", "--=x"], f"mount: unknown option {HIDDEN}"),
        (["unmount", "-v", "d"], "unmount: unknown option -v"),
        (["mount", "-o"], "mount: option -o needs a value"),
        (["mount", "local:account.tf"], "mount: no directory to mount SOURCE at"),
        (["mount", "local:", "d"], "mount: SOURCE is local: without a FILE"),
        (["mount", "https://host/account"], "mount: no directory to mount SOURCE at"),
        (["mount", "https://host/account?sig=secret"], f"mount: {IN_PS}"),
        (["mount", "HTTP://host/account?sig=secret", "d"], f"mount: {IN_PS}"),
        (["mount", "-f", "https://host/account?sv=1", "d"], f"mount: {IN_PS}"),
        (["check", "https://host/account?sig=secret"], f"check: {IN_PS}"),
        (["unmount", "https://host/account?sig=secret"], f"unmount: {IN_PS}"),
        (["AccountName=a;AccountKey=c2VjcmV0"], f"unknown command {HIDDEN}"),
        (
            ["mount", "a", "b", "AccountName=a;AccountKey=secret"],
            f"mount: unexpected operand {HIDDEN} after SOURCE and DIR",
        ),
        (["mount", "--sas=secret", "d"], f"mount: unknown option {HIDDEN}"),
        (["unmount", "a", "b=c"], f"unmount: unexpected operand {HIDDEN} after DIR"),
        (["unmount"], "unmount: no directory to unmount"),
        (["umount"], "unmount: no directory to unmount"),
        (["unmount", "a", "b"], "unmount: unexpected operand b after DIR"),
        (["unmount", "-x", "a"], "unmount: unknown option -x"),
        (["drop"], "drop: no table to drop"),
        (["drop", "--yes"], "drop: no table to drop"),
        (["drop", "a", "b"], "drop: unexpected operand b after DIR/TABLE"),
        (["drop", "a", "AccountKey=secret"], f"drop: unexpected operand {HIDDEN} after DIR/TABLE"),
        (["drop", "-y", "a"], "drop: unknown option -y"),
        (["drop", "--force", "a"], "drop: unknown option --force"),
        (["drop", "-t"], "drop: option -t needs a value"),
        (["drop", "-t", "0", "a"], "drop: -t 0: expected seconds from 1 to 3600, for example 30"),
        (["check", "local:a", "b"], "check: unexpected operand b after local:FILE"),
        (["check", "emulator", "b"], "check: unexpected operand b after SOURCE"),
        (["check", "-o", "ttl=1", "emulator"], "check: option ttl is not for this command"),
        (["check", "local:"], "check: local: is not local:FILE"),
        (["check", "emulator", "AccountKey=c2VjcmV0"], f"check: unexpected operand {HIDDEN} after SOURCE"),
        (
            ["check", "local:a", "AccountKey=secret"],
            f"check: unexpected operand {HIDDEN} after local:FILE",
        ),
        (
            ["unmount", "-t", "AccountKey=secret", "d"],
            f"unmount: -t {HIDDEN}: expected seconds from 1 to 3600, for example 30",
        ),
        (["check", "-x", "local:a"], "check: unknown option -x"),
        (["version", "more"], "version: unexpected operand more"),
        (["help", "frobnicate"], "help: unknown command frobnicate"),
        (["help", "mount", "more"], "help: unexpected operand more"),
    ],
)
def test_usage_errors(arguments, cause):
    assert refused(*arguments) == cause


@pytest.mark.parametrize("options", ["rw,dev,suid", "nodev,nosuid", "ttl=5,dev,suid"])
def test_an_account_whose_name_is_near_a_verb(options):
    """mount.fuse3 calls the program so, and always says whether devices are allowed."""
    failed = run(TABLEFUSE, "mounts", "/nowhere/d", "-o", options, check=False)
    assert (failed.returncode, failed.stdout) == (MOUNTING, "")
    assert failed.stderr == (
        "tablefuse: cannot mount at /nowhere/d: No such file or directory -- create the directory first: `mkdir -p DIR`\n"
    )


@pytest.mark.parametrize(
    "arguments, code, message",
    [
        (
            ["mount", "emulator", "a=b;AccountKey=secret"],
            MOUNTING,
            f"cannot mount at {HIDDEN}: No such file or directory -- create the directory first: `mkdir -p DIR`",
        ),
        (
            ["mount", "AccountName=a;AccountKey=c2VjcmV0"],
            MOUNTING,
            f"cannot mount at {HIDDEN}: No such file or directory -- create the directory first: `mkdir -p DIR`",
        ),
        (
            ["unmount", "AccountName=a;AccountKey=c2VjcmV0"],
            NOT_FOUND,
            f"{HIDDEN} is not a tablefuse mount: No such file or directory",
        ),
        # a key may begin like a path
        (
            ["unmount", "/c2VjcmV0c2VjcmV0=="],
            NOT_FOUND,
            f"{HIDDEN} is not a tablefuse mount: No such file or directory",
        ),
        (
            ["unmount", "/tmp/../tmp/a=b;AccountKey=c2/VjcmV0"],
            NOT_FOUND,
            f"{HIDDEN} is not a tablefuse mount: No such file or directory",
        ),
    ],
)
def test_a_secret_in_the_place_of_the_directory(arguments, code, message):
    failed = run(TABLEFUSE, *arguments, check=False)
    assert (failed.returncode, failed.stdout) == (code, "")
    assert failed.stderr == f"tablefuse: {message}\n"


def test_a_directory_with_an_equals_sign(tmp_path):
    """What is there is a path, and no secret."""
    there = tmp_path / "year=2026" / "month=11"
    there.mkdir(parents=True)
    for verb, path, code, message in [
        ("unmount", there, NOT_FOUND, "{} is not a tablefuse mount"),
        ("unmount", there / "x", NOT_FOUND, "{} is not a tablefuse mount: No such file or directory"),
        (
            *("mount", there / "x/y", MOUNTING),
            "cannot mount at {}: No such file or directory -- create the directory first: `mkdir -p DIR`",
        ),
    ]:
        failed = run(TABLEFUSE, verb, path, check=False)
        assert (failed.returncode, failed.stderr) == (code, f"tablefuse: {message.format(path)}\n")
    failed = run(TABLEFUSE, "unmount", there / "day=22", check=False)
    assert failed.stderr == f"tablefuse: {HIDDEN} is not a tablefuse mount: No such file or directory\n"


@pytest.mark.parametrize(
    "option, cause",
    [
        ("frobnicate", "unknown option frobnicate"),
        ("frobnicate=1", "unknown option frobnicate"),
        ("layout=flat,frobnicate", "unknown option frobnicate"),
        ("sas_token=secret", "unknown option sas_token"),
        ("remount", "unknown option remount"),
        ("max_read=5", "unknown option max_read"),
        ("-x", "unknown option -x"),
        ("o" * 100, "unknown option " + "o" * 100),
        ("ttll=1", "unknown option ttll -- do you mean ttl?"),
        ("cachesize=1", "unknown option cachesize -- do you mean cache_size?"),
        ("cache-size=1", "unknown option cache-size -- do you mean cache_size?"),
        ("alow_other", "unknown option alow_other -- do you mean allow_other?"),
        ("paralelism=2", "unknown option paralelism -- do you mean parallelism?"),
        ("ro=1", "option ro takes no value"),
        ("allow_other=", "option allow_other takes no value"),
        ("allow_http=yes", "option allow_http takes no value"),
        ("ttl", "option ttl needs a value"),
        ("cache_size", "option cache_size needs a value"),
        ("layout", "option layout needs a value"),
        ("fanout", "option fanout needs a value"),
        ("parallelism", "option parallelism needs a value"),
        ("ca_cert", "option ca_cert needs a value"),
        ("table", "option table needs a value"),
        ("ca_cert=", "option ca_cert=: expected a file"),
        ("table=", "option table=: expected the name of a table"),
        *((f"ttl={bad}", f"option ttl={bad}: {TTL}") for bad in ("", "soon", "-1", "86401")),
        *((f"cache_size={bad}", f"option cache_size={bad}: {SIZE}") for bad in ("", "some", "1T")),
        *(
            (f"layout={bad}", f"option layout={bad}: expected auto or flat")
            for bad in ("", "tree", "FLAT")
        ),
        *(
            (f"fanout={bad}", f"option fanout={bad}: expected a number from 1 to 1000000, or auto")
            for bad in ("", "0", "-1", "many", "12x", "1000001", "99999999999999999999")
        ),
        *(
            (f"max_nodes={bad}", f"option max_nodes={bad}: expected a number from 1000 to 1000000000")
            for bad in ("", "0", "999", "1M", "1000000001")
        ),
        *(
            (f"parallelism={bad}", f"option parallelism={bad}: expected a number from 1 to 64")
            for bad in ("", "0", "65", "-8", "8.0")
        ),
        *(
            (f"uid={bad}", f"option uid={bad}: expected a number")
            for bad in ("", "-1", "99999999999")
        ),
        ("gid=x", "option gid=x: expected a number"),
        *((f"umask={bad}", f"option umask={bad}: {UMASK}") for bad in ("8", "rwx", "01000")),
        ("ttl=1,ttl=x", f"option ttl=x: {TTL}"),
    ],
)
def test_option_errors(option, cause):
    assert refused("mount", "-o", option, "dir") == f"mount: {cause}"


def helped(*arguments):
    done = run(TABLEFUSE, *arguments)
    assert done.stderr == ""
    lines = done.stdout.splitlines()
    assert len(lines) < 46 and max(map(len, lines)) <= 100
    return done.stdout


@pytest.mark.parametrize("verb", VERBS)
def test_help_of_a_verb(verb):
    text = helped("help", verb)
    assert text.startswith(f"usage: tablefuse {verb}") and "Exit codes" in text
    # `tablefuse help --help` asks about everything
    for flag in ["--help", "-h"] if verb != "help" else []:
        assert helped(verb, flag) == helped(verb, "operand", flag) == helped(flag, verb) == text


def test_unmount_waits_longer_than_a_mount_sends_its_queue():
    def default(verb, option):
        return int(re.search(rf"{option}[= ]SECONDS.*\((\d+)\)$", helped("help", verb), re.MULTILINE)[1])

    assert default("unmount", "-t") == default("mount", "timeout") + 30


def test_help():
    text = helped("--help")
    assert helped("-h") == helped("help") == helped("help", "--help") == text
    assert [line.split()[1] for line in help_text.usage()] == VERBS
    for word in ("emulator", "local:FILE", "AZURE_STORAGE_CONNECTION_STRING", "AZURE_STORAGE_SAS_TOKEN", "-f", "-z", "-t"):
        assert word in text
    assert "tablefuse help mount" in text


def test_help_of_mount_has_every_option():
    """A default is what the program takes without the option: it is parsed in the same way."""
    found = help_text.options()
    assert len(found) >= 23 and found["ttl"] == ("SECONDS", "1") and found["ro"] == (None, None)
    for name, (value, _) in found.items():
        wrong = name if value else f"{name}=1"
        form = "needs a value" if value else "takes no value"
        assert refused("mount", "-o", wrong, "local:a", "d") == f"mount: option {name} {form}"


def test_version():
    text = run(TABLEFUSE, "version").stdout
    assert re.fullmatch(r"tablefuse \d+\.\d+\.\d+\n", text)
    for flag in ("-V", "--version"):
        assert run(TABLEFUSE, flag).stdout == text


def test_help_that_cannot_be_written():
    failed = run("sh", "-c", '"$0" --help >/dev/full', TABLEFUSE, check=False)
    assert failed.returncode == MOUNTING
    assert failed.stderr == "tablefuse: cannot write the output: No space left on device\n"
