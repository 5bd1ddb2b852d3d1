"""Readers: each takes what was typed and gives the value meant, or a fault that names the key."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import timedelta
from enum import Enum
from typing import Any, TypeVar

from tacit.policy.reading.fault import Fault, KeyPath, shown
from tacit.policy.reading.names import meant
from tacit.policy.reading.types import kind_name

T = TypeVar("T")
E = TypeVar("E", bound=Enum)
Reader = Callable[[object, KeyPath], T]

MAX_COUNT = 2**31 - 1
MAX_SIZE = 10**15
MAX_TEXT = 2000
_DURATION = re.compile(r"(\d{1,9})\s*(s|m|h|d|w)")
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}


def hold(holder: object, path: KeyPath, readers: Mapping[str, Reader[Any]], **given: object) -> None:
    """Give a frozen value its attributes, each through its reader: the one place where what was typed is judged."""
    for key, value in given.items():
        read = readers.get(key)
        object.__setattr__(holder, key, value if read is None else read(value, (*path, key)))


def optional(read: Reader[T]) -> Reader[T | None]:
    """A reader as `read`, which also takes None."""
    return lambda value, path: None if value is None else read(value, path)


def count(value: object, path: KeyPath) -> int:
    """A whole number of things: one, two, …"""
    if not isinstance(value, int) or isinstance(value, bool):
        raise Fault(f"must be a whole number: it is {_not_whole(value)}", path=path)
    if not 1 <= value <= MAX_COUNT:
        bound = "at least 1" if value < 1 else f"at most {MAX_COUNT}"
        raise Fault(f"must be {bound}: got {shown(value) if abs(value) < 10**60 else 'more digits'}", path=path)
    return value


def size(value: object, path: KeyPath) -> int:
    """About how many rows there are: a whole number, with as many digits as a table can need."""
    if not isinstance(value, int) or isinstance(value, bool):
        raise Fault(
            f"must be a whole number: it is {_not_whole(value)}", path=path, hint="about how many rows there are"
        )
    if not 1 <= value <= MAX_SIZE:
        raise Fault(f"must be from 1 to {MAX_SIZE}", path=path)
    return value


def _not_whole(value: object) -> str:
    kind = kind_name(value)
    return f"{value}" if kind == "a number" else kind


def flag(value: object, path: KeyPath) -> bool:
    """Read true or false; anything else is a fault of the policy."""
    if not isinstance(value, bool):
        raise Fault(f"must be true or false: it is {kind_name(value)}", path=path)
    return value


def text(value: object, path: KeyPath) -> str:
    """A short text without control characters."""
    if not isinstance(value, str):
        raise Fault(f"must be text: it is {kind_name(value)}", path=path, hint='write it in quotes, as in "1"')
    if not value.strip():
        raise Fault("is empty", path=path)
    if len(value) > MAX_TEXT or any(ord(mark) < 32 and mark not in "\t\n" for mark in value):
        raise Fault(f"must be at most {MAX_TEXT} characters, without control characters", path=path)
    return value


def one_of(kinds: type[E]) -> Reader[E]:
    """A member of an enumeration, or its word."""
    words = [str(member.value) for member in kinds]

    def read(value: object, path: KeyPath) -> E:
        if isinstance(value, kinds):
            return value
        if isinstance(value, str) and value in words:
            return kinds(value)
        listed = ", ".join(f'"{word}"' for word in words)
        raise Fault(
            f"must be one of {listed}: it is {shown(value) if isinstance(value, str) else kind_name(value)}",
            path=path,
            hint=meant(value, words) if isinstance(value, str) else "",
        )

    return read


def duration(value: object, path: KeyPath) -> timedelta:
    """A span of time such as 90s, 15m, 12h, 30d or 4w."""
    if isinstance(value, timedelta):
        span = value
    else:
        match = _DURATION.fullmatch(value) if isinstance(value, str) else None
        if match is None:
            what = shown(value) if isinstance(value, str) else kind_name(value)
            raise Fault(f"is not a span of time: {what}", path=path, hint='write it as "12h", "30d" or "4w"')
        span = timedelta(seconds=int(match[1]) * _SECONDS[match[2]])
    if span <= timedelta(0) or span.microseconds or span.days > 36525:
        raise Fault(f"must be a whole number of seconds, from one to a century: got {value}", path=path)
    return span


def duration_text(span: timedelta) -> str:
    """The shortest text that `duration` reads back."""
    seconds = span.days * 86400 + span.seconds
    unit = next(unit for unit in "wdhms" if seconds % _SECONDS[unit] == 0)
    return f"{seconds // _SECONDS[unit]}{unit}"
