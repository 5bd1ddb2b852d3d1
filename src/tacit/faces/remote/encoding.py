"""What is sent to a server: exact numbers, dates that say so."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction

from tacit.core import Number, decimal_text
from tacit.curator.jobs.job_plan import BatchOptions, BatchPrice, Question
from tacit.errors import InvalidParameter
from tacit.sql import Parameters


def question_body(sql: str, parameters: Parameters, *, epsilon: Fraction | None, delta: Fraction | None) -> str:
    """The JSON that asks a server one question."""
    return _json({"sql": sql, "parameters": _parameters(parameters), **_prices(epsilon=epsilon, delta=delta)})


def batch_body(questions: Sequence[Question], options: BatchOptions | BatchPrice) -> str:
    """Several questions for one price. The id of the request goes beside it."""
    listed = [
        {"sql": question, "parameters": []}
        if isinstance(question, str)
        else {"sql": question[0], "parameters": _parameters(question[1])}
        for question in questions
    ]
    prices = _prices(epsilon=options.get("epsilon"), within=options.get("within"), delta=options.get("delta"))
    return _json({"questions": listed, **prices, **({"fresh": True} if options.get("fresh") else {})})


def _prices(**amounts: Number | str | None) -> dict[str, object]:
    """The prices that are given, as texts: 1/3 has no decimals."""
    return {name: _amount(value) for name, value in amounts.items() if value is not None}


def _amount(value: Number | str) -> str:
    return decimal_text(value) if isinstance(value, Fraction) else str(value)


def _parameters(given: Parameters) -> object:
    if isinstance(given, Mapping):
        return {str(name): _value(value) for name, value in given.items()}
    return [_value(value) for value in given]


def _value(value: object) -> object:
    """A constant, or a list of them for ANY(?)."""
    return [_constant(item) for item in value] if isinstance(value, (list, tuple)) else _constant(value)


def _constant(value: object) -> object:
    if isinstance(value, datetime):
        return {"timestamp": value.isoformat()}
    if isinstance(value, date):
        return {"date": value.isoformat()}
    if isinstance(value, Fraction):
        text = decimal_text(value)
        if "/" in text:
            raise InvalidParameter(f"the parameter {text} has no end as a decimal", hint="round it")
        return Decimal(text)
    if value is None or isinstance(value, str | bool | int | float | Decimal):
        return value
    raise InvalidParameter(f"a parameter cannot be a {type(value).__name__}", hint="give text, a number or a date")


def _json(value: object) -> str:
    """JSON with decimals as they are: the standard library would make them binary fractions."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(name)}: {_json(inner)}" for name, inner in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_json, value)) + "]"
    if isinstance(value, Decimal):
        if not value.is_finite():
            raise InvalidParameter(f"the parameter {value} is no number")
        return format(value, "f")
    try:
        return json.dumps(value, allow_nan=False)
    except ValueError:
        raise InvalidParameter(f"the parameter {value} is no number") from None
