"""J1-J9, J11, I1, I2, D1: only our own SQL runs. Escapes are refused by name before any charge; big inputs are bounded.

The parser differential: whatever sqlglot makes of a text, what runs is rebuilt from the plan, reads back to the same
tree, and is accepted by DuckDB as it stands.
"""

from __future__ import annotations

import contextlib
import inspect
import random

import duckdb
import pytest
import sqlglot
from sqlglot import exp

from conformance.sql_clinic import clinic
from conformance.sql_names import misnamed
from tacit.curator import Curator, Session
from tacit.errors import QueryRefused, TacitError

ANA = Session("ana")
ESCAPES = {
    "J1 files": [
        *(
            f"DP-SELECT 1 COUNT(*) FROM {call}"
            for call in ("read_csv('/etc/passwd')", "read_text('x')", "read_blob('x')", "glob('*')")
        ),
        *(
            f"DP-SELECT 1 COUNT(*) FROM {call}"
            for call in ("sniff_csv('x')", "parquet_metadata('x')", "'file.csv'", "'visits.parquet'")
        ),
        *("COPY visits TO 'x.csv'", "ATTACH 'x.db'", "EXPORT DATABASE 'x'", "INSTALL httpfs", "LOAD httpfs"),
        "DP-SELECT 1 COUNT(*) FROM visits WHERE read_text('x') IS NULL",
        "DP-SELECT 1 SUM(getenv('HOME')) FROM visits",
    ],
    "J2 other tables": [
        "DP-SELECT 1 COUNT(*) FROM query('select secret from other')",
        "DP-SELECT 1 COUNT(*) FROM query_table('other')",
        "DP-SELECT 1 COUNT(*) FROM json_execute_serialized_sql('{}')",
        "DP-SELECT 1 COUNT(*) FROM other",
        "DP-SELECT 1 COUNT(*) FROM duckdb_tables()",
        "DP-SELECT 1 COUNT(*) FROM information_schema.columns",
        "DP-SELECT 1 COUNT(*) FROM pg_catalog.pg_stats",
        "DP-SELECT 1 COUNT(*) FROM temp.main.visits",
    ],
    "J3 variables of the host": ["DP-SELECT 1 COUNT(*) FROM hostdf", "DP-SELECT 1 COUNT(*) FROM ANA"],
    "J4 settings": [
        *(
            "SET threads = 1",
            "RESET threads",
            "PRAGMA threads=1",
            "PREPARE x AS SELECT 1",
            "EXECUTE x",
            "CALL pragma_version()",
        ),
        *(
            "SET VARIABLE x = (SELECT 1)",
            "CREATE TEMP TABLE x AS SELECT 1",
            "CREATE MACRO f(x) AS x",
            "CHECKPOINT",
            "VACUUM",
            "USE x",
        ),
        *(
            "BEGIN",
            "COMMIT",
            "ROLLBACK",
            "SAVEPOINT x",
            "DEALLOCATE x",
            "DETACH x",
            "KILL 1",
            "GRANT ALL ON visits TO ana",
        ),
    ],
    "J5 rows in disguise": [
        *(
            f"DP-SELECT 1 {call} FROM visits"
            for call in (
                "LIST(age)",
                "STRING_AGG(dept, ',')",
                "FIRST(dept)",
                "ARG_MAX(dept, age)",
                "ANY_VALUE(dept)",
                "APPROX_TOP_K(dept, 3)",
            )
        ),
        *(
            f"DP-SELECT 1 {call} FROM visits"
            for call in ("MAX(dept)", "MIN(city)", "MAX(city)", "MODE(city)", "HISTOGRAM(city)", "MAX(age, 3)")
        ),
        *(
            f"DP-SELECT 1 {call} FROM visits"
            for call in ("RESERVOIR_QUANTILE(age, 0.5)", "BITSTRING_AGG(age)", "LAST(age)", "age")
        ),
    ],
    "J6 volatile": [
        *(
            f"DP-SELECT 1 COUNT(*) FROM visits WHERE {call} IS NOT NULL"
            for call in (
                "random()",
                "uuid()",
                "clock_timestamp()",
                "nextval('s')",
                "txid_current()",
                "current_user",
            )
        ),
        *(
            f"DP-SELECT 1 COUNT(*) FROM visits WHERE {call} IS NULL"
            for call in ("version()", "gen_random_uuid()", "get_current_time()", "setseed(0.5)")
        ),
    ],
    "J7 several statements": [
        "DP-SELECT 1 COUNT(*) FROM visits; SELECT * FROM visits",
        "SELECT 1; SELECT * FROM visits",
        "DP-SELECT 1 COUNT(*) FROM visits /* /* nested */ ; DROP TABLE visits */ ; SELECT 1",
        "DP-SELECT 1 COUNT(*) FROM visits WHERE dept = $$CS$$; SELECT 1",
        "DP-SELECT 1 COUNT(*) FROM visits WHERE dept = E'\\'; SELECT 1; --'",
        "DP-SELECT 1 COUNT(*) FROM visits\x00; SELECT 1",
        "DP-SELECT 1 COUNT(*) FROM visits WHERE dept = \u2018CS\u2019",
        "DP-SELECT 1 COUNT(*) FROM visits WHERE dept = 'CS'' OR 1=1",
        "BEGIN; DP-SELECT 1 COUNT(*) FROM visits; ROLLBACK",
    ],
    "J10 functions of others": [
        "DP-SELECT 1 COUNT(*) FROM visits WHERE my_udf(age) > 1",
        "DP-SELECT 1 SUM(my_macro(age)) FROM visits",
        "DP-SELECT 1 my_aggregate(age) FROM visits",
        "DP-SELECT 1 COUNT(*) FROM visits WHERE list_transform([age], x -> x + 1) IS NULL",
        "DP-SELECT 1 SUM(GRID(weight)) FROM visits",
        "DP-SELECT 1 COUNT(*) FROM visits WHERE IN_DOMAIN(TRUE)",
    ],
    "I1 statistics": [
        *(
            "EXPLAIN ANALYZE DP-SELECT 1 COUNT(*) FROM visits",
            "SUMMARIZE visits",
            "DESCRIBE visits",
            "SHOW TABLES",
            "ANALYZE visits",
        ),
        *(
            "DP-SELECT 1 COUNT(*) FROM pragma_storage_info('visits')",
            "DP-SELECT 1 stats(age) FROM visits",
            "EXPLAIN SELECT * FROM visits",
        ),
        "DP-SELECT 1 COUNT(*) FROM (SUMMARIZE visits)",
    ],
    "D1 seeds": [
        "SET seed = 0.5",
        "SELECT setseed(0.5)",
        "DP-SELECT 1 SEED 5 COUNT(*) FROM visits",
        "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon=1, seed=5) COUNT(*) FROM visits",
    ],
    "E4-E6 bombs": [
        "DP-SELECT 1 COUNT(*) FROM visits WHERE age = (SELECT age FROM visits)",
        "DP-SELECT 1 COUNT(*) FROM visits WHERE repeat(dept, 2000000000) = 'x'",
        "DP-SELECT 1 COUNT(*) FROM visits WHERE CASE WHEN insured THEN length(repeat('x', 100000000)) ELSE 0 END > 1",
        "DP-SELECT 1 COUNT(*) FROM visits WHERE dept SIMILAR TO '((a{90}){90}){90}'",
        "DP-SELECT 1 COUNT(*) FROM visits, range(1000000)",
    ],
}


