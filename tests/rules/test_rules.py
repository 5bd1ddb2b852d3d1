"""Every rule does what its fixture says: `tests/rules/<rule>.sql` holds cases of facts, before and after."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
import sqlglot
from sqlglot import exp

from tacit.core import Bounds
from tacit.policy import ColumnType
from tacit.sql.expressions.measures import Counted
from tacit.sql.rules import RULES, Facts, GridFacts, MeasureFacts, Rule, Spread, UnitFacts

HERE = Path(__file__).parent
FIELDS = ("Before", "After", "Ensures", "Refuses")
BY_NAME = {rule.__name__: rule for rule in RULES}
_CASE = re.compile(r"-- case: ([^\n]*)\n-- facts: ([^\n]*)\n-- before\n(.*?)-- after\n(.*?)(?=-- case:|\Z)", re.DOTALL)


@dataclass(frozen=True)
class Case:
    rule: Rule
    title: str
    facts: Facts
    before: str
    after: str

    def __str__(self) -> str:
        return f"{self.rule.__name__}: {self.title}"


def read_facts(text: str) -> Facts:
    """Facts from JSON; what is left out stays as it is by default."""
    plain: dict[str, Any] = json.loads(text)
    grids = {name: _grid(**grid) for name, grid in plain.pop("grids", {}).items()}
    unit = UnitFacts(**plain.pop("unit")) if "unit" in plain else None
    measures = tuple(_measure(**measure) for measure in plain.pop("measures", ()))
    spread = Spread[plain.pop("spread", "NONE")]
    return Facts(grids, tuple(plain.pop("keys", ())), measures, unit, spread=spread, **plain)


def _grid(
    *, lower: str, upper: str, step: str, kind: str, nan: str = "0", null: str | None = None, **rest: Any
) -> GridFacts:
    counted_as = None if null is None else Fraction(null)
    bounds = Bounds(lower, upper, step=step)
    return GridFacts(
        bounds, ColumnType(kind), rest.get("is_float", False), Fraction(nan), counted_as, rest.get("sql_type", "")
    )


def _measure(
    *, name: str, counted: str, value: str | None = None, total: list[int] | None = None, wide: bool = False
) -> MeasureFacts:
    return MeasureFacts(name, Counted[counted], value, (total[0], total[1]) if total else None, wide)


def cases() -> list[Case]:
    found = []
    for path in sorted(HERE.glob("*.sql")):
        for title, facts, before, after in _CASE.findall(path.read_text(encoding="utf-8")):
            found.append(Case(BY_NAME[path.stem], title, read_facts(facts), before, after))
    return found


def tree_of(sql: str) -> exp.Select:
    tree = sqlglot.parse_one(sql, dialect="duckdb")
    assert isinstance(tree, exp.Select)
    return tree


def canonical(sql: str) -> str:
    return tree_of(sql).sql(dialect="duckdb", pretty=True)


@pytest.mark.parametrize("case", cases(), ids=str)
def test_a_rule_turns_before_into_after(case):
    tree = case.rule(tree_of(case.before), case.facts)
    assert canonical(tree.sql(dialect="duckdb")) == canonical(case.after)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_every_rule_has_a_fixture_that_changes_something(rule):
    assert any(case.rule is rule and canonical(case.before) != canonical(case.after) for case in cases())


def test_every_fixture_belongs_to_a_rule_and_is_read_whole():
    paths = list(HERE.glob("*.sql"))
    assert {path.stem for path in paths} == set(BY_NAME)
    assert sum(path.read_text(encoding="utf-8").count("-- case:") for path in paths) == len(cases())


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_the_docstring_of_a_rule_has_its_four_fields_in_order(rule):
    fields = re.findall(r"^ {4}(\w+): {2,}\S", rule.__doc__ or "", flags=re.MULTILINE)
    assert tuple(fields) == FIELDS


@pytest.mark.parametrize(("counted", "value"), [(Counted.ROWS, "v0"), (Counted.VALUES, "v0"), (Counted.UNITS, None)])
def test_rows_are_weighed_by_their_own_number_and_by_nothing_else(counted, value):
    """Weights by anything else would not hold what a unit brings to max_rows."""
    known = Facts({}, ("k0",), (MeasureFacts("m0", counted, value),), UnitFacts("id"), spread=Spread.WEIGH_ROWS)
    with pytest.raises(ArithmeticError, match="rows are counted"):
        BY_NAME["weigh_groups"](tree_of('SELECT u, k0, m0 FROM "pairs"'), known)


def test_a_rule_that_changed_its_mind_is_noticed():
    case = next(case for case in cases() if case.rule.__name__ == "sample_groups")
    wrong = case.after.replace("PARTITION BY u", "PARTITION BY k0")
    assert wrong != case.after
    tree = case.rule(tree_of(case.before), case.facts)
    assert canonical(tree.sql(dialect="duckdb")) != canonical(wrong)
