"""Probes of programs for columns: known by their words, and nothing else is taken for one."""

from __future__ import annotations

import pytest

from tacit.faces.server.wire.executor import Executor
from tacit.faces.server.wire.language.lexer import Lexed, statements
from tacit.faces.server.wire.language.probes import is_probe, table_of

INNER = "SELECT dept, COUNT(*) AS n FROM visits GROUP BY dept"
PROBES = [
    "SELECT * FROM visits LIMIT 0",
    "select * from visits limit 0 offset 10",
    'SELECT "visits".* FROM "visits" WHERE 1=0',
    "SELECT dept, age FROM public.visits WHERE 0 = 1",
    "SELECT * FROM visits WHERE 1<>1",
    "SELECT * FROM visits WHERE 1 != 1 LIMIT 100",
    "SELECT * FROM visits WHERE (1 = 0)",
    "SELECT * FROM visits WHERE FALSE /* of a driver */",
    "SELECT * FROM visits FETCH FIRST 0 ROWS ONLY",
    f"SELECT * FROM ({INNER}) SPARK_GEN_SUBQ_0 WHERE 1=0",
    f"SELECT * FROM ({INNER}) t LIMIT 0",
    f"WITH q AS ({INNER}) SELECT * FROM q WHERE 1 = 2",
    f"{INNER} LIMIT 0",
    f"{INNER} UNION ALL {INNER} LIMIT 0",
    "TABLE visits LIMIT 0",
    "DP-SELECT 0.5 COUNT(*) FROM visits LIMIT 0",
]
QUESTIONS = [
    INNER,
    "SELECT COUNT(*) FROM visits WHERE 1=0",  # one row, a noisy zero
    "SELECT SUM (age) FROM visits WHERE false",
    "SELECT * FROM visits LIMIT 1",
    "SELECT * FROM visits LIMIT 10",
    "SELECT * FROM visits LIMIT ALL",
    "SELECT * FROM visits WHERE 1=1",
    "SELECT * FROM visits WHERE 1=0 OR true",
    "SELECT * FROM visits WHERE age = 0",
    "SELECT * FROM visits WHERE '1 = 0'",
    'SELECT * FROM visits WHERE "false"',
    'SELECT * FROM visits ORDER BY "limit 0"',
    "SELECT 'limit 0' FROM visits",
    f"SELECT * FROM ({INNER} LIMIT 0) t, visits",
    f"SELECT * FROM ({INNER}) t UNION ALL SELECT * FROM ({INNER}) u WHERE 1=0",
    "SELECT dept FROM visits UNION SELECT dept FROM visits WHERE false",
    "SELECT dept, COUNT(*) FROM visits WHERE 1=0 GROUP BY dept",
    "DP-SELECT 0.5 * FROM visits WHERE 1=0",
    "SELECT 1",
    "",
]


@pytest.mark.parametrize("sql", PROBES)
def test_a_statement_that_can_have_no_row_is_a_probe(sql: str) -> None:
    (statement,) = statements(sql)
    assert is_probe(statement)


@pytest.mark.parametrize("sql", QUESTIONS)
def test_a_statement_that_may_have_one_is_none(sql: str) -> None:
    assert not any(map(is_probe, statements(sql)))


@pytest.mark.parametrize(
    ("sql", "table"),
    [
        ("SELECT * FROM visits LIMIT 0", ("visits", None)),
        ('SELECT v."Dept", age FROM public.visits v WHERE 1=0', ("visits", ("Dept", "age"))),
        ('SELECT "visits".* FROM "visits" LIMIT 0', ("visits", None)),
        ("SELECT dept, * FROM visits LIMIT 0", None),
        ("SELECT age + 1 FROM visits LIMIT 0", None),
        ("SELECT * FROM visits, people LIMIT 0", None),
        ("SELECT * FROM visits JOIN people USING (id) LIMIT 0", None),
        ("SELECT COUNT(*) FROM visits LIMIT 0", None),
        ("SELECT FROM visits LIMIT 0", None),
        ("SELECT * FROM", None),
    ],
)
def test_the_plain_columns_of_one_table_are_read_off(sql: str, table: object) -> None:
    (statement,) = statements(sql)
    assert table_of(statement) == table


def test_a_connection_remembers_a_few_texts_and_reads_no_other_for_one() -> None:
    read: list[str] = []

    def reading(written: str) -> list[Lexed]:
        read.append(written)
        return statements(written)

    one, two = (Executor(None, None, None, {}) for _ in range(2))  # type: ignore[arg-type]  # nobody is asked
    texts = ["SELECT 1 LIMIT 0", "SELECT 1 LIMIT 10", "SELECT 1 limit 0", "SELECT 1 LIMIT 0 "]
    for _ in range(3):
        assert [one.remembered(text, reading)[0].whole for text in texts] == texts
        assert [is_probe(one.remembered(text, reading)[0]) for text in texts] == [True, False, True, True]
    assert read == texts
    two.remembered(texts[0], reading)  # another connection: how fast a text is read tells nothing of others
    assert read == [*texts, texts[0]]
    for number in range(1000):
        one.remembered(f"SELECT {number}", reading)
        one.remembered(f"SELECT {number} {'x' * 20_000}", reading)
    assert len(one._texts) <= 16
    assert max(map(len, one._texts)) < 100


@pytest.mark.parametrize(
    ("sql", "values", "expected"),
    [
        ("SELECT COUNT(*) FROM visits LIMIT $1", [0], True),
        ("SELECT COUNT(*) FROM visits LIMIT $1", [1], False),
        ("SELECT COUNT(*) FROM visits LIMIT $1", [None], False),
        ("SELECT COUNT(*) FROM visits LIMIT $1 OFFSET $2", [0, 5], True),
        ("SELECT COUNT(*) FROM visits FETCH FIRST $1 ROWS ONLY", [0], True),
        ("SELECT dept FROM visits WHERE 1 = $1", [0], True),
        ("SELECT dept FROM visits WHERE 1 = $1", [1], False),
        ("SELECT dept FROM visits WHERE $1", [False], True),
        ("SELECT dept FROM visits WHERE $1 = $2", [1, 1], False),
        ("SELECT dept FROM visits WHERE $1 = $2", [1, 0], True),
        ("SELECT COUNT(*) FROM visits WHERE 1 = $1", [0], False),
    ],
)
def test_a_parameter_counts_for_its_value_and_never_for_its_number(sql, values, expected):
    (statement,) = statements(sql)
    assert is_probe(statement, values) is expected
    assert not is_probe(statement)
