"""Questions for public tables alone: nobody's rows are read, so that there is nothing to pay for."""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from tacit.errors import QueryRefused
from tacit.policy import Policy, Schema, fold
from tacit.sql.parsing.query import Query
from tacit.sql.postprocessing.dissection import PostProcessing, over_public
from tacit.sql.postprocessing.synthetic import names_synthetic


@dataclass(frozen=True, slots=True)
class PublicQuestion:
    """A SELECT over public tables, rebuilt from the parsed tree."""

    query: Query
    over: PostProcessing


def public_asked(query: Query, policy: Policy, *, schema: Schema) -> PublicQuestion | None:
    """What a statement asks of public tables; None where it reads any other, or none, or says a price."""
    plain = Query(query.select, explain=query.explain, parameters=query.parameters)
    if query != plain or names_synthetic(query):  # with a price, options, FRESH and the like it is something else
        return None
    try:
        over = over_public(query, policy, schema=schema)
    except QueryRefused:  # as a question of people's rows it is refused in better words
        return None
    return None if over is None else PublicQuestion(query, over)


def names_public_alone(query: Query, policy: Policy) -> bool:
    """Whether each table that a statement names is public, so that it is free or refused, whatever it is."""
    public = {fold(table.name) for table in policy.tables if table.public}
    names = [*(table.name for table in policy.tables), *(view.name for view in policy.views)]
    others = set(map(fold, names)) - public
    common = {fold(cte.alias) for cte in query.select.find_all(exp.CTE)} - others
    named = {fold(table.name) for table in query.select.find_all(exp.Table) if table.name}
    return bool(named & public) and named <= public | common
