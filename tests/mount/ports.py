"""TCP ports of this machine."""
import contextlib
import os
import pathlib
import socket

TCP_LISTEN = "0A"  # in /proc/net/tcp


@contextlib.contextmanager
def refusing_port():
    """A port that refuses connections. It is bound, so that no other process gets it, and nothing listens on it."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        yield bound.getsockname()[1]


def is_listening(port):
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def listening_port(pid):
    """The TCP port on which the process listens, or None."""
    opened = set()
    for link in pathlib.Path(f"/proc/{pid}/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):  # closed meanwhile
            opened.add(os.readlink(link))
    for line in pathlib.Path("/proc/net/tcp").read_text().splitlines()[1:]:
        _, local, _, state, _, _, _, _, _, inode = line.split()[:10]
        if state == TCP_LISTEN and f"socket:[{inode}]" in opened:
            return int(local.split(":")[1], 16)
    return None