@pytest.fixture(scope="module")
def over():
    return clinic()


@pytest.fixture
def guarded(over, tmp_path, monkeypatch):
    """A curator whose engine counts what it is asked to run."""
    curator = over.curator(tmp_path)
    ran = []
    monkeypatch.setattr(type(over.engine), "execute", lambda self, sql: ran.append(sql))
    return curator, ran


@pytest.mark.parametrize("threat", ESCAPES)
def test_an_escape_is_refused_before_any_charge_and_before_the_engine(guarded, threat):
    curator, ran = guarded
    for text in ESCAPES[threat]:
        with pytest.raises(QueryRefused) as refusal:
            curator.ask(text, session=Session("ana", epsilon=1))
        assert refusal.value.message, text
        assert len(refusal.value.message) < 300
    assert ran == []
    assert curator.log("ana") == ()


def test_nothing_at_the_door_takes_a_seed_or_a_source():
    for method in (Curator.ask, Curator.prepare, Curator.explain):
        assert not {"seed", "source", "random_state", "rng"} & inspect.signature(method).parameters.keys()
    assert {"analyst", "epsilon", "delta"} == inspect.signature(Session).parameters.keys()


@pytest.mark.parametrize(
    "spelling", ["visits", "VISITS", '"visits"', "main.visits", '"main"."VISITS"', "visits AS cities", "visits visits"]
)
def test_however_a_table_is_spelled_it_is_the_same_question(over, spelling):
    wanted = over.plan("DP-SELECT 1 COUNT(*) FROM visits").key
    assert over.plan(f"DP-SELECT 1 COUNT(*) FROM {spelling}").key == wanted


