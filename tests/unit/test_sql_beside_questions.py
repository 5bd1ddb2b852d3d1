"""Queries that no question wrote, of releases, models and calibration: held to the laws of those that one did."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import pytest
import sqlglot

import tacit
from conformance.sql_names import misnamed
from conformance.sql_ranges import Unproved, prove
from tacit.core import Loss
from tacit.curator.calibrate import Quantity, Target, calibrate, plan_calibration
from tacit.engines import open_engine
from tacit.engines.duckdb import DuckDB
from tacit.learn import (
    AdditiveClassifier,
    GaussianBayesClassifier,
    KMeansClusters,
    LogisticClassifier,
    NaiveBayesClassifier,
    NeighbourVotesClassifier,
    PrincipalComponents,
    RidgeRegressor,
    TreeClassifier,
)
from tacit.learn.classifiers import logistic
from tacit.learn.classifiers.logistic import Stage
from tacit.ledger import SqliteLedger
from tacit.sql.expressions.numeric import arithmetic
from tacit.sql.expressions.numeric.arithmetic import Width
from tacit.sql.workloads import binned
from unit.test_sql_operands_apart import bare_conditions

POLICY = """
[dataset]
name = "d"
source = "d.duckdb"
[budget]
epsilon = 100000
delta = 0.1
default_delta = 1e-6
reuse = false
[analysts.ana]
epsilon = 100000
[tables.t]
unit = "{unit}"
{bounds}
[tables.t.columns]
tiny = {{ lower = -128, upper = 127, step = 1 }}
s = {{ lower = 0, upper = 4611686018427387904, step = 1 }}
huge = {{ lower = -4611686018427387904, upper = 4611686018427387904, step = 1 }}
n = {{ lower = 0, upper = 1000000, step = "0.0001" }}
flo = {{ lower = -1000000, upper = 1000000, step = "0.5" }}
y = {{ lower = -1000, upper = 1000, step = "0.01" }}
day = {{ lower = 2020-01-01, upper = 2020-12-31 }}
moment = {{ lower = 2020-01-01T00:00:00, upper = 2020-01-02T00:00:00 }}
ward = {{ domain = ["a", "b"] }}
place = {{ domain = {{ table = "places", column = "place" }} }}
c = {{}}
[tables.v0]
unit = "g -> t.u"
max_rows = 2
max_groups = 2
[tables.v0.columns]
tiny = {{ lower = -128, upper = 127, step = 1 }}
ward = {{ domain = ["a", "b"] }}
[tables.places]
public = true
"""
MADE = (
    """CREATE TABLE t (u BIGINT, tiny TINYINT, s UBIGINT, huge HUGEINT, n DECIMAL(38,10), flo FLOAT, y DOUBLE, day DATE,
       moment TIMESTAMP, ward VARCHAR, place VARCHAR, c BOOLEAN)""",
    """INSERT INTO t SELECT i // 2, i % 128, i, i, i, i, i, DATE '2020-01-01' + i::INT, '2020-01-01', 'a', 'x',
       i % 2 = 0 FROM range(40) AS made(i)""",
    """INSERT INTO t VALUES (777, -128, 18446744073709551615, 170141183460469231731687303715884105727,
       9999999999999999999999999999, 'inf', 'nan', 'infinity', 'infinity', 'elsewhere', NULL, NULL),
       (777, 127, 0, -170141183460469231731687303715884105728, -9999999999999999999999999999, '-inf', -1e308,
       '5877642-06-25 (BC)', '290309-12-22 (BC) 00:00:00', NULL, 'elsewhere', TRUE)""",
    "CREATE TABLE v0 (g BIGINT, tiny TINYINT, ward VARCHAR)",
    "INSERT INTO v0 SELECT i // 3, i % 128, 'b' FROM range(60) AS made(i)",
    "CREATE TABLE places (place VARCHAR, region VARCHAR)",
    "INSERT INTO places VALUES ('x', 'r'), ('z', 'r')",
)
NUMBERS = ("tiny", "s", "huge", "n", "flo", "y", "day", "moment")
BOUNDS = {"row": "", "u": "max_rows = 3\nmax_groups = 2"}
Job = Callable[[tacit.Database], object]
_FEW = ("s", "huge", "n", "flo", "day", "place")


def _fit(make: Callable[[], Any], **named: Any) -> Job:
    return lambda db: db.fit(make(), "t", epsilon=3, delta="1e-6", **named)


JOBS: dict[str, Job] = {
    **{f"histogram of {name}": (lambda db, name=name: db.histogram("t", name, epsilon=1)) for name in NUMBERS},
    "heatmap": lambda db: db.heatmap("t", "s", "huge", epsilon=1),
    "heatmap of fractions": lambda db: db.heatmap("t", "flo", "n", epsilon=1),
    "hierarchy": lambda db: db.hierarchy("t", "place", levels=("region",), by=("ward", "c"), epsilon=1),
    **{
        f"synthetic table by {method}": (
            lambda db, method=method: db.synthesise("t", epsilon=1, method=method, columns=_FEW)
        )
        for method in ("tree", "mst", "aim", "hybrid")
    },
    "workload": lambda db: db.workload("t", ["tiny", "c", "ward"], epsilon=1).count("c AND tiny < -120"),
    "bayes": _fit(NaiveBayesClassifier, target="ward", features=("s", "huge", "flo")),
    "gaussian": _fit(GaussianBayesClassifier, target="ward", features=("tiny", "n", "y")),
    "logistic": _fit(LogisticClassifier, target="ward", features=("tiny", "y")),
    "additive": _fit(lambda: AdditiveClassifier(rounds=2), target="ward", features=("s", "huge", "n")),
    "decision tree": _fit(lambda: TreeClassifier(2), target="ward", features=("s", "flo", "y")),
    "votes": _fit(lambda: NeighbourVotesClassifier(partitions=2, places=4), target="ward", features=("tiny", "y")),
    "ridge": _fit(RidgeRegressor, target="tiny", features=("s", "huge", "n", "flo", "y")),
    "components": _fit(PrincipalComponents, features=("s", "huge", "y")),
    "clusters": _fit(lambda: KMeansClusters(3), features=("tiny", "n", "flo")),
}
BY_ROW: dict[str, Job] = {"responses": lambda db: db.responses("t", ["tiny", "ward", "c"], epsilon=1)}
BY_UNIT: dict[
    str, Job
] = {  # not WITH BIAS: sums of sums, which the proof takes for a trillion rows of each of a trillion
    "linked tables": lambda db: db.synthesise(["t", "v0"], epsilon=1, method="tree", columns={"t": _FEW[:3]}),
}
CASES = [
    *(("row", name, job) for name, job in (JOBS | BY_ROW).items()),
    *(("u", name, job) for name, job in (JOBS | BY_UNIT).items()),
]


@pytest.fixture(scope="module")
def policies(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    found = {}
    for unit, bounds in BOUNDS.items():
        base = tmp_path_factory.mktemp(unit)
        with duckdb.connect(base / "d.duckdb") as owner:
            for statement in MADE:
                owner.execute(statement)
        text = POLICY.format(unit=unit, bounds=bounds)
        if unit == "row":  # nothing can be linked to rows without a name
            text = text.replace('unit = "g -> t.u"', 'unit = "g"')
        (base / "tacit.toml").write_text(text)
        found[unit] = base / "tacit.toml"
    return found


def heard(patch: pytest.MonkeyPatch, job: Callable[[], object]) -> list[str]:
    """Every query that reaches the engine."""
    queries: list[str] = []
    whole = DuckDB.execute

    def listening(self: DuckDB, sql: str) -> Any:
        queries.append(sql)
        return whole(self, sql)

    patch.setattr(DuckDB, "execute", listening)
    job()
    patch.setattr(DuckDB, "execute", whole)
    return list(dict.fromkeys(queries))


def faults(sql: str, schema: Any) -> Iterator[str]:
    """What in a query could fail on a row, be taken for something else, or be read in another way."""
    try:
        prove(sql, "duckdb", schema)
    except Unproved as error:
        yield f"unproved: {error}"
    yield from misnamed(sql, "duckdb")
    yield from bare_conditions(sqlglot.parse_one(sql, dialect="duckdb"))


@pytest.fixture(autouse=True)
def few_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a logistic model one stage of two steps: their queries differ in constants alone."""
    monkeypatch.setattr(logistic, "STAGES", (Stage(Fraction(1, 5), Fraction(4, 5), 2),))


