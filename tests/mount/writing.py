"""What the tests of writing share: writes as tools make them, and readers of .tablefuse/errors and lost+found."""
import contextlib
import errno
import os
import re
import subprocess

from harness import TABLEFUSE, environment, wait_until

# 2026-11-22T10:00:00.123Z write /t/p/r.json: EINVAL, HTTP 400 InvalidInput: why [cp] -- what to do
_FAILURE = re.compile(
    r"\S+Z (?P<operation>\S+) (?P<path>/.*?): (?P<error>E[A-Z]+|OK)(?P<status>, HTTP \d+)?( (?P<code>\w+))?:"
    r" (?P<reason>.*?)( \[(?P<command>[^\]]*)\])?( \((?P<times>\d+) times since \S+Z\))?( -- (?P<advice>.*))?"
)

CREATE = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
OVER = os.O_WRONLY | os.O_TRUNC
EXCLUSIVE = os.O_WRONLY | os.O_CREAT | os.O_EXCL


def outcome(call, *arguments):
    """The name of the errno with which the call fails; "": it does not fail."""
    try:
        call(*arguments)
    except OSError as error:
        return errno.errorcode[error.errno]
    return ""


def write_all(file, text):
    """Each piece is one write of at most 1 MiB, as the kernel hands it to the mount."""
    text = text if isinstance(text, bytes) else text.encode()
    while text:
        text = text[os.write(file, text[: 1 << 20]) :]


def write(path, text, flags=CREATE):
    """Answers "", or the step that failed and its errno: "open EINVAL", "write EFBIG", "close EINVAL"."""
    try:
        file = os.open(path, flags, 0o644)
    except OSError as error:
        return f"open {errno.errorcode[error.errno]}"
    failed = outcome(write_all, file, text)
    if failed:
        with contextlib.suppress(OSError):
            os.close(file)
        return f"write {failed}"
    failed = outcome(os.close, file)
    return f"close {failed}" if failed else ""


def failures(mount, before=""):
    """The lines of .tablefuse/errors that tell of failures, each as a dictionary. before: the text of the file when its
    lines do not count; one in which an equal failure was counted since then does."""
    return [line for line in reports(mount, before) if line["error"] != "OK"]


def reports(mount, before=""):
    """The same with its notes, which tell of no failure."""
    lines = mount.control("errors").splitlines()
    found = [_FAILURE.fullmatch(line) for line in lines if line not in before.splitlines()]
    assert all(found), lines
    return [line.groupdict() for line in found]


def lost_texts(mount, count):
    """{name: bytes} of lost+found, the reasons among them. Waits until `errors` has the lines of `count` texts."""
    named = " -- the text is in "
    wait_until(lambda: mount.control("errors").count(named) == count, what=f"{count} lost texts")
    found = mount.lost_texts()
    assert len(found) == 2 * count
    return found


def kept(mount, count):
    """{file name: text} of lost+found, without the reasons. All are of partitions named p."""
    texts = lost_texts(mount, count)
    return {name.split("-p-")[1]: texts[name] for name in texts if not name.endswith(".reason")}


def whole_lost_texts(mount):
    """{name: bytes} of the texts in lost+found that have a reason. The reason is written last. Of a text without one, perhaps
    only the beginning is there yet: the release of a file goes on after its close."""
    found = mount.lost_texts()
    return {name: text for name, text in found.items() if f"{name}.reason" in found}


def fails_at(mount, path):
    """["EINVAL why", ...] of one path, without repetitions."""
    lines = [f"{f['error']} {f['reason']}" for f in reports(mount) if f["path"] == path]
    return list(dict.fromkeys(lines))


def begin_foreground(mount, service, *options):
    """A mount whose end is seen, and whose log is in the file `log` beside its mount point."""
    with open(mount.point.with_name("log"), "wb") as log:
        process = subprocess.Popen(
            [
                *(TABLEFUSE, "mount", "-f"),
                *(["-o", ",".join(options)] if options else []),
                *([service.source] if service.source else []),
                mount.point,
            ],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=log,
            env=environment(**service.credentials, **mount.variables()),
        )
    wait_until(mount.is_mounted)
    mount.adopt()
    return process
