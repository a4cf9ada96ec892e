"""What a text that is being written is worth, and which properties it has, by the rules of contrib/docs/writing.md:
pure, and independent of the program. Python's own JSON parser decides."""
import base64
import codecs
import datetime
import functools
import itertools
import json
import re

BLANKS = " \t\r\n"
MARK = "\ufeff"  # a byte order mark
_NAME_BEGIN = r"[A-Za-z_\u0080-\ud7ff\ue000-\U0010ffff]"
_NAME = re.compile(f"{_NAME_BEGIN}(?:{_NAME_BEGIN}|[0-9])*")
_DATE = re.compile(r"(\d{4}-\d\d-\d\d)(?:Z|T(\d\d:\d\d)(:\d\d)?(?(3)(?:\.(\d{1,7}))?)(?:Z|([+-])(\d\d):([0-5]\d))?)?", re.ASCII)
NEVER, BLANK, PART, WHOLE = "never", "blank", "part", "whole"


class Refused(Exception):
    """The text is no entity: EINVAL."""


class Number(str):
    """The digits of a number, as they stand in the text."""


def _no_constant(name):
    raise ValueError(name)  # NaN and Infinity are no JSON


class Pairs(list):
    """The members of an object, in their order."""


_decoder = json.JSONDecoder(
    object_pairs_hook=Pairs, parse_int=Number, parse_float=Number, parse_constant=_no_constant
)

# An object that was begun can be completed by an end of its last token, what must follow that, and closing brackets.
_TOKEN_ENDS = ["", '"', 'n"', '0000"', '000"', '00"', '0"', "0"]
_TOKEN_ENDS += [word[begin:] for word in ("true", "false", "null") for begin in range(1, len(word))]
_NEXT = ["", ":0", "0", '"":0']
_CLOSERS = ["".join(inner) + "}" for depth in range(4) for inner in itertools.product("]}", repeat=depth)]


@functools.lru_cache(maxsize=4096)
def _can_become_an_object(text):
    for parts in itertools.product(_TOKEN_ENDS, _NEXT, _CLOSERS):
        try:
            found, end = _decoder.raw_decode(text + "".join(parts))
        except ValueError:
            continue
        if isinstance(found, Pairs) and end > len(text):
            return True
    return False


@functools.lru_cache(maxsize=4096)
def judge(data, may_repeat=False):
    """(what the bytes are worth, [(begin, end) of each whole object])."""
    reader = codecs.getincrementaldecoder("utf-8")()
    try:
        text = reader.decode(data)
    except UnicodeDecodeError:
        return NEVER, []
    if reader.getstate()[0]:  # a character is cut: outside of strings only a mark can become right
        text += MARK if MARK.encode().startswith(reader.getstate()[0]) else "\x80"
    at, ends = 0, []
    while True:
        while at < len(text) and text[at] in BLANKS:
            at += 1
        if at == len(text):
            return (WHOLE if ends else BLANK), ends
        if ends and not may_repeat:
            return NEVER, ends
        if text[at] == MARK:
            at += 1 + len(text[at + 1 :]) - len(text[at + 1 :].lstrip(BLANKS))
            if at == len(text):
                return PART, ends
        if text[at] != "{":
            return NEVER, ends
        try:
            _, end = _decoder.raw_decode(text, at)
        except ValueError:
            return (PART if _can_become_an_object(text[at:]) else NEVER), ends
        ends.append((len(text[:at].encode()), len(text[:end].encode())))
        at = end


def double(digits):
    """As JavaScript prints it, but always with a point or an exponent."""
    value = float(digits)
    if value in (float("inf"), float("-inf")):
        raise Refused(digits)
    sign, (all_digits, exponent) = "-" * (repr(value)[0] == "-"), _decimal(repr(abs(value)))
    point = len(all_digits) + exponent  # of the digits, how many stand before the point
    if value == 0:
        return sign + "0.0"
    if -6 < point <= 21:
        if point <= 0:
            return f"{sign}0.{'0' * -point}{all_digits}"
        if point >= len(all_digits):
            return f"{sign}{all_digits}{'0' * (point - len(all_digits))}.0"
        return f"{sign}{all_digits[:point]}.{all_digits[point:]}"
    fraction = f".{all_digits[1:]}" if len(all_digits) > 1 else ""
    return f"{sign}{all_digits[0]}{fraction}e{point - 1:+d}"


