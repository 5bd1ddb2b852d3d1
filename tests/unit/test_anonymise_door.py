"""The door: every kind of table in, a verified one out; and nothing at all where something is wrong."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest

from tacit.errors import EngineError, InvalidParameter, TacitError
from tacit.release.anonymise import Anonymised, Bands, Tree, anonymise, check
from tacit.release.anonymise.methods import making
from tacit.release.anonymise.partition import Partition

pa = pytest.importorskip("pyarrow")
pd = pytest.importorskip("pandas")

ROWS = 600
QUASI = ("age", "town", "sex")


def frame(rows: int = ROWS) -> pd.DataFrame:
    rng = np.random.default_rng(7)
    return pd.DataFrame(
        {
            "id": [f"person {place}" for place in range(rows)],
            "age": rng.integers(18, 90, rows),
            "town": rng.choice(["Oslo", "Bergen", "Moss", "Hamar"], rows, p=[0.6, 0.2, 0.15, 0.05]),
            "sex": rng.choice(["f", "m"], rows),
            "illness": rng.choice(["none", "flu", "gout"], rows, p=[0.7, 0.2, 0.1]),
            "note": rng.integers(0, 5, rows),
        }
    )


def smallest(table: pd.DataFrame, columns: tuple[str, ...] = QUASI) -> int:
    return int(table.groupby(list(columns), observed=True).size().min())


@pytest.mark.parametrize("method", ["greedy", "strict", "relaxed", "optimal", "local", "microaggregate"])
def test_every_method_gives_classes_of_k_with_l_values(method: str) -> None:
    table = frame()
    levels = {"age": Bands((10, 20, 40))}
    result = anonymise(table, QUASI, k=6, sensitive="illness", l=2, method=method, hierarchies=levels)
    out = result.table
    assert list(out.columns) == ["age", "town", "sex", "illness"]
    assert len(out) == ROWS
    assert smallest(out) >= 6
    assert out.groupby(list(QUASI), observed=True)["illness"].nunique().min() >= 2
    assert sorted(out["illness"]) == sorted(table["illness"])
    assert result.report.left_out == ("id", "note")


def test_it_takes_frames_arrow_files_and_relations_and_gives_the_same_back(tmp_path: Path) -> None:
    table = frame()
    table.to_csv(tmp_path / "t.csv", index=False)
    table.to_parquet(tmp_path / "t.parquet")
    with duckdb.connect() as connection:
        relation = connection.from_df(table)
        tables = [table, pa.Table.from_pandas(table), relation, tmp_path / "t.parquet", str(tmp_path / "t.csv")]
        results = [anonymise(one, QUASI, k=5, sensitive="illness") for one in tables]
    kinds = [type(result.table).__name__ for result in results]
    assert kinds == ["DataFrame", "Table", "DuckDBPyRelation", "DuckDBPyRelation", "DuckDBPyRelation"]
    rows = [sorted(result.rows(limit=ROWS)[1]) for result in results]
    assert all(one == rows[0] for one in rows)


@pytest.mark.parametrize("more", [{}, {"keep": ["note"]}, {"pseudonyms": ["id"], "key": bytes(32)}])
def test_the_order_of_rows_says_nothing_of_where_they_came_from(more: dict[str, Any]) -> None:
    table = frame()
    forwards, backwards = (
        anonymise(one, QUASI, k=5, sensitive="illness", **more).rows(limit=ROWS)[1] for one in (table, table.iloc[::-1])
    )
    assert forwards == backwards


@pytest.mark.parametrize("more", [{}, {"keep": ["note"]}])
def test_rows_of_a_large_table_stay_sorted_on_their_way_to_a_file(more: dict[str, Any], tmp_path: Path) -> None:
    connection = duckdb.connect()
    table = connection.sql("SELECT i * 7919 % 50 AS age, i % 3 AS illness, i % 2 AS note FROM range(600000) AS made(i)")
    path = anonymise(table, ["age"], k=5, sensitive="illness", **more).write(tmp_path / "out.parquet")
    ordered = "age AS v, lag(age) OVER (ORDER BY file_row_number) AS before"
    read = f"SELECT {ordered} FROM read_parquet('{path}', file_row_number = true)"
    assert connection.execute(f"SELECT count(*) FROM ({read}) WHERE v <> before").fetchall() == [(49,)], (
        "one run a class"
    )


def test_a_relation_whose_connection_is_busy_or_whose_rows_fail_is_an_error_of_ours() -> None:
    connection = duckdb.connect()
    busy = connection.sql("SELECT i % 3 AS age FROM range(30) AS made(i)")
    connection.execute("SELECT * FROM range(10)").fetchone()
    with pytest.raises(EngineError, match="unfinished result"):
        anonymise(busy, ["age"], k=5)
    failing = duckdb.connect().sql("SELECT CAST('secret' || i AS INTEGER) AS age FROM range(30) AS made(i)")
    with pytest.raises(EngineError, match="as it is") as told:
        anonymise(failing, ["age"], k=5)
    assert "secret" not in str(told.value)
    assert told.value.__context__ is None


def test_a_table_is_written_once_and_never_over_another(tmp_path: Path) -> None:
    result = anonymise(frame(), QUASI, k=5)
    for name in ("out.parquet", "out.csv"):
        result.write(tmp_path / name)
        assert check(tmp_path / name, QUASI).k >= 5
        with pytest.raises(InvalidParameter, match="there already"):
            result.write(tmp_path / name)
    with pytest.raises(InvalidParameter, match="of no kind"):
        result.write(tmp_path / "out.xls")
    with pytest.raises(InvalidParameter, match="cannot be written"):
        result.write(tmp_path / "nowhere" / "out.csv")
    assert repr(result) == "<anonymised table: k = 5; not differentially private>"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out.csv", "out.parquet"]


def _lone(partition: Partition) -> Partition:
    """A defect: one tuple is put into a class of its own."""
    classes = partition.classes.copy()
    classes[0] = partition.number
    cells = tuple(
        replace(
            one, names=(*one.names, "oops"), label=np.append(one.label, len(one.names)), loss=np.append(one.loss, 0.0),
            low=np.append(one.low, 0), high=np.append(one.high, 0),
        )
        for one in partition.cells
    )  # fmt: skip
    return Partition(classes, cells)


def test_a_method_that_gets_it_wrong_publishes_nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    broken = {name: lambda *a, m=method, **b: _lone(m(*a, **b)) for name, method in making.METHODS.items()}
    monkeypatch.setattr(making, "METHODS", broken)
    with pytest.raises(TacitError, match=r"nothing is published: 1 of .* classes do not satisfy k = 5"):
        anonymise(frame(), QUASI, k=5).write(tmp_path / "out.csv")
    assert not list(tmp_path.iterdir())


def test_a_row_under_a_wrong_cell_publishes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def swapped(partition: Partition) -> Partition:
        """A defect: the rows of two classes are published under each other's cells."""
        turned = partition.classes.copy()
        turned[partition.classes == 0], turned[partition.classes == 1] = 1, 0
        return replace(partition, classes=turned)

    broken = {name: lambda *a, m=method, **b: swapped(m(*a, **b)) for name, method in making.METHODS.items()}
    monkeypatch.setattr(making, "METHODS", broken)
    with pytest.raises(TacitError, match="under a cell that does not hold its value"):
        anonymise(frame(), QUASI, k=5)