BIG = {
    "ten megabytes": lambda: "DP-SELECT 1 COUNT(*) FROM visits WHERE dept = '" + "x" * 10_000_000 + "'",
    "ten megabytes of words": lambda: "DP-SELECT 1 COUNT(*) FROM visits " + "WHERE " * 1_500_000,
    "five thousand parentheses": lambda: "DP-SELECT 1 COUNT(*) FROM visits WHERE " + "(" * 5_000 + "1=1" + ")" * 5_000,
    "unclosed parentheses": lambda: "DP-SELECT 1 COUNT(*) FROM visits WHERE " + "(" * 5_000,
    "a hundred thousand ORs": lambda: "DP-SELECT 1 COUNT(*) FROM visits WHERE " + " OR ".join(["age=1"] * 100_000),
    "two thousand NOTs": lambda: "DP-SELECT 1 COUNT(*) FROM visits WHERE " + "NOT " * 2_000 + "insured",
    "four thousand additions": lambda: "DP-SELECT 1 SUM(" + "age+" * 3_500 + "1) FROM visits",
    "four thousand remainders": lambda: "DP-SELECT 1 SUM(age" + " % 7" * 3_500 + ") FROM visits",
    "nested CASEs": lambda: (
        "DP-SELECT 1 SUM(" + "CASE WHEN insured THEN " * 500 + "1 " + "END " * 500 + ") FROM visits"
    ),
    "two hundred columns": lambda: "DP-SELECT 1 " + ", ".join(["COUNT(*)"] * 200) + " FROM visits",
    "a list of ten thousand": lambda: (
        "DP-SELECT 1 COUNT(*) FROM visits WHERE age IN (" + ",".join(["1"] * 10_000) + ")"
    ),
    "a million digits": lambda: "DP-SELECT 0." + "3" * 90_000 + " COUNT(*) FROM visits",
    "a huge exponent": lambda: "DP-SELECT 1e999999999 COUNT(*) FROM visits",
    "a huge position": lambda: "DP-SELECT 1 COUNT(*) FROM visits GROUP BY 99999999999999999999",
    "a huge limit": lambda: "DP-SELECT 1 COUNT(*) FROM visits LIMIT 99999999999999999999",
    "comments all the way": lambda: "DP-SELECT 1 COUNT(*) FROM visits " + "/* x */" * 14_000,
    "quotes all the way": lambda: "DP-SELECT 1 COUNT(*) FROM visits WHERE dept = " + "''" * 40_000,
    "a regular expression": lambda: (
        "DP-SELECT 1 COUNT(*) FROM visits WHERE regexp_matches(dept, '" + "(a+)+" * 20 + "$')"
    ),
    "products of products": lambda: "DP-SELECT 1 SUM(" + "*".join(["amount"] * 60) + ") FROM visits",
    "keys by the million": lambda: (
        "DP-SELECT 1 age, seen, dept, COUNT(*) FROM visits GROUP BY age, seen, dept, FLOOR(age / 2)"
    ),
}


@pytest.mark.parametrize("what", BIG)
def test_a_big_input_is_an_answer_or_a_clean_error(over, tmp_path, what):
    """Bounded work is what is tested: each of these once took minutes, or would have."""
    curator = over.curator(tmp_path)
    text = BIG[what]()
    try:
        shown = str(curator.explain(text, session=ANA))
    except TacitError as error:
        shown = error.explain()
    assert len(shown) < len(text) + 10_000


def test_a_condition_of_two_thousand_terms_is_planned(over):
    terms = " OR ".join(f"age = {n}" for n in range(1_300))
    made = over.plan(f"DP-SELECT 1 COUNT(*) FROM visits WHERE {terms}")
    assert over.exact(made)[0].rows == 1


# ── the parser differential ──────────────────────────────────────────────────────────────────────────────────────────

