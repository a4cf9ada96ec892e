"""The settings of the proxy: each has a name, a form, a default and a meaning. /__ctl, --set and --help are made of them."""
import urllib.parse
from typing import Callable, NamedTuple

import faults
import rules


class Setting(NamedTuple):
    parse: Callable
    default: object
    form: str
    summary: str


def _bool(text):
    if text not in ("0", "1"):
        raise ValueError(f"{text}: not 0 or 1")
    return text == "1"


def _chance(text):
    if not 0 <= float(text) <= 1:
        raise ValueError(f"{text}: not 0 to 1")
    return float(text)


def _count(text):
    if not (text.isascii() and text.isdigit()):
        raise ValueError(f"{text}: not a number")
    return int(text)


def _rate(text):
    return None if text == "off" else float(text)


def _rows(text):
    """(least, most)"""
    if text == "off":
        return None
    least, dash, most = text.partition("-")
    least, most = _count(least), _count(most if dash else least)
    if not 1 <= least <= most <= 1000:
        raise ValueError(f"{text}: not within 1-1000")
    return least, most


TOKENS = ("azurite", "opaque", "partition", "mixed")


def _tokens(text):
    if text not in TOKENS:
        raise ValueError(f"{text}: not one of {' '.join(TOKENS)}")
    return text


def _kinds(text):
    return [faults.check_kind(kind) for kind in text.split(",") if kind]


SETTINGS = {
    "strict": Setting(_bool, True, "0|1", "whether the rules below are kept"),
    "seed": Setting(_count, 0, "N", "of everything that is by chance; it begins again"),
    "page_rows": Setting(_rows, None, "N|MIN-MAX|off", "of a page at most, by chance; off: as many as the query wants"),
    "page_bytes": Setting(_count, 4 << 20, "N", "the rows of a page have at most N bytes"),
    "borders": Setting(_chance, 0.0, "CHANCE", "a page ends where its first partition ends"),
    "empty": Setting(_chance, 0.0, "CHANCE", "a page is empty and has a token, one of the proxy's own"),
    "empty_run": Setting(_count, 3, "N", "empty pages in a row, at most"),
    "last_empty": Setting(_chance, 0.0, "CHANCE", "the last row is followed by a page of its own, an empty one"),
    "tokens": Setting(_tokens, "azurite", "|".join(TOKENS), "azurite: the keys of the next row; opaque: as the service's; "
                      "partition: the same, only NextPartitionKey; mixed: opaque or partition, by chance"),
    "being_deleted": Setting(_count, 0, "N", "after a drop the next N creations of the table get 409 TableBeingDeleted"),
    "partition_rate": Setting(_rate, None, "N|off", "entities a second and partition, beyond them 503 ServerBusy"),
    "account_rate": Setting(_rate, None, "N|off", "requests a second, beyond them 503 ServerBusy"),
    "retry_after": Setting(_count, 0, "SECONDS", "Retry-After of 429 and 503; 0: none"),
    "away": Setting(float, 0.0, "SECONDS", "each request resets its connection, from now on for SECONDS; 0: no longer"),
    "clock": Setting(int, 0, "SECONDS", "the service's clock is ahead; negative: behind"),
    "fault_rate": Setting(_chance, 0.0, "CHANCE", "a request gets one of fault_kinds"),
    "fault_kinds": Setting(_kinds, ["500", "503", "reset", "reset_after"], "KIND,KIND...", "of which"),
}  # fmt: skip
ACTIONS = {
    "reset": "1: all settings as at the start, all counters 0",
    "end": "1: the same, after this answer",
    "plan": "KIND[@OPERATION[:TABLE]][*N]: the next N (1) requests that fit get this fault; may be given several times",
    "expect": "RULE: refusals by this rule are announced; one must come",
    "journal": "TABLE: the answer also has `journal`, the last changes of the table: when each arrived, was forwarded and "
               "answered, its writes, result and fault, and whether its client was gone (was_gone: before it was forwarded)",
}  # fmt: skip


def parse(text):
    """[(key, value)] of `KEY=VALUE&...`. ValueError names what is wrong."""
    found = []
    for key, value in urllib.parse.parse_qsl(text, keep_blank_values=True, strict_parsing=bool(text)):
        if key not in SETTINGS and key not in ACTIONS:
            raise ValueError(f"{key}: no such setting")
        if key in SETTINGS:
            try:
                value = SETTINGS[key].parse(value)
            except ValueError as error:
                raise ValueError(f"{key}={error}") from error
        elif key == "expect" and value not in rules.RULES:
            raise ValueError(f"{value}: no such rule")
        elif key == "plan":
            value = faults.Planned(value)
        found.append((key, value))
    return found


def defaults():
    return {name: setting.default for name, setting in SETTINGS.items()}
