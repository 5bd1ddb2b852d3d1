"""Names in a policy: which are allowed, which are the same, and which one was probably meant."""

from __future__ import annotations

import difflib
import re
import unicodedata
from collections.abc import Iterable

from tacit.policy.reading.fault import Fault, KeyPath, shown

MAX_NAME = 128
RESERVED = "_tacit_"  # what the names of generated queries begin with
_ACCOUNT = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.@-]{0,63}")


def fold(name: str) -> str:
    """What two spellings of one name share. SQL identifiers are case-insensitive; so is everything here."""
    return name.lower() if name.isascii() else unicodedata.normalize("NFC", name).casefold()


def column_name(value: object, path: KeyPath) -> str:
    """A name that can be quoted in any engine and read by a person."""
    name = _name(value, path)
    if name != name.strip() or not name.isprintable() or '"' in name or len(name) > MAX_NAME:
        raise Fault(
            f"is not a name tacit accepts: {shown(name)}",
            path=path,
            hint=f"at most {MAX_NAME} printable characters, no double quote, no space at either end",
        )
    if is_reserved(name):
        raise Fault(
            f"is not a name tacit accepts: {shown(name)} begins with {RESERVED}",
            path=path,
            hint="tacit calls its own tables and columns so: put a view before the table that calls it otherwise",
        )
    return name


def is_reserved(name: str) -> bool:
    """Whether a name is one that tacit keeps for itself, however it is spelled."""
    return fold(name).startswith(RESERVED)


def is_column_name(name: str) -> bool:
    """Whether a policy could name such a column."""
    try:
        column_name(name, ())
    except Fault:
        return False
    return True


def table_name(value: object, path: KeyPath) -> str:
    """As `column_name`, and without a dot: `main.visits` and `visits` are one table."""
    name = column_name(value, path)
    if "." in name:
        raise Fault(
            f"is not a name tacit accepts: {shown(name)} has a dot",
            path=path,
            hint="name the table alone, without its schema or database",
        )
    return name


def account_name(value: object, path: KeyPath) -> str:
    """The name of a dataset, an analyst or a group: plain letters, so that no two accounts look alike."""
    name = _name(value, path)
    if _ACCOUNT.fullmatch(name) is None:
        raise Fault(
            f"is not a name tacit accepts: {shown(name)}",
            path=path,
            hint="at most 64 ASCII letters, digits and _ . @ -, beginning with a letter or digit",
        )
    return name


def _name(value: object, path: KeyPath) -> str:
    if not isinstance(value, str):
        raise Fault(f"must be a name: it is {type(value).__name__}", path=path)
    if not value:
        raise Fault("is empty: a name is needed", path=path)
    return value


def all_different(names: Iterable[str], *, path: KeyPath, rooted: bool = False) -> None:
    """Refuse two names that SQL cannot tell apart."""
    seen: dict[str, str] = {}
    for name in names:
        twin = seen.get(fold(name))
        if twin is not None:
            why = "is there twice" if twin == name else f"differs from {shown(twin)} by case only"
            raise Fault(why, path=(*path, name), rooted=rooted, hint="SQL cannot tell them apart: keep one of them")
        seen[fold(name)] = name


def meant(name: str, known: Iterable[str]) -> str:
    """`did you mean "epsilon"?`, or nothing."""
    spelling = {fold(word): word for word in known}
    cutoff = 0.6 if len(name) > 3 else 0.75  # two letters in common are no likeness: "id" is not "kind"
    close = difflib.get_close_matches(fold(name)[:MAX_NAME], spelling, n=1, cutoff=cutoff)
    return f'did you mean "{spelling[close[0]]}"?' if close else ""
