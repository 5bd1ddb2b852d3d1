"""The marginals of one table as questions: any columns counted together, all of them over the same rows.

A row counts if each of its columns is NULL or one of its public values. Of a unit with several rows, each cell counts
at most max_rows; and where that comes to more than max_rows in all cells, each of them is weighed by max_rows / all,
rounded down to 1/1024. So what one unit brings to all cells of a marginal adds up to at most max_rows: the L1 norm of
what it brings, and so the L2 norm too, whatever cells are put together afterwards.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from tacit.errors import QueryRefused
from tacit.policy import Policy, Schema
from tacit.sql.binding import post
from tacit.sql.binding.bind import BoundQuery, Output, bind
from tacit.sql.expressions.keys import Key
from tacit.sql.expressions.names.nodes import paren
from tacit.sql.expressions.names.printing import copied
from tacit.sql.expressions.names.scope import all_of
from tacit.sql.parsing.parse import parse
from tacit.sql.workloads.sets import in_domain


@dataclass(frozen=True, slots=True)
class Marginals:
    """The columns of a table as keys of one question, and how many rows of a unit count."""

    whole: BoundQuery  # its WHERE lets through the rows that count in all of them
    rows: int

    @property
    def keys(self) -> tuple[Key, ...]:
        """What each column is grouped by, and its public values."""
        return self.whole.keys

    def question(self, axes: Sequence[int]) -> BoundQuery:
        """The question that counts these columns together."""
        return replace(
            self.whole,
            keys=tuple(replace(self.keys[axis], keep=None) for axis in axes),
            outputs=(Output("n", value=post.Ref(0)),),
            sets=None,
            total_rows=None if self.whole.table.unit_column is None else self.rows,
        )


def bind_marginals(
    table: str, keys: Sequence[str], policy: Policy, *, schema: Schema, relation: str | None = None
) -> Marginals:
    """Bind the columns, each written as the key it is grouped by. Reads no row; raises QueryRefused.

    `relation` is what stands behind FROM, where that is more than the table.
    """
    named = '"' + table.replace('"', '""') + '"' if relation is None else relation
    sets = ", ".join(f"({key})" for key in keys)
    bound = bind(parse(f"SELECT COUNT(*) AS n FROM {named} GROUP BY GROUPING SETS ({sets})"), policy, schema=schema)
    rows = 1 if bound.table.unit_column is None else bound.table.max_rows
    if rows is None:
        raise QueryRefused(
            f"max_rows is not declared for {bound.table.name}: nobody said how many rows of one unit count",
            hint=f"add max_rows = … to [tables.{bound.table.name}], or run tacit calibrate",
        )
    return Marginals(replace(bound, where=_same_rows(bound)), rows)


def _same_rows(bound: BoundQuery) -> exp.Expression | None:
    held = [bound.where] if bound.where is not None else []
    return all_of([copied(part) for part in itertools.chain(held, filter(None, map(_known_or_null, bound.keys)))])


def _known_or_null(key: Key) -> exp.Expression | None:
    """The rows whose key is NULL or one of its public values; None where every row's is."""
    inside = in_domain(key)
    if inside is None or isinstance(inside, exp.Not):  # it only asks that there be a value
        return None
    empty = exp.Is(this=paren(copied(key.sql)), expression=exp.null())
    return paren(exp.Or(this=paren(inside), expression=empty))
