"""What the tests of POSIX promises share: each call that takes a path, by its name, and calls of another user."""
import ctypes
import fcntl
import json
import os
import pwd
import stat
import struct

from harness import libc, run
from writing import outcome


def _open(path, flags):
    os.close(os.open(path, flags, 0o644))


# Calls of what is there. The second argument is the path of an entity, for calls that take two paths.
FINDING = {
    "open": lambda path, _: _open(path, os.O_RDONLY),
    "open to write": lambda path, _: _open(path, os.O_RDWR),
    "stat": lambda path, _: os.stat(path),
    "unlink": lambda path, _: os.unlink(path),
    "rmdir": lambda path, _: os.rmdir(path),
    "truncate": lambda path, _: os.truncate(path, 0),
    "chmod": lambda path, _: os.chmod(path, 0o600),
    "chown": lambda path, _: os.chown(path, os.getuid(), os.getgid()),
    "utimensat": lambda path, _: os.utime(path),
    "link from": lambda path, entity: os.link(path, f"{entity}.new.json"),
    "rename from": lambda path, entity: os.rename(path, f"{entity}.new.json"),
}
# Calls that make a name.
MAKING = {
    "creat": lambda path, _: _open(path, os.O_WRONLY | os.O_CREAT),
    "mkdir": lambda path, _: os.mkdir(path),
    "mknod": lambda path, _: os.mknod(path),
    "mkfifo": lambda path, _: os.mkfifo(path),
    "mknod of a device": lambda path, _: os.mknod(path, stat.S_IFCHR | 0o600, os.makedev(1, 3)),
    "symlink": lambda path, _: os.symlink("r.json", path),
    "link to": lambda path, entity: os.link(entity, path),
    "rename to": lambda path, entity: os.rename(entity, path),
}
CALLS = {**FINDING, **MAKING}

# A path outside the address space, and the arguments after it; "at" calls begin with a directory.
_AT_CWD, _OUTSIDE = -100, ctypes.c_void_p((1 << 64) - 1)
WITH_BAD_PATH = {
    "open": lambda _: libc.open(_OUTSIDE, os.O_RDONLY),
    "creat": lambda _: libc.creat(_OUTSIDE, 0o644),
    "unlink": lambda _: libc.unlink(_OUTSIDE),
    "mkdir": lambda _: libc.mkdir(_OUTSIDE, 0o755),
    "rmdir": lambda _: libc.rmdir(_OUTSIDE),
    "truncate": lambda _: libc.truncate(_OUTSIDE, ctypes.c_long(0)),
    "chmod": lambda _: libc.chmod(_OUTSIDE, 0o644),
    "chown": lambda _: libc.chown(_OUTSIDE, 0, 0),
    "utimensat": lambda _: libc.utimensat(_AT_CWD, _OUTSIDE, None, 0),
    "mkfifo": lambda _: libc.mkfifo(_OUTSIDE, 0o644),
    "mknod": lambda _: libc.mknod(_OUTSIDE, stat.S_IFREG | 0o644, ctypes.c_ulong(0)),
    "link": lambda file: libc.link(file, _OUTSIDE),
    "symlink": lambda file: libc.symlink(file, _OUTSIDE),
    "rename": lambda file: libc.rename(file, _OUTSIDE),
}

F_OFD_SETLK = 37

UTIME_NOW, UTIME_OMIT = (1 << 30) - 1, (1 << 30) - 2


class _Timespec(ctypes.Structure):
    _fields_ = [("sec", ctypes.c_long), ("nsec", ctypes.c_long)]


def checked(result):
    """Of a call of libc: fails as those of os do."""
    if result == -1:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


def utimensat(path, accessed, modified):
    """With (seconds, nanoseconds) each; nanoseconds may be UTIME_NOW or UTIME_OMIT."""
    times = (_Timespec * 2)(_Timespec(*accessed), _Timespec(*modified))
    checked(libc.utimensat(_AT_CWD, os.fsencode(path), times, 0))


def renameat2(old, new, flags):
    checked(libc.renameat2(_AT_CWD, os.fsencode(old), _AT_CWD, os.fsencode(new), flags))


def lock_range(file):
    """A lock of fcntl on the whole file, for writing. It belongs to the descriptor, not to the process."""
    fcntl.fcntl(file, F_OFD_SETLK, struct.pack("hhqqi", fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0))


def fallocate(file, mode, offset, size):
    checked(libc.fallocate(file, mode, ctypes.c_long(offset), ctypes.c_long(size)))


def outcomes(calls, path, entity):
    """{call: the errno with which it fails}."""
    return {name: outcome(call, str(path), str(entity)) for name, call in calls.items()}


_AS_USER = """
import errno, json, os, sys
for name, *arguments in json.loads(sys.argv[1]):
    try:
        getattr(os, name)(*(tuple(each) if isinstance(each, list) else each for each in arguments))
        print()
    except OSError as error:
        print(errno.errorcode[error.errno])
"""


def outcomes_as(user, calls):
    """What os.NAME(*arguments) answers another user, for each (NAME, arguments...)."""
    text = json.dumps([[name, *map(_plain, arguments)] for name, *arguments in calls])
    entry = pwd.getpwnam(user)
    ids = {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": []}
    return run("/usr/bin/python3", "-c", _AS_USER, text, cwd="/", **ids).stdout.split("\n")[:-1]


def _plain(argument):
    return str(argument) if isinstance(argument, os.PathLike) else argument
