"""Text of others reaches a terminal, a log or a file as printable text: of the service, of a certificate, and the names of
processes and files. What is written is read as UTF-8, strictly."""
import json
import os
import sqlite3
import sys
import unicodedata

import pytest

from credentials import Certificate
from harness import COMMAND_SEC, DAMAGED, KEY, TABLEFUSE, Azurite, LocalAccount, environment, run
from servers import Handler, Server
from writing import begin_foreground

C1 = "".join(map(chr, range(0x80, 0xA0)))
DIRECTIONS = "\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u061c"
HOSTILE = f"[31mred\x1b[2J\x07\x7f{DIRECTIONS}\u2028\u2029{C1}"
SHOWN = "[31mred?[2J??" + "?" * len(DIRECTIONS)
NO_KIND = ("Cc", "Cs", "Zl", "Zp")
NO_DIRECTION = ("LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI")
# The kernel cuts a name after 15 bytes, here within a character. A raw byte of C1, and what labels escape.
PROCESS_NAMES = {
    b"a\x1b[31m\x07b": "a?[31m?b",
    b"c\x9bd\xc2\x9be": "c?d?e",
    b"f\xe2\x80\xae\xe2\x81\xa7g": "f??g",
    b"hhhhhhhhhhhhh\xe2\x82\xac": "hhhhhhhhhhhhh??",
    b'i"\\\nj': 'i"\\?j',
}


def assert_printable(output):
    """By Python's own tables."""
    for character in output.decode().replace("\n", ""):
        assert unicodedata.category(character) not in NO_KIND, ascii(output)
        assert unicodedata.bidirectional(character) not in NO_DIRECTION, ascii(output)
        assert character not in "\u200e\u200f\u061c", ascii(output)


def assert_shown(output, text):
    """It has the text, and is printable as a whole."""
    assert_printable(output)
    assert text in output.decode(), ascii(output)


def raw(mount, name):
    return (mount.point / ".tablefuse" / name).read_bytes()


def told(*command, **variables):
    """What a program writes to standard output and error, in bytes."""
    return run(*command, check=False, text=False, env=environment(**variables))


class Hostile(Server):
    """Between a mount and Azurite. While `status` is set, that is the answer, with a reason that no terminal should get."""

    source = None

    def __init__(self, service):
        self.status = None
        server = self
        header = HOSTILE.encode().decode("latin-1")
        headers = {"x-ms-request-id": header, "Content-Type": "application/json"}
        reason = {"code": HOSTILE[:40], "message": {"value": HOSTILE}}
        page = json.dumps({"odata.error": reason}).encode()

        class Between(Handler):
            def answer(self):
                answer = self.hand_on(service)
                self.reply(*((server.status, headers, page) if server.status else answer))

            do_GET = do_POST = do_PUT = do_DELETE = answer

        super().__init__(Between)
        self.credentials = self.credentials_for(service)


@pytest.fixture
def hostile(service):
    server = Hostile(service)
    yield server
    server.stop()


@pytest.fixture(scope="module", autouse=True)
def data(sdk):
    sdk.create_table("items", [{"partitionKey": "p", "rowKey": "r", "A": 1}])


@pytest.mark.asan
def test_what_a_service_says(mounts, hostile):
    mount = mounts.prepare()
    daemon = begin_foreground(mount, hostile, "ttl=0", "timeout=4")
    file = os.open(mount / "items/p/r.json", os.O_RDWR)
    os.pwrite(file, b'{"A": 2}'.ljust(os.fstat(file).st_size), 0)
    hostile.status = 403
    with pytest.raises(PermissionError):
        os.close(file)
    for hostile.status in 403, 503:
        assert run("ls", mount / "items/p", check=False).returncode != 0
    errors = raw(mount, "errors")
    mount.unmount(check=False)
    assert daemon.wait(timeout=COMMAND_SEC) is not None
    log = mount.point.with_name("log").read_bytes()
    (reason,) = (text for name, text in mount.lost_texts().items() if name.endswith(".reason"))
    for output in errors, log, reason:
        assert_shown(output, SHOWN)
    assert f"(request {SHOWN[:14]}" in errors.decode()


def test_what_a_service_says_at_the_mount(mounts, hostile):
    mount = mounts.prepare()
    hostile.status = 403
    failed = told(TABLEFUSE, "mount", mount.point, **mount.variables(), **hostile.credentials)
    assert failed.returncode != 0 and not mount.is_mounted()
    assert_shown(failed.stderr, SHOWN)


def test_what_a_certificate_says(mounts, scratch):
    """Without a name of a host of its own, the name of its subject is told."""
    subject = "a\x1b[31m\u009b\u202eb"
    certificate = Certificate(scratch, "hostile", "email:a@b.example", subject=subject)
    azurite = Azurite(scratch, certificate=certificate)
    try:
        mount = mounts.prepare()
        variables = {"AZURE_STORAGE_KEY": KEY, **mount.variables()}
        option = f"ca_cert={certificate.file}"
        failed = told(TABLEFUSE, "mount", "-o", option, azurite.endpoint, mount.point, **variables)
    finally:
        azurite.stop()
    assert failed.returncode != 0
    assert_shown(failed.stderr, "a?[31m??b")


LOOK = """
import ctypes, os, sys
ctypes.CDLL(None).prctl(15, os.fsencode(sys.argv[1]), 0, 0, 0)
try:
    os.listdir(sys.argv[2])
except OSError:
    pass
"""


@pytest.mark.asan
@pytest.mark.tsan
def test_names_of_processes(mounts, hostile):
    mount = mounts("ttl=0", env=hostile.credentials)
    hostile.status = 403
    for name in PROCESS_NAMES:
        run(sys.executable, "-c", LOOK, os.fsdecode(name), mount / "items/p")
    errors, stats = raw(mount, "errors"), raw(mount, "stats")
    for shown in PROCESS_NAMES.values():
        assert_shown(errors, f"[{shown}]")
    for shown in PROCESS_NAMES.values():
        label = shown.replace("\\", r"\\").replace('"', r"\"")
        assert_shown(stats, f'command="{label}"')
    assert_printable(raw(mount, "config"))
    assert_printable(raw(mount, "version"))


NAME = "x\x1b[31m\u009b\u202e\ny"
SHOWN_NAME = "x?[31m???y"


def test_names_of_files(mounts, scratch):
    """Of an account, of a directory, and of what is wrong in an account."""
    directory = scratch / NAME
    directory.mkdir()
    account = LocalAccount(directory / NAME)
    account.fill("items", "single", "3")
    mount = mounts(source=account.source, env={})
    config = raw(mount, "config")
    assert_shown(config, f"account local:{scratch}/{SHOWN_NAME}/{SHOWN_NAME}\n")
    mount.unmount()
    with sqlite3.connect(account.file) as database:
        database.execute(f'CREATE TABLE "{NAME}" (x)')
    refused = told(TABLEFUSE, "mount", account.source, mount.point, **mount.variables())
    checked = told(TABLEFUSE, "check", account.source)
    for done, output in (refused, refused.stderr), (checked, checked.stdout):
        assert done.returncode == DAMAGED and output.count(b"\n") == len(output.splitlines())
        assert_shown(output, f'"{SHOWN_NAME}" in its schema')
    for verb in "mount", "unmount", "drop", "check", NAME:
        absent = f"{directory}/{NAME}-absent"
        failed = told(TABLEFUSE, verb, f"local:{absent}" if verb == "check" else absent)
        assert failed.returncode != 0
        assert_shown(failed.stderr, SHOWN_NAME)
