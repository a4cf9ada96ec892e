"""The directory functions that Python's os does not have: telldir, seekdir, rewinddir."""
import ctypes
import os

from harness import libc


class _Dirent(ctypes.Structure):  # of Linux on 64 bits
    _fields_ = [
        ("ino", ctypes.c_uint64),
        ("offset", ctypes.c_int64),
        ("record_bytes", ctypes.c_uint16),
        ("type", ctypes.c_uint8),
        ("name", ctypes.c_char * 256),
    ]


libc.opendir.restype = ctypes.c_void_p
libc.readdir.restype = ctypes.POINTER(_Dirent)
libc.readdir.argtypes = libc.telldir.argtypes = libc.rewinddir.argtypes = libc.closedir.argtypes = [
    ctypes.c_void_p
]
libc.telldir.restype = ctypes.c_long
libc.seekdir.argtypes = [ctypes.c_void_p, ctypes.c_long]


class DirectoryStream:
    def __init__(self, path):
        self._stream = libc.opendir(os.fsencode(path))
        if not self._stream:
            raise OSError(ctypes.get_errno(), "opendir", str(path))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        libc.closedir(self._stream)

    def __iter__(self):
        return self

    def __next__(self):
        ctypes.set_errno(0)
        entry = libc.readdir(self._stream)
        if entry:
            name = entry.contents.name.decode()
            return next(self) if name in (".", "..") else name
        if ctypes.get_errno():
            raise OSError(ctypes.get_errno(), "readdir")
        raise StopIteration

    def tell(self):
        return libc.telldir(self._stream)

    def seek(self, position):
        libc.seekdir(self._stream, position)

    def rewind(self):
        libc.rewinddir(self._stream)
