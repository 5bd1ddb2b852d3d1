"""A generated query, run."""

from __future__ import annotations

from tacit.engines import Exact, State
from tacit.sql import Statement
from tacit.sql.rules.sample_groups import TIES


def execute(statement: Statement, state: State) -> Exact:
    """The exact columns of a statement; with its ties settled, should there be any.

    Ranking by hash alone gives the same groups as ranking by hash and key unless two hashes of one unit are equal, so
    which of the two ran cannot be told from the result.
    """
    found = state.execute(statement.sql(state.dialect))
    if statement.settled is None or not found.integers(TIES).any():
        return found
    return state.execute(statement.settled.sql(state.dialect))
