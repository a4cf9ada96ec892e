"""What the soak stores: an entity that shows whether its text is whole. A value is (name, turn); the entity has both, and
a padding that follows from the name."""
import json
import random
import zlib


SAME, SAME_BYTES = "same-", 700


class Broken(Exception):
    """A text that is no entity of the soak: cut, mixed with another one, or with foreign properties."""


def _padding(name):
    """So short that each program writes a text at once: others see what is written of a new file so far, as on a disk.
    `import` creates no file, so it has long ones, too."""
    chance = random.Random(zlib.crc32(name.encode()))
    if name.startswith(SAME):
        size = SAME_BYTES - len(name)
        return format(chance.getrandbits(4 * size), "x").zfill(size)
    size = 20_000 if name.startswith("bulk") and chance.random() < 0.1 else chance.randrange(1500)
    return format(chance.getrandbits(4 * size), "x") if size else ""


def of_one_size(value):
    """The value with another name and turn: the texts of all of these have the same size."""
    name, turn = value
    return f"{SAME}{name}", 100 + turn % 900


def text_of(value):
    name, turn = value
    return json.dumps({"Name": name, "Turn": turn, "Padding": _padding(name)})


def value_of(members):
    """Of the members of an entity; what the service adds to them does not count."""
    if not isinstance(members, dict):
        raise Broken(json.dumps(members)[:200])
    name, turn = members.get("Name"), members.get("Turn")
    if not isinstance(name, str) or not isinstance(turn, int) or members.get("Padding") != _padding(name):
        raise Broken(json.dumps(members)[:200])
    return name, turn


def values_of(text):
    """The values of texts that follow each other."""
    decoder, at = json.JSONDecoder(), 0
    text = text.strip()
    while at < len(text):
        try:
            members, end = decoder.raw_decode(text, at)
        except ValueError as error:
            raise Broken(f"{error}: {text[at:][:200]!r}") from error
        yield value_of(members)
        at = end + len(text[end:]) - len(text[end:].lstrip())
