"""Structural rules: conditions that the curator declares, and that every synthetic row keeps."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from tacit.engines.columns import quoted
from tacit.errors import InvalidParameter, QueryRefused
from tacit.policy import TablePolicy, fold
from tacit.release.synthesise.columns import Attribute
from tacit.release.synthesise.table import SyntheticTable, joined_tables, made_up_table
from tacit.sql.binding.rows import row_rule

_TRIES = 12
_LEAST = 1_000  # rows drawn at a time in place of those that break a rule


def rules_of(table: TablePolicy, attributes: Sequence[Attribute]) -> tuple[str, ...]:
    """The rules that speak of these columns alone. What is no condition on them is refused before anything is paid."""
    names = {fold(each.name) for each in attributes}
    rules = []
    for written in table.rules:
        rule = row_rule(written, table.name)
        for name in rule.columns:
            table.column(name)  # a column that nobody knows is told of
        if {fold(name) for name in rule.columns} <= names:
            rules.append(rule.condition)
    try:
        keeping(made_up_table(table.name, attributes), rules)
    except InvalidParameter as error:
        raise QueryRefused(f"a rule of {table.name} cannot be tested: {error.message}") from None
    return tuple(rules)


def keeping(table: SyntheticTable, rules: Sequence[str]) -> NDArray[np.bool_]:
    """Which rows keep all rules; as in a CHECK, a condition that is NULL holds."""
    if not rules or not len(table):
        return np.ones(len(table), dtype=bool)
    import duckdb

    whole = " AND ".join(f"(({rule}) IS DISTINCT FROM FALSE)" for rule in rules)
    with table.connection() as held:
        held.execute("SET enable_external_access = false")
        try:
            answers = held.execute(f"SELECT {whole} AS kept FROM {quoted(table.name)}").fetchall()
        except duckdb.Error as error:
            first = str(error).split("\n", maxsplit=1)[0]
            raise InvalidParameter(f"a rule fails on a synthetic row: {first[:160]}") from None
    return np.array([kept for (kept,) in answers], dtype=bool)


def obeying(draw: Callable[[int], SyntheticTable], rules: Sequence[str], *, number: int) -> SyntheticTable:
    """So many rows that keep all rules: those that break one are drawn again, and at last repeated from the others."""
    table = draw(number)
    if not rules or not number:
        return table
    kept = [table.at(np.flatnonzero(keeping(table, rules)))]
    for _ in range(_TRIES):
        missing = number - sum(map(len, kept))
        if missing <= 0:
            break
        more = draw(max(_LEAST, 2 * missing))
        kept.append(more.at(np.flatnonzero(keeping(more, rules))[:missing]))
    whole = joined_tables(kept)
    if not len(whole):
        raise InvalidParameter(
            "no row that was drawn keeps the rules of the table", hint="look at `rules` in the policy"
        )
    return whole.at(np.resize(np.arange(len(whole), dtype=np.int64), number))
