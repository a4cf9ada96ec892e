"""Random entities and filters, and what the rules of the service say of them: pure."""
import datetime
import operator

KEYS = [f"{letter}{number}" for letter in "abC" for number in range(4)]
ROWS = ["", "0", "05", "1", "a b", "z'", "é"]

# for each type: its values with their constants
VALUES = {
    "Boolean": [(True, "true"), (False, "false")],
    "Int32": [(n, str(n)) for n in (-5, 0, 1, 2, 2147483647)],
    "Int64": [(n, f"{n}L") for n in (-5, 0, 2, 9007199254740993)],
    "Double": [(n, repr(n)) for n in (-5.5, 0.25, 1.5, 2.0, 123456.75)],
    "String": [(text, "'" + text.replace("'", "''") + "'") for text in ("", "1", "it's", "done", "é", "z")],
    "DateTime": [
        (datetime.datetime(2024, 5, day, 7, 8, 9, 123000), f"datetime'2024-05-0{day}T07:08:09.123Z'") for day in (1, 2, 9)
    ],
    "Guid": [(f"a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a1{n}", f"guid'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a1{n}'") for n in (1, 2)],
    "Binary": [(bytes([1, n]), f"X'01{n:02x}'") for n in (0, 255)],
}
NUMBERS = ("Int32", "Int64", "Double")
UNORDERED = ("Boolean", "Guid", "Binary")  # compared by eq and ne alone
RELATIONS = ("eq", "ne", "gt", "ge", "lt", "le")


def entities(random, types_of):
    """{(partition, row): {name: (type, value)}}; `types_of` has for each name the types that its values may have."""
    found = {}
    for partition in KEYS:
        for row in random.sample(ROWS, 4):
            properties = {}
            for name, types in types_of.items():
                if random.random() < 0.75:
                    kind = random.choice(types)
                    properties[name] = (kind, random.choice(VALUES[kind])[0])
            found[partition, row] = properties
    return found


def comparison(random, types_of):
    """(the text, its meaning: whether it holds for (partition, row, properties))"""
    relation = random.choice(RELATIONS)
    key = random.randrange(5)
    if key < 2:
        texts = (KEYS, ROWS)[key]
        constant = random.choice(texts)
        written = "'" + constant.replace("'", "''") + "'"
        return (
            f"{('PartitionKey', 'RowKey')[key]} {relation} {written}",
            lambda *entity: holds(relation, ("String", entity[key]), ("String", constant)),
        )
    name = random.choice(list(types_of))
    kind = random.choice(types_of[name])
    constant, written = random.choice(VALUES[kind])
    if kind in UNORDERED:
        relation = random.choice(("eq", "ne"))
    return f"{name} {relation} {written}", lambda *entity: holds(relation, entity[2].get(name), (kind, constant))


def expression(random, types_of, depth=3):
    choice = random.randrange(5) if depth > 0 else 0
    if choice < 2:
        return comparison(random, types_of)
    text, means = expression(random, types_of, depth - 1)
    if choice == 2:
        return f"not ({text})", lambda *entity: not means(*entity)
    other_text, other = expression(random, types_of, depth - 1)
    if choice == 3:
        return f"({text}) and ({other_text})", lambda *entity: means(*entity) and other(*entity)
    return f"({text}) or ({other_text})", lambda *entity: means(*entity) or other(*entity)


def holds(relation, value, constant):
    """The published table of comparisons: https://learn.microsoft.com/rest/api/storageservices/querying-tables-and-entities
    and what the service was seen to do with other types (client/filter/filter.h)."""
    if value is None:
        return False
    if value[0] != constant[0] and not (value[0] in NUMBERS and constant[0] in NUMBERS):
        return relation in ("ne", "lt", "le")
    left, right = value[1], constant[1]
    if isinstance(left, str):
        left, right = left.encode("utf-16-be"), right.encode("utf-16-be")
    return getattr(operator, relation)(left, right)
