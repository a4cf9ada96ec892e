"""A terminal for a program whose output depends on whether it writes to one."""
import contextlib
import fcntl
import os
import pty
import struct
import termios

from harness import EXIT_SEC

LINES = 24


def at_terminal(start, columns=None):
    """Calls start(TERMINAL), which starts a program that writes to it. Returns the program's exit code and its output.
    columns=0: a terminal that does not know its width."""
    ours, its = pty.openpty()
    process = None
    try:
        if columns is not None:
            fcntl.ioctl(its, termios.TIOCSWINSZ, struct.pack("HHHH", LINES, columns, 0, 0))
        process = start(its)
        os.close(its)
        text = b""
        with contextlib.suppress(OSError):  # EIO: the program has closed its side
            while read := os.read(ours, 65536):
                text += read
        return process.wait(timeout=EXIT_SEC), text.decode().replace("\r\n", "\n")
    finally:
        os.close(ours)
        if process:
            process.kill()
