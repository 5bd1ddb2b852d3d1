"""Every error tacit raises, in one tree.

    TacitError                     exit  SQLSTATE
    ├── InvalidParameter             2    22023    a number or name that no mechanism accepts
    ├── QueryRefused                 3    0A000    the question cannot be answered privately as it stands
    │   ├── QuerySyntaxError         3    42601    the text is not a question in our language
    │   ├── UnknownName              3    42703    a table, column or function the policy does not name
    │   ├── UnboundedColumn          3    22003    a sum without bounds has no finite sensitivity
    │   └── RequestConflict          3    42710    the request id stands for another question, or has no answer
    ├── BudgetExceeded               4    53400    the ledger will not cover the price
    ├── AnswerWithheld              12    22P06    a noisy test did not let the answer leave; it stays charged
    ├── PolicyError                  5    F0000    what the curator declared is incomplete or contradictory
    ├── EngineError                  6    XX000    the database failed; what it said goes to the curator's log only
    ├── LedgerError                  7    58030    the ledger cannot be written, read or trusted
    ├── NoiseUnavailable             8    58000    the operating system gave no random bits
    ├── Overloaded                   9    53300    a server has no room for the request, or is stopping
    ├── AccessDenied                10    28000    a server does not know who asks, or does not let them
    └── ServerUnreachable           11    08006    a server does not answer, or not as one of ours

A message is `what is wrong: why`; `.hint` says what to do. Both are built from the query, the policy and the
ledger alone: an error is a release.
"""

from __future__ import annotations

from typing import ClassVar


class TacitError(Exception):
    """The root: a message that may leave the building, and a hint."""

    exit_code: ClassVar[int] = 1
    sqlstate: ClassVar[str] = "XX000"

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        if hint:
            self.add_note(f"hint: {hint}")  # so that a traceback shows it, too

    def __reduce__(self) -> tuple[object, ...]:
        return (_rebuild, (type(self), self.message, self.hint))

    def explain(self) -> str:
        """The two lines a person sees: `error: …` and, where there is one, `hint: …`."""
        lines = [f"error: {self.message}"]
        if self.hint:
            lines.append(f"hint: {self.hint}")
        return "\n".join(lines)


def _rebuild(kind: type[TacitError], message: str, hint: str) -> TacitError:
    return kind(message, hint=hint)


class InvalidParameter(TacitError, ValueError):
    """A number or name that no mechanism accepts, such as an epsilon of zero."""

    exit_code = 2
    sqlstate = "22023"


class QueryRefused(TacitError):
    """The question cannot be answered privately as it stands; nothing was charged."""

    exit_code = 3
    sqlstate = "0A000"


class QuerySyntaxError(QueryRefused):
    """The text is not a question in our language."""

    sqlstate = "42601"


class UnknownName(QueryRefused):
    """A table, column or function that the policy does not name."""

    sqlstate = "42703"


class UnboundedColumn(QueryRefused):
    """A sum over a column without bounds has no finite sensitivity."""

    sqlstate = "22003"


class RequestConflict(QueryRefused):
    """The request id stands for another question, or for one that has no answer."""

    sqlstate = "42710"


class BudgetExceeded(TacitError):
    """The ledger will not cover the price; nothing was charged."""

    exit_code = 4
    sqlstate = "53400"


class AnswerWithheld(TacitError):
    """A noisy test before the answer failed: nothing else leaves, and the charge stays. See `units` in the policy."""

    exit_code = 12
    sqlstate = "22P06"


class PolicyError(TacitError):
    """What the curator declared is incomplete or contradictory."""

    exit_code = 5
    sqlstate = "F0000"


class EngineError(TacitError):
    """The database failed after the charge; its own words go to the curator's log only."""

    exit_code = 6
    sqlstate = "XX000"


class LedgerError(TacitError):
    """The ledger cannot be written, read or trusted, so nothing is answered."""

    exit_code = 7
    sqlstate = "58030"


class NoiseUnavailable(TacitError):
    """The operating system gave no random bits, so nothing is released."""

    exit_code = 8
    sqlstate = "58000"


class Overloaded(TacitError):
    """A server has no room for the request, or is stopping; nothing was charged."""

    exit_code = 9
    sqlstate = "53300"


class AccessDenied(TacitError):
    """A server does not know who asks, or does not let them; nothing was charged."""

    exit_code = 10
    sqlstate = "28000"


class ServerUnreachable(TacitError):
    """A server does not answer, or not as one of ours; the message says whether something may have been charged."""

    exit_code = 11
    sqlstate = "08006"
