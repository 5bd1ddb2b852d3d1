"""The reading that a charge has paid for: whatever breaks it off stays charged, and carries nothing of the data away.

An error holds on to every step it passed through, and each step to its variables: exact counts, private keys. A program
that shows or stores tracebacks with their variables (debuggers, error trackers, notebooks) would show them. So what
leaves here is a new error, raised where nothing exact is in sight, that knows neither the old one nor its way.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from tacit.errors import EngineError, TacitError
from tacit.ledger import Ledger, Reservation

T = TypeVar("T")


def paid(ledger: Ledger, reserved: Reservation, read: Callable[[], T], *, what: str) -> T:
    """What `read` gives. If it is broken off, the entry says so, and `what` could not be computed."""
    try:
        return read()
    except BaseException as error:
        told = _bare(error, what)
    ledger.fail(reserved)
    raise told


def _bare(error: BaseException, what: str) -> BaseException:
    """The same as far as anybody may know it: our own words, or that it was interrupted."""
    if isinstance(error, TacitError):
        return type(error)(error.message, hint=error.hint)
    if isinstance(error, SystemExit):
        return SystemExit(error.code)
    if isinstance(error, KeyboardInterrupt):
        return KeyboardInterrupt()
    if isinstance(error, Exception):
        return EngineError(f"{what} could not be computed", hint="it stays charged; see the curator's log")
    return type(error)()
