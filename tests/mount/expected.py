"""The expected tree, computed from the design only: file names of keys and the canonical text of entities."""
import hashlib
import json

NAME_BYTES = 255
PREFIX_BYTES = 240
DIGEST_DIGITS = 16
ENTITY_SUFFIX = ".json"
# without an annotation: what JSON itself tells
PLAIN_TYPES = ("String", "Boolean", "Int32")


def _escape(character):
    return "".join(f"#{byte:02X}" for byte in character.encode("utf-8"))


def _needs_escape(character):
    return character in "/#" or ord(character) < 0x20 or 0x7F <= ord(character) < 0xA0


def _pieces(key, *, is_partition):
    """The written form of each character."""
    if not key:
        return ["#00"]
    pieces = [_escape(c) if _needs_escape(c) else c for c in key]
    if key[0] == ".":
        pieces[0] = _escape(".")
    if is_partition and key[-1] == "+":
        pieces[-1] = _escape("+")
    return pieces


def cesu8(key):
    units = key.encode("utf-16-be")
    return b"".join(
        chr(units[i] << 8 | units[i + 1]).encode("utf-8", "surrogatepass")
        for i in range(0, len(units), 2)
    )


def _cut(pieces, limit):
    kept, size = [], 0
    for piece in pieces:
        size += len(piece.encode("utf-8"))
        if size > limit:
            break
        kept.append(piece)
    return "".join(kept)


def _name(key, suffix, *, is_partition):
    pieces = _pieces(key, is_partition=is_partition)
    name = "".join(pieces) + suffix
    if len(name.encode("utf-8")) <= NAME_BYTES:
        return name
    tail = "#~" + hashlib.sha256(cesu8(key)).hexdigest()[:DIGEST_DIGITS] + suffix
    return _cut(pieces, NAME_BYTES - len(tail)) + tail


def partition_name(key):
    return _name(key, "", is_partition=True)


def entity_name(key):
    return _name(key, ENTITY_SUFFIX, is_partition=False)


def prefix_name(prefix):
    """The name of a prefix. None: it is too long to be shown."""
    if len(cesu8(prefix)) > PREFIX_BYTES:
        return None
    name = "".join(_pieces(prefix, is_partition=True)) + "+"
    return name if len(name.encode("utf-8")) <= NAME_BYTES else None


def utf16_order(key):
    """Sort key: the order in which the service answers."""
    return key.encode("utf-16-be", "surrogatepass")


def _literal(kind, value):
    """`value` of a Double is its token as the service prints it: text, never printed from a float here."""
    if kind == "Boolean":
        return "true" if value else "false"
    if kind in ("Int32", "Double"):
        return str(value)
    return json.dumps(value, ensure_ascii=False)


def entity_text(partition_key, row_key, properties):
    """`properties`: {name: (kind, value)}, the values in canonical form. Names are in the order of their code points."""
    lines = [("PartitionKey", json.dumps(partition_key, ensure_ascii=False))]
    lines.append(("RowKey", json.dumps(row_key, ensure_ascii=False)))
    for name, (kind, value) in sorted(properties.items()):
        if kind not in PLAIN_TYPES:
            lines.append((name + "@odata.type", json.dumps("Edm." + kind)))
        lines.append((name, _literal(kind, value)))
    members = ",\n".join(
        f"  {json.dumps(name, ensure_ascii=False)}: {value}" for name, value in lines
    )
    return "{\n" + members + "\n}\n"


def _spelled(kind, value):
    """Services keep the spelling of these as they are given it. The value is the same."""
    if kind == "Edm.Guid":
        return value.lower()
    if kind == "Edm.DateTime" and "." in value:
        return value.rstrip("Z").rstrip("0").rstrip(".") + "Z"
    return value


def _members_of(entity):
    """Without the keys, and what the service adds."""
    added = ("PartitionKey", "RowKey", "Timestamp")
    return {
        name: _spelled(entity.get(name + "@odata.type"), value)
        for name, value in entity.items()
        if name.split("@")[0] not in added and not name.startswith("odata.")
    }


def entities_of(texts):
    """{(PartitionKey, RowKey): {name: value}}. The texts are entities, or pages {"value": [...]} of them. A number with a
    point or an exponent is a tuple of its digits: a float would not tell 3.0 from 3.00."""
    found = {}
    for text in texts:
        answer = json.loads(text, parse_float=lambda digits: (digits,))
        for entity in answer["value"] if isinstance(answer.get("value"), list) else [answer]:
            key = entity["PartitionKey"], entity["RowKey"]
            assert key not in found
            found[key] = _members_of(entity)
    return found