SEEDS = (
    "COUNT(*) FROM visits WHERE age > 30 AND dept IN ('CS', 'Bio')",
    "DELTA 1e-6 city, SUM(amount * age) AS s FROM visits WHERE NOT insured GROUP BY city ORDER BY s LIMIT 3",
    "dept, AVG(amount), MEDIAN(age) FROM visits WHERE seen BETWEEN '2024-01-01' AND '2024-06-30' GROUP BY dept",
    "CASE WHEN age < 30 THEN 'young' ELSE 'old' END AS g, COUNT(DISTINCT patient_id) FROM visits GROUP BY g",
    "FLOOR(age / 10) * 10, SUM(CASE WHEN dept = 'CS' THEN amount ELSE -1.5 END) FROM visits GROUP BY 1",
    "insured, COUNT(age) FILTER (WHERE city LIKE 'c%') FROM visits GROUP BY insured HAVING COUNT(*) > 3",
    "DATE_TRUNC('month', seen), COUNT(COALESCE(city, 'x')), MODE(dept) FROM visits GROUP BY 1",
    "COUNT(*) FROM visits WHERE LOWER(TRIM(city)) <> '' OR SUBSTRING(dept, 1, 2) = 'Bi' OR LENGTH(city) > 3",
    "SUM(ABS(ROUND(amount, 1) - 3) % 7), MAX(age), QUANTILE(age, 0.9) FROM visits WHERE (age + 1) * 2 >= amount",
)
ALIKE = (
    ("age", "amount", "weight", "insured", "dept", "city", "seen", "at", "patient_id", "secret"),
    ("1", "0", "-1", "0.5", "1e-3", "1e30", "30", "7", "10", "3", "0.9"),
    ("'CS'", "'x'", "''", "'it''s'", "'2024-01-01'", "NULL", "DATE '2024-02-30'", "DATE '2024-02-29'", "'%_'", "TRUE"),
    ("=", "<>", "<", ">=", ">", "<=", "LIKE", "ILIKE", "IS"),
    ("+", "-", "*", "/", "%", "//", "||"),
    ("AND", "OR"),
    ("SUM(", "AVG(", "COUNT(", "MIN(", "MAX(", "MEDIAN(", "MODE(", "VAR_POP(", "STDDEV(", "HISTOGRAM(", "FIRST("),
    ("ABS(", "FLOOR(", "ROUND(", "CEIL(", "LOWER(", "TRIM(", "LENGTH(", "MONTH(", "YEAR(", "COALESCE(", "SQRT("),
    ("'month'", "'year'", "'day'", "'hour'", "'decade'"),
)
WORDS = (
    *(
        "AND",
        "OR",
        "NOT",
        "(",
        ")",
        ",",
        "*",
        "+",
        "-",
        "/",
        "%",
        "//",
        "=",
        "<>",
        "<",
        ">=",
        "IS NULL",
        "IS TRUE",
        "BETWEEN",
        "IN",
    ),
    *(
        "age",
        "amount",
        "dept",
        "city",
        "insured",
        "seen",
        "at",
        "patient_id",
        "weight",
        "secret",
        "visits",
        "v.age",
        '"age"',
        '"a""b"',
    ),
    *(
        "1",
        "0",
        "-1",
        "0.5",
        "1e-3",
        "1e30",
        "'x'",
        "''",
        "'it''s'",
        "NULL",
        "TRUE",
        "DATE '2024-01-01'",
        "?",
        ":x",
        "$1",
        "'\\'",
        "'%_'",
    ),
    *(
        "COUNT(*)",
        "SUM(",
        "AVG(",
        "COUNT(DISTINCT",
        "MIN(",
        "CASE",
        "WHEN",
        "THEN",
        "ELSE",
        "END",
        "COALESCE(",
        "ABS(",
        "CAST(",
        "AS DOUBLE)",
    ),
    *(
        "FROM",
        "WHERE",
        "GROUP BY",
        "ORDER BY",
        "HAVING",
        "LIMIT 2",
        "OFFSET 1",
        "DESC",
        "FILTER (WHERE",
        "OVER ()",
        "DISTINCT",
        "ALL",
        "AS x",
    ),
    *(
        "::int",
        "::date",
        "[1]",
        "{'a': 1}",
        "->",
        "||",
        "~",
        "^",
        "!",
        "@",
        ";",
        "--",
        "/*",
        "*/",
        "\u00e9",
        "\u2019",
        "\U0001f600",
        "EXTRACT(MONTH FROM",
    ),
)


