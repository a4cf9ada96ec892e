"""What may be stored under each key, by the changes that programs have begun and finished. A key is (table,
PartitionKey, RowKey) and is changed by one program at a time; None is the value of an absent entity."""
import threading
import time


def _is_about(entry, key):
    """Of the key itself, or of its whole table."""
    return entry["table"] == key[0] and any(
        name == "drop" or (partition, row) == key[1:] for name, partition, row, _ in entry["writes"]
    )


class Model:
    """Any thread."""

    def __init__(self):
        self._lock = threading.Lock()
        self._may_be = {}  # key: set of values
        self._unsynced = {}  # mount: {key: values that come back if its process is killed}
        self._deaths = {}  # mount: how often its process was killed
        self._begun = {}  # key: [when a program began to change it, as of time.time()]
        self._sure_since = {}  # key: when its last confirmed change had begun
        self._history = {}  # key: [(when, mount, value, whether it was confirmed)]
        self.in_doubt = set()  # values that were not confirmed, or were queued when the process was killed

    def may_be(self, key):
        with self._lock:
            return set(self._may_be.get(key, {None}))

    def keys(self):
        with self._lock:
            return list(self._may_be)

    def begin(self, mount, changes, steps=()):
        """Changes are {key: value}. A program that removes before it writes has None among its steps. Returns what `end`
        takes."""
        with self._lock:
            before = {key: self._may_be.get(key, {None}) for key in changes}
            for key, value in changes.items():
                self._may_be[key] = before[key] | {value, *steps}
                self._begun.setdefault(key, []).append(time.time())
            return before, changes, self._deaths.get(mount, 0), time.time()

    def end(self, mount, begun, is_confirmed, is_queued):
        """is_confirmed: the program has reported success; else each of the values may be there."""
        before, changes, deaths, started = begun
        with self._lock:
            has_died = self._deaths.get(mount, 0) != deaths
            for key, value in changes.items():
                self._history.setdefault(key, []).append((time.monotonic(), mount.name, value, is_confirmed))
                may_be_lost = is_queued or value is None  # a delete is queued by every mount
                if not is_confirmed or (may_be_lost and has_died):
                    self.in_doubt.add(value)
                    continue
                self._may_be[key] = {value}
                self._sure_since[key] = started
                if may_be_lost:
                    self._unsynced.setdefault(mount, {}).setdefault(key, set()).update(before[key])
                else:
                    self._unsynced.get(mount, {}).pop(key, None)

    def unsynced(self, mount, is_below):
        """The keys of confirmed changes that a kill may still undo, for `synced`."""
        with self._lock:
            return [key for key in self._unsynced.get(mount, {}) if is_below(key)]

    def synced(self, mount, keys):
        """Their last changes were stored. The program that changes them has waited meanwhile."""
        with self._lock:
            for key in keys:
                self._unsynced.get(mount, {}).pop(key, None)

    def was_late(self, key, entry):
        """Has the service made this change of the proxy's journal for a client that had gone, after a program had begun a
        later change of the key? So the service may do with a request that is under way when its client is killed, or gives
        up."""
        if not (entry["is_gone"] and (entry["result"] or "").startswith("2") and _is_about(entry, key)):
            return False
        with self._lock:
            return any(entry["arrived"] < begun < entry["answered"] for begun in self._begun.get(key, []))

    def sure_since(self, key):
        """When the last confirmed change of the key had begun: what the service has made before counts no more."""
        with self._lock:
            return self._sure_since.get(key, 0)

    def doubt(self, keys):
        """They were changed late: the texts of other changes may have been refused."""
        with self._lock:
            changes = [change for key in keys for change in self._history.get(key, [])]
            self.in_doubt |= {value for _, _, value, _ in changes if value != "killed"}

    def history(self, key):
        """Its last changes, for a person."""
        with self._lock:
            return "".join(f"\n    {each}" for each in self._history.get(key, [])[-6:])

    def killed(self, mount):
        with self._lock:
            for key in self._may_be:
                self._history.setdefault(key, []).append((time.monotonic(), mount.name, "killed", ""))
            self._deaths[mount] = self._deaths.get(mount, 0) + 1
            for key, values in self._unsynced.pop(mount, {}).items():
                self.in_doubt |= self._may_be[key]
                self._may_be[key] |= values

    def deaths(self, mount):
        with self._lock:
            return self._deaths.get(mount, 0)
