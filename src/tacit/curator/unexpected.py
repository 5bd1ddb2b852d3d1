"""What nobody foresaw, as an error of ours: a stranger's traceback is no message."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from tacit.engines.exact import log
from tacit.errors import EngineError, QueryRefused, TacitError

_LOG = "the curator's log says what went wrong"


@contextmanager
def planning() -> Iterator[None]:
    """Around what touches no data: whatever fails is a refusal, at no charge."""
    try:
        yield
    except TacitError:
        raise
    except RecursionError:
        raise QueryRefused("the query is nested too deeply") from None
    except Exception as error:
        noted(error)
        raise QueryRefused("the question cannot be planned: tacit did not foresee it", hint=_LOG) from None


@contextmanager
def showing() -> Iterator[None]:
    """Around what is made of noisy numbers, after they are paid for and kept."""
    try:
        yield
    except TacitError:
        raise
    except Exception as error:
        noted(error)
        raise EngineError("the answer cannot be shown", hint=f"it is paid for and kept; {_LOG}") from None


def noted(error: Exception) -> None:
    """Tell the curator's log, and nobody else."""
    log.error("%s: %s", type(error).__name__, error, exc_info=error)


def bare_error(error: BaseException, what: str) -> BaseException:
    """The same as far as anybody may know it: our own words, or that it was interrupted. Raised outside the handler."""
    if isinstance(error, TacitError):
        return type(error)(error.message, hint=error.hint)
    if isinstance(error, SystemExit):
        return SystemExit(error.code)
    if isinstance(error, KeyboardInterrupt):
        return KeyboardInterrupt()
    if isinstance(error, Exception):
        return EngineError(f"{what} could not be computed", hint="it stays charged; see the curator's log")
    return type(error)()
