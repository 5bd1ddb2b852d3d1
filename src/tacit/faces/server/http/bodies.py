"""What is sent to the HTTP API: JSON read with exact numbers, and each key judged."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction
from typing import NoReturn

from tacit.core import positive, probability
from tacit.errors import InvalidParameter
from tacit.sql import Parameters

MOST_BYTES = 1_000_000
_TIMES: Mapping[str, Callable[[str], object]] = {"date": date.fromisoformat, "timestamp": datetime.fromisoformat}


@dataclass(frozen=True, slots=True)
class QuestionBody:
    """One question: its text, the values of its parameters, and what a plain SELECT costs."""

    sql: str
    parameters: Parameters
    epsilon: Fraction | None
    delta: Fraction | None


@dataclass(frozen=True, slots=True)
class AskedTogether:
    """Several questions for one price."""

    questions: tuple[tuple[str, Parameters], ...]
    epsilon: Fraction | None
    within: str | None
    delta: Fraction | None
    fresh: bool


def read_json(content: bytes) -> dict[str, object]:
    """The object in a request's body. Numbers with a point are decimals, as they were typed."""
    try:
        body = json.loads(content, parse_float=_decimal, parse_constant=_no_constant, object_pairs_hook=_object)
    except (ValueError, RecursionError):
        raise InvalidParameter("the body is not JSON", hint='send {"sql": "DP-SELECT 0.5 COUNT(*) FROM …"}') from None
    if not isinstance(body, dict):
        raise InvalidParameter("the body is not a JSON object", hint='send {"sql": "DP-SELECT 0.5 COUNT(*) FROM …"}')
    return body


def asked(body: Mapping[str, object]) -> QuestionBody:
    """The question in a body. Raises InvalidParameter where it holds anything else."""
    _only(body, "sql", "parameters", "epsilon", "delta")
    return QuestionBody(_sql(body), _parameters(body), _epsilon(body), _delta(body))


def asked_together(body: Mapping[str, object]) -> AskedTogether:
    """The batch in a body. Raises InvalidParameter where it holds anything else."""
    _only(body, "questions", "epsilon", "within", "delta", "fresh")
    questions = body.get("questions")
    if not isinstance(questions, list) or not questions:
        raise InvalidParameter(
            "questions must be a list of questions", hint='send {"questions": [{"sql": "SELECT …"}]}'
        )
    fresh = body.get("fresh", False)
    if not isinstance(fresh, bool):
        raise InvalidParameter("fresh must be true or false")
    within = body.get("within")
    if within is not None:
        within = str(_number_or_text(within, "within"))
    if (body.get("epsilon") is None) == (within is None):
        raise InvalidParameter("a batch has one price: give epsilon, or within and the price is found")
    pairs = tuple(_question(one, number) for number, one in enumerate(questions, 1))
    return AskedTogether(pairs, _epsilon(body), within, _delta(body), fresh)


def _question(value: object, number: int) -> tuple[str, Parameters]:
    if isinstance(value, str):
        return value, ()
    if not isinstance(value, dict):
        raise InvalidParameter(f"question {number} is neither a text nor an object with sql")
    _only(value, "sql", "parameters")
    return _sql(value), _parameters(value)


def _sql(body: Mapping[str, object]) -> str:
    sql = body.get("sql")
    if not isinstance(sql, str):
        raise InvalidParameter("sql must be a text", hint='send {"sql": "DP-SELECT 0.5 COUNT(*) FROM …"}')
    return sql


def _parameters(body: Mapping[str, object]) -> Parameters:
    given = body.get("parameters")
    if given is None:
        return ()
    if isinstance(given, list):
        return [_value(value) for value in given]
    if isinstance(given, dict):
        return {name: _value(value) for name, value in given.items()}
    raise InvalidParameter("parameters must be a list, or an object of names and values")


def _value(value: object) -> object:
    """A constant, or a list of them for ANY(?)."""
    return [_constant(item) for item in value] if isinstance(value, list) else _constant(value)


def _constant(value: object) -> object:
    """Text, numbers, truth values and null as they are; `{"date": "2024-01-31"}` and `{"timestamp": "…"}` beside."""
    if isinstance(value, dict) and len(value) == 1:
        [(kind, text)] = value.items()
        if kind in _TIMES and isinstance(text, str):
            try:
                return _TIMES[kind](text)
            except ValueError:
                raise InvalidParameter(f"a parameter is no {kind}", hint='write it as "2024-01-31"') from None
    if isinstance(value, dict | list):
        raise InvalidParameter(
            "a parameter is an object, or a list of lists",
            hint='give text, a number, a truth value, null, {"date": "…"}, or a list of these for ANY(?)',
        )
    return value


def _epsilon(body: Mapping[str, object]) -> Fraction | None:
    value = body.get("epsilon")
    return None if value is None else positive(_number_or_text(value, "epsilon"), "epsilon")


def _delta(body: Mapping[str, object]) -> Fraction | None:
    value = body.get("delta")
    return None if value is None else probability(_number_or_text(value, "delta"), "delta")


def _number_or_text(value: object, name: str) -> int | Decimal | str:
    if isinstance(value, bool) or not isinstance(value, int | Decimal | str):
        raise InvalidParameter(f'{name} must be a number, or one in quotes such as "1/3"')
    return value


def _only(body: Mapping[str, object], *names: str) -> None:
    for key in body:
        if key not in names:
            raise InvalidParameter(f"{key[:60]!r} is not a key here", hint=f"the keys are {', '.join(names)}")


def _object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """An object whose keys are there once: whoever reads it on its way to us may believe the other value."""
    whole: dict[str, object] = {}
    for name, value in pairs:
        if name in whole:
            raise InvalidParameter(f"the key {name[:60]!r} is there twice", hint="send it once")
        whole[name] = value
    return whole


def _decimal(text: str) -> Decimal:
    return Decimal(text)


def _no_constant(text: str) -> NoReturn:
    raise ValueError(text)
