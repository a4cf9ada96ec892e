"""What the service cannot do now: beyond a rate, and while a table is being deleted."""
import collections


class Rate:
    """At most `per_sec` units a second for each key, and as many at once. A request of more units takes all of them."""

    def __init__(self, clock):
        self._clock = clock
        self._left = {}  # {key: (units, when)}

    def take(self, key, units, per_sec):
        now = self._clock()
        left, since = self._left.get(key, (per_sec, now))
        left = min(per_sec, left + (now - since) * per_sec)
        units = min(units, per_sec)
        is_free = per_sec > 0 and left >= units
        self._left[key] = (left - units if is_free else left, now)
        return is_free


class Dropped:
    """Dropped tables, each with the number of creations that are still refused."""

    def __init__(self):
        self._left = collections.Counter()

    def drop(self, table, times):
        self._left[table.lower()] = times

    def refuses(self, table):
        if self._left[table.lower()] <= 0:
            return False
        self._left[table.lower()] -= 1
        return True