def faults_of(path: Path, job: Job, patch: pytest.MonkeyPatch) -> list[str]:
    with tacit.open(path, analyst="ana") as db:
        queries = heard(patch, lambda: job(db))
    with closing(open_engine(tacit.load_policy(path))) as engine:
        schema = engine.schema()
    assert queries
    return [fault for sql in queries for fault in faults(sql, schema)]


@pytest.mark.parametrize(("unit", "name", "job"), CASES, ids=[f"{name} by {unit}" for unit, name, _ in CASES])
def test_no_query_can_fail_on_a_row_or_be_taken_for_another(policies, monkeypatch, unit, name, job):
    assert faults_of(policies[unit], job, monkeypatch) == []


TARGETS = (
    Target("t", Quantity.MAX_ROWS, edges=(1, 2, 4)),
    Target("t", Quantity.MAX_GROUPS, ("ward",), edges=(1, 2, 4)),
    *(Target("t", Quantity.UPPER, (name,), edges=(10, 50, 100)) for name in ("tiny", "s", "huge", "n", "flo", "y")),
    Target("t", Quantity.LOWER, ("huge",), edges=(-50, 0, 50)),
    Target("t", Quantity.DOMAIN, ("c",)),
    Target("t", Quantity.CUT, ("place", "ward")),
)