@pytest.mark.parametrize(("asked", "model"), [({"l": 3}, "distinct l = 3"), ({"t": 0.1}, "t = 0.1")])
def test_a_method_that_forgets_the_secrets_publishes_nothing(
    asked: dict[str, float], model: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tacit.release.anonymise.models.family import Rules

    monkeypatch.setattr(Rules, "only_sizes", property(lambda _: True))
    with pytest.raises(TacitError, match=f"do not satisfy {model}"):
        anonymise(frame(), QUASI, k=2, sensitive="illness", **asked)


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"k": ROWS + 1}, "more than the table's 600 rows"),
        ({"k": 0}, "at least 1"),
        ({}, "no k"),
        ({"k": 5, "l": 2}, "none is named"),
        ({"k": 5, "sensitive": "illness", "l": 4}, "cannot be reached: the whole table as one class stands at 3"),
        ({"k": 5, "sensitive": "disease"}, "no column 'disease'"),
        ({"k": 5, "sensitive": "age"}, "two roles"),
        ({"k": 5, "method": "best"}, "no method 'best'"),
        ({"k": 5, "hierarchies": {"note": Bands((1,))}}, "not a quasi-identifier"),
        ({"k": 5, "hierarchies": {"town": Tree({"Oslo": ("x",)})}}, "not in the tree"),
        ({"k": 5, "suppression": 1.0}, "from 0 to 1"),
        ({"k": 5, "diversity": "entropy", "sensitive": "illness"}, "needs an l"),
        ({"k": 5, "l": 2, "diversity": "recursive", "sensitive": "illness"}, "goes with a c"),
        ({"k": 5, "l": 2, "diversity": "alpha", "sensitive": "illness"}, "no diversity"),
        ({"k": 5, "t": 0.1, "distance": "hierarchical", "sensitive": "illness"}, "needs its hierarchy"),
        ({"k": 5, "k_map": 9}, "population goes with"),
        ({"k": 5, "population": "x.csv"}, "population goes with"),
        ({"k_map": 9, "method": "relaxed", "population": "x.csv"}, "cannot compare"),
        ({"k": 5, "presence": (0, 1), "method": "local", "population": "x.csv"}, "lie apart"),
        ({"k": 5, "presence": (0, 1), "hierarchies": {"age": Bands((5,))}, "population": "x.csv"}, "lie apart"),
        ({"k": 5, "pseudonyms": ["id"], "key": b"short"}, "too short"),
        ({"k": 5, "top": {"town": 3}}, "only numbers"),
    ],
)
def test_bad_requests_are_refused_in_words(asked: dict[str, object], said: str) -> None:
    with pytest.raises(InvalidParameter, match=said):
        anonymise(frame(), QUASI, **asked)


