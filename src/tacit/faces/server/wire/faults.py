"""What goes wrong on the wire: each fault has an SQLSTATE, and nothing of the data."""

from __future__ import annotations

import re

from tacit.errors import (
    BudgetExceeded,
    InvalidParameter,
    PolicyError,
    QueryRefused,
    QuerySyntaxError,
    TacitError,
    UnboundedColumn,
    UnknownName,
)
from tacit.faces.server.wire.framing import Outbox, error_body

_NAMED = re.compile(r"(?:no (?:table|column)|unknown (?:table|column|function)) '?([^\s':]+)'?")
_PLACE = re.compile(r"line (\d+), column (\d+)")
UNCHARGED = (QueryRefused, BudgetExceeded, InvalidParameter, PolicyError)  # raised before any debit


class WireFault(Exception):
    """A fault of the protocol or of a statement. A fatal one ends the connection."""

    def __init__(self, sqlstate: str, message: str, *, hint: str = "", position: int = 0, fatal: bool = False) -> None:
        super().__init__(message)
        self.sqlstate, self.message, self.hint, self.position, self.fatal = sqlstate, message, hint, position, fatal


class Passed(Exception):
    """An error of the catalogue's server, word for word."""

    def __init__(self, body: bytes) -> None:
        super().__init__("an error of the catalogue")
        self.body = body


def protocol_fault(message: str) -> WireFault:
    """Bytes that make no message: nothing after them can be trusted, so the connection ends."""
    return WireFault("08P01", message, fatal=True)


def limit_fault(message: str, hint: str = "") -> WireFault:
    """More of something than a connection may have."""
    return WireFault("54000", message, hint=hint)


def of_error(error: TacitError, text: str = "") -> WireFault:
    """The fault that a client is told of: our error's own words, and where in `text` it is, if that is known."""
    return WireFault(_sqlstate(error), error.message, hint=error.hint, position=_position(error, text))


def _sqlstate(error: TacitError) -> str:
    if isinstance(error, UnknownName):
        return "42P01" if "table" in error.message.partition(":")[0] and "column" not in error.message[:20] else "42703"
    if isinstance(error, QuerySyntaxError):
        return "42601"
    if isinstance(error, UnboundedColumn):
        return error.sqlstate
    if isinstance(error, QueryRefused):
        return "42501"
    return error.sqlstate


def _position(error: TacitError, text: str) -> int:
    """The character, counted from 1, at which an unknown name or an unreadable word stands; 0 if nobody knows."""
    stated = _PLACE.search(error.message)
    if isinstance(error, QuerySyntaxError) and stated is not None:
        lines = text.split("\n")
        line, column = int(stated[1]), int(stated[2])
        return min(sum(len(each) + 1 for each in lines[: line - 1]) + max(column, 1), len(text)) if text else 0
    named = _NAMED.search(error.message)
    if isinstance(error, UnknownName) and named is not None:
        match = re.search(rf"(?<![\w]){re.escape(named[1])}(?![\w])", text, re.IGNORECASE)
        return match.start() + 1 if match else 0
    return 0


def tell(outbox: Outbox, fault: WireFault | Passed) -> None:
    """Send the fault."""
    if isinstance(fault, Passed):
        outbox.put(b"E", fault.body)
        return
    severity = "FATAL" if fault.fatal else "ERROR"
    fields = {"S": severity, "V": severity, "C": fault.sqlstate, "M": fault.message, "H": fault.hint}
    fields["P"] = str(fault.position) if fault.position else ""
    outbox.put(b"E", error_body(fields))