def _decimal(text):
    """(digits without zeros around them, exponent of the last one)."""
    mantissa, _, exponent = text.partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = (whole + fraction).lstrip("0")
    kept = digits.rstrip("0")
    return kept, int(exponent or 0) - len(fraction) + len(digits) - len(kept)


def _integer(value, bits):
    if not isinstance(value, str) or not re.fullmatch(r"-?(0|[1-9]\d*)", value):
        raise Refused(value)
    if not -(1 << bits - 1) <= int(value) < 1 << bits - 1:
        raise Refused(value)
    return str(int(value)) if value != "-0" else value


def _date(value):
    found = isinstance(value, str) and _DATE.fullmatch(value)
    if not found or isinstance(value, Number):
        raise Refused(value)
    date, minutes, seconds, fraction, sign, hours_off, minutes_off = found.groups()
    offset = datetime.timedelta(hours=int(hours_off or 0), minutes=int(minutes_off or 0))
    try:
        when = datetime.datetime.fromisoformat(f"{date}T{minutes or '00:00'}{seconds or ':00'}")
        when += offset if sign == "-" else -offset
    except (ValueError, OverflowError) as error:
        raise Refused(value) from error
    if when.year < 1601 or offset > datetime.timedelta(hours=14):
        raise Refused(value)
    fraction = (fraction or "").rstrip("0")
    return when.isoformat() + ("." + fraction if fraction else "") + "Z"


def _guid(value):
    if isinstance(value, Number) or not re.fullmatch(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}", str(value)):
        raise Refused(value)
    return value.lower()


def _binary(value):
    try:
        decoded = base64.b64decode(value, validate=True)
    except (TypeError, ValueError) as error:
        raise Refused(value) from error
    if isinstance(value, Number) or base64.b64encode(decoded).decode() != value:
        raise Refused(value)
    return value


def _text(value):
    if isinstance(value, Number) or not isinstance(value, str):
        raise Refused(value)
    return value


def _boolean(value):
    if not isinstance(value, bool):
        raise Refused(value)
    return value


def _typed_double(value):
    if isinstance(value, str) and not isinstance(value, Number) and value in ("NaN", "Infinity", "-Infinity"):
        return f'"{value}"'
    if not isinstance(value, str) or not re.fullmatch(r"-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?", value):
        raise Refused(value)
    return double(value)


_TYPES = {
    "Edm.Int32": lambda value: int(_integer(value if isinstance(value, Number) else None, 32)),
    "Edm.Int64": lambda value: _integer(value, 64),
    "Edm.Double": _typed_double,
    "Edm.Boolean": _boolean,
    "Edm.String": _text,
    "Edm.DateTime": _date,
    "Edm.Guid": _guid,
    "Edm.Binary": _binary,
}


def _untyped(value):
    if isinstance(value, bool):
        return "Boolean", value
    if not isinstance(value, Number):
        return "String", value
    if re.search(r"[.eE]", value):
        return "Double", double(value)
    digits = _integer(value, 64)
    is_small = -(1 << 31) <= int(digits) < 1 << 31
    return ("Int32", int(digits)) if is_small else ("Int64", digits)


def properties(data, is_merge):
    """{name: (type, canonical value)} of one whole object."""
    pairs = _decoder.decode(data.decode().lstrip(BLANKS).removeprefix(MARK))
    if len({name for name, _ in pairs}) != len(pairs):
        raise Refused("a name twice")
    types = {name.split("@")[0]: value for name, value in pairs if name.endswith("@odata.type")}
    found = {}
    for name, value in pairs:
        if isinstance(value, list):
            raise Refused(name)
        if name in ("PartitionKey", "RowKey", "Timestamp") or name.startswith("odata.") or "@odata.type" in name:
            continue
        if not _NAME.fullmatch(name) or len(name.encode("utf-16-le")) > 2 * 255:
            raise Refused(name)
        if value is None:
            if is_merge:
                raise Refused(name)
            continue
        kind = types.get(name)
        if kind is None:
            found[name] = _untyped(value)
        elif kind not in _TYPES:
            raise Refused(kind)
        else:
            found[name] = (kind.removeprefix("Edm."), _TYPES[kind](value))
    return found