def test_bad_tables_are_refused_in_words(tmp_path: Path) -> None:
    table = frame(20)
    with pytest.raises(InvalidParameter, match="no column 'height'"):
        anonymise(table, ["height"], k=2)
    with pytest.raises(InvalidParameter, match="named twice"):
        anonymise(table, ["age", "AGE"], k=2)
    with pytest.raises(InvalidParameter, match="no quasi-identifiers"):
        anonymise(table, [], k=2)
    with pytest.raises(InvalidParameter, match="empty"):
        anonymise(table.iloc[:0], QUASI, k=2)
    with pytest.raises(InvalidParameter, match="no such file"):
        anonymise(tmp_path / "nothing.csv", QUASI, k=2)
    (tmp_path / "a[b].csv").write_text("age\n1\n")
    with pytest.raises(InvalidParameter, match="none of"):
        anonymise(tmp_path / "a[b].csv", ["age"], k=1)
    with pytest.raises(InvalidParameter, match="got list"):
        anonymise([1, 2], QUASI, k=2)


def test_rows_are_left_out_up_to_the_limit_and_counted() -> None:
    table = frame()
    table.loc[:9, "age"] = 999_999
    whole = anonymise(table, QUASI, k=20)
    fewer = anonymise(table, QUASI, k=20, suppression=0.05)
    utility = fewer.report.utility
    assert 0 < utility.suppressed <= 0.05 * ROWS
    assert len(fewer.table) == ROWS - utility.suppressed == utility.rows
    assert utility.ncp < whole.report.utility.ncp
    assert anonymise(table, QUASI, k=20, suppression=0.01).report.utility.suppressed <= 0.01 * ROWS
    assert utility.gcp == pytest.approx((utility.ncp * utility.rows + utility.suppressed) / ROWS)


def test_the_optimal_method_leaves_out_classes_that_are_too_small() -> None:
    levels = {"age": Bands((10, 20, 40))}
    strict = anonymise(frame(), QUASI, k=10, method="optimal", hierarchies=levels).report.utility
    loose = anonymise(frame(), QUASI, k=10, method="optimal", hierarchies=levels, suppression=0.1).report.utility
    assert 0 < loose.suppressed <= 0.1 * ROWS
    assert loose.gcp < strict.gcp


def test_pseudonyms_are_the_same_for_the_same_person_and_key() -> None:
    table = frame(40).assign(id=[f"person {place // 2}" for place in range(40)])

    def hashes(key: bytes | None) -> list[str]:
        return sorted(anonymise(table, ["sex"], k=2, pseudonyms=["id"], key=key, unit="row").table["id"])

    once, again, other, unknown = (hashes(key) for key in (b"k" * 16, b"k" * 16, b"q" * 16, None))
    assert once == again
    assert len(set(once)) == 20
    assert not set(once) & set(other)
    assert hashes(None) != unknown, "a key nobody keeps is never used again"
    assert all(len(one) == 32 and "person" not in one for one in once)


def test_a_known_pseudonym() -> None:
    import hmac

    table = frame(4).assign(id="Li Pu")
    out = anonymise(table, ["sex"], k=1, pseudonyms=["id"], key=b"k" * 16, unit="row").table
    assert set(out["id"]) == {hmac.new(b"k" * 16, b"id\0Li Pu", "sha256").hexdigest()[:32]}


def test_more_quasi_identifiers_than_fit_one_number_do() -> None:
    rng = np.random.default_rng(3)
    table = pd.DataFrame({f"c{place}": rng.integers(0, 1000, 300) for place in range(12)})
    out = anonymise(table, list(table.columns), k=30)
    assert smallest(out.table, tuple(table.columns)) >= 30
    assert out.report.utility.rows == 300
    relaxed = anonymise(table, list(table.columns), k=30, method="relaxed")
    assert smallest(relaxed.table, tuple(table.columns)) >= 30