def mutated(rng):
    """A question with some of its words changed: mostly for words of their own kind, at times for any."""
    words = f"DP-SELECT 1 {rng.choice(SEEDS)}".replace("(", "( ").replace(")", " )").replace(",", " ,").split(" ")
    for _ in range(rng.choice((1, 1, 2, 3, 6))):
        place = rng.randrange(2, len(words))
        kinds = [kind for kind in ALIKE if words[place] in kind]
        change = rng.randrange(8)
        if kinds:
            words[place] = rng.choice(kinds[0])
        elif change == 0:
            words[place] = rng.choice(WORDS)
        elif change == 1:
            words.insert(place, rng.choice(WORDS))
        elif change == 2 and len(words) > 6:
            del words[place]
        elif change == 3:
            words.insert(place, words[rng.randrange(len(words))])
    return " ".join(words)


ALLOWED = (
    *(
        exp.Select,
        exp.From,
        exp.Table,
        exp.TableAlias,
        exp.Subquery,
        exp.Identifier,
        exp.Column,
        exp.Alias,
        exp.Star,
        exp.Literal,
        exp.Null,
    ),
    *(
        exp.Boolean,
        exp.Paren,
        exp.Where,
        exp.Group,
        exp.Having,
        exp.Order,
        exp.Ordered,
        exp.Window,
        exp.CTE,
        exp.With,
        exp.Join,
        exp.Distinct,
    ),
    *(
        exp.And,
        exp.Or,
        exp.Not,
        exp.EQ,
        exp.NEQ,
        exp.GT,
        exp.GTE,
        exp.LT,
        exp.LTE,
        exp.NullSafeEQ,
        exp.Is,
        exp.In,
        exp.Between,
        exp.Like,
        exp.ILike,
    ),
    *(
        exp.Add,
        exp.Sub,
        exp.Mul,
        exp.Div,
        exp.IntDiv,
        exp.Mod,
        exp.DPipe,
        exp.Neg,
        exp.Abs,
        exp.Floor,
        exp.Case,
        exp.If,
        exp.Cast,
        exp.TryCast,
        exp.DataType,
    ),
    *(
        exp.Count,
        exp.Sum,
        exp.Coalesce,
        exp.Greatest,
        exp.Least,
        exp.Sqrt,
        exp.RowNumber,
        exp.DenseRank,
        exp.IsNan,
        exp.Extract,
        exp.Var,
    ),
    *(
        exp.Lower,
        exp.Upper,
        exp.Trim,
        exp.Length,
        exp.Substring,
        exp.TimestampTrunc,
        exp.DateTrunc,
        exp.Anonymous,
        exp.WindowSpec,
    ),
)


@pytest.mark.parametrize(
    ("seed", "texts"), [(20, 1_200), (21, 1_200), pytest.param(22, 5_000, marks=pytest.mark.heavy)]
)
def test_whatever_is_accepted_runs_as_our_own_sql_and_nothing_else(over, seed, texts):
    rng = random.Random(seed)
    cursor = over.engine._connection.cursor()
    accepted = refused = 0
    for _ in range(texts):
        text = mutated(rng)
        try:
            made = over.plan(text, {"x": 3, "1": "CS"})
        except TacitError:
            refused += 1
            continue
        accepted += 1
        for statement in made.statements:
            sql = statement.sql("duckdb")
            tree = sqlglot.parse_one(sql, dialect="duckdb")
            assert tree.sql(dialect="duckdb") == sql, text
            assert {type(node) for node in tree.walk()} <= set(ALLOWED), text
            assert {str(node.this).upper() for node in tree.find_all(exp.Anonymous)} <= {
                "HASH",
                "GREATEST",
                "LEAST",
                "ISNAN",
            }, text
            common = {each.alias for each in tree.find_all(exp.CTE)}
            assert {table.name for table in tree.find_all(exp.Table)} <= {"visits", *common}, text
            assert not list(misnamed(sql, "duckdb")), text
            try:
                cursor.execute(f"EXPLAIN {sql}").fetchall()
            except duckdb.Error as error:
                pytest.fail(f"{text}\n{sql}\n{error}")
    assert accepted > texts / 6
    assert refused > texts / 6


def test_bytes_of_any_kind_are_a_clean_error_or_a_question(over):
    rng = random.Random(21)
    alphabet = "DPSELCTFROMWH 0123456789.*(),'\"-/;\n\t\\$?:[]{}<>=!@#%^&|~`\u00e9\u2028\u200b\U0001f600"
    for _ in range(2_000):
        text = rng.choice(("", "DP-SELECT 1 ", "SELECT ", "EXPLAIN ")) + "".join(
            rng.choices(alphabet, k=rng.randrange(40))
        )
        with contextlib.suppress(TacitError):
            over.bound(text)
