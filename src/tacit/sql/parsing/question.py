"""A question as it goes on record: canonical text and plain values, from which it can be asked and priced anew."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, date, datetime
from decimal import Decimal
from fractions import Fraction

from sqlglot import exp
from sqlglot.dialects.duckdb import DuckDB
from sqlglot.errors import SqlglotError

from tacit.core import Loss, decimal_text, rational
from tacit.errors import InvalidParameter
from tacit.policy import Policy
from tacit.policy.reading.names import fold
from tacit.sql.expressions.names.printing import copied, text_of
from tacit.sql.parsing.query import Query

_DIALECT = DuckDB()


def question_text(query: Query, loss: Loss | None) -> str:
    """The question in one line, at the price that is charged; without one, a question of a batch.

    What was typed as a default, an accuracy or a parameter is written as the epsilon it came to, so that the text alone
    costs the same again.
    """
    select = query.select
    clause = select.args.get("with_") or select.args.get("with")
    if clause is not None:  # it goes before the price
        select = copied(select)
        for name in ("with_", "with"):
            if name in select.args:
                select.set(name, None)
    body = _sql(select).removeprefix("SELECT ")
    parts = [] if clause is None else [_sql(clause)]
    return " ".join([*parts, _price(query, loss), body])


def _sql(tree: exp.Expression) -> str:
    return text_of(tree, comments=False)


def _price(query: Query, loss: Loss | None) -> str:
    caps = {"max_groups_contributed": query.caps.max_groups, "max_rows_contributed": query.caps.max_rows}
    options = {name: str(cap) for name, cap in caps.items() if cap is not None}
    if query.unit is not None:
        options["privacy_unit_column"] = "'" + query.unit.replace("'", "''") + "'"
    if options:
        priced = {} if loss is None else {"epsilon": decimal_text(loss.epsilon), **_delta(loss, "delta")}
        named = priced | options
        listed = ", ".join(f"{name} = {value}" for name, value in named.items())
        return f"SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS({listed})"
    if loss is None:
        return "SELECT"
    words = ["DP-SELECT", decimal_text(loss.epsilon)]
    words += [f"{name} {value}" for name, value in _delta(loss, "DELTA").items()]
    if query.confidence is not None:
        words.append(f"CONFIDENCE {decimal_text(query.confidence)}")
    chosen = {"FRESH": query.fresh, "WITH BIAS": query.bias}
    return " ".join([*words, *(word for word, is_chosen in chosen.items() if is_chosen)])


def _delta(loss: Loss, name: str) -> dict[str, str]:
    return {} if loss.is_pure else {name: decimal_text(loss.delta)}


# ── values ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def parameters_text(query: Query) -> str:
    """The values of the parameters that the text names, as JSON: each a pair of its kind and its text."""
    named = {str(node.args.get("this") or "") for node in query.select.find_all(exp.Placeholder)}
    return json.dumps({name: _plain(query.parameters[name]) for name in sorted(named & query.parameters.keys())})


def read_parameters(text: str) -> dict[str, object]:
    """The values, to be given with the question."""
    return {name: _READERS[kind](value) for name, (kind, value) in json.loads(text).items()}


def _plain(value: object) -> tuple[str, str]:
    if value is None:
        return "null", ""
    if isinstance(value, bool):
        return "truth", str(value).lower()
    if isinstance(value, datetime):
        moment = value if value.tzinfo is None else value.astimezone(UTC).replace(tzinfo=None)
        return "timestamp", moment.isoformat()
    if isinstance(value, date):
        return "date", value.isoformat()
    if isinstance(value, str):
        return "text", value
    if isinstance(value, (int, float, Decimal, Fraction)):
        return "number", str(rational(value, "a parameter"))
    raise InvalidParameter(f"a parameter is a {type(value).__name__}: give text, a number, a date or a truth value")


_READERS: Mapping[str, Callable[[str], object]] = {
    "null": lambda _: None,
    "truth": lambda text: text == "true",
    "timestamp": datetime.fromisoformat,
    "date": date.fromisoformat,
    "text": str,
    "number": Fraction,
}


# ── tables ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def tables_of(query: Query, policy: Policy) -> tuple[str, ...]:
    """The policy's tables that a question reads, by itself or through a view."""
    known = {fold(table.name): table.name for table in policy.tables}
    views = {fold(view.name): view.query for view in policy.views}
    return tuple(sorted(set(_tables(query.select, known, views, frozenset()))))


def _tables(
    tree: exp.Expression, known: Mapping[str, str], views: Mapping[str, str], seen: frozenset[str]
) -> Iterator[str]:
    for node in tree.find_all(exp.Table):
        name = fold(node.name)
        if name in known:
            yield known[name]
        elif name in views and name not in seen:
            try:
                inner = _DIALECT.parse(views[name])[0]
            except SqlglotError:
                continue  # a view that cannot be read is refused before anything is charged
            if isinstance(inner, exp.Expression):
                yield from _tables(inner, known, views, seen | {name})
