"""A client that changes entities and reads them past every mount: on a service by its SDK, in a file by SQLite itself.
A property is name: (type, canonical value)."""
import contextlib
import json
import sqlite3
import time

from expected import cesu8, entities_of, entity_text
from harness import COMMAND_SEC, LocalAccount, checksum


def _typed(name, members):
    value = members[name]
    kind = members.get(name + "@odata.type", "").removeprefix("Edm.")
    if not kind:
        plain = {bool: "Boolean", int: "Int32", str: "String", tuple: "Double"}
        kind = plain[type(value)]
    if kind == "Double" and not isinstance(value, str):
        return kind, float(value[0] if isinstance(value, tuple) else value)
    return kind, value


def typed(members):
    """{name: (type, value)} of an entity's members."""
    return {name: _typed(name, members) for name in members if "@" not in name}


def comparable(properties):
    """As `typed` tells them: a Double by its value, because services spell it differently."""
    return {
        name: (kind, float(value)) if kind == "Double" else (kind, value)
        for name, (kind, value) in properties.items()
    }


class SdkClient:
    def __init__(self, service):
        self._sdk = service.sdk

    def _entity(self, key, properties):
        plain = ("String", "Boolean")
        values = {
            name: value if kind in plain else {"type": kind, "value": float(value) if kind == "Double" else value}
            for name, (kind, value) in properties.items()
        }
        return {"partitionKey": key[1], "rowKey": key[2], **values}

    def change(self, kind, key, properties):
        """insert, replace, merge or delete: it must be possible."""
        if kind == "delete":
            self._sdk.remove(*key)
        elif kind == "insert":
            self._sdk.insert(key[0], [self._entity(key, properties)])
        else:
            self._sdk.update(key[0], [self._entity(key, properties)], mode=kind.capitalize())

    def stored(self, table):
        """{(PartitionKey, RowKey): {name: (type, value)}}."""
        return {key: typed(members) for key, members in entities_of(self._sdk.read_texts(table)).items()}

    def stop(self):
        """The SDK ends with the service."""


class FileClient:
    """Stamps and checksums are as client/local makes them."""

    def __init__(self, account):
        self._database = sqlite3.connect(account.file, timeout=COMMAND_SEC, isolation_level=None)
        self._database.create_function("checksum", -1, checksum)

    def _one(self, statement, *values):
        row = self._database.execute(statement, values).fetchone()
        return row and row[0]

    @contextlib.contextmanager
    def _transaction(self):
        self._database.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self._database.execute("ROLLBACK")
            raise
        self._database.execute("COMMIT")

    def change(self, kind, key, properties):
        """insert, replace, merge or delete: it must be possible."""
        position = cesu8(key[1]) + b"\0" + cesu8(key[2])
        with self._transaction():
            table = self._one("SELECT id FROM tables WHERE name = ?", key[0])
            row = (table, position)
            found = self._one("SELECT text FROM entities WHERE table_id = ? AND position = ?", *row)
            assert (found is None) == (kind == "insert")
            self._database.execute("DELETE FROM entities WHERE table_id = ? AND position = ?", row)
            if kind == "delete":
                return
            if kind == "merge":
                (before,) = entities_of([found.decode()]).values()
                before = {name: self._canonical(each) for name, each in typed(before).items()}
                properties = {**before, **properties}
            last = self._one("SELECT last_timestamp FROM account")
            stamp = max(time.time_ns() // 100, last + 1)
            text = entity_text(key[1], key[2], properties).encode()
            values = (*row, stamp, text)
            self._database.execute("INSERT INTO entities VALUES (?1, ?2, ?3, checksum(?1, ?2, ?3, ?4), ?4)", values)
            self._database.execute("UPDATE account SET last_timestamp = ?1, checksum = checksum(?1)", (stamp,))

    @staticmethod
    def _canonical(typed_value):
        """The values of the tests are printed by Python as by JavaScript."""
        kind, value = typed_value
        return (kind, json.dumps(value)) if kind == "Double" else (kind, value)

    def stored(self, table):
        """{(PartitionKey, RowKey): {name: (type, value)}}."""
        rows = self._database.execute(
            "SELECT text FROM entities JOIN tables ON id = table_id WHERE name = ?", (table,)
        )
        return {key: typed(members) for key, members in entities_of(text.decode() for (text,) in rows).items()}

    def stop(self):
        self._database.close()


def other_client(service):
    return FileClient(service) if isinstance(service, LocalAccount) else SdkClient(service)
