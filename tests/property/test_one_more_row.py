"""Nothing about how a source is read depends on its rows: one more changes no schema, no other row, no refusal."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import duckdb
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from support.sources_of_rows import KINDS
from tacit.engines import Engine, open_engine
from tacit.engines.reading import name_in
from tacit.errors import TacitError
from tacit.policy import BudgetPolicy, ColumnPolicy, Dataset, Policy, TablePolicy, check_policy
from tacit.sql import bind, parse

COLUMNS = [
    ColumnPolicy("name", type="text"),
    ColumnPolicy("n", lower=0, upper=9, step=1),
    ColumnPolicy("whole", type="integer"),
    ColumnPolicy("day", type="date"),
    ColumnPolicy("moment", type="timestamp"),
    ColumnPolicy("ok", type="boolean"),
    ColumnPolicy("undeclared"),
]
QUESTIONS = [
    "DP-SELECT 1 COUNT(*) FROM v",
    "DP-SELECT 1 SUM(n) FROM v WHERE undeclared = 'x'",
    "DP-SELECT 1 COUNT(*) FROM v WHERE undeclared > 5",
    "DP-SELECT 1 ok, COUNT(*) FROM v GROUP BY ok",
    "DP-SELECT 1 COUNT(*) FROM v WHERE day > DATE '2020-01-01' AND extra = 1",
]


def policy_over(kind: str, base: Path) -> Policy:
    table = TablePolicy("v", "id", columns=COLUMNS, max_groups=1, max_rows=1)
    source = KINDS[kind].source
    dataset = Dataset("d", source() if callable(source) else source, base=base, engine=KINDS[kind].engine)
    return Policy(dataset, BudgetPolicy(10), tables=[table])


def seen(kind: str, base: Path, rows: list[object]) -> tuple[object, Counter[str]]:
    """What a source with these rows shows: its schema, what is refused in which words, and every row."""
    KINDS[kind].write(base, rows)
    policy = policy_over(kind, base)
    engine = open_engine(policy)
    try:
        schema = engine.schema()
        findings = [str(finding) for finding in check_policy(policy, schema)]
        return (schema, findings, [refusal(text, policy, engine) for text in QUESTIONS]), everything(engine)
    finally:
        engine.close()


def refusal(text: str, policy: Policy, engine: Engine) -> str:
    try:
        bind(parse(text), policy, schema=engine.schema())
    except TacitError as error:
        return error.explain()
    return ""


def everything(engine: Engine) -> Counter[str]:
    names = list(engine.schema()["v"])
    exact = engine.execute(f"SELECT {', '.join(map(name_in(engine), names))} FROM v")
    return Counter(map(repr, zip(*(exact.keys(name) for name in names), strict=True)))


PLAIN: list[object] = [
    ["1", "Ann", "1", "1", "2020-01-02", "2020-01-02 03:04", "true", "1"],
    ["2", "Bob, the 2nd", "2", "2", "2020-02-03", "2020-02-03 03:04", "false", "2"],
    ["3", None, None, None, None, None, None, "01/02/2020"],
]
ODD_CELLS = st.sampled_from(
    ["", " ", "1.5", "01/25/2020", "25/01/2020", "2020-13-01", "infinity", "nan", "1e999", "-0", "9" * 40, "#", "# x",
     "'", '"', '""', ";", "\t", "|", "true", "NULL", "null", "{}", "[1]", "\\", "a\\", "é", "\u202e", "\0", "1,5",
     "0x10", "9999-12-31", "0000-01-01", "294247-01-01", "5877642-06-25 (BC)", "2020-01-01 00:00:00.123456789+14:00"]
) | st.text(max_size=8)  # fmt: skip
ONE_LINE = ODD_CELLS.map(lambda cell: cell.replace("\n", " ").replace("\r", " "))
NEW_ROW = st.lists(st.none() | ONE_LINE, min_size=8, max_size=8)
BY_HAND = st.binary(max_size=40).map(lambda line: line.replace(b"\n", b" ") or b"x") | st.sampled_from(
    [b'"', b'"x', b'x"', b'a,"b', b"#", b"# c,d", b",,,,,,,,,", b";;;;", b"\xff\xfe", b"\xef\xbb\xbf", b"[",
     b'{"n": 1.5', b'{"id": 1.5, "new": {"a": 1}}', b"null", b"[1, 2]", b"\0", b"\r", b'""""', b"'a','b'", b"a|b|c",
     b"x" * 100_000]
)  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_one_more_row_changes_no_schema_no_other_row_and_no_refusal(kind, data, tmp_path_factory):
    base = tmp_path_factory.mktemp("rows")
    by_hand = KINDS[kind].by_hand
    new = data.draw(NEW_ROW if by_hand is None else NEW_ROW | BY_HAND.map(by_hand))
    place = data.draw(st.integers(0, len(PLAIN)))
    shown, before = seen(kind, base, PLAIN)
    after = [*PLAIN[:place], new, *PLAIN[place:]]
    shown_after, rows = seen(kind, base, after)
    assert shown_after == shown
    assert before <= rows
    assert rows.total() - before.total() in ({1} if isinstance(new, list) else {0, 1})  # an empty line is no row


def test_a_reader_that_looks_at_its_rows_is_caught(tmp_path):
    """The planted bug: DuckDB's own reader, as it was used before, with every type declared."""

    def sniffed(*rows: str) -> Counter[str]:
        (tmp_path / "v.csv").write_text("\n".join(["id,day", *rows, ""]))
        with duckdb.connect() as owner:
            read = "read_csv(?, header=true, sample_size=-1, types={'id': 'VARCHAR', 'day': 'DATE'})"
            return Counter(map(repr, owner.execute(f"SELECT * FROM {read}", [str(tmp_path / "v.csv")]).fetchall()))

    before = sniffed("a,01/02/2020", "b,03/04/2020")
    assert not before <= sniffed("a,01/02/2020", "b,03/04/2020", "c,25/01/2020") or not before <= sniffed(
        "a,01/02/2020", "b,03/04/2020", "c,01/25/2020"
    )
