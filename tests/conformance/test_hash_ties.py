"""No type has small values whose hashes are alike: a question whose ties must be settled runs twice, which is a clock.

Groups of a unit are ranked by their hash alone, and ranked again where two hashes tie. Over 64 random bits that happens
to nobody; where a type's own hash is alike for values that data have (DuckDB's for the 128-bit 0 and -1), it would
happen to whoever has both. One unit has every value of a type here, and no engine may find a tie. By chance there is
one in 1e15 such tables.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from conformance.engine_pairs import Script
from conformance.engine_sources import OTHERS
from conformance.sql_world import World, policy_of
from tacit.engines import Engine
from tacit.policy import ColumnPolicy, TablePolicy
from tacit.sql.expressions import keys
from tacit.sql.planning import statements
from tacit.sql.planning.plan import Plan

SMALL = [str(number) for number in range(-60, 61)]
WIDE = [str(sign * (high * 2**64 + low)) for sign in (1, -1) for high in (1, 2, 3) for low in (0, 1, 2, 3)]
CENTS = [f"{'-' if number < 0 else ''}{abs(number) // 100}.{abs(number) % 100:02}" for number in range(-120, 121)]
UNSIGNED = [number for number in SMALL if number[0] != "-"]
EVERYWHERE = {
    "SMALLINT": [*SMALL, "-32768", "32767"],
    "INTEGER": [*SMALL, "-2147483648", "2147483647"],
    "BIGINT": [*SMALL, "4294967297", "8589934594", "-4294967297", str(2**63 - 1), str(-(2**63))],
    "DOUBLE": [*CENTS, "1e300", "1e-300", "-1e300"],
    "VARCHAR": [f"'{text}'" for text in ("", " ", "  ", "0", "-1", "a", "A", "aa", "a,b", '"', "NULL", *CENTS)],
    "DATE": [f"'{year}-{month:02}-01'" for year in range(1960, 1981) for month in range(1, 13)],
    "TIMESTAMP": [f"'1970-01-{day:02} 00:00:{second:02}'" for day in (1, 2) for second in range(60)],
}
DECIMALS = {"DECIMAL(18,2)": CENTS, "DECIMAL(19,2)": CENTS, "DECIMAL(38,2)": [*CENTS, *WIDE]}
DUCKDB_ONLY = {
    "TINYINT": SMALL,
    "UTINYINT": UNSIGNED,
    "USMALLINT": UNSIGNED,
    "UINTEGER": UNSIGNED,
    "UBIGINT": [*UNSIGNED, str(2**64 - 1)],
    "HUGEINT": [*SMALL, *WIDE, str(2**127 - 1), str(-(2**127))],
    "UHUGEINT": [*UNSIGNED, *(number for number in WIDE if number[0] != "-"), str(2**128 - 1)],
    "UUID": [f"'{n % 16:08x}-0000-0000-0000-{n // 16:012x}'" for n in range(256)],
}
CASES = [("duckdb", kind) for kind in (EVERYWHERE | DECIMALS | DUCKDB_ONLY)]
CASES += [(engine, kind) for engine in ("postgres", "sail") for kind in (EVERYWHERE | DECIMALS)]
CASES += [("sqlite", kind) for kind in EVERYWHERE]
VALUES = EVERYWHERE | DECIMALS | DUCKDB_ONLY


def script(kind: str) -> Script:
    table = TablePolicy("t", "id", columns=(ColumnPolicy("k"),), max_groups=400, max_rows=1, bounding="sample")
    rows = ", ".join(f"(7, {value})" for value in (*VALUES[kind], "NULL"))
    return Script(policy_of([table]), (f"CREATE TABLE t (id INTEGER, k {kind})", f"INSERT INTO t VALUES {rows}"))


def planned(engine: Engine, made: Script) -> Plan:
    return World(made.policy, engine).plan("DP-SELECT 1 DELTA 1e-3 k, COUNT(*) FROM t GROUP BY k")


@pytest.fixture
def opened(request: pytest.FixtureRequest) -> Iterator[tuple[Engine, Script]]:
    name, kind = request.param
    made = script(kind)
    engine = made.world().engine if name == "duckdb" else OTHERS[name].opened(made)
    yield engine, made
    engine.close()


def ties(engine: Engine, made: Script) -> tuple[int, int]:
    """How many groups there are, and how many tie."""
    (statement,) = planned(engine, made).statements
    found = engine.execute(statement.sql(engine.dialect))
    return found.rows, int(found.integers("t").sum())


@pytest.mark.parametrize("opened", CASES, indirect=True, ids="-".join)
def test_no_two_values_of_a_type_tie(opened: tuple[Engine, Script]) -> None:
    groups, tied = ties(*opened)
    assert groups > 2
    assert tied == 0


@pytest.mark.parametrize("kind", ["HUGEINT", "DECIMAL(38,2)"])
def test_hashed_as_they_are_128_bits_would_tie(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The bug that this is there to catch."""
    monkeypatch.setattr(statements, "may_be_wide", lambda key, raw: False)
    made = script(kind)
    assert ties(made.world().engine, made)[1] > 0


@pytest.mark.parametrize("name", ["duckdb", *OTHERS])
def test_no_two_pairs_of_values_tie(name: str) -> None:
    """Nor do (0, 1) and (1, 0), a value and NULL, or the same twice."""
    columns = (ColumnPolicy("k"), ColumnPolicy("j"))
    table = TablePolicy("t", "id", columns=columns, max_groups=800, max_rows=1, bounding="sample")
    values = [*(str(number) for number in range(-8, 9)), "NULL"]
    rows = ", ".join(f"(7, {one}, {other})" for one in values for other in values)
    texts = ("CREATE TABLE t (id INTEGER, k BIGINT, j BIGINT)", f"INSERT INTO t VALUES {rows}")
    made = Script(policy_of([table]), texts)
    engine = made.world().engine if name == "duckdb" else OTHERS[name].opened(made)
    plan = World(made.policy, engine).plan("DP-SELECT 1 DELTA 1e-3 k, j, COUNT(*) FROM t GROUP BY k, j")
    found = engine.execute(plan.statements[0].sql(engine.dialect))
    assert found.rows == len(values) ** 2
    assert not found.integers("t").any()
    engine.close()


WIDTHS = dict.fromkeys(("hugeint", "uhugeint", "decimal(19,0)", "numeric(38,4)", "steps(1/100)"), True)
WIDTHS |= dict.fromkeys(("bigint", "ubigint", "decimal(18,4)", "double", "varchar", ""), False)


@pytest.mark.parametrize("kind", WIDTHS)
def test_what_may_have_more_than_64_bits_is_known_by_its_type(kind: str) -> None:
    assert keys._is_wide(kind) is WIDTHS[kind]
