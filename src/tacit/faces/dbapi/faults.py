"""The exceptions of PEP 249, and which of them an error of ours is."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from tacit.errors import (
    AccessDenied,
    AnswerWithheld,
    BudgetExceeded,
    InvalidParameter,
    PolicyError,
    QueryRefused,
    RequestConflict,
    TacitError,
)


class Warning(Exception):  # noqa: A001 - PEP 249 calls it so
    """Something worth a word. Never raised here."""


class Error(Exception):
    """Whatever went wrong; `.hint` says what to do, `.sqlstate` is the code that PostgreSQL's clients know."""

    hint = ""
    sqlstate = ""


class InterfaceError(Error):
    """The door was used wrongly: it is closed, or nothing was asked."""


class DatabaseError(Error):
    """The curator, or what is behind it."""


class DataError(DatabaseError):
    """A value that no question takes."""


class OperationalError(DatabaseError):
    """The budget, the ledger, the engine or the server."""


class IntegrityError(DatabaseError):
    """A request's id stands for another question."""


class InternalError(DatabaseError):
    """A fault of ours."""


class ProgrammingError(DatabaseError):
    """A question that is refused, or is none."""


class NotSupportedError(DatabaseError):
    """What PEP 249 knows and a curator does not."""


_KINDS: tuple[tuple[type[TacitError], type[DatabaseError]], ...] = (  # the first that fits
    (RequestConflict, IntegrityError),
    (QueryRefused, ProgrammingError),
    (InvalidParameter, DataError),
    (BudgetExceeded, OperationalError),
    (AnswerWithheld, OperationalError),
    (PolicyError, OperationalError),
    (AccessDenied, OperationalError),
    (TacitError, OperationalError),
)


@contextmanager
def told() -> Iterator[None]:
    """Inside, an error of ours is raised as one of PEP 249's, with the same words."""
    try:
        yield
    except TacitError as error:
        kind = next(kind for ours, kind in _KINDS if isinstance(error, ours))
        fault = kind(error.message)
        fault.hint, fault.sqlstate = error.hint, error.sqlstate
        if error.hint:
            fault.add_note(f"hint: {error.hint}")
        raise fault from error