def _population(tmp_path: Path) -> tuple[pd.DataFrame, Path]:
    people = frame(3000)[["age", "town", "sex"]]
    people.to_parquet(tmp_path / "people.parquet")
    return people.iloc[::10].reset_index(drop=True), tmp_path / "people.parquet"


def _covered(result: Anonymised, people: pd.DataFrame) -> list[tuple[int, int]]:
    """For each class of a table of ages alone: rows of the table, and people its cell covers."""
    found = []
    for cell, rows in result.table.groupby("age", observed=True).size().items():
        low, _, high = str(cell).partition("-")
        found.append((int(rows), int(people["age"].between(int(low), int(high or low)).sum())))
    return found


def test_k_map_counts_everybody_a_cell_covers(tmp_path: Path) -> None:
    table, path = _population(tmp_path)
    people = pd.read_parquet(path)
    result = anonymise(table, ["age"], k_map=100, population=path)
    covered = _covered(result, people)
    assert min(people for _, people in covered) >= 100
    assert min(rows for rows, _ in covered) < 100
    assert result.report.risk_after.journalist == pytest.approx(1 / min(people for _, people in covered))


def test_presence_stays_within_its_share(tmp_path: Path) -> None:
    table, path = _population(tmp_path)
    people = pd.read_parquet(path)
    covered = _covered(anonymise(table, ["age"], k=1, presence=(0.05, 0.15), population=path), people)
    assert len(covered) > 1
    assert all(0.05 <= rows / there <= 0.15 for rows, there in covered)
    assert sum(there for _, there in covered) == len(people), "nobody lies between the cells"


def test_a_population_must_hold_the_table(tmp_path: Path) -> None:
    _, path = _population(tmp_path)
    with pytest.raises(InvalidParameter, match="not part of the population"):
        anonymise(frame(30).assign(age=200), QUASI, k_map=3, population=path)


def test_a_table_is_checked_as_it_stands(tmp_path: Path) -> None:
    table = pd.DataFrame({"a": [1, 1, 2, 2, None], "b": ["x", "x", "y", "y", "y"], "s": [1, 2, 3, 3, 3]})
    audit = check(table, ["a", "b"], sensitive="s", population_size=50)
    assert (audit.k, audit.rows, audit.classes) == (1, 5, 3)
    assert audit.sensitive[0].homogeneous == pytest.approx(3 / 5)
    assert audit.sensitive[0].least_values == 1
    assert audit.class_sizes == ((1, 1), (2, 2))
    with pytest.raises(InvalidParameter, match="no column"):
        check(table, ["z"])
    with pytest.raises(InvalidParameter, match="no quasi-identifiers"):
        check(table, [])
    with pytest.raises(InvalidParameter, match="empty"):
        check(table.iloc[:0], ["a"])


NAMES = ("key", "row", "class", "n", "copy", "v", "k", "s", "source", 'quo"te', "select")


@pytest.mark.parametrize("method", ["greedy", "relaxed"])
@pytest.mark.parametrize("keep", [(), ("source", 'quo"te')])
def test_columns_may_be_called_anything(method: str, keep: tuple[str, ...]) -> None:
    table = pd.DataFrame({name: np.arange(60) * (place + 3) % 7 for place, name in enumerate(NAMES)})
    quasi, secrets = ("key", "row", "class", "select"), ("n", "copy", "v", "k", "s")
    result = anonymise(table, quasi, k=4, sensitive=secrets, keep=keep, method=method)
    out = result.table
    assert set(out.columns) == {*quasi, *secrets, *keep}
    assert smallest(out, quasi) >= 4
    for name in (*secrets, *keep):
        assert sorted(out[name]) == sorted(table[name])
    assert check(out, quasi, sensitive=secrets).k >= 4


def test_columns_may_be_spelt_in_any_case() -> None:
    result = anonymise(frame(), ["AGE", "Sex"], k=5, method="optimal", hierarchies={"Age": Bands((10,))})
    assert result.report.request.roles.quasi_identifiers == ("age", "sex")
    assert "20-30" in set(result.table["age"])
    assert "80+" in set(anonymise(frame(), ["AGE", "Sex"], k=5, top={"aGe": 80}).table["age"])


def test_columns_called_like_ours_are_refused() -> None:
    with pytest.raises(InvalidParameter, match="begins as our own"):
        anonymise(frame(9).rename(columns={"age": "tacit_key"}), ["tacit_key"], k=2)
