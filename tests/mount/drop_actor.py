"""A process that deletes a table as `rm -r` does: it lists each directory, reads and deletes what it finds there, removes
the directory, and at last the table. An entity's N is its version.

argv: the table's directory. Prints {"deleted": {"PARTITION/ROW": N, ...}, "began": when it began to remove the table,
"error": the name of the errno, or ""}. The first deleted one is left out: it is deleted whatever its version."""
import contextlib
import errno
import json
import os
import sys
import time


def read(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)["N"]


def remove_all(directory, below, deleted):
    for name in sorted(os.listdir(directory)):
        path, key = f"{directory}/{name}", f"{below}{name}"
        if not name.endswith(".json"):
            remove_all(path, f"{key}/", deleted)
            with contextlib.suppress(OSError):
                os.rmdir(path)
            continue
        try:
            version = read(path)
            os.unlink(path)
        except FileNotFoundError:
            continue
        deleted.append((key.removesuffix(".json"), version))


def main():
    table, deleted, error = sys.argv[1], [], ""
    remove_all(table, "", deleted)
    began = time.monotonic()
    try:
        os.rmdir(table)
    except OSError as failure:
        error = errno.errorcode[failure.errno]
    print(json.dumps({"deleted": dict(deleted[1:]), "first": deleted[0][0] if deleted else "",
                      "began": began, "error": error}))


main()
