"""Ends a daemon, as `kill -9`, at a point that the test chooses: tests/stores/kill_switch.h."""
import mmap
import struct

# opcodes of linux/fuse.h
FORGET, STATFS, INIT, INTERRUPT, DESTROY, BATCH_FORGET = 2, 17, 26, 36, 38, 42
SETATTR, MKNOD, UNLINK, RMDIR, RENAME, OPEN, WRITE, RELEASE, FSYNC, FLUSH = 4, 8, 10, 11, 12, 14, 16, 18, 20, 25
CREATE, RENAME2 = 35, 45
CHANGING = {SETATTR, MKNOD, UNLINK, RENAME, OPEN, WRITE, RELEASE, FSYNC, FLUSH, CREATE, RENAME2}
# FORGET and INTERRUPT have no replies. STATFS is the test's own.
OPERATIONS = set(range(64)) - {FORGET, STATFS, INIT, INTERRUPT, DESTROY, BATCH_FORGET}
# of tests/stores/faulty_store.c: those that change something come last
REQUESTS, CHANGES = range(8), range(3, 8)



class KillSwitch:
    """struct kill_control of tests/stores/kill_switch.h."""

    _KINDS, _NUMBERS = struct.Struct("=4Q"), struct.Struct("=8I")
    _SIZE = _KINDS.size + _NUMBERS.size
    _OPERATION, _REPLY, _REQUEST, _ANSWER = range(4)

    def __init__(self, path):
        path.write_bytes(bytes(self._SIZE))
        with open(path, "r+b") as file:
            self._control = mmap.mmap(file.fileno(), self._SIZE)
        self.environment = {"TABLEFUSE_KILL": str(path)}

    def arm(self, kinds, point=0, limit=0):
        """Counts what is of these kinds. The daemon ends where it passes the point `limit` times."""
        self._KINDS.pack_into(self._control, 0, 0, 0, 0, 0)
        limits = [limit * (i == point) for i in range(4)]
        self._NUMBERS.pack_into(self._control, self._KINDS.size, *limits, 0, 0, 0, 0)
        is_request = point >= self._REQUEST
        operations, requests = (OPERATIONS, kinds) if is_request else (kinds, REQUESTS)
        bits = [sum(1 << kind for kind in each) for each in (operations, operations, requests, requests)]
        self._KINDS.pack_into(self._control, 0, *bits)

    def passed(self):
        return self._NUMBERS.unpack_from(self._control, self._KINDS.size)[4:]

    def is_at_rest(self):
        passed = self.passed()
        return passed[self._OPERATION] == passed[self._REPLY] and passed[self._REQUEST] == passed[self._ANSWER]
