"""Replaces old by new in a file with nano, at a terminal of its own: nano_actor.py FILE. Fails with what nano says if
it could not read or write the file."""
import os
import pty
import re
import select
import signal
import sys

WAIT_SEC = 25
# what the screen shows, and the keys that are typed then
STEPS = [
    ("GNU nano", "\x1c"),  # replace
    ("Search", "old\r"),
    ("Replace with", "new\r"),
    ("this instance", "a\x13"),  # all; save
    ("Wrote", "\x18"),  # exit
]
FAILURES = "Error[^\x1b]*|New File|not found"


def read_until(terminal, wanted):
    shown = ""
    while not re.search(wanted, shown):
        if not select.select([terminal], [], [], WAIT_SEC)[0]:
            sys.exit(f"no {wanted}: {shown!r}")
        shown += os.read(terminal, 4096).decode(errors="replace")
    return re.search(wanted, shown)[0]


def main(file):
    process, terminal = pty.fork()
    if process == 0:
        os.environ["TERM"] = "vt100"
        os.execvp("nano", ["nano", "--ignorercfiles", file])
    for wanted, keys in STEPS:
        said = read_until(terminal, f"{wanted}|{FAILURES}")
        if re.match(FAILURES, said):
            os.kill(process, signal.SIGKILL)
            sys.exit(said)
        os.write(terminal, keys.encode())
    os.waitpid(process, 0)


main(sys.argv[1])
