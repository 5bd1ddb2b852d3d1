"""Audit a question on the worst neighbours that can be made up from its policy: its plan, and its answers."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path

from tacit.attack.auditing.certificate import FALSE_ALARM, Certificate
from tacit.attack.auditing.playing import DRAWS, FEWEST, audit
from tacit.attack.auditing.replaying import Movement, noisy_draw, plain_neighbours, worst_neighbours
from tacit.attack.auditing.worlds import MadeUp, Rows, made_up, write
from tacit.core import Adjacency, Loss
from tacit.curator import Curator, Explanation, Release, Session
from tacit.engines import Engine, open_engine
from tacit.errors import InvalidParameter, QueryRefused, UnknownName
from tacit.ledger import SqliteLedger
from tacit.noise import SYSTEM, Source
from tacit.policy import AnalystPolicy, BudgetPolicy, ColumnType, Dataset, Policy, columns_of
from tacit.sql import AtEpsilon, Plan, Query, bind, parse, plan

DOOR_DRAWS = 400
_PLENTY = 10**9  # the budget of a ledger that is thrown away


@dataclass(frozen=True, slots=True)
class QueryAudit:
    """What was found about a question: how far one unit moves it, and what its answers give away."""

    loss: Loss
    unit: str
    movements: tuple[Movement, ...]
    replayed: Certificate | None  # from the plan's noise; None where the plan chooses instead of adding noise
    answered: Certificate | None  # from whole answers, through a curator; None where none were asked for

    @property
    def epsilon(self) -> float:
        """The most that either of them certifies."""
        return max((one.epsilon for one in (self.replayed, self.answered) if one is not None), default=0.0)

    @property
    def violates(self) -> bool:
        """Whether a sensitivity is broken, or more is given away than is charged."""
        broken = any(not one.holds for one in self.movements)
        return broken or any(one is not None and one.violates for one in (self.replayed, self.answered))


def audit_query(
    policy: Policy,
    question: str,
    *,
    draws: int = DRAWS,
    door: int | None = None,
    false_alarm: float = FALSE_ALARM,
    source: Source = SYSTEM,
) -> QueryAudit:
    """Audit one question on made-up rows: none of the policy's private tables is read, and nothing is charged.

    The plan's SQL is replayed on neighbours that differ in one unit, and its noise drawn `draws` times on the two it
    tells apart best. `door` answers a side are asked of a curator over each, as an analyst sees them: None asks some
    where the plan chooses instead of adding noise. Of `false_alarm` either audit has half.
    """
    with closing(open_engine(policy)) as engine:
        world = made_up(policy, engine.schema(), question, _public_rows(policy, engine))
    query = parse(question)
    if not isinstance(query.price, AtEpsilon):
        raise QueryRefused(
            "an audit holds an answer against its price: the question names none", hint="DP-SELECT 0.5 …"
        )
    if query.explain:
        raise QueryRefused("an audit needs answers: the question says EXPLAIN", hint="leave EXPLAIN out")
    planned = _planned(query, world, policy)
    neighbours, draw = None, None
    movements: tuple[Movement, ...] = ()
    if planned is not None:
        neighbours, movements = worst_neighbours(planned, world, source=source)
        draw = noisy_draw(planned, neighbours, source=source)
    times = (DOOR_DRAWS if draw is None else 0) if door is None else door
    half = false_alarm / 2 if draw is not None and times else false_alarm
    replayed = None
    if planned is not None and draw is not None:
        claimed, delta = float(planned.loss.epsilon), float(planned.loss.delta)
        replayed = audit(draw, draws=draws, claimed=claimed, delta=delta, false_alarm=half)
    if not times and planned is not None:
        return QueryAudit(planned.loss, str(planned.unit), movements, replayed, None)
    if planned is not None and planned.test is not None:
        raise QueryRefused(
            "an audit at the door is refused for rows with two owners: some of its answers would be withheld",
            hint="audit a question for counts or sums, without asking at the door",
        )
    replaces = policy.adjacency is Adjacency.REPLACE
    rows = plain_neighbours(world, replaces=replaces, source=source) if neighbours is None else neighbours.rows
    with (
        tempfile.TemporaryDirectory(prefix="tacit-audit-") as scratch,
        closing(_Asked(world, rows, question, Path(scratch), delta=_default_delta(policy))) as asked,
    ):
        explained = asked.explain()
        claimed, delta = float(explained.loss.epsilon), float(explained.loss.delta)
        answered = audit(asked, draws=max(times, FEWEST), claimed=claimed, delta=delta, false_alarm=half)
    return QueryAudit(explained.loss, explained.unit, movements, replayed, answered)


def _default_delta(policy: Policy) -> Fraction:
    """The delta of a question with private keys that states none."""
    return policy.budget.default_delta or Fraction(1, 10**6)


def _planned(query: Query, world: MadeUp, policy: Policy) -> Plan | None:
    """The plan of one question; None where several are asked for at once, or something is computed from answers."""
    declared = _over(world, Path("unused.duckdb"))
    try:
        bound = bind(query, declared, schema=world.schema)
    except UnknownName:
        raise
    except QueryRefused:  # what is refused here may still be computed from answers: the curator will say
        return None
    if bound.sets is not None or not isinstance(query.price, AtEpsilon):
        return None
    private = bound.relation.pairs is not None or any(not key.is_public for key in bound.keys)
    delta = query.delta if query.delta is not None else (_default_delta(policy) if private else 0)
    return plan(bound, declared, price=Loss(query.price.epsilon, delta))


def _public_rows(policy: Policy, engine: Engine) -> Rows:
    """The public tables, as they are."""
    rows_of: dict[str, Sequence[tuple[object, ...]]] = {}
    schema = engine.schema()
    for table in policy.tables:
        if table.public:
            columns = columns_of(schema, table.name)
            known = [name for name, kind in columns.items() if ColumnType.from_sql(kind) is not None]
            listed = ", ".join(f'"{name}"' for name in known)
            exact = engine.execute(f'SELECT {listed} FROM "{table.name}"')
            cells = {name: exact.keys(name) for name in known}
            rows = range(exact.rows)
            rows_of[table.name] = [tuple(cells[n][i] if n in cells else None for n in columns) for i in rows]
    return rows_of


def _over(world: MadeUp, database: Path) -> Policy:
    """The same policy over a made-up database, with a budget that no audit uses up."""
    policy = world.policy
    dataset = Dataset(
        policy.dataset.name, database.name, adjacency=policy.dataset.adjacency, base=database.parent,
        ledger=f"{database.stem}.ledger",
    )  # fmt: skip
    budget = BudgetPolicy(_PLENTY, Fraction(1, 2), reuse=False)
    tables = [replace(table, format=None) for table in policy.tables]  # it is no file of text any more
    who = AnalystPolicy("auditor", _PLENTY)
    return Policy(dataset, budget, tables=tables, analysts=[who], views=policy.views)


class _Asked:
    """Answers of two curators, each over one of the neighbours, with a ledger that is thrown away."""

    def __init__(
        self, world: MadeUp, rows: tuple[Rows, Rows], question: str, scratch: Path, *, delta: Fraction
    ) -> None:
        self._question, self._session = question, Session("auditor", None, delta)
        self._curators = []
        for side in (0, 1):
            database = scratch / f"side{side}.duckdb"
            write(world, rows[side], database).close()
            policy = _over(world, database)
            ledger = SqliteLedger(scratch / f"side{side}.ledger", create=True)
            self._curators.append(Curator(policy, open_engine(policy), ledger))

    def __call__(self, side: int, times: int, /) -> object:
        return [self._once(side) for _ in range(times)]

    def explain(self) -> Explanation:
        """What an answer costs. Raises QueryRefused for what is no question at all."""
        return self._curators[0].explain(self._question, session=self._session)

    def _once(self, side: int) -> tuple[object, ...]:
        answer = self._curators[side].ask(self._question, session=self._session)
        if not isinstance(answer, Release):
            raise InvalidParameter("an audit needs answers: the question says EXPLAIN", hint="leave EXPLAIN out")
        return tuple(_seen(value) for row in answer.rows for value in row)

    def close(self) -> None:
        for curator in self._curators:
            curator.close()


def _seen(value: object) -> object:
    return float(value) if isinstance(value, Fraction) else value