@pytest.mark.parametrize("target", TARGETS, ids=str)
def test_nor_can_one_that_calibrates(policies, monkeypatch, tmp_path, target):
    policy = tacit.load_policy(policies["u"])
    ledger = SqliteLedger(tmp_path / "d.ledger", create=True)
    price = Loss(1, "1e-6" if target.quantity is Quantity.DOMAIN else 0)
    with closing(open_engine(policy)) as engine, closing(ledger):
        schema = engine.schema()
        plan = plan_calibration(
            policy, [target], schema=schema, price=price, coverage=Fraction(19, 20), dialect="duckdb"
        )
        queries = heard(monkeypatch, lambda: calibrate(plan, policy, engine=engine, ledger=ledger, fresh=True))
    assert queries
    assert [fault for sql in queries for fault in faults(sql, schema)] == []


# ── it is noticed ────────────────────────────────────────────────────────────────────────────────────────────────────


def narrow(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(arithmetic, "width_of", lambda *ends: Width.INT)


def names_as_they_are(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(binned, "qualified", lambda tree: tree)


@pytest.mark.parametrize(
    ("planted", "name", "said"),
    [
        (narrow, "heatmap", "unproved"),
        (narrow, "histogram of huge", "unproved"),
        (names_as_they_are, "bayes", "not ours"),
    ],
)
def test_a_planted_fault_is_noticed(policies, monkeypatch, planted, name, said):
    planted(monkeypatch)
    try:
        found = faults_of(policies["u"], JOBS[name], monkeypatch)
    except tacit.TacitError:  # it failed on a row
        found = ["unproved"]
    assert any(said in fault for fault in found)


@pytest.mark.parametrize("place", ["v", "v + 2", "v + 1 - 1"])
def test_a_place_beyond_its_list_is_noticed(place):
    """DuckDB makes NULL of it."""
    inside = "SELECT CASE WHEN tiny < 0 THEN 0 WHEN tiny > 2 THEN 2 ELSE tiny END AS v FROM t"
    columns = {"t": {"tiny": "TINYINT"}}
    prove(f"SELECT LIST_EXTRACT(CAST('[7, 8, 9]' AS BIGINT[]), v + 1) AS x FROM ({inside})", "duckdb", columns)
    with pytest.raises(Unproved):
        prove(f"SELECT LIST_EXTRACT(CAST('[7, 8, 9]' AS BIGINT[]), {place}) AS x FROM ({inside})", "duckdb", columns)
