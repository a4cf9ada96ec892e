"""A process that does what it is told, a JSON object a line, and answers likewise. Bytes are told as Latin-1.

As `actor` it keeps what it has opened. As `observer` it answers each question by a child of its own, which has read and
listed nothing before."""
import contextlib
import errno
import json
import os
import sys

from write_model import MODES


class Actor:
    def __init__(self):
        self._files = {}

    def open(self, number, path, mode):
        access, creates, exclusive, truncates, appends = MODES[mode]
        flags = {"r": os.O_RDONLY, "w": os.O_WRONLY, "rw": os.O_RDWR}[access]
        flags |= os.O_CREAT * creates | os.O_EXCL * exclusive | os.O_TRUNC * truncates | os.O_APPEND * appends
        self._files[number] = os.open(path, flags, 0o644)

    def forget(self):
        """Closes what is still open after a failure."""
        for file in self._files.values():
            with contextlib.suppress(OSError):
                os.close(file)
        self._files.clear()

    def write(self, number, data, offset):
        file, data = self._files[number], data.encode("latin-1")
        return os.write(file, data) if offset is None else os.pwrite(file, data, offset)

    def read_text(self, number):
        return os.pread(self._files[number], 1 << 20, 0).decode("latin-1")

    def size(self, number):
        return os.fstat(self._files[number]).st_size

    def ftruncate(self, number, size):
        os.ftruncate(self._files[number], size)

    def fsync(self, number):
        os.fsync(self._files[number])

    def close(self, number):
        os.close(self._files.pop(number))

    def touch_handle(self, number):
        os.utime(self._files[number])

    def touch(self, path):
        os.utime(path)

    def truncate(self, path, size):
        os.truncate(path, size)

    def stat(self, path):
        return os.stat(path).st_size

    def mknod(self, path):
        os.mknod(path)

    def unlink(self, path):
        os.unlink(path)

    def mkdir(self, path):
        os.mkdir(path)

    def rmdir(self, path):
        os.rmdir(path)


def answer(call, arguments):
    try:
        return {"value": call(**arguments)}
    except OSError as error:
        return {"error": errno.errorcode[error.errno]}


def text_of(path):
    """A text whose size is not what stat tells is shown with both."""
    told = os.stat(path).st_size
    with open(path, "rb", buffering=0) as file:
        text = file.read().decode("latin-1")
    return text if len(text) == told else f"{told} bytes by stat: {text}"


def tree_of(table):
    """{partition: {file: text}}."""
    return {
        partition: {name: text_of(f"{table}/{partition}/{name}") for name in os.listdir(f"{table}/{partition}")}
        for partition in os.listdir(table)
    }


def observe(tables):
    """{table: its tree}, by a new process."""
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        print(json.dumps(answer(lambda: [tree_of(table) for table in tables], {})), flush=True)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0


def main(kind):
    actor = Actor()
    for line in sys.stdin:
        told = json.loads(line)
        if kind == "observer":
            observe(told)
            continue
        what = told.pop("what")
        print(json.dumps(answer(getattr(actor, what), told)), flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
