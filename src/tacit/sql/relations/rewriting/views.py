"""The views that the curator has written, read."""

from __future__ import annotations

from sqlglot import exp
from sqlglot.errors import SqlglotError

from tacit.errors import PolicyError
from tacit.policy import ViewPolicy
from tacit.sql.expressions.names.typed import tokens_of, trees_of


def parsed(view: ViewPolicy) -> exp.Expression:
    """The query of a view. It is bound and built anew like any subquery."""
    try:
        tree = trees_of(tokens_of(view.query), view.query)[0]
    except (SqlglotError, RecursionError, LookupError):
        raise PolicyError(f"the view {view.name} cannot be read", hint="its query is one SELECT") from None
    if not isinstance(tree, (exp.Select, exp.Union)):
        raise PolicyError(f"the view {view.name} is not a SELECT", hint="its query is one SELECT")
    return tree
