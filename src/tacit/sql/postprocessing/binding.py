"""A statement, bound: its private questions, each with every name resolved, and what is computed from their answers."""

from __future__ import annotations

from dataclasses import dataclass, replace

from sqlglot import exp

from tacit.errors import QueryRefused, UnknownName
from tacit.policy import Policy, Schema
from tacit.sql.binding.bind import BoundQuery, bind
from tacit.sql.parsing.query import Query
from tacit.sql.planning.excess import refuse_bias
from tacit.sql.planning.work import check_work
from tacit.sql.postprocessing.dissection import Dissected, PostProcessing, dissected
from tacit.sql.postprocessing.keys_alone import keys_alone
from tacit.sql.postprocessing.listed_pivots import with_listed_pivots
from tacit.sql.postprocessing.own_aliases import aliases_written_out
from tacit.sql.postprocessing.public_facts import looked_up
from tacit.sql.postprocessing.synthetic import refuse_synthetic

_BIAS = "give WITH BIAS to the inner SELECT, asked on its own"
_ALL_PUBLIC = (
    "lists every public value, whether or not a row has it: which there are, the policy says, and nothing more is told"
)


@dataclass(frozen=True, slots=True)
class BoundStatement:
    """What a statement asks, and what it computes from that; `over` is None where it is one question."""

    query: Query
    questions: tuple[BoundQuery, ...]
    over: PostProcessing | None = None


def bind_statement(query: Query, policy: Policy, *, schema: Schema) -> BoundStatement:
    """Resolve a statement against what the curator declared. Raises QueryRefused; touches no data.

    One question stays one: the errors of its arithmetic are known exactly. What that refuses is taken apart.
    """
    refuse_synthetic(query)
    _refuse_recursion(query.select)
    if query.perturbed:
        raise QueryRefused(
            "USING RANDOMISED RESPONSE is refused here: it gives the rows of one table, or counts them",
            hint="write DP-SELECT 1 a, b FROM t WHERE … USING RANDOMISED RESPONSE, or COUNT(*) [GROUP BY a]",
        )
    asked = query
    query = replace(query, select=aliases_written_out(query.select, policy, schema=schema))
    query = with_listed_pivots(query, policy, schema=schema)
    query = replace(query, select=looked_up(query.select, policy))
    return replace(_bound(query, policy, schema), query=asked)


def _refuse_recursion(tree: exp.Query) -> None:
    """What still says RECURSIVE reads itself, and is no list that could be written out."""
    if any(clause.args.get("recursive") for clause in tree.find_all(exp.With)):
        raise QueryRefused(
            "WITH RECURSIVE is refused: how much one unit brings could not be bounded",
            hint="write out as many levels as are needed; of constants alone it may count up to an end",
        )


def _bound(query: Query, policy: Policy, schema: Schema) -> BoundStatement:
    refused: QueryRefused | None = None
    if isinstance(query.select, exp.Select):
        try:
            return BoundStatement(query, (_checked(query, policy, schema),))
        except QueryRefused as error:
            refused = error
        if (keys := keys_alone(query.select)) is not None:
            return _noted(_bound(replace(query, select=keys), policy, schema))
    parts = dissected(query, policy, schema=schema)
    if parts is not None and not parts.is_trivial:
        try:
            return _computed(query, parts, policy, schema)
        except UnknownName:
            if refused is None or isinstance(refused, UnknownName):
                raise
            # a part of it names what stands outside that part: why the whole is refused says more
    if refused is not None:
        raise type(refused)(refused.message, hint=refused.hint)
    return BoundStatement(query, (_checked(query, policy, schema),))  # refused: it is no question


def _noted(keys: BoundStatement) -> BoundStatement:
    """With a word on keys whose values are public: each of them is shown, and says nothing of the rows."""
    public = all(key.is_public for question in keys.questions for key in question.keys)
    notes = (_ALL_PUBLIC,) if public else ()
    return replace(keys, questions=tuple(replace(each, notes=(*each.notes, *notes)) for each in keys.questions))


def _computed(query: Query, parts: Dissected, policy: Policy, schema: Schema) -> BoundStatement:
    if query.bias:
        raise QueryRefused("WITH BIAS is refused over what is computed from answers: it widens their own ±", hint=_BIAS)
    bounds = tuple(_checked(question, policy, schema) for question in parts.questions)
    if len(bounds) > 1 and any(bound.sets is not None for bound in bounds):
        raise QueryRefused(
            "ROLLUP, CUBE and GROUPING SETS are refused beside another question: each of them is several already",
            hint="write one SELECT with them, or a question for each set",
        )
    return BoundStatement(query, bounds, parts.over)


def _checked(query: Query, policy: Policy, schema: Schema) -> BoundQuery:
    bound = bind(query, policy, schema=schema)
    refuse_bias(bound)
    check_work(bound)
    return bound
