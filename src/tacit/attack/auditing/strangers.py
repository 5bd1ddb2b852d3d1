"""Audit what is not ours: any Python callable, and any SQL endpoint that speaks PostgreSQL's protocol."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from tacit.attack.auditing.playing import Draw
from tacit.errors import EngineError, InvalidParameter
from tacit.noise import SYSTEM, Source

if TYPE_CHECKING:
    import psycopg

MANY = "times"  # a function with a parameter of this name gives many outcomes at once


def callable_draw(function: Callable[..., object], inputs: tuple[object, object], *, many: bool | None = None) -> Draw:
    """A draw of a function on two neighbouring inputs: `function(input)` once for each outcome.

    One that takes `times` is called once for all of them, or where `many` says so. An error that it raises is an
    outcome too, for whoever sees it learns from it.
    """
    at_once = _takes_times(function) if many is None else many

    def draw(side: int, times: int, /) -> object:
        if at_once:
            return function(inputs[side], times)
        return [_once(function, inputs[side]) for _ in range(times)]

    return draw


def _once(function: Callable[..., object], value: object) -> object:
    try:
        return function(value)
    except Exception as error:  # noqa: BLE001, RUF100 - an error is a release
        return f"raises {type(error).__name__}"


def _takes_times(function: Callable[..., object]) -> bool:
    import inspect

    try:
        return MANY in inspect.signature(function).parameters
    except (TypeError, ValueError):  # written in C, and says nothing of itself
        return False


def mechanism_draw(mechanism: Any, inputs: tuple[int, int], *, source: Source = SYSTEM) -> Draw:
    """A draw of a mechanism of `tacit.mechanisms` that adds noise, on two numbers that are as far apart as one unit."""

    def draw(side: int, times: int, /) -> object:
        return mechanism.release(np.full(times, inputs[side], dtype=np.int64), source)

    return draw


def load_callable(name: str) -> Callable[..., object]:
    """The function that `module:function` names; the working directory is looked in, too."""
    module, colon, function = name.partition(":")
    if not colon or not module or not function:
        raise InvalidParameter(f"{name!r} names no function", hint="write module:function, as in mylib.noise:count")
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        loaded = importlib.import_module(module)
    except ImportError:
        raise InvalidParameter(f"there is no module {module!r}", hint="start in its folder, or install it") from None
    for part in function.split("."):
        loaded = getattr(loaded, part, None)  # type: ignore[assignment]
    if not callable(loaded):
        raise InvalidParameter(f"{module!r} has no function {function!r}")
    return loaded


class EndpointDraw:
    """Answers of a server that speaks PostgreSQL's protocol: one question asked of two servers, or two of one.

    Where the data cannot be changed, a neighbour is a question that leaves one person out. Each answer is asked for
    anew, so a server that keeps answers must be told not to.
    """

    def __init__(self, addresses: Sequence[str], questions: Sequence[str]) -> None:
        try:
            import psycopg
        except ImportError:
            raise EngineError("PostgreSQL is not installed with tacit", hint="pip install 'tacit[postgres]'") from None
        self._questions = (questions[0], questions[-1])
        self._connections: list[psycopg.Connection] = []
        for address in dict.fromkeys((addresses[0], addresses[-1])):
            try:
                self._connections.append(psycopg.connect(address, autocommit=True, connect_timeout=10))
            except psycopg.Error:
                self.close()
                raise EngineError("the endpoint cannot be reached", hint="check its address and password") from None

    def __call__(self, side: int, times: int, /) -> object:
        """So many answers of this side, each a tuple of its cells."""
        return [self._once(side) for _ in range(times)]

    def _once(self, side: int) -> tuple[object, ...]:
        import psycopg

        connection = self._connections[side if len(self._connections) > 1 else 0]
        try:
            rows = connection.execute(self._questions[side].encode()).fetchall()
        except psycopg.Error as error:
            if connection.closed:
                raise EngineError("the endpoint closed the connection", hint="ask for fewer draws") from None
            return (f"error {error.sqlstate}",)
        return tuple(_number(cell) for row in rows for cell in row)

    def close(self) -> None:
        """Leave the servers."""
        for connection in self._connections:
            connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _number(cell: object) -> object:
    """A decimal as a float: an audit only compares outcomes."""
    from decimal import Decimal

    return float(cell) if isinstance(cell, Decimal) else cell
